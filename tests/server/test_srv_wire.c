/* The protocol of training and sampling, request by request (wire.md §11).
 * Links: wire */
#include "server/srv_embed.h"
#include "server/srvfix.h"
#include "wire/pb_fwdbwd.h"
#include "wire/pb_output.h"
#include "wire/zstd.h"

#define API   "/api/v1/"
#define MODEL SRV_EMBED_NAME

typedef struct fix {
    srvfix f;
    const char *session;
    const char *model;
} fix;

static const char *format_body(fix *t, const char *format, ...) TK_PRINTF(2, 3);

static const char *format_body(fix *t, const char *format, ...)
{
    char text[1024];
    tk_str copy;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    assert_true(n >= 0 && (size_t)n < sizeof(text));
    assert_true(tk_arena_dup(&t->f.arena, &copy, text, (size_t)n));
    return copy.p;
}

/* Polls until the result is there. */
static const tk_json *result_of(fix *t, const char *request_id)
{
    const char *body = format_body(t, "{\"request_id\":\"%s\"}", request_id);
    const tk_json *json;
    do {
        json = srvfix_post(&t->f, API "retrieve_future", body);
    } while (t->f.status == 408);
    return json;
}

/* Submits and returns the request id. */
static const char *submit(fix *t, const char *path, const char *body)
{
    const tk_json *json = srvfix_post(&t->f, path, body);
    if (t->f.status != 200) {
        fail_msg("%s: %d %s", path, t->f.status, srvfix_text(json, "detail"));
    }
    return srvfix_text(json, "request_id");
}

static const char *create_body(fix *t, int seq, const char *lora)
{
    return format_body(
        t,
        "{\"session_id\":\"%s\",\"model_seq_id\":%d,\"base_model\":\"" MODEL
        "\",\"lora_config\":%s,\"type\":\"create_model\"}",
        t->session, seq, lora);
}

static void open_fix(fix *t, srv_options options)
{
    srvfix_open(&t->f, options);
    t->session = srvfix_session(&t->f);
    const char *id = submit(t, API "create_model", create_body(t, 0, "{\"rank\":4}"));
    t->model = srvfix_text(result_of(t, id), "model_id");
}

static void close_fix(fix *t)
{
    srvfix_close(&t->f);
}

static const char *train_body(fix *t, int seq, const char *loss)
{
    return format_body(
        t,
        "{\"forward_backward_input\":{\"data\":[{\"loss_fn_inputs\":{\"target_tokens\":"
        "{\"data\":[7,8],\"dtype\":\"int64\"},\"weights\":{\"data\":[1.0,1.0],\"dtype\":"
        "\"float32\"}},\"model_input\":{\"chunks\":[{\"tokens\":[5,7],\"type\":"
        "\"encoded_text\"}]}}],\"loss_fn\":\"%s\"},\"model_id\":\"%s\",\"seq_id\":%d}",
        loss, t->model, seq);
}

static const char *step_body(fix *t, int seq, const char *rate)
{
    return format_body(t,
                       "{\"adam_params\":{\"learning_rate\":%s},\"model_id\":\"%s\","
                       "\"seq_id\":%d,\"type\":\"optim_step\"}",
                       rate, t->model, seq);
}

static const char *ephemeral_body(fix *t, int sampler_seq)
{
    return format_body(t,
                       "{\"model_id\":\"%s\",\"sampling_session_seq_id\":%d,"
                       "\"seq_id\":2}",
                       t->model, sampler_seq);
}

static const char *save_body(fix *t, int seq, const char *overwrite)
{
    return format_body(t,
                       "{\"model_id\":\"%s\",\"path\":\"n\",\"seq_id\":%d,"
                       "\"overwrite\":%s}",
                       t->model, seq, overwrite);
}

/* S-003: hosted shapes of ids. */
static void test_srv_ids_have_hosted_shapes(void **state)
{
    (void)state;
    fix t;
    open_fix(&t, (srv_options){0});
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
    close_fix(&t);
}

/* S-016: the same request again is the same work; another one under its id is not. */
static void test_srv_work_is_done_once(void **state)
{
    (void)state;
    fix t;
    open_fix(&t, (srv_options){0});
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
    close_fix(&t);
}

