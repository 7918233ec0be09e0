/* A whole step on the scripted peer: both requests before any result, both results, and
 * no optimizer after a batch that failed.
 * Links: peer */
#include "support/batchfix.h"

static const tinkc_adam_params slow = {
    sizeof(tinkc_adam_params), 1e-3, 0.9, 0.95, 1e-8, 0.0, 0.0};

static tinkc_step_options options_with(const tinkc_adam_params *adam)
{
    tinkc_step_options options = TINKC_STEP_OPTIONS_INIT;
    options.adam = adam;
    return options;
}

/* Both are at the server although neither has a result; one future for both. */
static void test_step_both(void **unused)
{
    (void)unused;
    batchfix f = batchfix_open(NULL);
    tinkc_step_options options = options_with(&slow);
    tinkc_step *step = NULL;
    tinkc_wait wait = TINKC_WAIT_INIT;
    double loss = 0;
    fakeapi_tinker_hold(f.api, true);
    tinkc_future *future =
        tinkc_training_step(f.training, f.data, 2, "cross_entropy", &options);
    assert_true(fakeapi_wait_for(f.api, "POST", POST_FB, 1));
    assert_true(fakeapi_wait_for(f.api, "POST", POST_STEP, 1));
    assert_false(tinkc_future_is_done(future));
    assert_int_equal(tinkc_future_status(&wait, future, NULL), TINKC_OK);
    assert_string_equal(wait.operation, "forward_backward");
    fakeapi_tinker_hold(f.api, false);
    assert_int_equal(fakeapi_tinker_finish(f.api, 2), 2);
    assert_int_equal(tinkc_future_await_step(&step, &future, NULL), TINKC_OK);
    assert_null(future);
    assert_int_equal(tinkc_fwdbwd_count(tinkc_step_fwdbwd(step)), 2);
    assert_int_equal(tinkc_step_loss(&loss, step, NULL), TINKC_OK);
    assert_non_null(tinkc_step_metrics(step));
    const fakeapi_request *sent = fakeapi_nth(f.api, "POST", POST_STEP, 0);
    assert_non_null(strstr(sent->body, "\"learning_rate\":0.001"));
    tinkc_step_free(&step);
    assert_null(step);
    tinkc_step_free(NULL);
    assert_int_equal(tinkc_training_step_wait(NULL, f.training, f.data, 1,
                                              "cross_entropy", NULL, NULL),
                     TINKC_OK);
    batchfix_close(&f);
}

/* A batch that is refused, in whole or in part: the optimizer is not sent, its error is
 * the batch's, and the next step works. */
static void test_step_batch_fails(void **unused)
{
    (void)unused;
    static const char *const flags[] = {NULL, SMALL};
    for (size_t i = 0; i < TK_ARRAY_LEN(flags); i++) {
        batchfix f = batchfix_open(flags[i]);
        tinkc_error *error = NULL;
        /* answered when both halves have been called */
        fakeapi_gate *gate = fakeapi_gate_new(f.api);
        fakeapi_reply(f.api, "POST", POST_FB,
                      &(fakeapi_step){.status = 422,
                                      .body = "{\"detail\":\"bad chunk\"}",
                                      .gate = gate});
        tinkc_future *step =
            tinkc_training_step(f.training, f.data, 3, "cross_entropy", NULL);
        fakeapi_gate_open(gate);
        assert_int_equal(tinkc_future_await_step(NULL, &step, &error),
                         TINKC_E_UNPROCESSABLE);
        assert_non_null(strstr(tinkc_error_message(error), "bad chunk"));
        assert_int_equal(tinkc_error_http_status(error), 422);
        assert_int_equal(fakeapi_count(f.api, "POST", POST_STEP), 0);
        tinkc_error_free(&error);
        assert_int_equal(tinkc_training_step_wait(NULL, f.training, f.data, 3,
                                                  "cross_entropy", NULL, NULL),
                         TINKC_OK);
        assert_int_equal(fakeapi_count(f.api, "POST", POST_STEP), 1);
        /* The number of the step that was not sent is used again, unless steps below it
         * are refused: then the server waits for it. */
        assert_non_null(strstr(fakeapi_nth(f.api, "POST", POST_STEP, 0)->body,
                               i == 0 ? "\"seq_id\":3" : "\"seq_id\":8"));
        batchfix_close(&f);
    }
}

