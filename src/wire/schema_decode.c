/* JSON to struct, by the table. Input is hostile: every type and range is checked, and an
 * error names the field it was found in. */
#include <math.h>
#include <string.h>

#include "base/base64.h"
#include "base/date.h"
#include "base/mem.h"
#include "wire/schema_int.h"

/* What every step of a decode needs. */
typedef struct ctx {
    tk_arena *arena;
    unsigned flags;
    tk_err *err;
} ctx;

static tinkc_code get_i64(const tk_field *field, int64_t *out, const tk_json *value,
                          tk_err *err)
{
    int64_t number;
    if (!tk_json_to_i64(value, &number)) {
        return tk_schema_mismatch("64-bit integer", value, err);
    }
    if ((field->min != 0 || field->max != 0) &&
        (number < field->min || number > field->max)) {
        return tk_err_set(err, TINKC_E_DECODE, "%lld is not within %lld..%lld",
                          (long long)number, (long long)field->min,
                          (long long)field->max);
    }
    *out = number;
    return TINKC_OK;
}

static tinkc_code get_u64(const tk_field *field, uint64_t *out, const tk_json *value,
                          tk_err *err)
{
    int64_t number;
    if (tk_json_to_u64(value, out)) {
        return TINKC_OK;
    }
    if ((field->flags & TK_SIGNED) != 0 && tk_json_to_i64(value, &number)) {
        *out = (uint64_t)number;
        return TINKC_OK;
    }
    return tk_schema_mismatch("unsigned 64-bit integer", value, err);
}

/* The word itself is kept where the struct has room for it. */
static tinkc_code get_enum(const tk_field *field, void *msg, const ctx *c,
                           const tk_json *value)
{
    bool is_text = value->type == TK_JSON_STRING;
    int row =
        is_text ? tk_names_find(field->names, value->as.string) : field->names->unknown;
    if (!is_text && row == TK_OTHER) {
        return tk_schema_mismatch("string", value, c->err);
    }
    if (row == TK_OTHER && (c->flags & TK_DECODE_CLOSED) != 0) {
        return tk_err_set(c->err, TINKC_E_DECODE, "\"%.40s\" is not one of its values",
                          value->as.string.p);
    }
    *(int *)(void *)((char *)msg + field->at) = row;
    if (is_text && field->word_at != 0) {
        *(tk_str *)(void *)((char *)msg + field->word_at) = value->as.string;
    }
    return TINKC_OK;
}

/* Unix numbers as pydantic reads them: beyond 2e10 they are milliseconds. */
static tinkc_code get_time(int64_t *out, const tk_json *value, tk_err *err)
{
    double seconds;
    bool ok;
    if (value->type == TK_JSON_STRING) {
        ok = tk_date_parse(out, value->as.string, NULL) == TINKC_OK;
    } else if (tk_json_to_double(value, &seconds)) {
        seconds = fabs(seconds) > 2e10 ? seconds / 1000 : seconds;
        ok = fabs(seconds) < 3e11;
        int64_t us = ok ? (int64_t)llrint(seconds * 1e6) : 0;
        char text[TK_DATE_TEXT_BYTES];
        ok = ok && tk_date_format(text, us);
        if (ok) {
            *out = us;
        }
    } else {
        return tk_schema_mismatch("time", value, err);
    }
    return ok ? TINKC_OK
              : tk_err_set(err, TINKC_E_DECODE, "neither RFC 3339 nor a unix time");
}

static tinkc_code get_bytes(tk_bytes *out, const ctx *c, const tk_json *value)
{
    if (value->type != TK_JSON_STRING) {
        return tk_schema_mismatch("base64 string", value, c->err);
    }
    size_t n = tk_base64_decoded_size(value->as.string);
    unsigned char *bytes = tk_arena_alloc(c->arena, n);
    if (bytes == NULL) {
        return tk_err_nomem(c->err);
    }
    if (tk_base64_decode(bytes, value->as.string, NULL) != TINKC_OK) {
        return tk_err_set(c->err, TINKC_E_DECODE, "not base64");
    }
    out->p = bytes;
    out->n = n;
    return TINKC_OK;
}

