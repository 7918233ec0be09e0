/* The program of `make demo`: fine-tunes the server's model through libtinkc on a task that
 * the model cannot do, and compares its answers before and after on items that it was not
 * trained on. scripts/demo.sh starts the server and sets TINKER_BASE_URL.
 *
 *     demo [STEPS] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tinkc/tinkc.h>

#include "screen.h"
#include "task.h"

#define MODEL      "tinkc/pebble-llama-2m"
#define STEPS      200
#define STEPS_MAX  10000
#define BATCH      32
#define TESTS      64
#define SHOWN      5
#define RATE       3e-3
#define TOKENS_MAX 256
#define ANSWER_MAX 64

typedef struct demo {
    tinkc_service *service;
    tinkc_training *training;
    tinkc_tokenizer *tokenizer;
    tinkc_error *err;
    task_item tests[TESTS];
    char before[TESTS][TASK_TEXT_BYTES], after[TESTS][TASK_TEXT_BYTES];
    size_t steps;
    double losses[STEPS_MAX];
} demo;

/* ---- text ---- */

/* Encodes an item in the chat format of the embedded model. Without `answer` the text ends
 * where the model has to answer. */
static tinkc_code encode(demo *d, const task_item *item, bool answer,
                         tinkc_encoding **out)
{
    char text[3 * TASK_TEXT_BYTES];
    (void)snprintf(text, sizeof(text), "<|endoftext|><|user|>%s<|end|><|assistant|>%s%s",
                   item->question, answer ? item->answer : "", answer ? "<|end|>" : "");
    return tinkc_tokenizer_encode(out, d->tokenizer, text, strlen(text), NULL, &d->err);
}

/* ---- training ---- */

