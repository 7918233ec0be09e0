/* The walk over message tables: presence, defaults, paths, strictness, hostile input
 * (A-068..A-075, A-060, A-061, A-046, M-105, M-107, M-115, M-116, M-117). */
#include <math.h>
#include <stdio.h>

#include "support/msgfix.h"
#include "support/test.h"
#include "wire/msg_external.h"
#include "wire/msg_future.h"
#include "wire/msg_model.h"
#include "wire/msg_rest.h"
#include "wire/msg_sample.h"
#include "wire/msg_session.h"
#include "wire/msg_telemetry.h"
#include "wire/msg_train.h"
#include "wire/msg_value.h"
#include "wire/schema.h"

#define S(text) TK_F_STR(text)

/* M-105: unset, null and value are three things, and the JSON
 * distinguishes them. */
static void test_schema_three_states(void **unused)
{
    tk_sampler_response msg = {.sampler_id = S("s"), .base_model = S("b")};
    expect_json(&tk_msg_sampler_response, &msg,
                "{\"sampler_id\":\"s\",\"base_model\":\"b\"}");
    msg.model_path.is = TK_NULL;
    expect_json(&tk_msg_sampler_response, &msg,
                "{\"sampler_id\":\"s\",\"base_model\":\"b\",\"model_path\":null}");
    msg.model_path = (tk_f_str)S("p");
    expect_json(&tk_msg_sampler_response, &msg,
                "{\"sampler_id\":\"s\",\"base_model\":\"b\",\"model_path\":\"p\"}");
}

/* zero, false and the empty string are values: they are sent when set. */
static void test_schema_zero_is_a_value(void **unused)
{
    tk_get_info_response msg = {.model_id = S(""),
                                .is_lora = TK_F_VAL(false),
                                .lora_rank = TK_F_VAL(0),
                                .model_name = S("")};
    expect_json(&tk_msg_get_info_response, &msg,
                "{\"type\":\"get_info\",\"model_data\":{},\"model_id\":\"\","
                "\"is_lora\":false,\"lora_rank\":0,\"model_name\":\"\"}");
}

/* unset is left out; null only where the row allows it. */
static void test_schema_null_policy(void **unused)
{
    tk_create_model_request msg = {
        .session_id = S("s"), .model_seq_id = TK_F_VAL(0), .base_model = S("b")};
    expect_json(&tk_msg_create_model_request, &msg,
                "{\"session_id\":\"s\",\"model_seq_id\":0,\"base_model\":\"b\","
                "\"type\":\"create_model\"}");
    msg.lora_config.is = TK_NULL;
    expect_refused(&tk_msg_create_model_request, &msg, "lora_config");
}

/* null to clear user metadata. */
static void test_schema_null_clears_metadata(void **unused)
{
    tk_create_model_request msg = {.session_id = S("s"),
                                   .model_seq_id = TK_F_VAL(1),
                                   .base_model = S("b"),
                                   .user_metadata = {.is = TK_NULL}};
    expect_json(&tk_msg_create_model_request, &msg,
                "{\"session_id\":\"s\",\"model_seq_id\":1,\"base_model\":\"b\","
                "\"user_metadata\":null,\"type\":\"create_model\"}");
}

/* the TTL is removed with null; leaving it out is an error before sending. */
static void test_schema_ttl_null_or_nothing(void **unused)
{
    tk_ttl_request msg = {.ttl_seconds = {.is = TK_NULL}};
    expect_json(&tk_msg_ttl_request, &msg, "{\"ttl_seconds\":null}");
    msg.ttl_seconds = (tk_f_i64)TK_F_VAL(60);
    expect_json(&tk_msg_ttl_request, &msg, "{\"ttl_seconds\":60}");
    msg.ttl_seconds.is = TK_UNSET;
    expect_refused(&tk_msg_ttl_request, &msg, "ttl_seconds");
    decode_ok(&msg, &tk_msg_ttl_request, "{\"ttl_seconds\":null}");
    assert_int_equal(msg.ttl_seconds.is, TK_NULL);
    decode_fails(&tk_msg_ttl_request, "{}", 0, "ttl_seconds", "missing");
}

