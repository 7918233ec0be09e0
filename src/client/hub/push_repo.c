/* See push_int.h: asks the hub for the user of the token, and makes the repository. Each
 * question may be asked again without harm: what is there already is as good as what was
 * made. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "client/hub/push_int.h"
#include "client/transfer/body_stream.h"
#include "client/transfer/fetch.h"
#include "http/url.h"

#define README_MAX_BYTES TK_MIB /* that is looked at */
#define PIECE_BYTES      (16 * TK_KIB)
#define RETRIES_MAX      3
#define BUSY_TRIES       5 /* while another repository is being made */
#define BUSY_MS          300
#define BUSY_WORDS       "another conflicting operation is in progress"

/* ---- the user ---- */

tinkc_code tk_push_login(tk_push *push, tk_err *err)
{
    static const char what[] = "asking the hub who you are";
    tk_arena arena;
    tk_buf url;
    const tk_json *json = NULL;
    if (push->token == NULL) {
        return tk_err_set(err, TINKC_E_AUTH, "Not logged in: there is no token for %s",
                          push->hub_url);
    }
    tk_arena_init(&arena, 0);
    tk_buf_init(&url, TK_HUB_URL_BYTES);
    tk_hub_call call = {.what = what,
                        .method = TK_HTTP_GET,
                        .url = tk_push_url(&url, push, "/api/whoami-v2"),
                        .with_token = true};
    tinkc_code code = call.url != NULL
                          ? tk_hub_ask(&json, NULL, &arena, &push->peer, &call, err)
                          : tk_buf_status(&url, err);
    if (code == TINKC_OK) {
        const char *name = tk_hub_text(json, "name");
        tk_err ignored = TK_ERR_INIT;
        if (name == NULL || strchr(name, '/') != NULL ||
            tk_push_check_repo(name, &ignored) != TINKC_OK) {
            code = tk_hub_bad_answer(err, what, "has no name");
        } else {
            (void)snprintf(push->user, sizeof(push->user), "%s", name);
        }
    }
    tk_buf_dispose(&url);
    tk_arena_dispose(&arena);
    return code;
}

/* ---- the repository ---- */

static void put_create(tk_buf *body, const tk_push *push)
{
    tk_json_writer w;
    tk_str name = tk_str_of(push->repo);
    tk_str owner = tk_str_cut(&name, '/');
    tk_json_writer_init(&w, body);
    tk_json_begin_object(&w);
    tk_json_key(&w, TK_STR("type"));
    tk_json_put_str(&w, TK_STR("model"));
    tk_json_key(&w, TK_STR("name"));
    tk_json_put_str(&w, name);
    tk_json_key(&w, TK_STR("organization"));
    if (tk_str_is(owner, push->user)) {
        tk_json_put_null(&w);
    } else {
        tk_json_put_str(&w, owner);
    }
    tk_json_key(&w, TK_STR("private"));
    tk_json_put_bool(&w, !push->options.is_public);
    tk_json_end_object(&w);
}

/* Asks for something to be made; 409 is an answer. */
static tinkc_code post(tinkc_raw_response **out, tk_push *push, const char *what,
                       tk_buf *url, tk_buf *body, tk_err *err)
{
    tk_hub_call call = {.what = what,
                        .method = TK_HTTP_POST,
                        .url = tk_buf_cstr(url),
                        .body = body,
                        .with_token = true,
                        .pass_status = 409};
    tinkc_code code = tk_buf_status(body, err);
    if (code == TINKC_OK) {
        code = call.url != NULL ? tk_hub_send(out, &push->peer, &call, err)
                                : tk_buf_status(url, err);
    }
    return code;
}

/* 409: it is there, or (is_busy) the hub is making another one just now. */
static tinkc_code create_once(tk_push *push, bool *is_busy, tk_err *err)
{
    tinkc_raw_response *response = NULL;
    tk_buf url, body;
    tk_buf_init(&url, TK_HUB_URL_BYTES);
    tk_buf_init(&body, TK_HUB_BODY_BYTES);
    put_create(&body, push);
    (void)!tk_push_url(&url, push, "/api/repos/create");
    tinkc_code code = post(&response, push, "creating the repository", &url, &body, err);
    if (code == TINKC_OK) {
        *is_busy = tinkc_raw_response_status(response) == 409 &&
                   strstr(tinkc_raw_response_body(NULL, response), BUSY_WORDS) != NULL;
        if (*is_busy) {
            (void)tk_err_set(err, TINKC_E_CONFLICT,
                             "creating the repository: the hub is busy with another one");
        }
    }
    tinkc_raw_response_free(&response);
    tk_buf_dispose(&url);
    tk_buf_dispose(&body);
    return code;
}

