/* Futures: exactly one completion on every path, waits that end, an explanation at any
 * time (A-028, A-029, A-033, M-089, M-096, M-102). */
#include <sched.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/thread.h"
#include "client/future/future_int.h"
#include "client/future/tk_future.h"
#include "client/values/error.h"
#include "support/failmem.h"
#include "support/fakeclock.h"
#include "support/test.h"

/* ---- a driver whose manual loop completes what the test prepared ---- */

typedef struct fake_driver {
    tk_driver base;
    int refs;
    int driven;
    tinkc_future *to_complete; /* completed by the third drive */
} fake_driver;

static void driver_ref(tk_driver *driver)
{
    ((fake_driver *)(void *)driver)->refs++;
}

static void driver_unref(tk_driver *driver)
{
    ((fake_driver *)(void *)driver)->refs--;
}

static bool driver_drive(tk_driver *driver, int64_t max_ms)
{
    fake_driver *self = (fake_driver *)(void *)driver;
    if (++self->driven == 3 && self->to_complete != NULL) {
        (void)tk_future_complete(self->to_complete, NULL, NULL);
    }
    return true;
}

static const tk_driver_ops driver_ops = {
    .ref = driver_ref, .unref = driver_unref, .drive = driver_drive};

static tinkc_future *new_future(void)
{
    return tk_future_new(NULL, "sample", TK_RESULT_TEXT);
}

static int freed;

static void free_text(void *text)
{
    freed++;
    tk_free(text);
}

static tk_err some_error(void)
{
    tk_err err = TK_ERR_INIT;
    tk_err_set(&err, TINKC_E_SERVER, "it broke");
    return err;
}

/* ---- completion ---- */

/* the first outcome wins, later ones leave ownership with their caller. */
static void test_future_completes_once(void **unused)
{
    tinkc_future *future = new_future();
    char *text = tk_strdup("hello");
    tk_err err = some_error();
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_E_TIMEOUT);
    assert_true(tk_future_complete(future, text, free_text));
    assert_false(tk_future_complete(future, text, free_text));
    assert_false(tk_future_fail(future, &err, NULL));
    tinkc_future_cancel(future);
    assert_int_equal(tinkc_future_wait(future, TINKC_FOREVER), TINKC_OK);
    assert_null(tinkc_future_error(future));
    void *out = NULL;
    tinkc_error *error = NULL;
    assert_int_equal(tk_future_take(&out, future, TK_RESULT_METRICS, &error),
                     TINKC_E_STATE);
    tinkc_error_free(&error);
    assert_int_equal(tk_future_take(&out, future, TK_RESULT_TEXT, &error), TINKC_OK);
    assert_ptr_equal(out, text);
    assert_int_equal(tk_future_take(&out, future, TK_RESULT_TEXT, &error), TINKC_E_STATE);
    tinkc_error_free(&error);
    freed = 0;
    tinkc_future_free(&future);
    assert_null(future);
    assert_int_equal(freed, 0);
    tk_free(text);
}

static void test_future_frees_what_nobody_takes(void **unused)
{
    tinkc_future *future = new_future();
    freed = 0;
    assert_true(tk_future_complete(future, tk_strdup("x"), free_text));
    tinkc_future_free(&future);
    assert_int_equal(freed, 1);
}

/* A-029, M-098: an error comes with its text and its cause, and can outlive the
 * future. */
static void test_future_error_and_cause(void **unused)
{
    tinkc_future *future = new_future();
    tk_err cause = TK_ERR_INIT, err = some_error();
    tk_err_set(&cause, TINKC_E_PARSE, "bad byte");
    assert_true(tk_future_fail(future, &err, tk_error_new(&cause, NULL)));
    assert_int_equal(tinkc_future_wait(future, TINKC_FOREVER), TINKC_E_SERVER);
    assert_string_equal(tinkc_error_message(tinkc_future_error(future)), "it broke");
    tinkc_error *kept = tinkc_future_take_error(future);
    void *out = NULL;
    tinkc_error *error = NULL;
    assert_int_equal(tk_future_wait_take(&out, future, TK_RESULT_TEXT, &error),
                     TINKC_E_SERVER);
    assert_int_equal(tinkc_error_code(tinkc_error_cause(kept)), TINKC_E_PARSE);
    tinkc_error_free(&error);
    tinkc_error_free(&kept);
}

