/* Protobuf messages against what the official SDK sent and reads (tests/data/wire):
 * requests field by field and byte by byte, results as the SDK decodes them (A-047,
 * M-109, M-110, M-114, M-118). */
#include "wire/fixtures.h"
#include "wire/msg_value.h"
#include "wire/pb_fwdbwd.h"
#include "wire/pb_output.h"
#include "wire/pb_sample.h"
#include "wire/tensor.h"
#include "wire/zstd.h"

static tk_arena arena;

static int teardown(void **unused)
{
    tk_arena_dispose(&arena);
    return 0;
}

static const char *const versions[] = {FIXTURE_OLD, FIXTURE_NEW};

/* ---- numbers ---- */

static void expect_i64s(const int64_t *got, size_t n, const tk_json *want)
{
    assert_true(want == NULL ? n == 0 : n == tk_json_len(want));
    for (size_t i = 0; i < n; i++) {
        int64_t number = 0;
        tk_json value = tk_json_at(want, i);
        assert_true(tk_json_to_i64(&value, &number));
        assert_true(got[i] == number);
    }
}

static void expect_i32s(tk_i32s got, const tk_json *want)
{
    assert_int_equal(got.n, tk_json_len(want));
    for (size_t i = 0; i < got.n; i++) {
        int64_t number = 0;
        tk_json value = tk_json_at(want, i);
        assert_true(tk_json_to_i64(&value, &number));
        assert_true(got.p[i] == number);
    }
}

static void expect_f32s(const float *got, size_t n, const tk_json *want)
{
    assert_int_equal(n, tk_json_len(want));
    for (size_t i = 0; i < n; i++) {
        tk_json value = tk_json_at(want, i);
        assert_true(fixture_same_number((double)got[i], fixture_number(&value)));
    }
}

static void expect_data(const tk_tensor *got, const tk_json *want)
{
    if (got->dtype == TK_DTYPE_I64) {
        expect_i64s(got->data, got->n, want);
    } else {
        expect_f32s(got->data, got->n, want);
    }
}

/* The value under a key; both sides have unique keys, so equal counts make equal sets. */
static const tk_json *member(const tk_json *object, tk_str key)
{
    for (size_t i = 0; object != NULL && i < object->as.object.n; i++) {
        if (tk_str_eq(object->as.object.members[i].key, key)) {
            return &object->as.object.members[i].value;
        }
    }
    fail_msg("\"" TK_STR_FMT "\" is not in the recording", TK_STR_ARG(key));
    return NULL;
}

static void expect_nums(tk_num_map got, const tk_json *want)
{
    assert_int_equal(got.n, want == NULL ? 0 : want->as.object.n);
    for (size_t i = 0; i < got.n; i++) {
        const tk_json *value = member(want, got.items[i].name);
        assert_true(fixture_same_number(got.items[i].v, fixture_number(value)));
    }
}

static void expect_bytes(const tk_buf *got, tk_bytes want, const char *what)
{
    if (got->n != want.n || memcmp(got->p, want.p, want.n) != 0) {
        fail_msg("%s: other bytes (%zu, recorded %zu)", what, got->n, want.n);
    }
}

/* ---- requests ---- */

static void expect_tensor(const tk_tensor *got, const tk_json *want)
{
    const char *dtype = fixture_text(want, "dtype");
    assert_string_equal(dtype,
                        got->dtype == TK_DTYPE_I64 ? "DTYPE_INT64" : "DTYPE_FLOAT32");
    const tk_json *shape = tk_json_get(want, "shape");
    const tk_json *csr = tk_json_get(want, "sparse_csr");
    assert_int_equal(got->has_shape, shape != NULL);
    expect_i64s(got->shape.p, got->has_shape ? got->shape.n : 0, shape);
    assert_int_equal(got->is_sparse, csr != NULL);
    if (csr == NULL) {
        expect_data(got, fixture_need(want, "dense"));
        return;
    }
    const tk_json *values = tk_json_get(csr, "values"); /* absent when there are none */
    if (values == NULL) {
        assert_int_equal(got->n, 0);
    } else {
        expect_data(got, values);
    }
    expect_i64s(got->crow.p, got->crow.n, tk_json_get(csr, "crow_indices"));
    expect_i64s(got->col.p, got->col.n, tk_json_get(csr, "col_indices"));
}

