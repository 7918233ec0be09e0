/* Every way in which the peer misbehaves, seen from the other end of the socket. */
#include "support/fakeapi.h"
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
    return 0;
}

/* Plays one step against one POST. */
static httpget_outcome play(fakeapi *api, const fakeapi_step *step, httpget_response *out)
{
    fakeapi_reply(api, "POST", "/x", step);
    return httpget_once(fakeapi_port(api),
                        &(httpget_request){.target = "/x", .body = "request"}, out);
}

static void expect_outcome(fakeapi *api, const fakeapi_step *step,
                           httpget_outcome expected, const char *body)
{
    httpget_response r;
    assert_int_equal(play(api, step, &r), expected);
    assert_string_equal(r.body.p != NULL ? r.body.p : "", body);
    httpget_response_dispose(&r);
}

/* the response is lost after the request was read and recorded. */
static void test_reset_and_drop_after_the_request(void **state)
{
    fakeapi *api = *state;
    expect_outcome(api, &(fakeapi_step){.fault = FAKEAPI_RESET}, HTTPGET_RESET, "");
    expect_outcome(api, &(fakeapi_step){.fault = FAKEAPI_DROP}, HTTPGET_CLOSED, "");
    assert_int_equal(fakeapi_count(api, "POST", "/x"), 2);
    assert_string_equal(fakeapi_request_at(api, 0)->body, "request");
    assert_true(fakeapi_request_at(api, 1)->is_whole);
    assert_int_equal(fakeapi_in_flight(api, "*", "*"), 0);
}

static void test_reset_before_the_body(void **state)
{
    fakeapi *api = *state;
    fakeapi_reply(api, "POST", "/x", &(fakeapi_step){.fault = FAKEAPI_RESET_EARLY});
    httpget *c = httpget_connect(fakeapi_port(api));
    static const char head[] = "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n";
    assert_true(httpget_send(c, head, sizeof(head) - 1));
    httpget_response r;
    assert_int_equal(httpget_read(c, &r), HTTPGET_RESET);
    httpget_response_dispose(&r);
    assert_false(fakeapi_request_at(api, 0)->is_whole);
    assert_int_equal(fakeapi_request_at(api, 0)->body_n, 0);
    httpget_close(&c);
}

static void test_connections_reset_at_accept(void **state)
{
    fakeapi *api = *state;
    fakeapi_reset_connections(api, 1);
    httpget *c = httpget_connect(fakeapi_port(api));
    assert_true(c == NULL || httpget_wait_end(c) == HTTPGET_RESET);
    httpget_close(&c);
    expect_outcome(api, &fakeapi_json("fine"), HTTPGET_OK, "fine");
    assert_int_equal(fakeapi_total(api), 1);
}

static void test_cut_heads_and_bodies(void **state)
{
    fakeapi *api = *state;
    expect_outcome(api, &(fakeapi_step){.fault = FAKEAPI_CUT_HEAD, .body = "{}"},
                   HTTPGET_CUT, "");
    expect_outcome(api,
                   &(fakeapi_step){.fault = FAKEAPI_CUT_BODY, .body = "abcdef", .cut = 4},
                   HTTPGET_CUT, "abcd");
    expect_outcome(api, &(fakeapi_step){.fault = FAKEAPI_CUT_BODY, .body = "abcdef"},
                   HTTPGET_CUT, "");
    expect_outcome(api,
                   &(fakeapi_step){.fault = FAKEAPI_CUT_BODY,
                                   .framing = FAKEAPI_CHUNKED,
                                   .body = "abcdef",
                                   .cut = 4,
                                   .drip = 3},
                   HTTPGET_CUT, "abcd");
    expect_outcome(api,
                   &(fakeapi_step){.fault = FAKEAPI_CUT_BODY,
                                   .framing = FAKEAPI_CHUNKED,
                                   .body = "abcdef",
                                   .cut = 6},
                   HTTPGET_CUT, "abcdef");
}

static void test_reset_within_the_body(void **state)
{
    fakeapi *api = *state;
    httpget_response r;
    fakeapi_step step = {.fault = FAKEAPI_RESET_BODY, .body = "abcdef", .cut = 4};
    assert_int_equal(play(api, &step, &r), HTTPGET_RESET);
    assert_in_range(r.body.n, 0, 4); /* a reset may overtake what was sent before it */
    httpget_response_dispose(&r);
}

