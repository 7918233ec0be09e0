/* Answers of every family, taken apart: as their documents and templates have them, cut at
 * every byte, and with every byte deleted, doubled and swapped. */
#include "support/ca_answers.h"
#include "support/cafix.h"
#include "support/failmem.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

static ca_parser_config config_of(const char *format)
{
    ca_parser_config config = {.look_for_calls = strchr(format, '?') == NULL,
                               .starts_thinking = strchr(format, '!') != NULL};
    size_t n = strcspn(format, "!?");
    assert_true(ca_format_named(&config.format, (tk_str){format, n}));
    bool is_mistral = config.format.tools == CA_TOOLS_MISTRAL;
    config.format.think_open = is_mistral ? TK_STR("[THINK]") : TK_STR("<think>");
    config.format.think_close = is_mistral ? TK_STR("[/THINK]") : TK_STR("</think>");
    return config;
}

static void check_row(const answer *row)
{
    ca_parser_config config = config_of(row->format);
    tk_str script = tk_str_of(row->script);
    bool malformed = false;
    cafix whole;
    const char *wrong = cafix_run(&whole, &config, script, CAFIX_WHOLE, &malformed);
    if (wrong != NULL || !tk_str_is(tk_buf_str(&whole.text), row->text) ||
        !tk_str_is(tk_buf_str(&whole.reasoning), row->reasoning) ||
        !tk_str_is(tk_buf_str(&whole.calls), row->calls) ||
        malformed != row->is_malformed) {
        fail_msg("%s %s: %s\ntext [" TK_STR_FMT "] reasoning [" TK_STR_FMT
                 "] calls [" TK_STR_FMT "] malformed %d",
                 row->format, row->script, wrong != NULL ? wrong : "",
                 TK_STR_ARG(tk_buf_str(&whole.text)),
                 TK_STR_ARG(tk_buf_str(&whole.reasoning)),
                 TK_STR_ARG(tk_buf_str(&whole.calls)), malformed);
    }
    for (size_t cut = 1; cut <= script.n && wrong == NULL; cut++) {
        wrong = cafix_same(&whole, &config, script, cut < script.n ? cut : CAFIX_BYTES);
        if (wrong != NULL) {
            fail_msg("%s %s, cut at %zu: %s", row->format, row->script, cut, wrong);
        }
    }
    cafix_dispose(&whole);
}

/* G-014 */
static void test_parser_rows(void **unused)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        check_row(&rows[i]);
    }
}

/* Runs a script that may be broken: whole, in bytes and in the middle. */
static void check_broken(const char *format, tk_str script)
{
    ca_parser_config config = config_of(format);
    const size_t cuts[] = {CAFIX_BYTES, script.n / 2};
    bool malformed = false;
    cafix whole;
    const char *wrong = cafix_run(&whole, &config, script, CAFIX_WHOLE, &malformed);
    for (size_t i = 0; i < TK_ARRAY_LEN(cuts) && wrong == NULL; i++) {
        wrong = cafix_same(&whole, &config, script, cuts[i]);
    }
    if (wrong != NULL) {
        fail_msg("%s " TK_STR_FMT ": %s", format, TK_STR_ARG(script), wrong);
    }
    cafix_dispose(&whole);
}

/* Every byte of every answer deleted, doubled, swapped with the next one. */
static void test_parser_broken_bytes(void **unused)
{
    char text[2048];
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        const char *s = rows[i].script;
        size_t n = strlen(s);
        assert_true(n + 2 < sizeof(text));
        for (size_t at = 0; at < n; at++) {
            memcpy(text, s, at);
            memcpy(text + at, s + at + 1, n - at - 1);
            check_broken(rows[i].format, (tk_str){text, n - 1});
            memcpy(text, s, n);
            memmove(text + at + 1, s + at, n - at);
            check_broken(rows[i].format, (tk_str){text, n + 1});
            memcpy(text, s, n);
            text[at] = s[TK_MIN(at + 1, n - 1)];
            text[TK_MIN(at + 1, n - 1)] = s[at];
            check_broken(rows[i].format, (tk_str){text, n});
        }
    }
}

/* Every piece of a marker deleted, doubled, and put in front: pieces end at '<', '[', '{'
 * and '>'. */
