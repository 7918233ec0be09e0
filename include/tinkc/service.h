/* The service handle: one server, one credential, one session, one I/O loop.
 *
 * Opening makes no network call; the session is created when something needs it. Thread:
 * any, unless a function says otherwise. A handle that is used after fork() in the child
 * reports TINKC_E_STATE. */
#ifndef TINKC_SERVICE_H
#define TINKC_SERVICE_H

#include <tinkc/config.h>
#include <tinkc/error.h>
#include <tinkc/future.h>
#include <tinkc/params.h>

TINKC_BEGIN_DECLS

typedef struct tinkc_service tinkc_service;
typedef struct tinkc_capabilities tinkc_capabilities;
typedef struct tinkc_sampling tinkc_sampling;
typedef struct tinkc_training tinkc_training; /* <tinkc/training.h> */

/* Opens a service; sends nothing. `config` is copied; NULL: defaults and environment.
 * The caller owns *out (tinkc_service_close). TINKC_E_CONFIG for an unusable URL or
 * credential, TINKC_E_IO when the loop cannot be created, TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_service_open(tinkc_service **out,
                                                        const tinkc_config *config,
                                                        tinkc_error **err);

/* Cancels unfinished operations, stops heartbeats and the loop, frees the handle and sets
 * *service to NULL. Returns quickly even while a send or a name look-up hangs. Futures that the
 * caller still holds complete with TINKC_E_CANCELLED. With telemetry, it first hands the
 * last events to the server: as long as that takes them, at most `telemetry_drain` (30
 * s); not at all when the last request got no answer, 100 ms when there is work to
 * cancel, and no longer than one request (5 s) when the server takes nothing any more.
 * Waits for the callback of a custom loss that is running (see tinkc_custom_loss_fn).
 * In a callback of the same service it does nothing: the handle stays open, *service is
 * not changed, and an error is logged. Accepts NULL and a pointer to NULL. */
TINKC_API void tinkc_service_close(tinkc_service **service);

/* ---- TINKC_LOOP_MANUAL ----
 *
 * A program that stops calling tinkc_service_process should close the service: its
 * unfinished samples hold places in limits that all services of the process with the same
 * server and credential share, and only progress or tinkc_service_close gives them
 * back. */

/* Returns a file descriptor that is readable when tinkc_service_process has something
 * to do; -1 when there is none. The service owns it. */
TINKC_API int tinkc_service_fd(const tinkc_service *service);

/* Returns the milliseconds until tinkc_service_process must be called even if the fd
 * stays silent (heartbeats are part of it); 0: now; -1: no deadline. It is what the last
 * tinkc_service_process left: ask again after each one. Thread: any, also while another
 * one is in tinkc_service_process. */
TINKC_API int64_t tinkc_service_deadline_ms(const tinkc_service *service);

/* Does the work that is ready and returns; callbacks run inside. TINKC_E_STATE for
 * NULL, when another thread is in it, or when the service has its own thread. */
TINKC_API tinkc_code tinkc_service_process(tinkc_service *service, tinkc_error **err);

/* ---- whole service ---- */

/* Asks what the server offers. Needs no session. Result:
 * tinkc_future_take_capabilities. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_service_capabilities(tinkc_service *service);

/* Calls tinkc_service_capabilities and waits for its result. The caller owns *out
 * (tinkc_capabilities_free); a NULL `out` drops it. */
TINKC_API tinkc_code tinkc_service_capabilities_wait(tinkc_capabilities **out,
                                                     tinkc_service *service,
                                                     tinkc_error **err);

/* Takes the capabilities out of a done future. The caller owns *out
 * (tinkc_capabilities_free). TINKC_E_STATE when the future is not done, has a result
 * of another kind, or was taken from before; otherwise the error of the operation. */
TINKC_API tinkc_code tinkc_future_take_capabilities(tinkc_capabilities **out,
                                                    tinkc_future *future,
                                                    tinkc_error **err);

/* Waits for the future, takes the capabilities as tinkc_future_take_capabilities does,
 * and frees the future whatever the outcome: *future is NULL afterwards. A NULL `out`
 * drops the result. */
TINKC_API tinkc_code tinkc_future_await_capabilities(tinkc_capabilities **out,
                                                     tinkc_future **future,
                                                     tinkc_error **err);

