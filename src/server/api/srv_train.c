/* From a training request's bytes to a job (docs/protocol.md §2.2, §2.3, §3, Appendix A).
 * Numbers are not copied: the engine reads the tensors where the decoder found them. */
#include "server/api/srv_train.h"

#include <string.h>

#include "engine/eng_loss.h"
#include "server/api/srv_lookup.h"
#include "server/run/srv_head.h"
#include "server/run/srv_job.h"
#include "server/run/srv_model.h"
#include "server/run/srv_msg.h"
#include "server/run/srv_state.h"
#include "wire/msg_model.h"
#include "wire/msg_train.h"
#include "wire/pb_fwdbwd.h"
#include "wire/zstd.h"

#define RANK_MAX   4096
#define LORA_ALPHA 32.0 /* for any rank, as the hosted service */

/* ---- create_model ---- */

static bool is_power_of_two(int64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

/* The texts are the hosted service's. */
const char *srv_train_blame_lora(const srv *server, const tk_lora_config *config)
{
    tk_err ignored = TK_ERR_INIT;
    if (config->rank.v <= 0) {
        return "lora_config.rank must be positive";
    }
    if (server->strict && !is_power_of_two(config->rank.v)) {
        return "lora_config.rank must be a power of 2";
    }
    if (config->rank.v > RANK_MAX) {
        return "lora_config.rank must be at most 4096";
    }
    if (tk_lora_config_check(config, &ignored) != TINKC_OK) {
        return "At least one of train_unembed, train_mlp, or train_attn must be True";
    }
    return NULL;
}

static bool flag_of(const tk_f_bool *field)
{
    return field->is != TK_SET || field->v;
}

static eng_lora_config lora_of(srv *server, const tk_f_lora_config *config)
{
    eng_lora_config lora = ENG_LORA_CONFIG_INIT;
    bool seeded = config->is == TK_SET && config->v.seed.is == TK_SET;
    if (config->is == TK_SET) {
        lora.rank = (size_t)config->v.rank.v;
        lora.train_attn = flag_of(&config->v.train_attn);
        lora.train_mlp = flag_of(&config->v.train_mlp);
        lora.train_unembed = flag_of(&config->v.train_unembed);
    }
    lora.alpha = LORA_ALPHA;
    tk_mutex_lock(&server->lock);
    lora.seed = seeded ? config->v.seed.v : tk_rand_u64(&server->rand);
    tk_mutex_unlock(&server->lock);
    return lora;
}

tk_str srv_train_metadata_of(hd_request *request, const tk_f_raw *raw)
{
    tk_str out = {"", 0};
    if (raw->is == TK_SET && raw->v != NULL) {
        tk_buf buf;
        tk_json_writer w;
        tk_buf_init(&buf, 2 * TK_HD_BODY_LIGHT_BYTES);
        tk_json_writer_init(&w, &buf);
        tk_json_put_value(&w, raw->v);
        if (buf.failure != TINKC_OK ||
            !tk_arena_dup(&request->arena, &out, buf.p, buf.n)) {
            out = (tk_str){"", 0};
        }
        tk_buf_dispose(&buf);
    }
    return out;
}

bool srv_train_read_optimizer(eng_optimizer *out, hd_request *request,
                              const tk_f_optimizer_config *config)
{
    *out = ENG_ADAMW;
    if (config->is != TK_SET) {
        return true;
    }
    if (config->v.kind == TK_OPTIMIZER_OTHER) {
        (void)hd_reply_fail(request, 400,
                            "optimizer_config.type: " TK_STR_FMT
                            " is not one of adamw, dimuon",
                            TK_STR_ARG(tk_optimizer_word(config->v.raw)));
        return false;
    }
    if (config->v.kind == TK_OPTIMIZER_DIMUON && config->v.version.v != 1) {
        (void)hd_reply_fail(request, 400,
                            "optimizer_config.version: this server has version 1 of "
                            "dimuon");
        return false;
    }
    *out = config->v.kind == TK_OPTIMIZER_DIMUON ? ENG_DIMUON : ENG_ADAMW;
    return true;
}

tk_f_optimizer_config srv_train_optimizer_of(eng_optimizer optimizer)
{
    tk_f_optimizer_config out = {.is = TK_SET};
    if (optimizer == ENG_DIMUON) {
        out.v.kind = TK_OPTIMIZER_DIMUON;
        out.v.version = (tk_f_i64){TK_SET, 1};
    }
    return out;
}

hd_verdict srv_train_create_model(hd_request *request)
{
    srv *server = request->app;
    tk_create_model_request msg;
    if (!srv_msg_decode(request, &tk_msg_create_model_request, &msg)) {
        return HD_ANSWERED;
    }
    if (msg.lora_config.is == TK_SET) {
        const char *blame = srv_train_blame_lora(server, &msg.lora_config.v);
        if (blame != NULL) {
            return hd_reply_fail(request, 400, "%s", blame);
        }
    }
    const srv_base *base = NULL;
    eng_lora_config lora = lora_of(server, &msg.lora_config);
    if (!srv_train_read_optimizer(&lora.optimizer, request, &msg.optimizer_config) ||
        !srv_lookup_base(&base, request, msg.base_model.v)) {
        return HD_ANSWERED;
    }
    if (lora.optimizer == ENG_DIMUON && lora.rank > ENG_DIMUON_RANK_MAX) {
        return hd_reply_fail(request, 400,
                             "lora_config.rank must be at most %d with dimuon",
                             ENG_DIMUON_RANK_MAX);
    }
    const srv_model_spec spec = {
        .session_id = msg.session_id.v,
        .seq = msg.model_seq_id.v,
        .base_name = msg.base_model.v,
        .base = base,
        .lora = lora,
        .user_metadata = srv_train_metadata_of(request, &msg.user_metadata),
    };
    const srv_submit submit = {.type = TK_FUTURE_CREATE_MODEL,
                               .schema = &tk_msg_create_model_request,
                               .msg = &msg};
    srv_job *job = srv_job_new(server, SRV_JOB_CREATE);
    if (job == NULL) {
        return hd_reply_no_memory(request);
    }
    return srv_model_submit_new(request, job, &spec, &submit);
}

/* ---- get_info, unload_model ---- */

hd_verdict srv_train_get_info(hd_request *request)
{
    srv *server = request->app;
    tk_model_request msg;
    if (!srv_msg_decode(request, &tk_msg_get_info_request, &msg)) {
        return HD_ANSWERED;
    }
    tk_str name = {NULL, 0};
    const srv_base *base = NULL;
    size_t rank = 0;
    eng_optimizer optimizer = ENG_ADAMW;
    bool copied = false;
    tk_mutex_lock(&server->lock);
    srv_model *model = srv_model_find(server, msg.model_id.v);
    if (model != NULL) {
        base = model->base;
        rank = model->lora.rank;
        optimizer = model->lora.optimizer;
        copied = tk_arena_dup(&request->arena, &name, model->base_name,
                              strlen(model->base_name));
    }
    tk_mutex_unlock(&server->lock);
    if (base == NULL) {
        return srv_model_answer_missing(request, msg.model_id.v);
    }
    if (!copied) {
        return hd_reply_no_memory(request);
    }
    const tk_get_info_response reply = {
        .model_id = {TK_SET, msg.model_id.v},
        .model_data = {.arch = {TK_SET, tk_str_of(base->info.architecture)},
                       .model_name = {TK_SET, name},
                       .tokenizer_id = {TK_SET, tk_str_of(base->tokenizer_dir)}},
        .is_lora = {TK_SET, true},
        .lora_rank = {TK_SET, (int64_t)rank},
        .model_name = {TK_SET, name},
        .optimizer_config = srv_train_optimizer_of(optimizer),
    };
    return srv_msg_reply(request, &tk_msg_get_info_response, &reply);
}

hd_verdict srv_train_unload_model(hd_request *request)
{
    tk_model_request msg;
    if (!srv_msg_decode(request, &tk_msg_unload_model_request, &msg)) {
        return HD_ANSWERED;
    }
    srv_job *job = srv_job_new(request->app, SRV_JOB_UNLOAD);
    if (job == NULL) {
        return hd_reply_no_memory(request);
    }
    const srv_submit submit = {.type = TK_FUTURE_UNLOAD_MODEL,
                               .model_id = msg.model_id.v,
                               .schema = &tk_msg_unload_model_request,
                               .msg = &msg};
    return srv_job_submit(request, job, &submit);
}

/* ---- bytes ---- */

static tinkc_code plain_bytes(tk_str *out, hd_request *request, srv_job *job, tk_err *err)
{
    if (!request->is_encoded) {
        *out = tk_buf_str(&request->body);
        return TINKC_OK;
    }
    tk_zstd zstd;
    tk_zstd_init(&zstd);
    const tk_bytes bytes = {(const unsigned char *)request->body.p, request->body.n};
    if (!tk_quota_take(hd_request_quota(request), TK_ZSTD_WORK_BYTES)) {
        return tk_err_set(err, TINKC_E_RATE_LIMIT, "the server's memory is full");
    }
    tinkc_code code = tk_zstd_decompress(&zstd, &job->plain, bytes, err);
    tk_zstd_dispose(&zstd);
    tk_quota_give(hd_request_quota(request), TK_ZSTD_WORK_BYTES);
    *out = tk_buf_str(&job->plain);
    return code;
}

static tinkc_code decode(tk_fwdbwd_request *out, hd_request *request, tk_str bytes,
                         bool forward, tk_err *err)
{
    if (srv_head_sends_proto(request)) {
        const tk_bytes input = {(const unsigned char *)bytes.p, bytes.n};
        return tk_pb_fwdbwd_decode(out, &request->arena, input, err);
    }
    tinkc_code code = tk_schema_decode_text(
        out, forward ? &tk_msg_forward_request : &tk_msg_forward_backward_request,
        &request->arena, bytes, SRV_MSG_REQUEST, err);
    out->forward_only = forward;
    return code;
}

/* ---- to the engine's structs ---- */

static tinkc_code refuse_chunk(const tk_chunk *chunk, size_t at, tk_err *err)
{
    static const char *const types[] = {[TK_CHUNK_IMAGE] = "image",
                                        [TK_CHUNK_IMAGE_POINTER] = "image_asset_pointer",
                                        [TK_CHUNK_DMEL] = "dmel"};
    const char *type = types[TK_MIN(chunk->kind, TK_CHUNK_DMEL)];
    if (chunk->kind == TK_CHUNK_UNKNOWN) {
        type = tk_json_get(chunk->raw, "type")->as.string.p; /* the tag of the union */
    }
    return tk_err_set(err, TINKC_E_INVALID,
                      "chunks[%zu] is of type %.40s: this server takes encoded_text only",
                      at, type);
}

tinkc_code srv_train_tokens(const int32_t **out, size_t *n_out, tk_arena *arena,
                            const tk_model_input *input, tk_err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < input->n; i++) {
        if (input->chunks[i].kind != TK_CHUNK_TEXT) {
            return refuse_chunk(&input->chunks[i], i, err);
        }
        n += input->chunks[i].tokens.n;
    }
    *n_out = n;
    if (input->n == 1) {
        *out = input->chunks[0].tokens.p;
        return TINKC_OK;
    }
    int32_t *tokens = tk_arena_array(arena, n, sizeof(*tokens));
    if (tokens == NULL) {
        return tk_err_nomem(err);
    }
    *out = tokens;
    for (size_t i = 0; i < input->n; i++) {
        tk_i32s part = input->chunks[i].tokens;
        for (size_t k = 0; k < part.n; k++) {
            *tokens++ = part.p[k];
        }
    }
    return TINKC_OK;
}

