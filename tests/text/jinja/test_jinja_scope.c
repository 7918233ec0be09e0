/* Scopes: what hides a variable, what leaks, which filters must exist, as jinja2 3.1.6
 * decides when it compiles. */
#include "support/jinjafix.h"

/* A name that a scope sets is undefined there until it is set, even where the data has
 * it. */
static const jinjafix_row hidden_names_rows[] = {
    GIVES("{{ d }}{% set d = 1 %}{{ d }}", "D1"),
    GIVES("{% if 0 %}{{ d }}{% endif %}{% set d = 1 %}{{ d }}", "1"),
    GIVES("{% if 1 %}{% set d = 1 %}{% endif %}{{ d }}", "1"),
    GIVES("{% if 0 %}{% set d = 1 %}{% endif %}{{ d }}", "D"),
    GIVES("{% if 0 %}{% set d = 1 %}{% else %}{% set d = 2 %}{% endif %}{{ d }}", "2"),
    GIVES("{% if 0 %}{% set d = 1 %}{% elif 0 %}{% set d = 2 %}{% endif %}{{ d }}", "D"),
    GIVES(
        "{% if 0 %}{% set d = 1 %}{% elif 0 %}{% set d = 2 %}{% else %}{% set d = 3 %}{% endif %}{{ d }}",
        "3"),
    GIVES("{% set d = d %}{{ d }}", "D"),
    GIVES("{% set d = d ~ '!' %}{{ d }}", "D!"),
    GIVES("{% for x in [1] %}{{ d }}{% endfor %}{% set d = 1 %}", ""),
    GIVES("{% for x in [1] %}{{ d }}{% set d = 1 %}{{ d }}{% endfor %}{{ d }}", "D1D"),
    GIVES(
        "{% for x in [1, 2] %}{% if loop.first %}{% set d = 1 %}{% endif %}[{{ d }}]{% endfor %}",
        "[1][D]"),
    GIVES("{% for x in [1, 2] %}{% set d = x %}{{ d }}{% endfor %}{{ d }}", "12D"),
    GIVES("{% for d in [1] %}{{ d }}{% endfor %}{{ d }}", "1D"),
    GIVES("{% for x in d %}{{ x }}{% set d = 1 %}{% endfor %}", "D"),
    GIVES(
        "{% for x in [1] %}{% for y in [1] %}{{ d }}{% endfor %}{% set d = 1 %}{% endfor %}",
        ""),
    GIVES(
        "{% set d = 1 %}{% for x in [1] %}{{ d }}{% set d = 2 %}{{ d }}{% endfor %}{{ d }}",
        "121"),
    GIVES("{% macro m() %}{{ d }}{% endmacro %}{{ m() }}{% set d = 1 %}{{ m() }}", "1"),
    GIVES("{% macro m() %}{{ d }}{% set d = 1 %}{{ d }}{% endmacro %}{{ m() }}", "D1"),
    GIVES("{% macro m(d) %}{{ d }}{% endmacro %}{{ m(1) }}{{ d }}", "1D"),
    GIVES("{% macro m(d=d) %}{{ d }}{% endmacro %}{{ m() }}", ""),
    GIVES("{% with d = 1 %}{{ d }}{% endwith %}{{ d }}", "1D"),
    GIVES("{% with e = d %}{{ e }}{% set d = 1 %}{{ d }}{% endwith %}{{ d }}", "D1D"),
    GIVES("{% set b %}{{ d }}{% set d = 1 %}{{ d }}{% endset %}{{ b }}{{ d }}", "D1D"),
    GIVES("{% filter upper %}{% set d = 'x' %}{{ d }}{% endfilter %}{{ d }}", "XD"),
    GIVES("{% generation %}{{ d }}{% set d = 1 %}{{ d }}{% endgeneration %}{{ d }}",
          "D1D"),
    GIVES("{% set d, e = 1, 2 %}{{ d }}{{ e }}", "12"),
    GIVES("{{ d if 0 else e }}{% set e = 1 %}", ""),
    GIVES("{% if d %}{{ d }}{% set d = 1 %}{{ d }}{% endif %}{{ d }}", "D11"),
    GIVES(
        "{% if 1 %}{% if 0 %}{% set d = 1 %}{% endif %}{% else %}{% set d = 2 %}{% endif %}{{ d }}",
        "D"),
    GIVES("{% if 1 %}{% for x in [1] %}{% set d = 1 %}{% endfor %}{% endif %}{{ d }}",
          "D"),
    GIVES("{% for x in [] %}{% else %}{{ d }}{% set d = 1 %}{{ d }}{% endfor %}{{ d }}",
          "D1D"),
};

static void test_jinja_scope_hidden_names(void **unused)
{
    jinjafix_check(hidden_names_rows, TK_ARRAY_LEN(hidden_names_rows));
}

