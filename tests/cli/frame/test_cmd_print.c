/* What the door to standard output and standard error lets through.
 * Links: client */
#include "cli/frame/cmd_print.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "support/failmem.h"
#include "support/test.h"

/* Clears the screen, sets the clipboard, turns text around, begins a line. */
#define HOSTILE                                                                          \
    "\033[2J\033]52;c;QUJD\a\xc2\x9b"                                                    \
    "31m\xe2\x80\xaeX\r\nY\x7f\x9b\xff"
#define TAMED " [2J ]52;c;QUJD   31m   X  Y ??"

static FILE *out;

static int set_up(void **state)
{
    assert_int_equal(setenv("LC_ALL", "C.UTF-8", 1), 0);
    out = tmpfile();
    assert_non_null(out);
    return 0;
}

static int tear_down(void **state)
{
    return fclose(out);
}

/* What was written since the last call. */
static const char *written(void)
{
    static char text[8192];
    rewind(out);
    size_t n = fread(text, 1, sizeof(text) - 1, out);
    text[n] = '\0';
    rewind(out);
    assert_int_equal(ftruncate(fileno(out), 0), 0);
    return text;
}

static void test_arguments_are_tamed(void **state)
{
    cmd_print(out, "path: %s\n", HOSTILE);
    assert_string_equal(written(), "path: " TAMED "\n");
    cmd_print(out, "%s", "one\ntwo\n");
    assert_string_equal(written(), "one two ");
    cmd_print(out, "%s\n", "one\n");
    assert_string_equal(written(), "one \n");
    cmd_print(out, "%c%c%d\t%5.1f|\n", '\033', '\r', 7, 2.25);
    assert_string_equal(written(), "  7\t  2.2|\n");
    cmd_print(out, "%s", "");
    assert_string_equal(written(), "");
}

/* The program's own colours, lines and returns, also around a hostile text, and beside
 * blanks of the format. */
static void test_the_format_is_kept(void **state)
{
    cmd_print(out, "\r\033[K%s  \n \033[1m%s\033[0m\n\n", HOSTILE, "\033");
    assert_string_equal(written(), "\r\033[K" TAMED "  \n \033[1m \033[0m\n\n");
    cmd_print(out, "plain %d%%\n", 5);
    assert_string_equal(written(), "plain 5%\n");
    cmd_print(out, "h\xc3\xa9 %s\n", "\xe2\x94\x80");
    assert_string_equal(written(), "h\xc3\xa9 \xe2\x94\x80\n");
}

static void test_long_texts(void **state)
{
    static char text[4000], want[4002];
    memset(text, 'a', sizeof(text) - 1);
    memcpy(want, text, sizeof(text) - 1);
    text[3000] = '\033';
    want[3000] = ' ';
    want[sizeof(text) - 1] = '\n';
    cmd_print(out, "%s\n", text);
    assert_string_equal(written(), want);
}

static void test_lines_keep_line_ends(void **state)
{
    cmd_print_lines(out, TK_STR("a\n\tb\r\033[2Jc\n"));
    assert_string_equal(written(), "a\n\tb  [2Jc\n");
    cmd_print_lines(out, (tk_str){NULL, 0});
    assert_string_equal(written(), "");
}

static bool print(void *user)
{
    long before = ftell(out);
    cmd_print(out, "%s\n", HOSTILE);
    return ftell(out) > before;
}

static void test_out_of_memory(void **state)
{
    assert_true(failmem_sweep(print, NULL, 1) > 2);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_arguments_are_tamed),  T(test_the_format_is_kept), T(test_long_texts),
        T(test_lines_keep_line_ends), T(test_out_of_memory),
    };
    return cmocka_run_group_tests_name("cmd_print", tests, NULL, NULL);
}
