/* Values that go into requests: prompts, tensors, datums and rollouts.
 *
 * Ownership: a function with an `out` argument creates an object that the caller frees
 * with the matching _free. Arguments are copied, except in
 * tinkc_model_input_borrow_tokens, with TINKC_ARRAY_BORROW, and the input of
 * tinkc_datum_new. On failure every object and every output is unchanged, except
 * *n_out of tinkc_model_input_tokens. A call that sends an object has read it when it
 * returns: the caller may then change or free it.
 *
 * Errors: every function that returns a code returns TINKC_E_INVALID when an object,
 * an `out` or a non-empty array is NULL, and TINKC_E_NOMEM; other codes are listed
 * below. Options are in <tinkc/params.h>. Thread: one at a time per object; nothing
 * here blocks. */
#ifndef TINKC_TYPES_H
#define TINKC_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tinkc/error.h>
#include <tinkc/export.h>

TINKC_BEGIN_DECLS

/* ---- model input: what a model reads ---- */

typedef struct tinkc_model_input tinkc_model_input;

typedef enum tinkc_image_format {
    TINKC_IMAGE_PNG = 0,
    TINKC_IMAGE_JPEG = 1
} tinkc_image_format;

/* As expected_tokens: the number of tokens of the image is not known. */
enum { TINKC_UNKNOWN_TOKENS = -1 };

/* Creates an empty input. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_model_input_new(tinkc_model_input **out,
                                                           tinkc_error **err);

/* Creates an input with one chunk of tokens, which are copied. TINKC_E_LIMIT when `n`
 * is too large. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_model_input_from_tokens(
    tinkc_model_input **out, const int32_t *tokens, size_t n, tinkc_error **err);

/* Creates a deep copy; tokens that the original borrows are copied too. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_model_input_copy(
    tinkc_model_input **out, const tinkc_model_input *input, tinkc_error **err);

/* Frees the input and sets *input to NULL. Accepts NULL and a pointer to NULL. */
TINKC_API void tinkc_model_input_free(tinkc_model_input **input);

/* Appends a chunk of text tokens (wire: encoded_text), which are copied. TINKC_E_LIMIT
 * when `n` is too large. */
TINKC_API tinkc_code tinkc_model_input_add_tokens(tinkc_model_input *input,
                                                  const int32_t *tokens, size_t n,
                                                  tinkc_error **err);

/* Appends a chunk of text tokens without copying them: `tokens` must not change or be
 * freed before the input, or the datum that took it over, is freed. */
TINKC_API tinkc_code tinkc_model_input_borrow_tokens(tinkc_model_input *input,
                                                     const int32_t *tokens, size_t n,
                                                     tinkc_error **err);

/* Appends an image file, which is copied. `expected_tokens` is the length of the chunk
 * and a hint to the server; TINKC_UNKNOWN_TOKENS omits it. TINKC_E_INVALID for an
 * unknown format or any other negative value. */
TINKC_API tinkc_code tinkc_model_input_add_image(tinkc_model_input *input,
                                                 const void *file, size_t n,
                                                 tinkc_image_format format,
                                                 int64_t expected_tokens,
                                                 tinkc_error **err);

/* Appends an image that the server fetches itself. For sampling only: an operation
 * with training data that contains one fails with TINKC_E_INVALID. Same errors as
 * tinkc_model_input_add_image. */
TINKC_API tinkc_code tinkc_model_input_add_image_pointer(tinkc_model_input *input,
                                                         const char *location,
                                                         tinkc_image_format format,
                                                         int64_t expected_tokens,
                                                         tinkc_error **err);

/* Appends audio in a tensor container, which is copied. TINKC_E_INVALID when its
 * header is malformed. */
TINKC_API tinkc_code tinkc_model_input_add_dmel(tinkc_model_input *input,
                                                const void *container, size_t n,
                                                tinkc_error **err);

/* Returns the number of chunks; 0 for NULL. */
TINKC_API size_t tinkc_model_input_chunk_count(const tinkc_model_input *input);

/* Computes the length in tokens. TINKC_E_INVALID when an image has no
 * expected_tokens. */
TINKC_API tinkc_code tinkc_model_input_length(int64_t *out,
                                              const tinkc_model_input *input,
                                              tinkc_error **err);

/* Copies the tokens of all chunks to tokens[0 .. size) and stores their number in
 * *n_out. TINKC_E_INVALID when a chunk is not text. TINKC_E_LIMIT when they do not
 * fit: then only *n_out is written, so a call with `size` 0 and `tokens` NULL asks for
 * the number. */
TINKC_API tinkc_code tinkc_model_input_tokens(int32_t *tokens, size_t size, size_t *n_out,
                                              const tinkc_model_input *input,
                                              tinkc_error **err);

