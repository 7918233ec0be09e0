/* Agents that do everything wrong: each ends with its episode, is explained, and leaves no
 * process behind. Every agent gets a variable with a number of its test; what is left is
 * looked for in /proc.
 * Links: cli */
#include "cli/rl/rl_agent.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/test.h"

#define WAIT_MS 30000

static rl_agents *agents;
static char mark[64]; /* "RL_AGENT_MARK=..." */

static int open_all(void **state)
{
    tk_err err = TK_ERR_INIT;
    (void)state;
    (void)snprintf(mark, sizeof(mark), "RL_AGENT_MARK=%d-%lld", (int)getpid(),
                   (long long)tk_clock_mono_ns(NULL));
    assert_int_equal(rl_agents_open(&agents, &err), TINKC_OK);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    rl_agents_close(agents);
    return 0;
}

/* ---- processes ---- */

static bool is_marked(const char *pid)
{
    char path[300], text[32768];
    (void)snprintf(path, sizeof(path), "/proc/%s/environ", pid);
    int fd = open(path, O_RDONLY);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0) {
        (void)close(fd);
    }
    for (ssize_t i = 0; i < n; i++) {
        if ((size_t)(n - i) >= strlen(mark) &&
            memcmp(text + i, mark, strlen(mark)) == 0) {
            return true;
        }
    }
    return false;
}

/* Counts the processes that have the mark. */
static size_t count_marked(void)
{
    DIR *dir = opendir("/proc");
    size_t n = 0;
    assert_non_null(dir);
    for (const struct dirent *at = readdir(dir); at != NULL; at = readdir(dir)) {
        n += at->d_name[0] >= '1' && at->d_name[0] <= '9' && is_marked(at->d_name);
    }
    (void)closedir(dir);
    return n;
}

static void wait_for_marked(bool wanted)
{
    int64_t end = tk_clock_mono_ns(NULL) + (int64_t)WAIT_MS * 1000000;
    while ((count_marked() > 0) != wanted) {
        assert_true(tk_clock_mono_ns(NULL) < end);
        (void)poll(NULL, 0, 1);
    }
}

/* ---- running ---- */

static rl_job job_of(const char *command, const char *const *variables)
{
    return (rl_job){.command = command,
                    .variables = variables,
                    .n_variables = 1,
                    .input = TK_STR("{\"a\":1}\n"),
                    .timeout_ms = WAIT_MS,
                    .grace_ms = 50,
                    .max_output = 1 << 20};
}

static void start(const rl_job *job, void *user)
{
    tk_err err = TK_ERR_INIT;
    assert_int_equal(rl_agents_start(agents, job, user, &err), TINKC_OK);
}

/* Runs one and checks that nothing is left of it. */
static rl_ended run(const char *command, int64_t timeout_ms)
{
    const char *variables[] = {mark};
    rl_job job = job_of(command, variables);
    rl_ended ended;
    job.timeout_ms = timeout_ms > 0 ? timeout_ms : job.timeout_ms;
    start(&job, &job);
    assert_true(rl_agents_wait(agents, &ended, WAIT_MS));
    assert_ptr_equal(ended.user, &job);
    assert_int_equal(ended.left, 0);
    assert_int_equal(count_marked(), 0);
    assert_int_equal(rl_agents_running(agents), 0);
    return ended;
}

#define assert_text(s, text) assert_true(tk_str_is((s), (text)))

static void test_output_and_input(void **state)
{
    (void)state;
    rl_ended e = run("cat; echo second; echo why >&2", 0);
    assert_int_equal(e.end, RL_END_OK);
    assert_text(e.out, "{\"a\":1}\nsecond\n");
    assert_text(e.err, "why\n");
    assert_int_equal(e.n_written, 19);
    e = run("echo $RL_AGENT_MARK", 0);
    assert_int_equal(e.end, RL_END_OK);
    assert_memory_equal(e.out.p, mark + strlen("RL_AGENT_MARK="), e.out.n - 1);
    e = run("exec 0<&-; echo 1", 0); /* does not read */
    assert_text(e.out, "1\n");
}

static void test_ends(void **state)
{
    (void)state;
    rl_ended e = run("echo 1; exit 3", 0);
    assert_int_equal(e.end, RL_END_EXIT);
    assert_int_equal(e.status, 3);
    e = run("kill -SEGV $$", 0);
    assert_int_equal(e.end, RL_END_SIGNAL);
    assert_int_equal(e.status, SIGSEGV);
    e = run("/no/such/agent", 0);
    assert_int_equal(e.end, RL_END_EXIT);
    assert_int_equal(e.status, 127);
}

