/* An upload is a directory of the store's work folder with the request that started it and
 * the files that have come. Its id is that of the session of the run that the checkpoint
 * will belong to: a finish that is sent again finds the checkpoint. Nothing of an upload
 * is kept in memory. */
#include "server/api/srv_upload.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "engine/eng_bytes.h"
#include "engine/eng_checkpoint.h"
#include "server/api/srv_link.h"
#include "server/api/srv_lookup.h"
#include "server/api/srv_train.h"
#include "server/run/srv_model.h"
#include "server/run/srv_msg.h"
#include "server/run/srv_state.h"
#include "server/store/srv_files.h"
#include "server/store/srv_store.h"
#include "wire/msg_external.h"

#define LIFE_US      (INT64_C(3600) * 1000000)
#define AGAIN_NS     (INT64_C(100) * TK_NS_PER_MS)
#define PLACE        "uploads"
#define REQUEST_FILE "request.json"
#define NAME         "uploaded"    /* of the checkpoint */
#define CONFIG_BYTES (64 * TK_KIB) /* of adapter_config.json */
#define REQUEST_MAX  (16 * TK_KIB) /* of request.json */
#define LORA_ALPHA   32.0          /* of every model here */

static const char *const files[] = {"adapter_config.json", "adapter_model.safetensors"};

/* ---- start ---- */

static bool check_config(hd_request *request, const tk_lora_config *lora)
{
    const char *blame = srv_train_blame_lora(request->app, lora);
    if (blame != NULL) {
        (void)hd_reply_fail(request, 400, "lora_config: %s", blame);
    }
    return blame == NULL;
}

static tinkc_code put_url(tk_named_str *out, hd_request *request, const char *id,
                          const char *file, int64_t end_us, tk_err *err)
{
    char thing[TK_UUID_TEXT_BYTES + 64];
    tk_buf url;
    (void)snprintf(thing, sizeof(thing), "%s/%s", id, file);
    const srv_link link = {.place = PLACE, .thing = tk_str_of(thing), .end_us = end_us};
    tk_buf_init(&url, 4 * TK_KIB);
    tinkc_code code = srv_link_put(&url, request, &link, err);
    if (code == TINKC_OK && !tk_arena_dup(&request->arena, &out->v, url.p, url.n)) {
        code = tk_err_nomem(err);
    }
    tk_buf_dispose(&url);
    out->name = tk_str_of(file);
    return code;
}

