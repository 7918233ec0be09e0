/* Threads: names, signal masks, deadlines, once, reported failures. */
#include "base/thread.h"

#include <signal.h>
#include <stdatomic.h>

#include "support/failmem.h"
#include "support/test.h"

typedef struct seen {
    char name[32];
    sigset_t mask;
    tk_thread *self;
    tk_mutex lock;
    tk_cond cond;
    bool ready;
} seen;

static void look_around(void *user)
{
    seen *out = user;
    (void)pthread_getname_np(pthread_self(), out->name, sizeof(out->name));
    (void)pthread_sigmask(SIG_SETMASK, NULL, &out->mask);
}

static void test_thread_name_and_signals(void **unused)
{
    seen out = {.ready = false};
    sigset_t before;
    sigset_t after;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &before);
    tk_thread thread;
    tinkc_code code =
        tk_thread_start(&thread, "tinkc-a-name-too-long", look_around, &out, NULL);
    assert_int_equal(code, TINKC_OK);
    assert_false(tk_thread_is_current(&thread));
    tk_thread_join(&thread);
    assert_string_equal(out.name, "tinkc-a-name-to");
    assert_int_equal(sigismember(&out.mask, SIGINT), 1);
    assert_int_equal(sigismember(&out.mask, SIGCHLD), 1);
    assert_int_equal(sigismember(&out.mask, SIGPIPE), 1);
    assert_int_equal(sigismember(&out.mask, SIGSEGV), 0);
    (void)pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_int_equal(sigismember(&after, SIGINT), sigismember(&before, SIGINT));
}

static void announce(void *user)
{
    seen *out = user;
    tk_mutex_lock(&out->lock);
    out->ready = tk_thread_is_current(out->self);
    tk_cond_signal(&out->cond);
    tk_mutex_unlock(&out->lock);
}

static void test_thread_condition(void **unused)
{
    tk_thread thread;
    seen out = {.self = &thread};
    assert_int_equal(tk_mutex_init(&out.lock, NULL), TINKC_OK);
    assert_int_equal(tk_cond_init(&out.cond, NULL), TINKC_OK);
    tk_mutex_lock(&out.lock); /* holds the thread back until `thread` is written */
    assert_int_equal(tk_thread_start(&thread, "t", announce, &out, NULL), TINKC_OK);
    int64_t far = tk_clock_after(tk_clock_mono_ns(NULL), 60000 * TK_NS_PER_MS);
    while (!out.ready) {
        assert_true(tk_cond_wait_until(&out.cond, &out.lock, far));
    }
    tk_mutex_unlock(&out.lock);
    tk_thread_join(&thread);
    out.ready = false;
    tk_mutex_lock(&out.lock);
    assert_int_equal(tk_thread_start(&thread, "t", announce, &out, NULL), TINKC_OK);
    while (!out.ready) {
        assert_true(tk_cond_wait_until(&out.cond, &out.lock, TK_FOREVER));
    }
    tk_mutex_unlock(&out.lock);
    tk_thread_join(&thread);
    tk_cond_dispose(&out.cond);
    tk_mutex_dispose(&out.lock);
}

/* The deadline is on the monotonic clock: read on the wall clock it would have passed
 * decades ago, and the last wait would end before it. */
static void test_thread_try_lock(void **unused)
{
    tk_mutex lock;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_mutex_init(&lock, &err), TINKC_OK);
    assert_true(tk_mutex_try_lock(&lock));
    assert_false(tk_mutex_try_lock(&lock));
    tk_mutex_unlock(&lock);
    tk_mutex_lock(&lock);
    assert_false(tk_mutex_try_lock(&lock));
    tk_mutex_unlock(&lock);
    tk_mutex_dispose(&lock);
}

static void test_thread_deadline_passes(void **unused)
{
    tk_mutex lock = TK_MUTEX_INIT;
    tk_cond cond;
    assert_int_equal(tk_cond_init(&cond, NULL), TINKC_OK);
    tk_mutex_lock(&lock);
    assert_false(tk_cond_wait_until(&cond, &lock, tk_clock_mono_ns(NULL)));
    assert_false(tk_cond_wait_until(&cond, &lock, -5));
    int64_t soon = tk_clock_mono_ns(NULL) + 2 * TK_NS_PER_MS;
    while (tk_cond_wait_until(&cond, &lock, soon)) {
    }
    assert_true(tk_clock_mono_ns(NULL) >= soon);
    tk_mutex_unlock(&lock);
    tk_cond_dispose(&cond);
    tk_mutex_dispose(&lock);
}

static atomic_int runs;

static void count_run(void)
{
    (void)atomic_fetch_add(&runs, 1);
}

static void use_once(void *user)
{
    tk_once_run(user, count_run);
    assert_int_equal(atomic_load(&runs), 1);
}

static void test_thread_once(void **unused)
{
    tk_once once = TK_ONCE_INIT;
    tk_thread threads[4];
    for (size_t i = 0; i < TK_ARRAY_LEN(threads); i++) {
        assert_int_equal(tk_thread_start(&threads[i], "once", use_once, &once, NULL),
                         TINKC_OK);
    }
    use_once(&once);
    for (size_t i = 0; i < TK_ARRAY_LEN(threads); i++) {
        tk_thread_join(&threads[i]);
    }
}

static void never(void *user)
{
    *(bool *)user = true;
}

static void test_thread_start_failure_is_reported(void **unused)
{
    pthread_attr_t usual;
    pthread_attr_t huge;
    assert_int_equal(pthread_getattr_default_np(&usual), 0);
    assert_int_equal(pthread_getattr_default_np(&huge), 0);
    assert_int_equal(pthread_attr_setstacksize(&huge, (size_t)1 << 50), 0);
    assert_int_equal(pthread_setattr_default_np(&huge), 0);
    tk_thread thread;
    bool ran = false;
    tk_err err = TK_ERR_INIT;
    failmem_start();
    tinkc_code code = tk_thread_start(&thread, "huge", never, &ran, &err);
    assert_int_equal(failmem_stop(), 0);
    assert_int_equal(pthread_setattr_default_np(&usual), 0);
    assert_int_equal(code, TINKC_E_IO);
    assert_non_null(strstr(err.message, "cannot start thread huge: "));
    assert_false(ran);
    (void)pthread_attr_destroy(&usual);
    (void)pthread_attr_destroy(&huge);
}

static bool start_and_join(void *user)
{
    tk_thread thread;
    bool ran = false;
    tk_err err = TK_ERR_INIT;
    if (tk_thread_start(&thread, "sweep", never, &ran, &err) != TINKC_OK) {
        assert_int_equal(err.code, TINKC_E_NOMEM);
        assert_false(ran);
        return false;
    }
    tk_thread_join(&thread);
    assert_true(ran);
    return true;
}

static void test_thread_sweep(void **unused)
{
    assert_int_equal(failmem_sweep(start_and_join, NULL, 1), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thread_name_and_signals),
        cmocka_unit_test(test_thread_condition),
        cmocka_unit_test(test_thread_try_lock),
        cmocka_unit_test(test_thread_deadline_passes),
        cmocka_unit_test(test_thread_once),
        cmocka_unit_test(test_thread_start_failure_is_reported),
        cmocka_unit_test(test_thread_sweep),
    };
    return cmocka_run_group_tests_name("thread", tests, NULL, NULL);
}
