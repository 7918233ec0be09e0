/* The engine as the server sees it: models, adapters, losses, optimizer. No sockets, no
 * SQL, no tensors in this header.
 *
 * A model is frozen once open and may carry many adapters. An adapter is LoRA weights,
 * accumulated gradients and optimizer state. Everything that computes runs on the pool
 * given at open.
 *
 * Thread: calls that share a pool must not overlap (the server has one engine thread).
 * Errors: tinkc_code with text in *err; outputs are written, gradients and weights are
 * changed, only on success.
 *
 * Bits: on one kernel table the numbers of a token depend on the tokens before it and on
 * the weights, never on batch, chunking or thread count. Gradients are a left fold over
 * data in order: 64 data in one call equal the same 64 over five calls. */
#ifndef ENGINE_ENG_H
#define ENGINE_ENG_H

#include "base/err.h"
#include "base/str.h"
#include "base/tk.h"

typedef struct eng_pool eng_pool;
typedef struct eng_model eng_model;
typedef struct eng_adapter eng_adapter;

/* ---- kernels ---- */

/* Selects the kernel table by name, "auto" the best one; false when this build or machine
 * does not have it. Until the first call the best one is used. Thread: before anything
 * computes. */
TK_NODISCARD bool eng_kern_select(const char *name);

/* The name of the i-th table that this build and machine have, best first; NULL after the
 * last one. */
const char *eng_kern_name(size_t i);

const char *eng_kern_in_use(void); /* the name of the table in use */

/* ---- threads ---- */

/* threads 0 = one per online CPU. */
TK_NODISCARD tinkc_code eng_pool_new(eng_pool **out, unsigned threads, tk_err *err);
void eng_pool_free(eng_pool *pool); /* accepts NULL; after everything that uses it */

/* Lets the owner end computations early, at a shutdown. `stop` is asked before each piece
 * of a forward pass, a backward pass or a sampler's step, on any thread of the pool. When
 * it has returned true once, these calls, and an optimizer step or a model that is opened,
 * end with TINKC_E_CANCELLED, also all later ones. Nothing of them is applied: gradients,
 * weights and samples are as before the call. What has begun to change weights, and
 * reading and writing checkpoints, go on to their end. Thread: before anything
 * computes. */
typedef bool (*eng_stop_fn)(void *user);
void eng_pool_set_stop(eng_pool *pool, eng_stop_fn stop, void *user);

/* ---- models ---- */

/* How an open model holds its matrices: as its files have them, or rounded once, when it
 * is opened, to 8 bits, with a scale for 64 inputs of an output. What is rounded takes a
 * bit more than half of bf16's memory. Vectors (norms, biases) stay as they are, as does
 * an embedding that is not the head, of a model that is not tied. Everything else is the
 * same: activations are never rounded, adapters are float32, and bits depend on what they
 * depend on with other weights. */
typedef enum eng_weights { ENG_WEIGHTS_FILE, ENG_WEIGHTS_INT8 } eng_weights;

/* A directory in Hugging Face layout: config.json, optional generation_config.json,
 * model.safetensors or shards with model.safetensors.index.json. Everything is copied:
 * later changes of the files do not matter, and a model takes what its tensors take
 * (twice that if they are F16; as int8 what these take) and 32 MiB more while it is
 * loaded. What is not supported is refused by name: TINKC_E_UNSUPPORTED; damaged files:
 * TINKC_E_PARSE or TINKC_E_DECODE; NaN or infinity in a weight: TINKC_E_INVALID. The
 * pool must outlive the model. */
TK_NODISCARD tinkc_code eng_model_open(eng_model **out, eng_pool *pool,
                                       const char *directory, eng_weights weights,
                                       tk_err *err);

/* The files of a model in memory (a model linked into the program), which is copied, too.
 * generation_config may be empty. */
typedef struct eng_model_memory {
    tk_str config;            /* config.json */
    tk_str generation_config; /* generation_config.json */
    tk_str weights;           /* one safetensors file */
    eng_weights held;         /* how the model holds them */
} eng_model_memory;

TK_NODISCARD tinkc_code eng_model_open_memory(eng_model **out, eng_pool *pool,
                                              const eng_model_memory *memory,
                                              tk_err *err);

void eng_model_free(eng_model *model); /* accepts NULL; its adapters first */

