/* The scripted peer as its users see it: scripts, gates, records, keep-alive, crowds. */
#include "support/fakeapi.h"

#include <pthread.h>
#include <stdlib.h>

#include "support/httpget.h"
#include "support/test.h"

static int start(void **state)
{
    *state = fakeapi_start();
    return 0;
}

static int stop(void **state)
{
    fakeapi *api = *state;
    fakeapi_stop(&api);
    assert_null(api);
    return 0;
}

/* One request on an open connection; the status, with the body compared when given. */
static int ask(httpget *c, const char *target, const char *body, const char *expected)
{
    httpget_response r;
    assert_true(httpget_ask(c, &(httpget_request){.target = target, .body = body}));
    assert_int_equal(httpget_read(c, &r), HTTPGET_OK);
    if (expected != NULL) {
        assert_string_equal(r.body.p, expected);
    }
    int status = r.status;
    httpget_response_dispose(&r);
    return status;
}

static httpget *open_to(fakeapi *api)
{
    httpget *c = httpget_connect(fakeapi_port(api));
    assert_non_null(c);
    return c;
}

/* steps are used one after the other, then the default, then 404. */
static void test_steps_in_order_then_default(void **state)
{
    fakeapi *api = *state;
    httpget *c = open_to(api);
    fakeapi_reply(api, "POST", "/a", &fakeapi_json("1"));
    fakeapi_reply(api, "POST", "/a", &(fakeapi_step){.body = "2", .repeat = 2});
    fakeapi_reply(api, "POST", "/a", &fakeapi_detail(409, "three"));
    assert_int_equal(fakeapi_steps_left(api), 4);
    assert_int_equal(ask(c, "/a", "x", "1"), 200);
    assert_int_equal(ask(c, "/a", "x", "2"), 200);
    assert_int_equal(ask(c, "/a", "x", "2"), 200);
    assert_int_equal(ask(c, "/a", "x", "{\"detail\":\"three\"}"), 409);
    assert_int_equal(fakeapi_steps_left(api), 0);
    assert_int_equal(ask(c, "/a", "x", NULL), 404);
    fakeapi_default(api, "POST", "/a", &fakeapi_json("d"));
    assert_int_equal(ask(c, "/a", "x", "d"), 200);
    fakeapi_default(api, "POST", "/a", &fakeapi_json("e"));
    assert_int_equal(ask(c, "/a", "x", "e"), 200);
    fakeapi_reply(api, "POST", "/a", &fakeapi_json("again"));
    assert_int_equal(ask(c, "/a", "x", "again"), 200);
    assert_int_equal(ask(c, "/a", "x", "e"), 200);
    assert_int_equal(fakeapi_connections_total(api), 1);
    httpget_close(&c);
}

static void test_patterns_and_methods(void **state)
{
    fakeapi *api = *state;
    httpget *c = open_to(api);
    fakeapi_default(api, "POST", "/p/*/end", &fakeapi_json("post"));
    fakeapi_default(api, "GET", "/p/*", &fakeapi_json("get"));
    fakeapi_default(api, "*", "/any", &fakeapi_json("any"));
    assert_int_equal(ask(c, "/p/a/b/end", "x", "post"), 200);
    assert_int_equal(ask(c, "/p/a/b/en", "x", NULL), 404);
    assert_int_equal(ask(c, "/p/a/b/end", NULL, "get"), 200);
    assert_int_equal(ask(c, "/any?x=1", "x", "any"), 200);
    assert_int_equal(ask(c, "/p/u%3Atrain%3A0", NULL, "get"), 200);
    assert_int_equal(fakeapi_count(api, "GET", "/p/u:train:0"), 1);
    assert_int_equal(fakeapi_count(api, "*", "*"), 5);
    assert_int_equal(fakeapi_count(api, "POST", "/p/*"), 2);
    httpget_close(&c);
}

