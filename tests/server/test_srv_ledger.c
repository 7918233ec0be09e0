/* The client's token ledger against the server's own count, and budgets that hold.
 * Links: client */
#include <time.h>
#include <tinkc/ledger.h>
#include <tinkc/rest.h>
#include <tinkc/stream.h>
#include <tinkc/training.h>

#include "server/clientfix.h"
#include "server/restfix.h"

#define HOUR_US (INT64_C(3600) * 1000000)
#define KINDS   4
#define PROMPT  200

typedef struct fixture {
    srvfix srv;
    tinkc_service *service;
    tinkc_training *training;
} fixture;

static void open_all(fixture *t, const char *rules)
{
    memset(t, 0, sizeof(*t));
    srvfix_open_faulty(&t->srv, rules);
    t->service = clientfix_service(&t->srv);
    tinkc_lora_config lora = TINKC_LORA_CONFIG_INIT;
    lora.rank = 4;
    OK(tinkc_service_create_training_wait(&t->training, t->service, RESTFIX_MODEL, &lora,
                                          &err));
}

static void close_all(fixture *t)
{
    tinkc_training_close(&t->training);
    tinkc_service_close(&t->service);
    srvfix_close(&t->srv);
}

static tinkc_model_input *input_of(int seed, size_t n)
{
    int32_t tokens[256];
    tinkc_model_input *input = NULL;
    for (size_t i = 0; i < n; i++) {
        tokens[i] = 5 + (int32_t)((size_t)seed * 31 + i * 7) % 200;
    }
    OK(tinkc_model_input_from_tokens(&input, tokens, n, &err));
    return input;
}

static tinkc_datum *datum(int seed, size_t n)
{
    static const int32_t targets[64] = {7, 8, 9};
    static const float weights[64] = {1, 1, 1};
    tinkc_model_input *input = input_of(seed, n);
    tinkc_datum *out = NULL;
    OK(tinkc_datum_new(&out, &input, &err));
    OK(tinkc_datum_set_i32(out, "target_tokens", targets, n, &err));
    OK(tinkc_datum_set_f32(out, "weights", weights, n, &err));
    return out;
}

/* ---- the server's count ---- */

static void ask_server(fixture *t, int64_t out[KINDS])
{
    tinkc_billing *billing = NULL;
    int64_t now = (int64_t)time(NULL) * 1000000;
    int64_t start = now - now % HOUR_US - HOUR_US;
    memset(out, 0, KINDS * sizeof(out[0]));
    OK(tinkc_rest_billing_wait(&billing, t->service, start, start + 3 * HOUR_US, &err));
    for (size_t i = 0; i < billing->n; i++) {
        const tinkc_billing_event *event = &billing->items[i];
        switch (event->kind) {
        case TINKC_BILLING_TRAINING:
            out[TINKC_TOKENS_TRAINING] += event->token_count;
            break;
        case TINKC_BILLING_SAMPLING_PREFILL:
            out[event->is_cached ? TINKC_TOKENS_CACHED_PREFILL : TINKC_TOKENS_PREFILL] +=
                event->token_count;
            break;
        case TINKC_BILLING_SAMPLING_SAMPLE:
            out[TINKC_TOKENS_SAMPLED] += event->token_count;
            break;
        case TINKC_BILLING_CHECKPOINT:
        case TINKC_BILLING_STORAGE:
        case TINKC_BILLING_OTHER:
            break;
        }
    }
    tinkc_billing_free(&billing);
}

static void compare(fixture *t)
{
    int64_t server[KINDS];
    tinkc_ledger *ledger = NULL;
    ask_server(t, server);
    OK(tinkc_service_read_ledger(&ledger, t->service, &err));
    for (size_t i = 0; i < KINDS; i++) {
        if (tinkc_ledger_total(ledger, (tinkc_token_kind)i) != server[i]) {
            fail_msg("%s: we %lld, the server %lld",
                     tinkc_token_kind_name((tinkc_token_kind)i),
                     (long long)tinkc_ledger_total(ledger, (tinkc_token_kind)i),
                     (long long)server[i]);
        }
        assert_true(server[i] > 0);
    }
    assert_int_equal(tinkc_ledger_uncertain(ledger), 0);
    assert_int_equal(tinkc_ledger_reserved(ledger), 0);
    tinkc_ledger_free(&ledger);
}