static void test_parser_broken_markers(void **unused)
{
    char text[4096];
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        const char *s = rows[i].script;
        size_t n = strlen(s);
        for (size_t from = 0; from < n;) {
            size_t end = from + 1 + strcspn(s + from + 1, "<>[{");
            size_t piece = end - from;
            memcpy(text, s, from);
            memcpy(text + from, s + end, n - end);
            check_broken(rows[i].format, (tk_str){text, n - piece});
            memcpy(text, s, end);
            memcpy(text + end, s + from, n - from);
            check_broken(rows[i].format, (tk_str){text, n + piece});
            memcpy(text, s + from, piece);
            memcpy(text + piece, s, n);
            check_broken(rows[i].format, (tk_str){text, n + piece});
            from = end;
        }
    }
}

/* One family reads the answers of all others. */
static void test_parser_other_families(void **unused)
{
    static const char *const formats[] = {"none",     "hermes",   "qwen-coder", "llama3",
                                          "mistral",  "deepseek", "kimi",       "glm",
                                          "harmony!", "hermes?",  "harmony?"};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        for (size_t k = 0; k < TK_ARRAY_LEN(formats); k++) {
            check_broken(formats[k], tk_str_of(rows[i].script));
        }
    }
}

/* ---- types ---- */

static const char tools[] =
    "[{\"type\": \"function\", \"function\": {\"name\": \"f\", \"parameters\": {\"type\": "
    "\"object\", \"properties\": {\"s\": {\"type\": \"string\"}, \"i\": {\"type\": \"integer\"}, "
    "\"n\": {\"type\": \"number\"}, \"b\": {\"type\": \"boolean\"}, \"o\": {\"type\": \"object\"}, "
    "\"l\": {\"type\": \"array\"}, \"u\": {\"type\": [\"string\", \"null\"]}, \"a\": {\"anyOf\": "
    "[{\"type\": \"integer\"}, {\"type\": \"string\"}]}, \"e\": {\"enum\": [1, 2]}, \"x\": {}}}}}, "
    "{\"name\": \"g\", \"parameters\": {\"properties\": {\"i\": {\"type\": \"integer\"}}}}]";

static const struct {
    const char *tool, *key, *value, *wanted;
} types[] = {
    {"f", "s", "1", "\"1\""},
    {"f", "s", "null", "\"null\""},
    {"f", "i", "1", "1"},
    {"f", "i", "-12345678901234567890", "\"-12345678901234567890\""},
    {"f", "i", "1.5", "\"1.5\""},
    {"f", "i", "one", "\"one\""},
    {"f", "n", "1.5", "1.5"},
    {"f", "n", "2", "2"},
    {"f", "n", "NaN", "\"NaN\""},
    {"f", "b", "True", "true"},
    {"f", "b", "false", "false"},
    {"f", "b", "1", "\"1\""},
    {"f", "o", "{\"a\": [1, 2]}", "{\"a\":[1,2]}"},
    {"f", "o", "[1]", "\"[1]\""},
    {"f", "o", "{'a': 1}", "\"{'a': 1}\""},
    {"f", "l", "[1, \"x\"]", "[1,\"x\"]"},
    {"f", "u", "null", "null"},
    {"f", "u", "\"x\"", "\"\\\"x\\\"\""},
    {"f", "a", "3", "3"},
    {"f", "a", "three", "\"three\""},
    {"f", "e", "2", "2"},
    {"f", "x", "2", "\"2\""},
    {"f", "unknown", "2", "\"2\""},
    {"g", "i", "2", "2"},
    {"h", "i", "2", "\"2\""},
};

static void check_type(const ca_parser_config *config, size_t i, const char *script)
{
    char wanted[512];
    bool malformed = false;
    cafix fix;
    snprintf(wanted, sizeof(wanted), "%s {\"%s\":%s}\n", types[i].tool, types[i].key,
             types[i].wanted);
    assert_null(cafix_run(&fix, config, tk_str_of(script), CAFIX_WHOLE, &malformed));
    tk_buf_putc(&fix.calls, '\0');
    assert_string_equal(fix.calls.p, wanted);
    cafix_dispose(&fix);
}

/* Values that are written as text get the type of the tool's schema. */
static void test_parser_types(void **unused)
{
    tk_arena arena;
    tk_arena_init(&arena, 0);
    ca_parser_config coder = config_of("qwen-coder"), glm = config_of("glm");
    assert_int_equal(
        tk_json_parse(&coder.tools, &arena, tools, sizeof(tools) - 1, NULL, NULL),
        TINKC_OK);
    glm.tools = coder.tools;
    for (size_t i = 0; i < TK_ARRAY_LEN(types); i++) {
        char script[512];
        snprintf(script, sizeof(script),
                 "<tool_call>\n<function=%s>\n<parameter=%s>\n%s\n</parameter>\n"
                 "</function>\n</tool_call>",
                 types[i].tool, types[i].key, types[i].value);
        check_type(&coder, i, script);
        snprintf(script, sizeof(script),
                 "<tool_call>%s\n<arg_key>%s</arg_key>\n<arg_value>%s</arg_value>\n"
                 "</tool_call>",
                 types[i].tool, types[i].key, types[i].value);
        check_type(&glm, i, script);
    }
    tk_arena_dispose(&arena);
}

