/* The engine's side of the comparison with transformers and PEFT: reads one JSON request
 * (a file), runs it, writes tensors to a safetensors file and prints one JSON object.
 * engine_compare.py writes the requests; its comment lists the members. One thread; any
 * failure ends the program with a message.
 * Links: engine */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "engine/eng_head.h"
#include "engine/eng_sampler.h"

#define TENSORS_MAX 2048
#define DATA_MAX    64
#define INPUTS_MAX  4 /* of a datum */

typedef struct tensor {
    char name[128];
    size_t shape[2];
    float *data;
} tensor;

typedef struct tool {
    tk_arena arena;
    const tk_json *request;
    eng_pool *pool;
    eng_model *model;
    eng_adapter *adapter; /* NULL without "lora" */
    int32_t *tokens[DATA_MAX];
    eng_array inputs[DATA_MAX][INPUTS_MAX];
    eng_datum data[DATA_MAX];
    size_t n_data;
    tensor *tensors;
    size_t n_tensors;
    tk_json_writer w;
} tool;

static void die(const char *what, const tk_err *err)
{
    fprintf(stderr, "interop_engine: %s: %s\n", what, err != NULL ? err->message : "");
    exit(1);
}

static void must(tinkc_code code, const char *what, const tk_err *err)
{
    if (code != TINKC_OK) {
        die(what, err);
    }
}

static void *room(size_t count, size_t size)
{
    void *p = tk_zarray(count, size);
    if (p == NULL) {
        die("out of memory", NULL);
    }
    return p;
}

static const tk_json *member(const tk_json *object, const char *name)
{
    const tk_json *value = tk_json_get(object, name);
    if (value == NULL) {
        die(name, NULL);
    }
    return value;
}

static const char *text(const tk_json *object, const char *name)
{
    const tk_json *value = member(object, name);
    return value->type == TK_JSON_STRING ? value->as.string.p : "";
}

static double number(const tk_json *object, const char *name)
{
    double value = 0;
    if (!tk_json_to_double(member(object, name), &value)) {
        die(name, NULL);
    }
    return value;
}

/* ---- output ---- */

static float *add_tensor(tool *t, const char *name, size_t rows, size_t columns)
{
    if (t->n_tensors == TENSORS_MAX) {
        die("too many tensors", NULL);
    }
    tensor *out = &t->tensors[t->n_tensors++];
    (void)snprintf(out->name, sizeof(out->name), "%s", name);
    out->shape[0] = rows;
    out->shape[1] = columns;
    out->data = room(rows * columns, sizeof(float));
    return out->data;
}

static void write_tensors(const tool *t, const char *path)
{
    tk_err err = TK_ERR_INIT;
    tk_file_writer *writer = NULL;
    eng_st_entry *entries = room(t->n_tensors, sizeof(*entries));
    for (size_t i = 0; i < t->n_tensors; i++) {
        const tensor *x = &t->tensors[i];
        entries[i] = (eng_st_entry){x->name, ENG_F32, x->shape, 2, x->data};
    }
    eng_st_file file = {entries, t->n_tensors, NULL};
    must(tk_file_writer_new(&writer, path, 0666, &err), "out", &err);
    must(eng_st_write(writer, &file, &err), "out", &err);
    must(tk_file_writer_commit(writer, &err), "out", &err);
    tk_free(entries);
}

/* ---- what is computed ---- */

