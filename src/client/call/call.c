/* The layers around one request (docs/protocol.md §5.1-5.3, §5.5): credential, try, L1,
 * P, L2. */
#include "client/call/call.h"

#include <string.h>

#include "base/limits.h"
#include "base/uuid.h"
#include "client/call/outcome.h"
#include "client/call/wirelog.h"
#include "client/core/core.h"
#include "client/core/headers.h"
#include "client/insight/hooks.h"
#include "client/insight/telemetry_layer.h"
#include "http/url.h"
#include "wire/wire_error.h"

#define KEY_PREFIX "tinkc-retry-"

#define URL_MAX_BYTES (64 * TK_KIB)
#define HOPS_MAX      10

static void attempt(tk_call *call);
static void ask_credential(tk_call *call);
static void begin_send(tk_call *call);
static void forget_redirects(tk_call *call);

/* ---- the end ---- */

static void finish(tk_call *call, const tk_call_answer *answer)
{
    call->state.running = false;
    tk_loop_timer_clear(tk_core_loop(call->core), &call->state.timer);
    tk_buf text = call->state.text; /* `done` may free the call */
    tk_buf moved = call->state.moved;
    call->state.text = (tk_buf){0};
    call->state.moved = (tk_buf){0};
    call->done(call, answer);
    tk_buf_dispose(&text);
    tk_buf_dispose(&moved);
}

static void finish_error(tk_call *call, const tk_err *err)
{
    tk_call_answer answer = {
        .code = err->code, .err = err, .is_doubtful = call->state.is_doubtful};
    answer.outcome.should_retry = -1;
    answer.outcome.hint_ms = -1;
    finish(call, &answer);
}

/* A list names nothing that could be missing: then it is the server that lacks it. */
static bool is_list(const tk_endpoint *endpoint)
{
    return endpoint->method == TK_HTTP_GET && strchr(endpoint->path, '{') == NULL &&
           endpoint->answer_bytes >= TK_ANSWER_LIST_BYTES;
}

/* Says that the server lacks the endpoint: for certain, or, when an id was sent that may
 * be what is missing, as a possibility. The status stays. */
static void note_unoffered(const tk_call *call, tk_err *err)
{
    const tk_endpoint *endpoint = call->endpoint;
    const char *method = tk_http_method_name(endpoint->method);
    char why[TK_ERR_MESSAGE_BYTES];
    if (call->url != NULL || !tk_wire_error_is_of_route(err) || err->http_status == 501) {
        return;
    }
    memcpy(why, err->message, sizeof(why));
    if (err->http_status == 405 || is_list(endpoint)) {
        err->code = TINKC_OK;
        (void)tk_err_set(err, TINKC_E_UNSUPPORTED, "the server does not offer %s %s (%s)",
                         method, endpoint->path, why);
    } else if (strstr(why, "Not Found") != NULL) {
        tinkc_code code = err->code;
        err->code = TINKC_OK;
        (void)tk_err_set(err, code, "%s (no such id, or the server does not offer %s %s)",
                         why, method, endpoint->path);
    }
}

/* Says what to do about an address where nothing is. */
static void note_absent(const tk_call *call, const tk_http_response *response,
                        tk_err *err)
{
    char why[TK_ERR_MESSAGE_BYTES];
    if (response->is_absent && !call->anonymous && !tk_core_was_heard(call->core)) {
        tinkc_code code = err->code;
        const char *url = tk_core_base_url(call->core);
        bool is_far = strncmp(url, "https://", 8) == 0;
        memcpy(why, err->message, sizeof(why));
        err->code = TINKC_OK;
        (void)tk_err_set(
            err, code,
            "there is no server at %s (%s): %s set another base URL "
            "(TINKER_BASE_URL)",
            url, why, is_far ? "check the network, or" : "start one (tinkc serve), or");
    }
}

static void finish_response(tk_call *call, const tk_http_response *response,
                            const tk_retry_outcome *outcome, bool backpressure)
{
    tk_err err = TK_ERR_INIT;
    tk_call_answer answer = {.outcome = *outcome,
                             .response = response,
                             .err = &err,
                             .is_doubtful = call->state.is_doubtful,
                             .backpressure = backpressure};
    if (!outcome->success) {
        int64_t wall_us = tk_clock_wall_us(tk_core_clock(call->core));
        if (outcome->status == 0 && response->failure == TK_HTTP_OK) {
            tk_err_set(&err, TINKC_E_CONNECTION, "the server answered with an empty 400");
        } else {
            tk_outcome_error(&err, response, wall_us);
            note_unoffered(call, &err);
            note_absent(call, response, &err);
        }
        answer.code = err.code;
    }
    finish(call, &answer);
}

