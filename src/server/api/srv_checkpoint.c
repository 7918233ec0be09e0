/* Lists of checkpoints, and changes of one, in the store. */
#include "server/api/srv_checkpoint.h"

#include "base/clock.h"
#include "server/api/srv_rest.h"
#include "server/api/srv_weights.h"
#include "server/run/srv_msg.h"
#include "server/run/srv_state.h"

#define LIMIT_MAX 1000

/* ---- from the request ---- */

static bool read_count(int64_t *out, hd_request *request, const char *name,
                       int64_t by_default)
{
    tk_str text = hd_request_query(request, name);
    if (text.p == NULL) {
        *out = by_default;
        return true;
    }
    if (!tk_str_to_i64(text, out) || *out < 0) {
        (void)hd_reply_field(request, name, "must be an integer, not negative");
        return false;
    }
    return true;
}

bool srv_checkpoint_page(srv_store_page *out, hd_request *request, int64_t default_limit)
{
    srv_store_page page;
    if (!read_count(&page.limit, request, "limit", default_limit) ||
        !read_count(&page.offset, request, "offset", 0)) {
        return false;
    }
    page.limit = TK_MIN(page.limit, LIMIT_MAX);
    *out = page;
    return true;
}

bool srv_checkpoint_path(tk_path *out, hd_request *request)
{
    tk_str rest = request->params[1];
    tk_path path = {.run = request->params[0], .checkpoint_id = rest};
    tk_str kind = tk_str_cut(&rest, '/');
    path.name = rest;
    if (!tk_path_find_kind(&path.kind, kind)) {
        (void)srv_checkpoint_refuse_bare(request);
        return false;
    }
    if (!srv_weights_is_name(path.name)) {
        (void)hd_reply_field(request, "checkpoint_id", "is not a name of a checkpoint");
        return false;
    }
    *out = path;
    return true;
}

hd_verdict srv_checkpoint_refuse_bare(hd_request *request)
{
    return hd_reply_fail(request, 400,
                         "a checkpoint's id is weights/<name>, sampler_weights/<name> or "
                         "external_weights/<name>");
}

/* ---- lists ---- */

static bool join(tk_str *out, tk_arena *arena, const srv_store_checkpoint *row,
                 bool with_run)
{
    tk_buf buf;
    tk_buf_init(&buf, 4 * TK_KIB);
    if (with_run) {
        tk_buf_puts(&buf, "tinker://");
        tk_buf_put(&buf, row->run_id.p, row->run_id.n);
        tk_buf_putc(&buf, '/');
    }
    tk_buf_puts(&buf, tk_path_kind_name(row->kind));
    tk_buf_putc(&buf, '/');
    tk_buf_put(&buf, row->name.p, row->name.n);
    bool ok = buf.failure == TINKC_OK && tk_arena_dup(arena, out, buf.p, buf.n);
    tk_buf_dispose(&buf);
    return ok;
}

static tk_checkpoint_type type_of(tk_path_kind kind)
{
    switch (kind) {
    case TK_PATH_SAMPLER_WEIGHTS:
        return TK_CHECKPOINT_SAMPLER;
    case TK_PATH_EXTERNAL_WEIGHTS:
        return TK_CHECKPOINT_EXTERNAL;
    case TK_PATH_WEIGHTS:
        break;
    }
    return TK_CHECKPOINT_TRAINING;
}

bool srv_checkpoint_fill(tk_checkpoint *out, tk_arena *arena,
                         const srv_store_checkpoint *row)
{
    tk_str id, path;
    if (!join(&id, arena, row, false) || !join(&path, arena, row, true)) {
        return false;
    }
    *out = (tk_checkpoint){
        .checkpoint_id = {TK_SET, id},
        .checkpoint_type = {TK_SET, (int)type_of(row->kind)},
        .time = {TK_SET, row->created_us},
        .tinker_path = {TK_SET, path},
        .size_bytes = {TK_SET, row->size_bytes},
        .public = {TK_SET, row->is_public},
        .expires_at = {row->expires_us > 0 ? TK_SET : TK_NULL, row->expires_us},
        .base_model = {row->base_model.n > 0 ? TK_SET : TK_UNSET, row->base_model},
    };
    srv_rest_fill_metadata(&out->user_metadata, arena, row->user_metadata);
    return true;
}

