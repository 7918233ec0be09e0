/* Expressions to values: names, conditions, logic, calls, as jinja2 3.1.6 evaluates
 * them. */
#include "support/jinjafix.h"

/* Scopes first, then the data, then the global functions. */
static const jinjafix_row names_rows[] = {
    GIVES("{{ d }}", "D"),
    GIVES("{% set d = 1 %}{{ d }}", "1"),
    GIVES("{% set range = 5 %}{{ range }}", "5"),
    GIVES("{{ range is callable }}", "True"),
    GIVES("{{ x }}|{{ x is defined }}", "|False"),
    GIVES("{% for d in [1] %}{{ d }}{% endfor %}{{ d }}", "1D"),
    GIVES("{% macro d() %}m{% endmacro %}{{ d() }}", "m"),
    GIVES(
        "{{ namespace is callable }}{{ lipsum is callable }}{{ cycler is callable }}{{ joiner is callable }}",
        "TrueTrueTrueTrue"),
    GIVES("{{ true }}{{ True }}", "TrueTrue"),
};

static void test_jinja_eval_names(void **unused)
{
    jinjafix_check(names_rows, TK_ARRAY_LEN(names_rows));
}

/* What is not reached is not evaluated. */
static const jinjafix_row short_cuts_rows[] = {
    GIVES("{{ 0 and x.y.z }}", "0"),
    GIVES("{{ 1 or x.y.z }}", "1"),
    RAISES("{{ 1 and x.y.z }}", "'x' is undefined"),
    RAISES("{{ 0 or x.y.z }}", "'x' is undefined"),
    GIVES("{{ 'a' if 1 else x.y.z }}", "a"),
    GIVES("{{ x.y.z if 0 else 'b' }}", "b"),
    RAISES("{{ x.y.z if 1 else 'b' }}", "'x' is undefined"),
    REFUSES("{{ ('a' if 0).x }}"),
    GIVES("{{ ('a' if 0) is defined }}", "False"),
    REFUSES("{{ ('a' if 0) + 'b' }}"),
    GIVES("{{ 1 > 2 > x.y }}", "False"),
    RAISES("{{ 1 < 2 < x.y }}", "'x' is undefined"),
    GIVES("{{ [] and x.y }}", "[]"),
    GIVES("{{ '' or 'b' }}", "b"),
    GIVES("{{ none or 0 }}", "0"),
    GIVES("{{ 0 or none }}", "None"),
    GIVES("{{ 1 and 0 }}", "0"),
    GIVES("{{ '' and 1 }}", ""),
};

static void test_jinja_eval_short_cuts(void **unused)
{
    jinjafix_check(short_cuts_rows, TK_ARRAY_LEN(short_cuts_rows));
}

static const jinjafix_row calls_rows[] = {
    GIVES("{{ dict(a=1, **{'b': 2}) }}", "{'a': 1, 'b': 2}"),
    GIVES("{{ dict(*[{'a': 1}]) }}", "{'a': 1}"),
    GIVES("{{ range(*(2, 5))|list }}", "[2, 3, 4]"),
    REFUSES("{{ dict(*1) }}"),
    REFUSES("{{ dict(**[1]) }}"),
    REFUSES("{{ dict(a=1, **{'a': 2}) }}"),
    GIVES("{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, a=3) }}",
          "(1, 2){'a': 3}"),
    GIVES(
        "{% macro m(x) %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(*[1, 2], **{'b': 3}) }}",
        "(2,){'b': 3}"),
    RAISES("{{ x() }}", "'x' is undefined"),
    RAISES("{{ x.y() }}", "'x' is undefined"),
    RAISES("{{ 'a'.nothing() }}", "'str object' has no attribute 'nothing'"),
    RAISES("{{ none() }}", "'NoneType' object is not callable"),
    RAISES("{{ 1() }}", "'int' object is not callable"),
    RAISES("{{ []() }}", "'list' object is not callable"),
    RAISES("{{ range(1)() }}", "'range' object is not callable"),
    RAISES("{{ {'a': 1}.a() }}", "'int' object is not callable"),
};

static void test_jinja_eval_calls(void **unused)
{
    jinjafix_check(calls_rows, TK_ARRAY_LEN(calls_rows));
}

static const jinjafix_row chains_of_filters_rows[] = {
    GIVES("{{ 'abc'|upper|lower|capitalize }}", "Abc"),
    GIVES("{{ [3, 1, 2]|sort|reverse|list|join('-') }}", "3-2-1"),
    GIVES("{{ 'a b'|replace(' ', '')|length|string|length }}", "1"),
    GIVES("{% filter upper|trim|replace('A', 'b') %} a {% endfilter %}", "b"),
    GIVES("{% set x | trim | upper %} y {% endset %}[{{ x }}]", "[Y]"),
    GIVES("{% filter indent(2, true)|upper %}a\nb{% endfilter %}", "  A\n  B"),
    GIVES("{{ [1, 2]|map('string')|map('upper')|list }}", "['1', '2']"),
    GIVES("{{ [1, 2, 3]|select('odd')|map('string')|join }}", "13"),
};

static void test_jinja_eval_chains_of_filters(void **unused)
{
    jinjafix_check(chains_of_filters_rows, TK_ARRAY_LEN(chains_of_filters_rows));
}

static const jinjafix_row concatenation_rows[] = {
    GIVES("{{ 'a' ~ 1 ~ 1.5 ~ none ~ true }}", "a11.5NoneTrue"),
    GIVES("{{ 'a' ~ [1] ~ {'b': 2} }}", "a[1]{'b': 2}"),
    GIVES("{{ 'a' ~ x ~ 'b' }}", "ab"),
    GIVES("{{ '' ~ '' }}", ""),
    GIVES("{{ x ~ x }}", ""),
    GIVES("{{ 1 ~ -1 }}", "1-1"),
    GIVES("{{ 'a' ~ ('b', 'c') }}", "a('b', 'c')"),
    GIVES("{{ '<'|safe ~ '<' }}", "<<"),
};

static void test_jinja_eval_concatenation(void **unused)
{
    jinjafix_check(concatenation_rows, TK_ARRAY_LEN(concatenation_rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jinja_eval_names),
        cmocka_unit_test(test_jinja_eval_short_cuts),
        cmocka_unit_test(test_jinja_eval_calls),
        cmocka_unit_test(test_jinja_eval_chains_of_filters),
        cmocka_unit_test(test_jinja_eval_concatenation),
    };
    return cmocka_run_group_tests_name("jinja_eval", tests, NULL, NULL);
}
