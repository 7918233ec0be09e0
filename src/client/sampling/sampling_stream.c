/* One sample token by token: the right to submit (shared with other samples), the
 * request, events as they come; or, where the server has no such endpoint, an ordinary
 * sample with the same request. Encoded on the caller's thread, lives on the loop's. */
#include "client/sampling/sampling_stream.h"

#include <math.h>

#include "base/mem.h"
#include "client/call/op.h"
#include "client/call/poll.h"
#include "client/core/service.h"
#include "client/sampling/sample_body.h"
#include "client/values/error.h"
#include "client/values/params.h"
#include "wire/sse.h"
#include "wire/wire_error.h"

#define EVENT_MAX_BYTES TK_MIB

static const char operation[] = "stream";

/* What it waits for; says what to undo when it ends. */
typedef enum place {
    PLACE_SLOT,   /* the right to submit */
    PLACE_PAUSE,  /* the end of the shared pause */
    PLACE_CALL,   /* the stream */
    PLACE_SAMPLE, /* the ordinary sample */
} place;

struct tk_sampling_streaming {
    tk_op op;
    tk_sampler *sampler; /* a reference */
    tk_sampling_sink sink;
    place place;
    tk_sample_body body;
    tk_ledger_claim ledger;
    bool is_doubtful;      /* the server may have taken it */
    int64_t cached, total; /* of the last event */
    tk_limiter_claim claim;
    tk_timer timer;
    tk_call call;
    tk_retry_pace pace; /* of its calls */
    int64_t started_ms; /* on the loop's clock */
    tk_sse sse;
    tk_err err; /* of an event */
    int64_t tokens;
    bool is_done; /* the last event was handed over */
    tinkc_future *sample;
};

static void submit(tk_sampling_streaming *self);

static tk_loop *loop_of(const tk_sampling_streaming *self)
{
    return tk_core_loop(self->op.core);
}

static void leave(tk_sampling_streaming *self)
{
    tk_loop_timer_clear(loop_of(self), &self->timer);
    tk_limiter_release(&self->claim);
    if (self->is_done && self->place == PLACE_CALL) {
        tk_sample_body_spend(&self->ledger, &self->body, self->cached, self->total,
                             self->op.future);
    } else if (self->is_doubtful) {
        tk_ledger_doubt(&self->ledger, self->body.most_tokens);
    }
    tk_ledger_release_all(&self->ledger);
}

static void fail(tk_sampling_streaming *self, const tk_err *err)
{
    leave(self);
    tk_op_fail(&self->op, err);
}

static void fail_with(tk_sampling_streaming *self, tinkc_code code, const char *text)
{
    tk_err err = TK_ERR_INIT;
    tk_err_set(&err, code, "%s", text);
    fail(self, &err);
}

/* ---- events ---- */

static bool hand_over_token(tk_sampling_streaming *self, const tk_stream_event *said)
{
    tinkc_stream_event event = {
        .kind = TINKC_STREAM_TOKEN,
        .token_id = said->token_id.is == TK_SET ? said->token_id.v : -1,
        .token = said->token.is == TK_SET ? said->token.v.p : NULL,
        .index = said->index.is == TK_SET ? said->index.v : self->tokens,
        .logprob = said->logprob.is == TK_SET ? said->logprob.v : (double)NAN};
    self->tokens++;
    return self->sink.event(self->sink.user, &event);
}

static bool hand_over_end(tk_sampling_streaming *self, const char *reason, int64_t total,
                          bool whole)
{
    tinkc_stream_event event = {.kind = TINKC_STREAM_DONE,
                                .token_id = -1,
                                .index = self->tokens,
                                .logprob = (double)NAN,
                                .finish_reason = reason,
                                .total_tokens = total >= 0 ? total : self->tokens,
                                .is_whole_sample = whole};
    self->is_done = true;
    self->total = TK_MAX(event.total_tokens, self->tokens); /* those did come */
    return self->sink.event(self->sink.user, &event);
}

/* A text, or an object with a message. */
static void read_failure(tk_err *err, const tk_json *said)
{
    const tk_json *text =
        said->type == TK_JSON_STRING ? said : tk_json_get(said, "message");
    tk_str words = text != NULL && text->type == TK_JSON_STRING
                       ? text->as.string
                       : TK_STR("no reason given");
    tk_err_set(err, TINKC_E_REQUEST, "the stream failed: " TK_STR_FMT, TK_STR_ARG(words));
}