/* Silence, whole or within the body: the connection stays, other requests are served. */
static void test_silence(void **state)
{
    fakeapi *api = *state;
    fakeapi_reply(api, "POST", "/x", &(fakeapi_step){.fault = FAKEAPI_NEVER});
    fakeapi_reply(
        api, "POST", "/x",
        &(fakeapi_step){.fault = FAKEAPI_STALL_BODY, .body = "abcdef", .cut = 3});
    httpget *c[2];
    for (size_t i = 0; i < 2; i++) {
        c[i] = httpget_connect(fakeapi_port(api));
        assert_true(httpget_ask(c[i], &(httpget_request){.target = "/x", .body = "r"}));
        assert_true(fakeapi_wait_for(api, "POST", "/x", i + 1));
    }
    expect_outcome(api, &fakeapi_json("served"), HTTPGET_OK, "served");
    assert_int_equal(fakeapi_in_flight(api, "POST", "/x"), 2);
    assert_true(fakeapi_wait_connections(api, 2));
    httpget_close(&c[0]);
    httpget_close(&c[1]);
    assert_true(fakeapi_wait_connections(api, 0));
    assert_int_equal(fakeapi_abandoned(api), 2);
}

static void test_framing(void **state)
{
    fakeapi *api = *state;
    httpget_response r;
    fakeapi_step chunked = {.body = "abcdefg", .framing = FAKEAPI_CHUNKED, .drip = 3};
    assert_int_equal(play(api, &chunked, &r), HTTPGET_OK);
    assert_string_equal(r.body.p, "abcdefg");
    assert_int_equal(r.chunks, 3);
    assert_false(r.has_length);
    httpget_response_dispose(&r);

    fakeapi_step until_close = {.body = "abc", .framing = FAKEAPI_UNTIL_CLOSE};
    assert_int_equal(play(api, &until_close, &r), HTTPGET_OK);
    assert_string_equal(r.body.p, "abc");
    assert_null(httpget_header(&r, "content-length"));
    assert_null(httpget_header(&r, "transfer-encoding"));
    httpget_response_dispose(&r);

    fakeapi_step too_long = {.body = "abc", .framing = FAKEAPI_WRONG_LENGTH};
    too_long.declared_length = 9;
    assert_int_equal(play(api, &too_long, &r), HTTPGET_CUT);
    assert_int_equal(r.length, 9);
    assert_string_equal(r.body.p, "abc");
    httpget_response_dispose(&r);

    fakeapi_step too_short = {.body = "abc", .framing = FAKEAPI_WRONG_LENGTH};
    too_short.declared_length = 2;
    assert_int_equal(play(api, &too_short, &r), HTTPGET_OK);
    assert_string_equal(r.body.p, "ab");
    httpget_response_dispose(&r);
}

static void test_http10_answers(void **state)
{
    fakeapi *api = *state;
    httpget_response r;
    fakeapi_step step = {.body = "old", .http10 = true, .framing = FAKEAPI_UNTIL_CLOSE};
    assert_int_equal(play(api, &step, &r), HTTPGET_OK);
    assert_int_equal(r.minor, 0);
    assert_string_equal(r.body.p, "old");
    httpget_response_dispose(&r);
}

static void test_bodiless_answers(void **state)
{
    fakeapi *api = *state;
    httpget *c = httpget_connect(fakeapi_port(api));
    httpget_response r;
    fakeapi_default(api, "*", "/204", &(fakeapi_step){.status = 204, .body = "ignored"});
    fakeapi_default(api, "*", "/200", &fakeapi_json("{}"));
    const char *targets[] = {"/204", "/200"};
    for (size_t i = 0; i < 4; i++) {
        assert_true(httpget_ask(c, &(httpget_request){.target = targets[i % 2]}));
        assert_int_equal(httpget_read(c, &r), HTTPGET_OK);
        assert_string_equal(r.body.p, i % 2 == 0 ? "" : "{}");
        assert_int_equal(r.has_length, i % 2 == 1);
        httpget_response_dispose(&r);
    }
    httpget_close(&c);
}

