/* M-011: secrets are masked wherever they occur, whole, and in linear time. */
#include "base/redact.h"

#include <stdio.h>

#include "base/mem.h"
#include "support/failmem.h"
#include "support/test.h"

static tk_redact with_secrets(const char *first, const char *second)
{
    tk_redact redact;
    tk_redact_init(&redact);
    assert_int_equal(tk_redact_add(&redact, tk_str_of(first), NULL), TINKC_OK);
    if (second != NULL) {
        assert_int_equal(tk_redact_add(&redact, tk_str_of(second), NULL), TINKC_OK);
    }
    return redact;
}

static void assert_shows(const tk_redact *redact, const char *text, const char *expected)
{
    char out[512];
    char *copy = tk_memdup(text, strlen(text)); /* nothing after it may be read */
    assert_non_null(copy);
    tk_str view = {copy, strlen(text)};
    size_t n = tk_redact_apply(redact, out, sizeof(out), view, false);
    tk_free(copy);
    assert_string_equal(out, expected);
    assert_int_equal(n, strlen(expected));
}

static void test_redact_patterns(void **unused)
{
    static const char *const cases[][2] = {
        {"", ""},
        {"nothing to hide", "nothing to hide"},
        {"key tml-abc123 end", "key *** end"},
        {"tml-a", "***"},
        {"(tml-ab_c-9)", "(***)"},
        {"tml-0 tml-9 tml-A tml-Z tml-a tml-z", "*** *** *** *** *** ***"},
        {"tml-azAZ09!tml-[ tml-` tml-{ tml-@ tml-:", "***!tml-[ tml-` tml-{ tml-@ tml-:"},
        {"tml-", "tml-"},
        {"hf_0123456789abcde", "hf_0123456789abcde"},
        {"://", "://"},
        {"keys start with tml- or so", "keys start with tml- or so"},
        {"html-parser", "html-parser"},
        {"%20tml-abc", "%20***"},
        {"token eyJhbGciOi.eyJzdWIi.c2ln-_x done", "token *** done"},
        {"tml-aaeyJbb.cc/dd+ee== x", "*** x"},
        {"hf_AbCdEfGhIjKlMnOpQr", "***"},
        {"hf_hub_download", "hf_hub_download"},
        {"hf_transfer", "hf_transfer"},
        {"http://user:pa55@host/x", "http://***@host/x"},
        {"http://u@v:p@host", "http://***@host"},
        {"http://host/a@b", "http://host/a@b"},
        {"http://host", "http://host"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        assert_shows(NULL, cases[i][0], cases[i][1]);
    }
}

static void test_redact_headers_in_any_notation(void **unused)
{
    static const char *const cases[][2] = {
        {"X-API-Key: secret value, all of it", "X-API-Key: ***"},
        {"x-api-key:secret\r\nHost: h", "x-api-key:***\r\nHost: h"},
        {"X-Api-Key=secret", "X-Api-Key=***"},
        {"{\"X-API-Key\": \"secret\", \"a\": 1}", "{\"X-API-Key\": \"***\", \"a\": 1}"},
        {"{'x-api-key': 'secret', 'a': 1}", "{'x-api-key': '***', 'a': 1}"},
        {"\\\"x-api-key\\\":\\\"secret\\\",1", "\\\"x-api-key\\\":\\\"***\",1"},
        {"h[\"x-api-key\"] = \"secret\"", "h[\"x-api-key\"] = \"***\""},
        {"Authorization: Bearer a b", "Authorization: ***"},
        {"Proxy-Authorization: Basic dTpw", "Proxy-Authorization: ***"},
        {"CF-Access-Client-Secret: s3cr3t", "CF-Access-Client-Secret: ***"},
        {"CF-Access-Client-Id: id.access", "CF-Access-Client-Id: id.access"},
        {"Set-Cookie: a=b; c=d", "Set-Cookie: ***"},
        {"?X-Amz-Signature=abc&b=1 next", "?X-Amz-Signature=***&b=1 next"},
        {"?sp=r&sig=a%2Fb&sv=1", "?sp=r&sig=***&sv=1"},
        {"{\"jwt\":\"ab c\",\"design\":\"x\"}", "{\"jwt\":\"***\",\"design\":\"x\"}"},
        {"?X-Amz-Credential=A%2Fb&c=1", "?X-Amz-Credential=***&c=1"},
        {"api_key=abc; next", "api_key=***; next"},
        {"api-key: abc next", "api-key: *** next"},
        {"?X-Amz-Security-Token=abc&d=1", "?X-Amz-Security-Token=***&d=1"},
        {"AUTHORIZATION: Z", "AUTHORIZATION: ***"},
        {"cf-access-client-secret: a b", "cf-access-client-secret: ***"},
        {"X-API-Key\"", "X-API-Key\""},
        {"password: hunter2 next", "password: *** next"},
        {"authorization failed", "authorization failed"},
        {"no X-API-Key", "no X-API-Key"},
        {"X-API-Key:", "X-API-Key:"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        assert_shows(NULL, cases[i][0], cases[i][1]);
    }
}

static void test_redact_registered_secrets(void **unused)
{
    tk_redact redact = with_secrets("s3cret", "s3cret-longer");
    assert_shows(&redact, "as3cretb s3cret-longerx", "a***b ***x");
    assert_shows(&redact, "s3cre s3crets3cret", "s3cre ***");
    tk_redact_remove(&redact, TK_STR("s3cret"));
    tk_redact_remove(&redact, TK_STR("s3cret"));
    assert_shows(&redact, "s3cret s3cret-longer", "s3cret ***");
    tk_redact_dispose(&redact);
    assert_shows(&redact, "s3cret-longer", "s3cret-longer");
}

/* A secret that begins inside another hidden part and ends after it. */
static void test_redact_overlaps(void **unused)
{
    tk_redact redact = with_secrets("abc def", "def ghi");
    assert_shows(&redact, "tml-abc def!", "***!");
    assert_shows(&redact, "abc def ghi!", "***!");
    assert_shows(&redact, "\"x-api-key\": \"abc def ghi\"", "\"x-api-key\": \"***\"");
    assert_shows(&redact, "\"x-api-key\": \"1 abc\" def", "\"x-api-key\": \"***\" def");
    tk_redact_dispose(&redact);
    tk_redact_init(&redact); /* any bytes */
    assert_int_equal(tk_redact_add(&redact, TK_STR("a\0b\xFF"), NULL), TINKC_OK);
    char out[16];
    size_t n = tk_redact_apply(&redact, out, sizeof(out), TK_STR("<a\0b\xFF>"), false);
    assert_int_equal(n, 5);
    assert_string_equal(out, "<***>");
    tk_redact_dispose(&redact);
}

static void test_redact_room(void **unused)
{
    tk_redact redact = with_secrets("s3cret", NULL);
    static const char *const expected[] = {"",     "a",     "a*",   "a**",
                                           "a***", "a***b", "a***b"};
    for (size_t size = 1; size <= TK_ARRAY_LEN(expected); size++) {
        char *out = tk_malloc(size);
        assert_non_null(out);
        size_t n = tk_redact_apply(&redact, out, size, TK_STR("as3cretb"), false);
        assert_string_equal(out, expected[size - 1]);
        assert_int_equal(n, strlen(out));
        tk_free(out);
    }
    tk_redact_dispose(&redact);
}

/* The end of a text that was cut may be the first half of a secret. */
static void test_redact_cut_text_keeps_its_end_back(void **unused)
{
    static char text[TK_REDACT_SECRET_MAX_BYTES + 10];
    memset(text, 'x', sizeof(text));
    char out[64];
    tk_str view = {text, sizeof(text)};
    assert_int_equal(tk_redact_apply(NULL, out, sizeof(out), view, true), 10);
    view.n = 100;
    assert_int_equal(tk_redact_apply(NULL, out, sizeof(out), view, true), 0);
    assert_string_equal(out, "");
}

static void test_redact_limits(void **unused)
{
    static char large[TK_REDACT_SECRET_MAX_BYTES + 1];
    memset(large, 'k', sizeof(large));
    tk_redact redact;
    tk_redact_init(&redact);
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_redact_add(&redact, TK_STR("abc"), &err), TINKC_E_INVALID);
    assert_int_equal(tk_redact_add(&redact, tk_str_of(NULL), NULL), TINKC_E_INVALID);
    tk_str view = {large, sizeof(large)};
    assert_int_equal(tk_redact_add(&redact, view, NULL), TINKC_E_LIMIT);
    view.n--;
    assert_int_equal(tk_redact_add(&redact, view, NULL), TINKC_OK);
    assert_int_equal(tk_redact_add(&redact, view, NULL), TINKC_OK); /* only once */
    assert_int_equal(redact.count, 1);
    for (size_t i = 1; i < TK_REDACT_SECRETS_MAX; i++) {
        char text[16];
        (void)snprintf(text, sizeof(text), "secret-%zu", i);
        assert_int_equal(tk_redact_add(&redact, tk_str_of(text), NULL), TINKC_OK);
    }
    assert_int_equal(tk_redact_add(&redact, TK_STR("one more"), NULL), TINKC_E_LIMIT);
    assert_int_equal(tk_redact_add(&redact, TK_STR("secret-5"), NULL), TINKC_OK);
    tk_redact_remove(&redact, TK_STR("secret-5"));
    assert_int_equal(tk_redact_add(&redact, TK_STR("one more"), NULL), TINKC_E_LIMIT);
    tk_redact_remove(&redact, TK_STR("secret-5")); /* as often as it was added */
    assert_int_equal(tk_redact_add(&redact, TK_STR("one more"), NULL), TINKC_OK);
    tk_redact_dispose(&redact);
}

/* Text made to be slow: prefixes and names that start again and again. A quadratic scan
 * of this half megabyte would not end within the test's time limit. */
static void test_redact_hostile_text_is_linear(void **unused)
{
    static const char *const parts[] = {
        "eyJa", "tml-a",      "x-api-key:",         "x-api-key:\"",
        "://a", "api_key=\"", "hf_0123456789abcdef"};
    size_t size = TK_MIB / 2;
    char *text = tk_malloc(size);
    char *out = tk_malloc(size);
    assert_non_null(text);
    assert_non_null(out);
    for (size_t i = 0; i < TK_ARRAY_LEN(parts); i++) {
        size_t n = strlen(parts[i]);
        for (size_t k = 0; k < size; k++) {
            text[k] = parts[i][k % n];
        }
        tk_str view = {text, size};
        (void)tk_redact_apply(NULL, out, size, view, false);
    }
    tk_free(text);
    tk_free(out);
}

static bool add_and_remove(void *user)
{
    tk_redact redact;
    tk_redact_init(&redact);
    tk_err err = TK_ERR_INIT;
    bool ok = tk_redact_add(&redact, TK_STR("first"), &err) == TINKC_OK &&
              tk_redact_add(&redact, TK_STR("second"), &err) == TINKC_OK;
    assert_int_equal(err.code, ok ? TINKC_OK : TINKC_E_NOMEM);
    tk_redact_dispose(&redact);
    return ok;
}

static void test_redact_sweep(void **unused)
{
    assert_int_equal(failmem_sweep(add_and_remove, NULL, 1), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_redact_patterns),
        cmocka_unit_test(test_redact_headers_in_any_notation),
        cmocka_unit_test(test_redact_registered_secrets),
        cmocka_unit_test(test_redact_overlaps),
        cmocka_unit_test(test_redact_room),
        cmocka_unit_test(test_redact_cut_text_keeps_its_end_back),
        cmocka_unit_test(test_redact_limits),
        cmocka_unit_test(test_redact_hostile_text_is_linear),
        cmocka_unit_test(test_redact_sweep),
    };
    return cmocka_run_group_tests_name("redact", tests, NULL, NULL);
}
