/* Chat templates: text and refusals as jinja2's, recorded by scripts/record-chat.py from
 * templates of our own; bounds on what a hostile template can do; what
 * works only when the job is not strict. */
#include <stdio.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "support/failmem.h"
#include "support/test.h"
#include "text/jinja/jinja.h"

#define DATA     TEST_DATA_DIR "/text/"
#define MAX_VARS 64

typedef struct recorded {
    tk_arena arena;
    char *text;
    const tk_json *root;
    int64_t now_us;
} recorded;

static recorded open_recorded(void)
{
    recorded r;
    tk_err err = TK_ERR_INIT;
    size_t n = 0;
    tk_arena_init(&r.arena, 0);
    assert_int_equal(tk_file_read(&r.text, &n, DATA "chat.json", 8 * TK_MIB, &err),
                     TINKC_OK);
    assert_int_equal(tk_json_parse(&r.root, &r.arena, r.text, n, NULL, &err), TINKC_OK);
    assert_true(tk_json_to_i64(tk_json_get(r.root, "now_us"), &r.now_us));
    return r;
}

static void close_recorded(recorded *r)
{
    tk_arena_dispose(&r->arena);
    tk_free(r->text);
}

static size_t fill_vars(tk_jinja_var *vars, const tk_json *object)
{
    assert_true(object->as.object.n <= MAX_VARS);
    for (size_t i = 0; i < object->as.object.n; i++) {
        vars[i] = (tk_jinja_var){object->as.object.members[i].key,
                                 &object->as.object.members[i].value};
    }
    return object->as.object.n;
}

static void check(const recorded *r, tk_str source, const tk_json *object,
                  const tk_json *wanted)
{
    tk_jinja_var vars[MAX_VARS];
    tk_jinja_job job = {.vars = vars,
                        .n_vars = fill_vars(vars, object),
                        .strict = true,
                        .has_now = true,
                        .now_us = r->now_us};
    tk_err err = TK_ERR_INIT;
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    tk_jinja *tpl = NULL;
    const tk_json *text = tk_json_get(wanted, "text");
    tinkc_code code = tk_jinja_parse(&tpl, source, &err);
    if (code == TINKC_OK) {
        code = tk_jinja_render(&out, tpl, &job, &err);
    }
    bool same = text != NULL
                    ? code == TINKC_OK && tk_str_eq(text->as.string, tk_buf_str(&out))
                    : code == TINKC_E_INVALID || code == TINKC_E_PARSE;
    if (!same) {
        fail_msg("%.*s\ngives %.*s\n%s", (int)source.n, source.p, (int)out.n,
                 out.p != NULL ? out.p : "", err.message);
    }
    tk_jinja_free(tpl);
    tk_buf_dispose(&out);
}

/* recorded snippets give the text that jinja2 gave, or its error. */
static void test_jinja_snippets(void **unused)
{
    recorded r = open_recorded();
    const tk_json *all = tk_json_get(r.root, "snippets");
    assert_true(tk_json_len(all) > 200);
    for (size_t i = 0; i < tk_json_len(all); i++) {
        tk_json one = tk_json_at(all, i);
        check(&r, tk_json_get(&one, "template")->as.string,
              tk_json_get(r.root, "variables"), &one);
    }
    close_recorded(&r);
}

/* templates in the manner of each family, over conversations with tools, parts,
 * reasoning, odd roles. */
static void test_jinja_families(void **unused)
{
    recorded r = open_recorded();
    const tk_json *families = tk_json_get(r.root, "families");
    const tk_json *conversations = tk_json_get(r.root, "conversations");
    assert_true(tk_json_len(families) >= 7);
    for (size_t f = 0; f < tk_json_len(families); f++) {
        tk_json family = tk_json_at(families, f);
        char path[512], *source = NULL;
        size_t n = 0;
        (void)snprintf(path, sizeof(path), DATA "templates/%s.jinja",
                       tk_json_get(&family, "name")->as.string.p);
        assert_int_equal(tk_file_read(&source, &n, path, TK_MIB, NULL), TINKC_OK);
        const tk_json *outcomes = tk_json_get(&family, "outcomes");
        for (size_t i = 0; i < tk_json_len(outcomes); i++) {
            tk_json variables = tk_json_at(conversations, i),
                    want = tk_json_at(outcomes, i);
            check(&r, (tk_str){source, n}, &variables, &want);
        }
        tk_free(source);
    }
    close_recorded(&r);
}

/* ---- one template, no data ---- */

