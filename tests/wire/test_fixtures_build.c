/* Requests built from scratch with our structs against the bodies that the official SDK
 * 0.25.0 (samples: also 0.36.0) sends for the same call (tests/data/wire): nothing but what the caller would
 * set is set here, so a lost default, a moved null or another spelling shows (A-047,
 * ..A-075, M-104, M-118). */
#include "wire/fixtures.h"
#include "wire/msg_future.h"
#include "wire/msg_model.h"
#include "wire/msg_rest.h"
#include "wire/msg_sample.h"
#include "wire/msg_session.h"
#include "wire/msg_telemetry.h"
#include "wire/msg_train.h"
#include "wire/msg_weights.h"
#include "wire/pb_fwdbwd.h"

#define SESSION "00000000-0000-4000-8000-000000000001"
#define RUN     SESSION ":train:0"
#define UUID    "11111111-2222-4333-8444-555555555555"
#define BASE    "Qwen/Qwen3-8B"
#define WEIGHTS "tinker://" RUN "/weights/a"

#define S(text) TK_F_STR(text)
#define V(x)    TK_F_VAL(x)

static tk_arena arena;

static int teardown(void **unused)
{
    tk_arena_dispose(&arena);
    return 0;
}

static const tk_json *recorded_by(const char *version, const char *name, size_t index)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "requests/%s.json", name);
    const tk_json *file = fixture_load(&arena, version, path);
    const tk_json *requests = fixture_need(file, "requests");
    assert_true(index < tk_json_len(requests));
    return fixture_at(&arena, requests, index);
}

static const tk_json *recorded(const char *name, size_t index)
{
    return recorded_by(FIXTURE_OLD, name, index);
}

static void expect_at(const char *version, const tk_schema *schema, const void *msg,
                      const char *name, size_t index)
{
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    tk_err err = TK_ERR_INIT;
    if (tk_schema_encode(&out, schema, msg, &err) != TINKC_OK) {
        fail_msg("%s: %s: %s", name, err.path, err.message);
    }
    const tk_json *got;
    assert_int_equal(tk_json_parse(&got, &arena, tk_buf_cstr(&out), out.n, NULL, &err),
                     TINKC_OK);
    fixture_assert_same(got, fixture_need(recorded_by(version, name, index), "body"), 0,
                        name);
    tk_buf_dispose(&out);
}

static void expect_nth(const tk_schema *schema, const void *msg, const char *name,
                       size_t index)
{
    expect_at(FIXTURE_OLD, schema, msg, name, index);
}

static void expect(const tk_schema *schema, const void *msg, const char *name)
{
    expect_nth(schema, msg, name, 0);
}

static const tk_json *object(const char *text)
{
    const tk_json *out;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_json_parse(&out, &arena, text, strlen(text), NULL, &err),
                     TINKC_OK);
    return out;
}

/* ---- service ---- */

/* A-067, M-118: structs that are filled by hand give the recorded bodies. */
static void test_fixture_build_service(void **unused)
{
    tk_client_config_request config = {.sdk_version = S("0.25.0")};
    expect(&tk_msg_client_config_request, &config, "service/client_config");
    expect(&tk_msg_client_config_request, &config, "service/client_dynamic_config");
    tk_auth_token_request token = {0};
    expect(&tk_msg_auth_token_request, &token, "service/auth_token");
    tk_heartbeat_request heartbeat = {.session_id = S(SESSION)};
    expect(&tk_msg_heartbeat_request, &heartbeat, "service/session_heartbeat");
}

/* what is not set is left out, as in the recordings. */
static void test_fixture_build_create_session(void **unused)
{
    tk_create_session_request plain = {.sdk_version = S("0.25.0")};
    expect(&tk_msg_create_session_request, &plain, "service/create_session_default");
    tk_str tag = TK_STR("alpha"), nothing = TK_STR("");
    tk_create_session_request full = {.tags = {&tag, 1},
                                      .sdk_version = S("0.25.0"),
                                      .user_metadata =
                                          V(object("{\"a\":\"1\",\"b\":\"\\u00fc\"}")),
                                      .project_id = S("project-1")};
    expect(&tk_msg_create_session_request, &full, "service/create_session_full");
    tk_create_session_request environment = {
        .tags = {&nothing, 1}, .sdk_version = S("0.25.0"), .project_id = S("project-2")};
    expect(&tk_msg_create_session_request, &environment,
           "service/create_session_environment");
}

/* ---- models ---- */