static void expect_image(const tk_chunk *got, const tk_json *want)
{
    assert_int_equal(got->kind, TK_CHUNK_IMAGE);
    assert_string_equal(fixture_text(want, "format"),
                        got->format == TK_IMAGE_PNG ? "png" : "jpeg");
    const tk_json *data = tk_json_get(want, "data");
    tk_bytes bytes = {NULL, 0};
    if (data != NULL) {
        bytes = fixture_bytes(&arena, data, "base64");
    }
    assert_int_equal(got->data.n, bytes.n);
    assert_true(bytes.n == 0 || memcmp(got->data.p, bytes.p, bytes.n) == 0);
    const tk_json *expected = tk_json_get(want, "expected_tokens");
    assert_int_equal(got->expected_tokens.is == TK_SET, expected != NULL);
    if (expected != NULL) {
        assert_int_equal(got->expected_tokens.v, fixture_int(want, "expected_tokens"));
    }
}

static void expect_chunk(const tk_chunk *got, const tk_json *want)
{
    const tk_json *text = tk_json_get(want, "encoded_text");
    const tk_json *image = tk_json_get(want, "image");
    if (text != NULL) {
        assert_int_equal(got->kind, TK_CHUNK_TEXT);
        const tk_json *tokens = tk_json_get(text, "tokens");
        if (tokens == NULL) {
            assert_int_equal(got->tokens.n, 0);
        } else {
            expect_i32s(got->tokens, tokens);
        }
    } else if (image != NULL) {
        expect_image(got, image);
    } else {
        const tk_json *dmel = fixture_need(fixture_need(want, "dmel"), "dmel");
        tk_bytes bytes = fixture_bytes(&arena, dmel, "base64");
        assert_int_equal(got->kind, TK_CHUNK_DMEL);
        assert_int_equal(got->data.n, bytes.n);
        assert_memory_equal(got->data.p, bytes.p, bytes.n);
    }
}

static void expect_values(const tk_loss_values *got, const tk_json *want)
{
    assert_int_equal(got->n, want == NULL ? 0 : want->as.object.n);
    for (size_t i = 0; i < got->n; i++) {
        const tk_json *value = member(want, got->items[i].name);
        const tk_json *text = tk_json_get(value, "text");
        assert_int_equal(got->items[i].is_text, text != NULL);
        assert_true(text != NULL ? tk_str_eq(got->items[i].text, text->as.string)
                                 : fixture_same_number(
                                       got->items[i].number,
                                       fixture_number(fixture_need(value, "number"))));
    }
}

static void expect_origins(const tk_origins *got, const tk_json *want)
{
    assert_int_equal(got->n, want == NULL ? 0 : tk_json_len(want));
    for (size_t i = 0; i < got->n; i++) {
        const tk_json *span = fixture_at(&arena, want, i);
        const tk_json *sampled = tk_json_get(span, "sampled_tokens");
        const tk_json *in =
            sampled != NULL ? sampled : fixture_need(span, "prompt_tokens");
        assert_int_equal(got->p[i].is_sampled, sampled != NULL);
        assert_true(tk_str_is(got->p[i].sequence_id, fixture_text(in, "sequence_id")));
        bool moved = tk_json_get(in, "offset") != NULL;
        assert_int_equal(got->p[i].offset, moved ? fixture_int(in, "offset") : 0);
        assert_int_equal(got->p[i].length, fixture_int(in, "length"));
    }
}

static void expect_datum(const tk_datum *got, const tk_json *want)
{
    const tk_json *input = tk_json_get(want, "model_input");
    assert_int_equal(got->model_input.n, input == NULL ? 0 : tk_json_len(input));
    for (size_t i = 0; i < got->model_input.n; i++) {
        expect_chunk(&got->model_input.chunks[i], fixture_at(&arena, input, i));
    }
    const tk_json *inputs = tk_json_get(want, "loss_fn_inputs");
    assert_int_equal(got->loss_fn_inputs.n, inputs == NULL ? 0 : inputs->as.object.n);
    for (size_t i = 0; i < got->loss_fn_inputs.n; i++) {
        const tk_named_tensor *item = &got->loss_fn_inputs.items[i];
        expect_tensor(&item->tensor, member(inputs, item->name));
    }
    expect_origins(&got->model_input_spans, tk_json_get(want, "model_input_spans"));
    expect_origins(&got->loss_fn_input_spans, tk_json_get(want, "loss_fn_input_spans"));
}

