/* Results of searches, storage and URLs of files: see rest_result.h. */
#ifndef CLIENT_REST_FOUND_H
#define CLIENT_REST_FOUND_H

#include "base/err.h"
#include "base/str.h"

/* Readers for tk_op_call_spec. */
void *tk_rest_found_sessions(tk_str body, tk_err *err);
void *tk_rest_found_checkpoints(tk_str body, tk_err *err);
void *tk_rest_found_storage(tk_str body, tk_err *err);
void *tk_rest_found_urls(tk_str body, tk_err *err);
void *tk_rest_found_path(tk_str body, tk_err *err); /* text: "tinker_path" */

#endif
