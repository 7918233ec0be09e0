/* Every option of a sample that asks for more than tokens, from libtinkc through the wire
 * to the engine and back, and what the server refuses by name (M-072, M-075). Numbers are
 * compared with what another request computes for the same text, to the bit.
 * Links: client */
#include <math.h>
#include <tinkc/sampling.h>

#include "server/clientfix.h"

#define MODEL "tinkc/pebble-llama-2m"
#define API   "/api/v1/"
#define N     8

static const int32_t text[N] = {5, 17, 9, 40, 12, 33, 8, 21};

typedef struct e2e {
    srvfix srv;
    tinkc_service *service;
    tinkc_sampling *sampling;
    tinkc_model_input *prompt;
    tinkc_sampling_params params;
    tinkc_sample_options options;
} e2e;

static tinkc_model_input *input_of(const int32_t *tokens, size_t n)
{
    tinkc_model_input *input = NULL;
    OK(tinkc_model_input_from_tokens(&input, tokens, n, &err));
    return input;
}

static void open_e2e(e2e *t)
{
    memset(t, 0, sizeof(*t));
    srvfix_open(&t->srv, (srv_options){0});
    t->service = clientfix_service(&t->srv);
    OK(tinkc_service_create_sampling_wait(&t->sampling, t->service, MODEL, NULL, &err));
    t->prompt = input_of(text, N);
    tinkc_sampling_params_init(&t->params);
    tinkc_sample_options_init(&t->options);
    t->params.max_tokens = 3;
    t->params.has_seed = true;
    t->params.seed = 3;
    t->params.stop_texts_n = 0;
}

static void close_e2e(e2e *t)
{
    tinkc_model_input_free(&t->prompt);
    tinkc_sampling_close(&t->sampling);
    tinkc_service_close(&t->service);
    srvfix_close(&t->srv);
}

static tinkc_samples *sample(e2e *t)
{
    tinkc_samples *samples = NULL;
    OK(tinkc_sampling_sample_wait(&samples, t->sampling, t->prompt, &t->params,
                                  &t->options, &err));
    return samples;
}

/* The log-probability of `token` after the first `n` tokens of the text. */
static float after(e2e *t, size_t n, int64_t token)
{
    int32_t tokens[N + 1];
    size_t count = 0;
    tinkc_logprobs *logprobs = NULL;
    memcpy(tokens, text, n * sizeof(*tokens));
    tokens[n] = (int32_t)token;
    tinkc_model_input *prompt = input_of(tokens, n + 1);
    OK(tinkc_sampling_compute_logprobs_wait(&logprobs, t->sampling, prompt, &err));
    float value = tinkc_logprobs_values(&count, logprobs)[n];
    assert_int_equal(count, n + 1);
    tinkc_logprobs_free(&logprobs);
    tinkc_model_input_free(&prompt);
    return value;
}

static void expect_same(float got, float want)
{
    if (memcmp(&got, &want, sizeof(got)) != 0) {
        fail_msg("%.9g instead of %.9g", (double)got, (double)want);
    }
}

/* topk_sample_logprobs: a row per token, the drawn one with its own number. */
static void test_srv_scores_of_sampled_tokens(void **state)
{
    e2e t;
    open_e2e(&t);
    t.params.temperature = 0;
    t.options.num_samples = 2;
    t.options.topk_sample_logprobs = 4;
    tinkc_samples *samples = sample(&t);
    for (size_t i = 0; i < 2; i++) {
        size_t n = 0;
        const int32_t *tokens = tinkc_samples_tokens(&n, samples, i);
        const float *logprobs = tinkc_samples_logprobs(NULL, samples, i);
        assert_int_equal(tinkc_samples_sampled_topk_rows(samples, i), n);
        for (size_t j = 0; j < n; j++) {
            tinkc_topk row;
            OK(tinkc_samples_sampled_topk(&row, samples, i, j, &err));
            assert_int_equal(row.k, 4);
            assert_int_equal(row.token_ids[0], tokens[j]); /* greedy */
            expect_same(row.logprobs[0], logprobs[j]);
            for (size_t k = 0; k < 4 && j == 0; k++) {
                expect_same(row.logprobs[k], after(&t, N, row.token_ids[k]));
            }
        }
    }
    assert_null(tinkc_samples_target_logprobs(samples));
    assert_null(tinkc_samples_alt_tokens(samples));
    tinkc_samples_free(&samples);
    t.options.topk_sample_logprobs = 0;
    samples = sample(&t);
    assert_int_equal(tinkc_samples_sampled_topk_rows(samples, 0), 0);
    tinkc_samples_free(&samples);
    close_e2e(&t);
}

