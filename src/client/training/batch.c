/* Every entry from outside (an answer, a grant, a cancel) holds the batch
 * until it has been dealt with; what follows from it happens once, when the last hold is
 * released, because `done` may free the batch. */
#include "client/training/batch.h"

#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "client/training/batch_json.h"
#include "client/values/types.h"
#include "wire/pb_fwdbwd.h"
#include "wire/tensor.h"
#include "wire/zstd.h"

/* ---- the caller's datums; caller's thread ---- */

/* NaN in a weight makes the whole model NaN at the next step. */
static tinkc_code check_tensor(const tk_named_tensor *input, tk_err *err)
{
    const float *values = input->tensor.data;
    if (input->tensor.dtype != TK_DTYPE_F32) {
        return TINKC_OK;
    }
    for (size_t i = 0; i < input->tensor.n; i++) {
        if (isnan(values[i])) {
            char name[TK_ERR_PATH_BYTES];
            tinkc_code code = tk_err_set(err, TINKC_E_INVALID, "is NaN");
            (void)snprintf(name, sizeof(name), TK_STR_FMT, TK_STR_ARG(input->name));
            tk_err_under_index(err, i);
            tk_err_under(err, name);
            return code;
        }
    }
    return TINKC_OK;
}

/* Tokens of an input that is text alone; -1 otherwise: what an image counts is the
 * server's to say. */
static int64_t text_length(const tk_model_input *input)
{
    int64_t length = 0;
    for (size_t i = 0; i < input->n; i++) {
        if (input->chunks[i].kind != TK_CHUNK_TEXT) {
            return -1;
        }
        length += (int64_t)input->chunks[i].tokens.n;
    }
    return length;
}

/* The inputs of known names have one entry, or row, per token. */
static tinkc_code check_length(const tk_named_tensor *input, int64_t length, tk_err *err)
{
    tk_dtype dtype;
    const tk_tensor *tensor = &input->tensor;
    int64_t entries = (int64_t)tensor->n;
    if (tensor->has_shape && tensor->shape.n > 0) {
        entries = tensor->shape.p[0];
    }
    if (length < 0 || entries == length ||
        tk_tensor_field_dtype(&dtype, input->name, NULL) != TINKC_OK) {
        return TINKC_OK;
    }
    return tk_err_set(err, TINKC_E_INVALID,
                      TK_STR_FMT " has %lld entries, the model input %lld tokens",
                      TK_STR_ARG(input->name), (long long)entries, (long long)length);
}

static bool is_per_token(tk_str name, bool any_shape)
{
    return !any_shape || tk_str_is(name, "target_tokens") || tk_str_is(name, "weights");
}

static tinkc_code read_one(tk_datum *out, const tinkc_datum *datum, bool any_shape,
                           tk_err *err)
{
    if (datum == NULL) {
        return tk_err_set(err, TINKC_E_INVALID, "is NULL");
    }
    *out = *tk_types_datum(datum);
    int64_t length = text_length(&out->model_input);
    for (size_t i = 0; i < out->loss_fn_inputs.n; i++) {
        const tk_named_tensor *input = &out->loss_fn_inputs.items[i];
        tinkc_code code = check_tensor(input, err);
        if (code == TINKC_OK && is_per_token(input->name, any_shape)) {
            code = check_length(input, length, err);
        }
        if (code != TINKC_OK) {
            return code;
        }
    }
    return TINKC_OK;
}

tinkc_code tk_batch_read_data(tk_fwdbwd_request *request, tk_arena *arena,
                              const tk_batch_data *data, tk_err *err)
{
    if (data->items == NULL || data->n == 0) {
        return tk_err_set(err, TINKC_E_INVALID, "the batch is empty");
    }
    if (data->n > TK_DATUMS_MAX) {
        return tk_err_set(err, TINKC_E_LIMIT, "more than %zu datums", TK_DATUMS_MAX);
    }
    tk_datum *flat = tk_arena_array(arena, data->n, sizeof(*flat));
    if (flat == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < data->n; i++) {
        tinkc_code code = read_one(&flat[i], data->items[i], data->any_shape, err);
        if (code != TINKC_OK) {
            tk_err_under_index(err, i);
            tk_err_under(err, "data");
            return code;
        }
    }
    request->data = flat;
    request->data_n = data->n;
    return TINKC_OK;
}

/* ---- cutting and encoding; caller's thread ---- */

