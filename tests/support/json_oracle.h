/* Our JSON against jansson on one text: both accept or both refuse, the values are equal,
 * and what we write reads back as the same tree. Used by test_json_jansson and fuzz_json;
 * a header, because only those two link jansson.
 *
 * Where the two may differ (each is checked to be the reason, not just assumed):
 *   - we stop at 128 levels, jansson at 2,048;
 *   - jansson has no integers beyond int64; we read them as UINT or REAL;
 *   - jansson has no NUL in keys;
 *   - jansson loses a NUL byte (outside of strings) after a number or a word. */
#ifndef SUPPORT_JSON_ORACLE_H
#define SUPPORT_JSON_ORACLE_H

#include <jansson.h>
#include <string.h>

#include "base/json.h"

static inline bool json_oracle_equal(const tk_json *a, const tk_json *b);

static inline bool json_oracle_equal_members(const tk_json *a, const tk_json *b)
{
    if (a->as.object.n != b->as.object.n) {
        return false;
    }
    for (size_t i = 0; i < a->as.object.n; i++) {
        const tk_json_member *x = &a->as.object.members[i];
        const tk_json_member *y = &b->as.object.members[i];
        if (!tk_str_eq(x->key, y->key) || !json_oracle_equal(&x->value, &y->value)) {
            return false;
        }
    }
    return true;
}

static inline bool json_oracle_same_double(double a, double b)
{
    return memcmp(&a, &b, sizeof(a)) == 0;
}

/* Two of ours: the same form, order and bits. */
static inline bool json_oracle_equal(const tk_json *a, const tk_json *b)
{
    if (a->type != b->type || tk_json_len(a) != tk_json_len(b)) {
        return false;
    }
    for (size_t i = 0; i < tk_json_len(a); i++) {
        tk_json x = tk_json_at(a, i);
        tk_json y = tk_json_at(b, i);
        if (!json_oracle_equal(&x, &y)) {
            return false;
        }
    }
    switch ((int)a->type) {
    case TK_JSON_BOOL:
        return a->as.boolean == b->as.boolean;
    case TK_JSON_INT:
        return a->as.integer == b->as.integer;
    case TK_JSON_UINT:
        return a->as.uinteger == b->as.uinteger;
    case TK_JSON_REAL:
        return json_oracle_same_double(a->as.real, b->as.real);
    case TK_JSON_STRING:
        return tk_str_eq(a->as.string, b->as.string);
    case TK_JSON_OBJECT:
        return json_oracle_equal_members(a, b);
    default:
        return true;
    }
}

static inline bool json_oracle_matches(const tk_json *ours, const json_t *theirs);

/* A packed array of reals may hold what was written as an integer. */
static inline bool json_oracle_matches_number(const tk_json *ours, const json_t *theirs)
{
    if (json_is_integer(theirs)) {
        int64_t value;
        return tk_json_to_i64(ours, &value) && value == json_integer_value(theirs);
    }
    return ours->type == TK_JSON_REAL &&
           json_oracle_same_double(ours->as.real, json_real_value(theirs));
}

static inline bool json_oracle_matches_array(const tk_json *ours, const json_t *theirs)
{
    if (!json_is_array(theirs) || json_array_size(theirs) != tk_json_len(ours)) {
        return false;
    }
    for (size_t i = 0; i < tk_json_len(ours); i++) {
        tk_json item = tk_json_at(ours, i);
        if (!json_oracle_matches(&item, json_array_get(theirs, i))) {
            return false;
        }
    }
    return true;
}

/* Of equal keys only the last counts there. */
static inline bool json_oracle_matches_object(const tk_json *ours, const json_t *theirs)
{
    size_t distinct = 0;
    if (!json_is_object(theirs)) {
        return false;
    }
    for (size_t i = 0; i < ours->as.object.n; i++) {
        const tk_json_member *member = &ours->as.object.members[i];
        const tk_json *last = tk_json_get(ours, member->key.p);
        if (last == &member->value) {
            const json_t *other = json_object_get(theirs, member->key.p);
            distinct++;
            if (other == NULL || !json_oracle_matches(last, other)) {
                return false;
            }
        }
    }
    return distinct == json_object_size(theirs);
}