/* A later step is not harmed by one that failed before it. */
static void test_step_next_goes_on(void **unused)
{
    (void)unused;
    batchfix f = batchfix_open(NULL);
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    fakeapi_reply(
        f.api, "POST", POST_FB,
        &(fakeapi_step){.status = 422, .body = "{\"detail\":\"no\"}", .gate = gate});
    tinkc_future *first =
        tinkc_training_step(f.training, f.data, 1, "cross_entropy", NULL);
    tinkc_future *second =
        tinkc_training_step(f.training, f.data, 1, "cross_entropy", NULL);
    fakeapi_gate_open(gate);
    assert_int_equal(tinkc_future_await_step(NULL, &first, NULL), TINKC_E_UNPROCESSABLE);
    assert_int_equal(tinkc_future_await_step(NULL, &second, NULL), TINKC_OK);
    assert_int_equal(fakeapi_count(f.api, "POST", POST_STEP), 1);
    batchfix_close(&f);
}

/* The optimizer alone fails: that is the error, and the batch stays applied. */
static void test_step_optim_fails(void **unused)
{
    (void)unused;
    batchfix f = batchfix_open(NULL);
    tinkc_error *error = NULL;
    fakeapi_reply(f.api, "POST", POST_STEP, &fakeapi_detail(404, "no such model"));
    assert_int_equal(tinkc_training_step_wait(NULL, f.training, f.data, 1,
                                              "cross_entropy", NULL, &error),
                     TINKC_E_NOT_FOUND);
    assert_non_null(strstr(tinkc_error_message(error), "no such model"));
    tinkc_error_free(&error);
    batchfix_close(&f);
}

/* What cannot be sent is refused before anything is: neither part goes out. */
static void test_step_refused(void **unused)
{
    (void)unused;
    batchfix f = batchfix_open(NULL);
    tinkc_adam_params bad = slow;
    bad.learning_rate = -1;
    tinkc_step_options options = options_with(&bad);
    assert_int_equal(tinkc_training_step_wait(NULL, f.training, f.data, 1,
                                              "cross_entropy", &options, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(tinkc_training_step_wait(NULL, f.training, f.data, 0,
                                              "cross_entropy", NULL, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(
        tinkc_training_step_wait(NULL, NULL, f.data, 1, "cross_entropy", NULL, NULL),
        TINKC_E_STATE);
    assert_int_equal(fakeapi_count(f.api, "POST", POST_FB), 0);
    assert_int_equal(fakeapi_count(f.api, "POST", POST_STEP), 0);
    batchfix_close(&f);
}

/* Cancelling the one future ends both parts; the model works on. */
static void test_step_cancel(void **unused)
{
    (void)unused;
    batchfix f = batchfix_open(NULL);
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    fakeapi_reply(f.api, "POST", POST_FB, &(fakeapi_step){.gate = gate});
    tinkc_future *future =
        tinkc_training_step(f.training, f.data, 1, "cross_entropy", NULL);
    assert_true(fakeapi_gate_wait(gate, 1));
    tinkc_future_cancel(future);
    assert_int_equal(tinkc_future_await_step(NULL, &future, NULL), TINKC_E_CANCELLED);
    assert_int_equal(tinkc_training_step_wait(NULL, f.training, f.data, 1,
                                              "cross_entropy", NULL, NULL),
                     TINKC_OK);
    assert_int_equal(fakeapi_count(f.api, "POST", POST_STEP), 1);
    batchfix_close(&f);
}

/* The future of a step may go before it is done, and with its result in it. */
static void test_step_dropped(void **unused)
{
    (void)unused;
    batchfix f = batchfix_open(NULL);
    tinkc_future *future =
        tinkc_training_step(f.training, f.data, 1, "cross_entropy", NULL);
    tinkc_future_free(&future);
    assert_true(fakeapi_wait_for(f.api, "POST", POST_STEP, 1));
    future = tinkc_training_step(f.training, f.data, 1, "cross_entropy", NULL);
    assert_int_equal(tinkc_future_wait(future, TINKC_FOREVER), TINKC_OK);
    tinkc_future_free(&future);
    batchfix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_step_both),         cmocka_unit_test(test_step_batch_fails),
        cmocka_unit_test(test_step_next_goes_on), cmocka_unit_test(test_step_optim_fails),
        cmocka_unit_test(test_step_refused),      cmocka_unit_test(test_step_cancel),
        cmocka_unit_test(test_step_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
