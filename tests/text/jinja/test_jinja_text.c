/* Text of values: str(), repr() and tojson, as Python 3.11 and jinja2 3.1.6 write
 * them. */
#include "support/jinjafix.h"

static const jinjafix_row numbers_rows[] = {
    GIVES("{{ 0 }}", "0"),
    GIVES("{{ -1 }}", "-1"),
    GIVES("{{ 1.0 }}", "1.0"),
    GIVES("{{ -0.0 }}", "-0.0"),
    GIVES("{{ 0.1 }}", "0.1"),
    GIVES("{{ 1.5 }}", "1.5"),
    GIVES("{{ 100.0 }}", "100.0"),
    GIVES("{{ 1e15 }}", "1000000000000000.0"),
    GIVES("{{ 1e16 }}", "1e+16"),
    GIVES("{{ 1.5e16 }}", "1.5e+16"),
    GIVES("{{ 1e17 }}", "1e+17"),
    GIVES("{{ 123456789012345.6 }}", "123456789012345.6"),
    GIVES("{{ 1e21 }}", "1e+21"),
    GIVES("{{ 1e22 }}", "1e+22"),
    GIVES("{{ 1e-4 }}", "0.0001"),
    GIVES("{{ 1e-5 }}", "1e-05"),
    GIVES("{{ 0.0001 }}", "0.0001"),
    GIVES("{{ 0.00001234 }}", "1.234e-05"),
    GIVES("{{ 1e100 }}", "1e+100"),
    GIVES("{{ 1e-100 }}", "1e-100"),
    GIVES("{{ 1.7976931348623157e308 }}", "1.7976931348623157e+308"),
    GIVES("{{ 5e-324 }}", "5e-324"),
    GIVES("{{ 2.2250738585072014e-308 }}", "2.2250738585072014e-308"),
    GIVES("{{ 0.30000000000000004 }}", "0.30000000000000004"),
    GIVES("{{ 1e400 }}", "inf"),
    GIVES("{{ -1e400 }}", "-inf"),
    GIVES("{{ 1e400 - 1e400 }}", "nan"),
    GIVES("{{ 3.14159265358979 }}", "3.14159265358979"),
    GIVES("{{ 1/3 }}", "0.3333333333333333"),
    GIVES("{{ 2/3 }}", "0.6666666666666666"),
    GIVES("{{ 1e0 }}", "1.0"),
    GIVES("{{ 12345678.9 }}", "12345678.9"),
};

static void test_jinja_text_numbers(void **unused)
{
    jinjafix_check(numbers_rows, TK_ARRAY_LEN(numbers_rows));
}

static const jinjafix_row repr_of_text_rows[] = {
    GIVES("{{ ['a'] }}", "['a']"),
    GIVES("{{ ['it\\'s'] }}", "[\"it's\"]"),
    GIVES("{{ ['q\"q'] }}", "['q\"q']"),
    GIVES("{{ ['b\\'\"'] }}", "['b\\'\"']"),
    GIVES("{{ ['\\\\'] }}", "['\\\\']"),
    GIVES("{{ ['\\n\\r\\t'] }}", "['\\n\\r\\t']"),
    GIVES("{{ ['\\x00\\x07\\x1b\\x7f'] }}", "['\\x00\\x07\\x1b\\x7f']"),
    GIVES("{{ ['\\x80\\x85\\xa0\\xad'] }}", "['\\x80\\x85\\xa0\\xad']"),
    GIVES("{{ ['é'] }}", "['é']"),
    GIVES("{{ ['你😀'] }}", "['你😀']"),
    GIVES("{{ ['\\u200b\\u2028\\ufeff'] }}", "['\\u200b\\u2028\\ufeff']"),
    GIVES("{{ ['\\U000E0001'] }}", "['\\U000e0001']"),
    GIVES("{{ ['\\ue000'] }}", "['\\ue000']"),
    GIVES("{{ ['\\u0378'] }}", "['\\u0378']"),
    GIVES("{{ [''] }}", "['']"),
    GIVES("{{ {'k': \"it's\"} }}", "{'k': \"it's\"}"),
    GIVES("{{ ('a', 'b\"') }}", "('a', 'b\"')"),
    GIVES("{{ [['a'], ('b',), {'c': 'd'}] }}", "[['a'], ('b',), {'c': 'd'}]"),
    GIVES("{{ ['<'|safe] }}", "[Markup('<')]"),
    GIVES("{{ 'it\\'s' }}", "it's"),
    GIVES("{{ 'a\\nb' }}", "a\nb"),
};

static void test_jinja_text_repr_of_text(void **unused)
{
    jinjafix_check(repr_of_text_rows, TK_ARRAY_LEN(repr_of_text_rows));
}

