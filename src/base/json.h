/* JSON, strict RFC 8259: reader into an arena, streaming writer onto a tk_buf.
 *
 * Ours because it measures (docs/decisions.md): token arrays parse an order of magnitude
 * faster than with the packaged C libraries. Arrays that hold only numbers are stored
 * packed: TK_JSON_INTS when all are integers that fit int64, TK_JSON_REALS when at least
 * one has a fraction or exponent and the others are exact as doubles. No digit is lost:
 * where an integer beyond 2^53 is next to a real, the array is mixed. Read arrays through
 * tk_json_len / tk_json_at when the form does not matter. Input is hostile: limits on
 * bytes and depth, valid UTF-8 only, no lone surrogates, no numbers that overflow a
 * double, errors carry the byte offset. Thread: any, as long as an arena is used by one
 * thread at a time. Values are immutable. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

typedef enum tk_json_type {
    TK_JSON_NULL,
    TK_JSON_BOOL,
    TK_JSON_INT,  /* fits int64; "-0" is 0, as in Python */
    TK_JSON_UINT, /* integer above INT64_MAX that fits uint64 */
    TK_JSON_REAL, /* has a fraction or exponent, or is an integer too large for the above
                   */
    TK_JSON_STRING,
    TK_JSON_ARRAY, /* mixed, or empty */
    TK_JSON_INTS,  /* non-empty, packed */
    TK_JSON_REALS, /* non-empty, packed */
    TK_JSON_OBJECT
} tk_json_type;

typedef struct tk_json tk_json;
typedef struct tk_json_member tk_json_member;

struct tk_json {
    tk_json_type type;
    union {
        bool boolean;
        int64_t integer;
        uint64_t uinteger;
        double real;
        tk_str string; /* followed by a NUL; may hold NULs */
        struct {
            const tk_json *items;
            size_t n;
        } array;
        struct {
            const int64_t *items;
            size_t n;
        } ints;
        struct {
            const double *items;
            size_t n;
        } reals;
        struct {
            const tk_json_member *members; /* in document order, duplicates kept */
            size_t n;
        } object;
    } as;
};

struct tk_json_member {
    tk_str key;
    tk_json value;
};

typedef struct tk_json_limits {
    size_t max_bytes; /* 0 = TK_JSON_MAX_BYTES */
    size_t max_depth; /* arrays and objects inside each other; at most, and 0 means,
                         TK_JSON_MAX_DEPTH */
    bool keeps_kinds; /* an array of integers and reals is not packed: in [1.0, 2] the 2
                         stays an integer, and is written as one */
} tk_json_limits;

/* For what is shown again as it was written: tools, arguments of calls, messages. */
#define TK_JSON_AS_WRITTEN (&(const tk_json_limits){.keeps_kinds = true})

/* Parses exactly one value with white space around it. On success *out lives in the
 * arena; on failure *out is NULL and err says TINKC_E_PARSE, TINKC_E_LIMIT or
 * TINKC_E_NOMEM, with the byte offset. Strings are copied: `text` may die. limits may be
 * NULL. */
TK_NODISCARD tinkc_code tk_json_parse(const tk_json **out, tk_arena *arena,
                                      const char *text, size_t n,
                                      const tk_json_limits *limits, tk_err *err);

/* For messages: "null", "boolean", "integer", "number", "string", "array", "object". */
const char *tk_json_type_name(tk_json_type type);

/* The value of a key, or NULL when absent or when `object` is not an object (or NULL).
 * The last of several equal keys counts, as in Python. */
const tk_json *tk_json_get(const tk_json *object, const char *key);

bool tk_json_is_array(const tk_json *value);
size_t tk_json_len(const tk_json *value);               /* 0 when it is not an array */
tk_json tk_json_at(const tk_json *array, size_t index); /* null after the end */

/* Conversions: false, and *out untouched, when the type or the range does not fit. */
TK_NODISCARD bool tk_json_to_i64(const tk_json *value, int64_t *out); /* 3, also 3.0 */
TK_NODISCARD bool tk_json_to_u64(const tk_json *value, uint64_t *out);
TK_NODISCARD bool tk_json_to_double(const tk_json *value, double *out);

/* ---- writing ----
 *
 * A writer puts commas and colons; it does not format for people. Failure is the buffer's
 * sticky failure; a value JSON cannot hold (NaN, infinity, bad UTF-8) or a call in the
 * wrong place (value without key, unbalanced end) fails the buffer with TINKC_E_INVALID;
 * nesting beyond TK_JSON_MAX_DEPTH with TINKC_E_LIMIT. Doubles always get a fraction or
 * an exponent ("3.0"), so that they read back as TK_JSON_REAL. */
typedef struct tk_json_writer {
    tk_buf *out;
    unsigned depth;
    bool need_comma;
    bool after_key;
    uint64_t is_object[2]; /* one bit per level, TK_JSON_MAX_DEPTH levels */
} tk_json_writer;

void tk_json_writer_init(tk_json_writer *w, tk_buf *out);
void tk_json_begin_object(tk_json_writer *w);
void tk_json_end_object(tk_json_writer *w);
void tk_json_begin_array(tk_json_writer *w);
void tk_json_end_array(tk_json_writer *w);
void tk_json_key(tk_json_writer *w, tk_str key);
void tk_json_put_null(tk_json_writer *w);
void tk_json_put_bool(tk_json_writer *w, bool value);
void tk_json_put_i64(tk_json_writer *w, int64_t value);
void tk_json_put_u64(tk_json_writer *w, uint64_t value);
void tk_json_put_double(tk_json_writer *w, double value); /* shortest that reads back */
void tk_json_put_str(tk_json_writer *w, tk_str value);    /* non-ASCII unescaped */
void tk_json_put_base64(tk_json_writer *w, const void *data, size_t n);

/* Whole arrays, without a call per element. f32 values are written with the fewest digits
 * that read back as the same float, also by way of a double; NaN becomes null when
 * nan_is_null, else it fails. */
void tk_json_put_i32s(tk_json_writer *w, const int32_t *values, size_t n);
void tk_json_put_i64s(tk_json_writer *w, const int64_t *values, size_t n);
void tk_json_put_f32s(tk_json_writer *w, const float *values, size_t n, bool nan_is_null);
void tk_json_put_doubles(tk_json_writer *w, const double *values, size_t n);

void tk_json_put_value(tk_json_writer *w, const tk_json *value);

/* Whether one whole value was written: TINKC_E_INVALID (and the buffer fails) when
 * nothing was, or something is still open; else the buffer's status. */
TK_NODISCARD tinkc_code tk_json_finish(tk_json_writer *w, tk_err *err);

#endif
