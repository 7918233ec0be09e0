/* Encodes a sample once and renumbers it in place: a retry costs a memmove of the few
 * bytes after the number, not another encoding of the prompt. */
#include "client/sampling/sample_body.h"

#include <string.h>

#include "base/json_num.h"
#include "client/core/config_int.h"
#include "client/values/params.h"
#include "client/values/types.h"
#include "wire/input.h"

#define AROUND_BYTES 512       /* the request without its tokens */
#define SEQ_WIDEST   INT64_MAX /* reserves room for any number */

void tk_sample_body_init(tk_sample_body *body)
{
    *body = (tk_sample_body){.seq = {.name = "seq_id"}};
    tk_buf_init(&body->text, TK_BODY_MAX_BYTES);
}

void tk_sample_body_dispose(tk_sample_body *body)
{
    tk_buf_dispose(&body->text);
}

static tinkc_code count_tokens(tk_sample_body *body, tk_sampler *sampler,
                               const tk_sample_request *request, tk_err *err)
{
    int64_t most = tk_params_most_sampled(request);
    if (most < 0 && tk_ledger_has_budget(tk_core_ledger(sampler->core))) {
        return tk_err_set(err, TINKC_E_BUDGET,
                          "with a token budget a sample needs max_tokens");
    }
    body->prompt_tokens = tk_ledger_count(&request->prompt);
    body->most_tokens = body->prompt_tokens + TK_MIN(TK_MAX(most, 0), TK_LEDGER_MOST);
    return TINKC_OK;
}

/* Only samples of a session are numbered; the idempotency key distinguishes the
 * others. */
static void set_target(tk_sample_request *request, const tk_sampler *sampler)
{
    tk_f_str id = {TK_SET, tk_str_of(sampler->id)};
    switch (sampler->source) {
    case TK_SAMPLER_PATH:
        request->model_path = id;
        return;
    case TK_SAMPLER_BASE_MODEL:
        request->base_model = id;
        return;
    case TK_SAMPLER_SESSION:
        break;
    }
    request->sampling_session_id = id;
    request->seq_id = (tk_f_i64){TK_SET, SEQ_WIDEST};
}

/* SDK 0.36 sends these whatever they are; 0.25 does not have them. */
static void set_defaults(tk_sample_request *request, const tk_sampler *sampler)
{
    if (!tk_config_sdk_at_least(tk_core_config(sampler->core), 36)) {
        return;
    }
    tk_f_i64 *counts[] = {&request->topk_sample_logprobs, &request->prompt_alt_tokens_k};
    for (size_t i = 0; i < TK_ARRAY_LEN(counts); i++) {
        if (counts[i]->is == TK_UNSET) {
            *counts[i] = (tk_f_i64){TK_SET, 0};
        }
    }
    if (request->record_stability_info.is == TK_UNSET) {
        request->record_stability_info = (tk_f_bool){TK_SET, false};
    }
}

/* Tokens of a prompt that is text alone; 0 otherwise: what an image counts is the server's
 * to say. */
static size_t text_length(const tk_model_input *prompt)
{
    size_t n = 0;
    for (size_t i = 0; i < prompt->n; i++) {
        if (prompt->chunks[i].kind != TK_CHUNK_TEXT) {
            return 0;
        }
        n += prompt->chunks[i].tokens.n;
    }
    return n;
}

tinkc_code tk_sample_body_encode(tk_sample_body *body, tk_sampler *sampler,
                                 tk_sample_request *request,
                                 const tinkc_model_input *prompt, tk_err *err)
{
    request->prompt = *tk_types_input(prompt);
    set_target(request, sampler);
    set_defaults(request, sampler);
    bool is_scored = request->prompt_logprobs.v || request->topk_prompt_logprobs.v > 0;
    body->wanted = (tk_sampling_result_wanted){
        .alt_tokens = request->prompt_alt_tokens_k.v > 0,
        .last_n = request->prompt_logprobs_last_n.v,
        .prompt_n = is_scored ? text_length(&request->prompt) : 0};
    if (request->prompt.n == 0) {
        return tk_err_set(err, TINKC_E_INVALID, "the prompt is empty");
    }
    size_t estimate = tk_model_input_bytes(&request->prompt, TK_SAMPLE_TOKEN_BYTES);
    body->estimate_bytes = (int64_t)TK_MIN(estimate, (size_t)INT64_MAX);
    /* Token ids take about six of the ten bytes that the limiter counts for each. */
    if (estimate < TK_BODY_MAX_BYTES / 2 &&
        tk_buf_reserve(&body->text, estimate / 10 * 6 + AROUND_BYTES) == NULL) {
        return tk_buf_status(&body->text, err);
    }
    tinkc_code code = tk_schema_encode_marked(&body->text, &body->seq,
                                              &tk_msg_sample_request, request, err);
    return code == TINKC_OK ? count_tokens(body, sampler, request, err) : code;
}

void tk_sample_body_number(tk_sample_body *body, int64_t seq_id)
{
    if (body->seq.n == 0) {
        return; /* only samples of a session are numbered */
    }
    char digits[TK_JSON_NUM_BYTES];
    size_t n = tk_json_num_put_i64(digits, seq_id);
    char *at = body->text.p + body->seq.at;
    size_t after = body->text.n - body->seq.at - body->seq.n;
    memmove(at + n, at + body->seq.n, after);
    memcpy(at, digits, n);
    body->text.n = body->seq.at + n + after;
    body->seq.n = n;
}

tinkc_code tk_sample_body_reserve(tk_ledger_claim *claim, const tk_sample_body *body,
                                  tk_sampler *sampler, tk_err *err)
{
    return tk_ledger_reserve(claim, tk_core_ledger(sampler->core), sampler->run,
                             body->most_tokens, err);
}

void tk_sample_body_spend(tk_ledger_claim *claim, const tk_sample_body *body,
                          int64_t cached, int64_t sampled, const tinkc_future *future)
{
    cached = TK_MAX(TK_MIN(cached, body->prompt_tokens), 0);
    tk_ledger_use use = {.tokens = {[TINKC_TOKENS_PREFILL] = body->prompt_tokens - cached,
                                    [TINKC_TOKENS_CACHED_PREFILL] = cached,
                                    [TINKC_TOKENS_SAMPLED] = sampled}};
    tk_ledger_spend(claim, body->most_tokens, &use, tk_future_span(future));
}
