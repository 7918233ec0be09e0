/* The loop: tasks, timers, closing. */
#include <stdatomic.h>

#include "base/thread.h"
#include "http/loop.h"
#include "support/failmem.h"
#include "support/fakeclock.h"
#include "support/test.h"

/* ---- a transport that only counts ---- */

typedef struct null_transport {
    tk_transport base;
    int closed;
    tk_http_request *request;
} null_transport;

static tinkc_code null_submit(tk_transport *transport, tk_http_request *request,
                              tk_err *err)
{
    ((null_transport *)(void *)transport)->request = request;
    return TINKC_OK;
}

static void end_request(null_transport *transport)
{
    tk_http_request *request = transport->request;
    transport->request = NULL;
    if (request != NULL) {
        tk_http_response response = {.failure = TK_HTTP_CANCELLED, .err = TK_ERR_INIT};
        request->done(request, &response);
    }
}

static void null_cancel(tk_transport *transport, tk_http_request *request)
{
    end_request((null_transport *)(void *)transport);
}

static int null_fd(tk_transport *transport)
{
    return -1;
}

static int64_t null_deadline(tk_transport *transport)
{
    return INT64_MAX;
}

static void null_process(tk_transport *transport)
{
}

static void null_close(tk_transport *transport)
{
    null_transport *self = (null_transport *)(void *)transport;
    end_request(self);
    self->closed++;
}

static void null_resume(tk_transport *transport, tk_http_request *request)
{
}

static const tk_transport_ops null_ops = {null_submit, null_cancel,   null_resume,
                                          null_fd,     null_deadline, null_process,
                                          null_close};

static tk_loop *open_loop(null_transport *transport, const tk_clock *clock, bool threaded)
{
    tk_loop *loop = NULL;
    tk_err err = TK_ERR_INIT;
    *transport = (null_transport){.base = {&null_ops}};
    tk_loop_options options = {clock, &transport->base, threaded, "tk-test", NULL, NULL};
    assert_int_equal(tk_loop_new(&loop, &options, &err), TINKC_OK);
    return loop;
}

/* ---- tasks ---- */

typedef struct counted_task {
    tk_task task;
    atomic_int *count;
    tk_loop *loop;
    bool was_inside;
} counted_task;

static void count_task(tk_task *task)
{
    counted_task *counted = (counted_task *)(void *)task;
    counted->was_inside = tk_loop_is_inside(counted->loop);
    atomic_fetch_add(counted->count, 1);
}

typedef struct poster {
    tk_thread thread;
    counted_task tasks[1000];
} poster;

static void post_all(void *user)
{
    poster *p = user;
    for (size_t i = 0; i < TK_ARRAY_LEN(p->tasks); i++) {
        assert_true(tk_loop_post(p->tasks[i].loop, &p->tasks[i].task));
    }
}

/* whatever several threads post runs once, on the loop's thread, and closing runs
 * what is left. */
static void test_loop_tasks_from_threads(void **unused)
{
    static poster posters[4];
    null_transport transport;
    atomic_int count = 0;
    tk_loop *loop = open_loop(&transport, &tk_clock_real, true);
    for (size_t i = 0; i < TK_ARRAY_LEN(posters); i++) {
        for (size_t j = 0; j < TK_ARRAY_LEN(posters[i].tasks); j++) {
            posters[i].tasks[j] = (counted_task){{{0}, count_task}, &count, loop, false};
        }
        assert_int_equal(
            tk_thread_start(&posters[i].thread, "poster", post_all, &posters[i], NULL),
            TINKC_OK);
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(posters); i++) {
        tk_thread_join(&posters[i].thread);
    }
    assert_false(tk_loop_is_inside(loop));
    tk_loop_close(&loop);
    assert_null(loop);
    assert_int_equal(atomic_load(&count), 4000);
    assert_true(posters[3].tasks[999].was_inside);
    assert_int_equal(transport.closed, 1);
}

/* A caller that waits for one thing must not sleep on when it is done: driving waits
 * first and works then. The wait is far longer than any test. */
static void test_loop_drive(void **unused)
{
    null_transport transport;
    atomic_int count = 0;
    tk_loop *loop = open_loop(&transport, &tk_clock_real, false);
    counted_task task = {{{0}, count_task}, &count, loop, false};
    assert_true(tk_loop_drive(loop, INT64_MAX)); /* the first turn is due */
    assert_true(tk_loop_post(loop, &task.task));
    assert_true(tk_loop_drive(loop, INT64_MAX));
    assert_int_equal(count, 1);
    assert_true(tk_loop_drive(loop, 1)); /* nothing to do: ends all the same */
    tk_loop_close(&loop);
    loop = open_loop(&transport, &tk_clock_real, true);
    assert_false(tk_loop_drive(loop, INT64_MAX));
    tk_loop_close(&loop);
}

