/* Health and heartbeats while other requests wait for the database.
 * Links: wire sqlite3 */
#include <poll.h>
#include <sqlite3.h>

#include "httpd/hd_http.h"
#include "server/api/srv_api.h"
#include "server/run/srv_state.h"
#include "server/wirefix.h"

#define WAITERS 6 /* more than there are workers for them */

/* Takes the database's write lock, as another program could. */
static sqlite3 *lock_database(const fix *t)
{
    char path[96];
    sqlite3 *db = NULL;
    (void)snprintf(path, sizeof(path), "%s/tinkc.db", t->f.data);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
    return db;
}

static void unlock_database(sqlite3 *db)
{
    assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static httpget *begin(fix *t, const char *path, const char *body)
{
    httpget *connection = httpget_connect(srvfix_port(&t->f));
    assert_non_null(connection);
    const httpget_request request = {.method = "POST", .target = path, .body = body};
    assert_true(httpget_ask(connection, &request));
    return connection;
}

static int end(httpget **connection)
{
    httpget_response response;
    assert_int_equal(httpget_read(*connection, &response), HTTPGET_OK);
    int status = response.status;
    httpget_response_dispose(&response);
    httpget_close(connection);
    return status;
}

/* The requests of `quick` are answered while WAITERS wait for the lock. */
static void test_srv_busy_health_is_prompt(void **state)
{
    fix t;
    open_fix(&t, (srv_options){.poll_ms = 1});
    const char *beat = format_body(&t, "{\"session_id\":\"%s\"}", t.session);
    const char *info = format_body(&t, "{\"model_id\":\"%s\"}", t.model);
    const struct {
        const char *method, *path, *body;
    } quick[] = {
        {"GET", API "healthz", NULL},
        {"GET", "/metrics", NULL},
        {"GET", "/", NULL},
        {"GET", API "get_server_capabilities", NULL},
        {"POST", API "client/config", "{\"sdk_version\":\"0.25.0\"}"},
        {"POST", API "session_heartbeat", beat},
        {"POST", API "telemetry", "{}"},
        {"POST", API "get_info", info},
    };
    httpget *waiters[WAITERS], *lost[2];
    sqlite3 *db = lock_database(&t);
    for (size_t i = 0; i < WAITERS; i++) {
        waiters[i] =
            begin(&t, API "create_session", "{\"tags\":[],\"sdk_version\":\"0.25.0\"}");
    }
    /* these need the database, but begin as quick ones */
    lost[0] = begin(&t, API "session_heartbeat", "{\"session_id\":\"nobody\"}");
    lost[1] = begin(&t, API "get_info", "{\"model_id\":\"nothing:train:0\"}");
    for (size_t i = 0; i < TK_ARRAY_LEN(quick); i++) {
        (void)srvfix_ask(&t.f, quick[i].method, quick[i].path, quick[i].body);
        assert_int_equal(t.f.status, 200);
    }
    unlock_database(db);
    for (size_t i = 0; i < WAITERS; i++) {
        int status = end(&waiters[i]);
        assert_true(status == 200 || status == 500); /* 500: it has waited too long */
    }
    assert_int_equal(end(&lost[0]), 404);
    assert_int_equal(end(&lost[1]), 404);
    close_fix(&t);
}

/* These handlers use memory only; test_hd_work shows what the class does for them. */
static void test_srv_busy_classes(void **state)
{
    static const char *const prompt[] = {
        "/",
        "/console/*",
        "/metrics",
        API "healthz",
        API "session_heartbeat",
        API "telemetry",
        API "client/config",
        API "client/dynamic_config",
        API "get_server_capabilities",
    };
    size_t n = 0;
    for (size_t r = 0; r < srv_api_routes.n; r++) {
        const hd_route *route = &srv_api_routes.p[r];
        bool listed = false;
        for (size_t i = 0; i < TK_ARRAY_LEN(prompt); i++) {
            listed = listed || strcmp(route->pattern, prompt[i]) == 0;
        }
        assert_int_equal((route->flags & HD_ROUTE_PROMPT) != 0, listed);
        n += listed;
    }
    assert_int_equal(n, TK_ARRAY_LEN(prompt));
}

/* Waits until so many requests are with workers or parked, for a minute at most. */
static void wait_for_suspended(fix *t, size_t n)
{
    hd_http_stats stats = {.suspended = n + 1};
    int64_t until = tk_clock_mono_ns(NULL) + INT64_C(60000) * TK_NS_PER_MS;
    while (stats.suspended != n && tk_clock_mono_ns(NULL) < until) {
        hd_http_get_stats(t->f.server->http, &stats);
    }
    assert_int_equal(stats.suspended, n);
}

/* The HTTP thread does not wait for the lock of the state: the heartbeat does, on a worker. */
static void test_srv_busy_lock_is_not_waited_for(void **state)
{
    fix t;
    open_fix(&t, (srv_options){.poll_ms = 1});
    const char *beat = format_body(&t, "{\"session_id\":\"%s\"}", t.session);
    wait_for_suspended(&t, 0);
    tk_mutex_lock(&t.f.server->lock);
    httpget *waits = begin(&t, API "session_heartbeat", beat);
    wait_for_suspended(&t, 1);
    (void)srvfix_ask(&t.f, "GET", API "healthz", NULL);
    tk_mutex_unlock(&t.f.server->lock);
    assert_int_equal(t.f.status, 200);
    assert_int_equal(end(&waits), 200);
    close_fix(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_busy_health_is_prompt),
        cmocka_unit_test(test_srv_busy_classes),
        cmocka_unit_test(test_srv_busy_lock_is_not_waited_for),
    };
    return cmocka_run_group_tests_name("srv_busy", tests, NULL, NULL);
}
