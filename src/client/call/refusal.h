/* Whether a response refuses the format of a body and not the work in it. Pure. */
#ifndef CLIENT_REFUSAL_H
#define CLIENT_REFUSAL_H

#include "http/http.h"

typedef enum tk_refusal {
    TK_REFUSAL_OTHER,  /* a success, or about something else */
    TK_REFUSAL_FORMAT, /* the server could not read the body */
    TK_REFUSAL_MUTE    /* a 500 without a reason: the format, or anything else */
} tk_refusal;

tk_refusal tk_refusal_of(const tk_http_response *response);

#endif