static void expect_request(const tk_fwdbwd_request *got, const tk_json *want)
{
    assert_true(tk_str_is(got->model_id, fixture_text(want, "model_id")));
    assert_true(tk_str_is(got->loss_fn, fixture_text(want, "loss_fn")));
    assert_int_equal(got->seq_id, fixture_int(want, "seq_id"));
    const tk_json *forward_only = tk_json_get(want, "forward_only");
    assert_int_equal(got->forward_only, forward_only != NULL && forward_only->as.boolean);
    expect_nums(got->loss_fn_config, tk_json_get(want, "loss_fn_config"));
    expect_values(&got->loss_fn_config_v2, tk_json_get(want, "loss_fn_config_v2"));
    const tk_json *data = fixture_need(want, "data");
    assert_int_equal(got->data_n, tk_json_len(data));
    for (size_t i = 0; i < got->data_n; i++) {
        expect_datum(&got->data[i], fixture_at(&arena, data, i));
    }
}

/* Whether the recording uses a field that we do not know. */
static bool has_later_fields(const tk_json *value)
{
    if (value->type == TK_JSON_ARRAY) {
        for (size_t i = 0; i < value->as.array.n; i++) {
            if (has_later_fields(&value->as.array.items[i])) {
                return true;
            }
        }
    }
    if (value->type == TK_JSON_OBJECT) {
        for (size_t i = 0; i < value->as.object.n; i++) {
            const tk_json_member *row = &value->as.object.members[i];
            if (fixture_is_later(row->key) || has_later_fields(&row->value)) {
                return true;
            }
        }
    }
    return false;
}

static void check_zstd(const tk_json *request, tk_bytes plain, const char *what)
{
    tk_zstd z;
    tk_zstd_init(&z);
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    tk_err err = TK_ERR_INIT;
    tk_bytes packed = fixture_bytes(&arena, request, "zstd_base64");
    assert_int_equal(tk_zstd_decompress(&z, &out, packed, &err), TINKC_OK);
    expect_bytes(&out, plain, what);
    tk_buf_dispose(&out);
    tk_zstd_dispose(&z);
}

static bool check_request(const tk_json *request, const char *what)
{
    if (tk_json_get(request, "protobuf_base64") == NULL) {
        return false;
    }
    tk_bytes bytes = fixture_bytes(&arena, request, "protobuf_base64");
    const tk_json *want = fixture_need(request, "protobuf");
    tk_fwdbwd_request got;
    tk_err err = TK_ERR_INIT;
    if (tk_pb_fwdbwd_decode(&got, &arena, bytes, &err) != TINKC_OK) {
        fail_msg("%s: %s: %s", what, err.path, err.message);
    }
    expect_request(&got, want);
    if (!has_later_fields(want)) {
        tk_buf out;
        tk_buf_init(&out, TK_MIB);
        assert_int_equal(tk_pb_fwdbwd_encode(&out, &got, &err), TINKC_OK);
        expect_bytes(&out, bytes, what);
        tk_buf_dispose(&out);
    }
    if (tk_json_get(request, "zstd_base64") != NULL) {
        check_zstd(request, bytes, what);
    }
    return true;
}

/* M-052, M-114, M-118: every recorded forward_backward: decoded field by
 * field, and byte for byte the same when it is written again. */
static void test_fixture_request_protobuf(void **unused)
{
    for (size_t v = 0; v < TK_ARRAY_LEN(versions); v++) {
        const tk_json *index = fixture_load(&arena, versions[v], "index.json");
        const tk_json *names = fixture_need(index, "requests");
        size_t checked = 0;
        for (size_t i = 0; i < tk_json_len(names); i++) {
            tk_json name = tk_json_at(names, i);
            const tk_json *file = fixture_load(&arena, versions[v], name.as.string.p);
            const tk_json *requests = fixture_need(file, "requests");
            for (size_t k = 0; k < tk_json_len(requests); k++) {
                const tk_json *request = fixture_at(&arena, requests, k);
                checked += check_request(request, name.as.string.p) ? 1 : 0;
            }
        }
        assert_true(checked >= 20);
    }
}

/* ---- results ---- */

static void expect_result_tensor(const tk_tensor *got, const tk_json *want)
{
    assert_string_equal(tk_dtype_name(got->dtype), fixture_text(want, "dtype"));
    assert_true(got->has_shape && !got->is_sparse);
    expect_i64s(got->shape.p, got->shape.n, fixture_need(want, "shape"));
    expect_data(got, fixture_need(want, "data"));
}

static void expect_output(const tk_fwdbwd_output *got, const tk_json *want)
{
    assert_true(
        tk_str_is(got->loss_fn_output_type, fixture_text(want, "loss_fn_output_type")));
    expect_nums(got->metrics, fixture_need(want, "metrics"));
    const tk_json *outputs = fixture_need(want, "loss_fn_outputs");
    assert_int_equal(got->loss_fn_outputs_n, tk_json_len(outputs));
    for (size_t i = 0; i < got->loss_fn_outputs_n; i++) {
        const tk_json *datum = fixture_at(&arena, outputs, i);
        const tk_tensor_map *map = &got->loss_fn_outputs[i];
        assert_int_equal(map->n, datum->as.object.n);
        for (size_t k = 0; k < map->n; k++) {
            expect_result_tensor(&map->items[k].tensor,
                                 member(datum, map->items[k].name));
        }
    }
}

