/* Connections that wait too long or are too many: which one is closed, and that the
 * others go on. Time limits are short here; every wait is for the end of a connection. */
#include "httpd/hd_conns.h"

#include <arpa/inet.h>
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"
#include "httpd/hd_http.h"
#include "httpd/hd_reply.h"
#include "support/httpget.h"
#include "support/test.h"

#define MS          TK_NS_PER_MS
#define PATIENCE_NS (INT64_C(60000) * MS) /* of every wait */
#define LONG_NS     (INT64_C(3600000) * MS)
#define BIG_BYTES   (64 * TK_MIB)
#define HALF        "POST /take HTTP/1.1\r\nHost: 127.0.0.1\r\nX-"

typedef struct app {
    hd_budget memory;
    hd_work *work;
    hd_http *http;
    int port;
} app;

static hd_verdict take(hd_request *request)
{
    return hd_reply_fixed(request, 200, HD_TYPE_JSON, TK_STR("[]"));
}

/* Handled a second time when the front stops. */
static hd_verdict later(hd_request *request)
{
    if (request->due_ns == 0) {
        request->due_ns = tk_clock_mono_ns(NULL) + LONG_NS;
        return HD_LATER;
    }
    return take(request);
}

static hd_verdict big(hd_request *request)
{
    static char bytes[BIG_BYTES];
    return hd_reply_fixed(request, 200, HD_TYPE_JSON, (tk_str){bytes, sizeof(bytes)});
}

static const hd_route rows[] = {
    {"POST", "/take", take, 0, 0, NULL},
    {"GET", "/later", later, 0, 0, NULL},
    {"GET", "/big", big, 0, 0, NULL},
    {"GET", "/open", take, HD_ROUTE_OPEN, 0, NULL},
};
static const hd_routes routes = {rows, TK_ARRAY_LEN(rows)};

/* Nothing is late, and there is room for all. */
static hd_conns_limits patient(void)
{
    return (hd_conns_limits){.total = 64,
                             .strangers = 64,
                             .per_address = 64,
                             .head_ns = LONG_NS,
                             .body_ns = LONG_NS,
                             .idle_ns = LONG_NS,
                             .send_ns = LONG_NS,
                             .rate = SIZE_MAX};
}

static void open_app(app *it, const hd_conns_limits *limits, const char *key)
{
    tk_err err = TK_ERR_INIT;
    memset(it, 0, sizeof(*it));
    hd_budget_init(&it->memory, TK_MIB, NULL);
    assert_int_equal(hd_work_new(&it->work, &hd_route_dispatch, &err), TINKC_OK);
    const hd_http_config config = {.host = "127.0.0.1",
                                   .api_key = key,
                                   .routes = &routes,
                                   .work = it->work,
                                   .budget = &it->memory,
                                   .app = it,
                                   .limits = limits};
    assert_int_equal(hd_http_new(&it->http, &config, &err), TINKC_OK);
    assert_int_equal(hd_http_start(it->http, &err), TINKC_OK);
    it->port = (int)hd_http_port(it->http);
}

static void close_app(app *it)
{
    hd_http_quiesce(it->http);
    hd_http_stop(it->http);
    hd_work_free(it->work);
    hd_http_free(it->http);
}

static hd_conns_stats stats_of(app *it)
{
    hd_http_stats stats;
    hd_http_get_stats(it->http, &stats);
    return stats.conns;
}

/* Opens a connection with these bytes, and waits until the server has counted it. */
static httpget *connect_with(app *it, const char *text, size_t n_open)
{
    httpget *connection = httpget_connect(it->port);
    assert_non_null(connection);
    assert_true(httpget_send(connection, text, strlen(text)));
    int64_t end = tk_clock_mono_ns(NULL) + PATIENCE_NS;
    while (stats_of(it).open + stats_of(it).dropped < n_open &&
           tk_clock_mono_ns(NULL) < end) {
        (void)poll(NULL, 0, 1);
    }
    return connection;
}

/* Asks; 0 when the connection was closed. */
static int try_on(httpget *connection, const char *target, const char *headers)
{
    httpget_response response;
    const httpget_request request = {.target = target, .headers = headers};
    if (!httpget_ask(connection, &request)) {
        return 0;
    }
    int status = httpget_read(connection, &response) == HTTPGET_OK ? response.status : 0;
    httpget_response_dispose(&response);
    return status;
}

