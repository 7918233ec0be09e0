/* Many threads on one sampling handle.
 * Links: peer */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include <tinkc/sampling.h>

#include "base/mem.h"
#include "client/call/limiter.h"
#include "support/fakeapi_tinker.h"
#include "support/samplefix.h"
#include "support/servicefix.h"

/* ---- a transport that answers everything at once ---- */

#define THREADS 64
#ifdef TINKC_SANITIZED
#define EACH 50 /* the property is the same, the time is not */
#else
#define EACH 1000
#endif

typedef struct echo {
    tk_transport transport;
    tk_http_request *queue[8192];
    size_t n;
    unsigned char seen[THREADS * EACH];
    size_t doubles, strangers;
} echo;

static tinkc_code echo_submit(tk_transport *transport, tk_http_request *request,
                              tk_err *err)
{
    echo *e = TK_CONTAINER_OF(transport, echo, transport);
    if (e->n == TK_ARRAY_LEN(e->queue)) {
        return tk_err_set(err, TINKC_E_LIMIT, "queue full");
    }
    request->impl = e;
    e->queue[e->n++] = request;
    return TINKC_OK;
}

static void note_seq(echo *e, const tk_http_request *request)
{
    char *text = tk_strndup(request->body, request->body_n);
    const char *at = text != NULL ? strstr(text, "\"seq_id\":") : NULL;
    uint64_t seq = at != NULL ? strtoull(at + 9, NULL, 10) : UINT64_MAX;
    if (seq >= TK_ARRAY_LEN(e->seen)) {
        e->strangers++;
    } else if (e->seen[seq]++ > 0) {
        e->doubles++;
    }
    tk_free(text);
}

static const char *echo_body(echo *e, const tk_http_request *request)
{
    if (strstr(request->url, "/asample") != NULL) {
        note_seq(e, request);
        return "{\"request_id\":\"r\"}";
    }
    return strstr(request->url, "/create_session") != NULL ? "{\"session_id\":\"S\"}"
           : strstr(request->url, "/create_sampling") != NULL
               ? "{\"sampling_session_id\":\"S:sample:0\"}"
               : "{}";
}

static void echo_process(tk_transport *transport)
{
    echo *e = TK_CONTAINER_OF(transport, echo, transport);
    fakeanswer result = samplefix_result();
    for (size_t left = e->n; left > 0; left--) {
        tk_http_request *request = e->queue[0];
        memmove(e->queue, e->queue + 1, --e->n * sizeof(e->queue[0]));
        tk_http_response response = {.status = 200, .err = TK_ERR_INIT};
        tk_http_field type = {tk_str_of("content-type"),
                              tk_str_of("application/x-protobuf")};
        if (strstr(request->url, "/retrieve_future") != NULL) {
            response.headers = &type;
            response.headers_n = 1;
            response.body = (tk_str){result.body, result.body_n};
        } else {
            response.body = tk_str_of(echo_body(e, request));
        }
        request->impl = NULL;
        request->done(request, &response);
    }
}

static void echo_cancel(tk_transport *transport, tk_http_request *request)
{
    (void)request; /* the test ends when all have been answered */
}

static int echo_fd(tk_transport *transport)
{
    return -1;
}

static int64_t echo_deadline(tk_transport *transport)
{
    return TK_CONTAINER_OF(transport, echo, transport)->n > 0 ? 0 : INT64_MAX;
}

static void echo_close(tk_transport *transport)
{
}

static void echo_resume(tk_transport *transport, tk_http_request *request)
{
}

static const tk_transport_ops echo_ops = {echo_submit, echo_cancel,   echo_resume,
                                          echo_fd,     echo_deadline, echo_process,
                                          echo_close};

typedef struct caller {
    tinkc_sampling *sampling;
    size_t good;
} caller;

static void *call_many(void *user)
{
    caller *c = user;
    tinkc_model_input *prompt = samplefix_prompt(3);
    tinkc_future **futures = calloc(EACH, sizeof(*futures));
    for (size_t i = 0; futures != NULL && i < EACH; i++) {
        futures[i] = tinkc_sampling_sample(c->sampling, prompt, NULL, NULL);
    }
    for (size_t i = 0; futures != NULL && i < EACH; i++) {
        c->good += tinkc_future_wait(futures[i], TINKC_FOREVER) == TINKC_OK;
        tinkc_future_free(&futures[i]);
    }
    free(futures);
    tinkc_model_input_free(&prompt);
    return NULL;
}

