/* The workers: threads that run handlers (decoding, checking, store) for requests whose
 * bytes are complete. Routes are of five classes (srv_route.h), and no class waits for
 * the workers of a slower one: a heartbeat waits neither for the decoding of a batch nor
 * for the database. Locks: its own, a leaf. */
#ifndef SERVER_SRV_WORK_H
#define SERVER_SRV_WORK_H

#include "base/err.h"
#include "server/http/srv_route.h"

typedef struct srv_work srv_work;

/* Starts the threads; each request is given to `dispatch`. */
TK_NODISCARD tinkc_code srv_work_new(srv_work **out, const srv_dispatch *dispatch,
                                     tk_err *err);

/* Handles what is queued, then ends. Nothing may be posted any more. Accepts NULL. */
void srv_work_free(srv_work *work);

/* Takes the request over: its handler runs on a worker. Never fails: the queue is
 * intrusive and bounded by the number of connections. Thread: any. */
void srv_work_post(srv_work *work, srv_request *request);

/* Handles delayed requests (SRV_LATER) at once, now and from now on: the server stops.
 * Thread: any. */
void srv_work_hurry(srv_work *work);

#endif
