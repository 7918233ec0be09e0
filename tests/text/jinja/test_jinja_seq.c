/* Filters on sequences and mappings, as jinja2 3.1.6 has them. */
#include "support/jinjafix.h"

static const jinjafix_row ends_rows[] = {
    GIVES("{{ [1, 2]|first }}", "1"),
    GIVES("{{ [1, 2]|last }}", "2"),
    GIVES("{{ []|first }}", ""),
    GIVES("{{ []|last }}", ""),
    GIVES("{{ []|first is defined }}", "False"),
    RAISES("{{ ([]|first).x }}", "No first item, sequence was empty."),
    RAISES("{{ ([]|last).x }}", "No last item, sequence was empty."),
    GIVES("{{ 'abc'|first }}", "a"),
    GIVES("{{ 'abc'|last }}", "c"),
    GIVES("{{ ''|first }}", ""),
    GIVES("{{ 'éa'|first }}", "é"),
    GIVES("{{ 'aé'|last }}", "é"),
    GIVES("{{ (1, 2)|first }}", "1"),
    GIVES("{{ range(3)|first }}", "0"),
    GIVES("{{ range(3)|last }}", "2"),
    GIVES("{{ {'a': 1, 'b': 2}|first }}", "a"),
    GIVES("{{ {'a': 1, 'b': 2}|last }}", "b"),
    GIVES("{{ [1]|map('string')|first }}", "1"),
    RAISES("{{ [1]|map('string')|last }}", "'generator' object is not reversible"),
    GIVES("{{ []|map('string')|first }}", ""),
    RAISES("{{ 5|first }}", "'int' object is not iterable"),
    REFUSES("{{ none|last }}"),
    GIVES("{{ x|first }}", ""),
    GIVES("{{ x|last }}", ""),
    GIVES("{{ [1, 2]|count }}", "2"),
};

static void test_jinja_seq_ends(void **unused)
{
    jinjafix_check(ends_rows, TK_ARRAY_LEN(ends_rows));
}

static const jinjafix_row list_reverse_items_rows[] = {
    GIVES("{{ 'ab'|list }}", "['a', 'b']"),
    GIVES("{{ {'a': 1}|list }}", "['a']"),
    GIVES("{{ (1, 2)|list }}", "[1, 2]"),
    RAISES("{{ none|list }}", "'NoneType' object is not iterable"),
    GIVES("{{ [1, 2, 3]|reverse|list }}", "[3, 2, 1]"),
    GIVES("{{ 'abc'|reverse }}", "cba"),
    GIVES("{{ 'aé😀'|reverse }}", "😀éa"),
    GIVES("{{ (1, 2)|reverse|list }}", "[2, 1]"),
    GIVES("{{ range(3)|reverse|list }}", "[2, 1, 0]"),
    GIVES("{{ {'a': 1, 'b': 2}|reverse|list }}", "['b', 'a']"),
    GIVES("{{ [1, 2]|map('string')|reverse }}", "['2', '1']"),
    GIVES("{{ []|reverse|list }}", "[]"),
    REFUSES("{{ 5|reverse }}"),
    REFUSES("{{ none|reverse }}"),
    GIVES("{{ {'a': 1, 'b': 2}|items|list }}", "[('a', 1), ('b', 2)]"),
    GIVES("{% for k, v in {'a': 1}|items %}{{ k }}{{ v }}{% endfor %}", "a1"),
    GIVES("{{ {}|items|list }}", "[]"),
    GIVES("{{ x|items|list }}", "[]"),
    RAISES("{{ [1]|items|list }}", "Can only get item pairs from a mapping."),
    RAISES("{{ none|items|list }}", "Can only get item pairs from a mapping."),
};

static void test_jinja_seq_list_reverse_items(void **unused)
{
    jinjafix_check(list_reverse_items_rows, TK_ARRAY_LEN(list_reverse_items_rows));
}

