/* Results of the REST client: the public structs of <tinkc/rest.h>, each with the arena
 * that holds its texts and lists. Thread: any, one at a time. */
#ifndef CLIENT_REST_RESULT_H
#define CLIENT_REST_RESULT_H

#include <tinkc/rest.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"

/* Frees any of them, by the pointer that the caller has; accepts NULL. */
void tk_rest_result_free(void *result);

/* Readers for tk_op_call_spec: the body of a 2xx in, the result out; NULL with *err
 * set. */
void *tk_rest_result_run(tk_str body, tk_err *err);
void *tk_rest_result_runs(tk_str body, tk_err *err);
void *tk_rest_result_checkpoints(tk_str body, tk_err *err);
void *tk_rest_result_archive(tk_str body, tk_err *err);
void *tk_rest_result_weights_info(tk_str body, tk_err *err);
void *tk_rest_result_sampler_info(tk_str body, tk_err *err);
void *tk_rest_result_session_info(tk_str body, tk_err *err);
void *tk_rest_result_sessions(tk_str body, tk_err *err);
void *tk_rest_result_audit(tk_str body, tk_err *err);
void *tk_rest_result_billing(tk_str body, tk_err *err);

/* An archive result from its parts. */
void *tk_rest_result_archive_at(tk_str url, int64_t expires_us, tk_err *err);

/* The user that the claims of a token name. TINKC_E_DECODE without a subject. */
void *tk_rest_result_whoami(const tk_json *claims, tk_err *err);

#endif
