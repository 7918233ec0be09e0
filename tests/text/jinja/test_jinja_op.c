/* Operators on values: what Python gives through jinja2 3.1.6, and the end of 64 bits. */
#include "support/jinjafix.h"

static const jinjafix_row integers_rows[] = {
    GIVES("{{ 7 + 5 }}", "12"),
    GIVES("{{ 7 - 9 }}", "-2"),
    GIVES("{{ 7 * -3 }}", "-21"),
    GIVES("{{ 7 / 2 }}", "3.5"),
    GIVES("{{ 6 / 3 }}", "2.0"),
    GIVES("{{ 7 // 2 }}", "3"),
    GIVES("{{ -7 // 2 }}", "-4"),
    GIVES("{{ 7 // -2 }}", "-4"),
    GIVES("{{ -7 // -2 }}", "3"),
    GIVES("{{ -8 // 2 }}", "-4"),
    GIVES("{{ 7 % 3 }}", "1"),
    GIVES("{{ -7 % 3 }}", "2"),
    GIVES("{{ 7 % -3 }}", "-2"),
    GIVES("{{ -7 % -3 }}", "-1"),
    GIVES("{{ 6 % 3 }}", "0"),
    GIVES("{{ -6 % 3 }}", "0"),
    GIVES("{{ 6 % -3 }}", "0"),
    GIVES("{{ 0 // 5 }}", "0"),
    GIVES("{{ 0 % 5 }}", "0"),
    GIVES("{{ 0 / 5 }}", "0.0"),
    GIVES("{{ 2 ** 0 }}", "1"),
    GIVES("{{ 0 ** 0 }}", "1"),
    GIVES("{{ 2 ** 10 }}", "1024"),
    GIVES("{{ 2 ** 62 }}", "4611686018427387904"),
    GIVES("{{ -2 ** 63 + 0 }}", "-9223372036854775808"),
    GIVES("{{ (-2) ** 3 }}", "-8"),
    GIVES("{{ 3 ** 39 }}", "4052555153018976267"),
    GIVES("{{ 2 ** -2 }}", "0.25"),
    GIVES("{{ 0 ** 5 }}", "0"),
    GIVES("{{ 1 ** 100 }}", "1"),
    GIVES("{{ (-1) ** 101 }}", "-1"),
    GIVES("{{ true + true }}", "2"),
    GIVES("{{ true * 5 }}", "5"),
    GIVES("{{ true / 2 }}", "0.5"),
    GIVES("{{ true // 2 }}", "0"),
    GIVES("{{ true % 2 }}", "1"),
    GIVES("{{ true ** 2 }}", "1"),
    GIVES("{{ false + 1 }}", "1"),
    GIVES("{{ 9223372036854775806 + 1 }}", "9223372036854775807"),
    GIVES("{{ -9223372036854775807 - 1 }}", "-9223372036854775808"),
    RAISES("{{ 1 / 0 }}", "division by zero"),
    RAISES("{{ 1 // 0 }}", "integer division or modulo by zero"),
    REFUSES("{{ 1 % 0 }}"),
    REFUSES("{{ 0 ** -1 }}"),
};

static void test_jinja_op_integers(void **unused)
{
    jinjafix_check(integers_rows, TK_ARRAY_LEN(integers_rows));
}

