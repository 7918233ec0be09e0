/* Tokens and white space: what jinja2 3.1.6 makes of each source, with trim_blocks and
 * lstrip_blocks as transformers sets them. */
#include "support/jinjafix.h"

/* One newline after a block or comment is dropped, after an expression none. */
static const jinjafix_row trim_blocks_rows[] = {
    GIVES("a{% if true %}\nb{% endif %}\nc", "abc"),
    GIVES("a{% if true %}\n\nb{% endif %}\n\nc", "a\nb\nc"),
    GIVES("a{# x #}\nb", "ab"),
    GIVES("a{# x #}\n\nb", "a\nb"),
    GIVES("a{{ 1 }}\nb", "a1\nb"),
    GIVES("{% if true %} \nb{% endif %}", " \nb"),
    GIVES("{% set x = 1 %}\n{% set y = 2 %}\n{{ x }}{{ y }}", "12"),
    GIVES("{% for x in [1, 2] %}\n{{ x }}\n{% endfor %}\nend", "1\n2\nend"),
    GIVES("{% if true %}\t\nx{% endif %}", "\t\nx"),
    GIVES("{% if true %}\r\nx{% endif %}y", "xy"),
    GIVES("{% if true %}\rx{% endif %}y", "xy"),
    GIVES("{% raw %}\na\n{% endraw %}\nb", "\na\nb"),
    GIVES("{% raw %}{{ x }}{% endraw %}\n\nb", "{{ x }}\nb"),
};

static void test_jinja_lex_trim_blocks(void **unused)
{
    jinjafix_check(trim_blocks_rows, TK_ARRAY_LEN(trim_blocks_rows));
}

/* Blanks from the start of a line to a block or comment are dropped. */
static const jinjafix_row lstrip_blocks_rows[] = {
    GIVES("  {% if true %}x{% endif %}", "x"),
    GIVES("a\n  {% if true %}x{% endif %}", "a\nx"),
    GIVES("a \n \t {% if true %}x\n  {% endif %}y", "a \nx\ny"),
    GIVES("a  {% if true %}x  {% endif %}y", "a  x  y"),
    GIVES("  {# c #}x", "x"),
    GIVES("a\n  {# c #}x", "a\nx"),
    GIVES("a\n  {{ 1 }}", "a\n  1"),
    GIVES("  {{ 1 }}  {% if true %}x{% endif %}", "  1  x"),
    GIVES("x {% set a = 1 %} y", "x  y"),
    GIVES("  {%+ if true %}x{% endif %}", "  x"),
    GIVES("a\n  {%+ if true %}x{% endif %}", "a\n  x"),
    GIVES("a\n  {#+ c #}x", "a\n  x"),
    GIVES("{% if true %}  {% if true %}x{% endif %}{% endif %}", "  x"),
    GIVES("{% if true %}\n  {% if true %}x{% endif %}{% endif %}", "x"),
    GIVES("{# a #}  {% if true %}x{% endif %}", "  x"),
    GIVES("{# a #}\n  {% if true %}x{% endif %}", "x"),
    GIVES("{{ 1 }}\n  {% if true %}x{% endif %}", "1\nx"),
    GIVES("{{ 1 }}  {% if true %}x{% endif %}", "1  x"),
    GIVES("  {% raw %} a {% endraw %} b", " a  b"),
    GIVES("\n\n  {% if true %}x{% endif %}", "\n\nx"),
};

static void test_jinja_lex_lstrip_blocks(void **unused)
{
    jinjafix_check(lstrip_blocks_rows, TK_ARRAY_LEN(lstrip_blocks_rows));
}

/* A minus strips all white space on its side, a plus keeps it. */
static const jinjafix_row signs_rows[] = {
    GIVES("a  {%- if true %} b {%- endif %} c", "a b c"),
    GIVES("a {% if true -%}  \n b {% endif -%} \n c", "a b c"),
    GIVES("a \n {{- 1 }} b", "a1 b"),
    GIVES("a {{ 1 -}} \n \t b", "a 1b"),
    GIVES("a  {{- 1 -}}  b", "a1b"),
    GIVES("a {#- c -#} b", "ab"),
    GIVES("a \n{#- c #} b", "a b"),
    GIVES("a {# c -#}\n\n b", "a b"),
    GIVES("{% if true +%}\nb{% endif +%}\nc", "\nb\nc"),
    GIVES("a\n  {%+ if true +%}\nb{% endif %}", "a\n  \nb"),
    GIVES("{{ 1 -}}\n{{- 2 }}", "12"),
    GIVES("a {%- raw %} {{ b }} {% endraw -%} c", "a {{ b }} c"),
    GIVES("a {% raw -%} b {%- endraw %} c", "a b c"),
    GIVES("a {%- raw -%} b {%- endraw -%} c", "abc"),
    GIVES("{{-1}}", "1"),
    GIVES("{{ - 1 }}", "-1"),
    GIVES("{{ 1 - -1 }}", "2"),
    GIVES("x {{- 'a' ~ 'b' -}} y", "xaby"),
    GIVES("a {#+ c +#}\nb", "a \nb"),
};

