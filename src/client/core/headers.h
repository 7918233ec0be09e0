/* The header lines (docs/protocol.md §1.4) of one try of a call. */
#ifndef CLIENT_HEADERS_H
#define CLIENT_HEADERS_H

#include "client/call/call.h"
#include "client/core/config_int.h"

/* Whether a text can be part of a header line: without control characters, which would
 * end the line and begin another one. Pure; thread: any. */
bool tk_headers_is_clean(tk_str text);

/* Whether a text can be the name of a header (RFC 9110 §5.1). Pure; thread: any. */
bool tk_headers_is_name(tk_str text);

/* Appends the lines that all requests of a service carry, each ending in a NUL: the
 * identity of the client, and what the configuration adds. */
void tk_headers_common(tk_buf *out, const tinkc_config *config);

/* Writes the URL and the lines of this try into call->state.text and points state.request
 * at them, at the common lines and at call->extra. `credential` goes into X-API-Key.
 * TINKC_E_NOMEM, TINKC_E_LIMIT, or TINKC_E_INVALID for a line with control characters,
 * wherever it comes from. */
TK_NODISCARD tinkc_code tk_headers_build(tk_call *call, const char *credential,
                                         tk_err *err);

#endif