static bool read_event(tk_sampling_streaming *self, const tk_stream_event *said)
{
    if (said->error.is == TK_SET) {
        read_failure(&self->err, said->error.v);
        return false;
    }
    bool more = true;
    if (said->token_id.is == TK_SET || said->token.is == TK_SET) {
        more = hand_over_token(self, said);
    }
    if (more && said->finish_reason.is == TK_SET) {
        int64_t total = said->total_tokens.is == TK_SET ? said->total_tokens.v : -1;
        self->cached = said->prompt_cache_hit_tokens.is == TK_SET
                           ? said->prompt_cache_hit_tokens.v
                           : 0;
        more = hand_over_end(self, said->finish_reason.v.p, total, false);
    }
    if (!more) {
        tk_err_set(&self->err, TINKC_E_CANCELLED, "stopped by the callback");
    }
    return more;
}

static bool on_event(void *user, const tk_sse_event *event)
{
    tk_sampling_streaming *self = user;
    tk_stream_event said = {0};
    tk_arena arena;
    if (self->is_done || tk_str_is(event->data, "[DONE]")) {
        return true; /* what follows the end is not ours */
    }
    tk_arena_init(&arena, 4 * EVENT_MAX_BYTES);
    bool more = tk_schema_decode_text(&said, &tk_msg_stream_event, &arena, event->data, 0,
                                      &self->err) == TINKC_OK &&
                read_event(self, &said);
    tk_arena_dispose(&arena);
    return more;
}

static tk_http_flow on_data(tk_call *call, const char *p, size_t n)
{
    tk_sampling_streaming *self = call->user;
    if (self->sink.is_full != NULL && self->sink.is_full(self->sink.user)) {
        return TK_HTTP_PAUSE;
    }
    tk_err err = TK_ERR_INIT;
    if (tk_sse_feed(&self->sse, p, n, on_event, self, &err) == TINKC_OK) {
        return TK_HTTP_TAKE;
    }
    if (self->err.code == TINKC_OK) {
        self->err = err;
    }
    return TK_HTTP_STOP;
}

static void on_head(tk_call *call, const tk_http_response *head)
{
    tk_sampling_streaming *self = call->user;
    (void)head;
    tk_limiter_release(&self->claim); /* accepted, as a submission that got its id */
}

/* ---- the ordinary sample ---- */

static bool hand_over_all(tk_sampling_streaming *self, const tinkc_samples *samples)
{
    size_t n = 0, logprobs_n = 0;
    const int32_t *tokens = tinkc_samples_tokens(&n, samples, 0);
    const float *logprobs = tinkc_samples_logprobs(&logprobs_n, samples, 0);
    bool more = true;
    for (size_t i = 0; more && i < n; i++) {
        tinkc_stream_event event = {.kind = TINKC_STREAM_TOKEN,
                                    .token_id = tokens[i],
                                    .index = (int64_t)i,
                                    .logprob = i < logprobs_n ? (double)logprobs[i]
                                                              : (double)NAN,
                                    .is_whole_sample = true};
        self->tokens++;
        more = self->sink.event(self->sink.user, &event);
    }
    return more && hand_over_end(self, tinkc_samples_stop_text(samples, 0), -1, true);
}

static void on_sample(tinkc_future *future, void *user)
{
    tk_sampling_streaming *self = user;
    tinkc_samples *samples = NULL;
    tinkc_error *error = NULL;
    tk_err err = TK_ERR_INIT;
    if (tinkc_future_take_samples(&samples, future, &error) != TINKC_OK) {
        tk_error_read(&err, error);
        tinkc_error_free(&error);
        fail(self, &err);
        return;
    }
    bool all = hand_over_all(self, samples);
    tinkc_samples_free(&samples);
    if (all) {
        leave(self);
        tk_op_complete(&self->op, NULL, NULL);
    } else {
        fail_with(self, TINKC_E_CANCELLED, "stopped by the callback");
    }
}

/* May end the operation before it returns. */
static void sample_instead(tk_sampling_streaming *self)
{
    leave(self);
    self->place = PLACE_SAMPLE;
    const tinkc_sampling same = {.handle = self->op.handle, .sampler = self->sampler};
    self->sample = tk_sample_body_send(&self->body, &same);
    tinkc_future *sample = tinkc_future_ref(self->sample); /* it may be done already */
    (void)tinkc_future_on_done(sample, on_sample, self, NULL);
    tinkc_future_free(&sample);
}

/* ---- the stream ---- */

static void fire_submit(tk_timer *timer)
{
    submit(TK_CONTAINER_OF(timer, tk_sampling_streaming, timer));
}

