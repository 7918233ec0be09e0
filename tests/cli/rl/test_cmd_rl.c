/* `tinkc rl` against a real server with the embedded model. The agents are shell commands,
 * and this program itself: `test_cmd_rl agent MODE` asks the model and writes a reward.
 * Links: peer client text server */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/modelfix.h"
#include "support/httpget.h"
#include "support/test.h"

#define WAIT_MS 60000
#define TASKS   "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n"

/* ---- the agent ---- */

/* Asks once; returns the status. The text of the answer is in `said`. */
static int ask(char *said, size_t size, unsigned turn)
{
    const char *url = getenv("OPENAI_BASE_URL"), *key = getenv("OPENAI_API_KEY");
    char target[256], headers[256], body[256];
    httpget_response response;
    const char *port = strchr(url + 7, ':');
    (void)snprintf(target, sizeof(target), "%s/chat/completions", strchr(port, '/'));
    (void)snprintf(headers, sizeof(headers), "Authorization: Bearer %s\r\n", key);
    (void)snprintf(body, sizeof(body),
                   "{\"messages\":[{\"role\":\"user\",\"content\":\"Say something about "
                   "%u\"}],\"max_tokens\":4}",
                   turn);
    const httpget_request request = {
        .method = "POST", .target = target, .headers = headers, .body = body};
    if (httpget_once((int)strtol(port + 1, NULL, 10), &request, &response) !=
        HTTPGET_OK) {
        return 0;
    }
    const char *at =
        response.body.p != NULL ? strstr(response.body.p, "\"content\":\"") : NULL;
    (void)snprintf(said, size, "%s", at != NULL ? at + strlen("\"content\":\"") : "");
    int status = response.status;
    httpget_response_dispose(&response);
    return status;
}

/* once: the reward depends on the first letter. many: 2,000 turns, as far as they go. */
static int run_agent(const char *mode)
{
    char said[64] = "";
    unsigned turns = strcmp(mode, "many") == 0 ? 2000 : 1, refused = 0;
    for (unsigned i = 0; i < turns; i++) {
        int status = ask(said, sizeof(said), turns > 1 ? i : 7);
        refused += status == 400;
        if (status != 200 && status != 400) {
            return 9;
        }
        if (refused > 2) {
            break;
        }
    }
    printf("{\"reward\":%d,\"refused\":%u}\n", said[0] % 2 + (said[1] == 'o'), refused);
    return 0;
}

/* ---- the program ---- */

static char self[512];  /* this program */
static char agent[600]; /* "... agent once" */
static char hostile[2048];

static void open_fix(modelfix *f, const char *faults)
{
    modelfix_open(f, faults);
    program_write_file(&f->p, "t.jsonl", TASKS);
    program_env(&f->p, "TEST_RL_MARK=here");
}

#define RL_ARGS(name)                                                                    \
    "rl", "-t", "t.jsonl", "-a", agent, "-m", MODELFIX_NAME, "-b", "2", "-g", "4",       \
        "--rank", "2", "--lr", "3e-3", "--save", name

static void run_ok(modelfix *f, const char *const *args)
{
    program_run(&f->p, args);
    if (f->p.code != 0) {
        fail_msg("%s", f->p.err.p);
    }
}

static void said(modelfix *f, const char *text)
{
    if (!program_said(&f->p.err, text)) {
        fail_msg("not '%s' in: %s", text, f->p.err.p);
    }
}

static bool file_has(const modelfix *f, const char *name, const char *text)
{
    char *data = NULL;
    size_t n = 0;
    bool found = program_read_file(&f->p, name, &data, &n) && strstr(data, text) != NULL;
    tk_free(data);
    return found;
}

static void expect_file(const modelfix *f, const char *name, const char *text)
{
    if (!file_has(f, name, text)) {
        fail_msg("%s has no %s", name, text);
    }
}

/* Counts the processes whose environment has the folder of this test. */
static size_t count_left(const modelfix *f)
{
    DIR *dir = opendir("/proc");
    size_t left = 0;
    for (const struct dirent *at = readdir(dir); at != NULL; at = readdir(dir)) {
        char path[300], text[16384];
        (void)snprintf(path, sizeof(path), "/proc/%s/environ", at->d_name);
        int fd = at->d_name[0] >= '1' && at->d_name[0] <= '9' ? open(path, O_RDONLY) : -1;
        ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
        for (ssize_t i = 0; i < n; i += (ssize_t)strlen(text + i) + 1) {
            text[n] = '\0';
            left +=
                strncmp(text + i, "HOME=", 5) == 0 && strcmp(text + i + 5, f->p.dir) == 0;
        }
        if (fd >= 0) {
            (void)close(fd);
        }
    }
    (void)closedir(dir);
    return left;
}

