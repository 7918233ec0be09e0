/* Which certificates a service trusts, where the system's store knows the server: without
 * options that store, with ca_file or ca_dir only what they name (docs/config.md). The
 * functions by which libcurl loads a store are replaced here: the system's paths become
 * those of the test, whatever the machine trusts.
 * Links: peer front */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/x509_vfy.h>
#include <tinkc/service.h>

#include "support/fakefront.h"
#include "support/servicefix.h"

static const fakefront *known; /* whose certificate "the system" trusts */
static const char *named;      /* what the options name: not the system's */
static const char *env_named;  /* or the environment */

typedef int load_fn(X509_STORE *store, const char *path);

static int load(const char *function, X509_STORE *store, const char *path,
                const char *mine)
{
    load_fn *real = NULL;
    void *symbol = dlsym(RTLD_NEXT, function);
    memcpy(&real, &symbol, sizeof(real));
    bool is_system = named == NULL || strcmp(path, named) != 0;
    return real(store, is_system ? mine : path);
}

__attribute__((visibility("default"))) int X509_STORE_load_file(X509_STORE *store,
                                                                const char *file)
{
    return load("X509_STORE_load_file", store, file, fakefront_ca_file(known));
}

__attribute__((visibility("default"))) int X509_STORE_load_path(X509_STORE *store,
                                                                const char *path)
{
    return load("X509_STORE_load_path", store, path, fakefront_ca_dir(known));
}

/* One try, with all the time that a loaded machine may need. */
static const char *const patient[] = {
    "max_retries",     "0",      "retry_total", "0", "timeout", "120000",
    "connect_timeout", "120000", NULL};

static tinkc_code ask(fakeapi *api, const fakefront *front, const char *option,
                      const char *value)
{
    tinkc_config *config = servicefix_config(api, patient);
    tinkc_service *service = NULL;
    named = option != NULL ? value : env_named;
    assert_int_equal(tinkc_config_set(config, "base_url", fakefront_url(front), NULL),
                     TINKC_OK);
    if (option != NULL) {
        assert_int_equal(tinkc_config_set(config, option, value, NULL), TINKC_OK);
    }
    assert_int_equal(tinkc_service_open(&service, config, NULL), TINKC_OK);
    tinkc_config_free(&config);
    tinkc_code code = tinkc_service_health_wait(service, NULL);
    tinkc_service_close(&service);
    return code;
}

/* M-018, M-040: the system's trust store, or the file or directory that is set
 * instead. */
static void test_tls_trust_store(void **unused)
{
    fakeapi *api = fakeapi_start();
    fakeapi_default(api, "*", "*", &fakeapi_json("{}"));
    const fakefront_options plain = {.talk = FAKEFRONT_HTTP2};
    fakefront *ours = fakefront_start(api, &plain);
    fakefront *other = fakefront_start(api, &plain);
    const char *const files[] = {fakefront_ca_file(ours), fakefront_ca_file(other)};
    const char *const dirs[] = {fakefront_ca_dir(ours), fakefront_ca_dir(other)};
    known = ours;
    assert_int_equal(ask(api, ours, NULL, NULL), TINKC_OK);
    assert_int_equal(ask(api, other, NULL, NULL), TINKC_E_CONFIG);
    const struct {
        const char *option;
        const char *const *values;
    } rows[] = {{"ca_file", files}, {"ca_dir", dirs}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        const char *option = rows[i].option, *const *values = rows[i].values;
        assert_int_equal(ask(api, ours, option, values[1]), TINKC_E_CONFIG);
        assert_int_equal(ask(api, other, option, values[1]), TINKC_OK);
        assert_int_equal(ask(api, ours, option, values[0]), TINKC_OK);
        assert_int_equal(ask(api, other, option, values[0]), TINKC_E_CONFIG);
    }
    fakefront_stop(&ours);
    fakefront_stop(&other);
    fakeapi_stop(&api);
}

/* SSL_CERT_FILE and SSL_CERT_DIR of the environment name the same. */
static void test_tls_trust_environment(void **unused)
{
    fakeapi *api = fakeapi_start();
    fakeapi_default(api, "*", "*", &fakeapi_json("{}"));
    const fakefront_options plain = {.talk = FAKEFRONT_HTTP2};
    fakefront *ours = fakefront_start(api, &plain);
    fakefront *other = fakefront_start(api, &plain);
    known = ours;
    const char *const rows[][2] = {{"SSL_CERT_FILE", fakefront_ca_file(other)},
                                   {"SSL_CERT_DIR", fakefront_ca_dir(other)}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        assert_int_equal(setenv(rows[i][0], rows[i][1], 1), 0);
        for (int right = 0; right < 2; right++) {
            env_named = rows[i][1];
            assert_int_equal(ask(api, right != 0 ? other : ours, NULL, NULL),
                             right != 0 ? TINKC_OK : TINKC_E_CONFIG);
        }
        assert_int_equal(unsetenv(rows[i][0]), 0);
    }
    env_named = NULL;
    fakefront_stop(&ours);
    fakefront_stop(&other);
    fakeapi_stop(&api);
}

int main(void)
{
    (void)unsetenv("SSL_CERT_FILE");
    (void)unsetenv("SSL_CERT_DIR");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tls_trust_store),
        cmocka_unit_test(test_tls_trust_environment),
    };
    return cmocka_run_group_tests_name("tls_trust", tests, NULL, NULL);
}
