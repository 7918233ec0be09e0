/* The workers: threads that run handlers (decoding, checking, store) for requests whose
 * bytes are complete. The first worker takes only light routes, so that a heartbeat never
 * waits behind the decoding of a batch. Locks: its own, a leaf. */
#ifndef SERVER_SRV_WORK_H
#define SERVER_SRV_WORK_H

#include "base/err.h"
#include "server/http/srv_request.h"

typedef struct srv_work srv_work;

TK_NODISCARD tinkc_code srv_work_new(srv_work **out, unsigned threads, tk_err *err);

/* Handles what is queued, then ends. Nobody may post any more. Accepts NULL. */
void srv_work_free(srv_work *work);

/* Takes the request over: its handler runs on a worker. Never fails: the queue is
 * intrusive and bounded by the number of connections. Thread: any. */
void srv_work_post(srv_work *work, srv_request *request);

#endif