/* Defaults are sent when unset, and are what a reader finds after decoding. */
static void test_schema_defaults(void **unused)
{
    tk_lora_config msg = {0};
    static const char want[] = "{\"rank\":32,\"train_unembed\":true,\"train_mlp\":true,"
                               "\"train_attn\":true}";
    expect_json(&tk_msg_lora_config, &msg, want);
    tk_schema_init(&msg, &tk_msg_lora_config);
    assert_int_equal(msg.rank.is, TK_UNSET);
    assert_int_equal(msg.rank.v, 32);
    assert_true(msg.train_mlp.v);
    expect_json(&tk_msg_lora_config, &msg, want);
    decode_ok(&msg, &tk_msg_lora_config,
              "{\"rank\":8,\"train_mlp\":false,\"seed\":null}");
    assert_int_equal(msg.rank.v, 8);
    assert_true(msg.train_attn.v);
    assert_int_equal(msg.train_attn.is, TK_UNSET);
    assert_false(msg.train_mlp.v);
    assert_int_equal(msg.seed.is, TK_NULL);
}

/* Required fields, all the way down. */
static void test_schema_required_paths(void **unused)
{
    tk_create_session_request request = {.tags = {NULL, 0}};
    expect_refused(&tk_msg_create_session_request, &request, "sdk_version");
    tk_checkpoint checkpoints[] = {{.checkpoint_id = S("weights/a"),
                                    .checkpoint_type = TK_F_VAL(0),
                                    .time = {TK_SET, 0},
                                    .tinker_path = S("p")},
                                   {.checkpoint_id = S("weights/b"),
                                    .checkpoint_type = TK_F_VAL(3),
                                    .time = {TK_SET, 0},
                                    .tinker_path = S("p")}};
    tk_checkpoints_response list = {.checkpoints = checkpoints, .checkpoints_n = 2};
    expect_refused(&tk_msg_checkpoints_response, &list, "checkpoints[1].checkpoint_type");
    checkpoints[1].checkpoint_type.is = TK_UNSET;
    expect_refused(&tk_msg_checkpoints_response, &list, "checkpoints[1].checkpoint_type");
}

/* Errors carry the path, what was expected and what was found. */
static void test_schema_decode_paths(void **unused)
{
#define RUN                                                                              \
    "{\"training_run_id\":\"r\",\"base_model\":\"b\",\"model_owner\":\"o\","             \
    "\"is_lora\":true,\"last_request_time\":0"
    decode_fails(&tk_msg_training_runs_response,
                 "{\"training_runs\":[" RUN "}," RUN
                 ",\"last_checkpoint\":{\"checkpoint_id\":7}}],\"cursor\":{}}",
                 0, "training_runs[1].last_checkpoint.checkpoint_id",
                 "expected string, found integer");
    decode_fails(&tk_msg_training_runs_response,
                 "{\"training_runs\":[],\"cursor\":{\"limit\":1,\"total_count\":2}}", 0,
                 "cursor.offset", "missing");
    decode_fails(&tk_msg_training_runs_response, "{\"training_runs\":{},\"cursor\":{}}",
                 0, "training_runs", "expected array, found object");
    decode_fails(&tk_msg_training_runs_response, "{\"training_runs\":[1,2]}", 0,
                 "training_runs[0]", "expected object, found integer");
    decode_fails(&tk_msg_training_run, RUN ",\"user_metadata\":{\"a\":\"x\",\"b c\":1}}",
                 TK_DECODE_CLOSED, "user_metadata.b?c", "expected string, found integer");
    decode_fails(&tk_msg_training_run, "[]", 0, "", "expected object");
    decode_fails(&tk_msg_training_run, RUN ",\"lora_rank\":1.5}", 0, "lora_rank",
                 "expected 64-bit integer");
    decode_fails(&tk_msg_training_run, RUN ",\"is_lora\":1}", 0, "is_lora",
                 "expected boolean, found integer");
#undef RUN
}

