/* the front that gives the scripted peer TLS and HTTP/2 does what it says, seen by
 * a client that is not ours.
 * Links: front libcurl */
#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

#include "support/fakefront.h"
#include "support/test.h"

typedef struct fixture {
    fakeapi *api;
    fakefront *front;
    CURL *easy;
    char said[256];
    size_t said_n;
    long status, version;
} fixture;

static size_t on_body(char *p, size_t size, size_t n, void *user)
{
    fixture *f = user;
    size_t room = sizeof(f->said) - 1 - f->said_n;
    memcpy(f->said + f->said_n, p, TK_MIN(size * n, room));
    f->said_n += TK_MIN(size * n, room);
    return size * n;
}

static void open_fixture(fixture *f, const fakefront_options *options)
{
    memset(f, 0, sizeof(*f));
    f->api = fakeapi_start();
    f->front = fakefront_start(f->api, options);
    f->easy = curl_easy_init();
    assert_non_null(f->easy);
}

static void close_fixture(fixture *f)
{
    curl_easy_cleanup(f->easy);
    fakefront_stop(&f->front);
    fakeapi_stop(&f->api);
}

/* GET, or POST when there is a body. */
static CURLcode ask(fixture *f, const char *path, const char *body, long version)
{
    char url[128];
    (void)snprintf(url, sizeof(url), "%s%s", fakefront_url(f->front), path);
    curl_easy_setopt(f->easy, CURLOPT_URL, url);
    curl_easy_setopt(f->easy, CURLOPT_PROXY, "");
    curl_easy_setopt(f->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(f->easy, CURLOPT_CAINFO, fakefront_ca_file(f->front));
    curl_easy_setopt(f->easy, CURLOPT_HTTP_VERSION, version);
    curl_easy_setopt(f->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(f->easy, CURLOPT_WRITEDATA, f);
    curl_easy_setopt(f->easy, CURLOPT_POSTFIELDS, body);
    if (body == NULL) {
        curl_easy_setopt(f->easy, CURLOPT_HTTPGET, 1L);
    }
    f->said_n = 0;
    CURLcode code = curl_easy_perform(f->easy);
    f->said[f->said_n] = '\0';
    curl_easy_getinfo(f->easy, CURLINFO_RESPONSE_CODE, &f->status);
    curl_easy_getinfo(f->easy, CURLINFO_HTTP_VERSION, &f->version);
    return code;
}

/* the protocol that was chosen is the one that curl sees, and the request
 * arrives unchanged. */
static void test_front_protocols(void **unused)
{
    static const struct {
        fakefront_talk talk;
        long offer, version;
    } rows[] = {
        {FAKEFRONT_HTTP1, CURL_HTTP_VERSION_2TLS, CURL_HTTP_VERSION_1_1},
        {FAKEFRONT_HTTP2, CURL_HTTP_VERSION_2TLS, CURL_HTTP_VERSION_2_0},
        {FAKEFRONT_HTTP2, CURL_HTTP_VERSION_1_1, CURL_HTTP_VERSION_1_1},
        {FAKEFRONT_GARBAGE, CURL_HTTP_VERSION_1_1, CURL_HTTP_VERSION_1_1},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        fixture f;
        open_fixture(&f, &(fakefront_options){.talk = rows[i].talk});
        fakeapi_default(f.api, "POST", "/x", &fakeapi_status(201, "{\"a\":1}"));
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(ask(&f, "/x?q=1", "hello", rows[i].offer), CURLE_OK);
            assert_int_equal(f.status, 201);
            assert_string_equal(f.said, "{\"a\":1}");
            assert_int_equal(f.version, rows[i].version);
            const fakeapi_request *request = fakeapi_nth(f.api, "POST", "/x", k);
            assert_string_equal(request->body, "hello");
            assert_string_equal(request->query, "q=1");
            bool is_h2 = fakeapi_header(request, "x-front-protocol") != NULL;
            assert_int_equal(is_h2, rows[i].version == CURL_HTTP_VERSION_2_0);
        }
        assert_int_equal(fakefront_connections(f.front), 1);
        assert_int_equal(fakefront_http2(f.front),
                         rows[i].version == CURL_HTTP_VERSION_2_0);
        close_fixture(&f);
    }
}

/* each framing of the peer arrives whole over HTTP/2. */
static void test_front_framings(void **unused)
{
    static const fakeapi_step steps[] = {
        {.body = "abcdefghij"},
        {.body = "abcdefghij", .framing = FAKEAPI_CHUNKED, .drip = 3},
        {.body = "abcdefghij", .framing = FAKEAPI_UNTIL_CLOSE},
        {.body = "abcdefghij", .send_100 = true}};
    fixture f;
    open_fixture(&f, &(fakefront_options){.talk = FAKEFRONT_HTTP2});
    for (size_t i = 0; i < TK_ARRAY_LEN(steps); i++) {
        fakeapi_reply(f.api, "GET", "/x", &steps[i]);
        assert_int_equal(ask(&f, "/x", NULL, CURL_HTTP_VERSION_2TLS), CURLE_OK);
        assert_string_equal(f.said, "abcdefghij");
    }
    close_fixture(&f);
}

/* faults of the peer arrive: as they are over HTTP/1.1, as a reset of the
 * stream over HTTP/2, whose connection then still serves. */
static void test_front_faults(void **unused)
{
    static const fakeapi_step steps[] = {
        {.fault = FAKEAPI_RESET},
        {.fault = FAKEAPI_DROP},
        {.fault = FAKEAPI_CUT_HEAD},
        {.body = "0123456789", .fault = FAKEAPI_CUT_BODY, .cut = 4},
        {.body = "0123456789", .fault = FAKEAPI_RESET_BODY, .cut = 4},
        {.body = "0123456789",
         .fault = FAKEAPI_CUT_BODY,
         .cut = 4,
         .framing = FAKEAPI_CHUNKED},
    };
    for (int h2 = 0; h2 < 2; h2++) {
        fixture f;
        open_fixture(&f, &(fakefront_options){.talk = FAKEFRONT_HTTP2});
        fakeapi_default(f.api, "GET", "/good", &fakeapi_json("{}"));
        long version = h2 != 0 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1;
        for (size_t i = 0; i < TK_ARRAY_LEN(steps); i++) {
            fakeapi_default(f.api, "GET", "/x", &steps[i]);
            CURLcode code = ask(&f, "/x", NULL, version);
            if (h2 != 0) {
                assert_int_equal(code, CURLE_HTTP2_STREAM);
            } else if (steps[i].fault != FAKEAPI_CUT_HEAD) {
                assert_int_not_equal(code, CURLE_OK); /* libcurl takes half a head */
            }
            assert_int_equal(ask(&f, "/good", NULL, version), CURLE_OK);
        }
        if (h2 != 0) {
            assert_int_equal(fakefront_connections(f.front), 1);
        }
        close_fixture(&f);
    }
}

/* broken HTTP/2 does break: the request fails and never reaches the peer. */
static void test_front_broken_http2(void **unused)
{
    static const fakefront_talk talks[] = {FAKEFRONT_GARBAGE, FAKEFRONT_GOAWAY,
                                           FAKEFRONT_HANG_UP};
    for (size_t i = 0; i < TK_ARRAY_LEN(talks); i++) {
        fixture f;
        open_fixture(&f, &(fakefront_options){.talk = talks[i]});
        fakeapi_default(f.api, "GET", "/x", &fakeapi_json("{}"));
        assert_int_not_equal(ask(&f, "/x", NULL, CURL_HTTP_VERSION_2TLS), CURLE_OK);
        assert_int_equal(fakeapi_total(f.api), 0);
        assert_true(fakefront_http2(f.front) >= 1);
        close_fixture(&f);
    }
}

/* good, foreign, expired and client certificates have the effect that they
 * should. */
static void test_front_certificates(void **unused)
{
    static const struct {
        fakefront_options options;
        CURLcode code;
    } rows[] = {
        {{.cert = FAKEFRONT_CERT_GOOD}, CURLE_OK},
        {{.cert = FAKEFRONT_CERT_OTHER_HOST}, CURLE_PEER_FAILED_VERIFICATION},
        {{.cert = FAKEFRONT_CERT_EXPIRED}, CURLE_PEER_FAILED_VERIFICATION},
        {{.wants_client = true}, CURLE_OK},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        fixture f;
        open_fixture(&f, &rows[i].options);
        fakeapi_default(f.api, "GET", "/x", &fakeapi_json("{}"));
        if (rows[i].options.wants_client) {
            assert_int_not_equal(ask(&f, "/x", NULL, CURL_HTTP_VERSION_1_1), CURLE_OK);
            assert_int_equal(fakeapi_total(f.api), 0);
            curl_easy_setopt(f.easy, CURLOPT_SSLCERT, fakefront_client_cert(f.front));
            curl_easy_setopt(f.easy, CURLOPT_SSLKEY, fakefront_client_key(f.front));
        }
        assert_int_equal(ask(&f, "/x", NULL, CURL_HTTP_VERSION_1_1), rows[i].code);
        assert_int_equal(fakeapi_total(f.api), rows[i].code == CURLE_OK);
        close_fixture(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_front_protocols),
        cmocka_unit_test(test_front_framings),
        cmocka_unit_test(test_front_faults),
        cmocka_unit_test(test_front_broken_http2),
        cmocka_unit_test(test_front_certificates),
    };
    return cmocka_run_group_tests_name("fakefront", tests, NULL, NULL);
}