static const jinjafix_row join_and_sum_rows[] = {
    GIVES("{{ [1, 2, 3]|join }}", "123"),
    GIVES("{{ [1, 2, 3]|join(', ') }}", "1, 2, 3"),
    GIVES("{{ ['a', none, 1.5, true]|join('-') }}", "a-None-1.5-True"),
    GIVES("{{ []|join(',') }}", ""),
    GIVES("{{ 'abc'|join('-') }}", "a-b-c"),
    GIVES("{{ ['é', 'ü']|join('·') }}", "é·ü"),
    GIVES("{{ [[1, 2], [3]]|join(';') }}", "[1, 2];[3]"),
    GIVES("{{ {'a': 1, 'b': 2}|join(',') }}", "a,b"),
    GIVES("{{ range(3)|join(',') }}", "0,1,2"),
    GIVES("{{ [{'n': 'a'}, {'n': 'b'}]|join(',', attribute='n') }}", "a,b"),
    GIVES("{{ [{'n': {'m': 1}}]|join(',', 'n.m') }}", "1"),
    GIVES("{{ [[1, 2], [3, 4]]|join(',', attribute=1) }}", "2,4"),
    GIVES("{{ [{'n': 'a'}, {}]|join(',', attribute='n') }}", "a,"),
    GIVES("{{ [1]|map('string')|join('x') }}", "1"),
    RAISES("{{ 5|join }}", "'int' object is not iterable"),
    RAISES("{{ none|join }}", "'NoneType' object is not iterable"),
    GIVES("{{ x|join(',') }}", ""),
    GIVES("{{ [1, 2]|join(5) }}", "152"),
    GIVES("{{ [1, 2, 3]|sum }}", "6"),
    GIVES("{{ []|sum }}", "0"),
    GIVES("{{ [1.5, 2]|sum }}", "3.5"),
    GIVES("{{ [true, true]|sum }}", "2"),
    GIVES("{{ [[1], [2]]|sum(start=[]) }}", "[1, 2]"),
    RAISES("{{ ['a', 'b']|sum(start='') }}",
           "sum() can't sum strings [use ''.join(seq) instead]"),
    RAISES("{{ ['a']|sum }}", "unsupported operand type(s) for +: 'int' and 'str'"),
    RAISES("{{ [1, 'a']|sum }}", "unsupported operand type(s) for +: 'int' and 'str'"),
    GIVES("{{ [{'n': 1}, {'n': 2}]|sum('n') }}", "3"),
    GIVES("{{ [{'n': 1}, {'n': 2}]|sum(attribute='n', start=10) }}", "13"),
    GIVES("{{ [1, 2]|sum(start=5) }}", "8"),
    GIVES("{{ [{'n': {'m': 2}}]|sum('n.m') }}", "2"),
    GIVES("{{ [[1, 2], [3, 4]]|sum(0) }}", "4"),
    GIVES("{{ x|sum }}", "0"),
    RAISES("{{ none|sum }}", "'NoneType' object is not iterable"),
};

static void test_jinja_seq_join_and_sum(void **unused)
{
    jinjafix_check(join_and_sum_rows, TK_ARRAY_LEN(join_and_sum_rows));
}

static const jinjafix_row map_rows[] = {
    GIVES("{{ ['a', 'b']|map('upper')|list }}", "['A', 'B']"),
    GIVES("{{ ['a', 'b']|map('replace', 'a', 'x')|list }}", "['x', 'b']"),
    GIVES("{{ [1, 2]|map('string')|join(',') }}", "1,2"),
    GIVES("{{ [{'n': 1}, {'n': 2}]|map(attribute='n')|list }}", "[1, 2]"),
    GIVES("{{ [{'n': 1}, {}]|map(attribute='n')|list }}", "[1, Undefined]"),
    GIVES("{{ [{'n': 1}, {}]|map(attribute='n', default=0)|list }}", "[1, 0]"),
    GIVES("{{ [{'n': {'m': 1}}]|map(attribute='n.m')|list }}", "[1]"),
    GIVES("{{ [[1, 2], [3, 4]]|map(attribute=1)|list }}", "[2, 4]"),
    GIVES("{{ [[1, 2], [3, 4]]|map(attribute='0')|list }}", "[1, 3]"),
    GIVES("{{ [[3, 1]]|map('sort')|list }}", "[[1, 3]]"),
    GIVES("{{ [[3, 1]]|map('sort', reverse=true)|list }}", "[[3, 1]]"),
    GIVES("{{ ['1', 'x']|map('int', 5)|list }}", "[1, 5]"),
    GIVES("{{ ['1', 'x']|map('int', default=5)|list }}", "[1, 5]"),
    REFUSES("{{ [1]|map(1)|list }}"),
    REFUSES("{{ [1]|map('nothing')|list }}"),
    RAISES("{{ [1, none]|map('length')|list }}", "object of type 'int' has no len()"),
    GIVES("{{ []|map('upper')|list }}", "[]"),
    GIVES("{{ x|map('upper')|list }}", "[]"),
    GIVES("{{ none|map('upper')|list }}", "[]"),
    RAISES("{{ 5|map('upper')|list }}", "'int' object is not iterable"),
    GIVES("{{ 'ab'|map('upper')|list }}", "['A', 'B']"),
    GIVES("{{ {'a': 1}|map('upper')|list }}", "['A']"),
    GIVES("{{ [1]|map('string') is iterable }}", "True"),
    GIVES("{{ [1]|map('string') is sequence }}", "False"),
};

