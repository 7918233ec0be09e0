/* Results of sampling, made from the bytes of a SampleResponse. Immutable; owned by
 * whoever took them. Thread: any. */
#ifndef CLIENT_SAMPLES_H
#define CLIENT_SAMPLES_H

#include <tinkc/sampling.h>

#include "base/err.h"
#include "base/str.h"

/* Copies `body`. NULL, with *err set, when it is no SampleResponse. */
tinkc_samples *tk_samples_read(tk_str body, tk_err *err);
void tk_samples_free(void *samples);

/* The log-probabilities of the prompt only; TINKC_E_DECODE when the server sent none. */
tinkc_logprobs *tk_samples_read_logprobs(tk_str body, tk_err *err);
void tk_samples_free_logprobs(void *logprobs);

#endif
