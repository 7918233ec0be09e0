/* Requests of chat/completions: what templates get, what is sampled with, what is
 * refused. */
#include "support/cabody.h"
#include "support/test.h"

static void messages_become_what_templates_read(void **state)
{
    expect_messages(
        CA_CHAT,
        "{\"model\":\"m\",\"messages\":[{\"role\":\"developer\",\"content\":\"Be brief.\"},"
        "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
        "{\"type\":\"text\",\"text\":\"b\",\"cache_control\":{\"type\":\"ephemeral\"}}]},"
        "{\"role\":\"assistant\",\"content\":null,\"reasoning\":\"hm\",\"refusal\":null,"
        "\"annotations\":[],\"tool_calls\":[{\"id\":\"c1\",\"type\":\"function\",\"index\":0,"
        "\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\": 1}\"}},"
        "{\"id\":\"c2\",\"function\":{\"name\":\"g\",\"arguments\":\"\"}},"
        "{\"id\":\"c3\",\"function\":{\"name\":\"h\",\"arguments\":\"[1]\"}}]},"
        "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"name\":\"f\",\"content\":\"7\"},"
        "{\"role\":\"user\",\"name\":\"Ann\",\"content\":\"go on\"}]}",
        "[{\"role\":\"system\",\"content\":\"Be brief.\"},"
        "{\"role\":\"user\",\"content\":\"a\\nb\"},"
        "{\"role\":\"assistant\",\"content\":\"\",\"reasoning_content\":\"hm\","
        "\"tool_calls\":[{\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"f\","
        "\"arguments\":{\"x\":1}}},{\"id\":\"c2\",\"type\":\"function\",\"function\":"
        "{\"name\":\"g\",\"arguments\":{}}},{\"id\":\"c3\",\"type\":\"function\","
        "\"function\":{\"name\":\"h\",\"arguments\":\"[1]\"}}]},"
        "{\"role\":\"tool\",\"content\":\"7\",\"name\":\"f\",\"tool_call_id\":\"c1\"},"
        "{\"role\":\"user\",\"content\":\"go on\",\"name\":\"Ann\"}]");
}

#define HI "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]"

static void parameters_are_read(void **state)
{
    ca_request q = parse_ok(
        CA_CHAT,
        "{" HI
        ",\"model\":\"m\",\"temperature\":0.5,\"top_p\":0.9,\"top_k\":40,\"seed\":-3,"
        "\"stop\":[\"a\",\"b\"],\"stop_token_ids\":[5,6],\"ignore_eos\":true,\"n\":2,"
        "\"max_completion_tokens\":7,\"max_tokens\":7,\"logprobs\":true,\"top_logprobs\":20,"
        "\"return_token_ids\":true,\"stream\":true,"
        "\"stream_options\":{\"include_usage\":true,\"include_obfuscation\":false}}");
    const ca_params *p = &q.params;
    assert_true(tk_str_is(q.model, "m"));
    assert_true(p->has_temperature && p->has_top_p && p->has_top_k && p->has_seed);
    assert_true(p->temperature > 0.49 && p->temperature < 0.51 && p->top_p > 0.89);
    assert_int_equal(p->top_k, 40);
    assert_int_equal(p->seed, (uint64_t)-3);
    assert_int_equal(p->n_stops, 2);
    assert_true(tk_str_is(p->stops[0], "a") && tk_str_is(p->stops[1], "b"));
    assert_int_equal(p->n_stop_ids, 2);
    assert_int_equal(p->stop_ids[1], 6);
    assert_true(p->ignore_eos && p->logprobs && !p->prompt_logprobs &&
                p->return_token_ids);
    assert_int_equal(p->n, 2);
    assert_true(p->has_max_tokens);
    assert_int_equal(p->max_tokens, 7);
    assert_int_equal(p->top_logprobs, 20);
    assert_true(q.is_streamed && q.wants_usage && !q.has_tools && !q.continue_final);
    ca_request_dispose(&q);

    q = parse_ok(CA_CHAT, "{" HI ",\"prompt_logprobs\":3}");
    assert_true(q.params.prompt_logprobs);
    assert_int_equal(q.params.prompt_top_logprobs, 3);
    ca_request_dispose(&q);

    q = parse_ok(CA_CHAT,
                 "{" HI ",\"stop\":\"x\",\"top_k\":-1,\"stream\":null,\"n\":null}");
    assert_int_equal(q.params.n_stops, 1);
    assert_int_equal(q.params.n, 1);
    assert_false(q.params.has_top_k || q.params.has_max_tokens || q.is_streamed);
    ca_request_dispose(&q);
}

