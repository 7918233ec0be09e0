/* Futures: promised results by request id, and the polls that wait for them.
 *
 * A future is pending, then done: with a result (protobuf or JSON bytes) or with a
 * failure, which is a JSON result too. It is kept for SRV_FUTURE_MS after that, and any
 * number of polls may take its result. When memory is short, those that a poll has taken
 * go first, the oldest ones first, but for an eighth of the results' part of the budget;
 * only when results need more than that part the others go too. Polls for what is gone
 * get 410. The record also makes a
 * repeated submission harmless: the digest tells the same request from another one.
 *
 * A parked poll is in its future's list and in the heap of deadlines. The thread that
 * takes it out (completion, deadline, stop) owns it and answers it without the lock.
 *
 * Thread: any, under the server's lock, except where it says otherwise. */
#ifndef SERVER_SRV_FUTURE_H
#define SERVER_SRV_FUTURE_H

#include "base/clock.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"
#include "base/sha256.h"
#include "httpd/hd_blob.h"
#include "httpd/hd_budget.h"
#include "server/run/srv_events.h"
#include "wire/msg_future.h"

#define SRV_FUTURE_MS INT64_C(3600000) /* after completion */

typedef struct srv srv;
typedef struct srv_poll srv_poll; /* srv_poll.h */

/* Why a future is pending, for the answer "not yet" (docs/protocol.md §4). */
typedef struct srv_wait {
    tk_queue_state state;
    const char *reason; /* static, or NULL */
} srv_wait;

struct srv_future {
    tk_list age; /* in srv_futures.pending, then in .done, then in .fetched */
    char *id;    /* owned */
    char *idem;  /* owned; X-Idempotency-Key when there was no seq_id, or NULL */
    tk_future_type type;
    char digest[TK_SHA256_HEX_BYTES]; /* of the request */
    bool done;
    bool is_proto;   /* the result is protobuf; a failure is always JSON */
    bool starved;    /* there was no memory for a result: the server's failure */
    hd_blob *result; /* NULL when pending or starved */
    bool fetched;    /* a poll was given the result */
    int64_t added_ns;
    int64_t done_ns;
    size_t counted;  /* bytes of this record in the budget */
    tk_list waiters; /* srv_poll.waiting */
    /* Of a sample of a sampling session; else NULL. Its sampler lives while it is
     * pending. */
    srv_events *events;
    int64_t clone;             /* whose it is (docs/protocol.md §4.1) */
    tk_list event;             /* in srv_events.done once it is done */
    int64_t event_no;          /* there */
    struct srv_sample *sample; /* whose result it is, while it is pending; or NULL */
    /* Why it is still pending, for polls; NULL once it is done. Under the lock. */
    srv_wait (*why)(const void *owner);
    const void *owner; /* lives until the future is done */
};

typedef struct srv_futures {
    tk_map by_id;
    tk_map by_idem;
    tk_list pending; /* in order of arrival */
    tk_list done;    /* no poll has taken them yet; in order of completion */
    tk_list fetched; /* in the order in which polls took them first */
    tk_heap deadlines;
    size_t n_waiting;
    size_t max;        /* futures; tests make it small */
    hd_budget *budget; /* counts records and results as SRV_PART_RESULTS */
} srv_futures;

void srv_futures_init(srv_futures *futures, hd_budget *budget);
/* Frees every future. No poll may be parked. */
void srv_futures_dispose(srv_futures *futures);

srv_future *srv_future_find(const srv_futures *futures, tk_str id); /* or NULL */
srv_future *srv_future_find_idem(const srv_futures *futures, tk_str key);

typedef struct srv_future_spec {
    tk_str id;
    tk_str idem; /* or empty */
    tk_future_type type;
    const char *digest; /* of TK_SHA256_HEX_BYTES */
} srv_future_spec;

/* Adds a pending future; the id must not be there. TINKC_E_LIMIT above `max` and
 * TINKC_E_RATE_LIMIT without memory in the budget (after the oldest done ones were
 * dropped), TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code srv_future_add(srv_future **out, srv_futures *futures,
                                       const srv_future_spec *spec, tk_err *err);

/* Takes a future out again whose submission failed: no client knows its id. */
void srv_future_drop(srv_futures *futures, srv_future *future);

/* Completes it; takes over `result` (NULL: out of memory, which makes it a failure of
 * category server). Its polls move to `released`: answer them after unlocking
 * (srv_poll_release). */
void srv_future_complete(srv_futures *futures, srv_future *future, hd_blob *result,
                         bool is_proto, int64_t now_ns, tk_list *released);

/* Parks a poll until `deadline_ns`. */
void srv_future_park(srv_futures *futures, srv_future *future, srv_poll *poll,
                     int64_t deadline_ns);

/* Parks a poll for completions of a sampling session. */
void srv_future_park_many(srv_futures *futures, srv_events *events, srv_poll *poll,
                          int64_t deadline_ns);

/* Takes a poll of either kind out, to be answered. */
void srv_future_unpark(srv_futures *futures, srv_poll *poll, tk_list *released);

/* Frees the result of a future that is done; the record stays. */
void srv_future_forget_result(srv_futures *futures, srv_future *future);

/* Moves polls whose deadline has passed (all with now = TK_FOREVER) to `released`. */
void srv_future_release_due(srv_futures *futures, int64_t now_ns, tk_list *released);
int64_t srv_future_next_deadline(const srv_futures *futures); /* or TK_FOREVER */

/* Forgets what is too old. */
void srv_future_expire(srv_futures *futures, int64_t now_ns);

/* Copies what a poll needs to know into it. A result counts as taken from then on. */
void srv_future_look(srv_futures *futures, srv_poll *poll, srv_future *future);

/* ---- ends of the work, without the lock; thread: engine or a worker ---- */

/* Completes the future of the server and answers its polls. Takes over `result` (NULL:
 * out of memory). */
void srv_future_finish(srv *server, srv_future *future, hd_blob *result, bool is_proto);

/* Finishes it with the JSON form of a message. */
void srv_future_finish_msg(srv *server, srv_future *future, const tk_schema *schema,
                           const void *msg);

/* Finishes it with a failure: {"error": text, "category": ...}. */
void srv_future_fail(srv *server, srv_future *future, const char *text,
                     tinkc_category category);

/* Finishes it with a failure whose category follows from the code: user for what the
 * client can change, else server. */
void srv_future_fail_err(srv *server, srv_future *future, const tk_err *err);

#endif
