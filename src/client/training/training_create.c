/* Making a model: new (create_model), or from a checkpoint, either with one
 * load_weights that addresses the session (flag create_model_via_load_weights) or with
 * weights_info, create_model, load_weights (docs/protocol.md §2.2, §2.3). */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "client/call/submit.h"
#include "client/core/service.h"
#include "client/core/text.h"
#include "client/training/training.h"
#include "client/values/params.h"
#include "client/values/types.h"
#include "wire/msg_model.h"
#include "wire/msg_session.h"
#include "wire/msg_weights.h"

#define BODY_MAX_BYTES  TK_MIB
#define MODEL_ID_BYTES  256
#define ARENA_MAX_BYTES (2 * TK_MIB)

typedef struct create {
    tk_op op;
    tk_ready ready;
    tk_call call; /* auth/token, weights_info */
    tk_submit submit;
    tk_buf body;
    int64_t model_seq;
    tk_lora_config lora;
    tk_arena arena; /* of the metadata and of JSON that names an optimizer */
    tk_f_raw metadata;
    tk_f_optimizer_config optimizer; /* the caller's or the checkpoint's */
    char *base_model;                /* owned; NULL: as the checkpoint says */
    char *path;                      /* owned; NULL: a new model */
    char *token;                     /* owned or NULL */
    bool with_optimizer;
    tinkc_training *made;
} create;

static create *of(tk_op *op)
{
    return TK_CONTAINER_OF(op, create, op);
}

/* ---- ends ---- */

static void succeed(create *self)
{
    tinkc_training *made = self->made;
    self->made = NULL;
    tk_op_complete(&self->op, made, tk_training_free);
}

static void on_settled(tk_submit *submit, tinkc_code code, const tk_err *err)
{
    create *self = submit->user;
    if (code != TINKC_OK) {
        tk_op_fail(&self->op, err);
    }
}

/* ---- requests ---- */

static void submit(create *self, tk_endpoint_id endpoint, tk_future_type type,
                   void (*done)(tk_submit *submit, const tk_poll_result *result))
{
    int64_t started_ns = self->submit.started_ns;
    self->submit =
        (tk_submit){.core = self->op.core,
                    .form.endpoint = endpoint,
                    .type = type,
                    .form.body = self->body.p,
                    .form.body_n = self->body.n,
                    .what = self->made != NULL ? self->made->model->id : "model creation",
                    .future = self->op.future,
                    .started_ns = started_ns,
                    .settled = on_settled,
                    .done = done,
                    .user = self};
    tk_submit_start(&self->submit);
}

static void on_loaded(tk_submit *done, const tk_poll_result *result)
{
    create *self = done->user;
    if (result->code != TINKC_OK) {
        tk_op_fail(&self->op, result->err);
        return;
    }
    succeed(self);
}

/* `seq_id` 0: the load makes the model. */
static void load(create *self, int64_t seq_id)
{
    tk_err err = TK_ERR_INIT;
    tk_load_weights_request request = {
        .path = {TK_SET, tk_str_of(self->path)},
        .optimizer = {TK_SET, self->with_optimizer},
        .weights_access_token = tk_f_str_of(self->token),
    };
    if (seq_id > 0) {
        request.model_id = tk_f_str_of(self->made->model->id);
        request.seq_id = (tk_f_i64){TK_SET, seq_id};
    } else {
        request.session_id = tk_f_str_of(tk_core_session_id(self->op.core));
        request.model_seq_id = (tk_f_i64){TK_SET, self->model_seq};
        request.base_model = tk_f_str_of(self->base_model);
        request.user_metadata = self->metadata;
        request.optimizer_config = self->optimizer;
    }
    tk_buf_clear(&self->body);
    if (tk_schema_encode(&self->body, &tk_msg_load_weights_request, &request, &err) !=
        TINKC_OK) {
        tk_op_fail(&self->op, &err);
        return;
    }
    submit(self, TK_EP_LOAD_WEIGHTS, TK_FUTURE_LOAD_WEIGHTS, on_loaded);
}

