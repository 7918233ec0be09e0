/* How training clients are made on the scripted peer: new, from many threads, from a
 * checkpoint, with the token of another user.
 * Links: peer */
#include <pthread.h>
#include <stdio.h>

#include <tinkc/sampling.h>

#include "support/trainfix.h"

/* M-048: the official defaults on the wire. */
static void test_training_create(void **unused)
{
    trainfix f = trainfix_open(NULL, NULL);
    char id[200];
    (void)snprintf(id, sizeof(id), "%s:train:0", tinkc_service_session_id(f.service));
    assert_string_equal(tinkc_training_model_id(f.training), id);
    const fakeapi_request *seen = fakeapi_nth(f.api, "POST", "/api/v1/create_model", 0);
    assert_non_null(strstr(seen->body, "\"model_seq_id\":0"));
    assert_non_null(strstr(seen->body, "\"base_model\":\"" BASE_MODEL "\""));
    assert_non_null(strstr(seen->body, "\"rank\":32"));
    assert_non_null(strstr(seen->body, "\"train_mlp\":true"));
    assert_null(strstr(seen->body, "seed"));
    seen = fakeapi_nth(f.api, "POST", POST_POLL, 0);
    assert_string_equal(fakeapi_header(seen, "x-tinker-request-type"), "CreateModel");
    assert_non_null(fakeapi_header(seen, "x-tinker-create-promise-roundtrip-time"));
    trainfix_close(&f);
}

typedef struct pair {
    tinkc_service *service;
    tinkc_training *training;
    tinkc_sampling *sampling;
} pair;

