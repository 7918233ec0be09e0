/* The public error object: accessors, ownership without memory, the retry and user-error
 * rules. */
#include "client/values/error.h"

#include <stdio.h>

#include "support/failmem.h"
#include "support/test.h"

static tk_err status_err(int http_status)
{
    tk_err err = TK_ERR_INIT;
    err.http_status = http_status;
    (void)tk_err_set(&err, tk_err_code_of_status(http_status), "HTTP %d", http_status);
    return err;
}

static tk_err code_err(tinkc_code code)
{
    tk_err err = TK_ERR_INIT;
    (void)tk_err_set(&err, code, "text");
    return err;
}

static void test_error_null_reads_as_ok(void **unused)
{
    tinkc_error *none = NULL;
    tinkc_error_free(NULL);
    tinkc_error_free(&none);
    assert_int_equal(tinkc_error_code(NULL), TINKC_OK);
    assert_int_equal(tinkc_error_category(NULL), TINKC_CATEGORY_UNKNOWN);
    assert_string_equal(tinkc_error_message(NULL), "no error");
    assert_int_equal(tinkc_error_http_status(NULL), 0);
    assert_null(tinkc_error_request_id(NULL));
    assert_int_equal(tinkc_error_retry_after_ms(NULL), -1);
    assert_false(tinkc_error_is_retryable(NULL));
    assert_false(tinkc_error_is_fatal(NULL));
    assert_false(tinkc_error_is_user_error(NULL));
    assert_null(tinkc_error_cause(NULL));
    assert_null(tinkc_error_ref(NULL));
}

/* A-089, M-098: the error exposes the parsed Retry-After hint. */
static void test_error_carries_everything(void **unused)
{
    tk_err err = status_err(429);
    err.category = TINKC_CATEGORY_SERVER;
    err.retry_after_ms = 1500;
    (void)snprintf(err.request_id, sizeof(err.request_id), "req-7");
    tinkc_error *error = tk_error_new(&err, NULL);
    memset(&err, 'x', sizeof(err)); /* a copy, not a view */
    assert_int_equal(tinkc_error_code(error), TINKC_E_RATE_LIMIT);
    assert_int_equal(tinkc_error_category(error), TINKC_CATEGORY_SERVER);
    assert_string_equal(tinkc_error_message(error), "HTTP 429");
    assert_int_equal(tinkc_error_http_status(error), 429);
    assert_string_equal(tinkc_error_request_id(error), "req-7");
    assert_int_equal(tinkc_error_retry_after_ms(error), 1500);
    assert_null(tinkc_error_cause(error));
    tinkc_error_free(&error);
    assert_null(error);
}

static void test_error_message_names_path_and_offset(void **unused)
{
    tk_err err = TK_ERR_INIT;
    (void)tk_err_at(&err, TINKC_E_DECODE, 41, "expected a string");
    tk_err_under(&err, "request_id");
    tinkc_error *error = tk_error_new(&err, NULL);
    assert_string_equal(tinkc_error_message(error),
                        "request_id: expected a string (at byte 41)");
    tinkc_error_free(&error);
    memset(err.message, 'm', sizeof(err.message) - 1); /* the longest that there can be */
    memset(err.path, 'p', sizeof(err.path) - 1);
    err.offset = SIZE_MAX - 1;
    error = tk_error_new(&err, NULL);
    assert_non_null(strstr(tinkc_error_message(error), "(at byte 18446744073709551614)"));
    tinkc_error_free(&error);
}

static void test_error_give(void **unused)
{
    tk_err err = code_err(TINKC_E_CONFIG);
    tinkc_error *error = NULL;
    assert_int_equal(tk_error_give(NULL, &err), TINKC_E_CONFIG);
    assert_int_equal(tk_error_give(&error, &err), TINKC_E_CONFIG);
    assert_int_equal(tinkc_error_code(error), TINKC_E_CONFIG);
    tinkc_error_free(&error);
}

static void test_error_owners(void **unused)
{
    failmem_start();
    tk_err err = code_err(TINKC_E_IO);
    tinkc_error *first = tk_error_new(&err, NULL);
    tinkc_error *second = tinkc_error_ref(first);
    tinkc_error_free(&first);
    assert_int_equal(tinkc_error_code(second), TINKC_E_IO);
    tinkc_error_free(&second);
    assert_int_equal(failmem_stop(), 0);
}

