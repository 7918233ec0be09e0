/* forward and forward_backward on the scripted peer: chunks, order, budgets, results
 * . What fails is
 * test_training_fwdbwd_fail.c's.
 * Links: peer */
#include <pthread.h>
#include <stdio.h>

#include "support/batchfix.h"

/* M-052, A-030: one chunk; everything of the result can be read. */
static void test_fwdbwd_result(void **unused)
{
    batchfix f = batchfix_open(NULL);
    tinkc_fwdbwd *result = NULL;
    const float *values = NULL;
    const int64_t *dims = NULL, *integers = NULL;
    size_t n = 0;
    double loss = 0;
    assert_int_equal(tinkc_training_forward_backward_wait(&result, f.training, f.data, 3,
                                                          "cross_entropy", NULL, NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_fwdbwd_count(result), 3);
    assert_string_equal(tinkc_fwdbwd_output_type(result), "CrossEntropyLossReturn");
    assert_int_equal(tinkc_fwdbwd_loss(&loss, result, NULL), TINKC_OK);
    assert_true(loss == 2.0 * (2 + 3 + 4));
    assert_int_equal(tinkc_fwdbwd_f32(&values, &n, result, 2, "logprobs", NULL),
                     TINKC_OK);
    assert_int_equal(n, 4);
    assert_true(values[3] == FAKEAPI_TINKER_LOGPROB);
    assert_int_equal(tinkc_fwdbwd_shape(&dims, &n, result, 1, "logprobs", NULL),
                     TINKC_OK);
    assert_true(n == 1 && dims[0] == 3);
    assert_int_equal(tinkc_fwdbwd_i64(&integers, &n, result, 1, "logprobs", NULL),
                     TINKC_E_INVALID);
    assert_int_equal(tinkc_fwdbwd_f32(&values, &n, result, 3, "logprobs", NULL),
                     TINKC_E_MISSING);
    assert_int_equal(tinkc_fwdbwd_f32(&values, &n, result, 0, "nothing", NULL),
                     TINKC_E_MISSING);
    assert_string_equal(tinkc_fwdbwd_name(result, 0, 0), "logprobs");
    assert_null(tinkc_fwdbwd_name(result, 0, 1));
    assert_int_equal(tinkc_metrics_count(tinkc_fwdbwd_metrics(result)), 1);
    tinkc_fwdbwd_free(&result);
    assert_null(result);
    assert_int_equal(batchfix_seq(f.api, 0, NULL), 1);
    const fakeapi_request *poll = fakeapi_nth(f.api, "POST", POST_POLL, 1);
    assert_string_equal(fakeapi_header(poll, "x-tinker-request-type"), "ForwardBackward");
    assert_string_equal(fakeapi_header(poll, "accept"), "application/x-protobuf");
    assert_int_equal(tinkc_fwdbwd_count(NULL), 0);
    batchfix_close(&f);
}

/* M-052: forward is the same request with forward_only. */
static void test_fwdbwd_forward(void **unused)
{
    batchfix f = batchfix_open(NULL);
    tinkc_fwdbwd_options options = TINKC_FWDBWD_OPTIONS_INIT;
    tinkc_number config = {"clip_low_threshold", 0.5};
    fakeapi_tinker_op op;
    options.config = &config;
    options.config_n = 1;
    assert_int_equal(tinkc_training_forward_wait(NULL, f.training, f.data, 1, "my_loss",
                                                 &options, NULL),
                     TINKC_OK);
    assert_true(fakeapi_tinker_op_at(f.api, tinkc_training_model_id(f.training), 1, &op));
    assert_string_equal(op.kind, "forward");
    const fakeapi_request *seen = fakeapi_nth(f.api, "POST", POST_FB, 0);
    assert_non_null(memmem(seen->body, seen->body_n, "my_loss", 7));
    assert_non_null(memmem(seen->body, seen->body_n, "clip_low_threshold", 18));
    assert_string_equal(
        fakeapi_header(fakeapi_nth(f.api, "POST", POST_POLL, 1), "x-tinker-request-type"),
        "Forward");
    batchfix_close(&f);
}

/* M-055: chunks by count; 2..n together, the first when all are
 * accepted. */
static void test_fwdbwd_parallel_chunks(void **unused)
{
    batchfix f = batchfix_open(SMALL);
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    tinkc_fwdbwd *result = NULL;
    double loss = 0;
    fakeapi_default(f.api, "POST", POST_FB, &(fakeapi_step){.pass = true, .gate = gate});
    tinkc_future *future =
        tinkc_training_forward_backward(f.training, f.data, 4, "cross_entropy", NULL);
    assert_true(fakeapi_gate_wait(gate, 3));
    assert_int_equal(fakeapi_count(f.api, "POST", POST_FB), 3);
    bool seen[5] = {false};
    for (size_t i = 0; i < 3; i++) {
        seen[batchfix_seq(f.api, i, NULL)] = true;
    }
    assert_true(seen[2] && seen[3] && seen[4]);
    fakeapi_gate_let(gate, 3);
    assert_true(fakeapi_wait_for(f.api, "POST", POST_FB, 4));
    assert_int_equal(batchfix_seq(f.api, 3, NULL), 1);
    fakeapi_gate_open(gate);
    assert_int_equal(tinkc_future_wait(future, TINKC_FOREVER), TINKC_OK);
    assert_int_equal(tinkc_future_take_fwdbwd(&result, future, NULL), TINKC_OK);
    assert_int_equal(tinkc_fwdbwd_count(result), 4);
    assert_int_equal(tinkc_fwdbwd_loss(&loss, result, NULL), TINKC_OK);
    assert_true(loss == 2.0 * (2 + 3 + 4 + 5)); /* loss:sum adds up */
    const float *values = NULL;
    size_t n = 0;
    for (size_t i = 0; i < 4; i++) { /* in the order of the data */
        assert_int_equal(tinkc_fwdbwd_f32(&values, &n, result, i, "logprobs", NULL),
                         TINKC_OK);
        assert_int_equal(n, i + 2);
    }
    tinkc_fwdbwd_free(&result);
    tinkc_future_free(&future);
    batchfix_close(&f);
}

/* A-019, M-015: in serial mode one request at a time, seq_id ascending. */
static void test_fwdbwd_serial_chunks(void **unused)
{
    batchfix f = batchfix_open(SMALL_LINE);
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    fakeapi_default(f.api, "POST", POST_FB, &(fakeapi_step){.pass = true, .gate = gate});
    tinkc_future *future =
        tinkc_training_forward_backward(f.training, f.data, 5, "cross_entropy", NULL);
    for (size_t i = 0; i < 5; i++) {
        assert_true(fakeapi_wait_for(f.api, "POST", POST_FB, i + 1));
        for (int k = 0; k < 5; k++) { /* time for others to come, if there are any */
            assert_int_equal(tinkc_training_get_info_wait(NULL, f.training, NULL),
                             TINKC_OK);
        }
        assert_int_equal(fakeapi_count(f.api, "POST", POST_FB), i + 1);
        fakeapi_gate_let(gate, 1);
    }
    assert_int_equal(tinkc_future_wait(future, TINKC_FOREVER), TINKC_OK);
    tinkc_future_free(&future);
    assert_int_equal(fakeapi_peak(f.api, "POST", POST_FB), 1);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(batchfix_seq(f.api, i, NULL), i + 1);
    }
    batchfix_close(&f);
}