static void wait_none_left(const modelfix *f)
{
    int64_t end = tk_clock_mono_ms(NULL) + WAIT_MS;
    while (count_left(f) > 0) {
        assert_true(tk_clock_mono_ms(NULL) < end);
        (void)poll(NULL, 0, 2);
    }
}

static void wait_file(const modelfix *f, const char *name, const char *text)
{
    int64_t end = tk_clock_mono_ms(NULL) + WAIT_MS;
    while (!file_has(f, name, text)) {
        assert_true(tk_clock_mono_ms(NULL) < end);
        (void)poll(NULL, 0, 2);
    }
}

/* ---- tests ---- */

/* Everything that an agent can do wrong, in one step: counted, explained in a line each,
 * and the run goes on. */
static void test_rl_hostile(void **state)
{
    modelfix f;
    (void)state;
    open_fix(&f, NULL);
    (void)snprintf(hostile, sizeof(hostile),
                   "case $TINKC_STEP-${TINKC_EPISODE##*-} in "
                   "1-e0) sleep 1000 ;; 1-e1) yes ;; "
                   "1-e2) trap '' TERM; sleep 1000; sleep 1000 ;; 1-e3) echo done ;; "
                   "1-e4) echo nan ;; 1-e5) kill -9 $$ ;; 1-e6) echo oh >&2; exit 3 ;; "
                   "1-e7) setsid sleep 1000 & echo 1 ;; 1-e8) kill -9 $PPID ;; "
                   "1-e9) '%s' agent many ;; *) '%s' agent once ;; esac",
                   self, self);
    run_ok(&f,
           PROGRAM_ARGS("rl", "-t", "t.jsonl", "-a", hostile, "-m", MODELFIX_NAME, "-b",
                        "1", "-g", "14", "-n", "2", "--rank", "2", "--timeout", "2",
                        "--max-output", "100000", "--max-turns", "5", "--save", "h"));
    said(&f, "step 1/2: 2 of 14 episodes ran longer than --timeout");
    said(&f, "step 1/2: 1 of 14 episodes wrote more than --max-output");
    said(&f, "step 1/2: 1 of 14 episodes wrote no reward");
    said(&f, "step 1/2: 1 of 14 episodes wrote a reward that is not finite");
    said(&f, "step 1/2: 1 of 14 episodes ended by a signal (s1-t0-e5: signal 9)");
    said(&f, "step 1/2: 1 of 14 episodes ended with an exit code other than 0 (s1-t0-e6: "
             "exit code 3: oh)");
    said(&f, "step 1/2: 1 of 14 episodes wrote a reward, but asked the model nothing");
    said(&f, "step 1/2: 1 of 14 episodes could not be started, or their keeper");
    said(&f, "step 1/2: 1 episodes wanted 3 turns more than --max-turns");
    said(&f, "processes behind, which were ended");
    said(&f, "step 2/2  reward");
    expect_file(&f, "h.rl/metrics.jsonl", "\"failed/timeout\":2");
    expect_file(&f, "h.rl/metrics.jsonl", "\"failed/flood\":1");
    expect_file(&f, "h.rl/metrics.jsonl", "\"failed/not_finite\":1");
    expect_file(&f, "h.rl/metrics.jsonl", "\"failed/lost\":1");
    expect_file(&f, "h.rl/metrics.jsonl", "\"turns/refused\":3");
    expect_file(&f, "h.rl/rollouts.jsonl", "\"end\":\"exit\"");
    wait_none_left(&f);
    modelfix_close(&f);
}

/* A reward that does not depend on the model: every group is equal, and a warning. */
static void test_rl_reward_hack(void **state)
{
    char command[700];
    modelfix f;
    (void)state;
    open_fix(&f, NULL);
    (void)snprintf(command, sizeof(command), "'%s' agent once >/dev/null; echo 1", self);
    run_ok(&f, PROGRAM_ARGS("rl", "-t", "t.jsonl", "-a", command, "-b", "1", "-g", "2",
                            "-n", "3", "--rank", "2", "--save", "hack"));
    said(&f, "for 3 steps no group of episodes had rewards that differ (1 to 1)");
    said(&f, "Does the reward depend on what the model answers?");
    expect_file(&f, "hack.rl/metrics.jsonl", "\"reward/std\":0.0");
    expect_file(&f, "hack.rl/metrics.jsonl", "\"groups/equal\":1");
    modelfix_close(&f);
}

