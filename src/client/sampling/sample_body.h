/* The encoded request of one sample: its text, where the sequence id is in it, and what
 * it may cost. Encoded on the caller's thread; each attempt then gets its own number. */
#ifndef CLIENT_SAMPLE_BODY_H
#define CLIENT_SAMPLE_BODY_H

#include <tinkc/sampling.h>

#include "client/sampling/sampler.h"
#include "client/sampling/sampling_result.h"
#include "wire/msg_sample.h"

typedef struct tk_sample_body {
    tk_buf text;
    tk_schema_mark seq;
    int64_t estimate_bytes; /* what the limiter counts */
    int64_t prompt_tokens;
    int64_t most_tokens; /* of the prompt and everything that may be sampled */
    tk_sampling_result_wanted wanted; /* what the answer must have */
} tk_sample_body;

void tk_sample_body_init(tk_sample_body *body);
void tk_sample_body_dispose(tk_sample_body *body);

/* Encodes `request` with this prompt, for this sampling session. TINKC_E_INVALID: the
 * prompt is empty, or a value is refused; TINKC_E_BUDGET: there is a token budget and the
 * request has no max_tokens. Thread: the caller's. */
TK_NODISCARD tinkc_code tk_sample_body_encode(tk_sample_body *body, tk_sampler *sampler,
                                              tk_sample_request *request,
                                              const tinkc_model_input *prompt,
                                              tk_err *err);

/* Replaces the sequence id. Cannot fail: encoding reserved room for the longest
 * number. */
void tk_sample_body_number(tk_sample_body *body, int64_t seq_id);

/* Reserves what one attempt may cost. TINKC_E_BUDGET. */
TK_NODISCARD tinkc_code tk_sample_body_reserve(tk_ledger_claim *claim,
                                               const tk_sample_body *body,
                                               tk_sampler *sampler, tk_err *err);

/* Books a finished attempt: `cached` tokens of its prompt were in the server's cache. */
void tk_sample_body_spend(tk_ledger_claim *claim, const tk_sample_body *body,
                          int64_t cached, int64_t sampled, const tinkc_future *future);

/* Starts a sample of an encoded request, with its own sequence id (defined in sample.c).
 * Takes *body, which is empty afterwards, in every case. Thread: any. */
tinkc_future *tk_sample_body_send(tk_sample_body *body, const tinkc_sampling *sampling);

#endif
