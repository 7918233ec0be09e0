/* Calls: arguments of filters and functions, macros, and the global functions, as
 * jinja2 3.1.6 has them. */
#include "support/jinjafix.h"

static const jinjafix_row arguments_rows[] = {
    GIVES("{{ 'a'|replace('a', 'b', 1) }}", "b"),
    GIVES("{{ 'aaa'|replace('a', 'b', count=2) }}", "bba"),
    GIVES("{{ 'aaa'|replace(count=1, old='a', new='b') }}", "baa"),
    REFUSES("{{ 'a'|replace('a', 'b', old='c') }}"),
    REFUSES("{{ 'a'|replace('a', 'b', 1, 2) }}"),
    REFUSES("{{ 'a'|replace(old='a') }}"),
    REFUSES("{{ 'a'|replace(foo='a') }}"),
    REFUSES("{{ 'a'|upper(1) }}"),
    REFUSES("{{ 'a'|upper(x=1) }}"),
    GIVES("{{ 'abc'|center(width=9) }}", "   abc   "),
    RAISES("{{ 'abc'|center('x') }}", "'str' object cannot be interpreted as an integer"),
    RAISES("{{ 'abc'|center(none) }}",
           "'NoneType' object cannot be interpreted as an integer"),
    GIVES("{{ [1, 2]|join(1) }}", "112"),
    GIVES("{{ [1, 2]|join(none) }}", "1None2"),
    RAISES("{{ 'a'.center(5, 'xy') }}",
           "The fill character must be exactly one character long"),
    REFUSES("{{ 'a'.center() }}"),
    RAISES("{{ 'a'.center('5') }}", "'str' object cannot be interpreted as an integer"),
    RAISES("{{ 'a'.center(5.0) }}", "'float' object cannot be interpreted as an integer"),
    REFUSES("{{ 'a'.startswith() }}"),
    RAISES("{{ 'a'.startswith(1) }}",
           "startswith first arg must be str or a tuple of str, not int"),
    REFUSES("{{ 'a'.split(1) }}"),
    RAISES("{{ 'a'.split(',', '1') }}",
           "'str' object cannot be interpreted as an integer"),
    GIVES("{{ 'a'.split(sep=',') }}", "['a']"),
    GIVES("{{ 'a'.split(maxsplit=1) }}", "['a']"),
    GIVES("{{ 'a b c'.split(maxsplit=1) }}", "['a', 'b c']"),
    REFUSES("{{ 'a'.replace('a') }}"),
    REFUSES("{{ 'a'.replace('a', 1) }}"),
    REFUSES("{{ 'a'.upper(1) }}"),
    REFUSES("{{ 'a'.join() }}"),
    REFUSES("{{ 'a'.join(1) }}"),
    RAISES("{{ 'a'.zfill('1') }}", "'str' object cannot be interpreted as an integer"),
};

static void test_jinja_call_arguments(void **unused)
{
    jinjafix_check(arguments_rows, TK_ARRAY_LEN(arguments_rows));
}

static const jinjafix_row range_rows[] = {
    GIVES("{{ range(0)|list }}", "[]"),
    GIVES("{{ range(3)|list }}", "[0, 1, 2]"),
    GIVES("{{ range(1, 4)|list }}", "[1, 2, 3]"),
    GIVES("{{ range(4, 1)|list }}", "[]"),
    GIVES("{{ range(4, 1, -1)|list }}", "[4, 3, 2]"),
    GIVES("{{ range(0, 7, 3)|list }}", "[0, 3, 6]"),
    GIVES("{{ range(7, 0, -3)|list }}", "[7, 4, 1]"),
    GIVES("{{ range(-3)|list }}", "[]"),
    GIVES("{{ range(-3, 0)|list }}", "[-3, -2, -1]"),
    GIVES("{{ range(true)|list }}", "[0]"),
    RAISES("{{ range(1, 2, 0) }}", "range() arg 3 must not be zero"),
    REFUSES("{{ range() }}"),
    REFUSES("{{ range(1, 2, 3, 4) }}"),
    RAISES("{{ range('a') }}", "'str' object cannot be interpreted as an integer"),
    RAISES("{{ range(1.5) }}", "'float' object cannot be interpreted as an integer"),
    RAISES("{{ range(none) }}", "'NoneType' object cannot be interpreted as an integer"),
    RAISES("{{ range(x) }}", "'Undefined' object cannot be interpreted as an integer"),
    REFUSES("{{ range(stop=1) }}"),
    GIVES("{{ range(100000)|length }}", "100000"),
    RAISES("{{ range(100001) }}",
           "Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000)."),
    GIVES("{{ range(0, 1000000, 100)|length }}", "10000"),
    RAISES("{{ range(0, 1000000) }}",
           "Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000)."),
    RAISES("{{ range(0, -1000000, -5)|length }}",
           "Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000)."),
    GIVES("{{ range(0, -1000000, -20)|length }}", "50000"),
    GIVES("{{ range(5)[1:3]|list }}", "[1, 2]"),
};

static void test_jinja_call_range(void **unused)
{
    jinjafix_check(range_rows, TK_ARRAY_LEN(range_rows));
}

