/* From a training request's bytes to a job (wire.md §2.3, §3, Appendix A). Numbers are
 * not copied: the engine reads the tensors where the decoder found them. */
#include "server/api/srv_train.h"

#include "base/mem.h"
#include "server/http/srv_reply.h"
#include "server/run/srv_job.h"
#include "server/srv_int.h"
#include "wire/msg_train.h"
#include "wire/msg_value.h"
#include "wire/pb_fwdbwd.h"
#include "wire/zstd.h"

/* ---- bytes ---- */

static tinkc_code plain_bytes(tk_str *out, srv_request *request, srv_job *job,
                              tk_err *err)
{
    if (!request->sends_zstd) {
        *out = tk_buf_str(&request->body);
        return TINKC_OK;
    }
    tk_zstd zstd;
    tk_zstd_init(&zstd);
    const tk_bytes bytes = {(const unsigned char *)request->body.p, request->body.n};
    tinkc_code code = tk_zstd_decompress(&zstd, &job->plain, bytes, err);
    tk_zstd_dispose(&zstd);
    if (code != TINKC_OK) {
        return code;
    }
    if (!srv_count_body(job->server, job->plain.n)) {
        return tk_err_set(err, TINKC_E_RATE_LIMIT,
                          "the server holds too many requests; try again");
    }
    job->counted += job->plain.n;
    *out = tk_buf_str(&job->plain);
    return TINKC_OK;
}

static tinkc_code decode(tk_fwdbwd_request *out, srv_request *request, tk_str bytes,
                         bool forward, tk_err *err)
{
    if (request->sends_proto) {
        const tk_bytes input = {(const unsigned char *)bytes.p, bytes.n};
        return tk_pb_fwdbwd_decode(out, &request->arena, input, err);
    }
    tinkc_code code = tk_schema_decode_text(
        out, forward ? &tk_msg_forward_request : &tk_msg_forward_backward_request,
        &request->arena, bytes, 0, err);
    out->forward_only = forward;
    return code;
}

/* ---- to the engine's structs ---- */

static tinkc_code convert_tokens(eng_datum *out, tk_arena *arena,
                                 const tk_model_input *input, tk_err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < input->n; i++) {
        if (input->chunks[i].kind != TK_CHUNK_TEXT) {
            return tk_err_set(err, TINKC_E_INVALID, "this server takes text only");
        }
        n += input->chunks[i].tokens.n;
    }
    out->n_tokens = n;
    if (input->n == 1) {
        out->tokens = input->chunks[0].tokens.p;
        return TINKC_OK;
    }
    int32_t *tokens = tk_arena_array(arena, n, sizeof(*tokens));
    if (tokens == NULL) {
        return tk_err_nomem(err);
    }
    out->tokens = tokens;
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
    return convert_tokens(out, arena, &datum->model_input, err);
}

static tinkc_code convert(srv_job *job, tk_arena *arena, const tk_fwdbwd_request *msg,
                          tk_err *err)
{
    eng_datum *data = tk_arena_array(arena, msg->data_n, sizeof(*data));
    eng_setting *settings =
        tk_arena_array(arena, msg->loss_fn_config.n, sizeof(*settings));
    if (data == NULL || settings == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < msg->data_n; i++) {
        tinkc_code code = convert_datum(&data[i], arena, &msg->data[i], err);
        if (code != TINKC_OK) {
            tk_err_under_index(err, i);
            tk_err_under(err, "data");
            return code;
        }
        job->n_tokens += data[i].n_tokens;
    }
    for (size_t i = 0; i < msg->loss_fn_config.n; i++) {
        const tk_named_num *at = &msg->loss_fn_config.items[i];
        settings[i] = (eng_setting){at->name, at->v};
    }
    job->train = (eng_train_request){
        .loss_fn = msg->loss_fn,
        .settings = settings,
        .n_settings = msg->loss_fn_config.n,
        .data = data,
        .n_data = msg->data_n,
        .forward_only = msg->forward_only,
        .piece_rows = job->server->piece_rows,
        .strict = job->server->strict,
    };
    return TINKC_OK;
}

/* ---- routes ---- */

static tinkc_code prepare(srv_submit *out, srv_request *request, srv_job *job,
                          bool forward, tk_err *err)
{
    tk_fwdbwd_request msg;
    tk_str bytes;
    tinkc_code code = plain_bytes(&bytes, request, job, err);
    if (code == TINKC_OK) {
        code = decode(&msg, request, bytes, forward, err);
    }
    if (code == TINKC_OK && msg.data_n == 0) {
        code = tk_err_set(err, TINKC_E_INVALID, "data must not be empty");
    }
    if (code == TINKC_OK && msg.seq_id < 0) {
        code = tk_err_set(err, TINKC_E_INVALID, "seq_id must not be negative");
    }
    if (code == TINKC_OK) {
        code = convert(job, &request->arena, &msg, err);
    }
    if (code != TINKC_OK) {
        return code;
    }
    job->order.kind = msg.forward_only ? SRV_ORDER_FORWARD : SRV_ORDER_GRADIENT;
    *out = (srv_submit){
        .type = msg.forward_only ? TK_FUTURE_FORWARD : TK_FUTURE_FORWARD_BACKWARD,
        .model_id = msg.model_id,
        .seq = msg.seq_id,
        .bytes = bytes,
    };
    return TINKC_OK;
}

static srv_verdict submit(srv *server, srv_request *request, bool forward)
{
    srv_job *job = srv_job_new(server, SRV_JOB_TRAIN);
    if (job == NULL) {
        return srv_reply_fail(request, 500, "out of memory");
    }
    srv_submit out;
    tk_err err = TK_ERR_INIT;
    tinkc_code code = prepare(&out, request, job, forward, &err);
    if (code != TINKC_OK) {
        srv_job_free(job);
        return code == TINKC_E_RATE_LIMIT
                   ? srv_reply_fail(request, 429, "%s", err.message)
                   : srv_reply_error(request, &err);
    }
    return srv_job_submit(request, job, &out);
}

srv_verdict srv_train_forward_backward(srv *server, srv_request *request)
{
    return submit(server, request, false);
}

srv_verdict srv_train_forward(srv *server, srv_request *request)
{
    return submit(server, request, true);
}

srv_verdict srv_train_optim_step(srv *server, srv_request *request)
{
    tk_optim_step_request msg;
    if (!srv_request_decode(request, &tk_msg_optim_step_request, &msg)) {
        return SRV_ANSWERED;
    }
    tk_err err = TK_ERR_INIT;
    const tk_adam_params *adam = &msg.adam_params;
    if (tk_adam_params_check(adam, &err) != TINKC_OK) {
        err.code = TINKC_E_DECODE; /* 422, as other values out of range */
        tk_err_under(&err, "adam_params");
        return srv_reply_error(request, &err);
    }
    srv_job *job = srv_job_new(server, SRV_JOB_OPTIM);
    if (job == NULL) {
        return srv_reply_fail(request, 500, "out of memory");
    }
    job->adam = (eng_adam){
        .learning_rate = adam->learning_rate.v,
        .beta1 = adam->beta1.v,
        .beta2 = adam->beta2.v,
        .eps = adam->eps.v,
        .weight_decay = adam->weight_decay.v,
        .grad_clip_norm = adam->grad_clip_norm.v,
    };
    const srv_submit out = {.type = TK_FUTURE_OPTIM_STEP,
                            .model_id = msg.model_id.v,
                            .seq = msg.seq_id.is == TK_SET ? msg.seq_id.v : 0,
                            .schema = &tk_msg_optim_step_request,
                            .msg = &msg};
    return srv_job_submit(request, job, &out);
}
