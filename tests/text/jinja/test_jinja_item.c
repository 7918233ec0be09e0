/* Attributes, items and slices, as Python and jinja2's sandbox give them (jinja2
 * 3.1.6). */
#include "support/jinjafix.h"

static const jinjafix_row items_rows[] = {
    GIVES("{{ [1, 2, 3][0] }}", "1"),
    GIVES("{{ [1, 2, 3][2] }}", "3"),
    GIVES("{{ [1, 2, 3][3] }}", ""),
    GIVES("{{ [1, 2, 3][-1] }}", "3"),
    GIVES("{{ [1, 2, 3][-3] }}", "1"),
    GIVES("{{ [1, 2, 3][-4] }}", ""),
    GIVES("{{ [1, 2, 3][true] }}", "2"),
    GIVES("{{ [1, 2, 3][1.0] }}", ""),
    GIVES("{{ [1, 2, 3]['a'] }}", ""),
    GIVES("{{ [1, 2, 3]['0'] }}", ""),
    GIVES("{{ [1, 2, 3][none] }}", ""),
    GIVES("{{ (1, 2)[1] }}", "2"),
    GIVES("{{ 'abc'[0] }}", "a"),
    GIVES("{{ 'abc'[-1] }}", "c"),
    GIVES("{{ 'abc'[3] }}", ""),
    GIVES("{{ 'aé😀'[1] }}", "é"),
    GIVES("{{ 'aé😀'[2] }}", "😀"),
    GIVES("{{ 'aé😀'[-1] }}", "😀"),
    GIVES("{{ 'abc'['a'] }}", ""),
    GIVES("{{ range(5)[2] }}", "2"),
    GIVES("{{ range(5)[-1] }}", "4"),
    GIVES("{{ range(0, 10, 3)[3] }}", "9"),
    GIVES("{{ range(0, 10, 3)[4] }}", ""),
    GIVES("{{ {'a': 1}['a'] }}", "1"),
    GIVES("{{ {'a': 1}['b'] }}", ""),
    GIVES("{{ {'a': 1}[0] }}", ""),
    GIVES("{{ 5[0] }}", ""),
    GIVES("{{ none[0] }}", ""),
    GIVES("{{ none['a'] }}", ""),
    RAISES("{{ x[0] }}", "'x' is undefined"),
    RAISES("{{ x['a'] }}", "'x' is undefined"),
    RAISES("{{ {'a': 1}['b']['c'] }}", "'dict object' has no attribute 'b'"),
    REFUSES("{{ [1][5][0] }}"),
    REFUSES("{{ [1][5].x }}"),
    GIVES("{{ none.x }}", ""),
    RAISES("{{ none.x.y }}", "'None' has no attribute 'x'"),
    GIVES("{{ (5).x }}", ""),
    RAISES("{{ (5).x.y }}", "'int object' has no attribute 'x'"),
    GIVES("{{ 'a'.x }}", ""),
    RAISES("{{ 'a'.x.y }}", "'str object' has no attribute 'x'"),
    RAISES("{{ x.y }}", "'x' is undefined"),
    RAISES("{{ x.y.z }}", "'x' is undefined"),
    GIVES("{{ {'a': 1}.a.b }}", ""),
    RAISES("{{ {'a': 1}.a.b.c }}", "'int object' has no attribute 'b'"),
    RAISES("{{ {'a': none}.a.b.c }}", "'None' has no attribute 'b'"),
    RAISES("{{ [].x.y }}", "'list object' has no attribute 'x'"),
    RAISES("{{ ().x.y }}", "'tuple object' has no attribute 'x'"),
    RAISES("{{ true.x.y }}", "'bool object' has no attribute 'x'"),
    GIVES("{{ 1.5.x }}", ""),
    RAISES("{{ (1.5).x.y }}", "'float object' has no attribute 'x'"),
    GIVES("{{ range(3).x }}", ""),
    RAISES("{{ range(3).x.y }}", "'range object' has no attribute 'x'"),
};

static void test_jinja_item_items(void **unused)
{
    jinjafix_check(items_rows, TK_ARRAY_LEN(items_rows));
}

