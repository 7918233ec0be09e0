/* Look-ups that several routes share. Each answers the request when it fails, and returns
 * false then. Strings live in the request's arena. Thread: a worker. */
#ifndef SERVER_SRV_LOOKUP_H
#define SERVER_SRV_LOOKUP_H

#include "httpd/hd_request.h"
#include "server/run/srv_catalog.h"
#include "server/store/srv_store.h"
#include "wire/field.h"

/* Finds a base model by its name; 400 when it is not served. */
TK_NODISCARD bool srv_lookup_base(const srv_base **out, hd_request *request, tk_str name);

/* Parses "tinker://..."; 400 when it is not such a path. */
TK_NODISCARD bool srv_lookup_path(tk_path *out, hd_request *request, tk_str text);

/* Answers that `text` is not a path that can be used here. */
hd_verdict srv_lookup_refuse_path(hd_request *request, tk_str text);

/* Finds a checkpoint and the run that it belongs to; 404 when either is missing. */
TK_NODISCARD bool srv_lookup_checkpoint(srv_store_checkpoint *out, srv_store_run *run,
                                        hd_request *request, const tk_path *path);

/* Checks destination_project_id; 422 when it is longer than any id. */
TK_NODISCARD bool srv_lookup_project(hd_request *request, const tk_f_str *id);

/* Checks the token of another account; 403 when it is not a key of this server, which has
 * one account. */
TK_NODISCARD bool srv_lookup_token(hd_request *request, const tk_f_str *token);

#endif