static void *create_two(void *user)
{
    pair *self = user;
    assert_int_equal(tinkc_service_create_training_wait(&self->training, self->service,
                                                        BASE_MODEL, NULL, NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_service_create_sampling_wait(&self->sampling, self->service,
                                                        BASE_MODEL, NULL, NULL),
                     TINKC_OK);
    return NULL;
}

/* The number after the last ":"; each of 0..n-1 may come once. */
static void check_number(const char *id, bool *seen, int n)
{
    int number = 0;
    for (const char *digit = strrchr(id, ':') + 1; *digit != '\0'; digit++) {
        number = number * 10 + (*digit - '0');
    }
    assert_in_range(number, 0, n - 1);
    assert_false(seen[number]);
    seen[number] = true;
}

/* clients made by 16 threads at once have dense, unique numbers. */
static void test_training_create_from_threads(void **unused)
{
    enum { N = 16 };
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    tinkc_service *service = servicefix_open(api, NULL);
    pthread_t threads[N];
    pair pairs[N];
    bool models[N] = {false}, samplers[N] = {false};
    for (int i = 0; i < N; i++) {
        pairs[i] = (pair){.service = service};
        assert_int_equal(pthread_create(&threads[i], NULL, create_two, &pairs[i]), 0);
    }
    for (int i = 0; i < N; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        check_number(tinkc_training_model_id(pairs[i].training), models, N);
        check_number(tinkc_sampling_session_id(pairs[i].sampling), samplers, N);
        tinkc_training_close(&pairs[i].training);
        tinkc_sampling_close(&pairs[i].sampling);
    }
    tinkc_service_close(&service);
    fakeapi_stop(&api);
}

/* ---- from a checkpoint ---- */

static char *save_one(trainfix *f)
{
    char *path = NULL;
    assert_int_equal(
        tinkc_training_save_state_wait(&path, f->training, "state", NULL, NULL),
        TINKC_OK);
    return path;
}

/* M-048, M-049: metadata of a run is sent as an object, nulls included; without any the
 * key is not there. */
static void test_training_create_metadata(void **unused)
{
    (void)unused;
    static const tinkc_pair pairs[] = {{"owner", "me"}, {"note", NULL}};
    static const tinkc_pair twice[] = {{"a", "1"}, {"a", "2"}};
    static const char wanted[] = "\"user_metadata\":{\"owner\":\"me\",\"note\":null}";
    trainfix f = trainfix_open(NULL, NULL);
    char *path = save_one(&f);
    tinkc_training *second = NULL;
    tinkc_lora_config lora = TINKC_LORA_CONFIG_INIT;
    tinkc_from_state_options state = TINKC_FROM_STATE_OPTIONS_INIT;
    lora.metadata = state.metadata = pairs;
    lora.metadata_n = state.metadata_n = 2;
    assert_int_equal(
        tinkc_service_create_training_wait(&second, f.service, BASE_MODEL, &lora, NULL),
        TINKC_OK);
    tinkc_training_close(&second);
    const char *plain = fakeapi_nth(f.api, "POST", "/api/v1/create_model", 0)->body;
    const char *full = fakeapi_nth(f.api, "POST", "/api/v1/create_model", 1)->body;
    assert_null(strstr(plain, "user_metadata"));
    assert_non_null(strstr(full, wanted));
    fakeapi_reply(f.api, "POST", "/api/v1/weights_info",
                  &fakeapi_json("{\"base_model\":\"" BASE_MODEL
                                "\",\"is_lora\":true,\"lora_rank\":8}"));
    assert_int_equal(tinkc_service_create_training_from_state_wait(&second, f.service,
                                                                   path, &state, NULL),
                     TINKC_OK);
    tinkc_training_close(&second);
    assert_non_null(
        strstr(fakeapi_nth(f.api, "POST", "/api/v1/create_model", 2)->body, wanted));
    lora.metadata = twice;
    assert_int_equal(
        tinkc_service_create_training_wait(&second, f.service, BASE_MODEL, &lora, NULL),
        TINKC_E_INVALID);
    lora.metadata = NULL;
    assert_int_equal(
        tinkc_service_create_training_wait(&second, f.service, BASE_MODEL, &lora, NULL),
        TINKC_E_INVALID);
    tinkc_text_free(&path);
    trainfix_close(&f);
}

/* M-049, M-051: weights_info, create_model, load_weights; the load is seq_id 1. */
static void test_training_from_state(void **unused)
{
    trainfix f = trainfix_open(NULL, NULL);
    char *path = save_one(&f);
    tinkc_training *second = NULL;
    tinkc_from_state_options options = TINKC_FROM_STATE_OPTIONS_INIT;
    options.with_optimizer = true;
    options.weights_access_token = "tml-other";
    fakeapi_reply(f.api, "POST", "/api/v1/weights_info",
                  &fakeapi_json("{\"base_model\":\"" BASE_MODEL "\",\"is_lora\":true,"
                                "\"lora_rank\":4,\"train_mlp\":false,"
                                "\"train_attn\":null}"));
    assert_int_equal(tinkc_service_create_training_from_state_wait(&second, f.service,
                                                                   path, &options, NULL),
                     TINKC_OK);
    const fakeapi_request *info = fakeapi_nth(f.api, "POST", "/api/v1/weights_info", 0);
    assert_string_equal(fakeapi_header(info, "x-api-key"), "tml-other");
    const char *body = fakeapi_nth(f.api, "POST", "/api/v1/create_model", 1)->body;
    assert_non_null(strstr(body, "\"rank\":4"));
    assert_non_null(strstr(body, "\"train_mlp\":false"));
    assert_non_null(strstr(body, "\"train_attn\":true"));
    assert_non_null(strstr(body, "\"train_unembed\":true"));
    body = fakeapi_nth(f.api, "POST", "/api/v1/load_weights", 0)->body;
    assert_non_null(strstr(body, "\"seq_id\":1"));
    assert_non_null(strstr(body, "\"optimizer\":true"));
    assert_non_null(strstr(body, "\"weights_access_token\":\"tml-other\""));
    assert_int_equal(tinkc_training_optim_step_wait(NULL, second, NULL, NULL), TINKC_OK);
    assert_non_null(
        strstr(fakeapi_nth(f.api, "POST", POST_STEP, 0)->body, "\"seq_id\":2"));
    tinkc_text_free(&path);
    tinkc_training_close(&second);
    trainfix_close(&f);
}

/* M-015, M-049, M-050: with the server's flag, one load that addresses the session. */
static void test_training_from_state_by_load(void **unused)
{
    fakeapi_tinker_options server = {.config =
                                         "{\"create_model_via_load_weights\":true}"};
    trainfix f = trainfix_open(&server, NULL);
    char *path = save_one(&f);
    tinkc_training *second = NULL;
    tinkc_from_state_options options = TINKC_FROM_STATE_OPTIONS_INIT;
    options.base_model = "other/base";
    assert_int_equal(tinkc_service_create_training_from_state_wait(&second, f.service,
                                                                   path, &options, NULL),
                     TINKC_OK);
    const char *body = fakeapi_nth(f.api, "POST", "/api/v1/load_weights", 0)->body;
    assert_non_null(strstr(body, "\"model_seq_id\":1"));
    assert_non_null(strstr(body, "\"base_model\":\"other/base\""));
    assert_null(strstr(body, "\"seq_id\""));
    assert_null(strstr(body, "\"model_id\""));
    assert_int_equal(fakeapi_count(f.api, "POST", "/api/v1/weights_info"), 0);
    assert_int_equal(fakeapi_count(f.api, "POST", "/api/v1/create_model"), 1);
    assert_int_equal(tinkc_training_optim_step_wait(NULL, second, NULL, NULL), TINKC_OK);
    assert_non_null(
        strstr(fakeapi_nth(f.api, "POST", POST_STEP, 0)->body, "\"seq_id\":1,"));
    tinkc_text_free(&path);
    tinkc_training_close(&second);
    trainfix_close(&f);
}

/* B-258, M-051: where credentials are exchanged for JWTs, the token of another user is
 * too, and the checkpoint is asked for and loaded with what came back. */
static void test_training_from_state_exchanges_the_token(void **unused)
{
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api,
                   &(fakeapi_tinker_options){.config = "{\"pjwt_auth_enabled\":true}"});
    /* {"exp":99999999999}: the service itself asks once */
    fakeapi_reply(api, "POST", "/api/v1/auth/token",
                  &fakeapi_json("{\"jwt\":\"eyJh.eyJleHAiOjk5OTk5OTk5OTk5fQ.x\"}"));
    fakeapi_reply(api, "POST", "/api/v1/auth/token",
                  &fakeapi_json("{\"jwt\":\"eyJhis\"}"));
    fakeapi_reply(api, "POST", "/api/v1/auth/token", &fakeapi_detail(403, "not you"));
    tinkc_service *service = servicefix_open(api, NULL);
    tinkc_from_state_options options = TINKC_FROM_STATE_OPTIONS_INIT;
    options.weights_access_token = "tml-other";
    fakeapi_default(api, "POST", "/api/v1/weights_info",
                    &fakeapi_json("{\"base_model\":\"b\",\"is_lora\":false}"));
    assert_int_equal(tinkc_service_create_training_from_state_wait(
                         NULL, service, "tinker://r/weights/w", &options, NULL),
                     TINKC_E_UNSUPPORTED);
    assert_string_equal(
        fakeapi_header(fakeapi_nth(api, "POST", "/api/v1/auth/token", 1), "x-api-key"),
        "tml-other");
    assert_string_equal(
        fakeapi_header(fakeapi_nth(api, "POST", "/api/v1/weights_info", 0), "x-api-key"),
        "eyJhis");
    assert_int_equal(tinkc_service_create_training_from_state_wait(
                         NULL, service, "tinker://r/weights/w", &options, NULL),
                     TINKC_E_PERMISSION);
    tinkc_service_close(&service);
    fakeapi_stop(&api);
}

