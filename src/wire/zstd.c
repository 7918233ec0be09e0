/* Over libzstd's streaming calls. When a frame's header states its size and the size is
 * plausible for the input, room for all of it is made at once and libzstd decodes
 * straight into it; otherwise the buffer grows step by step. */
#include "wire/zstd.h"

#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/mem.h"

/* Real bodies compress 2 to 10 times; a header that claims more is believed only as the
 * bytes come. */
#define PLAUSIBLE_RATIO ((size_t)64)
#define STEP_BYTES      (128 * TK_KIB)
#define WINDOW_LOG_MAX  23 /* 8 MiB: RFC 9659; libzstd allocates it */

void tk_zstd_init(tk_zstd *z)
{
    z->compressor = NULL;
    z->decompressor = NULL;
}

void tk_zstd_dispose(tk_zstd *z)
{
    (void)ZSTD_freeCCtx(z->compressor);
    (void)ZSTD_freeDCtx(z->decompressor);
    tk_zstd_init(z);
}

static tinkc_code fail(size_t result, tk_err *err)
{
    switch ((int)ZSTD_getErrorCode(result)) {
    case ZSTD_error_memory_allocation:
        return tk_err_nomem(err);
    case ZSTD_error_dstSize_tooSmall:
    case ZSTD_error_frameParameter_windowTooLarge:
        return tk_err_set(err, TINKC_E_LIMIT, "zstd: %s", ZSTD_getErrorName(result));
    default:
        return tk_err_set(err, TINKC_E_PARSE, "zstd: %s", ZSTD_getErrorName(result));
    }
}

/* ---- compressing ---- */

static tinkc_code prepare_compressor(tk_zstd *z, int level, tk_err *err)
{
    if (level < ZSTD_minCLevel() || level > ZSTD_maxCLevel()) {
        return tk_err_set(err, TINKC_E_INVALID, "zstd has no level %d", level);
    }
    if (z->compressor == NULL) {
        z->compressor = ZSTD_createCCtx();
    }
    if (z->compressor == NULL) {
        return tk_err_nomem(err);
    }
    size_t result = ZSTD_CCtx_setParameter(z->compressor, ZSTD_c_compressionLevel,
                                           level != 0 ? level : TK_ZSTD_LEVEL_DEFAULT);
    return ZSTD_isError(result) ? fail(result, err) : TINKC_OK;
}

tinkc_code tk_zstd_compress(tk_zstd *z, tk_buf *out, tk_bytes data, int level,
                            tk_err *err)
{
    tinkc_code code = tk_buf_status(out, err);
    if (code == TINKC_OK) {
        code = prepare_compressor(z, level, err);
    }
    if (code != TINKC_OK) {
        return code;
    }
    size_t room_bytes = TK_MIN(ZSTD_compressBound(data.n), out->max - out->n);
    void *room = tk_buf_reserve(out, room_bytes);
    if (room == NULL) {
        return tk_buf_status(out, err);
    }
    size_t result = ZSTD_compress2(z->compressor, room, room_bytes, data.p, data.n);
    if (ZSTD_isError(result)) {
        return fail(result, err);
    }
    tk_buf_advance(out, result);
    return TINKC_OK;
}

/* ---- decompressing ---- */

static tinkc_code prepare_decompressor(tk_zstd *z, tk_err *err)
{
    if (z->decompressor == NULL) {
        z->decompressor = ZSTD_createDCtx();
    }
    if (z->decompressor == NULL) {
        return tk_err_nomem(err);
    }
    size_t result = ZSTD_DCtx_reset(z->decompressor, ZSTD_reset_session_and_parameters);
    if (!ZSTD_isError(result)) {
        result =
            ZSTD_DCtx_setParameter(z->decompressor, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
    }
    return ZSTD_isError(result) ? fail(result, err) : TINKC_OK;
}

static tinkc_code too_large(const tk_buf *out, tk_err *err)
{
    return tk_err_set(err, TINKC_E_LIMIT,
                      "zstd: content is larger than the limit of %zu bytes", out->max);
}

/* Room for the next frame, as far as its header can be believed. */
static tinkc_code prepare_frame(tk_buf *out, const ZSTD_inBuffer *in, tk_err *err)
{
    size_t left = in->size - in->pos;
    unsigned long long size =
        ZSTD_getFrameContentSize((const char *)in->src + in->pos, left);
    if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) {
        return TINKC_OK;
    }
    if (size > out->max - out->n) {
        return too_large(out, err);
    }
    if (size / PLAUSIBLE_RATIO <= left && tk_buf_reserve(out, (size_t)size) == NULL) {
        return tk_buf_status(out, err);
    }
    return TINKC_OK;
}

/* One call of libzstd. At the cap, a single byte outside the buffer distinguishes a frame
 * that ends there from one that goes on. */
static tinkc_code decode_some(tk_zstd *z, tk_buf *out, ZSTD_inBuffer *in, size_t *hint,
                              tk_err *err)
{
    char beyond;
    ZSTD_outBuffer room = {&beyond, sizeof(beyond), 0};
    bool is_at_cap = out->n == out->max;
    if (!is_at_cap) {
        size_t spare = out->capacity - out->n;
        size_t step = TK_MIN(spare > 0 ? spare : STEP_BYTES, out->max - out->n);
        room.dst = tk_buf_reserve(out, step);
        room.size = step;
        if (room.dst == NULL) {
            return tk_buf_status(out, err);
        }
    }
    *hint = ZSTD_decompressStream(z->decompressor, &room, in);
    if (ZSTD_isError(*hint)) {
        return fail(*hint, err);
    }
    if (is_at_cap && room.pos > 0) {
        return too_large(out, err);
    }
    tk_buf_advance(out, is_at_cap ? 0 : room.pos);
    if (*hint != 0 && in->pos == in->size && room.pos < room.size) {
        return tk_err_at(err, TINKC_E_PARSE, in->size, "zstd: cut off");
    }
    return TINKC_OK;
}

static tinkc_code decode_frame(tk_zstd *z, tk_buf *out, ZSTD_inBuffer *in, tk_err *err)
{
    tinkc_code code = prepare_frame(out, in, err);
    size_t hint = 1;
    while (code == TINKC_OK && hint != 0) {
        code = decode_some(z, out, in, &hint, err);
    }
    return code;
}

tinkc_code tk_zstd_decompress(tk_zstd *z, tk_buf *out, tk_bytes data, tk_err *err)
{
    size_t n_before = out->n;
    ZSTD_inBuffer in = {data.p, data.n, 0};
    tinkc_code code = tk_buf_status(out, err);
    if (code == TINKC_OK && data.n == 0) {
        code = tk_err_at(err, TINKC_E_PARSE, 0, "zstd: empty");
    }
    if (code == TINKC_OK) {
        code = prepare_decompressor(z, err);
    }
    while (code == TINKC_OK && in.pos < in.size) {
        code = decode_frame(z, out, &in, err);
    }
    if (code != TINKC_OK) {
        out->n = n_before;
    }
    return code;
}
