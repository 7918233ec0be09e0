/* Training client: one LoRA model at the server.
 *
 * Operations of one client reach the server in the order in which they were called,
 * whatever thread called them; only submission is ordered, so forward_backward and the
 * optim_step after it may both be in flight. A failed or cancelled operation gives its
 * turn back; what the server has accepted of it stays applied. Arguments are copied or
 * encoded before a call returns.
 *
 * Every operation returns a future (never NULL; the caller frees it) and has a blocking
 * twin that ends in _wait: it returns TINKC_OK and the result in *out (which the caller
 * owns; NULL drops it), or the code of the error, and the error itself in *err (which the
 * caller frees; may be NULL). Bad arguments (TINKC_E_INVALID), a NULL handle
 * (TINKC_E_STATE) and a closed service (TINKC_E_CANCELLED) are reported by the future like
 * errors of the server. Thread: any. */
#ifndef TINKC_TRAINING_H
#define TINKC_TRAINING_H

#include <tinkc/metrics.h>
#include <tinkc/params.h>
#include <tinkc/service.h>
#include <tinkc/types.h>

TINKC_BEGIN_DECLS

typedef struct tinkc_fwdbwd tinkc_fwdbwd; /* result of forward and forward_backward */
typedef struct tinkc_model_info tinkc_model_info;

/* Closes the handle and sets *training to NULL. Unfinished operations continue, and
 * their futures complete as usual. The model stays loaded at the server (see
 * tinkc_training_unload). Accepts NULL and a pointer to NULL. */
TINKC_API void tinkc_training_close(tinkc_training **training);

/* Returns the id of the model, "<session>:train:<n>", borrowed until the handle is
 * closed; NULL for NULL. */
TINKC_API const char *tinkc_training_model_id(const tinkc_training *training);

/* ---- forward, forward_backward ---- */

/* Called on the loop's thread as the parts of a large batch finish, with the part as the
 * server sent it (its metrics are not reduced). `first` is the index of the part's first
 * datum. The part is borrowed for the time of the call. Must not block. `user` must stay
 * valid until the future is done; after a cancel, until the service is closed. */
typedef void (*tinkc_chunk_fn)(const tinkc_fwdbwd *part, size_t first, size_t n,
                               void *user);

typedef struct tinkc_fwdbwd_options {
    size_t size;
    const tinkc_number *config; /* loss_fn_config, e.g. "clip_low_threshold" */
    size_t config_n;
    size_t max_parallel_chunks; /* requests in flight at once; 0: no limit beyond the
                                   server's byte budget */
    tinkc_chunk_fn on_chunk;    /* or NULL */
    bool chunks_in_order;       /* on_chunk sees part k only after parts 0..k-1 */
    void *user;
} tinkc_fwdbwd_options;

#define TINKC_FWDBWD_OPTIONS_INIT                                                        \
    {                                                                                    \
        sizeof(tinkc_fwdbwd_options), NULL, 0, 0, NULL, false, NULL                      \
    }

/* Sets *options to TINKC_FWDBWD_OPTIONS_INIT. */
TINKC_API void tinkc_fwdbwd_options_init(tinkc_fwdbwd_options *options);

/* Computes loss and log-probabilities without gradients. `loss` is a name
 * ("cross_entropy", ...; see tinkc_loss_name); names that this version does not know
 * are passed on. The batch is split into chunks by count and size, as the server asks.
 * TINKC_E_INVALID, before anything is sent, for an empty batch, a NULL datum, NaN in
 * an input, an image pointer, or text that is not UTF-8. Result:
 * tinkc_future_take_fwdbwd. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_training_forward(tinkc_training *training, tinkc_datum *const *data, size_t n,
                       const char *loss, const tinkc_fwdbwd_options *options);

/* Calls tinkc_training_forward and waits for its result. The caller owns *out
 * (tinkc_fwdbwd_free); a NULL `out` drops it. */
TINKC_API tinkc_code tinkc_training_forward_wait(
    tinkc_fwdbwd **out, tinkc_training *training, tinkc_datum *const *data, size_t n,
    const char *loss, const tinkc_fwdbwd_options *options, tinkc_error **err);

