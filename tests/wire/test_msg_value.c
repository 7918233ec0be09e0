/* Chunks, tensors, datums and results as JSON (A-040, A-041, A-048, A-058, A-062..A-064,
 * A-066, M-106, M-109, M-110). */
#include "wire/msg_value.h"

#include <math.h>

#include "base/limits.h"
#include "base/mem.h"
#include "support/failmem.h"
#include "support/msgfix.h"
#include "support/test.h"

/* A-062, M-106: every kind of chunk carries its tag. */
static void test_value_chunk_tags(void **unused)
{
    static const int32_t tokens[] = {1, 2};
    const tk_chunk text = {.kind = TK_CHUNK_TEXT, .tokens = {tokens, 2}};
    expect_json(&tk_msg_chunk, &text, "{\"tokens\":[1,2],\"type\":\"encoded_text\"}");
    const tk_chunk image = {.kind = TK_CHUNK_IMAGE,
                            .data = {(const unsigned char *)"abc", 3},
                            .format = TK_IMAGE_JPEG,
                            .expected_tokens = TK_F_VAL(7)};
    expect_json(&tk_msg_chunk, &image,
                "{\"data\":\"YWJj\",\"format\":\"jpeg\",\"expected_tokens\":7,"
                "\"type\":\"image\"}");
    const tk_chunk pointer = {.kind = TK_CHUNK_IMAGE_POINTER,
                              .format = TK_IMAGE_PNG,
                              .location = TK_STR("s3://b/c.png")};
    expect_json(&tk_msg_chunk, &pointer,
                "{\"format\":\"png\",\"location\":\"s3://b/c.png\","
                "\"type\":\"image_asset_pointer\"}");
    const tk_chunk dmel = {.kind = TK_CHUNK_DMEL,
                           .data = {(const unsigned char *)"\4\1\3", 3}};
    expect_json(&tk_msg_chunk, &dmel, "{\"dmel\":\"BAED\",\"type\":\"dmel\"}");
}

/* A-063, M-106: the tag decides; a list may mix kinds; an unknown tag is kept as it
 * is. */
static void test_value_chunk_dispatch(void **unused)
{
    static const char text[] =
        "{\"chunks\":[{\"type\":\"encoded_text\",\"tokens\":[5]},"
        "{\"data\":\"YWJj\",\"format\":\"PNG\",\"expected_tokens\":null,\"type\":\"image\"},"
        "{\"type\":\"hologram\",\"depth\":{\"m\":3}},"
        "{\"dmel\":\"BAED\",\"type\":\"dmel\"}]}";
    tk_model_input input;
    decode_ok(&input, &tk_msg_model_input, text);
    assert_int_equal(input.n, 4);
    assert_int_equal(input.chunks[0].kind, TK_CHUNK_TEXT);
    assert_int_equal(input.chunks[0].tokens.p[0], 5);
    assert_int_equal(input.chunks[1].kind, TK_CHUNK_IMAGE);
    assert_int_equal(input.chunks[1].format, TK_IMAGE_PNG);
    assert_int_equal(input.chunks[1].data.n, 3);
    assert_int_equal(input.chunks[2].kind, TK_CHUNK_UNKNOWN);
    assert_int_equal(input.chunks[3].kind, TK_CHUNK_DMEL);
    expect_json(&tk_msg_chunk, &input.chunks[2],
                "{\"type\":\"hologram\",\"depth\":{\"m\":3}}");
}

/* Without a tag the keys give the kind away, as in SkyRL. */
static void test_value_chunk_without_tag(void **unused)
{
    static const struct {
        const char *text;
        tk_chunk_kind kind;
    } rows[] = {
        {"{\"tokens\":[1]}", TK_CHUNK_TEXT},
        {"{\"location\":\"x\",\"format\":\"png\"}", TK_CHUNK_IMAGE_POINTER},
        {"{\"data\":\"\",\"format\":\"png\"}", TK_CHUNK_IMAGE},
        {"{\"dmel\":\"BAED\"}", TK_CHUNK_DMEL},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_chunk chunk;
        decode_ok(&chunk, &tk_msg_chunk, rows[i].text);
        assert_int_equal(chunk.kind, rows[i].kind);
    }
    decode_fails(&tk_msg_chunk, "{\"pixels\":1}", TK_DECODE_CLOSED, "type", "missing");
    decode_fails(&tk_msg_model_input, "{\"chunks\":[{\"tokens\":[1]},7]}", 0, "chunks[1]",
                 "expected object, found integer");
    decode_fails(&tk_msg_model_input,
                 "{\"chunks\":[{\"tokens\":[1,4294967296],\"type\":\"encoded_text\"}]}",
                 0, "chunks[0].tokens[1]", "4294967296 does not fit a 32-bit integer");
    decode_fails(&tk_msg_chunk, "{\"tokens\":[1,\"2\"]}", 0, "tokens[1]",
                 "expected 64-bit integer, found string");
    decode_fails(&tk_msg_chunk, "{\"tokens\":[1,2.5]}", 0, "tokens[1]", "64-bit integer");
    decode_fails(&tk_msg_chunk, "{\"data\":\"a b=\",\"format\":\"png\"}", 0, "data",
                 "not base64");
    decode_fails(&tk_msg_chunk, "{\"data\":\"\",\"format\":\"gif\"}", TK_DECODE_CLOSED,
                 "format", "\"gif\"");
}

