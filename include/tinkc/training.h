/* Training client: one LoRA model on the server.
 *
 * Operations of one client reach the server in the order of the calls, whichever
 * threads made them. Only submission is ordered: forward_backward and the optim_step
 * after it may both be in flight. A failed or cancelled operation lets the next one
 * proceed; whatever part of it the server has accepted stays applied. Arguments are
 * copied or encoded before a call returns.
 *
 * Every operation returns a future (never NULL; the caller frees it) and has a
 * blocking form that ends in _wait. That form returns TINKC_OK with the result in
 * *out, which the caller owns (a NULL `out` discards it), or the code of the error
 * with the error in *err, which the caller frees (`err` may be NULL). Bad arguments
 * (TINKC_E_INVALID), a NULL handle (TINKC_E_STATE) and a closed service
 * (TINKC_E_CANCELLED) are reported by the future, like errors of the server. Thread:
 * any; the _wait forms not on the loop's thread. */
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

/* Called on the loop's thread each time a chunk of a large batch finishes, with the
 * chunk's result as the server sent it (its metrics are not combined). `first` is the
 * index of the chunk's first datum, `n` the number of its datums. `part` is borrowed
 * for the duration of the call. Must not block. `user` must stay valid until the
 * future is done; after a cancel, until the service is closed. */
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
    const tinkc_pair *texts; /* loss_fn_config: values that are texts, e.g. "loss_id" */
    size_t texts_n;
} tinkc_fwdbwd_options;

#define TINKC_FWDBWD_OPTIONS_INIT                                                        \
    {                                                                                    \
        sizeof(tinkc_fwdbwd_options), NULL, 0, 0, NULL, false, NULL, NULL, 0             \
    }

/* Sets *options to TINKC_FWDBWD_OPTIONS_INIT. */
TINKC_API void tinkc_fwdbwd_options_init(tinkc_fwdbwd_options *options);

/* Computes the loss and the log-probabilities without gradients. `loss` is a name
 * ("cross_entropy", ...; see tinkc_loss_name); a name that this version does not know
 * is passed on. The batch is split into chunks by count and size, within the server's
 * limits. Found before anything is sent: TINKC_E_INVALID for an empty batch, a NULL
 * datum, NaN in an input, an input whose length differs from the number of tokens, an
 * image pointer, a missing loss name, or text that is not UTF-8; TINKC_E_LIMIT for a
 * batch that is too large; TINKC_E_BUDGET when a token budget would be exceeded.
 * Result: tinkc_future_take_fwdbwd. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_training_forward(tinkc_training *training, tinkc_datum *const *data, size_t n,
                       const char *loss, const tinkc_fwdbwd_options *options);

/* Calls tinkc_training_forward and waits for its result. The caller owns *out
 * (tinkc_fwdbwd_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_training_forward_wait(
    tinkc_fwdbwd **out, tinkc_training *training, tinkc_datum *const *data, size_t n,
    const char *loss, const tinkc_fwdbwd_options *options, tinkc_error **err);

/* Computes the same as tinkc_training_forward and adds the gradients to the model's
 * accumulator. When a chunk fails after others were accepted, the error says how many
 * were accepted, and optim_steps that were already called but not yet sent fail with
 * TINKC_E_STATE instead of stepping on partial gradients (option
 * fail_step_after_partial). Other errors are those of tinkc_training_forward. Result:
 * tinkc_future_take_fwdbwd. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_training_forward_backward(tinkc_training *training, tinkc_datum *const *data,
                                size_t n, const char *loss,
                                const tinkc_fwdbwd_options *options);

/* Calls tinkc_training_forward_backward and waits for its result. The caller owns *out
 * (tinkc_fwdbwd_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_training_forward_backward_wait(
    tinkc_fwdbwd **out, tinkc_training *training, tinkc_datum *const *data, size_t n,
    const char *loss, const tinkc_fwdbwd_options *options, tinkc_error **err);

/* One datum of a custom loss: its log-probabilities in, its gradient out. */
typedef struct tinkc_custom_item {
    const float *logprobs; /* [n], in the flattened shape of the targets */
    float *gradient;       /* [n], initially 0; the callback writes dLoss/dlogprobs */
    size_t n;
    const struct tinkc_custom_inputs *inputs; /* see tinkc_custom_item_tensor */
} tinkc_custom_item;

