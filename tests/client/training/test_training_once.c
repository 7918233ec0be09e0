/* Exactly once and no hang: training against a peer that loses, cuts and delays answers,
 * against a clock that only the test moves, and with failing allocations (A-015, A-022,
 *
 * Links: peer */
#include <tinkc/sampling.h>
#include <tinkc/training.h>

#include <poll.h>
#include <stdio.h>

#include "base/rand.h"
#include "support/clientfix.h"
#include "support/datumfix.h"
#include "support/failmem.h"
#include "support/fakeapi_tinker.h"
#include "support/servicefix.h"
#include "support/worldfix.h"

#define MODELS 3
#ifdef TINKC_SANITIZED
#define OPERATIONS 60 /* the property is the same, the time is not */
#else
#define OPERATIONS 200
#endif

static bool open_service(worldfix *w)
{
    tinkc_config *config = NULL;
    static const char *const options[] = {
        "api_key",   "tml-k",    "loop",         "manual",   "proxy",          "",
        "heartbeat", "86400000", "stuck_silent", "86400000", "finish_session", "false",
        NULL};
    bool ok = tinkc_config_new(&config, NULL) == TINKC_OK &&
              tinkc_config_set(config, "base_url", fakeapi_url(w->api), NULL) == TINKC_OK;
    for (const char *const *o = options; ok && o[0] != NULL; o += 2) {
        ok = tinkc_config_set(config, o[0], o[1], NULL) == TINKC_OK;
    }
    ok = ok && worldfix_open(w, config);
    tinkc_config_free(&config);
    return ok;
}

static tinkc_training *create(worldfix *w)
{
    tinkc_training *training = NULL;
    tinkc_future *future = tinkc_service_create_training(w->service, "m", NULL);
    (void)worldfix_drive(w, future);
    (void)tinkc_future_take_training(&training, future, NULL);
    tinkc_future_free(&future);
    return training;
}

/* One operation of any kind; *ids is how many numbers it takes. */
static tinkc_future *any_operation(tinkc_training *training, tinkc_datum *datum,
                                   uint64_t kind, size_t index, size_t *ids)
{
    tinkc_datum *data[] = {datum, datum, datum};
    char name[32];
    (void)snprintf(name, sizeof(name), "c%zu", index);
    *ids = 1;
    switch (kind) {
    case 0:
        return tinkc_training_optim_step(training, NULL);
    case 1:
        return tinkc_training_save_state(training, name, NULL);
    case 2:
        return tinkc_training_save_weights_for_sampler(training, name, NULL);
    case 3:
        return tinkc_training_save_and_sample(training);
    case 4:
        return tinkc_training_forward(training, data, 1, "cross_entropy", NULL);
    default:
        *ids = 3;
        return tinkc_training_forward_backward(training, data, 3, "cross_entropy", NULL);
    }
}

/* Every number was applied once, in order; the chunks of a batch in any order among
 * themselves: the first is sent last. */
static void check_applied(fakeapi *api, const char *model_id, size_t ids)
{
    assert_int_equal(fakeapi_tinker_ops(api, model_id), ids + 1);
    for (size_t i = 1; i <= ids;) {
        fakeapi_tinker_op op;
        assert_true(fakeapi_tinker_op_at(api, model_id, i, &op));
        if (strcmp(op.kind, "forward_backward") != 0) {
            assert_int_equal(op.seq_id, i);
            i++;
            continue;
        }
        bool seen[3] = {false};
        for (size_t k = 0; k < 3; k++) {
            assert_true(fakeapi_tinker_op_at(api, model_id, i + k, &op));
            assert_string_equal(op.kind, "forward_backward");
            assert_in_range(op.seq_id, i, i + 2);
            assert_false(seen[op.seq_id - (int64_t)i]);
            seen[op.seq_id - (int64_t)i] = true;
        }
        assert_int_equal(op.seq_id, i);
        i += 3;
    }
}

typedef struct trouble {
    fakeapi_fault first, second; /* of every answer */
    unsigned delay_ms;
} trouble;