static const jinjafix_row collections_rows[] = {
    GIVES("{{ [] }}", "[]"),
    GIVES("{{ () }}", "()"),
    GIVES("{{ {} }}", "{}"),
    GIVES("{{ (1,) }}", "(1,)"),
    GIVES("{{ (1, 2) }}", "(1, 2)"),
    GIVES("{{ [1, 1.0, true, none, 'a'] }}", "[1, 1.0, True, None, 'a']"),
    GIVES("{{ [[], (), {}] }}", "[[], (), {}]"),
    GIVES("{{ {'a': {'b': [1, (2,)]}} }}", "{'a': {'b': [1, (2,)]}}"),
    GIVES("{{ {1: 2, none: true, (1,): 3.5} }}", "{1: 2, None: True, (1,): 3.5}"),
    GIVES("{{ range(3) }}", "range(0, 3)"),
    GIVES("{{ range(1, 3) }}", "range(1, 3)"),
    GIVES("{{ range(1, 10, 2) }}", "range(1, 10, 2)"),
    GIVES("{{ range(3, 0, -1) }}", "range(3, 0, -1)"),
    GIVES("{{ [range(3)] }}", "[range(0, 3)]"),
    GIVES("{{ {'a': 1}.items() }}", "dict_items([('a', 1)])"),
    GIVES("{{ [{'a': 1}.keys()] }}", "[dict_keys(['a'])]"),
    GIVES("{{ {'a': 'b'}.values() }}", "dict_values(['b'])"),
    GIVES("{{ namespace(a=1) }}", "<Namespace {'a': 1}>"),
    GIVES("{{ namespace() }}", "<Namespace {}>"),
    GIVES("{{ [namespace(a='x')] }}", "[<Namespace {'a': 'x'}>]"),
    GIVES("{{ none }}", "None"),
    GIVES("{{ true }}", "True"),
    GIVES("{{ [none, true, false] }}", "[None, True, False]"),
    GIVES("{{ [x] }}", "[Undefined]"),
    GIVES("{{ x }}", ""),
    RAISES("{{ [x.y] }}", "'x' is undefined"),
    GIVES("{% macro m() %}{% endmacro %}{{ m }}", "<Macro 'm'>"),
    GIVES("{% for x in 'ab' %}{{ loop }}{% endfor %}",
          "<LoopContext 1/2><LoopContext 2/2>"),
};

static void test_jinja_text_collections(void **unused)
{
    jinjafix_check(collections_rows, TK_ARRAY_LEN(collections_rows));
}

static const jinjafix_row tojson_rows[] = {
    GIVES("{{ none|tojson }}", "null"),
    GIVES("{{ true|tojson }}", "true"),
    GIVES("{{ false|tojson }}", "false"),
    GIVES("{{ 1|tojson }}", "1"),
    GIVES("{{ -1|tojson }}", "-1"),
    GIVES("{{ 1.0|tojson }}", "1.0"),
    GIVES("{{ 0.1|tojson }}", "0.1"),
    GIVES("{{ 1e16|tojson }}", "1e+16"),
    GIVES("{{ 1e400|tojson }}", "Infinity"),
    GIVES("{{ -1e400|tojson }}", "-Infinity"),
    GIVES("{{ (1e400 - 1e400)|tojson }}", "NaN"),
    GIVES("{{ ''|tojson }}", "\"\""),
    GIVES("{{ 'a'|tojson }}", "\"a\""),
    GIVES("{{ '\"\\\\/\\n\\r\\t\\b\\f'|tojson }}", "\"\\\"\\\\/\\n\\r\\t\\b\\f\""),
    GIVES("{{ '\\x00\\x1f\\x7f'|tojson }}", "\"\\u0000\\u001f\177\""),
    GIVES("{{ 'é你😀'|tojson }}", "\"é你😀\""),
    GIVES("{{ '<b>&\\''|tojson }}", "\"<b>&'\""),
    GIVES("{{ '\\u2028'|tojson }}", "\"\342\200\250\""),
    GIVES("{{ []|tojson }}", "[]"),
    GIVES("{{ [1, 'a', none, true]|tojson }}", "[1, \"a\", null, true]"),
    GIVES("{{ (1, 2)|tojson }}", "[1, 2]"),
    GIVES("{{ {}|tojson }}", "{}"),
    GIVES("{{ {'a': 1, 'b': [2, {'c': 3}]}|tojson }}",
          "{\"a\": 1, \"b\": [2, {\"c\": 3}]}"),
    GIVES("{{ {1: 'a', 1.5: 'b', true: 'c', none: 'd'}|tojson }}",
          "{\"1\": \"c\", \"1.5\": \"b\", \"null\": \"d\"}"),
    RAISES("{{ {(1,): 2}|tojson }}",
           "keys must be str, int, float, bool or None, not tuple"),
    GIVES("{{ {'b': 1, 'a': 2}|tojson }}", "{\"b\": 1, \"a\": 2}"),
    RAISES("{{ range(3)|tojson }}", "Object of type range is not JSON serializable"),
    RAISES("{{ x|tojson }}", "Object of type Undefined is not JSON serializable"),
    RAISES("{{ [x]|tojson }}", "Object of type Undefined is not JSON serializable"),
    RAISES("{{ namespace(a=1)|tojson }}",
           "Object of type Namespace is not JSON serializable"),
    RAISES("{{ {'a': 1}.items()|tojson }}",
           "Object of type dict_items is not JSON serializable"),
    RAISES("{{ range|tojson }}", "Object of type function is not JSON serializable"),
    RAISES("{{ [1]|map('string')|tojson }}",
           "Object of type generator is not JSON serializable"),
    GIVES("{{ ('a'|safe)|tojson }}", "\"a\""),
};

