/* Reinforcement learning in the manner of GRPO: the model answers sums, a right answer is
 * rewarded, and answers that did better than the others to the same question become more
 * likely. Nobody tells it the right answer. docs/guide/rl.md explains it.
 *
 *     TINKER_BASE_URL=http://127.0.0.1:8000 ./03_rl [seed] */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "example.h"

#define STEPS      14
#define QUESTIONS  16 /* of a step */
#define ANSWERS    8  /* to each of them: a group */
#define ANSWER_MAX 6  /* tokens */
#define TOKENS_MAX 64

static tinkc_error *err;
static tinkc_tokenizer *tokenizer;
static uint64_t state; /* of random_below */

static int random_below(int n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

/* A question, its right answer, and what was sampled for it. */
typedef struct group {
    int32_t prompt[TOKENS_MAX];
    size_t prompt_n;
    char answer[16];
    tinkc_future *future;
} group;

static void ask(group *g, tinkc_sampling *sampling)
{
    char text[96];
    int a = 1 + random_below(9), b = 1 + random_below(9);
    (void)snprintf(
        text, sizeof(text),
        "<|endoftext|><|user|>What is the sum of %d and %d?<|end|><|assistant|>", a, b);
    (void)snprintf(g->answer, sizeof(g->answer), "%d<|end|>", a + b);

    tinkc_encoding *encoding = NULL;
    check(tinkc_tokenizer_encode(&encoding, tokenizer, text, strlen(text), NULL, &err),
          &err);
    const int32_t *ids = tinkc_encoding_ids(&g->prompt_n, encoding);
    require(g->prompt_n <= TOKENS_MAX, "a short question");
    memcpy(g->prompt, ids, g->prompt_n * sizeof(ids[0]));
    tinkc_encoding_free(&encoding);

    tinkc_model_input *prompt = NULL;
    check(tinkc_model_input_from_tokens(&prompt, g->prompt, g->prompt_n, &err), &err);
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    params.max_tokens = ANSWER_MAX;
    params.has_seed = true;
    params.seed = (uint64_t)random_below(INT32_MAX);
    tinkc_sample_options options = TINKC_SAMPLE_OPTIONS_INIT;
    options.num_samples = ANSWERS;
    g->future = tinkc_sampling_sample(sampling, prompt, &params, &options);
    tinkc_model_input_free(&prompt);
}

static double reward_of(const group *g, const int32_t *tokens, size_t n)
{
    tinkc_decode what = TINKC_DECODE_INIT;
    what.ids = tokens;
    what.ids_n = n;
    char *text = NULL;
    check(tinkc_tokenizer_decode(&text, NULL, tokenizer, &what, &err), &err);
    double reward = strcmp(text, g->answer) == 0 ? 1 : 0;
    tinkc_text_free(&text);
    return reward;
}

/* The loss needs, for each token of the answer, the log-probability with which it was
 * sampled and how much better than the group the answer was; tokens of the question count
 * nothing. */
static tinkc_datum *make_datum(const group *g, const tinkc_samples *samples, size_t k,
                               double advantage)
{
    int32_t tokens[TOKENS_MAX];
    float logprobs[TOKENS_MAX] = {0}, advantages[TOKENS_MAX] = {0};
    size_t n = 0, known = 0, asked = g->prompt_n;
    const int32_t *answer = tinkc_samples_tokens(&n, samples, k);
    const float *sampled = tinkc_samples_logprobs(&known, samples, k);
    require(known == n && asked + n <= TOKENS_MAX, "an answer with log-probabilities");
    memcpy(tokens, g->prompt, asked * sizeof(tokens[0]));
    memcpy(tokens + asked, answer, n * sizeof(tokens[0]));
    for (size_t i = 0; i < n; i++) { /* token i of the answer is target asked - 1 + i */
        logprobs[asked - 1 + i] = sampled[i];
        advantages[asked - 1 + i] = (float)advantage;
    }
    n += asked - 1;
    tinkc_model_input *input = NULL;
    tinkc_datum *datum = NULL;
    check(tinkc_model_input_from_tokens(&input, tokens, n, &err), &err);
    check(tinkc_datum_new(&datum, &input, &err), &err);
    check(tinkc_datum_set_i32(datum, "target_tokens", tokens + 1, n, &err), &err);
    check(tinkc_datum_set_f32(datum, "logprobs", logprobs, n, &err), &err);
    check(tinkc_datum_set_f32(datum, "advantages", advantages, n, &err), &err);
    return datum;
}

/* The data of one question; none when all answers were equally good: there is nothing to
 * prefer then. Returns the mean reward. */
static double judge(group *g, tinkc_datum **data, size_t *data_n)
{
    tinkc_samples *samples = NULL;
    double rewards[ANSWERS], mean = 0, variance = 0;
    (void)tinkc_future_wait(g->future, TINKC_FOREVER);
    check(tinkc_future_take_samples(&samples, g->future, &err), &err);
    for (size_t k = 0; k < ANSWERS; k++) {
        size_t n = 0;
        const int32_t *tokens = tinkc_samples_tokens(&n, samples, k);
        rewards[k] = reward_of(g, tokens, n);
        mean += rewards[k] / ANSWERS;
    }
    for (size_t k = 0; k < ANSWERS; k++) {
        variance += (rewards[k] - mean) * (rewards[k] - mean) / ANSWERS;
    }
    for (size_t k = 0; k < ANSWERS && variance > 0; k++) {
        data[(*data_n)++] =
            make_datum(g, samples, k, (rewards[k] - mean) / sqrt(variance));
    }
    tinkc_samples_free(&samples);
    tinkc_future_free(&g->future);
    return mean;
}

static void improve(tinkc_training *training, tinkc_datum *const *data, size_t n)
{
    tinkc_adam_params adam = TINKC_ADAM_PARAMS_INIT;
    adam.learning_rate = 3e-3;
    adam.eps = 1e-8;
    tinkc_fwdbwd *result = NULL;
    tinkc_future *batch =
        tinkc_training_forward_backward(training, data, n, "importance_sampling", NULL);
    check(tinkc_training_optim_step_wait(NULL, training, &adam, &err), &err);
    (void)tinkc_future_wait(batch, TINKC_FOREVER);
    check(tinkc_future_take_fwdbwd(&result, batch, &err), &err);
    tinkc_fwdbwd_free(&result);
    tinkc_future_free(&batch);
}

/* Samples with the weights as they are, then improves them. Returns the mean reward. */
static double step(tinkc_training *training)
{
    static group groups[QUESTIONS];
    tinkc_datum *data[QUESTIONS * ANSWERS];
    size_t n = 0;
    double reward = 0;
    tinkc_sampling *sampling = NULL;
    check(tinkc_training_save_and_sample_wait(&sampling, training, &err), &err);
    for (size_t i = 0; i < QUESTIONS; i++) { /* all of them are under way together */
        ask(&groups[i], sampling);
    }
    for (size_t i = 0; i < QUESTIONS; i++) {
        reward += judge(&groups[i], data, &n) / QUESTIONS;
    }
    tinkc_sampling_close(&sampling);
    if (n > 0) {
        improve(training, data, n);
    }
    for (size_t i = 0; i < n; i++) {
        tinkc_datum_free(&data[i]);
    }
    return reward;
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    tinkc_service *service = NULL;
    tinkc_training *training = NULL;
    tinkc_lora_config lora = TINKC_LORA_CONFIG_INIT;
    lora.has_seed = true;
    lora.seed = state = seed;
    check(tinkc_service_open(&service, NULL, &err), &err);
    check(tinkc_service_create_training_wait(&training, service, MODEL, &lora, &err),
          &err);
    check(tinkc_training_get_tokenizer(&tokenizer, training, NULL, &err), &err);
    double first = 0, last = 0; /* before anything was learnt; after STEPS - 1 steps */
    for (int i = 0; i < STEPS; i++) {
        last = step(training);
        first = i == 0 ? last : first;
        printf("step %2d  reward %.3f\n", i, last);
    }
    printf("reward: %.3f at the start, %.3f at the end\n", first, last);
    tinkc_tokenizer_free(&tokenizer);
    tinkc_training_close(&training);
    tinkc_service_close(&service);
    return 0;
}
