/* Health and heartbeats while everything else is held up: the database is locked and
 * writers wait for it, six searches read 1 GB of metadata, 900 connections send half a
 * head, and the queue of a model is full. Prints the median and p99 of both.
 * Links: server sqlite3 */
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "base/arena.h"
#include "base/json.h"
#include "server/run/srv_embed.h"
#include "server/srv.h"
#include "soak.h"
#include "support/httpget.h"

#define API         "/api/v1/"
#define HALVES      900
#define SEARCHES    6
#define WRITERS     4
#define SESSIONS    1200
#define META_BYTES  900000 /* of each: 1.08 GB together */
#define JOBS        1200   /* more than a model's queue takes */
#define SECONDS     40.0
#define BAR_MS      50.0
#define SAMPLES_MAX 100000

typedef struct prompt {
    pid_t pid;
    int port;
    char session[64], model[96];
    atomic_bool stop;
    atomic_size_t searched, refused;
} prompt;

/* ---- the server ---- */

static void run_server(const char *data, int out)
{
    srv *server = NULL;
    tk_err err = TK_ERR_INIT;
    const srv_options options = {.data = data};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    int port =
        srv_start(&server, &options, &err) == TINKC_OK ? (int)srv_port(server) : -1;
    (void)!write(out, &port, sizeof(port));
    for (;;) {
        (void)pause();
    }
}

static void start_server(prompt *p, const char *data)
{
    int fds[2];
    if (pipe(fds) != 0 || (p->pid = fork()) < 0) {
        soak_die("no process");
    }
    if (p->pid == 0) {
        run_server(data, fds[1]);
    }
    if (read(fds[0], &p->port, sizeof(p->port)) != sizeof(p->port) || p->port < 0) {
        soak_die("the server does not start");
    }
}

/* ---- requests ---- */

/* Returns the status; 0 when there was no answer. `value` gets the string of `key`. */
static int ask_on(httpget *connection, const httpget_request *request, const char *key,
                  char *value, size_t size)
{
    httpget_response response;
    if (connection == NULL || !httpget_ask(connection, request)) {
        return 0;
    }
    int status = httpget_read(connection, &response) == HTTPGET_OK ? response.status : 0;
    if (key != NULL && status == 200) {
        tk_arena arena;
        const tk_json *json = NULL;
        tk_err err = TK_ERR_INIT;
        tk_arena_init(&arena, 0);
        if (tk_json_parse(&json, &arena, response.body.p, response.body.n, NULL, &err) ==
                TINKC_OK &&
            tk_json_get(json, key) != NULL) {
            (void)snprintf(value, size, "%s", tk_json_get(json, key)->as.string.p);
        }
        tk_arena_dispose(&arena);
    }
    httpget_response_dispose(&response);
    return status;
}

static int post(prompt *p, const char *path, const char *body)
{
    httpget *connection = httpget_connect(p->port);
    const httpget_request request = {.method = "POST", .target = path, .body = body};
    int status = ask_on(connection, &request, NULL, NULL, 0);
    if (connection != NULL) {
        httpget_close(&connection);
    }
    return status;
}

static void create(prompt *p, const char *path, const char *body, const char *key,
                   char *out, size_t size)
{
    httpget *connection = httpget_connect(p->port);
    const httpget_request request = {.method = "POST", .target = path, .body = body};
    if (ask_on(connection, &request, key, out, size) != 200) {
        soak_die(path);
    }
    httpget_close(&connection);
}

/* ---- what is prepared ---- */

static void fill_metadata(prompt *p)
{
    static const char head[] =
        "{\"tags\":[],\"sdk_version\":\"0.25.0\",\"user_metadata\":{\"k\":\"";
    char *body = malloc(META_BYTES + 256);
    if (body == NULL) {
        soak_die("no memory");
    }
    (void)snprintf(body, sizeof(head), "%s", head);
    memset(body + sizeof(head) - 1, 'x', META_BYTES);
    (void)snprintf(body + sizeof(head) - 1 + META_BYTES, 8, "\"}}");
    for (int i = 0; i < SESSIONS; i++) {
        if (post(p, API "create_session", body) != 200) {
            soak_die("a session was not made");
        }
    }
    free(body);
}