/* S-007, S-011: results stay; unknown ids are 404, lost ones 410. */
static void test_srv_results_stay(void **state)
{
    (void)state;
    fix t;
    open_fix(&t, (srv_options){0});
    const char *id = submit(&t, API "optim_step", step_body(&t, 1, "0.1"));
    for (int i = 0; i < 3; i++) {
        assert_non_null(tk_json_get(result_of(&t, id), "metrics"));
        assert_int_equal(t.f.status, 200);
    }
    (void)result_of(&t, format_body(&t, "%s:9", t.model));
    assert_int_equal(t.f.status, 404);
    (void)result_of(&t, "nonsense");
    assert_int_equal(t.f.status, 404);
    const char *save = submit(
        &t, API "save_weights",
        format_body(&t, "{\"model_id\":\"%s\",\"path\":\"a-1\",\"seq_id\":2}", t.model));
    (void)result_of(&t, save);
    srvfix_restart(&t.f, (srv_options){0});
    (void)result_of(&t, id);
    assert_int_equal(t.f.status, 410);
    const tk_json *json = srvfix_post(&t.f, API "optim_step", step_body(&t, 3, "0.1"));
    assert_int_equal(t.f.status, 404);
    assert_non_null(strstr(srvfix_text(json, "detail"), "/weights/a-1"));
    close_fix(&t);
}

/* S-005, S-006: a request is accepted before it runs; a poll that comes early is held,
 * then told to come again, and why. */
static void test_srv_polls_are_held(void **state)
{
    (void)state;
    fix t;
    open_fix(&t, (srv_options){.poll_ms = 20});
    /* Held by rule 17: the first part has not come. */
    const char *id =
        submit(&t, API "forward_backward", train_body(&t, 2, "cross_entropy"));
    const char *body = format_body(&t, "{\"request_id\":\"%s\"}", id);
    const tk_json *json = srvfix_post(&t.f, API "retrieve_future", body);
    assert_int_equal(t.f.status, 408);
    assert_string_equal(srvfix_text(json, "type"), "try_again");
    assert_string_equal(srvfix_text(json, "queue_state"), "active");
    assert_string_equal(srvfix_text(json, "request_id"), id);
    const char *first =
        submit(&t, API "forward_backward", train_body(&t, 1, "cross_entropy"));
    json = result_of(&t, id);
    assert_int_equal(t.f.status, 200);
    assert_int_equal(tk_json_len(tk_json_get(json, "loss_fn_outputs")), 1);
    (void)result_of(&t, first);
    assert_int_equal(t.f.status, 200);
    close_fix(&t);
}

/* S-007, S-025: many polls for one id, all released by the result. */
static void test_srv_parked_polls_are_released(void **state)
{
    (void)state;
    enum { POLLS = 40 };
    fix t;
    httpget *polls[POLLS];
    open_fix(&t, (srv_options){0});
    const char *id =
        submit(&t, API "forward_backward", train_body(&t, 2, "cross_entropy"));
    const httpget_request request = {.method = "POST",
                                     .target = API "retrieve_future",
                                     .body =
                                         format_body(&t, "{\"request_id\":\"%s\"}", id)};
    for (int i = 0; i < POLLS; i++) {
        polls[i] = httpget_connect(srvfix_port(&t.f));
        assert_true(httpget_ask(polls[i], &request));
    }
    (void)submit(&t, API "optim_step", step_body(&t, 3, "0.1"));
    for (int i = 0; i < POLLS; i++) {
        httpget_response response;
        assert_int_equal(httpget_read(polls[i], &response), HTTPGET_OK);
        assert_int_equal(response.status, 200);
        httpget_response_dispose(&response);
        httpget_close(&polls[i]);
    }
    close_fix(&t);
}

/* A stop answers what is parked. */
static void test_srv_stop_answers_polls(void **state)
{
    (void)state;
    fix t;
    open_fix(&t, (srv_options){0});
    const char *id =
        submit(&t, API "forward_backward", train_body(&t, 9, "cross_entropy"));
    const httpget_request request = {.method = "POST",
                                     .target = API "retrieve_future",
                                     .body =
                                         format_body(&t, "{\"request_id\":\"%s\"}", id)};
    httpget *poll = httpget_connect(srvfix_port(&t.f));
    assert_true(httpget_ask(poll, &request));
    (void)srvfix_session(&t.f); /* the poll has very likely been parked by now */
    srv_stop(&t.f.server);
    httpget_response response;
    httpget_outcome outcome = httpget_read(poll, &response);
    if (outcome == HTTPGET_OK) { /* else it came too late to be taken */
        assert_true(response.status == 503 || response.status == 200);
    }
    httpget_response_dispose(&response);
    httpget_close(&poll);
    close_fix(&t);
}

