/* Filters on text and single values, as jinja2 3.1.6 has them. */
#include "support/jinjafix.h"

static const jinjafix_row case_rows[] = {
    GIVES("{{ 'aBc'|upper }}", "ABC"),
    GIVES("{{ 'aBc'|lower }}", "abc"),
    GIVES("{{ 'aBc dEf'|capitalize }}", "Abc def"),
    GIVES("{{ ''|capitalize }}", ""),
    GIVES("{{ 'éÀ'|upper }}", "ÉÀ"),
    GIVES("{{ 'ÉÀ'|lower }}", "éà"),
    GIVES("{{ 'ß'|upper }}", "SS"),
    GIVES("{{ 'ﬁn'|upper }}", "FIN"),
    GIVES("{{ 'İ'|lower }}", "i\314\207"),
    GIVES("{{ 'ΑΣ'|lower }}", "ας"),
    GIVES("{{ 'ΑΣΑ'|lower }}", "ασα"),
    GIVES("{{ 'ǆ'|capitalize }}", "ǅ"),
    GIVES("{{ 'éa'|capitalize }}", "Éa"),
    GIVES("{{ 1|upper }}", "1"),
    GIVES("{{ none|upper }}", "NONE"),
    GIVES("{{ true|lower }}", "true"),
    GIVES("{{ ['A']|lower }}", "['a']"),
    GIVES("{{ x|upper }}", ""),
    GIVES("{{ ('<a>'|safe)|upper }}", "<A>"),
    GIVES("{{ 'hello world'|title }}", "Hello World"),
    GIVES("{{ 'hello-world (foo) [bar] {baz} <qux>'|title }}",
          "Hello-World (Foo) [Bar] {Baz} <Qux>"),
    GIVES("{{ 'it\\'s a dog\\'s life'|title }}", "It's A Dog's Life"),
    GIVES("{{ 'HELLO wORLD'|title }}", "Hello World"),
    GIVES("{{ 'a1b c_d'|title }}", "A1b C_d"),
    GIVES("{{ 'éa öb'|title }}", "Éa Öb"),
    GIVES("{{ '  two  blanks '|title }}", "  Two  Blanks "),
    GIVES("{{ 'a\\tb\\nc'|title }}", "A\tB\nC"),
    GIVES("{{ 5|title }}", "5"),
    GIVES("{{ x|title }}", ""),
};

static void test_jinja_filter_case(void **unused)
{
    jinjafix_check(case_rows, TK_ARRAY_LEN(case_rows));
}

static const jinjafix_row trim_and_string_rows[] = {
    GIVES("{{ '  a  '|trim }}", "a"),
    GIVES("{{ '\\t\\n a \\r\\n'|trim }}", "a"),
    GIVES("{{ '\\u00a0\\u3000a\\u2003'|trim }}", "a"),
    GIVES("{{ 'xxaxx'|trim('x') }}", "a"),
    GIVES("{{ 'xyaxy'|trim('yx') }}", "a"),
    GIVES("{{ 'aéa'|trim('a') }}", "é"),
    GIVES("{{ 'éaé'|trim('é') }}", "a"),
    GIVES("{{ 'a'|trim('') }}", "a"),
    GIVES("{{ '  a '|trim(none) }}", "a"),
    REFUSES("{{ 'a'|trim(1) }}"),
    GIVES("{{ 5|trim }}", "5"),
    GIVES("{{ none|trim }}", "None"),
    GIVES("{{ [1]|trim }}", "[1]"),
    GIVES("{{ x|trim }}", ""),
    GIVES("{{ ''|trim }}", ""),
    GIVES("{{ 1|string }}", "1"),
    GIVES("{{ 1.5|string }}", "1.5"),
    GIVES("{{ none|string }}", "None"),
    GIVES("{{ true|string }}", "True"),
    GIVES("{{ [1, 'a']|string }}", "[1, 'a']"),
    GIVES("{{ {'a': 1}|string }}", "{'a': 1}"),
    GIVES("{{ x|string }}", ""),
    GIVES("{{ 'a'|string }}", "a"),
    GIVES("{{ range(3)|string }}", "range(0, 3)"),
};

static void test_jinja_filter_trim_and_string(void **unused)
{
    jinjafix_check(trim_and_string_rows, TK_ARRAY_LEN(trim_and_string_rows));
}