/* NULL everywhere is an answer, not a crash. */
static void test_future_null(void **unused)
{
    tinkc_future *none = NULL;
    tinkc_error *err = NULL;
    tinkc_wait wait = TINKC_WAIT_INIT;
    char text[64];
    size_t index;
    tinkc_future_free(NULL);
    tinkc_future_free(&none);
    tinkc_future_cancel(NULL);
    assert_null(tinkc_future_ref(NULL));
    assert_false(tinkc_future_is_done(NULL));
    assert_null(tinkc_future_error(NULL));
    assert_int_equal(tinkc_future_wait(NULL, 0), TINKC_E_STATE);
    assert_int_equal(tinkc_future_on_done(NULL, NULL, NULL, NULL), TINKC_E_STATE);
    assert_int_equal(tinkc_future_status(&wait, NULL, NULL), TINKC_E_STATE);
    assert_true(tinkc_future_explain(text, sizeof(text), NULL) > 0);
    assert_int_equal(tinkc_future_wait_any(&index, &none, 1, 0), TINKC_E_STATE);
    assert_int_equal(tinkc_future_wait_all(&none, 1, 0), TINKC_E_STATE);
    assert_int_equal(tinkc_queue_add(NULL, NULL, NULL, &err), TINKC_E_STATE);
    assert_non_null(strstr(tinkc_error_message(err), "tinkc_queue_open"));
    tinkc_error_free(&err);
    assert_int_equal(tinkc_queue_fd(NULL), -1);
    assert_int_equal(tinkc_queue_pending(NULL), 0);
}

/* Without memory there is still a future, done with the error. */
static void test_future_without_memory(void **unused)
{
    failmem_start();
    failmem_fail_at(1);
    tinkc_future *future = new_future();
    assert_true(tk_future_is_static(future));
    assert_int_equal(failmem_stop(), 0);
    assert_true(tinkc_future_is_done(future));
    assert_int_equal(tinkc_future_wait(future, TINKC_FOREVER), TINKC_E_NOMEM);
    assert_int_equal(tinkc_error_code(tinkc_future_error(future)), TINKC_E_NOMEM);
    void *out;
    tinkc_error *error = NULL;
    assert_int_equal(tk_future_take(&out, future, TK_RESULT_TEXT, &error), TINKC_E_NOMEM);
    tinkc_error_free(&error);
    assert_int_equal(tinkc_future_on_free(future, tk_free, NULL, NULL), TINKC_E_NOMEM);
    tinkc_future_cancel(future);
    tinkc_future_free(&future);
    assert_null(future);
}

/* ---- callbacks, cancelling ---- */

static void count_call(tinkc_future *future, void *user)
{
    assert_true(tinkc_future_is_done(future));
    ++*(int *)user;
}

/* M-089: a callback runs once, also when it is set after the end. */
static void test_future_callback(void **unused)
{
    int early = 0, late = 0;
    tinkc_future *future = new_future();
    assert_int_equal(tinkc_future_on_done(future, count_call, &early, NULL), TINKC_OK);
    assert_int_equal(tinkc_future_on_done(future, count_call, &late, NULL),
                     TINKC_E_STATE);
    assert_true(tk_future_complete(future, NULL, NULL));
    assert_int_equal(early, 1);
    tinkc_future_free(&future);
    future = new_future();
    assert_true(tk_future_complete(future, NULL, NULL));
    assert_int_equal(tinkc_future_on_done(future, count_call, &late, NULL), TINKC_OK);
    assert_int_equal(late, 1);
    tinkc_future_free(&future);
}

static void count_release(void *user)
{
    ++*(int *)user;
}

/* What callbacks use is released once, after the last reference, not at the end of the
 * operation; a refused call releases nothing. */
