/* The worker: jobs in order and one at a time on a thread that starts with the first one,
 * taking back, stopping while a job runs, and no thread in manual mode. */
#include "client/core/worker.h"

#include "support/failmem.h"
#include "support/fakeclock.h"
#include "support/faketransport.h"
#include "support/gate.h"

#define JOBS 20

typedef struct fixture {
    fakeclock clock;
    faketransport net;
    tk_loop *loop;
    tk_worker worker;
} fixture;

/* What a job saw; `hold` makes it wait. */
typedef struct probe {
    tk_job job;
    tk_task start, look;
    fixture *f;
    gate *entered, *hold, *finished;
    int *order; /* shared counter */
    int place;
    bool ran_inside_loop, ran_on_worker, done_inside_loop, started;
    bool taken_back;
} probe;

static bool open_fixture(fixture *f, bool is_manual)
{
    *f = (fixture){0};
    fakeclock_init(&f->clock);
    faketransport_init(&f->net, &f->clock.clock);
    tk_loop_options options = {.clock = &f->clock.clock,
                               .transport = &f->net.transport,
                               .threaded = !is_manual,
                               .thread_name = "tk-test"};
    return tk_loop_new(&f->loop, &options, NULL) == TINKC_OK &&
           tk_worker_init(&f->worker, f->loop, is_manual, NULL) == TINKC_OK;
}

static void close_fixture(fixture *f)
{
    if (f->loop != NULL) {
        tk_loop_stop(f->loop);
    }
    if (f->worker.is_open) {
        tk_worker_stop(&f->worker);
    }
    tk_worker_dispose(&f->worker);
    tk_loop_close(&f->loop);
    faketransport_dispose(&f->net);
}

static void run(tk_job *job)
{
    probe *p = TK_CONTAINER_OF(job, probe, job);
    p->ran_inside_loop = tk_loop_is_inside(p->f->loop);
    p->ran_on_worker = tk_worker_is_inside(&p->f->worker);
    p->place = p->order != NULL ? (*p->order)++ : 0; /* one at a time: needs no lock */
    if (p->entered != NULL) {
        gate_raise(p->entered);
    }
    if (p->hold != NULL) {
        (void)gate_wait(p->hold, 1);
    }
}

static void done(tk_job *job)
{
    probe *p = TK_CONTAINER_OF(job, probe, job);
    p->done_inside_loop = tk_loop_is_inside(p->f->loop);
    gate_raise(p->finished);
}

static void start(tk_task *task)
{
    probe *p = TK_CONTAINER_OF(task, probe, start);
    p->started = tk_worker_post(&p->f->worker, &p->job, NULL) == TINKC_OK;
    if (!p->started) {
        gate_raise(p->finished);
    }
}

static probe make_probe(fixture *f, gate *finished)
{
    return (probe){.f = f,
                   .job = {.run = run, .done = done},
                   .start = {.run = start},
                   .finished = finished};
}

static void test_worker_order(void **unused)
{
    fixture f;
    gate finished;
    probe probes[JOBS];
    int order = 0;
    gate_init(&finished);
    assert_true(open_fixture(&f, false));
    assert_false(tk_worker_is_inside(&f.worker));
    assert_false(f.worker.has_thread);
    for (size_t i = 0; i < JOBS; i++) {
        probes[i] = make_probe(&f, &finished);
        probes[i].order = &order;
        assert_true(tk_loop_post(f.loop, &probes[i].start));
    }
    assert_true(gate_wait(&finished, JOBS));
    for (size_t i = 0; i < JOBS; i++) {
        assert_int_equal(probes[i].place, i);
        assert_false(probes[i].ran_inside_loop);
        assert_true(probes[i].ran_on_worker);
        assert_true(probes[i].done_inside_loop);
    }
    close_fixture(&f);
    gate_dispose(&finished);
}

static void take_back(tk_task *task)
{
    probe *p = TK_CONTAINER_OF(task, probe, look);
    p->taken_back = tk_worker_take_back(&p->f->worker, &p->job);
    gate_raise(p->finished);
}

static void ask_back(probe *p)
{
    int before = gate_count(p->finished);
    p->look.run = take_back;
    assert_true(tk_loop_post(p->f->loop, &p->look));
    assert_true(gate_wait(p->finished, before + 1));
}

