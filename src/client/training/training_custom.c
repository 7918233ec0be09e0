/* Custom loss (docs/protocol.md §6.5): forward, the caller's function, forward_backward
 * with weights = -gradient. One ticket covers both halves, so that whatever is called
 * next waits for the second one.
 *
 * The function runs on the core's worker, as does the writing of the second half. From
 * tk_worker_post to on_loss_done the worker has the batch, the items and the metrics; the
 * loop does not touch them. A cancel in that time completes the future and gives the turn
 * back; the operation itself ends when the function has returned. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "client/core/service.h"
#include "client/core/worker.h"
#include "client/training/batch.h"
#include "client/training/training.h"
#include "client/values/types.h"
#include "wire/metrics.h"
#include "wire/pb_fwdbwd.h"
#include "wire/tensor.h"

#define TARGETS "target_tokens"
#define WEIGHTS "weights"

typedef struct custom {
    tk_op op;
    tk_model *model; /* a reference */
    tk_ticket *ticket;
    tk_batch batch; /* of the half under way */
    bool is_inside, is_backward;
    bool is_calling; /* the job is the worker's */
    tk_job job;
    tk_err loss_err; /* of the job */
    int64_t first_id;
    tinkc_custom_loss_fn fn;
    void *user;
    double loss;
    tinkc_metrics *metrics; /* the callback's */
    tk_arena arena;         /* items, gradients and the inputs that are not sent */
    tinkc_custom_item *items;
    size_t items_n;
    bool is_recent; /* as SDK 0.36: any inputs, loss:sum */
} custom;

/* What the public pointer of an item points to: the inputs of its datum. */
struct tinkc_custom_inputs {
    tk_tensor_map map;
};

static custom *of(tk_op *op)
{
    return TK_CONTAINER_OF(op, custom, op);
}

/* ---- the end ---- */

/* Lets the next operation in, with the ids of the half that was not sent, and frees its
 * tokens. */
static void give_back(custom *self)
{
    if (!self->is_backward) {
        tk_model_unused(self->model, self->ticket,
                        self->is_inside ? (int64_t)self->batch.n : 0);
    }
    tk_turn_leave(&self->model->turn, &self->ticket);
    tk_ledger_release_all(&self->batch.ledger);
}

static void fail(custom *self, const tk_err *err)
{
    tk_err copy = *err; /* it may lie in the batch */
    give_back(self);
    tk_op_fail(&self->op, &copy);
}

static void fail_cancelled(custom *self)
{
    tk_err err = TK_ERR_INIT;
    tk_err_set(&err, TINKC_E_CANCELLED, "cancelled");
    fail(self, &err);
}

/* 0.36: the loss is loss:sum, and what the server computed is the surrogate's. Before: the
 * loss is `loss`, unless the callback has set it. */
static tinkc_code put_loss(custom *self, tinkc_fwdbwd *result)
{
    double loss = 0;
    if (!self->is_recent) {
        return tinkc_metrics_get(&loss, self->metrics, "loss", NULL) == TINKC_OK
                   ? TINKC_OK
                   : tinkc_metrics_put(result->more, "loss", self->loss, NULL);
    }
    tinkc_code code = tinkc_metrics_put(result->more, "loss:sum", self->loss, NULL);
    const double *surrogate = tk_metrics_find(&result->out.metrics, TK_STR("loss:sum"));
    return code == TINKC_OK && surrogate != NULL
               ? tinkc_metrics_put(result->more, "surrogate_loss:sum", *surrogate, NULL)
               : code;
}

/* The callback's metrics win. */
static tinkc_code merge(custom *self, tinkc_fwdbwd *result, tk_err *err)
{
    const tk_num_map *own = tk_training_metrics_map(self->metrics);
    result->more = tk_training_metrics(&result->out.metrics, err);
    if (result->more == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < own->n; i++) {
        tinkc_code code =
            tinkc_metrics_put(result->more, own->items[i].name.p, own->items[i].v, NULL);
        if (code != TINKC_OK) {
            return tk_err_set(err, code, "the metrics of the custom loss do not fit");
        }
    }
    tinkc_code code = put_loss(self, result);
    return code == TINKC_OK ? code : tk_err_set(err, code, "no room for the loss");
}