static void make_trouble(fakeapi *api, const trouble *what)
{
    if (what->first != FAKEAPI_NONE) {
        fakeapi_lose_first(api, "POST", "/api/v1/*", what->first);
    }
    if (what->second != FAKEAPI_NONE) {
        fakeapi_lose_first(api, "POST", "*", what->second);
    }
    if (what->delay_ms > 0) {
        fakeapi_default(api, "POST", "/api/v1/*",
                        &(fakeapi_step){.pass = true, .delay_ms = what->delay_ms});
    }
}

static void run_once(const trouble *what)
{
    worldfix w = {.api = fakeapi_start()};
    fakeapi_tinker(w.api,
                   &(fakeapi_tinker_options){.config = "{\"fwdbwd_max_chunk_len\":1}"});
    assert_true(open_service(&w));
    tinkc_training *models[MODELS];
    size_t ids[MODELS] = {0};
    tinkc_future *futures[OPERATIONS];
    tinkc_datum *datum = datumfix_new();
    tk_rand rand;
    tk_rand_init(&rand, 11);
    for (size_t i = 0; i < MODELS; i++) {
        models[i] = create(&w);
        assert_non_null(models[i]);
    }
    make_trouble(w.api, what);
    for (size_t i = 0; i < OPERATIONS; i++) {
        size_t n = 0;
        futures[i] =
            any_operation(models[i % MODELS], datum, tk_rand_below(&rand, 6), i, &n);
        ids[i % MODELS] += n;
    }
    for (size_t i = 0; i < OPERATIONS; i++) {
        assert_int_equal(worldfix_drive(&w, futures[i]), TINKC_OK);
        tinkc_future_free(&futures[i]);
    }
    for (size_t i = 0; i < MODELS; i++) {
        check_applied(w.api, tinkc_training_model_id(models[i]), ids[i]);
        tinkc_training_close(&models[i]);
    }
    assert_int_equal(fakeapi_tinker_conflicts(w.api), 0);
    if (what->first != FAKEAPI_NONE) {
        fakeapi_tinker_op op; /* the trouble was real */
        assert_true(fakeapi_tinker_op_at(w.api, NULL, MODELS, &op));
        assert_int_equal(op.resent, what->second != FAKEAPI_NONE ? 2 : 1);
    }
    tinkc_datum_free(&datum);
    tinkc_service_close(&w.service);
    fakeapi_stop(&w.api);
}

/* whatever answers are lost, the peer applies each (model, seq_id) once
 * and in order. */
static void test_once_dropped(void **unused)
{
    run_once(&(trouble){.first = FAKEAPI_RESET});
}

static void test_once_dropped_twice(void **unused)
{
    run_once(&(trouble){.first = FAKEAPI_DROP, .second = FAKEAPI_RESET});
}

/* the same with answers that end in the middle. */
static void test_once_reset_mid_body(void **unused)
{
    run_once(&(trouble){.first = FAKEAPI_RESET_BODY});
}

static void test_once_delayed(void **unused)
{
    run_once(&(trouble){.delay_ms = 2});
}

/* ---- cancelling and closing, on a scripted transport ---- */

static tinkc_training *create_scripted(clientfix *f)
{
    tinkc_training *training = NULL;
    faketransport_default(&f->net, "create_model",
                          (fakeanswer){.body = "{\"request_id\":\"c\"}"});
    faketransport_default(&f->net, "retrieve_future",
                          (fakeanswer){.body = "{\"model_id\":\"S:train:0\"}"});
    tinkc_future *future = tinkc_service_create_training(f->service, "m", NULL);
    clientfix_turn(f);
    clientfix_turn(f);
    assert_int_equal(tinkc_future_take_training(&training, future, NULL), TINKC_OK);
    tinkc_future_free(&future);
    faketransport_default(&f->net, "retrieve_future",
                          (fakeanswer){.body = "{\"metrics\":{}}"});
    return training;
}

