/* Filters that need an order or a key: sort, dictsort, unique, min, max, groupby, as
 * jinja2 3.1.6 has them. */
#include "support/jinjafix.h"

static const jinjafix_row sort_rows[] = {
    GIVES("{{ [3, 1, 2]|sort }}", "[1, 2, 3]"),
    GIVES("{{ [3, 1, 2]|sort(true) }}", "[3, 2, 1]"),
    GIVES("{{ [3, 1, 2]|sort(reverse=true) }}", "[3, 2, 1]"),
    GIVES("{{ ['b', 'A', 'c']|sort }}", "['A', 'b', 'c']"),
    GIVES("{{ ['b', 'A', 'c']|sort(case_sensitive=true) }}", "['A', 'b', 'c']"),
    GIVES("{{ ['b', 'A', 'a', 'B']|sort }}", "['A', 'a', 'b', 'B']"),
    GIVES("{{ ['b', 'A', 'a', 'B']|sort(true) }}", "['b', 'B', 'A', 'a']"),
    GIVES("{{ [1.5, 1, 2]|sort }}", "[1, 1.5, 2]"),
    GIVES("{{ [true, 0, 2]|sort }}", "[0, True, 2]"),
    GIVES("{{ []|sort }}", "[]"),
    GIVES("{{ [1]|sort }}", "[1]"),
    GIVES("{{ 'hello'|sort }}", "['e', 'h', 'l', 'l', 'o']"),
    GIVES("{{ (3, 1)|sort }}", "[1, 3]"),
    GIVES("{{ {'b': 1, 'a': 2}|sort }}", "['a', 'b']"),
    GIVES("{{ range(3, 0, -1)|sort }}", "[1, 2, 3]"),
    GIVES("{{ [{'n': 2}, {'n': 1}]|sort(attribute='n') }}", "[{'n': 1}, {'n': 2}]"),
    GIVES("{{ [{'n': 'b'}, {'n': 'A'}]|sort(attribute='n') }}",
          "[{'n': 'A'}, {'n': 'b'}]"),
    GIVES("{{ [{'n': 'b'}, {'n': 'A'}]|sort(attribute='n', case_sensitive=true) }}",
          "[{'n': 'A'}, {'n': 'b'}]"),
    GIVES(
        "{{ [{'n': 1, 'm': 2}, {'n': 1, 'm': 1}, {'n': 0, 'm': 9}]|sort(attribute='n,m') }}",
        "[{'n': 0, 'm': 9}, {'n': 1, 'm': 1}, {'n': 1, 'm': 2}]"),
    GIVES("{{ [{'n': 1, 'm': 2}, {'n': 1, 'm': 1}]|sort(attribute='n') }}",
          "[{'n': 1, 'm': 2}, {'n': 1, 'm': 1}]"),
    GIVES("{{ [{'n': 1, 'm': 2}, {'n': 1, 'm': 1}]|sort(attribute='n', reverse=true) }}",
          "[{'n': 1, 'm': 2}, {'n': 1, 'm': 1}]"),
    GIVES("{{ [{'n': {'m': 2}}, {'n': {'m': 1}}]|sort(attribute='n.m') }}",
          "[{'n': {'m': 1}}, {'n': {'m': 2}}]"),
    GIVES("{{ [[1, 2], [1, 1]]|sort(attribute=1) }}", "[[1, 1], [1, 2]]"),
    GIVES("{{ [[1, 2], [1, 1]]|sort }}", "[[1, 1], [1, 2]]"),
    GIVES("{{ [[2], [1, 5]]|sort }}", "[[1, 5], [2]]"),
    GIVES("{{ [(1, 'b'), (1, 'a')]|sort }}", "[(1, 'a'), (1, 'b')]"),
    RAISES("{{ [1, 'a']|sort }}",
           "'<' not supported between instances of 'str' and 'int'"),
    RAISES("{{ [none, 1]|sort }}",
           "'<' not supported between instances of 'int' and 'NoneType'"),
    GIVES("{{ [none]|sort }}", "[None]"),
    GIVES("{{ [none, none]|sort }}", "[None, None]"),
    GIVES("{{ [{'a': 1}, {'a': 1}]|sort }}", "[{'a': 1}, {'a': 1}]"),
    RAISES("{{ [{'a': 1}, {'a': 2}]|sort }}",
           "'<' not supported between instances of 'dict' and 'dict'"),
    RAISES("{{ [x, 1]|sort }}", "'x' is undefined"),
    RAISES("{{ 5|sort }}", "'int' object is not iterable"),
    RAISES("{{ none|sort }}", "'NoneType' object is not iterable"),
    GIVES("{{ x|sort }}", "[]"),
    GIVES("{{ [3, 1, 2]|map('string')|sort }}", "['1', '2', '3']"),
    GIVES("{{ [9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 11, 10]|sort }}",
          "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]"),
    GIVES("{{ [5, 3, 5, 1, 3]|sort(true) }}", "[5, 5, 3, 3, 1]"),
    GIVES("{{ ['é', 'z', 'a']|sort }}", "['a', 'z', 'é']"),
    GIVES("{{ ['É', 'é', 'e']|sort }}", "['e', 'É', 'é']"),
};

