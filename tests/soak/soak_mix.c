/* 64 threads sample, cancel, create and close at random on a few services for as many
 * seconds as the argument says (60). Meant for the TSan build: it must stay silent, and
 * every future must complete. */
#include <pthread.h>
#include <stdatomic.h>

#include "base/rand.h"
#include "soak.h"

#define THREADS  64
#define SERVICES 3

static tinkc_service *services[SERVICES];
static tinkc_sampling *shared[SERVICES];
static double end_s;
static atomic_size_t done_n, cancelled_n, wrong_n;

static void sample_through(tinkc_sampling *sampling, const tinkc_model_input *prompt,
                           tk_rand *rand)
{
    tinkc_future *future = tinkc_sampling_sample(sampling, prompt, NULL, NULL);
    if (tk_rand_double(rand) < 0.1) {
        tinkc_future_cancel(future);
    }
    tinkc_code code = tinkc_future_wait(future, TINKC_FOREVER);
    atomic_size_t *count = code == TINKC_OK            ? &done_n
                           : code == TINKC_E_CANCELLED ? &cancelled_n
                                                       : &wrong_n;
    atomic_fetch_add(count, 1);
    tinkc_future_free(&future);
}

static void *run(void *user)
{
    tk_rand rand;
    tk_rand_init(&rand, (uint64_t)(uintptr_t)user + 1);
    tinkc_model_input *prompt = soak_prompt(8);
    while (soak_now_s() < end_s) {
        size_t which = (size_t)(tk_rand_double(&rand) * SERVICES);
        if (tk_rand_double(&rand) < 0.05) {
            tinkc_sampling *own = soak_sampling(services[which]);
            sample_through(own, prompt, &rand);
            tinkc_sampling_close(&own);
        } else {
            sample_through(shared[which], prompt, &rand);
        }
    }
    tinkc_model_input_free(&prompt);
    return NULL;
}

int main(int argc, char **argv)
{
    static pthread_t threads[THREADS];
    long seconds = argc > 1 ? strtol(argv[1], NULL, 10) : 60;
    soak_peer peer;
    char detail[128];
    soak_start(&peer, false);
    for (size_t i = 0; i < SERVICES; i++) {
        services[i] = soak_open(peer.url, NULL);
        shared[i] = soak_sampling(services[i]);
    }
    end_s = soak_now_s() + (double)seconds;
    for (size_t i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)i) != 0) {
            soak_die("no thread");
        }
    }
    for (size_t i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    for (size_t i = 0; i < SERVICES; i++) {
        tinkc_sampling_close(&shared[i]);
        tinkc_service_close(&services[i]);
    }
    soak_stop(&peer);
    (void)snprintf(detail, sizeof(detail), "%zu samples, %zu cancelled, %zu wrong",
                   atomic_load(&done_n), atomic_load(&cancelled_n),
                   atomic_load(&wrong_n));
    return soak_report("mix_64_threads",
                       atomic_load(&wrong_n) == 0 && atomic_load(&done_n) > 0, detail);
}
