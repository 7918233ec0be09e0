/* Reading of tests/data/wire (see its README) and comparison of JSON trees.
 *
 * Trees are compared by value: members in any order, 1 equal to 1.0. What the newer SDK
 * says and we do not know yet is listed by name, so that nothing else can go missing. */
#ifndef TESTS_WIRE_FIXTURES_H
#define TESTS_WIRE_FIXTURES_H

#include <math.h>
#include <stdio.h>

#include "base/base64.h"
#include "base/date.h"
#include "base/json.h"
#include "support/test.h"
#include "wire/field.h"

#define FIXTURE_OLD "0.25.0" /* what we match: every key has to be known */
#define FIXTURE_NEW "0.36.0" /* what we must get along with */

enum {
    FIXTURE_NULLS = 1u << 0, /* null and absent are the same */
    FIXTURE_TIMES = 1u << 1, /* two texts of the same moment are the same */
    FIXTURE_LATER = 1u << 2, /* keys of fixture_later may be missing in what we wrote */
    FIXTURE_TYPES = 1u << 3, /* we may name the type where the SDK does not */
    FIXTURE_ADDED = 1u << 4, /* keys of fixture_added may be missing in the recording */
    FIXTURE_MORE = 1u << 5   /* we read keys of fixture_more, which 0.25.0 ignores */
};

/* Keys that 0.36.0 has and 0.25.0 has not (docs/sdk-versions.md). */
static const char *const fixture_later[] = {
    "optimizer_config",
    "sample_sequence_ids",
    "custom_loss_server_side",
};

/* Keys of answers that only 0.36.0 reads, as we do. */
static const char *const fixture_more[] = {
    "event_details",       "user_metadata",
    "display_name",        "trainable",
    "sampleable",          "estimated_cost_usd",
    "cost_data_through",   "optimizer_config",
    "sample_sequence_ids", "custom_loss_server_side",
};

static inline bool fixture_is_one_of(tk_str key, const char *const *keys, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (tk_str_is(key, keys[i])) {
            return true;
        }
    }
    return false;
}

/* Keys of answers that the tables have with a default, and 0.25.0 does not know. */
static const char *const fixture_added[] = {
    "sample_use_retrieve_futures",
    "sample_join_sampling_session",
    "sample_cancel_enabled",
    "sample_cancel_max_batch_size",
};

static inline bool fixture_is_added(tk_str key)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(fixture_added); i++) {
        if (tk_str_is(key, fixture_added[i])) {
            return true;
        }
    }
    return false;
}

static inline bool fixture_is_later(tk_str key)
{
    return fixture_is_one_of(key, fixture_later, TK_ARRAY_LEN(fixture_later));
}

/* The parsed file, in the arena. */
static inline const tk_json *fixture_load(tk_arena *arena, const char *version,
                                          const char *name)
{
    char path[512];
    int length = snprintf(path, sizeof(path), TEST_DATA_DIR "/wire/%s/%s", version, name);
    assert_true(length > 0 && (size_t)length < sizeof(path));
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail_msg("cannot open %s", path);
    }
    tk_buf text;
    tk_buf_init(&text, 4 * TK_MIB);
    char block[4096];
    for (size_t n; (n = fread(block, 1, sizeof(block), file)) > 0;) {
        tk_buf_put(&text, block, n);
    }
    assert_int_equal(fclose(file), 0);
    const tk_json *out;
    tk_err err = TK_ERR_INIT;
    if (tk_json_parse(&out, arena, tk_buf_cstr(&text), text.n, NULL, &err) != TINKC_OK) {
        fail_msg("%s: %s", path, err.message);
    }
    tk_buf_dispose(&text);
    return out;
}

static inline const tk_json *fixture_need(const tk_json *object, const char *key)
{
    const tk_json *value = tk_json_get(object, key);
    if (value == NULL) {
        fail_msg("no \"%s\" in the fixture", key);
    }
    return value;
}

/* A copy: members of arrays are handed out by value, and recursion wants an address. */
static inline const tk_json *fixture_at(tk_arena *arena, const tk_json *array, size_t i)
{
    tk_json *value = tk_arena_alloc(arena, sizeof(*value));
    assert_non_null(value);
    *value = tk_json_at(array, i);
    return value;
}

