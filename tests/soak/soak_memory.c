/* 2,000 samples in flight through one service: under 64 MiB on top of an idle client. */
#include "soak.h"

#define N       2000
#define BAR_MIB 64
#define LONG_S  120

static double resident_mib(void)
{
    long pages = 0, total = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &total, &pages) != 2) {
        soak_die("no /proc/self/statm");
    }
    (void)fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1024.0 * 1024.0);
}

int main(void)
{
    static tinkc_future *futures[N];
    soak_peer peer;
    char detail[128];
    soak_start(&peer, true);
    tinkc_service *service = soak_open(peer.url, NULL);
    tinkc_sampling *sampling = soak_sampling(service);
    tinkc_model_input *prompt = soak_prompt(512);
    double idle = resident_mib(), end = soak_now_s() + LONG_S;
    size_t running = 0;
    for (size_t i = 0; i < N; i++) {
        futures[i] = tinkc_sampling_sample(sampling, prompt, NULL, NULL);
    }
    while (running < N && soak_now_s() < end) {
        tinkc_wait wait = TINKC_WAIT_INIT;
        (void)tinkc_future_status(&wait, futures[running], NULL);
        if (wait.stage == TINKC_STAGE_RUNNING) {
            running++;
        } else {
            (void)usleep(1000);
        }
    }
    double busy = resident_mib();
    (void)snprintf(detail, sizeof(detail), "%zu in flight: %.1f MiB above idle (bar %d)",
                   running, busy - idle, BAR_MIB);
    int failed = soak_report("memory_2000_in_flight",
                             running == N && busy - idle < BAR_MIB, detail);
    for (size_t i = 0; i < N; i++) {
        tinkc_future_cancel(futures[i]);
        tinkc_future_free(&futures[i]);
    }
    tinkc_model_input_free(&prompt);
    tinkc_sampling_close(&sampling);
    tinkc_service_close(&service);
    soak_stop(&peer);
    return failed;
}
