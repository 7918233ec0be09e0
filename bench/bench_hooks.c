/* What hooks and metrics cost: instructions of a sample (two requests) with a hook and a
 * meter on, against those without, counted by callgrind, which a busy machine does not
 * disturb. One sample at a time on a manual loop; the server waits long enough that the
 * client is always idle when the answer comes, so that every run does the same.
 *
 * Links: client */
#include "bench.h"

#include <string.h>

#include <tinkc/hooks.h>
#include <tinkc/meter.h>
#include <tinkc/sampling.h>

#include "peer_proc.h"

#define SAMPLES  60
#define TOKENS   512
#define DELAY_MS 30
#define RUNS     3
#define BAR      1.02

static void die(const char *what)
{
    fprintf(stderr, "bench_hooks: %s\n", what);
    exit(1);
}

/* ---- the program that callgrind looks at ---- */

static void on_event(const tinkc_hook *event, void *user)
{
    int64_t *seen = user;
    *seen += event->event == TINKC_HOOK_STOP;
}

static tinkc_service *open_service(const char *url)
{
    static const char *const options[] = {"api_key",   "tml-bench", "proxy",     "",
                                          "loop",      "manual",    "telemetry", "false",
                                          "heartbeat", "none",      NULL};
    tinkc_config *config = NULL;
    tinkc_service *service = NULL;
    bool ok = tinkc_config_new(&config, NULL) == TINKC_OK &&
              tinkc_config_set(config, "base_url", url, NULL) == TINKC_OK;
    for (const char *const *o = options; ok && *o != NULL; o += 2) {
        ok = tinkc_config_set(config, o[0], o[1], NULL) == TINKC_OK;
    }
    if (!ok || tinkc_service_open(&service, config, NULL) != TINKC_OK) {
        die("no service");
    }
    tinkc_config_free(&config);
    return service;
}

/* Only what happens in here is counted. */
void bench_hooks_measured(tinkc_sampling *sampling, const tinkc_model_input *prompt,
                          int n);

__attribute__((noinline)) void
bench_hooks_measured(tinkc_sampling *sampling, const tinkc_model_input *prompt, int n)
{
    for (int i = 0; i < n; i++) {
        if (tinkc_sampling_sample_wait(NULL, sampling, prompt, NULL, NULL, NULL) !=
            TINKC_OK) {
            die("a sample failed");
        }
    }
}

static int sample_there(const char *url, bool hooked)
{
    static int32_t tokens[TOKENS];
    tinkc_service *service = open_service(url);
    tinkc_sampling *sampling = NULL;
    tinkc_model_input *prompt = NULL;
    tinkc_meter *meter = NULL;
    int64_t seen = 0;
    for (int32_t i = 0; i < TOKENS; i++) {
        tokens[i] = 1000 + 17 * i;
    }
    bool ok = tinkc_service_create_sampling_wait(&sampling, service, "m", NULL, NULL) ==
                  TINKC_OK &&
              tinkc_model_input_from_tokens(&prompt, tokens, TOKENS, NULL) == TINKC_OK &&
              (!hooked || (tinkc_service_add_hook(service, on_event, &seen, NULL, NULL) ==
                               TINKC_OK &&
                           tinkc_meter_new(&meter, NULL) == TINKC_OK &&
                           tinkc_meter_attach(meter, service, NULL) == TINKC_OK));
    if (!ok) {
        die("no client");
    }
    (void)tinkc_sampling_sample_wait(NULL, sampling, prompt, NULL, NULL, NULL);
    bench_hooks_measured(sampling, prompt, SAMPLES);
    if (hooked && seen < 3 * SAMPLES) {
        die("the hook was not called");
    }
    tinkc_model_input_free(&prompt);
    tinkc_sampling_close(&sampling);
    tinkc_service_close(&service);
    tinkc_meter_free(&meter);
    return 0;
}

/* ---- counting ---- */

/* Instructions of one sample, or -1 when there is no callgrind. */
static double count_once(const char *url, const char *mode)
{
    char self[4096], command[8192], line[512];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    double collected = -1;
    if (n <= 0) {
        die("no name");
    }
    self[n] = '\0';
    (void)snprintf(command, sizeof(command),
                   "valgrind --tool=callgrind --callgrind-out-file=/dev/null "
                   "--toggle-collect=bench_hooks_measured '%s' '%s' %s 2>&1",
                   self, url, mode);
    FILE *out = popen(command, "r");
    while (out != NULL && fgets(line, sizeof(line), out) != NULL) {
        const char *at = strstr(line, "Collected : ");
        if (at != NULL) {
            collected = (double)strtoll(at + strlen("Collected : "), NULL, 10) / SAMPLES;
        }
    }
    return out != NULL && pclose(out) == 0 ? collected : -1;
}

int main(int argc, char **argv)
{
    double plain[RUNS], hooked[RUNS];
    peer_proc peer;
    char detail[160];
    if (argc == 3) {
        return sample_there(argv[1], strcmp(argv[2], "hooked") == 0);
    }
    if (system("command -v valgrind >/dev/null") != 0) {
        bench_note("hooks and metrics", "valgrind is not installed");
        return 0;
    }
    peer_start(&peer, 0, DELAY_MS);
    for (int i = 0; i < RUNS; i++) {
        plain[i] = count_once(peer.url, "plain");
        hooked[i] = count_once(peer.url, "hooked");
        if (plain[i] <= 0 || hooked[i] <= 0) {
            die("callgrind counted nothing");
        }
    }
    peer_stop(&peer);
    double without = bench_median(plain, RUNS), with = bench_median(hooked, RUNS);
    (void)snprintf(detail, sizeof(detail),
                   "%.0f instructions per sample, %.0f with a hook and a meter: +%.2f %%",
                   without, with, 100 * (with / without - 1));
    bench_report("hooks and metrics", without / with, 1 / BAR, detail);
    return 0;
}
