/* Number arrays inside protobuf bytes fields: little-endian, any alignment on the wire.
 *
 * Readers yield typed, aligned arrays, because every consumer (engine, caller) indexes
 * them: bytes that happen to lie aligned are handed out as a view, others are copied once
 * into the arena. int32 tensors widen to int64 and bfloat16 ones to float32, so results
 * have two types. Thread: any. */
#ifndef WIRE_PB_ARRAY_H
#define WIRE_PB_ARRAY_H

#include "wire/pb.h"

/* Items of `item_bytes` (2, 4 or 8). TINKC_E_DECODE when the length is not a multiple.
 * An empty array has *items = NULL. The view or copy lives as long as input and arena. */
TK_NODISCARD tinkc_code tk_pb_array_view(const tk_pb_input *in, tk_bytes bytes,
                                         size_t item_bytes, const void **items,
                                         size_t *count);

TK_NODISCARD tinkc_code tk_pb_array_i32s(const tk_pb_input *in, tk_bytes bytes,
                                         tk_i32s *out);
TK_NODISCARD tinkc_code tk_pb_array_i64s(const tk_pb_input *in, tk_bytes bytes,
                                         tk_i64s *out);
TK_NODISCARD tinkc_code tk_pb_array_f32s(const tk_pb_input *in, tk_bytes bytes,
                                         tk_f32s *out);

/* Fills dtype (widened), data and n of *out from a wire dtype number. TINKC_E_DECODE for
 * an unspecified or unknown dtype. */
TK_NODISCARD tinkc_code tk_pb_array_tensor(const tk_pb_input *in, tk_bytes bytes,
                                           int32_t dtype, tk_tensor *out);

/* Bytes per item of a dtype on the wire; 0 when it is unspecified or unknown. */
static inline size_t tk_pb_array_item_bytes(int32_t dtype)
{
    static const unsigned char bytes[] = {0, 4, 8, 4, 2};
    return dtype > 0 && dtype <= TK_DTYPE_BF16 ? bytes[dtype] : 0;
}

/* Number of elements of a shape; false when a dimension is negative or the product (in
 * bytes of the widest type) overflows. No dimensions = 1. */
TK_NODISCARD bool tk_pb_array_count(const int64_t *dims, size_t n, size_t *out);

#endif
