/* A render as a whole: the line of an error, the budgets, what is left of the output when
 * it fails, spans, allocation failures. */
#include "base/mem.h"
#include "support/failmem.h"
#include "support/jinjafix.h"

static const struct {
    const char *source;
    int line;
} lines[] = {
    {"{{ x.y }}", 1},
    {"\n{{ x.y }}", 2},
    {"a\nb\n{{ 1 / 0 }}", 3},
    {"{% if 1 %}\n{% if 1 %}\n{{ x.y }}\n{% endif %}\n{% endif %}", 3},
    {"{% for a in [1, 2] %}\n\n{{ a.b.c }}\n{% endfor %}", 3},
    {"{# a\nb\nc #}{{ x.y }}", 3},
    {"{# a\nb #}\n\n{{ x.y }}", 4},
    {"{% set a = 1\n%}\n{{ a.b.c }}", 3},
    {"{{ 'a\nb' }}{{ x.y }}", 2},
    {"{% raw %}\n\n{% endraw %}{{ x.y }}", 3},
    {"{% macro m(x) %}\n\n{{ x.y.z }}\n{% endmacro %}\n\n{{ m(1) }}", 3},
    {"{% macro m() %}ok{% endmacro %}\n{{ m() }}\n{{ x.y }}", 3},
    {"a\r\nb\rc\n{{ x.y }}", 4},
    {"{{ raise_exception('a') }}", 1},
    {"\n\n{{- raise_exception('a') }}", 3},
    {"{%- if 1 -%}\n\n  {{- raise_exception('a') -}}\n{%- endif -%}", 3},
    {"{% set x %}\n{{ y.z }}\n{% endset %}", 2},
    {"{% filter upper %}\n\n{{ y.z }}{% endfilter %}", 3},
    {"{% generation %}\n{{ y.z }}{% endgeneration %}", 2},
    {"\n{{ a b }}", 2},
    {"a\n{% if %}", 2},
    {"\n\n{% nothing %}", 3},
    {"{% if 1 %}\na\n{{ ( }}", 3},
    {"\n{{ 'a }}", 2},
    {"\n{{ 1|nothing }}", 2},
    {"\n\n{{ 1 is nothing }}", 3},
    {"{# a\n\n", 1},
    {"{% raw %}\na", 1},
    {"\n{% for a in [1] %}\n{% endif %}", 3},
    {"{{\n\nx.y }}", 3},
    {"{% with a = 1 %}\n{{ a.b.c }}{% endwith %}", 2},
    {"{% for a in [1] %}\n{% else %}{% endfor %}\n{{ 'x' + 1 }}", 3},
    {"\n{{ [3, 'a']|sort }}", 2},
    {"\n\n\n{{ 'a'|int + 'b' }}", 4},
};

/* The line in which jinja2 3.1.6 sees the error, at parse or at run time. */
static void test_jinja_run_lines(void **unused)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(lines); i++) {
        tk_err err = TK_ERR_INIT;
        tk_buf out;
        tinkc_code code = jinjafix_render(lines[i].source, true, &out, &err);
        assert_true(code == TINKC_E_INVALID || code == TINKC_E_PARSE);
        tk_buf wanted;
        tk_buf_init(&wanted, TK_KIB);
        tk_buf_printf(&wanted, "template line %d: ", lines[i].line);
        if (strncmp(err.message, tk_buf_cstr(&wanted), wanted.n) != 0) {
            fail_msg("%s: %s instead of line %d", lines[i].source, err.message,
                     lines[i].line);
        }
        tk_buf_dispose(&wanted);
        tk_buf_dispose(&out);
    }
}

