/* The keys that requests are written with, against those that the official SDK was seen to
 * write (tests/data/wire): a comparison that our own tables have no part in. */
#include "wire/fixtures.h"
#include "wire/gen_msg.h"
#include "wire/schemas.h"

#define KEYS_MAX 1024

static tk_arena arena;
static const char *recorded[KEYS_MAX]; /* "POST /api/v1/asample prompt.chunks" */
static size_t recorded_n;

static int teardown(void **unused)
{
    tk_arena_dispose(&arena);
    return 0;
}

static const char *joined(const char *left, const char *middle, tk_str right)
{
    size_t n = strlen(left) + strlen(middle) + right.n + 1;
    char *text = tk_arena_alloc(&arena, n);
    assert_non_null(text);
    (void)snprintf(text, n, "%s%s" TK_STR_FMT, left, middle, TK_STR_ARG(right));
    return text;
}

/* What no recording can show, written down from the types of the official SDK: it sends
 * batches as protobuf, and it has the stateless form of a sample but never sends it. */
static const char *const never_sent_as_json[] = {
    "POST /api/v1/forward_backward forward_backward_input",
    "POST /api/v1/forward_backward forward_backward_input.data",
    "POST /api/v1/forward_backward forward_backward_input.loss_fn",
    "POST /api/v1/forward_backward forward_backward_input.loss_fn_config",
    "POST /api/v1/forward_backward model_id",
    "POST /api/v1/forward_backward seq_id",
    "POST /api/v1/forward forward_input",
    "POST /api/v1/forward forward_input.data",
    "POST /api/v1/forward forward_input.loss_fn",
    "POST /api/v1/forward forward_input.loss_fn_config",
    "POST /api/v1/forward model_id",
    "POST /api/v1/forward seq_id",
    "POST /api/v1/asample base_model",
    "POST /api/v1/asample model_path",
    /* the form of a copy into a session, and its token, which the SDK sends as a header */
    "POST /api/v1/copy_weights session_id",
    "POST /api/v1/copy_weights model_seq_id",
    "POST /api/v1/copy_weights weights_access_token",
    "POST /api/v1/sessions/search owner.owner_urns",
    "POST /api/v1/retrieve_futures timeout",
};

/* Messages of 0.39, of which there are no recordings: written down from its
 * documentation (docs/sdk-versions.md). */
static const char *const from_documentation[] = {
    "POST /api/v1/checkpoints/search ",
    "POST /api/v1/external_weights_upload_start ",
    "POST /api/v1/external_weights_upload_finish ",
};

static bool is_known(const char *key)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(from_documentation); i++) {
        if (strncmp(key, from_documentation[i], strlen(from_documentation[i])) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(never_sent_as_json); i++) {
        if (strcmp(never_sent_as_json[i], key) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_recorded(const char *key)
{
    for (size_t i = 0; i < recorded_n; i++) {
        if (strcmp(recorded[i], key) == 0) {
            return true;
        }
    }
    return false;
}

/* Keys at the top and inside objects; what is in a list is covered by its own type. */
static void record(const char *where, const char *dot, const tk_json *object)
{
    for (size_t i = 0; i < object->as.object.n; i++) {
        const tk_json_member *member = &object->as.object.members[i];
        const char *key = joined(where, dot, member->key);
        if (!is_recorded(key)) {
            assert_true(recorded_n < KEYS_MAX);
            recorded[recorded_n++] = key;
        }
        if (member->value.type == TK_JSON_OBJECT) {
            record(key, ".", &member->value);
        }
    }
}

/* The path with ids replaced as in the table of messages. */
static const char *call_of(const tk_json *request)
{
    const char *method = fixture_text(request, "method");
    const char *path = fixture_text(request, "path");
    for (size_t i = 0; i < tk_schemas_n; i++) {
        if (tk_schemas[i].direction == TK_DIR_REQUEST &&
            fixture_matches(tk_schemas[i].call, method, path)) {
            return tk_schemas[i].call;
        }
    }
    return joined(method, " ", tk_str_of(path));
}

static void record_all(const char *version)
{
    const tk_json *names =
        fixture_need(fixture_load(&arena, version, "index.json"), "requests");
    for (size_t i = 0; i < tk_json_len(names); i++) {
        tk_json name = tk_json_at(names, i);
        const tk_json *requests =
            fixture_need(fixture_load(&arena, version, name.as.string.p), "requests");
        for (size_t j = 0; j < tk_json_len(requests); j++) {
            const tk_json *request = fixture_at(&arena, requests, j);
            const tk_json *body = tk_json_get(request, "body");
            if (body != NULL && body->type == TK_JSON_OBJECT) {
                record(call_of(request), " ", body);
            }
        }
    }
}

/* Counts the keys that were written and never recorded; prints them. */
static size_t unknown_keys(const char *where, const char *dot, const tk_schema *schema,
                           const tk_json *object)
{
    size_t unknown = 0;
    for (size_t i = 0; i < object->as.object.n; i++) {
        const tk_json_member *member = &object->as.object.members[i];
        const char *key = joined(where, dot, member->key);
        if (!is_recorded(key) && !is_known(key)) {
            print_message("never recorded: %s\n", key);
            unknown++;
        }
        const tk_field *field = i < schema->n ? &schema->fields[i] : NULL;
        if (field != NULL && field->kind == TK_KIND_MSG && field->sub->fields != NULL &&
            member->value.type == TK_JSON_OBJECT) {
            unknown += unknown_keys(key, ".", field->sub, &member->value);
        }
    }
    return unknown;
}

/* a request with every member set has no key that the SDK was not seen to send. */
static void test_fixture_keys_are_the_sdks(void **unused)
{
    size_t unknown = 0, checked = 0;
    record_all(FIXTURE_OLD);
    record_all(FIXTURE_NEW);
    for (size_t i = 0; i < tk_schemas_n; i++) {
        const tk_schema *schema = tk_schemas[i].schema;
        if (tk_schemas[i].direction != TK_DIR_REQUEST || schema->n == 0 ||
            schema->fields[0].name == NULL) {
            continue;
        }
        tk_buf text;
        tk_buf_init(&text, TK_MIB);
        void *msg = tk_arena_zalloc(&arena, schema->size);
        const gen g = {GEN_FULL, 0, &arena};
        assert_true(msg != NULL && gen_fill(msg, schema, &g));
        assert_int_equal(tk_schema_encode(&text, schema, msg, NULL), TINKC_OK);
        const tk_json *body;
        assert_int_equal(
            tk_json_parse(&body, &arena, tk_buf_cstr(&text), text.n, NULL, NULL),
            TINKC_OK);
        unknown += unknown_keys(tk_schemas[i].call, " ", schema, body);
        tk_buf_dispose(&text);
        checked++;
    }
    assert_true(checked > 15);
    assert_int_equal(unknown, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixture_keys_are_the_sdks),
    };
    return cmocka_run_group_tests_name("fixtures_keys", tests, NULL, teardown);
}
