/* A randomly initialised model of half a billion parameters (the shape of Qwen2.5-0.5B,
 * bf16, a temporary file): decoding one sequence against reading the same bytes in four
 * streams, 32 sequences against one, and the memory of a training step.
 * Links: engine */
#include "bench.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "engine/eng_head.h"
#include "engine/eng_rng.h"

#define HIDDEN       896
#define INTERMEDIATE 4864
#define LAYERS       24
#define HEADS        14
#define KV_HEADS     2
#define HEAD_DIM     64
#define VOCABULARY   151936
#define THREADS      2
#define WIDE         32 /* sequences decoded together */
#define CONTEXT      64 /* positions before the decoded token */
#define GIB          1073741824.0

static void die(const char *what)
{
    fprintf(stderr, "bench_engine_model: %s\n", what);
    exit(1);
}

static void check(tinkc_code code, const tk_err *err)
{
    if (code != TINKC_OK) {
        die(err->message);
    }
}

/* ---- the model ---- */

static const char config_text[] =
    "{\"architectures\":[\"Qwen2ForCausalLM\"],\"hidden_size\":896,"
    "\"intermediate_size\":4864,\"num_hidden_layers\":24,\"num_attention_heads\":14,"
    "\"num_key_value_heads\":2,\"vocab_size\":151936,\"hidden_act\":\"silu\","
    "\"max_position_embeddings\":32768,\"rms_norm_eps\":1e-6,\"rope_theta\":1000000.0,"
    "\"tie_word_embeddings\":true}";

typedef struct builder {
    eng_st_entry entries[LAYERS * 12 + 2];
    char names[LAYERS * 12 + 2][80];
    size_t shapes[LAYERS * 12 + 2][2];
    size_t n;
    uint16_t *noise, *ones;
} builder;

static void add(builder *b, const char *name, size_t rows, size_t columns, bool norm)
{
    size_t i = b->n++;
    (void)snprintf(b->names[i], sizeof(b->names[i]), "%s", name);
    b->shapes[i][0] = rows;
    b->shapes[i][1] = columns;
    b->entries[i] = (eng_st_entry){b->names[i], ENG_BF16, b->shapes[i],
                                   columns > 0 ? 2 : 1, norm ? b->ones : b->noise};
}

static void add_layer(builder *b, size_t layer)
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