static void test_jinja_lex_signs(void **unused)
{
    jinjafix_check(signs_rows, TK_ARRAY_LEN(signs_rows));
}

/* Line ends become one newline; the last newline is dropped. */
static const jinjafix_row source_rows[] = {
    GIVES("a\n", "a"),
    GIVES("a\n\n", "a\n"),
    GIVES("a\r\nb\rc\n", "a\nb\nc"),
    GIVES("\r\n", ""),
    GIVES("\n", ""),
    GIVES("", ""),
    GIVES(" ", " "),
    GIVES("{{ \"a\r\nb\" }}", "a\nb"),
    GIVES("a{% raw %}\r\n{% endraw %}b", "a\nb"),
};

static void test_jinja_lex_source(void **unused)
{
    jinjafix_check(source_rows, TK_ARRAY_LEN(source_rows));
}

/* Escapes as Python reads them. */
static const jinjafix_row strings_rows[] = {
    GIVES("{{ 'a\\\\b' }}", "a\\b"),
    GIVES("{{ 'it\\'s' }}", "it's"),
    GIVES("{{ \"q\\\"q\" }}", "q\"q"),
    GIVES("{{ '\\a\\b\\f\\n\\r\\t\\v'|list }}",
          "['\\x07', '\\x08', '\\x0c', '\\n', '\\r', '\\t', '\\x0b']"),
    GIVES("{{ '\\x41\\x7a\\xe9' }}", "Azé"),
    GIVES("{{ '\\u4f60\\U0001F600' }}", "你😀"),
    GIVES("{{ '\\101\\60\\0'|list }}", "['A', '0', '\\x00']"),
    GIVES("{{ '\\7'|list }}", "['\\x07']"),
    GIVES("{{ '\\1234' }}", "S4"),
    GIVES("{{ '\\400' }}", "Ā"),
    GIVES("{{ '\\q\\8\\-' }}", "\\q\\8\\-"),
    GIVES("{{ '\\é\\你' }}", "\\xe9\\u4f60"),
    GIVES("{{ '😀' '\\😀' }}", "😀\\U0001f600"),
    GIVES("{{ 'a\nb' }}", "a\nb"),
    GIVES("{{ 'x\\\ny' }}", "xy"),
    GIVES("{{ \"'\" + '\"' }}", "'\""),
    REFUSES("'%}' ~ '}}' ~ '{{' ~ '{%' ~ '{#'"),
    REFUSES("{{ '\\x4' }}"),
    REFUSES("{{ '\\u12' }}"),
    REFUSES("{{ '\\U0011FFFF' }}"),
    GIVES("{{ 'a' 'b'\n'c' }}", "abc"),
    GIVES("{{ '' }}", ""),
    REFUSES("{{ 'abc }}"),
    REFUSES("{{ \"abc' }}"),
    REFUSES("{{ '\\' }}"),
};

static void test_jinja_lex_strings(void **unused)
{
    jinjafix_check(strings_rows, TK_ARRAY_LEN(strings_rows));
}

/* Integers in four bases, floats, underscores. */
static const jinjafix_row numbers_rows[] = {
    GIVES("{{ 0 }}", "0"),
    GIVES("{{ 00 }}", "0"),
    GIVES("{{ 1_000_000 }}", "1000000"),
    GIVES("{{ 0x1F }}", "31"),
    GIVES("{{ 0XfF }}", "255"),
    GIVES("{{ 0b101 }}", "5"),
    GIVES("{{ 0B1 }}", "1"),
    GIVES("{{ 0o17 }}", "15"),
    GIVES("{{ 0O7 }}", "7"),
    GIVES("{{ 0x_ff }}", "255"),
    GIVES("{{ 0b_1_0 }}", "2"),
    GIVES("{{ 1.5 }}", "1.5"),
    GIVES("{{ 1.50 }}", "1.5"),
    GIVES("{{ 0.1 }}", "0.1"),
    GIVES("{{ 1_0.2_5 }}", "10.25"),
    GIVES("{{ 1e3 }}", "1000.0"),
    GIVES("{{ 1E3 }}", "1000.0"),
    GIVES("{{ 1e+3 }}", "1000.0"),
    GIVES("{{ 1e-3 }}", "0.001"),
    GIVES("{{ 1.5e10 }}", "15000000000.0"),
    GIVES("{{ 1e16 }}", "1e+16"),
    GIVES("{{ 1e22 }}", "1e+22"),
    GIVES("{{ 123456789012345678 }}", "123456789012345678"),
    GIVES("{{ 9223372036854775807 }}", "9223372036854775807"),
    GIVES("{{ 1e308 }}", "1e+308"),
    REFUSES("{{ 01 }}"),
    REFUSES("{{ 1__0 }}"),
    REFUSES("{{ 1_ }}"),
    REFUSES("{{ 0x }}"),
    REFUSES("{{ 1. }}"),
    RAISES("{{ .5 }}", "unexpected '.'"),
    GIVES("{{ 1.e3 }}", ""),
    REFUSES("{{ 1e }}"),
    GIVES("{{ 1.5.2 }}", ""),
};