/* Keys of several kinds without a tag are refused in a request. */
static void test_value_chunk_ambiguous(void **unused)
{
    static const struct {
        const char *text;
        tinkc_code code;
    } cases[] = {
        {"{\"tokens\":[5]}", TINKC_OK},
        {"{\"tokens\":[5],\"data\":\"AAAA\",\"format\":\"png\"}", TINKC_E_DECODE},
        {"{\"location\":\"x\",\"format\":\"png\",\"data\":\"AAAA\"}", TINKC_E_DECODE},
        {"{\"dmel\":\"AAAA\",\"tokens\":[5]}", TINKC_E_DECODE},
        {"{\"type\":\"encoded_text\",\"tokens\":[5],\"data\":\"AAAA\"}", TINKC_OK},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(cases); i++) {
        tk_arena own;
        tk_chunk chunk;
        tk_err err = TK_ERR_INIT;
        tk_arena_init(&own, 0);
        assert_int_equal(tk_schema_decode_text(&chunk, &tk_msg_chunk, &own,
                                               tk_str_of(cases[i].text), TK_DECODE_CLOSED,
                                               &err),
                         cases[i].code);
        if (cases[i].code != TINKC_OK) {
            assert_string_equal(err.path, "type");
        }
        tk_arena_dispose(&own);
    }
}

/* A-064, M-109: images travel as base64; sizes 0 to 5 and 10 MB come back unchanged. */
static void test_value_image_sizes(void **unused)
{
    static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 10 * 1000 * 1000};
    unsigned char *file = tk_malloc(sizes[6]);
    assert_non_null(file);
    for (size_t i = 0; i < sizes[6]; i++) {
        file[i] = (unsigned char)(i * 31 + (i >> 8));
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(sizes); i++) {
        const tk_chunk image = {.kind = TK_CHUNK_IMAGE, .data = {file, sizes[i]}};
        tk_buf out;
        tk_buf_init(&out, 64 * TK_MIB);
        tk_err err = TK_ERR_INIT;
        assert_int_equal(tk_schema_encode(&out, &tk_msg_chunk, &image, &err), TINKC_OK);
        tk_chunk back;
        assert_int_equal(tk_schema_decode_text(&back, &tk_msg_chunk, &msgfix_arena,
                                               tk_buf_str(&out), TK_DECODE_STRICT, &err),
                         TINKC_OK);
        assert_int_equal(back.data.n, sizes[i]);
        assert_memory_equal(back.data.p, file, sizes[i]);
        tk_buf_dispose(&out);
        tk_arena_dispose(&msgfix_arena);
    }
    tk_free(file);
}

