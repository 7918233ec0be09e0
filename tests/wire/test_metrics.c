/* Combining chunk results and reducing their metrics (A-035, A-039..A-041;
 * docs/protocol.md §6.4, §12 row 4, Appendix C). */
#include "wire/metrics.h"

#include <math.h>

#include "base/limits.h"
#include "support/failmem.h"
#include "support/test.h"

static tk_arena arena;

static int teardown(void **unused)
{
    tk_arena_dispose(&arena);
    return 0;
}

#define METRICS(list)                                                                    \
    {                                                                                    \
        list, TK_ARRAY_LEN(list)                                                         \
    }

static double value_of(const tk_fwdbwd_output *output, const char *name)
{
    const double *value = tk_metrics_find(&output->metrics, tk_str_of(name));
    if (value == NULL) {
        fail_msg("no metric %s", name);
        return 0.0;
    }
    return *value;
}

static const tk_tensor_map records[5] = {{NULL, 0}};

static const tk_named_num first_metrics[] = {
    {TK_STR("loss:sum"), 3.5},
    {TK_STR("a:mean"), 1.0},
    {TK_STR("b:max"), -2.0},
    {TK_STR("c:min"), -2.0},
    {TK_STR("d:slack"), 4.0},
    {TK_STR("u:unique"), 7.0},
    {TK_STR("h:hash_unordered"), 5.0},
    {TK_STR("only_first:sum"), 1.0},
    {TK_STR("odd"), 9.0},
    {TK_STR("e:last"), 8.0},
    {TK_STR("f:g:mean"), 6.0},
};
static const tk_named_num second_metrics[] = {
    {TK_STR("h:hash_unordered"), -3.0},
    {TK_STR("u:unique"), 8.0},
    {TK_STR("d:slack"), 1.0},
    {TK_STR("c:min"), -1.0},
    {TK_STR("b:max"), -1.0},
    {TK_STR("a:mean"), 5.0},
    {TK_STR("loss:sum"), 0.25},
    {TK_STR("odd"), 1.0},
    {TK_STR("e:last"), 2.0},
    {TK_STR("only_second:sum"), 1.0},
};

static const tk_fwdbwd_output parts[] = {
    {.loss_fn_output_type = TK_STR("TorchLossReturn"),
     .loss_fn_outputs = records,
     .loss_fn_outputs_n = 3,
     .metrics = METRICS(first_metrics)},
    {.loss_fn_output_type = TK_STR("other"),
     .loss_fn_outputs = records + 3,
     .loss_fn_outputs_n = 1,
     .metrics = METRICS(second_metrics)},
};

/* A-035, M-059: each reducer over two parts of 3 and 1 datums; names in any order. */
static void test_metrics_reducers(void **unused)
{
    tk_fwdbwd_output sum;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_metrics_combine(&sum, &arena, parts, 2, &err), TINKC_OK);
    assert_true(tk_str_is(sum.loss_fn_output_type, "TorchLossReturn"));
    assert_int_equal(sum.loss_fn_outputs_n, 4);
    assert_float_equal(value_of(&sum, "loss:sum"), 3.75, 0);
    assert_float_equal(value_of(&sum, "a:mean"), 2.0, 0);
    assert_float_equal(value_of(&sum, "b:max"), -1.0, 0);
    assert_float_equal(value_of(&sum, "c:min"), -2.0, 0);
    assert_float_equal(value_of(&sum, "d:slack"), 4.0 - 3.25, 0);
    assert_float_equal(value_of(&sum, "u:unique"), 7.0, 0);
    assert_float_equal(value_of(&sum, "u:unique_1"), 8.0, 0);
    assert_int_equal(sum.metrics.n, 8); /* and the hash; all others are dropped */
}