static void fill_queue(prompt *p)
{
    static char body[64 * 1024];
    size_t at = 0;
    char head[512];
    (void)snprintf(head, sizeof(head),
                   "{\"session_id\":\"%s\",\"model_seq_id\":0,\"base_model\":\"%s\","
                   "\"lora_config\":{\"rank\":4}}",
                   p->session, SRV_EMBED_NAME);
    create(p, API "create_model", head, "model_id", p->model, sizeof(p->model));
    at += (size_t)snprintf(body, sizeof(body),
                           "{\"forward_backward_input\":{\"data\":[{\"loss_fn_inputs\":{"
                           "\"target_tokens\":{\"dtype\":\"int64\",\"data\":[7");
    for (int i = 1; i < 400; i++) {
        at += (size_t)snprintf(body + at, sizeof(body) - at, ",7");
    }
    at += (size_t)snprintf(body + at, sizeof(body) - at,
                           "]},\"weights\":{\"dtype\":\"float32\",\"data\":[1");
    for (int i = 1; i < 400; i++) {
        at += (size_t)snprintf(body + at, sizeof(body) - at, ",1");
    }
    at += (size_t)snprintf(body + at, sizeof(body) - at,
                           "]}},\"model_input\":{\"chunks\":[{\"type\":\"encoded_text\","
                           "\"tokens\":[5");
    for (int i = 1; i < 400; i++) {
        at += (size_t)snprintf(body + at, sizeof(body) - at, ",7");
    }
    (void)snprintf(body + at, sizeof(body) - at,
                   "]}]}}],\"loss_fn\":\"cross_entropy\"},\"model_id\":\"%s\"}",
                   p->model);
    int status = 200;
    for (int i = 0; i < JOBS && status != 429; i++) {
        status = post(p, API "forward_backward", body);
    }
    if (status != 429) {
        soak_die("the queue is not full");
    }
}

static sqlite3 *lock_database(const char *data)
{
    char path[96];
    sqlite3 *db = NULL;
    (void)snprintf(path, sizeof(path), "%s/tinkc.db", data);
    if (sqlite3_open(path, &db) != SQLITE_OK ||
        sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL) != SQLITE_OK) {
        soak_die("the database cannot be locked");
    }
    return db;
}

/* ---- what goes on meanwhile ---- */

static void *search(void *user)
{
    prompt *p = user;
    while (!atomic_load(&p->stop)) {
        int status = post(p, API "sessions/search",
                          "{\"user_metadata\":{\"k\":\"nothing\"},\"limit\":200}");
        atomic_fetch_add(&p->searched, status == 200);
    }
    return NULL;
}

static void *write_rows(void *user)
{
    prompt *p = user;
    while (!atomic_load(&p->stop)) {
        int status =
            post(p, API "create_session", "{\"tags\":[],\"sdk_version\":\"0.25.0\"}");
        atomic_fetch_add(&p->refused, status != 200);
    }
    return NULL;
}

/* Keeps HALVES connections with half a head, new ones for those that were closed. */
static void *send_halves(void *user)
{
    static const char half[] =
        "POST " API "create_session HTTP/1.1\r\nHost: 127.0.0.1\r\nX-";
    static httpget *all[HALVES];
    prompt *p = user;
    for (size_t i = 0; !atomic_load(&p->stop); i = (i + 1) % HALVES) {
        const struct timespec pause_for = {0, 5000000};
        if (all[i] != NULL) { /* a byte more, as a patient attacker would */
            if (!httpget_send(all[i], "a", 1)) {
                httpget_close(&all[i]);
            }
            (void)nanosleep(&pause_for, NULL);
        }
        if (all[i] == NULL) {
            all[i] = httpget_connect(p->port);
            if (all[i] != NULL) {
                (void)httpget_send(all[i], half, sizeof(half) - 1);
            }
        }
    }
    return NULL;
}

/* ---- what is measured ---- */

typedef struct series {
    prompt *p;
    const char *name;
    bool renew; /* a new connection for each request */
    httpget_request request;
    double *ms;
    size_t n, failed;
} series;

