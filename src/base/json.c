/* Looking at JSON values: members, elements, conversions; see json.h. */
#include "base/json.h"

#include <math.h>
#include <string.h>

const char *tk_json_type_name(tk_json_type type)
{
    switch (type) {
    case TK_JSON_NULL:
        return "null";
    case TK_JSON_BOOL:
        return "boolean";
    case TK_JSON_INT:
    case TK_JSON_UINT:
        return "integer";
    case TK_JSON_REAL:
        return "number";
    case TK_JSON_STRING:
        return "string";
    case TK_JSON_ARRAY:
    case TK_JSON_INTS:
    case TK_JSON_REALS:
        return "array";
    case TK_JSON_OBJECT:
        return "object";
    }
    return "unknown";
}

const tk_json *tk_json_get(const tk_json *object, const char *key)
{
    if (object == NULL || object->type != TK_JSON_OBJECT) {
        return NULL;
    }
    tk_str wanted = tk_str_of(key);
    for (size_t i = object->as.object.n; i-- > 0;) {
        const tk_json_member *member = &object->as.object.members[i];
        if (tk_str_eq(member->key, wanted)) {
            return &member->value;
        }
    }
    return NULL;
}

bool tk_json_is_array(const tk_json *value)
{
    return value != NULL && (value->type == TK_JSON_ARRAY ||
                             value->type == TK_JSON_INTS || value->type == TK_JSON_REALS);
}

size_t tk_json_len(const tk_json *value)
{
    if (!tk_json_is_array(value)) {
        return 0;
    }
    return value->type == TK_JSON_INTS    ? value->as.ints.n
           : value->type == TK_JSON_REALS ? value->as.reals.n
                                          : value->as.array.n;
}

tk_json tk_json_at(const tk_json *array, size_t index)
{
    tk_json item = {.type = TK_JSON_NULL};
    if (index >= tk_json_len(array)) {
        return item;
    }
    if (array->type == TK_JSON_INTS) {
        item.type = TK_JSON_INT;
        item.as.integer = array->as.ints.items[index];
    } else if (array->type == TK_JSON_REALS) {
        item.type = TK_JSON_REAL;
        item.as.real = array->as.reals.items[index];
    } else {
        item = array->as.array.items[index];
    }
    return item;
}

/* 2^63 and 2^64 are doubles; the largest integers below them are not. */
#define TWO_63 9223372036854775808.0
#define TWO_64 18446744073709551616.0

bool tk_json_to_i64(const tk_json *value, int64_t *out)
{
    if (value == NULL) {
        return false;
    }
    if (value->type == TK_JSON_INT) {
        *out = value->as.integer;
        return true;
    }
    double real = value->type == TK_JSON_REAL ? value->as.real : 0.5;
    if (!(real >= -TWO_63 && real < TWO_63) || trunc(real) != real) {
        return false;
    }
    *out = (int64_t)real;
    return true;
}

bool tk_json_to_u64(const tk_json *value, uint64_t *out)
{
    if (value == NULL) {
        return false;
    }
    if (value->type == TK_JSON_UINT) {
        *out = value->as.uinteger;
        return true;
    }
    if (value->type == TK_JSON_INT) {
        if (value->as.integer < 0) {
            return false;
        }
        *out = (uint64_t)value->as.integer;
        return true;
    }
    double real = value->type == TK_JSON_REAL ? value->as.real : 0.5;
    if (!(real >= 0 && real < TWO_64) || trunc(real) != real) {
        return false;
    }
    *out = (uint64_t)real;
    return true;
}

bool tk_json_to_double(const tk_json *value, double *out)
{
    if (value == NULL) {
        return false;
    }
    if (value->type == TK_JSON_REAL) {
        *out = value->as.real;
    } else if (value->type == TK_JSON_INT) {
        *out = (double)value->as.integer;
    } else if (value->type == TK_JSON_UINT) {
        *out = (double)value->as.uinteger;
    } else {
        return false;
    }
    return true;
}
