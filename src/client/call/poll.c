/* The server does the waiting (long polls); the client only backs off when the server
 * is out of reach or asks for it. */
#include "client/call/poll.h"

#include <stdio.h>
#include <string.h>

#include "base/json_num.h"
#include "client/call/outcome.h"
#include "client/core/core.h"
#include "client/insight/telemetry_layer.h"

#define BODY_MAX_BYTES (4 * TK_KIB)

static void send_poll(tk_poll *poll);

/* ---- the end ---- */

static void finish(tk_poll *poll, const tk_poll_result *result)
{
    tk_loop *loop = tk_core_loop(poll->core);
    poll->state.running = false;
    tk_loop_timer_clear(loop, &poll->state.timer);
    if (poll->group != NULL) {
        tk_poll_group_leave(poll->group, poll);
    }
    tk_budget_release(tk_core_response_budget(poll->core), &poll->state.claim);
    tk_buf_dispose(&poll->state.body);
    tk_arena arena = poll->state.arena; /* `done` may free the poll */
    tk_poll_result given = *result;
    given.arena = &arena;
    poll->done(poll, &given);
    tk_arena_dispose(&arena);
}

void tk_poll_result_keep(tk_arena *out, const tk_poll_result *result)
{
    tk_arena_dispose(out);
    *out = *result->arena;
    tk_arena_init(result->arena, 0);
    out->max_bytes = TK_ARENA_MAX_BYTES; /* the cap was that of parsing the body */
}

static void fail(tk_poll *poll, const tk_err *err)
{
    tk_poll_result result = {.code = err->code, .err = err};
    finish(poll, &result);
}

static void fail_with(tk_poll *poll, tinkc_code code, const char *text)
{
    tk_err err = TK_ERR_INIT;
    tk_err_set(&err, code, "%s", text);
    (void)snprintf(err.request_id, sizeof(err.request_id), "%s", poll->request_id);
    fail(poll, &err);
}

/* ---- between two polls ---- */

static tinkc_queue_state public_state(tk_queue_state state)
{
    switch (state) {
    case TK_QUEUE_ACTIVE:
        return TINKC_QUEUE_ACTIVE;
    case TK_QUEUE_PAUSED_CAPACITY:
        return TINKC_QUEUE_PAUSED_CAPACITY;
    case TK_QUEUE_PAUSED_RATE_LIMIT:
        return TINKC_QUEUE_PAUSED_RATE_LIMIT;
    case TK_QUEUE_UNKNOWN:
        break;
    }
    return TINKC_QUEUE_UNKNOWN;
}

static void tell_queue(const tk_poll *poll, tinkc_queue_state state, tk_str why)
{
    char reason[160];
    (void)snprintf(reason, sizeof(reason), TK_STR_FMT, TK_STR_ARG(why));
    tinkc_hook what = {.event = TINKC_HOOK_QUEUE, .queue_state = state, .reason = reason};
    tk_span_point(tk_future_span(poll->future), &what);
}

static void note_queue(tk_poll *poll, const tk_try_again *said)
{
    bool known = said->queue_state.is == TK_SET;
    bool reason =
        said->queue_state_reason.is == TK_SET && said->queue_state_reason.v.n > 0;
    if (!known && !reason) {
        return;
    }
    tinkc_queue_state state = public_state((tk_queue_state)said->queue_state.v);
    tk_str why = reason ? said->queue_state_reason.v : (tk_str){NULL, 0};
    if (poll->future != NULL && tk_future_queue(poll->future, state, why)) {
        tell_queue(poll, state, why);
    }
    tk_core_queue_state(poll->core, state, why, poll->what);
}

static tinkc_stage stage_of(const tk_poll *poll)
{
    if (poll->state.want_payload) {
        return TINKC_STAGE_DOWNLOADING;
    }
    return tk_future_is_paused(poll->future) ? TINKC_STAGE_QUEUED : TINKC_STAGE_RUNNING;
}

bool tk_poll_is_stuck(tk_core *core, int64_t answered_ms, int64_t progress_ms,
                      tk_err *err)
{
    return tk_poll_is_stuck_after(core, answered_ms, progress_ms, 0, err);
}

