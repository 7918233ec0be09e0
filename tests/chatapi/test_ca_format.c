/* Families of templates, and the round trip: an answer is taken apart, the message that it
 * is goes through a template of its family, and the template writes the answer again. Real
 * templates: tests/interop/chatapi.sh. */
#include "chatapi/ca_parser.h"
#include "support/test.h"
#include "text/chat/chat.h"

#include <stdio.h>

/* Written for this test, after the grammars of src/chatapi/ca_parse_*.c. */
#define BEGIN                                                                            \
    "{% for m in messages %}{% if m.role != 'assistant' %}<u>{{ m.content }}</u>{% else %}"
#define END   "{% endif %}{% endfor %}"
#define EACH  "{% for c in m.tool_calls %}{% set f = c.function %}"
#define DONE  "{% endfor %}"
#define DS(x) "<｜tool▁" x "｜>"

#define HERMES                                                                                      \
    BEGIN                                                                                           \
    "{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n\n{% endif %}"       \
    "{{ m.content }}" EACH                                                                          \
    "{% if m.content or not loop.first %}{{ '\n' }}{% endif %}<tool_call>\n{\"name\": \"{{ f.name " \
    "}}\", \"arguments\": {{ f.arguments|tojson }}}\n</tool_call>" DONE END                         \
    "{% if add_generation_prompt %}{% if not enable_thinking %}<think>\n\n</think>{% endif %}"      \
    "{% endif %}"
#define CODER                                                                                     \
    BEGIN                                                                                         \
    "{{ m.content }}" EACH                                                                        \
    "\n<tool_call>\n<function={{ f.name }}>\n{% for k, v in f.arguments|items %}<parameter={{ k " \
    "}}>\n{{ v }}\n</parameter>\n{% endfor %}</function>\n</tool_call>" DONE END
#define LLAMA                                                                            \
    "{# <|start_header_id|>ipython #}" BEGIN "{{ m.content }}" EACH                      \
    "{\"name\": \"{{ f.name }}\", \"parameters\": {{ f.arguments|tojson }}}" DONE END
#define MISTRAL                                                                          \
    BEGIN "{{ m.content }}" EACH                                                         \
          "[TOOL_CALLS]{{ f.name }}[ARGS]{{ f.arguments|tojson }}" DONE END
#define MISTRAL_OLD                                                                      \
    BEGIN "{{ m.content }}{% if m.tool_calls %}[TOOL_CALLS][" EACH                       \
          "{{ f|tojson }}{{ ', ' if not loop.last }}" DONE "]{% endif %}" END
#define DEEPSEEK                                                                         \
    BEGIN "{{ m.content }}{% if m.tool_calls %}" DS("calls▁begin")                       \
        EACH DS("call▁begin") "function" DS(                                             \
            "sep") "{{ f.name }}\n```json\n{{ f.arguments|tojson }}\n```" DS("call▁end") \
            DONE DS("calls▁end") "{% endif %}" END                                       \
                                 "{% if add_generation_prompt %}<think>\n{% endif %}"
#define DEEPSEEK_31                                                                      \
    BEGIN "{{ m.content }}{% if m.tool_calls %}" DS("calls▁begin") EACH DS(              \
        "call▁begin") "{{ f.name }}" DS("sep") "{{ f.arguments|tojson }}" DS("call▁end") \
        DONE DS("calls▁end") "{% endif %}" END
#define KIMI                                                                                     \
    BEGIN                                                                                        \
    "{{ m.content }}{% if m.tool_calls %}<|tool_calls_section_begin|>" EACH                      \
    "<|tool_call_begin|>functions.{{ f.name }}:{{ loop.index0 }}<|tool_call_argument_begin|>{{ " \
    "f.arguments|tojson }}<|tool_call_end|>" DONE                                                \
    "<|tool_calls_section_end|>{% endif %}" END
#define GLM                                                                                      \
    BEGIN                                                                                        \
    "{{ m.content }}" EACH                                                                       \
    "\n<tool_call>{{ f.name }}\n{% for k, v in f.arguments|items %}<arg_key>{{ k }}</arg_key>\n" \
    "<arg_value>{{ v }}</arg_value>\n{% endfor %}</tool_call>" DONE END
#define HARMONY                                                                                   \
    BEGIN                                                                                         \
    "{% if m.reasoning_content %}<|channel|>analysis<|message|>{{ m.reasoning_content "           \
    "}}<|end|><|start|>assistant{% endif %}{% if m.content %}<|channel|>final<|message|>{{ "      \
    "m.content }}{% endif %}" EACH                                                                \
    "<|channel|>commentary to=functions.{{ f.name }} <|constrain|>json<|message|>{{ f.arguments|" \
    "tojson }}<|call|>" DONE END

