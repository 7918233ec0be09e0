/* Methods of str, as Python 3.11 has them. */
#include "support/jinjafix.h"

static const jinjafix_row strip_rows[] = {
    GIVES("{{ '  a b  '.strip() }}", "a b"),
    GIVES("{{ '  a '.lstrip() ~ '|' }}", "a |"),
    GIVES("{{ '  a '.rstrip() ~ '|' }}", "  a|"),
    GIVES("{{ 'xxaxx'.strip('x') }}", "a"),
    GIVES("{{ 'xyaxy'.lstrip('yx') }}", "axy"),
    GIVES("{{ 'xyaxy'.rstrip('yx') }}", "xya"),
    GIVES("{{ 'éaé'.strip('é') }}", "a"),
    GIVES("{{ 'a'.strip('') }}", "a"),
    GIVES("{{ 'a'.strip(none) }}", "a"),
    GIVES("{{ '\\t\\n\\x0b\\x0c\\r\\x1c\\x85\\xa0a\\u2028\\u3000'.strip() }}", "a"),
    GIVES("{{ '\\u200ba'.strip()|length }}", "2"),
    GIVES("{{ ''.strip() }}", ""),
    GIVES("{{ '   '.strip() }}", ""),
    REFUSES("{{ 'a'.strip(1) }}"),
    GIVES("{{ 'aXbX'.rstrip('X') }}", "aXb"),
    GIVES("{{ 'é'.strip('\\xc3') }}", "é"),
};

static void test_jinja_strmeth_strip(void **unused)
{
    (void)unused;
    jinjafix_check(strip_rows, TK_ARRAY_LEN(strip_rows));
}

static const jinjafix_row split_rows[] = {
    GIVES("{{ 'a,b,c'.split(',') }}", "['a', 'b', 'c']"),
    GIVES("{{ 'a,b,c'.split(',', 1) }}", "['a', 'b,c']"),
    GIVES("{{ 'a,b,c'.split(',', 0) }}", "['a,b,c']"),
    GIVES("{{ 'a,b,c'.split(',', -1) }}", "['a', 'b', 'c']"),
    GIVES("{{ 'a,b,c'.split(',', 9) }}", "['a', 'b', 'c']"),
    GIVES("{{ ',a,,b,'.split(',') }}", "['', 'a', '', 'b', '']"),
    GIVES("{{ ''.split(',') }}", "['']"),
    GIVES("{{ ''.split() }}", "[]"),
    GIVES("{{ '  a  b c '.split() }}", "['a', 'b', 'c']"),
    GIVES("{{ '  a  b c '.split(none, 1) }}", "['a', 'b c ']"),
    GIVES("{{ '  a  b c '.split(none, 0) }}", "['a  b c ']"),
    GIVES("{{ 'a b c'.split(maxsplit=1) }}", "['a', 'b c']"),
    GIVES("{{ 'a\\tb\\nc\\u3000d'.split() }}", "['a', 'b', 'c', 'd']"),
    GIVES("{{ 'abab'.split('ab') }}", "['', '', '']"),
    GIVES("{{ 'aXXbXX'.split('XX') }}", "['a', 'b', '']"),
    GIVES("{{ 'a--b--c'.split('--', 1) }}", "['a', 'b--c']"),
    GIVES("{{ 'éxü'.split('x') }}", "['é', 'ü']"),
    RAISES("{{ 'a'.split('') }}", "empty separator"),
    GIVES("{{ 'a,b,c'.rsplit(',') }}", "['a', 'b', 'c']"),
    GIVES("{{ 'a,b,c'.rsplit(',', 1) }}", "['a,b', 'c']"),
    GIVES("{{ 'a,b,c'.rsplit(',', 0) }}", "['a,b,c']"),
    GIVES("{{ ' a  b  c '.rsplit() }}", "['a', 'b', 'c']"),
    GIVES("{{ ' a  b  c '.rsplit(none, 1) }}", "[' a  b', 'c']"),
    GIVES("{{ ' a  b  c '.rsplit(none, 2) }}", "[' a', 'b', 'c']"),
    GIVES("{{ ''.rsplit() }}", "[]"),
    GIVES("{{ ''.rsplit(',') }}", "['']"),
    GIVES("{{ 'aaa'.rsplit('aa') }}", "['a', '']"),
    GIVES("{{ 'aaa'.split('aa') }}", "['', 'a']"),
    GIVES("{{ 'é ü ö'.rsplit(none, 1) }}", "['é ü', 'ö']"),
    RAISES("{{ 'a'.rsplit('') }}", "empty separator"),
    GIVES("{{ 'a\\nb\\r\\nc\\rd'.splitlines() }}", "['a', 'b', 'c', 'd']"),
    GIVES("{{ 'a\\nb\\n'.splitlines() }}", "['a', 'b']"),
    GIVES("{{ 'a\\n\\nb'.splitlines(true) }}", "['a\\n', '\\n', 'b']"),
    GIVES("{{ 'a\\x0bb\\x0cc\\x1cd\\x1de\\x1ef\\x85g\\u2028h\\u2029i'.splitlines() }}",
          "['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']"),
    GIVES("{{ ''.splitlines() }}", "[]"),
    GIVES("{{ '\\n'.splitlines() }}", "['']"),
    GIVES("{{ 'a\\nb'.splitlines(keepends=true) }}", "['a\\n', 'b']"),
    GIVES("{{ 'a=b=c'.partition('=') }}", "('a', '=', 'b=c')"),
    GIVES("{{ 'a=b=c'.rpartition('=') }}", "('a=b', '=', 'c')"),
    GIVES("{{ 'abc'.partition('=') }}", "('abc', '', '')"),
    GIVES("{{ 'abc'.rpartition('=') }}", "('', '', 'abc')"),
    GIVES("{{ ''.partition('=') }}", "('', '', '')"),
    RAISES("{{ 'a'.partition('') }}", "empty separator"),
    RAISES("{{ 'a'.rpartition('') }}", "empty separator"),
    GIVES("{{ 'éxü'.partition('x') }}", "('é', 'x', 'ü')"),
};