/* cancelled while it backs off: the next one goes at once. */
static void test_once_cancel_in_backoff(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    tinkc_training *training = create_scripted(&f);
    tinkc_wait wait = TINKC_WAIT_INIT;
    faketransport_default(&f.net, "optim_step",
                          (fakeanswer){.status = 503, .body = "{}"});
    tinkc_future *first = tinkc_training_optim_step(training, NULL);
    tinkc_future *second = tinkc_training_optim_step(training, NULL);
    clientfix_turn(&f);
    assert_int_equal(tinkc_future_status(&wait, first, NULL), TINKC_OK);
    assert_int_equal(wait.stage, TINKC_STAGE_BACKOFF);
    assert_int_equal(tinkc_future_status(&wait, second, NULL), TINKC_OK);
    assert_int_equal(wait.stage, TINKC_STAGE_TURN);
    faketransport_default(&f.net, "optim_step",
                          (fakeanswer){.body = "{\"request_id\":\"r\"}"});
    tinkc_future_cancel(first);
    clientfix_turn(&f);
    assert_int_equal(tinkc_future_wait(second, 0), TINKC_OK);
    tinkc_future_free(&first);
    tinkc_future_free(&second);
    tinkc_training_close(&training);
    clientfix_close(&f);
}

/* closed while one backs off and one waits for its turn: nothing of the network
 * would ever end them. */
static void test_once_close_in_backoff(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    tinkc_training *training = create_scripted(&f);
    faketransport_default(&f.net, "optim_step",
                          (fakeanswer){.status = 503, .body = "{}"});
    tinkc_future *futures[] = {tinkc_training_optim_step(training, NULL),
                               tinkc_training_optim_step(training, NULL)};
    clientfix_turn(&f);
    tinkc_training_close(&training);
    tinkc_service_close(&f.service);
    for (size_t i = 0; i < TK_ARRAY_LEN(futures); i++) {
        assert_int_equal(tinkc_future_wait(futures[i], 0), TINKC_E_CANCELLED);
        tinkc_future_free(&futures[i]);
    }
    clientfix_close(&f);
}

/* five minutes of 503 end the submission; the next one goes. */
static void test_once_submission_gives_up(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    tinkc_training *training = create_scripted(&f);
    faketransport_default(&f.net, "optim_step",
                          (fakeanswer){.status = 503, .body = "{}"});
    tinkc_future *first = tinkc_training_optim_step(training, NULL);
    clientfix_advance(&f, 200000);
    assert_false(tinkc_future_is_done(first));
    clientfix_advance(&f, 300000);
    assert_int_equal(tinkc_future_wait(first, 0), TINKC_E_SERVER);
    faketransport_default(&f.net, "optim_step",
                          (fakeanswer){.body = "{\"request_id\":\"r\"}"});
    tinkc_future *second = tinkc_training_optim_step(training, NULL);
    clientfix_turn(&f);
    assert_int_equal(tinkc_future_wait(second, 0), TINKC_OK);
    tinkc_future_free(&first);
    tinkc_future_free(&second);
    tinkc_training_close(&training);
    clientfix_close(&f);
}

/* Header of the first poll: seconds from the call to the acceptance. */
static void test_once_roundtrip_header(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    tinkc_training *training = create_scripted(&f);
    faketransport_default(&f.net, "optim_step", (fakeanswer){.status = -1});
    tinkc_future *step = tinkc_training_optim_step(training, NULL);
    clientfix_advance(&f, 1500);
    assert_true(faketransport_answer(&f.net, "optim_step",
                                     (fakeanswer){.body = "{\"request_id\":\"r\"}"}));
    clientfix_turn(&f);
    assert_int_equal(tinkc_future_wait(step, 0), TINKC_OK);
    char text[64];
    assert_true(faketransport_header(faketransport_nth(&f.net, "retrieve_future", 1),
                                     "X-Tinker-Create-Promise-Roundtrip-Time", text,
                                     sizeof(text)));
    assert_string_equal(text, "1.500000");
    tinkc_future_free(&step);
    tinkc_training_close(&training);
    clientfix_close(&f);
}

static bool all_done(tinkc_future *const *futures, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!tinkc_future_is_done(futures[i])) {
            return false;
        }
    }
    return true;
}

/* Runs the loop for at most `turns` turns, each after an event: true when everything was
 * done before the last. */
