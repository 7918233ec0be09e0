/* Sampling client: an immutable handle. Any number of threads may sample with it at once;
 * they do not block each other. Prompts are encoded before a call returns.
 *
 * A handle comes from tinkc_service_create_sampling, tinkc_service_open_sampling,
 * tinkc_service_import_sampling, tinkc_training_save_and_sample or
 * tinkc_sampling_with_context. After its service was
 * closed, whatever has to be sent fails with TINKC_E_CANCELLED. Thread: any; functions
 * that wait not on the loop's thread. */
#ifndef TINKC_SAMPLING_H
#define TINKC_SAMPLING_H

#include <tinkc/params.h>
#include <tinkc/service.h>
#include <tinkc/types.h>

TINKC_BEGIN_DECLS

typedef struct tinkc_samples tinkc_samples;   /* what sample gives */
typedef struct tinkc_logprobs tinkc_logprobs; /* what compute_logprobs gives */

/* Closes the handle and sets *sampling to NULL. Unfinished samples continue. Accepts
 * NULL and a pointer to NULL. */
TINKC_API void tinkc_sampling_close(tinkc_sampling **sampling);

/* Makes a second handle of the same sampler whose samples are tried again as `retry` says;
 * NULL: as the options of the service say. Streams are not tried again. The caller owns
 * *out (tinkc_sampling_close). TINKC_E_INVALID, TINKC_E_STATE when `sampling` is NULL,
 * TINKC_E_CANCELLED after the service was closed, TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code
tinkc_sampling_with_retry(tinkc_sampling **out, tinkc_sampling *sampling,
                          const tinkc_sample_retry *retry, tinkc_error **err);

/* Returns the id of the sampling session, "<session>:sample:<n>", borrowed until the
 * handle is closed; NULL for NULL and for a handle without a session. */
TINKC_API const char *tinkc_sampling_session_id(const tinkc_sampling *sampling);

/* Writes a handle of the sampling session: a text that another process passes to
 * tinkc_service_import_sampling (or to from_sampler_handle of the official SDK) to sample
 * from the same sampler. It contains the server's URL and no credentials. Any number of
 * clients may join. The caller owns *out (tinkc_text_free). TINKC_E_STATE when
 * `sampling` is NULL or has no sampling session, or when its service is closed. */
TINKC_API tinkc_code tinkc_sampling_export(char **out, const tinkc_sampling *sampling,
                                           tinkc_error **err);

/* Asks for the name of the base model. A handle opened on a base model knows it and
 * sends nothing; one opened on a checkpoint asks the server for the checkpoint's base
 * model. Result: tinkc_future_take_text. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_sampling_get_base_model(tinkc_sampling *sampling);

/* Calls tinkc_sampling_get_base_model and waits for its result. The caller owns *out
 * (tinkc_text_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_sampling_get_base_model_wait(char **out,
                                                        tinkc_sampling *sampling,
                                                        tinkc_error **err);

/* ---- samples ---- */

/* Samples `options->num_samples` continuations of `prompt`. `params` NULL: temperature
 * 1, as long as the model's context allows; `options` NULL: one sample. Found before
 * anything is sent: TINKC_E_INVALID for an empty prompt or a value out of range,
 * TINKC_E_BUDGET when a token budget would be exceeded. The library waits while the
 * server responds with 429 and resubmits work whose result the server lost.
 * TINKC_E_REQUEST when the work failed on the server, TINKC_E_STUCK when the server
 * makes no progress, TINKC_E_TIMEOUT after options->deadline_ms, TINKC_E_UNSUPPORTED when
 * the server does not know prompt_alt_tokens_k or prompt_logprobs_last_n, otherwise the
 * code of the HTTP status. Result: tinkc_future_take_samples. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_sampling_sample(tinkc_sampling *sampling, const tinkc_model_input *prompt,
                      const tinkc_sampling_params *params,
                      const tinkc_sample_options *options);

/* Calls tinkc_sampling_sample and waits for its result. The caller owns *out
 * (tinkc_samples_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_sampling_sample_wait(tinkc_samples **out,
                                                tinkc_sampling *sampling,
                                                const tinkc_model_input *prompt,
                                                const tinkc_sampling_params *params,
                                                const tinkc_sample_options *options,
                                                tinkc_error **err);

/* Takes the samples out of a completed future. The caller owns *out
 * (tinkc_samples_free). TINKC_E_STATE when the future is NULL or not done, has a
 * result of another kind, or its result was already taken; otherwise the error of the
 * operation. */
