/* Supervised fine-tuning: teaches the model good manners, and tests it with questions
 * that it was not trained on. docs/guide/training.md explains it.
 *
 *     TINKER_BASE_URL=http://127.0.0.1:8000 ./02_sft */
#include <string.h>

#include "example.h"

#define STEPS 25
#define TRAIN 12 /* pairs; the others are for the test */
#define PAIRS 18

static const char *const opposites[PAIRS][2] = {
    {"big", "small"},  {"up", "down"},   {"day", "night"},   {"happy", "sad"},
    {"fast", "slow"},  {"old", "young"}, {"open", "closed"}, {"wet", "dry"},
    {"full", "empty"}, {"high", "low"},  {"long", "short"},  {"left", "right"},
    {"hot", "cold"},   {"hard", "soft"}, {"loud", "quiet"},  {"early", "late"},
    {"good", "bad"},   {"light", "dark"}};

static tinkc_tokenizer *tokenizer;
static tinkc_chat_template *tpl;

/* The question of a pair, and its answer if that is asked for. */
static tinkc_chat *make_chat(size_t pair, char answer[96], bool with_answer)
{
    char question[64];
    tinkc_chat *chat = NULL;
    const char *word = opposites[pair][0], *opposite = opposites[pair][1];
    (void)snprintf(question, sizeof(question), "What is the opposite of %s?", word);
    (void)snprintf(answer, 96, "The opposite of %s is %s. Thank you.", word, opposite);
    check(tinkc_chat_new(&chat, &err));
    check(tinkc_chat_add(chat, "user", question, &err));
    if (with_answer) {
        check(tinkc_chat_add(chat, "assistant", answer, &err));
    }
    return chat;
}

/* A datum is the whole conversation as tokens, of which those of the answer count. A step
 * is forward_backward and the optimizer's step on it; its loss is a sum over tokens. */
static void train(tinkc_training *training)
{
    char answer[96];
    tinkc_datum *data[TRAIN];
    tinkc_adam_params adam = TINKC_ADAM_PARAMS_INIT;
    tinkc_step_options options = TINKC_STEP_OPTIONS_INIT;
    adam.learning_rate = 2e-3;
    adam.eps = 1e-8;
    options.adam = &adam;
    for (size_t i = 0; i < TRAIN; i++) {
        tinkc_chat *chat = make_chat(i, answer, true);
        check(tinkc_chat_datum(&data[i], tpl, chat, tokenizer, NULL, &err));
        tinkc_chat_free(&chat);
    }
    for (int i = 0; i < STEPS; i++) {
        double loss = 0;
        tinkc_step *step = NULL;
        check(tinkc_training_step_wait(&step, training, data, TRAIN, "cross_entropy",
                                       &options, &err));
        /* some servers send no loss, all send log-probabilities */
        check(tinkc_fwdbwd_computed_loss(&loss, tinkc_step_fwdbwd(step), data, TRAIN,
                                         "cross_entropy", &err));
        printf("step %2d  loss %.3f per example\n", i, loss / TRAIN);
        tinkc_step_free(&step);
    }
    for (size_t i = 0; i < TRAIN; i++) {
        tinkc_datum_free(&data[i]);
    }
}

/* Counts exact answers about pairs that are not trained, with the weights as they are. The
 * prompt is what the model reads before it answers. */
static int test(tinkc_training *training)
{
    int right = 0;
    tinkc_sampling *sampling = NULL;
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    const int32_t end = tinkc_tokenizer_end(tokenizer); /* a server may need to know it */
    params.temperature = 0;
    params.max_tokens = 32;
    params.stop_tokens = &end;
    params.stop_tokens_n = 1;
    check(tinkc_training_save_and_sample_wait(&sampling, training, &err));
    for (size_t i = TRAIN; i < PAIRS; i++) {
        char answer[96], *text = NULL;
        size_t n = 0;
        tinkc_model_input *prompt = NULL;
        tinkc_samples *samples = NULL;
        tinkc_chat *chat = make_chat(i, answer, false);
        check(tinkc_chat_prompt(&prompt, tpl, chat, tokenizer, NULL, &err));
        check(
            tinkc_sampling_sample_wait(&samples, sampling, prompt, &params, NULL, &err));
        const int32_t *ids = tinkc_samples_tokens(&n, samples, 0);
        check(tinkc_tokenizer_text(&text, tokenizer, ids, n, true, &err));
        right += strcmp(text, answer) == 0;
        tinkc_text_free(&text);
        tinkc_samples_free(&samples);
        tinkc_model_input_free(&prompt);
        tinkc_chat_free(&chat);
    }
    tinkc_sampling_close(&sampling);
    return right;
}

int main(void)
{
    char *path = NULL;
    tinkc_service *service = NULL;
    tinkc_training *training = NULL;
    tinkc_lora_config lora = TINKC_LORA_CONFIG_INIT;
    lora.has_seed = true; /* the same numbers in every run */
    lora.seed = 1;
    check(tinkc_service_open(&service, NULL, &err));
    check(tinkc_service_create_training_wait(&training, service, MODEL, &lora, &err));
    check(tinkc_training_get_tokenizer(&tokenizer, training, NULL, &err));
    check(tinkc_chat_template_of(&tpl, tokenizer, NULL, &err));
    int before = test(training);
    train(training);
    int after = test(training);
    check(tinkc_training_save_state_wait(&path, training, "manners", NULL, &err));
    printf("saved %s\n", path);
    printf("right answers: %d of %d before, %d after\n", before, PAIRS - TRAIN, after);
    tinkc_text_free(&path);
    tinkc_chat_template_free(&tpl);
    tinkc_tokenizer_free(&tokenizer);
    /* Servers hold only a few models. */
    check(tinkc_training_unload_wait(training, &err));
    tinkc_training_close(&training);
    tinkc_service_close(&service);
    return 0;
}