static inline const char *fixture_text(const tk_json *object, const char *key)
{
    const tk_json *value = fixture_need(object, key);
    assert_int_equal(value->type, TK_JSON_STRING);
    return value->as.string.p; /* has a NUL after it */
}

static inline int64_t fixture_int(const tk_json *object, const char *key)
{
    int64_t out = 0;
    assert_true(tk_json_to_i64(fixture_need(object, key), &out));
    return out;
}

/* A number, also one that JSON cannot hold. */
static inline double fixture_number(const tk_json *value)
{
    double out = 0;
    if (value->type == TK_JSON_NULL ||
        (value->type == TK_JSON_STRING && tk_str_is(value->as.string, "nan"))) {
        return (double)NAN;
    }
    if (value->type == TK_JSON_STRING) {
        assert_true(tk_str_is(value->as.string, "inf") ||
                    tk_str_is(value->as.string, "-inf"));
        return value->as.string.p[0] == '-' ? -(double)INFINITY : (double)INFINITY;
    }
    assert_true(tk_json_to_double(value, &out));
    return out;
}

static inline bool fixture_same_number(double a, double b)
{
    return (isnan(a) && isnan(b)) ||
           (a == b && signbit(a) == signbit(b)); /* -0 differs */
}

/* Bytes of a base64 member, in the arena. */
static inline tk_bytes fixture_bytes(tk_arena *arena, const tk_json *object,
                                     const char *key)
{
    tk_str text = fixture_need(object, key)->as.string;
    size_t n = tk_base64_decoded_size(text);
    unsigned char *p = tk_arena_alloc(arena, n + 1);
    assert_non_null(p);
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_base64_decode(p, text, &err), TINKC_OK);
    tk_bytes out = {p, n};
    return out;
}

/* "PUT /api/v1/sessions/{id}/project" against a real path; {ckpt} matches two
 * segments. */
static inline bool fixture_matches(const char *call, const char *method, const char *path)
{
    size_t n = strlen(method);
    if (strncmp(call, method, n) != 0 || call[n] != ' ') {
        return false;
    }
    tk_str pattern = tk_str_of(call + n + 1), rest = tk_str_of(path);
    while (pattern.n > 0 && rest.n > 0) {
        tk_str segment = tk_str_cut(&pattern, '/');
        tk_str actual = tk_str_cut(&rest, '/');
        if (tk_str_is(segment, "{ckpt}")) {
            (void)tk_str_cut(&rest, '/');
        } else if (!tk_str_has_prefix(segment, "{") && !tk_str_eq(segment, actual)) {
            return false;
        }
    }
    return pattern.n == 0 && rest.n == 0;
}

/* ---- comparison ---- */

typedef struct fixture_cmp {
    unsigned rules;
    tk_err where; /* path of the first difference */
} fixture_cmp;

static inline bool fixture_differs(fixture_cmp *cmp, const char *why)
{
    (void)tk_err_set(&cmp->where, TINKC_E_INVALID, "%s", why);
    return false;
}

static inline bool fixture_same(fixture_cmp *cmp, const tk_json *got,
                                const tk_json *want);

/* No details are an empty object for the SDK. */
static inline bool fixture_no_details(const tk_json_member *want)
{
    return tk_str_is(want->key, "event_details") && want->value.type == TK_JSON_OBJECT &&
           want->value.as.object.n == 0;
}

static inline bool fixture_may_lack(const fixture_cmp *cmp, const tk_json_member *want)
{
    return ((cmp->rules & FIXTURE_NULLS) != 0 && want->value.type == TK_JSON_NULL) ||
           ((cmp->rules & FIXTURE_NULLS) != 0 && fixture_no_details(want)) ||
           ((cmp->rules & FIXTURE_LATER) != 0 && fixture_is_later(want->key));
}

static inline bool fixture_may_add(const fixture_cmp *cmp, const tk_json_member *got)
{
    return ((cmp->rules & FIXTURE_NULLS) != 0 && got->value.type == TK_JSON_NULL) ||
           ((cmp->rules & FIXTURE_ADDED) != 0 && fixture_is_added(got->key)) ||
           ((cmp->rules & FIXTURE_TYPES) != 0 && tk_str_is(got->key, "type")) ||
           ((cmp->rules & FIXTURE_MORE) != 0 &&
            fixture_is_one_of(got->key, fixture_more, TK_ARRAY_LEN(fixture_more)));
}

