/* What counts as similar. */
#include "base/similar.h"
#include "support/test.h"

static const char *best_of(const char *typed, const char *const *words)
{
    tk_similar search = {.typed = tk_str_of(typed)};
    for (; *words != NULL; words++) {
        tk_similar_try(&search, *words);
    }
    return search.best;
}

static void test_similar_words(void **unused)
{
    static const char *const words[] = {"train",      "sample",  "chat", "checkpoint",
                                        "completion", "session", "run",  NULL};
    static const struct {
        const char *typed, *expected;
    } rows[] = {
        {"trian", "train"},      /* swapped */
        {"trai", "train"},       /* removed */
        {"traain", "train"},     /* inserted */
        {"traim", "train"},      /* replaced */
        {"TRAIN", "train"},      /* case */
        {"check", "checkpoint"}, /* a part */
        {"point", "checkpoint"}, /* anywhere */
        {"sesion", "session"},   /* among words as long */
        {"chta", "chat"},        /* short */
        {"x", NULL},             /* nothing in common */
        {"ai", NULL},            /* too short for a part */
        {"", NULL},              /* nothing typed */
        {"deploy", NULL},        /* another word */
        {"checkpiont", "checkpoint"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        const char *best = best_of(rows[i].typed, words);
        if (rows[i].expected == NULL) {
            assert_null(best);
        } else {
            assert_non_null(best);
            assert_string_equal(best, rows[i].expected);
        }
    }
}

/* Of equally near words the first wins; a nearer one later does. */
static void test_similar_order(void **unused)
{
    static const char *const equal[] = {"aaab", "aaac", NULL};
    static const char *const later[] = {"aabb", "aaac", NULL};
    assert_string_equal(best_of("aaad", equal), "aaab");
    assert_string_equal(best_of("aaad", later), "aaac");
}

/* Words longer than any real one are left out, not read past a buffer. */
static void test_similar_long(void **unused)
{
    char text[200];
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    const char *const words[] = {text, "aaa", NULL};
    assert_string_equal(best_of("aaaa", words), "aaa");
    assert_null(best_of(text, words));
    text[64] = '\0';
    assert_string_equal(best_of(text, words), text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_similar_words),
        cmocka_unit_test(test_similar_order),
        cmocka_unit_test(test_similar_long),
    };
    return cmocka_run_group_tests_name("similar", tests, NULL, NULL);
}
