/* `tinkc serve --memory 512M` under attack: polls that are never read, bombs of zstd,
 * models of the largest rank, scores of whole vocabularies, JSON that is all brackets,
 * bodies that never end, archives asked for a byte at a time; beside them 2,000 clients
 * that sample. Measures the most memory that the server had, and whether every honest
 * client was answered.
 *   soak_attack [program]      default: the tinkc of the same build
 * Links: server wire */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "base/arena.h"
#include "base/json.h"
#include "server/run/srv_embed.h"
#include "soak.h"
#include "support/httpget.h"
#include "wire/zstd.h"

#define API        "/api/v1/"
#define MEMORY_MIB 512.0
#define BAR        1.2 /* times that, resident */
#define HONEST     2000
#define ROUNDS     4    /* of each honest client, at least */
#define SECONDS    30.0 /* at least */
#define STALLED    100
#define HALF_SENT  200
#define FRAME      (8 * TK_MIB)

typedef struct target {
    pid_t pid;
    int port;
    char session[64];
    char model[96];
    char result[128]; /* id of a large one */
    atomic_bool stop;
    atomic_size_t sent, refused; /* attacks, and those that got a 4xx */
    double peak_mib;
} target;

static target at;

/* ---- the server ---- */

static void start_server(const char *program, const char *data)
{
    int fds[2];
    if (pipe(fds) != 0 || (at.pid = fork()) < 0) {
        soak_die("no process");
    }
    if (at.pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(fds[1], STDOUT_FILENO);
        (void)execl(program, program, "serve", "--port", "0", "--memory", "512M",
                    "--data", data, "--threads", "2", (char *)NULL);
        _exit(127);
    }
    char line[128] = {0};
    (void)close(fds[1]);
    if (read(fds[0], line, sizeof(line) - 1) <= 0 || strrchr(line, ':') == NULL) {
        soak_die("the server does not start");
    }
    at.port = (int)strtol(strrchr(line, ':') + 1, NULL, 10);
}

static double status_mib(const char *name)
{
    char path[64], line[256];
    double kib = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)at.pid);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0) {
            kib = (double)strtol(line + strlen(name), NULL, 10);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return kib / 1024;
}

/* ---- requests ---- */

/* Sends one on its own connection. Copies the text under `key` of the answer. Returns the
 * status; 0 = none came. */
static int ask_with(const httpget_request *request, const char *key, char *out,
                    size_t size)
{
    httpget_response response;
    tk_arena arena;
    const tk_json *json = NULL;
    tk_err err = TK_ERR_INIT;
    int status =
        httpget_once(at.port, request, &response) == HTTPGET_OK ? response.status : 0;
    tk_arena_init(&arena, 0);
    if (key != NULL && status == 200 &&
        tk_json_parse(&json, &arena, response.body.p, response.body.n, NULL, &err) ==
            TINKC_OK) {
        const tk_json *value = tk_json_get(json, key);
        if (value != NULL && value->type == TK_JSON_STRING) {
            (void)snprintf(out, size, "%s", value->as.string.p);
        }
    }
    tk_arena_dispose(&arena);
    httpget_response_dispose(&response);
    return status;
}

static int ask(const char *path, const char *body, const char *key, char *out,
               size_t size)
{
    const httpget_request request = {.method = "POST", .target = path, .body = body};
    return ask_with(&request, key, out, size);
}

static void must(int status, const char *what)
{
    if (status != 200) {
        fprintf(stderr, "status %d\n", status);
        soak_die(what);
    }
}

/* Polls until the result is there. */
static void wait_result(const char *id)
{
    char body[256];
    int status = 408;
    (void)snprintf(body, sizeof(body), "{\"request_id\":\"%s\"}", id);
    while (status == 408 || status == 429) {
        const httpget_request request = {.method = "POST",
                                         .target = API "retrieve_future",
                                         .body = body,
                                         .headers = "Accept: application/x-protobuf\r\n"};
        status = ask_with(&request, NULL, NULL, 0);
    }
    must(status, "a result that the attack needs");
}

