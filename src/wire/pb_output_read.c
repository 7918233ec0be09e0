/* Reading ForwardBackwardOutput: records first become columns with checked offsets, then
 * every datum gets a map of tensors that point into them (docs/protocol.md §3.1, rules
 * 1-4). */
#include <stdio.h>
#include <string.h>

#include "wire/pb_array.h"
#include "wire/pb_output.h"

/* A BatchedTensor as it lies on the wire; protobuf merges one that comes twice. */
typedef struct raw_column {
    tk_bytes data;
    tk_bytes offsets;
    int32_t dtype;
    tk_pb_dims trailing;
} raw_column;

typedef struct column {
    tk_str name;
    tk_tensor all;         /* dtype, data and n of every slice together */
    size_t item_bytes;     /* on the wire, where offsets count; 0: unknown dtype */
    const int64_t *offset; /* [slices + 1], checked */
    size_t slices;
    tk_i64s trailing;
    size_t row; /* elements per step of the leading dimension */
} column;

typedef struct record {
    int64_t num_datums;
    column *columns; /* names are unique */
    size_t n_columns;
    size_t n_datums; /* what counts: see set_counts */
} record;

/* ---- columns ---- */

static tinkc_code read_raw_column(const tk_pb_input *in, tk_bytes body, raw_column *raw)
{
    tk_pb_reader rd = tk_pb_reader_of(in, body);
    tk_pb_field field;
    while (tk_pb_next(&rd, &field)) {
        switch (field.tag) {
        case TK_PB_TAG(1, TK_PB_BYTES):
            raw->data = field.bytes;
            break;
        case TK_PB_TAG(2, TK_PB_BYTES):
            raw->offsets = field.bytes;
            break;
        case TK_PB_TAG(3, TK_PB_VARINT):
            raw->dtype = tk_pb_to_i32(&field);
            break;
        case TK_PB_TAG(4, TK_PB_VARINT):
        case TK_PB_TAG(4, TK_PB_BYTES):
            rd.code = tk_pb_add_dims(in, &field, &raw->trailing);
            break;
        default:
            break;
        }
    }
    return rd.code;
}

/* Offsets rise from 0 to the end of the data in whole rows. */
static bool offsets_are_sound(const column *c, size_t data_bytes)
{
    uint64_t last = 0;
    uint64_t step = (uint64_t)c->row * c->item_bytes;
    for (size_t i = 0; c->offset != NULL && i <= c->slices; i++) {
        uint64_t at = (uint64_t)c->offset[i];
        if (at < last || at > data_bytes || (i == 0 && at != 0) ||
            (step == 0 ? at != last : (at - last) % step != 0)) {
            return false;
        }
        last = at;
    }
    return last == data_bytes;
}

static tinkc_code finish_trailing(const tk_pb_input *in, const raw_column *raw,
                                  column *out)
{
    tinkc_code code = TINKC_OK;
    const tk_pb_dims *dims = &raw->trailing;
    if (dims->n >= TK_TENSOR_MAX_DIMS ||
        !tk_pb_array_count(dims->v, dims->n, &out->row)) {
        return tk_pb_fail(in, raw->offsets.p, TINKC_E_DECODE,
                          "trailing shape is negative or too large");
    }
    if (dims->n > 0) {
        int64_t *copy = tk_pb_alloc(in, dims->n, sizeof(*copy), &code);
        if (copy == NULL) {
            return code;
        }
        memcpy(copy, dims->v, dims->n * sizeof(*copy));
        out->trailing = (tk_i64s){copy, dims->n};
    }
    return TINKC_OK;
}

