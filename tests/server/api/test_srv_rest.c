/* S-020, S-021, S-023: runs, checkpoints and sessions over plain HTTP.
 * Links: wire */
#include <stdatomic.h>

#include "base/clock.h"
#include "base/date.h"
#include "server/restfix.h"
#include "server/run/srv_keeper.h"
#include "server/run/srv_session.h"
#include "server/run/srv_state.h"
#include "server/store/srv_store_int.h"

/* A request below the run's checkpoints. */
static const tk_json *ask(restfix *t, const char *method, const char *tail,
                          const char *body)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "/api/v1/training_runs/%s/checkpoints%s", t->run,
                   tail);
    return srvfix_ask(&t->srv, method, path, body);
}

static int status_of(restfix *t, const char *method, const char *tail, const char *body)
{
    (void)ask(t, method, tail, body);
    return t->srv.status;
}

static int64_t number(const tk_json *json, const char *key)
{
    const tk_json *value = tk_json_get(json, key);
    assert_non_null(value);
    assert_int_equal(value->type, TK_JSON_INT);
    return value->as.integer;
}

static int64_t cursor_of(const tk_json *json, const char *key)
{
    return number(tk_json_get(json, "cursor"), key);
}

static void assert_no_files(restfix *t)
{
    char command[160];
    (void)snprintf(command, sizeof(command),
                   "test -z \"$(find %s/checkpoints -mindepth 3 -type f)\"", t->srv.data);
    assert_int_equal(system(command), 0);
}

/* S-020: docs/protocol.md §11 row 20: lists and saves say the same path. */
static void test_srv_checkpoints_are_listed(void **state)
{
    restfix t;
    char path[256];
    restfix_open(&t);
    restfix_save(&t, 1, "save_weights", "\"path\":\"one\"");
    restfix_save(&t, 2, "save_weights_for_sampler",
                 "\"path\":\"two\",\"ttl_seconds\":3600");
    const tk_json *list = tk_json_get(ask(&t, "GET", "", NULL), "checkpoints");
    assert_int_equal(t.srv.status, 200);
    assert_int_equal(tk_json_len(list), 2);
    tk_json newest = tk_json_at(list, 0), oldest = tk_json_at(list, 1);
    assert_string_equal(srvfix_text(&newest, "checkpoint_id"), "sampler_weights/two");
    assert_string_equal(srvfix_text(&newest, "checkpoint_type"), "sampler");
    assert_int_equal(tk_json_get(&newest, "expires_at")->type, TK_JSON_STRING);
    assert_string_equal(srvfix_text(&oldest, "checkpoint_type"), "training");
    (void)snprintf(path, sizeof(path), "tinker://%s/weights/one", t.run);
    assert_string_equal(srvfix_text(&oldest, "tinker_path"), path);
    assert_true(number(&oldest, "size_bytes") > 1000);
    assert_false(tk_json_get(&oldest, "public")->as.boolean);
    srvfix_close(&t.srv);
}

/* S-023: docs/protocol.md §11 row 23: total_count is the full count, also after the
 * end. */
