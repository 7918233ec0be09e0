/* One sample (docs/protocol.md §7.3, §5.4): a place among those that are running, then
 * attempts. An attempt is a new sequence id, the right to submit, and a tk_submit, which
 * is repeated with the same sequence id as long as the server pushes back. Encoded on the
 * caller's thread, lives on the loop's.
 *
 * A 429 comes here as `pushed_back`: it pauses all samples of the same limiter. */
#include <string.h>

#include "base/mem.h"
#include "client/call/cancel.h"
#include "client/call/op.h"
#include "client/call/submit.h"
#include "client/core/service.h"
#include "client/insight/telemetry_layer.h"
#include "client/sampling/sample_body.h"
#include "client/sampling/sampling.h"
#include "client/sampling/sampling_result.h"
#include "client/values/params.h"
#include "client/values/types.h"
#include "wire/msg_model.h"
#include "wire/wire_error.h"

typedef struct sample {
    tk_op op;
    tk_sampler *sampler; /* a reference */
    bool is_logprobs;
    tk_sample_body body;
    tk_ledger_claim ledger;
    bool is_doubtful; /* the server may have taken the running attempt */
    /* progress */
    tk_budget_claim slot;
    tk_limiter_claim claim;
    tk_timer timer;
    int64_t started_ms;       /* on the loop's clock */
    tinkc_sample_retry retry; /* the handle's */
    tk_retry_pace pace;       /* of all its requests */
    int attempts;             /* delays taken so far */
    int64_t resubmits;        /* after the work failed at the server */
    tk_submit submit;
    tk_str *ids; /* what the running attempt's sequences are called; one block, or NULL */
    size_t ids_n;
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
    tk_limiter_release(&self->claim);
    if (self->is_doubtful) {
        tk_ledger_doubt(&self->ledger, self->body.most_tokens);
    }
    tk_ledger_release_all(&self->ledger); /* before the end is seen: it may be spent */
    tk_budget_release(&self->sampler->slots, &self->slot);
}

static void fail(sample *self, const tk_err *err)
{
    leave(self);
    tk_op_fail(&self->op, err);
}

static void fail_with(sample *self, tinkc_code code, const char *text)
{
    tk_err err = TK_ERR_INIT;
    tk_err_set(&err, code, "%s", text);
    fail(self, &err);
}

static void succeed(sample *self, const tk_poll_result *said)
{
    tk_err err = TK_ERR_INIT;
    bool is_logprobs = self->is_logprobs;
    tk_sampling_result_usage usage = {0};
    tk_strs ids = {self->ids, self->ids_n};
    void *result =
        is_logprobs
            ? (void *)tk_sampling_result_read_logprobs(&usage, said, &self->body.wanted,
                                                       &err)
            : (void *)tk_sampling_result_read(said, ids, &self->body.wanted, &err);
    if (result == NULL) {
        fail(self, &err);
        return;
    }
    usage = is_logprobs ? usage : tk_sampling_result_usage_of(result);
    self->is_doubtful = false;
    tk_sample_body_spend(&self->ledger, &self->body, usage.cached, usage.sampled,
                         self->op.future);
    self->sampler->progress_ms = tk_loop_now_ms(loop_of(self));
    leave(self);
    tk_op_complete(&self->op, result,
                   is_logprobs ? tk_sampling_result_free_logprobs
                               : tk_sampling_result_free);
}

/* ---- another attempt? ---- */

static bool detects_stuck(const sample *self)
{
    return self->retry.detect_stuck &&
           tk_core_flags(self->op.core)->sample_enable_stuck_detection.v;
}