static tinkc_code get_literal(const tk_field *field, const ctx *c, const tk_json *value)
{
    if ((c->flags & TK_DECODE_CLOSED) == 0) {
        return TINKC_OK;
    }
    if (value->type != TK_JSON_STRING) {
        return tk_schema_mismatch("string", value, c->err);
    }
    if (!tk_str_is(value->as.string, field->text)) {
        return tk_err_set(c->err, TINKC_E_DECODE, "expected \"%s\", found \"%.40s\"",
                          field->text, value->as.string.p);
    }
    return TINKC_OK;
}

/* One element of a string, number or message map; `item` is the wrapper struct. */
static tinkc_code get_map_item(const tk_field *field, void *item, const ctx *c,
                               const tk_json_member *member)
{
    const tk_json *value = &member->value;
    *(tk_str *)item = member->key;
    if (field->kind == TK_KIND_MSG_MAP) {
        return tk_schema_read((char *)item + field->item_at, field->sub, c->arena, value,
                              c->flags, c->err);
    }
    if (field->kind == TK_KIND_STR_MAP) {
        if (value->type != TK_JSON_STRING) {
            return tk_schema_mismatch("string", value, c->err);
        }
        ((tk_named_str *)item)->v = value->as.string;
        return TINKC_OK;
    }
    return tk_json_to_double(value, &((tk_named_num *)item)->v)
               ? TINKC_OK
               : tk_schema_mismatch("number", value, c->err);
}

/* Whether the object has a key that each message of the table has. */
static bool has_needed(const tk_schema *schema, const tk_json *value)
{
    bool needs = false;
    if (schema->codec != NULL && schema->codec->like != NULL) {
        schema = schema->codec->like;
    }
    for (size_t i = 0; i < schema->n; i++) {
        const tk_field *field = &schema->fields[i];
        bool needed = field->name != NULL && (field->flags & TK_REQUIRED) != 0;
        if (needed && tk_json_get(value, field->name) != NULL) {
            return true;
        }
        needs |= needed;
    }
    return !needs;
}

/* Whether an entry is of its map's kind. The keys of a map are names that a server
 * chooses: a newer one may put entries of another kind there, and an answer is read
 * without them. */
static bool is_of_map(const tk_field *field, const tk_json *value)
{
    double number;
    if (field->kind == TK_KIND_STR_MAP) {
        return value->type == TK_JSON_STRING;
    }
    if (field->kind == TK_KIND_NUM_MAP) {
        return tk_json_to_double(value, &number);
    }
    return value->type == TK_JSON_OBJECT && has_needed(field->sub, value);
}

static size_t map_item_size(const tk_field *field)
{
    if (field->kind == TK_KIND_MSG_MAP) {
        return field->item_size;
    }
    return field->kind == TK_KIND_STR_MAP ? sizeof(tk_named_str) : sizeof(tk_named_num);
}

static tinkc_code get_map(const tk_field *field, void *msg, const ctx *c,
                          const tk_json *value)
{
    if (value->type != TK_JSON_OBJECT) {
        return tk_schema_mismatch("object", value, c->err);
    }
    size_t n = 0, kept = 0;
    size_t size = map_item_size(field);
    tinkc_code code = TINKC_OK;
    const tk_json_member **members = tk_schema_members(value, &n);
    char *items = members != NULL ? tk_arena_array(c->arena, n, size) : NULL;
    if (items == NULL) {
        code = tk_err_nomem(c->err);
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        if ((c->flags & TK_DECODE_CLOSED) == 0 && !is_of_map(field, &members[i]->value)) {
            continue;
        }
        code = get_map_item(field, items + kept * size, c, members[i]);
        if (code != TINKC_OK) {
            tk_schema_under_key(c->err, members[i]->key);
            goto out;
        }
        kept++;
    }
    tk_schema_list_set(field, msg, items, kept);
out:
    tk_free(members);
    return code;
}

