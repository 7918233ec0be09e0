/* Ends the session at the server when the service closes (docs/protocol.md §10): says why,
 * once, and waits for the answer for no longer than option finish_drain. Without it the
 * server ends the session some time after the last heartbeat.
 *
 * Embedded in the core. Never ends a session that another process created: such a service
 * has no session, or its own. */
#ifndef CLIENT_FINISH_H
#define CLIENT_FINISH_H

#include "base/buf.h"
#include "base/thread.h"
#include "client/call/call.h"
#include "http/loop.h"

typedef struct tk_finish {
    tk_core *core;
    tk_mutex lock;
    tk_cond changed;
    int type;     /* tk_finish_type; this and the rest under the lock */
    char *detail; /* owned; NULL: none */
    bool is_done;
    bool is_hurried; /* operations were cancelled: the wait is short */
    /* loop thread */
    bool is_stopped;
    tk_task task;
    tk_call call;
    tk_buf body;
} tk_finish;

TK_NODISCARD tinkc_code tk_finish_init(tk_finish *finish, tk_core *core, tk_err *err);
void tk_finish_dispose(tk_finish *finish); /* also of a zeroed one */

/* Sets what is said. `detail` is copied and may be NULL. TINKC_E_INVALID: not UTF-8, or
 * longer than TK_FINISH_DETAIL_MAX; TINKC_E_NOMEM. Thread: any. */
#define TK_FINISH_DETAIL_MAX (16 * 1024)
TK_NODISCARD tinkc_code tk_finish_set(tk_finish *finish, int type, const char *detail,
                                      tk_err *err);

/* Cancels the operations, ends the session and waits. No effect without a session, after
 * its end, while the server does not respond, at a level of the SDK before 0.36, and with
 * the option off. Not on the loop's thread. */
void tk_finish_close(tk_finish *finish);

/* The core stops: ends what is on its way. Loop thread. */
void tk_finish_shutdown(tk_finish *finish);

#endif
