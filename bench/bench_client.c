/* What a sample costs: the CPU of its round trip (two POSTs: asample, retrieve_future).
 *
 * Against a bare libcurl loop (curl_loop.h) with as many in flight, the same bytes on the
 * wire and connections kept in the same way; ours also encodes 512 tokens, reads the 64
 * that come back, hands both over between two threads and keeps limits, retries and
 * progress. With 2,000 polls parked against none. And requests per second by the number
 * in flight. The server is a separate process: only the CPU of the client counts.
 *
 * Links: peer client libcurl */
#include "bench.h"

#include <signal.h>
#include <string.h>

#include <tinkc/sampling.h>

#include "curl_loop.h"
#include "peer_proc.h"
#include "support/fakeapi.h"

#define PARKED   2000
#define MOST     10000
#define ROUNDS   100 /* samples of one repetition */
#define RACES    101 /* repetitions of the race that has the closest bar */
#define ACTIVE   8
#define TOKENS   512
#define DELAY_MS 1 /* of the server, see peer.c */
#define LINES    40
#define SUBMIT   "/api/v1/asample"
#define POLL     "/api/v1/retrieve_future"

static void die(const char *what)
{
    fprintf(stderr, "bench_client: %s\n", what);
    exit(1);
}

static double wall_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* ---- ours ---- */

typedef struct client {
    tinkc_service *service;
    tinkc_sampling *sampling;
    tinkc_model_input *prompt;
    size_t in_flight; /* of one repetition */
    tinkc_future *parked[PARKED];
} client;

static void open_client(client *c, const char *url, const char *loop)
{
    static int32_t tokens[TOKENS];
    tinkc_config *config = NULL;
    for (int32_t i = 0; i < TOKENS; i++) {
        tokens[i] = 1000 + 17 * i;
    }
    bool ok = tinkc_config_new(&config, NULL) == TINKC_OK &&
              tinkc_config_set(config, "base_url", url, NULL) == TINKC_OK &&
              tinkc_config_set(config, "api_key", "tml-bench", NULL) == TINKC_OK &&
              tinkc_config_set(config, "proxy", "", NULL) == TINKC_OK &&
              tinkc_config_set(config, "loop", loop, NULL) == TINKC_OK &&
              tinkc_service_open(&c->service, config, NULL) == TINKC_OK &&
              tinkc_service_create_sampling_wait(&c->sampling, c->service, "m", NULL,
                                                 NULL) == TINKC_OK &&
              tinkc_model_input_from_tokens(&c->prompt, tokens, TOKENS, NULL) == TINKC_OK;
    tinkc_config_free(&config);
    if (!ok) {
        die("no client");
    }
    c->in_flight = ACTIVE;
}

static void close_client(client *c)
{
    tinkc_model_input_free(&c->prompt);
    tinkc_sampling_close(&c->sampling);
    tinkc_service_close(&c->service);
}

/* A moving window of `in_flight` samples over n. */
static void sample_many(client *c, size_t n)
{
    static tinkc_future *ring[MOST];
    size_t width = TK_MIN(c->in_flight, n);
    for (size_t i = 0; i < n + width; i++) {
        tinkc_future **slot = &ring[i % width];
        if (i >= width) {
            if (tinkc_future_wait(*slot, TINKC_FOREVER) != TINKC_OK) {
                die("a sample failed");
            }
            tinkc_future_free(slot);
        }
        if (i < n) {
            *slot = tinkc_sampling_sample(c->sampling, c->prompt, NULL, NULL);
        }
    }
}

static void run_ours(void *user)
{
    sample_many(user, ROUNDS);
}

static void park(client *c)
{
    for (size_t i = 0; i < PARKED; i++) {
        c->parked[i] = tinkc_sampling_sample(c->sampling, c->prompt, NULL, NULL);
    }
    for (size_t i = 0; i < PARKED; i++) {
        tinkc_wait wait = TINKC_WAIT_INIT;
        do {
            (void)tinkc_future_status(&wait, c->parked[i], NULL);
            (void)usleep(100);
        } while (wait.stage != TINKC_STAGE_RUNNING);
    }
}

