/* Equality and order: what Python answers through jinja2 3.1.6. */
#include "support/jinjafix.h"

static const jinjafix_row equality_rows[] = {
    GIVES("{{ 1 == 1 }}", "True"),
    GIVES("{{ 1 == 2 }}", "False"),
    GIVES("{{ 1 == 1.0 }}", "True"),
    GIVES("{{ 1.5 == 1.5 }}", "True"),
    GIVES("{{ true == 1 }}", "True"),
    GIVES("{{ false == 0 }}", "True"),
    GIVES("{{ true == 2 }}", "False"),
    GIVES("{{ none == none }}", "True"),
    GIVES("{{ none == false }}", "False"),
    GIVES("{{ none == 0 }}", "False"),
    GIVES("{{ '' == none }}", "False"),
    GIVES("{{ 'a' == 'a' }}", "True"),
    GIVES("{{ 'a' == 'b' }}", "False"),
    GIVES("{{ 'a' == 'A' }}", "False"),
    GIVES("{{ 'é' == 'é' }}", "True"),
    GIVES("{{ '1' == 1 }}", "False"),
    GIVES("{{ [] == [] }}", "True"),
    GIVES("{{ [1, 2] == [1, 2] }}", "True"),
    GIVES("{{ [1, 2] == [2, 1] }}", "False"),
    GIVES("{{ [1] == [1, 2] }}", "False"),
    GIVES("{{ [1] == [1.0] }}", "True"),
    GIVES("{{ [1] == [true] }}", "True"),
    GIVES("{{ (1, 2) == (1, 2) }}", "True"),
    GIVES("{{ (1,) == [1] }}", "False"),
    GIVES("{{ [[1], [2]] == [[1], [2]] }}", "True"),
    GIVES("{{ [[1], [2]] == [[1], [3]] }}", "False"),
    GIVES("{{ range(3) == range(3) }}", "True"),
    GIVES("{{ range(3) == range(0, 3, 1) }}", "True"),
    GIVES("{{ range(0) == range(5, 5) }}", "True"),
    GIVES("{{ range(3) == range(4) }}", "False"),
    GIVES("{{ range(0, 4, 2) == range(0, 3, 2) }}", "True"),
    GIVES("{{ range(0, 1, 5) == range(0, 1) }}", "True"),
    GIVES("{{ range(3) == [0, 1, 2] }}", "False"),
    GIVES("{{ x == y }}", "True"),
    GIVES("{{ x == none }}", "False"),
    GIVES("{{ x == '' }}", "False"),
    GIVES("{{ x != y }}", "False"),
    GIVES("{{ 1 != 2 }}", "True"),
    GIVES("{{ 1 != 1 }}", "False"),
    GIVES("{{ 'a' != 'a' }}", "False"),
    GIVES("{{ [1] != [2] }}", "True"),
    GIVES("{{ 1e400 == 1e400 }}", "True"),
    GIVES("{{ 1e400 == -1e400 }}", "False"),
    GIVES("{{ 1e400 == 1 }}", "False"),
    GIVES("{{ 9007199254740993 == 9007199254740992.0 }}", "False"),
    GIVES("{{ 9007199254740992 == 9007199254740992.0 }}", "True"),
    GIVES("{{ 'a'|safe == 'a' }}", "True"),
    GIVES("{% set n = namespace(a=1) %}{{ n == n }}{{ n == namespace(a=1) }}",
          "TrueFalse"),
    GIVES("{% macro m() %}{% endmacro %}{{ m == m }}{{ m == 1 }}", "TrueFalse"),
    GIVES("{{ range == range }}", "True"),
};

static void test_jinja_compare_equality(void **unused)
{
    jinjafix_check(equality_rows, TK_ARRAY_LEN(equality_rows));
}

