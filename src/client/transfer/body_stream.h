/* One request whose body is read by another thread than the loop's, or by the thread that
 * drives a manual loop, while it arrives. A ring of fixed size lies between them: when it
 * is full the transfer pauses.
 *
 * Used by one thread at a time that is not the loop's. Freed with tk_body_stream_close,
 * which ends the transfer. */
#ifndef CLIENT_BODY_STREAM_H
#define CLIENT_BODY_STREAM_H

#include "client/core/core.h"
#include "client/transfer/raw.h"

#define TK_BODY_STREAM_RING_BYTES (256 * TK_KIB)

typedef struct tk_body_stream tk_body_stream;

/* Takes over *request on success. The transfer begins at once. TINKC_E_STATE on the
 * loop's thread, TINKC_E_CANCELLED after the close. */
TK_NODISCARD tinkc_code tk_body_stream_open(tk_body_stream **out, tk_handle *handle,
                                            tk_request *request, tk_err *err);
void tk_body_stream_close(tk_body_stream **stream); /* accepts NULL */

/* Waits up to timeout_ms (-1: without end) for the head. TINKC_E_TIMEOUT: it may be asked
 * again; TINKC_E_STATE: it would have to wait on the loop's thread; else the error of the
 * request. *out belongs to the stream. */
TK_NODISCARD tinkc_code tk_body_stream_head(const tinkc_raw_response **out,
                                            tk_body_stream *stream, int64_t timeout_ms,
                                            tk_err *err);

/* Waits for bytes; *n = 0 at the end of the body. Errors as above. */
TK_NODISCARD tinkc_code tk_body_stream_read(size_t *n, tk_body_stream *stream, char *p,
                                            size_t size, int64_t timeout_ms, tk_err *err);

/* Whether the request has ended, well or not; bytes may still be there to be read.
 * Distinguishes a wait that was too short from a request that took too long. */
bool tk_body_stream_is_over(tk_body_stream *stream);

/* Sleeps, and drives a manual loop during that time. */
void tk_body_stream_pause(tk_handle *handle, int64_t ms);

#endif
