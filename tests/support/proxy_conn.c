/* One connection: two directions, each a stream of messages that are held, cut or copied
 * as their fates say. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/proxy_int.h"

#define READ_BYTES 16384

/* ---- life ---- */

static void set_nonblocking(int fd)
{
    int on = 1;
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

int proxy_connect(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        fakeapi_die("proxy: socket: %m");
    }
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        (void)close(fd);
        return -1;
    }
    set_nonblocking(fd);
    return fd;
}

proxy_conn *proxy_conn_new(proxy *net, int client, fakeapi_bytes *request)
{
    int server = proxy_connect(atomic_load(&net->to_port));
    if (server < 0) {
        if (client >= 0) {
            (void)close(client);
        }
        return NULL;
    }
    proxy_conn *conn = fakeapi_alloc(sizeof(*conn));
    conn->net = net;
    conn->client = client;
    conn->server = server;
    conn->is_exempt = client < 0;
    conn->pipes[0] = (proxy_pipe){.from = client, .to = server};
    conn->pipes[1] = (proxy_pipe){.from = server, .to = client, .is_response = true};
    if (client >= 0) {
        set_nonblocking(client);
    } else {
        conn->pipes[0].out = *request;
        *request = (fakeapi_bytes){0};
    }
    return conn;
}

static void close_fd(int fd, bool with_reset)
{
    if (fd >= 0 && with_reset) {
        struct linger now = {.l_onoff = 1, .l_linger = 0};
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

static void close_conn(proxy_conn *conn, bool with_reset)
{
    if (!conn->is_closed) {
        conn->is_closed = true;
        close_fd(conn->client, with_reset);
        close_fd(conn->server, with_reset);
    }
}

void proxy_conn_free(proxy_conn *conn)
{
    close_conn(conn, false);
    for (int i = 0; i < 2; i++) {
        fakeapi_bytes_dispose(&conn->pipes[i].in);
        fakeapi_bytes_dispose(&conn->pipes[i].out);
        fakeapi_bytes_dispose(&conn->pipes[i].copy);
    }
    fakeapi_release(conn);
}

/* ---- decisions ---- */

static void log_fate(const proxy_conn *conn, const proxy_pipe *pipe)
{
    const proxy_options *options = &conn->net->options;
    const proxy_fate *fate = &pipe->fate;
    char line[320];
    const char *end = memchr(pipe->in.p, '\r', pipe->in.n);
    int n = end != NULL ? (int)TK_MIN(end - pipe->in.p, (ptrdiff_t)120) : 0;
    if (options->log == NULL) {
        return;
    }
    (void)snprintf(line, sizeof(line),
                   "connection %llu exchange %llu: %s of the %s, %s, %u of 1000, %u ms: "
                   "%.*s",
                   (unsigned long long)conn->number, (unsigned long long)pipe->number,
                   proxy_act_name(fate->act), fate->of_response ? "response" : "request",
                   fate->with_reset ? "RST" : "FIN", fate->permille, fate->ms, n,
                   pipe->in.p);
    options->log(line, options->log_user);
}

/* The first line of a request decides whether it is one of options.only. */
static bool is_exempt(const proxy_conn *conn, const proxy_pipe *pipe)
{
    const char *only = conn->net->options.only;
    const char *end = memchr(pipe->in.p, '\n', pipe->in.n);
    return conn->client < 0 ||
           (only != NULL && (end == NULL || memmem(pipe->in.p, (size_t)(end - pipe->in.p),
                                                   only, strlen(only)) == NULL));
}

/* How many bytes of the message pass before the act. */
static uint64_t part_of(const proxy_head *head, unsigned permille)
{
    if (!head->has_length) {
        return head->n + permille;
    }
    uint64_t whole = head->n + head->length; /* at most 2^63 + 2^16 */
    return whole / 1000 * permille + whole % 1000 * permille / 1000;
}

static void hold(proxy_pipe *pipe, int64_t now_ns, unsigned ms)
{
    pipe->held_until_ns = now_ns + (int64_t)ms * TK_NS_PER_MS;
}

/* The head of a message is there. False: the connection is closed. */
static bool begin(proxy_conn *conn, proxy_pipe *pipe, const proxy_head *head,
                  int64_t now_ns)
{
    if (!pipe->is_response) {
        conn->is_head = head->is_head;
        conn->is_exempt = is_exempt(conn, pipe);
    }
    if (pipe->is_response && conn->client >= 0) {
        conn->net->answered++;
    }
    pipe->number++;
    pipe->fate = (proxy_fate){.act = PROXY_PASS};
    pipe->allowed = UINT64_MAX;
    if (!conn->is_exempt) {
        pipe->fate = proxy_decide(&conn->net->options, conn->number, pipe->number);
    }
    if (!pipe->is_response && conn->client >= 0) {
        atomic_fetch_add(&conn->net->count[pipe->fate.act], 1);
        log_fate(conn, pipe);
    }
    if (pipe->fate.of_response != pipe->is_response) {
        return true;
    }
    switch (pipe->fate.act) {
    case PROXY_DROP:
        close_conn(conn, pipe->fate.with_reset);
        return false;
    case PROXY_REORDER:
        pipe->waits_for_other = true;
        pipe->answered_then = conn->net->answered;
        hold(pipe, now_ns, pipe->fate.ms);
        break;
    case PROXY_DELAY:
        hold(pipe, now_ns, pipe->fate.ms);
        break;
    case PROXY_DUPLICATE:
        pipe->copies = !head->has_length || head->n + head->length <= PROXY_COPY_MAX;
        break;
    case PROXY_HALVE:
    case PROXY_STALL:
    case PROXY_HANG:
        pipe->allowed = part_of(head, pipe->fate.permille);
        break;
    case PROXY_PASS:
    case PROXY_ACTS:
        break;
    }
    return true;
}

/* As much of the message has passed as may. False: the connection is closed. */
static bool act(proxy_conn *conn, proxy_pipe *pipe, int64_t now_ns)
{
    pipe->allowed = UINT64_MAX;
    if (pipe->fate.act == PROXY_HALVE) {
        /* what has passed must arrive: no RST before it was sent */
        (void)send(pipe->to, pipe->out.p, pipe->out.n, MSG_NOSIGNAL);
        close_conn(conn, pipe->fate.with_reset);
        return false;
    }
    if (pipe->fate.act == PROXY_HANG) {
        pipe->held_until_ns = PROXY_NEVER;
    } else {
        hold(pipe, now_ns, pipe->fate.ms);
    }
    return true;
}

/* ---- bytes ---- */

static void pass(proxy_pipe *pipe, size_t n)
{
    if (pipe->to >= 0) {
        fakeapi_bytes_put(&pipe->out, pipe->in.p, n);
    }
    if (pipe->copies && pipe->copy.n + n <= PROXY_COPY_MAX) {
        fakeapi_bytes_put(&pipe->copy, pipe->in.p, n);
    } else {
        pipe->copies = false;
    }
    fakeapi_bytes_drop_front(&pipe->in, n);
    pipe->allowed -= pipe->allowed != UINT64_MAX ? n : 0;
}

/* The last byte of a message has passed. */
static void finish(proxy_conn *conn, proxy_pipe *pipe)
{
    proxy *net = conn->net;
    if (pipe->is_response) {
        if (conn->client < 0) {
            close_conn(conn, false); /* the copy was answered */
        }
        return;
    }
    if (pipe->copies) {
        pipe->copies = false;
        proxy_conn *copy = proxy_conn_new(net, -1, &pipe->copy);
        if (copy != NULL) {
            copy->next = net->conns;
            net->conns = copy;
        }
    }
    fakeapi_bytes_dispose(&pipe->copy);
}

/* Between two messages: false when the next head is not complete. */
static bool begin_next(proxy_conn *conn, proxy_pipe *pipe, int64_t now_ns)
{
    proxy_head head;
    proxy_found found =
        proxy_head_read(&head, pipe->in.p, pipe->in.n, pipe->is_response, conn->is_head);
    if (found == PROXY_HEAD_NOT_YET) {
        pipe->is_raw = pipe->is_ended; /* what is left is passed on as it is */
        return pipe->is_raw;
    }
    if (found == PROXY_HEAD_BAD || head.status == 101) {
        pipe->is_raw = true;
        return true;
    }
    bool interim = pipe->is_response && head.status < 200;
    if (interim) { /* belongs to the exchange, but is not its message */
        pass(pipe, head.n);
        return pipe->in.n > 0;
    }
    if (!begin(conn, pipe, &head, now_ns)) {
        return false;
    }
    proxy_frame_begin(&pipe->frame, &head);
    pipe->head_left = head.n;
    return true;
}

/* Whether the pipe is still held. */
static bool is_held(const proxy_conn *conn, proxy_pipe *pipe, int64_t now_ns)
{
    if (pipe->held_until_ns == 0) {
        return false;
    }
    bool overtaken = pipe->waits_for_other && conn->net->answered != pipe->answered_then;
    if (now_ns >= pipe->held_until_ns || overtaken) {
        pipe->held_until_ns = 0;
        pipe->waits_for_other = false;
    }
    return pipe->held_until_ns != 0;
}

/* Passes what may pass now. */
static void advance(proxy_conn *conn, proxy_pipe *pipe, int64_t now_ns)
{
    while (!conn->is_closed && pipe->in.n > 0 && !is_held(conn, pipe, now_ns)) {
        if (pipe->is_raw) {
            pipe->allowed = UINT64_MAX;
            pass(pipe, pipe->in.n);
            return;
        }
        if (pipe->head_left == 0 && pipe->frame.part == PROXY_PART_END) {
            if (!begin_next(conn, pipe, now_ns)) {
                return;
            }
            continue;
        }
        if (pipe->allowed == 0) {
            if (!act(conn, pipe, now_ns)) {
                return;
            }
            continue;
        }
        size_t n = (size_t)TK_MIN((uint64_t)pipe->in.n, pipe->allowed);
        if (pipe->head_left > 0) {
            n = TK_MIN(n, pipe->head_left);
            pipe->head_left -= n;
        } else {
            n = proxy_frame_feed(&pipe->frame, pipe->in.p, n);
        }
        pass(pipe, n);
        if (pipe->head_left == 0 && pipe->frame.part == PROXY_PART_END) {
            finish(conn, pipe);
        }
    }
}

static void flush(proxy_conn *conn, proxy_pipe *pipe)
{
    while (!conn->is_closed && pipe->out.n > 0) {
        ssize_t n = send(pipe->to, pipe->out.p, pipe->out.n, MSG_NOSIGNAL);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (n < 0) {
            /* a server may answer and close before it has read everything */
            pipe->out.n = 0;
            pipe->is_ended = true;
            return;
        }
        fakeapi_bytes_drop_front(&pipe->out, (size_t)n);
    }
}

/* After the FIN of one side: the other gets it when everything before it has passed. */
static void end(proxy_conn *conn, proxy_pipe *pipe)
{
    bool drained = pipe->is_ended && pipe->in.n == 0 && pipe->out.n == 0;
    if (conn->is_closed || !drained || pipe->is_shut) {
        return;
    }
    pipe->is_shut = true;
    if (pipe->is_response) {
        close_conn(conn, false);
    } else {
        (void)shutdown(pipe->to, SHUT_WR);
    }
}

void proxy_conn_turn(proxy_conn *conn, int64_t now_ns)
{
    for (int i = 0; i < 2; i++) {
        advance(conn, &conn->pipes[i], now_ns);
        if (!conn->is_closed) {
            flush(conn, &conn->pipes[i]);
            end(conn, &conn->pipes[i]);
        }
    }
}

void proxy_conn_read(proxy_conn *conn, int fd)
{
    char buffer[READ_BYTES];
    proxy_pipe *pipe = &conn->pipes[fd == conn->client ? 0 : 1];
    if (pipe->held_until_ns == PROXY_NEVER ||
        conn->pipes[1].held_until_ns == PROXY_NEVER) {
        close_conn(conn, true); /* POLLRDHUP: the client has given up */
        return;
    }
    ssize_t n = recv(fd, buffer, sizeof(buffer), 0);
    if (n > 0) {
        fakeapi_bytes_put(&pipe->in, buffer, (size_t)n);
    } else if (n == 0) {
        pipe->is_ended = true;
    } else if (errno != EAGAIN && errno != EINTR) {
        close_conn(conn, true);
    }
}

static bool has_room(const proxy_pipe *pipe)
{
    return !pipe->is_ended && pipe->held_until_ns == 0 &&
           pipe->in.n + pipe->out.n < PROXY_ROOM;
}

short proxy_conn_events(const proxy_conn *conn, int fd)
{
    int mine = fd == conn->client ? 0 : 1; /* the direction that reads from it */
    bool hangs = conn->pipes[0].held_until_ns == PROXY_NEVER ||
                 conn->pipes[1].held_until_ns == PROXY_NEVER;
    if (hangs) {
        return fd == conn->client ? POLLRDHUP : 0;
    }
    return (short)((has_room(&conn->pipes[mine]) ? POLLIN : 0) |
                   (conn->pipes[1 - mine].out.n > 0 ? POLLOUT : 0));
}

int64_t proxy_conn_deadline(const proxy_conn *conn)
{
    int64_t first = PROXY_NEVER;
    for (int i = 0; i < 2; i++) {
        if (conn->pipes[i].held_until_ns != 0) {
            first = TK_MIN(first, conn->pipes[i].held_until_ns);
        }
    }
    return first;
}
