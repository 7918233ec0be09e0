/* One sample (wire.md §7.3, §5.4): a place among those under way, then again and again: a
 * new sequence id, the right to submit, the submission (the same one as long as the
 * server pushes back), the result. Encoded on the caller's thread, lives on the loop's.
 */
#include <string.h>

#include "base/json_num.h"
#include "base/mem.h"
#include "client/call/op.h"
#include "client/call/poll.h"
#include "client/core/service.h"
#include "client/insight/telemetry_layer.h"
#include "client/sampling/samples.h"
#include "client/sampling/sampling_int.h"
#include "client/values/params.h"
#include "client/values/types.h"
#include "wire/input.h"
#include "wire/wire_error.h"

#define TAIL_BYTES   128
#define AROUND_BYTES 512 /* the request without its tokens */
#define L3_JITTER    0.25
#define ID_BYTES     256
#define SEQ_KEY      "\"seq_id\":"
#define SEQ_WIDEST   INT64_MAX /* reserves room for any number */

/* What the sample waits for; says what to undo when it ends. */
typedef enum place {
    PLACE_SLOT,   /* its place among those under way, or the right to submit */
    PLACE_PAUSE,  /* the end of the shared pause, or of the delay before a new attempt */
    PLACE_SUBMIT, /* the answer to the submission */
    PLACE_POLL    /* the result */
} place;

typedef struct sample {
    tk_op op;
    tinkc_sampling *sampling; /* a reference */
    bool is_logprobs;
    place place;
    /* the request: everything up to the sequence id stays, the rest is written anew */
    tk_buf body;
    size_t seq_at;
    char tail[TAIL_BYTES];
    int64_t estimate_bytes;
    tk_sample_cost cost;
    tk_ledger_claim ledger;
    bool is_doubtful; /* the server may have taken the attempt under way */
    /* progress */
    tk_budget_claim slot;
    tk_limiter_claim claim;
    tk_timer timer, deadline;
    int64_t deadline_at_ms; /* -1: none */
    bool is_late;
    int attempts;        /* delays taken so far */
    int64_t resubmits;   /* after the work failed at the server */
    int64_t answered_ms; /* when the server last answered anything */
    tk_call call;
    tk_poll poll;
    char request_id[ID_BYTES];
} sample;

static void begin(sample *self);

/* ---- the end ---- */

static tk_loop *loop_of(const sample *self)
{
    return tk_core_loop(self->op.core);
}

/* Leaves the queues; the sampling handle lives on until the operation is destroyed. */
static void leave(sample *self)
{
    tk_loop_timer_clear(loop_of(self), &self->timer);
    tk_loop_timer_clear(loop_of(self), &self->deadline);
    tk_limiter_release(&self->claim);
    if (self->is_doubtful) {
        tk_ledger_doubt(&self->ledger, self->cost.most);
    }
    tk_ledger_release_all(&self->ledger); /* who sees the end may spend it */
    self->sampling->base->running--;
    tk_budget_release(&self->sampling->base->slots, &self->slot);
}

static void fail(sample *self, const tk_err *err)
{
    leave(self);
    if (!self->is_late) {
        tk_op_fail(&self->op, err);
        return;
    }
    tk_err late = TK_ERR_INIT;
    tk_err_set(&late, TINKC_E_TIMEOUT, "the sample was not done before its deadline");
    tk_op_fail(&self->op, &late);
}

static void fail_with(sample *self, tinkc_code code, const char *text)
{
    tk_err err = TK_ERR_INIT;
    tk_err_set(&err, code, "%s", text);
    fail(self, &err);
}

static void succeed(sample *self, tk_str body)
{
    tk_err err = TK_ERR_INIT;
    bool is_logprobs = self->is_logprobs;
    tk_samples_usage usage = {0};
    void *result = is_logprobs ? (void *)tk_samples_read_logprobs(&usage, body, &err)
                               : (void *)tk_samples_read(body, &err);
    if (result == NULL) {
        fail(self, &err);
        return;
    }
    usage = is_logprobs ? usage : tk_samples_usage_of(result);
    self->is_doubtful = false;
    tk_sample_spend(&self->ledger, &self->cost, usage.cached, usage.sampled,
                    self->op.future);
    self->sampling->base->progress_ms = tk_loop_now_ms(loop_of(self));
    leave(self);
    tk_op_complete(&self->op, result,
                   is_logprobs ? tk_samples_free_logprobs : tk_samples_free);
}

/* ---- another attempt? ---- */

static bool detects_stuck(const sample *self)
{
    return tk_core_flags(self->op.core)->sample_enable_stuck_detection.v;
}

