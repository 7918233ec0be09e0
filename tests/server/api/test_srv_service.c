/* Sessions that their client finishes, over plain HTTP. */
#include "server/restfix.h"

#define API "/api/v1/"

static const tk_json *search(srvfix *f, const char *body, size_t n)
{
    const tk_json *json = srvfix_post(f, API "sessions/search", body);
    assert_int_equal(f->status, 200);
    assert_int_equal(tk_json_len(tk_json_get(json, "sessions")), n);
    return json;
}

/* Why a client finished its session is shown by a search, and can be searched for. */
static void test_srv_finished_sessions_say_why(void **state)
{
    restfix t;
    char path[128];
    restfix_open(&t);
    (void)snprintf(path, sizeof(path), API "sessions/%s/finish", t.session);
    (void)srvfix_post(&t.srv, path, "{\"reason\":{\"type\":\"bored\"}}");
    assert_int_equal(t.srv.status, 422);
    (void)search(&t.srv, "{\"statuses\":[{\"type\":\"active\"}]}", 1);
    (void)search(&t.srv, "{\"statuses\":[{\"type\":\"client_finished\"}]}", 0);
    (void)srvfix_post(&t.srv, path,
                      "{\"reason\":{\"type\":\"errored\"},\"detail\":\"why\"}");
    assert_int_equal(t.srv.status, 200);
    (void)srvfix_post(&t.srv, path,
                      "{\"reason\":{\"type\":\"success\"},\"detail\":null}");
    assert_int_equal(t.srv.status, 200); /* the first time counts */
    (void)search(&t.srv, "{\"statuses\":[{\"type\":\"active\"}]}", 0);
    (void)search(
        &t.srv,
        "{\"statuses\":[{\"type\":\"client_finished\",\"reasons\":[\"success\"]}]}", 0);
    const tk_json *json = search(
        &t.srv,
        "{\"statuses\":[{\"type\":\"client_finished\",\"reasons\":[\"errored\"]}]}", 1);
    tk_json one = tk_json_at(tk_json_get(json, "sessions"), 0);
    const tk_json *status = tk_json_get(&one, "status");
    assert_string_equal(srvfix_text(status, "type"), "client_finished");
    assert_string_equal(srvfix_text(tk_json_get(status, "reason"), "type"), "errored");
    assert_string_equal(srvfix_text(status, "detail"), "why");
    (void)srvfix_post(&t.srv, API "sessions/nobody/finish", "{}");
    assert_int_equal(t.srv.status, 404);
    srvfix_close(&t.srv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_finished_sessions_say_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
