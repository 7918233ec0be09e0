/* Sampling requests of this client against those of the official SDK (A-049, A-051, A-062,
 * M-070).
 * Links: level peer */
#include <tinkc/sampling.h>
#include <tinkc/types.h>

#include "support/levelfix.h"
#include "support/test.h"

#define PATH     "tinker://" LEVEL_RUN "/sampler_weights/a"
#define LATER    "what 0.36 adds to this request is not built yet"
#define OK(call) assert_int_equal((call), TINKC_OK)

static void create(levelfix *f, const char *base_model, const char *path)
{
    /* The peer has no such checkpoint: only the request counts. */
    (void)tinkc_service_create_sampling_wait(NULL, f->service, base_model, path, NULL);
}

static void create_session_base_model(levelfix *f)
{
    level_open(f, NULL);
    create(f, LEVEL_MODEL, NULL);
    create(f, LEVEL_MODEL, NULL);
}

static void create_session_path(levelfix *f)
{
    level_open(f, NULL);
    create(f, NULL, PATH);
}

static void create_session_both(levelfix *f)
{
    level_open(f, NULL);
    create(f, LEVEL_MODEL, PATH);
}

static tinkc_sampling *open_sampling(levelfix *f)
{
    tinkc_sampling *sampling = NULL;
    level_open(f, NULL);
    OK(tinkc_service_create_sampling_wait(&sampling, f->service, LEVEL_MODEL, NULL,
                                          NULL));
    level_record(f);
    return sampling;
}

static tinkc_model_input *text(const int32_t *tokens, size_t n)
{
    tinkc_model_input *input = NULL;
    OK(tinkc_model_input_from_tokens(&input, tokens, n, NULL));
    return input;
}

static const int32_t one_two_three[] = {1, 2, 3};

/* A sample of `prompt`, which is freed; of the tokens 1, 2, 3 without one. */
static void sample(levelfix *f, tinkc_model_input *prompt,
                   const tinkc_sampling_params *params,
                   const tinkc_sample_options *options)
{
    tinkc_sampling *sampling = open_sampling(f);
    prompt = prompt != NULL ? prompt : text(one_two_three, 3);
    tinkc_error *err = NULL;
    if (tinkc_sampling_sample_wait(NULL, sampling, prompt, params, options, &err) !=
        TINKC_OK) {
        fail_msg("%s", tinkc_error_message(err));
    }
    tinkc_model_input_free(&prompt);
    tinkc_sampling_close(&sampling);
}

static void sample_default(levelfix *f)
{
    sample(f, NULL, NULL, NULL);
}

static void sample_full(levelfix *f)
{
    static const char *const stop[] = {"\n\n", "END"};
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    params.max_tokens = 16;
    params.has_seed = true;
    params.seed = 42;
    params.stop_texts = stop;
    params.stop_texts_n = 2;
    params.temperature = 0.7;
    params.top_k = 50;
    params.top_p = 0.9;
    tinkc_sample_options options = TINKC_SAMPLE_OPTIONS_INIT;
    options.num_samples = 4;
    options.prompt_logprobs = TINKC_CHOICE_YES;
    options.topk_prompt_logprobs = 5;
    sample(f, NULL, &params, &options);
}

static tinkc_sampling_params four_tokens(void)
{
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    params.max_tokens = 4;
    return params;
}

static void stop_string(levelfix *f)
{
    tinkc_sampling_params params = four_tokens();
    params.stop = "END";
    sample(f, NULL, &params, NULL);
}

static void stop_empty_string(levelfix *f)
{
    tinkc_sampling_params params = four_tokens();
    params.stop = "";
    sample(f, NULL, &params, NULL);
}

static void stop_strings(levelfix *f)
{
    static const char *const stop[] = {"a", "\xc3\xa9"};
    tinkc_sampling_params params = four_tokens();
    params.stop_texts = stop;
    params.stop_texts_n = 2;
    sample(f, NULL, &params, NULL);
}

static void stop_empty(levelfix *f)
{
    static const char *const stop[] = {""};
    tinkc_sampling_params params = four_tokens();
    params.stop_texts = stop;
    sample(f, NULL, &params, NULL);
}

static void stop_tokens(levelfix *f)
{
    static const int32_t stop[] = {151643, 2};
    tinkc_sampling_params params = four_tokens();
    params.stop_tokens = stop;
    params.stop_tokens_n = 2;
    sample(f, NULL, &params, NULL);
}

