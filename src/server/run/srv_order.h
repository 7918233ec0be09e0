/* The order of one model's requests (docs/protocol.md §11 row 17). Pure: no clock, no
 * lock.
 *
 * A client sends a request only after every submission with a smaller seq_id has ended,
 * except that the parts of one forward_backward may come in any order, the first one
 * last. Gradients are sums of floats and do not commute, so a part is held until
 *   - every smaller id that is not known to be taken has come, or
 *   - a barrier (optim_step, save, load, ...) has come: then nothing smaller will, or
 *   - SRV_ORDER_HOLD_NS have passed since it came.
 * Forward-only requests change nothing and are never held. A barrier runs after all
 * smaller ids that are there; gaps below it count as taken. Thread: one at a time. */
#ifndef SERVER_SRV_ORDER_H
#define SERVER_SRV_ORDER_H

#include "base/clock.h"
#include "base/list.h"
#include "base/tk.h"

#define SRV_ORDER_HOLD_NS (INT64_C(2000) * TK_NS_PER_MS)

/* The largest id that may be added. */
#define SRV_ORDER_SEQ_MAX (INT64_C(1) << 53)

/* Forwards that ran before smaller ids came. With more of them, what waits for those ids
 * waits for the clock or a barrier. */
#define SRV_ORDER_EARLY_MAX 64

typedef enum srv_order_kind {
    SRV_ORDER_GRADIENT,
    SRV_ORDER_FORWARD,
    SRV_ORDER_BARRIER
} srv_order_kind;

typedef struct srv_order_node { /* embedded in a job */
    tk_list link;
    int64_t seq;
    srv_order_kind kind;
    int64_t arrived_ns;
} srv_order_node;

typedef struct srv_order {
    tk_list waiting; /* by seq, equal ones as they came */
    int64_t next;    /* the smallest id that was not taken and is not skipped */
    int64_t barrier; /* the largest id of a barrier that was taken; -1 = none */
    int64_t max_seq; /* the largest id ever added; -1 = none */
    size_t n;
    size_t n_barriers;
    int64_t early[SRV_ORDER_EARLY_MAX]; /* forwards above `next` that have run */
    size_t n_early;
} srv_order;

void srv_order_init(srv_order *order, int64_t first_seq);

/* Whether a barrier with this id or a larger one was taken already: the request comes too
 * late, or a second time, and must be refused. */
bool srv_order_is_late(const srv_order *order, int64_t seq);

/* Returns an id for a request that has none: after all that have come so far. */
int64_t srv_order_next_seq(const srv_order *order);

void srv_order_add(srv_order *order, srv_order_node *node);

/* Counts an id as taken whose request was refused for good: nothing waits for it. One that
 * comes with it all the same is not held. */
void srv_order_skip(srv_order *order, int64_t seq);

/* Takes out the next request that may run at `now_ns`, or NULL. */
srv_order_node *srv_order_take(srv_order *order, int64_t now_ns);

/* Whether this one waits for smaller ids. */
bool srv_order_is_held(const srv_order *order, const srv_order_node *node,
                       int64_t now_ns);

/* Returns when to call srv_order_take again if nothing is added: 0 = now (something may
 * run), TK_FOREVER = nothing waits. */
int64_t srv_order_deadline(const srv_order *order, int64_t now_ns);

#endif
