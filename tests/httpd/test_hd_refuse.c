/* Errors in the application's words: the front makes them, and its handlers do, and the
 * application writes the body of each. */
#include <stdio.h>

#include "base/clock.h"
#include "httpd/hd_http.h"
#include "httpd/hd_reply.h"
#include "support/httpget.h"
#include "support/test.h"

#define KEY "Authorization: none\r\nX-API-Key: tml-key\r\n"

typedef struct app {
    hd_budget memory;
    hd_work *work;
    hd_http *http;
    int port;
} app;

/* {"error":{"message":...,"status":...}} and, with a route, its pattern. */
static void refuse(hd_request *request, int status, const tk_err *err)
{
    tk_buf buf;
    tk_buf_init(&buf, 4 * TK_KIB);
    if (err->code == TINKC_E_NOMEM) {
        (void)hd_reply_fixed(request, status, HD_TYPE_JSON, TK_STR("{\"error\":0}"));
        return;
    }
    tk_buf_printf(&buf, "{\"error\":{\"message\":\"%s\",\"status\":%d},\"at\":\"%s\"}",
                  err->message, status,
                  request->route != NULL ? request->route->pattern : request->path.p);
    (void)hd_reply_buf(request, status, HD_TYPE_JSON, &buf);
}

/* Answers with one of the failures of handlers. */
static hd_verdict refuse_as(hd_request *request)
{
    tk_err err = TK_ERR_INIT;
    tk_str how = request->params[0];
    if (tk_str_is(how, "field")) {
        return hd_reply_field(request, "data[3].weights", "too long");
    }
    if (tk_str_is(how, "busy")) {
        return hd_reply_busy(request);
    }
    if (tk_str_is(how, "full")) { /* more than the budget has */
        assert_null(tk_arena_alloc(&request->arena, 2 * TK_MIB));
        return hd_reply_no_memory(request);
    }
    if (tk_str_is(how, "memory")) {
        (void)tk_err_nomem(&err);
        return hd_reply_error(request, &err);
    }
    return hd_reply_fail(request, 410, "gone");
}

/* Refuses what an application would not take. */
static bool on_head(hd_request *request)
{
    if (tk_str_is(hd_request_header(request, "x-wrong"), "yes")) {
        (void)hd_reply_fail(request, 400, "wrong");
        return false;
    }
    return true;
}

static const hd_route rows[] = {
    {"POST", "/fail/*", refuse_as, 0, 8, "known"},
    {"POST", "/fail", refuse_as, 0, 8, NULL},
};
static const hd_routes routes = {rows, TK_ARRAY_LEN(rows)};