static eng_array convert_tensor(const tk_named_tensor *named)
{
    const tk_tensor *tensor = &named->tensor;
    eng_array out = {
        .name = named->name,
        .type = tensor->dtype == TK_DTYPE_I64 ? ENG_ARRAY_I64 : ENG_ARRAY_F32,
        .values = tensor->data,
        .n_values = tensor->n,
    };
    if (tensor->has_shape && tensor->shape.n > 0) {
        out.shape = tensor->shape.p;
        out.n_dims = tensor->shape.n;
    }
    if (tensor->is_sparse) {
        out.rows = tensor->crow.p;
        out.n_rows = tensor->crow.n;
        out.columns = tensor->col.p;
        out.n_columns = tensor->col.n;
    }
    return out;
}

static tinkc_code convert_datum(eng_datum *out, tk_arena *arena, const tk_datum *datum,
                                tk_err *err)
{
    size_t n = datum->loss_fn_inputs.n;
    eng_array *inputs = tk_arena_array(arena, n, sizeof(*inputs));
    if (inputs == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < n; i++) {
        inputs[i] = convert_tensor(&datum->loss_fn_inputs.items[i]);
    }
    out->inputs = inputs;
    out->n_inputs = n;
    return srv_train_tokens(&out->tokens, &out->n_tokens, arena, &datum->model_input,
                            err);
}

