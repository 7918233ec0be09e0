/* One place for the texts that clients read when a name or a path leads to nothing. */
#include "server/api/srv_lookup.h"

#include "httpd/hd_guard.h"
#include "httpd/hd_reply.h"
#include "server/run/srv_state.h"

bool srv_lookup_base(const srv_base **out, hd_request *request, tk_str name)
{
    const srv *server = request->app;
    *out = srv_catalog_find(server->catalog, name);
    if (*out == NULL) {
        (void)hd_reply_fail(request, 400, "base_model \"" TK_STR_FMT "\" is not served",
                            TK_STR_ARG(name));
    }
    return *out != NULL;
}

hd_verdict srv_lookup_refuse_path(hd_request *request, tk_str text)
{
    return hd_reply_fail(request, 400, "Invalid checkpoint tinker path " TK_STR_FMT,
                         TK_STR_ARG(text));
}

bool srv_lookup_path(tk_path *out, hd_request *request, tk_str text)
{
    tk_err ignored = TK_ERR_INIT;
    if (tk_path_parse(out, text, &ignored) == TINKC_OK && !out->is_bare) {
        return true;
    }
    (void)srv_lookup_refuse_path(request, text);
    return false;
}

bool srv_lookup_checkpoint(srv_store_checkpoint *out, srv_store_run *run,
                           hd_request *request, const tk_path *path)
{
    const srv *server = request->app;
    tk_err err = TK_ERR_INIT;
    tinkc_code code =
        srv_store_get_checkpoint(out, server->store, &request->arena, path, &err);
    if (code == TINKC_OK) {
        code = srv_store_get_run(run, server->store, &request->arena, path->run, &err);
    }
    if (code != TINKC_OK) {
        (void)hd_reply_error(request, &err);
    }
    return code == TINKC_OK;
}

bool srv_lookup_project(hd_request *request, const tk_f_str *id)
{
    if (id->is != TK_SET || id->v.n <= TK_SRV_ID_BYTES) {
        return true;
    }
    (void)hd_reply_field(request, "destination_project_id", "is too long");
    return false;
}

bool srv_lookup_token(hd_request *request, const tk_f_str *token)
{
    const srv *server = request->app;
    const hd_guard guard = {.api_key = server->api_key};
    if (token->is != TK_SET || hd_guard_takes(&guard, token->v)) {
        return true;
    }
    (void)hd_reply_fail(request, 403, "weights_access_token: not a key of this server");
    return false;
}