/* What is set in a block, and what is seen after it. */
static const jinjafix_row leaks_rows[] = {
    GIVES("{% for x in [1] %}{% endfor %}{{ x }}", ""),
    GIVES("{% for x in [1] %}{% set y = 1 %}{% endfor %}{{ y }}", ""),
    GIVES("{% if 1 %}{% set y = 1 %}{% endif %}{{ y }}", "1"),
    GIVES("{% with y = 1 %}{% endwith %}{{ y }}", ""),
    GIVES("{% with y = 1 %}{% set z = 2 %}{% endwith %}{{ z }}", ""),
    GIVES("{% macro m() %}{% set y = 1 %}{% endmacro %}{{ m() }}{{ y }}", ""),
    GIVES("{% set y = 1 %}{% macro m() %}{{ y }}{% endmacro %}{% set y = 2 %}{{ m() }}",
          "2"),
    GIVES("{% set y = 1 %}{% for x in [1] %}{% set y = 2 %}{% endfor %}{{ y }}", "1"),
    GIVES("{% set y = 1 %}{% if 1 %}{% set y = 2 %}{% endif %}{{ y }}", "2"),
    GIVES(
        "{% set ns = namespace(y=1) %}{% for x in [2, 3] %}{% set ns.y = x %}{% endfor %}{{ ns.y }}",
        "3"),
    GIVES(
        "{% set ns = namespace(y=1) %}{% macro m() %}{% set ns.y = 5 %}{% endmacro %}{{ m() }}{{ ns.y }}",
        "5"),
    GIVES("{% for x in [1, 2] %}{{ y }}{% set y = x %}{{ y }}{% endfor %}", "12"),
    GIVES(
        "{% for x in [1] %}{{ loop.index }}{% for y in [1] %}{{ loop.index }}{% endfor %}{{ loop.length }}{% endfor %}",
        "111"),
    GIVES("{{ loop }}", ""),
    GIVES("{% for x in [1] %}{% endfor %}{{ loop }}", ""),
    GIVES("{% for x in [1] %}{% macro m() %}{{ x }}{% endmacro %}{{ m() }}{% endfor %}",
          "1"),
    GIVES(
        "{% for x in [1, 2] %}{% macro m() %}{{ x }}{% endmacro %}{{ m() }}{% endfor %}",
        "12"),
    GIVES(
        "{% for x in [1] %}{% macro m() %}{{ loop is defined }}{% endmacro %}{{ m() }}{% endfor %}",
        "True"),
    GIVES(
        "{% for x in [1, 2] %}{% set b %}{{ x }}{{ loop.index }}{% endset %}{{ b }}{% endfor %}",
        "1122"),
    GIVES("{% set b %}{% for x in [1] %}{{ x }}{% endfor %}{% endset %}{{ b }}{{ x }}",
          "1"),
    RAISES("{% for loop in [1] %}{{ loop }}{% endfor %}",
           "Can't assign to special loop variable in for-loop target"),
    GIVES(
        "{% for x in [[1], [2]] recursive %}{{ loop.depth }}{{ loop(x) if x is iterable }}{% endfor %}",
        "1212"),
    GIVES("{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}x{% endmacro %}{{ a() }}",
          "x"),
    GIVES("{% if 1 %}{% macro m() %}x{% endmacro %}{% endif %}{{ m() }}", "x"),
    GIVES(
        "{% set a = 1 %}{% macro m(b=a) %}{{ b }}{% endmacro %}{% set a = 2 %}{{ m() }}",
        "2"),
    GIVES(
        "{% macro m() %}{% set q = 1 %}{% macro n() %}{{ q }}{% endmacro %}{{ n() }}{% endmacro %}{{ m() }}",
        "1"),
    GIVES(
        "{% set a = 1 %}{% with a = 2 %}{% with a = 3 %}{{ a }}{% endwith %}{{ a }}{% endwith %}{{ a }}",
        "321"),
    GIVES("{% generation %}{% set g = 1 %}{{ g }}{% endgeneration %}{{ g }}", "1"),
    RAISES("{% call(x) (lambda) %}{% endcall %}", "expected call"),
};

static void test_jinja_scope_leaks(void **unused)
{
    jinjafix_check(leaks_rows, TK_ARRAY_LEN(leaks_rows));
}

