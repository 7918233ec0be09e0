/* Writing tiny models; see tiny.h. Everything goes through the public door of the engine,
 * so that one object serves the float and the double build. */
#include "engine/support/tiny.h"

#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "support/test.h"

#define MAX_BYTES ((size_t)64 << 20)

const tiny_spec tiny_llama = {.architecture = "LlamaForCausalLM",
                              .hidden = 24,
                              .intermediate = 40,
                              .layers = 2,
                              .heads = 4,
                              .kv_heads = 2,
                              .head_dim = 6,
                              .vocabulary = 37,
                              .llama3_rope = true,
                              .seed = 1};
const tiny_spec tiny_qwen2 = {.architecture = "Qwen2ForCausalLM",
                              .hidden = 16,
                              .intermediate = 20,
                              .layers = 2,
                              .heads = 2,
                              .kv_heads = 2,
                              .head_dim = 8,
                              .vocabulary = 33,
                              .tied = true,
                              .bias = true,
                              .seed = 2};
const tiny_spec tiny_qwen3 = {.architecture = "Qwen3ForCausalLM",
                              .hidden = 20,
                              .intermediate = 33,
                              .layers = 2,
                              .heads = 6,
                              .kv_heads = 2,
                              .head_dim = 10,
                              .vocabulary = 50,
                              .seed = 3};

static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(*state >> 11) * 0x1p-53 * 2.0 - 1.0;
}

static void put_value(tk_buf *out, double value, bool bf16)
{
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof(bits));
    if (bf16) {
        uint16_t half = (uint16_t)(bits >> 16);
        tk_buf_put(out, &half, sizeof(half));
    } else {
        tk_buf_put(out, &bits, sizeof(bits));
    }
}

typedef struct writer {
    const tiny_spec *spec;
    tk_buf header, data;
    uint64_t state;
} writer;

/* columns 0: a vector. Values lie around `centre`. */
static void put_tensor(writer *w, const char *name, size_t rows, size_t columns,
                       double centre, double spread)
{
    size_t begin = w->data.n, n = rows * (columns > 0 ? columns : 1);
    for (size_t i = 0; i < n; i++) {
        put_value(&w->data, centre + spread * uniform(&w->state), w->spec->bf16);
    }
    tk_buf_printf(&w->header, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%zu",
                  w->header.n > 1 ? "," : "", name, w->spec->bf16 ? "BF16" : "F32", rows);
    if (columns > 0) {
        tk_buf_printf(&w->header, ",%zu", columns);
    }
    tk_buf_printf(&w->header, "],\"data_offsets\":[%zu,%zu]}", begin, w->data.n);
}

static void put_linear(writer *w, size_t layer, const char *name, size_t out, size_t in,
                       bool bias)
{
    char full[96];
    (void)snprintf(full, sizeof(full), "model.layers.%zu.%s.weight", layer, name);
    put_tensor(w, full, out, in, 0, 1.5 / sqrt((double)in));
    if (bias) {
        (void)snprintf(full, sizeof(full), "model.layers.%zu.%s.bias", layer, name);
        put_tensor(w, full, out, 0, 0, 0.3);
    }
}

static void put_norm(writer *w, size_t layer, const char *name, size_t n)
{
    char full[96];
    (void)snprintf(full, sizeof(full), "model.layers.%zu.%s.weight", layer, name);
    put_tensor(w, full, n, 0, 1, 0.4);
}

static void put_layer(writer *w, size_t i)
{
    const tiny_spec *s = w->spec;
    bool qwen2 = strcmp(s->architecture, "Qwen2ForCausalLM") == 0;
    bool qwen3 = strcmp(s->architecture, "Qwen3ForCausalLM") == 0;
    size_t q = s->heads * s->head_dim, kv = s->kv_heads * s->head_dim;
    put_norm(w, i, "input_layernorm", s->hidden);
    put_norm(w, i, "post_attention_layernorm", s->hidden);
    if (qwen3) {
        put_norm(w, i, "self_attn.q_norm", s->head_dim);
        put_norm(w, i, "self_attn.k_norm", s->head_dim);
    }
    put_linear(w, i, "self_attn.q_proj", q, s->hidden, s->bias);
    put_linear(w, i, "self_attn.k_proj", kv, s->hidden, s->bias);
    put_linear(w, i, "self_attn.v_proj", kv, s->hidden, s->bias);
    put_linear(w, i, "self_attn.o_proj", s->hidden, q, s->bias && !qwen2);
    put_linear(w, i, "mlp.gate_proj", s->intermediate, s->hidden, false);
    put_linear(w, i, "mlp.up_proj", s->intermediate, s->hidden, false);
    put_linear(w, i, "mlp.down_proj", s->hidden, s->intermediate, false);
}