#define TOOLS                                                                               \
    "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"description\":\"d\"," \
    "\"parameters\":{\"type\":\"object\",\"properties\":{}},\"strict\":false}}]"

static void tools_are_a_variable_of_the_template(void **state)
{
    expect_vars(CA_CHAT,
                "{" HI "," TOOLS ",\"tool_choice\":\"auto\","
                "\"parallel_tool_calls\":true}",
                "{\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\","
                "\"description\":\"d\",\"parameters\":{\"type\":\"object\","
                "\"properties\":{}}}}]}");
    expect_vars(CA_CHAT, "{" HI "," TOOLS ",\"tool_choice\":\"none\"}", "{}");
    expect_vars(CA_CHAT, "{" HI ",\"tools\":[],\"tool_choice\":\"none\"}", "{}");
    expect_refused(CA_CHAT, "{" HI "," TOOLS ",\"tool_choice\":\"required\"}",
                   "tool_choice");
    expect_refused(CA_CHAT,
                   "{" HI "," TOOLS ",\"tool_choice\":{\"type\":\"function\","
                   "\"function\":{\"name\":\"f\"}}}",
                   "tool_choice");
    expect_refused(CA_CHAT, "{" HI "," TOOLS ",\"parallel_tool_calls\":false}",
                   "parallel_tool_calls");
    expect_refused(CA_CHAT, "{" HI ",\"tools\":[{\"type\":\"custom\",\"custom\":{}}]}",
                   "tools[0].type");
    expect_refused(CA_CHAT,
                   "{" HI ",\"tools\":[{\"type\":\"function\",\"function\":"
                   "{\"name\":\"f\",\"strict\":true}}]}",
                   "tools[0].function.strict");
}

static void reasoning_fields_are_variables(void **state)
{
    expect_vars(CA_CHAT, "{" HI ",\"reasoning_effort\":\"low\"}",
                "{\"reasoning_effort\":\"low\",\"enable_thinking\":true,"
                "\"thinking\":true}");
    expect_vars(CA_CHAT, "{" HI ",\"reasoning\":{\"effort\":\"none\"}}",
                "{\"reasoning_effort\":\"none\",\"enable_thinking\":false,"
                "\"thinking\":false}");
    expect_vars(CA_CHAT,
                "{" HI ",\"reasoning_effort\":\"high\",\"chat_template_kwargs\":"
                "{\"enable_thinking\":false,\"custom\":[1,null]}}",
                "{\"custom\":[1,null],\"enable_thinking\":false,"
                "\"reasoning_effort\":\"high\",\"thinking\":true}");
    expect_refused(CA_CHAT, "{" HI ",\"chat_template_kwargs\":{\"tools\":[]}}",
                   "chat_template_kwargs");
    expect_refused(CA_CHAT, "{" HI ",\"reasoning_effort\":\"huge\"}", "reasoning_effort");
}

static void the_last_answer_is_continued(void **state)
{
    static const char answer[] = "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"},"
                                 "{\"role\":\"assistant\",\"content\":\"He\"}]";
    char body[512];
    (void)snprintf(body, sizeof(body),
                   "{%s,\"continue_final_message\":true,\"add_generation_prompt\":false}",
                   answer);
    ca_request q = parse_ok(CA_CHAT, body);
    assert_true(q.continue_final);
    ca_request_dispose(&q);
    (void)snprintf(body, sizeof(body),
                   "{%s,\"continue_final_message\":true,\"add_generation_prompt\":true}",
                   answer);
    expect_refused(CA_CHAT, body, "add_generation_prompt");
    expect_refused(CA_CHAT, "{" HI ",\"add_generation_prompt\":false}",
                   "add_generation_prompt");
    expect_refused(CA_CHAT, "{" HI ",\"continue_final_message\":true}",
                   "continue_final_message");
}

