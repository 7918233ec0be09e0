/* Operators of expressions: precedence and associativity, as jinja2 3.1.6 parses them. */
#include "support/jinjafix.h"

static const jinjafix_row arithmetic_rows[] = {
    GIVES("{{ 1 + 2 * 3 }}", "7"),
    GIVES("{{ (1 + 2) * 3 }}", "9"),
    GIVES("{{ 2 * 3 + 4 }}", "10"),
    GIVES("{{ 10 - 4 - 3 }}", "3"),
    GIVES("{{ 10 - (4 - 3) }}", "9"),
    GIVES("{{ 2 ** 3 }}", "8"),
    GIVES("{{ 2 ** 3 ** 2 }}", "64"),
    GIVES("{{ (2 ** 3) ** 2 }}", "64"),
    GIVES("{{ -2 ** 2 }}", "4"),
    GIVES("{{ (-2) ** 2 }}", "4"),
    GIVES("{{ 2 * 3 ** 2 }}", "18"),
    GIVES("{{ 7 // 2 * 2 }}", "6"),
    GIVES("{{ 7 % 4 * 2 }}", "6"),
    GIVES("{{ 8 / 4 / 2 }}", "1.0"),
    GIVES("{{ 8 // 3 // 2 }}", "1"),
    GIVES("{{ 100 % 30 % 7 }}", "3"),
    GIVES("{{ 1 + 2 - 3 + 4 }}", "4"),
    GIVES("{{ 2 + 3 * 4 ** 2 - 1 }}", "49"),
    GIVES("{{ -1 + 2 }}", "1"),
    GIVES("{{ - -1 }}", "1"),
    GIVES("{{ +1 }}", "1"),
    GIVES("{{ -(1 + 2) }}", "-3"),
    GIVES("{{ 1 - -1 }}", "2"),
    GIVES("{{ 1 + +1 }}", "2"),
    GIVES("{{ 2 * -3 }}", "-6"),
    GIVES("{{ 2 ** -1 }}", "0.5"),
    GIVES("{{ 2 ** - 1 * 4 }}", "2.0"),
};

static void test_jinja_expr_arithmetic(void **unused)
{
    jinjafix_check(arithmetic_rows, TK_ARRAY_LEN(arithmetic_rows));
}

/* The tilde binds tighter than plus, looser than a product. */
static const jinjafix_row concatenation_rows[] = {
    GIVES("{{ 1 ~ 2 }}", "12"),
    GIVES("{{ 1 ~ 2 ~ 3 }}", "123"),
    RAISES("{{ 1 + 2 ~ 3 }}", "unsupported operand type(s) for +: 'int' and 'str'"),
    REFUSES("{{ 1 ~ 2 + 3 }}"),
    GIVES("{{ 1 ~ 2 * 3 }}", "16"),
    GIVES("{{ 2 * 3 ~ 1 }}", "61"),
    GIVES("{{ 'a' ~ 1 ~ none }}", "a1None"),
    GIVES("{{ 'a' + 'b' ~ 'c' }}", "abc"),
    GIVES("{{ 'a' ~ 'b' + 'c' }}", "abc"),
    GIVES("{{ -1 ~ -2 }}", "-1-2"),
    GIVES("{{ 1 ~ 2 == '12' }}", "True"),
    GIVES("{{ 1 ~ 2 in ['12'] }}", "True"),
    GIVES("{{ not 1 ~ 0 }}", "False"),
    GIVES("{{ 'a' ~ 'b'|upper }}", "aB"),
    GIVES("{{ ('a' ~ 'b')|upper }}", "AB"),
};

static void test_jinja_expr_concatenation(void **unused)
{
    jinjafix_check(concatenation_rows, TK_ARRAY_LEN(concatenation_rows));
}

