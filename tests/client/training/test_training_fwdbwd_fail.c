/* Batches that fail, are cancelled, slow or bad input, on the scripted peer: the error,
 * and that the next one works.
 * Links: peer */
#include <math.h>

#include "support/batchfix.h"

/* ---- failures ---- */

/* A-022, B-255, M-057: design §3: a chunk that is refused fails the batch and says
 * what was applied; the first chunk is never sent; the step after it fails here; what
 * comes after works. */
static void test_fwdbwd_failed_chunk(void **unused)
{
    batchfix f = batchfix_open(SMALL);
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    fakeapi_reply(f.api, "POST", POST_FB,
                  &(fakeapi_step){
                      .status = 422, .body = "{\"detail\":\"bad chunk\"}", .gate = gate});
    tinkc_future *batch =
        tinkc_training_forward_backward(f.training, f.data, 4, "cross_entropy", NULL);
    tinkc_future *step = tinkc_training_optim_step(f.training, NULL);
    tinkc_future *next =
        tinkc_training_forward_backward(f.training, f.data, 1, "cross_entropy", NULL);
    tinkc_future *second = tinkc_training_optim_step(f.training, NULL);
    assert_true(fakeapi_wait_for(f.api, "POST", POST_POLL, 1 + 2)); /* two accepted */
    fakeapi_gate_open(gate);
    assert_int_equal(tinkc_future_wait(batch, TINKC_FOREVER), TINKC_E_UNPROCESSABLE);
    const char *text = tinkc_error_message(tinkc_future_error(batch));
    assert_non_null(strstr(text, "of 4 failed, 2 others were accepted"));
    assert_non_null(strstr(text, "bad chunk"));
    assert_int_equal(tinkc_future_wait(step, TINKC_FOREVER), TINKC_E_STATE);
    assert_int_equal(tinkc_future_wait(next, TINKC_FOREVER), TINKC_OK);
    assert_int_equal(tinkc_future_wait(second, TINKC_FOREVER), TINKC_E_STATE);
    assert_int_equal(fakeapi_count(f.api, "POST", POST_STEP), 0);
    assert_int_equal(fakeapi_count(f.api, "POST", POST_FB), 4); /* 2, 3, 4 and `next` */
    /* a step that is called after the failure is sent */
    assert_int_equal(tinkc_training_optim_step_wait(NULL, f.training, NULL, NULL),
                     TINKC_OK);
    tinkc_future_free(&batch);
    tinkc_future_free(&step);
    tinkc_future_free(&next);
    tinkc_future_free(&second);
    batchfix_close(&f);
}

/* The option: the step is sent although the batch was applied in part. */
static void test_fwdbwd_step_after_partial(void **unused)
{
    static const char *const settings[] = {"fail_step_after_partial", "false", NULL};
    batchfix f = batchfix_open(SMALL);
    tinkc_training_close(&f.training);
    tinkc_service_close(&f.service);
    f.service = servicefix_open(f.api, settings);
    assert_int_equal(
        tinkc_service_create_training_wait(&f.training, f.service, "m", NULL, NULL),
        TINKC_OK);
    fakeapi_reply(f.api, "POST", POST_FB, &fakeapi_detail(422, "bad chunk"));
    tinkc_future *batch =
        tinkc_training_forward_backward(f.training, f.data, 4, "cross_entropy", NULL);
    tinkc_future *step = tinkc_training_optim_step(f.training, NULL);
    assert_int_equal(tinkc_future_wait(batch, TINKC_FOREVER), TINKC_E_UNPROCESSABLE);
    assert_int_equal(tinkc_future_wait(step, TINKC_FOREVER), TINKC_OK);
    tinkc_future_free(&batch);
    tinkc_future_free(&step);
    batchfix_close(&f);
}

/* A single chunk that is refused applied nothing: the step after it goes out. */
static void test_fwdbwd_failed_single(void **unused)
{
    batchfix f = batchfix_open(NULL);
    fakeapi_reply(f.api, "POST", POST_FB, &fakeapi_detail(404, "no such model"));
    tinkc_future *batch =
        tinkc_training_forward_backward(f.training, f.data, 4, "cross_entropy", NULL);
    tinkc_future *step = tinkc_training_optim_step(f.training, NULL);
    assert_int_equal(tinkc_future_wait(batch, TINKC_FOREVER), TINKC_E_NOT_FOUND);
    assert_int_equal(tinkc_future_wait(step, TINKC_FOREVER), TINKC_OK);
    tinkc_future_free(&batch);
    tinkc_future_free(&step);
    batchfix_close(&f);
}

