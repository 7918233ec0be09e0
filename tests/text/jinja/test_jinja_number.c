/* Filters that make or change a number, as Python 3.11 and jinja2 3.1.6 do. */
#include "support/jinjafix.h"

static const jinjafix_row int_rows[] = {
    GIVES("{{ '5'|int }}", "5"),
    GIVES("{{ '-5'|int }}", "-5"),
    GIVES("{{ '+5'|int }}", "5"),
    GIVES("{{ ' 5 '|int }}", "5"),
    GIVES("{{ '5.9'|int }}", "5"),
    GIVES("{{ '-5.9'|int }}", "-5"),
    GIVES("{{ '1e3'|int }}", "1000"),
    GIVES("{{ '5x'|int }}", "0"),
    GIVES("{{ ''|int }}", "0"),
    GIVES("{{ 'abc'|int }}", "0"),
    GIVES("{{ 'abc'|int(7) }}", "7"),
    GIVES("{{ 'abc'|int(default=7) }}", "7"),
    GIVES("{{ 5|int }}", "5"),
    GIVES("{{ 5.9|int }}", "5"),
    GIVES("{{ -5.9|int }}", "-5"),
    GIVES("{{ true|int }}", "1"),
    GIVES("{{ none|int }}", "0"),
    GIVES("{{ none|int(3) }}", "3"),
    GIVES("{{ []|int }}", "0"),
    GIVES("{{ [1]|int(2) }}", "2"),
    GIVES("{{ {}|int }}", "0"),
    GIVES("{{ '0x1f'|int }}", "0"),
    GIVES("{{ '1_000'|int }}", "1000"),
    GIVES("{{ '1__0'|int }}", "0"),
    GIVES("{{ '_1'|int }}", "0"),
    GIVES("{{ '1_'|int }}", "0"),
    GIVES("{{ '٣'|int }}", "3"),
    GIVES("{{ '٣٤'|int }}", "34"),
    GIVES("{{ '１２'|int }}", "12"),
    GIVES("{{ '½'|int }}", "0"),
    GIVES("{{ '²'|int }}", "0"),
    GIVES("{{ 'inf'|int }}", "0"),
    GIVES("{{ 'nan'|int }}", "0"),
    GIVES("{{ '9223372036854775807'|int }}", "9223372036854775807"),
    GIVES("{{ '-9223372036854775808'|int }}", "-9223372036854775808"),
    GIVES("{{ '007'|int }}", "7"),
    GIVES("{{ '- 5'|int }}", "0"),
    GIVES("{{ '--5'|int }}", "0"),
    GIVES("{{ '+-5'|int }}", "0"),
    GIVES("{{ '5 5'|int }}", "0"),
    GIVES("{{ '.5'|int }}", "0"),
    GIVES("{{ '5.'|int }}", "5"),
    GIVES("{{ '.'|int }}", "0"),
    GIVES("{{ '\\n5\\t'|int }}", "5"),
    GIVES("{{ '\\u00a05'|int }}", "5"),
    RAISES("{{ x|int }}", "'x' is undefined"),
    RAISES("{{ x.y|int }}", "'x' is undefined"),
    GIVES("{{ 'a'|int(none) }}", "None"),
    GIVES("{{ 'a'|int('b') }}", "b"),
};

static void test_jinja_number_int(void **unused)
{
    jinjafix_check(int_rows, TK_ARRAY_LEN(int_rows));
}

static const jinjafix_row float_rows[] = {
    GIVES("{{ '1.5'|float }}", "1.5"),
    GIVES("{{ '1'|float }}", "1.0"),
    GIVES("{{ '-1.5'|float }}", "-1.5"),
    GIVES("{{ '+1.5'|float }}", "1.5"),
    GIVES("{{ ' 1.5 '|float }}", "1.5"),
    GIVES("{{ '1e3'|float }}", "1000.0"),
    GIVES("{{ '1E-3'|float }}", "0.001"),
    GIVES("{{ '.5'|float }}", "0.5"),
    GIVES("{{ '5.'|float }}", "5.0"),
    GIVES("{{ '1_0.5'|float }}", "10.5"),
    GIVES("{{ '1._5'|float }}", "0.0"),
    GIVES("{{ 'inf'|float }}", "inf"),
    GIVES("{{ '-inf'|float }}", "-inf"),
    GIVES("{{ 'Infinity'|float }}", "inf"),
    GIVES("{{ '-INFINITY'|float }}", "-inf"),
    GIVES("{{ 'nan'|float }}", "nan"),
    GIVES("{{ 'NaN'|float }}", "nan"),
    GIVES("{{ '+nan'|float }}", "nan"),
    GIVES("{{ 'abc'|float }}", "0.0"),
    GIVES("{{ 'abc'|float(2.5) }}", "2.5"),
    GIVES("{{ 'abc'|float(default='x') }}", "x"),
    GIVES("{{ ''|float }}", "0.0"),
    GIVES("{{ 5|float }}", "5.0"),
    GIVES("{{ true|float }}", "1.0"),
    GIVES("{{ none|float }}", "0.0"),
    GIVES("{{ []|float(1) }}", "1"),
    GIVES("{{ '٣.٥'|float }}", "3.5"),
    GIVES("{{ '1e-400'|float }}", "0.0"),
    GIVES("{{ '0x10'|float }}", "0.0"),
    GIVES("{{ '1.5.5'|float }}", "0.0"),
    GIVES("{{ 'e5'|float }}", "0.0"),
    GIVES("{{ '1e'|float }}", "0.0"),
    GIVES("{{ '.'|float }}", "0.0"),
    GIVES("{{ '00.5'|float }}", "0.5"),
    GIVES("{{ '0_0.5'|float }}", "0.5"),
    RAISES("{{ x|float }}", "'x' is undefined"),
};

