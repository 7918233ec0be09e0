/* Handles of samplers: what is written, who may join, and hostile texts (docs/protocol.md
 * §4.3), on a scripted transport.
 * Links: peer */
#include <stdio.h>
#include <stdlib.h>

#include "base/base64.h"
#include "support/failmem.h"
#include "support/fakeapi_tinker.h"
#include "support/groupfix.h"

#define JOIN "join_sampling_session"
#define BOTH                                                                             \
    "{\"sample_use_retrieve_futures\":true,\"sample_join_sampling_session\":true}"

static const char *const level[] = {"sdk_version", "0.36.0", NULL};

/* get_sampler_handle of the official SDK 0.36.0. */
static const char official[] =
    "eyJzZXNzaW9uX2lkIjoiUyIsInNhbXBsaW5nX3Nlc3Npb25faWQiOiJTOnNhbXBsZTowIiwiaG9sZGVyIjp7"
    "ImJhc2VfdXJsIjoiaHR0cDovLzEyNy4wLjAuMToxIiwiZGVmYXVsdF9oZWFkZXJzX292ZXJyaWRlcyI6e30s"
    "ImNsaWVudF9jb25maWciOnt9LCJjbGllbnRfZHluYW1pY19jb25maWciOnt9LCJhcGlfa2V5IjpudWxsfSwi"
    "cmVjb3JkX3N0YWJpbGl0eV9pbmZvIjpmYWxzZX0=";

/* The text of base64url, in the arena. */
static const char *encoded(tk_arena *arena, const char *json)
{
    tk_buf text;
    tk_str copy = {NULL, 0};
    tk_buf_init(&text, TK_MIB);
    tk_base64_encode(&text, json, strlen(json));
    for (size_t i = 0; i < text.n; i++) {
        text.p[i] = text.p[i] == '+' ? '-' : text.p[i] == '/' ? '_' : text.p[i];
    }
    assert_true(tk_arena_dup(arena, &copy, text.p, text.n));
    tk_buf_dispose(&text);
    return copy.p;
}

static const tk_json *decoded(tk_arena *arena, const char *handle)
{
    tk_str text = tk_str_of(handle);
    while (text.n > 0 && text.p[text.n - 1] == '=') {
        text.n--;
    }
    char *bytes = tk_arena_alloc(arena, tk_base64_decoded_size(text) + 1);
    const tk_json *json = NULL;
    assert_non_null(bytes);
    assert_int_equal(tk_base64_decode_url(bytes, text, NULL), TINKC_OK);
    assert_int_equal(
        tk_json_parse(&json, arena, bytes, tk_base64_decoded_size(text), NULL, NULL),
        TINKC_OK);
    return json;
}

/* M-086: the official SDK's fields, and nothing that is secret. */
static void test_sampling_handle_export(void **unused)
{
    static const char *const options[] = {
        "sdk_version", "0.36.0", "cf_access_id", "me", "cf_access_secret",
        "swordfish",   NULL};
    groupfix g;
    tk_arena arena;
    tk_arena_init(&arena, TK_MIB);
    groupfix_open_as(&g, options, BOTH, "{\"sample_cancel_enabled\":true}");
    char *text = NULL;
    assert_int_equal(tinkc_sampling_export(&text, g.sampling, NULL), TINKC_OK);
    assert_int_equal(strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789-_="),
                     strlen(text));
    const tk_json *json = decoded(&arena, text);
    const tk_json *holder = tk_json_get(json, "holder");
    assert_true(tk_str_is(tk_json_get(json, "session_id")->as.string, "S"));
    assert_true(
        tk_str_is(tk_json_get(json, "sampling_session_id")->as.string, "S:sample:0"));
    assert_false(tk_json_get(json, "record_stability_info")->as.boolean);
    assert_true(
        tk_str_is(tk_json_get(holder, "base_url")->as.string, "http://127.0.0.1:1"));
    assert_int_equal(tk_json_get(holder, "api_key")->type, TK_JSON_NULL);
    assert_int_equal(tk_json_get(holder, "default_headers_overrides")->as.object.n, 0);
    assert_true(
        tk_json_get(tk_json_get(holder, "client_config"), "sample_join_sampling_session")
            ->as.boolean);
    assert_true(
        tk_json_get(tk_json_get(holder, "client_dynamic_config"), "sample_cancel_enabled")
            ->as.boolean);
    tk_buf plain;
    tk_json_writer w;
    tk_buf_init(&plain, TK_MIB);
    tk_json_writer_init(&w, &plain);
    tk_json_put_value(&w, json);
    assert_null(strstr(tk_buf_cstr(&plain), "tml-test"));
    assert_null(strstr(tk_buf_cstr(&plain), "swordfish"));
    tk_buf_dispose(&plain);
    tinkc_text_free(&text);
    tk_arena_dispose(&arena);
    groupfix_close(&g);
}

