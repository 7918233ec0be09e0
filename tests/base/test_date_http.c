/* HTTP dates in all three forms of RFC 9110. */
#include "base/date.h"
#include "support/test.h"

#define NOV_1994 INT64_C(784111777000000) /* the example of RFC 9110 */
#define NOW_2026 INT64_C(1783935000000000)

static int64_t parse(const char *text, int64_t now_us)
{
    int64_t us = -1;
    tk_err err = TK_ERR_INIT;
    if (tk_date_parse_http(&us, tk_str_of(text), now_us, &err) != TINKC_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    return us;
}

static void test_date_http_three_forms(void **unused)
{
    assert_int_equal(parse("Sun, 06 Nov 1994 08:49:37 GMT", NOW_2026), NOV_1994);
    assert_int_equal(parse("Sunday, 06-Nov-94 08:49:37 GMT", NOW_2026), NOV_1994);
    assert_int_equal(parse("Sun Nov  6 08:49:37 1994", NOW_2026), NOV_1994);
    assert_int_equal(parse("Wed Nov 16 08:49:37 1994", NOW_2026),
                     NOV_1994 + INT64_C(864000000000));
    assert_int_equal(parse("sun, 06 NOV 1994 08:49:37 utc", NOW_2026), NOV_1994);
    assert_int_equal(parse("Sat, 31 Dec 2016 23:59:60 GMT", NOW_2026),
                     INT64_C(1483228800000000));
}

/* Two digits mean the latest such year that is at most 50 years ahead. */
static void test_date_http_short_years(void **unused)
{
    int64_t at_2026 = parse("Mon, 13 Jul 2026 09:30:00 GMT", 0);
    assert_int_equal(at_2026, NOW_2026);
    assert_int_equal(parse("Monday, 13-Jul-26 09:30:00 GMT", NOW_2026), NOW_2026);
    assert_int_equal(parse("Monday, 13-Jul-76 09:30:00 GMT", NOW_2026),
                     parse("Mon, 13 Jul 2076 09:30:00 GMT", 0));
    assert_int_equal(parse("Monday, 13-Jul-76 09:30:01 GMT", NOW_2026),
                     parse("Mon, 13 Jul 1976 09:30:01 GMT", 0));
    /* each of these is more than 50 years ahead, whatever the smaller units are */
    assert_int_equal(parse("Monday, 13-Jul-76 09:31:00 GMT", NOW_2026),
                     parse("Tue, 13 Jul 1976 09:31:00 GMT", 0));
    assert_int_equal(parse("Monday, 13-Jul-76 10:00:00 GMT", NOW_2026),
                     parse("Tue, 13 Jul 1976 10:00:00 GMT", 0));
    assert_int_equal(parse("Monday, 14-Jul-76 00:00:00 GMT", NOW_2026),
                     parse("Wed, 14 Jul 1976 00:00:00 GMT", 0));
    assert_int_equal(parse("Monday, 01-Aug-76 00:00:00 GMT", NOW_2026),
                     parse("Sun, 01 Aug 1976 00:00:00 GMT", 0));
    assert_int_equal(parse("Monday, 30-Jun-76 23:59:59 GMT", NOW_2026),
                     parse("Tue, 30 Jun 2076 23:59:59 GMT", 0));
    assert_int_equal(parse("Monday, 12-Jul-76 23:59:59 GMT", NOW_2026),
                     parse("Sun, 12 Jul 2076 23:59:59 GMT", 0));
    assert_int_equal(parse("Monday, 01-Jan-77 00:00:00 GMT", NOW_2026),
                     parse("Mon, 01 Jan 1977 00:00:00 GMT", 0));
    int64_t at_1999 = parse("Fri, 31 Dec 1999 00:00:00 GMT", 0);
    assert_int_equal(parse("Monday, 13-Jul-26 09:30:00 GMT", at_1999), NOW_2026);
    int64_t at_2051 = parse("Sun, 01 Jan 2051 00:00:00 GMT", 0);
    assert_int_equal(parse("Saturday, 01-Jan-00 00:00:00 GMT", at_2051),
                     parse("Fri, 01 Jan 2100 00:00:00 GMT", 0));
}

static void test_date_http_refusals(void **unused)
{
    static const char *const bad[] = {
        "",
        "120",
        "garbage",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 ",
        ", 06 Nov 1994 08:49:37 GMT",
        "Sun, 06  1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 PST",
        "Sun, 06 Nov 1994 08:49:37 GMT ",
        " Sun, 06 Nov 1994 08:49:37 GMT",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun 06 Nov 1994 08:49:37 GMT",
        "Sun\x0C 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Foo 1994 08:49:37 GMT",
        "Xyz, 06 Nov 1994 08:49:37 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 0000 08:49:37 GMT",
        "Sun, 06-Nov-94 08:49:37 GMT",
        "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sun Nov 6 08:49:37 1994",
        "Sun Nov  6 08:49:37 94",
        "Sunday, 29-Feb-27 08:49:37 GMT",
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        int64_t us = 77;
        tk_err err = TK_ERR_INIT;
        tk_str text = tk_str_of(bad[i]);
        if (tk_date_parse_http(&us, text, NOW_2026, &err) != TINKC_E_PARSE || us != 77) {
            fail_msg("%s", bad[i]);
        }
    }
    int64_t us = 77;
    tk_str text = TK_STR("Sunday, 06-Nov-94 08:49:37 GMT");
    assert_int_equal(tk_date_parse_http(&us, text, INT64_MAX, NULL), TINKC_E_PARSE);
}

static void test_date_http_format(void **unused)
{
    char text[TK_DATE_HTTP_BYTES];
    assert_true(tk_date_format_http(text, NOV_1994 + 999999));
    assert_string_equal(text, "Sun, 06 Nov 1994 08:49:37 GMT");
    assert_true(tk_date_format_http(text, INT64_C(-62135596800000000)));
    assert_string_equal(text, "Mon, 01 Jan 0001 00:00:00 GMT");
    assert_false(tk_date_format_http(text, INT64_MAX));
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_date_http_three_forms),
        cmocka_unit_test(test_date_http_short_years),
        cmocka_unit_test(test_date_http_refusals),
        cmocka_unit_test(test_date_http_format),
    };
    return cmocka_run_group_tests_name("date_http", tests, NULL, NULL);
}