/* A-048, M-110: a tensor without shape decodes, and reads as 1-D. */
static void test_value_tensor_forms(void **unused)
{
    tk_tensor t;
    decode_ok(&t, &tk_msg_tensor, "{\"data\":[1,2,3],\"dtype\":\"int64\"}");
    assert_false(t.has_shape);
    assert_int_equal(t.n, 3);
    assert_int_equal(((const int64_t *)t.data)[2], 3);
    expect_json(&tk_msg_tensor, &t, "{\"data\":[1,2,3],\"dtype\":\"int64\"}");
    decode_ok(&t, &tk_msg_tensor,
              "{\"data\":[1,0.5],\"dtype\":\"FLOAT32\",\"shape\":[2,1],"
              "\"sparse_crow_indices\":null,\"sparse_col_indices\":null}");
    assert_int_equal(t.dtype, TK_DTYPE_F32);
    expect_json(&tk_msg_tensor, &t,
                "{\"data\":[1.0,0.5],\"dtype\":\"float32\",\"shape\":[2,1]}");
    decode_ok(&t, &tk_msg_tensor, "{\"data\":[],\"dtype\":\"float32\",\"shape\":[0]}");
    assert_int_equal(t.n, 0);
    decode_ok(&t, &tk_msg_tensor, "{\"data\":[7.0],\"dtype\":\"int64\",\"shape\":[]}");
    assert_int_equal(((const int64_t *)t.data)[0], 7);
    decode_ok(&t, &tk_msg_tensor,
              "{\"data\":[5],\"dtype\":\"int64\",\"shape\":[2,3],"
              "\"sparse_crow_indices\":[0,0,1],\"sparse_col_indices\":[2]}");
    assert_true(t.is_sparse);
    expect_json(&tk_msg_tensor, &t,
                "{\"data\":[5],\"dtype\":\"int64\",\"shape\":[2,3],"
                "\"sparse_crow_indices\":[0,0,1],\"sparse_col_indices\":[2]}");
}

static void test_value_tensor_refusals(void **unused)
{
    static const struct {
        const char *text, *path, *message;
    } rows[] = {
        {"{\"data\":[1],\"dtype\":\"float64\"}", "dtype", "\"float64\""},
        {"{\"data\":[1]}", "dtype", "missing"},
        {"{\"dtype\":\"int64\"}", "data", "missing"},
        {"{\"data\":[1.5],\"dtype\":\"int64\"}", "data[0]", "64-bit integer"},
        {"{\"data\":[9223372036854775808],\"dtype\":\"int64\"}", "data[0]",
         "64-bit integer"},
        {"{\"data\":[0,1e39],\"dtype\":\"float32\"}", "data[1]", "float32"},
        {"{\"data\":[0,null],\"dtype\":\"float32\"}", "data[1]", "found null"},
        {"{\"data\":[[1]],\"dtype\":\"int64\"}", "data[0]", "found array"},
        {"{\"data\":\"1\",\"dtype\":\"int64\"}", "data", "expected array"},
        {"{\"data\":[1],\"dtype\":\"int64\",\"shape\":[2]}", "", "2 elements"},
        {"{\"data\":[1],\"dtype\":\"int64\",\"shape\":[-1]}", "", "negative"},
        {"{\"data\":[1],\"dtype\":\"int64\",\"shape\":[1,1],"
         "\"sparse_crow_indices\":[0,1]}",
         "", "go together"},
        {"{\"data\":[1],\"dtype\":\"int64\",\"sparse_crow_indices\":[0,1],"
         "\"sparse_col_indices\":[0]}",
         "", "needs a shape"},
        {"{\"data\":[1],\"dtype\":\"int64\",\"shape\":[1,1],"
         "\"sparse_crow_indices\":[0,1],\"sparse_col_indices\":[1]}",
         "", "out of range"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        decode_fails(&tk_msg_tensor, rows[i].text, TK_DECODE_CLOSED, rows[i].path,
                     rows[i].message);
    }
    tk_tensor newer; /* of a result: it is there, but cannot be read */
    decode_ok(&newer, &tk_msg_tensor, rows[0].text);
    assert_int_equal(newer.dtype, TK_DTYPE_UNSPECIFIED);
    assert_int_equal(newer.n, 0);
    static const float odd[] = {1.0F, INFINITY};
    const tk_named_tensor named = {TK_STR("weights"),
                                   {.dtype = TK_DTYPE_F32, .data = odd, .n = 2}};
    const tk_datum datum = {.loss_fn_inputs = {&named, 1}};
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_schema_encode(&out, &tk_msg_datum, &datum, &err),
                     TINKC_E_INVALID);
    assert_string_equal(err.path, "loss_fn_inputs.weights.data[1]");
    tk_buf_dispose(&out);
}

