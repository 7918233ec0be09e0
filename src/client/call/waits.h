/* Every operation of a service that is not done, and what it waits for: for people who
 * ask why nothing happens.
 *
 * Operations are entered when they are submitted and leave when they end, whatever
 * thread that is on, so that the list can be read even while the loop is blocked. Those
 * that take long are logged (level info) after 30 s, then every minute. Lock: its own;
 * a future's lock is taken inside it. */
#ifndef CLIENT_WAITS_H
#define CLIENT_WAITS_H

#include "base/list.h"
#include "base/thread.h"
#include "client/call/op.h"

#define TK_WAITS_FIRST_MS 30000
#define TK_WAITS_EVERY_MS 60000
#define TK_WAITS_LINES    8 /* at a time; the rest is counted */

typedef struct tk_waits {
    tk_core *core; /* owns it */
    tk_mutex lock;
    tk_list pending; /* of tk_op; the oldest first */
    bool is_open;
    /* loop thread */
    tk_timer timer;
    bool is_armed;
} tk_waits;

TK_NODISCARD tinkc_code tk_waits_init(tk_waits *waits, tk_core *core, tk_err *err);
void tk_waits_dispose(tk_waits *waits); /* accepts a zeroed one */

/* Thread: any. */
void tk_waits_enter(tk_waits *waits, tk_op *op);
void tk_waits_leave(tk_waits *waits, tk_op *op);

/* Loop thread: it has started. */
void tk_waits_watch(tk_waits *waits, tk_op *op);

/* Loop thread, while it stops. */
void tk_waits_shutdown(tk_waits *waits);

/* Thread: any. See tinkc_service_waits. */
size_t tk_waits_read(tk_waits *waits, tinkc_wait *out, size_t max);

#endif
