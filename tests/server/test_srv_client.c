/* libtinkc against the real server: train, save, load, sample.
 * Links: client */
#include <math.h>
#include <tinkc/rest.h>
#include <tinkc/sampling.h>
#include <tinkc/training.h>

#include "server/clientfix.h"

#define MODEL "tinkc/pebble-llama-2m"

typedef struct e2e {
    srvfix srv;
    tinkc_service *service;
    tinkc_training *training;
} e2e;

static tinkc_training *new_training(tinkc_service *service)
{
    tinkc_training *training = NULL;
    tinkc_lora_config lora = TINKC_LORA_CONFIG_INIT;
    lora.rank = 8;
    lora.has_seed = true;
    lora.seed = 7;
    OK(tinkc_service_create_training_wait(&training, service, MODEL, &lora, &err));
    return training;
}

static void open_e2e(e2e *t)
{
    memset(t, 0, sizeof(*t));
    srvfix_open(&t->srv, (srv_options){0});
    t->service = clientfix_service(&t->srv);
    t->training = new_training(t->service);
}

static void close_e2e(e2e *t)
{
    tinkc_training_close(&t->training);
    tinkc_service_close(&t->service);
    srvfix_close(&t->srv);
}

static tinkc_model_input *input_of(const int32_t *tokens, size_t n)
{
    tinkc_model_input *input = NULL;
    OK(tinkc_model_input_from_tokens(&input, tokens, n, &err));
    return input;
}

static const int32_t text[] = {5, 17, 9, 40, 12, 33, 8, 21};
#define N 7 /* tokens of a datum; targets are shifted by one */

static tinkc_datum *datum(void)
{
    const float weights[N] = {1, 1, 1, 1, 1, 1, 1};
    tinkc_model_input *input = input_of(text, N);
    tinkc_datum *out = NULL;
    OK(tinkc_datum_new(&out, &input, &err));
    OK(tinkc_datum_set_i32(out, "target_tokens", text + 1, N, &err));
    OK(tinkc_datum_set_f32(out, "weights", weights, N, &err));
    return out;
}

static double train_once(tinkc_training *training)
{
    tinkc_datum *d = datum();
    tinkc_datum *data[] = {d};
    tinkc_fwdbwd *result = NULL;
    tinkc_adam_params adam = TINKC_ADAM_PARAMS_INIT;
    adam.learning_rate = 0.01;
    double loss = 0;
    tinkc_future *step;
    tinkc_future *pass =
        tinkc_training_forward_backward(training, data, 1, "cross_entropy", NULL);
    step = tinkc_training_optim_step(training, &adam);
    assert_int_equal(tinkc_future_wait(pass, TINKC_FOREVER), TINKC_OK);
    OK(tinkc_future_take_fwdbwd(&result, pass, &err));
    assert_int_equal(tinkc_future_wait(step, TINKC_FOREVER), TINKC_OK);
    assert_int_equal(tinkc_fwdbwd_loss(&loss, result, NULL), TINKC_OK);
    tinkc_future_free(&pass);
    tinkc_future_free(&step);
    tinkc_fwdbwd_free(&result);
    tinkc_datum_free(&d);
    return loss;
}

/* The log-probabilities of the datum, exactly. */
static void forward(tinkc_training *training, float out[N])
{
    tinkc_datum *d = datum();
    tinkc_datum *data[] = {d};
    tinkc_fwdbwd *result = NULL;
    const float *values = NULL;
    size_t n = 0;
    OK(tinkc_training_forward_wait(&result, training, data, 1, "cross_entropy", NULL,
                                   &err));
    assert_int_equal(tinkc_fwdbwd_f32(&values, &n, result, 0, "logprobs", NULL),
                     TINKC_OK);
    assert_int_equal(n, N);
    memcpy(out, values, N * sizeof(*out));
    tinkc_fwdbwd_free(&result);
    tinkc_datum_free(&d);
}

/* M-172: training lowers the loss, through the wire. */
static void test_srv_training_learns(void **state)
{
    e2e t;
    open_e2e(&t);
    double first = train_once(t.training);
    double last = first;
    for (int i = 0; i < 8; i++) {
        last = train_once(t.training);
    }
    assert_true(last < first / 2);
    close_e2e(&t);
}

/* What was saved loads bit for bit, with its optimizer, also after a restart. */
static void test_srv_state_survives(void **state)
{
    e2e t;
    char *path = NULL;
    float before[N], after[N];
    open_e2e(&t);
    (void)train_once(t.training);
    OK(tinkc_training_save_state_wait(&path, t.training, "one", NULL, &err));
    (void)train_once(t.training);
    forward(t.training, before);
    tinkc_training_close(&t.training);
    tinkc_service_close(&t.service);
    srvfix_restart(&t.srv, (srv_options){0});
    t.service = clientfix_service(&t.srv);
    tinkc_from_state_options options = TINKC_FROM_STATE_OPTIONS_INIT;
    options.with_optimizer = true;
    OK(tinkc_service_create_training_from_state_wait(&t.training, t.service, path,
                                                     &options, &err));
    (void)train_once(t.training); /* the same step once more */
    forward(t.training, after);
    assert_memory_equal(before, after, sizeof(before));
    tinkc_text_free(&path);
    close_e2e(&t);
}

