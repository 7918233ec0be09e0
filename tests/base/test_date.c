/* M-117: RFC 3339 both ways, whatever TZ says; the calendar against libc's gmtime_r. */
#include "base/date.h"

#include <stdlib.h>
#include <time.h>

#include "support/test.h"

static void assert_parses(const char *text, int64_t expected)
{
    int64_t us = -1;
    tk_err err = TK_ERR_INIT;
    if (tk_date_parse(&us, tk_str_of(text), &err) != TINKC_OK || us != expected) {
        fail_msg("%s: %lld, %s", text, (long long)us, err.message);
    }
}

/* M-117: every form of a time that servers send. */
static void test_date_parse(void **unused)
{
    assert_parses("1970-01-01T00:00:00Z", 0);
    assert_parses("1970-01-01t00:00:00z", 0);
    assert_parses("1970-01-01 00:00:00Z", 0);
    assert_parses("1970-01-01T00:00:00", 0); /* naive reads as UTC */
    assert_parses("1970-01-01T00:00:00.000001", 1);
    assert_parses("1969-12-31T23:59:59.999999Z", -1);
    assert_parses("1970-01-01T01:30:00+01:30", 0);
    assert_parses("1969-12-31T16:00:00-08:00", 0);
    assert_parses("1970-01-01T00:00:00-00:00", 0);
    assert_parses("1970-01-01T23:59:00+23:59", 0);
    assert_parses("1969-12-31T00:01:00-23:59", 0);
    assert_parses("1970-01-01T00:00:00.5Z", 500000);
    assert_parses("1970-01-01T00:00:00.1234569999999999999999Z", 123456);
    assert_parses("2026-07-13T09:30:00Z", INT64_C(1783935000000000));
    assert_parses("2000-02-29T00:00:00Z", INT64_C(951782400000000));
    assert_parses("0001-01-01T00:00:00Z", INT64_C(-62135596800000000));
    assert_parses("9999-12-31T23:59:59.999999Z", INT64_C(253402300799999999));
    assert_parses("1985-04-12T23:20:50.52Z", INT64_C(482196050520000));
}

static void test_date_leap_seconds(void **unused)
{
    assert_parses("1990-12-31T23:59:60Z", INT64_C(662688000000000));
    assert_parses("1990-12-31T15:59:60-08:00", INT64_C(662688000000000));
    assert_parses("2016-12-31T23:59:60.25Z", INT64_C(1483228800250000));
}

static void test_date_refusals(void **unused)
{
    static const struct {
        const char *text;
        size_t offset;
    } bad[] = {
        {"", 0},
        {"2026", 4},
        {"2026-07-13", 10},
        {"2026-07-13T09:30", 16},
        {"2026-07-13T09:30:00.", 20},
        {"2026-07-13T09:30:00.Z", 20},
        {"2026-07-13T09:30:00X", 19},
        {"2026-07-13T09:30:00Zx", 20},
        {"2026-07-13T09:30:00+0100", 22},
        {"2026-07-13T09:30:00+01", 22},
        {"2026-07-13T09:30:00+24:00", 25},
        {"2026-07-13T09:30:00+01:60", 25},
        {"2026-07-13  09:30:00Z", 11},
        {"2026-7-13T09:30:00Z", 5},
        {"+2026-07-13T09:30:00Z", 0},
        {" 2026-07-13T09:30:00Z", 0},
        {"20260713T093000Z", 4},
        {"2026-07-13T09:30:00,5Z", 19},
        {"0000-01-01T00:00:00Z", 0},
        {"2026-00-13T09:30:00Z", 0},
        {"2026-13-13T09:30:00Z", 0},
        {"2026-07-00T09:30:00Z", 0},
        {"2026-07-32T09:30:00Z", 0},
        {"2026-06-31T09:30:00Z", 0},
        {"2026-02-29T09:30:00Z", 0},
        {"1900-02-29T09:30:00Z", 0},
        {"2026-07-13T24:00:00Z", 0},
        {"2026-07-13T09:60:00Z", 0},
        {"2026-07-13T09:30:61Z", 0},
        {"2026-07-13T09:30:60Z", 0},
        {"2016-12-31T23:59:60+00:01", 0},
        {"0001-01-01T00:00:00+00:01", 0},
        {"9999-12-31T23:59:59-00:01", 0},
        {"9999-12-31T23:59:60Z", 0},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        int64_t us = 77;
        tk_err err = TK_ERR_INIT;
        if (tk_date_parse(&us, tk_str_of(bad[i].text), &err) != TINKC_E_PARSE ||
            us != 77 || err.offset != bad[i].offset) {
            fail_msg("%s: %lld at %zu", bad[i].text, (long long)us, err.offset);
        }
    }
}

