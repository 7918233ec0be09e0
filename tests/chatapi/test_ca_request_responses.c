/* Requests of responses: items become messages, reasoning comes back sealed or open. */
#include "chatapi/ca_seal.h"
#include "support/cabody.h"
#include "support/test.h"

static void items_become_messages(void **state)
{
    expect_messages(
        CA_RESPONSES,
        "{\"instructions\":\"I\",\"input\":[{\"type\":\"message\",\"role\":\"developer\","
        "\"content\":[{\"type\":\"input_text\",\"text\":\"D\"}]},"
        "{\"role\":\"user\",\"content\":\"q\"},"
        "{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],\"content\":[{\"type\":"
        "\"reasoning_text\",\"text\":\"hm\"}],\"encrypted_content\":null},"
        "{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"status\":"
        "\"completed\",\"content\":[{\"type\":\"output_text\",\"text\":\"I look\","
        "\"annotations\":[],\"logprobs\":[]}]},"
        "{\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":\"c1\",\"name\":\"f\","
        "\"arguments\":\"{\\\"x\\\":1}\",\"status\":\"completed\"},"
        "{\"type\":\"function_call_output\",\"call_id\":\"c1\",\"output\":\"7\"},"
        "{\"role\":\"system\",\"content\":\"later\"},"
        "{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"done\"}]}",
        "[{\"role\":\"system\",\"content\":\"I\\n\\nD\"},{\"role\":\"user\",\"content\":"
        "\"q\"},{\"role\":\"assistant\",\"content\":\"I look\",\"reasoning_content\":\"hm\","
        "\"tool_calls\":[{\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"f\","
        "\"arguments\":{\"x\":1}}}]},{\"role\":\"tool\",\"content\":\"7\",\"tool_call_id\":"
        "\"c1\"},{\"role\":\"system\",\"content\":\"later\"},"
        "{\"role\":\"assistant\",\"content\":\"done\"}]");
    expect_messages(CA_RESPONSES, "{\"input\":\"q\",\"instructions\":\"I\"}",
                    "[{\"role\":\"system\",\"content\":\"I\"},"
                    "{\"role\":\"user\",\"content\":\"q\"}]");
    expect_messages(CA_RESPONSES, "{\"input\":\"q\"}",
                    "[{\"role\":\"user\",\"content\":\"q\"}]");
}

static void sealed_reasoning_is_opened(void **state)
{
    tk_buf body;
    tk_buf_init(&body, TK_MIB);
    tk_buf_puts(&body, "{\"input\":[{\"type\":\"reasoning\",\"summary\":[],"
                       "\"encrypted_content\":\"");
    ca_seal(&body, TK_STR("gr\xc3\xbcndlich"));
    tk_buf_puts(&body, "\"},{\"role\":\"assistant\",\"content\":\"a\"}]}");
    expect_messages(CA_RESPONSES, tk_buf_cstr(&body),
                    "[{\"role\":\"assistant\",\"content\":\"a\","
                    "\"reasoning_content\":\"gr\xc3\xbcndlich\"}]");
    tk_buf_dispose(&body);
    static const char *const foreign[] = {"gAAAAA", "tinkc1.!",
                                          "tinkc1./w==", "tinkc1.YQ"};
    for (size_t i = 0; i < TK_ARRAY_LEN(foreign); i++) {
        char text[256];
        (void)snprintf(
            text, sizeof(text),
            "{\"input\":[{\"type\":\"reasoning\",\"encrypted_content\":\"%s\"}]}",
            foreign[i]);
        expect_refused(CA_RESPONSES, text, "input[0].encrypted_content");
    }
}

/* The body that Codex sends, shortened. Two of its tools run at OpenAI. */
static void codex_is_understood(void **state)
{
    static const char body[] =
        "{\"model\":\"m\",\"stream\":true,\"input\":[{\"type\":\"message\",\"id\":\"msg_e5\","
        "\"role\":\"developer\",\"content\":[{\"type\":\"input_text\",\"text\":\"a\"}]},"
        "{\"type\":\"message\",\"role\":\"developer\",\"content\":[{\"type\":\"input_text\","
        "\"text\":\"b\"},{\"type\":\"input_text\",\"text\":\"c\"}]},{\"type\":\"message\","
        "\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"say hi\"}]}],"
        "\"tools\":[{\"type\":\"function\",\"name\":\"exec_command\",\"description\":\"d\","
        "\"strict\":false,\"parameters\":{\"type\":\"object\"}},{\"type\":\"namespace\","
        "\"name\":\"multi_agent_v1\",\"tools\":[]},{\"type\":\"web_search\","
        "\"external_web_access\":false}],\"tool_choice\":\"auto\",\"parallel_tool_calls\":"
        "true,\"reasoning\":{\"summary\":\"auto\"},\"store\":false,\"include\":["
        "\"reasoning.encrypted_content\"],\"prompt_cache_key\":\"k\",\"client_metadata\":"
        "{\"session_id\":\"s\"}}";
    const ca_request_how how = {.ignore = TK_STR("namespace,web_search")};
    ca_request q;
    ca_fault fault;
    expect_refused(CA_RESPONSES, body, "tools[1].type");
    assert_true(ca_request_parse_how(&q, CA_RESPONSES, tk_str_of(body), &how, &fault));
    assert_true(q.has_tools && q.is_streamed && q.seals_reasoning);
    assert_int_equal(tk_json_len(q.chat.vars[0].value), 1);
    assert_int_equal(q.chat.n, 2);
    assert_true(
        tk_str_is(tk_json_get(&q.chat.messages[0], "content")->as.string, "a\n\nb\nc"));
    ca_request_dispose(&q);
}