static void test_jinja_number_float(void **unused)
{
    jinjafix_check(float_rows, TK_ARRAY_LEN(float_rows));
}

static const jinjafix_row abs_rows[] = {
    GIVES("{{ 5|abs }}", "5"),
    GIVES("{{ -5|abs }}", "5"),
    GIVES("{{ (-5)|abs }}", "5"),
    GIVES("{{ (-1.5)|abs }}", "1.5"),
    GIVES("{{ (-0.0)|abs }}", "0.0"),
    GIVES("{{ true|abs }}", "1"),
    RAISES("{{ 'a'|abs }}", "bad operand type for abs(): 'str'"),
    RAISES("{{ none|abs }}", "bad operand type for abs(): 'NoneType'"),
    RAISES("{{ []|abs }}", "bad operand type for abs(): 'list'"),
    RAISES("{{ x|abs }}", "bad operand type for abs(): 'Undefined'"),
};

static void test_jinja_number_abs(void **unused)
{
    jinjafix_check(abs_rows, TK_ARRAY_LEN(abs_rows));
}

static const jinjafix_row round_rows[] = {
    GIVES("{{ 1.5|round }}", "2.0"),
    GIVES("{{ 2.5|round }}", "2.0"),
    GIVES("{{ 0.5|round }}", "0.0"),
    GIVES("{{ -0.5|round }}", "-0.0"),
    GIVES("{{ (-0.5)|round }}", "-0.0"),
    GIVES("{{ (-1.5)|round }}", "-2.0"),
    GIVES("{{ (-2.5)|round }}", "-2.0"),
    GIVES("{{ 1.25|round(1) }}", "1.2"),
    GIVES("{{ 1.35|round(1) }}", "1.4"),
    GIVES("{{ 2.675|round(2) }}", "2.67"),
    GIVES("{{ 1.005|round(2) }}", "1.0"),
    GIVES("{{ 0.125|round(2) }}", "0.12"),
    GIVES("{{ 0.375|round(2) }}", "0.38"),
    GIVES("{{ 1234.5678|round(-2) }}", "1200.0"),
    GIVES("{{ 1250|round(-2) }}", "1200"),
    GIVES("{{ 1350|round(-2) }}", "1400"),
    GIVES("{{ 1234|round(2) }}", "1234"),
    GIVES("{{ 1234|round(-1) }}", "1230"),
    GIVES("{{ 1235|round(-1) }}", "1240"),
    GIVES("{{ 1245|round(-1) }}", "1240"),
    GIVES("{{ (-1235)|round(-1) }}", "-1240"),
    GIVES("{{ 5|round }}", "5"),
    GIVES("{{ true|round }}", "1"),
    GIVES("{{ 1.1|round(method='ceil') }}", "2.0"),
    GIVES("{{ 1.9|round(method='floor') }}", "1.0"),
    GIVES("{{ (-1.1)|round(method='ceil') }}", "-1.0"),
    GIVES("{{ (-1.1)|round(method='floor') }}", "-2.0"),
    GIVES("{{ (-0.5)|round(method='ceil') }}", "0.0"),
    GIVES("{{ 1.234|round(2, 'ceil') }}", "1.24"),
    GIVES("{{ 1.239|round(2, 'floor') }}", "1.23"),
    GIVES("{{ 123.4|round(-1, 'ceil') }}", "130.0"),
    GIVES("{{ 123.4|round(-1, 'floor') }}", "120.0"),
    GIVES("{{ 5|round(0, 'ceil') }}", "5.0"),
    GIVES("{{ 1.5|round(0, 'common') }}", "2.0"),
    RAISES("{{ 1.5|round(0, 'other') }}", "method must be common, ceil or floor"),
    GIVES("{{ 1.23456789|round(5) }}", "1.23457"),
    GIVES("{{ 1e300|round(2) }}", "1e+300"),
    GIVES("{{ 0.1|round(20) }}", "0.1"),
    GIVES("{{ 1e16|round }}", "1e+16"),
    RAISES("{{ 'a'|round }}", "type str doesn't define __round__ method"),
    RAISES("{{ none|round }}", "type NoneType doesn't define __round__ method"),
    RAISES("{{ x|round }}", "type Undefined doesn't define __round__ method"),
    RAISES("{{ 1.5|round('a') }}", "'str' object cannot be interpreted as an integer"),
};

static void test_jinja_number_round(void **unused)
{
    jinjafix_check(round_rows, TK_ARRAY_LEN(round_rows));
}

/* Too many arguments. */
static const jinjafix_row arguments_rows[] = {
    REFUSES("{{ 1|int(1, 10, 3) }}"),
    REFUSES("{{ 1|float(1, 2) }}"),
    REFUSES("{{ 1|abs(1) }}"),
    REFUSES("{{ 1|round(1, 'ceil', 3) }}"),
};

static void test_jinja_number_arguments(void **unused)
{
    jinjafix_check(arguments_rows, TK_ARRAY_LEN(arguments_rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jinja_number_int),
        cmocka_unit_test(test_jinja_number_float),
        cmocka_unit_test(test_jinja_number_abs),
        cmocka_unit_test(test_jinja_number_round),
        cmocka_unit_test(test_jinja_number_arguments),
    };
    return cmocka_run_group_tests_name("jinja_number", tests, NULL, NULL);
}
