/* Holds and releases requests by their seq_ids. */
#include "server/run/srv_order.h"

void srv_order_init(srv_order *order, int64_t first_seq)
{
    *order = (srv_order){.next = first_seq, .barrier = -1, .max_seq = first_seq - 1};
    tk_list_init(&order->waiting);
}

bool srv_order_is_late(const srv_order *order, int64_t seq)
{
    return seq <= order->barrier;
}

int64_t srv_order_next_seq(const srv_order *order)
{
    return TK_MAX(order->max_seq + 1, order->next);
}

void srv_order_add(srv_order *order, srv_order_node *node)
{
    tk_list *at = &order->waiting;
    while (at->prev != &order->waiting &&
           TK_CONTAINER_OF(at->prev, srv_order_node, link)->seq > node->seq) {
        at = at->prev;
    }
    tk_list_insert_before(at, &node->link);
    order->n++;
    order->n_barriers += node->kind == SRV_ORDER_BARRIER;
    order->max_seq = TK_MAX(order->max_seq, node->seq);
}

bool srv_order_is_held(const srv_order *order, const srv_order_node *node, int64_t now_ns)
{
    return node->kind == SRV_ORDER_GRADIENT && node->seq > order->next &&
           order->n_barriers == 0 && now_ns - node->arrived_ns < SRV_ORDER_HOLD_NS;
}

static srv_order_node *find(const srv_order *order, int64_t now_ns)
{
    for (tk_list *at = order->waiting.next; at != &order->waiting; at = at->next) {
        srv_order_node *node = TK_CONTAINER_OF(at, srv_order_node, link);
        if (!srv_order_is_held(order, node, now_ns)) {
            return node;
        }
    }
    return NULL;
}

/* `seq` was taken: the next id is above it, and above the early ones that follow it. */
static void advance(srv_order *order, int64_t seq)
{
    order->next = TK_MAX(order->next, seq + 1);
    for (size_t i = 0; i < order->n_early;) {
        if (order->early[i] > order->next) {
            i++;
            continue;
        }
        bool was_next = order->early[i] == order->next;
        order->early[i] = order->early[--order->n_early];
        if (was_next) {
            order->next++;
            i = 0;
        }
    }
}

/* `seq` was taken before smaller ids have come, which stay open. */
static void take_early(srv_order *order, int64_t seq)
{
    if (seq <= order->next) {
        advance(order, seq);
    } else if (order->n_early < SRV_ORDER_EARLY_MAX) {
        order->early[order->n_early++] = seq;
    }
}

void srv_order_skip(srv_order *order, int64_t seq)
{
    if (seq > 0 && seq <= SRV_ORDER_SEQ_MAX) {
        take_early(order, seq);
    }
}

srv_order_node *srv_order_take(srv_order *order, int64_t now_ns)
{
    srv_order_node *node = find(order, now_ns);
    if (node == NULL) {
        return NULL;
    }
    tk_list_remove(&node->link);
    order->n--;
    if (node->kind == SRV_ORDER_BARRIER) {
        order->n_barriers--;
        order->barrier = TK_MAX(order->barrier, node->seq);
    }
    if (node->kind == SRV_ORDER_FORWARD) {
        take_early(order, node->seq);
    } else {
        advance(order, node->seq);
    }
    return node;
}

int64_t srv_order_deadline(const srv_order *order, int64_t now_ns)
{
    if (order->n == 0) {
        return TK_FOREVER;
    }
    if (find(order, now_ns) != NULL) {
        return 0;
    }
    int64_t first = TK_FOREVER;
    for (tk_list *at = order->waiting.next; at != &order->waiting; at = at->next) {
        const srv_order_node *node = TK_CONTAINER_OF(at, srv_order_node, link);
        first = TK_MIN(first, node->arrived_ns + SRV_ORDER_HOLD_NS);
    }
    return first;
}
