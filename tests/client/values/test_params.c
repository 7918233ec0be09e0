/* Options of sampling, optimizing, LoRA and losses: defaults, checks, what they become on
 * the wire (A-042, A-049..A-051, A-055, A-071, M-053, M-061, M-073, M-074). */
#include "client/values/params.h"

#include <math.h>

#include "base/limits.h"
#include "support/failmem.h"
#include "support/msgfix.h"
#include "support/test.h"

/* an _INIT struct, and no struct at all, give the SDK's defaults. */
static void test_params_defaults(void **unused)
{
    const tinkc_sampling_params sampling = TINKC_SAMPLING_PARAMS_INIT;
    const tinkc_adam_params adam = TINKC_ADAM_PARAMS_INIT;
    const tinkc_lora_config lora = TINKC_LORA_CONFIG_INIT;
    for (size_t i = 0; i < 2; i++) {
        tk_sampling_params a;
        tk_adam_params b;
        tk_lora_config c;
        assert_int_equal(
            tk_params_sampling(&a, &msgfix_arena, i == 0 ? &sampling : NULL, NULL),
            TINKC_OK);
        expect_json(&tk_msg_sampling_params, &a,
                    "{\"temperature\":1.0,\"top_k\":-1,\"top_p\":1.0}");
        assert_int_equal(tk_params_adam(&b, i == 0 ? &adam : NULL, NULL), TINKC_OK);
        expect_json(&tk_msg_adam_params, &b,
                    "{\"learning_rate\":0.0001,\"beta1\":0.9,\"beta2\":0.95,"
                    "\"eps\":1e-12,\"weight_decay\":0.0,\"grad_clip_norm\":0.0}");
        assert_int_equal(tk_params_lora(&c, i == 0 ? &lora : NULL, NULL), TINKC_OK);
        expect_json(&tk_msg_lora_config, &c,
                    "{\"rank\":32,\"train_unembed\":true,\"train_mlp\":true,"
                    "\"train_attn\":true}");
    }
    const tinkc_sample_options options = TINKC_SAMPLE_OPTIONS_INIT;
    tk_sample_request request = {.base_model = TK_F_STR("b")};
    assert_int_equal(tk_params_sample_options(&request, &options, NULL), TINKC_OK);
    expect_json(&tk_msg_sample_request, &request,
                "{\"num_samples\":1,\"prompt\":{\"chunks\":[]},\"sampling_params\":"
                "{\"temperature\":1.0,\"top_k\":-1,\"top_p\":1.0},\"base_model\":\"b\","
                "\"prompt_logprobs\":false,\"topk_prompt_logprobs\":0,"
                "\"type\":\"sample\"}");
}

/* A-071, M-072, M-074: everything set, zeros included; each form of stop. */
static void test_params_sampling_full(void **unused)
{
    tinkc_sampling_params p = TINKC_SAMPLING_PARAMS_INIT;
    tk_sampling_params wire;
    p.max_tokens = 1;
    p.has_seed = true;
    p.seed = UINT64_MAX;
    p.temperature = 0.0;
    p.top_k = 0;
    p.top_p = 0.0;
    p.stop = "";
    assert_int_equal(tk_params_sampling(&wire, &msgfix_arena, &p, NULL), TINKC_OK);
    expect_json(&tk_msg_sampling_params, &wire,
                "{\"max_tokens\":1,\"seed\":18446744073709551615,\"stop\":\"\","
                "\"temperature\":0.0,\"top_k\":0,\"top_p\":0.0}");
    const char *texts[] = {"a", "b"};
    p = (tinkc_sampling_params)TINKC_SAMPLING_PARAMS_INIT;
    p.stop_texts = texts;
    p.stop_texts_n = 2;
    assert_int_equal(tk_params_sampling(&wire, &msgfix_arena, &p, NULL), TINKC_OK);
    expect_json(&tk_msg_stops, &wire.stop.v, "[\"a\",\"b\"]");
    p.stop_texts_n = 0;
    assert_int_equal(tk_params_sampling(&wire, &msgfix_arena, &p, NULL), TINKC_OK);
    assert_int_equal(wire.stop.is, TK_SET);
    expect_json(&tk_msg_stops, &wire.stop.v, "[]");
    const int32_t tokens[] = {7};
    p = (tinkc_sampling_params)TINKC_SAMPLING_PARAMS_INIT;
    p.stop_tokens = tokens;
    p.stop_tokens_n = 1;
    assert_int_equal(tk_params_sampling(&wire, &msgfix_arena, &p, NULL), TINKC_OK);
    expect_json(&tk_msg_stops, &wire.stop.v, "[7]");
    p.stop_tokens_n = 0;
    assert_int_equal(tk_params_sampling(&wire, &msgfix_arena, &p, NULL), TINKC_OK);
    expect_json(&tk_msg_stops, &wire.stop.v, "[]");
}

