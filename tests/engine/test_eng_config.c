/* config.json: both spellings of the rotary parameters, class defaults, end-of-sequence
 * ids, and a table of everything that is refused, each by name. */
#include "engine/eng_config.h"

#include <stdio.h>

#include "support/failmem.h"
#include "support/test.h"

#define SIZES                                                                            \
    "\"hidden_size\":64,\"intermediate_size\":128,\"num_hidden_layers\":2,"              \
    "\"num_attention_heads\":4,\"vocab_size\":100"
#define LLAMA "\"architectures\":[\"LlamaForCausalLM\"]," SIZES
#define QWEN3 "\"architectures\":[\"Qwen3ForCausalLM\"]," SIZES

static tinkc_code read(const char *config, const char *generation, eng_config *out,
                       tk_err *err)
{
    return eng_config_read(out, tk_str_of(config), tk_str_of(generation), err);
}

static eng_config must_read(const char *config, const char *generation)
{
    eng_config c = {.n_eos = 99};
    tk_err err = TK_ERR_INIT;
    if (read(config, generation, &c, &err) != TINKC_OK) {
        fail_msg("%s", err.message);
    }
    return c;
}

static bool about(double have, double want)
{
    return have - want < 1e-12 && want - have < 1e-12;
}

static void test_class_defaults(void **unused)
{
    eng_config c = must_read("{" LLAMA "}", "");
    assert_int_equal(c.kv_heads, 4);
    assert_int_equal(c.head_dim, 16);
    assert_true(about(c.rms_eps, 1e-6) && about(c.rope.theta, 10000));
    assert_false(c.tied || c.qkv_bias || c.o_bias || c.mlp_bias || c.qk_norm);
    c = must_read("{\"architectures\":[\"Qwen2ForCausalLM\"]," SIZES
                  ",\"num_key_value_heads\":2,\"attention_bias\":true}",
                  "");
    assert_true(c.qkv_bias && !c.o_bias && !c.qk_norm);
    c = must_read("{" QWEN3 ",\"num_key_value_heads\":2,\"tie_word_embeddings\":true}",
                  "");
    assert_int_equal(c.head_dim, 128);
    assert_true(c.qk_norm && c.tied && !c.qkv_bias);
    c = must_read("{" LLAMA ",\"attention_bias\":true,\"mlp_bias\":true}", "");
    assert_true(c.qkv_bias && c.o_bias && c.mlp_bias);
}

static void test_rope_spellings(void **unused)
{
    static const char *const same[] = {
        "{" LLAMA ",\"rope_theta\":5e5,\"rope_scaling\":{\"rope_type\":\"llama3\","
        "\"factor\":32.0,\"low_freq_factor\":1.0,\"high_freq_factor\":4.0,"
        "\"original_max_position_embeddings\":8192}}",
        "{" LLAMA ",\"rope_theta\":500000,\"rope_scaling\":{\"type\":\"llama3\","
        "\"factor\":32}}",
        "{" LLAMA
        ",\"rope_parameters\":{\"rope_type\":\"llama3\",\"rope_theta\":500000.0,"
        "\"factor\":32.0,\"low_freq_factor\":1.0,\"high_freq_factor\":4.0,"
        "\"original_max_position_embeddings\":8192}}"};
    for (size_t i = 0; i < TK_ARRAY_LEN(same); i++) {
        eng_config c = must_read(same[i], "");
        assert_true(c.rope.llama3 && about(c.rope.theta, 500000));
        assert_true(about(c.rope.factor, 32) && about(c.rope.original_context, 8192));
    }
    static const char *const plain[] = {
        "{" LLAMA ",\"rope_scaling\":null}",
        "{" LLAMA ",\"rope_parameters\":{\"rope_type\":\"default\",\"rope_theta\":1e4}}",
        "{" LLAMA ",\"rope_parameters\":{\"rope_theta\":10000}}"};
    for (size_t i = 0; i < TK_ARRAY_LEN(plain); i++) {
        eng_config c = must_read(plain[i], "");
        assert_true(!c.rope.llama3 && about(c.rope.theta, 10000));
    }
}

static void test_end_of_sequence_ids(void **unused)
{
    eng_config c =
        must_read("{" LLAMA ",\"eos_token_id\":7}", "{\"eos_token_id\":[9,7,8,100,-1]}");
    assert_int_equal(c.n_eos, 3);
    assert_int_equal(c.eos[0], 7);
    assert_int_equal(c.eos[1], 9);
    assert_int_equal(c.eos[2], 8);
    c = must_read("{" LLAMA ",\"eos_token_id\":null}", "{}");
    assert_int_equal(c.n_eos, 0);
}

typedef struct refusal {
    const char *config;
    tinkc_code code;
    const char *says;
} refusal;

