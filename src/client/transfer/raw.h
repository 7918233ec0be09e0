/* The inside of <tinkc/raw.h>: how the public form of a request becomes a tk_request, how
 * one is sent, and the copy of an answer that callers get. */
#ifndef CLIENT_RAW_H
#define CLIENT_RAW_H

#include <tinkc/raw.h>

#include "client/core/core.h"
#include "client/transfer/request.h"

/* Reads the caller's options. *any_status may be NULL. Errors as tk_request_init, and
 * TINKC_E_INVALID for an unknown method or a negative number. Thread: the caller's. */
TK_NODISCARD tinkc_code tk_raw_read_request(tk_request *out, bool *any_status,
                                            tk_core *core,
                                            const tinkc_raw_request *request,
                                            bool is_streamed, tk_err *err);

/* Sends it; takes over *request in every case. `any_status`: a status that is not a
 * success is an answer too. Never NULL; result: tinkc_future_take_raw_response. */
tinkc_future *tk_raw_send(tk_handle *handle, tk_request *request, bool any_status);

/* Copies status, headers and body. NULL with *err set when out of memory. */
tinkc_raw_response *tk_raw_response_copy(const tk_http_response *response, tk_err *err);
void tk_raw_response_free(void *response); /* accepts NULL */

#endif