static bool is_stuck(const sample *self)
{
    const tinkc_config *config = tk_core_config(self->op.core);
    int64_t now = tk_loop_now_ms(loop_of(self));
    bool silent = config->stuck_silent_ms >= 0 &&
                  now - self->answered_ms >= config->stuck_silent_ms;
    bool unproductive = config->stuck_total_ms >= 0 &&
                        now - self->sampling->base->progress_ms >= config->stuck_total_ms;
    return detects_stuck(self) && (silent || unproductive);
}

static bool is_retried(const sample *self)
{
    return self->is_logprobs || !tk_core_flags(self->op.core)->sample_no_retries.v;
}

/* Failed work is worth a few attempts; everything transient as many as it takes. */
static bool may_repeat(sample *self, const tk_err *err)
{
    tk_fault fault = {
        .code = err->code, .status = err->http_status, .category = err->category};
    if (self->is_late || !is_retried(self) ||
        tk_wire_error_rule(&fault)->retry == TK_RETRY_NEVER) {
        return false;
    }
    return err->code != TINKC_E_REQUEST ||
           self->resubmits++ < tk_core_config(self->op.core)->sample_resubmits;
}

static void pause_until(sample *self, int64_t at_ms, void (*fire)(tk_timer *timer))
{
    self->place = PLACE_PAUSE;
    tk_future_stage(self->op.future, TINKC_STAGE_BACKOFF);
    tk_timer_init(&self->timer, fire);
    tk_loop_timer_set(loop_of(self), &self->timer, at_ms);
}

static void fire_begin(tk_timer *timer)
{
    begin(TK_CONTAINER_OF(timer, sample, timer));
}

/* The next attempt is new work: if the last one may have been done it costs once more. */
static tinkc_code reserve_again(sample *self, tk_err *err)
{
    if (!self->is_doubtful) {
        return TINKC_OK;
    }
    tk_ledger_doubt(&self->ledger, self->cost.most);
    self->is_doubtful = false;
    return tk_sample_reserve(&self->ledger, self->sampling, &self->cost, err);
}

static void failed(sample *self, const tk_err *err)
{
    const tinkc_config *config = tk_core_config(self->op.core);
    tk_limiter_release(&self->claim);
    bool again = may_repeat(self, err);
    tk_telemetry_sample_failed(self->op.core, err, self->attempts, again);
    if (!again) {
        fail(self, err);
        return;
    }
    if (is_stuck(self)) {
        fail_with(self, TINKC_E_STUCK, "the server has made no progress for too long");
        return;
    }
    tk_err refused = TK_ERR_INIT;
    if (reserve_again(self, &refused) != TINKC_OK) {
        fail(self, &refused);
        return;
    }
    tk_retry_l3_config delays = {config->sample_retry_base_ms,
                                 config->sample_retry_max_ms, L3_JITTER};
    int64_t delay =
        tk_retry_l3_delay(&delays, self->attempts++, tk_core_rand(self->op.core));
    tk_span_retry(tk_future_span(self->op.future), err->code, err->http_status, delay);
    pause_until(self, tk_loop_now_ms(loop_of(self)) + delay, fire_begin);
}

/* ---- the result ---- */

static void on_polled(tk_poll *poll, const tk_poll_result *result)
{
    sample *self = poll->user;
    if (result->code == TINKC_OK) {
        succeed(self, result->body);
        return;
    }
    if (result->err->http_status != 0 || result->code == TINKC_E_REQUEST) {
        self->answered_ms = tk_loop_now_ms(loop_of(self));
    }
    self->is_doubtful = result->code != TINKC_E_REQUEST; /* that was not charged */
    failed(self, result->err);
}

static void start_poll(sample *self)
{
    self->place = PLACE_POLL;
    self->poll = (tk_poll){.core = self->op.core,
                           .type = TK_FUTURE_SAMPLE,
                           .request_id = self->request_id,
                           .what = self->sampling->id,
                           .future = self->op.future,
                           .never_stuck = !detects_stuck(self),
                           .progress_ms = &self->sampling->base->progress_ms,
                           .done = on_polled,
                           .user = self};
    tk_poll_start(&self->poll);
}

/* ---- the submission ---- */

static void submit(sample *self);

