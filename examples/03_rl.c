/* Reinforcement learning in the manner of GRPO: the model answers sums, and answers that
 * did better than the others to the same question become more likely. docs/guide/rl.md
 * explains it.
 *
 *     TINKER_BASE_URL=http://127.0.0.1:8000 ./03_rl [seed] */
#include <string.h>

#include "example.h"

#define STEPS     14
#define QUESTIONS 16 /* of a step */
#define ANSWERS   8  /* to each of them: a group */

static tinkc_tokenizer *tokenizer;
static uint64_t seed, asked, state; /* of the run; questions; of random_below */

static int random_below(int n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

typedef struct group {
    tinkc_model_input *prompt;
    char answer[16]; /* the right one */
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
    check(tinkc_tokenizer_input(&g->prompt, tokenizer, text, &err));
    const int32_t end = tinkc_tokenizer_end(tokenizer); /* a server may need to know it */
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    params.max_tokens = 6;
    params.stop_tokens = &end;
    params.stop_tokens_n = 1;
    params.has_seed = true;
    params.seed = tinkc_rl_seed(seed, asked++, 0, 0);
    tinkc_sample_options options = TINKC_SAMPLE_OPTIONS_INIT;
    options.num_samples = ANSWERS;
    g->future = tinkc_sampling_sample(sampling, g->prompt, &params, &options);
}

/* The data of one question; none when all answers were equally good. Each answer is trained
 * with its advantage: how much better than the group it was. Returns the mean. */
static double judge(group *g, tinkc_datum **data, size_t *n)
{
    tinkc_samples *samples = NULL;
    double rewards[ANSWERS], mean = 0;
    bool differ = false, scale = true; /* divide by the standard deviation */
    const tinkc_rl_advantage_options how = {sizeof(how), TINKC_RL_BASELINE_MEAN, scale};
    check(tinkc_future_await_samples(&samples, &g->future, &err));
    for (size_t k = 0; k < ANSWERS; k++) {
        char *text = NULL;
        check(tinkc_samples_text(&text, samples, k, tokenizer, false, &err));
        rewards[k] = strcmp(text, g->answer) == 0 ? 1 : 0;
        mean += rewards[k] / ANSWERS;
        tinkc_text_free(&text);
    }
    check(tinkc_rl_advantages(rewards, &differ, rewards, ANSWERS, &how, &err));
    for (size_t k = 0; k < ANSWERS && differ; k++) { /* rewards are advantages now */
        check(
            tinkc_samples_datum(&data[(*n)++], samples, k, g->prompt, rewards[k], &err));
    }
    tinkc_samples_free(&samples);
    tinkc_model_input_free(&g->prompt);
    return mean;
}

/* Samples with the weights as they are, then improves them. Returns the mean reward. */
static double step(tinkc_training *training, const tinkc_step_options *options)
{
    static group groups[QUESTIONS];
    tinkc_datum *data[QUESTIONS * ANSWERS];
    size_t n = 0;
    double reward = 0;
    tinkc_sampling *sampling = NULL;
    check(tinkc_training_save_and_sample_wait(&sampling, training, &err));
    for (size_t i = 0; i < QUESTIONS; i++) { /* all of them are under way together */
        ask(&groups[i], sampling);
    }
    for (size_t i = 0; i < QUESTIONS; i++) {
        reward += judge(&groups[i], data, &n) / QUESTIONS;
    }
    if (n > 0) {
        check(tinkc_training_step_wait(NULL, training, data, n, "importance_sampling",
                                       options, &err));
    }
    for (size_t i = 0; i < n; i++) {
        tinkc_datum_free(&data[i]);
    }
    tinkc_sampling_close(&sampling);
    return reward;
}

int main(int argc, char **argv)
{
    double rewards[STEPS]; /* the first is from before anything was learnt */
    tinkc_service *service = NULL;
    tinkc_training *training = NULL;
    tinkc_lora_config lora = TINKC_LORA_CONFIG_INIT;
    tinkc_adam_params adam = TINKC_ADAM_PARAMS_INIT;
    tinkc_step_options options = TINKC_STEP_OPTIONS_INIT;
    adam.learning_rate = 3e-3;
    adam.eps = 1e-8;
    options.adam = &adam;
    lora.has_seed = true;
    lora.seed = seed = state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    check(tinkc_service_open(&service, NULL, &err));
    check(tinkc_service_create_training_wait(&training, service, MODEL, &lora, &err));
    check(tinkc_training_get_tokenizer(&tokenizer, training, NULL, &err));
    for (int i = 0; i < STEPS; i++) {
        rewards[i] = step(training, &options);
        printf("step %2d  reward %.3f\n", i, rewards[i]);
    }
    printf("reward: %.3f at the start, %.3f at the end\n", rewards[0],
           rewards[STEPS - 1]);
    tinkc_tokenizer_free(&tokenizer);
    check(tinkc_training_unload_wait(training, &err)); /* servers hold only a few */
    tinkc_training_close(&training);
    tinkc_service_close(&service);
    return 0;
}
