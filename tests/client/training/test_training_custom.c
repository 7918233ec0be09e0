/* Custom loss (A-148, docs/protocol.md §6.5): forward, the caller's function,
 * forward_backward with weights = -gradient. The numbers of the two losses are those of
 * the official SDK's own formulas: d/dx sum(x^2) = 2x, d/dx mean(x) = 1/n.
 * Links: peer */
#include <tinkc/training.h>

#include <math.h>

#include "base/arena.h"
#include "support/trainfix.h"
#include "wire/pb_fwdbwd.h"

#define POST_FB "/api/v1/forward_backward"

/* At the level of 0.25, which takes no other inputs and reports the loss as `loss`; what
 * 0.36 does otherwise is in test_training_level.c. */
static trainfix open_with(const char *flags)
{
    static const char *const settings[] = {"sdk_version", "0.25.0", "heartbeat", "none",
                                           "telemetry",   "false",  NULL};
    return trainfix_open(&(fakeapi_tinker_options){.config = flags}, settings);
}

/* A datum with targets of the given shape. */
static tinkc_datum *make_datum(const int64_t *shape, size_t ndim)
{
    static const int32_t tokens[6] = {1, 2, 3, 4, 5, 6};
    tinkc_model_input *input = NULL;
    tinkc_datum *datum = NULL;
    tinkc_array targets = TINKC_ARRAY_INIT;
    targets.elem = TINKC_ELEM_I32;
    targets.data = tokens;
    targets.shape = shape;
    targets.ndim = ndim;
    assert_int_equal(tinkc_model_input_from_tokens(&input, tokens, 3, NULL), TINKC_OK);
    assert_int_equal(tinkc_datum_new(&datum, &input, NULL), TINKC_OK);
    assert_int_equal(tinkc_datum_set(datum, "target_tokens", &targets, NULL), TINKC_OK);
    return datum;
}

/* Sum of squares over everything. */
static int squares(double *loss, tinkc_metrics *metrics, tinkc_custom_item *items,
                   size_t n, void *user)
{
    int *calls = user;
    (*calls)++;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < items[i].n; k++) {
            assert_true(items[i].gradient[k] == 0.0F);
            *loss += (double)items[i].logprobs[k] * (double)items[i].logprobs[k];
            items[i].gradient[k] = 2.0F * items[i].logprobs[k];
        }
    }
    assert_int_equal(tinkc_metrics_put(metrics, "mine", 7.0, NULL), TINKC_OK);
    assert_int_equal(tinkc_metrics_put(metrics, "loss:sum", 9.0, NULL), TINKC_OK);
    return 0;
}

static void assert_weights(const tk_datum *datum, size_t n, float expected)
{
    assert_int_equal(datum->loss_fn_inputs.n, 2);
    const tk_named_tensor *weights = &datum->loss_fn_inputs.items[1];
    assert_true(tk_str_is(weights->name, "weights"));
    assert_int_equal(weights->tensor.n, n);
    const float *values = weights->tensor.data;
    for (size_t i = 0; i < n; i++) {
        assert_true(values[i] == expected);
    }
}

/* The number of the nth request. */
static int64_t seq_of(trainfix *f, size_t nth)
{
    const fakeapi_request *seen = fakeapi_nth(f->api, "POST", POST_FB, nth);
    tk_arena arena;
    tk_fwdbwd_request request;
    tk_bytes body = {(const unsigned char *)seen->body, seen->body_n};
    tk_arena_init(&arena, 0);
    assert_int_equal(tk_pb_fwdbwd_decode(&request, &arena, body, NULL), TINKC_OK);
    tk_arena_dispose(&arena);
    return request.seq_id;
}

/* The nth request: forward or not, its number, the weights of its datum. */
static void check_request(trainfix *f, size_t nth, bool forward_only, float weight)
{
    const fakeapi_request *seen = fakeapi_nth(f->api, "POST", POST_FB, nth);
    tk_arena arena;
    tk_fwdbwd_request request;
    tk_bytes body = {(const unsigned char *)seen->body, seen->body_n};
    tk_arena_init(&arena, 0);
    assert_int_equal(tk_pb_fwdbwd_decode(&request, &arena, body, NULL), TINKC_OK);
    assert_int_equal(request.forward_only, forward_only);
    assert_int_equal(request.seq_id, nth + 1);
    assert_true(tk_str_is(request.loss_fn, "cross_entropy"));
    for (size_t i = 0; i < request.data_n; i++) {
        const tk_tensor *targets = &request.data[i].loss_fn_inputs.items[0].tensor;
        const tk_tensor *weights = &request.data[i].loss_fn_inputs.items[1].tensor;
        assert_int_equal(weights->shape.n, targets->shape.n);
        for (size_t k = 0; k < targets->shape.n; k++) {
            assert_int_equal(weights->shape.p[k], targets->shape.p[k]);
        }
        assert_weights(&request.data[i], targets->n, weight);
    }
    tk_arena_dispose(&arena);
}