static void refuse_sampling(tinkc_sampling_params p, const char *field)
{
    tinkc_error *err = NULL;
    assert_int_equal(tinkc_sampling_params_check(&p, &err), TINKC_E_INVALID);
    assert_ptr_equal(strstr(tinkc_error_message(err), field), tinkc_error_message(err));
    tinkc_error_free(&err);
}

/* M-074: parameters that no server could use are refused. */
static void test_params_sampling_refusals(void **unused)
{
    const tinkc_sampling_params good = TINKC_SAMPLING_PARAMS_INIT;
    tinkc_sampling_params p = good;
    assert_int_equal(tinkc_sampling_params_check(&good, NULL), TINKC_OK);
    assert_int_equal(tinkc_sampling_params_check(NULL, NULL), TINKC_OK);
    p.max_tokens = 0;
    refuse_sampling(p, "max_tokens");
    p = good;
    p.temperature = -0.1;
    refuse_sampling(p, "temperature");
    p.temperature = (double)NAN;
    refuse_sampling(p, "temperature");
    p = good;
    p.top_p = 1.1;
    refuse_sampling(p, "top_p");
    p.top_p = (double)NAN;
    refuse_sampling(p, "top_p");
    p = good;
    p.top_k = -2;
    refuse_sampling(p, "top_k");
    p = good;
    p.stop = "a";
    p.stop_tokens = (const int32_t[]){1};
    refuse_sampling(p, "stop");
    p = good;
    p.stop_texts_n = 1;
    refuse_sampling(p, "stop");
    const char *holes[] = {"a", NULL};
    p = good;
    p.stop_texts = holes;
    p.stop_texts_n = 2;
    tk_sampling_params wire;
    assert_int_equal(tk_params_sampling(&wire, &msgfix_arena, &p, NULL), TINKC_E_INVALID);
}

