/* Requests of Anthropic's messages: blocks, tools, thinking, and what is refused. */
#include "support/cabody.h"
#include "support/test.h"

#define HI "\"max_tokens\":9,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]"

static void blocks_become_messages(void **state)
{
    expect_messages(
        CA_MESSAGES,
        "{\"max_tokens\":5,\"system\":[{\"type\":\"text\",\"text\":"
        "\"x-anthropic-billing-header: a=b;\"},{\"type\":\"text\",\"text\":\"S\"},"
        "{\"type\":\"text\",\"text\":\"T\",\"cache_control\":{\"type\":\"ephemeral\"}}],"
        "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
        "{\"type\":\"text\",\"text\":\"b\"}]},"
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"hm\","
        "\"signature\":\"s\"},{\"type\":\"text\",\"text\":\"I \"},"
        "{\"type\":\"text\",\"text\":\"look\"},{\"type\":\"tool_use\",\"id\":\"t1\","
        "\"name\":\"f\",\"input\":{\"x\":1}}]},"
        "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t1\","
        "\"content\":[{\"type\":\"text\",\"text\":\"7\"}],\"is_error\":false},"
        "{\"type\":\"tool_result\",\"tool_use_id\":\"t2\"},"
        "{\"type\":\"text\",\"text\":\"and?\"}]},"
        "{\"role\":\"system\",\"content\":\"later\"},"
        "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t3\","
        "\"content\":\"8\"}]}]}",
        "[{\"role\":\"system\",\"content\":\"S\\nT\"},{\"role\":\"user\",\"content\":"
        "\"a\\nb\"},{\"role\":\"assistant\",\"content\":\"I look\",\"reasoning_content\":"
        "\"hm\",\"tool_calls\":[{\"id\":\"t1\",\"type\":\"function\",\"function\":{\"name\":"
        "\"f\",\"arguments\":{\"x\":1}}}]},{\"role\":\"tool\",\"content\":\"7\","
        "\"tool_call_id\":\"t1\"},{\"role\":\"tool\",\"content\":\"\",\"tool_call_id\":"
        "\"t2\"},{\"role\":\"user\",\"content\":\"and?\"},{\"role\":\"system\",\"content\":"
        "\"later\"},{\"role\":\"tool\",\"content\":\"8\",\"tool_call_id\":\"t3\"}]");
}

static void tools_and_thinking_are_variables(void **state)
{
    expect_vars(
        CA_MESSAGES,
        "{" HI ",\"tools\":[{\"name\":\"f\",\"description\":\"d\",\"input_schema\":"
        "{\"type\":\"object\"},\"cache_control\":{\"type\":\"ephemeral\"}}],"
        "\"tool_choice\":{\"type\":\"auto\",\"disable_parallel_tool_use\":false}}",
        "{\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\","
        "\"description\":\"d\",\"parameters\":{\"type\":\"object\"}}}]}");
    expect_vars(CA_MESSAGES,
                "{" HI ",\"tools\":[{\"name\":\"f\",\"input_schema\":{}}],"
                "\"tool_choice\":{\"type\":\"none\"}}",
                "{}");
    expect_vars(CA_MESSAGES,
                "{" HI ",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":1024},"
                "\"output_config\":{\"effort\":\"max\"}}",
                "{\"enable_thinking\":true,\"thinking\":true,"
                "\"reasoning_effort\":\"max\"}");
    expect_vars(CA_MESSAGES, "{" HI ",\"thinking\":{\"type\":\"disabled\"}}",
                "{\"enable_thinking\":false,\"thinking\":false}");
    expect_vars(CA_MESSAGES, "{" HI ",\"thinking\":{\"type\":\"adaptive\"}}",
                "{\"enable_thinking\":true,\"thinking\":true}");
}

static void an_answer_at_the_end_is_continued(void **state)
{
    ca_request q =
        parse_ok(CA_MESSAGES,
                 "{\"max_tokens\":9,\"messages\":[{\"role\":\"user\",\"content\":\"a\"},"
                 "{\"role\":\"assistant\",\"content\":\"b\"}]}");
    assert_true(q.continue_final);
    ca_request_dispose(&q);
    q = parse_ok(CA_MESSAGES, "{" HI ",\"stop_sequences\":[\"x\"],\"top_k\":3}");
    assert_false(q.continue_final);
    assert_int_equal(q.params.n_stops, 1);
    assert_int_equal(q.params.max_tokens, 9);
    assert_true(q.params.has_top_k && q.wants_usage);
    ca_request_dispose(&q);
}

static void counting_needs_no_limit(void **state)
{
    static const char body[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}";
    const ca_request_how how = {.is_count = true};
    ca_request q;
    ca_fault fault;
    assert_true(ca_request_parse_how(&q, CA_MESSAGES, tk_str_of(body), &how, &fault));
    ca_request_dispose(&q);
    expect_refused(CA_MESSAGES, body, "max_tokens");
}