/* Comparisons chain. */
static const jinjafix_row comparison_rows[] = {
    GIVES("{{ 1 < 2 }}", "True"),           GIVES("{{ 1 < 2 < 3 }}", "True"),
    GIVES("{{ 1 < 3 < 2 }}", "False"),      GIVES("{{ 3 > 2 > 1 }}", "True"),
    GIVES("{{ 1 < 2 > 1 }}", "True"),       GIVES("{{ 1 == 1 == 1 }}", "True"),
    GIVES("{{ 1 == 1.0 != 2 }}", "True"),   GIVES("{{ 1 < 2 == true }}", "False"),
    GIVES("{{ (1 < 2) == true }}", "True"), GIVES("{{ 1 + 1 == 2 }}", "True"),
    GIVES("{{ 2 * 2 > 3 }}", "True"),       GIVES("{{ 1 in [1] in [[1]] }}", "True"),
    GIVES("{{ 1 in [1] }}", "True"),        GIVES("{{ 3 not in [1] }}", "True"),
    GIVES("{{ not 1 in [1] }}", "False"),   GIVES("{{ not 3 in [1] }}", "True"),
    GIVES("{{ 1 not in [1] }}", "False"),   GIVES("{{ 'a' in 'abc' == true }}", "False"),
    GIVES("{{ 1 <= 1 >= 1 }}", "True"),     GIVES("{{ 1 != 2 != 1 }}", "True"),
    GIVES("{{ 1 == 2 < 1 / 0 }}", "False"),
};

static void test_jinja_expr_comparison(void **unused)
{
    jinjafix_check(comparison_rows, TK_ARRAY_LEN(comparison_rows));
}

static const jinjafix_row logic_rows[] = {
    GIVES("{{ 1 and 2 }}", "2"),
    GIVES("{{ 0 and 2 }}", "0"),
    GIVES("{{ 1 or 2 }}", "1"),
    GIVES("{{ 0 or 2 }}", "2"),
    GIVES("{{ 0 or 0 or 3 }}", "3"),
    GIVES("{{ 1 and 0 or 5 }}", "5"),
    GIVES("{{ 1 or 0 and 0 }}", "1"),
    GIVES("{{ (1 or 0) and 0 }}", "0"),
    GIVES("{{ not 1 }}", "False"),
    GIVES("{{ not 0 }}", "True"),
    GIVES("{{ not not 3 }}", "True"),
    GIVES("{{ not 1 == 2 }}", "True"),
    GIVES("{{ not (1 == 1) }}", "False"),
    GIVES("{{ not 1 and 0 }}", "False"),
    GIVES("{{ not 0 or 1 }}", "True"),
    GIVES("{{ not 0 and not 0 }}", "True"),
    GIVES("{{ 1 and not 0 }}", "True"),
    GIVES("{{ 0 or not 0 }}", "True"),
    GIVES("{{ '' or 'x' }}", "x"),
    GIVES("{{ [] or {} or none or 'end' }}", "end"),
    GIVES("{{ 'a' and 'b' and 'c' }}", "c"),
    GIVES("{{ 'a' and '' and 1 / 0 }}", ""),
    GIVES("{{ 1 or 1 / 0 }}", "1"),
    GIVES("{{ 1 == 1 and 2 == 2 }}", "True"),
    GIVES("{{ 1 == 2 or 2 == 2 }}", "True"),
    GIVES("{{ 1 < 2 and 2 < 3 or 1 / 0 }}", "True"),
};

static void test_jinja_expr_logic(void **unused)
{
    jinjafix_check(logic_rows, TK_ARRAY_LEN(logic_rows));
}

