/* Heartbeats arrive on time while the caller burns every core and samples: every
 * 10 s, none later than 12 s after the one before. An argument gives the seconds. */
#include <pthread.h>
#include <stdatomic.h>

#include "soak.h"

#define THREADS_MAX 256
#define BAR_S       12.0

static atomic_bool stop_now;

static void *spin(void *user)
{
    volatile unsigned long n = 0;
    while (!atomic_load(&stop_now)) {
        n++;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? (double)strtol(argv[1], NULL, 10) : 60;
    static pthread_t threads[THREADS_MAX];
    soak_peer peer;
    char detail[128];
    soak_start(&peer, false);
    tinkc_service *service = soak_open(peer.url, NULL);
    tinkc_sampling *sampling = soak_sampling(service);
    tinkc_model_input *prompt = soak_prompt(64);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t n = cores > 0 && cores * 2 < THREADS_MAX ? (size_t)cores * 2 : 8;
    for (size_t i = 0; i < n; i++) {
        if (pthread_create(&threads[i], NULL, spin, NULL) != 0) {
            soak_die("no thread");
        }
    }
    double end = soak_now_s() + seconds;
    size_t samples = 0;
    while (soak_now_s() < end) {
        tinkc_samples *result = NULL;
        if (tinkc_sampling_sample_wait(&result, sampling, prompt, NULL, NULL, NULL) !=
            TINKC_OK) {
            soak_die("a sample failed");
        }
        tinkc_samples_free(&result);
        samples++;
    }
    soak_seen seen = soak_ask(&peer);
    atomic_store(&stop_now, true);
    for (size_t i = 0; i < n; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    size_t expected = (size_t)(seconds / BAR_S);
    (void)snprintf(detail, sizeof(detail),
                   "%zu beats in %.0f s, longest gap %.2f s (bar %.0f), %zu samples",
                   seen.beats, seconds, seen.longest_gap_s, BAR_S, samples);
    int failed =
        soak_report("heartbeats_under_load",
                    seen.beats >= expected && seen.longest_gap_s <= BAR_S, detail);
    tinkc_model_input_free(&prompt);
    tinkc_sampling_close(&sampling);
    tinkc_service_close(&service);
    soak_stop(&peer);
    return failed;
}
