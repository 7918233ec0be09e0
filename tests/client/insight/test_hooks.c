/* Hooks and contexts (A-139, A-144, A-145, M-146, M-149).
 * Links: peer */
#include <stdio.h>
#include <tinkc/training.h>

#include "base/mem.h"
#include "support/failmem.h"
#include "support/fakeapi_tinker.h"
#include "support/hookfix.h"
#include "support/samplefix.h"
#include "support/servicefix.h"

#define PARENT "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
#define STATE  "vendor=value,other=1"

static hookfix hooks; /* large */

static tinkc_context context_with(const tinkc_pair *tag)
{
    tinkc_context context = TINKC_CONTEXT_INIT;
    context.traceparent = PARENT;
    context.tracestate = STATE;
    context.tags = tag;
    context.tags_n = tag != NULL;
    return context;
}

/* ---- pairs ---- */

/* A-139, M-146: an operation and its two requests, with attributes. */
static void test_hooks_of_a_sample(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    tinkc_sampling *sampling = samplefix_create(&f);
    hookfix_attach(&hooks, f.service);
    tinkc_future *future = samplefix_sample(&f, sampling, 2);
    fakeclock_advance_ms(&f.clock, 5);
    assert_true(samplefix_accept(&f));
    fakeclock_advance_ms(&f.clock, 7);
    assert_true(samplefix_finish(&f));
    assert_true(hookfix_is_balanced(&hooks));
    const tinkc_hook *op =
        &hookfix_nth(&hooks, TINKC_HOOK_STOP, TINKC_SPAN_OPERATION, "sample", 0)->hook;
    assert_int_equal(op->duration_ns, 12 * TK_NS_PER_MS);
    assert_int_equal(op->code, TINKC_OK);
    const tinkc_hook *post =
        &hookfix_nth(&hooks, TINKC_HOOK_STOP, TINKC_SPAN_HTTP, "asample", 0)->hook;
    assert_int_equal(post->parent, op->span);
    assert_int_equal(post->duration_ns, 5 * TK_NS_PER_MS);
    assert_int_equal(post->http_status, 200);
    assert_int_equal(post->bytes_out, strlen(faketransport_nth(&f.net, SAMPLE, 0)->body));
    assert_int_equal(post->bytes_in, strlen("{\"request_id\":\"r\"}"));
    const tinkc_hook *poll =
        &hookfix_nth(&hooks, TINKC_HOOK_STOP, TINKC_SPAN_HTTP, POLL, 0)->hook;
    assert_int_equal(poll->parent, op->span);
    assert_int_equal(poll->duration_ns, 7 * TK_NS_PER_MS);
    tinkc_future_free(&future);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
    assert_int_equal(hooks.released, 1);
}

