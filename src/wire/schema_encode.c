/* Struct to JSON, by the table. Writes straight into the caller's buffer; no copies of
 * arrays. Values that JSON cannot hold are refused with the path of the field. */
#include <math.h>
#include <string.h>

#include "base/date.h"
#include "wire/schema_int.h"

static tinkc_code put_enum(tk_json_writer *w, const tk_field *field, const void *msg,
                           tk_err *err)
{
    int row = *(const int *)(const void *)((const char *)msg + field->at);
    const char *word = tk_names_word(field->names, row);
    tk_str text = tk_str_of(word);
    if (row == TK_OTHER && field->word_at != 0) {
        text = *(const tk_str *)(const void *)((const char *)msg + field->word_at);
    }
    if (text.p == NULL) {
        return tk_err_set(err, TINKC_E_INVALID, "%d is not one of its values", row);
    }
    tk_json_put_str(w, text);
    return TINKC_OK;
}

static tinkc_code put_i64(tk_json_writer *w, const tk_field *field, int64_t value,
                          tk_err *err)
{
    if ((field->min != 0 || field->max != 0) &&
        (value < field->min || value > field->max)) {
        return tk_err_set(err, TINKC_E_INVALID, "%lld is not within %lld..%lld",
                          (long long)value, (long long)field->min, (long long)field->max);
    }
    tk_json_put_i64(w, value);
    return TINKC_OK;
}

static tinkc_code put_num(tk_json_writer *w, double value, tk_err *err)
{
    if (!isfinite(value)) {
        return tk_err_set(err, TINKC_E_INVALID, "NaN and infinity cannot be sent");
    }
    tk_json_put_double(w, value);
    return TINKC_OK;
}

static tinkc_code put_time(tk_json_writer *w, const tk_field *field, int64_t us,
                           tk_err *err)
{
    char text[TK_DATE_TEXT_BYTES];
    bool micros = (field->flags & TK_MICROS) != 0;
    if (!(micros ? tk_date_format_micros(text, us) : tk_date_format(text, us))) {
        return tk_err_set(err, TINKC_E_INVALID, "time lies outside the years 1 to 9999");
    }
    tk_json_put_str(w, tk_str_of(text));
    return TINKC_OK;
}

static void put_strs(tk_json_writer *w, const tk_str *items, size_t n)
{
    tk_json_begin_array(w);
    for (size_t i = 0; i < n; i++) {
        tk_json_put_str(w, items[i]);
    }
    tk_json_end_array(w);
}

static void put_str_map(tk_json_writer *w, const tk_named_str *items, size_t n)
{
    tk_json_begin_object(w);
    for (size_t i = 0; i < n; i++) {
        tk_json_key(w, items[i].name);
        tk_json_put_str(w, items[i].v);
    }
    tk_json_end_object(w);
}

static tinkc_code put_num_map(tk_json_writer *w, const tk_named_num *items, size_t n,
                              tk_err *err)
{
    tk_json_begin_object(w);
    for (size_t i = 0; i < n; i++) {
        tk_json_key(w, items[i].name);
        tinkc_code code = put_num(w, items[i].v, err);
        if (code != TINKC_OK) {
            tk_schema_under_key(err, items[i].name);
            return code;
        }
    }
    tk_json_end_object(w);
    return TINKC_OK;
}

tinkc_code tk_schema_put_f32s(tk_json_writer *w, const float *items, size_t n,
                              bool nan_is_null, tk_err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(items[i]) && !(nan_is_null && isnan(items[i]))) {
            tinkc_code code =
                tk_err_set(err, TINKC_E_INVALID, "NaN and infinity cannot be sent");
            tk_err_under_index(err, i);
            return code;
        }
    }
    tk_json_put_f32s(w, items, n, nan_is_null);
    return TINKC_OK;
}

static tinkc_code put_list(tk_json_writer *w, const tk_schema *sub, const char *items,
                           size_t n, tk_err *err)
{
    tk_json_begin_array(w);
    for (size_t i = 0; i < n; i++) {
        tinkc_code code = tk_schema_write(w, sub, items + i * sub->size, err);
        if (code != TINKC_OK) {
            tk_err_under_index(err, i);
            return code;
        }
    }
    tk_json_end_array(w);
    return TINKC_OK;
}

static tinkc_code put_msg_map(tk_json_writer *w, const tk_field *field, const char *items,
                              size_t n, tk_err *err)
{
    tk_json_begin_object(w);
    for (size_t i = 0; i < n; i++) {
        const char *item = items + i * field->item_size;
        tk_str key = *(const tk_str *)(const void *)item;
        tk_json_key(w, key);
        tinkc_code code = tk_schema_write(w, field->sub, item + field->item_at, err);
        if (code != TINKC_OK) {
            tk_schema_under_key(err, key);
            return code;
        }
    }
    tk_json_end_object(w);
    return TINKC_OK;
}