/* A dot looks for a method first, brackets for a key first. */
static const jinjafix_row methods_before_keys_rows[] = {
    GIVES("{{ {'items': 5}.items()|list }}", "[('items', 5)]"),
    GIVES("{{ {'items': 5}['items'] }}", "5"),
    GIVES("{{ {'keys': 5}.keys()|list }}", "['keys']"),
    GIVES("{{ {'x': 5}.x }}", "5"),
    GIVES("{{ {'x': 5}['get']('x') }}", "5"),
    GIVES("{{ 'abc'['upper']() }}", "ABC"),
    GIVES("{{ [3, 1]['index'](1) }}", "1"),
    GIVES("{{ {'get': 1}['get'] }}", "1"),
    GIVES("{% set n = namespace(items=5) %}{{ n.items }}{{ n['items'] }}", "55"),
    GIVES("{% set n = namespace(a=1) %}{{ n.b }}", ""),
    REFUSES("{% set n = namespace(a=1) %}{{ n.b.c }}"),
    GIVES("{% set n = namespace(a=1) %}{{ n['a'] }}", "1"),
    GIVES("{% set n = namespace({'a': 1}, b=2) %}{{ n.a }}{{ n.b }}", "12"),
    GIVES("{% set n = namespace() %}{% set n.x = [1] %}{{ n.x[0] }}", "1"),
};

static void test_jinja_item_methods_before_keys(void **unused)
{
    jinjafix_check(methods_before_keys_rows, TK_ARRAY_LEN(methods_before_keys_rows));
}

/* The immutable sandbox refuses them. */
static const jinjafix_row unsafe_attributes_rows[] = {
    GIVES("{{ ''.__class__ }}", ""),
    REFUSES("{{ ''.__class__.x }}"),
    GIVES("{{ [].append }}", ""),
    RAISES("{{ [].append(1) }}",
           "access to attribute 'append' of 'list' object is unsafe."),
    RAISES("{{ [].extend([1]) }}",
           "access to attribute 'extend' of 'list' object is unsafe."),
    RAISES("{{ [].insert(0, 1) }}",
           "access to attribute 'insert' of 'list' object is unsafe."),
    RAISES("{{ [1].pop() }}", "access to attribute 'pop' of 'list' object is unsafe."),
    RAISES("{{ [1].remove(1) }}",
           "access to attribute 'remove' of 'list' object is unsafe."),
    RAISES("{{ [1].reverse() }}",
           "access to attribute 'reverse' of 'list' object is unsafe."),
    RAISES("{{ [1].sort() }}", "access to attribute 'sort' of 'list' object is unsafe."),
    RAISES("{{ [1].clear() }}",
           "access to attribute 'clear' of 'list' object is unsafe."),
    RAISES("{{ {}.update({}) }}",
           "access to attribute 'update' of 'dict' object is unsafe."),
    RAISES("{{ {'a': 1}.pop('a') }}",
           "access to attribute 'pop' of 'dict' object is unsafe."),
    RAISES("{{ {}.clear() }}", "access to attribute 'clear' of 'dict' object is unsafe."),
    RAISES("{{ {}.setdefault(1, 2) }}",
           "access to attribute 'setdefault' of 'dict' object is unsafe."),
    RAISES("{{ {}.popitem() }}",
           "access to attribute 'popitem' of 'dict' object is unsafe."),
    GIVES("{{ [].append is defined }}", "False"),
    GIVES("{{ [].append is undefined }}", "True"),
};

static void test_jinja_item_unsafe_attributes(void **unused)
{
    jinjafix_check(unsafe_attributes_rows, TK_ARRAY_LEN(unsafe_attributes_rows));
}

