/* The libcurl transport against the scripted peer (M-018..M-024, M-033, A-081, A-099,
 * A-101..A-104). */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "http/curl_transport.h"
#include "support/failmem.h"
#include "support/fakeapi.h"
#include "support/test.h"
#include "support/waiter.h"

typedef struct fixture {
    fakeapi *api;
    tk_transport *transport;
    int done; /* requests that have ended */
} fixture;

/* One request and what became of it. */
typedef struct probe {
    tk_http_request request;
    fixture *owner;
    char url[256];
    int calls;
    tk_http_failure failure;
    int status;
    char body[256];
    size_t body_n;
    char header[64]; /* of "x-test" */
    size_t streamed;
    struct probe *then; /* submitted from inside `done` */
} probe;

static void on_done(tk_http_request *request, const tk_http_response *response)
{
    probe *p = request->user;
    p->calls++;
    p->owner->done++;
    p->failure = response->failure;
    p->status = response->status;
    p->body_n = response->body.n;
    (void)snprintf(p->body, sizeof(p->body), TK_STR_FMT, TK_STR_ARG(response->body));
    tk_str value = tk_http_header(response, "X-TEST");
    (void)snprintf(p->header, sizeof(p->header), TK_STR_FMT, TK_STR_ARG(value));
    if (response->failure != TK_HTTP_OK) {
        assert_true(response->err.code != TINKC_OK);
        assert_true(response->err.message[0] != '\0');
    }
    if (p->then != NULL) {
        assert_int_equal(p->owner->transport->ops->submit(p->owner->transport,
                                                          &p->then->request, NULL),
                         TINKC_OK);
    }
}

static void probe_init(probe *p, fixture *f, tk_http_method method, const char *path)
{
    memset(p, 0, sizeof(*p));
    p->owner = f;
    (void)snprintf(p->url, sizeof(p->url), "%s%s", fakeapi_url(f->api), path);
    p->request.method = method;
    p->request.group = TK_HTTP_REST;
    p->request.url = p->url;
    p->request.timeout_ms = 60000;
    p->request.connect_timeout_ms = 5000;
    p->request.max_response_bytes = 1 << 20;
    p->request.done = on_done;
    p->request.user = p;
}

static void submit(probe *p)
{
    tk_err err = TK_ERR_INIT;
    assert_int_equal(
        p->owner->transport->ops->submit(p->owner->transport, &p->request, &err),
        TINKC_OK);
}

static void process(void *user)
{
    fixture *f = user;
    f->transport->ops->process(f->transport);
}

static int wanted;

static bool enough(void *user)
{
    return ((fixture *)user)->done >= wanted;
}

static void run_until(fixture *f, int n)
{
    wanted = n;
    assert_true(waiter_run(f->transport->ops->fd(f->transport), process, enough, f));
}

/* Submits and waits for this one. */
static void run(probe *p)
{
    submit(p);
    run_until(p->owner, p->owner->done + 1);
    assert_int_equal(p->calls, 1);
    assert_null(p->request.impl);
}

static void open_fixture(fixture *f, const tk_curl_options *options)
{
    static const tk_curl_options defaults = {0};
    memset(f, 0, sizeof(*f));
    f->api = fakeapi_start();
    tk_err err = TK_ERR_INIT;
    assert_int_equal(
        tk_curl_transport_new(&f->transport, options != NULL ? options : &defaults, &err),
        TINKC_OK);
}

static void close_fixture(fixture *f)
{
    f->transport->ops->close(f->transport);
    fakeapi_stop(&f->api);
}

typedef struct method_row {
    tk_http_method method;
    const char *name, *body, *length;
} method_row;

static const method_row method_rows[] = {
    {TK_HTTP_GET, "GET", NULL, NULL},      {TK_HTTP_POST, "POST", "{\"a\":1}", "7"},
    {TK_HTTP_POST, "POST", NULL, "0"},     {TK_HTTP_PUT, "PUT", "x", "1"},
    {TK_HTTP_PUT, "PUT", NULL, "0"},       {TK_HTTP_PATCH, "PATCH", "yy", "2"},
    {TK_HTTP_DELETE, "DELETE", NULL, NULL}};

