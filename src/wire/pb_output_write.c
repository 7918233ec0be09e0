/* Writing ForwardBackwardOutput: the datums' tensors are gathered into columns (at most
 * TK_TENSOR_MAP_MAX, kept on the stack), checked, sized, and written in one pass. */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "wire/pb_array.h"
#include "wire/pb_output.h"

/* One field over all datums, as its first tensor defines it. */
typedef struct column {
    tk_str name;
    tk_dtype dtype;
    tk_i64s trailing;
    size_t bytes; /* of all slices together */
} column;

typedef struct columns {
    column items[TK_TENSOR_MAP_MAX];
    size_t n;
} columns;

static tk_i64s trailing_of(const tk_tensor *t)
{
    if (!t->has_shape || t->shape.n < 2) {
        return (tk_i64s){NULL, 0};
    }
    return (tk_i64s){t->shape.p + 1, t->shape.n - 1};
}

/* The column of a name; `hint` is where it probably is. SIZE_MAX when there is none. */
static size_t find_column(const columns *all, tk_str name, size_t hint)
{
    if (hint < all->n && tk_str_eq(all->items[hint].name, name)) {
        return hint;
    }
    for (size_t i = 0; i < all->n; i++) {
        if (tk_str_eq(all->items[i].name, name)) {
            return i;
        }
    }
    return SIZE_MAX;
}

static const tk_tensor *find_tensor(const tk_tensor_map *map, tk_str name, size_t hint)
{
    if (hint < map->n && tk_str_eq(map->items[hint].name, name)) {
        return &map->items[hint].tensor;
    }
    for (size_t i = 0; i < map->n; i++) {
        if (tk_str_eq(map->items[i].name, name)) {
            return &map->items[i].tensor;
        }
    }
    return NULL;
}

/* ---- checks ---- */

static tinkc_code check_tensor(const tk_tensor *t, tk_err *err)
{
    if (t->is_sparse || (t->dtype != TK_DTYPE_F32 && t->dtype != TK_DTYPE_I64)) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "a result tensor is dense and float32 or int64");
    }
    size_t count = t->n;
    if (t->has_shape && t->shape.n > TK_TENSOR_MAX_DIMS) {
        return tk_err_set(err, TINKC_E_LIMIT, "more than %d dimensions",
                          TK_TENSOR_MAX_DIMS);
    }
    if (t->has_shape &&
        (!tk_pb_array_count(t->shape.p, t->shape.n, &count) || count != t->n)) {
        return tk_err_set(err, TINKC_E_INVALID, "shape does not fit %zu values", t->n);
    }
    return TINKC_OK;
}

static tinkc_code add_column(columns *all, const tk_named_tensor *item, size_t *index,
                             tk_err *err)
{
    if (all->n == TK_TENSOR_MAP_MAX) {
        return tk_err_set(err, TINKC_E_LIMIT, "more than %d fields", TK_TENSOR_MAP_MAX);
    }
    if (!tk_utf8_is_valid(item->name)) {
        return tk_err_set(err, TINKC_E_INVALID, "name is not valid UTF-8");
    }
    *index = all->n++;
    all->items[*index] =
        (column){item->name, item->tensor.dtype, trailing_of(&item->tensor), 0};
    return TINKC_OK;
}

static tinkc_code add_tensor(columns *all, const tk_named_tensor *item, size_t hint,
                             size_t max, tk_err *err)
{
    const tk_tensor *t = &item->tensor;
    tinkc_code code = check_tensor(t, err);
    size_t index = find_column(all, item->name, hint);
    if (code == TINKC_OK && index == SIZE_MAX) {
        code = add_column(all, item, &index, err);
    }
    if (code != TINKC_OK) {
        return code;
    }
    column *c = &all->items[index];
    tk_i64s trailing = trailing_of(t);
    if (c->dtype != t->dtype || c->trailing.n != trailing.n ||
        (trailing.n > 0 &&
         memcmp(c->trailing.p, trailing.p, trailing.n * sizeof(int64_t)) != 0)) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "dtype or trailing shape differs from earlier datums");
    }
    size_t item_bytes = tk_pb_array_item_bytes((int32_t)t->dtype);
    if (t->n > (max - c->bytes) / item_bytes) {
        return tk_err_set(err, TINKC_E_LIMIT, "larger than the limit of %zu bytes", max);
    }
    c->bytes += t->n * item_bytes;
    return TINKC_OK;
}