TINKC_API tinkc_code tinkc_future_take_samples(tinkc_samples **out, tinkc_future *future,
                                               tinkc_error **err);

/* Waits for the future, takes the samples as tinkc_future_take_samples does, and frees
 * the future whatever the outcome: *future is NULL afterwards. A NULL `out` discards the
 * result. */
TINKC_API tinkc_code tinkc_future_await_samples(tinkc_samples **out,
                                                tinkc_future **future, tinkc_error **err);

/* Frees the samples and sets *samples to NULL. Accepts NULL and a pointer to NULL. */
TINKC_API void tinkc_samples_free(tinkc_samples **samples);

/* Returns the number of continuations; 0 for NULL. */
TINKC_API size_t tinkc_samples_count(const tinkc_samples *samples);

/* Why a continuation ended. */
typedef enum tinkc_stop_reason {
    TINKC_STOP_STOP = 0,   /* a stop token or string, or the end of the text */
    TINKC_STOP_LENGTH = 1, /* max_tokens */
    TINKC_STOP_OTHER = -1  /* a reason that this version does not know */
} tinkc_stop_reason;

/* Returns the tokens of one continuation, borrowed until the result is freed; NULL
 * with *n = 0 when there are none or `index` is past the end. `n` may be NULL, here
 * and below. */
TINKC_API const int32_t *tinkc_samples_tokens(size_t *n, const tinkc_samples *samples,
                                              size_t index);

/* Returns the log-probability of each of those tokens, borrowed until the result is
 * freed; NULL with *n = 0 when the server sent none or `index` is past the end. */
TINKC_API const float *tinkc_samples_logprobs(size_t *n, const tinkc_samples *samples,
                                              size_t index);

/* Returns why the continuation ended; TINKC_STOP_STOP when `index` is past the end. */
TINKC_API tinkc_stop_reason tinkc_samples_stop_reason(const tinkc_samples *samples,
                                                      size_t index);

/* Returns the reason as text: "stop", "length", or what the server sent (from protobuf a
 * number), borrowed until the result is freed; "" when `index` is past the end. */
TINKC_API const char *tinkc_samples_stop_text(const tinkc_samples *samples, size_t index);

/* Returns the id that the server gave to a continuation when it accepted the sample,
 * borrowed until the result is freed; training data refer to the continuation by it. NULL
 * when the server gives none (before 0.36) or `index` is past the end. */
TINKC_API const char *tinkc_samples_sequence_id(const tinkc_samples *samples,
                                                size_t index);

/* Returns one value per prompt token, NaN where the server computed none (always for
 * the first token), borrowed until the result is freed; NULL with *n = 0 when they
 * were not requested. */
TINKC_API const float *tinkc_samples_prompt_logprobs(size_t *n,
                                                     const tinkc_samples *samples);

/* Returns the number of rows of the top-k table: one per prompt token; 0 when the
 * result has none. */
TINKC_API size_t tinkc_samples_topk_rows(const tinkc_samples *samples);

/* Gives row `position` of that table: *k pairs, the most likely first, borrowed until
 * the result is freed; *k is 0 and both pointers are NULL where the server computed
 * none. TINKC_E_MISSING when `position` is past the end, TINKC_E_INVALID when an
 * output is NULL. */