static void put_logits(tool *t, const char *name, eng_adapter *adapter)
{
    tk_err err = TK_ERR_INIT;
    eng_work *work = &t->model->work;
    eng_seq seq = {.tokens = t->tokens[0], .n = t->data[0].n_tokens, .adapter = adapter};
    eng_acts acts;
    eng_work_reset(work);
    must(eng_model_reserve_rope(t->model, seq.n, &err), "rope", &err);
    must(eng_seq_make_blocks(&seq, t->model, work), "blocks", NULL);
    must(eng_acts_init(&acts, t->model, work, &seq, 1, ENG_KEEP_NOTHING), "acts", NULL);
    must(eng_forward(&acts, &err), "forward", &err);
    size_t rank = adapter != NULL ? adapter->config.rank : 1;
    eng_logits l = {.model = t->model,
                    .adapter = adapter,
                    .x = acts.hidden,
                    .rows = seq.n,
                    .logits = add_tensor(t, name, seq.n, t->model->config.vocabulary),
                    .u = room(seq.n * rank, sizeof(eng_real))};
    must(eng_head_logits(&l, &err), "head", &err);
    tk_free(l.u);
    eng_work_reset(work);
}

static eng_result *run(const tool *t, eng_adapter *adapter, bool forward_only)
{
    tk_err err = TK_ERR_INIT;
    eng_result *result = NULL;
    eng_setting settings[2];
    eng_train_request request = {.loss_fn = TK_STR("cross_entropy"),
                                 .settings = settings,
                                 .data = t->data,
                                 .n_data = t->n_data,
                                 .forward_only = forward_only};
    const tk_json *gspo = tk_json_get(t->request, "gspo");
    if (gspo != NULL) {
        static const char *const names[] = {"clip_low_threshold", "clip_high_threshold"};
        request.loss_fn = TK_STR("gspo");
        for (; request.n_settings < TK_ARRAY_LEN(names); request.n_settings++) {
            const char *name = names[request.n_settings];
            settings[request.n_settings] =
                (eng_setting){tk_str_of(name), number(gspo, name), false};
        }
    }
    must(eng_adapter_forward_backward(&result, adapter, &request, &err), "train", &err);
    return result;
}

static void put_logprobs(tool *t, const eng_result *result)
{
    for (size_t i = 0; i < result->n_outputs; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "logprobs.%zu", i);
        float *out = add_tensor(t, name, 1, result->outputs[i].rows);
        memcpy(out, result->outputs[i].logprobs, result->outputs[i].rows * sizeof(float));
    }
}

static void put_grad(tool *t, size_t module, bool b)
{
    const eng_adapter *a = t->adapter;
    const eng_lora *m = &a->modules[module];
    char name[128];
    if (module + 1 == a->n_modules) {
        (void)snprintf(name, sizeof(name), "grad.lm_head.lora_%c", b ? 'B' : 'A');
    } else {
        (void)snprintf(
            name, sizeof(name), "grad.model.layers.%zu.%s.lora_%c", module / ENG_N_LINEAR,
            eng_linear_name((eng_linear)(module % ENG_N_LINEAR)), b ? 'B' : 'A');
    }
    size_t rows = b ? m->out : a->config.rank, columns = b ? a->config.rank : m->in;
    memcpy(add_tensor(t, name, rows, columns), a->grads + (b ? m->b_at : m->a_at),
           rows * columns * sizeof(float));
}

static void put_grads(tool *t)
{
    for (size_t i = 0; i < t->adapter->n_modules; i++) {
        if (t->adapter->modules[i].on) {
            put_grad(t, i, false);
            put_grad(t, i, true);
        }
    }
}

static void step(tool *t)
{
    tk_err err = TK_ERR_INIT;
    double norm;
    const tk_json *options = tk_json_get(t->request, "dimuon");
    if (options != NULL) {
        eng_dimuon dimuon = {.learning_rate = number(options, "learning_rate"),
                             .beta1 = number(options, "beta1"),
                             .grad_clip_norm = number(options, "grad_clip_norm")};
        must(eng_adapter_dimuon_step(t->adapter, &dimuon, &norm, &err), "step", &err);
        return;
    }
    options = member(t->request, "adam");
    eng_adam adam = {.learning_rate = number(options, "learning_rate"),
                     .beta1 = number(options, "beta1"),
                     .beta2 = number(options, "beta2"),
                     .eps = number(options, "eps"),
                     .weight_decay = number(options, "weight_decay")};
    must(eng_adapter_optim_step(t->adapter, &adam, &norm, &err), "step", &err);
}

