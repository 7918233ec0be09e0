/* The service handle: one server, one credential, one session, one I/O loop.
 *
 * Opening makes no network call; the session is created when it is first needed.
 * Thread: any, unless a function says otherwise. In a child process after fork() every
 * operation of an inherited handle fails with TINKC_E_STATE. */
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
 * credential, TINKC_E_IO when the loop cannot be created, TINKC_E_INVALID when `out`
 * is NULL, TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_service_open(tinkc_service **out,
                                                        const tinkc_config *config,
                                                        tinkc_error **err);

/* How a session ended, in the words of the protocol. */
typedef enum tinkc_finish {
    TINKC_FINISH_SUCCESS,
    TINKC_FINISH_ERRORED,    /* the program failed */
    TINKC_FINISH_INTERRUPTED /* it was stopped before it was done */
} tinkc_finish;

/* Sets how the session ended and why (at most 16 KiB of UTF-8 for people, or NULL), which
 * tinkc_service_close reports to the server. The last call counts; without one the session
 * ends with TINKC_FINISH_SUCCESS. Sends nothing. TINKC_E_INVALID for another value or
 * detail, TINKC_E_STATE, TINKC_E_CANCELLED, TINKC_E_NOMEM. */
TINKC_API tinkc_code tinkc_service_set_finish(tinkc_service *service, tinkc_finish finish,
                                              const char *detail, tinkc_error **err);

/* Ends the session, cancels unfinished operations, stops heartbeats and the loop, frees
 * the handle and sets *service to NULL. Futures that the caller still holds complete with
 * TINKC_E_CANCELLED. A handle from tinkc_service_with_context is only freed: the
 * service stays open. Accepts NULL and a pointer to NULL.
 *
 * The session is finished at the server, which then refuses everything that uses its
 * ids: models, samplers, exported sampler handles. Set option finish_session to false
 * when other processes go on using them. Nothing is sent when there is no session, when
 * the server has ended it, when the last request got no response, in a forked child, and
 * with option sdk_version before 0.36.0. A failure is only logged: the server ends the
 * session itself some time after the last heartbeat.
 *
 * The call does not wait for a hanging send or name look-up of an operation. It waits for
 * three things only: a running custom loss callback (see tinkc_custom_loss_fn); the
 * server's answer to the end of the session, for at most option finish_drain (5 s), and
 * not at all when it cannot be reached; and, with telemetry, the delivery of the last
 * events, for at most option telemetry_drain (30 s). Each of the last two waits is at most
 * 100 ms when there was work to cancel (not with finish_drain none). That for events is at
 * most one request (5 s) when the server stops accepting them, and is omitted when the
 * last request got no response.
 *
 * In a callback of the same service it does nothing: the handle stays open, *service
 * is not changed, and an error is logged. */
TINKC_API void tinkc_service_close(tinkc_service **service);

/* ---- TINKC_LOOP_MANUAL ----
 *
 * A program that stops calling tinkc_service_process should close the service: its
 * unfinished samples count against limits that all services of the process with the
 * same server and credential share, and only progress or tinkc_service_close releases
 * them. */

/* Returns a file descriptor that is readable when tinkc_service_process has something
 * to do; -1 for NULL or without TINKC_LOOP_MANUAL. The service owns it: do not read
 * from it or close it. */
TINKC_API int tinkc_service_fd(const tinkc_service *service);

/* Returns in how many milliseconds tinkc_service_process must be called even if the
 * descriptor does not become readable (for heartbeats, among others): 0 means now, -1
 * no deadline. Each tinkc_service_process sets a new deadline, so ask again after it.
 * Thread: any, also while another thread is in tinkc_service_process. */
TINKC_API int64_t tinkc_service_deadline_ms(const tinkc_service *service);

/* Does the work that is ready and returns; callbacks run inside it. TINKC_E_STATE when
 * `service` is NULL, while another thread is in this function, or when the service has
 * its own thread; TINKC_E_CANCELLED after the service was closed through another
 * handle. */
TINKC_API tinkc_code tinkc_service_process(tinkc_service *service, tinkc_error **err);

/* ---- the service as a whole ---- */

