/* As much of HTTP/1.1 as a proxy needs that changes nothing: where a message ends. Pure;
 * any thread. */
#ifndef SUPPORT_PROXY_HTTP_H
#define SUPPORT_PROXY_HTTP_H

#include <stddef.h>

#include "base/limits.h"
#include "base/tk.h"

#define PROXY_HEAD_MAX (64 * TK_KIB)

typedef struct proxy_head {
    size_t n;        /* its bytes, with the empty line */
    int status;      /* of a response; 0 = a request */
    bool is_head;    /* a HEAD request */
    bool has_length; /* the whole message has n + length bytes */
    bool is_chunked;
    bool until_close;
    uint64_t length;
} proxy_head;

typedef enum proxy_found {
    PROXY_HEAD_NOT_YET,
    PROXY_HEAD_OK,
    PROXY_HEAD_BAD
} proxy_found;

/* Reads the head at the beginning of p[0..n). no_body: the response to HEAD. */
proxy_found proxy_head_read(proxy_head *out, const char *p, size_t n, bool is_response,
                            bool no_body);

/* Where in a message the stream is, after its head. */
typedef enum proxy_part {
    PROXY_PART_END, /* at its end, or before the head of the next */
    PROXY_PART_LENGTH,
    PROXY_PART_CHUNK_SIZE,
    PROXY_PART_CHUNK_DATA,
    PROXY_PART_CHUNK_LINE, /* the end of line after the data */
    PROXY_PART_TRAILER,
    PROXY_PART_CLOSE /* until the connection ends */
} proxy_part;

typedef struct proxy_frame {
    proxy_part part;
    uint64_t left; /* of the body or chunk */
    size_t line_n; /* bytes of the line so far, without CR and LF */
    bool is_sized; /* the digits of the chunk's size have ended */
} proxy_frame;

void proxy_frame_begin(proxy_frame *frame, const proxy_head *head);

/* Returns how many of the bytes belong to the message that began; frame->part is
 * PROXY_PART_END when the last of them ends it. */
size_t proxy_frame_feed(proxy_frame *frame, const char *p, size_t n);

#endif
