/* A body that is made while it is sent: a producer appends, the HTTP thread takes.
 *
 * Two owners, the request and the producer; the last release frees it. At most
 * TK_SRV_STREAM_BYTES wait for a client that reads slowly; beyond that, and when the
 * server's memory is full, its stream ends with what it has. Locks: its own, a leaf. */
#ifndef SERVER_SRV_STREAM_H
#define SERVER_SRV_STREAM_H

#include <stdatomic.h>

#include "base/buf.h"
#include "base/thread.h"
#include "server/http/srv_budget.h"

typedef struct srv_stream srv_stream;

struct srv_stream {
    tk_mutex lock;
    tk_buf pending; /* what was not sent yet, from `taken` on */
    size_t taken;
    bool ended;   /* the producer appends nothing more */
    bool gone;    /* the client has left, or the answer is complete */
    bool waiting; /* the connection is suspended until there is more */
    unsigned owners;
    void (*resume)(void *user); /* of a connection that waits; set by srv_http.c */
    void *user;
};

/* Two owners; NULL when out of memory. */
srv_stream *srv_stream_new(srv_budget *budget);
void srv_stream_release(srv_stream *stream); /* accepts NULL */

/* ---- producer ---- */

/* Appends bytes. Returns false when they are not read any more: the producer may stop. */
bool srv_stream_put(srv_stream *stream, tk_str bytes);
void srv_stream_end(srv_stream *stream);

/* ---- HTTP thread ---- */

/* Copies bytes to out[0..max) and returns their number; 0 = none now: `on_wait` was
 * called and suspends the connection, `resume` will be called when there are more; -1 =
 * the end. `on_wait` runs under the stream's lock, so that the resume comes after it. */
long srv_stream_take(srv_stream *stream, char *out, size_t max,
                     void (*on_wait)(void *user), void *user);
void srv_stream_leave(srv_stream *stream); /* the connection is done with it */

#endif
