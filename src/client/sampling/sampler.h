/* One sampling session at the server (or a model without one): its id, its sequence ids,
 * the places for samples that are running. Shared by its handles (a tinkc_sampling and
 * the second handles with a context) and by every sample. Reference-counted.
 *
 * Callers read what never changes and count references and sequence ids; everything else
 * belongs to the loop's thread. */
#ifndef CLIENT_SAMPLER_H
#define CLIENT_SAMPLER_H

#include <stdatomic.h>

#include "client/call/poll_group.h"
#include "client/core/core.h"

/* What is sampled from, and so what the id is. Only a session numbers its samples; the
 * other two have no state at the server. */
typedef enum tk_sampler_source {
    TK_SAMPLER_SESSION,
    TK_SAMPLER_PATH,      /* tinker://... */
    TK_SAMPLER_BASE_MODEL /* its name */
} tk_sampler_source;

typedef struct tk_sampler {
    atomic_size_t refs;
    tk_core *core; /* a reference */
    tk_sampler_source source;
    char *id;
    tk_ledger_run *run;
    int64_t clone; /* which client of the session this is: 0 made it (docs/protocol.md
                    * §4.1) */
    atomic_int_least64_t next_seq; /* sequence id of the next attempt */
    /* loop thread */
    tk_poll_group *polls; /* of its samples; NULL: each polls itself, or none was sent */
    tk_budget slots;      /* samples that are running, with their results */
    int64_t progress_ms;  /* when one last succeeded; 0: never */
} tk_sampler;

/* Makes one for a sampling session that the server has made. TINKC_E_DECODE for an empty
 * id, TINKC_E_NOMEM. Loop thread (it reads the flags). */
TK_NODISCARD tinkc_code tk_sampler_new(tk_sampler **out, tk_core *core, tk_str id,
                                       tk_err *err);

/* Thread: any. The last reference frees it. */
tk_sampler *tk_sampler_ref(tk_sampler *sampler);
void tk_sampler_unref(tk_sampler **sampler); /* sets it to NULL; accepts a NULL inside */

/* Makes it the client number `clone` of its session, which numbers its samples from
 * clone * TK_CLONE_SEQS on. Before the first sample. */
void tk_sampler_set_clone(tk_sampler *sampler, int64_t clone);

/* Whether the server offers one poll for all samples of a session, to clients of this
 * level. Loop thread. */
bool tk_sampler_is_grouped(const tk_core *core);

/* Returns the group that polls for its samples, or NULL when each has to poll itself: the
 * server does not offer it, or has refused it. Loop thread. */
tk_poll_group *tk_sampler_polls(tk_sampler *sampler);

/* Returns the sequence id of the next attempt. Thread: any. */
int64_t tk_sampler_next_seq(tk_sampler *sampler);

/* ---- the shared right to submit; loop thread ---- */

/* Asks the server to answer 429 instead of queueing. */
#define TK_SAMPLER_BACKPRESSURE "X-Tinker-Sampling-Backpressure: 1"

tk_limiter_limits tk_sampler_limits(const tk_core *core);

/* Notes a push-back: pauses every sample of the same limiter for as long as the server
 * asks for, and at least as long as a request of this size deserves. */
void tk_sampler_push_back(tk_core *core, const tinkc_future *future,
                          int64_t estimate_bytes, const tk_retry_outcome *outcome);

#endif
