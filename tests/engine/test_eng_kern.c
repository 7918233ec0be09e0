/* Kernel tables: every table against plain double arithmetic, tiles of all shapes bit for
 * bit against single rows, SIMD tables bit for bit against their twin in plain C, row
 * operations bit for bit across tables, and the error of exp. */
#include <math.h>
#include <stdio.h>

#include "engine/eng_dtype.h"
#include "engine/eng_kern.h"
#include "engine/eng_rng.h"
#include "support/test.h"

#define MAX_K      70
#define MAX_PANELS 9

static float a[ENG_ROWS * MAX_K];
static float b[MAX_PANELS * MAX_K * ENG_LANES];
static uint16_t half[MAX_PANELS * MAX_K * ENG_LANES];
/* int8 panels, and the same weights as floats */
static char groups[MAX_PANELS * (MAX_K * ENG_LANES + 2 * ENG_SCALE_BYTES)];
static float whole[MAX_PANELS * MAX_K * ENG_LANES];

/* Random weights from -127 to 127 with scales between 1/256 and 1/128. */
static void fill_groups(eng_rng *rng)
{
    size_t panel = eng_int8_bytes(MAX_K);
    assert_int_equal(panel * MAX_PANELS, sizeof(groups));
    for (size_t i = 0; i < TK_ARRAY_LEN(whole); i++) {
        size_t lane = i % ENG_LANES, k = i / ENG_LANES % MAX_K, in = k % ENG_GROUP;
        char *group = groups + i / ENG_LANES / MAX_K * panel + eng_int8_bytes(k - in);
        uint16_t *scale = (uint16_t *)(void *)group + lane;
        if (in == 0) {
            *scale = eng_f32_to_bf16((float)(eng_rng_unit(rng) + 1) / 256);
        }
        int weight = (int)(eng_rng_next(rng) % 255) - 127;
        ((int8_t *)group)[ENG_SCALE_BYTES + in * ENG_LANES + lane] = (int8_t)weight;
        whole[i] = (float)weight * eng_bf16_to_f32(*scale);
    }
}

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
    fill_groups(&rng);
    return 0;
}

/* Runs `check` on every table of this machine. */
static void each_table(void (*check)(const eng_kern *kern))
{
    const char *name;
    for (size_t i = 0; (name = eng_kern_name(i)) != NULL; i++) {
        assert_true(eng_kern_select(name));
        assert_string_equal(eng_kern_get()->name, name);
        check(eng_kern_get());
    }
    assert_false(eng_kern_select("abacus"));
    assert_true(eng_kern_select("auto"));
    assert_string_equal(eng_kern_get()->name, eng_kern_name(0));
}