static int ask_on(httpget *connection, const char *target, const char *headers)
{
    int status = try_on(connection, target, headers);
    assert_int_not_equal(status, 0);
    return status;
}

/* Connects and asks, again when this process was too slow for a short limit. */
static httpget *ask_new(app *it, const char *target, const char *headers)
{
    int64_t end = tk_clock_mono_ns(NULL) + PATIENCE_NS;
    httpget *connection = httpget_connect(it->port);
    while (try_on(connection, target, headers) != 200) {
        if (tk_clock_mono_ns(NULL) > end) {
            fail_msg("%s is not answered within a minute", target);
        }
        httpget_close(&connection);
        connection = httpget_connect(it->port);
        assert_non_null(connection);
    }
    return connection;
}

static void check_ends(httpget **connection)
{
    httpget_outcome outcome = httpget_wait_end(*connection);
    assert_true(outcome == HTTPGET_CLOSED || outcome == HTTPGET_RESET);
    httpget_close(connection);
}

/* ---- time ---- */

static void test_hd_conns_late_head(void **state)
{
    app it;
    hd_conns_limits limits = patient();
    limits.head_ns = 50 * MS;
    open_app(&it, &limits, NULL);
    httpget *silent = connect_with(&it, "", 0);
    httpget *half = connect_with(&it, HALF, 0);
    check_ends(&silent);
    check_ends(&half);
    assert_int_equal(stats_of(&it).dropped, 2);
    close_app(&it);
}

/* A byte now and then does not help: the whole head has one deadline. */
static void test_hd_conns_slow_head(void **state)
{
    app it;
    hd_conns_limits limits = patient();
    limits.head_ns = 100 * MS;
    open_app(&it, &limits, NULL);
    httpget *slow = connect_with(&it, HALF, 0);
    for (int i = 0; i < 4096 && stats_of(&it).dropped == 0; i++) {
        (void)httpget_send(slow, "a", 1);
        (void)poll(NULL, 0, 5);
    }
    check_ends(&slow);
    assert_int_equal(stats_of(&it).dropped, 1);
    close_app(&it);
}

static void test_hd_conns_late_body(void **state)
{
    app it;
    hd_conns_limits limits = patient();
    limits.body_ns = 50 * MS;
    limits.head_ns = 50 * MS;
    open_app(&it, &limits, NULL);
    httpget *half = connect_with(
        &it, "POST /take HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n1", 0);
    check_ends(&half);
    close_app(&it);
}

/* A large body has the time that a slow link needs for it. */
static void test_hd_conns_large_body(void **state)
{
    app it;
    hd_conns_limits limits = patient();
    limits.body_ns = limits.head_ns = 20 * MS;
    limits.rate = 1; /* byte in a second */
    open_app(&it, &limits, NULL);
    httpget *known = ask_new(&it, "/open", NULL);
    const char *head = "POST /take HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                       "Content-Length: 4000\r\n\r\n";
    assert_true(httpget_send(known, head, strlen(head)));
    httpget *half = connect_with(&it, HALF, 0);
    check_ends(&half); /* later than the other one, had that been late */
    static char body[4000];
    assert_true(httpget_send(known, body, sizeof(body)));
    httpget_response response;
    assert_int_equal(httpget_read(known, &response), HTTPGET_OK);
    assert_int_equal(response.status, 200);
    httpget_response_dispose(&response);
    httpget_close(&known);
    close_app(&it);
}

/* Of two open connections the one that never sent an accepted request has less time. */
static void test_hd_conns_late_next_head(void **state)
{
    app it;
    hd_conns_limits limits = patient();
    limits.head_ns = 50 * MS;
    open_app(&it, &limits, "tml-key");
    httpget *known = ask_new(&it, "/open", "X-API-Key: tml-key\r\n");
    httpget *stranger = ask_new(&it, "/open", NULL);
    check_ends(&stranger);
    assert_int_equal(ask_on(known, "/open", NULL), 200);
    httpget_close(&known);
    /* a wrong key makes no friend */
    httpget *wrong = httpget_connect(it.port);
    (void)try_on(wrong, "/big", "X-API-Key: tml-no\r\n");
    check_ends(&wrong);
    close_app(&it);
}