/* Asks what the server offers. Needs no session. Result:
 * tinkc_future_take_capabilities. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_service_capabilities(tinkc_service *service);

/* Calls tinkc_service_capabilities and waits for its result. The caller owns *out
 * (tinkc_capabilities_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_service_capabilities_wait(tinkc_capabilities **out,
                                                     tinkc_service *service,
                                                     tinkc_error **err);

/* Takes the capabilities out of a completed future. The caller owns *out
 * (tinkc_capabilities_free). TINKC_E_STATE when the future is NULL or not done, has a
 * result of another kind, or its result was already taken; otherwise the error of the
 * operation. */
TINKC_API tinkc_code tinkc_future_take_capabilities(tinkc_capabilities **out,
                                                    tinkc_future *future,
                                                    tinkc_error **err);

/* Waits for the future, takes the capabilities as tinkc_future_take_capabilities does,
 * and frees the future whatever the outcome: *future is NULL afterwards. A NULL `out`
 * discards the result. */
TINKC_API tinkc_code tinkc_future_await_capabilities(tinkc_capabilities **out,
                                                     tinkc_future **future,
                                                     tinkc_error **err);

/* Frees the capabilities and sets *capabilities to NULL. Accepts NULL and a pointer to
 * NULL. */
TINKC_API void tinkc_capabilities_free(tinkc_capabilities **capabilities);

/* Returns the number of models that the server offers; 0 for NULL. */
TINKC_API size_t tinkc_capabilities_count(const tinkc_capabilities *capabilities);

/* Returns the name of a model, borrowed until the capabilities are freed; NULL when
 * the server gave none or `index` is past the end. */
TINKC_API const char *tinkc_capabilities_name(const tinkc_capabilities *capabilities,
                                              size_t index);

/* Returns the context length of a model in tokens; -1 when the server gave none or
 * `index` is past the end. */
TINKC_API int64_t tinkc_capabilities_context(const tinkc_capabilities *capabilities,
                                             size_t index);

/* Returns whether a model can be trained; TINKC_CHOICE_UNSET when the server did not say,
 * or `index` is past the end. */
TINKC_API tinkc_choice
tinkc_capabilities_trainable(const tinkc_capabilities *capabilities, size_t index);

/* Returns whether a model can be sampled from, as tinkc_capabilities_trainable. */
TINKC_API tinkc_choice
tinkc_capabilities_sampleable(const tinkc_capabilities *capabilities, size_t index);

/* Checks whether the server responds (GET /api/v1/healthz). Result: none; an error
 * when it does not respond. */
TINKC_API TINKC_NODISCARD tinkc_future *tinkc_service_health(tinkc_service *service);

/* Calls tinkc_service_health and waits until it is done. */
TINKC_API tinkc_code tinkc_service_health_wait(tinkc_service *service, tinkc_error **err);

/* Returns the session id, or NULL while no session exists. Borrowed: valid while the
 * service is open. */
TINKC_API const char *tinkc_service_session_id(const tinkc_service *service);

/* Lists the operations of the service that are not done, for a program that wants to
 * show what it is waiting for: up to `max` of them in out[], the oldest first.
 * out[0].size must be set (TINKC_WAIT_INIT); tinkc_wait_explain turns each into a
 * sentence. Returns how many there are in all, which may be more than `max`; `out` may
 * be NULL. Returns 0 when `service` is NULL or was closed through another handle. Does
 * not need the loop, so it works while a callback blocks it. Must not be called in a
 * signal handler. */
TINKC_API size_t tinkc_service_waits(tinkc_wait *out, size_t max, tinkc_service *service);

/* ---- sampling clients: <tinkc/sampling.h> ---- */