bool tk_poll_is_stuck_after(tk_core *core, int64_t answered_ms, int64_t progress_ms,
                            int64_t total_ms, tk_err *err)
{
    const tinkc_config *config = tk_core_config(core);
    int64_t total = total_ms > 0 ? total_ms : config->stuck_total_ms;
    int64_t now = tk_loop_now_ms(tk_core_loop(core));
    if (config->stuck_silent_ms >= 0 && now - answered_ms >= config->stuck_silent_ms) {
        tk_err_set(err, TINKC_E_STUCK, "the server has not answered for too long");
        return true;
    }
    if (total >= 0 && now - progress_ms >= total) {
        tk_err_set(err, TINKC_E_STUCK, "the server has not finished for too long");
        return true;
    }
    return false;
}

/* Since when nothing was finished. While others of its kind make progress, a poll is not
 * stuck. */
static int64_t progress_of(const tk_poll *poll)
{
    int64_t since = poll->state.started_ms;
    return poll->progress_ms != NULL ? TK_MAX(since, *poll->progress_ms) : since;
}

bool tk_poll_give_up(tk_poll *poll)
{
    tk_err err = TK_ERR_INIT;
    if (poll->group != NULL) {
        poll->state.answered_ms =
            TK_MAX(poll->state.answered_ms, tk_poll_group_answered_ms(poll->group));
    }
    if (poll->never_stuck ||
        !tk_poll_is_stuck_after(poll->core, poll->state.answered_ms, progress_of(poll),
                                poll->stuck_total_ms, &err)) {
        return false;
    }
    (void)snprintf(err.request_id, sizeof(err.request_id), "%s", poll->request_id);
    fail(poll, &err);
    return true;
}

static void fire(tk_timer *timer)
{
    tk_poll *poll = TK_CONTAINER_OF(timer, tk_poll, state.timer);
    poll->state.waiting = false;
    send_poll(poll);
}

/* A long hint does not outlast the option stuck_total. */
static int64_t bounded(const tk_poll *poll, int64_t delay_ms)
{
    int64_t total = poll->stuck_total_ms > 0 ? poll->stuck_total_ms
                                             : tk_core_config(poll->core)->stuck_total_ms;
    if (poll->never_stuck || total < 0) {
        return delay_ms;
    }
    int64_t now = tk_loop_now_ms(tk_core_loop(poll->core));
    return TK_MIN(delay_ms, total - (now - progress_of(poll)));
}

static tk_retry_pace *pace_of(tk_poll *poll)
{
    return poll->pace != NULL ? poll->pace : &poll->state.pace;
}

/* A long poll that the server ended at once waits as a failed one does: no less than the
 * pace of retries, counted from its start. */
static void again(tk_poll *poll, int64_t delay_ms)
{
    tk_loop *loop = tk_core_loop(poll->core);
    if (tk_poll_give_up(poll)) {
        return;
    }
    delay_ms = bounded(poll, delay_ms);
    delay_ms =
        TK_MAX(delay_ms, tk_retry_pace_left_ms(pace_of(poll), tk_loop_now_ms(loop)));
    if (delay_ms == 0) {
        send_poll(poll);
        return;
    }
    if (poll->future != NULL) {
        tk_future_stage(poll->future, TINKC_STAGE_BACKOFF);
    }
    poll->state.waiting = true;
    tk_loop_timer_set(loop, &poll->state.timer,
                      tk_core_pause_end_ms(poll->core, delay_ms));
}

static void budget_granted(tk_budget_claim *claim)
{
    tk_poll *poll = TK_CONTAINER_OF(claim, tk_poll, state.claim);
    poll->state.waiting = false;
    send_poll(poll);
}

/* Row 14: the payload is fetched within the budget for large results. */
static void fetch_payload(tk_poll *poll, int64_t bytes)
{
    poll->state.want_payload = true;
    poll->state.is_wanted = true;
    if (tk_budget_acquire(tk_core_response_budget(poll->core), &poll->state.claim, bytes,
                          budget_granted)) {
        send_poll(poll);
        return;
    }
    poll->state.waiting = true;
    if (poll->future != NULL) {
        tk_future_stage(poll->future, TINKC_STAGE_BUDGET);
    }
}

/* ---- with a group ---- */

