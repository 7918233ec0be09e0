/* What the gateway adds to a request: agents with a backend that answers at once, one request at a time over
 * HTTP on the loopback, each turn written to the log before its answer. The time is the whole one, from the
 * first byte that is sent to the last that comes back. Of several rounds the one with the lowest p99 counts:
 * other programs only ever make it slower.
 *
 * Links: gateway */
#include "bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ftw.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "gateway/gw.h"
#include "gateway/gw_episode.h"
#include "httpd/hd_http.h"
#include "httpd/hd_reply.h"
#include "text/tok/tok_embed.h"

#define ROUNDS   7
#define EPISODES 50 /* of one round */
#define TURNS    20 /* of one episode: the conversation grows */
#define BAR_MS   1.0
#define CONTEXT  4096
#define SAYS     "Yes, Monday at ten is free."
#define ASKS     "And is there a table for four people near the window on the day after that?"

typedef struct app {
    hd_budget memory;
    hd_work *work;
    hd_http *http;
    gw *gateway;
    gw_model *model;
    int32_t ids[64];
    float logprobs[64];
    size_t n;
} app;

static void die(const char *what)
{
    fprintf(stderr, "bench_gateway: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void must(tinkc_code code, const tk_err *err)
{
    if (code != TINKC_OK) {
        fprintf(stderr, "bench_gateway: %s\n", err->message);
        exit(1);
    }
}

static double wall_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* ---- the backend: says the same at once ---- */

static void free_model(gw_model *model)
{
    tk_tok_free(model->tok);
    tk_chat_template_free(model->tpl);
    tk_free(model->end_ids);
    tk_free(model);
}

static gw_model *find_model(void *user, tk_str name, ca_fault *fault)
{
    app *it = user;
    (void)name;
    (void)fault;
    return gw_model_retain(it->model);
}

static tinkc_code list_models(void *user,
                              void (*each)(void *list, tk_str name, size_t context),
                              void *list, tk_err *err)
{
    (void)user;
    (void)err;
    each(list, TK_STR("m"), CONTEXT);
    return TINKC_OK;
}

static bool sample(gw_sample **out, void *user, gw_model *model,
                   const gw_sample_request *request, const gw_listener *listener,
                   ca_fault *fault)
{
    app *it = user;
    (void)model;
    (void)request;
    (void)fault;
    const gw_sequence sequence = {
        .ids = it->ids, .logprobs = it->logprobs, .n = it->n, .is_stopped = true};
    const gw_sample_result result = {.sequences = &sequence, .n = 1};
    *out = user; /* any address: it has ended before anybody can cancel it */
    listener->on_done(listener->user, &result, NULL);
    return true;
}

static void cancel(void *user, gw_sample *sample)
{
    (void)user;
    (void)sample;
}

static void make_model(app *it)
{
    static char name[] = "m";
    tk_str json = {NULL, 0}, config = {NULL, 0};
    tk_tok_ids ids = {NULL, 0, 0, NULL};
    tk_err err = TK_ERR_INIT;
    gw_model *model = tk_zalloc(sizeof(*model));
    if (model == NULL ||
        !tk_tok_embed_find(&json, &config, TK_STR("tinkc/pebble-llama-2m"))) {
        die("no model");
    }
    atomic_init(&model->owners, 1);
    model->free = free_model;
    model->name = model->weights = name;
    must(tk_tok_open_memory(&model->tok, json, config, (tk_str){NULL, 0}, &err), &err);
    must(tk_chat_template_of(&model->tpl, tk_tok_get_config(model->tok), NULL, &err),
         &err);
    model->context = CONTEXT;
    model->end_ids = tk_array(1, sizeof(*model->end_ids));
    must(tk_tok_encode(model->tok, TK_STR(SAYS "<|end|>"), &ids, &err), &err);
    if (model->end_ids == NULL || ids.n > TK_ARRAY_LEN(it->ids)) {
        die("no ids");
    }
    model->end_ids[0] = ids.ids[ids.n - 1];
    model->n_end_ids = 1;
    it->n = ids.n;
    for (size_t i = 0; i < ids.n; i++) {
        it->ids[i] = ids.ids[i];
        it->logprobs[i] = -0.123456F * (float)i;
    }
    tk_tok_ids_dispose(&ids);
    it->model = model;
}

/* ---- the server ---- */

static hd_verdict handle(hd_request *request)
{
    const app *it = request->app;
    return gw_handle(it->gateway, request);
}

static const hd_route rows[] = {GW_ROUTES(handle)};
static const hd_routes routes = {rows, TK_ARRAY_LEN(rows)};

static void open_app(app *it, const char *directory)
{
    tk_err err = TK_ERR_INIT;
    memset(it, 0, sizeof(*it));
    make_model(it);
    hd_budget_init(&it->memory, 256 * TK_MIB, NULL);
    const gw_config gateway = {
        .backend = {it, find_model, list_models, sample, cancel},
        .budget = &it->memory,
        .episodes = directory,
    };
    must(gw_new(&it->gateway, &gateway, &err), &err);
    must(hd_work_new(&it->work, &hd_route_dispatch, &err), &err);
    const hd_http_config config = {.host = "127.0.0.1",
                                   .routes = &routes,
                                   .work = it->work,
                                   .budget = &it->memory,
                                   .app = it};
    must(hd_http_new(&it->http, &config, &err), &err);
    must(hd_http_start(it->http, &err), &err);
}

static void close_app(app *it)
{
    hd_http_quiesce(it->http);
    hd_http_stop(it->http);
    hd_work_free(it->work);
    gw_free(it->gateway);
    hd_http_free(it->http);
    gw_model_release(it->model);
}

/* ---- the client ---- */

static int connect_to(unsigned port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0) {
        die("connect");
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return fd;
}

/* Sends a request and reads its answer; 200 with a Content-Length is expected. */
static void exchange(int fd, const char *bytes, size_t n)
{
    static char answer[65536];
    size_t have = 0, want = sizeof(answer) - 1;
    if (send(fd, bytes, n, 0) != (ssize_t)n) {
        die("send");
    }
    while (have < want) {
        ssize_t got = recv(fd, answer + have, sizeof(answer) - 1 - have, 0);
        if (got <= 0) {
            die("recv");
        }
        have += (size_t)got;
        answer[have] = '\0';
        const char *end = strstr(answer, "\r\n\r\n");
        const char *length = strstr(answer, "Content-Length: ");
        if (end != NULL && length != NULL) {
            want = (size_t)(end + 4 - answer) + strtoul(length + 16, NULL, 10);
        }
    }
    if (strncmp(answer, "HTTP/1.1 200", 12) != 0) {
        fprintf(stderr, "bench_gateway: %s\n", answer);
        exit(1);
    }
}

/* The request of a turn, as a client writes it. */
static size_t write_request(char *out, size_t size, int round, int episode, int turn)
{
    static char body[65536];
    size_t n = (size_t)snprintf(body, sizeof(body),
                                "{\"model\":\"m\",\"max_tokens\":64,\"messages\":[");
    for (int i = 0; i <= turn; i++) {
        n += (size_t)snprintf(
            body + n, sizeof(body) - n,
            "%s{\"role\":\"user\",\"content\":\"%d: " ASKS "\"}",
            i > 0 ? ",{\"role\":\"assistant\",\"content\":\"" SAYS "\"}," : "", i);
    }
    n += (size_t)snprintf(body + n, sizeof(body) - n, "]}");
    return (size_t)snprintf(out, size,
                            "POST /e/bench-%d-%d/v1/chat/completions HTTP/1.1\r\n"
                            "Host: 127.0.0.1\r\nContent-Type: application/json\r\n"
                            "Content-Length: %zu\r\n\r\n%s",
                            round, episode, n, body);
}

/* ---- all of it ---- */

static void run_round(double *ms, int fd, int round)
{
    static char request[70000];
    for (int episode = 0; episode < EPISODES; episode++) {
        for (int turn = 0; turn < TURNS; turn++) {
            size_t n = write_request(request, sizeof(request), round, episode, turn);
            double begin = wall_ms();
            exchange(fd, request, n);
            ms[episode * TURNS + turn] = wall_ms() - begin;
        }
    }
    qsort(ms, EPISODES * TURNS, sizeof(*ms), bench_compare);
}

/* Whether the last episode of each round is one chain of all its turns. */
static void check(app *it)
{
    for (int round = 0; round < ROUNDS; round++) {
        char name[64];
        tk_buf out;
        tk_err err = TK_ERR_INIT;
        tk_buf_init(&out, 64 * TK_MIB);
        (void)snprintf(name, sizeof(name), "bench-%d-%d", round, EPISODES - 1);
        must(
            gw_episodes_export(&out, gw_get_episodes(it->gateway), tk_str_of(name), &err),
            &err);
        const char *text = tk_buf_cstr(&out);
        if (text == NULL || strstr(text, "17,18,19],\"weights\"") == NULL) {
            fprintf(stderr, "bench_gateway: %s is not one chain\n", name);
            exit(1);
        }
        tk_buf_dispose(&out);
    }
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *walk)
{
    (void)st;
    (void)flag;
    (void)walk;
    return remove(path);
}

int main(void)
{
    static double ms[EPISODES * TURNS];
    char directory[] = "/tmp/tinkc-bench-XXXXXX", detail[200];
    double p99 = 1e9, median = 0;
    app it;
    if (mkdtemp(directory) == NULL) {
        die("mkdtemp");
    }
    open_app(&it, directory);
    int fd = connect_to(hd_http_port(it.http));
    for (int round = 0; round < ROUNDS; round++) {
        run_round(ms, fd, round);
        double this = ms[EPISODES * TURNS * 99 / 100];
        if (this < p99) {
            p99 = this;
            median = ms[EPISODES * TURNS / 2];
        }
    }
    (void)close(fd);
    check(&it);
    close_app(&it);
    (void)nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    (void)snprintf(
        detail, sizeof(detail),
        "%.3f ms at p99 (median %.3f) for a turn of an episode, the log and HTTP included; "
        "at most %.0f ms",
        p99, median, BAR_MS);
    bench_report("gateway: time of a request", BAR_MS / p99, 1.0, detail);
    return 0;
}
