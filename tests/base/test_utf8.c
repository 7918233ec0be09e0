/* UTF-8: every border of Unicode table 3-7, all code points both ways, cutting. */
#include "base/mem.h"
#include "base/utf8.h"
#include "support/test.h"

static void test_utf8_all_code_points_round_trip(void **unused)
{
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        char bytes[4];
        size_t n = tk_utf8_encode(bytes, c);
        if (c >= 0xD800 && c <= 0xDFFF) {
            assert_int_equal(n, 0);
            continue;
        }
        uint32_t back = 0;
        if (n == 0 || tk_utf8_decode(&back, bytes, n) != n || back != c ||
            tk_utf8_len(bytes, n - 1) != 0) {
            fail_msg("U+%04X", (unsigned)c);
        }
    }
    char bytes[4];
    assert_int_equal(tk_utf8_encode(bytes, 0x110000), 0);
}

/* All two-byte and three-byte strings against the definition by code point: a string is
 * one character exactly when encoding some code point gives it. */
static void test_utf8_no_other_string_is_a_character(void **unused)
{
    size_t two = 0;
    size_t three = 0;
    for (unsigned v = 0; v < 0x1000000; v++) {
        char bytes[3] = {(char)(v >> 16), (char)(v >> 8), (char)v};
        three += tk_utf8_len(bytes, 3) == 3;
        two += (v & 0xFF) == 0 && tk_utf8_len(bytes, 2) == 2;
    }
    assert_int_equal(two, 0x800 - 0x80);
    assert_int_equal(three, 0x10000 - 0x800 - 0x800);
}

static void test_utf8_refusals(void **unused)
{
    static const char *const bad[] = {
        "\x80",
        "\xBF",
        "\xC0\x80",
        "\xC1\xBF",
        "\xC2",
        "\xC2\x41",
        "\xE0\x9F\xBF",
        "\xE1\x80",
        "\xED\xA0\x80",
        "\xED\xBF\xBF",
        "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80",
        "\xFE",
        "\xFF",
        "\xF1\x80\x80\x41",
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        char text[32] = "0123456789ab";
        memcpy(text + 12, bad[i], strlen(bad[i]) + 1);
        assert_int_equal(tk_utf8_len(bad[i], strlen(bad[i])), 0);
        assert_int_equal(tk_utf8_valid_prefix(text, strlen(text)), 12);
        assert_false(tk_utf8_is_valid(tk_str_of(text)));
    }
    uint32_t untouched = 7;
    assert_int_equal(tk_utf8_decode(&untouched, "\xFF", 1), 0);
    assert_int_equal(tk_utf8_decode(&untouched, NULL, 0), 0);
    assert_int_equal(untouched, 7);
}

/* An invalid byte is found at every offset of a long run, read from an exact-size heap
 * block so that a sanitizer sees a read past the end. */
static void test_utf8_long_runs(void **unused)
{
    for (size_t n = 2; n < 40; n++) {
        char *text = tk_malloc(n);
        assert_non_null(text);
        memset(text, 'a', n);
        memcpy(text, "\xC3\xA9", 2);
        assert_int_equal(tk_utf8_valid_prefix(text, n), n);
        memset(text, 'a', 2);
        assert_int_equal(tk_utf8_valid_prefix(text, n), n);
        for (size_t i = 0; i < n; i++) {
            text[i] = (char)0xFF;
            assert_int_equal(tk_utf8_valid_prefix(text, n), i);
            text[i] = 'a';
        }
        tk_free(text);
    }
    assert_true(tk_utf8_is_valid(tk_str_of(NULL)));
    assert_true(tk_utf8_is_valid(TK_STR("a\0b")));
}

static void test_utf8_count(void **unused)
{
    assert_int_equal(tk_utf8_count(TK_STR("")), 0);
    assert_int_equal(tk_utf8_count(TK_STR("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80")), 4);
    assert_int_equal(tk_utf8_count(TK_STR("\xFF\xE2\x82")), 3);
}

static void test_utf8_cut(void **unused)
{
    tk_str text = TK_STR("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
    static const size_t expected[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
    for (size_t max = 0; max < TK_ARRAY_LEN(expected); max++) {
        assert_int_equal(tk_utf8_cut(text, max).n, expected[max]);
    }
    assert_int_equal(tk_utf8_whole("\x80\x80\x80\x80\x80", 5), 5); /* no lead in reach */
    assert_int_equal(tk_utf8_whole("a\xFF", 2), 2);
    assert_int_equal(tk_utf8_whole(NULL, 0), 0);
    assert_int_equal(tk_utf8_whole("\xE2", 1), 0);
    assert_int_equal(tk_utf8_cut(TK_STR("a\xE2"), 2).n, 2); /* nothing was cut */
}

static void test_utf8_scrub(void **unused)
{
    char text[] = "a\nb\x1b[0m \xC2\x9B"
                  "1m \xC3\xA9 \xED\xA0\x80 \xE2\x82";
    tk_utf8_scrub(text, sizeof(text) - 1);
    assert_string_equal(text, "a b [0m   1m \xC3\xA9 ??? ??");
}

/* Separators of lines, overrides and isolates of direction; what is beside them stays. */
static void test_utf8_scrub_direction(void **unused)
{
    char text[] = "\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xae\xe2\x80\xaf"
                  "\xe2\x81\xa5\xe2\x81\xa6\xe2\x81\xa9\xe2\x81\xaa";
    tk_utf8_scrub(text, sizeof(text) - 1);
    assert_string_equal(text, "\xe2\x80\xa7      \xe2\x80\xaf"
                              "\xe2\x81\xa5      \xe2\x81\xaa");
    assert_true(tk_utf8_is_control(0x202A) && !tk_utf8_is_control(0x200F));
}

static void test_utf8_scrub_borders(void **unused)
{
    char text[] = "\x1F!\x20!\x7E!\x7F!\xC2\x80!\xC2\x9F!\xC2\xA0!";
    tk_utf8_scrub(text, sizeof(text) - 1);
    assert_string_equal(text, " ! !~! !  !  !\xC2\xA0!");
}

/* A character that is cut short by the end of its memory: nothing after it is read. */
static void test_utf8_cut_by_the_end_of_memory(void **unused)
{
    static const char whole[] = "a\xF0\x9F\x98\x80";
    for (size_t n = 2; n < 5; n++) {
        char *text = tk_memdup(whole, n);
        assert_non_null(text);
        tk_str view = {text, n};
        assert_int_equal(tk_utf8_valid_prefix(text, n), 1);
        assert_int_equal(tk_utf8_count(view), n);
        assert_int_equal(tk_utf8_whole(text, n), 1);
        tk_utf8_scrub(text, n);
        assert_memory_equal(text, "a???", n);
        tk_free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8_all_code_points_round_trip),
        cmocka_unit_test(test_utf8_no_other_string_is_a_character),
        cmocka_unit_test(test_utf8_refusals),
        cmocka_unit_test(test_utf8_long_runs),
        cmocka_unit_test(test_utf8_count),
        cmocka_unit_test(test_utf8_cut),
        cmocka_unit_test(test_utf8_scrub),
        cmocka_unit_test(test_utf8_scrub_direction),
        cmocka_unit_test(test_utf8_scrub_borders),
        cmocka_unit_test(test_utf8_cut_by_the_end_of_memory),
    };
    return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