/* Returns a loss function input of the item's datum, as it was when the operation was
 * called, borrowed until the callback returns; NULL when there is none of that name. */
TINKC_API const tinkc_tensor *tinkc_custom_item_tensor(const tinkc_custom_item *item,
                                                       const char *name);

/* Computes the loss of the whole batch and the gradient of each item. Called once.
 * Returns 0 on success; any other value makes the operation fail with TINKC_E_INVALID
 * before anything is applied. Metrics are added with tinkc_metrics_put. The loss becomes
 * the metric "loss:sum", and the server's own loss "surrogate_loss:sum"; with an
 * sdk_version below 0.36 it becomes "loss", unless the callback has set that.
 *
 * Thread: one that the library keeps for these callbacks, with signals blocked. It may
 * take long: heartbeats and other operations continue meanwhile. One callback runs at
 * a time per service; others wait in order. With TINKC_LOOP_MANUAL it runs inside
 * tinkc_service_process, on the calling thread, and heartbeats wait for it.
 *
 * It may call and wait for other operations of the service, except with
 * TINKC_LOOP_MANUAL. It must not wait for a later operation of the same model or for
 * another custom loss: they come after this one, and the wait would never end.
 * tinkc_service_close does nothing in here.
 *
 * When the operation is cancelled or the service is closed meanwhile, the future
 * completes at once with TINKC_E_CANCELLED; the callback runs to its end, and its
 * result is discarded. tinkc_service_close waits for it. `items` are valid until the
 * callback returns; `user` must stay valid until the future is done and, after a
 * cancel, until the callback has returned or the service is closed.
 *
 * It must return: an exception (C++), a panic (Rust) or a longjmp that leaves it is
 * undefined behaviour. Catch it inside and return a value other than 0. */
typedef int (*tinkc_custom_loss_fn)(double *loss, tinkc_metrics *metrics,
                                    tinkc_custom_item *items, size_t n, void *user);

/* Runs forward, then `fn`, then forward_backward with weights = -gradient, both with
 * cross_entropy. Each datum must have target_tokens (1-D or 2-D). It may have any other
 * inputs, which the callback can read (tinkc_custom_item_tensor); only its weights are
 * sent, with the forward half, where they have no effect. With an sdk_version below 0.36
 * inputs other than weights are TINKC_E_INVALID. Both halves have their place in the
 * order when this returns: an optim_step called next uses these gradients.
 * TINKC_E_INVALID for a NULL `fn`, a value other than 0 from `fn` or a gradient that is
 * not finite; other errors are those of tinkc_training_forward_backward. Result:
 * tinkc_future_take_fwdbwd; its metrics include those of the callback, which take
 * precedence. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_training_forward_backward_custom(tinkc_training *training, tinkc_datum *const *data,
                                       size_t n, tinkc_custom_loss_fn fn, void *user);

/* Calls tinkc_training_forward_backward_custom and waits for its result. The caller
 * owns *out (tinkc_fwdbwd_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_training_forward_backward_custom_wait(
    tinkc_fwdbwd **out, tinkc_training *training, tinkc_datum *const *data, size_t n,
    tinkc_custom_loss_fn fn, void *user, tinkc_error **err);

/* Takes the result out of a completed future. The caller owns *out
 * (tinkc_fwdbwd_free). TINKC_E_STATE when the future is NULL or not done, has a result
 * of another kind, or its result was already taken; otherwise the error of the
 * operation. */
TINKC_API tinkc_code tinkc_future_take_fwdbwd(tinkc_fwdbwd **out, tinkc_future *future,
                                              tinkc_error **err);

