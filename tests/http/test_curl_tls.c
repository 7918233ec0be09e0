/* The libcurl transport behind TLS and over HTTP/2: trust, streams per connection, groups
 * apart, fallback to HTTP/1.1 (A-100, A-104, A-105, M-018, M-019).
 * Links: front */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "http/curl_transport.h"
#include "support/fakefront.h"
#include "support/test.h"
#include "support/waiter.h"

#define BURST 120

typedef struct fixture {
    fakeapi *api;
    fakefront *front;
    tk_transport *transport;
    size_t done, wanted;
} fixture;

typedef struct probe {
    tk_http_request request;
    fixture *owner;
    char url[128];
    tk_http_failure failure;
    int status;
    tinkc_code code;
    char message[512];
} probe;

static void on_done(tk_http_request *request, const tk_http_response *response)
{
    probe *p = request->user;
    p->owner->done++;
    p->failure = response->failure;
    p->status = response->status;
    p->code = response->err.code;
    (void)snprintf(p->message, sizeof(p->message), "%s", response->err.message);
}

/* The path that requests of a group go to. */
static const char *group_name(tk_http_group group)
{
    static const char *const names[] = {"session", "train", "sample",
                                        "futures", "rest",  "telemetry"};
    return names[group];
}

static void submit(probe *p, fixture *f, tk_http_group group)
{
    memset(p, 0, sizeof(*p));
    p->owner = f;
    (void)snprintf(p->url, sizeof(p->url), "%s/%s", fakefront_url(f->front),
                   group_name(group));
    p->request = (tk_http_request){.method = TK_HTTP_POST,
                                   .group = group,
                                   .url = p->url,
                                   .body = "{}",
                                   .body_n = 2,
                                   .timeout_ms = 60000,
                                   .connect_timeout_ms = 20000,
                                   .max_response_bytes = 1 << 20,
                                   .done = on_done,
                                   .user = p};
    assert_int_equal(f->transport->ops->submit(f->transport, &p->request, NULL),
                     TINKC_OK);
}

static void process(void *user)
{
    fixture *f = user;
    f->transport->ops->process(f->transport);
}

static bool all_done(void *user)
{
    const fixture *f = user;
    return f->done >= f->wanted;
}

static bool all_arrived(void *user)
{
    const fixture *f = user;
    return fakeapi_in_flight(f->api, "POST", "*") >= f->wanted;
}

static void run_until(fixture *f, bool (*is_done)(void *user), size_t wanted)
{
    f->wanted = wanted;
    assert_true(waiter_run(f->transport->ops->fd(f->transport), process, is_done, f));
}

static void run(probe *p, fixture *f, tk_http_group group)
{
    size_t before = f->done;
    submit(p, f, group);
    run_until(f, all_done, before + 1);
}

static void open_fixture(fixture *f, const fakefront_options *front)
{
    memset(f, 0, sizeof(*f));
    f->api = fakeapi_start();
    fakeapi_default(f->api, "*", "*", &fakeapi_json("{}"));
    f->front = fakefront_start(f->api, front);
}

static void open_transport(fixture *f, const tk_curl_options *options)
{
    tk_curl_options o = options != NULL ? *options : (tk_curl_options){0};
    o.proxy = "";
    if (o.ca_file == NULL && options == NULL) {
        o.ca_file = fakefront_ca_file(f->front);
    }
    assert_int_equal(tk_curl_transport_new(&f->transport, &o, NULL), TINKC_OK);
}

static void close_transport(fixture *f)
{
    f->transport->ops->close(f->transport);
    f->transport = NULL;
}

static void close_fixture(fixture *f)
{
    if (f->transport != NULL) {
        close_transport(f);
    }
    fakefront_stop(&f->front);
    fakeapi_stop(&f->api);
}