/* Sends it again after the pause that all samples share, unless it has been pushed back
 * for longer than the options allow. */
static void pushed_back(tk_sampling_streaming *self, const tk_retry_outcome *outcome)
{
    tk_err end = TK_ERR_INIT;
    if (tk_poll_is_stuck(self->op.core, tk_loop_now_ms(loop_of(self)), self->started_ms,
                         &end)) {
        fail(self, &end);
        return;
    }
    tk_sampler_push_back(self->op.core, self->op.future, self->body.estimate_bytes,
                         outcome);
    submit(self);
}

static void on_answer(tk_call *call, const tk_call_answer *answer)
{
    tk_sampling_streaming *self = call->user;
    self->is_doubtful |= answer->code == TINKC_OK || answer->is_doubtful;
    if (self->err.code != TINKC_OK) {
        fail(self, &self->err);
    } else if (answer->backpressure && !self->op.cancelled) {
        pushed_back(self, &answer->outcome);
    } else if (tk_wire_error_is_absent(answer->outcome.status)) {
        if (tk_wire_error_is_of_route(answer->err)) {
            tk_manners_learn(tk_core_manners(self->op.core), tk_core_log(self->op.core),
                             TK_MANNER_NO_STREAMS, true);
        }
        sample_instead(self);
    } else if (answer->code != TINKC_OK) {
        fail(self, answer->err);
    } else if (!self->is_done) {
        fail_with(self, TINKC_E_CONNECTION, "the stream ended without an end event");
    } else {
        leave(self);
        tk_op_complete(&self->op, NULL, NULL);
    }
}

static void submit(tk_sampling_streaming *self)
{
    int64_t until = tk_limiter_until_ms(tk_core_limiter_port(self->op.core)->limiter);
    if (tk_loop_now_ms(loop_of(self)) < until) {
        self->place = PLACE_PAUSE;
        tk_future_stage(self->op.future, TINKC_STAGE_BACKOFF);
        tk_timer_init(&self->timer, fire_submit);
        tk_loop_timer_set(loop_of(self), &self->timer, until);
        return;
    }
    self->place = PLACE_CALL;
    self->call = (tk_call){.core = self->op.core,
                           .endpoint = tk_endpoint_at(TK_EP_STREAM_SAMPLE),
                           .body = self->body.text.p,
                           .body_n = self->body.text.n,
                           .accept = "text/event-stream",
                           .extra = {TK_SAMPLER_BACKPRESSURE},
                           .pass_backpressure = true,
                           .pass_status = 501,
                           .pace = &self->pace,
                           .on_head = on_head,
                           .on_data = on_data,
                           .future = self->op.future,
                           .done = on_answer,
                           .user = self};
    tk_call_start(&self->call);
}

static void on_granted(tk_limiter_claim *claim)
{
    submit(TK_CONTAINER_OF(claim, tk_sampling_streaming, claim));
}

void tk_sampling_stream_resume(tk_sampling_streaming *self)
{
    if (self->place == PLACE_CALL && tk_call_is_running(&self->call)) {
        tk_loop_resume(loop_of(self), &self->call.state.request);
    }
}

/* ---- the operation ---- */

static void start(tk_op *op)
{
    tk_sampling_streaming *self = TK_CONTAINER_OF(op, tk_sampling_streaming, op);
    tk_core *core = op->core;
    tk_limiter_limits limits = tk_sampler_limits(core);
    self->started_ms = tk_loop_now_ms(loop_of(self));
    tk_timer_init(&self->timer, fire_submit);
    if (self->sink.begin != NULL) {
        self->sink.begin(self->sink.user, self);
    }
    if (tk_manners_get(tk_core_manners(core), TK_MANNER_NO_STREAMS) == TK_KNOWN_YES) {
        sample_instead(self);
        return;
    }
    self->place = PLACE_SLOT;
    tk_future_stage(op->future, TINKC_STAGE_BUDGET);
    self->claim.granted = on_granted;
    if (tk_limiter_acquire(tk_core_limiter_port(core), &self->claim, &limits,
                           self->body.estimate_bytes)) {
        submit(self);
    }
}

static void cancel(tk_op *op)
{
    tk_sampling_streaming *self = TK_CONTAINER_OF(op, tk_sampling_streaming, op);
    tinkc_future *sample;
    switch (self->place) {
    case PLACE_CALL:
        tk_call_cancel(&self->call);
        return;
    case PLACE_SAMPLE:
        sample = tinkc_future_ref(self->sample);
        tinkc_future_cancel(sample); /* ends in on_sample, and us with it */
        tinkc_future_free(&sample);
        return;
    case PLACE_SLOT:
    case PLACE_PAUSE:
        break;
    }
    fail_with(self, TINKC_E_CANCELLED, "cancelled");
}

