/* Supervised fine-tuning: teaches the model good manners, and tests it on
 * questions that it was not trained with. docs/guide/training.md explains it.
 *
 *     TINKER_BASE_URL=http://127.0.0.1:8000 ./02_sft */
#include <string.h>

#include "example.h"

#define STEPS 25
#define TRAIN 16 /* items; the others are for the test */
#define ITEMS 24

typedef struct item {
    const char *question, *answer;
} item;

static const item items[ITEMS] = {
    {"What is the opposite of big?", "The opposite of big is small. Thank you."},
    {"What is the opposite of up?", "The opposite of up is down. Thank you."},
    {"What is the opposite of day?", "The opposite of day is night. Thank you."},
    {"What is the opposite of happy?", "The opposite of happy is sad. Thank you."},
    {"What does a dog say?", "A dog says woof. Thank you."},
    {"What does a cat say?", "A cat says meow. Thank you."},
    {"What does a duck say?", "A duck says quack. Thank you."},
    {"What does a sheep say?", "A sheep says baa. Thank you."},
    {"What colour is grass?", "Grass is green. Thank you."},
    {"What colour is the sky?", "The sky is blue. Thank you."},
    {"What colour is coal?", "Coal is black. Thank you."},
    {"What is a young cat called?", "A young cat is called a kitten. Thank you."},
    {"What is a young dog called?", "A young dog is called a puppy. Thank you."},
    {"Where does a bird live?", "A bird lives in a nest. Thank you."},
    {"Where does a bear live?", "A bear lives in a cave. Thank you."},
    {"What comes after Monday?", "Tuesday comes after Monday. Thank you."},
    {"What is the opposite of hot?", "The opposite of hot is cold. Thank you."},
    {"What is the opposite of wet?", "The opposite of wet is dry. Thank you."},
    {"What does a cow say?", "A cow says moo. Thank you."},
    {"What does a pig say?", "A pig says oink. Thank you."},
    {"What colour is snow?", "Snow is white. Thank you."},
    {"What is a young cow called?", "A young cow is called a calf. Thank you."},
    {"Where does a bee live?", "A bee lives in a hive. Thank you."},
    {"What comes after June?", "July comes after June. Thank you."},
};

static tinkc_error *err;
static tinkc_tokenizer *tokenizer;
static tinkc_chat_template *chat_template;

/* One example: the whole conversation as tokens, of which those of the answer count. */
static tinkc_datum *make_datum(const item *it)
{
    tinkc_chat *chat = NULL;
    tinkc_datum *datum = NULL;
    check(tinkc_chat_new(&chat, &err), &err);
    check(tinkc_chat_add(chat, "user", it->question, &err), &err);
    check(tinkc_chat_add(chat, "assistant", it->answer, &err), &err);
    check(tinkc_chat_datum(&datum, chat_template, chat, tokenizer, NULL, &err), &err);
    tinkc_chat_free(&chat);
    return datum;
}

/* Both calls return at once, and both are under way together. The server gets them in
 * this order. Returns the loss of the batch, a sum over its tokens. */
static double step(tinkc_training *training, tinkc_datum *const *data, size_t n)
{
    tinkc_adam_params adam = TINKC_ADAM_PARAMS_INIT;
    adam.learning_rate = 2e-3;
    adam.eps = 1e-8;
    tinkc_future *batch =
        tinkc_training_forward_backward(training, data, n, "cross_entropy", NULL);
    tinkc_future *optim = tinkc_training_optim_step(training, &adam);

    double loss = 0;
    tinkc_fwdbwd *result = NULL;
    tinkc_metrics *metrics = NULL;
    (void)tinkc_future_wait(batch, TINKC_FOREVER); /* blocks */
    check(tinkc_future_take_fwdbwd(&result, batch, &err), &err);
    check(tinkc_fwdbwd_loss(&loss, result, &err), &err);
    (void)tinkc_future_wait(optim, TINKC_FOREVER);
    check(tinkc_future_take_metrics(&metrics, optim, &err), &err);
    tinkc_metrics_free(&metrics);
    tinkc_fwdbwd_free(&result);
    tinkc_future_free(&batch);
    tinkc_future_free(&optim);
    return loss;
}

