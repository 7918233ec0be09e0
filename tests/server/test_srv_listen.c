/* A server that listens on IPv6.
 * Links: wire */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/srvfix.h"

/* Sends a request over IPv6 and returns the status. */
static int ask_v6(unsigned port, const char *host)
{
    struct sockaddr_in6 at = {.sin6_family = AF_INET6,
                              .sin6_port = htons((uint16_t)port),
                              .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    char text[256];
    int status = 0;
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    int n = snprintf(
        text, sizeof(text),
        "GET /api/v1/sessions HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", host);
    assert_int_equal(send(fd, text, (size_t)n, MSG_NOSIGNAL), n);
    ssize_t got = recv(fd, text, sizeof(text) - 1, MSG_WAITALL);
    assert_true(got > 12);
    text[got] = '\0';
    assert_memory_equal(text, "HTTP/1.1 ", 9);
    status = atoi(text + 9);
    (void)close(fd);
    return status;
}

/* Whether this machine has an IPv6 loopback. */
static bool has_v6(void)
{
    struct sockaddr_in6 at = {.sin6_family = AF_INET6,
                              .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok = fd >= 0 && bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    return ok;
}

static void test_srv_listen_v6(void **state)
{
    srvfix f;
    char url[64], host[32];
    if (!has_v6()) { /* then the start says so */
        srv *server = NULL;
        tk_err err = TK_ERR_INIT;
        memset(&f, 0, sizeof(f));
        srvfix_make_dir(f.data);
        const srv_options options = {.data = f.data, .host = "::1"};
        assert_int_equal(srv_start(&server, &options, &err), TINKC_E_IO);
        assert_non_null(strstr(err.message, "::1"));
        srvfix_close(&f);
        return;
    }
    srvfix_open(&f, (srv_options){.host = "::1"});
    unsigned port = srv_port(f.server);
    (void)snprintf(url, sizeof(url), "http://[::1]:%u", port);
    (void)snprintf(host, sizeof(host), "[::1]:%u", port);
    assert_string_equal(srv_url(f.server), url);
    assert_int_equal(ask_v6(port, host), 200);
    assert_int_equal(ask_v6(port, "[::1]"), 200);
    assert_int_equal(ask_v6(port, "localhost"), 200);
    assert_int_equal(ask_v6(port, "[::2]"), 403);
    assert_int_equal(ask_v6(port, "evil.example"), 403);
    srvfix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_listen_v6),
    };
    return cmocka_run_group_tests_name("srv_listen", tests, NULL, NULL);
}
