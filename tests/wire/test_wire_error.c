/* Error bodies, hints and the one classification table (A-043..A-046, A-076, A-077,
 * ..A-089, A-092, A-094). */
#include "wire/wire_error.h"

#include <stdio.h>

#include "base/date.h"
#include "base/limits.h"
#include "support/failmem.h"
#include "support/test.h"

static const tinkc_category categories[] = {TINKC_CATEGORY_UNKNOWN, TINKC_CATEGORY_SERVER,
                                            TINKC_CATEGORY_USER};
static const tk_should_retry headers[] = {TK_SHOULD_RETRY_UNSAID, TK_SHOULD_RETRY_YES,
                                          TK_SHOULD_RETRY_NO};

/* What a code means whatever the status is; -1: the status decides. Written as a switch
 * so that a new code does not compile before it has a row here. */
static int class_of_code(tinkc_code code, tinkc_category category)
{
    switch (code) {
    case TINKC_E_CONNECTION:
    case TINKC_E_TIMEOUT:
        return TK_ERROR_RETRYABLE;
    case TINKC_E_INVALID:
    case TINKC_E_STATE:
    case TINKC_E_CONFIG:
    case TINKC_E_LIMIT:
    case TINKC_E_MISSING:
    case TINKC_E_UNSUPPORTED:
    case TINKC_E_CANCELLED:
    case TINKC_E_BUDGET:
        return TK_ERROR_USER;
    case TINKC_E_NOMEM:
    case TINKC_E_PARSE:
    case TINKC_E_DECODE:
    case TINKC_E_IO:
    case TINKC_E_STUCK:
    case TINKC_E_INTERNAL:
        return TK_ERROR_FATAL;
    case TINKC_E_REQUEST:
        return category == TINKC_CATEGORY_USER ? TK_ERROR_USER : TK_ERROR_RETRYABLE;
    case TINKC_OK:
    case TINKC_E_STATUS:
    case TINKC_E_BAD_REQUEST:
    case TINKC_E_AUTH:
    case TINKC_E_PAYMENT:
    case TINKC_E_PERMISSION:
    case TINKC_E_NOT_FOUND:
    case TINKC_E_CONFLICT:
    case TINKC_E_GONE:
    case TINKC_E_UNPROCESSABLE:
    case TINKC_E_RATE_LIMIT:
    case TINKC_E_SERVER:
        break;
    }
    return -1;
}

static tk_error_class class_of_status(int status, tk_should_retry header)
{
    bool is_status = status >= 100 && status <= 599 && status / 100 != 2;
    bool user = status >= 400 && status < 500 && status != 408;
    if (!is_status) {
        return TK_ERROR_FATAL;
    }
    if (header == TK_SHOULD_RETRY_YES) {
        return TK_ERROR_RETRYABLE;
    }
    if (header == TK_SHOULD_RETRY_NO) {
        return user ? TK_ERROR_USER : TK_ERROR_FATAL;
    }
    if (status == 408 || status == 409 || status == 410 || status == 429 ||
        status >= 500) {
        return TK_ERROR_RETRYABLE;
    }
    return user ? TK_ERROR_USER : TK_ERROR_FATAL;
}

/* M-099, M-101: every cell of status x category x header x
 * transport error. */
static void test_wire_error_every_cell(void **unused)
{
    size_t cells = 0;
    for (int code = TINKC_OK; code <= TINKC_E_INTERNAL; code++) {
        for (int status = 0; status <= 600; status++) {
            for (size_t i = 0; i < 9; i++) {
                const tk_fault fault = {(tinkc_code)code, status, categories[i / 3],
                                        headers[i % 3]};
                int want = class_of_code(fault.code, fault.category);
                if (want < 0) {
                    want = (int)class_of_status(status, fault.should_retry);
                }
                if ((int)tk_wire_error_rule(&fault)->class_of != want) {
                    fail_msg("code %d status %d category %d header %d", code, status,
                             (int)fault.category, (int)fault.should_retry);
                }
                const tk_error_rule *rule = tk_wire_error_rule(&fault);
                assert_int_equal(rule->class_of == TK_ERROR_RETRYABLE,
                                 rule->retry != TK_RETRY_NEVER);
                cells++;
            }
        }
    }
    assert_int_equal(cells, 29 * 601 * 9);
}

