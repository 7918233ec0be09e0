/* SampleResponse in protobuf (docs/protocol.md §3): the result of a sample request.
 *
 * Absent and empty are the same on this wire: logprobs, prompt logprobs and a top-k table
 * without cells are not written and read as absent; a tensor without values is there. NaN (a logprob that was not computed)
 * travels unchanged. Thread: any. */
#ifndef WIRE_PB_SAMPLE_H
#define WIRE_PB_SAMPLE_H

#include "base/buf.h"
#include "wire/pb.h"

/* Appends the message; nothing is appended on failure. TINKC_E_INVALID: logprobs that do
 * not fit the tokens, a stop reason or a number outside its range, a tensor whose shape
 * does not fit. */
TK_NODISCARD tinkc_code tk_pb_sample_encode(tk_buf *out,
                                            const tk_sample_response *response,
                                            tk_err *err);

/* Reads one message. *out is written only on success and borrows from `input` and the
 * arena. TINKC_E_DECODE: arrays of the wrong length, a tensor whose shape or indices do not
 * fit its values or whose type is another one. A tensor of an unknown dtype has no
 * elements. Bytes after the last cell of a top-k table are ignored. */
TK_NODISCARD tinkc_code tk_pb_sample_decode(tk_sample_response *out, tk_arena *arena,
                                            tk_bytes input, tk_err *err);

#endif