static const jinjafix_row replace_rows[] = {
    GIVES("{{ 'aaa'|replace('a', 'b') }}", "bbb"),
    GIVES("{{ 'aaa'|replace('a', 'b', 2) }}", "bba"),
    GIVES("{{ 'aaa'|replace('a', 'b', 0) }}", "aaa"),
    GIVES("{{ 'aaa'|replace('a', 'b', -1) }}", "bbb"),
    GIVES("{{ 'aaa'|replace('a', 'b', none) }}", "bbb"),
    GIVES("{{ 'aaa'|replace('aa', 'b') }}", "ba"),
    GIVES("{{ 'abc'|replace('', '-') }}", "-a-b-c-"),
    GIVES("{{ 'abc'|replace('', '-', 2) }}", "-a-bc"),
    GIVES("{{ ''|replace('', 'x') }}", "x"),
    GIVES("{{ ''|replace('a', 'x') }}", ""),
    GIVES("{{ 'aéa'|replace('é', 'ü') }}", "aüa"),
    GIVES("{{ 'é'|replace('', '-') }}", "-é-"),
    GIVES("{{ 'abc'|replace('b', '') }}", "ac"),
    GIVES("{{ 'abc'|replace('x', 'y') }}", "abc"),
    GIVES("{{ 'a1'|replace(1, 2) }}", "a2"),
    GIVES("{{ 5|replace(5, 6) }}", "6"),
    GIVES("{{ none|replace('N', 'x') }}", "xone"),
    GIVES("{{ [1, 2]|replace('1', 'x') }}", "[x, 2]"),
    GIVES("{{ x|replace('a', 'b') }}", ""),
    GIVES("{{ 'a'|replace('a', none) }}", "None"),
};

static void test_jinja_filter_replace(void **unused)
{
    jinjafix_check(replace_rows, TK_ARRAY_LEN(replace_rows));
}

static const jinjafix_row default_rows[] = {
    GIVES("{{ x|default('d') }}", "d"),
    GIVES("{{ x|default }}", ""),
    GIVES("{{ x|d('d') }}", "d"),
    RAISES("{{ x.y|default('d') }}", "'x' is undefined"),
    GIVES("{{ ''|default('d') }}", ""),
    GIVES("{{ ''|default('d', true) }}", "d"),
    GIVES("{{ none|default('d') }}", "None"),
    GIVES("{{ none|default('d', true) }}", "d"),
    GIVES("{{ 0|default('d', true) }}", "d"),
    GIVES("{{ 0|default('d') }}", "0"),
    GIVES("{{ []|default('d', boolean=true) }}", "d"),
    GIVES("{{ 'a'|default('d', true) }}", "a"),
    GIVES("{{ x|default(default_value='q') }}", "q"),
    GIVES("{{ x|default([1]) }}", "[1]"),
    GIVES("{{ x|default(y)|default('z') }}", "z"),
    RAISES("{{ x.y.z|default('d') }}", "'x' is undefined"),
};

static void test_jinja_filter_default(void **unused)
{
    jinjafix_check(default_rows, TK_ARRAY_LEN(default_rows));
}

static const jinjafix_row indent_rows[] = {
    GIVES("{{ 'a\nb'|indent }}", "a\n    b"),
    GIVES("{{ 'a\nb'|indent(2) }}", "a\n  b"),
    GIVES("{{ 'a\nb'|indent(2, true) }}", "  a\n  b"),
    GIVES("{{ 'a\n\nb'|indent(2) }}", "a\n\n  b"),
    GIVES("{{ 'a\n\nb'|indent(2, false, true) }}", "a\n  \n  b"),
    GIVES("{{ 'a\n\nb'|indent(2, true, true) }}", "  a\n  \n  b"),
    GIVES("{{ 'a\nb'|indent(width=3, first=true) }}", "   a\n   b"),
    GIVES("{{ 'a\nb'|indent('--') }}", "a\n--b"),
    GIVES("{{ 'a\nb'|indent('> ', true) }}", "> a\n> b"),
    GIVES("{{ 'a\nb\n'|indent(2) }}", "a\n  b\n"),
    GIVES("{{ '\na'|indent(2) }}", "\n  a"),
    GIVES("{{ '\na'|indent(2, true) }}", "  \n  a"),
    GIVES("{{ ''|indent(2, true) }}", "  "),
    GIVES("{{ 'a'|indent(2) }}", "a"),
    GIVES("{{ 'a\r\nb'|indent(2) }}", "a\n  b"),
    GIVES("{{ 'a\n \nb'|indent(2) }}", "a\n   \n  b"),
    GIVES("{{ 'a\nb'|indent(0) }}", "a\nb"),
    GIVES("{{ 'a\nb'|indent(-1) }}", "a\nb"),
    GIVES("{{ 'é\nü'|indent(1) }}", "é\n ü"),
    GIVES("{{ 'a\\u2028b\\x0bc'|indent(1) }}", "a\n b\n c"),
    RAISES("{{ 5|indent }}", "unsupported operand type(s) for +=: 'int' and 'str'"),
    RAISES("{{ none|indent }}",
           "unsupported operand type(s) for +=: 'NoneType' and 'str'"),
    REFUSES("{{ x|indent }}"),
    REFUSES("{{ 'a\nb'|indent(1.5) }}"),
};

