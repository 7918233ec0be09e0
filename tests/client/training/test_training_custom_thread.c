/* A custom loss runs beside the loop: on a fake clock, with the loop's
 * thread and a scripted transport, while the callback is held at a gate. Meant to be run
 * under TSan, too.
 * Links: peer */
#include <sys/wait.h>
#include <unistd.h>

#include <tinkc/hooks.h>
#include <tinkc/training.h>

#include <sched.h>

#include "support/clientfix.h"
#include "support/datumfix.h"
#include "support/failmem.h"
#include "support/gate.h"
#include "wire/pb_output.h"

#define BEAT    "session_heartbeat"
#define POST_FB "forward_backward"
#define POLL    "retrieve_future"
#define MODELS  2

/* What the callbacks see and wait for. */
typedef struct probe {
    gate entered, hold, left;
    atomic_int running, most; /* at the same time */
    bool was_inside_loop;
    size_t order[MODELS * 2], order_n; /* of the models; one callback at a time */
    tinkc_code waited;
} probe;

typedef struct fixture fixture;

typedef struct caller {
    fixture *f;
    size_t model;
} caller;

struct fixture {
    clientfix c;
    tinkc_training *models[MODELS];
    caller callers[MODELS];
    tinkc_datum *datum;
    probe p;
};

/* ---- the loop's thread ---- */

typedef struct visit {
    tk_task task;
    fixture *f;
    void (*fn)(fixture *f, void *user);
    void *user;
    gate *done;
} visit;

static void run_visit(tk_task *task)
{
    visit *v = TK_CONTAINER_OF(task, visit, task);
    v->fn(v->f, v->user);
    gate_raise(v->done);
}

/* Calls fn on the loop's thread, which owns the transport, and waits for it. */
static void on_loop(fixture *f, void (*fn)(fixture *f, void *user), void *user)
{
    gate done;
    gate_init(&done);
    visit v = {{.run = run_visit}, f, fn, user, &done};
    assert_true(tk_loop_post(tk_core_loop(tk_service_core(f->c.service)), &v.task));
    assert_true(gate_wait(&done, 1));
    gate_dispose(&done);
}

typedef struct question {
    const char *path;
    size_t n;
} question;

static void ask_count(fixture *f, void *user)
{
    question *q = user;
    q->n = faketransport_count(&f->c.net, q->path);
}

static size_t count(fixture *f, const char *path)
{
    question q = {path, 0};
    on_loop(f, ask_count, &q);
    return q.n;
}

/* The loop makes its turns by itself: this looks until it has got there. */
static bool reaches(fixture *f, const char *path, size_t n)
{
    int64_t end = tk_clock_mono_ms(NULL) + GATE_CAP_MS;
    while (count(f, path) < n && tk_clock_mono_ms(NULL) < end) {
        (void)sched_yield();
    }
    return count(f, path) == n;
}

static bool reaches_stage(tinkc_future *future, tinkc_stage stage)
{
    int64_t end = tk_clock_mono_ms(NULL) + GATE_CAP_MS;
    tinkc_wait wait = TINKC_WAIT_INIT;
    do {
        (void)sched_yield();
        assert_int_equal(tinkc_future_status(&wait, future, NULL), TINKC_OK);
    } while (wait.stage != stage && tk_clock_mono_ms(NULL) < end);
    return wait.stage == stage;
}

/* ---- the server ---- */

/* What a forward of one datum with three targets gives. Static. */
static fakeanswer logprobs_answer(void)
{
    static const float values[] = {-2.0F, -2.0F, -2.0F};
    static tk_buf out;
    if (out.n == 0) {
        tk_named_tensor field = {
            .name = TK_STR("logprobs"),
            .tensor = {.dtype = TK_DTYPE_F32, .data = values, .n = 3}};
        tk_tensor_map map = {&field, 1};
        tk_fwdbwd_output output = {.loss_fn_output_type =
                                       TK_STR("CrossEntropyLossReturn"),
                                   .loss_fn_outputs = &map,
                                   .loss_fn_outputs_n = 1};
        tk_buf_init(&out, 4096);
        assert_int_equal(tk_pb_output_encode(&out, &output, NULL), TINKC_OK);
    }
    return (fakeanswer){.body = out.p,
                        .body_n = out.n,
                        .headers = {"content-type", "application/x-protobuf"}};
}