/* Computes like tinkc_training_forward and adds the gradients to the model's
 * accumulator. When a chunk fails after others were accepted, the error says how many
 * were accepted, and optim_steps that were called but not sent yet fail with
 * TINKC_E_STATE instead of stepping on partial gradients (option
 * fail_step_after_partial). Result: tinkc_future_take_fwdbwd. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_training_forward_backward(tinkc_training *training, tinkc_datum *const *data,
                                size_t n, const char *loss,
                                const tinkc_fwdbwd_options *options);

/* Calls tinkc_training_forward_backward and waits for its result. The caller owns *out
 * (tinkc_fwdbwd_free); a NULL `out` drops it. */
TINKC_API tinkc_code tinkc_training_forward_backward_wait(
    tinkc_fwdbwd **out, tinkc_training *training, tinkc_datum *const *data, size_t n,
    const char *loss, const tinkc_fwdbwd_options *options, tinkc_error **err);

/* Custom loss: one datum's log-probabilities in, its gradient out. */
typedef struct tinkc_custom_item {
    const float *logprobs; /* [n], target shape flattened */
    float *gradient;       /* [n], zeroed; the callback writes dLoss/dlogprobs, finite */
    size_t n;
} tinkc_custom_item;

/* Computes the loss of the whole batch and the gradient of each item. Runs once. Return
 * 0, or any other value to fail the operation with TINKC_E_INVALID: nothing is applied
 * then. Metrics are added with tinkc_metrics_put; the loss is put there as "loss" unless
 * the callback did.
 *
 * Thread: one that the library keeps for these callbacks, with signals blocked.
 * Heartbeats and other operations continue meanwhile, so it may take long. One runs at a
 * time per service; others wait in order. With TINKC_LOOP_MANUAL it runs inside
 * tinkc_service_process, on the thread that called that: heartbeats wait for it.
 *
 * It may call and wait for other operations of the service, except with
 * TINKC_LOOP_MANUAL. It must not wait for a later operation of the same model or for
 * another custom loss: they come after this one, and the wait would never end.
 * tinkc_service_close does nothing in here.
 *
 * When the operation is cancelled or the service is closed meanwhile, the future is done
 * at once with TINKC_E_CANCELLED, the callback runs to its end, and its result is
 * dropped; tinkc_service_close waits for it. So `items` are valid until the callback
 * returns; `user` must be valid until the future is done, and after a cancel until the
 * callback has returned or the service is closed.
 *
 * It must return: an exception (C++), a panic (Rust) or a longjmp that leaves it is
 * undefined behaviour. Catch it inside and return a value other than 0. */
typedef int (*tinkc_custom_loss_fn)(double *loss, tinkc_metrics *metrics,
                                    tinkc_custom_item *items, size_t n, void *user);

/* Runs forward, then `fn`, then forward_backward with weights = -gradient, both with
 * cross_entropy. A datum may have target_tokens (1-D or 2-D) and weights, which are
 * not used. Both halves have their place in the order from this call on: an optim_step
 * that is called next steps on these gradients. TINKC_E_INVALID for other inputs, or
 * when `fn` fails. Result: tinkc_future_take_fwdbwd; its metrics include those of the
 * callback, which take precedence. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_training_forward_backward_custom(tinkc_training *training, tinkc_datum *const *data,
                                       size_t n, tinkc_custom_loss_fn fn, void *user);

/* Calls tinkc_training_forward_backward_custom and waits for its result. The caller
 * owns *out (tinkc_fwdbwd_free); a NULL `out` drops it. */
TINKC_API tinkc_code tinkc_training_forward_backward_custom_wait(
    tinkc_fwdbwd **out, tinkc_training *training, tinkc_datum *const *data, size_t n,
    tinkc_custom_loss_fn fn, void *user, tinkc_error **err);

/* Takes the result out of a done future. The caller owns *out (tinkc_fwdbwd_free).
 * TINKC_E_STATE when the future is not done, has a result of another kind, or was
 * taken from before; otherwise the error of the operation. */
TINKC_API tinkc_code tinkc_future_take_fwdbwd(tinkc_fwdbwd **out, tinkc_future *future,
                                              tinkc_error **err);

/* Waits for the future, takes the result as tinkc_future_take_fwdbwd does, and frees
 * the future whatever the outcome: *future is NULL afterwards. A NULL `out` drops the
 * result. */
