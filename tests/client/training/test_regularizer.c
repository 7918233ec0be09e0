/* Regularizers of a custom loss (M-068, M-069): each gradient against finite differences
 * of its value, the sums and metrics of a pipeline, what is refused, and one through the
 * scripted peer.
 * Links: peer */
#include <tinkc/regularizer.h>

#include <math.h>

#include "client/training/training_result.h"
#include "support/failmem.h"
#include "support/trainfix.h"

#define ITEMS 3
#define MOST  5

static const size_t lengths[ITEMS] = {5, 3, 4};
static const float start[ITEMS][MOST] = {{-0.5F, -1.25F, -0.01F, -3.0F, -2.0F},
                                         {-0.75F, -0.3F, -4.0F},
                                         {-2.5F, -1.5F, -0.2F, -1.0F}};
static const float reference[MOST] = {-0.6F, -1.0F, -0.4F, -2.5F, -1.75F};

/* The batch as the library hands it to a callback, with the reference as an input. */
typedef struct batch {
    float logprobs[ITEMS][MOST], gradient[ITEMS][MOST];
    tinkc_custom_item items[ITEMS];
} batch;

static void fill(batch *b, const tinkc_custom_item *like)
{
    for (size_t i = 0; i < ITEMS; i++) {
        memcpy(b->logprobs[i], start[i], sizeof(start[i]));
        memset(b->gradient[i], 0, sizeof(b->gradient[i]));
        b->items[i] = (tinkc_custom_item){.logprobs = b->logprobs[i],
                                          .gradient = b->gradient[i],
                                          .n = lengths[i],
                                          .inputs = like[i].inputs};
    }
}

static double loss_of(const tinkc_regularizer *term, batch *b)
{
    tinkc_regularized r = TINKC_REGULARIZED_INIT;
    tinkc_metrics *metrics = tk_training_metrics(NULL, NULL);
    double loss = 0;
    r.terms = term;
    r.terms_n = 1;
    assert_int_equal(tinkc_regularize(&loss, metrics, b->items, ITEMS, &r), 0);
    tinkc_metrics_free(&metrics);
    return loss;
}

/* The gradient against differences of the loss. */
static void check_gradient(const tinkc_regularizer *term, const tinkc_custom_item *like)
{
    const double step = 1.0 / 256; /* exact in float, also next to these numbers */
    batch b, moved;
    fill(&b, like);
    (void)loss_of(term, &b);
    for (size_t i = 0; i < ITEMS; i++) {
        for (size_t k = 0; k < lengths[i]; k++) {
            double values[4];
            const double at[4] = {-2 * step, -step, step, 2 * step};
            for (size_t j = 0; j < 4; j++) {
                fill(&moved, like);
                moved.logprobs[i][k] = (float)((double)start[i][k] + at[j]);
                values[j] = loss_of(term, &moved);
            }
            double want =
                (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step);
            double have = (double)b.gradient[i][k];
            if (fabs(have - want) > 1e-5 + 1e-4 * fabs(want)) {
                fail_msg("%s: item %zu, entry %zu: %.9g, differences say %.9g",
                         tinkc_regularizer_kind_name(term->kind), i, k, have, want);
            }
        }
    }
}

static void check_kind(const tinkc_custom_item *like, tinkc_regularizer term)
{
    for (int mean = 0; mean < 2; mean++) {
        for (int probs = 0; probs < 2; probs++) {
            for (int direction = 0; direction < 3; direction++) {
                term.weight = 0.75;
                term.mean = mean == 1;
                term.of_probs = term.maximize = probs == 1;
                term.direction = (tinkc_kl_direction)direction;
                check_gradient(&term, like);
            }
        }
    }
}

/* Terms run inside the callback, where the datum's inputs are. */
static int check_all(double *loss, tinkc_metrics *metrics, tinkc_custom_item *items,
                     size_t n, void *user)
{
    (void)loss;
    (void)metrics;
    assert_int_equal(n, ITEMS);
    for (int kind = 0; kind <= TINKC_REGULARIZER_ORTHOGONALITY; kind++) {
        tinkc_regularizer term = TINKC_REGULARIZER_INIT;
        term.kind = (tinkc_regularizer_kind)kind;
        term.center = -0.7;
        term.ratio = 0.3;
        check_kind(items, term);
    }
    (*(int *)user)++;
    return 0;
}