static void test_jinja_sort_sort(void **unused)
{
    jinjafix_check(sort_rows, TK_ARRAY_LEN(sort_rows));
}

static const jinjafix_row dictsort_rows[] = {
    GIVES("{{ {'b': 1, 'a': 2}|dictsort }}", "[('a', 2), ('b', 1)]"),
    GIVES("{{ {'b': 1, 'A': 2, 'c': 0}|dictsort }}", "[('A', 2), ('b', 1), ('c', 0)]"),
    GIVES("{{ {'b': 1, 'A': 2, 'c': 0}|dictsort(true) }}",
          "[('A', 2), ('b', 1), ('c', 0)]"),
    GIVES("{{ {'b': 1, 'A': 2, 'c': 0}|dictsort(case_sensitive=true) }}",
          "[('A', 2), ('b', 1), ('c', 0)]"),
    GIVES("{{ {'b': 1, 'a': 2}|dictsort(by='value') }}", "[('b', 1), ('a', 2)]"),
    GIVES("{{ {'b': 1, 'a': 2}|dictsort(false, 'value') }}", "[('b', 1), ('a', 2)]"),
    GIVES("{{ {'b': 1, 'a': 2}|dictsort(reverse=true) }}", "[('b', 1), ('a', 2)]"),
    GIVES("{{ {'b': 1, 'a': 2}|dictsort(by='value', reverse=true) }}",
          "[('a', 2), ('b', 1)]"),
    GIVES("{{ {'b': 'y', 'a': 'X'}|dictsort(by='value') }}", "[('a', 'X'), ('b', 'y')]"),
    GIVES("{{ {'b': 'y', 'a': 'X'}|dictsort(true, 'value') }}",
          "[('a', 'X'), ('b', 'y')]"),
    GIVES("{{ {2: 1, 1: 2}|dictsort }}", "[(1, 2), (2, 1)]"),
    GIVES("{{ {}|dictsort }}", "[]"),
    RAISES("{{ {'a': 1, 1: 2}|dictsort }}",
           "'<' not supported between instances of 'int' and 'str'"),
    RAISES("{{ {'a': 1}|dictsort(by='other') }}",
           "You can only sort by either \"key\" or \"value\""),
    RAISES("{{ {'a': 1}|dictsort(by=none) }}",
           "You can only sort by either \"key\" or \"value\""),
    GIVES("{% for k, v in {'b': 1, 'a': 2}|dictsort %}{{ k }}{{ v }}{% endfor %}",
          "a2b1"),
    RAISES("{{ [1]|dictsort }}", "'list' object has no attribute 'items'"),
    RAISES("{{ none|dictsort }}", "'NoneType' object has no attribute 'items'"),
    RAISES("{{ 'a'|dictsort }}", "'str' object has no attribute 'items'"),
    RAISES("{{ x|dictsort }}", "'x' is undefined"),
};

static void test_jinja_sort_dictsort(void **unused)
{
    jinjafix_check(dictsort_rows, TK_ARRAY_LEN(dictsort_rows));
}

static const jinjafix_row unique_rows[] = {
    GIVES("{{ [1, 2, 1, 3, 2]|unique|list }}", "[1, 2, 3]"),
    GIVES("{{ ['a', 'A', 'b']|unique|list }}", "['a', 'b']"),
    GIVES("{{ ['a', 'A', 'b']|unique(true)|list }}", "['a', 'A', 'b']"),
    GIVES("{{ ['a', 'A', 'a']|unique(case_sensitive=true)|list }}", "['a', 'A']"),
    GIVES("{{ [1, 1.0, true]|unique|list }}", "[1]"),
    GIVES("{{ []|unique|list }}", "[]"),
    GIVES("{{ 'hello'|unique|list }}", "['h', 'e', 'l', 'o']"),
    GIVES(
        "{{ [{'n': 1, 'm': 1}, {'n': 1, 'm': 2}, {'n': 2}]|unique(attribute='n')|list }}",
        "[{'n': 1, 'm': 1}, {'n': 2}]"),
    GIVES("{{ [{'n': 'a'}, {'n': 'A'}]|unique(attribute='n')|list }}", "[{'n': 'a'}]"),
    GIVES("{{ [none, none]|unique|list }}", "[None]"),
    RAISES("{{ [[1], [1]]|unique|list }}", "unhashable type: 'list'"),
    GIVES("{{ [(1, 2), (1, 2)]|unique|list }}", "[(1, 2)]"),
    RAISES("{{ 5|unique|list }}", "'int' object is not iterable"),
    GIVES("{{ x|unique|list }}", "[]"),
    GIVES("{% set u = [[1]]|unique %}x", "x"),
};

static void test_jinja_sort_unique(void **unused)
{
    jinjafix_check(unique_rows, TK_ARRAY_LEN(unique_rows));
}

