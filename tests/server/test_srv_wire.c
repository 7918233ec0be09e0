/* The protocol of training, request by request (docs/protocol.md §11).
 * Links: wire */
#include "server/wirefix.h"
#include "wire/pb_fwdbwd.h"
#include "wire/pb_output.h"
#include "wire/zstd.h"

/* Most tests share a server, which takes its time to load: each has its own session. */
static srvfix shared;

static int start_shared(void **state)
{
    srvfix_open(&shared, (srv_options){0});
    return 0;
}

static int stop_shared(void **state)
{
    srvfix_close(&shared);
    return 0;
}

static void join(fix *t)
{
    *t = (fix){.f.server = shared.server};
    tk_arena_init(&t->f.arena, 0);
    open_model(t);
}

static void leave(fix *t)
{
    tk_arena_dispose(&t->f.arena);
}

/* S-003, S-026: hosted shapes of ids; a sampler names its base model. */
static void test_srv_ids_have_hosted_shapes(void **state)
{
    fix t;
    join(&t);
    assert_string_equal(t.model, format_body(&t, "%s:train:0", t.session));
    const char *id = submit(&t, API "optim_step", step_body(&t, 1, "0.1"));
    assert_string_equal(id, format_body(&t, "%s:train:0:1", t.session));
    const tk_json *json =
        srvfix_post(&t.f, API "create_sampling_session",
                    format_body(&t,
                                "{\"session_id\":\"%s\",\"sampling_session_seq_id\":3,"
                                "\"base_model\":\"" MODEL "\"}",
                                t.session));
    assert_string_equal(srvfix_text(json, "sampling_session_id"),
                        format_body(&t, "%s:sample:3", t.session));
    /* S-021: also percent-encoded. */
    json = srvfix_ask(&t.f, "GET",
                      format_body(&t, API "samplers/%s%%3Asample%%3A3", t.session), NULL);
    assert_int_equal(t.f.status, 200);
    assert_string_equal(srvfix_text(json, "base_model"), MODEL);
    leave(&t);
}

/* A base model that is not that of the weights is refused, not ignored. */
static void test_srv_foreign_base_is_refused(void **state)
{
    fix t;
    join(&t);
    const char *path = srvfix_text(
        result_of(&t, submit(&t, API "save_weights_for_sampler",
                             format_body(&t,
                                         "{\"model_id\":\"%s\",\"path\":\"foreign\","
                                         "\"seq_id\":1}",
                                         t.model))),
        "path");
    static const struct {
        const char *base;
        int status;
    } rows[] = {{MODEL, 200}, {"another/model", 400}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        (void)srvfix_post(&t.f, API "create_sampling_session",
                          format_body(&t,
                                      "{\"session_id\":\"%s\",\"model_path\":\"%s\","
                                      "\"sampling_session_seq_id\":%zu,"
                                      "\"base_model\":\"%s\"}",
                                      t.session, path, 70 + i, rows[i].base));
        assert_int_equal(t.f.status, rows[i].status);
    }
    leave(&t);
}

/* S-016: the same request again is the same work; another one under its id is not. */
static void test_srv_work_is_done_once(void **state)
{
    fix t;
    join(&t);
    const char *first = submit(&t, API "optim_step", step_body(&t, 1, "0.1"));
    (void)result_of(&t, first);
    assert_string_equal(submit(&t, API "optim_step", step_body(&t, 1, "1e-1")), first);
    (void)srvfix_post(&t.f, API "optim_step", step_body(&t, 1, "0.2"));
    assert_int_equal(t.f.status, 409);
    const char *again =
        submit(&t, API "create_model", create_body(&t, 0, "{\"rank\":4}"));
    assert_string_equal(again, format_body(&t, "%s:0", t.model));
    (void)srvfix_post(&t.f, API "create_model", create_body(&t, 0, "{\"rank\":8}"));
    assert_int_equal(t.f.status, 409);
    /* A resent ephemeral save draws another sampler id; the first one counts. */
    const char *path = API "save_weights_for_sampler";
    const char *one = submit(&t, path, ephemeral_body(&t, 4));
    const char *two = submit(&t, path, ephemeral_body(&t, 5));
    assert_string_equal(one, two);
    assert_string_equal(srvfix_text(result_of(&t, one), "sampling_session_id"),
                        format_body(&t, "%s:sample:4", t.session));
    leave(&t);
}