/* ---- hooks ---- */

static void start_span(tk_call *call)
{
    const tk_span *parent = call->future != NULL ? tk_future_span(call->future) : NULL;
    tinkc_hook what = {.kind = TINKC_SPAN_HTTP,
                       .name = call->endpoint->name,
                       .parent = parent != NULL ? parent->id : 0,
                       .attempt = call->state.sent++,
                       .bytes_out = (int64_t)call->state.request.body_n};
    tk_hooks_start(&call->state.span, tk_core_hooks(call->core),
                   parent != NULL ? parent->context : NULL, &what);
    call->state.received = 0;
}

static void end_span(tk_call *call, const tk_http_response *response)
{
    tinkc_hook what = {.http_status =
                           response->failure == TK_HTTP_OK ? response->status : 0,
                       .attempt = call->state.sent - 1,
                       .bytes_out = (int64_t)call->state.request.body_n,
                       .bytes_in = call->state.received + (int64_t)response->body.n};
    if (tk_span_is_open(&call->state.span)) {
        tk_span_end(&call->state.span, tk_outcome_code(response), &what);
    }
}

/* ---- waiting ---- */

static tk_retry_pace *pace_of(tk_call *call)
{
    return call->pace != NULL ? call->pace : &call->state.pace;
}

static int64_t pace_left_ms(tk_call *call)
{
    return tk_retry_pace_left_ms(pace_of(call), tk_loop_now_ms(tk_core_loop(call->core)));
}

static void note_pace(tk_call *call)
{
    int64_t every_ms = call->endpoint->every_ms;
    tk_retry_pace_note(pace_of(call), every_ms != 0 ? every_ms : TK_RETRY_EVERY_MS,
                       tk_loop_now_ms(tk_core_loop(call->core)));
}

static void set_timer(tk_call *call, int64_t delay_ms, void (*fire)(tk_timer *timer))
{
    if (call->future != NULL) {
        tk_future_stage(call->future, TINKC_STAGE_BACKOFF);
    }
    tk_timer_init(&call->state.timer, fire);
    tk_loop_timer_set(tk_core_loop(call->core), &call->state.timer,
                      tk_core_pause_end_ms(call->core, delay_ms));
}

static void wait_then(tk_call *call, const tk_retry_outcome *outcome, int64_t delay_ms,
                      void (*fire)(tk_timer *timer))
{
    delay_ms = TK_MAX(TK_MIN(delay_ms, call->state.patience_ms), pace_left_ms(call));
    if (call->future != NULL) {
        tk_span_retry(tk_future_span(call->future), TINKC_OK, outcome->status, delay_ms);
    }
    set_timer(call, delay_ms, fire);
}

static void fire_send(tk_timer *timer)
{
    ask_credential(TK_CONTAINER_OF(timer, tk_call, state.timer));
}

static void begin_send(tk_call *call)
{
    int64_t left_ms = pace_left_ms(call);
    if (left_ms > 0) {
        set_timer(call, left_ms, fire_send);
    } else {
        ask_credential(call);
    }
}

static void fire_again(tk_timer *timer)
{
    tk_call *call = TK_CONTAINER_OF(timer, tk_call, state.timer);
    call->state.retries++;
    forget_redirects(call);
    begin_send(call);
}

static void fire_attempt(tk_timer *timer)
{
    attempt(TK_CONTAINER_OF(timer, tk_call, state.timer));
}

/* ---- one try ---- */

/* How long a request may still be repeated at an address where nothing is: a server that
 * was never there is a mistake of the user, who should learn of it soon. */
static int64_t patience_ms(const tk_call *call, const tk_http_response *response)
{
    int64_t wait_ms = tk_core_config(call->core)->connect_wait_ms;
    if (!response->is_absent || call->anonymous || wait_ms < 0 ||
        tk_core_was_heard(call->core)) {
        return INT64_MAX;
    }
    return wait_ms -
           (tk_loop_now_ms(tk_core_loop(call->core)) - call->state.l2.started_ms);
}

