/* The parts that message structs are made of.
 *
 * Presence is explicit: a field is unset, null, or has a value. Unset fields take their
 * default or are left out; null is written only where the field allows it. Arrays and
 * strings borrow: when encoding from the caller, when decoding from the arena that the
 * message was decoded into. */
#ifndef WIRE_FIELD_H
#define WIRE_FIELD_H

#include "base/json.h"
#include "base/str.h"
#include "base/tk.h"

typedef enum tk_presence { TK_UNSET = 0, TK_NULL = 1, TK_SET = 2 } tk_presence;

typedef struct tk_i32s {
    const int32_t *p;
    size_t n;
} tk_i32s;

typedef struct tk_i64s {
    const int64_t *p;
    size_t n;
} tk_i64s;

typedef struct tk_f32s {
    const float *p;
    size_t n;
} tk_f32s;

typedef struct tk_bytes {
    const unsigned char *p;
    size_t n;
} tk_bytes;

typedef struct tk_strs {
    const tk_str *p;
    size_t n;
} tk_strs;

typedef struct tk_named_str {
    tk_str name;
    tk_str v;
} tk_named_str;

typedef struct tk_str_map {
    const tk_named_str *items; /* in insertion order; names are unique */
    size_t n;
} tk_str_map;

typedef struct tk_named_num {
    tk_str name;
    double v;
} tk_named_num;

typedef struct tk_num_map {
    const tk_named_num *items; /* in insertion order; names are unique */
    size_t n;
} tk_num_map;

/* One type per kind of field; `is` says unset, null or set. */
typedef struct tk_f_str {
    tk_presence is;
    tk_str v;
} tk_f_str;

typedef struct tk_f_bool {
    tk_presence is;
    bool v;
} tk_f_bool;

typedef struct tk_f_i64 {
    tk_presence is;
    int64_t v;
} tk_f_i64;

typedef struct tk_f_u64 {
    tk_presence is;
    uint64_t v;
} tk_f_u64;

typedef struct tk_f_num {
    tk_presence is;
    double v;
} tk_f_num;

/* Enumeration: `v` is the row of the field's name table; a name that the table does not
 * hold decodes to the table's `unknown` row (schema.h). */
typedef struct tk_f_enum {
    tk_presence is;
    int v;
} tk_f_enum;

/* Point in time: microseconds since 1970-01-01T00:00:00Z. */
typedef struct tk_f_time {
    tk_presence is;
    int64_t us;
} tk_f_time;

typedef struct tk_f_str_map {
    tk_presence is;
    tk_str_map v;
} tk_f_str_map;

typedef struct tk_f_num_map {
    tk_presence is;
    tk_num_map v;
} tk_f_num_map;

/* A JSON value passed through as it is. */
typedef struct tk_f_raw {
    tk_presence is;
    const tk_json *v;
} tk_f_raw;

#define TK_F_STR(text)                                                                   \
    {                                                                                    \
        TK_SET,                                                                          \
        {                                                                                \
            (text), sizeof(text) - 1                                                     \
        }                                                                                \
    }
#define TK_F_VAL(value)                                                                  \
    {                                                                                    \
        TK_SET, (value)                                                                  \
    }

/* Returns the text as a field, which is absent for NULL. */
static inline tk_f_str tk_f_str_of(const char *text)
{
    return (tk_f_str){text != NULL ? TK_SET : TK_UNSET, tk_str_of(text)};
}

#endif
