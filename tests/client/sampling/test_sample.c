/* One sample after the other on the scripted transport: what is sent, what comes back,
 * and which failures are tried again (docs/protocol.md §7.3, §5.4,
 * Pauses are test_sample_pause.c's. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/samplefix.h"

static int64_t seq_of(clientfix *f, size_t nth)
{
    const fakeseen *seen = faketransport_nth(&f->net, SAMPLE, nth);
    assert_non_null(seen);
    const char *at = strstr(seen->body, "\"seq_id\":");
    assert_non_null(at);
    return strtoll(at + strlen("\"seq_id\":"), NULL, 10);
}

/* A-059, M-072, M-082: the request and its poll, key by key; the client always sends
 * seq_id. */
static void test_sample_request(void **unused)
{
    static const char *const level[] = {"sdk_version", "0.25.0", NULL};
    clientfix f;
    clientfix_open(&f, level); /* later ones: test_sample_options.c */
    tinkc_sampling *sampling = samplefix_create(&f);
    tinkc_future *future = samplefix_sample(&f, sampling, 2);
    const fakeseen *seen = faketransport_nth(&f.net, SAMPLE, 0);
    assert_string_equal(
        seen->body,
        "{\"num_samples\":1,\"prompt\":{\"chunks\":[{\"tokens\":[1,2],\"type\":\"encoded_"
        "text\"}]},\"sampling_params\":{\"temperature\":1.0,\"top_k\":-1,\"top_p\":1.0},"
        "\"sampling_session_id\":\"S:sample:0\",\"seq_id\":0,\"prompt_logprobs\":false,"
        "\"topk_prompt_logprobs\":0,\"type\":\"sample\"}");
    char value[64];
    assert_true(faketransport_header(seen, "X-Tinker-Sampling-Backpressure", value, 64));
    assert_string_equal(value, "1");
    assert_int_equal(seen->group, TK_HTTP_SAMPLE);
    assert_true(samplefix_accept(&f));
    const fakeseen *poll = faketransport_nth(&f.net, POLL, 0);
    assert_string_equal(poll->body,
                        "{\"request_id\":\"r\",\"allow_metadata_only\":true}");
    assert_true(faketransport_header(poll, "X-Tinker-Request-Type", value, 64));
    assert_string_equal(value, "Sample");
    assert_true(samplefix_finish(&f));
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_OK);
    tinkc_future_free(&future);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

