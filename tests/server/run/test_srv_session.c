/* Sessions at their ends: one that could not be stored, one without heartbeats. */
#include <sqlite3.h>
#include <stdatomic.h>

#include "server/run/srv_keeper.h"
#include "server/run/srv_session.h"
#include "server/wirefix.h"

static void run_sql(const srvfix *f, const char *text)
{
    char path[96];
    sqlite3 *db = NULL;
    (void)snprintf(path, sizeof(path), "%s/tinkc.db", f->data);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    (void)sqlite3_busy_timeout(db, 60000);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Creates a session under a key; its id in `id` when the status is 200. */
static int create(srvfix *f, char id[64])
{
    httpget_response response;
    const tk_json *json = NULL;
    tk_err err = TK_ERR_INIT;
    const httpget_request request = {.method = "POST",
                                     .target = "/api/v1/create_session",
                                     .headers = "X-Idempotency-Key: key-1\r\n",
                                     .body = "{\"tags\":[],\"sdk_version\":\"0.25.0\"}"};
    assert_int_equal(httpget_once(srvfix_port(f), &request, &response), HTTPGET_OK);
    int status = response.status;
    assert_int_equal(
        tk_json_parse(&json, &f->arena, response.body.p, response.body.n, NULL, &err),
        TINKC_OK);
    if (status == 200) {
        (void)snprintf(id, 64, "%s", srvfix_text(json, "session_id"));
    }
    httpget_response_dispose(&response);
    return status;
}

/* A session that could not be stored does not exist: the next attempt, which comes under
 * the same key, makes one that does. */
static void test_srv_session_without_row_is_gone(void **state)
{
    srvfix f;
    char id[64], path[128];
    srvfix_open(&f, (srv_options){0});
    run_sql(&f, "CREATE TRIGGER broken BEFORE INSERT ON sessions"
                " BEGIN SELECT RAISE(ABORT, 'no'); END");
    assert_int_equal(create(&f, id), 500);
    run_sql(&f, "DROP TRIGGER broken");
    assert_int_equal(create(&f, id), 200);
    (void)snprintf(path, sizeof(path), "/api/v1/sessions/%s", id);
    (void)srvfix_ask(&f, "GET", path, NULL);
    assert_int_equal(f.status, 200);
    srvfix_close(&f);
}

typedef struct listener {
    srvfix f;
    int logged;
} listener;

static void on_log(tinkc_log_level level, const char *component, const char *message,
                   void *user)
{
    listener *l = user;
    if (strstr(message, "no sign of life") != NULL) {
        (void)srvfix_session(&l->f); /* needs the server's lock */
        l->logged++;
    }
}

/* A slow reader of the log blocks nothing: no lock is held while it is called. */
static void test_srv_log_holds_nobody_up(void **state)
{
    listener l = {.logged = 0};
    srvfix_open(
        &l.f, (srv_options){.log_level = TINKC_LOG_INFO, .log = on_log, .log_user = &l});
    (void)srvfix_session(&l.f);
    srv_session_sweep(l.f.server, tk_clock_mono_ns(NULL) + 2 * SRV_SESSION_MUTE_NS);
    assert_int_equal(l.logged, 1);
    srvfix_close(&l.f);
}

/* ---- the end, with work under way ---- */

typedef struct ending {
    const char *session, *model;
    srvfix side; /* the engine thread's own */
    atomic_int saved, finished;
} ending;

/* Before the first step of a training request: a snapshot is queued after it, and then
 * the session ends. */
static void on_step(void *user, srv_step step)
{
    ending *e = user;
    char text[256];
    (void)snprintf(text, sizeof(text),
                   "{\"model_id\":\"%s\",\"sampling_session_seq_id\":0,\"seq_id\":2}",
                   e->model);
    (void)srvfix_post(&e->side, API "save_weights_for_sampler", text);
    atomic_store(&e->saved, e->side.status);
    (void)snprintf(text, sizeof(text), API "sessions/%s/finish", e->session);
    (void)srvfix_post(&e->side, text, "{}");
    atomic_store(&e->finished, e->side.status);
}

/* A sampler that is made after the end of its session would never end. */
static void test_srv_no_sampler_after_the_end(void **state)
{
    fix t;
    ending e = {.session = NULL};
    httpget_response metrics;
    const httpget_request request = {.method = "GET", .target = "/metrics"};
    open_fix(&t, (srv_options){.on_step = on_step, .hook_user = &e});
    e.session = t.session;
    e.model = t.model;
    e.side.server = t.f.server;
    tk_arena_init(&e.side.arena, 0);
    (void)result_of(
        &t, submit(&t, API "forward_backward", train_body(&t, 1, "cross_entropy")));
    assert_int_equal(t.f.status, 200);
    assert_int_equal(atomic_load(&e.saved), 200);
    assert_int_equal(atomic_load(&e.finished), 200);
    const tk_json *json = result_of(&t, format_body(&t, "%s:2", t.model));
    assert_string_equal(srvfix_text(json, "category"), "user");
    assert_int_equal(httpget_once(srvfix_port(&t.f), &request, &metrics), HTTPGET_OK);
    assert_non_null(strstr(metrics.body.p, "\ntinkc_samplers 0\n"));
    httpget_response_dispose(&metrics);
    close_fix(&t);
    tk_arena_dispose(&e.side.arena);
}

/* Rows of sessions that ended long ago are removed; the row of one that lives stays,
 * however old it is. */
static void test_srv_old_sessions_are_forgotten(void **state)
{
    srvfix f;
    char path[128];
    srvfix_open(&f, (srv_options){0});
    (void)snprintf(path, sizeof(path), "/api/v1/sessions/%s", srvfix_session(&f));
    run_sql(&f, "UPDATE sessions SET created_us = 1;"
                "INSERT INTO sessions VALUES('gone',1,'[]',NULL,NULL,NULL,NULL)");
    srv_keeper_forget(f.server);
    (void)srvfix_ask(&f, "GET", "/api/v1/sessions/gone", NULL);
    assert_int_equal(f.status, 404);
    (void)srvfix_ask(&f, "GET", path, NULL);
    assert_int_equal(f.status, 200);
    srvfix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_old_sessions_are_forgotten),
        cmocka_unit_test(test_srv_session_without_row_is_gone),
        cmocka_unit_test(test_srv_log_holds_nobody_up),
        cmocka_unit_test(test_srv_no_sampler_after_the_end),
    };
    return cmocka_run_group_tests_name("srv_session", tests, NULL, NULL);
}