/* A-148, M-067: 1-D and 2-D targets in one batch; logprobs are -2, so the gradient is
 * -4. */
static void test_custom_loss(void **unused)
{
    trainfix f = open_with(NULL);
    tinkc_datum *flat = make_datum((const int64_t[]){3}, 1);
    tinkc_datum *square = make_datum((const int64_t[]){3, 2}, 2);
    tinkc_datum *data[] = {flat, square};
    tinkc_fwdbwd *result = NULL;
    int calls = 0;
    double value = 0;
    assert_int_equal(tinkc_training_forward_backward_custom_wait(
                         &result, f.training, data, 2, squares, &calls, NULL),
                     TINKC_OK);
    assert_int_equal(calls, 1);
    assert_int_equal(fakeapi_count(f.api, "POST", POST_FB), 2);
    check_request(&f, 0, true, 0.0F);
    check_request(&f, 1, false, 4.0F); /* -(2 * -2) */
    const tinkc_metrics *metrics = tinkc_fwdbwd_metrics(result);
    assert_int_equal(tinkc_metrics_get(&value, metrics, "mine", NULL), TINKC_OK);
    assert_true(value == 7.0);
    assert_int_equal(tinkc_metrics_get(&value, metrics, "loss:sum", NULL), TINKC_OK);
    assert_true(value == 9.0); /* the callback's wins */
    assert_int_equal(tinkc_fwdbwd_loss(&value, result, NULL), TINKC_OK);
    assert_true(value == 9.0 * 4.0); /* nine logprobs of -2, squared */
    assert_int_equal(tinkc_fwdbwd_count(result), 2);
    tinkc_fwdbwd_free(&result);
    tinkc_datum_free(&flat);
    tinkc_datum_free(&square);
    trainfix_close(&f);
}

static int mean(double *loss, tinkc_metrics *metrics, tinkc_custom_item *items, size_t n,
                void *user)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < items[i].n; k++) {
            *loss += (double)items[i].logprobs[k] / (double)(3 * n);
            items[i].gradient[k] = 1.0F / (float)(3 * n);
        }
    }
    return 0;
}

/* M-067: in chunks, one after the other; the step called next waits for
 * the second half and has the number after it. */
static void test_custom_loss_in_chunks(void **unused)
{
    trainfix f = open_with("{\"fwdbwd_max_chunk_len\":1,\"parallel_fwdbwd_chunks\":false,"
                           "\"proto_compress_fwdbwd\":false}");
    tinkc_datum *datum = make_datum((const int64_t[]){3}, 1);
    tinkc_datum *data[] = {datum, datum, datum, datum};
    tinkc_future *loss =
        tinkc_training_forward_backward_custom(f.training, data, 4, mean, NULL);
    tinkc_future *step = tinkc_training_optim_step(f.training, NULL);
    assert_int_equal(tinkc_future_wait(loss, TINKC_FOREVER), TINKC_OK);
    assert_int_equal(tinkc_future_wait(step, TINKC_FOREVER), TINKC_OK);
    tinkc_fwdbwd *result = NULL;
    double sum = 0;
    assert_int_equal(tinkc_future_take_fwdbwd(&result, loss, NULL), TINKC_OK);
    assert_int_equal(tinkc_fwdbwd_count(result), 4); /* of all chunks */
    assert_int_equal(
        tinkc_metrics_get(&sum, tinkc_fwdbwd_metrics(result), "loss:sum", NULL),
        TINKC_OK);
    assert_true(sum == 4 * 3 * 2.0);
    tinkc_fwdbwd_free(&result);
    for (size_t i = 0; i < 8; i++) {
        check_request(&f, i, i < 4, i < 4 ? 0.0F : -1.0F / 12.0F);
    }
    assert_non_null(
        strstr(fakeapi_nth(f.api, "POST", POST_STEP, 0)->body, "\"seq_id\":9"));
    tinkc_future_free(&loss);
    tinkc_future_free(&step);
    tinkc_datum_free(&datum);
    trainfix_close(&f);
}

static int refuse(double *loss, tinkc_metrics *metrics, tinkc_custom_item *items,
                  size_t n, void *user)
{
    const int *mode = user;
    items[0].gradient[0] = *mode == 0 ? 0.0F : NAN;
    return *mode == 0 ? 42 : 0;
}

/* a callback that fails, gradients that are not numbers, a forward that fails:
 * no second half, the turn is given back, and the next request has the next number: a
 * server would wait for the ones between. */
