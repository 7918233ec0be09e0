/* What a response means, for the retry layers and as an error: the bridge from the
 * transport to the one table of failures (wire/wire_error.h). Pure. */
#ifndef CLIENT_OUTCOME_H
#define CLIENT_OUTCOME_H

#include "base/err.h"
#include "http/http.h"
#include "http/retry.h"

tk_retry_outcome tk_outcome_of(const tk_http_response *response, int64_t wall_us);

/* What time it is for the server, by its Date header, so that a date in another header
 * means the same whatever our clock says; `wall_us` without one. */
int64_t tk_outcome_server_us(const tk_http_response *response, int64_t wall_us);

/* TINKC_OK for a 2xx, else what kind of failure it is. */
tinkc_code tk_outcome_code(const tk_http_response *response);

/* Whether the server may have done the work although the response is not a 2xx. */
bool tk_outcome_is_doubtful(const tk_http_response *response);

/* Fills *err from a response that is not a success, or from a failed transfer. */
void tk_outcome_error(tk_err *err, const tk_http_response *response, int64_t wall_us);

/* Most memory for a response of this size when it is parsed: the smallest values need the
 * most, so honest ones need a fraction of it. */
size_t tk_outcome_arena_bytes(size_t body_bytes);

#endif