static hd_verdict reply_list(hd_request *request, const srv_store_checkpoints *list,
                             const srv_store_page *page)
{
    tk_checkpoint *items = tk_arena_array(&request->arena, list->n, sizeof(*items));
    bool ok = items != NULL || list->n == 0;
    for (size_t i = 0; ok && i < list->n; i++) {
        ok = srv_checkpoint_fill(&items[i], &request->arena, &list->p[i]);
    }
    if (!ok) {
        return hd_reply_no_memory(request);
    }
    tk_checkpoints_response reply = {.checkpoints = items, .checkpoints_n = list->n};
    reply.cursor.is = page != NULL ? TK_SET : TK_NULL;
    if (page != NULL) {
        reply.cursor.v = (tk_cursor){
            {TK_SET, page->offset}, {TK_SET, page->limit}, {TK_SET, list->total}};
    }
    return srv_msg_reply(request, &tk_msg_checkpoints_response, &reply);
}

hd_verdict srv_checkpoint_list_all(hd_request *request)
{
    srv *server = request->app;
    srv_store_filter filter = {.run_id = {"", 0}};
    srv_store_checkpoints list;
    tk_err err = TK_ERR_INIT;
    if (!srv_checkpoint_page(&filter.page, request, 100)) {
        return HD_ANSWERED;
    }
    if (srv_store_list_checkpoints(&list, server->store, &request->arena, &filter,
                                   &err) != TINKC_OK) {
        return hd_reply_error(request, &err);
    }
    return reply_list(request, &list, &filter.page);
}

hd_verdict srv_checkpoint_list_run(hd_request *request)
{
    srv *server = request->app;
    const srv_store_filter filter = {.run_id = request->params[0],
                                     .page = {INT64_MAX, 0}};
    srv_store_checkpoints list;
    srv_store_run run;
    tk_err err = TK_ERR_INIT;
    tinkc_code code =
        srv_store_get_run(&run, server->store, &request->arena, request->params[0], &err);
    if (code == TINKC_OK) {
        code = srv_store_list_checkpoints(&list, server->store, &request->arena, &filter,
                                          &err);
    }
    return code == TINKC_OK ? reply_list(request, &list, NULL)
                            : hd_reply_error(request, &err);
}

/* ---- changes ---- */

/* Answers a change; its body is not read by clients. A state that is there already is not
 * a conflict: the official client retries a 409 for minutes, and a repeated request may
 * only be one whose answer was lost (docs/protocol.md §12 row 10). */
static hd_verdict reply_changed(hd_request *request, tinkc_code code, const tk_err *err)
{
    return code == TINKC_OK ? hd_reply_fixed(request, 200, HD_TYPE_JSON, TK_STR("{}"))
                            : hd_reply_error(request, err);
}

hd_verdict srv_checkpoint_delete(hd_request *request)
{
    srv *server = request->app;
    tk_path path;
    tk_str dir;
    tk_err err = TK_ERR_INIT;
    if (!srv_checkpoint_path(&path, request)) {
        return HD_ANSWERED;
    }
    tinkc_code code =
        srv_store_delete_checkpoint(&dir, server->store, &request->arena, &path, &err);
    if (code != TINKC_OK) {
        return hd_reply_error(request, &err);
    }
    srv_store_remove_dir(server->store, dir);
    return hd_reply_empty(request, 204);
}

static hd_verdict set_public(hd_request *request, bool is_public)
{
    srv *server = request->app;
    tk_path path;
    tk_err err = TK_ERR_INIT;
    if (!srv_checkpoint_path(&path, request)) {
        return HD_ANSWERED;
    }
    tinkc_code code = srv_store_publish_checkpoint(server->store, &request->arena, &path,
                                                   is_public, &err);
    return reply_changed(request, code, &err);
}

hd_verdict srv_checkpoint_publish(hd_request *request)
{
    static const tk_schema nothing = {.name = "PublishRequest", .size = sizeof(char)};
    char msg;
    return srv_msg_decode(request, &nothing, &msg) ? set_public(request, true)
                                                   : HD_ANSWERED;
}

hd_verdict srv_checkpoint_unpublish(hd_request *request)
{
    return set_public(request, false);
}

hd_verdict srv_checkpoint_set_ttl(hd_request *request)
{
    srv *server = request->app;
    tk_path path;
    tk_ttl_request msg;
    tk_err err = TK_ERR_INIT;
    if (!srv_checkpoint_path(&path, request) ||
        !srv_msg_decode(request, &tk_msg_ttl_request, &msg)) {
        return HD_ANSWERED;
    }
    bool has_end = msg.ttl_seconds.is == TK_SET;
    if (has_end &&
        (msg.ttl_seconds.v <= 0 || msg.ttl_seconds.v > SRV_WEIGHTS_TTL_MAX_S)) {
        return hd_reply_fail(request, 400, "ttl_seconds must be positive");
    }
    int64_t expires = srv_store_end_us(server->store, has_end ? msg.ttl_seconds.v : 0);
    tinkc_code code =
        srv_store_expire_checkpoint(server->store, &request->arena, &path, expires, &err);
    return reply_changed(request, code, &err);
}