/* M-073: by session, by path, by base model; exactly one. */
static void test_params_sample_target(void **unused)
{
    for (unsigned bits = 0; bits < 8; bits++) {
        tinkc_sample_target target = TINKC_SAMPLE_TARGET_INIT;
        target.sampling_session_id = (bits & 1) != 0 ? "S:sample:0" : NULL;
        target.model_path = (bits & 2) != 0 ? "tinker://r/weights/x" : NULL;
        target.base_model = (bits & 4) != 0 ? "b" : NULL;
        bool one = bits == 1 || bits == 2 || bits == 4;
        tk_sample_request request = {.num_samples = {.is = TK_UNSET}};
        assert_int_equal(tinkc_sample_target_check(&target, NULL),
                         one ? TINKC_OK : TINKC_E_INVALID);
        tinkc_code code = tk_params_sample_target(&request, &target, NULL);
        assert_int_equal(code, one ? TINKC_OK : TINKC_E_INVALID);
        assert_int_equal(request.sampling_session_id.is, bits == 1 ? TK_SET : TK_UNSET);
        assert_int_equal(request.model_path.is, bits == 2 ? TK_SET : TK_UNSET);
        assert_int_equal(request.base_model.is, bits == 4 ? TK_SET : TK_UNSET);
    }
    tinkc_sample_target target = TINKC_SAMPLE_TARGET_INIT;
    target.model_path = "weights/x";
    assert_int_equal(tinkc_sample_target_check(&target, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_sample_target_check(NULL, NULL), TINKC_E_INVALID);
}

/* prompt_logprobs may be left out altogether. */
static void test_params_sample_options(void **unused)
{
    tinkc_sample_options options = TINKC_SAMPLE_OPTIONS_INIT;
    tk_sample_request request = {.num_samples = {.is = TK_UNSET}};
    options.prompt_logprobs = TINKC_CHOICE_UNSET;
    assert_int_equal(tk_params_sample_options(&request, &options, NULL), TINKC_OK);
    assert_int_equal(request.prompt_logprobs.is, TK_UNSET);
    options.prompt_logprobs = TINKC_CHOICE_YES;
    options.topk_prompt_logprobs = 3;
    assert_int_equal(tk_params_sample_options(&request, &options, NULL), TINKC_OK);
    assert_true(request.prompt_logprobs.is == TK_SET && request.prompt_logprobs.v);
    assert_int_equal(request.topk_prompt_logprobs.v, 3);
    options.num_samples = 0;
    assert_int_equal(tinkc_sample_options_check(&options, NULL), TINKC_E_INVALID);
    options.num_samples = 1;
    options.topk_prompt_logprobs = -1;
    assert_int_equal(tinkc_sample_options_check(&options, NULL), TINKC_E_INVALID);
    options.topk_prompt_logprobs = 0;
    options.prompt_logprobs = (tinkc_choice)9;
    assert_int_equal(tinkc_sample_options_check(&options, NULL), TINKC_E_INVALID);
    assert_int_equal(tinkc_sample_options_check(NULL, NULL), TINKC_OK);
}

/* M-061: parameters of training that no server could use are refused. */
static void test_params_training_refusals(void **unused)
{
    tinkc_adam_params adam = TINKC_ADAM_PARAMS_INIT;
    tinkc_error *err = NULL;
    assert_int_equal(tinkc_adam_params_check(&adam, NULL), TINKC_OK);
    adam.beta2 = 1.0;
    assert_int_equal(tinkc_adam_params_check(&adam, &err), TINKC_E_INVALID);
    assert_non_null(strstr(tinkc_error_message(err), "beta2"));
    tinkc_error_free(&err);
    adam.size = 3;
    assert_int_equal(tinkc_adam_params_check(&adam, NULL), TINKC_E_INVALID);
    tinkc_lora_config lora = TINKC_LORA_CONFIG_INIT;
    lora.has_seed = true;
    lora.seed = 5;
    tk_lora_config wire;
    assert_int_equal(tk_params_lora(&wire, &lora, NULL), TINKC_OK);
    assert_true(wire.seed.is == TK_SET && wire.seed.v == 5);
    lora.rank = 0;
    assert_int_equal(tinkc_lora_config_check(&lora, NULL), TINKC_E_INVALID);
    lora.rank = 1;
    lora.train_attn = lora.train_mlp = lora.train_unembed = false;
    assert_int_equal(tinkc_lora_config_check(&lora, NULL), TINKC_E_INVALID);
}

/* A-042, M-053: the losses by name; any other string is passed on as it is. */
static void test_params_losses(void **unused)
{
    static const char *const names[] = {
        "cross_entropy", "importance_sampling", "ppo",   "cispo", "dro",
        "gspo",          "stable_reinforce",    "custom"};
    const tk_loss_settings none = {.numbers = NULL};
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        tinkc_loss loss = (tinkc_loss)-1;
        assert_string_equal(tinkc_loss_name((tinkc_loss)i), names[i]);
        assert_int_equal(tinkc_loss_parse(&loss, names[i], NULL), TINKC_OK);
        assert_int_equal(loss, i);
        tk_fwdbwd_request request = {.seq_id = 1};
        assert_int_equal(tk_params_loss(&request, &msgfix_arena, names[i], &none, NULL),
                         TINKC_OK);
        assert_true(tk_str_is(request.loss_fn, names[i]));
        assert_int_equal(request.loss_fn_config.n, 0);
    }
    tinkc_loss loss = TINKC_LOSS_PPO;
    tinkc_error *error = NULL;
    assert_int_equal(tinkc_loss_parse(&loss, "newer", &error), TINKC_E_MISSING);
    assert_non_null(strstr(tinkc_error_message(error), "no loss function"));
    tinkc_error_free(&error);
    assert_int_equal(tinkc_loss_parse(&loss, "PPO", NULL), TINKC_E_MISSING);
    assert_int_equal(tinkc_loss_parse(&loss, NULL, NULL), TINKC_E_INVALID);
    assert_int_equal(loss, TINKC_LOSS_PPO);
    assert_null(tinkc_loss_name((tinkc_loss)TK_ARRAY_LEN(names)));
    assert_null(tinkc_loss_name((tinkc_loss)-1));
    const tinkc_number config[] = {{"clip_low_threshold", 0.8}, {"x", 0.0}};
    tk_fwdbwd_request request = {.seq_id = 1};
    const tk_loss_settings settings = {.numbers = config, .numbers_n = 2};
    assert_int_equal(tk_params_loss(&request, &msgfix_arena, "newer", &settings, NULL),
                     TINKC_OK);
    assert_true(tk_str_is(request.loss_fn, "newer"));
    assert_int_equal(request.loss_fn_config.n, 2);
    assert_true(request.loss_fn_config.items[0].v == 0.8);
    assert_int_equal(request.loss_fn_config_v2.n, 0);
}

/* Numbers also go into the second form where the SDK sends them twice; with a text they
 * always do, because a server that sees the second form reads nothing else. */
