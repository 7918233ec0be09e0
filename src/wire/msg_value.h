/* JSON forms of the values of value.h: chunks, tensors, datums, and the three messages
 * that also have a protobuf form (docs/protocol.md §8 and Appendix A). */
#ifndef WIRE_MSG_VALUE_H
#define WIRE_MSG_VALUE_H

#include "wire/schema.h"
#include "wire/value.h"

extern const tk_schema tk_msg_chunk, tk_msg_model_input, tk_msg_tensor, tk_msg_tensor_map,
    tk_msg_datum, tk_msg_sequence, tk_msg_topk_logprobs;

/* Legacy JSON training wire. `forward_only` is not part of either body: the path of the
 * request says it, and decoding leaves it false. */
extern const tk_schema tk_msg_forward_backward_request, tk_msg_forward_request,
    tk_msg_fwdbwd_output, tk_msg_sample_response;

/* The mask of an empty top-k cell. */
#define TK_TOPK_MASK_LOGPROB (-99999.0F)

#endif
