/* Kernel tables: every table against plain double arithmetic, row and strip remainders
 * bit for bit against single rows, row operations bit for bit across tables, and the
 * error of exp. */
#include <math.h>

#include "engine/eng_dtype.h"
#include "engine/eng_kern.h"
#include "engine/eng_rng.h"
#include "support/test.h"

#define MAX_K      70
#define MAX_PANELS 9

static float a[ENG_ROWS * MAX_K];
static float b[MAX_PANELS * MAX_K * ENG_LANES];
static uint16_t half[MAX_PANELS * MAX_K * ENG_LANES];

static int set_up(void **unused)
{
    eng_rng rng;
    eng_rng_init(&rng, 1, 1);
    for (size_t i = 0; i < TK_ARRAY_LEN(a); i++) {
        a[i] = (float)(eng_rng_unit(&rng) - 0.5);
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(b); i++) {
        half[i] = eng_f32_to_bf16((float)(eng_rng_unit(&rng) - 0.5));
        b[i] = eng_bf16_to_f32(half[i]);
    }
    return 0;
}

/* Runs `check` on every table of this machine. */
static void each_table(void (*check)(const eng_kern *kern))
{
    static const char *const names[] = {"generic", "avx2", "neon"};
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        if (eng_kern_select(names[i])) {
            assert_string_equal(eng_kern_get()->name, names[i]);
            check(eng_kern_get());
        }
    }
    assert_false(eng_kern_select("abacus"));
}

static void check_tile(const eng_kern *kern)
{
    static const size_t lengths[] = {0, 1, 2, 17, MAX_K};
    for (size_t n = 0; n < TK_ARRAY_LEN(lengths); n++) {
        for (size_t rows = 1; rows <= ENG_ROWS; rows++) {
            float c[ENG_ROWS * ENG_LANES];
            for (size_t i = 0; i < TK_ARRAY_LEN(c); i++) {
                c[i] = 0.25f;
            }
            eng_tile t = {.k = lengths[n],
                          .rows = rows,
                          .a = a,
                          .a_row = 1,
                          .a_k = ENG_ROWS,
                          .b = b,
                          .b_k = ENG_LANES,
                          .c = c,
                          .c_row = ENG_LANES,
                          .add = rows % 2 == 0};
            kern->tile(&t);
            for (size_t i = 0; i < rows * ENG_LANES; i++) {
                double want = t.add ? 0.25 : 0, size = 1e-3 + want;
                for (size_t k = 0; k < t.k; k++) {
                    double x = a[k * ENG_ROWS + i / ENG_LANES];
                    double term = x * (double)b[k * ENG_LANES + i % ENG_LANES];
                    want += term;
                    size += fabs(term);
                }
                assert_true(fabs(want - (double)c[i]) <= 1e-6 * size);
            }
            for (size_t i = rows * ENG_LANES; i < TK_ARRAY_LEN(c); i++) {
                assert_true(c[i] == 0.25f); /* rows after it are not touched */
            }
        }
    }
}

static void test_tile_values(void **unused)
{
    each_table(check_tile);
}

/* The chain of an element is the same in a tile of 6, in a tile of 1, in a strip, with
 * bf16 weights, and when the reduction is cut in two. */
