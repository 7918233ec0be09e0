/* Episodes at their edges: what a request continues and what it does not, memory, the end
 * of an episode, restarts, threads. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/thread.h"
#include "support/failmem.h"
#include "support/fakeclock.h"
#include "support/gwfix.h"

static const char thinking[] =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.reasoning_content %}<think>"
    "{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}{% for c in m.tool_calls "
    "or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

typedef struct fix {
    char dir[64];
    gw_episodes *episodes;
    gw_episodes_config config;
    gw_model *model;
    fakeclock clock;
} fix;

static void reopen(fix *f)
{
    gw_episodes_close(f->episodes);
    assert_int_equal(gw_episodes_open(&f->episodes, &f->config, NULL), TINKC_OK);
}

static void fix_init(fix *f, const char *template)
{
    char *json = gwfix_tokenizer_json();
    *f = (fix){.episodes = NULL};
    gwfix_directory(f->dir);
    fakeclock_init(&f->clock);
    f->config = (gw_episodes_config){.dir = f->dir, .clock = &f->clock.clock};
    f->model = gwfix_model_new(json, tk_str_of(template), "tinker://a");
    assert_non_null(f->model);
    tk_free(json);
    reopen(f);
}

static void fix_dispose(fix *f)
{
    gw_episodes_close(f->episodes);
    gw_model_release(f->model);
    gwfix_remove(f->dir);
}

/* What one request of a test asks, and what is sampled for it. */
typedef struct step {
    const char *episode, *messages, *sampled;
    bool with_tools;
    bool continue_final;
} step;

/* Plans, samples and records; fills *plan_out (unless NULL) without its ids and text. */
static tinkc_code run(fix *f, const step *s, gw_plan *plan_out, tk_err *err)
{
    ca_request request;
    gw_plan plan;
    tk_tok_ids ids = {NULL, 0, 0, NULL};
    float logprobs[256] = {0};
    int64_t number = -7;
    ca_parser *parser = NULL;
    if (!gwfix_request(&request, tk_str_of(s->messages))) {
        gwfix_request_dispose(&request);
        return TINKC_E_NOMEM;
    }
    request.continue_final = s->continue_final;
    gw_ask ask = {
        .episode = tk_str_of(s->episode), .model = f->model, .request = &request};
    tinkc_code code = gw_episodes_plan(&plan, f->episodes, &ask, err);
    if (code != TINKC_OK) {
        gwfix_request_dispose(&request);
        return code;
    }
    code = tk_tok_encode(f->model->tok, tk_str_of(s->sampled), &ids, err);
    if (code == TINKC_OK) {
        code = gwfix_parse(&parser, f->model, ids.ids, ids.n, s->with_tools);
    }
    if (code == TINKC_OK) {
        gw_sequence sequence = {.ids = ids.ids, .logprobs = logprobs, .n = ids.n};
        gw_turn turn = {&ask, &plan, &sequence, ca_parser_output(parser), 1};
        code = gw_episodes_record(f->episodes, &turn, &number, err);
        ca_parser_free(parser);
    }
    tk_tok_ids_dispose(&ids);
    gw_plan_dispose(&plan);
    if (plan_out != NULL) {
        *plan_out = plan;
    }
    gwfix_request_dispose(&request);
    return code;
}

static gw_plan must(fix *f, const char *messages, const char *sampled)
{
    gw_plan plan = {.n = 0};
    step s = {
        .episode = "e", .messages = messages, .sampled = sampled, .with_tools = true};
    tk_err err = TK_ERR_INIT;
    if (run(f, &s, &plan, &err) != TINKC_OK) {
        fail_msg("%s", err.message);
    }
    return plan;
}

static char *export_of(fix *f, const char *episode)
{
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    assert_int_equal(gw_episodes_export(&out, f->episodes, tk_str_of(episode), NULL),
                     TINKC_OK);
    assert_non_null(tk_buf_cstr(&out));
    return out.p;
}

/* ---- what a request continues ---- */

#define USER(text)      "{\"role\": \"user\", \"content\": \"" text "\"}"
#define ASSISTANT(text) "{\"role\": \"assistant\", \"content\": \"" text "\"}"

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

/* ---- rewards ---- */

