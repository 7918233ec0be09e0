/* bad input gets a clear error before anything is sent: empty data,
 * lengths that do not match, NaN, bad UTF-8, values out of range or oversized, unknown
 * keys, paths of the wrong kind, structs of the wrong size.
 * Links: peer */
#include <math.h>
#include <string.h>

#include <tinkc/tinkc.h>

#include "support/fakeapi_tinker.h"
#include "support/servicefix.h"

#define BAD_UTF8 "\xff\xfe"
#define NO       ((double)NAN)

typedef struct fixture {
    fakeapi *api;
    tinkc_service *service;
    tinkc_training *training;
    tinkc_sampling *sampling;
    tinkc_model_input *prompt;
    size_t asked; /* requests of the set-up */
} fixture;

static void open_fixture(fixture *f)
{
    static const int32_t tokens[] = {1, 2, 3};
    static const char *const options[] = {"heartbeat", "none", "telemetry", "false",
                                          NULL};
    memset(f, 0, sizeof(*f));
    f->api = fakeapi_start();
    fakeapi_tinker(f->api, NULL);
    f->service = servicefix_open(f->api, options);
    assert_int_equal(
        tinkc_service_create_training_wait(&f->training, f->service, "m", NULL, NULL),
        TINKC_OK);
    assert_int_equal(
        tinkc_service_create_sampling_wait(&f->sampling, f->service, "m", NULL, NULL),
        TINKC_OK);
    assert_int_equal(tinkc_model_input_from_tokens(&f->prompt, tokens, 3, NULL),
                     TINKC_OK);
    f->asked = fakeapi_total(f->api);
}

static void close_fixture(fixture *f)
{
    assert_int_equal(fakeapi_total(f->api), f->asked);
    tinkc_model_input_free(&f->prompt);
    tinkc_sampling_close(&f->sampling);
    tinkc_training_close(&f->training);
    tinkc_service_close(&f->service);
    fakeapi_stop(&f->api);
}

/* Done at once, refused, with a text that holds `word`. */
static void refused(tinkc_future *future, const char *word)
{
    tinkc_code code = tinkc_future_wait(future, 0);
    const char *message = tinkc_error_message(tinkc_future_error(future));
    if ((code != TINKC_E_INVALID && code != TINKC_E_LIMIT) ||
        strstr(message, word) == NULL) {
        fail_msg("expected \"%s\", got %s: %s", word, tinkc_code_name(code), message);
    }
    assert_int_equal(tinkc_error_class(tinkc_future_error(future)), TINKC_CLASS_USER);
    tinkc_future_free(&future);
}

/* ---- training ---- */

