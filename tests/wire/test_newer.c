/* Answers of a newer server, generated (support/newer.h): every answer of the recordings
 * that the official SDK reads, with an unknown key in each object and map, an unknown word
 * in each enumeration and label, and an unknown kind in each union, one at a time. All
 * decode, and what was known stays what it was; a closed decoder refuses each of them, so
 * each is there (A-061, M-115, M-116). The same through the client: test_hostile.c. */
#include <string.h>

#include "support/newer.h"
#include "wire/fixtures.h"
#include "wire/pb_output.h"
#include "wire/pb_sample.h"
#include "wire/schemas.h"

static const char *const versions[] = {FIXTURE_OLD, FIXTURE_NEW};

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

/* Whether requests could have such a body. */
static bool is_closed_to(const tk_schema *schema, tk_arena *arena, tk_str text)
{
    void *msg = tk_arena_zalloc(arena, schema->size);
    return tk_schema_decode_text(msg, schema, arena, text,
                                 TK_DECODE_STRICT | TK_DECODE_CLOSED, NULL) != TINKC_OK;
}

typedef struct totals {
    size_t changes[NEWER_CHANGES];
    size_t unread; /* answers that the SDK reads and we do not */
    size_t unseen; /* cases that a closed decoder reads as if nothing was changed */
} totals;

static void check_case(const tk_schema *schema, const tk_json *body, size_t k,
                       const char *answer, totals *sum)
{
    tk_arena arena;
    tk_buf plain, changed, before, after;
    newer_place place;
    char what[192];
    tk_arena_init(&arena, 16 * TK_MIB);
    tk_buf_init(&plain, TK_MIB);
    tk_buf_init(&changed, TK_MIB);
    tk_buf_init(&before, TK_MIB);
    tk_buf_init(&after, TK_MIB);
    newer_json(&plain, &place, schema, body, SIZE_MAX);
    newer_json(&changed, &place, schema, body, k);
    (void)snprintf(what, sizeof(what), "%s: %s", answer, place.what);
    assert_true(place.change < NEWER_CHANGES);
    encode(&before, schema, &arena, tk_buf_str(&plain), what);
    encode(&after, schema, &arena, tk_buf_str(&changed), what);
    bool is_same = tk_str_eq(tk_buf_str(&before), tk_buf_str(&after));
    if (place.change == NEWER_KEY && !is_same) {
        fail_msg("%s: another key changes what is read", what);
    }
    sum->changes[place.change]++;
    tk_buf_putc(&changed, '\0');
    bool asks = strstr(changed.p, "\"x_newer_key\":null") == NULL; /* null: for nothing */
    changed.n--;
    sum->unseen += asks && is_same && !is_closed_to(schema, &arena, tk_buf_str(&plain)) &&
                   !is_closed_to(schema, &arena, tk_buf_str(&changed));
    tk_buf_dispose(&plain);
    tk_buf_dispose(&changed);
    tk_buf_dispose(&before);
    tk_buf_dispose(&after);
    tk_arena_dispose(&arena);
}

/* "...ResponseInternal" travels as "...Response". */
static const tk_schema *answer_schema(const char *name)
{
    const char *internal = strstr(name, "ResponseInternal");
    size_t n =
        internal != NULL ? (size_t)(internal - name) + strlen("Response") : strlen(name);
    for (size_t i = 0; i < tk_schemas_n; i++) {
        const char *own = tk_schemas[i].schema->name;
        if (strlen(own) == n && memcmp(own, name, n) == 0) {
            return tk_schemas[i].schema;
        }
    }
    fail_msg("%s: no message", name);
    return NULL;
}

