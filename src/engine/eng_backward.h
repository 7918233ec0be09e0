/* The reverse layer loop: gradients of adapters, and, for tools that train everything, a
 * hook that sees what is needed for the gradient of every base parameter. */
#ifndef ENGINE_ENG_BACKWARD_H
#define ENGINE_ENG_BACKWARD_H

#include "engine/eng_forward.h"

typedef enum eng_grad_kind {
    ENG_GRAD_LINEAR, /* weight [n][k]: dW += d_y^T x; bias: column sums of d_y */
    ENG_GRAD_NORM,   /* weight [n]: dw += d_y * x * inv; also q/k norms, head by head */
    ENG_GRAD_EMBED   /* row tokens[row] += d_y[row]; x is NULL */
} eng_grad_kind;

/* One base parameter's share. Pointers live only during the call. Events come in reverse
 * order of the forward pass; each parameter once per group of rows. */
typedef struct eng_grad_event {
    eng_grad_kind kind;
    const char *name;      /* "self_attn.q_proj", "input_layernorm", "self_attn.q_norm",
                              "norm", "lm_head", "embed_tokens"; static */
    size_t layer;          /* config.layers for norm, lm_head and embed_tokens */
    const eng_real *x;     /* [rows][k] input of the linear or norm */
    const eng_real *inv;   /* [rows] for norms */
    const eng_real *d_y;   /* [rows][n] gradient of its output */
    size_t rows, k, n;     /* q/k norms: rows = tokens * heads, n = k = head_dim */
    const int32_t *tokens; /* [rows] for ENG_GRAD_EMBED */
} eng_grad_event;

typedef struct eng_grad_hook {
    /* A failure ends the backward pass with that code. */
    tinkc_code (*fn)(void *user, const eng_grad_event *event, tk_err *err);
    void *user;
} eng_grad_hook;

typedef struct eng_backward_args {
    eng_acts *acts;       /* from eng_forward with keep, all sequences from position 0 */
    eng_adapter *adapter; /* the one adapter of all sequences, or NULL */
    eng_real *d_hidden;   /* [rows][hidden] dL/d(acts->hidden); destroyed */
    eng_work *work;
    const eng_grad_hook *hook; /* NULL = none */
} eng_backward_args;

/* Adds to the adapter's gradients. The head's own share is eng_head's business. */
TK_NODISCARD tinkc_code eng_backward(const eng_backward_args *args, tk_err *err);

#endif