static void send_row(fixture *f, const method_row *row)
{
    static const char *const lines[] = {"X-Mine: 1", "Content-Type: text/x"};
    probe p;
    probe_init(&p, f, row->method, "/x");
    p.request.body = row->body;
    p.request.body_n = row->body != NULL ? strlen(row->body) : 0;
    p.request.headers = lines;
    p.request.headers_n = 2;
    run(&p);
    assert_int_equal(p.status, 200);
    assert_string_equal(p.body, "hello");
    assert_string_equal(p.header, "yes");
    const fakeapi_request *seen = fakeapi_request_at(f->api, fakeapi_total(f->api) - 1);
    assert_string_equal(seen->method, row->name);
    assert_string_equal(seen->body, row->body != NULL ? row->body : "");
    assert_string_equal(fakeapi_header(seen, "x-mine"), "1");
    assert_null(fakeapi_header(seen, "expect"));
    assert_non_null(fakeapi_header(seen, "accept-encoding"));
    const char *length = fakeapi_header(seen, "content-length");
    if (row->length != NULL) {
        assert_string_equal(length, row->length);
    } else {
        assert_null(length);
    }
}

/* Handles are used again: what one request was leaves no trace on the next. */
static void test_curl_methods_and_bodies(void **unused)
{
    (void)unused;
    fixture f;
    open_fixture(&f, NULL);
    fakeapi_default(f.api, "*", "/x",
                    &(fakeapi_step){.body = "hello", .headers = "X-Test: yes \r\n"});
    for (size_t i = 0; i < TK_ARRAY_LEN(method_rows); i++) {
        for (size_t k = 0; k < TK_ARRAY_LEN(method_rows); k++) {
            send_row(&f, &method_rows[i]);
            send_row(&f, &method_rows[k]);
        }
    }
    assert_int_equal(fakeapi_connections_total(f.api), 1); /* kept alive */
    close_fixture(&f);
}

/* The same of its options: redirects, a deadline, a failure. */
static void test_curl_handles_forget(void **unused)
{
    (void)unused;
    fixture f;
    probe p;
    open_fixture(&f, NULL);
    fakeapi_default(f.api, "GET", "/there", &(fakeapi_step){.body = "there"});
    fakeapi_default(f.api, "GET", "/moved",
                    &(fakeapi_step){.status = 302, .headers = "Location: /there\r\n"});
    fakeapi_default(f.api, "GET", "/never", &(fakeapi_step){.fault = FAKEAPI_NEVER});
    fakeapi_default(f.api, "GET", "/cut", &(fakeapi_step){.fault = FAKEAPI_CUT_HEAD});
    probe_init(&p, &f, TK_HTTP_GET, "/moved");
    p.request.follow_redirects = true;
    run(&p);
    assert_int_equal(p.status, 200);
    probe_init(&p, &f, TK_HTTP_GET, "/moved");
    run(&p);
    assert_int_equal(p.status, 302);
    probe_init(&p, &f, TK_HTTP_GET, "/never");
    p.request.timeout_ms = 20;
    run(&p);
    assert_int_equal(p.failure, TK_HTTP_TIMEOUT);
    probe_init(&p, &f, TK_HTTP_GET, "/cut");
    run(&p);
    assert_int_equal(p.failure, TK_HTTP_RESET);
    probe_init(&p, &f, TK_HTTP_GET, "/there");
    run(&p);
    assert_int_equal(p.failure, TK_HTTP_OK);
    assert_string_equal(p.body, "there");
    close_fixture(&f);
}

