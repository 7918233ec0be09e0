/* Arguments that a model writes as text (qwen-coder, glm): a JSON object is built, with
 * the types of the tool's schema.
 *
 * A type that the schema allows and the text fits is taken, in this order: null, integer,
 * number, boolean, object, array. Otherwise, and without a schema, the value is the text.
 * That is how vLLM does it; unlike vLLM, text that is not exact JSON stays text, except
 * true and false in capitals, which the template of Qwen3-Coder writes itself. */
#include "chatapi/ca_parse.h"

enum {
    T_NULL = 1,
    T_INTEGER = 2,
    T_NUMBER = 4,
    T_BOOLEAN = 8,
    T_OBJECT = 16,
    T_ARRAY = 32,
    T_STRING = 64
};

static const struct {
    const char *name;
    unsigned type;
} type_names[] = {
    {"null", T_NULL},       {"integer", T_INTEGER}, {"int", T_INTEGER},
    {"number", T_NUMBER},   {"float", T_NUMBER},    {"double", T_NUMBER},
    {"boolean", T_BOOLEAN}, {"bool", T_BOOLEAN},    {"object", T_OBJECT},
    {"dict", T_OBJECT},     {"array", T_ARRAY},     {"list", T_ARRAY},
    {"string", T_STRING},   {"str", T_STRING},
};

static unsigned named_type(const tk_json *name)
{
    for (size_t i = 0; name->type == TK_JSON_STRING && i < TK_ARRAY_LEN(type_names);
         i++) {
        if (tk_str_is_nocase(name->as.string, type_names[i].name)) {
            return type_names[i].type;
        }
    }
    return 0;
}

static unsigned type_of_value(const tk_json *value)
{
    switch (value->type) {
    case TK_JSON_NULL:
        return T_NULL;
    case TK_JSON_BOOL:
        return T_BOOLEAN;
    case TK_JSON_INT:
    case TK_JSON_UINT:
        return T_INTEGER;
    case TK_JSON_REAL:
        return T_NUMBER;
    case TK_JSON_STRING:
        return T_STRING;
    case TK_JSON_OBJECT:
        return T_OBJECT;
    case TK_JSON_ARRAY:
    case TK_JSON_INTS:
    case TK_JSON_REALS:
        break;
    }
    return T_ARRAY;
}

/* The types that a schema allows; 0 = it does not say. Schemas inside schemas are as deep
 * as the JSON reader let them be. */
static unsigned types_of(const tk_json *schema)
{
    static const char *const choices[] = {"anyOf", "oneOf", "allOf"};
    const tk_json *type = tk_json_get(schema, "type");
    const tk_json *values = tk_json_get(schema, "enum");
    unsigned types = type != NULL ? named_type(type) : 0;
    for (size_t i = 0; type != NULL && i < tk_json_len(type); i++) {
        tk_json item = tk_json_at(type, i);
        types |= named_type(&item);
    }
    for (size_t i = 0; values != NULL && i < tk_json_len(values); i++) {
        tk_json item = tk_json_at(values, i);
        types |= type_of_value(&item);
    }
    for (size_t k = 0; k < TK_ARRAY_LEN(choices); k++) {
        const tk_json *list = tk_json_get(schema, choices[k]);
        for (size_t i = 0; list != NULL && i < tk_json_len(list); i++) {
            tk_json item = tk_json_at(list, i);
            types |= types_of(&item);
        }
    }
    return types;
}

/* The schema of an argument, or NULL. A tool is {"type": "function", "function": {...}} or
 * what is inside. */