/* Returns false when the poll has to ask itself; else it waits, or has ended. After
 * `delay_ms`, which the server asks for, it may ask itself. */
static bool wait_in_group(tk_poll *poll, int64_t delay_ms)
{
    if (poll->group == NULL || poll->state.is_ready) {
        return false;
    }
    if (tk_poll_give_up(poll)) {
        return true;
    }
    poll->state.waiting = true;
    poll->state.joined_ms = tk_loop_now_ms(tk_core_loop(poll->core)) + delay_ms;
    if (poll->future != NULL) {
        tk_future_stage(poll->future, stage_of(poll));
    }
    if (tk_poll_group_join(poll->group, poll)) {
        return true;
    }
    poll->state.waiting = false;
    return false;
}

void tk_poll_ready(tk_poll *poll, int64_t bytes)
{
    poll->state.waiting = false;
    poll->state.is_ready = true;
    if (bytes > 0) {
        fetch_payload(poll, bytes);
    } else {
        poll->state.is_wanted = true;
        send_poll(poll);
    }
}

void tk_poll_alone(tk_poll *poll)
{
    poll->state.waiting = false;
    send_poll(poll);
}

/* ---- one answer ---- */

static const char *confusion(tk_answer_kind kind)
{
    switch (kind) {
    case TK_ANSWER_METADATA_TWICE:
        return "the server sent metadata again instead of the result";
    case TK_ANSWER_PROTO:
    case TK_ANSWER_TRY_AGAIN:
    case TK_ANSWER_METADATA:
    case TK_ANSWER_FAILED:
    case TK_ANSWER_RESULT:
    case TK_ANSWER_OTHER:
    case TK_ANSWER_MALFORMED:
        break;
    }
    return "the server's answer is not a JSON object";
}

static void confused(tk_poll *poll, const tk_future_answer *said)
{
    tk_err err = TK_ERR_INIT;
    if (said->kind == TK_ANSWER_OTHER) {
        tk_err_set(&err, TINKC_E_DECODE,
                   "the server sent \"%.64s\", where the result of \"%s\" was expected",
                   said->error.p, tk_future_info_of(poll->type)->label);
    } else {
        tk_err_set(&err, TINKC_E_DECODE, "%s", confusion(said->kind));
    }
    (void)snprintf(err.request_id, sizeof(err.request_id), "%s", poll->request_id);
    fail(poll, &err);
}

/* The result is here: the server may forget it. */
static void acknowledge(const tk_poll *poll)
{
    if (poll->group != NULL) {
        tk_poll_group_retrieved(poll->group, poll->request_id);
    }
}

static void refused(tk_poll *poll, const tk_future_answer *said)
{
    tk_err err = TK_ERR_INIT;
    tk_str why = said->error.n > 0 ? said->error : TK_STR("the server gave no reason");
    tk_err_set(&err, TINKC_E_REQUEST, TK_STR_FMT, TK_STR_ARG(why));
    err.category = said->category;
    (void)snprintf(err.request_id, sizeof(err.request_id), "%s", poll->request_id);
    acknowledge(poll);
    fail(poll, &err);
}

static void succeed(tk_poll *poll, const tk_http_response *response,
                    const tk_future_answer *said)
{
    tk_poll_result result = {.body = response->body,
                             .is_protobuf = said->kind == TK_ANSWER_PROTO,
                             .json = said->json};
    acknowledge(poll);
    if (tk_future_info_of(poll->type)->is_proto) {
        tk_manners_learn(tk_core_manners(poll->core), tk_core_log(poll->core),
                         TK_MANNER_JSON_RESULTS, !result.is_protobuf);
    }
    finish(poll, &result);
}

/* A server that is not ready yet (also as a 408) has not failed. */
static void tell_retry(const tk_poll *poll, const tk_retry_outcome *outcome,
                       int64_t delay_ms)
{
    if (poll->future != NULL && !outcome->success && outcome->status != 408) {
        tk_span_retry(tk_future_span(poll->future), TINKC_OK, outcome->status, delay_ms);
    }
}

/* The work goes on; nothing has failed. */
static bool is_not_yet(const tk_call_answer *answer, const tk_future_answer *said)
{
    return answer->outcome.status == 408 ||
           (answer->code == TINKC_OK && said->kind == TK_ANSWER_TRY_AGAIN);
}