static void succeed(custom *self)
{
    tk_err err = TK_ERR_INIT;
    tinkc_fwdbwd *result = tk_batch_combine(&self->batch, &err);
    tk_turn_leave(&self->model->turn, &self->ticket);
    if (result == NULL || merge(self, result, &err) != TINKC_OK) {
        tk_fwdbwd_free(result);
        fail(self, &err);
        return;
    }
    tk_op_complete(&self->op, result, tk_fwdbwd_free);
}

/* ---- second half ---- */

static tk_tensor weights_like(const tk_tensor *targets, const float *values, size_t n)
{
    return (tk_tensor){.dtype = TK_DTYPE_F32,
                       .data = values,
                       .n = n,
                       .has_shape = targets->has_shape,
                       .shape = targets->shape};
}

/* Weights of a part's datums out of the gradients of its items. */
static tinkc_code put_weights(custom *self, const tk_batch_part *part,
                              tk_fwdbwd_request *request, tk_arena *arena, tk_err *err)
{
    tk_datum *data = tk_arena_array(arena, request->data_n, sizeof(*data));
    tk_named_tensor *tensors =
        tk_arena_array(arena, 2 * request->data_n, sizeof(*tensors));
    if (data == NULL || tensors == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < request->data_n; i++) {
        const tk_datum *old = &request->data[i];
        tk_named_tensor *pair = &tensors[2 * i];
        memcpy(pair, old->loss_fn_inputs.items, 2 * sizeof(*pair));
        pair[1].tensor =
            weights_like(&pair[0].tensor, self->items[part->first + i].gradient,
                         self->items[part->first + i].n);
        data[i] = *old;
        data[i].loss_fn_inputs = (tk_tensor_map){pair, 2};
    }
    request->data = data;
    return TINKC_OK;
}

/* The request of the first half, read back, changed and written again. */
static tinkc_code rewrite(custom *self, tk_batch_part *part, int64_t seq_id, tk_err *err)
{
    tk_arena arena;
    tk_fwdbwd_request request;
    tk_buf plain;
    tk_bytes old = {(const unsigned char *)part->plain.p, part->plain.n};
    tk_arena_init(&arena, 0);
    tk_buf_init(&plain, TK_BODY_MAX_BYTES);
    tinkc_code code = tk_pb_fwdbwd_decode(&request, &arena, old, err);
    if (code == TINKC_OK) {
        code = put_weights(self, part, &request, &arena, err);
    }
    if (code == TINKC_OK) {
        request.seq_id = seq_id;
        request.forward_only = false;
        code = tk_pb_fwdbwd_encode(&plain, &request, err);
    }
    tk_arena_dispose(&arena);
    if (code != TINKC_OK) {
        tk_buf_dispose(&plain);
        return code;
    }
    tk_buf_dispose(&part->plain);
    part->plain = plain;
    return TINKC_OK;
}

static tinkc_code make_second_half(custom *self, tk_err *err)
{
    tk_batch *batch = &self->batch;
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; code == TINKC_OK && i < batch->n; i++) {
        code = rewrite(self, &batch->parts[i],
                       self->first_id + (int64_t)(batch->n + i) + 1, err);
    }
    return code;
}

static void start_second_half(custom *self)
{
    self->is_backward = true;
    self->batch.type = TK_FUTURE_FORWARD_BACKWARD;
    self->batch.keep_bodies = false;
    tk_batch_rewind(&self->batch);
    tk_batch_start(&self->batch);
}

/* ---- the caller's function ---- */

static tinkc_code fill_items(custom *self, tk_err *err)
{
    size_t at = 0;
    for (size_t p = 0; p < self->batch.n; p++) {
        const tinkc_fwdbwd *result = self->batch.parts[p].result;
        if (tinkc_fwdbwd_count(result) != self->batch.parts[p].n) {
            return tk_err_set(err, TINKC_E_DECODE,
                              "the server answered with another number of datums");
        }
        for (size_t i = 0; i < self->batch.parts[p].n; i++, at++) {
            tinkc_custom_item *item = &self->items[at];
            const float *logprobs = NULL;
            size_t n = 0;
            if (tinkc_fwdbwd_f32(&logprobs, &n, result, i, "logprobs", NULL) !=
                    TINKC_OK ||
                n != item->n) {
                return tk_err_set(err, TINKC_E_DECODE,
                                  "datum %zu came back without a log-probability for "
                                  "each target",
                                  at);
            }
            item->logprobs = logprobs;
        }
    }
    return TINKC_OK;
}

