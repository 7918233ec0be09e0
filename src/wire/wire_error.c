/* The table of failures and the headers that go with them. */
#include "wire/wire_error.h"

#include <math.h>

#include "base/date.h"

#define ANY (-1)

/* What happened on this side comes first: an answer that was cut short has a status too.
 * Every code without a status has its own row. */
#define LOCAL(text, c, class, how)                                                       \
    {                                                                                    \
        text, 0, 0, c, ANY, ANY, TK_ERROR_##class, TK_RETRY_##how                        \
    }
#define FAILED(text, category, class, how)                                               \
    {                                                                                    \
        text, 0, 0, TINKC_E_REQUEST, category, ANY, TK_ERROR_##class, TK_RETRY_##how     \
    }
#define STATUS(text, lo, hi, header, class, how)                                         \
    {                                                                                    \
        text, lo, hi, ANY, ANY, header, TK_ERROR_##class, TK_RETRY_##how                 \
    }

const tk_error_rule tk_wire_error_rules[] = {
    LOCAL("no usable answer", TINKC_E_CONNECTION, RETRYABLE, SAME),
    LOCAL("deadline passed", TINKC_E_TIMEOUT, RETRYABLE, SAME),
    LOCAL("no progress at the server", TINKC_E_STUCK, FATAL, NEVER),
    LOCAL("bad argument", TINKC_E_INVALID, USER, NEVER),
    LOCAL("closed or finished handle", TINKC_E_STATE, USER, NEVER),
    LOCAL("unusable configuration", TINKC_E_CONFIG, USER, NEVER),
    LOCAL("limit exceeded", TINKC_E_LIMIT, USER, NEVER),
    LOCAL("nothing found locally", TINKC_E_MISSING, USER, NEVER),
    LOCAL("not supported", TINKC_E_UNSUPPORTED, USER, NEVER),
    LOCAL("cancelled", TINKC_E_CANCELLED, USER, NEVER),
    LOCAL("budget exceeded", TINKC_E_BUDGET, USER, NEVER),
    LOCAL("out of memory", TINKC_E_NOMEM, FATAL, NEVER),
    LOCAL("local file or system call failed", TINKC_E_IO, FATAL, NEVER),
    LOCAL("answer is not well-formed", TINKC_E_PARSE, FATAL, NEVER),
    LOCAL("answer is not what was expected", TINKC_E_DECODE, FATAL, NEVER),
    LOCAL("defect in tinkc", TINKC_E_INTERNAL, FATAL, NEVER),

    FAILED("accepted work failed, category user", TINKC_CATEGORY_USER, USER, NEVER),
    FAILED("accepted work failed, category server", TINKC_CATEGORY_SERVER, RETRYABLE,
           AS_NEW),
    FAILED("accepted work failed, category unknown", TINKC_CATEGORY_UNKNOWN, RETRYABLE,
           AS_NEW),

    STATUS("1xx with x-should-retry: true", 100, 199, TK_SHOULD_RETRY_YES, RETRYABLE,
           SAME),
    STATUS("3xx, 4xx, 5xx with x-should-retry: true", 300, 599, TK_SHOULD_RETRY_YES,
           RETRYABLE, SAME),
    STATUS("408 with x-should-retry: false", 408, 408, TK_SHOULD_RETRY_NO, FATAL, NEVER),
    STATUS("4xx with x-should-retry: false", 400, 499, TK_SHOULD_RETRY_NO, USER, NEVER),
    STATUS("5xx with x-should-retry: false", 500, 599, TK_SHOULD_RETRY_NO, FATAL, NEVER),
    STATUS("408", 408, 408, ANY, RETRYABLE, SAME),
    STATUS("409", 409, 409, ANY, RETRYABLE, SAME),
    STATUS("410: the result is gone", 410, 410, ANY, RETRYABLE, AS_NEW),
    STATUS("429", 429, 429, ANY, RETRYABLE, SAME),
    STATUS("other 4xx", 400, 499, ANY, USER, NEVER),
    STATUS("5xx", 500, 599, ANY, RETRYABLE, SAME),

    {"anything else", 0, 0, ANY, ANY, ANY, TK_ERROR_FATAL, TK_RETRY_NEVER},
};

