/* The struct behind tinkc_sampling; for sampling.c and the operations on it only. */
#ifndef CLIENT_SAMPLING_INT_H
#define CLIENT_SAMPLING_INT_H

#include <stdatomic.h>

#include "client/sampling.h"

/* Callers read what never changes and count references; everything else belongs to the
 * loop's thread. The handle owns one reference, each unfinished sample another. */
struct tinkc_sampling {
    atomic_size_t refs;
    tk_core *core;        /* a reference */
    tinkc_sampling *base; /* itself; of a second handle with a context: a reference */
    char *id;             /* the base's, as all below */
    atomic_int_least64_t next_seq; /* sequence id of the next sample, from 0 */
    /* loop thread */
    tk_budget slots; /* samples under way, with their results (wire.md §5.4) */
    size_t running;
    int64_t progress_ms; /* when one last succeeded, or the first began */
    bool no_stream;      /* the server has no stream_sample */
};

tinkc_sampling *tk_sampling_ref(tinkc_sampling *sampling);

/* An ordinary sample of a request that is encoded already, with a seq_id of its own.
 * Takes *body (empty afterwards) in every case. Thread: any. */
tinkc_future *tk_sample_resend(tinkc_sampling *sampling, tk_buf *body,
                               int64_t estimate_bytes);

#endif