static tinkc_code run(const char *source, tk_jinja_job job, tk_buf *out, tk_err *err)
{
    tk_jinja *tpl = NULL;
    tinkc_code code = tk_jinja_parse(&tpl, tk_str_of(source), err);
    if (code == TINKC_OK) {
        code = tk_jinja_render(out, tpl, &job, err);
    }
    tk_jinja_free(tpl);
    return code;
}

static void expect_code(const char *source, tinkc_code wanted)
{
    tk_err err = TK_ERR_INIT;
    tk_buf out;
    tk_buf_init(&out, 512 * TK_MIB);
    tk_buf_puts(&out, "before");
    tk_jinja_job job = {
        .max_output_bytes = TK_MIB, .max_memory_bytes = 16 * TK_MIB, .max_steps = 200000};
    tinkc_code code = run(source, job, &out, &err);
    if (code != wanted) {
        fail_msg("%.200s: %d %s", source, (int)code, err.message);
    }
    assert_true(tk_str_is(tk_buf_str(&out), "before"));
    tk_buf_dispose(&out);
}

static void expect_text(const char *source, const char *wanted)
{
    tk_err err = TK_ERR_INIT;
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    if (run(source, (tk_jinja_job){.n_vars = 0}, &out, &err) != TINKC_OK ||
        !tk_str_is(tk_buf_str(&out), wanted)) {
        fail_msg("%s: %.*s %s", source, (int)out.n, out.p != NULL ? out.p : "",
                 err.message);
    }
    tk_buf_dispose(&out);
}

/* Whatever a template asks for, it ends, in bounded memory and with bounded output. */
static void test_jinja_bounds(void **unused)
{
    static const char *const endless[] = {
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% macro f(x) %}{{ f(x ~ x) }}{% endmacro %}{{ f('ab') }}",
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% for a in range(99999) %}{% for b in range(99999) %}xxxxxxxx{% endfor %}{% endfor %}",
        "{{ 'abcdefgh' * 1000000000 }}",
        "{{ [1] * 1000000000 }}",
        "{{ 'a'.center(1000000000) }}",
        "{{ 'a'.zfill(1000000000) }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ ('x\\n' * 100000) | indent(1000) }}",
        "{% set ns = namespace(s='ab') %}{% for i in range(64) %}{% set ns.s = ns.s ~ ns.s %}"
        "{% endfor %}{{ ns.s }}",
        "{% set ns = namespace(l=[1]) %}{% for i in range(64) %}{% set ns.l = ns.l + ns.l %}"
        "{% endfor %}",
        "{% set ns = namespace(l=[1]) %}{% for i in range(3000) %}{% set ns.l = [ns.l] %}"
        "{% endfor %}{{ ns.l }}",
        "{% set l = [] %}{% set _ = l.append(l) %}{{ l }}",
        "{% set l = [] %}{% set _ = l.append(l) %}{{ l == l[0] }}{{ l|tojson }}",
        "{{ 9223372036854775807 + 1 }}",
        "{{ 2 ** 64 }}",
        "{% set s = 'a' * 500000 %}{% for i in range(99999) %}{% set x = s.replace('a', 'b') %}"
        "{% endfor %}",
        "{% set s = 'a' * 500000 %}{% for i in range(99999) %}{{ 'b' in s }}{% endfor %}",
        "{% set s = 'ab ' * 100000 %}{% for i in range(99999) %}{% set x = s.split() %}"
        "{% endfor %}",
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(endless); i++) {
        expect_code(endless[i], TINKC_E_LIMIT);
    }
    expect_code("{{ range(10 ** 9) }}", TINKC_E_INVALID);
}

/* Work that makes nothing new is paid for as well: a template that walks, compares or
 * hashes the same large value again and again ends. */
