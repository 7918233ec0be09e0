/* Tinker mode of the peer: ids, idempotency, futures, long polls, faults laid over it. */
#include "support/fakeapi_tinker.h"

#include "base/json.h"
#include "support/httpget.h"
#include "support/test.h"
#include "wire/pb_fwdbwd.h"
#include "wire/pb_output.h"
#include "wire/pb_sample.h"

#define SESSION "00000001-0000-4000-8000-000000000000"
#define MODEL   SESSION ":train:0"
#define SAMPLER SESSION ":sample:0"

#define CREATE_SESSION "{\"tags\":[],\"user_metadata\":{},\"sdk_version\":\"0.25.0\"}"
#define CREATE_MODEL                                                                     \
    "{\"session_id\":\"" SESSION "\",\"model_seq_id\":0,\"base_model\":\"b\","           \
    "\"lora_config\":{\"rank\":8}}"
#define OPTIM_STEP(seq)                                                                  \
    "{\"adam_params\":{\"learning_rate\":0.1},\"model_id\":\"" MODEL                     \
    "\",\"seq_id\":" seq "}"
#define SAVE(name, seq)                                                                  \
    "{\"model_id\":\"" MODEL "\",\"path\":\"" name "\",\"seq_id\":" seq "}"
#define EPHEMERAL(sampling, seq)                                                         \
    "{\"model_id\":\"" MODEL "\",\"sampling_session_seq_id\":" sampling                  \
    ",\"seq_id\":" seq "}"
#define SAMPLING_SESSION(seq)                                                            \
    "{\"session_id\":\"" SESSION "\",\"sampling_session_seq_id\":" seq                   \
    ",\"base_model\":\"b\"}"
#define SAMPLE(seq)                                                                        \
    "{\"num_samples\":2,\"prompt\":{\"chunks\":[{\"type\":\"encoded_text\",\"tokens\":"    \
    "[5,6,7]}]},\"sampling_params\":{\"max_tokens\":3},\"sampling_session_id\":\"" SAMPLER \
    "\",\"seq_id\":" seq "}"
#define FORWARD(seq)                                                                     \
    "{\"forward_backward_input\":{\"data\":[{\"model_input\":{\"chunks\":[{\"type\":"    \
    "\"encoded_text\",\"tokens\":[1,2]}]},\"loss_fn_inputs\":{\"target_tokens\":"        \
    "{\"data\":[2,3],\"dtype\":\"int64\",\"shape\":[2]}}}],\"loss_fn\":"                 \
    "\"cross_entropy\"},\"model_id\":\"" MODEL "\",\"seq_id\":" seq "}"

static int start(void **state)
{
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    *state = api;
    return 0;
}

static int stop(void **state)
{
    fakeapi *api = *state;
    fakeapi_stop(&api);
    return 0;
}

/* One call; *out is to be disposed of. */
static int post(fakeapi *api, const char *name, const char *body, httpget_response *out)
{
    fakeapi_bytes target = {0};
    fakeapi_bytes_printf(&target, "/api/v1/%s", name);
    httpget_request request = {.target = fakeapi_bytes_cstr(&target), .body = body};
    httpget_outcome outcome = httpget_once(fakeapi_port(api), &request, out);
    fakeapi_bytes_dispose(&target);
    return outcome == HTTPGET_OK ? out->status : -(int)outcome;
}

/* Posts and returns the status only. */
static int try_post(fakeapi *api, const char *name, const char *body)
{
    httpget_response r;
    int status = post(api, name, body, &r);
    httpget_response_dispose(&r);
    return status;
}

/* Posts and compares the whole answer. */
static void expect_post(fakeapi *api, const char *name, const char *body,
                        const char *expected)
{
    httpget_response r;
    assert_int_equal(post(api, name, body, &r), 200);
    assert_string_equal(r.body.p, expected);
    httpget_response_dispose(&r);
}