static void answer_training(faketransport *net)
{
    faketransport_default(net, "create_model",
                          (fakeanswer){.body = "{\"request_id\":\"c\"}"});
    faketransport_default(net, POST_FB, (fakeanswer){.body = "{\"request_id\":\"f\"}"});
    faketransport_default(net, "optim_step",
                          (fakeanswer){.body = "{\"request_id\":\"o\"}"});
    faketransport_default(net, "healthz", (fakeanswer){.body = "{}"});
    faketransport_default(net, POLL,
                          (fakeanswer){.body = "{\"model_id\":\"S:train:0\"}"});
}

static void answer_batches(fixture *f, void *user)
{
    faketransport_default(&f->c.net, POLL, logprobs_answer());
}

static void answer_steps(fixture *f, void *user)
{
    faketransport_default(&f->c.net, POLL, (fakeanswer){.body = "{\"metrics\":{}}"});
}

static void hang_health(fixture *f, void *user)
{
    faketransport_default(&f->c.net, "healthz", (fakeanswer){.status = -1});
}

static void init_fixture(fixture *f)
{
    *f = (fixture){.datum = datumfix_new()};
    for (size_t i = 0; i < MODELS; i++) {
        f->callers[i] = (caller){f, i};
    }
    gate_init(&f->p.entered);
    gate_init(&f->p.hold);
    gate_init(&f->p.left);
}

static void open_fixture(fixture *f)
{
    static const char *const options[] = {"loop", "thread", NULL};
    init_fixture(f);
    clientfix_open_bare(&f->c, options);
    clientfix_answer_setup(&f->c); /* the loop has nothing to do yet */
    answer_training(&f->c.net);
    for (size_t i = 0; i < MODELS; i++) {
        assert_int_equal(tinkc_service_create_training_wait(&f->models[i], f->c.service,
                                                            "m", NULL, NULL),
                         TINKC_OK);
    }
    on_loop(f, answer_batches, NULL);
}

static void close_fixture(fixture *f)
{
    for (size_t i = 0; i < MODELS; i++) {
        tinkc_training_close(&f->models[i]);
    }
    tinkc_datum_free(&f->datum);
    clientfix_close(&f->c);
    gate_dispose(&f->p.entered);
    gate_dispose(&f->p.hold);
    gate_dispose(&f->p.left);
}

/* ---- the callback ---- */

static int held_loss(double *loss, tinkc_metrics *metrics, tinkc_custom_item *items,
                     size_t n, void *user)
{
    const caller *c = user;
    probe *p = &c->f->p;
    int now = atomic_fetch_add(&p->running, 1) + 1;
    atomic_store(&p->most, TK_MAX(atomic_load(&p->most), now));
    p->order[p->order_n++] = c->model;
    p->was_inside_loop =
        tk_loop_is_inside(tk_core_loop(tk_service_core(c->f->c.service)));
    gate_raise(&p->entered);
    bool opened = gate_wait(&p->hold, 1);
    for (size_t i = 0; i < n; i++) { /* all of it is still there */
        for (size_t k = 0; k < items[i].n; k++) {
            *loss += (double)items[i].logprobs[k];
            items[i].gradient[k] = 1.0F;
        }
    }
    opened = opened && tinkc_metrics_put(metrics, "held", 1.0, NULL) == TINKC_OK;
    atomic_fetch_sub(&p->running, 1);
    gate_raise(&p->left);
    return opened ? 0 : 1;
}

static tinkc_future *call_custom(fixture *f, size_t model, tinkc_custom_loss_fn fn)
{
    tinkc_datum *data[] = {f->datum};
    return tinkc_training_forward_backward_custom(f->models[model], data, 1, fn,
                                                  &f->callers[model]);
}

/* Model 0's callback is at the gate. */
static tinkc_future *call_held(fixture *f)
{
    tinkc_future *future = call_custom(f, 0, held_loss);
    assert_true(gate_wait(&f->p.entered, 1));
    return future;
}