/* The load that makes the model is its request 0; the client computes the id. */
static void create_by_load(create *self)
{
    tk_err err = TK_ERR_INIT;
    char id[MODEL_ID_BYTES];
    int n = snprintf(id, sizeof(id), "%s:train:%lld", tk_core_session_id(self->op.core),
                     (long long)self->model_seq);
    if (n < 0 || (size_t)n >= sizeof(id)) {
        tk_err_set(&err, TINKC_E_LIMIT, "the session id is too long");
        tk_op_fail(&self->op, &err);
        return;
    }
    if (tk_training_new(&self->made, self->op.handle, tk_str_of(id), 0, &err) !=
        TINKC_OK) {
        tk_op_fail(&self->op, &err);
        return;
    }
    load(self, 0);
}

static tinkc_code read_model(create *self, const tk_json *json, tk_err *err)
{
    tk_arena arena;
    tk_model_result said = {.model_id = {.is = TK_UNSET}};
    tk_arena_init(&arena, BODY_MAX_BYTES);
    tinkc_code code =
        tk_schema_decode(&said, &tk_msg_create_model_result, &arena, json, 0, err);
    if (code == TINKC_OK && said.model_id.v.n == 0) {
        code = tk_err_set(err, TINKC_E_DECODE, "the server gave the model no id");
    }
    if (code == TINKC_OK) {
        int64_t first_id = self->path != NULL ? 1 : 0; /* 0 is the load's */
        code =
            tk_training_new(&self->made, self->op.handle, said.model_id.v, first_id, err);
    }
    tk_arena_dispose(&arena);
    return code;
}

static void on_created(tk_submit *done, const tk_poll_result *result)
{
    create *self = done->user;
    tk_err err = TK_ERR_INIT;
    if (result->code != TINKC_OK) {
        tk_op_fail(&self->op, result->err);
    } else if (read_model(self, result->json, &err) != TINKC_OK) {
        tk_op_fail(&self->op, &err);
    } else if (self->path == NULL) {
        succeed(self);
    } else {
        load(self, 1);
    }
}

static void create_model(create *self)
{
    tk_err err = TK_ERR_INIT;
    tk_create_model_request request = {
        .session_id = tk_f_str_of(tk_core_session_id(self->op.core)),
        .model_seq_id = {TK_SET, self->model_seq},
        .base_model = tk_f_str_of(self->base_model),
        .user_metadata = self->metadata,
        .lora_config = {TK_SET, self->lora},
        .optimizer_config = self->optimizer,
    };
    if (tk_config_sdk_at_least(tk_core_config(self->op.core), 36)) {
        request.optimizer_config.is = TK_SET; /* zero is AdamW */
    }
    tk_buf_clear(&self->body);
    if (tk_schema_encode(&self->body, &tk_msg_create_model_request, &request, &err) !=
        TINKC_OK) {
        tk_op_fail(&self->op, &err);
        return;
    }
    submit(self, TK_EP_CREATE_MODEL, TK_FUTURE_CREATE_MODEL, on_created);
}

/* ---- what the checkpoint is ---- */

/* Null counts as true. */
static tk_f_bool part(const tk_f_bool *said)
{
    return (tk_f_bool){TK_SET, said->is != TK_SET || said->v};
}

static tinkc_code take_info(create *self, const tk_weights_info_response *said,
                            tk_err *err)
{
    if (said->is_lora.is != TK_SET || !said->is_lora.v || said->lora_rank.is != TK_SET) {
        return tk_err_set(err, TINKC_E_UNSUPPORTED,
                          "the checkpoint is not of a LoRA model, or has no rank");
    }
    if (said->lora_rank.v < 1 || said->lora_rank.v > INT32_MAX) {
        return tk_err_set(err, TINKC_E_DECODE,
                          "the server says that the checkpoint has the rank %lld",
                          (long long)said->lora_rank.v);
    }
    self->lora = (tk_lora_config){.rank = said->lora_rank,
                                  .train_unembed = part(&said->train_unembed),
                                  .train_mlp = part(&said->train_mlp),
                                  .train_attn = part(&said->train_attn)};
    if (self->with_optimizer && said->optimizer_config.v.kind != TK_OPTIMIZER_ADAMW) {
        self->optimizer = said->optimizer_config; /* its state is loaded next */
    }
    if (self->base_model == NULL && said->base_model.is == TK_SET) {
        self->base_model = tk_strndup(said->base_model.v.p, said->base_model.v.n);
        return self->base_model != NULL ? TINKC_OK : tk_err_nomem(err);
    }
    return self->base_model != NULL
               ? TINKC_OK
               : tk_err_set(err, TINKC_E_DECODE, "the checkpoint names no base model");
}