/* Waits for the future, takes the result as tinkc_future_take_fwdbwd does, and frees
 * the future whatever the outcome: *future is NULL afterwards. A NULL `out` discards the
 * result. */
TINKC_API tinkc_code tinkc_future_await_fwdbwd(tinkc_fwdbwd **out, tinkc_future **future,
                                               tinkc_error **err);

/* Frees the result and sets *result to NULL. Accepts NULL and a pointer to NULL. */
TINKC_API void tinkc_fwdbwd_free(tinkc_fwdbwd **result);

/* Returns the number of datums; 0 for NULL. */
TINKC_API size_t tinkc_fwdbwd_count(const tinkc_fwdbwd *result);

/* Returns the server's name for the kind of outputs, e.g. "CrossEntropyLossReturn",
 * borrowed until the result is freed; NULL for NULL. */
TINKC_API const char *tinkc_fwdbwd_output_type(const tinkc_fwdbwd *result);

/* Gives the loss from the metrics, as tinkc_metrics_loss does; when the server sent none,
 * the sum over all tokens that tinkc_fwdbwd_computed_loss_with gives for the datums and
 * settings of the batch. TINKC_E_MISSING when there is neither, TINKC_E_INVALID without
 * `out`. */
TINKC_API tinkc_code tinkc_fwdbwd_loss(double *out, const tinkc_fwdbwd *result,
                                       tinkc_error **err);

/* Computes the loss of a batch from the log-probabilities of its result, which every
 * server sends; what the metrics say does not matter. `data` are the datums of the batch,
 * `loss` its loss function. The result is a sum over all tokens, with r = exp(logprob -
 * sampled logprob) and c = r within the bounds clip_low_threshold and clip_high_threshold:
 *
 *     cross_entropy         -logprob * weight (1 without weights)
 *     importance_sampling   -r * advantage
 *     ppo                   -min(r * advantage, c * advantage)
 *     cispo                 -c * logprob * advantage
 *     dro                   -(logprob * advantage - beta/2 * (logprob - sampled logprob)^2)
 *
 * The bounds of ppo are 0.8 and 1.2 when they are not given; cispo and dro need their
 * settings, because servers differ in what they take without them. TINKC_E_UNSUPPORTED for
 * another loss, TINKC_E_MISSING when a setting, or a value for a token, is missing,
 * TINKC_E_INVALID without `out`, `result` or `data`. */
TINKC_API tinkc_code tinkc_fwdbwd_computed_loss(double *out, const tinkc_fwdbwd *result,
                                                tinkc_datum *const *data, size_t n,
                                                const char *loss, tinkc_error **err);

/* Computes the same with the settings (`config`) that the batch was sent with. Same errors
 * as tinkc_fwdbwd_computed_loss, and TINKC_E_INVALID for options without their size. */
TINKC_API tinkc_code tinkc_fwdbwd_computed_loss_with(
    double *out, const tinkc_fwdbwd *result, tinkc_datum *const *data, size_t n,
    const char *loss, const tinkc_fwdbwd_options *options, tinkc_error **err);

/* Returns the metrics of the batch, borrowed until the result is freed; NULL for
 * NULL. */
TINKC_API const tinkc_metrics *tinkc_fwdbwd_metrics(const tinkc_fwdbwd *result);

/* Gets a named float32 tensor of one datum, e.g. "logprobs", in row-major order,
 * borrowed until the result is freed. TINKC_E_MISSING when the datum or a tensor of
 * that name does not exist, TINKC_E_INVALID when the tensor is int64 or `out` or `n`
 * is NULL. */
TINKC_API tinkc_code tinkc_fwdbwd_f32(const float **out, size_t *n,
                                      const tinkc_fwdbwd *result, size_t datum,
                                      const char *name, tinkc_error **err);

/* Gets a named int64 tensor of one datum, borrowed until the result is freed. Same
 * errors as tinkc_fwdbwd_f32, with TINKC_E_INVALID when the tensor is float32. */
