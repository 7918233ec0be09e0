/* The token ledger: reservations, budgets, what is counted and what is doubtful.
 * Against a real server: test_srv_ledger.c.
 * Links: peer */
#include <pthread.h>
#include <stdio.h>

#include <tinkc/ledger.h>
#include <tinkc/meter.h>
#include <tinkc/stream.h>
#include <tinkc/training.h>

#include "client/insight/ledger.h"
#include "support/failmem.h"
#include "support/fakeapi_tinker.h"
#include "support/hookfix.h"
#include "support/samplefix.h"
#include "support/servicefix.h"

static hookfix hooks; /* large */

/* ---- the book ---- */

static const tk_span silent;

/* The budget stops at the token: what fits exactly passes, one more does not. */
static void test_ledger_stops_at_the_token(void **unused)
{
    tk_ledger ledger = {0};
    tk_ledger_run *run = NULL;
    tk_ledger_claim a = {0}, b = {0}, c = {0};
    tk_err err = TK_ERR_INIT;
    tk_ledger_use use = {.tokens = {[TINKC_TOKENS_SAMPLED] = 3}};
    assert_int_equal(tk_ledger_init(&ledger, &err), TINKC_OK);
    assert_int_equal(tk_ledger_open_run(&run, &ledger, TK_STR("r"), &err), TINKC_OK);
    atomic_store(&ledger.budget, 10);
    assert_int_equal(tk_ledger_reserve(&a, &ledger, run, 6, &err), TINKC_OK);
    assert_int_equal(tk_ledger_reserve(&b, &ledger, run, 5, &err), TINKC_E_BUDGET);
    assert_non_null(strstr(err.message, "4 left"));
    tk_err_clear(&err);
    assert_int_equal(tk_ledger_reserve(&b, &ledger, run, 4, &err), TINKC_OK);
    assert_int_equal(tk_ledger_reserve(&c, &ledger, run, 1, &err), TINKC_E_BUDGET);
    tk_err_clear(&err);
    assert_int_equal(tk_ledger_reserve(&c, &ledger, run, 0, &err), TINKC_OK);
    tk_ledger_spend(&a, 6, &use, &silent); /* 3 come back */
    tk_ledger_release(&b, 1);              /* and 1 */
    tk_ledger_doubt(&b, 3);
    assert_int_equal(atomic_load(&ledger.committed), 6);
    assert_int_equal(run->uncertain, 3);
    assert_int_equal(run->used[TINKC_TOKENS_SAMPLED], 3);
    tk_ledger_release(&b, 100); /* there is no more */
    tk_ledger_release_all(&a);
    tk_ledger_release_all(&a);
    assert_int_equal(atomic_load(&ledger.committed), 6);
    tk_ledger_dispose(&ledger);
}

/* Numbers that no server can mean neither wrap nor give anything back. */
static void test_ledger_absurd_numbers(void **unused)
{
    static const int64_t said[] = {INT64_MAX, INT64_MAX, INT64_MIN, -1};
    tk_ledger ledger = {0};
    tk_ledger_run *run = NULL;
    assert_int_equal(tk_ledger_init(&ledger, NULL), TINKC_OK);
    assert_int_equal(tk_ledger_open_run(&run, &ledger, TK_STR("r"), NULL), TINKC_OK);
    for (size_t i = 0; i < TK_ARRAY_LEN(said); i++) {
        tk_ledger_claim claim = {0};
        tk_ledger_use use = {.tokens = {[TINKC_TOKENS_SAMPLED] = said[i]}};
        assert_int_equal(tk_ledger_reserve(&claim, &ledger, run, 5, NULL), TINKC_OK);
        tk_ledger_spend(&claim, 5, &use, &silent);
    }
    assert_int_equal(run->used[TINKC_TOKENS_SAMPLED], 2 * TK_LEDGER_MOST);
    assert_int_equal(atomic_load(&ledger.committed), 2 * TK_LEDGER_MOST);
    tk_ledger_dispose(&ledger);
}

typedef struct spender {
    tk_ledger *ledger;
    tk_ledger_run *run;
    pthread_t thread;
    int64_t spent;
} spender;

static void *spend_all(void *user)
{
    spender *self = user;
    for (int i = 0; i < 1000; i++) {
        tk_ledger_claim claim = {0};
        tk_ledger_use use = {.tokens = {[TINKC_TOKENS_TRAINING] = 1 + i % 3}};
        if (tk_ledger_reserve(&claim, self->ledger, self->run, 3, NULL) == TINKC_OK) {
            tk_ledger_spend(&claim, 3, &use, &silent);
            self->spent += 1 + i % 3;
        }
        tk_ledger_release_all(&claim);
    }
    return NULL;
}

