/* Messages as tables: a message is a C struct and a const tk_schema that says, row by
 * row, which JSON key each member is and how it travels. One encoder and one decoder walk
 * the tables; documentation, tests and fuzzers walk the same ones (schemas.h).
 *
 * Rules of the walk:
 *   encoding, unset    writes the row's default; without one the key is left out, which
 *                      is an error when the row is required
 *   encoding, null     writes `null` when the row is TK_NULLABLE, else TINKC_E_INVALID
 *   decoding, absent   reads as unset, with the row's default as the value; an error when
 *                      the row is required
 *   decoding, null     reads as TK_NULL when the row is optional or nullable, else is an
 *                      error
 *   decoding, unknown  keys are ignored unless TK_DECODE_STRICT, and with it where the
 *                      value is null, which asks for nothing; words of an enumeration
 *                      and kinds of a union are kept (TK_OTHER), and entries of a map
 *                      that are of another kind are left out, unless TK_DECODE_CLOSED
 *
 * So an answer of a newer server stays readable, and a request that a server of this
 * tree cannot carry out is refused by name.
 *
 * Thread: any; schemas are immutable. */
#ifndef WIRE_SCHEMA_H
#define WIRE_SCHEMA_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "wire/field.h"

typedef enum tk_kind {
    TK_KIND_STR,     /* tk_str */
    TK_KIND_BOOL,    /* bool */
    TK_KIND_I64,     /* int64_t within min..max */
    TK_KIND_U64,     /* uint64_t */
    TK_KIND_NUM,     /* double, finite */
    TK_KIND_ENUM,    /* int (or a C enum): a row of `names` */
    TK_KIND_TIME,    /* int64_t, microseconds since 1970; RFC 3339 or a unix number */
    TK_KIND_LITERAL, /* no member: `text`, always written, see TK_DECODE_CLOSED */
    TK_KIND_BASE64,  /* tk_bytes */
    TK_KIND_STRS,    /* lists: pointer at `at`, count at `n_at` */
    TK_KIND_I32S,
    TK_KIND_I64S,
    TK_KIND_F32S,
    TK_KIND_STR_MAP, /* tk_named_str[]: object of strings */
    TK_KIND_NUM_MAP, /* tk_named_num[]: object of finite numbers */
    TK_KIND_RAW,     /* const tk_json *: any value, kept as it is */
    TK_KIND_MSG,     /* struct of `sub` */
    TK_KIND_LIST,    /* array of structs of `sub` */
    TK_KIND_MSG_MAP  /* array of wrappers: tk_str key first, struct of `sub` at item_at */
} tk_kind;

enum {
    TK_REQUIRED = 1u << 0,
    TK_NULLABLE = 1u << 1,  /* null may be written; a required row also accepts it */
    TK_DEFAULT = 1u << 2,   /* `def` is sent when unset; RAW: an empty object */
    TK_OMIT_ZERO = 1u << 3, /* a member without presence: zero or empty counts as unset */
    TK_NAN_NULL = 1u << 4,  /* F32S: NaN travels as null */
    TK_OBJECT = 1u << 5,    /* RAW: must be an object */
    TK_MICROS = 1u << 7,    /* TIME: six digits of fraction, always */
    TK_SIGNED = 1u << 6,    /* U64: negative integers are taken too, their bits kept */
    TK_IN_PLACE = 1u << 8   /* STRS: places count, so that no element can be left out */
};

/* Where the presence of a member is kept. */
typedef enum tk_form {
    TK_FORM_NONE, /* nowhere: always set, but see TK_OMIT_ZERO; a NULL RAW is unset */
    TK_FORM_TRI,  /* tk_presence at is_at */
    TK_FORM_BOOL  /* bool at is_at; null reads as absent */
} tk_form;

typedef struct tk_schema tk_schema;

/* The value of an enumeration, or the kind of a union, that its table does not hold. */
enum { TK_OTHER = -1 };

/* Words of an enumeration. Matched without regard to ASCII case, written as they are
 * here. `unknown` is the row that any other word decodes to; with TK_OTHER, such a word
 * is an error with TK_DECODE_CLOSED. */
typedef struct tk_names {
    const char *const *words;
    int n;
    int unknown;
} tk_names;

