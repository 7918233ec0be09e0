/* The server under load, in a separate process: 2,000 polls parked at once (memory of
 * each), then 2,000 samples in flight (heartbeats meanwhile).
 * Links: server */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "base/arena.h"
#include "base/json.h"
#include "server/run/srv_embed.h"
#include "server/srv.h"
#include "soak.h"
#include "support/httpget.h"

#define API      "/api/v1/"
#define N        2000
#define POLL_KIB 16.0
#define BEAT_MS  50.0
#define BEATS    100000

typedef struct load {
    pid_t pid;
    int port;
    tk_arena arena;
    char session[64];
    httpget *connections[N];
} load;

/* ---- the server ---- */

static void raise_files(void)
{
    struct rlimit limit = {SOAK_FILES, SOAK_FILES};
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static void run_server(const char *data, int out)
{
    srv *server = NULL;
    tk_err err = TK_ERR_INIT;
    const srv_options options = {.data = data};
    int port =
        srv_start(&server, &options, &err) == TINKC_OK ? (int)srv_port(server) : -1;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)!write(out, &port, sizeof(port));
    for (;;) {
        (void)pause();
    }
}

static void start_server(load *l, const char *data)
{
    int fds[2];
    if (pipe(fds) != 0 || (l->pid = fork()) < 0) {
        soak_die("no process");
    }
    if (l->pid == 0) {
        run_server(data, fds[1]);
    }
    if (read(fds[0], &l->port, sizeof(l->port)) != sizeof(l->port) || l->port < 0) {
        soak_die("the server does not start");
    }
}

static double resident_kib(pid_t pid)
{
    char path[64], line[256];
    double kib = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "VmRSS:", 6) == 0) {
            kib = (double)strtol(line + 6, NULL, 10);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return kib;
}

/* ---- requests ---- */

static void send_to(httpget *connection, const char *path, const char *body)
{
    const httpget_request request = {.method = "POST", .target = path, .body = body};
    if (connection == NULL || !httpget_ask(connection, &request)) {
        soak_die("a request was not sent");
    }
}

static const char *read_from(load *l, httpget *connection, int *status, const char *key)
{
    httpget_response response;
    const tk_json *json = NULL;
    tk_err err = TK_ERR_INIT;
    if (httpget_read(connection, &response) != HTTPGET_OK) {
        soak_die("a request was not answered");
    }
    *status = response.status;
    const tk_json *value = NULL;
    if (key != NULL && tk_json_parse(&json, &l->arena, response.body.p, response.body.n,
                                     NULL, &err) == TINKC_OK) {
        value = tk_json_get(json, key);
    }
    httpget_response_dispose(&response);
    return value != NULL && value->type == TK_JSON_STRING ? value->as.string.p : "";
}

static const char *ask(load *l, const char *path, const char *body, const char *key)
{
    int status = 0;
    httpget *connection = httpget_connect(l->port);
    send_to(connection, path, body);
    const char *value = read_from(l, connection, &status, key);
    httpget_close(&connection);
    if (status != 200) {
        soak_die(path);
    }
    return value;
}

static size_t parked(load *l)
{
    httpget_response response;
    const httpget_request request = {.method = "GET", .target = "/metrics"};
    static const char name[] = "\ntinkc_polls_parked ";
    size_t n = 0;
    if (httpget_once(l->port, &request, &response) == HTTPGET_OK) {
        const char *at = strstr(response.body.p, name);
        n = at != NULL ? strtoul(at + sizeof(name) - 1, NULL, 10) : 0;
    }
    httpget_response_dispose(&response);
    return n;
}

/* ---- parked polls ---- */

/* A part whose first part never comes is held for two seconds: time to park. */
static bool check_parked(load *l)
{
    char body[1024], detail[128];
    const char *model = NULL;
    (void)snprintf(body, sizeof(body),
                   "{\"session_id\":\"%s\",\"model_seq_id\":0,\"base_model\":\"%s\","
                   "\"lora_config\":{\"rank\":4}}",
                   l->session, SRV_EMBED_NAME);
    model = ask(l, API "create_model", body, "model_id");
    double before = resident_kib(l->pid);
    for (int i = 0; i < N; i++) {
        l->connections[i] = httpget_connect(l->port);
    }
    (void)snprintf(
        body, sizeof(body),
        "{\"forward_backward_input\":{\"data\":[{\"loss_fn_inputs\":{"
        "\"target_tokens\":{\"data\":[7],\"dtype\":\"int64\"}},\"model_input\":{"
        "\"chunks\":[{\"tokens\":[5],\"type\":\"encoded_text\"}]}}],\"loss_fn\":"
        "\"cross_entropy\"},\"model_id\":\"%s\",\"seq_id\":2}",
        model);
    (void)ask(l, API "forward_backward", body, "request_id");
    (void)snprintf(body, sizeof(body), "{\"request_id\":\"%s:2\"}", model);
    for (int i = 0; i < N; i++) {
        send_to(l->connections[i], API "retrieve_future", body);
    }
    size_t most = parked(l);
    double kib = (resident_kib(l->pid) - before) / N;
    for (int i = 0; i < N; i++) {
        int status = 0;
        (void)read_from(l, l->connections[i], &status, NULL);
        if (status != 200) {
            soak_die("a parked poll was not answered");
        }
    }
    bool ok = kib < POLL_KIB && most > N / 2;
    (void)snprintf(detail, sizeof(detail),
                   "%.1f KiB per parked poll with its connection (bar %.0f), %zu of %d "
                   "parked",
                   kib, POLL_KIB, most, N);
    return soak_report("server polls", ok, detail) == 0;
}

