/* Routes save_weights, save_weights_for_sampler, load_weights and weights_info. Thread: a
 * worker. */
#ifndef SERVER_SRV_WEIGHTS_H
#define SERVER_SRV_WEIGHTS_H

#include "server/http/srv_request.h"

#define SRV_WEIGHTS_TTL_MAX_S INT64_C(3153600000) /* a century */

srv_verdict srv_weights_save(srv_request *request);
srv_verdict srv_weights_save_for_sampler(srv_request *request);
srv_verdict srv_weights_save_external(srv_request *request);
srv_verdict srv_weights_load(srv_request *request);
srv_verdict srv_weights_info(srv_request *request);

/* Whether a checkpoint may have this name: letters, digits, "_", "-" and ".", without a
 * "." at the start, 1 to TK_SRV_NAME_BYTES bytes. */
bool srv_weights_is_name(tk_str name);

#endif
