/* Routes of training runs and sessions (docs/protocol.md §2.5), and those that a local
 * server does not have. Thread: a worker. */
#ifndef SERVER_SRV_REST_H
#define SERVER_SRV_REST_H

#include "server/http/srv_request.h"
#include "wire/msg_rest.h"

srv_verdict srv_rest_list_runs(srv_request *request);
srv_verdict srv_rest_get_run(srv_request *request);
/* Fills in the strings of a JSON object; null when `text` is not one. Strings in the
 * arena. */
void srv_rest_fill_metadata(tk_f_str_map *out, tk_arena *arena, tk_str text);

srv_verdict srv_rest_list_sessions(srv_request *request);
srv_verdict srv_rest_get_session(srv_request *request);

/* Answer 404; each says what is missing. */
srv_verdict srv_rest_no_audit(srv_request *request);
srv_verdict srv_rest_no_keys(srv_request *request);
srv_verdict srv_rest_no_traces(srv_request *request);
srv_verdict srv_rest_no_projects(srv_request *request);
srv_verdict srv_rest_no_custom_losses(srv_request *request);

#endif