static tinkc_code encode_part(tk_batch_part *part, const tk_fwdbwd_request *request,
                              tk_err *err)
{
    tk_fwdbwd_request own = *request;
    own.data = request->data + part->first;
    own.data_n = part->n;
    tinkc_code code = tk_pb_fwdbwd_encode(&part->plain, &own, err);
    if (code == TINKC_OK &&
        tk_buf_reserve(&part->plain, TK_PB_FWDBWD_SEQ_BYTES) == NULL) {
        code = tk_buf_status(&part->plain, err);
    }
    return code;
}

static int64_t count_tokens(const tk_datum *data, size_t n)
{
    int64_t tokens = 0;
    for (size_t i = 0; i < n; i++) {
        tokens += tk_ledger_count(&data[i].model_input);
    }
    return TK_MIN(tokens, TK_LEDGER_MOST);
}

static tinkc_code make_parts(tk_batch *batch, const tk_split *split, tk_err *err)
{
    batch->parts = tk_zarray(split->n, sizeof(*batch->parts));
    if (batch->parts == NULL) {
        return tk_err_nomem(err);
    }
    batch->n = split->n;
    for (size_t i = 0; i < batch->n; i++) {
        tk_batch_part *part = &batch->parts[i];
        part->batch = batch;
        part->first = split->parts[i].first;
        part->n = split->parts[i].n;
        part->bytes = split->parts[i].bytes;
        tk_list_init(&part->claim.node);
        tk_buf_init(&part->plain, TK_BODY_MAX_BYTES);
        tk_buf_init(&part->packed, TK_BODY_MAX_BYTES);
        tk_buf_init(&part->json, TK_BODY_MAX_BYTES);
    }
    return TINKC_OK;
}

tinkc_code tk_batch_prepare(tk_batch *batch, const tk_fwdbwd_request *request,
                            tk_err *err)
{
    tk_arena arena;
    tk_split split;
    tk_arena_init(&arena, 0);
    tinkc_code code = tk_split_batch(&split, &arena, request->data, request->data_n,
                                     &batch->model->limits, err);
    if (code == TINKC_OK) {
        code = make_parts(batch, &split, err);
    }
    tk_arena_dispose(&arena);
    for (size_t i = 0; code == TINKC_OK && i < batch->n; i++) {
        tk_batch_part *part = &batch->parts[i];
        part->tokens = count_tokens(request->data + part->first, part->n);
        batch->tokens += part->tokens;
        code = encode_part(part, request, err);
    }
    return code;
}

tinkc_code tk_batch_reserve(tk_batch *batch, int64_t times, tk_err *err)
{
    tk_model *model = batch->model;
    return tk_ledger_reserve_step(&batch->ledger, tk_core_ledger(model->core), model->run,
                                  atomic_load(&model->steps), times * batch->tokens, err);
}

/* The bytes before they were compressed, which the part may have dropped. */
static tinkc_code unpack(tk_batch_part *part, tk_err *err)
{
    tk_zstd z;
    tk_bytes packed = {(const unsigned char *)part->packed.p, part->packed.n};
    tk_zstd_init(&z);
    tinkc_code code = tk_zstd_decompress(&z, &part->plain, packed, err);
    tk_zstd_dispose(&z);
    return code;
}

static tinkc_code make_json(tk_batch_part *part, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    if (part->json.n > 0) {
        return TINKC_OK;
    }
    if (part->plain.n == 0) {
        code = unpack(part, err);
    }
    if (code == TINKC_OK) {
        tk_bytes plain = {(const unsigned char *)part->plain.p, part->plain.n};
        code = tk_batch_json(&part->json, &part->is_forward, plain, err);
    }
    return code;
}

void tk_batch_number(tk_batch *batch, int64_t first_id)
{
    bool is_json = tk_manners_get(tk_core_manners(batch->model->core),
                                  TK_MANNER_JSON_REQUESTS) == TK_KNOWN_YES;
    tk_err unused = TK_ERR_INIT;
    tk_zstd z;
    tk_zstd_init(&z);
    for (size_t i = 0; i < batch->n; i++) {
        tk_batch_part *part = &batch->parts[i];
        tk_pb_fwdbwd_put_seq(&part->plain, first_id + (int64_t)i + 1);
        if (is_json) {
            (void)make_json(part, &unused); /* on the loop again, with its error */
        } else if (batch->model->compress) {
            tk_bytes plain = {(const unsigned char *)part->plain.p, part->plain.n};
            if (tk_zstd_compress(&z, &part->packed, plain, 0, NULL) != TINKC_OK) {
                tk_buf_clear(&part->packed);
            }
        }
        if (part->packed.n > 0 && !batch->keep_bodies) {
            tk_buf_dispose(&part->plain);
        }
    }
    tk_zstd_dispose(&z);
}

