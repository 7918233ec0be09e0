/* The login: who gets a cookie, what it opens, and what it does not. */
#include "console/con_login.h"

#include "confix.h"
#include "support/fakeclock.h"

static const con_data nothing = {.kind = "serve"};

/* Logs in with a body; returns the header line with the cookie (static), or NULL. */
static const char *log_in(confix *it, const char *body)
{
    static char line[256];
    httpget_response response;
    const char *cookie = NULL;
    int status = confix_ask(it, &response, "POST", CON_API "login", NULL, body);
    if (status == 204) {
        const char *set = httpget_header(&response, "Set-Cookie");
        assert_non_null(set);
        assert_non_null(strstr(set, "; HttpOnly; SameSite=Strict; Path=/"));
        assert_null(strstr(set, CONFIX_KEY));
        (void)snprintf(line, sizeof(line), "Cookie: other=1; %.*s\r\n",
                       (int)strcspn(set, ";"), set);
        cookie = line;
    } else {
        assert_int_equal(status, 401);
    }
    httpget_response_dispose(&response);
    return cookie;
}

#define MARK "X-Tinkc-Console: 1\r\n"

static void test_con_login_opens_every_route(void **state)
{
    (void)state;
    confix it;
    confix_open(&it, &nothing, CONFIX_KEY);
    confix_expect(&it, CON_API "session", "\"login\":\"needed\"");
    assert_int_equal(confix_status(&it, NULL, CON_API "runs", NULL, NULL), 401);
    assert_int_equal(confix_status(&it, NULL, CON_API "events", NULL, NULL), 401);
    assert_null(log_in(&it, "{\"key\":\"tml-confix-kez\"}"));
    assert_null(log_in(&it, "{\"key\":\"\"}"));
    it.cookie = log_in(&it, "{\"key\":\"" CONFIX_KEY "\"}");
    assert_non_null(it.cookie);
    confix_expect(&it, CON_API "session", "\"login\":\"done\"");
    confix_expect(&it, CON_API "runs", "\"total\"");
    assert_int_equal(confix_status(&it, NULL, "/api/thing", NULL, NULL), 200);
    confix_close(&it);
}

static void test_con_login_changes_need_the_mark(void **state)
{
    (void)state;
    confix it;
    confix_open(&it, &nothing, CONFIX_KEY);
    it.cookie = log_in(&it, "{\"key\":\"" CONFIX_KEY "\"}");
    assert_int_equal(confix_status(&it, "POST", "/api/thing", NULL, "{}"), 403);
    assert_int_equal(confix_status(&it, "DELETE", "/api/thing", NULL, NULL), 403);
    assert_int_equal(
        confix_status(&it, "POST", "/api/thing", "X-Tinkc-Console: 2\r\n", "{}"), 403);
    assert_int_equal(confix_status(&it, "POST", "/api/thing", MARK, "{}"), 200);
    assert_int_equal(confix_status(&it, "DELETE", "/api/thing", MARK, NULL), 200);
    /* what another site makes a browser send */
    assert_int_equal(confix_status(&it, "POST", "/api/thing",
                                   MARK "Origin: http://evil.example\r\n", "{}"),
                     403);
    assert_int_equal(
        confix_status(&it, NULL, "/api/thing", "Sec-Fetch-Site: cross-site\r\n", NULL),
        403);
    /* the key itself needs no mark */
    assert_int_equal(
        confix_status(&it, "POST", "/api/thing", "X-API-Key: " CONFIX_KEY "\r\n", "{}"),
        200);
    /* the mark alone opens nothing */
    it.cookie = NULL;
    assert_int_equal(confix_status(&it, "POST", "/api/thing", MARK, "{}"), 401);
    confix_close(&it);
}

static void test_con_login_ends(void **state)
{
    (void)state;
    confix it;
    httpget_response response;
    confix_open(&it, &nothing, CONFIX_KEY);
    it.cookie = log_in(&it, "{\"key\":\"" CONFIX_KEY "\"}");
    assert_int_equal(confix_ask(&it, &response, "POST", CON_API "logout", MARK, "{}"),
                     204);
    assert_non_null(strstr(httpget_header(&response, "Set-Cookie"), "Max-Age=0"));
    httpget_response_dispose(&response);
    assert_int_equal(confix_status(&it, NULL, "/api/thing", NULL, NULL), 401);
    it.cookie = NULL;
    static const char *const cookies[] = {
        "Cookie: \r\n", "Cookie: ;;==;tinkc_console_0\r\n",
        "Cookie: tinkc_console_0=\r\n", "Cookie: tinkc_console_0=" CONFIX_KEY "\r\n"};
    for (size_t i = 0; i < TK_ARRAY_LEN(cookies); i++) {
        assert_int_equal(confix_status(&it, NULL, "/api/thing", cookies[i], NULL), 401);
    }
    confix_close(&it);
}

