/* The header lines of wire.md §1.4 for one try of a call. */
#ifndef CLIENT_HEADERS_H
#define CLIENT_HEADERS_H

#include "client/call.h"

/* Writes the URL and then every header line into call->state.text and points
 * state.request at them. `credential` goes into X-API-Key. TINKC_E_NOMEM or
 * TINKC_E_LIMIT. */
TK_NODISCARD tinkc_code tk_headers_build(tk_call *call, const char *credential,
                                         tk_err *err);

#endif
