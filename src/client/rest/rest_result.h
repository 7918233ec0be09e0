/* Results of the REST client: the public structs of <tinkc/rest.h>, each with the arena
 * that holds its texts and lists. Thread: any, one at a time. */
#ifndef CLIENT_REST_RESULT_H
#define CLIENT_REST_RESULT_H

#include <tinkc/rest.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "wire/msg_rest.h"

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

/* ---- parts, for the readers of other files ---- */

/* Makes a result of `size` bytes and decodes the body into *message, in the result's
 * arena; NULL with *err set. */
void *tk_rest_result_decode(size_t size, void *message, const tk_schema *schema,
                            tk_str body, tk_err *err);
tk_arena *tk_rest_result_arena(void *result);

/* Frees the result and returns NULL with *err set to TINKC_E_NOMEM. */
void *tk_rest_result_give_up(void *result, tk_err *err);

/* These return false without memory. */
bool tk_rest_result_pairs(const tinkc_pair **out, tk_arena *arena, const tk_str_map *map);
bool tk_rest_result_json(const char **out, tk_arena *arena, const tk_f_raw *raw);
bool tk_rest_result_checkpoint(tinkc_checkpoint *out, tk_arena *arena,
                               const tk_checkpoint *said);

/* The value, or what stands for "not known". */
const char *tk_rest_result_text(tk_f_str text);
int64_t tk_rest_result_number(tk_f_i64 number);
double tk_rest_result_real(tk_f_num number);
int64_t tk_rest_result_time(tk_f_time time);

/* An archive result from its parts. */
void *tk_rest_result_archive_at(tk_str url, int64_t expires_us, tk_err *err);

/* The user that the claims of a token name. TINKC_E_DECODE without a subject. */
void *tk_rest_result_whoami(const tk_json *claims, tk_err *err);

#endif