static void test_srv_pages_know_the_total(void **state)
{
    restfix t;
    restfix_open(&t);
    for (int i = 1; i <= 3; i++) {
        char more[32];
        (void)snprintf(more, sizeof(more), "\"path\":\"c%d\"", i);
        restfix_save(&t, i, "save_weights", more);
    }
    const tk_json *json =
        srvfix_ask(&t.srv, "GET", "/api/v1/checkpoints?limit=2&offset=1", NULL);
    tk_json first = tk_json_at(tk_json_get(json, "checkpoints"), 0);
    assert_int_equal(tk_json_len(tk_json_get(json, "checkpoints")), 2);
    assert_string_equal(srvfix_text(&first, "checkpoint_id"), "weights/c2");
    assert_int_equal(cursor_of(json, "total_count"), 3);
    assert_int_equal(cursor_of(json, "limit"), 2);
    assert_int_equal(cursor_of(json, "offset"), 1);
    json = srvfix_ask(&t.srv, "GET", "/api/v1/checkpoints?offset=99", NULL);
    assert_int_equal(tk_json_len(tk_json_get(json, "checkpoints")), 0);
    assert_int_equal(cursor_of(json, "total_count"), 3);
    json = srvfix_ask(&t.srv, "GET", "/api/v1/checkpoints?limit=0", NULL);
    assert_int_equal(tk_json_len(tk_json_get(json, "checkpoints")), 0);
    assert_int_equal(cursor_of(json, "total_count"), 3);
    (void)srvfix_ask(&t.srv, "GET", "/api/v1/checkpoints?limit=-1", NULL);
    assert_int_equal(t.srv.status, 422);
    (void)srvfix_ask(&t.srv, "GET", "/api/v1/checkpoints?offset=many", NULL);
    assert_int_equal(t.srv.status, 422);
    srvfix_close(&t.srv);
}

/* A list of one project has the runs of its sessions only, in pages and total. */
static void test_srv_runs_of_a_project(void **state)
{
    restfix t;
    restfix_open(&t);
    const tk_json *json = srvfix_post(&t.srv, "/api/v1/create_session",
                                      "{\"tags\":[],\"sdk_version\":\"0.36.0\","
                                      "\"project_id\":\"one\",\"type\":"
                                      "\"create_session\"}");
    assert_int_equal(t.srv.status, 200);
    (void)snprintf(t.session, sizeof(t.session), "%s", srvfix_text(json, "session_id"));
    restfix_run(&t, 0);
    json = srvfix_ask(&t.srv, "GET", "/api/v1/training_runs", NULL);
    assert_int_equal(cursor_of(json, "total_count"), 2);
    json = srvfix_ask(&t.srv, "GET", "/api/v1/training_runs?project_id=one", NULL);
    assert_int_equal(cursor_of(json, "total_count"), 1);
    assert_int_equal(tk_json_len(tk_json_get(json, "training_runs")), 1);
    tk_json run = tk_json_at(tk_json_get(json, "training_runs"), 0);
    assert_string_equal(srvfix_text(&run, "training_run_id"), t.run);
    json = srvfix_ask(&t.srv, "GET", "/api/v1/training_runs?project_id=two", NULL);
    assert_int_equal(t.srv.status, 200);
    assert_int_equal(cursor_of(json, "total_count"), 0);
    assert_int_equal(tk_json_len(tk_json_get(json, "training_runs")), 0);
    srvfix_close(&t.srv);
}

/* S-021: runs in pages, and one by its percent-encoded id. */
static void test_srv_runs_are_listed(void **state)
{
    restfix t;
    char path[256];
    restfix_open(&t);
    restfix_save(&t, 1, "save_weights", "\"path\":\"one\"");
    restfix_run(&t, 1);
    const tk_json *json =
        srvfix_ask(&t.srv, "GET", "/api/v1/training_runs?limit=1", NULL);
    assert_int_equal(t.srv.status, 200);
    assert_int_equal(tk_json_len(tk_json_get(json, "training_runs")), 1);
    assert_int_equal(cursor_of(json, "total_count"), 2);
    tk_json run = tk_json_at(tk_json_get(json, "training_runs"), 0);
    assert_string_equal(srvfix_text(&run, "training_run_id"), t.run);
    (void)snprintf(path, sizeof(path), "/api/v1/training_runs/%s%%3Atrain%%3A0",
                   t.session);
    json = srvfix_ask(&t.srv, "GET", path, NULL);
    assert_int_equal(t.srv.status, 200);
    assert_string_equal(srvfix_text(json, "base_model"), RESTFIX_MODEL);
    assert_int_equal(number(json, "lora_rank"), 4);
    assert_string_equal(srvfix_text(tk_json_get(json, "user_metadata"), "colour"),
                        "green");
    assert_string_equal(
        srvfix_text(tk_json_get(json, "last_checkpoint"), "checkpoint_id"),
        "weights/one");
    (void)srvfix_ask(&t.srv, "GET", "/api/v1/training_runs/nobody", NULL);
    assert_int_equal(t.srv.status, 404);
    srvfix_close(&t.srv);
}