/* A-002, M-078: 64 threads, 1,000 samples each: the ids are 0..63999, each once. */
static void test_sampling_load_ids(void **unused)
{
    echo *e = calloc(1, sizeof(*e));
    assert_non_null(e);
    e->transport.ops = &echo_ops;
    tinkc_config *config = NULL;
    tinkc_service *service = NULL;
    tinkc_sampling *sampling = NULL;
    (void)samplefix_result(); /* made before there are threads */
    assert_int_equal(tinkc_config_new(&config, NULL), TINKC_OK);
    assert_int_equal(tinkc_config_set(config, "base_url", "http://127.0.0.1:1", NULL),
                     TINKC_OK);
    tk_core_seams seams = {.transport = &e->transport};
    assert_int_equal(tk_service_open(&service, config, &seams, NULL), TINKC_OK);
    assert_int_equal(
        tinkc_service_create_sampling_wait(&sampling, service, "m", NULL, NULL),
        TINKC_OK);
    pthread_t threads[THREADS];
    caller callers[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        callers[i] = (caller){sampling, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, call_many, &callers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(callers[i].good, EACH);
    }
    tinkc_sampling_close(&sampling);
    tinkc_service_close(&service);
    tinkc_config_free(&config);
    assert_int_equal(e->doubles, 0);
    assert_int_equal(e->strangers, 0);
    for (size_t i = 0; i < THREADS * EACH; i++) {
        assert_int_equal(e->seen[i], 1);
    }
    free(e);
}

/* ---- on the peer ---- */

static void *sample_once(void *user)
{
    caller *c = user;
    tinkc_model_input *prompt = samplefix_prompt(3);
    tinkc_samples *samples = NULL;
    c->good = tinkc_sampling_sample_wait(&samples, c->sampling, prompt, NULL, NULL,
                                         NULL) == TINKC_OK;
    tinkc_samples_free(&samples);
    tinkc_model_input_free(&prompt);
    return NULL;
}

/* A-001, M-078: 400 threads sample at once and all of them get through to the server
 * at once: no one waits for another's turn. A-010: a second handle closes meanwhile. */
static void test_sampling_load_parallel(void **unused)
{
    enum { N = 400 };
    assert_true(fakeapi_allow_files(4096));
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    fakeapi_gate *gate = fakeapi_gate_new(api);
    fakeapi_default(api, "POST", "/api/v1/asample",
                    &(fakeapi_step){.pass = true, .gate = gate});
    tinkc_service *service = servicefix_open(api, NULL);
    tinkc_sampling *sampling = NULL, *other = NULL;
    assert_int_equal(
        tinkc_service_create_sampling_wait(&sampling, service, "m", NULL, NULL),
        TINKC_OK);
    assert_int_equal(tinkc_service_create_sampling_wait(&other, service, "m", NULL, NULL),
                     TINKC_OK);
    static pthread_t threads[N];
    static caller callers[N];
    pthread_attr_t small;
    assert_int_equal(pthread_attr_init(&small), 0);
    assert_int_equal(pthread_attr_setstacksize(&small, 256 * 1024), 0);
    for (size_t i = 0; i < N; i++) {
        callers[i] = (caller){sampling, 0};
        assert_int_equal(pthread_create(&threads[i], &small, sample_once, &callers[i]),
                         0);
    }
    assert_int_equal(pthread_attr_destroy(&small), 0);
    assert_true(fakeapi_gate_wait(gate, N));
    assert_int_equal(fakeapi_in_flight(api, "POST", "/api/v1/asample"), N);
    tinkc_sampling_close(&other);
    assert_int_equal(tinkc_service_health_wait(service, NULL), TINKC_OK);
    fakeapi_gate_open(gate);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(callers[i].good);
    }
    tinkc_sampling_close(&sampling);
    tinkc_service_close(&service);
    fakeapi_stop(&api);
    assert_int_equal(tk_limiter_count(), 0);
}

/* a thousand handles, closed in another order than they were made. */
static void test_sampling_load_handles(void **unused)
{
    enum { N = 1000 };
    static tinkc_sampling *handles[N];
    clientfix f;
    tk_rand rand;
    clientfix_open(&f, NULL);
    tk_rand_init(&rand, 3);
    for (size_t i = 0; i < N; i++) {
        handles[i] = samplefix_create(&f);
    }
    for (size_t n = N; n > 0; n--) {
        size_t pick = (size_t)(tk_rand_double(&rand) * (double)n);
        tinkc_sampling_close(&handles[pick]);
        handles[pick] = handles[n - 1];
    }
    tinkc_sampling *last = samplefix_create(&f);
    tinkc_future *future = samplefix_sample(&f, last, 2);
    assert_true(samplefix_accept(&f) && samplefix_finish(&f));
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_OK);
    tinkc_future_free(&future);
    tinkc_sampling_close(&last);
    clientfix_close(&f);
    assert_int_equal(tk_limiter_count(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sampling_load_ids),
        cmocka_unit_test(test_sampling_load_parallel),
        cmocka_unit_test(test_sampling_load_handles),
    };
    return cmocka_run_group_tests_name("sampling_load", tests, NULL, NULL);
}