/* each way of having no response, by name. */
static void test_curl_failures(void **unused)
{
    (void)unused;
    static const struct {
        fakeapi_fault fault;
        tk_http_failure failure;
    } rows[] = {{FAKEAPI_RESET, TK_HTTP_RESET},       {FAKEAPI_DROP, TK_HTTP_RESET},
                {FAKEAPI_CUT_BODY, TK_HTTP_RESET},    {FAKEAPI_RESET_BODY, TK_HTTP_RESET},
                {FAKEAPI_CUT_HEAD, TK_HTTP_RESET},    {FAKEAPI_NEVER, TK_HTTP_TIMEOUT},
                {FAKEAPI_STALL_BODY, TK_HTTP_TIMEOUT}};
    fixture f;
    open_fixture(&f, NULL);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        fakeapi_reply(
            f.api, "POST", "/x",
            &(fakeapi_step){.body = "0123456789", .fault = rows[i].fault, .cut = 4});
        probe p;
        probe_init(&p, &f, TK_HTTP_POST, "/x");
        p.request.fresh_connection = true; /* libcurl resends once on a stale one */
        p.request.timeout_ms = rows[i].failure == TK_HTTP_TIMEOUT ? 30 : 60000;
        run(&p);
        assert_int_equal(p.failure, rows[i].failure);
        assert_int_equal(p.status, 0);
    }
    assert_int_equal(fakeapi_steps_left(f.api), 0);
    close_fixture(&f);
}

/* A port of this machine on which nobody listens. */
static int closed_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    close(fd);
    return ntohs(address.sin_port);
}

static void test_curl_refused_and_unknown_host(void **unused)
{
    (void)unused;
    fixture f;
    open_fixture(&f, &(tk_curl_options){.proxy = ""});
    probe p;
    probe_init(&p, &f, TK_HTTP_GET, "/x");
    (void)snprintf(p.url, sizeof(p.url), "http://127.0.0.1:%d/x", closed_port());
    run(&p);
    assert_int_equal(p.failure, TK_HTTP_CONNECT);
    probe_init(&p, &f, TK_HTTP_GET, "/x");
    (void)snprintf(p.url, sizeof(p.url), "http://no-such-host.invalid/x");
    run(&p);
    assert_int_equal(p.failure, TK_HTTP_DNS);
    close_fixture(&f);
}

static void test_curl_response_cap(void **unused)
{
    (void)unused;
    fixture f;
    open_fixture(&f, NULL);
    fakeapi_default(f.api, "GET", "/x", &fakeapi_json("0123456789"));
    probe p;
    probe_init(&p, &f, TK_HTTP_GET, "/x");
    p.request.max_response_bytes = 9;
    run(&p);
    assert_int_equal(p.failure, TK_HTTP_TOO_LARGE);
    probe_init(&p, &f, TK_HTTP_GET, "/x");
    p.request.max_response_bytes = 10;
    run(&p);
    assert_int_equal(p.failure, TK_HTTP_OK);
    close_fixture(&f);
}

static tk_http_flow take_piece(tk_http_request *request, const char *bytes, size_t n)
{
    probe *p = request->user;
    (void)bytes;
    p->streamed += n;
    return p->streamed < 6 ? TK_HTTP_TAKE : TK_HTTP_STOP;
}

/* Streaming hands over pieces of a 2xx body; an error body is collected as usual. */
static void test_curl_streaming(void **unused)
{
    (void)unused;
    fixture f;
    open_fixture(&f, NULL);
    fakeapi_reply(f.api, "GET", "/x", &fakeapi_json("12345"));
    fakeapi_reply(f.api, "GET", "/x", &fakeapi_json("123456"));
    fakeapi_reply(f.api, "GET", "/x", &fakeapi_detail(404, "no"));
    probe p;
    probe_init(&p, &f, TK_HTTP_GET, "/x");
    p.request.on_data = take_piece;
    run(&p);
    assert_int_equal(p.failure, TK_HTTP_OK);
    assert_int_equal(p.streamed, 5);
    assert_int_equal(p.body_n, 0);
    probe_init(&p, &f, TK_HTTP_GET, "/x");
    p.request.on_data = take_piece;
    run(&p);
    assert_int_equal(p.failure, TK_HTTP_CANCELLED);
    probe_init(&p, &f, TK_HTTP_GET, "/x");
    p.request.on_data = take_piece;
    run(&p);
    assert_int_equal(p.status, 404);
    assert_string_equal(p.body, "{\"detail\":\"no\"}");
    close_fixture(&f);
}

