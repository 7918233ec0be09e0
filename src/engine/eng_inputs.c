/* Checking and densifying loss inputs; see eng_inputs.h. */
#include "engine/eng_inputs.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define ELEMENTS_MAX ((size_t)1 << 27) /* of all inputs of one request, dense */

/* The shape that an input must have. */
typedef struct shape {
    size_t rows, columns, n_dims;
} shape;

static tinkc_code bad(tk_err *err, tk_str name, const char *why)
{
    char text[64];
    size_t n = TK_MIN(name.n, sizeof(text) - 1);
    if (n > 0) {
        memcpy(text, name.p, n);
    }
    text[n] = '\0';
    tinkc_code code = tk_err_set(err, TINKC_E_INVALID, "%s", why);
    tk_err_under(err, text);
    tk_err_under(err, "loss_fn_inputs");
    return code;
}

static int64_t int_at(const void *values, size_t i)
{
    int64_t value;
    memcpy(&value, (const char *)values + i * sizeof(value), sizeof(value));
    return value;
}

static double number_at(const eng_array *array, size_t i)
{
    if (array->type == ENG_ARRAY_I64) {
        return (double)int_at(array->values, i);
    }
    float value;
    memcpy(&value, (const char *)array->values + i * sizeof(value), sizeof(value));
    return (double)value;
}

static const eng_array *input(const eng_datum *datum, const char *name)
{
    for (size_t i = 0; i < datum->n_inputs; i++) {
        if (tk_str_is(datum->inputs[i].name, name)) {
            return &datum->inputs[i];
        }
    }
    return NULL;
}

/* The array's own shape; false when it is impossible. */
static bool shape_of(const eng_array *array, shape *out)
{
    if (array->n_dims == 0) {
        *out = (shape){array->n_values, 1, 1};
        return array->rows == NULL;
    }
    if (array->n_dims > 2 || array->shape[0] < 0) {
        return false;
    }
    out->n_dims = array->n_dims;
    out->rows = (size_t)array->shape[0];
    out->columns = 1;
    if (array->n_dims == 2) {
        if (array->shape[1] < 1 || array->shape[1] > INT32_MAX) {
            return false;
        }
        out->columns = (size_t)array->shape[1];
    }
    if (array->rows != NULL) {
        return array->n_dims == 2 && array->n_rows == out->rows + 1 &&
               array->n_columns == array->n_values;
    }
    return out->rows <= SIZE_MAX / out->columns &&
           out->rows * out->columns == array->n_values;
}

static tinkc_code check_shape(eng_inputs_reader *r, const eng_array *array,
                              const shape *want, tk_err *err)
{
    shape have;
    if (!shape_of(array, &have)) {
        return bad(err, array->name, "shape and values do not fit together");
    }
    if (have.rows != want->rows || have.columns != want->columns) {
        char text[160];
        (void)snprintf(text, sizeof(text),
                       "is %zu x %zu, but the datum's tokens and targets ask for %zu x "
                       "%zu",
                       have.rows, have.columns, want->rows, want->columns);
        return bad(err, array->name, text);
    }
    size_t n = want->rows * want->columns;
    if (n > ELEMENTS_MAX - r->elements) {
        return tk_err_set(err, TINKC_E_LIMIT,
                          "loss inputs of one request hold more than "
                          "%zu numbers",
                          ELEMENTS_MAX);
    }
    r->elements += n;
    return TINKC_OK;
}

/* For CSR: value index -> dense index, checking that pointers and columns are in range
 * and increase, so that no cell is stored twice. `store` takes one value. */
typedef tinkc_code (*store_fn)(void *out, const eng_array *array, size_t from, size_t to,
                               tk_err *err);

static tinkc_code each_value(const eng_array *array, const shape *s, void *out,
                             store_fn store, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    if (array->rows == NULL) {
        for (size_t i = 0; i < array->n_values && code == TINKC_OK; i++) {
            code = store(out, array, i, i, err);
        }
        return code;
    }
    if (int_at(array->rows, 0) != 0 ||
        int_at(array->rows, s->rows) != (int64_t)array->n_values) {
        return bad(err, array->name, "CSR row pointers do not cover the values");
    }
    for (size_t row = 0; row < s->rows; row++) {
        int64_t begin = int_at(array->rows, row), end = int_at(array->rows, row + 1);
        if (end < begin || end > (int64_t)array->n_values) {
            return bad(err, array->name, "CSR row pointers must not decrease");
        }
        int64_t last = -1;
        for (int64_t i = begin; i < end && code == TINKC_OK; i++) {
            int64_t column = int_at(array->columns, (size_t)i);
            if (column < 0 || column >= (int64_t)s->columns) {
                return bad(err, array->name, "CSR column index is out of range");
            }
            if (column <= last) {
                return bad(err, array->name,
                           "CSR column indices of a row must increase: none is there "
                           "twice");
            }
            last = column;
            code = store(out, array, (size_t)i, row * s->columns + (size_t)column, err);
        }
    }
    return code;
}

