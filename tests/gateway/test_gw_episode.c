/* Episodes: what a request continues and what it does not. */
#include "gateway/episodefix.h"

/* ---- what a request continues ---- */

/* G-002 */
static void test_reasoning(void **state)
{
    fix f;
    fix_init(&f, thinking);
    assert_int_equal(must(&f, "[" USER("q") "]", "<think>hm</think>yes<|im_end|>").origin,
                     GW_ORIGIN_FIRST);
    /* left out, kept, changed */
    gw_plan plan =
        must(&f, "[" USER("q") "," ASSISTANT("yes") "," USER("r") "]", "a<|im_end|>");
    assert_int_equal(plan.parent, 0);
    assert_false(plan.parent_is_raw); /* the message itself, with its reasoning */
    assert_int_equal(
        must(&f,
             "[" USER("q") ",{\"role\": \"assistant\", \"content\": \"yes\", "
                           "\"reasoning_content\": \"hm\"}," USER("r") "]",
             "a<|im_end|>")
            .parent,
        0);
    plan = must(&f,
                "[" USER("q") ",{\"role\": \"assistant\", \"content\": \"yes\", "
                              "\"reasoning_content\": \"no\"}," USER("r") "]",
                "a<|im_end|>");
    assert_int_equal(plan.parent, -1);
    assert_non_null(strstr(plan.why, "reasoning"));
    plan = must(&f, "[" USER("q") "," ASSISTANT("yes!") "," USER("r") "]", "a<|im_end|>");
    assert_int_equal(plan.origin, GW_ORIGIN_BRANCH);
    fix_dispose(&f);
}

/* G-003: the template writes a call with other blanks than the model: what was sampled
 * stays. */
static void test_tool_call_as_sampled(void **state)
{
    fix f;
    fix_init(&f, thinking);
    (void)must(&f, "[" USER("q") "]",
               "so <tool_call>\n{\"name\":\"f\",  \"arguments\":{\"x\":1}}\n</tool_call>"
               "<|im_end|>");
    static const char called[] =
        "[" USER("q") ",{\"role\": \"assistant\", \"content\": \"so\", \"tool_calls\": "
                      "[{\"id\": \"c\", \"type\": \"function\", \"function\": {\"name\": "
                      "\"f\", \"arguments\": {\"x\": 1}}}]},{\"role\": \"tool\", "
                      "\"content\": \"2\"}]";
    gw_plan plan = must(&f, called, "two<|im_end|>");
    assert_int_equal(plan.parent, 0);
    assert_true(plan.parent_is_raw);
    reopen(&f);
    /* The one after it renders the call as before. */
    char next[sizeof(called) + 128];
    (void)snprintf(next, sizeof(next), "%.*s,%s,%s]", (int)sizeof(called) - 2, called,
                   ASSISTANT("two"), USER("thanks"));
    plan = must(&f, next, "yes<|im_end|>");
    assert_int_equal(plan.parent, 1);
    assert_false(plan.parent_is_raw);
    fix_dispose(&f);
}

/* gpt-oss: reads `thinking`, refuses it beside content and calls, and refuses its own
 * channels inside content. */
static const char harmony[] =
    "{% for m in messages %}{% if '<|channel|>' in m.content %}{{ raise_exception('no') }}"
    "{% endif %}{% if m.tool_calls %}{% if m.content and m.thinking %}{{ "
    "raise_exception('both') }}{% endif %}<|start|>assistant<|channel|>analysis<|message|>{{ "
    "m.content or m.thinking }}<|end|><|start|>assistant<|channel|>commentary to=functions.{{ "
    "m.tool_calls[0].function.name }} <|constrain|>json<|message|>{{ "
    "m.tool_calls[0].function.arguments | tojson }}<|call|>{% else %}<|start|>{{ m.role }}"
    "<|message|>{{ m.content }}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt "
    "%}<|start|>assistant{% endif %}";

