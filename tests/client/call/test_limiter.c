/* The rule of the sampling limiter, and the registry of limiters that a process shares
 * (docs/protocol.md §7.1; A-007..A-009, A-011, A-014, A-090). */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tinkc/service.h>

#include "client/call/limiter.h"
#include "support/clientfix.h"

static void test_limiter_recent(void **unused)
{
    assert_false(tk_limiter_is_recent(TK_LIMITER_NEVER, 0));
    assert_true(tk_limiter_is_recent(5000, 0)); /* still to come */
    assert_true(tk_limiter_is_recent(5000, 14999));
    assert_false(tk_limiter_is_recent(5000, 15000));
}

/* */
static void test_limiter_pause(void **unused)
{
    static const struct {
        int64_t bytes, hint, pause;
    } rows[] = {{0, -1, 1000},        {131072, -1, 1000},     {131073, -1, 5000},
                {10, 999, 1000},      {10, 7000, 7000},       {131073, 4000, 5000},
                {131073, 9000, 9000}, {10, 3600001, 3600000}, {10, INT64_MAX, 3600000}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        assert_int_equal(tk_limiter_pause_ms(rows[i].bytes, rows[i].hint), rows[i].pause);
    }
}

static tk_limiter_need need_of(int64_t bytes)
{
    return (tk_limiter_need){.limits = {.dispatch = 2, .throttled = 1, .bytes = 100},
                             .bytes = bytes,
                             .cost = -1};
}

/* M-079: a sample takes a place, then bytes; the one after the last place waits. */
static void test_limiter_steps(void **unused)
{
    tk_limiter_use use = {0};
    tk_limiter_need a = need_of(60), b = need_of(60), c = need_of(60);
    for (int i = 0; i < 3; i++) { /* not throttled: 60 bytes each */
        assert_true(tk_limiter_advance(&use, &a, TK_LIMITER_NEVER, 0));
        assert_true(tk_limiter_advance(&use, &b, TK_LIMITER_NEVER, 0));
    }
    assert_int_equal(use.dispatch, 2);
    assert_int_equal(use.throttled, 0);
    assert_int_equal(use.bytes, 120);
    assert_int_equal(a.step, TK_LIMITER_HELD);
    assert_false(tk_limiter_advance(&use, &a, TK_LIMITER_NEVER, 0));
    assert_false(tk_limiter_advance(&use, &c, TK_LIMITER_NEVER, 0));
}

/* M-079: the pause is read again before each of the two later steps: one that comes in
 * between raises the cost in bytes, one that was long ago does not. */
static void test_limiter_throttled(void **unused)
{
    tk_limiter_use use = {0};
    tk_limiter_need a = need_of(4), b = need_of(4);
    assert_true(tk_limiter_advance(&use, &a, TK_LIMITER_NEVER, 0));
    assert_true(tk_limiter_advance(&use, &a, TK_LIMITER_NEVER, 0));
    assert_true(tk_limiter_advance(&use, &a, 1000, 0));
    assert_int_equal(use.throttled, 0);
    assert_int_equal(a.cost, 80);
    assert_true(tk_limiter_advance(&use, &b, 1000, 0));
    assert_true(tk_limiter_advance(&use, &b, 1000, 0));
    assert_int_equal(use.throttled, 1);
    assert_true(tk_limiter_advance(&use, &b, 1000, 11000));
    assert_int_equal(b.cost, 4);
    use = (tk_limiter_use){.throttled = 1};
    tk_limiter_need c = need_of(4);
    assert_true(tk_limiter_advance(&use, &c, 1000, 0));
    assert_false(tk_limiter_advance(&use, &c, 1000, 0));
    assert_true(tk_limiter_advance(&use, &c, 1000, 11000));
    tk_limiter_need huge = need_of(INT64_MAX);
    huge.step = TK_LIMITER_BYTES;
    use.bytes = 0;
    assert_true(tk_limiter_advance(&use, &huge, 1000, 0));
    assert_true(use.bytes > 0);
}

/* from any number of threads, the latest moment stays. */
static void *raise_it(void *user)
{
    tk_limiter *limiter = user;
    for (int64_t i = 0; i < 20000; i++) {
        int64_t seen = tk_limiter_until_ms(limiter);
        tk_limiter_back_off(limiter, i);
        assert_true(tk_limiter_until_ms(limiter) >= seen);
    }
    return NULL;
}

/* four threads raise the end of a pause: the latest one wins. */
static void test_limiter_deadline_moves_later(void **unused)
{
    tk_limiter *limiter = NULL;
    pthread_t threads[4];
    assert_int_equal(tk_limiter_open(&limiter, TK_STR("http://h"), TK_STR("k"), NULL),
                     TINKC_OK);
    assert_true(tk_limiter_until_ms(limiter) == TK_LIMITER_NEVER);
    for (size_t i = 0; i < TK_ARRAY_LEN(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, raise_it, limiter), 0);
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(threads); i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(tk_limiter_until_ms(limiter), 19999);
    tk_limiter_close(&limiter);
    assert_null(limiter);
}