/* S-017: a step that comes ends the wait for a part that never does; what comes after
 * its step is refused. */
static void test_srv_gaps_do_not_hang(void **state)
{
    fix t;
    join(&t);
    const char *part =
        submit(&t, API "forward_backward", train_body(&t, 2, "cross_entropy"));
    const char *step = submit(&t, API "optim_step", step_body(&t, 3, "0.1"));
    assert_non_null(tk_json_get(result_of(&t, part), "metrics"));
    assert_non_null(tk_json_get(result_of(&t, step), "metrics"));
    (void)srvfix_post(&t.f, API "forward_backward", train_body(&t, 1, "cross_entropy"));
    assert_int_equal(t.f.status, 400);
    leave(&t);
}

/* S-009, S-010: failed work is a result with a category. */
static void test_srv_failures_are_results(void **state)
{
    fix t;
    join(&t);
    const char *id = submit(&t, API "forward_backward", train_body(&t, 1, "ppo"));
    const tk_json *json = result_of(&t, id);
    assert_int_equal(t.f.status, 200);
    assert_string_equal(srvfix_text(json, "category"), "user");
    (void)srvfix_text(json, "error");
    leave(&t);
}

/* The bytes of a protobuf request with one datum. */
static void encode_request(tk_buf *out, const char *model)
{
    static const int32_t tokens[] = {5, 7};
    static const int64_t targets[] = {7, 8};
    static const int64_t shape[] = {2};
    const tk_chunk chunk = {.kind = TK_CHUNK_TEXT, .tokens = {tokens, 2}};
    const tk_named_tensor tensor = {TK_STR("target_tokens"),
                                    {.dtype = TK_DTYPE_I64,
                                     .data = targets,
                                     .n = 2,
                                     .has_shape = true,
                                     .shape = {shape, 1}}};
    const tk_datum datum = {.model_input = {&chunk, 1}, .loss_fn_inputs = {&tensor, 1}};
    const tk_fwdbwd_request msg = {.model_id = tk_str_of(model),
                                   .seq_id = 1,
                                   .data = &datum,
                                   .data_n = 1,
                                   .loss_fn = TK_STR("cross_entropy")};
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_pb_fwdbwd_encode(out, &msg, &err), TINKC_OK);
}

static int post_bytes(fix *t, const char *headers, tk_str body, char id[256])
{
    httpget_response response;
    const httpget_request request = {.method = "POST",
                                     .target = API "forward_backward",
                                     .headers = headers,
                                     .content_type = "application/x-protobuf",
                                     .body = body.p,
                                     .body_n = body.n};
    assert_int_equal(httpget_once(srvfix_port(&t->f), &request, &response), HTTPGET_OK);
    const tk_json *json = NULL;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(
        tk_json_parse(&json, &t->f.arena, response.body.p, response.body.n, NULL, &err),
        TINKC_OK);
    if (response.status == 200) {
        (void)snprintf(id, 256, "%s", srvfix_text(json, "request_id"));
    }
    int status = response.status;
    httpget_response_dispose(&response);
    return status;
}

