/* The workers: threads that run handlers (decoding, checking, store) for requests whose
 * bytes are complete. Routes are of five classes (hd_route.h), and no class waits for
 * the workers of a slower one: a heartbeat waits neither for the decoding of a batch nor
 * for the database. Locks: its own, a leaf. */
#ifndef HTTPD_HD_WORK_H
#define HTTPD_HD_WORK_H

#include "base/err.h"
#include "httpd/hd_route.h"

typedef struct hd_work hd_work;

/* Starts the threads; each request is given to `dispatch`. */
TK_NODISCARD tinkc_code hd_work_new(hd_work **out, const hd_dispatch *dispatch,
                                    tk_err *err);

/* Handles what is queued, then ends. Nothing may be posted any more. Accepts NULL. */
void hd_work_free(hd_work *work);

/* Returns whether a complete request can be handled at once, on the calling thread: it is
 * small, of a PROMPT route, and the dispatcher is quick. */
bool hd_work_is_prompt(const hd_work *work, const hd_request *request);

/* Handles such a request on the calling thread, before it is posted. Returns HD_ANSWERED,
 * or HD_LATER: then it must be posted. */
hd_verdict hd_work_handle(hd_work *work, hd_request *request);

/* Takes the request over: its handler runs on a worker, at its due_ns if it was delayed.
 * Never fails: the queue is
 * intrusive and bounded by the number of connections. Thread: any. */
void hd_work_post(hd_work *work, hd_request *request);

/* Handles delayed requests (HD_LATER) at once, now and from now on: the server stops.
 * Thread: any. */
void hd_work_hurry(hd_work *work);

#endif
