/* Operands: literals, what follows a value, filters, tests, as jinja2 3.1.6 parses
 * them. */
#include "support/jinjafix.h"

static const jinjafix_row literals_rows[] = {
    GIVES("{{ true }}", "True"),
    GIVES("{{ True }}", "True"),
    GIVES("{{ false }}", "False"),
    GIVES("{{ False }}", "False"),
    GIVES("{{ none }}", "None"),
    GIVES("{{ None }}", "None"),
    GIVES("{{ TRUE }}", ""),
    GIVES("{{ [true, false, none] }}", "[True, False, None]"),
    GIVES("{{ [] }}", "[]"),
    GIVES("{{ [1] }}", "[1]"),
    GIVES("{{ [1,] }}", "[1]"),
    GIVES("{{ [1, 2,] }}", "[1, 2]"),
    RAISES("{{ [,] }}", "unexpected ','"),
    RAISES("{{ [1,,2] }}", "unexpected ','"),
    GIVES("{{ () }}", "()"),
    GIVES("{{ (1) }}", "1"),
    GIVES("{{ (1,) }}", "(1,)"),
    GIVES("{{ (1, 2) }}", "(1, 2)"),
    GIVES("{{ (1, 2,) }}", "(1, 2)"),
    GIVES("{{ ((1, 2), 3) }}", "((1, 2), 3)"),
    GIVES("{{ (()) }}", "()"),
    GIVES("{{ 1, }}", "(1,)"),
    GIVES("{{ 1, 2 }}", "(1, 2)"),
    GIVES("{{ 1, 2, }}", "(1, 2)"),
    GIVES("{{ {} }}", "{}"),
    GIVES("{{ {'a': 1} }}", "{'a': 1}"),
    GIVES("{{ {'a': 1,} }}", "{'a': 1}"),
    GIVES("{{ {'a': 1, 'b': 2} }}", "{'a': 1, 'b': 2}"),
    GIVES("{{ {1: 2, 1.5: 3, none: 4, true: 5, (1, 2): 6} }}",
          "{1: 5, 1.5: 3, None: 4, (1, 2): 6}"),
    GIVES("{{ {'a': {'b': {}}} }}", "{'a': {'b': {}}}"),
    GIVES("{{ {'a': 1, 'a': 2} }}", "{'a': 2}"),
    RAISES("{{ {[]: 1} }}", "unhashable type: 'list'"),
    RAISES("{{ {{}: 1} }}", "unhashable type: 'dict'"),
    REFUSES("{{ {1, 2} }}"),
    GIVES("{{ 'a' 'b' }}", "ab"),
    GIVES("{{ 'a' \"b\" 'c' }}", "abc"),
    GIVES("{{ ('a' 'b')|upper }}", "AB"),
    GIVES("{{ 'a' 'b'|upper }}", "AB"),
};

static void test_jinja_operand_literals(void **unused)
{
    jinjafix_check(literals_rows, TK_ARRAY_LEN(literals_rows));
}

