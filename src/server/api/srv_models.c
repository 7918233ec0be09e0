/* The messages of these routes are tinkc's own, so their tables are here. */
#include "server/api/srv_models.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "server/run/srv_load.h"
#include "server/run/srv_msg.h"
#include "server/run/srv_state.h"

#define AGAIN_NS (50 * (int64_t)TK_NS_PER_MS)

/* ---- what they are ---- */

typedef struct served_model {
    tk_f_str model_name;
    tk_f_i64 max_context_length;
    tk_f_i64 parameters;
    tk_f_str precision; /* of the files, or INT8 */
    tk_f_str source;    /* "embedded", or the directory */
} served_model;

typedef struct served_models {
    const served_model *models;
    size_t models_n;
} served_models;

#define T served_model
static const tk_field served_model_rows[] = {
    {TK_ROW(T, model_name, STR, TK_REQUIRED)},
    {TK_ROW(T, max_context_length, I64, TK_REQUIRED)},
    {TK_ROW(T, parameters, I64, TK_REQUIRED)},
    {TK_ROW(T, precision, STR, TK_REQUIRED)},
    {TK_ROW(T, source, STR, TK_REQUIRED)},
};
#undef T
static const tk_schema served_model_schema = {
    TK_SCHEMA(served_model, "ServedModel", served_model_rows)};

#define T served_models
static const tk_field served_models_rows[] = {
    {TK_BARE_PAIR(T, models, LIST, TK_REQUIRED), .sub = &served_model_schema},
};
#undef T
static const tk_schema served_models_schema = {
    TK_SCHEMA(served_models, "ServedModels", served_models_rows)};

static served_model describe(const srv_base *base, const char *name)
{
    return (served_model){
        .model_name = {TK_SET, tk_str_of(name)},
        .max_context_length = {TK_SET, (int64_t)base->info.context},
        .parameters = {TK_SET, (int64_t)base->info.parameters},
        .precision = {TK_SET, tk_str_of(base->info.precision)},
        .source = {TK_SET,
                   tk_str_of(base->is_embedded ? "embedded" : base->tokenizer_dir)},
    };
}

hd_verdict srv_models_list(hd_request *request)
{
    const srv *server = request->app;
    const srv_catalog *catalog = server->catalog;
    size_t n = atomic_load(&catalog->n_names);
    served_model *models = tk_arena_array(&request->arena, n, sizeof(*models));
    if (models == NULL) {
        return hd_reply_no_memory(request);
    }
    for (size_t i = 0; i < n; i++) {
        models[i] = describe(catalog->names[i].base, catalog->names[i].name);
    }
    const served_models msg = {models, n};
    return srv_msg_reply(request, &served_models_schema, &msg);
}

/* ---- one more ---- */

typedef struct load_request {
    tk_f_str directory; /* absolute */
    tk_f_str name;      /* unset: that of the directory */
} load_request;

#define T load_request
static const tk_field load_request_rows[] = {
    {TK_ROW(T, directory, STR, TK_REQUIRED)},
    {TK_ROW(T, name, STR, TK_NULLABLE)},
};
#undef T
static const tk_schema load_request_schema = {
    TK_SCHEMA(load_request, "LoadModelRequest", load_request_rows)};

/* A name is shown on terminals and is part of URLs. */
static bool is_name(tk_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];
        if (c < ' ' || c == 0x7f) {
            return false;
        }
    }
    return name.n > 0 && name.n <= TK_SRV_ID_BYTES && tk_utf8_is_valid(name) &&
           !tk_str_has_prefix(name, "tinker:");
}

static const char *copy_text(hd_request *request, tk_str text)
{
    tk_str copy = {NULL, 0};
    return tk_arena_dup(&request->arena, &copy, text.p, text.n) ? copy.p : NULL;
}

static hd_verdict refuse(hd_request *request, const tk_err *err)
{
    if (err->code == TINKC_E_NOMEM) {
        return hd_reply_error(request, err);
    }
    if (err->code == TINKC_E_CANCELLED) {
        return hd_reply_fail(request, 503, "the server is stopping");
    }
    int status = err->code == TINKC_E_MISSING    ? 404
                 : err->code == TINKC_E_CONFLICT ? 409
                                                 : 400; /* the files are the caller's */
    return hd_reply_fail(request, status, "%s", err->message);
}

static hd_verdict load(hd_request *request)
{
    srv *server = request->app;
    load_request msg;
    tk_err err = TK_ERR_INIT;
    const srv_base *base = NULL;
    const char *name = NULL;
    if (!srv_msg_decode(request, &load_request_schema, &msg)) {
        return HD_ANSWERED;
    }
    tk_str dir = msg.directory.v;
    if (!tk_str_has_prefix(dir, "/") || memchr(dir.p, '\0', dir.n) != NULL) {
        return hd_reply_field(request, "directory", "must be an absolute path");
    }
    if (msg.name.is == TK_SET && !is_name(msg.name.v)) {
        return hd_reply_field(request, "name", "is not a name for a model");
    }
    if (server->api_key == NULL) {
        return hd_reply_fail(request, 403,
                             "a server without a key loads no models while it runs: "
                             "start it with this one, or with a key");
    }
    const srv_pair pair = {
        msg.name.is == TK_SET ? copy_text(request, msg.name.v) : NULL,
        copy_text(request, dir),
    };
    if (pair.value == NULL || (msg.name.is == TK_SET && pair.name == NULL)) {
        return hd_reply_no_memory(request);
    }
    if (srv_load_model(&base, &name, server, &pair, &err) != TINKC_OK) {
        return refuse(request, &err);
    }
    const served_model reply = describe(base, name);
    return srv_msg_reply(request, &served_model_schema, &reply);
}

hd_verdict srv_models_load(hd_request *request)
{
    srv *server = request->app;
    if (!request->is_local) {
        return hd_reply_fail(request, 403,
                             "models are loaded by programs of this machine only");
    }
    if (!srv_load_begin(server)) { /* without holding a worker */
        request->due_ns = tk_clock_mono_ns(NULL) + AGAIN_NS;
        return HD_LATER;
    }
    hd_verdict verdict = load(request);
    srv_load_end(server);
    return verdict;
}