/* S-021: docs/protocol.md §11 row 21: ids of two segments, with ":" and "%3A". */
static void test_srv_checkpoints_are_changed(void **state)
{
    restfix t;
    restfix_open(&t);
    restfix_save(&t, 1, "save_weights", "\"path\":\"one\"");
    assert_int_equal(status_of(&t, "POST", "/weights/one/publish", NULL), 200);
    assert_int_equal(status_of(&t, "POST", "/weights/one/publish", NULL), 200);
    tk_json first = tk_json_at(tk_json_get(ask(&t, "GET", "", NULL), "checkpoints"), 0);
    assert_true(tk_json_get(&first, "public")->as.boolean);
    assert_int_equal(status_of(&t, "DELETE", "/weights/one/publish", NULL), 200);
    assert_int_equal(status_of(&t, "DELETE", "/weights/one/publish", NULL), 200);
    first = tk_json_at(tk_json_get(ask(&t, "GET", "", NULL), "checkpoints"), 0);
    assert_false(tk_json_get(&first, "public")->as.boolean);
    assert_int_equal(status_of(&t, "PUT", "/weights/one/ttl", "{\"ttl_seconds\":60}"),
                     200);
    assert_int_equal(status_of(&t, "PUT", "/weights/one/ttl", "{\"ttl_seconds\":null}"),
                     200);
    assert_int_equal(status_of(&t, "PUT", "/weights/one/ttl", "{\"ttl_seconds\":0}"),
                     400);
    assert_int_equal(status_of(&t, "PUT", "/weights/one/ttl", "{}"), 422);
    first = tk_json_at(tk_json_get(ask(&t, "GET", "", NULL), "checkpoints"), 0);
    assert_int_equal(tk_json_get(&first, "expires_at")->type, TK_JSON_NULL);
    assert_int_equal(status_of(&t, "PUT", "/weights/two/ttl", "{\"ttl_seconds\":1}"),
                     404);
    assert_int_equal(status_of(&t, "DELETE", "/one", NULL), 400);
    assert_int_equal(status_of(&t, "DELETE", "/plans/one", NULL), 400);
    assert_int_equal(status_of(&t, "DELETE", "/weights/..", NULL), 422);
    assert_int_equal(status_of(&t, "DELETE", "/sampler_weights/one", NULL), 404);
    (void)snprintf(t.run, sizeof(t.run), "%s%%3Atrain%%3A0", t.session);
    assert_int_equal(status_of(&t, "DELETE", "/weights/one", NULL), 204);
    assert_int_equal(status_of(&t, "DELETE", "/weights/one", NULL), 404);
    assert_no_files(&t); /* they went with it */
    srvfix_close(&t.srv);
}

/* What is past its time is in no list, cannot be loaded, and its name is free. */
static void test_srv_expired_ones_vanish(void **state)
{
    restfix t;
    restfix_open(&t);
    restfix_save(&t, 1, "save_weights", "\"path\":\"one\",\"ttl_seconds\":1");
    int64_t end = tk_clock_wall_us(NULL) + 1000001;
    const tk_json *json;
    do {
        json = ask(&t, "GET", "", NULL);
    } while (tk_clock_wall_us(NULL) < end);
    json = ask(&t, "GET", "", NULL);
    assert_int_equal(tk_json_len(tk_json_get(json, "checkpoints")), 0);
    assert_int_equal(status_of(&t, "POST", "/weights/one/publish", NULL), 404);
    srv_keeper_expire(t.srv.server); /* as the keeper does by and by */
    assert_no_files(&t);
    restfix_save(&t, 2, "save_weights", "\"path\":\"one\"");
    json = ask(&t, "GET", "", NULL);
    assert_int_equal(tk_json_len(tk_json_get(json, "checkpoints")), 1);
    srvfix_close(&t.srv);
}

