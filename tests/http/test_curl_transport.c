/* The libcurl transport against the scripted peer (M-018..M-024, M-033, A-081, A-099,
 * A-101..A-104). */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "support/curlfix.h"
#include "support/failmem.h"

typedef struct method_row {
    tk_http_method method;
    const char *name, *body, *length;
} method_row;

static const method_row method_rows[] = {
    {TK_HTTP_GET, "GET", NULL, NULL},      {TK_HTTP_POST, "POST", "{\"a\":1}", "7"},
    {TK_HTTP_POST, "POST", NULL, "0"},     {TK_HTTP_PUT, "PUT", "x", "1"},
    {TK_HTTP_PUT, "PUT", NULL, "0"},       {TK_HTTP_PATCH, "PATCH", "yy", "2"},
    {TK_HTTP_DELETE, "DELETE", NULL, NULL}};

static void send_row(curlfix *f, const method_row *row)
{
    static const char *const lines[] = {"X-Mine: 1", "Content-Type: text/x"};
    curlfix_probe p;
    curlfix_probe_init(&p, f, row->method, "/x");
    p.request.body = row->body;
    p.request.body_n = row->body != NULL ? strlen(row->body) : 0;
    p.request.headers = lines;
    p.request.headers_n = 2;
    curlfix_run(&p);
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
    curlfix f;
    curlfix_open(&f, NULL);
    fakeapi_default(f.api, "*", "/x",
                    &(fakeapi_step){.body = "hello", .headers = "X-Test: yes \r\n"});
    for (size_t i = 0; i < TK_ARRAY_LEN(method_rows); i++) {
        for (size_t k = 0; k < TK_ARRAY_LEN(method_rows); k++) {
            send_row(&f, &method_rows[i]);
            send_row(&f, &method_rows[k]);
        }
    }
    assert_int_equal(fakeapi_connections_total(f.api), 1); /* kept alive */
    curlfix_close(&f);
}

/* A handle that is used again keeps no options of the request before: redirects, a
 * deadline, a failure. */
static void test_curl_handles_forget(void **unused)
{
    curlfix f;
    curlfix_probe p;
    curlfix_open(&f, NULL);
    fakeapi_default(f.api, "GET", "/there", &(fakeapi_step){.body = "there"});
    fakeapi_default(f.api, "GET", "/moved",
                    &(fakeapi_step){.status = 302, .headers = "Location: /there\r\n"});
    fakeapi_default(f.api, "GET", "/never", &(fakeapi_step){.fault = FAKEAPI_NEVER});
    fakeapi_default(f.api, "GET", "/cut", &(fakeapi_step){.fault = FAKEAPI_CUT_HEAD});
    curlfix_probe_init(&p, &f, TK_HTTP_GET, "/moved");
    p.request.follow_redirects = true;
    curlfix_run(&p);
    assert_int_equal(p.status, 200);
    curlfix_probe_init(&p, &f, TK_HTTP_GET, "/moved");
    curlfix_run(&p);
    assert_int_equal(p.status, 302);
    curlfix_probe_init(&p, &f, TK_HTTP_GET, "/never");
    p.request.timeout_ms = 20;
    curlfix_run(&p);
    assert_int_equal(p.failure, TK_HTTP_TIMEOUT);
    curlfix_probe_init(&p, &f, TK_HTTP_GET, "/cut");
    curlfix_run(&p);
    assert_int_equal(p.failure, TK_HTTP_RESET);
    curlfix_probe_init(&p, &f, TK_HTTP_GET, "/there");
    curlfix_run(&p);
    assert_int_equal(p.failure, TK_HTTP_OK);
    assert_string_equal(p.body, "there");
    curlfix_close(&f);
}