static const refusal refusals[] = {
    {"", TINKC_E_PARSE, "config.json"},
    {"[]", TINKC_E_DECODE, "not a JSON object"},
    {"{}", TINKC_E_DECODE, "architectures"},
    {"{\"architectures\":[]}", TINKC_E_DECODE, "architectures"},
    {"{\"architectures\":[3]}", TINKC_E_DECODE, "architectures"},
    {"{\"architectures\":[\"MixtralForCausalLM\"]}", TINKC_E_UNSUPPORTED, "Mixtral"},
    {"{\"architectures\":[\"LlamaForCausalLM\"]}", TINKC_E_DECODE, "hidden_size"},
    {"{" LLAMA ",\"hidden_size\":0}", TINKC_E_DECODE, "hidden_size"},
    {"{" LLAMA ",\"hidden_size\":-5}", TINKC_E_DECODE, "hidden_size"},
    {"{" LLAMA ",\"hidden_size\":1e30}", TINKC_E_DECODE, "hidden_size"},
    {"{" LLAMA ",\"hidden_size\":\"64\"}", TINKC_E_DECODE, "hidden_size"},
    {"{" LLAMA ",\"hidden_size\":66}", TINKC_E_DECODE, "hidden_size"},
    {"{" LLAMA ",\"head_dim\":15}", TINKC_E_DECODE, "head_dim"},
    {"{" LLAMA ",\"num_key_value_heads\":3}", TINKC_E_DECODE, "num_key_value_heads"},
    {"{" QWEN3 "}", TINKC_E_DECODE, "num_key_value_heads"}, /* class default is 32 */
    {"{" LLAMA ",\"num_hidden_layers\":100000}", TINKC_E_DECODE, "num_hidden_layers"},
    {"{" LLAMA ",\"rms_norm_eps\":0}", TINKC_E_DECODE, "rms_norm_eps"},
    {"{" LLAMA ",\"rope_theta\":\"x\"}", TINKC_E_DECODE, "rope_theta"},
    {"{" LLAMA ",\"rope_theta\":1e-30}", TINKC_E_DECODE, "rope_theta"},
    {"{" LLAMA ",\"rope_parameters\":{\"rope_theta\":0.5}}", TINKC_E_DECODE,
     "rope_theta"},
    {"{" LLAMA ",\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":1e-30}}",
     TINKC_E_DECODE, "factor"},
    {"{" LLAMA ",\"rope_scaling\":7}", TINKC_E_DECODE, "rope_scaling"},
    {"{" LLAMA ",\"rope_scaling\":{\"type\":\"yarn\"}}", TINKC_E_UNSUPPORTED, "yarn"},
    {"{" LLAMA ",\"rope_parameters\":{\"rope_type\":\"linear\"}}", TINKC_E_UNSUPPORTED,
     "linear"},
    {"{" LLAMA ",\"rope_scaling\":{\"rope_type\":\"llama3\",\"high_freq_factor\":1}}",
     TINKC_E_DECODE, "high_freq_factor"},
    {"{" LLAMA ",\"hidden_act\":\"gelu\"}", TINKC_E_UNSUPPORTED, "hidden_act"},
    {"{" LLAMA ",\"use_sliding_window\":true}", TINKC_E_UNSUPPORTED, "sliding"},
    {"{" LLAMA ",\"use_sliding_window\":1}", TINKC_E_DECODE, "use_sliding_window"},
    {"{" LLAMA ",\"layer_types\":[\"full_attention\",\"sliding_attention\"]}",
     TINKC_E_UNSUPPORTED, "layer_types"},
    {"{" LLAMA ",\"partial_rotary_factor\":0.5}", TINKC_E_UNSUPPORTED, "rotary"},
    {"{" LLAMA ",\"quantization_config\":{}}", TINKC_E_UNSUPPORTED, "quantization"},
    {"{" LLAMA ",\"tie_word_embeddings\":\"no\"}", TINKC_E_DECODE, "tie_word"},
};

static void test_refusals_name_the_reason(void **unused)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(refusals); i++) {
        const refusal *want = &refusals[i];
        eng_config c = {.n_eos = 99};
        tk_err err = TK_ERR_INIT;
        tinkc_code code = read(want->config, "", &c, &err);
        if (code != want->code || strstr(err.message, want->says) == NULL) {
            fail_msg("%s: %s (%d)", want->config, err.message, (int)code);
        }
        assert_int_equal(c.n_eos, 99); /* untouched */
    }
    eng_config c;
    tk_err err = TK_ERR_INIT;
    assert_int_equal(read("{" LLAMA "}", "{", &c, &err), TINKC_E_PARSE);
    assert_non_null(strstr(err.message, "generation_config.json"));
}

/* Cut anywhere, it is an error and nothing else. */
static void test_truncated(void **unused)
{
    static const char text[] =
        "{" LLAMA ",\"rope_scaling\":{\"rope_type\":\"llama3\"},\"eos_token_id\":[1,2]}";
    for (size_t n = 0; n + 1 < sizeof(text); n++) {
        eng_config c;
        tk_err err = TK_ERR_INIT;
        assert_int_equal(eng_config_read(&c, (tk_str){text, n}, TK_STR(""), &err),
                         TINKC_E_PARSE);
    }
}

static bool scenario(void *user)
{
    eng_config c;
    tk_err err = TK_ERR_INIT;
    return read("{" LLAMA "}", "{\"eos_token_id\":1}", &c, &err) == TINKC_OK;
}

static void test_allocation_failures(void **unused)
{
    assert_true(failmem_sweep(scenario, NULL, 1) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_class_defaults),
        cmocka_unit_test(test_rope_spellings),
        cmocka_unit_test(test_end_of_sequence_ids),
        cmocka_unit_test(test_refusals_name_the_reason),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests_name("eng_config", tests, NULL, NULL);
}