static void test_jinja_strmeth_split(void **unused)
{
    (void)unused;
    jinjafix_check(split_rows, TK_ARRAY_LEN(split_rows));
}

static const jinjafix_row search_rows[] = {
    GIVES("{{ 'abcabc'.find('b') }}", "1"),
    GIVES("{{ 'abcabc'.find('b', 2) }}", "4"),
    GIVES("{{ 'abcabc'.find('b', 2, 4) }}", "-1"),
    GIVES("{{ 'abcabc'.find('z') }}", "-1"),
    GIVES("{{ 'abcabc'.find('') }}", "0"),
    GIVES("{{ 'abcabc'.find('', 3) }}", "3"),
    GIVES("{{ 'abcabc'.find('', 6) }}", "6"),
    GIVES("{{ 'abcabc'.find('', 7) }}", "-1"),
    GIVES("{{ 'abcabc'.find('c', -1) }}", "5"),
    GIVES("{{ 'abcabc'.find('b', -5) }}", "1"),
    GIVES("{{ 'abcabc'.find('b', 0, -4) }}", "1"),
    GIVES("{{ 'abcabc'.find('b', none, none) }}", "1"),
    GIVES("{{ 'abcabc'.rfind('b') }}", "4"),
    GIVES("{{ 'abcabc'.rfind('b', 0, 4) }}", "1"),
    GIVES("{{ 'abcabc'.rfind('z') }}", "-1"),
    GIVES("{{ 'abcabc'.rfind('') }}", "6"),
    GIVES("{{ 'abcabc'.index('c') }}", "2"),
    RAISES("{{ 'abcabc'.index('z') }}", "substring not found"),
    GIVES("{{ 'abcabc'.rindex('c') }}", "5"),
    RAISES("{{ 'abcabc'.rindex('z') }}", "substring not found"),
    GIVES("{{ 'éüé'.find('é', 1) }}", "2"),
    GIVES("{{ 'éüé'.rfind('é') }}", "2"),
    GIVES("{{ '😀a😀'.find('a') }}", "1"),
    GIVES("{{ '😀a😀'.rfind('😀') }}", "2"),
    GIVES("{{ 'aaaa'.count('a') }}", "4"),
    GIVES("{{ 'aaaa'.count('aa') }}", "2"),
    GIVES("{{ 'abc'.count('') }}", "4"),
    GIVES("{{ ''.count('') }}", "1"),
    GIVES("{{ 'abcabc'.count('b', 2) }}", "1"),
    GIVES("{{ 'abcabc'.count('b', 0, 2) }}", "1"),
    GIVES("{{ 'éüé'.count('é') }}", "2"),
    GIVES("{{ 'éüé'.count('') }}", "4"),
    REFUSES("{{ 'a'.find(1) }}"),
    REFUSES("{{ 'a'.count(none) }}"),
    GIVES("{{ 'abc'.startswith('ab') }}", "True"),
    GIVES("{{ 'abc'.startswith('b') }}", "False"),
    GIVES("{{ 'abc'.startswith('') }}", "True"),
    GIVES("{{ 'abc'.startswith('b', 1) }}", "True"),
    GIVES("{{ 'abc'.startswith('c', 1, 2) }}", "False"),
    GIVES("{{ 'abc'.startswith(('x', 'a')) }}", "True"),
    GIVES("{{ 'abc'.startswith(()) }}", "False"),
    RAISES("{{ 'abc'.startswith(['a']) }}",
           "startswith first arg must be str or a tuple of str, not list"),
    REFUSES("{{ 'abc'.startswith(('x', 1)) }}"),
    GIVES("{{ 'abc'.startswith('', 4) }}", "False"),
    GIVES("{{ 'abc'.endswith('bc') }}", "True"),
    GIVES("{{ 'abc'.endswith('b') }}", "False"),
    GIVES("{{ 'abc'.endswith('b', 0, 2) }}", "True"),
    GIVES("{{ 'abc'.endswith(('b', 'c')) }}", "True"),
    GIVES("{{ 'abc'.endswith('') }}", "True"),
    GIVES("{{ 'abc'.endswith('abcd') }}", "False"),
    GIVES("{{ 'éü'.endswith('ü') }}", "True"),
    GIVES("{{ 'éü'.startswith('ü', 1) }}", "True"),
    RAISES("{{ 'abc'.endswith(1) }}",
           "endswith first arg must be str or a tuple of str, not int"),
};

