/* Model inputs: a list of chunks whose bytes live in the object's arena. */
#include <string.h>

#include "client/values/error.h"
#include "client/values/types.h"
#include "client/values/types_int.h"
#include "wire/input.h"

struct tinkc_model_input {
    tk_chunk *chunks; /* owned */
    size_t capacity;
    tk_arena arena; /* what the chunks point to, but for borrowed tokens */
    tk_model_input wire;
};

const tk_model_input *tk_types_input(const tinkc_model_input *input)
{
    static const tk_model_input empty = {NULL, 0};
    return input != NULL ? &input->wire : &empty;
}

static tinkc_code make(tinkc_model_input **out, tk_err *err)
{
    tinkc_model_input *input = tk_zalloc(sizeof(*input));
    if (input == NULL) {
        return tk_err_nomem(err);
    }
    tk_arena_init(&input->arena, 0);
    *out = input;
    return TINKC_OK;
}

static tinkc_code append(tinkc_model_input *input, const tk_chunk *chunk, tk_err *err)
{
    size_t n = input->wire.n;
    if (n == input->capacity) {
        size_t capacity = n > 0 ? n * 2 : 4;
        tk_chunk *grown = tk_realloc_array(input->chunks, capacity, sizeof(*grown));
        if (grown == NULL) {
            return tk_err_nomem(err);
        }
        input->chunks = grown;
        input->capacity = capacity;
        input->wire.chunks = grown;
    }
    input->chunks[n] = *chunk;
    input->wire.n = n + 1;
    return TINKC_OK;
}

/* A chunk with its bytes copied into the arena of its new owner. */
static tinkc_code append_copy(tinkc_model_input *input, const tk_chunk *from, tk_err *err)
{
    size_t bytes;
    tk_chunk chunk = *from;
    if (!tk_size_mul(&bytes, from->tokens.n, sizeof(int32_t))) {
        return tk_err_set(err, TINKC_E_LIMIT, "too many tokens");
    }
    chunk.tokens.p = tk_types_dup(&input->arena, from->tokens.p, bytes);
    chunk.data.p = tk_types_dup(&input->arena, from->data.p, from->data.n);
    if (chunk.tokens.p == NULL || chunk.data.p == NULL ||
        !tk_arena_dup(&input->arena, &chunk.location, from->location.p,
                      from->location.n)) {
        return tk_err_nomem(err);
    }
    return append(input, &chunk, err);
}

/* What every adding function ends with. */
static tinkc_code add(tinkc_model_input *input, const tk_chunk *chunk, bool borrow,
                      tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    bool missing = (chunk->tokens.n > 0 && chunk->tokens.p == NULL) ||
                   (chunk->data.n > 0 && chunk->data.p == NULL);
    if (input == NULL || missing) {
        (void)tk_err_set(&e, TINKC_E_INVALID, "input and data must not be NULL");
        return tk_error_give(err, &e);
    }
    tinkc_code code = borrow ? append(input, chunk, &e) : append_copy(input, chunk, &e);
    return code == TINKC_OK ? TINKC_OK : tk_error_give(err, &e);
}

tinkc_code tinkc_model_input_new(tinkc_model_input **out, tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    if (out == NULL) {
        (void)tk_err_set(&e, TINKC_E_INVALID, "out must not be NULL");
        return tk_error_give(err, &e);
    }
    return make(out, &e) == TINKC_OK ? TINKC_OK : tk_error_give(err, &e);
}

tinkc_code tinkc_model_input_from_tokens(tinkc_model_input **out, const int32_t *tokens,
                                         size_t n, tinkc_error **err)
{
    tinkc_model_input *input = NULL;
    tinkc_code code = tinkc_model_input_new(out != NULL ? &input : NULL, err);
    if (code == TINKC_OK) {
        code = tinkc_model_input_add_tokens(input, tokens, n, err);
    }
    if (code != TINKC_OK) {
        tinkc_model_input_free(&input);
        return code;
    }
    *out = input;
    return TINKC_OK;
}

tinkc_code tinkc_model_input_copy(tinkc_model_input **out, const tinkc_model_input *input,
                                  tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    tinkc_model_input *copy = NULL;
    if (out == NULL || input == NULL) {
        (void)tk_err_set(&e, TINKC_E_INVALID, "out and input must not be NULL");
        return tk_error_give(err, &e);
    }
    tinkc_code code = make(&copy, &e);
    for (size_t i = 0; code == TINKC_OK && i < input->wire.n; i++) {
        code = append_copy(copy, &input->chunks[i], &e);
    }
    if (code != TINKC_OK) {
        tinkc_model_input_free(&copy);
        return tk_error_give(err, &e);
    }
    *out = copy;
    return TINKC_OK;
}

void tinkc_model_input_free(tinkc_model_input **input)
{
    if (input == NULL || *input == NULL) {
        return;
    }
    tk_free((*input)->chunks);
    tk_arena_dispose(&(*input)->arena);
    tk_free(*input);
    *input = NULL;
}

tinkc_code tinkc_model_input_add_tokens(tinkc_model_input *input, const int32_t *tokens,
                                        size_t n, tinkc_error **err)
{
    const tk_chunk chunk = {.kind = TK_CHUNK_TEXT, .tokens = {tokens, n}};
    return add(input, &chunk, false, err);
}

tinkc_code tinkc_model_input_borrow_tokens(tinkc_model_input *input,
                                           const int32_t *tokens, size_t n,
                                           tinkc_error **err)
{
    const tk_chunk chunk = {.kind = TK_CHUNK_TEXT, .tokens = {tokens, n}};
    return add(input, &chunk, true, err);
}

