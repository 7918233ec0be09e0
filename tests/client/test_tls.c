/* The whole client behind TLS, over HTTP/1.1 and HTTP/2 and where HTTP/2 is broken: the
 * same conversation, each piece of work applied once.
 * Links: peer front */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tinkc/download.h>
#include <tinkc/sampling.h>
#include <tinkc/training.h>

#include "support/datumfix.h"
#include "support/fakeapi_tinker.h"
#include "support/fakefront.h"
#include "support/servicefix.h"
#include "support/worldfix.h"

#define STEPS 3

static void open_world(worldfix *w, fakeapi *api, fakefront *front,
                       const char *const *options)
{
    static const char *const own[] = {"loop",         "manual",   "heartbeat", "86400000",
                                      "stuck_silent", "86400000", NULL};
    tinkc_config *config = servicefix_config(api, own);
    for (; options[0] != NULL; options += 2) {
        assert_int_equal(tinkc_config_set(config, options[0], options[1], NULL),
                         TINKC_OK);
    }
    if (front != NULL) {
        assert_int_equal(tinkc_config_set(config, "base_url", fakefront_url(front), NULL),
                         TINKC_OK);
        assert_int_equal(
            tinkc_config_set(config, "ca_file", fakefront_ca_file(front), NULL),
            TINKC_OK);
    }
    assert_true(worldfix_open(w, config));
    tinkc_config_free(&config);
}

static void drive(worldfix *w, tinkc_future *future)
{
    assert_int_equal(worldfix_drive(w, future), TINKC_OK);
}

static void finish(worldfix *w, tinkc_future *future)
{
    drive(w, future);
    tinkc_future_free(&future);
}

static void train_and_sample(worldfix *w)
{
    tinkc_training *training = NULL;
    tinkc_sampling *sampling = NULL;
    tinkc_samples *samples = NULL;
    tinkc_datum *datum = datumfix_new();
    tinkc_datum *data[] = {datum};
    tinkc_future *future = tinkc_service_create_training(w->service, "m", NULL);
    drive(w, future);
    assert_int_equal(tinkc_future_take_training(&training, future, NULL), TINKC_OK);
    tinkc_future_free(&future);
    for (int i = 0; i < STEPS; i++) {
        future =
            tinkc_training_forward_backward(training, data, 1, "cross_entropy", NULL);
        finish(w, tinkc_training_optim_step(training, NULL));
        finish(w, future);
    }
    future = tinkc_training_save_and_sample(training);
    drive(w, future);
    assert_int_equal(tinkc_future_take_sampling(&sampling, future, NULL), TINKC_OK);
    tinkc_future_free(&future);
    future = tinkc_sampling_sample(sampling, tinkc_datum_input(datum), NULL, NULL);
    drive(w, future);
    assert_int_equal(tinkc_future_take_samples(&samples, future, NULL), TINKC_OK);
    tinkc_future_free(&future);
    assert_int_equal(tinkc_samples_count(samples), 1);
    tinkc_samples_free(&samples);
    tinkc_sampling_close(&sampling);
    tinkc_training_close(&training);
    tinkc_datum_free(&datum);
}

/* Requests to the peer that came over HTTP/2. */
static size_t count_h2(fakeapi *api, const char *path)
{
    size_t n = 0;
    const fakeapi_request *request;
    for (size_t i = 0; (request = fakeapi_nth(api, "*", path, i)) != NULL; i++) {
        n += fakeapi_header(request, "x-front-protocol") != NULL;
    }
    return n;
}

typedef struct row {
    bool clear; /* without the front */
    fakefront_talk talk;
    const char *options[5];
    bool is_h2, train_is_h2;
    bool may_fall_back; /* the first requests of a group may be among the lost ones */
    size_t goaway_every, kill_every, refuse_every; /* as in fakefront_options */
} row;