static void check_chain(const eng_kern *kern)
{
    float one[ENG_LANES], cut[ENG_LANES];
    for (size_t rows = 1; rows <= ENG_ROWS; rows++) {
        for (size_t panels = 1; panels <= MAX_PANELS; panels++) {
            float c[ENG_ROWS][MAX_PANELS * ENG_LANES],
                c16[ENG_ROWS][MAX_PANELS * ENG_LANES];
            eng_strip s = {.k = MAX_K,
                           .rows = rows,
                           .panels = panels,
                           .a = a,
                           .a_row = MAX_K,
                           .b = b,
                           .b_panel = MAX_K,
                           .c = c[0],
                           .c_row = MAX_PANELS * ENG_LANES};
            kern->strip(&s);
            s.b = half;
            s.c = c16[0];
            kern->strip_bf16(&s);
            for (size_t i = 0; i < rows * panels; i++) {
                size_t r = i / panels, p = i % panels;
                eng_tile t = {.k = MAX_K,
                              .rows = 1,
                              .a = a + r * MAX_K,
                              .a_row = MAX_K,
                              .a_k = 1,
                              .b = b + p * MAX_K * ENG_LANES,
                              .b_k = ENG_LANES,
                              .c = one,
                              .c_row = ENG_LANES};
                kern->tile(&t);
                t.c = cut;
                t.k = 31;
                kern->tile(&t);
                t.a += 31;
                t.b += (size_t)31 * ENG_LANES;
                t.k = MAX_K - 31;
                t.add = true;
                kern->tile(&t);
                assert_memory_equal(one, cut, sizeof(one));
                assert_memory_equal(one, c[r] + p * ENG_LANES, sizeof(one));
                assert_memory_equal(one, c16[r] + p * ENG_LANES, sizeof(one));
            }
        }
    }
}

static void test_chain_is_one(void **unused)
{
    each_table(check_chain);
}

static void check_rows_same(const eng_kern *kern)
{
    const eng_kern *plain = eng_kern_generic();
    for (size_t n = 1; n <= 67; n++) {
        float x[67], y[67], up[67], d[67], d2[67];
        memcpy(x, a, sizeof(x));
        memcpy(y, a, sizeof(y));
        float max = kern->max(x, n);
        assert_true(max == plain->max(x, n));
        float s1 = kern->exp_sum(x, n, max), s2 = plain->exp_sum(y, n, max);
        assert_memory_equal(&s1, &s2, sizeof(s1));
        assert_memory_equal(x, y, sizeof(x));
        s1 = kern->dot(a, b, n);
        s2 = plain->dot(a, b, n);
        assert_memory_equal(&s1, &s2, sizeof(s1));
        kern->silu_mul(x, a, b, n);
        plain->silu_mul(y, a, b, n);
        assert_memory_equal(x, y, n * sizeof(*x));
        memcpy(d, b, sizeof(d));
        memcpy(d2, b, sizeof(d2));
        kern->silu_mul_back(d, up, a, b, n);
        plain->silu_mul_back(d2, y, a, b, n);
        assert_memory_equal(d, d2, n * sizeof(*d));
        assert_memory_equal(up, y, n * sizeof(*up));
        kern->widen(x, half, n);
        assert_memory_equal(x, b, n * sizeof(*x));
    }
}

static void test_row_operations_agree(void **unused)
{
    each_table(check_rows_same);
}

/* A row's sum does not change when zeros follow: that is how tiles pad. */
static void check_sum_order(const eng_kern *kern)
{
    for (size_t n = 1; n <= 50; n++) {
        float x[64] = {0};
        memcpy(x, a, n * sizeof(*x));
        float exact = kern->dot(x, b, n), padded = kern->dot(x, b, 64);
        assert_memory_equal(&exact, &padded, sizeof(exact));
    }
}

static void test_sums_ignore_padding(void **unused)
{
    each_table(check_sum_order);
}

static void check_exp(const eng_kern *kern)
{
    double worst = 0;
    for (double x = -87.3; x < 88.3; x += 0.00317) {
        float value = (float)x;
        double want = exp((double)value);
        (void)kern->exp_sum(&value, 1, 0);
        worst = fmax(worst, fabs((double)value - want) / want);
    }
    assert_true(worst < 1.5e-7);
    float special[] = {-200, -INFINITY, 100, NAN, 0, -0.0f};
    (void)kern->exp_sum(special, TK_ARRAY_LEN(special), 0);
    assert_true(special[0] == 0 && special[1] == 0 && special[2] == INFINITY);
    assert_true(special[3] != special[3] && special[4] == 1 && special[5] == 1);
}

static void test_exp_error(void **unused)
{
    each_table(check_exp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tile_values),
        cmocka_unit_test(test_chain_is_one),
        cmocka_unit_test(test_row_operations_agree),
        cmocka_unit_test(test_sums_ignore_padding),
        cmocka_unit_test(test_exp_error),
    };
    return cmocka_run_group_tests_name("eng_kern", tests, set_up, NULL);
}
