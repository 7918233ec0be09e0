/* Methods of list, tuple, loop and cycler, as jinja2 3.1.6 allows them. */
#include "support/jinjafix.h"

static const jinjafix_row lists_rows[] = {
    GIVES("{{ [1, 2, 3].index(2) }}", "1"),
    REFUSES("{{ [1, 2, 3].index(9) }}"),
    GIVES("{{ [1, 2, 1].count(1) }}", "2"),
    GIVES("{{ [1, 2, 1].count(9) }}", "0"),
    GIVES("{{ [1, true, 1.0].count(1) }}", "3"),
    GIVES("{{ [[1], [1]].count([1]) }}", "2"),
    GIVES("{{ (1, 2).index(2) }}", "1"),
    GIVES("{{ (1, 2).count(3) }}", "0"),
    REFUSES("{{ (1, 2).index(3) }}"),
    GIVES("{{ [1, 2].copy() }}", "[1, 2]"),
    RAISES("{{ (1, 2).copy() }}", "'tuple object' has no attribute 'copy'"),
    REFUSES("{{ [].index(1) }}"),
    REFUSES("{{ [1].index() }}"),
    REFUSES("{{ [1].count(1, 2) }}"),
    RAISES("{{ [1].append(2) }}",
           "access to attribute 'append' of 'list' object is unsafe."),
    GIVES("{{ [1].nothing }}", ""),
    RAISES("{{ [1].nothing() }}", "'list object' has no attribute 'nothing'"),
    GIVES("{{ (1,).append }}", ""),
};

static void test_jinja_method_lists(void **unused)
{
    jinjafix_check(lists_rows, TK_ARRAY_LEN(lists_rows));
}

static const jinjafix_row loops_and_cyclers_rows[] = {
    GIVES("{% for x in 'abcde' %}{{ loop.cycle(1, 2, 3) }}{% endfor %}", "12312"),
    GIVES("{% for x in 'abc' %}{{ loop.cycle('x') }}{% endfor %}", "xxx"),
    GIVES("{% for x in 'ab' %}{{ loop.cycle(*[7, 8]) }}{% endfor %}", "78"),
    GIVES("{% for x in [1, 1, 2, 1] %}{{ loop.changed(x) }} {% endfor %}",
          "True False True True "),
    GIVES("{% for x in [1, 1.0, true] %}{{ loop.changed(x) }} {% endfor %}",
          "True False False "),
    GIVES("{% for x in [[1], [1], [2]] %}{{ loop.changed(x) }} {% endfor %}",
          "True False True "),
    GIVES("{% for x in [1, 2] %}{{ loop.changed(1, x) }} {% endfor %}", "True True "),
    GIVES(
        "{% set c = cycler(1, 2, 3) %}{% for x in range(5) %}{{ c.next() }}{% endfor %}",
        "12312"),
    GIVES(
        "{% set c = cycler('a', 'b') %}{% for x in range(2) %}{% for y in range(3) %}{{ c.next() }}{% endfor %}{{ c.reset() }};{% endfor %}",
        "abaNone;abaNone;"),
};

static void test_jinja_method_loops_and_cyclers(void **unused)
{
    jinjafix_check(loops_and_cyclers_rows, TK_ARRAY_LEN(loops_and_cyclers_rows));
}

/* Outside the strict mode the methods that change a value work, as in jinja2's mutable
 * sandbox. */
