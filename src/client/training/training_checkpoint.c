/* Checkpoints of a model: save_state, save_weights_for_sampler, load_state. */
#include <string.h>

#include "base/mem.h"
#include "client/core/service.h"
#include "client/core/text.h"
#include "client/training/training_request.h"
#include "client/values/types.h"
#include "wire/msg_weights.h"
#include "wire/path.h"

#define NAME_MAX_BYTES ((size_t)255)

/* ---- save ---- */

/* What `encode` of a save needs. */
typedef struct checkpoint {
    const char *path; /* its name */
    int64_t ttl_seconds;
    bool overwrite;
} checkpoint;

/* Checks the part after the last "/" of a path: no "/", printable, not too long. */
static tinkc_code check_name(const char *name, tk_err *err)
{
    if (name == NULL || name[0] == '\0') {
        return tk_err_set(err, TINKC_E_INVALID, "a checkpoint needs a name");
    }
    size_t n = strlen(name);
    if (n > NAME_MAX_BYTES) {
        return tk_err_set(err, TINKC_E_INVALID, "the name is longer than %zu bytes",
                          NAME_MAX_BYTES);
    }
    for (size_t i = 0; i < n; i++) {
        if (name[i] == '/' || (unsigned char)name[i] <= ' ' || name[i] == 0x7f) {
            return tk_err_set(err, TINKC_E_INVALID,
                              "a checkpoint name holds no \"/\", spaces or control "
                              "characters");
        }
    }
    return TINKC_OK;
}

static tinkc_code read_save(checkpoint *out, const char *name,
                            const tinkc_save_options *options, tk_err *err)
{
    tinkc_save_options o = TINKC_SAVE_OPTIONS_INIT;
    tinkc_code code = tk_types_options(&o, sizeof(o), options, err);
    if (code == TINKC_OK) {
        code = check_name(name, err);
    }
    if (code == TINKC_OK && o.ttl_seconds != -1 && o.ttl_seconds < 1) {
        code = tk_err_set(err, TINKC_E_INVALID, "must be at least 1, or -1 for none");
        tk_err_under(err, "ttl_seconds");
    }
    *out = (checkpoint){
        .path = name, .ttl_seconds = o.ttl_seconds, .overwrite = o.overwrite};
    return code;
}

/* Copies a text of the answer as the result. */
static void *give_text(const tk_f_str *text, const char *what, tk_err *err)
{
    if (text->is != TK_SET || text->v.n == 0) {
        tk_err_set(err, TINKC_E_DECODE, "the server's result has no %s", what);
        return NULL;
    }
    char *copy = tk_strndup(text->v.p, text->v.n);
    if (copy == NULL) {
        tk_err_nomem(err);
    }
    return copy;
}

static tk_f_i64 ttl_of(const checkpoint *c)
{
    return (tk_f_i64){c->ttl_seconds < 0 ? TK_UNSET : TK_SET, c->ttl_seconds};
}

static tinkc_code encode_save(tk_training_request *op, int64_t seq_id, tk_err *err)
{
    const checkpoint *c = op->message;
    tk_save_weights_request request = {
        .model_id = {TK_SET, tk_str_of(op->model->id)},
        .path = {TK_SET, tk_str_of(c->path)},
        .seq_id = {TK_SET, seq_id},
        .ttl_seconds = ttl_of(c),
        .overwrite = {TK_SET, c->overwrite},
    };
    return tk_schema_encode(&op->body, &tk_msg_save_weights_request, &request, err);
}

static void *read_saved(tk_training_request *op, const tk_json *json, tk_err *err)
{
    (void)op;
    tk_arena arena;
    tk_save_weights_result said = {.path = {.is = TK_UNSET}};
    void *text = NULL;
    tk_arena_init(&arena, 0);
    if (tk_schema_decode(&said, &tk_msg_save_weights_result, &arena, json, 0, err) ==
        TINKC_OK) {
        text = give_text(&said.path, "path", err);
    }
    tk_arena_dispose(&arena);
    return text;
}