/* Whether the second form of the settings has one of the first. */
static bool has_setting(const tk_loss_values *values, const tk_named_num *setting)
{
    for (size_t i = 0; i < values->n; i++) {
        const tk_loss_value *at = &values->items[i];
        if (tk_str_eq(at->name, setting->name)) {
            return !at->is_text && at->number == setting->v;
        }
    }
    return false;
}

/* Finds the loss and its settings here: the work would only fail with what is wrong with
 * them. */
static tinkc_code check_loss(const eng_train_request *request, tk_err *err)
{
    eng_loss_token token;
    const eng_loss *loss = eng_loss_find(request->loss_fn);
    return loss != NULL ? eng_loss_configure(loss, request->settings, request->n_settings,
                                             &token, err)
                        : eng_loss_refuse(request->loss_fn, err);
}

/* The second form of the settings, where it is there, has all of them. */
static tinkc_code convert_settings(eng_train_request *out, tk_arena *arena,
                                   const tk_fwdbwd_request *msg, tk_err *err)
{
    const tk_loss_values *values = &msg->loss_fn_config_v2;
    size_t n = values->n > 0 ? values->n : msg->loss_fn_config.n;
    for (size_t i = 0; values->n > 0 && i < msg->loss_fn_config.n; i++) {
        const tk_named_num *at = &msg->loss_fn_config.items[i];
        if (!has_setting(values, at)) {
            return tk_err_set(err, TINKC_E_INVALID,
                              "loss_fn_config." TK_STR_FMT
                              " is not the same in loss_fn_config_v2",
                              TK_STR_ARG(at->name));
        }
    }
    eng_setting *settings = tk_arena_array(arena, n, sizeof(*settings));
    if (settings == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < n; i++) {
        if (values->n > 0) {
            const tk_loss_value *at = &values->items[i];
            settings[i] = (eng_setting){at->name, at->number, at->is_text};
        } else {
            const tk_named_num *at = &msg->loss_fn_config.items[i];
            settings[i] = (eng_setting){at->name, at->v, false};
        }
    }
    out->settings = settings;
    out->n_settings = n;
    return check_loss(out, err);
}

