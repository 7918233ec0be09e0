/* String views; the number readers are tested with the JSON numbers. */
#include "base/str.h"
#include "support/test.h"

static void test_str_equality(void **unused)
{
    tk_str null_view = tk_str_of(NULL);
    assert_int_equal(null_view.n, 0);
    assert_true(tk_str_eq(null_view, TK_STR("")));
    assert_true(tk_str_eq(TK_STR("a\0b"), TK_STR("a\0b")));
    assert_false(tk_str_eq(TK_STR("a\0b"), TK_STR("a\0c")));
    assert_false(tk_str_is(TK_STR("a\0b"), "a"));
    assert_true(tk_str_is(null_view, ""));
    assert_true(tk_str_is_nocase(TK_STR("X-Api-KEY"), "x-api-key"));
    assert_false(tk_str_is_nocase(TK_STR("["), "{")); /* differ by the case bit only */
    assert_false(tk_str_is_nocase(TK_STR("abc"), "ab"));
    assert_true(tk_str_is_nocase(TK_STR("AZaz"), "azAZ"));
    assert_false(tk_str_is_nocase(TK_STR("@"), "`"));
    assert_true(tk_str_is_nocase(null_view, ""));
}

static void test_str_prefix_and_order(void **unused)
{
    assert_true(tk_str_has_prefix(TK_STR("tml-1"), "tml-"));
    assert_false(tk_str_has_prefix(TK_STR("tml"), "tml-"));
    assert_false(tk_str_has_prefix(TK_STR("html-x"), "tml-"));
    assert_true(tk_str_has_prefix(tk_str_of(NULL), ""));
    assert_true(tk_str_cmp(TK_STR("a"), TK_STR("b")) < 0);
    assert_true(tk_str_cmp(TK_STR("ab"), TK_STR("a")) > 0);
    assert_true(tk_str_cmp(TK_STR("a"), TK_STR("ab")) < 0);
    tk_str start = {"ax", 1};
    assert_true(tk_str_cmp(start, TK_STR("ab")) < 0); /* bytes after the end do not
                                                       * count */
    assert_true(tk_str_cmp(TK_STR("\x80"), TK_STR("a")) > 0); /* bytes are unsigned */
    assert_int_equal(tk_str_cmp(tk_str_of(NULL), TK_STR("")), 0);
}

static void test_str_trim(void **unused)
{
    assert_true(tk_str_is(tk_str_trim(TK_STR(" \t\r\n\v\f a b \n")), "a b"));
    assert_true(tk_str_is(tk_str_trim(TK_STR(" \t ")), ""));
    assert_true(tk_str_is(tk_str_trim(tk_str_of(NULL)), ""));
    assert_true(tk_str_is(tk_str_trim(TK_STR("\xA0x")), "\xA0x")); /* ASCII only */
}

static void test_str_cut(void **unused)
{
    tk_str rest = TK_STR("a,,b");
    assert_true(tk_str_is(tk_str_cut(&rest, ','), "a"));
    assert_true(tk_str_is(tk_str_cut(&rest, ','), ""));
    assert_non_null(rest.p);
    assert_true(tk_str_is(tk_str_cut(&rest, ','), "b"));
    assert_null(rest.p);
    rest = TK_STR("a,");
    assert_true(tk_str_is(tk_str_cut(&rest, ','), "a"));
    assert_non_null(rest.p); /* an empty piece is still to come */
    assert_true(tk_str_is(tk_str_cut(&rest, ','), ""));
    assert_null(rest.p);
}

static void test_str_take_digits(void **unused)
{
    tk_str rest = TK_STR("0042x");
    int value = 7;
    assert_false(tk_str_take_digits(&value, &rest, 5));
    assert_false(tk_str_take_digits(&value, &rest, 6));
    assert_int_equal(rest.n, 5);
    assert_int_equal(value, 7);
    assert_true(tk_str_take_digits(&value, &rest, 4));
    assert_int_equal(value, 42);
    assert_true(tk_str_is(rest, "x"));
    rest = TK_STR("07");
    assert_true(tk_str_take_digits(&value, &rest, 2));
    assert_int_equal(value, 7);
    assert_int_equal(rest.n, 0);
    rest = TK_STR("9999999999");
    assert_false(tk_str_take_digits(&value, &rest, 10)); /* might not fit */
    assert_true(tk_str_take_digits(&value, &rest, 9));
    assert_int_equal(value, 999999999);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_str_equality),
        cmocka_unit_test(test_str_prefix_and_order),
        cmocka_unit_test(test_str_trim),
        cmocka_unit_test(test_str_cut),
        cmocka_unit_test(test_str_take_digits),
    };
    return cmocka_run_group_tests_name("str", tests, NULL, NULL);
}