static tinkc_code finish_column(const tk_pb_input *in, const raw_column *raw, column *out)
{
    tk_i64s offsets = {NULL, 0};
    out->item_bytes = tk_pb_array_item_bytes(raw->dtype);
    bool is_known = out->item_bytes > 0 || raw->dtype == TK_DTYPE_UNSPECIFIED;
    tinkc_code code =
        is_known ? tk_pb_array_tensor(in, raw->data, raw->dtype, &out->all) : TINKC_OK;
    if (code == TINKC_OK) {
        code = finish_trailing(in, raw, out);
    }
    if (code == TINKC_OK) {
        code = tk_pb_array_i64s(in, raw->offsets, &offsets);
    }
    if (code != TINKC_OK) {
        return code;
    }
    out->offset = offsets.p;
    out->slices = offsets.n > 0 ? offsets.n - 1 : 0;
    if (is_known && !offsets_are_sound(out, raw->data.n)) {
        return tk_pb_fail(in, raw->offsets.p, TINKC_E_DECODE,
                          "offsets do not cut %zu bytes into whole rows", raw->data.n);
    }
    return TINKC_OK;
}

static tinkc_code read_column(const tk_pb_input *in, tk_bytes body, column *out)
{
    tk_pb_reader rd = tk_pb_reader_of(in, body);
    tk_pb_field field;
    raw_column raw = {.dtype = 0};
    *out = (column){.slices = 0};
    while (tk_pb_next(&rd, &field)) {
        switch (field.tag) {
        case TK_PB_TAG(1, TK_PB_BYTES):
            rd.code = tk_pb_to_str(in, &field, &out->name);
            break;
        case TK_PB_TAG(2, TK_PB_BYTES):
            rd.code = read_raw_column(in, field.bytes, &raw);
            break;
        default:
            break;
        }
    }
    tinkc_code code = rd.code;
    if (code == TINKC_OK) {
        code = finish_column(in, &raw, out);
    }
    if (code != TINKC_OK) {
        char name[TK_ERR_PATH_BYTES];
        (void)snprintf(name, sizeof(name), TK_STR_FMT, TK_STR_ARG(out->name));
        tk_err_under(in->err, name);
        tk_err_under(in->err, "fields");
    }
    return code;
}

/* ---- records ---- */

static column *find_column(column *columns, size_t n, tk_str name, size_t hint)
{
    if (hint < n && tk_str_eq(columns[hint].name, name)) {
        return &columns[hint];
    }
    for (size_t i = 0; i < n; i++) {
        if (tk_str_eq(columns[i].name, name)) {
            return &columns[i];
        }
    }
    return NULL;
}

/* The last of equal keys counts. */
static tinkc_code add_column(const tk_pb_input *in, tk_bytes body, tk_pb_list *list)
{
    column c;
    tinkc_code code = read_column(in, body, &c);
    if (code != TINKC_OK) {
        return code;
    }
    column *to = find_column(list->items, list->n, c.name, SIZE_MAX);
    if (to == NULL) {
        to = tk_pb_list_add(in, list, sizeof(c), TK_TENSOR_MAP_MAX, &code);
    }
    if (to != NULL) {
        *to = c;
    }
    return code;
}

static tinkc_code read_record(const tk_pb_input *in, tk_bytes body, record *out)
{
    tk_pb_reader rd = tk_pb_reader_of(in, body);
    tk_pb_field field;
    tk_pb_list columns = {NULL, 0, 0};
    tk_str type_tag; /* informational: only its UTF-8 is checked */
    *out = (record){.num_datums = 0};
    while (tk_pb_next(&rd, &field)) {
        switch (field.tag) {
        case TK_PB_TAG(1, TK_PB_BYTES):
            rd.code = tk_pb_to_str(in, &field, &type_tag);
            break;
        case TK_PB_TAG(2, TK_PB_BYTES):
            rd.code = add_column(in, field.bytes, &columns);
            break;
        case TK_PB_TAG(3, TK_PB_VARINT):
            out->num_datums = (int64_t)field.value;
            break;
        default:
            break;
        }
    }
    out->columns = columns.items;
    out->n_columns = columns.n;
    return rd.code;
}

static tinkc_code add_record(const tk_pb_input *in, tk_bytes body, tk_pb_list *list)
{
    tinkc_code code = TINKC_OK;
    record *r = tk_pb_list_add(in, list, sizeof(*r), TK_DATUMS_MAX, &code);
    if (r != NULL) {
        code = read_record(in, body, r);
    }
    if (code != TINKC_OK) {
        tk_err_under_index(in->err, list->n - 1);
        tk_err_under(in->err, "loss_fn_outputs");
    }
    return code;
}