/* Drip: each piece leaves on its own permit. */
static void test_drip_by_permits(void **state)
{
    fakeapi *api = *state;
    fakeapi_gate *gate = fakeapi_gate_new(api);
    fakeapi_reply(api, "POST", "/x",
                  &(fakeapi_step){.body = "abcdef", .drip = 2, .drip_gate = gate});
    httpget *c = httpget_connect(fakeapi_port(api));
    assert_true(httpget_ask(c, &(httpget_request){.target = "/x", .body = "r"}));
    for (int i = 0; i < 3; i++) {
        assert_true(fakeapi_gate_wait(gate, 1));
        assert_int_equal(fakeapi_in_flight(api, "*", "*"), 1);
        fakeapi_gate_let(gate, 1);
        assert_true(i == 2 || fakeapi_gate_wait(gate, 1));
    }
    httpget_response r;
    assert_int_equal(httpget_read(c, &r), HTTPGET_OK);
    assert_string_equal(r.body.p, "abcdef");
    httpget_response_dispose(&r);
    httpget_close(&c);
}

static void test_100_continue(void **state)
{
    fakeapi *api = *state;
    static const char head[] = "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n"
                               "Expect: 100-continue\r\n\r\n";
    httpget_response r;
    fakeapi_reply(api, "POST", "/x", &fakeapi_json("asked"));
    fakeapi_reply(api, "POST", "/x", &(fakeapi_step){.body = "b", .send_100 = true});
    fakeapi_reply(api, "POST", "/x", &(fakeapi_step){.body = "c", .no_continue = true});
    fakeapi_reply(api, "POST", "/x",
                  &(fakeapi_step){.status = 413, .body = "early", .early = true});
    httpget *c = httpget_connect(fakeapi_port(api));
    static const unsigned interim[] = {1, 2, 0};
    for (size_t i = 0; i < TK_ARRAY_LEN(interim); i++) {
        assert_true(httpget_send(c, head, sizeof(head) - 1));
        assert_true(httpget_send(c, "ok", 2));
        assert_int_equal(httpget_read(c, &r), HTTPGET_OK);
        assert_int_equal(r.interim, interim[i]);
        httpget_response_dispose(&r);
    }
    assert_true(httpget_send(c, head, sizeof(head) - 1));
    assert_int_equal(httpget_read(c, &r), HTTPGET_OK);
    assert_int_equal(r.status, 413);
    assert_string_equal(r.body.p, "early");
    httpget_response_dispose(&r);
    assert_false(fakeapi_request_at(api, 3)->is_whole);
    httpget_close(&c);
}

/* An answer before the body is read does not turn into a reset that could lose it. */
static void test_early_answers_end_politely(void **state)
{
    fakeapi *api = *state;
    enum { SIZE = 512 * 1024 };
    char *body = fakeapi_alloc(SIZE);
    memset(body, 'x', SIZE);
    fakeapi_reply(api, "POST", "/x",
                  &(fakeapi_step){.status = 429, .body = "early", .early = true});
    httpget *c = httpget_connect(fakeapi_port(api));
    httpget_request request = {.target = "/x", .body = body, .body_n = SIZE};
    assert_true(httpget_ask(c, &request));
    httpget_response r;
    assert_int_equal(httpget_read(c, &r), HTTPGET_OK);
    assert_int_equal(r.status, 429);
    assert_string_equal(r.body.p, "early");
    httpget_response_dispose(&r);
    assert_int_equal(httpget_wait_end(c), HTTPGET_CLOSED);
    httpget_close(&c);
    assert_true(fakeapi_wait_connections(api, 0));
    assert_int_equal(fakeapi_abandoned(api), 0);
    fakeapi_release(body);
}

typedef struct expectation {
    int status;
    const char *header, *value, *body; /* each may be NULL */
} expectation;

static void expect_answer(fakeapi *api, const fakeapi_step *step, const expectation *e)
{
    httpget_response r;
    assert_int_equal(play(api, step, &r), HTTPGET_OK);
    assert_int_equal(r.status, e->status);
    if (e->header != NULL) {
        assert_string_equal(httpget_header(&r, e->header), e->value);
    }
    if (e->body != NULL) {
        assert_string_equal(r.body.p, e->body);
    }
    httpget_response_dispose(&r);
}