void tk_batch_dispose(tk_batch *batch)
{
    tk_ledger_release_all(&batch->ledger);
    for (size_t i = 0; i < batch->n; i++) {
        tk_buf_dispose(&batch->parts[i].plain);
        tk_buf_dispose(&batch->parts[i].packed);
        tk_buf_dispose(&batch->parts[i].json);
        tk_fwdbwd_free(batch->parts[i].result);
    }
    tk_free(batch->parts);
    batch->parts = NULL;
    batch->n = 0;
}

/* ---- failure ---- */

static void fail(tk_batch *batch, const tk_batch_part *part, const tk_err *err)
{
    if (batch->code != TINKC_OK) {
        return; /* the first one counts */
    }
    batch->code = err->code;
    batch->err = *err;
    batch->failed_part = part != NULL ? (size_t)(part - batch->parts) : batch->n;
    tk_budget *budget = tk_core_fwdbwd_budget(batch->model->core);
    for (size_t i = 0; i < batch->n; i++) {
        tk_batch_part *other = &batch->parts[i];
        if (other->phase == TK_PART_BUDGET) {
            other->phase = TK_PART_DONE;
            batch->posting--;
            tk_budget_release(budget, &other->claim);
        } else if (other->phase == TK_PART_POLL && other != part) {
            tk_submit_cancel(&other->submit);
        }
    }
}

bool tk_batch_is_partial(const tk_batch *batch)
{
    size_t applied = batch->accepted - batch->refused;
    return applied > 0 && applied < batch->n;
}

/* Puts what became of the batch in front of the first error's text. */
static void explain(tk_batch *batch)
{
    char text[TK_ERR_MESSAGE_BYTES];
    if (batch->n == 1 || batch->failed_part >= batch->n) {
        return;
    }
    (void)snprintf(text, sizeof(text), "%s", batch->err.message);
    batch->err.code = TINKC_OK; /* so that it can be set again */
    tk_err_set(&batch->err, batch->code,
               "chunk %zu of %zu failed, %zu others were accepted by the server: %s",
               batch->failed_part + 1, batch->n, batch->accepted - batch->refused, text);
}

/* ---- progress ---- */

static void post(tk_batch_part *part);

static void hold(tk_batch *batch)
{
    batch->depth++;
}

static bool is_parallel(const tk_batch *batch)
{
    return batch->model->parallel && batch->n > 1 && batch->max_parallel != 1;
}

/* The next part that may go out, or NULL. In parallel mode the first goes last, alone. */
static tk_batch_part *next_part(const tk_batch *batch)
{
    size_t limit = batch->max_parallel > 0 ? batch->max_parallel : batch->n;
    if (batch->code != TINKC_OK || batch->next == batch->n) {
        return NULL;
    }
    if (!is_parallel(batch)) {
        return batch->posting == 0 ? &batch->parts[batch->next] : NULL;
    }
    bool is_last = batch->next == batch->n - 1;
    if (batch->posting >= (is_last ? 1 : limit)) {
        return NULL;
    }
    return &batch->parts[is_last ? 0 : batch->next + 1];
}

static void granted(tk_budget_claim *claim)
{
    post(TK_CONTAINER_OF(claim, tk_batch_part, claim));
}

static void start_parts(tk_batch *batch)
{
    tk_budget *budget = tk_core_fwdbwd_budget(batch->model->core);
    tk_batch_part *part;
    while ((part = next_part(batch)) != NULL) {
        batch->next++;
        batch->posting++;
        part->phase = TK_PART_BUDGET;
        tk_future_stage(batch->future, TINKC_STAGE_BUDGET);
        if (tk_budget_acquire(budget, &part->claim, (int64_t)part->bytes, granted)) {
            post(part);
        }
    }
}

