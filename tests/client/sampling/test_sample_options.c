/* The options and results of samples that SDK 0.36 added, on the scripted transport: the
 * bodies of both levels equal the recordings, the answer is read into what the SDK reads
 * it into, and a server that does not know an option is noticed (M-072, M-075, M-081). */
#include <math.h>

#include "support/samplefix.h"
#include "wire/fixtures.h"

static const char *const level_36[] = {"sdk_version", "0.36.0", NULL};
static const char *const level_25[] = {"sdk_version", "0.25.0", NULL};

/* ---- requests ---- */

static void expect_body(clientfix *f, tk_arena *arena, const char *version,
                        const char *name, size_t index, size_t nth)
{
    char path[96];
    tk_err err = TK_ERR_INIT;
    (void)snprintf(path, sizeof(path), "requests/sampling/%s.json", name);
    const tk_json *requests =
        fixture_need(fixture_load(arena, version, path), "requests");
    const tk_json *want = fixture_need(fixture_at(arena, requests, index), "body");
    const fakeseen *seen = faketransport_nth(&f->net, SAMPLE, nth);
    assert_non_null(seen);
    tk_buf text;
    tk_buf_init(&text, TK_MIB);
    const char *at = strstr(seen->body, "S:sample:0"); /* the recorded session */
    assert_non_null(at);
    tk_buf_put(&text, seen->body, (size_t)(at - seen->body));
    tk_buf_puts(&text, "00000000-0000-4000-8000-000000000001:sample:0");
    tk_buf_puts(&text, at + strlen("S:sample:0"));
    const tk_json *got = NULL;
    assert_int_equal(tk_json_parse(&got, arena, tk_buf_cstr(&text), text.n, NULL, &err),
                     TINKC_OK);
    fixture_assert_same(got, want, 0, name);
    tk_buf_dispose(&text);
}

/* Sends it and waits for nothing: the body is what counts. */
static void send(clientfix *f, tinkc_sampling *sampling,
                 const tinkc_sampling_params *params, const tinkc_sample_options *options)
{
    tinkc_model_input *prompt = samplefix_prompt(3);
    tinkc_future *future = tinkc_sampling_sample(sampling, prompt, params, options);
    clientfix_turn(f);
    tinkc_future_cancel(future);
    tinkc_future_free(&future);
    tinkc_model_input_free(&prompt);
}

static void check_level(const char *const *level)
{
    static const char *const stops[] = {"\n\n", "END"};
    const char *version = level[1];
    clientfix f;
    tk_arena arena;
    tk_arena_init(&arena, 0);
    clientfix_open(&f, level);
    tinkc_sampling *sampling = samplefix_create(&f);
    send(&f, sampling, NULL, NULL);
    expect_body(&f, &arena, version, "sample_default", 0, 0);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);

    clientfix_open(&f, level);
    sampling = samplefix_create(&f);
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    tinkc_sample_options options = TINKC_SAMPLE_OPTIONS_INIT;
    params.max_tokens = 16;
    params.has_seed = true;
    params.seed = 42;
    params.stop_texts = stops;
    params.stop_texts_n = 2;
    params.temperature = 0.7;
    params.top_k = 50;
    params.top_p = 0.9;
    options.num_samples = 4;
    options.prompt_logprobs = TINKC_CHOICE_YES;
    options.topk_prompt_logprobs = 5;
    send(&f, sampling, &params, &options);
    expect_body(&f, &arena, version, "sample_full", 0, 0);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);

    clientfix_open(&f, level);
    sampling = samplefix_create(&f);
    tinkc_model_input *prompt = samplefix_prompt(3);
    tinkc_future *future = tinkc_sampling_compute_logprobs(sampling, prompt);
    clientfix_turn(&f);
    expect_body(&f, &arena, version, "compute_logprobs", 0, 0);
    tinkc_future_cancel(future);
    tinkc_future_free(&future);
    tinkc_model_input_free(&prompt);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
    tk_arena_dispose(&arena);
}

/* What is always sent: nothing new at 0.25, three defaults more at 0.36. */
static void test_sample_options_levels(void **unused)
{
    check_level(level_25);
    check_level(level_36);
}