/* queue states, in both forms of "try again". */
static void test_canned_futures(void **state)
{
    static const expectation expected[] = {
        {408, "content-type", "application/json",
         "{\"type\":\"try_again\",\"request_id\":\"r\",\"queue_state\":\"paused_capacity\","
         "\"queue_state_reason\":null}"},
        {200, "content-type", "application/json",
         "{\"type\":\"try_again\",\"request_id\":\"r\",\"queue_state\":"
         "\"paused_rate_limit\",\"queue_state_reason\":\"too many\"}"},
        {200, NULL, NULL,
         "{\"status\":\"complete_metadata\",\"request_id\":\"r\","
         "\"response_payload_size\":4096}"},
        {200, NULL, NULL, "{\"error\":\"out of tokens\",\"category\":\"user\"}"},
        {200, "content-type", "application/x-protobuf", "\x0a"},
    };
    const fakeapi_step steps[] = {
        fakeapi_408("paused_capacity"),
        fakeapi_try_again_because("paused_rate_limit", "too many"),
        fakeapi_complete_metadata(4096), fakeapi_failed("out of tokens", "user"),
        fakeapi_proto("\x0a\x00", 2)};
    for (size_t i = 0; i < TK_ARRAY_LEN(steps); i++) {
        expect_answer(*state, &steps[i], &expected[i]);
    }
}

static void test_canned_errors(void **state)
{
    static const expectation expected[] = {
        {429, "retry-after-ms", "1500", NULL},
        {429, "retry-after", "7", NULL},
        {429, "retry-after", "Wed, 27 May 2026 20:00:00 GMT", NULL},
        {429, NULL, NULL, "{\"detail\":\"Too many requests\"}"},
        {402, NULL, NULL, NULL},
        {410, NULL, NULL, NULL},
        {400, "transfer-encoding", "chunked", "{\"detail\":\"bad\"}"},
        {400, "content-length", "0", ""},
        {422, NULL, NULL,
         "{\"detail\":[{\"loc\":[\"body\",\"model_id\"],\"msg\":\"Field required\","
         "\"type\":\"value_error\"}]}"},
    };
    char date[FAKEAPI_AFTER_DATE_SIZE];
    const fakeapi_step steps[] = {fakeapi_429(FAKEAPI_AFTER_MS(1500)),
                                  fakeapi_429(FAKEAPI_AFTER_S(7)),
                                  fakeapi_429(fakeapi_after_date(date, 1779912000)),
                                  fakeapi_429(NULL),
                                  fakeapi_402(),
                                  fakeapi_410(),
                                  fakeapi_bare_400_chunked(),
                                  fakeapi_bare_400_empty(),
                                  fakeapi_422("model_id", "Field required")};
    for (size_t i = 0; i < TK_ARRAY_LEN(steps); i++) {
        expect_answer(*state, &steps[i], &expected[i]);
    }
}

/* Every response is lost once; the repetition passes. */
static void test_lose_first(void **state)
{
    fakeapi *api = *state;
    fakeapi_default(api, "POST", "*", &fakeapi_json("ok"));
    fakeapi_lose_first(api, "POST", "/train*", FAKEAPI_RESET);
    static const struct {
        const char *target, *body;
        httpget_outcome outcome;
    } rows[] = {
        {"/train", "1", HTTPGET_RESET}, {"/train", "2", HTTPGET_RESET},
        {"/train", "1", HTTPGET_OK},    {"/train2", "1", HTTPGET_RESET},
        {"/train", "2", HTTPGET_OK},    {"/other", "1", HTTPGET_OK},
        {"/train2", "1", HTTPGET_OK},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        httpget_response r;
        httpget_request request = {.target = rows[i].target, .body = rows[i].body};
        assert_int_equal(httpget_once(fakeapi_port(api), &request, &r), rows[i].outcome);
        httpget_response_dispose(&r);
    }
}

/* A retried ephemeral save has a new sampling_session_seq_id, and is still the same. */
static void test_lose_first_knows_ephemeral_saves(void **state)
{
    fakeapi *api = *state;
    fakeapi_default(api, "POST", "*", &fakeapi_json("ok"));
    fakeapi_lose_first(api, "POST", "*", FAKEAPI_DROP);
    static const char *const bodies[] = {
        "{\"model_id\":\"m\",\"sampling_session_seq_id\":4,\"seq_id\":2}",
        "{\"model_id\":\"m\",\"sampling_session_seq_id\":15,\"seq_id\":2}",
        "{\"model_id\":\"m\",\"sampling_session_seq_id\":15,\"seq_id\":3}"};
    static const httpget_outcome outcomes[] = {HTTPGET_CLOSED, HTTPGET_OK,
                                               HTTPGET_CLOSED};
    for (size_t i = 0; i < TK_ARRAY_LEN(bodies); i++) {
        httpget_response r;
        httpget_request request = {.target = "/api/v1/save_weights_for_sampler",
                                   .body = bodies[i]};
        assert_int_equal(httpget_once(fakeapi_port(api), &request, &r), outcomes[i]);
        httpget_response_dispose(&r);
    }
}