static void act(tk_poll *poll, tk_poll_decision decision, const tk_call_answer *answer,
                const tk_future_answer *said)
{
    switch (decision.action) {
    case TK_POLL_SUCCEED:
        succeed(poll, answer->response, said);
        return;
    case TK_POLL_AGAIN:
        tell_retry(poll, &answer->outcome, decision.delay_ms);
        if (!is_not_yet(answer, said) || !wait_in_group(poll, decision.delay_ms)) {
            again(poll, decision.delay_ms);
        }
        return;
    case TK_POLL_PAYLOAD:
        fetch_payload(poll, said->payload_size);
        return;
    case TK_POLL_REFUSED:
        refused(poll, said);
        return;
    case TK_POLL_CONFUSED:
        confused(poll, said);
        return;
    case TK_POLL_GONE:
    case TK_POLL_FAIL:
        break;
    }
    tk_err err = *answer->err;
    (void)snprintf(err.request_id, sizeof(err.request_id), "%s", poll->request_id);
    fail(poll, &err);
}

/* What a 2xx or a 408 says; false when memory ran out. */
static bool read_answer(tk_poll *poll, const tk_call_answer *answer,
                        tk_future_answer *said, bool *body_is_json)
{
    tk_str body = answer->response->body;
    if (answer->code == TINKC_OK) {
        tk_future_poll asked = {poll->type, !poll->state.want_payload,
                                tk_http_header(answer->response, "content-type")};
        tinkc_code code =
            tk_future_classify(said, &asked, &poll->state.arena, body, NULL);
        return code != TINKC_E_NOMEM;
    }
    if (answer->outcome.status == 408) {
        const tk_json *json = NULL;
        *body_is_json = tk_json_parse(&json, &poll->state.arena, body.p, body.n, NULL,
                                      NULL) == TINKC_OK &&
                        json->type != TK_JSON_NULL;
        tk_future_read_408(&said->try_again, &poll->state.arena, body);
        note_queue(poll, &said->try_again);
    }
    return true;
}

/* The longer one of the header's and the body's. */
static int64_t hint_of(const tk_call_answer *answer, const tk_try_again *said)
{
    int64_t body_ms = said->retry_after_ms.is == TK_SET ? said->retry_after_ms.v : -1;
    return TK_MAX(answer->outcome.hint_ms, body_ms);
}

static void on_answer(tk_call *call, const tk_call_answer *answer)
{
    tk_poll *poll = call->user;
    if (answer->code == TINKC_E_CANCELLED || answer->response == NULL) {
        fail(poll, answer->err);
        return;
    }
    tk_poll_event event = {.outcome = answer->outcome,
                           .floor_ms = tk_core_config(poll->core)->poll_floor_ms};
    tk_future_answer said = {.kind = TK_ANSWER_MALFORMED};
    tk_arena_dispose(&poll->state.arena);
    tk_arena_init(&poll->state.arena, tk_outcome_arena_bytes(answer->response->body.n));
    if (answer->outcome.status != 0) {
        poll->state.answered_ms = tk_loop_now_ms(tk_core_loop(poll->core));
    }
    if (!read_answer(poll, answer, &said, &event.body_is_json)) {
        fail_with(poll, TINKC_E_NOMEM, "out of memory");
        return;
    }
    event.kind = said.kind;
    event.billing_paused =
        answer->outcome.status == 402 && tk_core_billing_pause(poll->core);
    if (said.kind == TK_ANSWER_TRY_AGAIN && answer->code == TINKC_OK) {
        note_queue(poll, &said.try_again);
    }
    event.outcome.hint_ms = hint_of(answer, &said.try_again);
    tk_poll_decision decision = tk_poll_rule(&poll->state.counts, &event);
    /* A pause that the server asks for does not count as silence. */
    if (event.outcome.hint_ms > 0) {
        poll->state.answered_ms += decision.delay_ms;
    }
    tk_telemetry_polled(poll, answer, &said, decision);
    act(poll, decision, answer, &said);
}

/* ---- one poll ---- */

