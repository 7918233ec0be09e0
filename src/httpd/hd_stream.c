/* A buffer with a read position. The connection is resumed outside of the lock. */
#include "httpd/hd_stream.h"

#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "httpd/hd_conns.h"

hd_stream *hd_stream_new(hd_budget *budget)
{
    tk_err ignored = TK_ERR_INIT;
    hd_stream *stream = tk_zalloc(sizeof(*stream));
    if (stream != NULL && tk_mutex_init(&stream->lock, &ignored) != TINKC_OK) {
        tk_free(stream);
        return NULL;
    }
    if (stream != NULL) {
        tk_buf_init_quota(&stream->pending, TK_HD_STREAM_BYTES,
                          hd_budget_quota(budget, HD_PART_STREAMS));
        stream->owners = 2;
        stream->fd = -1;
    }
    return stream;
}

void hd_stream_release(hd_stream *stream)
{
    if (stream == NULL) {
        return;
    }
    tk_mutex_lock(&stream->lock);
    bool last = --stream->owners == 0;
    tk_mutex_unlock(&stream->lock);
    if (last) {
        tk_buf_dispose(&stream->pending);
        tk_mutex_dispose(&stream->lock);
        tk_free(stream);
    }
}

/* Wakes the connection after a change, if it waits. */
static void unlock_and_wake(hd_stream *stream)
{
    bool wake = stream->waiting;
    stream->waiting = false;
    void (*resume)(void *) = wake ? stream->resume : NULL;
    void *user = wake ? stream->user : NULL;
    tk_mutex_unlock(&stream->lock);
    if (wake) {
        resume(user);
    }
}

/* Drops what was sent, when that is at least half (each byte moves at most once), or when
 * there is no room for n more bytes otherwise. */
static void drop_taken(hd_stream *stream, size_t n)
{
    size_t left = stream->pending.n - stream->taken;
    bool fits = n <= stream->pending.max && stream->pending.n <= stream->pending.max - n;
    if (stream->taken == 0 || (left > stream->taken && fits)) {
        return;
    }
    memmove(stream->pending.p, stream->pending.p + stream->taken, left);
    stream->pending.n = left;
    stream->taken = 0;
}

bool hd_stream_put(hd_stream *stream, tk_str bytes)
{
    tk_mutex_lock(&stream->lock);
    if (!stream->gone && !stream->ended) {
        drop_taken(stream, bytes.n);
        tk_buf_put(&stream->pending, bytes.p, bytes.n);
        stream->ended = stream->pending.failure != TINKC_OK;
    }
    bool more = !stream->gone && !stream->ended;
    unlock_and_wake(stream);
    return more;
}

void hd_stream_end(hd_stream *stream)
{
    tk_mutex_lock(&stream->lock);
    stream->ended = true;
    unlock_and_wake(stream);
}

size_t hd_stream_room(hd_stream *stream)
{
    tk_mutex_lock(&stream->lock);
    drop_taken(stream, 0);
    size_t room = stream->pending.max - TK_MIN(stream->pending.max, stream->pending.n);
    tk_mutex_unlock(&stream->lock);
    return room;
}

bool hd_stream_is_gone(hd_stream *stream)
{
    tk_mutex_lock(&stream->lock); /* the socket is open until hd_stream_leave */
    bool gone = stream->gone || stream->pending.failure != TINKC_OK ||
                (stream->fd >= 0 && hd_conns_is_gone(stream->fd));
    tk_mutex_unlock(&stream->lock);
    return gone;
}

void hd_stream_attach(hd_stream *stream, void (*resume)(void *user), void *user, int fd)
{
    tk_mutex_lock(&stream->lock);
    stream->resume = resume;
    stream->user = user;
    stream->fd = fd;
    tk_mutex_unlock(&stream->lock);
}

long hd_stream_take(hd_stream *stream, char *out, size_t max, void (*on_wait)(void *user),
                    void *user)
{
    long result;
    tk_mutex_lock(&stream->lock);
    size_t n = TK_MIN(stream->pending.n - stream->taken, max);
    if (n > 0) {
        memcpy(out, stream->pending.p + stream->taken, n);
        stream->taken += n;
        result = (long)n;
    } else if (stream->ended) {
        result = -1;
    } else {
        stream->waiting = true;
        on_wait(user);
        result = 0;
    }
    tk_mutex_unlock(&stream->lock);
    return result;
}

void hd_stream_leave(hd_stream *stream)
{
    tk_mutex_lock(&stream->lock);
    stream->gone = true;
    stream->waiting = false;
    tk_mutex_unlock(&stream->lock);
    hd_stream_release(stream);
}
