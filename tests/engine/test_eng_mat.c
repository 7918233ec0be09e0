/* Packed matrices: the three products against double arithmetic, bits of a row whatever
 * the other rows and the threads, packing and unpacking. */
#include <math.h>

#include "base/mem.h"
#include "engine/eng_mat.h"
#include "engine/eng_rng.h"
#include "support/matfix.h"
#include "support/test.h"

#define ROWS 110 /* more than one group of rows */
#define N    37
#define K    29

typedef struct scene {
    eng_pool *pool;
    eng_mat w;
    float rows[N * K]; /* the same, row by row */
    float x[ROWS * K], y[ROWS * N], bias[N];
} scene;

static void fill(float *out, size_t n, uint64_t stream)
{
    eng_rng rng;
    eng_rng_init(&rng, 4, stream);
    for (size_t i = 0; i < n; i++) {
        out[i] = eng_bf16_to_f32(eng_f32_to_bf16((float)eng_rng_unit(&rng) - 0.5f));
    }
}

static const eng_format formats[] = {ENG_FORMAT_REAL, ENG_FORMAT_BF16, ENG_FORMAT_INT8};
#define N_FORMATS TK_ARRAY_LEN(formats)

/* Packs [n][k] as it is in the format; int8 rounds it, and the rows become what it holds.
 */
static eng_mat pack(float *rows, size_t n, size_t k, eng_format format)
{
    size_t bytes, panels = (n + ENG_LANES - 1) / ENG_LANES;
    assert_true(eng_mat_bytes(&bytes, n, k, format));
    eng_mat w = {tk_malloc(bytes), n, k, format};
    assert_non_null(w.panels);
    if (format == ENG_FORMAT_BF16) {
        uint16_t *half = tk_array(n * k, sizeof(*half));
        assert_non_null(half);
        for (size_t i = 0; i < n * k; i++) {
            half[i] = eng_f32_to_bf16(rows[i]);
        }
        eng_mat_pack_panels(&w, half, ENG_BF16, 0, panels);
        tk_free(half);
    } else {
        eng_mat_pack_panels(&w, rows, ENG_F32, 0, panels);
    }
    if (format == ENG_FORMAT_INT8) {
        matfix_unpack(&w, rows);
    }
    return w;
}

static scene *scene_new(unsigned threads, eng_format format)
{
    static scene s;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(eng_pool_new(&s.pool, threads, &err), TINKC_OK);
    fill(s.rows, N * K, 1);
    fill(s.x, ROWS * K, 2);
    fill(s.y, ROWS * N, 3);
    fill(s.bias, N, 4);
    s.w = pack(s.rows, N, K, format);
    return &s;
}

static void scene_free(scene *s)
{
    tk_free(s->w.panels);
    eng_pool_free(s->pool);
}

static void near_to(double want, double have)
{
    if (!(fabs(want - have) <= 1e-5)) {
        fail_msg("%.9g, wanted %.9g", have, want);
    }
}

static double product(const scene *s, size_t row, size_t n)
{
    double sum = 0;
    for (size_t k = 0; k < K; k++) {
        sum += (double)s->x[row * K + k] * (double)s->rows[n * K + k];
    }
    return sum;
}

/* All forms of the forward product, for every number of rows up to 14 and for many. */
static void check_forward(scene *s)
{
    static float whole[ROWS * N], out[ROWS * N];
    eng_mul m = {.w = &s->w, .x = s->x, .ldx = K, .rows = ROWS, .y = whole, .ldy = N};
    assert_int_equal(eng_mul_run(s->pool, &m, NULL), TINKC_OK);
    for (size_t i = 0; i < ROWS * N; i++) {
        near_to(product(s, i / N, i % N), (double)whole[i]);
    }
    m.y = out;
    for (m.rows = 0; m.rows <= 14; m.rows++) {
        assert_int_equal(eng_mul_run(s->pool, &m, NULL), TINKC_OK);
        assert_memory_equal(out, whole, m.rows * N * sizeof(float));
    }
    m.rows = 9;
    m.bias = s->bias;
    assert_int_equal(eng_mul_run(s->pool, &m, NULL), TINKC_OK);
    near_to(product(s, 8, N - 1) + (double)s->bias[N - 1], (double)out[9 * N - 1]);
    m.add = true;
    m.scale = 2;
    assert_int_equal(eng_mul_run(s->pool, &m, NULL), TINKC_OK);
    near_to(3 * product(s, 8, N - 1) + 2 * (double)s->bias[N - 1],
            (double)out[9 * N - 1]);
    m.bias = NULL;
    m.scale = -3;
    assert_int_equal(eng_mul_run(s->pool, &m, NULL), TINKC_OK);
    near_to(2 * (double)s->bias[N - 1], (double)out[9 * N - 1]);
}