static void test_fixture_build_models(void **unused)
{
    tk_create_model_request plain = {.session_id = S(SESSION),
                                     .model_seq_id = V(0),
                                     .base_model = S(BASE),
                                     .lora_config = {.is = TK_SET, .v = {.rank = V(32)}}};
    expect(&tk_msg_create_model_request, &plain, "models/create_model_default");
    plain.model_seq_id = (tk_f_i64)V(1);
    plain.lora_config.v.seed = (tk_f_u64)V(0);
    expect_nth(&tk_msg_create_model_request, &plain, "models/create_model_second", 1);
    tk_create_model_request full = {.session_id = S(SESSION),
                                    .model_seq_id = V(0),
                                    .base_model = S(BASE),
                                    .user_metadata = V(object("{\"owner\":\"x\"}")),
                                    .lora_config = {.is = TK_SET,
                                                    .v = {.rank = V(8),
                                                          .seed = V(42),
                                                          .train_unembed = V(false),
                                                          .train_mlp = V(false),
                                                          .train_attn = V(true)}}};
    expect(&tk_msg_create_model_request, &full, "models/create_model_full");
    tk_model_request model = {.model_id = S(RUN)};
    expect(&tk_msg_get_info_request, &model, "models/get_info");
    expect(&tk_msg_unload_model_request, &model, "models/unload_model");
}

/* ---- training ---- */

/* Tinker's Adam defaults. */
static void test_fixture_build_optim_step(void **unused)
{
    tk_optim_step_request plain = {
        .adam_params = {.is = TK_SET}, .model_id = S(RUN), .seq_id = V(1)};
    expect(&tk_msg_optim_step_request, &plain, "training/optim_step_default");
    tk_optim_step_request full = {.adam_params = {TK_SET,
                                                  {.learning_rate = V(5e-5),
                                                   .beta1 = V(0.8),
                                                   .beta2 = V(0.999),
                                                   .eps = V(1e-8),
                                                   .weight_decay = V(0.01),
                                                   .grad_clip_norm = V(1.0)}},
                                  .model_id = S(RUN),
                                  .seq_id = V(1)};
    expect(&tk_msg_optim_step_request, &full, "training/optim_step_full");
}

static void test_fixture_build_save(void **unused)
{
    tk_save_weights_request save = {
        .model_id = S(RUN), .path = S("step-1"), .seq_id = V(1)};
    expect(&tk_msg_save_weights_request, &save, "training/save_state_default");
    save.ttl_seconds = (tk_f_i64)V(3600);
    save.overwrite = (tk_f_bool)V(true);
    expect(&tk_msg_save_weights_request, &save, "training/save_state_full");
    tk_save_for_sampler_request named = {
        .model_id = S(RUN), .path = S("s-1"), .seq_id = V(1)};
    expect(&tk_msg_save_for_sampler_request, &named,
           "training/save_weights_for_sampler_default");
    named.ttl_seconds = (tk_f_i64)V(60);
    expect(&tk_msg_save_for_sampler_request, &named,
           "training/save_weights_for_sampler_full");
    for (int64_t i = 0; i < 2; i++) {
        tk_save_for_sampler_request ephemeral = {
            .model_id = S(RUN), .sampling_session_seq_id = V(i), .seq_id = V(i + 1)};
        expect_nth(&tk_msg_save_for_sampler_request, &ephemeral,
                   "training/save_weights_ephemeral", (size_t)i);
    }
}

static void test_fixture_build_load(void **unused)
{
    tk_load_weights_request load = {
        .model_id = S(RUN), .seq_id = V(1), .path = S(WEIGHTS), .optimizer = V(false)};
    expect(&tk_msg_load_weights_request, &load, "training/load_state");
    load.optimizer = (tk_f_bool)V(true);
    load.weights_access_token = (tk_f_str)S("tml-other");
    expect(&tk_msg_load_weights_request, &load, "training/load_state_full");
    tk_load_weights_request create = {.session_id = S(SESSION),
                                      .model_seq_id = V(0),
                                      .path = S(WEIGHTS),
                                      .optimizer = V(false)};
    expect(&tk_msg_load_weights_request, &create, "training/create_via_load");
    create.optimizer = (tk_f_bool)V(true);
    create.base_model = (tk_f_str)S(BASE);
    create.user_metadata = (tk_f_raw)V(object("{\"a\":\"b\"}"));
    create.weights_access_token = (tk_f_str)S("tml-other");
    expect(&tk_msg_load_weights_request, &create, "training/create_via_load_full");
    tk_weights_info_request info = {.tinker_path = S(WEIGHTS)};
    expect(&tk_msg_weights_info_request, &info, "training/from_state");
}

