/* Statements: what each prints and sets, as jinja2 3.1.6 runs them. */
#include "support/jinjafix.h"

static const jinjafix_row loops_rows[] = {
    GIVES("{% for a in [1, 2, 3] %}{{ a }}{% if not loop.last %},{% endif %}{% endfor %}",
          "1,2,3"),
    GIVES(
        "{% for a in [1, 2, 3] %}{% if a == 2 %}{% continue %}{% endif %}{{ a }}{% else %}e{% endfor %}",
        "13"),
    GIVES(
        "{% for a in [1, 2, 3] %}{% if a == 2 %}{% break %}{% endif %}{{ a }}{% else %}e{% endfor %}",
        "1"),
    GIVES("{% for a in [] %}{% else %}e{% endfor %}", "e"),
    GIVES("{% for a in [1, 2] if a > 5 %}x{% else %}e{% endfor %}", "e"),
    GIVES(
        "{% for a in [1, 2, 3] if a != 2 %}{{ loop.index }}{{ a }}{{ loop.length }}{{ loop.last }} {% endfor %}",
        "112False 232True "),
    GIVES("{% for a, b in [(1, 2), (3, 4)] if a > 1 %}{{ a }}{{ b }}{% endfor %}", "34"),
    GIVES(
        "{% for a in [1, 2] %}{% for b in [3, 4] %}{{ a }}{{ b }}{{ loop.index }} {% endfor %}{{ loop.index }}|{% endfor %}",
        "131 142 1|231 242 2|"),
    GIVES(
        "{% for a in [1, 2] %}{% for b in [3, 4] %}{% if b == 4 %}{% break %}{% endif %}{{ a }}{{ b }} {% endfor %}{% endfor %}",
        "13 23 "),
    GIVES(
        "{% for a in [1, 2] %}{% for b in [3, 4] %}{% if b == 3 %}{% continue %}{% endif %}{{ a }}{{ b }} {% endfor %}{% endfor %}",
        "14 24 "),
    GIVES(
        "{% for a in [1, 2] %}{% if 1 %}{% if 1 %}{% break %}{% endif %}{% endif %}x{% endfor %}y",
        "y"),
    GIVES("{% for a, b in {'x': 1}.items() %}{{ a }}{{ b }}{% endfor %}", "x1"),
    REFUSES("{% for a, b in [1, 2] %}{% endfor %}"),
    REFUSES("{% for a, b in [[1]] %}{% endfor %}"),
    RAISES("{% for a, b in [[1, 2, 3]] %}{% endfor %}",
           "too many values to unpack (expected 2)"),
    GIVES("{% for a, b in ['xy', 'zw'] %}{{ a }}{{ b }}{% endfor %}", "xyzw"),
    REFUSES("{% for a, b in [x] %}{% endfor %}"),
    GIVES(
        "{% for a in [[1, [2, [3]]]] recursive %}{{ loop(a) if a is iterable and a is not string else a }}{% endfor %}",
        "123"),
    GIVES(
        "{% for a in [{'n': 1, 'c': [{'n': 2, 'c': []}]}] recursive %}{{ a.n }}{{ loop.depth }}[{{ loop(a.c) }}]{% endfor %}",
        "11[22[]]"),
    RAISES("{% for a in [1, 2] if loop.index %}{% endfor %}", "'loop' is undefined"),
    GIVES(
        "{% for a in [3, 4] if a == 4 %}{{ loop.previtem is defined }}{{ loop.first }}{% endfor %}",
        "FalseTrue"),
    GIVES("{% for a in range(3) %}{% set b = a %}{{ b }}{% endfor %}{{ b is defined }}",
          "012False"),
    GIVES("{% for a in 'ab' %}{% for a in 'cd' %}{{ a }}{% endfor %}{{ a }}{% endfor %}",
          "cdacdb"),
};

static void test_jinja_exec_loops(void **unused)
{
    jinjafix_check(loops_rows, TK_ARRAY_LEN(loops_rows));
}

static const jinjafix_row assignments_rows[] = {
    REFUSES("{% set a = b = 1 %}"),
    GIVES("{% set a, b = 'xy' %}{{ a }}{{ b }}", "xy"),
    GIVES("{% set a, b = {'p': 1, 'q': 2} %}{{ a }}{{ b }}", "pq"),
    GIVES("{% set a, (b, c) = 1, (2, 3) %}{{ a }}{{ b }}{{ c }}", "123"),
    GIVES("{% set a = [1] %}{% set b = a %}{{ a == b }}", "True"),
    GIVES("{% set a %}1{% endset %}{{ a + '2' }}", "12"),
    GIVES("{% set a | int %}5{% endset %}{{ a + 1 }}", "6"),
    GIVES("{% set a %}{% for x in [1, 2] %}{{ x }}{% endfor %}{% endset %}{{ a|length }}",
          "2"),
    GIVES("{% set ns = namespace(a=1) %}{% set ns.a = ns.a + 1 %}{{ ns.a }}", "2"),
    GIVES("{% set ns = namespace(a=1) %}{% set ns.b = 2 %}{{ ns.b }}", "2"),
    RAISES("{% set ns = 5 %}{% set ns.a = 1 %}",
           "cannot assign attribute on non-namespace object"),
    RAISES("{% set x.y = 1 %}", "cannot assign attribute on non-namespace object"),
    REFUSES("{% set a, b = 1 %}"),
    REFUSES("{% set a, b = none %}"),
    REFUSES("{% set a, b = x %}"),
    RAISES("{% set a, b = 1, 2, 3 %}", "too many values to unpack (expected 2)"),
};