static void what_changes_the_result_is_refused_by_name(void **state)
{
    static const char *const bodies[][2] = {
        {"\"frequency_penalty\":0.5", "frequency_penalty"},
        {"\"presence_penalty\":1", "presence_penalty"},
        {"\"logit_bias\":{\"5\":1}", "logit_bias"},
        {"\"response_format\":{\"type\":\"json_object\"}", "response_format.type"},
        {"\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{}}",
         "response_format.type"},
        {"\"min_p\":0.1", "min_p"},
        {"\"min_tokens\":1", "min_tokens"},
        {"\"repetition_penalty\":1.1", "repetition_penalty"},
        {"\"length_penalty\":2", "length_penalty"},
        {"\"include_stop_str_in_output\":true", "include_stop_str_in_output"},
        {"\"use_beam_search\":true", "use_beam_search"},
        {"\"skip_special_tokens\":false", "skip_special_tokens"},
        {"\"spaces_between_special_tokens\":false", "spaces_between_special_tokens"},
        {"\"functions\":[{}]", "functions"},
        {"\"function_call\":\"auto\"", "function_call"},
        {"\"audio\":{}", "audio"},
        {"\"modalities\":[\"text\",\"audio\"]", "modalities"},
        {"\"web_search_options\":{}", "web_search_options"},
        {"\"moderation\":{}", "moderation"},
        {"\"chat_template\":\"x\"", "chat_template"},
        {"\"structured_outputs\":{}", "structured_outputs"},
        {"\"truncate_prompt_tokens\":5", "truncate_prompt_tokens"},
        {"\"allowed_token_ids\":[5]", "allowed_token_ids"},
        {"\"bad_words\":[\"a\"]", "bad_words"},
        {"\"logits_processors\":[\"a\"]", "logits_processors"},
        {"\"echo\":true", "echo"},
        {"\"add_special_tokens\":true", "add_special_tokens"},
        {"\"return_tokens_as_token_ids\":true", "return_tokens_as_token_ids"},
        {"\"include_reasoning\":false", "include_reasoning"},
        {"\"guided_json\":{}", "guided_json"},
        {"\"no_such_field\":0", "no_such_field"},
        {"\"prompt\":\"x\"", "prompt"},
        {"\"n\":0", "n"},
        {"\"n\":129", "n"},
        {"\"temperature\":-1", "temperature"},
        {"\"top_p\":0", "top_p"},
        {"\"top_p\":1.5", "top_p"},
        {"\"top_k\":-2", "top_k"},
        {"\"max_tokens\":0", "max_tokens"},
        {"\"max_tokens\":5,\"max_completion_tokens\":6", "max_completion_tokens"},
        {"\"logprobs\":true,\"top_logprobs\":21", "top_logprobs"},
        {"\"top_logprobs\":2", "top_logprobs"},
        {"\"stop\":\"\"", "stop"},
        {"\"stop\":[\"a\",\"\"]", "stop[1]"},
        {"\"stop_token_ids\":[-1]", "stop_token_ids[0]"},
        {"\"stream_options\":{\"include_usage\":true}", "stream_options"},
        {"\"stream\":true,\"prompt_logprobs\":1", "prompt_logprobs"},
        {"\"stream\":true,\"stream_options\":{\"continuous_usage_stats\":true}",
         "stream_options.continuous_usage_stats"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(bodies); i++) {
        char body[512];
        (void)snprintf(body, sizeof(body), "{" HI ",%s}", bodies[i][0]);
        expect_refused(CA_CHAT, body, bodies[i][1]);
    }
}

static void parts_and_roles_are_refused_by_name(void **state)
{
    static const char *const messages[][2] = {
        {"{\"role\":\"user\",\"content\":[{\"type\":\"image_url\",\"image_url\":{}}]}",
         "messages[0].content[0].type"},
        {"{\"role\":\"user\",\"content\":[{\"type\":\"input_audio\"}]}",
         "messages[0].content[0].type"},
        {"{\"role\":\"user\",\"content\":[{\"type\":\"file\"}]}",
         "messages[0].content[0].type"},
        {"{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\",\"x\":1}]}",
         "messages[0].content[0].x"},
        {"{\"role\":\"function\",\"content\":\"a\"}", "messages[0].role"},
        {"{\"role\":\"user\"}", "messages[0].content"},
        {"{\"content\":\"a\"}", "messages[0].role"},
        {"{\"role\":\"user\",\"content\":\"a\",\"tool_calls\":[]}",
         "messages[0].tool_calls"},
        {"{\"role\":\"assistant\",\"audio\":{\"id\":\"a\"}}", "messages[0].audio"},
        {"{\"role\":\"assistant\",\"function_call\":{}}", "messages[0].function_call"},
        {"{\"role\":\"assistant\",\"tool_calls\":[{\"type\":\"custom\"}]}",
         "messages[0].tool_calls[0].type"},
        {"7", "messages[0]"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(messages); i++) {
        char body[512];
        (void)snprintf(body, sizeof(body), "{\"messages\":[%s]}", messages[i][0]);
        expect_refused(CA_CHAT, body, messages[i][1]);
    }
    expect_refused(CA_CHAT, "{\"messages\":[]}", "messages");
    expect_refused(CA_CHAT, "{}", "messages");
}

static void what_does_not_change_the_result_is_accepted(void **state)
{
    ca_request q = parse_ok(
        CA_CHAT,
        "{" HI ",\"user\":\"u\",\"metadata\":{\"a\":\"b\"},\"store\":true,"
        "\"service_tier\":\"auto\",\"safety_identifier\":\"s\",\"prompt_cache_key\":\"k\","
        "\"prompt_cache_retention\":\"24h\",\"prompt_cache_options\":{},"
        "\"prediction\":{\"type\":\"content\",\"content\":\"x\"},\"frequency_penalty\":0,"
        "\"presence_penalty\":0.0,\"logit_bias\":{},\"response_format\":{\"type\":\"text\"},"
        "\"modalities\":[\"text\"],\"no_such_field\":null}");
    assert_int_equal(q.chat.n, 1);
    assert_int_equal(q.chat.n_vars, 0);
    ca_request_dispose(&q);
}

static void a_header_lets_fields_be_left_out(void **state)
{
    const ca_request_how how = {.ignore = TK_STR("parallel_tool_calls, custom ,strict")};
    ca_request q;
    ca_fault fault;
    static const char body[] =
        "{" HI ",\"parallel_tool_calls\":false,\"tools\":[{\"type\":\"custom\"},"
        "{\"type\":\"function\",\"function\":{\"name\":\"f\",\"strict\":true}}]}";
    assert_true(ca_request_parse_how(&q, CA_CHAT, tk_str_of(body), &how, &fault));
    assert_true(q.has_tools);
    assert_int_equal(q.chat.n_vars, 1);
    assert_int_equal(tk_json_len(q.chat.vars[0].value), 1);
    ca_request_dispose(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_become_what_templates_read),
        cmocka_unit_test(parameters_are_read),
        cmocka_unit_test(tools_are_a_variable_of_the_template),
        cmocka_unit_test(reasoning_fields_are_variables),
        cmocka_unit_test(the_last_answer_is_continued),
        cmocka_unit_test(what_changes_the_result_is_refused_by_name),
        cmocka_unit_test(parts_and_roles_are_refused_by_name),
        cmocka_unit_test(what_does_not_change_the_result_is_accepted),
        cmocka_unit_test(a_header_lets_fields_be_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
