/* The layer loop. Rows of several sequences go through together; each sequence brings its
 * tokens, its first position, its key/value blocks and its adapter.
 *
 * With `keep`, every layer's activations that backward needs stay; otherwise layers share
 * one set. Memory comes from an eng_work that the caller resets. */
#ifndef ENGINE_ENG_FORWARD_H
#define ENGINE_ENG_FORWARD_H

#include "engine/eng_attn.h"
#include "engine/eng_lora.h"

typedef struct eng_seq {
    const int32_t *tokens; /* ids checked by the caller */
    size_t n;
    size_t pos;                 /* position of tokens[0] */
    const eng_adapter *adapter; /* NULL = the base model alone */
    eng_real *const *blocks;    /* [layers][n_blocks]; positions before pos are filled */
    size_t n_blocks;            /* at least (pos + n) / ENG_KV_BLOCK, rounded up */
} eng_seq;

typedef struct eng_layer_acts {
    eng_real *x_in;            /* [rows][hidden] residual stream on entry */
    eng_real *inv_in;          /* [rows] */
    eng_real *q_raw, *k_raw;   /* before the q/k norm; NULL without it */
    eng_real *q_inv, *k_inv;   /* [rows][heads] of that norm */
    eng_real *q;               /* [rows][heads * head_dim] rotated */
    eng_real *o;               /* attention output, input of o_proj */
    eng_real *stat;            /* [rows][heads][2] */
    eng_real *x_mid;           /* residual stream after attention */
    eng_real *inv_mid;         /* [rows] */
    eng_real *gate, *up;       /* [rows][intermediate] before the gate */
    eng_real *u[ENG_N_LINEAR]; /* [rows][rank]: A x of each adapted linear */
} eng_layer_acts;

typedef struct eng_acts {
    eng_model *model;
    const eng_seq *seqs;
    size_t n_seqs;
    size_t rows;
    bool keep;
    size_t rank;            /* largest rank among the adapters; 0 = none */
    size_t *positions;      /* [rows] */
    eng_attn_seq *attn;     /* [n_seqs] */
    eng_layer_acts *layers; /* [config.layers] */
    eng_real *x_out;        /* [rows][hidden] residual stream after the last layer */
    eng_real *inv_out;      /* [rows] */
    eng_real *hidden;       /* [rows][hidden] after the final norm: input of the head */
    /* shared by all layers */
    eng_real *normed; /* [rows][hidden] */
    eng_real *k, *v;  /* [rows][kv_heads * head_dim] */
    eng_real *act;    /* [rows][intermediate] */
} eng_acts;

/* Allocates everything from `work`. seqs must live as long as acts. */
TK_NODISCARD tinkc_code eng_acts_init(eng_acts *acts, eng_model *model, eng_work *work,
                                      const eng_seq *seqs, size_t n_seqs, bool keep);

/* Zeroed blocks for sequences that start at 0 and live as long as `work`: fills in blocks
 * and n_blocks. */
TK_NODISCARD tinkc_code eng_seq_make_blocks(eng_seq *seq, const eng_model *model,
                                            eng_work *work);

/* Runs all layers and the final norm; fills acts and the key/value blocks. */
TK_NODISCARD tinkc_code eng_forward(eng_acts *acts, tk_err *err);

#endif