static tinkc_datum *make_datum(size_t targets, size_t weights, float weight)
{
    static const int32_t tokens[] = {1, 2, 3, 4};
    float values[] = {1, 1, 1, 1};
    tinkc_model_input *input = NULL;
    tinkc_datum *datum = NULL;
    values[0] = weight;
    assert_int_equal(tinkc_model_input_from_tokens(&input, tokens, 3, NULL), TINKC_OK);
    assert_int_equal(tinkc_datum_new(&datum, &input, NULL), TINKC_OK);
    assert_int_equal(tinkc_datum_set_i32(datum, "target_tokens", tokens, targets, NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_datum_set_f32(datum, "weights", values, weights, NULL),
                     TINKC_OK);
    return datum;
}

static void batch_refused(fixture *f, tinkc_datum *datum, const char *word)
{
    tinkc_datum *data[] = {datum};
    refused(tinkc_training_forward(f->training, data, 1, "cross_entropy", NULL), word);
    refused(tinkc_training_forward_backward(f->training, data, 1, "ppo", NULL), word);
    tinkc_datum_free(&datum);
}

/* bad batches are refused with a text that names the fault. */
static void test_misuse_batches(void **unused)
{
    static const tinkc_number numbers[][2] = {{{"a", NAN}, {"b", 1}},
                                              {{NULL, 1}, {"b", 1}},
                                              {{"a", 1}, {"a", 2}},
                                              {{BAD_UTF8, 1}, {"b", 1}}};
    fixture f;
    open_fixture(&f);
    batch_refused(&f, make_datum(2, 3, 1), "target_tokens has 2 entries");
    batch_refused(&f, make_datum(4, 3, 1), "target_tokens has 4 entries");
    batch_refused(&f, make_datum(3, 2, 1), "weights has 2 entries");
    batch_refused(&f, make_datum(3, 3, NAN), "NaN");
    batch_refused(&f, NULL, "NULL");
    tinkc_datum *datum = make_datum(3, 3, 1);
    tinkc_datum *data[] = {datum};
    tinkc_training *t = f.training;
    refused(tinkc_training_forward_backward(t, data, 0, "ppo", NULL), "empty");
    refused(tinkc_training_forward_backward(t, NULL, 1, "ppo", NULL), "empty");
    refused(tinkc_training_forward_backward(t, data, 1, NULL, NULL), "loss");
    refused(tinkc_training_forward_backward(t, data, 1, "", NULL), "loss");
    refused(tinkc_training_forward_backward(t, data, 1, BAD_UTF8, NULL), "UTF-8");
    for (size_t i = 0; i < TK_ARRAY_LEN(numbers); i++) {
        tinkc_fwdbwd_options options = TINKC_FWDBWD_OPTIONS_INIT;
        options.config = numbers[i];
        options.config_n = 2;
        refused(tinkc_training_forward_backward(t, data, 1, "ppo", &options), "");
    }
    tinkc_fwdbwd_options options = TINKC_FWDBWD_OPTIONS_INIT;
    options.size = 1;
    refused(tinkc_training_forward(t, data, 1, "ppo", &options), "_INIT");
    refused(tinkc_training_forward_backward_custom(t, data, 1, NULL, NULL), "");
    refused(tinkc_training_forward_backward_custom(t, NULL, 0, NULL, NULL), "");
    tinkc_datum_free(&datum);
    close_fixture(&f);
}

/* An input without a known type is refused when it is set. (Other inputs of a custom loss:
 * test_training_level.c.) */
static void test_misuse_unknown_key(void **unused)
{
    static const float values[] = {1, 1, 1};
    fixture f;
    open_fixture(&f);
    tinkc_datum *datum = make_datum(3, 3, 1);
    tinkc_error *error = NULL;
    assert_int_equal(tinkc_datum_set_f32(datum, "no_such", values, 3, &error),
                     TINKC_E_INVALID); /* no dtype is known for it */
    assert_non_null(strstr(tinkc_error_message(error), "no_such"));
    tinkc_error_free(&error);
    tinkc_datum_free(&datum);
    close_fixture(&f);
}

static void test_misuse_steps_and_models(void **unused)
{
    static const struct {
        tinkc_adam_params adam;
        const char *word;
    } rows[] = {
        {{sizeof(tinkc_adam_params), NAN, 0.9, 0.95, 1e-12, 0, 0}, "learning_rate"},
        {{sizeof(tinkc_adam_params), -1, 0.9, 0.95, 1e-12, 0, 0}, "learning_rate"},
        {{sizeof(tinkc_adam_params), INFINITY, 0.9, 0.95, 1e-12, 0, 0}, "learning_rate"},
        {{sizeof(tinkc_adam_params), 1e-4, 1.0, 0.95, 1e-12, 0, 0}, "beta1"},
        {{sizeof(tinkc_adam_params), 1e-4, 0.9, -0.1, 1e-12, 0, 0}, "beta2"},
        {{sizeof(tinkc_adam_params), 1e-4, 0.9, 0.95, 0, 0, 0}, "eps"},
        {{sizeof(tinkc_adam_params), 1e-4, 0.9, 0.95, 1e-12, -1, 0}, "weight_decay"},
        {{sizeof(tinkc_adam_params), 1e-4, 0.9, 0.95, 1e-12, 0, NAN}, "grad_clip_norm"},
        {{3, 1e-4, 0.9, 0.95, 1e-12, 0, 0}, "_INIT"},
    };
    fixture f;
    open_fixture(&f);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        refused(tinkc_training_optim_step(f.training, &rows[i].adam), rows[i].word);
    }
    tinkc_lora_config lora = TINKC_LORA_CONFIG_INIT;
    lora.rank = 0;
    refused(tinkc_service_create_training(f.service, "m", &lora), "rank");
    lora.rank = INT64_MIN;
    refused(tinkc_service_create_training(f.service, "m", &lora), "rank");
    refused(tinkc_service_create_training(f.service, NULL, NULL), "base model");
    refused(tinkc_service_create_training(f.service, "", NULL), "base model");
    refused(tinkc_service_create_training(f.service, BAD_UTF8, NULL), "UTF-8");
    close_fixture(&f);
}