static void test_record_keeps_what_was_sent(void **state)
{
    fakeapi *api = *state;
    httpget *c = open_to(api);
    static const char body[] = "by\0tes";
    assert_true(httpget_ask(c, &(httpget_request){.method = "PUT",
                                                  .target = "/a%20b?q=1&r=%2F",
                                                  .headers = "X-Two: 2\r\nx-two: 3\r\n",
                                                  .body = body,
                                                  .body_n = 6}));
    assert_true(fakeapi_wait_for(api, "PUT", "/a b", 1));
    const fakeapi_request *r = fakeapi_request_at(api, 0);
    assert_string_equal(r->method, "PUT");
    assert_string_equal(r->target, "/a%20b?q=1&r=%2F");
    assert_string_equal(r->path, "/a b");
    assert_string_equal(r->query, "q=1&r=%2F");
    assert_string_equal(fakeapi_header(r, "X-TWO"), "2");
    assert_int_equal(fakeapi_header_count(r, "x-two"), 2);
    assert_null(fakeapi_header(r, "x-three"));
    assert_int_equal(r->body_n, 6);
    assert_memory_equal(r->body, body, 7);
    assert_true(r->is_whole);
    assert_int_equal(r->connection, 1);
    assert_int_equal(r->http_minor, 1);
    assert_true(r->arrived_ns > 0);
    assert_ptr_equal(fakeapi_nth(api, "*", "/a*", 0), r);
    assert_null(fakeapi_nth(api, "*", "/a*", 1));
    assert_null(fakeapi_request_at(api, 1));
    httpget_close(&c);
}

static void test_keep_alive_and_close(void **state)
{
    fakeapi *api = *state;
    httpget *c = open_to(api);
    fakeapi_default(api, "*", "/stay", &fakeapi_json("{}"));
    fakeapi_default(api, "*", "/close", &(fakeapi_step){.close = true});
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(ask(c, "/stay", "x", "{}"), 200);
        assert_int_equal(fakeapi_request_at(api, i)->on_connection, i);
    }
    httpget_response r;
    assert_true(httpget_ask(c, &(httpget_request){.target = "/close"}));
    assert_int_equal(httpget_read(c, &r), HTTPGET_OK);
    assert_string_equal(httpget_header(&r, "connection"), "close");
    httpget_response_dispose(&r);
    assert_int_equal(httpget_wait_end(c), HTTPGET_CLOSED);
    httpget_close(&c);
    c = open_to(api);
    assert_true(httpget_ask(
        c, &(httpget_request){.target = "/stay", .headers = "Connection: close\r\n"}));
    assert_int_equal(httpget_read(c, &r), HTTPGET_OK);
    httpget_response_dispose(&r);
    assert_int_equal(httpget_wait_end(c), HTTPGET_CLOSED);
    assert_int_equal(fakeapi_request_at(api, 6)->connection, 2);
    assert_true(fakeapi_wait_connections(api, 0));
    httpget_close(&c);
}

static void test_pipelined_requests_are_answered_in_order(void **state)
{
    fakeapi *api = *state;
    httpget *c = open_to(api);
    fakeapi_gate *gate = fakeapi_gate_new(api);
    fakeapi_default(api, "POST", "/first",
                    &(fakeapi_step){.body = "first", .gate = gate});
    fakeapi_default(api, "POST", "/second", &fakeapi_json("second"));
    fakeapi_bytes out = {0};
    for (int i = 0; i < 300; i++) {
        httpget_write(&out, &(httpget_request){.target = "/first", .body = "a"});
        httpget_write(&out,
                      &(httpget_request){.target = "/second", .body = "b", .chunk = 1});
    }
    assert_true(httpget_send(c, out.p, out.n));
    fakeapi_bytes_dispose(&out);
    assert_true(fakeapi_gate_wait(gate, 1));
    assert_int_equal(fakeapi_total(api), 1);
    fakeapi_gate_open(gate);
    for (int i = 0; i < 600; i++) {
        httpget_response r;
        assert_int_equal(httpget_read(c, &r), HTTPGET_OK);
        assert_string_equal(r.body.p, i % 2 == 0 ? "first" : "second");
        httpget_response_dispose(&r);
    }
    assert_int_equal(fakeapi_peak(api, "*", "*"), 1);
    httpget_close(&c);
}