static void sample(tinkc_sampling *sampling, int32_t out[6])
{
    tinkc_model_input *prompt = input_of(text, 3);
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    tinkc_samples *samples = NULL;
    size_t n = 0;
    params.max_tokens = 6;
    params.has_seed = true;
    params.seed = 11;
    params.stop_texts = (const char *const[]){NULL};
    OK(tinkc_sampling_sample_wait(&samples, sampling, prompt, &params, NULL, &err));
    assert_int_equal(tinkc_samples_count(samples), 1);
    const int32_t *tokens = tinkc_samples_tokens(&n, samples, 0);
    assert_int_equal(n, 6);
    memcpy(out, tokens, 6 * sizeof(*out));
    assert_non_null(tinkc_samples_logprobs(&n, samples, 0));
    tinkc_samples_free(&samples);
    tinkc_model_input_free(&prompt);
}

/* The base model, a named checkpoint and an ephemeral sampler; the latter two hold the
 * same weights, and later training does not reach them. */
static void test_srv_samplers_are_frozen(void **state)
{
    e2e t;
    char *path = NULL;
    tinkc_sampling *base = NULL, *named = NULL, *frozen = NULL;
    int32_t a[6], b[6], c[6];
    open_e2e(&t);
    OK(tinkc_service_create_sampling_wait(&base, t.service, MODEL, NULL, &err));
    sample(base, a);
    for (int i = 0; i < 6; i++) {
        (void)train_once(t.training);
    }
    OK(tinkc_training_save_weights_for_sampler_wait(&path, t.training, "s1", NULL, &err));
    OK(tinkc_training_save_and_sample_wait(&frozen, t.training, &err));
    for (int i = 0; i < 6; i++) {
        (void)train_once(t.training);
    }
    OK(tinkc_service_create_sampling_wait(&named, t.service, NULL, path, &err));
    sample(named, b);
    sample(frozen, c);
    assert_memory_equal(b, c, sizeof(b));
    assert_memory_not_equal(a, b, sizeof(a));
    sample(base, c);
    assert_memory_equal(a, c, sizeof(a));
    tinkc_text_free(&path);
    tinkc_sampling_close(&base);
    tinkc_sampling_close(&named);
    tinkc_sampling_close(&frozen);
    close_e2e(&t);
}

/* compute_logprobs of a sampler and forward of the model that it came from: same bits. */
static void test_srv_logprobs_agree(void **state)
{
    e2e t;
    float trained[N];
    tinkc_sampling *sampling = NULL;
    tinkc_logprobs *logprobs = NULL;
    size_t n = 0;
    open_e2e(&t);
    (void)train_once(t.training);
    forward(t.training, trained);
    OK(tinkc_training_save_and_sample_wait(&sampling, t.training, &err));
    tinkc_model_input *prompt = input_of(text, N + 1);
    OK(tinkc_sampling_compute_logprobs_wait(&logprobs, sampling, prompt, &err));
    const float *values = tinkc_logprobs_values(&n, logprobs);
    assert_int_equal(n, N + 1);
    assert_true(isnan(values[0]));
    assert_memory_equal(values + 1, trained, sizeof(trained));
    tinkc_logprobs_free(&logprobs);
    tinkc_model_input_free(&prompt);
    tinkc_sampling_close(&sampling);
    close_e2e(&t);
}

/* S-010: failed work says whose fault it was. */
static void test_srv_mistakes_are_the_users(void **state)
{
    e2e t;
    open_e2e(&t);
    tinkc_datum *d = datum();
    tinkc_datum *data[] = {d};
    tinkc_error *error = NULL;
    tinkc_code code = tinkc_training_forward_backward_wait(NULL, t.training, data, 1,
                                                           "ppo", NULL, &error);
    assert_int_equal(code, TINKC_E_REQUEST);
    assert_int_equal(tinkc_error_category(error), TINKC_CATEGORY_USER);
    tinkc_error_free(&error);
    tinkc_datum_free(&d);
    (void)train_once(t.training); /* the order goes on */
    close_e2e(&t);
}

/* A-049, M-073: without a session, by base model and by path, the server samples the
 * same tokens as with one. */