static void make_model(fakeapi *api)
{
    assert_int_equal(try_post(api, "create_session", CREATE_SESSION), 200);
    assert_int_equal(try_post(api, "create_model", CREATE_MODEL), 200);
}

static httpget *poll(fakeapi *api, const char *request_id, const char *accept)
{
    fakeapi_bytes body = {0};
    fakeapi_bytes_printf(&body, "{\"request_id\":\"%s\",\"allow_metadata_only\":true}",
                         request_id);
    httpget *c = httpget_connect(fakeapi_port(api));
    assert_non_null(c);
    assert_true(httpget_ask(c, &(httpget_request){.target = "/api/v1/retrieve_future",
                                                  .headers = accept,
                                                  .body = fakeapi_bytes_cstr(&body)}));
    fakeapi_bytes_dispose(&body);
    return c;
}

#define PROTO "Accept: application/x-protobuf\r\n"

static void expect_poll(httpget **c, int status, const char *expected)
{
    httpget_response r;
    assert_int_equal(httpget_read(*c, &r), HTTPGET_OK);
    assert_int_equal(r.status, status);
    assert_string_equal(r.body.p, expected);
    httpget_response_dispose(&r);
    httpget_close(c);
}

static void expect_result(fakeapi *api, const char *request_id, const char *expected)
{
    httpget *c = poll(api, request_id, "");
    expect_poll(&c, 200, expected);
}

/* a training loop in JSON, with hosted ids. */
static void test_a_training_loop(void **state)
{
    fakeapi *api = *state;
    expect_post(api, "client/config", "{\"sdk_version\":\"0.25.0\"}", "{}");
    expect_post(api, "create_session", CREATE_SESSION,
                "{\"type\":\"create_session\",\"session_id\":\"" SESSION "\"}");
    expect_post(api, "session_heartbeat", "{\"session_id\":\"" SESSION "\"}",
                "{\"type\":\"session_heartbeat\"}");
    expect_post(api, "create_model", CREATE_MODEL,
                "{\"request_id\":\"future-0\",\"model_id\":\"" MODEL "\"}");
    expect_result(api, "future-0",
                  "{\"type\":\"create_model\",\"model_id\":\"" MODEL "\"}");
    expect_post(api, "forward_backward", FORWARD("1"),
                "{\"request_id\":\"future-1\",\"model_id\":\"" MODEL "\"}");
    expect_result(api, "future-1",
                  "{\"loss_fn_output_type\":\"CrossEntropyLossReturn\","
                  "\"loss_fn_outputs\":[{\"logprobs\":{\"data\":[-2,-2],\"dtype\":"
                  "\"float32\",\"shape\":[2]}}],\"metrics\":{\"loss:sum\":4}}");
    assert_int_equal(try_post(api, "optim_step", OPTIM_STEP("2")), 200);
    expect_result(api, "future-2", "{\"metrics\":{\"steps\":1}}");
    assert_int_equal(try_post(api, "forward_backward", FORWARD("3")), 200);
    expect_result(api, "future-3",
                  "{\"loss_fn_output_type\":\"CrossEntropyLossReturn\","
                  "\"loss_fn_outputs\":[{\"logprobs\":{\"data\":[-1,-1],\"dtype\":"
                  "\"float32\",\"shape\":[2]}}],\"metrics\":{\"loss:sum\":2}}");
    assert_int_equal(try_post(api, "save_weights", SAVE("one", "4")), 200);
    expect_result(api, "future-4",
                  "{\"path\":\"tinker://" MODEL
                  "/weights/one\",\"type\":\"save_weights\"}");
    static const char *const kinds[] = {"create_model", "forward_backward", "optim_step",
                                        "forward_backward", "save_weights"};
    assert_int_equal(fakeapi_tinker_ops(api, MODEL), 5);
    for (size_t i = 0; i < TK_ARRAY_LEN(kinds); i++) {
        fakeapi_tinker_op op;
        assert_true(fakeapi_tinker_op_at(api, MODEL, i, &op));
        assert_string_equal(op.kind, kinds[i]);
        assert_int_equal(op.seq_id, (int64_t)i);
    }
}

