/* The inside of tinkc_raw_response: a copy of an answer. */
#ifndef CLIENT_RAW_RESPONSE_H
#define CLIENT_RAW_RESPONSE_H

#include <tinkc/raw.h>

#include "base/err.h"
#include "http/http.h"

/* Copies status, headers and body. NULL with *err set when out of memory. */
tinkc_raw_response *tk_raw_response_copy(const tk_http_response *response, tk_err *err);
void tk_raw_response_free(void *response); /* accepts NULL */

#endif