/* A dense and a sparse tensor, and every option set. */
static void test_sample_options_sent(void **unused)
{
    static const int64_t cells[] = {5, -1}, shape[] = {2, 1}, starts[] = {0, 1, 1},
                         columns[] = {0};
    clientfix f;
    tk_arena arena;
    tk_arena_init(&arena, 0);
    clientfix_open(&f, level_36);
    tinkc_sampling *sampling = samplefix_create(&f);
    tinkc_array array = TINKC_ARRAY_INIT;
    tinkc_sparse sparse = TINKC_SPARSE_INIT;
    tinkc_tensor *dense = NULL, *rows = NULL;
    array.elem = TINKC_ELEM_I64;
    array.dtype = TINKC_DTYPE_INT64;
    array.data = cells;
    array.shape = shape;
    array.ndim = 2;
    assert_int_equal(tinkc_tensor_new(&dense, &array, NULL), TINKC_OK);
    sparse.rows = 2;
    sparse.columns = 1;
    sparse.values = cells;
    sparse.n = 1;
    sparse.row_starts = starts;
    sparse.value_columns = columns;
    assert_int_equal(tinkc_tensor_new_sparse(&rows, &sparse, NULL), TINKC_OK);
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    tinkc_sample_options options = TINKC_SAMPLE_OPTIONS_INIT;
    params.max_tokens = 1;
    options.prompt_logprobs = TINKC_CHOICE_YES;
    options.topk_sample_logprobs = 3;
    options.target_prompt_logprobs = dense;
    options.prompt_alt_tokens_k = 2;
    options.prompt_logprobs_last_n = 1;
    options.record_stability_info = true;
    send(&f, sampling, &params, &options);
    options.target_prompt_logprobs = rows;
    send(&f, sampling, &params, &options);
    options = (tinkc_sample_options)TINKC_SAMPLE_OPTIONS_INIT;
    options.prompt_logprobs = TINKC_CHOICE_YES;
    options.prompt_logprobs_last_n = 2;
    options.record_stability_info = true;
    send(&f, sampling, &params, &options);
    for (size_t i = 0; i < 3; i++) {
        expect_body(&f, &arena, FIXTURE_NEW, "sample_new_options", i, i);
    }
    tinkc_tensor_free(&dense);
    tinkc_tensor_free(&rows);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
    tk_arena_dispose(&arena);
}

