/* ForwardBackwardOutput in protobuf (docs/protocol.md §3): the result of forward and
 * forward_backward. On the wire a field holds the values of many datums in one column
 * (BatchedTensor); here every datum has its own tensors. Thread: any. */
#ifndef WIRE_PB_OUTPUT_H
#define WIRE_PB_OUTPUT_H

#include "base/buf.h"
#include "wire/pb.h"

/* Appends the message: one record for all datums, with the count always set; no record
 * when there are no datums. A datum without one of the fields gets an empty slice there.
 * Nothing is appended on failure: TINKC_E_INVALID for a tensor that is sparse, neither
 * float32 nor int64, or of another dtype or trailing shape than the field has in earlier
 * datums; text that is not UTF-8. */
TK_NODISCARD tinkc_code tk_pb_output_encode(tk_buf *out, const tk_fwdbwd_output *output,
                                            tk_err *err);

/* Reads one message. *out is written only on success and borrows from `input` and the
 * arena. Every tensor gets a shape; records may differ in dtype and trailing shape, not
 * in the names of their fields. Stricter than the official SDK in one point: a record
 * whose field has more slices than the record has datums is an error, not cut. */
TK_NODISCARD tinkc_code tk_pb_output_decode(tk_fwdbwd_output *out, tk_arena *arena,
                                            tk_bytes input, tk_err *err);

#endif
