/* Sampling on the scripted transport: a handle, prompts, and the answers of a server. */
#ifndef SUPPORT_SAMPLEFIX_H
#define SUPPORT_SAMPLEFIX_H

#include <tinkc/sampling.h>

#include "support/clientfix.h"
#include "wire/pb_sample.h"

#define SAMPLE "asample"
#define POLL   "retrieve_future"

static inline tinkc_sampling *samplefix_create(clientfix *f)
{
    tinkc_future *future = tinkc_service_create_sampling(f->service, "m", NULL);
    clientfix_turn(f);
    tinkc_sampling *sampling = NULL;
    assert_int_equal(tinkc_future_take_sampling(&sampling, future, NULL), TINKC_OK);
    tinkc_future_free(&future);
    return sampling;
}

static inline tinkc_model_input *samplefix_prompt(size_t n)
{
    int32_t tokens[256];
    tinkc_model_input *prompt = NULL;
    assert_int_equal(tinkc_model_input_new(&prompt, NULL), TINKC_OK);
    for (size_t i = 0; i < TK_ARRAY_LEN(tokens); i++) {
        tokens[i] = (int32_t)i + 1;
    }
    while (n > 0) {
        size_t piece = TK_MIN(n, TK_ARRAY_LEN(tokens));
        assert_int_equal(tinkc_model_input_add_tokens(prompt, tokens, piece, NULL),
                         TINKC_OK);
        n -= piece;
    }
    return prompt;
}

/* A sample of n tokens has been called and posted; the caller frees the future. */
static inline tinkc_future *samplefix_sample(clientfix *f, tinkc_sampling *sampling,
                                             size_t n)
{
    tinkc_model_input *prompt = samplefix_prompt(n);
    tinkc_future *future = tinkc_sampling_sample(sampling, prompt, NULL, NULL);
    tinkc_model_input_free(&prompt);
    clientfix_turn(f);
    return future;
}

static inline bool samplefix_accept(clientfix *f)
{
    bool was_open = faketransport_answer(&f->net, SAMPLE,
                                         (fakeanswer){.body = "{\"request_id\":\"r\"}"});
    clientfix_turn(f);
    return was_open;
}

/* The encoded result: one sequence of the tokens 7, 8 with prompt logprobs. Static. */
static inline fakeanswer samplefix_result(void)
{
    static const int32_t tokens[] = {7, 8};
    static const float logprobs[] = {-0.5f, -0.25f};
    static const float prompt_logprobs[] = {-1.0f, -2.0f};
    static tk_buf out;
    if (out.n == 0) {
        tk_sequence sequence = {.stop_reason = TK_STOP_LENGTH,
                                .tokens = {tokens, 2},
                                .has_logprobs = true,
                                .logprobs = {logprobs, 2}};
        tk_sample_response response = {.sequences = &sequence,
                                       .sequences_n = 1,
                                       .has_prompt_logprobs = true,
                                       .prompt_logprobs = {prompt_logprobs, 2}};
        tk_buf_init(&out, 4096);
        assert_int_equal(tk_pb_sample_encode(&out, &response, NULL), TINKC_OK);
    }
    return (fakeanswer){.body = out.p,
                        .body_n = out.n,
                        .headers = {"content-type", "application/x-protobuf"}};
}

static inline bool samplefix_finish(clientfix *f)
{
    bool was_open = faketransport_answer(&f->net, POLL, samplefix_result());
    clientfix_turn(f);
    return was_open;
}

#endif
