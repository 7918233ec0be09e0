/* Adapters: initial values, which linears they have, and frozen copies. */
#include "engine/support/training.h"

/* A fresh adapter changes nothing: two seeds, one loss; A differs, B is zero. */
static void test_fresh_adapters(void **unused)
{
    scene s;
    scene_init(&s);
    eng_array inputs[] = {ints("target_tokens", targets, N),
                          floats("weights", weights, N)};
    eng_lora_config config = ENG_LORA_CONFIG_INIT;
    eng_adapter *one = NULL, *two = NULL, *same = NULL;
    tk_err err = TK_ERR_INIT;
    config.seed = 1;
    assert_int_equal(eng_adapter_new(&one, s.model, &config, &err), TINKC_OK);
    assert_int_equal(eng_adapter_new(&same, s.model, &config, &err), TINKC_OK);
    config.seed = 2;
    assert_int_equal(eng_adapter_new(&two, s.model, &config, &err), TINKC_OK);
    assert_memory_equal(one->weights, same->weights, one->n * sizeof(float));
    assert_memory_not_equal(one->weights, two->weights, one->n * sizeof(float));
    double bound = 1.0 / sqrt((double)one->modules[0].in);
    for (size_t i = 0; i < config.rank * one->modules[0].in; i++) {
        assert_true(fabs((double)one->weights[i]) <= bound);
    }
    eng_datum datum = {tokens, N, inputs, 2};
    eng_train_request request = {
        .loss_fn = TK_STR("cross_entropy"), .data = &datum, .n_data = 1};
    eng_result *r1 = NULL, *r2 = NULL;
    assert_int_equal(eng_adapter_forward_backward(&r1, one, &request, &err), TINKC_OK);
    assert_int_equal(eng_adapter_forward_backward(&r2, two, &request, &err), TINKC_OK);
    assert_memory_equal(r1->outputs[0].logprobs, r2->outputs[0].logprobs,
                        N * sizeof(float));
    for (size_t i = 0; i < one->n_modules; i++) { /* B = 0: no gradient for A */
        const eng_lora *m = &one->modules[i];
        for (size_t j = 0; j < config.rank * m->in; j++) {
            assert_true(one->grads[m->a_at + j] == 0);
        }
    }
    eng_result_free(r1);
    eng_result_free(r2);
    eng_adapter_free(one);
    eng_adapter_free(two);
    eng_adapter_free(same);
    scene_dispose(&s);
}

/* Parameters per rank as the table of modules says, and impossible configurations. */
static void test_lora_modules(void **unused)
{
    scene s;
    scene_init(&s);
    const tiny_spec *t = &tiny_llama;
    size_t h = t->hidden, q = t->heads * t->head_dim, kv = t->kv_heads * t->head_dim;
    size_t attn = t->layers * ((h + q) + 2 * (h + kv) + (q + h));
    size_t mlp = t->layers * 3 * (h + t->intermediate), head = h + t->vocabulary;
    for (unsigned flags = 0; flags < 8; flags++) {
        eng_lora_config config = {.rank = 3,
                                  .alpha = 32,
                                  .train_attn = (flags & 1) != 0,
                                  .train_mlp = (flags & 2) != 0,
                                  .train_unembed = (flags & 4) != 0};
        eng_adapter *a = NULL;
        tk_err err = TK_ERR_INIT;
        tinkc_code code = eng_adapter_new(&a, s.model, &config, &err);
        if (flags == 0) {
            assert_int_equal(code, TINKC_E_INVALID);
            assert_non_null(strstr(err.message, "At least one of train_unembed"));
            continue;
        }
        assert_int_equal(code, TINKC_OK);
        size_t want =
            (flags & 1 ? attn : 0) + (flags & 2 ? mlp : 0) + (flags & 4 ? head : 0);
        assert_int_equal(eng_adapter_parameters(a), 3 * want);
        eng_array inputs[] = {ints("target_tokens", targets, N)};
        eng_datum datum = {tokens, N, inputs, 1};
        eng_train_request request = {
            .loss_fn = TK_STR("cross_entropy"), .data = &datum, .n_data = 1};
        eng_result *r = NULL;
        assert_int_equal(eng_adapter_forward_backward(&r, a, &request, &err), TINKC_OK);
        eng_result_free(r);
        eng_adapter_free(a);
    }
    eng_adapter *a = NULL;
    tk_err err = TK_ERR_INIT;
    eng_lora_config config = ENG_LORA_CONFIG_INIT;
    config.rank = 0;
    assert_int_equal(eng_adapter_new(&a, s.model, &config, &err), TINKC_E_INVALID);
    assert_string_equal(err.message, "lora_config.rank must be positive");
    scene_dispose(&s);
}

/* A snapshot keeps the numbers of its moment while training goes on, and cannot be
 * trained itself. It outlives the adapter; the last owner frees it. */
static void test_snapshot(void **unused)
{
    scene s;
    scene_init(&s);
    eng_array inputs[] = {ints("target_tokens", targets, N),
                          floats("weights", weights, N)};
    eng_datum datum = {tokens, N, inputs, 2};
    eng_train_request request = {
        .loss_fn = TK_STR("cross_entropy"), .data = &datum, .n_data = 1};
    eng_adam adam = ENG_ADAM_INIT;
    eng_adapter *frozen = NULL;
    eng_result *r = NULL;
    tk_err err = TK_ERR_INIT;
    double norm;
    assert_int_equal(eng_adapter_snapshot(&frozen, s.adapter, &err), TINKC_OK);
    assert_true(frozen->frozen && !s.adapter->frozen);
    r = must_run(&s, "cross_entropy", inputs, 2);
    double before = metric(r, "loss:sum");
    eng_result_free(r);
    assert_int_equal(eng_adapter_optim_step(s.adapter, &adam, &norm, &err), TINKC_OK);
    assert_int_equal(eng_adapter_forward_backward(&r, frozen, &request, &err),
                     TINKC_E_INVALID);
    err = (tk_err)TK_ERR_INIT;
    assert_int_equal(eng_adapter_optim_step(frozen, &adam, &norm, &err), TINKC_E_INVALID);
    err = (tk_err)TK_ERR_INIT;
    request.forward_only = true;
    assert_ptr_equal(eng_adapter_retain(frozen), frozen);
    eng_adapter_free(frozen);
    eng_adapter_free(s.adapter);
    s.adapter = NULL;
    assert_int_equal(eng_adapter_forward_backward(&r, frozen, &request, &err), TINKC_OK);
    assert_true(about(metric(r, "loss:sum"), before, 0));
    eng_result_free(r);
    eng_adapter_free(frozen);
    scene_dispose(&s);
}

/* What could only be sampled from in vain is not copied. */
static void test_snapshot_of_nan(void **unused)
{
    scene s;
    scene_init(&s);
    eng_adapter *frozen = NULL;
    tk_err err = TK_ERR_INIT;
    s.adapter->weights[s.adapter->n - 1] = NAN;
    assert_int_equal(eng_adapter_snapshot(&frozen, s.adapter, &err), TINKC_E_INVALID);
    assert_non_null(strstr(err.message, "the weights are NaN or infinite"));
    assert_null(frozen);
    scene_dispose(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fresh_adapters),
        cmocka_unit_test(test_lora_modules),
        cmocka_unit_test(test_snapshot),
        cmocka_unit_test(test_snapshot_of_nan),
    };
    return cmocka_run_group_tests_name("eng_lora", tests, NULL, NULL);
}