static tinkc_datum *make_datum(size_t n, const char *name)
{
    static const int32_t tokens[MOST] = {1, 2, 3, 4, 5};
    tinkc_model_input *input = NULL;
    tinkc_datum *datum = NULL;
    tinkc_array array = TINKC_ARRAY_INIT;
    const int64_t shape = (int64_t)n;
    assert_int_equal(tinkc_model_input_from_tokens(&input, tokens, n, NULL), TINKC_OK);
    assert_int_equal(tinkc_datum_new(&datum, &input, NULL), TINKC_OK);
    assert_int_equal(tinkc_datum_set_i32(datum, "target_tokens", tokens, n, NULL),
                     TINKC_OK);
    array.data = reference;
    array.shape = &shape;
    array.ndim = 1;
    array.dtype = TINKC_DTYPE_FLOAT32;
    assert_int_equal(tinkc_datum_set(datum, name, &array, NULL), TINKC_OK);
    return datum;
}

static trainfix open_recent(void)
{
    static const char *const settings[] = {"sdk_version", "0.36.0", "heartbeat", "none",
                                           "telemetry",   "false",  NULL};
    return trainfix_open(NULL, settings);
}

/* M-068: each term's gradient is that of its value. */
static void test_regularizer_gradients(void **unused)
{
    trainfix f = open_recent();
    tinkc_datum *data[ITEMS];
    int calls = 0;
    (void)unused;
    for (size_t i = 0; i < ITEMS; i++) {
        data[i] = make_datum(lengths[i], "reference_logprobs");
    }
    assert_int_equal(tinkc_training_forward_backward_custom_wait(
                         NULL, f.training, data, ITEMS, check_all, &calls, NULL),
                     TINKC_OK);
    assert_int_equal(calls, 1);
    for (size_t i = 0; i < ITEMS; i++) {
        tinkc_datum_free(&data[i]);
    }
    trainfix_close(&f);
}

/* ---- a pipeline ---- */

static int base_loss(double *loss, tinkc_metrics *metrics, tinkc_custom_item *items,
                     size_t n, void *user)
{
    (void)metrics;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < items[i].n; k++) {
            *loss -= (double)items[i].logprobs[k];
            items[i].gradient[k] = -1;
        }
    }
    return user != NULL ? *(const int *)user : 0;
}

static double metric(const tinkc_metrics *metrics, const char *name)
{
    double value = 0;
    if (tinkc_metrics_get(&value, metrics, name, NULL) != TINKC_OK) {
        fail_msg("no metric %s", name);
    }
    return value;
}

static void near_to(double have, double want)
{
    if (!(fabs(have - want) <= 1e-6 * (1 + fabs(want)))) {
        fail_msg("%.9g, wanted %.9g", have, want);
    }
}

/* M-069: loss = base + sum of weight * value; so are the gradients; the parts are
 * metrics. */
static void test_regularizer_pipeline(void **unused)
{
    static const tinkc_custom_item none[ITEMS];
    tinkc_regularizer terms[2] = {TINKC_REGULARIZER_INIT, TINKC_REGULARIZER_INIT};
    tinkc_regularized r = TINKC_REGULARIZED_INIT;
    tinkc_metrics *metrics = tk_training_metrics(NULL, NULL);
    double loss = 0, sum = 0, squares = 0, norm = 0, entries = 12;
    batch b;
    (void)unused;
    fill(&b, none);
    terms[0].kind = TINKC_REGULARIZER_L1;
    terms[0].weight = 0.5;
    terms[1].weight = 0.25;
    terms[1].name = "mine";
    r.loss = base_loss;
    r.terms = terms;
    r.terms_n = 2;
    r.gradient_norms = true;
    assert_int_equal(tinkc_regularize(&loss, metrics, b.items, ITEMS, &r), 0);
    for (size_t i = 0; i < ITEMS; i++) {
        for (size_t k = 0; k < lengths[i]; k++) {
            double x = (double)start[i][k], g = -1 - 0.5 + 0.25 * 2 * x;
            sum += -x;
            squares += x * x;
            norm += g * g;
            near_to((double)b.gradient[i][k], g);
        }
    }
    near_to(loss, sum + 0.5 * sum + 0.25 * squares);
    near_to(metric(metrics, "base_loss"), sum);
    near_to(metric(metrics, "l1"), sum);
    near_to(metric(metrics, "l1_contribution"), 0.5 * sum);
    near_to(metric(metrics, "mine"), squares);
    near_to(metric(metrics, "mine_contribution"), 0.25 * squares);
    near_to(metric(metrics, "regularizer_total"), 0.5 * sum + 0.25 * squares);
    near_to(metric(metrics, "base_grad_norm"), sqrt(entries));
    near_to(metric(metrics, "l1_grad_norm"), 0.5 * sqrt(entries));
    near_to(metric(metrics, "mine_grad_norm"), 0.5 * sqrt(squares));
    near_to(metric(metrics, "total_grad_norm"), sqrt(norm));
    tinkc_metrics_free(&metrics);
}