static void check_file(const char *version, const char *name, totals *sum)
{
    tk_arena arena;
    tk_arena_init(&arena, 16 * TK_MIB);
    const tk_json *file = fixture_load(&arena, version, name);
    const tk_schema *schema = answer_schema(fixture_text(file, "type"));
    const tk_json *answers = fixture_need(file, "answers");
    for (size_t i = 0; i < tk_json_len(answers); i++) {
        const tk_json *answer = fixture_at(&arena, answers, i);
        if (tk_json_get(answer, "decoded") == NULL) {
            continue; /* the SDK refuses it */
        }
        const tk_json *body = fixture_need(answer, "body");
        if (!is_read(schema, body)) {
            sum->unread++;
            continue;
        }
        char what[96];
        (void)snprintf(what, sizeof(what), "%s %s[%zu]", version, schema->name, i);
        size_t n = newer_json_count(schema, body);
        for (size_t k = 0; k < n; k++) {
            check_case(schema, body, k, what, sum);
        }
    }
    tk_arena_dispose(&arena);
}

static void test_newer_json(void **unused)
{
    totals sum = {.unread = 0};
    for (size_t v = 0; v < TK_ARRAY_LEN(versions); v++) {
        tk_arena arena;
        tk_arena_init(&arena, TK_MIB);
        const tk_json *names =
            fixture_need(fixture_load(&arena, versions[v], "index.json"), "responses");
        for (size_t i = 0; i < tk_json_len(names); i++) {
            tk_json name = tk_json_at(names, i);
            if (tk_str_has_prefix(name.as.string, "responses/json/")) {
                check_file(versions[v], name.as.string.p, &sum);
            }
        }
        tk_arena_dispose(&arena);
    }
    print_message("%zu keys, %zu words, %zu labels, %zu kinds; %zu unseen\n",
                  sum.changes[NEWER_KEY], sum.changes[NEWER_WORD],
                  sum.changes[NEWER_LABEL], sum.changes[NEWER_KIND], sum.unseen);
    assert_int_equal(sum.unread, TK_ARRAY_LEN(versions)); /* a quoted number */
    assert_int_equal(sum.unseen, 4); /* "unknown" is a category already */
    assert_true(sum.changes[NEWER_KEY] > 1500 && sum.changes[NEWER_WORD] > 80);
    assert_true(sum.changes[NEWER_LABEL] > 40 && sum.changes[NEWER_KIND] > 40);
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

/* An unknown field of each wire type before and after each field, and other numbers in
 * the enumerations, in messages inside messages too. */
static void check_bytes(const char *version, const char *file, const newer_pb *message,
                        reads_fn reads)
{
    tk_arena arena;
    size_t checked[NEWER_CHANGES] = {0};
    tk_arena_init(&arena, 16 * TK_MIB);
    const tk_json *answers = fixture_need(fixture_load(&arena, version, file), "answers");
    for (size_t i = 0; i < tk_json_len(answers); i++) {
        const tk_json *answer = fixture_at(&arena, answers, i);
        if (tk_json_get(answer, "decoded") == NULL) {
            continue;
        }
        tk_bytes old = fixture_bytes(&arena, answer, "protobuf_base64");
        tk_str body = {(const char *)old.p, old.n};
        size_t n = newer_pb_count(message, body);
        for (size_t k = 0; k < n; k++) {
            tk_buf more;
            newer_place place;
            tk_buf_init(&more, TK_MIB);
            newer_pb_put(&more, &place, message, body, k);
            assert_true(place.change < NEWER_CHANGES);
            if (!reads(&arena, (tk_bytes){(unsigned char *)more.p, more.n})) {
                fail_msg("%s %s[%zu]: %s", version, file, i, place.what);
            }
            checked[place.change]++;
            tk_buf_dispose(&more);
        }
    }
    print_message("%zu fields, %zu numbers\n", checked[NEWER_KEY], checked[NEWER_WORD]);
    assert_true(checked[NEWER_KEY] >= 100 && checked[NEWER_WORD] >= 4);
    tk_arena_dispose(&arena);
}

static void test_newer_protobuf(void **unused)
{
    for (size_t v = 0; v < TK_ARRAY_LEN(versions); v++) {
        check_bytes(versions[v], "responses/sample_response.json", &newer_pb_sample,
                    reads_sample);
        check_bytes(versions[v], "responses/forward_backward_output.json",
                    &newer_pb_output, reads_output);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_newer_json),
                                       cmocka_unit_test(test_newer_protobuf)};
    return cmocka_run_group_tests_name("newer", tests, NULL, NULL);
}