static void test_info_and_samplers(void **state)
{
    fakeapi *api = *state;
    make_model(api);
    expect_post(api, "get_info", "{\"model_id\":\"" MODEL "\"}",
                "{\"type\":\"get_info\",\"model_id\":\"" MODEL
                "\",\"model_data\":{\"arch\":\"scripted\",\"model_name\":\"b\","
                "\"tokenizer_id\":\"b\"},\"is_lora\":true,\"lora_rank\":8,"
                "\"model_name\":\"b\"}");
    assert_int_equal(try_post(api, "save_weights", SAVE("w", "1")), 200);
    expect_post(api, "weights_info", "{\"tinker_path\":\"tinker://" MODEL "/weights/w\"}",
                "{\"base_model\":\"b\",\"is_lora\":true,\"lora_rank\":8,"
                "\"train_unembed\":true,\"train_mlp\":true,\"train_attn\":true}");
    expect_post(api, "create_sampling_session", SAMPLING_SESSION("0"),
                "{\"type\":\"create_sampling_session\",\"sampling_session_id\":\"" SAMPLER
                "\"}");
    httpget_response r;
    httpget_request request = {.target = "/api/v1/samplers/" SESSION "%3Asample%3A0"};
    assert_int_equal(httpget_once(fakeapi_port(api), &request, &r), HTTPGET_OK);
    assert_string_equal(r.body.p, "{\"sampler_id\":\"" SAMPLER
                                  "\",\"base_model\":\"b\",\"model_path\":null}");
    httpget_response_dispose(&r);
    expect_post(api, "telemetry",
                "{\"events\":[],\"platform\":\"Linux\",\"sdk_version\":\"0.25.0\","
                "\"session_id\":\"" SESSION "\",\"process_uuid\":\"u\"}",
                "{\"status\":\"accepted\"}");
}

static void test_refusals(void **state)
{
    fakeapi *api = *state;
    make_model(api);
    static const struct {
        const char *name, *body;
        int status;
    } rows[] = {
        {"nonsense", "{}", 404},
        {"optim_step", "{", 422},
        {"optim_step", "[]", 422},
        {"optim_step", "{\"seq_id\":1}", 422},
        {"optim_step", "{\"adam_params\":{},\"model_id\":\"x\",\"seq_id\":1}", 404},
        {"session_heartbeat", "{\"session_id\":\"x\"}", 404},
        {"retrieve_future", "{\"request_id\":\"future-99\"}", 404},
        {"retrieve_future", "{\"request_id\":\"other\"}", 404},
        {"retrieve_future", "{\"request_id\":7}", 422},
        {"save_weights", SAVE("a b", "1"), 422},
        {"save_weights", SAVE("w", "2"), 200},
        {"save_weights", SAVE("w", "3"), 409},
        {"load_weights",
         "{\"model_id\":\"" MODEL "\",\"seq_id\":4,\"path\":\"tinker://" MODEL
         "/weights/w\",\"optimizer\":false}",
         400}, /* not the first request of the model */
        {"load_weights",
         "{\"model_id\":\"" MODEL "\",\"seq_id\":4,\"path\":\"tinker://" MODEL
         "/sampler_weights/w\",\"optimizer\":false}",
         400},
        {"load_weights",
         "{\"model_id\":\"" MODEL "\",\"seq_id\":4,\"path\":\"tinker://" MODEL
         "/weights/x\",\"optimizer\":false}",
         404},
        {"asample", SAMPLE("0"), 404},
        {"create_sampling_session",
         "{\"session_id\":\"" SESSION "\",\"sampling_session_seq_id\":0,"
         "\"model_path\":\"tinker://" MODEL "/sampler_weights/x\"}",
         404},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        int status = try_post(api, rows[i].name, rows[i].body);
        if (status != rows[i].status) {
            fail_msg("row %zu (%s): status %d", i, rows[i].name, status);
        }
    }
    assert_int_equal(fakeapi_tinker_ops(api, NULL), 2);
}