static void open_app(app *it, bool is_plain)
{
    static const char *const once[] = {"X-Once", NULL};
    tk_err err = TK_ERR_INIT;
    memset(it, 0, sizeof(*it));
    hd_budget_init(&it->memory, TK_MIB, NULL);
    assert_int_equal(hd_work_new(&it->work, &hd_route_dispatch, &err), TINKC_OK);
    const hd_http_config config = {.host = "127.0.0.1",
                                   .api_key = "tml-key",
                                   .routes = &routes,
                                   .work = it->work,
                                   .budget = &it->memory,
                                   .app = it,
                                   .single = once,
                                   .encoding = is_plain ? NULL : "zstd",
                                   .on_head = on_head,
                                   .refuse = is_plain ? NULL : refuse};
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

static const struct {
    const char *method, *target, *headers, *body;
    int status;
    const char *text, *at;
} all[] = {
    {"POST", "/fail", NULL, "", 401, "no API key was sent", "/fail"},
    {"POST", "/fail", "X-API-Key: tml-other\r\n", "", 401, "Invalid API key", "/fail"},
    {"POST", "/none", KEY, "", 404, "Not Found", "/none"},
    {"GET", "/fail", KEY, NULL, 405, "Method Not Allowed", "/fail"},
    {"POST", "/fail/a", KEY, "123456789", 413, "the body is too large", "/fail/*"},
    {"POST", "/fail/a", KEY "Content-Encoding: gzip\r\n", "1", 415,
     "Content-Encoding must be zstd or identity", "/fail/*"},
    {"POST", "/fail/a?other=1", KEY, "1", 422, "unknown parameter of the query",
     "/fail/*"},
    {"POST", "/fail/field", KEY, "1", 422, "too long", "/fail/*"},
    {"POST", "/fail/a", KEY "X-Wrong: yes\r\n", "1", 400, "wrong", "/fail/*"},
    {"POST", "/fail/a", KEY "X-Once: 1\r\nx-once: 2\r\n", "1", 400,
     "a header is there twice", NULL},
    {"POST", "/fail/a", KEY, "1", 410, "gone", "/fail/*"},
    {"POST", "/fail/a", KEY "Content-Encoding: zstd\r\n", "1", 410, "gone", "/fail/*"},
    {"POST", "/fail/memory", KEY, "1", 500, NULL, NULL},
};

static void ask(app *it, size_t i, httpget_response *out)
{
    const httpget_request request = {.method = all[i].method,
                                     .target = all[i].target,
                                     .headers = all[i].headers,
                                     .body = all[i].body};
    assert_int_equal(httpget_once(it->port, &request, out), HTTPGET_OK);
    if (out->status != all[i].status) {
        fail_msg("%s: %d %s", all[i].target, out->status, (const char *)out->body.p);
    }
}

static void test_hd_refuse_in_own_words(void **state)
{
    app it;
    open_app(&it, false);
    for (size_t i = 0; i < TK_ARRAY_LEN(all); i++) {
        char expected[256] = "{\"error\":0}";
        httpget_response response;
        if (all[i].text != NULL) {
            (void)snprintf(expected, sizeof(expected),
                           "{\"error\":{\"message\":\"%s\",\"status\":%d},\"at\":\"%s\"}",
                           all[i].text, all[i].status,
                           all[i].at != NULL ? all[i].at : "");
        }
        ask(&it, i, &response);
        assert_string_equal((const char *)response.body.p, expected);
        assert_string_equal(httpget_header(&response, "Content-Type"), HD_TYPE_JSON);
        httpget_response_dispose(&response);
    }
    close_app(&it);
}

/* A 429 asks to wait, whoever writes its body; so does a handler whose memory the budget
 * refused. */
static void test_hd_refuse_asks_to_wait(void **state)
{
    static const char *const targets[] = {"/fail/busy", "/fail/full"};
    app it;
    open_app(&it, false);
    for (size_t i = 0; i < TK_ARRAY_LEN(targets); i++) {
        httpget_response response;
        const httpget_request request = {
            .target = targets[i], .headers = KEY, .body = "1"};
        assert_int_equal(httpget_once(it.port, &request, &response), HTTPGET_OK);
        assert_int_equal(response.status, 429);
        assert_string_equal(httpget_header(&response, "Retry-After"), "1");
        assert_memory_equal(response.body.p, "{\"error\":{\"message\":", 20);
        httpget_response_dispose(&response);
    }
    close_app(&it);
}

/* What is complete after the stop began is refused in the same words. */
static void test_hd_refuse_while_stopping(void **state)
{
    static const char head[] =
        "POST /fail/a HTTP/1.1\r\nHost: 127.0.0.1\r\n" KEY "Content-Length: 2\r\n\r\n1";
    app it;
    httpget_response response;
    hd_http_stats stats = {0};
    open_app(&it, false);
    httpget *connection = httpget_connect(it.port);
    assert_non_null(connection);
    assert_true(httpget_send(connection, head, sizeof(head) - 1));
    int64_t until = tk_clock_mono_ns(NULL) + INT64_C(60000) * TK_NS_PER_MS;
    while (stats.active == 0 && tk_clock_mono_ns(NULL) < until) {
        hd_http_get_stats(it.http, &stats);
    }
    hd_http_quiesce(it.http);
    assert_true(httpget_send(connection, "2", 1));
    assert_int_equal(httpget_read(connection, &response), HTTPGET_OK);
    assert_int_equal(response.status, 503);
    assert_non_null(strstr((const char *)response.body.p, "the server is stopping"));
    httpget_response_dispose(&response);
    httpget_close(&connection);
    close_app(&it);
}

/* Without an application's words the body is the text. */
static void test_hd_refuse_plainly(void **state)
{
    app it;
    open_app(&it, true);
    for (size_t i = 0; i < TK_ARRAY_LEN(all); i++) {
        httpget_response response;
        if (strstr(all[i].headers != NULL ? all[i].headers : "", "Encoding") != NULL) {
            continue; /* this one takes none */
        }
        ask(&it, i, &response);
        if (all[i].text != NULL) {
            char expected[128];
            (void)snprintf(expected, sizeof(expected), "%s\n", all[i].text);
            assert_string_equal((const char *)response.body.p, expected);
        }
        assert_string_equal(httpget_header(&response, "Content-Type"), HD_TYPE_TEXT);
        httpget_response_dispose(&response);
    }
    close_app(&it);
}

/* Answers that find no memory end in the body of that error, and in none when there is no
 * memory for it either. */
static void refuse_always(hd_request *request, int status, const tk_err *err)
{
    tk_buf buf;
    tk_buf_init(&buf, 1); /* too small */
    tk_buf_puts(&buf, err->message);
    (void)hd_reply_buf(request, status, HD_TYPE_JSON, &buf);
}

static void test_hd_refuse_ends(void **state)
{
    hd_budget memory;
    hd_budget_init(&memory, TK_MIB, NULL);
    hd_request *request = hd_request_new(NULL, &memory);
    assert_non_null(request);
    request->refuse = refuse_always;
    assert_int_equal(hd_reply_fail(request, 404, "none"), HD_ANSWERED);
    assert_int_equal(request->status, 500);
    assert_null(request->answer);
    assert_int_equal(request->fixed.n, 0);
    hd_request_free(request);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hd_refuse_in_own_words),
        cmocka_unit_test(test_hd_refuse_asks_to_wait),
        cmocka_unit_test(test_hd_refuse_while_stopping),
        cmocka_unit_test(test_hd_refuse_plainly),
        cmocka_unit_test(test_hd_refuse_ends),
    };
    return cmocka_run_group_tests_name("hd_refuse", tests, NULL, NULL);
}