/* target_prompt_logprobs: dense and sparse, in the layout of the request. */
static void test_srv_scores_of_named_tokens(void **state)
{
    static const int64_t ids[(N - 1) * 2] = {17, -1, -1, 3, 40, 7,  -1,
                                             -1, 33, 2,  8, 0,  21, 99};
    static const int64_t shape[] = {N - 1, 2}, values[] = {8, 100},
                         starts[] = {0, 0, 0, 0, 0, 1, 1, 2}, columns[] = {1, 0};
    e2e t;
    tinkc_tensor *dense = NULL, *sparse = NULL;
    tinkc_array array = TINKC_ARRAY_INIT;
    tinkc_sparse rows = TINKC_SPARSE_INIT;
    open_e2e(&t);
    array.elem = TINKC_ELEM_I64;
    array.dtype = TINKC_DTYPE_INT64;
    array.data = ids;
    array.shape = shape;
    array.ndim = 2;
    OK(tinkc_tensor_new(&dense, &array, &err));
    t.options.target_prompt_logprobs = dense;
    tinkc_samples *samples = sample(&t);
    const tinkc_tensor *got = tinkc_samples_target_logprobs(samples);
    assert_non_null(got);
    assert_false(tinkc_tensor_is_sparse(got));
    assert_int_equal(tinkc_tensor_dim(got, 0), N - 1);
    assert_int_equal(tinkc_tensor_dim(got, 1), 2);
    for (size_t i = 0; i < TK_ARRAY_LEN(ids); i++) {
        float value = tinkc_tensor_f32(got)[i];
        expect_same(value, ids[i] < 0 ? 0.0F : after(&t, i / 2 + 1, ids[i]));
    }
    tinkc_samples_free(&samples);
    rows.rows = N - 1;
    rows.columns = 2;
    rows.values = values;
    rows.n = 2;
    rows.row_starts = starts;
    rows.value_columns = columns;
    OK(tinkc_tensor_new_sparse(&sparse, &rows, &err));
    t.options.target_prompt_logprobs = sparse;
    samples = sample(&t);
    got = tinkc_samples_target_logprobs(samples);
    assert_true(tinkc_tensor_is_sparse(got));
    assert_int_equal(tinkc_tensor_count(got), 2);
    assert_memory_equal(tinkc_tensor_row_starts(got), starts, sizeof(starts));
    assert_memory_equal(tinkc_tensor_columns(got), columns, sizeof(columns));
    expect_same(tinkc_tensor_f32(got)[0], after(&t, 5, 8));
    expect_same(tinkc_tensor_f32(got)[1], after(&t, 7, 100));
    tinkc_samples_free(&samples);
    tinkc_tensor_free(&dense);
    tinkc_tensor_free(&sparse);
    close_e2e(&t);
}

/* prompt_alt_tokens_k: draws with the model's own log-probabilities, the same for the same
 * seed. */
static void test_srv_scores_of_draws(void **state)
{
    e2e t;
    open_e2e(&t);
    t.params.temperature = 2;
    t.options.prompt_alt_tokens_k = 5;
    tinkc_samples *samples = sample(&t), *again = sample(&t);
    const tinkc_tensor *tokens = tinkc_samples_alt_tokens(samples);
    const tinkc_tensor *logprobs = tinkc_samples_alt_logprobs(samples);
    assert_int_equal(tinkc_tensor_dim(tokens, 0), N - 1);
    assert_int_equal(tinkc_tensor_dim(tokens, 1), 5);
    assert_int_equal(tinkc_tensor_count(logprobs), (N - 1) * 5);
    assert_memory_equal(tinkc_tensor_i64(tokens),
                        tinkc_tensor_i64(tinkc_samples_alt_tokens(again)),
                        (N - 1) * 5 * sizeof(int64_t));
    for (size_t i = 0; i < (N - 1) * 5; i++) {
        expect_same(tinkc_tensor_f32(logprobs)[i],
                    after(&t, i / 5 + 1, tinkc_tensor_i64(tokens)[i]));
    }
    tinkc_samples_free(&samples);
    tinkc_samples_free(&again);
    tinkc_model_input_free(&t.prompt);
    t.prompt = input_of(text, 1); /* nothing to draw at */
    samples = sample(&t);
    assert_non_null(tinkc_samples_alt_tokens(samples));
    assert_int_equal(tinkc_tensor_count(tinkc_samples_alt_tokens(samples)), 0);
    tinkc_samples_free(&samples);
    close_e2e(&t);
}