static inline bool json_oracle_matches(const tk_json *ours, const json_t *theirs)
{
    switch (ours->type) {
    case TK_JSON_NULL:
        return json_is_null(theirs);
    case TK_JSON_BOOL:
        return ours->as.boolean ? json_is_true(theirs) : json_is_false(theirs);
    case TK_JSON_INT:
    case TK_JSON_REAL:
        return json_is_number(theirs) && json_oracle_matches_number(ours, theirs);
    case TK_JSON_STRING:
        return json_is_string(theirs) &&
               json_string_length(theirs) == ours->as.string.n &&
               memcmp(json_string_value(theirs), ours->as.string.p,
                      ours->as.string.n + 1) == 0;
    case TK_JSON_ARRAY:
    case TK_JSON_INTS:
    case TK_JSON_REALS:
        return json_is_array(theirs) && json_oracle_matches_array(ours, theirs);
    case TK_JSON_OBJECT:
        return json_oracle_matches_object(ours, theirs);
    case TK_JSON_UINT:
        break;
    }
    return false;
}

/* Whether the tree holds what jansson has no place for: with `wide` an integer beyond
 * int64, otherwise a NUL in a key. */
static inline bool json_oracle_holds(const tk_json *value, bool wide)
{
    for (size_t i = 0; i < tk_json_len(value); i++) {
        tk_json item = tk_json_at(value, i);
        if (json_oracle_holds(&item, wide)) {
            return true;
        }
    }
    for (size_t i = 0; value->type == TK_JSON_OBJECT && i < value->as.object.n; i++) {
        const tk_json_member *member = &value->as.object.members[i];
        if ((!wide && strlen(member->key.p) != member->key.n) ||
            json_oracle_holds(&member->value, wide)) {
            return true;
        }
    }
    return wide && (value->type == TK_JSON_UINT ||
                    (value->type == TK_JSON_REAL &&
                     (value->as.real >= 0x1p63 || value->as.real <= -0x1p63)));
}

static inline const char *json_oracle_compare(const tk_json *ours, tinkc_code rc,
                                              const char *text, size_t n)
{
    json_error_t error;
    json_t *theirs = json_loadb(text, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    const char *verdict = NULL;
    if (theirs == NULL && ours != NULL) {
        enum json_error_code code = json_error_code(&error);
        bool justified =
            (code == json_error_numeric_overflow && json_oracle_holds(ours, true)) ||
            (code == json_error_null_byte_in_key && json_oracle_holds(ours, false));
        verdict = justified ? NULL : "we accept, jansson refuses";
    } else if (theirs != NULL && ours == NULL) {
        bool justified = rc == TINKC_E_LIMIT || memchr(text, '\0', n) != NULL;
        verdict = justified ? NULL : "we refuse, jansson accepts";
    } else if (theirs != NULL && !json_oracle_matches(ours, theirs)) {
        verdict = "the values differ";
    }
    json_decref(theirs);
    return verdict;
}

static inline const char *json_oracle_round_trip(const tk_json *ours, tk_arena *arena)
{
    tk_buf out;
    tk_buf_init(&out, TK_JSON_MAX_BYTES);
    tk_json_writer w;
    tk_json_writer_init(&w, &out);
    tk_json_put_value(&w, ours);
    const char *verdict = NULL;
    const tk_json *again;
    if (tk_json_finish(&w, NULL) != TINKC_OK) {
        verdict = "a value that was read cannot be written";
    } else if (tk_json_parse(&again, arena, out.p, out.n, NULL, NULL) != TINKC_OK) {
        verdict = "what was written cannot be read";
    } else if (!json_oracle_equal(ours, again)) {
        verdict = "what was written reads as something else";
    }
    tk_buf_dispose(&out);
    return verdict;
}

/* NULL when all is well, else what is not. */
static inline const char *json_oracle_check(const char *text, size_t n)
{
    tk_arena arena;
    tk_arena_init(&arena, 0);
    const tk_json *ours;
    tk_err err = TK_ERR_INIT;
    tinkc_code rc = tk_json_parse(&ours, &arena, text, n, NULL, &err);
    const char *verdict = NULL;
    if ((rc == TINKC_OK) != (ours != NULL) || err.code != rc) {
        verdict = "code, value and error disagree";
    } else if (rc != TINKC_OK && err.offset > n) {
        verdict = "the error lies outside of the text";
    } else {
        verdict = json_oracle_compare(ours, rc, text, n);
    }
    if (verdict == NULL && ours != NULL) {
        verdict = json_oracle_round_trip(ours, &arena);
    }
    tk_arena_dispose(&arena);
    return verdict;
}

#endif