/* What jinja2 has and this does not have is refused by name, with the line. */
static void test_jinja_run_unsupported(void **unused)
{
    static const struct {
        const char *source, *text;
    } rows[] = {
        {"\n{% include 'x' %}", "template line 2: {% include %} is not supported"},
        {"{% import 'x' as y %}", "template line 1: {% import %} is not supported"},
        {"{% from 'x' import y %}", "template line 1: {% from %} is not supported"},
        {"{% extends 'x' %}", "template line 1: {% extends %} is not supported"},
        {"{% block x %}{% endblock %}", "template line 1: {% block %} is not supported"},
        {"\n\n{{ '\\N{DASH}' }}",
         "template line 3: \\N{...} in a string is not supported"},
        {"{{ 'a'|upper.x }}",
         "template line 1: a filter or test with a dot is not supported"},
        {"{{ 1 is a.b }}",
         "template line 1: a filter or test with a dot is not supported"},
        {"\n{{ 'a b'|wordwrap }}", "template line 2: wordwrap is not supported"},
        {"{{ [1]|slice(1) }}", "template line 1: slice is not supported"},
        {"{{ [1]|random }}", "template line 1: random is not supported"},
        {"{{ 'a'.encode() }}", "template line 1: encode is not supported"},
        {"{{ 'a'.isdecimal() }}", "template line 1: isdecimal is not supported"},
        {"{{ [2, 1].sort() }}", "template line 1: sort is not supported"},
        {"{{ {}.popitem() }}", "template line 1: popitem is not supported"},
        {"{{ lipsum() }}", "template line 1: lipsum is not supported"},
        {"{{ joiner() }}", "template line 1: joiner is not supported"},
        {"{{ strftime_now('%U') }}", "template line 1: strftime_now: %U"},
        {"{{ '10'|int(0, 2) }}", "template line 1: int with a base"},
        {"{{ '%e' % 1.5 }}", "template line 1: format character 'e'"},
        {"{{ '%#x' % 1 }}",
         "template line 1: a format with '#' or more than 1000 digits"},
        {"{{ '%.20f' % 1.5 }}", "template line 1: a float with more than 15 digits"},
        {"{{ '{0.x}'.format(1) }}", "template line 1: format with attributes or items"},
        {"{{ '{:e}'.format(1.5) }}", "template line 1: format specifier 'e'"},
        {"{{ [1]|urlencode }}", "template line 1: urlencode of a collection"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_err err = TK_ERR_INIT;
        tk_buf out;
        tinkc_code code = jinjafix_render(rows[i].source, false, &out, &err);
        if (code != TINKC_E_UNSUPPORTED || strcmp(err.message, rows[i].text) != 0) {
            fail_msg("%s: %s", rows[i].source, err.message);
        }
        tk_buf_dispose(&out);
    }
}

/* How deep a source may be: one less is fine, and the error has its line. */
static void test_jinja_run_nesting(void **unused)
{
    static const struct {
        const char *before, *open, *middle, *close, *after, *text;
        size_t fits, breaks;
    } rows[] = {
        {"\n{{ ", "[", "", "]", " }}", "template line 2: expressions nested too deep", 30,
         200},
        {"{{ ", "(", "1", ")", " }}", "template line 1: expressions nested too deep", 30,
         200},
        {"{{ ", "-", "1", "", " }}", "template line 1: expressions nested too deep", 30,
         400},
        {"{{ ", "not ", "1", "", " }}", "template line 1: expressions nested too deep",
         30, 400},
        {"", "{% generation %}", "", "{% endgeneration %}", "",
         "template line 1: blocks nested too deep", 30, 400},
        {"{{ 1", " + 1", "", "", " }}", "template line 1: expression is too long", 100,
         5000},
        {"{{ f", "(", "", "", " }}", "template line 1: too many open brackets", 0, 300},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        for (int large = rows[i].fits == 0; large < 2; large++) {
            tk_buf source, out;
            tk_err err = TK_ERR_INIT;
            size_t n = large ? rows[i].breaks : rows[i].fits;
            tk_buf_init(&source, TK_MIB);
            tk_buf_puts(&source, rows[i].before);
            for (size_t k = 0; k < n; k++) {
                tk_buf_puts(&source, rows[i].open);
            }
            tk_buf_puts(&source, rows[i].middle);
            for (size_t k = 0; k < n; k++) {
                tk_buf_puts(&source, rows[i].close);
            }
            tk_buf_puts(&source, rows[i].after);
            tinkc_code code = jinjafix_render(tk_buf_cstr(&source), true, &out, &err);
            if (code != (large ? TINKC_E_LIMIT : TINKC_OK) ||
                (large && strcmp(err.message, rows[i].text) != 0)) {
                fail_msg("row %zu: %s", i, err.message);
            }
            tk_buf_dispose(&out);
            tk_buf_dispose(&source);
        }
    }
}

static tinkc_code render(const char *source, tk_jinja_job job, tk_buf *out, tk_err *err)
{
    tk_jinja *tpl = NULL;
    assert_int_equal(tk_jinja_parse(&tpl, tk_str_of(source), err), TINKC_OK);
    tinkc_code code = tk_jinja_render(out, tpl, &job, err);
    tk_jinja_free(tpl);
    return code;
}

static void check_limit(const char *source, tk_jinja_job job, const char *text)
{
    tk_err err = TK_ERR_INIT;
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    tk_buf_puts(&out, "kept");
    assert_int_equal(render(source, job, &out, &err), TINKC_E_LIMIT);
    assert_string_equal(err.message, text);
    assert_true(tk_str_is(tk_buf_str(&out), "kept"));
    tk_buf_dispose(&out);
}

static void check_text(const char *source, tk_jinja_job job, const char *text)
{
    tk_err err = TK_ERR_INIT;
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    if (render(source, job, &out, &err) != TINKC_OK) {
        fail_msg("%s: %s", source, err.message);
    }
    assert_true(tk_str_is(tk_buf_str(&out), text));
    tk_buf_dispose(&out);
}

/* Each budget at a number that is enough and at one that is not. */
static void test_jinja_run_budgets(void **unused)
{
    const char *loop = "{% for i in range(100) %}{% endfor %}x";
    check_text(loop, (tk_jinja_job){.max_steps = 2000}, "x");
    check_limit(loop, (tk_jinja_job){.max_steps = 200},
                "template line 1: the template runs for too long");
    check_text("{{ 'a' * 100 }}", (tk_jinja_job){.max_output_bytes = 100},
               "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
               "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    check_limit("{{ 'a' * 101 }}", (tk_jinja_job){.max_output_bytes = 100},
                "template line 1: a text is too long");
    check_limit("{% for i in range(11) %}\n0123456789{% endfor %}",
                (tk_jinja_job){.max_output_bytes = 100},
                "template line 2: the output is too long");
    check_text("{% for i in range(2) %}0123456789{% endfor %}",
               (tk_jinja_job){.max_output_bytes = 20}, "01234567890123456789");
    const char *list = "{% set l = range(1000)|list %}{{ l|length }}";
    check_text(list, (tk_jinja_job){.max_memory_bytes = TK_MIB}, "1000");
    check_limit(list, (tk_jinja_job){.max_memory_bytes = 16 * TK_KIB},
                "template line 1: the template needs too much memory");
}

/* Work is paid for where it is done, whatever the template makes of it. */
static void test_jinja_run_steps(void **unused)
{
    static const char *const costly[] = {
        "{% set x = 'a' * 200000 %}",
        "{% set x = range(20000)|list %}",
        "{% set x = ('a' * 100000)|upper %}",
        "{% set x = ('a ' * 100000).split() %}",
        "{% set x = ('a' * 200000)|length %}",
        "{% set x = ('a' * 200000) == ('a' * 200000) %}",
        "{% set x = ('a' * 200000).replace('a', 'b') %}",
        "{% set x = ('a' * 200000)|tojson %}",
        "{% set x = [('a' * 200000)]|string %}",
        "{% set x = range(9999)|sort %}",
        "{% set x = 'b' in ('a' * 200000) %}",
        "{% set x = ('a' * 200000)[::-1] %}",
        "{% set x = ('a' * 200000)|indent %}",
        "{% set x = ('a' * 200000)|trim %}",
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(costly); i++) {
        check_limit(costly[i], (tk_jinja_job){.max_steps = 10000},
                    "template line 1: the template runs for too long");
    }
}

static void test_jinja_run_depth(void **unused)
{
    check_limit("{% macro f() %}{{ f() }}{% endmacro %}\n{{ f() }}",
                (tk_jinja_job){.n_vars = 0},
                "template line 1: the template recurses too deep");
    check_limit("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
                (tk_jinja_job){.n_vars = 0},
                "template line 1: the template recurses too deep");
    check_limit("{% set n = namespace(l=[]) %}{% for i in range(2000) %}"
                "{% set n.l = [n.l] %}{% endfor %}{{ n.l|tojson }}",
                (tk_jinja_job){.n_vars = 0},
                "template line 1: the template recurses too deep");
    check_text("{% macro f(n) %}{% if n %}{{ f(n - 1) }}{% else %}end{% endif %}"
               "{% endmacro %}{{ f(9) }}",
               (tk_jinja_job){.n_vars = 0}, "end");
}

/* Depth counts what is open now: 5,000 calls one after the other are not deep. */
static void test_jinja_run_leaves(void **unused)
{
    check_text("{% macro f(x) %}{{ x }}{% endmacro %}{% for i in range(5000) %}"
               "{% set y = f([[1], [2]] == [[1], [3]]) %}{% endfor %}ok",
               (tk_jinja_job){.n_vars = 0}, "ok");
    check_text("{% for i in range(2000) %}{% set y = {(1, (2, 3)): 4} %}"
               "{% set z = [i]|map('string')|list|tojson %}{% endfor %}ok",
               (tk_jinja_job){.n_vars = 0}, "ok");
}

/* The last of equal names counts; a render appends and can be repeated. */
static void test_jinja_run_variables(void **unused)
{
    tk_json one = {.type = TK_JSON_INT, .as.integer = 1};
    tk_json two = {.type = TK_JSON_REAL, .as.real = 2.5};
    tk_json flag = {.type = TK_JSON_BOOL, .as.boolean = true};
    tk_json none = {.type = TK_JSON_NULL};
    tk_jinja_var vars[] = {{TK_STR("a"), &one},
                           {TK_STR("b"), &flag},
                           {TK_STR("c"), &none},
                           {TK_STR("a"), &two}};
    tk_jinja_job job = {.vars = vars, .n_vars = TK_ARRAY_LEN(vars)};
    tk_jinja *tpl = NULL;
    tk_err err = TK_ERR_INIT;
    tk_buf out;
    tk_buf_init(&out, TK_KIB);
    tk_str source = TK_STR("{{ a }}{{ b }}{{ c }}{{ e }};");
    assert_int_equal(tk_jinja_parse(&tpl, source, &err), TINKC_OK);
    assert_int_equal(tk_jinja_render(&out, tpl, &job, &err), TINKC_OK);
    assert_int_equal(tk_jinja_render(&out, tpl, &job, NULL), TINKC_OK);
    assert_true(tk_str_is(tk_buf_str(&out), "2.5TrueNone;2.5TrueNone;"));
    tk_jinja_free(tpl);
    tk_buf_dispose(&out);
}

/* Spans of generation blocks of the template's own output only; none after a failure. */
static void test_jinja_run_spans(void **unused)
{
    static const struct {
        const char *source;
        size_t n;
        tk_jinja_span spans[3];
    } rows[] = {
        {"a{% generation %}bc{% endgeneration %}d", 1, {{1, 3}}},
        {"{% generation %}{% endgeneration %}", 1, {{0, 0}}},
        {"{% for i in 'xy' %}{% generation %}{{ i }}{% endgeneration %}-{% endfor %}",
         2,
         {{0, 1}, {2, 3}}},
        {"{% set b %}{% generation %}x{% endgeneration %}{% endset %}{{ b }}",
         0,
         {{0, 0}}},
        {"{% if 0 %}{% generation %}x{% endgeneration %}{% endif %}", 0, {{0, 0}}},
        {"\u00e9{% generation %}\u00e9{% endgeneration %}", 1, {{2, 4}}},
        {"{% generation %}a{% generation %}b{% endgeneration %}{% endgeneration %}",
         2,
         {{1, 2}, {0, 2}}},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_err err = TK_ERR_INIT;
        tk_buf out, spans;
        tk_buf_init(&out, TK_KIB);
        tk_buf_init(&spans, TK_KIB);
        tk_buf_puts(&out, "before");
        tk_jinja_job job = {.spans = &spans};
        assert_int_equal(render(rows[i].source, job, &out, &err), TINKC_OK);
        assert_int_equal(spans.n, rows[i].n * sizeof(tk_jinja_span));
        if (spans.n > 0) {
            assert_memory_equal(spans.p, rows[i].spans, spans.n);
        }
        size_t before = spans.n;
        assert_int_equal(
            render("{% generation %}x{% endgeneration %}{{ a.b }}", job, &out, &err),
            TINKC_E_INVALID);
        assert_int_equal(spans.n, before);
        tk_buf_dispose(&out);
        tk_buf_dispose(&spans);
    }
}

static const char *const swept[] = {
    "{% for x in [1, 1, 2] %}{{ loop.changed(x) }}{% endfor %}{{ [1, 2]|sum(start=5) }}",
    "{{ ' 42 '|int }}{{ [1] + [2, 3] }}{{ (1,) * 3 }}{{ 'ab' * 3 }}{{ [3, 1]|unique|list }}",
    "{{ ['a', 'B']|reverse|list }}{{ {'x': 1}|items|list }}{{ [1, 2]|map('string')|list }}",
    "{{ [{'n': 1}]|groupby('n') }}{{ [2, 1]|min }}{{ {'b': 1}.items()|list }}{{ 'abc'|list }}",
    "{{ range(5)[1:3]|list }}{{ 'abcdef'[::2] }}{{ [1, 2, 3][::-1] }}{{ 'a\\nb'|indent }}",
    "{% set x %}a{% endset %}{% filter upper %}{{ x }}{% endfilter %}{% with y = 1 %}"
    "{{ y }}{% endwith %}{% macro m() %}{{ caller(1) }}{{ kwargs }}{% endmacro %}"
    "{% call(z) m(k=1) %}{{ z }}{% endcall %}",
    "{{ 'A b'|title }}{{ ' a '|trim }}{{ '<'|e }}{{ 'a b c d'|truncate(3, true, '', 0) }}",
    "{{ 'a-b'.partition('-') }}{{ 'a b'.rsplit() }}{{ '-'.join(['a', 'b']) }}"
    "{{ 'a'.rjust(5) }}{{ '7'.zfill(3) }}{{ 'a\\nb'.splitlines() }}",
    "{% macro m(x, y=1) %}{{ x }}{{ y }}{{ varargs }}{% endmacro %}{{ m(1, 2, 3) }}",
    "{% for a, b in {'x': [1, 2]}|dictsort %}{{ loop.cycle(a, b) }}{% endfor %}",
    "{{ {'k' * 40: ['v', 1.5, none]}|tojson(indent=2, sort_keys=true) }}",
    "{{ 'a,b,c'.split(',')|map('upper')|join('-')|replace('-', '+')|center(20) }}",
    "{{ '%5.2f %s' % (1.5, 'x') }}{{ '{:>5}'.format('y') }}{{ 'a\\u00e9'|title }}",
    "{% set ns = namespace(l=[]) %}{% for i in range(20) %}{% set ns.l = ns.l + [i] %}"
    "{% endfor %}{{ ns.l|batch(3)|list|length }}{{ ns.l[::-1][2:5] }}",
    "{% set d = {} %}{% for i in range(20) %}{% set _ = d.update({i|string: i}) %}"
    "{% endfor %}{{ d.pop('3') }}{{ d|length }}",
};

/* Renders with less and less of one budget: it gives the whole text or TINKC_E_LIMIT, never
 * a part of the text, and never another error. */
static void starve(const char *source, size_t step, bool memory)
{
    tk_jinja *tpl = NULL;
    tk_err err = TK_ERR_INIT;
    tk_buf whole;
    tk_buf_init(&whole, TK_MIB);
    assert_int_equal(tk_jinja_parse(&tpl, tk_str_of(source), &err), TINKC_OK);
    tk_jinja_job job = {.n_vars = 0};
    tinkc_code wanted = tk_jinja_render(&whole, tpl, &job, &err);
    size_t limits = 0;
    tinkc_code code = TINKC_E_LIMIT;
    for (size_t most = step; code == TINKC_E_LIMIT; most += step) {
        tk_buf out;
        tk_err_clear(&err);
        tk_buf_init(&out, TK_MIB);
        job.max_memory_bytes = memory ? most : 0;
        job.max_steps = memory ? 0 : most;
        code = tk_jinja_render(&out, tpl, &job, &err);
        assert_true(code == wanted || code == TINKC_E_LIMIT);
        assert_true(code != TINKC_OK || tk_str_eq(tk_buf_str(&out), tk_buf_str(&whole)));
        assert_true(code == TINKC_OK || out.n == 0);
        limits += code == TINKC_E_LIMIT;
        tk_buf_dispose(&out);
    }
    assert_true(limits > 0);
    tk_buf_dispose(&whole);
    tk_jinja_free(tpl);
}

static void test_jinja_run_starves(void **unused)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(swept); i++) {
        starve(swept[i], 1, false);
        starve(swept[i], 1024, true);
    }
}

