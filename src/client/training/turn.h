/* The turnstile of one model: training calls reach the server in the order in which
 * they were called (docs/protocol.md §6.1).
 *
 * A call reserves its ids on the caller's thread (one addition under a lock: preparing its
 * bytes holds up no other caller). On the loop's thread its ticket is admitted when
 * every earlier id has been given back, and gives back all of its ids when it leaves.
 * Leaving before its turn, for whatever reason, leaves a hole that is stepped over: no
 * later ticket waits for it. Ids under which nothing was sent are used again when no other
 * call has come since; else the server sees a gap.
 *
 * Only submissions pass here; waiting for results does not, unless the server may change
 * the order of what it accepted (tk_model_accepted). */
#ifndef CLIENT_TURN_H
#define CLIENT_TURN_H

#include "base/list.h"
#include "base/thread.h"
#include "base/tk.h"

typedef struct tk_turn {
    tk_mutex lock; /* of the next two */
    int64_t next_id;
    uint64_t reservations; /* so far */
    /* loop thread */
    int64_t now;              /* every id below was given back */
    struct tk_ticket *inside; /* the admitted ticket; NULL: none */
    tk_list waiting;          /* of tk_ticket, by first id; also those that left early */
    bool moving;
} tk_turn;

typedef struct tk_ticket tk_ticket;

struct tk_ticket {
    tk_list node;
    int64_t first;   /* ids first .. first + n - 1 */
    int64_t n;       /* 0: takes no id but keeps its place */
    uint64_t number; /* of its reservation */
    bool has_left;
    void (*go)(void *user);
    void *user;
};

/* `first_id`: where counting starts. */
void tk_turn_init(tk_turn *turn, int64_t first_id);

/* Frees the tickets that left early. No other ticket may be waiting or inside. */
void tk_turn_dispose(tk_turn *turn);

/* A ticket without ids yet; NULL without memory. Thread: any. Belongs to the caller until
 * tk_turn_enter. */
TK_NODISCARD tk_ticket *tk_turn_ticket(int64_t n, void (*go)(void *user), void *user);

/* Reserves the ids; cannot fail. Thread: any. Returns the first; seq_id = id + 1. */
int64_t tk_turn_reserve(tk_turn *turn, tk_ticket *ticket);

/* The id that the next call will get. Thread: any. */
int64_t tk_turn_next(tk_turn *turn);

/* Frees a ticket that never entered (the service is closing). Accepts NULL. */
void tk_turn_drop(tk_ticket **ticket);

/* ---- loop thread ---- */

/* Calls `go`, perhaps at once, when it is this ticket's turn. */
void tk_turn_enter(tk_turn *turn, tk_ticket *ticket);

/* Lets the next call have the ids after the first `used` ones, unless a call has come since
 * the reservation. Nothing may have been sent under them. Before tk_turn_leave; accepts
 * NULL. */
void tk_turn_unused(tk_turn *turn, tk_ticket *ticket, int64_t used);

/* Gives the ids back, from inside or from the queue; sets *ticket to NULL. May call `go`
 * of others. `go` of this one is not called any more. Accepts NULL. */
void tk_turn_leave(tk_turn *turn, tk_ticket **ticket);

#endif
