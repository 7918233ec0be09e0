/* AdamW against golden numbers, clipping, and its place in an adapter's life. Links the
 * double build, so that the goldens can be compared to all their digits. */
#include "engine/eng_optim.h"

#include <math.h>

#include "base/mem.h"
#include "engine/eng_lora.h"
#include "engine/support/tiny.h"
#include "support/test.h"

static void near_to(double have, double want, double bar)
{
    if (!(fabs(have - want) <= bar)) {
        fail_msg("%.15g, wanted %.15g", have, want);
    }
}

static void test_adamw_goldens(void **unused)
{
    static const double grads[3][3] = {{0.1, -2, 0}, {0, 1, 3}, {0, 0, 0}};
    static const double want[3][3] = {{0.4895, 0.01, -0.999},
                                      {0.482224022532, 0.012673694481, -1.005350600023},
                                      {0.476428001632, 0.014762347641, -1.010099970018}};
    eng_adam adam = ENG_ADAM_INIT;
    adam.learning_rate = 0.01;
    adam.weight_decay = 0.1;
    double p[3] = {0.5, 0, -1}, m[3] = {0}, v[3] = {0};
    tk_err err = TK_ERR_INIT;
    eng_pool *pool;
    assert_int_equal(eng_pool_new(&pool, 2, &err), TINKC_OK);
    for (size_t t = 0; t < 3; t++) {
        eng_adamw step = {.adam = &adam,
                          .step = t + 1,
                          .grad_scale = 1,
                          .p = p,
                          .m = m,
                          .v = v,
                          .g = grads[t],
                          .n = 3};
        eng_adamw_run(pool, &step);
        for (size_t i = 0; i < 3; i++) {
            near_to(p[i], want[t][i], 1e-11);
        }
    }
    eng_pool_free(pool);
}

/* A large eps shows where it is added: after the root, after its correction. */
static void test_eps_outside_the_root(void **unused)
{
    eng_adam adam = ENG_ADAM_INIT;
    adam.learning_rate = 1;
    adam.eps = 0.5;
    double p = 0, m = 0.2, v = 0.09, g = 0.4;
    tk_err err = TK_ERR_INIT;
    eng_pool *pool;
    assert_int_equal(eng_pool_new(&pool, 1, &err), TINKC_OK);
    eng_adamw step = {.adam = &adam,
                      .step = 3,
                      .grad_scale = 0.5,
                      .p = &p,
                      .m = &m,
                      .v = &v,
                      .g = &g,
                      .n = 1};
    eng_adamw_run(pool, &step);
    double m1 = 0.9 * 0.2 + 0.1 * 0.2, v1 = 0.95 * 0.09 + 0.05 * 0.04;
    double m_hat = m1 / (1 - pow(0.9, 3)), v_hat = v1 / (1 - pow(0.95, 3));
    near_to(p, -m_hat / (sqrt(v_hat) + 0.5), 1e-14);
    eng_pool_free(pool);
}

static void test_clip(void **unused)
{
    near_to(eng_optim_clip(5, 0), 1, 0);
    near_to(eng_optim_clip(5, 10), 1, 0);
    near_to(eng_optim_clip(5, 5), 1, 0);
    near_to(eng_optim_clip(5, 1), 0.2, 1e-16);
    near_to(eng_optim_clip(0, 1), 1, 0);
}

typedef struct scene {
    tiny_files files;
    eng_pool *pool;
    eng_model *model;
    eng_adapter *one, *two;
} scene;

static void scene_init(scene *s)
{
    tk_err err = TK_ERR_INIT;
    eng_lora_config config = ENG_LORA_CONFIG_INIT;
    config.rank = 2;
    tiny_files_init(&s->files, &tiny_llama);
    assert_int_equal(eng_pool_new(&s->pool, 1, &err), TINKC_OK);
    s->model = tiny_open(s->pool, &s->files);
    assert_int_equal(eng_adapter_new(&s->one, s->model, &config, &err), TINKC_OK);
    assert_int_equal(eng_adapter_new(&s->two, s->model, &config, &err), TINKC_OK);
}

static void scene_dispose(scene *s)
{
    eng_adapter_free(s->one);
    eng_adapter_free(s->two);
    eng_model_free(s->model);
    eng_pool_free(s->pool);
    tiny_files_dispose(&s->files);
}

/* Gradients are consumed; steps are counted per adapter; a step without gradients moves
 * by momentum and reports norm 0; A of a fresh adapter does not move without gradient. */