/* ---- as early as possible ---- */

/* G-014 */
static void test_parser_streams(void **unused)
{
    static const struct {
        const char *piece, *text; /* all text after it */
        size_t n_calls;
    } steps[] = {
        {"Hel", "Hel", 0},
        {"lo <", "Hello", 0},
        {"b", "Hello <b", 0},
        {"\xc3", "Hello <b", 0},
        {"\xbc <tool_ca", "Hello <bü", 0},
        {"ll>{\"name\": \"f\", \"arguments\": {}}</tool_", "Hello <bü", 0},
        {"call>", "Hello <bü", 1},
        {"\n", "Hello <bü", 1},
        {"x", "Hello <bü\nx", 1},
    };
    ca_parser_config config = config_of("hermes");
    ca_parser *parser = NULL;
    assert_int_equal(ca_parser_new(&parser, &config, NULL), TINKC_OK);
    for (size_t i = 0; i < TK_ARRAY_LEN(steps); i++) {
        assert_int_equal(ca_parser_feed(parser, tk_str_of(steps[i].piece), false, NULL),
                         TINKC_OK);
        const ca_output *output = ca_parser_output(parser);
        assert_true(tk_str_is(tk_buf_str(&output->text), steps[i].text));
        assert_int_equal(output->n_calls, steps[i].n_calls);
    }
    ca_parser_free(parser);
}

static void count_event(const ca_event *event, void *user)
{
    (*(size_t *)user)++;
}

/* One piece gives one event for each run of text, of reasoning, and for each call. */
static void test_parser_events_are_few(void **unused)
{
    size_t n = 0;
    ca_parser_config config = config_of("hermes");
    ca_parser *parser = NULL;
    config.on_event = count_event;
    config.user = &n;
    assert_int_equal(ca_parser_new(&parser, &config, NULL), TINKC_OK);
    assert_int_equal(ca_parser_feed(parser,
                                    TK_STR("<think>a b c < d</think>e f g <h i" HERMES_F
                                           "j k l" HERMES_F),
                                    false, NULL),
                     TINKC_OK);
    assert_int_equal(n, 5);
    assert_int_equal(ca_parser_finish(parser, NULL), TINKC_OK);
    assert_int_equal(n, 5);
    ca_parser_free(parser);
}

/* ---- hostile amounts ---- */

static void repeat(tk_buf *out, const char *part, size_t n_bytes)
{
    tk_buf_init(out, 64 * TK_MIB);
    while (out->n < n_bytes) {
        tk_buf_puts(out, part);
    }
}

/* A megabyte of half markers takes no time to speak of: a parser that reads bytes twice
 * would not end here. */
static void test_parser_is_linear(void **unused)
{
    static const char *const formats[] = {"hermes",   "qwen-coder", "llama3", "mistral",
                                          "deepseek", "kimi",       "glm",    "harmony",
                                          "dsml",     "hermes!"};
    static const char *const parts[] = {"<tool_call",
                                        "<tool_call>",
                                        "<tool_call>{",
                                        "<",
                                        " ",
                                        "[TOOL_CALLS][",
                                        "[TOOL_CALLS]a",
                                        "<|channel|>",
                                        "<|start|>a<|message",
                                        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>x",
                                        "<tool_call><function=f><parameter=a></para",
                                        "<tool_call>f<arg_key>",
                                        "{\"name\": \"",
                                        "{",
                                        "<|tool_calls_section_begin|><|tool_call_begin|>",
                                        "<think>",
                                        "\xe2",
                                        "</think",
                                        "<tool_call>{\"a\":[[[[",
                                        HERMES_F};
    for (size_t i = 0; i < TK_ARRAY_LEN(parts); i++) {
        tk_buf text;
        repeat(&text, parts[i], TK_MIB);
        for (size_t k = 0; k < TK_ARRAY_LEN(formats); k++) {
            ca_parser_config config = config_of(formats[k]);
            ca_parser *parser = NULL;
            assert_int_equal(ca_parser_new(&parser, &config, NULL), TINKC_OK);
            for (size_t at = 0; at < text.n; at += 7) {
                tk_str piece = {text.p + at, TK_MIN((size_t)7, text.n - at)};
                assert_int_equal(ca_parser_feed(parser, piece, false, NULL), TINKC_OK);
            }
            assert_int_equal(ca_parser_finish(parser, NULL), TINKC_OK);
            ca_parser_free(parser);
        }
        tk_buf_dispose(&text);
    }
}