/* Nothing is recorded at sampling that they could refer to; they must make sense. */
static tinkc_code check_origins(const tk_origins *spans, size_t positions,
                                const char *name, tk_err *err)
{
    uint64_t covered = 0;
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; i < spans->n && code == TINKC_OK; i++) {
        const tk_origin *span = &spans->p[i];
        if (span->sequence_id.n == 0 || span->offset < 0 || span->length < 0 ||
            (uint64_t)span->length > positions - covered) {
            code = tk_err_set(err, TINKC_E_INVALID,
                              "%s[%zu] has no sequence_id, a negative number, or reaches "
                              "beyond the %zu positions",
                              name, i, positions);
        } else {
            covered += (uint64_t)span->length;
        }
    }
    if (code == TINKC_OK && covered != positions) {
        code = tk_err_set(err, TINKC_E_INVALID, "%s cover %llu of %zu positions", name,
                          (unsigned long long)covered, positions);
    }
    if (code != TINKC_OK) {
        tk_err_under(err, name);
    }
    return code;
}

static size_t count_targets(const tk_datum *datum, size_t otherwise)
{
    for (size_t i = 0; i < datum->loss_fn_inputs.n; i++) {
        const tk_named_tensor *input = &datum->loss_fn_inputs.items[i];
        const tk_tensor *tensor = &input->tensor;
        if (tk_str_is(input->name, "target_tokens")) {
            return tensor->has_shape && tensor->shape.n > 0 ? (size_t)tensor->shape.p[0]
                                                            : tensor->n;
        }
    }
    return otherwise;
}