static const jinjafix_row floats_rows[] = {
    GIVES("{{ 1.5 + 1 }}", "2.5"),
    GIVES("{{ 0.1 + 0.2 }}", "0.30000000000000004"),
    GIVES("{{ 1.5 - 2 }}", "-0.5"),
    GIVES("{{ 1.5 * 2 }}", "3.0"),
    GIVES("{{ 3.0 / 2 }}", "1.5"),
    GIVES("{{ 7.5 // 2 }}", "3.0"),
    GIVES("{{ -7.5 // 2 }}", "-4.0"),
    GIVES("{{ 7.5 // -2 }}", "-4.0"),
    GIVES("{{ 7.5 % 2 }}", "1.5"),
    GIVES("{{ -7.5 % 2 }}", "0.5"),
    GIVES("{{ 7.5 % -2 }}", "-0.5"),
    GIVES("{{ -7.5 % -2 }}", "-1.5"),
    GIVES("{{ 6.0 % 3 }}", "0.0"),
    GIVES("{{ -6.0 % 3 }}", "0.0"),
    GIVES("{{ 6.0 % -3 }}", "-0.0"),
    GIVES("{{ 0.0 % -3 }}", "-0.0"),
    GIVES("{{ 5 // 0.3 }}", "16.0"),
    GIVES("{{ 1e308 * 10 }}", "inf"),
    GIVES("{{ -1e308 * 10 }}", "-inf"),
    GIVES("{{ 1e16 + 1 }}", "1e+16"),
    GIVES("{{ 2.0 ** 3 }}", "8.0"),
    GIVES("{{ 2 ** 0.5 }}", "1.4142135623730951"),
    GIVES("{{ 4 ** 0.5 }}", "2.0"),
    GIVES("{{ 2.5 ** 2 }}", "6.25"),
    GIVES("{{ 2.0 ** -1 }}", "0.5"),
    REFUSES("{{ 10.0 ** 400 }}"),
    RAISES("{{ 1.5 / 0 }}", "float division by zero"),
    REFUSES("{{ 1.5 // 0 }}"),
    RAISES("{{ 1.5 % 0 }}", "float modulo"),
    RAISES("{{ 1 / 0.0 }}", "float division by zero"),
    REFUSES("{{ 1 // 0.0 }}"),
    RAISES("{{ 1 % 0.0 }}", "float modulo"),
    GIVES("{{ 1e400 - 1e400 }}", "nan"),
    GIVES("{{ 1e400 * 0 }}", "nan"),
    GIVES("{{ true + 0.5 }}", "1.5"),
    GIVES("{{ 1e-320 / 10 }}", "1e-321"),
};

static void test_jinja_op_floats(void **unused)
{
    jinjafix_check(floats_rows, TK_ARRAY_LEN(floats_rows));
}