/* B-258, M-051: the same when the checkpoint is loaded into a model that exists.
 * Without the exchange nothing is loaded, and the turn is given back. */
static void test_training_load_exchanges_the_token(void **unused)
{
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api,
                   &(fakeapi_tinker_options){.config = "{\"pjwt_auth_enabled\":true}"});
    fakeapi_reply(api, "POST", "/api/v1/auth/token",
                  &fakeapi_json("{\"jwt\":\"eyJh.eyJleHAiOjk5OTk5OTk5OTk5fQ.x\"}"));
    fakeapi_reply(api, "POST", "/api/v1/auth/token", &fakeapi_detail(403, "not you"));
    fakeapi_reply(api, "POST", "/api/v1/auth/token",
                  &fakeapi_json("{\"jwt\":\"eyJhis\"}"));
    tinkc_service *service = servicefix_open(api, NULL);
    tinkc_training *training = NULL;
    assert_int_equal(
        tinkc_service_create_training_wait(&training, service, BASE_MODEL, NULL, NULL),
        TINKC_OK);
    char *path = NULL;
    assert_int_equal(tinkc_training_save_state_wait(&path, training, "s", NULL, NULL),
                     TINKC_OK);
    tinkc_training_close(&training);
    assert_int_equal(
        tinkc_service_create_training_wait(&training, service, BASE_MODEL, NULL, NULL),
        TINKC_OK);
    assert_int_equal(
        tinkc_training_load_state_wait(training, path, false, "tml-other", NULL),
        TINKC_E_PERMISSION);
    assert_int_equal(fakeapi_count(api, "POST", "/api/v1/load_weights"), 0);
    assert_int_equal(
        tinkc_training_load_state_wait(training, path, false, "tml-other", NULL),
        TINKC_OK);
    assert_string_equal(
        fakeapi_header(fakeapi_nth(api, "POST", "/api/v1/auth/token", 2), "x-api-key"),
        "tml-other");
    const fakeapi_request *load = fakeapi_nth(api, "POST", "/api/v1/load_weights", 0);
    assert_non_null(strstr(load->body, "\"weights_access_token\":\"eyJhis\""));
    assert_null(strstr(load->body, "tml-other"));
    tinkc_text_free(&path);
    tinkc_training_close(&training);
    tinkc_service_close(&service);
    fakeapi_stop(&api);
}

