/* Training helpers against what the official SDK's own functions computed
 * (tests/data/wire): metric reduction, byte estimates and splitting, container headers,
 * HTTP errors (A-039, A-043, A-067, A-077, M-099, M-118). */
#include "wire/fixtures.h"
#include "wire/input.h"
#include "wire/metrics.h"
#include "wire/msg_value.h"
#include "wire/split.h"
#include "wire/wire_error.h"

static tk_arena arena;

static int teardown(void **unused)
{
    tk_arena_dispose(&arena);
    return 0;
}

static void *room(size_t count, size_t size)
{
    void *p = tk_arena_array(&arena, count + 1, size);
    assert_non_null(p);
    memset(p, 0, (count + 1) * size);
    return p;
}

/* ---- metrics ---- */

static tk_fwdbwd_output output_of(const tk_json *chunk)
{
    const tk_json *metrics = fixture_need(chunk, "metrics");
    size_t n = metrics->as.object.n;
    tk_named_num *items = room(n, sizeof(*items));
    for (size_t i = 0; i < n; i++) {
        const tk_json_member *member = &metrics->as.object.members[i];
        items[i] = (tk_named_num){member->key, fixture_number(&member->value)};
    }
    size_t outputs = (size_t)fixture_int(chunk, "outputs");
    return (tk_fwdbwd_output){.loss_fn_outputs = room(outputs, sizeof(tk_tensor_map)),
                              .loss_fn_outputs_n = outputs,
                              .metrics = {items, n}};
}

static void expect_metrics(const tk_num_map *got, const tk_json *want, size_t set,
                           bool old)
{
    for (size_t i = 0; i < want->as.object.n; i++) {
        const tk_json_member *member = &want->as.object.members[i];
        const double *value = tk_metrics_find(got, member->key);
        if (value == NULL ||
            !fixture_same_number(*value, fixture_number(&member->value))) {
            fail_msg("set %zu: %s", set, member->key.p);
        }
    }
    for (size_t i = 0; i < got->n; i++) { /* kept though the SDK drops it: no reducer */
        tk_str name = got->items[i].name;
        bool extra = tk_json_get(want, name.p) == NULL;
        assert_true(!extra || tk_str_is(name, old ? "h:hash2" : "h:hash_unordered") ||
                    tk_str_is(name, old ? "h:hash2" : "f:hash_unordered") ||
                    tk_str_is(name, "new:median"));
    }
}

/* Every chunk set reduces to what the SDK makes of it. Where the SDK fails (a name
 * without a reducer, a mean of nothing) we keep what there is. Of the two hashes each
 * version of the SDK has one; we reduce both. */
static void check_reducers(const char *version)
{
    bool old = strcmp(version, FIXTURE_OLD) == 0;
    const tk_json *file = fixture_load(&arena, version, "goldens/reducers.json");
    const tk_json *sets = fixture_need(file, "sets");
    assert_true(tk_json_len(sets) >= 20);
    for (size_t i = 0; i < tk_json_len(sets); i++) {
        const tk_json *set = fixture_at(&arena, sets, i);
        const tk_json *chunks = fixture_need(set, "chunks");
        size_t n = tk_json_len(chunks);
        tk_fwdbwd_output *parts = room(n, sizeof(*parts));
        for (size_t j = 0; j < n; j++) {
            parts[j] = output_of(fixture_at(&arena, chunks, j));
        }
        tk_fwdbwd_output sum;
        tk_err err = TK_ERR_INIT;
        assert_int_equal(tk_metrics_combine(&sum, &arena, parts, n, &err), TINKC_OK);
        const tk_json *want = tk_json_get(set, "result");
        if (want != NULL) {
            expect_metrics(&sum.metrics, want, i, old);
        } else {
            assert_int_equal(n, 1);
            assert_int_equal(sum.metrics.n, parts[0].metrics.n);
        }
    }
}

