/* The bodies of errors of the Tinker API. Thread: any. */
#ifndef SERVER_SRV_REFUSE_H
#define SERVER_SRV_REFUSE_H

#include "httpd/hd_request.h"

/* Answers {"detail": text}; 422 for a body that is not the expected message with a list of
 * places, {"detail": [{"loc", "msg", "type"}]} (hd_http_config.refuse). */
void srv_refuse(hd_request *request, int status, const tk_err *err);

#endif
