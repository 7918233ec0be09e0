/* Server-sent events (docs/protocol.md Appendix B, the WHATWG rules): bytes in, split
 * anywhere; whole events out, each as soon as its blank line is there. Pure but for the
 * buffers. Thread: one at a time. */
#ifndef WIRE_SSE_H
#define WIRE_SSE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* Borrowed for the time of the call. */
typedef struct tk_sse_event {
    tk_str type; /* "event:", or empty */
    tk_str data; /* its lines joined with "\n" */
    tk_str id;   /* the last one given, also by an earlier event */
} tk_sse_event;

/* False: enough, feed returns TINKC_E_CANCELLED. */
typedef bool (*tk_sse_fn)(void *user, const tk_sse_event *event);

typedef struct tk_sse {
    tk_buf line, type, data, id;
    size_t max_bytes; /* of one line, and of one event */
    bool has_data;
    bool after_cr; /* a line feed now belongs to it */
    bool past_first_line;
    int64_t retry_ms; /* the server's wish, -1: none */
} tk_sse;

/* Allocates nothing. */
void tk_sse_init(tk_sse *sse, size_t max_bytes);
void tk_sse_dispose(tk_sse *sse);

/* TINKC_E_LIMIT for a line or an event above the limit, TINKC_E_NOMEM; after an error the
 * parser cannot be used any more. An incomplete event at the end of the stream is
 * dropped. */
TK_NODISCARD tinkc_code tk_sse_feed(tk_sse *sse, const char *p, size_t n, tk_sse_fn fn,
                                    void *user, tk_err *err);

#endif