static tinkc_code get_list(const tk_field *field, void *msg, const ctx *c,
                           const tk_json *value)
{
    if (!tk_json_is_array(value)) {
        return tk_schema_mismatch("array", value, c->err);
    }
    size_t n = tk_json_len(value);
    char *items = tk_arena_array(c->arena, n, field->sub->size);
    if (items == NULL) {
        return tk_err_nomem(c->err);
    }
    for (size_t i = 0; i < n; i++) {
        tk_json packed = {.type = TK_JSON_NULL};
        const tk_json *item = &packed;
        if (value->type == TK_JSON_ARRAY) {
            item = &value->as.array.items[i];
        } else {
            packed = tk_json_at(value, i);
        }
        tinkc_code code = tk_schema_read(items + i * field->sub->size, field->sub,
                                         c->arena, item, c->flags, c->err);
        if (code != TINKC_OK) {
            tk_err_under_index(c->err, i);
            return code;
        }
    }
    tk_schema_list_set(field, msg, items, n);
    return TINKC_OK;
}

/* The texts of a list. As in a map, a newer server may put something else between them,
 * and an answer is read without it. */
static tinkc_code get_strs(const tk_field *field, tk_strs *out, const ctx *c,
                           const tk_json *value)
{
    if ((c->flags & TK_DECODE_CLOSED) != 0 || (field->flags & TK_IN_PLACE) != 0 ||
        !tk_json_is_array(value)) {
        return tk_schema_read_strs(out, c->arena, value, c->err);
    }
    size_t n = tk_json_len(value), kept = 0;
    tk_str *items = tk_arena_array(c->arena, n, sizeof(*items));
    if (items == NULL) {
        return tk_err_nomem(c->err);
    }
    for (size_t i = 0; i < n; i++) {
        tk_json item = tk_json_at(value, i);
        if (item.type == TK_JSON_STRING) {
            items[kept++] = item.as.string;
        }
    }
    *out = (tk_strs){items, kept};
    return TINKC_OK;
}

static tinkc_code get_numbers(const tk_field *field, void *msg, const ctx *c,
                              const tk_json *value)
{
    union {
        tk_strs strs;
        tk_i32s i32s;
        tk_i64s i64s;
        tk_f32s f32s;
    } list = {.strs = {NULL, 0}};
    tinkc_code code;
    switch ((int)field->kind) {
    case TK_KIND_STRS:
        code = get_strs(field, &list.strs, c, value);
        break;
    case TK_KIND_I32S:
        code = tk_schema_read_i32s(&list.i32s, c->arena, value, c->err);
        break;
    case TK_KIND_I64S:
        code = tk_schema_read_i64s(&list.i64s, c->arena, value, c->err);
        break;
    default:
        code = tk_schema_read_f32s(&list.f32s, c->arena, value,
                                   (field->flags & TK_NAN_NULL) != 0, c->err);
        break;
    }
    if (code == TINKC_OK) {
        tk_schema_list_set(field, msg, list.strs.p, list.strs.n);
    }
    return code;
}

static tinkc_code get_raw(const tk_field *field, const tk_json **out,
                          const tk_json *value, tk_err *err)
{
    if ((field->flags & TK_OBJECT) != 0 && value->type != TK_JSON_OBJECT) {
        return tk_schema_mismatch("object", value, err);
    }
    *out = value;
    return TINKC_OK;
}