static tinkc_code put_raw(tk_json_writer *w, const tk_field *field, const tk_json *value,
                          tk_err *err)
{
    if (value == NULL) {
        return tk_err_set(err, TINKC_E_INVALID, "set, but without a value");
    }
    if ((field->flags & TK_OBJECT) != 0 && value->type != TK_JSON_OBJECT) {
        return tk_err_set(err, TINKC_E_INVALID, "must be an object");
    }
    tk_json_put_value(w, value);
    return TINKC_OK;
}

static tinkc_code put_list_value(tk_json_writer *w, const tk_field *field,
                                 const void *msg, tk_err *err)
{
    size_t n;
    const void *items = tk_schema_list_get(field, msg, &n);
    switch ((int)field->kind) {
    case TK_KIND_STRS:
        put_strs(w, items, n);
        return TINKC_OK;
    case TK_KIND_I32S:
        tk_json_put_i32s(w, items, n);
        return TINKC_OK;
    case TK_KIND_I64S:
        tk_json_put_i64s(w, items, n);
        return TINKC_OK;
    case TK_KIND_F32S:
        return tk_schema_put_f32s(w, items, n, (field->flags & TK_NAN_NULL) != 0, err);
    case TK_KIND_STR_MAP:
        put_str_map(w, items, n);
        return TINKC_OK;
    case TK_KIND_NUM_MAP:
        return put_num_map(w, items, n, err);
    case TK_KIND_LIST:
        return put_list(w, field->sub, items, n, err);
    default:
        return put_msg_map(w, field, items, n, err);
    }
}

static tinkc_code put_value(tk_json_writer *w, const tk_field *field, const void *msg,
                            tk_err *err)
{
    const void *at = (const char *)msg + field->at;
    switch (field->kind) {
    case TK_KIND_STR:
        tk_json_put_str(w, *(const tk_str *)at);
        return TINKC_OK;
    case TK_KIND_BOOL:
        tk_json_put_bool(w, *(const bool *)at);
        return TINKC_OK;
    case TK_KIND_I64:
        return put_i64(w, field, *(const int64_t *)at, err);
    case TK_KIND_U64:
        tk_json_put_u64(w, *(const uint64_t *)at);
        return TINKC_OK;
    case TK_KIND_NUM:
        return put_num(w, *(const double *)at, err);
    case TK_KIND_ENUM:
        return put_enum(w, field, msg, err);
    case TK_KIND_TIME:
        return put_time(w, field, *(const int64_t *)at, err);
    case TK_KIND_LITERAL:
        tk_json_put_str(w, tk_str_of(field->text));
        return TINKC_OK;
    case TK_KIND_BASE64:
        tk_json_put_base64(w, ((const tk_bytes *)at)->p, ((const tk_bytes *)at)->n);
        return TINKC_OK;
    case TK_KIND_RAW:
        return put_raw(w, field, *(const tk_json *const *)at, err);
    case TK_KIND_MSG:
        return tk_schema_write(w, field->sub, at, err);
    case TK_KIND_STRS:
    case TK_KIND_I32S:
    case TK_KIND_I64S:
    case TK_KIND_F32S:
    case TK_KIND_STR_MAP:
    case TK_KIND_NUM_MAP:
    case TK_KIND_LIST:
    case TK_KIND_MSG_MAP:
        break;
    }
    return put_list_value(w, field, msg, err);
}

static void put_default(tk_json_writer *w, const tk_field *field)
{
    switch ((int)field->kind) {
    case TK_KIND_STR:
        tk_json_put_str(w, tk_str_of(field->def.s));
        break;
    case TK_KIND_BOOL:
        tk_json_put_bool(w, field->def.b);
        break;
    case TK_KIND_I64:
        tk_json_put_i64(w, field->def.i);
        break;
    case TK_KIND_NUM:
        tk_json_put_double(w, field->def.d);
        break;
    case TK_KIND_ENUM:
        tk_json_put_str(w, tk_str_of(tk_names_word(field->names, (int)field->def.i)));
        break;
    default:
        tk_json_put_value(w, &tk_schema_empty_object);
        break;
    }
}

/* One row with its key; *value_at is where the text of its value begins. What the writer
 * itself refuses (bad UTF-8, depth, the buffer's cap) is caught here, where the field is
 * still known. */
