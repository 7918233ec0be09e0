/* Statements: what jinja2 3.1.6 accepts, what it makes of it, what it refuses. */
#include "support/jinjafix.h"

static const jinjafix_row if_rows[] = {
    GIVES("{% if 1 %}a{% endif %}", "a"),
    GIVES("{% if 0 %}a{% else %}b{% endif %}", "b"),
    GIVES("{% if 0 %}a{% elif 1 %}b{% else %}c{% endif %}", "b"),
    GIVES("{% if 0 %}a{% elif 0 %}b{% elif 0 %}c{% else %}d{% endif %}", "d"),
    GIVES("{% if 0 %}a{% elif 0 %}b{% endif %}c", "c"),
    GIVES("{% if 0, 1 %}tuple{% endif %}", "tuple"),
    GIVES("{% if (1 if 0 else 0) %}a{% else %}b{% endif %}", "b"),
    REFUSES("{% if 1 if 0 else 0 %}a{% endif %}"),
    REFUSES("{% if %}a{% endif %}"),
    REFUSES("{% if 1 %}a"),
    REFUSES("{% if 1 %}a{% else %}b"),
    REFUSES("{% if 1 %}a{% endfor %}"),
    REFUSES("{% if 1 %}a{% elif %}b{% endif %}"),
    REFUSES("{% if 1 %}a{% else %}b{% elif 1 %}c{% endif %}"),
    RAISES("{% else %}", "Encountered unknown tag 'else'."),
    RAISES("{% elif 1 %}", "Encountered unknown tag 'elif'."),
    RAISES("{% endif %}", "Encountered unknown tag 'endif'."),
    GIVES("{% if 1 %}{% if 0 %}a{% else %}b{% endif %}c{% endif %}d", "bcd"),
    REFUSES("{% if 1 %}a{% else if 1 %}b{% endif %}"),
};

static void test_jinja_parse_if(void **unused)
{
    jinjafix_check(if_rows, TK_ARRAY_LEN(if_rows));
}

static const jinjafix_row for_rows[] = {
    GIVES("{% for a in [1, 2] %}{{ a }}{% endfor %}", "12"),
    GIVES("{% for a, b in [(1, 2)] %}{{ a }}{{ b }}{% endfor %}", "12"),
    GIVES("{% for (a, b) in [(1, 2)] %}{{ a }}{{ b }}{% endfor %}", "12"),
    GIVES("{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}", "123"),
    GIVES("{% for a in 1, 2, 3 %}{{ a }}{% endfor %}", "123"),
    GIVES("{% for a in [] %}x{% else %}none{% endfor %}", "none"),
    GIVES("{% for a in [1, 2, 3] if a > 1 %}{{ a }}{% else %}none{% endfor %}", "23"),
    GIVES("{% for a in [1, 2] if a > 5 %}{{ a }}{% else %}none{% endfor %}", "none"),
    GIVES("{% for a in ([1] if 1 else [2]) %}{{ a }}{% endfor %}", "1"),
    GIVES("{% for a in [1] recursive %}{{ a }}{% endfor %}", "1"),
    GIVES("{% for a in [1, 2] if a == 2 recursive %}{{ a }}{% endfor %}", "2"),
    REFUSES("{% for 1 in [1] %}{% endfor %}"),
    REFUSES("{% for a.b in [1] %}{% endfor %}"),
    REFUSES("{% for a[0] in [1] %}{% endfor %}"),
    REFUSES("{% for 'a' in [1] %}{% endfor %}"),
    REFUSES("{% for a [1] %}{% endfor %}"),
    REFUSES("{% for a in %}{% endfor %}"),
    REFUSES("{% for in [1] %}{% endfor %}"),
    REFUSES("{% for a in [1] %}"),
    REFUSES("{% for a in [1] %}{% endif %}"),
    REFUSES("{% for a in [1] %}{% else %}{% else %}{% endfor %}"),
    RAISES("{% endfor %}", "Encountered unknown tag 'endfor'."),
    GIVES(
        "{% for a in [1, 2, 3] %}{% if a == 2 %}{% break %}{% endif %}{{ a }}{% endfor %}",
        "1"),
    GIVES(
        "{% for a in [1, 2, 3] %}{% if a == 2 %}{% continue %}{% endif %}{{ a }}{% endfor %}",
        "13"),
    REFUSES("{% continue %}"),
    REFUSES("{% if 1 %}{% break %}{% endif %}"),
    REFUSES("{% for a in [1] %}{% endfor %}{% break %}"),
    GIVES("{% for a in [1] %}x{% else %}{% endfor %}", "x"),
};

static void test_jinja_parse_for(void **unused)
{
    jinjafix_check(for_rows, TK_ARRAY_LEN(for_rows));
}