/* B-259: the LoRA check, in every variant. */
static void test_training_from_state_without_lora(void **unused)
{
    static const char *const answers[] = {
        "{\"base_model\":\"b\",\"is_lora\":false,\"lora_rank\":null}",
        "{\"base_model\":\"b\",\"is_lora\":true}"};
    for (size_t i = 0; i < TK_ARRAY_LEN(answers); i++) {
        trainfix f = trainfix_open(NULL, NULL);
        tinkc_training *second = NULL;
        fakeapi_reply(f.api, "POST", "/api/v1/weights_info",
                      &(fakeapi_step){.body = answers[i]});
        assert_int_equal(tinkc_service_create_training_from_state_wait(
                             &second, f.service, "tinker://r/weights/w", NULL, NULL),
                         TINKC_E_UNSUPPORTED);
        assert_null(second);
        trainfix_close(&f);
    }
}

/* A rank that no model can have is the server's mistake, not the caller's. */
static void test_training_from_state_bad_rank(void **unused)
{
    static const char *const ranks[] = {"0", "-1", "2147483648"};
    for (size_t i = 0; i < TK_ARRAY_LEN(ranks); i++) {
        trainfix f = trainfix_open(NULL, NULL);
        tinkc_training *second = NULL;
        char body[96];
        (void)snprintf(body, sizeof(body),
                       "{\"base_model\":\"b\",\"is_lora\":true,\"lora_rank\":%s}",
                       ranks[i]);
        fakeapi_reply(f.api, "POST", "/api/v1/weights_info",
                      &(fakeapi_step){.body = body});
        assert_int_equal(tinkc_service_create_training_from_state_wait(
                             &second, f.service, "tinker://r/weights/w", NULL, NULL),
                         TINKC_E_DECODE);
        assert_null(second);
        trainfix_close(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_training_create),
        cmocka_unit_test(test_training_create_metadata),
        cmocka_unit_test(test_training_create_from_threads),
        cmocka_unit_test(test_training_from_state),
        cmocka_unit_test(test_training_from_state_by_load),
        cmocka_unit_test(test_training_from_state_exchanges_the_token),
        cmocka_unit_test(test_training_load_exchanges_the_token),
        cmocka_unit_test(test_training_from_state_without_lora),
        cmocka_unit_test(test_training_from_state_bad_rank),
    };
    return cmocka_run_group_tests_name("training_create", tests, NULL, NULL);
}