/* M-101: every row can be reached, and says when it applies. */
static void test_wire_error_no_dead_row(void **unused)
{
    bool *reached = test_calloc(tk_wire_error_rules_n, sizeof(bool));
    for (int code = TINKC_OK; code <= TINKC_E_INTERNAL; code++) {
        for (int status = 0; status <= 600; status++) {
            for (size_t i = 0; i < 9; i++) {
                const tk_fault fault = {(tinkc_code)code, status, categories[i / 3],
                                        headers[i % 3]};
                reached[tk_wire_error_rule(&fault) - tk_wire_error_rules] = true;
            }
        }
    }
    for (size_t i = 0; i < tk_wire_error_rules_n; i++) {
        assert_true(reached[i]);
        assert_true(strlen(tk_wire_error_rules[i].when) > 0);
    }
    test_free(reached);
}

/* 4xx is the user's and final, but 408, 409 and 429 are tried again. */
static void test_wire_error_4xx(void **unused)
{
    static const int final[] = {400, 401, 402, 403, 404, 405, 413, 415, 422, 425};
    static const int again[] = {408, 409, 429, 500, 502, 503, 504, 529};
    for (size_t i = 0; i < TK_ARRAY_LEN(final); i++) {
        const tk_fault fault = {tk_err_code_of_status(final[i]), final[i],
                                TINKC_CATEGORY_UNKNOWN, TK_SHOULD_RETRY_UNSAID};
        assert_int_equal(tk_wire_error_rule(&fault)->class_of, TK_ERROR_USER);
        assert_int_equal(tk_wire_error_rule(&fault)->retry, TK_RETRY_NEVER);
        assert_true(tk_wire_error_is_user(final[i], TINKC_CATEGORY_UNKNOWN));
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(again); i++) {
        const tk_fault fault = {tk_err_code_of_status(again[i]), again[i],
                                TINKC_CATEGORY_UNKNOWN, TK_SHOULD_RETRY_UNSAID};
        assert_int_equal(tk_wire_error_rule(&fault)->class_of, TK_ERROR_RETRYABLE);
        assert_int_equal(tk_wire_error_rule(&fault)->retry, TK_RETRY_SAME);
    }
    assert_false(tk_wire_error_is_user(408, TINKC_CATEGORY_UNKNOWN));
    assert_false(tk_wire_error_is_user(500, TINKC_CATEGORY_SERVER));
    assert_true(tk_wire_error_is_user(0, TINKC_CATEGORY_USER));
}

/* x-should-retry overrides the table, both ways. */
static void test_wire_error_should_retry(void **unused)
{
    tk_fault fault = {TINKC_E_BAD_REQUEST, 400, TINKC_CATEGORY_UNKNOWN,
                      TK_SHOULD_RETRY_YES};
    assert_int_equal(tk_wire_error_rule(&fault)->retry, TK_RETRY_SAME);
    fault = (tk_fault){TINKC_E_SERVER, 503, TINKC_CATEGORY_UNKNOWN, TK_SHOULD_RETRY_NO};
    assert_int_equal(tk_wire_error_rule(&fault)->retry, TK_RETRY_NEVER);
    assert_int_equal(tk_wire_error_should_retry(TK_STR("true")), TK_SHOULD_RETRY_YES);
    assert_int_equal(tk_wire_error_should_retry(TK_STR(" False ")), TK_SHOULD_RETRY_NO);
    assert_int_equal(tk_wire_error_should_retry(TK_STR("")), TK_SHOULD_RETRY_UNSAID);
    assert_int_equal(tk_wire_error_should_retry(TK_STR("1")), TK_SHOULD_RETRY_UNSAID);
}

/* three categories; unknown is retryable, as new work. */
static void test_wire_error_categories(void **unused)
{
    tk_fault fault = {TINKC_E_REQUEST, 200, TINKC_CATEGORY_UNKNOWN,
                      TK_SHOULD_RETRY_UNSAID};
    assert_int_equal(tk_wire_error_rule(&fault)->retry, TK_RETRY_AS_NEW);
    fault.category = TINKC_CATEGORY_SERVER;
    assert_int_equal(tk_wire_error_rule(&fault)->retry, TK_RETRY_AS_NEW);
    fault.category = TINKC_CATEGORY_USER;
    assert_int_equal(tk_wire_error_rule(&fault)->retry, TK_RETRY_NEVER);
}

