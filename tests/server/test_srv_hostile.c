/* Every route under hostile bodies and paths: never a 5xx, and the next
 * honest request is answered.
 * Links: wire */
#include "server/api/srv_api.h"
#include "server/srvfix.h"
#include "wire/zstd.h"

/* A path that matches the pattern, with `filler` for each segment that is free. */
static void fill(char *out, size_t size, const char *pattern, const char *filler)
{
    size_t n = 0;
    for (const char *p = pattern; *p != '\0' && n + 64 < size; p++) {
        if (p[0] == '*' && p[1] == '*') {
            n += (size_t)snprintf(out + n, size - n, "weights/%s", filler);
            p++;
        } else if (*p == '*') {
            n += (size_t)snprintf(out + n, size - n, "%s", filler);
        } else {
            out[n++] = *p;
        }
    }
    out[n] = '\0';
}

static int send_one(srvfix *f, const httpget_request *request)
{
    httpget_response response;
    httpget_outcome outcome = httpget_once(srvfix_port(f), request, &response);
    int status = outcome == HTTPGET_OK ? response.status : 0;
    if (status >= 400 && status < 500) {
        assert_true(response.has_length);
        assert_true(response.length > 0);
    }
    httpget_response_dispose(&response);
    return status;
}

static void try_body(srvfix *f, const char *target, const char *method, tk_str body,
                     const char *headers)
{
    static const char *const types[] = {"application/json", "application/x-protobuf"};
    for (size_t i = 0; i < TK_ARRAY_LEN(types); i++) {
        const httpget_request request = {.method = method,
                                         .target = target,
                                         .body = body.n > 0 ? body.p : NULL,
                                         .body_n = body.n,
                                         .content_type = types[i],
                                         .headers = headers};
        int status = send_one(f, &request);
        if (status >= 500) {
            fail_msg("%s %s: %d for %.60s", method, target, status, body.p);
        }
    }
}

static const char *const bodies[] = {
    "",
    "{",
    "null",
    "[]",
    "\"text\"",
    "{\"session_id\":null}",
    "{\"session_id\":{},\"model_id\":[],\"request_id\":{},\"seq_id\":\"x\"}",
    "{\"session_id\":\"s\",\"model_id\":\"m\",\"seq_id\":-9223372036854775808,"
    "\"model_seq_id\":9223372036854775807,\"base_model\":\"b\",\"path\":\"p\","
    "\"optimizer\":true,\"request_id\":\"r\",\"tinker_path\":\"tinker://a/weights/..\","
    "\"sampling_session_seq_id\":-1,\"tags\":[],\"sdk_version\":\"v\"}",
    "{\"session_id\":\"\\u0000\",\"model_id\":\"\\u0000\",\"request_id\":\"\\u0000\","
    "\"tinker_path\":\"tinker:///weights/\",\"tags\":[],\"sdk_version\":\"\\ud83d\\ude00\"}",
    "{\"prompt\":{\"chunks\":[{\"type\":\"encoded_text\",\"tokens\":[1e99]}]},"
    "\"sampling_params\":{\"temperature\":-1,\"top_p\":9}}",
    "{\"forward_backward_input\":{\"data\":[{\"loss_fn_inputs\":{\"weights\":{\"data\":[1],"
    "\"dtype\":\"float32\",\"shape\":[1000000000,1000000000]}},\"model_input\":{\"chunks\":"
    "[]}}],\"loss_fn\":\"x\"},\"model_id\":\"m\"}",
    "\xff\xfe\x00\x01",
    "\x0a\xff\xff\xff\xff\x0f",
    "\x1a\x80\x80\x80\x80\x08\x0a",
};

static const char *const fillers[] = {
    "x", "..", "%2e%2e%2f%2e%2e", "%00", "a%3Atrain%3A0", "%ff%fe", "'%20OR%201=1--",
};

/* S-013. */
static void test_srv_bodies_and_paths(void **state)
{
    srvfix f;
    char target[512];
    char deep[20001];
    memset(deep, '[', sizeof(deep));
    srvfix_open(&f, (srv_options){.poll_ms = 1});
    for (size_t r = 0; r < srv_api_routes.n; r++) {
        const hd_route *route = &srv_api_routes.p[r];
        fill(target, sizeof(target), route->pattern, "x");
        for (size_t i = 0; i < TK_ARRAY_LEN(bodies); i++) {
            try_body(&f, target, route->method, tk_str_of(bodies[i]), NULL);
        }
        try_body(&f, target, route->method, (tk_str){deep, sizeof(deep)}, NULL);
        try_body(&f, target, route->method, tk_str_of("not zstd"),
                 "Content-Encoding: zstd\r\n");
        for (size_t i = 0; i < TK_ARRAY_LEN(fillers); i++) {
            fill(target, sizeof(target), route->pattern, fillers[i]);
            try_body(&f, target, route->method, TK_STR("{}"), NULL);
        }
    }
    (void)srvfix_session(&f);
    srvfix_close(&f);
}

/* S-024: a megabyte of zeros in a few bytes, many times over: bounded by the decoder's
 * cap. */
