/* Many threads on few models: calls, cancels, waits and closes at random; the peer sees
 * every number at most once and in order. Meant to be
 * run under TSan, too.
 * Links: peer */
#include <tinkc/training.h>

#include <pthread.h>

#include "base/rand.h"
#include "support/datumfix.h"
#include "support/fakeapi_tinker.h"
#include "support/servicefix.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_in_order),
        cmocka_unit_test(test_threads_cancel),
        cmocka_unit_test(test_threads_close),
    };
    return cmocka_run_group_tests_name("training_threads", tests, NULL, NULL);
}