/* ---- the end of a turn ---- */

typedef struct late_task {
    tk_task first, late;
    tk_timer timer;
    tk_loop *loop;
    char order[8];
    size_t n;
} late_task;

static void run_first(tk_task *task)
{
    late_task *self = TK_CONTAINER_OF(task, late_task, first);
    self->order[self->n++] = 'a';
    tk_loop_later(self->loop, &self->late);
    tk_loop_timer_set(self->loop, &self->timer, tk_loop_now_ms(self->loop));
}

static void run_timer(tk_timer *timer)
{
    late_task *self = TK_CONTAINER_OF(timer, late_task, timer);
    self->order[self->n++] = 'b';
}

static void run_late(tk_task *task)
{
    late_task *self = TK_CONTAINER_OF(task, late_task, late);
    self->order[self->n++] = 'c';
}

/* What is put off runs once, after everything else of the turn; also when the turn is the
 * last one. */
static void test_loop_later(void **unused)
{
    null_transport transport;
    tk_loop *loop = open_loop(&transport, &tk_clock_real, false);
    late_task task = {{{0}, run_first}, {{0}, run_late}, {{0}, NULL}, loop, "", 0};
    tk_timer_init(&task.timer, run_timer);
    assert_true(tk_loop_post(loop, &task.first));
    assert_int_equal(tk_loop_process(loop, NULL), TINKC_OK);
    assert_string_equal(task.order, "abc");
    assert_int_equal(tk_loop_process(loop, NULL), TINKC_OK);
    assert_string_equal(task.order, "abc");
    assert_true(tk_loop_post(loop, &task.first));
    tk_loop_close(&loop);
    assert_string_equal(task.order, "abcac");
}

static void test_loop_process_belongs_to_one(void **unused)
{
    null_transport transport;
    tk_err err = TK_ERR_INIT;
    tk_loop *loop = open_loop(&transport, &tk_clock_real, true);
    assert_int_equal(tk_loop_process(loop, &err), TINKC_E_STATE);
    tk_loop_close(&loop);
}

/* ---- timers ---- */

typedef struct noted_timer {
    tk_timer timer;
    int id;
    int *order;
    int *n;
    tk_loop *loop;
    int again_ms; /* sets itself again */
} noted_timer;

static void note(tk_timer *timer)
{
    noted_timer *noted = TK_CONTAINER_OF(timer, noted_timer, timer);
    noted->order[(*noted->n)++] = noted->id;
    if (noted->again_ms > 0) {
        tk_loop_timer_set(noted->loop, timer,
                          tk_loop_now_ms(noted->loop) + noted->again_ms);
    }
}

/* with a fake clock nothing fires before its time, and all in order. */
static void test_loop_timers(void **unused)
{
    fakeclock clock;
    fakeclock_init(&clock);
    null_transport transport;
    int order[16], n = 0;
    tk_loop *loop = open_loop(&transport, &clock.clock, false);
    int64_t now = tk_loop_now_ms(loop);
    noted_timer timers[4];
    static const int at[] = {30, 10, 20, 10};
    for (int i = 0; i < 4; i++) {
        timers[i] = (noted_timer){.id = i, .order = order, .n = &n, .loop = loop};
        tk_timer_init(&timers[i].timer, note);
        tk_loop_timer_set(loop, &timers[i].timer, now + at[i]);
    }
    assert_int_equal(tk_loop_deadline_ms(loop), 0); /* the first turn is due */
    assert_int_equal(tk_loop_process(loop, NULL), TINKC_OK);
    assert_int_equal(tk_loop_deadline_ms(loop), 10);
    assert_int_equal(n, 0);
    tk_loop_timer_clear(loop, &timers[2].timer);
    tk_loop_timer_clear(loop, &timers[2].timer);
    tk_loop_timer_set(loop, &timers[0].timer, now + 15); /* moved */
    fakeclock_advance_ms(&clock, 9);
    assert_int_equal(tk_loop_process(loop, NULL), TINKC_OK);
    assert_int_equal(n, 0);
    fakeclock_advance_ms(&clock, 11);
    assert_int_equal(tk_loop_process(loop, NULL), TINKC_OK);
    assert_int_equal(n, 3);
    assert_int_equal(order[0], 1);
    assert_int_equal(order[1], 3);
    assert_int_equal(order[2], 0);
    assert_int_equal(tk_loop_deadline_ms(loop), -1);
    tk_loop_close(&loop);
}

typedef struct reader {
    tk_loop *loop;
    atomic_bool stop;
    atomic_int reads;
    bool is_wrong;
} reader;

