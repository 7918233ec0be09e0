/* The older JSON form of a part of a batch (docs/protocol.md, appendix A), for servers that
 * cannot read protobuf. Thread: any. */
#ifndef CLIENT_BATCH_JSON_H
#define CLIENT_BATCH_JSON_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "wire/field.h"

/* Appends the JSON form of a request that is encoded in protobuf, with its number.
 * *is_forward: it goes to the path of forward. Where tokens were sampled is left out, as
 * SDKs before 0.36 do; TINKC_E_UNSUPPORTED for a setting of the loss that is a text, which
 * would be lost. Nothing is appended on failure. */
TK_NODISCARD tinkc_code tk_batch_json(tk_buf *out, bool *is_forward, tk_bytes protobuf,
                                      tk_err *err);

#endif
