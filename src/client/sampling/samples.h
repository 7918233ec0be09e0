/* Results of sampling, made from the bytes of a SampleResponse. Immutable; owned by
 * whoever took them. Thread: any. */
#ifndef CLIENT_SAMPLES_H
#define CLIENT_SAMPLES_H

#include <tinkc/sampling.h>

#include "base/err.h"
#include "base/str.h"

/* What the server says about tokens. */
typedef struct tk_samples_usage {
    int64_t cached; /* of the prompt */
    int64_t sampled;
} tk_samples_usage;

/* Copies `body`. NULL, with *err set, when it is no SampleResponse. */
tinkc_samples *tk_samples_read(tk_str body, tk_err *err);
void tk_samples_free(void *samples);
tk_samples_usage tk_samples_usage_of(const tinkc_samples *samples);

/* The log-probabilities of the prompt only; TINKC_E_DECODE when the server sent none. */
tinkc_logprobs *tk_samples_read_logprobs(tk_samples_usage *usage, tk_str body,
                                         tk_err *err);
void tk_samples_free_logprobs(void *logprobs);

#endif
