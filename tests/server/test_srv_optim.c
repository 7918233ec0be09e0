/* Optimizers and losses at the server: libtinkc trains with Dimuon against the real server,
 * saves, resumes with the same bits; what the server does not have is refused by name.
 * Links: client */
#include <tinkc/rest.h>
#include <tinkc/training.h>

#include "server/clientfix.h"

#define MODEL "tinkc/pebble-llama-2m"
#define N     7

static const int32_t text[] = {5, 17, 9, 40, 12, 33, 8, 21};

typedef struct e2e {
    srvfix srv;
    tinkc_service *service;
} e2e;

static void open_e2e(e2e *t)
{
    memset(t, 0, sizeof(*t));
    srvfix_open(&t->srv, (srv_options){0});
    t->service = clientfix_service(&t->srv);
}

static void close_e2e(e2e *t)
{
    tinkc_service_close(&t->service);
    srvfix_close(&t->srv);
}

static tinkc_training *new_training(e2e *t, tinkc_optimizer type)
{
    tinkc_training *training = NULL;
    tinkc_lora_config lora = TINKC_LORA_CONFIG_INIT;
    tinkc_optimizer_config optimizer = TINKC_OPTIMIZER_CONFIG_INIT;
    optimizer.type = type;
    lora.rank = 8;
    lora.has_seed = true;
    lora.seed = 7;
    lora.optimizer = &optimizer;
    OK(tinkc_service_create_training_wait(&training, t->service, MODEL, &lora, &err));
    return training;
}

static tinkc_datum *new_datum(void)
{
    const float weights[N] = {1, 1, 1, 1, 1, 1, 1};
    tinkc_model_input *input = NULL;
    tinkc_datum *out = NULL;
    OK(tinkc_model_input_from_tokens(&input, text, N, &err));
    OK(tinkc_datum_new(&out, &input, &err));
    OK(tinkc_datum_set_i32(out, "target_tokens", text + 1, N, &err));
    OK(tinkc_datum_set_f32(out, "weights", weights, N, &err));
    return out;
}

/* One step; the loss before it. */
static double dimuon_step(tinkc_training *training)
{
    tinkc_datum *datum = new_datum();
    tinkc_step *step = NULL;
    tinkc_step_options options = TINKC_STEP_OPTIONS_INIT;
    tinkc_optim_params params = TINKC_OPTIM_PARAMS_INIT;
    tinkc_dimuon_params dimuon = TINKC_DIMUON_PARAMS_INIT;
    double loss = 0;
    dimuon.learning_rate = 0.1;
    params.type = TINKC_OPTIMIZER_DIMUON;
    params.dimuon = &dimuon;
    options.optim = &params;
    OK(tinkc_training_step_wait(&step, training, &datum, 1, "cross_entropy", &options,
                                &err));
    assert_int_equal(tinkc_step_loss(&loss, step, NULL), TINKC_OK);
    tinkc_step_free(&step);
    tinkc_datum_free(&datum);
    return loss;
}

static void forward(tinkc_training *training, float out[N])
{
    tinkc_datum *datum = new_datum();
    tinkc_fwdbwd *result = NULL;
    const float *values = NULL;
    size_t n = 0;
    OK(tinkc_training_forward_wait(&result, training, &datum, 1, "cross_entropy", NULL,
                                   &err));
    OK(tinkc_fwdbwd_f32(&values, &n, result, 0, "logprobs", &err));
    assert_int_equal(n, N);
    memcpy(out, values, N * sizeof(*out));
    tinkc_fwdbwd_free(&result);
    tinkc_datum_free(&datum);
}

/* Training with Dimuon learns; a checkpoint says whose state it has, and training goes on
 * from it bit for bit. */
static void test_srv_optim_dimuon(void **unused)
{
    e2e t;
    char *path = NULL;
    float have[N], want[N];
    (void)unused;
    open_e2e(&t);
    tinkc_training *first = new_training(&t, TINKC_OPTIMIZER_DIMUON), *second = NULL;
    double start = dimuon_step(first);
    for (int i = 0; i < 3; i++) {
        (void)dimuon_step(first);
    }
    OK(tinkc_training_save_state_wait(&path, first, "state", NULL, &err));
    for (int i = 0; i < 3; i++) {
        (void)dimuon_step(first);
    }
    assert_true(dimuon_step(first) < start / 2);
    tinkc_model_info *info = NULL;
    OK(tinkc_training_get_info_wait(&info, first, &err));
    assert_int_equal(tinkc_model_info_optimizer(info), TINKC_OPTIMIZER_DIMUON);
    tinkc_model_info_free(&info);
    tinkc_weights_info *saved = NULL;
    OK(tinkc_rest_weights_info_wait(&saved, t.service, path, &err));
    assert_int_equal(saved->optimizer, TINKC_OPTIMIZER_DIMUON);
    tinkc_weights_info_free(&saved);
    tinkc_from_state_options options = TINKC_FROM_STATE_OPTIONS_INIT;
    options.with_optimizer = true;
    OK(tinkc_service_create_training_from_state_wait(&second, t.service, path, &options,
                                                     &err));
    for (int i = 0; i < 4; i++) {
        (void)dimuon_step(second);
    }
    forward(first, want);
    forward(second, have);
    assert_memory_equal(have, want, sizeof(want));
    tinkc_training_close(&second);
    /* Weights alone go into a model of any optimizer; its state does not. */
    options.with_optimizer = false;
    OK(tinkc_service_create_training_from_state_wait(&second, t.service, path, &options,
                                                     &err));
    OK(tinkc_training_optim_step_wait(NULL, second, NULL, &err));
    tinkc_error *error = NULL;
    assert_int_equal(tinkc_training_load_state_wait(second, path, true, NULL, &error),
                     TINKC_E_REQUEST);
    assert_non_null(strstr(tinkc_error_message(error), "the state of dimuon"));
    tinkc_error_free(&error);
    tinkc_training_close(&second);
    tinkc_training_close(&first);
    tinkc_text_free(&path);
    close_e2e(&t);
}

