/* A ticket that leaves early stays in the queue to mark its hole, because tickets
 * before it may not have reached the loop yet. */
#include "client/training/turn.h"

#include "base/mem.h"

void tk_turn_init(tk_turn *turn, int64_t first_id)
{
    turn->lock = (tk_mutex)TK_MUTEX_INIT;
    turn->next_id = first_id;
    turn->reservations = 0;
    turn->now = first_id;
    turn->inside = NULL;
    turn->moving = false;
    tk_list_init(&turn->waiting);
}

void tk_turn_dispose(tk_turn *turn)
{
    tk_list *node;
    while ((node = tk_list_pop_front(&turn->waiting)) != NULL) {
        tk_free(TK_CONTAINER_OF(node, tk_ticket, node));
    }
    tk_mutex_dispose(&turn->lock);
}

tk_ticket *tk_turn_ticket(int64_t n, void (*go)(void *user), void *user)
{
    tk_ticket *ticket = tk_zalloc(sizeof(*ticket));
    if (ticket != NULL) {
        tk_list_init(&ticket->node);
        ticket->n = n;
        ticket->go = go;
        ticket->user = user;
    }
    return ticket;
}

int64_t tk_turn_reserve(tk_turn *turn, tk_ticket *ticket)
{
    tk_mutex_lock(&turn->lock);
    ticket->first = turn->next_id;
    turn->next_id += ticket->n;
    ticket->number = ++turn->reservations;
    tk_mutex_unlock(&turn->lock);
    return ticket->first;
}

int64_t tk_turn_next(tk_turn *turn)
{
    tk_mutex_lock(&turn->lock);
    int64_t next = turn->next_id;
    tk_mutex_unlock(&turn->lock);
    return next;
}

void tk_turn_drop(tk_ticket **ticket)
{
    tk_free(*ticket);
    *ticket = NULL;
}

/* A ticket without ids that reached the loop late may be lower than `now`. */
static void give_back(tk_turn *turn, tk_ticket *ticket)
{
    turn->now = TK_MAX(turn->now, ticket->first + ticket->n);
    tk_free(ticket);
}

/* Admits the next ticket, and steps over holes. `go` may leave at once, which comes
 * back here: one loop does the work. */
static void move_on(tk_turn *turn)
{
    if (turn->moving) {
        return;
    }
    turn->moving = true;
    while (turn->inside == NULL && !tk_list_is_empty(&turn->waiting)) {
        tk_ticket *ticket = TK_CONTAINER_OF(turn->waiting.next, tk_ticket, node);
        if (ticket->first > turn->now) {
            break;
        }
        tk_list_remove(&ticket->node);
        if (ticket->has_left) {
            give_back(turn, ticket);
            continue;
        }
        turn->inside = ticket;
        ticket->go(ticket->user);
    }
    turn->moving = false;
}

/* A ticket without ids comes before the one that has the next id. */
static bool is_before(const tk_ticket *a, const tk_ticket *b)
{
    return a->first < b->first || (a->first == b->first && a->n == 0 && b->n > 0);
}

void tk_turn_enter(tk_turn *turn, tk_ticket *ticket)
{
    tk_list *at = &turn->waiting;
    while (at->prev != &turn->waiting &&
           is_before(ticket, TK_CONTAINER_OF(at->prev, tk_ticket, node))) {
        at = at->prev;
    }
    tk_list_insert_before(at, &ticket->node);
    move_on(turn);
}

void tk_turn_unused(tk_turn *turn, tk_ticket *ticket, int64_t used)
{
    if (ticket == NULL || used >= ticket->n) {
        return;
    }
    tk_mutex_lock(&turn->lock);
    if (ticket->number == turn->reservations) {
        turn->next_id = ticket->first + used;
        ticket->n = used;
    }
    tk_mutex_unlock(&turn->lock);
}

void tk_turn_leave(tk_turn *turn, tk_ticket **ticket_ref)
{
    tk_ticket *ticket = *ticket_ref;
    *ticket_ref = NULL;
    if (ticket == NULL) {
        return;
    }
    if (ticket == turn->inside) {
        turn->inside = NULL;
        give_back(turn, ticket);
    } else {
        ticket->has_left = true;
    }
    move_on(turn);
}
