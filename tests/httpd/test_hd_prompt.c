/* Prompt requests are handled on the HTTP thread, without a hop to a worker, unless they
 * would wait; a handler tells by its thread where it ran. */
#include "base/clock.h"
#include "base/thread.h"
#include "httpd/hd_http.h"
#include "httpd/hd_reply.h"
#include "support/httpget.h"
#include "support/test.h"

#define FAR_NS (INT64_C(3600000) * TK_NS_PER_MS)

typedef struct app {
    hd_budget memory;
    hd_work *work;
    hd_http *http;
    int port;
    tk_mutex lock;
    int calls;       /* under lock: of handlers, for the last request */
    bool was_inline; /* under lock: what it was told */
} app;

/* Where the answer is sent, which is the HTTP thread; before the client has it. */
static _Thread_local bool is_http_thread;

static void note_answer(void *user, const hd_http_answered *answered)
{
    (void)user;
    (void)answered;
    is_http_thread = true;
}

static void note_call(hd_request *request)
{
    app *it = request->app;
    tk_mutex_lock(&it->lock);
    it->calls++;
    it->was_inline = request->is_inline;
    tk_mutex_unlock(&it->lock);
}

/* Answers whether it runs on a thread that sends answers. */
static hd_verdict answer(hd_request *request)
{
    note_call(request);
    return hd_reply_fixed(request, 200, HD_TYPE_JSON,
                          is_http_thread ? TK_STR("http") : TK_STR("worker"));
}

static hd_verdict hop(hd_request *request)
{
    if (request->is_inline) {
        note_call(request);
        return hd_request_hop(request);
    }
    return answer(request);
}

static hd_verdict wait_for_disk(hd_request *request)
{
    if (!request->may_wait) {
        note_call(request);
        return hd_request_wait(request);
    }
    return answer(request);
}

static hd_verdict later(hd_request *request)
{
    if (request->due_ns == 0) {
        note_call(request);
        request->due_ns = tk_clock_mono_ns(NULL) + FAR_NS;
        return HD_LATER;
    }
    return answer(request);
}

static hd_verdict forget(hd_request *request)
{
    note_call(request);
    return HD_ANSWERED;
}

static const hd_route rows[] = {
    {"POST", "/prompt", answer, HD_ROUTE_PROMPT, 0, NULL},
    {"POST", "/light", answer, HD_ROUTE_LIGHT, 0, NULL},
    {"POST", "/hop", hop, HD_ROUTE_PROMPT, 0, NULL},
    {"POST", "/wait", wait_for_disk, HD_ROUTE_PROMPT, 0, NULL},
    {"POST", "/later", later, HD_ROUTE_PROMPT, 0, NULL},
    {"POST", "/forget", forget, HD_ROUTE_PROMPT, 0, NULL},
};
static const hd_routes routes = {rows, TK_ARRAY_LEN(rows)};

static void open_app(app *it, const hd_dispatch *dispatch)
{
    tk_err err = TK_ERR_INIT;
    memset(it, 0, sizeof(*it));
    hd_budget_init(&it->memory, TK_MIB, NULL);
    assert_int_equal(tk_mutex_init(&it->lock, &err), TINKC_OK);
    assert_int_equal(hd_work_new(&it->work, dispatch, &err), TINKC_OK);
    const hd_http_config config = {.host = "127.0.0.1",
                                   .routes = &routes,
                                   .work = it->work,
                                   .budget = &it->memory,
                                   .app = it,
                                   .on_answer = note_answer};
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
    tk_mutex_dispose(&it->lock);
    assert_int_equal(atomic_load(&it->memory.used), 0);
}

static void reset(app *it)
{
    tk_mutex_lock(&it->lock);
    it->calls = 0;
    tk_mutex_unlock(&it->lock);
}

/* Waits until a handler was called, for a minute at most. */
static void wait_for_call(app *it)
{
    int64_t until = tk_clock_mono_ns(NULL) + INT64_C(60000) * TK_NS_PER_MS;
    int calls = 0;
    while (calls == 0 && tk_clock_mono_ns(NULL) < until) {
        tk_mutex_lock(&it->lock);
        calls = it->calls;
        tk_mutex_unlock(&it->lock);
    }
    assert_int_equal(calls, 1);
}

