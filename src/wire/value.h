/* Values shared by the JSON and the protobuf forms: model input chunks, tensors, datums,
 * and the results that carry them (docs/protocol.md §3, §8). Plain data, no ownership:
 * arrays borrow from the caller (encoding) or from the input bytes and the arena
 * (decoding). */
#ifndef WIRE_VALUE_H
#define WIRE_VALUE_H

#include "wire/field.h"

/* ---- model input ---- */

typedef enum tk_chunk_kind {
    TK_CHUNK_TEXT,          /* encoded_text */
    TK_CHUNK_IMAGE,         /* image */
    TK_CHUNK_IMAGE_POINTER, /* image_asset_pointer; has no protobuf form */
    TK_CHUNK_DMEL,          /* dmel (audio) */
    TK_CHUNK_UNKNOWN        /* a tag this version does not know; `raw` holds it */
} tk_chunk_kind;

typedef enum tk_image_format { TK_IMAGE_PNG, TK_IMAGE_JPEG } tk_image_format;

typedef struct tk_chunk {
    tk_chunk_kind kind;
    tk_i32s tokens;           /* TEXT */
    tk_bytes data;            /* IMAGE: the file; DMEL: a tensor container */
    tk_image_format format;   /* IMAGE, IMAGE_POINTER */
    tk_str location;          /* IMAGE_POINTER */
    tk_f_i64 expected_tokens; /* IMAGE, IMAGE_POINTER */
    const tk_json *raw;       /* UNKNOWN: the object as it came */
} tk_chunk;

typedef struct tk_model_input {
    const tk_chunk *chunks;
    size_t n;
} tk_model_input;

/* ---- tensors ---- */

/* Only the first two travel in JSON and in requests; the others appear in results and are
 * widened (int32 to int64, bfloat16 to float32) when they are read. A tensor of a result
 * whose dtype is not known is UNSPECIFIED and has no elements. Numbers = protobuf's. */
typedef enum tk_dtype {
    TK_DTYPE_UNSPECIFIED = 0,
    TK_DTYPE_F32 = 1,
    TK_DTYPE_I64 = 2,
    TK_DTYPE_I32 = 3,
    TK_DTYPE_BF16 = 4
} tk_dtype;

typedef struct tk_tensor {
    tk_dtype dtype;
    const void *data; /* F32: float[n]; I64: int64_t[n]; host order, naturally aligned */
    size_t n; /* elements in `data`: all of them, or the non-zeros of a sparse one */
    bool has_shape; /* false: a receiver reads it as [n] */
    tk_i64s shape;
    bool is_sparse; /* CSR: 2-D, shape required */
    tk_i64s crow;   /* rows + 1 */
    tk_i64s col;    /* n */
} tk_tensor;

typedef struct tk_named_tensor {
    tk_str name;
    tk_tensor tensor;
} tk_named_tensor;

typedef struct tk_tensor_map {
    const tk_named_tensor *items; /* in insertion order; names are unique */
    size_t n;
} tk_tensor_map;

/* Where a run of a datum's positions was sampled: [offset, offset + length) of the prompt
 * or of the sampled tokens of a sequence. */
typedef struct tk_origin {
    bool is_sampled; /* false: of the prompt */
    tk_str sequence_id;
    int64_t offset, length;
} tk_origin;

typedef struct tk_origins {
    const tk_origin *p; /* in order; together they cover every position once */
    size_t n;
} tk_origins;

typedef struct tk_datum {
    tk_model_input model_input;
    tk_tensor_map loss_fn_inputs;
    tk_origins model_input_spans;   /* both or neither; protobuf only */
    tk_origins loss_fn_input_spans; /* of target_tokens */
} tk_datum;

/* ---- the three messages that have a protobuf form ---- */

/* A setting of a loss function: a number or a text. */
typedef struct tk_loss_value {
    tk_str name;
    bool is_text;
    double number;
    tk_str text;
} tk_loss_value;

typedef struct tk_loss_values {
    const tk_loss_value *items; /* in insertion order; names are unique */
    size_t n;
} tk_loss_values;

typedef struct tk_fwdbwd_request {
    tk_str model_id;
    int64_t seq_id; /* int32 on the wire; 0 = none */
    const tk_datum *data;
    size_t data_n;
    tk_str loss_fn;
    tk_num_map loss_fn_config;
    tk_loss_values loss_fn_config_v2; /* if any: everything; protobuf only */
    bool forward_only;
} tk_fwdbwd_request;

typedef struct tk_fwdbwd_output {
    tk_str loss_fn_output_type;
    const tk_tensor_map *loss_fn_outputs; /* one per datum, in order */
    size_t loss_fn_outputs_n;
    tk_num_map metrics;
} tk_fwdbwd_output;

typedef enum tk_stop_reason {
    TK_STOP_STOP = 0,
    TK_STOP_LENGTH = 1,
    TK_STOP_OTHER = -1 /* received, not known; `stop_word` tells it */
} tk_stop_reason;

/* The k likeliest tokens of each position, of a prompt or of what was sampled. */
typedef struct tk_topk_logprobs {
    size_t length;
    size_t k;
    const int32_t *token_ids; /* [length * k], row major */
    const float *logprobs;    /* same; empty cells: token 0, logprob -99999 */
} tk_topk_logprobs;

typedef struct tk_sequence {
    tk_stop_reason stop_reason;
    tk_i32s tokens;
    bool has_logprobs;
    tk_f32s logprobs;
    tk_str stop_word; /* from JSON always, from protobuf the number of TK_STOP_OTHER */
    bool has_topk;
    tk_topk_logprobs topk; /* one row per token */
} tk_sequence;

/* Draws at every prompt position but the first: [prompt - 1, k]. */
typedef struct tk_alt_tokens {
    tk_tensor tokens;   /* int64 */
    tk_tensor logprobs; /* float32 */
} tk_alt_tokens;

typedef struct tk_sample_response {
    const tk_sequence *sequences;
    size_t sequences_n;
    bool has_prompt_logprobs;
    tk_f32s prompt_logprobs; /* NaN = not computed */
    bool has_topk;
    tk_topk_logprobs topk; /* one row per token of the prompt */
    int64_t prompt_cache_hit_tokens;
    bool has_target;
    tk_tensor target_prompt_logprobs; /* in the layout of the request's tensor */
    bool has_alt;
    tk_alt_tokens alt;
} tk_sample_response;

#endif