static const jinjafix_row set_rows[] = {
    GIVES("{% set a = 1 %}{{ a }}", "1"),
    GIVES("{% set a, b = 1, 2 %}{{ a }}{{ b }}", "12"),
    GIVES("{% set (a, b) = [1, 2] %}{{ a }}{{ b }}", "12"),
    GIVES("{% set a = 1, 2 %}{{ a }}", "(1, 2)"),
    GIVES("{% set a = (1,) %}{{ a }}", "(1,)"),
    GIVES("{% set a = 1 if 0 else 2 %}{{ a }}", "2"),
    GIVES("{% set a %}x{{ 1 }}y{% endset %}{{ a }}", "x1y"),
    GIVES("{% set a | upper %}x{% endset %}{{ a }}", "X"),
    GIVES("{% set a | upper | replace('X', 'zz') %}x{% endset %}{{ a }}", "zz"),
    GIVES("{% set a %}{% endset %}[{{ a }}]", "[]"),
    GIVES("{% set ns = namespace(x=1) %}{% set ns.x = 2 %}{{ ns.x }}", "2"),
    GIVES("{% set ns = namespace() %}{% set ns.y %}block{% endset %}{{ ns.y }}", "block"),
    REFUSES("{% set 1 = 2 %}"),
    REFUSES("{% set a b = 1 %}"),
    REFUSES("{% set a = %}"),
    RAISES("{% set = 1 %}", "unexpected '='"),
    REFUSES("{% set a.b.c = 1 %}"),
    REFUSES("{% set a['b'] = 1 %}"),
    RAISES("{% set d = {} %}{% set d.x = 1 %}",
           "cannot assign attribute on non-namespace object"),
    REFUSES("{% set a %}x"),
    REFUSES("{% set a, b = [1] %}"),
    RAISES("{% set a, b = [1, 2, 3] %}", "too many values to unpack (expected 2)"),
    REFUSES("{% set true = 1 %}"),
    REFUSES("{% set none = 1 %}"),
    REFUSES("{% set a + 1 %}"),
};

static void test_jinja_parse_set(void **unused)
{
    jinjafix_check(set_rows, TK_ARRAY_LEN(set_rows));
}

static const jinjafix_row macro_and_call_rows[] = {
    GIVES("{% macro m() %}x{% endmacro %}{{ m() }}", "x"),
    GIVES("{% macro m(a) %}[{{ a }}]{% endmacro %}{{ m(1) }}{{ m() }}{{ m(a=2) }}",
          "[1][][2]"),
    GIVES(
        "{% macro m(a, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}{{ m(1, 3) }}{{ m(1, b=4) }}",
        "121314"),
    GIVES("{% macro m(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}", "11"),
    RAISES("{% macro m(a=1, b) %}{% endmacro %}",
           "non-default argument follows default argument"),
    REFUSES("{% macro m(a b) %}{% endmacro %}"),
    REFUSES("{% macro m(1) %}{% endmacro %}"),
    REFUSES("{% macro m %}{% endmacro %}"),
    REFUSES("{% macro m( %}{% endmacro %}"),
    REFUSES("{% macro 1() %}{% endmacro %}"),
    REFUSES("{% macro m() %}x"),
    GIVES("{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}body{% endcall %}",
          "body"),
    GIVES(
        "{% macro m() %}{{ caller(1, 2) }}{% endmacro %}{% call(a, b) m() %}{{ a }}-{{ b }}{% endcall %}",
        "1-2"),
    GIVES(
        "{% macro m(x) %}{{ x }}{{ caller() }}{% endmacro %}{% call m(5) %}body{% endcall %}",
        "5body"),
    RAISES("{% call 1 %}{% endcall %}", "expected call"),
    RAISES("{% call m %}{% endcall %}", "expected call"),
    REFUSES("{% macro m() %}x{% endmacro %}{% call m() %}b{% endcall %}"),
    REFUSES("{% for a in [1] %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}"),
    GIVES(
        "{% macro m() %}{% for a in [1, 2] %}{{ a }}{% break %}{% endfor %}{% endmacro %}{{ m() }}",
        "1"),
};

static void test_jinja_parse_macro_and_call(void **unused)
{
    jinjafix_check(macro_and_call_rows, TK_ARRAY_LEN(macro_and_call_rows));
}