static void test_jinja_seq_map(void **unused)
{
    jinjafix_check(map_rows, TK_ARRAY_LEN(map_rows));
}

static const jinjafix_row select_and_reject_rows[] = {
    GIVES("{{ [0, 1, '', 'a', none]|select|list }}", "[1, 'a']"),
    GIVES("{{ [0, 1, '', 'a', none]|reject|list }}", "[0, '', None]"),
    GIVES("{{ [1, 2, 3]|select('odd')|list }}", "[1, 3]"),
    GIVES("{{ [1, 2, 3]|reject('odd')|list }}", "[2]"),
    GIVES("{{ [1, 2, 3]|select('gt', 1)|list }}", "[2, 3]"),
    GIVES("{{ [1, 2, 3]|select('>', 1)|list }}", "[2, 3]"),
    GIVES("{{ [1, 2, 3]|select('in', [2, 3])|list }}", "[2, 3]"),
    GIVES("{{ [1, 'a']|select('string')|list }}", "['a']"),
    GIVES("{{ [1, 2]|select('divisibleby', 2)|list }}", "[2]"),
    RAISES("{{ [1]|select('nothing')|list }}", "No test named 'nothing'."),
    REFUSES("{{ [1]|select(1)|list }}"),
    GIVES("{{ []|select('nothing')|list }}", "[]"),
    GIVES("{{ none|select|list }}", "[]"),
    GIVES("{{ x|select|list }}", "[]"),
    RAISES("{{ 5|select|list }}", "'int' object is not iterable"),
    GIVES("{{ 'a b'|select('ne', ' ')|list }}", "['a', 'b']"),
    GIVES("{{ [{'a': 1}, {'a': 0}, {}]|selectattr('a')|list }}", "[{'a': 1}]"),
    GIVES("{{ [{'a': 1}, {'a': 0}, {}]|rejectattr('a')|list }}", "[{'a': 0}, {}]"),
    GIVES("{{ [{'a': 1}, {'a': 2}]|selectattr('a', 'equalto', 2)|list }}", "[{'a': 2}]"),
    GIVES("{{ [{'a': 1}, {'a': 2}]|rejectattr('a', 'equalto', 2)|list }}", "[{'a': 1}]"),
    GIVES("{{ [{'a': 1}, {}]|selectattr('a', 'defined')|list }}", "[{'a': 1}]"),
    GIVES("{{ [{'a': 1}, {}]|selectattr('a', 'undefined')|list }}", "[{}]"),
    GIVES("{{ [{'a': {'b': 1}}]|selectattr('a.b', 'eq', 1)|list }}", "[{'a': {'b': 1}}]"),
    GIVES("{{ [[1, 2], [3, 4]]|selectattr(0, 'gt', 1)|list }}", "[[3, 4]]"),
    GIVES("{{ [{'a': none}]|selectattr('a', 'none')|list }}", "[{'a': None}]"),
    GIVES("{{ [{'a': 'x'}]|selectattr('a', 'in', 'xyz')|list }}", "[{'a': 'x'}]"),
    RAISES("{{ [1]|selectattr|list }}", "Missing parameter for attribute name"),
    RAISES("{{ [1]|selectattr('a', 'nothing')|list }}", "No test named 'nothing'."),
    GIVES("{{ [none]|selectattr('a')|list }}", "[]"),
    RAISES("{{ [none]|selectattr('a.b')|list }}", "'None' has no attribute 'a'"),
    GIVES("{{ []|selectattr('a')|list }}", "[]"),
    GIVES("{{ [{'a': 1}]|selectattr('a')|first }}", "{'a': 1}"),
    RAISES("{{ [1, 2]|select('odd')|length }}",
           "object of type 'generator' has no len()"),
    GIVES("{% set s = [1]|select('nothing') %}x{{ s is iterable }}", "xTrue"),
    RAISES("{% set s = [1]|select('nothing') %}{{ s|list }}", "No test named 'nothing'."),
};