/* Makes a datum with weight 1 on the tokens of the answer and 0 on the question. */
static tinkc_code make_datum(demo *d, const task_item *item, tinkc_datum **out,
                             double *weight)
{
    tinkc_encoding *all = NULL, *question = NULL;
    tinkc_model_input *input = NULL;
    tinkc_datum *datum = NULL;
    float weights[TOKENS_MAX];
    size_t n = 0, asked = 0;
    tinkc_code code = encode(d, item, true, &all);
    if (code != TINKC_OK) {
        goto out;
    }
    code = encode(d, item, false, &question);
    if (code != TINKC_OK) {
        goto out;
    }
    const int32_t *ids = tinkc_encoding_ids(&n, all);
    (void)tinkc_encoding_ids(&asked, question);
    code = n >= 2 && n <= TOKENS_MAX ? TINKC_OK : TINKC_E_LIMIT;
    if (code != TINKC_OK) {
        goto out;
    }
    code = tinkc_model_input_from_tokens(&input, ids, n - 1, &d->err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tinkc_datum_new(&datum, &input, &d->err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tinkc_datum_set_i32(datum, "target_tokens", ids + 1, n - 1, &d->err);
    if (code != TINKC_OK) {
        goto out;
    }
    for (size_t i = 0; i + 1 < n; i++) {
        weights[i] = i + 1 >= asked ? 1.0F : 0.0F;
        *weight += (double)weights[i];
    }
    code = tinkc_datum_set_f32(datum, "weights", weights, n - 1, &d->err);
out:
    tinkc_encoding_free(&all);
    tinkc_encoding_free(&question);
    tinkc_model_input_free(&input);
    if (code != TINKC_OK) {
        tinkc_datum_free(&datum);
    }
    *out = datum;
    return code;
}

/* A step in flight; owns both futures. */
typedef struct step {
    tinkc_future *batch, *optim;
    double weight; /* trained tokens of the batch */
} step;

static tinkc_code send_step(demo *d, task_random *random, double rate, step *out)
{
    tinkc_datum *data[BATCH] = {NULL};
    tinkc_code code = TINKC_OK;
    out->weight = 0;
    for (size_t i = 0; i < BATCH && code == TINKC_OK; i++) {
        task_item item;
        task_train_item(random, &item);
        code = make_datum(d, &item, &data[i], &out->weight);
    }
    if (code == TINKC_OK) {
        tinkc_adam_params adam = TINKC_ADAM_PARAMS_INIT;
        adam.learning_rate = rate;
        adam.eps = 1e-8;
        out->batch = tinkc_training_forward_backward(d->training, data, BATCH,
                                                     "cross_entropy", NULL);
        out->optim = tinkc_training_optim_step(d->training, &adam);
    }
    for (size_t i = 0; i < BATCH; i++) {
        tinkc_datum_free(&data[i]);
    }
    return code;
}

static tinkc_code end_step(demo *d, step *s, double *loss)
{
    tinkc_fwdbwd *result = NULL;
    (void)tinkc_future_wait(s->batch, TINKC_FOREVER);
    tinkc_code code = tinkc_future_take_fwdbwd(&result, s->batch, &d->err);
    if (code == TINKC_OK) {
        code = tinkc_fwdbwd_loss(loss, result, NULL);
        *loss /= s->weight;
    }
    tinkc_metrics *metrics = NULL;
    if (code == TINKC_OK) {
        (void)tinkc_future_wait(s->optim, TINKC_FOREVER);
        code = tinkc_future_take_metrics(&metrics, s->optim, &d->err);
    }
    tinkc_metrics_free(&metrics);
    tinkc_fwdbwd_free(&result);
    tinkc_future_free(&s->batch);
    tinkc_future_free(&s->optim);
    return code;
}

/* Sends the next step before it waits for the result of this one, so that the server never
 * waits for the program. */
static tinkc_code train(demo *d)
{
    task_random random = {1};
    step now = {NULL, NULL, 0}, next = {NULL, NULL, 0};
    tinkc_code code = send_step(d, &random, RATE, &now);
    for (size_t i = 0; i < d->steps && code == TINKC_OK; i++) {
        if (i + 1 < d->steps) {
            double left = 1.0 - (double)(i + 1) / (double)d->steps;
            code = send_step(d, &random, RATE * left, &next);
        }
        if (code == TINKC_OK) {
            code = end_step(d, &now, &d->losses[i]);
        }
        if (code == TINKC_OK) {
            screen_progress(i + 1, d->steps, d->losses[i]);
        }
        now = next;
        next = (step){NULL, NULL, 0};
    }
    tinkc_future_free(&now.batch);
    tinkc_future_free(&now.optim);
    return code;
}

/* ---- testing ---- */

typedef struct test {
    demo *d;
    char (*answers)[TASK_TEXT_BYTES];
    size_t right;
} test;

static bool take_answer(size_t index, const tinkc_samples *samples,
                        const tinkc_error *error, void *user)
{
    test *t = user;
    if (samples == NULL) {
        fprintf(stderr, "demo: %s\n", tinkc_error_message(error));
        return false;
    }
    tinkc_decode what = TINKC_DECODE_INIT;
    what.ids = tinkc_samples_tokens(&what.ids_n, samples, 0);
    what.skip_special = true;
    char *text = NULL;
    if (tinkc_tokenizer_decode(&text, NULL, t->d->tokenizer, &what, &t->d->err) !=
        TINKC_OK) {
        return false;
    }
    (void)snprintf(t->answers[index], TASK_TEXT_BYTES, "%s", text);
    t->right += strcmp(text, t->d->tests[index].answer) == 0;
    tinkc_text_free(&text);
    return true;
}

/* Takes greedy answers to all test items and counts those that are exactly right. */
static tinkc_code run_tests(demo *d, tinkc_sampling *sampling,
                            char answers[][TASK_TEXT_BYTES], size_t *right)
{
    tinkc_model_input *prompts[TESTS] = {NULL};
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; i < TESTS && code == TINKC_OK; i++) {
        tinkc_encoding *ids = NULL;
        size_t n = 0;
        code = encode(d, &d->tests[i], false, &ids);
        if (code == TINKC_OK) {
            const int32_t *tokens = tinkc_encoding_ids(&n, ids);
            code = tinkc_model_input_from_tokens(&prompts[i], tokens, n, &d->err);
        }
        tinkc_encoding_free(&ids);
    }
    test t = {d, answers, 0};
    if (code == TINKC_OK) {
        tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
        params.temperature = 0;
        params.max_tokens = ANSWER_MAX;
        tinkc_sample_batch batch = TINKC_SAMPLE_BATCH_INIT;
        batch.prompts = prompts;
        batch.prompts_n = TESTS;
        batch.params = &params;
        batch.fn = take_answer;
        batch.user = &t;
        code = tinkc_sampling_batch(sampling, &batch, &d->err);
    }
    for (size_t i = 0; i < TESTS; i++) {
        tinkc_model_input_free(&prompts[i]);
    }
    *right = t.right;
    return code;
}

static tinkc_code test_before(demo *d, size_t *right)
{
    tinkc_sampling *sampling = NULL;
    tinkc_code code =
        tinkc_service_create_sampling_wait(&sampling, d->service, MODEL, NULL, &d->err);
    if (code == TINKC_OK) {
        code = run_tests(d, sampling, d->before, right);
    }
    tinkc_sampling_close(&sampling);
    return code;
}

static tinkc_code test_after(demo *d, size_t *right)
{
    tinkc_sampling *sampling = NULL;
    tinkc_code code =
        tinkc_training_save_and_sample_wait(&sampling, d->training, &d->err);
    if (code == TINKC_OK) {
        code = run_tests(d, sampling, d->after, right);
    }
    tinkc_sampling_close(&sampling);
    return code;
}

/* ---- the program ---- */

static tinkc_code open_model(demo *d)
{
    tinkc_lora_config lora = TINKC_LORA_CONFIG_INIT;
    lora.has_seed = true;
    lora.seed = 1;
    tinkc_model_info *info = NULL;
    tinkc_code code = tinkc_service_open(&d->service, NULL, &d->err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tinkc_service_create_training_wait(&d->training, d->service, MODEL, &lora,
                                              &d->err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tinkc_training_get_info_wait(&info, d->training, &d->err);
    if (code != TINKC_OK) {
        goto out;
    }
    /* a local server gives the directory of the model */
    code =
        tinkc_tokenizer_load(&d->tokenizer, tinkc_model_info_tokenizer_id(info), &d->err);
out:
    tinkc_model_info_free(&info);
    return code;
}

static tinkc_code save(demo *d)
{
    tinkc_save_options options = TINKC_SAVE_OPTIONS_INIT;
    char *state = NULL, *weights = NULL;
    options.overwrite = true;
    tinkc_code code =
        tinkc_training_save_state_wait(&state, d->training, "demo", &options, &d->err);
    if (code == TINKC_OK) {
        code = tinkc_training_save_weights_for_sampler_wait(&weights, d->training, "demo",
                                                            NULL, &d->err);
    }
    if (code == TINKC_OK) {
        printf("\nSaved\n  %s\n  %s\n", state, weights);
    }
    tinkc_text_free(&state);
    tinkc_text_free(&weights);
    return code;
}

static void show(const demo *d, size_t before, size_t after)
{
    printf("\nLoss (nats per token of the answer)\n");
    screen_curve(d->losses, d->steps);
    printf("\nItems that were not trained on\n");
    screen_row("question", "before", "after");
    for (size_t i = 0; i < SHOWN; i++) {
        screen_row(d->tests[i].question, d->before[i], d->after[i]);
    }
    printf("\nExactly right: %zu of %d before, %zu of %d after\n", before, TESTS, after,
           TESTS);
}

static tinkc_code run(demo *d)
{
    task_random random = {2};
    size_t before = 0, after = 0;
    for (size_t i = 0; i < TESTS; i++) {
        task_test_item(&random, &d->tests[i]);
    }
    tinkc_code code = open_model(d);
    if (code != TINKC_OK) {
        return code;
    }
    printf("Fine-tuning " MODEL ": three words in reverse order, rank 32, %zu steps of "
           "%d\n",
           d->steps, BATCH);
    code = test_before(d, &before);
    if (code != TINKC_OK) {
        return code;
    }
    code = train(d);
    if (code != TINKC_OK) {
        return code;
    }
    code = test_after(d, &after);
    if (code != TINKC_OK) {
        return code;
    }
    show(d, before, after);
    return save(d);
}

int main(int argc, char **argv)
{
    static demo d;
    long steps = argc > 1 ? strtol(argv[1], NULL, 10) : STEPS;
    d.steps = steps >= 8 && steps <= STEPS_MAX ? (size_t)steps : STEPS;
    tinkc_code code = run(&d);
    if (code != TINKC_OK) {
        fprintf(stderr, "demo: %s: %s\n", tinkc_code_name(code),
                d.err != NULL ? tinkc_error_message(d.err) : "");
    }
    tinkc_error_free(&d.err);
    tinkc_tokenizer_free(&d.tokenizer);
    tinkc_training_close(&d.training);
    tinkc_service_close(&d.service);
    return code == TINKC_OK ? 0 : 1;
}