/* prompt_logprobs_last_n: NaN before, the same after; also for compute_logprobs. */
static void test_srv_scores_of_the_end(void **state)
{
    e2e t;
    size_t n = 0;
    open_e2e(&t);
    t.options.prompt_logprobs = TINKC_CHOICE_YES;
    t.options.topk_prompt_logprobs = 2;
    tinkc_samples *all = sample(&t);
    t.options.prompt_logprobs_last_n = 3;
    tinkc_samples *last = sample(&t);
    const float *want = tinkc_samples_prompt_logprobs(&n, all);
    const float *got = tinkc_samples_prompt_logprobs(&n, last);
    assert_int_equal(n, N);
    tinkc_logprobs *alone = NULL;
    OK(tinkc_sampling_compute_last_logprobs_wait(&alone, t.sampling, t.prompt, 3, &err));
    const float *values = tinkc_logprobs_values(&n, alone);
    assert_int_equal(n, N);
    for (size_t i = 0; i < N; i++) {
        const int32_t *ids = NULL;
        const float *top = NULL;
        size_t k = 0;
        OK(tinkc_samples_topk(&ids, &top, &k, last, i, &err));
        assert_int_equal(k, i < N - 3 ? 0 : 2);
        if (i < N - 3) {
            assert_true(isnan(got[i]) && isnan(values[i]));
        } else {
            expect_same(got[i], want[i]);
            expect_same(values[i], want[i]);
        }
    }
    tinkc_logprobs_free(&alone);
    tinkc_samples_free(&all);
    tinkc_samples_free(&last);
    close_e2e(&t);
}

/* Each sequence of each sample has its own id. */
static void test_srv_scores_have_sequence_ids(void **state)
{
    e2e t;
    char ids[6][256];
    open_e2e(&t);
    t.options.num_samples = 3;
    for (size_t i = 0; i < 2; i++) {
        tinkc_samples *samples = sample(&t);
        for (size_t j = 0; j < 3; j++) {
            const char *id = tinkc_samples_sequence_id(samples, j);
            assert_non_null(id);
            (void)snprintf(ids[i * 3 + j], sizeof(ids[0]), "%s", id);
        }
        tinkc_samples_free(&samples);
    }
    for (size_t i = 0; i < 6; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(ids[i], ids[j]);
        }
    }
    close_e2e(&t);
}

/* ---- request by request ---- */

static const char *post(srvfix *f, const char *target, const char *more)
{
    static char body[1024];
    (void)snprintf(body, sizeof(body),
                   "{\"base_model\":\"" MODEL "\",\"prompt\":{\"chunks\":[{\"tokens\":"
                   "[5,7,9],\"type\":\"encoded_text\"}]},\"sampling_params\":{"
                   "\"max_tokens\":2},%s}",
                   more);
    const tk_json *json = srvfix_post(f, target, body);
    tk_buf out;
    tk_buf_init(&out, sizeof(body));
    tk_json_writer w;
    tk_json_writer_init(&w, &out);
    tk_json_put_value(&w, json);
    (void)snprintf(body, sizeof(body), "%s", tk_buf_cstr(&out));
    tk_buf_dispose(&out);
    return body;
}

#define TARGET(shape, data)                                                              \
    "\"target_prompt_logprobs\":{\"dtype\":\"int64\",\"shape\":" shape ",\"data\":" data \
    "}"

