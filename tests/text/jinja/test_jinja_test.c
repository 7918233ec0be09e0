/* Tests, after "is" and by name, as jinja2 3.1.6 has them. */
#include "support/jinjafix.h"

static const jinjafix_row kinds_rows[] = {
    GIVES(
        "{{ [none is defined, true is defined, 1 is defined, 1.5 is defined, 'a' is defined, [] is defined, () is defined, range(2) is defined, x is defined] }}",
        "[True, True, True, True, True, True, True, True, False]"),
    GIVES(
        "{{ [none is undefined, true is undefined, 1 is undefined, 1.5 is undefined, 'a' is undefined, [] is undefined, () is undefined, range(2) is undefined, x is undefined] }}",
        "[False, False, False, False, False, False, False, False, True]"),
    GIVES(
        "{{ [none is none, true is none, 1 is none, 1.5 is none, 'a' is none, [] is none, () is none, range(2) is none, x is none] }}",
        "[True, False, False, False, False, False, False, False, False]"),
    GIVES(
        "{{ [none is boolean, true is boolean, 1 is boolean, 1.5 is boolean, 'a' is boolean, [] is boolean, () is boolean, range(2) is boolean, x is boolean] }}",
        "[False, True, False, False, False, False, False, False, False]"),
    GIVES(
        "{{ [none is true, true is true, 1 is true, 1.5 is true, 'a' is true, [] is true, () is true, range(2) is true, x is true] }}",
        "[False, True, False, False, False, False, False, False, False]"),
    GIVES(
        "{{ [none is false, true is false, 1 is false, 1.5 is false, 'a' is false, [] is false, () is false, range(2) is false, x is false] }}",
        "[False, False, False, False, False, False, False, False, False]"),
    GIVES(
        "{{ [none is integer, true is integer, 1 is integer, 1.5 is integer, 'a' is integer, [] is integer, () is integer, range(2) is integer, x is integer] }}",
        "[False, False, True, False, False, False, False, False, False]"),
    GIVES(
        "{{ [none is float, true is float, 1 is float, 1.5 is float, 'a' is float, [] is float, () is float, range(2) is float, x is float] }}",
        "[False, False, False, True, False, False, False, False, False]"),
    GIVES(
        "{{ [none is number, true is number, 1 is number, 1.5 is number, 'a' is number, [] is number, () is number, range(2) is number, x is number] }}",
        "[False, True, True, True, False, False, False, False, False]"),
    GIVES(
        "{{ [none is string, true is string, 1 is string, 1.5 is string, 'a' is string, [] is string, () is string, range(2) is string, x is string] }}",
        "[False, False, False, False, True, False, False, False, False]"),
    GIVES(
        "{{ [none is mapping, true is mapping, 1 is mapping, 1.5 is mapping, 'a' is mapping, [] is mapping, () is mapping, range(2) is mapping, x is mapping] }}",
        "[False, False, False, False, False, False, False, False, False]"),
    GIVES(
        "{{ [none is iterable, true is iterable, 1 is iterable, 1.5 is iterable, 'a' is iterable, [] is iterable, () is iterable, range(2) is iterable, x is iterable] }}",
        "[False, False, False, False, True, True, True, True, True]"),
    GIVES(
        "{{ [none is sequence, true is sequence, 1 is sequence, 1.5 is sequence, 'a' is sequence, [] is sequence, () is sequence, range(2) is sequence, x is sequence] }}",
        "[False, False, False, False, True, True, True, True, True]"),
    GIVES(
        "{{ [none is callable, true is callable, 1 is callable, 1.5 is callable, 'a' is callable, [] is callable, () is callable, range(2) is callable, x is callable] }}",
        "[False, False, False, False, False, False, False, False, True]"),
    GIVES(
        "{{ {} is mapping }}{{ {} is iterable }}{{ {} is sequence }}{{ {} is callable }}",
        "TrueTrueTrueFalse"),
    GIVES(
        "{{ {}.items() is iterable }}{{ {}.items() is sequence }}{{ {}.items() is mapping }}",
        "TrueFalseFalse"),
    GIVES("{{ [1]|map('string') is iterable }}", "True"),
    GIVES("{{ [1]|map('string') is sequence }}", "False"),
    GIVES("{{ [1]|map('string') is mapping }}", "False"),
    GIVES("{{ namespace() is mapping }}", "False"),
    GIVES("{{ namespace() is iterable }}", "False"),
    GIVES("{{ range is callable }}", "True"),
    GIVES("{{ 'a'.upper is callable }}", "True"),
    GIVES(
        "{% macro m() %}{% endmacro %}{{ m is callable }}{{ m is defined }}{{ m is iterable }}",
        "TrueTrueFalse"),
    GIVES(
        "{% for a in [1] %}{{ loop is iterable }}{{ loop is sequence }}{{ loop is callable }}{{ loop is mapping }}{% endfor %}",
        "TrueFalseTrueFalse"),
    GIVES("{{ 0 is false }}", "False"),
    GIVES("{{ 1 is true }}", "False"),
    GIVES("{{ '' is none }}", "False"),
};