/* docs/protocol.md §1.6: integers are not ids, literals must match, null does not replace
 * a required value. */
static void test_schema_type_rules(void **unused)
{
    decode_fails(&tk_msg_future_response, "{\"request_id\":12}", 0, "request_id",
                 "expected string, found integer");
    decode_fails(&tk_msg_future_response, "{\"request_id\":null}", 0, "request_id",
                 "expected string, found null");
    decode_fails(&tk_msg_create_model_result,
                 "{\"model_id\":\"m\",\"type\":\"get_info\"}", TK_DECODE_CLOSED, "type",
                 "expected \"create_model\", found \"get_info\"");
    decode_fails(&tk_msg_create_model_result, "{\"model_id\":\"m\",\"type\":1}",
                 TK_DECODE_CLOSED, "type", "expected string");
    tk_model_result result;
    decode_ok(&result, &tk_msg_create_model_result, "{\"model_id\":\"m\"}");
    decode_ok(&result, &tk_msg_create_model_result,
              "{\"model_id\":\"m\",\"type\":\"create_model\",\"base_model\":{},\"x\":1}");
    decode_fails(&tk_msg_telemetry_response, "{}", 0, "status", "missing");
    decode_fails(&tk_msg_telemetry_response, "{\"status\":\"ok\"}", TK_DECODE_CLOSED,
                 "status", "expected \"accepted\"");
}

/* A-061, M-116: unknown keys are ignored, or refused in strict mode, at any depth. */
static void test_schema_strict_mode(void **unused)
{
    static const char extra[] =
        "{\"adam_params\":{\"beta3\":1},\"model_id\":\"m\",\"seq_id\":1}";
    tk_optim_step_request msg;
    decode_ok(&msg, &tk_msg_optim_step_request, extra);
    decode_fails(&tk_msg_optim_step_request, extra, TK_DECODE_STRICT, "adam_params.beta3",
                 "unknown key");
    decode_fails(&tk_msg_heartbeat_request, "{\"session_id\":\"s\",\"Session_id\":\"s\"}",
                 TK_DECODE_STRICT, "Session_id", "unknown key");
    tk_create_session_request session;
    tk_err err = TK_ERR_INIT;
    tk_str free_form =
        TK_STR("{\"tags\":[],\"user_metadata\":{\"any\":[1]},\"sdk_version\":\"1\"}");
    assert_int_equal(tk_schema_decode_text(&session, &tk_msg_create_session_request,
                                           &msgfix_arena, free_form, TK_DECODE_STRICT,
                                           &err),
                     TINKC_OK);
}

/* M-115: the keys of a map are chosen by the server, and a newer one may put values of
 * another kind there: an answer is read without them. A message of the map's own kind
 * that is wrong stays an error. */
static void test_schema_newer_map(void **unused)
{
#define URLS                                                                             \
    "{\"urls\":{\"a\":\"u\",\"b\":1,\"c\":{\"d\":\"u\"},\"e\":\"v\"},\"expires\":0}"
    tk_external_urls_response urls;
    decode_ok(&urls, &tk_msg_external_urls_response, URLS);
    assert_int_equal(urls.urls.n, 2);
    assert_true(tk_str_is(urls.urls.items[1].name, "e"));
    assert_true(tk_str_is(urls.urls.items[1].v, "v"));
    decode_fails(&tk_msg_external_urls_response, URLS, TK_DECODE_CLOSED, "urls.b",
                 "expected string, found integer");
#undef URLS
    tk_optim_step_result step;
    const char *metrics = "{\"metrics\":{\"a\":\"x\",\"b\":[1],\"loss\":2,\"c\":null}}";
    decode_ok(&step, &tk_msg_optim_step_result, metrics);
    assert_int_equal(step.metrics.v.n, 1);
    assert_true(tk_str_is(step.metrics.v.items[0].name, "loss"));
    decode_fails(&tk_msg_optim_step_result, metrics, TK_DECODE_CLOSED, "metrics.a",
                 "expected number, found string");
    tk_tensor_map map;
    decode_ok(&map, &tk_msg_tensor_map,
              "{\"new\":{\"a\":1},\"text\":\"t\",\"logprobs\":{\"data\":[-1],"
              "\"dtype\":\"float32\"}}");
    assert_int_equal(map.n, 1);
    assert_true(tk_str_is(map.items[0].name, "logprobs"));
    decode_fails(&tk_msg_tensor_map, "{\"logprobs\":{\"data\":[-1]}}", 0,
                 "logprobs.dtype", "missing");
}

