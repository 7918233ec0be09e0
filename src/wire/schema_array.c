/* Arrays of numbers and words out of JSON, and the members of an object without
 * duplicates. Packed integers are borrowed where the types allow it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "wire/schema_int.h"

static tinkc_code fail_at(tk_err *err, size_t index, tinkc_code code)
{
    tk_err_under_index(err, index);
    return code;
}

/* Elements that were not packed as integers: 3.0 is one, 2^63 is not. */
static tinkc_code read_whole(int64_t *out, const tk_json *array, size_t n, tk_err *err)
{
    for (size_t i = 0; i < n; i++) {
        tk_json item = tk_json_at(array, i);
        if (!tk_json_to_i64(&item, &out[i])) {
            return fail_at(err, i, tk_schema_mismatch("64-bit integer", &item, err));
        }
    }
    return TINKC_OK;
}

tinkc_code tk_schema_read_i64s(tk_i64s *out, tk_arena *arena, const tk_json *value,
                               tk_err *err)
{
    if (!tk_json_is_array(value)) {
        return tk_schema_mismatch("array of integers", value, err);
    }
    if (value->type == TK_JSON_INTS) {
        out->p = value->as.ints.items;
        out->n = value->as.ints.n;
        return TINKC_OK;
    }
    size_t n = tk_json_len(value);
    int64_t *items = tk_arena_array(arena, n, sizeof(*items));
    if (items == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = read_whole(items, value, n, err);
    if (code == TINKC_OK) {
        out->p = items;
        out->n = n;
    }
    return code;
}

tinkc_code tk_schema_read_i32s(tk_i32s *out, tk_arena *arena, const tk_json *value,
                               tk_err *err)
{
    tk_i64s wide = {NULL, 0};
    tinkc_code code = tk_schema_read_i64s(&wide, arena, value, err);
    if (code != TINKC_OK) {
        return code;
    }
    int32_t *items = tk_arena_array(arena, wide.n, sizeof(*items));
    if (items == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < wide.n; i++) {
        if (wide.p[i] < INT32_MIN || wide.p[i] > INT32_MAX) {
            return fail_at(err, i,
                           tk_err_set(err, TINKC_E_DECODE,
                                      "%lld does not fit a 32-bit integer",
                                      (long long)wide.p[i]));
        }
        items[i] = (int32_t)wide.p[i];
    }
    out->p = items;
    out->n = wide.n;
    return TINKC_OK;
}

static tinkc_code to_f32(float *out, double value, tk_err *err)
{
    /* From here on, rounding to float gives infinity. */
    if (fabs(value) >= 0x1.ffffffp127) {
        return tk_err_set(err, TINKC_E_DECODE, "number does not fit float32");
    }
    *out = (float)value;
    return TINKC_OK;
}

static tinkc_code f32_item(float *out, const tk_json *array, size_t i, bool null_is_nan,
                           tk_err *err)
{
    if (array->type == TK_JSON_INTS) {
        *out = (float)array->as.ints.items[i];
        return TINKC_OK;
    }
    tk_json item = tk_json_at(array, i);
    if (null_is_nan && item.type == TK_JSON_NULL) {
        *out = NAN;
        return TINKC_OK;
    }
    double number;
    if (!tk_json_to_double(&item, &number)) {
        return tk_schema_mismatch("number", &item, err);
    }
    return to_f32(out, number, err);
}

tinkc_code tk_schema_read_f32s(tk_f32s *out, tk_arena *arena, const tk_json *value,
                               bool null_is_nan, tk_err *err)
{
    if (!tk_json_is_array(value)) {
        return tk_schema_mismatch("array of numbers", value, err);
    }
    size_t n = tk_json_len(value);
    float *items = tk_arena_array(arena, n, sizeof(*items));
    if (items == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < n; i++) {
        tinkc_code code = f32_item(&items[i], value, i, null_is_nan, err);
        if (code != TINKC_OK) {
            return fail_at(err, i, code);
        }
    }
    out->p = items;
    out->n = n;
    return TINKC_OK;
}

tinkc_code tk_schema_read_strs(tk_strs *out, tk_arena *arena, const tk_json *value,
                               tk_err *err)
{
    if (!tk_json_is_array(value)) {
        return tk_schema_mismatch("array of strings", value, err);
    }
    size_t n = tk_json_len(value);
    tk_str *items = tk_arena_array(arena, n, sizeof(*items));
    if (items == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < n; i++) {
        tk_json item = tk_json_at(value, i);
        if (item.type != TK_JSON_STRING) {
            return fail_at(err, i, tk_schema_mismatch("string", &item, err));
        }
        items[i] = item.as.string;
    }
    out->p = items;
    out->n = n;
    return TINKC_OK;
}

/* By key, then by place, so that the last of equal keys is the last of its run. */
static int by_key(const void *a, const void *b)
{
    const tk_json_member *x = *(const tk_json_member *const *)a;
    const tk_json_member *y = *(const tk_json_member *const *)b;
    int order = tk_str_cmp(x->key, y->key);
    return order != 0 ? order : (x > y) - (x < y);
}

static int by_place(const void *a, const void *b)
{
    const tk_json_member *x = *(const tk_json_member *const *)a;
    const tk_json_member *y = *(const tk_json_member *const *)b;
    return (x > y) - (x < y);
}

const tk_json_member **tk_schema_members(const tk_json *object, size_t *n_out)
{
    size_t n = object->as.object.n;
    const tk_json_member **list = tk_array(n, sizeof(const tk_json_member *));
    if (list == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        list[i] = &object->as.object.members[i];
    }
    qsort(list, n, sizeof(const tk_json_member *), by_key);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        bool last = i + 1 == n || !tk_str_eq(list[i]->key, list[i + 1]->key);
        if (last) {
            list[kept++] = list[i];
        }
    }
    qsort(list, kept, sizeof(const tk_json_member *), by_place);
    *n_out = kept;
    return list;
}
