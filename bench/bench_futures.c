/* What it costs to wait for 2,000 samples that take long: one poll for all of a sampling
 * session (retrieve_futures, SDK 0.36) against one poll each (0.25). Both clients run at
 * the same time against the same server, each in its own process, so that requests and CPU
 * of each can be told apart. The server is ours; its engine is held for HOLD_S while it
 * answers polls after POLL_MS: a sample of five minutes and polls of 40 s, eight times
 * faster. Also prints the longest time between two heartbeats, which are due every 10 s, and
 * how long a sample takes that is awaited alone: it needs one request more than a poll of its
 * own.
 *
 * Links: peer client server */
#include "bench.h"

#include <ftw.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tinkc/hooks.h>
#include <tinkc/sampling.h>

#include "server/run/srv_embed.h"
#include "server/srv.h"
#include "support/fakeapi.h"

#define SAMPLES 2000
#define HOLD_S  38
#define POLL_MS 5000
#define FILES   (3 * SAMPLES)
#define ALONE   101 /* samples that are awaited one after the other */

static void die(const char *what)
{
    fprintf(stderr, "bench_futures: %s\n", what);
    exit(1);
}

static double wall_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- the server: its own process ---- */

typedef struct held {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool open;
} held;

static void on_step(void *user, srv_step step)
{
    held *h = user;
    (void)step;
    pthread_mutex_lock(&h->lock);
    while (!h->open) {
        (void)pthread_cond_wait(&h->changed, &h->lock);
    }
    pthread_mutex_unlock(&h->lock);
}

static int remove_one(const char *path, const struct stat *info, int type,
                      struct FTW *where)
{
    (void)info;
    (void)type;
    (void)where;
    return remove(path);
}

/* Writes its URL to `output`; lets the engine go at the first byte of `input`, ends with
 * it. */