static const tk_training_request_spec save_spec = {.operation = "save_state",
                                                   .kind = TK_RESULT_TEXT,
                                                   .endpoint = TK_EP_SAVE_WEIGHTS,
                                                   .type = TK_FUTURE_SAVE_WEIGHTS,
                                                   .ids = 1,
                                                   .encode = encode_save,
                                                   .read = read_saved,
                                                   .free_result = tk_free};

tinkc_future *tinkc_training_save_state(tinkc_training *training, const char *name,
                                        const tinkc_save_options *options)
{
    tk_err err = TK_ERR_INIT;
    checkpoint c;
    if (training == NULL) {
        return tk_service_none(save_spec.operation, save_spec.kind);
    }
    if (read_save(&c, name, options, &err) != TINKC_OK) {
        return tk_training_request_refuse(training, &save_spec, &err);
    }
    return tk_training_request_run(training, &save_spec, &c);
}

static tinkc_code encode_sampler(tk_training_request *op, int64_t seq_id, tk_err *err)
{
    const checkpoint *c = op->message;
    tk_save_for_sampler_request request = {
        .model_id = {TK_SET, tk_str_of(op->model->id)},
        .path = {TK_SET, tk_str_of(c->path)},
        .seq_id = {TK_SET, seq_id},
        .ttl_seconds = ttl_of(c),
    };
    return tk_schema_encode(&op->body, &tk_msg_save_for_sampler_request, &request, err);
}

static void *read_sampler(tk_training_request *op, const tk_json *json, tk_err *err)
{
    (void)op;
    tk_arena arena;
    tk_save_for_sampler_result said = {.path = {.is = TK_UNSET}};
    void *text = NULL;
    tk_arena_init(&arena, 0);
    if (tk_schema_decode(&said, &tk_msg_save_for_sampler_result, &arena, json, 0, err) ==
        TINKC_OK) {
        text = give_text(&said.path, "path", err);
    }
    tk_arena_dispose(&arena);
    return text;
}

static const tk_training_request_spec sampler_spec = {
    .operation = "save_weights_for_sampler",
    .kind = TK_RESULT_TEXT,
    .endpoint = TK_EP_SAVE_FOR_SAMPLER,
    .type = TK_FUTURE_SAVE_WEIGHTS_FOR_SAMPLER,
    .ids = 1,
    .encode = encode_sampler,
    .read = read_sampler,
    .free_result = tk_free};

tinkc_future *tinkc_training_save_weights_for_sampler(tinkc_training *training,
                                                      const char *name,
                                                      const tinkc_save_options *options)
{
    tk_err err = TK_ERR_INIT;
    checkpoint c;
    if (training == NULL) {
        return tk_service_none(sampler_spec.operation, sampler_spec.kind);
    }
    if (read_save(&c, name, options, &err) == TINKC_OK && c.overwrite) {
        tk_err_set(&err, TINKC_E_INVALID, "sampler weights cannot be overwritten");
        tk_err_under(&err, "overwrite");
    }
    if (err.code != TINKC_OK) {
        return tk_training_request_refuse(training, &sampler_spec, &err);
    }
    return tk_training_request_run(training, &sampler_spec, &c);
}

/* ---- load ---- */

/* Kept until the end: the token may be exchanged when the turn has come. */
typedef struct load {
    char *path;
    bool optimizer;
    char *token; /* of another account; NULL: none */
} load;

static void set_token(load *l, char *token)
{
    if (l->token != NULL) {
        tk_mem_wipe(l->token, strlen(l->token));
        tk_free(l->token);
    }
    l->token = token;
}

static void free_load(void *message)
{
    load *l = message;
    set_token(l, NULL);
    tk_free(l->path);
    tk_free(l);
}

