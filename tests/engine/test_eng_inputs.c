/* What forward_backward refuses, and that it names the datum and the field. */
#include "engine/support/training.h"

typedef struct refusal {
    const char *loss;
    eng_array inputs[4];
    size_t n_inputs;
    const char *says, *path;
    bool strict;
} refusal;

static void check_refusal(scene *s, const refusal *want)
{
    bool weighted = strcmp(want->loss, "cross_entropy") == 0;
    eng_array good[] = {ints("target_tokens", targets, N),
                        weighted ? floats("weights", weights, N)
                                 : floats("logprobs", reference, N),
                        floats("advantages", advantages, N)};
    eng_datum data[] = {{tokens, N, good, weighted ? 2 : 3},
                        {tokens, N, want->inputs, want->n_inputs}};
    eng_train_request request = {.loss_fn = tk_str_of(want->loss),
                                 .data = data,
                                 .n_data = 2,
                                 .strict = want->strict};
    tk_err err = TK_ERR_INIT;
    eng_result *r = NULL;
    tinkc_code code = eng_adapter_forward_backward(&r, s->adapter, &request, &err);
    if (code != TINKC_E_INVALID || strstr(err.message, want->says) == NULL ||
        strcmp(err.path, want->path) != 0) {
        fail_msg("%s: %s at %s (%d)", want->says, err.message, err.path, (int)code);
    }
    assert_null(r);
    assert_false(s->adapter->has_grads);
}

static void test_bad_inputs_are_named(void **unused)
{
    scene s;
    scene_init(&s);
    static const int64_t outside[N] = {1, 2, 37, 0, 0}, negative[N] = {1, 2, -1, 0, 0};
    static const float bad[N] = {0, 1, NAN, 0, 0}, infinite[N] = {INFINITY};
    const refusal table[] = {
        {"cross_entropy",
         {floats("weights", weights, N)},
         1,
         "missing",
         "data[1].loss_fn_inputs.target_tokens",
         false},
        {"cross_entropy",
         {ints("target_tokens", targets, N - 1)},
         1,
         "4 x 1",
         "data[1].loss_fn_inputs.target_tokens",
         false},
        {"cross_entropy",
         {ints("target_tokens", outside, N)},
         1,
         "37, outside the vocabulary of 37",
         "data[1].loss_fn_inputs.target_tokens",
         false},
        {"cross_entropy",
         {ints("target_tokens", negative, N)},
         1,
         "-1, outside",
         "data[1].loss_fn_inputs.target_tokens",
         false},
        {"cross_entropy",
         {floats("target_tokens", weights, N)},
         1,
         "int64",
         "data[1].loss_fn_inputs.target_tokens",
         false},
        {"cross_entropy",
         {ints("target_tokens", targets, N), floats("weights", bad, N)},
         2,
         "value 2 is NaN",
         "data[1].loss_fn_inputs.weights",
         false},
        {"cross_entropy",
         {ints("target_tokens", targets, N), floats("weights", weights, 3)},
         2,
         "3 x 1",
         "data[1].loss_fn_inputs.weights",
         false},
        {"cross_entropy",
         {ints("target_tokens", targets, N)},
         1,
         "missing",
         "data[1].loss_fn_inputs.weights",
         true},
        {"cross_entropy",
         {ints("target_tokens", targets, N), floats("weights", weights, N),
          floats("mask", weights, N)},
         3,
         "Could not convert loss function inputs to array record",
         "data[1].loss_fn_inputs.mask",
         false},
        {"ppo",
         {ints("target_tokens", targets, N), floats("logprobs", reference, N)},
         2,
         "missing",
         "data[1].loss_fn_inputs.advantages",
         false},
        {"dro",
         {ints("target_tokens", targets, N), floats("logprobs", infinite, N),
          floats("advantages", advantages, N)},
         3,
         "value 0 is NaN or infinite",
         "data[1].loss_fn_inputs.logprobs",
         false},
        /* exp(l - q) of a sentinel with a real advantage */
        {"importance_sampling",
         {ints("target_tokens", targets, N), floats("logprobs", reference, N),
          floats("advantages", (const float[]){1, 1, 1, 1, 1}, N)},
         3,
         "datum 1, token 4: the loss is not finite",
         "data[1]",
         false},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(table); i++) {
        check_refusal(&s, &table[i]);
    }
    scene_dispose(&s);
}

/* An input under a wrong name was meant to change the loss: it is never left out. The
 * text lists what the loss takes. */
