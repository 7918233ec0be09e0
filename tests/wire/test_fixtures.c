/* JSON messages against what the official SDK sent and reads (tests/data/wire): every
 * recorded body is decoded and written again, every answer is read as the SDK reads it
 * (A-047, A-060..A-063, A-067..A-075, M-104..M-107, M-115, M-118). */
#include "wire/fixtures.h"
#include "wire/msg_future.h"
#include "wire/schemas.h"

static tk_arena arena;

static int teardown(void **unused)
{
    tk_arena_dispose(&arena);
    return 0;
}

static const char *const versions[] = {FIXTURE_OLD, FIXTURE_NEW};

/* ---- which table belongs to a request ---- */

static const tk_schema *request_schema(const char *method, const char *path)
{
    if (strcmp(path, "/api/v1/client/dynamic_config") == 0) {
        path = "/api/v1/client/config"; /* the same body, listed once */
    }
    for (size_t i = 0; i < tk_schemas_n; i++) {
        if (tk_schemas[i].direction == TK_DIR_REQUEST &&
            fixture_matches(tk_schemas[i].call, method, path)) {
            return tk_schemas[i].schema;
        }
    }
    return NULL;
}

/* What 0.36.0 sends and we have no message for (docs/sdk-versions.md). */
static bool is_later_request(const char *path)
{
    static const char *const ends[] = {
        "/finish",
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(ends); i++) {
        size_t n = strlen(ends[i]), length = strlen(path);
        if (length >= n && strcmp(path + length - n, ends[i]) == 0) {
            return true;
        }
    }
    return false;
}

static const tk_json *written_again(const tk_schema *schema, const void *msg,
                                    const char *what)
{
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    tk_err err = TK_ERR_INIT;
    if (tk_schema_encode(&out, schema, msg, &err) != TINKC_OK) {
        fail_msg("%s: encoding: %s: %s", what, err.path, err.message);
    }
    const tk_json *value;
    assert_int_equal(tk_json_parse(&value, &arena, tk_buf_cstr(&out), out.n, NULL, &err),
                     TINKC_OK);
    tk_buf_dispose(&out);
    return value;
}

static void *message_room(const tk_schema *schema)
{
    void *msg = tk_arena_zalloc(&arena, schema->size);
    assert_non_null(msg);
    return msg;
}

static bool check_request(const char *version, const char *what, const tk_json *request)
{
    const tk_json *body = tk_json_get(request, "body");
    if (body == NULL || body->type == TK_JSON_NULL) {
        return false; /* protobuf, or a request without body */
    }
    bool old = strcmp(version, FIXTURE_OLD) == 0;
    const char *path = fixture_text(request, "path");
    const tk_schema *schema = request_schema(fixture_text(request, "method"), path);
    if (!old && is_later_request(path)) {
        return false;
    }
    if (schema == NULL) {
        fail_msg("%s: no message for %s", what, path);
    }
    void *msg = message_room(schema);
    tk_err err = TK_ERR_INIT;
    unsigned flags = old ? TK_DECODE_STRICT : 0;
    if (tk_schema_decode(msg, schema, &arena, body, flags, &err) != TINKC_OK) {
        fail_msg("%s: decoding: %s: %s", what, err.path, err.message);
    }
    fixture_assert_same(written_again(schema, msg, what), body, old ? 0 : FIXTURE_LATER,
                        what);
    return true;
}

static size_t check_request_file(const char *version, const char *name)
{
    size_t checked = 0;
    const tk_json *requests =
        fixture_need(fixture_load(&arena, version, name), "requests");
    for (size_t i = 0; i < tk_json_len(requests); i++) {
        if (check_request(version, name, fixture_at(&arena, requests, i))) {
            checked++;
        }
    }
    return checked;
}

/* M-104, M-118: every JSON body the SDK sends comes back from our
 * structs as it was: no key unknown, no default lost, no null moved. */
static void test_fixture_request_json(void **unused)
{
    for (size_t v = 0; v < TK_ARRAY_LEN(versions); v++) {
        const tk_json *index = fixture_load(&arena, versions[v], "index.json");
        const tk_json *names = fixture_need(index, "requests");
        size_t checked = 0;
        for (size_t i = 0; i < tk_json_len(names); i++) {
            tk_json name = tk_json_at(names, i);
            checked += check_request_file(versions[v], name.as.string.p);
        }
        assert_true(checked >= 80); /* an emptied directory must not pass */
    }
}

/* ---- answers ---- */

/* Where we read more, or less, than the SDK does, and why. */
typedef enum verdict { SAME, WE_ACCEPT, WE_REFUSE } verdict;

typedef struct deviation {
    const char *version; /* NULL: all */
    const char *type;
    size_t answer; /* index within the file */
    verdict verdict;
    const char *why;
} deviation;