static void train(tool *t)
{
    int steps = (int)number(t->request, "steps");
    tk_json_key(&t->w, TK_STR("losses"));
    tk_json_begin_array(&t->w);
    for (int i = 0; i < steps; i++) {
        eng_result *result = run(t, t->adapter, false);
        tk_json_put_double(&t->w, result->metrics[0].value);
        if (i == 0) {
            put_logprobs(t, result);
            put_grads(t);
        }
        eng_result_free(result);
        step(t);
    }
    tk_json_end_array(&t->w);
}

static void on_done(void *user, const eng_sample_result *result, const tk_err *err)
{
    tool *t = user;
    if (result == NULL) {
        die("sample", err);
    }
    tk_json_put_i32s(&t->w, result->sequences[0].tokens, result->sequences[0].n);
}

static void run_sample(tool *t, const eng_sample_request *request,
                       void (*done)(void *user, const eng_sample_result *result,
                                    const tk_err *err))
{
    tk_err err = TK_ERR_INIT;
    eng_sampler *sampler = NULL;
    eng_sampler_config config = {
        .max_sequences = 1, .max_kv_bytes = (size_t)1 << 30, .prefill_chunk = 64};
    eng_sample_listener listener = {.on_done = done, .user = t};
    uint64_t id;
    must(eng_sampler_new(&sampler, t->model, &config, &err), "sampler", &err);
    must(eng_sampler_add(sampler, request, &listener, &id, &err), "sample", &err);
    while (eng_sampler_busy(sampler)) {
        must(eng_sampler_step(sampler, &err), "sample", &err);
    }
    eng_sampler_free(sampler);
}

static void greedy(tool *t, const char *name, eng_adapter *adapter)
{
    eng_sample_request request = ENG_SAMPLE_REQUEST_INIT;
    request.adapter = adapter;
    request.prompt = t->tokens[0];
    request.n_prompt = TK_MIN(t->data[0].n_tokens, (size_t)8);
    request.max_tokens = (size_t)number(t->request, "greedy");
    request.temperature = 0;
    request.stop_mode = ENG_STOP_NONE;
    tk_json_key(&t->w, tk_str_of(name));
    run_sample(t, &request, on_done);
}

/* ---- scores of a prompt and of sampled tokens ---- */

static void put_floats(tool *t, const char *name, const float *values, size_t rows,
                       size_t columns)
{
    memcpy(add_tensor(t, name, rows, columns), values, rows * columns * sizeof(float));
}

static void put_ids(tool *t, const char *name, const int32_t *ids, size_t rows,
                    size_t columns)
{
    float *out = add_tensor(t, name, rows, columns); /* exact: ids are below 2^24 */
    for (size_t i = 0; i < rows * columns; i++) {
        out[i] = (float)ids[i];
    }
}

static void on_scored(void *user, const eng_sample_result *result, const tk_err *err)
{
    tool *t = user;
    if (result == NULL) {
        die("score", err);
    }
    size_t n = t->data[0].n_tokens;
    const eng_sequence *s = &result->sequences[0];
    put_floats(t, "score.prompt", result->prompt_logprobs + 1, 1, n - 1);
    put_floats(t, "score.targets", result->target_logprobs, 1, n - 1);
    put_ids(t, "score.alt_tokens", result->alt_tokens, n - 1, result->n_alt);
    put_floats(t, "score.alt_logprobs", result->alt_logprobs, n - 1, result->n_alt);
    put_ids(t, "score.tokens", s->tokens, 1, s->n);
    put_floats(t, "score.logprobs", s->logprobs, 1, s->n);
    put_ids(t, "score.top_ids", s->top_ids, s->n, result->topk_sampled);
    put_floats(t, "score.top", s->top_logprobs, s->n, result->topk_sampled);
}