/* Number of the connection at the front that a request of this group came on. */
static size_t connection_of(fixture *f, tk_http_group group, size_t nth)
{
    char path[32];
    (void)snprintf(path, sizeof(path), "/%s", group_name(group));
    const fakeapi_request *request = fakeapi_nth(f->api, "POST", path, nth);
    assert_non_null(request);
    const char *number = fakeapi_header(request, "x-front-connection");
    assert_non_null(number);
    return (size_t)(number[0] - '0') * (number[1] == '\0') +
           (number[1] != '\0' ? (size_t)((number[0] - '0') * 10 + number[1] - '0') : 0);
}

static void expect_trust(fixture *f, const tk_curl_options *options, const char *problem)
{
    probe p;
    size_t before = fakeapi_total(f->api);
    open_transport(f, options);
    run(&p, f, TK_HTTP_REST);
    if (problem == NULL) {
        assert_int_equal(p.failure, TK_HTTP_OK);
        assert_int_equal(p.status, 200);
    } else {
        assert_int_equal(p.failure, TK_HTTP_TRUST);
        assert_int_equal(p.code, TINKC_E_CONFIG);
        assert_non_null(strstr(p.message, "certificate"));
        assert_non_null(strstr(p.message, problem));
    }
    assert_int_equal(fakeapi_total(f->api) - before, problem == NULL);
    close_transport(f);
}

/* A file or a folder of certificates is trusted instead of the system's store, which does
 * not know ours. Nothing is sent to a server that is not trusted. */
static void test_tls_trust(void **unused)
{
    fixture f, other;
    open_fixture(&f, &(fakefront_options){.talk = FAKEFRONT_HTTP2});
    open_fixture(&other, &(fakefront_options){.talk = FAKEFRONT_HTTP2});
    expect_trust(&f, &(tk_curl_options){.ca_file = fakefront_ca_file(f.front)}, NULL);
    expect_trust(&f, &(tk_curl_options){.ca_dir = fakefront_ca_dir(f.front)}, NULL);
    expect_trust(&f, &(tk_curl_options){0}, "issuer");
    expect_trust(&f, &(tk_curl_options){.ca_file = fakefront_ca_file(other.front)},
                 "certificate");
    expect_trust(&f, &(tk_curl_options){.ca_file = "/nowhere/ca.pem"}, "/nowhere/ca.pem");
    close_fixture(&f);
    close_fixture(&other);
}

/* M-018: certificates of others, of other hosts and old ones are refused. */
static void test_tls_bad_certificates(void **unused)
{
    static const struct {
        fakefront_cert cert;
        const char *problem;
    } rows[] = {{FAKEFRONT_CERT_OTHER_HOST, "127.0.0.1"},
                {FAKEFRONT_CERT_EXPIRED, "expired"}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        fixture f;
        open_fixture(&f, &(fakefront_options){.cert = rows[i].cert});
        expect_trust(&f, &(tk_curl_options){.ca_file = fakefront_ca_file(f.front)},
                     rows[i].problem);
        close_fixture(&f);
    }
}

/* M-040: a server that wants a certificate gets it. */
static void test_tls_client_certificate(void **unused)
{
    fixture f;
    probe p;
    open_fixture(&f, &(fakefront_options){.wants_client = true});
    open_transport(&f, NULL);
    run(&p, &f, TK_HTTP_REST);
    assert_int_not_equal(p.failure, TK_HTTP_OK);
    assert_int_equal(fakeapi_total(f.api), 0);
    close_transport(&f);
    expect_trust(&f,
                 &(tk_curl_options){.ca_file = fakefront_ca_file(f.front),
                                    .client_cert = fakefront_client_cert(f.front),
                                    .client_key = fakefront_client_key(f.front)},
                 NULL);
    close_fixture(&f);
}

/* A-105, M-018: HTTP/2 where the server agrees, HTTP/1.1 where it does not or a group
 * asks for it. */