/* An unknown filter is an error of the whole template, except below an if. */
static const jinjafix_row known_filters_and_tests_rows[] = {
    RAISES("{{ 1|nothing }}", "No filter named 'nothing'."),
    RAISES("{{ 1 is nothing }}", "No test named 'nothing'."),
    GIVES("{% if 0 %}{{ 1|nothing }}{% endif %}x", "x"),
    GIVES("{% if 0 %}{{ 1 is nothing }}{% endif %}x", "x"),
    RAISES("{% if 1 %}{{ 1|nothing }}{% endif %}x", "No filter named 'nothing' found."),
    RAISES("{% if 1 %}{{ 1 is nothing }}{% endif %}x", "No test named 'nothing' found."),
    GIVES("{% if 1 %}x{% else %}{{ 1|nothing }}{% endif %}", "x"),
    RAISES("{% if 0|nothing %}x{% endif %}y", "No filter named 'nothing' found."),
    RAISES("{% if 0 %}x{% elif 0|nothing %}y{% endif %}z",
           "No filter named 'nothing' found."),
    RAISES("{% if 0 %}{% for x in [1] %}{{ x|nothing }}{% endfor %}{% endif %}x",
           "No filter named 'nothing'."),
    RAISES("{% if 0 %}{% macro m() %}{{ 1|nothing }}{% endmacro %}{% endif %}x",
           "No filter named 'nothing'."),
    RAISES("{% if 0 %}{% filter nothing %}x{% endfilter %}{% endif %}y",
           "No filter named 'nothing'."),
    GIVES("{{ 1|nothing if 0 else 2 }}", "2"),
    GIVES("{{ 2 if 1 else 1|nothing }}", "2"),
    RAISES("{{ 1 if 1|nothing else 2 }}", "No filter named 'nothing' found."),
    RAISES("{% for x in [] %}{{ x|nothing }}{% endfor %}", "No filter named 'nothing'."),
    RAISES("{% macro m() %}{{ 1|nothing }}{% endmacro %}", "No filter named 'nothing'."),
    RAISES("{% set x = 1|nothing %}", "No filter named 'nothing'."),
    RAISES("{% set x | nothing %}{% endset %}", "No filter named 'nothing'."),
    RAISES("{% filter nothing %}{% endfilter %}", "No filter named 'nothing'."),
    REFUSES("{{ [1]|map('nothing')|list }}"),
    RAISES("{{ [1]|select('nothing')|list }}", "No test named 'nothing'."),
    GIVES("{{ []|map('nothing')|list }}", "[]"),
    GIVES("{{ [1]|map('upper')|list }}", "['1']"),
};

static void test_jinja_scope_known_filters_and_tests(void **unused)
{
    jinjafix_check(known_filters_and_tests_rows,
                   TK_ARRAY_LEN(known_filters_and_tests_rows));
}

/* A name that every branch sets is hidden from what runs before, one that some set is
 * not. */
static const jinjafix_row all_branches_rows[] = {
    GIVES(
        "{% macro m() %}[{{ d }}]{% endmacro %}{{ m() }}{% if 1 %}{% set d = 1 %}{% set e = 1 %}{% else %}{% set d = 2 %}{% set e = 2 %}{% endif %}{{ d }}{{ e }}",
        "[D]11"),
    GIVES(
        "{% macro m() %}[{{ d }}]{% endmacro %}{{ m() }}{% if 1 %}{% set e = 1 %}{% set d = 1 %}{% else %}{% set d = 2 %}{% set e = 2 %}{% endif %}{{ d }}{{ e }}",
        "[D]11"),
    GIVES(
        "{% macro m() %}[{{ d }}]{% endmacro %}{{ m() }}{% if 1 %}{% set d = 1 %}{% else %}{% set e = 2 %}{% endif %}{{ d }}{{ e }}",
        "[D]1"),
    GIVES(
        "{% macro m() %}[{{ d }}]{% endmacro %}{{ m() }}{% if 0 %}{% set d = 1 %}{% elif 0 %}{% set d = 2 %}{% else %}{% set d = 3 %}{% endif %}{{ d }}",
        "[D]3"),
    GIVES(
        "{% macro m() %}[{{ d }}]{% endmacro %}{{ m() }}{% if 0 %}{% set d = 1 %}{% elif 0 %}{% set d = 2 %}{% endif %}{{ d }}",
        "[D]D"),
    GIVES(
        "{% macro m() %}[{{ d }}]{% endmacro %}{{ m() }}{% if 1 %}{% if 1 %}{% set d = 1 %}{% else %}{% set d = 2 %}{% endif %}{% else %}{% set d = 3 %}{% endif %}{{ d }}",
        "[D]1"),
    GIVES(
        "{% macro m() %}[{{ d }}]{% endmacro %}{{ m() }}{% if 1 %}{% set a, b, c, d, e, f, g, h, i, j, k, l, n, o, p, q, r, s = range(18) %}{% else %}{% set a, b, c, d, e, f, g, h, i, j, k, l, n, o, p, q, r, s = range(18) %}{% endif %}{{ d }}{{ s }}",
        "[D]317"),
    GIVES(
        "{% macro m() %}[{{ d }}]{% endmacro %}{{ m() }}{% for x in [1] %}{% set d = x %}{% endfor %}{{ d }}",
        "[D]D"),
    GIVES("{% macro m() %}[{{ d }}]{% endmacro %}{{ m() }}{% set d = 1 %}{{ m() }}",
          "[][1]"),
};

static void test_jinja_scope_all_branches(void **unused)
{
    jinjafix_check(all_branches_rows, TK_ARRAY_LEN(all_branches_rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jinja_scope_hidden_names),
        cmocka_unit_test(test_jinja_scope_leaks),
        cmocka_unit_test(test_jinja_scope_known_filters_and_tests),
        cmocka_unit_test(test_jinja_scope_all_branches),
    };
    return cmocka_run_group_tests_name("jinja_scope", tests, NULL, NULL);
}
