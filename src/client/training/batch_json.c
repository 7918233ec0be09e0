/* Reads the protobuf form again: it is all that is left of the caller's data when a server
 * refuses it. */
#include "client/training/batch_json.h"

#include "base/arena.h"
#include "wire/msg_value.h"
#include "wire/pb_fwdbwd.h"

/* JSON has numbers only, under the older name. */
static tinkc_code take_settings(tk_fwdbwd_request *request, tk_arena *arena, tk_err *err)
{
    const tk_loss_values *values = &request->loss_fn_config_v2;
    tk_named_num *items = tk_arena_array(arena, values->n, sizeof(*items));
    if (values->n == 0) {
        return TINKC_OK;
    }
    if (items == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < values->n; i++) {
        const tk_loss_value *value = &values->items[i];
        if (value->is_text) {
            return tk_err_set(
                err, TINKC_E_UNSUPPORTED,
                "the server reads JSON only, which has no place for the text "
                "of the loss's setting \"" TK_STR_FMT "\"",
                TK_STR_ARG(value->name));
        }
        items[i] = (tk_named_num){value->name, value->number};
    }
    request->loss_fn_config = (tk_num_map){items, values->n};
    return TINKC_OK;
}

tinkc_code tk_batch_json(tk_buf *out, bool *is_forward, tk_bytes protobuf, tk_err *err)
{
    tk_arena arena;
    tk_fwdbwd_request request;
    tk_arena_init(&arena, 0);
    tinkc_code code = tk_pb_fwdbwd_decode(&request, &arena, protobuf, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = take_settings(&request, &arena, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tk_schema_encode(out,
                            request.forward_only ? &tk_msg_forward_request
                                                 : &tk_msg_forward_backward_request,
                            &request, err);
    *is_forward = request.forward_only;
out:
    tk_arena_dispose(&arena);
    return code;
}
