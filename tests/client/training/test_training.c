/* A training client on the scripted peer: steps, checkpoints, information, bad input,
 * cancelling (A-015, A-016, A-018, A-019, A-022, A-024 to,
 * How clients are made is test_training_create.c's.
 * Links: peer */
#include <math.h>
#include <pthread.h>
#include <stdio.h>

#include <tinkc/sampling.h>

#include "support/trainfix.h"

/* M-061: defaults on the wire; the metrics come back. */
static void test_training_optim_step(void **unused)
{
    trainfix f = trainfix_open(NULL, NULL);
    tinkc_metrics *metrics = NULL;
    double steps = 0;
    assert_int_equal(tinkc_training_optim_step_wait(&metrics, f.training, NULL, NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_metrics_get(&steps, metrics, "steps", NULL), TINKC_OK);
    assert_true(steps == 1.0);
    tinkc_metrics_free(&metrics);
    assert_null(metrics);
    const char *body = fakeapi_nth(f.api, "POST", POST_STEP, 0)->body;
    assert_non_null(strstr(body, "\"seq_id\":1,"));
    assert_non_null(strstr(body, "\"learning_rate\":0.0001"));
    assert_non_null(strstr(body, "\"beta2\":0.95"));
    assert_int_equal(tinkc_training_optim_step_wait(NULL, f.training, NULL, NULL),
                     TINKC_OK);
    trainfix_close(&f);
}

/* the next submission arrives although no result is there yet, and
 * get_info is answered meanwhile. */
static void test_training_submits_while_results_wait(void **unused)
{
    trainfix f = trainfix_open(NULL, NULL);
    tinkc_future *futures[3];
    tinkc_model_info *info = NULL;
    fakeapi_tinker_hold(f.api, true);
    for (int i = 0; i < 3; i++) {
        futures[i] = tinkc_training_optim_step(f.training, NULL);
    }
    assert_true(fakeapi_wait_for(f.api, "POST", POST_STEP, 3));
    assert_int_equal(tinkc_training_get_info_wait(&info, f.training, NULL), TINKC_OK);
    tinkc_model_info_free(&info);
    for (int i = 0; i < 3; i++) {
        assert_false(tinkc_future_is_done(futures[i]));
    }
    assert_int_equal(fakeapi_tinker_finish(f.api, 3), 3);
    assert_int_equal(tinkc_future_wait_all(futures, 3, TINKC_FOREVER), TINKC_OK);
    for (int i = 0; i < 3; i++) {
        tinkc_future_free(&futures[i]);
    }
    trainfix_close(&f);
}

/* within a model one submission at a time; models do not wait for each
 * other. */
static void test_training_one_submission_per_model(void **unused)
{
    trainfix f = trainfix_open(NULL, NULL);
    tinkc_training *other = NULL;
    assert_int_equal(
        tinkc_service_create_training_wait(&other, f.service, BASE_MODEL, NULL, NULL),
        TINKC_OK);
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    fakeapi_default(f.api, "POST", POST_STEP,
                    &(fakeapi_step){.pass = true, .gate = gate});
    tinkc_future *futures[4];
    for (int i = 0; i < 4; i++) {
        futures[i] = tinkc_training_optim_step(i % 2 == 0 ? f.training : other, NULL);
    }
    assert_true(fakeapi_gate_wait(gate, 2));
    assert_int_equal(fakeapi_count(f.api, "POST", POST_STEP), 2);
    tinkc_wait wait = TINKC_WAIT_INIT;
    do { /* the loop may not have come to it yet */
        assert_int_equal(tinkc_future_status(&wait, futures[2], NULL), TINKC_OK);
    } while (wait.stage == TINKC_STAGE_ENCODING && wait.age_ms < 60000);
    assert_int_equal(wait.stage, TINKC_STAGE_TURN);
    fakeapi_gate_open(gate);
    assert_int_equal(tinkc_future_wait_all(futures, 4, TINKC_FOREVER), TINKC_OK);
    assert_int_equal(fakeapi_peak(f.api, "POST", POST_STEP), 2);
    for (int i = 0; i < 4; i++) {
        tinkc_future_free(&futures[i]);
    }
    tinkc_training_close(&other);
    trainfix_close(&f);
}

typedef struct mixer {
    tinkc_training *training;
    int number;
} mixer;

/* Every kind that has an id, many times. */
static void *mix(void *user)
{
    const mixer *self = user;
    for (int i = 0; i < 6; i++) {
        char name[40];
        tinkc_code code;
        (void)snprintf(name, sizeof(name), "c%d-%d", self->number, i);
        if (i % 3 == 0) {
            code = tinkc_training_optim_step_wait(NULL, self->training, NULL, NULL);
        } else if (i % 3 == 1) {
            code = tinkc_training_save_state_wait(NULL, self->training, name, NULL, NULL);
        } else {
            code = tinkc_training_save_weights_for_sampler_wait(NULL, self->training,
                                                                name, NULL, NULL);
        }
        assert_int_equal(code, TINKC_OK);
    }
    return NULL;
}

/* A-016, M-056: one numbering for all kinds: the server sees 1..N without gaps, in
 * order. */
static void test_training_one_numbering(void **unused)
{
    enum { THREADS = 8 };
    trainfix f = trainfix_open(NULL, NULL);
    pthread_t threads[THREADS];
    mixer mixers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        mixers[i] = (mixer){f.training, i};
        assert_int_equal(pthread_create(&threads[i], NULL, mix, &mixers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    const char *id = tinkc_training_model_id(f.training);
    size_t n = fakeapi_tinker_ops(f.api, id);
    assert_int_equal(n, 1 + THREADS * 6);
    for (size_t i = 1; i < n; i++) {
        fakeapi_tinker_op op;
        assert_true(fakeapi_tinker_op_at(f.api, id, i, &op));
        assert_int_equal(op.seq_id, i);
    }
    assert_int_equal(fakeapi_tinker_conflicts(f.api), 0);
    trainfix_close(&f);
}

/* M-062, M-064: paths and options of saves. */
static void test_training_save(void **unused)
{
    trainfix f = trainfix_open(NULL, NULL);
    char *path = NULL;
    char expected[200];
    tinkc_save_options options = TINKC_SAVE_OPTIONS_INIT;
    options.ttl_seconds = 60;
    assert_int_equal(
        tinkc_training_save_state_wait(&path, f.training, "first", &options, NULL),
        TINKC_OK);
    (void)snprintf(expected, sizeof(expected), "tinker://%s/weights/first",
                   tinkc_training_model_id(f.training));
    assert_string_equal(path, expected);
    tinkc_text_free(&path);
    const char *body = fakeapi_nth(f.api, "POST", "/api/v1/save_weights", 0)->body;
    assert_non_null(strstr(body, "\"ttl_seconds\":60"));
    assert_non_null(strstr(body, "\"overwrite\":false"));
    assert_int_equal(tinkc_training_save_weights_for_sampler_wait(&path, f.training,
                                                                  "first", NULL, NULL),
                     TINKC_OK);
    assert_non_null(strstr(path, "/sampler_weights/first"));
    tinkc_text_free(&path);
    body = fakeapi_nth(f.api, "POST", "/api/v1/save_weights_for_sampler", 0)->body;
    assert_null(strstr(body, "ttl_seconds"));
    assert_non_null(strstr(body, "\"seq_id\":2"));
    assert_null(strstr(body, "user_metadata"));
    tinkc_text_free(NULL);
    trainfix_close(&f);
}

static void expect(tinkc_future *future, tinkc_code code)
{
    assert_non_null(future);
    assert_int_equal(tinkc_future_wait(future, 0), code); /* done already */
    assert_true(tinkc_error_message(tinkc_future_error(future))[0] != '\0');
    tinkc_future_free(&future);
}

/* Metadata of checkpoints, and external weights: the bodies of the recordings of 0.36. */
static void test_training_save_metadata(void **unused)
{
    static const char *const recipients[] = {"age1x"};
    static const char *const routes[] = {"/api/v1/save_weights",
                                         "/api/v1/save_weights_for_sampler",
                                         "/api/v1/save_weights_external"};
    trainfix f = trainfix_open(NULL, NULL);
    const tinkc_pair pairs[] = {{"k", "v"}, {"n", NULL}};
    char *path = NULL;
    char expected[300];
    tinkc_save_options options = TINKC_SAVE_OPTIONS_INIT;
    options.metadata = pairs;
    options.metadata_n = 1;
    assert_int_equal(
        tinkc_training_save_state_wait(NULL, f.training, "s", &options, NULL), TINKC_OK);
    assert_int_equal(tinkc_training_save_weights_for_sampler_wait(NULL, f.training, "s",
                                                                  &options, NULL),
                     TINKC_OK);
    for (size_t i = 0; i < 2; i++) {
        assert_non_null(strstr(fakeapi_nth(f.api, "POST", routes[i], 0)->body,
                               "\"user_metadata\":{\"k\":\"v\"},\"type\""));
    }
    expect(tinkc_training_save_weights_external(f.training, "e", &options),
           TINKC_E_INVALID);
    options.metadata_n = 2;
    expect(tinkc_training_save_state(f.training, "t", &options), TINKC_E_INVALID);
    options = (tinkc_save_options)TINKC_SAVE_OPTIONS_INIT;
    options.recipients = recipients;
    options.recipients_n = 1;
    options.ttl_seconds = 3600;
    expect(tinkc_training_save_state(f.training, "t", &options), TINKC_E_INVALID);
    assert_int_equal(
        tinkc_training_save_weights_external_wait(&path, f.training, "e", &options, NULL),
        TINKC_OK);
    assert_non_null(strstr(path, "/external_weights/e"));
    tinkc_text_free(&path);
    (void)snprintf(expected, sizeof(expected),
                   "{\"model_id\":\"%s\",\"path\":\"e\",\"seq_id\":3,\"ttl_seconds\":"
                   "3600,\"age_encryption_recipients\":[\"age1x\"],\"type\":"
                   "\"save_weights_external\"}",
                   tinkc_training_model_id(f.training));
    assert_string_equal(fakeapi_nth(f.api, "POST", routes[2], 0)->body, expected);
    options.overwrite = true;
    expect(tinkc_training_save_weights_external(f.training, "e", &options),
           TINKC_E_INVALID);
    trainfix_close(&f);
}

/* A-151, M-064, M-065: a sampling client on the weights as they are; a retried
 * submission keeps its seq_id and draws another sampling session number
 * (docs/protocol.md §2.3). */
static void test_training_save_and_sample(void **unused)
{
    static const char *const settings[] = {"loop", "manual", NULL};
    trainfix f = trainfix_open(NULL, settings);
    tinkc_sampling *sampling = NULL;
    fakeapi_reply(f.api, "POST", POST_SAMPLER, &fakeapi_429(FAKEAPI_AFTER_MS(0)));
    assert_int_equal(tinkc_training_save_and_sample_wait(&sampling, f.training, NULL),
                     TINKC_OK);
    assert_non_null(strstr(tinkc_sampling_session_id(sampling), ":sample:"));
    for (size_t i = 0; i < 2; i++) {
        const char *body = fakeapi_nth(f.api, "POST", POST_SAMPLER, i)->body;
        assert_non_null(strstr(body, "\"seq_id\":1"));
        assert_non_null(strstr(body, i == 0 ? "\"sampling_session_seq_id\":0"
                                            : "\"sampling_session_seq_id\":1"));
        assert_null(strstr(body, "\"path\""));
    }
    tinkc_sampling_close(&sampling);
    trainfix_close(&f);
}

/* M-063: load into the model, with the token of another user. */
static void test_training_load(void **unused)
{
    trainfix f = trainfix_open(NULL, NULL);
    char *path = NULL;
    assert_int_equal(
        tinkc_training_save_state_wait(&path, f.training, "state", NULL, NULL), TINKC_OK);
    tinkc_training *second = NULL;
    assert_int_equal(
        tinkc_service_create_training_wait(&second, f.service, BASE_MODEL, NULL, NULL),
        TINKC_OK);
    assert_int_equal(tinkc_training_load_state_wait(second, path, true, "tml-x", NULL),
                     TINKC_OK);
    const char *body = fakeapi_nth(f.api, "POST", "/api/v1/load_weights", 0)->body;
    assert_non_null(strstr(body, "\"optimizer\":true"));
    assert_non_null(strstr(body, "\"weights_access_token\":\"tml-x\""));
    assert_non_null(strstr(body, "\"seq_id\":1"));
    tinkc_text_free(&path);
    tinkc_training_close(&second);
    trainfix_close(&f);
}

/* M-066, B-033: the tokenizer's id is cut at ":". */
static void test_training_info(void **unused)
{
    trainfix f = trainfix_open(NULL, NULL);
    tinkc_model_info *info = NULL;
    fakeapi_reply(f.api, "POST", "/api/v1/get_info",
                  &fakeapi_json("{\"model_id\":\"m\",\"model_data\":{\"arch\":\"a\","
                                "\"model_name\":\"n:1\",\"tokenizer_id\":\"t/u:x:y\"},"
                                "\"is_lora\":true,\"lora_rank\":8}"));
    assert_int_equal(tinkc_training_get_info_wait(&info, f.training, NULL), TINKC_OK);
    assert_string_equal(tinkc_model_info_model_id(info), "m");
    assert_string_equal(tinkc_model_info_model_name(info), "n:1");
    assert_string_equal(tinkc_model_info_arch(info), "a");
    assert_string_equal(tinkc_model_info_tokenizer_id(info), "t/u");
    assert_true(tinkc_model_info_is_lora(info));
    assert_int_equal(tinkc_model_info_lora_rank(info), 8);
    tinkc_model_info_free(&info);
    assert_null(info);
    assert_null(tinkc_model_info_arch(NULL));
    assert_int_equal(tinkc_model_info_lora_rank(NULL), -1);
    trainfix_close(&f);
}

/* M-066: unloading waits for what was called before, and takes no number. */
static void test_training_unload(void **unused)
{
    trainfix f = trainfix_open(NULL, NULL);
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    fakeapi_reply(f.api, "POST", POST_STEP, &(fakeapi_step){.pass = true, .gate = gate});
    tinkc_future *step = tinkc_training_optim_step(f.training, NULL);
    tinkc_future *unload = tinkc_training_unload(f.training);
    assert_true(fakeapi_gate_wait(gate, 1));
    assert_int_equal(fakeapi_count(f.api, "POST", "/api/v1/unload_model"), 0);
    fakeapi_gate_open(gate);
    assert_int_equal(tinkc_future_wait(unload, TINKC_FOREVER), TINKC_OK);
    assert_int_equal(tinkc_future_wait(step, TINKC_FOREVER), TINKC_OK);
    tinkc_future_free(&step);
    tinkc_future_free(&unload);
    trainfix_close(&f);
}

/* bad input comes out of the future, and nothing was sent. */
static void test_training_refuses_bad_input(void **unused)
{
    trainfix f = trainfix_open(NULL, SERVICEFIX_QUIET);
    tinkc_adam_params adam = TINKC_ADAM_PARAMS_INIT;
    tinkc_lora_config lora = TINKC_LORA_CONFIG_INIT;
    tinkc_save_options save = TINKC_SAVE_OPTIONS_INIT;
    char longname[300];
    memset(longname, 'a', sizeof(longname) - 1);
    longname[sizeof(longname) - 1] = '\0';
    size_t before = fakeapi_total(f.api);
    adam.beta1 = 2.0;
    expect(tinkc_training_optim_step(f.training, &adam), TINKC_E_INVALID);
    adam.beta1 = 0.9;
    adam.learning_rate = (double)NAN;
    expect(tinkc_training_optim_step(f.training, &adam), TINKC_E_INVALID);
    expect(tinkc_training_save_state(f.training, NULL, NULL), TINKC_E_INVALID);
    expect(tinkc_training_save_state(f.training, "", NULL), TINKC_E_INVALID);
    expect(tinkc_training_save_state(f.training, "a/b", NULL), TINKC_E_INVALID);
    expect(tinkc_training_save_state(f.training, "a b", NULL), TINKC_E_INVALID);
    expect(tinkc_training_save_state(f.training, "\xff", NULL), TINKC_E_INVALID);
    expect(tinkc_training_save_state(f.training, longname, NULL), TINKC_E_INVALID);
    save.ttl_seconds = 0;
    expect(tinkc_training_save_state(f.training, "a", &save), TINKC_E_INVALID);
    save.ttl_seconds = -1;
    save.overwrite = true;
    expect(tinkc_training_save_weights_for_sampler(f.training, "a", &save),
           TINKC_E_INVALID);
    expect(tinkc_training_load_state(f.training, NULL, false, NULL), TINKC_E_INVALID);
    expect(tinkc_training_load_state(f.training, "weights/w", false, NULL),
           TINKC_E_INVALID);
    expect(tinkc_training_load_state(f.training, "tinker://r/sampler_weights/w", false,
                                     NULL),
           TINKC_E_INVALID);
    expect(tinkc_service_create_training(f.service, NULL, NULL), TINKC_E_INVALID);
    expect(tinkc_service_create_training(f.service, "", NULL), TINKC_E_INVALID);
    lora.train_attn = lora.train_mlp = lora.train_unembed = false;
    expect(tinkc_service_create_training(f.service, "m", &lora), TINKC_E_INVALID);
    expect(tinkc_service_create_training_from_state(f.service,
                                                    "tinker://r/sampler_weights/w", NULL),
           TINKC_E_INVALID);
    assert_int_equal(fakeapi_total(f.api), before);
    /* none of them took a number */
    assert_int_equal(tinkc_training_optim_step_wait(NULL, f.training, NULL, NULL),
                     TINKC_OK);
    assert_non_null(
        strstr(fakeapi_nth(f.api, "POST", POST_STEP, 0)->body, "\"seq_id\":1,"));
    trainfix_close(&f);
}

/* a NULL handle gives a resolved future, too. */
static void test_training_null(void **unused)
{
    tinkc_training *none = NULL;
    expect(tinkc_training_optim_step(NULL, NULL), TINKC_E_STATE);
    expect(tinkc_training_save_state(NULL, "a", NULL), TINKC_E_STATE);
    expect(tinkc_training_save_weights_for_sampler(NULL, "a", NULL), TINKC_E_STATE);
    expect(tinkc_training_load_state(NULL, "a", false, NULL), TINKC_E_STATE);
    expect(tinkc_training_get_info(NULL), TINKC_E_STATE);
    expect(tinkc_training_save_and_sample(NULL), TINKC_E_STATE);
    expect(tinkc_training_unload(NULL), TINKC_E_STATE);
    expect(tinkc_service_create_training(NULL, "m", NULL), TINKC_E_STATE);
    expect(tinkc_service_create_training_from_state(NULL, "m", NULL), TINKC_E_STATE);
    assert_null(tinkc_training_model_id(NULL));
    tinkc_training_close(NULL);
    tinkc_training_close(&none);
}

/* the server's error reaches the caller, with its message. */
static void test_training_server_errors(void **unused)
{
    trainfix f = trainfix_open(NULL, NULL);
    tinkc_error *error = NULL;
    fakeapi_tinker_fail(f.api, "optim_step", "gradients are NaN", "user");
    assert_int_equal(tinkc_training_optim_step_wait(NULL, f.training, NULL, &error),
                     TINKC_E_REQUEST);
    assert_non_null(strstr(tinkc_error_message(error), "gradients are NaN"));
    assert_true(tinkc_error_is_user_error(error));
    assert_non_null(tinkc_error_request_id(error));
    tinkc_error_free(&error);
    fakeapi_reply(f.api, "POST", POST_POLL, &fakeapi_json("[1]"));
    assert_int_equal(tinkc_training_optim_step_wait(NULL, f.training, NULL, NULL),
                     TINKC_E_DECODE);
    fakeapi_reply(f.api, "POST", "/api/v1/save_weights",
                  &fakeapi_json("{\"request_id\":7}"));
    assert_int_equal(tinkc_training_save_state_wait(NULL, f.training, "a", NULL, NULL),
                     TINKC_E_DECODE);
    fakeapi_reply(f.api, "POST", POST_STEP, &fakeapi_detail(422, "no"));
    assert_int_equal(tinkc_training_optim_step_wait(NULL, f.training, NULL, NULL),
                     TINKC_E_UNPROCESSABLE);
    /* and the next one works */
    assert_int_equal(tinkc_training_optim_step_wait(NULL, f.training, NULL, NULL),
                     TINKC_OK);
    trainfix_close(&f);
}

/* ---- cancelling and closing ---- */

/* A-022, B-255: cancelled on the wire and while waiting for the turn: the third goes. */
static void test_training_cancel_gives_the_turn_back(void **unused)
{
    trainfix f = trainfix_open(NULL, NULL);
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    fakeapi_reply(f.api, "POST", POST_STEP, &(fakeapi_step){.gate = gate});
    tinkc_future *futures[3];
    for (int i = 0; i < 3; i++) {
        futures[i] = tinkc_training_optim_step(f.training, NULL);
    }
    assert_true(fakeapi_gate_wait(gate, 1));
    tinkc_future_cancel(futures[1]);
    tinkc_future_cancel(futures[0]);
    assert_int_equal(tinkc_future_wait(futures[2], TINKC_FOREVER), TINKC_OK);
    assert_non_null(
        strstr(fakeapi_nth(f.api, "POST", POST_STEP, 1)->body, "\"seq_id\":3"));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tinkc_future_wait(futures[i], 0),
                         i < 2 ? TINKC_E_CANCELLED : TINKC_OK);
        tinkc_future_free(&futures[i]);
    }
    trainfix_close(&f);
}

/* while a result is awaited, and while the model is being made. */
static void test_training_cancel_elsewhere(void **unused)
{
    trainfix f = trainfix_open(NULL, NULL);
    fakeapi_clock_manual(f.api); /* a held poll does not end by itself */
    fakeapi_tinker_hold(f.api, true);
    tinkc_future *step = tinkc_training_optim_step(f.training, NULL);
    assert_true(fakeapi_wait_in_flight(f.api, "POST", POST_POLL, 1));
    tinkc_future_cancel(step);
    assert_int_equal(tinkc_future_wait(step, 0), TINKC_E_CANCELLED);
    tinkc_future_free(&step);
    assert_true(fakeapi_wait_in_flight(f.api, "POST", POST_POLL, 0)); /* given up */
    tinkc_future *create = tinkc_service_create_training(f.service, BASE_MODEL, NULL);
    assert_true(fakeapi_wait_in_flight(f.api, "POST", POST_POLL, 1));
    tinkc_future_cancel(create);
    tinkc_future_free(&create);
    assert_true(fakeapi_wait_in_flight(f.api, "POST", POST_POLL, 0));
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    fakeapi_reply(f.api, "POST", "/api/v1/weights_info", &(fakeapi_step){.gate = gate});
    create =
        tinkc_service_create_training_from_state(f.service, "tinker://r/weights/w", NULL);
    assert_true(fakeapi_gate_wait(gate, 1));
    tinkc_future_cancel(create);
    tinkc_future_free(&create);
    fakeapi_tinker_hold(f.api, false);
    assert_int_equal(tinkc_training_optim_step_wait(NULL, f.training, NULL, NULL),
                     TINKC_OK);
    trainfix_close(&f);
}

/* closing ends everything, whatever it waits for; a handle closed before does not
 * stop its operations. */
static void test_training_close_service(void **unused)
{
    trainfix f = trainfix_open(NULL, NULL);
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    fakeapi_tinker_hold(f.api, true);
    tinkc_future *futures[4];
    futures[0] = tinkc_training_optim_step(f.training, NULL);
    assert_true(fakeapi_wait_in_flight(f.api, "POST", POST_POLL, 1));
    fakeapi_reply(f.api, "POST", POST_STEP, &(fakeapi_step){.gate = gate});
    for (int i = 1; i < 4; i++) {
        futures[i] = tinkc_training_optim_step(f.training, NULL);
    }
    tinkc_training_close(&f.training);
    assert_true(fakeapi_gate_wait(gate, 1));
    tinkc_service_close(&f.service);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(tinkc_future_wait(futures[i], TINKC_FOREVER), TINKC_E_CANCELLED);
        tinkc_future_free(&futures[i]);
    }
    trainfix_close(&f);
}