/* The parts that both kinds of image have. */
static tinkc_code image_chunk(tk_chunk *out, tinkc_image_format format,
                              int64_t expected_tokens, tk_err *err)
{
    bool known = format == TINKC_IMAGE_PNG || format == TINKC_IMAGE_JPEG;
    if (!known || expected_tokens < TINKC_UNKNOWN_TOKENS) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "unknown image format, or a negative expected_tokens");
    }
    out->format = format == TINKC_IMAGE_PNG ? TK_IMAGE_PNG : TK_IMAGE_JPEG;
    if (expected_tokens != TINKC_UNKNOWN_TOKENS) {
        out->expected_tokens.is = TK_SET;
        out->expected_tokens.v = expected_tokens;
    }
    return TINKC_OK;
}

tinkc_code tinkc_model_input_add_image(tinkc_model_input *input, const void *file,
                                       size_t n, tinkc_image_format format,
                                       int64_t expected_tokens, tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    tk_chunk chunk = {.kind = TK_CHUNK_IMAGE, .data = {file, n}};
    if (image_chunk(&chunk, format, expected_tokens, &e) != TINKC_OK) {
        return tk_error_give(err, &e);
    }
    return add(input, &chunk, false, err);
}

tinkc_code tinkc_model_input_add_image_pointer(tinkc_model_input *input,
                                               const char *location,
                                               tinkc_image_format format,
                                               int64_t expected_tokens, tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    tk_chunk chunk = {.kind = TK_CHUNK_IMAGE_POINTER, .location = tk_str_of(location)};
    if (location == NULL) {
        (void)tk_err_set(&e, TINKC_E_INVALID, "location must not be NULL");
        return tk_error_give(err, &e);
    }
    if (image_chunk(&chunk, format, expected_tokens, &e) != TINKC_OK) {
        return tk_error_give(err, &e);
    }
    return add(input, &chunk, false, err);
}

tinkc_code tinkc_model_input_add_dmel(tinkc_model_input *input, const void *container,
                                      size_t n, tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    int64_t length;
    const tk_chunk chunk = {.kind = TK_CHUNK_DMEL,
                            .data = {container, container != NULL ? n : 0}};
    if (tk_dmel_length(&length, chunk.data, &e) != TINKC_OK) {
        return tk_error_give(err, &e);
    }
    return add(input, &chunk, false, err);
}

size_t tinkc_model_input_chunk_count(const tinkc_model_input *input)
{
    return tk_types_input(input)->n;
}

tinkc_code tinkc_model_input_length(int64_t *out, const tinkc_model_input *input,
                                    tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    if (input == NULL || out == NULL) {
        (void)tk_err_set(&e, TINKC_E_INVALID, "input and out must not be NULL");
        return tk_error_give(err, &e);
    }
    return tk_model_input_length(out, &input->wire, &e) == TINKC_OK
               ? TINKC_OK
               : tk_error_give(err, &e);
}

/* How many text tokens there are; TINKC_E_INVALID when a chunk is not text. */
static tinkc_code count_tokens(const tk_model_input *input, size_t *out, tk_err *err)
{
    size_t total = 0;
    for (size_t i = 0; i < input->n; i++) {
        if (input->chunks[i].kind != TK_CHUNK_TEXT) {
            tinkc_code code = tk_err_set(err, TINKC_E_INVALID, "not a chunk of text");
            tk_err_under_index(err, i);
            tk_err_under(err, "chunks");
            return code;
        }
        if (!tk_size_add(&total, total, input->chunks[i].tokens.n)) {
            return tk_err_set(err, TINKC_E_LIMIT, "too many tokens");
        }
    }
    *out = total;
    return TINKC_OK;
}

static void copy_tokens(int32_t *tokens, const tinkc_model_input *input)
{
    for (size_t i = 0; i < input->wire.n; i++) {
        tk_i32s part = input->chunks[i].tokens;
        if (part.n > 0) {
            memcpy(tokens, part.p, part.n * sizeof(*part.p));
            tokens += part.n;
        }
    }
}

tinkc_code tinkc_model_input_tokens(int32_t *tokens, size_t size, size_t *n_out,
                                    const tinkc_model_input *input, tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    if (input == NULL || n_out == NULL || (tokens == NULL && size > 0)) {
        (void)tk_err_set(&e, TINKC_E_INVALID, "input and n_out must not be NULL");
        return tk_error_give(err, &e);
    }
    size_t total = 0;
    if (count_tokens(&input->wire, &total, &e) != TINKC_OK) {
        return tk_error_give(err, &e);
    }
    *n_out = total;
    if (total > size) {
        (void)tk_err_set(&e, TINKC_E_LIMIT, "%zu tokens, room for %zu", total, size);
        return tk_error_give(err, &e);
    }
    copy_tokens(tokens, input);
    return TINKC_OK;
}

tinkc_code tk_types_copy_tokens(int32_t **out, size_t *n, const tinkc_model_input *input,
                                size_t extra, tk_err *err)
{
    size_t total = 0;
    tinkc_code code = count_tokens(&input->wire, &total, err);
    if (code != TINKC_OK) {
        return code;
    }
    int32_t *tokens = extra <= SIZE_MAX - total - 1
                          ? tk_zarray(total + extra + 1, sizeof(*tokens))
                          : NULL;
    if (tokens == NULL) {
        return tk_err_nomem(err);
    }
    copy_tokens(tokens, input);
    *out = tokens;
    *n = total;
    return TINKC_OK;
}