static void test_jinja_strmeth_search(void **unused)
{
    (void)unused;
    jinjafix_check(search_rows, TK_ARRAY_LEN(search_rows));
}

static const jinjafix_row making_rows[] = {
    GIVES("{{ 'aaa'.replace('a', 'b') }}", "bbb"),
    GIVES("{{ 'aaa'.replace('a', 'b', 2) }}", "bba"),
    GIVES("{{ 'aaa'.replace('a', 'b', 0) }}", "aaa"),
    GIVES("{{ 'aaa'.replace('', '-') }}", "-a-a-a-"),
    GIVES("{{ 'aaa'.replace('', '-', 2) }}", "-a-aa"),
    GIVES("{{ 'éü'.replace('', '-') }}", "-é-ü-"),
    GIVES("{{ ''.replace('', 'x') }}", "x"),
    GIVES("{{ 'abc'.replace('bc', '') }}", "a"),
    GIVES("{{ 'abcabc'.replace('abc', 'x') }}", "xx"),
    REFUSES("{{ 'a'.replace('a', 1) }}"),
    GIVES("{{ ','.join(['a', 'b']) }}", "a,b"),
    GIVES("{{ ''.join(['a', 'b']) }}", "ab"),
    GIVES("{{ ','.join('abc') }}", "a,b,c"),
    GIVES("{{ ','.join([]) }}", ""),
    RAISES("{{ ','.join(['a', 1]) }}",
           "sequence item 1: expected str instance, int found"),
    GIVES("{{ ','.join({'a': 1, 'b': 2}) }}", "a,b"),
    REFUSES("{{ ','.join(none) }}"),
    GIVES("{{ 'é'.join(['ü', 'ö']) }}", "üéö"),
    GIVES("{{ '-'.join(('a',)) }}", "a"),
    GIVES("{{ 'ab'.center(5) }}", "  ab "),
    GIVES("{{ 'ab'.center(6) }}", "  ab  "),
    GIVES("{{ 'abc'.center(6) }}", " abc  "),
    GIVES("{{ 'ab'.center(5, '*') }}", "**ab*"),
    GIVES("{{ 'ab'.center(1) }}", "ab"),
    GIVES("{{ 'é'.center(4, 'ü') }}", "üéüü"),
    GIVES("{{ 'ab'.ljust(5) ~ '|' }}", "ab   |"),
    GIVES("{{ 'ab'.ljust(5, '-') }}", "ab---"),
    GIVES("{{ 'ab'.rjust(5) }}", "   ab"),
    GIVES("{{ 'ab'.rjust(5, 'é') }}", "éééab"),
    GIVES("{{ 'ab'.ljust(-1) }}", "ab"),
    RAISES("{{ 'ab'.ljust(5, '') }}",
           "The fill character must be exactly one character long"),
    RAISES("{{ 'ab'.ljust(5, 'xy') }}",
           "The fill character must be exactly one character long"),
    GIVES("{{ '5'.zfill(3) }}", "005"),
    GIVES("{{ '-5'.zfill(4) }}", "-005"),
    GIVES("{{ '+5'.zfill(4) }}", "+005"),
    GIVES("{{ '555'.zfill(2) }}", "555"),
    GIVES("{{ ''.zfill(2) }}", "00"),
    GIVES("{{ 'é'.zfill(3) }}", "00é"),
    GIVES("{{ '-'.zfill(3) }}", "-00"),
    GIVES("{{ 'abc'.removeprefix('a') }}", "bc"),
    GIVES("{{ 'abc'.removeprefix('b') }}", "abc"),
    GIVES("{{ 'abc'.removesuffix('c') }}", "ab"),
    GIVES("{{ 'abc'.removesuffix('b') }}", "abc"),
    GIVES("{{ 'abc'.removeprefix('') }}", "abc"),
    GIVES("{{ 'abc'.removesuffix('') }}", "abc"),
    GIVES("{{ 'abc'.removesuffix('abcd') }}", "abc"),
    GIVES("{{ 'éa'.removeprefix('é') }}", "a"),
};

