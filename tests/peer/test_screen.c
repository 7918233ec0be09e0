/* The screen of a terminal: what bytes look like. */
#include "support/screen.h"

#include <stdio.h>
#include <string.h>

#include "support/test.h"

static void expect(const char *bytes, size_t row, const char *text)
{
    screen s;
    char seen[SCREEN_ROW_BYTES];
    screen_open(&s, 10);
    screen_write(&s, bytes, strlen(bytes));
    assert_string_equal(screen_row(&s, row, seen), text);
    screen_close(&s);
}

static void test_screen_shows(void **state)
{
    static const struct {
        const char *bytes;
        size_t row;
        const char *text;
    } cases[] = {
        {"one\r\ntwo", 1, "two"},
        {"one\ntwo", 1, "   two"}, /* a line feed does not go back */
        {"abc\rX", 0, "Xbc"},
        {"abc\r\033[KX", 0, "X"},
        {"abc\b\b\033[PX", 0, "aX"},
        {"abc\r\033[2@X", 0, "X abc"},
        {"0123456789A", 1, "A"},
        {"0123456789\r\033[K", 0, ""},
        {"a\r\n\033[Ab", 0, "b"},
        {"abc\033[2;3HX", 1, "  X"},
        {"abc\033[H\033[2Jd", 0, "d"},
        {"a\r\nb\033[H\033[Jc", 1, ""},
        {"caf\303\251 \342\224\200", 0, "caf\303\251 \342\224\200"},
        {"\033[1;31mred\033[0m", 0, "red"},
        {"\033]0;title\aab", 0, "ab"},
        {"a\tb", 0, "a       b"},
        {"\033[?2004ha", 0, "a"},
        {"ab\0337cd\0338X", 0, "abXd"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        expect(cases[i].bytes, cases[i].row, cases[i].text);
    }
}

/* Rows that leave at the top are kept. */
static void test_screen_scrolls(void **state)
{
    screen s;
    char row[SCREEN_ROW_BYTES], line[16];
    screen_open(&s, 10);
    for (int i = 0; i < 30; i++) {
        int n = snprintf(line, sizeof(line), "%d\r\n", i);
        screen_write(&s, line, (size_t)n);
    }
    assert_string_equal(screen_row(&s, 0, row), "7");
    assert_int_equal(s.gone_n, 7);
    assert_string_equal(fakeapi_bytes_cstr(&s.gone), "0\n1\n2\n3\n4\n5\n6\n");
    assert_int_equal(s.wraps, 0);
    screen_close(&s);
}

static void test_screen_like(void **state)
{
    assert_true(screen_like("step 3/8 [#..]", "step */8 [#*]"));
    assert_true(screen_like("", "*"));
    assert_true(screen_like("aXbXc", "a*X*c"));
    assert_false(screen_like("ab", "a"));
    assert_false(screen_like("a", "ab"));
    assert_false(screen_like("a", ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_screen_shows),
        cmocka_unit_test(test_screen_scrolls),
        cmocka_unit_test(test_screen_like),
    };
    return cmocka_run_group_tests_name("screen", tests, NULL, NULL);
}
