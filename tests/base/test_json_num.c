/* Numbers as text: correct rounding, shortest digits, borders, independence from the
 * locale. libc's strtod and printf in the C locale are the reference. */
#include <fcntl.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json_num.h"
#include "base/json_pow10.h"
#include "support/test.h"

static uint64_t next_random(void)
{
    static uint64_t state = 88172645463325252U;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 2685821657736338717U;
}

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static void check_same(double got, double want, const char *text)
{
    if (memcmp(&got, &want, sizeof(got)) != 0) {
        fail_msg("%s: got %a, want %a", text, got, want);
    }
}

static void check_reads(const char *text)
{
    double got = -1;
    double want = strtod(text, NULL);
    bool ok = tk_str_to_double(tk_str_of(text), &got);
    if (ok != (bool)isfinite(want)) {
        fail_msg("%s: read %d, libc says %a", text, ok, want);
    }
    if (ok) {
        check_same(got, want, text);
    }
}

static const char *const border_texts[] = {
    "0",
    "-0",
    "0.0",
    "-0.0",
    "0e99999",
    "1e-400",
    "-1e-400",
    "1e400",
    "-1e400",
    "1.7976931348623157e308",
    "1.7976931348623158e308",
    "1.7976931348623159e308",
    "179769313486231580793e289",
    "2.2250738585072014e-308",
    "2.2250738585072011e-308",
    "2.2250738585072012e-308",
    "4.9e-324",
    "5e-324",
    "2.4703282292062327e-324",
    "2.4703282292062328e-324",
    "2.47032822920623272088e-324",
    "1e22",
    "1e23",
    "9e22",
    "8.5e22",
    "9007199254740991",
    "9007199254740992",
    "9007199254740993",
    "9007199254740993.0000000000000000001",
    "9007199254740992.9999999999999999999",
    "9007199254740993e0",
    "9007199254740995",
    "900719925474099.3e1",
    "1.00000000000000011102230246251565404236316680908203125",
    "1.00000000000000011102230246251565404236316680908203124",
    "1.00000000000000011102230246251565404236316680908203126",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999",
    "123456789012345678901234567890",
    "0.1",
    "0.2",
    "0.3",
    "123.456e-7",
    "1234567890123456789e-19",
    "0.000000000000000000000000000001",
    "0.00000000000000000000000000000000000000001234567890123456789012345",
    "1e1000000000000000000000",
    "1e-1000000000000000000000",
    "7.2057594037927933e16",
    "7.2057594037927933e+16",
    "2.5E-1",
    "1E+2",
};

static void test_read_borders(void **unused)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(border_texts); i++) {
        check_reads(border_texts[i]);
    }
}

/* A border between two doubles has up to 767 digits; one more decides. */
static void test_read_long_borders(void **unused)
{
    char text[1400];
    for (int step = 0; step < 400; step++) {
        double low = double_of(next_random() % (UINT64_C(0x7FE) << 52));
        double high = nextafter(low, INFINITY);
        long double middle = (long double)low / 2 + (long double)high / 2;
        int n = snprintf(text, sizeof(text), "%.1080Lf", middle);
        if (n >= (int)sizeof(text) - 8) {
            n = snprintf(text, sizeof(text), "%.800Le", middle);
            check_reads(text);
            continue;
        }
        check_reads(text);
        memcpy(text + n, "0001", 5);
        check_reads(text);
    }
}

/* Exactly between two doubles, and just beside it, in up to 19 digits: the product with a
 * rounded reciprocal must not fall on the wrong side. */
static void test_read_halves(void **unused)
{
    char text[64];
    for (int i = 0; i < 3000; i++) {
        uint64_t half = UINT64_C(1) << 53 | next_random() >> 11 | 1;
        uint64_t factor = 1;
        for (int shift = 0; shift <= 2; shift++) {
            for (int beside = -1; beside <= 1; beside++) {
                unsigned long long digits = half * factor + (uint64_t)beside;
                (void)snprintf(text, sizeof(text), "%llue-%d", digits, shift);
                check_reads(text);
                (void)snprintf(text, sizeof(text), "%llue%d", digits, shift);
                check_reads(text);
            }
            factor *= 10;
        }
    }
}

/* The exponent counts although it is beyond any double: the digits make up for it. */
static void test_read_huge_exponents(void **unused)
{
    static char text[30000];
    memset(text, '0', sizeof(text));
    text[1] = '.';
    memcpy(text + 25000, "15e24998", 9);
    check_reads(text);
    double value = 0;
    assert_true(tk_str_to_double(tk_str_of(text), &value));
    assert_true(value == 0.15);
    memset(text, '0', sizeof(text));
    memcpy(text, "25", 2);
    memcpy(text + 25000, "e-24998", 8);
    assert_true(tk_str_to_double(tk_str_of(text), &value));
    assert_true(value == 25.0);
}

