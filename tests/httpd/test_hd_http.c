/* The HTTP front with an application that is not Tinker: three routes and a counter.
 * Shows that src/httpd needs no other folder of the server, and what a dispatcher,
 * a delay and a parked request do from the first byte to the stop. */
#include "base/clock.h"
#include "base/mem.h"
#include "httpd/hd_http.h"
#include "httpd/hd_reply.h"
#include "support/httpget.h"
#include "support/test.h"

#define LARGE  (32 * TK_MIB)
#define FAR_NS (INT64_C(3600000) * TK_NS_PER_MS)

typedef struct app {
    atomic_int hellos;
    atomic_int freed;
    hd_budget memory;
    hd_work *work;
    hd_http *http;
    int port;
} app;

static hd_verdict hello(hd_request *request)
{
    app *it = request->app;
    atomic_fetch_add(&it->hellos, 1);
    return hd_reply_fail(request, 418, TK_STR_FMT, TK_STR_ARG(request->params[0]));
}

static void count_free(void *state)
{
    app *it = state;
    atomic_fetch_add(&it->freed, 1);
}

/* Keeps something with the request, and answers at once. */
static hd_verdict keep(hd_request *request)
{
    request->state = request->app;
    request->free_state = count_free;
    return hd_reply_fixed(request, 200, HD_TYPE_JSON, TK_STR("[]"));
}

/* Handled a second time when its hour is over, or when the server stops. */
static hd_verdict later(hd_request *request)
{
    if (request->due_ns == 0) {
        request->due_ns = tk_clock_mono_ns(NULL) + FAR_NS;
        return HD_LATER;
    }
    return hd_reply_fixed(request, 200, HD_TYPE_JSON, TK_STR("\"late\""));
}

/* Answers with the parameters of the path, a header, and the size of the body. */
static hd_verdict tell(hd_request *request)
{
    tk_str header = hd_request_header(request, "anthropic-version");
    tk_buf buf;
    tk_buf_init(&buf, TK_KIB);
    tk_buf_printf(&buf, TK_STR_FMT "|" TK_STR_FMT "|%zu", TK_STR_ARG(request->params[0]),
                  TK_STR_ARG(header), request->body.n);
    return hd_reply_buf(request, 200, HD_TYPE_TEXT, &buf);
}

static const hd_route rows[] = {
    {"POST", "/v1/chat/completions", tell, HD_ROUTE_HEAVY, LARGE, NULL},
    {"POST", "/e/*/v1/chat/completions", tell, HD_ROUTE_HEAVY, LARGE, NULL},
    {"GET", "/hello/*", hello, 0, 0, NULL},
    {"POST", "/keep", keep, HD_ROUTE_HEAVY, 16, NULL},
    {"GET", "/later", later, 0, 0, NULL},
    {"GET", "/a/**/b", hello, HD_ROUTE_OPEN, 0, NULL},
};
static const hd_routes routes = {rows, TK_ARRAY_LEN(rows)};

static void open_app(app *it, const hd_dispatch *dispatch, const char *key)
{
    tk_err err = TK_ERR_INIT;
    memset(it, 0, sizeof(*it));
    hd_budget_init(&it->memory, 4 * LARGE, NULL);
    assert_int_equal(hd_work_new(&it->work, dispatch, &err), TINKC_OK);
    const hd_http_config config = {.host = "127.0.0.1",
                                   .api_key = key,
                                   .routes = &routes,
                                   .work = it->work,
                                   .budget = &it->memory,
                                   .app = it};
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
    assert_int_equal(atomic_load(&it->memory.used), 0);
}

static int ask(app *it, const char *target, const char *body)
{
    httpget_response response;
    const httpget_request request = {.target = target, .body = body};
    assert_int_equal(httpget_once(it->port, &request, &response), HTTPGET_OK);
    int status = response.status;
    httpget_response_dispose(&response);
    return status;
}

static void test_hd_http_serves_any_application(void **state)
{
    app it;
    open_app(&it, &hd_route_dispatch, NULL);
    assert_int_equal(ask(&it, "/hello/you", NULL), 418);
    assert_int_equal(atomic_load(&it.hellos), 1);
    assert_int_equal(ask(&it, "/keep", "12345678"), 200);
    assert_int_equal(ask(&it, "/keep", "12345678901234567"), 413);
    assert_int_equal(ask(&it, "/keep", NULL), 405);
    assert_int_equal(ask(&it, "/nothing", NULL), 404);
    hd_http_stats stats;
    hd_http_get_stats(it.http, &stats);
    assert_int_equal(stats.total, 5);
    close_app(&it);
    assert_int_equal(atomic_load(&it.freed), 1); /* what the handler kept */
}