/* M-115: the same of a list of texts: an answer is read without what is none; a request is
 * refused. What is no list stays an error. */
static void test_schema_newer_texts(void **unused)
{
    static const char mixed[] =
        "{\"sessions\":[null,\"a\",1,{\"session_id\":\"b\"},[\"c\"],\"d\",true]}";
    tk_sessions_response list;
    decode_ok(&list, &tk_msg_sessions_response, mixed);
    assert_int_equal(list.sessions.n, 2);
    assert_true(tk_str_is(list.sessions.p[0], "a") && tk_str_is(list.sessions.p[1], "d"));
    decode_ok(&list, &tk_msg_sessions_response, "{\"sessions\":[1,2.5]}");
    assert_int_equal(list.sessions.n, 0);
    decode_fails(&tk_msg_sessions_response, mixed, TK_DECODE_CLOSED, "sessions[0]",
                 "expected string, found null");
    decode_fails(&tk_msg_sessions_response, "{\"sessions\":\"a\"}", 0, "sessions",
                 "expected array");
    decode_fails(&tk_msg_sample_future_response,
                 "{\"request_id\":\"r\",\"sample_sequence_ids\":[null,\"b\"]}", 0,
                 "sample_sequence_ids[0]", "expected string");
}

/* M-115: a newer server: an unknown key is ignored, an unknown kind of a union is kept
 * as it came. A request with such a kind is refused. */
static void test_schema_newer_union(void **unused)
{
    tk_billing_info info;
    decode_ok(&info, &tk_msg_billing_info,
              "{\"type\":\"sampling_prefill\",\"cached\":true,\"token_count\":3}");
    assert_int_equal(info.kind, TK_BILLING_SAMPLING_PREFILL);
    assert_true(info.cached.v);
    assert_int_equal(info.token_count.v, 3);
    decode_ok(&info, &tk_msg_billing_info,
              "{\"type\":\"training\",\"token_count\":3,\"x\":0}");
    assert_int_equal(info.token_count.v, 3);
    static const char gold[] = "{\"type\":\"gold\",\"token_count\":3}";
    decode_ok(&info, &tk_msg_billing_info, gold);
    assert_int_equal(info.kind, TK_OTHER);
    expect_json(&tk_msg_billing_info, &info, gold);
    decode_fails(&tk_msg_billing_info, gold, TK_DECODE_CLOSED, "type",
                 "\"gold\" is not known");
    static const char *const untold[] = {"{\"a\":1}", "{\"type\":7}", "{\"type\":null}"};
    for (size_t i = 0; i < TK_ARRAY_LEN(untold); i++) {
        decode_ok(&info, &tk_msg_billing_info, untold[i]);
        assert_int_equal(info.kind, TK_OTHER);
        assert_non_null(info.raw);
        decode_fails(&tk_msg_billing_info, untold[i], TK_DECODE_CLOSED, "type",
                     i == 0 ? "missing" : "expected string");
    }
    tk_get_info_response model;
    decode_ok(&model, &tk_msg_get_info_response,
              "{\"model_id\":\"m\",\"model_data\":{},\"optimizer_config\":{\"lr\":1}}");
    assert_int_equal(model.optimizer_config.v.kind, TK_OPTIMIZER_OTHER);
}

/* A-046, M-107: casing of enumeration words is ignored. An unknown word of an answer
 * is kept; in a request it is refused. */
