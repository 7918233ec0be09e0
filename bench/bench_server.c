/* The program `tinkc serve` from outside: how long after its start it answers, what it
 * holds in memory when idle, both with the embedded model; and requests per second
 * against a bare libmicrohttpd that echoes bodies (this program, started with "echo"),
 * side by side: the same bytes from the same client over as many kept connections.
 *
 * Links: server libmicrohttpd */
#include "bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ftw.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define STARTS     15
#define ROUNDS     15
#define CONNS      16
#define REQUESTS   4000 /* of one round */
#define READY_MS   100.0
#define MEMORY_MIB 40.0
#define ECHO_SHARE 0.5 /* of what the bare echo answers */

static void die(const char *what)
{
    fprintf(stderr, "bench_server: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double wall_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* ---- the bare peer ---- */

typedef struct body {
    size_t n;
    char bytes[1024];
} body;

static enum MHD_Result echo(void *user, struct MHD_Connection *connection,
                            const char *url, const char *method, const char *version,
                            const char *data, size_t *n, void **state)
{
    (void)user;
    (void)url;
    (void)method;
    (void)version;
    body *b = *state;
    if (b == NULL) {
        *state = calloc(1, sizeof(*b));
        return *state != NULL ? MHD_YES : MHD_NO;
    }
    if (*n > 0) {
        size_t take = TK_MIN(*n, sizeof(b->bytes) - b->n);
        memcpy(b->bytes + b->n, data, take);
        b->n += take;
        *n = 0;
        return MHD_YES;
    }
    struct MHD_Response *response =
        MHD_create_response_from_buffer(b->n, b->bytes, MHD_RESPMEM_MUST_COPY);
    (void)MHD_add_response_header(response, "Content-Type", "application/json");
    enum MHD_Result result = MHD_queue_response(connection, 200, response);
    MHD_destroy_response(response);
    return result;
}

static void drop(void *user, struct MHD_Connection *connection, void **state,
                 enum MHD_RequestTerminationCode why)
{
    (void)user;
    (void)connection;
    (void)why;
    free(*state);
}

static int run_echo(void)
{
    struct sockaddr_in any = {.sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, echo, NULL, MHD_OPTION_SOCK_ADDR,
        (struct sockaddr *)&any, MHD_OPTION_NOTIFY_COMPLETED, drop, NULL, MHD_OPTION_END);
    if (daemon == NULL) {
        return 1;
    }
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
    printf("listening on http://127.0.0.1:%u\n", (unsigned)info->port);
    (void)fflush(stdout);
    (void)pause();
    return 0;
}

/* ---- processes ---- */

typedef struct process {
    pid_t pid;
    unsigned port;
    double ready_ms; /* from the fork to the line that says so */
} process;

/* The program of this build, or this one. */
static void run_child(const char *data, int output)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);
    if (n <= 0 || dup2(output, STDOUT_FILENO) < 0) {
        _exit(127);
    }
    path[n] = '\0';
    if (data == NULL) {
        (void)execl(path, path, "echo", (char *)NULL);
    } else {
        char *slash = strrchr(path, '/');
        memcpy(slash, "/../tinkc", sizeof("/../tinkc"));
        (void)execl(path, path, "serve", "--port", "0", "--data", data, (char *)NULL);
    }
    _exit(127);
}

static process launch(const char *data)
{
    int pipes[2];
    char line[256] = "";
    process p = {0};
    double began = wall_ms();
    if (pipe(pipes) != 0 || (p.pid = fork()) < 0) {
        die("fork");
    }
    if (p.pid == 0) {
        (void)close(pipes[0]);
        run_child(data, pipes[1]);
    }
    (void)close(pipes[1]);
    FILE *said = fdopen(pipes[0], "r");
    const char *colon = NULL;
    while (said != NULL && colon == NULL && fgets(line, sizeof(line), said) != NULL) {
        colon = strstr(line, "listening on ") != NULL ? strrchr(line, ':') : NULL;
    }
    p.ready_ms = wall_ms() - began;
    if (colon == NULL) {
        die("the server did not start");
    }
    p.port = (unsigned)strtoul(colon + 1, NULL, 10);
    (void)fclose(said);
    return p;
}

static void end(const process *p)
{
    (void)kill(p->pid, SIGTERM);
    (void)waitpid(p->pid, NULL, 0);
}

static double resident_mib(pid_t pid)
{
    char path[64], line[256];
    double kib = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "VmRSS:", 6) == 0) {
            kib = strtod(line + 6, NULL);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return kib / 1024;
}

static int remove_one(const char *path, const struct stat *status, int type,
                      struct FTW *unused)
{
    (void)status;
    (void)type;
    (void)unused;
    return remove(path);
}

static void remove_tree(const char *path)
{
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- the client ---- */

typedef struct client {
    int fds[CONNS];
    char request[1024];
    size_t n;
} client;

static int connect_to(unsigned port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) != 0) {
        die("connect");
    }
    return fd;
}

static void prepare(client *c, const char *path, const char *text)
{
    c->n = (size_t)snprintf(c->request, sizeof(c->request),
                            "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: tml-x\r\n"
                            "Content-Type: application/json\r\nContent-Length: "
                            "%zu\r\n\r\n%s",
                            path, strlen(text), text);
}

