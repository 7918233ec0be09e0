/* `tinkc env` with environments that are shell commands, and the embedded model of a real
 * server. Every environment begins by reading the line with its task.
 * Links: peer client text server */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/modelfix.h"
#include "support/test.h"

#define TASK "{\"n\": 1}"
#define ASK                                                                              \
    "read a; echo '{\"observation\":\"Hello\",\"request\":{\"max_tokens\":1}}'; read b; "

static modelfix f;
static char url[128];

static int open_all(void **state)
{
    (void)state;
    modelfix_open(&f, NULL);
    (void)snprintf(url, sizeof(url), "OPENAI_BASE_URL=%s/e/test/v1",
                   srv_url(f.srv.server));
    program_env(&f.p, url);
    program_env(&f.p, "OPENAI_API_KEY=tml-local");
    program_env(&f.p, "OPENAI_MODEL=" MODELFIX_NAME);
    program_env(&f.p, "TINKC_SEED=5");
    program_env(&f.p, "TINKC_SPLIT=train");
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    modelfix_close(&f);
    return 0;
}

static void expect(int code, const char *text)
{
    const tk_buf *at = code == 0 ? &f.p.out : &f.p.err;
    if (f.p.code != code || !program_said(at, text)) {
        fail_msg("%d, not '%s' in: %s%s", f.p.code, text, f.p.out.p, f.p.err.p);
    }
}

static void expect_file(const char *name, const char *begin)
{
    char *text = NULL;
    size_t n = 0;
    assert_true(program_read_file(&f.p, name, &text, &n));
    if (strncmp(text, begin, strlen(begin)) != 0) {
        fail_msg("%s: %s", name, text);
    }
    tk_free(text);
}

/* Rewards add up; further numbers of the last line are metrics; the environment reads the
 * task, the seed and the actions. */
static void test_env_episode(void **state)
{
    (void)state;
    program_run(
        &f.p,
        PROGRAM_ARGS("env", "--task", TASK,
                     ASK "echo \"$a\" >first; echo \"$b\" >second; echo; "
                         "echo '{\"reward\":0.5,\"observation\":\"And?\"}'; read c; "
                         "echo '{\"done\":true,\"reward\":1,\"depth\":3,\"x\":\"y\"}'"));
    expect(0, "{\"reward\":1.5,\"actions\":2,\"truncated\":0,\"depth\":3.0}\n");
    expect_file("first", "{\"task\":{\"n\":1},\"split\":\"train\",\"seed\":5}\n");
    expect_file("second", "{\"action\":\"");
}

/* Done at once: the model is not asked. */
static void test_env_no_action(void **state)
{
    (void)state;
    program_run(&f.p, PROGRAM_ARGS("env", "--task", TASK,
                                   "read a; echo '{\"done\":true,\"reward\":-2}'"));
    expect(0, "{\"reward\":-2.0,\"actions\":0,\"truncated\":0}\n");
}

/* An environment that would go on for ever, and one whose texts exceed the model's context:
 * the episode ends with the rewards so far. */
static void test_env_truncated(void **state)
{
    (void)state;
    program_run(
        &f.p,
        PROGRAM_ARGS("env", "--task", TASK, "--max-turns", "2", "--max-tokens", "1",
                     "while read a; do echo '{\"observation\":\"On\",\"reward\":1}'; "
                     "done"));
    expect(0, "{\"reward\":3.0,\"actions\":2,\"truncated\":1}\n");
    program_run(&f.p, PROGRAM_ARGS("env", "--task", TASK,
                                   "read a; echo '{\"observation\":\"'$(seq 4000)'\"}'; "
                                   "read b"));
    expect(0, "{\"reward\":0.0,\"actions\":0,\"truncated\":1}\n");
}

