/* Golden bodies of the requests, with nothing but what is required and with everything
 * (A-049..A-051, A-055, A-059, A-060, A-069, A-071, M-104), and the rules over several
 * fields. The recordings of the official SDK are compared in test_fixtures*.c. */
#include <math.h>
#include <stdio.h>

#include "base/limits.h"
#include "support/msgfix.h"
#include "support/test.h"
#include "wire/msg_future.h"
#include "wire/msg_model.h"
#include "wire/msg_rest.h"
#include "wire/msg_sample.h"
#include "wire/msg_session.h"
#include "wire/msg_telemetry.h"
#include "wire/msg_train.h"
#include "wire/msg_weights.h"

#define S(text) TK_F_STR(text)

static const tk_json_member note_members[] = {
    {{"note", 4}, {.type = TK_JSON_STRING, .as.string = {"n", 1}}}};
static const tk_json note = {.type = TK_JSON_OBJECT, .as.object = {note_members, 1}};

static void test_request_service(void **unused)
{
    const tk_client_config_request config = {S("0.25.0")};
    expect_json(&tk_msg_client_config_request, &config, "{\"sdk_version\":\"0.25.0\"}");
    const tk_auth_token_request token = {0};
    expect_json(&tk_msg_auth_token_request, &token, "{}");
    tk_create_session_request session = {.sdk_version = S("0.25.0")};
    expect_json(&tk_msg_create_session_request, &session,
                "{\"tags\":[],\"user_metadata\":{},\"sdk_version\":\"0.25.0\","
                "\"type\":\"create_session\"}");
    const tk_str tags[] = {{"a", 1}, {"", 0}};
    session.tags = (tk_strs){tags, 2};
    session.user_metadata = (tk_f_raw)TK_F_VAL(&note);
    session.project_id = (tk_f_str)S("p");
    expect_json(&tk_msg_create_session_request, &session,
                "{\"tags\":[\"a\",\"\"],\"user_metadata\":{\"note\":\"n\"},"
                "\"sdk_version\":\"0.25.0\",\"project_id\":\"p\","
                "\"type\":\"create_session\"}");
    const tk_heartbeat_request heartbeat = {S("s")};
    expect_json(&tk_msg_heartbeat_request, &heartbeat,
                "{\"session_id\":\"s\",\"type\":\"session_heartbeat\"}");
    tk_finish_session_request finish = {
        .reason = {TK_SET, {.type = TK_F_VAL(TK_FINISH_ERRORED)}},
        .detail = {.is = TK_NULL}};
    expect_json(&tk_msg_finish_session_request, &finish,
                "{\"reason\":{\"type\":\"errored\"},\"detail\":null}");
    finish.detail = (tk_f_str)S("d");
    expect_json(&tk_msg_finish_session_request, &finish,
                "{\"reason\":{\"type\":\"errored\"},\"detail\":\"d\"}");
}

static void test_request_sampling_session(void **unused)
{
    tk_err err = TK_ERR_INIT;
    tk_create_sampling_session_request msg = {.session_id = S("s"),
                                              .sampling_session_seq_id = TK_F_VAL(0)};
    assert_int_equal(tk_sampling_session_check(&msg, &err), TINKC_E_INVALID);
    msg.base_model = (tk_f_str)S("b");
    assert_int_equal(tk_sampling_session_check(&msg, NULL), TINKC_OK);
    expect_json(
        &tk_msg_create_sampling_session_request, &msg,
        "{\"session_id\":\"s\",\"sampling_session_seq_id\":0,\"base_model\":\"b\","
        "\"type\":\"create_sampling_session\"}");
    msg.model_path = (tk_f_str)S("tinker://r/weights/x");
    assert_int_equal(tk_sampling_session_check(&msg, NULL), TINKC_OK);
    msg.model_path = (tk_f_str)S("s3://r");
    assert_int_equal(tk_sampling_session_check(&msg, NULL), TINKC_E_INVALID);
}