/* 4xx with the name of the field, nothing is ignored. */
static void test_srv_scores_are_checked(void **state)
{
    static const struct {
        const char *more, *name;
        int status;
    } rows[] = {
        {"\"topk_sample_logprobs\":-1", "topk_sample_logprobs", 400},
        {"\"topk_sample_logprobs\":4097", "topk_sample_logprobs", 422},
        {"\"topk_prompt_logprobs\":4097", "topk_prompt_logprobs", 422},
        {"\"prompt_alt_tokens_k\":-1", "prompt_alt_tokens_k", 400},
        {"\"prompt_alt_tokens_k\":9223372036854775807", "prompt_alt_tokens_k", 422},
        {"\"prompt_logprobs_last_n\":1", "prompt_logprobs_last_n", 400},
        {"\"prompt_logprobs\":true,\"prompt_logprobs_last_n\":0",
         "prompt_logprobs_last_n", 400},
        {"\"prompt_logprobs\":true,\"prompt_logprobs_last_n\":3",
         "prompt_logprobs_last_n", 400},
        {"\"record_stability_info\":true", "record_stability_info", 400},
        {TARGET("[3,1]", "[1,2,3]"), "target_prompt_logprobs", 400},
        {TARGET("[2]", "[1,2]"), "target_prompt_logprobs", 400},
        {TARGET("[2,1]", "[-1,-1]"), "target_prompt_logprobs", 400},
        {TARGET("[2,0]", "[]"), "target_prompt_logprobs", 400},
        {TARGET("[2,1]", "[1,-2]"), "target_prompt_logprobs", 400},
        {TARGET("[2,1]", "[1,4294967296]"), "target_prompt_logprobs", 400},
        {TARGET("[2,1]", "[1]"), "target_prompt_logprobs", 422},
        {"\"target_prompt_logprobs\":{\"dtype\":\"float32\",\"shape\":[2,1],\"data\":"
         "[1,2]}",
         "target_prompt_logprobs", 400},
        {"\"topk_tokens\":3", "topk_tokens", 422}, /* no such option */
        {"\"sampling_params\":{\"max_tokens\":2,\"min_p\":0.1}", "min_p", 422},
        {"\"record_stability_info\":1", "record_stability_info", 422},
    };
    srvfix f;
    srvfix_open(&f, (srv_options){0});
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        const char *said = post(&f, API "asample", rows[i].more);
        if (f.status != rows[i].status || strstr(said, rows[i].name) == NULL) {
            fail_msg("%s: %d %s", rows[i].more, f.status, said);
        }
    }
    static const char *const good[] = {
        "\"record_stability_info\":false,\"topk_sample_logprobs\":0,"
        "\"prompt_alt_tokens_k\":0",
        "\"target_prompt_logprobs\":null,\"prompt_logprobs_last_n\":null",
        TARGET("[2,1]", "[-1,4]"),
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(good); i++) {
        (void)post(&f, API "asample", good[i]);
        assert_int_equal(f.status, 200);
    }
    srvfix_close(&f);
}

/* A stream carries tokens only. */
static void test_srv_scores_are_not_streamed(void **state)
{
    static const struct {
        const char *more, *name;
    } rows[] = {{"\"prompt_logprobs\":true", "prompt_logprobs"},
                {"\"topk_prompt_logprobs\":1", "topk_prompt_logprobs"},
                {"\"topk_sample_logprobs\":1", "topk_sample_logprobs"},
                {"\"prompt_alt_tokens_k\":1", "prompt_alt_tokens_k"},
                {TARGET("[2,1]", "[1,2]"), "target_prompt_logprobs"},
                {"\"num_samples\":2", "one sample"}};
    srvfix f;
    srvfix_open(&f, (srv_options){0});
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        const char *said = post(&f, API "stream_sample", rows[i].more);
        assert_int_equal(f.status, 400);
        assert_non_null(strstr(said, rows[i].name));
    }
    srvfix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_scores_of_sampled_tokens),
        cmocka_unit_test(test_srv_scores_of_named_tokens),
        cmocka_unit_test(test_srv_scores_of_draws),
        cmocka_unit_test(test_srv_scores_of_the_end),
        cmocka_unit_test(test_srv_scores_have_sequence_ids),
        cmocka_unit_test(test_srv_scores_are_checked),
        cmocka_unit_test(test_srv_scores_are_not_streamed),
    };
    return cmocka_run_group_tests_name("srv_sampling_score", tests, NULL, NULL);
}
