/* A hub behind TLS that names a storage: it cannot make us send weights in the clear.
 * Links: peer front */
#include "support/fakefront.h"
#include "support/pushfix.h"

/* M-138: from https there is no way to plain http. */
static void test_push_tls_downgrade(void **unused)
{
    pushfix f;
    char more[512];
    pushfix_begin(&f);
    fakefront *front =
        fakefront_start(f.hub, &(fakefront_options){.talk = FAKEFRONT_HTTP1});
    const char *const options[] = {"ca_file", fakefront_ca_file(front), "connect_timeout",
                                   "120000", NULL};
    tinkc_service_close(&f.down.service);
    f.down.service = servicefix_open(f.down.api, options);
    f.options.hub_url = fakefront_url(front);
    pushfix_refused(&f, TINKC_E_DECODE, "no usable URL");
    assert_int_equal(fakeapi_total(f.store), 0);
    (void)snprintf(more, sizeof(more), ",\"actions\":{\"upload\":{\"href\":\"%s/put\"}}",
                   fakefront_url(front));
    pushfix_batch(&f, more);
    pushfix_say(&f, "PUT", "/put", "");
    tinkc_pushed *pushed = pushfix_push(&f);
    tinkc_pushed_free(&pushed);
    const fakeapi_request *put = fakeapi_nth(f.hub, "PUT", "/put", 0);
    assert_null(fakeapi_header(put, "authorization")); /* also where it is the hub */
    assert_memory_equal(put->body, f.weights, WEIGHTS);
    fakefront_stop(&front);
    pushfix_end(&f);
}

int main(void)
{
    pushfix_go_online();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_push_tls_downgrade),
    };
    return cmocka_run_group_tests_name("push_tls", tests, NULL, NULL);
}
