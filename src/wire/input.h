/* Sizes of model inputs and datums: length in tokens (docs/protocol.md §8.3) and the byte
 * estimates that chunking and the dispatch budgets work with (§6.2, §7.2). Pure; thread:
 * any. */
#ifndef WIRE_INPUT_H
#define WIRE_INPUT_H

#include "base/err.h"
#include "wire/value.h"

/* Bytes per text token that the two budgets count. */
#define TK_TRAIN_TOKEN_BYTES  4
#define TK_SAMPLE_TOKEN_BYTES 10

/* The first dimension in the header of a dmel tensor container. TINKC_E_INVALID: empty,
 * cut short, unknown dtype, a number that is too long, no dimension. */
TK_NODISCARD tinkc_code tk_dmel_length(int64_t *out, tk_bytes container, tk_err *err);

/* Length in tokens; an image needs its expected_tokens. TINKC_E_INVALID otherwise. */
TK_NODISCARD tinkc_code tk_chunk_length(int64_t *out, const tk_chunk *chunk, tk_err *err);

/* Sum over the chunks; err->path names the chunk. */
TK_NODISCARD tinkc_code tk_model_input_length(int64_t *out, const tk_model_input *input,
                                              tk_err *err);

/* Estimates; they saturate at SIZE_MAX. A chunk of unknown kind counts as nothing. */
size_t tk_model_input_bytes(const tk_model_input *input, size_t token_bytes);
size_t tk_tensor_bytes(const tk_tensor *tensor);
size_t tk_datum_bytes(const tk_datum *datum); /* as training counts it */

#endif