/* Model 1's callback waits for that of model 0. */
static tinkc_future *call_second(fixture *f)
{
    tinkc_future *future = call_custom(f, 1, held_loss);
    assert_true(reaches_stage(future, TINKC_STAGE_CALLBACK));
    return future;
}

static void expect(tinkc_future *future, tinkc_code code)
{
    assert_int_equal(tinkc_future_wait(future, GATE_CAP_MS), code);
    assert_true(tinkc_future_is_done(future));
    tinkc_future_free(&future);
}

/* M-043: held for 25 s, the callback delays no heartbeat and no other
 * operation. */
static void test_custom_thread_heartbeats(void **unused)
{
    fixture f;
    open_fixture(&f);
    tinkc_future *future = call_held(&f);
    assert_false(f.p.was_inside_loop);
    for (size_t i = 1; i <= 2; i++) {
        assert_int_equal(count(&f, BEAT), i - 1);
        fakeclock_advance_ms(&f.c.clock, 10000);
        assert_true(reaches(&f, BEAT, i));
    }
    fakeclock_advance_ms(&f.c.clock, 5000);
    expect(tinkc_service_health(f.c.service), TINKC_OK);
    assert_int_equal(gate_count(&f.p.left), 0);
    assert_true(reaches_stage(future, TINKC_STAGE_CALLBACK));
    gate_raise(&f.p.hold);
    expect(future, TINKC_OK);
    assert_int_equal(count(&f, POST_FB), 2);
    close_fixture(&f);
}

/* One at a time per service, in order, whatever the model. */
static void test_custom_thread_one_at_a_time(void **unused)
{
    fixture f;
    open_fixture(&f);
    tinkc_future *first = call_held(&f);
    tinkc_future *second = call_second(&f);
    assert_int_equal(gate_count(&f.p.entered), 1);
    gate_raise(&f.p.hold);
    expect(first, TINKC_OK);
    expect(second, TINKC_OK);
    assert_int_equal(f.p.order_n, 2);
    assert_int_equal(f.p.order[0], 0);
    assert_int_equal(f.p.order[1], 1);
    assert_int_equal(atomic_load(&f.p.most), 1);
    close_fixture(&f);
}

/* cancelled while the callback runs: done at once, the step that was
 * called next goes, and nothing of what the callback computes is sent. */
static void test_custom_thread_cancel(void **unused)
{
    fixture f;
    open_fixture(&f);
    tinkc_future *future = call_custom(&f, 0, held_loss);
    tinkc_future *step = tinkc_training_optim_step(f.models[0], NULL);
    assert_true(gate_wait(&f.p.entered, 1));
    on_loop(&f, answer_steps, NULL);
    tinkc_future_cancel(future);
    expect(future, TINKC_E_CANCELLED);
    expect(step, TINKC_OK);
    assert_int_equal(gate_count(&f.p.left), 0);
    gate_raise(&f.p.hold);
    on_loop(&f, answer_batches, NULL);
    expect(call_custom(&f, 1, held_loss), TINKC_OK); /* after the first */
    assert_int_equal(count(&f, POST_FB), 1 + 2);
    close_fixture(&f);
}

/* one that waits for the callback of another is not called any more. */
static void test_custom_thread_cancel_waiting(void **unused)
{
    fixture f;
    open_fixture(&f);
    tinkc_future *first = call_held(&f);
    tinkc_future *second = call_second(&f);
    tinkc_future_cancel(second);
    expect(second, TINKC_E_CANCELLED);
    assert_int_equal(tinkc_service_waits(NULL, 0, f.c.service), 1);
    gate_raise(&f.p.hold);
    expect(first, TINKC_OK);
    close_fixture(&f);
    assert_int_equal(f.p.order_n, 1);
}

static void do_nothing(fixture *f, void *user)
{
}

/* M-096: a deadline that passes while the callback runs. */
static void test_custom_thread_deadline(void **unused)
{
    fixture f;
    open_fixture(&f);
    tinkc_training *plain = f.models[0];
    tinkc_context context = TINKC_CONTEXT_INIT;
    context.deadline_ms = 20000;
    assert_int_equal(tinkc_training_with_context(&f.models[0], plain, &context, NULL),
                     TINKC_OK);
    tinkc_future *future = call_held(&f);
    fakeclock_advance_ms(&f.c.clock, 20000);
    on_loop(&f, do_nothing, NULL); /* wakes it: it sleeps on the real clock */
    expect(future, TINKC_E_TIMEOUT);
    assert_int_equal(gate_count(&f.p.left), 0);
    gate_raise(&f.p.hold);
    tinkc_training_close(&plain);
    close_fixture(&f);
}

