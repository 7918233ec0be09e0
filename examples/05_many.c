/* Many at a time: 2,000 samples of one question (or as many as the argument says), taken
 * from a queue as they are done. The answers show that the model says what its
 * probabilities promise. docs/guide/queues.md explains it.
 *
 *     TINKER_BASE_URL=http://127.0.0.1:8000 ./05_many [SAMPLES] */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "example.h"

#define SAMPLES 2000
#define ANSWERS 1000 /* numbers below */

static const char question[] =
    "<|endoftext|><|user|>What is 38 + 27?<|end|><|assistant|>";

static tinkc_tokenizer *tokenizer;

/* How often an answer came, and its probability as the sampler reports it. */
typedef struct answer {
    int count;
    double probability;
} answer;

/* Hands all of them to the library, which sends as many at a time as the server takes.
 * The queue holds the futures: ours can go at once. */
static void submit(tinkc_queue *queue, tinkc_sampling *sampling, uintptr_t samples)
{
    tinkc_model_input *prompt = NULL;
    check(tinkc_tokenizer_input(&prompt, tokenizer, question, &err));
    const int32_t end = tinkc_tokenizer_end(tokenizer); /* a server may need to know it */
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    params.max_tokens = 5;
    params.stop_tokens = &end;
    params.stop_tokens_n = 1;
    params.has_seed = true;
    for (uintptr_t i = 0; i < samples; i++) {
        params.seed = i;
        tinkc_future *future = tinkc_sampling_sample(sampling, prompt, &params, NULL);
        check(tinkc_queue_add(queue, future, (void *)i, &err));
        tinkc_future_free(&future);
    }
    tinkc_model_input_free(&prompt);
}

static void count(answer answers[ANSWERS], const tinkc_samples *samples)
{
    size_t n = 0;
    double sum = 0;
    char *text = NULL, *end = NULL;
    const int32_t *ids = tinkc_samples_tokens(&n, samples, 0);
    const float *logprobs = tinkc_samples_logprobs(NULL, samples, 0);
    for (size_t i = 0; i < n; i++) {
        sum += (double)logprobs[i];
    }
    check(tinkc_tokenizer_text(&text, tokenizer, ids, n, true, &err));
    unsigned long number = strtoul(text, &end, 10);
    if (*end == '\0' && number < ANSWERS) {
        answers[number].count++;
        answers[number].probability = exp(sum);
    }
    tinkc_text_free(&text);
}

/* Takes them in the order in which they are done, which is not that of the calls. */
static int collect(tinkc_queue *queue, answer answers[ANSWERS])
{
    int done = 0, overtakers = 0;
    uintptr_t highest = 0;
    tinkc_future *future = NULL;
    void *tag = NULL;
    while (tinkc_queue_take(&future, &tag, queue, TINKC_FOREVER, NULL) == TINKC_OK) {
        tinkc_samples *samples = NULL;
        check(tinkc_future_take_samples(&samples, future, &err));
        count(answers, samples);
        done++;
        overtakers += (uintptr_t)tag < highest;
        highest = (uintptr_t)tag > highest ? (uintptr_t)tag : highest;
        tinkc_samples_free(&samples);
        tinkc_future_free(&future);
    }
    printf("%d samples, %d of them overtaken by a later one\n", done, overtakers);
    return done;
}

int main(int argc, char **argv)
{
    uintptr_t samples = argc > 1 ? strtoul(argv[1], NULL, 10) : SAMPLES;
    static answer answers[ANSWERS];
    tinkc_service *service = NULL;
    tinkc_sampling *sampling = NULL;
    tinkc_queue *queue = NULL;
    check(tinkc_service_open(&service, NULL, &err));
    check(tinkc_service_create_sampling_wait(&sampling, service, MODEL, NULL, &err));
    check(tinkc_sampling_get_tokenizer(&tokenizer, sampling, NULL, &err));
    check(tinkc_queue_open(&queue, &err));

    submit(queue, sampling, samples);
    int done = collect(queue, answers);
    int best = 0;
    for (int i = 0; i < ANSWERS; i++) {
        best = answers[i].count > answers[best].count ? i : best;
    }
    printf("most frequent: %d, in %.4f of them; its probability is %.4f\n", best,
           (double)answers[best].count / done, answers[best].probability);

    tinkc_queue_close(&queue);
    tinkc_tokenizer_free(&tokenizer);
    tinkc_sampling_close(&sampling);
    tinkc_service_close(&service);
    return 0;
}