typedef struct tk_field {
    const char *name; /* JSON key; NULL: the row is the whole value, see tk_schema */
    tk_kind kind;
    unsigned flags;
    tk_form form;
    size_t at, n_at, is_at; /* offsets into the struct */
    union {
        bool b;
        int64_t i;
        double d;
        const char *s; /* STR */
    } def;
    int64_t min, max;          /* I64; both 0 = no range */
    const tk_names *names;     /* ENUM */
    size_t word_at;            /* ENUM: a tk_str that keeps the word; 0: it is not kept */
    const char *text;          /* LITERAL */
    const tk_schema *sub;      /* MSG, LIST, MSG_MAP */
    size_t item_size, item_at; /* MSG_MAP */
} tk_field;

/* One member of a tagged union. `schema` describes the same struct as the union's. */
typedef struct tk_variant {
    const char *tag;
    int kind;
    const tk_schema *schema;
    const char
        *hint; /* a key that gives this kind away when the tag is missing, or NULL */
} tk_variant;

typedef struct tk_union {
    const char *key; /* of the tag */
    size_t kind_at;  /* int (or a C enum) */
    const tk_variant *variants;
    size_t n;
    int unknown;   /* kind of a tag not listed; TK_OTHER: see TK_DECODE_CLOSED */
    size_t raw_at; /* const tk_json *: the object of such a kind */
} tk_union;

/* For values that no table can describe. `decode` gets a zeroed struct and may leave
 * anything in it on failure; both report relative paths. */
typedef struct tk_codec {
    tinkc_code (*encode)(tk_json_writer *w, const void *value, tk_err *err);
    tinkc_code (*decode)(void *value, tk_arena *arena, const tk_json *json,
                         unsigned flags, tk_err *err);
    const char *shape;     /* for the documentation: "string | string[] | int[]", or */
    const tk_schema *like; /* a table that reads like it */
} tk_codec;

/* Exactly one of `fields`, `variants` and `codec` is used. A single row without a name
 * makes the struct transparent: its JSON form is that row's value, without an object
 * around it. Rules over several members are functions of the message (tk_..._check). */
struct tk_schema {
    const char *name;
    size_t size; /* of the struct */
    const tk_field *fields;
    size_t n;
    const tk_union *variants;
    const tk_codec *codec;
};

enum {
    TK_DECODE_STRICT = 1u << 0, /* unknown keys with a value are errors, everywhere */
    TK_DECODE_CLOSED = 1u << 1  /* unknown words, kinds and literals, and foreign entries
                                   of a map, are errors: for requests, and for files of
                                   this program */
};

/* Zeroes the struct and puts every row's default where a reader looks for the value;
 * presence stays unset. A struct that was only zeroed encodes the same. */
void tk_schema_init(void *msg, const tk_schema *schema);

/* Appends the JSON text. On failure nothing was appended; TINKC_E_INVALID carries the
 * offending field in err->path. */
TK_NODISCARD tinkc_code tk_schema_encode(tk_buf *out, const tk_schema *schema,
                                         const void *msg, tk_err *err);

/* Where the value of one row of a message was written: text[at .. at + n). */
typedef struct tk_schema_mark {
    const char *name; /* of the row; set by the caller */
    size_t at, n;     /* n = 0: the row was left out */
} tk_schema_mark;

/* Does what tk_schema_encode does and tells where the value of the row `mark->name` is,
 * so that it can be replaced later. For a schema with `fields`, and one of those rows. */
TK_NODISCARD tinkc_code tk_schema_encode_marked(tk_buf *out, tk_schema_mark *mark,
                                                const tk_schema *schema, const void *msg,
                                                tk_err *err);

/* Same, as one value of a document that `w` is writing. On failure the document is
 * useless. Paths are relative. */
TK_NODISCARD tinkc_code tk_schema_write(tk_json_writer *w, const tk_schema *schema,
                                        const void *msg, tk_err *err);

/* Fills *msg. Strings, packed arrays and raw values borrow from `value`, the rest lives
 * in the arena: keep both. On failure *msg is all zero; TINKC_E_DECODE carries the path
 * ("training_runs[3].cursor.offset") in err->path. A NULL value is TINKC_E_DECODE. */
TK_NODISCARD tinkc_code tk_schema_decode(void *msg, const tk_schema *schema,
                                         tk_arena *arena, const tk_json *value,
                                         unsigned flags, tk_err *err);

/* Parses and decodes; everything lives in the arena, `text` may die. On failure *msg is
 * all zero; also TINKC_E_PARSE, TINKC_E_LIMIT, TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code tk_schema_decode_text(void *msg, const tk_schema *schema,
                                              tk_arena *arena, tk_str text,
                                              unsigned flags, tk_err *err);

/* Same without the whole-message framing, for codecs: relative paths, *msg undefined on
 * failure. */