static tinkc_code check_provenance(const tk_datum *datum, size_t n_tokens, tk_err *err)
{
    const tk_origins *input = &datum->model_input_spans;
    const tk_origins *targets = &datum->loss_fn_input_spans;
    if (input->n == 0 && targets->n == 0) {
        return TINKC_OK;
    }
    tinkc_code code = check_origins(input, n_tokens, "model_input_spans", err);
    return code == TINKC_OK ? check_origins(targets, count_targets(datum, n_tokens),
                                            "loss_fn_input_spans", err)
                            : code;
}

static tinkc_code convert(srv_job *job, tk_arena *arena, const tk_fwdbwd_request *msg,
                          tk_err *err)
{
    eng_datum *data = tk_arena_array(arena, msg->data_n, sizeof(*data));
    if (data == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < msg->data_n; i++) {
        tinkc_code code = convert_datum(&data[i], arena, &msg->data[i], err);
        if (code == TINKC_OK) {
            code = check_provenance(&msg->data[i], data[i].n_tokens, err);
        }
        if (code != TINKC_OK) {
            tk_err_under_index(err, i);
            tk_err_under(err, "data");
            return code;
        }
        job->n_tokens += data[i].n_tokens;
    }
    job->train = (eng_train_request){
        .loss_fn = msg->loss_fn,
        .data = data,
        .n_data = msg->data_n,
        .forward_only = msg->forward_only,
        .piece_rows = job->server->piece_rows,
        .strict = job->server->strict,
    };
    job->size = eng_bytes_measure(&job->train);
    return convert_settings(&job->train, arena, msg, err);
}

/* ---- routes ---- */

/* The client knows that the request is refused and will not send it again: the next ones
 * do not wait for it. Not when the reason may pass. */
static void skip(srv *server, const tk_fwdbwd_request *msg, tinkc_code why)
{
    if (why != TINKC_E_INVALID && why != TINKC_E_DECODE && why != TINKC_E_UNSUPPORTED) {
        return;
    }
    tk_mutex_lock(&server->lock);
    srv_model *model = srv_model_find(server, msg->model_id);
    if (model != NULL) {
        srv_order_skip(&model->order, msg->seq_id);
    }
    tk_mutex_unlock(&server->lock);
}

