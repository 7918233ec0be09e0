/* The stop of a server, with requests under way.
 * Links: wire */
#include <poll.h>
#include <pthread.h>
#include <time.h>

#include "server/run/srv_engine.h"
#include "server/run/srv_model.h"
#include "server/run/srv_run.h"
#include "server/run/srv_state.h"
#include "server/wirefix.h"

/* A stop answers what is parked. */
static void test_srv_stop_answers_polls(void **state)
{
    fix t;
    open_fix(&t, (srv_options){0});
    const char *id =
        submit(&t, API "forward_backward", train_body(&t, 9, "cross_entropy"));
    httpget *poll = send_poll(&t, id);
    (void)srvfix_session(&t.f); /* the poll has very likely been parked by now */
    srv_stop(&t.f.server);
    httpget_response response;
    httpget_outcome outcome = httpget_read(poll, &response);
    if (outcome == HTTPGET_OK) { /* else it came too late to be taken */
        assert_true(response.status == 503 || response.status == 200);
    }
    httpget_response_dispose(&response);
    httpget_close(&poll);
    close_fix(&t);
}

/* ---- a stop that waits for the engine ---- */

typedef struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool reached; /* the engine has stopped here */
    bool open;
    int steps;
} gate;

static void gate_wait(gate *g, const bool *flag)
{
    struct timespec end;
    (void)clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 60;
    while (!*flag && pthread_cond_timedwait(&g->changed, &g->lock, &end) == 0) {
    }
}

static void on_step(void *user, srv_step step)
{
    gate *g = user;
    pthread_mutex_lock(&g->lock);
    g->reached = true;
    g->steps++;
    pthread_cond_broadcast(&g->changed);
    gate_wait(g, &g->open);
    pthread_mutex_unlock(&g->lock);
}

static void *stop_server(void *server)
{
    srv_stop(server);
    return NULL;
}

/* How many requests the server has seen the head of, this one among them. */
static unsigned long long heads_seen(fix *t)
{
    static const char name[] = "\ntinkc_requests_total ";
    httpget_response response;
    unsigned long long n = 0;
    const httpget_request request = {.method = "GET", .target = "/metrics"};
    assert_int_equal(httpget_once(srvfix_port(&t->f), &request, &response), HTTPGET_OK);
    const char *at = strstr(response.body.p, name);
    assert_non_null(at);
    for (at += sizeof(name) - 1; *at >= '0' && *at <= '9'; at++) {
        n = n * 10 + (unsigned long long)(*at - '0');
    }
    httpget_response_dispose(&response);
    return n;
}

/* Sends all of a request but the end of its body, and waits until the head was read. */
static httpget *ask_half(fix *t, tk_str *rest)
{
    static const char text[] =
        "POST " API "create_session HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        "Content-Type: application/json\r\nContent-Length: 34\r\n\r\n"
        "{\"tags\":[],\"sdk_version\":\"0.25.0\"}";
    *rest = TK_STR("0.25.0\"}");
    unsigned long long expected = heads_seen(t) + 1;
    httpget *connection = httpget_connect(srvfix_port(&t->f));
    assert_true(httpget_send(connection, text, sizeof(text) - 1 - rest->n));
    while (heads_seen(t) <= expected++) {
    }
    return connection;
}

static void wait_refused(int port)
{
    httpget *connection;
    while ((connection = httpget_connect(port)) != NULL) {
        httpget_close(&connection);
        (void)poll(NULL, 0, 1);
    }
}

/* A request whose last byte comes after the stop has begun is refused: were it taken, the
 * stop could not know that it has to wait for it. */
static void test_srv_stop_takes_no_more(void **state)
{
    gate g = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    fix t;
    pthread_t thread;
    tk_str rest;
    open_fix(&t, (srv_options){.on_step = on_step, .hook_user = &g});
    int port = srvfix_port(&t.f);
    (void)submit(&t, API "forward_backward", train_body(&t, 1, "cross_entropy"));
    pthread_mutex_lock(&g.lock);
    gate_wait(&g, &g.reached);
    assert_true(g.reached);
    pthread_mutex_unlock(&g.lock);
    httpget *half = ask_half(&t, &rest);
    assert_int_equal(pthread_create(&thread, NULL, stop_server, &t.f.server), 0);
    wait_refused(port);
    httpget_response response;
    assert_true(httpget_send(half, rest.p, rest.n));
    assert_int_equal(httpget_read(half, &response), HTTPGET_OK);
    assert_int_equal(response.status, 503);
    httpget_response_dispose(&response);
    httpget_close(&half);
    pthread_mutex_lock(&g.lock);
    g.open = true;
    pthread_cond_broadcast(&g.changed);
    pthread_mutex_unlock(&g.lock);
    assert_int_equal(pthread_join(thread, NULL), 0);
    close_fix(&t);
}

#define PIECES 40