/* A model made by loading: its id is computed by both sides. */
static void test_create_via_load(void **state)
{
    fakeapi *api = *state;
    make_model(api);
    assert_int_equal(try_post(api, "save_weights", SAVE("w", "1")), 200);
    expect_post(api, "load_weights",
                "{\"session_id\":\"" SESSION
                "\",\"model_seq_id\":1,\"path\":\"tinker://" MODEL
                "/weights/w\",\"optimizer\":true}",
                "{\"request_id\":\"future-2\",\"model_id\":\"" SESSION ":train:1\"}");
    assert_int_equal(try_post(api, "get_info", "{\"model_id\":\"" SESSION ":train:1\"}"),
                     200);
}

/* docs/protocol.md §11 row 16, for each kind of request: first, repeated, reused
 * number. */
static void test_idempotency(void **state)
{
    fakeapi *api = *state;
    make_model(api);
    assert_int_equal(try_post(api, "create_sampling_session", SAMPLING_SESSION("0")),
                     200);
    static const struct {
        const char *name, *first, *again, *other;
    } rows[] = {
        {"create_model", CREATE_MODEL, CREATE_MODEL,
         "{\"session_id\":\"" SESSION "\",\"model_seq_id\":0,\"base_model\":\"c\"}"},
        {"forward_backward", FORWARD("1"), FORWARD("1"), FORWARD("1 ,\"x\":1")},
        {"optim_step", OPTIM_STEP("2"), OPTIM_STEP(" 2 "), OPTIM_STEP("2,\"x\":1")},
        {"save_weights", SAVE("a", "3"), SAVE("a", "3"), SAVE("b", "3")},
        {"save_weights_for_sampler", SAVE("a", "4"), SAVE("a", "4"), SAVE("b", "4")},
        {"save_weights_for_sampler", EPHEMERAL("7", "5"), EPHEMERAL("8", "5"),
         EPHEMERAL("7", "5,\"x\":1")},
        {"asample", SAMPLE("0"), SAMPLE("0"), SAMPLE("0,\"x\":1")},
        {"create_sampling_session", SAMPLING_SESSION("3"), SAMPLING_SESSION("3"),
         SAMPLING_SESSION("3,\"x\":1")},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        httpget_response first, again;
        assert_int_equal(post(api, rows[i].name, rows[i].first, &first), 200);
        size_t ops = fakeapi_tinker_ops(api, NULL);
        assert_int_equal(post(api, rows[i].name, rows[i].again, &again), 200);
        assert_string_equal(first.body.p, again.body.p);
        assert_int_equal(try_post(api, rows[i].name, rows[i].other), 409);
        assert_int_equal(fakeapi_tinker_ops(api, NULL), ops);
        assert_int_equal(fakeapi_tinker_conflicts(api), i + 1);
        httpget_response_dispose(&first);
        httpget_response_dispose(&again);
    }
    assert_int_equal(try_post(api, "save_weights", SAVE("z", "2")), 409);
    fakeapi_tinker_op op;
    assert_true(fakeapi_tinker_op_at(api, MODEL, 2, &op));
    assert_string_equal(op.kind, "optim_step");
    assert_int_equal(op.resent, 1);
}