TINKC_API tinkc_code tinkc_future_await_fwdbwd(tinkc_fwdbwd **out, tinkc_future **future,
                                               tinkc_error **err);

/* Frees the result and sets *result to NULL. Accepts NULL and a pointer to NULL. */
TINKC_API void tinkc_fwdbwd_free(tinkc_fwdbwd **result);

/* Returns the number of datums; 0 for NULL. */
TINKC_API size_t tinkc_fwdbwd_count(const tinkc_fwdbwd *result);

/* Returns the server's name for the kind of outputs, e.g. "CrossEntropyLossReturn".
 * Borrowed until the result is freed. */
TINKC_API const char *tinkc_fwdbwd_output_type(const tinkc_fwdbwd *result);

/* Gives the loss from the metrics ("loss" or "loss:<reduction>"). TINKC_E_MISSING when
 * the server sent none, TINKC_E_INVALID without `out`. */
TINKC_API tinkc_code tinkc_fwdbwd_loss(double *out, const tinkc_fwdbwd *result,
                                       tinkc_error **err);

/* Returns the metrics of the batch, borrowed until the result is freed; NULL for
 * NULL. */
TINKC_API const tinkc_metrics *tinkc_fwdbwd_metrics(const tinkc_fwdbwd *result);

/* Gives a named float32 tensor of one datum, e.g. "logprobs", row major, borrowed
 * until the result is freed. TINKC_E_MISSING when there is none of that name,
 * TINKC_E_INVALID when it is int64 or an output is NULL. */
TINKC_API tinkc_code tinkc_fwdbwd_f32(const float **out, size_t *n,
                                      const tinkc_fwdbwd *result, size_t datum,
                                      const char *name, tinkc_error **err);

/* Gives a named int64 tensor of one datum, as tinkc_fwdbwd_f32 gives float32. */
TINKC_API tinkc_code tinkc_fwdbwd_i64(const int64_t **out, size_t *n,
                                      const tinkc_fwdbwd *result, size_t datum,
                                      const char *name, tinkc_error **err);
/* Gives the shape of a tensor, borrowed until the result is freed. TINKC_E_MISSING
 * when there is none of that name, TINKC_E_INVALID when an output is NULL. */
TINKC_API tinkc_code tinkc_fwdbwd_shape(const int64_t **dims, size_t *n,
                                        const tinkc_fwdbwd *result, size_t datum,
                                        const char *name, tinkc_error **err);
/* Returns the name of one of the tensors of a datum; NULL when `index` is past the
 * end. Borrowed until the result is freed. */
TINKC_API const char *tinkc_fwdbwd_name(const tinkc_fwdbwd *result, size_t datum,
                                        size_t index);

/* ---- optimizer ---- */

/* Performs one AdamW step with the accumulated gradients. `adam` NULL:
 * TINKC_ADAM_PARAMS_INIT. TINKC_E_INVALID for parameters out of range; TINKC_E_STATE
 * after a batch that was applied only in part. Result: tinkc_future_take_metrics. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_training_optim_step(tinkc_training *training, const tinkc_adam_params *adam);

/* Calls tinkc_training_optim_step and waits for its result. The caller owns *out
 * (tinkc_metrics_free); a NULL `out` drops it. */
TINKC_API tinkc_code tinkc_training_optim_step_wait(tinkc_metrics **out,
                                                    tinkc_training *training,
                                                    const tinkc_adam_params *adam,
                                                    tinkc_error **err);

/* Takes the metrics out of a done future. The caller owns *out (tinkc_metrics_free).
 * TINKC_E_STATE when the future is not done, has a result of another kind, or was
 * taken from before; otherwise the error of the operation. */
TINKC_API tinkc_code tinkc_future_take_metrics(tinkc_metrics **out, tinkc_future *future,
                                               tinkc_error **err);

/* Waits for the future, takes the metrics as tinkc_future_take_metrics does, and frees
 * the future whatever the outcome: *future is NULL afterwards. A NULL `out` drops the
 * result. */
TINKC_API tinkc_code tinkc_future_await_metrics(tinkc_metrics **out,
                                                tinkc_future **future, tinkc_error **err);

/* ---- a whole step ---- */

typedef struct tinkc_step tinkc_step; /* results of forward_backward and optim_step */

