/* Growable bytes with a cap and sticky failure: a chain of appends is checked once, at
 * the end. After a failure every further append is a no-op. Thread: one at a time. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/err.h"
#include "base/quota.h"
#include "base/str.h"
#include "base/tk.h"

typedef struct tk_buf {
    char *p;         /* owned; NULL while empty. NUL-terminated only after tk_buf_cstr */
    size_t n;        /* bytes in use */
    size_t capacity; /* bytes allocated */
    size_t max;      /* n never exceeds this */
    tk_quota *quota; /* counts the capacity; or NULL */
    tinkc_code failure; /* TINKC_OK, TINKC_E_NOMEM, TINKC_E_LIMIT, TINKC_E_RATE_LIMIT (the
                         * quota has no room) or the code given to tk_buf_fail */
} tk_buf;

/* max_bytes must not be 0: every buffer has a limit. */
void tk_buf_init(tk_buf *buf, size_t max_bytes);
/* The same with a quota that counts the capacity before it is allocated. */
void tk_buf_init_quota(tk_buf *buf, size_t max_bytes, tk_quota *quota);
void tk_buf_dispose(tk_buf *buf); /* frees; the buffer is empty, with the same limits */
void tk_buf_clear(tk_buf *buf);   /* n = 0, failure forgotten, memory kept */

void tk_buf_put(tk_buf *buf, const void *data, size_t n);
void tk_buf_putc(tk_buf *buf, char c);
void tk_buf_puts(tk_buf *buf, const char *text);
void tk_buf_printf(tk_buf *buf, const char *format, ...) TK_PRINTF(2, 3);

/* Room for `n` more bytes, or NULL when the buffer has failed. The caller writes at most
 * n bytes there and then says with tk_buf_advance how many. */
TK_NODISCARD char *tk_buf_reserve(tk_buf *buf, size_t n);
void tk_buf_advance(tk_buf *buf, size_t n);

/* Marks the buffer as failed, e.g. for a value that cannot be encoded. First one wins. */
void tk_buf_fail(tk_buf *buf, tinkc_code code);

/* TINKC_OK, or the failure with its text in *err. */
tinkc_code tk_buf_status(const tk_buf *buf, tk_err *err);

/* The text with a NUL at its end; NULL when that or an earlier append failed.
 * Borrowed. */
TK_NODISCARD const char *tk_buf_cstr(tk_buf *buf);

tk_str tk_buf_str(const tk_buf *buf); /* borrowed view */

/* Hands the bytes to the caller, who frees them with tk_free; the buffer is empty then.
 * NULL when the buffer is empty or has failed. A quota does not count them any more. */
TK_NODISCARD char *tk_buf_take(tk_buf *buf, size_t *n_out);

#endif