/* Without a number only the idempotency key tells a repetition. */
static void test_sessions_are_known_by_key(void **state)
{
    fakeapi *api = *state;
    static const char *const keys[] = {"a", "b", "a", NULL, NULL};
    static const char ids[] = {'1', '2', '1', '3', '4'};
    for (size_t i = 0; i < TK_ARRAY_LEN(keys); i++) {
        fakeapi_bytes header = {0};
        if (keys[i] != NULL) {
            fakeapi_bytes_printf(&header, "X-Idempotency-Key: %s\r\n", keys[i]);
        }
        httpget_response r;
        httpget_request request = {.target = "/api/v1/create_session",
                                   .headers = fakeapi_bytes_cstr(&header),
                                   .body = CREATE_SESSION};
        assert_int_equal(httpget_once(fakeapi_port(api), &request, &r), HTTPGET_OK);
        assert_int_equal(strstr(r.body.p, "\"0000000")[8], ids[i]);
        httpget_response_dispose(&r);
        fakeapi_bytes_dispose(&header);
    }
}

/* Every response is lost once; the work is done once. */
static void test_lost_responses_do_not_double_the_work(void **state)
{
    fakeapi *api = *state;
    fakeapi_lose_first(api, "POST", "*/create_model", FAKEAPI_RESET);
    fakeapi_lose_first(api, "POST", "*/optim_step", FAKEAPI_RESET);
    fakeapi_lose_first(api, "POST", "*/forward_backward", FAKEAPI_DROP);
    fakeapi_lose_first(api, "POST", "*/save_weights*", FAKEAPI_CUT_HEAD);
    static const struct {
        const char *name, *body;
    } rows[] = {{"create_model", CREATE_MODEL},
                {"forward_backward", FORWARD("1")},
                {"optim_step", OPTIM_STEP("2")},
                {"save_weights_for_sampler", EPHEMERAL("0", "3")}};
    assert_int_equal(try_post(api, "create_session", CREATE_SESSION), 200);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        assert_true(try_post(api, rows[i].name, rows[i].body) < 0);
        assert_int_equal(fakeapi_tinker_ops(api, MODEL), i + 1);
        assert_int_equal(try_post(api, rows[i].name, rows[i].body), 200);
        assert_int_equal(fakeapi_tinker_ops(api, MODEL), i + 1);
        fakeapi_tinker_op op;
        assert_true(fakeapi_tinker_op_at(api, MODEL, i, &op));
        assert_int_equal(op.resent, 1);
    }
}

/* A scripted step lies over the behaviour; with .pass the work happens all the same. */
static void test_steps_lie_over_it(void **state)
{
    fakeapi *api = *state;
    make_model(api);
    fakeapi_reply(api, "POST", "*/optim_step", &fakeapi_429(FAKEAPI_AFTER_MS(5)));
    fakeapi_reply(api, "POST", "*/optim_step", &fakeapi_fail(FAKEAPI_RESET));
    assert_int_equal(try_post(api, "optim_step", OPTIM_STEP("1")), 429);
    assert_int_equal(fakeapi_tinker_ops(api, MODEL), 1);
    assert_int_equal(try_post(api, "optim_step", OPTIM_STEP("1")), -HTTPGET_RESET);
    assert_int_equal(fakeapi_tinker_ops(api, MODEL), 2);
    assert_int_equal(try_post(api, "optim_step", OPTIM_STEP("1")), 200);
    assert_int_equal(fakeapi_tinker_ops(api, MODEL), 2);
}

/* docs/protocol.md §11 row 7: polls may overlap, leave, and come again. */
static void test_long_polls(void **state)
{
    fakeapi *api = *state;
    make_model(api);
    fakeapi_tinker_hold(api, true);
    assert_int_equal(try_post(api, "optim_step", OPTIM_STEP("1")), 200);
    assert_int_equal(try_post(api, "optim_step", OPTIM_STEP("2")), 200);
    assert_int_equal(fakeapi_tinker_pending(api), 2);
    httpget *a = poll(api, "future-1", ""), *b = poll(api, "future-1", ""),
            *gone = poll(api, "future-1", ""), *other = poll(api, "future-2", "");
    assert_true(fakeapi_wait_in_flight(api, "POST", "*/retrieve_future", 4));
    httpget_close(&gone);
    assert_true(fakeapi_wait_in_flight(api, "POST", "*/retrieve_future", 3));
    assert_int_equal(fakeapi_tinker_finish(api, 1), 1);
    expect_poll(&a, 200, "{\"metrics\":{\"steps\":1}}");
    expect_poll(&b, 200, "{\"metrics\":{\"steps\":1}}");
    expect_result(api, "future-1", "{\"metrics\":{\"steps\":1}}");
    assert_int_equal(fakeapi_in_flight(api, "POST", "*/retrieve_future"), 1);
    assert_false(fakeapi_tinker_finish_one(api, "future-7"));
    assert_true(fakeapi_tinker_finish_one(api, "future-2"));
    expect_poll(&other, 200, "{\"metrics\":{\"steps\":2}}");
    assert_int_equal(fakeapi_tinker_finish(api, SIZE_MAX), 0);
    assert_int_equal(fakeapi_tinker_pending(api), 0);
}