static const jinjafix_row attributes_and_items_rows[] = {
    GIVES("{{ {'a': 1}.a }}", "1"),
    GIVES("{{ {'a': 1}['a'] }}", "1"),
    GIVES("{{ {'a': {'b': 2}}.a.b }}", "2"),
    GIVES("{{ {'a': {'b': 2}}['a']['b'] }}", "2"),
    GIVES("{{ {'a': [1, 2]}.a[1] }}", "2"),
    GIVES("{{ {'a': [1, 2]}.a.1 }}", "2"),
    GIVES("{{ [1, 2, 3].0 }}", "1"),
    GIVES("{{ [1, 2, 3].2 }}", "3"),
    GIVES("{{ [[1, 2], [3]].0.1 }}", "2"),
    GIVES("{{ [[1, 2], [3]].0 .1 }}", "2"),
    GIVES("{{ (1, 2)[0] }}", "1"),
    GIVES("{{ 'abc'[1] }}", "b"),
    GIVES("{{ 'abc'.upper() }}", "ABC"),
    GIVES("{{ 'abc'.upper().lower() }}", "abc"),
    GIVES("{{ 'a,b'.split(',')[1] }}", "b"),
    GIVES("{{ [1, 2][0] + 1 }}", "2"),
    GIVES("{{ [1, 2][-1] }}", "2"),
    GIVES("{{ [1, 2][1 - 1] }}", "1"),
    GIVES("{{ {(1, 2): 'x'}[1, 2] }}", "x"),
    GIVES("{{ {'a': 1}['a' if 1 else 'b'] }}", "1"),
    GIVES("{{ {'a': 1}[\"a\"] }}", "1"),
    GIVES("{{ [1, 2, 3][0:2] }}", "[1, 2]"),
    GIVES("{{ [1, 2, 3][:] }}", "[1, 2, 3]"),
    GIVES("{{ [1, 2, 3][::] }}", "[1, 2, 3]"),
    GIVES("{{ [1, 2, 3][1:] }}", "[2, 3]"),
    GIVES("{{ [1, 2, 3][:1] }}", "[1]"),
    GIVES("{{ [1, 2, 3][::2] }}", "[1, 3]"),
    GIVES("{{ [1, 2, 3][::-1] }}", "[3, 2, 1]"),
    GIVES("{{ [1, 2, 3][2:0:-1] }}", "[3, 2]"),
    GIVES("{{ [1, 2, 3][0:2][1] }}", "2"),
    GIVES("{{ [1, 2, 3][1 if 1 else 0:] }}", "[2, 3]"),
    GIVES("{{ [1, 2, 3][:1 + 1] }}", "[1, 2]"),
    REFUSES("{{ [1, 2, 3][0:1:1:1] }}"),
    REFUSES("{{ 'a'. }}"),
    RAISES("{{ [1][0,] }}", "unexpected ']'"),
};

static void test_jinja_operand_attributes_and_items(void **unused)
{
    jinjafix_check(attributes_and_items_rows, TK_ARRAY_LEN(attributes_and_items_rows));
}

static const jinjafix_row calls_rows[] = {
    GIVES("{{ range(3)|list }}", "[0, 1, 2]"),
    GIVES("{{ range(1, 3)|list }}", "[1, 2]"),
    GIVES("{{ range(1, 10, 3,)|list }}", "[1, 4, 7]"),
    GIVES("{{ dict(a=1) }}", "{'a': 1}"),
    GIVES("{{ dict(a=1, b=2) }}", "{'a': 1, 'b': 2}"),
    GIVES("{{ dict({'a': 1}, b=2) }}", "{'a': 1, 'b': 2}"),
    GIVES("{{ dict(**{'a': 1}) }}", "{'a': 1}"),
    GIVES("{{ dict({'a': 1}, **{'b': 2}) }}", "{'a': 1, 'b': 2}"),
    GIVES("{{ dict([('a', 1)]) }}", "{'a': 1}"),
    GIVES("{{ range(*[1, 4])|list }}", "[1, 2, 3]"),
    GIVES("{{ range(*(1, 4))|list }}", "[1, 2, 3]"),
    GIVES("{{ range(1, *[4])|list }}", "[1, 2, 3]"),
    REFUSES("{{ dict(a=1, a=2) }}"),
    REFUSES("{{ dict(a=1, **{'a': 2}) }}"),
    REFUSES("{{ range(3, *1)|list }}"),
    REFUSES("{{ dict(**1) }}"),
    RAISES("{{ dict(**{1: 2}) }}", "keywords must be strings"),
    GIVES(
        "{% macro m(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ m(*'xy') }}{{ m(**{'a': 1, 'b': 2}) }}{{ m(1, b=2) }}",
        "xy1212"),
    GIVES(
        "{% macro m(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ m(b=1, a=2) }}{{ m(1, *[2]) }}",
        "2112"),
    RAISES("{{ range(3)(1) }}", "'range' object is not callable"),
    RAISES("{{ 'a'() }}", "'str' object is not callable"),
    RAISES("{{ 1() }}", "'int' object is not callable"),
    RAISES("{{ none() }}", "'NoneType' object is not callable"),
    GIVES("{% macro m() %}{{ m }}{% endmacro %}{{ m.name }}", "m"),
    GIVES("{{ 'abc'.replace('a', 'b') }}", "bbc"),
    GIVES("{{ 'abc'.replace('a', 'b',) }}", "bbc"),
    REFUSES("{{ 'abc'.replace(old='a', new='b') }}"),
    GIVES("{{ (1).x }}", ""),
    GIVES("{{ 1.x }}", ""),
};

