/* Answers of a server that is newer than this library: words, keys and kinds that it does
 * not know are kept or skipped, and never make a list unreadable (M-121, M-128).
 * Links: peer */
#include <tinkc/rest.h>

#include "support/fakeapi.h"
#include "support/servicefix.h"

#define RUN           "S:train:0"
#define EXTERNAL_PATH "tinker://" RUN "/external_weights/x"

#define CHECKPOINT(type, kind, more)                                                     \
    "{\"checkpoint_id\":\"" kind "/x\",\"checkpoint_type\":\"" type                      \
    "\",\"time\":\"2026-07-13T08:00:00Z\",\"tinker_path\":\"tinker://" RUN "/" kind      \
    "/x\"" more "}"
#define SAMPLER  CHECKPOINT("sampler", "sampler_weights", "")
#define EXTERNAL CHECKPOINT("external", "external_weights", "")
#define NEWER    CHECKPOINT("quantized", "quantized_weights", ",\"bits\":4")

typedef struct fix {
    fakeapi *api;
    tinkc_service *service;
} fix;

static fix begin(void)
{
    fakeapi *api = fakeapi_start();
    fakeapi_default(api, "POST", "/api/v1/client/*", &fakeapi_json("{}"));
    return (fix){api, servicefix_open(api, NULL)};
}

static void end(fix *f)
{
    assert_int_equal(fakeapi_steps_left(f->api), 0);
    tinkc_service_close(&f->service);
    fakeapi_stop(&f->api);
}

/* M-107: external weights, and a type that does not exist yet, beside ordinary
 * checkpoints. */
static void test_rest_newer_checkpoints(void **unused)
{
    static const char body[] = "{\"checkpoints\":[" SAMPLER "," EXTERNAL "," NEWER "]}";
    fix f = begin();
    tinkc_checkpoints *list = NULL;
    fakeapi_reply(f.api, "GET", "/api/v1/training_runs/r/checkpoints",
                  &fakeapi_json(body));
    assert_int_equal(tinkc_rest_list_checkpoints_wait(&list, f.service, "r", NULL),
                     TINKC_OK);
    assert_int_equal(list->n, 3);
    assert_int_equal(list->items[0].type, TINKC_CHECKPOINT_SAMPLER);
    assert_string_equal(list->items[1].path, EXTERNAL_PATH);
    assert_string_equal(list->items[0].type_text, "sampler");
    assert_int_equal(list->items[1].type, TINKC_CHECKPOINT_EXTERNAL);
    assert_string_equal(list->items[1].type_text, "external");
    assert_int_equal(list->items[2].type, TINKC_CHECKPOINT_OTHER);
    assert_string_equal(list->items[2].type_text, "quantized");
    assert_string_equal(tinkc_checkpoint_type_name(TINKC_CHECKPOINT_EXTERNAL),
                        "external");
    assert_string_equal(tinkc_checkpoint_type_name(TINKC_CHECKPOINT_OTHER), "other");
    tinkc_checkpoints_free(&list);
    end(&f);
}

/* The path of external weights names a checkpoint like the others. */
static void test_rest_newer_path(void **unused)
{
    static const char path[] =
        "/api/v1/training_runs/" RUN "/checkpoints/external_weights/x";
    fix f = begin();
    tinkc_error *err = NULL;
    fakeapi_reply(f.api, "DELETE", path, &fakeapi_json("{}"));
    tinkc_code code = tinkc_rest_delete_checkpoint_wait(f.service, EXTERNAL_PATH, &err);
    assert_string_equal(err != NULL ? tinkc_error_message(err) : "", "");
    assert_int_equal(code, TINKC_OK);
    assert_int_equal(fakeapi_count(f.api, "DELETE", path), 1);
    end(&f);
}

#define HOUR                                                                             \
    "\"bucket_start\":\"2026-07-13T08:00:00Z\",\"bucket_end\":\"2026-07-13T09:00:00Z\""

/* A key and a kind of usage that this library does not know. */
static void test_rest_newer_billing(void **unused)
{
    static const char body[] =
        "{\"data\":[{" HOUR
        ",\"event_info\":{\"type\":\"training\",\"token_count\":5,\"tier\":\"gold\"}},{" HOUR
        ",\"event_info\":{\"type\":\"egress\",\"bytes\":7}}]}";
    fix f = begin();
    tinkc_billing *billing = NULL;
    fakeapi_reply(f.api, "GET", "/api/v1/billing/usage/events", &fakeapi_json(body));
    tinkc_error *err = NULL;
    tinkc_code code = tinkc_rest_billing_wait(&billing, f.service, 1783929600000000,
                                              1783933200000000, &err);
    assert_string_equal(err != NULL ? tinkc_error_message(err) : "", "");
    assert_int_equal(code, TINKC_OK);
    assert_int_equal(billing->n, 2);
    assert_int_equal(billing->items[0].token_count, 5);
    assert_string_equal(billing->items[0].kind_text, "training");
    assert_int_equal(billing->items[1].kind, TINKC_BILLING_OTHER);
    assert_string_equal(billing->items[1].kind_text, "egress");
    assert_int_equal(billing->items[1].token_count, -1);
    assert_string_equal(tinkc_billing_kind_name(TINKC_BILLING_OTHER), "other");
    tinkc_billing_free(&billing);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rest_newer_checkpoints),
        cmocka_unit_test(test_rest_newer_path),
        cmocka_unit_test(test_rest_newer_billing),
    };
    return cmocka_run_group_tests_name("rest_newer", tests, NULL, NULL);
}
