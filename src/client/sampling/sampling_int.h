/* The struct behind tinkc_sampling; for sampling.c and the operations on it only. */
#ifndef CLIENT_SAMPLING_INT_H
#define CLIENT_SAMPLING_INT_H

#include <stdatomic.h>

#include "client/sampling/sampling.h"

/* Callers read what never changes and count references; everything else belongs to the
 * loop's thread. The handle owns one reference, each unfinished sample another. */
struct tinkc_sampling {
    atomic_size_t refs;
    tk_core *core;        /* a reference */
    tinkc_sampling *base; /* itself; of a second handle with a context: a reference */
    char *id;             /* the base's, as all below */
    tk_ledger_run *run;
    atomic_int_least64_t next_seq; /* sequence id of the next sample, from 0 */
    /* loop thread */
    tk_budget slots; /* samples under way, with their results (wire.md §5.4) */
    size_t running;
    int64_t progress_ms; /* when one last succeeded, or the first began */
    bool no_stream;      /* the server has no stream_sample */
};

tinkc_sampling *tk_sampling_ref(tinkc_sampling *sampling);

/* The sequence id of the next attempt. Thread: any. */
int64_t tk_sampling_next_seq(tinkc_sampling *sampling);

/* ---- the shared right to submit; loop thread ---- */

/* Asks the server to answer 429 instead of queueing. */
#define TK_SAMPLING_BACKPRESSURE "X-Tinker-Sampling-Backpressure: 1"

tk_limiter_limits tk_sampling_limits(const tk_core *core);

/* Notes a push-back: pauses every sample of the same limiter for as long as the server
 * asks for, or as a request of this size deserves. */
void tk_sampling_push_back(tk_core *core, const tinkc_future *future,
                           int64_t estimate_bytes, const tk_retry_outcome *outcome);

#endif