/* L2 decides about what L1 has given up. */
static void after_l1(tk_call *call, const tk_http_response *response,
                     const tk_retry_outcome *outcome)
{
    if (!call->endpoint->l2 || call->no_l2) {
        finish_response(call, response, outcome, false);
        return;
    }
    bool paused = outcome->status == 402 && tk_core_billing_pause(call->core);
    if (call->pass_backpressure && (outcome->status == 429 || paused)) {
        finish_response(call, response, outcome, true);
        return;
    }
    tk_retry_decision decision = tk_retry_l2(&call->state.l2, outcome, paused,
                                             tk_loop_now_ms(tk_core_loop(call->core)));
    if (!paused) {
        tk_telemetry_call_failed(call, response, outcome,
                                 decision.what == TK_RETRY_AGAIN);
    }
    if (decision.what == TK_RETRY_AGAIN) {
        wait_then(call, outcome, decision.delay_ms, fire_attempt);
    } else {
        finish_response(call, response, outcome, false);
    }
}

/* ---- redirects ---- */

static void forget_redirects(tk_call *call)
{
    call->state.hops = 0;
    call->state.moved_away = false;
    call->state.moved_to_get = false;
    tk_buf_dispose(&call->state.moved);
    tk_buf_init(&call->state.moved, URL_MAX_BYTES);
}

static bool is_redirect(const tk_call *call, const tk_http_response *response)
{
    return response->failure == TK_HTTP_OK &&
           tk_http_header(response, "location").n > 0 &&
           call->endpoint->follow_redirects && !call->anonymous &&
           call->state.hops < HOPS_MAX && tk_http_is_redirect(response->status);
}

/* A prompt that went out encrypted is not sent again in clear. */
static tinkc_code find_target(tk_buf *url, const tk_call *call,
                              const tk_http_response *response, tk_err *err)
{
    tk_str from = tk_str_of(call->state.request.url);
    tinkc_code code =
        tk_url_resolve(url, from, tk_http_header(response, "location"), err);
    if (code == TINKC_OK && tk_buf_cstr(url) == NULL) {
        code = tk_buf_status(url, err);
    }
    if (code == TINKC_OK && tk_url_is_https(from) && !tk_url_is_https(tk_buf_str(url))) {
        code = tk_err_set(err, TINKC_E_CONFIG,
                          "the server redirects from https to http, which is refused");
    }
    return code;
}

/* Whether a caller waits for this request, or a loop of the background sends it. The first
 * exchange of a credential has an endpoint of the background, but everything waits for
 * it. */
static bool is_waited_for(const tk_call *call)
{
    return call->endpoint->every_ms <= TK_RETRY_EVERY_MS || call->pace == NULL;
}

/* We follow and not the transport: it would take the credential to any server. As
 * everywhere, all but 307 and 308 turn a request into a GET. The first redirect of a try
 * is followed at once, unless it is work of the background; the others at the pace of
 * retries. */
static void follow(tk_call *call, const tk_http_response *response)
{
    tk_err err = TK_ERR_INIT;
    tk_buf url;
    tk_buf_init(&url, URL_MAX_BYTES);
    if (find_target(&url, call, response, &err) != TINKC_OK) {
        tk_buf_dispose(&url);
        finish_error(call, &err);
        return;
    }
    tk_str base = tk_str_of(tk_core_base_url(call->core));
    call->state.hops++;
    call->state.moved_away =
        call->state.moved_away || !tk_url_same_origin(tk_buf_str(&url), base);
    call->state.moved_to_get =
        call->state.moved_to_get || (response->status != 307 && response->status != 308);
    tk_buf_dispose(&call->state.moved);
    call->state.moved = url;
    if (call->state.hops == 1 && is_waited_for(call)) {
        ask_credential(call);
    } else {
        begin_send(call);
    }
}

static int max_retries(const tk_call *call)
{
    int own = call->endpoint->l1_retries;
    return own >= 0 ? own : (int)tk_core_config(call->core)->max_retries;
}

