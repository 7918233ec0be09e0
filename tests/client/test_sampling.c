/* The sampling handle on the scripted peer: creating, asking, closing.
 * Links: peer */
#include <tinkc/sampling.h>

#include "support/fakeapi_tinker.h"
#include "support/servicefix.h"

#define CREATE "/api/v1/create_sampling_session"

typedef struct fixture {
    fakeapi *api;
    tinkc_service *service;
    tinkc_sampling *sampling;
} fixture;

static void open_peer(fixture *f)
{
    f->api = fakeapi_start();
    fakeapi_tinker(f->api, NULL);
    f->service = servicefix_open(f->api, NULL);
    f->sampling = NULL;
}

static void open_sampling(fixture *f)
{
    open_peer(f);
    assert_int_equal(
        tinkc_service_create_sampling_wait(&f->sampling, f->service, "m", NULL, NULL),
        TINKC_OK);
}

static void close_all(fixture *f)
{
    tinkc_sampling_close(&f->sampling);
    assert_null(f->sampling);
    tinkc_service_close(&f->service);
    fakeapi_stop(&f->api);
}

/* Numbers of sampling sessions count up per service; both names may be given. */
static void test_sampling_create(void **unused)
{
    (void)unused;
    fixture f;
    open_sampling(&f);
    tinkc_sampling *second = NULL;
    fakeapi_reply(f.api, "POST", CREATE,
                  &fakeapi_json("{\"sampling_session_id\":\"second\"}"));
    assert_int_equal(tinkc_service_create_sampling_wait(
                         &second, f.service, "m", "tinker://r/sampler_weights/x", NULL),
                     TINKC_OK);
    const fakeapi_request *sent = fakeapi_nth(f.api, "POST", CREATE, 1);
    assert_non_null(strstr(sent->body, "\"sampling_session_seq_id\":1"));
    assert_non_null(strstr(sent->body, "\"base_model\":\"m\""));
    assert_non_null(
        strstr(sent->body, "\"model_path\":\"tinker://r/sampler_weights/x\""));
    assert_non_null(strstr(sent->body, tinkc_service_session_id(f.service)));
    assert_string_not_equal(tinkc_sampling_session_id(f.sampling),
                            tinkc_sampling_session_id(second));
    tinkc_sampling_close(&second);
    close_all(&f);
}

/* Wrong arguments are refused before anything is sent. */
static void test_sampling_create_refused(void **unused)
{
    (void)unused;
    static const char *const rows[][2] = {{NULL, NULL}, {NULL, "x/y"}, {"m", "http://x"}};
    fixture f;
    open_peer(&f);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tinkc_error *error = NULL;
        assert_int_equal(tinkc_service_create_sampling_wait(
                             &f.sampling, f.service, rows[i][0], rows[i][1], &error),
                         TINKC_E_INVALID);
        assert_null(f.sampling);
        assert_true(tinkc_error_message(error)[0] != '\0');
        tinkc_error_free(&error);
    }
    assert_int_equal(fakeapi_total(f.api), 0);
    close_all(&f);
}

static void test_sampling_create_fails(void **unused)
{
    (void)unused;
    fixture f;
    open_peer(&f);
    fakeapi_reply(f.api, "POST", CREATE, &fakeapi_detail(404, "no such model"));
    fakeapi_reply(f.api, "POST", CREATE, &fakeapi_json("{\"sampling_session_id\":\"\"}"));
    fakeapi_reply(f.api, "POST", CREATE, &fakeapi_json("{}"));
    static const tinkc_code codes[] = {TINKC_E_NOT_FOUND, TINKC_E_DECODE, TINKC_E_DECODE};
    for (size_t i = 0; i < TK_ARRAY_LEN(codes); i++) {
        assert_int_equal(
            tinkc_service_create_sampling_wait(&f.sampling, f.service, "m", NULL, NULL),
            codes[i]);
    }
    close_all(&f);
}

/* The id has colons, and a hostile one is escaped. */
static void test_sampling_base_model(void **unused)
{
    (void)unused;
    fixture f;
    open_peer(&f);
    fakeapi_reply(f.api, "POST", CREATE,
                  &fakeapi_json("{\"sampling_session_id\":\"a/b:sample:0?x\"}"));
    fakeapi_reply(f.api, "GET", "/api/v1/samplers/*",
                  &fakeapi_json("{\"sampler_id\":\"s\",\"base_model\":\"org/model\"}"));
    assert_int_equal(
        tinkc_service_create_sampling_wait(&f.sampling, f.service, "m", NULL, NULL),
        TINKC_OK);
    char *name = NULL;
    assert_int_equal(tinkc_sampling_get_base_model_wait(&name, f.sampling, NULL),
                     TINKC_OK);
    assert_string_equal(name, "org/model");
    tinkc_text_free(name);
    const fakeapi_request *sent = fakeapi_nth(f.api, "GET", "/api/v1/samplers/*", 0);
    assert_string_equal(sent->path, "/api/v1/samplers/a/b:sample:0?x");
    assert_non_null(strstr(sent->target, "%3Fx"));
    close_all(&f);
}

/* NULL handles, and handles whose service was closed. */
static void test_sampling_null_and_closed(void **unused)
{
    (void)unused;
    fixture f;
    open_sampling(&f);
    char *name = NULL;
    assert_int_equal(tinkc_sampling_get_base_model_wait(&name, NULL, NULL),
                     TINKC_E_STATE);
    assert_int_equal(
        tinkc_service_create_sampling_wait(&f.sampling, NULL, "m", NULL, NULL),
        TINKC_E_STATE);
    assert_null(tinkc_sampling_session_id(NULL));
    tinkc_sampling_close(NULL);
    tinkc_text_free(NULL);
    tinkc_service_close(&f.service);
    assert_int_equal(tinkc_sampling_get_base_model_wait(&name, f.sampling, NULL),
                     TINKC_E_CANCELLED);
    assert_null(name);
    close_all(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sampling_create),
        cmocka_unit_test(test_sampling_create_refused),
        cmocka_unit_test(test_sampling_create_fails),
        cmocka_unit_test(test_sampling_base_model),
        cmocka_unit_test(test_sampling_null_and_closed),
    };
    return cmocka_run_group_tests_name("sampling", tests, NULL, NULL);
}
