/* Episodes in a directory of their own, and requests to them whose answers a test writes. */
#ifndef GATEWAY_EPISODEFIX_H
#define GATEWAY_EPISODEFIX_H

#include "support/fakeclock.h"
#include "support/gwfix.h"

#define USER(text)      "{\"role\": \"user\", \"content\": \"" text "\"}"
#define ASSISTANT(text) "{\"role\": \"assistant\", \"content\": \"" text "\"}"

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

static inline void reopen(fix *f)
{
    gw_episodes_close(f->episodes);
    assert_int_equal(gw_episodes_open(&f->episodes, &f->config, NULL), TINKC_OK);
}

static inline void fix_init(fix *f, const char *template)
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

static inline void fix_dispose(fix *f)
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
static inline tinkc_code run(fix *f, const step *s, gw_plan *plan_out, tk_err *err)
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

static inline gw_plan must(fix *f, const char *messages, const char *sampled)
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

static inline char *export_of(fix *f, const char *episode)
{
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    assert_int_equal(gw_episodes_export(&out, f->episodes, tk_str_of(episode), NULL),
                     TINKC_OK);
    assert_non_null(tk_buf_cstr(&out));
    return out.p;
}

#endif