static void on_response(tk_http_request *request, const tk_http_response *response)
{
    tk_call *call = request->user;
    call->state.on_wire = false;
    tk_wirelog_answered(call, response);
    end_span(call, response);
    if (response->failure != TK_HTTP_CANCELLED && !call->anonymous) {
        tk_core_heard(call->core, response->failure == TK_HTTP_OK);
    }
    if (response->failure == TK_HTTP_OK && !call->anonymous && !call->state.moved_away) {
        tk_deprecation_note(tk_core_deprecation(call->core), tk_core_log(call->core),
                            response);
    }
    call->state.is_doubtful |= tk_outcome_is_doubtful(response);
    if (call->future != NULL) {
        tk_future_answered(call->future,
                           response->failure == TK_HTTP_OK ? response->status : -1);
    }
    tk_retry_outcome outcome =
        tk_outcome_of(response, tk_clock_wall_us(tk_core_clock(call->core)));
    bool is_final =
        call->is_final != NULL && call->is_final(call, response, call->state.sent);
    if (call->state.handed_over || is_final) {
        finish_response(call, response, &outcome, false);
        return;
    }
    call->state.patience_ms = patience_ms(call, response);
    if ((call->pass_status != 0 && outcome.status == call->pass_status) ||
        (call->pass_failure && response->failure != TK_HTTP_OK) ||
        call->state.patience_ms <= 0) {
        finish_response(call, response, &outcome, false);
        return;
    }
    if (is_redirect(call, response)) {
        follow(call, response);
        return;
    }
    tk_retry_pool *pool = tk_core_pool(call->core, request->group);
    int64_t left_ms =
        tk_retry_l2_left_ms(&call->state.l2, tk_loop_now_ms(tk_core_loop(call->core)));
    tk_retry_decision decision =
        tk_retry_l1(&outcome, call->state.retries, max_retries(call), left_ms,
                    tk_core_rand(call->core));
    if (decision.what == TK_RETRY_AGAIN) {
        wait_then(call, &outcome, decision.delay_ms, fire_again);
        return;
    }
    tk_retry_pool_note(pool, &outcome, &call->state.fresh);
    after_l1(call, response, &outcome);
}

static size_t relay_read(tk_http_request *request, uint64_t offset, char *p, size_t n)
{
    tk_call *call = request->user;
    return call->read_body(call, offset, p, n);
}

static void relay_head(tk_http_request *request, const tk_http_response *head)
{
    tk_call *call = request->user;
    call->state.handed_over = true;
    if (call->future != NULL) {
        tk_future_stage(call->future, TINKC_STAGE_DOWNLOADING);
    }
    if (call->on_head != NULL) {
        call->on_head(call, head);
    }
}

static tk_http_flow relay_data(tk_http_request *request, const char *p, size_t n)
{
    tk_call *call = request->user;
    tk_http_flow flow = call->on_data(call, p, n);
    call->state.received += flow == TK_HTTP_TAKE ? (int64_t)n : 0;
    return flow;
}

static void fill_streams(tk_call *call)
{
    tk_http_request *request = &call->state.request;
    request->read_body =
        call->read_body != NULL && !call->state.moved_to_get ? relay_read : NULL;
    request->idle_timeout_ms = 0;
    request->on_head = NULL;
    request->on_data = NULL;
    if (call->on_data != NULL) {
        request->on_head = relay_head;
        request->on_data = relay_data;
    }
    if (call->on_data != NULL || call->is_upload) {
        request->idle_timeout_ms = TK_MAX(request->timeout_ms, 0);
        request->timeout_ms = -1;
    }
}

/* Of one request: the endpoint's own, or that of the operation's context, or the
 * option's. */
static int64_t timeout_of(const tk_call *call)
{
    const tinkc_context *context = tinkc_future_context(call->future);
    if (call->endpoint->timeout_ms != 0) {
        return call->endpoint->timeout_ms;
    }
    return context != NULL && context->timeout_ms != 0
               ? context->timeout_ms
               : tk_core_config(call->core)->timeout_ms;
}

static void set_caps(tk_call *call)
{
    tk_http_request *request = &call->state.request;
    size_t own = call->endpoint->answer_bytes;
    if (own == TK_ANSWER_REPORT_BYTES) {
        own = (size_t)tk_core_config(call->core)->max_report_bytes;
    }
    size_t most = call->max_response_bytes != 0
                      ? call->max_response_bytes
                      : (size_t)tk_core_config(call->core)->max_response_bytes;
    request->max_response_bytes = own != 0 ? TK_MIN(own, most) : most;
    request->max_refusal_bytes = own != 0 ? TK_MIN(TK_ANSWER_SMALL_BYTES, most) : 0;
}