static void let_go(tk_batch *batch)
{
    if (batch->depth == 1) {
        start_parts(batch);
    }
    if (--batch->depth > 0) {
        return;
    }
    bool nothing_to_send = batch->code != TINKC_OK || batch->next == batch->n;
    if (!batch->is_submitted && batch->posting == 0 && nothing_to_send) {
        batch->is_submitted = true;
        batch->submitted(batch);
    }
    if (batch->is_submitted && batch->polling == 0) {
        if (batch->code != TINKC_OK) {
            explain(batch);
            tk_ledger_release_all(&batch->ledger); /* `done` may spend it */
        }
        batch->done(batch);
    }
}

/* ---- results ---- */

static void tell(tk_batch *batch, const tk_batch_part *part)
{
    batch->on_chunk(part->result, part->first, part->n, batch->chunk_user);
}

static void deliver(tk_batch *batch, const tk_batch_part *part)
{
    if (batch->on_chunk == NULL) {
        return;
    }
    tk_future_stage(batch->future, TINKC_STAGE_CALLBACK);
    if (!batch->chunks_in_order) {
        tell(batch, part);
        return;
    }
    while (batch->delivered < batch->n && batch->parts[batch->delivered].result != NULL) {
        tell(batch, &batch->parts[batch->delivered++]);
    }
}

/* What the server says it could not do was not charged. */
static void settle_tokens(tk_batch_part *part, tinkc_code code)
{
    tk_batch *batch = part->batch;
    if (code == TINKC_OK) {
        tk_ledger_use use = {.tokens = {[TINKC_TOKENS_TRAINING] = part->tokens}};
        tk_ledger_spend(&batch->ledger, part->tokens, &use,
                        tk_future_span(batch->future));
    } else if (code == TINKC_E_REQUEST) {
        tk_ledger_release(&batch->ledger, part->tokens);
    } else {
        tk_ledger_doubt(&batch->ledger, part->tokens);
    }
}

/* ---- the loss of a server that sends none ---- */

/* What was sent is kept until a result of the model has shown that it is not needed. */
static bool may_need_inputs(const tk_batch *batch)
{
    return !batch->keep_bodies && !batch->model->sends_loss;
}

static void drop_bodies(tk_batch_part *part)
{
    tk_buf_dispose(&part->packed);
    tk_buf_dispose(&part->plain);
}

static tinkc_code compute_loss(tk_batch_part *part, tk_err *err)
{
    tk_arena arena;
    tk_fwdbwd_request request;
    tk_arena_init(&arena, 0);
    tinkc_code code = part->plain.n > 0 ? TINKC_OK : unpack(part, err);
    if (code == TINKC_OK) {
        tk_bytes plain = {(const unsigned char *)part->plain.p, part->plain.n};
        code = tk_pb_fwdbwd_decode(&request, &arena, plain, err);
    }
    if (code == TINKC_OK) {
        code = tk_fwdbwd_compute(&part->result->loss, part->result, &request, err);
    }
    tk_arena_dispose(&arena);
    return code;
}

/* A loss that cannot be computed is only missing, unless it is for want of memory. */
static tinkc_code complete_loss(tk_batch_part *part, tk_err *err)
{
    tk_batch *batch = part->batch;
    tinkc_code code = TINKC_OK;
    if (tinkc_metrics_loss_name(tinkc_fwdbwd_metrics(part->result)) != NULL) {
        batch->model->sends_loss = true;
    } else if (!batch->keep_bodies && (part->plain.n > 0 || part->packed.n > 0)) {
        code = compute_loss(part, err);
    }
    if (!batch->keep_bodies) {
        drop_bodies(part);
    }
    return code == TINKC_E_NOMEM ? code : TINKC_OK;
}

static void on_done(tk_submit *submit, const tk_poll_result *said)
{
    tk_batch_part *part = submit->user;
    tk_batch *batch = part->batch;
    tk_err err = TK_ERR_INIT;
    hold(batch);
    batch->polling--;
    part->phase = TK_PART_DONE;
    settle_tokens(part, said->code);
    if (said->code == TINKC_E_CANCELLED && batch->code != TINKC_OK) {
        let_go(batch); /* stopped by us: the server may well have applied it */
        return;
    }
    if (said->code != TINKC_OK) {
        batch->refused++;
        fail(batch, part, said->err);
    } else if (batch->code == TINKC_OK) {
        part->result = tk_fwdbwd_read(said, &err);
        if (part->result == NULL || complete_loss(part, &err) != TINKC_OK) {
            fail(batch, part, &err);
        } else {
            deliver(batch, part);
        }
    }
    let_go(batch);
}

