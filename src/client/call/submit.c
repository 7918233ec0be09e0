/* The order of events matters most here: the phase changes before each callback, because
 * the callback may cancel the submission, start it again or free it. */
#include "client/call/submit.h"

#include <stdio.h>
#include <string.h>

#include "wire/msg_model.h"

#define ANSWER_MAX_BYTES TK_MIB

static void on_result(tk_poll *poll, const tk_poll_result *result)
{
    tk_submit *submit = poll->user;
    submit->state.phase = TK_SUBMIT_IDLE;
    submit->answered_ms = TK_MAX(submit->answered_ms, poll->state.answered_ms);
    submit->done(submit, result);
}

static tinkc_code read_request_id(tk_submit *submit, tk_str body, tk_err *err)
{
    tk_arena arena;
    tk_future_response said = {.request_id = {.is = TK_UNSET}};
    tk_arena_init(&arena, ANSWER_MAX_BYTES);
    tinkc_code code =
        tk_schema_decode_text(&said, &tk_msg_future_response, &arena, body, 0, err);
    if (code == TINKC_OK && said.request_id.v.n >= sizeof(submit->state.request_id)) {
        code = tk_err_set(err, TINKC_E_DECODE,
                          "the server's request_id is longer than %zu bytes",
                          sizeof(submit->state.request_id) - 1);
    }
    if (code == TINKC_OK) {
        (void)snprintf(submit->state.request_id, sizeof(submit->state.request_id),
                       TK_STR_FMT, TK_STR_ARG(said.request_id.v));
    }
    tk_arena_dispose(&arena);
    return code;
}

static double roundtrip_s(const tk_submit *submit)
{
    int64_t now_ns = tk_clock_mono_ns(tk_core_clock(submit->core));
    return submit->started_ns >= 0 ? (double)(now_ns - submit->started_ns) / 1e9 : 0;
}

static tk_retry_pace *pace_of(tk_submit *submit)
{
    return submit->pace != NULL ? submit->pace : &submit->state.pace;
}

static void start_poll(tk_submit *submit)
{
    tk_poll *poll = &submit->state.poll;
    *poll = (tk_poll){.core = submit->core,
                      .type = submit->type,
                      .request_id = submit->state.request_id,
                      .what = submit->what,
                      .roundtrip_s = roundtrip_s(submit),
                      .future = submit->future,
                      .never_stuck = submit->never_stuck,
                      .progress_ms = submit->progress_ms,
                      .group = submit->group,
                      .stuck_total_ms = submit->stuck_total_ms,
                      .pace = pace_of(submit),
                      .done = on_result,
                      .user = submit};
    submit->state.phase = TK_SUBMIT_POLL;
    tk_poll_start(poll);
}

static void fail_settled(tk_submit *submit, const tk_err *err)
{
    submit->state.phase = TK_SUBMIT_IDLE;
    submit->settled(submit, err->code, err);
}

/* The poll starts after `settled`, which lets the next operation of the model go first:
 * submissions matter more than looking for results. */
static void accepted(tk_submit *submit)
{
    submit->state.phase = TK_SUBMIT_SETTLING;
    submit->settled(submit, TINKC_OK, NULL);
    if (!submit->state.is_cancelled) {
        start_poll(submit);
        return;
    }
    tk_err err = TK_ERR_INIT;
    tk_poll_result result = {.code = TINKC_E_CANCELLED, .err = &err};
    tk_err_set(&err, TINKC_E_CANCELLED, "cancelled");
    submit->state.phase = TK_SUBMIT_IDLE;
    submit->done(submit, &result);
}

static void on_answer(tk_call *call, const tk_call_answer *answer)
{
    tk_submit *submit = call->user;
    tk_err err = TK_ERR_INIT;
    submit->is_doubtful = answer->code == TINKC_OK || answer->is_doubtful;
    if (answer->outcome.status != 0) {
        submit->answered_ms = tk_loop_now_ms(tk_core_loop(submit->core));
    }
    if (answer->backpressure) {
        submit->state.phase = TK_SUBMIT_IDLE;
        submit->pushed_back(submit, &answer->outcome);
    } else if (answer->code != TINKC_OK) {
        fail_settled(submit, answer->err);
    } else if (read_request_id(submit, answer->response->body, &err) != TINKC_OK ||
               (submit->accepted != NULL &&
                submit->accepted(submit, answer->response->body, &err) != TINKC_OK)) {
        fail_settled(submit, &err);
    } else {
        accepted(submit);
    }
}

void tk_submit_start(tk_submit *submit)
{
    memset(&submit->state, 0, sizeof(submit->state));
    tk_call *call = &submit->state.call;
    *call = (tk_call){.core = submit->core,
                      .endpoint = tk_endpoint_at(submit->endpoint),
                      .body = submit->body,
                      .body_n = submit->body_n,
                      .content_type = submit->content_type,
                      .content_encoding = submit->content_encoding,
                      .extra = {submit->extra_header},
                      .pass_backpressure = submit->pushed_back != NULL,
                      .pace = pace_of(submit),
                      .future = submit->future,
                      .before_attempt = submit->before_attempt,
                      .done = on_answer,
                      .user = submit};
    submit->state.phase = TK_SUBMIT_CALL;
    tk_call_start(call);
}

bool tk_submit_is_running(const tk_submit *submit)
{
    return submit->state.phase != TK_SUBMIT_IDLE;
}

const char *tk_submit_request_id(const tk_submit *submit)
{
    return submit->state.request_id;
}

void tk_submit_cancel(tk_submit *submit)
{
    submit->state.is_cancelled = true;
    switch (submit->state.phase) {
    case TK_SUBMIT_CALL:
        tk_call_cancel(&submit->state.call);
        return;
    case TK_SUBMIT_POLL:
        tk_poll_cancel(&submit->state.poll);
        return;
    case TK_SUBMIT_SETTLING: /* ends when `settled` has returned */
    case TK_SUBMIT_IDLE:
        break;
    }
}