/* Creates a sampling client for a base model or for a checkpoint ("tinker://..."); the
 * other one is NULL. When both are given, the checkpoint is used. TINKC_E_INVALID when
 * neither is given, or when `model_path` does not begin with "tinker://". Result:
 * tinkc_future_take_sampling. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_service_create_sampling(tinkc_service *service, const char *base_model,
                              const char *model_path);

/* Calls tinkc_service_create_sampling and waits for its result. The caller owns *out
 * (tinkc_sampling_close); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_service_create_sampling_wait(tinkc_sampling **out,
                                                        tinkc_service *service,
                                                        const char *base_model,
                                                        const char *model_path,
                                                        tinkc_error **err);

/* Opens a sampling client without creating a sampling session on the server: each
 * sample names its base model or checkpoint, or the existing session given in
 * `target`. Sends nothing except what the service needs to become ready.
 * TINKC_E_INVALID unless exactly one member of `target` is set, or when its path does
 * not begin with "tinker://". A model that the server does not have is reported by the
 * first sample. Result: tinkc_future_take_sampling. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_service_open_sampling(tinkc_service *service, const tinkc_sample_target *target);

/* Calls tinkc_service_open_sampling and waits for its result. The caller owns *out
 * (tinkc_sampling_close); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_service_open_sampling_wait(tinkc_sampling **out,
                                                      tinkc_service *service,
                                                      const tinkc_sample_target *target,
                                                      tinkc_error **err);

/* Joins a sampling session that another process made: `handle` is the text of
 * tinkc_sampling_export, or of get_sampler_handle of the official SDK. Server and
 * credential are those of this service. The server gives each client that joins its own
 * range of sequence ids, so any number of them may sample at once. The session ends when
 * the service that made it closes or stops sending heartbeats. TINKC_E_INVALID when
 * `handle` is not such a text; TINKC_E_UNSUPPORTED when the server does not offer
 * joining; TINKC_E_NOT_FOUND when it does not have the session. Result:
 * tinkc_future_take_sampling. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_service_import_sampling(tinkc_service *service, const char *handle);

/* Calls tinkc_service_import_sampling and waits for its result. The caller owns *out
 * (tinkc_sampling_close); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_service_import_sampling_wait(tinkc_sampling **out,
                                                        tinkc_service *service,
                                                        const char *handle,
                                                        tinkc_error **err);

/* Takes the sampling client out of a completed future. The caller owns *out
 * (tinkc_sampling_close). TINKC_E_STATE when the future is NULL or not done, has a
 * result of another kind, or its result was already taken; otherwise the error of the
 * operation. */
TINKC_API tinkc_code tinkc_future_take_sampling(tinkc_sampling **out,
                                                tinkc_future *future, tinkc_error **err);

/* Waits for the future, takes the sampling client as tinkc_future_take_sampling does,
 * and frees the future whatever the outcome: *future is NULL afterwards. A NULL `out`
 * discards the result. */
TINKC_API tinkc_code tinkc_future_await_sampling(tinkc_sampling **out,
                                                 tinkc_future **future,
                                                 tinkc_error **err);

/* ---- results that are one text ---- */

/* Takes the text out of a completed future. The caller owns *out (tinkc_text_free).
 * TINKC_E_STATE when the future is NULL or not done, has a result of another kind, or
 * its result was already taken; otherwise the error of the operation. */
TINKC_API tinkc_code tinkc_future_take_text(char **out, tinkc_future *future,
                                            tinkc_error **err);

/* Waits for the future, takes the text as tinkc_future_take_text does, and frees the
 * future whatever the outcome: *future is NULL afterwards. A NULL `out` discards the
 * result. */
TINKC_API tinkc_code tinkc_future_await_text(char **out, tinkc_future **future,
                                             tinkc_error **err);

/* Frees text that the library handed out and sets *text to NULL. Accepts NULL and a
 * pointer to NULL. */
TINKC_API void tinkc_text_free(char **text);

/* ---- queue observer ---- */

/* Sets the observer of the server's queue, of which there is one; a NULL `fn` removes
 * it. Call it before the first operation. TINKC_E_STATE when `service` is NULL. */
TINKC_API tinkc_code tinkc_service_on_queue_state(tinkc_service *service,
                                                  tinkc_queue_state_fn fn, void *user,
                                                  tinkc_error **err);

/* ---- clients ---- */

/* Creates a LoRA model on `base_model` and a training client for it
 * (<tinkc/training.h>). `lora` NULL: rank 32, all parts, a seed chosen by the server.
 * TINKC_E_INVALID when `base_model` is NULL or empty, or a member of `lora` is out of
 * range. Result: tinkc_future_take_training. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_service_create_training(tinkc_service *service, const char *base_model,
                              const tinkc_lora_config *lora);

/* Calls tinkc_service_create_training and waits for its result. The caller owns *out
 * (tinkc_training_close); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_service_create_training_wait(tinkc_training **out,
                                                        tinkc_service *service,
                                                        const char *base_model,
                                                        const tinkc_lora_config *lora,
                                                        tinkc_error **err);

typedef struct tinkc_from_state_options {
    size_t size;
    bool with_optimizer;              /* also load the optimizer state */
    const char *base_model;           /* NULL: that of the checkpoint */
    const char *weights_access_token; /* a key that may read it; NULL: the service's */
    const tinkc_pair *metadata;       /* as in tinkc_lora_config */
    size_t metadata_n;
    const tinkc_optimizer_config *optimizer; /* NULL: AdamW; with_optimizer: must be NULL,
                                                it is the checkpoint's */
} tinkc_from_state_options;