static void fields_are_read(void **state)
{
    ca_request q = parse_ok(
        CA_RESPONSES,
        "{\"input\":\"q\",\"max_output_tokens\":8,\"include\":["
        "\"message.output_text.logprobs\",\"file_search_call.results\"],\"top_logprobs\":2,"
        "\"text\":{\"format\":{\"type\":\"text\"}},\"truncation\":\"disabled\","
        "\"background\":false,\"metadata\":{},\"user\":\"u\",\"max_tool_calls\":3,"
        "\"previous_response_id\":null,\"conversation\":null,\"service_tier\":\"auto\","
        "\"stop\":[\"x\"],\"seed\":5}");
    assert_int_equal(q.params.max_tokens, 8);
    assert_true(q.params.logprobs && !q.seals_reasoning && q.params.has_seed);
    assert_int_equal(q.params.top_logprobs, 2);
    assert_int_equal(q.params.n_stops, 1);
    ca_request_dispose(&q);
    expect_vars(CA_RESPONSES,
                "{\"input\":\"q\",\"reasoning\":{\"effort\":\"none\",\"summary\":null},"
                "\"text\":{\"verbosity\":\"low\"}}",
                "{\"reasoning_effort\":\"none\",\"enable_thinking\":false,"
                "\"thinking\":false,\"verbosity\":\"low\"}");
}

static void refusals_name_the_field(void **state)
{
    static const char *const bodies[][2] = {
        {"\"input\":\"q\",\"previous_response_id\":\"r\"", "previous_response_id"},
        {"\"input\":\"q\",\"conversation\":\"c\"", "conversation"},
        {"\"input\":\"q\",\"background\":true", "background"},
        {"\"input\":\"q\",\"prompt\":{\"id\":\"p\"}", "prompt"},
        {"\"input\":\"q\",\"truncation\":\"auto\"", "truncation"},
        {"\"input\":\"q\",\"context_management\":[{}]", "context_management"},
        {"\"input\":\"q\",\"moderation\":{}", "moderation"},
        {"\"input\":\"q\",\"image\":{}", "image"},
        {"\"input\":\"q\",\"access_programs\":{}", "access_programs"},
        {"\"input\":\"q\",\"include\":[\"x\"]", "include[0]"},
        {"\"input\":\"q\",\"top_logprobs\":2", "top_logprobs"},
        {"\"input\":\"q\",\"text\":{\"format\":{\"type\":\"json_schema\"}}",
         "text.format.type"},
        {"\"input\":\"q\",\"tool_choice\":\"required\"", "tool_choice"},
        {"\"input\":\"q\",\"tool_choice\":{\"type\":\"function\",\"name\":\"f\"}",
         "tool_choice"},
        {"\"input\":\"q\",\"tools\":[{\"type\":\"local_shell\"}]", "tools[0].type"},
        {"\"input\":\"q\",\"tools\":[{\"type\":\"custom\",\"name\":\"f\"}]",
         "tools[0].type"},
        {"\"input\":\"q\",\"tools\":[{\"type\":\"function\",\"name\":\"f\",\"strict\":true}]",
         "tools[0].strict"},
        {"\"input\":\"q\",\"parallel_tool_calls\":false", "parallel_tool_calls"},
        {"\"input\":\"q\",\"instructions\":[]", "instructions"},
        {"\"input\":[]", "input"},
        {"\"store\":true", "input"},
        {"\"input\":[{\"type\":\"item_reference\",\"id\":\"a\"}]", "input[0].type"},
        {"\"input\":[{\"type\":\"web_search_call\"}]", "input[0].type"},
        {"\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_image\"}]}]",
         "input[0].content[0].type"},
        {"\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_file\"}]}]",
         "input[0].content[0].type"},
        {"\"input\":[{\"type\":\"reasoning\",\"summary\":[{\"type\":\"summary_text\","
         "\"text\":\"a\"}]}]",
         "input[0].summary"},
        {"\"input\":[{\"type\":\"function_call\",\"name\":\"f\",\"arguments\":\"{}\"}]",
         "input[0].call_id"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(bodies); i++) {
        char body[512];
        (void)snprintf(body, sizeof(body), "{%s}", bodies[i][0]);
        expect_refused(CA_RESPONSES, body, bodies[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_become_messages),
        cmocka_unit_test(sealed_reasoning_is_opened),
        cmocka_unit_test(codex_is_understood),
        cmocka_unit_test(fields_are_read),
        cmocka_unit_test(refusals_name_the_field),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