static void serve(int input, int output)
{
    static held h = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
    char data[] = "/tmp/tinkc-bench-XXXXXX", byte = 0;
    srv *server = NULL;
    tk_err err = TK_ERR_INIT;
    if (mkdtemp(data) == NULL) {
        die("no directory");
    }
    const srv_options options = {.data = data,
                                 .poll_ms = POLL_MS,
                                 .threads = 1,
                                 .on_step = on_step,
                                 .hook_user = &h};
    if (srv_start(&server, &options, &err) != TINKC_OK) {
        die(err.message);
    }
    char url[128] = {0};
    (void)snprintf(url, sizeof(url), "%s", srv_url(server));
    if (write(output, url, sizeof(url)) != (ssize_t)sizeof(url)) {
        die("no parent");
    }
    (void)!read(input, &byte, 1);
    pthread_mutex_lock(&h.lock);
    h.open = true;
    pthread_cond_broadcast(&h.changed);
    pthread_mutex_unlock(&h.lock);
    (void)!read(input, &byte, 1);
    srv_stop(&server);
    (void)nftw(data, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    exit(0);
}

/* ---- a client: its own process ---- */

/* What it tells the parent: first that all samples are accepted, then the rest. */
typedef struct outcome {
    double cpu_us;    /* per sample */
    uint64_t submits; /* requests */
    uint64_t polls;   /* retrieve_future */
    uint64_t shared;  /* retrieve_futures */
    double longest_s; /* between two heartbeats */
    uint64_t beats;
    double alone_ms; /* median */
} outcome;

typedef struct watch {
    pthread_mutex_t lock;
    outcome out;
    int64_t beat_ns;
} watch;

static void on_event(const tinkc_hook *event, void *user)
{
    watch *w = user;
    if (event->event != TINKC_HOOK_START || event->kind != TINKC_SPAN_HTTP) {
        return;
    }
    pthread_mutex_lock(&w->lock);
    w->out.submits += strcmp(event->name, "asample") == 0;
    w->out.polls += strcmp(event->name, "retrieve_future") == 0;
    w->out.shared += strcmp(event->name, "retrieve_futures") == 0;
    if (strcmp(event->name, "heartbeat") == 0) {
        double gap = w->beat_ns > 0 ? (double)(event->time_ns - w->beat_ns) / 1e9 : 0;
        w->out.longest_s = TK_MAX(w->out.longest_s, gap);
        w->out.beats++;
        w->beat_ns = event->time_ns;
    }
    pthread_mutex_unlock(&w->lock);
}

static tinkc_service *open_service(const char *url, const char *level, watch *w)
{
    tinkc_config *config = NULL;
    tinkc_service *service = NULL;
    bool ok = tinkc_config_new(&config, NULL) == TINKC_OK &&
              tinkc_config_set(config, "base_url", url, NULL) == TINKC_OK &&
              tinkc_config_set(config, "api_key", "tml-bench", NULL) == TINKC_OK &&
              tinkc_config_set(config, "sdk_version", level, NULL) == TINKC_OK &&
              tinkc_config_set(config, "proxy", "", NULL) == TINKC_OK &&
              tinkc_config_set(config, "telemetry", "false", NULL) == TINKC_OK &&
              tinkc_service_open(&service, config, NULL) == TINKC_OK &&
              tinkc_service_add_hook(service, on_event, w, NULL, NULL) == TINKC_OK;
    tinkc_config_free(&config);
    if (!ok) {
        die("no client");
    }
    return service;
}

static void wait_accepted(tinkc_future *future)
{
    tinkc_wait wait = TINKC_WAIT_INIT;
    do {
        if (tinkc_future_status(&wait, future, NULL) != TINKC_OK) {
            die("a sample failed");
        }
        (void)usleep(1000);
    } while (wait.request_id[0] == '\0');
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double alone_ms(tinkc_sampling *sampling, const tinkc_model_input *prompt,
                       const tinkc_sampling_params *params)
{
    double ms[ALONE];
    for (size_t i = 0; i < ALONE; i++) {
        tinkc_samples *samples = NULL;
        double start = wall_s();
        if (tinkc_sampling_sample_wait(&samples, sampling, prompt, params, NULL, NULL) !=
            TINKC_OK) {
            die("a sample failed");
        }
        ms[i] = (wall_s() - start) * 1e3;
        tinkc_samples_free(&samples);
    }
    qsort(ms, ALONE, sizeof(*ms), by_value);
    return ms[ALONE / 2];
}

static void sample(const char *url, const char *level, int output)
{
    static watch w = {.lock = PTHREAD_MUTEX_INITIALIZER};
    static tinkc_future *futures[SAMPLES];
    static const int32_t tokens[] = {5, 7, 11};
    tinkc_sampling *sampling = NULL;
    tinkc_model_input *prompt = NULL;
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    params.max_tokens = 1;
    tinkc_service *service = open_service(url, level, &w);
    if (tinkc_service_create_sampling_wait(&sampling, service, SRV_EMBED_NAME, NULL,
                                           NULL) != TINKC_OK ||
        tinkc_model_input_from_tokens(&prompt, tokens, TK_ARRAY_LEN(tokens), NULL) !=
            TINKC_OK) {
        die("no sampler");
    }
    double start = bench_cpu_ns();
    for (size_t i = 0; i < SAMPLES; i++) {
        futures[i] = tinkc_sampling_sample(sampling, prompt, &params, NULL);
    }
    for (size_t i = 0; i < SAMPLES; i++) {
        wait_accepted(futures[i]);
    }
    if (write(output, "r", 1) != 1) {
        die("no parent");
    }
    for (size_t i = 0; i < SAMPLES; i++) {
        if (tinkc_future_wait(futures[i], TINKC_FOREVER) != TINKC_OK) {
            die("a sample failed");
        }
        tinkc_future_free(&futures[i]);
    }
    double cpu_ns = bench_cpu_ns() - start;
    pthread_mutex_lock(&w.lock);
    outcome out = w.out;
    pthread_mutex_unlock(&w.lock);
    out.cpu_us = cpu_ns / SAMPLES / 1e3;
    out.alone_ms = alone_ms(sampling, prompt, &params);
    if (write(output, &out, sizeof(out)) != (ssize_t)sizeof(out)) {
        die("no parent");
    }
    tinkc_model_input_free(&prompt);
    tinkc_sampling_close(&sampling);
    tinkc_service_close(&service);
    exit(0);
}

/* ---- the race ---- */

typedef struct process {
    pid_t pid;
    int input, output; /* what we write, what we read */
} process;

static process start(const char *url, const char *level)
{
    int in[2], out[2];
    (void)fflush(stdout);
    if (pipe(in) != 0 || pipe(out) != 0) {
        die("no pipe");
    }
    process p = {fork(), in[1], out[0]};
    if (p.pid == 0) {
        close(in[1]);
        close(out[0]);
        if (level == NULL) {
            serve(in[0], out[1]);
        }
        sample(url, level, out[1]);
    }
    close(in[0]);
    close(out[1]);
    return p;
}

static void read_all(const process *p, void *out, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t got = read(p->output, (char *)out + at, n - at);
        if (got <= 0) {
            die("a process ended early");
        }
        at += (size_t)got;
    }
}

static double requests(const outcome *o)
{
    return (double)(o->submits + o->polls + o->shared) / SAMPLES;
}

static void report(const outcome *one, const outcome *each)
{
    char detail[256];
    (void)snprintf(detail, sizeof(detail),
                   "%.2f requests per sample (%llu retrieve_futures, %llu "
                   "retrieve_future), with one poll each %.2f",
                   requests(one), (unsigned long long)one->shared,
                   (unsigned long long)one->polls, requests(each));
    bench_report("futures.requests_per_sample", requests(each) / requests(one), 2,
                 detail);
    (void)snprintf(detail, sizeof(detail),
                   "%.1f us of CPU per sample, %d in flight for %d s; with one poll each "
                   "%.1f us",
                   one->cpu_us, SAMPLES, HOLD_S, each->cpu_us);
    bench_report("futures.cpu_per_sample", each->cpu_us / one->cpu_us, 1, detail);
    (void)snprintf(detail, sizeof(detail),
                   "%.2f s between two of %llu heartbeats, with one poll each %.2f s of "
                   "%llu; due every 10 s",
                   one->longest_s, (unsigned long long)one->beats, each->longest_s,
                   (unsigned long long)each->beats);
    bench_note("futures.longest_heartbeat_gap", detail);
    (void)snprintf(detail, sizeof(detail),
                   "%.2f ms for a sample that is awaited alone, with one poll each %.2f "
                   "ms (medians of %d)",
                   one->alone_ms, each->alone_ms, ALONE);
    bench_note("futures.alone", detail);
}

int main(void)
{
    char url[128], byte = 0;
    outcome one, each;
    if (!fakeapi_allow_files(FILES)) {
        die("too few files");
    }
    process server = start(NULL, NULL);
    read_all(&server, url, sizeof(url));
    process clients[] = {start(url, "0.36.0"), start(url, "0.25.0")};
    read_all(&clients[0], &byte, 1);
    read_all(&clients[1], &byte, 1);
    for (double end = wall_s() + HOLD_S; wall_s() < end;) {
        (void)usleep(100000);
    }
    if (write(server.input, "g", 1) != 1) {
        die("no server");
    }
    read_all(&clients[0], &one, sizeof(one));
    read_all(&clients[1], &each, sizeof(each));
    report(&one, &each);
    close(server.input);
    (void)waitpid(clients[0].pid, NULL, 0);
    (void)waitpid(clients[1].pid, NULL, 0);
    (void)waitpid(server.pid, NULL, 0);
    return 0;
}