/* The body that Claude Code 2.1 sends, shortened. */
static void claude_code_is_understood(void **state)
{
    ca_request q = parse_ok(
        CA_MESSAGES,
        "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
        "\"text\":\"<system-reminder>\"},{\"type\":\"text\",\"text\":\"say hi\","
        "\"cache_control\":{\"type\":\"ephemeral\"}}]},{\"role\":\"system\",\"content\":"
        "\"Available agent types\"}],\"system\":[{\"type\":\"text\",\"text\":\"x\"}],"
        "\"tools\":[{\"name\":\"Bash\",\"description\":\"d\",\"input_schema\":{\"$schema\":"
        "\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\"}}],"
        "\"metadata\":{\"user_id\":\"u\"},\"max_tokens\":64000,\"thinking\":{\"type\":"
        "\"adaptive\"},\"context_management\":{\"edits\":[{\"type\":"
        "\"clear_thinking_20251015\",\"keep\":\"all\"}]},\"output_config\":{\"effort\":"
        "\"high\"},\"stream\":true}");
    assert_true(q.has_tools && q.is_streamed);
    assert_int_equal(q.chat.n, 3);
    ca_request_dispose(&q);
}

static void refusals_name_the_field(void **state)
{
    static const char *const bodies[][2] = {
        {"\"tool_choice\":{\"type\":\"any\"}", "tool_choice.type"},
        {"\"tool_choice\":{\"type\":\"tool\",\"name\":\"f\"}", "tool_choice.type"},
        {"\"tool_choice\":\"auto\"", "tool_choice"},
        {"\"tool_choice\":{\"type\":\"auto\",\"disable_parallel_tool_use\":true}",
         "tool_choice.disable_parallel_tool_use"},
        {"\"tools\":[{\"type\":\"web_search_20250305\",\"name\":\"w\"}]",
         "tools[0].type"},
        {"\"tools\":[{\"name\":\"f\",\"input_schema\":{},\"defer_loading\":true}]",
         "tools[0].defer_loading"},
        {"\"tools\":[{\"name\":\"f\",\"input_schema\":[]}]", "tools[0].input_schema"},
        {"\"tools\":[{\"name\":\"\"}]", "tools[0].name"},
        {"\"output_config\":{\"format\":{}}", "output_config.format"},
        {"\"thinking\":{\"type\":\"x\"}", "thinking.type"},
        {"\"context_management\":{\"edits\":[{\"type\":\"clear_thinking_20251015\","
         "\"keep\":{\"type\":\"thinking_turns\",\"value\":1}}]}",
         "context_management.edits[0].type"},
        {"\"mcp_servers\":[{}]", "mcp_servers"},
        {"\"container\":\"c\"", "container"},
        {"\"fallbacks\":[]", "fallbacks"},
        {"\"compaction\":{}", "compaction"},
        {"\"thread\":{}", "thread"},
        {"\"stop\":\"x\"", "stop"},
        {"\"n\":2", "n"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(bodies); i++) {
        char body[512];
        (void)snprintf(body, sizeof(body), "{" HI ",%s}", bodies[i][0]);
        expect_refused(CA_MESSAGES, body, bodies[i][1]);
    }
}

static void blocks_are_refused_by_name(void **state)
{
    static const char *const blocks[][3] = {
        {"user", "{\"type\":\"image\",\"source\":{}}", "messages[0].content[0].type"},
        {"user", "{\"type\":\"document\"}", "messages[0].content[0].type"},
        {"user", "{\"type\":\"thinking\",\"thinking\":\"a\"}",
         "messages[0].content[0].type"},
        {"assistant", "{\"type\":\"redacted_thinking\",\"data\":\"a\"}",
         "messages[0].content[0].type"},
        {"assistant", "{\"type\":\"server_tool_use\"}", "messages[0].content[0].type"},
        {"assistant", "{\"type\":\"tool_result\",\"tool_use_id\":\"a\"}",
         "messages[0].content[0].type"},
        {"assistant",
         "{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"input\":\"x\"}",
         "messages[0].content[0].input"},
        {"user",
         "{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":[{\"type\":"
         "\"image\"}]}",
         "messages[0].content[0].content[0].type"},
        {"user", "{\"type\":\"text\",\"text\":\"a\",\"citations\":[{}]}",
         "messages[0].content[0].citations"},
        {"tool", "{\"type\":\"text\",\"text\":\"a\"}", "messages[0].role"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(blocks); i++) {
        char body[512];
        (void)snprintf(
            body, sizeof(body),
            "{\"max_tokens\":1,\"messages\":[{\"role\":\"%s\",\"content\":[%s]}]}",
            blocks[i][0], blocks[i][1]);
        expect_refused(CA_MESSAGES, body, blocks[i][2]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_become_messages),
        cmocka_unit_test(tools_and_thinking_are_variables),
        cmocka_unit_test(an_answer_at_the_end_is_continued),
        cmocka_unit_test(counting_needs_no_limit),
        cmocka_unit_test(claude_code_is_understood),
        cmocka_unit_test(refusals_name_the_field),
        cmocka_unit_test(blocks_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