/* a poll that runs out tells the queue state. */
static void test_polls_run_out(void **state)
{
    fakeapi *api = *state;
    fakeapi_clock_manual(api);
    make_model(api);
    fakeapi_tinker_hold(api, true);
    assert_int_equal(try_post(api, "optim_step", OPTIM_STEP("1")), 200);
    httpget *c = poll(api, "future-1", "");
    assert_true(fakeapi_wait_in_flight(api, "POST", "*/retrieve_future", 1));
    fakeapi_clock_advance(api, 20000);
    expect_poll(&c, 408,
                "{\"type\":\"try_again\",\"request_id\":\"future-1\",\"queue_state\":"
                "\"active\",\"queue_state_reason\":null}");
    fakeapi_tinker_queue(api, "paused_capacity", "no \"room\"");
    c = poll(api, "future-1", "");
    assert_true(fakeapi_wait_in_flight(api, "POST", "*/retrieve_future", 1));
    fakeapi_tinker_turn_away(api);
    expect_poll(&c, 408,
                "{\"type\":\"try_again\",\"request_id\":\"future-1\",\"queue_state\":"
                "\"paused_capacity\",\"queue_state_reason\":\"no \\\"room\\\"\"}");
}

static void test_failed_and_lost_work(void **state)
{
    fakeapi *api = *state;
    make_model(api);
    fakeapi_tinker_fail(api, "optim_step", "bad \"lr\"", "user");
    fakeapi_tinker_fail(api, "*", "boom", "server");
    assert_int_equal(try_post(api, "save_weights", SAVE("w", "1")), 200);
    assert_int_equal(try_post(api, "optim_step", OPTIM_STEP("2")), 200);
    assert_int_equal(try_post(api, "optim_step", OPTIM_STEP("3")), 200);
    expect_result(api, "future-1", "{\"error\":\"boom\",\"category\":\"server\"}");
    expect_result(api, "future-2",
                  "{\"error\":\"bad \\\"lr\\\"\",\"category\":\"user\"}");
    expect_result(api, "future-3", "{\"metrics\":{\"steps\":1}}");
    assert_int_equal(fakeapi_tinker_ops(api, MODEL), 2);
    assert_int_equal(try_post(api, "optim_step", OPTIM_STEP("2")), 200);
    assert_int_equal(fakeapi_tinker_ops(api, MODEL), 2);
    assert_true(fakeapi_tinker_lose(api, "future-3"));
    httpget *c = poll(api, "future-3", "");
    expect_poll(&c, 410, "{\"detail\":\"The result is gone\"}");
}

