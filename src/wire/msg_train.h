/* optim_step (docs/protocol.md §2.3). The forward and backward messages are in
 * msg_value.h. */
#ifndef WIRE_MSG_TRAIN_H
#define WIRE_MSG_TRAIN_H

#include "wire/schema.h"

/* AdamW; the defaults are Tinker's, not PyTorch's. */
typedef struct tk_adam_params {
    tk_f_num learning_rate;  /* 1e-4 */
    tk_f_num beta1;          /* 0.9 */
    tk_f_num beta2;          /* 0.95 */
    tk_f_num eps;            /* 1e-12 */
    tk_f_num weight_decay;   /* 0, decoupled */
    tk_f_num grad_clip_norm; /* 0 = off */
} tk_adam_params;

typedef struct tk_optim_step_request {
    tk_adam_params adam_params;
    tk_f_str model_id;
    tk_f_i64 seq_id;
} tk_optim_step_request;

typedef struct tk_optim_step_result {
    tk_f_num_map metrics;
} tk_optim_step_result;

extern const tk_schema tk_msg_adam_params, tk_msg_optim_step_request,
    tk_msg_optim_step_result;

/* learning_rate >= 0, 0 <= beta < 1, eps > 0, weight_decay >= 0, grad_clip_norm >= 0.
 * TINKC_E_INVALID names the field in err->path. */
TK_NODISCARD tinkc_code tk_adam_params_check(const tk_adam_params *params, tk_err *err);

#endif