static void test_jinja_operand_calls(void **unused)
{
    jinjafix_check(calls_rows, TK_ARRAY_LEN(calls_rows));
}

static const jinjafix_row filters_rows[] = {
    GIVES("{{ 'a'|upper }}", "A"),
    GIVES("{{ 'a'|upper() }}", "A"),
    GIVES("{{ 'a' | upper }}", "A"),
    GIVES("{{ 'a'|upper|lower|upper }}", "A"),
    GIVES("{{ 'a'|replace('a', 'b')|upper }}", "B"),
    GIVES("{{ 'abc'|replace(old='a', new='x') }}", "xbc"),
    GIVES("{{ 'abc'|replace('a', new='x') }}", "xbc"),
    GIVES("{{ [1, 2]|join(',') }}", "1,2"),
    GIVES("{{ [1, 2]|join(d=',') }}", "1,2"),
    GIVES("{{ [3, 1]|sort(reverse=true) }}", "[3, 1]"),
    GIVES("{{ [3, 1]|sort(true) }}", "[3, 1]"),
    GIVES("{{ [1, 2]|join(*[',']) }}", "1,2"),
    GIVES("{{ [1, 2]|join(**{'d': ','}) }}", "1,2"),
    REFUSES("{{ 'a'|upper(1) }}"),
    REFUSES("{{ 'a'|replace }}"),
    REFUSES("{{ 'a'|replace('a') }}"),
    RAISES("{{ 'a'|nothing }}", "No filter named 'nothing'."),
    REFUSES("{{ 'a'|upper.lower }}"),
    REFUSES("{{ 'a'|upper[0] }}"),
    GIVES("{{ ('a'|upper)[0] }}", "A"),
    REFUSES("{{ 'a'|list[0] }}"),
    GIVES("{{ [1, 2]|first|string }}", "1"),
    GIVES("{{ {'a': 1}|items|list }}", "[('a', 1)]"),
    GIVES("{{ 'a'|center(5)|trim }}", "a"),
    GIVES("{{ 'a'|default('b') }}", "a"),
    GIVES("{{ x|default('b') }}", "b"),
    GIVES("{{ x|default }}", ""),
    RAISES("{{ x.y|default('b') }}", "'x' is undefined"),
};

static void test_jinja_operand_filters(void **unused)
{
    jinjafix_check(filters_rows, TK_ARRAY_LEN(filters_rows));
}

