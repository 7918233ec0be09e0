/* Dimuon against the plain definition (docs/internals/engine.md): Newton-Schulz on the whole
 * matrix, multiplication by multiplication. Links the double build, so that both can be
 * compared to many digits. */
#include "engine/eng_dimuon.h"

#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "engine/eng_lora.h"
#include "engine/support/tiny.h"
#include "support/failmem.h"
#include "support/test.h"

#define MOST 24 /* of either side */

typedef double matrix[MOST][MOST];

static void multiply(matrix out, matrix a, matrix b, size_t n, size_t inner, size_t m)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < m; j++) {
            double sum = 0;
            for (size_t t = 0; t < inner; t++) {
                sum += a[i][t] * b[t][j];
            }
            out[i][j] = sum;
        }
    }
}

static void transpose(matrix out, matrix a, size_t n, size_t m)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < m; j++) {
            out[j][i] = a[i][j];
        }
    }
}

static double norm_of(matrix a, size_t n, size_t m)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < m; j++) {
            sum += a[i][j] * a[i][j];
        }
    }
    return sqrt(sum);
}

/* The direction of the definition, for n <= m. */
static void direction(matrix x, size_t n, size_t m, double rank)
{
    static matrix t, g, g2, y, z;
    double norm = norm_of(x, n, m);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < m; j++) {
            x[i][j] /= norm;
        }
    }
    for (int step = 0; step < 5; step++) {
        transpose(t, x, n, m);
        multiply(g, x, t, n, m, n);
        multiply(g2, g, g, n, n, n);
        multiply(y, g, x, n, n, m);
        multiply(z, g2, x, n, n, m);
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j < m; j++) {
                x[i][j] = 3.4445 * x[i][j] - 4.7750 * y[i][j] + 2.0315 * z[i][j];
            }
        }
    }
    double scale = sqrt(rank) / norm_of(x, n, m);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < m; j++) {
            x[i][j] *= scale;
        }
    }
}

static double value_at(size_t i)
{
    return sin((double)(i * i % 97) * 0.7 + 0.3) * (1 + (double)(i % 5));
}

static void check_matrix(eng_pool *pool, size_t rows, size_t columns)
{
    static matrix x, t;
    double m[MOST * MOST], w[MOST * MOST], temp[5 * MOST * MOST];
    double rank = (double)TK_MIN(rows, columns);
    bool tall = rows > columns;
    for (size_t i = 0; i < rows * columns; i++) {
        m[i] = value_at(i + rows);
        w[i] = 0.5;
        x[i / columns][i % columns] = m[i];
    }
    transpose(t, x, rows, columns);
    direction(tall ? t : x, TK_MIN(rows, columns), TK_MAX(rows, columns), rank);
    eng_dimuon_matrix job = {eng_dimuon_view_of(rows, columns), m, w, 0.25, rank, temp};
    eng_dimuon_apply(pool, &job);
    double square = 0;
    for (size_t i = 0; i < rows * columns; i++) {
        size_t r = i / columns, c = i % columns;
        double want = 0.5 - 0.25 * (tall ? t[c][r] : x[r][c]);
        if (fabs(w[i] - want) > 1e-11) {
            fail_msg("%zu x %zu, %zu: %.15g, wanted %.15g", rows, columns, i, w[i], want);
        }
        square += (w[i] - 0.5) * (w[i] - 0.5) / (0.25 * 0.25);
    }
    assert_true(fabs(square - rank) < 1e-9); /* a Frobenius norm of sqrt(rank) */
}

static void test_dimuon_matrices(void **unused)
{
    static const size_t shapes[][2] = {{1, 1},  {1, 7}, {7, 1}, {3, 20},
                                       {20, 3}, {8, 8}, {5, 6}, {24, 24}};
    (void)unused;
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        eng_pool *pool = NULL;
        assert_int_equal(eng_pool_new(&pool, threads, NULL), TINKC_OK);
        for (size_t i = 0; i < TK_ARRAY_LEN(shapes); i++) {
            check_matrix(pool, shapes[i][0], shapes[i][1]);
        }
        eng_pool_free(pool);
    }
}

/* Singular values end between 0.6 and 1.3 of each other, whatever they were. */
static void test_dimuon_is_a_sign(void **unused)
{
    double m[2 * 4] = {1, 0, 0, 0, 0, 0.05, 0, 0}, w[2 * 4] = {0}, temp[5 * 4];
    (void)unused;
    eng_pool *pool = NULL;
    assert_int_equal(eng_pool_new(&pool, 1, NULL), TINKC_OK);
    eng_dimuon_matrix job = {eng_dimuon_view_of(2, 4), m, w, 1, 2, temp};
    eng_dimuon_apply(pool, &job);
    assert_true(w[0] < -0.8 && w[0] > -1.2);
    assert_true(w[5] < -0.8 && w[5] > -1.2);
    assert_true(fabs(w[0] * w[0] + w[5] * w[5] - 2) < 1e-9);
    for (size_t i = 0; i < TK_ARRAY_LEN(m); i++) {
        m[i] = w[i] = 0;
    }
    eng_dimuon_apply(pool, &job); /* nothing to go by: nothing moves */
    for (size_t i = 0; i < TK_ARRAY_LEN(w); i++) {
        assert_true(w[i] == 0);
    }
    eng_pool_free(pool);
}

typedef struct scene {
    tiny_files files;
    eng_pool *pool;
    eng_model *model;
    eng_adapter *adapter;
} scene;