static void read_deadline(void *user)
{
    reader *r = user;
    while (!atomic_load(&r->stop)) {
        int64_t left = tk_loop_deadline_ms(r->loop);
        r->is_wrong = r->is_wrong || left < -1 || left > 10;
        atomic_fetch_add(&r->reads, 1);
    }
}

/* Any thread may ask for the deadline while another one is in process(). For TSan. */
static void test_loop_deadline_from_a_thread(void **unused)
{
    fakeclock clock;
    fakeclock_init(&clock);
    null_transport transport;
    static int order[100000];
    int n = 0;
    tk_thread thread;
    tk_loop *loop = open_loop(&transport, &clock.clock, false);
    noted_timer timer = {.order = order, .n = &n, .loop = loop, .again_ms = 10};
    tk_timer_init(&timer.timer, note);
    tk_loop_timer_set(loop, &timer.timer, tk_loop_now_ms(loop) + 10);
    reader r = {.loop = loop};
    assert_int_equal(tk_thread_start(&thread, "reader", read_deadline, &r, NULL),
                     TINKC_OK);
    while ((atomic_load(&r.reads) < 1000 || n < 10000) && n < 100000) {
        fakeclock_advance_ms(&clock, 10);
        assert_int_equal(tk_loop_process(loop, NULL), TINKC_OK);
    }
    atomic_store(&r.stop, true);
    tk_thread_join(&thread);
    assert_false(r.is_wrong);
    tk_loop_timer_clear(loop, &timer.timer);
    tk_loop_close(&loop);
}

static void test_loop_timer_repeats(void **unused)
{
    fakeclock clock;
    fakeclock_init(&clock);
    null_transport transport;
    int order[16], n = 0;
    tk_loop *loop = open_loop(&transport, &clock.clock, false);
    noted_timer timer = {.order = order, .n = &n, .loop = loop, .again_ms = 10};
    tk_timer_init(&timer.timer, note);
    tk_loop_timer_set(loop, &timer.timer, tk_loop_now_ms(loop) + 10);
    for (int i = 0; i < 5; i++) {
        fakeclock_advance_ms(&clock, 10);
        assert_int_equal(tk_loop_process(loop, NULL), TINKC_OK);
        assert_int_equal(n, i + 1);
    }
    tk_loop_timer_clear(loop, &timer.timer);
    tk_loop_close(&loop);
}

/* ---- closing ---- */

typedef struct closing {
    tk_http_request request;
    tk_loop *loop;
    tk_timer timer;
    int done;
    tinkc_code again;
} closing;

static void never(tk_timer *timer)
{
    fail_msg("a timer fired after the end");
}

/* While the loop ends, nothing new starts: the request is refused, the timer is not
 * set. */
static void try_again(tk_http_request *request, const tk_http_response *response)
{
    closing *c = request->user;
    c->done++;
    assert_int_equal(response->failure, TK_HTTP_CANCELLED);
    c->again = tk_loop_submit(c->loop, request, NULL);
    tk_loop_timer_set(c->loop, &c->timer, 0);
}

/* */
static void test_loop_close_cancels(void **unused)
{
    null_transport transport;
    tk_loop *loop = open_loop(&transport, &tk_clock_real, false);
    closing c = {.loop = loop, .request = {.done = try_again}};
    c.request.user = &c;
    tk_timer_init(&c.timer, never);
    assert_int_equal(tk_loop_submit(loop, &c.request, NULL), TINKC_OK);
    tk_loop_close(&loop);
    assert_int_equal(c.done, 1);
    assert_int_equal(c.again, TINKC_E_CANCELLED);
}

static bool sweep_once(void *user)
{
    null_transport transport = {.base = {&null_ops}};
    tk_loop *loop = NULL;
    tk_loop_options options = {
        &tk_clock_real, &transport.base, true, "tk-test", NULL, NULL};
    if (tk_loop_new(&loop, &options, NULL) != TINKC_OK) {
        return false;
    }
    tk_loop_close(&loop);
    return true;
}

static void test_loop_allocation_sweep(void **unused)
{
    assert_true(failmem_sweep(sweep_once, NULL, 1) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loop_tasks_from_threads),
        cmocka_unit_test(test_loop_drive),
        cmocka_unit_test(test_loop_later),
        cmocka_unit_test(test_loop_process_belongs_to_one),
        cmocka_unit_test(test_loop_timers),
        cmocka_unit_test(test_loop_deadline_from_a_thread),
        cmocka_unit_test(test_loop_timer_repeats),
        cmocka_unit_test(test_loop_close_cancels),
        cmocka_unit_test(test_loop_allocation_sweep),
    };
    return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