static void test_jinja_strmeth_making(void **unused)
{
    (void)unused;
    jinjafix_check(making_rows, TK_ARRAY_LEN(making_rows));
}

static const jinjafix_row case_rows[] = {
    GIVES("{{ 'aBc'.lower() }}", "abc"),
    GIVES("{{ 'aBc'.upper() }}", "ABC"),
    GIVES("{{ 'hELLO wORLD'.title() }}", "Hello World"),
    GIVES("{{ 'it\\'s 3rd a-b'.title() }}", "It'S 3Rd A-B"),
    GIVES("{{ 'hELLO wORLD'.capitalize() }}", "Hello world"),
    GIVES("{{ 'aBc'.swapcase() }}", "AbC"),
    GIVES("{{ 'ßéÀ'.swapcase() }}", "SSÉà"),
    GIVES("{{ 'ß'.upper() }}", "SS"),
    GIVES("{{ 'ß'.title() }}", "Ss"),
    GIVES("{{ 'ßa'.capitalize() }}", "Ssa"),
    GIVES("{{ 'ﬁ'.upper() }}", "FI"),
    GIVES("{{ 'ﬁx'.title() }}", "Fix"),
    GIVES("{{ 'ŉ'.upper() }}", "ʼN"),
    GIVES("{{ 'ǰ'.upper() }}", "J\314\214"),
    GIVES("{{ 'ΐ'.upper() }}", "Ι\314\210\314\201"),
    GIVES("{{ 'և'.upper() }}", "ԵՒ"),
    GIVES("{{ 'և'.title() }}", "Եւ"),
    GIVES("{{ 'ẖ'.upper() }}", "H\314\261"),
    GIVES("{{ 'ǆ'.title() }}", "ǅ"),
    GIVES("{{ 'ǆ'.upper() }}", "Ǆ"),
    GIVES("{{ 'ǅ'.lower() }}", "ǆ"),
    GIVES("{{ 'ΑΣ'.lower() }}", "ας"),
    GIVES("{{ 'Σ'.lower() }}", "σ"),
    GIVES("{{ 'ΑΣΑ'.lower() }}", "ασα"),
    GIVES("{{ 'ΑΣ.'.lower() }}", "ας."),
    GIVES("{{ 'ΑΣ Σ'.lower() }}", "ας σ"),
    GIVES("{{ 'İ'.lower()|length }}", "2"),
    GIVES("{{ 'ı'.upper() }}", "I"),
    GIVES("{{ 'ÀÉ'.casefold() }}", "àé"),
    GIVES("{{ 'ß'.casefold() }}", "ss"),
    GIVES("{{ 'ΑΣ'.casefold() }}", "ασ"),
    GIVES("{{ 'ﬁ'.casefold() }}", "fi"),
    GIVES("{{ 'ſ'.upper() }}", "S"),
    GIVES("{{ 'ŸÿĀ'.swapcase() }}", "ÿŸā"),
    GIVES("{{ '𐐀'.lower() }}", "𐐨"),
    GIVES("{{ '𐐨'.upper() }}", "𐐀"),
};