static const tk_json *find_schema(const tk_json *tools, tk_str tool, tk_str key)
{
    for (size_t i = 0;
         tools != NULL && tools->type == TK_JSON_ARRAY && i < tools->as.array.n; i++) {
        const tk_json *item = &tools->as.array.items[i];
        const tk_json *function = tk_json_get(item, "function");
        function = function != NULL ? function : item;
        const tk_json *name = tk_json_get(function, "name");
        if (name == NULL || name->type != TK_JSON_STRING ||
            !tk_str_eq(name->as.string, tool)) {
            continue;
        }
        const tk_json *object =
            tk_json_get(tk_json_get(function, "parameters"), "properties");
        for (size_t k = 0;
             object != NULL && object->type == TK_JSON_OBJECT && k < object->as.object.n;
             k++) {
            if (tk_str_eq(object->as.object.members[k].key, key)) {
                return &object->as.object.members[k].value;
            }
        }
    }
    return NULL;
}

/* Puts the value as one of the types. False: the text is none of them. */
static bool put_typed(tk_json_writer *w, unsigned types, const tk_json *value,
                      tk_str text)
{
    bool is_true = tk_str_is_nocase(text, "true");
    if ((types & T_BOOLEAN) != 0 && (is_true || tk_str_is_nocase(text, "false"))) {
        tk_json_put_bool(w, is_true);
        return true;
    }
    if (value == NULL || value->type == TK_JSON_STRING || value->type == TK_JSON_BOOL) {
        return false;
    }
    unsigned type = type_of_value(value);
    bool fits = (types & type) != 0 || (type == T_INTEGER && (types & T_NUMBER) != 0);
    if (fits) {
        tk_json_put_value(w, value);
    }
    return fits;
}

void ca_args_begin(ca_scan *scan)
{
    tk_buf_clear(&scan->args);
    tk_json_writer_init(&scan->args_writer, &scan->args);
    tk_json_begin_object(&scan->args_writer);
}

void ca_args_put(ca_scan *scan, tk_str tool, tk_str key, tk_str value)
{
    const tk_json *schema = find_schema(ca_parser_tools(scan->parser), tool, key);
    unsigned types = schema != NULL ? types_of(schema) : 0;
    const tk_json *parsed = NULL;
    tk_arena arena;
    tk_arena_init(&arena, 0);
    if ((types & ~(unsigned)T_STRING) != 0) {
        tinkc_code code =
            tk_json_parse(&parsed, &arena, value.p, value.n, TK_JSON_AS_WRITTEN, NULL);
        if (code == TINKC_E_NOMEM) {
            ca_parser_fail(scan->parser, code);
        }
    }
    tk_json_key(&scan->args_writer, key);
    if (types == 0 || !put_typed(&scan->args_writer, types, parsed, tk_str_trim(value))) {
        tk_json_put_str(&scan->args_writer, value);
    }
    tk_arena_dispose(&arena);
}

bool ca_args_put_kind(ca_scan *scan, tk_str key, tk_str value, bool is_text)
{
    const tk_json *parsed = NULL;
    tk_arena arena;
    tk_arena_init(&arena, 0);
    tk_json_key(&scan->args_writer, key);
    if (is_text) {
        tk_json_put_str(&scan->args_writer, value);
    } else {
        tinkc_code code =
            tk_json_parse(&parsed, &arena, value.p, value.n, TK_JSON_AS_WRITTEN, NULL);
        if (code == TINKC_OK) {
            tk_json_put_value(&scan->args_writer, parsed);
        } else if (code == TINKC_E_NOMEM) {
            ca_parser_fail(scan->parser, code);
        }
    }
    tk_arena_dispose(&arena);
    return is_text || parsed != NULL;
}

ca_verdict ca_args_emit(ca_scan *scan, tk_str tool)
{
    tk_json_end_object(&scan->args_writer);
    if (scan->args.failure == TINKC_E_NOMEM) {
        ca_parser_fail(scan->parser, TINKC_E_NOMEM);
        return CA_SCAN_NOT;
    }
    if (scan->args.failure != TINKC_OK) { /* not UTF-8, or too long */
        return CA_SCAN_NOT;
    }
    return ca_scan_emit(scan, tool, tk_buf_str(&scan->args), (tk_str){NULL, 0});
}