static const jinjafix_row loose_rows[] = {
    GIVES("{% set l = [1] %}{% set _ = l.append(2) %}{{ l }}", "[1, 2]"),
    GIVES("{% set l = [1] %}{{ l.append(2) }}{{ l }}", "None[1, 2]"),
    GIVES("{% set l = [1] %}{% set _ = l.extend([2, 3]) %}{{ l }}", "[1, 2, 3]"),
    GIVES("{% set l = [1] %}{% set _ = l.extend('ab') %}{{ l }}", "[1, 'a', 'b']"),
    GIVES("{% set l = [1, 2] %}{% set _ = l.extend(l) %}{{ l }}", "[1, 2, 1, 2]"),
    RAISES("{% set l = [1] %}{{ l.extend(5) }}", "'int' object is not iterable"),
    GIVES("{% set l = [1, 2] %}{% set _ = l.insert(0, 'a') %}{{ l }}", "['a', 1, 2]"),
    GIVES("{% set l = [1, 2] %}{% set _ = l.insert(1, 'a') %}{{ l }}", "[1, 'a', 2]"),
    GIVES("{% set l = [1, 2] %}{% set _ = l.insert(9, 'a') %}{{ l }}", "[1, 2, 'a']"),
    GIVES("{% set l = [1, 2] %}{% set _ = l.insert(-1, 'a') %}{{ l }}", "[1, 'a', 2]"),
    GIVES("{% set l = [1, 2] %}{% set _ = l.insert(-9, 'a') %}{{ l }}", "['a', 1, 2]"),
    RAISES("{% set l = [1, 2] %}{{ l.insert('a', 1) }}",
           "'str' object cannot be interpreted as an integer"),
    GIVES("{% set l = [1, 2, 3] %}{{ l.pop() }}{{ l }}", "3[1, 2]"),
    GIVES("{% set l = [1, 2, 3] %}{{ l.pop(0) }}{{ l }}", "1[2, 3]"),
    GIVES("{% set l = [1, 2, 3] %}{{ l.pop(-2) }}{{ l }}", "2[1, 3]"),
    RAISES("{% set l = [1] %}{{ l.pop(5) }}", "pop index out of range"),
    GIVES("{% set l = [1, 2, 3] %}{% set _ = l.reverse() %}{{ l }}", "[3, 2, 1]"),
    GIVES("{% set l = [1, 2] %}{% set _ = l.reverse() %}{{ l }}", "[2, 1]"),
    GIVES("{% set l = [1, 2] %}{% set _ = l.clear() %}{{ l }}", "[]"),
    GIVES(
        "{% set l = [] %}{% for i in range(20) %}{% set _ = l.append(i) %}{% endfor %}{{ l|length }}{{ l[19] }}",
        "2019"),
    GIVES("{% set d = {'a': 1} %}{{ d.pop('a') }}{{ d }}", "1{}"),
    GIVES("{% set d = {'a': 1} %}{{ d.pop('b', 5) }}{{ d }}", "5{'a': 1}"),
    GIVES("{% set d = {'a': 1, 'b': 2, 'c': 3} %}{{ d.pop('b') }}{{ d }}",
          "2{'a': 1, 'c': 3}"),
    REFUSES("{% set d = {} %}{{ d.pop([]) }}"),
    GIVES("{% set d = {'a': 1} %}{% set _ = d.update({'b': 2, 'a': 3}) %}{{ d }}",
          "{'a': 3, 'b': 2}"),
    GIVES("{% set d = {'a': 1} %}{% set _ = d.update(b=2) %}{{ d }}", "{'a': 1, 'b': 2}"),
    GIVES("{% set d = {'a': 1} %}{% set _ = d.update({'x': 1}, b=2) %}{{ d }}",
          "{'a': 1, 'x': 1, 'b': 2}"),
    GIVES("{% set d = {'a': 1} %}{% set _ = d.update(d) %}{{ d }}", "{'a': 1}"),
    GIVES(
        "{% set d = {'a': 1} %}{{ d.setdefault('a', 5) }}{{ d.setdefault('b', 6) }}{{ d.setdefault('c') }}{{ d }}",
        "16None{'a': 1, 'b': 6, 'c': None}"),
    GIVES("{% set d = {'a': 1} %}{% set _ = d.clear() %}{{ d }}", "{}"),
    GIVES(
        "{% set d = {} %}{% for i in range(30) %}{% set _ = d.update({i: i}) %}{% endfor %}{{ d.pop(3) }}{{ d.get(3) }}{{ d.get(29) }}{{ d|length }}",
        "3None2929"),
    GIVES(
        "{% set d = {} %}{% for i in range(30) %}{% set _ = d.update({'k' ~ i: i}) %}{% endfor %}{% for i in range(0, 30, 2) %}{% set _ = d.pop('k' ~ i) %}{% endfor %}{{ d.k1 }}{{ d.k2 }}{{ d.k29 }}{{ d|length }}",
        "12915"),
    GIVES("{% set a = [1] %}{% set b = a %}{% set _ = a.append(2) %}{{ b }}", "[1, 2]"),
    GIVES("{% set a = [1] %}{% set b = a.copy() %}{% set _ = a.append(2) %}{{ b }}",
          "[1]"),
    GIVES(
        "{% set a = {'x': 1} %}{% set b = a.copy() %}{% set _ = a.update({'y': 2}) %}{{ b }}",
        "{'x': 1}"),
    GIVES(
        "{% set l = [1] %}{% for x in l %}{{ x }}{% endfor %}{% set _ = l.append(2) %}{% for x in l %}{{ x }}{% endfor %}",
        "112"),
    GIVES("{{ ('[1, 2.5, null, true, \"a\"]'|from_json) }}", "[1, 2.5, None, True, 'a']"),
    GIVES("{{ ('{\"a\": {\"b\": [1]}}'|from_json).a.b[0] }}", "1"),
    REFUSES("{{ '{'|from_json }}"),
    REFUSES("{{ ''|from_json }}"),
};

static void test_jinja_method_loose(void **unused)
{
    jinjafix_check_loose(loose_rows, TK_ARRAY_LEN(loose_rows));
}

/* Too many arguments, or too few. */
static const jinjafix_row arguments_rows[] = {
    REFUSES("{{ {}.get() }}"),
    REFUSES("{{ {}.get(1, 2, 3) }}"),
    REFUSES("{{ {}.items(1) }}"),
    REFUSES("{{ {}.keys(1) }}"),
    REFUSES("{{ {}.values(1) }}"),
    REFUSES("{{ {}.copy(1) }}"),
    REFUSES("{{ [1].copy(1) }}"),
    REFUSES("{{ [1].index() }}"),
    REFUSES("{{ [1].count() }}"),
    REFUSES("{{ (1,).index() }}"),
    REFUSES("{{ (1,).count(1, 2) }}"),
    REFUSES("{% set c = cycler(1) %}{{ c.next(1) }}"),
    REFUSES("{% set c = cycler(1) %}{{ c.reset(1) }}"),
};

static void test_jinja_method_arguments(void **unused)
{
    jinjafix_check(arguments_rows, TK_ARRAY_LEN(arguments_rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jinja_method_lists),
        cmocka_unit_test(test_jinja_method_loops_and_cyclers),
        cmocka_unit_test(test_jinja_method_loose),
        cmocka_unit_test(test_jinja_method_arguments),
    };
    return cmocka_run_group_tests_name("jinja_method", tests, NULL, NULL);
}
