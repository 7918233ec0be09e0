/* Parameters of sampling, optimizer, LoRA and losses: plain structs, initialised with
 * their _INIT macro or _init function, which set the defaults of the official SDK. The
 * first member is the size of the struct, so that later versions can add members.
 * Functions reject a struct without a size (TINKC_E_INVALID) and one in which a member of
 * a later version is set (TINKC_E_UNSUPPORTED). Strings and arrays are borrowed for the
 * duration of the call that takes the struct. Thread: any; nothing here blocks. */
#ifndef TINKC_PARAMS_H
#define TINKC_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tinkc/error.h>
#include <tinkc/export.h>
#include <tinkc/future.h>

TINKC_BEGIN_DECLS

/* A name and its value, for metadata, headers, query parameters and tags. */
typedef struct tinkc_pair {
    const char *name;
    const char *value;
} tinkc_pair;

/* A boolean that may be left out. */
typedef enum tinkc_choice {
    TINKC_CHOICE_UNSET = 0, /* not sent: the server decides */
    TINKC_CHOICE_NO = 1,
    TINKC_CHOICE_YES = 2
} tinkc_choice;

/* ---- sampling ---- */

/* max_tokens is not sent: the sample may be as long as the model's context. */
enum { TINKC_NO_MAX_TOKENS = -1 };

typedef struct tinkc_sampling_params {
    size_t size;
    int64_t max_tokens; /* TINKC_NO_MAX_TOKENS = not sent */
    bool has_seed;
    uint64_t seed;
    double temperature; /* 0 = greedy */
    int64_t top_k;      /* -1 = off */
    double top_p;
    /* At most one of the three; it is sent in the form that was chosen. */
    const char *stop;              /* one string */
    const char *const *stop_texts; /* list of strings, which may be empty */
    size_t stop_texts_n;
    const int32_t *stop_tokens; /* list of token ids */
    size_t stop_tokens_n;
} tinkc_sampling_params;

#define TINKC_SAMPLING_PARAMS_INIT                                                       \
    {                                                                                    \
        sizeof(tinkc_sampling_params), TINKC_NO_MAX_TOKENS, false, 0, 1.0, -1, 1.0,      \
            NULL, NULL, 0, NULL, 0                                                       \
    }

/* Sets *params to TINKC_SAMPLING_PARAMS_INIT. */
TINKC_API void tinkc_sampling_params_init(tinkc_sampling_params *params);

/* Checks the parameters; functions that take them do the same. TINKC_E_INVALID, naming
 * the field: max_tokens below 1, temperature negative or not finite, top_p outside
 * 0..1, top_k below -1, more than one form of stop, a NULL list that is not empty. */
TINKC_API tinkc_code tinkc_sampling_params_check(const tinkc_sampling_params *params,
                                                 tinkc_error **err);

/* Options of one sample call. Those from topk_sample_logprobs on are of SDK 0.36; a server
 * of an older level ignores or refuses them. */
typedef struct tinkc_sample_options {
    size_t size;
    int64_t num_samples;
    tinkc_choice prompt_logprobs;
    int64_t topk_prompt_logprobs; /* 0 = off */
    int64_t deadline_ms; /* of the whole sample (TINKC_E_TIMEOUT); TINKC_FOREVER: none */
    int64_t
        topk_sample_logprobs; /* the likeliest tokens at each sampled position; 0 = off */
    /* Token ids to score: int64, [prompt length - 1, n]; row i is scored at prompt position
     * i + 1, -1 asks for nothing. Dense or sparse (tinkc_tensor_new_sparse); NULL: none. */
    const struct tinkc_tensor *target_prompt_logprobs;
    int64_t
        prompt_alt_tokens_k; /* draws at each prompt position but the first; 0 = off */
    int64_t prompt_logprobs_last_n; /* scores only the last tokens of the prompt; 0 = all.
                                       Needs prompt_logprobs */
    bool record_stability_info;     /* the server keeps what "stable_reinforce" needs */
} tinkc_sample_options;

#define TINKC_SAMPLE_OPTIONS_INIT                                                        \
    {                                                                                    \
        sizeof(tinkc_sample_options), 1, TINKC_CHOICE_NO, 0, TINKC_FOREVER, 0, NULL, 0,  \
            0, false                                                                     \
    }

/* Sets *options to TINKC_SAMPLE_OPTIONS_INIT. */
TINKC_API void tinkc_sample_options_init(tinkc_sample_options *options);

/* Checks the options; functions that take them do the same. TINKC_E_INVALID, naming the
 * field: num_samples below 1, topk_prompt_logprobs, topk_sample_logprobs,
 * prompt_alt_tokens_k or prompt_logprobs_last_n negative, the last one without
 * prompt_logprobs, target_prompt_logprobs not int64 or not 2-D, deadline_ms negative and
 * not TINKC_FOREVER, prompt_logprobs not a tinkc_choice. */
