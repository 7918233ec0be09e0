/* Tells the server which samples are not wanted any more (docs/protocol.md §4.2), when its
 * dynamic configuration asks for that. Best effort: each request is sent once in parallel
 * with at most as many others as the server allows, repeated for as long as any request
 * (L2), and then forgotten: the server ends the work when the session does.
 *
 * Embedded in the core. Loop thread, unless a function says otherwise. */
#ifndef CLIENT_CANCEL_H
#define CLIENT_CANCEL_H

#include <stdatomic.h>

#include "base/list.h"
#include "base/thread.h"
#include "http/loop.h"

typedef struct tk_core tk_core;

typedef struct tk_cancels {
    tk_core *core;
    tk_list waiting, running; /* of requests */
    size_t waiting_n, running_n;
    bool is_stopped;
    atomic_bool is_on; /* the server takes them; read by the thread that closes */
    /* the close */
    tk_task task;
    tk_mutex lock;
    tk_cond changed;
    bool is_drained, is_posted; /* under the lock */
} tk_cancels;

TK_NODISCARD tinkc_code tk_cancel_init(tk_cancels *cancels, tk_core *core, tk_err *err);
void tk_cancel_dispose(tk_cancels *cancels); /* also of a zeroed one */

/* Notes what the dynamic configuration says. */
void tk_cancel_enable(tk_cancels *cancels, bool is_on);

bool tk_cancel_is_on(const tk_cancels *cancels); /* thread: any */

/* Queues the cancellation of a request that the server has accepted. No effect when the
 * server does not want it. */
void tk_cancel_send(tk_cancels *cancels, const char *request_id);

/* Cancels all operations of the core and lets their cancellations reach the server, within
 * TK_CANCEL_DRAIN_MS. Not on the loop's thread. */
#define TK_CANCEL_DRAIN_MS 1000
void tk_cancel_close(tk_cancels *cancels);

/* The core stops: ends what is on its way. */
void tk_cancel_shutdown(tk_cancels *cancels);

#endif
