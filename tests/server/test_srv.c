/* The server as a whole: checks of the caller, session routes, limits, start and stop.
 * Links: wire */
#include "base/file.h"
#include "base/mem.h"
#include "server/srvfix.h"
#include "support/textfix.h"

static void open_server(srvfix *f)
{
    srvfix_open(f, (srv_options){0});
}

/* S-001: client/config answers 200, without credential exchange. */
static void test_srv_config_is_answered(void **state)
{
    srvfix f;
    open_server(&f);
    const tk_json *json =
        srvfix_post(&f, "/api/v1/client/config", "{\"sdk_version\":\"0.25.0\"}");
    assert_int_equal(f.status, 200);
    assert_false(tk_json_get(json, "pjwt_auth_enabled")->as.boolean);
    (void)srvfix_post(&f, "/api/v1/client/dynamic_config",
                      "{\"sdk_version\":\"0.25.0\"}");
    assert_int_equal(f.status, 200);
    srvfix_close(&f);
}

/* S-003, S-004, S-027. */
static void test_srv_sessions_live(void **state)
{
    srvfix f;
    open_server(&f);
    const char *id = srvfix_session(&f);
    assert_true(textfix_is_uuid(tk_str_of(id)));
    char body[128];
    (void)snprintf(body, sizeof(body), "{\"session_id\":\"%s\"}", id);
    const tk_json *json = srvfix_post(&f, "/api/v1/session_heartbeat", body);
    assert_int_equal(f.status, 200);
    assert_string_equal(srvfix_text(json, "type"), "session_heartbeat");
    (void)srvfix_post(&f, "/api/v1/session_heartbeat", "{\"session_id\":\"nobody\"}");
    assert_int_equal(f.status, 404);
    json = srvfix_post(&f, "/api/v1/telemetry", "{\"what\": [\"ever\"]}");
    assert_int_equal(f.status, 200);
    assert_string_equal(srvfix_text(json, "status"), "accepted");
    /* Known after a restart, too: its client goes on beating. */
    srvfix_restart(&f, (srv_options){0});
    (void)srvfix_post(&f, "/api/v1/session_heartbeat", body);
    assert_int_equal(f.status, 200);
    srvfix_close(&f);
}

/* S-016: a repeated create_session gives the same session. */
static void test_srv_session_is_made_once(void **state)
{
    srvfix f;
    open_server(&f);
    const httpget_request request = {
        .method = "POST",
        .target = "/api/v1/create_session",
        .headers = "X-Idempotency-Key: key-1\r\n",
        .body = "{\"tags\":[],\"sdk_version\":\"0.25.0\"}",
    };
    httpget_response a, b;
    assert_int_equal(httpget_once(srvfix_port(&f), &request, &a), HTTPGET_OK);
    assert_int_equal(httpget_once(srvfix_port(&f), &request, &b), HTTPGET_OK);
    assert_int_equal(a.status, 200);
    assert_int_equal(a.body.n, b.body.n);
    assert_memory_equal(a.body.p, b.body.p, a.body.n);
    httpget_response_dispose(&a);
    httpget_response_dispose(&b);
    srvfix_close(&f);
}

/* S-013: bodies and lengths of 4xx. */
static void test_srv_errors_have_a_shape(void **state)
{
    srvfix f;
    open_server(&f);
    const tk_json *json =
        srvfix_post(&f, "/api/v1/session_heartbeat", "{\"session_id\": 3}");
    assert_int_equal(f.status, 422);
    const tk_json *detail = tk_json_get(json, "detail");
    assert_int_equal(tk_json_len(detail), 1);
    tk_json first = tk_json_at(detail, 0);
    const tk_json *loc = tk_json_get(&first, "loc");
    assert_string_equal(tk_json_at(loc, 1).as.string.p, "session_id");
    (void)srvfix_text(&first, "msg");
    (void)srvfix_post(&f, "/api/v1/session_heartbeat", "{\"session_id\": ");
    assert_int_equal(f.status, 422);
    json = srvfix_post(&f, "/api/v1/no_such_route", "{}");
    assert_int_equal(f.status, 404);
    (void)srvfix_text(json, "detail");
    (void)srvfix_ask(&f, "GET", "/api/v1/create_session", NULL);
    assert_int_equal(f.status, 405);
    srvfix_close(&f);
}

static int status_with(srvfix *f, const char *headers)
{
    httpget_response response;
    const httpget_request request = {
        .method = "GET", .target = "/api/v1/get_server_capabilities", .headers = headers};
    assert_int_equal(httpget_once(srvfix_port(f), &request, &response), HTTPGET_OK);
    assert_true(response.has_length);
    int status = response.status;
    httpget_response_dispose(&response);
    return status;
}

/* S-002; a key is needed once one is set. */
static void test_srv_key_is_checked(void **state)
{
    srvfix f;
    srvfix_open(&f, (srv_options){.api_key = "tml-secret"});
    assert_int_equal(status_with(&f, NULL), 401);
    assert_int_equal(status_with(&f, "X-API-Key: tml-secreT\r\n"), 401);
    assert_int_equal(status_with(&f, "X-API-Key: tml-secret2\r\n"), 401);
    assert_int_equal(status_with(&f, "X-API-Key: tml-secret\r\n"), 200);
    srvfix_close(&f);
}

