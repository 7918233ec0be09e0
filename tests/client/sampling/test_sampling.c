/* The sampling handle on the scripted peer: creating, asking, many prompts, closing
 * (A-013, A-026, A-028).
 * Links: peer */
#include <math.h>

#include <tinkc/sampling.h>

#include "support/failmem.h"
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
    f->service = servicefix_open(f->api, SERVICEFIX_QUIET);
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

static tinkc_model_input *short_prompt(void)
{
    static const int32_t tokens[] = {1, 2, 3};
    tinkc_model_input *prompt = NULL;
    assert_int_equal(tinkc_model_input_from_tokens(&prompt, tokens, 3, NULL), TINKC_OK);
    return prompt;
}

/* without a session each sample names its model, has no number, and nothing
 * is created at the server; both attempts of a sample that was refused for now are equal. */
static void test_sampling_open(void **unused)
{
    (void)unused;
    static const struct {
        const char *path, *base, *sent;
    } rows[] = {{NULL, "m", "\"base_model\":\"m\""},
                {"tinker://r/sampler_weights/x", NULL,
                 "\"model_path\":\"tinker://r/sampler_weights/x\""}};
    tinkc_model_input *prompt = short_prompt();
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        fixture f;
        tinkc_sample_target target = TINKC_SAMPLE_TARGET_INIT;
        target.model_path = rows[i].path;
        target.base_model = rows[i].base;
        open_peer(&f);
        assert_int_equal(
            tinkc_service_open_sampling_wait(&f.sampling, f.service, &target, NULL),
            TINKC_OK);
        assert_null(tinkc_sampling_session_id(f.sampling));
        fakeapi_reply(f.api, "POST", "/api/v1/asample", &fakeapi_detail(500, "later"));
        assert_int_equal(
            tinkc_sampling_sample_wait(NULL, f.sampling, prompt, NULL, NULL, NULL),
            TINKC_OK);
        const fakeapi_request *sent = fakeapi_nth(f.api, "POST", "/api/v1/asample", 0);
        const fakeapi_request *again = fakeapi_nth(f.api, "POST", "/api/v1/asample", 1);
        assert_non_null(strstr(sent->body, rows[i].sent));
        assert_null(strstr(sent->body, "sampling_session_id"));
        assert_null(strstr(sent->body, "seq_id"));
        assert_string_equal(sent->body, again->body);
        assert_int_equal(fakeapi_count(f.api, "POST", "/api/v1/create_session"), 0);
        assert_int_equal(fakeapi_count(f.api, "POST", CREATE), 0);
        close_all(&f);
    }
    tinkc_model_input_free(&prompt);
}

/* A session that exists already is numbered from 0; its base model is asked for as ever.
 * Without a session the base model is known, or the checkpoint says it. */
static void test_sampling_open_names(void **unused)
{
    (void)unused;
    fixture f;
    char *name = NULL;
    tinkc_model_input *prompt = short_prompt();
    tinkc_sample_target target = TINKC_SAMPLE_TARGET_INIT;
    tinkc_sampling *made = NULL;
    open_peer(&f);
    assert_int_equal(
        tinkc_service_create_sampling_wait(&made, f.service, "m", NULL, NULL), TINKC_OK);
    target.sampling_session_id = tinkc_sampling_session_id(made);
    assert_int_equal(
        tinkc_service_open_sampling_wait(&f.sampling, f.service, &target, NULL),
        TINKC_OK);
    assert_string_equal(tinkc_sampling_session_id(f.sampling),
                        target.sampling_session_id);
    assert_int_equal(
        tinkc_sampling_sample_wait(NULL, f.sampling, prompt, NULL, NULL, NULL), TINKC_OK);
    const fakeapi_request *sent = fakeapi_nth(f.api, "POST", "/api/v1/asample", 0);
    assert_non_null(strstr(sent->body, target.sampling_session_id));
    assert_non_null(strstr(sent->body, "\"seq_id\":0"));
    tinkc_sampling_close(&made);
    tinkc_sampling_close(&f.sampling);
    target = (tinkc_sample_target)TINKC_SAMPLE_TARGET_INIT;
    target.base_model = "m";
    assert_int_equal(
        tinkc_service_open_sampling_wait(&f.sampling, f.service, &target, NULL),
        TINKC_OK);
    size_t before = fakeapi_total(f.api);
    assert_int_equal(tinkc_sampling_get_base_model_wait(&name, f.sampling, NULL),
                     TINKC_OK);
    assert_string_equal(name, "m");
    assert_int_equal(fakeapi_total(f.api), before);
    tinkc_text_free(&name);
    tinkc_sampling_close(&f.sampling);
    target.base_model = NULL;
    target.model_path = "tinker://r/weights/x";
    assert_int_equal(
        tinkc_service_open_sampling_wait(&f.sampling, f.service, &target, NULL),
        TINKC_OK);
    fakeapi_reply(f.api, "POST", "/api/v1/weights_info",
                  &fakeapi_json("{\"base_model\":\"deep\",\"is_lora\":true,"
                                "\"lora_rank\":8}"));
    assert_int_equal(tinkc_sampling_get_base_model_wait(&name, f.sampling, NULL),
                     TINKC_OK);
    assert_string_equal(name, "deep");
    tinkc_text_free(&name);
    tinkc_model_input_free(&prompt);
    close_all(&f);
}