static tinkc_code gather(columns *all, const tk_fwdbwd_output *output, size_t max,
                         tk_err *err)
{
    all->n = 0;
    for (size_t i = 0; i < output->loss_fn_outputs_n; i++) {
        const tk_tensor_map *map = &output->loss_fn_outputs[i];
        for (size_t j = 0; j < map->n; j++) {
            tinkc_code code = add_tensor(all, &map->items[j], j, max, err);
            if (code != TINKC_OK) {
                char name[TK_ERR_PATH_BYTES];
                (void)snprintf(name, sizeof(name), TK_STR_FMT,
                               TK_STR_ARG(map->items[j].name));
                tk_err_under(err, name);
                tk_err_under_index(err, i);
                tk_err_under(err, "loss_fn_outputs");
                return code;
            }
        }
    }
    return TINKC_OK;
}

static tinkc_code check_rest(const tk_fwdbwd_output *output, size_t max, tk_err *err)
{
    if (output->loss_fn_outputs_n > TK_DATUMS_MAX || output->metrics.n > TK_NUM_MAP_MAX) {
        return tk_err_set(err, TINKC_E_LIMIT, "too many datums or metrics");
    }
    bool is_text = tk_utf8_is_valid(output->loss_fn_output_type);
    size_t bytes = output->loss_fn_output_type.n;
    for (size_t i = 0; i < output->metrics.n && bytes <= max; i++) {
        is_text = is_text && tk_utf8_is_valid(output->metrics.items[i].name);
        bytes += output->metrics.items[i].name.n;
    }
    if (bytes > max) {
        return tk_err_set(err, TINKC_E_LIMIT, "larger than the limit of %zu bytes", max);
    }
    if (!is_text) {
        return tk_err_set(err, TINKC_E_INVALID, "text is not valid UTF-8");
    }
    return TINKC_OK;
}

/* ---- sizes ---- */

static size_t column_size(const column *c, size_t n_datums)
{
    size_t n = c->bytes > 0 ? tk_pb_bytes_size(1, c->bytes) : 0;
    return n + tk_pb_bytes_size(2, (n_datums + 1) * sizeof(int64_t)) +
           tk_pb_uint_size(3, (uint64_t)c->dtype) + tk_pb_packed_size(4, c->trailing);
}

static size_t text_size(tk_str text)
{
    return text.n > 0 ? tk_pb_bytes_size(1, text.n) : 0;
}

static size_t record_size(const tk_fwdbwd_output *output, const columns *all)
{
    size_t n = text_size(output->loss_fn_output_type) +
               tk_pb_uint_size(3, output->loss_fn_outputs_n);
    for (size_t i = 0; i < all->n; i++) {
        const column *c = &all->items[i];
        size_t entry = tk_pb_bytes_size(1, c->name.n) +
                       tk_pb_bytes_size(2, column_size(c, output->loss_fn_outputs_n));
        n += tk_pb_bytes_size(2, entry);
    }
    return n;
}

static size_t output_size(const tk_fwdbwd_output *output, const columns *all)
{
    size_t n = text_size(output->loss_fn_output_type);
    if (output->loss_fn_outputs_n > 0) {
        n += tk_pb_bytes_size(2, record_size(output, all));
    }
    for (size_t i = 0; i < output->metrics.n; i++) {
        n += tk_pb_bytes_size(3, tk_pb_double_entry_size(output->metrics.items[i].name));
    }
    return n;
}

/* ---- writing ---- */

