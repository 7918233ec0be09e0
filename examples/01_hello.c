/* Hello: asks the model a question and prints its answer. It needs no other file:
 *
 *     cc 01_hello.c $(pkg-config --cflags --libs tinkc) -o hello
 *     TINKER_BASE_URL=http://127.0.0.1:8000 ./hello
 *
 * TINKER_BASE_URL names the server (`tinkc serve` for one on this machine),
 * TINKER_API_KEY is your key; a local server needs none. docs/guide/start.md explains
 * it. */
#include <stdio.h>

#include <tinkc/tinkc.h>

#define MODEL "tinkc/pebble-llama-2m"

static const char question[] = "<|endoftext|><|user|>Who are you?<|end|><|assistant|>";

/* Prints the first continuation as text, with the number that says how sure the model was
 * of it. */
static tinkc_code show(const tinkc_samples *samples, const tinkc_tokenizer *tokenizer,
                       tinkc_error **err)
{
    size_t n = 0;
    double sum = 0;
    const int32_t *ids = tinkc_samples_tokens(&n, samples, 0);
    const float *logprobs = tinkc_samples_logprobs(NULL, samples, 0);
    for (size_t i = 0; i < n; i++) {
        sum += (double)logprobs[i];
    }
    char *text = NULL;
    tinkc_code code = tinkc_tokenizer_text(&text, tokenizer, ids, n, true, err);
    if (code == TINKC_OK) {
        printf("%s\n%zu tokens, log-probability %.3f\n", text, n, sum);
    }
    tinkc_text_free(&text);
    return code;
}

/* Every call that can fail returns a code and writes the error itself to *err. Whatever
 * was made is freed at the end, where all _free and _close functions accept NULL. */
int main(void)
{
    tinkc_error *err = NULL;
    tinkc_service *service = NULL;
    tinkc_sampling *sampling = NULL;
    tinkc_tokenizer *tokenizer = NULL;
    tinkc_model_input *prompt = NULL;
    tinkc_samples *samples = NULL;
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    params.temperature = 0; /* always the most likely token */
    params.max_tokens = 32;
    int32_t end = -1;

    tinkc_code code = tinkc_service_open(&service, NULL, &err);
    if (code == TINKC_OK) {
        code = tinkc_service_create_sampling_wait(&sampling, service, MODEL, NULL, &err);
    }
    if (code == TINKC_OK) {
        code = tinkc_sampling_get_tokenizer(&tokenizer, sampling, NULL, &err);
    }
    if (code == TINKC_OK) {
        end = tinkc_tokenizer_end(tokenizer); /* not every server stops there by itself */
        params.stop_tokens = &end;
        params.stop_tokens_n = end >= 0 ? 1 : 0;
        code = tinkc_tokenizer_input(&prompt, tokenizer, question, &err);
    }
    if (code == TINKC_OK) {
        code =
            tinkc_sampling_sample_wait(&samples, sampling, prompt, &params, NULL, &err);
    }
    if (code == TINKC_OK) {
        code = show(samples, tokenizer, &err);
    }
    if (code != TINKC_OK) {
        fprintf(stderr, "%s: %s\n", tinkc_code_name(code), tinkc_error_message(err));
    }

    tinkc_samples_free(&samples);
    tinkc_model_input_free(&prompt);
    tinkc_tokenizer_free(&tokenizer);
    tinkc_sampling_close(&sampling);
    tinkc_service_close(&service);
    tinkc_error_free(&err);
    return code == TINKC_OK ? 0 : 1;
}
