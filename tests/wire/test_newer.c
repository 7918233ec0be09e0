/* Answers of a newer server, generated: every answer of the recordings that the official
 * SDK reads, with an unknown key in each object, an unknown word in each enumeration and
 * label, and an unknown kind in each union, one at a time. All decode, and what was known
 * stays what it was (A-061, M-115, M-116). */
#include <string.h>

#include "wire/fixtures.h"
#include "wire/pb_output.h"
#include "wire/pb_sample.h"
#include "wire/schemas.h"

static const char *const versions[] = {FIXTURE_OLD, FIXTURE_NEW};

typedef enum newer_change { NEW_KEY, NEW_WORD, NEW_KIND, CHANGES } newer_change;

/* One place is changed: the one with this number, counted in the order of the walk. */
typedef struct newer_walk {
    tk_json_writer w;
    newer_change change;
    size_t place, seen;
} newer_walk;

static bool is_here(newer_walk *walk, newer_change change)
{
    return walk->change == change && walk->seen++ == walk->place;
}

static void put_message(newer_walk *walk, const tk_schema *schema, const tk_json *value);

static void put_new_key(newer_walk *walk)
{
    if (is_here(walk, NEW_KEY)) {
        tk_json_key(&walk->w, TK_STR("x-new"));
        tk_json_begin_array(&walk->w);
        tk_json_put_null(&walk->w);
        tk_json_put_str(&walk->w, TK_STR("text"));
        tk_json_end_array(&walk->w);
    }
}

static void put_field(newer_walk *walk, const tk_field *field, const tk_json *value)
{
    bool is_word = field->kind == TK_KIND_ENUM || field->kind == TK_KIND_LITERAL;
    if (value->type == TK_JSON_NULL) {
        tk_json_put_null(&walk->w);
    } else if (is_word && is_here(walk, NEW_WORD)) {
        tk_json_put_str(&walk->w, TK_STR("x-new"));
    } else if (field->kind == TK_KIND_MSG) {
        put_message(walk, field->sub, value);
    } else if (field->kind == TK_KIND_LIST) {
        tk_json_begin_array(&walk->w);
        for (size_t i = 0; i < tk_json_len(value); i++) {
            tk_json item = tk_json_at(value, i);
            put_message(walk, field->sub, &item);
        }
        tk_json_end_array(&walk->w);
    } else if (field->kind == TK_KIND_MSG_MAP) {
        tk_json_begin_object(&walk->w);
        for (size_t i = 0; i < value->as.object.n; i++) {
            tk_json_key(&walk->w, value->as.object.members[i].key);
            put_message(walk, field->sub, &value->as.object.members[i].value);
        }
        tk_json_end_object(&walk->w);
    } else {
        tk_json_put_value(&walk->w, value);
    }
}

static const tk_field *find_field(const tk_schema *schema, tk_str key)
{
    for (size_t i = 0; i < schema->n; i++) {
        if (tk_str_is(key, schema->fields[i].name)) {
            return &schema->fields[i];
        }
    }
    return NULL;
}

/* `tag` of a union is changed by its kind, not as a word. */
static void put_object(newer_walk *walk, const tk_schema *schema, const tk_json *value,
                       const char *tag)
{
    bool is_kind = tag != NULL && is_here(walk, NEW_KIND);
    tk_json_begin_object(&walk->w);
    for (size_t i = 0; i < value->as.object.n; i++) {
        const tk_json_member *member = &value->as.object.members[i];
        const tk_field *field = find_field(schema, member->key);
        tk_json_key(&walk->w, member->key);
        if (tag != NULL && tk_str_is(member->key, tag)) {
            tk_json_put_str(&walk->w,
                            is_kind ? TK_STR("x-new") : member->value.as.string);
        } else if (field != NULL) {
            put_field(walk, field, &member->value);
        } else {
            tk_json_put_value(&walk->w, &member->value);
        }
    }
    put_new_key(walk);
    tk_json_end_object(&walk->w);
}

static void put_union(newer_walk *walk, const tk_union *u, const tk_json *value)
{
    const tk_json *tag = tk_json_get(value, u->key);
    for (size_t i = 0; i < u->n; i++) {
        if (tag != NULL && tk_str_is(tag->as.string, u->variants[i].tag)) {
            put_object(walk, u->variants[i].schema, value, u->key);
            return;
        }
    }
    tk_json_put_value(&walk->w, value);
}

