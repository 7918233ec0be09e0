/* Routes save_weights, save_weights_for_sampler, load_weights and weights_info. Thread: a
 * worker. */
#ifndef SERVER_SRV_WEIGHTS_H
#define SERVER_SRV_WEIGHTS_H

#include "httpd/hd_request.h"

#define SRV_WEIGHTS_TTL_MAX_S INT64_C(3153600000) /* a century */

hd_verdict srv_weights_save(hd_request *request);
hd_verdict srv_weights_save_for_sampler(hd_request *request);
hd_verdict srv_weights_save_external(hd_request *request);
hd_verdict srv_weights_load(hd_request *request);
hd_verdict srv_weights_info(hd_request *request);

/* Whether a checkpoint may have this name: letters, digits, "_", "-" and ".", without a
 * "." at the start, 1 to TK_SRV_NAME_BYTES bytes. */
bool srv_weights_is_name(tk_str name);

#endif