/* the output type is kept; records hold named tensors of any rank. */
static void test_value_fwdbwd_output(void **unused)
{
    static const char text[] =
        "{\"loss_fn_output_type\":\"TorchLossReturn\",\"loss_fn_outputs\":["
        "{\"logprobs\":{\"data\":[-0.5],\"dtype\":\"float32\",\"shape\":[1]},"
        "\"ids\":{\"data\":[1,2,3,4],\"dtype\":\"int64\",\"shape\":[2,2]}},{}],"
        "\"metrics\":{\"loss:sum\":3.5}}";
    tk_fwdbwd_output output;
    decode_ok(&output, &tk_msg_fwdbwd_output, text);
    assert_true(tk_str_is(output.loss_fn_output_type, "TorchLossReturn"));
    assert_int_equal(output.loss_fn_outputs_n, 2);
    assert_int_equal(output.loss_fn_outputs[0].n, 2);
    assert_true(tk_str_is(output.loss_fn_outputs[0].items[1].name, "ids"));
    assert_int_equal(output.loss_fn_outputs[0].items[1].tensor.shape.n, 2);
    assert_int_equal(output.loss_fn_outputs[1].n, 0);
    expect_json(&tk_msg_fwdbwd_output, &output, text);
    decode_fails(&tk_msg_fwdbwd_output,
                 "{\"loss_fn_output_type\":\"x\",\"loss_fn_outputs\":[{\"a\":{\"data\":"
                 "[1,true],\"dtype\":\"int64\"}}]}",
                 0, "loss_fn_outputs[0].a.data[1]", "found boolean");
}

/* Appendix A: the two legacy requests differ in one key. */
static void test_value_legacy_requests(void **unused)
{
    static const int32_t tokens[] = {1, 2};
    static const int64_t targets[] = {2, 3};
    static const int64_t shape[] = {2};
    const tk_chunk chunk = {.kind = TK_CHUNK_TEXT, .tokens = {tokens, 2}};
    const tk_named_tensor named = {TK_STR("target_tokens"),
                                   {.dtype = TK_DTYPE_I64,
                                    .data = targets,
                                    .n = 2,
                                    .has_shape = true,
                                    .shape = {shape, 1}}};
    const tk_datum datum = {.model_input = {&chunk, 1}, .loss_fn_inputs = {&named, 1}};
    const tk_named_num clip = {TK_STR("clip_low_threshold"), 0.8};
    tk_fwdbwd_request msg = {
        .model_id = TK_STR("m"), .data = &datum, .data_n = 1, .loss_fn = TK_STR("ppo")};
#define INPUT                                                                            \
    "{\"data\":[{\"loss_fn_inputs\":{\"target_tokens\":{\"data\":[2,3],"                 \
    "\"dtype\":\"int64\",\"shape\":[2]}},\"model_input\":{\"chunks\":[{\"tokens\":"      \
    "[1,2],\"type\":\"encoded_text\"}]}}],\"loss_fn\":\"ppo\""
    expect_json(&tk_msg_forward_request, &msg,
                "{\"forward_input\":" INPUT "},\"model_id\":\"m\"}");
    msg.seq_id = 4;
    msg.loss_fn_config = (tk_num_map){&clip, 1};
    static const char full[] =
        "{\"forward_backward_input\":" INPUT
        ",\"loss_fn_config\":{\"clip_low_threshold\":0.8}},\"model_id\":\"m\","
        "\"seq_id\":4}";
    expect_json(&tk_msg_forward_backward_request, &msg, full);
    tk_fwdbwd_request back;
    decode_ok(&back, &tk_msg_forward_backward_request, full);
    expect_json(&tk_msg_forward_backward_request, &back, full);
    assert_int_equal(back.seq_id, 4);
    assert_true(tk_str_is(back.loss_fn, "ppo"));
    decode_fails(&tk_msg_forward_request, full, 0, "forward_input", "missing");
#undef INPUT
}

/* stop reasons are `stop` and `length`; another word is kept as it came. */
static void test_value_stop_reasons(void **unused)
{
    tk_sequence seq;
    decode_ok(&seq, &tk_msg_sequence, "{\"stop_reason\":\"stop\",\"tokens\":[]}");
    assert_int_equal(seq.stop_reason, TK_STOP_STOP);
    assert_false(seq.has_logprobs);
    decode_ok(&seq, &tk_msg_sequence,
              "{\"stop_reason\":\"length\",\"tokens\":[7],\"logprobs\":[-0.5]}");
    assert_int_equal(seq.stop_reason, TK_STOP_LENGTH);
    assert_true(seq.has_logprobs);
    decode_ok(&seq, &tk_msg_sequence,
              "{\"stop_reason\":\"stop\",\"tokens\":[7],\"logprobs\":null}");
    assert_false(seq.has_logprobs);
    decode_ok(&seq, &tk_msg_sequence, "{\"stop_reason\":\"eos\",\"tokens\":[]}");
    assert_int_equal(seq.stop_reason, TK_STOP_OTHER);
    assert_true(tk_str_is(seq.stop_word, "eos"));
    decode_fails(&tk_msg_sequence, "{\"stop_reason\":\"eos\",\"tokens\":[]}",
                 TK_DECODE_CLOSED, "stop_reason", "\"eos\"");
    decode_fails(&tk_msg_sequence, "{\"stop_reason\":7,\"tokens\":[]}", 0, "stop_reason",
                 "expected string");
}

