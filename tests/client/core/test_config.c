/* Configuration: option over environment over default, read once, checked, secrets hidden
 * (A-107..A-110, M-001..M-003, M-008, M-011). */
#include <stdio.h>

#include "client/core/config_int.h"
#include "support/failmem.h"
#include "support/test.h"

/* An environment of name, value pairs ending in NULL. */
static const char *look_up(const char *name, void *user)
{
    const char *const *pairs = user;
    for (; pairs[0] != NULL; pairs += 2) {
        if (strcmp(pairs[0], name) == 0) {
            return pairs[1];
        }
    }
    return NULL;
}

static tinkc_config *config_in(const char *const *pairs)
{
    tinkc_config *config = NULL;
    tk_err err = TK_ERR_INIT;
    tk_env env = {look_up, (void *)(uintptr_t)pairs};
    assert_int_equal(tk_config_new(&config, &env, &err), TINKC_OK);
    return config;
}

static const char *const nothing[] = {NULL};

static void assert_option(const tinkc_config *config, const char *name,
                          const char *expected)
{
    char text[256];
    size_t n = tinkc_config_get(text, sizeof(text), config, name);
    assert_string_equal(text, expected);
    assert_int_equal(n, strlen(expected));
}

/* M-024: the defaults, those of the official SDK among them. */
static void test_config_defaults(void **unused)
{
    tinkc_config *config = config_in(nothing);
    assert_option(config, "base_url", TK_CONFIG_DEFAULT_URL);
    assert_option(config, "api_key", "");
    assert_option(config, "sdk_version", "0.36.0");
    assert_option(config, "timeout", "60000");
    assert_option(config, "connect_timeout", "5000");
    assert_option(config, "max_retries", "10");
    assert_option(config, "heartbeat", "10000");
    assert_option(config, "loop", "thread");
    assert_option(config, "telemetry", "true");
    assert_option(config, "log_level", "warn");
    assert_option(config, "sample_dispatch", "400");
    assert_option(config, "fail_step_after_partial", "true");
    tinkc_config_free(&config);
    assert_null(config);
}

/* A-109, M-003, M-008: the environment fills what is not set; an empty variable counts
 * as absent. */
static void test_config_environment(void **unused)
{
    static const char *const pairs[] = {"TINKER_BASE_URL",
                                        "http://h/p",
                                        "TINKER_API_KEY",
                                        "tml-secret",
                                        "TINKER_TELEMETRY",
                                        "On",
                                        "TINKER_LOG",
                                        "debug",
                                        "TINKER_TAGS",
                                        "a, b,,a",
                                        "TINKER_PROJECT_ID",
                                        "",
                                        NULL};
    tinkc_config *config = config_in(pairs);
    assert_option(config, "base_url", "http://h/p");
    assert_option(config, "api_key", "***");
    assert_string_equal(config->api_key, "tml-secret");
    assert_option(config, "log_level", "debug");
    assert_option(config, "project_id", "");
    assert_null(config->project_id);
    assert_int_equal(config->tags.n, 2);
    assert_string_equal(config->tags.items[1].name, "b");
    assert_int_equal(tinkc_config_set(config, "base_url", "http://other", NULL),
                     TINKC_OK);
    assert_option(config, "base_url", "http://other");
    assert_int_equal(tinkc_config_set(config, "base_url", NULL, NULL), TINKC_OK);
    assert_option(config, "base_url", TK_CONFIG_DEFAULT_URL);
    tinkc_config_free(&config);
}

/* M-008: docs/protocol.md §1.2, M-141: telemetry is off for any word but four;
 * TINKER_LOG knows the levels in lower case. */
static void test_config_environment_words(void **unused)
{
    static const struct {
        const char *name, *value, *option, *expected;
    } rows[] = {{"TINKER_TELEMETRY", "0", "telemetry", "false"},
                {"TINKER_TELEMETRY", "nope", "telemetry", "false"},
                {"TINKER_TELEMETRY", "", "telemetry", "false"},
                {"TINKER_TELEMETRY", "YES", "telemetry", "true"},
                {"TINKER_LOG", "info", "log_level", "info"},
                {"TINKER_LOG", "error", "log_level", "error"},
                {"TINKER_LOG", "warning", "log_level", "warn"},
                {"TINKER_LOG", "off", "log_level", "off"},
                {"TINKER_LOG", "DEBUG", "log_level", "warn"},
                {"TINKC_WIRE_DUMP", "1", "wire_dump", "true"},
                {"TINKER_BASE_URL", "", "base_url", TK_CONFIG_DEFAULT_URL}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        const char *pairs[] = {rows[i].name, rows[i].value, NULL};
        tinkc_config *config = config_in(pairs);
        assert_option(config, rows[i].option, rows[i].expected);
        tinkc_config_free(&config);
    }
}

/* Naming a file or a folder of certificates replaces both of the environment's; naming
 * both keeps both. */
