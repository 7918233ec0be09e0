/* Addresses to listen on, and which of them are of this machine only. */
#include "httpd/hd_listen.h"

#include "support/test.h"

static void test_hd_listen_loopback(void **state)
{
    static const struct {
        const char *host;
        bool loopback;
    } all[] = {
        {"127.0.0.1", true},  {"127.9.9.9", true},  {"localhost", true},
        {"::1", true},        {"0.0.0.0", false},   {"::", false},
        {"192.0.2.1", false}, {"126.0.0.1", false}, {"::2", false},
        {"128.0.0.1", false},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(all); i++) {
        assert_int_equal(hd_listen_is_loopback(all[i].host), all[i].loopback);
    }
}

static void test_hd_listen_refuses_names(void **state)
{
    static const char *const hosts[] = {"",       "example.org", "1.2.3",
                                        "::1%lo", "[::1]",       "127.0.0.1:80"};
    for (size_t i = 0; i < TK_ARRAY_LEN(hosts); i++) {
        hd_listen listening = {.fd = -1};
        tk_err err = TK_ERR_INIT;
        assert_int_equal(hd_listen_open(&listening, hosts[i], 0, &err), TINKC_E_CONFIG);
        assert_int_equal(listening.fd, -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hd_listen_loopback),
        cmocka_unit_test(test_hd_listen_refuses_names),
    };
    return cmocka_run_group_tests_name("hd_listen", tests, NULL, NULL);
}