/* ---- checkpoints ---- */

/* bad paths and names are refused before a request is sent. */
static void test_misuse_checkpoints(void **unused)
{
    static const char *const paths[] = {
        NULL,
        "",
        "w",
        "weights/w",
        "http://r/weights/w",
        "tinker://",
        "tinker://r",
        "tinker:///weights/w",
        "tinker://r/weights/",
        "tinker://r/other/w",
        "tinker://r/sampler_weights/w", /* the wrong kind */
        "tinker://r/weights/" BAD_UTF8};
    static const char *const names[] = {NULL, "", "a/b", "a b", "a\n", BAD_UTF8};
    fixture f;
    open_fixture(&f);
    for (size_t i = 0; i < TK_ARRAY_LEN(paths); i++) {
        refused(tinkc_training_load_state(f.training, paths[i], true, NULL), "");
        refused(tinkc_service_create_training_from_state(f.service, paths[i], NULL), "");
        if (i > 0 && strstr(paths[i], "sampler") == NULL) {
            refused(tinkc_rest_delete_checkpoint(f.service, paths[i]), "");
            refused(tinkc_rest_archive_url(f.service, paths[i]), "");
            refused(tinkc_rest_weights_info(f.service, paths[i]), "");
        }
    }
    for (size_t i = 1; strncmp(paths[i], "tinker:", 7) != 0; i++) {
        /* after tinker:// servers use different forms of names */
        refused(tinkc_service_create_sampling(f.service, NULL, paths[i]), "");
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        refused(tinkc_training_save_state(f.training, names[i], NULL), "");
        refused(tinkc_training_save_weights_for_sampler(f.training, names[i], NULL), "");
    }
    tinkc_save_options options = TINKC_SAVE_OPTIONS_INIT;
    options.ttl_seconds = 0;
    refused(tinkc_training_save_state(f.training, "a", &options), "ttl");
    options.ttl_seconds = INT64_MIN;
    refused(tinkc_training_save_state(f.training, "a", &options), "ttl");
    refused(tinkc_training_load_state(f.training, "tinker://r/weights/w", true, BAD_UTF8),
            "UTF-8");
    close_fixture(&f);
}

/* ---- sampling ---- */

