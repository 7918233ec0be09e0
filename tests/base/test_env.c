/* Environment variables through an injected table, and the real one once. */
#include "base/env.h"

#include <stdlib.h>

#include "support/test.h"

/* One variable, `V`, with the value that `user` points to. */
static const char *get_v(const char *name, void *user)
{
    return strcmp(name, "V") == 0 ? *(const char **)user : NULL;
}

static void test_env_strings(void **unused)
{
    const char *value = "text";
    tk_env env = {get_v, &value};
    assert_string_equal(tk_env_get(&env, "V"), "text");
    assert_string_equal(tk_env_get_nonempty(&env, "V"), "text");
    assert_null(tk_env_get(&env, "W"));
    assert_null(tk_env_get_nonempty(&env, "W"));
    value = "";
    assert_string_equal(tk_env_get(&env, "V"), "");
    assert_null(tk_env_get_nonempty(&env, "V"));
}

static void test_env_process(void **unused)
{
    assert_int_equal(setenv("TINKC_TEST_ENV", "on", 1), 0);
    assert_string_equal(tk_env_get(NULL, "TINKC_TEST_ENV"), "on");
    assert_true(tk_env_get_bool(NULL, "TINKC_TEST_ENV", false));
    assert_int_equal(unsetenv("TINKC_TEST_ENV"), 0);
    assert_null(tk_env_get(NULL, "TINKC_TEST_ENV"));
}

/* As TINKER_TELEMETRY is read (docs/protocol.md §1.2). */
static void test_env_bool_words(void **unused)
{
    static const char *const on[] = {"1", "true", "yes", "on", "TRUE", "Yes", "oN"};
    static const char *const off[] = {"",  "0",  "false", "no",     "off",
                                      "2", " 1", "true ", "enabled"};
    const char *value = NULL;
    tk_env env = {get_v, &value};
    assert_true(tk_env_get_bool(&env, "V", true));
    assert_false(tk_env_get_bool(&env, "V", false));
    for (size_t i = 0; i < TK_ARRAY_LEN(on); i++) {
        value = on[i];
        assert_true(tk_env_get_bool(&env, "V", false));
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(off); i++) {
        value = off[i];
        assert_false(tk_env_get_bool(&env, "V", true));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_env_strings),
        cmocka_unit_test(test_env_process),
        cmocka_unit_test(test_env_bool_words),

    };
    return cmocka_run_group_tests_name("env", tests, NULL, NULL);
}