static void test_config_trust(void **unused)
{
    static const char *const pairs[] = {"SSL_CERT_FILE", "/f", "SSL_CERT_DIR", "/d",
                                        NULL};
    static const struct {
        const char *names[2];
        const char *file, *dir;
    } rows[] = {{{NULL, NULL}, "/f", "/d"},
                {{"ca_file", NULL}, "mine", ""},
                {{"ca_dir", NULL}, "", "mine"},
                {{"ca_file", "ca_dir"}, "mine", "mine"},
                {{"ca_dir", "ca_file"}, "mine", "mine"},
                {{"timeout", NULL}, "/f", "/d"}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tinkc_config *config = config_in(pairs), *copy = NULL;
        assert_int_equal(tinkc_config_copy(&copy, config, NULL), TINKC_OK);
        for (size_t k = 0; k < 2 && rows[i].names[k] != NULL; k++) {
            bool is_text = strncmp(rows[i].names[k], "ca_", 3) == 0;
            assert_int_equal(
                tinkc_config_set(copy, rows[i].names[k], is_text ? "mine" : "1", NULL),
                TINKC_OK);
        }
        assert_option(copy, "ca_file", rows[i].file);
        assert_option(copy, "ca_dir", rows[i].dir);
        tinkc_config_free(&config);
        tinkc_config_free(&copy);
    }
}

/* M-011. */
static void test_config_hides_secrets(void **unused)
{
    tinkc_config *config = config_in(nothing);
    assert_int_equal(tinkc_config_set(config, "api_key", "tml-123", NULL), TINKC_OK);
    assert_option(config, "api_key", "***");
    assert_string_equal(config->api_key, "tml-123");
    tinkc_config_free(&config);
}

/* a duration is the default, none, or a value. */
static void test_config_durations(void **unused)
{
    tinkc_config *config = config_in(nothing);
    assert_int_equal(tinkc_config_set(config, "timeout", "none", NULL), TINKC_OK);
    assert_int_equal(config->timeout_ms, -1);
    assert_option(config, "timeout", "none");
    assert_int_equal(tinkc_config_set(config, "timeout", "1500", NULL), TINKC_OK);
    assert_int_equal(config->timeout_ms, 1500);
    assert_int_equal(tinkc_config_set(config, "timeout", NULL, NULL), TINKC_OK);
    assert_int_equal(config->timeout_ms, 60000);
    tinkc_config_free(&config);
}

static void test_config_refusals(void **unused)
{
    static const struct {
        const char *name, *value;
    } rows[] = {{"no_such_option", "1"},
                {"timeout", "-5"},
                {"timeout", "soon"},
                {"timeout", "0"},
                {"max_retries", "1.5"},
                {"max_retries", "none"},
                {"loop", "fast"},
                {"telemetry", "maybe"},
                {"sample_dispatch", "0"},
                {"api_key", "tml-a\nb"},
                {"max_retries", "99999999999999999999"}};
    tinkc_config *config = config_in(nothing);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tinkc_error *error = NULL;
        assert_int_equal(tinkc_config_set(config, rows[i].name, rows[i].value, &error),
                         TINKC_E_CONFIG);
        assert_non_null(strstr(tinkc_error_message(error), rows[i].name));
        tinkc_error_free(&error);
    }
    assert_option(config, "timeout", "60000");
    tinkc_config_free(&config);
    assert_int_equal(tinkc_config_set(NULL, "timeout", "1", NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_config_get(NULL, 0, NULL, "timeout"), 0);
    tinkc_config_free(NULL);
}

/* M-001: a copy shares nothing with its original. */
static void test_config_copy(void **unused)
{
    tinkc_config *config = config_in(nothing), *copy = NULL;
    assert_int_equal(tinkc_config_set_header(config, "X-One", "1", NULL), TINKC_OK);
    assert_int_equal(tinkc_config_set_header(config, "X-One", "2", NULL), TINKC_OK);
    assert_int_equal(tinkc_config_set_query(config, "q", "v", NULL), TINKC_OK);
    assert_int_equal(tinkc_config_set_metadata(config, "k", NULL, NULL), TINKC_OK);
    assert_int_equal(tinkc_config_add_tag(config, "t", NULL), TINKC_OK);
    assert_int_equal(tinkc_config_copy(&copy, config, NULL), TINKC_OK);
    assert_int_equal(tinkc_config_set_header(config, "X-One", NULL, NULL), TINKC_OK);
    assert_int_equal(config->headers.n, 0);
    assert_int_equal(tinkc_config_set(config, "api_key", "tml-x", NULL), TINKC_OK);
    tinkc_config_free(&config);
    assert_int_equal(copy->headers.n, 1);
    assert_string_equal(copy->headers.items[0].value, "2");
    assert_null(copy->metadata.items[0].value);
    assert_string_equal(copy->tags.items[0].name, "t");
    assert_null(copy->api_key);
    tinkc_config_free(&copy);
}