static const deviation deviations[] = {
    {NULL, "ClientConfigResponse", 3, WE_REFUSE, "a quoted number is a server's mistake"},
    {NULL, "ClientConfigResponse", 5, WE_ACCEPT, "null: the server has no opinion"},
    {NULL, "TryAgainResponse", 3, WE_ACCEPT, "an unknown queue state reads as unknown"},
    {NULL, "RequestFailedResponse", 3, WE_ACCEPT, "names have no case (A-046)"},
    {NULL, "RequestFailedResponse", 4, WE_ACCEPT, "the SDK polls for it as unknown"},
    {NULL, "HealthResponse", 1, WE_ACCEPT, "the status is handed to the caller"},
    {FIXTURE_OLD, "BillingUsageResponse", 2, WE_ACCEPT, "open to new keys, as in 0.36.0"},
    {NULL, "BillingUsageResponse", 3, WE_ACCEPT, "a kind of a newer server is kept"},
    {NULL, "Checkpoint", 8, WE_ACCEPT, "a type of a newer server is kept"},
    {NULL, "CreateModelResponse", 2, WE_ACCEPT, "labels are not compared"},
    {NULL, "CreateSessionResponse", 5, WE_ACCEPT, "labels are not compared"},
    {NULL, "ListSessionsResponse", 2, WE_ACCEPT, "elements of other types are left out"},
    {NULL, "OptimStepResponse", 4, WE_ACCEPT, "a metric of another kind is left out"},
    {NULL, "SessionHeartbeatResponse", 2, WE_ACCEPT, "labels are not compared"},
    {NULL, "TelemetryResponse", 1, WE_ACCEPT, "telemetry_send.c decodes it closed"},
    {FIXTURE_NEW, "FuturesRetrieveResponse", 2, WE_ACCEPT, "an unknown state is kept"},
};

static verdict expected_verdict(const char *version, const char *type, size_t answer)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(deviations); i++) {
        const deviation *d = &deviations[i];
        if ((d->version == NULL || strcmp(d->version, version) == 0) &&
            strcmp(d->type, type) == 0 && d->answer == answer) {
            return d->verdict;
        }
    }
    return SAME;
}

static const tk_schema *schema_by_name(const char *name)
{
    if (strcmp(name, "SaveWeightsForSamplerResponseInternal") == 0) {
        name = "SaveWeightsForSamplerResponse"; /* the one that travels */
    }
    if (strcmp(name, "SaveWeightsExternalResponseInternal") == 0) {
        name = "SaveWeightsExternalResponse";
    }
    for (size_t i = 0; i < tk_schemas_n; i++) {
        if (strcmp(tk_schemas[i].schema->name, name) == 0) {
            return tk_schemas[i].schema;
        }
    }
    return NULL;
}

static void check_answer(const tk_schema *schema, const tk_json *answer, verdict expected,
                         unsigned rules, const char *what)
{
    void *msg = message_room(schema);
    tk_err err = TK_ERR_INIT;
    const tk_json *body = fixture_need(answer, "body");
    const tk_json *decoded = tk_json_get(answer, "decoded");
    tinkc_code code = tk_schema_decode(msg, schema, &arena, body, 0, &err);
    bool accept = expected == SAME ? decoded != NULL : expected == WE_ACCEPT;
    if ((code == TINKC_OK) != accept) {
        fail_msg("%s: %s: %s", what, accept ? "refused" : "accepted", err.message);
    }
    if (code == TINKC_OK && decoded != NULL) {
        fixture_assert_same(written_again(schema, msg, what), decoded, rules, what);
    }
}

static size_t check_answer_file(const char *version, const char *name)
{
    const tk_json *file = fixture_load(&arena, version, name);
    const char *type = fixture_text(file, "type");
    const tk_schema *schema = schema_by_name(type);
    bool old = strcmp(version, FIXTURE_OLD) == 0;
    if (schema == NULL) {
        fail_msg("%s %s: no message", version, type);
    }
    unsigned rules = FIXTURE_NULLS | FIXTURE_TIMES | FIXTURE_TYPES | FIXTURE_LATER;
    unsigned old_rules = (rules & ~(unsigned)FIXTURE_LATER) | FIXTURE_ADDED;
    const tk_json *answers = fixture_need(file, "answers");
    for (size_t i = 0; i < tk_json_len(answers); i++) {
        char what[128];
        (void)snprintf(what, sizeof(what), "%s %s[%zu]", version, type, i);
        check_answer(schema, fixture_at(&arena, answers, i),
                     expected_verdict(version, type, i),
                     old ? old_rules | FIXTURE_MORE : rules, what);
    }
    return tk_json_len(answers);
}

/* M-104, M-118: every answer the SDK accepts is accepted and means the
 * same; what it refuses is refused, but for the deviations listed above. */
