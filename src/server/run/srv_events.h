/* The completions of one sampling session, for retrieve_futures (docs/protocol.md §4.1):
 * its futures that are done, numbered in the order in which they ended, and the polls
 * that wait for the next. A cursor is the number of the last one that a client has seen.
 *
 * The numbers are kept in the futures themselves: a future that is forgotten, or whose
 * result the client has, is no completion any more. Under the server's lock. */
#ifndef SERVER_SRV_EVENTS_H
#define SERVER_SRV_EVENTS_H

#include "base/list.h"
#include "wire/msg_future.h"

typedef struct srv_future srv_future;
typedef struct srv_futures srv_futures;

typedef struct srv_events {
    tk_list done;  /* srv_future.event, the first to end in front */
    tk_list polls; /* srv_poll.waiting */
    int64_t last;  /* number of the latest; 0 = none */
} srv_events;

void srv_events_init(srv_events *events);

/* The session ends: nothing points to it any more. Its polls wait until their
 * deadlines. */
void srv_events_close(srv_events *events);

/* Numbers a future that has completed. The polls of its client move to `released`. */
void srv_events_add(srv_events *events, srv_futures *futures, srv_future *future,
                    tk_list *released);

/* Whether there are completions of this client after the cursor. */
bool srv_events_any(const srv_events *events, int64_t clone, int64_t cursor);

/* Lists them, at most SRV_EVENTS_MAX, in the arena; msg->cursor becomes that of the next
 * poll. Returns false when out of memory. */
#define SRV_EVENTS_MAX 1000
TK_NODISCARD bool srv_events_read(tk_retrieve_futures_response *msg,
                                  const srv_events *events, tk_arena *arena,
                                  int64_t clone, int64_t cursor);

/* The client has these results: their bytes are freed. Ids of other sessions, and of work
 * that goes on, are ignored. */
void srv_events_acknowledge(const srv_events *events, srv_futures *futures,
                            const tk_str *ids, size_t n);

#endif