static void test_config_header_injection(void **unused)
{
    tinkc_config *config = config_in(nothing);
    assert_int_equal(tinkc_config_set_header(config, "X", "a\r\nX-API-Key: b", NULL),
                     TINKC_E_CONFIG);
    assert_int_equal(tinkc_config_set_header(config, "", "a", NULL), TINKC_E_CONFIG);
    assert_int_equal(config->headers.n, 0);
    tinkc_config_free(&config);
}

/* Names of headers are the same in any case; other names are not. */
static void test_config_header_names(void **unused)
{
    static const char *const bad[] = {
        "", "a b", "a:", "X-Evil: 1\r\nY", "a\tb", "\x7f", "\xc3\xa4", "(a)", "a\"b"};
    tinkc_config *config = config_in(nothing), *copy = NULL;
    assert_int_equal(tinkc_config_set_header(config, "User-Agent", "1", NULL), TINKC_OK);
    assert_int_equal(tinkc_config_set_header(config, "USER-AGENT", "2", NULL), TINKC_OK);
    assert_int_equal(config->headers.n, 1);
    assert_string_equal(config->headers.items[0].value, "2");
    assert_int_equal(tinkc_config_copy(&copy, config, NULL), TINKC_OK);
    assert_int_equal(tinkc_config_set_header(copy, "user-agent", "3", NULL), TINKC_OK);
    assert_int_equal(copy->headers.n, 1);
    assert_int_equal(tinkc_config_set_header(copy, "uSER-aGENT", NULL, NULL), TINKC_OK);
    assert_int_equal(copy->headers.n, 0);
    tinkc_config_free(&copy);
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        assert_int_equal(tinkc_config_set_header(config, bad[i], "1", NULL),
                         TINKC_E_CONFIG);
    }
    assert_int_equal(tinkc_config_set_query(config, "q", "1", NULL), TINKC_OK);
    assert_int_equal(tinkc_config_set_query(config, "Q", "2", NULL), TINKC_OK);
    assert_int_equal(config->query.n, 2);
    tinkc_config_free(&config);
}

/* each option of the table can be read, has help, and takes its own default. */
static void test_config_table_is_sound(void **unused)
{
    tinkc_config *config = config_in(nothing);
    tinkc_config_option option;
    size_t n = 0;
    for (; tinkc_config_option_at(&option, n); n++) {
        assert_true(strlen(option.help) > 5);
        if (option.fallback[0] != '\0') {
            assert_int_equal(tinkc_config_set(config, option.name, option.fallback, NULL),
                             TINKC_OK);
            assert_option(config, option.name, option.fallback);
        }
    }
    assert_true(n > 25);
    tinkc_config_free(&config);
}

/* M-017: the version that is set decides what the client does. */
static void test_config_sdk_at_least(void **unused)
{
    static const struct {
        const char *version;
        bool is_36;
    } rows[] = {{"0.25.0", false},  {"0.36.0", true},
                {"0.35.99", false}, {"0.100.0", true},
                {"1.0.0", true},    {"1.2", true},
                {"0.4", false},     {"0.36", true},
                {"", true},         {"dev", true},
                {"0", true},        {"0.", false},
                {"0.36rc1", true},  {"0.4294967332", true},
                {"00.25", false},   {"0.35.0+36", false}};
    tinkc_config *config = config_in(nothing);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        assert_int_equal(tinkc_config_set(config, "sdk_version", rows[i].version, NULL),
                         TINKC_OK);
        assert_true(tk_config_sdk_at_least(config, 36) == rows[i].is_36);
    }
    tinkc_config_free(&config);
}

static bool sweep_once(void *user)
{
    static const char *const pairs[] = {"TINKER_API_KEY", "tml-k", "TINKER_TAGS", "a,b",
                                        NULL};
    tinkc_config *config = NULL, *copy = NULL;
    tk_env env = {look_up, (void *)(uintptr_t)pairs};
    bool ok = tk_config_new(&config, &env, NULL) == TINKC_OK &&
              tinkc_config_set_header(config, "X", "1", NULL) == TINKC_OK &&
              tinkc_config_set(config, "proxy", "http://p", NULL) == TINKC_OK &&
              tinkc_config_copy(&copy, config, NULL) == TINKC_OK;
    tinkc_config_free(&config);
    tinkc_config_free(&copy);
    return ok;
}

static void test_config_allocation_sweep(void **unused)
{
    assert_true(failmem_sweep(sweep_once, NULL, 1) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config_defaults),
        cmocka_unit_test(test_config_environment),
        cmocka_unit_test(test_config_environment_words),
        cmocka_unit_test(test_config_trust),
        cmocka_unit_test(test_config_hides_secrets),
        cmocka_unit_test(test_config_durations),
        cmocka_unit_test(test_config_refusals),
        cmocka_unit_test(test_config_copy),
        cmocka_unit_test(test_config_header_injection),
        cmocka_unit_test(test_config_header_names),
        cmocka_unit_test(test_config_table_is_sound),
        cmocka_unit_test(test_config_sdk_at_least),
        cmocka_unit_test(test_config_allocation_sweep),
    };
    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