/* A request of many pieces, one for each of its data. */
static const char *begin_long_request(fix *t)
{
    tk_buf body;
    tk_buf_init(&body, TK_MIB);
    tk_buf_puts(&body, "{\"forward_backward_input\":{\"data\":[");
    for (int i = 0; i < PIECES; i++) {
        tk_buf_puts(&body, i > 0 ? "," : "");
        tk_buf_puts(&body,
                    "{\"loss_fn_inputs\":{\"target_tokens\":{\"data\":[7],\"dtype\":"
                    "\"int64\"},\"weights\":{\"data\":[1.0],\"dtype\":\"float32\"}},"
                    "\"model_input\":{\"chunks\":[{\"tokens\":[5],\"type\":"
                    "\"encoded_text\"}]}}");
    }
    tk_buf_printf(&body, "],\"loss_fn\":\"cross_entropy\"},\"model_id\":\"%s\"}",
                  t->model);
    assert_int_equal(body.failure, TINKC_OK);
    const char *id = submit(t, API "forward_backward", body.p);
    tk_buf_dispose(&body);
    return id;
}

/* The stop waits for the piece that is being computed, not for the rest: the model, and
 * the gradients with it, end with the server. */
static void test_srv_stop_between_pieces(void **state)
{
    gate g = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    fix t;
    pthread_t thread;
    open_fix(&t, (srv_options){.on_step = on_step, .hook_user = &g, .piece_rows = 1});
    int port = srvfix_port(&t.f);
    httpget *poll = send_poll(&t, begin_long_request(&t));
    pthread_mutex_lock(&g.lock);
    gate_wait(&g, &g.reached);
    assert_true(g.reached);
    pthread_mutex_unlock(&g.lock);
    assert_int_equal(pthread_create(&thread, NULL, stop_server, &t.f.server), 0);
    wait_refused(port); /* the stop has begun */
    pthread_mutex_lock(&g.lock);
    g.open = true;
    pthread_cond_broadcast(&g.changed);
    pthread_mutex_unlock(&g.lock);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(g.steps, 1);
    httpget_response response;
    if (httpget_read(poll, &response) == HTTPGET_OK) { /* else it came too late */
        assert_int_equal(response.status, 503);
    }
    httpget_response_dispose(&response);
    httpget_close(&poll);
    close_fix(&t);
}

/* ---- a step that is interrupted ---- */

static void gate_set(gate *g, bool open)
{
    pthread_mutex_lock(&g->lock);
    g->open = open;
    g->reached = false;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

/* A second model of the session, whose request holds the engine at the gate. */
static void hold_engine(fix *t, gate *g)
{
    const char *first = t->model;
    const char *id = submit(t, API "create_model", create_body(t, 1, "{\"rank\":4}"));
    t->model = srvfix_text(result_of(t, id), "model_id");
    gate_set(g, false);
    (void)submit(t, API "forward_backward", train_body(t, 1, "cross_entropy"));
    t->model = first;
    pthread_mutex_lock(&g->lock);
    gate_wait(g, &g->reached);
    assert_true(g->reached);
    pthread_mutex_unlock(&g->lock);
}

static void wait_parked(fix *t)
{
    const httpget_request request = {.method = "GET", .target = "/metrics"};
    int64_t end = tk_clock_mono_ms(NULL) + HTTPGET_CAP_S * 1000;
    bool parked = false;
    while (!parked) {
        httpget_response response;
        assert_true(tk_clock_mono_ms(NULL) < end);
        assert_int_equal(httpget_once(srvfix_port(&t->f), &request, &response),
                         HTTPGET_OK);
        parked = strstr(response.body.p, "\ntinkc_polls_parked 1\n") != NULL;
        httpget_response_dispose(&response);
    }
}

/* The job of a request that the stop interrupts lives as long as its future, at which
 * the last polls look. Here the test is the engine: it takes the step that waits, and
 * runs it while the server stops. */
static void test_srv_stop_gives_up_a_step(void **state)
{
    gate g = {.lock = PTHREAD_MUTEX_INITIALIZER,
              .changed = PTHREAD_COND_INITIALIZER,
              .open = true};
    fix t;
    open_fix(&t, (srv_options){.on_step = on_step, .hook_user = &g});
    srv *server = t.f.server;
    (void)result_of(
        &t, submit(&t, API "forward_backward", train_body(&t, 1, "cross_entropy")));
    hold_engine(&t, &g);
    httpget *poll = send_poll(&t, submit(&t, API "optim_step", step_body(&t, 2, "0.1")));
    wait_parked(&t);
    tk_mutex_lock(&server->lock);
    atomic_store(&server->stopping, true);
    tk_mutex_unlock(&server->lock);
    gate_set(&g, true);
    srv_engine_stop(server->engine);
    srv_model *model = srv_model_find(server, tk_str_of(t.model));
    srv_order_node *node = srv_order_take(&model->order, tk_clock_mono_ns(NULL));
    assert_non_null(node);
    srv_job *job = TK_CONTAINER_OF(node, srv_job, order);
    assert_false(srv_run_job(job));
    assert_ptr_equal(model->running, job);
    srv_stop(&t.f.server);
    httpget_response response;
    assert_int_equal(httpget_read(poll, &response), HTTPGET_OK);
    assert_int_equal(response.status, 503);
    httpget_response_dispose(&response);
    httpget_close(&poll);
    close_fix(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_stop_answers_polls),
        cmocka_unit_test(test_srv_stop_takes_no_more),
        cmocka_unit_test(test_srv_stop_between_pieces),
        cmocka_unit_test(test_srv_stop_gives_up_a_step),
    };
    return cmocka_run_group_tests_name("srv_stop", tests, NULL, NULL);
}
