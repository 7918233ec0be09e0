/* The state file that --resume reads.
 * Links: client text */
#include <math.h>

#include "base/file.h"
#include "cli/train/train_state.h"
#include "cli/train/trainfix.h"

static void test_train_state_file(void **state)
{
    train_state out = {.step = 40, .steps = 100, .eval_first = 2.5};
    train_state in;
    tk_err err = TK_ERR_INIT;
    (void)snprintf(out.data, sizeof(out.data), "%064d", 5);
    out.settings[TRAIN_MODEL] = "a \"model\"";
    out.settings[TRAIN_LR] = "0.003";
    out.checkpoint = "tinker://r/weights/x-000040";
    out.anchor = "what it is held against";
    out.eval_extras_n = 2;
    out.eval_extras[0] = NAN;
    out.eval_extras[1] = 0.1;
    assert_int_equal(train_state_write(&out, trainfix_path("s"), &err), TINKC_OK);
    assert_int_equal(train_state_read(&in, trainfix_path("s"), &err), TINKC_OK);
    assert_int_equal(in.step, 40);
    assert_int_equal(in.steps, 100);
    assert_string_equal(in.data, out.data);
    assert_string_equal(in.settings[TRAIN_MODEL], "a \"model\"");
    assert_null(in.settings[TRAIN_RANK]);
    assert_string_equal(in.checkpoint, out.checkpoint);
    assert_null(in.weights);
    assert_false(in.is_finished);
    assert_true(in.eval_first == 2.5);
    assert_string_equal(in.anchor, out.anchor);
    assert_int_equal(in.eval_extras_n, 2);
    assert_true(isnan(in.eval_extras[0]) && in.eval_extras[1] == 0.1);

    const char *given[TRAIN_SETTINGS] = {NULL};
    given[TRAIN_LR] = "0.003";
    assert_int_equal(train_state_adopt(given, &in), TRAIN_SETTINGS);
    assert_string_equal(given[TRAIN_MODEL], "a \"model\"");
    given[TRAIN_RANK] = "8"; /* was not given then */
    assert_int_equal(train_state_adopt(given, &in), TRAIN_RANK);
    train_state_dispose(&in);
}

static void test_train_state_refuses(void **state)
{
    static const char *const bad[] = {
        "", "{", "[]", "{\"tinkc_train\":1}",
        "{\"tinkc_train\":2,\"step\":1,\"steps\":2,\"finished\":false,\"settings\":{}}"};
    train_state in;
    assert_int_equal(train_state_read(&in, trainfix_path("none"), NULL), TINKC_E_MISSING);
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        assert_int_equal(
            tk_file_replace(trainfix_path("b"), bad[i], strlen(bad[i]), 0600, NULL),
            TINKC_OK);
        assert_int_equal(train_state_read(&in, trainfix_path("b"), NULL), TINKC_E_DECODE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_train_state_file),
        cmocka_unit_test(test_train_state_refuses),
    };
    return cmocka_run_group_tests_name("train_state", tests, trainfix_open,
                                       trainfix_close);
}