/* ---- arrays and tensors ---- */

/* Element types of the caller's arrays. */
typedef enum tinkc_elem {
    TINKC_ELEM_I8 = 0,
    TINKC_ELEM_I16 = 1,
    TINKC_ELEM_I32 = 2,
    TINKC_ELEM_I64 = 3,
    TINKC_ELEM_U8 = 4,
    TINKC_ELEM_U16 = 5,
    TINKC_ELEM_U32 = 6,
    TINKC_ELEM_U64 = 7,
    TINKC_ELEM_F32 = 8,
    TINKC_ELEM_F64 = 9,
    TINKC_ELEM_BF16 = 10, /* uint16_t: the upper half of a float */
    TINKC_ELEM_BOOL = 11  /* bool */
} tinkc_elem;

/* The two element types that are sent. */
typedef enum tinkc_dtype {
    TINKC_DTYPE_BY_NAME = 0, /* what the field's name asks for: target_tokens int64;
                                weights, advantages, logprobs, clip_low_threshold,
                                clip_high_threshold, sequence_ratio_mask float32 */
    TINKC_DTYPE_FLOAT32 = 1,
    TINKC_DTYPE_INT64 = 2,
    TINKC_DTYPE_INFER = 3, /* integers int64; floats and empty arrays float32 */
    TINKC_DTYPE_OTHER = -1 /* of a result: a type that this version cannot read */
} tinkc_dtype;

/* Writes elements [first, first + n) of the row-major sequence to `out`. Called in
 * order, on the thread that converts the array. Any code other than TINKC_OK ends the
 * conversion and becomes its result. */
typedef tinkc_code (*tinkc_produce_fn)(void *out, size_t first, size_t n, void *user);

enum {
    TINKC_ARRAY_BORROW = 1, /* use the caller's array when it needs no conversion; it must
                               not change until the object is freed */
    TINKC_ARRAY_COMPACT = 2 /* 2-D: send as sparse rows when that is smaller */
};

/* An array: contiguous, a strided view, or produced by a callback. Start from
 * TINKC_ARRAY_INIT. */
typedef struct tinkc_array {
    size_t size; /* of this struct */
    tinkc_elem elem;
    const void *data; /* element [0, 0, ...]; unused with `produce` */
    const int64_t *shape;
    size_t ndim;            /* 0 = a scalar */
    const int64_t *strides; /* in elements, may be 0 or negative; NULL = row major */
    tinkc_produce_fn produce;
    void *user;
    tinkc_dtype dtype;
    unsigned flags;
    size_t *rounded; /* if not NULL: how many elements lost precision */
} tinkc_array;

#define TINKC_ARRAY_INIT                                                                 \
    {                                                                                    \
        sizeof(tinkc_array), TINKC_ELEM_F32, NULL, NULL, 0, NULL, NULL, NULL,            \
            TINKC_DTYPE_BY_NAME, 0, NULL                                                 \
    }

/* Sets *array to TINKC_ARRAY_INIT. */
TINKC_API void tinkc_array_init(tinkc_array *array);

/* A tensor in the form in which it is sent: int64 or float32, with a shape.
 * Immutable. */
typedef struct tinkc_tensor tinkc_tensor;

/* Converts an array to a tensor. TINKC_E_INVALID for a negative dimension, an unsigned
 * value above INT64_MAX, a finite value beyond the range of float32, a fraction or NaN
 * where int64 is required, or TINKC_DTYPE_BY_NAME (a tensor has no name);
 * TINKC_E_LIMIT for too many dimensions or elements; the code of `produce` when it
 * fails. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_tensor_new(tinkc_tensor **out,
                                                      const tinkc_array *array,
                                                      tinkc_error **err);

/* Rows of which only some cells are there (CSR). Start from TINKC_SPARSE_INIT. */
typedef struct tinkc_sparse {
    size_t size;       /* of this struct */
    tinkc_dtype dtype; /* of the values: TINKC_DTYPE_FLOAT32 or TINKC_DTYPE_INT64 */
    int64_t rows;
    int64_t columns;
    const void *values; /* float or int64_t, row by row */
    size_t n;
    const int64_t *row_starts; /* rows + 1: where the values of each row start; the last
                                  one is n */
    const int64_t *value_columns; /* n: the column of each value */
} tinkc_sparse;

#define TINKC_SPARSE_INIT                                                                \
    {                                                                                    \
        sizeof(tinkc_sparse), TINKC_DTYPE_INT64, 0, 0, NULL, 0, NULL, NULL               \
    }

/* Sets *sparse to TINKC_SPARSE_INIT. */
TINKC_API void tinkc_sparse_init(tinkc_sparse *sparse);

