/* retrieve_future: answering polls, parking those that are early. Thread: any, without
 * the server's lock. */
#ifndef SERVER_SRV_POLL_H
#define SERVER_SRV_POLL_H

#include "server/http/srv_request.h"

/* A result above this size is announced first (complete_metadata) when the poll allows
 * it, so that a client can make room. */
#define SRV_METADATA_BYTES (4 * TK_MIB)

srv_verdict srv_poll_retrieve(srv *server, srv_request *request);

/* Answers and resumes polls that a future let go: with the result, or "not yet". */
void srv_poll_release(tk_list *released);

/* Completes a future from a worker or the engine thread: takes the server's lock, hands
 * the result over (srv_future_finish) and answers the polls. */
void srv_poll_finish(srv *server, srv_future *future, srv_blob *result, bool is_proto);
void srv_poll_fail(srv *server, srv_future *future, const char *text,
                   tinkc_category category);

#endif