/* G-011 */
static void test_rewards(void **state)
{
    fix f;
    double one = 1.5, two = -2, bad = 1 / 0.0;
    tk_str e = TK_STR("e");
    fix_init(&f, gwfix_template);
    (void)must(&f, "[" USER("q") "]", "a<|end|>");
    (void)must(&f, "[" USER("q2") "]", "b<|end|>");
    gw_mark whole = {-1, &one, TK_STR("{\"task\": 3}")}, turn = {1, &two, {NULL, 0}};
    assert_int_equal(gw_episodes_mark(f.episodes, e, &whole, NULL), TINKC_OK);
    assert_int_equal(gw_episodes_mark(f.episodes, e, &turn, NULL), TINKC_OK);
    turn.turn = 2;
    assert_int_equal(gw_episodes_mark(f.episodes, e, &turn, NULL), TINKC_E_MISSING);
    assert_int_equal(gw_episodes_mark(f.episodes, TK_STR("x"), &whole, NULL),
                     TINKC_E_MISSING);
    whole.reward = &bad;
    assert_int_equal(gw_episodes_mark(f.episodes, e, &whole, NULL), TINKC_E_INVALID);
    whole = (gw_mark){-1, NULL, TK_STR("[1]")};
    assert_int_equal(gw_episodes_mark(f.episodes, e, &whole, NULL), TINKC_E_INVALID);
    reopen(&f);
    char *text = export_of(&f, "e");
    assert_non_null(
        strstr(text, "{\"id\":\"e\",\"reward\":1.5,\"metadata\":{\"task\":3}"));
    assert_non_null(
        strstr(text, "\"turns\":[0],\"weights\":[\"tinker://a\"],\"reward\":1.5"));
    assert_non_null(
        strstr(text, "\"turns\":[1],\"weights\":[\"tinker://a\"],\"reward\":-2.0"));
    tk_free(text);
    fix_dispose(&f);
}

/* ---- memory, the end, files ---- */

/* G-010 */
static void test_memory(void **state)
{
    fix f;
    gw_stats stats;
    char *before[6];
    fix_init(&f, gwfix_template);
    f.config.max_bytes = 2 * TK_ARENA_BLOCK_BYTES + 4096;
    reopen(&f);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 6; i++) {
            char id[16], messages[128];
            (void)snprintf(id, sizeof(id), "m%d", i);
            (void)snprintf(messages, sizeof(messages), "[" USER("q%d") "]", round);
            step s = {.episode = id, .messages = messages, .sampled = "a<|end|>"};
            assert_int_equal(run(&f, &s, NULL, NULL), TINKC_OK);
        }
    }
    gw_episodes_stats(&stats, f.episodes);
    assert_int_equal(stats.episodes, 6);
    assert_true(stats.loaded <= 2);
    assert_true(stats.bytes <= f.config.max_bytes);
    for (int i = 0; i < 6; i++) {
        char id[16];
        (void)snprintf(id, sizeof(id), "m%d", i);
        before[i] = export_of(&f, id);
    }
    f.config.max_bytes = 0;
    reopen(&f);
    for (int i = 0; i < 6; i++) {
        char id[16];
        (void)snprintf(id, sizeof(id), "m%d", i);
        char *after = export_of(&f, id);
        assert_string_equal(after, before[i]);
        tk_free(after);
        tk_free(before[i]);
    }
    fix_dispose(&f);
}

/* G-010 */
static void test_in_memory_only(void **state)
{
    fix f;
    tk_err err = TK_ERR_INIT;
    fix_init(&f, gwfix_template);
    f.config = (gw_episodes_config){.max_bytes = 1};
    reopen(&f);
    (void)must(&f, "[" USER("q") "]", "a<|end|>");
    step s = {.episode = "f", .messages = "[" USER("q") "]", .sampled = "a<|end|>"};
    assert_int_equal(run(&f, &s, NULL, &err), TINKC_E_LIMIT);
    assert_int_equal(gw_episodes_drop(f.episodes, TK_STR("e"), NULL), TINKC_OK);
    assert_int_equal(run(&f, &s, NULL, NULL), TINKC_OK);
    fix_dispose(&f);
}