TINKC_API tinkc_code tinkc_sample_options_check(const tinkc_sample_options *options,
                                                tinkc_error **err);

/* What to sample from: exactly one of the three. See tinkc_service_open_sampling. */
typedef struct tinkc_sample_target {
    size_t size;
    const char *sampling_session_id; /* an existing session that no other handle uses:
                                        samples are numbered from 0 */
    const char *model_path;          /* tinker://<run>/... */
    const char *base_model;
} tinkc_sample_target;

#define TINKC_SAMPLE_TARGET_INIT                                                         \
    {                                                                                    \
        sizeof(tinkc_sample_target), NULL, NULL, NULL                                    \
    }

/* Sets *target to TINKC_SAMPLE_TARGET_INIT. */
TINKC_API void tinkc_sample_target_init(tinkc_sample_target *target);

/* Checks the target; tinkc_service_open_sampling does the same. TINKC_E_INVALID: no
 * member or more than one is set, or model_path does not begin with "tinker://". */
TINKC_API tinkc_code tinkc_sample_target_check(const tinkc_sample_target *target,
                                               tinkc_error **err);

/* How samples are tried again (tinkc_sampling_with_retry); 0 or -1 stands for the option of
 * the service. How many samples run at once is the server's choice. */
typedef struct tinkc_sample_retry {
    size_t size;
    bool retry;                  /* false: a sample that fails is not submitted again */
    bool detect_stuck;           /* false: a sample waits as long as it takes */
    int64_t progress_timeout_ms; /* TINKC_E_STUCK when no sample of this sampler ends for
                                    that long; 0: option stuck_total */
    int64_t delay_base_ms;       /* before the first repetition; 0: sample_retry_base */
    int64_t delay_max_ms;        /* before any of them; 0: sample_retry_max */
    double jitter;               /* part of a delay that is random, 0 to 1 */
    int64_t resubmits; /* of work that failed at the server; -1: sample_resubmits */
} tinkc_sample_retry;

#define TINKC_SAMPLE_RETRY_INIT                                                          \
    {                                                                                    \
        sizeof(tinkc_sample_retry), true, true, 0, 0, 0, 0.25, -1                        \
    }

/* Sets *retry to TINKC_SAMPLE_RETRY_INIT. */
TINKC_API void tinkc_sample_retry_init(tinkc_sample_retry *retry);

/* Checks the settings; tinkc_sampling_with_retry does the same. TINKC_E_INVALID, naming the
 * field: a time that is negative, jitter outside 0..1, resubmits below -1. */
TINKC_API tinkc_code tinkc_sample_retry_check(const tinkc_sample_retry *retry,
                                              tinkc_error **err);

/* ---- training ---- */

/* AdamW with decoupled weight decay. The defaults differ from PyTorch's. */
typedef struct tinkc_adam_params {
    size_t size;
    double learning_rate;
    double beta1;
    double beta2;
    double eps;
    double weight_decay;
    double grad_clip_norm; /* 0 = off */
} tinkc_adam_params;

#define TINKC_ADAM_PARAMS_INIT                                                           \
    {                                                                                    \
        sizeof(tinkc_adam_params), 1e-4, 0.9, 0.95, 1e-12, 0.0, 0.0                      \
    }

/* Sets *params to TINKC_ADAM_PARAMS_INIT. */
TINKC_API void tinkc_adam_params_init(tinkc_adam_params *params);

/* Checks the parameters; functions that take them do the same. TINKC_E_INVALID, naming
 * the field: learning_rate, weight_decay or grad_clip_norm negative, beta1 or beta2
 * outside [0, 1), eps 0 or negative, any value not finite. */
TINKC_API tinkc_code tinkc_adam_params_check(const tinkc_adam_params *params,
                                             tinkc_error **err);

/* The optimizers of the API; a server may know others. */
typedef enum tinkc_optimizer {
    TINKC_OPTIMIZER_ADAMW = 0,
    TINKC_OPTIMIZER_DIMUON = 1,
    TINKC_OPTIMIZER_OTHER = 2 /* one that this version does not know */
} tinkc_optimizer;

/* Returns the name that is sent, "adamw" or "dimuon"; NULL for any other value. Static
 * storage. */
TINKC_API const char *tinkc_optimizer_name(tinkc_optimizer optimizer);

/* The optimizer of a model; it stays the same as long as the model exists. */
typedef struct tinkc_optimizer_config {
    size_t size;
    tinkc_optimizer type;
    int64_t version;  /* of Dimuon */
    const char *json; /* OTHER: the JSON object that is sent, with a "type"; else NULL */
} tinkc_optimizer_config;

#define TINKC_OPTIMIZER_CONFIG_INIT                                                      \
    {                                                                                    \
        sizeof(tinkc_optimizer_config), TINKC_OPTIMIZER_ADAMW, 1, NULL                   \
    }

/* Sets *config to TINKC_OPTIMIZER_CONFIG_INIT. */
TINKC_API void tinkc_optimizer_config_init(tinkc_optimizer_config *config);