static const jinjafix_row list_slices_rows[] = {
    GIVES("{{ [0, 1, 2, 3, 4][1:3] }}", "[1, 2]"),
    GIVES("{{ [0, 1, 2, 3, 4][:3] }}", "[0, 1, 2]"),
    GIVES("{{ [0, 1, 2, 3, 4][3:] }}", "[3, 4]"),
    GIVES("{{ [0, 1, 2, 3, 4][:] }}", "[0, 1, 2, 3, 4]"),
    GIVES("{{ [0, 1, 2, 3, 4][-2:] }}", "[3, 4]"),
    GIVES("{{ [0, 1, 2, 3, 4][:-2] }}", "[0, 1, 2]"),
    GIVES("{{ [0, 1, 2, 3, 4][-3:-1] }}", "[2, 3]"),
    GIVES("{{ [0, 1, 2, 3, 4][3:1] }}", "[]"),
    GIVES("{{ [0, 1, 2, 3, 4][10:] }}", "[]"),
    GIVES("{{ [0, 1, 2, 3, 4][:10] }}", "[0, 1, 2, 3, 4]"),
    GIVES("{{ [0, 1, 2, 3, 4][-10:] }}", "[0, 1, 2, 3, 4]"),
    GIVES("{{ [0, 1, 2, 3, 4][:-10] }}", "[]"),
    GIVES("{{ [0, 1, 2, 3, 4][::2] }}", "[0, 2, 4]"),
    GIVES("{{ [0, 1, 2, 3, 4][1::2] }}", "[1, 3]"),
    GIVES("{{ [0, 1, 2, 3, 4][::-1] }}", "[4, 3, 2, 1, 0]"),
    GIVES("{{ [0, 1, 2, 3, 4][::-2] }}", "[4, 2, 0]"),
    GIVES("{{ [0, 1, 2, 3, 4][3::-1] }}", "[3, 2, 1, 0]"),
    GIVES("{{ [0, 1, 2, 3, 4][:1:-1] }}", "[4, 3, 2]"),
    GIVES("{{ [0, 1, 2, 3, 4][3:1:-1] }}", "[3, 2]"),
    GIVES("{{ [0, 1, 2, 3, 4][1:3:-1] }}", "[]"),
    GIVES("{{ [0, 1, 2, 3, 4][-1:-4:-1] }}", "[4, 3, 2]"),
    GIVES("{{ [0, 1, 2, 3, 4][10::-1] }}", "[4, 3, 2, 1, 0]"),
    GIVES("{{ [0, 1, 2, 3, 4][::10] }}", "[0]"),
    GIVES("{{ [0, 1, 2, 3, 4][::-10] }}", "[4]"),
    GIVES("{{ [0, 1, 2, 3, 4][none:none] }}", "[0, 1, 2, 3, 4]"),
    GIVES("{{ [0, 1, 2, 3, 4][none:2:none] }}", "[0, 1]"),
    GIVES("{{ [0, 1, 2, 3, 4][true:] }}", "[1, 2, 3, 4]"),
    GIVES("{{ [][1:2] }}", "[]"),
    GIVES("{{ [][::-1] }}", "[]"),
    GIVES("{{ (0, 1, 2)[1:] }}", "(1, 2)"),
    GIVES("{{ (0, 1, 2)[::-1] }}", "(2, 1, 0)"),
    RAISES("{{ [0, 1][::0] }}", "slice step cannot be zero"),
    GIVES("{{ [0, 1][9223372036854775807:] }}", "[]"),
    GIVES("{{ [0, 1][-9223372036854775807:] }}", "[0, 1]"),
    GIVES("{{ [0, 1][::9223372036854775807] }}", "[0]"),
    GIVES("{{ [0, 1][::-9223372036854775807] }}", "[1]"),
};

static void test_jinja_item_list_slices(void **unused)
{
    jinjafix_check(list_slices_rows, TK_ARRAY_LEN(list_slices_rows));
}

/* By characters. */
static const jinjafix_row text_slices_rows[] = {
    GIVES("{{ 'abcde'[1:3] }}", "bc"),
    GIVES("{{ 'abcde'[:-1] }}", "abcd"),
    GIVES("{{ 'abcde'[-2:] }}", "de"),
    GIVES("{{ 'abcde'[::-1] }}", "edcba"),
    GIVES("{{ 'abcde'[::2] }}", "ace"),
    GIVES("{{ 'abcde'[3:1] }}", ""),
    GIVES("{{ 'abcde'[10:] }}", ""),
    GIVES("{{ 'aéü😀z'[1:4] }}", "éü😀"),
    GIVES("{{ 'aéü😀z'[::-1] }}", "z😀üéa"),
    GIVES("{{ 'aéü😀z'[::2] }}", "aüz"),
    GIVES("{{ 'aéü😀z'[-2:] }}", "😀z"),
    GIVES("{{ 'aéü😀z'[:-2] }}", "aéü"),
    GIVES("{{ ''[:] }}", ""),
    GIVES("{{ ''[::-1] }}", ""),
    GIVES("{{ 'a'[0:0] }}", ""),
    GIVES("{{ range(10)[2:5] }}", "range(2, 5)"),
    GIVES("{{ range(10)[2:5]|list }}", "[2, 3, 4]"),
    GIVES("{{ range(10)[::2]|list }}", "[0, 2, 4, 6, 8]"),
    GIVES("{{ range(10)[::-1]|list }}", "[9, 8, 7, 6, 5, 4, 3, 2, 1, 0]"),
    GIVES("{{ range(10)[-3:]|list }}", "[7, 8, 9]"),
    GIVES("{{ range(0, 20, 3)[1:4] }}", "range(3, 12, 3)"),
    GIVES("{{ range(5)[10:]|list }}", "[]"),
    RAISES("{{ x[1:] }}", "'x' is undefined"),
};

