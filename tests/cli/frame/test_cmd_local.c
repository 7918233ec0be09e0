/* `tinkc --local`: a private server that lives as long as the command, however that ends;
 * and a server that is there already is joined.
 * Links: client text server */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "support/httpget.h"
#include "support/program.h"
#include "support/test.h"

#define MODEL   "tinkc/pebble-llama-2m"
#define WAIT_MS 120000

static const char data[] = "{\"prompt\":\"One, two,\",\"completion\":\" three\"}\n";

/* Whether a server holds the data directory. */
static bool is_served(const program *p)
{
    int fd = open(program_path(p, "data/tinkc/lock"), O_RDONLY | O_CLOEXEC);
    bool is_held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    return is_held;
}

static void wait_served(const program *p, bool wanted)
{
    int64_t end = tk_clock_mono_ms(NULL) + WAIT_MS;
    while (is_served(p) != wanted) {
        assert_true(tk_clock_mono_ms(NULL) < end);
        (void)usleep(2000);
    }
}

static void open_program(program *p)
{
    program_open(p, TINKC_PROGRAM);
    program_write_file(p, "d.jsonl", data);
}

#define TRAIN(steps) "train", "d.jsonl", "--model", MODEL, "--steps", steps, "--rank", "2"

static void test_local_command(void **state)
{
    program p;
    open_program(&p);
    program_run(&p, PROGRAM_ARGS("--local", TRAIN("2")));
    assert_int_equal(p.code, 0);
    assert_false(is_served(&p)); /* it is over when the command is */
    assert_true(program_said(&p.out, "/sampler_weights/d"));
    assert_false(program_said(&p.err, "listening"));      /* its log is in a file */
    program_run(&p, PROGRAM_ARGS(TRAIN("2"), "--local")); /* after the command, too */
    assert_int_equal(p.code, 0);
    program_env(&p, "TINKER_BASE_URL=local");
    program_run(&p, PROGRAM_ARGS(TRAIN("2")));
    assert_int_equal(p.code, 0);
    program_run(&p,
                PROGRAM_ARGS("--local", "--base-url", "http://127.0.0.1:1", TRAIN("2")));
    assert_int_equal(p.code, 2);
    program_close(&p);
}

/* When the command dies, the server ends too, although nothing stops it. */
static void test_local_killed(void **state)
{
    static const int signals[] = {SIGKILL, SIGTERM, SIGINT};
    program p;
    open_program(&p);
    for (size_t i = 0; i < TK_ARRAY_LEN(signals); i++) {
        program_start(&p, PROGRAM_ARGS("--local", TRAIN("100000"), "--restart",
                                       "--save-every", "0"));
        assert_true(program_wait_text(&p, true, "step 1/100000"));
        assert_true(is_served(&p));
        assert_int_equal(kill(p.pid, signals[i]), 0);
        program_end(&p);
        assert_int_not_equal(p.code, 0);
        if (signals[i] != SIGKILL) { /* it could still save: Ctrl-C is not the server's */
            assert_int_equal(p.code, 130);
            assert_true(program_said(&p.err, "Continue:\n  tinkc train "));
        }
        wait_served(&p, false);
    }
    program_run(&p, PROGRAM_ARGS("--local", TRAIN("2"), "--restart"));
    assert_int_equal(p.code, 0);
    program_close(&p);
}

#define XDG_BYTES 128

/* Two programs that share a data directory, which is that of p. */
static void open_both(program *p, program *q, char xdg[XDG_BYTES])
{
    open_program(p);
    open_program(q);
    (void)snprintf(xdg, XDG_BYTES, "XDG_DATA_HOME=%s/data", p->dir);
    program_env(q, xdg);
}

/* The port of the server, once it is in the lock file. */
static int wait_port(const program *p)
{
    int64_t end = tk_clock_mono_ms(NULL) + WAIT_MS;
    for (;;) {
        char *url = NULL;
        size_t n = 0;
        bool ready = program_read_file(p, "data/tinkc/lock", &url, &n) && n > 0;
        int port = ready ? atoi(strrchr(url, ':') + 1) : 0;
        tk_free(url);
        if (port > 0) {
            return port;
        }
        assert_true(tk_clock_mono_ms(NULL) < end);
        (void)usleep(2000);
    }
}

static int ask_sessions(int port, const char *key)
{
    char headers[256] = "";
    httpget_response response;
    if (key != NULL) {
        (void)snprintf(headers, sizeof(headers), "X-API-Key: %s\r\n", key);
    }
    const httpget_request request = {.target = "/api/v1/sessions", .headers = headers};
    assert_int_equal(httpget_once(port, &request, &response), HTTPGET_OK);
    int status = response.status;
    httpget_response_dispose(&response);
    return status;
}

/* Other users of the machine reach the private server, too, but only the owner of the data
 * directory can read its key. */