static const jinjafix_row sequences_rows[] = {
    GIVES("{{ 'a' + 'b' }}", "ab"),
    GIVES("{{ '' + '' }}", ""),
    GIVES("{{ 'é' + 'ü' }}", "éü"),
    GIVES("{{ [1] + [2, 3] }}", "[1, 2, 3]"),
    GIVES("{{ [] + [] }}", "[]"),
    GIVES("{{ (1,) + (2,) }}", "(1, 2)"),
    GIVES("{{ () + () }}", "()"),
    GIVES("{{ 'ab' * 3 }}", "ababab"),
    GIVES("{{ 3 * 'ab' }}", "ababab"),
    GIVES("{{ 'ab' * 0 }}", ""),
    GIVES("{{ 'ab' * -1 }}", ""),
    GIVES("{{ 'ab' * true }}", "ab"),
    GIVES("{{ '' * 5 }}", ""),
    GIVES("{{ [1, 2] * 2 }}", "[1, 2, 1, 2]"),
    GIVES("{{ 2 * [1, 2] }}", "[1, 2, 1, 2]"),
    GIVES("{{ [1] * 0 }}", "[]"),
    GIVES("{{ [1] * -5 }}", "[]"),
    GIVES("{{ (1,) * 3 }}", "(1, 1, 1)"),
    GIVES("{{ [[]] * 2 }}", "[[], []]"),
    REFUSES("{{ 'a' * 1.5 }}"),
    REFUSES("{{ 'a' * 'b' }}"),
    REFUSES("{{ [1] * [2] }}"),
    REFUSES("{{ 'a' + 1 }}"),
    RAISES("{{ 1 + 'a' }}", "unsupported operand type(s) for +: 'int' and 'str'"),
    REFUSES("{{ 'a' + none }}"),
    RAISES("{{ none + 'a' }}", "unsupported operand type(s) for +: 'NoneType' and 'str'"),
    REFUSES("{{ [1] + (2,) }}"),
    REFUSES("{{ [1] + 'a' }}"),
    REFUSES("{{ (1,) + [1] }}"),
    RAISES("{{ {} + {} }}", "unsupported operand type(s) for +: 'dict' and 'dict'"),
    RAISES("{{ none + none }}",
           "unsupported operand type(s) for +: 'NoneType' and 'NoneType'"),
    RAISES("{{ none * 2 }}", "unsupported operand type(s) for *: 'NoneType' and 'int'"),
    RAISES("{{ [1] - [1] }}", "unsupported operand type(s) for -: 'list' and 'list'"),
    RAISES("{{ 'a' - 'a' }}", "unsupported operand type(s) for -: 'str' and 'str'"),
    RAISES("{{ 'a' / 2 }}", "unsupported operand type(s) for /: 'str' and 'int'"),
    RAISES("{{ 'a' // 2 }}", "unsupported operand type(s) for //: 'str' and 'int'"),
    REFUSES("{{ 'a' ** 2 }}"),
    RAISES("{{ [1] % 2 }}", "unsupported operand type(s) for %: 'list' and 'int'"),
    RAISES("{{ none % 2 }}", "unsupported operand type(s) for %: 'NoneType' and 'int'"),
    RAISES("{{ 5 % 'a' }}", "unsupported operand type(s) for %: 'int' and 'str'"),
    RAISES("{{ range(3) + range(3) }}",
           "unsupported operand type(s) for +: 'range' and 'range'"),
    RAISES("{{ x + 1 }}", "'x' is undefined"),
    RAISES("{{ 1 + x }}", "'x' is undefined"),
    RAISES("{{ x * 2 }}", "'x' is undefined"),
    RAISES("{{ 2 ** x }}", "'x' is undefined"),
    RAISES("{{ x / 1 }}", "'x' is undefined"),
};

static void test_jinja_op_sequences(void **unused)
{
    jinjafix_check(sequences_rows, TK_ARRAY_LEN(sequences_rows));
}

/* A safe string escapes what is added to it. */
static const jinjafix_row markup_rows[] = {
    GIVES("{{ '<'|safe + '<' }}", "<&lt;"),
    GIVES("{{ '<' + '<'|safe }}", "&lt;<"),
    GIVES("{{ '<'|safe + '<'|safe }}", "<<"),
    GIVES("{{ '<'|safe ~ '<' }}", "<<"),
    GIVES("{{ '<'|safe * 2 }}", "<<"),
    GIVES("{{ 2 * '<'|safe }}", "<<"),
    GIVES("{{ ('a'|safe + '&\"\\'>')|string }}", "a&amp;&#34;&#39;&gt;"),
    GIVES("{{ ('<'|e) + '<' }}", "&lt;&lt;"),
    GIVES("{{ '<b>'|e }}", "&lt;b&gt;"),
    GIVES("{{ '<b>'|e|e }}", "&lt;b&gt;"),
    GIVES("{{ '<b>'|forceescape }}", "&lt;b&gt;"),
    GIVES("{{ '<b>'|safe|e }}", "<b>"),
    GIVES("{{ '<b>'|safe|forceescape }}", "&lt;b&gt;"),
    GIVES("{{ ['<'|safe] }}", "[Markup('<')]"),
    GIVES("{{ ('<'|safe)|upper + '<' }}", "<&lt;"),
    GIVES("{{ ('<'|safe)[0] + '<' }}", "<&lt;"),
    GIVES("{{ ('<a'|safe)[0:1] + '<' }}", "<&lt;"),
    GIVES("{{ ('<'|safe).upper() + '<' }}", "<&lt;"),
    GIVES("{{ ('< '|safe).strip() + '<' }}", "<&lt;"),
    GIVES("{{ ('<,>'|safe).split(',')[0] + '<' }}", "<&lt;"),
    GIVES("{{ ('<'|safe)|string + '<' }}", "<&lt;"),
    GIVES("{{ ('<'|safe)|trim + '<' }}", "<&lt;"),
    GIVES("{{ '%s' % '<' + '<' }}", "<<"),
    GIVES("{{ '<' ~ 1|safe }}", "<1"),
    GIVES("{{ '<'|safe is escaped }}", "True"),
    GIVES("{{ '<' is escaped }}", "False"),
    GIVES("{{ ('<'|safe + 'a') is escaped }}", "True"),
    GIVES("{{ ('<'|safe ~ 'a') is escaped }}", "False"),
    GIVES("{{ '<'|e is escaped }}", "True"),
};