static void put_config(tk_buf *out, const tiny_spec *s)
{
    tk_buf_printf(out,
                  "{\"architectures\":[\"%s\"],\"hidden_size\":%zu,"
                  "\"intermediate_size\":%zu,\"num_hidden_layers\":%zu,"
                  "\"num_attention_heads\":%zu,\"num_key_value_heads\":%zu,"
                  "\"head_dim\":%zu,\"vocab_size\":%zu,\"hidden_act\":\"silu\","
                  "\"max_position_embeddings\":512,\"rms_norm_eps\":1e-5,"
                  "\"rope_theta\":10000.0,\"eos_token_id\":[2,3],"
                  "\"tie_word_embeddings\":%s,\"attention_bias\":%s",
                  s->architecture, s->hidden, s->intermediate, s->layers, s->heads,
                  s->kv_heads, s->head_dim, s->vocabulary, s->tied ? "true" : "false",
                  s->bias ? "true" : "false");
    if (s->llama3_rope) {
        tk_buf_puts(out, ",\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8.0,"
                         "\"low_freq_factor\":1.0,\"high_freq_factor\":4.0,"
                         "\"original_max_position_embeddings\":64}");
    }
    tk_buf_printf(out, "%s}", s->extra != NULL ? s->extra : "");
}

void tiny_files_init(tiny_files *files, const tiny_spec *spec)
{
    writer w = {.spec = spec, .state = spec->seed * 7919 + 12345};
    tk_buf_init(&w.header, MAX_BYTES);
    tk_buf_init(&w.data, MAX_BYTES);
    tk_buf_init(&files->config, MAX_BYTES);
    tk_buf_init(&files->weights, MAX_BYTES);
    files->held = spec->int8 ? ENG_WEIGHTS_INT8 : ENG_WEIGHTS_FILE;
    put_config(&files->config, spec);
    tk_buf_puts(&w.header, "{");
    put_tensor(&w, "model.embed_tokens.weight", spec->vocabulary, spec->hidden, 0, 1);
    for (size_t i = 0; i < spec->layers; i++) {
        put_layer(&w, i);
    }
    put_tensor(&w, "model.norm.weight", spec->hidden, 0, 1, 0.4);
    if (!spec->tied) {
        put_tensor(&w, "lm_head.weight", spec->vocabulary, spec->hidden, 0, 0.5);
    }
    tk_buf_puts(&w.header, "}");
    uint64_t length = w.header.n;
    tk_buf_put(&files->weights, &length, sizeof(length));
    tk_buf_put(&files->weights, w.header.p, w.header.n);
    tk_buf_put(&files->weights, w.data.p, w.data.n);
    assert_int_equal(files->weights.failure, TINKC_OK);
    assert_int_equal(files->config.failure, TINKC_OK);
    tk_buf_dispose(&w.header);
    tk_buf_dispose(&w.data);
}

void tiny_files_dispose(tiny_files *files)
{
    tk_buf_dispose(&files->config);
    tk_buf_dispose(&files->weights);
}

eng_model_memory tiny_memory(const tiny_files *files)
{
    return (eng_model_memory){.config = tk_buf_str(&files->config),
                              .weights = tk_buf_str(&files->weights),
                              .held = files->held};
}

eng_model *tiny_open(eng_pool *pool, const tiny_files *files)
{
    eng_model_memory memory = tiny_memory(files);
    tk_err err = TK_ERR_INIT;
    eng_model *model = NULL;
    if (eng_model_open_memory(&model, pool, &memory, &err) != TINKC_OK) {
        fail_msg("%s", err.message);
    }
    return model;
}
