/* Questions about names. The names here need no name server: one has a part that no name
 * can have, the other is an address. */
#include "http/lookup.h"

#include <sched.h>
#include <stdio.h>

#include "support/test.h"

#define TRIES 10000000 /* ends a failing test only */

static tk_str bad_name(char out[128])
{
    (void)snprintf(out, 128, "%064d.invalid", 0);
    return tk_str_of(out);
}

/* The first failure starts the question, a later one gets its answer. */
static void test_lookup_unknown(void **unused)
{
    char text[128];
    tk_lookup *lookup = NULL;
    tk_str name = bad_name(text);
    assert_false(tk_lookup_is_unknown(&lookup, name));
    bool is_unknown = false;
    for (int i = 0; i < TRIES && !is_unknown; i++) {
        (void)sched_yield();
        is_unknown = tk_lookup_is_unknown(&lookup, name);
    }
    assert_true(is_unknown);
    /* the answer is about that name only */
    assert_false(tk_lookup_is_unknown(&lookup, tk_str_of("127.0.0.1")));
    tk_lookup_free(&lookup);
    assert_null(lookup);
    tk_lookup_free(&lookup);
}

/* A name that exists, and one that no buffer here can hold. */
static void test_lookup_known(void **unused)
{
    char text[400];
    tk_lookup *lookup = NULL;
    for (int i = 0; i < 100; i++) {
        assert_false(tk_lookup_is_unknown(&lookup, tk_str_of("127.0.0.1")));
        (void)sched_yield();
    }
    (void)snprintf(text, sizeof(text), "%0300d", 0);
    assert_false(tk_lookup_is_unknown(&lookup, tk_str_of(text)));
    assert_null(lookup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lookup_unknown),
        cmocka_unit_test(test_lookup_known),
    };
    return cmocka_run_group_tests_name("lookup", tests, NULL, NULL);
}