/* A step with the parameters of another optimizer is refused before it has a future. */
static void test_srv_optim_mismatch(void **unused)
{
    e2e t;
    tinkc_error *error = NULL;
    tinkc_optim_params params = TINKC_OPTIM_PARAMS_INIT;
    tinkc_dimuon_params dimuon = TINKC_DIMUON_PARAMS_INIT;
    (void)unused;
    open_e2e(&t);
    tinkc_training *adam = new_training(&t, TINKC_OPTIMIZER_ADAMW);
    tinkc_training *other = new_training(&t, TINKC_OPTIMIZER_DIMUON);
    assert_int_equal(tinkc_training_optim_step_wait(NULL, other, NULL, &error),
                     TINKC_E_BAD_REQUEST);
    assert_non_null(strstr(tinkc_error_message(error), "optimizer is dimuon"));
    tinkc_error_free(&error);
    dimuon.learning_rate = 0.1;
    params.type = TINKC_OPTIMIZER_DIMUON;
    params.dimuon = &dimuon;
    assert_int_equal(tinkc_training_optim_step_with_wait(NULL, adam, &params, &error),
                     TINKC_E_BAD_REQUEST);
    assert_non_null(strstr(tinkc_error_message(error), "optimizer is adamw"));
    tinkc_error_free(&error);
    params.type = TINKC_OPTIMIZER_OTHER;
    params.json = "{\"type\":\"newer\"}";
    assert_int_equal(tinkc_training_optim_step_with_wait(NULL, adam, &params, &error),
                     TINKC_E_BAD_REQUEST);
    assert_non_null(strstr(tinkc_error_message(error), "newer"));
    tinkc_error_free(&error);
    tinkc_training_close(&adam);
    tinkc_training_close(&other);
    close_e2e(&t);
}

/* What is asked for and not there is refused with 4xx and its name. */
static void test_srv_optim_refusals(void **unused)
{
    static const struct {
        const char *path, *body;
        int status;
        const char *says;
    } rows[] = {
        {"create_model", ",\"optimizer_config\":{\"type\":\"sgd\"}}", 400,
         "sgd is not one of adamw, dimuon"},
        {"create_model", ",\"optimizer_config\":{\"type\":\"dimuon\",\"version\":2}}",
         400, "optimizer_config.version"},
        {"create_model", ",\"optimizer_config\":{\"type\":\"dimuon\",\"damping\":1}}",
         422, "damping"},
        {"create_model", ",\"optimizer_config\":{\"type\":\"adamw\",\"x\":1}}", 422,
         "\"x\""},
        {"create_model", ",\"optimizer_config\":{}}", 422, "optimizer_config"},
        {"create_model",
         ",\"lora_config\":{\"rank\":1024},\"optimizer_config\":{\"type\":\"dimuon\"}}",
         400, "at most 512 with dimuon"},
        {"optim_step", ",\"seq_id\":1}", 422, "adam_params"},
        {"optim_step",
         ",\"seq_id\":1,\"adam_params\":{},\"optimizer_params\":{\"type\":"
         "\"dimuon\",\"learning_rate\":1}}",
         422, "not both"},
        {"optim_step", ",\"seq_id\":1,\"optimizer_params\":{\"type\":\"dimuon\"}}", 422,
         "learning_rate"},
        {"optim_step",
         ",\"seq_id\":1,\"optimizer_params\":{\"type\":\"dimuon\",\"learning_rate\":1,"
         "\"damping\":0.1}}",
         422, "damping"},
        {"optim_step",
         ",\"seq_id\":1,\"optimizer_params\":{\"type\":\"dimuon\",\"learning_rate\":-1}}",
         422, "learning_rate"},
        {"create_custom_loss", "}", 404, "custom losses"},
    };
    srvfix f;
    char path[64], body[512];
    (void)unused;
    srvfix_open(&f, (srv_options){0});
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        (void)snprintf(path, sizeof(path), "/api/v1/%s", rows[i].path);
        bool creates = strcmp(rows[i].path, "create_model") == 0;
        (void)snprintf(body, sizeof(body), "{%s%s",
                       creates ? "\"session_id\":\"s\",\"model_seq_id\":0,"
                                 "\"base_model\":\"" MODEL "\""
                               : "\"model_id\":\"s:train:0\"",
                       rows[i].body);
        httpget_response response;
        const httpget_request request = {.method = "POST", .target = path, .body = body};
        assert_int_equal(httpget_once(srvfix_port(&f), &request, &response), HTTPGET_OK);
        if (response.status != rows[i].status ||
            strstr((const char *)response.body.p, rows[i].says) == NULL) {
            fail_msg("%s %s: %d %s", path, rows[i].body, response.status,
                     (const char *)response.body.p);
        }
        httpget_response_dispose(&response);
    }
    srvfix_close(&f);
}

