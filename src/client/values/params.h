/* The wire structs of the options in <tinkc/params.h>: read by size, checked, converted.
 * NULL options mean all defaults. Strings borrow from the options, lists that had to be
 * built live in the arena. TINKC_E_INVALID names the field in err->path. Thread: any. */
#ifndef CLIENT_PARAMS_H
#define CLIENT_PARAMS_H

#include <tinkc/params.h>
#include <tinkc/service.h>

#include "base/arena.h"
#include "base/err.h"
#include "wire/msg_model.h"
#include "wire/msg_sample.h"
#include "wire/msg_train.h"

TK_NODISCARD tinkc_code tk_params_sampling(tk_sampling_params *out, tk_arena *arena,
                                           const tinkc_sampling_params *params,
                                           tk_err *err);

/* Fills num_samples, prompt_logprobs, topk_prompt_logprobs and what else is set; the
 * tensor borrows from the options. */
TK_NODISCARD tinkc_code tk_params_sample_options(tk_sample_request *out,
                                                 const tinkc_sample_options *options,
                                                 tk_err *err);

/* Reads and checks how samples are tried again. */
TK_NODISCARD tinkc_code tk_params_sample_retry(tinkc_sample_retry *out,
                                               const tinkc_sample_retry *retry,
                                               tk_err *err);

/* The most tokens that all continuations of the request can have; -1: it does not say. */
int64_t tk_params_most_sampled(const tk_sample_request *request);

/* Fills sampling_session_id, model_path or base_model of the request. */
TK_NODISCARD tinkc_code tk_params_sample_target(tk_sample_request *out,
                                                const tinkc_sample_target *target,
                                                tk_err *err);

TK_NODISCARD tinkc_code tk_params_adam(tk_adam_params *out,
                                       const tinkc_adam_params *params, tk_err *err);

/* The parameters of one step: adam_params or optimizer_params of the request. The JSON of
 * another optimizer lives in the arena. */
TK_NODISCARD tinkc_code tk_params_optim(tk_optim_step_request *out, tk_arena *arena,
                                        const tinkc_optim_params *params, tk_err *err);

/* The optimizer of a new model; left unset for NULL. The JSON of another optimizer lives in
 * the arena. */
TK_NODISCARD tinkc_code tk_params_optimizer(tk_f_optimizer_config *out, tk_arena *arena,
                                            const tinkc_optimizer_config *config,
                                            tk_err *err);

/* What an answer says about the optimizer, for the caller; *name is never NULL. */
tinkc_optimizer tk_params_optimizer_of(const char **name,
                                       const tk_f_optimizer_config *said);

/* The request that creates a loss at the server, without session and number. Lists and the
 * graph live in the arena. */
TK_NODISCARD tinkc_code tk_params_custom_loss(tk_create_custom_loss_request *out,
                                              tk_arena *arena,
                                              const tinkc_custom_loss *loss, tk_err *err);

TK_NODISCARD tinkc_code tk_params_lora(tk_lora_config *out,
                                       const tinkc_lora_config *config, tk_err *err);

/* Makes the user_metadata of a run: an object of texts and nulls, copied to the arena; left
 * unset without pairs. TINKC_E_INVALID for a pair without name, a name twice, or text that
 * is not UTF-8. */
TK_NODISCARD tinkc_code tk_params_metadata(tk_f_raw *out, tk_arena *arena,
                                           const tinkc_pair *pairs, size_t n,
                                           tk_err *err);

/* The settings of a loss as the caller has them. */
typedef struct tk_loss_settings {
    const tinkc_number *numbers;
    size_t numbers_n;
    const tinkc_pair *texts;
    size_t texts_n;
    bool twice; /* numbers also go into loss_fn_config_v2, as 0.36 sends them */
} tk_loss_settings;

/* Fills loss_fn and the settings of the request. */
TK_NODISCARD tinkc_code tk_params_loss(tk_fwdbwd_request *out, tk_arena *arena,
                                       const char *loss, const tk_loss_settings *settings,
                                       tk_err *err);

#endif
