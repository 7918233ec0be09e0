/* Error responses: a status byte, three header values (each up to a newline), and the
 * body. Whatever they hold, the result is one bounded line of valid UTF-8.
 *
 * Links: wire */
#include <string.h>

#include "base/utf8.h"
#include "fuzz.h"
#include "wire/wire_error.h"

#define NOW_US INT64_C(1779912000000000)

static void check(const tk_err *err, const tk_error_response *response)
{
    size_t n = strnlen(err->message, sizeof(err->message));
    tk_str line = {err->message, n};
    if (n == 0 || n == sizeof(err->message) || !tk_utf8_is_valid(line)) {
        fuzz_fail("the message is empty, unbounded or not UTF-8");
    }
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)err->message[i] < ' ') {
            fuzz_fail("the message is not one line");
        }
    }
    if (err->code == TINKC_OK || err->http_status != response->status ||
        err->retry_after_ms < -1) {
        fuzz_fail("the error does not fit the response");
    }
}

int fuzz_record(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    tk_error_response response = {.status = 300 + data[0], .now_us = NOW_US};
    tk_str rest = {(const char *)data + 1, size - 1};
    response.should_retry = tk_str_cut(&rest, '\n');
    response.retry_after_ms = tk_str_cut(&rest, '\n');
    response.retry_after = tk_str_cut(&rest, '\n');
    response.body = rest;
    tk_err err = TK_ERR_INIT;
    if (tk_wire_error_fill(&err, &response) != err.code) {
        fuzz_fail("the error does not tell what the call returned");
    }
    check(&err, &response);
    const tk_fault fault = {err.code, response.status, err.category,
                            tk_wire_error_should_retry(response.should_retry)};
    if (tk_wire_error_rule(&fault) == NULL) {
        fuzz_fail("no rule");
    }
    return 0;
}