static void on_info(tk_call *call, const tk_call_answer *answer)
{
    create *self = call->user;
    tk_err err = TK_ERR_INIT;
    tk_weights_info_response said = {.is_lora = {.is = TK_UNSET}};
    if (answer->code != TINKC_OK) {
        tk_op_fail(&self->op, answer->err);
        return;
    }
    tinkc_code code =
        tk_schema_decode_text(&said, &tk_msg_weights_info_response, &self->arena,
                              answer->response->body, 0, &err);
    if (code == TINKC_OK) {
        code = take_info(self, &said, &err);
    }
    if (code != TINKC_OK) {
        tk_op_fail(&self->op, &err);
        return;
    }
    create_model(self);
}

/* With the token of another account the checkpoint is asked for as that account. */
static void ask_info(create *self)
{
    tk_err err = TK_ERR_INIT;
    tk_weights_info_request request = {.tinker_path = {TK_SET, tk_str_of(self->path)}};
    tk_buf_clear(&self->body);
    if (tk_schema_encode(&self->body, &tk_msg_weights_info_request, &request, &err) !=
        TINKC_OK) {
        tk_op_fail(&self->op, &err);
        return;
    }
    self->call = (tk_call){.core = self->op.core,
                           .endpoint = tk_endpoint_at(TK_EP_WEIGHTS_INFO),
                           .body = self->body.p,
                           .body_n = self->body.n,
                           .credential = self->token,
                           .future = self->op.future,
                           .done = on_info,
                           .user = self};
    tk_call_start(&self->call);
}

/* ---- the token of another account ---- */

static void set_token(create *self, char *token)
{
    if (self->token != NULL) {
        tk_mem_wipe(self->token, strlen(self->token));
    }
    tk_free(self->token);
    self->token = token;
}

static void from_state(create *self)
{
    if (tk_core_flags(self->op.core)->create_model_via_load_weights.v) {
        create_by_load(self);
    } else {
        ask_info(self);
    }
}

static void on_token(tk_call *call, const tk_call_answer *answer)
{
    create *self = call->user;
    tk_err err = TK_ERR_INIT;
    char *token = NULL;
    if (tk_auth_read_token(&token, answer, &err) != TINKC_OK) {
        tk_op_fail(&self->op, &err);
        return;
    }
    set_token(self, token);
    from_state(self);
}

/* Where credentials are exchanged for JWTs, this token is too (docs/protocol.md §12). */
static void exchange_token(create *self)
{
    self->call = (tk_call){.core = self->op.core,
                           .endpoint = tk_endpoint_at(TK_EP_AUTH_TOKEN),
                           .body = "{}",
                           .body_n = 2,
                           .credential = self->token,
                           .future = self->op.future,
                           .done = on_token,
                           .user = self};
    tk_call_start(&self->call);
}

/* ---- life ---- */

static void on_ready(tk_ready *ready, tinkc_code code, const tk_err *err)
{
    create *self = TK_CONTAINER_OF(ready, create, ready);
    if (code != TINKC_OK) {
        tk_op_fail(&self->op, err);
    } else if (self->path == NULL) {
        create_model(self);
    } else if (self->token != NULL && tk_core_flags(self->op.core)->pjwt_auth_enabled.v) {
        exchange_token(self);
    } else {
        from_state(self);
    }
}

static void start(tk_op *op)
{
    create *self = of(op);
    self->ready.need_session = true;
    self->ready.done = on_ready;
    tk_core_when_ready(op->core, &self->ready);
}

static void cancel(tk_op *op)
{
    create *self = of(op);
    if (tk_call_is_running(&self->call)) {
        tk_call_cancel(&self->call);
    } else if (tk_submit_is_running(&self->submit)) {
        tk_submit_cancel(&self->submit);
    } else {
        tk_err err = TK_ERR_INIT;
        tk_err_set(&err, TINKC_E_CANCELLED, "cancelled");
        tk_core_forget_ready(op->core, &self->ready);
        tk_op_fail(op, &err);
    }
}

static void destroy(tk_op *op)
{
    create *self = of(op);
    tinkc_training_close(&self->made);
    tk_buf_dispose(&self->body);
    tk_arena_dispose(&self->arena);
    tk_free(self->base_model);
    tk_free(self->path);
    set_token(self, NULL);
    tk_free(self);
}

static const tk_op_type create_type = {start, cancel, destroy};

/* ---- the caller's thread ---- */

