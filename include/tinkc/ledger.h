/* The token ledger of a service counts what was used, for what, by which model or sampler,
 * and enforces a budget.
 *
 * Tokens are counted when the server has done the work, once for each piece of work, no
 * matter how often it was requested. Before anything is sent, the most that it can cost is
 * reserved: for a batch its tokens, for a sample its prompt and max_tokens for each
 * continuation. Work that does not fit into the budget is refused with TINKC_E_BUDGET, and
 * nothing is sent. When the client cannot know whether the server did the work (it was
 * cancelled in flight, or the answer never came), the most that it can have cost is kept
 * as uncertain and counts against the budget. Thread: any. */
#ifndef TINKC_LEDGER_H
#define TINKC_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#include <tinkc/hooks.h>
#include <tinkc/params.h>
#include <tinkc/service.h>
#include <tinkc/types.h>

TINKC_BEGIN_DECLS

/* Limits how many tokens of all kinds the service may use, including those it has used
 * already. A negative number removes the limit, as at the start. Work that was
 * submitted before continues. With a budget a sample needs max_tokens; without it the
 * sample fails with TINKC_E_BUDGET. TINKC_E_STATE for NULL. */
TINKC_API tinkc_code tinkc_service_set_budget(tinkc_service *service, int64_t tokens,
                                              tinkc_error **err);

typedef struct tinkc_ledger tinkc_ledger; /* a copy that does not change */

/* Takes a copy of the ledger as it is now. The caller owns *out. TINKC_E_STATE for
 * NULL, TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_service_read_ledger(tinkc_ledger **out,
                                                               tinkc_service *service,
                                                               tinkc_error **err);

/* Frees the ledger and sets *ledger to NULL. Accepts NULL and a pointer to NULL. */
TINKC_API void tinkc_ledger_free(tinkc_ledger **ledger);

/* Returns the tokens of this kind, of all runs. 0 for NULL, here and below. */
TINKC_API int64_t tinkc_ledger_total(const tinkc_ledger *ledger, tinkc_token_kind kind);

/* Returns the tokens that the server may have used although no answer confirmed it; 0
 * when the numbers are exact. */
TINKC_API int64_t tinkc_ledger_uncertain(const tinkc_ledger *ledger);

/* Returns the most tokens that unfinished work can still use. */
TINKC_API int64_t tinkc_ledger_reserved(const tinkc_ledger *ledger);

/* Returns what is left of the budget; -1 when there is none. */
TINKC_API int64_t tinkc_ledger_left(const tinkc_ledger *ledger);

/* Returns the number of models and samplers, which are in the order in which they were
 * created. Beyond 65,536 of them the rest share the last one. */
TINKC_API size_t tinkc_ledger_runs(const tinkc_ledger *ledger);

/* Returns the id of a model or sampler; NULL when `run` is past the end. Borrowed
 * until the ledger is freed. */
TINKC_API const char *tinkc_ledger_run_id(const tinkc_ledger *ledger, size_t run);

/* Returns the tokens of one run. */
TINKC_API int64_t tinkc_ledger_run_tokens(const tinkc_ledger *ledger, size_t run,
                                          tinkc_token_kind kind);

/* Returns the number of steps of a run for which tokens were counted: step 0 is what
 * was called before the first optim_step, and so on. Samplers have none. Beyond
 * 1,048,576 the rest is counted in the last step. */
TINKC_API size_t tinkc_ledger_steps(const tinkc_ledger *ledger, size_t run);

/* Returns the training tokens of one step. */
TINKC_API int64_t tinkc_ledger_step_tokens(const tinkc_ledger *ledger, size_t run,
                                           size_t step);

/* ---- estimates: what something would cost; nothing is sent ---- */

/* Counts the tokens of a batch as forward and forward_backward count them (a custom
 * loss counts them twice). An image counts the tokens that were expected of it. Sends
 * nothing. TINKC_E_INVALID for an empty batch or one with a NULL. */
TINKC_API tinkc_code tinkc_estimate_batch(int64_t *tokens, tinkc_datum *const *data,
                                          size_t n, tinkc_error **err);

/* Counts the tokens of the prompt, and gives the most that the continuations can have:
 * -1 without max_tokens. `params` and `options` as in tinkc_sampling_sample. Sends
 * nothing. TINKC_E_INVALID for an empty prompt. */
TINKC_API tinkc_code tinkc_estimate_sample(int64_t *prefill, int64_t *sampled,
                                           const tinkc_model_input *prompt,
                                           const tinkc_sampling_params *params,
                                           const tinkc_sample_options *options,
                                           tinkc_error **err);

TINKC_END_DECLS

#endif