static void test_hd_conns_unread_answer(void **state)
{
    app it;
    hd_conns_limits limits = patient();
    limits.send_ns = limits.head_ns = 100 * MS;
    open_app(&it, &limits, NULL);
    httpget *connection = ask_new(&it, "/open", NULL);
    uint64_t before = stats_of(&it).dropped;
    assert_true(httpget_ask(connection, &(httpget_request){.target = "/big"}));
    int64_t end = tk_clock_mono_ns(NULL) + PATIENCE_NS;
    while (stats_of(&it).dropped == before) {
        if (tk_clock_mono_ns(NULL) > end) {
            fail_msg("the connection is not closed within a minute");
        }
        (void)poll(NULL, 0, 1);
    }
    httpget_response response;
    httpget_outcome outcome = httpget_read(connection, &response);
    assert_true(outcome == HTTPGET_CUT || outcome == HTTPGET_RESET);
    assert_true(response.body.n > 0 && response.body.n < BIG_BYTES);
    httpget_response_dispose(&response);
    httpget_close(&connection);
    close_app(&it);
}

/* What a handler has is not late, however long it takes. */
static void test_hd_conns_parked_stays(void **state)
{
    app it;
    hd_conns_limits limits = patient();
    limits.head_ns = limits.body_ns = 20 * MS;
    open_app(&it, &limits, NULL);
    httpget *parked = ask_new(&it, "/open", NULL);
    assert_true(httpget_ask(parked, &(httpget_request){.target = "/later"}));
    httpget *half = connect_with(&it, HALF, 0);
    check_ends(&half); /* later than the other one, had that been late */
    hd_http_quiesce(it.http);
    httpget_response response;
    assert_int_equal(httpget_read(parked, &response), HTTPGET_OK);
    assert_int_equal(response.status, 200);
    httpget_response_dispose(&response);
    httpget_close(&parked);
    close_app(&it);
}

/* ---- number ---- */

/* Half-sent requests make room for others, the oldest first. */
static void test_hd_conns_oldest_leaves(void **state)
{
    app it;
    httpget *half[6];
    hd_conns_limits limits = patient();
    limits.strangers = 4;
    open_app(&it, &limits, NULL);
    for (size_t i = 0; i < TK_ARRAY_LEN(half); i++) {
        half[i] = connect_with(&it, HALF, i + 1);
    }
    check_ends(&half[0]);
    check_ends(&half[1]);
    assert_int_equal(stats_of(&it).strangers, 4);
    for (size_t i = 2; i < TK_ARRAY_LEN(half); i++) {
        assert_true(httpget_send(half[i], "A: 1\r\n\r\n", 8));
        httpget_response response;
        assert_int_equal(httpget_read(half[i], &response), HTTPGET_OK);
        assert_int_equal(response.status, 200);
        httpget_response_dispose(&response);
        httpget_close(&half[i]);
    }
    close_app(&it);
}

/* A client that has shown its key keeps its connection, and new ones find room, while
 * strangers come without end. */
static void test_hd_conns_known_stays(void **state)
{
    static const char key[] = "X-API-Key: tml-key\r\n";
    app it;
    httpget *half[40];
    hd_conns_limits limits = patient();
    limits.total = 8;
    limits.strangers = 7;
    open_app(&it, &limits, "tml-key");
    httpget *known = httpget_connect(it.port);
    assert_int_equal(ask_on(known, "/open", key), 200);
    for (size_t i = 0; i < TK_ARRAY_LEN(half); i++) {
        half[i] = httpget_connect(it.port);
        assert_true(httpget_send(half[i], HALF, strlen(HALF)));
    }
    assert_int_equal(ask_on(known, "/open", key), 200);
    httpget *another = httpget_connect(it.port);
    assert_int_equal(ask_on(another, "/open", key), 200);
    assert_true(stats_of(&it).strangers <= 7);
    for (size_t i = 0; i < TK_ARRAY_LEN(half); i++) {
        httpget_close(&half[i]);
    }
    httpget_close(&known);
    httpget_close(&another);
    close_app(&it);
}

/* Without strangers, idle connections make room. */
static void test_hd_conns_idle_leaves(void **state)
{
    app it;
    httpget *idle[4];
    hd_conns_limits limits = patient();
    limits.total = 3;
    open_app(&it, &limits, NULL);
    for (size_t i = 0; i < TK_ARRAY_LEN(idle); i++) {
        idle[i] = httpget_connect(it.port);
        assert_int_equal(ask_on(idle[i], "/open", NULL), 200);
    }
    check_ends(&idle[0]);
    for (size_t i = 1; i < TK_ARRAY_LEN(idle); i++) {
        assert_int_equal(ask_on(idle[i], "/open", NULL), 200);
        httpget_close(&idle[i]);
    }
    close_app(&it);
}