/* ---- closing ---- */

typedef struct closer {
    fixture *f;
    int left; /* callbacks that had returned when the close did */
} closer;

static void close_service(void *user)
{
    closer *c = user;
    tinkc_service_close(&c->f->c.service);
    c->left = gate_count(&c->f->p.left);
}

/* the future is done while the callback still runs; the close waits for
 * it. */
static void test_custom_thread_close(void **unused)
{
    fixture f;
    tk_thread thread;
    open_fixture(&f);
    tinkc_future *first = call_held(&f);
    tinkc_future *second = call_second(&f);
    closer c = {&f, -1};
    assert_int_equal(tk_thread_start(&thread, "closer", close_service, &c, NULL),
                     TINKC_OK);
    expect(first, TINKC_E_CANCELLED);
    expect(second, TINKC_E_CANCELLED);
    assert_int_equal(gate_count(&f.p.left), 0);
    gate_raise(&f.p.hold);
    tk_thread_join(&thread);
    assert_int_equal(c.left, 1);
    assert_int_equal(f.p.order_n, 1);
    assert_int_equal(faketransport_count(&f.c.net, POST_FB), 2); /* both first halves */
    close_fixture(&f);
}

/* Waits for a request of the same service. */
static int waiting_loss(double *loss, tinkc_metrics *metrics, tinkc_custom_item *items,
                        size_t n, void *user)
{
    const caller *c = user;
    tinkc_service *service = c->f->c.service;
    gate_raise(&c->f->p.entered);
    c->f->p.waited = tinkc_service_health_wait(service, NULL);
    gate_raise(&c->f->p.left);
    return 0;
}

static void test_custom_thread_waits(void **unused)
{
    fixture f;
    open_fixture(&f);
    expect(call_custom(&f, 0, waiting_loss), TINKC_OK);
    assert_int_equal(f.p.waited, TINKC_OK);
    close_fixture(&f);
}

/* A callback that waits for what never comes does not hold the close up. */
static void test_custom_thread_close_while_it_waits(void **unused)
{
    fixture f;
    open_fixture(&f);
    on_loop(&f, hang_health, NULL);
    tinkc_future *future = call_custom(&f, 0, waiting_loss);
    assert_true(gate_wait(&f.p.entered, 1));
    assert_true(reaches(&f, "healthz", 1));
    tinkc_service_close(&f.c.service);
    expect(future, TINKC_E_CANCELLED);
    assert_int_equal(f.p.waited, TINKC_E_CANCELLED);
    assert_int_equal(gate_count(&f.p.left), 1);
    close_fixture(&f);
}

static int closing_loss(double *loss, tinkc_metrics *metrics, tinkc_custom_item *items,
                        size_t n, void *user)
{
    const caller *c = user;
    tinkc_service_close(&c->f->c.service);
    return c->f->c.service != NULL ? 0 : 1;
}

/* A close inside a callback is refused, with a thread and without. */
static void test_custom_thread_close_inside(void **unused)
{
    fixture f;
    open_fixture(&f);
    expect(call_custom(&f, 0, closing_loss), TINKC_OK);
    close_fixture(&f);
    assert_non_null(strstr(f.c.log, "error service: tinkc_service_close does nothing"));
}

/* ---- TINKC_LOOP_MANUAL: the caller's thread ---- */

static void test_custom_thread_manual(void **unused)
{
    fixture f;
    init_fixture(&f);
    clientfix_open(&f.c, NULL);
    answer_training(&f.c.net);
    tinkc_future *create = tinkc_service_create_training(f.c.service, "m", NULL);
    clientfix_turn(&f.c);
    assert_int_equal(tinkc_future_take_training(&f.models[0], create, NULL), TINKC_OK);
    tinkc_future_free(&create);
    answer_batches(&f, NULL);
    gate_raise(&f.p.hold);
    tinkc_future *held = call_custom(&f, 0, held_loss);
    clientfix_turn(&f.c);
    expect(held, TINKC_OK);
    assert_true(f.p.was_inside_loop);
    tinkc_future *closing = call_custom(&f, 0, closing_loss);
    clientfix_turn(&f.c);
    expect(closing, TINKC_OK);
    assert_non_null(f.c.service);
    close_fixture(&f);
}

