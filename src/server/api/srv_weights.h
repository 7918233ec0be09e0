/* Routes save_weights, save_weights_for_sampler, load_weights and weights_info. */
#ifndef SERVER_SRV_WEIGHTS_H
#define SERVER_SRV_WEIGHTS_H

#include "server/http/srv_request.h"

srv_verdict srv_weights_save(srv *server, srv_request *request);
srv_verdict srv_weights_save_for_sampler(srv *server, srv_request *request);
srv_verdict srv_weights_load(srv *server, srv_request *request);
srv_verdict srv_weights_info(srv *server, srv_request *request);

/* Whether a checkpoint may have this name: letters, digits, "_", "-" and ".", not first
 * a ".", 1 to TK_SRV_NAME_BYTES bytes. */
bool srv_weights_is_name(tk_str name);

#endif
