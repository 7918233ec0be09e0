/* One Tensor in protobuf: dense or sparse rows (docs/protocol.md §3). Requests of training
 * and the answer of a sample carry it. Thread: any. */
#ifndef WIRE_PB_TENSOR_H
#define WIRE_PB_TENSOR_H

#include "wire/pb.h"

/* ---- reading ---- */

/* A Tensor as it lies in the input, gathered over all its occurrences: protobuf merges
 * them. */
typedef struct tk_pb_tensor {
    enum { TK_PB_TENSOR_NONE, TK_PB_TENSOR_DENSE, TK_PB_TENSOR_CSR } encoding;
    tk_bytes values; /* dense, or the non-zeros */
    tk_bytes crow;
    tk_bytes col;
    int32_t dtype;
    tk_pb_dims shape;
} tk_pb_tensor;

void tk_pb_tensor_init(tk_pb_tensor *raw);

/* Adds what one occurrence says. */
TK_NODISCARD tinkc_code tk_pb_tensor_add(const tk_pb_input *in, tk_bytes body,
                                         tk_pb_tensor *raw);

/* Turns it into a tensor; *out is written only on success. TINKC_E_DECODE: no data, an
 * unknown dtype, a shape that does not fit the values, row offsets that do not rise from 0
 * to the end, a column outside the shape. */
TK_NODISCARD tinkc_code tk_pb_tensor_finish(const tk_pb_input *in,
                                            const tk_pb_tensor *raw, tk_tensor *out);

/* ---- writing ---- */

/* Checks what can be written: float32 or int64, a shape that fits, indices of the right
 * count. *bytes is the size of its arrays. TINKC_E_INVALID, TINKC_E_LIMIT. */
TK_NODISCARD tinkc_code tk_pb_tensor_check(size_t *bytes, const tk_tensor *tensor,
                                           tk_err *err);

/* Size and bytes of the message, without a head; the tensor was checked. */
size_t tk_pb_tensor_size(const tk_tensor *tensor);
void tk_pb_tensor_put(tk_pb_writer *w, const tk_tensor *tensor);

#endif