static void test_never_ends(void **state)
{
    (void)state;
    rl_ended e = run("echo 1; sleep 1000", 60);
    assert_int_equal(e.end, RL_END_TIMEOUT);
    e = run("trap '' TERM HUP INT; while :; do sleep 1000; done", 60); /* ignores it */
    assert_int_equal(e.end, RL_END_TIMEOUT);
    e = run("kill -STOP $$", 60);
    assert_int_equal(e.end, RL_END_TIMEOUT);
    /* what is written on SIGTERM is kept, but the time was over */
    bool is_late = false;
    for (int64_t ms = 60; !is_late && ms <= 60 * 256;
         ms *= 4) { /* the shell may need longer */
        e = run("trap 'echo late; exit 0' TERM; while :; do sleep 0.01; done", ms);
        assert_int_equal(e.end, RL_END_TIMEOUT);
        is_late = tk_str_is(e.out, "late\n");
    }
    assert_true(is_late);
}

static void test_flood(void **state)
{
    (void)state;
    rl_ended e = run("yes", 0);
    assert_int_equal(e.end, RL_END_FLOOD);
    assert_true(e.n_written > 1 << 20 && e.n_written < 2 << 20);
    assert_int_equal(e.out.n, RL_AGENT_OUT_BYTES);
    e = run("yes >&2", 0);
    assert_int_equal(e.end, RL_END_FLOOD);
    /* below the limit the end is kept */
    e = run("head -c 300000 /dev/zero | tr '\\0' x; echo; echo 0.5", 0);
    assert_int_equal(e.end, RL_END_OK);
    assert_memory_equal(e.out.p + e.out.n - 5, "\n0.5\n", 5);
    /* the longest report: both tails are full */
    e = run(
        "head -c 300000 /dev/zero | tr '\\0' x; head -c 9000 /dev/zero | tr '\\0' y >&2; "
        "echo; echo 0.5",
        0);
    assert_int_equal(e.end, RL_END_OK);
    assert_int_equal(e.out.n, RL_AGENT_OUT_BYTES);
    assert_memory_equal(e.out.p + e.out.n - 5, "\n0.5\n", 5);
    assert_int_equal(e.err.n, RL_AGENT_ERR_BYTES);
    assert_int_equal(e.err.p[RL_AGENT_ERR_BYTES - 1], 'y');
}

static void test_forks(void **state)
{
    (void)state;
    rl_ended e = run("sleep 1000 & sleep 1000 & echo 1", 0);
    assert_int_equal(e.end, RL_END_OK);
    assert_int_equal(e.strays, 2);
    assert_text(e.out, "1\n");
    /* sessions of their own, whose parents are gone */
    e = run("setsid sh -c 'setsid sleep 1000 & sleep 1000' & "
            "(setsid sleep 1000 >/dev/null 2>&1 &); sleep 0.05; echo 1",
            0);
    assert_int_equal(e.end, RL_END_OK);
    assert_true(e.strays >= 3);
    /* it holds the pipe and ignores SIGTERM */
    e = run("setsid sh -c \"trap '' TERM; sleep 1000; sleep 1000\" & sleep 1000", 60);
    assert_int_equal(e.end, RL_END_TIMEOUT);
    /* it tries to end its keeper */
    e = run("kill -TERM $PPID; kill -HUP $PPID; echo 2", 0);
    assert_int_equal(e.end, RL_END_OK);
    /* and does: then the episode is lost, and the agent with it */
    const char *variables[] = {mark};
    rl_job job = job_of("kill -KILL $PPID; sleep 1000", variables);
    start(&job, NULL);
    assert_true(rl_agents_wait(agents, &e, WAIT_MS));
    assert_int_equal(e.end, RL_END_LOST);
    wait_for_marked(false);
}

/* One that stops its keeper, or the root above it, is lost, and the others go on. */
static void test_stopped_keeper(void **state)
{
    const char *variables[] = {mark};
    rl_job job = job_of("kill -STOP $PPID; setsid sleep 1000 & sleep 1000", variables);
    rl_job other = job_of("echo 1", variables);
    rl_ended e;
    (void)state;
    start(&job, &job);
    assert_true(rl_agents_wait(agents, &e, WAIT_MS));
    assert_int_equal(e.end, RL_END_LOST);
    wait_for_marked(false);
    start(&other, &other);
    assert_true(rl_agents_wait(agents, &e, WAIT_MS));
    assert_int_equal(e.end, RL_END_OK);
    /* the root goes on by the program, which sees that it does not */
    job.command = "read -r _ _ _ root _ </proc/$PPID/stat; kill -STOP $root; echo 2";
    start(&job, &job);
    assert_true(rl_agents_wait(agents, &e, WAIT_MS));
    assert_int_equal(e.end, RL_END_OK);
    start(&other, &other);
    assert_true(rl_agents_wait(agents, &e, WAIT_MS));
    assert_int_equal(e.end, RL_END_OK);
    wait_for_marked(false);
}

/* The root is the only child of this process. */
static void stop_root(void)
{
    char path[64];
    int root = 0;
    siginfo_t info;
    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%d", &root), 1);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(kill(root, SIGSTOP), 0);
    assert_int_equal(waitid(P_PID, (id_t)root, &info, WSTOPPED | WNOWAIT), 0);
}

/* A root that is stopped is woken also while more is sent than fits into a socket: a task that
 * is large, and many agents. */