static void put_repeated(tk_buf *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        tk_buf_puts(out, i > 0 ? "," : "");
        tk_buf_puts(out, text);
    }
}

/* Makes a session, a model, a checkpoint, and a result of 16 MB: 128 targets for each of
 * 16,384 tokens. */
static void prepare(void)
{
    enum { DATA = 64, TOKENS = 256, COLUMNS = 128 };
    char body[512], id[128] = "";
    tk_buf large, datum;
    must(ask(API "create_session", "{\"tags\":[],\"sdk_version\":\"0.25.0\"}",
             "session_id", at.session, sizeof(at.session)),
         "no session");
    (void)snprintf(body, sizeof(body),
                   "{\"session_id\":\"%s\",\"model_seq_id\":0,\"base_model\":\"%s\","
                   "\"lora_config\":{\"rank\":4}}",
                   at.session, SRV_EMBED_NAME);
    must(ask(API "create_model", body, "model_id", at.model, sizeof(at.model)),
         "no model");
    (void)snprintf(body, sizeof(body),
                   "{\"model_id\":\"%s\",\"path\":\"a\",\"seq_id\":1}", at.model);
    must(ask(API "save_weights", body, "request_id", id, sizeof(id)), "no checkpoint");
    wait_result(id);
    tk_buf_init(&large, 64 * TK_MIB);
    tk_buf_init(&datum, 64 * TK_MIB);
    tk_buf_puts(&datum, "{\"loss_fn_inputs\":{\"target_tokens\":{\"data\":[");
    put_repeated(&datum, "7", (size_t)TOKENS * COLUMNS);
    tk_buf_printf(&datum,
                  "],\"dtype\":\"int64\",\"shape\":[%d,%d]},\"weights\":{\"data\":[",
                  TOKENS, COLUMNS);
    put_repeated(&datum, "1", (size_t)TOKENS * COLUMNS);
    tk_buf_printf(&datum,
                  "],\"dtype\":\"float32\",\"shape\":[%d,%d]}},\"model_input\":{"
                  "\"chunks\":[{\"type\":\"encoded_text\",\"tokens\":[",
                  TOKENS, COLUMNS);
    put_repeated(&datum, "5", TOKENS);
    tk_buf_puts(&datum, "]}]}}");
    tk_buf_puts(&large, "{\"forward_input\":{\"data\":[");
    put_repeated(&large, tk_buf_cstr(&datum), DATA);
    tk_buf_printf(&large,
                  "],\"loss_fn\":\"cross_entropy\"},\"model_id\":\"%s\",\"seq_id\":2}",
                  at.model);
    const httpget_request request = {
        .method = "POST", .target = API "forward", .body = large.p, .body_n = large.n};
    must(ask_with(&request, "request_id", at.result, sizeof(at.result)),
         "no large result");
    wait_result(at.result);
    tk_buf_dispose(&large);
    tk_buf_dispose(&datum);
}

/* ---- attacks: each is repeated until the end ---- */

static void count(int status)
{
    atomic_fetch_add(&at.sent, 1);
    atomic_fetch_add(&at.refused, status >= 400 && status < 500);
}

/* Asks for the large result as JSON on many connections, and reads none of them. */
static void stall_polls(void)
{
    static httpget *connections[STALLED];
    char body[256];
    (void)snprintf(body, sizeof(body), "{\"request_id\":\"%s\"}", at.result);
    for (size_t i = 0; i < STALLED; i++) {
        const httpget_request request = {.target = API "retrieve_future", .body = body};
        httpget_close(&connections[i]);
        connections[i] = httpget_connect(at.port);
        if (connections[i] != NULL && httpget_ask(connections[i], &request)) {
            count(0);
        }
    }
    const struct timespec pause_for = {5, 0};
    (void)nanosleep(&pause_for, NULL);
}