static void test_hd_http_checks_the_key(void **state)
{
    app it;
    open_app(&it, &hd_route_dispatch, "tml-key");
    assert_int_equal(ask(&it, "/hello/you", NULL), 401);
    assert_int_equal(ask(&it, "/a/b/c/b", NULL), 418); /* open, one parameter */
    close_app(&it);
}

static void expect(app *it, const httpget_request *request, const char *text)
{
    httpget_response response;
    assert_int_equal(httpget_once(it->port, request, &response), HTTPGET_OK);
    assert_int_equal(response.status, 200);
    assert_string_equal((const char *)response.body.p, text);
    httpget_response_dispose(&response);
}

/* The same handler under several prefixes, one of them a parameter, with any header. */
static void test_hd_http_gives_parameters_and_headers(void **state)
{
    app it;
    open_app(&it, &hd_route_dispatch, NULL);
    httpget_request request = {.target = "/v1/chat/completions", .body = "{}"};
    expect(&it, &request, "||2");
    request.headers = "Anthropic-Version: 2023-06-01\r\nX-Other: a\r\n";
    expect(&it, &request, "|2023-06-01|2");
    request.target = "/e/episode:1/v1/chat/completions";
    expect(&it, &request, "episode:1|2023-06-01|2");
    assert_int_equal(ask(&it, "/e//v1/chat/completions", "{}"), 404);
    assert_int_equal(ask(&it, "/e/a/b/v1/chat/completions", "{}"), 404);
    assert_int_equal(ask(&it, "/x/a/v1/chat/completions", "{}"), 404);
    assert_int_equal(ask(&it, "/e/a/v1/chat/completions", NULL), 405);
    close_app(&it);
}

/* A route may take large bodies, up to its limit. */
static void test_hd_http_takes_large_bodies(void **state)
{
    app it;
    httpget_response response;
    char *body = tk_malloc(LARGE + 1);
    open_app(&it, &hd_route_dispatch, NULL);
    assert_non_null(body);
    memset(body, 'x', LARGE + 1);
    httpget_request request = {
        .target = "/v1/chat/completions", .body = body, .body_n = LARGE};
    expect(&it, &request, "||33554432");
    request.chunk = TK_MIB;
    expect(&it, &request, "||33554432");
    request.body_n++;
    assert_int_equal(httpget_once(it.port, &request, &response), HTTPGET_OK);
    assert_int_equal(response.status, 413);
    httpget_response_dispose(&response);
    tk_free(body);
    close_app(&it);
}

/* A request that is delayed for an hour is handled when the front stops taking
 * requests. */
static void test_hd_http_stop_ends_delays(void **state)
{
    app it;
    open_app(&it, &hd_route_dispatch, NULL);
    httpget *connection = httpget_connect(it.port);
    assert_non_null(connection);
    assert_true(httpget_ask(connection, &(httpget_request){.target = "/later"}));
    hd_http_stats stats = {0};
    int64_t end = tk_clock_mono_ns(NULL) + INT64_C(60000) * TK_NS_PER_MS;
    while (stats.suspended == 0 && tk_clock_mono_ns(NULL) < end) {
        hd_http_get_stats(it.http, &stats);
    }
    assert_int_equal(stats.suspended, 1);
    hd_http_quiesce(it.http);
    httpget_response response;
    assert_int_equal(httpget_read(connection, &response), HTTPGET_OK);
    assert_int_equal(response.status, 200);
    assert_string_equal(response.body.p, "\"late\"");
    httpget_response_dispose(&response);
    httpget_close(&connection);
    hd_http_stop(it.http);
    hd_work_free(it.work);
    hd_http_free(it.http);
}

/* One dispatcher around another, as faults are. */
static hd_verdict wrap(void *user, hd_request *request)
{
    atomic_int *calls = user;
    atomic_fetch_add(calls, 1);
    return hd_route_dispatch.handle(hd_route_dispatch.user, request);
}

static void test_hd_http_dispatchers_wrap(void **state)
{
    app it;
    atomic_int calls = 0;
    const hd_dispatch outer = {wrap, &calls, true};
    open_app(&it, &outer, NULL);
    assert_int_equal(ask(&it, "/hello/you", NULL), 418);
    assert_int_equal(atomic_load(&calls), 1);
    assert_int_equal(atomic_load(&it.hellos), 1);
    close_app(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hd_http_serves_any_application),
        cmocka_unit_test(test_hd_http_checks_the_key),
        cmocka_unit_test(test_hd_http_gives_parameters_and_headers),
        cmocka_unit_test(test_hd_http_takes_large_bodies),
        cmocka_unit_test(test_hd_http_stop_ends_delays),
        cmocka_unit_test(test_hd_http_dispatchers_wrap),
    };
    return cmocka_run_group_tests_name("hd_http", tests, NULL, NULL);
}
