/* Tinker mode with protobuf bodies: plain and zstd, repeated and reused numbers,
 * garbage. */
#include "base/buf.h"
#include "support/fakeapi_tinker.h"
#include "support/httpget.h"
#include "support/test.h"
#include "wire/pb_fwdbwd.h"
#include "wire/pb_output.h"
#include "wire/pb_sample.h"
#include "wire/zstd.h"

#define SESSION "00000001-0000-4000-8000-000000000000"
#define MODEL   SESSION ":train:0"

typedef struct fixture {
    fakeapi *api;
    tk_arena arena;
} fixture;

static int post(fixture *f, const httpget_request *request, httpget_response *out)
{
    assert_int_equal(httpget_once(fakeapi_port(f->api), request, out), HTTPGET_OK);
    return out->status;
}

static int post_text(fixture *f, const char *target, const char *body)
{
    httpget_response r;
    int status = post(f, &(httpget_request){.target = target, .body = body}, &r);
    httpget_response_dispose(&r);
    return status;
}

static int start(void **state)
{
    static fixture f;
    f.api = fakeapi_start();
    fakeapi_tinker(f.api, NULL);
    tk_arena_init(&f.arena, 0);
    *state = &f;
    assert_int_equal(
        post_text(&f, "/api/v1/create_session", "{\"tags\":[],\"sdk_version\":\"0\"}"),
        200);
    assert_int_equal(post_text(&f, "/api/v1/create_model",
                               "{\"session_id\":\"" SESSION
                               "\",\"model_seq_id\":0,\"base_model\":\"b\"}"),
                     200);
    return 0;
}

static int stop(void **state)
{
    fixture *f = *state;
    fakeapi_stop(&f->api);
    tk_arena_dispose(&f->arena);
    return 0;
}

/* A request of two datums: one dense with 3 targets, one CSR of 2 x 4. */
static void encode(tk_buf *out, int64_t seq_id, bool forward_only)
{
    static const int32_t tokens[] = {1, 2, 3};
    static const int64_t targets[] = {2, 3, 4}, shape[] = {2, 4}, crow[] = {0, 1, 2},
                         col[] = {3, 0};
    static const tk_chunk chunk = {.kind = TK_CHUNK_TEXT, .tokens = {tokens, 3}};
    const tk_named_tensor dense = {TK_STR("target_tokens"),
                                   {.dtype = TK_DTYPE_I64, .data = targets, .n = 3}};
    const tk_named_tensor sparse = {TK_STR("target_tokens"),
                                    {.dtype = TK_DTYPE_I64,
                                     .data = targets,
                                     .n = 2,
                                     .has_shape = true,
                                     .shape = {shape, 2},
                                     .is_sparse = true,
                                     .crow = {crow, 3},
                                     .col = {col, 2}}};
    const tk_datum data[] = {
        {.model_input = {&chunk, 1}, .loss_fn_inputs = {&dense, 1}},
        {.model_input = {&chunk, 1}, .loss_fn_inputs = {&sparse, 1}}};
    tk_fwdbwd_request msg = {.model_id = TK_STR(MODEL),
                             .seq_id = seq_id,
                             .data = data,
                             .data_n = 2,
                             .loss_fn = TK_STR("cross_entropy"),
                             .forward_only = forward_only};
    assert_int_equal(tk_pb_fwdbwd_encode(out, &msg, NULL), TINKC_OK);
}

static int send_proto(fixture *f, tk_str body, const char *headers, httpget_response *out)
{
    return post(f,
                &(httpget_request){.target = "/api/v1/forward_backward",
                                   .headers = headers,
                                   .body = body.p,
                                   .body_n = body.n,
                                   .content_type = "application/x-protobuf"},
                out);
}

static void test_protobuf_batches(void **state)
{
    fixture *f = *state;
    tk_buf body;
    tk_buf_init(&body, TK_MIB);
    encode(&body, 1, false);
    httpget_response r;
    assert_int_equal(send_proto(f, tk_buf_str(&body), NULL, &r), 200);
    assert_string_equal(r.body.p,
                        "{\"request_id\":\"future-1\",\"model_id\":\"" MODEL "\"}");
    httpget_response_dispose(&r);
    assert_int_equal(send_proto(f, tk_buf_str(&body), NULL, &r), 200);
    httpget_response_dispose(&r);
    tk_buf_clear(&body);
    encode(&body, 1, true); /* the same number for something else */
    assert_int_equal(send_proto(f, tk_buf_str(&body), NULL, &r), 409);
    httpget_response_dispose(&r);
    tk_buf_clear(&body);
    encode(&body, 0, true); /* no number: never a repetition */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(send_proto(f, tk_buf_str(&body), NULL, &r), 200);
        httpget_response_dispose(&r);
    }
    tk_buf_dispose(&body);
    static const struct {
        const char *kind;
        int64_t seq_id;
        size_t resent;
    } log[] = {{"create_model", 0, 0},
               {"forward_backward", 1, 1},
               {"forward", -1, 0},
               {"forward", -1, 0}};
    assert_int_equal(fakeapi_tinker_ops(f->api, MODEL), TK_ARRAY_LEN(log));
    for (size_t i = 0; i < TK_ARRAY_LEN(log); i++) {
        fakeapi_tinker_op op;
        assert_true(fakeapi_tinker_op_at(f->api, MODEL, i, &op));
        assert_string_equal(op.kind, log[i].kind);
        assert_int_equal(op.seq_id, log[i].seq_id);
        assert_int_equal(op.resent, log[i].resent);
        assert_int_equal(op.datums, i > 0 ? 2 : 0);
    }
}

