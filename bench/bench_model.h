/* A randomly initialised model in the shape of Qwen2.5-0.5B, written to a temporary
 * directory with the engine's own writer. For benchmarks that link `engine`. */
#ifndef BENCH_BENCH_MODEL_H
#define BENCH_BENCH_MODEL_H

#include "bench.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "engine/eng_model.h"
#include "engine/eng_rng.h"

#define HIDDEN       896
#define INTERMEDIATE 4864
#define LAYERS       24
#define HEADS        14
#define KV_HEADS     2
#define HEAD_DIM     64
#define VOCABULARY   151936

static inline void die(const char *what)
{
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

static inline void check(tinkc_code code, const tk_err *err)
{
    if (code != TINKC_OK) {
        die(err->message);
    }
}

/* ---- the model ---- */

#define CONFIG_FORMAT                                                                    \
    "{\"architectures\":[\"Qwen2ForCausalLM\"],\"hidden_size\":896,"                     \
    "\"intermediate_size\":4864,\"num_hidden_layers\":%zu,\"num_attention_heads\":14,"   \
    "\"num_key_value_heads\":2,\"vocab_size\":151936,\"hidden_act\":\"silu\","           \
    "\"max_position_embeddings\":32768,\"rms_norm_eps\":1e-6,\"rope_theta\":1000000.0,"  \
    "\"tie_word_embeddings\":true}"

typedef struct builder {
    eng_st_entry entries[LAYERS * 12 + 2];
    char names[LAYERS * 12 + 2][80];
    size_t shapes[LAYERS * 12 + 2][2];
    size_t n;
    eng_dtype dtype;
    void *noise, *ones;
} builder;

static inline void add(builder *b, const char *name, size_t rows, size_t columns,
                       bool norm)
{
    size_t i = b->n++;
    (void)snprintf(b->names[i], sizeof(b->names[i]), "%s", name);
    b->shapes[i][0] = rows;
    b->shapes[i][1] = columns;
    b->entries[i] = (eng_st_entry){b->names[i], b->dtype, b->shapes[i],
                                   columns > 0 ? 2 : 1, norm ? b->ones : b->noise};
}

static inline void add_layer(builder *b, size_t layer)
{
    static const struct {
        const char *name;
        size_t rows, columns;
        bool norm;
    } parts[] = {
        {"input_layernorm.weight", HIDDEN, 0, true},
        {"post_attention_layernorm.weight", HIDDEN, 0, true},
        {"self_attn.q_proj.weight", HEADS * HEAD_DIM, HIDDEN, false},
        {"self_attn.q_proj.bias", HEADS * HEAD_DIM, 0, false},
        {"self_attn.k_proj.weight", KV_HEADS * HEAD_DIM, HIDDEN, false},
        {"self_attn.k_proj.bias", KV_HEADS * HEAD_DIM, 0, false},
        {"self_attn.v_proj.weight", KV_HEADS * HEAD_DIM, HIDDEN, false},
        {"self_attn.v_proj.bias", KV_HEADS * HEAD_DIM, 0, false},
        {"self_attn.o_proj.weight", HIDDEN, HEADS * HEAD_DIM, false},
        {"mlp.gate_proj.weight", INTERMEDIATE, HIDDEN, false},
        {"mlp.up_proj.weight", INTERMEDIATE, HIDDEN, false},
        {"mlp.down_proj.weight", HIDDEN, INTERMEDIATE, false},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(parts); i++) {
        char name[80];
        (void)snprintf(name, sizeof(name), "model.layers.%zu.%s", layer, parts[i].name);
        add(b, name, parts[i].rows, parts[i].columns, parts[i].norm);
    }
}

/* n numbers, random around 0 or all 1. */
static inline void *make_values(eng_dtype dtype, size_t n, bool ones)
{
    void *values = tk_array(n, eng_dtype_size(dtype));
    eng_rng rng;
    eng_rng_init(&rng, 1, 1);
    if (values == NULL) {
        die("out of memory");
    }
    for (size_t i = 0; i < n; i++) {
        float value = ones ? 1 : (float)(eng_rng_unit(&rng) - 0.5) * 0.04f;
        if (dtype == ENG_BF16) {
            ((uint16_t *)values)[i] = eng_f32_to_bf16(value);
        } else {
            ((float *)values)[i] = value;
        }
    }
    return values;
}

/* The tensors share one block of noise: what they hold does not change the time. */
static inline void write_weights(const char *path, size_t layers, eng_dtype dtype)
{
    builder *b = tk_zalloc(sizeof(*b));
    if (b == NULL) {
        die("out of memory");
    }
    b->dtype = dtype;
    b->noise = make_values(dtype, (size_t)VOCABULARY * HIDDEN, false);
    b->ones = make_values(dtype, HIDDEN, true);
    add(b, "model.embed_tokens.weight", VOCABULARY, HIDDEN, false);
    add(b, "model.norm.weight", HIDDEN, 0, true);
    for (size_t i = 0; i < layers; i++) {
        add_layer(b, i);
    }
    tk_err err = TK_ERR_INIT;
    tk_file_writer *writer = NULL;
    eng_st_file file = {b->entries, b->n, NULL};
    check(tk_file_writer_new(&writer, path, 0600, &err), &err);
    check(eng_st_write(writer, &file, &err), &err);
    check(tk_file_writer_commit(writer, &err), &err);
    tk_free(b->noise);
    tk_free(b->ones);
    tk_free(b);
}

/* Files with ENG_BF16 or ENG_F32; at most LAYERS layers. */
static inline eng_model *open_model_as(eng_pool *pool, size_t layers, eng_dtype dtype,
                                       eng_weights held)
{
    char directory[] = "/tmp/bench-engine-XXXXXX";
    tk_err err = TK_ERR_INIT;
    if (mkdtemp(directory) == NULL) {
        die("no temporary directory");
    }
    char *config = tk_file_join(directory, "config.json");
    char *weights = tk_file_join(directory, "model.safetensors");
    char text[1024];
    int n = snprintf(text, sizeof(text), CONFIG_FORMAT, layers);
    check(tk_file_replace(config, text, (size_t)n, 0600, &err), &err);
    write_weights(weights, layers, dtype);
    eng_model *model = NULL;
    tinkc_code code = eng_model_open(&model, pool, directory, held, &err);
    (void)unlink(config);
    (void)unlink(weights);
    (void)rmdir(directory);
    check(code, &err);
    tk_free(config);
    tk_free(weights);
    return model;
}

static inline eng_model *open_model(eng_pool *pool, size_t layers, eng_dtype dtype)
{
    return open_model_as(pool, layers, dtype, ENG_WEIGHTS_FILE);
}

#endif
