/* Typed arrays out of byte fields; see pb_array.h. */
#include "wire/pb_array.h"

#include <string.h>

#include "base/mem.h"

#define IS_LITTLE_ENDIAN (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

/* Host-order copy; `to` and `from` do not overlap. */
static void copy_items(void *to, tk_bytes from, size_t item_bytes)
{
    if (IS_LITTLE_ENDIAN) {
        tk_pb_copy(to, from.p, from.n);
        return;
    }
    unsigned char *out = to;
    for (size_t i = 0; i < from.n; i += item_bytes) {
        for (size_t b = 0; b < item_bytes; b++) {
            out[i + b] = from.p[i + item_bytes - 1 - b];
        }
    }
}

tinkc_code tk_pb_array_view(const tk_pb_input *in, tk_bytes bytes, size_t item_bytes,
                            const void **items, size_t *count)
{
    tinkc_code code = TINKC_OK;
    if (bytes.n % item_bytes != 0) {
        return tk_pb_fail(in, bytes.p, TINKC_E_DECODE,
                          "%zu bytes are not a whole number of %zu-byte items", bytes.n,
                          item_bytes);
    }
    if (bytes.n == 0) {
        *items = NULL;
    } else if (IS_LITTLE_ENDIAN && (uintptr_t)bytes.p % item_bytes == 0) {
        *items = bytes.p;
    } else {
        void *copy = tk_pb_alloc(in, bytes.n, 1, &code);
        if (copy == NULL) {
            return code;
        }
        copy_items(copy, bytes, item_bytes);
        *items = copy;
    }
    *count = bytes.n / item_bytes;
    return TINKC_OK;
}

tinkc_code tk_pb_array_i32s(const tk_pb_input *in, tk_bytes bytes, tk_i32s *out)
{
    const void *items = NULL;
    size_t n = 0;
    tinkc_code code = tk_pb_array_view(in, bytes, sizeof(int32_t), &items, &n);
    if (code == TINKC_OK) {
        *out = (tk_i32s){items, n};
    }
    return code;
}

tinkc_code tk_pb_array_i64s(const tk_pb_input *in, tk_bytes bytes, tk_i64s *out)
{
    const void *items = NULL;
    size_t n = 0;
    tinkc_code code = tk_pb_array_view(in, bytes, sizeof(int64_t), &items, &n);
    if (code == TINKC_OK) {
        *out = (tk_i64s){items, n};
    }
    return code;
}

tinkc_code tk_pb_array_f32s(const tk_pb_input *in, tk_bytes bytes, tk_f32s *out)
{
    const void *items = NULL;
    size_t n = 0;
    tinkc_code code = tk_pb_array_view(in, bytes, sizeof(float), &items, &n);
    if (code == TINKC_OK) {
        *out = (tk_f32s){items, n};
    }
    return code;
}

static tinkc_code widen_i32(const tk_pb_input *in, const int32_t *from, tk_tensor *out)
{
    tinkc_code code = TINKC_OK;
    int64_t *wide = tk_pb_alloc(in, out->n, sizeof(*wide), &code);
    if (wide != NULL) {
        for (size_t i = 0; i < out->n; i++) {
            wide[i] = from[i];
        }
        out->data = wide;
    }
    return code;
}

static tinkc_code widen_bf16(const tk_pb_input *in, const uint16_t *from, tk_tensor *out)
{
    tinkc_code code = TINKC_OK;
    float *wide = tk_pb_alloc(in, out->n, sizeof(*wide), &code);
    if (wide != NULL) {
        for (size_t i = 0; i < out->n; i++) {
            uint32_t bits = (uint32_t)from[i] << 16;
            memcpy(&wide[i], &bits, sizeof(bits));
        }
        out->data = wide;
    }
    return code;
}

tinkc_code tk_pb_array_tensor(const tk_pb_input *in, tk_bytes bytes, int32_t dtype,
                              tk_tensor *out)
{
    size_t item_bytes = tk_pb_array_item_bytes(dtype);
    if (item_bytes == 0) {
        return tk_pb_fail(in, bytes.p, TINKC_E_DECODE, "tensor of unknown dtype %d",
                          (int)dtype);
    }
    tinkc_code code = tk_pb_array_view(in, bytes, item_bytes, &out->data, &out->n);
    if (code != TINKC_OK) {
        return code;
    }
    bool is_float = dtype == TK_DTYPE_F32 || dtype == TK_DTYPE_BF16;
    out->dtype = is_float ? TK_DTYPE_F32 : TK_DTYPE_I64;
    if (dtype == TK_DTYPE_I32 && out->n > 0) {
        return widen_i32(in, out->data, out);
    }
    if (dtype == TK_DTYPE_BF16 && out->n > 0) {
        return widen_bf16(in, out->data, out);
    }
    return TINKC_OK;
}

bool tk_pb_array_count(const int64_t *dims, size_t n, size_t *out)
{
    size_t count = 1;
    bool is_empty = false;
    for (size_t i = 0; i < n; i++) {
        if (dims[i] < 0) {
            return false;
        }
        is_empty = is_empty || dims[i] == 0;
    }
    for (size_t i = 0; i < n && !is_empty; i++) {
        if ((uint64_t)dims[i] > SIZE_MAX ||
            !tk_size_mul(&count, count, (size_t)dims[i])) {
            return false;
        }
    }
    if (count > SIZE_MAX / sizeof(int64_t)) {
        return false;
    }
    *out = is_empty ? 0 : count;
    return true;
}