/* ---- memory ---- */

static tinkc_service *open_plain(faketransport *net)
{
    tinkc_config *config = NULL;
    tinkc_service *service = NULL;
    tk_core_seams seams = {.transport = &net->transport, .seed = 1, .most_pause_ms = 1};
    if (tinkc_config_new(&config, NULL) == TINKC_OK &&
        tinkc_config_set(config, "base_url", "http://127.0.0.1:1", NULL) == TINKC_OK &&
        tinkc_config_set(config, "api_key", "tml-test", NULL) == TINKC_OK &&
        tinkc_config_set(config, "finish_session", "false", NULL) == TINKC_OK &&
        tk_service_open(&service, config, &seams, NULL) != TINKC_OK) {
        service = NULL;
    }
    tinkc_config_free(&config);
    return service;
}

/* with the worker's thread. One operation after the failure works. */
static bool scenario(void *user)
{
    fixture f;
    init_fixture(&f);
    faketransport_init(&f.c.net, &tk_clock_real);
    clientfix_answer_setup(&f.c);
    answer_training(&f.c.net);
    f.c.service = open_plain(&f.c.net);
    bool ok = f.datum != NULL &&
              tinkc_service_create_training_wait(&f.models[0], f.c.service, "m", NULL,
                                                 NULL) == TINKC_OK;
    if (ok) {
        tinkc_datum *data[] = {f.datum};
        on_loop(&f, answer_batches, NULL);
        bool first = tinkc_training_forward_backward_custom_wait(NULL, f.models[0], data,
                                                                 1, datumfix_flat_loss,
                                                                 NULL, NULL) == TINKC_OK;
        bool second = tinkc_training_forward_backward_custom_wait(NULL, f.models[0], data,
                                                                  1, datumfix_flat_loss,
                                                                  NULL, NULL) == TINKC_OK;
        assert_true(first || second);
        ok = first && second;
    }
    close_fixture(&f);
    return ok;
}

/* with any one allocation failing the call with a callback ends, and nothing
 * leaks. */
static void test_custom_thread_allocation_sweep(void **unused)
{
    (void)logprobs_answer(); /* made once, not counted */
    assert_true(failmem_sweep(scenario, NULL, 1) > 100);
}

static void close_in_child(fixture *f)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)alarm(GATE_CAP_MS / 1000); /* ends a child that hangs */
        for (size_t i = 0; i < MODELS; i++) {
            tinkc_training_close(&f->models[i]);
        }
        tinkc_service_close(&f->c.service);
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* M-168: a forked child may free its handles: the worker's thread is the parent's. By
 * the second child the worker has surely gone to sleep again. */
static void test_custom_thread_fork(void **unused)
{
    fixture f;
    open_fixture(&f);
    expect(call_custom(&f, 0, datumfix_flat_loss), TINKC_OK);
    for (int i = 0; i < 5; i++) {
        close_in_child(&f);
    }
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_custom_thread_heartbeats),
        cmocka_unit_test(test_custom_thread_one_at_a_time),
        cmocka_unit_test(test_custom_thread_cancel),
        cmocka_unit_test(test_custom_thread_cancel_waiting),
        cmocka_unit_test(test_custom_thread_deadline),
        cmocka_unit_test(test_custom_thread_close),
        cmocka_unit_test(test_custom_thread_waits),
        cmocka_unit_test(test_custom_thread_close_while_it_waits),
        cmocka_unit_test(test_custom_thread_close_inside),
        cmocka_unit_test(test_custom_thread_manual),
        cmocka_unit_test(test_custom_thread_fork),
        cmocka_unit_test(test_custom_thread_allocation_sweep),
    };
    return cmocka_run_group_tests_name("training_custom_thread", tests, NULL, NULL);
}