static tinkc_code read_accepted(sample *self, tk_str body, tk_err *err)
{
    tk_future_response said = {0};
    tk_arena arena;
    tk_arena_init(&arena, TK_MIB);
    tinkc_code code =
        tk_schema_decode_text(&said, &tk_msg_future_response, &arena, body, 0, err);
    if (code == TINKC_OK && said.request_id.v.n >= sizeof(self->request_id)) {
        code = tk_err_set(err, TINKC_E_DECODE, "the server's request_id is too long");
    }
    if (code == TINKC_OK) {
        tk_str id = said.request_id.v;
        memcpy(self->request_id, id.n > 0 ? id.p : "", id.n);
        self->request_id[id.n] = '\0';
    }
    tk_arena_dispose(&arena);
    return code;
}

/* The pause may have become longer meanwhile. */
static void fire_submit(tk_timer *timer)
{
    submit(TK_CONTAINER_OF(timer, sample, timer));
}

static void pushed_back(sample *self, const tk_retry_outcome *said)
{
    tk_limiter *limiter = tk_core_limiter_port(self->op.core)->limiter;
    int64_t pause = tk_limiter_pause_ms(self->estimate_bytes, said->hint_ms);
    tk_span_retry(tk_future_span(self->op.future), TINKC_OK, said->status, pause);
    tk_limiter_back_off(limiter, tk_loop_now_ms(loop_of(self)) + pause);
    submit(self);
}

static void on_submitted(tk_call *call, const tk_call_answer *answer)
{
    sample *self = call->user;
    tk_err err = TK_ERR_INIT;
    if (answer->outcome.status != 0) {
        self->answered_ms = tk_loop_now_ms(loop_of(self));
    }
    self->is_doubtful |= answer->code == TINKC_OK || answer->is_doubtful;
    if (answer->backpressure && !self->is_late) {
        pushed_back(self, &answer->outcome);
    } else if (answer->code != TINKC_OK) {
        failed(self, answer->err);
    } else if (read_accepted(self, answer->response->body, &err) != TINKC_OK) {
        fail(self, &err);
    } else {
        tk_limiter_release(&self->claim);
        start_poll(self);
    }
}

static void submit(sample *self)
{
    int64_t until = tk_limiter_until_ms(tk_core_limiter_port(self->op.core)->limiter);
    if (tk_loop_now_ms(loop_of(self)) < until) {
        pause_until(self, until, fire_submit);
        return;
    }
    self->place = PLACE_SUBMIT;
    self->call = (tk_call){.core = self->op.core,
                           .endpoint = tk_endpoint_at(TK_EP_ASAMPLE),
                           .body = self->body.p,
                           .body_n = self->body.n,
                           .extra = {"X-Tinker-Sampling-Backpressure: 1"},
                           .pass_backpressure = true,
                           .future = self->op.future,
                           .done = on_submitted,
                           .user = self};
    tk_call_start(&self->call);
}

static void on_granted(tk_limiter_claim *claim)
{
    submit(TK_CONTAINER_OF(claim, sample, claim));
}

/* ---- one attempt ---- */

/* Cannot fail: encoding reserved room for the longest number. */
static void write_seq(sample *self)
{
    int64_t seq = atomic_fetch_add(&self->sampling->base->next_seq, 1);
    self->body.n = self->seq_at;
    char number[TK_JSON_NUM_BYTES];
    tk_buf_put(&self->body, number, tk_json_num_put_i64(number, seq));
    tk_buf_puts(&self->body, self->tail);
}

static void begin(sample *self)
{
    tk_core *core = self->op.core;
    const tinkc_config *config = tk_core_config(core);
    tk_limiter_limits limits = {
        .dispatch = config->sample_dispatch,
        .throttled = config->sample_dispatch_throttled,
        .bytes = tk_core_flags(core)->sample_dispatch_bytes_semaphore_size.v};
    write_seq(self);
    self->place = PLACE_SLOT;
    tk_future_stage(self->op.future, TINKC_STAGE_BUDGET);
    self->claim.granted = on_granted;
    if (tk_limiter_acquire(tk_core_limiter_port(core), &self->claim, &limits,
                           self->estimate_bytes)) {
        submit(self);
    }
}

static void on_slot(tk_budget_claim *claim)
{
    begin(TK_CONTAINER_OF(claim, sample, slot));
}

/* ---- the operation ---- */

static void cancel(tk_op *op)
{
    sample *self = TK_CONTAINER_OF(op, sample, op);
    switch (self->place) {
    case PLACE_SUBMIT:
        tk_call_cancel(&self->call);
        return;
    case PLACE_POLL:
        tk_poll_cancel(&self->poll);
        return;
    case PLACE_SLOT:
    case PLACE_PAUSE:
        break;
    }
    fail_with(self, TINKC_E_CANCELLED, "cancelled");
}