TINKC_API tinkc_code tinkc_fwdbwd_i64(const int64_t **out, size_t *n,
                                      const tinkc_fwdbwd *result, size_t datum,
                                      const char *name, tinkc_error **err);

/* Gets the shape of a named tensor of one datum, borrowed until the result is freed.
 * TINKC_E_MISSING when the datum or a tensor of that name does not exist,
 * TINKC_E_INVALID when `dims` or `n` is NULL. */
TINKC_API tinkc_code tinkc_fwdbwd_shape(const int64_t **dims, size_t *n,
                                        const tinkc_fwdbwd *result, size_t datum,
                                        const char *name, tinkc_error **err);

/* Returns the name of tensor `index` of a datum, borrowed until the result is freed;
 * NULL when `datum` or `index` is past the end. */
TINKC_API const char *tinkc_fwdbwd_name(const tinkc_fwdbwd *result, size_t datum,
                                        size_t index);

/* ---- optimizer ---- */

/* Performs one AdamW step with the accumulated gradients; for a model with another
 * optimizer see tinkc_training_optim_step_with. `adam` NULL: TINKC_ADAM_PARAMS_INIT.
 * TINKC_E_INVALID for parameters out of range; TINKC_E_STATE, without sending it, when it
 * was called before a preceding batch failed in part (see
 * tinkc_training_forward_backward). Result: tinkc_future_take_metrics. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_training_optim_step(tinkc_training *training, const tinkc_adam_params *adam);

/* Calls tinkc_training_optim_step and waits for its result. The caller owns *out
 * (tinkc_metrics_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_training_optim_step_wait(tinkc_metrics **out,
                                                    tinkc_training *training,
                                                    const tinkc_adam_params *adam,
                                                    tinkc_error **err);

/* Performs one step of the optimizer that the model was created with. `params` NULL:
 * TINKC_OPTIM_PARAMS_INIT. TINKC_E_INVALID for parameters out of range; other errors are
 * those of tinkc_training_optim_step. Result: tinkc_future_take_metrics. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_training_optim_step_with(tinkc_training *training,
                               const tinkc_optim_params *params);

/* Calls tinkc_training_optim_step_with and waits for its result. The caller owns *out
 * (tinkc_metrics_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_training_optim_step_with_wait(tinkc_metrics **out,
                                                         tinkc_training *training,
                                                         const tinkc_optim_params *params,
                                                         tinkc_error **err);

/* Takes the metrics out of a completed future. The caller owns *out
 * (tinkc_metrics_free). TINKC_E_STATE when the future is NULL or not done, has a
 * result of another kind, or its result was already taken; otherwise the error of the
 * operation. */
TINKC_API tinkc_code tinkc_future_take_metrics(tinkc_metrics **out, tinkc_future *future,
                                               tinkc_error **err);

/* Waits for the future, takes the metrics as tinkc_future_take_metrics does, and frees
 * the future whatever the outcome: *future is NULL afterwards. A NULL `out` discards the
 * result. */
TINKC_API tinkc_code tinkc_future_await_metrics(tinkc_metrics **out,
                                                tinkc_future **future, tinkc_error **err);

/* ---- a whole step ---- */

typedef struct tinkc_step tinkc_step; /* results of forward_backward and optim_step */

typedef struct tinkc_step_options {
    size_t size;
    const tinkc_adam_params *adam;      /* NULL: TINKC_ADAM_PARAMS_INIT */
    const tinkc_fwdbwd_options *fwdbwd; /* NULL: TINKC_FWDBWD_OPTIONS_INIT */
    const tinkc_optim_params *optim;    /* instead of `adam`; NULL: `adam` */
} tinkc_step_options;

#define TINKC_STEP_OPTIONS_INIT                                                          \
    {                                                                                    \
        sizeof(tinkc_step_options), NULL, NULL, NULL                                     \
    }