const size_t tk_wire_error_rules_n = TK_ARRAY_LEN(tk_wire_error_rules);

static bool matches(const tk_error_rule *rule, const tk_fault *fault)
{
    bool status_ok = rule->status_max == 0 || (fault->status >= rule->status_min &&
                                               fault->status <= rule->status_max);
    return status_ok && (rule->code == ANY || rule->code == (int)fault->code) &&
           (rule->category == ANY || rule->category == (int)fault->category) &&
           (rule->should_retry == ANY || rule->should_retry == (int)fault->should_retry);
}

const tk_error_rule *tk_wire_error_rule(const tk_fault *fault)
{
    size_t i = 0;
    while (i + 1 < tk_wire_error_rules_n && !matches(&tk_wire_error_rules[i], fault)) {
        i++;
    }
    return &tk_wire_error_rules[i];
}

bool tk_wire_error_is_user(int status, tinkc_category category)
{
    switch (category) {
    case TINKC_CATEGORY_USER:
        return true;
    case TINKC_CATEGORY_SERVER:
    case TINKC_CATEGORY_UNKNOWN:
        break;
    }
    return status >= 400 && status <= 499 && status != 408;
}

bool tk_wire_error_is_absent(int status)
{
    return status == 404 || status == 405 || status == 501;
}

bool tk_wire_error_is_of_route(const tk_err *err)
{
    static const char *const words[] = {"Not Found", "404: Not Found", "404 Not Found",
                                        "404 page not found"};
    static const char start[] = "HTTP 404: ";
    if (err->http_status != 404 || !tk_str_has_prefix(tk_str_of(err->message), start)) {
        return tk_wire_error_is_absent(err->http_status);
    }
    tk_str rest = tk_str_of(err->message + sizeof(start) - 1);
    rest = tk_str_trim(tk_str_cut(&rest, '(')); /* without what we added */
    bool found = false;
    for (size_t i = 0; i < TK_ARRAY_LEN(words) && !found; i++) {
        found = tk_str_is_nocase(rest, words[i]);
    }
    return found;
}

tinkc_category tk_wire_error_category(tk_str word)
{
    if (tk_str_is_nocase(word, "user")) {
        return TINKC_CATEGORY_USER;
    }
    return tk_str_is_nocase(word, "server") ? TINKC_CATEGORY_SERVER
                                            : TINKC_CATEGORY_UNKNOWN;
}

tk_should_retry tk_wire_error_should_retry(tk_str header)
{
    tk_str word = tk_str_trim(header);
    if (tk_str_is_nocase(word, "true")) {
        return TK_SHOULD_RETRY_YES;
    }
    return tk_str_is_nocase(word, "false") ? TK_SHOULD_RETRY_NO : TK_SHOULD_RETRY_UNSAID;
}

/* A number of units of `unit` milliseconds; -1 when the text is not a number or
 * negative. */
static int64_t to_ms(tk_str text, double unit)
{
    double number;
    const double most = 9e15; /* far beyond any wait, exact in a double */
    if (!tk_str_to_double(tk_str_trim(text), &number) || number < 0.0) {
        return -1;
    }
    return (int64_t)ceil(fmin(number * unit, most));
}

int64_t tk_wire_error_retry_after(tk_str retry_after_ms, tk_str retry_after,
                                  int64_t now_us)
{
    int64_t ms = to_ms(retry_after_ms, 1.0);
    if (ms < 0) {
        ms = to_ms(retry_after, 1000.0);
    }
    int64_t at_us;
    if (ms < 0 &&
        tk_date_parse_http(&at_us, tk_str_trim(retry_after), now_us, NULL) == TINKC_OK) {
        ms = at_us > now_us ? (at_us - now_us + 999) / 1000 : 0;
    }
    return ms;
}