static const jinjafix_row other_blocks_rows[] = {
    GIVES("{% filter upper %}abc{% endfilter %}", "ABC"),
    GIVES("{% filter upper|replace('A', 'x') %}abc{% endfilter %}", "xBC"),
    GIVES("{% filter replace('a', 'b') %}{{ 'aa' }}{% endfilter %}", "bb"),
    REFUSES("{% filter %}a{% endfilter %}"),
    RAISES("{% filter nothing %}a{% endfilter %}", "No filter named 'nothing'."),
    REFUSES("{% filter upper %}a"),
    GIVES("{% with a = 1 %}{{ a }}{% endwith %}", "1"),
    GIVES("{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}", "12"),
    GIVES("{% with %}x{% endwith %}", "x"),
    GIVES("{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}",
          "211"),
    REFUSES("{% with a %}x{% endwith %}"),
    REFUSES("{% with a = 1 b = 2 %}{% endwith %}"),
    REFUSES("{% with 1 = 2 %}{% endwith %}"),
    GIVES("{% print 1 %}{% print 1, 2 %}{% print 'a' if 0 else 'b' %}", "112b"),
    GIVES("{% generation %}a{{ 1 }}{% endgeneration %}b", "a1b"),
    REFUSES("{% generation %}a"),
    RAISES("{% do 1 %}", "Encountered unknown tag 'do'."),
    RAISES("{% nothing %}", "Encountered unknown tag 'nothing'."),
    RAISES("{% nothing 1 2 %}", "Encountered unknown tag 'nothing'."),
    RAISES("{% endset %}", "Encountered unknown tag 'endset'."),
    REFUSES("{% 1 %}"),
    REFUSES("{% 'a' %}"),
    RAISES("{% a b %}", "Encountered unknown tag 'a'."),
    REFUSES(
        "{% for a in [1] %}{% generation %}{% break %}{% endgeneration %}{% endfor %}"),
};

static void test_jinja_parse_other_blocks(void **unused)
{
    jinjafix_check(other_blocks_rows, TK_ARRAY_LEN(other_blocks_rows));
}

/* What is missing or too much. */
static const jinjafix_row refusals_rows[] = {
    REFUSES("{{ 1 2 }}"),
    REFUSES("{{ a b }}"),
    REFUSES("{{ 'a' 1 }}"),
    REFUSES("{{ (1 }}"),
    REFUSES("{{ [1 }}"),
    REFUSES("{{ [1 2] }}"),
    REFUSES("{{ {'a' 1} }}"),
    RAISES("{{ {'a': } }}", "unexpected '}'"),
    REFUSES("{{ f( }}"),
    RAISES("{{ f(a=1, 2) }}", "invalid syntax for function call expression"),
    RAISES("{{ f(*) }}", "unexpected ')'"),
    RAISES("{{ f(**) }}", "unexpected ')'"),
    REFUSES("{{ a. }}"),
    REFUSES("{{ a.'b' }}"),
    REFUSES("{{ a[] }}"),
    REFUSES("{{ a| }}"),
    REFUSES("{{ a|1 }}"),
    REFUSES("{{ a is }}"),
    REFUSES("{{ a is 1 }}"),
    REFUSES("{{ a is not }}"),
    REFUSES("{{ a if }}"),
    REFUSES("{{ a if 1 else }}"),
    REFUSES("{{ 1 + }}"),
    RAISES("{{ * 1 }}", "unexpected '*'"),
    REFUSES("{{ not }}"),
    REFUSES("{{ 1 and }}"),
    REFUSES("{{ 1 in }}"),
    REFUSES("{{ 1 not 2 }}"),
    RAISES("{{ ~ }}", "unexpected '~'"),
    RAISES("{{ , }}", "unexpected ','"),
    RAISES("{{ a is defined is defined }}", "You cannot chain multiple tests with is"),
    REFUSES("{{ a|upper.x }}"),
};

static void test_jinja_parse_refusals(void **unused)
{
    jinjafix_check(refusals_rows, TK_ARRAY_LEN(refusals_rows));
}

/* Parameters of macros and call blocks. */
static const jinjafix_row signatures_rows[] = {
    REFUSES("{% call(1) m() %}{% endcall %}"),
    REFUSES("{% call(a b) m() %}{% endcall %}"),
    REFUSES("{% call(a m() %}{% endcall %}"),
    RAISES("{% call(a=1, b) m() %}{% endcall %}",
           "non-default argument follows default argument"),
    GIVES(
        "{% macro m() %}{{ caller(1) }}{% endmacro %}{% call(a, b=2) m() %}{{ a }}{{ b }}{% endcall %}",
        "12"),
    GIVES("{% macro m(a=1, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ m() }}{{ m(b=5) }}",
          "1215"),
    REFUSES("{% macro m(a,) %}{{ a }}{% endmacro %}"),
    RAISES("{% macro m(a=) %}{% endmacro %}", "unexpected ')'"),
    REFUSES("{% macro m(*a) %}{% endmacro %}"),
};

static void test_jinja_parse_signatures(void **unused)
{
    jinjafix_check(signatures_rows, TK_ARRAY_LEN(signatures_rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jinja_parse_if),
        cmocka_unit_test(test_jinja_parse_for),
        cmocka_unit_test(test_jinja_parse_set),
        cmocka_unit_test(test_jinja_parse_macro_and_call),
        cmocka_unit_test(test_jinja_parse_other_blocks),
        cmocka_unit_test(test_jinja_parse_refusals),
        cmocka_unit_test(test_jinja_parse_signatures),
    };
    return cmocka_run_group_tests_name("jinja_parse", tests, NULL, NULL);
}
