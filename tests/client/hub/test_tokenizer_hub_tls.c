/* A hub behind TLS: it may not lead us to a plain server, and does not learn our
 * credentials.
 * Links: peer front text */
#include <stdlib.h>

#include "support/fakefront.h"
#include "support/hubfix.h"

#define MODEL "org/m"
#define FILE  "/org/m/resolve/main/tokenizer.json"

/* The service and the hub of the fixture again, the hub behind a front. */
static fakefront *begin(hubfix *f)
{
    hubfix_begin(f);
    fakefront *front =
        fakefront_start(f->hub, &(fakefront_options){.talk = FAKEFRONT_HTTP1});
    tinkc_service_close(&f->service);
    const char *const options[] = {"ca_file", fakefront_ca_file(front), "connect_timeout",
                                   "120000", NULL};
    f->service = servicefix_open(f->api, options);
    f->options.hub_url = fakefront_url(front);
    return front;
}

/* M-137: a redirect from https to http is refused before a request is sent there; one
 * that stays on https is followed. */
static void test_hub_tls_downgrade(void **unused)
{
    hubfix f;
    char location[128];
    fakefront *front = begin(&f);
    fakeapi *store = fakeapi_start();
    const char *const targets[] = {fakeapi_url(store), fakefront_url(front)};
    hubfix_serve(store, "/blob", f.json.p);
    hubfix_serve(f.hub, "/blob", f.json.p);
    for (size_t i = 0; i < TK_ARRAY_LEN(targets); i++) {
        (void)snprintf(location, sizeof(location), "location: %s/blob\r\n", targets[i]);
        fakeapi_default(f.hub, "GET", FILE,
                        &(fakeapi_step){.status = 302, .headers = location});
        if (i == 0) {
            hubfix_lacks(&f, MODEL, TINKC_E_CONNECTION, "the hub");
        } else {
            hubfix_find(&f, MODEL);
        }
    }
    assert_int_equal(fakeapi_total(store), 0);
    fakefront_stop(&front);
    fakeapi_stop(&store);
    hubfix_end(&f);
}

/* M-137: the client certificate is for the service's own server; another one, even on the
 * same machine, does not get it. */
static void test_hub_tls_identity(void **unused)
{
    hubfix f;
    char url[64];
    hubfix_begin(&f);
    fakefront *front = fakefront_start(
        f.hub, &(fakefront_options){.talk = FAKEFRONT_HTTP1, .wants_client = true});
    hubfix_serve(f.hub, FILE, f.json.p);
    fakeapi_default(f.hub, "*", "*", &fakeapi_json("{}"));
    tinkc_service_close(&f.service);
    const char *const options[] = {"base_url",
                                   fakefront_url(front),
                                   "ca_file",
                                   fakefront_ca_file(front),
                                   "client_cert",
                                   fakefront_client_cert(front),
                                   "client_key",
                                   fakefront_client_key(front),
                                   "connect_timeout",
                                   "120000",
                                   NULL};
    f.service = servicefix_open(f.api, options);
    assert_int_equal(tinkc_service_health_wait(f.service, NULL), TINKC_OK);
    (void)snprintf(url, sizeof(url), "https://localhost%s",
                   strrchr(fakefront_url(front), ':'));
    f.options.hub_url = url;
    f.options.revision = "main"; /* then the server is not asked for files */
    hubfix_lacks(&f, MODEL, TINKC_E_CONNECTION, "the hub");
    assert_true(fakefront_wait_refused(front));
    assert_int_equal(fakeapi_count(f.hub, "GET", FILE), 0);
    f.options.hub_url = fakefront_url(front);
    hubfix_find(&f, MODEL);
    fakefront_stop(&front);
    hubfix_end(&f);
}

int main(void)
{
    (void)setenv("HF_HUB_CACHE", "/nowhere", 1);
    (void)unsetenv("HF_HUB_OFFLINE");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hub_tls_downgrade),
        cmocka_unit_test(test_hub_tls_identity),
    };
    return cmocka_run_group_tests_name("tokenizer_hub_tls", tests, NULL, NULL);
}