/* Gradients become weights; the server computes sum(-logprob * weight). */
static tinkc_code negate(custom *self, tk_err *err)
{
    for (size_t i = 0; i < self->items_n; i++) {
        for (size_t k = 0; k < self->items[i].n; k++) {
            float gradient = self->items[i].gradient[k];
            if (!isfinite(gradient)) {
                return tk_err_set(err, TINKC_E_INVALID,
                                  "the custom loss gave item %zu a gradient that is not "
                                  "a finite number",
                                  i);
            }
            self->items[i].gradient[k] = -gradient;
        }
    }
    return TINKC_OK;
}

static tinkc_code call_loss(custom *self, tk_err *err)
{
    tinkc_code code = fill_items(self, err);
    if (code != TINKC_OK) {
        return code;
    }
    int status =
        self->fn(&self->loss, self->metrics, self->items, self->items_n, self->user);
    if (status != 0) {
        return tk_err_set(err, TINKC_E_INVALID, "the custom loss returned %d", status);
    }
    return negate(self, err);
}

/* Thread: the worker's. A future that is done was cancelled while the job waited. */
static void run_loss(tk_job *job)
{
    custom *self = TK_CONTAINER_OF(job, custom, job);
    if (!tinkc_future_is_done(self->op.future) &&
        call_loss(self, &self->loss_err) == TINKC_OK) {
        (void)make_second_half(self, &self->loss_err);
    }
}

static void on_loss_done(tk_job *job)
{
    custom *self = TK_CONTAINER_OF(job, custom, job);
    self->is_calling = false;
    if (tinkc_future_is_done(self->op.future)) {
        fail_cancelled(self);
    } else if (self->loss_err.code != TINKC_OK) {
        fail(self, &self->loss_err);
    } else {
        start_second_half(self);
    }
}

static void start_loss(custom *self)
{
    tk_err err = TK_ERR_INIT;
    self->is_calling = true;
    tk_future_stage(self->op.future, TINKC_STAGE_CALLBACK);
    if (tk_worker_post(tk_core_worker(self->op.core), &self->job, &err) != TINKC_OK) {
        self->is_calling = false;
        fail(self, &err);
    }
}

/* ---- life ---- */

static void on_submitted(tk_batch *batch)
{
    custom *self = batch->user;
    if (!self->is_backward) {
        return; /* the turn is kept for the second half */
    }
    if (batch->code != TINKC_OK && tk_batch_is_partial(batch)) {
        tk_model_spoil(self->model);
    }
    tk_model_accepted(self->model, &self->ticket);
}

static void on_done(tk_batch *batch)
{
    custom *self = batch->user;
    if (batch->code != TINKC_OK) {
        if (self->is_backward && tk_batch_is_partial(batch)) {
            tk_model_spoil(self->model);
        }
        fail(self, &batch->err);
    } else if (self->is_backward) {
        succeed(self);
    } else {
        start_loss(self);
    }
}

static void go(void *user)
{
    custom *self = user;
    self->is_inside = true;
    tk_batch_start(&self->batch);
}

static void start(tk_op *op)
{
    custom *self = of(op);
    tk_model *model = tk_model_ref(self->model);
    tk_future_stage(op->future, TINKC_STAGE_TURN);
    tk_turn_enter(&model->turn, self->ticket);
    tk_model_unref(&model);
}

/* While the worker has it; on_loss_done ends it unless the worker gives it back. */
static void cancel_loss(custom *self)
{
    tk_err err = TK_ERR_INIT;
    if (tk_worker_take_back(tk_core_worker(self->op.core), &self->job)) {
        self->is_calling = false;
        fail_cancelled(self);
        return;
    }
    tk_err_set(&err, TINKC_E_CANCELLED, "cancelled");
    give_back(self);
    tk_op_give_up(&self->op, &err);
}

static void cancel(tk_op *op)
{
    custom *self = of(op);
    if (self->is_calling) {
        cancel_loss(self);
    } else if (self->is_inside) {
        tk_batch_cancel(&self->batch);
    } else {
        fail_cancelled(self);
    }
}