/* Makes a sparse tensor from a copy of the arrays. TINKC_E_INVALID for a dtype that is
 * neither of the two, a negative dimension, row_starts that do not rise from 0 to n, or a
 * column outside the shape; TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_tensor_new_sparse(tinkc_tensor **out,
                                                             const tinkc_sparse *sparse,
                                                             tinkc_error **err);

/* Frees a tensor that tinkc_tensor_new or tinkc_tensor_new_sparse made and sets *tensor to
 * NULL; other tensors belong to what they came from. Accepts NULL and a pointer to
 * NULL. */
TINKC_API void tinkc_tensor_free(tinkc_tensor **tensor);

/* Returns TINKC_DTYPE_FLOAT32 or TINKC_DTYPE_INT64; for a tensor of a result also
 * TINKC_DTYPE_OTHER, which has no elements that could be read. All accessors read NULL as
 * an empty tensor. */
TINKC_API tinkc_dtype tinkc_tensor_dtype(const tinkc_tensor *tensor);

/* Returns the number of dimensions. */
TINKC_API size_t tinkc_tensor_rank(const tinkc_tensor *tensor);

/* Returns the size of one dimension; 0 when `index` is past the end. */
TINKC_API int64_t tinkc_tensor_dim(const tinkc_tensor *tensor, size_t index);

/* Returns the number of elements in tinkc_tensor_f32 or tinkc_tensor_i64: all of them,
 * or the non-zeros of a sparse tensor. */
TINKC_API size_t tinkc_tensor_count(const tinkc_tensor *tensor);

/* Returns the float32 elements in row-major order, borrowed until the tensor is freed;
 * NULL when the tensor is int64. */
TINKC_API const float *tinkc_tensor_f32(const tinkc_tensor *tensor);

/* Returns the int64 elements in row-major order, borrowed until the tensor is freed;
 * NULL when the tensor is float32. */
TINKC_API const int64_t *tinkc_tensor_i64(const tinkc_tensor *tensor);

/* Returns whether only the non-zeros are kept, row by row (CSR). */
TINKC_API bool tinkc_tensor_is_sparse(const tinkc_tensor *tensor);

/* Returns the column of each element of a sparse tensor, borrowed; NULL for a dense
 * one. */
TINKC_API const int64_t *tinkc_tensor_columns(const tinkc_tensor *tensor);

/* Returns where each row of a sparse tensor starts, rows + 1 entries, borrowed; NULL
 * for a dense one. */
TINKC_API const int64_t *tinkc_tensor_row_starts(const tinkc_tensor *tensor);

/* ---- datum: one training example ---- */

typedef struct tinkc_datum tinkc_datum;

/* Creates a datum from an input. On success the datum takes the input over and *input
 * is set to NULL, so large prompts are not copied; on failure the caller keeps it.
 * TINKC_E_INVALID when `input` or *input is NULL. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_datum_new(tinkc_datum **out,
                                                     tinkc_model_input **input,
                                                     tinkc_error **err);

/* Frees the datum with its input and sets *datum to NULL. Accepts NULL and a pointer
 * to NULL. */
TINKC_API void tinkc_datum_free(tinkc_datum **datum);

/* Sets a loss function input and replaces one of the same name. Same errors as
 * tinkc_tensor_new; TINKC_E_INVALID when array->dtype is TINKC_DTYPE_BY_NAME and the
 * name has no known dtype; TINKC_E_LIMIT beyond 128 inputs. */
TINKC_API tinkc_code tinkc_datum_set(tinkc_datum *datum, const char *name,
                                     const tinkc_array *array, tinkc_error **err);

/* Sets a loss function input from a plain list. The dtype follows from the name, the
 * shape is [n]. Same errors as tinkc_datum_set. */
TINKC_API tinkc_code tinkc_datum_set_i32(tinkc_datum *datum, const char *name,
                                         const int32_t *values, size_t n,
                                         tinkc_error **err);

/* Sets a loss function input from a plain list, as tinkc_datum_set_i32 does. */
TINKC_API tinkc_code tinkc_datum_set_i64(tinkc_datum *datum, const char *name,
                                         const int64_t *values, size_t n,
                                         tinkc_error **err);

/* Sets a loss function input from a plain list, as tinkc_datum_set_i32 does. */
TINKC_API tinkc_code tinkc_datum_set_f32(tinkc_datum *datum, const char *name,
                                         const float *values, size_t n,
                                         tinkc_error **err);

/* Sets a loss function input from a plain list, as tinkc_datum_set_i32 does. */
TINKC_API tinkc_code tinkc_datum_set_f64(tinkc_datum *datum, const char *name,
                                         const double *values, size_t n,
                                         tinkc_error **err);

