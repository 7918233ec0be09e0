/* Training client: one LoRA model behind the API.
 *
 * Operations of one client reach the server in the order in which they were called,
 * whatever thread called them; only submission is ordered, so forward_backward and the
 * optim_step behind it may both be in flight. A failed or cancelled operation gives its
 * turn back; what the server has accepted of it stays applied. Arguments are copied or
 * encoded before a call returns.
 *
 * Every operation returns a future (never NULL; the caller frees it) and has a blocking
 * twin that ends in _wait: it returns TINKC_OK and the result in *out (which the caller
 * owns; NULL drops it), or the code of the error, and the error itself in *err (which the
 * caller frees; may be NULL). Bad arguments (TINKC_E_INVALID), a NULL handle
 * (TINKC_E_STATE) and a closed service (TINKC_E_CANCELLED) come out of the future like
 * the server's errors. Thread: any. */
#ifndef TINKC_TRAINING_H
#define TINKC_TRAINING_H

#include <tinkc/params.h>
#include <tinkc/service.h>
#include <tinkc/types.h>

TINKC_BEGIN_DECLS

typedef struct tinkc_model_info tinkc_model_info;

/* Unfinished operations go on; their futures complete as usual. Sets *training to NULL;
 * accepts NULL. The model stays loaded at the server (see tinkc_training_unload). */
TINKC_API void tinkc_training_close(tinkc_training **training);

/* "<session>:train:<n>", or NULL for NULL. Borrowed: valid until the handle is closed. */
TINKC_API const char *tinkc_training_model_id(const tinkc_training *training);

/* ---- optimizer ---- */

/* One AdamW step with the accumulated gradients. `adam` NULL: defaults. Result:
 * tinkc_future_take_metrics. */
TINKC_API tinkc_future *tinkc_training_optim_step(tinkc_training *training,
                                                  const tinkc_adam_params *adam);

/* Blocking twin. */
TINKC_API tinkc_code tinkc_training_optim_step_wait(tinkc_metrics **out,
                                                    tinkc_training *training,
                                                    const tinkc_adam_params *adam,
                                                    tinkc_error **err);

/* Takes the result out of a done future; the caller owns *out. Errors as
 * tinkc_future_take_capabilities. */
TINKC_API tinkc_code tinkc_future_take_metrics(tinkc_metrics **out, tinkc_future *future,
                                               tinkc_error **err);

/* Frees metrics that the caller owns (not those inside a result) and sets *metrics to
 * NULL. Accepts NULL. Accessors are in <tinkc/types.h>. */
TINKC_API void tinkc_metrics_free(tinkc_metrics **metrics);

/* Sets or replaces a metric, in the callback of a custom loss or in metrics of one's own.
 * The name is copied. TINKC_E_INVALID without metrics or name, TINKC_E_LIMIT beyond 4096
 * metrics, TINKC_E_NOMEM. */
TINKC_API tinkc_code tinkc_metrics_put(tinkc_metrics *metrics, const char *name,
                                       double value);

/* ---- checkpoints ---- */

typedef struct tinkc_save_options {
    size_t size;
    int64_t ttl_seconds; /* -1: none */
    bool overwrite;      /* save_state only */
} tinkc_save_options;

#define TINKC_SAVE_OPTIONS_INIT                                                          \
    {                                                                                    \
        sizeof(tinkc_save_options), -1, false                                            \
    }

/* Weights and optimizer state under `name`: 1 to 255 bytes without "/", spaces and
 * control characters. Result: tinkc_future_take_path
 * ("tinker://<run>/weights/<name>"). */
TINKC_API tinkc_future *tinkc_training_save_state(tinkc_training *training,
                                                  const char *name,
                                                  const tinkc_save_options *options);

/* Blocking twin. */
TINKC_API tinkc_code tinkc_training_save_state_wait(char **out, tinkc_training *training,
                                                    const char *name,
                                                    const tinkc_save_options *options,
                                                    tinkc_error **err);

/* Weights for sampling under `name`. Result: tinkc_future_take_path
 * ("tinker://<run>/sampler_weights/<name>"). */
TINKC_API tinkc_future *
tinkc_training_save_weights_for_sampler(tinkc_training *training, const char *name,
                                        const tinkc_save_options *options);

/* Blocking twin. */
TINKC_API tinkc_code tinkc_training_save_weights_for_sampler_wait(
    char **out, tinkc_training *training, const char *name,
    const tinkc_save_options *options, tinkc_error **err);

/* Loads a checkpoint of save_state, with or without optimizer state. `token`: a key that
 * may read it; NULL: one's own. TINKC_E_INVALID for a path of another kind. Result: none.
 */
TINKC_API tinkc_future *tinkc_training_load_state(tinkc_training *training,
                                                  const char *path, bool with_optimizer,
                                                  const char *token);

/* Blocking twin. */
TINKC_API tinkc_code tinkc_training_load_state_wait(tinkc_training *training,
                                                    const char *path, bool with_optimizer,
                                                    const char *token, tinkc_error **err);

/* ---- the model ---- */

/* What the server knows about the model. Takes no turn: it is answered while training
 * requests wait for theirs. Result: tinkc_future_take_model_info. */
TINKC_API tinkc_future *tinkc_training_get_info(tinkc_training *training);

/* Blocking twin. */
TINKC_API tinkc_code tinkc_training_get_info_wait(tinkc_model_info **out,
                                                  tinkc_training *training,
                                                  tinkc_error **err);

/* Takes the result out of a done future; the caller owns *out. Errors as
 * tinkc_future_take_capabilities. */
TINKC_API tinkc_code tinkc_future_take_model_info(tinkc_model_info **out,
                                                  tinkc_future *future,
                                                  tinkc_error **err);

/* Sets *info to NULL; accepts NULL. */
TINKC_API void tinkc_model_info_free(tinkc_model_info **info);
/* "<session>:train:<n>"; NULL where the server gave nothing. Borrowed. */
TINKC_API const char *tinkc_model_info_model_id(const tinkc_model_info *info);

/* Its base model; NULL where the server gave none. Borrowed. */
TINKC_API const char *tinkc_model_info_model_name(const tinkc_model_info *info);

/* The architecture; NULL where the server gave none. Borrowed. */
TINKC_API const char *tinkc_model_info_arch(const tinkc_model_info *info);

/* The name of its tokenizer, cut at the first ":"; NULL where the server gave none.
 * Borrowed. */
TINKC_API const char *tinkc_model_info_tokenizer_id(const tinkc_model_info *info);

/* Whether it is a LoRA model, as far as the server said. */
TINKC_API bool tinkc_model_info_is_lora(const tinkc_model_info *info);

/* The rank of its LoRA, or -1 where the server gave none. */
TINKC_API int64_t tinkc_model_info_lora_rank(const tinkc_model_info *info);

/* Releases the model at the server, behind everything called before. Result: none. */
TINKC_API tinkc_future *tinkc_training_unload(tinkc_training *training);

/* Blocking twin. */
TINKC_API tinkc_code tinkc_training_unload_wait(tinkc_training *training,
                                                tinkc_error **err);

TINKC_END_DECLS

#endif