static void test_jinja_test_kinds(void **unused)
{
    jinjafix_check(kinds_rows, TK_ARRAY_LEN(kinds_rows));
}

static const jinjafix_row relations_rows[] = {
    GIVES("{{ 1 is eq 1 }}", "True"),
    GIVES("{{ 1 is eq 2 }}", "False"),
    GIVES("{{ 1 is equalto 1.0 }}", "True"),
    GIVES("{{ 'a' is equalto 'a' }}", "True"),
    GIVES("{{ 1 is ne 2 }}", "True"),
    GIVES("{{ 1 is lt 2 }}", "True"),
    GIVES("{{ 1 is lessthan 2 }}", "True"),
    GIVES("{{ 2 is le 2 }}", "True"),
    GIVES("{{ 3 is gt 2 }}", "True"),
    GIVES("{{ 3 is greaterthan 4 }}", "False"),
    GIVES("{{ 3 is ge 3 }}", "True"),
    GIVES("{{ 1 is in [1, 2] }}", "True"),
    GIVES("{{ 3 is in [1, 2] }}", "False"),
    GIVES("{{ 'a' is in 'abc' }}", "True"),
    REFUSES("{{ 1 is in none }}"),
    RAISES("{{ 1 is lt 'a' }}", "'<' not supported between instances of 'int' and 'str'"),
    RAISES("{{ none is lt 1 }}",
           "'<' not supported between instances of 'NoneType' and 'int'"),
    GIVES("{{ x is eq y }}", "True"),
    GIVES("{{ x is eq 1 }}", "False"),
    REFUSES("{{ 1 is eq }}"),
    REFUSES("{{ 1 is eq(1, 2) }}"),
    GIVES("{{ [1, 2]|select('eq', 1)|list }}", "[1]"),
    GIVES("{{ [1, 2]|select('==', 1)|list }}", "[1]"),
    GIVES("{{ [1, 2]|select('!=', 1)|list }}", "[2]"),
    GIVES("{{ [1, 2]|select('<', 2)|list }}", "[1]"),
    GIVES("{{ [1, 2]|select('<=', 1)|list }}", "[1]"),
    GIVES("{{ [1, 2]|select('>', 1)|list }}", "[2]"),
    GIVES("{{ [1, 2]|select('>=', 2)|list }}", "[2]"),
    GIVES("{{ [1, 2]|select('ne', 1)|list }}", "[2]"),
    GIVES("{{ [1, 2]|select('lessthan', 2)|list }}", "[1]"),
    GIVES("{{ [1, 2]|select('greaterthan', 1)|list }}", "[2]"),
};

static void test_jinja_test_relations(void **unused)
{
    jinjafix_check(relations_rows, TK_ARRAY_LEN(relations_rows));
}

static const jinjafix_row numbers_rows[] = {
    GIVES("{{ 3 is odd }}", "True"),
    GIVES("{{ 4 is odd }}", "False"),
    GIVES("{{ -3 is odd }}", "True"),
    GIVES("{{ (-3) is odd }}", "True"),
    GIVES("{{ 0 is even }}", "True"),
    GIVES("{{ 1.0 is odd }}", "True"),
    GIVES("{{ 1.5 is odd }}", "False"),
    GIVES("{{ 1.5 is even }}", "False"),
    GIVES("{{ true is odd }}", "True"),
    RAISES("{{ 'a' is odd }}", "not all arguments converted during string formatting"),
    RAISES("{{ none is even }}",
           "unsupported operand type(s) for %: 'NoneType' and 'int'"),
    GIVES("{{ 6 is divisibleby 3 }}", "True"),
    GIVES("{{ 6 is divisibleby 4 }}", "False"),
    GIVES("{{ 6 is divisibleby(3) }}", "True"),
    REFUSES("{{ 6 is divisibleby 0 }}"),
    GIVES("{{ 6.0 is divisibleby 3 }}", "True"),
    RAISES("{{ 'a' is divisibleby 2 }}",
           "not all arguments converted during string formatting"),
    RAISES("{{ x is odd }}", "'x' is undefined"),
};

static void test_jinja_test_numbers(void **unused)
{
    jinjafix_check(numbers_rows, TK_ARRAY_LEN(numbers_rows));
}