/* G-004 */
static void test_thinking_of_harmony(void **state)
{
    fix f;
    fix_init(&f, harmony);
    assert_int_equal(f.model->format.tools, CA_TOOLS_HARMONY);
    (void)must(
        &f, "[" USER("q") "]",
        "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary "
        "to=functions.f <|constrain|>json<|message|>{\"x\": 1}<|call|>");
#define CALLED(content, more)                                                            \
    "[" USER(                                                                            \
        "q") ",{\"role\": \"assistant\", \"content\": \"" content "\"," more             \
             "\"tool_calls\": [{\"id\": \"c\", \"type\": \"function\", \"function\": "   \
             "{\"name\": \"f\", \"arguments\": {\"x\": 1}}}]},{\"role\": \"tool\", "     \
             "\"content\": \"2\"}]"
    /* the agent leaves the reasoning out, or gives it */
    assert_int_equal(must(&f, CALLED("", ""), "two<|end|>").parent, 0);
    assert_int_equal(
        must(&f, CALLED("", "\"reasoning_content\": \"hm\","), "two<|end|>").parent, 0);
    /* content and reasoning beside calls: the template gets only the content */
    assert_int_equal(
        must(&f, CALLED("so", "\"reasoning_content\": \"hm\","), "two<|end|>").origin,
        GW_ORIGIN_BRANCH);
#undef CALLED
    fix_dispose(&f);
}

static void test_continued_message(void **state)
{
    fix f;
    gw_plan plan;
    fix_init(&f, thinking);
    step s = {.episode = "e",
              .messages = "[" USER("q") "," ASSISTANT("The answer") "]",
              .sampled = " is 4<|im_end|>",
              .continue_final = true};
    assert_int_equal(run(&f, &s, NULL, NULL), TINKC_OK);
    plan =
        must(&f, "[" USER("q") "," ASSISTANT("The answer is 4") "," USER("r") "]", "a");
    assert_int_equal(plan.parent, 0);
    fix_dispose(&f);
}

/* Without an end of its own, the template's text ends the turn. */
static void test_no_end(void **state)
{
    fix f;
    fix_init(&f, thinking);
    (void)must(&f, "[" USER("q") "]", "half an ans");
    gw_plan plan =
        must(&f, "[" USER("q") "," ASSISTANT("half an ans") "," USER("go on") "]", "wer");
    assert_int_equal(plan.parent, 0);
    fix_dispose(&f);
}

/* G-005 */
static void test_other_tokenizer(void **state)
{
    fix f;
    tk_str json, config;
    fix_init(&f, gwfix_template);
    (void)must(&f, "[" USER("q") "]", "a<|end|>");
    gw_model_release(f.model);
    assert_true(tk_tok_embed_find(&json, &config, TK_STR("tinkc/pebble-llama-2m")));
    char *text = tk_strndup(json.p, json.n);
    f.model = gwfix_model_new(text, tk_str_of(gwfix_template), "other");
    tk_free(text);
    gw_plan plan = must(&f, "[" USER("q") "," ASSISTANT("a") "," USER("r") "]", "b");
    assert_int_equal(plan.origin, GW_ORIGIN_BRANCH);
    assert_non_null(strstr(plan.why, "tokenizer"));
    fix_dispose(&f);
}

/* G-005: the same tokenizer with other weights goes on, and the export names both. */
static void test_other_weights(void **state)
{
    fix f;
    fix_init(&f, gwfix_template);
    (void)must(&f, "[" USER("q") "]", "a<|end|>");
    tk_free(f.model->weights);
    f.model->weights = tk_strdup("tinker://b");
    gw_plan plan =
        must(&f, "[" USER("q") "," ASSISTANT("a") "," USER("r") "]", "b<|end|>");
    assert_int_equal(plan.parent, 0);
    char *text = export_of(&f, "e");
    assert_non_null(strstr(text, "\"weights\":[\"tinker://a\",\"tinker://b\"]"));
    tk_free(text);
    fix_dispose(&f);
}

/* ---- completions ---- */

static tinkc_code complete(fix *f, ca_prompt prompt, const char *sampled, gw_plan *out)
{
    ca_request request = {.dialect = CA_COMPLETIONS, .prompts = &prompt, .n_prompts = 1};
    gw_plan plan;
    tk_tok_ids ids = {NULL, 0, 0, NULL};
    float logprobs[64] = {0};
    int64_t number;
    gw_ask ask = {.episode = TK_STR("c"), .model = f->model, .request = &request};
    tinkc_code code = gw_episodes_plan(&plan, f->episodes, &ask, NULL);
    assert_int_equal(code, TINKC_OK);
    assert_int_equal(tk_tok_encode(f->model->tok, tk_str_of(sampled), &ids, NULL),
                     TINKC_OK);
    gw_sequence sequence = {.ids = ids.ids, .logprobs = logprobs, .n = ids.n};
    gw_turn turn = {&ask, &plan, &sequence, NULL, 1};
    code = gw_episodes_record(f->episodes, &turn, &number, NULL);
    *out = plan;
    tk_tok_ids_dispose(&ids);
    return code;
}