/* each way of having no response, by name. */
static void test_curl_failures(void **unused)
{
    static const struct {
        fakeapi_fault fault;
        tk_http_failure failure;
    } rows[] = {{FAKEAPI_RESET, TK_HTTP_RESET},       {FAKEAPI_DROP, TK_HTTP_RESET},
                {FAKEAPI_CUT_BODY, TK_HTTP_RESET},    {FAKEAPI_RESET_BODY, TK_HTTP_RESET},
                {FAKEAPI_CUT_HEAD, TK_HTTP_RESET},    {FAKEAPI_NEVER, TK_HTTP_TIMEOUT},
                {FAKEAPI_STALL_BODY, TK_HTTP_TIMEOUT}};
    curlfix f;
    curlfix_open(&f, NULL);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        fakeapi_default(
            f.api, "POST", "/x",
            &(fakeapi_step){.body = "0123456789", .fault = rows[i].fault, .cut = 4});
        curlfix_probe p;
        curlfix_probe_init(&p, &f, TK_HTTP_POST, "/x");
        p.request.fresh_connection = true; /* libcurl resends once on a stale one */
        p.request.timeout_ms = rows[i].failure == TK_HTTP_TIMEOUT ? 200 : 60000;
        curlfix_run(&p);
        assert_int_equal(p.failure, rows[i].failure);
        assert_int_equal(p.status, 0);
        if (rows[i].failure == TK_HTTP_RESET) { /* sent once, and not again */
            assert_int_equal(fakeapi_count(f.api, "POST", "/x"), i + 1);
        }
    }
    curlfix_close(&f);
}