static void test_schema_enums(void **unused)
{
    tk_try_again msg;
    decode_ok(&msg, &tk_msg_try_again, "{\"queue_state\":\"Paused_Capacity\"}");
    assert_int_equal(msg.queue_state.v, TK_QUEUE_PAUSED_CAPACITY);
    decode_ok(&msg, &tk_msg_try_again, "{\"queue_state\":\"napping\"}");
    assert_int_equal(msg.queue_state.is, TK_SET);
    assert_int_equal(msg.queue_state.v, TK_QUEUE_UNKNOWN);
    tk_trace_export_response export;
    decode_ok(&export, &tk_msg_trace_export_response, "{\"status\":\"READY\"}");
    assert_int_equal(export.status.v, TK_EXPORT_READY);
    decode_ok(&export, &tk_msg_trace_export_response, "{\"status\":\"done\"}");
    assert_int_equal(export.status.is, TK_SET);
    assert_int_equal(export.status.v, TK_OTHER);
    assert_true(tk_str_is(export.status_word, "done"));
    expect_json(&tk_msg_trace_export_response, &export, "{\"status\":\"done\"}");
    decode_fails(&tk_msg_trace_export_response, "{\"status\":\"done\"}", TK_DECODE_CLOSED,
                 "status", "\"done\" is not one of its values");
    decode_fails(&tk_msg_trace_export_response, "{\"status\":2}", 0, "status",
                 "expected string");
}

/* The label of an answer is not checked: what it says does not change what is read. */
static void test_schema_newer_literal(void **unused)
{
    tk_create_session_response msg;
    static const char text[] = "{\"type\":\"create_session_v2\",\"session_id\":\"s\"}";
    decode_ok(&msg, &tk_msg_create_session_response, text);
    assert_true(tk_str_is(msg.session_id.v, "s"));
    decode_fails(&tk_msg_create_session_response, text, TK_DECODE_CLOSED, "type",
                 "expected \"create_session\"");
}

/* M-117: RFC 3339 or unix numbers in, RFC 3339 out. */
static void test_schema_times(void **unused)
{
    static const struct {
        const char *text;
        int64_t us;
    } good[] = {
        {"\"2026-07-13T00:00:00Z\"", 1783900800000000},
        {"\"2026-07-13T02:00:00.25+02:00\"", 1783900800250000},
        {"1783900800", 1783900800000000},
        {"1783900800.5", 1783900800500000},
        {"1783900800123", 1783900800123000}, /* milliseconds, as pydantic */
        {"253402300800", 253402300800000},   /* too late for seconds: 1978 */
        {"-1.5", -1500000},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(good); i++) {
        char text[128];
        (void)snprintf(text, sizeof(text), "{\"url\":\"u\",\"expires\":%s}",
                       good[i].text);
        tk_archive_response msg;
        decode_ok(&msg, &tk_msg_archive_response, text);
        assert_int_equal(msg.expires.us, good[i].us);
    }
    static const char *const bad[] = {
        "\"\"",  "\"yesterday\"", "true", "[1]",
        "1e300", "-1e18",         "{}",   "\"2026-13-01T00:00:00Z\""};
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        char text[128];
        (void)snprintf(text, sizeof(text), "{\"url\":\"u\",\"expires\":%s}", bad[i]);
        tk_archive_response msg;
        tk_err err = TK_ERR_INIT;
        tinkc_code code = tk_schema_decode_text(&msg, &tk_msg_archive_response,
                                                &msgfix_arena, tk_str_of(text), 0, &err);
        assert_int_equal(code, TINKC_E_DECODE);
    }
    tk_archive_response msg = {.url = S("u"), .expires = {TK_SET, 1783900800250000}};
    expect_json(&tk_msg_archive_response, &msg,
                "{\"url\":\"u\",\"expires\":\"2026-07-13T00:00:00.250000Z\"}");
    msg.expires.us = INT64_MAX;
    expect_refused(&tk_msg_archive_response, &msg, "expires");
}

