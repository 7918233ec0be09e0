/* `tinkc rl` against a real server with the embedded model (rlfix.h).
 * Links: peer client text server */
#include "cli/rl/rlfix.h"

static char hostile[2048], longest[4096];

/* Everything that an agent can do wrong, in one step: counted, explained in a line each,
 * and the run goes on. */
static void test_rl_hostile(void **state)
{
    modelfix f;
    (void)state;
    open_fix(&f, NULL);
    program_write_file(&f.p, "w.sh", "setsid sh w.sh >/dev/null 2>&1 &\n");
    (void)snprintf(hostile, sizeof(hostile),
                   "case $TINKC_STEP-${TINKC_EPISODE##*-} in "
                   "1-e0) sleep 1000 ;; 1-e1) yes ;; "
                   "1-e2) trap '' TERM; sleep 1000; sleep 1000 ;; 1-e3) echo done ;; "
                   "1-e4) echo nan ;; 1-e5) kill -9 $$ ;; 1-e6) echo oh >&2; exit 3 ;; "
                   "1-e7) setsid sleep 1000 & echo 1 ;; 1-e8) kill -9 $PPID ;; "
                   "1-e9) '%s' agent many ;; 1-e10) sh w.sh; echo 1 ;; "
                   "1-e11) kill -STOP $PPID; sleep 1000 ;; *) '%s' agent once ;; esac",
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
    said(&f, "step 1/2: 2 of 14 episodes wrote a reward, but asked the model nothing");
    said(&f, "step 1/2: 2 of 14 episodes could not be started, or their keeper");
    said(&f, "step 1/2: 1 episodes wanted 3 turns more than --max-turns");
    said(&f, "processes behind, which were ended");
    said(&f, "step 2/2  reward");
    expect_file(&f, "h.rl/metrics.jsonl", "\"failed/timeout\":2");
    expect_file(&f, "h.rl/metrics.jsonl", "\"failed/flood\":1");
    expect_file(&f, "h.rl/metrics.jsonl", "\"failed/not_finite\":1");
    expect_file(&f, "h.rl/metrics.jsonl", "\"failed/lost\":2");
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

/* A run that begins again and is killed before its first checkpoint is not the old one, which
 * --resume would otherwise continue, or find finished. */
static void test_rl_begun_again(void **state)
{
    static const char *const resume[] = {"rl", "--save", "again", "--resume", NULL};
    modelfix f;
    (void)state;
    open_fix(&f, NULL);
    for (size_t i = 0; i < 2; i++) {
        run_ok(&f, PROGRAM_ARGS(RL_ARGS("again"), "-n", "1"));
        expect_file(&f, "again.rl/state.json", "\"finished\":true");
        program_start(&f.p,
                      PROGRAM_ARGS("rl", "-t", "t.jsonl", "-a", ": >begun; sleep 1000",
                                   "-b", "1", "-g", "2", "-n", "2", "--rank", "2",
                                   "--save", "again", i == 1 ? "--restart" : NULL));
        int64_t end = tk_clock_mono_ms(NULL) + WAIT_MS;
        while (access(program_path(&f.p, "begun"), F_OK) != 0) {
            assert_true(tk_clock_mono_ms(NULL) < end);
            (void)poll(NULL, 0, 2);
        }
        assert_int_equal(kill(f.p.pid, SIGKILL), 0);
        program_end(&f.p);
        wait_none_left(&f);
        assert_int_equal(unlink(program_path(&f.p, "begun")), 0);
        assert_false(file_has(&f, "again.rl/state.json", "step"));
        program_run(&f.p, resume);
        assert_int_equal(f.p.code, 2); /* there is nothing to continue */
        said(&f, "Give --tasks FILE");
    }
    modelfix_close(&f);
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

/* What an agent finds around it: the task, no key to the server, no proxy for the gateway. */
static void test_rl_surroundings(void **state)
{
    modelfix f;
    char command[1000];
    (void)state;
    open_fix(&f, NULL);
    program_env(&f.p, "TINKER_API_KEY=tml-local");
    program_env(&f.p, "no_proxy=example.com");
    (void)snprintf(
        command, sizeof(command),
        "read task; [ \"$task\" = \"$TINKC_TASK\" ] && [ -z \"${TINKER_API_KEY+x}\" ] "
        "&& [ $no_proxy = 127.0.0.1,localhost,example.com ] && "
        "[ $NO_PROXY = 127.0.0.1,localhost ] && [ $TINKC_MAX_TURNS = 7 ] && "
        "[ $TINKC_SPLIT-$TINKC_STEP = train-1 ] && [ $TINKC_SEED -ge 0 ] && "
        "[ $TEST_RL_MARK = here ] || exit 5; '%s' agent once",
        self);
    run_ok(&f,
           PROGRAM_ARGS("rl", "-t", "t.jsonl", "-a", command, "-b", "1", "-g", "2", "-n",
                        "1", "--rank", "2", "--max-turns", "7", "--save", "around"));
    expect_file(&f, "around.rl/metrics.jsonl", "\"episodes/failed\":0");
    modelfix_close(&f);
}

/* A variable of an agent may be long, but not longer than the system takes; the one that is, is
 * named. */
static void test_rl_long_variables(void **state)
{
    static char proxies[2][100100], command[1000];
    modelfix f;
    (void)state;
    open_fix(&f, NULL);
    (void)snprintf(proxies[0], sizeof(proxies[0]), "NO_PROXY=%098274d", 7);
    (void)snprintf(proxies[1], sizeof(proxies[1]), "NO_PROXY=%098275d", 7);
    (void)snprintf(command, sizeof(command),
                   "[ ${#NO_PROXY} = 98294 ] || exit 5; '%s' agent once", self);
    program_env(&f.p, proxies[0]);
    run_ok(&f, PROGRAM_ARGS("rl", "-t", "t.jsonl", "-a", command, "-b", "1", "-g", "2",
                            "-n", "1", "--rank", "2", "--save", "long"));
    expect_file(&f, "long.rl/metrics.jsonl", "\"episodes/failed\":0");
    program_env(&f.p, proxies[1]);
    program_run(&f.p, PROGRAM_ARGS("rl", "-t", "t.jsonl", "-a", command, "-b", "1", "-g",
                                   "2", "-n", "1", "--rank", "2", "--save", "longer"));
    assert_int_equal(f.p.code, 1);
    said(&f, "the variable NO_PROXY is too long for an agent: the limit is 98303 bytes");
    modelfix_close(&f);
}

/* An environment; its texts, and with --tokens its tokens, are kept for reading. */
static void test_rl_env(void **state)
{
    modelfix f;
    (void)state;
    open_fix(&f, NULL);
    run_ok(&f, PROGRAM_ARGS("rl", "-t", "t.jsonl", "--env",
                            "read a; echo '{\"observation\":\"It'\\''s you\"}'; read b; "
                            "echo '{\"observation\":\"And now\",\"reward\":1}'; read c; "
                            "echo '{\"done\":true,\"reward\":0.'${#b}',\"depth\":2}'",
                            "-b", "1", "-g", "2", "-n", "1", "--rank", "2",
                            "--max-tokens", "3", "--tokens", "--save", "e"));
    expect_file(&f, "e.rl/metrics.jsonl", "\"agent/actions\":2.0");
    expect_file(&f, "e.rl/metrics.jsonl", "\"agent/depth\":2.0");
    expect_file(&f, "e.rl/rollouts.jsonl", "<|user|>It's you<|end|><|assistant|>");
    expect_file(&f, "e.rl/rollouts.jsonl", "\"sequences\":[{");
    program_run(&f.p, PROGRAM_ARGS("rl", "-t", "t.jsonl", "--env", "x", "-a", "y"));
    assert_int_equal(f.p.code, 2);
    modelfix_close(&f);
}

/* Without a program: the question and the answer of a task. The rewards are those of an agent
 * that asks the same, and what cannot be asked is found before the first step. */
static void test_rl_match(void **state)
{
    static const char *const bad[] = {"{\"question\":\"x\"}", "{\"answer\":\"x\"}",
                                      "{\"question\":1,\"answer\":\"x\"}",
                                      "{\"messages\":\"x\",\"answer\":\"x\"}", "[1]"};
    modelfix f;
    (void)state;
    open_fix(&f, NULL);
    program_write_file(
        &f.p, "q.jsonl",
        "{\"question\":\"What is 3 + 4?\",\"answer\":7}\n"
        "{\"messages\":[{\"role\":\"user\",\"content\":\"What is 2 + 2?\"}],"
        "\"answer\":\"4\"}\n");
    run_ok(&f, PROGRAM_ARGS("rl", "-t", "q.jsonl", "--match", "number", "-b", "2", "-g",
                            "8", "-n", "1", "--rank", "2", "--max-tokens", "1",
                            "--cut-off", "-0.25", "--save", "q"));
    expect_file(&f, "q.rl/metrics.jsonl", "\"episodes\":16,\"episodes/failed\":0");
    expect_file(&f, "q.rl/metrics.jsonl", "\"reward/max\":0.75"); /* right, and cut off */
    (void)snprintf(longest, sizeof(longest), "{\"question\":\"%0*d\",\"answer\":\"x\"}",
                   3000, 7);
    program_write_file(&f.p, "q.jsonl", longest);
    run_ok(&f, PROGRAM_ARGS("rl", "-t", "q.jsonl", "--match", "contains", "-b", "1", "-g",
                            "2", "-n", "1", "--rank", "2", "--save", "long"));
    said(&f, "2 of 2 episodes asked and got no answer (s1-t0-e");
    said(&f, ": status 400: ");
    expect_file(&f, "long.rl/metrics.jsonl", "\"failed/request\":2");
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        program_write_file(&f.p, "bad.jsonl", bad[i]);
        program_run(&f.p, PROGRAM_ARGS("rl", "-t", "bad.jsonl", "--match", "exact"));
        assert_int_equal(f.p.code, 1);
        said(&f, "a task for --match needs \"question\" or \"messages\", and \"answer\"");
    }
    modelfix_close(&f);
}

/* Killed after the last checkpoint, in the last evaluation: --resume makes up for it. With
 * --keep the checkpoint of the first step is still there. Only one program at a time may
 * have the directory. */
static void test_rl_killed_at_end(void **state)
{
    modelfix f;
    char command[1000];
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    (void)state;
    open_fix(&f, NULL);
    (void)snprintf(command, sizeof(command),
                   "[ $TINKC_SPLIT$TINKC_STEP = eval2 ] && ! [ -e go ] && sleep 1000; "
                   "'%s' agent once",
                   self);
    program_start(&f.p,
                  PROGRAM_ARGS("rl", "-t", "t.jsonl", "-e", "t.jsonl", "-a", command,
                               "-b", "1", "-g", "2", "-n", "2", "--rank", "2",
                               "--save-every", "1", "--keep", "--save", "end"));
    wait_file(&f, "end.rl/state.json", "\"step\":2,");
    assert_int_equal(kill(f.p.pid, SIGKILL), 0);
    program_end(&f.p);
    expect_file(&f, "end.rl/state.json", "\"finished\":false");
    program_write_file(&f.p, "go", "");
    int fd = open(program_path(&f.p, "end.rl/lock"), O_RDWR | O_CLOEXEC);
    assert_int_equal(fcntl(fd, F_SETLK, &lock), 0);
    program_run(&f.p, PROGRAM_ARGS("rl", "--resume", "--save", "end"));
    assert_int_equal(f.p.code, 1);
    said(&f, "another tinkc rl is running in end.rl");
    (void)close(fd);
    run_ok(&f, PROGRAM_ARGS("rl", "--resume", "--save", "end"));
    said(&f, "step 2/2  held-out reward");
    expect_file(&f, "end.rl/state.json", "\"finished\":true");
    run_ok(&f, PROGRAM_ARGS("checkpoint", "list"));
    assert_true(program_said(&f.p.out, "end-000001"));
    wait_none_left(&f);
    modelfix_close(&f);
}

static void test_rl_usage(void **state)
{
    modelfix f;
    (void)state;
    open_fix(&f, NULL);
    static const struct {
        const char *words[12], *text;
        int code;
    } rows[] = {
        {{"rl", NULL},
         "Give --tasks FILE, and --agent COMMAND, --env COMMAND or --match HOW.",
         2},
        {{"rl", "-t", "t.jsonl", "-a", "x", "--resume", "--restart", NULL},
         "not both",
         2},
        {{"rl", "-t", "t.jsonl", "-a", "x", "-g", "1", NULL}, "'--group': '1'", 2},
        {{"rl", "-t", "t.jsonl", "-a", "x", "--save", "a/b", NULL}, "is not a name", 2},
        {{"rl", "-t", "t.jsonl", "-a", "x", "--save", "", NULL}, "is not a name", 2},
        {{"rl", "-t", "t.jsonl", "-a", "x", "--save", longest, NULL}, "is not a name", 2},
        {{"rl", "-t", "t.jsonl", "-a", "x", "--cut-off", "-1", NULL},
         "--cut-off has no effect without --match",
         2},
        {{"rl", "-t", "t.jsonl", "-a", "x", "--eval-every", "2", NULL},
         "--eval-every has no effect without --eval",
         2},
        {{"rl", "-t", "none.jsonl", "-a", "x", "--eval-every", "0", NULL},
         "none.jsonl",
         1},
        {{"rl", "-t", "t.jsonl", "-a", "x", "--eval-group", "2", NULL},
         "--eval-group has no effect without --eval",
         2},
        {{"rl", "-t", "t.jsonl", "--match", "exact", "--max-output", "9", NULL},
         "--max-output has no effect with --match",
         2},
        {{"rl", "-t", "none.jsonl", "-a", "x", NULL}, "none.jsonl", 1},
        {{"rl", "-t", "bad.jsonl", "-a", "x", NULL}, "line 2 is not JSON", 1},
    };
    program_write_file(&f.p, "bad.jsonl", "{}\n{\n");
    (void)snprintf(longest, sizeof(longest), "%0201d", 7);
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
        cmocka_unit_test(test_rl_begun_again),
        cmocka_unit_test(test_rl_overlap),
        cmocka_unit_test(test_rl_interrupted),
        cmocka_unit_test(test_rl_surroundings),
        cmocka_unit_test(test_rl_long_variables),
        cmocka_unit_test(test_rl_env),
        cmocka_unit_test(test_rl_match),
        cmocka_unit_test(test_rl_killed_at_end),
        cmocka_unit_test(test_rl_usage),
    };
    int code = rlfix_agent(argc, argv);
    return code >= 0 ? code : cmocka_run_group_tests(tests, NULL, NULL);
}