/* Prompt logprobs: null is NaN; top-k rows are ragged, null is an empty row. */
static void test_value_sample_response(void **unused)
{
    static const char text[] =
        "{\"sequences\":[],\"type\":\"sample\",\"prompt_logprobs\":[null,-1.0],"
        "\"topk_prompt_logprobs\":[null,[[5,-0.5],[6,-1.0]],[[7,-2.0]]]}";
    tk_sample_response msg;
    decode_ok(&msg, &tk_msg_sample_response, text);
    assert_true(msg.has_prompt_logprobs);
    assert_true(isnan(msg.prompt_logprobs.p[0]));
    assert_true(msg.has_topk);
    assert_int_equal(msg.topk.length, 3);
    assert_int_equal(msg.topk.k, 2);
    assert_int_equal(msg.topk.token_ids[0], 0);
    assert_true(msg.topk.logprobs[0] == TK_TOPK_MASK_LOGPROB);
    assert_int_equal(msg.topk.token_ids[4], 7);
    assert_true(msg.topk.logprobs[5] == TK_TOPK_MASK_LOGPROB);
    expect_json(&tk_msg_sample_response, &msg, text);
    /* A row that begins with a mask is empty, whatever follows; a mask inside stays. */
    static const int32_t ids[] = {0, 5, 6, 6, 0, 7};
    static const float logprobs[] = {-99999.0F, -1.0F, -1.0F, -1.0F, -99999.0F, -2.0F};
    const tk_topk_logprobs masked = {2, 3, ids, logprobs};
    expect_json(&tk_msg_topk_logprobs, &masked,
                "[null,[[6,-1.0],[0,-99999.0],[7,-2.0]]]");
    decode_ok(&msg, &tk_msg_sample_response, "{\"sequences\":[]}");
    assert_false(msg.has_prompt_logprobs || msg.has_topk);
    expect_json(&tk_msg_sample_response, &msg, "{\"sequences\":[],\"type\":\"sample\"}");
    static const char *const bad[] = {
        "[[[1]]]",     "[[1,2]]", "[[[1,2,3]]]", "[[[\"1\",2]]]",
        "[[[1.5,2]]]", "[5]",     "{}",          "[[[1,null]]]"};
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        tk_topk_logprobs topk;
        assert_int_equal(tk_schema_decode_text(&topk, &tk_msg_topk_logprobs,
                                               &msgfix_arena, tk_str_of(bad[i]), 0, NULL),
                         TINKC_E_DECODE);
    }
}

/* The parts that came with 0.36, in their JSON form and back. */
static void test_value_sample_later(void **unused)
{
    static const char text[] =
        "{\"sequences\":[{\"stop_reason\":\"stop\",\"tokens\":[7],"
        "\"topk_sampled_logprobs\":[[[7,-0.5],[9,-1.0]]]}],\"type\":\"sample\","
        "\"target_prompt_logprobs\":{\"data\":[-0.5],\"dtype\":\"float32\","
        "\"shape\":[2,1],\"sparse_crow_indices\":[0,1,1],\"sparse_col_indices\":[0]},"
        "\"prompt_alt_tokens\":{\"tokens\":{\"data\":[7,8],\"dtype\":\"int64\","
        "\"shape\":[2,1]},\"logprobs\":{\"data\":[-0.5,-1.0],\"dtype\":\"float32\","
        "\"shape\":[2,1]}}}";
    tk_sample_response msg;
    decode_ok(&msg, &tk_msg_sample_response, text);
    assert_true(msg.sequences[0].has_topk && msg.sequences[0].topk.k == 2);
    assert_true(msg.has_target && msg.target_prompt_logprobs.is_sparse);
    assert_true(msg.has_alt && msg.alt.tokens.dtype == TK_DTYPE_I64);
    expect_json(&tk_msg_sample_response, &msg, text);
    static const char *const bad[] = {
        "{\"sequences\":[],\"target_prompt_logprobs\":{\"data\":[1],\"dtype\":"
        "\"float32\",\"shape\":[2,1]}}",
        "{\"sequences\":[],\"prompt_alt_tokens\":{\"tokens\":{\"data\":[1],\"dtype\":"
        "\"int64\"}}}",
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        tk_err err = TK_ERR_INIT;
        assert_int_equal(tk_schema_decode_text(&msg, &tk_msg_sample_response,
                                               &msgfix_arena, tk_str_of(bad[i]), 0, &err),
                         TINKC_E_DECODE);
    }
}