static void test_read_random(void **unused)
{
    char text[128];
    for (int i = 0; i < 60000; i++) {
        double value = double_of(next_random());
        if (!isfinite(value)) {
            continue;
        }
        (void)snprintf(text, sizeof(text), "%.*e", (int)(next_random() % 25), value);
        check_reads(text);
    }
    for (int i = 0; i < 60000; i++) {
        unsigned long long digits = next_random() >> (next_random() % 64);
        int exponent = (int)(next_random() % 700) - 350;
        (void)snprintf(text, sizeof(text), "%llue%d", digits, exponent);
        check_reads(text);
        (void)snprintf(text, sizeof(text), "-%llu.%06llu", digits % 1000000,
                       digits >> 44);
        check_reads(text);
    }
}

static void test_double_grammar(void **unused)
{
    static const char *const bad[] = {"",    "-",   "+1",   ".5",  "1.",  "1.e3", "01",
                                      "-01", "00",  "1e",   "1e+", "e5",  "0x10", "inf",
                                      "nan", "1 ",  " 1",   "1,5", "--1", "1.5f", "1e5.5",
                                      "1_0", "-.5", "1..2", "１"};
    double value = 42;
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        if (tk_str_to_double(tk_str_of(bad[i]), &value)) {
            fail_msg("accepted '%s'", bad[i]);
        }
        assert_true(value == 42);
    }
    assert_true(tk_str_to_double(TK_STR("1e9"), &value) && value == 1e9);
    assert_false(tk_str_to_double((tk_str){NULL, 0}, &value));
    tk_str cut = {"1.25garbage", 4};
    assert_true(tk_str_to_double(cut, &value) && value == 1.25);
}

static void test_integers(void **unused)
{
    int64_t i = 7;
    uint64_t u = 7;
    assert_true(tk_str_to_i64(TK_STR("9223372036854775807"), &i) && i == INT64_MAX);
    assert_true(tk_str_to_i64(TK_STR("-9223372036854775808"), &i) && i == INT64_MIN);
    assert_true(tk_str_to_i64(TK_STR("-0"), &i) && i == 0);
    assert_true(tk_str_to_i64(TK_STR("0000000000000000000000012"), &i) && i == 12);
    assert_true(tk_str_to_u64(TK_STR("18446744073709551615"), &u) && u == UINT64_MAX);
    i = 7;
    u = 7;
    static const char *const bad[] = {"",
                                      "-",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "1.0",
                                      "1e3",
                                      "0x1",
                                      "--1",
                                      "12345678a",
                                      "a2345678",
                                      "9223372036854775808",
                                      "-9223372036854775809",
                                      "99999999999999999999999"};
    for (size_t k = 0; k < TK_ARRAY_LEN(bad); k++) {
        if (tk_str_to_i64(tk_str_of(bad[k]), &i)) {
            fail_msg("accepted '%s'", bad[k]);
        }
    }
    assert_false(tk_str_to_u64(TK_STR("18446744073709551616"), &u));
    assert_false(tk_str_to_u64(TK_STR("-0"), &u));
    assert_false(tk_str_to_u64((tk_str){NULL, 0}, &u));
    assert_int_equal(i, 7);
    assert_int_equal(u, 7);
}

static void check_u64(uint64_t value)
{
    char room[TK_JSON_NUM_BYTES];
    char want[32];
    size_t n = tk_json_num_put_u64(room, value);
    int wanted = snprintf(want, sizeof(want), "%llu", (unsigned long long)value);
    if (n != (size_t)wanted || memcmp(room, want, n) != 0) {
        fail_msg("%s came out as %.*s", want, (int)n, room);
    }
    uint64_t back;
    assert_true(tk_str_to_u64((tk_str){room, n}, &back));
    assert_true(back == value);
}

static void test_write_integers(void **unused)
{
    for (uint64_t power = 1; power < UINT64_MAX / 10; power *= 10) {
        check_u64(power - 1);
        check_u64(power);
        check_u64(power + 1);
    }
    for (int i = 0; i < 100000; i++) {
        check_u64(next_random() >> (next_random() % 64));
        check_u64((uint64_t)i * 997);
    }
    check_u64(UINT64_MAX);
    char room[TK_JSON_NUM_BYTES];
    size_t n = tk_json_num_put_i64(room, INT64_MIN);
    assert_int_equal(n, 20);
    assert_memory_equal(room, "-9223372036854775808", 20);
}