static void fill_request(tk_call *call)
{
    const tinkc_config *config = tk_core_config(call->core);
    const tk_endpoint *endpoint = call->endpoint;
    tk_http_request *request = &call->state.request;
    bool to_get = call->state.moved_to_get;
    request->method = to_get ? TK_HTTP_GET : endpoint->method;
    request->group = endpoint->group;
    request->body = to_get ? NULL : call->body;
    request->body_n = to_get ? 0 : call->body_n;
    request->timeout_ms = timeout_of(call);
    request->connect_timeout_ms = config->connect_timeout_ms;
    set_caps(call);
    request->follow_redirects = endpoint->follow_redirects && call->anonymous;
    request->fresh_connection = call->state.fresh || call->is_once;
    request->done = on_response;
    request->user = call;
    fill_streams(call);
}

static void send_with(tk_call *call, const char *credential)
{
    tk_err err = TK_ERR_INIT;
    fill_request(call);
    if (tk_headers_build(call, credential, &err) != TINKC_OK) {
        finish_error(call, &err);
        return;
    }
    if (call->future != NULL) {
        tk_future_stage(call->future,
                        call->wire_stage != 0 ? call->wire_stage : TINKC_STAGE_WIRE);
        tk_future_attempt(call->future);
    }
    call->state.on_wire = true;
    note_pace(call);
    tk_wirelog_sent(call);
    start_span(call);
    if (tk_loop_submit(tk_core_loop(call->core), &call->state.request, &err) !=
        TINKC_OK) {
        call->state.on_wire = false;
        tk_span_end(&call->state.span, err.code, NULL);
        finish_error(call, &err);
    }
}

static void on_credential(tk_auth_waiter *waiter, const char *credential, tinkc_code code,
                          const tk_err *err)
{
    tk_call *call = TK_CONTAINER_OF(waiter, tk_call, state.auth);
    if (code != TINKC_OK) {
        finish_error(call, err);
        return;
    }
    send_with(call, credential);
}

static void ask_credential(tk_call *call)
{
    if (call->credential != NULL || call->anonymous) {
        send_with(call, call->credential);
        return;
    }
    call->state.auth.ready = on_credential;
    tk_auth_get(tk_core_auth(call->core), &call->state.auth);
}

/* ---- attempts ---- */

static void attempt(tk_call *call)
{
    tk_err err = TK_ERR_INIT;
    const tk_err *over = tk_core_session_over(call->core);
    if (over != NULL && call->endpoint->group == TK_HTTP_TRAIN) {
        finish_error(call, over); /* its models are gone */
        return;
    }
    if (call->before_attempt != NULL && call->before_attempt(call, &err) != TINKC_OK) {
        finish_error(call, &err);
        return;
    }
    memcpy(call->state.idempotency_key, KEY_PREFIX, sizeof(KEY_PREFIX) - 1);
    tk_uuid_make(call->state.idempotency_key + sizeof(KEY_PREFIX) - 1,
                 tk_core_rand(call->core));
    call->state.retries = 0;
    forget_redirects(call);
    if (call->is_wanted && call->state.sent == 0) {
        ask_credential(call);
    } else {
        begin_send(call);
    }
}

void tk_call_start(tk_call *call)
{
    memset(&call->state, 0, sizeof(call->state));
    tk_list_init(&call->state.auth.node);
    call->state.running = true;
    call->state.l2.started_ms = tk_loop_now_ms(tk_core_loop(call->core));
    int64_t budget_ms = tk_core_config(call->core)->retry_total_ms;
    call->state.l2.budget_ms = budget_ms >= 0 ? budget_ms : INT64_MAX;
    attempt(call);
}

bool tk_call_is_on_wire(const tk_call *call)
{
    return call->state.on_wire;
}

bool tk_call_is_running(const tk_call *call)
{
    return call->state.running;
}

void tk_call_cancel(tk_call *call)
{
    if (!call->state.running) {
        return;
    }
    if (call->state.on_wire) {
        /* Ends in on_response with CANCELLED, which no layer repeats. */
        tk_loop_cancel(tk_core_loop(call->core), &call->state.request);
        return;
    }
    tk_auth_forget(tk_core_auth(call->core), &call->state.auth);
    tk_err err = TK_ERR_INIT;
    tk_err_set(&err, TINKC_E_CANCELLED, "cancelled");
    finish_error(call, &err);
}
