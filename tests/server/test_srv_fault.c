/* faults on purpose, and what libtinkc makes of them.
 * Links: client */
#include <tinkc/training.h>

#include "client/core/service.h"
#include "server/clientfix.h"
#include "server/restfix.h"

static const char heartbeat[] = "/api/v1/session_heartbeat";

static httpget_outcome beat(srvfix *f, const char *id, int *status)
{
    char body[128];
    httpget_response r;
    (void)snprintf(body, sizeof(body), "{\"session_id\":\"%s\"}", id);
    const httpget_request request = {.target = heartbeat, .body = body};
    httpget_outcome outcome = httpget_once(srvfix_port(f), &request, &r);
    *status = r.status;
    httpget_response_dispose(&r);
    return outcome;
}

static void test_srv_answers_are_lost(void **state)
{
    srvfix f;
    int status = 0;
    srvfix_open_faulty(
        &f, "{\"route\":\"session_heartbeat\",\"action\":\"drop\",\"once\":true},"
            "{\"route\":\"session_heartbeat\",\"action\":\"cut\",\"times\":1}");
    const char *id = srvfix_session(&f);
    assert_int_not_equal(beat(&f, id, &status), HTTPGET_OK);
    httpget_outcome cut = beat(&f, id, &status);
    assert_true(cut == HTTPGET_CUT || cut == HTTPGET_RESET);
    assert_int_equal(status, 200);
    assert_int_equal(beat(&f, id, &status), HTTPGET_OK);
    assert_int_equal(status, 200);
    srvfix_close(&f);
}

static void test_srv_statuses_are_given(void **state)
{
    srvfix f;
    int status = 0;
    srvfix_open_faulty(&f, "{\"route\":\"session_heartbeat\",\"action\":\"status\","
                           "\"status\":429,\"skip\":1,\"every\":2,\"times\":2}");
    const char *id = srvfix_session(&f);
    static const int expected[] = {200, 429, 200, 429, 200, 200, 200};
    for (size_t i = 0; i < TK_ARRAY_LEN(expected); i++) {
        assert_int_equal(beat(&f, id, &status), HTTPGET_OK);
        assert_int_equal(status, expected[i]);
    }
    srvfix_close(&f);
}

/* The delay ends, and a stop does not wait for it. */
static void test_srv_delays_end(void **state)
{
    srvfix f;
    int status = 0;
    srvfix_open_faulty(&f, "{\"route\":\"session_heartbeat\",\"action\":\"delay\","
                           "\"delay_ms\":20,\"times\":1},"
                           "{\"route\":\"session_heartbeat\",\"action\":\"delay\","
                           "\"delay_ms\":3600000}");
    char body[128];
    const char *id = srvfix_session(&f);
    assert_int_equal(beat(&f, id, &status), HTTPGET_OK);
    assert_int_equal(status, 200);
    httpget *connection = httpget_connect(srvfix_port(&f));
    (void)snprintf(body, sizeof(body), "{\"session_id\":\"%s\"}", id);
    const httpget_request request = {.target = heartbeat, .body = body};
    assert_true(httpget_ask(connection, &request));
    srvfix_close(&f);
    httpget_close(&connection);
}

static void test_srv_bad_rules_are_refused(void **state)
{
    static const char *const rules[] = {
        "",
        "{\"route\":\"*\"}",
        "{\"action\":\"drop\"}",
        "{\"route\":\"*\",\"action\":\"explode\"}",
        "{\"route\":\"*\",\"action\":\"status\"}",
        "{\"route\":\"*\",\"action\":\"status\",\"status\":200}",
        "{\"route\":\"*\",\"action\":\"delay\"}",
        "{\"route\":\"*\",\"action\":\"try_again\"}",
        "{\"route\":\"*\",\"action\":\"drop\",\"often\":1}",
        "{\"route\":\"*\",\"action\":\"drop\",\"every\":0}",
        "3",
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rules); i++) {
        char file[64];
        srvfix_write_faults(file, rules[i]);
        srv *server = NULL;
        tk_err err = TK_ERR_INIT;
        char data[64], command[160];
        srvfix_make_dir(data);
        const srv_options options = {.data = data, .faults = file, .threads = 1};
        assert_int_equal(srv_start(&server, &options, &err), TINKC_E_CONFIG);
        (void)snprintf(command, sizeof(command), "rm -rf %s %s", data, file);
        assert_int_equal(system(command), 0);
    }
}

/* ---- training through faults ---- */

static tinkc_service *open_service(srvfix *f)
{
    tinkc_service *service = NULL;
    tinkc_config *config = clientfix_config(f);
    /* Short pauses: the tests of the client look at them, here only the result counts. */
    tk_err why = TK_ERR_INIT;
    const tk_core_seams seams = {.most_pause_ms = 5};
    if (tk_service_open(&service, config, &seams, &why) != TINKC_OK) {
        fail_msg("%s", why.message);
    }
    tinkc_config_free(&config);
    return service;
}

