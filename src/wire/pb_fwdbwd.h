/* ForwardBackwardRequest in protobuf (docs/protocol.md §3): the body of POST
 * forward_backward.
 *
 * Written straight from the caller's arrays into memory reserved once; read as views into
 * the input, with numbers aligned (pb_array.h). Thread: any. */
#ifndef WIRE_PB_FWDBWD_H
#define WIRE_PB_FWDBWD_H

#include "base/buf.h"
#include "wire/pb.h"

/* Appends the message to `out`. Nothing is appended on failure: TINKC_E_INVALID (with the
 * path of the value) for what the message cannot hold: an image asset pointer or unknown
 * chunk, a tensor that is not float32 or int64, a shape that does not fit the data, text
 * that is not UTF-8, a number outside int32; TINKC_E_LIMIT or TINKC_E_NOMEM from the
 * buffer. A shape without dimensions is not on the wire: it reads back as no shape. */
TK_NODISCARD tinkc_code tk_pb_fwdbwd_encode(tk_buf *out, const tk_fwdbwd_request *request,
                                            tk_err *err);

/* Room that tk_pb_fwdbwd_put_seq needs. */
#define TK_PB_FWDBWD_SEQ_BYTES 11

/* Appends the seq_id to a message that was encoded without one: a body can be made before
 * its number is known. Cannot fail when the buffer has room reserved. */
void tk_pb_fwdbwd_put_seq(tk_buf *out, int64_t seq_id);

/* Reads one message. *out is written only on success and borrows from `input` and the
 * arena. Tensors are checked: shape fits data, CSR indices lie inside the shape; an int32
 * or bfloat16 tensor is widened. Rows times columns of a CSR tensor fit size_t but are
 * not bounded otherwise: the caller that makes it dense sets the limit. TINKC_E_PARSE:
 * malformed bytes (with the offset), TINKC_E_DECODE: not this message, TINKC_E_LIMIT,
 * TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code tk_pb_fwdbwd_decode(tk_fwdbwd_request *out, tk_arena *arena,
                                            tk_bytes input, tk_err *err);

#endif
