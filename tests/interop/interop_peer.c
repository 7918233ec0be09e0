/* Our side of the comparisons with other servers and with the official SDK, for
 * tests/interop/skyrl.sh. The server is TINKER_BASE_URL; skyrl_sdk.py does the same work with
 * the SDK.
 *   interop_peer curve MODEL DATA STEPS [PATH]
 *       trains and prints the loss of each step, from the state at PATH, or from a new adapter
 *       whose weights are first saved for sampling ("start PATH")
 *   interop_peer steps MODEL DATA N      N training steps, then the CPU time of this process
 *   interop_peer samples MODEL DATA N    N samples at once, likewise
 * DATA has a conversation per line: the number of its prompt's tokens, then all its tokens. A
 * batch is BATCH lines. The weights of a line add up to 1, because SkyRL divides the gradient
 * of each sequence by their sum.
 * Links: client */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <tinkc/future.h>
#include <tinkc/sampling.h>
#include <tinkc/service.h>
#include <tinkc/training.h>

#define LINES  64
#define TOKENS 512
#define BATCH  4
#define RANK   8

static tinkc_error *err;

typedef struct line {
    size_t prompt, n;
    int32_t tokens[TOKENS];
} line;

static line lines[LINES];
static size_t lines_n;

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "interop_peer: %s: %s\n", what,
                err != NULL ? tinkc_error_message(err) : "failed");
        exit(1);
    }
}

static void read_lines(const char *path)
{
    char text[8 * TOKENS];
    FILE *file = fopen(path, "r");
    require(file != NULL, path);
    while (lines_n < LINES && fgets(text, sizeof(text), file) != NULL) {
        line *l = &lines[lines_n++];
        char *at = text, *end = NULL;
        l->prompt = strtoul(at, &end, 10);
        for (at = end; l->n < TOKENS; at = end) {
            long token = strtol(at, &end, 10);
            if (end == at) {
                break;
            }
            l->tokens[l->n++] = (int32_t)token;
        }
        require(l->prompt > 0 && l->prompt < l->n, "a line of the data");
    }
    (void)fclose(file);
    require(lines_n >= BATCH, "lines of the data");
}

/* Predicts each token from those before it; those of the answer count. */
static tinkc_datum *make_datum(const line *l)
{
    float weights[TOKENS] = {0};
    size_t n = l->n - 1;
    tinkc_model_input *input = NULL;
    tinkc_datum *datum = NULL;
    for (size_t i = l->prompt - 1; i < n; i++) {
        weights[i] = 1.0F / (float)(l->n - l->prompt);
    }
    require(tinkc_model_input_from_tokens(&input, l->tokens, n, &err) == TINKC_OK &&
                tinkc_datum_new(&datum, &input, &err) == TINKC_OK &&
                tinkc_datum_set_i32(datum, "target_tokens", l->tokens + 1, n, &err) ==
                    TINKC_OK &&
                tinkc_datum_set_f32(datum, "weights", weights, n, &err) == TINKC_OK,
            "a datum");
    return datum;
}

