/* How fast samples may be submitted (docs/protocol.md §7.1): at most 400 submissions at
 * a time, 10 when the server pushed back within the last 10 s, a byte budget, and a
 * time before which no sample is sent.
 *
 * Shared by every service of the process with the same server and the same credential
 * source, so a 429 of one pauses all of them. A claim is made and released on the loop
 * of its owner; a release may admit a claim of another loop, whose `granted` is then
 * called there. Each claim brings its own limits; what is in use is counted for all. */
#ifndef CLIENT_LIMITER_H
#define CLIENT_LIMITER_H

#include "base/list.h"
#include "base/str.h"
#include "http/loop.h"

/* ---- the rule, pure ---- */

/* No push-back so far. */
#define TK_LIMITER_NEVER INT64_MIN

/* Whether a push-back whose pause ends (or ended) at until_ms still counts. */
bool tk_limiter_is_recent(int64_t until_ms, int64_t now_ms);

/* How long to pause after a push-back: the server's hint (-1: none), but at least what
 * the size of the request asks for. */
int64_t tk_limiter_pause_ms(int64_t estimate_bytes, int64_t hint_ms);

typedef struct tk_limiter_limits {
    int64_t dispatch;  /* submissions at a time */
    int64_t throttled; /* of those, when the server pushed back recently */
    int64_t bytes;     /* budget as in budget.h */
} tk_limiter_limits;

typedef struct tk_limiter_use {
    int64_t dispatch, throttled, bytes;
} tk_limiter_use;

/* The places of a claim's way in, in this order. */
typedef enum tk_limiter_step {
    TK_LIMITER_DISPATCH,
    TK_LIMITER_THROTTLED,
    TK_LIMITER_BYTES,
    TK_LIMITER_HELD
} tk_limiter_step;

typedef struct tk_limiter_need {
    tk_limiter_step step;
    tk_limiter_limits limits;
    int64_t bytes; /* estimate */
    int64_t cost;  /* -1 until the last step: estimate, or 20 times that */
    bool throttled;
} tk_limiter_need;

/* One step further, if there is room: true. Whether the push-back is recent is looked at
 * before each of the two later steps. */
bool tk_limiter_advance(tk_limiter_use *use, tk_limiter_need *need, int64_t until_ms,
                        int64_t now_ms);

/* ---- shared ---- */

typedef struct tk_limiter tk_limiter;

/* The limiter of this server (tk_url_key) and credential source; one more owner. Thread:
 * any. */
TK_NODISCARD tinkc_code tk_limiter_open(tk_limiter **out, tk_str server,
                                        tk_str credential, tk_err *err);
void tk_limiter_close(tk_limiter **limiter); /* accepts NULL */
size_t tk_limiter_count(void);               /* limiters alive in this process */

/* A loop's door to a limiter, which it outlives no more than the loop does; embedded. */
typedef struct tk_limiter_port {
    tk_limiter *limiter;
    tk_loop *loop;
    tk_task task;
    tk_list granted; /* of tk_limiter_claim, to be called; under the limiter's lock */
    bool posted;
} tk_limiter_port;

void tk_limiter_port_init(tk_limiter_port *port, tk_limiter *limiter, tk_loop *loop);

/* Returns the time (monotonic milliseconds) before which no sample is sent, or
 * TK_LIMITER_NEVER. Thread: any. */
int64_t tk_limiter_until_ms(const tk_limiter *limiter);

/* Moves that moment later; never earlier. Thread: any. */
void tk_limiter_back_off(tk_limiter *limiter, int64_t until_ms);

/* Embedded in what wants to submit; zeroed before the first use. */
typedef struct tk_limiter_claim tk_limiter_claim;
struct tk_limiter_claim {
    tk_list node;
    tk_limiter_port *port; /* NULL: neither waiting nor held */
    tk_limiter_need need;
    void (*granted)(tk_limiter_claim *claim);
};

/* true: granted at once. false: `granted` is called later on the port's loop, unless the
 * claim is released first. Loop thread. */
bool tk_limiter_acquire(tk_limiter_port *port, tk_limiter_claim *claim,
                        const tk_limiter_limits *limits, int64_t bytes);

/* Gives back what it holds, or stops waiting; no effect otherwise. Loop thread. */
void tk_limiter_release(tk_limiter_claim *claim);

#endif