static void test_split_writes_and_chunked_requests(void **state)
{
    fakeapi *api = *state;
    httpget *c = open_to(api);
    fakeapi_default(api, "POST", "/a", &fakeapi_json("{}"));
    fakeapi_bytes out = {0};
    httpget_write(&out, &(httpget_request){.target = "/a", .body = "hello", .chunk = 2});
    for (size_t piece = 1; piece <= out.n; piece += 5) {
        httpget_response r;
        assert_true(httpget_send_split(c, out.p, out.n, piece));
        assert_int_equal(httpget_read(c, &r), HTTPGET_OK);
        httpget_response_dispose(&r);
        const fakeapi_request *last = fakeapi_request_at(api, fakeapi_total(api) - 1);
        assert_string_equal(last->body, "hello");
    }
    fakeapi_bytes_dispose(&out);
    httpget_close(&c);
}

/* Gates: permits pass answers one by one in order of arrival; open passes all. */
static void test_gates_release_in_order(void **state)
{
    fakeapi *api = *state;
    fakeapi_gate *gate = fakeapi_gate_new(api);
    fakeapi_default(api, "GET", "/a", &(fakeapi_step){.body = "go", .gate = gate});
    httpget *c[4];
    for (size_t i = 0; i < TK_ARRAY_LEN(c); i++) {
        c[i] = open_to(api);
        assert_true(httpget_ask(c[i], &(httpget_request){.target = "/a"}));
        assert_true(fakeapi_gate_wait(gate, i + 1));
    }
    assert_int_equal(fakeapi_in_flight(api, "GET", "/a"), 4);
    httpget_response r;
    fakeapi_gate_let(gate, 1);
    assert_int_equal(httpget_read(c[0], &r), HTTPGET_OK);
    httpget_response_dispose(&r);
    assert_true(fakeapi_gate_wait(gate, 3));
    httpget_close(&c[1]); /* a client that leaves uses no permit */
    assert_true(fakeapi_gate_wait(gate, 2));
    fakeapi_gate_let(gate, 1);
    assert_int_equal(httpget_read(c[2], &r), HTTPGET_OK);
    httpget_response_dispose(&r);
    assert_int_equal(fakeapi_gate_waiting(gate), 1);
    fakeapi_gate_open(gate);
    assert_int_equal(httpget_read(c[3], &r), HTTPGET_OK);
    httpget_response_dispose(&r);
    assert_int_equal(ask(c[0], "/a", NULL, "go"), 200);
    fakeapi_gate_shut(gate);
    assert_true(httpget_ask(c[0], &(httpget_request){.target = "/a"}));
    assert_true(fakeapi_gate_wait(gate, 1));
    assert_int_equal(fakeapi_peak(api, "GET", "/a"), 4);
    assert_int_equal(fakeapi_abandoned(api), 1);
    httpget_close(&c[0]);
    httpget_close(&c[2]);
    httpget_close(&c[3]);
    assert_true(fakeapi_wait_connections(api, 0));
    assert_int_equal(fakeapi_abandoned(api), 2);
}

static void test_forget_keeps_what_is_in_work(void **state)
{
    fakeapi *api = *state;
    fakeapi_gate *gate = fakeapi_gate_new(api);
    fakeapi_default(api, "GET", "/held", &(fakeapi_step){.gate = gate});
    fakeapi_default(api, "GET", "/a", &fakeapi_json("{}"));
    httpget *c = open_to(api), *held = open_to(api);
    assert_int_equal(ask(c, "/a", NULL, NULL), 200);
    assert_true(httpget_ask(held, &(httpget_request){.target = "/held"}));
    assert_true(fakeapi_gate_wait(gate, 1));
    assert_true(fakeapi_wait_in_flight(api, "*", "*", 1));
    fakeapi_forget(api);
    assert_int_equal(fakeapi_total(api), 1);
    assert_string_equal(fakeapi_request_at(api, 0)->path, "/held");
    assert_int_equal(ask(c, "/a", NULL, NULL), 200);
    assert_int_equal(fakeapi_peak(api, "*", "*"), 2);
    fakeapi_gate_open(gate);
    assert_true(fakeapi_wait_in_flight(api, "*", "*", 0));
    httpget_close(&c);
    httpget_close(&held);
}