/* A socket on a port of this machine on which nothing listens, until it is closed. */
static int close_port(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

static void test_curl_refused_and_unknown_host(void **unused)
{
    curlfix f;
    curlfix_open(&f, &(tk_curl_options){.proxy = ""});
    curlfix_probe p;
    curlfix_probe_init(&p, &f, TK_HTTP_GET, "/x");
    int port = 0, fd = close_port(&port);
    (void)snprintf(p.url, sizeof(p.url), "http://127.0.0.1:%d/x", port);
    curlfix_run(&p);
    close(fd);
    assert_int_equal(p.failure, TK_HTTP_CONNECT);
    assert_true(p.is_absent);
    curlfix_probe_init(&p, &f, TK_HTTP_GET, "/x");
    /* no name has a part of 64 characters: no name server is asked */
    (void)snprintf(p.url, sizeof(p.url), "http://%064d.invalid/x", 0);
    curlfix_run(&p);
    assert_int_equal(p.failure, TK_HTTP_DNS);
    curlfix_close(&f);
}

/* M-033. */
static void test_curl_redirects(void **unused)
{
    curlfix f;
    curlfix_open(&f, NULL);
    fakeapi_default(f.api, "GET", "/from",
                    &(fakeapi_step){.status = 302, .headers = "Location: /to\r\n"});
    fakeapi_default(f.api, "GET", "/to", &fakeapi_json("there"));
    curlfix_probe p;
    curlfix_probe_init(&p, &f, TK_HTTP_GET, "/from");
    curlfix_run(&p);
    assert_int_equal(p.status, 302);
    curlfix_probe_init(&p, &f, TK_HTTP_GET, "/from");
    p.request.follow_redirects = true;
    curlfix_run(&p);
    assert_int_equal(p.status, 200);
    assert_string_equal(p.body, "there");
    curlfix_close(&f);
}

/* Two requests of each group, one after the other. */
static void ask_all_groups(curlfix *f)
{
    fakeapi_default(f->api, "POST", "/x", &fakeapi_json("{}"));
    for (int round = 0; round < 2; round++) {
        for (int group = 0; group < TK_HTTP_GROUPS; group++) {
            curlfix_probe p;
            curlfix_probe_init(&p, f, TK_HTTP_POST, "/x");
            p.request.group = (tk_http_group)group;
            curlfix_run(&p);
        }
    }
    for (size_t i = 0; i < TK_HTTP_GROUPS; i++) {
        assert_int_equal(fakeapi_request_at(f->api, i)->connection,
                         fakeapi_request_at(f->api, i + TK_HTTP_GROUPS)->connection);
    }
}

/* M-020: groups do not share connections, only that a poll takes one that a
 * sample has left; A-101: the session's is reused. */
static void test_curl_groups_are_apart(void **unused)
{
    curlfix f;
    curlfix_open(&f, NULL);
    ask_all_groups(&f);
    assert_int_equal(fakeapi_connections_total(f.api), TK_HTTP_GROUPS - 1);
    assert_int_equal(fakeapi_request_at(f.api, TK_HTTP_SAMPLE)->connection,
                     fakeapi_request_at(f.api, TK_HTTP_FUTURES)->connection);
    curlfix_close(&f);
}

/* nor does a poll where one of the two has a limit. */
static void test_curl_limited_groups_are_apart(void **unused)
{
    for (int group = TK_HTTP_SAMPLE; group <= TK_HTTP_FUTURES; group++) {
        tk_curl_options options = {0};
        options.max_connections[group] = 1;
        curlfix f;
        curlfix_open(&f, &options);
        ask_all_groups(&f);
        assert_int_equal(fakeapi_connections_total(f.api), TK_HTTP_GROUPS);
        curlfix_close(&f);
    }
}

static bool are_four_parked(void *gate)
{
    return fakeapi_gate_waiting(gate) == 4;
}

/* polls that wait do not hold up samples, nor samples polls. */
static void test_curl_polls_and_samples_wait_apart(void **unused)
{
    curlfix f;
    curlfix_probe waiting[4], other;
    curlfix_open(&f, NULL);
    fakeapi_default(f.api, "POST", "/x", &fakeapi_json("{}"));
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    fakeapi_default(f.api, "POST", "/slow", &(fakeapi_step){.gate = gate});
    for (int i = 0; i < 4; i++) {
        curlfix_probe_init(&waiting[i], &f, TK_HTTP_POST, "/slow");
        waiting[i].request.group = i % 2 == 0 ? TK_HTTP_FUTURES : TK_HTTP_SAMPLE;
        curlfix_submit(&waiting[i]);
    }
    curlfix_wait(&f, are_four_parked, gate);
    for (int i = 0; i < 2; i++) {
        curlfix_probe_init(&other, &f, TK_HTTP_POST, "/x");
        other.request.group = i == 0 ? TK_HTTP_FUTURES : TK_HTTP_SAMPLE;
        curlfix_run(&other);
        assert_int_equal(other.status, 200);
    }
    f.transport->ops->close(f.transport);
    assert_int_equal(f.done, 6);
    fakeapi_stop(&f.api);
}

/* A bare 400 asks for a new connection (docs/protocol.md §5.2). */
static void test_curl_fresh_connection(void **unused)
{
    curlfix f;
    curlfix_open(&f, NULL);
    fakeapi_default(f.api, "POST", "/x", &fakeapi_json("{}"));
    for (int i = 0; i < 2; i++) {
        curlfix_probe p;
        curlfix_probe_init(&p, &f, TK_HTTP_POST, "/x");
        p.request.fresh_connection = i == 1;
        curlfix_run(&p);
    }
    assert_int_equal(fakeapi_connections_total(f.api), 2);
    curlfix_close(&f);
}

/* a limit on a group's connections holds. */
static void test_curl_connection_limit(void **unused)
{
    tk_curl_options options = {0};
    options.max_connections[TK_HTTP_TRAIN] = 1;
    curlfix f;
    curlfix_open(&f, &options);
    fakeapi_default(f.api, "POST", "/x", &fakeapi_json("{}"));
    curlfix_probe p[5];
    for (int i = 0; i < 5; i++) {
        curlfix_probe_init(&p[i], &f, TK_HTTP_POST, "/x");
        p[i].request.group = TK_HTTP_TRAIN;
        curlfix_submit(&p[i]);
    }
    curlfix_run_until(&f, 5);
    assert_int_equal(fakeapi_connections_total(f.api), 1);
    assert_int_equal(fakeapi_peak(f.api, "POST", "/x"), 1);
    curlfix_close(&f);
}

static void test_curl_submit_inside_done(void **unused)
{
    curlfix f;
    curlfix_open(&f, NULL);
    fakeapi_default(f.api, "POST", "/x", &fakeapi_json("{}"));
    curlfix_probe first, second;
    curlfix_probe_init(&first, &f, TK_HTTP_POST, "/x");
    curlfix_probe_init(&second, &f, TK_HTTP_POST, "/x");
    first.then = &second;
    curlfix_submit(&first);
    curlfix_run_until(&f, 2);
    assert_int_equal(second.status, 200);
    curlfix_close(&f);
}

#define PARKED 250

static bool are_parked(void *gate)
{
    return fakeapi_gate_waiting(gate) == PARKED;
}

/* Many parked requests over several shards; cancel ends one at once, close the others. */
static void test_curl_cancel_and_close(void **unused)
{
    curlfix f;
    curlfix_open(&f, NULL);
    assert_true(fakeapi_allow_files(1200));
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    fakeapi_default(f.api, "POST", "/park", &(fakeapi_step){.gate = gate});
    curlfix_probe *parked = tk_zarray(PARKED, sizeof(*parked));
    assert_non_null(parked);
    for (int i = 0; i < PARKED; i++) {
        curlfix_probe_init(&parked[i], &f, TK_HTTP_POST, "/park");
        parked[i].request.group = TK_HTTP_FUTURES;
        curlfix_submit(&parked[i]);
    }
    curlfix_wait(&f, are_parked, gate);
    f.transport->ops->cancel(f.transport, &parked[7].request);
    assert_int_equal(parked[7].failure, TK_HTTP_CANCELLED);
    f.transport->ops->cancel(f.transport, &parked[7].request); /* no effect */
    assert_int_equal(parked[7].calls, 1);
    fakeapi_gate_let(gate, 1);
    curlfix_run_until(&f, 2);
    f.transport->ops->close(f.transport);
    assert_int_equal(f.done, PARKED);
    for (int i = 0; i < PARKED; i++) {
        assert_int_equal(parked[i].calls, 1);
    }
    tk_free(parked);
    fakeapi_stop(&f.api);
}

static bool wakes_the_loop(curlfix *f)
{
    struct pollfd fd = {.fd = f->transport->ops->fd(f->transport), .events = POLLIN};
    curlfix_process(f);
    return poll(&fd, 1, 0) != 0;
}

/* A child with this process's ends of all connections, and not the peer's, which is in this
 * process, too. It ends with the pipe. */
static pid_t fork_with_sockets(int peer_port, const int pipes[2])
{
    char end;
    pid_t child = fork();
    if (child != 0) {
        return child;
    }
    close(pipes[1]);
    for (int fd = 3; fd < 256; fd++) {
        struct sockaddr_in own = {0};
        socklen_t size = sizeof(own);
        if (getsockname(fd, (struct sockaddr *)&own, &size) == 0 &&
            ntohs(own.sin_port) == peer_port) {
            close(fd);
        }
    }
    _exit(read(pipes[0], &end, 1) == 0 ? 0 : 1);
}

/* A connection that its server closes while no request uses it wakes the loop once, and not
 * for ever; one whose socket a child process has inherited does not wake it after its end. */
static void test_curl_idle_connections_are_silent(void **unused)
{
    curlfix f;
    curlfix_probe p;
    int pipes[2];
    curlfix_open(&f, NULL);
    fakeapi_default(f.api, "GET", "/stays", &(fakeapi_step){.body = "a"});
    fakeapi_default(f.api, "GET", "/ends", &(fakeapi_step){.body = "b", .close = true});
    curlfix_probe_init(&p, &f, TK_HTTP_GET, "/stays");
    curlfix_run(&p);
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork_with_sockets(fakeapi_port(f.api), pipes);
    curlfix_probe_init(&p, &f, TK_HTTP_GET, "/ends");
    curlfix_run(&p);
    assert_int_equal(fakeapi_connections_total(f.api), 1);
    assert_true(fakeapi_wait_connections(f.api, 0));
    assert_false(wakes_the_loop(&f));
    close(pipes[0]);
    close(pipes[1]);
    assert_int_equal(waitpid(child, NULL, 0), child);

    curlfix_probe_init(&p, &f, TK_HTTP_GET, "/stays");
    curlfix_run(&p);
    fakeapi_stop(&f.api); /* closes the connection */
    assert_false(wakes_the_loop(&f));
    f.transport->ops->close(f.transport);
}

/* Listens on a port whose connections stay unanswered: those that were made fill its queue. */
static int listen_in_silence(int *port, int filling[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 0), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    for (size_t i = 0; i < 2; i++) {
        filling[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(filling[i], (struct sockaddr *)&address, sizeof(address));
    }
    *port = ntohs(address.sin_port);
    return fd;
}

/* Of the epoll. */
static int count_watched(const curlfix *f)
{
    char path[64], line[256];
    int n = 0;
    (void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d",
                   f->transport->ops->fd(f->transport));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        n += strncmp(line, "tfd:", 4) == 0;
    }
    assert_int_equal(fclose(file), 0);
    return n;
}

/* A request that is cancelled while it connects leaves nothing behind by which the sockets of
 * later look-ups, which have the same number, would be missed. */
static void test_curl_lookups_are_watched(void **unused)
{
    curlfix f;
    curlfix_probe p;
    int port, filling[2];
    curlfix_open(&f, NULL);
    int fd = listen_in_silence(&port, filling);
    curlfix_probe_init(&p, &f, TK_HTTP_GET, "");
    (void)snprintf(p.url, sizeof(p.url), "http://127.0.0.1:%d/", port);
    curlfix_submit(&p);
    curlfix_process(&f);
    assert_int_equal(count_watched(&f), 1);
    f.transport->ops->cancel(f.transport, &p.request);
    assert_int_equal(count_watched(&f), 0);
    for (int i = 0; i < 4; i++) {
        curlfix_probe_init(&p, &f, TK_HTTP_GET, "");
        (void)snprintf(p.url, sizeof(p.url), "http://no-such-host-%d.invalid/", i);
        curlfix_submit(&p);
        curlfix_process(&f);
        if (p.calls == 0) { /* it is still looked up */
            assert_int_equal(count_watched(&f), 1);
            f.transport->ops->cancel(f.transport, &p.request);
        }
    }
    close(fd);
    close(filling[0]);
    close(filling[1]);
    curlfix_close(&f);
}

/* A full file table is waited out, not reported. */
static void test_curl_waits_for_descriptors(void **unused)
{
    curlfix f;
    curlfix_open(&f, NULL);
    fakeapi_default(f.api, "POST", "/x", &fakeapi_json("{}"));
    curlfix_probe p;
    curlfix_probe_init(&p, &f, TK_HTTP_POST, "/x");
    curlfix_run(&p); /* libcurl and the resolver have what they open once */
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
    curlfix_probe_init(&p, &f, TK_HTTP_POST, "/x");
    p.request.group = TK_HTTP_TRAIN; /* needs another connection */
    curlfix_submit(&p);
    for (int i = 0; i < 50; i++) {
        curlfix_process(&f);
        assert_int_equal(p.calls, 0);
    }
    while (n > 0) {
        close(spare[--n]);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    curlfix_run_until(&f, 2);
    assert_int_equal(p.status, 200);
    curlfix_close(&f);
}

static bool sweep_once(void *user)
{
    curlfix *f = user;
    static const tk_curl_options defaults = {0};
    f->done = 0;
    if (tk_curl_transport_new(&f->transport, &defaults, NULL) != TINKC_OK) {
        return false;
    }
    curlfix_probe p;
    curlfix_probe_init(&p, f, TK_HTTP_POST, "/x");
    bool ok = f->transport->ops->submit(f->transport, &p.request, NULL) == TINKC_OK;
    if (ok) {
        curlfix_run_until(f, 1);
        ok = p.failure == TK_HTTP_OK && p.status == 200;
    }
    f->transport->ops->close(f->transport);
    return ok;
}

static void test_curl_allocation_sweep(void **unused)
{
    curlfix f = {.api = fakeapi_start()};
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
        cmocka_unit_test(test_curl_redirects),
        cmocka_unit_test(test_curl_groups_are_apart),
        cmocka_unit_test(test_curl_limited_groups_are_apart),
        cmocka_unit_test(test_curl_polls_and_samples_wait_apart),
        cmocka_unit_test(test_curl_fresh_connection),
        cmocka_unit_test(test_curl_connection_limit),
        cmocka_unit_test(test_curl_submit_inside_done),
        cmocka_unit_test(test_curl_cancel_and_close),
        cmocka_unit_test(test_curl_idle_connections_are_silent),
        cmocka_unit_test(test_curl_lookups_are_watched),
        cmocka_unit_test(test_curl_waits_for_descriptors),
        cmocka_unit_test(test_curl_allocation_sweep),
    };
    return cmocka_run_group_tests_name("curl_transport", tests, NULL, NULL);
}