/* Everything that a request can ask about datum 0, whose targets are the named tokens. */
static void score(tool *t)
{
    size_t n = t->data[0].n_tokens;
    const int64_t *targets = t->inputs[0][0].values;
    int32_t *named = room(n, sizeof(*named));
    size_t *starts = room(n, sizeof(*starts));
    eng_sample_request request = ENG_SAMPLE_REQUEST_INIT;
    for (size_t i = 0; i < n; i++) {
        named[i] = (int32_t)targets[i];
        starts[i] = i;
    }
    request.prompt = t->tokens[0];
    request.n_prompt = n;
    request.max_tokens = (size_t)number(t->request, "greedy");
    request.temperature = 0.7;
    request.has_seed = true;
    request.seed = 4;
    request.stop_mode = ENG_STOP_NONE;
    request.prompt_logprobs = true;
    request.targets = named;
    request.target_starts = starts;
    request.prompt_alt_tokens = 4;
    request.topk_sample_logprobs = 5;
    run_sample(t, &request, on_scored);
    tk_free(named);
    tk_free(starts);
}

/* ---- input ---- */

/* List i of `name`, as numbers of the type that the engine takes. */
static eng_array read_array(const tk_json *object, const char *name, size_t i, bool ids)
{
    tk_json list = tk_json_at(member(object, name), i);
    size_t n = tk_json_len(&list);
    int64_t *integers = ids ? room(n, sizeof(*integers)) : NULL;
    float *reals = ids ? NULL : room(n, sizeof(*reals));
    for (size_t j = 0; j < n; j++) {
        tk_json item = tk_json_at(&list, j);
        double value = 0;
        if (ids ? !tk_json_to_i64(&item, &integers[j])
                : !tk_json_to_double(&item, &value)) {
            die(name, NULL);
        }
        if (!ids) {
            reals[j] = (float)value;
        }
    }
    return (eng_array){.name = tk_str_of(name),
                       .type = ids ? ENG_ARRAY_I64 : ENG_ARRAY_F32,
                       .values = ids ? (void *)integers : (void *)reals,
                       .n_values = n};
}

static void read_datum(tool *t, size_t i)
{
    static const char *const plain[] = {"weights"};
    static const char *const policy[] = {"logprobs", "advantages", "sequence_ratio_mask"};
    const tk_json *gspo = tk_json_get(t->request, "gspo");
    const char *const *names = gspo != NULL ? policy : plain;
    size_t n = gspo != NULL ? TK_ARRAY_LEN(policy) : TK_ARRAY_LEN(plain);
    eng_array tokens = read_array(t->request, "tokens", i, true);
    t->tokens[i] = room(tokens.n_values, sizeof(int32_t));
    for (size_t j = 0; j < tokens.n_values; j++) {
        t->tokens[i][j] = (int32_t)((const int64_t *)tokens.values)[j];
    }
    tk_free((void *)(uintptr_t)tokens.values);
    t->inputs[i][0] = read_array(t->request, "target_tokens", i, true);
    for (size_t j = 0; j < n; j++) {
        t->inputs[i][1 + j] =
            read_array(gspo != NULL ? gspo : t->request, names[j], i, false);
    }
    t->data[i] = (eng_datum){t->tokens[i], tokens.n_values, t->inputs[i], 1 + n};
}

static void read_request(tool *t, const char *path)
{
    tk_err err = TK_ERR_INIT;
    char *data = NULL;
    size_t n;
    tk_arena_init(&t->arena, 0);
    must(tk_file_read(&data, &n, path, 64 * TK_MIB, &err), "request", &err);
    must(tk_json_parse(&t->request, &t->arena, data, n, NULL, &err), "request", &err);
    tk_free(data);
    t->n_data = TK_MIN(tk_json_len(member(t->request, "tokens")), (size_t)DATA_MAX);
    for (size_t i = 0; i < t->n_data; i++) {
        read_datum(t, i);
    }
}