static void test_adapter_steps(void **unused)
{
    scene s;
    scene_init(&s);
    tk_err err = TK_ERR_INIT;
    eng_adam adam = ENG_ADAM_INIT;
    size_t n = s.one->n, b = s.one->modules[0].b_at;
    double norm = -1, a0 = s.one->weights[0];
    s.one->grads[b] = 3;
    s.one->grads[n - 1] = -4;
    adam.grad_clip_norm = 1;
    assert_int_equal(eng_adapter_optim_step(s.one, &adam, &norm, &err), TINKC_OK);
    near_to(norm, 5, 1e-12);
    near_to(s.one->weights[b], -1e-4, 1e-12); /* lr times sign of the gradient */
    near_to(s.one->moment1[b], 0.1 * 3 / 5, 1e-12);
    near_to(s.one->weights[0], a0, 0);
    near_to(s.one->grads[b], 0, 0);
    assert_int_equal(eng_adapter_steps(s.one), 1);
    assert_int_equal(eng_adapter_steps(s.two), 0);
    assert_int_equal(eng_adapter_optim_step(s.one, &adam, &norm, &err), TINKC_OK);
    near_to(norm, 0, 0);
    assert_true(s.one->weights[b] < -1.2e-4);
    assert_int_equal(eng_adapter_steps(s.one), 2);
    near_to(s.two->weights[b], 0, 0);
    scene_dispose(&s);
}

static void test_parameters_checked(void **unused)
{
    scene s;
    scene_init(&s);
    const struct {
        size_t offset;
        double value;
        const char *name;
    } bad[] = {
        {offsetof(eng_adam, learning_rate), -1, "learning_rate"},
        {offsetof(eng_adam, learning_rate), NAN, "learning_rate"},
        {offsetof(eng_adam, beta1), 1, "beta1"},
        {offsetof(eng_adam, beta2), -0.1, "beta2"},
        {offsetof(eng_adam, eps), INFINITY, "eps"},
        {offsetof(eng_adam, eps), 0, "eps"},
        {offsetof(eng_adam, weight_decay), NAN, "weight_decay"},
        {offsetof(eng_adam, grad_clip_norm), -1, "grad_clip_norm"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        eng_adam adam = ENG_ADAM_INIT;
        tk_err err = TK_ERR_INIT;
        double norm = 7;
        memcpy((char *)&adam + bad[i].offset, &bad[i].value, sizeof(double));
        assert_int_equal(eng_adapter_optim_step(s.one, &adam, &norm, &err),
                         TINKC_E_INVALID);
        assert_non_null(strstr(err.message, bad[i].name));
        assert_int_equal(eng_adapter_steps(s.one), 0);
        near_to(norm, 7, 0);
    }
    scene_dispose(&s);
}

/* A step whose result would not be finite is refused as a whole, and the gradients are
 * kept. */
static void test_absurd_steps(void **unused)
{
    scene s;
    scene_init(&s);
    size_t n = s.one->n, b = s.one->modules[0].b_at, bytes = n * sizeof(eng_real);
    eng_real *before = tk_array(n, sizeof(eng_real));
    assert_non_null(before);
    memcpy(before, s.one->weights, bytes);
    const struct {
        double gradient, rate, eps, clip;
        tinkc_code code;
    } rows[] = {
        {1, 1e30, 1e-12, 0, TINKC_E_INVALID},    {1, 1e300, 1e-300, 0, TINKC_E_INVALID},
        {1e19, 1e-4, 1e-12, 0, TINKC_E_INVALID}, {1e19, 1e-4, 1e-12, 1, TINKC_OK},
        {0, 1e30, 1e-12, 0, TINKC_OK},    /* nothing moves */
        {1, 1e-4, 1e-300, 0, TINKC_OK},   /* eps does not matter beside the root */
        {1e-3, 1e10, 1e-12, 0, TINKC_OK}, /* absurd, but finite */
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        eng_adam adam = ENG_ADAM_INIT;
        tk_err err = TK_ERR_INIT;
        double norm = 7;
        uint64_t steps = eng_adapter_steps(s.one);
        adam.learning_rate = rows[i].rate;
        adam.eps = rows[i].eps;
        adam.grad_clip_norm = rows[i].clip;
        memcpy(s.one->weights, before, bytes);
        memset(s.one->moment1, 0, bytes);
        memset(s.one->moment2, 0, bytes);
        s.one->grads[b] = rows[i].gradient;
        assert_int_equal(eng_adapter_optim_step(s.one, &adam, &norm, &err), rows[i].code);
        if (rows[i].code == TINKC_OK) {
            assert_int_equal(eng_adapter_steps(s.one), steps + 1);
            near_to(s.one->grads[b], 0, 0);
            continue;
        }
        assert_non_null(strstr(err.message, "learning_rate"));
        assert_int_equal(eng_adapter_steps(s.one), steps);
        assert_memory_equal(s.one->weights, before, bytes);
        near_to(s.one->grads[b], rows[i].gradient, 0);
        near_to(s.one->moment1[b], 0, 0);
        near_to(s.one->moment2[b], 0, 0);
        near_to(norm, 7, 0);
    }
    tk_free(before);
    scene_dispose(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adamw_goldens),
        cmocka_unit_test(test_eps_outside_the_root),
        cmocka_unit_test(test_clip),
        cmocka_unit_test(test_adapter_steps),
        cmocka_unit_test(test_parameters_checked),
        cmocka_unit_test(test_absurd_steps),
    };
    return cmocka_run_group_tests_name("eng_optim", tests, NULL, NULL);
}