static void test_sampling_handle_no_session(void **unused)
{
    groupfix g;
    groupfix_open_as(&g, level, BOTH, "{}");
    tinkc_sample_target target = TINKC_SAMPLE_TARGET_INIT;
    target.base_model = "m";
    tinkc_future *future = tinkc_service_open_sampling(g.f.service, &target);
    tinkc_sampling *sampling = NULL;
    char *text = NULL;
    clientfix_turn(&g.f);
    assert_int_equal(tinkc_future_take_sampling(&sampling, future, NULL), TINKC_OK);
    tinkc_future_free(&future);
    assert_int_equal(tinkc_sampling_export(&text, sampling, NULL), TINKC_E_STATE);
    assert_int_equal(tinkc_sampling_export(&text, NULL, NULL), TINKC_E_STATE);
    assert_int_equal(tinkc_sampling_export(NULL, g.sampling, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_service_import_sampling_wait(&sampling, NULL, "x", NULL),
                     TINKC_E_STATE);
    assert_null(text);
    tinkc_sampling_close(&sampling);
    groupfix_close(&g);
}

static tinkc_future *import(groupfix *g, const char *handle, const char *answer)
{
    if (answer != NULL) {
        faketransport_default(&g->f.net, JOIN, (fakeanswer){.body = answer});
    }
    tinkc_future *future = tinkc_service_import_sampling(g->f.service, handle);
    clientfix_turn(&g->f);
    return future;
}

/* M-086: the client that joins numbers its samples from n x 10^9, and asks for its
 * own. */
static void test_sampling_handle_import(void **unused)
{
    const struct {
        const char *answer, *seq, *clone;
    } rows[] = {
        {"{\"client_counter\":3}", "\"seq_id\":3000000000,", "\"cloned_sampler_id\":3}"},
        {"{\"client_counter\":9000000000,\"type\":\"join_sampling_session\","
         "\"later\":{}}",
         "\"seq_id\":9000000000000000000,", "\"cloned_sampler_id\":9000000000}"}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        groupfix g;
        groupfix_open_as(&g, level, BOTH, "{}");
        tinkc_future *future = import(&g, official, rows[i].answer);
        assert_string_equal(
            faketransport_nth(&g.f.net, JOIN, 0)->body,
            "{\"sampling_session_id\":\"S:sample:0\",\"type\":\"join_sampling_session\"}");
        tinkc_sampling_close(&g.sampling);
        assert_int_equal(tinkc_future_take_sampling(&g.sampling, future, NULL), TINKC_OK);
        tinkc_future_free(&future);
        assert_string_equal(tinkc_sampling_session_id(g.sampling), "S:sample:0");
        future = groupfix_sample(&g);
        assert_non_null(
            strstr(faketransport_nth(&g.f.net, SAMPLE, 0)->body, rows[i].seq));
        assert_non_null(strstr(groupfix_asked(&g, 0), rows[i].clone));
        groupfix_say(&g, "{\"completions\":[{\"state\":\"finished\",\"request_id\":"
                         "\"r0\"}],\"cursor\":1}");
        assert_true(samplefix_finish(&g.f));
        groupfix_ended(&future, 1, TINKC_OK);
        groupfix_close(&g);
    }
}

/* M-086: without its own range a client would use the numbers of another: it is
 * refused. */
static void test_sampling_handle_not_offered(void **unused)
{
    static const char *const old[] = {"sdk_version", "0.25.0", NULL};
    const struct {
        const char *const *level;
        const char *flags;
    } rows[] = {{level, "{}"}, {level, GROUPFIX_FLAG}, {old, BOTH}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        groupfix g;
        groupfix_open_as(&g, rows[i].level, rows[i].flags, "{}");
        tinkc_future *future = import(&g, official, "{\"client_counter\":1}");
        groupfix_ended(&future, 1, TINKC_E_UNSUPPORTED);
        assert_int_equal(faketransport_count(&g.f.net, JOIN), 0);
        groupfix_close(&g);
    }
}

/* M-086: an answer to the join that cannot be used is an error. */
static void test_sampling_handle_refused(void **unused)
{
    static const char *const bad[] = {"{}",
                                      "[]",
                                      "{\"client_counter\":-1}",
                                      "{\"client_counter\":9000000001}",
                                      "{\"client_counter\":99999999999999999999}",
                                      "{\"client_counter\":\"1\"}",
                                      "{\"client_counter\":null}"};
    groupfix g;
    groupfix_open_as(&g, level, BOTH, "{}");
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        tinkc_future *future = import(&g, official, bad[i]);
        groupfix_ended(&future, 1, TINKC_E_DECODE);
    }
    faketransport_default(&g.f.net, JOIN, (fakeanswer){.status = 404, .body = "{}"});
    tinkc_future *future = import(&g, official, NULL);
    groupfix_ended(&future, 1, TINKC_E_NOT_FOUND);
    groupfix_close(&g);
}

