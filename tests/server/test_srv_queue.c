/* What waits for what: sampling beside training, models side by side, and the answers to
 * polls meanwhile. Nothing depends on time: the engine stops before each of its steps
 * until the test lets it go on. Links: wire */
#include <pthread.h>
#include <time.h>

#include "server/restfix.h"
#include "server/run/srv_state.h"

#define API    "/api/v1/"
#define CAP_S  60
#define ROOM   3 /* sequences at once */
#define TOKENS 4 /* of a datum, and of a piece */

/* ---- the gate ---- */

typedef struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool open;       /* no step waits any more */
    size_t allowed;  /* steps that may be taken */
    size_t taken[2]; /* srv_step: steps that came to the gate and passed */
    size_t at_gate;  /* 1 = a step waits there */
    srv_step kind;   /* of that step */
} gate;

static struct timespec cap(void)
{
    struct timespec end;
    (void)clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += CAP_S;
    return end;
}

static void wait_for_change(gate *g)
{
    struct timespec end = cap();
    assert_int_equal(pthread_cond_timedwait(&g->changed, &g->lock, &end), 0);
}

static void on_step(void *user, srv_step step)
{
    gate *g = user;
    pthread_mutex_lock(&g->lock);
    g->at_gate = 1;
    g->kind = step;
    pthread_cond_broadcast(&g->changed);
    struct timespec end = cap();
    while (!g->open && g->allowed == 0 &&
           pthread_cond_timedwait(&g->changed, &g->lock, &end) == 0) {
    }
    g->allowed -= g->allowed > 0;
    g->at_gate = 0;
    g->taken[step]++;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

/* Waits for a step at the gate and says which. */
static srv_step step_at_gate(gate *g)
{
    pthread_mutex_lock(&g->lock);
    while (g->at_gate == 0) {
        wait_for_change(g);
    }
    srv_step kind = g->kind;
    pthread_mutex_unlock(&g->lock);
    return kind;
}

/* Lets the step at the gate pass and waits for the next one. */
static srv_step next_step(gate *g)
{
    (void)step_at_gate(g);
    pthread_mutex_lock(&g->lock);
    size_t before = g->taken[0] + g->taken[1];
    g->allowed = 1;
    pthread_cond_broadcast(&g->changed);
    while (g->taken[0] + g->taken[1] == before) {
        wait_for_change(g);
    }
    pthread_mutex_unlock(&g->lock);
    return step_at_gate(g);
}

static void open_gate(gate *g)
{
    pthread_mutex_lock(&g->lock);
    g->open = true;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

/* ---- a server with a gate before each step ---- */

typedef struct fix {
    gate gate;
    restfix rest;
} fix;

static void open_fix(fix *t)
{
    *t = (fix){
        .gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER}};
    restfix *r = &t->rest;
    srvfix_open(&r->srv, (srv_options){.poll_ms = 1,
                                       .piece_rows = TOKENS,
                                       .sequences = ROOM,
                                       .on_step = on_step,
                                       .hook_user = &t->gate});
    (void)snprintf(r->session, sizeof(r->session), "%s", srvfix_session(&r->srv));
    restfix_run(r, 0);
}

static void close_fix(fix *t)
{
    open_gate(&t->gate);
    srvfix_close(&t->rest.srv);
}

static void put_numbers(tk_buf *out, size_t n, unsigned from)
{
    for (size_t i = 0; i < n; i++) {
        tk_buf_printf(out, "%s%u", i > 0 ? "," : "", 5 + (from + 7 * (unsigned)i) % 200);
    }
}

/* forward_backward of `n` data of `tokens` tokens. */
static const tk_json *train(fix *t, const char *model, int seq, size_t n, size_t tokens)
{
    tk_buf body;
    tk_buf_init(&body, 4 * TK_MIB);
    tk_buf_puts(&body, "{\"forward_backward_input\":{\"data\":[");
    for (size_t i = 0; i < n; i++) {
        tk_buf_printf(&body, "%s{\"loss_fn_inputs\":{\"target_tokens\":{\"data\":[",
                      i > 0 ? "," : "");
        put_numbers(&body, tokens, (unsigned)i + 7);
        tk_buf_puts(&body, "],\"dtype\":\"int64\"}},\"model_input\":{\"chunks\":[{"
                           "\"type\":\"encoded_text\",\"tokens\":[");
        put_numbers(&body, tokens, (unsigned)i);
        tk_buf_puts(&body, "]}]}}");
    }
    tk_buf_printf(&body,
                  "],\"loss_fn\":\"cross_entropy\"},\"model_id\":\"%s\",\"seq_id\":%d}",
                  model, seq);
    tk_buf_put(&body, "", 1);
    assert_int_equal(body.failure, TINKC_OK);
    const tk_json *json = srvfix_post(&t->rest.srv, API "forward_backward", body.p);
    tk_buf_dispose(&body);
    return json;
}

static const tk_json *sample(fix *t, int n, const char *params)
{
    char body[512];
    (void)snprintf(body, sizeof(body),
                   "{\"num_samples\":%d,\"prompt\":{\"chunks\":[{\"type\":"
                   "\"encoded_text\",\"tokens\":[5,7]}]},\"sampling_params\":{%s},"
                   "\"base_model\":\"" RESTFIX_MODEL "\"}",
                   n, params);
    const tk_json *json = srvfix_post(&t->rest.srv, API "asample", body);
    assert_int_equal(t->rest.srv.status, 200);
    return json;
}

static const tk_json *poll_once(fix *t, const tk_json *future)
{
    char body[256];
    (void)snprintf(body, sizeof(body), "{\"request_id\":\"%s\"}",
                   srvfix_text(future, "request_id"));
    return srvfix_post(&t->rest.srv, API "retrieve_future", body);
}

static void expect_wait(fix *t, const tk_json *future, const char *state,
                        const char *reason)
{
    const tk_json *json = poll_once(t, future);
    assert_int_equal(t->rest.srv.status, 408);
    assert_string_equal(srvfix_text(json, "queue_state"), state);
    const tk_json *text = tk_json_get(json, "queue_state_reason");
    if (reason == NULL) {
        assert_int_equal(text->type, TK_JSON_NULL);
    } else {
        assert_non_null(strstr(text->as.string.p, reason));
    }
}

static const tk_json *result(fix *t, const tk_json *future)
{
    t->rest.srv.status = 200; /* that of the submission */
    return restfix_result(&t->rest.srv, future);
}

/* ---- tests ---- */

/* A large forward_backward runs in pieces; a sample that comes in the middle is done
 * before its end. */
static void test_srv_samples_run_beside_training(void **state)
{
    fix t;
    enum { PIECES = 8 };
    open_fix(&t);
    const tk_json *pass = train(&t, t.rest.run, 1, PIECES, TOKENS);
    assert_int_equal(step_at_gate(&t.gate), SRV_STEP_TRAIN);
    assert_int_equal(next_step(&t.gate), SRV_STEP_TRAIN); /* the second piece */
    const tk_json *short_one = sample(&t, 1, "\"max_tokens\":1,\"seed\":1");
    expect_wait(&t, short_one, "active", NULL);
    /* The first tokens are drawn by the last of at most a few sampling steps. */
    size_t trained = 1;
    do {
        trained += step_at_gate(&t.gate) == SRV_STEP_TRAIN;
        (void)next_step(&t.gate);
        (void)poll_once(&t, short_one);
    } while (t.rest.srv.status == 408 && trained < PIECES);
    assert_int_equal(t.rest.srv.status, 200);
    assert_true(trained < PIECES);
    expect_wait(&t, pass, "active", NULL);
    open_gate(&t.gate);
    (void)result(&t, pass);
    assert_int_equal(t.gate.taken[SRV_STEP_TRAIN], PIECES);
    close_fix(&t);
}

/* Two models take turns, piece by piece; the poll of the one that has not begun says
 * why. */
static void test_srv_models_take_turns(void **state)
{
    fix t;
    char first[96];
    open_fix(&t);
    (void)snprintf(first, sizeof(first), "%s", t.rest.run);
    restfix_run(&t.rest, 1);
    const tk_json *large = train(&t, first, 1, 6, TOKENS);
    (void)step_at_gate(&t.gate);
    const tk_json *small = train(&t, t.rest.run, 1, 1, TOKENS);
    expect_wait(&t, large, "active", NULL);
    expect_wait(&t, small, "paused_capacity", "others");
    (void)next_step(&t.gate); /* the other model's */
    expect_wait(&t, small, "active", NULL);
    (void)next_step(&t.gate);
    (void)result(&t, small);
    expect_wait(&t, large, "active", NULL);
    open_gate(&t.gate);
    (void)result(&t, large);
    close_fix(&t);
}

/* Pieces with samples in between give the bits of the whole. */
static void test_srv_turns_change_no_bit(void **state)
{
    char text[2][128];
    for (int busy = 0; busy < 2; busy++) {
        fix t;
        open_fix(&t);
        const tk_json *pass = train(&t, t.rest.run, 1, 4, TOKENS);
        (void)step_at_gate(&t.gate);
        const tk_json *other =
            busy ? sample(&t, 4, "\"max_tokens\":8,\"stop\":[]") : NULL;
        open_gate(&t.gate);
        const tk_json *metrics = tk_json_get(result(&t, pass), "metrics");
        tk_buf out;
        tk_json_writer w;
        tk_buf_init(&out, TK_KIB);
        tk_json_writer_init(&w, &out);
        tk_json_put_value(&w, metrics);
        (void)snprintf(text[busy], sizeof(text[busy]), TK_STR_FMT,
                       TK_STR_ARG(tk_buf_str(&out)));
        tk_buf_dispose(&out);
        if (other != NULL) {
            (void)result(&t, other);
        }
        close_fix(&t);
    }
    assert_non_null(strstr(text[0], "loss:sum"));
    assert_string_equal(text[0], text[1]);
}

/* S-006: the poll of a sample without room says so. */
static void test_srv_waiting_samples_are_told(void **state)
{
    fix t;
    open_fix(&t);
    const tk_json *many = sample(&t, ROOM, "\"max_tokens\":64,\"stop\":[]");
    assert_int_equal(step_at_gate(&t.gate), SRV_STEP_SAMPLE);
    (void)next_step(&t.gate); /* the prompt: from now on all are there */
    const tk_json *late = sample(&t, 1, "\"max_tokens\":1");
    expect_wait(&t, late, "active", NULL); /* not looked at yet */
    (void)next_step(&t.gate);
    (void)next_step(&t.gate);
    expect_wait(&t, many, "active", NULL);
    expect_wait(&t, late, "paused_capacity", "room");
    close_fix(&t);
}

/* S-006: polls of requests in a full queue say so; one more request is refused. */
static void test_srv_full_queues_are_told(void **state)
{
    fix t;
    char body[256];
    open_fix(&t);
    const tk_json *pass = train(&t, t.rest.run, 1, 1, 2);
    (void)step_at_gate(&t.gate);
    const tk_json *last = NULL;
    for (int i = 0; i <= TK_SRV_JOBS_MAX; i++) {
        (void)snprintf(body, sizeof(body),
                       "{\"adam_params\":{\"learning_rate\":0.1},\"model_id\":\"%s\","
                       "\"seq_id\":%d}",
                       t.rest.run, i + 2);
        const tk_json *json = srvfix_post(&t.rest.srv, API "optim_step", body);
        if (t.rest.srv.status != 200) {
            break;
        }
        last = json;
        if (i == 0) {
            expect_wait(&t, last, "active", NULL);
        }
    }
    assert_int_equal(t.rest.srv.status, 429);
    expect_wait(&t, last, "paused_rate_limit", "too many");
    expect_wait(&t, pass, "active", NULL);
    close_fix(&t);
}

/* Fills the table with futures that are never finished; returns the last one. */
static srv_future *fill_futures(srv *server)
{
    srv_futures *all = &server->futures;
    srv_future *last = NULL;
    tk_err err = TK_ERR_INIT;
    char id[32];
    tk_mutex_lock(&server->lock);
    all->max = 8;
    for (size_t i = 0; all->by_id.count < all->max || !tk_list_is_empty(&all->done) ||
                       !tk_list_is_empty(&all->fetched);
         i++) {
        (void)snprintf(id, sizeof(id), "filler:%zu", i);
        const srv_future_spec spec = {tk_str_of(id), TK_STR(""), TK_FUTURE_SAMPLE, NULL};
        assert_int_equal(srv_future_add(&last, all, &spec, &err), TINKC_OK);
    }
    tk_mutex_unlock(&server->lock);
    return last;
}

/* S-019: a table of futures that is full refuses every kind of work in the way that
 * makes clients come back, and takes them then. */
static void test_srv_full_futures_are_429(void **state)
{
    restfix t;
    char model[256], step[256];
    restfix_open(&t);
    (void)snprintf(model, sizeof(model),
                   "{\"session_id\":\"%s\",\"model_seq_id\":1,\"base_model\":"
                   "\"" RESTFIX_MODEL "\",\"lora_config\":{\"rank\":4}}",
                   t.session);
    (void)snprintf(step, sizeof(step),
                   "{\"adam_params\":{\"learning_rate\":0.1},\"model_id\":\"%s\","
                   "\"seq_id\":1}",
                   t.run);
    srv_future *one = fill_futures(t.srv.server);
    (void)srvfix_post(&t.srv, API "optim_step", step);
    assert_int_equal(t.srv.status, 429);
    (void)srvfix_post(&t.srv, API "asample",
                      "{\"prompt\":{\"chunks\":[{\"type\":\"encoded_text\",\"tokens\":"
                      "[5]}]},\"sampling_params\":{\"max_tokens\":1},"
                      "\"base_model\":\"" RESTFIX_MODEL "\"}");
    assert_int_equal(t.srv.status, 429);
    const tk_json *json = srvfix_post(&t.srv, API "create_model", model);
    assert_int_equal(t.srv.status, 429);
    assert_string_equal(srvfix_text(json, "detail"), "too many unfinished requests");
    tk_mutex_lock(&t.srv.server->lock);
    srv_future_drop(&t.srv.server->futures, one);
    tk_mutex_unlock(&t.srv.server->lock);
    restfix_run(&t, 1);
    srvfix_close(&t.srv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_samples_run_beside_training),
        cmocka_unit_test(test_srv_models_take_turns),
        cmocka_unit_test(test_srv_turns_change_no_bit),
        cmocka_unit_test(test_srv_waiting_samples_are_told),
        cmocka_unit_test(test_srv_full_queues_are_told),
        cmocka_unit_test(test_srv_full_futures_are_429),
    };
    return cmocka_run_group_tests_name("srv_queue", tests, NULL, NULL);
}