/* Opens the pipe that an environment writes to as its descriptor 3, as all that it starts. */
static int open_pipe(void)
{
    (void)unlink(program_path(&f.p, "pipe"));
    assert_int_equal(mkfifo(program_path(&f.p, "pipe"), 0600), 0);
    int fd = open(program_path(&f.p, "pipe"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static char wait_byte(int fd)
{
    char byte = 0;
    struct pollfd at = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&at, 1, 30000), 1);
    return read(fd, &byte, 1) == 1 ? byte : 0;
}

/* Whatever ends the episode, nothing of the environment is left. */
static void test_env_leaves_nothing(void **state)
{
    static const struct {
        const char *command;
        int code;
    } rows[] = {
        {"exec 3>pipe; echo x >&3; sleep 1000 >&- & exit 3", 1},
        {"exec 3>pipe; echo x >&3; sleep 1000 >&- & exec >&-; sleep 1000", 1},
        {"exec 3>pipe; echo x >&3; sleep 1000 >&- & read a; echo '{\"done\":true}'", 0},
        {"exec 3>pipe; echo x >&3; exec python3 -c 'import os, time; os.close(1); "
         "os.setpgid(0, os.getpgid(os.getppid())); time.sleep(1000)' 1>&1",
         1}, /* it leaves its group */
    };
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    (void)state;
    for (size_t i = 0; i < TK_ARRAY_LEN(rows) + TK_ARRAY_LEN(signals); i++) {
        int fd = open_pipe(), number = 0;
        if (i < TK_ARRAY_LEN(rows)) {
            program_run(&f.p, PROGRAM_ARGS("env", "--task", TASK, rows[i].command));
            assert_int_equal(f.p.code, rows[i].code);
            assert_int_equal(wait_byte(fd), 'x');
        } else {
            number = signals[i - TK_ARRAY_LEN(rows)];
            program_start(&f.p, PROGRAM_ARGS("env", "--task", TASK,
                                             "exec 3>pipe; trap '' INT TERM HUP QUIT; "
                                             "read a; "
                                             "echo x >&3; sleep 1000; sleep 1000"));
            assert_int_equal(wait_byte(fd), 'x');
            assert_int_equal(kill(f.p.pid, number), 0);
            program_end(&f.p);
            assert_int_equal(f.p.code, 128 + number);
        }
        assert_int_equal(wait_byte(fd), '\n');
        assert_int_equal(wait_byte(fd), 0); /* nobody has it open */
        (void)close(fd);
    }
}

static void test_env_failures(void **state)
{
    static const struct {
        const char *command, *text;
    } rows[] = {
        {"exit 3", "the environment ended with exit code 3 before it said done"},
        {"kill -9 $$", "the environment ended by signal 9 before it said done"},
        {ASK "exit 0", "the environment ended with exit code 0 before it said done"},
        {"exec >&-; sleep 1000", "the environment closed its output"},
        {"read a; echo hello", "is not a JSON object: hello"},
        {"read a; echo '[1]'", "is not a JSON object: [1]"},
        {"read a; echo '{}'", "has no text \"observation\": {}"},
        {"read a; echo '{\"observation\":7}'", "has no text \"observation\""},
        {ASK "echo '{\"reward\":\"1\"}'", "has a \"reward\" that is not a number"},
        {"read a; echo '{\"done\":1}'", "has a \"done\" that is neither true nor false"},
        {"read a; echo '{\"observation\":\"\",\"request\":1}'",
         "has a \"request\" that is not an object"},
        {"read a; head -c 9000000 /dev/zero; sleep 1000", "is too long"},
    };
    (void)state;
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        program_run(&f.p, PROGRAM_ARGS("env", "--task", TASK, rows[i].command));
        expect(1, rows[i].text);
    }
    program_run(&f.p, PROGRAM_ARGS("env", "--task", TASK, "--timeout", "0.05",
                                   "read a; exec sleep 1000"));
    expect(1, "the environment did not answer within 0.05 s");
    program_run(&f.p, PROGRAM_ARGS("env", "--task", "{", "read a"));
    expect(1, "Error: ");
    program_run(&f.p, PROGRAM_ARGS("env", "--timeout", "0", "read a"));
    assert_int_equal(f.p.code, 2);
}

/* The model refuses, or is not there. */
static void test_env_no_model(void **state)
{
    (void)state;
    program_run(&f.p, PROGRAM_ARGS("env", "--task", TASK,
                                   "read a; echo '{\"observation\":\"x\","
                                   "\"request\":{\"max_tokens\":-5}}'; read b"));
    expect(1, "the model's answer has status 400");
    program_env(&f.p, "OPENAI_BASE_URL=");
    program_run(&f.p, PROGRAM_ARGS("env", "--task", TASK, ASK));
    expect(1, "OPENAI_BASE_URL does not say where the model is");
    program_env(&f.p, url);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_env_episode),   cmocka_unit_test(test_env_no_action),
        cmocka_unit_test(test_env_truncated), cmocka_unit_test(test_env_failures),
        cmocka_unit_test(test_env_no_model),  cmocka_unit_test(test_env_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
