/* Opens the socket itself: the HTTP library would use a short backlog, and 2,000 clients
 * that connect at once would wait for retransmissions. */
#include "httpd/hd_listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG         4096
#define SPARE_FDS       256
#define MAX_CONNECTIONS 60000
#define MIN_CONNECTIONS 24

typedef union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} address;

static bool read_address(address *out, socklen_t *size, const char *host, unsigned port)
{
    memset(out, 0, sizeof(*out));
    if (strcmp(host, "localhost") == 0) {
        host = "127.0.0.1";
    }
    if (inet_pton(AF_INET, host, &out->v4.sin_addr) == 1) {
        out->v4.sin_family = AF_INET;
        out->v4.sin_port = htons((uint16_t)port);
        *size = sizeof(out->v4);
        return true;
    }
    if (inet_pton(AF_INET6, host, &out->v6.sin6_addr) == 1) {
        out->v6.sin6_family = AF_INET6;
        out->v6.sin6_port = htons((uint16_t)port);
        *size = sizeof(out->v6);
        return true;
    }
    return false;
}

tinkc_code hd_listen_open(hd_listen *out, const char *host, unsigned port, tk_err *err)
{
    address at;
    socklen_t size = 0;
    int on = 1;
    if (port > UINT16_MAX || !read_address(&at, &size, host, port)) {
        return tk_err_set(err, TINKC_E_CONFIG, "cannot listen on %s port %u: %s", host,
                          port, "give a numeric address and a port up to 65535");
    }
    int fd = socket(at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return tk_err_sys(err, errno, "socket");
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, &at.any, size) != 0 || listen(fd, BACKLOG) != 0 ||
        getsockname(fd, &at.any, &size) != 0) {
        tinkc_code code = tk_err_sys(err, errno, "listen on %s port %u", host, port);
        (void)close(fd);
        return code;
    }
    out->fd = fd;
    out->port = ntohs(at.any.sa_family == AF_INET ? at.v4.sin_port : at.v6.sin6_port);
    return TINKC_OK;
}

void hd_listen_refuse(const hd_listen *listen)
{
    (void)shutdown(listen->fd, SHUT_RDWR);
}

void hd_listen_close(hd_listen *listen)
{
    if (listen->fd >= 0) {
        (void)close(listen->fd);
        listen->fd = -1;
    }
}

bool hd_listen_is_loopback(const char *host)
{
    struct in_addr v4;
    if (inet_pton(AF_INET, host, &v4) == 1) {
        return (ntohl(v4.s_addr) >> 24) == 127;
    }
    return strcmp(host, "::1") == 0 || strcmp(host, "localhost") == 0;
}

bool hd_listen_is_loopback_peer(const struct sockaddr *from)
{
    struct in_addr v4;
    struct sockaddr_in6 v6;
    if (from->sa_family == AF_INET) {
        memcpy(&v4, (const char *)from + offsetof(struct sockaddr_in, sin_addr),
               sizeof(v4));
        return (ntohl(v4.s_addr) >> 24) == 127;
    }
    if (from->sa_family != AF_INET6) {
        return false;
    }
    memcpy(&v6, from, sizeof(v6));
    return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) ||
           (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr) && v6.sin6_addr.s6_addr[12] == 127);
}

/* Returns how many descriptors this process may have. */
static size_t raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return 2 * MIN_CONNECTIONS;
    }
    if (limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
        (void)getrlimit(RLIMIT_NOFILE, &limit);
    }
    return (size_t)TK_MIN(limit.rlim_cur, 4 * MAX_CONNECTIONS);
}

unsigned hd_listen_max_connections(void)
{
    size_t all = raise_limit();
    size_t room = all - TK_MIN(all / 2, SPARE_FDS);
    return (unsigned)TK_MAX(TK_MIN(room, MAX_CONNECTIONS), MIN_CONNECTIONS);
}

unsigned hd_listen_max_files(void)
{
    size_t all = raise_limit();
    size_t spare = all - TK_MIN(all, hd_listen_max_connections());
    return (unsigned)TK_MAX(spare / 2, 1);
}