static void converse(const row *r, fakeapi_fault lost)
{
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, &(fakeapi_tinker_options){.strict = true});
    if (lost != FAKEAPI_NONE) {
        fakeapi_lose_first(api, "POST", "*/optim_step", lost);
        fakeapi_lose_first(api, "POST", "*/forward_backward", lost);
    }
    fakefront_options how = {.talk = r->talk,
                             .goaway_every = r->goaway_every,
                             .kill_every = r->kill_every,
                             .refuse_every = r->refuse_every};
    fakefront *front = r->clear ? NULL : fakefront_start(api, &how);
    worldfix w = {.api = api};
    open_world(&w, api, front, r->options);
    train_and_sample(&w);
    tinkc_service_close(&w.service);
    assert_int_equal(fakeapi_tinker_ops(api, NULL), 2 * STEPS + 3);
    assert_int_equal(fakeapi_tinker_conflicts(api), 0);
    for (size_t i = 0; i < 2 * STEPS + 2; i++) {
        fakeapi_tinker_op op;
        assert_true(fakeapi_tinker_op_at(api, NULL, i, &op));
        assert_int_equal(op.seq_id, i);
    }
    if (!r->may_fall_back) {
        assert_int_equal(count_h2(api, "*/asample") > 0, r->is_h2);
        assert_int_equal(count_h2(api, "*/create_session") > 0, r->is_h2);
        assert_int_equal(count_h2(api, "*/optim_step"),
                         r->train_is_h2 ? fakeapi_count(api, "POST", "*/optim_step") : 0);
    }
    fakefront_stop(&front);
    fakeapi_stop(&api);
}

static const row rows[] = {
    {.clear = true},
    {.talk = FAKEFRONT_HTTP1},
    {.talk = FAKEFRONT_HTTP2, .is_h2 = true, .train_is_h2 = true},
    {.talk = FAKEFRONT_HTTP2, .options = {"http1_only", "true"}},
    {.talk = FAKEFRONT_HTTP2, .options = {"http1_train", "true"}, .is_h2 = true},
};

/* one conversation, the same over each protocol. */
static void test_tls_same_under_all_protocols(void **unused)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        converse(&rows[i], FAKEAPI_NONE);
    }
}

static void test_tls_once_under_faults(void **unused)
{
    for (size_t i = 1; i < 3; i++) {
        converse(&rows[i], FAKEAPI_RESET);
    }
}

/* HTTP/2 that works and breaks off again and again: connections that the server ends after
 * a few requests, streams that it refuses, connections that it ends with requests in
 * flight. Each piece of work is done once; connections that end in good order are no
 * reason to give HTTP/2 up. */
static void test_tls_http2_troubles(void **unused)
{
    static const row troubles[] = {
        {.goaway_every = 1}, {.goaway_every = 3}, {.refuse_every = 3},
        {.refuse_every = 2}, {.kill_every = 4},   {.kill_every = 3},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(troubles); i++) {
        row r = troubles[i];
        r.talk = FAKEFRONT_HTTP2;
        r.is_h2 = r.train_is_h2 = true;
        r.may_fall_back = r.goaway_every == 0;
        converse(&r, FAKEAPI_NONE);
    }
}

/* A-105, M-019: a server whose HTTP/2 does not work serves us all the same, over
 * HTTP/1.1. */
static void test_tls_falls_back(void **unused)
{
    static const fakefront_talk talks[] = {FAKEFRONT_GARBAGE, FAKEFRONT_GOAWAY,
                                           FAKEFRONT_HANG_UP};
    for (size_t i = 0; i < TK_ARRAY_LEN(talks); i++) {
        converse(&(row){.talk = talks[i]}, FAKEAPI_NONE);
    }
}

/* Not trusted: a clear error at once, which only the caller can fix; nothing is sent. */
static void test_tls_not_trusted(void **unused)
{
    fakeapi *api = fakeapi_start();
    fakefront *front =
        fakefront_start(api, &(fakefront_options){.talk = FAKEFRONT_HTTP2});
    const char *const options[] = {
        "base_url", fakefront_url(front), "max_retries", "0", "retry_total",
        "0",        "connect_timeout",    "60000",       NULL};
    tinkc_service *service = servicefix_open(api, options);
    tinkc_error *error = NULL;
    assert_int_equal(tinkc_service_health_wait(service, &error), TINKC_E_CONFIG);
    assert_non_null(strstr(tinkc_error_message(error), "certificate"));
    assert_int_equal(tinkc_error_class(error), TINKC_CLASS_USER);
    assert_false(tinkc_error_is_retryable(error));
    tinkc_error_free(&error);
    assert_int_equal(fakeapi_total(api), 0);
    assert_true(fakefront_wait_refused(front));
    assert_int_equal(fakefront_refused(front), 1);
    tinkc_service_close(&service);
    fakefront_stop(&front);
    fakeapi_stop(&api);
}