/* M-068 */
static void test_regularizer_refusals(void **unused)
{
    static const tinkc_custom_item none[ITEMS];
    tinkc_regularizer terms[2] = {TINKC_REGULARIZER_INIT, TINKC_REGULARIZER_INIT};
    tinkc_regularized r = TINKC_REGULARIZED_INIT;
    tinkc_metrics *metrics = tk_training_metrics(NULL, NULL);
    double loss = 0;
    int status = 42;
    batch b;
    (void)unused;
    fill(&b, none);
    r.terms = terms;
    r.terms_n = 2; /* the same name twice */
    assert_int_equal(tinkc_regularize(&loss, metrics, b.items, ITEMS, &r),
                     TINKC_E_INVALID);
    r.terms_n = 1;
    terms[0].kind = TINKC_REGULARIZER_KL; /* without its reference */
    assert_int_equal(tinkc_regularize(&loss, metrics, b.items, ITEMS, &r),
                     TINKC_E_INVALID);
    r.loss = base_loss;
    r.user = &status;
    assert_int_equal(tinkc_regularize(&loss, metrics, b.items, ITEMS, &r), 42);
    assert_int_equal(tinkc_regularize(&loss, metrics, b.items, ITEMS, NULL),
                     TINKC_E_INVALID);
    r.terms = NULL;
    assert_int_equal(tinkc_regularize(&loss, metrics, b.items, ITEMS, &r),
                     TINKC_E_INVALID);
    tinkc_metrics_free(&metrics);
    const tinkc_regularizer good = TINKC_REGULARIZER_INIT;
    tinkc_regularizer bad[7];
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        bad[i] = good;
    }
    bad[0].kind = (tinkc_regularizer_kind)7;
    bad[1].weight = -1;
    bad[2].weight = (double)NAN;
    bad[3].ratio = 1.5;
    bad[4].center = (double)INFINITY;
    bad[5].direction = (tinkc_kl_direction)3;
    bad[6].kind = TINKC_REGULARIZER_KL;
    bad[6].reference = NULL;
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        assert_int_equal(tinkc_regularizer_check(&bad[i], NULL), TINKC_E_INVALID);
    }
    assert_int_equal(tinkc_regularizer_check(&good, NULL), TINKC_OK);
    assert_null(tinkc_regularizer_kind_name((tinkc_regularizer_kind)7));
}

/* M-068: as the callback of an operation: the loss that is reported has the terms in it. */
static void test_regularizer_in_an_operation(void **unused)
{
    trainfix f = open_recent();
    tinkc_datum *datum = make_datum(3, "reference_logprobs");
    tinkc_regularizer term = TINKC_REGULARIZER_INIT;
    tinkc_regularized r = TINKC_REGULARIZED_INIT;
    tinkc_fwdbwd *result = NULL;
    (void)unused;
    term.weight = 2;
    r.loss = base_loss;
    r.terms = &term;
    r.terms_n = 1;
    assert_int_equal(tinkc_training_forward_backward_custom_wait(
                         &result, f.training, &datum, 1, tinkc_regularize, &r, NULL),
                     TINKC_OK);
    const tinkc_metrics *metrics = tinkc_fwdbwd_metrics(result);
    near_to(metric(metrics, "loss:sum"), 3 * 2.0 + 2 * 3 * 4.0); /* logprobs of -2 */
    near_to(metric(metrics, "l2_contribution"), 24);
    tinkc_fwdbwd_free(&result);
    term.kind = TINKC_REGULARIZER_CONSISTENCY;
    term.reference = "other";
    assert_int_equal(tinkc_training_forward_backward_custom_wait(
                         NULL, f.training, &datum, 1, tinkc_regularize, &r, NULL),
                     TINKC_E_INVALID);
    tinkc_datum_free(&datum);
    trainfix_close(&f);
}

static bool scenario(void *user)
{
    static const tinkc_custom_item none[ITEMS];
    tinkc_regularizer term = TINKC_REGULARIZER_INIT;
    tinkc_regularized r = TINKC_REGULARIZED_INIT;
    tinkc_metrics *metrics = tk_training_metrics(NULL, NULL);
    double loss = 0;
    batch b;
    (void)user;
    if (metrics == NULL) {
        return false;
    }
    fill(&b, none);
    r.terms = &term;
    r.terms_n = 1;
    int status = tinkc_regularize(&loss, metrics, b.items, ITEMS, &r);
    assert_true(status == 0 || status == TINKC_E_NOMEM);
    tinkc_metrics_free(&metrics);
    return status == 0;
}

static void test_regularizer_sweep(void **unused)
{
    (void)unused;
    assert_true(failmem_sweep(scenario, NULL, 1) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regularizer_gradients),
        cmocka_unit_test(test_regularizer_pipeline),
        cmocka_unit_test(test_regularizer_refusals),
        cmocka_unit_test(test_regularizer_in_an_operation),
        cmocka_unit_test(test_regularizer_sweep),
    };
    return cmocka_run_group_tests_name("regularizer", tests, NULL, NULL);
}