/* Reads the headers of the weights in a directory: how many bytes the open model will take,
 * without what opening takes meanwhile (ENG_MODEL_OPEN_BYTES). The errors of
 * eng_model_open. */
TK_NODISCARD tinkc_code eng_model_measure(size_t *out, const char *directory,
                                          eng_weights weights, tk_err *err);
#define ENG_MODEL_OPEN_BYTES ((size_t)32 * 1024 * 1024)

/* Computes on another pool from now on: a model can be opened on a pool of its own while
 * others compute on theirs. Nothing may compute on the model meanwhile. */
void eng_model_set_pool(eng_model *model, eng_pool *pool);

typedef struct eng_model_info {
    const char *architecture; /* "LlamaForCausalLM", ... static */
    size_t layers, hidden, vocabulary;
    size_t context;        /* max_position_embeddings */
    uint64_t parameters;   /* of the base model */
    const char *precision; /* of its files: "F32", "BF16", "F16", or "mixed"; or "INT8",
                            * when it is held so; static */
    const int64_t *eos;    /* config.json and generation_config.json, no duplicates */
    size_t n_eos;
} eng_model_info;

void eng_model_get_info(const eng_model *model, eng_model_info *out); /* borrows */

/* Keeps at most `bytes` of activations during a training step (2 GiB, unless this is
 * called); what is beyond that is computed again. Changes no bit. */
void eng_model_limit_kept(eng_model *model, size_t bytes);

/* Frees working memory when there is more than `bytes` of it: first the scratch of the pool's
 * threads, which other models use, too; then the model's own, if that alone is more. Nothing
 * may be computed on the pool meanwhile; a training request may be between two of its steps. */
void eng_model_trim(eng_model *model, size_t bytes);

/* ---- adapters ---- */

typedef enum eng_optimizer { ENG_ADAMW, ENG_DIMUON } eng_optimizer;

/* "adamw", "dimuon"; static. */
const char *eng_optimizer_name(eng_optimizer optimizer);

/* The steps of Dimuon multiply matrices of rank x rank numbers. */
#define ENG_DIMUON_RANK_MAX 512

typedef struct eng_lora_config {
    size_t rank;                               /* 1..4096; Dimuon: ENG_DIMUON_RANK_MAX */
    double alpha;                              /* the scale is alpha / rank */
    bool train_attn, train_mlp, train_unembed; /* at least one */
    uint64_t seed;
    eng_optimizer optimizer; /* of an adapter that is trained */
} eng_lora_config;

#define ENG_LORA_CONFIG_INIT                                                             \
    {                                                                                    \
        .rank = 32, .alpha = 32.0, .train_attn = true, .train_mlp = true,                \
        .train_unembed = true                                                            \
    }

/* A from the seeded generator, U(-1/sqrt(in), 1/sqrt(in)); B, gradients and moments 0. */
TK_NODISCARD tinkc_code eng_adapter_new(eng_adapter **out, eng_model *model,
                                        const eng_lora_config *config, tk_err *err);
void eng_adapter_free(eng_adapter *adapter); /* gives up one owner; accepts NULL */

/* One more owner; returns `adapter`. Thread: any, as eng_adapter_free. */
eng_adapter *eng_adapter_retain(eng_adapter *adapter);

/* A frozen copy of the weights alone, without gradients and moments: what a sampler sees
 * while training goes on. Forward only; training and optimizer steps are
 * TINKC_E_INVALID, as is a copy of weights that are NaN or infinite. */
TK_NODISCARD tinkc_code eng_adapter_snapshot(eng_adapter **out,
                                             const eng_adapter *adapter, tk_err *err);

uint64_t eng_adapter_parameters(const eng_adapter *adapter);
uint64_t eng_adapter_steps(const eng_adapter *adapter); /* optimizer steps so far */

/* ---- losses ---- */

typedef enum eng_array_type { ENG_ARRAY_F32, ENG_ARRAY_I64 } eng_array_type;

/* One named loss input, as it came: dense, or CSR when `rows` is set. Bytes need not be
 * aligned. */
typedef struct eng_array {
    tk_str name;
    eng_array_type type;
    const void *values; /* little-endian */
    size_t n_values;
    const int64_t *shape; /* NULL with n_dims 0: one dimension of n_values */
    size_t n_dims;        /* 1 or 2 */
    const void *rows;     /* CSR row pointers, shape[0] + 1 int64; NULL = dense */
    size_t n_rows;
    const void *columns; /* CSR column indices, n_values int64 */
    size_t n_columns;
} eng_array;

