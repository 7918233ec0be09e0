/* Dicts: order, keys that are equal, many keys, methods, as jinja2 3.1.6 has them. */
#include "support/jinjafix.h"

static const jinjafix_row keys_rows[] = {
    GIVES("{{ {1: 'a', 1.0: 'b', true: 'c'} }}", "{1: 'c'}"),
    GIVES("{{ {0: 'a', false: 'b', 0.0: 'c', -0.0: 'd'} }}", "{0: 'd'}"),
    GIVES("{{ {'1': 'a', 1: 'b'} }}", "{'1': 'a', 1: 'b'}"),
    GIVES("{{ {none: 1}[none] }}", "1"),
    GIVES("{{ {(1, 2): 'x'}[(1, 2)] }}", "x"),
    GIVES("{{ {(1, 2): 'x'}[(1.0, 2)] }}", "x"),
    GIVES("{{ {(1, 'a'): 'x'}.get((1, 'b'), 'no') }}", "no"),
    GIVES("{{ {1: 'x'}[true] }}", "x"),
    GIVES("{{ {1: 'x'}[1.0] }}", "x"),
    GIVES("{{ {1: 'x'}['1'] }}", ""),
    GIVES("{{ {1.5: 'x'}[1.5] }}", "x"),
    GIVES("{{ {'': 'x'}[''] }}", "x"),
    GIVES("{{ {'é': 'x'}['é'] }}", "x"),
    RAISES("{{ {[1]: 2} }}", "unhashable type: 'list'"),
    GIVES("{{ {'a': 1}[[1]] }}", ""),
    RAISES("{{ {'a': 1}.get([1]) }}", "unhashable type: 'list'"),
    GIVES("{{ {'a': 1}[{}] }}", ""),
    REFUSES("{{ {([],): 1} }}"),
    REFUSES("{{ {(1, (2, [])): 1} }}"),
    RAISES("{{ [1] in {'a': 1} }}", "unhashable type: 'list'"),
    GIVES("{{ (1,) in {(1,): 1} }}", "True"),
    GIVES("{{ x in {'a': 1} }}", "False"),
    GIVES("{{ {'b': 1, 'a': 2, 'b': 3} }}", "{'b': 3, 'a': 2}"),
    GIVES("{{ {'b': 1, 'a': 2}|list }}", "['b', 'a']"),
    GIVES("{{ dict(b=1, a=2) }}", "{'b': 1, 'a': 2}"),
    GIVES("{{ dict({'x': 1}, x=2, y=3) }}", "{'x': 2, 'y': 3}"),
    GIVES("{{ dict([(1, 2), [3, 4], 'ab']) }}", "{1: 2, 3: 4, 'a': 'b'}"),
    RAISES("{{ dict([(1, 2, 3)]) }}",
           "dictionary update sequence element #0 has length 3; 2 is required"),
    RAISES("{{ dict(['a']) }}",
           "dictionary update sequence element #0 has length 1; 2 is required"),
    REFUSES("{{ dict([1]) }}"),
    RAISES("{{ dict(5) }}", "'int' object is not iterable"),
    RAISES("{{ dict({}, {}) }}", "dict expected at most 1 argument, got 2"),
};

static void test_jinja_dict_keys(void **unused)
{
    jinjafix_check(keys_rows, TK_ARRAY_LEN(keys_rows));
}

/* A dict of more than eight keys has a hash table. */
static const jinjafix_row many_keys_rows[] = {
    GIVES("{{ {1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7, 8: 8, 9: 9, 10: 10}[10] }}",
          "10"),
    GIVES("{{ {1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7, 8: 8, 9: 9, 10: 10}[10.0] }}",
          "10"),
    GIVES("{{ {1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7, 8: 8, 9: 9, 10: 10}.get(11) }}",
          "None"),
    GIVES("{{ {1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7, 8: 8, 9: 9, true: 'x'} }}",
          "{1: 'x', 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7, 8: 8, 9: 9}"),
    GIVES(
        "{{ {'a': 1, 'b': 2, 'c': 3, 'd': 4, 'e': 5, 'f': 6, 'g': 7, 'h': 8, 'i': 9, 'j': 10}.j }}",
        "10"),
    GIVES(
        "{{ {'a': 1, 'b': 2, 'c': 3, 'd': 4, 'e': 5, 'f': 6, 'g': 7, 'h': 8, 'i': 9, 'j': 10}.k }}",
        ""),
    GIVES(
        "{{ {'a': 1, 'b': 2, 'c': 3, 'd': 4, 'e': 5, 'f': 6, 'g': 7, 'h': 8, 'i': 9, 'a': 10} }}",
        "{'a': 10, 'b': 2, 'c': 3, 'd': 4, 'e': 5, 'f': 6, 'g': 7, 'h': 8, 'i': 9}"),
    GIVES(
        "{{ {'a': 1, 'b': 2, 'c': 3, 'd': 4, 'e': 5, 'f': 6, 'g': 7, 'h': 8, none: 9}[none] }}",
        "9"),
    GIVES(
        "{{ {'a': 1, 'b': 2, 'c': 3, 'd': 4, 'e': 5, 'f': 6, 'g': 7, 'h': 8, (1, 2): 9, (1, 3): 10}[(1, 3)] }}",
        "10"),
    GIVES("{{ {0: 0, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7, 8: 8, 9: 9, 10: 10}[-0.0] }}",
          "0"),
    GIVES(
        "{% set ns = namespace(d={}) %}{% for i in range(40) %}{% set ns.d = dict(ns.d, **{'k' ~ i: i}) %}{% endfor %}{{ ns.d.k0 }}{{ ns.d.k39 }}{{ ns.d|length }}",
        "03940"),
    GIVES(
        "{% set ns = namespace(l=[]) %}{% for i in range(200) %}{% set ns.l = ns.l + [[i, i * i]] %}{% endfor %}{% set d = dict(ns.l) %}{{ d[0] }} {{ d[199] }} {{ d[200] }} {{ d|length }}",
        "0 39601  200"),
    GIVES(
        "{% set ns = namespace(l=[]) %}{% for i in range(100) %}{% set ns.l = ns.l + [[i % 10, i]] %}{% endfor %}{{ dict(ns.l) }}",
        "{0: 90, 1: 91, 2: 92, 3: 93, 4: 94, 5: 95, 6: 96, 7: 97, 8: 98, 9: 99}"),
};