static void test_request_model(void **unused)
{
    tk_create_model_request msg = {.session_id = S("s"),
                                   .model_seq_id = TK_F_VAL(2),
                                   .base_model = S("b"),
                                   .lora_config = {.is = TK_SET}};
    expect_json(&tk_msg_create_model_request, &msg,
                "{\"session_id\":\"s\",\"model_seq_id\":2,\"base_model\":\"b\","
                "\"lora_config\":{\"rank\":32,\"train_unembed\":true,\"train_mlp\":true,"
                "\"train_attn\":true},\"type\":\"create_model\"}");
    msg.user_metadata = (tk_f_raw)TK_F_VAL(&note);
    msg.lora_config.v = (tk_lora_config){
        .rank = TK_F_VAL(8), .seed = TK_F_VAL(0), .train_unembed = TK_F_VAL(false)};
    expect_json(
        &tk_msg_create_model_request, &msg,
        "{\"session_id\":\"s\",\"model_seq_id\":2,\"base_model\":\"b\","
        "\"user_metadata\":{\"note\":\"n\"},\"lora_config\":{\"rank\":8,\"seed\":0,"
        "\"train_unembed\":false,\"train_mlp\":true,\"train_attn\":true},"
        "\"type\":\"create_model\"}");
    assert_int_equal(tk_lora_config_check(&msg.lora_config.v, NULL), TINKC_OK);
    msg.lora_config.v.train_mlp = msg.lora_config.v.train_attn =
        (tk_f_bool)TK_F_VAL(false);
    assert_int_equal(tk_lora_config_check(&msg.lora_config.v, NULL), TINKC_E_INVALID);
    const tk_json list = {.type = TK_JSON_ARRAY};
    msg.user_metadata.v = &list;
    expect_refused(&tk_msg_create_model_request, &msg, "user_metadata");
    const tk_model_request model = {S("m")};
    expect_json(&tk_msg_get_info_request, &model,
                "{\"model_id\":\"m\",\"type\":\"get_info\"}");
    expect_json(&tk_msg_unload_model_request, &model,
                "{\"model_id\":\"m\",\"type\":\"unload_model\"}");
}

/* Adam's defaults are Tinker's own. A-059: seq_id is sent when set, and may be
 * left out. */
static void test_request_optim_step(void **unused)
{
    tk_optim_step_request msg = {.adam_params = {.is = TK_SET}, .model_id = S("m")};
    expect_json(&tk_msg_optim_step_request, &msg,
                "{\"adam_params\":{\"learning_rate\":0.0001,\"beta1\":0.9,\"beta2\":0.95,"
                "\"eps\":1e-12,\"weight_decay\":0.0,\"grad_clip_norm\":0.0},"
                "\"model_id\":\"m\",\"type\":\"optim_step\"}");
    msg.seq_id = (tk_f_i64)TK_F_VAL(3);
    msg.adam_params.v = (tk_adam_params){
        TK_F_VAL(0.5),  TK_F_VAL(0.0), TK_F_VAL(0.999),
        TK_F_VAL(1e-8), TK_F_VAL(0.1), TK_F_VAL(1.0),
    };
    expect_json(&tk_msg_optim_step_request, &msg,
                "{\"adam_params\":{\"learning_rate\":0.5,\"beta1\":0.0,\"beta2\":0.999,"
                "\"eps\":1e-08,\"weight_decay\":0.1,\"grad_clip_norm\":1.0},"
                "\"model_id\":\"m\",\"seq_id\":3,\"type\":\"optim_step\"}");
}

/* Another optimizer's parameters stand in their own key; one that is not known is passed on
 * as it is. */
static void test_request_optim_params(void **unused)
{
    tk_optim_step_request msg = {
        .model_id = S("m"),
        .optimizer_params = {
            TK_SET, {.kind = TK_OPTIMIZER_DIMUON, .learning_rate = TK_F_VAL(0.02)}}};
    expect_json(&tk_msg_optim_step_request, &msg,
                "{\"model_id\":\"m\",\"type\":\"optim_step\",\"optimizer_params\":{"
                "\"type\":\"dimuon\",\"learning_rate\":0.02,\"grad_clip_norm\":0.0,"
                "\"beta1\":0.9}}");
    assert_int_equal(tk_optim_params_check(&msg.optimizer_params.v, NULL), TINKC_OK);
    static const tk_json_member members[] = {
        {{"type", 4}, {.type = TK_JSON_STRING, .as.string = {"new", 3}}}};
    static const tk_json other = {.type = TK_JSON_OBJECT, .as.object = {members, 1}};
    msg.optimizer_params.v = (tk_optim_params){.kind = TK_OPTIMIZER_OTHER, .raw = &other};
    expect_json(&tk_msg_optim_step_request, &msg,
                "{\"model_id\":\"m\",\"type\":\"optim_step\",\"optimizer_params\":{"
                "\"type\":\"new\"}}");
    assert_int_equal(tk_optim_params_check(&msg.optimizer_params.v, NULL), TINKC_OK);
    msg.optimizer_params.v.raw = &note;
    assert_int_equal(tk_optim_params_check(&msg.optimizer_params.v, NULL),
                     TINKC_E_INVALID);
}