/* ---- work ---- */

static void train(fixture *t, int steps)
{
    tinkc_future *futures[16];
    size_t n = 0;
    for (int i = 0; i < steps; i++) {
        tinkc_datum *a = datum(i, 7 + (size_t)i), *b = datum(i + 50, 20);
        tinkc_datum *data[] = {a, b};
        futures[n++] =
            tinkc_training_forward_backward(t->training, data, 2, "cross_entropy", NULL);
        futures[n++] = tinkc_training_optim_step(t->training, NULL);
        tinkc_datum_free(&a);
        tinkc_datum_free(&b);
    }
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(tinkc_future_wait(futures[i], TINKC_FOREVER), TINKC_OK);
        tinkc_future_free(&futures[i]);
    }
}

static int half_loss(double *loss, tinkc_metrics *metrics, tinkc_custom_item *items,
                     size_t n, void *user)
{
    *loss = 0;
    for (size_t i = 0; i < n; i++) {
        items[i].gradient[0] = -0.5f;
    }
    return 0;
}

static void train_otherwise(fixture *t)
{
    tinkc_datum *d = datum(3, 11);
    tinkc_datum *data[] = {d};
    OK(tinkc_training_forward_wait(NULL, t->training, data, 1, "cross_entropy", NULL,
                                   &err));
    OK(tinkc_training_forward_backward_custom_wait(NULL, t->training, data, 1, half_loss,
                                                   NULL, &err));
    assert_int_not_equal(tinkc_training_forward_backward_wait(NULL, t->training, data, 1,
                                                              "no_such_loss", NULL, NULL),
                         TINKC_OK);
    tinkc_datum_free(&d);
}

static bool on_token(const tinkc_stream_event *event, void *user)
{
    return true;
}

static void sample(fixture *t)
{
    tinkc_sampling *sampling = NULL;
    tinkc_future *futures[8];
    size_t n = 0;
    tinkc_model_input *prompt = input_of(1, PROMPT);
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    tinkc_sample_options options = TINKC_SAMPLE_OPTIONS_INIT;
    params.max_tokens = 5;
    OK(tinkc_training_save_and_sample_wait(&sampling, t->training, &err));
    OK(tinkc_sampling_sample_wait(NULL, sampling, prompt, &params, NULL, &err));
    options.num_samples = 3;
    futures[n++] = tinkc_sampling_sample(sampling, prompt, &params, &options);
    futures[n++] = tinkc_sampling_sample(sampling, prompt, &params, NULL);
    futures[n++] = tinkc_sampling_compute_logprobs(sampling, prompt);
    futures[n++] = tinkc_sampling_stream(sampling, prompt, &params, on_token, NULL);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(tinkc_future_wait(futures[i], TINKC_FOREVER), TINKC_OK);
        tinkc_future_free(&futures[i]);
    }
    tinkc_model_input_free(&prompt);
    tinkc_sampling_close(&sampling);
}

/* A mixed run, of which every kind of answer gets lost, is cut or is refused at
 * first, costs the same in both books. */
static void test_srv_ledger_is_the_servers(void **unused)
{
    fixture t;
    open_all(&t, "{\"route\":\"forward_backward\",\"action\":\"drop\",\"times\":1},"
                 "{\"route\":\"forward_backward\",\"action\":\"status\",\"status\":503,"
                 "\"times\":1},"
                 "{\"route\":\"asample\",\"action\":\"drop\",\"times\":1},"
                 "{\"route\":\"retrieve_future\",\"action\":\"cut\",\"every\":3,"
                 "\"times\":1},"
                 "{\"route\":\"retrieve_future\",\"action\":\"drop\",\"skip\":2,"
                 "\"every\":4,\"times\":2},"
                 "{\"route\":\"asample\",\"action\":\"status\",\"status\":429,"
                 "\"retry_after\":\"0\",\"times\":1}");
    train(&t, 2);
    train_otherwise(&t);
    sample(&t);
    compare(&t);
    close_all(&t);
}