/* Asks, and checks where the handler ran last and how often it was called. */
static void expect(app *it, const httpget_request *request, const char *where, int calls)
{
    httpget_response response;
    reset(it);
    assert_int_equal(httpget_once(it->port, request, &response), HTTPGET_OK);
    assert_int_equal(response.status, 200);
    assert_string_equal((const char *)response.body.p, where);
    tk_mutex_lock(&it->lock);
    assert_int_equal(it->calls, calls);
    assert_int_equal(it->was_inline, strcmp(where, "http") == 0);
    tk_mutex_unlock(&it->lock);
    httpget_response_dispose(&response);
}

static void ask(app *it, const char *target, const char *where, int calls)
{
    expect(it, &(httpget_request){.target = target, .body = "{}"}, where, calls);
}

static void test_hd_prompt_without_a_hop(void **state)
{
    static char large[TK_HD_PROMPT_BYTES + 1];
    app it;
    open_app(&it, &hd_route_dispatch);
    ask(&it, "/light", "worker", 1); /* and the HTTP thread has sent something */
    ask(&it, "/prompt", "http", 1);
    ask(&it, "/prompt", "http", 1);
    memset(large, 'x', sizeof(large));
    httpget_request request = {
        .target = "/prompt", .body = large, .body_n = sizeof(large) - 1};
    expect(&it, &request, "http", 1);
    request.body_n = sizeof(large); /* reading it may take longer */
    expect(&it, &request, "worker", 1);
    close_app(&it);
}

static void test_hd_prompt_hops_where_it_would_wait(void **state)
{
    app it;
    open_app(&it, &hd_route_dispatch);
    ask(&it, "/light", "worker", 1);
    ask(&it, "/hop", "worker", 2);
    ask(&it, "/wait", "worker", 2);
    ask(&it, "/prompt", "http", 1);
    close_app(&it);
}

/* A delay that began on the HTTP thread ends with the server, as any other. */
static void test_hd_prompt_delays(void **state)
{
    app it;
    httpget_response response;
    open_app(&it, &hd_route_dispatch);
    ask(&it, "/light", "worker", 1);
    httpget *connection = httpget_connect(it.port);
    assert_non_null(connection);
    reset(&it);
    assert_true(
        httpget_ask(connection, &(httpget_request){.target = "/later", .body = "{}"}));
    wait_for_call(&it);
    ask(&it, "/prompt", "http", 1);
    hd_http_quiesce(it.http);
    assert_int_equal(httpget_read(connection, &response), HTTPGET_OK);
    assert_int_equal(response.status, 200);
    assert_string_equal((const char *)response.body.p, "worker");
    httpget_response_dispose(&response);
    httpget_close(&connection);
    close_app(&it);
}

static void test_hd_prompt_without_an_answer(void **state)
{
    app it;
    httpget_response response;
    open_app(&it, &hd_route_dispatch);
    const httpget_request request = {.target = "/forget", .body = "{}"};
    assert_int_equal(httpget_once(it.port, &request, &response), HTTPGET_OK);
    assert_int_equal(response.status, 500);
    httpget_response_dispose(&response);
    close_app(&it);
}

static hd_verdict wrap(void *user, hd_request *request)
{
    return hd_route_dispatch.handle(user, request);
}

/* A dispatcher that may wait, as that of faults, is never called on the HTTP thread. */
static void test_hd_prompt_slow_dispatcher(void **state)
{
    static const hd_dispatch slow = {wrap, NULL, false};
    app it;
    open_app(&it, &slow);
    ask(&it, "/light", "worker", 1);
    ask(&it, "/prompt", "worker", 1);
    close_app(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hd_prompt_without_a_hop),
        cmocka_unit_test(test_hd_prompt_hops_where_it_would_wait),
        cmocka_unit_test(test_hd_prompt_delays),
        cmocka_unit_test(test_hd_prompt_without_an_answer),
        cmocka_unit_test(test_hd_prompt_slow_dispatcher),
    };
    return cmocka_run_group_tests_name("hd_prompt", tests, NULL, NULL);
}
