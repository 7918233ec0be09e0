/* Templates and conversations below the public API: where a template comes from, what a
 * conversation takes, which variables a template sees, where a continued text ends. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "support/failmem.h"
#include "support/test.h"
#include "text/chat/chat.h"

static const char chatml[] = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>\n"
                             "{% endfor %}{% if add_generation_prompt %}<assistant>"
                             "{% endif %}";

static void check_render(const tk_chat_template *tpl, const tk_chat *chat,
                         tk_chat_how how, const char *wanted)
{
    tk_err err = TK_ERR_INIT;
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    tk_buf_puts(&out, "-");
    if (tk_chat_render(&out, tpl, chat, &how, &err) != TINKC_OK) {
        fail_msg("%s", err.message);
    }
    tk_str got = {out.p + 1, out.n - 1};
    if (!tk_str_is(got, wanted)) {
        fail_msg("%.*s instead of %s", (int)got.n, got.p, wanted);
    }
    tk_buf_dispose(&out);
}

static tk_chat_template *open_source(const char *source)
{
    tk_chat_template *tpl = NULL;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_chat_template_new(&tpl, tk_str_of(source), &err), TINKC_OK);
    return tpl;
}

static tk_chat open_chat(const char *json)
{
    tk_chat chat;
    tk_err err = TK_ERR_INIT;
    tk_chat_init(&chat);
    if (tk_chat_add_json(&chat, tk_str_of(json), &err) != TINKC_OK) {
        fail_msg("%s", err.message);
    }
    return chat;
}

/* ---- conversations ---- */

static void test_chat_template_adds(void **unused)
{
    tk_chat chat;
    tk_err err = TK_ERR_INIT;
    tk_chat_template *tpl = open_source(chatml);
    tk_chat_init(&chat);
    check_render(tpl, &chat, (tk_chat_how){.strict = true}, "");
    assert_int_equal(tk_chat_add(&chat, TK_STR("user"), TK_STR("a\"b"), &err), TINKC_OK);
    assert_int_equal(tk_chat_add_json(&chat, TK_STR("{\"role\":\"x\"}"), &err), TINKC_OK);
    assert_int_equal(
        tk_chat_add_json(&chat, TK_STR("[{\"role\":\"y\",\"content\":\"c\"},{}]"), &err),
        TINKC_OK);
    assert_int_equal(chat.n, 4);
    assert_true(tk_str_is(tk_chat_role(&chat, 0), "user"));
    assert_true(tk_str_is(tk_chat_role(&chat, 3), ""));
    check_render(tpl, &chat, (tk_chat_how){.strict = true},
                 "<user>a\"b</>\n<x></>\n<y>c</>\n<></>\n");
    for (size_t i = 0; i < 40; i++) { /* more than there was room for */
        assert_int_equal(tk_chat_add(&chat, TK_STR("u"), TK_STR(""), &err), TINKC_OK);
    }
    assert_int_equal(chat.n, 44);
    assert_true(tk_str_is(tk_chat_role(&chat, 2), "y"));
    tk_chat_dispose(&chat);
    tk_chat_template_free(tpl);
}

/* Variables of a document; the last value of a name counts; messages are not one. */
static void test_chat_template_variables(void **unused)
{
    tk_err err = TK_ERR_INIT;
    tk_chat chat = open_chat("{\"messages\":[{\"role\":\"u\",\"content\":\"c\"}],\"a\":1,"
                             "\"b\":[2],\"a\":3}");
    tk_chat_template *tpl = open_source(
        "{{ a }}{{ b }}{{ c }}{{ messages|length }}{{ add_generation_prompt }}");
    check_render(tpl, &chat, (tk_chat_how){.strict = true}, "3[2]1False");
    assert_int_equal(tk_chat_set(&chat, TK_STR("c"), TK_STR("\"x\""), &err), TINKC_OK);
    assert_int_equal(tk_chat_set(&chat, TK_STR("b"), TK_STR("null"), &err), TINKC_OK);
    check_render(tpl, &chat, (tk_chat_how){.add_generation_prompt = true}, "3Nonex1True");
    assert_int_equal(
        tk_chat_set(&chat, TK_STR("add_generation_prompt"), TK_STR("5"), &err), TINKC_OK);
    check_render(tpl, &chat, (tk_chat_how){.add_generation_prompt = true}, "3Nonex15");
    tk_chat_dispose(&chat);
    tk_chat_template_free(tpl);
}

