/* See fileserver.h. Plain malloc and an exempt thread: not counted in sweeps. */
#include "support/fileserver.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/failmem.h"

#define HEAD_BYTES  16384
#define PIECE_BYTES 65536

struct fileserver {
    fileserver_options options;
    int fd;
    char url[64];
    pthread_t thread;
    atomic_size_t requests, ranges;
    atomic_uint_least64_t sent;
    atomic_bool stop;
};

static void die(const char *what)
{
    fprintf(stderr, "fileserver: %s\n", what);
    abort();
}

static bool send_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t done = send(fd, p, n, MSG_NOSIGNAL);
        if (done <= 0) {
            return false;
        }
        p += done;
        n -= (size_t)done;
    }
    return true;
}

/* Reads a head without body; false when the client left. */
static bool read_head(int fd, char *head)
{
    size_t n = 0;
    while (n + 1 < HEAD_BYTES) {
        ssize_t got = recv(fd, head + n, HEAD_BYTES - 1 - n, 0);
        if (got <= 0) {
            return false;
        }
        n += (size_t)got;
        head[n] = '\0';
        if (strstr(head, "\r\n\r\n") != NULL) {
            return true;
        }
    }
    return false;
}

static const char *field(const char *head, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = strstr(head, "\r\n"); at != NULL; at = strstr(at, "\r\n")) {
        at += 2;
        if (strncasecmp(at, name, n) == 0 && at[n] == ':') {
            return at + n + 1 + strspn(at + n + 1, " ");
        }
    }
    return NULL;
}

static uint64_t first_byte(const char *head, const fileserver_reply *reply, bool *ranged)
{
    const char *range = field(head, "range");
    const char *condition = field(head, "if-range");
    uint64_t from = 0;
    *ranged = range != NULL && !reply->ignore_range &&
              sscanf(range, "bytes=%" SCNu64 "-", &from) == 1;
    if (condition != NULL &&
        (reply->etag == NULL || strncmp(condition, reply->etag, strlen(reply->etag)))) {
        *ranged = false;
    }
    return *ranged ? from : 0;
}

static bool send_head(fileserver *server, int fd, const fileserver_reply *reply,
                      uint64_t from, bool ranged)
{
    char head[2048], length[96] = "", range[128] = "", etag[160] = "";
    uint64_t size = server->options.size;
    int status = ranged && reply->status == 200 ? 206 : reply->status;
    bool has_body = status == 200 || status == 206;
    if (!reply->no_length) {
        (void)snprintf(length, sizeof(length), "Content-Length: %" PRIu64 "\r\n",
                       has_body ? size - from : 0);
    }
    if (status == 206) {
        (void)snprintf(range, sizeof(range),
                       "Content-Range: bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64 "\r\n",
                       from + reply->wrong_range, size - 1, size);
    }
    if (reply->etag != NULL) {
        (void)snprintf(etag, sizeof(etag), "ETag: %s\r\n", reply->etag);
    }
    int n = snprintf(head, sizeof(head),
                     "HTTP/1.1 %d X\r\nConnection: close\r\n%s%s%s%s\r\n", status, length,
                     range, etag, reply->headers != NULL ? reply->headers : "");
    return send_all(fd, head, (size_t)n) && has_body;
}

static void send_body(fileserver *server, int fd, uint64_t from, uint64_t until)
{
    char piece[PIECE_BYTES];
    bool ok = true;
    while (ok && from < until && !atomic_load(&server->stop)) {
        size_t n = until - from < PIECE_BYTES ? (size_t)(until - from) : PIECE_BYTES;
        server->options.read(server->options.user, from, piece, n);
        atomic_fetch_add(&server->sent, n); /* before the client can have them */
        ok = send_all(fd, piece, n);
        from += n;
    }
}

/* False: it is the file's turn. */
static bool send_text(int fd, const fileserver_reply *reply)
{
    char head[256];
    if (reply->text == NULL) {
        return false;
    }
    int n = snprintf(head, sizeof(head),
                     "HTTP/1.1 %d X\r\nConnection: close\r\nContent-Type: "
                     "application/json\r\nContent-Length: %zu\r\n\r\n",
                     reply->status, strlen(reply->text));
    (void)!(send_all(fd, head, (size_t)n) &&
            send_all(fd, reply->text, strlen(reply->text)));
    return true;
}

static void serve(fileserver *server, int fd)
{
    char head[HEAD_BYTES];
    bool ranged = false;
    fileserver_reply reply = {.status = 200, .cut = FILESERVER_NO_CUT};
    if (!read_head(fd, head)) {
        return;
    }
    size_t index = atomic_fetch_add(&server->requests, 1);
    if (field(head, "range") != NULL) {
        atomic_fetch_add(&server->ranges, 1);
    }
    if (server->options.decide != NULL) {
        server->options.decide(server->options.user, index, head, &reply);
    }
    uint64_t from = first_byte(head, &reply, &ranged);
    uint64_t until = reply.cut < server->options.size ? reply.cut : server->options.size;
    if (!send_text(fd, &reply) && send_head(server, fd, &reply, from, ranged)) {
        send_body(server, fd, from, until);
    }
    if (reply.reset) {
        struct linger hard = {1, 0};
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    } else {
        (void)shutdown(fd, SHUT_WR);
        while (recv(fd, head, sizeof(head), 0) > 0) {
        }
    }
}

static void *run(void *user)
{
    fileserver *server = user;
    failmem_exempt_thread();
    while (!atomic_load(&server->stop)) {
        int fd = accept(server->fd, NULL, NULL);
        if (fd >= 0) {
            serve(server, fd);
            (void)close(fd);
        }
    }
    return NULL;
}

fileserver *fileserver_start(const fileserver_options *options)
{
    fileserver *server = calloc(1, sizeof(*server));
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t n = sizeof(address);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (server == NULL) {
        die("no memory");
    }
    server->options = *options;
    server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (server->fd < 0 ||
        bind(server->fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(server->fd, 16) != 0 ||
        getsockname(server->fd, (struct sockaddr *)&address, &n) != 0) {
        die("no socket");
    }
    (void)snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%d/file",
                   ntohs(address.sin_port));
    if (pthread_create(&server->thread, NULL, run, server) != 0) {
        die("no thread");
    }
    return server;
}

void fileserver_stop(fileserver **server_ref)
{
    fileserver *server = *server_ref;
    *server_ref = NULL;
    if (server == NULL) {
        return;
    }
    atomic_store(&server->stop, true);
    (void)shutdown(server->fd, SHUT_RDWR);
    (void)pthread_join(server->thread, NULL);
    (void)close(server->fd);
    free(server);
}

const char *fileserver_url(const fileserver *server)
{
    return server->url;
}

size_t fileserver_requests(fileserver *server)
{
    return atomic_load(&server->requests);
}

size_t fileserver_ranges(fileserver *server)
{
    return atomic_load(&server->ranges);
}

uint64_t fileserver_sent(fileserver *server)
{
    return atomic_load(&server->sent);
}