static void test_jinja_seq_select_and_reject(void **unused)
{
    jinjafix_check(select_and_reject_rows, TK_ARRAY_LEN(select_and_reject_rows));
}

static const jinjafix_row batch_rows[] = {
    GIVES("{{ [1, 2, 3, 4, 5]|batch(2)|list }}", "[[1, 2], [3, 4], [5]]"),
    GIVES("{{ [1, 2, 3, 4, 5]|batch(2, 'x')|list }}", "[[1, 2], [3, 4], [5, 'x']]"),
    GIVES("{{ [1, 2, 3, 4]|batch(2, 'x')|list }}", "[[1, 2], [3, 4]]"),
    GIVES("{{ [1, 2, 3]|batch(5)|list }}", "[[1, 2, 3]]"),
    GIVES("{{ [1, 2, 3]|batch(5, none)|list }}", "[[1, 2, 3]]"),
    GIVES("{{ [1, 2, 3]|batch(1)|list }}", "[[1], [2], [3]]"),
    GIVES("{{ []|batch(2)|list }}", "[]"),
    GIVES("{{ 'abc'|batch(2)|list }}", "[['a', 'b'], ['c']]"),
    GIVES("{{ [1, 2]|batch(linecount=1, fill_with=0)|list }}", "[[1], [2]]"),
    GIVES("{{ [1, 2, 3]|batch(2, fill_with=0)|list }}", "[[1, 2], [3, 0]]"),
    REFUSES("{{ [1]|batch }}"),
    RAISES("{{ 5|batch(1)|list }}", "'int' object is not iterable"),
};

static void test_jinja_seq_batch(void **unused)
{
    jinjafix_check(batch_rows, TK_ARRAY_LEN(batch_rows));
}

/* Too many arguments, or too few. */
static const jinjafix_row arguments_rows[] = {
    REFUSES("{{ [1]|length(1) }}"),    REFUSES("{{ [1]|count(1) }}"),
    REFUSES("{{ [1]|list(1) }}"),      REFUSES("{{ [1]|first(1) }}"),
    REFUSES("{{ [1]|last(1) }}"),      REFUSES("{{ [1]|reverse(1) }}"),
    REFUSES("{{ [1]|items(1) }}"),     REFUSES("{{ [1]|join(1, 2, 3) }}"),
    REFUSES("{{ [1]|sum(1, 2, 3) }}"), REFUSES("{{ [1]|batch(1, 2, 3)|list }}"),
    REFUSES("{{ [1]|batch }}"),
};

static void test_jinja_seq_arguments(void **unused)
{
    jinjafix_check(arguments_rows, TK_ARRAY_LEN(arguments_rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jinja_seq_ends),
        cmocka_unit_test(test_jinja_seq_list_reverse_items),
        cmocka_unit_test(test_jinja_seq_join_and_sum),
        cmocka_unit_test(test_jinja_seq_map),
        cmocka_unit_test(test_jinja_seq_select_and_reject),
        cmocka_unit_test(test_jinja_seq_batch),
        cmocka_unit_test(test_jinja_seq_arguments),
    };
    return cmocka_run_group_tests_name("jinja_seq", tests, NULL, NULL);
}