static const jinjafix_row min_and_max_rows[] = {
    GIVES("{{ [3, 1, 2]|min }}", "1"),
    GIVES("{{ [3, 1, 2]|max }}", "3"),
    GIVES("{{ ['b', 'A']|min }}", "A"),
    GIVES("{{ ['b', 'A']|max }}", "b"),
    GIVES("{{ ['b', 'A']|min(true) }}", "A"),
    GIVES("{{ ['b', 'C', 'a']|max(case_sensitive=true) }}", "b"),
    GIVES("{{ []|min }}", ""),
    GIVES("{{ []|max }}", ""),
    GIVES("{{ []|min is defined }}", "False"),
    RAISES("{{ ([]|min).x }}", "No aggregated item, sequence was empty."),
    GIVES("{{ [1]|max }}", "1"),
    GIVES("{{ 'hello'|max }}", "o"),
    GIVES("{{ [1, 1.5]|max }}", "1.5"),
    GIVES("{{ [1, 1.0]|min }}", "1"),
    GIVES("{{ [1.0, 1]|max }}", "1.0"),
    GIVES("{{ ['a', 'A']|min }}", "a"),
    GIVES("{{ ['a', 'A']|max }}", "a"),
    GIVES("{{ [{'n': 2}, {'n': 1}]|min(attribute='n') }}", "{'n': 1}"),
    GIVES("{{ [{'n': 2}, {'n': 1}]|max(attribute='n') }}", "{'n': 2}"),
    RAISES("{{ [1, 'a']|min }}",
           "'<' not supported between instances of 'str' and 'int'"),
    REFUSES("{{ [none, 1]|max }}"),
    GIVES("{{ [none]|min }}", "None"),
    RAISES("{{ 5|min }}", "'int' object is not iterable"),
    GIVES("{{ x|max }}", ""),
    GIVES("{{ range(5)|max }}", "4"),
};

static void test_jinja_sort_min_and_max(void **unused)
{
    jinjafix_check(min_and_max_rows, TK_ARRAY_LEN(min_and_max_rows));
}

static const jinjafix_row groupby_rows[] = {
    GIVES(
        "{% for g in [{'n': 1, 'm': 2}, {'n': 2}, {'n': 1, 'm': 3}]|groupby('n') %}{{ g.0 }}:{{ g[1] }};{% endfor %}",
        "1:[{'n': 1, 'm': 2}, {'n': 1, 'm': 3}];2:[{'n': 2}];"),
    GIVES(
        "{% for k, l in [{'n': 'b'}, {'n': 'a'}, {'n': 'B'}]|groupby('n') %}{{ k }}{{ l|length }} {% endfor %}",
        "a1 b2 "),
    GIVES(
        "{% for k, l in [{'n': 'b'}, {'n': 'a'}, {'n': 'B'}]|groupby('n', case_sensitive=true) %}{{ k }}{{ l|length }} {% endfor %}",
        "B1 a1 b1 "),
    GIVES(
        "{% for k, l in [{'n': {'m': 2}}, {'n': {'m': 1}}]|groupby('n.m') %}{{ k }}{{ l }} {% endfor %}",
        "1[{'n': {'m': 1}}] 2[{'n': {'m': 2}}] "),
    GIVES(
        "{% for k, l in [[1, 2], [1, 3], [0, 4]]|groupby(0) %}{{ k }}{{ l }} {% endfor %}",
        "0[[0, 4]] 1[[1, 2], [1, 3]] "),
    GIVES("{% for k, l in []|groupby('n') %}x{% else %}none{% endfor %}", "none"),
    REFUSES("{{ [1]|groupby }}"),
    RAISES("{{ 5|groupby('n') }}", "'int' object is not iterable"),
    RAISES("{{ [{'n': 1}, {'n': 'a'}]|groupby('n') }}",
           "'<' not supported between instances of 'str' and 'int'"),
};

static void test_jinja_sort_groupby(void **unused)
{
    jinjafix_check(groupby_rows, TK_ARRAY_LEN(groupby_rows));
}

/* Too many arguments. */
static const jinjafix_row arguments_rows[] = {
    REFUSES("{{ [1]|sort(1, 2, 3, 4) }}"),
    REFUSES("{{ {}|dictsort(1, 'key', 3, 4) }}"),
    REFUSES("{{ [1]|unique(1, 2, 3)|list }}"),
    REFUSES("{{ [1]|min(1, 2, 3) }}"),
    REFUSES("{{ [1]|max(1, 2, 3) }}"),
    REFUSES("{{ [1]|groupby(1, 2, 3, 4) }}"),
};

static void test_jinja_sort_arguments(void **unused)
{
    jinjafix_check(arguments_rows, TK_ARRAY_LEN(arguments_rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jinja_sort_sort),
        cmocka_unit_test(test_jinja_sort_dictsort),
        cmocka_unit_test(test_jinja_sort_unique),
        cmocka_unit_test(test_jinja_sort_min_and_max),
        cmocka_unit_test(test_jinja_sort_groupby),
        cmocka_unit_test(test_jinja_sort_arguments),
    };
    return cmocka_run_group_tests_name("jinja_sort", tests, NULL, NULL);
}