static tinkc_code put_field(size_t *value_at, tk_json_writer *w, const tk_field *field,
                            const void *msg, tk_err *err)
{
    *value_at = w->out->n;
    bool literal = field->kind == TK_KIND_LITERAL;
    tk_presence presence = literal ? TK_SET : tk_schema_presence(field, msg);
    bool use_default = presence == TK_UNSET && (field->flags & TK_DEFAULT) != 0;
    if (presence == TK_UNSET && !use_default) {
        bool required = (field->flags & TK_REQUIRED) != 0;
        return required ? tk_err_set(err, TINKC_E_INVALID, "required, but not set")
                        : TINKC_OK;
    }
    if (presence == TK_NULL && (field->flags & TK_NULLABLE) == 0) {
        return tk_err_set(err, TINKC_E_INVALID, "may not be null");
    }
    if (field->name != NULL) {
        tk_json_key(w, tk_str_of(field->name));
    }
    *value_at = w->out->n;
    if (presence == TK_NULL) {
        tk_json_put_null(w);
    } else if (use_default) {
        put_default(w, field);
    } else {
        tinkc_code code = put_value(w, field, msg, err);
        if (code != TINKC_OK) {
            return code;
        }
    }
    return tk_buf_status(w->out, err);
}

/* `mark` may be NULL. */
static tinkc_code write_fields(tk_json_writer *w, const tk_schema *schema,
                               const void *msg, tk_schema_mark *mark, tk_err *err)
{
    size_t at = 0;
    bool transparent = schema->n == 1 && schema->fields[0].name == NULL;
    if (transparent) {
        return put_field(&at, w, &schema->fields[0], msg, err);
    }
    tk_json_begin_object(w);
    for (size_t i = 0; i < schema->n; i++) {
        tinkc_code code = put_field(&at, w, &schema->fields[i], msg, err);
        if (code != TINKC_OK) {
            tk_err_under(err, schema->fields[i].name);
            return code;
        }
        if (mark != NULL && strcmp(mark->name, schema->fields[i].name) == 0) {
            mark->at = at;
            mark->n = w->out->n - at;
        }
    }
    tk_json_end_object(w);
    return TINKC_OK;
}

static tinkc_code write_union(tk_json_writer *w, const tk_union *variants,
                              const void *msg, tk_err *err)
{
    int kind = *(const int *)(const void *)((const char *)msg + variants->kind_at);
    for (size_t i = 0; i < variants->n; i++) {
        if (variants->variants[i].kind == kind) {
            return write_fields(w, variants->variants[i].schema, msg, NULL, err);
        }
    }
    if (kind == variants->unknown) {
        const void *at = (const char *)msg + variants->raw_at;
        const tk_json *raw = *(const tk_json *const *)at;
        if (raw != NULL) {
            tk_json_put_value(w, raw);
            return tk_buf_status(w->out, err);
        }
    }
    return tk_err_set(err, TINKC_E_INVALID, "%d is not a kind of %s", kind,
                      variants->key);
}

tinkc_code tk_schema_write(tk_json_writer *w, const tk_schema *schema, const void *msg,
                           tk_err *err)
{
    if (schema->codec != NULL) {
        tinkc_code code = schema->codec->encode(w, msg, err);
        return code != TINKC_OK ? code : tk_buf_status(w->out, err);
    }
    if (schema->variants != NULL) {
        return write_union(w, schema->variants, msg, err);
    }
    return write_fields(w, schema, msg, NULL, err);
}

static tinkc_code encode(tk_buf *out, const tk_schema *schema, const void *msg,
                         tk_schema_mark *mark, tk_err *err)
{
    size_t start = out->n;
    tk_err found = TK_ERR_INIT;
    tk_json_writer w;
    tk_json_writer_init(&w, out);
    tinkc_code code = mark != NULL ? write_fields(&w, schema, msg, mark, &found)
                                   : tk_schema_write(&w, schema, msg, &found);
    if (code == TINKC_OK) {
        code = tk_buf_status(out, &found);
    }
    if (code != TINKC_OK) {
        out->n = start;
        return tk_schema_report(err, &found, schema->name);
    }
    return TINKC_OK;
}

tinkc_code tk_schema_encode(tk_buf *out, const tk_schema *schema, const void *msg,
                            tk_err *err)
{
    return encode(out, schema, msg, NULL, err);
}

tinkc_code tk_schema_encode_marked(tk_buf *out, tk_schema_mark *mark,
                                   const tk_schema *schema, const void *msg, tk_err *err)
{
    mark->at = 0;
    mark->n = 0;
    return encode(out, schema, msg, mark, err);
}