static void test_unknown_inputs_are_refused(void **unused)
{
    scene s;
    scene_init(&s);
    const refusal table[] = {
        {"cross_entropy",
         {ints("target_tokens", targets, N), floats("weight", weights, N)},
         2,
         "Could not convert loss function inputs to array record: cross_entropy "
         "does not take this input; it takes target_tokens weights",
         "data[1].loss_fn_inputs.weight",
         false},
        {"importance_sampling",
         {ints("target_tokens", targets, N), floats("logprobs", reference, N),
          floats("advantages", advantages, N), floats("clip_low_threshold", zeros, N)},
         4,
         "it takes target_tokens logprobs advantages",
         "data[1].loss_fn_inputs.clip_low_threshold",
         false},
        {"ppo",
         {ints("target_tokens", targets, N), floats("logprobs", reference, N),
          floats("advantages", advantages, N), floats("weights", weights, N)},
         4,
         "it takes target_tokens logprobs advantages clip_low_threshold "
         "clip_high_threshold",
         "data[1].loss_fn_inputs.weights",
         false},
        {"cross_entropy",
         {ints("target_tokens", targets, N), floats("weights", weights, N),
          floats("", weights, N)},
         3,
         "does not take this input",
         "data[1].loss_fn_inputs",
         false},
        {"cross_entropy",
         {ints("target_tokens", targets, N), floats("weights", weights, N),
          floats("weights", zeros, N)},
         3,
         "is there twice",
         "data[1].loss_fn_inputs.weights",
         false},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(table); i++) {
        check_refusal(&s, &table[i]);
    }
    scene_dispose(&s);
}

static eng_array csr(eng_array values, const int64_t *rows, const int64_t *columns)
{
    static const int64_t shape[] = {N, 2};
    values.shape = shape;
    values.n_dims = 2;
    values.rows = rows;
    values.n_rows = N + 1;
    values.columns = columns;
    values.n_columns = values.n_values;
    return values;
}

/* Cells that sparse targets leave out are token 0: without weights they would be trained,
 * in each mode. Dense targets without weights weigh 1 unless the mode is strict. */
static void test_sparse_targets_need_weights(void **unused)
{
    scene s;
    scene_init(&s);
    static const int64_t rows[] = {0, 1, 2, 3, 4, 5}, columns[] = {0, 1, 0, 1, 0};
    for (int i = 0; i < 2; i++) {
        refusal want = {.loss = "cross_entropy",
                        .inputs = {csr(ints("target_tokens", targets, N), rows, columns)},
                        .n_inputs = 1,
                        .says = "is missing; sparse target_tokens need it",
                        .path = "data[1].loss_fn_inputs.weights",
                        .strict = i == 1};
        check_refusal(&s, &want);
    }
    eng_array both[] = {csr(ints("target_tokens", targets, N), rows, columns),
                        csr(floats("weights", weights, N), rows, columns)};
    eng_result_free(must_run(&s, "cross_entropy", both, 2));
    scene_dispose(&s);
}

/* A cell that is there twice has no one value; out of order is not CSR either. */
static void test_doubled_columns_are_refused(void **unused)
{
    scene s;
    scene_init(&s);
    static const int64_t rows[] = {0, 2, 2, 3, 4, 5}, same[] = {1, 1, 0, 1, 0};
    static const int64_t back[] = {1, 0, 0, 1, 0}, good[] = {0, 1, 0, 1, 0};
    for (int i = 0; i < 4; i++) {
        const int64_t *columns = i % 2 == 0 ? same : back;
        refusal want = {
            .loss = "cross_entropy",
            .inputs = {csr(ints("target_tokens", targets, N), rows,
                           i < 2 ? columns : good),
                       csr(floats("weights", weights, N), rows, i < 2 ? good : columns)},
            .n_inputs = 2,
            .says = "CSR column indices of a row must increase",
            .path = i < 2 ? "data[1].loss_fn_inputs.target_tokens"
                          : "data[1].loss_fn_inputs.weights"};
        check_refusal(&s, &want);
    }
    scene_dispose(&s);
}

static void test_bad_shapes_are_named(void **unused)
{
    scene s;
    scene_init(&s);
    static const int64_t shapes[][2] = {{N, 2}, {-1, 1}, {N, 0}, {N, INT64_MAX}, {2, N}};
    for (size_t i = 0; i < TK_ARRAY_LEN(shapes); i++) {
        refusal want = {.loss = "cross_entropy",
                        .inputs = {ints("target_tokens", targets, N)},
                        .n_inputs = 1,
                        .says = "",
                        .path = "data[1].loss_fn_inputs.target_tokens"};
        want.inputs[0].shape = shapes[i];
        want.inputs[0].n_dims = 2;
        check_refusal(&s, &want);
    }
    static const int64_t good[] = {N, 2}, huge[] = {N, 1 << 30};
    static const int64_t rows[][N + 1] = {
        {0, 1, 2, 3, 4, 4}, {1, 1, 2, 3, 4, 5}, {0, 3, 2, 3, 4, 5}, {0, 9, 2, 3, 4, 5}};
    static const int64_t columns[] = {0, 1, 0, 1, 0}, far[] = {0, 2, 0, 1, 0};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows) + 2; i++) {
        refusal want = {.loss = "cross_entropy",
                        .inputs = {ints("target_tokens", targets, N)},
                        .n_inputs = 1,
                        .says = "CSR",
                        .path = "data[1].loss_fn_inputs.target_tokens"};
        eng_array *a = &want.inputs[0];
        a->shape = good;
        a->n_dims = 2;
        a->rows = i < 4 ? rows[i] : (const int64_t[]){0, 1, 2, 3, 4, 5};
        a->n_rows = i == 5 ? N : N + 1;
        a->columns = i == 4 ? far : columns;
        a->n_columns = N;
        want.says = i == 5 ? "shape" : "CSR";
        check_refusal(&s, &want);
    }
    /* A CSR shape may not be a memory bomb. */
    eng_array bomb = ints("target_tokens", targets, 0);
    bomb.shape = huge;
    bomb.n_dims = 2;
    bomb.rows = (const int64_t[N + 1]){0};
    bomb.n_rows = N + 1;
    bomb.columns = columns;
    eng_result *r = NULL;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(run(&s, "cross_entropy", &bomb, 1, &r, &err), TINKC_E_LIMIT);
    scene_dispose(&s);
}