static void test_jinja_strmeth_case(void **unused)
{
    (void)unused;
    jinjafix_check(case_rows, TK_ARRAY_LEN(case_rows));
}

static const jinjafix_row asking_rows[] = {
    GIVES("{{ '123'.isdigit() }}", "True"),
    GIVES("{{ '12a'.isdigit() }}", "False"),
    GIVES("{{ ''.isdigit() }}", "False"),
    GIVES("{{ '²'.isdigit() }}", "True"),
    GIVES("{{ '½'.isdigit() }}", "False"),
    GIVES("{{ '٣'.isdigit() }}", "True"),
    GIVES("{{ '①'.isdigit() }}", "True"),
    GIVES("{{ 'abc'.isalpha() }}", "True"),
    GIVES("{{ 'ab1'.isalpha() }}", "False"),
    GIVES("{{ 'é你'.isalpha() }}", "True"),
    GIVES("{{ ''.isalpha() }}", "False"),
    GIVES("{{ 'ʰ'.isalpha() }}", "True"),
    GIVES("{{ 'ab1'.isalnum() }}", "True"),
    GIVES("{{ 'ab_'.isalnum() }}", "False"),
    GIVES("{{ '½'.isalnum() }}", "True"),
    GIVES("{{ '  \\t'.isspace() }}", "True"),
    GIVES("{{ ' a'.isspace() }}", "False"),
    GIVES("{{ ''.isspace() }}", "False"),
    GIVES("{{ '\\xa0\\u2003'.isspace() }}", "True"),
    GIVES("{{ '\\u200b'.isspace() }}", "False"),
    GIVES("{{ '123'.isnumeric() }}", "True"),
    GIVES("{{ '½'.isnumeric() }}", "True"),
    GIVES("{{ 'Ⅷ'.isnumeric() }}", "True"),
    GIVES("{{ '-1'.isnumeric() }}", "False"),
    GIVES("{{ 'ABC'.isupper() }}", "True"),
    GIVES("{{ 'AbC'.isupper() }}", "False"),
    GIVES("{{ 'A1!'.isupper() }}", "True"),
    GIVES("{{ '1'.isupper() }}", "False"),
    GIVES("{{ ''.isupper() }}", "False"),
    GIVES("{{ 'É'.isupper() }}", "True"),
    GIVES("{{ 'abc'.islower() }}", "True"),
    GIVES("{{ 'aBc'.islower() }}", "False"),
    GIVES("{{ 'a1!'.islower() }}", "True"),
    GIVES("{{ 'ª'.islower() }}", "True"),
    GIVES("{{ 'ß'.islower() }}", "True"),
};

static void test_jinja_strmeth_asking(void **unused)
{
    (void)unused;
    jinjafix_check(asking_rows, TK_ARRAY_LEN(asking_rows));
}