/* Without memory there is still an error object, and freeing it is harmless. */
static void test_error_without_memory(void **unused)
{
    failmem_start();
    tk_err err = status_err(500);
    tinkc_error *cause = tk_error_new(&err, NULL);
    failmem_fail_at(1);
    tinkc_error *error = tk_error_new(&err, cause); /* the cause is released */
    assert_true(failmem_fired());
    assert_int_equal(tinkc_error_code(error), TINKC_E_NOMEM);
    assert_string_equal(tinkc_error_message(error), "out of memory");
    assert_int_equal(tinkc_error_retry_after_ms(error), -1);
    assert_null(tinkc_error_request_id(error));
    assert_null(tinkc_error_cause(error));
    tinkc_error *other = tinkc_error_ref(error);
    tinkc_error_free(&error);
    tinkc_error_free(&other);
    failmem_fail_at(1);
    error = tk_error_new(&err, NULL); /* and again: nothing was used up */
    assert_int_equal(tinkc_error_code(error), TINKC_E_NOMEM);
    tinkc_error_free(&error);
    assert_int_equal(failmem_stop(), 0);
}

/* 408, 409, 429, 5xx, connection failures and timeouts may be tried
 * again; nothing else. 410 is for the sampling layer, not for the caller. */
static void test_error_retryable_by_status(void **unused)
{
    for (int status = 300; status < 600; status++) {
        tk_err err = status_err(status);
        tinkc_error *error = tk_error_new(&err, NULL);
        bool expected = status == 408 || status == 409 || status == 429 || status >= 500;
        assert_int_equal(tinkc_error_is_retryable(error), expected);
        tinkc_error_free(&error);
    }
}

static void test_error_retryable_by_code(void **unused)
{
    for (int code = 1; code <= TINKC_E_INTERNAL; code++) {
        tk_err err = code_err((tinkc_code)code);
        tinkc_error *error = tk_error_new(&err, NULL);
        bool expected = code == TINKC_E_CONNECTION || code == TINKC_E_TIMEOUT ||
                        code == TINKC_E_CONFLICT || code == TINKC_E_RATE_LIMIT ||
                        code == TINKC_E_SERVER;
        assert_int_equal(tinkc_error_is_retryable(error), expected);
        assert_false(tinkc_error_is_fatal(error));
        tinkc_error_free(&error);
    }
}

static void test_error_fatal_is_never_retryable(void **unused)
{
    tk_err err = code_err(TINKC_E_CONNECTION);
    err.is_fatal = true;
    tinkc_error *error = tk_error_new(&err, NULL);
    assert_true(tinkc_error_is_fatal(error));
    assert_false(tinkc_error_is_retryable(error));
    tinkc_error_free(&error);
}

static bool chain_is_user_error(const tk_err *errs, size_t n)
{
    tinkc_error *error = NULL;
    for (size_t i = n; i > 0; i--) {
        error = tk_error_new(&errs[i - 1], error);
    }
    bool result = tinkc_error_is_user_error(error);
    tinkc_error_free(&error);
    return result;
}

/* A-082, M-100: category user or HTTP 4xx except 408, anywhere in the chain of causes. */
static void test_error_user_error_walks_the_causes(void **unused)
{
    for (int status = 0; status < 600; status++) {
        tk_err errs[] = {status_err(status)};
        bool expected = status >= 400 && status < 500 && status != 408;
        assert_int_equal(chain_is_user_error(errs, 1), expected);
    }
    tk_err chain[] = {code_err(TINKC_E_INTERNAL), status_err(503), status_err(422)};
    assert_false(chain_is_user_error(chain, 2));
    assert_true(chain_is_user_error(chain, 3));
    chain[2] = code_err(TINKC_E_REQUEST);
    assert_false(chain_is_user_error(chain, 3));
    chain[2].category = TINKC_CATEGORY_SERVER;
    assert_false(chain_is_user_error(chain, 3));
    chain[2].category = TINKC_CATEGORY_USER;
    assert_true(chain_is_user_error(chain, 3));
    chain[0].category = TINKC_CATEGORY_USER;
    chain[2].category = TINKC_CATEGORY_UNKNOWN;
    assert_true(chain_is_user_error(chain, 3));
    chain[0] = status_err(408); /* 408 hides nothing beneath it */
    chain[1] = status_err(400);
    assert_true(chain_is_user_error(chain, 2));
}

static void test_error_long_chain(void **unused)
{
    failmem_start();
    tk_err err = code_err(TINKC_E_IO);
    tinkc_error *error = NULL;
    for (int i = 0; i < 20000; i++) {
        error = tk_error_new(&err, error);
    }
    tinkc_error *kept = tinkc_error_ref(error);
    tinkc_error_free(&error);
    assert_int_equal(tinkc_error_code(tinkc_error_cause(kept)), TINKC_E_IO);
    tinkc_error_free(&kept);
    assert_int_equal(failmem_stop(), 0);
}