/* Threads together cannot overdraw it, and every token is counted once. */
static void test_ledger_threads(void **unused)
{
    enum { N = 8, BUDGET = 5000 };
    tk_ledger ledger = {0};
    tk_ledger_run *run = NULL;
    spender spenders[N];
    int64_t spent = 0;
    assert_int_equal(tk_ledger_init(&ledger, NULL), TINKC_OK);
    assert_int_equal(tk_ledger_open_run(&run, &ledger, TK_STR("r"), NULL), TINKC_OK);
    atomic_store(&ledger.budget, BUDGET);
    for (int i = 0; i < N; i++) {
        spenders[i] = (spender){.ledger = &ledger, .run = run};
        assert_int_equal(
            pthread_create(&spenders[i].thread, NULL, spend_all, &spenders[i]), 0);
    }
    for (int i = 0; i < N; i++) {
        assert_int_equal(pthread_join(spenders[i].thread, NULL), 0);
        spent += spenders[i].spent;
    }
    assert_int_equal(run->used[TINKC_TOKENS_TRAINING], spent);
    assert_int_equal(atomic_load(&ledger.committed), spent);
    assert_in_range(spent, BUDGET - 2, BUDGET);
    tk_ledger_dispose(&ledger);
}

/* ---- samples ---- */

typedef struct fixture {
    clientfix f;
    tinkc_sampling *sampling;
} fixture;

/* What is reserved when an operation has failed, before its future is done. */
typedef struct watch {
    tinkc_service *service;
    int failed;
    int64_t reserved;
} watch;

static void look(const tinkc_hook *event, void *user)
{
    watch *w = user;
    tinkc_ledger *ledger = NULL;
    if (event->event == TINKC_HOOK_ERROR && event->kind == TINKC_SPAN_OPERATION &&
        event->code != TINKC_E_CANCELLED) {
        bool is_read = tinkc_service_read_ledger(&ledger, w->service, NULL) == TINKC_OK;
        w->failed++;
        w->reserved += is_read ? tinkc_ledger_reserved(ledger) : 1;
        tinkc_ledger_free(&ledger);
    }
}

static void open_all(fixture *t)
{
    clientfix_open(&t->f, NULL);
    t->sampling = samplefix_create(&t->f);
    hookfix_attach(&hooks, t->f.service);
}

static void close_all(fixture *t)
{
    tinkc_sampling_close(&t->sampling);
    clientfix_close(&t->f);
}

/* 2 prompt tokens, at most 5 more. */
static tinkc_future *sample(fixture *t)
{
    tinkc_model_input *prompt = samplefix_prompt(2);
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    params.max_tokens = 5;
    tinkc_future *future = tinkc_sampling_sample(t->sampling, prompt, &params, NULL);
    tinkc_model_input_free(&prompt);
    clientfix_turn(&t->f);
    return future;
}

static void expect(fixture *t, int64_t used, int64_t uncertain, int64_t reserved)
{
    tinkc_ledger *ledger = NULL;
    int64_t sum = 0;
    assert_int_equal(tinkc_service_read_ledger(&ledger, t->f.service, NULL), TINKC_OK);
    for (int i = 0; i < 4; i++) {
        sum += tinkc_ledger_total(ledger, (tinkc_token_kind)i);
    }
    assert_int_equal(sum, used);
    assert_int_equal(tinkc_ledger_uncertain(ledger), uncertain);
    assert_int_equal(tinkc_ledger_reserved(ledger), reserved);
    tinkc_ledger_free(&ledger);
}

/* A sample's tokens are reserved while it runs, counted with the result, and reported to
 * the hooks. */
static void test_ledger_of_a_sample(void **unused)
{
    fixture t;
    open_all(&t);
    tinkc_future *future = sample(&t);
    expect(&t, 0, 0, 7);
    assert_true(samplefix_accept(&t.f) && samplefix_finish(&t.f));
    expect(&t, 4, 0, 0); /* two came back */
    tinkc_future_free(&future);
    assert_int_equal(
        hookfix_count(&hooks, TINKC_HOOK_TOKENS, TINKC_SPAN_OPERATION, "sample"), 2);
    const hookfix_event *told =
        hookfix_nth(&hooks, TINKC_HOOK_TOKENS, TINKC_SPAN_OPERATION, "sample", 1);
    assert_int_equal(told->hook.token_kind, TINKC_TOKENS_SAMPLED);
    assert_int_equal(told->hook.tokens, 2);
    close_all(&t);
}

