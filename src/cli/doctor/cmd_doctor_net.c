/* URLs, proxies, names and connections for `tinkc doctor`, by system calls alone. */
#include "cli/doctor/cmd_doctor_net.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/env.h"
#include "base/err.h"
#include "base/str.h"

/* ---- URLs ---- */

static bool copy(char *out, size_t size, tk_str text)
{
    if (text.n == 0 || text.n >= size) {
        return false;
    }
    (void)snprintf(out, size, TK_STR_FMT, TK_STR_ARG(text));
    return true;
}

bool doctor_url_parse(doctor_url *out, const char *text)
{
    const char *colon = strstr(text, "://");
    if (colon == NULL) {
        return false;
    }
    tk_str scheme = {text, (size_t)(colon - text)};
    out->is_https = tk_str_is_nocase(scheme, "https");
    tk_str rest = tk_str_of(colon + 3), port = {NULL, 0};
    tk_str where = {rest.p, strcspn(rest.p, "/?#")};
    const char *at = where.n > 0 ? memrchr(where.p, '@', where.n) : NULL;
    if (at != NULL) {
        where = (tk_str){at + 1, where.n - (size_t)(at + 1 - where.p)};
    }
    tk_str host = where;
    const char *end =
        where.n > 0 && where.p[0] == '[' ? memchr(where.p, ']', where.n) : NULL;
    if (end != NULL) {
        host = (tk_str){where.p + 1, (size_t)(end - where.p - 1)};
        size_t used = (size_t)(end + 1 - where.p);
        if (used < where.n && end[1] == ':') {
            port = (tk_str){end + 2, where.n - used - 1};
        }
    } else {
        tk_str tail = where;
        host = tk_str_cut(&tail, ':');
        port = tail;
    }
    if (port.n == 0) {
        port = out->is_https ? TK_STR("443") : TK_STR("80");
    }
    return copy(out->host, sizeof(out->host), host) &&
           copy(out->port, sizeof(out->port), port);
}

bool doctor_url_is_loopback(const doctor_url *url)
{
    return strcmp(url->host, "localhost") == 0 || strcmp(url->host, "::1") == 0 ||
           strncmp(url->host, "127.", 4) == 0;
}

/* ---- proxies ---- */

static bool ends_with(tk_str host, tk_str tail)
{
    if (tail.n > 0 && tail.p[0] == '.') {
        tail = (tk_str){tail.p + 1, tail.n - 1};
    }
    if (tail.n == 0 || tail.n > host.n) {
        return false;
    }
    const tk_str end = {host.p + host.n - tail.n, tail.n};
    return tk_str_eq(end, tail) && (tail.n == host.n || end.p[-1] == '.');
}

static bool is_excepted(const doctor_url *url, const char *list)
{
    tk_str rest = tk_str_of(list);
    while (rest.p != NULL) {
        tk_str part = tk_str_trim(tk_str_cut(&rest, ','));
        if (tk_str_is(part, "*") || ends_with(tk_str_of(url->host), part)) {
            return true;
        }
    }
    return false;
}

static const char *first_of(const char *const *names, const char **from)
{
    for (; *names != NULL; names++) {
        const char *value = tk_env_get_nonempty(NULL, *names);
        if (value != NULL) {
            *from = *names;
            return value;
        }
    }
    return NULL;
}

bool doctor_proxy(doctor_url *out, const char **from, const doctor_url *url,
                  const char *proxy, const char *no_proxy)
{
    static const char *const https[] = {"https_proxy", "HTTPS_PROXY", "all_proxy",
                                        "ALL_PROXY", NULL};
    static const char *const http[] = {"http_proxy", "all_proxy", "ALL_PROXY", NULL};
    static const char *const except[] = {"no_proxy", "NO_PROXY", NULL};
    char whole[DOCTOR_HOST_BYTES + 16];
    const char *unused = NULL;
    *from = "option proxy";
    if (proxy == NULL) {
        proxy = first_of(url->is_https ? https : http, from);
    }
    if (no_proxy == NULL) {
        no_proxy = first_of(except, &unused);
    }
    if (proxy == NULL || proxy[0] == '\0' ||
        (no_proxy != NULL && is_excepted(url, no_proxy))) {
        return false;
    }
    (void)snprintf(whole, sizeof(whole), "%s%s",
                   strstr(proxy, "://") == NULL ? "http://" : "", proxy);
    if (!doctor_url_parse(out, whole)) {
        (void)snprintf(out->host, sizeof(out->host), "%.200s", "?");
        (void)snprintf(out->port, sizeof(out->port), "%s", "0");
    }
    return true;
}

/* ---- names and connections ---- */

static struct addrinfo *look_up(char text[DOCTOR_TEXT_BYTES], const doctor_url *url)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    int code = getaddrinfo(url->host, url->port, &hints, &list);
    if (code != 0) {
        (void)snprintf(text, DOCTOR_TEXT_BYTES, "%s: %s", url->host, gai_strerror(code));
        return NULL;
    }
    return list;
}

static void put_address(char *out, size_t size, const struct addrinfo *address)
{
    if (getnameinfo(address->ai_addr, address->ai_addrlen, out, (socklen_t)size, NULL, 0,
                    NI_NUMERICHOST) != 0) {
        (void)snprintf(out, size, "?");
    }
}

bool doctor_resolve(char text[DOCTOR_TEXT_BYTES], const doctor_url *url)
{
    struct addrinfo *list = look_up(text, url);
    char one[64];
    if (list == NULL) {
        return false;
    }
    int n = snprintf(text, DOCTOR_TEXT_BYTES, "%.180s:", url->host);
    int count = 0;
    for (const struct addrinfo *a = list; a != NULL && count < 3; a = a->ai_next) {
        put_address(one, sizeof(one), a);
        n += snprintf(text + n, DOCTOR_TEXT_BYTES - (size_t)n, " %.30s", one);
        count++;
    }
    freeaddrinfo(list);
    return true;
}

/* Returns 0 or the error number. */
static int try_one(const struct addrinfo *address, int timeout_ms)
{
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return errno;
    }
    int failure = connect(fd, address->ai_addr, address->ai_addrlen) == 0 ? 0 : errno;
    if (failure == EINPROGRESS) {
        struct pollfd ready = {fd, POLLOUT, 0};
        socklen_t size = sizeof(failure);
        failure = ETIMEDOUT;
        if (poll(&ready, 1, timeout_ms) == 1) {
            (void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size);
        }
    }
    (void)close(fd);
    return failure;
}

bool doctor_connect(char text[DOCTOR_TEXT_BYTES], const doctor_url *url, int timeout_ms)
{
    struct addrinfo *list = look_up(text, url);
    int failure = ETIMEDOUT;
    char one[64] = "";
    if (list == NULL) {
        return false;
    }
    int64_t end = tk_clock_mono_ms(NULL) + timeout_ms;
    for (const struct addrinfo *a = list; a != NULL && failure != 0; a = a->ai_next) {
        int64_t left = end - tk_clock_mono_ms(NULL);
        if (left <= 0) {
            break;
        }
        failure = try_one(a, (int)left);
        put_address(one, sizeof(one), a);
    }
    freeaddrinfo(list);
    if (failure == 0) {
        (void)snprintf(text, DOCTOR_TEXT_BYTES, "%s port %s", one, url->port);
        return true;
    }
    tk_err err = TK_ERR_INIT;
    (void)tk_err_sys(&err, failure, "%s port %s", one, url->port);
    (void)snprintf(text, DOCTOR_TEXT_BYTES, "%.280s", err.message);
    return false;
}