/* Sets *options to TINKC_STEP_OPTIONS_INIT. */
TINKC_API void tinkc_step_options_init(tinkc_step_options *options);

/* Submits forward_backward and the optim_step that uses its gradients; both have their
 * place in the order when this returns. The future is done when both are; cancelling
 * it cancels both. `options` NULL: TINKC_STEP_OPTIONS_INIT. When the batch fails, the
 * future has the error of the batch, and the optimizer does not step unless its
 * request was already sent. Other errors are those of tinkc_training_forward_backward
 * and tinkc_training_optim_step. Result: tinkc_future_take_step. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_training_step(tinkc_training *training, tinkc_datum *const *data, size_t n,
                    const char *loss, const tinkc_step_options *options);

/* Calls tinkc_training_step and waits for its result. The caller owns *out
 * (tinkc_step_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_training_step_wait(tinkc_step **out, tinkc_training *training,
                                              tinkc_datum *const *data, size_t n,
                                              const char *loss,
                                              const tinkc_step_options *options,
                                              tinkc_error **err);

/* Takes the results of both parts out of a completed future. The caller owns *out
 * (tinkc_step_free). TINKC_E_STATE when the future is NULL or not done, has a result
 * of another kind, or its result was already taken; otherwise the error of the
 * operation. */
TINKC_API tinkc_code tinkc_future_take_step(tinkc_step **out, tinkc_future *future,
                                            tinkc_error **err);

/* Waits for the future, takes the results of both parts as tinkc_future_take_step
 * does, and frees the future whatever the outcome: *future is NULL afterwards. A NULL
 * `out` discards the result. */
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
    int64_t ttl_seconds;           /* -1: none */
    bool overwrite;                /* save_state only */
    const tinkc_pair *metadata;    /* of the checkpoint; not of external weights */
    size_t metadata_n;             /* 0: none is sent */
    const char *const *recipients; /* external weights only: age recipients ("age1...", or
                                      SSH public keys) that the files are encrypted for */
    size_t recipients_n;
} tinkc_save_options;

#define TINKC_SAVE_OPTIONS_INIT                                                          \
    {                                                                                    \
        sizeof(tinkc_save_options), -1, false, NULL, 0, NULL, 0                          \
    }

/* Sets *options to TINKC_SAVE_OPTIONS_INIT. */
TINKC_API void tinkc_save_options_init(tinkc_save_options *options);

/* Saves weights and optimizer state under `name`: 1 to 255 bytes without "/", spaces
 * or control characters. `options` NULL: TINKC_SAVE_OPTIONS_INIT. TINKC_E_INVALID for
 * any other name, or for a ttl_seconds that is neither -1 nor at least 1. Result:
 * tinkc_future_take_text ("tinker://<run>/weights/<name>"). */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_training_save_state(tinkc_training *training, const char *name,
                          const tinkc_save_options *options);

/* Calls tinkc_training_save_state and waits for its result. The caller owns *out
 * (tinkc_text_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_training_save_state_wait(char **out, tinkc_training *training,
                                                    const char *name,
                                                    const tinkc_save_options *options,
                                                    tinkc_error **err);

/* Saves weights for sampling under `name`. Name, `options` and errors as for
 * tinkc_training_save_state, and TINKC_E_INVALID when options->overwrite is set.
 * Result: tinkc_future_take_text ("tinker://<run>/sampler_weights/<name>"). */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_training_save_weights_for_sampler(tinkc_training *training, const char *name,
                                        const tinkc_save_options *options);

/* Calls tinkc_training_save_weights_for_sampler and waits for its result. The caller
 * owns *out (tinkc_text_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_training_save_weights_for_sampler_wait(
    char **out, tinkc_training *training, const char *name,
    const tinkc_save_options *options, tinkc_error **err);

/* Exports the weights under `name` as files for other programs, which
 * tinkc_rest_external_urls and tinkc_download_checkpoint fetch. Name, `options` and
 * errors as for tinkc_training_save_state, and TINKC_E_INVALID when options->overwrite or
 * options->metadata is set. With options->recipients the files are encrypted and end in
 * ".age"; a server that cannot do that refuses. Servers of the level of the official SDK
 * 0.36. Result: tinkc_future_take_text ("tinker://<run>/external_weights/<name>"). */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_training_save_weights_external(tinkc_training *training, const char *name,
                                     const tinkc_save_options *options);