static void test_jinja_pays(void **unused)
{
    static const char *const endless[] = {
        "{% set ns = namespace(t=1) %}{% for i in range(3000) %}{% set ns.t = (ns.t,) %}"
        "{% endfor %}{{ ns.t in {} }}",
        "{% set ns = namespace(t=1) %}{% for i in range(20) %}{% set ns.t = (ns.t, ns.t) %}"
        "{% endfor %}{{ {}.get(ns.t) }}",
        "{% set ns = namespace(t=1) %}{% for i in range(20) %}{% set ns.t = (ns.t, ns.t) %}"
        "{% endfor %}{{ ns.t is filter }}",
        "{{ ('a' * 2000).strip('b' * 2000 ~ 'a') }}",
        "{{ ('a' * 2000)|trim('b' * 2000 ~ 'a') }}",
        "{{ ('a' * 4000).rfind('a' * 1999 ~ 'b') }}",
        "{{ ('a' * 4000).rsplit('a' * 1999 ~ 'b') }}",
        "{{ ('a' * 4000).rpartition('a' * 1999 ~ 'b') }}",
        "{% set l = range(1000)|list %}{% for i in range(300) %}{% if l|sum %}{% endif %}"
        "{% endfor %}",
        "{% set l = [0] * 1000 %}{% for i in range(300) %}{% if l|select %}{% endif %}"
        "{% endfor %}",
        "{% set l = ['a'] * 1000 %}{% for i in range(300) %}{% if l|unique(true) %}{% endif %}"
        "{% endfor %}",
        "{% set t = 'a' * 99999 %}{% for i in range(999) %}{% set x = t.removeprefix(t) %}"
        "{% endfor %}",
        "{% set s = 'a' * 99999 %}{% set d = {} %}{% for i in range(999) %}"
        "{% set x = d.get(s) %}{% endfor %}",
        "{% set s = 'a' * 99999 %}{% set n = namespace() %}{% for i in range(999) %}"
        "{% set x = n[s] %}{% endfor %}",
        "{% set s = ' ' * 99999 %}{% for i in range(999) %}{% set x = s|int %}{% endfor %}",
        "{% set s = ' ' * 99999 %}{% for i in range(999) %}{% set x = s|float %}{% endfor %}",
        "{% set t = ('x',) * 999 %}{% for i in range(999) %}{% set x = 'a'.endswith(t) %}"
        "{% endfor %}",
        "{% set l = [] %}{% set _ = l.append(l) %}{% set p = '0.' * 9999 ~ '0' %}"
        "{% for i in range(99) %}{% set x = [l]|map(attribute=p)|list %}{% endfor %}",
        "{{ (['A' * 350000] * 99)|sort }}",
        "{% set d = {} %}{% for i in range(20) %}{% set _ = d.update({'a' * 9999 ~ i: 1}) %}"
        "{% endfor %}{% for i in range(999) %}{% set _ = d.update({'x': 1}) %}"
        "{% set _ = d.pop('x') %}{% endfor %}",
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(endless); i++) {
        expect_code(endless[i], TINKC_E_LIMIT);
    }
}

/* Numbers at the end of 64 bits, and ranges as Python shows them. */
static void test_jinja_number_edges(void **unused)
{
    expect_text("{{ 'abc'|truncate(9223372036854775807) }}", "abc");
    expect_text("{{ 'abcdefghij'|truncate(4, true, '..', 5) }}", "ab..");
    expect_text("{{ 'abcdefghi'|truncate(4, true, '..', 5) }}", "abcdefghi");
    expect_text("{{ range(0, 10, 3) }}{{ range(5, 3) }}", "range(0, 10, 3)range(5, 3)");
    expect_text("{{ range(0, 10, 3)[1:] }}{{ range(10)[::-1] }}",
                "range(3, 12, 3)range(9, -1, -1)");
    expect_text("{{ range(9223372036854775800, 9223372036854775807, 5) }}",
                "range(9223372036854775800, 9223372036854775807, 5)");
    expect_code("{{ range(9223372036854775800, 9223372036854775807, 5)[1:] }}",
                TINKC_E_LIMIT);
}

/* Names "a<from>" and on, between commas. */
static void put_names(tk_buf *out, size_t from, size_t n)
{
    for (size_t i = from; i < from + n; i++) {
        tk_buf_printf(out, "%sa%zu", i > from ? "," : "", i);
    }
}

static void repeat(tk_buf *buf, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        tk_buf_puts(buf, text);
    }
}

/* Depth of the source, and its size. */
static void test_jinja_deep_source(void **unused)
{
    static const struct {
        const char *before, *repeated, *after;
        size_t n;
        tinkc_code wanted;
    } rows[] = {
        {"{{ ", "(", "", 100000, TINKC_E_LIMIT},
        {"{{ ", "[", "", 200, TINKC_E_LIMIT},
        {"{{ ", "not ", "x }}", 5000, TINKC_E_LIMIT},
        {"{{ ", "-", "1 }}", 5000, TINKC_E_LIMIT},
        {"", "{% if x %}", "", 5000, TINKC_E_LIMIT},
        {"{{ 1", " + 1", " }}", 50000, TINKC_E_LIMIT},
        {"{{ x", "|upper", " }}", 50000, TINKC_E_LIMIT},
        {"{{ x", ".y", " }}", 50000, TINKC_E_LIMIT},
        {"{{ x", " if x else x", " }}", 50000, TINKC_E_LIMIT},
        {"{{ x }}", "{# #}", "", 450000, TINKC_E_LIMIT},
        {"{% macro m() %}{{ 1", " + 1", " }}{% endmacro %}", 50000, TINKC_E_LIMIT},
        {"{% macro m() %}{% if x %}", "{%elif x%}", "{% endif %}{% endmacro %}", 100000,
         TINKC_OK},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_buf source;
        tk_buf_init(&source, 8 * TK_MIB);
        tk_buf_puts(&source, rows[i].before);
        repeat(&source, rows[i].repeated, rows[i].n);
        tk_buf_puts(&source, rows[i].after);
        expect_code(tk_buf_cstr(&source), rows[i].wanted);
        tk_buf_dispose(&source);
    }
    tk_jinja *tpl = NULL;
    assert_int_equal(tk_jinja_parse(&tpl, TK_STR("a\xff"), NULL), TINKC_E_PARSE);
}