typedef struct tinkc_step_options {
    size_t size;
    const tinkc_adam_params *adam;      /* NULL: TINKC_ADAM_PARAMS_INIT */
    const tinkc_fwdbwd_options *fwdbwd; /* NULL: TINKC_FWDBWD_OPTIONS_INIT */
} tinkc_step_options;

#define TINKC_STEP_OPTIONS_INIT                                                          \
    {                                                                                    \
        sizeof(tinkc_step_options), NULL, NULL                                           \
    }

/* Sets *options to TINKC_STEP_OPTIONS_INIT. */
TINKC_API void tinkc_step_options_init(tinkc_step_options *options);

/* Submits forward_backward and the optim_step on its gradients; both have their place
 * in the order when this returns. The future is done when both are. Cancelling it cancels both. `options`
 * NULL: defaults. When the batch fails, the error is the batch's, and the optimizer does
 * not step unless it had been sent already. Other errors as
 * tinkc_training_forward_backward and tinkc_training_optim_step. Result:
 * tinkc_future_take_step. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_training_step(tinkc_training *training, tinkc_datum *const *data, size_t n,
                    const char *loss, const tinkc_step_options *options);

/* Calls tinkc_training_step and waits for its result. The caller owns *out
 * (tinkc_step_free); a NULL `out` drops it. */
TINKC_API tinkc_code tinkc_training_step_wait(tinkc_step **out, tinkc_training *training,
                                              tinkc_datum *const *data, size_t n,
                                              const char *loss,
                                              const tinkc_step_options *options,
                                              tinkc_error **err);

/* Takes the results of both parts out of a done future. The caller owns *out
 * (tinkc_step_free). TINKC_E_STATE when the future is not done, has a result of
 * another kind, or was taken from before; otherwise the error of the operation. */
TINKC_API tinkc_code tinkc_future_take_step(tinkc_step **out, tinkc_future *future,
                                            tinkc_error **err);

/* Waits for the future, takes the results of both parts as tinkc_future_take_step
 * does, and frees the future whatever the outcome: *future is NULL afterwards. A NULL
 * `out` drops the result. */
TINKC_API tinkc_code tinkc_future_await_step(tinkc_step **out, tinkc_future **future,
                                             tinkc_error **err);

/* Frees the step with both results and sets *step to NULL. Accepts NULL. */
TINKC_API void tinkc_step_free(tinkc_step **step);

/* Returns the result of forward_backward, borrowed until the step is freed; NULL for
 * NULL. */
TINKC_API const tinkc_fwdbwd *tinkc_step_fwdbwd(const tinkc_step *step);

/* Returns the metrics of optim_step, borrowed until the step is freed; NULL for NULL. */
TINKC_API const tinkc_metrics *tinkc_step_metrics(const tinkc_step *step);

/* Gives the loss of the batch as tinkc_fwdbwd_loss does. */
TINKC_API tinkc_code tinkc_step_loss(double *out, const tinkc_step *step,
                                     tinkc_error **err);

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

/* Sets *options to TINKC_SAVE_OPTIONS_INIT. */
TINKC_API void tinkc_save_options_init(tinkc_save_options *options);

/* Saves weights and optimizer state under `name`: 1 to 255 bytes without "/", spaces
 * and control characters. `options` NULL: TINKC_SAVE_OPTIONS_INIT. TINKC_E_INVALID for
 * another name. Result: tinkc_future_take_text ("tinker://<run>/weights/<name>"). */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_training_save_state(tinkc_training *training, const char *name,
                          const tinkc_save_options *options);

/* Calls tinkc_training_save_state and waits for its result. The caller owns *out
 * (tinkc_text_free); a NULL `out` drops it. */
TINKC_API tinkc_code tinkc_training_save_state_wait(char **out, tinkc_training *training,
                                                    const char *name,
                                                    const tinkc_save_options *options,
                                                    tinkc_error **err);

/* Saves weights for sampling under `name`, which must be as in
 * tinkc_training_save_state. Result: tinkc_future_take_text
 * ("tinker://<run>/sampler_weights/<name>"). */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_training_save_weights_for_sampler(tinkc_training *training, const char *name,
                                        const tinkc_save_options *options);

/* Calls tinkc_training_save_weights_for_sampler and waits for its result. The caller
 * owns *out (tinkc_text_free); a NULL `out` drops it. */
