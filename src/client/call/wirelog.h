/* Every request as log lines of level debug: one when it is over, and with the option
 * `wire_dump` all of it, secrets masked. Loop thread; costs a comparison when the level
 * is higher. */
#ifndef CLIENT_WIRELOG_H
#define CLIENT_WIRELOG_H

#include "client/call/call.h"

/* The request is complete and about to go out. */
void tk_wirelog_sent(tk_call *call);

/* Logs the response, or why there is none. */
void tk_wirelog_answered(const tk_call *call, const tk_http_response *response);

#endif
