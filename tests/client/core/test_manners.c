/* The facts about a server: each is described, and the first answer counts. */
#include "client/core/manners.h"

#include <string.h>

#include "support/test.h"

static int lines;

static void count(tinkc_log_level level, const char *component, const char *line,
                  void *user)
{
    lines++;
}

/* The documents are made of these texts. */
static void test_manners_facts(void **unused)
{
    for (int i = 0; i < TK_MANNER_COUNT; i++) {
        const tk_manner_fact *fact = tk_manner_fact_of((tk_manner)i);
        assert_true(strlen(fact->name) > 0 && strlen(fact->name) < 24);
        assert_true(strlen(fact->does) > 0);
        assert_true(strlen(fact->shows) > 0);
        assert_true(strlen(fact->then) > 0);
        assert_non_null(strstr(fact->test, ": test_"));
    }
}

static void test_manners_first_counts(void **unused)
{
    tk_manners manners = {0};
    tk_log *log = NULL;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_log_new(&log, TINKC_LOG_INFO, count, NULL, &err), TINKC_OK);
    assert_int_equal(tk_manners_get(&manners, TK_MANNER_JSON_REQUESTS), TK_KNOWN_NOT_YET);
    tk_manners_learn(&manners, log, TK_MANNER_JSON_REQUESTS, false);
    assert_int_equal(tk_manners_get(&manners, TK_MANNER_JSON_REQUESTS), TK_KNOWN_NO);
    assert_int_equal(lines, 0); /* as the official server */
    tk_manners_learn(&manners, log, TK_MANNER_JSON_REQUESTS, true);
    assert_int_equal(tk_manners_get(&manners, TK_MANNER_JSON_REQUESTS), TK_KNOWN_NO);
    tk_manners_learn(&manners, log, TK_MANNER_JSON_RESULTS, true);
    tk_manners_learn(&manners, log, TK_MANNER_JSON_RESULTS, true);
    assert_int_equal(tk_manners_get(&manners, TK_MANNER_JSON_RESULTS), TK_KNOWN_YES);
    assert_int_equal(lines, 1);
    tk_log_free(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_manners_facts),
        cmocka_unit_test(test_manners_first_counts),
    };
    return cmocka_run_group_tests_name("manners", tests, NULL, NULL);
}