/* bad parameters give a future that has failed. */
static void test_misuse_samples(void **unused)
{
    static const char *const bad_texts[] = {"a", BAD_UTF8};
    static const int32_t tokens[] = {1};
    const tinkc_sampling_params good = TINKC_SAMPLING_PARAMS_INIT;
    tinkc_sampling_params rows[13];
    fixture f;
    open_fixture(&f);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        rows[i] = good;
    }
    rows[0].temperature = NO;
    rows[1].temperature = -1;
    rows[2].temperature = (double)INFINITY;
    rows[3].top_p = 1.5;
    rows[4].top_p = NO;
    rows[5].max_tokens = 0;
    rows[6].max_tokens = INT64_MIN;
    rows[7].stop = BAD_UTF8;
    rows[8].stop_texts = bad_texts;
    rows[8].stop_texts_n = 2;
    rows[9].stop = "x";
    rows[9].stop_tokens = tokens;
    rows[9].stop_tokens_n = 1;
    rows[10].top_k = -7;
    rows[11].size = 0;
    rows[12].size = SIZE_MAX;
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        refused(tinkc_sampling_sample(f.sampling, f.prompt, &rows[i], NULL), "");
    }
    tinkc_sample_options options = TINKC_SAMPLE_OPTIONS_INIT;
    options.num_samples = 0;
    refused(tinkc_sampling_sample(f.sampling, f.prompt, NULL, &options), "num_samples");
    options.num_samples = 1;
    options.topk_prompt_logprobs = -1;
    refused(tinkc_sampling_sample(f.sampling, f.prompt, NULL, &options), "topk");
    tinkc_model_input *empty = NULL;
    assert_int_equal(tinkc_model_input_new(&empty, NULL), TINKC_OK);
    refused(tinkc_sampling_sample(f.sampling, empty, NULL, NULL), "prompt");
    refused(tinkc_sampling_sample(f.sampling, NULL, NULL, NULL), "prompt");
    refused(tinkc_sampling_compute_logprobs(f.sampling, empty), "prompt");
    tinkc_model_input_free(&empty);
    refused(tinkc_service_create_sampling(f.service, NULL, NULL), "");
    refused(tinkc_service_create_sampling(f.service, BAD_UTF8, NULL), "UTF-8");
    close_fixture(&f);
}

/* ---- what is kept ---- */

/* empty and malformed ids are refused before a request is sent. */
static void test_misuse_rest(void **unused)
{
    static const char *const ids[] = {NULL, "", BAD_UTF8};
    fixture f;
    open_fixture(&f);
    for (size_t i = 0; i < TK_ARRAY_LEN(ids); i++) {
        refused(tinkc_rest_get_run(f.service, ids[i], TINKC_SCOPE_OWNED), "");
        refused(tinkc_rest_list_checkpoints(f.service, ids[i]), "");
        refused(tinkc_rest_get_sampler(f.service, ids[i]), "");
        refused(tinkc_rest_get_session(f.service, ids[i], TINKC_SCOPE_OWNED), "");
        refused(tinkc_rest_export_trace(f.service, ids[i]), "");
        refused(tinkc_rest_publish_checkpoint(f.service, ids[i]), "");
        refused(tinkc_rest_unpublish_checkpoint(f.service, ids[i]), "");
    }
    close_fixture(&f);
}

/* ---- configuration ---- */

static void test_misuse_options(void **unused)
{
    static const struct {
        const char *name, *value;
    } rows[] = {{"no_such_option", "1"},
                {"", "1"},
                {"timeout", "-1"},
                {"timeout", "1e3"},
                {"timeout", "99999999999999999999"},
                {"timeout", "ten"},
                {"loop", "sometimes"},
                {"http1_only", "perhaps"},
                {"sample_dispatch", "0"},
                {"connections_train", "-3"},
                {"max_retries", "1001"}};
    static const char *const bad_lines[] = {"a\r\nX-Evil: 1", "a\nb", BAD_UTF8 "\x01"};
    tinkc_config *config = NULL;
    assert_int_equal(tinkc_config_new(&config, NULL), TINKC_OK);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tinkc_error *error = NULL;
        assert_int_equal(tinkc_config_set(config, rows[i].name, rows[i].value, &error),
                         TINKC_E_CONFIG);
        assert_non_null(strstr(tinkc_error_message(error), rows[i].name));
        tinkc_error_free(&error);
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(bad_lines); i++) {
        assert_int_not_equal(
            tinkc_config_set_header(config, "X-Mine", bad_lines[i], NULL), TINKC_OK);
        assert_int_not_equal(tinkc_config_set_header(config, bad_lines[i], "x", NULL),
                             TINKC_OK);
    }
    tinkc_config_free(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_misuse_batches),
        cmocka_unit_test(test_misuse_unknown_key),
        cmocka_unit_test(test_misuse_steps_and_models),
        cmocka_unit_test(test_misuse_checkpoints),
        cmocka_unit_test(test_misuse_samples),
        cmocka_unit_test(test_misuse_rest),
        cmocka_unit_test(test_misuse_options),
    };
    return cmocka_run_group_tests_name("misuse_input", tests, NULL, NULL);
}