/* Runs and steps have their own numbers. */
static void test_srv_ledger_by_step(void **unused)
{
    fixture t;
    tinkc_ledger *ledger = NULL;
    open_all(&t, NULL);
    train(&t, 3);
    sample(&t);
    OK(tinkc_service_read_ledger(&ledger, t.service, &err));
    assert_int_equal(tinkc_ledger_runs(ledger), 2);
    assert_string_equal(tinkc_ledger_run_id(ledger, 0),
                        tinkc_training_model_id(t.training));
    assert_int_equal(tinkc_ledger_steps(ledger, 0), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(tinkc_ledger_step_tokens(ledger, 0, i), 27 + i);
    }
    assert_int_equal(tinkc_ledger_run_tokens(ledger, 0, TINKC_TOKENS_TRAINING), 84);
    assert_int_equal(tinkc_ledger_run_tokens(ledger, 0, TINKC_TOKENS_SAMPLED), 0);
    assert_int_equal(tinkc_ledger_run_tokens(ledger, 1, TINKC_TOKENS_TRAINING), 0);
    assert_int_equal(tinkc_ledger_run_tokens(ledger, 1, TINKC_TOKENS_PREFILL) +
                         tinkc_ledger_run_tokens(ledger, 1, TINKC_TOKENS_CACHED_PREFILL),
                     5 * PROMPT);
    assert_null(tinkc_ledger_run_id(ledger, 2));
    assert_int_equal(tinkc_ledger_left(ledger), -1);
    tinkc_ledger_free(&ledger);
    close_all(&t);
}

/* The budget lets the last token pass and not one more; the server's own count
 * does not exceed it. */
static void test_srv_ledger_budget(void **unused)
{
    fixture t;
    int64_t server[KINDS], cost = 0;
    tinkc_ledger *ledger = NULL;
    open_all(&t, "{\"route\":\"forward_backward\",\"action\":\"drop\",\"once\":true}");
    tinkc_datum *big = datum(1, 20), *small = datum(2, 10), *one = datum(3, 1);
    tinkc_datum *data[] = {big, small}, *last[] = {one};
    OK(tinkc_estimate_batch(&cost, data, 2, &err));
    assert_int_equal(cost, 30);
    assert_int_equal(tinkc_service_set_budget(t.service, 60, NULL), TINKC_OK);
    for (int i = 0; i < 2; i++) {
        OK(tinkc_training_forward_backward_wait(NULL, t.training, data, 2,
                                                "cross_entropy", NULL, &err));
    }
    assert_int_equal(tinkc_training_forward_backward_wait(NULL, t.training, last, 1,
                                                          "cross_entropy", NULL, NULL),
                     TINKC_E_BUDGET);
    OK(tinkc_training_optim_step_wait(NULL, t.training, NULL, &err)); /* costs nothing */
    ask_server(&t, server);
    assert_int_equal(server[TINKC_TOKENS_TRAINING], 60);
    OK(tinkc_service_read_ledger(&ledger, t.service, &err));
    assert_int_equal(tinkc_ledger_left(ledger), 0);
    tinkc_ledger_free(&ledger);
    assert_int_equal(tinkc_service_set_budget(t.service, 61, NULL), TINKC_OK);
    OK(tinkc_training_forward_backward_wait(NULL, t.training, last, 1, "cross_entropy",
                                            NULL, &err));
    tinkc_datum_free(&big);
    tinkc_datum_free(&small);
    tinkc_datum_free(&one);
    close_all(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_ledger_is_the_servers),
        cmocka_unit_test(test_srv_ledger_by_step),
        cmocka_unit_test(test_srv_ledger_budget),
    };
    return cmocka_run_group_tests_name("srv_ledger", tests, NULL, NULL);
}