static const jinjafix_row order_rows[] = {
    GIVES("{{ 1 < 2 }}", "True"),
    GIVES("{{ 2 < 1 }}", "False"),
    GIVES("{{ 1 <= 1 }}", "True"),
    GIVES("{{ 1 < 1.5 }}", "True"),
    GIVES("{{ 1.5 > 1 }}", "True"),
    GIVES("{{ true < 2 }}", "True"),
    GIVES("{{ false < true }}", "True"),
    GIVES("{{ 'a' < 'b' }}", "True"),
    GIVES("{{ 'a' < 'B' }}", "False"),
    GIVES("{{ '' < 'a' }}", "True"),
    GIVES("{{ 'ab' < 'b' }}", "True"),
    GIVES("{{ 'ab' < 'abc' }}", "True"),
    GIVES("{{ 'é' > 'z' }}", "True"),
    GIVES("{{ '你' < '😀' }}", "True"),
    GIVES("{{ 'Z' < 'a' }}", "True"),
    GIVES("{{ [1, 2] < [1, 3] }}", "True"),
    GIVES("{{ [1] < [1, 0] }}", "True"),
    GIVES("{{ [] < [0] }}", "True"),
    GIVES("{{ [2] > [1, 5] }}", "True"),
    GIVES("{{ [1, 'a'] < [1, 'b'] }}", "True"),
    GIVES("{{ (1, 2) < (2,) }}", "True"),
    GIVES("{{ (1, 2) >= (1, 2) }}", "True"),
    GIVES("{{ [1, [2]] < [1, [3]] }}", "True"),
    RAISES("{{ 1 < 'a' }}", "'<' not supported between instances of 'int' and 'str'"),
    RAISES("{{ 'a' < 1 }}", "'<' not supported between instances of 'str' and 'int'"),
    RAISES("{{ none < 1 }}",
           "'<' not supported between instances of 'NoneType' and 'int'"),
    RAISES("{{ none < none }}",
           "'<' not supported between instances of 'NoneType' and 'NoneType'"),
    REFUSES("{{ none <= none }}"),
    RAISES("{{ [1] < (1,) }}",
           "'<' not supported between instances of 'list' and 'tuple'"),
    RAISES("{{ [1] < [none] }}",
           "'<' not supported between instances of 'int' and 'NoneType'"),
    GIVES("{{ [1, none] < [2, none] }}", "True"),
    GIVES("{{ [none] < [none] }}", "False"),
    GIVES("{{ [none, 1] < [none, 2] }}", "True"),
    RAISES("{{ {'a': 1} < {'b': 1} }}",
           "'<' not supported between instances of 'dict' and 'dict'"),
    RAISES("{{ x < 1 }}", "'x' is undefined"),
    RAISES("{{ 1 < x }}", "'x' is undefined"),
    RAISES("{{ x < x }}", "'x' is undefined"),
    RAISES("{{ x >= x }}", "'x' is undefined"),
    REFUSES("{{ 1 > 'a' }}"),
    REFUSES("{{ 1 >= none }}"),
    REFUSES("{{ 'a' <= 1.5 }}"),
    RAISES("{{ range(2) < range(3) }}",
           "'<' not supported between instances of 'range' and 'range'"),
    GIVES("{{ 1e400 > 1 }}", "True"),
    GIVES("{{ -1e400 < -1 }}", "True"),
    GIVES("{{ 9223372036854775807 > 9223372036854775806 }}", "True"),
};

static void test_jinja_compare_order(void **unused)
{
    jinjafix_check(order_rows, TK_ARRAY_LEN(order_rows));
}