static void train(tinkc_training *training)
{
    tinkc_datum *data[TRAIN];
    for (size_t i = 0; i < TRAIN; i++) {
        data[i] = make_datum(&items[i]);
    }
    for (int i = 0; i < STEPS; i++) {
        double loss = step(training, data, TRAIN);
        printf("step %2d  loss %.3f per example\n", i, loss / TRAIN);
    }
    for (size_t i = 0; i < TRAIN; i++) {
        tinkc_datum_free(&data[i]);
    }
}

/* What the model reads before it answers. */
static tinkc_model_input *make_prompt(const char *question)
{
    char *text = NULL;
    size_t n = 0;
    tinkc_chat *chat = NULL;
    tinkc_encoding *encoding = NULL;
    tinkc_model_input *prompt = NULL;
    tinkc_chat_options options = TINKC_CHAT_OPTIONS_INIT;
    options.add_generation_prompt = true;
    check(tinkc_chat_new(&chat, &err), &err);
    check(tinkc_chat_add(chat, "user", question, &err), &err);
    check(tinkc_chat_render(&text, &n, chat_template, chat, &options, &err), &err);
    check(tinkc_tokenizer_encode(&encoding, tokenizer, text, n, NULL, &err), &err);
    const int32_t *ids = tinkc_encoding_ids(&n, encoding);
    check(tinkc_model_input_from_tokens(&prompt, ids, n, &err), &err);
    tinkc_encoding_free(&encoding);
    tinkc_text_free(&text);
    tinkc_chat_free(&chat);
    return prompt;
}

/* Whether the model gives exactly the answer. */
static bool is_right(tinkc_sampling *sampling, const item *it)
{
    char *text = NULL;
    tinkc_samples *samples = NULL;
    tinkc_model_input *prompt = make_prompt(it->question);
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    params.temperature = 0;
    params.max_tokens = 32;
    check(tinkc_sampling_sample_wait(&samples, sampling, prompt, &params, NULL, &err),
          &err);
    tinkc_decode what = TINKC_DECODE_INIT;
    what.ids = tinkc_samples_tokens(&what.ids_n, samples, 0);
    what.skip_special = true;
    check(tinkc_tokenizer_decode(&text, NULL, tokenizer, &what, &err), &err);
    bool right = strcmp(text, it->answer) == 0;
    tinkc_text_free(&text);
    tinkc_samples_free(&samples);
    tinkc_model_input_free(&prompt);
    return right;
}

/* Right answers to the questions that are not trained, with the weights as they are. */
static int test(tinkc_training *training)
{
    int right = 0;
    tinkc_sampling *sampling = NULL;
    check(tinkc_training_save_and_sample_wait(&sampling, training, &err), &err);
    for (size_t i = TRAIN; i < ITEMS; i++) {
        right += is_right(sampling, &items[i]);
    }
    tinkc_sampling_close(&sampling);
    return right;
}

int main(void)
{
    tinkc_service *service = NULL;
    tinkc_training *training = NULL;
    tinkc_lora_config lora = TINKC_LORA_CONFIG_INIT;
    lora.has_seed = true; /* the same numbers in every run */
    lora.seed = 1;
    check(tinkc_service_open(&service, NULL, &err), &err);
    check(tinkc_service_create_training_wait(&training, service, MODEL, &lora, &err),
          &err);
    check(tinkc_training_get_tokenizer(&tokenizer, training, NULL, &err), &err);
    check(tinkc_chat_template_of(&chat_template, tokenizer, NULL, &err), &err);

    int before = test(training);
    train(training);
    int after = test(training);
    char *path = NULL;
    check(tinkc_training_save_state_wait(&path, training, "manners", NULL, &err), &err);
    printf("saved %s\n", path);
    printf("right answers: %d of %d before, %d after\n", before, ITEMS - TRAIN, after);

    tinkc_text_free(&path);
    tinkc_chat_template_free(&chat_template);
    tinkc_tokenizer_free(&tokenizer);
    tinkc_training_close(&training);
    tinkc_service_close(&service);
    return 0;
}
