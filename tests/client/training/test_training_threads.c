/* Many threads on few models: calls, cancels, waits and closes at random; the peer sees
 * every number at most once and in order. No call waits
 * for the encoding of another. Meant to be run under TSan, too.
 * Links: peer */
#include <tinkc/training.h>

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/rand.h"
#include "support/datumfix.h"
#include "support/fakeapi_tinker.h"
#include "support/gate.h"
#include "support/trainfix.h"

#define THREADS 8
#define MODELS  4
#define CALLS   40

typedef struct worker {
    tinkc_service *service;
    tinkc_training *training; /* shared by two threads */
    tinkc_datum *datum;
    uint64_t seed;
    bool may_cancel;
} worker;

static tinkc_future *any_call(const worker *self, tk_rand *rand)
{
    tinkc_datum *data[] = {self->datum, self->datum, self->datum};
    switch (tk_rand_below(rand, 6)) {
    case 0:
        return tinkc_training_optim_step(self->training, NULL);
    case 1:
        return tinkc_training_forward(self->training, data, 2, "cross_entropy", NULL);
    case 2:
        return tinkc_training_get_info(self->training);
    case 3:
        return tinkc_training_save_and_sample(self->training);
    case 4:
        return tinkc_training_forward_backward_custom(self->training, data, 2,
                                                      datumfix_flat_loss, NULL);
    default:
        return tinkc_training_forward_backward(self->training, data, 3, "cross_entropy",
                                               NULL);
    }
}

/* Has up to four calls under way; each is waited for, cancelled or just let go. */
static void *work(void *user)
{
    const worker *self = user;
    tinkc_future *futures[4] = {NULL};
    tk_rand rand;
    tk_rand_init(&rand, self->seed);
    for (int i = 0; i < CALLS; i++) {
        tinkc_future **slot = &futures[tk_rand_below(&rand, 4)];
        uint64_t fate = self->may_cancel ? tk_rand_below(&rand, 3) : 0;
        if (*slot != NULL && fate == 0) {
            tinkc_code code = tinkc_future_wait(*slot, TINKC_FOREVER);
            assert_true(self->may_cancel || code == TINKC_OK);
        } else if (*slot != NULL && fate == 1) {
            tinkc_future_cancel(*slot);
        }
        tinkc_future_free(slot);
        *slot = any_call(self, &rand);
    }
    for (int i = 0; i < 4; i++) {
        if (futures[i] != NULL) {
            (void)tinkc_future_wait(futures[i], TINKC_FOREVER);
            tinkc_future_free(&futures[i]);
        }
    }
    return NULL;
}

typedef struct crowd {
    fakeapi *api;
    tinkc_service *service;
    tinkc_training *models[MODELS];
    tinkc_datum *datum;
    worker workers[THREADS];
    pthread_t threads[THREADS];
} crowd;

static void start_crowd(crowd *c, bool may_cancel)
{
    c->api = fakeapi_start();
    fakeapi_tinker(
        c->api, &(fakeapi_tinker_options){.config = "{\"fwdbwd_max_chunk_len\":1,"
                                                    "\"parallel_fwdbwd_chunks\":false}"});
    c->service = servicefix_open(c->api, NULL);
    c->datum = datumfix_new();
    for (size_t i = 0; i < MODELS; i++) {
        assert_int_equal(tinkc_service_create_training_wait(&c->models[i], c->service,
                                                            "m", NULL, NULL),
                         TINKC_OK);
    }
    for (size_t i = 0; i < THREADS; i++) {
        c->workers[i] = (worker){.service = c->service,
                                 .training = c->models[i % MODELS],
                                 .datum = c->datum,
                                 .seed = i + 1,
                                 .may_cancel = may_cancel};
        assert_int_equal(pthread_create(&c->threads[i], NULL, work, &c->workers[i]), 0);
    }
}

static void join_crowd(crowd *c)
{
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(c->threads[i], NULL), 0);
    }
}

static void end_crowd(crowd *c)
{
    for (size_t i = 0; i < MODELS; i++) {
        tinkc_training_close(&c->models[i]);
    }
    tinkc_service_close(&c->service);
    tinkc_datum_free(&c->datum);
    fakeapi_stop(&c->api);
}

/* Numbers of a model ascend; without cancels there is no gap. */
static void check_numbers(crowd *c, bool dense)
{
    for (size_t m = 0; m < MODELS; m++) {
        const char *id = tinkc_training_model_id(c->models[m]);
        int64_t last = 0;
        fakeapi_tinker_op op;
        for (size_t i = 1; fakeapi_tinker_op_at(c->api, id, i, &op); i++) {
            assert_true(op.seq_id > last);
            assert_true(!dense || op.seq_id == last + 1);
            last = op.seq_id;
        }
        assert_true(last > 0);
    }
    assert_int_equal(fakeapi_tinker_conflicts(c->api), 0);
}

