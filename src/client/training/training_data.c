/* See training_data.h. */
#include "client/training/training_data.h"

#include <math.h>
#include <stdio.h>

#include "client/values/types.h"
#include "wire/tensor.h"

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

/* Tokens of an input that is text alone; -1 otherwise: what an image counts is the
 * server's to say. */
static int64_t text_length(const tk_model_input *input)
{
    int64_t length = 0;
    for (size_t i = 0; i < input->n; i++) {
        if (input->chunks[i].kind != TK_CHUNK_TEXT) {
            return -1;
        }
        length += (int64_t)input->chunks[i].tokens.n;
    }
    return length;
}

/* The inputs of known names have one entry, or row, per token. */
static tinkc_code check_length(const tk_named_tensor *input, int64_t length, tk_err *err)
{
    tk_dtype dtype;
    const tk_tensor *tensor = &input->tensor;
    int64_t entries = (int64_t)tensor->n;
    if (tensor->has_shape && tensor->shape.n > 0) {
        entries = tensor->shape.p[0];
    }
    if (length < 0 || entries == length ||
        tk_tensor_field_dtype(&dtype, input->name, NULL) != TINKC_OK) {
        return TINKC_OK;
    }
    return tk_err_set(err, TINKC_E_INVALID,
                      TK_STR_FMT " has %lld entries, the model input %lld tokens",
                      TK_STR_ARG(input->name), (long long)entries, (long long)length);
}

static tinkc_code read_one(tk_datum *out, const tinkc_datum *datum, tk_err *err)
{
    if (datum == NULL) {
        return tk_err_set(err, TINKC_E_INVALID, "is NULL");
    }
    *out = *tk_types_datum(datum);
    int64_t length = text_length(&out->model_input);
    for (size_t i = 0; i < out->loss_fn_inputs.n; i++) {
        const tk_named_tensor *input = &out->loss_fn_inputs.items[i];
        tinkc_code code = check_tensor(input, err);
        if (code == TINKC_OK) {
            code = check_length(input, length, err);
        }
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