/* An agent that cannot work at all ends the run, with the reason. */
static void test_rl_useless_agent(void **state)
{
    modelfix f;
    (void)state;
    open_fix(&f, NULL);
    program_run(&f.p, PROGRAM_ARGS("rl", "-t", "t.jsonl", "-a", "/no/such/agent", "-b",
                                   "1", "-g", "2", "--rank", "2"));
    assert_int_equal(f.p.code, 1);
    said(&f, "exit code 127: ");
    said(&f, "no episode of the last 3 steps has a reward");
    modelfix_close(&f);
}

/* The weights of a run, as they are stored. */
static void read_weights(modelfix *f, const char *name, tk_buf *out)
{
    char command[512];
    char *data = NULL;
    size_t n = 0;
    (void)snprintf(command, sizeof(command),
                   "cat $(find %s/checkpoints -path '*/weights/%s.*/*' -type f "
                   "-name '*.safetensors' | sort) >%s/all",
                   f->srv.data, name, f->p.dir);
    assert_int_equal(system(command), 0);
    assert_true(program_read_file(&f->p, "all", &data, &n));
    tk_buf_put(out, data, n);
    tk_free(data);
    assert_int_equal(unlink(program_path(&f->p, "all")), 0);
}

/* SIGKILL while a step runs, then --resume: the same weights as of a run that was not
 * interrupted, bit for bit; and no process survives. */
static void test_rl_killed_and_resumed(void **state)
{
    modelfix f;
    tk_buf a, b;
    (void)state;
    open_fix(&f, NULL);
    tk_buf_init(&a, 64 * TK_MIB);
    tk_buf_init(&b, 64 * TK_MIB);
    run_ok(&f, PROGRAM_ARGS(RL_ARGS("whole"), "-n", "5", "--save-every", "2"));
    program_start(&f.p, PROGRAM_ARGS(RL_ARGS("cut"), "-n", "5", "--save-every", "2"));
    wait_file(&f, "cut.rl/metrics.jsonl", "\"step\":3,");
    assert_int_equal(kill(f.p.pid, SIGKILL), 0);
    program_end(&f.p);
    wait_none_left(&f);
    program_run(&f.p, PROGRAM_ARGS(RL_ARGS("cut"), "-n", "5"));
    assert_int_equal(f.p.code, 1); /* not by accident from the beginning */
    said(&f, "stopped after step");
    program_run(&f.p, PROGRAM_ARGS("rl", "--save", "cut", "--resume", "--lr", "1"));
    said(&f, "--lr was 3e-3 when the run started");
    run_ok(&f, PROGRAM_ARGS("rl", "--save", "cut", "--resume"));
    said(&f, "Resuming after step");
    read_weights(&f, "whole", &a);
    read_weights(&f, "cut", &b);
    assert_true(a.n > 10000); /* adapter and both moments */
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.p, b.p, a.n);
    run_ok(&f, PROGRAM_ARGS("rl", "--save", "cut", "--resume"));
    said(&f, "This run is already finished");
    program_write_file(&f.p, "t.jsonl", "{\"n\":9}\n");
    program_run(&f.p, PROGRAM_ARGS("rl", "--save", "cut", "--resume"));
    assert_int_equal(f.p.code, 1);
    said(&f, "does not have the tasks of the run");
    tk_buf_dispose(&a);
    tk_buf_dispose(&b);
    modelfix_close(&f);
}

/* Every step is in the metrics once, and no lot of episodes is in two of them. */
static void expect_steps_once(const modelfix *f, const char *name, size_t steps)
{
    char *text = NULL;
    size_t n = 0, seen = 0;
    double lots[16];
    assert_true(program_read_file(&f->p, name, &text, &n));
    for (const char *at = text; (at = strstr(at, "\"lot\":")) != NULL; at += 6) {
        assert_true(seen < 16);
        lots[seen] = strtod(at + 6, NULL);
        for (size_t i = 0; i < seen; i++) {
            assert_true(lots[i] != lots[seen]);
        }
        seen++;
    }
    assert_int_equal(seen, steps);
    for (size_t i = 1; i <= steps; i++) {
        char step[32];
        (void)snprintf(step, sizeof(step), "{\"step\":%zu,", i);
        const char *at = strstr(text, step);
        assert_non_null(at);
        assert_null(strstr(at + 1, step));
    }
    tk_free(text);
}