/* Names are searched for one by one, scope by scope: a template with many of them pays
 * for it. */
static void test_jinja_many_names(void **unused)
{
    enum { SCOPES = 60, NAMES = 1000 };
    tk_buf source;
    tk_buf_init(&source, 4 * TK_MIB);
    for (size_t i = 0; i < SCOPES; i++) { /* searched while it is parsed */
        tk_buf_puts(&source, "{% for x in [");
        put_names(&source, i * NAMES, NAMES);
        tk_buf_puts(&source, "] %}");
    }
    repeat(&source, "{{a0}}", 10000);
    repeat(&source, "{% endfor %}", SCOPES);
    expect_code(tk_buf_cstr(&source), TINKC_E_LIMIT);
    tk_buf_clear(&source); /* searched when it runs */
    tk_buf_puts(&source, "{% set ");
    put_names(&source, 0, NAMES);
    tk_buf_puts(&source,
                " = range(1000) %}{% for i in range(20000) %}{{ z }}{% endfor %}");
    expect_code(tk_buf_cstr(&source), TINKC_E_LIMIT);
    tk_buf_clear(&source); /* compared with the arguments of a call */
    tk_buf_puts(&source, "{% macro m(");
    put_names(&source, 0, NAMES);
    tk_buf_puts(&source, ") %}{{ kwargs.z }}{% endmacro %}{% set d = {} %}"
                         "{% for i in range(5000) %}{% set _ = d.update({i|string: 1}) %}"
                         "{% endfor %}{{ m(**d) }}");
    expect_code(tk_buf_cstr(&source), TINKC_E_LIMIT);
    tk_buf_dispose(&source);
}

/* What jinja2's sandbox refuses and real templates use. */
static void test_jinja_extensions(void **unused)
{
    expect_text(
        "{% set l = [] %}{% set _ = l.append(1) %}{% set _ = l.insert(0, 2) %}"
        "{% set _ = l.extend([3, 4]) %}{{ l.pop() }}{{ l }}{% set _ = l.reverse() %}"
        "{{ l }}",
        "4[2, 1, 3][3, 1, 2]");
    expect_text(
        "{% set d = {'a': 1} %}{% set _ = d.update({'b': 2}) %}{{ d.pop('a') }}{{ d }}"
        "{{ d.setdefault('c', 3) }}{{ d }}",
        "1{'b': 2}3{'b': 2, 'c': 3}");
    expect_text("{{ ('{\"a\": [1, 2.5, null]}'|from_json).a }}", "[1, 2.5, None]");
    expect_text("{{ '[1.0, 2]'|from_json|tojson }}", "[1.0, 2]");
    expect_code("{{ '{'|from_json }}", TINKC_E_INVALID);
    expect_code("{% include 'x' %}", TINKC_E_UNSUPPORTED);
    expect_code("{{ 'a b'|wordwrap(3) }}", TINKC_E_UNSUPPORTED);
    tk_err err = TK_ERR_INIT;
    tk_buf out;
    tk_buf_init(&out, TK_KIB);
    assert_int_equal(run("{% set l = [] %}{{ l.append(1) }}",
                         (tk_jinja_job){.strict = true}, &out, &err),
                     TINKC_E_INVALID);
    assert_string_equal(err.message,
                        "template line 1: access to attribute 'append' of 'list' "
                        "object is unsafe.");
}