/* wire casing is ignored; anything else is unknown. */
static void test_wire_error_category_words(void **unused)
{
    static const struct {
        const char *word;
        tinkc_category category;
    } rows[] = {
        {"user", TINKC_CATEGORY_USER},     {"User", TINKC_CATEGORY_USER},
        {"USER", TINKC_CATEGORY_USER},     {"server", TINKC_CATEGORY_SERVER},
        {"Server", TINKC_CATEGORY_SERVER}, {"unknown", TINKC_CATEGORY_UNKNOWN},
        {"weird", TINKC_CATEGORY_UNKNOWN}, {"", TINKC_CATEGORY_UNKNOWN},
        {"users", TINKC_CATEGORY_UNKNOWN}, {NULL, TINKC_CATEGORY_UNKNOWN},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        assert_int_equal(tk_wire_error_category(tk_str_of(rows[i].word)),
                         rows[i].category);
    }
}

#define NOW_US INT64_C(1779912000000000) /* 2026-05-27T20:00:00Z */

/* A-085..A-088: the four header cases, and garbage. */
static void test_wire_error_retry_after(void **unused)
{
    static const struct {
        const char *ms, *after;
        int64_t want;
    } rows[] = {
        {"1500", "9", 1500},
        {"0.5", "", 1},
        {" 250 ", "", 250},
        {"", "2", 2000},
        {"", "0.5", 500},
        {"", "0", 0},
        {"abc", "3", 3000},
        {"-1", "", -1},
        {"", "-5", -1},
        {"", "Wed, 27 May 2026 20:00:03 GMT", 3000},
        {"", "Wed, 27 May 2026 19:00:00 GMT", 0},
        {"", "soon", -1},
        {"", "", -1},
        {"nan", "inf", -1},
        {"", "1e300", INT64_C(9000000000000000)},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        assert_int_equal(tk_wire_error_retry_after(tk_str_of(rows[i].ms),
                                                   tk_str_of(rows[i].after), NOW_US),
                         rows[i].want);
    }
}

static tk_err fill(int status, const char *body)
{
    tk_err err = TK_ERR_INIT;
    const tk_error_response response = {.status = status, .body = tk_str_of(body)};
    (void)tk_wire_error_fill(&err, &response);
    return err;
}