/* Ranges hold in both directions; 64-bit seeds keep their bits. */
static void test_schema_integers(void **unused)
{
    tk_lora_config msg = {.rank = TK_F_VAL(0)};
    expect_refused(&tk_msg_lora_config, &msg, "rank");
    decode_fails(&tk_msg_lora_config, "{\"rank\":-1}", 0, "rank", "not within");
    decode_fails(&tk_msg_lora_config, "{\"rank\":1e30}", 0, "rank", "expected 64-bit");
    decode_ok(&msg, &tk_msg_lora_config, "{\"rank\":4.0,\"seed\":18446744073709551615}");
    assert_int_equal(msg.rank.v, 4);
    assert_true(msg.seed.v == UINT64_MAX);
    decode_ok(&msg, &tk_msg_lora_config, "{\"seed\":-2}");
    assert_true(msg.seed.v == UINT64_MAX - 1);
    decode_fails(&tk_msg_lora_config, "{\"seed\":18446744073709551616}", 0, "seed",
                 "expected unsigned 64-bit");
    decode_fails(&tk_msg_cursor, "{\"offset\":9223372036854775808}", 0, "offset",
                 "expected 64-bit integer");
}

/* NaN and infinity are refused before sending, with the field. */
static void test_schema_not_finite(void **unused)
{
    const double bad[] = {(double)INFINITY, -(double)INFINITY, (double)NAN};
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        tk_optim_step_request msg = {.model_id = S("m"),
                                     .adam_params = {TK_SET, {.eps = TK_F_VAL(bad[i])}}};
        expect_refused(&tk_msg_optim_step_request, &msg, "adam_params.eps");
        const tk_named_num metric = {TK_STR("loss"), bad[i]};
        tk_optim_step_result result = {.metrics = {TK_SET, {&metric, 1}}};
        expect_refused(&tk_msg_optim_step_result, &result, "metrics.loss");
    }
}

/* A string that is not UTF-8 cannot travel; the field is named. */
static void test_schema_bad_utf8(void **unused)
{
    tk_heartbeat_request msg = {.session_id = {TK_SET, {"a\xff", 2}}};
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_schema_encode(&out, &tk_msg_heartbeat_request, &msg, &err),
                     TINKC_E_INVALID);
    assert_string_equal(err.path, "session_id");
    assert_int_equal(out.n, 0);
    tk_buf_dispose(&out);
}

/* The buffer's cap ends an encode; nothing of the message stays. */
static void test_schema_cap(void **unused)
{
    tk_heartbeat_request msg = {.session_id = S("0123456789")};
    for (size_t cap = 1; cap < 60; cap++) {
        tk_buf out;
        tk_buf_init(&out, cap);
        tk_err err = TK_ERR_INIT;
        tinkc_code code = tk_schema_encode(&out, &tk_msg_heartbeat_request, &msg, &err);
        size_t need =
            strlen("{\"session_id\":\"0123456789\",\"type\":\"session_heartbeat\"}");
        assert_int_equal(code, cap < need ? TINKC_E_LIMIT : TINKC_OK);
        assert_int_equal(out.n, cap < need ? 0 : need);
        tk_buf_dispose(&out);
    }
}

/* Of equal keys the last counts, in objects and in maps, as in Python. */
static void test_schema_duplicates(void **unused)
{
    tk_optim_step_result msg;
    decode_ok(&msg, &tk_msg_optim_step_result,
              "{\"metrics\":null,\"metrics\":{\"b\":1,\"a\":2,\"b\":3,\"c\":4}}");
    assert_int_equal(msg.metrics.v.n, 3);
    expect_json(&tk_msg_optim_step_result, &msg,
                "{\"metrics\":{\"a\":2.0,\"b\":3.0,\"c\":4.0}}");
}

/* Text that is not JSON: the error is the parser's, with its offset. */
static void test_schema_not_json(void **unused)
{
    static const char *const bad[] = {"", "nul", "{\"a\":}", "{} {}", "\xff"};
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        tk_cursor msg;
        memset(&msg, 0xA5, sizeof(msg));
        tk_err err = TK_ERR_INIT;
        assert_int_equal(tk_schema_decode_text(&msg, &tk_msg_cursor, &msgfix_arena,
                                               tk_str_of(bad[i]), 0, &err),
                         TINKC_E_PARSE);
        assert_int_not_equal(err.offset, TK_ERR_NO_OFFSET);
        assert_int_equal(msg.offset.is, TK_UNSET);
        assert_int_equal(msg.total_count.v, 0);
    }
}