/* A continuation as training data, and one that does not exist. */
static void check_datum(const tinkc_samples *samples)
{
    static const int32_t asked[] = {11, 12};
    tinkc_model_input *prompt = NULL;
    tinkc_datum *datum = NULL;
    assert_int_equal(tinkc_model_input_from_tokens(&prompt, asked, 2, NULL), TINKC_OK);
    assert_int_equal(tinkc_samples_datum(&datum, samples, 1, prompt, 1.5, NULL),
                     TINKC_E_MISSING);
    assert_int_equal(tinkc_samples_datum(&datum, samples, 0, NULL, 1.5, NULL),
                     TINKC_E_INVALID);
    assert_null(datum);
    assert_int_equal(tinkc_samples_datum(&datum, samples, 0, prompt, 1.5, NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_tensor_i64(tinkc_datum_tensor(datum, "target_tokens"))[2], 8);
    assert_true(tinkc_tensor_f32(tinkc_datum_tensor(datum, "logprobs"))[2] == -0.25F);
    assert_true(tinkc_tensor_f32(tinkc_datum_tensor(datum, "advantages"))[2] == 1.5F);
    tinkc_datum_free(&datum);
    tinkc_model_input_free(&prompt);
}

/* M-075: every member of a result. */
static void test_sample_result(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    tinkc_sampling *sampling = samplefix_create(&f);
    tinkc_future *future = samplefix_sample(&f, sampling, 2);
    assert_true(samplefix_accept(&f) && samplefix_finish(&f));
    tinkc_samples *samples = NULL;
    size_t n = 0;
    assert_int_equal(tinkc_future_take_samples(&samples, future, NULL), TINKC_OK);
    assert_int_equal(tinkc_samples_count(samples), 1);
    assert_int_equal(tinkc_samples_tokens(&n, samples, 0)[1], 8);
    assert_int_equal(n, 2);
    assert_true(tinkc_samples_logprobs(NULL, samples, 0)[1] == -0.25f);
    assert_int_equal(tinkc_samples_stop_reason(samples, 0), TINKC_STOP_LENGTH);
    assert_true(tinkc_samples_prompt_logprobs(&n, samples)[1] == -2.0f);
    assert_int_equal(n, 2);
    assert_null(tinkc_samples_tokens(&n, samples, 1));
    assert_int_equal(n, 0);
    assert_int_equal(tinkc_samples_topk_rows(samples), 0);
    assert_int_equal(tinkc_samples_cache_hits(samples), 0);
    check_datum(samples);
    tinkc_samples_free(&samples);
    assert_null(samples);
    assert_int_equal(tinkc_future_take_samples(&samples, future, NULL), TINKC_E_STATE);
    tinkc_future_free(&future);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

/* M-075: docs/protocol.md §7.6: a row that starts with the mask has nothing; masks at
 * the end are cut. */
static void test_sample_topk(void **unused)
{
    static const int32_t ids[] = {0, 0, 5, 0, 6, 7};
    static const float values[] = {-99999.0f, -99999.0f, -1.0f, -99999.0f, -2.0f, -3.0f};
    tk_sample_response response = {
        .has_topk = true,
        .topk = {.length = 3, .k = 2, .token_ids = ids, .logprobs = values}};
    tk_buf out;
    tk_buf_init(&out, 4096);
    assert_int_equal(tk_pb_sample_encode(&out, &response, NULL), TINKC_OK);
    clientfix f;
    clientfix_open(&f, NULL);
    tinkc_sampling *sampling = samplefix_create(&f);
    tinkc_future *future = samplefix_sample(&f, sampling, 3);
    assert_true(samplefix_accept(&f));
    fakeanswer answer = samplefix_result();
    answer.body = out.p;
    answer.body_n = out.n;
    assert_true(faketransport_answer(&f.net, POLL, answer));
    clientfix_turn(&f);
    tinkc_samples *samples = NULL;
    assert_int_equal(tinkc_future_take_samples(&samples, future, NULL), TINKC_OK);
    assert_int_equal(tinkc_samples_topk_rows(samples), 3);
    static const size_t counts[] = {0, 1, 2};
    for (size_t i = 0; i < 3; i++) {
        const int32_t *row = NULL;
        const float *probs = NULL;
        size_t k = 9;
        assert_int_equal(tinkc_samples_topk(&row, &probs, &k, samples, i, NULL),
                         TINKC_OK);
        assert_int_equal(k, counts[i]);
        assert_true(k == 0 ? row == NULL : row[0] == ids[2 * i] && probs[0] < 0);
    }
    const int32_t *row = NULL;
    const float *probs = NULL;
    size_t k = 0;
    assert_int_equal(tinkc_samples_topk(&row, &probs, &k, samples, 3, NULL),
                     TINKC_E_MISSING);
    assert_int_equal(tinkc_samples_topk(NULL, &probs, &k, samples, 0, NULL),
                     TINKC_E_INVALID);
    tinkc_samples_free(&samples);
    tinkc_future_free(&future);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
    tk_buf_dispose(&out);
}

/* M-076: docs/protocol.md §7.5. */
static void test_sample_logprobs(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    tinkc_sampling *sampling = samplefix_create(&f);
    tinkc_model_input *prompt = samplefix_prompt(2);
    tinkc_future *future = tinkc_sampling_compute_logprobs(sampling, prompt);
    clientfix_turn(&f);
    const char *body = faketransport_nth(&f.net, SAMPLE, 0)->body;
    assert_non_null(strstr(body, "\"max_tokens\":1,"));
    assert_non_null(strstr(body, "\"prompt_logprobs\":true"));
    assert_non_null(strstr(body, "\"num_samples\":1,"));
    assert_true(samplefix_accept(&f) && samplefix_finish(&f));
    tinkc_logprobs *logprobs = NULL;
    size_t n = 0;
    assert_int_equal(tinkc_future_take_logprobs(&logprobs, future, NULL), TINKC_OK);
    assert_true(tinkc_logprobs_values(&n, logprobs)[0] == -1.0f);
    assert_int_equal(n, 2);
    tinkc_logprobs_free(&logprobs);
    tinkc_future_free(&future);
    /* a server that sends none */
    future = tinkc_sampling_compute_logprobs(sampling, prompt);
    clientfix_turn(&f);
    assert_true(samplefix_accept(&f));
    fakeanswer empty = {.body = "",
                        .headers = {"content-type", "application/x-protobuf"}};
    assert_true(faketransport_answer(&f.net, POLL, empty));
    clientfix_turn(&f);
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_E_DECODE);
    tinkc_future_free(&future);
    tinkc_model_input_free(&prompt);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

/* Bad input is refused before anything is sent. */
static void test_sample_refused(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    tinkc_sampling *sampling = samplefix_create(&f);
    tinkc_model_input *prompt = samplefix_prompt(1), *empty = samplefix_prompt(0);
    tinkc_sampling_params bad_params = TINKC_SAMPLING_PARAMS_INIT;
    bad_params.temperature = (double)NAN;
    tinkc_sample_options options[3] = {
        TINKC_SAMPLE_OPTIONS_INIT, TINKC_SAMPLE_OPTIONS_INIT, TINKC_SAMPLE_OPTIONS_INIT};
    options[0].num_samples = 0;
    options[1].deadline_ms = -2;
    options[2].topk_prompt_logprobs = -1;
    const struct {
        const tinkc_model_input *prompt;
        const tinkc_sampling_params *params;
        const tinkc_sample_options *options;
    } rows[] = {{NULL, NULL, NULL},          {empty, NULL, NULL},
                {prompt, &bad_params, NULL}, {prompt, NULL, &options[0]},
                {prompt, NULL, &options[1]}, {prompt, NULL, &options[2]}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tinkc_samples *samples = NULL;
        tinkc_error *error = NULL;
        assert_int_equal(tinkc_sampling_sample_wait(&samples, sampling, rows[i].prompt,
                                                    rows[i].params, rows[i].options,
                                                    &error),
                         TINKC_E_INVALID);
        assert_true(tinkc_error_is_user_error(error) || !tinkc_error_is_retryable(error));
        tinkc_error_free(&error);
    }
    assert_int_equal(faketransport_count(&f.net, SAMPLE), 0);
    tinkc_model_input_free(&prompt);
    tinkc_model_input_free(&empty);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

/* */
static void test_sample_null(void **unused)
{
    tinkc_samples *samples = NULL;
    tinkc_logprobs *logprobs = NULL;
    tinkc_error *error = NULL;
    assert_int_equal(tinkc_sampling_sample_wait(&samples, NULL, NULL, NULL, NULL, &error),
                     TINKC_E_STATE);
    assert_true(tinkc_error_message(error)[0] != '\0');
    tinkc_error_free(&error);
    assert_int_equal(tinkc_sampling_compute_logprobs_wait(&logprobs, NULL, NULL, NULL),
                     TINKC_E_STATE);
    assert_int_equal(tinkc_sampling_batch(NULL, NULL, NULL), TINKC_E_STATE);
    assert_int_equal(tinkc_samples_count(NULL), 0);
    assert_null(tinkc_samples_tokens(NULL, NULL, 0));
    assert_null(tinkc_samples_logprobs(NULL, NULL, 0));
    assert_null(tinkc_samples_prompt_logprobs(NULL, NULL));
    assert_int_equal(tinkc_samples_stop_reason(NULL, 0), TINKC_STOP_STOP);
    assert_int_equal(tinkc_samples_topk_rows(NULL), 0);
    assert_int_equal(tinkc_samples_cache_hits(NULL), 0);
    assert_null(tinkc_logprobs_values(NULL, NULL));
    tinkc_samples_free(NULL);
    tinkc_logprobs_free(NULL);
    tinkc_samples_free(&samples);
    tinkc_logprobs_free(&logprobs);
}

/* M-084: docs/protocol.md §5.4, row 10 of §4: a result that is gone is asked for
 * again, with a new id, after 0.5 s, 1 s, 2 s ... 10 s, 25 % around each; there is no
 * limit. */
static void test_sample_gone(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    tinkc_sampling *sampling = samplefix_create(&f);
    tinkc_future *future = samplefix_sample(&f, sampling, 2);
    for (int i = 0; i < 8; i++) {
        int64_t full = TK_MIN(INT64_C(500) << i, 10000);
        assert_true(samplefix_accept(&f));
        assert_true(faketransport_answer(&f.net, POLL, (fakeanswer){.status = 410}));
        clientfix_turn(&f);
        clientfix_advance(&f, full * 3 / 4 - 1);
        assert_int_equal(faketransport_open(&f.net, SAMPLE), 0);
        clientfix_advance(&f, TK_MIN(full * 5 / 4, 10000) - full * 3 / 4 + 1);
        assert_int_equal(faketransport_open(&f.net, SAMPLE), 1);
        assert_int_equal(seq_of(&f, (size_t)i + 1), i + 1);
    }
    assert_true(samplefix_accept(&f) && samplefix_finish(&f));
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_OK);
    tinkc_future_free(&future);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

/* docs/protocol.md §5.4: every new attempt has a new id; the server may know the old
 * one. */
static void test_sample_new_id(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    tinkc_sampling *sampling = samplefix_create(&f);
    tinkc_future *future = samplefix_sample(&f, sampling, 2);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(seq_of(&f, i), i);
        assert_true(samplefix_accept(&f));
        assert_true(faketransport_answer(&f.net, POLL, (fakeanswer){.status = 410}));
        clientfix_advance(&f, 10000);
    }
    tinkc_future_cancel(future);
    tinkc_future_free(&future);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

static void fail_work(clientfix *f, const char *category)
{
    char body[96];
    (void)snprintf(body, sizeof(body), "{\"error\":\"broken\",\"category\":\"%s\"}",
                   category);
    assert_true(samplefix_accept(f));
    assert_true(faketransport_answer(&f->net, POLL, (fakeanswer){.body = body}));
    clientfix_turn(f);
    clientfix_advance(f, 10000);
}

/* failed work is submitted again as often as the option says; never
 * when it is the user's fault. */
static void test_sample_categories(void **unused)
{
    static const struct {
        const char *category, *limit;
        size_t submissions;
    } rows[] = {{"user", "3", 1},
                {"server", "3", 4},
                {"unknown", "3", 4},
                {"whatever", "1", 2},
                {"server", "0", 1}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        const char *options[] = {"sample_resubmits", rows[i].limit, NULL};
        clientfix f;
        clientfix_open(&f, options);
        tinkc_sampling *sampling = samplefix_create(&f);
        tinkc_future *future = samplefix_sample(&f, sampling, 2);
        for (size_t j = 0; j < rows[i].submissions; j++) {
            assert_false(tinkc_future_is_done(future));
            fail_work(&f, rows[i].category);
        }
        assert_int_equal(tinkc_future_wait(future, 0), TINKC_E_REQUEST);
        const tinkc_error *error = tinkc_future_error(future);
        assert_non_null(strstr(tinkc_error_message(error), "broken"));
        assert_string_equal(tinkc_error_request_id(error), "r");
        assert_int_equal(faketransport_count(&f.net, SAMPLE), rows[i].submissions);
        tinkc_future_free(&future);
        tinkc_sampling_close(&sampling);
        clientfix_close(&f);
    }
}

/* M-081: L1 stays out of submissions; L2 tries for five minutes, then L3
 * begins again with a new id. Seen by the numbers: within L2 the id stays. */
static void test_sample_layers(void **unused)
{
    static const fakeanswer faults[] = {{.status = 503},
                                        {.status = 409},
                                        {.status = 408},
                                        {.failure = TK_HTTP_RESET},
                                        {.failure = TK_HTTP_TIMEOUT},
                                        {.failure = TK_HTTP_DNS},
                                        {.failure = TK_HTTP_TLS},
                                        {.failure = TK_HTTP_CONNECT}};
    for (size_t i = 0; i < TK_ARRAY_LEN(faults); i++) {
        clientfix f;
        clientfix_open(&f, NULL);
        faketransport_default(&f.net, SAMPLE, faults[i]);
        tinkc_sampling *sampling = samplefix_create(&f);
        tinkc_future *future = samplefix_sample(&f, sampling, 2);
        char value[16];
        /* 1 + 2 + 4 + 8 + 16 + 30 * 8 + 29 s: the last try of L2 is at 300 s */
        clientfix_advance(&f, 300000 - 1);
        size_t tries = faketransport_count(&f.net, SAMPLE);
        assert_int_equal(tries, 14);
        for (size_t j = 0; j < tries; j++) {
            assert_int_equal(seq_of(&f, j), 0);
            const fakeseen *seen = faketransport_nth(&f.net, SAMPLE, j);
            assert_true(faketransport_header(seen, "x-stainless-retry-count", value, 16));
            assert_string_equal(value, "0");
        }
        clientfix_advance(&f, 1 + 625);
        assert_int_equal(seq_of(&f, tries), 0);
        assert_int_equal(seq_of(&f, tries + 1), 1);
        tinkc_future_cancel(future);
        tinkc_future_free(&future);
        tinkc_sampling_close(&sampling);
        clientfix_close(&f);
    }
}

/* what the caller has to change reaches the server once. */
static void test_sample_user_errors(void **unused)
{
    static const struct {
        int status;
        tinkc_code code;
    } rows[] = {{400, TINKC_E_BAD_REQUEST}, {401, TINKC_E_AUTH},
                {403, TINKC_E_PERMISSION},  {404, TINKC_E_NOT_FOUND},
                {413, TINKC_E_STATUS},      {422, TINKC_E_UNPROCESSABLE},
                {425, TINKC_E_STATUS}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        clientfix f;
        clientfix_open(&f, NULL);
        faketransport_default(
            &f.net, SAMPLE,
            (fakeanswer){.status = rows[i].status, .body = "{\"detail\":\"no\"}"});
        tinkc_sampling *sampling = samplefix_create(&f);
        tinkc_future *future = samplefix_sample(&f, sampling, 2);
        assert_int_equal(tinkc_future_wait(future, 0), rows[i].code);
        assert_true(tinkc_error_is_user_error(tinkc_future_error(future)));
        assert_int_equal(faketransport_count(&f.net, SAMPLE), 1);
        tinkc_future_free(&future);
        tinkc_sampling_close(&sampling);
        clientfix_close(&f);
    }
}

/* M-015: the server's flag switches L3 off, and its cap; compute_logprobs keeps both. */
static void test_sample_no_retries(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    faketransport_default(&f.net, "client/config",
                          (fakeanswer){.body = "{\"sample_no_retries\":true,"
                                               "\"sample_max_concurrent_requests\":1}"});
    tinkc_sampling *sampling = samplefix_create(&f);
    tinkc_future *first = samplefix_sample(&f, sampling, 2);
    tinkc_future *second = samplefix_sample(&f, sampling, 2);
    assert_int_equal(faketransport_open(&f.net, SAMPLE), 2);
    assert_true(samplefix_accept(&f) && samplefix_accept(&f));
    assert_true(faketransport_answer(&f.net, POLL, (fakeanswer){.status = 410}));
    clientfix_turn(&f);
    assert_int_equal(tinkc_future_wait(first, 0), TINKC_E_GONE);
    assert_true(samplefix_finish(&f));
    assert_int_equal(tinkc_future_wait(second, 0), TINKC_OK);
    tinkc_model_input *prompt = samplefix_prompt(2);
    tinkc_future *logprobs = tinkc_sampling_compute_logprobs(sampling, prompt);
    clientfix_turn(&f);
    assert_true(samplefix_accept(&f));
    assert_true(faketransport_answer(&f.net, POLL, (fakeanswer){.status = 410}));
    clientfix_advance(&f, 1000);
    assert_true(samplefix_accept(&f) && samplefix_finish(&f));
    assert_int_equal(tinkc_future_wait(logprobs, 0), TINKC_OK);
    tinkc_model_input_free(&prompt);
    tinkc_future_free(&first);
    tinkc_future_free(&second);
    tinkc_future_free(&logprobs);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

/* docs/protocol.md §5.4: the server limits how many samples run at a time, until their
 * results are there. */
static void test_sample_slots(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    faketransport_default(&f.net, "client/config",
                          (fakeanswer){.body = "{\"sample_max_concurrent_requests\":2}"});
    tinkc_sampling *sampling = samplefix_create(&f);
    tinkc_future *futures[4];
    for (size_t i = 0; i < 4; i++) {
        futures[i] = samplefix_sample(&f, sampling, 2);
    }
    assert_int_equal(faketransport_count(&f.net, SAMPLE), 2);
    assert_true(samplefix_accept(&f) && samplefix_accept(&f));
    assert_int_equal(faketransport_count(&f.net, SAMPLE), 2);
    tinkc_wait wait = TINKC_WAIT_INIT;
    assert_int_equal(tinkc_future_status(&wait, futures[2], NULL), TINKC_OK);
    assert_int_equal(wait.stage, TINKC_STAGE_BUDGET);
    tinkc_future_cancel(futures[2]); /* the one after it is let in */
    assert_true(samplefix_finish(&f));
    assert_int_equal(faketransport_count(&f.net, SAMPLE), 3);
    assert_true(samplefix_finish(&f) && samplefix_accept(&f) && samplefix_finish(&f));
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(tinkc_future_wait(futures[i], 0),
                         i == 2 ? TINKC_E_CANCELLED : TINKC_OK);
        tinkc_future_free(&futures[i]);
    }
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

/* Cancelling at every place: nothing is sent afterwards, the next sample works. */
static void test_sample_cancel(void **unused)
{
    clientfix f;
    clientfix_open(&f, NULL);
    tinkc_sampling *sampling = samplefix_create(&f);
    for (int place = 0; place < 5; place++) {
        size_t before = faketransport_count(&f.net, SAMPLE);
        tinkc_future *future = samplefix_sample(&f, sampling, 2);
        if (place == 1) { /* pushed back */
            assert_true(
                faketransport_answer(&f.net, SAMPLE, (fakeanswer){.status = 429}));
            clientfix_turn(&f);
        } else if (place >= 2) {
            assert_true(samplefix_accept(&f));
        }
        if (place == 3) { /* the delay before a new attempt */
            assert_true(faketransport_answer(&f.net, POLL, (fakeanswer){.status = 410}));
            clientfix_turn(&f);
        } else if (place == 4) { /* between two polls */
            assert_true(faketransport_answer(&f.net, POLL, (fakeanswer){.status = 429}));
            clientfix_turn(&f);
        }
        tinkc_future_cancel(future);
        clientfix_turn(&f);
        assert_int_equal(tinkc_future_wait(future, 0), TINKC_E_CANCELLED);
        tinkc_future_free(&future);
        clientfix_advance(&f, 30000);
        assert_int_equal(faketransport_count(&f.net, SAMPLE), before + 1);
        assert_int_equal(faketransport_open(&f.net, SAMPLE), 0);
        assert_int_equal(faketransport_open(&f.net, POLL), 0);
    }
    tinkc_future *future = samplefix_sample(&f, sampling, 2);
    assert_true(samplefix_accept(&f) && samplefix_finish(&f));
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_OK);
    tinkc_future_free(&future);
    tinkc_sampling_close(&sampling);
    clientfix_close(&f);
}

/* B-256, M-096: the sample's own deadline ends it in every stage. */
static void test_sample_deadline(void **unused)
{
    for (int place = 0; place < 3; place++) {
        clientfix f;
        clientfix_open(&f, NULL);
        tinkc_sampling *sampling = samplefix_create(&f);
        tinkc_sample_options options = TINKC_SAMPLE_OPTIONS_INIT;
        options.deadline_ms = 5000;
        tinkc_model_input *prompt = samplefix_prompt(2);
        tinkc_future *future = tinkc_sampling_sample(sampling, prompt, NULL, &options);
        clientfix_turn(&f);
        if (place == 1) {
            assert_true(samplefix_accept(&f));
        } else if (place == 2) {
            fakeanswer later = {.status = 429, .headers = {"retry-after", "60"}};
            assert_true(faketransport_answer(&f.net, SAMPLE, later));
            clientfix_turn(&f);
        }
        clientfix_advance(&f, 4999);
        assert_false(tinkc_future_is_done(future));
        clientfix_advance(&f, 1);
        assert_true(tinkc_future_is_done(future));
        assert_int_equal(tinkc_future_wait(future, 0), TINKC_E_TIMEOUT);
        tinkc_future_free(&future);
        tinkc_model_input_free(&prompt);
        tinkc_sampling_close(&sampling);
        clientfix_close(&f);
    }
}

/* A 2xx that is not a future, and a result that is malformed. */
static void test_sample_malformed(void **unused)
{
    static const char *const bodies[] = {"{}", "[]", "{\"request_id\":7}"};
    for (size_t i = 0; i < TK_ARRAY_LEN(bodies) + 1; i++) {
        clientfix f;
        clientfix_open(&f, NULL);
        tinkc_sampling *sampling = samplefix_create(&f);
        tinkc_future *future = samplefix_sample(&f, sampling, 2);
        if (i < TK_ARRAY_LEN(bodies)) {
            assert_true(
                faketransport_answer(&f.net, SAMPLE, (fakeanswer){.body = bodies[i]}));
        } else {
            fakeanswer garbage = samplefix_result();
            garbage.body = "\x0a\x7f";
            garbage.body_n = 2;
            assert_true(samplefix_accept(&f));
            assert_true(faketransport_answer(&f.net, POLL, garbage));
        }
        clientfix_turn(&f);
        tinkc_code code = tinkc_future_wait(future, 0);
        assert_true(code == TINKC_E_DECODE || code == TINKC_E_PARSE);
        tinkc_future_free(&future);
        tinkc_sampling_close(&sampling);
        clientfix_close(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sample_request),
        cmocka_unit_test(test_sample_result),
        cmocka_unit_test(test_sample_topk),
        cmocka_unit_test(test_sample_logprobs),
        cmocka_unit_test(test_sample_refused),
        cmocka_unit_test(test_sample_null),
        cmocka_unit_test(test_sample_gone),
        cmocka_unit_test(test_sample_new_id),
        cmocka_unit_test(test_sample_categories),
        cmocka_unit_test(test_sample_layers),
        cmocka_unit_test(test_sample_user_errors),
        cmocka_unit_test(test_sample_no_retries),
        cmocka_unit_test(test_sample_slots),
        cmocka_unit_test(test_sample_cancel),
        cmocka_unit_test(test_sample_deadline),
        cmocka_unit_test(test_sample_malformed),
    };
    return cmocka_run_group_tests_name("sample", tests, NULL, NULL);
}