/* An archive that a server behind TLS keeps on one without: by redirect, or by the URL in
 * its answer. Nothing is asked for there, and nothing is left behind. */
static void test_tls_archive_in_clear(void **unused)
{
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    fakefront *front =
        fakefront_start(api, &(fakefront_options){.talk = FAKEFRONT_HTTP1});
    const char *const options[] = {"base_url",    fakefront_url(front),
                                   "ca_file",     fakefront_ca_file(front),
                                   "max_retries", "0",
                                   NULL};
    tinkc_service *service = servicefix_open(api, options);
    char location[128], body[160], target[] = "/tmp/tinkc-clear-XXXXXX", path[64];
    (void)snprintf(location, sizeof(location), "Location: %s/storage\r\n",
                   fakeapi_url(api));
    (void)snprintf(body, sizeof(body),
                   "{\"url\":\"%s/storage\",\"expires\":\"2100-01-01T00:00:00Z\"}",
                   fakeapi_url(api));
    assert_non_null(mkdtemp(target));
    (void)snprintf(path, sizeof(path), "%s/x", target);
    fakeapi_reply(api, "GET", "*/archive",
                  &(fakeapi_step){.status = 302, .headers = location});
    fakeapi_reply(api, "GET", "*/archive", &fakeapi_json(body));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tinkc_download_checkpoint(NULL, service, "tinker://r/weights/1",
                                                   path, NULL, NULL),
                         TINKC_E_CONFIG);
    }
    assert_int_equal(fakeapi_steps_left(api), 0);
    assert_int_equal(fakeapi_count(api, "GET", "/storage"), 0);
    assert_int_equal(rmdir(target), 0);
    tinkc_service_close(&service);
    fakefront_stop(&front);
    fakeapi_stop(&api);
}

/* a limit per group, seen as connections at the server; without one there are as
 * many as requests. */
static void expect_connections(const char *value, size_t limit)
{
    enum { SAMPLES = 12 };
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    fakeapi_gate *gate = fakeapi_gate_new(api);
    fakeapi_default(api, "POST", "*/asample",
                    &(fakeapi_step){.pass = true, .gate = gate});
    const char *const options[] = {"connections_sample", value, NULL};
    tinkc_service *service = servicefix_open(api, options);
    tinkc_sampling *sampling = NULL;
    tinkc_datum *datum = datumfix_new();
    assert_int_equal(
        tinkc_service_create_sampling_wait(&sampling, service, "m", NULL, NULL),
        TINKC_OK);
    tinkc_future *futures[SAMPLES];
    for (size_t i = 0; i < SAMPLES; i++) {
        futures[i] =
            tinkc_sampling_sample(sampling, tinkc_datum_input(datum), NULL, NULL);
    }
    assert_true(fakeapi_gate_wait(gate, limit));
    fakeapi_gate_open(gate);
    assert_int_equal(tinkc_future_wait_all(futures, SAMPLES, TINKC_FOREVER), TINKC_OK);
    bool seen[256] = {false};
    size_t connections = 0;
    for (size_t i = 0; i < SAMPLES; i++) {
        size_t number = fakeapi_nth(api, "POST", "*/asample", i)->connection;
        assert_in_range(number, 1, sizeof(seen) - 1);
        connections += !seen[number];
        seen[number] = true;
        tinkc_future_free(&futures[i]);
    }
    assert_int_equal(connections, limit);
    assert_int_equal(fakeapi_peak(api, "POST", "*/asample"), limit);
    tinkc_datum_free(&datum);
    tinkc_sampling_close(&sampling);
    tinkc_service_close(&service);
    fakeapi_stop(&api);
}

/* an option limits the connections of a group; by default nothing does. */
static void test_tls_connections_of_a_group(void **unused)
{
    expect_connections("3", 3);
    expect_connections(NULL, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tls_same_under_all_protocols),
        cmocka_unit_test(test_tls_once_under_faults),
        cmocka_unit_test(test_tls_http2_troubles),
        cmocka_unit_test(test_tls_falls_back),
        cmocka_unit_test(test_tls_not_trusted),
        cmocka_unit_test(test_tls_archive_in_clear),
        cmocka_unit_test(test_tls_connections_of_a_group),
    };
    return cmocka_run_group_tests_name("tls", tests, NULL, NULL);
}