/* Any text is refused quickly and locally, unless it is a handle. */
static void test_sampling_handle_hostile(void **unused)
{
    groupfix g;
    tk_arena arena;
    tk_arena_init(&arena, 16 * TK_MIB);
    groupfix_open_as(&g, level, BOTH, "{}");
    char *deep = tk_arena_alloc(&arena, 40001), *large = tk_arena_alloc(&arena, 200001),
         *id = tk_arena_alloc(&arena, 1001);
    assert_true(deep != NULL && large != NULL && id != NULL);
    memset(deep, '[', 40000);
    memset(large, 'A', 200000);
    (void)snprintf(id, 1001, "{\"sampling_session_id\":\"%0900d\"}", 7);
    deep[40000] = large[200000] = '\0';
    const char *const texts[] = {
        NULL,
        "",
        "=",
        "====",
        "x",
        "S:sample:0",
        "not base64 at all!",
        "eyJz+/==",
        large,
        encoded(&arena, "{}"),
        encoded(&arena, "[1,2]"),
        encoded(&arena, "7"),
        encoded(&arena, "{\"sampling_session_id\":7}"),
        encoded(&arena, "{\"sampling_session_id\":\"\"}"),
        encoded(&arena, "{\"sampling_session_id\":\"a b\"}"),
        encoded(&arena, "{\"sampling_session_id\":\"a\\r\\nX-Evil: 1\"}"),
        encoded(&arena, "{\"sampling_session_id\":\"a\\u0000b\"}"),
        encoded(&arena, "{\"sampling_session_id\":\"\\u00e9\"}"),
        encoded(&arena, id),
        encoded(&arena, deep)};
    for (size_t i = 0; i < TK_ARRAY_LEN(texts); i++) {
        tinkc_future *future = import(&g, texts[i], "{\"client_counter\":1}");
        groupfix_ended(&future, 1, TINKC_E_INVALID);
    }
    /* every cut of a good one */
    for (size_t n = 0; n + 1 < sizeof(official) - 1; n++) {
        memcpy(large, official, n);
        large[n] = '\0';
        tinkc_future *future = import(&g, large, "{\"client_counter\":1}");
        groupfix_ended(&future, 1, TINKC_E_INVALID);
    }
    assert_int_equal(faketransport_count(&g.f.net, JOIN), 0);
    tk_arena_dispose(&arena);
    groupfix_close(&g);
}

/* ---- allocation failures ---- */

static bool sweep_once(void *user)
{
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, &(fakeapi_tinker_options){.config = BOTH});
    fakeapi_default(api, "POST", "/api/v1/" JOIN,
                    &(fakeapi_step){.body = "{\"client_counter\":2}"});
    tinkc_config *config = NULL;
    tinkc_service *service = NULL;
    tinkc_sampling *sampling = NULL;
    char *text = NULL;
    bool ok = tinkc_config_new(&config, NULL) == TINKC_OK &&
              tinkc_config_set(config, "base_url", fakeapi_url(api), NULL) == TINKC_OK &&
              tinkc_config_set(config, "sdk_version", "0.36.0", NULL) == TINKC_OK &&
              tinkc_config_set(config, "api_key", "tml-k", NULL) == TINKC_OK &&
              tinkc_config_set(config, "loop", "manual", NULL) == TINKC_OK &&
              tinkc_service_open(&service, config, NULL) == TINKC_OK &&
              tinkc_service_import_sampling_wait(&sampling, service, official, NULL) ==
                  TINKC_OK &&
              tinkc_sampling_export(&text, sampling, NULL) == TINKC_OK;
    tinkc_text_free(&text);
    tinkc_sampling_close(&sampling);
    tinkc_service_close(&service);
    tinkc_config_free(&config);
    fakeapi_stop(&api);
    return ok;
}

static void test_sampling_handle_allocation_sweep(void **unused)
{
    assert_true(failmem_sweep(sweep_once, NULL, 1) > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sampling_handle_export),
        cmocka_unit_test(test_sampling_handle_no_session),
        cmocka_unit_test(test_sampling_handle_import),
        cmocka_unit_test(test_sampling_handle_not_offered),
        cmocka_unit_test(test_sampling_handle_refused),
        cmocka_unit_test(test_sampling_handle_hostile),
        cmocka_unit_test(test_sampling_handle_allocation_sweep),
    };
    return cmocka_run_group_tests_name("sampling_handle", tests, NULL, NULL);
}