static void count_warnings(tinkc_log_level level, const char *component, const char *line,
                           void *user)
{
    if (level == TINKC_LOG_WARN && strcmp(component, "checkpoint") == 0) {
        atomic_fetch_add((atomic_int *)user, 1);
    }
}

/* One that cannot be deleted does not keep the others, is tried again, and is logged
 * once. */
static void test_srv_expiry_goes_on_after_a_failure(void **state)
{
    restfix t;
    char command[256];
    atomic_int warnings = 0;
    restfix_open(&t);
    srvfix_restart(&t.srv, (srv_options){.log_level = TINKC_LOG_WARN,
                                         .log = count_warnings,
                                         .log_user = &warnings});
    (void)snprintf(t.session, sizeof(t.session), "%s", srvfix_session(&t.srv));
    restfix_run(&t, 0);
    restfix_save(&t, 1, "save_weights", "\"path\":\"one\",\"ttl_seconds\":1");
    restfix_save(&t, 2, "save_weights", "\"path\":\"two\",\"ttl_seconds\":1");
    /* the label cannot be renamed to a directory */
    (void)snprintf(command, sizeof(command),
                   "cd %s/checkpoints/*/weights/one.* && mkdir -p tinkc.deleted.json/x",
                   t.srv.data);
    assert_int_equal(system(command), 0);
    int64_t end = tk_clock_wall_us(NULL) + 1000001;
    do {
        (void)ask(&t, "GET", "", NULL);
    } while (tk_clock_wall_us(NULL) < end);
    for (int i = 0; i < 3; i++) {
        srv_keeper_expire(t.srv.server);
    }
    (void)snprintf(command, sizeof(command),
                   "cd %s/checkpoints/*/weights && test -z \"$(find . -name 'two.*')\"",
                   t.srv.data);
    assert_int_equal(system(command), 0);
    assert_int_equal(warnings, 1);
    (void)snprintf(command, sizeof(command),
                   "rm -r %s/checkpoints/*/weights/one.*/tinkc.deleted.json", t.srv.data);
    assert_int_equal(system(command), 0);
    srv_keeper_expire(t.srv.server);
    assert_no_files(&t);
    srvfix_close(&t.srv);
}

static void test_srv_sessions_are_listed(void **state)
{
    restfix t;
    char path[128];
    restfix_open(&t);
    const tk_json *json = srvfix_ask(&t.srv, "GET", "/api/v1/sessions?limit=5", NULL);
    assert_int_equal(tk_json_len(tk_json_get(json, "sessions")), 1);
    assert_string_equal(tk_json_at(tk_json_get(json, "sessions"), 0).as.string.p,
                        t.session);
    (void)snprintf(path, sizeof(path), "/api/v1/sessions/%s", t.session);
    json = srvfix_ask(&t.srv, "GET", path, NULL);
    assert_int_equal(tk_json_len(tk_json_get(json, "training_run_ids")), 1);
    assert_int_equal(tk_json_len(tk_json_get(json, "sampler_ids")), 0);
    (void)srvfix_ask(&t.srv, "GET", "/api/v1/sessions/nobody", NULL);
    assert_int_equal(t.srv.status, 404);
    srvfix_close(&t.srv);
}