static const jinjafix_row containment_rows[] = {
    GIVES("{{ 1 in [1, 2] }}", "True"),
    GIVES("{{ 3 in [1, 2] }}", "False"),
    GIVES("{{ 1.0 in [1, 2] }}", "True"),
    GIVES("{{ true in [1, 2] }}", "True"),
    GIVES("{{ '1' in [1, 2] }}", "False"),
    GIVES("{{ none in [none] }}", "True"),
    GIVES("{{ [1] in [[1]] }}", "True"),
    GIVES("{{ 1 in (1,) }}", "True"),
    GIVES("{{ 1 in () }}", "False"),
    GIVES("{{ 'a' in 'abc' }}", "True"),
    GIVES("{{ '' in 'abc' }}", "True"),
    GIVES("{{ '' in '' }}", "True"),
    GIVES("{{ 'abc' in 'ab' }}", "False"),
    GIVES("{{ 'bc' in 'abc' }}", "True"),
    GIVES("{{ 'é' in 'aéb' }}", "True"),
    RAISES("{{ 1 in 'a1' }}", "'in <string>' requires string as left operand, not int"),
    RAISES("{{ none in 'a' }}",
           "'in <string>' requires string as left operand, not NoneType"),
    RAISES("{{ x in 'a' }}",
           "'in <string>' requires string as left operand, not Undefined"),
    GIVES("{{ 'a' in x }}", "False"),
    REFUSES("{{ 1 in none }}"),
    REFUSES("{{ 1 in 5 }}"),
    GIVES("{{ 2 in range(3) }}", "True"),
    GIVES("{{ 3 in range(3) }}", "False"),
    GIVES("{{ 1.0 in range(3) }}", "True"),
    GIVES("{{ 'a' in range(3) }}", "False"),
    GIVES("{{ 4 in range(0, 10, 2) }}", "True"),
    GIVES("{{ 5 in range(0, 10, 2) }}", "False"),
    GIVES("{{ 'a' in {'a': 1} }}", "True"),
    GIVES("{{ 1 in {'a': 1}.values() }}", "True"),
    GIVES("{{ ('a', 1) in {'a': 1}.items() }}", "True"),
    GIVES("{{ 'a' in {'a': 1}.keys() }}", "True"),
    GIVES("{{ 'a' not in 'abc' }}", "False"),
    GIVES("{{ 3 not in [1, 2] }}", "True"),
    GIVES("{{ 2 in [1, 2]|map('abs') }}", "True"),
    GIVES("{{ 5 in [1, 2]|map('abs') }}", "False"),
};

static void test_jinja_compare_containment(void **unused)
{
    jinjafix_check(containment_rows, TK_ARRAY_LEN(containment_rows));
}

/* NaN is equal to nothing and has no order; infinity has. */
static const jinjafix_row not_a_number_rows[] = {
    GIVES("{{ (1e400 - 1e400) == 1 }}", "False"),
    GIVES("{{ 1 == (1e400 - 1e400) }}", "False"),
    GIVES("{{ (1e400 - 1e400) == (1e400 - 1e400) }}", "False"),
    GIVES("{{ (1e400 - 1e400) != 1 }}", "True"),
    GIVES("{{ (1e400 - 1e400) < 1 }}", "False"),
    GIVES("{{ (1e400 - 1e400) > 1 }}", "False"),
    GIVES("{{ (1e400 - 1e400) <= 1 }}", "False"),
    GIVES("{{ 1 >= (1e400 - 1e400) }}", "False"),
    GIVES("{{ 1.5 == (1e400 - 1e400) }}", "False"),
    GIVES("{{ (1e400 - 1e400) < 1.5 }}", "False"),
    GIVES("{{ 1 in [1e400 - 1e400] }}", "False"),
    GIVES("{{ [1] == [1e400 - 1e400] }}", "False"),
    GIVES("{{ 1e400 > 9223372036854775807 }}", "True"),
    GIVES("{{ -1e400 < -9223372036854775807 }}", "True"),
    GIVES("{{ 1e400 == 1e400 }}", "True"),
    GIVES("{{ 1e19 > 9223372036854775807 }}", "True"),
    GIVES("{{ -1e19 < 1 }}", "True"),
    GIVES("{{ 9223372036854775807 < 9223372036854775808.0 }}", "True"),
    GIVES("{{ 9223372036854775807 == 9223372036854775808.0 }}", "False"),
    GIVES("{{ 1 < 1.5 }}", "True"),
    GIVES("{{ 2 > 1.5 }}", "True"),
    GIVES("{{ -1 > -1.5 }}", "True"),
    GIVES("{{ -2 < -1.5 }}", "True"),
    GIVES("{{ 1.5 < 2 }}", "True"),
    GIVES("{{ 1.5 > 1 }}", "True"),
    GIVES("{{ 3 == 3.0 }}", "True"),
    GIVES("{{ 3 < 3.0 }}", "False"),
    GIVES("{{ 3 <= 3.0 }}", "True"),
};

static void test_jinja_compare_not_a_number(void **unused)
{
    jinjafix_check(not_a_number_rows, TK_ARRAY_LEN(not_a_number_rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jinja_compare_equality),
        cmocka_unit_test(test_jinja_compare_order),
        cmocka_unit_test(test_jinja_compare_containment),
        cmocka_unit_test(test_jinja_compare_not_a_number),
    };
    return cmocka_run_group_tests_name("jinja_compare", tests, NULL, NULL);
}