/* A value that the caller has set is sent at any level. */
static void test_sample_options_sent_by_old(void **unused)
{
    clientfix f;
    clientfix_open(&f, level_25);
    tinkc_sampling *sampling = samplefix_create(&f);
    tinkc_sample_options options = TINKC_SAMPLE_OPTIONS_INIT;
    options.topk_sample_logprobs = 3;
    send(&f, sampling, NULL, &options);
    const char *body = faketransport_nth(&f.net, SAMPLE, 0)->body;
    assert_non_null(strstr(body, "\"topk_sample_logprobs\":3"));
    assert_null(strstr(body, "prompt_alt_tokens_k"));
    assert_null(strstr(body, "record_stability_info"));
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

static void expect_refused(clientfix *f, tinkc_sampling *sampling,
                           const tinkc_sample_options *options, const char *field)
{
    tinkc_error *error = NULL;
    tinkc_model_input *prompt = samplefix_prompt(3);
    assert_int_equal(
        tinkc_sampling_sample_wait(NULL, sampling, prompt, NULL, options, &error),
        TINKC_E_INVALID);
    if (strstr(tinkc_error_message(error), field) == NULL) {
        fail_msg("%s is not named: %s", field, tinkc_error_message(error));
    }
    assert_int_equal(faketransport_count(&f->net, SAMPLE), 0);
    tinkc_error_free(&error);
    tinkc_model_input_free(&prompt);
}

static void test_sample_options_refused(void **unused)
{
    static const float floats[] = {1.0F, 2.0F};
    static const int64_t ints[] = {1, 2}, two[] = {2, 1}, one[] = {2};
    clientfix f;
    clientfix_open(&f, NULL);
    tinkc_sampling *sampling = samplefix_create(&f);
    const tinkc_sample_options none = TINKC_SAMPLE_OPTIONS_INIT;
    tinkc_sample_options options = none;
    options.topk_sample_logprobs = -1;
    expect_refused(&f, sampling, &options, "topk_sample_logprobs");
    options = none;
    options.prompt_alt_tokens_k = -1;
    expect_refused(&f, sampling, &options, "prompt_alt_tokens_k");
    options = none;
    options.prompt_logprobs_last_n = 1;
    expect_refused(&f, sampling, &options, "prompt_logprobs_last_n");
    options.prompt_logprobs = TINKC_CHOICE_YES;
    options.prompt_logprobs_last_n = -1;
    expect_refused(&f, sampling, &options, "prompt_logprobs_last_n");
    const tinkc_array arrays[] = {{sizeof(tinkc_array), TINKC_ELEM_F32, floats, two, 2,
                                   NULL, NULL, NULL, TINKC_DTYPE_FLOAT32, 0, NULL},
                                  {sizeof(tinkc_array), TINKC_ELEM_I64, ints, one, 1,
                                   NULL, NULL, NULL, TINKC_DTYPE_INT64, 0, NULL}};
    for (size_t i = 0; i < TK_ARRAY_LEN(arrays); i++) {
        tinkc_tensor *tensor = NULL;
        options = none;
        assert_int_equal(tinkc_tensor_new(&tensor, &arrays[i], NULL), TINKC_OK);
        options.target_prompt_logprobs = tensor;
        expect_refused(&f, sampling, &options, "target_prompt_logprobs");
        tinkc_tensor_free(&tensor);
    }
    tinkc_model_input *prompt = samplefix_prompt(3);
    for (int64_t n = -1; n < 1; n++) {
        assert_int_equal(
            tinkc_sampling_compute_last_logprobs_wait(NULL, sampling, prompt, n, NULL),
            TINKC_E_INVALID);
    }
    tinkc_model_input_free(&prompt);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

/* ---- answers ---- */

static void accept(clientfix *f, const char *ids)
{
    char body[256];
    (void)snprintf(body, sizeof(body),
                   "{\"request_id\":\"r\",\"sample_sequence_ids\":%s}", ids);
    assert_true(faketransport_answer(&f->net, SAMPLE, (fakeanswer){.body = body}));
    clientfix_turn(f);
}

/* The result is taken; NULL with *code set when it failed. */
static tinkc_samples *answer(clientfix *f, tinkc_future *future,
                             const tk_sample_response *response, tinkc_code *code)
{
    tk_buf out;
    tk_buf_init(&out, 4096);
    assert_int_equal(tk_pb_sample_encode(&out, response, NULL), TINKC_OK);
    fakeanswer said = samplefix_result();
    said.body = out.n > 0 ? out.p : "";
    said.body_n = out.n;
    assert_true(faketransport_answer(&f->net, POLL, said));
    clientfix_turn(f);
    tk_buf_dispose(&out);
    tinkc_samples *samples = NULL;
    *code = tinkc_future_take_samples(&samples, future, NULL);
    return samples;
}

/* Everything that an answer of 0.36 can have, against what was encoded. */
static void test_sample_options_results(void **unused)
{
    static const int32_t tokens[] = {1, 2}, ids[] = {1, 9, 2, 0};
    static const float logprobs[] = {-0.5F, -0.75F},
                       tops[] = {-0.5F, -1.0F, -0.75F, -99999.0F}, scores[] = {-0.25F};
    static const int64_t shape[] = {2, 1}, crow[] = {0, 1, 1}, col[] = {0},
                         drawn[] = {7, 8};
    const tk_sequence sequences[] = {{.tokens = {tokens, 2},
                                      .has_logprobs = true,
                                      .logprobs = {logprobs, 2},
                                      .has_topk = true,
                                      .topk = {2, 2, ids, tops}},
                                     {.tokens = {tokens, 1}}};
    const tk_sample_response response = {
        .sequences = sequences,
        .sequences_n = 2,
        .has_target = true,
        .target_prompt_logprobs = {.dtype = TK_DTYPE_F32,
                                   .data = scores,
                                   .n = 1,
                                   .has_shape = true,
                                   .shape = {shape, 2},
                                   .is_sparse = true,
                                   .crow = {crow, 3},
                                   .col = {col, 1}},
        .has_alt = true,
        .alt = {
            {TK_DTYPE_I64, drawn, 2, true, {shape, 2}, false, {NULL, 0}, {NULL, 0}},
            {TK_DTYPE_F32, logprobs, 2, true, {shape, 2}, false, {NULL, 0}, {NULL, 0}}}};
    clientfix f;
    clientfix_open(&f, level_36);
    tinkc_sampling *sampling = samplefix_create(&f);
    tinkc_future *future = samplefix_sample(&f, sampling, 3);
    accept(&f, "[\"r:0\",\"r:1\"]");
    tinkc_code code = TINKC_OK;
    tinkc_samples *samples = answer(&f, future, &response, &code);
    assert_int_equal(code, TINKC_OK);
    assert_string_equal(tinkc_samples_sequence_id(samples, 0), "r:0");
    assert_string_equal(tinkc_samples_sequence_id(samples, 1), "r:1");
    assert_null(tinkc_samples_sequence_id(samples, 2));
    assert_int_equal(tinkc_samples_sampled_topk_rows(samples, 0), 2);
    assert_int_equal(tinkc_samples_sampled_topk_rows(samples, 1), 0);
    assert_int_equal(tinkc_samples_sampled_topk_rows(samples, 2), 0);
    tinkc_topk row = {0};
    assert_int_equal(tinkc_samples_sampled_topk(&row, samples, 0, 0, NULL), TINKC_OK);
    assert_true(row.k == 2 && row.token_ids[1] == 9 && row.logprobs[1] == -1.0F);
    assert_int_equal(tinkc_samples_sampled_topk(&row, samples, 0, 1, NULL), TINKC_OK);
    assert_true(row.k == 1 && row.token_ids[0] == 2); /* the masked cell is cut */
    assert_int_equal(tinkc_samples_sampled_topk(&row, samples, 0, 2, NULL),
                     TINKC_E_MISSING);
    assert_int_equal(tinkc_samples_sampled_topk(&row, samples, 1, 0, NULL),
                     TINKC_E_MISSING);
    assert_int_equal(tinkc_samples_sampled_topk(NULL, samples, 0, 0, NULL),
                     TINKC_E_INVALID);
    const tinkc_tensor *target = tinkc_samples_target_logprobs(samples);
    assert_true(tinkc_tensor_is_sparse(target) && tinkc_tensor_count(target) == 1);
    assert_true(tinkc_tensor_f32(target)[0] == -0.25F);
    assert_true(tinkc_tensor_row_starts(target)[2] == 1);
    assert_true(tinkc_tensor_i64(tinkc_samples_alt_tokens(samples))[1] == 8);
    assert_true(tinkc_tensor_f32(tinkc_samples_alt_logprobs(samples))[1] == -0.75F);
    assert_int_equal(tinkc_tensor_dim(tinkc_samples_alt_tokens(samples), 0), 2);
    tinkc_samples_free(&samples);
    tinkc_future_free(&future);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

static void test_sample_options_null(void **unused)
{
    assert_null(tinkc_samples_sequence_id(NULL, 0));
    assert_null(tinkc_samples_target_logprobs(NULL));
    assert_null(tinkc_samples_alt_tokens(NULL));
    assert_null(tinkc_samples_alt_logprobs(NULL));
    assert_int_equal(tinkc_samples_sampled_topk_rows(NULL, 0), 0);
    tinkc_topk row;
    assert_int_equal(tinkc_samples_sampled_topk(&row, NULL, 0, 0, NULL), TINKC_E_MISSING);
}

/* Ids that do not belong to the sequences one by one are left out; the sample is good. A
 * second attempt has the second's ids. */
static void test_sample_options_ids(void **unused)
{
    static const struct {
        const char *ids, *first;
    } rows[] = {{"[\"a\"]", "a"}, {"[\"a\",\"b\"]", NULL}, {"[]", NULL},  {"null", NULL},
                {"[1]", NULL},    {"{\"x\":[]}", NULL},    {"[\"\"]", ""}};
    clientfix f;
    clientfix_open(&f, level_36);
    tinkc_sampling *sampling = samplefix_create(&f);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tinkc_future *future = samplefix_sample(&f, sampling, 2);
        accept(&f, rows[i].ids);
        assert_true(samplefix_finish(&f));
        tinkc_samples *samples = NULL;
        assert_int_equal(tinkc_future_take_samples(&samples, future, NULL), TINKC_OK);
        const char *id = tinkc_samples_sequence_id(samples, 0);
        assert_true(rows[i].first == NULL ? id == NULL
                                          : id != NULL && strcmp(id, rows[i].first) == 0);
        tinkc_samples_free(&samples);
        tinkc_future_free(&future);
    }
    tinkc_future *future = samplefix_sample(&f, sampling, 2);
    accept(&f, "[\"lost\"]");
    assert_true(faketransport_answer(&f.net, POLL, (fakeanswer){.status = 410}));
    clientfix_advance(&f, 10000);
    accept(&f, "[\"second\"]");
    assert_true(samplefix_finish(&f));
    tinkc_samples *samples = NULL;
    assert_int_equal(tinkc_future_take_samples(&samples, future, NULL), TINKC_OK);
    assert_string_equal(tinkc_samples_sequence_id(samples, 0), "second");
    tinkc_samples_free(&samples);
    tinkc_future_free(&future);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

/* A server that does not know an option samples without it: that is not what was asked
 * for. */
static void test_sample_options_unknown_to_server(void **unused)
{
    static const float all[] = {NAN, -1.0F, -2.0F}, last[] = {NAN, NAN, -2.0F};
    tk_sample_response response = {.has_prompt_logprobs = true,
                                   .prompt_logprobs = {all, 3}};
    clientfix f;
    clientfix_open(&f, level_36);
    tinkc_sampling *sampling = samplefix_create(&f);
    tinkc_model_input *prompt = samplefix_prompt(3);
    const struct {
        int64_t alt, last_n;
        const float *values;
        tinkc_code code;
    } rows[] = {{1, 0, all, TINKC_E_UNSUPPORTED},
                {0, 1, all, TINKC_E_UNSUPPORTED},
                {0, 1, last, TINKC_OK},
                {0, 2, all, TINKC_OK},
                {0, 3, all, TINKC_OK},
                {0, INT64_MAX, all, TINKC_OK}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tinkc_sample_options options = TINKC_SAMPLE_OPTIONS_INIT;
        options.prompt_logprobs = TINKC_CHOICE_YES;
        options.prompt_alt_tokens_k = rows[i].alt;
        options.prompt_logprobs_last_n = rows[i].last_n;
        tinkc_future *future = tinkc_sampling_sample(sampling, prompt, NULL, &options);
        clientfix_turn(&f);
        accept(&f, "[]");
        tinkc_code code = TINKC_OK;
        response.prompt_logprobs.p = rows[i].values;
        tinkc_samples *samples = answer(&f, future, &response, &code);
        assert_int_equal(code, rows[i].code);
        assert_int_equal(faketransport_open(&f.net, SAMPLE), 0); /* not tried again */
        tinkc_samples_free(&samples);
        tinkc_future_free(&future);
    }
    for (int64_t n = 1; n < 3; n++) {
        tinkc_future *future = tinkc_sampling_compute_last_logprobs(sampling, prompt, n);
        clientfix_turn(&f);
        size_t count = faketransport_count(&f.net, SAMPLE);
        const char *body = faketransport_nth(&f.net, SAMPLE, count - 1)->body;
        assert_non_null(strstr(body, n == 1 ? "\"prompt_logprobs_last_n\":1,"
                                            : "\"prompt_logprobs_last_n\":2,"));
        accept(&f, "[]");
        tinkc_code code = TINKC_OK;
        response.prompt_logprobs.p = all;
        (void)answer(&f, future, &response, &code); /* it has logprobs, not samples */
        tinkc_logprobs *logprobs = NULL;
        assert_int_equal(tinkc_future_take_logprobs(&logprobs, future, NULL),
                         n == 1 ? TINKC_E_UNSUPPORTED : TINKC_OK);
        tinkc_logprobs_free(&logprobs);
        tinkc_future_free(&future);
    }
    tinkc_model_input_free(&prompt);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sample_options_levels),
        cmocka_unit_test(test_sample_options_sent),
        cmocka_unit_test(test_sample_options_sent_by_old),
        cmocka_unit_test(test_sample_options_refused),
        cmocka_unit_test(test_sample_options_results),
        cmocka_unit_test(test_sample_options_null),
        cmocka_unit_test(test_sample_options_ids),
        cmocka_unit_test(test_sample_options_unknown_to_server),
    };
    return cmocka_run_group_tests_name("sample_options", tests, NULL, NULL);
}
