/* Text as Python sees it: the search from the end. */
#include "base/mem.h"
#include "support/test.h"
#include "text/jinja/jinja_str.h"

static size_t slow_rfind(tk_str s, tk_str needle)
{
    for (size_t at = s.n + 1; at-- > 0;) {
        if (at + needle.n <= s.n && memcmp(s.p + at, needle.p, needle.n) == 0) {
            return at;
        }
    }
    return SIZE_MAX;
}

/* The first five of nine letters, for every such text, and every part of it. */
static void test_jinja_str_rfind(void **unused)
{
    (void)unused;
    enum { LENGTH = 9, TEXTS = 512 };
    for (unsigned k = 0; k < TEXTS; k++) {
        char text[LENGTH];
        for (size_t i = 0; i < LENGTH; i++) {
            text[i] = k >> i & 1 ? 'a' : '\xe9';
        }
        tk_str s = {text, 5};
        for (size_t from = 0; from <= LENGTH; from++) {
            for (size_t n = 0; from + n <= LENGTH; n++) {
                tk_str needle = {text + from, n};
                assert_true(tk_jstr_rfind(s, needle) == slow_rfind(s, needle));
            }
        }
    }
}

/* A search that reads the needle at every place of the text would not end. */
static void test_jinja_str_rfind_long(void **unused)
{
    (void)unused;
    enum { N = 8 << 20 };
    char *text = tk_malloc(N);
    assert_non_null(text);
    memset(text, 'a', N);
    text[N / 2 - 1] = 'b'; /* the needle's last letter, which the half behind has not */
    tk_str s = {text + N / 2, N / 2}, needle = {text, N / 2};
    needle.p += N / 4;
    needle.n -= N / 4;
    assert_true(tk_jstr_rfind(s, needle) == SIZE_MAX);
    assert_int_equal(tk_jstr_rfind((tk_str){text, N}, needle), N / 4);
    tk_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jinja_str_rfind),
        cmocka_unit_test(test_jinja_str_rfind_long),
    };
    return cmocka_run_group_tests_name("jinja_str", tests, NULL, NULL);
}