static inline bool fixture_same_objects(fixture_cmp *cmp, const tk_json *got,
                                        const tk_json *want)
{
    for (size_t i = 0; i < want->as.object.n; i++) {
        const tk_json_member *member = &want->as.object.members[i];
        const tk_json *mine = tk_json_get(got, member->key.p);
        bool same = mine != NULL ? fixture_same(cmp, mine, &member->value)
                                 : fixture_may_lack(cmp, member);
        bool added = mine != NULL && member->value.type == TK_JSON_NULL &&
                     (cmp->rules & FIXTURE_TYPES) != 0 && tk_str_is(member->key, "type");
        if (!same && !added) {
            (void)fixture_differs(cmp, "missing");
            tk_err_under(&cmp->where, member->key.p);
            return false;
        }
    }
    for (size_t i = 0; i < got->as.object.n; i++) {
        const tk_json_member *member = &got->as.object.members[i];
        if (tk_json_get(want, member->key.p) == NULL && !fixture_may_add(cmp, member)) {
            (void)fixture_differs(cmp, "not in the recording");
            tk_err_under(&cmp->where, member->key.p);
            return false;
        }
    }
    return true;
}

static inline bool fixture_same_arrays(fixture_cmp *cmp, const tk_json *got,
                                       const tk_json *want)
{
    if (tk_json_len(got) != tk_json_len(want)) {
        return fixture_differs(cmp, "length");
    }
    for (size_t i = 0; i < tk_json_len(want); i++) {
        tk_json a = tk_json_at(got, i), b = tk_json_at(want, i);
        if (!fixture_same(cmp, &a, &b)) {
            tk_err_under_index(&cmp->where, i);
            return false;
        }
    }
    return true;
}

static inline bool fixture_same_texts(fixture_cmp *cmp, tk_str got, tk_str want)
{
    int64_t a, b;
    bool same = tk_str_eq(got, want);
    if (!same && (cmp->rules & FIXTURE_TIMES) != 0) {
        tk_err err = TK_ERR_INIT;
        char utc[64]; /* the SDK leaves a time without zone as it is; it means UTC */
        (void)snprintf(utc, sizeof(utc), TK_STR_FMT "Z", TK_STR_ARG(want));
        same = tk_date_parse(&a, got, &err) == TINKC_OK &&
               (tk_date_parse(&b, want, &err) == TINKC_OK ||
                tk_date_parse(&b, tk_str_of(utc), &err) == TINKC_OK) &&
               a == b;
    }
    return same || fixture_differs(cmp, "another text");
}

static inline bool fixture_is_number(const tk_json *value)
{
    return value->type == TK_JSON_INT || value->type == TK_JSON_UINT ||
           value->type == TK_JSON_REAL;
}

static inline bool fixture_same(fixture_cmp *cmp, const tk_json *got, const tk_json *want)
{
    if (fixture_is_number(got) && fixture_is_number(want)) {
        int64_t i = 0, j = 0;
        double a = 0, b = 0;
        bool whole = tk_json_to_i64(got, &i);
        bool same = whole == tk_json_to_i64(want, &j) && i == j &&
                    tk_json_to_double(got, &a) && tk_json_to_double(want, &b) && a == b;
        return same || fixture_differs(cmp, "another number");
    }
    if (tk_json_is_array(got) && tk_json_is_array(want)) {
        return fixture_same_arrays(cmp, got, want);
    }
    if (got->type != want->type) {
        return fixture_differs(cmp, "another type");
    }
    if (got->type == TK_JSON_OBJECT) {
        return fixture_same_objects(cmp, got, want);
    }
    if (got->type == TK_JSON_STRING) {
        return fixture_same_texts(cmp, got->as.string, want->as.string);
    }
    return got->type != TK_JSON_BOOL || got->as.boolean == want->as.boolean ||
           fixture_differs(cmp, "another truth");
}

static inline void fixture_assert_same(const tk_json *got, const tk_json *want,
                                       unsigned rules, const char *what)
{
    fixture_cmp cmp = {.rules = rules, .where = TK_ERR_INIT};
    if (!fixture_same(&cmp, got, want)) {
        fail_msg("%s: %s: %s", what, cmp.where.path, cmp.where.message);
    }
}

#endif