static const jinjafix_row tests_rows[] = {
    GIVES("{{ 1 is number }}", "True"),
    GIVES("{{ 1 is not number }}", "False"),
    GIVES("{{ 1 is divisibleby(1) }}", "True"),
    GIVES("{{ 1 is divisibleby 1 }}", "True"),
    GIVES("{{ 1 is equalto none }}", "False"),
    GIVES("{{ 1 is equalto [1] }}", "False"),
    GIVES("{{ [1] is equalto [1] }}", "True"),
    GIVES("{{ {} is equalto {} }}", "True"),
    GIVES("{{ 'a' is equalto 'a' }}", "True"),
    GIVES("{{ 'a' is equalto 'a' 'b' }}", "False"),
    GIVES("{{ 1 is equalto 1.0 }}", "True"),
    GIVES("{{ 1 is equalto true }}", "True"),
    GIVES("{{ 1 is in [1, 2] }}", "True"),
    REFUSES("{{ 1 is in (1, 2) }}"),
    GIVES("{{ 'a' is in 'abc' }}", "True"),
    GIVES("{{ x is defined }}", "False"),
    GIVES("{{ x is undefined }}", "True"),
    GIVES("{{ x is not defined }}", "True"),
    GIVES("{{ 1 is defined and 2 is defined }}", "True"),
    GIVES("{{ 1 is defined or x }}", "True"),
    REFUSES("{{ 1 is defined if 1 else 2 }}"),
    RAISES("{{ 1 is nothing }}", "No test named 'nothing'."),
    RAISES("{{ 1 is nothing(1) }}", "No test named 'nothing'."),
    GIVES("{{ 1 is sameas 1 }}", "True"),
    GIVES("{{ true is sameas true }}", "True"),
    GIVES("{{ 1 is sameas(true) }}", "False"),
    GIVES("{{ 2 is lt 3 }}", "True"),
    GIVES("{{ 2 is lt(3) }}", "True"),
    GIVES("{{ 2 is gt 3 }}", "False"),
    GIVES("{{ 2 is le 2 }}", "True"),
    GIVES("{{ 2 is ge 3 }}", "False"),
    GIVES("{{ 2 is eq 2 }}", "True"),
    GIVES("{{ 2 is ne 2 }}", "False"),
    GIVES("{{ 2 is lt 3 is true }}", "True"),
    GIVES("{{ 'a' is in ['a'][0] }}", "True"),
    GIVES("{{ 1 is equalto [1][0] }}", "True"),
    GIVES("{{ 1 is equalto {'a': 1}.a }}", "True"),
    GIVES("{{ 1 is equalto 1 + 1 }}", "2"),
};

static void test_jinja_operand_tests(void **unused)
{
    jinjafix_check(tests_rows, TK_ARRAY_LEN(tests_rows));
}

static const jinjafix_row signs_rows[] = {
    GIVES("{{ -1 }}", "-1"),
    GIVES("{{ -1.5 }}", "-1.5"),
    GIVES("{{ - - 1 }}", "1"),
    RAISES("{{ -'a' }}", "bad operand type for unary -: 'str'"),
    REFUSES("{{ +'a' }}"),
    RAISES("{{ -none }}", "bad operand type for unary -: 'NoneType'"),
    RAISES("{{ -[1] }}", "bad operand type for unary -: 'list'"),
    RAISES("{{ -x }}", "'x' is undefined"),
    RAISES("{{ +x }}", "'x' is undefined"),
    GIVES("{{ -true }}", "-1"),
    GIVES("{{ +true }}", "1"),
    GIVES("{{ -(1) }}", "-1"),
    GIVES("{{ -(-1) }}", "1"),
    GIVES("{{ -1|string }}", "-1"),
    RAISES("{{ -'1'|int }}", "bad operand type for unary -: 'str'"),
    RAISES("{{ (-'1'|int) }}", "bad operand type for unary -: 'str'"),
    GIVES("{{ -[1, 2][0] }}", "-1"),
    GIVES("{{ -{'a': 5}.a }}", "-5"),
    GIVES("{{ not -1 }}", "False"),
    GIVES("{{ 1 - - - 1 }}", "0"),
};

static void test_jinja_operand_signs(void **unused)
{
    jinjafix_check(signs_rows, TK_ARRAY_LEN(signs_rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jinja_operand_literals),
        cmocka_unit_test(test_jinja_operand_attributes_and_items),
        cmocka_unit_test(test_jinja_operand_calls),
        cmocka_unit_test(test_jinja_operand_filters),
        cmocka_unit_test(test_jinja_operand_tests),
        cmocka_unit_test(test_jinja_operand_signs),
    };
    return cmocka_run_group_tests_name("jinja_operand", tests, NULL, NULL);
}
