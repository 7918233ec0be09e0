/* The message that an output is, and which messages are the same to a model. */
#include "chatapi/ca_parser.h"
#include "support/failmem.h"
#include "support/test.h"

static ca_parser *parse(const char *text)
{
    ca_parser_config config = {.format = {.tools = CA_TOOLS_HERMES,
                                          .think_open = {"<think>", 7},
                                          .think_close = {"</think>", 8}},
                               .look_for_calls = true};
    ca_parser *parser = NULL;
    if (ca_parser_new(&parser, &config, NULL) != TINKC_OK) {
        return NULL;
    }
    if (ca_parser_feed(parser, tk_str_of(text), false, NULL) == TINKC_OK &&
        ca_parser_finish(parser, NULL) == TINKC_OK) {
        return parser;
    }
    ca_parser_free(parser);
    return NULL;
}

static void check_written(const char *text, const char *const *ids, const char *wanted)
{
    ca_parser *parser = parse(text);
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    assert_non_null(parser);
    ca_output_write(&out, ca_parser_output(parser), ids);
    assert_string_equal(tk_buf_cstr(&out), wanted);
    tk_buf_dispose(&out);
    ca_parser_free(parser);
}

static void test_call_write(void **unused)
{
    static const char *const ids[] = {"call_1"};
    static const char call[] =
        "<tool_call>{\"name\": \"f\", \"arguments\": {\"b\": 1.50, \"a\": \"ü\"}}</tool_call>";
    check_written("Hi \"you\"", NULL,
                  "{\"role\":\"assistant\",\"content\":\"Hi \\\"you\\\"\"}");
    check_written(
        "<think>r</think>t", NULL,
        "{\"role\":\"assistant\",\"content\":\"t\",\"reasoning_content\":\"r\"}");
    check_written(
        call, NULL,
        "{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"type\":\"function\","
        "\"function\":{\"name\":\"f\",\"arguments\":{\"b\":1.5,\"a\":\"ü\"}}}]}");
    check_written(
        call, ids,
        "{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"call_1\",\"type\":"
        "\"function\",\"function\":{\"name\":\"f\",\"arguments\":{\"b\":1.5,\"a\":\"ü\"}}}]}");
}

/* Writing what is not UTF-8 fails; it is never changed. */
static void test_call_write_not_text(void **unused)
{
    ca_parser *parser = parse("a\xff");
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    ca_output_write(&out, ca_parser_output(parser), NULL);
    assert_int_equal(out.failure, TINKC_E_INVALID);
    tk_buf_dispose(&out);
    ca_parser_free(parser);
    ca_output zero = {.n_calls = 0};
    ca_output_dispose(&zero);
}

/* Each group of messages is one message to a model; different groups are different. */
static const char *const groups[][5] = {
    {"{\"role\": \"user\", \"content\": \"Hi\"}",
     "{\"content\": \"Hi\", \"role\": \"user\"}",
     "{\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": \"H\"}, {\"type\": \"text\", "
     "\"text\": \"i\"}], \"name\": null}",
     "{\"role\": \"user\", \"content\": [\"Hi\"]}"},
    {"{\"role\": \"user\", \"content\": \"Hi \"}"},
    {"{\"role\": \"system\", \"content\": \"Hi\"}"},
    {"{\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": \"Hi\"}, {\"type\": \"image\", "
     "\"url\": \"x\"}]}"},
    {"{\"role\": \"assistant\", \"content\": null, \"tool_calls\": [{\"id\": \"1\", \"type\": "
     "\"function\", \"function\": {\"name\": \"f\", \"arguments\": \"{\\\"b\\\": 1.0, \\\"a\\\": "
     "[2]}\"}}]}",
     "{\"role\": \"assistant\", \"content\": \"\", \"tool_calls\": [{\"function\": {\"arguments\": {\"a\": "
     "[2], \"b\": 1}, \"name\": \"f\"}}]}",
     "{\"role\": \"assistant\", \"tool_calls\": [{\"name\": \"f\", \"arguments\": {\"b\": 7, \"a\": "
     "[2], \"b\": 1}}], \"function_call\": null}"},
    {"{\"role\": \"assistant\", \"tool_calls\": [{\"function\": {\"name\": \"f\", \"arguments\": {\"a\": "
     "[2], \"b\": \"1\"}}}]}"},
    {"{\"role\": \"assistant\", \"tool_calls\": [{\"function\": {\"name\": \"f\", \"arguments\": "
     "\"broken\"}}]}"},
    {"{\"role\": \"assistant\", \"content\": \"\"}",
     "{\"role\": \"assistant\", \"content\": null}", "{\"role\": \"assistant\"}",
     "{\"role\": \"assistant\", \"content\": [], \"tool_calls\": []}"},
    {"{\"role\": \"assistant\", \"content\": \"t\", \"reasoning_content\": \"r\"}",
     "{\"role\": \"assistant\", \"content\": \"t\", \"reasoning\": \"r\"}",
     "{\"role\": \"assistant\", \"content\": [{\"type\": \"thinking\", \"thinking\": \"r\"}, {\"type\": "
     "\"text\", \"text\": \"t\"}]}"},
    {"{\"role\": \"assistant\", \"content\": \"t\"}"},
    {"{\"role\": \"tool\", \"tool_call_id\": \"1\", \"content\": \"4\"}",
     "{\"role\": \"tool\", \"tool_call_id\": \"2\", \"name\": \"f\", \"content\": [{\"type\": \"text\", "
     "\"text\": \"4\"}]}"},
    {"{\"role\": \"tool\", \"content\": 4}"},
};