TINKC_API tinkc_code tinkc_samples_topk(const int32_t **token_ids, const float **logprobs,
                                        size_t *k, const tinkc_samples *samples,
                                        size_t position, tinkc_error **err);

/* A row of a top-k table, borrowed until the result is freed. */
typedef struct tinkc_topk {
    const int32_t *token_ids; /* k, the most likely first; NULL when k is 0 */
    const float *logprobs;
    size_t k; /* 0: the server computed none here */
} tinkc_topk;

/* Returns the number of rows of the top-k table of one continuation
 * (options->topk_sample_logprobs): one per sampled token; 0 when there is none or `index`
 * is past the end. */
TINKC_API size_t tinkc_samples_sampled_topk_rows(const tinkc_samples *samples,
                                                 size_t index);

/* Gives row `position` of that table. TINKC_E_MISSING when `index` or `position` is past
 * the end, TINKC_E_INVALID when `out` is NULL. */
TINKC_API tinkc_code tinkc_samples_sampled_topk(tinkc_topk *out,
                                                const tinkc_samples *samples,
                                                size_t index, size_t position,
                                                tinkc_error **err);

/* Returns the log-probabilities of the tokens that options->target_prompt_logprobs named:
 * float32, with its shape and layout, 0 where it had -1. Borrowed until the result is
 * freed; NULL when the server sent none. */
TINKC_API const tinkc_tensor *tinkc_samples_target_logprobs(const tinkc_samples *samples);

/* Returns what was drawn for options->prompt_alt_tokens_k: int64, [prompt length - 1, k];
 * row i holds draws with replacement from the distribution over prompt token i + 1, at the
 * request's temperature. Borrowed until the result is freed; NULL when it was not asked
 * for. */
TINKC_API const tinkc_tensor *tinkc_samples_alt_tokens(const tinkc_samples *samples);

/* Returns the log-probability that the model gives to each of them: float32, the same
 * shape. Borrowed until the result is freed; NULL when it was not asked for. */
TINKC_API const tinkc_tensor *tinkc_samples_alt_logprobs(const tinkc_samples *samples);

/* Creates the datum of one continuation, as tinkc_datum_from_rollout does: `prompt` is what
 * it was sampled after, `advantage` how much better than expected it was. The caller frees
 * *out. Errors as tinkc_datum_from_rollout; TINKC_E_MISSING when `index` is past the end. */
TINKC_API TINKC_NODISCARD tinkc_code
tinkc_samples_datum(tinkc_datum **out, const tinkc_samples *samples, size_t index,
                    const tinkc_model_input *prompt, double advantage, tinkc_error **err);

/* Returns the number of prompt tokens that the server found in its prefix cache; 0 for
 * NULL. */
TINKC_API int64_t tinkc_samples_cache_hits(const tinkc_samples *samples);

/* ---- log-probabilities of a prompt ---- */

/* Computes the log-probability of each token of a prompt, without sampling. Same
 * errors as tinkc_sampling_sample; TINKC_E_DECODE when the server sent no
 * log-probabilities. Result: tinkc_future_take_logprobs. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_sampling_compute_logprobs(tinkc_sampling *sampling,
                                const tinkc_model_input *prompt);

/* Calls tinkc_sampling_compute_logprobs and waits for its result. The caller owns *out
 * (tinkc_logprobs_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_sampling_compute_logprobs_wait(tinkc_logprobs **out,
                                                          tinkc_sampling *sampling,
                                                          const tinkc_model_input *prompt,
                                                          tinkc_error **err);

/* Computes the log-probability of the last `last_n` tokens of a prompt; the values of
 * the others are NaN, and the server may take them from its prefix cache.
 * TINKC_E_INVALID when last_n is below 1, TINKC_E_UNSUPPORTED when the server does not
 * know this option; otherwise as tinkc_sampling_compute_logprobs. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_sampling_compute_last_logprobs(tinkc_sampling *sampling,
                                     const tinkc_model_input *prompt, int64_t last_n);

/* Calls tinkc_sampling_compute_last_logprobs and waits for its result. The caller owns
 * *out (tinkc_logprobs_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_sampling_compute_last_logprobs_wait(
    tinkc_logprobs **out, tinkc_sampling *sampling, const tinkc_model_input *prompt,
    int64_t last_n, tinkc_error **err);

/* Takes the log-probabilities out of a completed future. The caller owns *out
 * (tinkc_logprobs_free). TINKC_E_STATE when the future is NULL or not done, has a
 * result of another kind, or its result was already taken; otherwise the error of the
 * operation. */