/* A-034, M-015, M-054: cut by bytes: a datum of k tokens counts 4k + 8k + 4k. */
static void test_fwdbwd_chunks_by_bytes(void **unused)
{
    batchfix f = batchfix_open("{\"fwdbwd_max_chunk_bytes_count\":80,"
                               "\"parallel_fwdbwd_chunks\":false}");
    size_t n = 0;
    assert_int_equal(tinkc_training_forward_backward_wait(NULL, f.training, f.data, 5,
                                                          "cross_entropy", NULL, NULL),
                     TINKC_OK);
    static const size_t expected[] = {2, 1, 1, 1}; /* 32 + 48 = 80; 64; 80; 96 alone */
    assert_int_equal(fakeapi_count(f.api, "POST", POST_FB), 4);
    for (size_t i = 0; i < 4; i++) {
        (void)batchfix_seq(f.api, i, &n);
        assert_int_equal(n, expected[i]);
    }
    batchfix_close(&f);
}

/* limit 2: never more than two submissions at once. */
static void test_fwdbwd_max_parallel(void **unused)
{
    batchfix f = batchfix_open(SMALL);
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    tinkc_fwdbwd_options options = TINKC_FWDBWD_OPTIONS_INIT;
    options.max_parallel_chunks = 2;
    fakeapi_default(f.api, "POST", POST_FB, &(fakeapi_step){.pass = true, .gate = gate});
    tinkc_future *future =
        tinkc_training_forward_backward(f.training, f.data, 8, "cross_entropy", &options);
    for (size_t i = 1; i <= 3; i++) { /* six go in pairs, then the 8th, then the first */
        assert_true(fakeapi_wait_for(f.api, "POST", POST_FB, 2 * i));
        assert_int_equal(fakeapi_in_flight(f.api, "POST", POST_FB), 2);
        fakeapi_gate_let(gate, 2);
    }
    fakeapi_gate_open(gate);
    assert_int_equal(tinkc_future_wait(future, TINKC_FOREVER), TINKC_OK);
    assert_int_equal(fakeapi_peak(f.api, "POST", POST_FB), 2);
    assert_int_equal(fakeapi_count(f.api, "POST", POST_FB), 8);
    tinkc_future_free(&future);
    batchfix_close(&f);
}