/* Calls tinkc_training_save_weights_external and waits for its result. The caller owns
 * *out (tinkc_text_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_training_save_weights_external_wait(
    char **out, tinkc_training *training, const char *name,
    const tinkc_save_options *options, tinkc_error **err);

/* Creates a sampling client for the weights as they are at this point in the order;
 * they are not saved under a name. Result: tinkc_future_take_sampling. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_training_save_and_sample(tinkc_training *training);

/* Calls tinkc_training_save_and_sample and waits for its result. The caller owns *out
 * (tinkc_sampling_close); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_training_save_and_sample_wait(tinkc_sampling **out,
                                                         tinkc_training *training,
                                                         tinkc_error **err);

/* Loads a checkpoint that tinkc_training_save_state wrote, with or without its
 * optimizer state. `token` is a key that may read the checkpoint; NULL: the key of the
 * service. TINKC_E_INVALID for any other path. Result: none. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_training_load_state(tinkc_training *training, const char *path, bool with_optimizer,
                          const char *token);

/* Calls tinkc_training_load_state and waits until it is done. */
TINKC_API tinkc_code tinkc_training_load_state_wait(tinkc_training *training,
                                                    const char *path, bool with_optimizer,
                                                    const char *token, tinkc_error **err);

/* ---- the model ---- */

/* Asks what the server knows about the model. Not ordered: it is sent at once, even
 * while other operations wait. Result: tinkc_future_take_model_info. */
TINKC_API TINKC_NODISCARD tinkc_future *tinkc_training_get_info(tinkc_training *training);

/* Calls tinkc_training_get_info and waits for its result. The caller owns *out
 * (tinkc_model_info_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_training_get_info_wait(tinkc_model_info **out,
                                                  tinkc_training *training,
                                                  tinkc_error **err);

/* Takes the description of the model out of a completed future. The caller owns *out
 * (tinkc_model_info_free). TINKC_E_STATE when the future is NULL or not done, has a
 * result of another kind, or its result was already taken; otherwise the error of the
 * operation. */
TINKC_API tinkc_code tinkc_future_take_model_info(tinkc_model_info **out,
                                                  tinkc_future *future,
                                                  tinkc_error **err);

/* Waits for the future, takes the description of the model as
 * tinkc_future_take_model_info does, and frees the future whatever the outcome:
 * *future is NULL afterwards. A NULL `out` discards the result. */
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

/* Returns whether the model is a LoRA model; false when the server did not state it. */
TINKC_API bool tinkc_model_info_is_lora(const tinkc_model_info *info);

/* Returns the LoRA rank of the model; -1 when the server gave none. */
TINKC_API int64_t tinkc_model_info_lora_rank(const tinkc_model_info *info);

/* Returns the optimizer of the model; TINKC_OPTIMIZER_OTHER for one that this version
 * does not know, TINKC_OPTIMIZER_ADAMW when the server gave none. */
TINKC_API tinkc_optimizer tinkc_model_info_optimizer(const tinkc_model_info *info);

/* Returns the server's name of the optimizer, "adamw" if it gave none. Accepts NULL. */
TINKC_API const char *tinkc_model_info_optimizer_name(const tinkc_model_info *info);

/* Unloads the model on the server, after all operations called before. Result: none. */
TINKC_API TINKC_NODISCARD tinkc_future *tinkc_training_unload(tinkc_training *training);

/* Calls tinkc_training_unload and waits until it is done. */
TINKC_API tinkc_code tinkc_training_unload_wait(tinkc_training *training,
                                                tinkc_error **err);

TINKC_END_DECLS

#endif