static void test_completions(void **state)
{
    fix f;
    gw_plan first, next, ids;
    fix_init(&f, gwfix_template);
    assert_int_equal(
        complete(&f, (ca_prompt){.text = TK_STR("Once upon")}, " a time", &first),
        TINKC_OK);
    assert_int_equal(complete(&f, (ca_prompt){.text = TK_STR("Once upon a time there")},
                              " was", &next),
                     TINKC_OK);
    assert_int_equal(next.parent, 0);
    assert_memory_equal(next.ids, first.ids, first.n * sizeof(int32_t));
    int32_t prompt[64];
    memcpy(prompt, next.ids, next.n * sizeof(int32_t));
    tk_tok_ids was = {NULL, 0, 0, NULL};
    assert_int_equal(tk_tok_encode(f.model->tok, TK_STR(" was"), &was, NULL), TINKC_OK);
    memcpy(prompt + next.n, was.ids, was.n * sizeof(int32_t));
    prompt[next.n + was.n] = 77;
    assert_int_equal(
        complete(&f, (ca_prompt){.is_ids = true, .ids = prompt, .n = next.n + was.n + 1},
                 " x", &ids),
        TINKC_OK);
    assert_int_equal(ids.parent, 1);
    assert_int_equal(ids.n_shared, next.n + was.n);
    tk_tok_ids_dispose(&was);
    gw_plan_dispose(&first);
    gw_plan_dispose(&next);
    gw_plan_dispose(&ids);
    char *text = export_of(&f, "c");
    assert_non_null(strstr(text, "\"turns\":[0,1,2]"));
    tk_free(text);
    fix_dispose(&f);
}

/* A model whose tokenizer puts <|endoftext|>, id 0, in front of texts. */
static gw_model *model_with_bos(void)
{
    static const char none[] = "\"post_processor\": null";
    char *json = gwfix_tokenizer_json();
    tk_buf out;
    tk_buf_init(&out, 16 * TK_MIB);
    const char *at = strstr(json, none);
    assert_non_null(at);
    tk_buf_put(&out, json, (size_t)(at - json));
    tk_buf_printf(&out,
                  "\"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": ["
                  "{\"SpecialToken\": {\"id\": \"<|endoftext|>\", \"type_id\": 0}}, "
                  "{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}], \"pair\": [], "
                  "\"special_tokens\": {\"<|endoftext|>\": {\"id\": \"<|endoftext|>\", "
                  "\"ids\": [0], \"tokens\": [\"<|endoftext|>\"]}}}");
    tk_buf_put(&out, at + sizeof(none) - 1, strlen(at + sizeof(none) - 1));
    assert_non_null(tk_buf_cstr(&out));
    gw_model *model = gwfix_model_new(out.p, tk_str_of(gwfix_template), "tinker://b");
    assert_non_null(model);
    tk_buf_dispose(&out);
    tk_free(json);
    return model;
}

/* What continues ids that are there has no BOS of its own. */
static void test_completions_without_special_tokens(void **state)
{
    fix f;
    tk_err err = TK_ERR_INIT;
    gw_plan with, without, bad;
    ca_prompt prompt = {.text = TK_STR("Once upon")};
    ca_request request = {.dialect = CA_COMPLETIONS, .prompts = &prompt, .n_prompts = 1};
    fix_init(&f, gwfix_template);
    gw_model *model = model_with_bos();
    gw_ask ask = {.model = model, .request = &request};
    assert_int_equal(gw_episodes_plan(&with, f.episodes, &ask, NULL), TINKC_OK);
    request.params.no_special = true;
    assert_int_equal(gw_episodes_plan(&without, f.episodes, &ask, NULL), TINKC_OK);
    assert_int_equal(with.n, without.n + 1);
    assert_int_equal(with.ids[0], 0);
    assert_memory_equal(with.ids + 1, without.ids, without.n * sizeof(int32_t));
    ask.episode = TK_STR("c");
    assert_int_equal(gw_episodes_plan(&bad, f.episodes, &ask, &err), TINKC_E_INVALID);
    assert_non_null(strstr(err.message, "add_special_tokens"));
    gw_plan_dispose(&with);
    gw_plan_dispose(&without);
    gw_model_release(model);
    fix_dispose(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reasoning),
        cmocka_unit_test(test_tool_call_as_sampled),
        cmocka_unit_test(test_thinking_of_harmony),
        cmocka_unit_test(test_continued_message),
        cmocka_unit_test(test_no_end),
        cmocka_unit_test(test_other_tokenizer),
        cmocka_unit_test(test_other_weights),
        cmocka_unit_test(test_completions),
        cmocka_unit_test(test_completions_without_special_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
