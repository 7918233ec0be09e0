/* Results of sampling, made from the bytes of a SampleResponse. Immutable; owned by the
 * caller who took them. Thread: any. */
#ifndef CLIENT_SAMPLING_RESULT_H
#define CLIENT_SAMPLING_RESULT_H

#include <tinkc/sampling.h>

#include "base/err.h"
#include "base/str.h"
#include "client/call/poll.h"
#include "wire/field.h"

/* What the server says about tokens. */
typedef struct tk_sampling_result_usage {
    int64_t cached; /* of the prompt */
    int64_t sampled;
} tk_sampling_result_usage;

/* What was asked for and cannot be left out: a server that does not know an option
 * samples without it. */
typedef struct tk_sampling_result_wanted {
    bool alt_tokens;
    int64_t last_n;  /* of the prompt's tokens are scored; 0: all */
    size_t prompt_n; /* tokens of a prompt that is scored; 0: none is, or not known */
} tk_sampling_result_wanted;

/* Copies the result, protobuf or JSON, and the ids of its sequences, which are left out
 * unless there is one for each. Values of a prompt are aligned with its tokens: a server
 * that sends none for the first token leaves out one entry, which becomes NaN, or an
 * empty row of a top-k table. Returns NULL with *err set: TINKC_E_DECODE when it is not a
 * SampleResponse or has another number of entries, TINKC_E_UNSUPPORTED when something
 * wanted is missing. */
tinkc_samples *tk_sampling_result_read(const tk_poll_result *result, tk_strs ids,
                                       const tk_sampling_result_wanted *wanted,
                                       tk_err *err);
void tk_sampling_result_free(void *samples);
tk_sampling_result_usage tk_sampling_result_usage_of(const tinkc_samples *samples);

/* The log-probabilities of the prompt only; TINKC_E_DECODE when the server sent none,
 * TINKC_E_UNSUPPORTED as above. */
tinkc_logprobs *tk_sampling_result_read_logprobs(tk_sampling_result_usage *usage,
                                                 const tk_poll_result *result,
                                                 const tk_sampling_result_wanted *wanted,
                                                 tk_err *err);
void tk_sampling_result_free_logprobs(void *logprobs);

#endif