static tinkc_code store_float(void *out, const eng_array *array, size_t from, size_t to,
                              tk_err *err)
{
    double value = number_at(array, from);
    if (!isfinite(value)) {
        char text[64];
        (void)snprintf(text, sizeof(text), "value %zu is NaN or infinite", from);
        return bad(err, array->name, text);
    }
    ((float *)out)[to] = (float)value;
    return TINKC_OK;
}

typedef struct target_sink {
    int32_t *out;
    size_t vocabulary;
} target_sink;

static tinkc_code store_target(void *out, const eng_array *array, size_t from, size_t to,
                               tk_err *err)
{
    const target_sink *sink = out;
    int64_t id = int_at(array->values, from);
    if (id < 0 || (uint64_t)id >= sink->vocabulary) {
        char text[128];
        (void)snprintf(text, sizeof(text),
                       "value %zu is %" PRId64 ", outside the vocabulary of %zu", from,
                       id, sink->vocabulary);
        return bad(err, array->name, text);
    }
    sink->out[to] = (int32_t)id;
    return TINKC_OK;
}

/* Dense floats of `want` shape, zero where CSR has nothing. */
static tinkc_code read_floats(eng_inputs_reader *r, const eng_array *array,
                              const shape *want, float **out, tk_err *err)
{
    tinkc_code code = check_shape(r, array, want, err);
    if (code != TINKC_OK) {
        return code;
    }
    size_t n = want->rows * want->columns;
    float *values = eng_work_array(r->work, n, sizeof(*values));
    if (values == NULL) {
        return tk_err_nomem(err);
    }
    memset(values, 0, n * sizeof(*values));
    *out = values;
    return each_value(array, want, values, store_float, err);
}

static tinkc_code need(const eng_datum *datum, const char *name, const eng_loss *loss,
                       const eng_array **out, tk_err *err)
{
    *out = input(datum, name);
    if (*out != NULL) {
        return TINKC_OK;
    }
    char text[64];
    (void)snprintf(text, sizeof(text), "is missing; %s needs it", loss->name);
    return bad(err, tk_str_of(name), text);
}

static tinkc_code read_targets(eng_inputs_reader *r, const eng_datum *datum, shape *s,
                               eng_item *item, tk_err *err)
{
    const eng_array *array;
    tinkc_code code = need(datum, "target_tokens", r->loss, &array, err);
    if (code != TINKC_OK) {
        return code;
    }
    shape have;
    if (array->type != ENG_ARRAY_I64) {
        return bad(err, array->name, "must be int64");
    }
    if (!shape_of(array, &have)) {
        return bad(err, array->name, "shape and values do not fit together");
    }
    if (have.n_dims == 2 && !r->loss->weighted) {
        return bad(err, array->name,
                   "only cross_entropy takes several targets per token");
    }
    *s = (shape){datum->n_tokens, have.columns, have.n_dims};
    code = check_shape(r, array, s, err);
    if (code != TINKC_OK) {
        return code;
    }
    size_t n = s->rows * s->columns;
    target_sink sink = {eng_work_array(r->work, n, sizeof(int32_t)),
                        r->model->config.vocabulary};
    if (sink.out == NULL) {
        return tk_err_nomem(err);
    }
    memset(sink.out, 0, n * sizeof(*sink.out));
    item->targets = sink.out;
    return each_value(array, s, &sink, store_target, err);
}

static tinkc_code read_weights(eng_inputs_reader *r, const eng_datum *datum,
                               const shape *s, eng_item *item, tk_err *err)
{
    const eng_array *array = input(datum, "weights");
    if (array != NULL) {
        return read_floats(r, array, s, &item->weights, err);
    }
    const eng_array *ids = input(datum, "target_tokens");
    if (ids->rows != NULL) {
        return bad(err, TK_STR("weights"),
                   "is missing; sparse target_tokens need it, because without weights "
                   "the cells that they leave out would be trained as token 0");
    }
    if (r->strict) {
        return need(datum, "weights", r->loss, &array, err);
    }
    size_t n = s->rows * s->columns;
    item->weights = eng_work_array(r->work, n, sizeof(float));
    if (item->weights == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < n; i++) {
        item->weights[i] = 1.0f;
    }
    return TINKC_OK;
}