static tinkc_code encode_body(tk_poll *poll, tk_err *err)
{
    tk_retrieve_future_request request = {
        .request_id = {TK_SET, tk_str_of(poll->request_id)},
        .allow_metadata_only = {TK_SET, !poll->state.want_payload},
    };
    tk_buf_clear(&poll->state.body);
    return tk_schema_encode(&poll->state.body, &tk_msg_retrieve_future_request, &request,
                            err);
}

/* Both return the end of the text. Each line has room for TK_JSON_NUM_BYTES after it. */
static char *put_text(char *out, const char *text)
{
    size_t n = strlen(text);
    memcpy(out, text, n + 1);
    return out + n;
}

static char *put_number(char *out, int64_t number)
{
    out += tk_json_num_put_i64(out, number);
    *out = '\0';
    return out;
}

static void set_headers(tk_poll *poll)
{
    tk_call *call = &poll->state.call;
    int64_t us = (int64_t)(poll->roundtrip_s * 1e6);
    char *end = put_text(poll->state.iteration_line, "X-Tinker-Request-Iteration: ");
    (void)put_number(end, poll->state.iteration);
    end = put_text(poll->state.type_line, "X-Tinker-Request-Type: ");
    (void)put_text(end, tk_future_info_of(poll->type)->header);
    end =
        put_text(poll->state.roundtrip_line, "X-Tinker-Create-Promise-Roundtrip-Time: ");
    end = put_number(end, us / 1000000);
    (void)put_number(end, 1000000 + us % 1000000); /* all six digits, after a 1 */
    *end = '.';
    call->extra[0] = "X-Stainless-Raw-Response: raw";
    call->extra[1] = poll->state.iteration_line;
    call->extra[2] = poll->state.type_line;
    call->extra[3] = poll->state.iteration == 0 ? poll->state.roundtrip_line : NULL;
    call->extra[4] = NULL;
}

/* Only what comes as protobuf may be large. */
static size_t most_bytes(const tk_poll *poll)
{
    int64_t configured = tk_core_config(poll->core)->max_response_bytes;
    return tk_future_info_of(poll->type)->is_proto
               ? (size_t)configured
               : TK_MIN((size_t)configured, TK_ANSWER_LIST_BYTES);
}

static void send_poll(tk_poll *poll)
{
    tk_call *call = &poll->state.call;
    tk_err err = TK_ERR_INIT;
    if (encode_body(poll, &err) != TINKC_OK) {
        fail(poll, &err);
        return;
    }
    *call = (tk_call){.core = poll->core,
                      .endpoint = tk_endpoint_at(TK_EP_RETRIEVE_FUTURE),
                      .body = poll->state.body.p,
                      .body_n = poll->state.body.n,
                      .max_response_bytes = most_bytes(poll),
                      .pace = pace_of(poll),
                      .is_wanted = poll->state.is_wanted,
                      .future = poll->future,
                      .done = on_answer,
                      .user = poll};
    poll->state.is_wanted = false;
    call->accept =
        tk_future_info_of(poll->type)->is_proto ? "application/x-protobuf" : NULL;
    call->wire_stage = poll->future != NULL ? stage_of(poll) : TINKC_STAGE_WIRE;
    set_headers(poll);
    poll->state.iteration++;
    tk_call_start(call);
}

void tk_poll_start(tk_poll *poll)
{
    memset(&poll->state, 0, sizeof(poll->state));
    tk_arena_init(&poll->state.arena, 0);
    tk_buf_init(&poll->state.body, BODY_MAX_BYTES);
    tk_timer_init(&poll->state.timer, fire);
    tk_list_init(&poll->state.in_group);
    poll->state.running = true;
    poll->state.started_ms = tk_loop_now_ms(tk_core_loop(poll->core));
    poll->state.answered_ms = poll->state.started_ms;
    poll->state.is_wanted = true; /* its submission was accepted */
    if (poll->future != NULL) {
        tk_future_request_id(poll->future, tk_str_of(poll->request_id));
    }
    if (!wait_in_group(poll, 0)) {
        send_poll(poll);
    }
}

void tk_poll_cancel(tk_poll *poll)
{
    if (!poll->state.running) {
        return;
    }
    if (poll->state.waiting) {
        fail_with(poll, TINKC_E_CANCELLED, "cancelled");
    } else {
        tk_call_cancel(&poll->state.call);
    }
}
