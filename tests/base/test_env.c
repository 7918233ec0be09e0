/* Environment variables through an injected table, and the real one once. */
#include "base/env.h"

#include <stdlib.h>

#include "support/failmem.h"
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

static void assert_list(const char *value, const char *const *expected, size_t count)
{
    tk_env env = {get_v, &value};
    tk_arena arena;
    tk_arena_init(&arena, 0);
    const tk_str *items = NULL;
    size_t n = 99;
    assert_int_equal(tk_env_get_list(&items, &n, &arena, &env, "V", NULL), TINKC_OK);
    assert_int_equal(n, count);
    for (size_t i = 0; i < count; i++) {
        assert_true(tk_str_is(items[i], expected[i]));
    }
    tk_arena_dispose(&arena);
}

/* As TINKER_TAGS is read: no trimming, each once, an empty value is one empty tag. */
static void test_env_lists(void **unused)
{
    assert_list(NULL, NULL, 0);
    assert_list("", (const char *const[]){""}, 1);
    assert_list("a", (const char *const[]){"a"}, 1);
    assert_list("b, a,b,,a", (const char *const[]){"b", " a", "", "a"}, 4);
    assert_list("a,", (const char *const[]){"a", ""}, 2);
}

static void test_env_list_limit(void **unused)
{
    char text[(TK_ENV_LIST_MAX + 2) * 3];
    size_t at = 0;
    for (size_t i = 0; i <= TK_ENV_LIST_MAX; i++) {
        text[at++] = (char)('a' + i % 26);
        text[at++] = (char)('a' + i / 26);
        text[at++] = ',';
    }
    const char *value = text;
    tk_env env = {get_v, &value};
    tk_arena arena;
    tk_arena_init(&arena, 0);
    const tk_str *items = NULL;
    size_t n = 0;
    text[at - 4] = '\0'; /* without the last */
    assert_int_equal(tk_env_get_list(&items, &n, &arena, &env, "V", NULL), TINKC_OK);
    assert_int_equal(n, TK_ENV_LIST_MAX);
    text[at - 4] = ',';
    text[at - 1] = '\0';
    items = NULL;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_env_get_list(&items, &n, &arena, &env, "V", &err), TINKC_E_LIMIT);
    assert_null(items);
    tk_arena_dispose(&arena);
}

static bool read_list(void *user)
{
    const char *value = "a,b,c";
    tk_env env = {get_v, &value};
    tk_arena arena;
    tk_arena_init(&arena, 0);
    const tk_str *items = NULL;
    size_t n = 0;
    tk_err err = TK_ERR_INIT;
    bool ok = tk_env_get_list(&items, &n, &arena, &env, "V", &err) == TINKC_OK;
    assert_int_equal(err.code, ok ? TINKC_OK : TINKC_E_NOMEM);
    tk_arena_dispose(&arena);
    return ok;
}

static void test_env_sweep(void **unused)
{
    assert_in_range(failmem_sweep(read_list, NULL, 1), 1, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_env_strings),    cmocka_unit_test(test_env_process),
        cmocka_unit_test(test_env_bool_words), cmocka_unit_test(test_env_lists),
        cmocka_unit_test(test_env_list_limit), cmocka_unit_test(test_env_sweep),
    };
    return cmocka_run_group_tests_name("env", tests, NULL, NULL);
}