static bool is_stuck(const sample *self, tk_err *err)
{
    /* As for a poll: what happened before it was called is not its own waiting. */
    int64_t progress_ms = TK_MAX(self->started_ms, self->sampler->progress_ms);
    return detects_stuck(self) &&
           tk_poll_is_stuck_after(self->op.core, self->submit.answered_ms, progress_ms,
                                  self->retry.progress_timeout_ms, err);
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
    if (!self->retry.retry || !is_retried(self) ||
        tk_wire_error_rule(&fault)->retry == TK_RETRY_NEVER) {
        return false;
    }
    int64_t most = self->retry.resubmits >= 0
                       ? self->retry.resubmits
                       : tk_core_config(self->op.core)->sample_resubmits;
    return err->code != TINKC_E_REQUEST || self->resubmits++ < most;
}

static int64_t either(int64_t mine, int64_t option)
{
    return mine > 0 ? mine : option;
}

static void pause_until(sample *self, int64_t at_ms, void (*fire)(tk_timer *timer))
{
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
    tk_ledger_doubt(&self->ledger, self->body.most_tokens);
    self->is_doubtful = false;
    return tk_sample_body_reserve(&self->ledger, &self->body, self->sampler, err);
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
    tk_err end = TK_ERR_INIT;
    if (is_stuck(self, &end) || reserve_again(self, &end) != TINKC_OK) {
        fail(self, &end);
        return;
    }
    tk_retry_l3_config delays = {
        either(self->retry.delay_base_ms, config->sample_retry_base_ms),
        either(self->retry.delay_max_ms, config->sample_retry_max_ms),
        self->retry.jitter};
    int64_t delay =
        tk_retry_l3_delay(&delays, self->attempts++, tk_core_rand(self->op.core));
    delay = TK_MAX(delay, tk_retry_after(delay, err->retry_after_ms));
    tk_span_retry(tk_future_span(self->op.future), err->code, err->http_status, delay);
    pause_until(self, tk_loop_now_ms(loop_of(self)) + delay, fire_begin);
}

/* ---- the submission ---- */

static void submit(sample *self);

static void on_done(tk_submit *submission, const tk_poll_result *result)
{
    sample *self = submission->user;
    if (result->code == TINKC_OK) {
        succeed(self, result);
        return;
    }
    if (result->code == TINKC_E_CANCELLED || result->code == TINKC_E_STUCK) {
        tk_cancel_send(tk_core_cancels(self->op.core), tk_submit_request_id(submission));
    }
    self->is_doubtful = result->code != TINKC_E_REQUEST; /* that was not charged */
    failed(self, result->err);
}

static tinkc_code keep_ids(sample *self, tk_strs ids, tk_err *err)
{
    size_t bytes = ids.n * sizeof(*ids.p);
    for (size_t i = 0; i < ids.n; i++) {
        bytes += ids.p[i].n; /* no overflow: all of them are in the answer */
    }
    tk_free(self->ids);
    self->ids_n = 0;
    self->ids = bytes > 0 ? tk_malloc(bytes) : NULL;
    if (self->ids == NULL) {
        return bytes > 0 ? tk_err_nomem(err) : TINKC_OK;
    }
    char *text = (char *)(self->ids + ids.n);
    for (size_t i = 0; i < ids.n; i++) {
        self->ids[i] = (tk_str){text, ids.p[i].n};
        if (ids.p[i].n > 0) {
            memcpy(text, ids.p[i].p, ids.p[i].n);
        }
        text += ids.p[i].n;
    }
    self->ids_n = ids.n;
    return TINKC_OK;
}

/* The ids are those of this attempt: another one is new work with other ids. A server
 * whose ids cannot be read is one that sends none. */
static tinkc_code on_accepted(tk_submit *submission, tk_str body, tk_err *err)
{
    sample *self = submission->user;
    tk_sample_future_response said = {0};
    tk_err unread = TK_ERR_INIT;
    tk_arena arena;
    tk_arena_init(&arena, TK_BODY_MAX_BYTES);
    tinkc_code code = tk_schema_decode_text(&said, &tk_msg_sample_future_response, &arena,
                                            body, 0, &unread);
    code = code == TINKC_E_NOMEM ? tk_err_nomem(err)
                                 : keep_ids(self, said.sample_sequence_ids, err);
    tk_arena_dispose(&arena);
    return code;
}