/* S-008, S-014, S-015, S-024: protobuf in and out, names of metrics, zstd. */
static void test_srv_protobuf_both_ways(void **state)
{
    fix t;
    char id[256], same[256];
    tk_buf plain, packed;
    tk_zstd zstd;
    tk_err err = TK_ERR_INIT;
    join(&t);
    tk_buf_init(&plain, TK_MIB);
    tk_buf_init(&packed, TK_MIB);
    tk_zstd_init(&zstd);
    encode_request(&plain, t.model);
    const tk_bytes bytes = {(const unsigned char *)plain.p, plain.n};
    assert_int_equal(tk_zstd_compress(&zstd, &packed, bytes, 0, &err), TINKC_OK);
    const char *zstd_header = "Content-Encoding: zstd\r\n";
    assert_int_equal(post_bytes(&t, zstd_header, tk_buf_str(&packed), id), 200);
    assert_int_equal(post_bytes(&t, NULL, tk_buf_str(&plain), same), 200);
    assert_string_equal(id, same);
    assert_int_equal(post_bytes(&t, zstd_header, tk_buf_str(&plain), id), 422);
    /* A frame without its header. By chance the bytes of another one may be protobuf, with
     * numbers that no field has; these end in the middle of a field. */
    static const char frame[] = "\x28\xb5\x2f\xfd\x24\x00\x01\x00\x00\x99\xe9\xd8\x51";
    const tk_str bare = {frame, sizeof(frame) - 1};
    assert_int_equal(post_bytes(&t, NULL, bare, id), 422);
    (void)result_of(&t, same);
    httpget_response response;
    const httpget_request poll = {.method = "POST",
                                  .target = API "retrieve_future",
                                  .headers = "Accept: application/x-protobuf\r\n",
                                  .body =
                                      format_body(&t, "{\"request_id\":\"%s\"}", same)};
    assert_int_equal(httpget_once(srvfix_port(&t.f), &poll, &response), HTTPGET_OK);
    assert_string_equal(httpget_header(&response, "Content-Type"),
                        "application/x-protobuf");
    tk_fwdbwd_output output;
    const tk_bytes body = {(const unsigned char *)response.body.p, response.body.n};
    assert_int_equal(tk_pb_output_decode(&output, &t.f.arena, body, &err), TINKC_OK);
    assert_int_equal(output.loss_fn_outputs_n, 1);
    assert_true(output.metrics.n > 0);
    for (size_t i = 0; i < output.metrics.n; i++) {
        tk_str reduction = output.metrics.items[i].name;
        tk_str name = tk_str_cut(&reduction, ':');
        assert_true(name.n > 0 && reduction.n > 0);
        assert_null(memchr(reduction.p, ':', reduction.n));
    }
    assert_true(tk_str_is(output.loss_fn_outputs[0].items[0].name, "logprobs"));
    assert_int_equal(output.loss_fn_outputs[0].items[0].tensor.n, 2);
    httpget_response_dispose(&response);
    tk_zstd_dispose(&zstd);
    tk_buf_dispose(&plain);
    tk_buf_dispose(&packed);
    leave(&t);
}

/* Two targets per token beside one: records of two shapes in one result. */
static void test_srv_outputs_of_two_shapes(void **state)
{
    fix t;
    join(&t);
    const char *one = "{\"loss_fn_inputs\":{\"target_tokens\":{\"data\":[7],\"dtype\":"
                      "\"int64\"},\"weights\":{\"data\":[1.0],\"dtype\":\"float32\"}},"
                      "\"model_input\":{\"chunks\":[{\"tokens\":[5],\"type\":"
                      "\"encoded_text\"}]}}";
    const char *two = "{\"loss_fn_inputs\":{\"target_tokens\":{\"data\":[7,8],\"dtype\":"
                      "\"int64\",\"shape\":[1,2]},\"weights\":{\"data\":[1.0,0.5],"
                      "\"dtype\":\"float32\",\"shape\":[1,2]}},\"model_input\":{"
                      "\"chunks\":[{\"tokens\":[5],\"type\":\"encoded_text\"}]}}";
    const char *id =
        submit(&t, API "forward_backward",
               format_body(&t,
                           "{\"forward_backward_input\":{\"data\":[%s,%s],\"loss_fn\":"
                           "\"cross_entropy\"},\"model_id\":\"%s\",\"seq_id\":1}",
                           one, two, t.model));
    const tk_json *json = result_of(&t, id);
    const tk_json *outputs = tk_json_get(json, "loss_fn_outputs");
    assert_int_equal(tk_json_len(outputs), 2);
    tk_json second = tk_json_at(outputs, 1);
    const tk_json *shape = tk_json_get(tk_json_get(&second, "logprobs"), "shape");
    assert_int_equal(tk_json_at(shape, 1).as.integer, 2);
    assert_int_equal(tk_json_get(json, "metrics")->type, TK_JSON_OBJECT);
    leave(&t);
}

