/* Parts of the protobuf oracle tests: moving values into protobuf-c's structs and
 * comparing bytes. */
#ifndef TESTS_WIRE_PB_ORACLE_H
#define TESTS_WIRE_PB_ORACLE_H

#include "base/buf.h"
#include "tinker.pb-c.h"
#include "wire/pb_random.h"

#define PB_ORACLE_ROUNDS 3000

static inline char *pb_oracle_text_of(pb_random *r, tk_str text)
{
    tk_str copy;
    assert_true(tk_arena_dup(&r->arena, &copy, text.p, text.n));
    char *out = pb_random_alloc(r, copy.n + 1, 1);
    memcpy(out, copy.p, copy.n + 1);
    return out;
}

static inline ProtobufCBinaryData pb_oracle_data_of(pb_random *r, const void *p, size_t n)
{
    ProtobufCBinaryData data = {n, pb_random_alloc(r, n, 1)};
    if (n > 0) {
        memcpy(data.data, p, n);
    }
    return data;
}

static inline void pb_oracle_set_data(pb_random *r, protobuf_c_boolean *has,
                                      ProtobufCBinaryData *out, const void *p, size_t n)
{
    *has = n > 0;
    *out = pb_oracle_data_of(r, p, n);
}

static inline void pb_oracle_assert_text(const char *got, tk_str want)
{
    assert_int_equal(got != NULL ? strlen(got) : 0, want.n);
    if (want.n > 0) {
        assert_memory_equal(got, want.p, want.n);
    }
}

static inline void pb_oracle_assert_data(ProtobufCBinaryData got, const void *want,
                                         size_t n)
{
    assert_int_equal(got.len, n);
    if (n > 0) {
        assert_memory_equal(got.data, want, n);
    }
}

static inline size_t pb_oracle_item_bytes(tk_dtype dtype)
{
    return dtype == TK_DTYPE_F32 ? 4 : 8;
}

/* Packs `m` and compares with what we wrote; returns protobuf-c's bytes. */
static inline tk_bytes pb_oracle_packed(pb_random *r, const ProtobufCMessage *m,
                                        const tk_buf *ours)
{
    size_t n = protobuf_c_message_get_packed_size(m);
    unsigned char *theirs = pb_random_alloc(r, n, 1);
    assert_int_equal(protobuf_c_message_pack(m, theirs), n);
    assert_int_equal(ours->n, n);
    if (n > 0) {
        assert_memory_equal(ours->p, theirs, n);
    }
    return (tk_bytes){theirs, n};
}

#endif