static const jinjafix_row identity_and_text_rows[] = {
    GIVES("{{ none is sameas none }}", "True"),
    GIVES("{{ true is sameas true }}", "True"),
    GIVES("{{ true is sameas 1 }}", "False"),
    GIVES("{% set a = [1] %}{{ a is sameas a }}{{ a is sameas [1] }}", "TrueFalse"),
    GIVES("{% set a = {} %}{{ a is sameas a }}{{ a is sameas {} }}", "TrueFalse"),
    GIVES("{{ 1 is sameas 'a' }}", "False"),
    GIVES("{{ 'abc' is lower }}", "True"),
    GIVES("{{ 'aBc' is lower }}", "False"),
    GIVES("{{ 'ABC' is upper }}", "True"),
    GIVES("{{ 'aBC' is upper }}", "False"),
    GIVES("{{ '123' is lower }}", "False"),
    GIVES("{{ '123' is upper }}", "False"),
    GIVES("{{ '' is lower }}", "False"),
    GIVES("{{ 'A1' is upper }}", "True"),
    GIVES("{{ 'É' is upper }}", "True"),
    GIVES("{{ 'é' is lower }}", "True"),
    GIVES("{{ 'ß' is lower }}", "True"),
    GIVES("{{ 1 is lower }}", "False"),
    GIVES("{{ none is lower }}", "False"),
    GIVES("{{ '<'|safe is escaped }}", "True"),
    GIVES("{{ '<' is escaped }}", "False"),
    GIVES("{{ 1 is escaped }}", "False"),
    GIVES("{{ 'upper' is filter }}", "True"),
    GIVES("{{ 'nothing' is filter }}", "False"),
    GIVES("{{ 'odd' is test }}", "True"),
    GIVES("{{ 'nothing' is test }}", "False"),
    GIVES("{{ 'tojson' is filter }}", "True"),
    GIVES("{{ 1 is filter }}", "False"),
    RAISES("{{ [] is filter }}", "unhashable type: 'list'"),
    GIVES("{{ none is test }}", "False"),
    GIVES("{{ x is filter }}", "False"),
};

static void test_jinja_test_identity_and_text(void **unused)
{
    jinjafix_check(identity_and_text_rows, TK_ARRAY_LEN(identity_and_text_rows));
}

/* Too many arguments, or too few. */
static const jinjafix_row arguments_rows[] = {
    REFUSES("{{ 1 is defined(1) }}"),   REFUSES("{{ 1 is undefined(1) }}"),
    REFUSES("{{ 1 is none(1) }}"),      REFUSES("{{ 1 is boolean(1) }}"),
    REFUSES("{{ 1 is true(1) }}"),      REFUSES("{{ 1 is false(1) }}"),
    REFUSES("{{ 1 is integer(1) }}"),   REFUSES("{{ 1 is float(1) }}"),
    REFUSES("{{ 1 is number(1) }}"),    REFUSES("{{ 1 is string(1) }}"),
    REFUSES("{{ 1 is mapping(1) }}"),   REFUSES("{{ 1 is iterable(1) }}"),
    REFUSES("{{ 1 is sequence(1) }}"),  REFUSES("{{ 1 is callable(1) }}"),
    REFUSES("{{ 1 is escaped(1) }}"),   REFUSES("{{ 1 is odd(1) }}"),
    REFUSES("{{ 1 is even(1) }}"),      REFUSES("{{ 1 is upper(1) }}"),
    REFUSES("{{ 1 is lower(1) }}"),     REFUSES("{{ 1 is filter(1) }}"),
    REFUSES("{{ 1 is test(1) }}"),      REFUSES("{{ 1 is eq }}"),
    REFUSES("{{ 1 is ne }}"),           REFUSES("{{ 1 is lt }}"),
    REFUSES("{{ 1 is le }}"),           REFUSES("{{ 1 is gt }}"),
    REFUSES("{{ 1 is ge }}"),           REFUSES("{{ 1 is in }}"),
    REFUSES("{{ 1 is divisibleby }}"),  REFUSES("{{ 1 is sameas }}"),
    REFUSES("{{ 1 is equalto }}"),      REFUSES("{{ 1 is lessthan }}"),
    REFUSES("{{ 1 is greaterthan }}"),  REFUSES("{{ 1 is eq(1, 2) }}"),
    REFUSES("{{ 1 is ne(1, 2) }}"),     REFUSES("{{ 1 is lt(1, 2) }}"),
    REFUSES("{{ 1 is le(1, 2) }}"),     REFUSES("{{ 1 is gt(1, 2) }}"),
    REFUSES("{{ 1 is ge(1, 2) }}"),     REFUSES("{{ 1 is divisibleby(1, 2) }}"),
    REFUSES("{{ 1 is sameas(1, 2) }}"),
};

static void test_jinja_test_arguments(void **unused)
{
    jinjafix_check(arguments_rows, TK_ARRAY_LEN(arguments_rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jinja_test_kinds),
        cmocka_unit_test(test_jinja_test_relations),
        cmocka_unit_test(test_jinja_test_numbers),
        cmocka_unit_test(test_jinja_test_identity_and_text),
        cmocka_unit_test(test_jinja_test_arguments),
    };
    return cmocka_run_group_tests_name("jinja_test", tests, NULL, NULL);
}
