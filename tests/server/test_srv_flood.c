/* More connections than the server has room for, in a process of its own with few
 * descriptors: clients that finish their requests are answered.
 * Links: wire */
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/srvfix.h"

#define FILES  512
#define HALVES 600 /* more than FILES */
#define KEY    "X-API-Key: tml-key\r\n"

typedef struct flood {
    char data[64];
    pid_t pid;
    int port;
    httpget *half[HALVES];
} flood;

static void serve(const char *data, int out, rlim_t files)
{
    const struct rlimit limit = {files, files};
    srv *server = NULL;
    tk_err err = TK_ERR_INIT;
    const srv_options options = {.data = data, .api_key = "tml-key", .threads = 1};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    int port =
        srv_start(&server, &options, &err) == TINKC_OK ? (int)srv_port(server) : -1;
    (void)!write(out, &port, sizeof(port));
    for (;;) {
        (void)pause();
    }
}

static void open_flood(flood *f, rlim_t files)
{
    int fds[2];
    memset(f, 0, sizeof(*f));
    srvfix_make_dir(f->data);
    assert_int_equal(pipe(fds), 0);
    f->pid = fork();
    assert_true(f->pid >= 0);
    if (f->pid == 0) {
        serve(f->data, fds[1], files);
    }
    assert_int_equal(read(fds[0], &f->port, sizeof(f->port)), sizeof(f->port));
    assert_true(f->port > 0);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

static void close_flood(flood *f)
{
    char command[96];
    for (size_t i = 0; i < HALVES; i++) {
        if (f->half[i] != NULL) {
            httpget_close(&f->half[i]);
        }
    }
    assert_int_equal(kill(f->pid, SIGKILL), 0);
    assert_int_equal(waitpid(f->pid, NULL, 0), f->pid);
    (void)snprintf(command, sizeof(command), "rm -rf %s", f->data);
    assert_int_equal(system(command), 0);
}

/* Connections whose heads never end. */
static void connect_halves(flood *f)
{
    static const char half[] =
        "POST /api/v1/create_session HTTP/1.1\r\nHost: 127.0.0.1\r\nX-";
    for (size_t i = 0; i < HALVES; i++) {
        f->half[i] = httpget_connect(f->port);
        assert_non_null(f->half[i]);
        (void)httpget_send(f->half[i], half, sizeof(half) - 1);
    }
}

static void ask_known(const flood *f)
{
    httpget_response response;
    const httpget_request request = {.method = "POST",
                                     .target = "/api/v1/create_session",
                                     .headers = KEY,
                                     .body = "{\"tags\":[],\"sdk_version\":\"0.25.0\"}"};
    assert_int_equal(httpget_once(f->port, &request, &response), HTTPGET_OK);
    assert_int_equal(response.status, 200);
    httpget_response_dispose(&response);
}

static void test_srv_flood_of_halves(void **state)
{
    flood f;
    open_flood(&f, FILES);
    connect_halves(&f);
    for (int i = 0; i < 20; i++) {
        ask_known(&f);
    }
    close_flood(&f);
}

static void check_health(httpget *connection)
{
    httpget_response response;
    assert_non_null(connection);
    assert_true(httpget_ask(connection, &(httpget_request){.target = "/api/v1/healthz"}));
    assert_int_equal(httpget_read(connection, &response), HTTPGET_OK);
    assert_int_equal(response.status, 200);
    httpget_response_dispose(&response);
}

/* Requests of clients without the key are answered and then wait; they make room, too. */
static void test_srv_flood_of_strangers(void **state)
{
    flood f;
    open_flood(&f, FILES);
    for (size_t i = 0; i < HALVES; i++) {
        f.half[i] = httpget_connect(f.port);
        check_health(f.half[i]);
    }
    ask_known(&f);
    close_flood(&f);
}

/* With few descriptors there are few connections, and some are left for files. */
static void test_srv_flood_with_few_descriptors(void **state)
{
    flood f;
    open_flood(&f, 48);
    connect_halves(&f);
    ask_known(&f);
    close_flood(&f);
}

static void limit_files(const flood *f, rlim_t files)
{
    const struct rlimit limit = {files, FILES};
    assert_int_equal(prlimit(f->pid, RLIMIT_NOFILE, &limit, NULL), 0);
}

/* accept() fails (EMFILE): the server answers the connections it has, and new ones when
 * others have gone. */
static void test_srv_flood_without_descriptors(void **state)
{
    flood f;
    open_flood(&f, FILES);
    httpget *known = httpget_connect(f.port);
    check_health(known);
    limit_files(&f, 3);
    for (size_t i = 0; i < 20; i++) {
        f.half[i] = httpget_connect(f.port);
    }
    check_health(known);
    for (size_t i = 0; i < 20; i++) {
        httpget_close(&f.half[i]);
    }
    limit_files(&f, FILES);
    httpget_close(&known); /* until one goes, accept() is not called again */
    ask_known(&f);
    close_flood(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_flood_of_halves),
        cmocka_unit_test(test_srv_flood_of_strangers),
        cmocka_unit_test(test_srv_flood_with_few_descriptors),
        cmocka_unit_test(test_srv_flood_without_descriptors),
    };
    return cmocka_run_group_tests_name("srv_flood", tests, NULL, NULL);
}
