/* Bodies that the libcurl transport takes and gives in pieces, and their limit (A-112,
 * */
#include "base/buf.h"
#include "base/mem.h"
#include "support/curlfix.h"

static void test_curl_response_cap(void **unused)
{
    curlfix f;
    curlfix_open(&f, NULL);
    fakeapi_default(f.api, "GET", "/x", &fakeapi_json("0123456789"));
    curlfix_probe p;
    curlfix_probe_init(&p, &f, TK_HTTP_GET, "/x");
    p.request.max_response_bytes = 9;
    curlfix_run(&p);
    assert_int_equal(p.failure, TK_HTTP_TOO_LARGE);
    curlfix_probe_init(&p, &f, TK_HTTP_GET, "/x");
    p.request.max_response_bytes = 10;
    curlfix_run(&p);
    assert_int_equal(p.failure, TK_HTTP_OK);
    curlfix_close(&f);
}

static tk_http_flow take_piece(tk_http_request *request, const char *bytes, size_t n)
{
    curlfix_probe *p = request->user;
    p->streamed += n;
    return p->streamed < 6 ? TK_HTTP_TAKE : TK_HTTP_STOP;
}

/* Streaming hands over pieces of a 2xx body; an error body is collected as usual. */
static void test_curl_streaming(void **unused)
{
    curlfix f;
    curlfix_open(&f, NULL);
    fakeapi_reply(f.api, "GET", "/x", &fakeapi_json("12345"));
    fakeapi_reply(f.api, "GET", "/x", &fakeapi_json("123456"));
    fakeapi_reply(f.api, "GET", "/x", &fakeapi_detail(404, "no"));
    curlfix_probe p;
    curlfix_probe_init(&p, &f, TK_HTTP_GET, "/x");
    p.request.on_data = take_piece;
    curlfix_run(&p);
    assert_int_equal(p.failure, TK_HTTP_OK);
    assert_int_equal(p.streamed, 5);
    assert_int_equal(p.body_n, 0);
    curlfix_probe_init(&p, &f, TK_HTTP_GET, "/x");
    p.request.on_data = take_piece;
    curlfix_run(&p);
    assert_int_equal(p.failure, TK_HTTP_CANCELLED);
    curlfix_probe_init(&p, &f, TK_HTTP_GET, "/x");
    p.request.on_data = take_piece;
    curlfix_run(&p);
    assert_int_equal(p.status, 404);
    assert_string_equal(p.body, "{\"detail\":\"no\"}");
    curlfix_close(&f);
}

/* A clock on which each look costs `step_ms`. */
typedef struct slowclock {
    tk_clock clock;
    int64_t now_ms, step_ms;
} slowclock;

static int64_t look(void *user)
{
    slowclock *slow = user;
    slow->now_ms += slow->step_ms;
    return slow->now_ms * TK_NS_PER_MS;
}

static tk_http_failure stream_slowly(int64_t step_ms, const fakeapi_step *step)
{
    curlfix f;
    slowclock slow = {.clock = {look, look, &slow}, .step_ms = step_ms};
    tk_curl_options options = {.clock = &slow.clock};
    curlfix_open(&f, &options);
    fakeapi_default(f.api, "GET", "/x", step);
    curlfix_probe p;
    curlfix_probe_init(&p, &f, TK_HTTP_GET, "/x");
    p.request.on_data = take_piece;
    p.request.timeout_ms = -1;
    p.request.idle_timeout_ms = 60000;
    curlfix_run(&p);
    curlfix_close(&f);
    return p.failure;
}

/* A stream may take as long as it likes, but its head, or a refusal, may not: bytes that
 * come one by one are no silence. */
static void test_curl_slow_refusal(void **unused)
{
    fakeapi_step refusal = fakeapi_detail(404, "no"), accepted = fakeapi_json("12345");
    fakeapi_step headed = fakeapi_json("12345");
    headed.headers = "a: b\r\nc: d\r\ne: f\r\n";
    assert_int_equal(stream_slowly(1, &refusal), TK_HTTP_OK);
    assert_int_equal(stream_slowly(61000, &refusal), TK_HTTP_TIMEOUT);
    assert_int_equal(stream_slowly(1, &headed), TK_HTTP_OK);
    assert_int_equal(stream_slowly(61000, &headed), TK_HTTP_TIMEOUT);
    assert_int_equal(stream_slowly(5000, &accepted), TK_HTTP_OK);
}

/* Takes everything but lets each piece wait for one resume. */
typedef struct pauser {
    curlfix_probe p;
    tk_buf got;
    bool ready;
    int pauses, heads;
    int seen; /* pauses that were answered */
    int head_status;
} pauser;