typedef struct eng_datum {
    const int32_t *tokens;
    size_t n_tokens;
    const eng_array *inputs;
    size_t n_inputs;
} eng_datum;

typedef struct eng_setting { /* one entry of loss_fn_config */
    tk_str name;
    double value;
    bool is_text; /* instead of a number; no loss has such a setting */
} eng_setting;

typedef struct eng_train_request {
    tk_str loss_fn; /* cross_entropy, importance_sampling, ppo, cispo, dro, gspo */
    const eng_setting *settings;
    size_t n_settings;
    const eng_datum *data;
    size_t n_data;
    bool forward_only; /* outputs and metrics, no gradients */
    size_t piece_rows; /* tokens that run together at most; 0 = 512. Changes no bit */
    bool strict; /* refuse dense targets without weights, as the hosted service does;
                  * otherwise each weighs 1 */
} eng_train_request;

typedef struct eng_output { /* of one datum, in request order */
    size_t rows;            /* tokens */
    size_t columns;         /* targets per token */
    size_t n_dims;          /* 1: [rows]; 2: [rows, columns] */
    const float *logprobs;
    const float *elementwise_loss;
} eng_output;

typedef struct eng_metric {
    char name[48]; /* exactly one colon: "loss:sum" */
    double value;
} eng_metric;

typedef struct eng_result eng_result;
struct eng_result {
    eng_output *outputs;
    size_t n_outputs;
    eng_metric metrics[8];
    size_t n_metrics;
};

/* Runs the request and, unless forward_only, adds its gradients to the adapter's. The
 * whole request is checked first; TINKC_E_INVALID names the datum and the field. */
TK_NODISCARD tinkc_code eng_adapter_forward_backward(eng_result **out,
                                                     eng_adapter *adapter,
                                                     const eng_train_request *request,
                                                     tk_err *err);
void eng_result_free(eng_result *result); /* accepts NULL */

/* Runs forward_backward in bounded pieces, with the same bits as in one, so that samplers
 * and other adapters can run in between. From begin to end the request must live, and
 * this adapter must not be stepped, saved, loaded or trained. */
typedef struct eng_train eng_train;
TK_NODISCARD tinkc_code eng_train_begin(eng_train **out, eng_adapter *adapter,
                                        const eng_train_request *request, tk_err *err);
/* One piece; *more = whether others follow. After a failure only eng_train_free is
 * left. */
TK_NODISCARD tinkc_code eng_train_step(eng_train *train, bool *more, tk_err *err);
/* Runs what is left and frees `train`, also on failure; then the gradients are as they
 * were before. */
TK_NODISCARD tinkc_code eng_train_end(eng_result **out, eng_train *train, tk_err *err);
/* Gives it up: the gradients are put back. Accepts NULL. */
void eng_train_free(eng_train *train);

/* ---- optimizer ---- */

typedef struct eng_adam {
    double learning_rate, beta1, beta2, eps, weight_decay;
    double grad_clip_norm; /* 0 = off */
} eng_adam;

#define ENG_ADAM_INIT                                                                    \
    {                                                                                    \
        .learning_rate = 1e-4, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-12                 \
    }

/* One AdamW step with the accumulated gradients, which are cleared. Without gradients it
 * is a step with gradient 0. *grad_norm_out: global L2 norm before clipping, the metric
 * unclipped_grad_l2:mean. TINKC_E_INVALID, with nothing changed, when `adam` is out of
 * range or the weights would get too large to compute with. */
TK_NODISCARD tinkc_code eng_adapter_optim_step(eng_adapter *adapter, const eng_adam *adam,
                                               double *grad_norm_out, tk_err *err);

typedef struct eng_dimuon {
    double learning_rate, beta1;
    double grad_clip_norm; /* 0 or less = off */
} eng_dimuon;

/* One step of Dimuon, as eng_adapter_optim_step does one of AdamW. Either is
 * TINKC_E_INVALID for an adapter with the other optimizer. */
TK_NODISCARD tinkc_code eng_adapter_dimuon_step(eng_adapter *adapter,
                                                const eng_dimuon *dimuon,
                                                double *grad_norm_out, tk_err *err);

/* ---- checkpoints ---- */

#include "engine/eng_checkpoint.h"

#endif