static void check_tile(const eng_kern *kern)
{
    static const size_t lengths[] = {0, 1, 2, 17, MAX_K};
    for (size_t n = 0; n < TK_ARRAY_LEN(lengths); n++) {
        for (size_t rows = 1; rows <= kern->rows; rows++) {
            float c[ENG_ROWS * ENG_LANES];
            for (size_t i = 0; i < TK_ARRAY_LEN(c); i++) {
                c[i] = 0.25f;
            }
            eng_tile t = {.k = lengths[n],
                          .rows = rows,
                          .panels = 1,
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

#define WIDTH (MAX_PANELS * ENG_LANES)

typedef struct sums {
    float f32[ENG_ROWS * WIDTH], bf16[ENG_ROWS * WIDTH];
    float int8[ENG_ROWS * WIDTH], whole[ENG_ROWS * WIDTH]; /* the same weights */
} sums;

/* All formats of the weights, rows x panels. */
static void run_tiles(sums *out, const eng_kern *kern, size_t rows, size_t panels)
{
    memset(out, 0, sizeof(*out));
    eng_tile t = {.k = MAX_K,
                  .rows = rows,
                  .panels = panels,
                  .a = a,
                  .a_row = MAX_K,
                  .a_k = 1,
                  .b = b,
                  .b_k = ENG_LANES,
                  .b_panel = (size_t)MAX_K * ENG_LANES,
                  .c = out->f32,
                  .c_row = WIDTH};
    kern->tile(&t);
    t.b = half;
    t.c = out->bf16;
    kern->tile_bf16(&t);
    t.b = whole;
    t.c = out->whole;
    kern->tile(&t);
    t.b = groups;
    t.b_panel = eng_int8_bytes(MAX_K);
    t.c = out->int8;
    kern->tile_int8(&t);
}

/* The chain of an element is the same in a tile of any shape, with bf16 weights, and when
 * the reduction is cut in two; int8 weights give that of the same weights as floats. */
static void check_chain(const eng_kern *kern)
{
    static sums s;
    float one[ENG_LANES], cut[ENG_LANES];
    for (size_t rows = 1; rows <= kern->rows; rows++) {
        for (size_t panels = 1; panels <= MAX_PANELS; panels++) {
            run_tiles(&s, kern, rows, panels);
            assert_memory_equal(s.int8, s.whole, sizeof(s.int8));
            for (size_t i = 0; i < rows * panels; i++) {
                size_t r = i / panels, p = i % panels;
                eng_tile t = {.k = MAX_K,
                              .rows = 1,
                              .panels = 1,
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
                t.b = b + (p * MAX_K + 31) * ENG_LANES;
                t.k = MAX_K - 31;
                t.add = true;
                kern->tile(&t);
                size_t at = r * WIDTH + p * ENG_LANES;
                assert_memory_equal(one, cut, sizeof(one));
                assert_memory_equal(one, s.f32 + at, sizeof(one));
                assert_memory_equal(one, s.bf16 + at, sizeof(one));
            }
        }
    }
}

static void test_chain_is_one(void **unused)
{
    each_table(check_chain);
}

/* A SIMD table gives the bits of `fma`, whatever the shape, and touches nothing else. */
static void check_twin(const eng_kern *kern)
{
    static sums s, twin;
    if (kern == eng_kern_generic()) {
        return;
    }
    for (size_t rows = 1; rows <= kern->rows; rows++) {
        for (size_t panels = 1; panels <= MAX_PANELS; panels++) {
            run_tiles(&s, kern, rows, panels);
            run_tiles(&twin, eng_kern_fma(), rows, panels);
            assert_memory_equal(&s, &twin, sizeof(s));
        }
    }
}

static void test_simd_equals_twin(void **unused)
{
    each_table(check_twin);
}

static void check_turn(const eng_kern *kern)
{
    float out[ENG_LANES * ENG_LANES];
    kern->turn(out, b);
    for (size_t i = 0; i < ENG_LANES * ENG_LANES; i++) {
        assert_true(out[i] == b[i % ENG_LANES * ENG_LANES + i / ENG_LANES]);
    }
}

static void test_turn(void **unused)
{
    each_table(check_turn);
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
    float group[ENG_GROUP * ENG_LANES];
    for (size_t n = 1; n <= ENG_GROUP; n++) {
        kern->widen_int8(group, (const int8_t *)groups + ENG_SCALE_BYTES,
                         (const uint16_t *)(const void *)groups, n);
        assert_memory_equal(group, whole, n * ENG_LANES * sizeof(*group));
    }
}

/* Operations of a layer's backward pass and of the optimizer. */
static void check_steps_same(const eng_kern *kern)
{
    const eng_kern *all[] = {kern, eng_kern_generic()};
    for (size_t n = 1; n <= 67; n++) {
        float x[2][6][67];
        for (size_t i = 0; i < 2; i++) {
            float(*v)[67] = x[i];
            for (size_t row = 0; row < 6; row++) {
                memcpy(v[row], a + row * 67, sizeof(*v));
            }
            eng_norm_part part = {a, b, a + 3, 1.25f, n, n % 2 == 0};
            eng_finish f = {n % 3 == 0 ? b : NULL, 0.3f, n % 2 == 0};
            all[i]->norm(v[0], a, b, 0.7f, n);
            all[i]->norm_back(v[1], &part);
            const eng_norm_part stored = {a, b, a + 335, 1.25f, n, false};
            float apart[67];
            all[i]->norm_back(apart, &stored); /* v[5] begins as the same numbers */
            const eng_norm_part in_place = {a, b, v[5], 1.25f, n, false};
            all[i]->norm_back(v[5], &in_place);
            assert_memory_equal(v[5], apart, n * sizeof(*apart));
            all[i]->softmax_back(v[2], v[3], n, (const float[2]){0.9f, 0.1f});
            all[i]->scale(v[3], n, 1.1f);
            all[i]->finish(v[4], b, &f, n);
            for (size_t at = 0; at < n; at++) {
                v[2][at] = fabsf(v[2][at]); /* as a second moment is */
            }
            eng_adam_part adam = {.b1 = 0.9, .b2 = 0.99, .eps = 1e-8, .decay = 0.99};
            adam.rate = 1e-2;
            adam.root = 0.1;
            adam.grad_scale = 0.5;
            adam.n = n;
            adam.p = v[0];
            adam.m = v[1];
            adam.v = v[2];
            adam.g = b;
            all[i]->adam_step(&adam);
            assert_true(all[i]->adam_bound(&adam, 1e18));
            adam.p[n - 1] = 1e30f;
            assert_false(all[i]->adam_bound(&adam, 1e18));
            adam.p[n - 1] = NAN;
            assert_false(all[i]->adam_bound(&adam, 1e18));
        }
        assert_memory_equal(x[0], x[1], sizeof(x[0]));
    }
}

static void test_row_operations_agree(void **unused)
{
    each_table(check_rows_same);
    each_table(check_steps_same);
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
    const char *name;
    printf("kernels:"); /* scripts/test-report.py repeats this line */
    for (size_t i = 0; (name = eng_kern_name(i)) != NULL; i++) {
        printf(" %s", name);
    }
    printf("\n");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tile_values),
        cmocka_unit_test(test_chain_is_one),
        cmocka_unit_test(test_simd_equals_twin),
        cmocka_unit_test(test_turn),
        cmocka_unit_test(test_row_operations_agree),
        cmocka_unit_test(test_sums_ignore_padding),
        cmocka_unit_test(test_exp_error),
    };
    return cmocka_run_group_tests_name("eng_kern", tests, set_up, NULL);
}