/* M-058: the byte budget: a chunk is admitted while anything is left of it. */
static void test_fwdbwd_budget(void **unused)
{
    batchfix f = batchfix_open("{\"fwdbwd_max_chunk_len\":1,"
                               "\"fwdbwd_dispatch_bytes_semaphore_size\":60}");
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    fakeapi_default(f.api, "POST", POST_FB, &(fakeapi_step){.pass = true, .gate = gate});
    tinkc_future *future =
        tinkc_training_forward_backward(f.training, f.data, 4, "cross_entropy", NULL);
    /* chunks 2..4 want 48, 64 and 80: 60 - 48 = 12, 12 - 64 < 0, the third waits */
    assert_true(fakeapi_gate_wait(gate, 2));
    assert_int_equal(fakeapi_count(f.api, "POST", POST_FB), 2);
    fakeapi_gate_let(gate, 2);
    assert_true(fakeapi_wait_for(f.api, "POST", POST_FB, 3));
    fakeapi_gate_open(gate);
    assert_int_equal(tinkc_future_wait(future, TINKC_FOREVER), TINKC_OK);
    tinkc_future_free(&future);
    batchfix_close(&f);
}

/* M-032: zstd when the server asks for it. */
static void test_fwdbwd_compressed(void **unused)
{
    batchfix f =
        batchfix_open("{\"proto_compress_fwdbwd\":true,\"fwdbwd_max_chunk_len\":2}");
    assert_int_equal(tinkc_training_forward_backward_wait(NULL, f.training, f.data, 4,
                                                          "cross_entropy", NULL, NULL),
                     TINKC_OK);
    const fakeapi_request *seen = fakeapi_nth(f.api, "POST", POST_FB, 1);
    assert_string_equal(fakeapi_header(seen, "content-encoding"), "zstd");
    assert_int_equal(fakeapi_tinker_ops(f.api, tinkc_training_model_id(f.training)), 3);
    batchfix_close(&f);
}

/* the step after a batch is submitted while results are awaited; its seq_id
 * follows the block of the batch. */
static void test_fwdbwd_then_step(void **unused)
{
    batchfix f = batchfix_open(SMALL);
    fakeapi_tinker_hold(f.api, true);
    tinkc_future *batch =
        tinkc_training_forward_backward(f.training, f.data, 3, "cross_entropy", NULL);
    tinkc_future *step = tinkc_training_optim_step(f.training, NULL);
    assert_true(fakeapi_wait_for(f.api, "POST", POST_STEP, 1));
    assert_int_equal(fakeapi_count(f.api, "POST", POST_FB), 3);
    assert_non_null(
        strstr(fakeapi_nth(f.api, "POST", POST_STEP, 0)->body, "\"seq_id\":4"));
    assert_int_equal(fakeapi_tinker_finish(f.api, 4), 4);
    assert_int_equal(tinkc_future_wait(batch, TINKC_FOREVER), TINKC_OK);
    assert_int_equal(tinkc_future_wait(step, TINKC_FOREVER), TINKC_OK);
    tinkc_future_free(&batch);
    tinkc_future_free(&step);
    batchfix_close(&f);
}

