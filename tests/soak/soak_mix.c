/* 64 threads sample and 8 train 4 models, two on each, on three services; they wait,
 * cancel, let go, create and close clients and whole services at random, for as many
 * seconds as the argument says (60). Meant for the TSan build: it must stay silent, every
 * future must complete, and the peer must have seen no number of a model twice. */
#include <tinkc/training.h>

#include <pthread.h>
#include <stdatomic.h>

#include "base/rand.h"
#include "soak.h"

#define SAMPLERS 64
#define TRAINERS 8
#define THREADS  (SAMPLERS + TRAINERS)
#define MODELS   4
#define SERVICES 3

static soak_peer peer;
static tinkc_service *services[SERVICES];
static tinkc_sampling *shared[SERVICES];
static tinkc_training *models[MODELS];
static double end_s;
static atomic_size_t sampled_n, trained_n, cancelled_n, opened_n, wrong_n;

static bool chance(tk_rand *rand, double p)
{
    return tk_rand_double(rand) < p;
}

/* Waits, or cancels first, or closes nothing but its own end. */
static void end(tinkc_future *future, atomic_size_t *count, tk_rand *rand)
{
    if (chance(rand, 0.1)) {
        tinkc_future_cancel(future);
    } else if (chance(rand, 0.1)) {
        tinkc_future_free(&future); /* let go: it goes on without us */
        return;
    }
    tinkc_code code = tinkc_future_wait(future, TINKC_FOREVER);
    atomic_fetch_add(code == TINKC_OK            ? count
                     : code == TINKC_E_CANCELLED ? &cancelled_n
                                                 : &wrong_n,
                     1);
    tinkc_future_free(&future);
}

/* ---- sampling ---- */

/* A service that is closed with a sample under way. */
static void own_service(const tinkc_model_input *prompt, tk_rand *rand)
{
    tinkc_service *service = soak_open(peer.url, NULL);
    tinkc_sampling *sampling = soak_sampling(service);
    tinkc_future *future = tinkc_sampling_sample(sampling, prompt, NULL, NULL);
    tinkc_sampling_close(&sampling);
    tinkc_service_close(&service);
    end(future, &sampled_n, rand);
    atomic_fetch_add(&opened_n, 1);
}

static void *sample(void *user)
{
    tk_rand rand;
    tk_rand_init(&rand, (uint64_t)(uintptr_t)user + 1);
    tinkc_model_input *prompt = soak_prompt(8);
    while (soak_now_s() < end_s) {
        size_t which = (size_t)tk_rand_below(&rand, SERVICES);
        tinkc_sampling *own = NULL;
        if (chance(&rand, 0.002)) {
            own_service(prompt, &rand);
            continue;
        }
        if (chance(&rand, 0.05)) {
            own = soak_sampling(services[which]);
            atomic_fetch_add(&opened_n, 1);
        }
        end(tinkc_sampling_sample(own != NULL ? own : shared[which], prompt, NULL, NULL),
            &sampled_n, &rand);
        tinkc_sampling_close(&own);
    }
    tinkc_model_input_free(&prompt);
    return NULL;
}

/* ---- training ---- */

static tinkc_datum *make_datum(void)
{
    static const int32_t targets[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    tinkc_model_input *input = soak_prompt(8);
    tinkc_datum *datum = NULL;
    if (tinkc_datum_new(&datum, &input, NULL) != TINKC_OK ||
        tinkc_datum_set_i32(datum, "target_tokens", targets, 8, NULL) != TINKC_OK) {
        soak_die("no datum");
    }
    return datum;
}

static tinkc_training *create_training(size_t which)
{
    tinkc_training *training = NULL;
    if (tinkc_service_create_training_wait(&training, services[which % SERVICES], "m",
                                           NULL, NULL) != TINKC_OK) {
        soak_die("no training client");
    }
    return training;
}

static tinkc_future *any_call(tinkc_training *training, tinkc_datum *datum, tk_rand *rand)
{
    tinkc_datum *data[] = {datum, datum};
    switch (tk_rand_below(rand, 6)) {
    case 0:
        return tinkc_training_optim_step(training, NULL);
    case 1:
        return tinkc_training_forward(training, data, 2, "cross_entropy", NULL);
    case 2:
        return tinkc_training_get_info(training);
    case 3:
        return tinkc_training_save_and_sample(training);
    default:
        return tinkc_training_forward_backward(training, data, 2, "cross_entropy", NULL);
    }
}

static void *train(void *user)
{
    size_t index = (size_t)(uintptr_t)user;
    tk_rand rand;
    tk_rand_init(&rand, 1000 + index);
    tinkc_datum *datum = make_datum();
    while (soak_now_s() < end_s) {
        tinkc_training *own = NULL;
        if (chance(&rand, 0.05)) {
            own = create_training(index);
            atomic_fetch_add(&opened_n, 1);
        }
        end(any_call(own != NULL ? own : models[index % MODELS], datum, &rand),
            &trained_n, &rand);
        tinkc_training_close(&own);
    }
    tinkc_datum_free(&datum);
    return NULL;
}

/* ---- all of it ---- */

static void run_threads(void)
{
    static pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        bool trains = i >= SAMPLERS;
        uintptr_t index = trains ? i - SAMPLERS : i;
        if (pthread_create(&threads[i], NULL, trains ? train : sample, (void *)index) !=
            0) {
            soak_die("no thread");
        }
    }
    for (size_t i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
}

int main(int argc, char **argv)
{
    long seconds = argc > 1 ? strtol(argv[1], NULL, 10) : 60;
    char detail[200];
    soak_start(&peer, false);
    for (size_t i = 0; i < SERVICES; i++) {
        services[i] = soak_open(peer.url, NULL);
        shared[i] = soak_sampling(services[i]);
    }
    for (size_t i = 0; i < MODELS; i++) {
        models[i] = create_training(i);
    }
    end_s = soak_now_s() + (double)seconds;
    run_threads();
    for (size_t i = 0; i < MODELS; i++) {
        tinkc_training_close(&models[i]);
    }
    for (size_t i = 0; i < SERVICES; i++) {
        tinkc_sampling_close(&shared[i]);
        tinkc_service_close(&services[i]);
    }
    size_t conflicts = soak_ask(&peer).conflicts;
    soak_stop(&peer);
    (void)snprintf(detail, sizeof(detail),
                   "%zu samples, %zu training operations, %zu clients opened, %zu "
                   "cancelled, %zu wrong, %zu conflicts",
                   atomic_load(&sampled_n), atomic_load(&trained_n),
                   atomic_load(&opened_n), atomic_load(&cancelled_n),
                   atomic_load(&wrong_n), conflicts);
    return soak_report("mix_64_and_8_threads",
                       atomic_load(&wrong_n) == 0 && conflicts == 0 &&
                           atomic_load(&sampled_n) > 0 && atomic_load(&trained_n) > 0,
                       detail);
}
