/* Lengths and estimates; see input.h. */
#include "wire/input.h"

#include "base/mem.h"
#include "base/utf8.h"

/* A constant tensor starts with this byte, before its dtype. */
#define DMEL_CONSTANT  0xFE
#define DMEL_DTYPE_MAX 7

static tinkc_code bad_dmel(tk_err *err, const char *why)
{
    return tk_err_set(err, TINKC_E_INVALID, "dmel container: %s", why);
}

/* LEB128, at most 64 bits. */
static tinkc_code read_varint(uint64_t *out, tk_bytes *rest, tk_err *err)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (rest->n == 0) {
            return bad_dmel(err, "cut short");
        }
        uint64_t bits = rest->p[0] & 0x7F;
        bool more = (rest->p[0] & 0x80) != 0;
        rest->p++;
        rest->n--;
        if (shift == 63 && bits > 1) {
            break;
        }
        value |= bits << shift;
        if (!more) {
            *out = value;
            return TINKC_OK;
        }
    }
    return bad_dmel(err, "number of more than 64 bits");
}

tinkc_code tk_dmel_length(int64_t *out, tk_bytes container, tk_err *err)
{
    tk_bytes rest = container;
    if (rest.n == 0) {
        return bad_dmel(err, "empty");
    }
    if (rest.p[0] == DMEL_CONSTANT) {
        rest.p++;
        rest.n--;
    }
    if (rest.n == 0) {
        return bad_dmel(err, "cut short");
    }
    if (rest.p[0] > DMEL_DTYPE_MAX) {
        return bad_dmel(err, "unknown dtype");
    }
    rest.p++;
    rest.n--;
    uint64_t ndim = 0;
    uint64_t dim = 0;
    tinkc_code code = read_varint(&ndim, &rest, err);
    if (code == TINKC_OK && ndim == 0) {
        code = bad_dmel(err, "no dimension");
    }
    for (uint64_t i = 0; code == TINKC_OK && i < ndim; i++) {
        uint64_t size = 0;
        code = read_varint(&size, &rest, err);
        dim = i == 0 ? size : dim;
    }
    if (code == TINKC_OK && dim > INT64_MAX) {
        code = bad_dmel(err, "dimension is too large");
    }
    if (code == TINKC_OK) {
        *out = (int64_t)dim;
    }
    return code;
}

tinkc_code tk_chunk_length(int64_t *out, const tk_chunk *chunk, tk_err *err)
{
    switch (chunk->kind) {
    case TK_CHUNK_TEXT:
        *out = (int64_t)chunk->tokens.n;
        return TINKC_OK;
    case TK_CHUNK_IMAGE:
    case TK_CHUNK_IMAGE_POINTER:
        if (chunk->expected_tokens.is != TK_SET || chunk->expected_tokens.v < 0) {
            return tk_err_set(err, TINKC_E_INVALID,
                              "the length of an image is its expected_tokens: set it");
        }
        *out = chunk->expected_tokens.v;
        return TINKC_OK;
    case TK_CHUNK_DMEL:
        return tk_dmel_length(out, chunk->data, err);
    case TK_CHUNK_UNKNOWN:
        break;
    }
    return tk_err_set(err, TINKC_E_INVALID, "the length of this chunk is not known");
}

tinkc_code tk_model_input_length(int64_t *out, const tk_model_input *input, tk_err *err)
{
    int64_t sum = 0;
    for (size_t i = 0; i < input->n; i++) {
        int64_t n = 0;
        tinkc_code code = tk_chunk_length(&n, &input->chunks[i], err);
        if (code == TINKC_OK && n > INT64_MAX - sum) {
            code = tk_err_set(err, TINKC_E_INVALID, "input is too long");
        }
        if (code != TINKC_OK) {
            tk_err_under_index(err, i);
            tk_err_under(err, "chunks");
            return code;
        }
        sum += n;
    }
    *out = sum;
    return TINKC_OK;
}

static size_t add(size_t a, size_t b)
{
    return b > SIZE_MAX - a ? SIZE_MAX : a + b;
}

static size_t times(size_t a, size_t b)
{
    size_t product;
    return tk_size_mul(&product, a, b) ? product : SIZE_MAX;
}

static size_t chunk_bytes(const tk_chunk *chunk, size_t token_bytes)
{
    switch (chunk->kind) {
    case TK_CHUNK_TEXT:
        return times(chunk->tokens.n, token_bytes);
    case TK_CHUNK_IMAGE:
    case TK_CHUNK_DMEL:
        return chunk->data.n;
    case TK_CHUNK_IMAGE_POINTER:
        return tk_utf8_count(chunk->location); /* characters, as the official SDK */
    case TK_CHUNK_UNKNOWN:
        break;
    }
    return 0;
}

size_t tk_model_input_bytes(const tk_model_input *input, size_t token_bytes)
{
    size_t sum = 0;
    for (size_t i = 0; i < input->n; i++) {
        sum = add(sum, chunk_bytes(&input->chunks[i], token_bytes));
    }
    return sum;
}

size_t tk_tensor_bytes(const tk_tensor *tensor)
{
    size_t size = tensor->dtype == TK_DTYPE_I64 ? sizeof(int64_t) : sizeof(float);
    size_t sum = times(tensor->n, size);
    if (tensor->is_sparse) {
        sum = add(sum, times(add(tensor->crow.n, tensor->col.n), sizeof(int64_t)));
    }
    return sum;
}

size_t tk_datum_bytes(const tk_datum *datum)
{
    size_t sum = tk_model_input_bytes(&datum->model_input, TK_TRAIN_TOKEN_BYTES);
    for (size_t i = 0; i < datum->loss_fn_inputs.n; i++) {
        sum = add(sum, tk_tensor_bytes(&datum->loss_fn_inputs.items[i].tensor));
    }
    return sum;
}