/* M-167: eight threads on four models: every number once and in order. */
static void test_threads_in_order(void **unused)
{
    static crowd c;
    start_crowd(&c, false);
    join_crowd(&c);
    check_numbers(&c, true);
    end_crowd(&c);
}

/* A request that was on the wire when it was cancelled may arrive late or never; what
 * comes after it works all the same. */
static void test_threads_cancel(void **unused)
{
    static crowd c;
    start_crowd(&c, true);
    join_crowd(&c);
    for (size_t i = 0; i < MODELS; i++) {
        assert_int_equal(tinkc_training_optim_step_wait(NULL, c.models[i], NULL, NULL),
                         TINKC_OK);
    }
    end_crowd(&c);
}

/* the service is closed while all of them call and wait. */
static void test_threads_close(void **unused)
{
    static crowd c;
    start_crowd(&c, true);
    assert_true(fakeapi_wait_for(c.api, "POST", "/api/v1/optim_step", 4));
    tinkc_service_close(&c.service);
    join_crowd(&c);
    end_crowd(&c);
}

/* ---- a call that is held in the middle of its encoding ---- */

typedef struct held {
    trainfix f;
    tinkc_datum *datum;
    size_t at; /* the allocation of the call in which it is held */
    gate here, go, done;
    bool was_held;
    tinkc_future *batch, *step;
} held;

static held the_held;
static _Thread_local size_t allocations_left; /* 0: this thread is never held */

static void *holding_realloc(void *user, void *ptr, size_t size)
{
    held *h = user;
    if (allocations_left > 0 && --allocations_left == 0) {
        h->was_held = true;
        gate_raise(&h->here);
        (void)gate_wait(&h->go, 1);
    }
    return realloc(ptr, size);
}

static void plain_free(void *user, void *ptr)
{
    free(ptr);
}

static void *call_batch(void *user)
{
    held *h = user;
    tinkc_datum *data[] = {h->datum, h->datum, h->datum};
    allocations_left = h->at;
    h->batch =
        tinkc_training_forward_backward(h->f.training, data, 3, "cross_entropy", NULL);
    allocations_left = 0;
    gate_raise(&h->here);
    return NULL;
}

static void *call_step(void *user)
{
    held *h = user;
    h->step = tinkc_training_optim_step(h->f.training, NULL);
    if (tinkc_future_wait(h->step, GATE_CAP_MS) == TINKC_OK) {
        gate_raise(&h->done);
    }
    return NULL;
}

/* Holds a batch in its nth allocation; false when it has fewer. */
static bool hold_at(held *h, size_t n)
{
    pthread_t batch, step;
    gate_init(&h->here);
    gate_init(&h->go);
    gate_init(&h->done);
    h->at = n;
    h->was_held = false;
    assert_int_equal(pthread_create(&batch, NULL, call_batch, h), 0);
    assert_true(gate_wait(&h->here, 1));
    assert_int_equal(pthread_create(&step, NULL, call_step, h), 0);
    bool is_done = gate_wait(&h->done, 1); /* while the batch is still held */
    gate_raise(&h->go);
    assert_int_equal(pthread_join(batch, NULL), 0);
    assert_int_equal(pthread_join(step, NULL), 0);
    if (!is_done) {
        fail_msg("held in allocation %zu, a batch stops the step of another thread", n);
    }
    assert_int_equal(tinkc_future_wait(h->batch, GATE_CAP_MS), TINKC_OK);
    tinkc_future_free(&h->batch);
    tinkc_future_free(&h->step);
    gate_dispose(&h->here);
    gate_dispose(&h->go);
    gate_dispose(&h->done);
    return h->was_held;
}

/* wherever a batch is in its preparation, the step of another thread is called,
 * sent and answered: encoding holds nothing that others need, and takes no number before
 * it is finished. */
static void test_threads_encoding_holds_nothing(void **unused)
{
    held *h = &the_held;
    tk_mem_set_hooks(&(tk_mem_hooks){holding_realloc, plain_free, h});
    h->f = trainfix_open(NULL, NULL);
    h->datum = datumfix_new();
    size_t n = 1;
    while (hold_at(h, n)) {
        n++;
    }
    assert_true(n > 5);
    assert_int_equal(fakeapi_tinker_conflicts(h->f.api), 0);
    tinkc_datum_free(&h->datum);
    trainfix_close(&h->f);
    tk_mem_set_hooks(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_in_order),
        cmocka_unit_test(test_threads_cancel),
        cmocka_unit_test(test_threads_close),
        cmocka_unit_test(test_threads_encoding_holds_nothing),
    };
    return cmocka_run_group_tests_name("training_threads", tests, NULL, NULL);
}