/* S-017: a step that comes ends the wait for a part that never does; what comes behind
 * its step is refused. */
static void test_srv_gaps_do_not_hang(void **state)
{
    (void)state;
    fix t;
    open_fix(&t, (srv_options){0});
    const char *part =
        submit(&t, API "forward_backward", train_body(&t, 2, "cross_entropy"));
    const char *step = submit(&t, API "optim_step", step_body(&t, 3, "0.1"));
    assert_non_null(tk_json_get(result_of(&t, part), "metrics"));
    assert_non_null(tk_json_get(result_of(&t, step), "metrics"));
    (void)srvfix_post(&t.f, API "forward_backward", train_body(&t, 1, "cross_entropy"));
    assert_int_equal(t.f.status, 400);
    close_fix(&t);
}

/* S-009, S-010: failed work is a result with a category. */
static void test_srv_failures_are_results(void **state)
{
    (void)state;
    fix t;
    open_fix(&t, (srv_options){0});
    const char *id = submit(&t, API "forward_backward", train_body(&t, 1, "no_such"));
    const tk_json *json = result_of(&t, id);
    assert_int_equal(t.f.status, 200);
    assert_string_equal(srvfix_text(json, "category"), "user");
    (void)srvfix_text(json, "error");
    close_fix(&t);
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
    const tk_datum datum = {{&chunk, 1}, {&tensor, 1}};
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
    (void)state;
    fix t;
    char id[256], same[256];
    tk_buf plain, packed;
    tk_zstd zstd;
    tk_err err = TK_ERR_INIT;
    open_fix(&t, (srv_options){0});
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
    assert_int_equal(post_bytes(&t, NULL, tk_buf_str(&packed), id), 422);
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
    close_fix(&t);
}

/* Two targets per token beside one: records of two shapes in one result. */
static void test_srv_outputs_of_two_shapes(void **state)
{
    (void)state;
    fix t;
    open_fix(&t, (srv_options){0});
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
    close_fix(&t);
}

/* Names that would leave the directory, or that nobody could type. */
static void test_srv_names_are_checked(void **state)
{
    (void)state;
    fix t;
    static const char *const bad[] = {"../x",    "a/b", "",          ".",     "..",
                                      ".hidden", "a b", "a\\u0000b", "%2e%2e"};
    open_fix(&t, (srv_options){0});
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        (void)srvfix_post(
            &t.f, API "save_weights",
            format_body(&t, "{\"model_id\":\"%s\",\"path\":\"%s\",\"seq_id\":1}", t.model,
                        bad[i]));
        assert_int_equal(t.f.status, 422);
    }
    close_fix(&t);
}

/* S-020: a name is saved once, unless it may be overwritten; paths as the SDK reads them.
 */
static void test_srv_checkpoints_are_not_lost(void **state)
{
    (void)state;
    fix t;
    open_fix(&t, (srv_options){0});
    const char *path = API "save_weights";
    const tk_json *json = result_of(&t, submit(&t, path, save_body(&t, 1, "false")));
    assert_string_equal(srvfix_text(json, "path"),
                        format_body(&t, "tinker://%s/weights/n", t.model));
    json = result_of(&t, submit(&t, path, save_body(&t, 2, "false")));
    assert_string_equal(srvfix_text(json, "category"), "user");
    json = result_of(&t, submit(&t, path, save_body(&t, 3, "true")));
    (void)srvfix_text(json, "path");
    json = srvfix_post(
        &t.f, API "weights_info",
        format_body(&t, "{\"tinker_path\":\"tinker://%s/weights/n\"}", t.model));
    assert_int_equal(t.f.status, 200);
    assert_int_equal(tk_json_get(json, "lora_rank")->as.integer, 4);
    (void)srvfix_post(&t.f, API "weights_info",
                      "{\"tinker_path\":\"tinker://nobody/weights/n\"}");
    assert_int_equal(t.f.status, 404);
    close_fix(&t);
}