static void expect_protobuf(const tk_fwdbwd_request *request, const char *name)
{
    tk_bytes want = fixture_bytes(&arena, recorded(name, 0), "protobuf_base64");
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    tk_err err = TK_ERR_INIT;
    if (tk_pb_fwdbwd_encode(&out, request, &err) != TINKC_OK) {
        fail_msg("%s: %s: %s", name, err.path, err.message);
    }
    if (out.n != want.n || memcmp(out.p, want.p, want.n) != 0) {
        fail_msg("%s: other bytes (%zu, recorded %zu)", name, out.n, want.n);
    }
    tk_buf_dispose(&out);
}

/* Field numbers, packing and the rule for zero, byte for byte. */
static void test_fixture_build_forward_backward(void **unused)
{
    const int32_t tokens[] = {1, 2, 3};
    const int64_t targets[] = {2, 3, 4}, shape[] = {3};
    const float weights[] = {1.0F, 1.0F, 1.0F}, logprobs[] = {-0.5F, -1.25F, -2.0F},
                advantages[] = {0.5F, 0.5F, -1.0F};
    const tk_chunk chunk = {.kind = TK_CHUNK_TEXT, .tokens = {tokens, 3}};
    const tk_tensor ints = {
        .dtype = TK_DTYPE_I64, .data = targets, .n = 3, true, {shape, 1}};
    tk_tensor floats = {.dtype = TK_DTYPE_F32, .data = weights, .n = 3, true, {shape, 1}};
    tk_named_tensor plain[] = {{TK_STR("target_tokens"), ints},
                               {TK_STR("weights"), floats}};
    tk_datum datum = {.model_input = {&chunk, 1}, .loss_fn_inputs = {plain, 2}};
    tk_fwdbwd_request request = {.model_id = TK_STR(RUN),
                                 .seq_id = 1,
                                 .data = &datum,
                                 .data_n = 1,
                                 .loss_fn = TK_STR("cross_entropy")};
    expect_protobuf(&request, "training/forward_backward_cross_entropy");
    request.forward_only = true;
    expect_protobuf(&request, "training/forward");

    tk_named_tensor policy[] = {{TK_STR("advantages"), floats},
                                {TK_STR("logprobs"), floats},
                                {TK_STR("target_tokens"), ints}};
    policy[0].tensor.data = advantages;
    policy[1].tensor.data = logprobs;
    datum.loss_fn_inputs = (tk_tensor_map){policy, 3};
    const tk_named_num config[] = {{TK_STR("clip_high_threshold"), 4.0},
                                   {TK_STR("clip_low_threshold"), 0.0}};
    request.loss_fn = TK_STR("cispo");
    request.loss_fn_config = (tk_num_map){config, 2};
    request.forward_only = false;
    expect_protobuf(&request, "training/loss_cispo");
}

/* ---- sampling ---- */

static tk_sample_request sample_of(const tk_chunk *chunk)
{
    tk_sample_request out = {.prompt = {chunk, 1},
                             .sampling_session_id = S(SESSION ":sample:0"),
                             .seq_id = V(0),
                             .prompt_logprobs = V(false)};
    return out;
}

static void test_fixture_build_sample(void **unused)
{
    const int32_t tokens[] = {1, 2, 3};
    const tk_chunk chunk = {.kind = TK_CHUNK_TEXT, .tokens = {tokens, 3}};
    tk_sample_request plain = sample_of(&chunk);
    expect(&tk_msg_sample_request, &plain, "sampling/sample_default");
    tk_str stops[] = {TK_STR("\n\n"), TK_STR("END")};
    tk_sample_request full = sample_of(&chunk);
    full.num_samples = (tk_f_i64)V(4);
    full.prompt_logprobs = (tk_f_bool)V(true);
    full.topk_prompt_logprobs = (tk_f_i64)V(5);
    full.sampling_params = (tk_sampling_params){
        .max_tokens = V(16),
        .seed = V(42),
        .stop = {TK_SET, {.form = TK_STOPS_TEXTS, .texts = {stops, 2}}},
        .temperature = V(0.7),
        .top_k = V(50),
        .top_p = V(0.9)};
    expect(&tk_msg_sample_request, &full, "sampling/sample_full");
    tk_sample_request zeros = sample_of(&chunk);
    zeros.sampling_params = (tk_sampling_params){.max_tokens = V(0),
                                                 .seed = V(INT64_MAX),
                                                 .temperature = V(0.0),
                                                 .top_k = V(0),
                                                 .top_p = V(0.0)};
    expect(&tk_msg_sample_request, &zeros, "sampling/sample_zeros");
}