static bool take_turns(worldfix *w, int turns, tinkc_future *const *futures, size_t n)
{
    for (int i = 0; i < turns && !all_done(futures, n); i++) {
        struct pollfd fd = {.fd = tinkc_service_fd(w->service), .events = POLLIN};
        if (tinkc_service_deadline_ms(w->service) != 0) {
            assert_int_equal(poll(&fd, 1, WORLDFIX_CAP_MS), 1);
        }
        assert_int_equal(tinkc_service_process(w->service, NULL), TINKC_OK);
    }
    return all_done(futures, n);
}

/* A-026, M-046, M-102: the service is closed after 0, 1, 2 ... turns of the loop,
 * wherever everything is then, until nothing is under way any more. */
static void test_once_close_anywhere(void **unused)
{
    bool is_over = false;
    for (int turns = 0; !is_over; turns++) {
        worldfix w = {.api = fakeapi_start()};
        fakeapi_tinker(
            w.api, &(fakeapi_tinker_options){.config = "{\"fwdbwd_max_chunk_len\":1}"});
        assert_true(open_service(&w));
        tinkc_datum *datum = datumfix_new();
        tinkc_training *training = create(&w);
        tinkc_future *futures[7];
        for (size_t i = 0; i < 6; i++) {
            size_t n = 0;
            futures[i] = any_operation(training, datum, 5 - i, i, &n);
        }
        futures[6] = tinkc_service_create_training(w.service, "m", NULL);
        is_over = take_turns(&w, turns, futures, TK_ARRAY_LEN(futures));
        tinkc_training_close(&training);
        tinkc_service_close(&w.service);
        for (size_t i = 0; i < TK_ARRAY_LEN(futures); i++) {
            assert_true(tinkc_future_is_done(futures[i]));
            tinkc_future_free(&futures[i]);
        }
        tinkc_datum_free(&datum);
        fakeapi_stop(&w.api);
    }
}

/* ---- failing allocations ---- */

static bool finish(worldfix *w, tinkc_future *future)
{
    tinkc_code code = worldfix_drive(w, future);
    tinkc_future_free(&future);
    return code == TINKC_OK;
}

static bool is_custom;

/* Create, batch, step, close. What comes after the failure works. */
static bool scenario(void *user)
{
    worldfix w = {.api = user};
    tinkc_datum *data[3] = {NULL, NULL, NULL};
    bool ok = open_service(&w);
    tinkc_datum *datum = ok ? datumfix_new() : NULL;
    tinkc_training *training = datum != NULL ? create(&w) : NULL;
    ok = training != NULL;
    for (size_t i = 0; i < 3; i++) {
        data[i] = datum;
    }
    if (ok) {
        bool batch =
            finish(&w, is_custom ? tinkc_training_forward_backward_custom(
                                       training, data, 3, datumfix_flat_loss, NULL)
                                 : tinkc_training_forward_backward(
                                       training, data, 3, "cross_entropy", NULL));
        bool step = finish(&w, tinkc_training_optim_step(training, NULL));
        assert_true(batch || step); /* one failure stops one operation, not the next */
        ok = batch && step;
    }
    tinkc_training_close(&training);
    tinkc_datum_free(&datum);
    tinkc_service_close(&w.service);
    return ok;
}

typedef enum act { ACT_BATCH, ACT_STEP, ACT_BOTH, ACT_SAVE, ACT_SAMPLE, ACTS } act;

typedef struct stage {
    worldfix *w;
    tinkc_training *training;
    tinkc_sampling *sampling; /* from ACT_SAVE on */
    tinkc_datum *datum;
} stage;

static bool perform(stage *s, act what)
{
    tinkc_datum *data[3] = {s->datum, s->datum, s->datum};
    tinkc_future *future = NULL;
    switch (what) {
    case ACT_BATCH:
        return finish(s->w, tinkc_training_forward_backward(s->training, data, 3,
                                                            "cross_entropy", NULL));
    case ACT_STEP:
        return finish(s->w, tinkc_training_optim_step(s->training, NULL));
    case ACT_BOTH:
        return finish(s->w,
                      tinkc_training_step(s->training, data, 3, "cross_entropy", NULL));
    case ACT_SAVE:
        future = tinkc_training_save_and_sample(s->training);
        (void)worldfix_drive(s->w, future);
        (void)tinkc_future_take_sampling(&s->sampling, future, NULL);
        tinkc_future_free(&future);
        return s->sampling != NULL;
    case ACT_SAMPLE:
    case ACTS:
        break;
    }
    return finish(s->w, tinkc_sampling_sample(s->sampling, tinkc_datum_input(s->datum),
                                              NULL, NULL));
}