static tinkc_sampling_params one_token(void)
{
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    params.max_tokens = 1;
    return params;
}

static void chunk_kinds(levelfix *f)
{
    static const char png[] = "\x89PNG\r\n\x1a\nnot a real image";
    static const char jpeg[] = "\xff\xd8\xff\xe0nor this";
    static const unsigned char dmel[244] = {4, 2, 3, 80};
    tinkc_model_input *input = NULL;
    OK(tinkc_model_input_new(&input, NULL));
    OK(tinkc_model_input_add_tokens(input, one_two_three, 3, NULL));
    OK(tinkc_model_input_add_tokens(input, one_two_three, 0, NULL));
    OK(tinkc_model_input_add_image(input, png, sizeof(png) - 1, TINKC_IMAGE_PNG,
                                   TINKC_UNKNOWN_TOKENS, NULL));
    OK(tinkc_model_input_add_image(input, jpeg, sizeof(jpeg) - 1, TINKC_IMAGE_JPEG, 16,
                                   NULL));
    OK(tinkc_model_input_add_image_pointer(input, "gs://bucket/\xc3\xbc.png",
                                           TINKC_IMAGE_PNG, TINKC_UNKNOWN_TOKENS, NULL));
    OK(tinkc_model_input_add_image_pointer(input, "x", TINKC_IMAGE_JPEG, 0, NULL));
    OK(tinkc_model_input_add_dmel(input, dmel, sizeof(dmel), NULL));
    tinkc_sampling_params params = one_token();
    sample(f, input, &params, NULL);
}

static void sequence_ids(levelfix *f)
{
    tinkc_sampling *sampling = open_sampling(f);
    tinkc_model_input *prompt = text(one_two_three, 1);
    tinkc_sampling_params params = one_token();
    for (int i = 0; i < 3; i++) {
        OK(tinkc_sampling_sample_wait(NULL, sampling, prompt, &params, NULL, NULL));
    }
    tinkc_model_input_free(&prompt);
    tinkc_sampling_close(&sampling);
}

static void compute_logprobs(levelfix *f)
{
    tinkc_sampling *sampling = open_sampling(f);
    tinkc_model_input *prompt = text(one_two_three, 3);
    OK(tinkc_sampling_compute_logprobs_wait(NULL, sampling, prompt, NULL));
    tinkc_model_input_free(&prompt);
    tinkc_sampling_close(&sampling);
}

static void get_sampler(levelfix *f)
{
    tinkc_sampling *sampling = open_sampling(f);
    OK(tinkc_sampling_get_base_model_wait(NULL, sampling, NULL));
    tinkc_sampling_close(&sampling);
}

static const level_case cases[] = {
    {LEVEL("sampling/create_session_base_model", create_session_base_model)},
    {LEVEL("sampling/create_session_path", create_session_path)},
    {LEVEL("sampling/create_session_both", create_session_both)},
    {LEVEL("sampling/sample_default", sample_default), .older = LATER},
    {LEVEL("sampling/sample_full", sample_full), .older = LATER},
    {LEVEL_NOT("sampling/sample_zeros", "max_tokens of 0 is refused here")},
    {LEVEL("sampling/stop_string", stop_string), .older = LATER},
    {LEVEL("sampling/stop_empty_string", stop_empty_string), .older = LATER},
    {LEVEL("sampling/stop_strings", stop_strings), .older = LATER},
    {LEVEL("sampling/stop_empty", stop_empty), .older = LATER},
    {LEVEL("sampling/stop_tokens", stop_tokens), .older = LATER},
    {LEVEL("sampling/chunk_kinds", chunk_kinds), .older = LATER},
    {LEVEL_NOT("sampling/prompt_empty", "an empty prompt is refused here")},
    {LEVEL("sampling/sequence_ids", sequence_ids), .older = LATER},
    {LEVEL("sampling/compute_logprobs", compute_logprobs), .older = LATER},
    {LEVEL("sampling/get_sampler", get_sampler)},
    {LEVEL_NOT("sampling/sample_new_options", "test_sample_options.c compares it")},
    {LEVEL_NOT("sampling/retrieve_futures", "test_poll_group.c has its bodies")},
    {LEVEL_NOT("sampling/join_sampling_session", "test_sampling_handle.c has its body")},
};

static void test_level_sampling(void **unused)
{
    level_run("sampling/", cases, TK_ARRAY_LEN(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_level_sampling)};
    return cmocka_run_group_tests_name("level_sampling", tests, NULL, NULL);
}