static double cpu_seconds(void)
{
    struct rusage use;
    (void)getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

/* ---- training ---- */

/* Step i trains the lines after those of step i - 1, and begins again after the last one.
 * Returns the loss of a line, before the step. */
static double step(tinkc_training *training, size_t i)
{
    tinkc_step *result = NULL;
    tinkc_datum *data[BATCH];
    tinkc_adam_params adam = TINKC_ADAM_PARAMS_INIT;
    tinkc_step_options options = TINKC_STEP_OPTIONS_INIT;
    double loss = 0;
    adam.learning_rate = 1e-3;
    options.adam = &adam;
    for (size_t k = 0; k < BATCH; k++) {
        data[k] = make_datum(&lines[(i * BATCH + k) % lines_n]);
    }
    require(tinkc_training_step_wait(&result, training, data, BATCH, "cross_entropy",
                                     &options, &err) == TINKC_OK &&
                tinkc_fwdbwd_computed_loss(&loss, tinkc_step_fwdbwd(result), data, BATCH,
                                           "cross_entropy", &err) == TINKC_OK,
            "a step");
    tinkc_step_free(&result);
    for (size_t k = 0; k < BATCH; k++) {
        tinkc_datum_free(&data[k]);
    }
    return loss / BATCH;
}

static tinkc_training *create(tinkc_service *service, const char *model)
{
    tinkc_lora_config lora = TINKC_LORA_CONFIG_INIT;
    tinkc_training *training = NULL;
    lora.rank = RANK;
    lora.has_seed = true;
    lora.seed = 5;
    lora.train_unembed = false; /* SkyRL's JAX backend has no adapter there */
    require(tinkc_service_create_training_wait(&training, service, model, &lora, &err) ==
                TINKC_OK,
            "a model");
    return training;
}

static void curve(tinkc_service *service, const char *model, size_t steps,
                  const char *path)
{
    tinkc_training *training = NULL;
    char *start = NULL;
    if (path != NULL) {
        require(tinkc_service_create_training_from_state_wait(&training, service, path,
                                                              NULL, &err) == TINKC_OK,
                "a model of the state");
    } else {
        training = create(service, model);
        require(tinkc_training_save_weights_for_sampler_wait(&start, training, "start",
                                                             NULL, &err) == TINKC_OK,
                "a save");
        printf("start %s\n", start);
        tinkc_text_free(&start);
    }
    for (size_t i = 0; i < steps; i++) {
        printf("loss %zu %.6f\n", i, step(training, i));
    }
    require(tinkc_training_unload_wait(training, &err) == TINKC_OK, "unload");
    tinkc_training_close(&training);
}

static void steps(tinkc_service *service, const char *model, size_t n)
{
    tinkc_training *training = create(service, model);
    double first = 0, last = 0;
    for (size_t i = 0; i < n; i++) {
        last = step(training, i);
        first = i == 0 ? last : first;
    }
    require(last < first, "a loss that falls");
    require(tinkc_training_unload_wait(training, &err) == TINKC_OK, "unload");
    tinkc_training_close(&training);
}

/* ---- samples ---- */

static void samples(tinkc_service *service, const char *model, size_t n)
{
    tinkc_sampling *sampling = NULL;
    tinkc_model_input *prompt = NULL;
    tinkc_queue *queue = NULL;
    tinkc_future *future = NULL;
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    size_t done = 0;
    params.max_tokens = 5;
    params.has_seed = true;
    require(tinkc_service_create_sampling_wait(&sampling, service, model, NULL, &err) ==
                    TINKC_OK &&
                tinkc_queue_open(&queue, &err) == TINKC_OK &&
                tinkc_model_input_from_tokens(&prompt, lines[0].tokens, lines[0].prompt,
                                              &err) == TINKC_OK,
            "a sampler");
    for (size_t i = 0; i < n; i++) {
        params.seed = i;
        future = tinkc_sampling_sample(sampling, prompt, &params, NULL);
        require(tinkc_queue_add(queue, future, NULL, &err) == TINKC_OK, "a queue");
        tinkc_future_free(&future);
    }
    while (tinkc_queue_take(&future, NULL, queue, TINKC_FOREVER, NULL) == TINKC_OK) {
        tinkc_samples *result = NULL;
        size_t tokens = 0;
        require(tinkc_future_take_samples(&result, future, &err) == TINKC_OK, "a sample");
        (void)tinkc_samples_tokens(&tokens, result, 0);
        done += tokens > 0;
        tinkc_samples_free(&result);
        tinkc_future_free(&future);
    }
    require(done == n, "tokens in every sample");
    tinkc_queue_close(&queue);
    tinkc_model_input_free(&prompt);
    tinkc_sampling_close(&sampling);
}

int main(int argc, char **argv)
{
    double began = cpu_seconds();
    tinkc_service *service = NULL;
    if (argc < 5) {
        return 2;
    }
    const char *what = argv[1], *model = argv[2];
    size_t n = strtoul(argv[4], NULL, 10);
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    read_lines(argv[3]);
    require(tinkc_service_open(&service, NULL, &err) == TINKC_OK, "the server");
    if (strcmp(what, "curve") == 0) {
        curve(service, model, n, argc > 5 ? argv[5] : NULL);
    } else if (strcmp(what, "steps") == 0) {
        steps(service, model, n);
    } else {
        samples(service, model, n);
    }
    tinkc_service_close(&service);
    if (strcmp(what, "curve") != 0) {
        printf("%s %.3f %.3f\n", what, cpu_seconds() - began, cpu_seconds());
    }
    return 0;
}
