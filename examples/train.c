/* A training loop: fine-tunes a model on one sentence of token ids, prints the loss of
 * each step, and samples from the result. docs/guide/training.md explains it.
 *
 *     TINKER_BASE_URL=http://127.0.0.1:8000 ./train [base model] */
#include <inttypes.h>
#include <stdio.h>

#include <tinkc/tinkc.h>

#define STEPS  5
#define TOKENS 6

static const int32_t sentence[TOKENS + 1] = {11, 12, 13, 14, 15, 16, 17};

/* One example: the model reads a token and is to say the next one. */
static tinkc_code make_datum(tinkc_datum **out, tinkc_error **err)
{
    static const float weights[TOKENS] = {1, 1, 1, 1, 1, 1};
    tinkc_model_input *input = NULL;
    tinkc_datum *datum = NULL;
    tinkc_code code = tinkc_model_input_from_tokens(&input, sentence, TOKENS, err);
    if (code == TINKC_OK) {
        code = tinkc_datum_new(&datum, &input, err); /* takes the input */
    }
    if (code == TINKC_OK) {
        code = tinkc_datum_set_i32(datum, "target_tokens", sentence + 1, TOKENS, err);
    }
    if (code == TINKC_OK) {
        code = tinkc_datum_set_f32(datum, "weights", weights, TOKENS, err);
    }
    if (code != TINKC_OK) {
        tinkc_datum_free(&datum);
        tinkc_model_input_free(&input);
        return code;
    }
    *out = datum;
    return TINKC_OK;
}

/* Both calls return at once. The server gets them in this order; the second does not wait
 * for the result of the first. */
static tinkc_code step(tinkc_training *training, const tinkc_datum *datum, double *loss,
                       tinkc_error **err)
{
    tinkc_adam_params adam = TINKC_ADAM_PARAMS_INIT;
    adam.learning_rate = 1e-3;
    tinkc_future *batch =
        tinkc_training_forward_backward(training, &datum, 1, "cross_entropy", NULL);
    tinkc_future *optim = tinkc_training_optim_step(training, &adam);

    tinkc_fwdbwd *result = NULL;
    tinkc_code code = tinkc_future_wait(batch, TINKC_FOREVER); /* blocks */
    if (code == TINKC_OK) {
        code = tinkc_future_take_fwdbwd(&result, batch, err);
    } else {
        *err = tinkc_future_take_error(batch);
    }
    if (code == TINKC_OK) {
        code = tinkc_fwdbwd_loss(loss, result);
    }
    if (code == TINKC_OK) {
        code = tinkc_future_wait(optim, TINKC_FOREVER);
        *err = tinkc_future_take_error(optim); /* NULL when there is none */
    }
    tinkc_fwdbwd_free(&result);
    tinkc_future_free(&batch);
    tinkc_future_free(&optim);
    return code;
}

static tinkc_code train(tinkc_training *training, tinkc_error **err)
{
    tinkc_datum *datum = NULL;
    tinkc_code code = make_datum(&datum, err);
    for (int i = 0; i < STEPS && code == TINKC_OK; i++) {
        double loss = 0;
        code = step(training, datum, &loss, err);
        if (code == TINKC_OK) {
            printf("step %d  loss %.4f\n", i, loss / TOKENS);
        }
    }
    tinkc_datum_free(&datum);
    return code;
}

/* The same in blocking calls: each function that returns a future has a twin in _wait. */
static tinkc_code sample(tinkc_training *training, tinkc_error **err)
{
    tinkc_sampling *sampling = NULL;
    tinkc_samples *samples = NULL;
    tinkc_model_input *prompt = NULL;
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    params.max_tokens = 4;
    params.temperature = 0;
    tinkc_code code = tinkc_training_save_and_sample_wait(&sampling, training, err);
    if (code == TINKC_OK) {
        code = tinkc_model_input_from_tokens(&prompt, sentence, 1, err);
    }
    if (code == TINKC_OK) {
        code = tinkc_sampling_sample_wait(&samples, sampling, prompt, &params, NULL, err);
    }
    if (code == TINKC_OK) {
        size_t n = 0;
        const int32_t *tokens = tinkc_samples_tokens(samples, 0, &n);
        printf("sampled");
        for (size_t i = 0; i < n; i++) {
            printf(" %" PRId32, tokens[i]);
        }
        printf("\n");
    }
    tinkc_samples_free(&samples);
    tinkc_model_input_free(&prompt);
    tinkc_sampling_close(&sampling);
    return code;
}

int main(int argc, char **argv)
{
    const char *model = argc > 1 ? argv[1] : "tinkc/pebble-llama-2m";
    tinkc_service *service = NULL;
    tinkc_training *training = NULL;
    tinkc_error *err = NULL;
    tinkc_code code = tinkc_service_open(&service, NULL, &err);
    if (code == TINKC_OK) {
        code = tinkc_service_create_training_wait(&training, service, model, NULL, &err);
    }
    if (code == TINKC_OK) {
        code = train(training, &err);
    }
    if (code == TINKC_OK) {
        code = sample(training, &err);
    }
    if (code != TINKC_OK) {
        fprintf(stderr, "%s: %s\n", tinkc_code_name(code), tinkc_error_message(err));
    }
    tinkc_error_free(&err);
    tinkc_training_close(&training);
    tinkc_service_close(&service);
    return code == TINKC_OK ? 0 : 1;
}