static void put_message(newer_walk *walk, const tk_schema *schema, const tk_json *value)
{
    if (schema->codec != NULL && schema->codec->like != NULL) {
        schema = schema->codec->like;
    }
    if (schema->variants != NULL) {
        put_union(walk, schema->variants, value);
    } else if (schema->fields == NULL) {
        tk_json_put_value(&walk->w, value);
    } else if (schema->fields[0].name == NULL) {
        put_field(walk, &schema->fields[0], value);
    } else {
        put_object(walk, schema, value, NULL);
    }
}

/* The message as we write it. */
static void encode(tk_buf *out, const tk_schema *schema, tk_arena *arena, tk_str text,
                   const char *what)
{
    tk_err err = TK_ERR_INIT;
    void *msg = tk_arena_zalloc(arena, schema->size);
    if (tk_schema_decode_text(msg, schema, arena, text, 0, &err) != TINKC_OK) {
        fail_msg("%s: %s: %s: " TK_STR_FMT, what, err.path, err.message,
                 TK_STR_ARG(text));
    }
    tk_buf_clear(out);
    if (tk_schema_encode(out, schema, msg, &err) != TINKC_OK) {
        tk_buf_clear(out); /* a null where we write none */
    }
}

/* A few answers that the SDK reads are refused here (test_fixtures.c has the list). */
static bool is_read(const tk_schema *schema, const tk_json *body)
{
    tk_arena arena;
    tk_err err = TK_ERR_INIT;
    tk_arena_init(&arena, 16 * TK_MIB);
    void *msg = tk_arena_zalloc(&arena, schema->size);
    bool ok = tk_schema_decode(msg, schema, &arena, body, 0, &err) == TINKC_OK;
    tk_arena_dispose(&arena);
    return ok;
}

/* False: there is no such place. */
static bool check_place(const tk_schema *schema, const tk_json *body, newer_change change,
                        size_t place, const char *what)
{
    tk_arena arena;
    tk_buf plain, changed, before, after;
    newer_walk walks[] = {{.change = CHANGES}, {.change = change, .place = place}};
    tk_arena_init(&arena, 16 * TK_MIB);
    tk_buf_init(&plain, TK_MIB);
    tk_buf_init(&changed, TK_MIB);
    tk_buf_init(&before, TK_MIB);
    tk_buf_init(&after, TK_MIB);
    tk_json_writer_init(&walks[0].w, &plain);
    tk_json_writer_init(&walks[1].w, &changed);
    put_message(&walks[0], schema, body);
    put_message(&walks[1], schema, body);
    bool is_changed = walks[1].seen > place;
    if (is_changed) {
        encode(&before, schema, &arena, tk_buf_str(&plain), what);
        encode(&after, schema, &arena, tk_buf_str(&changed), what);
        assert_false(plain.n == changed.n && memcmp(plain.p, changed.p, plain.n) == 0);
        if (change == NEW_KEY &&
            (before.n != after.n || memcmp(before.p, after.p, before.n) != 0)) {
            fail_msg("%s: another key changes what is read", what);
        }
    }
    tk_buf_dispose(&plain);
    tk_buf_dispose(&changed);
    tk_buf_dispose(&before);
    tk_buf_dispose(&after);
    tk_arena_dispose(&arena);
    return is_changed;
}

static const tk_schema *answer_schema(const char *name)
{
    if (strcmp(name, "SaveWeightsForSamplerResponseInternal") == 0) {
        name = "SaveWeightsForSamplerResponse";
    }
    for (size_t i = 0; i < tk_schemas_n; i++) {
        if (strcmp(tk_schemas[i].schema->name, name) == 0) {
            return tk_schemas[i].schema;
        }
    }
    return NULL;
}

