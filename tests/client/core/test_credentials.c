/* The credentials file: what the official program writes is read, and what others can read
 * is refused (docs/protocol.md §1.3; A-107). */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "client/core/credentials.h"
#include "support/clientfix.h"
#include "support/failmem.h"

/* As `tinker auth login` of 0.36.0 writes it. */
#define OFFICIAL                                                                          \
    "{\n  \"version\": 1,\n  \"default\": \"7d1e\",\n  \"keys\": {\n    \"0a\": {\n"      \
    "      \"type\": \"manual\",\n      \"key\": \"tml-other\",\n      \"name\": \"o\"\n" \
    "    },\n    \"7d1e\": {\n      \"type\": \"manual\",\n"                              \
    "      \"key\": \"tml-stored\",\n      \"name\": \"laptop\",\n      \"details\": {\n" \
    "        \"org_details\": {\n          \"name\": \"Org\"\n        },\n"               \
    "        \"user_details\": {\n          \"email\": \"a@example.com\"\n        }\n"    \
    "      }\n    }\n  }\n}"

static char path[64];

static void write_file(const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    assert_int_equal(close(fd), 0);
}

static int setup(void **unused)
{
    static char dir[32] = "/tmp/tinkc-test-XXXXXX";
    (void)snprintf(path, sizeof(path), "%s/credentials.json",
                   path[0] == '\0' ? mkdtemp(dir) : dir);
    return 0;
}

static int teardown(void **unused)
{
    (void)unlink(path);
    return 0;
}

static void test_credentials_official(void **unused)
{
    char *key = NULL;
    tk_err err = TK_ERR_INIT;
    write_file(OFFICIAL, 0600);
    assert_int_equal(tk_credentials_read(&key, path, &err), TINKC_OK);
    assert_string_equal(key, "tml-stored");
    tk_free(key);
}

/* No file, no default, a default that is not there: no key, and no error. */
static void test_credentials_none(void **unused)
{
    static const char *const texts[] = {
        "{}", "{\"version\":1,\"keys\":{}}", "{\"default\":null,\"keys\":{}}",
        "{\"default\":\"x\",\"keys\":{\"y\":{\"key\":\"tml-y\"}}}"};
    char *key = NULL;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_credentials_read(&key, path, &err), TINKC_OK);
    assert_null(key);
    for (size_t i = 0; i < TK_ARRAY_LEN(texts); i++) {
        write_file(texts[i], 0600);
        assert_int_equal(tk_credentials_read(&key, path, &err), TINKC_OK);
        assert_null(key);
    }
}

static void test_credentials_refused(void **unused)
{
    static const struct {
        const char *text;
        mode_t mode;
        const char *words;
    } rows[] = {
        {OFFICIAL, 0640, "chmod 600"},
        {OFFICIAL, 0604, "chmod 600"},
        {OFFICIAL, 0602, "chmod 600"},
        {"", 0600, "cannot be read"},
        {"{", 0600, "cannot be read"},
        {"[]", 0600, "not a credentials file"},
        {"{\"default\":\"x\",\"keys\":[]}", 0600, "not a credentials file"},
        {"{\"default\":\"x\",\"keys\":{\"x\":{\"key\":1}}}", 0600, "has no key"},
        {"{\"default\":\"x\",\"keys\":{\"x\":\"tml-x\"}}", 0600, "has no key"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        char *key = NULL;
        tk_err err = TK_ERR_INIT;
        write_file(rows[i].text, rows[i].mode);
        assert_int_equal(tk_credentials_read(&key, path, &err), TINKC_E_CONFIG);
        assert_non_null(strstr(err.message, rows[i].words));
        assert_null(strstr(err.message, "tml-"));
        assert_null(key);
    }
}

/* The credential of the first request with these settings. */
static void expect_key(const char *api_key, const char *command, const char *url,
                       const char *want)
{
    const char *const options[] = {
        "base_url",         url,  "api_key", api_key, "credential_cmd", command,
        "credentials_file", path, NULL};
    clientfix f;
    char got[64] = "";
    clientfix_open(&f, options);
    faketransport_default(&f.net, "healthz", (fakeanswer){.body = "{}"});
    tinkc_future *future = tinkc_service_health(f.service);
    clientfix_turn(&f);
    const fakeseen *seen = faketransport_nth(&f.net, "client/config", 0);
    assert_true(want == NULL ||
                faketransport_header(seen, "X-API-Key", got, sizeof(got)));
    assert_string_equal(got, want != NULL ? want : "");
    tinkc_future_free(&future);
    clientfix_close(&f);
}

/* Option and environment, then the command, then the file; a server on this machine does
 * not get the stored key. */
static void test_credentials_precedence(void **unused)
{
    write_file(OFFICIAL, 0600);
    expect_key("tml-given", NULL, "https://service.invalid", "tml-given");
    expect_key(NULL, NULL, "https://service.invalid", "tml-stored");
    expect_key(NULL, NULL, "http://127.0.0.1:1", "tml-local");
    write_file(OFFICIAL, 0644); /* not looked at when it is not needed */
    expect_key("tml-given", NULL, "https://service.invalid", "tml-given");
    tinkc_config *config = NULL;
    tinkc_service *service = NULL;
    tinkc_error *err = NULL;
    assert_int_equal(tinkc_config_new(&config, NULL), TINKC_OK);
    assert_int_equal(tinkc_config_set(config, "api_key", NULL, NULL), TINKC_OK);
    assert_int_equal(tinkc_config_set(config, "credentials_file", path, NULL), TINKC_OK);
    assert_int_equal(
        tinkc_config_set(config, "base_url", "https://service.invalid", NULL), TINKC_OK);
    assert_int_equal(tinkc_service_open(&service, config, &err), TINKC_E_CONFIG);
    assert_non_null(strstr(tinkc_error_message(err), "chmod 600"));
    tinkc_error_free(&err);
    tinkc_config_free(&config);
}

static bool read_once(void *unused)
{
    char *key = NULL;
    tk_err err = TK_ERR_INIT;
    bool ok = tk_credentials_read(&key, path, &err) == TINKC_OK;
    assert_true(ok || err.code == TINKC_E_NOMEM);
    tk_free(key);
    return ok;
}

static void test_credentials_sweep(void **unused)
{
    write_file(OFFICIAL, 0600);
    failmem_sweep(read_once, NULL, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_credentials_official, setup, teardown),
        cmocka_unit_test_setup_teardown(test_credentials_none, setup, teardown),
        cmocka_unit_test_setup_teardown(test_credentials_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_credentials_precedence, setup, teardown),
        cmocka_unit_test_setup_teardown(test_credentials_sweep, setup, teardown),
    };
    return cmocka_run_group_tests_name("credentials", tests, NULL, NULL);
}