static void *measure(void *user)
{
    series *s = user;
    httpget *connection = NULL;
    while (!atomic_load(&s->p->stop) && s->n < SAMPLES_MAX) {
        const struct timespec pause_for = {0, 5000000};
        double began = soak_now_s();
        if (connection == NULL) {
            connection = httpget_connect(s->p->port);
        }
        if (ask_on(connection, &s->request, NULL, NULL, 0) == 200) {
            s->ms[s->n++] = (soak_now_s() - began) * 1e3;
        } else {
            s->failed++;
        }
        if (s->renew && connection != NULL) {
            httpget_close(&connection);
        }
        (void)nanosleep(&pause_for, NULL);
    }
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    double x, y;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

static bool report(series *s)
{
    char detail[200];
    qsort(s->ms, s->n, sizeof(*s->ms), by_value);
    double p99 = s->n > 0 ? s->ms[s->n * 99 / 100] : 1e9;
    (void)snprintf(detail, sizeof(detail),
                   "p50 %.2f ms, p99 %.1f ms, longest %.1f ms (bar %.0f) of %zu, %zu "
                   "failed",
                   s->n > 0 ? s->ms[s->n / 2] : 1e9, p99,
                   s->n > 0 ? s->ms[s->n - 1] : 1e9, BAR_MS, s->n, s->failed);
    return soak_report(s->name, p99 < BAR_MS && s->failed == 0, detail) == 0;
}

static void start(pthread_t *thread, void *(*run)(void *), void *user)
{
    if (pthread_create(thread, NULL, run, user) != 0) {
        soak_die("no thread");
    }
}

static bool check_all(prompt *p, const char *data)
{
    static double ms[3][SAMPLES_MAX];
    char beat[128];
    pthread_t searches[SEARCHES], writers[WRITERS], halves, measures[3];
    (void)snprintf(beat, sizeof(beat), "{\"session_id\":\"%s\"}", p->session);
    series all[] = {
        {p,
         "prompt heartbeats",
         false,
         {.method = "POST", .target = API "session_heartbeat", .body = beat},
         ms[0],
         0,
         0},
        {p, "prompt health", true, {.target = API "healthz"}, ms[1], 0, 0},
        {p, "prompt metrics", true, {.target = "/metrics"}, ms[2], 0, 0},
    };
    fill_queue(p);
    sqlite3 *db = lock_database(data);
    start(&halves, send_halves, p);
    for (int i = 0; i < SEARCHES; i++) {
        start(&searches[i], search, p);
    }
    for (int i = 0; i < WRITERS; i++) {
        start(&writers[i], write_rows, p);
    }
    for (int i = 0; i < 3; i++) {
        start(&measures[i], measure, &all[i]);
    }
    double end = soak_now_s() + SECONDS;
    while (soak_now_s() < end) {
        (void)usleep(100000);
    }
    atomic_store(&p->stop, true);
    (void)sqlite3_close(db);
    for (int i = 0; i < 3; i++) {
        (void)pthread_join(measures[i], NULL);
    }
    bool ok = true;
    for (int i = 0; i < 3; i++) {
        ok = report(&all[i]) && ok;
    }
    printf("meanwhile: %zu searches, %zu sessions refused by the locked database\n",
           atomic_load(&p->searched), atomic_load(&p->refused));
    return ok;
}

int main(void)
{
    static prompt p;
    const struct rlimit files = {SOAK_FILES, SOAK_FILES};
    char data[] = "/tmp/tinkc-soak-XXXXXX";
    char command[96];
    if (mkdtemp(data) == NULL) {
        soak_die("no directory");
    }
    (void)setrlimit(RLIMIT_NOFILE, &files);
    start_server(&p, data);
    fill_metadata(&p);
    create(&p, API "create_session", "{\"tags\":[],\"sdk_version\":\"0.25.0\"}",
           "session_id", p.session, sizeof(p.session));
    bool ok = check_all(&p, data);
    (void)kill(p.pid, SIGKILL);
    (void)waitpid(p.pid, NULL, 0);
    (void)snprintf(command, sizeof(command), "rm -rf %s", data);
    (void)!system(command);
    return ok ? 0 : 1;
}
