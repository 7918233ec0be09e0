/* Values: truth, length, iteration, what a template sees of each type, as jinja2 3.1.6
 * has it. */
#include "support/jinjafix.h"

static const jinjafix_row truth_rows[] = {
    GIVES("{{ 'y' if none else 'n' }}", "n"),
    GIVES("{{ 'y' if true else 'n' }}", "y"),
    GIVES("{{ 'y' if 0 else 'n' }}", "n"),
    GIVES("{{ 'y' if -1 else 'n' }}", "y"),
    GIVES("{{ 'y' if 0.0 else 'n' }}", "n"),
    GIVES("{{ 'y' if -0.0 else 'n' }}", "n"),
    GIVES("{{ 'y' if 0.5 else 'n' }}", "y"),
    GIVES("{{ 'y' if '' else 'n' }}", "n"),
    GIVES("{{ 'y' if ' ' else 'n' }}", "y"),
    GIVES("{{ 'y' if '0' else 'n' }}", "y"),
    GIVES("{{ 'y' if [] else 'n' }}", "n"),
    GIVES("{{ 'y' if [0] else 'n' }}", "y"),
    GIVES("{{ 'y' if () else 'n' }}", "n"),
    GIVES("{{ 'y' if (0,) else 'n' }}", "y"),
    GIVES("{{ 'y' if {} else 'n' }}", "n"),
    GIVES("{{ 'y' if {'a': 0} else 'n' }}", "y"),
    GIVES("{{ 'y' if {}.items() else 'n' }}", "n"),
    GIVES("{{ 'y' if {'a': 0}.items() else 'n' }}", "y"),
    GIVES("{{ 'y' if range(0) else 'n' }}", "n"),
    GIVES("{{ 'y' if range(1) else 'n' }}", "y"),
    GIVES("{{ 'y' if x else 'n' }}", "n"),
    RAISES("{{ 'y' if x.y else 'n' }}", "'x' is undefined"),
    GIVES("{{ 'y' if namespace() else 'n' }}", "y"),
    GIVES("{{ 'y' if range else 'n' }}", "y"),
    GIVES("{{ 'y' if 'a'.upper else 'n' }}", "y"),
    GIVES("{{ 'y' if []|map('upper') else 'n' }}", "y"),
    GIVES("{% for x in [1] %}{{ 'y' if loop else 'n' }}{% endfor %}", "y"),
    GIVES("{% macro m() %}{% endmacro %}{{ 'y' if m else 'n' }}", "y"),
    GIVES("{{ 'y' if cycler(1) else 'n' }}", "y"),
    GIVES("{{ 'y' if 1e400 else 'n' }}", "y"),
};

static void test_jinja_value_truth(void **unused)
{
    jinjafix_check(truth_rows, TK_ARRAY_LEN(truth_rows));
}

static const jinjafix_row length_rows[] = {
    GIVES("{{ ''|length }}", "0"),
    GIVES("{{ 'abc'|length }}", "3"),
    GIVES("{{ 'äöü😀'|length }}", "4"),
    GIVES("{{ []|length }}", "0"),
    GIVES("{{ [1, [2, 3]]|length }}", "2"),
    GIVES("{{ (1,)|length }}", "1"),
    GIVES("{{ {'a': 1, 'b': 2}|length }}", "2"),
    GIVES("{{ {'a': 1}.items()|length }}", "1"),
    GIVES("{{ {'a': 1}.keys()|length }}", "1"),
    GIVES("{{ range(5)|length }}", "5"),
    GIVES("{{ range(0, 10, 3)|length }}", "4"),
    GIVES("{{ range(5, 0)|length }}", "0"),
    GIVES("{{ x|length }}", "0"),
    RAISES("{{ none|length }}", "object of type 'NoneType' has no len()"),
    RAISES("{{ 5|length }}", "object of type 'int' has no len()"),
    RAISES("{{ 1.5|length }}", "object of type 'float' has no len()"),
    RAISES("{{ true|length }}", "object of type 'bool' has no len()"),
    GIVES("{% for x in [1, 2] %}{{ loop|length }}{% endfor %}", "22"),
    RAISES("{{ [1]|map('string')|length }}", "object of type 'generator' has no len()"),
    RAISES("{{ namespace()|length }}", "object of type 'Namespace' has no len()"),
    RAISES("{{ range|length }}", "object of type 'function' has no len()"),
};

static void test_jinja_value_length(void **unused)
{
    jinjafix_check(length_rows, TK_ARRAY_LEN(length_rows));
}