static void destroy(tk_op *op)
{
    custom *self = of(op);
    tk_turn_drop(&self->ticket); /* only there when it never entered */
    tk_batch_dispose(&self->batch);
    tk_training_free_metrics(self->metrics);
    tk_arena_dispose(&self->arena);
    tk_model_unref(&self->model);
    tk_free(self);
}

static const tk_op_type custom_type = {start, cancel, destroy};

/* ---- the caller's thread ---- */

/* Finds the targets, which must be there, and the weights, which may. */
static tinkc_code find_inputs(const custom *self, const tk_datum *datum,
                              const tk_tensor **targets, const tk_tensor **weights,
                              tk_err *err)
{
    for (size_t i = 0; i < datum->loss_fn_inputs.n; i++) {
        const tk_named_tensor *input = &datum->loss_fn_inputs.items[i];
        if (tk_str_is(input->name, TARGETS)) {
            *targets = &input->tensor;
        } else if (tk_str_is(input->name, WEIGHTS)) {
            *weights = &input->tensor;
        } else if (!self->is_recent) {
            return tk_err_set(err, TINKC_E_INVALID,
                              "a custom loss takes " TARGETS " and " WEIGHTS
                              ", not " TK_STR_FMT,
                              TK_STR_ARG(input->name));
        }
    }
    return *targets != NULL
               ? TINKC_OK
               : tk_err_set(err, TINKC_E_INVALID, "a custom loss needs " TARGETS);
}

/* The inputs of a datum are the caller's; the callback reads copies. */
static tinkc_code keep_inputs(custom *self, tinkc_custom_item *item,
                              const tk_tensor_map *map, tk_err *err)
{
    struct tinkc_custom_inputs *inputs = tk_arena_zalloc(&self->arena, sizeof(*inputs));
    tk_named_tensor *copies = tk_arena_array(&self->arena, map->n, sizeof(*copies));
    if (inputs == NULL || copies == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < map->n; i++) {
        tk_str name = map->items[i].name;
        tinkc_code code = tk_types_copy_tensor(&copies[i].tensor, &self->arena,
                                               &map->items[i].tensor, err);
        if (code != TINKC_OK) {
            return code;
        }
        if (!tk_arena_dup(&self->arena, &copies[i].name, name.p, name.n)) {
            return tk_err_nomem(err);
        }
    }
    inputs->map = (tk_tensor_map){copies, map->n};
    item->inputs = inputs;
    return TINKC_OK;
}

const tinkc_tensor *tinkc_custom_item_tensor(const tinkc_custom_item *item,
                                             const char *name)
{
    if (item == NULL || item->inputs == NULL || name == NULL) {
        return NULL;
    }
    const tk_tensor_map *map = &item->inputs->map;
    for (size_t i = 0; i < map->n; i++) {
        if (tk_str_is(map->items[i].name, name)) {
            return tk_types_tensor(&map->items[i].tensor);
        }
    }
    return NULL;
}

/* Datum i with its weights, or zeros; its item gets room for the gradient, which those
 * zeros are until the callback fills it. */
static tinkc_code read_datum(custom *self, tk_datum *datum, size_t i,
                             tk_named_tensor *pair, tk_err *err)
{
    const tk_tensor *targets = NULL, *weights = NULL;
    tinkc_custom_item *item = &self->items[i];
    size_t n = 0;
    tinkc_code code = find_inputs(self, datum, &targets, &weights, err);
    if (code != TINKC_OK) {
        return code;
    }
    if (!tk_tensor_count(targets, &n)) {
        return tk_err_set(err, TINKC_E_LIMIT, "the targets are too large");
    }
    float *zeros = tk_arena_array(&self->arena, n, sizeof(*zeros));
    if (zeros == NULL) {
        return tk_err_nomem(err);
    }
    memset(zeros, 0, n * sizeof(*zeros));
    *item = (tinkc_custom_item){.gradient = zeros, .n = n};
    code = keep_inputs(self, item, &datum->loss_fn_inputs, err);
    pair[0] = (tk_named_tensor){TK_STR(TARGETS), *targets};
    pair[1] = (tk_named_tensor){TK_STR(WEIGHTS), weights_like(targets, zeros, n)};
    if (weights != NULL) {
        pair[1].tensor = *weights;
    }
    datum->loss_fn_inputs = (tk_tensor_map){pair, 2};
    return code;
}

