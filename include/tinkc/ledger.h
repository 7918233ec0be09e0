/* The token ledger of a service: what was used, for what, by which model or sampler, and
 * a budget that cannot be overdrawn.
 *
 * Tokens are counted when the server has done the work, once for each piece of work,
 * however often it had to be asked for. Before anything is sent the most that it can cost
 * is reserved: a batch its tokens, a sample its prompt and max_tokens for each
 * continuation. Work that would not fit into the budget is refused with TINKC_E_BUDGET
 * and nothing is sent. Where the client cannot know whether the server did the work
 * (cancelled under way, an answer that never came), the most that it can have cost is
 * kept as uncertain and counts against the budget. Thread: any. */
#ifndef TINKC_LEDGER_H
#define TINKC_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#include <tinkc/hooks.h>
#include <tinkc/params.h>
#include <tinkc/service.h>
#include <tinkc/types.h>

TINKC_BEGIN_DECLS

/* The most tokens of all kinds that the service may use, with what it has used already;
 * negative: no budget (as at the start). Work that was submitted before goes on. With a
 * budget a sample needs max_tokens: TINKC_E_BUDGET without. TINKC_E_STATE for NULL. */
TINKC_API tinkc_code tinkc_service_set_budget(tinkc_service *service, int64_t tokens,
                                              tinkc_error **err);

typedef struct tinkc_ledger tinkc_ledger; /* as it was at some time; does not change */

/* The caller owns *out. TINKC_E_STATE for NULL, TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_service_read_ledger(tinkc_ledger **out,
                                                               tinkc_service *service,
                                                               tinkc_error **err);

/* Frees the ledger and sets *ledger to NULL. Accepts NULL and a pointer to NULL. */
TINKC_API void tinkc_ledger_free(tinkc_ledger **ledger);

/* Tokens of this kind, of all runs. 0 for NULL, here and below. */
TINKC_API int64_t tinkc_ledger_total(const tinkc_ledger *ledger, tinkc_token_kind kind);

/* Tokens that the server may have used without our knowing; 0: the numbers are exact. */
TINKC_API int64_t tinkc_ledger_uncertain(const tinkc_ledger *ledger);

/* The most that work under way can still use. */
TINKC_API int64_t tinkc_ledger_reserved(const tinkc_ledger *ledger);

/* What is left of the budget; -1: there is none. */
TINKC_API int64_t tinkc_ledger_left(const tinkc_ledger *ledger);

/* Models and samplers, in the order in which they were made. Beyond 65,536 of them the
 * rest share the last one. */
TINKC_API size_t tinkc_ledger_runs(const tinkc_ledger *ledger);

/* Id of a model or sampler; NULL past the end. Borrowed. */
TINKC_API const char *tinkc_ledger_run_id(const tinkc_ledger *ledger, size_t run);

/* Tokens of one run. */
TINKC_API int64_t tinkc_ledger_run_tokens(const tinkc_ledger *ledger, size_t run,
                                          tinkc_token_kind kind);

/* Steps of a run for which tokens were counted: 0 is what was called before the first
 * optim_step, and so on. Samplers have none. Beyond 1,048,576 the rest is counted in the
 * last one. */
TINKC_API size_t tinkc_ledger_steps(const tinkc_ledger *ledger, size_t run);

/* Training tokens of one step. */
TINKC_API int64_t tinkc_ledger_step_tokens(const tinkc_ledger *ledger, size_t run,
                                           size_t step);

/* ---- estimates: what something would cost; nothing is sent ---- */

/* Tokens of a batch, as forward and forward_backward count them (a custom loss: twice).
 * An image counts the tokens that were expected of it. TINKC_E_INVALID for an empty batch
 * or a NULL in it. */
TINKC_API tinkc_code tinkc_estimate_batch(int64_t *tokens, tinkc_datum *const *data,
                                          size_t n, tinkc_error **err);

/* Tokens of the prompt, and the most that the continuations can have: -1 without
 * max_tokens. `params` and `options` as in tinkc_sampling_sample. TINKC_E_INVALID for an
 * empty prompt. */
TINKC_API tinkc_code tinkc_estimate_sample(int64_t *prefill, int64_t *sampled,
                                           const tinkc_model_input *prompt,
                                           const tinkc_sampling_params *params,
                                           const tinkc_sample_options *options,
                                           tinkc_error **err);

TINKC_END_DECLS

#endif