static create *new_create(tk_handle *handle, const char *operation)
{
    create *self = tk_zalloc(sizeof(*self));
    if (self != NULL) {
        self->submit.started_ns = tk_clock_mono_ns(tk_core_clock(handle->core));
        tk_buf_init(&self->body, BODY_MAX_BYTES);
        tk_arena_init(&self->arena, ARENA_MAX_BYTES);
        tk_op_init(&self->op, &create_type, handle, operation, TK_RESULT_TRAINING);
    }
    return self;
}

/* The model's number is drawn at the call, last: refused calls leave no hole. */
static tinkc_future *run(create *self, tinkc_code code, const tk_err *err)
{
    if (code != TINKC_OK) {
        return tk_op_refuse(&self->op, err);
    }
    self->model_seq = tk_core_next_model_seq(self->op.core);
    return tk_op_submit(&self->op);
}

static tinkc_future *no_memory(tk_handle *handle, const char *operation)
{
    tk_err err = TK_ERR_INIT;
    tk_err_nomem(&err);
    return tk_handle_refuse(handle, operation, TK_RESULT_TRAINING, &err);
}

tinkc_future *tinkc_service_create_training(tinkc_service *service,
                                            const char *base_model,
                                            const tinkc_lora_config *lora)
{
    static const char operation[] = "create_training";
    tk_err err = TK_ERR_INIT;
    if (service == NULL) {
        return tk_service_none(operation, TK_RESULT_TRAINING);
    }
    create *self = new_create(tk_service_handle(service), operation);
    if (self == NULL) {
        return no_memory(tk_service_handle(service), operation);
    }
    tinkc_lora_config c = TINKC_LORA_CONFIG_INIT;
    tinkc_code code = base_model != NULL && base_model[0] != '\0'
                          ? tk_params_lora(&self->lora, lora, &err)
                          : tk_err_set(&err, TINKC_E_INVALID, "no base model");
    if (code == TINKC_OK) {
        code = tk_types_options(&c, sizeof(c), lora, &err);
    }
    if (code == TINKC_OK) {
        code = tk_params_metadata(&self->metadata, &self->arena, c.metadata, c.metadata_n,
                                  &err);
    }
    if (code == TINKC_OK) {
        code = tk_params_optimizer(&self->optimizer, &self->arena, c.optimizer, &err);
    }
    if (code == TINKC_OK) {
        code = tk_text_copy(&self->base_model, base_model, "base_model", &err);
    }
    return run(self, code, &err);
}

static tinkc_code fill_from_state(create *self, const char *path,
                                  const tinkc_from_state_options *o, tk_err *err)
{
    self->with_optimizer = o->with_optimizer;
    tinkc_code code = tk_training_check_path(path, err);
    if (code == TINKC_OK && o->with_optimizer && o->optimizer != NULL) {
        code = tk_err_set(err, TINKC_E_INVALID,
                          "with_optimizer takes the optimizer of the checkpoint");
    }
    if (code == TINKC_OK) {
        code = tk_params_optimizer(&self->optimizer, &self->arena, o->optimizer, err);
    }
    if (code != TINKC_OK) {
        return code;
    }
    code = tk_text_copy(&self->path, path, "path", err);
    if (code != TINKC_OK) {
        return code;
    }
    code = tk_text_copy(&self->base_model, o->base_model, "base_model", err);
    if (code != TINKC_OK) {
        return code;
    }
    return tk_text_copy(&self->token, o->weights_access_token, "weights_access_token",
                        err);
}

tinkc_future *
tinkc_service_create_training_from_state(tinkc_service *service, const char *path,
                                         const tinkc_from_state_options *options)
{
    static const char operation[] = "create_training_from_state";
    tk_err err = TK_ERR_INIT;
    tinkc_from_state_options o = TINKC_FROM_STATE_OPTIONS_INIT;
    if (service == NULL) {
        return tk_service_none(operation, TK_RESULT_TRAINING);
    }
    create *self = new_create(tk_service_handle(service), operation);
    if (self == NULL) {
        return no_memory(tk_service_handle(service), operation);
    }
    tinkc_code code = tk_types_options(&o, sizeof(o), options, &err);
    if (code == TINKC_OK) {
        code = fill_from_state(self, path, &o, &err);
    }
    if (code == TINKC_OK) {
        code = tk_params_metadata(&self->metadata, &self->arena, o.metadata, o.metadata_n,
                                  &err);
    }
    return run(self, code, &err);
}