/* Checks the configuration; functions that take it do the same. TINKC_E_INVALID, naming
 * the field: a type that is none of tinkc_optimizer, a version below 1, json without
 * TINKC_OPTIMIZER_OTHER, or an OTHER whose json is not an object with a type. */
TINKC_API tinkc_code tinkc_optimizer_config_check(const tinkc_optimizer_config *config,
                                                  tinkc_error **err);

/* One step of Dimuon. */
typedef struct tinkc_dimuon_params {
    size_t size;
    double learning_rate;  /* must be set */
    double grad_clip_norm; /* 0 or less = off */
    double beta1;          /* of the momentum */
} tinkc_dimuon_params;

#define TINKC_DIMUON_PARAMS_INIT                                                         \
    {                                                                                    \
        sizeof(tinkc_dimuon_params), -1.0, 0.0, 0.9                                      \
    }

/* Sets *params to TINKC_DIMUON_PARAMS_INIT. */
TINKC_API void tinkc_dimuon_params_init(tinkc_dimuon_params *params);

/* One step of the optimizer that the model was created with: `type` tells which of the
 * other members is read. */
typedef struct tinkc_optim_params {
    size_t size;
    tinkc_optimizer type;
    const tinkc_adam_params *adam;     /* ADAMW; NULL: TINKC_ADAM_PARAMS_INIT */
    const tinkc_dimuon_params *dimuon; /* DIMUON: must be set */
    const char *json; /* OTHER: the JSON object that is sent, with a "type" */
} tinkc_optim_params;

#define TINKC_OPTIM_PARAMS_INIT                                                          \
    {                                                                                    \
        sizeof(tinkc_optim_params), TINKC_OPTIMIZER_ADAMW, NULL, NULL, NULL              \
    }

/* Sets *params to TINKC_OPTIM_PARAMS_INIT. */
TINKC_API void tinkc_optim_params_init(tinkc_optim_params *params);

/* Checks the parameters; functions that take them do the same. TINKC_E_INVALID, naming
 * the field: a type that is none of tinkc_optimizer, what tinkc_adam_params_check refuses,
 * for Dimuon a learning_rate below 0 or not set, a beta1 outside [0, 1), a value that is
 * not finite, and for OTHER json that is not an object with a type. */
TINKC_API tinkc_code tinkc_optim_params_check(const tinkc_optim_params *params,
                                              tinkc_error **err);

typedef struct tinkc_lora_config {
    size_t size;
    int64_t rank;
    bool has_seed;
    uint64_t seed;
    bool train_unembed;
    bool train_mlp;
    bool train_attn;
    const tinkc_pair
        *metadata;     /* of the run (see tinkc_run); a NULL value is sent as null */
    size_t metadata_n; /* 0: none is sent */
    const tinkc_optimizer_config *optimizer; /* NULL: AdamW */
} tinkc_lora_config;

#define TINKC_LORA_CONFIG_INIT                                                           \
    {                                                                                    \
        sizeof(tinkc_lora_config), 32, false, 0, true, true, true, NULL, 0, NULL         \
    }

/* Sets *config to TINKC_LORA_CONFIG_INIT. */
TINKC_API void tinkc_lora_config_init(tinkc_lora_config *config);

/* Checks the configuration, except metadata and optimizer; functions that take it check
 * them too. TINKC_E_INVALID: rank below 1 or above INT32_MAX, or none of the train_ members set. */
TINKC_API tinkc_code tinkc_lora_config_check(const tinkc_lora_config *config,
                                             tinkc_error **err);

/* The loss functions of the API; a server may know others. */
typedef enum tinkc_loss {
    TINKC_LOSS_CROSS_ENTROPY = 0,
    TINKC_LOSS_IMPORTANCE_SAMPLING = 1,
    TINKC_LOSS_PPO = 2,
    TINKC_LOSS_CISPO = 3,
    TINKC_LOSS_DRO = 4,
    TINKC_LOSS_GSPO = 5,
    TINKC_LOSS_STABLE_REINFORCE = 6,
    TINKC_LOSS_CUSTOM = 7 /* see tinkc_service_create_custom_loss */
} tinkc_loss;

/* Returns the name that the training functions take, such as "cross_entropy"; NULL for
 * any other value. Static storage. */
TINKC_API const char *tinkc_loss_name(tinkc_loss loss);

/* Finds the loss function with this name. TINKC_E_MISSING, with *out untouched, when it
 * is none of tinkc_loss; the training functions pass any name on to the server.
 * TINKC_E_INVALID for NULL. */
TINKC_API tinkc_code tinkc_loss_parse(tinkc_loss *out, const char *name,
                                      tinkc_error **err);

/* One parameter of a loss function, for example "clip_low_threshold". */
typedef struct tinkc_number {
    const char *name;
    double value;
} tinkc_number;

TINKC_END_DECLS

#endif