static void test_srv_compressed_bombs(void **state)
{
    srvfix f;
    tk_buf packed;
    tk_zstd zstd;
    tk_err err = TK_ERR_INIT;
    enum { FRAMES = 8 }; /* equal ones; all of them for the route that unpacks them */
    const size_t n = 32 * TK_MIB;
    char *zeros = calloc(n, 1);
    assert_non_null(zeros);
    tk_buf_init(&packed, TK_MIB);
    tk_zstd_init(&zstd);
    const tk_bytes bytes = {(const unsigned char *)zeros, n};
    for (int i = 0; i < FRAMES; i++) {
        assert_int_equal(tk_zstd_compress(&zstd, &packed, bytes, 0, &err), TINKC_OK);
    }
    tk_zstd_dispose(&zstd);
    free(zeros);
    srvfix_open(&f, (srv_options){0});
    for (size_t r = 0; r < srv_api_routes.n; r++) {
        char target[512];
        bool all = strstr(srv_api_routes.p[r].pattern, "/forward_backward") != NULL;
        fill(target, sizeof(target), srv_api_routes.p[r].pattern, "x");
        const httpget_request request = {.method = srv_api_routes.p[r].method,
                                         .target = target,
                                         .body = packed.p,
                                         .body_n = all ? packed.n : packed.n / FRAMES,
                                         .content_type = "application/x-protobuf",
                                         .headers = "Content-Encoding: zstd\r\n"};
        int status = send_one(&f, &request);
        assert_true(status < 500);
        if ((srv_api_routes.p[r].flags & HD_ROUTE_HEAVY) != 0 &&
            strcmp(srv_api_routes.p[r].method, "POST") == 0) {
            assert_true(status == 422 || status == 429);
        }
    }
    (void)srvfix_session(&f);
    tk_buf_dispose(&packed);
    srvfix_close(&f);
}

/* Bytes that are not HTTP, requests that stop in the middle, headers without end. */
static void test_srv_broken_http(void **state)
{
    static const char *const pieces[] = {
        "\r\n\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
        "POST /api/v1/create_session HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        "POST /api/v1/create_session HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
        "99999999999999999999\r\n\r\n",
        "POST /api/v1/create_session HTTP/1.1\r\nHost: localhost\r\n"
        "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        "POST /api/v1/create_session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n"
        "\r\n{",
        "GET /api/v1/healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    };
    srvfix f;
    char *header = malloc(100000);
    assert_non_null(header);
    int n = snprintf(header, 100000, "GET / HTTP/1.1\r\nHost: localhost\r\nX: ");
    memset(header + n, 'a', 100000 - (size_t)n);
    srvfix_open(&f, (srv_options){0});
    for (size_t i = 0; i < TK_ARRAY_LEN(pieces); i++) {
        httpget *connection = httpget_connect(srvfix_port(&f));
        (void)httpget_send(connection, pieces[i], strlen(pieces[i]));
        httpget_close(&connection);
    }
    httpget *connection = httpget_connect(srvfix_port(&f));
    (void)httpget_send(connection, header, 100000);
    httpget_close(&connection);
    free(header);
    (void)srvfix_session(&f);
    srvfix_close(&f);
}

/* One client per route that stops in the middle, of its head or of its body. Others are
 * answered meanwhile; and so are they, once they go on, a byte at a time. */
static void test_srv_slow_clients(void **state)
{
    srvfix f;
    httpget **clients = calloc(srv_api_routes.n, sizeof(*clients));
    fakeapi_bytes *whole = calloc(srv_api_routes.n, sizeof(*whole));
    assert_non_null(clients);
    assert_non_null(whole);
    srvfix_open(&f, (srv_options){.poll_ms = 1});
    for (size_t r = 0; r < srv_api_routes.n; r++) {
        char target[512];
        bool body = strcmp(srv_api_routes.p[r].method, "GET") != 0;
        fill(target, sizeof(target), srv_api_routes.p[r].pattern, "x");
        httpget_write(&whole[r], &(httpget_request){.method = srv_api_routes.p[r].method,
                                                    .target = target,
                                                    .body = body ? "{\"a\":1}" : NULL});
        clients[r] = httpget_connect(srvfix_port(&f));
        assert_true(httpget_send(clients[r], whole[r].p, whole[r].n - 4));
    }
    (void)srvfix_session(&f);
    for (size_t r = 0; r < srv_api_routes.n; r++) {
        httpget_response response;
        size_t sent = whole[r].n - 4;
        assert_true(httpget_send_split(clients[r], whole[r].p + sent, 4, 1));
        assert_int_equal(httpget_read(clients[r], &response), HTTPGET_OK);
        assert_true(response.status < 500);
        httpget_response_dispose(&response);
        httpget_close(&clients[r]);
        fakeapi_bytes_dispose(&whole[r]);
    }
    free(clients);
    free(whole);
    (void)srvfix_session(&f);
    srvfix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_bodies_and_paths),
        cmocka_unit_test(test_srv_compressed_bombs),
        cmocka_unit_test(test_srv_broken_http),
        cmocka_unit_test(test_srv_slow_clients),
    };
    return cmocka_run_group_tests_name("srv_hostile", tests, NULL, NULL);
}
