/* CPU of a sample's round trip through the client (two POSTs: asample, retrieve_future),
 * against a bare libcurl loop that sends the same bytes; with 2,000 polls parked against
 * none; and requests per second by the number in flight. The server is the scripted peer
 * of the tests in a process of its own: only the CPU of the client is counted.
 *
 * Links: peer client libcurl */
#include "bench.h"

#include <curl/curl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tinkc/sampling.h>

#include "support/fakeapi.h"
#include "wire/pb_sample.h"

#define PARKED 2000
#define ROUNDS 100 /* samples of one repetition */
#define ACTIVE 8
#define TOKENS 512
#define SUBMIT "/api/v1/asample"
#define POLL   "/api/v1/retrieve_future"

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

/* ---- the server ---- */

static void encode_result(tk_buf *out)
{
    static int32_t tokens[64];
    static float logprobs[64];
    tk_sequence sequence = {.stop_reason = TK_STOP_LENGTH,
                            .tokens = {tokens, 64},
                            .has_logprobs = true,
                            .logprobs = {logprobs, 64}};
    tk_sample_response response = {.sequences = &sequence, .sequences_n = 1};
    tk_buf_init(out, TK_MIB);
    if (tk_pb_sample_encode(out, &response, NULL) != TINKC_OK) {
        die("no result");
    }
}

static void say(fakeapi *api, const char *path, const char *text)
{
    fakeapi_default(api, "POST", path, &(fakeapi_step){.body = text});
}

/* The first `parked` polls stay without an answer. */
static void serve(int fd, unsigned parked)
{
    tk_buf result;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    encode_result(&result);
    if (!fakeapi_allow_files(2 * PARKED + 512)) {
        die("too few files");
    }
    fakeapi *api = fakeapi_start();
    say(api, "/api/v1/client/config", "{\"sample_max_concurrent_requests\":5000}");
    say(api, "/api/v1/client/dynamic_config", "{}");
    say(api, "/api/v1/create_session", "{\"session_id\":\"S\"}");
    say(api, "/api/v1/session_heartbeat", "{}");
    say(api, "/api/v1/create_sampling_session", "{\"sampling_session_id\":\"s\"}");
    say(api, SUBMIT, "{\"request_id\":\"r\"}");
    if (parked > 0) {
        fakeapi_reply(api, "POST", POLL,
                      &(fakeapi_step){.repeat = parked, .gate = fakeapi_gate_new(api)});
    }
    fakeapi_default(api, "POST", POLL, &fakeapi_proto(result.p, result.n));
    char url[64] = {0};
    (void)snprintf(url, sizeof(url), "%s", fakeapi_url(api));
    if (write(fd, url, sizeof(url)) != (ssize_t)sizeof(url)) {
        die("no pipe");
    }
    for (;;) {
        (void)sleep(1);
        fakeapi_forget(api); /* it remembers every request otherwise */
    }
}

typedef struct server {
    pid_t pid;
    char url[64];
} server;

static void start_server(server *s, unsigned parked)
{
    int fds[2];
    if (pipe(fds) != 0) {
        die("no pipe");
    }
    s->pid = fork();
    if (s->pid == 0) {
        close(fds[0]);
        serve(fds[1], parked);
    }
    close(fds[1]);
    if (read(fds[0], s->url, sizeof(s->url)) != (ssize_t)sizeof(s->url)) {
        die("the server did not start");
    }
    close(fds[0]);
}

static void stop_server(server *s)
{
    (void)kill(s->pid, SIGKILL);
    (void)waitpid(s->pid, NULL, 0);
}

/* ---- ours ---- */

typedef struct client {
    tinkc_service *service;
    tinkc_sampling *sampling;
    tinkc_model_input *prompt;
    size_t in_flight; /* of one repetition */
    tinkc_future *parked[PARKED];
} client;