static void note_head(tk_http_request *request, const tk_http_response *head)
{
    pauser *self = TK_CONTAINER_OF(request, pauser, p.request);
    tk_str value = tk_http_header(head, "x-test");
    self->heads++;
    self->head_status = head->status;
    assert_int_equal(self->got.n, 0);
    assert_true(tk_str_is(value, "yes"));
}

static tk_http_flow pause_piece(tk_http_request *request, const char *bytes, size_t n)
{
    pauser *self = TK_CONTAINER_OF(request, pauser, p.request);
    if (!self->ready) {
        self->pauses++;
        return TK_HTTP_PAUSE;
    }
    self->ready = false;
    tk_buf_put(&self->got, bytes, n);
    return TK_HTTP_TAKE;
}

static bool has_paused_or_ended(void *user)
{
    const pauser *self = user;
    return self->pauses > self->seen || self->p.calls > 0;
}

/* a reader that pauses gets every byte once, in order; the head comes first. */
static void test_curl_pause(void **unused)
{
    enum { SIZE = 300000 };
    curlfix f;
    curlfix_open(&f, NULL);
    char *body = test_malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++) {
        body[i] = (char)(i % 251);
    }
    fakeapi_reply(
        f.api, "GET", "/x",
        &(fakeapi_step){.body = body, .body_n = SIZE, .headers = "X-Test: yes\r\n"});
    pauser self = {0};
    tk_buf_init(&self.got, TK_MIB);
    curlfix_probe_init(&self.p, &f, TK_HTTP_GET, "/x");
    self.p.request.on_head = note_head;
    self.p.request.on_data = pause_piece;
    curlfix_submit(&self.p);
    while (f.done == 0) {
        self.seen = self.pauses;
        curlfix_wait(&f, has_paused_or_ended, &self);
        self.ready = true;
        f.transport->ops->resume(f.transport, &self.p.request);
    }
    assert_int_equal(self.p.failure, TK_HTTP_OK);
    assert_int_equal(self.heads, 1);
    assert_int_equal(self.head_status, 200);
    assert_true(self.pauses > 10);
    assert_int_equal(self.got.n, SIZE);
    assert_memory_equal(self.got.p, body, SIZE);
    tk_buf_dispose(&self.got);
    test_free(body);
    curlfix_close(&f);
}

static size_t make_body(tk_http_request *request, uint64_t offset, char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        p[i] = (char)('a' + (offset + i) % 26);
    }
    return n;
}

static size_t fail_body(tk_http_request *request, uint64_t offset, char *p, size_t n)
{
    return offset < 20000 ? make_body(request, offset, p, TK_MIN(n, (size_t)20000))
                          : TK_HTTP_BODY_FAILED;
}

/* a body that is read piece by piece; one that fails ends the transfer. */
static void test_curl_read_body(void **unused)
{
    enum { SIZE = 100000 };
    static const tk_http_method methods[] = {TK_HTTP_POST, TK_HTTP_PUT, TK_HTTP_PATCH};
    curlfix f;
    curlfix_open(&f, NULL);
    fakeapi_default(f.api, "*", "/x", &fakeapi_json("{}"));
    curlfix_probe p;
    for (size_t i = 0; i < TK_ARRAY_LEN(methods); i++) {
        curlfix_probe_init(&p, &f, methods[i], "/x");
        p.request.read_body = make_body;
        p.request.body_n = SIZE;
        curlfix_run(&p);
        assert_int_equal(p.status, 200);
        const fakeapi_request *seen = fakeapi_request_at(f.api, i);
        assert_string_equal(seen->method, tk_http_method_name(methods[i]));
        assert_int_equal(seen->body_n, SIZE);
        for (size_t at = 0; at < SIZE; at++) {
            assert_int_equal(seen->body[at], 'a' + (int)(at % 26));
        }
    }
    curlfix_probe_init(&p, &f, TK_HTTP_POST, "/x");
    p.request.read_body = fail_body;
    p.request.body_n = SIZE;
    curlfix_run(&p);
    assert_int_equal(p.failure, TK_HTTP_CANCELLED);
    curlfix_probe_init(&p, &f, TK_HTTP_POST, "/x");
    p.request.body = "plain";
    p.request.body_n = 5;
    curlfix_run(&p); /* the handle forgot the reader */
    assert_int_equal(p.status, 200);
    curlfix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_curl_response_cap), cmocka_unit_test(test_curl_streaming),
        cmocka_unit_test(test_curl_slow_refusal), cmocka_unit_test(test_curl_pause),
        cmocka_unit_test(test_curl_read_body),
    };
    return cmocka_run_group_tests_name("curl_body", tests, NULL, NULL);
}
