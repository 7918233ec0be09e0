/* What a 2xx of retrieve_future means: rows 12 to 19 of docs/protocol.md §4 (A-043,
 * A-046, M-092.. M-097). */
#include "wire/msg_future.h"

#include <stdio.h>

#include "base/limits.h"
#include "support/failmem.h"
#include "support/test.h"

static tk_arena arena;

static int teardown(void **unused)
{
    tk_arena_dispose(&arena);
    return 0;
}

static tk_future_answer answer(tk_future_type type, bool metadata, const char *body)
{
    tk_future_answer out;
    const tk_future_poll poll = {type, metadata, TK_STR("application/json")};
    tk_err err = TK_ERR_INIT;
    tinkc_code code = tk_future_classify(&out, &poll, &arena, tk_str_of(body), &err);
    assert_int_equal(code == TINKC_OK, out.kind != TK_ANSWER_MALFORMED);
    assert_int_equal(code, err.code);
    return out;
}

/* Row 12: the content type decides, before anything is parsed. */
static void test_future_protobuf(void **unused)
{
    static const char *const types[] = {"application/x-protobuf",
                                        "Application/X-Protobuf; charset=binary"};
    for (size_t i = 0; i < TK_ARRAY_LEN(types); i++) {
        tk_future_answer out;
        const tk_future_poll poll = {TK_FUTURE_SAMPLE, true, tk_str_of(types[i])};
        assert_int_equal(
            tk_future_classify(&out, &poll, &arena, TK_STR("\n\x01\xff"), NULL),
            TINKC_OK);
        assert_int_equal(out.kind, TK_ANSWER_PROTO);
    }
}

/* Row 13, with whatever the server says about its queue; nothing of it is needed. */
static void test_future_try_again(void **unused)
{
    tk_future_answer out = answer(
        TK_FUTURE_SAMPLE, true,
        "{\"type\":\"try_again\",\"request_id\":\"r\",\"queue_state\":\"paused_capacity\","
        "\"queue_state_reason\":\"full\",\"retry_after_ms\":50,\"error\":\"ignored\"}");
    assert_int_equal(out.kind, TK_ANSWER_TRY_AGAIN);
    assert_int_equal(out.try_again.queue_state.v, TK_QUEUE_PAUSED_CAPACITY);
    assert_true(tk_str_is(out.try_again.queue_state_reason.v, "full"));
    assert_int_equal(out.try_again.retry_after_ms.v, 50);
    out = answer(TK_FUTURE_SAMPLE, true, "{\"type\":\"try_again\"}");
    assert_int_equal(out.kind, TK_ANSWER_TRY_AGAIN);
    assert_int_equal(out.try_again.queue_state.is, TK_UNSET);
    out = answer(TK_FUTURE_SAMPLE, true,
                 "{\"type\":\"try_again\",\"queue_state_reason\":[1]}");
    assert_int_equal(out.kind, TK_ANSWER_TRY_AGAIN);
    assert_int_equal(out.try_again.queue_state_reason.is, TK_UNSET);
}

/* Rows 14 and 15. */
static void test_future_metadata(void **unused)
{
    static const char body[] =
        "{\"status\":\"complete_metadata\",\"response_payload_size\":123456}";
    tk_future_answer out = answer(TK_FUTURE_SAMPLE, true, body);
    assert_int_equal(out.kind, TK_ANSWER_METADATA);
    assert_int_equal(out.payload_size, 123456);
    assert_int_equal(answer(TK_FUTURE_SAMPLE, false, body).kind,
                     TK_ANSWER_METADATA_TWICE);
    out = answer(TK_FUTURE_SAMPLE, true,
                 "{\"status\":\"complete_metadata\",\"response_payload_size\":null}");
    assert_int_equal(out.kind, TK_ANSWER_METADATA);
    assert_int_equal(out.payload_size, 0);
    out = answer(TK_FUTURE_SAMPLE, true, "{\"status\":\"complete_metadata\"}");
    assert_int_equal(out.payload_size, 0);
    out = answer(TK_FUTURE_SAMPLE, true,
                 "{\"status\":\"complete_metadata\",\"response_payload_size\":-1}");
    assert_int_equal(out.kind, TK_ANSWER_MALFORMED);
}

/* Row 16, A-046: any key `error` is a failure; the category is read in any case. */
static void test_future_failed(void **unused)
{
    static const struct {
        const char *body, *error;
        tinkc_category category;
    } rows[] = {
        {"{\"error\":\"e\",\"category\":\"user\"}", "e", TINKC_CATEGORY_USER},
        {"{\"error\":\"e\",\"category\":\"USER\"}", "e", TINKC_CATEGORY_USER},
        {"{\"error\":\"e\",\"category\":\"Server\"}", "e", TINKC_CATEGORY_SERVER},
        {"{\"error\":\"e\",\"category\":\"weird\"}", "e", TINKC_CATEGORY_UNKNOWN},
        {"{\"error\":\"e\",\"category\":null}", "e", TINKC_CATEGORY_UNKNOWN},
        {"{\"error\":\"e\",\"category\":7}", "e", TINKC_CATEGORY_UNKNOWN},
        {"{\"error\":\"e\"}", "e", TINKC_CATEGORY_UNKNOWN},
        {"{\"error\":null}", "null", TINKC_CATEGORY_UNKNOWN},
        {"{\"error\":{\"a\":[1]}}", "{\"a\":[1]}", TINKC_CATEGORY_UNKNOWN},
        {"{\"error\":\"\",\"model_id\":\"m\"}", "", TINKC_CATEGORY_UNKNOWN},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_future_answer out = answer(TK_FUTURE_CREATE_MODEL, true, rows[i].body);
        assert_int_equal(out.kind, TK_ANSWER_FAILED);
        assert_int_equal(out.category, rows[i].category);
        assert_true(tk_str_is(out.error, rows[i].error));
    }
}