static void test_date_format(void **unused)
{
    char text[TK_DATE_TEXT_BYTES];
    assert_true(tk_date_format(text, INT64_C(1783935000000000)));
    assert_string_equal(text, "2026-07-13T09:30:00Z");
    assert_true(tk_date_format(text, INT64_C(1783935000000010)));
    assert_string_equal(text, "2026-07-13T09:30:00.000010Z");
    assert_true(tk_date_format_micros(text, 0));
    assert_string_equal(text, "1970-01-01T00:00:00.000000Z");
    assert_true(tk_date_format(text, -1));
    assert_string_equal(text, "1969-12-31T23:59:59.999999Z");
    assert_true(tk_date_format(text, INT64_C(-62135596800000000)));
    assert_string_equal(text, "0001-01-01T00:00:00Z");
    assert_false(tk_date_format(text, INT64_C(-62135596800000001)));
    assert_string_equal(text, "");
    assert_true(tk_date_format(text, INT64_C(253402300799999999)));
    assert_string_equal(text, "9999-12-31T23:59:59.999999Z");
    assert_false(tk_date_format_micros(text, INT64_C(253402300800000000)));
    assert_false(tk_date_format(text, INT64_MAX));
    assert_false(tk_date_format(text, INT64_MIN));
}

/* Every day of the calendar, forth and back, against libc. */
static void test_date_every_day(void **unused)
{
    for (int64_t day = -719162; day < 3652059 - 719162; day++) {
        int64_t us = day * INT64_C(86400000000) + INT64_C(45296000000);
        time_t seconds = (time_t)(us / 1000000 - (us % 1000000 < 0));
        struct tm tm;
        tk_date_fields f;
        int64_t back;
        if (gmtime_r(&seconds, &tm) == NULL || !tk_date_to_fields(&f, us) ||
            f.year != tm.tm_year + 1900 || f.month != tm.tm_mon + 1 ||
            f.day != tm.tm_mday || f.hour != 12 || f.minute != 34 || f.second != 56 ||
            f.weekday != tm.tm_wday || !tk_date_from_fields(&back, &f, 0) || back != us) {
            fail_msg("day %lld", (long long)day);
        }
    }
}

static void test_date_ignores_the_zone(void **unused)
{
    assert_int_equal(setenv("TZ", "America/New_York", 1), 0);
    tzset();
    assert_parses("2026-07-13T09:30:00", INT64_C(1783935000000000));
    char text[TK_DATE_TEXT_BYTES];
    assert_true(tk_date_format(text, INT64_C(1783935000000000)));
    assert_string_equal(text, "2026-07-13T09:30:00Z");
    assert_int_equal(unsetenv("TZ"), 0);
    tzset();
}

static void test_date_offset_bounds(void **unused)
{
    tk_date_fields noon = {.year = 2000, .month = 1, .day = 1, .hour = 12};
    int64_t us = 77;
    assert_false(tk_date_from_fields(&us, &noon, 1440));
    assert_false(tk_date_from_fields(&us, &noon, -1440));
    assert_int_equal(us, 77);
    assert_true(tk_date_from_fields(&us, &noon, 1439));
    assert_true(tk_date_from_fields(&us, &noon, -1439));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_date_parse),
        cmocka_unit_test(test_date_leap_seconds),
        cmocka_unit_test(test_date_refusals),
        cmocka_unit_test(test_date_offset_bounds),
        cmocka_unit_test(test_date_format),
        cmocka_unit_test(test_date_every_day),
        cmocka_unit_test(test_date_ignores_the_zone),
    };
    return cmocka_run_group_tests_name("date", tests, NULL, NULL);
}