static void unpark(client *c)
{
    for (size_t i = 0; i < PARKED; i++) {
        tinkc_future_cancel(c->parked[i]);
        tinkc_future_free(&c->parked[i]);
    }
}

/* ---- the bare loop ---- */

/* What libcurl writes itself is left to it. */
static bool is_libcurls(const char *name)
{
    static const char *const names[] = {"host", "content-length", "accept-encoding"};
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        if (tk_str_is_nocase(tk_str_of(name), names[i])) {
            return true;
        }
    }
    return false;
}

typedef struct recorded {
    char url[160];
    char text[LINES][256];
    const char *lines[LINES];
    curl_loop_request request;
} recorded;

static void record(recorded *out, fakeapi *api, const char *url, const char *path)
{
    const fakeapi_request *seen = fakeapi_nth(api, "POST", path, 0);
    size_t n = 0;
    for (size_t i = 0; i < seen->headers_n && n < LINES; i++) {
        const fakeapi_header_line *line = &seen->headers[i];
        if (!is_libcurls(line->name)) {
            (void)snprintf(out->text[n], sizeof(out->text[n]), "%s: %s", line->name,
                           line->value);
            out->lines[n] = out->text[n];
            n++;
        }
    }
    (void)snprintf(out->url, sizeof(out->url), "%s%s", url, path);
    out->request = (curl_loop_request){.url = out->url,
                                       .lines = out->lines,
                                       .lines_n = n,
                                       .body = seen->body,
                                       .body_n = seen->body_n};
}

/* Takes one sample of ours from a peer that only listens, and repeats its bytes. */
static curl_loop *open_bare(const char *url)
{
    static recorded submit, poll;
    static client c;
    fakeapi *api = fakeapi_start();
    fakeapi_default(api, "*", "*",
                    &(fakeapi_step){.body = "{\"session_id\":\"S\",\"request_id\":\"r\","
                                            "\"sampling_session_id\":\"s\"}"});
    open_client(&c, fakeapi_url(api), "thread");
    tinkc_future *future = tinkc_sampling_sample(c.sampling, c.prompt, NULL, NULL);
    (void)fakeapi_wait_for(api, "POST", POLL, 1);
    record(&submit, api, url, SUBMIT);
    record(&poll, api, url, POLL);
    curl_loop *loop = curl_loop_new(&submit.request, &poll.request, ACTIVE);
    tinkc_future_free(&future);
    close_client(&c);
    fakeapi_stop(&api);
    return loop;
}

static void run_bare(void *user)
{
    curl_loop_run(user, ROUNDS);
}

/* ---- the races ---- */

typedef struct contest {
    void (*run)(void *user);
    void *user;
    double us[RACES];
    double times[RACES]; /* what the bare loop needs, round by round */
} contest;

static void run_contest(contest *sides, size_t n)
{
    for (int i = -1; i < RACES; i++) {
        double us[4] = {0};
        for (size_t k = 0; k < n; k++) {
            us[k] = bench_time_ns(sides[k].run, sides[k].user) / ROUNDS / 1e3;
        }
        for (size_t k = 0; k < n && i >= 0; k++) {
            sides[k].us[i] = us[k];
            sides[k].times[i] = us[k] / us[0];
        }
    }
}

static void report_contest(const char *name, contest *ours, contest *bare)
{
    char detail[200];
    double times = bench_median(ours->times, RACES);
    (void)snprintf(detail, sizeof(detail),
                   "%.1f us of CPU per sample with %d in flight, bare libcurl %.1f us: "
                   "%.2f times (median of %d rounds)",
                   bench_median(ours->us, RACES), ACTIVE, bench_median(bare->us, RACES),
                   times, RACES);
    bench_report(name, 1 / times, 1 / 1.5, detail);
}