/* Values that a float does not hold, in several tokens: the first one is named, once,
 * also when nothing is trained. */
static void test_overflow_is_named(void **unused)
{
    scene s;
    scene_init(&s);
    static const float far[N] = {-3, -200, -200, -200, -200}, ones[N] = {1, 1, 1, 1, 1};
    eng_array inputs[] = {ints("target_tokens", targets, N), floats("logprobs", far, N),
                          floats("advantages", ones, N)};
    eng_datum data[] = {{tokens, N, inputs, 3}, {tokens, N, inputs, 3}};
    eng_train_request request = {
        .loss_fn = TK_STR("importance_sampling"), .data = data, .n_data = 2};
    for (int i = 0; i < 2; i++) {
        tk_err err = TK_ERR_INIT;
        eng_result *r = NULL;
        request.forward_only = i == 1;
        assert_int_equal(eng_adapter_forward_backward(&r, s.adapter, &request, &err),
                         TINKC_E_INVALID);
        assert_string_equal(err.message, "datum 0, token 1: the loss is not finite");
        assert_string_equal(err.path, "data[0]");
        assert_null(r);
    }
    scene_dispose(&s);
}

/* Per token or from the settings: a low bound above the high one leaves nothing
 * between. */
static void test_crossed_clips_are_named(void **unused)
{
    scene s;
    scene_init(&s);
    static const float low[N] = {0.8f, 0.8f, 1.5f, 0.8f, 0.8f};
    static const float high[N] = {1, 1, 1, 0.5f, 1};
    refusal want = {.loss = "ppo",
                    .inputs = {ints("target_tokens", targets, N),
                               floats("logprobs", reference, N),
                               floats("advantages", advantages, N),
                               floats("clip_low_threshold", low, N)},
                    .n_inputs = 4,
                    .says = "token 2: clip_low_threshold is above",
                    .path = "data[1].loss_fn_inputs"};
    check_refusal(&s, &want);
    want.inputs[3] = floats("clip_high_threshold", high, N);
    want.says = "token 3: clip_low_threshold is above";
    check_refusal(&s, &want);
    static const float padded[N] = {1, 1, 1, 1, 0}; /* the last advantage is 0 */
    want.inputs[3] = floats("clip_high_threshold", padded, N);
    eng_result_free(must_run(&s, want.loss, want.inputs, want.n_inputs));
    scene_dispose(&s);
}

static void test_bad_tokens_are_named(void **unused)
{
    scene s;
    scene_init(&s);
    static int32_t many[600];
    static const int32_t outside[] = {0, 37}, negative[] = {-1};
    const struct {
        const int32_t *ids;
        size_t n;
        const char *says;
    } table[] = {{many, 0, "no tokens"},
                 {many, 600, "context window of 512"},
                 {outside, 2, "token 1 is 37"},
                 {negative, 1, "token 0 is -1"}};
    for (size_t i = 0; i < TK_ARRAY_LEN(table); i++) {
        eng_datum datum = {table[i].ids, table[i].n, NULL, 0};
        eng_train_request request = {
            .loss_fn = TK_STR("cross_entropy"), .data = &datum, .n_data = 1};
        tk_err err = TK_ERR_INIT;
        eng_result *r = NULL;
        assert_int_equal(eng_adapter_forward_backward(&r, s.adapter, &request, &err),
                         TINKC_E_INVALID);
        assert_non_null(strstr(err.message, table[i].says));
        assert_string_equal(err.path, "data[0].model_input");
    }
    eng_result *r = NULL;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(run(&s, "no_such_loss", NULL, 0, &r, &err), TINKC_E_INVALID);
    assert_non_null(strstr(err.message, "cross_entropy, importance_sampling"));
    scene_dispose(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_inputs_are_named),
        cmocka_unit_test(test_unknown_inputs_are_refused),
        cmocka_unit_test(test_sparse_targets_need_weights),
        cmocka_unit_test(test_doubled_columns_are_refused),
        cmocka_unit_test(test_bad_shapes_are_named),
        cmocka_unit_test(test_bad_tokens_are_named),
        cmocka_unit_test(test_overflow_is_named),
        cmocka_unit_test(test_crossed_clips_are_named),
    };
    return cmocka_run_group_tests_name("eng_inputs", tests, NULL, NULL);
}