static tinkc_datum *datum(int seed)
{
    int32_t tokens[8];
    const float weights[7] = {1, 1, 1, 1, 1, 1, 1};
    for (int i = 0; i < 8; i++) {
        tokens[i] = 5 + (seed * 31 + i * 7) % 200;
    }
    tinkc_model_input *input = NULL;
    tinkc_datum *out = NULL;
    OK(tinkc_model_input_from_tokens(&input, tokens, 7, &err));
    OK(tinkc_datum_new(&out, &input, &err));
    OK(tinkc_datum_set_i32(out, "target_tokens", tokens + 1, 7, &err));
    OK(tinkc_datum_set_f32(out, "weights", weights, 7, &err));
    return out;
}

static void train(tinkc_training *training, int steps)
{
    tinkc_adam_params adam = TINKC_ADAM_PARAMS_INIT;
    adam.learning_rate = 0.01;
    for (int i = 0; i < steps; i++) {
        tinkc_datum *d = datum(i);
        tinkc_datum *data[] = {d};
        tinkc_future *pass =
            tinkc_training_forward_backward(training, data, 1, "cross_entropy", NULL);
        tinkc_future *step = tinkc_training_optim_step(training, &adam);
        assert_int_equal(tinkc_future_wait(pass, TINKC_FOREVER), TINKC_OK);
        assert_int_equal(tinkc_future_wait(step, TINKC_FOREVER), TINKC_OK);
        tinkc_future_free(&pass);
        tinkc_future_free(&step);
        tinkc_datum_free(&d);
    }
}

/* Trains and saves on a server with these rules, which is stopped, not removed. */
static void run(srvfix *f, const char *rules)
{
    tinkc_training *training = NULL;
    char *path = NULL;
    tinkc_lora_config lora = TINKC_LORA_CONFIG_INIT;
    lora.rank = 4;
    lora.has_seed = true;
    lora.seed = 7;
    srvfix_open_faulty(f, rules);
    tinkc_service *service = open_service(f);
    OK(tinkc_service_create_training_wait(&training, service, RESTFIX_MODEL, &lora,
                                          &err));
    train(training, 3);
    OK(tinkc_training_save_state_wait(&path, training, "end", NULL, &err));
    tinkc_text_free(&path);
    tinkc_training_close(&training);
    tinkc_service_close(&service);
    srv_stop(&f->server);
}

static void compare(const char *rules)
{
    srvfix calm, rough;
    char command[400];
    run(&calm, NULL);
    run(&rough, rules);
    (void)snprintf(command, sizeof(command),
                   "cd %s/checkpoints/*/weights/end.* && n=0 && "
                   "for f in *.safetensors; do n=$((n+1)); "
                   "cmp $f %s/checkpoints/*/weights/end.*/$f || exit 1; done; "
                   "test $n -eq 2",
                   calm.data, rough.data);
    assert_int_equal(system(command), 0);
    srvfix_close(&calm);
    srvfix_close(&rough);
}

/* every answer is lost once; weights and optimizer end with the same bits. */
static void test_srv_lost_answers_change_no_bit(void **state)
{
    compare("{\"route\":\"*\",\"action\":\"drop\",\"once\":true}");
}

/* cut bodies, refusals before the work, pauses and delays, all at once. */
static void test_srv_a_bad_day_changes_no_bit(void **state)
{
    compare("{\"route\":\"retrieve_future\",\"action\":\"try_again\","
            "\"queue_state\":\"paused_capacity\",\"once\":true},"
            "{\"route\":\"retrieve_future\",\"action\":\"cut\",\"every\":3,\"times\":2},"
            "{\"route\":\"forward_backward\",\"action\":\"status\",\"status\":503,"
            "\"once\":true},"
            "{\"route\":\"optim_step\",\"action\":\"status\",\"status\":408,"
            "\"once\":true},"
            "{\"route\":\"*\",\"action\":\"delay\",\"delay_ms\":2,\"every\":4},"
            "{\"route\":\"*\",\"action\":\"drop\",\"every\":5,\"times\":4}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_answers_are_lost),
        cmocka_unit_test(test_srv_statuses_are_given),
        cmocka_unit_test(test_srv_delays_end),
        cmocka_unit_test(test_srv_bad_rules_are_refused),
        cmocka_unit_test(test_srv_lost_answers_change_no_bit),
        cmocka_unit_test(test_srv_a_bad_day_changes_no_bit),
    };
    return cmocka_run_group_tests_name("srv_fault", tests, NULL, NULL);
}