static tinkc_code try_loss(tinkc_training *training, tinkc_datum *datum, const char *loss,
                           const tinkc_fwdbwd_options *options, const char *says)
{
    tinkc_error *error = NULL;
    tinkc_code code = tinkc_training_forward_backward_wait(NULL, training, &datum, 1,
                                                           loss, options, &error);
    if (says != NULL &&
        (error == NULL || strstr(tinkc_error_message(error), says) == NULL)) {
        fail_msg("%s: %s", loss, tinkc_error_message(error));
    }
    tinkc_error_free(&error);
    return code;
}

/* A text in the configuration of a loss is read, and refused by name; a number in the second
 * form counts. Provenance is accepted when it covers the datum. */
static void test_srv_optim_losses(void **unused)
{
    static const float numbers[N] = {-1, -1, -1, -1, -1, -1, -1};
    static const float ones[N] = {1, 1, 1, 1, 1, 1, 1};
    e2e t;
    (void)unused;
    open_e2e(&t);
    tinkc_training *training = new_training(&t, TINKC_OPTIMIZER_ADAMW);
    tinkc_datum *plain = new_datum(), *policy = NULL;
    tinkc_fwdbwd_options options = TINKC_FWDBWD_OPTIONS_INIT;
    const tinkc_pair mode = {"mode", "sequence"};
    options.texts = &mode;
    options.texts_n = 1;
    assert_int_equal(try_loss(training, plain, "cross_entropy", &options, "mode"),
                     TINKC_E_BAD_REQUEST);
    tinkc_model_input *input = NULL;
    OK(tinkc_model_input_from_tokens(&input, text, N, &err));
    OK(tinkc_datum_new(&policy, &input, &err));
    OK(tinkc_datum_set_i32(policy, "target_tokens", text + 1, N, &err));
    OK(tinkc_datum_set_f32(policy, "logprobs", numbers, N, &err));
    OK(tinkc_datum_set_f32(policy, "advantages", ones, N, &err));
    assert_int_equal(
        try_loss(training, policy, "stable_reinforce", NULL, "not published"),
        TINKC_E_BAD_REQUEST);
    OK(tinkc_datum_set_f32(policy, "sequence_ratio_mask", ones, N, &err));
    const tinkc_number clips[] = {{"clip_low_threshold", 0.8},
                                  {"clip_high_threshold", 1.2}};
    options.texts_n = 0;
    assert_int_equal(try_loss(training, policy, "gspo", NULL, "clip_low_threshold"),
                     TINKC_E_REQUEST);
    options.config = clips;
    options.config_n = 2;
    assert_int_equal(try_loss(training, policy, "gspo", &options, NULL), TINKC_OK);
    const tinkc_origin spans[] = {{TINKC_ORIGIN_PROMPT, "a", 0, 3},
                                  {TINKC_ORIGIN_SAMPLED, "a", 0, N - 3}};
    OK(tinkc_datum_set_provenance(plain, spans, 2, spans, 2, &err));
    assert_int_equal(try_loss(training, plain, "cross_entropy", NULL, NULL), TINKC_OK);
    tinkc_datum_free(&plain);
    /* The client cannot compare the targets' spans before there are targets. */
    OK(tinkc_model_input_from_tokens(&input, text, N, &err));
    OK(tinkc_datum_new(&plain, &input, &err));
    OK(tinkc_datum_set_provenance(plain, spans, 2, spans, 1, &err));
    OK(tinkc_datum_set_i32(plain, "target_tokens", text + 1, N, &err));
    assert_int_equal(
        try_loss(training, plain, "cross_entropy", NULL, "loss_fn_input_spans"),
        TINKC_E_BAD_REQUEST);
    tinkc_datum_free(&plain);
    tinkc_datum_free(&policy);
    tinkc_training_close(&training);
    close_e2e(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_optim_dimuon),
        cmocka_unit_test(test_srv_optim_mismatch),
        cmocka_unit_test(test_srv_optim_refusals),
        cmocka_unit_test(test_srv_optim_losses),
    };
    return cmocka_run_group_tests_name("srv_optim", tests, NULL, NULL);
}