/* A list of lists, row by row. Start from TINKC_ROWS_INIT. */
typedef struct tinkc_rows {
    size_t size; /* of this struct */
    tinkc_elem elem;
    const void *const *rows;
    const size_t *lengths; /* elements of each row; all must be equal */
    size_t n;              /* rows; 0 gives shape [0] */
    tinkc_dtype dtype;
} tinkc_rows;

#define TINKC_ROWS_INIT                                                                  \
    {                                                                                    \
        sizeof(tinkc_rows), TINKC_ELEM_F32, NULL, NULL, 0, TINKC_DTYPE_BY_NAME           \
    }

/* Sets *rows to TINKC_ROWS_INIT. */
TINKC_API void tinkc_rows_init(tinkc_rows *rows);

/* Sets a 2-D loss function input from rows. Same errors as tinkc_datum_set; a ragged
 * list is TINKC_E_INVALID and names the row. */
TINKC_API tinkc_code tinkc_datum_set_rows(tinkc_datum *datum, const char *name,
                                          const tinkc_rows *rows, tinkc_error **err);

/* Sets a loss function input to a copy of a tensor. Same errors as tinkc_datum_set. */
TINKC_API tinkc_code tinkc_datum_set_tensor(tinkc_datum *datum, const char *name,
                                            const tinkc_tensor *tensor,
                                            tinkc_error **err);

/* Where a run of positions of a datum was sampled. */
typedef enum tinkc_origin_kind {
    TINKC_ORIGIN_PROMPT = 0, /* part of the prompt of a sample */
    TINKC_ORIGIN_SAMPLED = 1 /* tokens that the model sampled */
} tinkc_origin_kind;

/* The positions [offset, offset + length) of the prompt or of the sampled tokens of a
 * sequence. */
typedef struct tinkc_origin {
    tinkc_origin_kind kind;
    const char *sequence_id; /* of the sampled sequence, not empty */
    int64_t offset;
    int64_t length;
} tinkc_origin;

/* States where the tokens of a datum were sampled: `input` covers the positions of the
 * model input, `targets` those of target_tokens, each position once and in order.
 * Replaces what was set before; both empty removes it. The spans are copied.
 * TINKC_E_INVALID for an empty or missing sequence_id, a negative number, an unknown kind,
 * one list without the other, or lengths that do not add up to the number of positions;
 * targets are compared only when target_tokens is set and has one dimension. */
TINKC_API tinkc_code tinkc_datum_set_provenance(tinkc_datum *datum,
                                                const tinkc_origin *input, size_t input_n,
                                                const tinkc_origin *targets,
                                                size_t targets_n, tinkc_error **err);

/* Returns a loss function input, borrowed until the datum changes; NULL when there is
 * none of that name. */
TINKC_API const tinkc_tensor *tinkc_datum_tensor(const tinkc_datum *datum,
                                                 const char *name);

/* Returns the model input, borrowed until the datum is freed; NULL for NULL. */
TINKC_API const tinkc_model_input *tinkc_datum_input(const tinkc_datum *datum);

/* ---- rollout: a sampled answer with its reward ---- */

/* What a model sampled after a prompt, and how much better than expected it was. Start
 * from TINKC_ROLLOUT_INIT. Everything is borrowed for the duration of the call. */
typedef struct tinkc_rollout {
    size_t size;
    const tinkc_model_input *prompt; /* text only, not empty */
    const int32_t *tokens;           /* [n], tinkc_samples_tokens */
    const float *logprobs;           /* [n], tinkc_samples_logprobs */
    size_t n;
    double advantage;
} tinkc_rollout;

#define TINKC_ROLLOUT_INIT                                                               \
    {                                                                                    \
        sizeof(tinkc_rollout), NULL, NULL, NULL, 0, 0.0                                  \
    }

/* Sets *rollout to TINKC_ROLLOUT_INIT. */
TINKC_API void tinkc_rollout_init(tinkc_rollout *rollout);

/* Creates the datum of a rollout, for "importance_sampling", "ppo" and similar losses.
 * Its input is the prompt and the answer without the last token; its target_tokens are
 * the same tokens without the first. Where a target belongs to the answer, `logprobs`
 * holds the log-probability it was sampled with and `advantages` holds the advantage;
 * where it belongs to the prompt, both are 0, so it does not contribute to the loss.
 * In a conversation of several turns each sampled turn is one rollout, whose prompt is
 * everything before it. The caller frees *out. TINKC_E_INVALID for an empty prompt or
 * answer, a prompt with images, missing logprobs, or a number that is not finite;
 * TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_datum_from_rollout(
    tinkc_datum **out, const tinkc_rollout *rollout, tinkc_error **err);

TINKC_END_DECLS

#endif