static void check_back(scene *s)
{
    static float whole[ROWS * K], out[ROWS * K];
    eng_mul m = {.w = &s->w, .x = s->y, .ldx = N, .rows = ROWS, .y = whole, .ldy = K};
    assert_int_equal(eng_mul_back_run(s->pool, &m, NULL), TINKC_OK);
    for (size_t i = 0; i < ROWS * K; i++) {
        double sum = 0;
        for (size_t n = 0; n < N; n++) {
            sum += (double)s->y[i / K * N + n] * (double)s->rows[n * K + i % K];
        }
        near_to(sum, (double)whole[i]);
    }
    m.y = out;
    for (m.rows = 0; m.rows <= 14; m.rows++) {
        assert_int_equal(eng_mul_back_run(s->pool, &m, NULL), TINKC_OK);
        assert_memory_equal(out, whole, m.rows * K * sizeof(float));
    }
}

/* c grows by a left fold over rows: cutting the rows changes nothing. Both orientations
 * of the result hold the same bits. */
static void check_outer(scene *s)
{
    static float whole[N * K], cut[N * K], turned[N * K];
    fill(whole, N * K, 5);
    memcpy(cut, whole, sizeof(cut));
    for (size_t i = 0; i < N * K; i++) {
        turned[i % K * N + i / K] = whole[i];
    }
    eng_outer o = {.a = s->y,
                   .na = N,
                   .lda = N,
                   .b = s->x,
                   .nb = K,
                   .ldb = K,
                   .rows = ROWS,
                   .c = whole,
                   .c_a = K,
                   .c_b = 1};
    double want = (double)whole[N * K - 1];
    assert_int_equal(eng_outer_run(s->pool, &o, NULL), TINKC_OK);
    for (size_t r = 0; r < ROWS; r++) {
        want += (double)s->y[r * N + N - 1] * (double)s->x[r * K + K - 1];
    }
    near_to(want, (double)whole[N * K - 1]);
    o.c = turned;
    o.c_a = 1;
    o.c_b = N;
    assert_int_equal(eng_outer_run(s->pool, &o, NULL), TINKC_OK);
    static const size_t cuts[] = {0, 1, 1, 40, 107, ROWS};
    for (size_t i = 0; i + 1 < TK_ARRAY_LEN(cuts); i++) {
        o.a = s->y + cuts[i] * N;
        o.b = s->x + cuts[i] * K;
        o.rows = cuts[i + 1] - cuts[i];
        o.c = cut;
        o.c_a = K;
        o.c_b = 1;
        assert_int_equal(eng_outer_run(s->pool, &o, NULL), TINKC_OK);
    }
    assert_memory_equal(whole, cut, sizeof(whole));
    for (size_t i = 0; i < N * K; i++) {
        assert_memory_equal(&whole[i], &turned[i % K * N + i / K], sizeof(float));
    }
}

static void test_products(void **unused)
{
    static const unsigned threads[] = {1, 2, 7};
    const char *name;
    for (size_t table = 0; (name = eng_kern_name(table)) != NULL; table++) {
        for (size_t i = 0; i < TK_ARRAY_LEN(threads) * N_FORMATS; i++) {
            assert_true(eng_kern_select(name));
            scene *s = scene_new(threads[i / N_FORMATS], formats[i % N_FORMATS]);
            check_forward(s);
            check_back(s);
            check_outer(s);
            scene_free(s);
        }
    }
}

/* More outputs than are transposed at a time: the chain over them is not broken. */
static void test_back_over_many_outputs(void **unused)
{
    enum { MANY = 1100, INPUTS = 5, ROWS_HERE = 8 };
    static float rows[MANY * INPUTS], y[ROWS_HERE * MANY], out[ROWS_HERE * INPUTS];
    eng_pool *pool = NULL;
    size_t bytes;
    assert_int_equal(eng_pool_new(&pool, 2, NULL), TINKC_OK);
    assert_true(eng_mat_bytes(&bytes, MANY, INPUTS, ENG_FORMAT_REAL));
    eng_mat w = {tk_malloc(bytes), MANY, INPUTS, ENG_FORMAT_REAL};
    fill(rows, MANY * INPUTS, 1);
    fill(y, ROWS_HERE * MANY, 2);
    eng_mat_pack_reals(&w, rows);
    eng_mul m = {
        .w = &w, .x = y, .ldx = MANY, .rows = ROWS_HERE, .y = out, .ldy = INPUTS};
    assert_int_equal(eng_mul_back_run(pool, &m, NULL), TINKC_OK);
    for (size_t i = 0; i < ROWS_HERE * INPUTS; i++) {
        double sum = 0;
        for (size_t n = 0; n < MANY; n++) {
            sum +=
                (double)y[i / INPUTS * MANY + n] * (double)rows[n * INPUTS + i % INPUTS];
        }
        near_to(sum, (double)out[i]);
    }
    tk_free(w.panels);
    eng_pool_free(pool);
}

