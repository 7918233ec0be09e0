/* A custom loss that takes 25 s delays no heartbeat: every 10 s, none
 * later than 12 s after the one before, and a sample is answered meanwhile. An argument
 * gives the seconds. */
#include <tinkc/training.h>

#include "soak.h"

#define BAR_S 12.0

typedef struct slow {
    double seconds;
    tinkc_sampling *sampling;
    tinkc_model_input *prompt;
    size_t samples; /* taken inside the callback */
} slow;

/* Samples about ten times a second, and waits for each, until the time is over. */
static int slow_loss(double *loss, tinkc_metrics *metrics, tinkc_custom_item *items,
                     size_t n, void *user)
{
    slow *s = user;
    double end = soak_now_s() + s->seconds;
    while (soak_now_s() < end) {
        if (tinkc_sampling_sample_wait(NULL, s->sampling, s->prompt, NULL, NULL, NULL) !=
            TINKC_OK) {
            return 1;
        }
        s->samples++;
        (void)usleep(100000);
    }
    return 0;
}

static tinkc_datum *make_datum(void)
{
    static const int32_t tokens[] = {1, 2, 3};
    tinkc_model_input *input = soak_prompt(3);
    tinkc_datum *datum = NULL;
    if (tinkc_datum_new(&datum, &input, NULL) != TINKC_OK ||
        tinkc_datum_set_i32(datum, "target_tokens", tokens, 3, NULL) != TINKC_OK) {
        soak_die("no datum");
    }
    return datum;
}

int main(int argc, char **argv)
{
    slow s = {.seconds = argc > 1 ? (double)strtol(argv[1], NULL, 10) : 25};
    soak_peer peer;
    char detail[160];
    soak_start(&peer, false);
    tinkc_service *service = soak_open(peer.url, NULL);
    tinkc_training *training = NULL;
    if (tinkc_service_create_training_wait(&training, service, "m", NULL, NULL) !=
        TINKC_OK) {
        soak_die("no training client");
    }
    tinkc_datum *datum = make_datum();
    tinkc_datum *data[] = {datum};
    s.sampling = soak_sampling(service);
    s.prompt = soak_prompt(64);
    tinkc_code code = tinkc_training_forward_backward_custom_wait(NULL, training, data, 1,
                                                                  slow_loss, &s, NULL);
    soak_seen seen = soak_ask(&peer);
    size_t expected = (size_t)(s.seconds / BAR_S);
    (void)snprintf(detail, sizeof(detail),
                   "%zu beats in a loss of %.0f s, longest gap %.2f s (bar %.0f), "
                   "%zu samples in it",
                   seen.beats, s.seconds, seen.longest_gap_s, BAR_S, s.samples);
    int failed = soak_report("heartbeats_in_custom_loss",
                             code == TINKC_OK && seen.beats >= expected &&
                                 seen.longest_gap_s <= BAR_S,
                             detail);
    tinkc_model_input_free(&s.prompt);
    tinkc_datum_free(&datum);
    tinkc_sampling_close(&s.sampling);
    tinkc_training_close(&training);
    tinkc_service_close(&service);
    soak_stop(&peer);
    return failed;
}
