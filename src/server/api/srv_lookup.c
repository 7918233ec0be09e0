/* One place for the texts that clients read when a name or a path leads to nothing. */
#include "server/api/srv_lookup.h"

#include <stdio.h>
#include <string.h>

#include "base/similar.h"
#include "base/utf8.h"
#include "httpd/hd_guard.h"
#include "httpd/hd_reply.h"
#include "server/run/srv_state.h"

#define NAME_SHOWN_BYTES 80 /* of what a client sent */

/* Says what is served instead, as far as the message has room. */
static void refuse_base(hd_request *request, const srv_catalog *catalog, tk_str name)
{
    char served[128];
    size_t n = 0, count = atomic_load(&catalog->n_names), shown = 0;
    tk_similar similar = {.typed = name};
    served[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        const char *known = catalog->names[i].name;
        size_t size = strlen(known) + strlen(", ");
        tk_similar_try(&similar, known);
        if (shown == i && n + size < sizeof(served)) {
            n += (size_t)snprintf(served + n, sizeof(served) - n, "%s%s",
                                  i > 0 ? ", " : "", known);
            shown++;
        }
    }
    (void)hd_reply_fail(
        request, 400, "base_model \"" TK_STR_FMT "\" is not served%s%s%s; served: %s%s",
        TK_STR_ARG(tk_utf8_cut(name, NAME_SHOWN_BYTES)),
        similar.best != NULL ? "; did you mean \"" : "",
        similar.best != NULL ? similar.best : "", similar.best != NULL ? "\"?" : "",
        served, shown < count ? ", ..." : "");
}

bool srv_lookup_base(const srv_base **out, hd_request *request, tk_str name)
{
    const srv *server = request->app;
    *out = srv_catalog_find(server->catalog, name);
    if (*out == NULL && tk_str_has_prefix(name, "tinker://")) {
        (void)hd_reply_fail(request, 400,
                            "base_model \"" TK_STR_FMT "\" is not served: it is the path "
                            "of a checkpoint; give it as model_path",
                            TK_STR_ARG(tk_utf8_cut(name, NAME_SHOWN_BYTES)));
    } else if (*out == NULL) {
        refuse_base(request, server->catalog, name);
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