/* a thousand, closed in another order; every server and key has one. */
static void test_limiter_registry(void **unused)
{
    enum { N = 1000 };
    tk_limiter *limiters[N];
    tk_rand rand;
    tk_rand_init(&rand, 7);
    for (size_t i = 0; i < N; i++) {
        static const char *const servers[] = {"http://a", "http://b"};
        static const char *const keys[] = {"x", "y"};
        assert_int_equal(tk_limiter_open(&limiters[i], tk_str_of(servers[i % 2]),
                                         tk_str_of(keys[i / 2 % 2]), NULL),
                         TINKC_OK);
        assert_ptr_equal(limiters[i], limiters[i % 4]);
    }
    assert_int_equal(tk_limiter_count(), 4);
    for (size_t n = N; n > 0; n--) {
        size_t pick = (size_t)(tk_rand_double(&rand) * (double)n);
        tk_limiter_close(&limiters[pick]);
        limiters[pick] = limiters[n - 1];
    }
    assert_int_equal(tk_limiter_count(), 0);
}

/* All have called before the first one closes. */
typedef struct first {
    pthread_barrier_t *all;
    const tk_limiter *limiter; /* NULL: it failed */
} first;

static void *first_call(void *user)
{
    first *self = user;
    tinkc_config *config = NULL;
    tinkc_service *service = NULL;
    if (tinkc_config_new(&config, NULL) == TINKC_OK &&
        tinkc_config_set(config, "base_url", "http://127.0.0.1:1", NULL) == TINKC_OK &&
        tinkc_config_set(config, "api_key", "tml-k", NULL) == TINKC_OK &&
        tinkc_service_open(&service, config, NULL) == TINKC_OK) {
        self->limiter = tk_core_limiter_port(tk_service_core(service))->limiter;
    }
    (void)pthread_barrier_wait(self->all);
    tinkc_config_free(&config);
    tinkc_service_close(&service);
    return NULL;
}

/* runs first in this program, so that nothing is initialised yet. They share one
 * limiter. */
static void test_limiter_first_call(void **unused)
{
    enum { N = 32 };
    pthread_t threads[N];
    first callers[N];
    pthread_barrier_t all;
    assert_int_equal(pthread_barrier_init(&all, NULL, N), 0);
    for (size_t i = 0; i < N; i++) {
        callers[i] = (first){.all = &all};
        assert_int_equal(pthread_create(&threads[i], NULL, first_call, &callers[i]), 0);
    }
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_non_null(callers[i].limiter);
        assert_ptr_equal(callers[i].limiter, callers[0].limiter);
    }
    assert_int_equal(pthread_barrier_destroy(&all), 0);
    assert_int_equal(tk_limiter_count(), 0);
}

/* A-014, M-168: in a forked child the parent's limiters are gone, its handles can be
 * closed, and new ones start from nothing; the parent keeps its own. */
static void test_limiter_fork(void **unused)
{
    tinkc_config *config = NULL;
    tinkc_service *service = NULL;
    assert_int_equal(tinkc_config_new(&config, NULL), TINKC_OK);
    assert_int_equal(tinkc_config_set(config, "base_url", "http://127.0.0.1:1", NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_service_open(&service, config, NULL), TINKC_OK);
    assert_int_equal(tk_limiter_count(), 1);
    pid_t child = fork();
    if (child == 0) {
        bool ok = tk_limiter_count() == 0;
        tinkc_service *own = NULL;
        tinkc_service_close(&service);
        ok = ok && tk_limiter_count() == 0 &&
             tinkc_config_set(config, "loop", "manual", NULL) == TINKC_OK &&
             tinkc_service_open(&own, config, NULL) == TINKC_OK &&
             tk_limiter_count() == 1;
        tinkc_service_close(&own);
        _exit(ok && tk_limiter_count() == 0 ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(tk_limiter_count(), 1);
    tinkc_service_close(&service);
    tinkc_config_free(&config);
    assert_int_equal(tk_limiter_count(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limiter_first_call),
        cmocka_unit_test(test_limiter_recent),
        cmocka_unit_test(test_limiter_pause),
        cmocka_unit_test(test_limiter_steps),
        cmocka_unit_test(test_limiter_throttled),
        cmocka_unit_test(test_limiter_deadline_moves_later),
        cmocka_unit_test(test_limiter_registry),
        cmocka_unit_test(test_limiter_fork),
    };
    return cmocka_run_group_tests_name("limiter", tests, NULL, NULL);
}