static void test_request_dimuon_ranges(void **unused)
{
    const struct {
        tk_f_num rate, clip, beta1;
        const char *path;
    } rows[] = {
        {TK_F_VAL(0.0), TK_F_VAL(-1.0), TK_F_VAL(0.0), NULL},
        {{.is = TK_UNSET}, {.is = TK_UNSET}, {.is = TK_UNSET}, "learning_rate"},
        {TK_F_VAL(-0.1), TK_F_VAL(0.0), TK_F_VAL(0.9), "learning_rate"},
        {TK_F_VAL((double)NAN), TK_F_VAL(0.0), TK_F_VAL(0.9), "learning_rate"},
        {TK_F_VAL((double)INFINITY), TK_F_VAL(0.0), TK_F_VAL(0.9), "learning_rate"},
        {TK_F_VAL(0.1), TK_F_VAL((double)INFINITY), TK_F_VAL(0.9), "grad_clip_norm"},
        {TK_F_VAL(0.1), TK_F_VAL(0.0), TK_F_VAL(1.0), "beta1"},
        {TK_F_VAL(0.1), TK_F_VAL(0.0), TK_F_VAL((double)NAN), "beta1"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_err err = TK_ERR_INIT;
        const tk_optim_params params = {.kind = TK_OPTIMIZER_DIMUON,
                                        .learning_rate = rows[i].rate,
                                        .grad_clip_norm = rows[i].clip,
                                        .beta1 = rows[i].beta1};
        tinkc_code code = tk_optim_params_check(&params, &err);
        assert_int_equal(code, rows[i].path != NULL ? TINKC_E_INVALID : TINKC_OK);
        assert_string_equal(err.path, rows[i].path != NULL ? rows[i].path : "");
    }
}

/* What a loss that runs at the server may be made of. */
static void test_request_custom_loss(void **unused)
{
    tk_custom_loss_input inputs[17];
    for (size_t i = 0; i < TK_ARRAY_LEN(inputs); i++) {
        static char names[17][4];
        (void)snprintf(names[i], sizeof(names[i]), "x%zu", i);
        inputs[i] = (tk_custom_loss_input){{TK_SET, tk_str_of(names[i])}, TK_F_VAL(1)};
    }
    inputs[0].name.v = TK_STR("logprobs");
    const tk_json *graph = msgfix_parse("{\"format\":1,\"nodes\":[{}]}");
    tk_create_custom_loss_request msg = {.inputs = {inputs, 16},
                                         .graph = TK_F_VAL(graph)};
    assert_int_equal(tk_create_custom_loss_check(&msg, NULL), TINKC_OK);
    msg.inputs.n = 17;
    assert_int_equal(tk_create_custom_loss_check(&msg, NULL), TINKC_E_INVALID);
    msg.inputs.n = 0;
    assert_int_equal(tk_create_custom_loss_check(&msg, NULL), TINKC_E_INVALID);
    msg.inputs.n = 2;
    static const char *const bad[] = {"X", "1a", "a-b", "", "logprobs"};
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        inputs[1].name.v = tk_str_of(bad[i]);
        assert_int_equal(tk_create_custom_loss_check(&msg, NULL), TINKC_E_INVALID);
    }
    inputs[1].name.v = TK_STR("_a1");
    assert_int_equal(tk_create_custom_loss_check(&msg, NULL), TINKC_OK);
    inputs[0].rank.v = 0;
    assert_int_equal(tk_create_custom_loss_check(&msg, NULL), TINKC_E_INVALID);
    inputs[0].rank.v = 2;
    inputs[1].rank.v = 3;
    assert_int_equal(tk_create_custom_loss_check(&msg, NULL), TINKC_E_INVALID);
    inputs[1].rank.v = 0;
    assert_int_equal(tk_create_custom_loss_check(&msg, NULL), TINKC_OK);
    static const char *const graphs[] = {"{}", "{\"format\":2,\"nodes\":[{}]}",
                                         "{\"format\":1,\"nodes\":[]}",
                                         "{\"format\":1,\"nodes\":{}}", "[]"};
    for (size_t i = 0; i < TK_ARRAY_LEN(graphs); i++) {
        msg.graph.v = msgfix_parse(graphs[i]);
        assert_int_equal(tk_create_custom_loss_check(&msg, NULL), TINKC_E_INVALID);
    }
}