/* The text reads back to the same bits, and one digit less would not. */
static void check_shortest(double value, bool as_float)
{
    char room[TK_JSON_NUM_BYTES + 1];
    size_t n = as_float ? tk_json_num_put_float(room, (float)value)
                        : tk_json_num_put_double(room, value);
    assert_true(n <= 25);
    room[n] = '\0';
    double back;
    assert_true(tk_str_to_double((tk_str){room, n}, &back));
    check_same(strtod(room, NULL), back, room);
    check_same(as_float ? (double)strtof(room, NULL) : back, value, room);
    check_same(as_float ? (double)(float)back : back, value, room);
    int digits = 0;
    int trailing = 0;
    for (const char *p = room; *p != '\0' && *p != 'e'; p++) {
        if (*p >= '0' && *p <= '9' && (digits > 0 || *p != '0')) {
            digits++;
            trailing = *p == '0' ? trailing + 1 : 0;
        }
    }
    digits -= trailing;
    if (digits > 1) {
        char shorter[64];
        (void)snprintf(shorter, sizeof(shorter), "%.*e", digits - 2, value);
        double less = as_float ? (double)strtof(shorter, NULL) : strtod(shorter, NULL);
        if (less == value) {
            fail_msg("%s has a shorter form: %s", room, shorter);
        }
        (void)snprintf(shorter, sizeof(shorter), "%.*e", digits - 1, value);
        double near = as_float ? (double)strtof(shorter, NULL) : strtod(shorter, NULL);
        if (near == value) {
            check_same(strtod(shorter, NULL), back, "closest of its length");
        }
    }
}

static void test_write_doubles(void **unused)
{
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1.0, "1.0"},
        {-1.5, "-1.5"},
        {0.1, "0.1"},
        {1e15, "1000000000000000.0"},
        {1e16, "1e+16"},
        {9007199254740993.0, "9007199254740992.0"},
        {12345678901234567.0, "1.2345678901234568e+16"},
        {1e22, "1e+22"},
        {1e23, "1e+23"},
        {9.5e-5, "9.5e-05"},
        {0.0001, "0.0001"},
        {0.00012345, "0.00012345"},
        {1e100, "1e+100"},
        {1e-100, "1e-100"},
        {5e-324, "5e-324"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {DBL_MIN, "2.2250738585072014e-308"},
        {2.0 / 3, "0.6666666666666666"},
        {-0.4392918348312378, "-0.4392918348312378"},
        {100.25, "100.25"},
        {4294967296.5, "4294967296.5"},
        {9007199254740991.0, "9007199254740991.0"},
        {9007199254740994.0, "9007199254740994.0"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        char room[TK_JSON_NUM_BYTES + 1];
        size_t n = tk_json_num_put_double(room, rows[i].value);
        room[n] = '\0';
        assert_string_equal(room, rows[i].text);
    }
}

static void test_write_doubles_shortest(void **unused)
{
    for (int i = 0; i < 60000; i++) {
        double value = double_of(next_random());
        if (isfinite(value)) {
            check_shortest(value, false);
        }
        check_shortest((double)(next_random() >> 40) / 1000, false);
    }
    for (uint64_t exponent = 0; exponent < 0x7FF; exponent++) {
        check_shortest(double_of(exponent << 52), false);
        check_shortest(double_of((exponent << 52) + 1), false);
        check_shortest(double_of(((exponent + 1) << 52) - 1), false);
    }
}

static void test_write_floats_shortest(void **unused)
{
    char room[TK_JSON_NUM_BYTES + 1];
    size_t n = tk_json_num_put_float(room, 0.1F);
    room[n] = '\0';
    assert_string_equal(room, "0.1");
    room[tk_json_num_put_float(room, FLT_MAX)] = '\0';
    assert_string_equal(room, "3.4028235e+38");
    room[tk_json_num_put_float(room, 1e-45F)] = '\0';
    assert_string_equal(room, "1e-45");
    room[tk_json_num_put_float(room, -16777216.0F)] = '\0';
    assert_string_equal(room, "-16777216.0");
    /* The shortest, 7.038531e-26, read as a double is the border to the neighbour. */
    room[tk_json_num_put_float(room, 0x1.5c87fap-84F)] = '\0';
    assert_true((float)strtod(room, NULL) == 0x1.5c87fap-84F);
    assert_true(strtof(room, NULL) == 0x1.5c87fap-84F);
    for (int i = 0; i < 60000; i++) {
        float value = float_of((uint32_t)next_random());
        if (isfinite(value)) {
            check_shortest((double)value, true);
        }
    }
    for (uint32_t exponent = 0; exponent < 0xFF; exponent++) {
        check_shortest((double)float_of(exponent << 23), true);
        check_shortest((double)float_of((exponent << 23) + 1), true);
        check_shortest((double)float_of(((exponent + 1) << 23) - 1), true);
    }
}