/* A small body may not ask for a huge matrix. */
static void test_value_topk_limit(void **unused)
{
    tk_buf body;
    tk_buf_init(&body, TK_MIB);
    tk_buf_puts(&body, "[[");
    for (size_t i = 0; i < TK_TOPK_MAX_K; i++) {
        tk_buf_puts(&body, i > 0 ? ",[1,2]" : "[1,2]");
    }
    tk_buf_puts(&body, "]");
    for (size_t i = 0; i < TK_TOPK_MAX_CELLS / TK_TOPK_MAX_K; i++) {
        tk_buf_puts(&body, ",null");
    }
    tk_buf_puts(&body, "]");
    tk_topk_logprobs topk;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_schema_decode_text(&topk, &tk_msg_topk_logprobs, &msgfix_arena,
                                           tk_buf_str(&body), 0, &err),
                     TINKC_E_DECODE);
    assert_non_null(strstr(err.message, "too large"));
    tk_buf_dispose(&body);
}

static tinkc_code encode_large(const tk_tensor *tensor, size_t *body_bytes, size_t *peak)
{
    const tk_named_tensor named = {TK_STR("weights"), *tensor};
    const tk_datum datum = {.loss_fn_inputs = {&named, 1}};
    const tk_fwdbwd_request msg = {.model_id = TK_STR("m"),
                                   .data = &datum,
                                   .data_n = 1,
                                   .loss_fn = TK_STR("cross_entropy")};
    tk_buf out;
    tk_err err = TK_ERR_INIT;
    failmem_start();
    tk_buf_init(&out, TK_BODY_MAX_BYTES);
    tinkc_code code =
        tk_schema_encode(&out, &tk_msg_forward_backward_request, &msg, &err);
    *body_bytes = out.n;
    *peak = failmem_peak_bytes();
    tk_buf_dispose(&out);
    assert_int_equal(failmem_stop(), 0);
    return code;
}

/* for a tensor of 100 MB the library adds less than 1.3 times the encoded body. */
static void test_value_large_tensor(void **unused)
{
    const size_t n = 25 * 1000 * 1000;
    float *reals = tk_array(n, sizeof(*reals));
    assert_non_null(reals);
    for (size_t i = 0; i < n; i++) {
        reals[i] = (float)(i % 1000) / 8.0F;
    }
    const tk_tensor tensor = {.dtype = TK_DTYPE_F32, .data = reals, .n = n};
    size_t body = 0, peak = 0;
    assert_int_equal(encode_large(&tensor, &body, &peak), TINKC_OK);
    tk_free(reals);
    assert_true(body > n * 2);
    if ((double)peak >= 1.3 * (double)body) {
        fail_msg("%zu bytes at the peak for a body of %zu", peak, body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_value_chunk_tags),
        cmocka_unit_test_teardown(test_value_chunk_dispatch, msgfix_teardown),
        cmocka_unit_test_teardown(test_value_chunk_without_tag, msgfix_teardown),
        cmocka_unit_test(test_value_chunk_ambiguous),
        cmocka_unit_test(test_value_image_sizes),
        cmocka_unit_test_teardown(test_value_tensor_forms, msgfix_teardown),
        cmocka_unit_test_teardown(test_value_tensor_refusals, msgfix_teardown),
        cmocka_unit_test_teardown(test_value_fwdbwd_output, msgfix_teardown),
        cmocka_unit_test_teardown(test_value_legacy_requests, msgfix_teardown),
        cmocka_unit_test_teardown(test_value_stop_reasons, msgfix_teardown),
        cmocka_unit_test_teardown(test_value_sample_response, msgfix_teardown),
        cmocka_unit_test_teardown(test_value_sample_later, msgfix_teardown),
        cmocka_unit_test_teardown(test_value_topk_limit, msgfix_teardown),
        cmocka_unit_test(test_value_large_tensor),
    };
    return cmocka_run_group_tests_name("msg_value", tests, NULL, NULL);
}
