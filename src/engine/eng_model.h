/* A model's weights bound to its configuration: packed matrices, norms, biases, the
 * rotary table. Frozen after open, except that tools which train all parameters may
 * write to them (eng_model_thaw). Internal to the engine and to tools. */
#ifndef ENGINE_ENG_MODEL_H
#define ENGINE_ENG_MODEL_H

#include "engine/eng.h"
#include "engine/eng_config.h"
#include "engine/eng_mat.h"
#include "engine/eng_safetensors.h"
#include "engine/eng_work.h"

typedef enum eng_linear {
    ENG_Q,
    ENG_K,
    ENG_V,
    ENG_O,
    ENG_GATE,
    ENG_UP,
    ENG_DOWN,
    ENG_N_LINEAR
} eng_linear;

typedef struct eng_layer {
    eng_mat w[ENG_N_LINEAR];
    eng_real *bias[ENG_N_LINEAR];  /* NULL where there is none */
    eng_real *norm_in, *norm_post; /* [hidden] */
    eng_real *q_norm, *k_norm;     /* [head_dim] or NULL */
} eng_layer;

struct eng_model {
    eng_config config;
    eng_pool *pool; /* borrowed */
    eng_work store; /* the weights */
    eng_work work;  /* of the call that runs now */
    eng_layer *layers;
    eng_real *norm; /* [hidden] */
    eng_mat head;   /* [vocabulary][hidden]; packed from the embedding when tied */
    void *embed;    /* [vocabulary][hidden] row by row; NULL when tied: see `head` */
    eng_dtype embed_dtype;
    eng_real *own_embed;           /* after eng_model_thaw: what is used instead */
    eng_real *rope_cos, *rope_sin; /* [rope_positions][head_dim / 2] */
    size_t rope_positions;
    uint64_t parameters;
    eng_weights weights;   /* how its matrices are held */
    const char *precision; /* of the matrices: "INT8", or as in its files; static */
    double keep_max_bytes; /* activations above this are computed again, not kept */
};

/* Inputs and outputs of one linear of a layer. */
size_t eng_model_inputs(const eng_config *config, eng_linear which);
size_t eng_model_outputs(const eng_config *config, eng_linear which);

const char *eng_linear_name(eng_linear which); /* "self_attn.q_proj", ... static */

/* One embedding row. */
void eng_model_embed(const eng_model *model, int32_t token, eng_real *out);

/* Makes the rotary table cover `positions`. */
TK_NODISCARD tinkc_code eng_model_reserve_rope(eng_model *model, size_t positions,
                                               tk_err *err);

/* Copies the embedding so that a tool may change it. Afterwards every weight is writable: own_embed, norms, biases, and matrices through eng_mat_pack_reals
 * (also `head`, which a tied model must repack from own_embed). TINKC_E_UNSUPPORTED
 * unless all matrices are stored as eng_real (an F32 file). */
TK_NODISCARD tinkc_code eng_model_thaw(eng_model *model, tk_err *err);

#endif
