/* A script of training and sampling whose results are exact: through a bad network it
 * must give the same bits as without one. A step that was applied twice, or not at all,
 * changes all later results. */
#ifndef SERVER_EXACTFIX_H
#define SERVER_EXACTFIX_H

#include <stdio.h>
#include <string.h>
#include <tinkc/sampling.h>
#include <tinkc/service.h>
#include <tinkc/training.h>

#include "base/tk.h"

#define EXACTFIX_MODEL "tinkc/pebble-llama-2m"
#define EXACTFIX_N     7 /* tokens of a datum */
#define EXACTFIX_STEPS 4

typedef struct exactfix {
    float logprobs[EXACTFIX_N]; /* after all steps */
    int32_t tokens[6];          /* a seeded sample of the last weights */
    char path[192];             /* of the save */
} exactfix;

/* Runs the loop of the service, if it is the caller's, until the future is done; the
 * code. */
typedef tinkc_code (*exactfix_drive)(void *user, tinkc_future *future);

static inline tinkc_datum *exactfix_datum(int k)
{
    int32_t text[EXACTFIX_N + 1] = {5 + k, 17, 9, 40, 12, 33, 8, 21 + k};
    const float weights[EXACTFIX_N] = {1, 1, 1, 1, 1, 1, 1};
    tinkc_model_input *input = NULL;
    tinkc_datum *out = NULL;
    bool ok = tinkc_model_input_from_tokens(&input, text, EXACTFIX_N, NULL) == TINKC_OK &&
              tinkc_datum_new(&out, &input, NULL) == TINKC_OK &&
              tinkc_datum_set_i32(out, "target_tokens", text + 1, EXACTFIX_N, NULL) ==
                  TINKC_OK &&
              tinkc_datum_set_f32(out, "weights", weights, EXACTFIX_N, NULL) == TINKC_OK;
    return ok ? out : NULL;
}

/* Steps are submitted all at once, so that many requests are under way. */
static inline bool exactfix_train(tinkc_training *training, exactfix_drive drive,
                                  void *user)
{
    tinkc_future *futures[2 * EXACTFIX_STEPS];
    tinkc_adam_params adam = TINKC_ADAM_PARAMS_INIT;
    adam.learning_rate = 0.001;
    bool ok = true;
    for (int i = 0; i < EXACTFIX_STEPS; i++) {
        tinkc_datum *a = exactfix_datum(2 * i), *b = exactfix_datum(2 * i + 1);
        tinkc_datum *data[] = {a, b};
        futures[2 * i] =
            tinkc_training_forward_backward(training, data, 2, "cross_entropy", NULL);
        futures[2 * i + 1] = tinkc_training_optim_step(training, &adam);
        tinkc_datum_free(&a);
        tinkc_datum_free(&b);
    }
    for (int i = 0; i < 2 * EXACTFIX_STEPS; i++) {
        ok = drive(user, futures[i]) == TINKC_OK && ok;
        tinkc_future_free(&futures[i]);
    }
    return ok;
}

static inline bool exactfix_read(exactfix *out, tinkc_training *training,
                                 exactfix_drive drive, void *user)
{
    tinkc_datum *d = exactfix_datum(0);
    tinkc_datum *data[] = {d};
    tinkc_fwdbwd *result = NULL;
    const float *values = NULL;
    size_t n = 0;
    tinkc_future *future =
        tinkc_training_forward(training, data, 1, "cross_entropy", NULL);
    bool ok = drive(user, future) == TINKC_OK &&
              tinkc_future_take_fwdbwd(&result, future, NULL) == TINKC_OK &&
              tinkc_fwdbwd_f32(&values, &n, result, 0, "logprobs", NULL) == TINKC_OK &&
              n == EXACTFIX_N;
    if (ok) {
        memcpy(out->logprobs, values, sizeof(out->logprobs));
    }
    tinkc_future_free(&future);
    tinkc_fwdbwd_free(&result);
    tinkc_datum_free(&d);
    return ok;
}

static inline bool exactfix_save(exactfix *out, tinkc_training *training,
                                 exactfix_drive drive, void *user)
{
    char *path = NULL;
    tinkc_future *future = tinkc_training_save_state(training, "exact", NULL);
    bool ok = drive(user, future) == TINKC_OK &&
              tinkc_future_take_text(&path, future, NULL) == TINKC_OK;
    (void)snprintf(out->path, sizeof(out->path), "%s", ok ? path : "");
    tinkc_text_free(&path);
    tinkc_future_free(&future);
    return ok;
}

static inline bool exactfix_sample(exactfix *out, tinkc_training *training,
                                   exactfix_drive drive, void *user)
{
    static const int32_t prompt_tokens[] = {5, 17, 9};
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    params.max_tokens = 6;
    params.has_seed = true;
    params.seed = 3;
    params.stop_texts = (const char *const[]){NULL};
    tinkc_sampling *sampling = NULL;
    tinkc_model_input *prompt = NULL;
    tinkc_samples *samples = NULL;
    tinkc_future *saved = tinkc_training_save_and_sample(training);
    bool ok = drive(user, saved) == TINKC_OK &&
              tinkc_future_take_sampling(&sampling, saved, NULL) == TINKC_OK &&
              tinkc_model_input_from_tokens(&prompt, prompt_tokens, 3, NULL) == TINKC_OK;
    tinkc_future *future =
        ok ? tinkc_sampling_sample(sampling, prompt, &params, NULL) : NULL;
    ok = ok && drive(user, future) == TINKC_OK &&
         tinkc_future_take_samples(&samples, future, NULL) == TINKC_OK;
    size_t n = 0;
    const int32_t *tokens = ok ? tinkc_samples_tokens(&n, samples, 0) : NULL;
    ok = ok && n == TK_ARRAY_LEN(out->tokens);
    if (ok) {
        memcpy(out->tokens, tokens, sizeof(out->tokens));
    }
    tinkc_samples_free(&samples);
    tinkc_future_free(&future);
    tinkc_future_free(&saved);
    tinkc_model_input_free(&prompt);
    tinkc_sampling_close(&sampling);
    return ok;
}

/* The whole script on a new model. False when an operation failed. */
static inline bool exactfix_run(exactfix *out, tinkc_service *service,
                                exactfix_drive drive, void *user)
{
    tinkc_lora_config lora = TINKC_LORA_CONFIG_INIT;
    lora.rank = 4;
    lora.has_seed = true;
    lora.seed = 7;
    tinkc_training *training = NULL;
    *out = (exactfix){.tokens = {0}};
    tinkc_future *future = tinkc_service_create_training(service, EXACTFIX_MODEL, &lora);
    bool ok = drive(user, future) == TINKC_OK &&
              tinkc_future_take_training(&training, future, NULL) == TINKC_OK &&
              exactfix_train(training, drive, user) &&
              exactfix_read(out, training, drive, user) &&
              exactfix_save(out, training, drive, user) &&
              exactfix_sample(out, training, drive, user);
    tinkc_future_free(&future);
    tinkc_training_close(&training);
    return ok;
}

#endif
