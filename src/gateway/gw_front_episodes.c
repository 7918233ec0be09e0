/* The routes of episodes: what there is, the export, rewards, the end of one. */
#include "gateway/gw_front.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/rand.h"
#include "gateway/gw_exchange.h"
#include "httpd/hd_reply.h"

#define LIST_BYTES  (64 * TK_MIB)
#define LINES_BYTES TK_GIB
#define TYPE_LINES  "application/jsonl"

/* ---- the list ---- */

static bool put_info(void *user, const gw_episode_info *info)
{
    tk_json_writer *w = user;
    tk_json_begin_object(w);
    tk_json_key(w, TK_STR("id"));
    tk_json_put_str(w, info->id);
    tk_json_key(w, TK_STR("turns"));
    tk_json_put_u64(w, info->turns);
    tk_json_key(w, TK_STR("used_ms"));
    tk_json_put_i64(w, info->used_ms);
    tk_json_end_object(w);
    return w->out->failure == TINKC_OK;
}

static hd_verdict list(gw *gateway, hd_request *request)
{
    tk_buf body;
    tk_json_writer w;
    tk_buf_init_quota(&body, LIST_BYTES, hd_request_quota(request));
    tk_json_writer_init(&w, &body);
    tk_json_begin_object(&w);
    tk_json_key(&w, TK_STR("episodes"));
    tk_json_begin_array(&w);
    gw_episodes_each(gateway->episodes, put_info, &w);
    tk_json_end_array(&w);
    tk_json_end_object(&w);
    return hd_reply_buf(request, 200, HD_TYPE_JSON, &body);
}

/* ---- all of them, a line for each ---- */

typedef struct names {
    tk_arena *arena;
    tk_str *p;
    size_t n, cap;
    bool failed;
} names;

static bool add_name(void *user, const gw_episode_info *info)
{
    names *all = user;
    if (all->n == all->cap) {
        size_t cap = all->cap > 0 ? 2 * all->cap : 64;
        tk_str *grown = tk_arena_array(all->arena, cap, sizeof(*grown));
        if (grown == NULL) {
            all->failed = true;
            return false;
        }
        if (all->n > 0) {
            memcpy(grown, all->p, all->n * sizeof(*grown));
        }
        all->p = grown;
        all->cap = cap;
    }
    all->failed = !tk_arena_dup(all->arena, &all->p[all->n], info->id.p, info->id.n);
    all->n += !all->failed;
    return !all->failed;
}

static hd_verdict lines(gw *gateway, hd_request *request)
{
    names all = {.arena = &request->arena};
    tk_err err = TK_ERR_INIT;
    tk_buf body;
    gw_episodes_each(gateway->episodes, add_name, &all);
    if (all.failed) {
        (void)tk_err_nomem(&err);
        return gw_front_fail_err(request, &err);
    }
    tk_buf_init_quota(&body, LINES_BYTES, hd_request_quota(request));
    for (size_t i = 0; i < all.n; i++) {
        tk_err why = TK_ERR_INIT;
        tinkc_code code = gw_episodes_export(&body, gateway->episodes, all.p[i], &why);
        if (code != TINKC_OK && code != TINKC_E_MISSING) { /* one may end meanwhile */
            tk_buf_dispose(&body);
            return gw_front_fail_err(request, &why);
        }
        if (body.n > 0 && body.p[body.n - 1] != '\n') {
            tk_buf_putc(&body, '\n');
        }
    }
    return hd_reply_buf(request, 200, TYPE_LINES, &body);
}

/* Writes all of them to a file that has no name when this returns. */
static tinkc_code write_lines(int *out, int64_t *size, gw *gateway, tk_err *err)
{
    unsigned char random[8];
    char name[64] = "export-";
    struct stat info;
    tinkc_code code = tk_rand_entropy(random, sizeof(random), err);
    for (size_t i = 0; i < sizeof(random); i++) {
        (void)snprintf(name + strlen("export-") + 2 * i, 3, "%02x", random[i]);
    }
    char *path = code == TINKC_OK ? tk_file_join(gateway->dir, name) : NULL;
    if (path == NULL) {
        return code == TINKC_OK ? tk_err_nomem(err) : code;
    }
    code = gw_episodes_export_all(NULL, gateway->episodes, path, err);
    int fd = code == TINKC_OK ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (code == TINKC_OK && (fd < 0 || fstat(fd, &info) != 0)) {
        code = tk_err_sys(err, errno, "the export cannot be read");
    }
    (void)unlink(path);
    tk_free(path);
    if (code != TINKC_OK) {
        if (fd >= 0) {
            (void)close(fd);
        }
        return code;
    }
    *out = fd;
    *size = info.st_size;
    return TINKC_OK;
}