/* S-002: a server without a key accepts any; browsers are refused. */
static void test_srv_web_pages_are_refused(void **state)
{
    srvfix f;
    open_server(&f);
    assert_int_equal(status_with(&f, "X-API-Key: eyJhbGciOi\r\n"), 200);
    assert_int_equal(status_with(&f, "Origin: http://evil.example\r\n"), 403);
    srvfix_close(&f);
}

static void test_srv_capabilities_name_models(void **state)
{
    srvfix f;
    const srv_pair alias = {"Qwen/Qwen3-8B", "tinkc/pebble-llama-2m"};
    srvfix_open(&f, (srv_options){.aliases = &alias, .n_aliases = 1});
    const tk_json *json = srvfix_ask(&f, "GET", "/api/v1/get_server_capabilities", NULL);
    const tk_json *models = tk_json_get(json, "supported_models");
    assert_int_equal(tk_json_len(models), 2);
    tk_json first = tk_json_at(models, 0);
    tk_json second = tk_json_at(models, 1);
    assert_string_equal(srvfix_text(&first, "model_name"), "tinkc/pebble-llama-2m");
    assert_string_equal(srvfix_text(&second, "model_name"), "Qwen/Qwen3-8B");
    srvfix_close(&f);
}

static tinkc_code try_start(srv_options options)
{
    srv *server = NULL;
    tk_err err = TK_ERR_INIT;
    tinkc_code code = srv_start(&server, &options, &err);
    if (code != TINKC_OK) {
        assert_null(server);
        assert_true(err.message[0] != '\0');
    }
    srv_stop(&server);
    return code;
}

/* A second server is refused and leaves the URL of the first one in the lock file. */
static void test_srv_lock_names_the_server(void **state)
{
    srvfix f;
    open_server(&f);
    char path[80];
    (void)snprintf(path, sizeof(path), "%s/lock", f.data);
    assert_int_equal(try_start((srv_options){.data = f.data}), TINKC_E_STATE);
    char *url = NULL;
    size_t n = 0;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_file_read(&url, &n, path, 1024, &err), TINKC_OK);
    assert_int_equal(n, strlen(srv_url(f.server)));
    assert_memory_equal(url, srv_url(f.server), n);
    tk_free(url);
    srvfix_close(&f);
}

static void test_srv_starts_only_when_safe(void **state)
{
    srvfix f;
    open_server(&f);
    const srv_pair alias = {"a", "nothing"};
    char other[80];
    (void)snprintf(other, sizeof(other), "%s/other", f.data);
    assert_int_equal(try_start((srv_options){.data = f.data}), TINKC_E_STATE);
    assert_int_equal(try_start((srv_options){.data = other, .host = "0.0.0.0"}),
                     TINKC_E_CONFIG);
    assert_int_equal(try_start((srv_options){.data = other, .api_key = "secret"}),
                     TINKC_E_CONFIG);
    assert_int_equal(
        try_start((srv_options){.data = other, .aliases = &alias, .n_aliases = 1}),
        TINKC_E_CONFIG);
    assert_int_equal(try_start((srv_options){.data = other}), TINKC_OK);
    srvfix_close(&f);
}

/* A body over the route's limit is refused before it is read, and the server goes on. */
static void test_srv_large_bodies_are_refused(void **state)
{
    srvfix f;
    open_server(&f);
    size_t n = TK_MIB + 1;
    char *body = malloc(n);
    assert_non_null(body);
    memset(body, ' ', n);
    for (size_t chunk = 0; chunk <= 65536; chunk += 65536) {
        httpget_response response;
        const httpget_request request = {.method = "POST",
                                         .target = "/api/v1/create_session",
                                         .body = body,
                                         .body_n = n,
                                         .chunk = chunk};
        httpget_outcome outcome = httpget_once(srvfix_port(&f), &request, &response);
        if (outcome == HTTPGET_OK) { /* else the connection was closed on the sender */
            assert_int_equal(response.status, 413);
        }
        httpget_response_dispose(&response);
    }
    free(body);
    (void)srvfix_session(&f);
    srvfix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_config_is_answered),
        cmocka_unit_test(test_srv_sessions_live),
        cmocka_unit_test(test_srv_session_is_made_once),
        cmocka_unit_test(test_srv_errors_have_a_shape),
        cmocka_unit_test(test_srv_key_is_checked),
        cmocka_unit_test(test_srv_web_pages_are_refused),
        cmocka_unit_test(test_srv_capabilities_name_models),
        cmocka_unit_test(test_srv_lock_names_the_server),
        cmocka_unit_test(test_srv_starts_only_when_safe),
        cmocka_unit_test(test_srv_large_bodies_are_refused),
    };
    return cmocka_run_group_tests_name("srv", tests, NULL, NULL);
}