static void test_jinja_filter_indent(void **unused)
{
    jinjafix_check(indent_rows, TK_ARRAY_LEN(indent_rows));
}

static const jinjafix_row format_and_center_rows[] = {
    GIVES("{{ '%s-%s'|format('a', 'b') }}", "a-b"),
    GIVES("{{ '%s'|format(1) }}", "1"),
    GIVES("{{ '%d%%'|format(5) }}", "5%"),
    GIVES("{{ '%(a)s'|format(a=1) }}", "1"),
    GIVES("{{ '%(a)s %(b)s'|format(a=1, b=2) }}", "1 2"),
    RAISES("{{ '%s'|format }}", "not enough arguments for format string"),
    RAISES("{{ 'a'|format(1) }}", "not all arguments converted during string formatting"),
    RAISES("{{ '%s %s'|format(1) }}", "not enough arguments for format string"),
    GIVES("{{ 'ab'|center(6) }}", "  ab  "),
    GIVES("{{ 'ab'|center(5) }}", "  ab "),
    GIVES("{{ 'abc'|center(6) }}", " abc  "),
    GIVES("{{ 'abc'|center(8) }}", "  abc   "),
    GIVES("{{ 'abc'|center(2) }}", "abc"),
    GIVES("{{ 'é'|center(3) }}", " é "),
    GIVES("{{ ''|center(3) }}", "   "),
    GIVES("{{ 5|center(3) }}", " 5 "),
    GIVES("{{ 'a'|center|length }}", "80"),
};

static void test_jinja_filter_format_and_center(void **unused)
{
    jinjafix_check(format_and_center_rows, TK_ARRAY_LEN(format_and_center_rows));
}

static const jinjafix_row wordcount_and_truncate_rows[] = {
    GIVES("{{ 'a b c'|wordcount }}", "3"),
    GIVES("{{ ''|wordcount }}", "0"),
    GIVES("{{ '  a,b  c-d e_f 1 '|wordcount }}", "6"),
    GIVES("{{ 'é ü'|wordcount }}", "2"),
    GIVES("{{ 'it\\'s'|wordcount }}", "2"),
    GIVES("{{ 5|wordcount }}", "1"),
    GIVES("{{ 'foo bar baz qux'|truncate(9) }}", "foo..."),
    GIVES("{{ 'foo bar baz qux'|truncate(9, true) }}", "foo ba..."),
    GIVES("{{ 'foo bar baz qux'|truncate(11) }}", "foo bar baz qux"),
    GIVES("{{ 'foo bar baz qux'|truncate(11, false, '...', 0) }}", "foo bar..."),
    GIVES("{{ 'foo bar baz qux'|truncate(11, true, '...', 0) }}", "foo bar ..."),
    GIVES("{{ 'foo bar baz qux'|truncate(10, false, '!', 0) }}", "foo bar!"),
    GIVES("{{ 'foobarbaz'|truncate(5, false, '..', 0) }}", "foo.."),
    GIVES("{{ 'foobarbaz'|truncate(5, true, '', 0) }}", "fooba"),
    GIVES("{{ 'éüö äëï'|truncate(5, true, '.', 0) }}", "éüö ."),
    GIVES("{{ 'short'|truncate }}", "short"),
    GIVES("{{ 'short'|truncate(3) }}", "short"),
    GIVES("{{ 'shorter text'|truncate(3) }}", "..."),
    RAISES("{{ 'shorter text'|truncate(2) }}", "expected length >= 3, got 2"),
    GIVES("{{ 'a'|truncate(length=5, killwords=true, end='', leeway=0) }}", "a"),
    GIVES("{{ 'foo bar'|truncate(6, end='', leeway=0) }}", "foo"),
    RAISES("{{ 5|truncate }}", "object of type 'int' has no len()"),
    RAISES("{{ none|truncate }}", "object of type 'NoneType' has no len()"),
    GIVES("{{ x|truncate }}", ""),
};

static void test_jinja_filter_wordcount_and_truncate(void **unused)
{
    jinjafix_check(wordcount_and_truncate_rows,
                   TK_ARRAY_LEN(wordcount_and_truncate_rows));
}