/* The same by way of the disk: however many there are, they take no memory. */
static hd_verdict lines_of_file(gw *gateway, hd_request *request)
{
    tk_err err = TK_ERR_INIT;
    int fd = -1;
    int64_t size = 0;
    if (!hd_reply_hold_file(request)) {
        return HD_ANSWERED;
    }
    if (write_lines(&fd, &size, gateway, &err) != TINKC_OK) {
        return gw_front_fail_err(request, &err);
    }
    (void)hd_reply_fixed(request, 200, TYPE_LINES, TK_STR(""));
    request->file = (hd_file){.fd = fd, .offset = 0, .size = size};
    return HD_ANSWERED;
}

hd_verdict gw_front_list_episodes(gw *gateway, hd_request *request)
{
    if (!tk_str_is(hd_request_query(request, "format"), "jsonl")) {
        return list(gateway, request);
    }
    return gateway->dir != NULL ? lines_of_file(gateway, request)
                                : lines(gateway, request);
}

/* ---- one ---- */

hd_verdict gw_front_get_episode(gw *gateway, hd_request *request)
{
    tk_err err = TK_ERR_INIT;
    tk_buf body;
    tk_buf_init_quota(&body, TK_GW_EXPORT_BYTES, hd_request_quota(request));
    if (gw_episodes_export(&body, gateway->episodes, request->params[0], &err) !=
        TINKC_OK) {
        tk_buf_dispose(&body);
        return gw_front_fail_err(request, &err);
    }
    return hd_reply_buf(request, 200, HD_TYPE_JSON, &body);
}

hd_verdict gw_front_drop_episode(gw *gateway, hd_request *request)
{
    tk_err err = TK_ERR_INIT;
    if (gw_episodes_drop(gateway->episodes, request->params[0], &err) != TINKC_OK) {
        return gw_front_fail_err(request, &err);
    }
    return hd_reply_fixed(request, 200, HD_TYPE_JSON, TK_STR("{\"deleted\":true}"));
}

/* ---- rewards ---- */

typedef struct reward {
    gw_mark mark;
    double value;
    tk_buf metadata;
} reward;

static tinkc_code read_member(reward *out, const tk_json_member *member, tk_err *err)
{
    const tk_json *value = &member->value;
    if (value->type == TK_JSON_NULL) {
        return TINKC_OK; /* as if it were not there */
    }
    if (tk_str_is(member->key, "reward")) {
        if (!tk_json_to_double(value, &out->value)) {
            return tk_err_set(err, TINKC_E_INVALID, "reward must be a number");
        }
        out->mark.reward = &out->value;
    } else if (tk_str_is(member->key, "turn")) {
        if (!tk_json_to_i64(value, &out->mark.turn) || out->mark.turn < 0) {
            return tk_err_set(err, TINKC_E_INVALID, "turn must be the number of a turn");
        }
    } else if (tk_str_is(member->key, "metadata")) {
        tk_json_writer w;
        if (value->type != TK_JSON_OBJECT) {
            return tk_err_set(err, TINKC_E_INVALID, "metadata must be an object");
        }
        tk_json_writer_init(&w, &out->metadata);
        tk_json_put_value(&w, value);
        out->mark.metadata = tk_buf_str(&out->metadata);
    } else {
        return tk_err_set(err, TINKC_E_INVALID, "unknown field \"" TK_STR_FMT "\"",
                          TK_STR_ARG(member->key));
    }
    return tk_buf_status(&out->metadata, err);
}

static tinkc_code read_reward(reward *out, hd_request *request, tk_err *err)
{
    const tk_json *body = NULL;
    tinkc_code code = tk_json_parse(&body, &request->arena, request->body.p,
                                    request->body.n, NULL, err);
    if (code != TINKC_OK) {
        return code;
    }
    if (body->type != TK_JSON_OBJECT) {
        return tk_err_set(err, TINKC_E_INVALID, "the body must be an object");
    }
    for (size_t i = 0; code == TINKC_OK && i < body->as.object.n; i++) {
        code = read_member(out, &body->as.object.members[i], err);
    }
    if (code == TINKC_OK && out->mark.reward == NULL && out->mark.metadata.p == NULL) {
        code = tk_err_set(err, TINKC_E_INVALID, "reward or metadata is missing");
    }
    return code;
}

hd_verdict gw_front_reward(gw *gateway, hd_request *request)
{
    tk_err err = TK_ERR_INIT;
    reward given = {.mark = {.turn = -1}};
    tk_buf_init(&given.metadata, TK_HD_BODY_LIGHT_BYTES);
    tinkc_code code = read_reward(&given, request, &err);
    if (code == TINKC_OK) {
        code = gw_episodes_mark(gateway->episodes, request->params[0], &given.mark, &err);
    }
    tk_buf_dispose(&given.metadata);
    return code == TINKC_OK
               ? hd_reply_fixed(request, 200, HD_TYPE_JSON, TK_STR("{\"recorded\":true}"))
               : gw_front_fail_err(request, &err);
}
