/* The layer loop. Rows of several sequences go through together; each sequence brings its
 * tokens, its first position, its key/value blocks and its adapter.
 *
 * Memory comes from an eng_work that the caller resets. */
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

/* What stays after the forward pass. */
typedef enum eng_keep {
    ENG_KEEP_NOTHING, /* layers share one set of activations: decoding, forward only */
    ENG_KEEP_ALL,     /* everything that backward needs */
    ENG_KEEP_INPUTS   /* each layer's x_in; backward computes the rest again, to the same
                         bits, for a third more time and a tenth of the memory */
} eng_keep;

typedef struct eng_acts {
    eng_model *model;
    const eng_seq *seqs;
    size_t n_seqs;
    size_t rows;
    eng_keep keep;
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
                                      const eng_seq *seqs, size_t n_seqs, eng_keep keep);

/* Bytes of activations that ENG_KEEP_ALL would need for that many rows. */
double eng_acts_bytes(const eng_config *config, size_t rows, size_t rank);

/* Zeroed blocks for sequences that start at 0 and live as long as `work`: fills in blocks
 * and n_blocks. */
TK_NODISCARD tinkc_code eng_seq_make_blocks(eng_seq *seq, const eng_model *model,
                                            eng_work *work);

/* Runs all layers and the final norm; fills acts and the key/value blocks. */
TK_NODISCARD tinkc_code eng_forward(eng_acts *acts, tk_err *err);

/* For ENG_KEEP_INPUTS: computes the activations of one layer again from its x_in. */
TK_NODISCARD tinkc_code eng_forward_again(eng_acts *acts, size_t layer, tk_err *err);

#endif