/* Create, batch, step, save, sample, close; what failed is done again at once, by the
 * same client, and works. */
static bool whole_scenario(void *user)
{
    worldfix w = {.api = user};
    bool ok = open_service(&w);
    tinkc_datum *datum = ok ? datumfix_new() : NULL;
    stage s = {.w = &w, .datum = datum};
    if (datum != NULL) {
        s.training = create(&w);
        ok = s.training != NULL;
        if (!ok) {
            s.training = create(&w);
            assert_non_null(s.training);
        }
    }
    for (int what = 0; datum != NULL && what < ACTS; what++) {
        bool first = perform(&s, (act)what);
        assert_true(first || perform(&s, (act)what));
        ok = ok && first;
    }
    ok = ok && datum != NULL;
    tinkc_sampling_close(&s.sampling);
    tinkc_training_close(&s.training);
    tinkc_datum_free(&datum);
    tinkc_service_close(&w.service);
    return ok;
}

static void sweep(bool custom)
{
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api,
                   &(fakeapi_tinker_options){.config = "{\"fwdbwd_max_chunk_len\":1}"});
    is_custom = custom;
    assert_true(failmem_sweep(scenario, api, custom ? 5 : 2) > 100);
    fakeapi_stop(&api);
}

/* M-102: every wait returns, nothing leaks, the next operation works. */
static void test_once_allocation_sweep(void **unused)
{
    sweep(false);
}

/* A-028, M-169: wherever one allocation of a whole session fails, the same client goes
 * on. */
static void test_once_allocation_sweep_whole(void **unused)
{
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api,
                   &(fakeapi_tinker_options){.config = "{\"fwdbwd_max_chunk_len\":1}"});
    assert_true(failmem_sweep(whole_scenario, api, 1) > 100);
    assert_int_equal(fakeapi_tinker_conflicts(api), 0);
    fakeapi_stop(&api);
}

/* A failure may also go unnoticed: the text of the first refusal is read as far as there
 * is memory, and a body that could not be made early is made again when it is sent. */
static bool json_scenario(void *user)
{
    return whole_scenario(user) && !failmem_fired();
}

/* the same at a server that reads and sends JSON only, and sends no loss. */
static void test_once_allocation_sweep_json(void **unused)
{
    static const fakeapi_step refusal = {.status = 415, .body = "{}"};
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api,
                   &(fakeapi_tinker_options){.config = "{\"fwdbwd_max_chunk_len\":1}",
                                             .refuses_proto = &refusal,
                                             .json_results = true,
                                             .loss = ""});
    assert_true(failmem_sweep(json_scenario, api, 1) > 100);
    assert_int_equal(fakeapi_tinker_conflicts(api), 0);
    assert_true(fakeapi_count(api, "POST", "/api/v1/forward_backward") > 0);
    fakeapi_stop(&api);
}

/* the same with a custom loss. */
static void test_once_allocation_sweep_custom(void **unused)
{
    sweep(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_once_dropped),
        cmocka_unit_test(test_once_dropped_twice),
        cmocka_unit_test(test_once_reset_mid_body),
        cmocka_unit_test(test_once_delayed),
        cmocka_unit_test(test_once_cancel_in_backoff),
        cmocka_unit_test(test_once_close_in_backoff),
        cmocka_unit_test(test_once_submission_gives_up),
        cmocka_unit_test(test_once_roundtrip_header),
        cmocka_unit_test(test_once_close_anywhere),
        cmocka_unit_test(test_once_allocation_sweep),
        cmocka_unit_test(test_once_allocation_sweep_json),
        cmocka_unit_test(test_once_allocation_sweep_custom),
        cmocka_unit_test(test_once_allocation_sweep_whole),
    };
    return cmocka_run_group_tests_name("training_once", tests, NULL, NULL);
}