/* A NaN of any part stays, whichever comes first. */
static void test_metrics_nan_is_kept(void **unused)
{
    const tk_named_num some[] = {{TK_STR("b:max"), 1.0}, {TK_STR("c:min"), 1.0}};
    const tk_named_num bad[] = {{TK_STR("b:max"), (double)NAN},
                                {TK_STR("c:min"), (double)NAN}};
    for (int first = 0; first < 2; first++) {
        tk_fwdbwd_output both[2] = {parts[0], parts[1]};
        both[first].metrics = (tk_num_map)METRICS(bad);
        both[1 - first].metrics = (tk_num_map)METRICS(some);
        tk_fwdbwd_output sum;
        assert_int_equal(tk_metrics_combine(&sum, &arena, both, 2, NULL), TINKC_OK);
        assert_true(isnan(value_of(&sum, "b:max")));
        assert_true(isnan(value_of(&sum, "c:min")));
    }
}

/* docs/protocol.md §12 row 4: with one part, names without a known suffix are kept as
 * they are. */
static void test_metrics_one_part_is_lenient(void **unused)
{
    tk_fwdbwd_output sum;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_metrics_combine(&sum, &arena, parts, 1, &err), TINKC_OK);
    assert_int_equal(sum.metrics.n, TK_ARRAY_LEN(first_metrics));
    assert_float_equal(value_of(&sum, "odd"), 9.0, 0);
    assert_float_equal(value_of(&sum, "e:last"), 8.0, 0);
    assert_float_equal(value_of(&sum, "f:g:mean"), 6.0, 0);
    assert_float_equal(value_of(&sum, "d:slack"), 0.0, 0);
    /* Applied even to one part. */
    assert_float_equal(value_of(&sum, "h:hash_unordered"), -7813438383599366905.0, 0);
}

/* Without datums a weighted mean has no weights: the plain mean is used. */
static void test_metrics_no_datums(void **unused)
{
    const tk_fwdbwd_output empty[] = {{.metrics = METRICS(first_metrics)},
                                      {.metrics = METRICS(second_metrics)}};
    tk_fwdbwd_output sum;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_metrics_combine(&sum, &arena, empty, 2, &err), TINKC_OK);
    assert_float_equal(value_of(&sum, "a:mean"), 3.0, 0);
    assert_float_equal(value_of(&sum, "d:slack"), 4.0 - 2.5, 0);
    assert_int_equal(tk_metrics_combine(&sum, &arena, empty, 0, &err), TINKC_E_INVALID);
}

/* The loss among the metrics, or -1. */
static double loss_of(const tk_named_num *items, size_t n)
{
    const tk_named_num *found = tk_metrics_loss(&(tk_num_map){items, n});
    return found != NULL ? found->v : -1.0;
}

/* there is no loss member; the helper finds it among the metrics. */
static void test_metrics_loss(void **unused)
{
    assert_float_equal(loss_of(first_metrics, TK_ARRAY_LEN(first_metrics)), 3.5, 0);
    static const tk_named_num both[] = {{TK_STR("loss:mean"), 1.0},
                                        {TK_STR("loss"), 2.0}};
    assert_float_equal(loss_of(both, 2), 2.0, 0);
    static const tk_named_num none[] = {{TK_STR("losses:sum"), 1.0},
                                        {TK_STR("my_loss"), 2.0}};
    assert_float_equal(loss_of(none, 2), -1.0, 0);
    assert_null(tk_metrics_find(&(tk_num_map){none, 2}, TK_STR("loss")));
    assert_null(tk_metrics_loss(&(tk_num_map){NULL, 0}));
}

/* names that other servers use; a sum is taken before a mean, wherever it is. */
static void test_metrics_loss_names(void **unused)
{
    static const tk_named_num open_rl[] = {{TK_STR("loss:mean"), 1.0},
                                           {TK_STR("loss:sum"), 5.0}};
    assert_float_equal(loss_of(open_rl, 2), 5.0, 0);
    assert_float_equal(loss_of(open_rl, 1), 1.0, 0);
    static const tk_named_num skyrl[] = {
        {TK_STR("lr"), 0.1}, {TK_STR("total_loss:sum"), 7.0}, {TK_STR("loss:avg"), 2.0}};
    assert_float_equal(loss_of(skyrl, 2), 7.0, 0);
    assert_float_equal(loss_of(skyrl, 3), 2.0, 0);
    static const tk_named_num plain[] = {{TK_STR("total_loss:max"), 4.0},
                                         {TK_STR("total_loss"), 3.0}};
    assert_float_equal(loss_of(plain, 1), 4.0, 0);
    assert_float_equal(loss_of(plain, 2), 3.0, 0);
}

