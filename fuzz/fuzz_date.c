/* Dates: RFC 3339 and the HTTP forms. What parses is in range, formats, and reads back as
 * the same moment. */
#include "base/date.h"
#include "fuzz.h"

#define NOW_US INT64_C(1779912000000000)

static void check_rfc3339(tk_str text)
{
    int64_t us, again = 0;
    char out[TK_DATE_TEXT_BYTES];
    if (tk_date_parse(&us, text, NULL) != TINKC_OK) {
        return;
    }
    if (!tk_date_format(out, us) ||
        tk_date_parse(&again, tk_str_of(out), NULL) != TINKC_OK || again != us) {
        fuzz_fail("RFC 3339 does not read back");
    }
    if (!tk_date_format_micros(out, us) ||
        tk_date_parse(&again, tk_str_of(out), NULL) != TINKC_OK || again != us) {
        fuzz_fail("RFC 3339 with six digits does not read back");
    }
}

static void check_http(tk_str text)
{
    int64_t us, again = 0;
    char out[TK_DATE_HTTP_BYTES];
    if (tk_date_parse_http(&us, text, NOW_US, NULL) != TINKC_OK) {
        return;
    }
    if (!tk_date_format_http(out, us) ||
        tk_date_parse_http(&again, tk_str_of(out), NOW_US, NULL) != TINKC_OK ||
        again != us) {
        fuzz_fail("an HTTP date does not read back");
    }
}

int fuzz_record(const uint8_t *data, size_t size)
{
    tk_str text = {(const char *)data, size};
    check_rfc3339(text);
    check_http(text);
    return 0;
}