static const jinjafix_row namespace_and_dict_rows[] = {
    GIVES("{{ namespace(a=1).a }}", "1"),
    GIVES("{{ namespace({'a': 1}).a }}", "1"),
    GIVES("{{ namespace({'a': 1}, a=2).a }}", "2"),
    GIVES("{{ namespace([('a', 1)]).a }}", "1"),
    RAISES("{{ namespace(1) }}", "'int' object is not iterable"),
    RAISES("{{ namespace('a') }}",
           "dictionary update sequence element #0 has length 1; 2 is required"),
    RAISES("{{ namespace({}, {}) }}", "dict expected at most 1 argument, got 2"),
    GIVES("{{ namespace().x }}", ""),
    GIVES("{{ namespace() is mapping }}", "False"),
    GIVES("{{ dict() }}", "{}"),
    GIVES("{{ dict(a=1) }}", "{'a': 1}"),
    GIVES("{{ dict({'a': 1}) }}", "{'a': 1}"),
    GIVES("{{ dict({'a': 1}, b=2) }}", "{'a': 1, 'b': 2}"),
    GIVES("{{ dict([('a', 1), ('b', 2)]) }}", "{'a': 1, 'b': 2}"),
    GIVES("{{ dict([['a', 1]]) }}", "{'a': 1}"),
    GIVES("{{ dict(['ab', 'cd']) }}", "{'a': 'b', 'c': 'd'}"),
    RAISES("{{ dict('ab') }}",
           "dictionary update sequence element #0 has length 1; 2 is required"),
    RAISES("{{ dict([(1, 2, 3)]) }}",
           "dictionary update sequence element #0 has length 3; 2 is required"),
    RAISES("{{ dict(1) }}", "'int' object is not iterable"),
    RAISES("{{ dict(none) }}", "'NoneType' object is not iterable"),
    RAISES("{{ dict(x) }}", "'x' is undefined"),
    RAISES("{{ dict({}, {}) }}", "dict expected at most 1 argument, got 2"),
};

static void test_jinja_call_namespace_and_dict(void **unused)
{
    jinjafix_check(namespace_and_dict_rows, TK_ARRAY_LEN(namespace_and_dict_rows));
}

static const jinjafix_row cycler_rows[] = {
    GIVES("{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}",
          "aba"),
    GIVES("{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.reset() }}{{ c.next() }}",
          "aNonea"),
    GIVES("{% set c = cycler(1) %}{{ c.next() }}{{ c.next() }}", "11"),
    RAISES("{{ cycler() }}", "at least one item has to be provided"),
    GIVES("{% set c = cycler(1) %}{{ c.nothing }}", ""),
};

static void test_jinja_call_cycler(void **unused)
{
    jinjafix_check(cycler_rows, TK_ARRAY_LEN(cycler_rows));
}

static const jinjafix_row raise_exception_rows[] = {
    RAISES("{{ raise_exception('boom') }}", "boom"),
    RAISES("{{ raise_exception('é ' ~ 1) }}", "é 1"),
    REFUSES("{{ raise_exception() }}"),
    REFUSES("{{ raise_exception(1, 2) }}"),
    REFUSES("{{ raise_exception('') }}"),
    RAISES("{{ raise_exception(none) }}", "None"),
    RAISES("{{ raise_exception(message='m') }}", "m"),
    GIVES("{% if 0 %}{{ raise_exception('x') }}{% endif %}ok", "ok"),
};

static void test_jinja_call_raise_exception(void **unused)
{
    jinjafix_check(raise_exception_rows, TK_ARRAY_LEN(raise_exception_rows));
}

/* The clock shows 9 March 2025, 14:05:07. */
static const jinjafix_row strftime_now_rows[] = {
    GIVES("{{ strftime_now('%Y-%m-%d') }}", "2025-03-09"),
    GIVES("{{ strftime_now('%d %b %Y') }}", "09 Mar 2025"),
    GIVES("{{ strftime_now('%B %d, %Y') }}", "March 09, 2025"),
    GIVES("{{ strftime_now('%A %a %w %u') }}", "Sunday Sun 0 7"),
    GIVES("{{ strftime_now('%H:%M:%S') }}", "14:05:07"),
    GIVES("{{ strftime_now('%I %p') }}", "02 PM"),
    GIVES("{{ strftime_now('%y %j') }}", "25 068"),
    GIVES("{{ strftime_now('%e|%-d|%-m|%-H|%-I|%-M|%-S|%-j') }}", " 9|9|3|14|2|5|7|68"),
    GIVES("{{ strftime_now('%F %T %D %R') }}", "2025-03-09 14:05:07 03/09/25 14:05"),
    GIVES("{{ strftime_now('%c') }}", "Sun Mar  9 14:05:07 2025"),
    GIVES("{{ strftime_now('%x %X') }}", "03/09/25 14:05:07"),
    GIVES("{{ strftime_now('%r') }}", "02:05:07 PM"),
    GIVES("{{ strftime_now('%h') }}", "Mar"),
    GIVES("{{ strftime_now('%%') }}", "%"),
    GIVES("{{ strftime_now('%n%t')|list }}", "['\\n', '\\t']"),
    GIVES("{{ strftime_now('') }}", ""),
    GIVES("{{ strftime_now('plain') }}", "plain"),
    GIVES("{{ strftime_now('é %Y 你') }}", "é 2025 你"),
    GIVES("{{ strftime_now('%') }}", "%"),
    REFUSES("{{ strftime_now(1) }}"),
    REFUSES("{{ strftime_now() }}"),
    REFUSES("{{ strftime_now('%Y', '%m') }}"),
};

static void test_jinja_call_strftime_now(void **unused)
{
    jinjafix_check(strftime_now_rows, TK_ARRAY_LEN(strftime_now_rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jinja_call_arguments),
        cmocka_unit_test(test_jinja_call_range),
        cmocka_unit_test(test_jinja_call_namespace_and_dict),
        cmocka_unit_test(test_jinja_call_cycler),
        cmocka_unit_test(test_jinja_call_raise_exception),
        cmocka_unit_test(test_jinja_call_strftime_now),
    };
    return cmocka_run_group_tests_name("jinja_call", tests, NULL, NULL);
}