static void open_client(client *c, unsigned port, const char *path, const char *text)
{
    for (int i = 0; i < CONNS; i++) {
        c->fds[i] = connect_to(port);
    }
    prepare(c, path, text);
}

/* Reads one answer, which must be a 200 with a length; its bytes stay in `out`. */
static void read_answer(int fd, char out[4096])
{
    size_t n = 0, want = 0;
    while (want == 0 || n < want) {
        ssize_t got = recv(fd, out + n, 4095 - n, 0);
        if (got <= 0) {
            die("no answer");
        }
        n += (size_t)got;
        out[n] = '\0';
        const char *end_of_head = strstr(out, "\r\n\r\n");
        const char *length = strcasestr(out, "content-length:");
        if (end_of_head != NULL && length != NULL && want == 0) {
            want = (size_t)(end_of_head - out) + 4 + strtoul(length + 15, NULL, 10);
        }
    }
    if (strncmp(out, "HTTP/1.1 200", 12) != 0) {
        die(out);
    }
}

static void send_all(int fd, const char *bytes, size_t n)
{
    if (send(fd, bytes, n, MSG_NOSIGNAL) != (ssize_t)n) {
        die("send");
    }
}

static void close_client(client *c)
{
    for (int i = 0; i < CONNS; i++) {
        (void)close(c->fds[i]);
    }
}

/* Requests per second with CONNS in flight. */
static double rate(const client *c)
{
    char answer[4096];
    double began = wall_ms();
    for (int done = 0; done < REQUESTS; done += CONNS) {
        for (int i = 0; i < CONNS; i++) {
            send_all(c->fds[i], c->request, c->n);
        }
        for (int i = 0; i < CONNS; i++) {
            read_answer(c->fds[i], answer);
        }
    }
    return REQUESTS / ((wall_ms() - began) / 1e3);
}

/* The id of a new session, for heartbeats. */
static void make_session(unsigned port, char out[64])
{
    client c;
    char answer[4096];
    int fd = connect_to(port);
    prepare(&c, "/api/v1/create_session", "{\"tags\":[],\"sdk_version\":\"bench\"}");
    send_all(fd, c.request, c.n);
    read_answer(fd, answer);
    (void)close(fd);
    const char *at = strstr(answer, "\"session_id\":\"");
    if (at == NULL) {
        die("no session");
    }
    (void)snprintf(out, 64, "%.36s", at + strlen("\"session_id\":\""));
}

/* ---- the figures ---- */

static void report_start(const char *data)
{
    double ms[STARTS], mib[STARTS];
    char detail[200];
    double first = 0;
    for (int i = -1; i < STARTS; i++) {
        process p = launch(data);
        if (i < 0) {
            first = p.ready_ms;
        } else {
            ms[i] = p.ready_ms;
            mib[i] = resident_mib(p.pid);
        }
        end(&p);
    }
    double ready = bench_median(ms, STARTS);
    (void)snprintf(detail, sizeof(detail),
                   "ready %.1f ms after its start (median of %d; %.1f ms with an empty "
                   "data directory)",
                   ready, STARTS, first);
    bench_report("server.ready", READY_MS / ready, 1, detail);
    double resident = bench_median(mib, STARTS);
    (void)snprintf(detail, sizeof(detail), "%.1f MiB resident when idle, at most %.0f",
                   resident, MEMORY_MIB);
    bench_report("server.idle_memory", MEMORY_MIB / resident, 1, detail);
}

static void report_rate(const char *data)
{
    static const char path[] = "/api/v1/session_heartbeat";
    double ours_rate[ROUNDS], echo_rate[ROUNDS], ratios[ROUNDS];
    char session[64], text[128], detail[200];
    client ours, bare;
    process server = launch(data), peer = launch(NULL);
    make_session(server.port, session);
    (void)snprintf(text, sizeof(text), "{\"session_id\":\"%s\"}", session);
    open_client(&ours, server.port, path, text);
    open_client(&bare, peer.port, path, text);
    for (int i = -1; i < ROUNDS; i++) {
        double a = rate(&ours), b = rate(&bare);
        if (i >= 0) {
            ours_rate[i] = a;
            echo_rate[i] = b;
            ratios[i] = a / b;
        }
    }
    double ratio = bench_median(ratios, ROUNDS);
    (void)snprintf(detail, sizeof(detail),
                   "%.0f heartbeats/s over %d connections, a bare libmicrohttpd echo "
                   "%.0f/s",
                   bench_median(ours_rate, ROUNDS), CONNS,
                   bench_median(echo_rate, ROUNDS));
    bench_report("server.requests_vs_bare_echo", ratio, ECHO_SHARE, detail);
    close_client(&ours);
    close_client(&bare);
    end(&server);
    end(&peer);
}

int main(int argc, char **argv)
{
    char data[] = "/tmp/tinkc-bench-XXXXXX";
    if (argc == 2 && strcmp(argv[1], "echo") == 0) {
        return run_echo();
    }
    if (mkdtemp(data) == NULL) {
        die("no directory");
    }
    report_start(data);
    report_rate(data);
    remove_tree(data);
    return 0;
}
