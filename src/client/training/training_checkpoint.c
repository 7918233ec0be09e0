/* Checkpoints of a model: save_state, save_weights_for_sampler, save_weights_external,
 * load_state. */
#include <string.h>

#include "base/mem.h"
#include "client/core/service.h"
#include "client/core/text.h"
#include "client/training/training_request.h"
#include "client/values/params.h"
#include "client/values/types.h"
#include "wire/msg_external.h"
#include "wire/msg_weights.h"
#include "wire/path.h"

#define NAME_MAX_BYTES ((size_t)255)

/* ---- save ---- */

/* What `encode` of a save needs. */
typedef struct checkpoint {
    const char *path; /* its name */
    int64_t ttl_seconds;
    bool overwrite;
    tk_f_str_map metadata;
    tk_f_strs recipients;
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

/* Texts of the checkpoint's metadata, in the arena; unlike that of a run, it has no
 * nulls. */
static tinkc_code read_metadata(tk_f_str_map *out, tk_arena *arena,
                                const tinkc_save_options *o, tk_err *err)
{
    tk_f_raw checked = {.is = TK_UNSET};
    tinkc_code code =
        tk_params_metadata(&checked, arena, o->metadata, o->metadata_n, err);
    if (code != TINKC_OK || o->metadata_n == 0) {
        return code;
    }
    tk_named_str *items = tk_arena_array(arena, o->metadata_n, sizeof(*items));
    if (items == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < o->metadata_n; i++) {
        if (o->metadata[i].value == NULL) {
            tk_err_set(err, TINKC_E_INVALID, "a checkpoint's metadata has no nulls");
            tk_err_under(err, "metadata");
            return err->code;
        }
        items[i] = (tk_named_str){tk_str_of(o->metadata[i].name),
                                  tk_str_of(o->metadata[i].value)};
    }
    *out = (tk_f_str_map){TK_SET, {items, o->metadata_n}};
    return TINKC_OK;
}

static tinkc_code read_recipients(tk_f_strs *out, tk_arena *arena,
                                  const tinkc_save_options *o, tk_err *err)
{
    tk_str *items = tk_arena_array(arena, o->recipients_n, sizeof(*items));
    if (o->recipients_n == 0) {
        return TINKC_OK;
    }
    if (items == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < o->recipients_n; i++) {
        const char *text = o->recipients != NULL ? o->recipients[i] : NULL;
        if (text == NULL || text[0] == '\0') {
            tk_err_set(err, TINKC_E_INVALID, "has an entry without text");
            tk_err_under(err, "recipients");
            return err->code;
        }
        items[i] = tk_str_of(text);
    }
    *out = (tk_f_strs){TK_SET, {items, o->recipients_n}};
    return TINKC_OK;
}

static tinkc_code read_save(checkpoint *out, tk_arena *arena, const char *name,
                            const tinkc_save_options *options, tk_err *err)
{
    tinkc_save_options o = TINKC_SAVE_OPTIONS_INIT;
    *out = (checkpoint){.path = name};
    tinkc_code code = tk_types_options(&o, sizeof(o), options, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = check_name(name, err);
    if (code != TINKC_OK) {
        goto out;
    }
    if (o.ttl_seconds != -1 && o.ttl_seconds < 1) {
        code = tk_err_set(err, TINKC_E_INVALID, "must be at least 1, or -1 for none");
        tk_err_under(err, "ttl_seconds");
        goto out;
    }
    code = read_metadata(&out->metadata, arena, &o, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = read_recipients(&out->recipients, arena, &o, err);
out:
    out->ttl_seconds = o.ttl_seconds;
    out->overwrite = o.overwrite;
    return code;
}

/* Checks that an option was left alone which this kind of save does not have. */
static tinkc_code refuse_option(bool is_set, const char *name, const char *why,
                                tk_err *err)
{
    if (!is_set) {
        return TINKC_OK;
    }
    tk_err_set(err, TINKC_E_INVALID, "%s", why);
    tk_err_under(err, name);
    return err->code;
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
        .user_metadata = c->metadata,
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

/* What each kind of save does not take. */
static tinkc_code check_state(const checkpoint *c, tk_err *err)
{
    return refuse_option(c->recipients.is == TK_SET, "recipients",
                         "only external weights are encrypted", err);
}

static tinkc_future *run_save(tinkc_training *training,
                              const tk_training_request_spec *spec, const char *name,
                              const tinkc_save_options *options,
                              tinkc_code (*check)(const checkpoint *c, tk_err *err))
{
    tk_err err = TK_ERR_INIT;
    tk_arena arena;
    checkpoint c;
    tk_arena_init(&arena, 0);
    tinkc_code code = read_save(&c, &arena, name, options, &err);
    if (code == TINKC_OK) {
        code = check(&c, &err);
    }
    tinkc_future *future = code == TINKC_OK
                               ? tk_training_request_run(training, spec, &c)
                               : tk_training_request_refuse(training, spec, &err);
    tk_arena_dispose(&arena);
    return future;
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
    if (training == NULL) {
        return tk_service_none(save_spec.operation, save_spec.kind);
    }
    return run_save(training, &save_spec, name, options, check_state);
}

static tinkc_code encode_sampler(tk_training_request *op, int64_t seq_id, tk_err *err)
{
    const checkpoint *c = op->message;
    tk_save_for_sampler_request request = {
        .model_id = {TK_SET, tk_str_of(op->model->id)},
        .path = {TK_SET, tk_str_of(c->path)},
        .seq_id = {TK_SET, seq_id},
        .ttl_seconds = ttl_of(c),
        .user_metadata = c->metadata,
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

static tinkc_code check_sampler(const checkpoint *c, tk_err *err)
{
    tinkc_code code = refuse_option(c->overwrite, "overwrite",
                                    "sampler weights cannot be overwritten", err);
    return code == TINKC_OK ? check_state(c, err) : code;
}

tinkc_future *tinkc_training_save_weights_for_sampler(tinkc_training *training,
                                                      const char *name,
                                                      const tinkc_save_options *options)
{
    if (training == NULL) {
        return tk_service_none(sampler_spec.operation, sampler_spec.kind);
    }
    return run_save(training, &sampler_spec, name, options, check_sampler);
}

/* ---- external weights ---- */

static tinkc_code encode_external(tk_training_request *op, int64_t seq_id, tk_err *err)
{
    const checkpoint *c = op->message;
    tk_save_external_request request = {
        .model_id = {TK_SET, tk_str_of(op->model->id)},
        .path = {TK_SET, tk_str_of(c->path)},
        .seq_id = {TK_SET, seq_id},
        .ttl_seconds = ttl_of(c),
        .age_encryption_recipients = c->recipients,
    };
    return tk_schema_encode(&op->body, &tk_msg_save_external_request, &request, err);
}

static void *read_external(tk_training_request *op, const tk_json *json, tk_err *err)
{
    (void)op;
    tk_arena arena;
    tk_save_external_result said = {.path = {.is = TK_UNSET}};
    void *text = NULL;
    tk_arena_init(&arena, 0);
    if (tk_schema_decode(&said, &tk_msg_save_external_result, &arena, json, 0, err) ==
        TINKC_OK) {
        text = give_text(&said.path, "path", err);
    }
    tk_arena_dispose(&arena);
    return text;
}

static const tk_training_request_spec external_spec = {
    .operation = "save_weights_external",
    .kind = TK_RESULT_TEXT,
    .endpoint = TK_EP_SAVE_EXTERNAL,
    .type = TK_FUTURE_SAVE_WEIGHTS_EXTERNAL,
    .ids = 1,
    .encode = encode_external,
    .read = read_external,
    .free_result = tk_free};

static tinkc_code check_external(const checkpoint *c, tk_err *err)
{
    tinkc_code code = refuse_option(c->overwrite, "overwrite",
                                    "external weights cannot be overwritten", err);
    return code == TINKC_OK ? refuse_option(c->metadata.is == TK_SET, "metadata",
                                            "external weights have no metadata", err)
                            : code;
}

tinkc_future *tinkc_training_save_weights_external(tinkc_training *training,
                                                   const char *name,
                                                   const tinkc_save_options *options)
{
    if (training == NULL) {
        return tk_service_none(external_spec.operation, external_spec.kind);
    }
    return run_save(training, &external_spec, name, options, check_external);
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
    if (code == TINKC_OK && parsed.kind == TK_PATH_SAMPLER_WEIGHTS) {
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
