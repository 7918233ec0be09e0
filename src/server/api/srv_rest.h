/* Routes of training runs and sessions (docs/protocol.md §2.5), and those that a local
 * server does not have. Thread: a worker. */
#ifndef SERVER_SRV_REST_H
#define SERVER_SRV_REST_H

#include "httpd/hd_request.h"
#include "wire/msg_rest.h"

hd_verdict srv_rest_list_runs(hd_request *request);
hd_verdict srv_rest_get_run(hd_request *request);
/* Fills in the strings of a JSON object; null when `text` is not one. Strings in the
 * arena. */
void srv_rest_fill_metadata(tk_f_str_map *out, tk_arena *arena, tk_str text);

hd_verdict srv_rest_list_sessions(hd_request *request);
hd_verdict srv_rest_get_session(hd_request *request);
hd_verdict srv_rest_set_project(hd_request *request);

/* Answer 404; each says what is missing. */
hd_verdict srv_rest_no_audit(hd_request *request);
hd_verdict srv_rest_no_keys(hd_request *request);
hd_verdict srv_rest_no_traces(hd_request *request);
hd_verdict srv_rest_no_custom_losses(hd_request *request);

#endif