static void test_sample_results(void **state)
{
    fakeapi *api = *state;
    make_model(api);
    assert_int_equal(try_post(api, "create_sampling_session", SAMPLING_SESSION("0")),
                     200);
    expect_post(api, "asample", SAMPLE("0"),
                "{\"request_id\":\"future-1\",\"sample_sequence_ids\":[\"future-1:0\","
                "\"future-1:1\"]}");
    expect_result(api, "future-1",
                  "{\"type\":\"sample\",\"sequences\":[{\"tokens\":[8,9,10],\"logprobs\":"
                  "[-0.5,-0.5,-0.5],\"stop_reason\":\"length\"},{\"tokens\":[8,9,10],"
                  "\"logprobs\":[-0.5,-0.5,-0.5],\"stop_reason\":\"length\"}],"
                  "\"prompt_logprobs\":null,\"topk_prompt_logprobs\":null}");
    httpget *c = poll(api, "future-1", PROTO);
    httpget_response r;
    assert_int_equal(httpget_read(c, &r), HTTPGET_OK);
    assert_string_equal(httpget_header(&r, "content-type"), "application/x-protobuf");
    tk_arena arena;
    tk_arena_init(&arena, 0);
    tk_sample_response out;
    tk_bytes bytes = {(const unsigned char *)r.body.p, r.body.n};
    assert_int_equal(tk_pb_sample_decode(&out, &arena, bytes, NULL), TINKC_OK);
    assert_int_equal(out.sequences_n, 2);
    assert_int_equal(out.sequences[1].tokens.n, 3);
    assert_int_equal(out.sequences[1].tokens.p[0], 8);
    assert_int_equal(out.sequences[1].stop_reason, TK_STOP_LENGTH);
    assert_true(out.sequences[1].has_logprobs);
    tk_arena_dispose(&arena);
    httpget_response_dispose(&r);
    httpget_close(&c);
    fakeapi_tinker_op op;
    assert_true(fakeapi_tinker_op_at(api, SAMPLER, 0, &op));
    assert_string_equal(op.kind, "sample");
}

/* A large result is announced first, when the poll allows it. */
static void test_complete_metadata(void **state)
{
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, &(fakeapi_tinker_options){.metadata_above = 30});
    make_model(api);
    expect_result(api, "future-0",
                  "{\"status\":\"complete_metadata\",\"request_id\":\"future-0\","
                  "\"response_payload_size\":81}");
    expect_post(api, "retrieve_future",
                "{\"request_id\":\"future-0\",\"allow_metadata_only\":false}",
                "{\"type\":\"create_model\",\"model_id\":\"" MODEL "\"}");
    fakeapi_stop(&api);
}

static void test_keys_are_checked(void **state)
{
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api,
                   &(fakeapi_tinker_options){.api_key = "tml-x", .config = "{\"a\":1}"});
    static const char *const headers[] = {"", "X-API-Key: tml-y\r\n",
                                          "X-API-Key: tml-x\r\n"};
    static const int statuses[] = {401, 401, 200};
    for (size_t i = 0; i < TK_ARRAY_LEN(headers); i++) {
        httpget_response r;
        httpget_request request = {.target = "/prefix/api/v1/client/config",
                                   .headers = headers[i],
                                   .body = "{\"sdk_version\":\"0\"}"};
        assert_int_equal(httpget_once(fakeapi_port(api), &request, &r), HTTPGET_OK);
        assert_int_equal(r.status, statuses[i]);
        assert_true(i < 2 || strcmp(r.body.p, "{\"a\":1}") == 0);
        httpget_response_dispose(&r);
    }
    fakeapi_stop(&api);
}

/* in strict mode a key that the schema lacks gives 422, on every call. */
static void test_strict_mode(void **state)
{
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, &(fakeapi_tinker_options){.strict = true});
    make_model(api);
    assert_int_equal(try_post(api, "create_sampling_session", SAMPLING_SESSION("0")),
                     200);
    static const char *const rows[][2] = {
        {"client/config", "{\"sdk_version\":\"0\",\"extra\":1}"},
        {"create_session", "{\"tags\":[],\"sdk_version\":\"0\",\"extra\":1}"},
        {"session_heartbeat", "{\"session_id\":\"" SESSION "\",\"extra\":1}"},
        {"get_info", "{\"model_id\":\"" MODEL "\",\"extra\":1}"},
        {"create_sampling_session", SAMPLING_SESSION("1,\"extra\":1")},
        {"optim_step", OPTIM_STEP("1,\"extra\":1")},
        {"save_weights", SAVE("w", "1,\"extra\":1")},
        {"asample", SAMPLE("0,\"extra\":1")},
        {"forward_backward", FORWARD("1,\"extra\":1")},
        {"retrieve_future", "{\"request_id\":\"future-0\",\"extra\":1}"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        httpget_response r;
        assert_int_equal(post(api, rows[i][0], rows[i][1], &r), 422);
        assert_non_null(strstr(r.body.p, "extra"));
        httpget_response_dispose(&r);
    }
    assert_int_equal(fakeapi_tinker_ops(api, NULL), 1);
    fakeapi_stop(&api);
}

