/* The console inside the server: its data are the recordings, the store, the gateway's
 * episodes and the state of the server. */
#ifndef SERVER_SRV_CONSOLE_H
#define SERVER_SRV_CONSOLE_H

#include "base/err.h"
#include "httpd/hd_route.h"

typedef struct srv srv;

/* Starts the console, and the recorder that tells it what is new. After the store and the
 * catalog, before HTTP. The errors of con_new and of srv_rec_start. */
TK_NODISCARD tinkc_code srv_console_new(srv *server, tk_err *err);

/* The handler of CON_ROUTES. */
hd_verdict srv_console_handle(hd_request *request);

/* For hd_http_config.knows_cookie. */
bool srv_console_knows(void *app, tk_str cookies);

#define SRV_CONSOLE_MARK "X-Tinkc-Console"

#endif