/* M-099: every code has a name. */
static void test_error_names(void **unused)
{
    assert_string_equal(tinkc_code_name(TINKC_OK), "TINKC_OK");
    assert_string_equal(tinkc_code_name(TINKC_E_TIMEOUT), "TINKC_E_TIMEOUT");
    assert_string_equal(tinkc_code_name(TINKC_E_INTERNAL), "TINKC_E_INTERNAL");
    assert_string_equal(tinkc_code_name((tinkc_code)-1), "TINKC_E_?");
    assert_string_equal(tinkc_code_name((tinkc_code)(TINKC_E_INTERNAL + 1)), "TINKC_E_?");
    for (int a = 0; a <= TINKC_E_INTERNAL; a++) {
        const char *name = tinkc_code_name((tinkc_code)a);
        assert_int_equal(strncmp(name, "TINKC_", 6), 0);
        for (int b = 0; b < a; b++) {
            assert_string_not_equal(name, tinkc_code_name((tinkc_code)b));
        }
    }
    assert_string_equal(tinkc_category_name(TINKC_CATEGORY_UNKNOWN), "unknown");
    assert_string_equal(tinkc_category_name(TINKC_CATEGORY_SERVER), "server");
    assert_string_equal(tinkc_category_name(TINKC_CATEGORY_USER), "user");
    assert_string_equal(tinkc_category_name((tinkc_category)9), "unknown");
}

/* A-094, M-098: the coarse class of every kind of error; what may be repeated as it is
 * has class retryable, and nothing of another class may. */
static void test_error_class(void **unused)
{
    static const struct {
        tinkc_code code;
        int http_status;
        tinkc_category category;
        tinkc_class class_of;
    } rows[] = {
        {TINKC_E_INVALID, 0, TINKC_CATEGORY_UNKNOWN, TINKC_CLASS_USER},
        {TINKC_E_CONNECTION, 0, TINKC_CATEGORY_UNKNOWN, TINKC_CLASS_RETRYABLE},
        {TINKC_E_TIMEOUT, 0, TINKC_CATEGORY_UNKNOWN, TINKC_CLASS_RETRYABLE},
        {TINKC_E_DECODE, 200, TINKC_CATEGORY_UNKNOWN, TINKC_CLASS_FATAL},
        {TINKC_E_BAD_REQUEST, 400, TINKC_CATEGORY_UNKNOWN, TINKC_CLASS_USER},
        {TINKC_E_STATUS, 408, TINKC_CATEGORY_UNKNOWN, TINKC_CLASS_RETRYABLE},
        {TINKC_E_CONFLICT, 409, TINKC_CATEGORY_UNKNOWN, TINKC_CLASS_RETRYABLE},
        {TINKC_E_GONE, 410, TINKC_CATEGORY_UNKNOWN, TINKC_CLASS_RETRYABLE},
        {TINKC_E_RATE_LIMIT, 429, TINKC_CATEGORY_UNKNOWN, TINKC_CLASS_RETRYABLE},
        {TINKC_E_SERVER, 503, TINKC_CATEGORY_UNKNOWN, TINKC_CLASS_RETRYABLE},
        {TINKC_E_STATUS, 302, TINKC_CATEGORY_UNKNOWN, TINKC_CLASS_FATAL},
        {TINKC_E_REQUEST, 200, TINKC_CATEGORY_USER, TINKC_CLASS_USER},
        {TINKC_E_REQUEST, 200, TINKC_CATEGORY_SERVER, TINKC_CLASS_RETRYABLE},
        {TINKC_E_REQUEST, 200, TINKC_CATEGORY_UNKNOWN, TINKC_CLASS_RETRYABLE},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_err err = code_err(rows[i].code);
        err.http_status = rows[i].http_status;
        err.category = rows[i].category;
        tinkc_error *error = tk_error_new(&err, NULL);
        assert_int_equal(tinkc_error_class(error), rows[i].class_of);
        assert_true(!tinkc_error_is_retryable(error) ||
                    rows[i].class_of == TINKC_CLASS_RETRYABLE);
        tinkc_error_free(&error);
    }
    assert_int_equal(tinkc_error_class(NULL), TINKC_CLASS_NONE);
    assert_string_equal(tinkc_class_name(TINKC_CLASS_NONE), "none");
    assert_string_equal(tinkc_class_name(TINKC_CLASS_USER), "user");
    assert_string_equal(tinkc_class_name(TINKC_CLASS_RETRYABLE), "retryable");
    assert_string_equal(tinkc_class_name((tinkc_class)9), "fatal");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error_null_reads_as_ok),
        cmocka_unit_test(test_error_carries_everything),
        cmocka_unit_test(test_error_message_names_path_and_offset),
        cmocka_unit_test(test_error_give),
        cmocka_unit_test(test_error_owners),
        cmocka_unit_test(test_error_without_memory),
        cmocka_unit_test(test_error_retryable_by_status),
        cmocka_unit_test(test_error_retryable_by_code),
        cmocka_unit_test(test_error_fatal_is_never_retryable),
        cmocka_unit_test(test_error_user_error_walks_the_causes),
        cmocka_unit_test(test_error_long_chain),
        cmocka_unit_test(test_error_names),
        cmocka_unit_test(test_error_class),
    };
    return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