static tinkc_code decode_output(tk_bytes bytes, tk_fwdbwd_output *out)
{
    tk_err err = TK_ERR_INIT;
    return tk_pb_output_decode(out, &arena, bytes, &err);
}

static void check_output(const tk_json *answer, const char *name)
{
    tk_fwdbwd_output got;
    tinkc_code code =
        decode_output(fixture_bytes(&arena, answer, "protobuf_base64"), &got);
    const tk_json *want = tk_json_get(answer, "decoded");
    bool newer = strcmp(name, "dtype_unknown") == 0; /* kept by us, without elements */
    if ((code == TINKC_OK) != (want != NULL || newer)) {
        fail_msg("%s: %s", name, want != NULL ? "refused" : "accepted");
    }
    if (want == NULL) {
        return;
    }
    expect_output(&got, want);
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    tk_err err = TK_ERR_INIT;
    if (strcmp(name, "several_records") == 0) { /* ragged: a server of ours sends none */
        assert_int_equal(tk_pb_output_encode(&out, &got, &err), TINKC_E_INVALID);
    } else {
        assert_int_equal(tk_pb_output_encode(&out, &got, &err), TINKC_OK);
        tk_bytes bytes = {(const unsigned char *)out.p, out.n};
        tk_fwdbwd_output again;
        assert_int_equal(decode_output(bytes, &again), TINKC_OK);
        expect_output(&again, want);
    }
    tk_buf_dispose(&out);
}

static void each_answer(const char *name,
                        void (*check)(const tk_json *answer, const char *name))
{
    for (size_t v = 0; v < TK_ARRAY_LEN(versions); v++) {
        const tk_json *answers =
            fixture_need(fixture_load(&arena, versions[v], name), "answers");
        assert_true(tk_json_len(answers) >= 10);
        for (size_t i = 0; i < tk_json_len(answers); i++) {
            const tk_json *answer = fixture_at(&arena, answers, i);
            check(answer, fixture_text(answer, "name"));
        }
    }
}

/* Records of every kind mean what the SDK makes of them, and survive our own writer. */
static void test_fixture_response_output(void **unused)
{
    each_answer("responses/forward_backward_output.json", check_output);
}

/* As the SDK's lists: null for a row that holds nothing, cells up to the last that is not
 * masked. */
static void expect_topk_lists(const tk_topk_logprobs *got, const tk_json *want)
{
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    tk_err err = TK_ERR_INIT;
    const tk_json *json;
    assert_int_equal(tk_schema_encode(&out, &tk_msg_topk_logprobs, got, &err), TINKC_OK);
    assert_int_equal(tk_json_parse(&json, &arena, tk_buf_cstr(&out), out.n, NULL, &err),
                     TINKC_OK);
    fixture_assert_same(json, want, 0, "topk_logprobs");
    tk_buf_dispose(&out);
}

static void expect_sequence(const tk_sequence *got, const tk_json *want)
{
    assert_string_equal(fixture_text(want, "stop_reason"),
                        got->stop_reason == TK_STOP_STOP ? "stop" : "length");
    expect_i32s(got->tokens, fixture_need(want, "tokens"));
    const tk_json *logprobs = fixture_need(want, "logprobs");
    assert_int_equal(got->has_logprobs, logprobs->type != TK_JSON_NULL);
    if (got->has_logprobs) {
        expect_f32s(got->logprobs.p, got->logprobs.n, logprobs);
    }
    const tk_json *topk = tk_json_get(want, "topk_logprobs"); /* not in 0.25.0 */
    assert_int_equal(got->has_topk, topk != NULL && topk->type != TK_JSON_NULL);
    if (got->has_topk) {
        expect_topk_lists(&got->topk, topk);
    }
}

static void expect_topk(const tk_sample_response *got, const tk_json *want)
{
    assert_int_equal(got->has_topk, want->type != TK_JSON_NULL);
    if (!got->has_topk) {
        return;
    }
    assert_int_equal(got->topk.length, fixture_int(want, "length"));
    assert_int_equal(got->topk.k, fixture_int(want, "k"));
    tk_i32s ids = {got->topk.token_ids, got->topk.length * got->topk.k};
    expect_i32s(ids, fixture_need(want, "token_ids"));
    expect_f32s(got->topk.logprobs, ids.n, fixture_need(want, "logprobs"));
}