static void test_jinja_text_tojson(void **unused)
{
    jinjafix_check(tojson_rows, TK_ARRAY_LEN(tojson_rows));
}

static const jinjafix_row tojson_arguments_rows[] = {
    GIVES("{{ [1, 2]|tojson(indent=2) }}", "[\n  1,\n  2\n]"),
    GIVES("{{ [1, 2]|tojson(indent=0) }}", "[\n1,\n2\n]"),
    GIVES("{{ [1, 2]|tojson(indent=-1) }}", "[\n1,\n2\n]"),
    GIVES("{{ []|tojson(indent=2) }}", "[]"),
    GIVES("{{ {}|tojson(indent=2) }}", "{}"),
    GIVES("{{ [[]]|tojson(indent=2) }}", "[\n  []\n]"),
    GIVES("{{ [[1]]|tojson(indent=4) }}", "[\n    [\n        1\n    ]\n]"),
    GIVES("{{ {'a': 1, 'b': [1, {'c': none}]}|tojson(indent=2) }}",
          "{\n  \"a\": 1,\n  \"b\": [\n    1,\n    {\n      \"c\": null\n    }\n  ]\n}"),
    GIVES("{{ {'a': 1}|tojson(indent='\\t') }}", "{\n\t\"a\": 1\n}"),
    GIVES("{{ {'a': 1}|tojson(indent='--') }}", "{\n--\"a\": 1\n}"),
    GIVES("{{ {'a': 1}|tojson(indent='') }}", "{\n\"a\": 1\n}"),
    GIVES("{{ {'a': 1}|tojson(indent=true) }}", "{\n \"a\": 1\n}"),
    GIVES("{{ {'a': 1}|tojson(indent=none) }}", "{\"a\": 1}"),
    RAISES("{{ {'a': 1}|tojson(indent=1.5) }}",
           "can't multiply sequence by non-int of type 'float'"),
    GIVES("{{ {'b': 1, 'a': 2}|tojson(sort_keys=true) }}", "{\"a\": 2, \"b\": 1}"),
    GIVES("{{ {'b': 1, 'a': {'d': 1, 'c': 2}}|tojson(sort_keys=true) }}",
          "{\"a\": {\"c\": 2, \"d\": 1}, \"b\": 1}"),
    GIVES("{{ {2: 1, 1: 2}|tojson(sort_keys=true) }}", "{\"1\": 2, \"2\": 1}"),
    RAISES("{{ {'a': 1, 1: 2}|tojson(sort_keys=true) }}",
           "'<' not supported between instances of 'int' and 'str'"),
    GIVES("{{ {'c': 1, 'a': 2, 'b': 3, 'B': 4}|tojson(sort_keys=true) }}",
          "{\"B\": 4, \"a\": 2, \"b\": 3, \"c\": 1}"),
    GIVES("{{ {'a': 1, 'b': 2}|tojson(separators=(',', ':')) }}", "{\"a\":1,\"b\":2}"),
    GIVES("{{ {'a': 1, 'b': 2}|tojson(separators=[' , ', ' : ']) }}",
          "{\"a\" : 1 , \"b\" : 2}"),
    GIVES("{{ [1, 2]|tojson(separators=(';', '=')) }}", "[1;2]"),
    GIVES("{{ [1, 2]|tojson(indent=1, separators=(';', '=')) }}", "[\n 1;\n 2\n]"),
    GIVES("{{ 'é😀'|tojson(ensure_ascii=true) }}", "\"\\u00e9\\ud83d\\ude00\""),
    GIVES("{{ 'é😀\\x7f'|tojson(true) }}", "\"\\u00e9\\ud83d\\ude00\\u007f\""),
    GIVES("{{ 'é'|tojson(ensure_ascii=false) }}", "\"é\""),
    GIVES("{{ 'é'|tojson(false, 2) }}", "\"é\""),
    GIVES("{{ [1]|tojson(false, 2) }}", "[\n  1\n]"),
    REFUSES("{{ [1]|tojson(nothing=1) }}"),
    REFUSES("{{ [1]|tojson(1, 2, 3, 4, 5) }}"),
};

static void test_jinja_text_tojson_arguments(void **unused)
{
    jinjafix_check(tojson_arguments_rows, TK_ARRAY_LEN(tojson_arguments_rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jinja_text_numbers),
        cmocka_unit_test(test_jinja_text_repr_of_text),
        cmocka_unit_test(test_jinja_text_collections),
        cmocka_unit_test(test_jinja_text_tojson),
        cmocka_unit_test(test_jinja_text_tojson_arguments),
    };
    return cmocka_run_group_tests_name("jinja_text", tests, NULL, NULL);
}