/* The models of a session whose heartbeats stop are unloaded. */
static void test_srv_silent_sessions_end(void **state)
{
    restfix t;
    char beat[128], info[160];
    restfix_open(&t);
    (void)snprintf(beat, sizeof(beat), "{\"session_id\":\"%s\"}", t.session);
    (void)snprintf(info, sizeof(info), "{\"model_id\":\"%s\"}", t.run);
    const int64_t later = tk_clock_mono_ns(NULL) + 2 * SRV_SESSION_NS;
    srv_session_sweep(t.srv.server, later);
    (void)srvfix_post(&t.srv, "/api/v1/get_info", info);
    assert_int_equal(t.srv.status, 200);
    (void)srvfix_post(&t.srv, "/api/v1/session_heartbeat", beat);
    assert_int_equal(t.srv.status, 200);
    srv_session_sweep(t.srv.server, tk_clock_mono_ns(NULL)); /* not yet */
    (void)srvfix_post(&t.srv, "/api/v1/get_info", info);
    assert_int_equal(t.srv.status, 200);
    srv_session_sweep(t.srv.server, later);
    do {
        (void)srvfix_post(&t.srv, "/api/v1/get_info", info);
    } while (t.srv.status == 200); /* the engine thread unloads it */
    assert_int_equal(t.srv.status, 404);
    (void)srvfix_ask(&t.srv, "GET", "/api/v1/sessions", NULL);
    assert_int_equal(t.srv.status, 200);
    srvfix_close(&t.srv);
}

/* One that never sent a heartbeat is given more time, counted from its last request. */
static void test_srv_mute_sessions_end(void **state)
{
    restfix t;
    char info[160];
    restfix_open(&t);
    (void)snprintf(info, sizeof(info), "{\"model_id\":\"%s\"}", t.run);
    const int64_t limit = tk_clock_mono_ns(NULL) + SRV_SESSION_MUTE_NS;
    restfix_save(&t, 1, "save_weights", "\"path\":\"one\""); /* heard of after that */
    srv_session_sweep(t.srv.server, limit);
    (void)srvfix_post(&t.srv, "/api/v1/get_info", info);
    assert_int_equal(t.srv.status, 200);
    srv_session_sweep(t.srv.server, tk_clock_mono_ns(NULL) + SRV_SESSION_MUTE_NS + 1);
    do {
        (void)srvfix_post(&t.srv, "/api/v1/get_info", info);
    } while (t.srv.status == 200); /* the engine thread unloads it */
    assert_int_equal(t.srv.status, 404);
    srvfix_close(&t.srv);
}

