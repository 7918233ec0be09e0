/* What the codec of every protobuf message must do: read any cut of a message without
 * harm, and survive the lack of memory at any point. */
#ifndef TESTS_WIRE_PB_CODEC_H
#define TESTS_WIRE_PB_CODEC_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "support/failmem.h"
#include "support/test.h"
#include "wire/field.h"

/* The functions of one message. decode reads into a new message, and checks that a
 * failure leaves it alone. */
typedef struct pb_codec {
    const void *message;
    tinkc_code (*encode)(tk_buf *out, const void *message, tk_err *err);
    tinkc_code (*decode)(const void *message, tk_arena *arena, tk_bytes bytes,
                         tk_err *err);
} pb_codec;

/* Cut at every byte: an error, or a message that is a shorter one; never a crash. */
static inline void pb_codec_truncate(const pb_codec *codec)
{
    tk_buf out;
    size_t refused = 0;
    tk_buf_init(&out, TK_MIB);
    assert_int_equal(codec->encode(&out, codec->message, NULL), TINKC_OK);
    for (size_t n = 0; n < out.n; n++) {
        tk_arena arena;
        tk_err err = TK_ERR_INIT;
        unsigned char *exact = tk_memdup(out.p, n); /* ASan sees a read past the cut */
        tk_arena_init(&arena, 0);
        tinkc_code code =
            codec->decode(codec->message, &arena, (tk_bytes){exact, n}, &err);
        if (code != TINKC_OK) {
            assert_true(code == TINKC_E_PARSE && err.offset <= n);
            refused++;
        }
        tk_free(exact);
        tk_arena_dispose(&arena);
    }
    assert_true(refused > out.n / 2);
    tk_buf_dispose(&out);
}

static inline bool pb_codec_there_and_back(void *user)
{
    const pb_codec *codec = user;
    tk_buf out;
    tk_arena arena;
    tk_buf_init(&out, TK_MIB);
    tk_arena_init(&arena, 0);
    bool ok = codec->encode(&out, codec->message, NULL) == TINKC_OK;
    tk_bytes bytes = {(const unsigned char *)out.p, out.n};
    ok = ok && codec->decode(codec->message, &arena, bytes, NULL) == TINKC_OK;
    tk_buf_dispose(&out);
    tk_arena_dispose(&arena);
    return ok;
}

static inline void pb_codec_sweep(pb_codec *codec)
{
    assert_true(failmem_sweep(pb_codec_there_and_back, codec, 1) >= 2);
}

#endif