enum { BLOCK_ROWS = 190, BLOCK_INPUTS = 600, BLOCK_OUTPUTS = 530 };

/* One table, one format: each row has the bits that it has alone. */
static void check_blocks(eng_pool *pool, const eng_mat *w, const float *x, float *y)
{
    static float one[BLOCK_OUTPUTS];
    eng_mul m = {.w = w,
                 .x = x,
                 .ldx = BLOCK_INPUTS,
                 .rows = BLOCK_ROWS,
                 .y = y,
                 .ldy = BLOCK_OUTPUTS};
    assert_int_equal(eng_mul_run(pool, &m, NULL), TINKC_OK);
    m.rows = 1;
    m.y = one;
    for (size_t row = 0; row < BLOCK_ROWS; row += 63) {
        m.x = x + row * BLOCK_INPUTS;
        assert_int_equal(eng_mul_run(pool, &m, NULL), TINKC_OK);
        assert_memory_equal(one, y + row * BLOCK_OUTPUTS, sizeof(one));
    }
}

/* More inputs, columns and rows than are computed at a time: a row has the bits that it
 * has alone. A narrow format gives the bits of the same weights as eng_real, and all
 * tables but the generic one agree. */
static void test_forward_over_blocks(void **unused)
{
    static float rows[BLOCK_OUTPUTS * BLOCK_INPUTS], x[BLOCK_ROWS * BLOCK_INPUTS];
    static float y[2][BLOCK_ROWS * BLOCK_OUTPUTS], fused[BLOCK_ROWS * BLOCK_OUTPUTS];
    eng_pool *pool = NULL;
    const char *name;
    fill(x, BLOCK_ROWS * BLOCK_INPUTS, 7);
    assert_int_equal(eng_pool_new(&pool, 2, NULL), TINKC_OK);
    for (size_t f = 1; f < N_FORMATS; f++) {
        fill(rows, BLOCK_OUTPUTS * BLOCK_INPUTS, 6);
        eng_mat w[] = {pack(rows, BLOCK_OUTPUTS, BLOCK_INPUTS, formats[f]),
                       pack(rows, BLOCK_OUTPUTS, BLOCK_INPUTS, ENG_FORMAT_REAL)};
        bool have = false;
        for (size_t i = 0; (name = eng_kern_name(i)) != NULL; i++) {
            assert_true(eng_kern_select(name));
            check_blocks(pool, &w[0], x, y[0]);
            check_blocks(pool, &w[1], x, y[1]);
            assert_memory_equal(y[0], y[1], sizeof(y[0]));
            if (strcmp(name, "generic") != 0) {
                if (!have) {
                    memcpy(fused, y[0], sizeof(fused));
                    have = true;
                }
                assert_memory_equal(fused, y[0], sizeof(fused));
            }
        }
        tk_free(w[0].panels);
        tk_free(w[1].panels);
    }
    eng_pool_free(pool);
}

/* The same for the input gradient: units of several pairs of panels with one thread, of one
 * with seven, a narrow last one. */