/* What a for loop sees. */
static const jinjafix_row iteration_rows[] = {
    GIVES("{{ 'aé😀'|list }}", "['a', 'é', '😀']"),
    GIVES("{{ ''|list }}", "[]"),
    GIVES("{{ [1, 'a']|list }}", "[1, 'a']"),
    GIVES("{{ (1, 2)|list }}", "[1, 2]"),
    GIVES("{{ {'a': 1, 'b': 2}|list }}", "['a', 'b']"),
    GIVES("{{ {'a': 1}.items()|list }}", "[('a', 1)]"),
    GIVES("{{ {'a': 1}.keys()|list }}", "['a']"),
    GIVES("{{ {'a': 1}.values()|list }}", "[1]"),
    GIVES("{{ range(4)|list }}", "[0, 1, 2, 3]"),
    GIVES("{{ range(4, 0, -2)|list }}", "[4, 2]"),
    GIVES("{{ range(-2, 2)|list }}", "[-2, -1, 0, 1]"),
    GIVES("{{ range(0)|list }}", "[]"),
    GIVES("{{ x|list }}", "[]"),
    RAISES("{{ none|list }}", "'NoneType' object is not iterable"),
    RAISES("{{ 5|list }}", "'int' object is not iterable"),
    RAISES("{{ true|list }}", "'bool' object is not iterable"),
    RAISES("{{ 1.5|list }}", "'float' object is not iterable"),
    RAISES("{{ range|list }}", "'function' object is not iterable"),
    RAISES("{{ namespace(a=1)|list }}", "'Namespace' object is not iterable"),
    GIVES("{% set m = [1, 2]|map('string') %}{{ m|list }}{{ m|list }}", "['1', '2'][]"),
    GIVES(
        "{% set m = [1, 2]|select %}{% for x in m %}{{ x }}{% endfor %}{% for x in m %}{{ x }}{% endfor %}",
        "12"),
    GIVES("{% set m = [1, 2]|map('string') %}{{ m|first }}{{ m|list }}", "1['2']"),
    RAISES("{% set m = [1, none]|map('length') %}{{ m|first }}",
           "object of type 'int' has no len()"),
    GIVES("{% for c in 'añ' %}[{{ c }}]{% endfor %}", "[a][ñ]"),
    GIVES("{% for k in {'b': 1, 'a': 2} %}{{ k }}{% endfor %}", "ba"),
    GIVES("{% for x in range(3) %}{{ x }}{% endfor %}", "012"),
    RAISES("{% for x in none %}{% endfor %}", "'NoneType' object is not iterable"),
    RAISES("{% for x in 3 %}{% endfor %}", "'int' object is not iterable"),
    GIVES("{% for x in y %}{% else %}empty{% endfor %}", "empty"),
};

static void test_jinja_value_iteration(void **unused)
{
    jinjafix_check(iteration_rows, TK_ARRAY_LEN(iteration_rows));
}

/* A string that grows in place keeps older views of it. */
static const jinjafix_row growing_strings_rows[] = {
    GIVES(
        "{% set a = 'x' ~ 'y' %}{% set b = a ~ '1' %}{% set c = a ~ '2' %}{{ a }} {{ b }} {{ c }}",
        "xy xy1 xy2"),
    GIVES(
        "{% set ns = namespace(s='') %}{% for i in range(5) %}{% set ns.s = ns.s ~ i %}{% endfor %}{{ ns.s }}",
        "01234"),
    GIVES(
        "{% set ns = namespace(s='', l=[]) %}{% for i in range(3) %}{% set ns.s = ns.s + 'a' %}{% set ns.l = ns.l + [ns.s] %}{% endfor %}{{ ns.l }}",
        "['a', 'aa', 'aaa']"),
    GIVES(
        "{% set a = 'ab' + 'cd' %}{% set b = a + a %}{% set c = a + b %}{{ a }} {{ b }} {{ c }}",
        "abcd abcdabcd abcdabcdabcd"),
    GIVES(
        "{% set a = 'ab' + 'cd' %}{% set b = a[1:3] + 'x' %}{% set c = a + 'y' %}{{ a }} {{ b }} {{ c }}",
        "abcd bcx abcdy"),
    GIVES("{% set a = '' + '' %}{% set b = a + 'x' %}[{{ a }}{{ b }}]", "[x]"),
    GIVES(
        "{% set a = 'q' * 3 %}{% set b = a + '' %}{% set c = b + 'r' %}{{ a }}{{ b }}{{ c }}",
        "qqqqqqqqqr"),
    GIVES(
        "{% set a = 'é' + 'ü' %}{% set b = a + 'ß' %}{{ a|length }}{{ b|length }}{{ b }}",
        "23éüß"),
};

static void test_jinja_value_growing_strings(void **unused)
{
    jinjafix_check(growing_strings_rows, TK_ARRAY_LEN(growing_strings_rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jinja_value_truth),
        cmocka_unit_test(test_jinja_value_length),
        cmocka_unit_test(test_jinja_value_iteration),
        cmocka_unit_test(test_jinja_value_growing_strings),
    };
    return cmocka_run_group_tests_name("jinja_value", tests, NULL, NULL);
}