static void canonical(tk_buf *out, const char *json, bool skip_reasoning)
{
    tk_arena arena;
    const tk_json *message = NULL;
    tk_arena_init(&arena, 0);
    tk_buf_init(out, TK_MIB);
    assert_int_equal(tk_json_parse(&message, &arena, json, strlen(json), NULL, NULL),
                     TINKC_OK);
    ca_call_canonical(out, message, skip_reasoning);
    assert_int_equal(out->failure, TINKC_OK);
    tk_arena_dispose(&arena);
}

static void test_call_canonical(void **unused)
{
    for (size_t g = 0; g < TK_ARRAY_LEN(groups); g++) {
        tk_buf first;
        canonical(&first, groups[g][0], false);
        for (size_t h = 0; h < TK_ARRAY_LEN(groups); h++) {
            for (size_t i = 0; i < 5 && groups[h][i] != NULL; i++) {
                tk_buf other;
                canonical(&other, groups[h][i], false);
                bool is_same = tk_str_eq(tk_buf_str(&first), tk_buf_str(&other));
                if (is_same != (g == h)) {
                    fail_msg("%s and %s", groups[g][0], groups[h][i]);
                }
                tk_buf_dispose(&other);
            }
        }
        tk_buf_dispose(&first);
    }
}

static void test_call_canonical_without_reasoning(void **unused)
{
    tk_buf with, without;
    canonical(&with, groups[8][0], true);
    canonical(&without, groups[9][0], false);
    assert_true(tk_str_eq(tk_buf_str(&with), tk_buf_str(&without)));
    tk_buf_dispose(&with);
    tk_buf_dispose(&without);
}

static bool sweep(void *user)
{
    tk_arena arena;
    const tk_json *message = NULL;
    tk_buf out;
    bool is_done = false;
    tk_arena_init(&arena, 0);
    tk_buf_init(&out, TK_MIB);
    ca_parser *parser =
        parse("<think>r</think>t<tool_call>{\"name\": \"f\", \"arguments\": "
              "{\"b\": 1, \"a\": 2}}</tool_call>");
    if (parser != NULL) {
        ca_output_write(&out, ca_parser_output(parser), NULL);
        tk_str json = tk_buf_str(&out);
        if (out.failure == TINKC_OK &&
            tk_json_parse(&message, &arena, json.p, json.n, NULL, NULL) == TINKC_OK) {
            ca_call_canonical(&out, message, false);
            is_done = out.failure == TINKC_OK;
        }
    }
    ca_parser_free(parser);
    tk_buf_dispose(&out);
    tk_arena_dispose(&arena);
    return is_done;
}

static void test_call_sweep(void **unused)
{
    failmem_sweep(sweep, NULL, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_call_write),
        cmocka_unit_test(test_call_write_not_text),
        cmocka_unit_test(test_call_canonical),
        cmocka_unit_test(test_call_canonical_without_reasoning),
        cmocka_unit_test(test_call_sweep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