/* Delays count the manual clock: nothing passes before the test says so. */
static void test_delays_follow_the_manual_clock(void **state)
{
    fakeapi *api = *state;
    fakeapi_clock_manual(api);
    fakeapi_default(api, "GET", "/slow", &(fakeapi_step){.body = "s", .delay_ms = 30000});
    fakeapi_default(api, "GET", "/fast", &fakeapi_json("f"));
    httpget *c = open_to(api), *other = open_to(api);
    assert_true(httpget_ask(c, &(httpget_request){.target = "/slow"}));
    assert_true(fakeapi_wait_for(api, "GET", "/slow", 1));
    fakeapi_clock_advance(api, 29999);
    assert_int_equal(ask(other, "/fast", NULL, "f"), 200);
    assert_int_equal(fakeapi_in_flight(api, "GET", "/slow"), 1);
    fakeapi_clock_advance(api, 1);
    httpget_response r;
    assert_int_equal(httpget_read(c, &r), HTTPGET_OK);
    assert_string_equal(r.body.p, "s");
    httpget_response_dispose(&r);
    httpget_close(&c);
    httpget_close(&other);
}

/* Delays on the real clock, which only this test uses. */
static void test_delays_pass_by_themselves(void **state)
{
    fakeapi *api = *state;
    fakeapi_reply(api, "GET", "/slow", &(fakeapi_step){.body = "s", .delay_ms = 1});
    fakeapi_reply(api, "GET", "/slow",
                  &(fakeapi_step){.body = "drops", .drip = 2, .drip_ms = 1});
    httpget *c = open_to(api);
    assert_int_equal(ask(c, "/slow", NULL, "s"), 200);
    assert_int_equal(ask(c, "/slow", NULL, "drops"), 200);
    httpget_close(&c);
}

/* thousands of parked requests are one thread and no polling. */
static void test_a_crowd_is_parked_and_released(void **state)
{
    enum { CROWD = 500 };
    fakeapi *api = *state;
    assert_true(fakeapi_allow_files(2 * CROWD + 64));
    fakeapi_gate *gate = fakeapi_gate_new(api);
    fakeapi_default(api, "POST", "/poll", &(fakeapi_step){.body = "done", .gate = gate});
    httpget *c[CROWD];
    for (size_t i = 0; i < CROWD; i++) {
        c[i] = open_to(api);
        assert_true(
            httpget_ask(c[i], &(httpget_request){.target = "/poll", .body = "p"}));
    }
    assert_true(fakeapi_gate_wait(gate, CROWD));
    assert_int_equal(fakeapi_in_flight(api, "POST", "/poll"), CROWD);
    assert_int_equal(fakeapi_connections(api), CROWD);
    for (size_t i = 0; i < 100; i++) {
        httpget_close(&c[i]);
    }
    assert_true(fakeapi_gate_wait(gate, CROWD - 100));
    fakeapi_gate_open(gate);
    for (size_t i = 100; i < CROWD; i++) {
        httpget_response r;
        assert_int_equal(httpget_read(c[i], &r), HTTPGET_OK);
        assert_string_equal(r.body.p, "done");
        httpget_response_dispose(&r);
        httpget_close(&c[i]);
    }
    assert_true(fakeapi_wait_connections(api, 0));
    assert_int_equal(fakeapi_peak(api, "POST", "/poll"), CROWD);
    assert_int_equal(fakeapi_abandoned(api), 100);
}

enum { WORKERS = 8, ROUNDS = 50 };

static void *work(void *user)
{
    fakeapi *api = user;
    httpget *c = httpget_connect(fakeapi_port(api));
    size_t good = 0;
    for (int i = 0; c != NULL && i < ROUNDS; i++) {
        httpget_response r = {0};
        good += httpget_ask(c, &(httpget_request){.target = "/w", .body = "12345"}) &&
                httpget_read(c, &r) == HTTPGET_OK && r.status == 200;
        httpget_response_dispose(&r);
        (void)fakeapi_count(api, "POST", "/w");
    }
    httpget_close(&c);
    return good == ROUNDS ? api : NULL;
}