TINKC_API tinkc_code tinkc_future_take_logprobs(tinkc_logprobs **out,
                                                tinkc_future *future, tinkc_error **err);

/* Waits for the future, takes the log-probabilities as tinkc_future_take_logprobs
 * does, and frees the future whatever the outcome: *future is NULL afterwards. A NULL
 * `out` discards the result. */
TINKC_API tinkc_code tinkc_future_await_logprobs(tinkc_logprobs **out,
                                                 tinkc_future **future,
                                                 tinkc_error **err);

/* Frees the log-probabilities and sets *logprobs to NULL. Accepts NULL and a pointer
 * to NULL. */
TINKC_API void tinkc_logprobs_free(tinkc_logprobs **logprobs);

/* Returns one value per prompt token, NaN where the server computed none (always for
 * the first); borrowed until the result is freed. NULL with *n = 0 when there are none
 * or `logprobs` is NULL. `n` may be NULL. */
TINKC_API const float *tinkc_logprobs_values(size_t *n, const tinkc_logprobs *logprobs);

/* ---- many prompts ---- */

/* Called for the result of each prompt, in the order of the prompts, on the calling
 * thread. `samples` is NULL when that prompt failed, and `error` holds the reason;
 * otherwise `error` is NULL. Both are borrowed for the duration of the call. Returns
 * true to continue, false to cancel all unfinished prompts. */
typedef bool (*tinkc_batch_fn)(size_t index, const tinkc_samples *samples,
                               const tinkc_error *error, void *user);

/* The prompts, how to sample them, and where the results go. Start from
 * TINKC_SAMPLE_BATCH_INIT. */
typedef struct tinkc_sample_batch {
    size_t size;
    tinkc_model_input *const *prompts;
    size_t prompts_n;
    const tinkc_sampling_params *params; /* as in tinkc_sampling_sample */
    const tinkc_sample_options *options;
    size_t max_in_flight; /* prompts at a time */
    tinkc_batch_fn fn;
    void *user;
} tinkc_sample_batch;

#define TINKC_SAMPLE_BATCH_INIT                                                          \
    {                                                                                    \
        sizeof(tinkc_sample_batch), NULL, 0, NULL, NULL, 400, NULL, NULL                 \
    }

/* Sets *batch to TINKC_SAMPLE_BATCH_INIT. */
TINKC_API void tinkc_sample_batch_init(tinkc_sample_batch *batch);

/* Samples all prompts, at most max_in_flight at a time, and passes the results to `fn`
 * in the order of the prompts. Blocks until `fn` has had all of them; not on the
 * loop's thread. TINKC_OK does not mean that every prompt succeeded: `fn` receives the
 * error of each. With prompts_n 0 it does nothing and returns TINKC_OK.
 * TINKC_E_CANCELLED when `fn` returned false; TINKC_E_INVALID when `batch`, `fn` or
 * `prompts` is NULL or max_in_flight is 0; TINKC_E_STATE when `sampling` is NULL;
 * TINKC_E_NOMEM. */
TINKC_API tinkc_code tinkc_sampling_batch(tinkc_sampling *sampling,
                                          const tinkc_sample_batch *batch,
                                          tinkc_error **err);

TINKC_END_DECLS

#endif