/* A model made by loading: its id is computed by the client. */
static void test_srv_models_are_made_by_loading(void **state)
{
    (void)state;
    fix t;
    open_fix(&t, (srv_options){0});
    (void)result_of(&t, submit(&t, API "save_weights",
                               format_body(&t,
                                           "{\"model_id\":\"%s\",\"path\":\"n\","
                                           "\"seq_id\":1}",
                                           t.model)));
    const char *id = submit(
        &t, API "load_weights",
        format_body(&t,
                    "{\"session_id\":\"%s\",\"model_seq_id\":1,\"path\":\"tinker://%s/"
                    "weights/n\",\"optimizer\":true}",
                    t.session, t.model));
    assert_string_equal(srvfix_text(result_of(&t, id), "model_id"),
                        format_body(&t, "%s:train:1", t.session));
    t.model = format_body(&t, "%s:train:1", t.session);
    const char *step = submit(&t, API "optim_step", step_body(&t, 1, "0.1"));
    assert_non_null(tk_json_get(result_of(&t, step), "metrics"));
    close_fix(&t);
}

/* S-018 and the ranks, in strict mode only. */
static void test_srv_strict_refuses_more(void **state)
{
    (void)state;
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
    open_fix(&t, (srv_options){0});
    (void)submit(&t, API "create_model", create_body(&t, 1, "{\"rank\":6}"));
    (void)srvfix_post(&t.f, API "create_model", create_body(&t, 2, "{\"rank\":0}"));
    assert_int_equal(t.f.status, 422);
    close_fix(&t);
}

/* S-026: get_info names the model until it is unloaded. */
static void test_srv_unloaded_models_are_gone(void **state)
{
    (void)state;
    fix t;
    open_fix(&t, (srv_options){0});
    const char *held =
        submit(&t, API "forward_backward", train_body(&t, 5, "cross_entropy"));
    const char *body = format_body(&t, "{\"model_id\":\"%s\"}", t.model);
    const tk_json *json = srvfix_post(&t.f, API "get_info", body);
    assert_int_equal(t.f.status, 200);
    assert_string_equal(srvfix_text(tk_json_get(json, "model_data"), "model_name"),
                        MODEL);
    const char *id = submit(&t, API "unload_model", body);
    assert_string_equal(srvfix_text(result_of(&t, id), "model_id"), t.model);
    (void)result_of(&t, held); /* ran before it, because the unload is a barrier */
    assert_int_equal(t.f.status, 200);
    (void)srvfix_post(&t.f, API "get_info", body);
    assert_int_equal(t.f.status, 404);
    close_fix(&t);
}

/* Appendix B: tokens as they are drawn, then why it ended. */
static void test_srv_samples_are_streamed(void **state)
{
    (void)state;
    fix t;
    open_fix(&t, (srv_options){0});
    httpget_response response;
    const httpget_request request = {
        .method = "POST",
        .target = API "stream_sample",
        .headers = "Accept: text/event-stream\r\n",
        .body = "{\"base_model\":\"" MODEL "\",\"prompt\":{\"chunks\":[{\"tokens\":[5,7],"
                "\"type\":\"encoded_text\"}]},\"sampling_params\":{\"max_tokens\":5,"
                "\"stop\":[],\"seed\":1}}"};
    assert_int_equal(httpget_once(srvfix_port(&t.f), &request, &response), HTTPGET_OK);
    assert_int_equal(response.status, 200);
    assert_string_equal(httpget_header(&response, "Content-Type"), "text/event-stream");
    tk_str rest = {response.body.p, response.body.n};
    int tokens = 0, ends = 0;
    while (rest.n > 0) {
        tk_str line = tk_str_cut(&rest, '\n');
        const tk_json *json = NULL;
        tk_err err = TK_ERR_INIT;
        if (line.n == 0) {
            continue;
        }
        assert_true(tk_str_has_prefix(line, "data: "));
        assert_int_equal(
            tk_json_parse(&json, &t.f.arena, line.p + 6, line.n - 6, NULL, &err),
            TINKC_OK);
        if (tk_json_get(json, "finish_reason") != NULL) {
            assert_string_equal(srvfix_text(json, "finish_reason"), "length");
            assert_int_equal(tk_json_get(json, "total_tokens")->as.integer, 5);
            ends++;
        } else {
            assert_int_equal(tk_json_get(json, "index")->as.integer, tokens);
            tokens++;
        }
    }
    assert_int_equal(tokens, 5);
    assert_int_equal(ends, 1);
    httpget_response_dispose(&response);
    close_fix(&t);
}