static void test_custom_loss_fails(void **unused)
{
    trainfix f = open_with(NULL);
    tinkc_datum *datum = make_datum((const int64_t[]){3}, 1);
    tinkc_datum *data[] = {datum};
    for (int mode = 0; mode < 2; mode++) {
        tinkc_error *error = NULL;
        assert_int_equal(tinkc_training_forward_backward_custom_wait(
                             NULL, f.training, data, 1, refuse, &mode, &error),
                         TINKC_E_INVALID);
        assert_non_null(
            strstr(tinkc_error_message(error), mode == 0 ? "returned 42" : "finite"));
        tinkc_error_free(&error);
    }
    fakeapi_tinker_fail(f.api, "forward", "no", "user");
    assert_int_equal(tinkc_training_forward_backward_custom_wait(NULL, f.training, data,
                                                                 1, mean, NULL, NULL),
                     TINKC_E_REQUEST);
    assert_int_equal(fakeapi_count(f.api, "POST", POST_FB), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(seq_of(&f, i), i + 1);
    }
    assert_int_equal(tinkc_training_optim_step_wait(NULL, f.training, NULL, NULL),
                     TINKC_OK);
    assert_non_null(
        strstr(fakeapi_nth(f.api, "POST", POST_STEP, 0)->body, "\"seq_id\":4"));
    tinkc_datum_free(&datum);
    trainfix_close(&f);
}

/* A server whose answer does not fit the batch. */
static void test_custom_loss_strange_answer(void **unused)
{
    trainfix f = open_with(NULL);
    tinkc_datum *datum = make_datum((const int64_t[]){3}, 1);
    tinkc_datum *data[] = {datum};
    fakeapi_reply(f.api, "POST", "/api/v1/retrieve_future",
                  &fakeapi_proto("\x0a\x01x", 3));
    assert_int_equal(tinkc_training_forward_backward_custom_wait(NULL, f.training, data,
                                                                 1, mean, NULL, NULL),
                     TINKC_E_DECODE);
    tinkc_datum_free(&datum);
    trainfix_close(&f);
}

static void expect(tinkc_future *future, tinkc_code code)
{
    assert_int_equal(tinkc_future_wait(future, 0), code);
    tinkc_future_free(&future);
}

/* Only target_tokens and weights; target_tokens must be there. */
static void test_custom_loss_bad_input(void **unused)
{
    trainfix f = open_with(NULL);
    float one = 1.0F;
    tinkc_datum *more = make_datum((const int64_t[]){1}, 1);
    tinkc_datum *less = NULL;
    tinkc_model_input *input = NULL;
    assert_int_equal(tinkc_datum_set_f32(more, "advantages", &one, 1, NULL), TINKC_OK);
    assert_int_equal(tinkc_model_input_new(&input, NULL), TINKC_OK);
    assert_int_equal(tinkc_datum_new(&less, &input, NULL), TINKC_OK);
    tinkc_datum *extra[] = {more}, *none[] = {less};
    size_t before = fakeapi_total(f.api);
    expect(tinkc_training_forward_backward_custom(f.training, extra, 1, mean, NULL),
           TINKC_E_INVALID);
    expect(tinkc_training_forward_backward_custom(f.training, none, 1, mean, NULL),
           TINKC_E_INVALID);
    expect(tinkc_training_forward_backward_custom(f.training, extra, 0, mean, NULL),
           TINKC_E_INVALID);
    expect(tinkc_training_forward_backward_custom(f.training, extra, 1, NULL, NULL),
           TINKC_E_INVALID);
    expect(tinkc_training_forward_backward_custom(NULL, extra, 1, mean, NULL),
           TINKC_E_STATE);
    assert_int_equal(fakeapi_total(f.api), before);
    tinkc_datum_free(&more);
    tinkc_datum_free(&less);
    trainfix_close(&f);
}

/* Cancelled between the halves (the forward's result is awaited): the next one goes. */
static void test_custom_loss_cancel(void **unused)
{
    trainfix f = open_with(NULL);
    tinkc_datum *datum = make_datum((const int64_t[]){3}, 1);
    tinkc_datum *data[] = {datum};
    fakeapi_tinker_hold(f.api, true);
    tinkc_future *loss =
        tinkc_training_forward_backward_custom(f.training, data, 1, mean, NULL);
    tinkc_future *step = tinkc_training_optim_step(f.training, NULL);
    assert_true(fakeapi_wait_in_flight(f.api, "POST", "/api/v1/retrieve_future", 1));
    assert_int_equal(fakeapi_count(f.api, "POST", POST_STEP), 0);
    fakeapi_tinker_hold(f.api, false); /* the step is sent as soon as the turn is free */
    tinkc_future_cancel(loss);
    assert_int_equal(tinkc_future_wait(step, TINKC_FOREVER), TINKC_OK);
    assert_int_equal(tinkc_future_wait(loss, 0), TINKC_E_CANCELLED);
    tinkc_future_free(&loss);
    tinkc_future_free(&step);
    tinkc_datum_free(&datum);
    trainfix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_custom_loss),
        cmocka_unit_test(test_custom_loss_in_chunks),
        cmocka_unit_test(test_custom_loss_fails),
        cmocka_unit_test(test_custom_loss_strange_answer),
        cmocka_unit_test(test_custom_loss_bad_input),
        cmocka_unit_test(test_custom_loss_cancel),
    };
    return cmocka_run_group_tests_name("training_custom", tests, NULL, NULL);
}