/* work that fails at the server, and a result that cannot be read. */
static void test_fwdbwd_failed_result(void **unused)
{
    batchfix f = batchfix_open(SMALL);
    tinkc_error *error = NULL;
    fakeapi_tinker_fail(f.api, "forward_backward", "ran out of luck", "server");
    assert_int_equal(tinkc_training_forward_backward_wait(NULL, f.training, f.data, 3,
                                                          "cross_entropy", NULL, &error),
                     TINKC_E_REQUEST);
    assert_non_null(strstr(tinkc_error_message(error), "ran out of luck"));
    assert_int_equal(tinkc_error_category(error), TINKC_CATEGORY_SERVER);
    /* how many depends on which of them was quicker */
    assert_non_null(strstr(tinkc_error_message(error), "others were accepted"));
    tinkc_error_free(&error);
    batchfix_close(&f); /* a last poll of theirs may still be on its way to the script */
    f = batchfix_open(SMALL);
    fakeapi_reply(f.api, "POST", POST_POLL, &fakeapi_proto("\x0a\xff", 2));
    assert_int_equal(tinkc_training_forward_backward_wait(NULL, f.training, f.data, 1,
                                                          "cross_entropy", NULL, &error),
                     TINKC_E_PARSE);
    assert_true(tinkc_error_message(error)[0] != '\0');
    tinkc_error_free(&error);
    assert_int_equal(tinkc_training_forward_backward_wait(NULL, f.training, f.data, 3,
                                                          "cross_entropy", NULL, NULL),
                     TINKC_OK);
    batchfix_close(&f);
}

/* cancelled on the wire, waiting for bytes, polling: the next one goes. */
static void test_fwdbwd_cancel(void **unused)
{
    batchfix f = batchfix_open("{\"fwdbwd_max_chunk_len\":1,"
                               "\"fwdbwd_dispatch_bytes_semaphore_size\":1}");
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    fakeapi_reply(f.api, "POST", POST_FB, &(fakeapi_step){.gate = gate});
    tinkc_future *batch =
        tinkc_training_forward_backward(f.training, f.data, 4, "cross_entropy", NULL);
    tinkc_future *waiting =
        tinkc_training_forward_backward(f.training, f.data, 4, "cross_entropy", NULL);
    assert_true(fakeapi_gate_wait(gate, 1)); /* one on the wire, two wait for bytes */
    tinkc_future_cancel(waiting);
    tinkc_future_cancel(batch);
    assert_int_equal(tinkc_training_forward_backward_wait(NULL, f.training, f.data, 2,
                                                          "cross_entropy", NULL, NULL),
                     TINKC_OK);
    tinkc_future_free(&batch);
    tinkc_future_free(&waiting);
    fakeapi_tinker_hold(f.api, true);
    batch = tinkc_training_forward_backward(f.training, f.data, 3, "cross_entropy", NULL);
    assert_true(fakeapi_wait_in_flight(f.api, "POST", POST_POLL, 3));
    tinkc_future_cancel(batch);
    assert_true(fakeapi_wait_in_flight(f.api, "POST", POST_POLL, 0));
    fakeapi_tinker_hold(f.api, false);
    assert_int_equal(tinkc_training_optim_step_wait(NULL, f.training, NULL, NULL),
                     TINKC_OK);
    tinkc_future_free(&batch);
    batchfix_close(&f);
}

/* fifty slow submissions: the call returns at once (nothing was answered),
 * and no hidden timeout ends it. */