static void scene_init(scene *s)
{
    eng_lora_config config = ENG_LORA_CONFIG_INIT;
    config.rank = 2;
    config.optimizer = ENG_DIMUON;
    tiny_files_init(&s->files, &tiny_llama);
    assert_int_equal(eng_pool_new(&s->pool, 1, NULL), TINKC_OK);
    s->model = tiny_open(s->pool, &s->files);
    assert_int_equal(eng_adapter_new(&s->adapter, s->model, &config, NULL), TINKC_OK);
}

static void scene_dispose(scene *s)
{
    eng_adapter_free(s->adapter);
    eng_model_free(s->model);
    eng_pool_free(s->pool);
    tiny_files_dispose(&s->files);
}

/* Clipping, momentum over two steps, gradients that are used up, matrices without gradient
 * that stay. */
static void test_dimuon_adapter(void **unused)
{
    scene s;
    tk_err err = TK_ERR_INIT;
    (void)unused;
    scene_init(&s);
    eng_adapter *a = s.adapter;
    const eng_lora *l = &a->modules[0];
    eng_dimuon step = {.learning_rate = 0.1, .beta1 = 0.5, .grad_clip_norm = 2};
    double norm = 0, a0 = a->weights[l->a_at];
    a->grads[l->b_at] = 3;
    a->grads[l->b_at + 3] = -4;
    assert_int_equal(eng_adapter_dimuon_step(a, &step, &norm, &err), TINKC_OK);
    assert_true(fabs(norm - 5) < 1e-12);
    assert_true(fabs(a->moment1[l->b_at] - 0.5 * 3 * 2 / 5) < 1e-12);
    assert_true(fabs(a->moment1[l->b_at + 3] + 0.5 * 4 * 2 / 5) < 1e-12);
    double first = a->weights[l->b_at];
    double size = 0;
    for (size_t i = 0; i < 2 * l->out; i++) {
        size += a->weights[l->b_at + i] * a->weights[l->b_at + i];
    }
    assert_true(fabs(sqrt(size) - 0.1 * sqrt(2)) < 1e-12);
    assert_true(a->weights[l->a_at] == a0 && a->grads[l->b_at] == 0);
    assert_int_equal(eng_adapter_steps(a), 1);
    assert_int_equal(eng_adapter_dimuon_step(a, &step, &norm, &err), TINKC_OK);
    assert_true(norm == 0);
    assert_true(fabs(a->moment1[l->b_at] - 0.25 * 3 * 2 / 5) < 1e-12);
    assert_true(a->weights[l->b_at] < first); /* moved on by momentum */
    scene_dispose(&s);
}

static void test_dimuon_refusals(void **unused)
{
    scene s;
    (void)unused;
    scene_init(&s);
    const eng_dimuon rows[] = {
        {.learning_rate = -1},
        {.learning_rate = (double)NAN},
        {.learning_rate = 1, .beta1 = 1},
        {.learning_rate = 1, .beta1 = -0.1},
        {.learning_rate = 1, .grad_clip_norm = (double)INFINITY},
        {.learning_rate = 1e18}}; /* the weights would be too large */
    double norm = 0;
    s.adapter->grads[0] = 1;
    double before = s.adapter->weights[0];
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_err err = TK_ERR_INIT;
        assert_int_equal(eng_adapter_dimuon_step(s.adapter, &rows[i], &norm, &err),
                         TINKC_E_INVALID);
        assert_non_null(strstr(err.message, "optimizer_params."));
    }
    assert_true(s.adapter->weights[0] == before && s.adapter->grads[0] == 1);
    assert_int_equal(eng_adapter_steps(s.adapter), 0);
    tk_err err = TK_ERR_INIT;
    eng_adam adam = ENG_ADAM_INIT;
    assert_int_equal(eng_adapter_optim_step(s.adapter, &adam, &norm, &err),
                     TINKC_E_INVALID);
    assert_non_null(strstr(err.message, "optimizer is dimuon"));
    eng_lora_config config = ENG_LORA_CONFIG_INIT;
    config.rank = 2;
    eng_adapter *other = NULL;
    assert_int_equal(eng_adapter_new(&other, s.model, &config, NULL), TINKC_OK);
    const eng_dimuon good = {.learning_rate = 0.1};
    tk_err second = TK_ERR_INIT;
    assert_int_equal(eng_adapter_dimuon_step(other, &good, &norm, &second),
                     TINKC_E_INVALID);
    assert_non_null(strstr(second.message, "optimizer is adamw"));
    eng_adapter_free(other);
    config.optimizer = ENG_DIMUON;
    config.rank = ENG_DIMUON_RANK_MAX + 1;
    assert_int_equal(eng_adapter_new(&other, s.model, &config, NULL), TINKC_E_INVALID);
    scene_dispose(&s);
}

static bool step_scenario(void *user)
{
    scene *s = user;
    tk_err err = TK_ERR_INIT;
    const eng_dimuon step = {.learning_rate = 0.1, .beta1 = 0.9};
    double norm = 0;
    uint64_t before = eng_adapter_steps(s->adapter);
    bool ok = eng_adapter_dimuon_step(s->adapter, &step, &norm, &err) == TINKC_OK;
    assert_true(ok || err.code == TINKC_E_NOMEM);
    assert_int_equal(eng_adapter_steps(s->adapter), before + (ok ? 1 : 0));
    return ok;
}

static void test_dimuon_sweep(void **unused)
{
    scene s;
    (void)unused;
    scene_init(&s);
    assert_true(failmem_sweep(step_scenario, &s, 1) > 0);
    scene_dispose(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dimuon_matrices), cmocka_unit_test(test_dimuon_is_a_sign),
        cmocka_unit_test(test_dimuon_adapter),  cmocka_unit_test(test_dimuon_refusals),
        cmocka_unit_test(test_dimuon_sweep),
    };
    return cmocka_run_group_tests_name("eng_dimuon", tests, NULL, NULL);
}