#define DSML                                                                                             \
    BEGIN                                                                                                \
    "{{ m.content }}{% if m.tool_calls %}{{ '\n\n' }}<｜DSML｜tool_calls>\n" EACH                        \
    "<｜DSML｜invoke name=\"{{ f.name }}\">\n{% for k, v in f.arguments|items %}<｜DSML｜parameter " \
    "name=\"{{ k }}\" string=\"true\">{{ v }}</｜DSML｜parameter>\n{% endfor %}</｜DSML｜invoke>\n" DONE \
    "</｜DSML｜tool_calls>{% endif %}" END

#define T "tool_calls"

static const struct {
    const char *source, *name, *think;
    bool is_prompted;
} templates[] = {
    {HERMES, "hermes", "<think>", false},
    {CODER, "qwen-coder", "", false},
    {LLAMA, "llama3", "", false},
    {MISTRAL, "mistral", "", false},
    {MISTRAL_OLD, "mistral", "", false},
    {DEEPSEEK, "deepseek", "<think>", true},
    {DEEPSEEK_31, "deepseek", "", false},
    {KIMI, "kimi", "", false},
    {GLM, "glm", "", false},
    {HARMONY, "harmony", "<|channel|>analysis<|message|>", false},
    {DSML, "dsml", "", false},
    {"", "none", "", false},
    {"{{ messages }}", "none", "", false},
    {"[THINK]x[/THINK]{% if add_generation_prompt %}[THINK]{% endif %}", "none",
     "[THINK]", true},
    {"◁think▷{{ messages }}", "none", "◁think▷", true},
    {"{{ m.content.split('</think>')[-1] }}", "none", "<think>", false},
    {"{% if add_generation_prompt %}<think>\n\n</think>\n\n{% endif %}", "none",
     "<think>", false},
    {"{% if add_generation_prompt %}<think>\\n\\n</think>{% else %}<think>\\n{% endif %}",
     "none", "<think>", true},
    {"<tool_calls>[<tool_call> arguments] " T, "none", "", false},
    {"<tool_call><invoke name= arguments " T, "none", "", false},
    {"<｜DSML｜function_calls>", "none", "", false},
    {"<|header_start|>ipython \"parameters\": " T, "llama3", "", false},
    {"<|start_header_id|>ipython \"parameters\": <function= " T, "none", "", false},
};

static void test_format_detect(void **unused)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(templates); i++) {
        ca_format format = ca_format_detect(tk_str_of(templates[i].source));
        assert_string_equal(ca_format_name(format.tools), templates[i].name);
        assert_true(tk_str_is(format.think_open, templates[i].think));
        assert_int_equal(format.think_close.n > 0, format.think_open.n > 0);
        assert_int_equal(format.is_thinking_prompted, templates[i].is_prompted);
    }
}

