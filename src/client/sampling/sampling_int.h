/* The struct behind tinkc_sampling; for sampling.c and the operations on it only. */
#ifndef CLIENT_SAMPLING_INT_H
#define CLIENT_SAMPLING_INT_H

#include <stdatomic.h>

#include "client/sampling/sampling.h"
#include "wire/msg_sample.h"

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

/* What a sample may cost in tokens. */
typedef struct tk_sample_cost {
    int64_t prompt;
    int64_t most; /* with its continuations */
} tk_sample_cost;

/* Of a request whose prompt is not empty. TINKC_E_BUDGET when there is a budget and it
 * names no max_tokens. */
TK_NODISCARD tinkc_code tk_sample_cost_of(tk_sample_cost *out, tinkc_sampling *sampling,
                                          const tk_sample_request *request, tk_err *err);
TK_NODISCARD tinkc_code tk_sample_reserve(tk_ledger_claim *claim,
                                          tinkc_sampling *sampling,
                                          const tk_sample_cost *cost, tk_err *err);

/* A done sample: `cached` of its prompt were found in the server's cache. */
void tk_sample_spend(tk_ledger_claim *claim, const tk_sample_cost *cost, int64_t cached,
                     int64_t sampled, const tinkc_future *future);

/* An ordinary sample of a request that is encoded already, with a seq_id of its own.
 * Takes *body (empty afterwards) in every case. Thread: any. */
tinkc_future *tk_sample_resend(tinkc_sampling *sampling, tk_buf *body,
                               int64_t estimate_bytes, const tk_sample_cost *cost);

#endif