/* 1 GiB of spaces in 131 KB or less. */
static void send_bomb(void)
{
    static _Thread_local tk_buf bomb;
    if (bomb.n == 0) {
        tk_zstd zstd;
        tk_err err = TK_ERR_INIT;
        tk_buf frame;
        char *spaces = malloc(FRAME);
        if (spaces == NULL) {
            soak_die("no memory");
        }
        memset(spaces, ' ', FRAME);
        tk_buf_init(&frame, TK_MIB);
        tk_buf_init(&bomb, TK_MIB);
        tk_zstd_init(&zstd);
        const tk_bytes bytes = {(const unsigned char *)spaces, FRAME};
        if (tk_zstd_compress(&zstd, &frame, bytes, 0, &err) != TINKC_OK) {
            soak_die("no bomb");
        }
        for (size_t i = 0; i < TK_GIB / FRAME; i++) {
            tk_buf_put(&bomb, frame.p, frame.n);
        }
        tk_zstd_dispose(&zstd);
        tk_buf_dispose(&frame);
        free(spaces);
    }
    const httpget_request request = {.target = API "forward",
                                     .body = bomb.p,
                                     .body_n = bomb.n,
                                     .headers = "Content-Encoding: zstd\r\n"};
    count(ask_with(&request, NULL, NULL, 0));
}

static void make_models(void)
{
    static const int ranks[] = {4096, 1024, 256, 64};
    static int seq = 1;
    for (size_t i = 0; i < TK_ARRAY_LEN(ranks); i++) {
        char body[512];
        (void)snprintf(body, sizeof(body),
                       "{\"session_id\":\"%s\",\"model_seq_id\":%d,\"base_model\":\"%s\","
                       "\"lora_config\":{\"rank\":%d}}",
                       at.session, seq++, SRV_EMBED_NAME, ranks[i]);
        count(ask(API "create_model", body, NULL, NULL, 0));
    }
}

static void ask_scores(void)
{
    tk_buf body;
    tk_buf_init(&body, TK_MIB);
    tk_buf_printf(&body,
                  "{\"base_model\":\"%s\",\"prompt\":{\"chunks\":[{\"type\":"
                  "\"encoded_text\",\"tokens\":[",
                  SRV_EMBED_NAME);
    put_repeated(&body, "5", 400);
    tk_buf_puts(&body, "]}]},\"num_samples\":64,\"sampling_params\":{\"max_tokens\":8},"
                       "\"topk_prompt_logprobs\":4096}");
    count(ask(API "asample", tk_buf_cstr(&body), NULL, NULL, 0));
    tk_buf_dispose(&body);
}

static void send_brackets(void)
{
    static _Thread_local tk_buf body;
    if (body.n == 0) {
        tk_buf_init(&body, 32 * TK_MIB);
        tk_buf_puts(&body, "{\"x\":[");
        put_repeated(&body, "[]", 8 * TK_MIB / 3);
        tk_buf_puts(&body, "]}");
    }
    const httpget_request request = {
        .target = API "asample", .body = body.p, .body_n = body.n};
    count(ask_with(&request, NULL, NULL, 0));
}

/* Bodies of 200 MB, of which one megabyte comes. */
static void stall_bodies(void)
{
    static httpget *connections[HALF_SENT];
    static char megabyte[TK_MIB];
    for (size_t i = 0; i < HALF_SENT; i++) {
        static const char head[] = "POST " API "forward_backward HTTP/1.1\r\nHost: "
                                   "localhost\r\nContent-Length: 200000000\r\n\r\n";
        httpget_close(&connections[i]);
        connections[i] = httpget_connect(at.port);
        if (connections[i] != NULL &&
            httpget_send(connections[i], head, sizeof(head) - 1)) {
            (void)httpget_send(connections[i], megabyte, sizeof(megabyte));
            count(0);
        }
    }
    const struct timespec pause_for = {5, 0};
    (void)nanosleep(&pause_for, NULL);
}

