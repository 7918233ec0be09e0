/* Profiles: what the file may hold, what wins over what, and that a key never goes to
 * the server of a profile that does not name it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "client/core/config_int.h"
#include "support/failmem.h"
#include "support/test.h"

#define TWO                                                                              \
    "{\"default\":\"lab\",\"profiles\":{\"lab\":{\"base_url\":\"http://lab:8000\","      \
    "\"api_key\":\"tml-lab\",\"timeout\":\"5000\"},"                                     \
    "\"open\":{\"base_url\":\"http://open:1\"},\"slow\":{\"timeout\":\"90000\"}}}"

static char dir[32], path[96];

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
    char folder[64];
    (void)snprintf(dir, sizeof(dir), "/tmp/tinkc-test-XXXXXX");
    (void)snprintf(folder, sizeof(folder), "%s/tinkc", mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/profiles.json", folder);
    return mkdir(folder, 0700);
}

static int teardown(void **unused)
{
    char folder[64];
    (void)snprintf(folder, sizeof(folder), "%s/tinkc", dir);
    (void)unlink(path);
    (void)rmdir(folder);
    return rmdir(dir);
}

static const char *look_up(const char *name, void *user)
{
    const char *const *pairs = user;
    for (; *pairs != NULL; pairs += 2) {
        if (strcmp(pairs[0], name) == 0) {
            return pairs[1];
        }
    }
    return NULL;
}

/* A configuration of an environment with a hosted key, and TINKC_PROFILE unless NULL. */
static tinkc_code make(tinkc_config **out, const char *profile, tk_err *err)
{
    const char *pairs[] = {"XDG_CONFIG_HOME",
                           dir,
                           "HOME",
                           "/nowhere",
                           "TINKER_API_KEY",
                           "tml-hosted",
                           "TINKER_CREDENTIAL_CMD",
                           "echo tml-hosted",
                           "TINKER_BASE_URL",
                           "https://hosted",
                           profile != NULL ? "TINKC_PROFILE" : NULL,
                           profile,
                           NULL};
    tk_env env = {look_up, pairs};
    return tk_config_new(out, &env, err);
}

static void expect_lab(const tinkc_config *config)
{
    assert_string_equal(config->base_url, "http://lab:8000");
    assert_string_equal(config->api_key, "tml-lab");
    assert_null(config->credential_cmd);
    assert_string_equal(config->credentials_file, "");
    assert_int_equal(config->timeout_ms, 5000);
}

/* By the variable and by the option; what is set later wins. */
static void test_profile_is_used(void **unused)
{
    tinkc_config *config = NULL, *copy = NULL;
    tk_err err = TK_ERR_INIT;
    write_file(TWO, 0600);
    assert_int_equal(make(&config, "lab", &err), TINKC_OK);
    expect_lab(config);
    assert_int_equal(tk_config_set(config, "timeout", "7", &err), TINKC_OK);
    assert_int_equal(tk_config_copy(&copy, config, &err), TINKC_OK);
    assert_int_equal(copy->timeout_ms, 7);
    tinkc_config_free(&copy);
    tinkc_config_free(&config);
    assert_int_equal(make(&config, NULL, &err), TINKC_OK);
    assert_string_equal(config->base_url, "https://hosted"); /* its default is not ours */
    assert_int_equal(tk_config_set(config, "profile", "lab", &err), TINKC_OK);
    expect_lab(config);
    tinkc_config_free(&config);
}

static void test_profile_keeps_keys_apart(void **unused)
{
    tinkc_config *config = NULL;
    tk_err err = TK_ERR_INIT;
    write_file(TWO, 0600);
    assert_int_equal(make(&config, "open", &err), TINKC_OK);
    assert_string_equal(config->base_url, "http://open:1");
    assert_null(config->api_key);
    assert_null(config->credential_cmd);
    assert_string_equal(config->credentials_file, "");
    tinkc_config_free(&config);
    assert_int_equal(make(&config, "slow", &err), TINKC_OK); /* the same server */
    assert_string_equal(config->base_url, "https://hosted");
    assert_string_equal(config->api_key, "tml-hosted");
    assert_int_equal(config->timeout_ms, 90000);
    tinkc_config_free(&config);
}

static void test_profile_refused(void **unused)
{
    static const struct {
        const char *text, *name, *message;
        mode_t mode;
    } rows[] = {
        {TWO, "lap", "no profile \"lap\"", 0600},
        {TWO, "lap", "lab, open, slow", 0600},
        {TWO, "lab", "chmod 600", 0640},
        {TWO, "lab", "chmod 600", 0604},
        {"{", "lab", "cannot be read", 0600},
        {"[]", "lab", "there are: none", 0600},
        {"{\"profiles\":{\"lab\":1}}", "lab", "there are: lab", 0600},
        {"{\"profiles\":{\"lab\":{\"timeout\":5}}}", "lab", "timeout is not a text",
         0600},
        {"{\"profiles\":{\"lab\":{\"timeout\":\"x\"}}}", "lab", "profile \"lab\"", 0600},
        {"{\"profiles\":{\"lab\":{\"base_url\":\"a\\u0000b\"}}}", "lab", "not a text",
         0600},
        {"{\"profiles\":{\"lab\":{\"color\":\"red\"}}}", "lab", "no option \"color\"",
         0600},
        {"{\"profiles\":{\"lab\":{\"profile\":\"lab\"}}}", "lab", "cannot set", 0600},
        {"{\"profiles\":{\"lab\":{\"profiles_file\":\"x\"}}}", "lab", "cannot set", 0600},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tinkc_config *config = NULL;
        tk_err err = TK_ERR_INIT;
        write_file(rows[i].text, rows[i].mode);
        assert_int_equal(make(&config, rows[i].name, &err), TINKC_E_CONFIG);
        assert_null(config);
        if (strstr(err.message, rows[i].message) == NULL) {
            fail_msg("row %zu: %s", i, err.message);
        }
    }
}

/* No file: a named profile is missing, and without a name nothing is read. */
static void test_profile_none(void **unused)
{
    tinkc_config *config = NULL;
    tk_err err = TK_ERR_INIT;
    (void)unlink(path);
    assert_int_equal(make(&config, "lab", &err), TINKC_E_CONFIG);
    assert_non_null(strstr(err.message, path));
    tk_err_clear(&err);
    assert_int_equal(make(&config, NULL, &err), TINKC_OK);
    tinkc_config_free(&config);
    const char *pairs[] = {"TINKC_PROFILE", "lab", NULL};
    tk_env empty = {look_up, pairs};
    assert_int_equal(tk_config_new(&config, &empty, &err), TINKC_E_CONFIG);
    assert_non_null(strstr(err.message, "no home directory"));
}

static bool scenario(void *unused)
{
    tinkc_config *config = NULL;
    tk_err err = TK_ERR_INIT;
    if (make(&config, "lab", &err) != TINKC_OK) {
        assert_int_equal(err.code, TINKC_E_NOMEM);
        return false;
    }
    expect_lab(config);
    tinkc_config_free(&config);
    return true;
}

static void test_profile_allocation_sweep(void **unused)
{
    write_file(TWO, 0600);
    (void)failmem_sweep(scenario, NULL, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_profile_is_used),
        cmocka_unit_test(test_profile_keeps_keys_apart),
        cmocka_unit_test(test_profile_refused),
        cmocka_unit_test(test_profile_none),
        cmocka_unit_test(test_profile_allocation_sweep),
    };
    return cmocka_run_group_tests_name("profile", tests, setup, teardown);
}
