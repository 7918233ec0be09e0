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

static tk_str text_of(const tk_json *json, const char *key)
{
    const tk_json *value = tk_json_get(json, key);
    bool is_text = value != NULL && value->type == TK_JSON_STRING;
    return is_text ? value->as.string : (tk_str){0};
}

/* Some servers refuse a request with 200 and an `error` in place of an id. *err is then
 * what they say. */
static tinkc_code read_refusal(tk_arena *arena, tk_str body, tk_err *err)
{
    const tk_json *json = NULL;
    if (tk_json_parse(&json, arena, body.p, body.n, NULL, NULL) != TINKC_OK) {
        return err->code;
    }
    tk_str error = text_of(json, "error"), reason = text_of(json, "reason");
    if (error.n > 0) {
        *err = (tk_err)TK_ERR_INIT;
        (void)tk_err_set(err, TINKC_E_REQUEST, TK_STR_FMT "%s" TK_STR_FMT,
                         TK_STR_ARG(error), reason.n > 0 ? ": " : "", TK_STR_ARG(reason));
    }
    return err->code;
}

static tinkc_code read_request_id(tk_submit *submit, tk_str body, tk_err *err)
{
    tk_arena arena;
    tk_future_response said = {.request_id = {.is = TK_UNSET}};
    tk_arena_init(&arena, ANSWER_MAX_BYTES);
    tinkc_code code =
        tk_schema_decode_text(&said, &tk_msg_future_response, &arena, body, 0, err);
    if (code == TINKC_E_DECODE) {
        code = read_refusal(&arena, body, err);
    }
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

/* ---- the form of the body ---- */

static tk_known json_is_known(const tk_submit *submit)
{
    return tk_manners_get(tk_core_manners(submit->core), TK_MANNER_JSON_REQUESTS);
}

/* Returns whether a response ends the call, so that the format is not fought over by
 * repeating the request. A 500 without a reason counts the second time: the first may be
 * an accident. While JSON is tried, any 500 and a conflict with the first form are the
 * end of the try. */
static bool is_final(const tk_call *call, const tk_http_response *response, int sent)
{
    const tk_submit *submit = call->user;
    tk_refusal refusal = tk_refusal_of(response);
    if (submit->state.using == TK_FORM_TRIED) {
        return refusal != TK_REFUSAL_OTHER || response->status == 500 ||
               response->status == 409;
    }
    return submit->state.using == TK_FORM_FIRST && json_is_known(submit) != TK_KNOWN_NO &&
           (refusal == TK_REFUSAL_FORMAT || (refusal == TK_REFUSAL_MUTE && sent > 1));
}

static void on_answer(tk_call *call, const tk_call_answer *answer);

static void send_form(tk_submit *submit, const tk_submit_form *form)
{
    tk_call *call = &submit->state.call;
    *call = (tk_call){.core = submit->core,
                      .endpoint = tk_endpoint_at(form->endpoint),
                      .body = form->body,
                      .body_n = form->body_n,
                      .content_type = form->content_type,
                      .content_encoding = form->content_encoding,
                      .extra = {submit->extra_header},
                      .pass_backpressure = submit->pushed_back != NULL,
                      .is_final = submit->in_json != NULL ? is_final : NULL,
                      .pace = pace_of(submit),
                      .future = submit->future,
                      .before_attempt = submit->before_attempt,
                      .done = on_answer,
                      .user = submit};
    submit->state.phase = TK_SUBMIT_CALL;
    tk_call_start(call);
}

/* A guess that cannot be tried was none. */
static void send_json(tk_submit *submit)
{
    tk_err err = TK_ERR_INIT;
    tk_submit_form form = {0};
    if (submit->in_json(submit, &form, &err) == TINKC_OK) {
        send_form(submit, &form);
    } else if (submit->state.refusal == TK_REFUSAL_MUTE) {
        submit->state.using = TK_FORM_AGAIN;
        send_form(submit, &submit->form);
    } else {
        fail_settled(submit, &err);
    }
}

/* Goes on with the other form after a refusal. False when the failure stands. */
static bool change_form(tk_submit *submit, const tk_call_answer *answer)
{
    if (submit->in_json == NULL || answer->response == NULL) {
        return false;
    }
    tk_refusal refusal = tk_refusal_of(answer->response);
    int status = answer->outcome.status;
    if (submit->state.using == TK_FORM_FIRST && json_is_known(submit) != TK_KNOWN_NO &&
        refusal != TK_REFUSAL_OTHER) {
        submit->state.using = TK_FORM_TRIED;
        submit->state.refusal = refusal;
        submit->state.refused = *answer->err;
        send_json(submit);
        return true;
    }
    /* A server that reads JSON as badly: the 500 was about something else, and is repeated
     * as any other. */
    if (submit->state.using == TK_FORM_TRIED &&
        submit->state.refusal == TK_REFUSAL_MUTE &&
        (refusal != TK_REFUSAL_OTHER || status == 500 || status == 409)) {
        submit->state.using = TK_FORM_AGAIN;
        send_form(submit, &submit->form);
        return true;
    }
    return false;
}

/* An accepted request tells which form the server reads. */
static void learn_form(const tk_submit *submit)
{
    if (submit->in_json != NULL) {
        bool is_json =
            submit->state.using == TK_FORM_JSON || submit->state.using == TK_FORM_TRIED;
        tk_manners_learn(tk_core_manners(submit->core), tk_core_log(submit->core),
                         TK_MANNER_JSON_REQUESTS, is_json);
    }
}

/* ---- the answer ---- */

/* When both forms were refused for their format, the first refusal is the one to know. */
static void fail_with_answer(tk_submit *submit, const tk_call_answer *answer)
{
    bool is_both = submit->state.using == TK_FORM_TRIED && answer->response != NULL &&
                   tk_refusal_of(answer->response) != TK_REFUSAL_OTHER;
    tk_err err = is_both ? submit->state.refused : *answer->err;
    fail_settled(submit, &err);
}

static void on_answer(tk_call *call, const tk_call_answer *answer)
{
    tk_submit *submit = call->user;
    tk_err err = TK_ERR_INIT;
    submit->is_doubtful |= answer->code == TINKC_OK || answer->is_doubtful;
    if (answer->outcome.status != 0) {
        submit->answered_ms = tk_loop_now_ms(tk_core_loop(submit->core));
    }
    if (answer->backpressure) {
        submit->state.phase = TK_SUBMIT_IDLE;
        submit->pushed_back(submit, &answer->outcome);
    } else if (answer->code != TINKC_OK) {
        if (!change_form(submit, answer)) {
            fail_with_answer(submit, answer);
        }
    } else if (read_request_id(submit, answer->response->body, &err) != TINKC_OK ||
               (submit->accepted != NULL &&
                submit->accepted(submit, answer->response->body, &err) != TINKC_OK)) {
        fail_settled(submit, &err);
    } else {
        learn_form(submit);
        accepted(submit);
    }
}

void tk_submit_start(tk_submit *submit)
{
    memset(&submit->state, 0, sizeof(submit->state));
    submit->is_doubtful = false;
    if (submit->in_json != NULL && json_is_known(submit) == TK_KNOWN_YES) {
        submit->state.using = TK_FORM_JSON;
        send_json(submit);
    } else {
        send_form(submit, &submit->form);
    }
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
