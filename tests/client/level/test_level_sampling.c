/* Sampling requests of this client against those of the official SDK (A-049, A-051, A-062,
 * M-070).
 * Links: level peer */
#include <tinkc/sampling.h>
#include <tinkc/types.h>

#include "support/levelfix.h"
#include "support/test.h"
#include "wire/pb_sample.h"

#define PATH     "tinker://" LEVEL_RUN "/sampler_weights/a"
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

static tinkc_sampling_params one_token(void)
{
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    params.max_tokens = 1;
    return params;
}

/* All but the number of tokens may be 0. */
static void sample_zeros(levelfix *f)
{
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    params.has_seed = true;
    params.seed = INT64_MAX;
    params.temperature = 0;
    params.top_k = 0;
    params.top_p = 0;
    params.max_tokens = 0;
    assert_int_equal(tinkc_sampling_params_check(&params, NULL), TINKC_E_INVALID);
    params.max_tokens = 1;
    sample(f, NULL, &params, NULL);
}

/* The peer samples without the options: only the requests count. */
static void sample_new_options(levelfix *f)
{
    static const int64_t cells[] = {5, -1}, shape[] = {2, 1}, starts[] = {0, 1, 1},
                         column = 0;
    tinkc_array array = TINKC_ARRAY_INIT;
    tinkc_sparse sparse = TINKC_SPARSE_INIT;
    tinkc_tensor *targets[3] = {NULL};
    array.elem = TINKC_ELEM_I64;
    array.dtype = TINKC_DTYPE_INT64;
    array.data = cells;
    array.shape = shape;
    array.ndim = 2;
    OK(tinkc_tensor_new(&targets[0], &array, NULL));
    sparse.rows = 2;
    sparse.columns = 1;
    sparse.values = cells;
    sparse.n = 1;
    sparse.row_starts = starts;
    sparse.value_columns = &column;
    OK(tinkc_tensor_new_sparse(&targets[1], &sparse, NULL));
    tinkc_sampling *sampling = open_sampling(f);
    tinkc_model_input *prompt = text(one_two_three, 3);
    tinkc_sampling_params params = one_token();
    for (size_t i = 0; i < 3; i++) {
        tinkc_sample_options options = TINKC_SAMPLE_OPTIONS_INIT;
        options.prompt_logprobs = TINKC_CHOICE_YES;
        options.record_stability_info = true;
        options.topk_sample_logprobs = i < 2 ? 3 : 0;
        options.prompt_alt_tokens_k = i < 2 ? 2 : 0;
        options.prompt_logprobs_last_n = i < 2 ? 1 : 2;
        options.target_prompt_logprobs = targets[i];
        (void)tinkc_sampling_sample_wait(NULL, sampling, prompt, &params, &options, NULL);
        tinkc_tensor_free(&targets[i]);
    }
    tinkc_model_input_free(&prompt);
    tinkc_sampling_close(&sampling);
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

#define ID "00000001-0000-4000-8000-000000000000:sample:0"

/* One poll names the sample that is done, its result is fetched, and the next poll, which
 * is not answered, says so. */
static void retrieve_futures(levelfix *f)
{
    static const char polls[] = "/api/v1/retrieve_futures";
    fakeapi_step last = {.body = "{}", .gate = fakeapi_gate_new(f->api)};
    fakeapi_default(f->api, "POST", "/api/v1/asample",
                    &(fakeapi_step){.body = "{\"request_id\":\"" ID ":0\"}"});
    const tk_sequence sequence = {.stop_reason = TK_STOP_LENGTH,
                                  .tokens = {one_two_three, 1}};
    const tk_sample_response result = {.sequences = &sequence, .sequences_n = 1};
    tk_buf bytes;
    tk_buf_init(&bytes, 4096);
    OK(tk_pb_sample_encode(&bytes, &result, NULL));
    fakeapi_default(f->api, "POST", "/api/v1/retrieve_future",
                    &fakeapi_proto(bytes.p, bytes.n));
    fakeapi_reply(f->api, "POST", polls,
                  &(fakeapi_step){.body = "{\"completions\":[{\"state\":\"finished\","
                                          "\"request_id\":\"" ID ":0\","
                                          "\"response_payload_uncompressed_size\":10}],"
                                          "\"cursor\":7}"});
    fakeapi_default(f->api, "POST", polls, &last);
    tinkc_sampling *sampling = open_sampling(f);
    tinkc_model_input *prompt = text(one_two_three, 1);
    tinkc_sampling_params params = one_token();
    OK(tinkc_sampling_sample_wait(NULL, sampling, prompt, &params, NULL, NULL));
    assert_true(fakeapi_wait_for(f->api, "POST", polls, 2));
    tk_buf_dispose(&bytes);
    tinkc_model_input_free(&prompt);
    tinkc_sampling_close(&sampling);
}

static void join_sampling_session(levelfix *f)
{
    char *handle = NULL;
    fakeapi_default(f->api, "POST", "/api/v1/join_sampling_session",
                    &(fakeapi_step){.body = "{\"client_counter\":3}"});
    tinkc_sampling *sampling = open_sampling(f), *clone = NULL;
    tinkc_model_input *prompt = text(one_two_three, 1);
    tinkc_sampling_params params = one_token();
    OK(tinkc_sampling_export(&handle, sampling, NULL));
    OK(tinkc_service_import_sampling_wait(&clone, f->service, handle, NULL));
    OK(tinkc_sampling_sample_wait(NULL, clone, prompt, &params, NULL, NULL));
    tinkc_text_free(&handle);
    tinkc_model_input_free(&prompt);
    tinkc_sampling_close(&clone);
    tinkc_sampling_close(&sampling);
}

static const level_case cases[] = {
    {LEVEL("sampling/create_session_base_model", create_session_base_model)},
    {LEVEL("sampling/create_session_path", create_session_path)},
    {LEVEL("sampling/create_session_both", create_session_both)},
    {LEVEL("sampling/sample_default", sample_default)},
    {LEVEL("sampling/sample_full", sample_full)},
    {LEVEL("sampling/sample_zeros", sample_zeros), .apart_from = "max_tokens",
     .why = "a sample of no tokens is refused here (docs/deviations.md)"},
    {LEVEL("sampling/stop_string", stop_string)},
    {LEVEL("sampling/stop_empty_string", stop_empty_string)},
    {LEVEL("sampling/stop_strings", stop_strings)},
    {LEVEL("sampling/stop_empty", stop_empty)},
    {LEVEL("sampling/stop_tokens", stop_tokens)},
    {LEVEL("sampling/chunk_kinds", chunk_kinds)},
    {LEVEL_NOT("sampling/prompt_empty",
               "an empty prompt is refused here (docs/deviations.md, Sampling)")},
    {LEVEL("sampling/sequence_ids", sequence_ids)},
    {LEVEL("sampling/compute_logprobs", compute_logprobs)},
    {LEVEL("sampling/get_sampler", get_sampler)},
    {LEVEL("sampling/sample_new_options", sample_new_options)},
    {LEVEL("sampling/retrieve_futures", retrieve_futures),
     .config = "{\"sample_use_retrieve_futures\":true}"},
    {LEVEL("sampling/join_sampling_session", join_sampling_session),
     .config = "{\"sample_join_sampling_session\":true}"},
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
