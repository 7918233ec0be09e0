/* zstd bodies: Content-Encoding of large forward_backward requests.
 *
 * A tk_zstd keeps libzstd's contexts between calls, because making one costs more than
 * compressing a small body. Memory inside libzstd is its own and does not pass base/mem.
 * Thread: one at a time per object. */
#ifndef WIRE_ZSTD_H
#define WIRE_ZSTD_H

#include "base/buf.h"
#include "wire/field.h"

#define TK_ZSTD_LEVEL_DEFAULT 3 /* what the official SDK sends with */

/* What libzstd needs beside the content while it decompresses: a window of 8 MiB at most,
 * the largest that RFC 9659 allows for Content-Encoding, and its own tables. */
#define TK_ZSTD_WORK_BYTES (9 * TK_MIB)

typedef struct tk_zstd {
    void *compressor;   /* owned; NULL until used */
    void *decompressor; /* owned; NULL until used */
} tk_zstd;

void tk_zstd_init(tk_zstd *z);    /* allocates nothing */
void tk_zstd_dispose(tk_zstd *z); /* accepts one that was only zeroed */

/* Appends `data` as one frame, with its content size and without a checksum. Level 0 =
 * TK_ZSTD_LEVEL_DEFAULT; 1 is up to twice as fast for 0-12 % more bytes. On failure `out`
 * is as long as before: TINKC_E_INVALID (a level libzstd does not have), TINKC_E_LIMIT,
 * TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code tk_zstd_compress(tk_zstd *z, tk_buf *out, tk_bytes data,
                                         int level, tk_err *err);

/* Appends the content of `data`: one or more whole frames, one after the other, as RFC
 * 8878 allows (skippable frames are skipped). The cap of `out` bounds the content: more
 * is TINKC_E_LIMIT, and memory grows with what was really decoded, not with what a header
 * claims. TINKC_E_LIMIT for a window above 8 MiB, too. On failure `out` is as long as
 * before: TINKC_E_PARSE for empty, malformed, cut off input or bytes after the last
 * frame, TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code tk_zstd_decompress(tk_zstd *z, tk_buf *out, tk_bytes data,
                                           tk_err *err);

#endif