static void test_drop(void **state)
{
    fix f;
    gw_stats stats;
    fix_init(&f, gwfix_template);
    f.config.segment_bytes = 2000;
    f.config.keep_s = 100;
    reopen(&f);
    for (int i = 0; i < 40; i++) { /* one stays, the others come and go */
        char id[16];
        (void)snprintf(id, sizeof(id), "d%d", i);
        step s = {.episode = id, .messages = "[" USER("q") "]", .sampled = "a<|end|>"};
        assert_int_equal(run(&f, &s, NULL, NULL), TINKC_OK);
        fakeclock_advance_ms(&f.clock, 1500);
        if (i > 0) {
            assert_int_equal(gw_episodes_drop(f.episodes, tk_str_of(id), NULL), TINKC_OK);
        }
    }
    gw_episodes_stats(&stats, f.episodes);
    assert_int_equal(stats.episodes, 1);
    assert_true(stats.disk_bytes < 12000); /* old files went, what is needed was moved */
    reopen(&f);
    gw_episodes_stats(&stats, f.episodes);
    assert_int_equal(stats.episodes, 1);
    assert_int_equal(stats.damaged, 0);
    char *text = export_of(&f, "d0");
    assert_non_null(strstr(text, "\"sampled_tokens\":2"));
    tk_free(text);
    fakeclock_advance_ms(&f.clock, 101000);
    gw_episodes_tidy(f.episodes);
    gw_episodes_stats(&stats, f.episodes);
    assert_int_equal(stats.episodes, 0);
    reopen(&f);
    gw_episodes_stats(&stats, f.episodes);
    assert_int_equal(stats.episodes, 0);
    fix_dispose(&f);
}

/* A plan outlives the episode that it was made for. */
static void test_drop_before_record(void **state)
{
    fix f;
    ca_request request;
    gw_plan plan;
    int64_t number = -1;
    int32_t sampled[] = {70, 71};
    float logprobs[] = {-1, -2};
    ca_output output = {.n_calls = 0};
    fix_init(&f, gwfix_template);
    (void)must(&f, "[" USER("q") "]", "a<|end|>");
    assert_true(gwfix_request(
        &request, TK_STR("[" USER("q") "," ASSISTANT("a") "," USER("r") "]")));
    gw_ask ask = {.episode = TK_STR("e"), .model = f.model, .request = &request};
    assert_int_equal(gw_episodes_plan(&plan, f.episodes, &ask, NULL), TINKC_OK);
    assert_int_equal(plan.parent, 0);
    assert_int_equal(gw_episodes_drop(f.episodes, TK_STR("e"), NULL), TINKC_OK);
    gw_sequence sequence = {.ids = sampled, .logprobs = logprobs, .n = 2};
    gw_turn turn = {&ask, &plan, &sequence, &output, 1};
    assert_int_equal(gw_episodes_record(f.episodes, &turn, &number, NULL), TINKC_OK);
    assert_int_equal(number, 0);
    char *text = export_of(&f, "e");
    assert_non_null(strstr(text, "dropped meanwhile"));
    tk_free(text);
    gw_plan_dispose(&plan);
    gwfix_request_dispose(&request);
    fix_dispose(&f);
}

static void test_names(void **state)
{
    static const char *const wrong[] = {"",    ".",    "..",   "a/b",
                                        "a b", "a%62", "\x7f", "\xc3"};
    char large[TK_GW_ID_BYTES + 2];
    memset(large, 'a', sizeof(large));
    for (size_t i = 0; i < TK_ARRAY_LEN(wrong); i++) {
        assert_false(gw_episodes_is_name(tk_str_of(wrong[i])));
    }
    assert_true(gw_episodes_is_name((tk_str){large, TK_GW_ID_BYTES}));
    assert_false(gw_episodes_is_name((tk_str){large, TK_GW_ID_BYTES + 1}));
}