/* refused, failed, cancelled and closed operations end too. */
static void test_hooks_of_failures(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    tinkc_sampling *sampling = samplefix_create(&f);
    hookfix_attach(&hooks, f.service);
    tinkc_future *refused = tinkc_sampling_sample(sampling, NULL, NULL, NULL);
    tinkc_future *failed = samplefix_sample(&f, sampling, 2);
    assert_true(faketransport_answer(&f.net, SAMPLE, (fakeanswer){.status = 422}));
    clientfix_turn(&f);
    tinkc_future *cancelled = samplefix_sample(&f, sampling, 2);
    tinkc_future_cancel(cancelled);
    clientfix_turn(&f);
    tinkc_future *polling = samplefix_sample(&f, sampling, 2);
    assert_true(samplefix_accept(&f));
    tinkc_future *posting = samplefix_sample(&f, sampling, 2);
    clientfix_close(&f);
    tinkc_future *late = tinkc_sampling_compute_logprobs(sampling, NULL);
    tinkc_future *all[] = {refused, failed, cancelled, polling, posting, late};
    const tinkc_code codes[] = {TINKC_E_INVALID,   TINKC_E_UNPROCESSABLE,
                                TINKC_E_CANCELLED, TINKC_E_CANCELLED,
                                TINKC_E_CANCELLED, TINKC_E_INVALID};
    assert_true(hookfix_is_balanced(&hooks));
    assert_int_equal(hookfix_count(&hooks, TINKC_HOOK_STOP, TINKC_SPAN_OPERATION, NULL),
                     0);
    for (size_t i = 0; i < TK_ARRAY_LEN(all); i++) {
        assert_int_equal(tinkc_future_wait(all[i], 0), codes[i]);
        const hookfix_event *end =
            hookfix_nth(&hooks, TINKC_HOOK_ERROR, TINKC_SPAN_OPERATION, NULL, i);
        assert_int_equal(end->hook.code, codes[i]);
        tinkc_future_free(&all[i]);
    }
    const hookfix_event *http =
        hookfix_nth(&hooks, TINKC_HOOK_ERROR, TINKC_SPAN_HTTP, "asample", 0);
    assert_int_equal(http->hook.http_status, 422);
    assert_int_equal(http->hook.code, TINKC_E_UNPROCESSABLE);
    assert_int_equal(hooks.released, 0); /* the sampler still holds the service */
    tinkc_sampling_close(&sampling);
    assert_int_equal(hooks.released, 1);
}

/* retries, push-back and pauses are points of the operation. */
static void test_hooks_points(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    tinkc_sampling *sampling = samplefix_create(&f);
    hookfix_attach(&hooks, f.service);
    tinkc_future *future = samplefix_sample(&f, sampling, 2);
    assert_true(faketransport_answer(
        &f.net, SAMPLE,
        (fakeanswer){.status = 429, .headers = {"retry-after-ms", "1500"}}));
    clientfix_advance(&f, 60000);
    assert_true(
        faketransport_answer(&f.net, SAMPLE, (fakeanswer){.failure = TK_HTTP_RESET}));
    clientfix_advance(&f, 60000);
    assert_true(samplefix_accept(&f));
    static const char paused[] =
        "{\"type\":\"try_again\",\"request_id\":\"r\",\"queue_state\":\"paused_capacity\","
        "\"queue_state_reason\":\"full\"}";
    for (int i = 0; i < 3; i++) {
        clientfix_advance(&f, 2 * TK_RETRY_EVERY_MS);
        assert_true(faketransport_answer(&f.net, POLL, (fakeanswer){.body = paused}));
        clientfix_turn(&f);
    }
    assert_true(faketransport_answer(&f.net, POLL, (fakeanswer){.status = 503}));
    clientfix_advance(&f, 60000);
    assert_true(samplefix_finish(&f));
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_OK);
    assert_true(hookfix_is_balanced(&hooks));
    static const char *const reasons[] = {"429", "connection", "503"};
    for (size_t i = 0; i < TK_ARRAY_LEN(reasons); i++) {
        const hookfix_event *retry =
            hookfix_nth(&hooks, TINKC_HOOK_RETRY, TINKC_SPAN_OPERATION, "sample", i);
        assert_non_null(retry);
        assert_string_equal(retry->reason, reasons[i]);
    }
    assert_int_equal(hookfix_nth(&hooks, TINKC_HOOK_RETRY, TINKC_SPAN_OPERATION, NULL, 0)
                         ->hook.delay_ms,
                     1500);
    assert_int_equal(hookfix_count(&hooks, TINKC_HOOK_QUEUE, TINKC_SPAN_OPERATION, NULL),
                     1);
    const hookfix_event *queue =
        hookfix_nth(&hooks, TINKC_HOOK_QUEUE, TINKC_SPAN_OPERATION, NULL, 0);
    assert_int_equal(queue->hook.queue_state, TINKC_QUEUE_PAUSED_CAPACITY);
    assert_string_equal(queue->reason, "full");
    tinkc_future_free(&future);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