static void test_jinja_lex_numbers(void **unused)
{
    jinjafix_check(numbers_rows, TK_ARRAY_LEN(numbers_rows));
}

/* What may be part of a name. */
static const jinjafix_row names_rows[] = {
    GIVES("{% set a1 = 1 %}{{ a1 }}", "1"),
    GIVES("{% set _a = 1 %}{{ _a }}", "1"),
    GIVES("{% set ñ = 1 %}{{ ñ }}", "1"),
    GIVES("{% set 变量 = 1 %}{{ 变量 }}", "1"),
    GIVES("{% set aé1_ = 1 %}{{ aé1_ }}", "1"),
    GIVES("{% set _ = 1 %}{{ _ }}", "1"),
    REFUSES("{% set a€ = 1 %}{{ a€ }}"),
    RAISES("{% set ٣a = 1 %}", "Invalid character in identifier"),
    GIVES("{% set a٣ = 1 %}{{ a٣ }}", "1"),
    GIVES("{% set Ⅷ = 1 %}{{ Ⅷ }}", "1"),
    GIVES("{% set a‿b = 1 %}{{ a‿b }}", "1"),
    RAISES("{% set \314\210a = 1 %}", "Invalid character in identifier"),
    REFUSES("{{ 1a }}"),
};

static void test_jinja_lex_names(void **unused)
{
    jinjafix_check(names_rows, TK_ARRAY_LEN(names_rows));
}

/* Brackets must match; what is not an operator is refused. */
static const jinjafix_row operators_rows[] = {
    GIVES("{{ [1, 2, (3, {'a': 4})] }}", "[1, 2, (3, {'a': 4})]"),
    GIVES("{{ {'a': {'b': 1}}['a'] }}", "{'b': 1}"),
    GIVES("{{ {} }}", "{}"),
    REFUSES("{{ {{}} }}"),
    REFUSES("{{ (1] }}"),
    REFUSES("{{ [1) }}"),
    REFUSES("{{ {1) }}"),
    RAISES("{{ 1) }}", "unexpected ')'"),
    RAISES("{{ } }}", "unexpected '}'"),
    REFUSES("{{ 1 ! 2 }}"),
    REFUSES("{{ 1 & 2 }}"),
    REFUSES("{{ a ? b }}"),
    REFUSES("{{ @ }}"),
    REFUSES("{{ $ }}"),
    RAISES("{{ 1 === 1 }}", "unexpected '='"),
    RAISES("{{ 1 <> 2 }}", "unexpected '>'"),
    REFUSES("{{ 1; }}"),
    REFUSES("{{ `a` }}"),
};

static void test_jinja_lex_operators(void **unused)
{
    jinjafix_check(operators_rows, TK_ARRAY_LEN(operators_rows));
}

/* Where a tag ends. */
static const jinjafix_row comments_and_tags_rows[] = {
    GIVES("a{# {{ b }} {% c %} #}d", "ad"),
    GIVES("a{# # } #}b", "ab"),
    RAISES("a{#b", "Missing end of comment tag"),
    GIVES("{# a\nb\nc #}d", "d"),
    GIVES("{#-#}x", "x"),
    GIVES("{##}x", "x"),
    GIVES("{", "{"),
    GIVES("{ {", "{ {"),
    GIVES("{x}", "{x}"),
    RAISES("{{ a } b }} %} #} }}", "unexpected '}'"),
    GIVES("{% raw %}{{ {% {# {% endraw %}", "{{ {% {# "),
    RAISES("{% raw %}a{% endraw", "Missing end of raw directive"),
    RAISES("{% raw %}a", "Missing end of raw directive"),
    GIVES("{% raw %}{% raw %}{% endraw %}", "{% raw %}"),
    GIVES("{%raw%}a{%endraw%}b", "ab"),
    GIVES("{%  raw  %}a{%  endraw  %}b", "ab"),
    GIVES("{{ '#}' }}", "#}"),
    GIVES("{% if '%}' == '%}' %}y{% endif %}", "y"),
    REFUSES("{{ 1"),
    REFUSES("{% if"),
    RAISES("{{ 1 %}", "unexpected '}'"),
    RAISES("{% if 1 }}", "unexpected '}'"),
    REFUSES("{%%}"),
    REFUSES("{{}}"),
    REFUSES("{% %}"),
    REFUSES("{{ }}"),
};

static void test_jinja_lex_comments_and_tags(void **unused)
{
    jinjafix_check(comments_and_tags_rows, TK_ARRAY_LEN(comments_and_tags_rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jinja_lex_trim_blocks),
        cmocka_unit_test(test_jinja_lex_lstrip_blocks),
        cmocka_unit_test(test_jinja_lex_signs),
        cmocka_unit_test(test_jinja_lex_source),
        cmocka_unit_test(test_jinja_lex_strings),
        cmocka_unit_test(test_jinja_lex_numbers),
        cmocka_unit_test(test_jinja_lex_names),
        cmocka_unit_test(test_jinja_lex_operators),
        cmocka_unit_test(test_jinja_lex_comments_and_tags),
    };
    return cmocka_run_group_tests_name("jinja_lex", tests, NULL, NULL);
}
