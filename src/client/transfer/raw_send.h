/* Sending a request that was made inside the library; see raw.c. */
#ifndef CLIENT_RAW_SEND_H
#define CLIENT_RAW_SEND_H

#include <tinkc/raw.h>

#include "client/core/core.h"
#include "client/transfer/request.h"

/* Takes over *request in every case. `any_status`: one that is no success is an answer.
 * As every future: never NULL; tinkc_future_take_raw_response. */
tinkc_future *tk_raw_send(tk_core *core, tk_request *request, bool any_status);

#endif