/* What was refused costs nothing and is given back before the future is done; what may
 * have been done is uncertain. */
static void test_ledger_of_failures(void **unused)
{
    fixture t;
    open_all(&t);
    watch w = {.service = t.f.service};
    assert_int_equal(tinkc_service_add_hook(w.service, look, &w, NULL, NULL), TINKC_OK);
    tinkc_future *refused = sample(&t);
    assert_true(faketransport_answer(&t.f.net, SAMPLE, (fakeanswer){.status = 422}));
    clientfix_turn(&t.f);
    expect(&t, 0, 0, 0);
    tinkc_future *failed = sample(&t);
    static const char said[] = "{\"error\":\"no\",\"category\":\"user\"}";
    assert_true(samplefix_accept(&t.f));
    assert_true(faketransport_answer(&t.f.net, POLL, (fakeanswer){.body = said}));
    clientfix_turn(&t.f);
    assert_int_equal(tinkc_future_wait(failed, 0), TINKC_E_REQUEST);
    expect(&t, 0, 0, 0);
    tinkc_future *cancelled = sample(&t);
    assert_true(samplefix_accept(&t.f));
    tinkc_future_cancel(cancelled);
    clientfix_turn(&t.f);
    expect(&t, 0, 7, 0);
    tinkc_future *posted = sample(&t);
    tinkc_future_cancel(posted);
    clientfix_turn(&t.f);
    expect(&t, 0, 14, 0);
    assert_int_equal(w.failed, 2);
    assert_int_equal(w.reserved, 0);
    tinkc_future_free(&refused);
    tinkc_future_free(&failed);
    tinkc_future_free(&cancelled);
    tinkc_future_free(&posted);
    close_all(&t);
}

/* A lost answer to the same request costs once; a result that the server lost
 * makes new work, and the budget must have room for it. */
static void test_ledger_of_retries(void **unused)
{
    fixture t;
    open_all(&t);
    assert_int_equal(tinkc_service_set_budget(t.f.service, 14, NULL), TINKC_OK);
    tinkc_future *future = sample(&t);
    assert_true(
        faketransport_answer(&t.f.net, SAMPLE, (fakeanswer){.failure = TK_HTTP_RESET}));
    clientfix_advance(&t.f, 60000);
    expect(&t, 0, 0, 7);
    assert_true(samplefix_accept(&t.f));
    assert_true(faketransport_answer(&t.f.net, POLL, (fakeanswer){.status = 410}));
    clientfix_advance(&t.f, 60000);
    expect(&t, 0, 7, 7);
    assert_true(samplefix_accept(&t.f));
    assert_true(faketransport_answer(&t.f.net, POLL, (fakeanswer){.status = 410}));
    clientfix_advance(&t.f, 60000);
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_E_BUDGET);
    assert_int_equal(faketransport_count(&t.f.net, SAMPLE), 3);
    expect(&t, 0, 14, 0);
    tinkc_future_free(&future);
    close_all(&t);
}

/* Nothing is sent that might not fit. */
static void test_ledger_refuses_samples(void **unused)
{
    fixture t;
    open_all(&t);
    assert_int_equal(tinkc_service_set_budget(t.f.service, 13, NULL), TINKC_OK);
    tinkc_future *fits = sample(&t);
    tinkc_future *no_room = sample(&t);
    assert_int_equal(tinkc_future_wait(no_room, 0), TINKC_E_BUDGET);
    assert_true(tinkc_error_class(tinkc_future_error(no_room)) == TINKC_CLASS_USER);
    tinkc_future *no_end = samplefix_sample(&t.f, t.sampling, 1);
    assert_int_equal(tinkc_future_wait(no_end, 0), TINKC_E_BUDGET);
    assert_int_equal(faketransport_count(&t.f.net, SAMPLE), 1);
    assert_true(samplefix_accept(&t.f) && samplefix_finish(&t.f));
    assert_int_equal(tinkc_future_wait(fits, 0), TINKC_OK);
    tinkc_future_free(&no_room);
    no_room = sample(&t); /* 4 used, 7 more fit */
    expect(&t, 4, 0, 7);
    assert_int_equal(tinkc_service_set_budget(t.f.service, -1, NULL), TINKC_OK);
    tinkc_future_free(&no_end);
    no_end = samplefix_sample(&t.f, t.sampling, 1);
    expect(&t, 4, 0, 8);
    tinkc_future_free(&fits);
    tinkc_future_free(&no_room);
    tinkc_future_free(&no_end);
    close_all(&t);
}

