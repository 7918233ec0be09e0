/* The reinforcement learning of examples/03_rl.c: for each of three seeds the reward at
 * the end is far above that at the start; cpp/03_rl.cpp does the same, and
 * examples/09_turns.c over two turns. Under a sanitizer, where the model computes for
 * minutes, nothing is run: tests/cli/test_examples.c runs what is short. */
#include "cli/examples.h"

static void check_seed(char *seed)
{
    double first = 1, last = 0;
    const char *line = examples_line(&examples_one, "03_rl", seed, "reward: ");
    assert_int_equal(
        sscanf(line, "reward: %lf at the start, %lf at the end", &first, &last), 2);
    assert_true(first >= 0 && last <= 1);
    assert_true(last > first + 0.3);
}

static void test_examples_rl_seed1(void **unused)
{
    char seed[] = "1";
    check_seed(seed);
}

static void test_examples_rl_seed2(void **unused)
{
    char seed[] = "2";
    check_seed(seed);
}

static void test_examples_rl_seed3(void **unused)
{
    char seed[] = "3";
    check_seed(seed);
}

#ifdef EXAMPLES_CPP
/* The program in C++ prints what the one in C prints, step by step. */
static void test_examples_rl_cpp(void **unused)
{
    char seed[] = "2", first[EXAMPLES_SAID_BYTES];
    assert_int_equal(examples_run(&examples_one, "03_rl", seed), 0);
    memcpy(first, examples_one.said, sizeof(first));
    assert_non_null(strstr(first, "step 13  reward "));
    assert_int_equal(examples_run(&examples_one, "cpp/03_rl", seed), 0);
    assert_string_equal(examples_one.said, first);
}
#endif

/* Two turns with episodes that overlap: it learns, although some episodes are dropped, and
 * the order in which answers come changes nothing. */
static void test_examples_rl_turns(void **unused)
{
    char seed[] = "3", said[EXAMPLES_SAID_BYTES];
    double first = 1, last = 0;
    int dropped = 0, of = 0;
    const char *line = examples_line(&examples_one, "09_turns", seed, "right: ");
    assert_int_equal(
        sscanf(line, "right: %lf at the start, %lf at the end; %d of %d episodes dropped",
               &first, &last, &dropped, &of),
        4);
    assert_true(last > first + 0.05 && last <= 1);
    assert_true(dropped > 0 && dropped < of / 10);
    memcpy(said, examples_one.said, sizeof(said));
    assert_int_equal(examples_run(&examples_one, "09_turns", seed), 0);
    assert_string_equal(examples_one.said, said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples_rl_seed1),
        cmocka_unit_test(test_examples_rl_seed2),
        cmocka_unit_test(test_examples_rl_seed3),
        cmocka_unit_test(test_examples_rl_turns),
#ifdef EXAMPLES_CPP
        cmocka_unit_test(test_examples_rl_cpp),
#endif
    };
    return cmocka_run_group_tests_name("examples_rl", tests, examples_open,
                                       examples_close);
}