static void test_training_after_close(void **unused)
{
    trainfix f = trainfix_open(NULL, NULL);
    tinkc_service_close(&f.service);
    assert_int_equal(tinkc_training_optim_step_wait(NULL, f.training, NULL, NULL),
                     TINKC_E_CANCELLED);
    assert_int_equal(tinkc_training_get_info_wait(NULL, f.training, NULL),
                     TINKC_E_CANCELLED);
    trainfix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_training_optim_step),
        cmocka_unit_test(test_training_submits_while_results_wait),
        cmocka_unit_test(test_training_one_submission_per_model),
        cmocka_unit_test(test_training_one_numbering),
        cmocka_unit_test(test_training_save),
        cmocka_unit_test(test_training_save_metadata),
        cmocka_unit_test(test_training_save_and_sample),
        cmocka_unit_test(test_training_load),
        cmocka_unit_test(test_training_info),
        cmocka_unit_test(test_training_unload),
        cmocka_unit_test(test_training_refuses_bad_input),
        cmocka_unit_test(test_training_null),
        cmocka_unit_test(test_training_server_errors),
        cmocka_unit_test(test_training_cancel_gives_the_turn_back),
        cmocka_unit_test(test_training_cancel_elsewhere),
        cmocka_unit_test(test_training_close_service),
        cmocka_unit_test(test_training_after_close),
    };
    return cmocka_run_group_tests_name("training", tests, NULL, NULL);
}