static void on_settled(tk_submit *submission, tinkc_code code, const tk_err *err)
{
    sample *self = submission->user;
    self->is_doubtful |= submission->is_doubtful;
    if (code != TINKC_OK) {
        failed(self, err);
        return;
    }
    tk_limiter_release(&self->claim);
}

/* The pause may have become longer in the meantime. */
static void fire_submit(tk_timer *timer)
{
    submit(TK_CONTAINER_OF(timer, sample, timer));
}

static void on_pushed_back(tk_submit *submission, const tk_retry_outcome *outcome)
{
    sample *self = submission->user;
    tk_err end = TK_ERR_INIT;
    self->is_doubtful |= submission->is_doubtful;
    if (is_stuck(self, &end)) {
        fail(self, &end);
        return;
    }
    tk_sampler_push_back(self->op.core, self->op.future, self->body.estimate_bytes,
                         outcome);
    submit(self);
}

static void submit(sample *self)
{
    int64_t until = tk_limiter_until_ms(tk_core_limiter_port(self->op.core)->limiter);
    if (tk_loop_now_ms(loop_of(self)) < until) {
        pause_until(self, until, fire_submit);
        return;
    }
    self->submit = (tk_submit){.core = self->op.core,
                               .form.endpoint = TK_EP_ASAMPLE,
                               .type = TK_FUTURE_SAMPLE,
                               .form.body = self->body.text.p,
                               .form.body_n = self->body.text.n,
                               .extra_header = TK_SAMPLER_BACKPRESSURE,
                               .what = self->sampler->id,
                               .future = self->op.future,
                               .started_ns = -1,
                               .never_stuck = !detects_stuck(self),
                               .progress_ms = &self->sampler->progress_ms,
                               .group = tk_sampler_polls(self->sampler),
                               .stuck_total_ms = self->retry.progress_timeout_ms,
                               .pace = &self->pace,
                               .pushed_back = on_pushed_back,
                               .accepted = self->is_logprobs ? NULL : on_accepted,
                               .settled = on_settled,
                               .done = on_done,
                               .user = self,
                               /* a pause that the server asked for does not count as
                                * silence */
                               .answered_ms = TK_MAX(self->submit.answered_ms, until)};
    tk_submit_start(&self->submit);
}

static void on_granted(tk_limiter_claim *claim)
{
    submit(TK_CONTAINER_OF(claim, sample, claim));
}

/* ---- one attempt ---- */