static const jinjafix_row urlencode_escape_attr_rows[] = {
    GIVES("{{ 'a b'|urlencode }}", "a%20b"),
    GIVES("{{ 'a/b?c=d&e'|urlencode }}", "a/b%3Fc%3Dd%26e"),
    GIVES("{{ 'é你'|urlencode }}", "%C3%A9%E4%BD%A0"),
    GIVES("{{ '_.-~/'|urlencode }}", "_.-~/"),
    GIVES("{{ '%'|urlencode }}", "%25"),
    GIVES("{{ ''|urlencode }}", ""),
    GIVES("{{ 5|urlencode }}", "5"),
    GIVES("{{ none|urlencode }}", "None"),
    GIVES("{{ '<a href=\"x\">\\'&'|e }}", "&lt;a href=&#34;x&#34;&gt;&#39;&amp;"),
    GIVES("{{ '<'|escape }}", "&lt;"),
    GIVES("{{ 'a'|e }}", "a"),
    GIVES("{{ ''|e }}", ""),
    GIVES("{{ 5|e }}", "5"),
    GIVES("{{ none|e }}", "None"),
    GIVES("{{ '&amp;'|e }}", "&amp;amp;"),
    GIVES("{{ '<'|safe|e }}", "<"),
    GIVES("{{ '<'|safe|forceescape }}", "&lt;"),
    GIVES("{{ '<'|e|forceescape }}", "&amp;lt;"),
    GIVES("{{ {'a': 1}|attr('a') }}", ""),
    GIVES("{{ {'a': 1}|attr('items') is callable }}", "True"),
    GIVES("{{ 'abc'|attr('upper') is callable }}", "True"),
    GIVES("{{ 'abc'|attr('nothing') is defined }}", "False"),
    GIVES("{{ namespace(a=1)|attr('a') }}", "1"),
    GIVES("{{ none|attr('x') }}", ""),
    RAISES("{{ x|attr('y') }}", "'x' is undefined"),
    GIVES("{{ 'abc'|attr('__class__') is defined }}", "False"),
};

static void test_jinja_filter_urlencode_escape_attr(void **unused)
{
    jinjafix_check(urlencode_escape_attr_rows, TK_ARRAY_LEN(urlencode_escape_attr_rows));
}

static const jinjafix_row unknown_rows[] = {
    RAISES("{{ 'a'|nothing }}", "No filter named 'nothing'."),
    REFUSES("{{ 'a'|from_json }}"),
    RAISES("{{ 'a'|Upper }}", "No filter named 'Upper'."),
    RAISES("{{ 'a'|strip }}", "No filter named 'strip'."),
    RAISES("{{ 'a'|split }}", "No filter named 'split'."),
};

static void test_jinja_filter_unknown(void **unused)
{
    jinjafix_check(unknown_rows, TK_ARRAY_LEN(unknown_rows));
}

/* Too many arguments, or too few. */
static const jinjafix_row arguments_rows[] = {
    REFUSES("{{ 'a'|string(1) }}"),
    REFUSES("{{ 'a'|lower(1) }}"),
    REFUSES("{{ 'a'|upper(1) }}"),
    REFUSES("{{ 'a'|capitalize(1) }}"),
    REFUSES("{{ 'a'|title(1) }}"),
    REFUSES("{{ 'a'|safe(1) }}"),
    REFUSES("{{ 'a'|escape(1) }}"),
    REFUSES("{{ 'a'|e(1) }}"),
    REFUSES("{{ 'a'|forceescape(1) }}"),
    REFUSES("{{ 'a'|wordcount(1) }}"),
    REFUSES("{{ 'a'|trim('a', 1) }}"),
    REFUSES("{{ x|default(1, 2, 3) }}"),
    REFUSES("{{ 'a'|indent(1, 2, 3, 4) }}"),
    REFUSES("{{ 'a'|center(1, 2) }}"),
    REFUSES("{{ 'a'|truncate(1, 2, 3, 4, 5) }}"),
    REFUSES("{{ 'a'|attr }}"),
    REFUSES("{{ 'a'|attr('b', 'c') }}"),
    REFUSES("{{ 'a'|replace('a', 'b', 1, 2) }}"),
    REFUSES("{{ 'a'|urlencode(1) }}"),
};

static void test_jinja_filter_arguments(void **unused)
{
    jinjafix_check(arguments_rows, TK_ARRAY_LEN(arguments_rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jinja_filter_case),
        cmocka_unit_test(test_jinja_filter_trim_and_string),
        cmocka_unit_test(test_jinja_filter_replace),
        cmocka_unit_test(test_jinja_filter_default),
        cmocka_unit_test(test_jinja_filter_indent),
        cmocka_unit_test(test_jinja_filter_format_and_center),
        cmocka_unit_test(test_jinja_filter_wordcount_and_truncate),
        cmocka_unit_test(test_jinja_filter_urlencode_escape_attr),
        cmocka_unit_test(test_jinja_filter_unknown),
        cmocka_unit_test(test_jinja_filter_arguments),
    };
    return cmocka_run_group_tests_name("jinja_filter", tests, NULL, NULL);
}