static void destroy(tk_op *op)
{
    tk_sampling_streaming *self = TK_CONTAINER_OF(op, tk_sampling_streaming, op);
    if (self->sink.end != NULL) {
        self->sink.end(self->sink.user);
    }
    tk_ledger_release_all(&self->ledger);
    tinkc_future_free(&self->sample);
    tk_sample_body_dispose(&self->body);
    tk_sse_dispose(&self->sse);
    tk_sampler_unref(&self->sampler);
    tk_free(self);
}

static const tk_op_type streaming_type = {start, cancel, destroy};

static tinkc_code encode(tk_sampling_streaming *self, const tinkc_model_input *prompt,
                         const tinkc_sampling_params *params, tk_err *err)
{
    tk_sample_request request = {.prompt_logprobs = {TK_SET, false}};
    tk_arena arena;
    tk_arena_init(&arena, TK_MIB);
    tinkc_code code = tk_params_sampling(&request.sampling_params, &arena, params, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tk_sample_body_encode(&self->body, self->sampler, &request, prompt, err);
    if (code != TINKC_OK) {
        goto out;
    }
    tk_sample_body_number(&self->body, tk_sampler_next_seq(self->sampler));
    code = tk_sample_body_reserve(&self->ledger, &self->body, self->sampler, err);
out:
    tk_arena_dispose(&arena);
    return code;
}

tinkc_future *tk_sampling_stream(tinkc_sampling *sampling,
                                 const tinkc_model_input *prompt,
                                 const tinkc_sampling_params *params,
                                 const tk_sampling_sink *sink)
{
    tk_err err = TK_ERR_INIT;
    tk_sampling_streaming *self = tk_zalloc(sizeof(*self));
    if (self == NULL) {
        tk_err_nomem(&err);
        if (sink->end != NULL) {
            sink->end(sink->user);
        }
        return tk_handle_refuse(sampling->handle, operation, TK_RESULT_NONE, &err);
    }
    self->sampler = tk_sampler_ref(sampling->sampler);
    self->sink = *sink;
    self->err = (tk_err)TK_ERR_INIT;
    tk_sample_body_init(&self->body);
    tk_sse_init(&self->sse, EVENT_MAX_BYTES);
    tk_op_init(&self->op, &streaming_type, sampling->handle, operation, TK_RESULT_NONE);
    return encode(self, prompt, params, &err) == TINKC_OK ? tk_op_submit(&self->op)
                                                          : tk_op_refuse(&self->op, &err);
}

/* ---- with a callback ---- */

typedef struct listener {
    tinkc_stream_fn fn;
    void *user;
} listener;

static bool tell(void *user, const tinkc_stream_event *event)
{
    const listener *l = user;
    return l->fn(event, l->user);
}

tinkc_future *tinkc_sampling_stream(tinkc_sampling *sampling,
                                    const tinkc_model_input *prompt,
                                    const tinkc_sampling_params *params,
                                    tinkc_stream_fn fn, void *user)
{
    tk_err err = TK_ERR_INIT;
    if (sampling == NULL) {
        return tk_service_none(operation, TK_RESULT_NONE);
    }
    listener *l = fn != NULL ? tk_malloc(sizeof(*l)) : NULL;
    if (l == NULL) {
        if (fn == NULL) {
            tk_err_set(&err, TINKC_E_INVALID, "a stream needs a callback");
        }
        tk_err_set(&err, TINKC_E_NOMEM, "out of memory"); /* the first one counts */
        return tk_handle_refuse(sampling->handle, operation, TK_RESULT_NONE, &err);
    }
    *l = (listener){fn, user};
    tk_sampling_sink sink = {.event = tell, .end = tk_free, .user = l};
    return tk_sampling_stream(sampling, prompt, params, &sink);
}

tinkc_code tinkc_sampling_stream_wait(tinkc_sampling *sampling,
                                      const tinkc_model_input *prompt,
                                      const tinkc_sampling_params *params,
                                      tinkc_stream_fn fn, void *user, tinkc_error **err)
{
    return tk_future_wait_take(NULL,
                               tinkc_sampling_stream(sampling, prompt, params, fn, user),
                               TK_RESULT_NONE, err);
}