static void fire_deadline(tk_timer *timer)
{
    sample *self = TK_CONTAINER_OF(timer, sample, deadline);
    self->is_late = true;
    cancel(&self->op);
}

static void start(tk_op *op)
{
    sample *self = TK_CONTAINER_OF(op, sample, op);
    tinkc_sampling *sampling = self->sampling;
    int64_t now = tk_loop_now_ms(loop_of(self));
    self->answered_ms = now;
    if (sampling->base->running++ == 0) {
        sampling->base->progress_ms = now;
    }
    tk_timer_init(&self->timer, fire_begin);
    tk_timer_init(&self->deadline, fire_deadline);
    if (self->deadline_at_ms >= 0) {
        tk_loop_timer_set(loop_of(self), &self->deadline, self->deadline_at_ms);
    }
    tk_future_stage(op->future, TINKC_STAGE_BUDGET);
    if (!is_retried(self) ||
        tk_budget_acquire(&sampling->base->slots, &self->slot, 1, on_slot)) {
        begin(self);
    }
}

static void destroy(tk_op *op)
{
    sample *self = TK_CONTAINER_OF(op, sample, op);
    tk_ledger_release_all(&self->ledger);
    tk_buf_dispose(&self->body);
    tinkc_sampling_close(&self->sampling);
    tk_free(self);
}

static const tk_op_type sample_type = {start, cancel, destroy};

/* ---- the call: caller's thread ---- */

/* What follows the sequence id in the text, which is written last but for three short
 * fields. */
static tinkc_code split(sample *self, tk_err *err)
{
    size_t key_n = sizeof(SEQ_KEY) - 1;
    const char *text = self->body.p;
    size_t at = self->body.n;
    while (at > key_n && memcmp(text + at - key_n, SEQ_KEY, key_n) != 0) {
        at--;
    }
    const char *tail = memchr(text + at, ',', self->body.n - at);
    size_t tail_n = tail != NULL ? (size_t)(text + self->body.n - tail) : TAIL_BYTES;
    if (at <= key_n || tail_n >= TAIL_BYTES) {
        return tk_err_set(err, TINKC_E_INTERNAL, "a sample request has no seq_id");
    }
    memcpy(self->tail, tail, tail_n);
    self->seq_at = at;
    return TINKC_OK;
}

static tinkc_code encode(sample *self, tk_sample_request *request,
                         const tinkc_model_input *prompt, tk_err *err)
{
    request->prompt = *tk_types_input(prompt);
    request->sampling_session_id = (tk_f_str){TK_SET, tk_str_of(self->sampling->id)};
    request->seq_id = (tk_f_i64){TK_SET, SEQ_WIDEST};
    if (request->prompt.n == 0) {
        return tk_err_set(err, TINKC_E_INVALID, "the prompt is empty");
    }
    size_t estimate = tk_model_input_bytes(&request->prompt, TK_SAMPLE_TOKEN_BYTES);
    self->estimate_bytes = (int64_t)TK_MIN(estimate, (size_t)INT64_MAX);
    /* Token ids take about six of the bytes that the limiter counts for each. */
    if (estimate < TK_BODY_MAX_BYTES / 2 &&
        tk_buf_reserve(&self->body, estimate / 10 * 6 + AROUND_BYTES) == NULL) {
        return tk_buf_status(&self->body, err);
    }
    tinkc_code code = tk_schema_encode(&self->body, &tk_msg_sample_request, request, err);
    if (code == TINKC_OK) {
        code = split(self, err);
    }
    if (code == TINKC_OK) {
        code = tk_sample_cost_of(&self->cost, self->sampling, request, err);
    }
    return code == TINKC_OK
               ? tk_sample_reserve(&self->ledger, self->sampling, &self->cost, err)
               : code;
}

static sample *make(tinkc_sampling *sampling, const char *operation, tk_result_kind kind)
{
    sample *self = tk_zalloc(sizeof(*self));
    if (self != NULL) {
        self->sampling = tk_sampling_ref(sampling);
        self->is_logprobs = kind == TK_RESULT_LOGPROBS;
        self->deadline_at_ms = -1;
        tk_buf_init(&self->body, TK_BODY_MAX_BYTES);
        tk_op_init(&self->op, &sample_type, sampling->core, operation, kind);
    }
    return self;
}

static tinkc_future *refuse_nomem(tinkc_sampling *sampling, const char *operation,
                                  tk_result_kind kind)
{
    tk_err err = TK_ERR_INIT;
    tk_err_nomem(&err);
    return tk_future_refused(tk_core_driver(sampling->core), operation, kind, &err);
}

