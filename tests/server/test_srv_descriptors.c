/* Answers that hold a file open, in a server with few descriptors: downloads that their
 * clients do not read leave enough of them for everything else.
 * Links: wire */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/restfix.h"

#define FILES  128
#define STALLS 100

typedef struct stalls {
    restfix rest;
    pid_t pid;
    char link[1024];
    httpget *stall[STALLS];
    size_t answered, refused; /* with 200, with 429 */
} stalls;

static void serve(const char *data, int out)
{
    const struct rlimit limit = {FILES, FILES};
    srv *server = NULL;
    tk_err err = TK_ERR_INIT;
    const srv_options options = {.data = data, .threads = 1};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    int port =
        srv_start(&server, &options, &err) == TINKC_OK ? (int)srv_port(server) : -1;
    (void)!write(out, &port, sizeof(port));
    for (;;) {
        (void)pause();
    }
}

/* Makes a checkpoint that is larger than the buffers of a connection. */
static void save_large(restfix *t)
{
    char command[256];
    restfix_open(t);
    restfix_save(t, 1, "save_weights_for_sampler", "\"path\":\"large\"");
    (void)snprintf(command, sizeof(command),
                   "truncate -s 256M "
                   "%s/checkpoints/*/sampler_weights/large.*/adapter_model.safetensors",
                   t->srv.data);
    assert_int_equal(system(command), 0);
    srv_stop(&t->srv.server);
}

static void open_stalls(stalls *s)
{
    int fds[2];
    memset(s, 0, sizeof(*s));
    save_large(&s->rest);
    assert_int_equal(pipe(fds), 0);
    s->pid = fork();
    assert_true(s->pid >= 0);
    if (s->pid == 0) {
        serve(s->rest.srv.data, fds[1]);
    }
    int *port = &s->rest.srv.port;
    assert_int_equal(read(fds[0], port, sizeof(*port)), sizeof(*port));
    assert_true(*port > 0);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

static void close_stalls(stalls *s)
{
    for (size_t i = 0; i < STALLS; i++) {
        if (s->stall[i] != NULL) {
            httpget_close(&s->stall[i]);
        }
    }
    assert_int_equal(kill(s->pid, SIGKILL), 0);
    assert_int_equal(waitpid(s->pid, NULL, 0), s->pid);
    srvfix_close(&s->rest.srv);
}

static void ask_link(stalls *s)
{
    char path[256];
    httpget_response r;
    (void)snprintf(path, sizeof(path),
                   "/api/v1/training_runs/%s/checkpoints/sampler_weights/large/archive",
                   s->rest.run);
    const httpget_request request = {.target = path};
    assert_int_equal(httpget_once(s->rest.srv.port, &request, &r), HTTPGET_OK);
    assert_int_equal(r.status, 302);
    const char *at = strstr(httpget_header(&r, "Location"), "/tinkc/");
    assert_non_null(at);
    (void)snprintf(s->link, sizeof(s->link), "%s", at);
    httpget_response_dispose(&r);
}

/* Asks for a file, and reads of the answer the status only. */
static void stall(stalls *s, size_t i, const char *target)
{
    s->stall[i] = httpget_connect(s->rest.srv.port);
    assert_non_null(s->stall[i]);
    assert_true(httpget_ask(s->stall[i], &(httpget_request){.target = target}));
    int status = httpget_status(s->stall[i]);
    s->answered += status == 200;
    s->refused += status == 429;
    if (status != 200 && status != 429) {
        fail_msg("answer %zu has the status %d", i, status);
    }
}

/* Health, a new session with its model, a heartbeat, a save. */
static void check_honest(stalls *s)
{
    restfix *t = &s->rest;
    srvfix *f = &t->srv;
    char body[128];
    (void)srvfix_ask(f, "GET", "/api/v1/healthz", NULL);
    assert_int_equal(f->status, 200);
    (void)snprintf(t->session, sizeof(t->session), "%s", srvfix_session(f));
    (void)snprintf(body, sizeof(body), "{\"session_id\":\"%s\"}", t->session);
    (void)srvfix_post(f, "/api/v1/session_heartbeat", body);
    assert_int_equal(f->status, 200);
    restfix_run(t, 0);
    restfix_save(t, 1, "save_weights", "\"path\":\"honest\"");
}

static void test_srv_descriptors_of_stalled_downloads(void **state)
{
    stalls s;
    open_stalls(&s);
    ask_link(&s);
    for (size_t i = 0; i < STALLS; i++) {
        stall(&s, i, s.link);
        assert_int_equal(s.answered + s.refused, i + 1);
    }
    assert_in_range(s.answered, 1, FILES / 4);
    check_honest(&s);
    for (size_t i = 0; i < STALLS; i++) {
        httpget_close(&s.stall[i]);
    }
    s.answered = 0; /* the descriptors come back when the server sees the ends */
    for (int i = 0; i < 10000 && s.answered == 0; i++) {
        stall(&s, 0, s.link);
        httpget_close(&s.stall[0]);
    }
    assert_int_equal(s.answered, 1);
    close_stalls(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_descriptors_of_stalled_downloads),
    };
    return cmocka_run_group_tests_name("srv_descriptors", tests, NULL, NULL);
}