static void test_srv_client_stateless(void **state)
{
    (void)state;
    e2e t;
    tinkc_sampling *with = NULL, *without = NULL;
    char *path = NULL;
    open_e2e(&t);
    for (int i = 0; i < 3; i++) {
        (void)train_once(t.training);
    }
    OK(tinkc_training_save_weights_for_sampler_wait(&path, t.training, "s", NULL, &err));
    for (int by_path = 0; by_path < 2; by_path++) {
        int32_t expected[6], got[6];
        tinkc_sample_target target = TINKC_SAMPLE_TARGET_INIT;
        target.base_model = by_path ? NULL : MODEL;
        target.model_path = by_path ? path : NULL;
        OK(tinkc_service_create_sampling_wait(&with, t.service, target.base_model,
                                              target.model_path, &err));
        OK(tinkc_service_open_sampling_wait(&without, t.service, &target, &err));
        sample(with, expected);
        sample(without, got);
        assert_memory_equal(got, expected, sizeof(got));
        char *name = NULL;
        OK(tinkc_sampling_get_base_model_wait(&name, without, &err));
        assert_string_equal(name, MODEL);
        tinkc_text_free(&name);
        tinkc_sampling_close(&with);
        tinkc_sampling_close(&without);
    }
    tinkc_text_free(&path);
    close_e2e(&t);
}

/* M-048: what a run was created with is what the list of runs shows. */
static void test_srv_client_metadata(void **state)
{
    (void)state;
    static const tinkc_pair pairs[] = {{"owner", "me"}};
    e2e t;
    tinkc_training *second = NULL;
    tinkc_run *run = NULL;
    tinkc_lora_config lora = TINKC_LORA_CONFIG_INIT;
    lora.rank = 8;
    lora.metadata = pairs;
    lora.metadata_n = 1;
    open_e2e(&t);
    OK(tinkc_service_create_training_wait(&second, t.service, MODEL, &lora, &err));
    OK(tinkc_rest_get_run_wait(&run, t.service, tinkc_training_model_id(second),
                               TINKC_SCOPE_OWNED, &err));
    assert_int_equal(run->metadata_n, 1);
    assert_string_equal(run->metadata[0].name, "owner");
    assert_string_equal(run->metadata[0].value, "me");
    tinkc_run_free(&run);
    tinkc_training_close(&second);
    close_e2e(&t);
}

/* What the client computes from log-probabilities is what the server's engine computes. */
static void test_srv_client_computed_losses(void **unused)
{
    static const float sampled[N] = {-5, -9, -7.5F, -8, -2, -8.5F, -40};
    static const float advantages[N] = {1, -1, 0.5F, -2, 0.25F, 3, 0};
    static const tinkc_number bounds[] = {{"clip_high_threshold", 1.3},
                                          {"clip_low_threshold", 0.6}};
    static const tinkc_number beta = {"beta", 0.07};
    static const struct {
        const char *loss;
        const tinkc_number *settings;
        size_t n;
    } rows[] = {{"cross_entropy", NULL, 0}, {"importance_sampling", NULL, 0},
                {"ppo", NULL, 0},           {"ppo", bounds, 2},
                {"cispo", bounds, 2},       {"dro", &beta, 1}};
    e2e t;
    open_e2e(&t);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        tinkc_datum *d = NULL;
        tinkc_fwdbwd *result = NULL;
        tinkc_fwdbwd_options settings = TINKC_FWDBWD_OPTIONS_INIT;
        tinkc_model_input *input = input_of(text, N);
        double said = 0, own = 0;
        settings.config = rows[i].settings;
        settings.config_n = rows[i].n;
        OK(tinkc_datum_new(&d, &input, &err));
        OK(tinkc_datum_set_i32(d, "target_tokens", text + 1, N, &err));
        if (i == 0) {
            OK(tinkc_datum_set_f32(d, "weights", advantages, N, &err));
        } else {
            OK(tinkc_datum_set_f32(d, "logprobs", sampled, N, &err));
            OK(tinkc_datum_set_f32(d, "advantages", advantages, N, &err));
        }
        OK(tinkc_training_forward_backward_wait(&result, t.training, &d, 1, rows[i].loss,
                                                &settings, &err));
        OK(tinkc_metrics_loss(&said, tinkc_fwdbwd_metrics(result), &err));
        OK(tinkc_fwdbwd_computed_loss_with(&own, result, &d, 1, rows[i].loss, &settings,
                                           &err));
        if (fabs(own - said) > 1e-4 * (1 + fabs(said))) {
            fail_msg("%s: computed %.9g, the server has %.9g", rows[i].loss, own, said);
        }
        tinkc_fwdbwd_free(&result);
        tinkc_datum_free(&d);
    }
    close_e2e(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_client_computed_losses),
        cmocka_unit_test(test_srv_client_stateless),
        cmocka_unit_test(test_srv_client_metadata),
        cmocka_unit_test(test_srv_training_learns),
        cmocka_unit_test(test_srv_state_survives),
        cmocka_unit_test(test_srv_samplers_are_frozen),
        cmocka_unit_test(test_srv_logprobs_agree),
        cmocka_unit_test(test_srv_mistakes_are_the_users),
    };
    return cmocka_run_group_tests_name("srv_client", tests, NULL, NULL);
}
