/* The learning rate of --lr auto: sizes in names, and the rule. */
#include "cli/train/train_rate.h"

#include <math.h>

#include "support/test.h"

static void test_train_rate_sizes(void **unused)
{
    static const struct {
        const char *name;
        double parameters;
    } cases[] = {
        {"tinkc/pebble-llama-2m", 2e6},
        {"Qwen/Qwen3-8B", 8e9},
        {"Qwen/Qwen3-30B-A3B-Instruct-2507", 30e9},
        {"Qwen/Qwen3-A3B", 0},
        {"meta-llama/Llama-3.1-8B-Instruct", 8e9},
        {"Qwen/Qwen2.5-1.5B", 1.5e9},
        {"openai/gpt-oss-120b", 120e9},
        {"mistralai/Mixtral-8x7B-v0.1", 56e9},
        {"HuggingFaceTB/SmolLM2-135M", 135e6},
        {"8B/model", 0},
        {"m/x-4bit", 0},
        {"m/x-8x", 0},
        {"m/x-0B", 0},
        {"m/x-99999999999999999999B", 0},
        {"deepseek-ai/DeepSeek-V3.1", 0},
        {"", 0},
        {"/", 0},
        {"7b", 7e9},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        double seen = train_rate_parameters(cases[i].name);
        if (fabs(seen - cases[i].parameters) > 1e-6 * seen) {
            fail_msg("%s: %g", cases[i].name, seen);
        }
    }
}

static void test_train_rate_rule(void **unused)
{
    assert_true(train_rate_auto(1e9) == 1e-3);
    assert_true(train_rate_auto(2e6) == 4.7e-3);
    assert_true(train_rate_auto(8e9) == 5.9e-4);
    assert_true(train_rate_auto(70e9) == 3.5e-4);
    assert_true(train_rate_auto(0) == TRAIN_RATE_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_train_rate_sizes),
        cmocka_unit_test(test_train_rate_rule),
    };
    return cmocka_run_group_tests_name("train_rate", tests, NULL, NULL);
}