/* num_datums rules; only when no record sets it do the slices say how many there are. */
static tinkc_code set_counts(const tk_pb_input *in, record *records, size_t n,
                             size_t *total)
{
    size_t declared = 0;
    size_t sliced = 0;
    for (size_t i = 0; i < n; i++) {
        record *r = &records[i];
        if (r->num_datums < 0) {
            return tk_pb_fail(in, NULL, TINKC_E_DECODE, "num_datums is negative");
        }
        if ((uint64_t)r->num_datums > TK_DATUMS_MAX) {
            return tk_pb_fail(in, NULL, TINKC_E_LIMIT, "more than %zu datums",
                              TK_DATUMS_MAX);
        }
        declared += (size_t)r->num_datums;
    }
    for (size_t i = 0; i < n; i++) {
        record *r = &records[i];
        size_t slices = r->n_columns > 0 ? r->columns[0].slices : 0;
        r->n_datums = declared > 0 ? (size_t)r->num_datums : slices;
        if (r->n_datums > TK_DATUMS_MAX - sliced) {
            return tk_pb_fail(in, NULL, TINKC_E_LIMIT, "more than %zu datums",
                              TK_DATUMS_MAX);
        }
        sliced += r->n_datums;
    }
    *total = sliced;
    return TINKC_OK;
}

/* Every field has a slice for each datum of its record, and every record that has datums
 * has the fields of the first such record. */
static tinkc_code check_record(const tk_pb_input *in, const record *first,
                               const record *r)
{
    for (size_t i = 0; i < r->n_columns; i++) {
        const column *c = &r->columns[i];
        if (c->slices != r->n_datums) {
            return tk_pb_fail(in, NULL, TINKC_E_DECODE,
                              "field " TK_STR_FMT " has %zu slices for %zu datums",
                              TK_STR_ARG(c->name), c->slices, r->n_datums);
        }
    }
    for (size_t i = 0; i < r->n_columns || i < first->n_columns; i++) {
        bool is_missing =
            i >= r->n_columns || i >= first->n_columns ||
            find_column(first->columns, first->n_columns, r->columns[i].name, i) == NULL;
        if (is_missing) {
            return tk_pb_fail(in, NULL, TINKC_E_DECODE,
                              "records do not have the same fields");
        }
    }
    return TINKC_OK;
}

/* ---- datums ---- */

static void fill_tensor(const column *c, size_t index, int64_t *shape, tk_tensor *out)
{
    if (c->item_bytes == 0) {
        *out = (tk_tensor){.dtype = TK_DTYPE_UNSPECIFIED};
        return;
    }
    size_t from = (size_t)c->offset[index] / c->item_bytes;
    size_t to = (size_t)c->offset[index + 1] / c->item_bytes;
    size_t wide = tk_pb_array_item_bytes((int32_t)c->all.dtype);
    const unsigned char *data = c->all.data;
    *out = (tk_tensor){.dtype = c->all.dtype, .n = to - from, .has_shape = true};
    out->data = to > from ? data + from * wide : NULL;
    shape[0] = c->row > 0 ? (int64_t)(out->n / c->row) : 0;
    if (c->trailing.n > 0) {
        memcpy(shape + 1, c->trailing.p, c->trailing.n * sizeof(*shape));
    }
    out->shape = (tk_i64s){shape, c->trailing.n + 1};
}

/* The shapes of one column, one after the other. */
static tinkc_code fill_column(const tk_pb_input *in, const record *r, size_t index,
                              tk_named_tensor *items)
{
    tinkc_code code = TINKC_OK;
    const column *c = &r->columns[index];
    size_t n_dims = c->trailing.n + 1;
    int64_t *shapes = tk_pb_alloc(in, r->n_datums, n_dims * sizeof(*shapes), &code);
    if (shapes == NULL) {
        return code;
    }
    for (size_t i = 0; i < r->n_datums; i++) {
        tk_named_tensor *item = &items[i * r->n_columns + index];
        item->name = c->name;
        fill_tensor(c, i, shapes + i * n_dims, &item->tensor);
    }
    return TINKC_OK;
}