/* Takes everything but lets each piece wait for one resume. */
typedef struct pauser {
    probe p;
    tk_buf got;
    bool ready;
    int pauses, heads;
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

/* a reader that pauses gets every byte once, in order; the head comes first. */
static void test_curl_pause(void **unused)
{
    (void)unused;
    enum { SIZE = 300000 };
    fixture f;
    open_fixture(&f, NULL);
    char *body = test_malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++) {
        body[i] = (char)(i % 251);
    }
    fakeapi_reply(
        f.api, "GET", "/x",
        &(fakeapi_step){.body = body, .body_n = SIZE, .headers = "X-Test: yes\r\n"});
    pauser self = {0};
    tk_buf_init(&self.got, TK_MIB);
    probe_init(&self.p, &f, TK_HTTP_GET, "/x");
    self.p.request.on_head = note_head;
    self.p.request.on_data = pause_piece;
    submit(&self.p);
    while (f.done == 0) {
        int before = self.pauses;
        for (int i = 0; i < 1000 && self.pauses == before && f.done == 0; i++) {
            struct pollfd fd = {.fd = f.transport->ops->fd(f.transport),
                                .events = POLLIN};
            (void)poll(&fd, 1, 1);
            f.transport->ops->process(f.transport);
        }
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
    close_fixture(&f);
}

static size_t make_body(tk_http_request *request, uint64_t offset, char *p, size_t n)
{
    (void)request;
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
    (void)unused;
    enum { SIZE = 100000 };
    static const tk_http_method methods[] = {TK_HTTP_POST, TK_HTTP_PUT, TK_HTTP_PATCH};
    fixture f;
    open_fixture(&f, NULL);
    fakeapi_default(f.api, "*", "/x", &fakeapi_json("{}"));
    probe p;
    for (size_t i = 0; i < TK_ARRAY_LEN(methods); i++) {
        probe_init(&p, &f, methods[i], "/x");
        p.request.read_body = make_body;
        p.request.body_n = SIZE;
        run(&p);
        assert_int_equal(p.status, 200);
        const fakeapi_request *seen = fakeapi_request_at(f.api, i);
        assert_string_equal(seen->method, tk_http_method_name(methods[i]));
        assert_int_equal(seen->body_n, SIZE);
        for (size_t at = 0; at < SIZE; at++) {
            assert_int_equal(seen->body[at], 'a' + (int)(at % 26));
        }
    }
    probe_init(&p, &f, TK_HTTP_POST, "/x");
    p.request.read_body = fail_body;
    p.request.body_n = SIZE;
    run(&p);
    assert_int_equal(p.failure, TK_HTTP_CANCELLED);
    probe_init(&p, &f, TK_HTTP_POST, "/x");
    p.request.body = "plain";
    p.request.body_n = 5;
    run(&p); /* the handle forgot the reader */
    assert_int_equal(p.status, 200);
    close_fixture(&f);
}

/* M-033. */
static void test_curl_redirects(void **unused)
{
    (void)unused;
    fixture f;
    open_fixture(&f, NULL);
    fakeapi_default(f.api, "GET", "/from",
                    &(fakeapi_step){.status = 302, .headers = "Location: /to\r\n"});
    fakeapi_default(f.api, "GET", "/to", &fakeapi_json("there"));
    probe p;
    probe_init(&p, &f, TK_HTTP_GET, "/from");
    run(&p);
    assert_int_equal(p.status, 302);
    probe_init(&p, &f, TK_HTTP_GET, "/from");
    p.request.follow_redirects = true;
    run(&p);
    assert_int_equal(p.status, 200);
    assert_string_equal(p.body, "there");
    close_fixture(&f);
}

/* groups do not share connections; A-101: the session's is reused. */
static void test_curl_groups_are_apart(void **unused)
{
    (void)unused;
    fixture f;
    open_fixture(&f, NULL);
    fakeapi_default(f.api, "POST", "/x", &fakeapi_json("{}"));
    for (int round = 0; round < 2; round++) {
        for (int group = 0; group < TK_HTTP_GROUPS; group++) {
            probe p;
            probe_init(&p, &f, TK_HTTP_POST, "/x");
            p.request.group = (tk_http_group)group;
            run(&p);
        }
    }
    assert_int_equal(fakeapi_connections_total(f.api), TK_HTTP_GROUPS);
    for (size_t i = 0; i < TK_HTTP_GROUPS; i++) {
        assert_int_equal(fakeapi_request_at(f.api, i)->connection,
                         fakeapi_request_at(f.api, i + TK_HTTP_GROUPS)->connection);
    }
    close_fixture(&f);
}

/* A bare 400 asks for a new connection (wire.md §5.2). */
static void test_curl_fresh_connection(void **unused)
{
    (void)unused;
    fixture f;
    open_fixture(&f, NULL);
    fakeapi_default(f.api, "POST", "/x", &fakeapi_json("{}"));
    for (int i = 0; i < 2; i++) {
        probe p;
        probe_init(&p, &f, TK_HTTP_POST, "/x");
        p.request.fresh_connection = i == 1;
        run(&p);
    }
    assert_int_equal(fakeapi_connections_total(f.api), 2);
    close_fixture(&f);
}

/* a limit on a group's connections holds. */
static void test_curl_connection_limit(void **unused)
{
    (void)unused;
    tk_curl_options options = {0};
    options.max_connections[TK_HTTP_TRAIN] = 1;
    fixture f;
    open_fixture(&f, &options);
    fakeapi_default(f.api, "POST", "/x", &fakeapi_json("{}"));
    probe p[5];
    for (int i = 0; i < 5; i++) {
        probe_init(&p[i], &f, TK_HTTP_POST, "/x");
        p[i].request.group = TK_HTTP_TRAIN;
        submit(&p[i]);
    }
    run_until(&f, 5);
    assert_int_equal(fakeapi_connections_total(f.api), 1);
    assert_int_equal(fakeapi_peak(f.api, "POST", "/x"), 1);
    close_fixture(&f);
}

static void test_curl_submit_inside_done(void **unused)
{
    (void)unused;
    fixture f;
    open_fixture(&f, NULL);
    fakeapi_default(f.api, "POST", "/x", &fakeapi_json("{}"));
    probe first, second;
    probe_init(&first, &f, TK_HTTP_POST, "/x");
    probe_init(&second, &f, TK_HTTP_POST, "/x");
    first.then = &second;
    submit(&first);
    run_until(&f, 2);
    assert_int_equal(second.status, 200);
    close_fixture(&f);
}

/* Many parked requests over several shards; cancel ends one at once, close the others. */
static void test_curl_cancel_and_close(void **unused)
{
    (void)unused;
    enum { PARKED = 250 };
    fixture f;
    open_fixture(&f, NULL);
    assert_true(fakeapi_allow_files(1200));
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    fakeapi_default(f.api, "POST", "/park", &(fakeapi_step){.gate = gate});
    probe *parked = tk_zarray(PARKED, sizeof(*parked));
    assert_non_null(parked);
    for (int i = 0; i < PARKED; i++) {
        probe_init(&parked[i], &f, TK_HTTP_POST, "/park");
        parked[i].request.group = TK_HTTP_FUTURES;
        submit(&parked[i]);
    }
    for (int i = 0; i < WAITER_CAP_TURNS && fakeapi_gate_waiting(gate) < PARKED; i++) {
        process(&f);
    }
    assert_int_equal(fakeapi_gate_waiting(gate), PARKED);
    f.transport->ops->cancel(f.transport, &parked[7].request);
    assert_int_equal(parked[7].failure, TK_HTTP_CANCELLED);
    f.transport->ops->cancel(f.transport, &parked[7].request); /* no effect */
    assert_int_equal(parked[7].calls, 1);
    fakeapi_gate_let(gate, 1);
    run_until(&f, 2);
    f.transport->ops->close(f.transport);
    assert_int_equal(f.done, PARKED);
    for (int i = 0; i < PARKED; i++) {
        assert_int_equal(parked[i].calls, 1);
    }
    tk_free(parked);
    fakeapi_stop(&f.api);
}

/* A full file table is waited out, not reported. */
static void test_curl_waits_for_descriptors(void **unused)
{
    (void)unused;
    fixture f;
    open_fixture(&f, NULL);
    fakeapi_default(f.api, "POST", "/x", &fakeapi_json("{}"));
    probe p;
    probe_init(&p, &f, TK_HTTP_POST, "/x");
    run(&p); /* libcurl and the resolver have what they open once */
    int spare[4096];
    size_t n = 0;
    struct rlimit before, low;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = before;
    low.rlim_cur = 512;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    while (n < TK_ARRAY_LEN(spare) && (spare[n] = dup(0)) >= 0) {
        n++;
    }
    assert_int_equal(errno, EMFILE);
    probe_init(&p, &f, TK_HTTP_POST, "/x");
    p.request.group = TK_HTTP_TRAIN; /* needs a connection of its own */
    submit(&p);
    for (int i = 0; i < 50; i++) {
        process(&f);
        assert_int_equal(p.calls, 0);
    }
    while (n > 0) {
        close(spare[--n]);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    run_until(&f, 2);
    assert_int_equal(p.status, 200);
    close_fixture(&f);
}

static bool sweep_once(void *user)
{
    fixture *f = user;
    static const tk_curl_options defaults = {0};
    f->done = 0;
    if (tk_curl_transport_new(&f->transport, &defaults, NULL) != TINKC_OK) {
        return false;
    }
    probe p;
    probe_init(&p, f, TK_HTTP_POST, "/x");
    bool ok = f->transport->ops->submit(f->transport, &p.request, NULL) == TINKC_OK;
    if (ok) {
        run_until(f, 1);
        ok = p.failure == TK_HTTP_OK && p.status == 200;
    }
    f->transport->ops->close(f->transport);
    return ok;
}

static void test_curl_allocation_sweep(void **unused)
{
    (void)unused;
    fixture f = {.api = fakeapi_start()};
    fakeapi_default(f.api, "POST", "/x", &fakeapi_json("{}"));
    assert_true(failmem_sweep(sweep_once, &f, 1) > 3);
    fakeapi_stop(&f.api);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_curl_methods_and_bodies),
        cmocka_unit_test(test_curl_handles_forget),
        cmocka_unit_test(test_curl_failures),
        cmocka_unit_test(test_curl_refused_and_unknown_host),
        cmocka_unit_test(test_curl_response_cap),
        cmocka_unit_test(test_curl_streaming),
        cmocka_unit_test(test_curl_pause),
        cmocka_unit_test(test_curl_read_body),
        cmocka_unit_test(test_curl_redirects),
        cmocka_unit_test(test_curl_groups_are_apart),
        cmocka_unit_test(test_curl_fresh_connection),
        cmocka_unit_test(test_curl_connection_limit),
        cmocka_unit_test(test_curl_submit_inside_done),
        cmocka_unit_test(test_curl_cancel_and_close),
        cmocka_unit_test(test_curl_waits_for_descriptors),
        cmocka_unit_test(test_curl_allocation_sweep),
    };
    return cmocka_run_group_tests_name("curl_transport", tests, NULL, NULL);
}