static void test_fixture_response_json(void **unused)
{
    for (size_t v = 0; v < TK_ARRAY_LEN(versions); v++) {
        const tk_json *index = fixture_load(&arena, versions[v], "index.json");
        const tk_json *names = fixture_need(index, "responses");
        size_t checked = 0;
        for (size_t i = 0; i < tk_json_len(names); i++) {
            tk_json name = tk_json_at(names, i);
            if (tk_str_has_prefix(name.as.string, "responses/json/")) {
                checked += check_answer_file(versions[v], name.as.string.p);
            }
        }
        assert_true(checked >= 100);
    }
}

/* ---- futures ---- */

/* The last answer of a script decides; the ones before it say "not yet". */
static tk_answer_kind classify(const tk_json *answer, bool allow_metadata_only,
                               tk_future_answer *out, tinkc_code *code)
{
    tk_future_poll poll = {.type = TK_FUTURE_OPTIM_STEP,
                           .allow_metadata_only = allow_metadata_only,
                           .content_type =
                               tk_str_of(fixture_text(answer, "content_type"))};
    tk_err err = TK_ERR_INIT;
    *code = tk_future_classify(out, &poll, &arena,
                               tk_str_of(fixture_text(answer, "body")), &err);
    return out->kind;
}

static void check_last(const tk_json *seen, const tk_future_answer *last, tinkc_code code,
                       const char *what)
{
    const tk_json *result = tk_json_get(seen, "result");
    const tk_json *category = tk_json_get(seen, "category");
    if (result != NULL) {
        assert_int_equal(last->kind, TK_ANSWER_RESULT);
        const tk_schema *schema = tk_future_info_of(TK_FUTURE_OPTIM_STEP)->result;
        void *msg = message_room(schema);
        tk_err err = TK_ERR_INIT;
        assert_int_equal(tk_schema_decode(msg, schema, &arena, last->json, 0, &err),
                         TINKC_OK);
        fixture_assert_same(written_again(schema, msg, what), result, FIXTURE_NULLS,
                            what);
    } else if (category != NULL && strcmp(what, "failed_category_case") != 0) {
        static const char *const words[] = {"unknown", "server", "user"};
        assert_int_equal(last->kind, TK_ANSWER_FAILED);
        assert_true(tk_str_is(category->as.string, words[last->category]));
    } else if (category == NULL && code == TINKC_OK && last->kind == TK_ANSWER_RESULT &&
               strcmp(what, "result_mismatch") != 0) {
        const tk_schema *schema = tk_future_info_of(TK_FUTURE_OPTIM_STEP)->result;
        tk_err err = TK_ERR_INIT; /* the SDK failed on it, so must the decoder */
        assert_int_not_equal(
            tk_schema_decode(message_room(schema), schema, &arena, last->json, 0, &err),
            TINKC_OK);
    }
}

static void check_outcome(const tk_json *outcome)
{
    const tk_json *answers = fixture_need(outcome, "answers");
    const tk_json *seen = fixture_need(outcome, "seen");
    size_t polls = (size_t)fixture_int(seen, "polls");
    assert_true(polls <= tk_json_len(answers));
    bool metadata = true;
    for (size_t i = 0; i < polls; i++) {
        const tk_json *answer = fixture_at(&arena, answers, i);
        if (fixture_int(answer, "status") != 200) {
            continue; /* statuses are not classified here */
        }
        tk_future_answer got;
        tinkc_code code;
        tk_answer_kind kind = classify(answer, metadata, &got, &code);
        if (i + 1 < polls) { /* the SDK polled again */
            assert_true(kind == TK_ANSWER_TRY_AGAIN || kind == TK_ANSWER_METADATA);
            metadata = metadata && kind != TK_ANSWER_METADATA;
        } else {
            assert_true(kind != TK_ANSWER_TRY_AGAIN && kind != TK_ANSWER_METADATA);
            check_last(seen, &got, code, fixture_text(outcome, "name"));
        }
    }
}

/* What the SDK polls again for, fails on and returns, we sort the same way. */
static void test_fixture_future_outcomes(void **unused)
{
    for (size_t v = 0; v < TK_ARRAY_LEN(versions); v++) {
        const tk_json *file =
            fixture_load(&arena, versions[v], "responses/future_outcomes.json");
        const tk_json *outcomes = fixture_need(file, "outcomes");
        assert_true(tk_json_len(outcomes) >= 30);
        for (size_t i = 0; i < tk_json_len(outcomes); i++) {
            check_outcome(fixture_at(&arena, outcomes, i));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_fixture_request_json, teardown),
        cmocka_unit_test_teardown(test_fixture_response_json, teardown),
        cmocka_unit_test_teardown(test_fixture_future_outcomes, teardown),
    };
    return cmocka_run_group_tests_name("fixtures", tests, NULL, NULL);
}