/* Whether it can be seen: a token may be allowed to write there and not to create. */
static bool is_there(tk_push *push)
{
    tk_err ignored = TK_ERR_INIT;
    tinkc_raw_response *response = NULL;
    tk_buf url;
    tk_buf_init(&url, TK_HUB_URL_BYTES);
    tk_hub_call call = {.what = "looking for the repository",
                        .method = TK_HTTP_GET,
                        .url = tk_push_url(&url, push, "/api/models/%s", push->repo),
                        .with_token = true};
    bool found = call.url != NULL &&
                 tk_hub_send(&response, &push->peer, &call, &ignored) == TINKC_OK;
    tinkc_raw_response_free(&response);
    tk_buf_dispose(&url);
    return found;
}

static tinkc_code create(tk_push *push, tk_err *err)
{
    for (int tries = 1;; tries++) {
        bool is_busy = false;
        tk_err why = TK_ERR_INIT;
        tinkc_code code = create_once(push, &is_busy, &why);
        bool is_refused =
            code == TINKC_E_AUTH || code == TINKC_E_PAYMENT || code == TINKC_E_PERMISSION;
        if ((code == TINKC_OK && !is_busy) || (is_refused && is_there(push))) {
            return TINKC_OK;
        }
        if (!is_busy || tries == BUSY_TRIES) {
            *err = why;
            return why.code;
        }
        tk_body_stream_pause(push->peer.handle, BUSY_MS);
    }
}

/* ---- what it holds ---- */

static tinkc_code locate(void *user, tk_buf *url, int64_t *expires_us, tk_err *err)
{
    const tk_push *push = user;
    tk_buf_printf(url, "%s/%s/resolve/", push->hub_url, push->repo);
    tk_url_escape(url, tk_str_of(push->revision), "");
    tk_buf_puts(url, "/README.md");
    *expires_us = INT64_MAX;
    return tk_buf_status(url, err);
}

static bool tick(void *user)
{
    const tk_push *push = user;
    return push->peer.tick(push->peer.user);
}

/* As much of it as is looked at. */
static tinkc_code read_readme(tk_buf *out, tk_push *push, tk_err *err)
{
    tk_fetch_options options = {.handle = push->peer.handle,
                                .locate = locate,
                                .tick = tick,
                                .user = push,
                                .retry_ms = TK_HUB_RETRY_MS,
                                .max_failures = TK_MIN(push->peer.retries, RETRIES_MAX),
                                .authorization = push->peer.authorization};
    tk_fetch *fetch = NULL;
    tinkc_code code = tk_fetch_new(&fetch, &options, err);
    size_t n = 1;
    while (code == TINKC_OK && n > 0 && out->n + PIECE_BYTES <= README_MAX_BYTES) {
        char *room = tk_buf_reserve(out, PIECE_BYTES);
        code = room != NULL ? tk_fetch_read(&n, fetch, room, PIECE_BYTES, err)
                            : tk_buf_status(out, err);
        if (code == TINKC_OK) {
            tk_buf_advance(out, n);
        }
    }
    tk_fetch_free(&fetch);
    return code;
}

static tinkc_code check_readme(tk_push *push, tk_err *err)
{
    tk_err why = TK_ERR_INIT;
    tk_buf readme;
    tk_buf_init(&readme, README_MAX_BYTES);
    tinkc_code code = read_readme(&readme, push, &why);
    tk_str named = tk_push_named_in(tk_buf_str(&readme));
    if (code == TINKC_E_NOT_FOUND) {
        code = TINKC_OK;
    } else if (code != TINKC_OK) {
        code = tk_err_set(err, code, "reading the README of %s: %s", push->repo,
                          why.message);
    } else if (named.n > 0 && !tk_str_is(named, push->path)) {
        code = tk_err_set(err, TINKC_E_CONFLICT,
                          "Repo ID appears to contain a different Tinker checkpoint: "
                          "found %.*s, expected %.100s",
                          (int)TK_MIN(named.n, (size_t)100), named.p, push->path);
    }
    tk_buf_dispose(&readme);
    return code;
}

/* ---- the branch ---- */

static bool needs_branch(const tk_push *push)
{
    return strcmp(push->revision, "main") != 0 &&
           strncmp(push->revision, "refs/", 5) != 0 && !push->options.create_pr;
}

static tinkc_code make_branch(tk_push *push, tk_err *err)
{
    tinkc_raw_response *response = NULL;
    tk_buf url, body;
    tk_buf_init(&url, TK_HUB_URL_BYTES);
    tk_buf_init(&body, TK_HUB_BODY_BYTES);
    tk_buf_puts(&body, "{}");
    (void)!tk_push_url(&url, push, "/api/models/%s/branch/", push->repo);
    tk_url_escape(&url, tk_str_of(push->revision), "");
    tinkc_code code = post(&response, push, "creating the branch", &url, &body, err);
    tinkc_raw_response_free(&response);
    tk_buf_dispose(&url);
    tk_buf_dispose(&body);
    return code;
}

tinkc_code tk_push_open_repo(tk_push *push, tk_err *err)
{
    tinkc_code code = create(push, err);
    if (code == TINKC_OK) {
        code = check_readme(push, err);
    }
    if (code == TINKC_OK && needs_branch(push)) {
        code = make_branch(push, err);
    }
    return code;
}