/* What has no text in Python but an address prints something. */
static void test_jinja_run_objects(void **unused)
{
    static const char *const sources[] = {"{{ range }}", "{{ 'a'.upper }}",
                                          "{{ cycler(1) }}", "{{ [1]|map('string') }}",
                                          "{{ {}.get }}"};
    for (size_t i = 0; i < TK_ARRAY_LEN(sources); i++) {
        tk_err err = TK_ERR_INIT;
        tk_buf out;
        assert_int_equal(jinjafix_render(sources[i], true, &out, &err), TINKC_OK);
        assert_true(out.n > 2 && out.p[0] == '<' && out.p[out.n - 1] == '>');
        tk_buf_dispose(&out);
    }
}

static bool sweep_one(void *user)
{
    tk_err err = TK_ERR_INIT;
    tk_buf out, spans;
    tk_jinja *tpl = NULL;
    tk_buf_init(&out, TK_MIB);
    tk_buf_init(&spans, TK_MIB);
    tk_jinja_job job = {.spans = &spans};
    tinkc_code code = tk_jinja_parse(&tpl, tk_str_of(user), &err);
    if (code == TINKC_OK) {
        code = tk_jinja_render(&out, tpl, &job, &err);
    }
    tk_jinja_free(tpl);
    tk_buf_dispose(&out);
    tk_buf_dispose(&spans);
    if (failmem_fired()) {
        assert_true(code == TINKC_E_NOMEM);
    }
    return code != TINKC_E_NOMEM;
}

/* Each allocation fails once: the render reports it and leaks nothing. */
static void test_jinja_run_out_of_memory(void **unused)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(swept); i++) {
        char *source = NULL;
        tk_buf copy;
        tk_buf_init(&copy, TK_KIB);
        tk_buf_puts(&copy, swept[i]);
        source = tk_strdup(tk_buf_cstr(&copy));
        assert_true(failmem_sweep(sweep_one, source, 1) > 3);
        tk_free(source);
        tk_buf_dispose(&copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jinja_run_lines),
        cmocka_unit_test(test_jinja_run_unsupported),
        cmocka_unit_test(test_jinja_run_nesting),
        cmocka_unit_test(test_jinja_run_budgets),
        cmocka_unit_test(test_jinja_run_steps),
        cmocka_unit_test(test_jinja_run_depth),
        cmocka_unit_test(test_jinja_run_leaves),
        cmocka_unit_test(test_jinja_run_variables),
        cmocka_unit_test(test_jinja_run_spans),
        cmocka_unit_test(test_jinja_run_starves),
        cmocka_unit_test(test_jinja_run_objects),
        cmocka_unit_test(test_jinja_run_out_of_memory),
    };
    return cmocka_run_group_tests_name("jinja_run", tests, NULL, NULL);
}
