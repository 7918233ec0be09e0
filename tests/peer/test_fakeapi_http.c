/* The peer's request parser: any cut parses the same, hostile input is refused. */
#include "support/fakeapi_http.h"
#include "support/test.h"

/* Feeds in pieces of `piece` bytes; returns the last event. *rest = bytes after DONE. */
static fakeapi_http_event feed(fakeapi_http *http, const char *text, size_t n,
                               size_t piece, size_t *rest)
{
    size_t at = 0, used = 0, heads = 0;
    fakeapi_http_event event = FAKEAPI_HTTP_MORE;
    while (at < n || event == FAKEAPI_HTTP_HEAD) {
        size_t give = TK_MIN(piece, n - at);
        event = fakeapi_http_feed(http, text + at, give, &used);
        assert_true(used <= give);
        at += used;
        heads += event == FAKEAPI_HTTP_HEAD;
        if (event == FAKEAPI_HTTP_DONE || event == FAKEAPI_HTTP_BAD) {
            break;
        }
        assert_true(event == FAKEAPI_HTTP_HEAD || used == give);
    }
    assert_true(heads <= 1);
    *rest = n - at;
    return event;
}

static void test_any_cut_parses_the_same(void **state)
{
    static const char text[] = "POST /api/v1/x?a=1%202 HTTP/1.1\r\n"
                               "Host: h\r\nX-One:  two words \t\r\nEmpty:\r\n"
                               "Content-Length: 11\r\n\r\nhello\r\nworldGET";
    for (size_t piece = 1; piece < sizeof(text); piece++) {
        fakeapi_http http = {0};
        size_t rest = 0;
        assert_int_equal(feed(&http, text, sizeof(text) - 1, piece, &rest),
                         FAKEAPI_HTTP_DONE);
        assert_int_equal(rest, 4);
        assert_string_equal(http.method, "POST");
        assert_string_equal(http.target, "/api/v1/x?a=1%202");
        assert_int_equal(http.headers_n, 4);
        assert_string_equal(http.headers[1].value, "two words");
        assert_string_equal(http.headers[2].value, "");
        assert_int_equal(http.body.n, 11);
        assert_memory_equal(http.body.p, "hello\r\nworl", 11);
        fakeapi_http_dispose(&http);
    }
}

static void test_chunked_body(void **state)
{
    static const char text[] = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked"
                               "\r\n\r\n5;ext=1\r\nhello\r\nB\r\n wide world\r\n0\r\n"
                               "Trailer: x\r\n\r\n";
    for (size_t piece = 1; piece < sizeof(text); piece++) {
        fakeapi_http http = {0};
        size_t rest = 0;
        assert_int_equal(feed(&http, text, sizeof(text) - 1, piece, &rest),
                         FAKEAPI_HTTP_DONE);
        assert_int_equal(rest, 0);
        assert_int_equal(http.body.n, 16);
        assert_memory_equal(http.body.p, "hello wide world", 16);
        fakeapi_http_dispose(&http);
    }
}

static void test_reset_takes_the_next_request(void **state)
{
    fakeapi_http http = {0};
    size_t rest = 0;
    static const char first[] = "POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n"
                                "Connection: close\r\nExpect: 100-continue\r\n\r\nab";
    assert_int_equal(feed(&http, first, sizeof(first) - 1, 7, &rest), FAKEAPI_HTTP_DONE);
    assert_false(http.keep_alive);
    assert_true(http.expects_continue);
    fakeapi_http_reset(&http);
    assert_false(fakeapi_http_has_begun(&http));
    static const char second[] = "\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n";
    assert_int_equal(feed(&http, second, sizeof(second) - 1, 1000, &rest),
                     FAKEAPI_HTTP_DONE);
    assert_string_equal(http.target, "/2");
    assert_int_equal(http.headers_n, 1);
    assert_int_equal(http.body.n, 0);
    assert_true(http.keep_alive);
    assert_false(http.expects_continue);
    fakeapi_http_dispose(&http);
}