/* A record in the middle is damaged: its turn is lost, the others are as they were. */
static void test_damaged_record(void **state)
{
    fix f;
    char path[128], *bytes = NULL;
    size_t n = 0;
    gw_stats stats;
    fix_init(&f, gwfix_template);
    (void)must(&f, "[" USER("q") "]", "a<|end|>");
    (void)must(&f, "[" USER("damaged") "]", "b<|end|>");
    (void)must(&f, "[" USER("damaged") "," ASSISTANT("b") "," USER("r") "]", "b<|end|>");
    (void)must(&f, "[" USER("q") "," ASSISTANT("a") "," USER("r") "]", "c<|end|>");
    gw_episodes_close(f.episodes);
    f.episodes = NULL;
    (void)snprintf(path, sizeof(path), "%s/episodes-00000001.log", f.dir);
    assert_int_equal(tk_file_read(&bytes, &n, path, TK_MIB, NULL), TINKC_OK);
    char *at = memmem(bytes, n, "\"turn\":1,", 9);
    assert_non_null(at);
    *at ^= 1;
    assert_int_equal(tk_file_replace(path, bytes, n, 0600, NULL), TINKC_OK);
    tk_free(bytes);
    reopen(&f);
    char *text = export_of(&f, "e");
    assert_non_null(strstr(text, "\"lost\":2")); /* and the one that continued it */
    assert_non_null(strstr(text, "\"turns\":[0,3]"));
    tk_free(text);
    gw_episodes_stats(&stats, f.episodes);
    assert_int_equal(stats.damaged, 2);
    assert_int_equal(
        must(&f, "[" USER("q") "," ASSISTANT("a") "," USER("s") "]", "d<|end|>").parent,
        0);
    fix_dispose(&f);
}

/* A file may not grow beyond this; no signal says so. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* G-008: it is refused, and was never there: neither now nor after a restart. */
static void test_turn_that_cannot_be_written(void **state)
{
    fix f;
    char path[128];
    struct stat st;
    tk_err err = TK_ERR_INIT;
    const step second = {.episode = "e",
                         .messages =
                             "[" USER("q") "," ASSISTANT("a") "," USER("lost") "]",
                         .sampled = "x<|end|>"};
    fix_init(&f, gwfix_template);
    (void)must(&f, "[" USER("q") "]", "a<|end|>");
    (void)snprintf(path, sizeof(path), "%s/episodes-00000001.log", f.dir);
    assert_int_equal(stat(path, &st), 0);
    limit_files((rlim_t)st.st_size + 9); /* a part of it is written */
    assert_int_equal(run(&f, &second, NULL, &err), TINKC_E_IO);
    limit_files(RLIM_INFINITY);
    gw_plan plan =
        must(&f, "[" USER("q") "," ASSISTANT("a") "," USER("r") "]", "b<|end|>");
    assert_int_equal(plan.parent, 0);
    char *before = export_of(&f, "e");
    assert_null(strstr(before, "\"turn\":2"));
    assert_non_null(strstr(before, "\"turns\":[0,1]"));
    reopen(&f);
    char *after = export_of(&f, "e");
    assert_string_equal(before, after);
    tk_free(before);
    tk_free(after);
    fix_dispose(&f);
}

/* G-011 */
static void test_export_all(void **state)
{
    fix f;
    char path[128], *text = NULL;
    size_t n = 0;
    fix_init(&f, gwfix_template);
    for (int i = 0; i < 3; i++) {
        char id[16];
        (void)snprintf(id, sizeof(id), "x%d", i);
        step s = {.episode = id, .messages = "[" USER("q") "]", .sampled = "a<|end|>"};
        assert_int_equal(run(&f, &s, NULL, NULL), TINKC_OK);
    }
    (void)snprintf(path, sizeof(path), "%s.jsonl", f.dir);
    assert_int_equal(gw_episodes_export_all(&n, f.episodes, path, NULL), TINKC_OK);
    assert_int_equal(n, 3);
    assert_int_equal(tk_file_read(&text, &n, path, TK_MIB, NULL), TINKC_OK);
    size_t lines = 0;
    for (size_t i = 0; i < n; i++) {
        lines += text[i] == '\n' ? 1 : 0;
    }
    assert_int_equal(lines, 3);
    tk_free(text);
    assert_int_equal(unlink(path), 0);
    fix_dispose(&f);
}

/* ---- threads, and memory that fails ---- */