static tinkc_code fill_record(const tk_pb_input *in, const record *r, tk_tensor_map *maps)
{
    tinkc_code code = TINKC_OK;
    tk_named_tensor *items =
        tk_pb_alloc(in, r->n_datums, r->n_columns * sizeof(*items), &code);
    for (size_t i = 0; i < r->n_columns && code == TINKC_OK; i++) {
        code = fill_column(in, r, i, items);
    }
    for (size_t i = 0; i < r->n_datums && code == TINKC_OK; i++) {
        maps[i] = (tk_tensor_map){items + i * r->n_columns, r->n_columns};
    }
    return code;
}

static tinkc_code fill_datums(const tk_pb_input *in, const record *records, size_t n,
                              tk_tensor_map *maps)
{
    const record *first = NULL;
    for (size_t i = 0; i < n; i++) {
        const record *r = &records[i];
        first = first == NULL && r->n_datums > 0 ? r : first;
        tinkc_code code = check_record(in, r->n_datums > 0 ? first : r, r);
        if (code == TINKC_OK) {
            code = fill_record(in, r, maps);
        }
        if (code != TINKC_OK) {
            tk_err_under_index(in->err, i);
            tk_err_under(in->err, "loss_fn_outputs");
            return code;
        }
        maps += r->n_datums;
    }
    return TINKC_OK;
}

static tinkc_code finish_outputs(const tk_pb_input *in, const tk_pb_list *records,
                                 tk_fwdbwd_output *out)
{
    size_t total = 0;
    tinkc_code code = set_counts(in, records->items, records->n, &total);
    if (code != TINKC_OK) {
        return code;
    }
    tk_tensor_map *maps = tk_pb_alloc(in, total, sizeof(*maps), &code);
    if (maps == NULL) {
        return code;
    }
    out->loss_fn_outputs = maps;
    out->loss_fn_outputs_n = total;
    return fill_datums(in, records->items, records->n, maps);
}

/* As the official SDK: the part after the last colon when there are records, else the
 * whole text, or a fixed name for none. */
static tk_str type_name(tk_str type, size_t n_records)
{
    if (n_records == 0) {
        return type.n > 0 ? type : TK_STR("ArrayRecord");
    }
    size_t from = type.n;
    while (from > 0 && type.p[from - 1] != ':') {
        from--;
    }
    return (tk_str){type.p != NULL ? type.p + from : NULL, type.n - from};
}

static tinkc_code read_output(const tk_pb_input *in, tk_bytes body, tk_fwdbwd_output *out)
{
    tk_pb_reader rd = tk_pb_reader_of(in, body);
    tk_pb_field field;
    tk_pb_list records = {NULL, 0, 0};
    tk_pb_list metrics = {NULL, 0, 0};
    tk_str type = {NULL, 0};
    while (tk_pb_next(&rd, &field)) {
        switch (field.tag) {
        case TK_PB_TAG(1, TK_PB_BYTES):
            rd.code = tk_pb_to_str(in, &field, &type);
            break;
        case TK_PB_TAG(2, TK_PB_BYTES):
            rd.code = add_record(in, field.bytes, &records);
            break;
        case TK_PB_TAG(3, TK_PB_BYTES):
            rd.code = tk_pb_add_num(in, &field, &metrics);
            break;
        default:
            break;
        }
    }
    tinkc_code code = rd.code;
    out->loss_fn_output_type = type_name(type, records.n);
    out->metrics = (tk_num_map){metrics.items, metrics.n};
    return code != TINKC_OK ? code : finish_outputs(in, &records, out);
}

tinkc_code tk_pb_output_decode(tk_fwdbwd_output *out, tk_arena *arena, tk_bytes input,
                               tk_err *err)
{
    tk_pb_input in;
    tk_fwdbwd_output output = {.loss_fn_outputs_n = 0};
    tinkc_code code = tk_pb_input_open(&in, arena, input, err);
    if (code == TINKC_OK) {
        code = read_output(&in, input, &output);
    }
    if (code == TINKC_OK) {
        *out = output;
    }
    return code;
}
