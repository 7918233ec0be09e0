/* Projects of sessions, copies and uploads, and tokens of other accounts. What a copy is made of and
 * how often is in test_srv_newer.c. */
#include "server/restfix.h"

#define API "/api/v1/"

static const tk_json *copy(restfix *t, const char *more)
{
    char body[1024];
    (void)snprintf(body, sizeof(body), "{\"source_path\":\"tinker://%s/weights/one\"%s}",
                   t->run, more);
    return srvfix_post(&t->srv, API "copy_weights", body);
}

/* How many runs, checkpoints of the storage, found checkpoints and found sessions a
 * project has. */
typedef struct census {
    size_t runs, stored, found, sessions;
} census;

static census count(restfix *t, const char *project)
{
    char path[128], body[128];
    census c = {0};
    (void)snprintf(path, sizeof(path), API "training_runs?project_id=%s", project);
    c.runs =
        tk_json_len(tk_json_get(srvfix_ask(&t->srv, "GET", path, NULL), "training_runs"));
    (void)snprintf(path, sizeof(path),
                   API "billing/usage/checkpoints/current?project_id=%s", project);
    const tk_json *data = tk_json_get(srvfix_ask(&t->srv, "GET", path, NULL), "data");
    if (tk_json_len(data) == 1) {
        const tk_json row = tk_json_at(data, 0);
        assert_string_equal(srvfix_text(&row, "project_id"), project);
        c.stored = (size_t)tk_json_get(&row, "checkpoint_count")->as.integer;
    }
    (void)snprintf(body, sizeof(body), "{\"project_ids\":[\"none\",\"%s\"]}", project);
    c.found = tk_json_len(
        tk_json_get(srvfix_post(&t->srv, API "checkpoints/search", body), "checkpoints"));
    assert_int_equal(t->srv.status, 200);
    c.sessions = tk_json_len(
        tk_json_get(srvfix_post(&t->srv, API "sessions/search", body), "sessions"));
    assert_int_equal(t->srv.status, 200);
    return c;
}

static void expect(restfix *t, const char *project, census want)
{
    census have = count(t, project);
    if (memcmp(&have, &want, sizeof(have)) != 0) {
        fail_msg("%s: %zu runs, %zu stored, %zu found, %zu sessions", project, have.runs,
                 have.stored, have.found, have.sessions);
    }
}

/* Opens a server with a run of a session of the project "home". */
static void open_home(restfix *t)
{
    memset(t, 0, sizeof(*t));
    srvfix_open(&t->srv, (srv_options){0});
    (void)snprintf(
        t->session, sizeof(t->session), "%s",
        srvfix_text(srvfix_post(&t->srv, API "create_session",
                                "{\"tags\":[],\"sdk_version\":\"0.36.0\","
                                "\"project_id\":\"home\",\"type\":\"create_session\"}"),
                    "session_id"));
    restfix_run(t, 0);
    restfix_save(t, 1, "save_weights", "\"path\":\"one\"");
}

static void lose_database(restfix *t)
{
    char command[256];
    srv_stop(&t->srv.server);
    (void)snprintf(command, sizeof(command), "rm %s/tinkc.db*", t->srv.data);
    assert_int_equal(system(command), 0);
    srvfix_start(&t->srv, (srv_options){0});
}

/* A copy belongs to the project that was named, or to that of its session, also
 * after the database was lost. */
static void test_srv_copies_have_a_project(void **state)
{
    restfix t;
    char more[256];
    open_home(&t);
    expect(&t, "home", (census){1, 1, 1, 1});
    (void)copy(&t, ",\"destination_project_id\":\"away\"");
    assert_int_equal(t.srv.status, 200);
    expect(&t, "home", (census){1, 1, 1, 1});
    expect(&t, "away", (census){1, 1, 1, 0});
    (void)snprintf(more, sizeof(more), ",\"session_id\":\"%s\",\"model_seq_id\":5",
                   t.session);
    (void)copy(&t, more);
    assert_int_equal(t.srv.status, 200);
    expect(&t, "home", (census){2, 2, 2, 1});
    lose_database(&t);
    expect(&t, "home", (census){2, 2, 2, 1});
    expect(&t, "away", (census){1, 1, 1, 1}); /* the copy's run needs a session then */
    expect(&t, "nowhere", (census){0});
    srvfix_close(&t.srv);
}

/* A session is given another project with its runs and checkpoints, also those that come
 * later, and also when the database was lost. */
static void test_srv_sessions_change_their_project(void **state)
{
    restfix t;
    char path[128];
    open_home(&t);
    restfix_save(&t, 2, "save_weights_for_sampler", "\"path\":\"two\"");
    (void)snprintf(path, sizeof(path), API "sessions/%s/project", t.session);
    (void)srvfix_ask(&t.srv, "PUT", path, "{\"project_id\":\"away\"}");
    assert_int_equal(t.srv.status, 200);
    expect(&t, "home", (census){0});
    expect(&t, "away", (census){1, 2, 2, 1});
    restfix_run(&t, 1);
    restfix_save(&t, 1, "save_weights", "\"path\":\"three\"");
    expect(&t, "away", (census){2, 3, 3, 1});
    lose_database(&t);
    expect(&t, "home", (census){0});
    expect(&t, "away", (census){2, 3, 3, 1});
    srvfix_close(&t.srv);
}

