/* Stop strings: what the automaton finds, against a plain search over the whole text, for
 * random strings, texts and cuts; what is refused. */
#include "engine/eng_stops.h"

#include "base/mem.h"
#include "base/rand.h"
#include "support/failmem.h"
#include "support/test.h"

#define STRINGS 12
#define LENGTH  6
#define TEXT    60

/* The oracle: the number of pieces after which some string is in the text; 0 = never. */
static size_t naive(const tk_str *strings, size_t n, const char *text, const size_t *cuts,
                    size_t n_cuts)
{
    for (size_t c = 0; c < n_cuts; c++) {
        for (size_t i = 0; i < n; i++) {
            for (size_t at = 0; at + strings[i].n <= cuts[c]; at++) {
                if (memcmp(text + at, strings[i].p, strings[i].n) == 0) {
                    return c + 1;
                }
            }
        }
    }
    return 0;
}

static size_t found_after(const eng_stops *stops, const char *text, const size_t *cuts,
                          size_t n_cuts)
{
    eng_stops_state state = 0;
    size_t at = 0;
    for (size_t c = 0; c < n_cuts; at = cuts[c++]) {
        if (eng_stops_find(stops, &state, (tk_str){text + at, cuts[c] - at})) {
            return c + 1;
        }
    }
    return 0;
}

/* Few letters, so that strings share beginnings, contain each other and repeat. High
 * bytes are among them. */
static void test_finds_what_a_plain_search_finds(void **unused)
{
    static const char letters[] = "ab\xff";
    tk_rand rand;
    tk_rand_init(&rand, 15);
    size_t hits = 0, misses = 0;
    for (int round = 0; round < 20000; round++) {
        char bytes[STRINGS][LENGTH], text[TEXT];
        tk_str strings[STRINGS];
        size_t cuts[TEXT], n_cuts = 0, at = 0;
        size_t kinds = 2 + (size_t)tk_rand_below(&rand, 2);
        size_t n = 1 + (size_t)tk_rand_below(&rand, STRINGS);
        size_t shortest = 1 + (size_t)tk_rand_below(&rand, LENGTH);
        for (size_t i = 0; i < n; i++) {
            strings[i] = (tk_str){
                bytes[i], shortest + (size_t)tk_rand_below(&rand, LENGTH - shortest + 1)};
            for (size_t k = 0; k < LENGTH; k++) {
                bytes[i][k] = letters[tk_rand_below(&rand, kinds)];
            }
        }
        for (size_t k = 0; k < TEXT; k++) {
            text[k] = letters[tk_rand_below(&rand, kinds)];
        }
        while (at < TEXT) { /* empty pieces, too */
            size_t piece = (size_t)tk_rand_below(&rand, 8);
            at = TK_MIN(at + piece, (size_t)TEXT);
            cuts[n_cuts < TEXT - 1 ? n_cuts++ : n_cuts - 1] = at;
        }
        eng_stops stops;
        assert_true(eng_stops_init(&stops, strings, n));
        size_t want = naive(strings, n, text, cuts, n_cuts);
        assert_int_equal(found_after(&stops, text, cuts, n_cuts), want);
        hits += want > 0;
        misses += want == 0;
        eng_stops_dispose(&stops);
    }
    assert_true(hits > 2000 && misses > 2000); /* both were tried */
}

/* Beginnings of one string in another, at the ends of pieces. */
static void test_continues_a_shorter_beginning(void **unused)
{
    static const struct {
        const char *strings[3];
        const char *text;
        size_t end; /* bytes after which it is found; 0 = never */
    } table[] = {
        {{"abcd", "bce", NULL}, "abce", 4},   {{"aab", NULL}, "aaaab", 5},
        {{"abab", NULL}, "abaabab", 7},       {{"a", "aa", NULL}, "ba", 2},
        {{"xabc", "ab", NULL}, "xab", 3},     {{"abc", NULL}, "ababab", 0},
        {{"he", "hers", "his"}, "ushers", 4}, {{"\n\n", NULL}, "a\n \n\nb", 5},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(table); i++) {
        tk_str strings[3];
        size_t n = 0, end = 0;
        while (n < 3 && table[i].strings[n] != NULL) {
            strings[n] = tk_str_of(table[i].strings[n]);
            n++;
        }
        eng_stops stops;
        eng_stops_state state = 0;
        assert_true(eng_stops_init(&stops, strings, n));
        for (size_t k = 0; table[i].text[k] != '\0' && end == 0; k++) {
            end = eng_stops_find(&stops, &state, (tk_str){table[i].text + k, 1}) ? k + 1
                                                                                 : 0;
        }
        assert_int_equal(end, table[i].end);
        eng_stops_dispose(&stops);
    }
}

/* The most that is accepted, and one more of each. */
static void test_limits(void **unused)
{
    static char bytes[TK_STOPS_BYTES + 1];
    static tk_str many[TK_STOPS_MAX + 1];
    tk_err err = TK_ERR_INIT;
    memset(bytes, 'x', sizeof(bytes));
    for (size_t i = 0; i < TK_ARRAY_LEN(many); i++) {
        many[i] = (tk_str){bytes, TK_STOPS_BYTES / TK_STOPS_MAX};
    }
    assert_int_equal(eng_stops_check(many, TK_STOPS_MAX, &err), TINKC_OK);
    eng_stops stops;
    assert_true(eng_stops_init(&stops, many, TK_STOPS_MAX));
    eng_stops_dispose(&stops);
    assert_int_equal(eng_stops_check(many, TK_STOPS_MAX + 1, &err), TINKC_E_INVALID);
    assert_string_equal(err.message, "1025 stop strings; at most 1024 are possible");
    tk_err_clear(&err);
    tk_str one = {bytes, TK_STOPS_BYTES};
    assert_int_equal(eng_stops_check(&one, 1, &err), TINKC_OK);
    assert_true(eng_stops_init(&stops, &one, 1));
    eng_stops_state state = 0;
    assert_false(eng_stops_find(&stops, &state, (tk_str){bytes, TK_STOPS_BYTES - 1}));
    assert_true(eng_stops_find(&stops, &state, (tk_str){bytes, 1}));
    eng_stops_dispose(&stops);
    one.n++;
    assert_int_equal(eng_stops_check(&one, 1, &err), TINKC_E_INVALID);
    assert_string_equal(err.message,
                        "stop strings must have at most 16384 bytes together");
    tk_err_clear(&err);
    tk_str two[] = {TK_STR("a"), TK_STR("")};
    assert_int_equal(eng_stops_check(two, 2, &err), TINKC_E_INVALID);
    assert_string_equal(err.message, "stop string 1 is empty");
}

static bool build(void *user)
{
    const tk_str strings[] = {TK_STR("one"), TK_STR("two")};
    eng_stops stops;
    bool ok = eng_stops_init(&stops, strings, 2);
    eng_stops_dispose(&stops);
    return ok;
}

static void test_out_of_memory(void **unused)
{
    assert_int_equal(failmem_sweep(build, NULL, 1), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_what_a_plain_search_finds),
        cmocka_unit_test(test_continues_a_shorter_beginning),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests_name("eng_stops", tests, NULL, NULL);
}