/* What may be a call is held up to a limit, then it is text; calls are counted. */
static void test_parser_limits(void **unused)
{
    ca_parser_config config = config_of("hermes");
    bool malformed = false;
    cafix fix;
    tk_buf text;
    tk_buf_init(&text, 64 * TK_MIB);
    tk_buf_puts(&text, "<tool_call>{\"name\": \"");
    while (text.n < TK_CA_HELD_BYTES + 100) {
        tk_buf_puts(&text, "abcdefgh");
    }
    tk_buf_puts(&text, HERMES_F);
    assert_null(cafix_run(&fix, &config, tk_buf_str(&text), CAFIX_WHOLE, &malformed));
    assert_true(malformed);
    assert_true(tk_str_is(tk_buf_str(&fix.calls), "f {\"a\": 1}\n"));
    assert_null(cafix_same(&fix, &config, tk_buf_str(&text), 1000));
    cafix_dispose(&fix);
    tk_buf_clear(&text);
    for (size_t i = 0; i < TK_CA_CALLS_MAX + 1; i++) {
        tk_buf_puts(&text, HERMES_F);
    }
    assert_null(cafix_run(&fix, &config, tk_buf_str(&text), CAFIX_WHOLE, &malformed));
    assert_true(malformed);
    assert_true(tk_str_is(tk_buf_str(&fix.text), HERMES_F));
    cafix_dispose(&fix);
    tk_buf_dispose(&text);
}

/* ---- prompts ---- */

static void test_parser_prompts(void **unused)
{
    static const struct {
        const char *prompt;
        bool thinks;
    } prompts[] = {
        {"<|im_start|>assistant\n<think>\n", true},
        {"<|im_start|>assistant\n<think>\nSo far", true},
        {"<|im_start|>assistant\n<think>\n\n</think>\n\n", false},
        {"<|im_start|>user\nWhat is <think>?<|im_end|>\n<|im_start|>assistant\n", false},
        {"<｜User｜>Hi<｜Assistant｜><think>", true},
        {"", false},
        {"<think", false},
    };
    ca_parser_config config = config_of("hermes");
    for (size_t i = 0; i < TK_ARRAY_LEN(prompts); i++) {
        assert_int_equal(
            ca_parser_prompt_thinks(&config.format, tk_str_of(prompts[i].prompt)),
            prompts[i].thinks);
    }
    assert_false(ca_parser_prompt_thinks(&(ca_format){0}, TK_STR("<think>")));
}

/* ---- memory ---- */

static bool play(const char *format, const char *script)
{
    ca_parser_config config = config_of(format);
    ca_parser *parser = NULL;
    bool is_done = ca_parser_new(&parser, &config, NULL) == TINKC_OK &&
                   ca_parser_feed(parser, tk_str_of(script), false, NULL) == TINKC_OK &&
                   ca_parser_finish(parser, NULL) == TINKC_OK;
    is_done = is_done && ca_parser_output(parser)->n_calls == 2;
    ca_parser_free(parser);
    return is_done;
}

static bool sweep(void *user)
{
    return play("hermes", "<think>r</think>t" HERMES_F HERMES_F) &&
           play("mistral",
                "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {}, \"id\": \"i\"}, "
                "{\"name\": \"g\", \"arguments\": {}}]") &&
           play(
               "dsml",
               "<｜DSML｜tool_calls><｜DSML｜invoke name=\"f\"><｜DSML｜parameter name=\"b\" "
               "string=\"false\">[1]</｜DSML｜parameter></｜DSML｜invoke><｜DSML｜invoke "
               "name=\"g\"></｜DSML｜invoke></｜DSML｜tool_calls>") &&
           play("qwen-coder",
                "<tool_call><function=f><parameter=a>1</parameter></function>"
                "</tool_call><tool_call><function=f></function></tool_call>");
}

static void test_parser_sweep(void **unused)
{
    failmem_sweep(sweep, NULL, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parser_rows),
        cmocka_unit_test(test_parser_broken_bytes),
        cmocka_unit_test(test_parser_broken_markers),
        cmocka_unit_test(test_parser_other_families),
        cmocka_unit_test(test_parser_types),
        cmocka_unit_test(test_parser_streams),
        cmocka_unit_test(test_parser_events_are_few),
        cmocka_unit_test(test_parser_is_linear),
        cmocka_unit_test(test_parser_limits),
        cmocka_unit_test(test_parser_prompts),
        cmocka_unit_test(test_parser_sweep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