static void test_fwdbwd_submit_does_not_wait(void **unused)
{
    enum { N = 50 };
    batchfix f = batchfix_open(SMALL_LINE);
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    tinkc_datum *data[N];
    tinkc_model_info *info = NULL;
    for (size_t i = 0; i < N; i++) {
        data[i] = f.data[i % DATA_MAX];
    }
    fakeapi_default(f.api, "POST", POST_FB, &(fakeapi_step){.pass = true, .gate = gate});
    tinkc_future *future =
        tinkc_training_forward_backward(f.training, data, N, "cross_entropy", NULL);
    assert_false(tinkc_future_is_done(future));
    assert_int_equal(tinkc_training_get_info_wait(&info, f.training, NULL), TINKC_OK);
    tinkc_model_info_free(&info);
    assert_true(fakeapi_gate_wait(gate, 1));
    fakeapi_gate_open(gate);
    assert_int_equal(tinkc_future_wait(future, TINKC_FOREVER), TINKC_OK);
    assert_int_equal(fakeapi_count(f.api, "POST", POST_FB), N);
    tinkc_future_free(&future);
    batchfix_close(&f);
}

/* ---- bad input ---- */

static void expect(tinkc_future *future, tinkc_code code, const char *text)
{
    assert_int_equal(tinkc_future_wait(future, 0), code);
    assert_non_null(strstr(tinkc_error_message(tinkc_future_error(future)), text));
    tinkc_future_free(&future);
}

/* refused before anything is sent, and without a number taken. */
static void test_fwdbwd_bad_input(void **unused)
{
    batchfix f = batchfix_open(NULL);
    tinkc_datum *hole[2] = {f.data[0], NULL};
    tinkc_model_input *pointer = NULL;
    tinkc_datum *bad = NULL;
    float nan = NAN;
    assert_int_equal(tinkc_model_input_new(&pointer, NULL), TINKC_OK);
    assert_int_equal(
        tinkc_model_input_add_image_pointer(pointer, "s3://x", TINKC_IMAGE_PNG, 4, NULL),
        TINKC_OK);
    assert_int_equal(tinkc_datum_new(&bad, &pointer, NULL), TINKC_OK);
    tinkc_datum *image[1] = {bad};
    size_t before = fakeapi_total(f.api);
    expect(tinkc_training_forward(f.training, f.data, 0, "x", NULL), TINKC_E_INVALID,
           "empty");
    expect(tinkc_training_forward(f.training, NULL, 2, "x", NULL), TINKC_E_INVALID,
           "empty");
    expect(tinkc_training_forward(f.training, hole, 2, "x", NULL), TINKC_E_INVALID,
           "NULL");
    expect(tinkc_training_forward(f.training, f.data, 1, NULL, NULL), TINKC_E_INVALID,
           "loss");
    expect(tinkc_training_forward(f.training, f.data, 1, "", NULL), TINKC_E_INVALID,
           "loss");
    expect(tinkc_training_forward(f.training, f.data, 1, "\xff", NULL), TINKC_E_INVALID,
           "");
    expect(tinkc_training_forward(f.training, image, 1, "x", NULL), TINKC_E_INVALID,
           "pointer");
    assert_int_equal(tinkc_datum_set_f32(bad, "weights", &nan, 1, NULL), TINKC_OK);
    expect(tinkc_training_forward_backward(f.training, image, 1, "x", NULL),
           TINKC_E_INVALID, "NaN");
    expect(tinkc_training_forward(NULL, f.data, 1, "x", NULL), TINKC_E_STATE, "");
    expect(tinkc_training_forward_backward(NULL, f.data, 1, "x", NULL), TINKC_E_STATE,
           "");
    assert_int_equal(fakeapi_total(f.api), before);
    assert_int_equal(tinkc_training_forward_backward_wait(NULL, f.training, f.data, 1,
                                                          "cross_entropy", NULL, NULL),
                     TINKC_OK);
    assert_int_equal(batchfix_seq(f.api, 0, NULL), 1);
    tinkc_datum_free(&bad);
    batchfix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fwdbwd_failed_chunk),
        cmocka_unit_test(test_fwdbwd_step_after_partial),
        cmocka_unit_test(test_fwdbwd_failed_single),
        cmocka_unit_test(test_fwdbwd_failed_result),
        cmocka_unit_test(test_fwdbwd_cancel),
        cmocka_unit_test(test_fwdbwd_submit_does_not_wait),
        cmocka_unit_test(test_fwdbwd_bad_input),
    };
    return cmocka_run_group_tests_name("training_fwdbwd_fail", tests, NULL, NULL);
}