static void talk(void *user)
{
    fix *f = user;
    for (int i = 0; i < 30; i++) {
        char id[16], messages[256];
        tk_buf out;
        tk_err err = TK_ERR_INIT;
        double reward = i;
        gw_mark mark = {-1, &reward, {NULL, 0}};
        (void)snprintf(id, sizeof(id), "t%d", i % 3);
        (void)snprintf(messages, sizeof(messages),
                       i % 2 == 0 ? "[" USER("q%d") "]"
                                  : "[" USER("q%d") "," ASSISTANT("a") "," USER("r") "]",
                       i / 2 * 2);
        step s = {.episode = id, .messages = messages, .sampled = "a<|end|>"};
        assert_int_equal(run(f, &s, NULL, NULL), TINKC_OK);
        tinkc_code code = gw_episodes_mark(f->episodes, tk_str_of(id), &mark, &err);
        assert_true(code == TINKC_OK || code == TINKC_E_MISSING);
        tk_buf_init(&out, TK_MIB);
        tk_err_clear(&err);
        code = gw_episodes_export(&out, f->episodes, tk_str_of(id), &err);
        assert_true(code == TINKC_OK || code == TINKC_E_MISSING);
        tk_buf_dispose(&out);
        if (i % 10 == 9) {
            tk_err_clear(&err);
            code = gw_episodes_drop(f->episodes, tk_str_of(id), &err);
            assert_true(code == TINKC_OK || code == TINKC_E_MISSING);
        }
    }
}

static void test_threads(void **state)
{
    fix f;
    tk_thread threads[4];
    gw_stats stats;
    fix_init(&f, gwfix_template);
    f.config.clock = NULL;
    f.config.max_bytes = TK_ARENA_BLOCK_BYTES; /* they come and go */
    f.config.segment_bytes = 4000;
    reopen(&f);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(tk_thread_start(&threads[i], "talk", talk, &f, NULL), TINKC_OK);
    }
    for (size_t i = 0; i < 4; i++) {
        tk_thread_join(&threads[i]);
    }
    reopen(&f);
    gw_episodes_stats(&stats, f.episodes);
    assert_true(stats.episodes <= 3);
    assert_int_equal(stats.damaged, 0);
    fix_dispose(&f);
}

static bool scenario(void *user)
{
    fix *f = user;
    tk_err err = TK_ERR_INIT;
    tk_buf out;
    double reward = 1;
    gw_mark mark = {0, &reward, TK_STR("{\"a\": 1}")};
    step first = {.episode = "e",
                  .messages = "[" USER("q") "]",
                  .sampled = "<think>x</think>a<|im_end|>"};
    step next = {.episode = "e",
                 .messages = "[" USER("q") "," ASSISTANT("a") "," USER("r") "]",
                 .sampled = "b<|im_end|>"};
    gw_plan plan = {.parent = -1};
    bool is_ok = true;
    tk_buf_init(&out, TK_MIB);
    for (int round = 0; is_ok && round < 2; round++) {
        is_ok = gw_episodes_open(&f->episodes, &f->config, &err) == TINKC_OK;
        is_ok = is_ok && run(f, round == 0 ? &first : &next, &plan, &err) == TINKC_OK;
        is_ok =
            is_ok && gw_episodes_mark(f->episodes, TK_STR("e"), &mark, &err) == TINKC_OK;
        is_ok =
            is_ok && gw_episodes_export(&out, f->episodes, TK_STR("e"), &err) == TINKC_OK;
        gw_episodes_close(f->episodes);
        f->episodes = NULL;
    }
    is_ok = is_ok && plan.parent == 0;
    tk_buf_dispose(&out);
    gwfix_remove(f->dir);
    return is_ok;
}

static void test_out_of_memory(void **state)
{
    fix f;
    fix_init(&f, thinking);
    gw_episodes_close(f.episodes);
    f.episodes = NULL;
    gwfix_remove(f.dir);
    assert_true(scenario(&f)); /* the tokenizer keeps the words that it has seen */
    assert_true(failmem_sweep(scenario, &f, 1) > 100);
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
        cmocka_unit_test(test_rewards),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_in_memory_only),
        cmocka_unit_test(test_drop),
        cmocka_unit_test(test_drop_before_record),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_damaged_record),
        cmocka_unit_test(test_turn_that_cannot_be_written),
        cmocka_unit_test(test_export_all),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
