/* The proxy between clients and servers: its decisions are a function of the seed, it
 * finds the ends of messages, and each act does what it says, seen by a raw client and the
 * scripted peer. */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "support/fakeapi.h"
#include "support/httpget.h"
#include "support/proxy.h"
#include "support/proxy_http.h"
#include "support/test.h"

/* ---- decisions ---- */

#define MIXED                                                                            \
    {                                                                                    \
        [PROXY_DELAY] = 100, [PROXY_DROP] = 100, [PROXY_DUPLICATE] = 100,                \
        [PROXY_REORDER] = 100, [PROXY_HALVE] = 100, [PROXY_STALL] = 100,                 \
        [PROXY_HANG] = 100                                                               \
    }

static void print_fate(char out[80], const proxy_fate *fate)
{
    (void)snprintf(out, 80, "%s %s %s %u %u", proxy_act_name(fate->act),
                   fate->of_response ? "response" : "request",
                   fate->with_reset ? "RST" : "FIN", fate->permille, fate->ms);
}

/* Written down once: another machine, another build and the next version decide the same,
 * so that a seed in a report can be replayed. */
static void test_proxy_decision_table(void **state)
{
    static const struct {
        uint64_t seed, connection, exchange;
        const char *fate;
    } rows[] = {
        {1, 1, 1, "hang request FIN 13 11"},   {1, 1, 2, "hang response RST 162 20"},
        {1, 2, 1, "hang request RST 500 1"},   {1, 2, 2, "reorder request FIN 309 7"},
        {1, 3, 1, "stall response FIN 756 5"}, {2, 1, 1, "reorder request RST 300 2"},
        {2, 1, 2, "pass request RST 521 6"},   {7, 99, 12345, "stall request FIN 246 7"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        const proxy_options options = {.seed = rows[i].seed, .rate = MIXED};
        proxy_fate fate = proxy_decide(&options, rows[i].connection, rows[i].exchange);
        char text[80];
        print_fate(text, &fate);
        assert_string_equal(text, rows[i].fate);
    }
}

/* Rates are of 1,000 exchanges, and one rate does not change what another decides. */
static void test_proxy_rates(void **state)
{
    size_t n[PROXY_ACTS] = {0};
    proxy_options options = {.seed = 3, .rate = MIXED};
    for (uint64_t i = 1; i <= 10000; i++) {
        proxy_fate fate = proxy_decide(&options, i, 1 + i % 7);
        n[fate.act]++;
        assert_true(fate.ms >= 1 && fate.ms <= 20 && fate.permille < 1000);
    }
    for (int act = PROXY_DELAY; act < PROXY_ACTS; act++) {
        assert_in_range(n[act], 850, 1150);
    }
    assert_in_range(n[PROXY_PASS], 2700, 3300);
    const proxy_options none = {.seed = 3};
    for (uint64_t i = 1; i <= 1000; i++) {
        assert_int_equal(proxy_decide(&none, i, 1).act, PROXY_PASS);
    }
}

/* ---- where messages end ---- */

/* The length of the message at the beginning of the text, fed in pieces of `step`. */
static size_t message_bytes(const char *text, bool is_response, bool no_body, size_t step)
{
    proxy_head head;
    proxy_frame frame;
    size_t n = strlen(text);
    proxy_found found = proxy_head_read(&head, text, n, is_response, no_body);
    if (found != PROXY_HEAD_OK) {
        return 0;
    }
    size_t at = head.n;
    proxy_frame_begin(&frame, &head);
    while (frame.part != PROXY_PART_END && at < n) {
        at += proxy_frame_feed(&frame, text + at, TK_MIN(step, n - at));
    }
    return frame.part == PROXY_PART_END || frame.part == PROXY_PART_CLOSE ? at : 0;
}

static void test_proxy_messages_end(void **state)
{
    static const struct {
        const char *text;
        bool is_response, no_body;
        const char *rest; /* what is not part of it; NULL: not a message */
    } rows[] = {
        {"GET / HTTP/1.1\r\n\r\nGET", false, false, "GET"},
        {"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcX", false, false, "X"},
        {"POST / HTTP/1.1\r\ncontent-length:  3 \r\n\r\nab", false, false, NULL},
        {"POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"
         "3\r\nabc\r\nA;x=1\r\n01\r\n\r\n6789\r\n0\r\nT: 1\r\n\r\nX",
         false, false, "X"},
        {"HTTP/1.1 200 OK\r\n\r\nall of it", true, false, ""},
        {"HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\nHTTP", true, false, "HTTP"},
        {"HTTP/1.1 304 No\r\n\r\nHTTP", true, false, "HTTP"},
        {"HTTP/1.1 100 Go\r\n\r\nHTTP", true, false, "HTTP"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHTTP", true, true, "HTTP"},
        {"SSH-2.0\r\n\r\n", false, false, NULL},
        {"HTTP/1.1\r\n\r\n", true, false, NULL},
        {"GET / HTTP/1.1\r\nX: ", false, false, NULL},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        for (size_t step = 1; step < 40; step++) {
            size_t n =
                message_bytes(rows[i].text, rows[i].is_response, rows[i].no_body, step);
            const char *rest = n > 0 ? rows[i].text + n : NULL;
            if (rows[i].rest == NULL) {
                assert_null(rest);
            } else {
                assert_non_null(rest);
                assert_string_equal(rest, rows[i].rest);
            }
        }
    }
}

/* ---- a peer, the proxy and a client ---- */

typedef struct fixture {
    fakeapi *api;
    proxy *net;
    httpget *client;
    httpget_response answer;
    httpget_outcome outcome;
} fixture;

static void open_fixture(fixture *f, proxy_options options)
{
    memset(f, 0, sizeof(*f));
    f->api = fakeapi_start();
    fakeapi_default(f->api, "*", "*", &fakeapi_json("{\"a\":\"0123456789\"}"));
    options.to_port = fakeapi_port(f->api);
    f->net = proxy_start(&options);
}

static void close_fixture(fixture *f)
{
    httpget_close(&f->client);
    httpget_response_dispose(&f->answer);
    proxy_stop(&f->net);
    fakeapi_stop(&f->api);
}

static void ask(fixture *f, const char *target)
{
    const httpget_request request = {.target = target, .body = "{\"b\":\"abcdefghij\"}"};
    if (f->client == NULL) {
        f->client = httpget_connect(proxy_port(f->net));
        assert_non_null(f->client);
    }
    httpget_response_dispose(&f->answer);
    (void)httpget_ask(f->client, &request);
    f->outcome = httpget_read(f->client, &f->answer);
    if (f->outcome != HTTPGET_OK) {
        httpget_close(&f->client);
    }
}

static bool wait_count(const proxy *net, proxy_act act, size_t n)
{
    int64_t end = tk_clock_mono_ms(NULL) + HTTPGET_CAP_S * 1000;
    while (proxy_count(net, act) < n && tk_clock_mono_ms(NULL) < end) {
        (void)poll(NULL, 0, 1);
    }
    return proxy_count(net, act) >= n;
}

/* An option set with which every exchange has this act. `of_response` by a seed that
 * decides so for the first exchange of the first connection. */
static proxy_options always(proxy_act act, bool of_response)
{
    proxy_options options = {.max_ms = 1};
    options.rate[act] = 1000;
    while (proxy_decide(&options, 1, 1).of_response != of_response ||
           proxy_decide(&options, 1, 1).permille < 100) {
        options.seed++;
    }
    return options;
}

/* Three exchanges on one connection, unchanged. */
static void test_proxy_passes(void **state)
{
    fixture f;
    open_fixture(&f, (proxy_options){.seed = 1});
    for (size_t i = 0; i < 3; i++) {
        ask(&f, "/x");
        assert_int_equal(f.outcome, HTTPGET_OK);
        assert_string_equal(f.answer.body.p, "{\"a\":\"0123456789\"}");
        assert_string_equal(fakeapi_nth(f.api, "POST", "/x", i)->body,
                            "{\"b\":\"abcdefghij\"}");
    }
    assert_int_equal(fakeapi_connections_total(f.api), 1);
    assert_int_equal(proxy_count(f.net, PROXY_PASS), 3);
    close_fixture(&f);
}

/* Delays and stalls change nothing but the time. */
static void test_proxy_delays_and_stalls(void **state)
{
    static const proxy_act acts[] = {PROXY_DELAY, PROXY_STALL};
    for (size_t i = 0; i < 4; i++) {
        fixture f;
        proxy_act act = acts[i / 2];
        open_fixture(&f, always(act, i % 2 == 1));
        for (size_t k = 0; k < 3; k++) {
            ask(&f, "/x");
            assert_int_equal(f.outcome, HTTPGET_OK);
            assert_string_equal(f.answer.body.p, "{\"a\":\"0123456789\"}");
        }
        assert_int_equal(proxy_count(f.net, act), 3);
        assert_int_equal(fakeapi_count(f.api, "POST", "/x"), 3);
        close_fixture(&f);
    }
}

/* A dropped request never arrives; of a dropped response nothing arrives. */
static void test_proxy_drops(void **state)
{
    fixture f;
    for (int of_response = 0; of_response < 2; of_response++) {
        proxy_options options = always(PROXY_DROP, of_response == 1);
        bool with_reset = proxy_decide(&options, 1, 1).with_reset;
        open_fixture(&f, options);
        ask(&f, "/x");
        assert_int_equal(f.outcome, with_reset ? HTTPGET_RESET : HTTPGET_CLOSED);
        assert_int_equal(fakeapi_count(f.api, "POST", "/x"), of_response);
        close_fixture(&f);
    }
}

/* The whole request arrives twice, on two connections; the client sees one answer. */
static void test_proxy_duplicates(void **state)
{
    fixture f;
    open_fixture(&f, always(PROXY_DUPLICATE, false));
    ask(&f, "/x");
    assert_int_equal(f.outcome, HTTPGET_OK);
    assert_true(fakeapi_wait_for(f.api, "POST", "/x", 2));
    const fakeapi_request *first = fakeapi_nth(f.api, "POST", "/x", 0);
    const fakeapi_request *second = fakeapi_nth(f.api, "POST", "/x", 1);
    assert_string_equal(first->body, second->body);
    assert_int_not_equal(first->connection, second->connection);
    ask(&f, "/y");
    assert_int_equal(f.outcome, HTTPGET_OK);
    assert_true(fakeapi_wait_for(f.api, "POST", "/y", 2));
    close_fixture(&f);
}

/* A request waits until one of another connection was answered. */
static void test_proxy_reorders(void **state)
{
    fixture f;
    proxy_options options = always(PROXY_REORDER, false);
    options.max_ms = 3600000;
    options.only = "/late";
    while (proxy_decide(&options, 1, 1).ms < 600000) {
        options.seed++;
    }
    open_fixture(&f, options);
    const httpget_request late = {.target = "/late", .body = "{}"};
    f.client = httpget_connect(proxy_port(f.net));
    assert_true(httpget_ask(f.client, &late));
    const httpget_request early = {.target = "/early", .body = "{}"};
    assert_true(wait_count(f.net, PROXY_REORDER, 1)); /* it waits now */
    httpget_response answer;
    assert_int_equal(httpget_once(proxy_port(f.net), &early, &answer), HTTPGET_OK);
    httpget_response_dispose(&answer);
    f.outcome = httpget_read(f.client, &f.answer);
    assert_int_equal(f.outcome, HTTPGET_OK);
    assert_int_equal(fakeapi_nth(f.api, "POST", "/early", 0)->index, 0);
    assert_int_equal(fakeapi_nth(f.api, "POST", "/late", 0)->index, 1);
    close_fixture(&f);
}

/* A halved request is never complete; of a halved response the beginning arrives. */
static void test_proxy_halves(void **state)
{
    fixture f;
    proxy_options options = always(PROXY_HALVE, false);
    open_fixture(&f, options);
    ask(&f, "/x");
    assert_int_not_equal(f.outcome, HTTPGET_OK);
    assert_int_equal(fakeapi_count(f.api, "POST", "/x"), 0);
    close_fixture(&f);
    options = always(PROXY_HALVE, true);
    while (!proxy_decide(&options, 1, 1).of_response ||
           proxy_decide(&options, 1, 1).with_reset ||
           proxy_decide(&options, 1, 1).permille < 990) {
        options.seed++; /* an RST may overtake what came before it */
    }
    open_fixture(&f, options);
    ask(&f, "/x");
    assert_int_equal(f.outcome, HTTPGET_CUT);
    assert_int_equal(f.answer.status, 200);
    assert_true(f.answer.body.n > 0 && f.answer.body.n < f.answer.length);
    assert_int_equal(fakeapi_count(f.api, "POST", "/x"), 1);
    close_fixture(&f);
}

/* Nothing comes any more, and the client's leaving ends both connections. */
static void test_proxy_hangs(void **state)
{
    fixture f;
    open_fixture(&f, always(PROXY_HANG, true));
    const httpget_request request = {.target = "/x", .body = "{}"};
    f.client = httpget_connect(proxy_port(f.net));
    assert_true(httpget_ask(f.client, &request));
    assert_true(fakeapi_wait_for(f.api, "POST", "/x", 1));
    httpget_close(&f.client);
    assert_true(fakeapi_wait_connections(f.api, 0));
    close_fixture(&f);
}

/* What is not HTTP passes as it is, in both directions. */
static void test_proxy_raw_bytes(void **state)
{
    fixture f;
    open_fixture(&f, (proxy_options){.seed = 1, .rate[PROXY_DROP] = 1000});
    f.client = httpget_connect(proxy_port(f.net));
    assert_true(httpget_send(f.client, "SSH-2.0\r\n\r\n", 11));
    f.outcome = httpget_read(f.client, &f.answer);
    assert_int_equal(proxy_count(f.net, PROXY_DROP), 0);
    close_fixture(&f);
}

/* A body of many pieces passes in bounded memory and unchanged. */
static void test_proxy_large_body(void **state)
{
    fixture f;
    size_t n = 3 * TK_MIB;
    char *body = fakeapi_alloc(n + 1);
    memset(body, 'b', n);
    open_fixture(&f, always(PROXY_STALL, false));
    const httpget_request request = {.target = "/x", .body = body, .body_n = n};
    f.client = httpget_connect(proxy_port(f.net));
    assert_true(httpget_ask(f.client, &request));
    f.outcome = httpget_read(f.client, &f.answer);
    assert_int_equal(f.outcome, HTTPGET_OK);
    assert_int_equal(fakeapi_nth(f.api, "POST", "/x", 0)->body_n, n);
    fakeapi_release(body);
    close_fixture(&f);
}

static void keep_line(const char *line, void *user)
{
    fakeapi_bytes *out = user;
    fakeapi_bytes_puts(out, line);
    fakeapi_bytes_puts(out, "\n");
}

/* Every decision is a line; the same seed and connections give the same lines. */
static void test_proxy_logs_decisions(void **state)
{
    fakeapi_bytes lines[2] = {{0}, {0}};
    for (int i = 0; i < 2; i++) {
        fixture f;
        proxy_options options = {.seed = 11, .rate = MIXED, .max_ms = 1};
        options.rate[PROXY_HANG] = 0;
        options.log = keep_line;
        options.log_user = &lines[i];
        open_fixture(&f, options);
        for (int k = 0; k < 20; k++) {
            ask(&f, "/x");
            httpget_close(&f.client); /* one exchange per connection */
        }
        close_fixture(&f);
    }
    assert_string_equal(fakeapi_bytes_cstr(&lines[0]), fakeapi_bytes_cstr(&lines[1]));
    assert_non_null(strstr(lines[0].p, "connection 20 exchange 1: "));
    assert_non_null(strstr(lines[0].p, "POST /x HTTP/1.1"));
    fakeapi_bytes_dispose(&lines[0]);
    fakeapi_bytes_dispose(&lines[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_proxy_decision_table),
        cmocka_unit_test(test_proxy_rates),
        cmocka_unit_test(test_proxy_messages_end),
        cmocka_unit_test(test_proxy_passes),
        cmocka_unit_test(test_proxy_delays_and_stalls),
        cmocka_unit_test(test_proxy_drops),
        cmocka_unit_test(test_proxy_duplicates),
        cmocka_unit_test(test_proxy_reorders),
        cmocka_unit_test(test_proxy_halves),
        cmocka_unit_test(test_proxy_hangs),
        cmocka_unit_test(test_proxy_raw_bytes),
        cmocka_unit_test(test_proxy_large_body),
        cmocka_unit_test(test_proxy_logs_decisions),
    };
    return cmocka_run_group_tests_name("proxy", tests, NULL, NULL);
}
