/* Optimizers, optim_step (docs/protocol.md §2.3) and losses that run at the server
 * (create_custom_loss). The forward and backward messages are in msg_value.h. */
#ifndef WIRE_MSG_TRAIN_H
#define WIRE_MSG_TRAIN_H

#include "wire/schema.h"

typedef enum tk_optimizer {
    TK_OPTIMIZER_ADAMW,
    TK_OPTIMIZER_DIMUON,
    TK_OPTIMIZER_OTHER /* a type this version does not know; `raw` holds it */
} tk_optimizer;

/* The optimizer of a model, chosen when it is created. */
typedef struct tk_optimizer_config {
    tk_optimizer kind;
    tk_f_i64 version;   /* DIMUON: 1 */
    const tk_json *raw; /* OTHER: the object as it came */
} tk_optimizer_config;

typedef struct tk_f_optimizer_config {
    tk_presence is;
    tk_optimizer_config v;
} tk_f_optimizer_config;

/* AdamW; the defaults are Tinker's, not PyTorch's. */
typedef struct tk_adam_params {
    tk_f_num learning_rate;  /* 1e-4 */
    tk_f_num beta1;          /* 0.9 */
    tk_f_num beta2;          /* 0.95 */
    tk_f_num eps;            /* 1e-12 */
    tk_f_num weight_decay;   /* 0, decoupled */
    tk_f_num grad_clip_norm; /* 0 = off */
} tk_adam_params;

typedef struct tk_f_adam_params {
    tk_presence is;
    tk_adam_params v;
} tk_f_adam_params;

/* Parameters of one step of another optimizer than AdamW. */
typedef struct tk_optim_params {
    tk_optimizer kind;       /* never ADAMW */
    tk_f_num learning_rate;  /* DIMUON: required */
    tk_f_num grad_clip_norm; /* DIMUON: 0 or less = off */
    tk_f_num beta1;          /* DIMUON: 0.9 */
    const tk_json *raw;      /* OTHER: the object as it came */
} tk_optim_params;

typedef struct tk_f_optim_params {
    tk_presence is;
    tk_optim_params v;
} tk_f_optim_params;

/* One of adam_params and optimizer_params. */
typedef struct tk_optim_step_request {
    tk_f_adam_params adam_params;
    tk_f_str model_id;
    tk_f_i64 seq_id;
    tk_f_optim_params optimizer_params;
} tk_optim_step_request;

typedef struct tk_optim_step_result {
    tk_f_num_map metrics;
} tk_optim_step_result;

/* An input of a loss that runs at the server: `logprobs`, or a loss function input. */
typedef struct tk_custom_loss_input {
    tk_f_str name;
    tk_f_i64 rank; /* 0: a number, 1: [T], 2: [T, K] */
} tk_custom_loss_input;

typedef struct tk_custom_loss_inputs {
    const tk_custom_loss_input *p; /* logprobs first */
    size_t n;
} tk_custom_loss_inputs;

typedef struct tk_create_custom_loss_request {
    tk_f_str session_id;
    tk_f_i64 custom_loss_seq_id;
    tk_f_str name;
    tk_custom_loss_inputs inputs;
    tk_f_raw graph; /* {"format":1,"nodes":[...]} */
} tk_create_custom_loss_request;

typedef struct tk_create_custom_loss_result {
    tk_f_str loss_id;
} tk_create_custom_loss_result;

extern const tk_schema tk_msg_optimizer_config, tk_msg_adam_params, tk_msg_optim_params,
    tk_msg_optim_step_request, tk_msg_optim_step_result, tk_msg_custom_loss_input,
    tk_msg_create_custom_loss_request, tk_msg_create_custom_loss_result;

/* Returns the type of an optimizer that is not known, or an empty text. */
tk_str tk_optimizer_word(const tk_json *raw);

/* learning_rate >= 0, 0 <= beta < 1, eps > 0, weight_decay >= 0, grad_clip_norm >= 0.
 * TINKC_E_INVALID names the field in err->path. */
TK_NODISCARD tinkc_code tk_adam_params_check(const tk_adam_params *params, tk_err *err);

/* DIMUON: learning_rate >= 0, 0 <= beta1 < 1, all finite. OTHER: an object with a type. The
 * same error. */
TK_NODISCARD tinkc_code tk_optim_params_check(const tk_optim_params *params, tk_err *err);

/* The rules of the official SDK: 1 to 16 inputs with lower-case names that are there once,
 * logprobs first with rank 1 or 2, a graph of format 1 with nodes. The same error. */
TK_NODISCARD tinkc_code
tk_create_custom_loss_check(const tk_create_custom_loss_request *msg, tk_err *err);

#endif