static void ask_archive(void)
{
    char path[256];
    httpget_response response;
    (void)snprintf(path, sizeof(path),
                   API "training_runs/%s/checkpoints/weights/a/archive", at.model);
    const httpget_request link = {.target = path};
    if (httpget_once(at.port, &link, &response) == HTTPGET_OK && response.status == 302) {
        const char *location = httpget_header(&response, "Location");
        const char *slash = location != NULL ? strstr(location, "/tinkc/") : NULL;
        const httpget_request byte = {.target = slash != NULL ? slash : "/",
                                      .headers = "Range: bytes=0-0\r\n"};
        count(ask_with(&byte, NULL, NULL, 0));
    }
    httpget_response_dispose(&response);
}

static void *attack(void *user)
{
    void (*one)(void) = NULL;
    memcpy(&one, user, sizeof(one));
    while (!atomic_load(&at.stop)) {
        one();
    }
    return NULL;
}

static void *watch(void *user)
{
    (void)user;
    while (!atomic_load(&at.stop)) {
        const struct timespec pause_for = {0, 20000000};
        double now = status_mib("VmRSS:");
        at.peak_mib = now > at.peak_mib ? now : at.peak_mib;
        (void)nanosleep(&pause_for, NULL);
    }
    return NULL;
}

/* The most that the server has counted. */
static double counted_mib(void)
{
    static const char name[] = "\ntinkc_memory_peak_bytes ";
    httpget_response response;
    const httpget_request request = {.method = "GET", .target = "/metrics"};
    double bytes = 0;
    if (httpget_once(at.port, &request, &response) == HTTPGET_OK) {
        const char *found = strstr(response.body.p, name);
        bytes = found != NULL ? strtod(found + sizeof(name) - 1, NULL) : 0;
    }
    httpget_response_dispose(&response);
    return bytes / (double)TK_MIB;
}

/* ---- honest clients ---- */

typedef struct honest {
    httpget *connection;
    char body[512];
    const char *path;
    size_t done; /* rounds */
    bool beats;  /* the request under way is a heartbeat */
} honest;

static void next_request(honest *c, size_t i)
{
    c->path = c->beats ? API "session_heartbeat" : API "asample";
    if (c->beats) {
        (void)snprintf(c->body, sizeof(c->body), "{\"session_id\":\"%s\"}", at.session);
    } else {
        (void)snprintf(
            c->body, sizeof(c->body),
            "{\"base_model\":\"%s\",\"prompt\":{\"chunks\":[{\"tokens\":[5,%zu],"
            "\"type\":\"encoded_text\"}]},\"sampling_params\":{\"max_tokens\":4,"
            "\"stop\":[]}}",
            SRV_EMBED_NAME, 10 + i % 100);
    }
}

static void send_request(honest *c)
{
    const httpget_request request = {
        .method = "POST", .target = c->path, .body = c->body};
    for (int tries = 0; tries < 100; tries++) {
        if (c->connection == NULL) {
            c->connection = httpget_connect(at.port);
        }
        if (c->connection != NULL && httpget_ask(c->connection, &request)) {
            return;
        }
        httpget_close(
            &c->connection); /* closed while it was idle: as clients do, again */
    }
    soak_die("an honest client cannot send");
}

/* Reads an answer and decides what comes next: the poll of a sample, the same again when
 * it was refused or not ready, else the other kind of request. */
static void take_answer(honest *c, size_t i)
{
    httpget_response response;
    httpget_outcome outcome = httpget_read(c->connection, &response);
    const char *id = outcome == HTTPGET_OK && response.status == 200
                         ? strstr(response.body.p, "\"request_id\":\"")
                         : NULL;
    bool again =
        outcome != HTTPGET_OK || response.status == 429 || response.status == 408;
    if (outcome == HTTPGET_OK && !again && response.status != 200) {
        fprintf(stderr, "%s: %d %s\n", c->path, response.status, response.body.p);
        soak_die("an honest client was refused");
    }
    if (outcome != HTTPGET_OK) {
        httpget_close(&c->connection);
    }
    if (id != NULL) {
        int n = (int)strcspn(id + 14, "\"");
        (void)snprintf(c->body, sizeof(c->body), "{\"request_id\":\"%.*s\"}", n, id + 14);
        c->path = API "retrieve_future";
    } else if (!again) {
        c->done++;
        c->beats = !c->beats;
        next_request(c, i);
    }
    httpget_response_dispose(&response);
}

