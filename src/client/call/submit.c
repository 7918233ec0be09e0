/* See submit.h. */
#include "client/call/submit.h"

#include <stdio.h>
#include <string.h>

#include "wire/msg_model.h"

#define ANSWER_MAX_BYTES TK_MIB

static void on_result(tk_poll *poll, const tk_poll_result *result)
{
    tk_submit *submit = poll->user;
    submit->state.phase = TK_SUBMIT_IDLE;
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
        code = tk_err_set(err, TINKC_E_LIMIT, "the server's request id is too long");
    }
    if (code == TINKC_OK) {
        (void)snprintf(submit->state.request_id, sizeof(submit->state.request_id),
                       TK_STR_FMT, TK_STR_ARG(said.request_id.v));
    }
    tk_arena_dispose(&arena);
    return code;
}

static void start_poll(tk_submit *submit)
{
    int64_t now_ns = tk_clock_mono_ns(tk_core_clock(submit->core));
    tk_poll *poll = &submit->state.poll;
    *poll = (tk_poll){.core = submit->core,
                      .type = submit->type,
                      .request_id = submit->state.request_id,
                      .what = submit->what,
                      .roundtrip_s = (double)(now_ns - submit->started_ns) / 1e9,
                      .future = submit->future,
                      .done = on_result,
                      .user = submit};
    submit->state.phase = TK_SUBMIT_POLL;
    tk_poll_start(poll);
}

/* The poll starts behind `settled`, which lets the next operation of the model go first:
 * submissions matter more than looking for results. */
static void on_accepted(tk_call *call, const tk_call_answer *answer)
{
    tk_submit *submit = call->user;
    tk_err err = TK_ERR_INIT;
    submit->state.phase = TK_SUBMIT_IDLE;
    if (answer->code != TINKC_OK) {
        submit->is_doubtful = answer->is_doubtful;
        submit->settled(submit, answer->code, answer->err);
        return;
    }
    tinkc_code code = read_request_id(submit, answer->response->body, &err);
    if (code != TINKC_OK) {
        submit->is_doubtful = true;
        submit->settled(submit, code, &err);
        return;
    }
    submit->state.phase = TK_SUBMIT_SETTLING;
    submit->settled(submit, TINKC_OK, NULL);
    if (submit->state.is_cancelled) {
        tk_poll_result result = {.code = TINKC_E_CANCELLED, .err = &err};
        tk_err_set(&err, TINKC_E_CANCELLED, "cancelled");
        submit->state.phase = TK_SUBMIT_IDLE;
        submit->done(submit, &result);
        return;
    }
    start_poll(submit);
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
                      .future = submit->future,
                      .before_attempt = submit->before_attempt,
                      .done = on_accepted,
                      .user = submit};
    submit->state.phase = TK_SUBMIT_CALL;
    tk_call_start(call);
}

void tk_submit_cancel(tk_submit *submit)
{
    switch (submit->state.phase) {
    case TK_SUBMIT_CALL:
        tk_call_cancel(&submit->state.call);
        return;
    case TK_SUBMIT_SETTLING:
        submit->state.is_cancelled = true;
        return;
    case TK_SUBMIT_POLL:
        tk_poll_cancel(&submit->state.poll);
        return;
    case TK_SUBMIT_IDLE:
        break;
    }
}