/* Each datum gets as many log probabilities as it has targets. */
static void test_zstd_batch_and_its_result(void **state)
{
    fixture *f = *state;
    tk_buf body, frame;
    tk_buf_init(&body, TK_MIB);
    tk_buf_init(&frame, TK_MIB);
    encode(&body, 1, false);
    tk_zstd z;
    tk_zstd_init(&z);
    tk_bytes plain = {(const unsigned char *)body.p, body.n};
    assert_int_equal(tk_zstd_compress(&z, &frame, plain, 0, NULL), TINKC_OK);
    httpget_response r;
    assert_int_equal(send_proto(f, tk_buf_str(&frame), "Content-Encoding: zstd\r\n", &r),
                     200);
    httpget_response_dispose(&r);
    tk_zstd_dispose(&z);
    tk_buf_dispose(&frame);
    tk_buf_dispose(&body);
    post(f,
         &(httpget_request){.target = "/api/v1/retrieve_future",
                            .headers = "Accept: application/x-protobuf\r\n",
                            .body = "{\"request_id\":\"future-1\"}"},
         &r);
    tk_fwdbwd_output out;
    tk_bytes bytes = {(const unsigned char *)r.body.p, r.body.n};
    assert_int_equal(tk_pb_output_decode(&out, &f->arena, bytes, NULL), TINKC_OK);
    assert_int_equal(out.loss_fn_outputs_n, 2);
    assert_int_equal(out.loss_fn_outputs[0].items[0].tensor.n, 3);
    assert_int_equal(out.loss_fn_outputs[1].items[0].tensor.n, 8);
    assert_true(out.metrics.items[0].v == 22);
    httpget_response_dispose(&r);
}

static void test_garbage_is_refused(void **state)
{
    fixture *f = *state;
    static const struct {
        const char *body, *headers;
        int status;
    } rows[] = {{"\xff\xff\xff", NULL, 422},
                {"not zstd", "Content-Encoding: zstd\r\n", 422},
                {"\x0a\x01x", NULL, 404}}; /* well-formed, for a model named "x" */
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        httpget_response r;
        tk_str body = tk_str_of(rows[i].body);
        assert_int_equal(send_proto(f, body, rows[i].headers, &r), rows[i].status);
        httpget_response_dispose(&r);
    }
    assert_int_equal(fakeapi_tinker_ops(f->api, NULL), 1);
}

static void test_prompt_logprobs(void **state)
{
    fixture *f = *state;
    assert_int_equal(post_text(f, "/api/v1/create_sampling_session",
                               "{\"session_id\":\"" SESSION
                               "\",\"sampling_session_seq_id\":0,\"base_model\":\"b\"}"),
                     200);
    assert_int_equal(
        post_text(f, "/api/v1/asample",
                  "{\"prompt\":{\"chunks\":[{\"type\":\"encoded_text\",\"tokens\":[1,2]},"
                  "{\"type\":\"encoded_text\",\"tokens\":[9]}]},\"sampling_params\":"
                  "{\"max_tokens\":1},\"sampling_session_id\":\"" SESSION ":sample:0\","
                  "\"seq_id\":0,\"prompt_logprobs\":true}"),
        200);
    httpget_response r;
    post(f,
         &(httpget_request){.target = "/api/v1/retrieve_future",
                            .headers = "Accept: application/x-protobuf\r\n",
                            .body = "{\"request_id\":\"future-1\"}"},
         &r);
    tk_sample_response out;
    tk_bytes bytes = {(const unsigned char *)r.body.p, r.body.n};
    assert_int_equal(tk_pb_sample_decode(&out, &f->arena, bytes, NULL), TINKC_OK);
    assert_true(out.has_prompt_logprobs);
    assert_int_equal(out.prompt_logprobs.n, 3);
    assert_int_equal(out.sequences[0].tokens.p[0], 10);
    httpget_response_dispose(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_protobuf_batches, start, stop),
        cmocka_unit_test_setup_teardown(test_zstd_batch_and_its_result, start, stop),
        cmocka_unit_test_setup_teardown(test_garbage_is_refused, start, stop),
        cmocka_unit_test_setup_teardown(test_prompt_logprobs, start, stop),
    };
    return cmocka_run_group_tests_name("fakeapi_tinker_work", tests, NULL, NULL);
}