static void test_params_loss_texts(void **unused)
{
    const tinkc_number number = {"kl_coeff", 0.01};
    const tinkc_pair text = {"mode", "sequence"};
    const tinkc_pair same = {"kl_coeff", "x"}, empty = {"mode", NULL};
    tk_loss_settings s = {.numbers = &number, .numbers_n = 1, .twice = true};
    tk_fwdbwd_request request = {.seq_id = 1};
    assert_int_equal(tk_params_loss(&request, &msgfix_arena, "x", &s, NULL), TINKC_OK);
    assert_int_equal(request.loss_fn_config_v2.n, 1);
    assert_false(request.loss_fn_config_v2.items[0].is_text);
    assert_true(request.loss_fn_config_v2.items[0].number == 0.01);
    s.twice = false;
    s.texts = &text;
    s.texts_n = 1;
    assert_int_equal(tk_params_loss(&request, &msgfix_arena, "x", &s, NULL), TINKC_OK);
    assert_int_equal(request.loss_fn_config.n, 1);
    assert_int_equal(request.loss_fn_config_v2.n, 2);
    assert_true(tk_str_is(request.loss_fn_config_v2.items[0].name, "kl_coeff"));
    assert_true(request.loss_fn_config_v2.items[1].is_text);
    assert_true(tk_str_is(request.loss_fn_config_v2.items[1].text, "sequence"));
    s.texts = &same;
    assert_int_equal(tk_params_loss(&request, &msgfix_arena, "x", &s, NULL),
                     TINKC_E_INVALID);
    s.texts = &empty;
    assert_int_equal(tk_params_loss(&request, &msgfix_arena, "x", &s, NULL),
                     TINKC_E_INVALID);
    s.texts = NULL;
    assert_int_equal(tk_params_loss(&request, &msgfix_arena, "x", &s, NULL),
                     TINKC_E_INVALID);
}

static void expect_config(tinkc_optimizer type, int64_t version, const char *json,
                          tinkc_code code)
{
    tinkc_optimizer_config c = TINKC_OPTIMIZER_CONFIG_INIT;
    c.type = type;
    c.version = version;
    c.json = json;
    assert_int_equal(tinkc_optimizer_config_check(&c, NULL), code);
}

static void test_params_optimizer(void **unused)
{
    expect_config(TINKC_OPTIMIZER_ADAMW, 1, NULL, TINKC_OK);
    expect_config(TINKC_OPTIMIZER_ADAMW, 1, "{}", TINKC_E_INVALID);
    expect_config(TINKC_OPTIMIZER_DIMUON, 1, NULL, TINKC_OK);
    expect_config(TINKC_OPTIMIZER_DIMUON, 2, NULL, TINKC_OK); /* the server's to refuse */
    expect_config(TINKC_OPTIMIZER_DIMUON, 0, NULL, TINKC_E_INVALID);
    expect_config(TINKC_OPTIMIZER_OTHER, 1, "{\"type\":\"new\",\"x\":[1]}", TINKC_OK);
    static const char *const bad[] = {NULL,
                                      "",
                                      "{",
                                      "[]",
                                      "{}",
                                      "{\"type\":1}",
                                      "{\"type\":\"adamw\"}",
                                      "{\"type\":\"dimuon\"}"};
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        expect_config(TINKC_OPTIMIZER_OTHER, 1, bad[i], TINKC_E_INVALID);
    }
    expect_config((tinkc_optimizer)9, 1, NULL, TINKC_E_INVALID);
    assert_string_equal(tinkc_optimizer_name(TINKC_OPTIMIZER_DIMUON), "dimuon");
    assert_null(tinkc_optimizer_name(TINKC_OPTIMIZER_OTHER));
}