static tinkc_code read_data(custom *self, tk_fwdbwd_request *request, tk_arena *arena,
                            const tk_batch_data *data, tk_err *err)
{
    tinkc_code code = tk_batch_read_data(request, arena, data, err);
    if (code != TINKC_OK) {
        return code;
    }
    size_t n = request->data_n;
    tk_datum *flat = tk_arena_array(arena, n, sizeof(*flat));
    tk_named_tensor *pairs = tk_arena_array(arena, 2 * n, sizeof(*pairs));
    self->items = tk_arena_array(&self->arena, n, sizeof(*self->items));
    self->items_n = n;
    if (flat == NULL || pairs == NULL || self->items == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; code == TINKC_OK && i < n; i++) {
        flat[i] = request->data[i];
        code = read_datum(self, &flat[i], i, &pairs[2 * i], err);
        if (code != TINKC_OK) {
            tk_err_under_index(err, i);
            tk_err_under(err, "data");
        }
    }
    request->data = flat;
    return code;
}

/* Everything that can fail comes before the ids are reserved. */
static tinkc_code prepare(custom *self, const tk_batch_data *data, tk_err *err)
{
    tk_arena arena;
    tk_fwdbwd_request request = {.model_id = tk_str_of(self->model->id),
                                 .loss_fn = TK_STR("cross_entropy"),
                                 .forward_only = true};
    tk_arena_init(&arena, 0);
    tinkc_code code = tk_core_check(self->op.core, err);
    if (code == TINKC_OK) {
        code = read_data(self, &request, &arena, data, err);
    }
    if (code == TINKC_OK) {
        code = tk_batch_prepare(&self->batch, &request, err);
    }
    if (code == TINKC_OK) {
        code = tk_batch_reserve(&self->batch, 2, err); /* both halves */
    }
    tk_arena_dispose(&arena);
    if (code != TINKC_OK) {
        return code;
    }
    self->metrics = tk_training_metrics(NULL, err);
    self->ticket = tk_turn_ticket(2 * (int64_t)self->batch.n, go, self);
    if (self->metrics == NULL || self->ticket == NULL ||
        tk_future_is_static(self->op.future)) {
        return tk_err_nomem(err);
    }
    self->first_id = tk_turn_reserve(&self->model->turn, self->ticket);
    tk_batch_number(&self->batch, self->first_id);
    return TINKC_OK;
}

static custom *new_custom(tinkc_training *training, const char *operation)
{
    custom *self = tk_zalloc(sizeof(*self));
    if (self == NULL) {
        return NULL;
    }
    tk_arena_init(&self->arena, 0);
    self->job = (tk_job){.run = run_loss, .done = on_loss_done};
    tk_err_clear(&self->loss_err);
    self->model = tk_model_ref(training->model);
    tk_op_init(&self->op, &custom_type, training->handle, operation, TK_RESULT_FWDBWD);
    self->is_recent = tk_config_sdk_at_least(tk_core_config(training->handle->core), 36);
    self->batch =
        (tk_batch){.model = training->model,
                   .type = TK_FUTURE_FORWARD,
                   .future = self->op.future,
                   .started_ns = tk_clock_mono_ns(tk_core_clock(training->handle->core)),
                   .keep_bodies = true,
                   .submitted = on_submitted,
                   .done = on_done,
                   .user = self};
    return self;
}

tinkc_future *tinkc_training_forward_backward_custom(tinkc_training *training,
                                                     tinkc_datum *const *data, size_t n,
                                                     tinkc_custom_loss_fn fn, void *user)
{
    static const char operation[] = "forward_backward_custom";
    tk_err err = TK_ERR_INIT;
    if (training == NULL) {
        return tk_service_none(operation, TK_RESULT_FWDBWD);
    }
    custom *self = new_custom(training, operation);
    if (self == NULL) {
        tk_err_nomem(&err);
        return tk_handle_refuse(training->handle, operation, TK_RESULT_FWDBWD, &err);
    }
    self->fn = fn;
    self->user = user;
    tinkc_code code = fn != NULL
                          ? prepare(self, &(tk_batch_data){data, n, true}, &err)
                          : tk_err_set(&err, TINKC_E_INVALID, "no custom loss function");
    return code == TINKC_OK ? tk_op_submit(&self->op) : tk_op_refuse(&self->op, &err);
}