/* hundreds of parked polls, released at once. */
static void test_a_crowd_of_polls(void **state)
{
    enum { CROWD = 300 };
    fakeapi *api = *state;
    assert_true(fakeapi_allow_files(2 * CROWD + 64));
    make_model(api);
    assert_int_equal(try_post(api, "create_sampling_session", SAMPLING_SESSION("0")),
                     200);
    fakeapi_tinker_hold(api, true);
    httpget *c[CROWD];
    for (size_t i = 0; i < CROWD; i++) {
        fakeapi_bytes text = {0};
        fakeapi_bytes_printf(&text,
                             "{\"prompt\":{\"chunks\":[]},\"sampling_params\":{},"
                             "\"sampling_session_id\":\"" SAMPLER "\",\"seq_id\":%zu}",
                             i);
        assert_int_equal(try_post(api, "asample", fakeapi_bytes_cstr(&text)), 200);
        text.n = 0;
        fakeapi_bytes_printf(&text, "future-%zu", i + 1);
        c[i] = poll(api, fakeapi_bytes_cstr(&text), PROTO);
        fakeapi_bytes_dispose(&text);
    }
    assert_true(fakeapi_wait_in_flight(api, "POST", "*/retrieve_future", CROWD));
    assert_int_equal(fakeapi_tinker_pending(api), CROWD);
    assert_int_equal(fakeapi_tinker_finish(api, SIZE_MAX), CROWD);
    for (size_t i = 0; i < CROWD; i++) {
        httpget_response r;
        assert_int_equal(httpget_read(c[i], &r), HTTPGET_OK);
        assert_int_equal(r.status, 200);
        httpget_response_dispose(&r);
        httpget_close(&c[i]);
    }
    assert_int_equal(fakeapi_peak(api, "POST", "*/retrieve_future"), CROWD);
    assert_int_equal(fakeapi_tinker_ops(api, SAMPLER), CROWD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_training_loop, start, stop),
        cmocka_unit_test_setup_teardown(test_info_and_samplers, start, stop),
        cmocka_unit_test_setup_teardown(test_refusals, start, stop),
        cmocka_unit_test_setup_teardown(test_create_via_load, start, stop),
        cmocka_unit_test_setup_teardown(test_idempotency, start, stop),
        cmocka_unit_test_setup_teardown(test_sessions_are_known_by_key, start, stop),
        cmocka_unit_test_setup_teardown(test_lost_responses_do_not_double_the_work, start,
                                        stop),
        cmocka_unit_test_setup_teardown(test_steps_lie_over_it, start, stop),
        cmocka_unit_test_setup_teardown(test_long_polls, start, stop),
        cmocka_unit_test_setup_teardown(test_polls_run_out, start, stop),
        cmocka_unit_test_setup_teardown(test_failed_and_lost_work, start, stop),
        cmocka_unit_test_setup_teardown(test_sample_results, start, stop),
        cmocka_unit_test(test_complete_metadata),
        cmocka_unit_test(test_keys_are_checked),
        cmocka_unit_test(test_strict_mode),
        cmocka_unit_test_setup_teardown(test_a_crowd_of_polls, start, stop),
    };
    return cmocka_run_group_tests_name("fakeapi_tinker", tests, NULL, NULL);
}