/* Our own templates of tests/data/text. */
static void test_format_files(void **unused)
{
    static const struct {
        const char *file, *name, *think;
    } files[] = {
        {"brackets", "none", ""},        {"chatml", "none", ""}, {"headers", "none", ""},
        {"marked", "none", ""},          {"parts", "none", ""},  {"schema", "none", ""},
        {"thinking", "none", "<think>"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(files); i++) {
        char path[512], source[16384];
        snprintf(path, sizeof(path), TEST_DATA_DIR "/text/templates/%s.jinja",
                 files[i].file);
        FILE *f = fopen(path, "rb");
        assert_non_null(f);
        size_t n = fread(source, 1, sizeof(source), f);
        fclose(f);
        ca_format format = ca_format_detect((tk_str){source, n});
        assert_string_equal(ca_format_name(format.tools), files[i].name);
        assert_true(tk_str_is(format.think_open, files[i].think));
    }
}

static void test_format_named(void **unused)
{
    ca_format format = ca_format_detect(TK_STR(HERMES));
    char names[256];
    snprintf(names, sizeof(names), "%s", ca_format_names());
    size_t n = 0;
    for (tk_str rest = tk_str_of(names); rest.n > 0; n++) {
        tk_str name = tk_str_trim(tk_str_cut(&rest, ','));
        assert_true(ca_format_named(&format, name));
        assert_true(tk_str_is(name, ca_format_name(format.tools)));
        assert_true(tk_str_is(format.think_open, "<think>"));
    }
    assert_int_equal(n, CA_TOOLS_DSML + 1);
    assert_false(ca_format_named(&format, TK_STR("Hermes")));
    assert_false(ca_format_named(&format, TK_STR("")));
    assert_int_equal(format.tools, CA_TOOLS_DSML);
}

/* ---- the round trip ---- */

typedef struct kit {
    tk_chat_template *tpl;
    tk_chat chat;
    ca_format format;
} kit;

static void open_kit(kit *k, const char *source)
{
    tk_chat_init(&k->chat);
    k->format = ca_format_detect(tk_str_of(source));
    assert_int_equal(tk_chat_template_new(&k->tpl, tk_str_of(source), NULL), TINKC_OK);
    assert_int_equal(tk_chat_add(&k->chat, TK_STR("user"), TK_STR("Hi"), NULL), TINKC_OK);
}

static void close_kit(kit *k)
{
    tk_chat_template_free(k->tpl);
    tk_chat_dispose(&k->chat);
}

/* Adds the message, and renders what it is in the text. */
static void render_answer(tk_buf *out, kit *k, tk_str message)
{
    tk_buf before, after;
    tk_chat_how how = {.strict = true};
    tk_buf_init(&before, TK_MIB);
    tk_buf_init(&after, TK_MIB);
    tk_buf_init(out, TK_MIB);
    assert_int_equal(tk_chat_render(&before, k->tpl, &k->chat, &how, NULL), TINKC_OK);
    assert_int_equal(tk_chat_add_json(&k->chat, message, NULL), TINKC_OK);
    assert_int_equal(tk_chat_render(&after, k->tpl, &k->chat, &how, NULL), TINKC_OK);
    assert_true(after.n > before.n);
    tk_buf_put(out, after.p + before.n, after.n - before.n);
    tk_buf_dispose(&before);
    tk_buf_dispose(&after);
}

/* The message that an answer is. */
static void take_apart(tk_buf *out, const kit *k, tk_str answer)
{
    ca_parser_config config = {.format = k->format, .look_for_calls = true};
    ca_parser *parser = NULL;
    tk_buf_init(out, TK_MIB);
    assert_int_equal(ca_parser_new(&parser, &config, NULL), TINKC_OK);
    assert_int_equal(ca_parser_feed(parser, answer, false, NULL), TINKC_OK);
    assert_int_equal(ca_parser_finish(parser, NULL), TINKC_OK);
    assert_false(ca_parser_output(parser)->is_malformed);
    ca_output_write(out, ca_parser_output(parser), NULL);
    ca_parser_free(parser);
}

#define CALL(name, args)                                                                 \
    "{\"type\":\"function\",\"function\":{\"name\":\"" name "\",\"arguments\":{" args    \
    "}}}"
#define MESSAGE(text, rest) "{\"role\":\"assistant\",\"content\":\"" text "\"" rest "}"

static const struct {
    const char *message;
    const char *but; /* the family that does not write it */
} messages[] = {
    {MESSAGE("Just text, ü.", ""), ""},
    {MESSAGE("", ",\"tool_calls\":[" CALL("f", "\"a\":\"x y\"") "]"), ""},
    {MESSAGE("", ",\"tool_calls\":[" CALL("f", "") "]"), ""},
    {MESSAGE("", ",\"tool_calls\":[" CALL(
                     "f", "\"a\":\"<b> \\\"q\\\"\",\"c\":\"}\"") "," CALL("g", "") "]"),
     "harmony"},
    {MESSAGE("I look.", ",\"tool_calls\":[" CALL("f", "\"a\":\"1\"") "]"),
     "llama3 harmony"},
};

static void test_format_round_trip(void **unused)
{
    for (size_t i = 0; templates[i].source[0] != '\0'; i++) {
        for (size_t m = 0; m < TK_ARRAY_LEN(messages); m++) {
            if (strstr(messages[m].but, templates[i].name) != NULL) {
                continue;
            }
            kit k;
            tk_buf answer, message;
            open_kit(&k, templates[i].source);
            render_answer(&answer, &k, tk_str_of(messages[m].message));
            take_apart(&message, &k, tk_buf_str(&answer));
            if (!tk_str_is(tk_buf_str(&message), messages[m].message)) {
                fail_msg("%s: " TK_STR_FMT "\ngives " TK_STR_FMT "\nnot   %s",
                         templates[i].name, TK_STR_ARG(tk_buf_str(&answer)),
                         TK_STR_ARG(tk_buf_str(&message)), messages[m].message);
            }
            tk_buf_dispose(&answer);
            tk_buf_dispose(&message);
            close_kit(&k);
        }
    }
}

/* Reasoning comes back, too. */
static void test_format_round_trip_reasoning(void **unused)
{
    static const char *const sources[] = {HERMES, HARMONY};
    static const char wanted[] =
        MESSAGE("Yes.", ",\"reasoning_content\":\"Hm.\\n\\nSo.\"");
    for (size_t i = 0; i < TK_ARRAY_LEN(sources); i++) {
        kit k;
        tk_buf answer, message;
        open_kit(&k, sources[i]);
        render_answer(&answer, &k, tk_str_of(wanted));
        take_apart(&message, &k, tk_buf_str(&answer));
        assert_true(tk_str_is(tk_buf_str(&message), wanted));
        tk_buf_dispose(&answer);
        tk_buf_dispose(&message);
        close_kit(&k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_format_detect),
        cmocka_unit_test(test_format_files),
        cmocka_unit_test(test_format_named),
        cmocka_unit_test(test_format_round_trip),
        cmocka_unit_test(test_format_round_trip_reasoning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