/* With overlap a kill loses episodes, but none is trained twice; they are at most one
 * version old. */
static void test_rl_overlap(void **state)
{
    modelfix f;
    (void)state;
    open_fix(&f, NULL);
    program_start(&f.p, PROGRAM_ARGS(RL_ARGS("o"), "-n", "5", "--save-every", "2",
                                     "--overlap", "--substeps", "2", "--loss", "ppo"));
    wait_file(&f, "o.rl/metrics.jsonl", "\"step\":3,");
    assert_int_equal(kill(f.p.pid, SIGKILL), 0);
    program_end(&f.p);
    wait_none_left(&f);
    run_ok(&f, PROGRAM_ARGS("rl", "--save", "o", "--resume"));
    expect_steps_once(&f, "o.rl/metrics.jsonl", 5);
    expect_file(&f, "o.rl/metrics.jsonl", "\"lag\":1");
    assert_false(file_has(&f, "o.rl/metrics.jsonl", "\"lag\":2"));
    modelfix_close(&f);
}

/* Ctrl-C ends the agents, saves what was trained, and --resume goes on. */
static void test_rl_interrupted(void **state)
{
    modelfix f;
    char command[700];
    (void)state;
    open_fix(&f, NULL);
    (void)snprintf(command, sizeof(command),
                   "[ $TINKC_STEP = 3 ] && sleep 1000; '%s' agent once", self);
    program_start(&f.p, PROGRAM_ARGS("rl", "-t", "t.jsonl", "-a", command, "-b", "1",
                                     "-g", "3", "-n", "9", "--rank", "2", "--save-every",
                                     "0", "--save", "i", "-e", "t.jsonl"));
    assert_true(program_wait_text(&f.p, true, "step 2/9  reward"));
    assert_int_equal(kill(f.p.pid, SIGINT), 0);
    program_end(&f.p);
    assert_int_equal(f.p.code, 130);
    said(&f, "held-out reward");
    said(&f, "Stopped after step 2 of 9");
    said(&f, "tinkc rl --save i");
    wait_none_left(&f);
    expect_file(&f, "i.rl/state.json", "\"step\":2,");
    modelfix_close(&f);
}

static void test_rl_usage(void **state)
{
    modelfix f;
    (void)state;
    open_fix(&f, NULL);
    static const struct {
        const char *words[10], *text;
        int code;
    } rows[] = {
        {{"rl", NULL}, "Give --tasks FILE and --agent COMMAND.", 2},
        {{"rl", "-t", "t.jsonl", "-a", "x", "--resume", "--restart", NULL},
         "not both",
         2},
        {{"rl", "-t", "t.jsonl", "-a", "x", "-g", "1", NULL}, "'--group': '1'", 2},
        {{"rl", "-t", "t.jsonl", "-a", "x", "--save", "a/b", NULL}, "is not a name", 2},
        {{"rl", "-t", "none.jsonl", "-a", "x", NULL}, "none.jsonl", 1},
        {{"rl", "-t", "bad.jsonl", "-a", "x", NULL}, "line 2 is not JSON", 1},
    };
    program_write_file(&f.p, "bad.jsonl", "{}\n{\n");
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        program_run(&f.p, rows[i].words);
        assert_int_equal(f.p.code, rows[i].code);
        said(&f, rows[i].text);
    }
    modelfix_close(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rl_hostile),
        cmocka_unit_test(test_rl_reward_hack),
        cmocka_unit_test(test_rl_useless_agent),
        cmocka_unit_test(test_rl_killed_and_resumed),
        cmocka_unit_test(test_rl_overlap),
        cmocka_unit_test(test_rl_interrupted),
        cmocka_unit_test(test_rl_usage),
    };
    if (argc == 3 && strcmp(argv[1], "agent") == 0) {
        return run_agent(argv[2]);
    }
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    assert_true(n > 0);
    (void)snprintf(agent, sizeof(agent), "'%s' agent once", self);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