static void test_jinja_item_text_slices(void **unused)
{
    jinjafix_check(text_slices_rows, TK_ARRAY_LEN(text_slices_rows));
}

static const jinjafix_row loop_variables_rows[] = {
    GIVES(
        "{% for x in 'abc' %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }} {% endfor %}",
        "1032 2121 3210 "),
    GIVES(
        "{% for x in 'abc' %}{{ loop.first }}{{ loop.last }}{{ loop.length }} {% endfor %}",
        "TrueFalse3 FalseFalse3 FalseTrue3 "),
    GIVES("{% for x in 'abc' %}[{{ loop.previtem }}|{{ loop.nextitem }}]{% endfor %}",
          "[|b][a|c][b|]"),
    GIVES(
        "{% for x in 'a' %}{{ loop.previtem is defined }}{{ loop.nextitem is defined }}{% endfor %}",
        "FalseFalse"),
    RAISES("{% for x in 'a' %}{{ loop.previtem.x }}{% endfor %}",
           "there is no previous item"),
    RAISES("{% for x in 'a' %}{{ loop.nextitem.x }}{% endfor %}",
           "there is no next item"),
    GIVES(
        "{% for x in 'a' %}{{ loop.depth }}{{ loop.depth0 }}{% for y in 'b' %}{{ loop.depth }}{% endfor %}{% endfor %}",
        "101"),
    GIVES("{% for x in 'ab' %}{{ loop['index'] }}{% endfor %}", "12"),
    GIVES(
        "{% for x in 'a' %}{{ loop.nothing }}|{{ loop.nothing is defined }}{% endfor %}",
        "|False"),
    REFUSES("{% for x in 'a' %}{{ loop.nothing.x }}{% endfor %}"),
    GIVES("{% for x in 'a' %}{{ loop }}{% endfor %}", "<LoopContext 1/1>"),
    GIVES("{% for x in 'abcd' %}{{ loop.cycle('x', 'y') }}{% endfor %}", "xyxy"),
    RAISES("{% for x in 'a' %}{{ loop.cycle() }}{% endfor %}",
           "no items for cycling given"),
    GIVES("{% for x in [1, 1, 2, 2, 1] %}{{ loop.changed(x) }} {% endfor %}",
          "True False True False True "),
    GIVES(
        "{% for x in [1, 2] %}{{ loop.changed(x, 1) }}{{ loop.changed() }} {% endfor %}",
        "TrueTrue TrueTrue "),
    GIVES(
        "{% for x in [[1, [2]], [3]] recursive %}{{ loop.depth }}{% if x is sequence %}({{ loop(x) }}){% else %}{{ x }}{% endif %}{% endfor %}",
        "1(212(32))1(23)"),
    RAISES("{% for x in [1] %}{{ loop([2]) }}{% endfor %}",
           "The loop must have the 'recursive' marker to be called recursively."),
    GIVES("{% macro m(a, b=1) %}{% endmacro %}{{ m.name }}{{ m.nothing }}", "m"),
};

static void test_jinja_item_loop_variables(void **unused)
{
    jinjafix_check(loop_variables_rows, TK_ARRAY_LEN(loop_variables_rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jinja_item_items),
        cmocka_unit_test(test_jinja_item_methods_before_keys),
        cmocka_unit_test(test_jinja_item_unsafe_attributes),
        cmocka_unit_test(test_jinja_item_list_slices),
        cmocka_unit_test(test_jinja_item_text_slices),
        cmocka_unit_test(test_jinja_item_loop_variables),
    };
    return cmocka_run_group_tests_name("jinja_item", tests, NULL, NULL);
}