#define TINKC_FROM_STATE_OPTIONS_INIT                                                    \
    {                                                                                    \
        sizeof(tinkc_from_state_options), false, NULL, NULL, NULL, 0, NULL               \
    }

/* Sets *options to TINKC_FROM_STATE_OPTIONS_INIT. */
TINKC_API void tinkc_from_state_options_init(tinkc_from_state_options *options);

/* Creates a model that continues from the checkpoint "tinker://<run>/weights/<name>",
 * and a training client for it. `options` NULL: TINKC_FROM_STATE_OPTIONS_INIT.
 * TINKC_E_INVALID for any other path or an optimizer together with with_optimizer,
 * TINKC_E_UNSUPPORTED when the checkpoint is not
 * that of a LoRA model. Result: tinkc_future_take_training. */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_service_create_training_from_state(tinkc_service *service, const char *path,
                                         const tinkc_from_state_options *options);

/* Calls tinkc_service_create_training_from_state and waits for its result. The caller
 * owns *out (tinkc_training_close); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_service_create_training_from_state_wait(
    tinkc_training **out, tinkc_service *service, const char *path,
    const tinkc_from_state_options *options, tinkc_error **err);

/* Takes the training client out of a completed future. The caller owns *out
 * (tinkc_training_close). TINKC_E_STATE when the future is NULL or not done, has a
 * result of another kind, or its result was already taken; otherwise the error of the
 * operation. */
TINKC_API tinkc_code tinkc_future_take_training(tinkc_training **out,
                                                tinkc_future *future, tinkc_error **err);

/* Waits for the future, takes the training client as tinkc_future_take_training does,
 * and frees the future whatever the outcome: *future is NULL afterwards. A NULL `out`
 * discards the result. */
TINKC_API tinkc_code tinkc_future_await_training(tinkc_training **out,
                                                 tinkc_future **future,
                                                 tinkc_error **err);

/* ---- losses that run at the server ---- */

/* An input of such a loss. */
typedef struct tinkc_loss_input {
    const char *name; /* "logprobs", or the name of a loss function input */
    int rank;         /* 0: a number, 1: [T], 2: [T, K] */
} tinkc_loss_input;

/* A loss as a graph of operations, the form in which torch.fx records a function: see
 * docs/guide/training.md. Start from TINKC_CUSTOM_LOSS_INIT. */
typedef struct tinkc_custom_loss {
    size_t size;
    const char *name;
    const tinkc_loss_input *inputs; /* in the order of the graph; logprobs first */
    size_t inputs_n;                /* 1 to 16 */
    const char *graph; /* JSON: {"format":1,"nodes":[{"op","name","target",...}]} */
} tinkc_custom_loss;

#define TINKC_CUSTOM_LOSS_INIT                                                           \
    {                                                                                    \
        sizeof(tinkc_custom_loss), NULL, NULL, 0, NULL                                   \
    }

/* Sets *loss to TINKC_CUSTOM_LOSS_INIT. */
TINKC_API void tinkc_custom_loss_init(tinkc_custom_loss *loss);

/* Creates a loss at the server. Its id is the text "loss_id" in the configuration of the
 * loss "custom" (tinkc_fwdbwd_options), for training clients of this service.
 * TINKC_E_INVALID, naming the field, for a missing name, inputs that do not begin with
 * logprobs of rank 1 or 2, more than 16, a name that is not made of lower-case letters,
 * digits and underscores or is there twice, another rank, or a graph that is not a JSON
 * object with format 1 and nodes. TINKC_E_UNSUPPORTED when the server does not run losses
 * of its clients: use tinkc_training_forward_backward_custom there. Result:
 * tinkc_future_take_text (the id). */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_service_create_custom_loss(tinkc_service *service, const tinkc_custom_loss *loss);

/* Calls tinkc_service_create_custom_loss and waits for its result. The caller owns *out
 * (tinkc_text_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_service_create_custom_loss_wait(char **out,
                                                           tinkc_service *service,
                                                           const tinkc_custom_loss *loss,
                                                           tinkc_error **err);

TINKC_END_DECLS

#endif