static void test_hostile_requests_are_refused(void **state)
{
    static const struct {
        const char *text;
        int status;
    } rows[] = {
        {"\r\n\r\nnonsense\r\n\r\n", 400},
        {"GET /\r\n\r\n", 400},
        {"GET  / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"G\"T / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"GET / FTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"GET / HTTP/3.7\r\nHost: h\r\n\r\n", 505},
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
        {"GET / HTTP/1.1\r\n\r\n", 400},                       /* no host */
        {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400}, /* two */
        {"GET / HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: h\r\nbad name: x\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n folded\r\n\r\n", 400},
        {"GET / HTTP/1.1\nHost: h\r\n\r\n", 400}, /* bare LF */
        {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n",
         400},
        {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 999999999999\r\n\r\n", 413},
        {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
         400},
        {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n"
         "Transfer-Encoding: chunked\r\n\r\n",
         400},
        {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
         400},
        {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\nab\r\n",
         400},
        {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n",
         413},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        for (size_t piece = 1; piece < 200; piece += 66) {
            fakeapi_http http = {0};
            size_t rest = 0, n = strlen(rows[i].text);
            fakeapi_http_event event = feed(&http, rows[i].text, n, piece, &rest);
            if (event != FAKEAPI_HTTP_BAD || http.bad_status != rows[i].status) {
                fail_msg("row %zu: event %d, status %d", i, event, http.bad_status);
            }
            fakeapi_http_dispose(&http);
        }
    }
}

static void test_endless_input_is_refused(void **state)
{
    static const char *const starts[] = {
        "", "GET / HTTP/1.1\r\nHost: h\r\nLong: ",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1;"};
    static const int statuses[] = {431, 431, 400};
    for (size_t i = 0; i < TK_ARRAY_LEN(starts); i++) {
        fakeapi_http http = {0};
        size_t rest = 0, used = 0;
        fakeapi_http_event event = feed(&http, starts[i], strlen(starts[i]), 9, &rest);
        for (size_t n = 0; n < 2 * FAKEAPI_HEAD_MAX_BYTES; n++) {
            if (event == FAKEAPI_HTTP_BAD) {
                break;
            }
            event = fakeapi_http_feed(&http, "a", 1, &used);
        }
        assert_int_equal(event, FAKEAPI_HTTP_BAD);
        assert_int_equal(http.bad_status, statuses[i]);
        fakeapi_http_dispose(&http);
    }
}

static void test_nul_bytes_in_the_head_are_refused(void **state)
{
    static const char text[] = "GET / HTTP/1.1\r\nHost: h\r\nA: b\0c\r\n\r\n";
    fakeapi_http http = {0};
    size_t rest = 0;
    assert_int_equal(feed(&http, text, sizeof(text) - 1, 3, &rest), FAKEAPI_HTTP_BAD);
    assert_int_equal(http.bad_status, 400);
    fakeapi_http_dispose(&http);
}

static void test_unescape(void **state)
{
    static const char *const rows[][2] = {{"/a%3Atrain%3a0", "/a:train:0"},
                                          {"%", "%"},
                                          {"%4", "%4"},
                                          {"%zz", "%zz"},
                                          {"%00x", "%00x"},
                                          {"%25%41", "%A"},
                                          {"", ""}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        char *text = fakeapi_dup_text(rows[i][0]);
        fakeapi_http_unescape(text);
        assert_string_equal(text, rows[i][1]);
        fakeapi_release(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_cut_parses_the_same),
        cmocka_unit_test(test_chunked_body),
        cmocka_unit_test(test_reset_takes_the_next_request),
        cmocka_unit_test(test_hostile_requests_are_refused),
        cmocka_unit_test(test_endless_input_is_refused),
        cmocka_unit_test(test_nul_bytes_in_the_head_are_refused),
        cmocka_unit_test(test_unescape),
    };
    return cmocka_run_group_tests_name("fakeapi_http", tests, NULL, NULL);
}
