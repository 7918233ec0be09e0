/* Sums of what eng_lora.c, eng_train.c, eng_acts.c, eng_backward.c, eng_head.c and the
 * sampler allocate. Sizes add and multiply up to SIZE_MAX, where they stay. */
#include "engine/eng_bytes.h"

#include "base/limits.h"
#include "base/mem.h"
#include "engine/eng_attn.h"
#include "engine/eng_dimuon.h"
#include "engine/eng_draw.h"
#include "engine/eng_forward.h"
#include "engine/eng_head.h"
#include "engine/eng_inputs.h"
#include "engine/eng_kv.h"
#include "engine/eng_lora.h"
#include "engine/eng_mat.h"
#include "engine/eng_pool.h"
#include "engine/eng_sample_int.h"

#define BLOCK_BYTES (256 * TK_KIB) /* the smallest block of an eng_work */
#define GROUP_ROWS  512            /* as eng_train.c */
#define DATUM_BYTES 1024 /* of an item, its output, and its record in the answer */
#define CELL_BYTES  40 /* a target, five inputs, two outputs twice: as floats and sent */

static size_t add(size_t a, size_t b)
{
    size_t sum;
    return tk_size_add(&sum, a, b) ? sum : SIZE_MAX;
}

static size_t mul(size_t a, size_t b)
{
    size_t product;
    return tk_size_mul(&product, a, b) ? product : SIZE_MAX;
}

static size_t reals(size_t rows, size_t columns)
{
    return mul(mul(rows, columns), sizeof(eng_real));
}

/* ---- models and adapters ---- */

size_t eng_bytes_model(const eng_model *model)
{
    const eng_config *c = &model->config;
    return add(model->store.used, reals(c->context, c->head_dim));
}

/* Parameters, and the bytes of the packed copies of them. */
static size_t count_weights(const eng_model *model, const eng_lora_config *lora,
                            size_t *packed)
{
    const eng_config *c = &model->config;
    size_t n = 0, modules = c->layers * ENG_N_LINEAR + 1;
    *packed = 0;
    for (size_t i = 0; i < modules; i++) {
        bool head = i + 1 == modules;
        eng_linear which = (eng_linear)(i % ENG_N_LINEAR);
        size_t in = head ? c->hidden : eng_model_inputs(c, which);
        size_t out = head ? c->vocabulary : eng_model_outputs(c, which);
        bool on = head             ? lora->train_unembed
                  : which <= ENG_O ? lora->train_attn
                                   : lora->train_mlp;
        if (on) {
            n = add(n, mul(lora->rank, in + out));
            *packed = add(*packed, reals(ENG_ROUND_UP(lora->rank, ENG_LANES), in));
            *packed = add(*packed, reals(ENG_ROUND_UP(out, ENG_LANES), lora->rank));
        }
    }
    return n;
}

size_t eng_bytes_adapter(const eng_model *model, const eng_lora_config *config,
                         bool frozen)
{
    size_t packed;
    size_t n = count_weights(model, config, &packed);
    /* Trained: weights, gradients, their copy while a request runs, one or two moments. */
    bool dimuon = config->optimizer == ENG_DIMUON;
    size_t values = reals(n, frozen ? 1 : dimuon ? 4 : 5);
    if (dimuon && !frozen) { /* of one step, counted as long as the model exists */
        size_t temp = ENG_DIMUON_TEMP(TK_MIN(config->rank, (size_t)ENG_DIMUON_RANK_MAX));
        values = add(values, mul(temp, sizeof(double)));
    }
    size_t modules = mul(model->config.layers * ENG_N_LINEAR + 1, sizeof(eng_lora));
    packed = add(add(packed, packed / 4), (frozen ? 1 : 2) * BLOCK_BYTES);
    return add(add(values, packed), modules);
}

size_t eng_bytes_frozen(const eng_adapter *adapter)
{
    return eng_bytes_adapter(adapter->model, &adapter->config, true);
}

size_t eng_bytes_adapter_load(const eng_model *model, const eng_lora_config *config)
{
    size_t packed;
    return reals(count_weights(model, config, &packed),
                 config->optimizer == ENG_DIMUON ? 2 : 3);
}

/* ---- scratch of the pool's threads ---- */

/* Of products of `rows` rows with any matrix of the model. */
static size_t product_scratch(const eng_config *c, size_t rows)
{
    size_t q = c->heads * c->head_dim;
    size_t widest = TK_MAX(TK_MAX(c->vocabulary, c->intermediate), TK_MAX(c->hidden, q));
    return eng_mul_scratch(rows, widest);
}

/* `each` of every thread, with what aligns it. */
static size_t scratch_bytes(const eng_model *model, size_t each)
{
    return mul(eng_pool_size(model->pool), add(each, 64));
}

/* ---- training ---- */

static size_t columns_of(const eng_datum *datum)
{
    for (size_t i = 0; i < datum->n_inputs; i++) {
        const eng_array *array = &datum->inputs[i];
        if (tk_str_is(array->name, "target_tokens") && array->n_dims == 2) {
            return array->shape[1] > 0 ? (size_t)array->shape[1] : 0;
        }
    }
    return 1;
}