/* Too many arguments, or too few. */
static const jinjafix_row arguments_rows[] = {
    REFUSES("{{ 'a'.lower(1) }}"),
    REFUSES("{{ 'a'.upper(1) }}"),
    REFUSES("{{ 'a'.casefold(1) }}"),
    REFUSES("{{ 'a'.title(1) }}"),
    REFUSES("{{ 'a'.capitalize(1) }}"),
    REFUSES("{{ 'a'.swapcase(1) }}"),
    REFUSES("{{ 'a'.isdigit(1) }}"),
    REFUSES("{{ 'a'.isalpha(1) }}"),
    REFUSES("{{ 'a'.isalnum(1) }}"),
    REFUSES("{{ 'a'.isspace(1) }}"),
    REFUSES("{{ 'a'.isnumeric(1) }}"),
    REFUSES("{{ 'a'.isupper(1) }}"),
    REFUSES("{{ 'a'.islower(1) }}"),
    REFUSES("{{ 'a'.strip('a', 1) }}"),
    REFUSES("{{ 'a'.lstrip('a', 1) }}"),
    REFUSES("{{ 'a'.rstrip('a', 1) }}"),
    RAISES("{{ 'a'.split('a', 1, 2) }}", "split() takes at most 2 arguments (3 given)"),
    RAISES("{{ 'a'.rsplit('a', 1, 2) }}", "rsplit() takes at most 2 arguments (3 given)"),
    REFUSES("{{ 'a'.splitlines(1, 2) }}"),
    RAISES("{{ 'a'.startswith('a', 1, 2, 3) }}",
           "startswith() takes at most 3 arguments (4 given)"),
    RAISES("{{ 'a'.endswith('a', 1, 2, 3) }}",
           "endswith() takes at most 3 arguments (4 given)"),
    REFUSES("{{ 'a'.endswith() }}"),
    REFUSES("{{ 'a'.replace('a', 'b', 1, 2) }}"),
    REFUSES("{{ 'a'.replace() }}"),
    REFUSES("{{ 'a'.join(['a'], 1) }}"),
    REFUSES("{{ 'a'.find() }}"),
    RAISES("{{ 'a'.find('a', 1, 2, 3) }}", "find() takes at most 3 arguments (4 given)"),
    REFUSES("{{ 'a'.rfind() }}"),
    REFUSES("{{ 'a'.index() }}"),
    REFUSES("{{ 'a'.rindex() }}"),
    REFUSES("{{ 'a'.count() }}"),
    RAISES("{{ 'a'.count('a', 1, 2, 3) }}",
           "count() takes at most 3 arguments (4 given)"),
    REFUSES("{{ 'a'.partition() }}"),
    REFUSES("{{ 'a'.partition('a', 1) }}"),
    REFUSES("{{ 'a'.rpartition() }}"),
    REFUSES("{{ 'a'.removeprefix() }}"),
    REFUSES("{{ 'a'.removeprefix('a', 1) }}"),
    REFUSES("{{ 'a'.removesuffix() }}"),
    REFUSES("{{ 'a'.center(1, 'a', 2) }}"),
    REFUSES("{{ 'a'.ljust() }}"),
    REFUSES("{{ 'a'.rjust() }}"),
    REFUSES("{{ 'a'.zfill() }}"),
    REFUSES("{{ 'a'.zfill(1, 2) }}"),
};

static void test_jinja_strmeth_arguments(void **unused)
{
    (void)unused;
    jinjafix_check(arguments_rows, TK_ARRAY_LEN(arguments_rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jinja_strmeth_strip),
        cmocka_unit_test(test_jinja_strmeth_split),
        cmocka_unit_test(test_jinja_strmeth_search),
        cmocka_unit_test(test_jinja_strmeth_making),
        cmocka_unit_test(test_jinja_strmeth_case),
        cmocka_unit_test(test_jinja_strmeth_asking),
        cmocka_unit_test(test_jinja_strmeth_arguments),
    };
    return cmocka_run_group_tests_name("jinja_strmeth", tests, NULL, NULL);
}