static void test_chat_template_refuses(void **unused)
{
    static const struct {
        const char *json;
        tinkc_code code;
        const char *text;
    } rows[] = {
        {"5", TINKC_E_DECODE, "a conversation is not a "},
        {"\"a\"", TINKC_E_DECODE, "a conversation is not a string"},
        {"[1]", TINKC_E_DECODE, "message 0 is not an object"},
        {"[{},[]]", TINKC_E_DECODE, "message 1 is not an object"},
        {"{\"messages\":{}}", TINKC_E_DECODE, "messages is not an array"},
        {"{\"messages\":[null]}", TINKC_E_DECODE, "message 0 is not an object"},
        {"{", TINKC_E_PARSE, ""},
        {"", TINKC_E_PARSE, ""},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_err err = TK_ERR_INIT;
        tk_chat chat = open_chat("[{\"role\":\"u\"}]");
        assert_int_equal(tk_chat_add_json(&chat, tk_str_of(rows[i].json), &err),
                         rows[i].code);
        assert_true(strncmp(err.message, rows[i].text, strlen(rows[i].text)) == 0);
        assert_int_equal(chat.n, 1);
        assert_int_equal(chat.n_vars, 0);
        tk_chat_dispose(&chat);
    }
    tk_err err = TK_ERR_INIT;
    tk_chat chat = open_chat("[]");
    assert_int_equal(tk_chat_set(&chat, TK_STR("a"), TK_STR("x"), &err), TINKC_E_PARSE);
    assert_int_equal(chat.n_vars, 0);
    tk_chat_dispose(&chat);
    tk_chat_template *tpl = NULL;
    assert_int_equal(tk_chat_template_new(&tpl, TK_STR("{% if %}"), &err), TINKC_E_PARSE);
    assert_null(tpl);
}

/* ---- templates ---- */

static tk_tok_config parse_config(const char *json, const char *jinja)
{
    tk_tok_config config;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(
        tk_tok_config_parse(&config, tk_str_of(json), tk_str_of(jinja), &err), TINKC_OK);
    return config;
}

/* Special tokens are variables; tool_use is taken for conversations with tools, unless a
 * template was asked for by name. */
static void test_chat_template_of_config(void **unused)
{
    tk_tok_config config = parse_config(
        "{\"bos_token\":\"<s>\",\"chat_template\":[{\"name\":\"default\",\"template\":"
        "\"d{{ bos_token }}{{ eos_token }}\"},{\"name\":\"tool_use\",\"template\":"
        "\"t{{ tools|length }}{% generation %}{% endgeneration %}\"}]}",
        NULL);
    tk_chat plain = open_chat("[]"), none = open_chat("{\"messages\":[],\"tools\":null}");
    tk_chat tools = open_chat("{\"messages\":[],\"tools\":[1,2]}");
    tk_err err = TK_ERR_INIT;
    tk_chat_template *tpl = NULL;
    tk_chat_how how = {.strict = true};
    assert_int_equal(tk_chat_template_of(&tpl, &config, NULL, &err), TINKC_OK);
    check_render(tpl, &plain, how, "d<s>");
    check_render(tpl, &none, how, "d<s>");
    check_render(tpl, &tools, how, "t2");
    assert_false(tk_chat_template_is_marked(tpl, &plain));
    assert_true(tk_chat_template_is_marked(tpl, &tools));
    tk_chat_template_free(tpl);
    assert_int_equal(tk_chat_template_of(&tpl, &config, "default", &err), TINKC_OK);
    check_render(tpl, &tools, how, "d<s>");
    tk_chat_template_free(tpl);
    assert_int_equal(tk_chat_template_of(&tpl, &config, "other", &err), TINKC_E_MISSING);
    assert_string_equal(err.message, "there is no chat template 'other'");
    tk_tok_config_dispose(&config);
    tk_chat_dispose(&plain);
    tk_chat_dispose(&none);
    tk_chat_dispose(&tools);
}

