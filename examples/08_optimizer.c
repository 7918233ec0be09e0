/* Another optimizer, and regularizers: trains one sentence with Dimuon and with a loss of
 * its own that has two terms added. docs/guide/training.md and docs/guide/custom-loss.md
 * explain it. */
#include "example.h"

#define STEPS 12
#define MOST  64

static const char sentence[] = "The pebble lies on the beach.";

/* The negative log-likelihood. */
static int likelihood(double *loss, tinkc_metrics *metrics, tinkc_custom_item *items,
                      size_t n, void *user)
{
    (void)metrics;
    (void)user;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < items[i].n; k++) {
            *loss -= (double)items[i].logprobs[k];
            items[i].gradient[k] = -1;
        }
    }
    return 0;
}

static tinkc_datum *make_datum(const tinkc_tokenizer *tokenizer)
{
    tinkc_model_input *input = NULL, *shorter = NULL;
    tinkc_datum *datum = NULL;
    int32_t ids[MOST];
    size_t n = 0;
    check(tinkc_tokenizer_input(&input, tokenizer, sentence, &err));
    check(tinkc_model_input_tokens(ids, MOST, &n, input, &err));
    check(tinkc_model_input_from_tokens(&shorter, ids, n - 1, &err));
    check(tinkc_datum_new(&datum, &shorter, &err));
    check(tinkc_datum_set_i32(datum, "target_tokens", ids + 1, n - 1, &err));
    tinkc_model_input_free(&input);
    return datum;
}

/* One forward_backward; returns the likelihood's part of the loss. */
static double backward(tinkc_training *training, tinkc_datum *datum)
{
    tinkc_fwdbwd *result = NULL;
    double value = 0;
    tinkc_regularizer terms[2] = {TINKC_REGULARIZER_INIT, TINKC_REGULARIZER_INIT};
    terms[0].kind = TINKC_REGULARIZER_L2;
    terms[0].weight = 0.001;
    terms[1].kind = TINKC_REGULARIZER_ENTROPY;
    terms[1].maximize = true;
    tinkc_regularized all = TINKC_REGULARIZED_INIT;
    all.loss = likelihood;
    all.terms = terms;
    all.terms_n = 2;
    all.gradient_norms = true;
    check(tinkc_training_forward_backward_custom_wait(&result, training, &datum, 1,
                                                      tinkc_regularize, &all, &err));
    check(tinkc_metrics_get(&value, tinkc_fwdbwd_metrics(result), "base_loss", &err));
    tinkc_fwdbwd_free(&result);
    return value;
}

static void step(tinkc_training *training)
{
    tinkc_dimuon_params dimuon = TINKC_DIMUON_PARAMS_INIT;
    dimuon.learning_rate = 0.1;
    tinkc_optim_params params = TINKC_OPTIM_PARAMS_INIT;
    params.type = TINKC_OPTIMIZER_DIMUON;
    params.dimuon = &dimuon;
    check(tinkc_training_optim_step_with_wait(NULL, training, &params, &err));
}

int main(void)
{
    tinkc_service *service = NULL;
    tinkc_training *training = NULL;
    tinkc_tokenizer *tokenizer = NULL;
    tinkc_lora_config lora = TINKC_LORA_CONFIG_INIT;
    tinkc_optimizer_config optimizer = TINKC_OPTIMIZER_CONFIG_INIT;
    optimizer.type = TINKC_OPTIMIZER_DIMUON;
    lora.optimizer = &optimizer;
    lora.has_seed = true; /* the same numbers in every run */
    lora.seed = 1;
    check(tinkc_service_open(&service, NULL, &err));
    check(tinkc_service_create_training_wait(&training, service, MODEL, &lora, &err));
    check(tinkc_training_get_tokenizer(&tokenizer, training, NULL, &err));
    tinkc_datum *datum = make_datum(tokenizer);

    double first = backward(training, datum), last = first;
    for (int i = 0; i < STEPS; i++) {
        step(training);
        last = backward(training, datum);
    }
    printf("loss %.3f before, %.3f after %d steps of Dimuon\n", first, last, STEPS);

    tinkc_datum_free(&datum);
    tinkc_tokenizer_free(&tokenizer);
    /* Servers hold only a few models. */
    check(tinkc_training_unload_wait(training, &err));
    tinkc_training_close(&training);
    tinkc_service_close(&service);
    return 0;
}