/* Makes the directory with the request in it. */
static tinkc_code make_dir(hd_request *request, const tk_upload_start_request *msg,
                           const char *id, tk_err *err)
{
    srv *server = request->app;
    const char *dir = NULL;
    char *path = NULL;
    tk_buf text;
    tk_buf_init(&text, REQUEST_MAX);
    tinkc_code code =
        srv_store_upload_dir(&dir, server->store, &request->arena, tk_str_of(id), err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tk_schema_encode(&text, &tk_msg_upload_start_request, msg, err);
    if (code != TINKC_OK) {
        goto out;
    }
    if (mkdir(dir, 0700) != 0) {
        code = tk_err_sys(err, errno, "cannot make the directory of an upload");
        goto out;
    }
    path = tk_file_join(dir, REQUEST_FILE);
    code = path != NULL ? tk_file_replace(path, text.p, text.n, 0600, err)
                        : tk_err_nomem(err);
    if (code != TINKC_OK) {
        srv_files_remove_dir(dir);
    }
out:
    tk_free(path);
    tk_buf_dispose(&text);
    return code;
}

hd_verdict srv_upload_start(hd_request *request)
{
    srv *server = request->app;
    tk_upload_start_request msg;
    tk_named_str urls[TK_ARRAY_LEN(files)];
    char id[TK_UUID_TEXT_BYTES];
    const srv_base *base = NULL;
    tk_err err = TK_ERR_INIT;
    int64_t now = tk_clock_wall_us(NULL), end = now + LIFE_US;
    if (!srv_msg_decode(request, &tk_msg_upload_start_request, &msg) ||
        !srv_lookup_base(&base, request, msg.base_model.v) ||
        !check_config(request, &msg.lora_config) ||
        !srv_lookup_project(request, &msg.destination_project_id)) {
        return HD_ANSWERED;
    }
    if (srv_store_sweep_uploads(server->store, now - LIFE_US) >= TK_SRV_UPLOADS_MAX) {
        return hd_reply_fail(request, 429, "%d uploads are not finished",
                             TK_SRV_UPLOADS_MAX);
    }
    tk_mutex_lock(&server->lock);
    tk_uuid_make(id, &server->rand);
    tk_mutex_unlock(&server->lock);
    tinkc_code code = make_dir(request, &msg, id, &err);
    for (size_t i = 0; code == TINKC_OK && i < TK_ARRAY_LEN(files); i++) {
        code = put_url(&urls[i], request, id, files[i], end, &err);
    }
    if (code != TINKC_OK) {
        return hd_reply_error(request, &err);
    }
    const tk_upload_start_response reply = {.upload_id = {TK_SET, tk_str_of(id)},
                                            .urls = {urls, TK_ARRAY_LEN(files)},
                                            .expires = {TK_SET, end}};
    return srv_msg_reply(request, &tk_msg_upload_start_response, &reply);
}

/* ---- files ---- */

/* Finds the directory of an upload; answers 404 and returns NULL when there is none. */
static const char *find_dir(hd_request *request, tk_str id)
{
    srv *server = request->app;
    const char *dir = NULL;
    struct stat st;
    tk_err err = TK_ERR_INIT;
    bool plain = id.n == TK_UUID_TEXT_BYTES - 1;
    for (size_t i = 0; plain && i < id.n; i++) {
        char c = id.p[i];
        plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '-';
    }
    if (!plain ||
        srv_store_upload_dir(&dir, server->store, &request->arena, id, &err) !=
            TINKC_OK ||
        stat(dir, &st) != 0) {
        (void)hd_reply_fail(request, 404, "there is no such upload, or no more");
        return NULL;
    }
    return dir;
}

hd_verdict srv_upload_put(hd_request *request)
{
    tk_err err = TK_ERR_INIT;
    tk_str file = request->params[1];
    bool is_config = tk_str_is(file, files[0]);
    if (!is_config && !tk_str_is(file, files[1])) {
        return hd_reply_fail(request, 404, "no such file");
    }
    if (is_config && request->body.n > CONFIG_BYTES) {
        return hd_reply_fail(request, 422, "%s is larger than 64 KiB", files[0]);
    }
    const char *dir = find_dir(request, request->params[0]);
    if (dir == NULL) {
        return HD_ANSWERED;
    }
    char *path = tk_file_join(dir, is_config ? files[0] : files[1]);
    tinkc_code code =
        path != NULL ? tk_file_replace(path, request->body.n > 0 ? request->body.p : "",
                                       request->body.n, 0600, &err)
                     : tk_err_nomem(&err);
    tk_free(path);
    return code == TINKC_OK ? hd_reply_fixed(request, 200, HD_TYPE_JSON, TK_STR("{}"))
                            : hd_reply_error(request, &err);
}

/* ---- finish ---- */

typedef struct finish {
    srv *server;
    hd_request *request;
    const char *dir; /* of the upload */
    tk_upload_start_request start;
    const srv_base *base;
    eng_lora_config lora;
    char run_id[SRV_MODEL_ID_BYTES];
    tk_path path;
    tk_list link; /* in srv.finishing */
} finish;

static tinkc_code read_start(finish *f, tk_err *err)
{
    char *text = NULL;
    size_t n = 0;
    char *path = tk_file_join(f->dir, REQUEST_FILE);
    if (path == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = tk_file_read(&text, &n, path, REQUEST_MAX, err);
    tk_free(path);
    if (code == TINKC_OK) {
        code = tk_schema_decode_text(&f->start, &tk_msg_upload_start_request,
                                     &f->request->arena, (tk_str){text, n},
                                     TK_DECODE_CLOSED, err);
    }
    tk_free(text);
    if (code != TINKC_OK) {
        return code;
    }
    const tk_lora_config *c = &f->start.lora_config;
    f->lora = (eng_lora_config)ENG_LORA_CONFIG_INIT;
    f->lora.rank = (size_t)c->rank.v;
    f->lora.alpha = LORA_ALPHA;
    f->lora.train_attn = c->train_attn.is != TK_SET || c->train_attn.v;
    f->lora.train_mlp = c->train_mlp.is != TK_SET || c->train_mlp.v;
    f->lora.train_unembed = c->train_unembed.is != TK_SET || c->train_unembed.v;
    return TINKC_OK;
}

/* Checks the files and writes them as a checkpoint, within the memory that is left. */
static tinkc_code import(finish *f, const char *to, tk_err *err)
{
    char name[512];
    hd_budget *memory = &f->server->memory;
    size_t bytes = eng_bytes_adapter(f->base->model, &f->lora, true);
    (void)snprintf(name, sizeof(name), TK_STR_FMT, TK_STR_ARG(f->start.base_model.v));
    const eng_save_options options = {.base_model = name};
    if (!hd_budget_take(memory, SRV_PART_JOBS, bytes)) {
        (void)hd_budget_refuse(memory, SRV_PART_JOBS, bytes, "checking these weights",
                               err);
        return err->code;
    }
    tinkc_code code =
        eng_checkpoint_import(f->base->model, &f->lora, f->dir, to, &options, err);
    hd_budget_give(memory, SRV_PART_JOBS, bytes);
    return code;
}

static tinkc_code add_run(const finish *f, tk_err *err)
{
    tk_str session = tk_str_of(f->run_id);
    const srv_store_run run = {.id = tk_str_of(f->run_id),
                               .session_id = tk_str_cut(&session, ':'),
                               .base_model = f->start.base_model.v,
                               .rank = (int64_t)f->lora.rank,
                               .train_unembed = f->lora.train_unembed,
                               .train_mlp = f->lora.train_mlp,
                               .train_attn = f->lora.train_attn,
                               .user_metadata = {NULL, 0},
                               .project_id = f->start.destination_project_id.v};
    return srv_store_add_run(f->server->store, &run, err);
}

static tinkc_code make_checkpoint(finish *f, tk_err *err)
{
    srv_store *store = f->server->store;
    tk_arena *arena = &f->request->arena;
    tk_str dir, old;
    const char *full = NULL;
    tinkc_code code = srv_store_new_dir(&dir, &full, store, arena, &f->path, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = import(f, full, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = add_run(f, err);
    if (code == TINKC_OK) {
        const srv_store_checkpoint row = {.run_id = f->path.run,
                                          .kind = f->path.kind,
                                          .name = f->path.name,
                                          .dir = dir,
                                          .created_us = tk_clock_wall_us(NULL),
                                          .size_bytes = srv_files_size(full)};
        code = srv_store_add_checkpoint(store, arena, &row, false, &old, err);
    }
    if (code != TINKC_OK) {
        srv_files_remove_dir(full);
    }
out:
    return code;
}

static hd_verdict reply_path(const finish *f)
{
    char text[SRV_MODEL_ID_BYTES + 64];
    (void)snprintf(text, sizeof(text), "tinker://%s/%s/" NAME, f->run_id,
                   tk_path_kind_name(f->path.kind));
    const tk_copy_weights_response reply = {.tinker_path = {TK_SET, tk_str_of(text)}};
    return srv_msg_reply(f->request, &tk_msg_upload_finish_response, &reply);
}

/* Files of an upload that are missing are the client's mistake, not a missing thing. */
static hd_verdict refuse(hd_request *request, tk_err *err)
{
    if (err->code == TINKC_E_MISSING || err->code == TINKC_E_DECODE ||
        err->code == TINKC_E_PARSE) {
        return hd_reply_fail(request, 400, "%s", err->message);
    }
    return hd_reply_error(request, err);
}

static hd_verdict finish_claimed(finish *f, tk_str id)
{
    hd_request *request = f->request;
    srv_store_checkpoint there;
    tk_err err = TK_ERR_INIT;
    if (id.n == TK_UUID_TEXT_BYTES - 1 &&
        srv_store_get_checkpoint(&there, f->server->store, &request->arena, &f->path,
                                 &err) == TINKC_OK) {
        return reply_path(f); /* sent again */
    }
    f->dir = find_dir(request, id);
    if (f->dir == NULL) {
        return HD_ANSWERED;
    }
    err = (tk_err)TK_ERR_INIT;
    if (read_start(f, &err) != TINKC_OK) {
        return hd_reply_error(request, &err);
    }
    if (!srv_lookup_base(&f->base, request, f->start.base_model.v)) {
        return HD_ANSWERED;
    }
    if (make_checkpoint(f, &err) != TINKC_OK) {
        return refuse(request, &err);
    }
    srv_files_remove_dir(f->dir);
    return reply_path(f);
}

/* Whether no other request is finishing the upload; then this one is, until release. */
static bool claim(finish *f)
{
    bool taken = false;
    tk_list *all = &f->server->finishing;
    tk_mutex_lock(&f->server->lock);
    for (tk_list *at = all->next; at != all; at = at->next) {
        taken |= strcmp(TK_CONTAINER_OF(at, finish, link)->run_id, f->run_id) == 0;
    }
    if (!taken) {
        tk_list_push_back(all, &f->link);
    }
    tk_mutex_unlock(&f->server->lock);
    return !taken;
}

static void release(finish *f)
{
    tk_mutex_lock(&f->server->lock);
    tk_list_remove(&f->link);
    tk_mutex_unlock(&f->server->lock);
}

/* A request that was sent again waits for the first one, whose answer it gets. */
static hd_verdict finish_later(hd_request *request)
{
    const srv *server = request->app;
    if (atomic_load(&server->stopping)) {
        return hd_reply_fail(request, 503, "the server is stopping");
    }
    request->due_ns = tk_clock_mono_ns(NULL) + AGAIN_NS;
    return HD_LATER;
}

hd_verdict srv_upload_finish(hd_request *request)
{
    finish f = {.server = request->app, .request = request};
    tk_upload_finish_request msg;
    if (!srv_msg_decode(request, &tk_msg_upload_finish_request, &msg)) {
        return HD_ANSWERED;
    }
    (void)snprintf(f.run_id, sizeof(f.run_id), "%.*s:train:0",
                   (int)TK_MIN(msg.upload_id.v.n, TK_UUID_TEXT_BYTES - 1),
                   msg.upload_id.v.p);
    f.path = (tk_path){.run = tk_str_of(f.run_id),
                       .kind = TK_PATH_EXTERNAL_WEIGHTS,
                       .name = TK_STR(NAME)};
    if (!claim(&f)) {
        return finish_later(request);
    }
    hd_verdict verdict = finish_claimed(&f, msg.upload_id.v);
    release(&f);
    return verdict;
}