/* A variable of the conversation wins over a special token. */
static void test_chat_template_precedence(void **unused)
{
    tk_tok_config config = parse_config("{\"bos_token\":\"<s>\"}", "{{ bos_token }}");
    tk_chat chat = open_chat("{\"messages\":[],\"bos_token\":\"mine\"}");
    tk_chat_template *tpl = NULL;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_chat_template_of(&tpl, &config, NULL, &err), TINKC_OK);
    tk_tok_config_dispose(&config); /* it was copied */
    check_render(tpl, &chat, (tk_chat_how){.strict = true}, "mine");
    tk_chat_template_free(tpl);
    tk_chat_dispose(&chat);
}

static void put_file(const char *dir, const char *name, const char *text)
{
    char *path = tk_file_join(dir, name);
    tk_err err = TK_ERR_INIT;
    assert_non_null(path);
    assert_int_equal(tk_file_replace(path, text, strlen(text), 0600, &err), TINKC_OK);
    tk_free(path);
}

static tinkc_code load(tk_chat_template **out, const char *dir, const char *name)
{
    char *path = name != NULL ? tk_file_join(dir, name) : tk_strdup(dir);
    tk_err err = TK_ERR_INIT;
    assert_non_null(path);
    tinkc_code code = tk_chat_template_load(out, path, NULL, &err);
    tk_free(path);
    return code;
}

/* A *.jinja, a config, a directory with one or both: the file beats the config. */
static void test_chat_template_files(void **unused)
{
    char dir[] = "/tmp/test_chat_template.XXXXXX";
    tk_chat chat = open_chat("[]");
    tk_chat_template *tpl = NULL;
    tk_chat_how how = {.strict = true};
    static const char *const names[] = {"chat_template.jinja", "tokenizer_config.json"};
    assert_non_null(mkdtemp(dir));
    assert_int_equal(load(&tpl, dir, NULL), TINKC_E_MISSING);
    put_file(dir, names[1],
             "{\"bos_token\":\"B\",\"chat_template\":\"config{{bos_token}}\"}");
    assert_int_equal(load(&tpl, dir, NULL), TINKC_OK);
    check_render(tpl, &chat, how, "configB");
    tk_chat_template_free(tpl);
    put_file(dir, names[0], "file{{ bos_token }}");
    assert_int_equal(load(&tpl, dir, NULL), TINKC_OK);
    check_render(tpl, &chat, how, "fileB");
    tk_chat_template_free(tpl);
    assert_int_equal(load(&tpl, dir, names[0]), TINKC_OK);
    check_render(tpl, &chat, how, "file");
    tk_chat_template_free(tpl);
    assert_int_equal(load(&tpl, dir, names[1]), TINKC_OK);
    check_render(tpl, &chat, how, "configB");
    tk_chat_template_free(tpl);
    put_file(dir, names[1], "{");
    assert_int_equal(load(&tpl, dir, NULL), TINKC_E_PARSE);
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        char *path = tk_file_join(dir, names[i]);
        (void)unlink(path);
        tk_free(path);
    }
    assert_int_equal(load(&tpl, dir, names[0]), TINKC_E_MISSING);
    assert_int_equal(rmdir(dir), 0);
    tk_chat_dispose(&chat);
}

/* ---- a text that is continued ---- */