static void test_fixture_train_reducers(void **unused)
{
    check_reducers(FIXTURE_OLD);
    check_reducers(FIXTURE_NEW);
}

/* ---- estimates and splitting ---- */

static void test_fixture_train_estimates(void **unused)
{
    const tk_json *file = fixture_load(&arena, FIXTURE_OLD, "goldens/splitting.json");
    const tk_json *estimates = fixture_need(file, "estimates");
    const tk_json *chunks = fixture_need(estimates, "chunks");
    const tk_json *tensors = fixture_need(estimates, "tensors");
    tk_err err = TK_ERR_INIT;
    for (size_t i = 0; i < chunks->as.object.n; i++) {
        const tk_json *row = &chunks->as.object.members[i].value;
        tk_chunk chunk;
        assert_int_equal(tk_schema_decode(&chunk, &tk_msg_chunk, &arena,
                                          fixture_need(row, "chunk"), 0, &err),
                         TINKC_OK);
        const tk_model_input input = {&chunk, 1};
        assert_int_equal(tk_model_input_bytes(&input, TK_TRAIN_TOKEN_BYTES),
                         fixture_int(row, "bytes"));
    }
    for (size_t i = 0; i < tensors->as.object.n; i++) {
        const tk_json *row = &tensors->as.object.members[i].value;
        tk_tensor tensor;
        assert_int_equal(tk_schema_decode(&tensor, &tk_msg_tensor, &arena,
                                          fixture_need(row, "tensor"), 0, &err),
                         TINKC_OK);
        assert_int_equal(tk_tensor_bytes(&tensor), fixture_int(row, "bytes"));
    }
    assert_true(chunks->as.object.n == 4 && tensors->as.object.n >= 5);
}

/* Datums of the recorded sizes, as images without data: only sizes are looked at. */
static const tk_datum *datums_of(const tk_json *row, size_t *n_out)
{
    const tk_json *sizes = tk_json_get(row, "datum_bytes");
    size_t n = sizes != NULL ? tk_json_len(sizes) : (size_t)fixture_int(row, "datums");
    tk_datum *data = room(n, sizeof(*data));
    tk_chunk *chunks = room(n, sizeof(*chunks));
    for (size_t i = 0; i < n; i++) {
        int64_t bytes = 0;
        if (sizes != NULL) {
            tk_json value = tk_json_at(sizes, i);
            assert_true(tk_json_to_i64(&value, &bytes));
        } else {
            bytes = fixture_int(row, "datum_bytes_each");
        }
        chunks[i] = (tk_chunk){.kind = TK_CHUNK_IMAGE, .data = {NULL, (size_t)bytes}};
        data[i].model_input = (tk_model_input){&chunks[i], 1};
    }
    *n_out = n;
    return data;
}

static void test_fixture_train_splits(void **unused)
{
    const tk_json *file = fixture_load(&arena, FIXTURE_OLD, "goldens/splitting.json");
    const tk_json *splits = fixture_need(file, "splits");
    assert_true(tk_json_len(splits) >= 15);
    for (size_t i = 0; i < tk_json_len(splits); i++) {
        const tk_json *row = fixture_at(&arena, splits, i);
        size_t n;
        const tk_datum *data = datums_of(row, &n);
        const tk_json *want = fixture_need(row, "chunks");
        const tk_split_limits limits = {fixture_int(row, "max_datums"),
                                        fixture_int(row, "max_bytes")};
        tk_split got = {NULL, 0};
        tk_err err = TK_ERR_INIT;
        tinkc_code code = tk_split_batch(&got, &arena, data, n, &limits, &err);
        /* An empty batch gives the SDK no chunks; for us it is an error. */
        assert_int_equal(code, n > 0 ? TINKC_OK : TINKC_E_INVALID);
        assert_int_equal(got.n, tk_json_len(want));
        for (size_t j = 0; j < got.n; j++) {
            const tk_json *part = fixture_at(&arena, want, j);
            assert_int_equal(got.parts[j].n, fixture_int(part, "datums"));
            assert_int_equal(got.parts[j].bytes, fixture_int(part, "bytes"));
        }
    }
}