eng_train_size eng_bytes_measure(const eng_train_request *request)
{
    size_t most = request->piece_rows > 0 ? request->piece_rows : GROUP_ROWS;
    eng_train_size size = {.data = request->n_data};
    size_t rows = 0, blocks = 0; /* of the group that is being filled */
    for (size_t i = 0; i < request->n_data; i++) {
        const eng_datum *datum = &request->data[i];
        size_t columns = columns_of(datum);
        if (rows > 0 && (rows >= most || rows + datum->n_tokens > most)) {
            rows = blocks = 0;
        }
        rows += datum->n_tokens;
        blocks += (datum->n_tokens + ENG_KV_BLOCK - 1) / ENG_KV_BLOCK;
        size.rows = TK_MAX(size.rows, rows);
        size.blocks = TK_MAX(size.blocks, blocks);
        size.columns = TK_MAX(size.columns, columns);
        size.longest = TK_MAX(size.longest, datum->n_tokens);
        size.cells = add(size.cells, mul(datum->n_tokens, columns));
    }
    return size;
}

size_t eng_bytes_train(const eng_train_size *size)
{
    return add(mul(size->cells, CELL_BYTES), mul(size->data, DATUM_BYTES));
}

/* Activations of one forward pass; `layers` of them are kept. */
static size_t acts_bytes(const eng_config *c, size_t rows, size_t rank, size_t layers)
{
    double one = eng_acts_bytes(c, rows, rank) / (double)c->layers;
    size_t kv = c->kv_heads * c->head_dim;
    size_t common = reals(rows, 3 * c->hidden + 2 * kv + c->intermediate + 2);
    double all = one * (double)layers;
    size_t kept = all < (double)(SIZE_MAX / 2) ? (size_t)all : SIZE_MAX;
    return add(add(kept, common), mul(rows, 16));
}

static size_t head_bytes(const eng_config *c, size_t rows, size_t rank, size_t columns)
{
    size_t most = eng_head_piece_rows(c, rows);
    return add(reals(most, add(c->vocabulary, add(c->hidden, 3 * rank))),
               add(mul(mul(most, columns), sizeof(double)), mul(most, 64)));
}

size_t eng_bytes_train_work(const eng_model *model, size_t rank,
                            const eng_train_size *size)
{
    const eng_config *c = &model->config;
    size_t rows = size->rows;
    if (size->longest > c->context) {
        return 0;
    }
    size_t q = c->heads * c->head_dim, kv = c->kv_heads * c->head_dim;
    bool all = eng_acts_bytes(c, rows, rank) <= model->keep_max_bytes;
    size_t acts = add(acts_bytes(c, rows, rank, all ? c->layers : 1),
                      all ? 0 : reals(rows, mul(c->hidden, c->layers)));
    size_t back =
        reals(rows, 2 * c->hidden + 2 * c->intermediate + 2 * q + 2 * kv + 2 * rank);
    size_t blocks = reals(mul(size->blocks, c->layers), eng_kv_block_reals(c));
    size_t tables = mul(rows, 128);
    size_t each =
        TK_MAX(product_scratch(c, rows), eng_attn_back_scratch(c, size->longest));
    size_t scratch = scratch_bytes(model, each);
    return add(add(add(acts, back), add(blocks, add(tables, scratch))),
               add(head_bytes(c, rows, rank, size->columns), BLOCK_BYTES));
}

/* ---- sampling ---- */

size_t eng_bytes_sample_work(const eng_model *model, size_t rank, size_t sequences,
                             size_t rows)
{
    const eng_config *c = &model->config;
    size_t all = sequences + rows;
    size_t pages = mul(mul(sequences, c->layers), c->context / ENG_KV_BLOCK + 1);
    /* A product, attention to a whole context, a draw: one after the other. */
    size_t each = TK_MAX(product_scratch(c, all), eng_attn_scratch(c, c->context));
    const eng_sample_scores scores = {.alt = TK_TOPK_MAX_K};
    each = TK_MAX(each,
                  eng_draw_room_bytes(c->vocabulary) + eng_sample_score_bytes(&scores));
    size_t scratch = scratch_bytes(model, each);
    return add(add(acts_bytes(c, all, rank, 1), head_bytes(c, all, rank, 1)),
               add(add(mul(pages, sizeof(void *)), scratch), BLOCK_BYTES));
}

/* Each number once in the engine and once in the answer; draws and targets have one more
 * copy, as the 64-bit numbers of the answer or as they were sent. */
static size_t score_bytes(const eng_sample_request *r)
{
    size_t n = 0;
    if (r->prompt_logprobs || r->topk_prompt_logprobs > 0) {
        n = mul(r->n_prompt, add(mul(r->topk_prompt_logprobs, 16), 8));
    }
    if (r->target_starts != NULL && r->n_prompt > 0) {
        n = add(n, mul(r->target_starts[r->n_prompt - 1], 40));
        n = add(n, mul(r->n_prompt, 3 * sizeof(size_t)));
    }
    return add(n, mul(mul(r->n_prompt, r->prompt_alt_tokens), 32));
}

size_t eng_bytes_sample(const eng_model *model, const eng_sample_request *request)
{
    size_t context = model->config.context;
    size_t prompt = TK_MIN(request->n_prompt, context);
    size_t most =
        request->max_tokens > 0 ? TK_MIN(request->max_tokens, context) : context - prompt;
    size_t pages = ((prompt + most) / ENG_KV_BLOCK + 1) * sizeof(eng_page *);
    /* Tokens and log-probabilities in arrays that double, and once more in the answer;
     * the same for each of the likeliest ones. */
    size_t token = mul(add(request->topk_sample_logprobs, 1), 24);
    size_t drawn =
        mul(request->num_samples, add(mul(most, token), sizeof(eng_sample) + pages));
    size_t scores = score_bytes(request);
    size_t stops = mul(request->n_stop_tokens, sizeof(int32_t));
    for (size_t i = 0; i < request->n_stop_strings; i++) {
        stops = add(stops, add(mul(request->stop_strings[i].n, 16), sizeof(tk_str)));
    }
    return add(add(drawn, scores), add(stops, mul(request->n_prompt, sizeof(int32_t))));
}