static tinkc_code read_options(sample *self, tk_sample_request *request,
                               const tinkc_sample_options *options, tk_err *err)
{
    tinkc_sample_options mine = TINKC_SAMPLE_OPTIONS_INIT;
    tinkc_code code = tk_params_sample_options(request, options, err);
    if (code == TINKC_OK) {
        code = tk_types_options(&mine, sizeof(mine), options, err);
    }
    if (code == TINKC_OK && mine.deadline_ms >= 0) {
        int64_t now = tk_clock_mono_ms(tk_core_clock(self->op.core));
        self->deadline_at_ms = tk_clock_after(now, mine.deadline_ms);
    }
    return code;
}

tinkc_future *tinkc_sampling_sample(tinkc_sampling *sampling,
                                    const tinkc_model_input *prompt,
                                    const tinkc_sampling_params *params,
                                    const tinkc_sample_options *options)
{
    static const char operation[] = "sample";
    if (sampling == NULL) {
        return tk_service_none(operation, TK_RESULT_SAMPLES);
    }
    sample *self = make(sampling, operation, TK_RESULT_SAMPLES);
    if (self == NULL) {
        return refuse_nomem(sampling, operation, TK_RESULT_SAMPLES);
    }
    tk_err err = TK_ERR_INIT;
    tk_sample_request request = {0};
    tk_arena arena;
    tk_arena_init(&arena, TK_MIB);
    tinkc_code code = tk_params_sampling(&request.sampling_params, &arena, params, &err);
    if (code == TINKC_OK) {
        code = read_options(self, &request, options, &err);
    }
    if (code == TINKC_OK) {
        code = encode(self, &request, prompt, &err);
    }
    tk_arena_dispose(&arena);
    return code == TINKC_OK ? tk_op_submit(&self->op) : tk_op_refuse(&self->op, &err);
}

tinkc_future *tk_sample_resend(tinkc_sampling *sampling, tk_buf *body,
                               int64_t estimate_bytes, const tk_sample_cost *cost)
{
    static const char operation[] = "sample";
    tk_err err = TK_ERR_INIT;
    sample *self = make(sampling, operation, TK_RESULT_SAMPLES);
    if (self == NULL) {
        tk_buf_dispose(body);
        return refuse_nomem(sampling, operation, TK_RESULT_SAMPLES);
    }
    tk_buf_dispose(&self->body);
    self->body = *body;
    *body = (tk_buf){0};
    self->estimate_bytes = estimate_bytes;
    tinkc_code code = tk_buf_reserve(&self->body, TK_JSON_NUM_BYTES) != NULL
                          ? split(self, &err)
                          : tk_err_nomem(&err);
    self->cost = *cost;
    if (code == TINKC_OK) {
        code = tk_sample_reserve(&self->ledger, sampling, cost, &err);
    }
    return code == TINKC_OK ? tk_op_submit(&self->op) : tk_op_refuse(&self->op, &err);
}

tinkc_future *tinkc_sampling_compute_logprobs(tinkc_sampling *sampling,
                                              const tinkc_model_input *prompt)
{
    static const char operation[] = "compute_logprobs";
    if (sampling == NULL) {
        return tk_service_none(operation, TK_RESULT_LOGPROBS);
    }
    sample *self = make(sampling, operation, TK_RESULT_LOGPROBS);
    if (self == NULL) {
        return refuse_nomem(sampling, operation, TK_RESULT_LOGPROBS);
    }
    tk_err err = TK_ERR_INIT;
    tk_sample_request request = {.prompt_logprobs = {TK_SET, true}};
    request.sampling_params.max_tokens = (tk_f_i64){TK_SET, 1};
    return encode(self, &request, prompt, &err) == TINKC_OK
               ? tk_op_submit(&self->op)
               : tk_op_refuse(&self->op, &err);
}

tinkc_code tinkc_sampling_sample_wait(tinkc_samples **out, tinkc_sampling *sampling,
                                      const tinkc_model_input *prompt,
                                      const tinkc_sampling_params *params,
                                      const tinkc_sample_options *options,
                                      tinkc_error **err)
{
    return tk_future_wait_take(out,
                               tinkc_sampling_sample(sampling, prompt, params, options),
                               TK_RESULT_SAMPLES, err);
}

tinkc_code tinkc_sampling_compute_logprobs_wait(tinkc_logprobs **out,
                                                tinkc_sampling *sampling,
                                                const tinkc_model_input *prompt,
                                                tinkc_error **err)
{
    return tk_future_wait_take(out, tinkc_sampling_compute_logprobs(sampling, prompt),
                               TK_RESULT_LOGPROBS, err);
}