/* Twice: on the caller's thread, as the bare loop works, and on a separate thread, as the
 * client works by default, with the cost of waking two threads. The rounds are compared
 * one by one, as a neighbour may disturb some of them. */
static void race_bare(void)
{
    static client threaded, manual;
    static contest sides[3];
    peer_proc peer;
    peer_start(&peer, 0, DELAY_MS);
    curl_loop *bare = open_bare(peer.url);
    open_client(&threaded, peer.url, "thread");
    open_client(&manual, peer.url, "manual");
    sides[0].run = run_bare;
    sides[0].user = bare;
    sides[1].run = run_ours;
    sides[1].user = &manual;
    sides[2].run = run_ours;
    sides[2].user = &threaded;
    run_contest(sides, 3);
    report_contest("client.sample_vs_bare_libcurl", &sides[1], &sides[0]);
    report_contest("client.sample_thread_vs_bare_libcurl", &sides[2], &sides[0]);
    curl_loop_free(&bare);
    close_client(&threaded);
    close_client(&manual);
    peer_stop(&peer);
}

static void race_parked(void)
{
    static client busy, idle;
    peer_proc with, without;
    peer_start(&with, PARKED, DELAY_MS);
    peer_start(&without, 0, DELAY_MS);
    open_client(&busy, with.url, "thread");
    open_client(&idle, without.url, "thread");
    park(&busy);
    bench_side parked = {run_ours, &busy, {0}}, free_side = {run_ours, &idle, {0}};
    double parked_ns = 0, free_ns = 0;
    char detail[160];
    bench_race(&parked, &free_side, &parked_ns, &free_ns);
    (void)snprintf(detail, sizeof(detail),
                   "%.1f us of CPU per sample with %d polls parked, %.1f us with none",
                   parked_ns / ROUNDS / 1e3, PARKED, free_ns / ROUNDS / 1e3);
    bench_report("client.sample_parked_vs_unparked", free_ns / parked_ns, 0.5, detail);
    unpark(&busy);
    close_client(&busy);
    close_client(&idle);
    peer_stop(&with);
    peer_stop(&without);
}

static void rates(void)
{
    static const size_t widths[] = {1, 64, 400, 2000, MOST};
    static client c;
    peer_proc peer;
    char detail[256];
    size_t at = 0;
    peer_start(&peer, 0, 0);
    open_client(&c, peer.url, "thread");
    for (size_t i = 0; i < TK_ARRAY_LEN(widths); i++) {
        size_t n = TK_MAX(2 * widths[i], 2000);
        c.in_flight = widths[i];
        sample_many(&c, widths[i]); /* opens the connections */
        double start = wall_ns();
        sample_many(&c, n);
        double rate = 2.0 * (double)n / ((wall_ns() - start) / 1e9);
        at += (size_t)snprintf(detail + at, sizeof(detail) - at, "%s%zu in flight %.0f/s",
                               i > 0 ? ", " : "requests: ", widths[i], rate);
    }
    bench_note("client.requests_per_second", detail);
    close_client(&c);
    peer_stop(&peer);
}

/* For bench_sdk.py: microseconds of CPU per sample on another server. */
static int sample_there(const char *url, size_t n)
{
    static client c;
    open_client(&c, url, "thread");
    sample_many(&c, 40);
    double start = bench_cpu_ns();
    sample_many(&c, n);
    printf("%.3f\n", (bench_cpu_ns() - start) / (double)n / 1e3);
    close_client(&c);
    return 0;
}

int main(int argc, char **argv)
{
    (void)signal(SIGPIPE, SIG_IGN);
    if (argc == 3) {
        return sample_there(argv[1], strtoul(argv[2], NULL, 10));
    }
    if (!fakeapi_allow_files(MOST + 1000)) {
        die("too few files");
    }
    race_bare();
    race_parked();
    rates();
    return 0;
}