static bool is_there(const tk_json *value)
{
    return value != NULL && value->type != TK_JSON_NULL;
}

static void expect_prompt_tensor(const tk_tensor *got, const tk_json *want)
{
    const tk_json *crow = tk_json_get(want, "sparse_crow_indices");
    assert_string_equal(tk_dtype_name(got->dtype), fixture_text(want, "dtype"));
    assert_true(got->has_shape);
    expect_i64s(got->shape.p, got->shape.n, fixture_need(want, "shape"));
    expect_data(got, fixture_need(want, "data"));
    assert_int_equal(got->is_sparse, crow != NULL);
    if (got->is_sparse) {
        expect_i64s(got->crow.p, got->crow.n, crow);
        expect_i64s(got->col.p, got->col.n, fixture_need(want, "sparse_col_indices"));
    }
}

static void expect_prompt_tensors(const tk_sample_response *got, const tk_json *want)
{
    const tk_json *target = tk_json_get(want, "target_prompt_logprobs");
    assert_int_equal(got->has_target, is_there(target));
    if (got->has_target) {
        expect_prompt_tensor(&got->target_prompt_logprobs, target);
    }
    const tk_json *alt = tk_json_get(want, "prompt_alt_tokens");
    assert_int_equal(got->has_alt, is_there(alt));
    if (got->has_alt) {
        expect_prompt_tensor(&got->alt.tokens, fixture_need(alt, "tokens"));
        expect_prompt_tensor(&got->alt.logprobs, fixture_need(alt, "logprobs"));
    }
}

static void expect_sample(const tk_sample_response *got, const tk_json *want)
{
    const tk_json *sequences = fixture_need(want, "sequences");
    assert_int_equal(got->sequences_n, tk_json_len(sequences));
    for (size_t i = 0; i < got->sequences_n; i++) {
        expect_sequence(&got->sequences[i], fixture_at(&arena, sequences, i));
    }
    const tk_json *prompt = fixture_need(want, "prompt_logprobs");
    assert_int_equal(got->has_prompt_logprobs, prompt->type != TK_JSON_NULL);
    if (got->has_prompt_logprobs) {
        expect_f32s(got->prompt_logprobs.p, got->prompt_logprobs.n, prompt);
    }
    expect_topk(got, fixture_need(want, "topk_prompt_matrix"));
    expect_prompt_tensors(got, want);
    assert_int_equal(got->prompt_cache_hit_tokens,
                     fixture_int(want, "prompt_cache_hit_tokens"));
}

static void check_sample(const tk_json *answer, const char *name)
{
    tk_sample_response got;
    tk_err err = TK_ERR_INIT;
    tk_bytes bytes = fixture_bytes(&arena, answer, "protobuf_base64");
    tinkc_code code = tk_pb_sample_decode(&got, &arena, bytes, &err);
    const tk_json *want = tk_json_get(answer, "decoded");
    bool newer = strcmp(name, "unknown_stop_reason") == 0; /* kept by us, as a number */
    if ((code == TINKC_OK) != (want != NULL || newer)) {
        fail_msg("%s: %s %s", name, want != NULL ? "refused" : "accepted", err.message);
    }
    if (want == NULL) {
        return;
    }
    expect_sample(&got, want);
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    assert_int_equal(tk_pb_sample_encode(&out, &got, &err), TINKC_OK);
    /* The official bytes, but for a stop reason of 0 and empty arrays, which we leave out,
     * unused bytes of a table, and int32 tokens, which we widen. */
    if (strcmp(name, "topk_sampled") == 0 || strncmp(name, "target", 6) == 0 ||
        strcmp(name, "everything") == 0) {
        expect_bytes(&out, bytes, name);
    }
    tk_bytes again = {(const unsigned char *)out.p, out.n};
    assert_int_equal(tk_pb_sample_decode(&got, &arena, again, &err), TINKC_OK);
    expect_sample(&got, want);
    tk_buf_dispose(&out);
}

/* NaN, masks, empty and absent parts: as the SDK reads them. */
static void test_fixture_response_sample(void **unused)
{
    each_answer("responses/sample_response.json", check_sample);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_fixture_request_protobuf, teardown),
        cmocka_unit_test_teardown(test_fixture_response_output, teardown),
        cmocka_unit_test_teardown(test_fixture_response_sample, teardown),
    };
    return cmocka_run_group_tests_name("fixtures_pb", tests, NULL, NULL);
}
