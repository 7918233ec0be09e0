/* The same request twice: answered once.
 *
 * Clients repeat a request whose answer they did not get. One with the same episode, route
 * and bytes (or the same Idempotency-Key) as one that runs, or that was answered a short
 * time ago, gets that answer. A request without an episode and without a key is never a
 * repetition. Answers are kept for TK_GW_REPEAT_MS and up to a number of bytes, the oldest
 * go first. When the first one fails, the next one tries.
 *
 * Thread: any; its own lock, not held in callbacks. */
#ifndef GATEWAY_GW_REPEAT_H
#define GATEWAY_GW_REPEAT_H

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"

typedef struct gw_repeats gw_repeats;

typedef struct gw_repeats_config {
    const tk_clock *clock; /* NULL = the machine's */
    int64_t keep_ms;       /* 0 = TK_GW_REPEAT_MS */
    size_t max_bytes;      /* of answers that are kept; 0 = TK_GW_REPEAT_BYTES */
} gw_repeats_config;

/* The caller frees *out. */
TK_NODISCARD tinkc_code gw_repeats_new(gw_repeats **out, const gw_repeats_config *config,
                                       tk_err *err);
/* Nothing may run or wait. Accepts NULL. */
void gw_repeats_free(gw_repeats *repeats);

typedef struct gw_reply { /* the whole answer; borrowed */
    int status;
    tk_str type; /* of the body: application/json, text/event-stream */
    tk_str body;
} gw_reply;

typedef struct gw_repeat_ask { /* borrowed during the call */
    tk_str episode;            /* "" = none */
    tk_str route;              /* "/v1/chat/completions" */
    tk_str key;                /* Idempotency-Key; "" = none */
    tk_str body;
    /* The answer of the first one; NULL when it failed: call gw_repeats_begin again. */
    void (*on_reply)(void *user, const gw_reply *reply);
    void *user;
} gw_repeat_ask;

typedef enum gw_repeat {
    GW_REPEAT_FIRST,    /* does the work, and calls gw_repeats_end on every path */
    GW_REPEAT_ANSWERED, /* on_reply has been called */
    GW_REPEAT_WAITS     /* on_reply is called later, once, unless it is cancelled */
} gw_repeat;

typedef struct gw_claim { /* {0} = none */
    uint64_t number;
} gw_claim;

/* TINKC_E_LIMIT: too many run, or wait for this one; TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code gw_repeats_begin(gw_repeat *out, gw_claim *claim,
                                         gw_repeats *repeats, const gw_repeat_ask *ask,
                                         tk_err *err);

/* Of the first: gives the answer to all who wait, and keeps it; reply NULL: it failed.
 * Accepts {0}. */
void gw_repeats_end(gw_repeats *repeats, gw_claim claim, const gw_reply *reply);

/* Of one that waits: returns true when on_reply will not be called; false when it was, or
 * is being called. */
bool gw_repeats_cancel(gw_repeats *repeats, gw_claim claim);

#endif