/* Frees the capabilities and sets *capabilities to NULL. Accepts NULL and a pointer to
 * NULL. */
TINKC_API void tinkc_capabilities_free(tinkc_capabilities **capabilities);

/* Returns the number of models that the server offers; 0 for NULL. */
TINKC_API size_t tinkc_capabilities_count(const tinkc_capabilities *capabilities);

/* Returns the name of a model, or NULL when the server gave none; borrowed until the
 * capabilities are freed. */
TINKC_API const char *tinkc_capabilities_name(const tinkc_capabilities *capabilities,
                                              size_t index);

/* Returns the context length of a model in tokens, or -1 when the server gave none. */
TINKC_API int64_t tinkc_capabilities_context(const tinkc_capabilities *capabilities,
                                             size_t index);

/* Sends GET /api/v1/healthz: whether the server answers. Result: none. */
TINKC_API TINKC_NODISCARD tinkc_future *tinkc_service_health(tinkc_service *service);

/* Calls tinkc_service_health and waits until it is done. */
TINKC_API tinkc_code tinkc_service_health_wait(tinkc_service *service, tinkc_error **err);

/* Returns the session id, or NULL while no session exists. Borrowed: valid while the
 * service is open. */
TINKC_API const char *tinkc_service_session_id(const tinkc_service *service);

/* Lists the operations of the service that are not done, for a program that wants to
 * show why nothing happens: up to `max` of them in out[], the oldest first.
 * out[0].size must be set (TINKC_WAIT_INIT); tinkc_wait_explain makes a sentence of
 * each. Returns how many there are in all; with `out` NULL or `max` 0 only that. Does
 * not use the loop, so it works while a callback blocks the loop. Not for signal
 * handlers. Returns 0 for NULL and after the close. */
TINKC_API size_t tinkc_service_waits(tinkc_wait *out, size_t max, tinkc_service *service);

/* ---- sampling clients: <tinkc/sampling.h> ---- */

/* Creates a sampling client for a base model, a checkpoint ("tinker://..."), or both,
 * in which case the checkpoint is used; NULL: not given. TINKC_E_INVALID when neither
 * is given, or the path does not begin with "tinker://". Result:
 * tinkc_future_take_sampling. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_service_create_sampling(tinkc_service *service, const char *base_model,
                              const char *model_path);

/* Calls tinkc_service_create_sampling and waits for its result. The caller owns *out
 * (tinkc_sampling_close); a NULL `out` drops it. */
TINKC_API tinkc_code tinkc_service_create_sampling_wait(tinkc_sampling **out,
                                                        tinkc_service *service,
                                                        const char *base_model,
                                                        const char *model_path,
                                                        tinkc_error **err);

/* Opens a sampling client that needs no session of its own at the server: each sample
 * names the base model or the checkpoint. Sends nothing for it beyond what the service
 * needs to be ready, and creates no session. TINKC_E_INVALID unless exactly one member of
 * the target is set, or for a path that does not begin with "tinker://". A model that the
 * server does not have shows in the first sample. Result: tinkc_future_take_sampling. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_service_open_sampling(tinkc_service *service, const tinkc_sample_target *target);

/* Calls tinkc_service_open_sampling and waits for its result. The caller owns *out
 * (tinkc_sampling_close); a NULL `out` drops it. */
TINKC_API tinkc_code tinkc_service_open_sampling_wait(tinkc_sampling **out,
                                                      tinkc_service *service,
                                                      const tinkc_sample_target *target,
                                                      tinkc_error **err);

/* Takes the sampling client out of a done future. The caller owns *out
 * (tinkc_sampling_close). TINKC_E_STATE when the future is not done, has a result of
 * another kind, or was taken from before; otherwise the error of the operation. */
TINKC_API tinkc_code tinkc_future_take_sampling(tinkc_sampling **out,
                                                tinkc_future *future, tinkc_error **err);

/* Waits for the future, takes the sampling client as tinkc_future_take_sampling does,
 * and frees the future whatever the outcome: *future is NULL afterwards. A NULL `out`
 * drops the result. */
TINKC_API tinkc_code tinkc_future_await_sampling(tinkc_sampling **out,
                                                 tinkc_future **future,
                                                 tinkc_error **err);