static void open_adapter(tool *t)
{
    tk_err err = TK_ERR_INIT;
    eng_checkpoint_info info;
    const tk_json *directory = tk_json_get(t->request, "adapter");
    if (directory == NULL || directory->type != TK_JSON_STRING) {
        return;
    }
    const char *path = directory->as.string.p;
    must(eng_checkpoint_read_info(&info, path, &err), "adapter", &err);
    info.lora.optimizer =
        tk_json_get(t->request, "dimuon") != NULL ? ENG_DIMUON : ENG_ADAMW;
    must(eng_adapter_new(&t->adapter, t->model, &info.lora, &err), "adapter", &err);
    must(eng_adapter_load(t->adapter, path, false, &err), "adapter", &err);
}

static void with_adapter(tool *t)
{
    tk_err err = TK_ERR_INIT;
    eng_save_options options = {false, text(t->request, "model")};
    put_logits(t, "lora_logits", t->adapter);
    train(t);
    put_logits(t, "trained_logits", t->adapter);
    if (tk_json_get(t->request, "greedy") != NULL) {
        greedy(t, "greedy_lora", t->adapter);
    }
    must(eng_adapter_export_peft(t->adapter, text(t->request, "export"), &options, &err),
         "export", &err);
}

static void without_adapter(tool *t)
{
    tk_err err = TK_ERR_INIT;
    eng_adapter *none = NULL; /* B = 0: the base model */
    eng_lora_config config = ENG_LORA_CONFIG_INIT;
    config.rank = 1;
    must(eng_adapter_new(&none, t->model, &config, &err), "adapter", &err);
    eng_result *result = run(t, none, true);
    put_logprobs(t, result);
    eng_result_free(result);
    eng_adapter_free(none);
}

static void finish(tool *t, tk_buf *out)
{
    must(tk_json_finish(&t->w, NULL), "output", NULL);
    printf("%.*s\n", (int)out->n, out->p);
    write_tensors(t, text(t->request, "out"));
    for (size_t i = 0; i < t->n_tensors; i++) {
        tk_free(t->tensors[i].data);
    }
    for (size_t i = 0; i < t->n_data; i++) {
        for (size_t j = 0; j < t->data[i].n_inputs; j++) {
            tk_free((void *)(uintptr_t)t->inputs[i][j].values);
        }
        tk_free(t->tokens[i]);
    }
    tk_free(t->tensors);
    eng_adapter_free(t->adapter);
    eng_model_free(t->model);
    eng_pool_free(t->pool);
    tk_arena_dispose(&t->arena);
    tk_buf_dispose(out);
}

int main(int argc, char **argv)
{
    static tool t;
    tk_err err = TK_ERR_INIT;
    tk_buf out;
    if (argc != 2) {
        die("usage: interop_engine REQUEST.json", NULL);
    }
    tk_buf_init(&out, 64 * TK_MIB);
    tk_json_writer_init(&t.w, &out);
    t.tensors = room(TENSORS_MAX, sizeof(*t.tensors));
    read_request(&t, argv[1]);
    must(eng_pool_new(&t.pool, (unsigned)number(t.request, "threads"), &err), "pool",
         &err);
    must(eng_model_open(&t.model, t.pool, text(t.request, "model"), ENG_WEIGHTS_FILE,
                        &err),
         "model", &err);
    open_adapter(&t);
    tk_json_begin_object(&t.w);
    if (tk_json_get(t.request, "greedy") != NULL) {
        put_logits(&t, "logits", NULL);
        greedy(&t, "greedy", NULL);
        score(&t);
    }
    if (t.adapter != NULL) {
        with_adapter(&t);
    } else {
        without_adapter(&t);
    }
    tk_json_end_object(&t.w);
    finish(&t, &out);
    return 0;
}