static tinkc_code get_value(const tk_field *field, void *msg, const ctx *c,
                            const tk_json *value)
{
    void *at = (char *)msg + field->at;
    switch (field->kind) {
    case TK_KIND_STR:
        if (value->type != TK_JSON_STRING) {
            return tk_schema_mismatch("string", value, c->err);
        }
        *(tk_str *)at = value->as.string;
        return TINKC_OK;
    case TK_KIND_BOOL:
        if (value->type != TK_JSON_BOOL) {
            return tk_schema_mismatch("boolean", value, c->err);
        }
        *(bool *)at = value->as.boolean;
        return TINKC_OK;
    case TK_KIND_I64:
        return get_i64(field, at, value, c->err);
    case TK_KIND_U64:
        return get_u64(field, at, value, c->err);
    case TK_KIND_NUM:
        return tk_json_to_double(value, at) ? TINKC_OK
                                            : tk_schema_mismatch("number", value, c->err);
    case TK_KIND_ENUM:
        return get_enum(field, msg, c, value);
    case TK_KIND_TIME:
        return get_time(at, value, c->err);
    case TK_KIND_LITERAL:
        return get_literal(field, c, value);
    case TK_KIND_BASE64:
        return get_bytes(at, c, value);
    case TK_KIND_RAW:
        return get_raw(field, at, value, c->err);
    case TK_KIND_MSG:
        return tk_schema_read(at, field->sub, c->arena, value, c->flags, c->err);
    case TK_KIND_LIST:
        return get_list(field, msg, c, value);
    case TK_KIND_STR_MAP:
    case TK_KIND_NUM_MAP:
    case TK_KIND_MSG_MAP:
        return get_map(field, msg, c, value);
    case TK_KIND_STRS:
    case TK_KIND_I32S:
    case TK_KIND_I64S:
    case TK_KIND_F32S:
        break;
    }
    return get_numbers(field, msg, c, value);
}

static tinkc_code get_field(const tk_field *field, void *msg, const ctx *c,
                            const tk_json *value)
{
    bool required = (field->flags & TK_REQUIRED) != 0;
    if (value == NULL) {
        return required ? tk_err_set(c->err, TINKC_E_DECODE, "missing") : TINKC_OK;
    }
    bool null_ok = !required || (field->flags & TK_NULLABLE) != 0;
    bool means_null = field->kind == TK_KIND_RAW && field->form == TK_FORM_NONE;
    if (value->type == TK_JSON_NULL && null_ok && !means_null) {
        if (field->kind != TK_KIND_LITERAL) {
            tk_schema_presence_set(field, msg, TK_NULL);
        }
        return TINKC_OK;
    }
    tinkc_code code = get_value(field, msg, c, value);
    if (code == TINKC_OK && field->kind != TK_KIND_LITERAL) {
        tk_schema_presence_set(field, msg, TK_SET);
    }
    return code;
}

static bool knows(const tk_schema *schema, tk_str key)
{
    for (size_t i = 0; i < schema->n; i++) {
        if (tk_str_is(key, schema->fields[i].name)) {
            return true;
        }
    }
    return false;
}

static tinkc_code refuse_unknown(const tk_schema *schema, const ctx *c,
                                 const tk_json *value)
{
    for (size_t i = 0; i < value->as.object.n; i++) {
        const tk_json_member *member = &value->as.object.members[i];
        tk_str key = member->key;
        if (member->value.type != TK_JSON_NULL && !knows(schema, key)) {
            tinkc_code code =
                tk_err_set(c->err, TINKC_E_DECODE, "unknown key \"%.40s\"", key.p);
            tk_schema_under_key(c->err, key);
            return code;
        }
    }
    return TINKC_OK;
}

static tinkc_code read_fields(void *msg, const tk_schema *schema, const ctx *c,
                              const tk_json *value)
{
    if (schema->n == 1 && schema->fields[0].name == NULL) {
        return get_field(&schema->fields[0], msg, c, value);
    }
    if (value->type != TK_JSON_OBJECT) {
        return tk_schema_mismatch("object", value, c->err);
    }
    for (size_t i = 0; i < schema->n; i++) {
        const tk_field *field = &schema->fields[i];
        tinkc_code code = get_field(field, msg, c, tk_json_get(value, field->name));
        if (code != TINKC_OK) {
            tk_err_under(c->err, field->name);
            return code;
        }
    }
    return (c->flags & TK_DECODE_STRICT) != 0 ? refuse_unknown(schema, c, value)
                                              : TINKC_OK;
}

static const tk_variant *find_variant(const tk_union *u, const tk_json *value,
                                      const tk_json *tag)
{
    for (size_t i = 0; i < u->n; i++) {
        const tk_variant *v = &u->variants[i];
        bool hit = tag != NULL
                       ? tag->type == TK_JSON_STRING && tk_str_is(tag->as.string, v->tag)
                       : v->hint != NULL && tk_json_get(value, v->hint) != NULL;
        if (hit) {
            return v;
        }
    }
    return NULL;
}