/* Every form of body gives one useful line. */
static void test_wire_error_bodies(void **unused)
{
    static const struct {
        int status;
        const char *body, *want;
    } rows[] = {
        {404, "{\"detail\":\"Model not found\"}", "HTTP 404: Model not found"},
        {422,
         "{\"detail\":[{\"loc\":[\"body\",\"prompt\",\"chunks\",0],\"msg\":\"Field "
         "required\",\"type\":\"missing\"},{\"loc\":[],\"msg\":\"x\"}]}",
         "HTTP 422: body.prompt.chunks.0: Field required (and 1 more)"},
        {422, "{\"detail\":[{\"msg\":\"no loc\"}]}", "HTTP 422: no loc"},
        {422, "{\"detail\":[\"just text\"]}", "HTTP 422: just text"},
        {422, "{\"detail\":[]}", "HTTP 422: unprocessable entity"},
        {422, "{\"detail\":[7,8]}", "HTTP 422: unprocessable entity"},
        {400, "{\"error\":\"bad rank\"}", "HTTP 400: bad rank"},
        {400, "{\"error\":{\"message\":\"nested\",\"code\":1}}", "HTTP 400: nested"},
        {400, "{\"message\":\"said\"}", "HTTP 400: said"},
        {400, "{\"type\":\"RequestFailedResponse\",\"error_message\":\"no such loss\"}",
         "HTTP 400: no such loss"},
        {400, "{\"detail\":null,\"error\":\"second\"}", "HTTP 400: second"},
        {500, "\"just a string\"", "HTTP 500: just a string"},
        {500, "null", "HTTP 500: internal server error"},
        {503, "", "HTTP 503: service unavailable"},
        {502, "  upstream connect error\n", "HTTP 502: upstream connect error"},
        {502, "<html><head><TITLE> 502 Bad Gateway </TITLE></head></html>",
         "HTTP 502: 502 Bad Gateway"},
        {502, "<html>no title</html>", "HTTP 502: bad gateway"},
        {599, "{", "HTTP 599: {"},
        {302, "", "HTTP 302: unexpected status"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_err err = fill(rows[i].status, rows[i].body);
        assert_string_equal(err.message, rows[i].want);
        assert_int_equal(err.http_status, rows[i].status);
        assert_int_equal(err.code, tk_err_code_of_status(rows[i].status));
        assert_int_equal(err.retry_after_ms, -1);
    }
}

/* hint, request id and category travel with the error; headers win over body. */
static void test_wire_error_all_fields(void **unused)
{
    tk_err err = TK_ERR_INIT;
    tk_error_response response = {
        .status = 429,
        .body = TK_STR("{\"error\":\"slow down\",\"category\":\"Server\","
                       "\"request_id\":\"from-body\"}"),
        .retry_after = TK_STR("7"),
        .request_id = TK_STR("from-header"),
        .now_us = NOW_US};
    assert_int_equal(tk_wire_error_fill(&err, &response), TINKC_E_RATE_LIMIT);
    assert_int_equal(err.retry_after_ms, 7000);
    assert_string_equal(err.request_id, "from-header");
    assert_int_equal(err.category, TINKC_CATEGORY_SERVER);
    response.request_id = TK_STR("");
    tk_err_clear(&err);
    (void)tk_wire_error_fill(&err, &response);
    assert_string_equal(err.request_id, "from-body");
    response.status = 404;
    assert_int_equal(tk_wire_error_fill(&err, &response), TINKC_E_NOT_FOUND);
    assert_int_equal(err.code, TINKC_E_RATE_LIMIT); /* the first error is kept */
    assert_int_equal(tk_wire_error_fill(NULL, &response), TINKC_E_NOT_FOUND);
}

/* Hostile bodies: long, deep, binary; always one bounded line. */
static void test_wire_error_hostile_bodies(void **unused)
{
    size_t n = 300 * TK_KIB;
    char *body = test_malloc(n + 1);
    memset(body, '[', n);
    body[n] = '\0';
    tk_err err = fill(500, body);
    assert_true(strlen(err.message) < sizeof(err.message));
    memset(body, 'x', n);
    err = fill(500, body);
    assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
    memcpy(body, "{\"detail\":\"", 11);
    body[60 * TK_KIB] = '"';
    body[60 * TK_KIB + 1] = '}';
    body[60 * TK_KIB + 2] = '\0';
    err = fill(500, body);
    assert_memory_equal(err.message, "HTTP 500: xxxxx", 15);
    err = fill(500, "\xff\xfe\x01"
                    "bin");
    assert_string_equal(err.message, "HTTP 500: ?? bin");
    err = fill(500, "{\"detail\":\"two\\nlines\"}");
    assert_string_equal(err.message, "HTTP 500: two lines");
    test_free(body);
}

static bool fill_scenario(void *user)
{
    tk_err err = fill(422, "{\"detail\":[{\"loc\":[\"a\"],\"msg\":\"m\"}]}");
    assert_int_equal(err.code, TINKC_E_UNPROCESSABLE);
    return strcmp(err.message, "HTTP 422: a: m") == 0;
}

/* Without memory the code and the status are still right, and nothing leaks. */
static void test_wire_error_without_memory(void **unused)
{
    assert_true(failmem_sweep(fill_scenario, NULL, 1) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wire_error_every_cell),
        cmocka_unit_test(test_wire_error_no_dead_row),
        cmocka_unit_test(test_wire_error_4xx),
        cmocka_unit_test(test_wire_error_should_retry),
        cmocka_unit_test(test_wire_error_categories),
        cmocka_unit_test(test_wire_error_category_words),
        cmocka_unit_test(test_wire_error_retry_after),
        cmocka_unit_test(test_wire_error_bodies),
        cmocka_unit_test(test_wire_error_all_fields),
        cmocka_unit_test(test_wire_error_hostile_bodies),
        cmocka_unit_test(test_wire_error_without_memory),
    };
    return cmocka_run_group_tests_name("wire_error", tests, NULL, NULL);
}