static void test_tls_protocol(void **unused)
{
    static const struct {
        fakefront_talk talk;
        tk_curl_protocol train;
        bool train_is_h2, sample_is_h2;
    } rows[] = {{FAKEFRONT_HTTP1, TK_CURL_AUTO, false, false},
                {FAKEFRONT_HTTP2, TK_CURL_AUTO, true, true},
                {FAKEFRONT_HTTP2, TK_CURL_HTTP1, false, true}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        fixture f;
        open_fixture(&f, &(fakefront_options){.talk = rows[i].talk});
        tk_curl_options options = {.ca_file = fakefront_ca_file(f.front)};
        options.protocol[TK_HTTP_TRAIN] = rows[i].train;
        open_transport(&f, &options);
        for (size_t k = 0; k < 3; k++) {
            probe train, sample;
            run(&train, &f, TK_HTTP_TRAIN);
            run(&sample, &f, TK_HTTP_SAMPLE);
            assert_int_equal(train.status, 200);
            assert_int_equal(sample.status, 200);
            bool is_h2 = fakeapi_header(fakeapi_nth(f.api, "POST", "/train", k),
                                        "x-front-protocol") != NULL;
            assert_int_equal(is_h2, rows[i].train_is_h2);
            is_h2 = fakeapi_header(fakeapi_nth(f.api, "POST", "/sample", k),
                                   "x-front-protocol") != NULL;
            assert_int_equal(is_h2, rows[i].sample_is_h2);
        }
        assert_int_equal(fakefront_connections(f.front), 2); /* each kept its own */
        close_fixture(&f);
    }
}

/* A burst shares connections, 50 requests each; training has one per request. */
static void burst(tk_http_group group, size_t n, size_t streams, size_t connections)
{
    static probe probes[BURST];
    fixture f;
    open_fixture(&f, &(fakefront_options){.talk = FAKEFRONT_HTTP2});
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    fakeapi_default(f.api, "*", "*", &(fakeapi_step){.body = "{}", .gate = gate});
    open_transport(&f, NULL);
    for (size_t i = 0; i < n; i++) {
        submit(&probes[i], &f, group);
    }
    run_until(&f, all_arrived, n);
    assert_int_equal(fakefront_peak_streams(f.front), streams);
    assert_int_equal(fakefront_connections(f.front), connections);
    fakeapi_gate_open(gate);
    run_until(&f, all_done, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(probes[i].status, 200);
    }
    close_fixture(&f);
}

/* A-104, M-021: 50 requests share a connection; training has one on each. */
static void test_tls_streams_per_connection(void **unused)
{
    burst(TK_HTTP_SAMPLE, 50, 50, 1);
    burst(TK_HTTP_FUTURES, BURST, 50, 3);
    burst(TK_HTTP_TRAIN, 8, 1, 8);
}

/* a limit of connections holds: the others wait until one is free. */
static void test_tls_limits(void **unused)
{
    static probe probes[8];
    fixture f;
    open_fixture(&f, &(fakefront_options){.talk = FAKEFRONT_HTTP2});
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    fakeapi_default(f.api, "*", "*", &(fakeapi_step){.body = "{}", .gate = gate});
    tk_curl_options options = {.ca_file = fakefront_ca_file(f.front)};
    options.max_connections[TK_HTTP_TRAIN] = 2;
    open_transport(&f, &options);
    for (size_t i = 0; i < TK_ARRAY_LEN(probes); i++) {
        submit(&probes[i], &f, TK_HTTP_TRAIN);
    }
    run_until(&f, all_arrived, 2);
    fakeapi_gate_open(gate);
    run_until(&f, all_done, TK_ARRAY_LEN(probes));
    for (size_t i = 0; i < TK_ARRAY_LEN(probes); i++) {
        assert_int_equal(probes[i].status, 200);
    }
    assert_int_equal(fakefront_peak_streams(f.front), 1);
    assert_int_equal(fakefront_connections(f.front), 2);
    close_fixture(&f);
}