/* ---- samples and heartbeats ---- */

typedef struct beats {
    load *l;
    double *ms;
    size_t n;
    atomic_bool stop;
} beats;

static void *beat(void *user)
{
    beats *b = user;
    char body[128];
    httpget *connection = httpget_connect(b->l->port);
    (void)snprintf(body, sizeof(body), "{\"session_id\":\"%s\"}", b->l->session);
    while (!atomic_load(&b->stop) && b->n < BEATS) {
        httpget_response response;
        double began = soak_now_s();
        send_to(connection, API "session_heartbeat", body);
        if (httpget_read(connection, &response) != HTTPGET_OK || response.status != 200) {
            soak_die("a heartbeat was not answered");
        }
        httpget_response_dispose(&response);
        b->ms[b->n++] = (soak_now_s() - began) * 1e3;
        const struct timespec pause_for = {0, 5000000};
        (void)nanosleep(&pause_for, NULL);
    }
    httpget_close(&connection);
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    double x, y;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

static void sample_all(load *l)
{
    char body[512];
    static const char *ids[N];
    for (int i = 0; i < N; i++) {
        (void)snprintf(
            body, sizeof(body),
            "{\"base_model\":\"%s\",\"prompt\":{\"chunks\":[{\"tokens\":[5,%d],"
            "\"type\":\"encoded_text\"}]},\"sampling_params\":{\"max_tokens\":"
            "64,\"stop\":[]}}",
            SRV_EMBED_NAME, 10 + i % 100);
        send_to(l->connections[i], API "asample", body);
    }
    for (int i = 0; i < N; i++) {
        int status = 0;
        ids[i] = read_from(l, l->connections[i], &status, "request_id");
        (void)snprintf(body, sizeof(body), "{\"request_id\":\"%s\"}", ids[i]);
        send_to(l->connections[i], API "retrieve_future", body);
    }
    for (int i = 0; i < N; i++) {
        int status = 0;
        (void)read_from(l, l->connections[i], &status, NULL);
        while (status == 408) {
            (void)snprintf(body, sizeof(body), "{\"request_id\":\"%s\"}", ids[i]);
            send_to(l->connections[i], API "retrieve_future", body);
            (void)read_from(l, l->connections[i], &status, NULL);
        }
        if (status != 200) {
            soak_die("a sample failed");
        }
    }
}

static bool check_samples(load *l)
{
    static double ms[BEATS];
    beats b = {.l = l, .ms = ms};
    pthread_t thread;
    double began = soak_now_s();
    if (pthread_create(&thread, NULL, beat, &b) != 0) {
        soak_die("no thread");
    }
    sample_all(l);
    double took = soak_now_s() - began;
    atomic_store(&b.stop, true);
    (void)pthread_join(thread, NULL);
    qsort(ms, b.n, sizeof(*ms), by_value);
    double p99 = b.n > 0 ? ms[b.n * 99 / 100] : 1e9;
    char detail[160];
    (void)snprintf(detail, sizeof(detail),
                   "p99 %.1f ms, median %.2f ms (bar %.0f), %zu beats, %d samples in "
                   "%.1f s",
                   p99, ms[b.n / 2], BEAT_MS, b.n, N, took);
    return soak_report("server heartbeats", p99 < BEAT_MS, detail) == 0;
}

int main(void)
{
    static load l;
    char data[] = "/tmp/tinkc-soak-XXXXXX";
    char command[96];
    if (mkdtemp(data) == NULL) {
        soak_die("no directory");
    }
    raise_files();
    start_server(&l, data);
    tk_arena_init(&l.arena, 0);
    (void)snprintf(l.session, sizeof(l.session), "%s",
                   ask(&l, API "create_session",
                       "{\"tags\":[],\"sdk_version\":\"0.25.0\"}", "session_id"));
    bool ok = check_parked(&l);
    ok = check_samples(&l) && ok;
    (void)kill(l.pid, SIGKILL);
    (void)waitpid(l.pid, NULL, 0);
    (void)snprintf(command, sizeof(command), "rm -rf %s", data);
    (void)!system(command);
    return ok ? 0 : 1;
}
