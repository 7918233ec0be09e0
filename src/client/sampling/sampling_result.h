/* Results of sampling, made from the bytes of a SampleResponse. Immutable; owned by the
 * caller who took them. Thread: any. */
#ifndef CLIENT_SAMPLING_RESULT_H
#define CLIENT_SAMPLING_RESULT_H

#include <tinkc/sampling.h>

#include "base/err.h"
#include "base/str.h"

/* What the server says about tokens. */
typedef struct tk_sampling_result_usage {
    int64_t cached; /* of the prompt */
    int64_t sampled;
} tk_sampling_result_usage;

/* Copies `body`. Returns NULL, with *err set, when it is not a SampleResponse. */
tinkc_samples *tk_sampling_result_read(tk_str body, tk_err *err);
void tk_sampling_result_free(void *samples);
tk_sampling_result_usage tk_sampling_result_usage_of(const tinkc_samples *samples);

/* The log-probabilities of the prompt only; TINKC_E_DECODE when the server sent none. */
tinkc_logprobs *tk_sampling_result_read_logprobs(tk_sampling_result_usage *usage,
                                                 tk_str body, tk_err *err);
void tk_sampling_result_free_logprobs(void *logprobs);

#endif