static void test_back_over_blocks(void **unused)
{
    enum { MANY = 100, INPUTS = 600, OUTPUTS = 530 };
    static float rows[OUTPUTS * INPUTS], d[MANY * OUTPUTS];
    static float out[MANY * INPUTS], one[INPUTS], fused[MANY * INPUTS];
    static const unsigned threads[] = {1, 2, 7};
    const char *name;
    size_t bytes;
    bool have = false;
    fill(rows, OUTPUTS * INPUTS, 6);
    fill(d, MANY * OUTPUTS, 8);
    assert_true(eng_mat_bytes(&bytes, OUTPUTS, INPUTS, ENG_FORMAT_REAL));
    eng_mat w = {tk_malloc(bytes), OUTPUTS, INPUTS, ENG_FORMAT_REAL};
    assert_non_null(w.panels);
    eng_mat_pack_reals(&w, rows);
    for (size_t i = 0; (name = eng_kern_name(i / 3)) != NULL; i++) {
        eng_pool *pool = NULL;
        assert_true(eng_kern_select(name));
        assert_int_equal(eng_pool_new(&pool, threads[i % 3], NULL), TINKC_OK);
        eng_mul m = {
            .w = &w, .x = d, .ldx = OUTPUTS, .rows = MANY, .y = out, .ldy = INPUTS};
        assert_int_equal(eng_mul_back_run(pool, &m, NULL), TINKC_OK);
        for (size_t k = 0; k < INPUTS; k += 7) {
            double sum = 0;
            for (size_t n = 0; n < OUTPUTS; n++) {
                sum += (double)d[99 * OUTPUTS + n] * (double)rows[n * INPUTS + k];
            }
            near_to(sum, (double)out[99 * INPUTS + k]);
        }
        m.rows = 1;
        m.y = one;
        m.x = d + 57 * OUTPUTS;
        assert_int_equal(eng_mul_back_run(pool, &m, NULL), TINKC_OK);
        assert_memory_equal(one, out + 57 * INPUTS, sizeof(one));
        if (strcmp(name, "generic") != 0) {
            if (!have) {
                memcpy(fused, out, sizeof(fused));
                have = true;
            }
            assert_memory_equal(fused, out, sizeof(fused));
        }
        eng_pool_free(pool);
    }
    tk_free(w.panels);
}

/* The input gradient of an int8 matrix has the bits of the same weights as eng_real, in
 * groups of inputs and over more outputs than are transposed at a time. */
static void test_int8_back_equals_reals(void **unused)
{
    enum { MANY = 100, INPUTS = 605, OUTPUTS = 530 };
    static float rows[OUTPUTS * INPUTS], d[MANY * OUTPUTS], out[2][MANY * INPUTS];
    eng_pool *pool = NULL;
    const char *name;
    fill(rows, OUTPUTS * INPUTS, 6);
    fill(d, MANY * OUTPUTS, 8);
    assert_int_equal(eng_pool_new(&pool, 2, NULL), TINKC_OK);
    eng_mat w[] = {pack(rows, OUTPUTS, INPUTS, ENG_FORMAT_INT8),
                   pack(rows, OUTPUTS, INPUTS, ENG_FORMAT_REAL)};
    for (size_t i = 0; (name = eng_kern_name(i)) != NULL; i++) {
        assert_true(eng_kern_select(name));
        for (size_t f = 0; f < 2; f++) {
            eng_mul m = {.w = &w[f],
                         .x = d,
                         .ldx = OUTPUTS,
                         .rows = MANY,
                         .y = out[f],
                         .ldy = INPUTS};
            assert_int_equal(eng_mul_back_run(pool, &m, NULL), TINKC_OK);
        }
        assert_memory_equal(out[0], out[1], sizeof(out[0]));
    }
    tk_free(w[0].panels);
    tk_free(w[1].panels);
    eng_pool_free(pool);
}

static void test_unpack_inverts_pack(void **unused)
{
    for (size_t f = 0; f < N_FORMATS; f++) {
        scene *s = scene_new(1, formats[f]);
        float back[N * K];
        matfix_unpack(&s->w, back);
        assert_memory_equal(back, s->rows, sizeof(back));
        scene_free(s);
    }
    size_t bytes;
    assert_false(eng_mat_bytes(&bytes, SIZE_MAX / 8, 64, ENG_FORMAT_REAL));
    assert_false(eng_mat_bytes(&bytes, SIZE_MAX - 3, 1, ENG_FORMAT_BF16));
    assert_false(eng_mat_bytes(&bytes, SIZE_MAX - 3, 1, ENG_FORMAT_INT8));
    assert_false(eng_mat_bytes(&bytes, 1, SIZE_MAX - 3, ENG_FORMAT_INT8));
    assert_true(eng_mat_bytes(&bytes, 17, 65, ENG_FORMAT_INT8)); /* 2 panels, 2 groups */
    assert_int_equal(bytes, 2 * (65 * 16 + 2 * 32));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_back_over_many_outputs),
        cmocka_unit_test(test_forward_over_blocks),
        cmocka_unit_test(test_back_over_blocks),
        cmocka_unit_test(test_int8_back_equals_reals),
        cmocka_unit_test(test_unpack_inverts_pack),
    };
    return cmocka_run_group_tests_name("eng_mat", tests, NULL, NULL);
}