static void put_column_data(tk_pb_writer *w, const tk_fwdbwd_output *output,
                            const column *c, size_t index)
{
    size_t item_bytes = tk_pb_array_item_bytes((int32_t)c->dtype);
    if (c->bytes == 0) {
        return;
    }
    tk_pb_put_head(w, 1, c->bytes);
    for (size_t i = 0; i < output->loss_fn_outputs_n; i++) {
        const tk_tensor *t = find_tensor(&output->loss_fn_outputs[i], c->name, index);
        if (t != NULL) {
            tk_pb_put_items(w, t->data, t->n, item_bytes);
        }
    }
}

static void put_column_offsets(tk_pb_writer *w, const tk_fwdbwd_output *output,
                               const column *c, size_t index)
{
    int64_t offset = 0;
    size_t item_bytes = tk_pb_array_item_bytes((int32_t)c->dtype);
    tk_pb_put_head(w, 2, (output->loss_fn_outputs_n + 1) * sizeof(offset));
    tk_pb_put_items(w, &offset, 1, sizeof(offset));
    for (size_t i = 0; i < output->loss_fn_outputs_n; i++) {
        const tk_tensor *t = find_tensor(&output->loss_fn_outputs[i], c->name, index);
        offset += t != NULL ? (int64_t)(t->n * item_bytes) : 0;
        tk_pb_put_items(w, &offset, 1, sizeof(offset));
    }
}

static void put_record(tk_pb_writer *w, const tk_fwdbwd_output *output,
                       const columns *all)
{
    if (output->loss_fn_output_type.n > 0) {
        tk_pb_put_str(w, 1, output->loss_fn_output_type);
    }
    for (size_t i = 0; i < all->n; i++) {
        const column *c = &all->items[i];
        size_t body = column_size(c, output->loss_fn_outputs_n);
        tk_pb_put_head(w, 2, tk_pb_bytes_size(1, c->name.n) + tk_pb_bytes_size(2, body));
        tk_pb_put_str(w, 1, c->name);
        tk_pb_put_head(w, 2, body);
        put_column_data(w, output, c, i);
        put_column_offsets(w, output, c, i);
        tk_pb_put_uint(w, 3, (uint64_t)c->dtype);
        tk_pb_put_packed(w, 4, c->trailing);
    }
    tk_pb_put_uint(w, 3, output->loss_fn_outputs_n);
}

static void put_output(tk_pb_writer *w, const tk_fwdbwd_output *output,
                       const columns *all)
{
    if (output->loss_fn_output_type.n > 0) {
        tk_pb_put_str(w, 1, output->loss_fn_output_type);
    }
    if (output->loss_fn_outputs_n > 0) {
        tk_pb_put_head(w, 2, record_size(output, all));
        put_record(w, output, all);
    }
    for (size_t i = 0; i < output->metrics.n; i++) {
        tk_pb_put_double_entry(w, 3, output->metrics.items[i].name,
                               output->metrics.items[i].v);
    }
}

tinkc_code tk_pb_output_encode(tk_buf *out, const tk_fwdbwd_output *output, tk_err *err)
{
    columns all;
    tinkc_code code = tk_buf_status(out, err);
    if (code == TINKC_OK) {
        code = check_rest(output, out->max - out->n, err);
    }
    if (code == TINKC_OK) {
        code = gather(&all, output, out->max - out->n, err);
    }
    if (code != TINKC_OK) {
        return code;
    }
    size_t n = output_size(output, &all);
    void *room = tk_buf_reserve(out, n);
    if (room == NULL) {
        return tk_buf_status(out, err);
    }
    tk_pb_writer w;
    tk_pb_writer_init(&w, room, n);
    put_output(&w, output, &all);
    if (!tk_pb_writer_is_full(&w)) {
        return tk_err_set(err, TINKC_E_INTERNAL, "wrong protobuf size");
    }
    tk_buf_advance(out, n);
    return TINKC_OK;
}