static tk_sample_request sample_of_36(const tk_chunk *chunk)
{
    tk_sample_request out = sample_of(chunk);
    out.topk_sample_logprobs = (tk_f_i64)V(0);
    out.prompt_alt_tokens_k = (tk_f_i64)V(0);
    out.record_stability_info = (tk_f_bool)V(false);
    return out;
}

/* The bodies of 0.36.0: three more that are always sent, two when they are set. */
static void test_fixture_build_sample_later(void **unused)
{
    const int32_t tokens[] = {1, 2, 3};
    const int64_t dense[] = {5, -1}, shape[] = {2, 1}, crow[] = {0, 1, 1}, col[] = {0};
    const tk_chunk chunk = {.kind = TK_CHUNK_TEXT, .tokens = {tokens, 3}};
    tk_sample_request msg = sample_of_36(&chunk);
    expect_at(FIXTURE_NEW, &tk_msg_sample_request, &msg, "sampling/sample_default", 0);
    msg.sampling_params.max_tokens = (tk_f_i64)V(1);
    msg.prompt_logprobs = (tk_f_bool)V(true);
    expect_at(FIXTURE_NEW, &tk_msg_sample_request, &msg, "sampling/compute_logprobs", 0);
    msg.record_stability_info = (tk_f_bool)V(true);
    msg.prompt_logprobs_last_n = (tk_f_i64)V(2);
    msg.seq_id = (tk_f_i64)V(2);
    expect_at(FIXTURE_NEW, &tk_msg_sample_request, &msg, "sampling/sample_new_options",
              2);
    msg.seq_id = (tk_f_i64)V(0);
    msg.topk_sample_logprobs = (tk_f_i64)V(3);
    msg.prompt_alt_tokens_k = (tk_f_i64)V(2);
    msg.prompt_logprobs_last_n = (tk_f_i64)V(1);
    msg.target_prompt_logprobs = (tk_f_tensor){
        TK_SET,
        {.dtype = TK_DTYPE_I64, .data = dense, .n = 2, true, .shape = {shape, 2}}};
    expect_at(FIXTURE_NEW, &tk_msg_sample_request, &msg, "sampling/sample_new_options",
              0);
    msg.seq_id = (tk_f_i64)V(1);
    msg.target_prompt_logprobs.v.n = 1;
    msg.target_prompt_logprobs.v.is_sparse = true;
    msg.target_prompt_logprobs.v.crow = (tk_i64s){crow, 3};
    msg.target_prompt_logprobs.v.col = (tk_i64s){col, 1};
    expect_at(FIXTURE_NEW, &tk_msg_sample_request, &msg, "sampling/sample_new_options",
              1);
}

/* `stop` keeps the form that the caller chose. */
static void test_fixture_build_stop(void **unused)
{
    const int32_t prompt[] = {1, 2, 3}, ids[] = {151643, 2};
    const tk_chunk chunk = {.kind = TK_CHUNK_TEXT, .tokens = {prompt, 3}};
    tk_str texts[] = {TK_STR("a"), TK_STR("\xc3\xa9")};
    const struct {
        const char *name;
        tk_stops stops;
    } forms[] = {
        {"sampling/stop_string", {.form = TK_STOPS_TEXT, .text = TK_STR("END")}},
        {"sampling/stop_empty_string", {.form = TK_STOPS_TEXT}},
        {"sampling/stop_strings", {.form = TK_STOPS_TEXTS, .texts = {texts, 2}}},
        {"sampling/stop_empty", {.form = TK_STOPS_TEXTS}},
        {"sampling/stop_tokens", {.form = TK_STOPS_TOKENS, .tokens = {ids, 2}}},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(forms); i++) {
        tk_sample_request request = sample_of(&chunk);
        request.sampling_params.max_tokens = (tk_f_i64)V(4);
        request.sampling_params.stop = (tk_f_stops){TK_SET, forms[i].stops};
        expect(&tk_msg_sample_request, &request, forms[i].name);
    }
}

