/* Sizes and times in words, and the width of text.
 * Links: client */
#include <tinkc/rest.h>

#include "base/clock.h"
#include "cli/frame/cmd_out.h"
#include "support/test.h"

/* C-015: steps of 1024, one decimal from KB on; negative is N/A. */
static void test_cmd_out_size(void **unused)
{
    static const struct {
        int64_t bytes;
        const char *word;
    } cases[] = {
        {-1, "N/A"},
        {0, "0 B"},
        {1023, "1023 B"},
        {1024, "1.0 KB"},
        {1536, "1.5 KB"},
        {1048575, "1024.0 KB"},
        {1048576, "1.0 MB"},
        {INT64_C(5) << 30, "5.0 GB"},
        {INT64_C(5) << 40, "5.0 TB"},
        {INT64_C(5) << 50, "5.0 PB"},
        {INT64_C(5) << 60, "5.0 EB"},
        {INT64_MAX, "8.0 EB"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        char word[CMD_WORD_BYTES];
        assert_string_equal(cmd_out_size(word, cases[i].bytes), cases[i].word);
    }
}

/* C-016, M-154: relative up to 30 days, both ways; then the date. */
static void test_cmd_out_time(void **unused)
{
    static const struct {
        int64_t seconds; /* from now; a slow machine has half a minute */
        const char *word;
    } cases[] = {
        {-5, "just now"},
        {-61, "1 minute ago"},
        {-3550, "59 minutes ago"},
        {-3661, "1 hour ago"},
        {-86350, "23 hours ago"},
        {-86461, "1 day ago"},
        {-7 * 86400 - 61, "7 days ago"},
        {-8 * 86400 - 61, "1 week ago"},
        {-30 * 86400 - 61, "4 weeks ago"},
        {45, "in less than a minute"},
        {150, "in 2 minutes"},
        {2 * 3600 + 60, "in 2 hours"},
        {3 * 86400 + 60, "in 3 days"},
        {15 * 86400 + 60, "in 2 weeks"},
    };
    int64_t now = tk_clock_wall_us(NULL);
    char word[CMD_WORD_BYTES];
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        const char *said = cmd_out_time(word, now + cases[i].seconds * 1000000);
        assert_string_equal(said, cases[i].word);
    }
    assert_string_equal(cmd_out_time(word, TINKC_NO_TIME), "N/A");
    assert_string_equal(cmd_out_time(word, INT64_C(1720857600000000)), "2024-07-13");
    assert_string_equal(cmd_out_time(word, INT64_C(4878144000000000)), "2124-08-01");
}

/* Texts of a server are shown, not obeyed. */
static void test_cmd_out_safe(void **unused)
{
    tk_buf out;
    tk_buf_init(&out, 4096);
    cmd_out_put_safe(&out, TK_STR("a\033[2J\nb\x80\x7f"));
    assert_string_equal(tk_buf_cstr(&out), "a [2J b? ");
    assert_int_equal(cmd_out_columns(TK_STR("abc")), 3);
    assert_int_equal(cmd_out_columns(TK_STR("")), 0);
    tk_buf_dispose(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cmd_out_size),
        cmocka_unit_test(test_cmd_out_time),
        cmocka_unit_test(test_cmd_out_safe),
    };
    return cmocka_run_group_tests_name("cmd_out", tests, NULL, NULL);
}