static void test_srv_samples_are_checked(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\"num_samples\":0",
        "\"num_samples\":1000000",
        "\"topk_prompt_logprobs\":-1",
        "\"model_path\":\"tinker://x/weights/y\"",
    };
    fix t;
    open_fix(&t, (srv_options){0});
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        (void)srvfix_post(&t.f, API "asample",
                          format_body(&t,
                                      "{\"base_model\":\"" MODEL "\",\"prompt\":{"
                                      "\"chunks\":[{\"tokens\":[5],\"type\":"
                                      "\"encoded_text\"}]},\"sampling_params\":{},%s}",
                                      bad[i]));
        assert_int_equal(t.f.status, 400);
    }
    (void)srvfix_post(&t.f, API "asample",
                      "{\"base_model\":\"" MODEL "\",\"prompt\":{\"chunks\":[]},"
                      "\"sampling_params\":{\"max_tokens\":1}}");
    assert_int_equal(t.f.status, 400);
    (void)srvfix_post(&t.f, API "asample",
                      "{\"sampling_session_id\":\"nobody\",\"seq_id\":0,\"prompt\":{"
                      "\"chunks\":[{\"tokens\":[5],\"type\":\"encoded_text\"}]},"
                      "\"sampling_params\":{\"max_tokens\":1}}");
    assert_int_equal(t.f.status, 404);
    /* A token that the model does not have fails there. */
    const char *id = submit(&t, API "asample",
                            "{\"base_model\":\"" MODEL "\",\"prompt\":{\"chunks\":["
                            "{\"tokens\":[99999999],\"type\":\"encoded_text\"}]},"
                            "\"sampling_params\":{\"max_tokens\":1}}");
    assert_string_equal(srvfix_text(result_of(&t, id), "category"), "user");
    close_fix(&t);
}

/* S-019: too many samples are refused with 429, and the server goes on. */
static void test_srv_overload_is_429(void **state)
{
    (void)state;
    fix t;
    int accepted = 0;
    open_fix(&t, (srv_options){0});
    do {
        (void)srvfix_post(&t.f, API "asample",
                          "{\"base_model\":\"" MODEL "\",\"num_samples\":1024,"
                          "\"prompt\":{\"chunks\":[{\"tokens\":[5],\"type\":"
                          "\"encoded_text\"}]},\"sampling_params\":{\"max_tokens\":"
                          "400,\"stop\":[]}}");
        accepted += t.f.status == 200;
    } while (t.f.status == 200 && accepted < 100);
    assert_int_equal(t.f.status, 429);
    assert_true(accepted >= (int)(TK_SRV_SAMPLES_MAX / 1024));
    (void)srvfix_session(&t.f);
    close_fix(&t);
}

static void test_srv_server_tells_about_itself(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_ids_have_hosted_shapes),
        cmocka_unit_test(test_srv_work_is_done_once),
        cmocka_unit_test(test_srv_results_stay),
        cmocka_unit_test(test_srv_polls_are_held),
        cmocka_unit_test(test_srv_parked_polls_are_released),
        cmocka_unit_test(test_srv_stop_answers_polls),
        cmocka_unit_test(test_srv_gaps_do_not_hang),
        cmocka_unit_test(test_srv_failures_are_results),
        cmocka_unit_test(test_srv_protobuf_both_ways),
        cmocka_unit_test(test_srv_outputs_of_two_shapes),
        cmocka_unit_test(test_srv_names_are_checked),
        cmocka_unit_test(test_srv_checkpoints_are_not_lost),
        cmocka_unit_test(test_srv_models_are_made_by_loading),
        cmocka_unit_test(test_srv_strict_refuses_more),
        cmocka_unit_test(test_srv_unloaded_models_are_gone),
        cmocka_unit_test(test_srv_samples_are_streamed),
        cmocka_unit_test(test_srv_samples_are_checked),
        cmocka_unit_test(test_srv_overload_is_429),
        cmocka_unit_test(test_srv_server_tells_about_itself),
    };
    return cmocka_run_group_tests_name("srv_wire", tests, NULL, NULL);
}
