/* Heads that two programs could read in two ways are refused, with the connection: a
 * proxy in front of the server could take a part of one request for another one. */
#include <stdio.h>

#include "httpd/hd_http.h"
#include "httpd/hd_reply.h"
#include "support/httpget.h"
#include "support/test.h"

#define LINE "POST /echo/a HTTP/1.1\r\n"
#define HOST "Host: 127.0.0.1\r\n"
#define BODY "Content-Length: 2\r\n"

typedef struct app {
    hd_budget memory;
    hd_work *work;
    hd_http *http;
    int port;
} app;

/* Answers with the path's parameter and the length of the body. */
static hd_verdict echo(hd_request *request)
{
    return hd_reply_fail(request, 200, TK_STR_FMT " %zu", TK_STR_ARG(request->params[0]),
                         request->body.n);
}

static const hd_route rows[] = {
    {"POST", "/echo/*", echo, 0, 64, HD_ROUTE_ANY},
    {"GET", "/echo/*", echo, 0, 64, HD_ROUTE_ANY},
};
static const hd_routes routes = {rows, TK_ARRAY_LEN(rows)};

static void open_app(app *it, const char *key)
{
    tk_err err = TK_ERR_INIT;
    memset(it, 0, sizeof(*it));
    hd_budget_init(&it->memory, TK_MIB, NULL);
    assert_int_equal(hd_work_new(&it->work, &hd_route_dispatch, &err), TINKC_OK);
    static const char *const once[] = {"X-Idempotency-Key", NULL};
    const hd_http_config config = {.host = "127.0.0.1",
                                   .single = once,
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
}

/* Sends bytes; returns the status, 0 when the connection was closed without one. With
 * `ends` no other request is read from the connection. */
static int send_bytes(app *it, tk_str bytes, bool ends)
{
    httpget_response response;
    httpget *connection = httpget_connect(it->port);
    assert_non_null(connection);
    assert_true(httpget_send(connection, bytes.p, bytes.n));
    httpget_outcome outcome = httpget_read(connection, &response);
    int status = outcome == HTTPGET_OK ? response.status : 0;
    httpget_response_dispose(&response);
    if (outcome == HTTPGET_OK && ends) {
        (void)httpget_send(connection, "GET / HTTP/1.0\r\n\r\n", 18);
        outcome = httpget_read(connection, &response);
        httpget_response_dispose(&response);
        if (outcome == HTTPGET_OK || outcome == HTTPGET_TIMEOUT) {
            fail_msg("%d, and the connection goes on: %s", status, bytes.p);
        }
    }
    httpget_close(&connection);
    return status;
}

#define BYTES(text)                                                                      \
    {                                                                                    \
        (text), sizeof(text) - 1                                                         \
    }

static void test_hd_http_head_ambiguous(void **state)
{
    static const tk_str heads[] = {
        /* the length of the body */
        BYTES(LINE HOST "Content-Length: 2\r\nContent-Length: 20\r\n\r\n[]"),
        BYTES(LINE HOST "Content-Length: 2\r\nContent-Length: 2\r\n\r\n[]"),
        BYTES(LINE HOST "Content-Length: 2\r\ncontent-length: 3\r\n\r\n[]"),
        BYTES(LINE HOST "Content-Length: 2, 2\r\n\r\n[]"),
        BYTES(LINE HOST "Content-Length: +2\r\n\r\n[]"),
        BYTES(LINE HOST "Content-Length: -2\r\n\r\n[]"),
        BYTES(LINE HOST "Content-Length: 0x2\r\n\r\n[]"),
        BYTES(LINE HOST "Content-Length:\r\n\r\n[]"),
        BYTES(LINE HOST "Content-Length : 2\r\n\r\n[]"),
        BYTES(LINE HOST BODY "Transfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n"),
        BYTES(LINE HOST "Transfer-Encoding: chunked\r\n" BODY "\r\n2\r\n[]\r\n0\r\n\r\n"),
        BYTES(LINE HOST "Transfer-Encoding: identity\r\n\r\n[]"),
        BYTES(LINE HOST "Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n"),
        BYTES(LINE HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"
                        "2\r\n[]\r\n0\r\n\r\n"),
        BYTES(LINE HOST "Transfer-Encoding : chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n"),
        /* headers that count once */
        BYTES(LINE HOST HOST BODY "\r\n[]"),
        BYTES(LINE HOST BODY "Host: localhost\r\n\r\n[]"),
        BYTES(LINE HOST BODY "X-API-Key: a\r\nX-API-Key: b\r\n\r\n[]"),
        BYTES(LINE HOST BODY "Authorization: a\r\nAuthorization: b\r\n\r\n[]"),
        BYTES(LINE HOST BODY "X-Idempotency-Key: a\r\nX-Idempotency-Key: b\r\n\r\n[]"),
        BYTES(LINE HOST BODY
              "Content-Type: application/json\r\nContent-Type: text/html\r\n\r\n[]"),
        BYTES(LINE HOST BODY "Origin: http://127.0.0.1\r\nOrigin: http://x\r\n\r\n[]"),
        /* lines */
        BYTES(LINE HOST BODY "X-A: 1\r\n 2\r\n\r\n[]"),
        BYTES(LINE HOST BODY "X-A: 1\r\n\t2\r\nX-B: 3\r\n\r\n[]"),
        BYTES(LINE HOST "Content-Len: 2\r\n gth\r\n\r\n[]"),
        BYTES(LINE "Ho: 127.0.0.1\r\n st\r\n" BODY "\r\n[]"),
        BYTES(LINE " X: y\r\n" HOST BODY "\r\n[]"),
        BYTES(LINE HOST BODY "X-A: 1\nX-B: 2\r\n\r\n[]"),
        BYTES(LINE HOST BODY "X-A: 1\r\n\n[]"),
        BYTES(LINE HOST BODY "X-A: 1\0002\r\n\r\n[]"),
        BYTES(LINE HOST BODY "X-A: 1\000\000\r\n\r\n[]"),
        BYTES(LINE HOST BODY "X-\000A: 1\r\n\r\n[]"),
        BYTES(LINE HOST BODY "\000X-A: 1\r\n\r\n[]"),
        BYTES(LINE HOST BODY "X-API-Key: a\000b\r\n\r\n[]"),
        BYTES(LINE HOST BODY "X-A: \x01\r\n\r\n[]"),
        BYTES(LINE HOST BODY "X-A: a\rb\r\n\r\n[]"),
        BYTES(LINE HOST BODY "X A: 1\r\n\r\n[]"),
        BYTES(LINE HOST BODY "X(A): 1\r\n\r\n[]"),
        BYTES(LINE HOST BODY ": 1\r\n\r\n[]"),
        BYTES(LINE HOST BODY "no colon\r\n\r\n[]"),
        /* the URI */
        BYTES("POST /echo/a%00b HTTP/1.1\r\n" HOST BODY "\r\n[]"),
        BYTES("POST /echo/a?q=%00 HTTP/1.1\r\n" HOST BODY "\r\n[]"),
        BYTES("POST /echo/a\tb HTTP/1.1\r\n" HOST BODY "\r\n[]"),
        BYTES("POST /echo/a\x01 HTTP/1.1\r\n" HOST BODY "\r\n[]"),
        /* a NUL in the first line */
        BYTES("POST /echo/a\000 HTTP/1.1\r\n" HOST BODY "\r\n[]"),
        BYTES("POST /echo/a\000b HTTP/1.1\r\n" HOST BODY "\r\n[]"),
        BYTES("POST /echo/a\000HTTP/1.1 HTTP/1.1\r\n" HOST BODY "\r\n[]"),
        BYTES("POST /echo/a?q=1\000&r=2 HTTP/1.1\r\n" HOST BODY "\r\n[]"),
        BYTES("POST /echo/%61?q=%61\000 HTTP/1.1\r\n" HOST BODY "\r\n[]"),
        BYTES("POST\000 /echo/a HTTP/1.1\r\n" HOST BODY "\r\n[]"),
        BYTES("POST\000X /echo/a HTTP/1.1\r\n" HOST BODY "\r\n[]"),
        BYTES("POST /echo/a HTTP/1.1\000\r\n" HOST BODY "\r\n[]"),
        BYTES("POST /echo/a HTTP/1.1\000X\r\n" HOST BODY "\r\n[]"),
        BYTES("GET /echo/a\000b HTTP/1.0\r\n\r\n"),
        BYTES("GET /echo/a HTTP/1.0\000\r\n\r\n"),
    };
    app it;
    size_t accepted = 0;
    open_app(&it, NULL);
    for (size_t i = 0; i < TK_ARRAY_LEN(heads); i++) {
        int status = send_bytes(&it, heads[i], true);
        if (status != 400 && status != 0) {
            print_error("head %zu: %d: %s\n", i, status, heads[i].p);
            accepted++;
        }
    }
    assert_int_equal(accepted, 0);
    close_app(&it);
}

/* What is allowed, however odd. */
static void test_hd_http_head_plain(void **state)
{
    static const tk_str heads[] = {
        BYTES(LINE HOST BODY "\r\n[]"),
        BYTES(LINE "host:127.0.0.1\r\ncontent-length:2\r\n\r\n[]"),
        BYTES(LINE "Host: \t 127.0.0.1\r\n" BODY "\r\n[]"),
        BYTES(LINE HOST BODY "X-Empty:\r\nX-Blank: \r\nX-Tab: a\tb\r\n\r\n[]"),
        BYTES(LINE HOST BODY "X-Twice: 1\r\nX-Twice: 2\r\nCookie: a=b; c=d\r\n\r\n[]"),
        BYTES(LINE HOST BODY "X-Utf8: \xc3\xa9\r\nX!#$%&'*+-.^_`|~9: 1\r\n\r\n[]"),
        BYTES(LINE HOST "Transfer-Encoding: Chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n"),
        BYTES("POST /echo/a%3Ab?x=1&y=%20 HTTP/1.1\r\n" HOST BODY "\r\n[]"),
        BYTES("POST /echo/%61%62?x=%61&y=+&&z HTTP/1.1\r\n" HOST BODY "\r\n[]"),
        BYTES("GET /echo/a HTTP/1.0\r\n\r\n"),
        BYTES("GET /echo/a HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
        BYTES("\r\nGET /echo/a HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
    };
    app it;
    open_app(&it, NULL);
    for (size_t i = 0; i < TK_ARRAY_LEN(heads); i++) {
        int status = send_bytes(&it, heads[i], false);
        if (status != 200) {
            fail_msg("head %zu: %d: %s", i, status, heads[i].p);
        }
    }
    close_app(&it);
}

/* Heads in any number of packets, and of any size up to the limit. */
static void test_hd_http_head_in_pieces(void **state)
{
    static const char head[] = LINE HOST BODY "X-A: 1\r\nX-B:  2\r\n\r\n[]";
    app it;
    open_app(&it, NULL);
    for (size_t piece = 1; piece < 12; piece++) {
        httpget_response response;
        httpget *connection = httpget_connect(it.port);
        for (int again = 0; again < 2; again++) {
            assert_true(httpget_send_split(connection, head, sizeof(head) - 1, piece));
            assert_int_equal(httpget_read(connection, &response), HTTPGET_OK);
            assert_int_equal(response.status, 200);
            httpget_response_dispose(&response);
        }
        httpget_close(&connection);
    }
    for (size_t n = 100; n < TK_HD_HEADER_BYTES / 2; n += 531) {
        char text[TK_HD_HEADER_BYTES];
        int at = snprintf(text, sizeof(text), "GET /echo/a HTTP/1.1\r\n" HOST "X-Long: ");
        memset(text + at, 'x', n);
        memcpy(text + (size_t)at + n, "\r\nX-Last: 1\r\n\r\n", 16);
        assert_int_equal(send_bytes(&it, tk_str_of(text), false), 200);
    }
    close_app(&it);
}

static void test_hd_http_head_limits(void **state)
{
    static const struct {
        const char *before, *after;
        int status;
    } all[] = {
        {"GET /echo/", " HTTP/1.1\r\n" HOST "\r\n", 414},
        {"GET /echo/a?", " HTTP/1.1\r\n" HOST "\r\n", 414},
        {"GET /echo/a HTTP/1.1\r\n" HOST "X-Long: ", "\r\n\r\n", 431},
        {"GET /echo/a HTTP/1.1\r\n" HOST "X-", ": 1\r\n\r\n", 431},
    };
    app it;
    open_app(&it, NULL);
    for (size_t i = 0; i < TK_ARRAY_LEN(all); i++) {
        char text[2 * TK_HD_HEADER_BYTES];
        size_t n = strlen(all[i].before);
        memcpy(text, all[i].before, n);
        memset(text + n, 'a', TK_HD_HEADER_BYTES);
        (void)snprintf(text + n + TK_HD_HEADER_BYTES, 64, "%s", all[i].after);
        assert_int_equal(send_bytes(&it, tk_str_of(text), true), all[i].status);
    }
    static const tk_str others[] = {BYTES("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
                                    BYTES("GET / HTTP/3.0\r\n" HOST "\r\n")};
    for (size_t i = 0; i < TK_ARRAY_LEN(others); i++) {
        assert_int_equal(send_bytes(&it, others[i], true), 505);
    }
    close_app(&it);
}

/* ---- web pages ---- */

static int ask(app *it, const char *headers, const char *type)
{
    httpget_response response;
    const httpget_request request = {
        .target = "/echo/a", .headers = headers, .body = "[]", .content_type = type};
    assert_int_equal(httpget_once(it->port, &request, &response), HTTPGET_OK);
    int status = response.status;
    httpget_response_dispose(&response);
    return status;
}

static void test_hd_http_head_of_pages(void **state)
{
    static const char *const forms[] = {"application/x-www-form-urlencoded",
                                        "multipart/form-data; boundary=x", "text/plain",
                                        "Text/Plain ; charset=utf-8"};
    app it;
    open_app(&it, NULL);
    assert_int_equal(ask(&it, NULL, NULL), 200);
    assert_int_equal(ask(&it, "Origin: null\r\n", NULL), 403);
    assert_int_equal(ask(&it, "Origin: http://evil.example\r\n", NULL), 403);
    assert_int_equal(ask(&it, "Origin: http://127.0.0.1\r\n", NULL), 200);
    assert_int_equal(ask(&it, "Origin: https://127.0.0.1\r\n", NULL), 403);
    assert_int_equal(ask(&it, "Sec-Fetch-Site: cross-site\r\n", NULL), 403);
    assert_int_equal(ask(&it, "Sec-Fetch-Site: same-site\r\n", NULL), 403);
    assert_int_equal(ask(&it, "Sec-Fetch-Site: same-origin\r\n", NULL), 200);
    assert_int_equal(ask(&it, "Sec-Fetch-Site: none\r\n", NULL), 200);
    for (size_t i = 0; i < TK_ARRAY_LEN(forms); i++) {
        assert_int_equal(ask(&it, NULL, forms[i]), 415);
    }
    close_app(&it);
    open_app(&it, "tml-key"); /* a page does not have it */
    assert_int_equal(ask(&it, "X-API-Key: tml-key\r\n", forms[0]), 200);
    assert_int_equal(ask(&it, NULL, forms[0]), 401);
    close_app(&it);
}

/* The key comes as X-API-Key or as a bearer token; one of them must be right. */
static void test_hd_http_head_keys(void **state)
{
    static const struct {
        const char *headers;
        int status;
    } all[] = {
        {NULL, 401},
        {"X-API-Key: tml-key\r\n", 200},
        {"x-api-key: tml-key\r\n", 200},
        {"Authorization: Bearer tml-key\r\n", 200},
        {"authorization: bearer  tml-key\r\n", 200},
        {"X-API-Key: none\r\nAuthorization: Bearer tml-key\r\n", 200},
        {"X-API-Key: tml-key\r\nAuthorization: Bearer none\r\n", 200},
        {"X-API-Key: none\r\nAuthorization: Bearer none\r\n", 401},
        {"X-API-Key: Bearer tml-key\r\n", 401},
        {"X-API-Key:\r\n", 401},
        {"Authorization: tml-key\r\n", 401},
        {"Authorization: Basic tml-key\r\n", 401},
        {"Authorization: Bearer\r\n", 401},
        {"Authorization: Bearer tml-keys\r\n", 401},
        {"Authorization: Bearer tml-ke\r\n", 401},
        {"Authorization: Bearertml-key\r\n", 401},
        {"Proxy-Authorization: Bearer tml-key\r\n", 401},
        {"Authorization: Bearer tml-key\r\nAuthorization: Bearer none\r\n", 400},
    };
    app it;
    open_app(&it, "tml-key");
    for (size_t i = 0; i < TK_ARRAY_LEN(all); i++) {
        int status = ask(&it, all[i].headers, NULL);
        if (status != all[i].status) {
            fail_msg("%s: %d", all[i].headers != NULL ? all[i].headers : "", status);
        }
    }
    close_app(&it);
}

/* A name that a stranger's DNS points to this machine. */
static void test_hd_http_head_of_other_names(void **state)
{
    static const struct {
        const char *host;
        int status;
    } all[] = {
        {"localhost", 200},      {"LOCALHOST:80", 200},
        {"127.0.0.1:8000", 200}, {"127.1.2.3", 200},
        {"[::1]:8000", 200},     {"0.0.0.0", 200},
        {"0.0.0.0:8000", 200},   {"0:8000", 200},
        {"[::]:8000", 200},      {"0.0.0.0.evil.example", 403},
        {"0.evil", 403},         {"10.0.0.1", 403},
        {"evil.example", 403},   {"127.0.0.1.evil.example", 403},
        {"127.evil", 403},       {"localhost.evil", 403},
        {"evil.localhost", 403}, {"[::2]", 403},
        {"1270.0.0.1", 403},

        {"@127.0.0.1", 403},
    };
    app it;
    open_app(&it, NULL);
    for (size_t i = 0; i < TK_ARRAY_LEN(all); i++) {
        char text[256];
        (void)snprintf(text, sizeof(text), "GET /echo/a HTTP/1.1\r\nHost: %s\r\n\r\n",
                       all[i].host);
        int status = send_bytes(&it, tk_str_of(text), false);
        if (status != all[i].status) {
            fail_msg("Host \"%s\": %d", all[i].host, status);
        }
    }
    close_app(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hd_http_head_ambiguous),
        cmocka_unit_test(test_hd_http_head_plain),
        cmocka_unit_test(test_hd_http_head_in_pieces),
        cmocka_unit_test(test_hd_http_head_limits),
        cmocka_unit_test(test_hd_http_head_of_pages),
        cmocka_unit_test(test_hd_http_head_keys),
        cmocka_unit_test(test_hd_http_head_of_other_names),
    };
    return cmocka_run_group_tests_name("hd_http_head", tests, NULL, NULL);
}