/* "avg" is reduced as "mean" is. */
static void test_metrics_average(void **unused)
{
    static const tk_tensor_map maps[3] = {{NULL, 0}};
    static const tk_named_num one = {TK_STR("loss:avg"), 1.0};
    static const tk_named_num two = {TK_STR("loss:avg"), 4.0};
    const tk_fwdbwd_output two_parts[] = {
        {.loss_fn_outputs = maps, .loss_fn_outputs_n = 2, .metrics = {&one, 1}},
        {.loss_fn_outputs = maps, .loss_fn_outputs_n = 1, .metrics = {&two, 1}}};
    tk_fwdbwd_output sum;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_metrics_combine(&sum, &arena, two_parts, 2, &err), TINKC_OK);
    assert_float_equal(value_of(&sum, "loss:avg"), 2.0, 0);
}

/* A-035, M-059: appendix C: values of CPython 3.11's hash(tuple(sorted(int(v) for v in
 * values))). */
static void test_metrics_hash_unordered(void **unused)
{
    static const struct {
        double values[4];
        size_t n;
        int64_t want;
    } rows[] = {
        {{5.0}, 1, INT64_C(-7813438383599366905)},
        {{-1.0, 2.9, -1.9}, 3, INT64_C(4098106753817763974)},
        {{0.0}, 1, INT64_C(-8753497827991233192)},
        {{0.0}, 0, INT64_C(5740354900026072187)},
        {{1e18, -1e18, 3.0}, 3, INT64_C(2855852436250285809)},
        {{1e300, -1e300}, 2, INT64_C(-8077537193444858215)},
        {{0x1p61}, 1, INT64_C(-6644214454873602895)},
        {{0x1p62}, 1, INT64_C(6909455589863252355)},
        {{-0x1p64}, 1, INT64_C(630979318095151653)},
        {{123456789.0, 987654321.0, -5.0, 1e20}, 4, INT64_C(9050567202944425672)},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        double values[4];
        memcpy(values, rows[i].values, sizeof(values));
        assert_int_equal(tk_metrics_hash(values, rows[i].n), rows[i].want);
    }
    double odd[] = {(double)NAN, (double)INFINITY};
    double zero[] = {0.0, 0.0};
    assert_int_equal(tk_metrics_hash(odd, 2), tk_metrics_hash(zero, 2));
}

static bool combine_scenario(void *user)
{
    tk_arena own;
    tk_arena_init(&own, 0);
    tk_fwdbwd_output sum = {.loss_fn_outputs_n = 99};
    tk_err err = TK_ERR_INIT;
    tinkc_code code = tk_metrics_combine(&sum, &own, parts, 2, &err);
    bool ok = code == TINKC_OK;
    assert_true(ok || (code == TINKC_E_NOMEM && sum.loss_fn_outputs_n == 99));
    tk_arena_dispose(&own);
    return ok;
}

static void test_metrics_sweep(void **unused)
{
    assert_true(failmem_sweep(combine_scenario, NULL, 1) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_metrics_reducers, teardown),
        cmocka_unit_test_teardown(test_metrics_nan_is_kept, teardown),
        cmocka_unit_test_teardown(test_metrics_one_part_is_lenient, teardown),
        cmocka_unit_test_teardown(test_metrics_no_datums, teardown),
        cmocka_unit_test(test_metrics_loss),
        cmocka_unit_test(test_metrics_loss_names),
        cmocka_unit_test(test_metrics_average),
        cmocka_unit_test(test_metrics_hash_unordered),
        cmocka_unit_test(test_metrics_sweep),
    };
    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
