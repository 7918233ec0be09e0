/* Asks http.h for the code of a failure and wire_error.h for what a status means. */
#include "client/call/outcome.h"

#include "base/date.h"
#include "base/limits.h"
#include "wire/wire_error.h"

static bool is_success(const tk_http_response *response)
{
    return response->failure == TK_HTTP_OK && response->status >= 200 &&
           response->status <= 299;
}

tinkc_code tk_outcome_code(const tk_http_response *response)
{
    if (response->failure != TK_HTTP_OK) {
        return tk_http_failure_code(response->failure);
    }
    return is_success(response) ? TINKC_OK : tk_err_code_of_status(response->status);
}

bool tk_outcome_is_doubtful(const tk_http_response *response)
{
    switch (response->failure) {
    case TK_HTTP_OK:
        return response->status >= 500 || response->status == 408;
    case TK_HTTP_DNS:
    case TK_HTTP_CONNECT:
    case TK_HTTP_TLS:
    case TK_HTTP_TRUST:
        return false;
    case TK_HTTP_TIMEOUT:
    case TK_HTTP_CANCELLED:
    case TK_HTTP_NOMEM:
    case TK_HTTP_TOO_LARGE:
    case TK_HTTP_RESET:
    case TK_HTTP_PROTOCOL:
    case TK_HTTP_OTHER:
        break;
    }
    return true;
}

int64_t tk_outcome_server_us(const tk_http_response *response, int64_t wall_us)
{
    int64_t us;
    tk_str said = tk_http_header(response, "date");
    return said.p != NULL && tk_date_parse_http(&us, said, wall_us, NULL) == TINKC_OK
               ? us
               : wall_us;
}

tk_retry_outcome tk_outcome_of(const tk_http_response *response, int64_t wall_us)
{
    tk_retry_outcome outcome = {.should_retry = -1, .hint_ms = -1};
    outcome.success = is_success(response);
    tk_fault fault = {.code = tk_http_failure_code(response->failure)};
    if (response->failure == TK_HTTP_OK) {
        outcome.status = response->status;
        fault.status = response->status;
        tk_should_retry said =
            tk_wire_error_should_retry(tk_http_header(response, "x-should-retry"));
        outcome.should_retry =
            said == TK_SHOULD_RETRY_UNSAID ? -1 : said == TK_SHOULD_RETRY_YES;
        outcome.hint_ms =
            tk_wire_error_retry_after(tk_http_header(response, "retry-after-ms"),
                                      tk_http_header(response, "retry-after"),
                                      tk_outcome_server_us(response, wall_us));
        tk_str length = tk_http_header(response, "content-length");
        outcome.bare_400 =
            response->status == 400 && (length.p == NULL || tk_str_is(length, "0"));
    }
    outcome.transient =
        !outcome.success && tk_wire_error_rule(&fault)->retry == TK_RETRY_SAME;
    return outcome;
}

void tk_outcome_error(tk_err *err, const tk_http_response *response, int64_t wall_us)
{
    if (response->failure != TK_HTTP_OK) {
        tk_err_set(err, tk_http_failure_code(response->failure), "%s",
                   response->err.message);
        return;
    }
    tk_error_response said = {
        .status = response->status,
        .body = response->body,
        .should_retry = tk_http_header(response, "x-should-retry"),
        .retry_after_ms = tk_http_header(response, "retry-after-ms"),
        .retry_after = tk_http_header(response, "retry-after"),
        .request_id = tk_http_header(response, "x-request-id"),
        .now_us = tk_outcome_server_us(response, wall_us),
    };
    (void)tk_wire_error_fill(err, &said);
}

size_t tk_outcome_arena_bytes(size_t body_bytes)
{
    size_t most = body_bytes <= TK_ANSWER_LIST_BYTES ? TK_ANSWER_ARENA_LIST_BYTES
                                                     : TK_ANSWER_ARENA_BYTES;
    size_t text = TK_MIN(body_bytes, most);
    return TK_MIN(TK_ANSWER_ARENA_SLACK_BYTES + TK_ANSWER_ARENA_RATIO * text, most);
}