/* A-104, M-020: each group has its own HTTP/2 connection, and keeps it. */
static void test_tls_groups_are_apart(void **unused)
{
    fixture f;
    size_t numbers[TK_HTTP_GROUPS];
    open_fixture(&f, &(fakefront_options){.talk = FAKEFRONT_HTTP2});
    open_transport(&f, NULL);
    for (size_t round = 0; round < 2; round++) {
        for (size_t group = 0; group < TK_HTTP_GROUPS; group++) {
            probe p;
            run(&p, &f, (tk_http_group)group);
            assert_int_equal(p.status, 200);
            size_t number = connection_of(&f, (tk_http_group)group, round);
            if (round == 0) {
                numbers[group] = number;
            } else {
                assert_int_equal(number, numbers[group]); /* reused */
            }
            for (size_t k = 0; round == 0 && k < group; k++) {
                assert_int_not_equal(number, numbers[k]);
            }
        }
    }
    assert_int_equal(fakefront_connections(f.front), TK_HTTP_GROUPS);
    close_fixture(&f);
}

/* A-105, M-019: a group in which HTTP/2 does not work goes on over HTTP/1.1; the
 * others try for themselves. SIGPIPE has its default action: a peer that hangs up must
 * not end us. */
static void test_tls_fallback(void **unused)
{
    static const fakefront_talk talks[] = {FAKEFRONT_GARBAGE, FAKEFRONT_GOAWAY,
                                           FAKEFRONT_HANG_UP};
    (void)signal(SIGPIPE, SIG_DFL);
    for (size_t i = 0; i < TK_ARRAY_LEN(talks); i++) {
        fixture f;
        open_fixture(&f, &(fakefront_options){.talk = talks[i]});
        open_transport(&f, NULL);
        size_t total = 0;
        for (size_t group = TK_HTTP_TRAIN; group <= TK_HTTP_SAMPLE; group++) {
            probe p;
            size_t before = fakefront_http2(f.front);
            run(&p, &f, (tk_http_group)group);
            assert_int_equal(p.failure, TK_HTTP_RESET);
            run(&p, &f, (tk_http_group)group); /* a second one may be lost, too */
            size_t served = p.failure == TK_HTTP_OK;
            assert_true(fakefront_http2(f.front) > before);
            size_t tried = fakefront_http2(f.front);
            for (size_t k = 0; k < 2; k++) {
                run(&p, &f, (tk_http_group)group);
                assert_int_equal(p.failure, TK_HTTP_OK);
                assert_int_equal(p.status, 200);
            }
            assert_int_equal(fakefront_http2(f.front), tried);
            total += served + 2;
        }
        assert_int_equal(fakeapi_total(f.api), total);
        close_fixture(&f);
    }
}

/* One request whose stream was reset does not switch HTTP/2 off. */
static void test_tls_reset_stream(void **unused)
{
    fixture f;
    probe p;
    open_fixture(&f, &(fakefront_options){.talk = FAKEFRONT_HTTP2});
    fakeapi_reply(f.api, "POST", "/sample", &(fakeapi_step){.fault = FAKEAPI_RESET});
    open_transport(&f, NULL);
    run(&p, &f, TK_HTTP_SAMPLE);
    assert_int_equal(p.failure, TK_HTTP_RESET);
    run(&p, &f, TK_HTTP_SAMPLE);
    assert_int_equal(p.status, 200);
    assert_int_equal(connection_of(&f, TK_HTTP_SAMPLE, 1), 1);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tls_trust),
        cmocka_unit_test(test_tls_bad_certificates),
        cmocka_unit_test(test_tls_client_certificate),
        cmocka_unit_test(test_tls_protocol),
        cmocka_unit_test(test_tls_streams_per_connection),
        cmocka_unit_test(test_tls_limits),
        cmocka_unit_test(test_tls_groups_are_apart),
        cmocka_unit_test(test_tls_fallback),
        cmocka_unit_test(test_tls_reset_stream),
    };
    return cmocka_run_group_tests_name("curl_tls", tests, NULL, NULL);
}
