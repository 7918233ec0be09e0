/* The retry layers of docs/protocol.md §4-5 as pure functions: what happened, how often,
 * and what time it is go in; a decision comes out. They keep no state beyond the structs
 * passed in, so that each row of the tables is one test with a number for "now". Which
 * failures are worth a retry is decided by the table in wire/wire_error.h; how long to
 * wait is decided here, except the pause after a 429 of a sample, which all clients of a
 * process share (client/call/limiter.h). Deviations from the official SDK are rows of
 * docs/deviations.md. */
#ifndef HTTP_RETRY_H
#define HTTP_RETRY_H

#include "base/rand.h"
#include "base/tk.h"

/* The outcome of one request, as far as retrying needs it. Whether it is transient comes
 * from the one table of failures (wire/wire_error.h). */
typedef struct tk_retry_outcome {
    bool success;     /* 2xx */
    bool transient;   /* the same request may succeed next time */
    bool bare_400;    /* 400 with content-length 0 or absent */
    int status;       /* 0: no response */
    int should_retry; /* x-should-retry: 1 true, 0 false, -1 absent */
    int64_t hint_ms;  /* retry-after-ms / retry-after; -1 none */
} tk_retry_outcome;

/* A server's Retry-After hint is obeyed up to an hour, wherever a request is repeated. A
 * longer one counts as an hour. */
#define TK_RETRY_HINT_MAX_MS INT64_C(3600000)

/* Delay between two requests while the server refuses work for billing reasons. */
#define TK_RETRY_BILLING_MS 5000

/* The delay before a repetition: the hint if there is one, else plain_ms. The only reader
 * of hints; a caller that must not wait less than plain_ms takes the larger of both. */
int64_t tk_retry_after(int64_t plain_ms, int64_t hint_ms);

/* The least time between the starts of two requests for the same work. A server that
 * answers at once and uselessly is asked ten times a second, whatever it says; a long
 * poll that lasted longer is repeated at once. */
#define TK_RETRY_EVERY_MS 100

/* When the next request for some work may start. It belongs to the work and not to one
 * request of it, so that a loop around requests cannot run faster than a retry. Zeroed:
 * at once. */
typedef struct tk_retry_pace {
    int64_t next_ms; /* monotonic */
} tk_retry_pace;

/* How long to wait before the next request; 0: it may start. */
int64_t tk_retry_pace_left_ms(const tk_retry_pace *pace, int64_t now_ms);

/* A request starts. One that did not wait, because the answer before it was useful, still
 * counts: the one after it waits for both. It never waits for more than two, however many
 * useful answers came before it. */
void tk_retry_pace_note(tk_retry_pace *pace, int64_t every_ms, int64_t now_ms);

typedef struct tk_retry_decision {
    enum { TK_RETRY_DONE, TK_RETRY_AGAIN, TK_RETRY_FAIL } what;
    int64_t delay_ms; /* AGAIN */
} tk_retry_decision;

/* L1 (§5.1): `retries` taken so far, at most `max_retries`. A hint does not reach beyond
 * `left_ms`, what is left of the call's total time. */
tk_retry_decision tk_retry_l1(const tk_retry_outcome *outcome, int retries,
                              int max_retries, int64_t left_ms, tk_rand *rand);

/* P (§5.2): the per-group budget for bare 400s; *is_connection_error says that the
 * outcome now counts as TK_HTTP_RESET, *replace that the connection must go. */
typedef struct tk_retry_pool {
    int budget; /* TK_RETRY_POOL_BUDGET at the start */
} tk_retry_pool;
#define TK_RETRY_POOL_BUDGET 16
void tk_retry_pool_note(tk_retry_pool *pool, tk_retry_outcome *outcome, bool *replace);

/* Billing pause (§5.5), per service. true: paused, try again later; false: fatal. */
typedef struct tk_retry_billing {
    bool has_first, has_logged;
    int64_t first_ms, logged_ms;
    int64_t max_pause_ms;
} tk_retry_billing;
bool tk_retry_billing_pause(tk_retry_billing *billing, int64_t now_ms, bool *log_now);

/* L2 (§5.3). */
typedef struct tk_retry_l2_state {
    int64_t budget_ms;  /* no new attempt after that time; the official SDK has 300000 */
    int64_t started_ms; /* of the first attempt; billing pauses count */
    int k;              /* delays taken so far, billing pauses aside */
} tk_retry_l2_state;
int64_t tk_retry_l2_left_ms(const tk_retry_l2_state *state, int64_t now_ms);
tk_retry_decision tk_retry_l2(tk_retry_l2_state *state, const tk_retry_outcome *outcome,
                              bool billing_paused, int64_t now_ms);

/* Delays of L3 (§5.4), all options with the official defaults. */
typedef struct tk_retry_l3_config {
    int64_t base_ms; /* 500 */
    int64_t max_ms;  /* 10000 */
    double jitter;   /* 0.25, both ways */
} tk_retry_l3_config;

/* Delay after attempt `attempt` (0-based). What is retried: transient outcomes,
 * and a future that is gone (410). */
int64_t tk_retry_l3_delay(const tk_retry_l3_config *config, int attempt, tk_rand *rand);

#endif