static void test_future_releases(void **unused)
{
    int released = 0, refused = 0;
    tinkc_future *future = new_future();
    tinkc_future *operation = tinkc_future_ref(future);
    assert_int_equal(tinkc_future_on_free(future, NULL, &refused, NULL), TINKC_E_STATE);
    assert_int_equal(tinkc_future_on_free(NULL, count_release, &refused, NULL),
                     TINKC_E_STATE);
    assert_int_equal(tinkc_future_on_free(future, count_release, &released, NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_future_on_free(future, count_release, &refused, NULL),
                     TINKC_E_STATE);
    tinkc_future_cancel(future);
    tinkc_future_free(&future);
    assert_int_equal(released, 0);
    assert_true(tinkc_future_is_done(operation));
    tinkc_future_free(&operation);
    assert_int_equal(released, 1);
    assert_int_equal(refused, 0);
}

static void note_cancel(void *user)
{
    ++*(int *)user;
}

/* M-089: a cancelled future is done with that error. */
static void test_future_cancel(void **unused)
{
    int cancelled = 0, called = 0;
    tinkc_future *future = new_future();
    tk_future_on_cancel(future, note_cancel, &cancelled);
    assert_int_equal(tinkc_future_on_done(future, count_call, &called, NULL), TINKC_OK);
    tinkc_future_cancel(future);
    tinkc_future_cancel(future);
    assert_int_equal(cancelled, 1);
    assert_int_equal(called, 1);
    assert_int_equal(tinkc_future_wait(future, TINKC_FOREVER), TINKC_E_CANCELLED);
    assert_false(tk_future_complete(future, NULL, NULL));
    tk_future_forget_cancel(future);
    tinkc_future_free(&future);
}

static void test_future_forgotten_cancel(void **unused)
{
    int cancelled = 0;
    tinkc_future *future = new_future();
    tk_future_on_cancel(future, note_cancel, &cancelled);
    tk_future_forget_cancel(future);
    tinkc_future_cancel(future);
    assert_int_equal(cancelled, 0);
    tinkc_future_free(&future);
}

/* ---- waiting ---- */

static void complete_it(void *user)
{
    (void)tk_future_complete(user, NULL, NULL);
}

/* M-089: a thread waits, another one completes. */
static void test_future_wait_across_threads(void **unused)
{
    for (int i = 0; i < 200; i++) {
        tinkc_future *future = new_future();
        tk_thread thread;
        assert_int_equal(tk_thread_start(&thread, "t", complete_it, future, NULL),
                         TINKC_OK);
        assert_int_equal(tinkc_future_wait(future, TINKC_FOREVER), TINKC_OK);
        tk_thread_join(&thread);
        tinkc_future_free(&future);
    }
}

/* In manual mode the waiting thread runs the loop. */
static void test_future_wait_drives_manual_loop(void **unused)
{
    fake_driver driver = {
        .base = {.ops = &driver_ops, .clock = &tk_clock_real, .is_manual = true}};
    tinkc_future *future = tk_future_new(&driver.base, "sample", TK_RESULT_NONE);
    assert_int_equal(driver.refs, 1);
    driver.to_complete = future;
    assert_int_equal(tinkc_future_wait(future, TINKC_FOREVER), TINKC_OK);
    assert_int_equal(driver.driven, 3);
    tinkc_future_free(&future);
    assert_int_equal(driver.refs, 0);
}

/* ---- waking late ---- */

typedef struct late_driver {
    tk_driver base;
    tk_task *late[4];
    size_t n;
} late_driver;

static void no_ref(tk_driver *driver)
{
}

static bool late_later(tk_driver *driver, tk_task *task)
{
    late_driver *self = (late_driver *)(void *)driver;
    self->late[self->n++] = task;
    return true;
}

static void late_now(tk_driver *driver)
{
    late_driver *self = (late_driver *)(void *)driver;
    while (self->n > 0) {
        tk_task *task = self->late[--self->n];
        task->run(task);
    }
}

static const tk_driver_ops late_ops = {
    .ref = no_ref, .unref = no_ref, .later = late_later, .now = late_now};

typedef struct sleeper {
    tk_thread thread;
    tinkc_future *future;
    atomic_bool woke;
} sleeper;

static void sleep_on(void *user)
{
    sleeper *self = user;
    (void)tinkc_future_wait(self->future, TINKC_FOREVER);
    atomic_store(&self->woke, true);
}

static void start_sleeper(sleeper *self, tk_driver *driver)
{
    tinkc_future *future = tk_future_new(driver, "sample", TK_RESULT_NONE);
    self->future = future;
    assert_int_equal(tk_thread_start(&self->thread, "t", sleep_on, self, NULL), TINKC_OK);
    size_t sleepers = 0;
    while (sleepers == 0) {
        tk_mutex_lock(&future->lock);
        sleepers = future->sleepers;
        tk_mutex_unlock(&future->lock);
        (void)sched_yield();
    }
}

static void check_woken(tinkc_future *future, void *user)
{
    sleeper *other = user;
    tk_thread_join(&other->thread); /* would never end if it still slept */
    assert_true(atomic_load(&other->woke));
}

/* A sleeping thread is woken when the loop's turn ends, but before a callback of the
 * user. A future without sleepers gives the loop nothing to do. */
static void test_future_wakes_at_the_end_of_the_turn(void **unused)
{
    late_driver driver = {
        .base = {.ops = &late_ops, .clock = &tk_clock_real, .is_manual = false}};
    static sleeper first, second;
    start_sleeper(&first, &driver.base);
    start_sleeper(&second, &driver.base);
    tinkc_future *quiet = tk_future_new(&driver.base, "sample", TK_RESULT_NONE);
    tinkc_future *told = tk_future_new(&driver.base, "sample", TK_RESULT_NONE);
    assert_int_equal(tinkc_future_on_done(told, check_woken, &first, NULL), TINKC_OK);
    assert_true(tk_future_complete(quiet, NULL, NULL));
    assert_int_equal(driver.n, 0);
    assert_true(tk_future_complete(first.future, NULL, NULL));
    assert_int_equal(driver.n, 1);
    assert_true(tinkc_future_is_done(first.future));
    assert_true(tk_future_complete(told, NULL, NULL));
    assert_int_equal(driver.n, 0);
    assert_true(tk_future_complete(second.future, NULL, NULL));
    late_now(&driver.base);
    tk_thread_join(&second.thread);
    assert_true(atomic_load(&second.woke));
    tinkc_future_free(&quiet);
    tinkc_future_free(&told);
    tinkc_future_free(&first.future);
    tinkc_future_free(&second.future);
}

/* M-090: all of them, or the time is over. */
static void test_future_wait_all(void **unused)
{
    tinkc_future *futures[3] = {new_future(), new_future(), new_future()};
    tk_err err = some_error();
    assert_true(tk_future_complete(futures[0], NULL, NULL));
    assert_true(tk_future_fail(futures[2], &err, NULL));
    assert_int_equal(tinkc_future_wait_all(futures, 3, 0), TINKC_E_TIMEOUT);
    assert_true(tk_future_complete(futures[1], NULL, NULL));
    assert_int_equal(tinkc_future_wait_all(futures, 3, TINKC_FOREVER), TINKC_E_SERVER);
    assert_int_equal(tinkc_future_wait_all(futures, 2, TINKC_FOREVER), TINKC_OK);
    for (int i = 0; i < 3; i++) {
        tinkc_future_free(&futures[i]);
    }
}

/* M-090: the first of them, or the time is over. */
static void test_future_wait_any(void **unused)
{
    size_t index = 99;
    tinkc_future *futures[3] = {new_future(), new_future(), new_future()};
    assert_int_equal(tinkc_future_wait_any(&index, futures, 3, 0), TINKC_E_TIMEOUT);
    assert_int_equal(tinkc_future_wait_any(&index, futures, 3, 1), TINKC_E_TIMEOUT);
    tk_thread thread;
    assert_int_equal(tk_thread_start(&thread, "t", complete_it, futures[1], NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_future_wait_any(&index, futures, 3, TINKC_FOREVER), TINKC_OK);
    assert_int_equal(index, 1);
    tk_thread_join(&thread);
    for (int i = 0; i < 3; i++) {
        tinkc_future_free(&futures[i]);
    }
}

/* ---- the explanation ---- */

static void test_future_explains_itself(void **unused)
{
    fakeclock clock;
    fakeclock_init(&clock);
    fake_driver driver = {
        .base = {.ops = &driver_ops, .clock = &clock.clock, .is_manual = false}};
    tinkc_future *future = tk_future_new(&driver.base, "sample", TK_RESULT_NONE);
    tinkc_wait wait = TINKC_WAIT_INIT;
    char text[512];
    fakeclock_advance_ms(&clock, 1000);
    tk_future_stage(future, TINKC_STAGE_WIRE);
    tk_future_attempt(future);
    tk_future_answered(future, 408);
    tk_future_request_id(future, TK_STR("m:7"));
    tk_future_stage(future, TINKC_STAGE_QUEUED);
    tk_future_queue(future, TINKC_QUEUE_PAUSED_CAPACITY, TK_STR("no GPU is free"));
    fakeclock_advance_ms(&clock, 2500);
    tk_future_stage(future, TINKC_STAGE_QUEUED); /* the same stage: its clock goes on */
    assert_int_equal(tinkc_future_status(&wait, future, NULL), TINKC_OK);
    assert_int_equal(wait.stage, TINKC_STAGE_QUEUED);
    assert_int_equal(wait.age_ms, 3500);
    assert_int_equal(wait.stage_ms, 2500);
    assert_int_equal(wait.silent_ms, 2500);
    assert_int_equal(wait.attempts, 1);
    assert_int_equal(wait.last_status, 408);
    assert_int_equal(wait.queue_state, TINKC_QUEUE_PAUSED_CAPACITY);
    assert_string_equal(wait.reason, "no GPU is free");
    assert_string_equal(wait.operation, "sample");
    size_t n = tinkc_future_explain(text, sizeof(text), future);
    assert_int_equal(n, strlen(text));
    assert_string_equal(text, "sample is queued at the server, the server is short of "
                              "capacity: no GPU is free since 2.5 s (3.5 s in all, 1 "
                              "request; last answer HTTP 408 2.5 s ago; m:7)");
    assert_int_equal(tinkc_future_explain(text, 8, future), n);
    assert_string_equal(text, "sample ");
    assert_true(tk_future_complete(future, NULL, NULL));
    assert_int_equal(tinkc_future_status(&wait, future, NULL), TINKC_OK);
    assert_int_equal(wait.stage, TINKC_STAGE_DONE);
    tinkc_future_free(&future);
}

static bool sweep_once(void *user)
{
    bool ok = true;
    size_t index;
    tinkc_queue *queue = NULL;
    tinkc_future *futures[2] = {new_future(), new_future()}, *taken = NULL;
    ok = ok && tinkc_future_wait_any(&index, futures, 2, 1) == TINKC_E_TIMEOUT;
    ok = ok && tinkc_queue_open(&queue, NULL) == TINKC_OK;
    tk_err err = some_error();
    (void)tk_future_fail(futures[0], &err, NULL);
    ok = ok && tinkc_future_wait(futures[0], TINKC_FOREVER) == TINKC_E_SERVER;
    ok = ok && tinkc_queue_add(queue, futures[0], NULL, NULL) == TINKC_OK;
    ok = ok && tinkc_queue_take(&taken, NULL, queue, 0, NULL) == TINKC_OK;
    tinkc_future_free(&taken);
    tinkc_queue_close(&queue);
    tinkc_future_free(&futures[0]);
    tinkc_future_free(&futures[1]);
    return ok;
}

static void test_future_allocation_sweep(void **unused)
{
    assert_true(failmem_sweep(sweep_once, NULL, 1) >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_future_completes_once),
        cmocka_unit_test(test_future_frees_what_nobody_takes),
        cmocka_unit_test(test_future_error_and_cause),
        cmocka_unit_test(test_future_null),
        cmocka_unit_test(test_future_without_memory),
        cmocka_unit_test(test_future_callback),
        cmocka_unit_test(test_future_releases),
        cmocka_unit_test(test_future_cancel),
        cmocka_unit_test(test_future_forgotten_cancel),
        cmocka_unit_test(test_future_wait_across_threads),
        cmocka_unit_test(test_future_wait_drives_manual_loop),
        cmocka_unit_test(test_future_wakes_at_the_end_of_the_turn),
        cmocka_unit_test(test_future_wait_all),
        cmocka_unit_test(test_future_wait_any),
        cmocka_unit_test(test_future_explains_itself),
        cmocka_unit_test(test_future_allocation_sweep),
    };
    return cmocka_run_group_tests_name("future", tests, NULL, NULL);
}
