/* Routes of training runs and sessions (wire.md §2.5), and those that a local server does
 * not have. Thread: a worker. */
#ifndef SERVER_SRV_REST_H
#define SERVER_SRV_REST_H

#include "server/http/srv_request.h"

srv_verdict srv_rest_list_runs(srv *server, srv_request *request);
srv_verdict srv_rest_get_run(srv *server, srv_request *request);
/* The strings of a JSON object; null when it is none. Strings in the arena. */
void srv_rest_fill_metadata(tk_f_str_map *out, tk_arena *arena, tk_str text);

srv_verdict srv_rest_list_sessions(srv *server, srv_request *request);
srv_verdict srv_rest_get_session(srv *server, srv_request *request);

/* 501 for audit, trace export and projects: each says what is missing. */
srv_verdict srv_rest_no_audit(srv *server, srv_request *request);
srv_verdict srv_rest_no_traces(srv *server, srv_request *request);
srv_verdict srv_rest_no_projects(srv *server, srv_request *request);
srv_verdict srv_rest_no_external(srv *server, srv_request *request);
srv_verdict srv_rest_no_custom_losses(srv *server, srv_request *request);
srv_verdict srv_rest_not_served(srv *server, srv_request *request);

#endif