static void test_request_adam_ranges(void **unused)
{
    const struct {
        tk_adam_params params;
        const char *path; /* NULL: valid */
    } rows[] = {
        {{.learning_rate = TK_F_VAL(0.0)}, NULL},
        {{.beta1 = TK_F_VAL(0.0), .beta2 = TK_F_VAL(0.9999)}, NULL},
        {{.learning_rate = TK_F_VAL(-1e-9)}, "learning_rate"},
        {{.beta1 = TK_F_VAL(1.0)}, "beta1"},
        {{.beta2 = TK_F_VAL(-0.1)}, "beta2"},
        {{.eps = TK_F_VAL(0.0)}, "eps"},
        {{.weight_decay = TK_F_VAL(-1.0)}, "weight_decay"},
        {{.grad_clip_norm = TK_F_VAL((double)INFINITY)}, "grad_clip_norm"},
        {{.eps = TK_F_VAL((double)NAN)}, "eps"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_err err = TK_ERR_INIT;
        tinkc_code code = tk_adam_params_check(&rows[i].params, &err);
        assert_int_equal(code, rows[i].path == NULL ? TINKC_OK : TINKC_E_INVALID);
        assert_string_equal(err.path, rows[i].path != NULL ? rows[i].path : "");
    }
}

static const int32_t prompt_tokens[] = {1, 2};
static const tk_chunk prompt_chunk = {.kind = TK_CHUNK_TEXT,
                                      .tokens = {prompt_tokens, 2}};
#define PROMPT                                                                           \
    {                                                                                    \
        &prompt_chunk, 1                                                                 \
    }
#define PROMPT_JSON                                                                      \
    "\"prompt\":{\"chunks\":[{\"tokens\":[1,2],\"type\":\"encoded_text\"}]},"
#define PARAMS_JSON                                                                      \
    "\"sampling_params\":{\"temperature\":1.0,\"top_k\":-1,\"top_p\":1.0},"

/* the three modes; 1 sample, no prompt logprobs, top-k 0. */
static void test_request_sample_modes(void **unused)
{
    tk_sample_request msg = {.prompt = PROMPT, .base_model = S("b")};
    expect_json(&tk_msg_sample_request, &msg,
                "{\"num_samples\":1," PROMPT_JSON PARAMS_JSON
                "\"base_model\":\"b\",\"topk_prompt_logprobs\":0,\"type\":\"sample\"}");
    msg = (tk_sample_request){.prompt = PROMPT, .model_path = S("tinker://r/weights/x")};
    expect_json(&tk_msg_sample_request, &msg,
                "{\"num_samples\":1," PROMPT_JSON PARAMS_JSON
                "\"model_path\":\"tinker://r/weights/x\",\"topk_prompt_logprobs\":0,"
                "\"type\":\"sample\"}");
    msg = (tk_sample_request){.prompt = PROMPT,
                              .sampling_session_id = S("S:sample:0"),
                              .seq_id = TK_F_VAL(0),
                              .prompt_logprobs = TK_F_VAL(false)};
    expect_json(
        &tk_msg_sample_request, &msg,
        "{\"num_samples\":1," PROMPT_JSON PARAMS_JSON
        "\"sampling_session_id\":\"S:sample:0\",\"seq_id\":0,"
        "\"prompt_logprobs\":false,\"topk_prompt_logprobs\":0,\"type\":\"sample\"}");
}

static void test_request_sample_full(void **unused)
{
    static const int32_t stops[] = {7};
    const tk_sample_request msg = {
        .num_samples = TK_F_VAL(4),
        .prompt = PROMPT,
        .sampling_params = {.max_tokens = TK_F_VAL(16),
                            .seed = TK_F_VAL(UINT64_MAX),
                            .stop = {TK_SET,
                                     {.form = TK_STOPS_TOKENS, .tokens = {stops, 1}}},
                            .temperature = TK_F_VAL(0.0),
                            .top_k = TK_F_VAL(5),
                            .top_p = TK_F_VAL(0.5)},
        .sampling_session_id = S("s"),
        .seq_id = TK_F_VAL(9),
        .prompt_logprobs = TK_F_VAL(true),
        .topk_prompt_logprobs = TK_F_VAL(3)};
    expect_json(
        &tk_msg_sample_request, &msg,
        "{\"num_samples\":4," PROMPT_JSON
        "\"sampling_params\":{\"max_tokens\":16,\"seed\":18446744073709551615,\"stop\":[7],"
        "\"temperature\":0.0,\"top_k\":5,\"top_p\":0.5},\"sampling_session_id\":\"s\","
        "\"seq_id\":9,\"prompt_logprobs\":true,\"topk_prompt_logprobs\":3,"
        "\"type\":\"sample\"}");
}

/* prompt_logprobs is left out when unset and can never be null. */
static void test_request_sample_no_null(void **unused)
{
    tk_sample_request msg = {
        .prompt = PROMPT, .base_model = S("b"), .prompt_logprobs = {.is = TK_NULL}};
    expect_refused(&tk_msg_sample_request, &msg, "prompt_logprobs");
    msg.prompt_logprobs.is = TK_UNSET;
    msg.sampling_params.stop.is = TK_NULL;
    expect_refused(&tk_msg_sample_request, &msg, "sampling_params.stop");
}

/* exactly one of session, path and base model. */
static void test_request_sample_check(void **unused)
{
    for (unsigned bits = 0; bits < 16; bits++) {
        tk_sample_request msg = {.prompt = PROMPT};
        msg.sampling_session_id.is = (bits & 1) != 0 ? TK_SET : TK_UNSET;
        msg.model_path.is = (bits & 2) != 0 ? TK_SET : TK_UNSET;
        msg.base_model.is = (bits & 4) != 0 ? TK_SET : TK_NULL;
        msg.seq_id.is = (bits & 8) != 0 ? TK_SET : TK_UNSET;
        unsigned modes = bits & 7;
        bool one = modes == 1 || modes == 2 || modes == 4;
        bool valid = one && (modes != 1 || (bits & 8) != 0);
        tk_sample_mode mode = TK_SAMPLE_BY_BASE;
        tk_err err = TK_ERR_INIT;
        tinkc_code code = tk_sample_request_check(&msg, &mode, &err);
        assert_int_equal(code, valid ? TINKC_OK : TINKC_E_INVALID);
        if (valid) {
            assert_int_equal(mode, modes == 1   ? TK_SAMPLE_BY_SESSION
                                   : modes == 2 ? TK_SAMPLE_BY_PATH
                                                : TK_SAMPLE_BY_BASE);
        }
    }
}

/* docs/protocol.md §8.4: `stop` keeps the form it was given in. */
static void test_request_stop_forms(void **unused)
{
    static const struct {
        const char *json;
        int form; /* -1: refused */
    } rows[] = {
        {"\"###\"", TK_STOPS_TEXT},
        {"\"\"", TK_STOPS_TEXT},
        {"[\"a\",\"b\"]", TK_STOPS_TEXTS},
        {"[]", TK_STOPS_TEXTS},
        {"[1,2]", TK_STOPS_TOKENS},
        {"[1,\"a\"]", -1},
        {"[\"a\",1]", -1},
        {"[1.5]", -1},
        {"[99999999999]", -1},
        {"7", -1},
        {"{}", -1},
        {"[null]", -1},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_stops stops;
        tinkc_code code = tk_schema_decode_text(&stops, &tk_msg_stops, &msgfix_arena,
                                                tk_str_of(rows[i].json), 0, NULL);
        assert_int_equal(code, rows[i].form >= 0 ? TINKC_OK : TINKC_E_DECODE);
        if (code == TINKC_OK) {
            assert_int_equal(stops.form, rows[i].form);
            expect_json(&tk_msg_stops, &stops, rows[i].json);
        }
    }
}

static void test_request_save(void **unused)
{
    tk_save_weights_request msg = {.model_id = S("m"), .path = S("n")};
    expect_json(&tk_msg_save_weights_request, &msg,
                "{\"model_id\":\"m\",\"path\":\"n\",\"overwrite\":false,"
                "\"type\":\"save_weights\"}");
    msg.seq_id = (tk_f_i64)TK_F_VAL(5);
    msg.ttl_seconds = (tk_f_i64)TK_F_VAL(60);
    msg.overwrite = (tk_f_bool)TK_F_VAL(true);
    expect_json(&tk_msg_save_weights_request, &msg,
                "{\"model_id\":\"m\",\"path\":\"n\",\"seq_id\":5,\"ttl_seconds\":60,"
                "\"overwrite\":true,\"type\":\"save_weights\"}");
    tk_save_for_sampler_request sampler = {.model_id = S("m"), .seq_id = TK_F_VAL(6)};
    assert_int_equal(tk_save_for_sampler_check(&sampler, NULL), TINKC_E_INVALID);
    sampler.sampling_session_seq_id = (tk_f_i64)TK_F_VAL(1);
    assert_int_equal(tk_save_for_sampler_check(&sampler, NULL), TINKC_OK);
    expect_json(&tk_msg_save_for_sampler_request, &sampler,
                "{\"model_id\":\"m\",\"sampling_session_seq_id\":1,\"seq_id\":6,"
                "\"type\":\"save_weights_for_sampler\"}");
    sampler.path = (tk_f_str)S("n");
    assert_int_equal(tk_save_for_sampler_check(&sampler, NULL), TINKC_E_INVALID);
    sampler.sampling_session_seq_id.is = TK_UNSET;
    assert_int_equal(tk_save_for_sampler_check(&sampler, NULL), TINKC_OK);
}

static void test_request_load(void **unused)
{
    tk_load_weights_request msg = {.path = S("tinker://r/weights/n"),
                                   .optimizer = TK_F_VAL(false)};
    assert_int_equal(tk_load_weights_check(&msg, NULL), TINKC_E_INVALID);
    msg.model_id = (tk_f_str)S("m");
    msg.seq_id = (tk_f_i64)TK_F_VAL(1);
    assert_int_equal(tk_load_weights_check(&msg, NULL), TINKC_OK);
    expect_json(&tk_msg_load_weights_request, &msg,
                "{\"model_id\":\"m\",\"seq_id\":1,\"path\":\"tinker://r/weights/n\","
                "\"optimizer\":false,\"type\":\"load_weights\"}");
    msg.session_id = (tk_f_str)S("s");
    assert_int_equal(tk_load_weights_check(&msg, NULL), TINKC_E_INVALID);
    msg.model_id.is = msg.seq_id.is = TK_UNSET;
    assert_int_equal(tk_load_weights_check(&msg, NULL), TINKC_E_INVALID);
    msg.model_seq_id = (tk_f_i64)TK_F_VAL(0);
    assert_int_equal(tk_load_weights_check(&msg, NULL), TINKC_OK);
    msg.base_model = (tk_f_str)S("b");
    msg.user_metadata = (tk_f_raw)TK_F_VAL(&note);
    msg.optimizer = (tk_f_bool)TK_F_VAL(true);
    msg.weights_access_token = (tk_f_str)S("t");
    expect_json(&tk_msg_load_weights_request, &msg,
                "{\"session_id\":\"s\",\"model_seq_id\":0,\"base_model\":\"b\","
                "\"user_metadata\":{\"note\":\"n\"},\"path\":\"tinker://r/weights/n\","
                "\"optimizer\":true,\"weights_access_token\":\"t\","
                "\"type\":\"load_weights\"}");
    msg.optimizer.is = TK_UNSET;
    expect_refused(&tk_msg_load_weights_request, &msg, "optimizer");
}

static void test_request_rest(void **unused)
{
    const tk_weights_info_request info = {S("tinker://r/weights/n")};
    expect_json(&tk_msg_weights_info_request, &info,
                "{\"tinker_path\":\"tinker://r/weights/n\"}");
    const tk_project_request project = {S("p")};
    expect_json(&tk_msg_project_request, &project, "{\"project_id\":\"p\"}");
    tk_retrieve_future_request future = {.request_id = S("1")};
    expect_json(&tk_msg_retrieve_future_request, &future,
                "{\"request_id\":\"1\",\"allow_metadata_only\":false}");
    future.allow_metadata_only = (tk_f_bool)TK_F_VAL(true);
    expect_json(&tk_msg_retrieve_future_request, &future,
                "{\"request_id\":\"1\",\"allow_metadata_only\":true}");
}

/* docs/protocol.md §4.1 to §4.3, as recorded. */
static void test_request_futures(void **unused)
{
    tk_retrieve_futures_request many = {
        .target = {.sampling_session_id = S("S:sample:0")}};
    expect_json(&tk_msg_retrieve_futures_request, &many,
                "{\"target\":{\"type\":\"sampling_session\",\"sampling_session_id\":"
                "\"S:sample:0\",\"cloned_sampler_id\":0},\"prev_cursor\":0,"
                "\"retrieved_request_ids\":[]}");
    tk_str ids[] = {TK_STR("S:sample:0:0"), TK_STR("S:sample:0:1")};
    many.target.cloned_sampler_id = (tk_f_i64)TK_F_VAL(3);
    many.prev_cursor = (tk_f_i64)TK_F_VAL(7);
    many.retrieved_request_ids = (tk_strs){ids, 2};
    expect_json(&tk_msg_retrieve_futures_request, &many,
                "{\"target\":{\"type\":\"sampling_session\",\"sampling_session_id\":"
                "\"S:sample:0\",\"cloned_sampler_id\":3},\"prev_cursor\":7,"
                "\"retrieved_request_ids\":[\"S:sample:0:0\",\"S:sample:0:1\"]}");
    const tk_cancel_future_request cancel = {S("S:sample:0:0")};
    expect_json(&tk_msg_cancel_future_request, &cancel,
                "{\"request_id\":\"S:sample:0:0\"}");
    const tk_join_sampling_session_request join = {S("S:sample:0")};
    expect_json(&tk_msg_join_sampling_session_request, &join,
                "{\"sampling_session_id\":\"S:sample:0\",\"type\":"
                "\"join_sampling_session\"}");
}

static void test_request_telemetry(void **unused)
{
#define EVENT(k, level)                                                                  \
    .kind = (k), .event_id = S("e"), .event_session_index = TK_F_VAL(0),                 \
    .severity = TK_F_VAL(level), .timestamp = {                                          \
        TK_SET,                                                                          \
        INT64_C(1783900800000000)                                                        \
    }
#define EVENT_JSON(word, level)                                                          \
    "{\"event\":\"" word "\",\"event_id\":\"e\",\"event_session_index\":0,"              \
    "\"severity\":\"" level "\",\"timestamp\":\"2026-07-13T00:00:00.000000Z\""
    const tk_event events[] = {
        {EVENT(TK_EVENT_SESSION_START, TK_SEVERITY_INFO)},
        {EVENT(TK_EVENT_SESSION_END, TK_SEVERITY_INFO), .duration = S("0:01:23.456000")},
        {EVENT(TK_EVENT_UNHANDLED_EXCEPTION, TK_SEVERITY_ERROR), .error_type = S("T"),
         .error_message = S("m")},
        {EVENT(TK_EVENT_GENERIC, TK_SEVERITY_WARNING), .event_name = S("n")},
        {EVENT(TK_EVENT_GENERIC, TK_SEVERITY_DEBUG), .event_name = S("n"),
         .event_data = TK_F_VAL(&note)},
    };
    const tk_telemetry_request msg = {.events = events,
                                      .events_n = TK_ARRAY_LEN(events),
                                      .platform = S("Linux"),
                                      .sdk_version = S("0.25.0"),
                                      .session_id = S("s"),
                                      .process_uuid = S("u")};
    expect_json(
        &tk_msg_telemetry_request, &msg,
        "{\"events\":[" EVENT_JSON("SESSION_START", "INFO") "}," EVENT_JSON("SESSION_END", "INFO") ",\"duration\":\"0:01:23.456000\"}," EVENT_JSON("UNHANDLED_EXCEPTION", "ERROR") ",\"error_type\":\"T\",\"error_message\":\"m\"}," EVENT_JSON(
            "GENERIC_EVENT",
            "WARNING") ",\"event_name\":\"n\",\"event_data\":{}}," EVENT_JSON("GENERIC_EVENT",
                                                                              "DEBUG") ",\"event_name\":\"n\",\"event_data\":{\"note\":\"n\"}}],"
                                                                                       "\"platform\":\"Linux\",\"sdk_version\":\"0.25.0\","
                                                                                       "\"session_id\":\"s\",\"process_uuid\":\"u\"}");
}

/* docs/protocol.md §2.1: {} is a valid answer to client/config and means every
 * default. */
static void test_request_client_config_defaults(void **unused)
{
    tk_client_config config;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_schema_decode_text(&config, &tk_msg_client_config, &msgfix_arena,
                                           TK_STR("{\"new_flag\":1}"), 0, &err),
                     TINKC_OK);
    assert_false(config.pjwt_auth_enabled.v);
    assert_true(tk_str_is(config.credential_default_source.v, "api_key"));
    assert_int_equal(config.sample_dispatch_bytes_semaphore_size.v, 10485760);
    assert_int_equal(config.inflight_response_bytes_semaphore_size.v, 52428800);
    assert_true(config.parallel_fwdbwd_chunks.v);
    assert_false(config.proto_compress_fwdbwd.v);
    assert_int_equal(config.fwdbwd_max_chunk_len.v, 1024);
    assert_int_equal(config.fwdbwd_max_chunk_bytes_count.v, 5000000);
    assert_int_equal(config.fwdbwd_dispatch_bytes_semaphore_size.v, 50000000);
    assert_int_equal(config.billing_exception_max_pause_duration_sec.v, 3600);
    assert_false(config.sample_no_retries.v);
    assert_true(config.sample_enable_stuck_detection.v);
    assert_int_equal(config.sample_max_concurrent_requests.v, 2000);
    assert_true(config.use_pyqwest_transport.v);
    assert_false(config.create_model_via_load_weights.v);
    assert_false(config.sample_use_retrieve_futures.v);
    assert_false(config.sample_join_sampling_session.v);
    assert_false(config.custom_loss_server_side.v);
    assert_int_equal(tk_msg_client_config.n, 18);
    assert_int_equal(
        tk_schema_decode_text(&config, &tk_msg_client_config, &msgfix_arena,
                              TK_STR("{\"sample_max_concurrent_requests\":0}"), 0, &err),
        TINKC_E_DECODE);
    tk_dynamic_config dynamic;
    assert_int_equal(tk_schema_decode_text(&dynamic, &tk_msg_dynamic_config,
                                           &msgfix_arena, TK_STR("{}"), 0, NULL),
                     TINKC_OK);
    assert_int_equal(dynamic.refresh_interval_sec.v, 300);
    assert_false(dynamic.sample_cancel_enabled.v);
    assert_int_equal(dynamic.sample_cancel_max_batch_size.v, 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_request_service),
        cmocka_unit_test(test_request_sampling_session),
        cmocka_unit_test(test_request_model),
        cmocka_unit_test(test_request_optim_step),
        cmocka_unit_test(test_request_adam_ranges),
        cmocka_unit_test(test_request_optim_params),
        cmocka_unit_test(test_request_dimuon_ranges),
        cmocka_unit_test_teardown(test_request_custom_loss, msgfix_teardown),
        cmocka_unit_test(test_request_sample_modes),
        cmocka_unit_test(test_request_sample_full),
        cmocka_unit_test(test_request_sample_no_null),
        cmocka_unit_test(test_request_sample_check),
        cmocka_unit_test_teardown(test_request_stop_forms, msgfix_teardown),
        cmocka_unit_test(test_request_save),
        cmocka_unit_test(test_request_load),
        cmocka_unit_test(test_request_rest),
        cmocka_unit_test(test_request_futures),
        cmocka_unit_test(test_request_telemetry),
        cmocka_unit_test_teardown(test_request_client_config_defaults, msgfix_teardown),
    };
    return cmocka_run_group_tests_name("msg_request", tests, NULL, NULL);
}