/* a hook that comes late sees whole spans only; there is room for eight. */
static void test_hooks_added_late(void **unused)
{
    clientfix f;
    static hookfix late;
    clientfix_open(&f, NULL);
    tinkc_sampling *sampling = samplefix_create(&f);
    hookfix_attach(&hooks, f.service);
    tinkc_future *first = samplefix_sample(&f, sampling, 2);
    hookfix_attach(&late, f.service);
    assert_true(samplefix_accept(&f) && samplefix_finish(&f));
    tinkc_future *second = samplefix_sample(&f, sampling, 2);
    assert_true(samplefix_accept(&f) && samplefix_finish(&f));
    assert_true(hookfix_is_balanced(&hooks));
    /* the poll of the first one began later: it is seen, and its parent is not */
    assert_int_equal(hookfix_count(&late, TINKC_HOOK_START, TINKC_SPAN_OPERATION, NULL),
                     1);
    assert_int_equal(hookfix_count(&late, TINKC_HOOK_STOP, TINKC_SPAN_OPERATION, NULL),
                     1);
    assert_int_equal(hookfix_count(&late, TINKC_HOOK_START, TINKC_SPAN_HTTP, NULL), 3);
    assert_int_equal(hookfix_count(&late, TINKC_HOOK_STOP, TINKC_SPAN_HTTP, NULL), 3);
    for (int i = 2; i < 8; i++) {
        assert_int_equal(
            tinkc_service_add_hook(f.service, hookfix_tell, &hooks, NULL, NULL),
            TINKC_OK);
    }
    assert_int_equal(
        tinkc_service_add_hook(f.service, hookfix_tell, &hooks, hookfix_release, NULL),
        TINKC_E_LIMIT);
    assert_int_equal(tinkc_service_add_hook(f.service, NULL, NULL, NULL, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(tinkc_service_add_hook(NULL, hookfix_tell, &hooks, NULL, NULL),
                     TINKC_E_STATE);
    tinkc_future_free(&first);
    tinkc_future_free(&second);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
    assert_int_equal(hooks.released, 1);
    assert_int_equal(late.released, 1);
}

/* ---- lack of memory ---- */

static tinkc_service *open_plain(fakeapi *api)
{
    tinkc_config *config = NULL;
    tinkc_service *service = NULL;
    bool ok = tinkc_config_new(&config, NULL) == TINKC_OK &&
              tinkc_config_set(config, "base_url", fakeapi_url(api), NULL) == TINKC_OK &&
              tinkc_config_set(config, "api_key", "tml-k", NULL) == TINKC_OK &&
              tinkc_config_set(config, "proxy", "", NULL) == TINKC_OK &&
              tinkc_config_set(config, "finish_session", "false", NULL) == TINKC_OK &&
              tinkc_config_set(config, "loop", "manual", NULL) == TINKC_OK;
    if (ok && tinkc_service_open(&service, config, NULL) != TINKC_OK) {
        assert_null(service);
    }
    tinkc_config_free(&config);
    return service;
}

static bool step_and_sample(tinkc_service *service)
{
    static const tinkc_pair tag = {"run", "one"};
    tinkc_context context = context_with(&tag);
    tinkc_service *second = NULL;
    tinkc_training *training = NULL, *in_step = NULL;
    tinkc_sampling *sampling = NULL, *in_sample = NULL;
    tinkc_model_input *prompt = NULL;
    const int32_t tokens[] = {1, 2, 3};
    bool ok =
        tinkc_service_with_context(&second, service, &context, NULL) == TINKC_OK &&
        tinkc_service_create_training_wait(&training, second, "m", NULL, NULL) ==
            TINKC_OK &&
        tinkc_training_with_context(&in_step, training, &context, NULL) == TINKC_OK &&
        tinkc_training_optim_step_wait(NULL, in_step, NULL, NULL) == TINKC_OK &&
        tinkc_training_save_and_sample_wait(&sampling, training, NULL) == TINKC_OK &&
        tinkc_sampling_with_context(&in_sample, sampling, &context, NULL) == TINKC_OK &&
        tinkc_model_input_from_tokens(&prompt, tokens, 3, NULL) == TINKC_OK &&
        tinkc_sampling_sample_wait(NULL, in_sample, prompt, NULL, NULL, NULL) == TINKC_OK;
    tinkc_model_input_free(&prompt);
    tinkc_sampling_close(&in_sample);
    tinkc_sampling_close(&sampling);
    tinkc_training_close(&in_step);
    tinkc_training_close(&training);
    tinkc_service_close(&second);
    return ok;
}

static bool sweep_once(void *unused)
{
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    tinkc_service *service = open_plain(api);
    bool ok = false;
    if (service != NULL) {
        hookfix_attach(&hooks, service);
        ok = step_and_sample(service);
        tinkc_service_close(&service);
        assert_true(hooks.n == 0 || hookfix_is_balanced(&hooks));
        assert_int_equal(hooks.released, 1);
    }
    fakeapi_stop(&api);
    return ok;
}

/* with any one allocation failing every start has its end and nothing leaks. */
static void test_hooks_allocation_sweep(void **unused)
{
    assert_true(failmem_sweep(sweep_once, NULL, 1) > 100);
}

/* ---- contexts ---- */

static void check_trace(const fakeseen *seen)
{
    char value[128];
    assert_true(faketransport_header(seen, "traceparent", value, sizeof(value)));
    assert_string_equal(value, PARENT);
    assert_true(faketransport_header(seen, "tracestate", value, sizeof(value)));
    assert_string_equal(value, STATE);
}

/* A-145, M-149: the trace headers are the same with submission, retry and polls; what
 * belongs to no context (the session, the first handle's calls) has none. */
static void test_hooks_trace_headers(void **unused)
{
    clientfix f;
    tinkc_context context = context_with(NULL);
    tinkc_sampling *traced = NULL;
    char value[128];
    clientfix_open(&f, NULL);
    tinkc_sampling *sampling = samplefix_create(&f);
    assert_int_equal(tinkc_sampling_with_context(&traced, sampling, &context, NULL),
                     TINKC_OK);
    assert_string_equal(tinkc_sampling_session_id(traced), "S:sample:0");
    tinkc_future *future = samplefix_sample(&f, traced, 2);
    assert_true(faketransport_answer(&f.net, SAMPLE, (fakeanswer){.status = 500}));
    clientfix_advance(&f, 60000);
    assert_true(samplefix_accept(&f));
    assert_true(faketransport_answer(&f.net, POLL, (fakeanswer){.status = 503}));
    clientfix_advance(&f, 60000);
    assert_true(samplefix_finish(&f));
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_OK);
    for (size_t i = 0; i < 2; i++) {
        check_trace(faketransport_nth(&f.net, SAMPLE, i));
        check_trace(faketransport_nth(&f.net, POLL, i));
    }
    tinkc_future *plain = samplefix_sample(&f, sampling, 2);
    assert_false(faketransport_header(faketransport_nth(&f.net, SAMPLE, 2), "traceparent",
                                      value, sizeof(value)));
    assert_false(faketransport_header(faketransport_nth(&f.net, "session_heartbeat", 0),
                                      "traceparent", value, sizeof(value)));
    tinkc_future_free(&plain);
    tinkc_future_free(&future);
    tinkc_sampling_close(&sampling);
    tinkc_sampling_close(&traced);
    clientfix_close(&f);
}

/* M-149: headers that the caller configured win. */
static void test_hooks_trace_is_not_forced(void **unused)
{
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    tinkc_config *config = servicefix_config(api, NULL);
    tinkc_service *service = NULL, *traced = NULL;
    tinkc_context context = context_with(NULL);
    assert_int_equal(tinkc_config_set_header(config, "Traceparent", "mine", NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_service_open(&service, config, NULL), TINKC_OK);
    assert_int_equal(tinkc_service_with_context(&traced, service, &context, NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_service_health_wait(traced, NULL), TINKC_OK);
    const fakeapi_request *seen = fakeapi_nth(api, "GET", "/api/v1/healthz", 0);
    assert_int_equal(fakeapi_header_count(seen, "traceparent"), 1);
    assert_string_equal(fakeapi_header(seen, "traceparent"), "mine");
    assert_int_equal(fakeapi_header_count(seen, "tracestate"), 0);
    tinkc_service_close(&traced);
    assert_int_equal(tinkc_service_health_wait(service, NULL), TINKC_OK);
    tinkc_service_close(&service);
    tinkc_config_free(&config);
    fakeapi_stop(&api);
}

typedef struct caller {
    tinkc_training *training;
    tinkc_service *service;
    char name[32];
    pthread_t thread, told_on;
    tinkc_future *future;
    char told[32]; /* tag that the callback saw */
} caller;

static void on_done(tinkc_future *future, void *user)
{
    caller *self = user;
    const tinkc_context *context = tinkc_future_context(future);
    if (context != NULL) {
        (void)snprintf(self->told, sizeof(self->told), "%s", context->tags[0].value);
    }
    self->told_on = pthread_self();
}

static void *call_it(void *user)
{
    caller *self = user;
    tinkc_pair tag = {"caller", self->name};
    tinkc_context context = context_with(&tag);
    tinkc_training *mine = NULL;
    assert_int_equal(tinkc_training_with_context(&mine, self->training, &context, NULL),
                     TINKC_OK);
    self->future = tinkc_training_optim_step(mine, NULL);
    assert_int_equal(tinkc_future_on_done(self->future, on_done, self, NULL), TINKC_OK);
    tinkc_training_close(&mine);
    return NULL;
}

/* operations of several threads, completed on another one, have their own
 * contexts in hooks and callbacks; their order is that of the one model. */
static void test_hooks_context_of_threads(void **unused)
{
    enum { N = 8 };
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    tinkc_service *service = servicefix_open(api, NULL);
    tinkc_training *training = NULL;
    caller callers[N];
    assert_int_equal(
        tinkc_service_create_training_wait(&training, service, "m", NULL, NULL),
        TINKC_OK);
    hookfix_attach(&hooks, service);
    fakeapi_gate *gate = fakeapi_gate_new(api);
    fakeapi_step wait = {.pass = true, .gate = gate};
    fakeapi_default(api, "POST", "/api/v1/retrieve_future", &wait);
    for (int i = 0; i < N; i++) {
        callers[i] = (caller){.training = training, .service = service};
        (void)snprintf(callers[i].name, sizeof(callers[i].name), "caller %d", i);
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_it, &callers[i]),
                         0);
    }
    for (int i = 0; i < N; i++) {
        assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
    }
    fakeapi_gate_open(gate);
    for (int i = 0; i < N; i++) {
        assert_int_equal(tinkc_future_wait(callers[i].future, 60000), TINKC_OK);
        assert_string_equal(tinkc_future_context(callers[i].future)->tags[0].value,
                            callers[i].name);
    }
    tinkc_training_close(&training);
    tinkc_service_close(&service); /* joins the thread that calls back */
    for (int i = 0; i < N; i++) {
        assert_string_equal(callers[i].told, callers[i].name);
        assert_false(pthread_equal(callers[i].told_on, callers[i].thread));
        tinkc_future_free(&callers[i].future);
    }
    assert_true(hookfix_is_balanced(&hooks));
    size_t per_caller[N] = {0};
    for (size_t i = 0; i < hooks.n; i++) {
        for (int k = 0; k < N; k++) {
            per_caller[k] += strcmp(hooks.events[i].tag, callers[k].name) == 0;
        }
    }
    for (int k = 0; k < N; k++) {
        assert_int_equal(per_caller[k], 6); /* operation, submission, poll: twice each */
    }
    fakeapi_stop(&api);
}

/* a second handle outlives the first one, and says that the service is closed. */
static void test_hooks_context_after_the_close(void **unused)
{
    clientfix f;
    tinkc_context context = context_with(NULL);
    tinkc_service *second = NULL, *third = NULL;
    clientfix_open(&f, NULL);
    assert_int_equal(tinkc_service_with_context(&second, f.service, &context, NULL),
                     TINKC_OK);
    assert_true(tinkc_service_fd(second) >= 0);
    hookfix_attach(&hooks, second);
    clientfix_close(&f);
    assert_int_equal(tinkc_service_health_wait(second, NULL), TINKC_E_CANCELLED);
    assert_int_equal(tinkc_service_with_context(&third, second, &context, NULL),
                     TINKC_E_CANCELLED);
    assert_int_equal(tinkc_service_process(second, NULL), TINKC_E_CANCELLED);
    assert_true(hookfix_is_balanced(&hooks));
    assert_int_equal(hooks.released, 0);
    tinkc_service_close(&second);
    assert_int_equal(hooks.released, 1);
}

static tinkc_code try_context(clientfix *f, tinkc_context context)
{
    tinkc_service *second = NULL;
    tinkc_code code = tinkc_service_with_context(&second, f->service, &context, NULL);
    assert_true((code == TINKC_OK) == (second != NULL));
    tinkc_service_close(&second);
    return code;
}

/* M-149: only what the W3C recommendation allows is taken. */
static void test_hooks_context_refusals(void **unused)
{
    static const char *const good[] = {
        PARENT, "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-comes",
        "00-00000000000000000000000000000001-0000000000000001-00"};
    static const char *const bad[] = {
        "",
        "00",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0g",
        "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\nX: y"};
    clientfix f;
    clientfix_open(&f, NULL);
    for (size_t i = 0; i < TK_ARRAY_LEN(good); i++) {
        tinkc_context context = TINKC_CONTEXT_INIT;
        context.traceparent = good[i];
        assert_int_equal(try_context(&f, context), TINKC_OK);
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        tinkc_context context = TINKC_CONTEXT_INIT;
        context.traceparent = bad[i];
        assert_int_equal(try_context(&f, context), TINKC_E_INVALID);
    }
    tinkc_context context = TINKC_CONTEXT_INIT;
    context.tracestate = STATE; /* alone */
    assert_int_equal(try_context(&f, context), TINKC_E_INVALID);
    context.traceparent = PARENT;
    context.tracestate = "a=b\nc";
    assert_int_equal(try_context(&f, context), TINKC_E_INVALID);
    tinkc_pair tags[65] = {{"name", "value"}};
    context = (tinkc_context)TINKC_CONTEXT_INIT;
    context.tags = tags;
    context.tags_n = 65;
    assert_int_equal(try_context(&f, context), TINKC_E_INVALID);
    context.tags_n = 2; /* the second has no name */
    assert_int_equal(try_context(&f, context), TINKC_E_INVALID);
    context.tags_n = 1;
    assert_int_equal(try_context(&f, context), TINKC_OK);
    context.size = 0;
    assert_int_equal(try_context(&f, context), TINKC_E_INVALID);
    clientfix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hooks_of_a_sample),
        cmocka_unit_test(test_hooks_of_failures),
        cmocka_unit_test(test_hooks_points),
        cmocka_unit_test(test_hooks_added_late),
        cmocka_unit_test(test_hooks_allocation_sweep),
        cmocka_unit_test(test_hooks_trace_headers),
        cmocka_unit_test(test_hooks_trace_is_not_forced),
        cmocka_unit_test(test_hooks_context_of_threads),
        cmocka_unit_test(test_hooks_context_after_the_close),
        cmocka_unit_test(test_hooks_context_refusals),
    };
    return cmocka_run_group_tests_name("hooks", tests, NULL, NULL);
}