static void check_file(const char *version, const char *name, size_t counts[CHANGES + 1])
{
    tk_arena arena;
    tk_arena_init(&arena, 16 * TK_MIB);
    const tk_json *file = fixture_load(&arena, version, name);
    const tk_schema *schema = answer_schema(fixture_text(file, "type"));
    const tk_json *answers = fixture_need(file, "answers");
    for (size_t i = 0; schema != NULL && i < tk_json_len(answers); i++) {
        const tk_json *answer = fixture_at(&arena, answers, i);
        if (tk_json_get(answer, "decoded") == NULL) {
            continue; /* the SDK refuses it */
        }
        if (!is_read(schema, fixture_need(answer, "body"))) {
            counts[CHANGES]++;
            continue;
        }
        for (size_t c = 0; c < CHANGES; c++) {
            char what[160];
            (void)snprintf(what, sizeof(what), "%s %s[%zu] change %zu", version,
                           schema->name, i, c);
            size_t place = 0;
            while (check_place(schema, fixture_need(answer, "body"), (newer_change)c,
                               place, what)) {
                place++;
            }
            counts[c] += place;
        }
    }
    tk_arena_dispose(&arena);
}

static void test_newer_json(void **unused)
{
    size_t counts[CHANGES + 1] = {0};
    for (size_t v = 0; v < TK_ARRAY_LEN(versions); v++) {
        tk_arena arena;
        tk_arena_init(&arena, TK_MIB);
        const tk_json *names =
            fixture_need(fixture_load(&arena, versions[v], "index.json"), "responses");
        for (size_t i = 0; i < tk_json_len(names); i++) {
            tk_json name = tk_json_at(names, i);
            if (tk_str_has_prefix(name.as.string, "responses/json/")) {
                check_file(versions[v], name.as.string.p, counts);
            }
        }
        tk_arena_dispose(&arena);
    }
    assert_int_equal(counts[CHANGES], TK_ARRAY_LEN(versions)); /* a quoted number */
    assert_true(counts[NEW_KEY] > 250);
    assert_true(counts[NEW_WORD] > 60);
    assert_true(counts[NEW_KIND] > 6);
}

/* ---- protobuf ---- */

typedef bool (*reads_fn)(tk_arena *arena, tk_bytes bytes);

static bool reads_sample(tk_arena *arena, tk_bytes bytes)
{
    tk_sample_response out;
    return tk_pb_sample_decode(&out, arena, bytes, NULL) == TINKC_OK;
}

static bool reads_output(tk_arena *arena, tk_bytes bytes)
{
    tk_fwdbwd_output out;
    return tk_pb_output_decode(&out, arena, bytes, NULL) == TINKC_OK;
}

/* An unknown field of each wire type, after the message. */
static void check_bytes(const char *version, const char *file, reads_fn reads)
{
    static const struct {
        const char *bytes;
        size_t n;
    } fields[] = {{"\xa0\x38\x07", 3},
                  {"\xa2\x38\x03new", 6},
                  {"\xa1\x38\0\0\0\0\0\0\0\0", 10},
                  {"\xa5\x38\0\0\0\0", 6}};
    tk_arena arena;
    tk_arena_init(&arena, 16 * TK_MIB);
    const tk_json *answers = fixture_need(fixture_load(&arena, version, file), "answers");
    size_t checked = 0;
    for (size_t i = 0; i < tk_json_len(answers); i++) {
        const tk_json *answer = fixture_at(&arena, answers, i);
        if (tk_json_get(answer, "decoded") == NULL) {
            continue;
        }
        tk_bytes old = fixture_bytes(&arena, answer, "protobuf_base64");
        for (size_t k = 0; k < TK_ARRAY_LEN(fields); k++) {
            unsigned char *more = tk_arena_alloc(&arena, old.n + fields[k].n);
            assert_non_null(more);
            memcpy(more, old.p, old.n);
            memcpy(more + old.n, fields[k].bytes, fields[k].n);
            assert_true(reads(&arena, (tk_bytes){more, old.n + fields[k].n}));
            checked++;
        }
    }
    assert_true(checked >= 20);
    tk_arena_dispose(&arena);
}

static void test_newer_protobuf(void **unused)
{
    for (size_t v = 0; v < TK_ARRAY_LEN(versions); v++) {
        check_bytes(versions[v], "responses/sample_response.json", reads_sample);
        check_bytes(versions[v], "responses/forward_backward_output.json", reads_output);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_newer_json),
                                       cmocka_unit_test(test_newer_protobuf)};
    return cmocka_run_group_tests_name("newer", tests, NULL, NULL);
}