/* Hostile requests get an answer and an end, and do not hurt the next client. */
static void test_hostile_requests(void **state)
{
    fakeapi *api = *state;
    fakeapi_bytes huge = {0};
    fakeapi_bytes_puts(&huge, "GET / HTTP/1.1\r\nHost: h\r\nLong: ");
    for (size_t i = 0; i < 2 * FAKEAPI_HEAD_MAX_BYTES; i++) {
        fakeapi_bytes_put(&huge, "x", 1);
    }
    const struct {
        const char *text;
        int status;
    } rows[] = {{"nonsense\r\n\r\n", 400},
                {"GET / HTTP/1.1\r\n\r\n", 400},
                {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
                {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1e3\r\n\r\n", 400},
                {fakeapi_bytes_cstr(&huge), 431}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        httpget *c = httpget_connect(fakeapi_port(api));
        httpget_response r;
        assert_true(httpget_send(c, rows[i].text, strlen(rows[i].text)));
        assert_int_equal(httpget_read(c, &r), HTTPGET_OK);
        assert_int_equal(r.status, rows[i].status);
        assert_true(r.length > 0);
        httpget_response_dispose(&r);
        assert_int_equal(httpget_wait_end(c), HTTPGET_CLOSED);
        httpget_close(&c);
    }
    fakeapi_bytes_dispose(&huge);
    assert_int_equal(fakeapi_total(api), 0);
    expect_outcome(api, &fakeapi_json("fine"), HTTPGET_OK, "fine");
}

/* Content-length above what comes: the client leaves, nothing is recorded. */
static void test_requests_cut_short(void **state)
{
    fakeapi *api = *state;
    static const char text[] =
        "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nab";
    for (size_t n = 1; n < sizeof(text); n += 7) {
        httpget *c = httpget_connect(fakeapi_port(api));
        assert_true(httpget_send(c, text, n));
        httpget_half_close(c);
        assert_int_equal(httpget_wait_end(c), HTTPGET_CLOSED);
        httpget_close(&c);
    }
    assert_true(fakeapi_wait_connections(api, 0));
    assert_int_equal(fakeapi_total(api), 0);
    assert_int_equal(fakeapi_abandoned(api), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_reset_and_drop_after_the_request, start,
                                        stop),
        cmocka_unit_test_setup_teardown(test_reset_before_the_body, start, stop),
        cmocka_unit_test_setup_teardown(test_connections_reset_at_accept, start, stop),
        cmocka_unit_test_setup_teardown(test_cut_heads_and_bodies, start, stop),
        cmocka_unit_test_setup_teardown(test_reset_within_the_body, start, stop),
        cmocka_unit_test_setup_teardown(test_silence, start, stop),
        cmocka_unit_test_setup_teardown(test_framing, start, stop),
        cmocka_unit_test_setup_teardown(test_http10_answers, start, stop),
        cmocka_unit_test_setup_teardown(test_bodiless_answers, start, stop),
        cmocka_unit_test_setup_teardown(test_drip_by_permits, start, stop),
        cmocka_unit_test_setup_teardown(test_100_continue, start, stop),
        cmocka_unit_test_setup_teardown(test_early_answers_end_politely, start, stop),
        cmocka_unit_test_setup_teardown(test_canned_futures, start, stop),
        cmocka_unit_test_setup_teardown(test_canned_errors, start, stop),
        cmocka_unit_test_setup_teardown(test_lose_first, start, stop),
        cmocka_unit_test_setup_teardown(test_lose_first_knows_ephemeral_saves, start,
                                        stop),
        cmocka_unit_test_setup_teardown(test_hostile_requests, start, stop),
        cmocka_unit_test_setup_teardown(test_requests_cut_short, start, stop),
    };
    return cmocka_run_group_tests_name("fakeapi_conn", tests, NULL, NULL);
}