/* ---- callbacks ---- */

/* Written by the loop's thread, waited for by the test. */
typedef struct seen_chunks {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t firsts[DATA_MAX];
    size_t n;
} seen_chunks;

#define SEEN_INIT                                                                        \
    {                                                                                    \
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER           \
    }

static void wait_seen(seen_chunks *seen, size_t n)
{
    struct timespec end;
    (void)clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += FAKEAPI_WAIT_CAP_S;
    pthread_mutex_lock(&seen->lock);
    while (seen->n < n &&
           pthread_cond_timedwait(&seen->changed, &seen->lock, &end) == 0) {
    }
    size_t have = seen->n;
    pthread_mutex_unlock(&seen->lock);
    assert_true(have >= n);
}

static void on_chunk(const tinkc_fwdbwd *part, size_t first, size_t n, void *user)
{
    seen_chunks *seen = user;
    const char *name = NULL;
    double value = 0;
    assert_int_equal(tinkc_fwdbwd_count(part), n);
    assert_true(tinkc_metrics_at(&name, &value, tinkc_fwdbwd_metrics(part), 0));
    assert_string_equal(name, "loss:sum");
    pthread_mutex_lock(&seen->lock);
    seen->firsts[seen->n++] = first;
    pthread_cond_signal(&seen->changed);
    pthread_mutex_unlock(&seen->lock);
}

/* The request id of the chunk with that seq_id. */
static const char *request_of(batchfix *f, int64_t seq_id)
{
    const char *id = tinkc_training_model_id(f->training);
    static fakeapi_tinker_op op;
    for (size_t i = 0; fakeapi_tinker_op_at(f->api, id, i, &op); i++) {
        if (op.seq_id == seq_id) {
            return op.request_id;
        }
    }
    return NULL;
}

static void run_callbacks(bool in_order, const size_t expected[3])
{
    batchfix f = batchfix_open(SMALL);
    seen_chunks seen = SEEN_INIT;
    tinkc_fwdbwd_options options = TINKC_FWDBWD_OPTIONS_INIT;
    options.on_chunk = on_chunk;
    options.chunks_in_order = in_order;
    options.user = &seen;
    fakeapi_tinker_hold(f.api, true);
    tinkc_future *future =
        tinkc_training_forward_backward(f.training, f.data, 3, "cross_entropy", &options);
    assert_true(fakeapi_wait_in_flight(f.api, "POST", POST_POLL, 3));
    for (int64_t seq_id = 3; seq_id > 0; seq_id--) { /* the last one first */
        assert_true(fakeapi_tinker_finish_one(f.api, request_of(&f, seq_id)));
        assert_true(
            fakeapi_wait_in_flight(f.api, "POST", POST_POLL, (size_t)(seq_id - 1)));
        if (!in_order) {
            wait_seen(&seen, (size_t)(4 - seq_id)); /* two answers may arrive together */
        }
    }
    assert_int_equal(tinkc_future_wait(future, TINKC_FOREVER), TINKC_OK);
    assert_int_equal(seen.n, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(seen.firsts[i], expected[i]);
    }
    tinkc_future_free(&future);
    batchfix_close(&f);
}

/* M-060: chunks that finish in reverse are seen so; or in order when
 * asked. */
static void test_fwdbwd_callbacks(void **unused)
{
    run_callbacks(false, (const size_t[]){2, 1, 0});
    run_callbacks(true, (const size_t[]){0, 1, 2});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fwdbwd_result),
        cmocka_unit_test(test_fwdbwd_forward),
        cmocka_unit_test(test_fwdbwd_parallel_chunks),
        cmocka_unit_test(test_fwdbwd_serial_chunks),
        cmocka_unit_test(test_fwdbwd_chunks_by_bytes),
        cmocka_unit_test(test_fwdbwd_max_parallel),
        cmocka_unit_test(test_fwdbwd_budget),
        cmocka_unit_test(test_fwdbwd_compressed),
        cmocka_unit_test(test_fwdbwd_then_step),
        cmocka_unit_test(test_fwdbwd_callbacks),
    };
    return cmocka_run_group_tests_name("training_fwdbwd", tests, NULL, NULL);
}
