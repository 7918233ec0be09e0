/* POST /v1/completions: prompts as text or as token ids, without a template. */
#include "chatapi/ca_read.h"

/* ---- the prompt ---- */

static bool read_one(ca_reader *r, const ca_at *at, const tk_json *v, ca_prompt *out)
{
    *out = (ca_prompt){.is_ids = v->type != TK_JSON_STRING};
    if (!out->is_ids) {
        out->text = v->as.string;
        return true;
    }
    if (!tk_json_is_array(v)) {
        return ca_refuse_type(r, at, v, "a string or an array of token ids");
    }
    return ca_to_ids(r, at, v, &out->ids, &out->n) &&
           (out->n > 0 || ca_refuse(r, at, "is empty"));
}

static bool take_prompt(ca_reader *r, const ca_at *at, const tk_json *v)
{
    const tk_json first = tk_json_at(v, 0);
    bool is_list = tk_json_is_array(v) && tk_json_len(v) > 0 &&
                   (first.type == TK_JSON_STRING || tk_json_is_array(&first));
    size_t n = is_list ? tk_json_len(v) : 1;
    if (n > TK_CA_PROMPTS_MAX) {
        return ca_refuse(r, at, "has more than %d prompts", TK_CA_PROMPTS_MAX);
    }
    ca_prompt *prompts = tk_arena_array(&r->out->arena, n, sizeof(*prompts));
    if (prompts == NULL) {
        return ca_refuse_memory(r);
    }
    if (!is_list && !read_one(r, at, v, &prompts[0])) {
        return false;
    }
    for (size_t i = 0; is_list && i < n; i++) {
        const ca_at here = {at, NULL, i};
        const tk_json item = tk_json_at(v, i);
        if (!read_one(r, &here, &item, &prompts[i])) {
            return false;
        }
    }
    r->out->prompts = prompts;
    r->out->n_prompts = n;
    return true;
}

/* ---- other fields ---- */

static bool take_logprobs(ca_reader *r, const ca_at *at, const tk_json *v)
{
    r->out->params.logprobs = true;
    return ca_take_top_logprobs(r, at, v);
}

static bool take_echo(ca_reader *r, const ca_at *at, const tk_json *v)
{
    return ca_to_bool(r, at, v, &r->out->params.echo);
}

static bool take_add_special(ca_reader *r, const ca_at *at, const tk_json *v)
{
    bool add;
    bool is_good = ca_to_bool(r, at, v, &add);
    r->out->params.no_special = is_good && !add;
    return is_good;
}

static bool take_suffix(ca_reader *r, const ca_at *at, const tk_json *v)
{
    tk_str text;
    return ca_to_str(r, at, v, &text) &&
           (text.n == 0 || ca_refuse(r, at, "is not supported"));
}

static bool take_best_of(ca_reader *r, const ca_at *at, const tk_json *v)
{
    size_t best, n = 1;
    const ca_at other = {NULL, "n", 0};
    const tk_json *given = ca_get(r->out->body, "n");
    return ca_to_size(r, at, v, 1, TK_CA_CHOICES_MAX, &best) &&
           (given == NULL || ca_to_size(r, &other, given, 1, TK_CA_CHOICES_MAX, &n)) &&
           (best == n || ca_refuse(r, at, "is not supported (only what n is)"));
}

static const ca_field fields[] = {
    {"prompt", take_prompt},
    {"max_tokens", ca_take_max_tokens},
    {"stop", ca_take_stop},
    {"n", ca_take_n},
    {"logprobs", take_logprobs},
    {"prompt_logprobs", ca_take_prompt_logprobs},
    {"return_token_ids", ca_take_return_token_ids},
    {"echo", take_echo},
    {"stream_options", ca_take_stream_options},
    {"suffix", take_suffix},
    {"best_of", take_best_of},
    {"frequency_penalty", ca_take_only_zero},
    {"presence_penalty", ca_take_only_zero},
    {"logit_bias", ca_take_only_empty},
    {"response_format", ca_take_text_format},
    {"add_special_tokens", take_add_special},
    {"return_tokens_as_token_ids", ca_take_only_false},
    {"structured_outputs", ca_take_refused},
    {"truncate_prompt_tokens", ca_take_refused},
    {"allowed_token_ids", ca_take_refused},
    {"bad_words", ca_take_refused},
    {"logits_processors", ca_take_refused},
    {"prompt_embeds", ca_take_refused},
    {NULL, NULL},
};

bool ca_read_text(ca_reader *r, const tk_json *body)
{
    const ca_at prompt = {NULL, "prompt", 0};
    ca_params *params = &r->out->params;
    if (!ca_read_fields(r, body, fields)) {
        return false;
    }
    if (r->out->n_prompts == 0) {
        return ca_refuse(r, &prompt, "is missing");
    }
    if (!params->has_max_tokens) { /* OpenAI's default of this endpoint */
        params->has_max_tokens = true;
        params->max_tokens = 16;
    }
    if (params->echo && params->logprobs && !params->prompt_logprobs) {
        params->prompt_logprobs = true;
        params->prompt_top_logprobs = params->top_logprobs;
    }
    return true;
}