static void test_chat_template_continues(void **unused)
{
    static const struct {
        const char *source, *json, *wanted; /* NULL: refused */
        tinkc_code code;
    } rows[] = {
        {chatml, "[{\"role\":\"assistant\",\"content\":\"Hel\"}]", "<assistant>Hel",
         TINKC_OK},
        {chatml,
         "[{\"role\":\"u\",\"content\":\"x\"},{\"role\":\"a\",\"content\":\"x\"}]",
         "<u>x</>\n<a>x", TINKC_OK},
        {chatml, "[{\"role\":\"a\",\"content\":\" x \"}]", "<a> x ", TINKC_OK},
        {"[{{ messages[0].content|trim }}]", "[{\"content\":\" x \"}]", "[x", TINKC_OK},
        {"{% for p in messages[0].content %}{{ p.text }};{% endfor %}",
         "[{\"content\":[{\"text\":\"a\"},{\"text\":\"b\"}]}]", "a;b", TINKC_OK},
        {chatml, "[]", NULL, TINKC_E_INVALID},
        {chatml, "[{\"role\":\"a\"}]", NULL, TINKC_E_INVALID},
        {"{{ messages[0].content|upper }}", "[{\"content\":\"x\"}]", NULL,
         TINKC_E_UNSUPPORTED},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_chat_template *tpl = open_source(rows[i].source);
        tk_chat chat = open_chat(rows[i].json);
        tk_chat_how how = {.continue_final = true};
        tk_err err = TK_ERR_INIT;
        tk_buf out;
        tk_buf_init(&out, TK_MIB);
        tk_buf_puts(&out, "kept");
        assert_int_equal(tk_chat_render(&out, tpl, &chat, &how, &err), rows[i].code);
        tk_str got = {out.p + 4, out.n - 4};
        assert_true(tk_str_is(got, rows[i].wanted != NULL ? rows[i].wanted : ""));
        how.add_generation_prompt = true;
        assert_int_equal(tk_chat_render(&out, tpl, &chat, &how, &err), TINKC_E_INVALID);
        tk_buf_dispose(&out);
        tk_chat_dispose(&chat);
        tk_chat_template_free(tpl);
    }
}

/* What jinja2's sandbox refuses works unless the render is strict; the clock is given. */
static void test_chat_template_how(void **unused)
{
    tk_chat chat = open_chat("[]");
    tk_chat_template *tpl = open_source("{% set l = [] %}{% set _ = l.append(1) %}{{ l }}"
                                        "{{ strftime_now('%Y') }}");
    tk_chat_how how = {.has_now = true, .now_us = 86400000000};
    check_render(tpl, &chat, how, "[1]1970");
    tk_err err = TK_ERR_INIT;
    tk_buf out;
    tk_buf_init(&out, TK_KIB);
    how.strict = true;
    assert_int_equal(tk_chat_render(&out, tpl, &chat, &how, &err), TINKC_E_INVALID);
    assert_int_equal(out.n, 0);
    tk_buf_dispose(&out);
    tk_chat_template_free(tpl);
    tk_chat_dispose(&chat);
}

static bool whole_way(void *user)
{
    tk_err err = TK_ERR_INIT;
    tk_chat chat;
    tk_chat_template *tpl = NULL;
    tk_tok_config config = {.n_specials = 0};
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    tk_chat_init(&chat);
    tinkc_code code = tk_tok_config_parse(
        &config, TK_STR("{\"bos_token\":\"<s>\"}"),
        TK_STR("{{ bos_token }}{{ messages[0].content }}{{ t }}"), &err);
    if (code == TINKC_OK) {
        code = tk_chat_template_of(&tpl, &config, NULL, &err);
        tk_tok_config_dispose(&config);
    }
    if (code == TINKC_OK) {
        code = tk_chat_add(&chat, TK_STR("user"), TK_STR("hi"), &err);
    }
    if (code == TINKC_OK) {
        code = tk_chat_add_json(&chat, TK_STR("{\"messages\":[{}],\"t\":1}"), &err);
    }
    if (code == TINKC_OK) {
        code = tk_chat_set(&chat, TK_STR("t"), TK_STR("2"), &err);
    }
    if (code == TINKC_OK) {
        tk_chat_how how = {.strict = true};
        code = tk_chat_render(&out, tpl, &chat, &how, &err);
    }
    if (code == TINKC_OK) {
        assert_true(tk_str_is(tk_buf_str(&out), "<s>hi2"));
    }
    tk_buf_dispose(&out);
    tk_chat_dispose(&chat);
    tk_chat_template_free(tpl);
    return code == TINKC_OK;
}

static void test_chat_template_out_of_memory(void **unused)
{
    assert_true(failmem_sweep(whole_way, NULL, 1) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chat_template_adds),
        cmocka_unit_test(test_chat_template_variables),
        cmocka_unit_test(test_chat_template_refuses),
        cmocka_unit_test(test_chat_template_of_config),
        cmocka_unit_test(test_chat_template_precedence),
        cmocka_unit_test(test_chat_template_files),
        cmocka_unit_test(test_chat_template_continues),
        cmocka_unit_test(test_chat_template_how),
        cmocka_unit_test(test_chat_template_out_of_memory),
    };
    return cmocka_run_group_tests_name("chat_template", tests, NULL, NULL);
}