static void test_jinja_exec_assignments(void **unused)
{
    jinjafix_check(assignments_rows, TK_ARRAY_LEN(assignments_rows));
}

static const jinjafix_row macros_rows[] = {
    GIVES(
        "{% macro m(a) %}{% if a > 0 %}{{ a }}{{ m(a - 1) }}{% endif %}{% endmacro %}{{ m(3) }}",
        "321"),
    GIVES(
        "{% macro m(a, b='x', c=none) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }}{{ m(1, 2) }}{{ m(1, c=3) }}",
        "1xNone12None1x3"),
    GIVES("{% macro m() %}  a  {% endmacro %}[{{ m() }}][{{ m()|trim }}]", "[  a  ][a]"),
    GIVES("{% macro m() %}a{% endmacro %}{{ m() ~ 'b' }}{{ m()|upper }}{{ m() == 'a' }}",
          "abATrue"),
    GIVES("{% macro m(x) %}{{ x|default('none') }}{% endmacro %}{{ m() }}{{ m(1) }}",
          "none1"),
    RAISES("{% macro m(x) %}{{ x.y }}{% endmacro %}{{ m() }}",
           "parameter 'x' was not provided"),
    RAISES("{% macro m(x) %}{{ x }}{% endmacro %}{{ m(1, 2) }}",
           "macro 'm' takes not more than 1 argument(s)"),
    RAISES("{% macro m(x) %}{{ x }}{% endmacro %}{{ m(y=1) }}",
           "macro 'm' takes no keyword argument 'y'"),
    REFUSES("{% macro m(x) %}{{ x }}{% endmacro %}{{ m(1, x=2) }}"),
    GIVES("{% macro m() %}{{ varargs|length }}{% endmacro %}{{ m(1, 2, 3) }}", "3"),
    GIVES("{% macro m() %}{{ kwargs.a }}{% endmacro %}{{ m(a=1) }}", "1"),
    GIVES("{% macro m(a) %}{{ varargs }}{% endmacro %}{{ m(1, 2, 3) }}", "(2, 3)"),
    GIVES("{% macro m(a) %}{{ kwargs }}{% endmacro %}{{ m(a=1, b=2) }}", "{'b': 2}"),
    GIVES(
        "{% macro m() %}{% if caller %}{{ caller() }}{% else %}none{% endif %}{% endmacro %}{{ m() }}",
        "none"),
    GIVES(
        "{% macro m() %}<{{ caller() }}>{% endmacro %}{% call m() %}{% set q = 1 %}{{ q }}{% endcall %}",
        "<1>"),
    GIVES(
        "{% macro m() %}{{ caller() }}{{ caller() }}{% endmacro %}{% for x in [1, 2] %}{% call m() %}{{ x }}{% endcall %}{% endfor %}",
        "1122"),
    GIVES(
        "{% macro m(x) %}{{ caller(x) }}{% endmacro %}{% call(y) m(5) %}{{ y }}{% endcall %}",
        "5"),
    GIVES("{% macro m(a, b=a) %}{{ b }}{% endmacro %}{{ m(7) }}", "7"),
    GIVES(
        "{% macro a(x) %}[{{ x }}]{% endmacro %}{% macro b(x) %}{{ a(x) }}{{ a(x) }}{% endmacro %}{{ b(1) }}",
        "[1][1]"),
};

static void test_jinja_exec_macros(void **unused)
{
    jinjafix_check(macros_rows, TK_ARRAY_LEN(macros_rows));
}

static const jinjafix_row blocks_rows[] = {
    GIVES("{% filter upper %}a{% if 1 %}b{% endif %}{% endfilter %}c", "ABc"),
    GIVES("{% filter trim %}  x  {% endfilter %}", "x"),
    GIVES("{% with %}{% set z = 1 %}{{ z }}{% endwith %}{{ z }}", "1"),
    GIVES("{% with a = [1] %}{% with b = a %}{{ b }}{% endwith %}{% endwith %}", "[1]"),
    GIVES("{% with a = 1, b = a %}{{ b }}{% endwith %}", ""),
    GIVES("{% generation %}x{% for a in [1, 2] %}{{ a }}{% endfor %}{% endgeneration %}",
          "x12"),
    GIVES(
        "{% for a in [1, 2] %}{% generation %}{{ a }}{{ loop.index }}{% endgeneration %}{% endfor %}",
        "1122"),
    GIVES("{% macro m() %}{% generation %}g{% endgeneration %}{% endmacro %}{{ m() }}",
          "g"),
    GIVES("{% if 0 %}a{% elif 0 %}b{% elif 1 %}c{% elif 1 / 0 %}d{% endif %}", "c"),
    RAISES("{% if x %}a{% endif %}{% if x.y %}b{% endif %}c", "'x' is undefined"),
    RAISES("{% if x.y.z %}{% endif %}", "'x' is undefined"),
    GIVES("{% raw %}{{ a }}{% endraw %}", "{{ a }}"),
};

static void test_jinja_exec_blocks(void **unused)
{
    jinjafix_check(blocks_rows, TK_ARRAY_LEN(blocks_rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jinja_exec_loops),
        cmocka_unit_test(test_jinja_exec_assignments),
        cmocka_unit_test(test_jinja_exec_macros),
        cmocka_unit_test(test_jinja_exec_blocks),
    };
    return cmocka_run_group_tests_name("jinja_exec", tests, NULL, NULL);
}