static void test_srv_later_routes_say_so(void **state)
{
    restfix t;
    restfix_open(&t);
    static const char *const routes[][2] = {
        {"GET", "/api/v1/audit"},
        {"GET", "/api/v1/sessions/s/trace_export"},
        {"GET", "/api/v1/auth/apikey/me"},
        {"DELETE", "/api/v1/auth/apikey/me"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(routes); i++) {
        const tk_json *json = srvfix_ask(&t.srv, routes[i][0], routes[i][1], NULL);
        assert_int_equal(t.srv.status, 404);
        /* what a path without a route gets */
        assert_string_not_equal(srvfix_text(json, "detail"), "Not Found");
    }
    srvfix_close(&t.srv);
}

/* Usage is counted by hour, model and session, and survives a restart. */
static void test_srv_usage_is_counted(void **state)
{
    restfix t;
    char path[256], from[TK_DATE_TEXT_BYTES], to[TK_DATE_TEXT_BYTES];
    restfix_open(&t);
    restfix_save(&t, 1, "save_weights", "\"path\":\"one\"");
    restfix_save(&t, 2, "save_weights", "\"path\":\"two\"");
    srvfix_restart(&t.srv, (srv_options){0});
    const int64_t hour = INT64_C(3600000000);
    int64_t now = tk_clock_wall_us(NULL);
    assert_true(tk_date_format(from, now - now % hour - hour));
    assert_true(tk_date_format(to, now - now % hour + 2 * hour));
    (void)snprintf(path, sizeof(path),
                   "/api/v1/billing/usage/events?starting_on=%s&ending_before=%s", from,
                   to);
    const tk_json *json = srvfix_ask(&t.srv, "GET", path, NULL);
    assert_int_equal(t.srv.status, 200);
    int64_t saves = 0;
    for (size_t i = 0; i < tk_json_len(tk_json_get(json, "data")); i++) {
        const tk_json event = tk_json_at(tk_json_get(json, "data"), i);
        const tk_json *info = tk_json_get(&event, "event_info");
        assert_string_equal(srvfix_text(info, "type"), "checkpoint");
        assert_string_equal(srvfix_text(&event, "base_model"), RESTFIX_MODEL);
        assert_string_equal(srvfix_text(&event, "session_id"), t.session);
        saves += number(info, "count");
    }
    assert_int_equal(saves, 2);
    assert_non_null(tk_json_get(tk_json_get(json, "sessions"), t.session));
    (void)snprintf(path, sizeof(path),
                   "/api/v1/billing/usage/events?starting_on=%s&ending_before=%s", to,
                   from);
    (void)srvfix_ask(&t.srv, "GET", path, NULL);
    assert_int_equal(t.srv.status, 400);
    (void)srvfix_ask(&t.srv, "GET", "/api/v1/billing/usage/events", NULL);
    assert_int_equal(t.srv.status, 400);
    srvfix_close(&t.srv);
}

static int on_statement(unsigned what, void *user, void *statement, void *unused)
{
    if (strstr(sqlite3_sql(statement), "SELECT user_metadata") != NULL) {
        atomic_fetch_add((atomic_int *)user, 1);
    }
    return 0;
}

/* Each session of a list of usage is looked up once, however many rows it has, and one
 * that is gone is left out. */
static void test_srv_usage_reads_a_session_once(void **state)
{
    restfix t;
    enum { HOURS = 24 };
    const int64_t hour = INT64_C(3600000000);
    atomic_int reads = 0;
    tk_err err = TK_ERR_INIT;
    restfix_open(&t);
    srv_store *store = t.srv.server->store;
    for (int i = 0; i < 2 * HOURS; i++) {
        const srv_store_usage row = {.bucket_us = hour * (i / 2),
                                     .base_model = TK_STR(RESTFIX_MODEL),
                                     .session_id = i % 2 == 0 ? TK_STR("gone")
                                                              : tk_str_of(t.session),
                                     .amount = 1};
        assert_int_equal(srv_store_add_usage(store, &row, 1, &err), TINKC_OK);
    }
    tk_mutex_lock(&store->lock);
    (void)sqlite3_trace_v2(store->db, SQLITE_TRACE_STMT, on_statement, &reads);
    tk_mutex_unlock(&store->lock);
    const tk_json *json =
        srvfix_ask(&t.srv, "GET",
                   "/api/v1/billing/usage/events?starting_on=1970-01-01T00:00:00Z"
                   "&ending_before=1970-01-02T00:00:00Z",
                   NULL);
    assert_int_equal(t.srv.status, 200);
    assert_int_equal(tk_json_len(tk_json_get(json, "data")), 2 * HOURS);
    assert_null(tk_json_get(tk_json_get(json, "sessions"), "gone"));
    assert_non_null(tk_json_get(tk_json_get(json, "sessions"), t.session));
    assert_int_equal(atomic_load(&reads), 2);
    srvfix_close(&t.srv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_checkpoints_are_listed),
        cmocka_unit_test(test_srv_pages_know_the_total),
        cmocka_unit_test(test_srv_runs_are_listed),
        cmocka_unit_test(test_srv_runs_of_a_project),
        cmocka_unit_test(test_srv_checkpoints_are_changed),
        cmocka_unit_test(test_srv_expired_ones_vanish),
        cmocka_unit_test(test_srv_expiry_goes_on_after_a_failure),
        cmocka_unit_test(test_srv_sessions_are_listed),
        cmocka_unit_test(test_srv_silent_sessions_end),
        cmocka_unit_test(test_srv_mute_sessions_end),
        cmocka_unit_test(test_srv_later_routes_say_so),
        cmocka_unit_test(test_srv_usage_is_counted),
        cmocka_unit_test(test_srv_usage_reads_a_session_once),
    };
    return cmocka_run_group_tests_name("srv_rest", tests, NULL, NULL);
}