static tinkc_code refuse_kind(const tk_union *u, const ctx *c, const tk_json *tag)
{
    tinkc_code code = TINKC_OK;
    if (tag == NULL) {
        code = tk_err_set(c->err, TINKC_E_DECODE, "missing");
    } else if (tag->type != TK_JSON_STRING) {
        code = tk_schema_mismatch("string", tag, c->err);
    } else {
        code = tk_err_set(c->err, TINKC_E_DECODE, "\"%.40s\" is not known",
                          tag->as.string.p);
    }
    tk_err_under(c->err, u->key);
    return code;
}

/* Whether an object without a tag has the keys of several kinds: which one is meant cannot
 * be known. */
static bool is_ambiguous(const tk_union *u, const tk_json *value)
{
    size_t hints = 0;
    for (size_t i = 0; i < u->n; i++) {
        const char *hint = u->variants[i].hint;
        hints += hint != NULL && tk_json_get(value, hint) != NULL;
    }
    return hints > 1;
}

static tinkc_code read_union(void *msg, const tk_union *u, const ctx *c,
                             const tk_json *value)
{
    if (value->type != TK_JSON_OBJECT) {
        return tk_schema_mismatch("object", value, c->err);
    }
    const tk_json *tag = tk_json_get(value, u->key);
    if (tag == NULL && (c->flags & TK_DECODE_CLOSED) != 0 && is_ambiguous(u, value)) {
        tinkc_code code = tk_err_set(c->err, TINKC_E_DECODE,
                                     "missing, and there are keys of more than one kind");
        tk_err_under(c->err, u->key);
        return code;
    }
    void *kind = (char *)msg + u->kind_at;
    const tk_variant *v = find_variant(u, value, tag);
    if (v != NULL) {
        tk_schema_init(msg, v->schema);
        *(int *)kind = v->kind;
        return read_fields(msg, v->schema, c, value);
    }
    bool is_word = tag != NULL && tag->type == TK_JSON_STRING;
    bool is_open = (c->flags & TK_DECODE_CLOSED) == 0;
    if (is_open || (is_word && u->unknown != TK_OTHER)) {
        *(int *)kind = u->unknown;
        *(const tk_json **)(void *)((char *)msg + u->raw_at) = value;
        return TINKC_OK;
    }
    return refuse_kind(u, c, tag);
}

tinkc_code tk_schema_read(void *msg, const tk_schema *schema, tk_arena *arena,
                          const tk_json *value, unsigned flags, tk_err *err)
{
    const ctx c = {arena, flags, err};
    tk_schema_init(msg, schema);
    if (value == NULL) {
        return tk_err_set(err, TINKC_E_DECODE, "missing");
    }
    if (schema->codec != NULL) {
        return schema->codec->decode(msg, arena, value, flags, err);
    }
    if (schema->variants != NULL) {
        return read_union(msg, schema->variants, &c, value);
    }
    return read_fields(msg, schema, &c, value);
}

tinkc_code tk_schema_decode(void *msg, const tk_schema *schema, tk_arena *arena,
                            const tk_json *value, unsigned flags, tk_err *err)
{
    tk_err found = TK_ERR_INIT;
    if (tk_schema_read(msg, schema, arena, value, flags, &found) == TINKC_OK) {
        return TINKC_OK;
    }
    memset(msg, 0, schema->size);
    return tk_schema_report(err, &found, schema->name);
}

tinkc_code tk_schema_decode_text(void *msg, const tk_schema *schema, tk_arena *arena,
                                 tk_str text, unsigned flags, tk_err *err)
{
    const tk_json *value = NULL;
    memset(msg, 0, schema->size);
    tinkc_code code = tk_json_parse(&value, arena, text.p, text.n, NULL, err);
    return code != TINKC_OK ? code
                            : tk_schema_decode(msg, schema, arena, value, flags, err);
}