/* The tensors share one block of noise: what they hold does not change the time. */
static void write_weights(const char *path)
{
    builder *b = tk_zalloc(sizeof(*b));
    size_t most = (size_t)VOCABULARY * HIDDEN;
    b->noise = tk_array(most, sizeof(uint16_t));
    b->ones = tk_array(HIDDEN, sizeof(uint16_t));
    if (b->noise == NULL || b->ones == NULL) {
        die("out of memory");
    }
    eng_rng rng;
    eng_rng_init(&rng, 1, 1);
    for (size_t i = 0; i < most; i++) {
        b->noise[i] = eng_f32_to_bf16((float)(eng_rng_unit(&rng) - 0.5) * 0.04f);
    }
    for (size_t i = 0; i < HIDDEN; i++) {
        b->ones[i] = 0x3F80;
    }
    add(b, "model.embed_tokens.weight", VOCABULARY, HIDDEN, false);
    add(b, "model.norm.weight", HIDDEN, 0, true);
    for (size_t i = 0; i < LAYERS; i++) {
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

static eng_model *open_model(eng_pool *pool)
{
    char directory[] = "/tmp/bench-engine-XXXXXX";
    tk_err err = TK_ERR_INIT;
    if (mkdtemp(directory) == NULL) {
        die("no temporary directory");
    }
    char *config = tk_file_join(directory, "config.json");
    char *weights = tk_file_join(directory, "model.safetensors");
    check(tk_file_replace(config, config_text, sizeof(config_text) - 1, 0600, &err),
          &err);
    write_weights(weights);
    eng_model *model = NULL;
    tinkc_code code = eng_model_open(&model, pool, directory, &err);
    (void)unlink(config);
    (void)unlink(weights);
    (void)rmdir(directory);
    check(code, &err);
    tk_free(config);
    tk_free(weights);
    return model;
}

/* ---- decoding ---- */

typedef struct decoder {
    eng_model *model;
    eng_seq seqs[WIDE];
    size_t n;
    eng_work blocks, work;
} decoder;

static void decoder_init(decoder *d, eng_model *model)
{
    static int32_t tokens[CONTEXT + 1] = {7, 5, 3};
    *d = (decoder){.model = model};
    for (size_t i = 0; i < WIDE; i++) {
        eng_seq *seq = &d->seqs[i];
        *seq = (eng_seq){.tokens = tokens, .n = CONTEXT + 1};
        if (eng_seq_make_blocks(seq, model, &d->blocks) != TINKC_OK) {
            die("out of memory");
        }
        seq->n = 1;
        seq->pos = CONTEXT;
    }
}

/* One token of each of the first n sequences, to its logits. */
static void decode(void *user)
{
    decoder *d = user;
    tk_err err = TK_ERR_INIT;
    eng_acts acts;
    eng_work_reset(&d->work);
    if (eng_acts_init(&acts, d->model, &d->work, d->seqs, d->n, ENG_KEEP_NOTHING) !=
        TINKC_OK) {
        die("out of memory");
    }
    check(eng_forward(&acts, &err), &err);
    eng_logits l = {.model = d->model,
                    .x = acts.hidden,
                    .rows = d->n,
                    .logits = eng_work_reals(&d->work, d->n, VOCABULARY)};
    if (l.logits == NULL) {
        die("out of memory");
    }
    check(eng_head_logits(&l, &err), &err);
}

/* ---- reading the same bytes ---- */

typedef struct reading {
    eng_pool *pool;
    const char *data;
    size_t bytes;
    uint64_t sum[THREADS * 8];
} reading;

static void read_part(void *user, size_t begin, size_t end, void *scratch)
{
    reading *r = user;
    (void)scratch;
    for (size_t part = begin; part < end; part++) {
        size_t n = r->bytes / THREADS / 4 / sizeof(uint64_t);
        const uint64_t *s0 = (const void *)(r->data + part * (r->bytes / THREADS));
        const uint64_t *s1 = s0 + n, *s2 = s1 + n, *s3 = s2 + n;
        uint64_t sum[4] = {0};
        for (size_t i = 0; i + 4 <= n; i += 4) {
            for (size_t l = 0; l < 4; l++) {
                sum[l] += s0[i + l] + s1[i + l] + s2[i + l] + s3[i + l];
            }
        }
        r->sum[part * 8] = sum[0] + sum[1] + sum[2] + sum[3];
    }
}

static void read_all(void *user)
{
    reading *r = user;
    eng_pool_run(r->pool, THREADS, read_part, r);
}

static size_t weight_bytes(const eng_model *model)
{
    size_t bytes = model->head.n * model->head.k * 2;
    for (size_t i = 0; i < LAYERS; i++) {
        for (size_t w = 0; w < ENG_N_LINEAR; w++) {
            bytes += model->layers[i].w[w].n * model->layers[i].w[w].k * 2;
        }
    }
    return bytes;
}

/* ---- the same matrices with many rows: the rate that batching can reach ---- */

#define MATRIX_ROWS 384

typedef struct matrix {
    eng_model *model;
    eng_real *x, *y;
} matrix;

static void multiply(void *user)
{
    matrix *m = user;
    const eng_mat *w = &m->model->layers[0].w[ENG_GATE];
    eng_mul mul = {
        .w = w, .x = m->x, .ldx = w->k, .rows = MATRIX_ROWS, .y = m->y, .ldy = w->n};
    tk_err err = TK_ERR_INIT;
    check(eng_mul_run(m->model->pool, &mul, &err), &err);
}

/* ---- measuring: wall time, the fastest of some repetitions ---- */

static double best_ns(void (*run)(void *user), void *user, int repetitions)
{
    double best = 1e300;
    for (int i = 0; i < repetitions; i++) {
        struct timespec start, end;
        (void)clock_gettime(CLOCK_MONOTONIC, &start);
        run(user);
        (void)clock_gettime(CLOCK_MONOTONIC, &end);
        double ns = (double)(end.tv_sec - start.tv_sec) * 1e9 +
                    (double)(end.tv_nsec - start.tv_nsec);
        best = ns < best ? ns : best;
    }
    return best;
}

static void bench_decoding(eng_model *model)
{
    decoder *d = tk_zalloc(sizeof(*d));
    if (d == NULL) {
        die("out of memory");
    }
    decoder_init(d, model);
    reading r = {.pool = model->pool, .bytes = weight_bytes(model)};
    r.data = model->head.panels; /* the first of them; the others follow */
    double one = 1e300, reads = 1e300;
    d->n = 1;
    for (int i = 0; i < 5; i++) { /* in turn: a busy machine disturbs both alike */
        one = TK_MIN(one, best_ns(decode, d, 3));
        reads = TK_MIN(reads, best_ns(read_all, &r, 3));
    }
    d->n = WIDE;
    matrix m = {model, tk_zarray(MATRIX_ROWS * HIDDEN, sizeof(eng_real)),
                tk_zarray((size_t)MATRIX_ROWS * INTERMEDIATE, sizeof(eng_real))};
    if (m.x == NULL || m.y == NULL) {
        die("out of memory");
    }
    double many = 1e300, product = 1e300;
    for (int i = 0; i < 4; i++) {
        many = TK_MIN(many, best_ns(decode, d, 1));
        product = TK_MIN(product, best_ns(multiply, &m, 10));
    }
    tk_free(m.x);
    tk_free(m.y);
    char detail[160];
    (void)snprintf(detail, sizeof(detail),
                   "%.1f tokens/s; %.1f GB/s of weights against %.1f GB/s read",
                   1e9 / one, (double)r.bytes / one, (double)r.bytes / reads);
    bench_report("engine: decoding 0.5B, one sequence, vs reading its bytes", reads / one,
                 0.8, detail);
    double matrix_rate = 2.0 * MATRIX_ROWS * HIDDEN * INTERMEDIATE / product;
    double vector_rate = (double)r.bytes / one; /* two operations per bf16 weight */
    (void)snprintf(detail, sizeof(detail),
                   "%.1f tokens/s, %.1f with one; matrix %.1f, vector %.1f GFLOP/s",
                   1e9 * WIDE / many, 1e9 / one, matrix_rate, vector_rate);
    bench_report("engine: decoding 0.5B, 32 sequences vs 1, over matrix vs vector rate",
                 WIDE * one / many / (matrix_rate / vector_rate), 0.7, detail);
    eng_work_dispose(&d->blocks);
    eng_work_dispose(&d->work);
    tk_free(d);
}

/* ---- memory of a training step ---- */

#define BATCH  4
#define TOKENS 512

static void bench_training(eng_model *model)
{
    static int32_t tokens[TOKENS];
    static int64_t targets[TOKENS];
    tk_err err = TK_ERR_INIT;
    for (size_t i = 0; i < TOKENS; i++) {
        tokens[i] = (int32_t)(i * 7919 % VOCABULARY);
        targets[i] = (int64_t)(i * 104729 % VOCABULARY);
    }
    eng_array input = {.name = TK_STR("target_tokens"),
                       .type = ENG_ARRAY_I64,
                       .values = targets,
                       .n_values = TOKENS};
    eng_datum data[BATCH];
    for (size_t i = 0; i < BATCH; i++) {
        data[i] = (eng_datum){tokens, TOKENS, &input, 1};
    }
    eng_train_request request = {
        .loss_fn = TK_STR("cross_entropy"), .data = data, .n_data = BATCH};
    eng_lora_config config = ENG_LORA_CONFIG_INIT;
    eng_adam adam = ENG_ADAM_INIT;
    eng_adapter *adapter = NULL;
    eng_result *result = NULL;
    double norm;
    check(eng_adapter_new(&adapter, model, &config, &err), &err);
    struct timespec start, end;
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    check(eng_adapter_forward_backward(&result, adapter, &request, &err), &err);
    check(eng_adapter_optim_step(adapter, &adam, &norm, &err), &err);
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    double seconds = (double)(end.tv_sec - start.tv_sec) +
                     (double)(end.tv_nsec - start.tv_nsec) * 1e-9;
    double peak = (double)usage.ru_maxrss * 1024;
    char detail[160];
    (void)snprintf(detail, sizeof(detail),
                   "peak %.2f GiB, rank 32, %d x %d tokens; %.1f s, %.0f tokens/s",
                   peak / GIB, BATCH, TOKENS, seconds, BATCH * TOKENS / seconds);
    bench_report("engine: memory of a training step, 8 GiB over peak", 8 * GIB / peak, 1,
                 detail);
    eng_result_free(result);
    eng_adapter_free(adapter);
}

int main(void)
{
    tk_err err = TK_ERR_INIT;
    eng_pool *pool = NULL;
    check(eng_pool_new(&pool, THREADS, &err), &err);
    struct timespec start, end;
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    eng_model *model = open_model(pool);
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    fprintf(stderr, "bench_engine_model: written and opened in %.1f s\n",
            (double)(end.tv_sec - start.tv_sec) +
                (double)(end.tv_nsec - start.tv_nsec) * 1e-9);
    bench_training(model);
    bench_decoding(model);
    eng_model_free(model);
    eng_pool_free(pool);
    return 0;
}