static void on_settled(tk_submit *submit, tinkc_code code, const tk_err *err)
{
    tk_batch_part *part = submit->user;
    tk_batch *batch = part->batch;
    hold(batch);
    batch->posting--;
    if (code != TINKC_OK) {
        part->phase = TK_PART_DONE;
        if (submit->is_doubtful) {
            tk_ledger_doubt(&batch->ledger, part->tokens);
        }
        fail(batch, part, err); /* first: the bytes are not for parts of this batch */
    }
    tk_budget_release(tk_core_fwdbwd_budget(batch->model->core), &part->claim);
    if (code != TINKC_OK) {
        let_go(batch);
        return;
    }
    part->phase = TK_PART_POLL;
    batch->accepted++;
    batch->polling++;
    tk_buf_dispose(&part->json);
    if (batch->keep_bodies) {
        tk_buf_dispose(&part->packed);
    } else if (!may_need_inputs(batch)) {
        drop_bodies(part);
    }
    if (batch->code != TINKC_OK) {
        tk_submit_cancel(submit);
    }
    let_go(batch); /* `polling` keeps it from ending here */
}

static tinkc_code in_json(tk_submit *submit, tk_submit_form *out, tk_err *err)
{
    tk_batch_part *part = submit->user;
    tinkc_code code = make_json(part, err);
    *out = (tk_submit_form){.endpoint =
                                part->is_forward ? TK_EP_FORWARD : TK_EP_FORWARD_BACKWARD,
                            .body = part->json.p,
                            .body_n = part->json.n};
    return code;
}

static void post(tk_batch_part *part)
{
    tk_batch *batch = part->batch;
    bool is_packed = part->packed.n > 0;
    const tk_buf *body = is_packed ? &part->packed : &part->plain;
    hold(batch);
    part->phase = TK_PART_POST;
    part->submit = (tk_submit){.core = batch->model->core,
                               .form = {.endpoint = TK_EP_FORWARD_BACKWARD,
                                        .body = body->p,
                                        .body_n = body->n,
                                        .content_type = "application/x-protobuf",
                                        .content_encoding = is_packed ? "zstd" : NULL},
                               .type = batch->type,
                               .in_json = in_json,
                               .what = batch->model->id,
                               .future = batch->future,
                               .started_ns = batch->started_ns,
                               .settled = on_settled,
                               .done = on_done,
                               .user = part};
    tk_submit_start(&part->submit);
    let_go(batch);
}

/* ---- in and out ---- */

void tk_batch_start(tk_batch *batch)
{
    hold(batch);
    let_go(batch);
}

void tk_batch_rewind(tk_batch *batch)
{
    for (size_t i = 0; i < batch->n; i++) {
        tk_buf_dispose(&batch->parts[i].packed);
        tk_buf_dispose(&batch->parts[i].json);
        tk_fwdbwd_free(batch->parts[i].result);
        batch->parts[i].result = NULL;
        batch->parts[i].phase = TK_PART_IDLE;
    }
    batch->accepted = batch->refused = 0;
    batch->next = batch->delivered = 0;
    batch->is_submitted = false;
}

void tk_batch_cancel(tk_batch *batch)
{
    tk_err err = TK_ERR_INIT;
    tk_err_set(&err, TINKC_E_CANCELLED, "cancelled");
    hold(batch);
    fail(batch, NULL, &err);
    for (size_t i = 0; i < batch->n; i++) {
        if (batch->parts[i].phase == TK_PART_POST) {
            tk_submit_cancel(&batch->parts[i].submit);
        }
    }
    let_go(batch);
}

tinkc_fwdbwd *tk_batch_combine(tk_batch *batch, tk_err *err)
{
    tinkc_fwdbwd **results = tk_array(batch->n, sizeof(tinkc_fwdbwd *));
    if (results == NULL) {
        tk_err_nomem(err);
        return NULL;
    }
    for (size_t i = 0; i < batch->n; i++) {
        results[i] = batch->parts[i].result;
    }
    tinkc_fwdbwd *whole = tk_fwdbwd_combine(results, batch->n, err);
    if (whole == NULL) {
        tk_free(results);
        return NULL;
    }
    for (size_t i = 0; i < batch->n; i++) {
        batch->parts[i].result = NULL;
    }
    return whole;
}
