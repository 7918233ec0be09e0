/* What the targets of protobuf messages share: what the reader accepts must survive
 * writing and reading again, to the same bytes. Thread: one. */
#ifndef FUZZ_FUZZ_PB_H
#define FUZZ_FUZZ_PB_H

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "fuzz.h"
#include "wire/field.h"

#define FUZZ_PB_MAX_BYTES (64 * TK_MIB)

typedef struct fuzz_pb {
    void *message; /* the target's own struct */
    tinkc_code (*decode)(void *out, tk_arena *arena, tk_bytes input, tk_err *err);
    tinkc_code (*encode)(tk_buf *out, const void *message);
    /* Whether a message need not survive, given what writing it returned; NULL: never. */
    bool (*is_exempt)(const void *message, tinkc_code written);
} fuzz_pb;

static inline tinkc_code fuzz_pb_read(const fuzz_pb *pb, tk_arena *arena, const void *p,
                                      size_t n)
{
    tk_bytes input = {p, n};
    tk_err err = TK_ERR_INIT;
    tinkc_code code = pb->decode(pb->message, arena, input, &err);
    if (code != err.code || (code != TINKC_OK && err.message[0] == '\0')) {
        fuzz_fail("the error does not tell what the call returned");
    }
    return code;
}

static inline int fuzz_pb_run(const fuzz_pb *pb, const uint8_t *data, size_t size)
{
    tk_arena arena;
    tk_buf first;
    tk_buf second;
    tk_arena_init(&arena, FUZZ_PB_MAX_BYTES);
    tk_buf_init(&first, FUZZ_PB_MAX_BYTES);
    tk_buf_init(&second, FUZZ_PB_MAX_BYTES);
    if (fuzz_pb_read(pb, &arena, data, size) != TINKC_OK) {
        goto out;
    }
    tinkc_code code = pb->encode(&first, pb->message);
    if (pb->is_exempt != NULL && pb->is_exempt(pb->message, code)) {
        goto out;
    }
    if (code != TINKC_OK || fuzz_pb_read(pb, &arena, first.p, first.n) != TINKC_OK ||
        pb->encode(&second, pb->message) != TINKC_OK) {
        fuzz_fail("what was read cannot be written and read again");
    }
    if (first.n != second.n || (first.n > 0 && memcmp(first.p, second.p, first.n) != 0)) {
        fuzz_fail("the second writing differs from the first");
    }
out:
    tk_buf_dispose(&first);
    tk_buf_dispose(&second);
    tk_arena_dispose(&arena);
    return 0;
}

#endif