/* Whether a client has not had its rounds, or the time is not over. */
static bool goes_on(const honest *c, double until)
{
    return c->done < ROUNDS || soak_now_s() < until;
}

/* All of them at once, each until it has had its rounds. Returns the requests sent. */
static size_t serve_honest(void)
{
    static honest clients[HONEST];
    static bool asks[HONEST];
    size_t sent = 0, busy = HONEST;
    double until = soak_now_s() + SECONDS;
    for (size_t i = 0; i < HONEST; i++) {
        next_request(&clients[i], i);
    }
    for (int turn = 0; busy > 0 && turn < 2000; turn++) {
        busy = 0;
        for (size_t i = 0; i < HONEST; i++) {
            asks[i] = goes_on(&clients[i], until);
            if (asks[i]) {
                send_request(&clients[i]);
                busy++;
            }
        }
        sent += busy;
        for (size_t i = 0; i < HONEST; i++) {
            if (asks[i]) {
                take_answer(&clients[i], i);
            }
        }
    }
    if (busy > 0) {
        soak_die("honest clients were not answered");
    }
    for (size_t i = 0; i < HONEST; i++) {
        httpget_close(&clients[i].connection);
    }
    return sent;
}

int main(int argc, char **argv)
{
    static void (*const attacks[])(void) = {stall_polls,   send_bomb,    send_bomb,
                                            make_models,   ask_scores,   send_brackets,
                                            send_brackets, stall_bodies, ask_archive};
    pthread_t threads[TK_ARRAY_LEN(attacks) + 1];
    char data[] = "/tmp/tinkc-soak-XXXXXX", command[96], detail[256], program[4096];
    const char *slash = strrchr(argv[0], '/');
    (void)snprintf(program, sizeof(program), "%.*s/../tinkc",
                   slash != NULL ? (int)(slash - argv[0]) : 1,
                   slash != NULL ? argv[0] : ".");
    struct rlimit limit = {SOAK_FILES, SOAK_FILES};
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    (void)signal(SIGPIPE, SIG_IGN);
    if (mkdtemp(data) == NULL) {
        soak_die("no directory");
    }
    start_server(argc > 1 ? argv[1] : program, data);
    prepare();
    double began = soak_now_s();
    (void)pthread_create(&threads[0], NULL, watch, NULL);
    for (size_t i = 0; i < TK_ARRAY_LEN(attacks); i++) {
        static void (*each[TK_ARRAY_LEN(attacks)])(void);
        each[i] = attacks[i];
        (void)pthread_create(&threads[i + 1], NULL, attack, &each[i]);
    }
    size_t answered = serve_honest();
    double took = soak_now_s() - began;
    atomic_store(&at.stop, true);
    double peak = status_mib("VmHWM:");
    peak = peak > at.peak_mib ? peak : at.peak_mib;
    (void)snprintf(
        detail, sizeof(detail),
        "%.0f MiB resident at most (bar %.0f), %.0f counted; %d honest clients had "
        "%d answers or more, %zu requests in %.0f s; %zu attacks, %zu refused",
        peak, BAR * MEMORY_MIB, counted_mib(), HONEST, ROUNDS, answered, took,
        atomic_load(&at.sent), atomic_load(&at.refused));
    int result = soak_report("server under attack", peak < BAR * MEMORY_MIB, detail);
    (void)kill(at.pid, SIGKILL);
    (void)waitpid(at.pid, NULL, 0);
    (void)snprintf(command, sizeof(command), "rm -rf %s", data);
    (void)!system(command);
    return result;
}