static const jinjafix_row condition_rows[] = {
    GIVES("{{ 'a' if 1 else 'b' }}", "a"),
    GIVES("{{ 'a' if 0 else 'b' }}", "b"),
    GIVES("{{ 'a' if 0 }}", ""),
    GIVES("{{ 'a' if 0 else 'b' if 0 else 'c' }}", "c"),
    GIVES("{{ 'a' if 0 else 'b' if 1 else 'c' }}", "b"),
    REFUSES("{{ 'a' if 1 if 0 else 1 else 'b' }}"),
    GIVES("{{ 1 + 2 if 1 else 3 }}", "3"),
    GIVES("{{ 1 if 1 else 3 + 4 }}", "1"),
    GIVES("{{ (1 if 0 else 3) + 4 }}", "7"),
    GIVES("{{ 1 or 0 if 0 else 5 }}", "5"),
    GIVES("{{ 'x' if 1 == 1 and 2 == 2 else 'y' }}", "x"),
    GIVES("{{ 'x' if not 1 else 'y' }}", "y"),
    GIVES("{{ ['a' if 0 else 'b'] }}", "['b']"),
    GIVES("{'k': 'a' if 0 else 'b'}", "{'k': 'a' if 0 else 'b'}"),
    GIVES("{{ ('a' if 0 else 'b')|upper }}", "B"),
    GIVES("{{ 'a' if 0 else 'b'|upper }}", "B"),
    GIVES("{{ 'a'|upper if 1 else 'b' }}", "A"),
    GIVES("{{ [1 if 1 else 2, 3 if 0 else 4] }}", "[1, 4]"),
    GIVES("{{ (1, 2) if 1 else 3 }}", "(1, 2)"),
    GIVES("{{ 1, 2 if 0 else 3 }}", "(1, 3)"),
};

static void test_jinja_expr_condition(void **unused)
{
    jinjafix_check(condition_rows, TK_ARRAY_LEN(condition_rows));
}

/* Filters bind tighter than operators, tests tighter than not. */
static const jinjafix_row filters_and_tests_rows[] = {
    GIVES("{{ 1 + '2'|int }}", "3"),
    GIVES("{{ '1' + 2|string }}", "12"),
    GIVES("{{ -3|abs }}", "3"),
    GIVES("{{ (-3)|abs }}", "3"),
    GIVES("{{ - 3|string }}", "-3"),
    REFUSES("{{ 2 ** 3|string }}"),
    GIVES("{{ 2 * '3'|int }}", "6"),
    GIVES("{{ 1 is number + 1 }}", "2"),
    GIVES("{{ 1 is number and 2 }}", "2"),
    GIVES("{{ not 1 is string }}", "True"),
    GIVES("{{ not 'a' is string }}", "False"),
    GIVES("{{ 1 is not string }}", "True"),
    GIVES("{{ 1 is not number }}", "False"),
    RAISES("{{ 1 is number is string }}", "You cannot chain multiple tests with is"),
    GIVES("{{ 'a'|upper is upper }}", "True"),
    GIVES("{{ 'a' ~ 'b' is string }}", "aTrue"),
    GIVES("{{ 1 == 1 is number }}", "True"),
    GIVES("{{ 1 is equalto 1 }}", "True"),
    GIVES("{{ 1 is equalto(1) and 0 }}", "0"),
    GIVES("{{ 2 is divisibleby 2 }}", "True"),
    GIVES("{{ 2 is in [1, 2] }}", "True"),
    GIVES("{{ 2 is not in [1, 2] }}", "False"),
    GIVES("{{ 'a' is string or 1 / 0 }}", "True"),
    GIVES("{{ 3 is odd and 4 is even }}", "True"),
    REFUSES("{{ 1 in [1] is sequence }}"),
    GIVES("{{ [3, 1]|sort|first }}", "1"),
    GIVES("{{ [3, 1]|sort == [1, 3] }}", "True"),
    GIVES("{{ 1 + [1, 2]|length }}", "3"),
};

static void test_jinja_expr_filters_and_tests(void **unused)
{
    jinjafix_check(filters_and_tests_rows, TK_ARRAY_LEN(filters_and_tests_rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jinja_expr_arithmetic),
        cmocka_unit_test(test_jinja_expr_concatenation),
        cmocka_unit_test(test_jinja_expr_comparison),
        cmocka_unit_test(test_jinja_expr_logic),
        cmocka_unit_test(test_jinja_expr_condition),
        cmocka_unit_test(test_jinja_expr_filters_and_tests),
    };
    return cmocka_run_group_tests_name("jinja_expr", tests, NULL, NULL);
}