/* Estimates are what would be reserved. */
static void test_ledger_estimates(void **unused)
{
    int64_t prefill = 0, sampled = 0;
    tinkc_model_input *prompt = samplefix_prompt(300);
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    tinkc_sample_options options = TINKC_SAMPLE_OPTIONS_INIT;
    assert_int_equal(tinkc_estimate_sample(&prefill, &sampled, prompt, NULL, NULL, NULL),
                     TINKC_OK);
    assert_int_equal(prefill, 300);
    assert_int_equal(sampled, -1);
    params.max_tokens = 10;
    options.num_samples = 4;
    assert_int_equal(
        tinkc_estimate_sample(&prefill, &sampled, prompt, &params, &options, NULL),
        TINKC_OK);
    assert_int_equal(sampled, 40);
    params.max_tokens = INT64_MAX;
    assert_int_equal(
        tinkc_estimate_sample(&prefill, &sampled, prompt, &params, &options, NULL),
        TINKC_OK);
    assert_int_equal(sampled, INT64_MAX);
    assert_int_equal(tinkc_estimate_sample(&prefill, &sampled, NULL, NULL, NULL, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(tinkc_estimate_batch(&prefill, NULL, 0, NULL), TINKC_E_INVALID);
    tinkc_datum *none[] = {NULL};
    assert_int_equal(tinkc_estimate_batch(&prefill, none, 1, NULL), TINKC_E_INVALID);
    tinkc_model_input_free(&prompt);
}

/* ---- batches ---- */

static tinkc_datum *datum(size_t n)
{
    static const int32_t targets[256];
    tinkc_model_input *input = samplefix_prompt(n);
    tinkc_datum *out = NULL;
    assert_int_equal(tinkc_datum_new(&out, &input, NULL), TINKC_OK);
    assert_int_equal(tinkc_datum_set_i32(out, "target_tokens", targets, n, NULL),
                     TINKC_OK);
    return out;
}

static bool batch_once(void *unused)
{
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    tinkc_config *config = NULL;
    tinkc_service *service = NULL;
    tinkc_training *training = NULL;
    tinkc_ledger *ledger = NULL;
    tinkc_model_input *input = NULL;
    tinkc_datum *d = NULL;
    static const int32_t tokens[] = {1, 2, 3};
    bool ok = tinkc_config_new(&config, NULL) == TINKC_OK &&
              tinkc_config_set(config, "base_url", fakeapi_url(api), NULL) == TINKC_OK &&
              tinkc_config_set(config, "api_key", "tml-k", NULL) == TINKC_OK &&
              tinkc_config_set(config, "proxy", "", NULL) == TINKC_OK &&
              tinkc_config_set(config, "finish_session", "false", NULL) == TINKC_OK &&
              tinkc_config_set(config, "loop", "manual", NULL) == TINKC_OK &&
              tinkc_service_open(&service, config, NULL) == TINKC_OK &&
              tinkc_service_set_budget(service, 3, NULL) == TINKC_OK &&
              tinkc_model_input_from_tokens(&input, tokens, 3, NULL) == TINKC_OK &&
              tinkc_datum_new(&d, &input, NULL) == TINKC_OK &&
              tinkc_datum_set_i32(d, "target_tokens", tokens, 3, NULL) == TINKC_OK &&
              tinkc_service_create_training_wait(&training, service, "m", NULL, NULL) ==
                  TINKC_OK;
    if (ok) {
        tinkc_datum *data[] = {d};
        ok = tinkc_training_forward_wait(NULL, training, data, 1, "cross_entropy", NULL,
                                         NULL) == TINKC_OK;
        ok = tinkc_service_read_ledger(&ledger, service, NULL) == TINKC_OK && ok;
        int64_t known = tinkc_ledger_total(ledger, TINKC_TOKENS_TRAINING) +
                        tinkc_ledger_uncertain(ledger);
        assert_true(ledger == NULL || tinkc_ledger_reserved(ledger) == 0);
        assert_true(!ok || tinkc_ledger_total(ledger, TINKC_TOKENS_TRAINING) == 3);
        assert_true(ledger == NULL || tinkc_ledger_left(ledger) == 3 - known);
    }
    tinkc_ledger_free(&ledger);
    tinkc_datum_free(&d);
    tinkc_model_input_free(&input);
    tinkc_training_close(&training);
    tinkc_service_close(&service);
    tinkc_config_free(&config);
    fakeapi_stop(&api);
    return ok;
}

/* With any one allocation failing nothing stays reserved. */
static void test_ledger_allocation_sweep(void **unused)
{
    assert_true(failmem_sweep(batch_once, NULL, 1) > 60);
}

static int refuse(double *loss, tinkc_metrics *metrics, tinkc_custom_item *items,
                  size_t n, void *user)
{
    return 1;
}

/* Chunks are counted one by one; what the server refused is given back; the optim_steps
 * that were called separate one step from the next. */
static void test_ledger_of_batches(void **unused)
{
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    tinkc_service *service = servicefix_open(api, NULL);
    tinkc_training *training = NULL;
    tinkc_ledger *ledger = NULL;
    tinkc_datum *a = datum(10), *b = datum(20);
    tinkc_datum *data[] = {a, b};
    watch w = {.service = service};
    assert_int_equal(
        tinkc_service_create_training_wait(&training, service, "m", NULL, NULL),
        TINKC_OK);
    assert_int_equal(tinkc_service_add_hook(service, look, &w, NULL, NULL), TINKC_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tinkc_training_forward_backward_wait(
                             NULL, training, data, 2, "cross_entropy", NULL, NULL),
                         TINKC_OK);
        assert_int_equal(tinkc_training_optim_step_wait(NULL, training, NULL, NULL),
                         TINKC_OK);
    }
    fakeapi_step bad = {.status = 400, .body = "{\"detail\":\"no\"}"};
    fakeapi_reply(api, "POST", "/api/v1/forward_backward", &bad);
    assert_int_equal(tinkc_training_forward_wait(NULL, training, data + 1, 1,
                                                 "cross_entropy", NULL, NULL),
                     TINKC_E_BAD_REQUEST);
    assert_int_equal(
        tinkc_training_forward_wait(NULL, training, data, 1, "cross_entropy", NULL, NULL),
        TINKC_OK);
    assert_int_equal(tinkc_service_set_budget(service, 79, NULL), TINKC_OK);
    assert_int_equal(
        tinkc_training_forward_wait(NULL, training, data, 1, "cross_entropy", NULL, NULL),
        TINKC_E_BUDGET);
    assert_int_equal(tinkc_service_read_ledger(&ledger, service, NULL), TINKC_OK);
    assert_int_equal(tinkc_ledger_total(ledger, TINKC_TOKENS_TRAINING), 70);
    assert_int_equal(tinkc_ledger_steps(ledger, 0), 3);
    assert_int_equal(tinkc_ledger_step_tokens(ledger, 0, 0), 30);
    assert_int_equal(tinkc_ledger_step_tokens(ledger, 0, 2), 10);
    assert_int_equal(tinkc_ledger_uncertain(ledger), 0);
    assert_int_equal(tinkc_ledger_reserved(ledger), 0);
    assert_int_equal(tinkc_service_set_budget(service, -1, NULL), TINKC_OK);
    assert_int_not_equal(tinkc_training_forward_backward_custom_wait(
                             NULL, training, data, 1, refuse, NULL, NULL),
                         TINKC_OK);
    assert_int_equal(w.failed, 3);
    assert_int_equal(w.reserved, 0);
    tinkc_ledger_free(&ledger);
    tinkc_datum_free(&a);
    tinkc_datum_free(&b);
    tinkc_training_close(&training);
    tinkc_service_close(&service);
    fakeapi_stop(&api);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ledger_stops_at_the_token),
        cmocka_unit_test(test_ledger_absurd_numbers),
        cmocka_unit_test(test_ledger_threads),
        cmocka_unit_test(test_ledger_of_a_sample),
        cmocka_unit_test(test_ledger_of_failures),
        cmocka_unit_test(test_ledger_of_retries),
        cmocka_unit_test(test_ledger_refuses_samples),
        cmocka_unit_test(test_ledger_estimates),
        cmocka_unit_test(test_ledger_of_batches),
        cmocka_unit_test(test_ledger_allocation_sweep),
    };
    return cmocka_run_group_tests_name("ledger", tests, NULL, NULL);
}