TK_NODISCARD tinkc_code tk_schema_read(void *msg, const tk_schema *schema,
                                       tk_arena *arena, const tk_json *value,
                                       unsigned flags, tk_err *err);

/* ---- pieces for codecs and for walkers of the tables ---- */

tk_presence tk_schema_presence(const tk_field *field, const void *msg);

/* The word of an enumeration row, or NULL when the number is out of range. */
const char *tk_names_word(const tk_names *names, int row);

/* The row of a word, the table's unknown row, or -1. */
int tk_names_find(const tk_names *names, tk_str word);

/* TINKC_E_DECODE "expected integer, found string". */
tinkc_code tk_schema_mismatch(const char *expected, const tk_json *found, tk_err *err);

/* Puts a map key in front of the error path; characters that do not print are
 * replaced. */
void tk_schema_under_key(tk_err *err, tk_str key);

/* Writes an array of floats. NaN becomes null when nan_is_null; what JSON cannot hold is
 * TINKC_E_INVALID with the index in err->path. */
TK_NODISCARD tinkc_code tk_schema_put_f32s(tk_json_writer *w, const float *items,
                                           size_t n, bool nan_is_null, tk_err *err);

/* Arrays of numbers; null elements only where NaN is allowed. Out of the arena or
 * borrowed from the value. */
TK_NODISCARD tinkc_code tk_schema_read_i64s(tk_i64s *out, tk_arena *arena,
                                            const tk_json *value, tk_err *err);
TK_NODISCARD tinkc_code tk_schema_read_i32s(tk_i32s *out, tk_arena *arena,
                                            const tk_json *value, tk_err *err);
TK_NODISCARD tinkc_code tk_schema_read_f32s(tk_f32s *out, tk_arena *arena,
                                            const tk_json *value, bool null_is_nan,
                                            tk_err *err);
TK_NODISCARD tinkc_code tk_schema_read_strs(tk_strs *out, tk_arena *arena,
                                            const tk_json *value, tk_err *err);

/* ---- rows ----
 *
 * A row is written {TK_ROW(T, member, KIND, flags), more designators...}; the JSON key is
 * the member's name. TK_ROW is for presence types, TK_BARE for members without one. A
 * list or map is a member that holds a pointer and a count, or a pair `m` and `m_n`. */

#define TK_ROW_AT_(T, m, k, f)                                                           \
    .name = #m, .kind = TK_KIND_##k, .flags = (f), .form = TK_FORM_TRI,                  \
    .is_at = offsetof(T, m.is)
#define TK_ROW(T, m, k, f)      TK_ROW_AT_(T, m, k, f), .at = offsetof(T, m.v)
#define TK_ROW_TIME(T, m, f)    TK_ROW_AT_(T, m, TIME, f), .at = offsetof(T, m.us)
#define TK_ROW_LIST(T, m, k, f) TK_ROW_AT_(T, m, k, f), TK_PAIR_(T, m.v.p, m.v.n)
#define TK_ROW_MAP(T, m, k, f)  TK_ROW_AT_(T, m, k, f), TK_PAIR_(T, m.v.items, m.v.n)

#define TK_PAIR_(T, p, count)    .at = offsetof(T, p), .n_at = offsetof(T, count)
#define TK_BARE_AT_(m, k, f)     .name = #m, .kind = TK_KIND_##k, .flags = (f)
#define TK_BARE(T, m, k, f)      TK_BARE_AT_(m, k, f), .at = offsetof(T, m)
#define TK_BARE_LIST(T, m, k, f) TK_BARE_AT_(m, k, f), TK_PAIR_(T, m.p, m.n)
#define TK_BARE_MAP(T, m, k, f)  TK_BARE_AT_(m, k, f), TK_PAIR_(T, m.items, m.n)
#define TK_BARE_PAIR(T, m, k, f) TK_BARE_AT_(m, k, f), TK_PAIR_(T, m, m##_n)

#define TK_LITERAL(key, word) .name = (key), .kind = TK_KIND_LITERAL, .text = (word)
#define TK_RANGE(lo, hi)      .min = (lo), .max = (hi)
#define TK_WORDS(T, list, m)  .names = &(list), .word_at = offsetof(T, m)

/* The descriptor of struct T whose rows are the array `rows`. */
#define TK_SCHEMA(T, label, rows)                                                        \
    .name = (label), .size = sizeof(T), .fields = (rows), .n = TK_ARRAY_LEN(rows)

#endif
