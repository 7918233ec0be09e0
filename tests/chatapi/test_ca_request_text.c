/* Requests of completions: prompts as text and as ids, echo, and what is refused. */
#include "support/cabody.h"
#include "support/test.h"

static void prompts_are_text_or_ids(void **state)
{
    ca_request q = parse_ok(CA_COMPLETIONS, "{\"prompt\":\"a\"}");
    assert_int_equal(q.n_prompts, 1);
    assert_true(!q.prompts[0].is_ids && tk_str_is(q.prompts[0].text, "a"));
    assert_int_equal(q.params.max_tokens, 16);
    assert_true(q.params.has_max_tokens);
    ca_request_dispose(&q);

    q = parse_ok(CA_COMPLETIONS, "{\"prompt\":[\"a\",[1,2],\"\"]}");
    assert_int_equal(q.n_prompts, 3);
    assert_true(q.prompts[1].is_ids);
    assert_int_equal(q.prompts[1].n, 2);
    assert_int_equal(q.prompts[2].text.n, 0);
    ca_request_dispose(&q);

    q = parse_ok(CA_COMPLETIONS, "{\"prompt\":[3,4,5]}");
    assert_int_equal(q.n_prompts, 1);
    assert_int_equal(q.prompts[0].n, 3);
    assert_int_equal(q.prompts[0].ids[2], 5);
    ca_request_dispose(&q);

    q = parse_ok(CA_COMPLETIONS, "{\"prompt\":[[3],[4,5]]}");
    assert_int_equal(q.n_prompts, 2);
    assert_int_equal(q.prompts[1].ids[1], 5);
    ca_request_dispose(&q);
}

/* What lm-eval sends to score a text. */
static void echo_with_logprobs_scores_the_prompt(void **state)
{
    ca_request q =
        parse_ok(CA_COMPLETIONS, "{\"prompt\":[[3,4]],\"echo\":true,\"logprobs\":1,"
                                 "\"max_tokens\":0,\"temperature\":0,\"seed\":1234}");
    assert_true(q.params.echo && q.params.logprobs && q.params.prompt_logprobs);
    assert_int_equal(q.params.top_logprobs, 1);
    assert_int_equal(q.params.prompt_top_logprobs, 1);
    assert_int_equal(q.params.max_tokens, 0);
    ca_request_dispose(&q);
    q = parse_ok(CA_COMPLETIONS, "{\"prompt\":\"a\",\"logprobs\":0,\"n\":2,\"best_of\":2,"
                                 "\"suffix\":null,\"add_special_tokens\":true}");
    assert_true(q.params.logprobs && !q.params.echo && !q.params.prompt_logprobs);
    assert_false(q.params.no_special);
    ca_request_dispose(&q);
    q = parse_ok(CA_COMPLETIONS, "{\"prompt\":\"a\",\"add_special_tokens\":false}");
    assert_true(q.params.no_special);
    ca_request_dispose(&q);
}

static void refusals_name_the_field(void **state)
{
    static const char *const bodies[][2] = {
        {"\"model\":\"m\"", "prompt"},
        {"\"prompt\":[]", "prompt"},
        {"\"prompt\":7", "prompt"},
        {"\"prompt\":{}", "prompt"},
        {"\"prompt\":[1.5]", "prompt[0]"},
        {"\"prompt\":[-1]", "prompt[0]"},
        {"\"prompt\":[2147483648]", "prompt[0]"},
        {"\"prompt\":[1,\"a\"]", "prompt[1]"},
        {"\"prompt\":[\"a\",7]", "prompt[1]"},
        {"\"prompt\":[[1],[]]", "prompt[1]"},
        {"\"prompt\":[[1],[true]]", "prompt[1][0]"},
        {"\"prompt\":\"a\",\"suffix\":\"b\"", "suffix"},
        {"\"prompt\":\"a\",\"best_of\":2", "best_of"},
        {"\"prompt\":\"a\",\"logprobs\":21", "logprobs"},
        {"\"prompt\":\"a\",\"logprobs\":true", "logprobs"},
        {"\"prompt\":\"a\",\"messages\":[]", "messages"},
        {"\"prompt\":\"a\",\"tools\":[]", "tools"},
        {"\"prompt\":\"a\",\"chat_template_kwargs\":{}", "chat_template_kwargs"},
        {"\"prompt\":\"a\",\"add_special_tokens\":0", "add_special_tokens"},
        {"\"prompt\":\"a\",\"prompt_embeds\":\"a\"", "prompt_embeds"},
        {"\"prompt\":\"a\",\"logit_bias\":{\"1\":2}", "logit_bias"},
        {"\"prompt\":[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\"],\"n\":128",
         "n"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(bodies); i++) {
        char body[512];
        (void)snprintf(body, sizeof(body), "{%s}", bodies[i][0]);
        expect_refused(CA_COMPLETIONS, body, bodies[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prompts_are_text_or_ids),
        cmocka_unit_test(echo_with_logprobs_scores_the_prompt),
        cmocka_unit_test(refusals_name_the_field),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