static void test_con_login_code_is_good_once(void **state)
{
    (void)state;
    confix it;
    httpget_response response;
    char body[256];
    confix_open(&it, &nothing, CONFIX_KEY);
    assert_int_equal(confix_status(&it, "POST", CON_API "code", NULL, "{}"), 401);
    assert_int_equal(confix_ask(&it, &response, "POST", CON_API "code",
                                "X-API-Key: " CONFIX_KEY "\r\n", "{}"),
                     200);
    const char *code = strstr((const char *)response.body.p, "\"code\":\"");
    assert_non_null(code);
    (void)snprintf(body, sizeof(body), "{%.73s}", code);
    httpget_response_dispose(&response);
    assert_non_null(log_in(&it, body));
    assert_null(log_in(&it, body));
    assert_null(log_in(&it, "{\"code\":\"\"}"));
    confix_close(&it);
}

static void test_con_login_without_a_key(void **state)
{
    (void)state;
    confix it;
    confix_open(&it, &nothing, NULL);
    assert_int_equal(confix_status(&it, "POST", CON_API "login", NULL, "{}"), 204);
    assert_int_equal(confix_status(&it, "POST", "/api/thing", NULL, "{}"), 200);
    confix_close(&it);
}

/* ---- limits, without HTTP ---- */

static void test_con_login_counts_wrong_keys(void **state)
{
    (void)state;
    char header[CON_LOGIN_HEADER_BYTES];
    fakeclock clock;
    con_login *login = NULL;
    tk_err err = TK_ERR_INIT;
    fakeclock_init(&clock);
    assert_int_equal(con_login_new(&login, CONFIX_KEY, &clock.clock, &err), TINKC_OK);
    size_t tries = 0;
    while (con_login_by_key(header, login, TK_STR("tml-x"), NULL) == TINKC_E_AUTH) {
        tries++;
        assert_true(tries < 1000);
    }
    assert_int_equal(tries, 20);
    assert_int_equal(con_login_by_key(header, login, TK_STR(CONFIX_KEY), NULL),
                     TINKC_E_RATE_LIMIT);
    fakeclock_advance_ms(&clock, 60000);
    assert_int_equal(con_login_by_key(header, login, TK_STR(CONFIX_KEY), NULL), TINKC_OK);
    con_login_free(login);
}

static tk_str value_of(const char *header)
{
    return (tk_str){header, strcspn(header, ";")};
}

static void test_con_login_bounds_cookies_and_codes(void **state)
{
    (void)state;
    char first[CON_LOGIN_HEADER_BYTES], header[CON_LOGIN_HEADER_BYTES];
    char code[CON_LOGIN_SECRET_BYTES], old[CON_LOGIN_SECRET_BYTES];
    int64_t expires_ms = 0;
    fakeclock clock;
    con_login *login = NULL;
    tk_err err = TK_ERR_INIT;
    fakeclock_init(&clock);
    assert_int_equal(con_login_new(&login, CONFIX_KEY, &clock.clock, &err), TINKC_OK);
    assert_int_equal(con_login_by_key(first, login, TK_STR(CONFIX_KEY), &err), TINKC_OK);
    for (size_t i = 0; i < 64; i++) {
        fakeclock_advance_ms(&clock, 1);
        assert_true(i == 0 || con_login_knows(login, value_of(header)));
        assert_int_equal(con_login_by_key(header, login, TK_STR(CONFIX_KEY), &err),
                         TINKC_OK);
    }
    assert_false(con_login_knows(login, value_of(first))); /* the oldest one */
    assert_true(con_login_knows(login, value_of(header)));
    fakeclock_advance_ms(&clock, INT64_C(31) * 24 * 3600 * 1000);
    assert_false(con_login_knows(login, value_of(header)));
    assert_int_equal(con_login_make_code(old, &expires_ms, login, &err), TINKC_OK);
    fakeclock_advance_ms(&clock, 60001);
    assert_int_equal(con_login_by_code(header, login, tk_str_of(old), NULL),
                     TINKC_E_AUTH);
    assert_int_equal(con_login_make_code(code, &expires_ms, login, &err), TINKC_OK);
    assert_string_not_equal(code, old);
    assert_int_equal(con_login_by_code(header, login, tk_str_of(code), &err), TINKC_OK);
    con_login_free(login);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_con_login_opens_every_route),
        cmocka_unit_test(test_con_login_changes_need_the_mark),
        cmocka_unit_test(test_con_login_ends),
        cmocka_unit_test(test_con_login_code_is_good_once),
        cmocka_unit_test(test_con_login_without_a_key),
        cmocka_unit_test(test_con_login_counts_wrong_keys),
        cmocka_unit_test(test_con_login_bounds_cookies_and_codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
