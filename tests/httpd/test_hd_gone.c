/* Streams that answer a POST, and clients that leave: the producer of a stream and the
 * owner of a parked request learn it while the client has nothing to read. */
#include <poll.h>

#include "base/clock.h"
#include "base/thread.h"
#include "httpd/hd_http.h"
#include "httpd/hd_reply.h"
#include "httpd/hd_stream.h"
#include "support/httpget.h"
#include "support/test.h"

#define PATIENCE_NS (INT64_C(60000) * TK_NS_PER_MS)
#define EVENT       "data: {\"token\":1}\n\n"

typedef struct app {
    hd_budget memory;
    hd_work *work;
    hd_http *http;
    int port;
    tk_mutex lock;
    tk_cond changed;
    hd_request *parked; /* under lock, as the next */
    hd_stream *stream;  /* the producer's ownership */
} app;

static hd_verdict give(hd_request *request, hd_request *parked, hd_stream *stream)
{
    app *it = request->app;
    tk_mutex_lock(&it->lock);
    it->parked = parked;
    it->stream = stream;
    tk_cond_broadcast(&it->changed);
    tk_mutex_unlock(&it->lock);
    return stream != NULL ? HD_ANSWERED : HD_PARKED;
}

static hd_verdict park(hd_request *request)
{
    hd_request_shrink(request);
    return give(request, request, NULL);
}

static hd_verdict stream(hd_request *request)
{
    hd_stream *made = hd_stream_new(request->budget);
    if (made == NULL) {
        return hd_reply_fail(request, 500, "out of memory");
    }
    request->stream = made;
    (void)hd_reply_fixed(request, 200, "text/event-stream", TK_STR(""));
    return give(request, NULL, made);
}

static const hd_route rows[] = {
    {"POST", "/park", park, HD_ROUTE_HEAVY, 0, NULL},
    {"POST", "/e/*/v1/stream", stream, HD_ROUTE_HEAVY, 0, NULL},
};
static const hd_routes routes = {rows, TK_ARRAY_LEN(rows)};

static void open_app(app *it)
{
    tk_err err = TK_ERR_INIT;
    memset(it, 0, sizeof(*it));
    hd_budget_init(&it->memory, TK_MIB, NULL);
    assert_int_equal(tk_cond_init_with(&it->changed, &it->lock, &err), TINKC_OK);
    assert_int_equal(hd_work_new(&it->work, &hd_route_dispatch, &err), TINKC_OK);
    const hd_http_config config = {.host = "127.0.0.1",
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
    tk_cond_dispose(&it->changed);
    tk_mutex_dispose(&it->lock);
    assert_int_equal(atomic_load(&it->memory.used), 0);
}

/* Sends a request and waits until its handler has given it away. */
static httpget *begin(app *it, const char *target)
{
    httpget *connection = httpget_connect(it->port);
    assert_non_null(connection);
    assert_true(
        httpget_ask(connection, &(httpget_request){.target = target, .body = "{}"}));
    int64_t end = tk_clock_mono_ns(NULL) + PATIENCE_NS;
    tk_mutex_lock(&it->lock);
    while (it->parked == NULL && it->stream == NULL &&
           tk_cond_wait_until(&it->changed, &it->lock, end)) {
    }
    assert_true(it->parked != NULL || it->stream != NULL);
    tk_mutex_unlock(&it->lock);
    return connection;
}

/* Waits until the connection of the stream sleeps: everything was sent. */
static void wait_asleep(app *it)
{
    int64_t end = tk_clock_mono_ns(NULL) + PATIENCE_NS;
    bool asleep = false;
    while (!asleep && tk_clock_mono_ns(NULL) < end) {
        tk_mutex_lock(&it->stream->lock);
        asleep = it->stream->waiting;
        tk_mutex_unlock(&it->stream->lock);
    }
    assert_true(asleep);
}

/* Asks until the answer is yes, for a minute at most. */
static bool becomes_gone(const app *it)
{
    int64_t end = tk_clock_mono_ns(NULL) + PATIENCE_NS;
    bool gone = false;
    while (!gone && tk_clock_mono_ns(NULL) < end) {
        gone = it->stream != NULL ? hd_stream_is_gone(it->stream)
                                  : hd_request_is_gone(it->parked);
        (void)poll(NULL, 0, gone ? 0 : 1);
    }
    return gone;
}

static void end_stream(app *it)
{
    hd_stream_end(it->stream);
    hd_stream_release(it->stream);
    it->stream = NULL;
}

static void end_parked(app *it)
{
    hd_request *request = it->parked;
    it->parked = NULL;
    (void)hd_reply_fixed(request, 200, HD_TYPE_JSON, TK_STR("[]"));
    hd_request_resume(request);
}

/* A POST is answered with events as they are made. */
static void test_hd_gone_stream_of_a_post(void **state)
{
    app it;
    httpget_response response;
    open_app(&it);
    httpget *connection = begin(&it, "/e/episode-1/v1/stream");
    wait_asleep(&it);
    assert_true(hd_stream_put(it.stream, TK_STR(EVENT)));
    assert_int_equal(httpget_status(connection), 200); /* before there is an end */
    assert_false(hd_stream_is_gone(it.stream));
    assert_true(hd_stream_put(it.stream, TK_STR(EVENT)));
    end_stream(&it);
    assert_int_equal(httpget_read(connection, &response), HTTPGET_OK);
    httpget_response_dispose(&response);
    httpget_close(&connection);
    connection = begin(&it, "/e/episode-1/v1/stream");
    assert_true(hd_stream_put(it.stream, TK_STR(EVENT)));
    assert_true(hd_stream_put(it.stream, TK_STR(EVENT)));
    end_stream(&it);
    assert_int_equal(httpget_read(connection, &response), HTTPGET_OK);
    assert_string_equal((const char *)response.body.p, EVENT EVENT);
    assert_string_equal(httpget_header(&response, "Content-Type"), "text/event-stream");
    httpget_response_dispose(&response);
    httpget_close(&connection);
    close_app(&it);
}

/* Its client leaves while the stream has nothing to send. */
static void test_hd_gone_from_a_stream(void **state)
{
    app it;
    open_app(&it);
    httpget *connection = begin(&it, "/e/episode-1/v1/stream");
    assert_true(hd_stream_put(it.stream, TK_STR(EVENT)));
    wait_asleep(&it);
    assert_false(hd_stream_is_gone(it.stream));
    httpget_close(&connection);
    assert_true(becomes_gone(&it));
    end_stream(&it);
    close_app(&it);
}

static void test_hd_gone_from_a_parked_request(void **state)
{
    app it;
    httpget_response response;
    open_app(&it);
    httpget *connection = begin(&it, "/park");
    assert_false(hd_request_is_gone(it.parked));
    httpget_close(&connection);
    assert_true(becomes_gone(&it));
    end_parked(&it);
    connection = begin(&it, "/park");
    assert_false(hd_request_is_gone(it.parked));
    end_parked(&it);
    assert_int_equal(httpget_read(connection, &response), HTTPGET_OK);
    assert_int_equal(response.status, 200);
    httpget_response_dispose(&response);
    httpget_close(&connection);
    close_app(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hd_gone_stream_of_a_post),
        cmocka_unit_test(test_hd_gone_from_a_stream),
        cmocka_unit_test(test_hd_gone_from_a_parked_request),
    };
    return cmocka_run_group_tests_name("hd_gone", tests, NULL, NULL);
}