/* One that waits can be taken back, one that runs cannot. */
static void test_worker_take_back(void **unused)
{
    fixture f;
    gate entered, hold, finished;
    gate_init(&entered);
    gate_init(&hold);
    gate_init(&finished);
    assert_true(open_fixture(&f, false));
    probe first = make_probe(&f, &finished), second = make_probe(&f, &finished);
    first.entered = second.entered = &entered;
    first.hold = &hold;
    assert_true(tk_loop_post(f.loop, &first.start));
    assert_true(tk_loop_post(f.loop, &second.start));
    assert_true(gate_wait(&entered, 1));
    ask_back(&second);
    assert_true(second.taken_back);
    ask_back(&first);
    assert_false(first.taken_back);
    gate_raise(&hold);
    assert_true(gate_wait(&finished, 3)); /* two of take_back, one of `first` */
    close_fixture(&f);
    assert_int_equal(gate_count(&entered), 1);
    assert_int_equal(gate_count(&finished), 3);
    gate_dispose(&entered);
    gate_dispose(&hold);
    gate_dispose(&finished);
}

typedef struct stopper {
    fixture *f;
    gate *stopping;
} stopper;

static void stop(void *user)
{
    stopper *s = user;
    tk_loop_stop(s->f->loop);
    gate_raise(s->stopping);
    tk_worker_stop(&s->f->worker);
}

/* The loop takes no tasks any more when the job ends: tk_worker_stop calls `done`. */
static void test_worker_stop_while_a_job_runs(void **unused)
{
    fixture f;
    gate entered, hold, finished, stopping;
    tk_thread thread;
    gate_init(&entered);
    gate_init(&hold);
    gate_init(&finished);
    gate_init(&stopping);
    assert_true(open_fixture(&f, false));
    probe p = make_probe(&f, &finished);
    p.entered = &entered;
    p.hold = &hold;
    assert_true(tk_loop_post(f.loop, &p.start));
    assert_true(gate_wait(&entered, 1));
    stopper s = {&f, &stopping};
    assert_int_equal(tk_thread_start(&thread, "stopper", stop, &s, NULL), TINKC_OK);
    assert_true(gate_wait(&stopping, 1));
    assert_int_equal(gate_count(&finished), 0);
    gate_raise(&hold);
    tk_thread_join(&thread);
    assert_int_equal(gate_count(&finished), 1);
    close_fixture(&f);
    gate_dispose(&entered);
    gate_dispose(&hold);
    gate_dispose(&finished);
    gate_dispose(&stopping);
}

static void test_worker_manual(void **unused)
{
    fixture f;
    gate finished;
    gate_init(&finished);
    assert_true(open_fixture(&f, true));
    probe p = make_probe(&f, &finished);
    assert_true(tk_loop_post(f.loop, &p.start));
    assert_int_equal(tk_loop_process(f.loop, NULL), TINKC_OK);
    assert_int_equal(gate_count(&finished), 1);
    assert_true(p.ran_inside_loop);
    assert_false(p.ran_on_worker);
    assert_false(f.worker.has_thread);
    close_fixture(&f);
    gate_dispose(&finished);
}

/* Without memory for the thread nothing is called, and the next job starts it. */
static bool scenario(void *user)
{
    fixture f;
    gate finished;
    bool ok = open_fixture(&f, false);
    gate_init(&finished);
    probe first = make_probe(&f, &finished), second = make_probe(&f, &finished);
    if (ok) {
        assert_true(tk_loop_post(f.loop, &first.start));
        assert_true(gate_wait(&finished, 1));
        assert_true(tk_loop_post(f.loop, &second.start));
        assert_true(gate_wait(&finished, 2));
        assert_true(first.started || second.started);
        ok = first.started && second.started;
    }
    close_fixture(&f);
    gate_dispose(&finished);
    return ok;
}

static void test_worker_allocation_sweep(void **unused)
{
    assert_true(failmem_sweep(scenario, NULL, 1) >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worker_order),
        cmocka_unit_test(test_worker_take_back),
        cmocka_unit_test(test_worker_stop_while_a_job_runs),
        cmocka_unit_test(test_worker_manual),
        cmocka_unit_test(test_worker_allocation_sweep),
    };
    return cmocka_run_group_tests_name("worker", tests, NULL, NULL);
}