TINKC_API tinkc_code tinkc_training_save_weights_for_sampler_wait(
    char **out, tinkc_training *training, const char *name,
    const tinkc_save_options *options, tinkc_error **err);

/* Creates a sampling client of the weights as they are at this point of the order;
 * nothing is saved under a name. Result: tinkc_future_take_sampling. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_training_save_and_sample(tinkc_training *training);

/* Calls tinkc_training_save_and_sample and waits for its result. The caller owns *out
 * (tinkc_sampling_close); a NULL `out` drops it. */
TINKC_API tinkc_code tinkc_training_save_and_sample_wait(tinkc_sampling **out,
                                                         tinkc_training *training,
                                                         tinkc_error **err);

/* Loads a checkpoint of tinkc_training_save_state, with or without optimizer state.
 * `token` is a key that may read it; NULL: the service's own. TINKC_E_INVALID for a
 * path of another kind. Result: none. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_training_load_state(tinkc_training *training, const char *path, bool with_optimizer,
                          const char *token);

/* Calls tinkc_training_load_state and waits until it is done. */
TINKC_API tinkc_code tinkc_training_load_state_wait(tinkc_training *training,
                                                    const char *path, bool with_optimizer,
                                                    const char *token, tinkc_error **err);

/* ---- the model ---- */

/* Asks what the server knows about the model. Does not wait for its turn: it is
 * answered while training requests wait. Result: tinkc_future_take_model_info. */
TINKC_API TINKC_NODISCARD tinkc_future *tinkc_training_get_info(tinkc_training *training);

/* Calls tinkc_training_get_info and waits for its result. The caller owns *out
 * (tinkc_model_info_free); a NULL `out` drops it. */
TINKC_API tinkc_code tinkc_training_get_info_wait(tinkc_model_info **out,
                                                  tinkc_training *training,
                                                  tinkc_error **err);

/* Takes the description of the model out of a done future. The caller owns *out
 * (tinkc_model_info_free). TINKC_E_STATE when the future is not done, has a result of
 * another kind, or was taken from before; otherwise the error of the operation. */
TINKC_API tinkc_code tinkc_future_take_model_info(tinkc_model_info **out,
                                                  tinkc_future *future,
                                                  tinkc_error **err);

/* Waits for the future, takes the description of the model as
 * tinkc_future_take_model_info does, and frees the future whatever the outcome:
 * *future is NULL afterwards. A NULL `out` drops the result. */
TINKC_API tinkc_code tinkc_future_await_model_info(tinkc_model_info **out,
                                                   tinkc_future **future,
                                                   tinkc_error **err);

/* Frees the description of the model and sets *info to NULL. Accepts NULL and a
 * pointer to NULL. */
TINKC_API void tinkc_model_info_free(tinkc_model_info **info);
/* Returns the id of the model, "<session>:train:<n>"; NULL when the server gave none.
 * Borrowed until the description is freed, here and below. */
TINKC_API const char *tinkc_model_info_model_id(const tinkc_model_info *info);

/* Returns the name of the base model; NULL when the server gave none. */
TINKC_API const char *tinkc_model_info_model_name(const tinkc_model_info *info);

/* Returns the architecture; NULL when the server gave none. */
TINKC_API const char *tinkc_model_info_arch(const tinkc_model_info *info);

/* Returns the name of the tokenizer, cut at the first ":"; NULL when the server gave
 * none. */
TINKC_API const char *tinkc_model_info_tokenizer_id(const tinkc_model_info *info);

/* Returns whether it is a LoRA model; false when the server did not state it. */
TINKC_API bool tinkc_model_info_is_lora(const tinkc_model_info *info);

/* Returns the rank of its LoRA; -1 when the server gave none. */
TINKC_API int64_t tinkc_model_info_lora_rank(const tinkc_model_info *info);

/* Releases the model at the server, after everything that was called before. Result:
 * none. */
TINKC_API TINKC_NODISCARD tinkc_future *tinkc_training_unload(tinkc_training *training);

/* Calls tinkc_training_unload and waits until it is done. */
TINKC_API tinkc_code tinkc_training_unload_wait(tinkc_training *training,
                                                tinkc_error **err);

TINKC_END_DECLS

#endif
