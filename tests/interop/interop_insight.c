/* One training step and one sample, traced and metered, for tests/interop/insight.sh.
 *   interop_insight URL TRACE PROMETHEUS JSON
 * Links: client */
#include <stdio.h>
#include <string.h>

#include <tinkc/hooks.h>
#include <tinkc/meter.h>
#include <tinkc/sampling.h>
#include <tinkc/trace.h>
#include <tinkc/training.h>

#define MODEL  "tinkc/pebble-llama-2m"
#define TOKENS 12

static bool failed(const char *what, tinkc_error **err)
{
    fprintf(stderr, "interop_insight: %s: %s\n", what, tinkc_error_message(*err));
    tinkc_error_free(err);
    return false;
}

static tinkc_service *open_service(const char *url)
{
    tinkc_config *config = NULL;
    tinkc_service *service = NULL;
    tinkc_error *err = NULL;
    bool ok = tinkc_config_new(&config, &err) == TINKC_OK &&
              tinkc_config_set(config, "base_url", url, &err) == TINKC_OK &&
              tinkc_config_set(config, "api_key", "tml-interop", &err) == TINKC_OK &&
              tinkc_config_set(config, "proxy", "", &err) == TINKC_OK &&
              tinkc_service_open(&service, config, &err) == TINKC_OK;
    tinkc_config_free(&config);
    if (!ok) {
        (void)failed("service", &err);
    }
    return service;
}

static tinkc_datum *make_datum(tinkc_error **err)
{
    static const int32_t tokens[TOKENS] = {5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    static const float weights[TOKENS] = {1, 1, 1, 1};
    tinkc_model_input *input = NULL;
    tinkc_datum *datum = NULL;
    if (tinkc_model_input_from_tokens(&input, tokens, TOKENS, err) != TINKC_OK ||
        tinkc_datum_new(&datum, &input, err) != TINKC_OK ||
        tinkc_datum_set_i32(datum, "target_tokens", tokens, TOKENS, err) != TINKC_OK ||
        tinkc_datum_set_f32(datum, "weights", weights, TOKENS, err) != TINKC_OK) {
        tinkc_model_input_free(&input);
        tinkc_datum_free(&datum);
    }
    return datum;
}

/* forward_backward and optim_step, both under way at once, in a context. */
static bool step(tinkc_training *training, tinkc_error **err)
{
    static const tinkc_pair tags[] = {{"step", "0"}, {"what", "a \"quoted\" \\ tag"}};
    tinkc_context context = TINKC_CONTEXT_INIT;
    tinkc_training *traced = NULL;
    tinkc_datum *datum = make_datum(err);
    context.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    context.tags = tags;
    context.tags_n = 2;
    if (datum == NULL ||
        tinkc_training_with_context(&traced, training, &context, err) != TINKC_OK) {
        tinkc_datum_free(&datum);
        return false;
    }
    tinkc_datum *data[] = {datum};
    tinkc_future *futures[] = {
        tinkc_training_forward_backward(traced, data, 1, "cross_entropy", NULL),
        tinkc_training_optim_step(traced, NULL)};
    bool ok = tinkc_future_wait_all(futures, 2, TINKC_FOREVER) == TINKC_OK;
    tinkc_future_free(&futures[0]);
    tinkc_future_free(&futures[1]);
    tinkc_training_close(&traced);
    tinkc_datum_free(&datum);
    return ok;
}

static bool sample(tinkc_training *training, tinkc_error **err)
{
    static const int32_t tokens[] = {5, 6, 7};
    tinkc_sampling *sampling = NULL;
    tinkc_model_input *prompt = NULL;
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    params.max_tokens = 4;
    bool ok = tinkc_training_save_and_sample_wait(&sampling, training, err) == TINKC_OK &&
              tinkc_model_input_from_tokens(&prompt, tokens, 3, err) == TINKC_OK &&
              tinkc_sampling_sample_wait(NULL, sampling, prompt, &params, NULL, err) ==
                  TINKC_OK;
    tinkc_model_input_free(&prompt);
    tinkc_sampling_close(&sampling);
    return ok;
}

static bool write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    bool ok = file != NULL && fputs(text, file) >= 0;
    return file != NULL && fclose(file) == 0 && ok;
}

static bool write_readings(tinkc_meter *meter, const char *prometheus, const char *json,
                           tinkc_error **err)
{
    tinkc_readings *readings = NULL;
    char *text = NULL, *other = NULL;
    bool ok = tinkc_meter_read(&readings, meter, err) == TINKC_OK &&
              tinkc_readings_prometheus(&text, readings, err) == TINKC_OK &&
              tinkc_readings_json(&other, readings, err) == TINKC_OK &&
              write_text(prometheus, text) && write_text(json, other);
    tinkc_text_free(&text);
    tinkc_text_free(&other);
    tinkc_readings_free(&readings);
    return ok;
}

int main(int argc, char **argv)
{
    tinkc_error *err = NULL;
    tinkc_trace *trace = NULL;
    tinkc_meter *meter = NULL;
    tinkc_training *training = NULL;
    if (argc != 5) {
        return 2;
    }
    tinkc_service *service = open_service(argv[1]);
    bool ok = service != NULL && tinkc_trace_open(&trace, argv[2], &err) == TINKC_OK &&
              tinkc_trace_attach(trace, service, &err) == TINKC_OK &&
              tinkc_meter_new(&meter, &err) == TINKC_OK &&
              tinkc_meter_attach(meter, service, &err) == TINKC_OK &&
              tinkc_service_create_training_wait(&training, service, MODEL, NULL, &err) ==
                  TINKC_OK &&
              step(training, &err) && sample(training, &err) &&
              tinkc_training_optim_step_wait(NULL, NULL, NULL, NULL) == TINKC_E_STATE;
    tinkc_training_close(&training);
    ok = ok && write_readings(meter, argv[3], argv[4], &err);
    tinkc_service_close(&service);
    ok = tinkc_trace_close(&trace, err == NULL ? &err : NULL) == TINKC_OK && ok;
    tinkc_meter_free(&meter);
    return ok || failed("failed", &err) ? 0 : 1;
}