static void test_stopped_root(void **state)
{
    enum { BYTES = 4 << 20, MANY = 400 };
    static char large[BYTES];
    const char *variables[] = {mark};
    rl_job job = job_of("wc -c", variables), other = job_of("exit 7", variables);
    rl_ended e;
    (void)state;
    memset(large, 'x', sizeof(large));
    job.input = (tk_str){large, sizeof(large)};
    stop_root();
    start(&job, &job);
    assert_true(rl_agents_wait(agents, &e, WAIT_MS));
    assert_int_equal(e.end, RL_END_OK);
    assert_text(e.out, "4194304\n");
    stop_root();
    for (size_t i = 0; i < MANY; i++) {
        start(&other, NULL);
    }
    for (size_t i = 0; i < MANY; i++) {
        assert_true(rl_agents_wait(agents, &e, WAIT_MS));
        assert_int_equal(e.status, 7);
    }
    wait_for_marked(false);
}

static void test_many(void **state)
{
    const char *variables[] = {mark};
    char marks[24]; /* the place of one is its number */
    size_t seen = 0;
    rl_ended e;
    (void)state;
    for (size_t i = 0; i < 24; i++) {
        char command[64];
        (void)snprintf(command, sizeof(command), "echo %zu; exit %zu", i, i);
        rl_job job = job_of(command, variables);
        start(&job, &marks[i]);
    }
    for (size_t i = 0; i < 24; i++) {
        assert_true(rl_agents_wait(agents, &e, WAIT_MS));
        size_t at = (size_t)((char *)e.user - marks);
        seen |= (size_t)1 << at;
        assert_int_equal(e.status, at);
    }
    assert_int_equal(seen, ((size_t)1 << 24) - 1);
    assert_false(rl_agents_wait(agents, &e, 0));
}

static void test_stop(void **state)
{
    const char *variables[] = {mark};
    char command[256], path[] = "/tmp/test_rl_agent_XXXXXX";
    int file = mkstemp(path);
    (void)snprintf(command, sizeof(command),
                   "trap 'echo bye; exit 0' TERM; rm %s; while :; do sleep 0.01; done",
                   path);
    rl_job job = job_of(command, variables);
    rl_ended e;
    (void)state;
    assert_true(file >= 0);
    job.grace_ms = WAIT_MS;
    start(&job, NULL);
    while (access(path, F_OK) == 0) {
        assert_false(rl_agents_wait(agents, &e, 1));
    }
    rl_agents_stop(agents);
    assert_true(rl_agents_wait(agents, &e, WAIT_MS));
    assert_int_equal(e.end, RL_END_STOPPED);
    assert_text(e.out, "bye\n");
    assert_int_equal(count_marked(), 0);
    (void)close(file);
}

static void test_limits(void **state)
{
    static char large[RL_AGENT_ENV_BYTES + 8];
    const char *variables[] = {large};
    rl_job job = job_of("true", variables);
    tk_err err = TK_ERR_INIT;
    (void)state;
    memset(large, 'x', sizeof(large) - 1);
    assert_int_equal(rl_agents_start(agents, &job, NULL, &err), TINKC_E_LIMIT);
    job.n_variables = 0;
    job.input.n = RL_AGENT_TASK_BYTES + 1;
    assert_int_equal(rl_agents_start(agents, &job, NULL, &err), TINKC_E_LIMIT);
}

/* Another program with agents is killed: nothing of it is left. */
static void test_killed_program(void **state)
{
    const char *variables[] = {mark};
    int pipes[2];
    char byte;
    (void)state;
    assert_int_equal(pipe(pipes), 0);
    pid_t pid = fork();
    if (pid == 0) {
        rl_agents *own = NULL;
        tk_err err = TK_ERR_INIT;
        rl_job job = job_of("trap '' TERM; setsid sleep 1000 & sleep 1000", variables);
        if (rl_agents_open(&own, &err) == TINKC_OK &&
            rl_agents_start(own, &job, NULL, &err) == TINKC_OK &&
            write(pipes[1], "x", 1) == 1) {
            (void)poll(NULL, 0, WAIT_MS);
        }
        _exit(0);
    }
    assert_int_equal(read(pipes[0], &byte, 1), 1);
    wait_for_marked(true);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    wait_for_marked(false);
    (void)close(pipes[0]);
    (void)close(pipes[1]);
}

/* Closing ends what runs. */
static void test_close(void **state)
{
    const char *variables[] = {mark};
    rl_job job = job_of("setsid sleep 1000 & sleep 1000", variables);
    rl_agents *own = NULL;
    tk_err err = TK_ERR_INIT;
    (void)state;
    assert_int_equal(rl_agents_open(&own, &err), TINKC_OK);
    assert_int_equal(rl_agents_start(own, &job, NULL, &err), TINKC_OK);
    wait_for_marked(true);
    rl_agents_close(own);
    assert_int_equal(count_marked(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_output_and_input),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_never_ends),
        cmocka_unit_test(test_flood),
        cmocka_unit_test(test_forks),
        cmocka_unit_test(test_stopped_keeper),
        cmocka_unit_test(test_stopped_root),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_killed_program),
        cmocka_unit_test(test_close),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