static tinkc_code read_policy(eng_inputs_reader *r, const eng_datum *datum,
                              const shape *s, eng_item *item, tk_err *err)
{
    const struct {
        const char *name;
        float **out;
        bool needed;
    } fields[] = {
        {"logprobs", &item->reference, true},
        {"advantages", &item->advantage, true},
        {"clip_low_threshold", &item->low, false},
        {"clip_high_threshold", &item->high, false},
        {"sequence_ratio_mask", &item->mask, true},
    };
    size_t n = r->loss->sequence ? 5 : r->loss->clipped ? 4 : 2;
    for (size_t i = 0; i < n; i++) {
        const eng_array *array = input(datum, fields[i].name);
        tinkc_code code = TINKC_OK;
        if (fields[i].needed) {
            code = need(datum, fields[i].name, r->loss, &array, err);
        }
        if (code == TINKC_OK && array != NULL) {
            code = read_floats(r, array, s, fields[i].out, err);
        }
        if (code != TINKC_OK) {
            return code;
        }
    }
    return TINKC_OK;
}

/* Every input that some loss takes, and which ones take it. */
static const struct known_input {
    const char *name;
    bool weighted, policy, clipped,
        sequence; /* losses: by weights, by advantages, of them clipped, of those whole */
} known_inputs[] = {
    {"target_tokens", true, true, true, true},
    {"weights", true, false, false, false},
    {"logprobs", false, true, true, true},
    {"advantages", false, true, true, true},
    {"clip_low_threshold", false, false, true, true},
    {"clip_high_threshold", false, false, true, true},
    {"sequence_ratio_mask", false, false, false, true},
};

static bool takes(const eng_loss *loss, const struct known_input *known)
{
    if (loss->weighted) {
        return known->weighted;
    }
    if (loss->sequence) {
        return known->sequence;
    }
    return loss->clipped ? known->clipped : known->policy;
}

/* The place in known_inputs, or their number. */
static size_t find_known(const eng_loss *loss, tk_str name)
{
    size_t i = 0;
    while (i < TK_ARRAY_LEN(known_inputs) &&
           !(takes(loss, &known_inputs[i]) && tk_str_is(name, known_inputs[i].name))) {
        i++;
    }
    return i;
}

static tinkc_code unknown_name(const eng_loss *loss, tk_str name, tk_err *err)
{
    char text[320];
    size_t n = (size_t)snprintf(text, sizeof(text),
                                "Could not convert loss function inputs to array record: "
                                "%s does not take this input; it takes",
                                loss->name);
    for (size_t i = 0; i < TK_ARRAY_LEN(known_inputs); i++) {
        if (takes(loss, &known_inputs[i])) {
            n +=
                (size_t)snprintf(text + n, sizeof(text) - n, " %s", known_inputs[i].name);
        }
    }
    return bad(err, name, text);
}

/* An input that is ignored, or one of two with the same name, would train something else
 * than was asked for. */
static tinkc_code check_names(const eng_inputs_reader *r, const eng_datum *datum,
                              tk_err *err)
{
    bool seen[TK_ARRAY_LEN(known_inputs)] = {false};
    for (size_t i = 0; i < datum->n_inputs; i++) {
        tk_str name = datum->inputs[i].name;
        size_t at = find_known(r->loss, name);
        if (at == TK_ARRAY_LEN(known_inputs)) {
            return unknown_name(r->loss, name, err);
        }
        if (seen[at]) {
            return bad(err, name, "is there twice");
        }
        seen[at] = true;
    }
    return TINKC_OK;
}

static tinkc_code check_tokens(const eng_inputs_reader *r, const eng_datum *datum,
                               tk_err *err)
{
    const eng_config *c = &r->model->config;
    tinkc_code code = TINKC_OK;
    if (datum->n_tokens == 0) {
        code = tk_err_set(err, TINKC_E_INVALID, "model_input has no tokens");
    } else if (datum->n_tokens > c->context) {
        code = tk_err_set(err, TINKC_E_INVALID,
                          "model_input has %zu tokens, more than the model's context "
                          "window of %zu",
                          datum->n_tokens, c->context);
    }
    for (size_t i = 0; i < datum->n_tokens && code == TINKC_OK; i++) {
        int32_t id = datum->tokens[i];
        if (id < 0 || (size_t)id >= c->vocabulary) {
            code = tk_err_set(err, TINKC_E_INVALID,
                              "model_input: token %zu is %" PRId32
                              ", outside the vocabulary of %zu",
                              i, id, c->vocabulary);
        }
    }
    if (code != TINKC_OK) {
        tk_err_under(err, "model_input");
    }
    return code;
}

tinkc_code eng_inputs_read(eng_inputs_reader *r, const eng_datum *datum, eng_item *out,
                           tk_err *err)
{
    eng_item item = {.tokens = datum->tokens, .n = datum->n_tokens};
    shape s;
    tinkc_code code = check_tokens(r, datum, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = check_names(r, datum, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = read_targets(r, datum, &s, &item, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = r->loss->weighted ? read_weights(r, datum, &s, &item, err)
                             : read_policy(r, datum, &s, &item, err);
    if (code != TINKC_OK) {
        goto out;
    }
    item.columns = s.columns;
    item.n_dims = s.n_dims;
    *out = item;
out:
    return code;
}