static void test_jinja_error_lines(void **unused)
{
    tk_err err = TK_ERR_INIT;
    tk_buf out;
    tk_buf_init(&out, TK_KIB);
    tk_jinja_job job = {.n_vars = 0};
    assert_int_equal(run("a\n{% if true %}\n {{ raise_exception('why') }}{% endif %}",
                         job, &out, &err),
                     TINKC_E_INVALID);
    assert_string_equal(err.message, "template line 3: why");
    tk_err_clear(&err);
    assert_int_equal(run("a\n\n{{ 'x' }}\n{{ a b }}", job, &out, &err), TINKC_E_PARSE);
    assert_non_null(strstr(err.message, "line 4"));
    tk_err_clear(&err);
    assert_int_equal(run("{% macro m(x) %}\n{{ x.y.z }}\n{% endmacro %}\n\n{{ m(1) }}",
                         job, &out, &err),
                     TINKC_E_INVALID);
    assert_string_equal(err.message,
                        "template line 2: 'int object' has no attribute 'y'");
    tk_buf_dispose(&out);
}

/* Growing one string in place must not change what was taken from it before. */
static void test_jinja_strings_are_values(void **unused)
{
    expect_text(
        "{% set a = 'x' + 'y' %}{% set b = a + '1' %}{% set c = a + '2' %}"
        "{% set d = b + '3' %}{% set e = b ~ b %}{{ a }} {{ b }} {{ c }} {{ d }} {{ e }}",
        "xy xy1 xy2 xy13 xy1xy1");
}

static void test_jinja_generation_spans(void **unused)
{
    tk_buf out, spans;
    tk_buf_init(&out, TK_KIB);
    tk_buf_init(&spans, TK_KIB);
    tk_buf_puts(&out, "12345");
    tk_err err = TK_ERR_INIT;
    tk_jinja_job job = {.spans = &spans};
    assert_int_equal(run("ab{% generation %}cd{% endgeneration %}e{% for i in [1, 2] %}"
                         "{% generation %}{{ i }}{% endgeneration %}-{% endfor %}",
                         job, &out, &err),
                     TINKC_OK);
    assert_true(tk_str_is(tk_buf_str(&out), "12345abcde1-2-"));
    const tk_jinja_span want[] = {{2, 4}, {5, 6}, {7, 8}};
    assert_int_equal(spans.n, sizeof(want));
    assert_memory_equal(spans.p, want, sizeof(want));
    tk_buf_dispose(&out);
    tk_buf_dispose(&spans);
}

static bool whole_render(void *user)
{
    static const char source[] =
        "{% macro m(x, y=1) %}{{ x }}{{ y }}{% endmacro %}{% set ns = namespace(s='') %}"
        "{% for i in [3, 1, 2]|sort %}{% set ns.s = ns.s ~ m(i) %}{% endfor %}{{ ns.s }}"
        "{% set b %}{{ 'a,b'.split(',')|join('-')|upper }}{% endset %}{{ b }}"
        "{{ {'a': [1, 'é']}|tojson(indent=2) }}{% generation %}{{ '%d' % 5 }}{% endgeneration %}"
        "{% if ns.s %}{% set q = 1 %}{% else %}{% set q = 2 %}{% endif %}{{ q }}"
        "{{ [{'k': 1}]|selectattr('k', 'equalto', 1)|map(attribute='k')|list }}";
    tk_buf out, spans;
    tk_err err = TK_ERR_INIT;
    tk_buf_init(&out, TK_MIB);
    tk_buf_init(&spans, TK_MIB);
    tinkc_code code = run(source, (tk_jinja_job){.spans = &spans}, &out, &err);
    bool ok = code == TINKC_OK;
    if (ok) {
        ok = tk_str_is(tk_buf_str(&out),
                       "112131A-B{\n  \"a\": [\n    1,\n    \"é\"\n  ]\n}51[1]");
        assert_true(ok);
    } else {
        assert_int_equal(code, TINKC_E_NOMEM);
    }
    tk_buf_dispose(&out);
    tk_buf_dispose(&spans);
    return ok;
}

static void test_jinja_out_of_memory(void **unused)
{
    assert_true(failmem_sweep(whole_render, NULL, 1) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jinja_snippets),
        cmocka_unit_test(test_jinja_families),
        cmocka_unit_test(test_jinja_bounds),
        cmocka_unit_test(test_jinja_pays),
        cmocka_unit_test(test_jinja_number_edges),
        cmocka_unit_test(test_jinja_deep_source),
        cmocka_unit_test(test_jinja_many_names),
        cmocka_unit_test(test_jinja_extensions),
        cmocka_unit_test(test_jinja_error_lines),
        cmocka_unit_test(test_jinja_strings_are_values),
        cmocka_unit_test(test_jinja_generation_spans),
        cmocka_unit_test(test_jinja_out_of_memory),
    };
    return cmocka_run_group_tests_name("jinja", tests, NULL, NULL);
}