static void test_sampling_open_refused(void **unused)
{
    (void)unused;
    fixture f;
    tinkc_sample_target target = TINKC_SAMPLE_TARGET_INIT;
    tinkc_error *error = NULL;
    open_peer(&f);
    size_t before = fakeapi_total(f.api);
    assert_int_equal(
        tinkc_service_open_sampling_wait(&f.sampling, f.service, &target, &error),
        TINKC_E_INVALID);
    assert_true(tinkc_error_message(error)[0] != '\0');
    tinkc_error_free(&error);
    target.base_model = "m";
    target.model_path = "tinker://r/weights/x";
    assert_int_equal(
        tinkc_service_open_sampling_wait(&f.sampling, f.service, &target, NULL),
        TINKC_E_INVALID);
    assert_int_equal(tinkc_service_open_sampling_wait(&f.sampling, NULL, &target, NULL),
                     TINKC_E_STATE);
    assert_int_equal(fakeapi_total(f.api), before);
    close_all(&f);
}

/* Wrong arguments are refused before anything is sent. */
static void test_sampling_create_refused(void **unused)
{
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

/* M-077: the id has colons, and a hostile one is escaped. */
static void test_sampling_base_model(void **unused)
{
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
    tinkc_text_free(&name);
    const fakeapi_request *sent = fakeapi_nth(f.api, "GET", "/api/v1/samplers/*", 0);
    assert_string_equal(sent->path, "/api/v1/samplers/a/b:sample:0?x");
    assert_non_null(strstr(sent->target, "%3Fx"));
    close_all(&f);
}

/* NULL handles, and handles whose service was closed. */
static void test_sampling_null_and_closed(void **unused)
{
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

/* ---- many prompts ---- */

#define PROMPTS 50

typedef struct batched {
    size_t next, failures, stop_at;
} batched;

static bool on_batch(size_t index, const tinkc_samples *samples, const tinkc_error *error,
                     void *user)
{
    batched *b = user;
    assert_int_equal(index, b->next);
    b->next++;
    assert_true((samples == NULL) == (error != NULL));
    b->failures += error != NULL;
    if (samples != NULL) {
        /* the peer answers with the token after the last one of the prompt */
        size_t n = 0;
        assert_int_equal(tinkc_samples_tokens(&n, samples, 0)[0], (int)index + 2);
    }
    return b->next != b->stop_at;
}

static void run_batch(fixture *f, batched *b, size_t max_in_flight, tinkc_code expected)
{
    tinkc_model_input *prompts[PROMPTS];
    tinkc_model_input *views[PROMPTS];
    for (size_t i = 0; i < PROMPTS; i++) {
        int32_t token = (int32_t)i + 1;
        assert_int_equal(tinkc_model_input_from_tokens(&prompts[i], &token, 1, NULL),
                         TINKC_OK);
        views[i] = i == 20 ? NULL : prompts[i]; /* one that is refused */
    }
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    params.max_tokens = 1;
    tinkc_sample_batch batch = TINKC_SAMPLE_BATCH_INIT;
    batch.prompts = views;
    batch.prompts_n = PROMPTS;
    batch.params = &params;
    batch.max_in_flight = max_in_flight;
    batch.fn = on_batch;
    batch.user = b;
    assert_int_equal(tinkc_sampling_batch(f->sampling, &batch, NULL), expected);
    for (size_t i = 0; i < PROMPTS; i++) {
        tinkc_model_input_free(&prompts[i]);
    }
}

/* M-088: in order, bounded, with the failure of one prompt in its place. */
static void test_sampling_batch(void **unused)
{
    fixture f;
    open_sampling(&f);
    batched b = {0};
    run_batch(&f, &b, 4, TINKC_OK);
    assert_int_equal(b.next, PROMPTS);
    assert_int_equal(b.failures, 1);
    assert_int_equal(fakeapi_count(f.api, "POST", "/api/v1/asample"), PROMPTS - 1);
    assert_true(fakeapi_peak(f.api, "POST", "/api/v1/*") <= 4);
    close_all(&f);
}

/* M-088: a batch ends early when the callback says so. */
static void test_sampling_batch_stops(void **unused)
{
    fixture f;
    open_sampling(&f);
    batched b = {.stop_at = 3};
    run_batch(&f, &b, 2, TINKC_E_CANCELLED);
    assert_int_equal(b.next, 3);
    assert_true(fakeapi_count(f.api, "POST", "/api/v1/asample") <= 5);
    close_all(&f);
}

static void test_sampling_batch_refused(void **unused)
{
    fixture f;
    open_sampling(&f);
    tinkc_sample_batch batch = TINKC_SAMPLE_BATCH_INIT;
    assert_int_equal(tinkc_sampling_batch(f.sampling, &batch, NULL), TINKC_E_INVALID);
    batch.fn = on_batch;
    batch.prompts_n = 1;
    assert_int_equal(tinkc_sampling_batch(f.sampling, &batch, NULL), TINKC_E_INVALID);
    batch.prompts_n = 0;
    assert_int_equal(tinkc_sampling_batch(f.sampling, &batch, NULL), TINKC_OK);
    batch.max_in_flight = 0;
    assert_int_equal(tinkc_sampling_batch(f.sampling, &batch, NULL), TINKC_E_INVALID);
    close_all(&f);
}

/* ---- the end of things ---- */

static tinkc_future *sample_one(tinkc_sampling *sampling)
{
    static const int32_t tokens[] = {1, 2, 3};
    tinkc_model_input *prompt = NULL;
    if (tinkc_model_input_from_tokens(&prompt, tokens, 3, NULL) != TINKC_OK) {
        return NULL;
    }
    tinkc_future *future = tinkc_sampling_sample(sampling, prompt, NULL, NULL);
    tinkc_model_input_free(&prompt);
    return future;
}

/* Scores a prompt of four tokens; the options ask for the same with a sample. */
static void expect_aligned(fixture *f, bool is_short)
{
    static const int32_t tokens[] = {5, 6, 7, 8};
    tinkc_model_input *prompt = NULL;
    tinkc_logprobs *logprobs = NULL;
    tinkc_samples *samples = NULL;
    tinkc_sample_options options = TINKC_SAMPLE_OPTIONS_INIT;
    size_t n = 0;
    options.prompt_logprobs = TINKC_CHOICE_YES;
    assert_int_equal(tinkc_model_input_from_tokens(&prompt, tokens, 4, NULL), TINKC_OK);
    assert_int_equal(
        tinkc_sampling_compute_logprobs_wait(&logprobs, f->sampling, prompt, NULL),
        TINKC_OK);
    const float *values = tinkc_logprobs_values(&n, logprobs);
    assert_int_equal(n, 4);
    assert_int_equal(isnan(values[0]) != 0, is_short);
    assert_float_equal(values[1], -0.5, 0);
    assert_float_equal(values[3], -0.5, 0);
    assert_int_equal(
        tinkc_sampling_sample_wait(&samples, f->sampling, prompt, NULL, &options, NULL),
        TINKC_OK);
    values = tinkc_samples_prompt_logprobs(&n, samples);
    assert_int_equal(n, 4);
    assert_int_equal(isnan(values[0]) != 0, is_short);
    assert_float_equal(values[3], -0.5, 0);
    tinkc_samples_free(&samples);
    tinkc_logprobs_free(&logprobs);
    tinkc_model_input_free(&prompt);
}

/* A server that sends no entry for the first token of a prompt: the others stay with
 * theirs. */
static void test_sampling_short_logprobs(void **unused)
{
    for (int is_short = 0; is_short <= 1; is_short++) {
        const fakeapi_tinker_options options = {.short_logprobs = is_short != 0};
        fixture f = {.api = fakeapi_start()};
        fakeapi_tinker(f.api, &options);
        f.service = servicefix_open(f.api, SERVICEFIX_QUIET);
        assert_int_equal(
            tinkc_service_create_sampling_wait(&f.sampling, f.service, "m", NULL, NULL),
            TINKC_OK);
        expect_aligned(&f, is_short != 0);
        close_all(&f);
    }
}

/* Closing the handle lets its samples end; closing the service ends them. */
static void test_sampling_close_while_sampling(void **unused)
{
    enum { N = 300 };
    fixture f;
    open_sampling(&f);
    fakeapi_tinker_hold(f.api, true);
    tinkc_future *futures[N];
    for (size_t i = 0; i < N; i++) {
        futures[i] = sample_one(f.sampling);
    }
    tinkc_sampling_close(&f.sampling);
    assert_true(fakeapi_wait_for(f.api, "POST", "/api/v1/retrieve_future", 1));
    assert_true(fakeapi_tinker_finish(f.api, 1) == 1);
    size_t index = N;
    assert_int_equal(tinkc_future_wait_any(&index, futures, N, TINKC_FOREVER), TINKC_OK);
    assert_int_equal(tinkc_future_wait(futures[index], 0), TINKC_OK);
    tinkc_service_close(&f.service);
    size_t cancelled = 0;
    for (size_t i = 0; i < N; i++) {
        cancelled += tinkc_future_wait(futures[i], TINKC_FOREVER) == TINKC_E_CANCELLED;
        tinkc_future_free(&futures[i]);
    }
    assert_true(cancelled >= N - 1 && cancelled <= N);
    close_all(&f);
}

/* ---- allocation failures ---- */

/* The peer starts and stops inside: its thread decodes with the same allocator. */
static bool sweep_once(void *user)
{
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    tinkc_config *config = NULL;
    tinkc_service *service = NULL;
    tinkc_sampling *sampling = NULL;
    bool ok = tinkc_config_new(&config, NULL) == TINKC_OK &&
              tinkc_config_set(config, "base_url", fakeapi_url(api), NULL) == TINKC_OK &&
              tinkc_config_set(config, "api_key", "tml-k", NULL) == TINKC_OK &&
              tinkc_config_set(config, "finish_session", "false", NULL) == TINKC_OK &&
              tinkc_config_set(config, "loop", "manual", NULL) == TINKC_OK &&
              tinkc_service_open(&service, config, NULL) == TINKC_OK &&
              tinkc_service_create_sampling_wait(&sampling, service, "m", NULL, NULL) ==
                  TINKC_OK;
    if (ok) {
        tinkc_future *future = sample_one(sampling);
        tinkc_samples *samples = NULL;
        ok = tinkc_future_wait(future, TINKC_FOREVER) == TINKC_OK &&
             tinkc_future_take_samples(&samples, future, NULL) == TINKC_OK;
        tinkc_future_free(&future);
        tinkc_samples_free(&samples);
        if (!ok && failmem_fired()) { /* the next one works again */
            future = sample_one(sampling);
            assert_int_equal(tinkc_future_wait(future, TINKC_FOREVER), TINKC_OK);
            tinkc_future_free(&future);
        }
    }
    tinkc_sampling_close(&sampling);
    tinkc_service_close(&service);
    tinkc_config_free(&config);
    fakeapi_stop(&api);
    return ok;
}

/* with any one allocation failing, every wait returns and nothing leaks. */
static void test_sampling_allocation_sweep(void **unused)
{
    assert_true(failmem_sweep(sweep_once, NULL, 1) > 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sampling_create),
        cmocka_unit_test(test_sampling_create_refused),
        cmocka_unit_test(test_sampling_open),
        cmocka_unit_test(test_sampling_open_names),
        cmocka_unit_test(test_sampling_open_refused),
        cmocka_unit_test(test_sampling_create_fails),
        cmocka_unit_test(test_sampling_base_model),
        cmocka_unit_test(test_sampling_null_and_closed),
        cmocka_unit_test(test_sampling_batch),
        cmocka_unit_test(test_sampling_batch_stops),
        cmocka_unit_test(test_sampling_batch_refused),
        cmocka_unit_test(test_sampling_short_logprobs),
        cmocka_unit_test(test_sampling_close_while_sampling),
        cmocka_unit_test(test_sampling_allocation_sweep),
    };
    return cmocka_run_group_tests_name("sampling", tests, NULL, NULL);
}
