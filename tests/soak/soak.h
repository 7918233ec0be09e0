/* What soak programs share: a scripted peer in a separate process, and one line per
 * result. A soak measures what tests must not: time and memory. */
#ifndef SOAK_SOAK_H
#define SOAK_SOAK_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <tinkc/sampling.h>

#include "support/fakeapi_tinker.h"

#define SOAK_FILES 6000

typedef struct soak_peer {
    pid_t pid;
    int ask, answer; /* pipes */
    char url[64];
} soak_peer;

/* What the peer saw. */
typedef struct soak_seen {
    size_t beats; /* heartbeats */
    double longest_gap_s;
    size_t conflicts; /* numbers of a model that came twice with different work */
} soak_seen;

static inline void soak_die(const char *what)
{
    fprintf(stderr, "soak: %s\n", what);
    exit(1);
}

static inline double soak_now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static inline soak_seen soak_look(fakeapi *api)
{
    soak_seen seen = {.conflicts = fakeapi_tinker_conflicts(api)};
    uint64_t last = 0;
    for (size_t i = 0; i < fakeapi_total(api); i++) {
        const fakeapi_request *request = fakeapi_request_at(api, i);
        bool is_start = strcmp(request->path, "/api/v1/create_session") == 0;
        bool is_beat = strcmp(request->path, "/api/v1/session_heartbeat") == 0;
        if (is_beat) {
            double gap = (double)(request->arrived_ns - last) / 1e9;
            seen.longest_gap_s = gap > seen.longest_gap_s ? gap : seen.longest_gap_s;
            seen.beats++;
        }
        if (is_start || is_beat) {
            last = request->arrived_ns;
        }
    }
    return seen;
}

static inline void soak_serve(int ask, int answer, bool hold)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!fakeapi_allow_files(SOAK_FILES)) {
        soak_die("too few files");
    }
    fakeapi *api = fakeapi_start();
    fakeapi_tinker_options options = {
        .hold = hold, .config = "{\"sample_max_concurrent_requests\":5000}"};
    fakeapi_tinker(api, &options);
    char url[64] = {0}, word = 0;
    (void)snprintf(url, sizeof(url), "%s", fakeapi_url(api));
    bool ok = write(answer, url, sizeof(url)) == (ssize_t)sizeof(url);
    while (ok && read(ask, &word, 1) == 1) {
        soak_seen seen = soak_look(api);
        ok = write(answer, &seen, sizeof(seen)) == (ssize_t)sizeof(seen);
    }
    _exit(0);
}

/* Before the first thread of the process. */
static inline void soak_start(soak_peer *peer, bool hold)
{
    int ask[2], answer[2];
    if (pipe(ask) != 0 || pipe(answer) != 0 || !fakeapi_allow_files(SOAK_FILES)) {
        soak_die("no pipe or too few files");
    }
    peer->pid = fork();
    if (peer->pid == 0) {
        close(ask[1]);
        close(answer[0]);
        soak_serve(ask[0], answer[1], hold);
    }
    close(ask[0]);
    close(answer[1]);
    peer->ask = ask[1];
    peer->answer = answer[0];
    if (read(peer->answer, peer->url, sizeof(peer->url)) != (ssize_t)sizeof(peer->url)) {
        soak_die("the peer did not start");
    }
}

static inline soak_seen soak_ask(soak_peer *peer)
{
    soak_seen seen = {0};
    if (write(peer->ask, "b", 1) != 1 ||
        read(peer->answer, &seen, sizeof(seen)) != (ssize_t)sizeof(seen)) {
        soak_die("the peer does not answer");
    }
    return seen;
}

static inline void soak_stop(soak_peer *peer)
{
    (void)kill(peer->pid, SIGKILL);
    (void)waitpid(peer->pid, NULL, 0);
    close(peer->ask);
    close(peer->answer);
}

/* Name, value pairs ending in NULL, or NULL. */
static inline tinkc_service *soak_open(const char *url, const char *const *options)
{
    tinkc_config *config = NULL;
    tinkc_service *service = NULL;
    bool ok = tinkc_config_new(&config, NULL) == TINKC_OK &&
              tinkc_config_set(config, "base_url", url, NULL) == TINKC_OK &&
              tinkc_config_set(config, "api_key", "tml-soak", NULL) == TINKC_OK &&
              tinkc_config_set(config, "proxy", "", NULL) == TINKC_OK;
    for (; ok && options != NULL && options[0] != NULL; options += 2) {
        ok = tinkc_config_set(config, options[0], options[1], NULL) == TINKC_OK;
    }
    ok = ok && tinkc_service_open(&service, config, NULL) == TINKC_OK;
    tinkc_config_free(&config);
    if (!ok) {
        soak_die("no service");
    }
    return service;
}

static inline tinkc_sampling *soak_sampling(tinkc_service *service)
{
    tinkc_sampling *sampling = NULL;
    if (tinkc_service_create_sampling_wait(&sampling, service, "m", NULL, NULL) !=
        TINKC_OK) {
        soak_die("no sampling client");
    }
    return sampling;
}

static inline tinkc_model_input *soak_prompt(size_t n)
{
    int32_t *tokens = calloc(n, sizeof(*tokens));
    tinkc_model_input *prompt = NULL;
    if (tokens == NULL ||
        tinkc_model_input_from_tokens(&prompt, tokens, n, NULL) != TINKC_OK) {
        soak_die("no prompt");
    }
    free(tokens);
    return prompt;
}

/* One line; returns 1 when the bar was missed. */
static inline int soak_report(const char *name, bool ok, const char *detail)
{
    printf("%-28s %-6s %s\n", name, ok ? "ok" : "FAILED", detail);
    (void)fflush(stdout);
    return ok ? 0 : 1;
}

#endif