/* ---- container headers ---- */

/* A length beyond int64 is refused by us only. */
static void test_fixture_train_dmel(void **unused)
{
    const tk_json *file = fixture_load(&arena, FIXTURE_OLD, "goldens/dmel.json");
    const tk_json *containers = fixture_need(file, "containers");
    assert_true(tk_json_len(containers) >= 20);
    for (size_t i = 0; i < tk_json_len(containers); i++) {
        const tk_json *row = fixture_at(&arena, containers, i);
        const tk_json *want = tk_json_get(fixture_need(row, "length"), "result");
        int64_t expected = -1, got = -1;
        bool fits = want != NULL && tk_json_to_i64(want, &expected);
        tk_err err = TK_ERR_INIT;
        tinkc_code code =
            tk_dmel_length(&got, fixture_bytes(&arena, row, "base64"), &err);
        assert_int_equal(code == TINKC_OK, fits);
        assert_int_equal(got, expected);
    }
}

/* ---- HTTP errors ---- */

/* The class of exception that belongs to a code. */
static const char *exception_of(tinkc_code code)
{
    switch ((int)code) {
    case TINKC_E_BAD_REQUEST:
        return "BadRequestError";
    case TINKC_E_AUTH:
        return "AuthenticationError";
    case TINKC_E_PERMISSION:
        return "PermissionDeniedError";
    case TINKC_E_NOT_FOUND:
        return "NotFoundError";
    case TINKC_E_CONFLICT:
        return "ConflictError";
    case TINKC_E_UNPROCESSABLE:
        return "UnprocessableEntityError";
    case TINKC_E_RATE_LIMIT:
        return "RateLimitError";
    case TINKC_E_SERVER:
        return "InternalServerError";
    default:
        return "APIStatusError";
    }
}

/* A status is the same kind of error for us as for the SDK, whatever its body. The bare
 * 400, which the pool takes for a broken connection, is not decided here. */
static void test_fixture_train_status_errors(void **unused)
{
    const tk_json *file =
        fixture_load(&arena, FIXTURE_OLD, "responses/status_errors.json");
    const tk_json *answers = fixture_need(file, "answers");
    assert_true(tk_json_len(answers) >= 60);
    for (size_t i = 0; i < tk_json_len(answers); i++) {
        const tk_json *row = fixture_at(&arena, answers, i);
        const tk_json *answer = fixture_need(row, "answer");
        tk_str body = tk_str_of(fixture_text(answer, "body"));
        tk_err err = TK_ERR_INIT;
        const tk_error_response response = {.status = (int)fixture_int(answer, "status"),
                                            .body = body};
        tinkc_code code = tk_wire_error_fill(&err, &response);
        bool bare_400 = response.status == 400 && body.n == 0;
        if (!bare_400) {
            assert_string_equal(exception_of(code),
                                fixture_text(fixture_need(row, "seen"), "exception"));
        }
        bool says = strstr(body.p, "a reason") != NULL;
        assert_true(!says || strstr(err.message, "a reason") != NULL);
        says = strstr(body.p, "plain trouble") != NULL;
        assert_true(!says || strstr(err.message, "plain trouble") != NULL);
        says = strstr(body.p, "value_error") != NULL;
        assert_true(!says || strstr(err.message, "body.x: bad") != NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_fixture_train_reducers, teardown),
        cmocka_unit_test_teardown(test_fixture_train_estimates, teardown),
        cmocka_unit_test_teardown(test_fixture_train_splits, teardown),
        cmocka_unit_test_teardown(test_fixture_train_dmel, teardown),
        cmocka_unit_test_teardown(test_fixture_train_status_errors, teardown),
    };
    return cmocka_run_group_tests_name("fixtures_train", tests, NULL, NULL);
}