/* The mark is the text of the value, wherever other text looks like it. */
static void test_schema_mark(void **unused)
{
    static const int32_t token = 1;
    tk_chunk chunk = {.kind = TK_CHUNK_TEXT, .tokens = {&token, 1}};
    tk_sample_request request = {
        .prompt = {&chunk, 1},
        .sampling_session_id = {TK_SET, TK_STR("\"seq_id\":12")},
        .seq_id = {TK_SET, 12345},
    };
    tk_buf out;
    tk_buf_init(&out, 4096);
    tk_buf_puts(&out, "before");
    tk_schema_mark mark = {.name = "seq_id"};
    assert_int_equal(
        tk_schema_encode_marked(&out, &mark, &tk_msg_sample_request, &request, NULL),
        TINKC_OK);
    assert_int_equal(mark.n, 5);
    assert_memory_equal(out.p + mark.at, "12345,", 6);
    assert_memory_equal(out.p + mark.at - 9, "\"seq_id\":", 9);
    request.seq_id.is = TK_UNSET;
    assert_int_equal(
        tk_schema_encode_marked(&out, &mark, &tk_msg_sample_request, &request, NULL),
        TINKC_OK);
    assert_int_equal(mark.n, 0);
    tk_buf_dispose(&out);
}

static void test_schema_err_contract(void **unused)
{
    tk_cursor msg;
    tk_err err = TK_ERR_INIT;
    (void)tk_err_set(&err, TINKC_E_STATE, "earlier");
    assert_int_equal(
        tk_schema_decode_text(&msg, &tk_msg_cursor, &msgfix_arena, TK_STR("{}"), 0, &err),
        TINKC_E_DECODE);
    assert_int_equal(err.code, TINKC_E_STATE);
    assert_string_equal(err.message, "earlier");
    assert_int_equal(
        tk_schema_decode_text(&msg, &tk_msg_cursor, &msgfix_arena, TK_STR("{}"), 0, NULL),
        TINKC_E_DECODE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schema_mark),
        cmocka_unit_test(test_schema_three_states),
        cmocka_unit_test(test_schema_zero_is_a_value),
        cmocka_unit_test(test_schema_null_policy),
        cmocka_unit_test(test_schema_null_clears_metadata),
        cmocka_unit_test_teardown(test_schema_ttl_null_or_nothing, msgfix_teardown),
        cmocka_unit_test_teardown(test_schema_defaults, msgfix_teardown),
        cmocka_unit_test(test_schema_required_paths),
        cmocka_unit_test_teardown(test_schema_decode_paths, msgfix_teardown),
        cmocka_unit_test_teardown(test_schema_type_rules, msgfix_teardown),
        cmocka_unit_test_teardown(test_schema_strict_mode, msgfix_teardown),
        cmocka_unit_test_teardown(test_schema_newer_map, msgfix_teardown),
        cmocka_unit_test_teardown(test_schema_newer_texts, msgfix_teardown),
        cmocka_unit_test_teardown(test_schema_newer_union, msgfix_teardown),
        cmocka_unit_test_teardown(test_schema_newer_literal, msgfix_teardown),
        cmocka_unit_test_teardown(test_schema_enums, msgfix_teardown),
        cmocka_unit_test_teardown(test_schema_times, msgfix_teardown),
        cmocka_unit_test_teardown(test_schema_integers, msgfix_teardown),
        cmocka_unit_test(test_schema_not_finite),
        cmocka_unit_test(test_schema_bad_utf8),
        cmocka_unit_test(test_schema_cap),
        cmocka_unit_test_teardown(test_schema_duplicates, msgfix_teardown),
        cmocka_unit_test_teardown(test_schema_not_json, msgfix_teardown),
        cmocka_unit_test_teardown(test_schema_err_contract, msgfix_teardown),
    };
    return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}
