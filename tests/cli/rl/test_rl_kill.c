/* `tinkc rl` is killed at moments that a seed chooses, as often as it takes, and resumed: the
 * weights are those of a run that was not interrupted, bit for bit; with --overlap no set of
 * episodes is trained twice. `test_rl_kill N` takes N seeds for each.
 * Links: peer client text server */
#include "cli/rl/rlfix.h"

#define STEPS     4
#define EPISODES  8 /* of a step */
#define DELAYS_MS 12

static unsigned n_seeds = 2;

static unsigned random_below(uint64_t *state, unsigned n)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(*state >> 33) % n;
}

static size_t count_lines(const modelfix *f, const char *name)
{
    char *text = NULL;
    size_t n = 0, lines = 0;
    if (program_read_file(&f->p, name, &text, &n)) {
        for (size_t i = 0; i < n; i++) {
            lines += text[i] == '\n';
        }
    }
    tk_free(text);
    return lines;
}

/* Waits until so many episodes have ended, or the program has; then a moment longer. */
static void wait_moment(modelfix *f, size_t episodes, unsigned delay_ms)
{
    int64_t end = tk_clock_mono_ms(NULL) + WAIT_MS;
    siginfo_t info = {.si_pid = 0};
    while (count_lines(f, "cut.rl/rollouts.jsonl") < episodes && info.si_pid == 0) {
        assert_true(tk_clock_mono_ms(NULL) < end);
        (void)poll(NULL, 0, 1);
        (void)waitid(P_PID, (id_t)f->p.pid, &info, WEXITED | WNOHANG | WNOWAIT);
    }
    (void)poll(NULL, 0, (int)delay_ms);
}

/* Kills and resumes until a run comes to its end; returns how often it was killed. */
static unsigned run_with_kills(modelfix *f, const char *const *args, uint64_t *random)
{
    unsigned kills = 0;
    const char *const again[] = {"rl", "--save",  "cut", "--resume",
                                 "-t", "t.jsonl", NULL};
    program_start(&f->p, args);
    for (;;) {
        bool is_last = kills >= 3;
        size_t at = is_last ? SIZE_MAX : random_below(random, STEPS * EPISODES);
        wait_moment(f, at, random_below(random, DELAYS_MS));
        bool was_there = !is_last && kill(f->p.pid, SIGKILL) == 0;
        program_end(&f->p);
        wait_none_left(f);
        if (!was_there || f->p.code != 128 + SIGKILL) {
            break;
        }
        kills++;
        /* without a checkpoint it begins from the start */
        program_start(&f->p, file_has(f, "cut.rl/state.json", "step") ? again : args);
    }
    if (f->p.code != 0) {
        fail_msg("%s", f->p.err.p);
    }
    return kills;
}

#define KILL_ARGS(name)                                                                  \
    RL_ARGS(name), "-n", "4", "--save-every", "1", "--rollouts", "1000", "-j", "4"

/* Without overlap: the same bits. */
static void test_rl_kill_same_bits(void **state)
{
    modelfix f;
    tk_buf whole;
    unsigned kills = 0;
    (void)state;
    open_fix(&f, NULL);
    tk_buf_init(&whole, 64 * TK_MIB);
    run_ok(&f, PROGRAM_ARGS(KILL_ARGS("whole")));
    read_weights(&f, "whole", &whole);
    assert_true(whole.n > 10000);
    for (uint64_t seed = 1; seed <= n_seeds; seed++) {
        tk_buf cut;
        uint64_t random = seed;
        tk_buf_init(&cut, 64 * TK_MIB);
        kills += run_with_kills(&f, PROGRAM_ARGS(KILL_ARGS("cut")), &random);
        read_weights(&f, "cut", &cut);
        assert_int_equal(cut.n, whole.n);
        assert_memory_equal(cut.p, whole.p, whole.n);
        tk_buf_dispose(&cut);
        remove_run(&f, "cut");
    }
    assert_true(kills > 0);
    print_message("killed %u times\n", kills);
    tk_buf_dispose(&whole);
    modelfix_close(&f);
}

/* With overlap: every step once, every set of episodes in one step. */
static void test_rl_kill_overlap(void **state)
{
    modelfix f;
    unsigned kills = 0;
    (void)state;
    open_fix(&f, NULL);
    for (uint64_t seed = 1; seed <= n_seeds; seed++) {
        uint64_t random = 1000 + seed;
        kills += run_with_kills(&f, PROGRAM_ARGS(KILL_ARGS("cut"), "--overlap"), &random);
        expect_steps_once(&f, "cut.rl/metrics.jsonl", STEPS);
        remove_run(&f, "cut");
    }
    assert_true(kills > 0);
    print_message("killed %u times\n", kills);
    modelfix_close(&f);
}

/* An agent with 2,000 turns of its own: all of them are trained on. For `make soak`. */
static void test_rl_kill_many_turns(void **state)
{
    modelfix f;
    char command[600];
    (void)state;
    open_fix(&f, NULL);
    (void)snprintf(command, sizeof(command), "'%s' agent many", self);
    run_ok(&f, PROGRAM_ARGS("rl", "-t", "t.jsonl", "-a", command, "-b", "1", "-g", "2",
                            "-n", "1", "--rank", "2", "--max-turns", "3000", "--timeout",
                            "600", "--save", "many"));
    expect_file(&f, "many.rl/metrics.jsonl", "\"turns/max\":2000,");
    modelfix_close(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rl_kill_same_bits),
        cmocka_unit_test(test_rl_kill_overlap),
        cmocka_unit_test(test_rl_kill_many_turns),
    };
    int code = rlfix_agent(argc, argv);
    if (code >= 0) {
        return code;
    }
    n_seeds = argc == 2 ? (unsigned)strtoul(argv[1], NULL, 10) : n_seeds;
    if (argc != 2) {
        cmocka_set_skip_filter("test_rl_kill_many_turns");
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
