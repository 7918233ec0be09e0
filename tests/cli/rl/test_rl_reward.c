/* Which last lines are rewards.
 * Links: cli */
#include "cli/rl/rl_reward.h"

#include "support/test.h"

static const struct {
    const char *output;
    rl_reward_kind kind;
    double value;
} rows[] = {
    {"1", RL_REWARD_OK, 1},
    {"said: 7\n0.25\n\n  \n", RL_REWARD_OK, 0.25},
    {"-1.5e-1\r\n", RL_REWARD_OK, -0.15},
    {"+2\n", RL_REWARD_OK, 2},
    {"{\"reward\": 3}", RL_REWARD_OK, 3},
    {"x\n{\"turns\": 4, \"reward\": -0.5, \"ok\": true}\n", RL_REWARD_OK, -0.5},
    {"", RL_REWARD_NONE, 0},
    {" \n\n", RL_REWARD_NONE, 0},
    {"1\ndone", RL_REWARD_NONE, 0},
    {"reward: 1", RL_REWARD_NONE, 0},
    {"1 2", RL_REWARD_NONE, 0},
    {"{}", RL_REWARD_NONE, 0},
    {"{\"reward\": \"1\"}", RL_REWARD_NONE, 0},
    {"{\"reward\": null}", RL_REWARD_NONE, 0},
    {"{\"reward\": 1", RL_REWARD_NONE, 0},
    {"[1]", RL_REWARD_NONE, 0},
    {"nan", RL_REWARD_NOT_FINITE, 0},
    {"-1e30", RL_REWARD_OK, -1e30},
    {"1e31", RL_REWARD_NOT_FINITE, 0},
    {"{\"reward\": -1e300}", RL_REWARD_NOT_FINITE, 0},
    {"-inf", RL_REWARD_NOT_FINITE, 0},
    {"Infinity", RL_REWARD_NOT_FINITE, 0},
    {"{\"reward\": NaN}", RL_REWARD_NOT_FINITE, 0},
};

static void test_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        rl_reward reward;
        rl_reward_kind kind = rl_reward_read(&reward, tk_str_of(rows[i].output));
        if (kind != rows[i].kind) {
            fail_msg("%s: %d", rows[i].output, kind);
        }
        if (kind == RL_REWARD_OK && reward.value != rows[i].value) {
            fail_msg("%s: %g", rows[i].output, reward.value);
        }
    }
}

static void test_metrics(void **state)
{
    rl_reward reward;
    (void)state;
    assert_int_equal(
        rl_reward_read(&reward,
                       TK_STR("{\"reward\":1,\"turns\":4,\"why\":\"x\",\"s\":0.5}")),
        RL_REWARD_OK);
    assert_int_equal(reward.n_metrics, 2);
    assert_string_equal(reward.metrics[0].name, "turns");
    assert_true(reward.metrics[0].value == 4);
    assert_string_equal(reward.metrics[1].name, "s");
}

/* Any bytes: nothing is read past the end. */
static void test_hostile(void **state)
{
    char text[64];
    rl_reward reward;
    (void)state;
    for (unsigned c = 0; c < 256; c++) {
        memset(text, (int)c, sizeof(text));
        (void)rl_reward_read(&reward, (tk_str){text, sizeof(text)});
        text[0] = '{';
        (void)rl_reward_read(&reward, (tk_str){text, sizeof(text)});
    }
    assert_int_equal(rl_reward_read(&reward, (tk_str){NULL, 0}), RL_REWARD_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_metrics),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