/* Each entry times ten gives the next one, but for the last bits that were cut off. */
static void test_pow10_table(void **unused)
{
    for (int e = TK_JSON_POW10_MIN; e < TK_JSON_POW10_MAX; e++) {
        tk_json_pow10 a = tk_json_pow10_table[e - TK_JSON_POW10_MIN];
        tk_json_pow10 b = tk_json_pow10_table[e + 1 - TK_JSON_POW10_MIN];
        unsigned __int128 low = (unsigned __int128)a.lo * 10;
        unsigned __int128 high = (unsigned __int128)a.hi * 10 + (uint64_t)(low >> 64);
        unsigned shift = high >> 67 != 0 ? 4 : 3;
        unsigned __int128 next = (high << (64 - shift)) | ((uint64_t)low >> shift);
        unsigned __int128 want = (unsigned __int128)b.hi << 64 | b.lo;
        assert_true(a.hi >> 63 == 1);
        /* A tenth, cut off, times ten stays below one and has a bit less. */
        assert_true(e == -1 || want - next <= 2);
    }
    assert_true(tk_json_pow10_table[-TK_JSON_POW10_MIN].hi == UINT64_C(1) << 63);
    assert_true(tk_json_pow10_table[-TK_JSON_POW10_MIN].lo == 0);
}

/* A locale with a decimal comma in `directory`/comma, whatever this machine has
 * installed: glibc's LC_NUMERIC file is a header, six offsets and six values. */
static void make_comma_locale(const char *directory)
{
    static const uint32_t head[8] = {0x20031115 ^ LC_NUMERIC, 6, 32, 34, 36, 40, 44, 48};
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/comma", directory);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof(path), "%s/comma/LC_NUMERIC", directory);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    uint32_t wide[2] = {',', '.'};
    assert_int_equal(fwrite(head, sizeof(head), 1, file), 1);
    assert_int_equal(fwrite(",\0.\0\3\3\0", 8, 1, file), 1);
    assert_int_equal(fwrite(wide, sizeof(wide), 1, file), 1);
    assert_int_equal(fwrite("UTF-8", 6, 1, file), 1);
    assert_int_equal(fclose(file), 0);
}

static void remove_comma_locale(const char *directory)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/comma/LC_NUMERIC", directory);
    assert_int_equal(unlink(path), 0);
    (void)snprintf(path, sizeof(path), "%s/comma", directory);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(directory), 0);
}

static void check_numbers_in_any_locale(void)
{
    char room[TK_JSON_NUM_BYTES + 1];
    double value = 0;
    /* The second needs way 3, libc's strtod. */
    assert_true(tk_str_to_double(TK_STR("1234.5"), &value) && value == 1234.5);
    assert_true(tk_str_to_double(
        TK_STR("1.00000000000000011102230246251565404236316680908203125"), &value));
    assert_true(value == 1.0);
    assert_false(tk_str_to_double(TK_STR("1,5"), &value));
    room[tk_json_num_put_double(room, 1234.5)] = '\0';
    assert_string_equal(room, "1234.5");
    room[tk_json_num_put_float(room, 0.25F)] = '\0';
    assert_string_equal(room, "0.25");
}

static void test_locale(void **unused)
{
    check_numbers_in_any_locale();
    const char *parent = getenv("TMPDIR");
    char directory[200];
    (void)snprintf(directory, sizeof(directory), "%s/tinkc-locale-XXXXXX",
                   parent != NULL ? parent : P_tmpdir);
    assert_non_null(mkdtemp(directory));
    make_comma_locale(directory);
    assert_int_equal(setenv("LOCPATH", directory, 1), 0);
    const char *set = setlocale(LC_NUMERIC, "comma");
    remove_comma_locale(directory);
    assert_non_null(set);
    assert_true(strtod("1,5", NULL) == 1.5); /* the locale is in force */
    check_numbers_in_any_locale();
    assert_non_null(setlocale(LC_NUMERIC, "C"));
    assert_int_equal(unsetenv("LOCPATH"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_borders),
        cmocka_unit_test(test_read_long_borders),
        cmocka_unit_test(test_read_halves),
        cmocka_unit_test(test_read_huge_exponents),
        cmocka_unit_test(test_read_random),
        cmocka_unit_test(test_double_grammar),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_write_integers),
        cmocka_unit_test(test_write_doubles),
        cmocka_unit_test(test_write_doubles_shortest),
        cmocka_unit_test(test_write_floats_shortest),
        cmocka_unit_test(test_pow10_table),
        cmocka_unit_test(test_locale),
    };
    return cmocka_run_group_tests_name("json_num", tests, NULL, NULL);
}