static void test_many_threads_ask_at_once(void **state)
{
    fakeapi *api = *state;
    fakeapi_default(api, "POST", "/w", &fakeapi_json("{}"));
    pthread_t threads[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, work, api), 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        void *good = NULL;
        pthread_join(threads[i], &good);
        assert_ptr_equal(good, api);
    }
    assert_int_equal(fakeapi_count(api, "POST", "/w"), WORKERS * ROUNDS);
    assert_int_equal(fakeapi_connections_total(api), WORKERS);
    assert_in_range(fakeapi_peak(api, "POST", "/w"), 1, WORKERS);
    for (size_t i = 0; i < WORKERS * ROUNDS; i++) {
        assert_int_equal(fakeapi_request_at(api, i)->index, i);
    }
}

static void test_large_bodies_both_ways(void **state)
{
    fakeapi *api = *state;
    enum { SIZE = 8 * 1024 * 1024 };
    char *body = fakeapi_alloc(SIZE + 1);
    for (size_t i = 0; i < SIZE; i++) {
        body[i] = (char)('a' + i % 23);
    }
    fakeapi_default(api, "POST", "/big", &(fakeapi_step){.body = body, .body_n = SIZE});
    httpget *c = open_to(api);
    httpget_response r;
    assert_true(httpget_ask(c, &(httpget_request){.target = "/big", .body = body}));
    assert_int_equal(httpget_read(c, &r), HTTPGET_OK);
    assert_int_equal(r.body.n, SIZE);
    assert_memory_equal(r.body.p, body, SIZE);
    httpget_response_dispose(&r);
    assert_int_equal(fakeapi_request_at(api, 0)->body_n, SIZE);
    assert_memory_equal(fakeapi_request_at(api, 0)->body, body, SIZE);
    httpget_close(&c);
    fakeapi_release(body);
}

static void test_stop_with_work_under_way(void **state)
{
    fakeapi *api = fakeapi_start();
    fakeapi_gate *gate = fakeapi_gate_new(api);
    fakeapi_default(api, "*", "*", &(fakeapi_step){.gate = gate});
    httpget *c = open_to(api), *idle = open_to(api);
    assert_true(httpget_ask(c, &(httpget_request){.target = "/"}));
    assert_true(fakeapi_gate_wait(gate, 1));
    fakeapi_stop(&api);
    assert_null(api);
    fakeapi_stop(&api);
    assert_int_equal(httpget_wait_end(c), HTTPGET_CLOSED);
    assert_int_equal(httpget_wait_end(idle), HTTPGET_CLOSED);
    httpget_close(&c);
    httpget_close(&idle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_steps_in_order_then_default, start, stop),
        cmocka_unit_test_setup_teardown(test_patterns_and_methods, start, stop),
        cmocka_unit_test_setup_teardown(test_record_keeps_what_was_sent, start, stop),
        cmocka_unit_test_setup_teardown(test_keep_alive_and_close, start, stop),
        cmocka_unit_test_setup_teardown(test_pipelined_requests_are_answered_in_order,
                                        start, stop),
        cmocka_unit_test_setup_teardown(test_split_writes_and_chunked_requests, start,
                                        stop),
        cmocka_unit_test_setup_teardown(test_gates_release_in_order, start, stop),
        cmocka_unit_test_setup_teardown(test_forget_keeps_what_is_in_work, start, stop),
        cmocka_unit_test_setup_teardown(test_delays_follow_the_manual_clock, start, stop),
        cmocka_unit_test_setup_teardown(test_delays_pass_by_themselves, start, stop),
        cmocka_unit_test_setup_teardown(test_a_crowd_is_parked_and_released, start, stop),
        cmocka_unit_test_setup_teardown(test_many_threads_ask_at_once, start, stop),
        cmocka_unit_test_setup_teardown(test_large_bodies_both_ways, start, stop),
        cmocka_unit_test(test_stop_with_work_under_way),
    };
    return cmocka_run_group_tests_name("fakeapi", tests, NULL, NULL);
}
