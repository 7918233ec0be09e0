/* The token ledger of a service: counts the tokens used, by kind and by run (a model or
 * sampler), and enforces a budget.
 *
 * Tokens are counted when the server has done the work, and only once, even if the request
 * was repeated. Before a request is sent, its maximum cost is reserved: for a batch its
 * tokens, for a sample its prompt and max_tokens for each continuation. Work that does not
 * fit into the budget fails with TINKC_E_BUDGET, and nothing is sent. When the client
 * cannot know whether the server did the work (it was cancelled in flight, or the response
 * was lost), the maximum cost is recorded as uncertain and counts against the budget.
 * Thread: any. */
#ifndef TINKC_LEDGER_H
#define TINKC_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#include <tinkc/hooks.h>
#include <tinkc/params.h>
#include <tinkc/service.h>
#include <tinkc/types.h>

TINKC_BEGIN_DECLS

/* Limits the number of tokens of all kinds that the service may use, including those
 * already used. A negative number removes the limit; a new service has none. Work that
 * was submitted before continues. While there is a budget, a sample without max_tokens
 * fails with TINKC_E_BUDGET. TINKC_E_STATE for NULL. */
TINKC_API tinkc_code tinkc_service_set_budget(tinkc_service *service, int64_t tokens,
                                              tinkc_error **err);

typedef struct tinkc_ledger tinkc_ledger; /* a copy that does not change */

/* Copies the current state of the ledger. The caller frees *out. TINKC_E_STATE for a NULL
 * service, TINKC_E_INVALID for a NULL `out`, TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_service_read_ledger(tinkc_ledger **out,
                                                               tinkc_service *service,
                                                               tinkc_error **err);

/* Frees the ledger and sets *ledger to NULL. Accepts NULL and a pointer to NULL. */
TINKC_API void tinkc_ledger_free(tinkc_ledger **ledger);

/* Returns the tokens of this kind that all runs have used. This and the following
 * functions return 0 (tinkc_ledger_run_id: NULL) for a NULL ledger. */
TINKC_API int64_t tinkc_ledger_total(const tinkc_ledger *ledger, tinkc_token_kind kind);

/* Returns the tokens that the server may have used although no answer confirmed it; 0
 * when the numbers are exact. */
TINKC_API int64_t tinkc_ledger_uncertain(const tinkc_ledger *ledger);

/* Returns the maximum number of tokens that unfinished work can still use. */
TINKC_API int64_t tinkc_ledger_reserved(const tinkc_ledger *ledger);

/* Returns what is left of the budget; -1 without a budget. */
TINKC_API int64_t tinkc_ledger_left(const tinkc_ledger *ledger);

/* Returns the number of runs, which are in order of creation. From the 65,536th on, all
 * models and samplers share the last run. */
TINKC_API size_t tinkc_ledger_runs(const tinkc_ledger *ledger);

/* Returns the id of a model or sampler; NULL when `run` is past the end. Borrowed
 * until the ledger is freed. */
TINKC_API const char *tinkc_ledger_run_id(const tinkc_ledger *ledger, size_t run);

/* Returns the tokens of this kind that one run has used. */
TINKC_API int64_t tinkc_ledger_run_tokens(const tinkc_ledger *ledger, size_t run,
                                          tinkc_token_kind kind);

/* Returns the number of training steps of a run: step 0 is everything that was called
 * before the first optim_step, step 1 everything from there to the second, and so on.
 * Samplers have none. From the 1,048,576th on, all steps are counted as the last one. */
TINKC_API size_t tinkc_ledger_steps(const tinkc_ledger *ledger, size_t run);

/* Returns the training tokens of one step. */
TINKC_API int64_t tinkc_ledger_step_tokens(const tinkc_ledger *ledger, size_t run,
                                           size_t step);

/* ---- estimates of a cost in advance ---- */

/* Counts the tokens of a batch as forward and forward_backward do (a custom loss uses
 * twice as many). An image counts as its expected_tokens. Sends nothing. TINKC_E_INVALID
 * for an empty batch or a NULL datum. */
TINKC_API tinkc_code tinkc_estimate_batch(int64_t *tokens, tinkc_datum *const *data,
                                          size_t n, tinkc_error **err);

/* Counts the tokens of the prompt (*prefill) and the maximum for all continuations
 * together (*sampled; -1 without max_tokens). `params` and `options` as in
 * tinkc_sampling_sample. Sends nothing. TINKC_E_INVALID for an empty prompt or parameters
 * that are out of range; TINKC_E_NOMEM. */
TINKC_API tinkc_code tinkc_estimate_sample(int64_t *prefill, int64_t *sampled,
                                           const tinkc_model_input *prompt,
                                           const tinkc_sampling_params *params,
                                           const tinkc_sample_options *options,
                                           tinkc_error **err);

TINKC_END_DECLS

#endif