static void test_params_optim(void **unused)
{
    tinkc_optim_params p = TINKC_OPTIM_PARAMS_INIT;
    tinkc_dimuon_params dimuon = TINKC_DIMUON_PARAMS_INIT;
    tk_optim_step_request out;
    assert_int_equal(tk_params_optim(&out, &msgfix_arena, NULL, NULL), TINKC_OK);
    assert_int_equal(out.adam_params.is, TK_SET);
    p.type = TINKC_OPTIMIZER_DIMUON;
    assert_int_equal(tinkc_optim_params_check(&p, NULL), TINKC_E_INVALID); /* no rate */
    p.dimuon = &dimuon;
    assert_int_equal(tinkc_optim_params_check(&p, NULL), TINKC_E_INVALID);
    dimuon.learning_rate = 0.02;
    assert_int_equal(tk_params_optim(&out, &msgfix_arena, &p, NULL), TINKC_OK);
    assert_int_equal(out.adam_params.is, TK_UNSET);
    assert_int_equal(out.optimizer_params.is, TK_SET);
    expect_json(&tk_msg_optim_params, &out.optimizer_params.v,
                "{\"type\":\"dimuon\",\"learning_rate\":0.02,\"grad_clip_norm\":0.0,"
                "\"beta1\":0.9}");
    p.type = TINKC_OPTIMIZER_OTHER;
    assert_int_equal(tinkc_optim_params_check(&p, NULL), TINKC_E_INVALID);
    p.json = "{\"type\":\"new\",\"lr\":1}";
    assert_int_equal(tk_params_optim(&out, &msgfix_arena, &p, NULL), TINKC_OK);
    expect_json(&tk_msg_optim_params, &out.optimizer_params.v, p.json);
    p.type = (tinkc_optimizer)7;
    assert_int_equal(tinkc_optim_params_check(&p, NULL), TINKC_E_INVALID);
}

static void test_params_loss_refusals(void **unused)
{
    const tinkc_number twice[] = {{"a", 1.0}, {"a", 2.0}};
    const tinkc_number nameless[] = {{NULL, 1.0}};
    const tinkc_number odd[] = {{"a", (double)INFINITY}};
    const struct {
        const char *loss;
        const tinkc_number *config;
        size_t n;
    } rows[] = {{NULL, NULL, 0},   {"", NULL, 0},        {"ppo", NULL, 1},
                {"ppo", twice, 2}, {"ppo", nameless, 1}, {"ppo", odd, 1}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_fwdbwd_request request = {.seq_id = 1};
        const tk_loss_settings s = {.numbers = rows[i].config, .numbers_n = rows[i].n};
        assert_int_equal(tk_params_loss(&request, &msgfix_arena, rows[i].loss, &s, NULL),
                         TINKC_E_INVALID);
    }
}

static bool params_scenario(void *user)
{
    tk_arena own;
    tk_arena_init(&own, 0);
    const char *texts[] = {"a"};
    tinkc_sampling_params p = TINKC_SAMPLING_PARAMS_INIT;
    p.stop_texts = texts;
    p.stop_texts_n = 1;
    const tinkc_number number = {"a", 1.0};
    const tinkc_pair pair = {"b", "x"};
    const tk_loss_settings settings = {&number, 1, &pair, 1, true};
    const tinkc_loss_input input = {"logprobs", 1};
    tinkc_custom_loss loss = TINKC_CUSTOM_LOSS_INIT;
    loss.name = "l";
    loss.inputs = &input;
    loss.inputs_n = 1;
    loss.graph = "{\"format\":1,\"nodes\":[{}]}";
    tinkc_optim_params other = TINKC_OPTIM_PARAMS_INIT;
    other.type = TINKC_OPTIMIZER_OTHER;
    other.json = "{\"type\":\"new\"}";
    tk_sampling_params wire;
    tk_fwdbwd_request request = {.seq_id = 1};
    tk_optim_step_request step;
    tk_create_custom_loss_request creation;
    tk_err err = TK_ERR_INIT;
    bool ok = tk_params_sampling(&wire, &own, &p, &err) == TINKC_OK &&
              tk_params_loss(&request, &own, "ppo", &settings, &err) == TINKC_OK &&
              tk_params_optim(&step, &own, &other, &err) == TINKC_OK &&
              tk_params_custom_loss(&creation, &own, &loss, &err) == TINKC_OK;
    assert_true(ok || err.code == TINKC_E_NOMEM);
    tk_arena_dispose(&own);
    return ok;
}

static void test_params_sweep(void **unused)
{
    assert_true(failmem_sweep(params_scenario, NULL, 1) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_params_defaults, msgfix_teardown),
        cmocka_unit_test_teardown(test_params_sampling_full, msgfix_teardown),
        cmocka_unit_test_teardown(test_params_sampling_refusals, msgfix_teardown),
        cmocka_unit_test(test_params_sample_target),
        cmocka_unit_test(test_params_sample_options),
        cmocka_unit_test(test_params_training_refusals),
        cmocka_unit_test_teardown(test_params_losses, msgfix_teardown),
        cmocka_unit_test_teardown(test_params_loss_refusals, msgfix_teardown),
        cmocka_unit_test_teardown(test_params_loss_texts, msgfix_teardown),
        cmocka_unit_test(test_params_optimizer),
        cmocka_unit_test_teardown(test_params_optim, msgfix_teardown),
        cmocka_unit_test(test_params_sweep),
    };
    return cmocka_run_group_tests_name("params", tests, NULL, NULL);
}