/* S-018 and the ranks, in strict mode only. */
static void test_srv_strict_refuses_more(void **state)
{
    fix t;
    open_fix(&t, (srv_options){.strict = true});
    (void)srvfix_post(&t.f, API "create_model", create_body(&t, 1, "{\"rank\":6}"));
    assert_int_equal(t.f.status, 400);
    (void)srvfix_post(&t.f, API "load_weights",
                      format_body(&t,
                                  "{\"model_id\":\"%s\",\"seq_id\":2,\"path\":\"tinker://"
                                  "%s/weights/n\",\"optimizer\":true}",
                                  t.model, t.model));
    assert_int_equal(t.f.status, 400);
    close_fix(&t);
    join(&t);
    (void)submit(&t, API "create_model", create_body(&t, 1, "{\"rank\":6}"));
    (void)srvfix_post(&t.f, API "create_model", create_body(&t, 2, "{\"rank\":0}"));
    assert_int_equal(t.f.status, 422);
    leave(&t);
}

static void test_srv_server_tells_about_itself(void **state)
{
    fix t;
    open_fix(&t, (srv_options){0});
    const tk_json *json =
        srvfix_ask(&t.f, "GET", "/tinkc/v1/models/" MODEL "/tokenizer.json", NULL);
    assert_int_equal(t.f.status, 200);
    assert_non_null(tk_json_get(json, "model"));
    (void)srvfix_ask(&t.f, "GET", "/tinkc/v1/models/" MODEL "/config.json", NULL);
    assert_int_equal(t.f.status, 404);
    (void)srvfix_ask(&t.f, "GET", "/tinkc/v1/models/..%2F..%2Fx/tokenizer.json", NULL);
    assert_int_equal(t.f.status, 404);
    json = srvfix_ask(&t.f, "GET", "/", NULL);
    assert_string_equal(srvfix_text(json, "name"), "tinkc");
    httpget_response response;
    const httpget_request request = {.method = "GET", .target = "/metrics"};
    assert_int_equal(httpget_once(srvfix_port(&t.f), &request, &response), HTTPGET_OK);
    assert_non_null(strstr(response.body.p, "\ntinkc_models 1\n"));
    httpget_response_dispose(&response);
    close_fix(&t);
}

/* Returns how many answers of a class the server counted, -1 when it does not say. */
static long long answers(fix *t, const char *of_class)
{
    char name[64];
    httpget_response response;
    const httpget_request request = {.method = "GET", .target = "/metrics"};
    (void)snprintf(name, sizeof(name), "\ntinkc_answers_total{class=\"%s\"} ", of_class);
    assert_int_equal(httpget_once(srvfix_port(&t->f), &request, &response), HTTPGET_OK);
    const char *at = strstr(response.body.p, name);
    long long n = at != NULL ? strtoll(at + strlen(name), NULL, 10) : -1;
    httpget_response_dispose(&response);
    return n;
}

static void test_srv_answers_are_counted(void **state)
{
    fix t;
    open_fix(&t, (srv_options){0});
    long long good = answers(&t, "2xx");
    long long bad = answers(&t, "4xx");
    (void)srvfix_ask(&t.f, "GET", "/api/v1/healthz", NULL);
    assert_int_equal(t.f.status, 200);
    (void)srvfix_ask(&t.f, "GET", "/nothing", NULL);
    assert_int_equal(t.f.status, 404);
    /* and the two questions before */
    assert_true(good >= 0 && answers(&t, "2xx") == good + 3);
    assert_true(bad >= 0 && answers(&t, "4xx") == bad + 1);
    assert_int_equal(answers(&t, "3xx"), 0);
    assert_int_equal(answers(&t, "5xx"), 0);
    close_fix(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_ids_have_hosted_shapes),
        cmocka_unit_test(test_srv_foreign_base_is_refused),
        cmocka_unit_test(test_srv_work_is_done_once),
        cmocka_unit_test(test_srv_gaps_do_not_hang),
        cmocka_unit_test(test_srv_failures_are_results),
        cmocka_unit_test(test_srv_protobuf_both_ways),
        cmocka_unit_test(test_srv_outputs_of_two_shapes),
        cmocka_unit_test(test_srv_strict_refuses_more),
        cmocka_unit_test(test_srv_server_tells_about_itself),
        cmocka_unit_test(test_srv_answers_are_counted),
    };
    return cmocka_run_group_tests_name("srv_wire", tests, start_shared, stop_shared);
}