static void open_client(client *c, const server *s)
{
    static int32_t tokens[TOKENS];
    tinkc_config *config = NULL;
    for (int32_t i = 0; i < TOKENS; i++) {
        tokens[i] = 1000 + 17 * i;
    }
    bool ok = tinkc_config_new(&config, NULL) == TINKC_OK &&
              tinkc_config_set(config, "base_url", s->url, NULL) == TINKC_OK &&
              tinkc_config_set(config, "api_key", "tml-bench", NULL) == TINKC_OK &&
              tinkc_config_set(config, "proxy", "", NULL) == TINKC_OK &&
              tinkc_service_open(&c->service, config, NULL) == TINKC_OK &&
              tinkc_service_create_sampling_wait(&c->sampling, c->service, "m", NULL,
                                                 NULL) == TINKC_OK &&
              tinkc_model_input_from_tokens(&c->prompt, tokens, TOKENS, NULL) == TINKC_OK;
    tinkc_config_free(&config);
    if (!ok) {
        die("no client");
    }
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
    static tinkc_future *ring[PARKED];
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
            (void)tinkc_future_status(c->parked[i], &wait);
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

typedef struct bare {
    CURL *easy;
    struct curl_slist *headers;
    char submit_url[128], poll_url[128];
    char body[16 * 1024];
    tk_buf answer;
} bare;

static size_t on_data(char *data, size_t size, size_t n, void *user)
{
    tk_buf_put(user, data, size * n);
    return size * n;
}

static void open_bare(bare *b, const server *s)
{
    size_t at = 0;
    b->easy = curl_easy_init();
    b->headers = curl_slist_append(NULL, "Content-Type: application/json");
    b->headers = curl_slist_append(b->headers, "X-API-Key: tml-bench");
    b->headers = curl_slist_append(b->headers, "Expect:");
    tk_buf_init(&b->answer, TK_MIB);
    (void)snprintf(b->submit_url, sizeof(b->submit_url), "%s" SUBMIT, s->url);
    (void)snprintf(b->poll_url, sizeof(b->poll_url), "%s" POLL, s->url);
    at += (size_t)snprintf(b->body, sizeof(b->body),
                           "{\"num_samples\":1,\"prompt\":{\"chunks\":[{\"tokens\":[");
    for (int i = 0; i < TOKENS; i++) {
        at += (size_t)snprintf(b->body + at, sizeof(b->body) - at, "%s%d",
                               i > 0 ? "," : "", 1000 + 17 * i);
    }
    (void)snprintf(
        b->body + at, sizeof(b->body) - at,
        "],\"type\":\"encoded_text\"}]},\"sampling_params\":{\"temperature\":1."
        "0,\"top_k\":-1,\"top_p\":1.0},\"sampling_session_id\":\"s\",\"seq_"
        "id\":0,\"prompt_logprobs\":false,\"topk_prompt_logprobs\":0,\"type\":"
        "\"sample\"}");
    (void)curl_easy_setopt(b->easy, CURLOPT_HTTPHEADER, b->headers);
    (void)curl_easy_setopt(b->easy, CURLOPT_WRITEFUNCTION, on_data);
    (void)curl_easy_setopt(b->easy, CURLOPT_WRITEDATA, &b->answer);
    (void)curl_easy_setopt(b->easy, CURLOPT_PROXY, "");
}

static void post(bare *b, const char *url, const char *body)
{
    tk_buf_clear(&b->answer);
    (void)curl_easy_setopt(b->easy, CURLOPT_URL, url);
    (void)curl_easy_setopt(b->easy, CURLOPT_POSTFIELDS, body);
    if (curl_easy_perform(b->easy) != CURLE_OK || b->answer.n == 0) {
        die("the bare loop failed");
    }
}

static void run_bare(void *user)
{
    bare *b = user;
    for (int i = 0; i < ROUNDS; i++) {
        post(b, b->submit_url, b->body);
        post(b, b->poll_url, "{\"request_id\":\"r\",\"allow_metadata_only\":true}");
    }
}

static void close_bare(bare *b)
{
    curl_easy_cleanup(b->easy);
    curl_slist_free_all(b->headers);
    tk_buf_dispose(&b->answer);
}

/* ---- the races ---- */

static void race_bare(void)
{
    static client c;
    static bare b;
    server s;
    start_server(&s, 0);
    open_client(&c, &s);
    open_bare(&b, &s);
    c.in_flight = ACTIVE;
    bench_side ours = {run_ours, &c, {0}}, theirs = {run_bare, &b, {0}};
    double ours_ns = 0, theirs_ns = 0;
    char detail[160];
    bench_race(&ours, &theirs, &ours_ns, &theirs_ns);
    (void)snprintf(detail, sizeof(detail),
                   "%.1f us of CPU per sample with %d in flight, bare libcurl %.1f us",
                   ours_ns / ROUNDS / 1e3, ACTIVE, theirs_ns / ROUNDS / 1e3);
    bench_report("client.sample_vs_bare_libcurl", theirs_ns / ours_ns, 1 / 1.5, detail);
    close_bare(&b);
    close_client(&c);
    stop_server(&s);
}

static void race_parked(void)
{
    static client busy, idle;
    server with, without;
    start_server(&with, PARKED);
    start_server(&without, 0);
    open_client(&busy, &with);
    open_client(&idle, &without);
    busy.in_flight = ACTIVE;
    idle.in_flight = ACTIVE;
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
    stop_server(&with);
    stop_server(&without);
}

/* Requests per second: a figure to look at, with the rate of one in flight as its bar. */
static void rates(void)
{
    static const size_t widths[] = {1, 64, 400, 2000};
    static client c;
    server s;
    char detail[160];
    double rate[TK_ARRAY_LEN(widths)];
    size_t at = 0;
    start_server(&s, 0);
    open_client(&c, &s);
    for (size_t i = 0; i < TK_ARRAY_LEN(widths); i++) {
        size_t n = TK_MAX(2 * widths[i], 1000);
        c.in_flight = widths[i];
        sample_many(&c, widths[i]); /* opens the connections */
        double start = wall_ns();
        sample_many(&c, n);
        rate[i] = 2.0 * (double)n / ((wall_ns() - start) / 1e9);
        at += (size_t)snprintf(detail + at, sizeof(detail) - at, "%s%zu in flight %.0f/s",
                               i > 0 ? ", " : "requests: ", widths[i], rate[i]);
    }
    bench_report("client.rate_2000_vs_1_in_flight", rate[3] / rate[0], 0.5, detail);
    close_client(&c);
    stop_server(&s);
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    if (!fakeapi_allow_files(2 * PARKED + 512)) {
        die("too few files");
    }
    race_bare();
    race_parked();
    rates();
    return 0;
}