/* ---- results that are one text ---- */

/* Takes the text out of a done future. The caller owns *out (tinkc_text_free).
 * TINKC_E_STATE when the future is not done, has a result of another kind, or was
 * taken from before; otherwise the error of the operation. */
TINKC_API tinkc_code tinkc_future_take_text(char **out, tinkc_future *future,
                                            tinkc_error **err);

/* Waits for the future, takes the text as tinkc_future_take_text does, and frees the
 * future whatever the outcome: *future is NULL afterwards. A NULL `out` drops the
 * result. */
TINKC_API tinkc_code tinkc_future_await_text(char **out, tinkc_future **future,
                                             tinkc_error **err);

/* Frees text that the library handed out and sets *text to NULL. Accepts NULL and a
 * pointer to NULL. */
TINKC_API void tinkc_text_free(char **text);

/* ---- queue observer ---- */

/* Sets the one observer of the server's queue; NULL removes it. Call it before the
 * first operation. TINKC_E_STATE for NULL. */
TINKC_API tinkc_code tinkc_service_on_queue_state(tinkc_service *service,
                                                  tinkc_queue_state_fn fn, void *user,
                                                  tinkc_error **err);

/* ---- clients ---- */

/* Creates a LoRA model on `base_model`. `lora` NULL: rank 32, all parts, a seed of the
 * server's choice. The operations of the model are in <tinkc/training.h>.
 * TINKC_E_INVALID for arguments that are out of range. Result:
 * tinkc_future_take_training. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_service_create_training(tinkc_service *service, const char *base_model,
                              const tinkc_lora_config *lora);

/* Calls tinkc_service_create_training and waits for its result. The caller owns *out
 * (tinkc_training_close); a NULL `out` drops it. */
TINKC_API tinkc_code tinkc_service_create_training_wait(tinkc_training **out,
                                                        tinkc_service *service,
                                                        const char *base_model,
                                                        const tinkc_lora_config *lora,
                                                        tinkc_error **err);

typedef struct tinkc_from_state_options {
    size_t size;
    bool with_optimizer;              /* moments and step count too */
    const char *base_model;           /* NULL: as the checkpoint says */
    const char *weights_access_token; /* a key that may read it; NULL: the service's */
    const tinkc_pair *metadata;       /* as in tinkc_lora_config */
    size_t metadata_n;
} tinkc_from_state_options;

#define TINKC_FROM_STATE_OPTIONS_INIT                                                    \
    {                                                                                    \
        sizeof(tinkc_from_state_options), false, NULL, NULL, NULL, 0                     \
    }

/* Sets *options to TINKC_FROM_STATE_OPTIONS_INIT. */
TINKC_API void tinkc_from_state_options_init(tinkc_from_state_options *options);

/* Creates a model that continues from the checkpoint "tinker://<run>/weights/<name>".
 * TINKC_E_INVALID for a path of another kind, TINKC_E_UNSUPPORTED when the checkpoint
 * is not of a LoRA model. Result: tinkc_future_take_training. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_service_create_training_from_state(tinkc_service *service, const char *path,
                                         const tinkc_from_state_options *options);

/* Calls tinkc_service_create_training_from_state and waits for its result. The caller
 * owns *out (tinkc_training_close); a NULL `out` drops it. */
TINKC_API tinkc_code tinkc_service_create_training_from_state_wait(
    tinkc_training **out, tinkc_service *service, const char *path,
    const tinkc_from_state_options *options, tinkc_error **err);

/* Takes the training client out of a done future. The caller owns *out
 * (tinkc_training_close). TINKC_E_STATE when the future is not done, has a result of
 * another kind, or was taken from before; otherwise the error of the operation. */
TINKC_API tinkc_code tinkc_future_take_training(tinkc_training **out,
                                                tinkc_future *future, tinkc_error **err);

/* Waits for the future, takes the training client as tinkc_future_take_training does,
 * and frees the future whatever the outcome: *future is NULL afterwards. A NULL `out`
 * drops the result. */
TINKC_API tinkc_code tinkc_future_await_training(tinkc_training **out,
                                                 tinkc_future **future,
                                                 tinkc_error **err);

TINKC_END_DECLS

#endif