static void test_fixture_build_sampling_session(void **unused)
{
    for (int64_t i = 0; i < 2; i++) {
        tk_create_sampling_session_request base = {.session_id = S(SESSION),
                                                   .sampling_session_seq_id = V(i),
                                                   .base_model = S(BASE)};
        expect_nth(&tk_msg_create_sampling_session_request, &base,
                   "sampling/create_session_base_model", (size_t)i);
    }
    tk_create_sampling_session_request path = {
        .session_id = S(SESSION),
        .sampling_session_seq_id = V(0),
        .model_path = S("tinker://" RUN "/sampler_weights/a")};
    expect(&tk_msg_create_sampling_session_request, &path,
           "sampling/create_session_path");
    path.base_model = (tk_f_str)S(BASE);
    expect(&tk_msg_create_sampling_session_request, &path,
           "sampling/create_session_both");
}

/* ---- futures, REST, telemetry ---- */

static void test_fixture_build_poll(void **unused)
{
    for (size_t i = 0; i < 4; i++) {
        tk_retrieve_future_request poll = {.request_id = S(RUN ":1"),
                                           .allow_metadata_only = V(i < 3)};
        expect_nth(&tk_msg_retrieve_future_request, &poll, "futures/poll_sequence", i);
    }
}

/* the time to live is removed with a null that is really sent. */
static void test_fixture_build_rest(void **unused)
{
    tk_ttl_request ttl = {.ttl_seconds = V(3600)};
    expect_nth(&tk_msg_ttl_request, &ttl, "rest/ttl", 0);
    ttl.ttl_seconds = (tk_f_i64){.is = TK_NULL};
    expect_nth(&tk_msg_ttl_request, &ttl, "rest/ttl", 1);
    tk_project_request project = {.project_id = S("project-1")};
    expect(&tk_msg_project_request, &project, "rest/assign_project");
    tk_weights_info_request info = {.tinker_path = S("tinker://" RUN "/weights/0001")};
    expect(&tk_msg_weights_info_request, &info, "rest/weights_info");
}

static tk_event event_of(tk_event_kind kind, int64_t index, tk_severity severity)
{
    tk_event out = {.kind = kind,
                    .event_id = S(UUID),
                    .event_session_index = V(index),
                    .severity = V((int)severity),
                    .timestamp = V(1767323045678901)};
    return out;
}

static void test_fixture_build_telemetry(void **unused)
{
    tk_event events[] = {
        event_of(TK_EVENT_SESSION_START, 0, TK_SEVERITY_INFO),
        event_of(TK_EVENT_UNHANDLED_EXCEPTION, 1, TK_SEVERITY_CRITICAL),
        event_of(TK_EVENT_SESSION_END, 2, TK_SEVERITY_INFO),
    };
    events[1].error_type = (tk_f_str)S("RuntimeError");
    events[1].error_message = (tk_f_str)S("broken");
    events[1].traceback = (tk_f_str)S("Traceback (most recent call last):\n  ...\n");
    events[2].duration = (tk_f_str)S("0:01:23.456789");
    tk_telemetry_request batch = {.events = events,
                                  .events_n = 3,
                                  .platform = S("Linux"),
                                  .sdk_version = S("0.25.0"),
                                  .session_id = S(SESSION),
                                  .process_uuid = S(UUID)};
    expect(&tk_msg_telemetry_request, &batch, "telemetry/fatal_exception");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_fixture_build_service, teardown),
        cmocka_unit_test_teardown(test_fixture_build_create_session, teardown),
        cmocka_unit_test_teardown(test_fixture_build_models, teardown),
        cmocka_unit_test_teardown(test_fixture_build_optim_step, teardown),
        cmocka_unit_test_teardown(test_fixture_build_save, teardown),
        cmocka_unit_test_teardown(test_fixture_build_load, teardown),
        cmocka_unit_test_teardown(test_fixture_build_forward_backward, teardown),
        cmocka_unit_test_teardown(test_fixture_build_sample, teardown),
        cmocka_unit_test_teardown(test_fixture_build_sample_later, teardown),
        cmocka_unit_test_teardown(test_fixture_build_stop, teardown),
        cmocka_unit_test_teardown(test_fixture_build_sampling_session, teardown),
        cmocka_unit_test_teardown(test_fixture_build_poll, teardown),
        cmocka_unit_test_teardown(test_fixture_build_rest, teardown),
        cmocka_unit_test_teardown(test_fixture_build_telemetry, teardown),
    };
    return cmocka_run_group_tests_name("fixtures_build", tests, NULL, NULL);
}
