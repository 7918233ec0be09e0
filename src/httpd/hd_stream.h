/* A body that is made while it is sent: a producer appends, the HTTP thread takes.
 *
 * Two owners, the request and the producer; the last release frees it. At most
 * TK_HD_STREAM_BYTES wait for a client that reads slowly; beyond that, and when the
 * server's memory is full, its stream ends with what it has. Locks: its own, a leaf. */
#ifndef HTTPD_HD_STREAM_H
#define HTTPD_HD_STREAM_H

#include <stdatomic.h>

#include "base/buf.h"
#include "base/thread.h"
#include "httpd/hd_budget.h"

typedef struct hd_stream hd_stream;

struct hd_stream {
    tk_mutex lock;
    tk_buf pending; /* what was not sent yet, from `taken` on */
    size_t taken;
    bool ended;   /* the producer appends nothing more */
    bool gone;    /* the client has left, or the answer is complete */
    bool waiting; /* the connection is suspended until there is more */
    unsigned owners;
    void (*resume)(void *user); /* of a connection that waits */
    void *user;
    int fd; /* of the connection; -1 = none yet */
};

/* Two owners; NULL when out of memory. */
hd_stream *hd_stream_new(hd_budget *budget);
void hd_stream_release(hd_stream *stream); /* accepts NULL */

/* ---- producer ---- */

/* Appends bytes. Returns false when they are not read any more: the producer may stop. */
bool hd_stream_put(hd_stream *stream, tk_str bytes);
void hd_stream_end(hd_stream *stream);

/* Returns how many bytes can be appended now; a producer that has many at once waits for
 * its reader instead of losing it. */
size_t hd_stream_room(hd_stream *stream);

/* Returns whether the client has left (one that has closed its sending side counts), or
 * nothing is read any more: what makes the bytes can be ended, and the stream with
 * hd_stream_end. hd_stream_put says so too, but only some bytes after the client has left,
 * and a producer that has nothing to append would not learn it at all. A system call: ask
 * now and then. */
bool hd_stream_is_gone(hd_stream *stream);

/* ---- HTTP thread ---- */

/* Gives the stream its connection, before the first hd_stream_take. */
void hd_stream_attach(hd_stream *stream, void (*resume)(void *user), void *user, int fd);

/* Copies bytes to out[0..max) and returns their number; 0 = none now: `on_wait` was
 * called and suspends the connection, `resume` will be called when there are more; -1 =
 * the end. `on_wait` runs under the stream's lock, so that the resume comes after it. */
long hd_stream_take(hd_stream *stream, char *out, size_t max, void (*on_wait)(void *user),
                    void *user);
void hd_stream_leave(hd_stream *stream); /* the connection is done with it */

#endif