static void test_jinja_dict_many_keys(void **unused)
{
    jinjafix_check(many_keys_rows, TK_ARRAY_LEN(many_keys_rows));
}

static const jinjafix_row methods_rows[] = {
    GIVES("{{ {'a': 1}.get('a') }}", "1"),
    GIVES("{{ {'a': 1}.get('b') }}", "None"),
    GIVES("{{ {'a': 1}.get('b', 2) }}", "2"),
    GIVES("{{ {'a': none}.get('a', 2) }}", "None"),
    REFUSES("{{ {'a': 1}.get() }}"),
    REFUSES("{{ {'a': 1}.get(1, 2, 3) }}"),
    REFUSES("{{ {'a': 1}.get(key='a') }}"),
    GIVES("{{ {'a': 1}.items() }}", "dict_items([('a', 1)])"),
    GIVES("{{ {'a': 1, 'b': 2}.keys() }}", "dict_keys(['a', 'b'])"),
    GIVES("{{ {'a': 1, 'b': 2}.values() }}", "dict_values([1, 2])"),
    GIVES("{{ {}.items() }}", "dict_items([])"),
    GIVES("{{ {'a': 1}.items()|list }}", "[('a', 1)]"),
    GIVES("{{ {'a': 1}.copy() }}", "{'a': 1}"),
    GIVES("{{ {'items': 1}.items() }}", "dict_items([('items', 1)])"),
    GIVES("{{ {'items': 1}['items'] }}", "1"),
    GIVES("{{ {'get': 1}.get('get') }}", "1"),
    GIVES("{{ {'a': 1}.nothing }}", ""),
    RAISES("{{ {'a': 1}.nothing() }}", "'dict object' has no attribute 'nothing'"),
    RAISES("{{ {'a': 1}.pop('a') }}",
           "access to attribute 'pop' of 'dict' object is unsafe."),
    RAISES("{{ {'a': 1}.update({}) }}",
           "access to attribute 'update' of 'dict' object is unsafe."),
    RAISES("{{ {'a': 1}.clear() }}",
           "access to attribute 'clear' of 'dict' object is unsafe."),
    RAISES("{{ {'a': 1}.setdefault('b', 1) }}",
           "access to attribute 'setdefault' of 'dict' object is unsafe."),
    GIVES("{{ {'a': 1} == {'a': 1} }}", "True"),
    GIVES("{{ {'a': 1, 'b': 2} == {'b': 2, 'a': 1} }}", "True"),
    GIVES("{{ {'a': 1} == {'a': 2} }}", "False"),
    GIVES("{{ {'a': 1} == {'b': 1} }}", "False"),
    GIVES("{{ {'a': 1} == {'a': 1, 'b': 2} }}", "False"),
    GIVES("{{ {1: 'a'} == {1.0: 'a'} }}", "True"),
    GIVES("{{ {'a': [1]} == {'a': [1.0]} }}", "True"),
    GIVES("{{ 'a' in {'a': 1} }}", "True"),
    GIVES("{{ 1 in {'a': 1} }}", "False"),
    GIVES("{{ 'a' not in {'a': 1} }}", "False"),
};

static void test_jinja_dict_methods(void **unused)
{
    jinjafix_check(methods_rows, TK_ARRAY_LEN(methods_rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jinja_dict_keys),
        cmocka_unit_test(test_jinja_dict_many_keys),
        cmocka_unit_test(test_jinja_dict_methods),
    };
    return cmocka_run_group_tests_name("jinja_dict", tests, NULL, NULL);
}