/* ---- addresses, without HTTP ---- */

typedef struct peer {
    int ends[2];
    hd_conn *conn;
} peer;

static void join(peer *p, hd_conns *conns, const char *from)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    const struct sockaddr *at = (const struct sockaddr *)&v4;
    if (inet_pton(AF_INET, from, &v4.sin_addr) != 1) {
        assert_int_equal(inet_pton(AF_INET6, from, &v6.sin6_addr), 1);
        at = (const struct sockaddr *)&v6;
    }
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, p->ends), 0);
    p->conn = hd_conns_open(conns, p->ends[0], at);
    assert_non_null(p->conn);
}

static bool is_open(const peer *p)
{
    char c;
    return recv(p->ends[1], &c, 1, MSG_DONTWAIT) != 0; /* 0: the other end is shut */
}

static void leave(peer *p)
{
    hd_conns_close(p->conn);
    (void)close(p->ends[0]);
    (void)close(p->ends[1]);
}

/* Who is over the limit of one address loses the oldest of its own, IPv6 by network;
 * this machine has no such limit. */
static void test_hd_conns_limit_per_address(void **state)
{
    static const struct {
        const char *from;
        bool stays;
    } all[] = {
        {"192.0.2.1", false},
        {"192.0.2.1", true},
        {"::ffff:192.0.2.1", true},
        {"192.0.2.2", true},
        {"2001:db8::1", false},
        {"2001:db8::2", true},
        {"2001:db8::3:4:5:6", true},
        {"2001:db8:0:1::1", true},
        {"127.0.0.1", true},
        {"127.0.0.1", true},
        {"::1", true},
        {"::1", true},
        {"::ffff:127.0.0.1", true},
        {"127.0.0.1", true},
    };
    peer peers[TK_ARRAY_LEN(all)];
    tk_err err = TK_ERR_INIT;
    hd_conns *conns = NULL;
    hd_conns_limits limits = patient();
    limits.per_address = 2;
    assert_int_equal(hd_conns_new(&conns, &limits, &err), TINKC_OK);
    for (size_t i = 0; i < TK_ARRAY_LEN(all); i++) {
        join(&peers[i], conns, all[i].from);
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(all); i++) {
        assert_int_equal(is_open(&peers[i]), all[i].stays);
        assert_int_equal(hd_conns_head(peers[i].conn, true, 0), all[i].stays);
        leave(&peers[i]);
    }
    hd_conns_stats stats;
    hd_conns_get_stats(conns, &stats);
    assert_int_equal(stats.open, 0);
    assert_int_equal(stats.strangers, 0);
    hd_conns_free(conns);
}

/* Connections have buffers: they are counted, and there are no more than an eighth of the
 * memory holds, however many descriptors there are. */
static void test_hd_conns_fit_the_memory(void **state)
{
    enum { N = 20 };
    app it;
    httpget *halves[N];
    open_app(&it, NULL, NULL); /* of 1 MiB */
    for (size_t i = 0; i < N; i++) {
        halves[i] = connect_with(&it, HALF, i + 1);
        size_t counted = atomic_load(&it.memory.parts[HD_PART_CONNECTIONS].used);
        assert_in_range(counted, TK_HD_HEADER_BYTES, 2 * it.memory.max);
    }
    assert_in_range(stats_of(&it).dropped, N / 2, N);
    for (size_t i = 0; i < N; i++) {
        httpget_close(&halves[i]);
    }
    close_app(&it);
    assert_int_equal(atomic_load(&it.memory.used), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hd_conns_late_head),
        cmocka_unit_test(test_hd_conns_slow_head),
        cmocka_unit_test(test_hd_conns_late_body),
        cmocka_unit_test(test_hd_conns_large_body),
        cmocka_unit_test(test_hd_conns_late_next_head),
        cmocka_unit_test(test_hd_conns_unread_answer),
        cmocka_unit_test(test_hd_conns_parked_stays),
        cmocka_unit_test(test_hd_conns_oldest_leaves),
        cmocka_unit_test(test_hd_conns_known_stays),
        cmocka_unit_test(test_hd_conns_idle_leaves),
        cmocka_unit_test(test_hd_conns_limit_per_address),
        cmocka_unit_test(test_hd_conns_fit_the_memory),
    };
    return cmocka_run_group_tests_name("hd_conns", tests, NULL, NULL);
}