static void test_srv_wrong_projects_are_refused(void **state)
{
    restfix t;
    char path[128], long_id[400];
    open_home(&t);
    (void)snprintf(long_id, sizeof(long_id), "{\"project_id\":\"%0300d\"}", 0);
    const char *const bodies[] = {"{}",
                                  "{\"project_id\":null}",
                                  "{\"project_id\":7}",
                                  "{\"project_id\":\"\"}",
                                  long_id,
                                  "{\"project_id\":\"a\\u0000b\"}",
                                  "{\"project_id\":\"p\",\"colour\":1}"};
    (void)snprintf(path, sizeof(path), API "sessions/%s/project", t.session);
    for (size_t i = 0; i < TK_ARRAY_LEN(bodies); i++) {
        (void)srvfix_ask(&t.srv, "PUT", path, bodies[i]);
        assert_int_equal(t.srv.status, 422);
    }
    expect(&t, "home", (census){1, 1, 1, 1});
    const tk_json *json =
        srvfix_ask(&t.srv, "PUT", API "sessions/none/project", "{\"project_id\":\"p\"}");
    assert_int_equal(t.srv.status, 404);
    assert_string_equal(srvfix_text(json, "detail"), "Session not found");
    srvfix_close(&t.srv);
}

/* What copy_weights does not understand is refused by name. */
static void test_srv_copies_of_wrong_fields(void **state)
{
    static const char *const wrong[][2] = {
        {",\"destination_project_id\":7", "destination_project_id"},
        {",\"ttl_seconds\":\"soon\"", "ttl_seconds"},
        {",\"session_id\":[]", "session_id"},
        {",\"session_id\":\"x\"", "model_seq_id"},
        {",\"session_id\":\"x\",\"model_seq_id\":-1", "model_seq_id"},
    };
    restfix t;
    open_home(&t);
    for (size_t i = 0; i < TK_ARRAY_LEN(wrong); i++) {
        const tk_json *detail = tk_json_get(copy(&t, wrong[i][0]), "detail");
        if (t.srv.status != 422 || tk_json_len(detail) != 1) {
            fail_msg("%s: %d", wrong[i][1], t.srv.status);
        }
        const tk_json first = tk_json_at(detail, 0);
        const tk_json field = tk_json_at(tk_json_get(&first, "loc"), 1);
        assert_string_equal(field.as.string.p, wrong[i][1]);
    }
    char more[512];
    (void)snprintf(more, sizeof(more), ",\"destination_project_id\":\"%0300d\"", 0);
    (void)copy(&t, more);
    assert_int_equal(t.srv.status, 422);
    expect(&t, "home", (census){1, 1, 1, 1});
    srvfix_close(&t.srv);
}

#define KEY "tml-test-secret-of-this-server"

static int status_with(restfix *t, const char *headers, const char *body)
{
    httpget_response r;
    char lines[256];
    (void)snprintf(lines, sizeof(lines), "X-API-Key: " KEY "\r\n%s", headers);
    const httpget_request request = {
        .target = API "copy_weights", .headers = lines, .body = body};
    assert_int_equal(httpget_once(srvfix_port(&t->srv), &request, &r), HTTPGET_OK);
    int status = r.status;
    httpget_response_dispose(&r);
    return status;
}

/* A server with a key has one account: the token of another one is refused, not
 * ignored. */
static void test_srv_tokens_of_others(void **state)
{
    restfix t;
    char body[512];
    open_home(&t);
    srv_stop(&t.srv.server);
    srvfix_start(&t.srv, (srv_options){.api_key = KEY});
    (void)snprintf(body, sizeof(body), "{\"source_path\":\"tinker://%s/weights/one\"}",
                   t.run);
    assert_int_equal(status_with(&t, "", body), 200);
    assert_int_equal(status_with(&t, "X-Tinker-Weights-Access-Token: " KEY "\r\n", body),
                     200);
    assert_int_equal(
        status_with(&t, "X-Tinker-Weights-Access-Token: tml-other\r\n", body), 403);
    (void)snprintf(body, sizeof(body),
                   "{\"source_path\":\"tinker://%s/weights/one\","
                   "\"weights_access_token\":\"tml-other\"}",
                   t.run);
    assert_int_equal(status_with(&t, "", body), 403);
    srvfix_close(&t.srv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_copies_have_a_project),
        cmocka_unit_test(test_srv_sessions_change_their_project),
        cmocka_unit_test(test_srv_wrong_projects_are_refused),
        cmocka_unit_test(test_srv_copies_of_wrong_fields),
        cmocka_unit_test(test_srv_tokens_of_others),
    };
    return cmocka_run_group_tests_name("srv_copy", tests, NULL, NULL);
}