static load *new_load(const char *path, bool optimizer, const char *token, tk_err *err)
{
    load *l = tk_zalloc(sizeof(*l));
    if (l == NULL) {
        tk_err_nomem(err);
        return NULL;
    }
    l->optimizer = optimizer;
    if (tk_text_copy(&l->path, path, "path", err) != TINKC_OK ||
        tk_text_copy(&l->token, token, "token", err) != TINKC_OK) {
        free_load(l);
        return NULL;
    }
    return l;
}

static tinkc_code encode_load(tk_training_request *op, int64_t seq_id, tk_err *err)
{
    const load *l = op->message;
    tk_load_weights_request request = {
        .model_id = {TK_SET, tk_str_of(op->model->id)},
        .seq_id = {TK_SET, seq_id},
        .path = {TK_SET, tk_str_of(l->path)},
        .optimizer = {TK_SET, l->optimizer},
        .weights_access_token = {l->token != NULL ? TK_SET : TK_UNSET,
                                 tk_str_of(l->token)},
    };
    return tk_schema_encode(&op->body, &tk_msg_load_weights_request, &request, err);
}

static void on_token(tk_call *call, const tk_call_answer *answer)
{
    tk_training_request *op = call->user;
    tk_err err = TK_ERR_INIT;
    char *token = NULL;
    tinkc_code code = tk_auth_read_token(&token, answer, &err);
    if (code == TINKC_OK) {
        set_token((load *)(uintptr_t)op->message, token);
        tk_buf_clear(&op->body);
        code = encode_load(op, op->seq_id, &err);
    }
    if (code == TINKC_OK) {
        tk_training_request_go_on(op);
    } else {
        tk_training_request_fail(op, &err);
    }
}

/* Where credentials are exchanged for JWTs, the token of another account is too. */
static bool exchange_token(tk_training_request *op)
{
    const load *l = op->message;
    tk_core *core = op->op.core;
    if (l->token == NULL || !tk_core_flags(core)->pjwt_auth_enabled.v) {
        return false;
    }
    op->call = (tk_call){.core = core,
                         .endpoint = tk_endpoint_at(TK_EP_AUTH_TOKEN),
                         .body = "{}",
                         .body_n = 2,
                         .credential = l->token,
                         .future = op->op.future,
                         .done = on_token,
                         .user = op};
    tk_call_start(&op->call);
    return true;
}

static const tk_training_request_spec load_spec = {.operation = "load_state",
                                                   .kind = TK_RESULT_NONE,
                                                   .endpoint = TK_EP_LOAD_WEIGHTS,
                                                   .type = TK_FUTURE_LOAD_WEIGHTS,
                                                   .ids = 1,
                                                   .before = exchange_token,
                                                   .free_message = free_load,
                                                   .encode = encode_load};

tinkc_code tk_training_check_path(const char *path, tk_err *err)
{
    tk_path parsed;
    if (path == NULL) {
        return tk_err_set(err, TINKC_E_INVALID, "no checkpoint path");
    }
    tinkc_code code = tk_path_parse(&parsed, tk_str_of(path), err);
    if (code == TINKC_OK && parsed.name.n == 0) {
        code = tk_err_set(err, TINKC_E_INVALID, "the path names no checkpoint");
    }
    if (code == TINKC_OK && parsed.kind != TK_PATH_WEIGHTS) {
        code = tk_err_set(err, TINKC_E_INVALID,
                          "a sampler checkpoint holds no training state: use a path of "
                          "save_state (tinker://<run>/weights/<name>)");
    }
    return code;
}

tinkc_future *tinkc_training_load_state(tinkc_training *training, const char *path,
                                        bool with_optimizer, const char *token)
{
    tk_err err = TK_ERR_INIT;
    if (training == NULL) {
        return tk_service_none(load_spec.operation, load_spec.kind);
    }
    load *l = NULL;
    if (tk_training_check_path(path, &err) == TINKC_OK) {
        l = new_load(path, with_optimizer, token, &err);
    }
    return l != NULL ? tk_training_request_run(training, &load_spec, l)
                     : tk_training_request_refuse(training, &load_spec, &err);
}