static void begin(sample *self)
{
    tk_core *core = self->op.core;
    tk_limiter_limits limits = tk_sampler_limits(core);
    tk_sample_body_number(&self->body, tk_sampler_next_seq(self->sampler));
    tk_future_stage(self->op.future, TINKC_STAGE_BUDGET);
    self->claim.granted = on_granted;
    if (tk_limiter_acquire(tk_core_limiter_port(core), &self->claim, &limits,
                           self->body.estimate_bytes)) {
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
    if (tk_submit_is_running(&self->submit)) {
        tk_submit_cancel(&self->submit);
        return;
    }
    fail_with(self, TINKC_E_CANCELLED, "cancelled");
}

static void start(tk_op *op)
{
    sample *self = TK_CONTAINER_OF(op, sample, op);
    tk_sampler *sampler = self->sampler;
    int64_t now = tk_loop_now_ms(loop_of(self));
    self->submit.answered_ms = now;
    self->started_ms = now;
    tk_timer_init(&self->timer, fire_begin);
    tk_future_stage(op->future, TINKC_STAGE_BUDGET);
    /* Samples that share one poll hold no connection each: the server limits them. */
    if (!is_retried(self) || tk_sampler_polls(sampler) != NULL ||
        tk_budget_acquire(&sampler->slots, &self->slot, 1, on_slot)) {
        begin(self);
    }
}

static void destroy(tk_op *op)
{
    sample *self = TK_CONTAINER_OF(op, sample, op);
    tk_ledger_release_all(&self->ledger);
    tk_sample_body_dispose(&self->body);
    tk_free(self->ids);
    tk_sampler_unref(&self->sampler);
    tk_free(self);
}

static const tk_op_type sample_type = {start, cancel, destroy};

/* ---- the call: caller's thread ---- */

static sample *make(const tinkc_sampling *sampling, const char *operation,
                    tk_result_kind kind)
{
    sample *self = tk_zalloc(sizeof(*self));
    if (self != NULL) {
        self->sampler = tk_sampler_ref(sampling->sampler);
        self->is_logprobs = kind == TK_RESULT_LOGPROBS;
        self->retry = sampling->retry.size > 0
                          ? sampling->retry
                          : (tinkc_sample_retry)TINKC_SAMPLE_RETRY_INIT;
        tk_sample_body_init(&self->body);
        tk_op_init(&self->op, &sample_type, sampling->handle, operation, kind);
    }
    return self;
}

static tinkc_future *refuse_nomem(const tinkc_sampling *sampling, const char *operation,
                                  tk_result_kind kind)
{
    tk_err err = TK_ERR_INIT;
    tk_err_nomem(&err);
    return tk_handle_refuse(sampling->handle, operation, kind, &err);
}

/* Encodes the request and reserves what it may cost. */
static tinkc_code encode(sample *self, tk_sample_request *request,
                         const tinkc_model_input *prompt, tk_err *err)
{
    tinkc_code code =
        tk_sample_body_encode(&self->body, self->sampler, request, prompt, err);
    return code == TINKC_OK
               ? tk_sample_body_reserve(&self->ledger, &self->body, self->sampler, err)
               : code;
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
        tk_op_set_deadline(&self->op, mine.deadline_ms);
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

tinkc_future *tk_sample_body_send(tk_sample_body *body, const tinkc_sampling *sampling)
{
    static const char operation[] = "sample";
    tk_err err = TK_ERR_INIT;
    sample *self = make(sampling, operation, TK_RESULT_SAMPLES);
    if (self == NULL) {
        tk_sample_body_dispose(body);
        return refuse_nomem(sampling, operation, TK_RESULT_SAMPLES);
    }
    tk_sample_body_dispose(&self->body);
    self->body = *body;
    *body = (tk_sample_body){0};
    return tk_sample_body_reserve(&self->ledger, &self->body, self->sampler, &err) ==
                   TINKC_OK
               ? tk_op_submit(&self->op)
               : tk_op_refuse(&self->op, &err);
}

/* last_n 0: the whole prompt. */
static tinkc_future *compute_logprobs(tinkc_sampling *sampling,
                                      const tinkc_model_input *prompt, int64_t last_n)
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
    if (last_n > 0) {
        request.prompt_logprobs_last_n = (tk_f_i64){TK_SET, last_n};
    } else if (last_n < 0) {
        tk_err_set(&err, TINKC_E_INVALID, "last_n must be at least 1");
        return tk_op_refuse(&self->op, &err);
    }
    return encode(self, &request, prompt, &err) == TINKC_OK
               ? tk_op_submit(&self->op)
               : tk_op_refuse(&self->op, &err);
}

tinkc_future *tinkc_sampling_compute_logprobs(tinkc_sampling *sampling,
                                              const tinkc_model_input *prompt)
{
    return compute_logprobs(sampling, prompt, 0);
}

tinkc_future *tinkc_sampling_compute_last_logprobs(tinkc_sampling *sampling,
                                                   const tinkc_model_input *prompt,
                                                   int64_t last_n)
{
    return compute_logprobs(sampling, prompt, last_n > 0 ? last_n : -1);
}

tinkc_code tinkc_sampling_compute_last_logprobs_wait(tinkc_logprobs **out,
                                                     tinkc_sampling *sampling,
                                                     const tinkc_model_input *prompt,
                                                     int64_t last_n, tinkc_error **err)
{
    return tk_future_wait_take(
        out, tinkc_sampling_compute_last_logprobs(sampling, prompt, last_n),
        TK_RESULT_LOGPROBS, err);
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
