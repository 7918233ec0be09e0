/* See telemetry_layer.h. The data have the names that the official SDK gives them. */
#include "client/insight/telemetry_layer.h"

#include "client/call/outcome.h"
#include "client/core/core.h"
#include "client/insight/telemetry.h"
#include "wire/wire_error.h"

static double seconds(int64_t ms)
{
    return (double)ms / 1000;
}

static tk_severity severity_of(bool is_harmless)
{
    return is_harmless ? TK_SEVERITY_WARNING : TK_SEVERITY_ERROR;
}

void tk_telemetry_call_failed(const tk_call *call, const tk_http_response *response,
                              const tk_retry_outcome *outcome, bool is_repeated)
{
    tk_telemetry *telemetry = tk_core_telemetry(call->core);
    if (outcome->success || response->failure == TK_HTTP_CANCELLED ||
        !tk_telemetry_is_on(telemetry)) {
        return;
    }
    tk_err err = TK_ERR_INIT;
    int64_t wall_us = tk_clock_wall_us(tk_core_clock(call->core));
    int64_t elapsed_ms =
        tk_loop_now_ms(tk_core_loop(call->core)) - call->state.l2.started_ms;
    tk_outcome_error(&err, response, wall_us);
    bool is_user = tk_wire_error_is_user(err.http_status, err.category);
    const tk_json_member facts[] = {
        tk_telemetry_text("func", call->endpoint->name),
        tk_telemetry_text("exception", err.message),
        tk_telemetry_text("exception_type", tinkc_code_name(err.code)),
        tk_telemetry_text("exception_stack", NULL),
        tk_telemetry_int("status_code", err.http_status),
        tk_telemetry_bool("is_retryable", is_repeated),
        tk_telemetry_bool("is_user_error", is_user),
        tk_telemetry_int("attempt_count", call->state.l2.k),
        tk_telemetry_real("start_time", (double)wall_us / 1e6 - seconds(elapsed_ms)),
        tk_telemetry_real("current_time", (double)wall_us / 1e6),
        tk_telemetry_real("elapsed_time", seconds(elapsed_ms)),
    };
    tk_telemetry_note(telemetry, TK_TELEMETRY_CALL_FAILED,
                      severity_of(is_repeated || is_user), facts, TK_ARRAY_LEN(facts));
}

/* ---- polls ---- */

static const char *kind_of(tk_poll_decision decision)
{
    switch (decision.action) {
    case TK_POLL_AGAIN:
        return decision.delay_ms > 0 ? "retry_with_backoff" : "retry";
    case TK_POLL_GONE:
        return "retryable_exception";
    case TK_POLL_SUCCEED:
    case TK_POLL_PAYLOAD:
    case TK_POLL_FAIL:
    case TK_POLL_REFUSED:
    case TK_POLL_CONFUSED:
        break;
    }
    return "fatal";
}

static void note_status(tk_telemetry *telemetry, const tk_poll *poll,
                        const tk_call_answer *answer, tk_poll_decision decision)
{
    int status = answer->outcome.status;
    bool is_user = tk_wire_error_is_user(status, TINKC_CATEGORY_UNKNOWN);
    int64_t now = tk_loop_now_ms(tk_core_loop(poll->core));
    const tk_json_member facts[] = {
        tk_telemetry_text("request_id", poll->request_id),
        tk_telemetry_text("request_type", tk_future_info_of(poll->type)->header),
        tk_telemetry_int("status_code", status),
        tk_telemetry_text("detail", answer->err->message),
        tk_telemetry_text("kind", kind_of(decision)),
        tk_telemetry_bool("should_retry", decision.action == TK_POLL_AGAIN),
        tk_telemetry_bool("is_user_error", is_user),
        tk_telemetry_text("exception", answer->err->message),
        tk_telemetry_text("exception_type", tinkc_code_name(answer->code)),
        tk_telemetry_int("iteration", poll->state.iteration - 1),
        tk_telemetry_real("elapsed_time", seconds(now - poll->state.started_ms)),
        tk_telemetry_int("bad_request_retries", poll->state.counts.bad_request_retries),
        tk_telemetry_int("connection_error_retries",
                         poll->state.counts.connection_retries),
    };
    bool harmless = (decision.action == TK_POLL_AGAIN && status != 400) ||
                    decision.action == TK_POLL_GONE;
    tk_telemetry_note(
        telemetry, status == 0 ? TK_TELEMETRY_POLL_CONNECTION : TK_TELEMETRY_POLL_STATUS,
        severity_of(harmless), facts, TK_ARRAY_LEN(facts));
}

static void note_refused(tk_telemetry *telemetry, const tk_poll *poll,
                         const tk_future_answer *said)
{
    char message[TK_ERR_MESSAGE_BYTES];
    tk_err err = TK_ERR_INIT; /* cuts and cleans what the server says */
    tk_err_set(&err, TINKC_E_REQUEST, TK_STR_FMT, TK_STR_ARG(said->error));
    (void)tk_log_redact(tk_core_log(poll->core), message, sizeof(message),
                        tk_str_of(err.message));
    const tk_json_member facts[] = {
        tk_telemetry_text("request_id", poll->request_id),
        tk_telemetry_text("request_type", tk_future_info_of(poll->type)->header),
        tk_telemetry_text("error", message),
        tk_telemetry_text("error_category", tinkc_category_name(said->category)),
        tk_telemetry_int("iteration", poll->state.iteration - 1),
    };
    tk_telemetry_note(telemetry, TK_TELEMETRY_POLL_FAILED,
                      severity_of(said->category == TINKC_CATEGORY_USER), facts,
                      TK_ARRAY_LEN(facts));
}

/* A poll that keeps failing in an outage is reported less and less often; a pause for
 * billing (row 8) is not a failure. */
void tk_telemetry_polled(const tk_poll *poll, const tk_call_answer *answer,
                         const tk_future_answer *said, tk_poll_decision decision)
{
    tk_telemetry *telemetry = tk_core_telemetry(poll->core);
    if (!tk_telemetry_is_on(telemetry)) {
        return;
    }
    if (decision.action == TK_POLL_REFUSED) {
        note_refused(telemetry, poll, said);
    } else if (!answer->outcome.success) {
        bool again = decision.action == TK_POLL_AGAIN;
        bool billing = again && answer->outcome.status == 402;
        if (!billing && (!again || tk_telemetry_is_notable(poll->state.iteration))) {
            note_status(telemetry, poll, answer, decision);
        }
    }
}

/* ---- samples ---- */

void tk_telemetry_sample_failed(tk_core *core, const tk_err *err, int attempts,
                                bool is_repeated)
{
    tk_telemetry *telemetry = tk_core_telemetry(core);
    if (err->code == TINKC_E_CANCELLED || !tk_telemetry_is_on(telemetry) ||
        (is_repeated && !tk_telemetry_is_notable(attempts + 1))) {
        return;
    }
    bool is_user = tk_wire_error_is_user(err->http_status, err->category);
    const tk_json_member facts[] = {
        tk_telemetry_text("func", "sample"),
        tk_telemetry_text("exception", err->message),
        tk_telemetry_text("exception_type", tinkc_code_name(err->code)),
        tk_telemetry_text("exception_stack", NULL),
        tk_telemetry_int("status_code", err->http_status),
        tk_telemetry_bool("should_retry", is_repeated),
        tk_telemetry_bool("is_user_error", is_user),
        tk_telemetry_int("attempt_count", attempts),
    };
    tk_telemetry_note(telemetry, TK_TELEMETRY_SAMPLE_FAILED,
                      severity_of(is_repeated || is_user), facts, TK_ARRAY_LEN(facts));
}