static void test_jinja_op_markup(void **unused)
{
    jinjafix_check(markup_rows, TK_ARRAY_LEN(markup_rows));
}

static const jinjafix_row signs_rows[] = {
    GIVES("{{ -5 }}", "-5"),
    GIVES("{{ -(-5) }}", "5"),
    GIVES("{{ -1.5 }}", "-1.5"),
    GIVES("{{ -true }}", "-1"),
    GIVES("{{ -false }}", "0"),
    GIVES("{{ +5 }}", "5"),
    GIVES("{{ +1.5 }}", "1.5"),
    GIVES("{{ +true }}", "1"),
    GIVES("{{ -0 }}", "0"),
    GIVES("{{ -0.0 }}", "-0.0"),
    RAISES("{{ -'a' }}", "bad operand type for unary -: 'str'"),
    RAISES("{{ -none }}", "bad operand type for unary -: 'NoneType'"),
    RAISES("{{ -[] }}", "bad operand type for unary -: 'list'"),
    RAISES("{{ -x }}", "'x' is undefined"),
    REFUSES("{{ +'a' }}"),
    REFUSES("{{ +none }}"),
    GIVES("{{ -9223372036854775807 }}", "-9223372036854775807"),
    GIVES("{{ not none }}", "True"),
};

static void test_jinja_op_signs(void **unused)
{
    jinjafix_check(signs_rows, TK_ARRAY_LEN(signs_rows));
}

static const jinjafix_row modulo_formats_rows[] = {
    GIVES("{{ '%s' % 'a' }}", "a"),
    GIVES("{{ '%s and %s' % ('a', 1) }}", "a and 1"),
    GIVES("{{ '%d' % 5 }}", "5"),
    GIVES("{{ '%%'  % () }}", "%"),
    GIVES("{{ 'a%sb' % none }}", "aNoneb"),
    GIVES("{{ '%s' % [1, 2] }}", "[1, 2]"),
    GIVES("{{ '%s' % (1,) }}", "1"),
    RAISES("{{ '%s %s' % 1 }}", "not enough arguments for format string"),
    RAISES("{{ 'no' % 1 }}", "not all arguments converted during string formatting"),
    GIVES("{{ 'no' % () }}", "no"),
    GIVES("{{ 'no' % [] }}", "no"),
    GIVES("{{ 'no' % {} }}", "no"),
    GIVES("{{ '%(a)s' % {'a': 1} }}", "1"),
    REFUSES("{{ '%(b)s' % {'a': 1} }}"),
    REFUSES("{{ '%(a)s' % 1 }}"),
};

static void test_jinja_op_modulo_formats(void **unused)
{
    jinjafix_check(modulo_formats_rows, TK_ARRAY_LEN(modulo_formats_rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jinja_op_integers),
        cmocka_unit_test(test_jinja_op_floats),
        cmocka_unit_test(test_jinja_op_sequences),
        cmocka_unit_test(test_jinja_op_markup),
        cmocka_unit_test(test_jinja_op_signs),
        cmocka_unit_test(test_jinja_op_modulo_formats),
    };
    return cmocka_run_group_tests_name("jinja_op", tests, NULL, NULL);
}
