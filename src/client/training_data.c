/* See training_data.h. */
#include "client/training_data.h"

#include <math.h>
#include <stdio.h>

#include "client/types.h"

/* NaN in a weight makes the whole model NaN at the next step; nobody wants that. */
static tinkc_code check_tensor(const tk_named_tensor *input, tk_err *err)
{
    const float *values = input->tensor.data;
    if (input->tensor.dtype != TK_DTYPE_F32) {
        return TINKC_OK;
    }
    for (size_t i = 0; i < input->tensor.n; i++) {
        if (isnan(values[i])) {
            char name[TK_ERR_PATH_BYTES];
            tinkc_code code = tk_err_set(err, TINKC_E_INVALID, "is NaN");
            (void)snprintf(name, sizeof(name), TK_STR_FMT, TK_STR_ARG(input->name));
            tk_err_under_index(err, i);
            tk_err_under(err, name);
            return code;
        }
    }
    return TINKC_OK;
}

static tinkc_code read_one(tk_datum *out, const tinkc_datum *datum, tk_err *err)
{
    if (datum == NULL) {
        return tk_err_set(err, TINKC_E_INVALID, "is NULL");
    }
    *out = *tk_types_datum(datum);
    for (size_t i = 0; i < out->loss_fn_inputs.n; i++) {
        tinkc_code code = check_tensor(&out->loss_fn_inputs.items[i], err);
        if (code != TINKC_OK) {
            return code;
        }
    }
    return TINKC_OK;
}

tinkc_code tk_training_data_read(tk_fwdbwd_request *request, tk_arena *arena,
                                 const tk_training_data *data, tk_err *err)
{
    if (data->items == NULL || data->n == 0) {
        return tk_err_set(err, TINKC_E_INVALID, "the batch is empty");
    }
    if (data->n > TK_DATUMS_MAX) {
        return tk_err_set(err, TINKC_E_LIMIT, "more than %zu datums", TK_DATUMS_MAX);
    }
    tk_datum *flat = tk_arena_array(arena, data->n, sizeof(*flat));
    if (flat == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < data->n; i++) {
        tinkc_code code = read_one(&flat[i], data->items[i], err);
        if (code != TINKC_OK) {
            tk_err_under_index(err, i);
            tk_err_under(err, "data");
            return code;
        }
    }
    request->data = flat;
    request->data_n = data->n;
    return TINKC_OK;
}
