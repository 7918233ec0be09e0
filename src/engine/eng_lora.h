/* Adapters: LoRA weights, their gradients and optimizer state in four flat arrays of one
 * layout, plus packed copies of the weights for the kernels. y += scale * B (A x). */
#ifndef ENGINE_ENG_LORA_H
#define ENGINE_ENG_LORA_H

#include <stdatomic.h>

#include "engine/eng_model.h"

#define ENG_LORA_RANK_MAX 4096

typedef struct eng_lora { /* one adapted linear */
    bool on;
    size_t in, out;
    size_t a_at, b_at; /* offsets of A [rank][in] and B [out][rank] in the flat arrays */
    eng_mat a, b;      /* packed copies */
} eng_lora;

struct eng_adapter {
    atomic_uint owners;
    eng_model *model; /* borrowed */
    eng_lora_config config;
    eng_real scale;    /* alpha / rank */
    eng_lora *modules; /* layers * ENG_N_LINEAR, then the head */
    size_t n_modules;
    size_t n;                                      /* parameters */
    eng_real *weights, *grads, *moment1, *moment2; /* n each */
    bool frozen; /* grads and moments are NULL; moment2 also with Dimuon */
    eng_work packed;
    uint64_t steps;
    uint64_t identity; /* of these weights: changes with them, never used twice, not 0 */
    bool has_grads;    /* false: grads are all zero */
};

/* All zero, also B and A; `frozen` as in the struct. Not packed yet. */
TK_NODISCARD tinkc_code eng_adapter_make(eng_adapter **out, eng_model *model,
                                         const eng_lora_config *config, bool frozen,
                                         tk_err *err);

/* TINKC_E_INVALID for a frozen one. */
TK_NODISCARD tinkc_code eng_adapter_check_trainable(const eng_adapter *adapter,
                                                    tk_err *err);

/* TINKC_E_INVALID when one of its arrays, `values`, holds NaN or infinity: that can be
 * neither loaded again nor sampled from. */
TK_NODISCARD tinkc_code eng_adapter_check_finite(const eng_adapter *adapter,
                                                 const eng_real *values, const char *what,
                                                 tk_err *err);

/* layer == config.layers: the head (which is ignored). */
const eng_lora *eng_adapter_module(const eng_adapter *adapter, size_t layer,
                                   eng_linear which);

/* Whether anything below the head is trained. */
bool eng_adapter_trains_layers(const eng_adapter *adapter);

/* After a change of `weights`. Cannot fail. */
void eng_adapter_repack(eng_adapter *adapter);

/* y += scale * B (A x) for some rows; u receives A x, [rows][rank]. Without y, u only. */
typedef struct eng_lora_apply {
    const eng_adapter *adapter;
    const eng_lora *lora;
    const eng_real *x; /* [rows][in], row stride ldx */
    size_t ldx, rows;
    eng_real *y; /* [rows][out], row stride ldy */
    size_t ldy;
    eng_real *u;
} eng_lora_apply;

TK_NODISCARD tinkc_code eng_lora_forward(const eng_lora_apply *l, tk_err *err);

/* y holds dL/dy; grads of A and B grow, and d_x (NULL = not wanted) += the part of the
 * input gradient that passes through the adapter. u as forward left it; `temp` has room
 * for 2 * rows * rank. */
TK_NODISCARD tinkc_code eng_lora_backward(const eng_lora_apply *l, eng_real *d_x,
                                          eng_real *temp, tk_err *err);

#endif