static tinkc_code prepare(srv_submit *out, hd_request *request, srv_job *job,
                          bool forward, tk_err *err)
{
    tk_fwdbwd_request msg;
    tk_str bytes;
    tinkc_code code = plain_bytes(&bytes, request, job, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = decode(&msg, request, bytes, forward, err);
    if (code != TINKC_OK) {
        goto out;
    }
    if (msg.data_n == 0 || msg.seq_id < 0) {
        code = tk_err_set(err, TINKC_E_INVALID,
                          msg.data_n == 0 ? "data must not be empty"
                                          : "seq_id must not be negative");
        goto out;
    }
    code = convert(job, &request->arena, &msg, err);
    if (code != TINKC_OK) {
        skip(request->app, &msg, code);
        goto out;
    }
    job->order.kind = msg.forward_only ? SRV_ORDER_FORWARD : SRV_ORDER_GRADIENT;
    *out = (srv_submit){
        .type = msg.forward_only ? TK_FUTURE_FORWARD : TK_FUTURE_FORWARD_BACKWARD,
        .model_id = msg.model_id,
        .seq = msg.seq_id,
        .bytes = bytes,
    };
out:
    return code;
}

static hd_verdict submit(hd_request *request, bool forward)
{
    srv_job *job = srv_job_new(request->app, SRV_JOB_TRAIN);
    if (job == NULL) {
        return hd_reply_no_memory(request);
    }
    srv_submit out;
    tk_err err = TK_ERR_INIT;
    tinkc_code code = prepare(&out, request, job, forward, &err);
    if (code != TINKC_OK) {
        srv_job_free(job);
        return hd_reply_error(request, &err);
    }
    return srv_job_submit(request, job, &out);
}

hd_verdict srv_train_forward_backward(hd_request *request)
{
    return submit(request, false);
}

hd_verdict srv_train_forward(hd_request *request)
{
    return submit(request, true);
}

/* ---- optim_step ---- */

/* Answers and returns false when the parameters are not those of the model's optimizer. A
 * model that is not there is found missing later. */
static bool fits_model(hd_request *request, tk_str model_id, eng_optimizer step)
{
    srv *server = request->app;
    eng_optimizer own = step;
    tk_mutex_lock(&server->lock);
    const srv_model *model = srv_model_find(server, model_id);
    if (model != NULL) {
        own = model->lora.optimizer;
    }
    tk_mutex_unlock(&server->lock);
    if (own == step) {
        return true;
    }
    (void)hd_reply_fail(request, 400,
                        own == ENG_DIMUON
                            ? "adam_params: the model's optimizer is dimuon, which takes "
                              "optimizer_params of type dimuon"
                            : "optimizer_params: the model's optimizer is adamw, which "
                              "takes adam_params");
    return false;
}

static bool read_dimuon(srv_job *job, hd_request *request, const tk_optim_params *params)
{
    tk_err err = TK_ERR_INIT;
    if (params->kind != TK_OPTIMIZER_DIMUON) {
        (void)hd_reply_fail(request, 400,
                            "optimizer_params: the optimizer " TK_STR_FMT
                            " is not one of dimuon (and adamw, which takes adam_params)",
                            TK_STR_ARG(tk_optimizer_word(params->raw)));
        return false;
    }
    if (tk_optim_params_check(params, &err) != TINKC_OK) {
        err.code = TINKC_E_DECODE; /* 422, as other values out of range */
        tk_err_under(&err, "optimizer_params");
        (void)hd_reply_error(request, &err);
        return false;
    }
    job->optim = ENG_DIMUON;
    job->dimuon = (eng_dimuon){.learning_rate = params->learning_rate.v,
                               .beta1 = params->beta1.v,
                               .grad_clip_norm = params->grad_clip_norm.v};
    return true;
}

static bool read_adam(srv_job *job, hd_request *request, const tk_adam_params *adam)
{
    tk_err err = TK_ERR_INIT;
    if (tk_adam_params_check(adam, &err) != TINKC_OK) {
        err.code = TINKC_E_DECODE; /* 422, as other values out of range */
        tk_err_under(&err, "adam_params");
        (void)hd_reply_error(request, &err);
        return false;
    }
    job->adam = (eng_adam){
        .learning_rate = adam->learning_rate.v,
        .beta1 = adam->beta1.v,
        .beta2 = adam->beta2.v,
        .eps = adam->eps.v,
        .weight_decay = adam->weight_decay.v,
        .grad_clip_norm = adam->grad_clip_norm.v,
    };
    return true;
}

/* Fills the job; answers and returns false when that cannot be done. */
static bool read_step(srv_job *job, hd_request *request, const tk_optim_step_request *msg)
{
    bool adam = msg->adam_params.is == TK_SET, other = msg->optimizer_params.is == TK_SET;
    if (adam == other) {
        (void)hd_reply_field(request, "adam_params",
                             adam ? "give adam_params or optimizer_params, not both"
                                  : "is missing");
        return false;
    }
    return (adam ? read_adam(job, request, &msg->adam_params.v)
                 : read_dimuon(job, request, &msg->optimizer_params.v)) &&
           fits_model(request, msg->model_id.v, job->optim);
}

hd_verdict srv_train_optim_step(hd_request *request)
{
    tk_optim_step_request msg;
    int64_t seq = 0;
    if (!srv_msg_decode(request, &tk_msg_optim_step_request, &msg) ||
        !srv_job_read_seq(&seq, request, &msg.seq_id)) {
        return HD_ANSWERED;
    }
    srv_job *job = srv_job_new(request->app, SRV_JOB_OPTIM);
    if (job == NULL) {
        return hd_reply_no_memory(request);
    }
    if (!read_step(job, request, &msg)) {
        srv_job_free(job);
        return HD_ANSWERED;
    }
    const srv_submit out = {.type = TK_FUTURE_OPTIM_STEP,
                            .model_id = msg.model_id.v,
                            .seq = seq,
                            .schema = &tk_msg_optim_step_request,
                            .msg = &msg};
    return srv_job_submit(request, job, &out);
}