/* Rows 17 and 18: a result in JSON, also where protobuf is asked for. */
static void test_future_results(void **unused)
{
    for (int type = 0; type < TK_FUTURE_TYPES; type++) {
        const tk_future_info *info = tk_future_info_of((tk_future_type)type);
        tk_future_answer out = answer((tk_future_type)type, true, "{\"x\":1}");
        assert_int_equal(out.kind, TK_ANSWER_RESULT);
        assert_non_null(out.json);
        assert_true(strlen(info->header) > 0);
        assert_non_null(info->result);
    }
    assert_true(tk_future_info_of(TK_FUTURE_SAMPLE)->is_proto);
    assert_true(tk_future_info_of(TK_FUTURE_FORWARD)->is_proto);
    assert_false(tk_future_info_of(TK_FUTURE_OPTIM_STEP)->is_proto);
    assert_string_equal(tk_future_info_of(TK_FUTURE_SAVE_WEIGHTS_FOR_SAMPLER)->header,
                        "SaveWeightsForSampler");
}

/* Row 18: `type` may be missing or null; a word that is not the result's is not a result
 * that we understand, and neither is a status alone. */
static void test_future_other(void **unused)
{
    for (int i = 0; i < TK_FUTURE_TYPES; i++) {
        tk_future_type type = (tk_future_type)i;
        const tk_future_info *info = tk_future_info_of(type);
        tk_answer_kind result = TK_ANSWER_RESULT;
        char own[96];
        (void)snprintf(own, sizeof(own), "{\"type\":\"%s\",\"status\":\"x\"}",
                       info->label);
        assert_int_equal(answer(type, true, own).kind, result);
        assert_int_equal(answer(type, true, "{\"type\":null}").kind, result);
        tk_future_answer out = answer(type, true, "{\"type\":\"half_done\"}");
        assert_int_equal(out.kind, TK_ANSWER_OTHER);
        assert_true(tk_str_is(out.error, "half_done"));
        out = answer(type, true, "{\"status\":\"queued\",\"x\":1}");
        assert_int_equal(out.kind, TK_ANSWER_OTHER);
        assert_true(tk_str_is(out.error, "queued"));
        (void)snprintf(own, sizeof(own), "{\"status\":\"queued\",\"%s\":null}",
                       info->result->fields[0].name);
        assert_int_equal(answer(type, true, own).kind, result);
        for (size_t j = 0; j < info->result->n; j++) {
            const tk_field *field = &info->result->fields[j];
            assert_true(field->kind != TK_KIND_LITERAL ||
                        strcmp(field->text, info->label) == 0);
        }
    }
}

/* Row 19. */
static void test_future_malformed(void **unused)
{
    static const char *const bad[] = {"", "null", "[]", "\"x\"", "7", "{", "<html>"};
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        assert_int_equal(answer(TK_FUTURE_SAMPLE, true, bad[i]).kind,
                         TK_ANSWER_MALFORMED);
    }
}

/* The body of a 408 is read for its queue state, whatever else it is. */
static void test_future_408(void **unused)
{
    tk_try_again out;
    tk_future_read_408(&out, &arena,
                       TK_STR("{\"type\":\"try_again\",\"queue_state\":\"active\"}"));
    assert_int_equal(out.queue_state.v, TK_QUEUE_ACTIVE);
    tk_future_read_408(&out, &arena,
                       TK_STR("{\"queue_state\":\"paused_rate_limit\","
                              "\"queue_state_reason\":\"r\"}"));
    assert_int_equal(out.queue_state.v, TK_QUEUE_PAUSED_RATE_LIMIT);
    static const char *const none[] = {"", "{\"detail\":\"Timeout\"}", "[]", "null",
                                       "{\"queue_state\":null}"};
    for (size_t i = 0; i < TK_ARRAY_LEN(none); i++) {
        tk_future_read_408(&out, &arena, tk_str_of(none[i]));
        assert_int_not_equal(out.queue_state.is, TK_SET);
    }
}

static bool classify_scenario(void *user)
{
    tk_arena own;
    tk_arena_init(&own, 0);
    tk_future_answer out;
    const tk_future_poll poll = {TK_FUTURE_SAMPLE, true, TK_STR("application/json")};
    tk_err err = TK_ERR_INIT;
    tinkc_code code = tk_future_classify(&out, &poll, &own, tk_str_of(user), &err);
    assert_true(code == TINKC_OK || code == TINKC_E_NOMEM);
    tk_arena_dispose(&own);
    return code == TINKC_OK;
}

static void test_future_sweep(void **unused)
{
    char failed[] = "{\"error\":{\"a\":1}}";
    char again[] = "{\"type\":\"try_again\",\"queue_state\":\"active\"}";
    char metadata[] = "{\"status\":\"complete_metadata\"}";
    assert_true(failmem_sweep(classify_scenario, failed, 1) > 0);
    assert_true(failmem_sweep(classify_scenario, again, 1) > 0);
    assert_true(failmem_sweep(classify_scenario, metadata, 1) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_future_protobuf),
        cmocka_unit_test_teardown(test_future_try_again, teardown),
        cmocka_unit_test_teardown(test_future_metadata, teardown),
        cmocka_unit_test_teardown(test_future_failed, teardown),
        cmocka_unit_test_teardown(test_future_results, teardown),
        cmocka_unit_test_teardown(test_future_other, teardown),
        cmocka_unit_test_teardown(test_future_malformed, teardown),
        cmocka_unit_test_teardown(test_future_408, teardown),
        cmocka_unit_test(test_future_sweep),
    };
    return cmocka_run_group_tests_name("msg_future", tests, NULL, NULL);
}