static void test_local_has_a_key(void **state)
{
    program p;
    struct stat st;
    char *key = NULL;
    size_t n = 0;
    open_program(&p);
    program_env(&p, "TINKER_API_KEY=tml-of-another-server");
    program_start(&p, PROGRAM_ARGS("--local", "chat", "--model", MODEL));
    int port = wait_port(&p);
    assert_true(program_read_file(&p, "data/tinkc/tinkc.key", &key, &n));
    assert_int_equal(stat(program_path(&p, "data/tinkc/tinkc.key"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(ask_sessions(port, NULL), 401);
    assert_int_equal(ask_sessions(port, "tml-of-another-server"), 401);
    assert_int_equal(ask_sessions(port, key), 200);
    tk_free(key);
    program_end(&p);
    assert_int_equal(p.code, 0);
    wait_served(&p, false);
    assert_int_not_equal(access(program_path(&p, "data/tinkc/tinkc.key"), F_OK), 0);
    program_close(&p);
}

/* A second command uses the server of the first. */
static void test_local_joins(void **state)
{
    program p, q;
    char xdg[XDG_BYTES];
    open_both(&p, &q, xdg);
    program_start(&p, PROGRAM_ARGS("serve", "--port", "0"));
    assert_true(program_wait_text(&p, false, "listening on http://127.0.0.1:"));
    program_run(&q, PROGRAM_ARGS("--local", TRAIN("2")));
    assert_int_equal(q.code, 0);
    assert_int_not_equal(access(program_path(&q, "data"), F_OK), 0);
    assert_true(is_served(&p)); /* not ours to stop */
    assert_int_equal(kill(p.pid, SIGTERM), 0);
    program_end(&p);
    assert_int_equal(p.code, 0);
    program_close(&q);
    program_close(&p);
}

/* A server with a key of its own: the hint names the server and its key. */
static void test_local_joins_keyed(void **state)
{
    program p, q;
    char xdg[XDG_BYTES];
    open_both(&p, &q, xdg);
    program_start(&p, PROGRAM_ARGS("serve", "--port", "0", "--api-key", "tml-its-own"));
    assert_true(program_wait_text(&p, false, "listening on http://127.0.0.1:"));
    program_run(&q, PROGRAM_ARGS("--local", "run", "list"));
    assert_int_equal(q.code, 1);
    assert_true(program_said(&q.err, "no API key was sent\nHint: --local joined the "
                                     "server at http://127.0.0.1:"));
    program_run(&q, PROGRAM_ARGS("--local", "run", "list", "--api-key", "tml-its-own"));
    assert_int_equal(q.code, 0);
    program_run(&q, PROGRAM_ARGS("serve", "--port", "0"));
    assert_int_equal(q.code, 1);
    assert_true(program_said(&q.err, "(http://127.0.0.1:"));
    assert_true(program_said(&q.err, "--data DIR"));
    assert_int_equal(kill(p.pid, SIGTERM), 0);
    program_end(&p);
    program_close(&q);
    program_close(&p);
}

/* The first command ends, or is killed; the second, which joined its server, keeps it,
 * and the first does not wait for the second. Both are over: so is the server. */
static void test_local_outlives_its_starter(void **state)
{
    for (int is_killed = 0; is_killed < 2; is_killed++) {
        program p, q;
        char xdg[XDG_BYTES];
        open_both(&p, &q, xdg);
        program_start(&p, PROGRAM_ARGS("--local", "chat", "--model", MODEL));
        wait_served(&p, true);
        program_start(&q, PROGRAM_ARGS("--local", TRAIN("100000"), "--save-every", "0"));
        assert_true(program_wait_text(&q, true, "step 1/100000"));
        if (is_killed) {
            assert_int_equal(kill(p.pid, SIGKILL), 0);
        }
        program_end(&p); /* its input ends */
        assert_int_equal(p.code, is_killed ? 128 + SIGKILL : 0);
        assert_true(is_served(&p));
        assert_int_equal(kill(q.pid, SIGINT), 0); /* saves: its server is there */
        program_end(&q);
        assert_int_equal(q.code, 130);
        assert_true(program_said(&q.err, "Continue:\n  tinkc train "));
        wait_served(&p, false);
        program_close(&q);
        program_close(&p);
    }
}

/* Many begin at the same moment: one starts the server, and all have it. */
static void test_local_all_at_once(void **state)
{
    program p[6];
    char xdg[128];
    for (size_t i = 0; i < TK_ARRAY_LEN(p); i++) {
        open_program(&p[i]);
        (void)snprintf(xdg, sizeof(xdg), "XDG_DATA_HOME=%s/data", p[0].dir);
        program_env(&p[i], xdg);
        program_start(&p[i], PROGRAM_ARGS("--local", "health"));
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(p); i++) {
        program_end(&p[i]);
        assert_int_equal(p[i].code, 0);
    }
    wait_served(&p[0], false);
    for (size_t i = TK_ARRAY_LEN(p); i-- > 0;) {
        program_close(&p[i]);
    }
}

static void test_local_cannot_start(void **state)
{
    program p;
    open_program(&p);
    program_env(&p, "XDG_DATA_HOME=/dev/null");
    program_run(&p, PROGRAM_ARGS("--local", TRAIN("2")));
    assert_int_equal(p.code, 1);
    assert_true(program_said(&p.err, "Error: the local server did not start: "));
    assert_true(program_said(&p.err, "/dev/null")); /* the message names the directory */
    program_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_local_command),
        cmocka_unit_test(test_local_killed),
        cmocka_unit_test(test_local_has_a_key),
        cmocka_unit_test(test_local_joins_keyed),
        cmocka_unit_test(test_local_joins),
        cmocka_unit_test(test_local_outlives_its_starter),
        cmocka_unit_test(test_local_all_at_once),
        cmocka_unit_test(test_local_cannot_start),
    };
    return cmocka_run_group_tests_name("cmd_local", tests, NULL, NULL);
}
