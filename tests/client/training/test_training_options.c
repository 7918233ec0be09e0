/* Options of training calls that are not the defaults, on the wire: of a session, of a
 * model, of saves and loads (M-041, M-048, M-049, M-062, M-063).
 * Links: peer */
#include "support/trainfix.h"

#define CREATE "/api/v1/create_model"
#define LOAD   "/api/v1/load_weights"

static void expect_in(const char *body, const char *const *parts)
{
    for (; *parts != NULL; parts++) {
        if (strstr(body, *parts) == NULL) {
            fail_msg("no %s in %s", *parts, body);
        }
    }
}

/* M-041: tags, metadata and project of the session. */
static void test_training_options_of_the_session(void **unused)
{
    static const char *const parts[] = {"\"tags\":[\"one\",\"two\"]",
                                        "\"user_metadata\":{\"k\":\"v\",\"none\":null}",
                                        "\"project_id\":\"p-1\"", NULL};
    static const char *const options[] = {"project_id", "p-1", NULL};
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    tinkc_config *config = servicefix_config(api, options);
    tinkc_service *service = NULL;
    assert_int_equal(tinkc_config_add_tag(config, "one", NULL), TINKC_OK);
    assert_int_equal(tinkc_config_add_tag(config, "two", NULL), TINKC_OK);
    assert_int_equal(tinkc_config_set_metadata(config, "k", "v", NULL), TINKC_OK);
    assert_int_equal(tinkc_config_set_metadata(config, "none", NULL, NULL), TINKC_OK);
    assert_int_equal(tinkc_service_open(&service, config, NULL), TINKC_OK);
    tinkc_config_free(&config);
    assert_int_equal(
        tinkc_service_create_training_wait(NULL, service, BASE_MODEL, NULL, NULL),
        TINKC_OK);
    expect_in(fakeapi_nth(api, "POST", "/api/v1/create_session", 0)->body, parts);
    tinkc_service_close(&service);
    fakeapi_stop(&api);
}

/* M-048: every option of a LoRA. */
static void test_training_options_of_lora(void **unused)
{
    static const char *const parts[] = {
        "\"rank\":7",          "\"seed\":18446744073709551615", "\"train_unembed\":false",
        "\"train_mlp\":false", "\"train_attn\":true",           NULL};
    trainfix f = trainfix_open(NULL, NULL);
    tinkc_lora_config lora = TINKC_LORA_CONFIG_INIT;
    lora.rank = 7;
    lora.has_seed = true;
    lora.seed = UINT64_MAX;
    lora.train_unembed = lora.train_mlp = false;
    assert_int_equal(
        tinkc_service_create_training_wait(NULL, f.service, BASE_MODEL, &lora, NULL),
        TINKC_OK);
    expect_in(fakeapi_nth(f.api, "POST", CREATE, 1)->body, parts);
    trainfix_close(&f);
}

/* M-049, M-062, M-063: overwrite; loads without the optimizer, into a model and into a new
 * one. */
static void test_training_options_of_checkpoints(void **unused)
{
    static const char *const saved[] = {"\"overwrite\":true", NULL};
    static const char *const loaded[] = {"\"optimizer\":false", NULL};
    trainfix f = trainfix_open(NULL, NULL);
    char *path = NULL;
    tinkc_training *second = NULL;
    tinkc_save_options options = TINKC_SAVE_OPTIONS_INIT;
    options.overwrite = true;
    assert_int_equal(
        tinkc_training_save_state_wait(&path, f.training, "x", &options, NULL), TINKC_OK);
    const char *body = fakeapi_nth(f.api, "POST", "/api/v1/save_weights", 0)->body;
    expect_in(body, saved);
    assert_null(strstr(body, "ttl_seconds"));
    assert_int_equal(
        tinkc_service_create_training_wait(&second, f.service, BASE_MODEL, NULL, NULL),
        TINKC_OK);
    assert_int_equal(tinkc_training_load_state_wait(second, path, false, NULL, NULL),
                     TINKC_OK);
    assert_int_equal(
        tinkc_service_create_training_from_state_wait(NULL, f.service, path, NULL, NULL),
        TINKC_OK);
    assert_int_equal(fakeapi_count(f.api, "POST", LOAD), 2);
    for (size_t i = 0; i < 2; i++) {
        body = fakeapi_nth(f.api, "POST", LOAD, i)->body;
        expect_in(body, loaded);
        assert_null(strstr(body, "weights_access_token"));
    }
    tinkc_text_free(&path);
    tinkc_training_close(&second);
    trainfix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_training_options_of_the_session),
        cmocka_unit_test(test_training_options_of_lora),
        cmocka_unit_test(test_training_options_of_checkpoints),
    };
    return cmocka_run_group_tests_name("training_options", tests, NULL, NULL);
}
