/* Decodes one token after another with the engine's forward pass and a cache. */
#include "sample.h"

#include "base/mem.h"
#include "engine/eng_head.h"
#include "engine/eng_math.h"
#include "engine/eng_rng.h"

/* Feeds seq and leaves the logits of its last `rows` rows. */
static tinkc_code feed(eng_model *model, const eng_seq *seq, eng_real *logits,
                       size_t rows, tk_err *err)
{
    eng_work_reset(&model->work);
    eng_acts acts;
    if (eng_acts_init(&acts, model, &model->work, seq, 1, ENG_KEEP_NOTHING) != TINKC_OK) {
        return tk_err_nomem(err);
    }
    tinkc_code code = eng_forward(&acts, err);
    if (code != TINKC_OK) {
        return code;
    }
    eng_logits l = {.model = model,
                    .x = acts.hidden + (seq->n - rows) * model->config.hidden,
                    .rows = rows,
                    .logits = logits};
    return eng_head_logits(&l, err);
}

static int32_t choose(eng_real *logits, size_t n, const pre_sampling *how, eng_rng *rng)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++) {
        best = logits[i] > logits[best] ? i : best;
    }
    if (!(how->temperature > 0)) {
        return (int32_t)best;
    }
    double top = (double)logits[best], sum = 0;
    for (size_t i = 0; i < n; i++) {
        double p = eng_exp(((double)logits[i] - top) / how->temperature);
        logits[i] = (eng_real)p;
        sum += (double)logits[i];
    }
    double mark = eng_rng_unit(rng) * sum;
    for (size_t i = 0; i < n; i++) {
        mark -= (double)logits[i];
        if (mark < 0) {
            return (int32_t)i;
        }
    }
    return (int32_t)best;
}

static bool is_end(const eng_model *model, int32_t id)
{
    for (size_t i = 0; i < model->config.n_eos; i++) {
        if (model->config.eos[i] == id) {
            return true;
        }
    }
    return false;
}

static tinkc_code grow(tk_tok_ids *ids, size_t capacity, tk_err *err)
{
    if (ids->capacity >= capacity) {
        return TINKC_OK;
    }
    int32_t *grown = tk_realloc_array(ids->ids, capacity, sizeof(*grown));
    if (grown == NULL) {
        return tk_err_nomem(err);
    }
    ids->ids = grown;
    ids->capacity = capacity;
    return TINKC_OK;
}

static tinkc_code sample(eng_model *model, tk_tok_ids *ids, const pre_sampling *how,
                         eng_work *own, tk_err *err)
{
    size_t vocabulary = model->config.vocabulary;
    size_t limit = TK_MIN(ids->n + how->max_tokens, model->config.context);
    eng_seq seq = {.n = limit};
    eng_real *logits = eng_work_reals(own, 1, vocabulary);
    if (logits == NULL || eng_seq_make_blocks(&seq, model, own) != TINKC_OK) {
        return tk_err_nomem(err);
    }
    eng_rng rng;
    eng_rng_init(&rng, how->seed, 0);
    tinkc_code code = grow(ids, limit, err);
    for (size_t fed = 0; code == TINKC_OK && ids->n < limit; fed = seq.pos + seq.n) {
        seq.tokens = ids->ids + fed;
        seq.n = ids->n - fed;
        seq.pos = fed;
        code = feed(model, &seq, logits, 1, err);
        if (code == TINKC_OK) {
            ids->ids[ids->n++] = choose(logits, vocabulary, how, &rng);
            if (is_end(model, ids->ids[ids->n - 1])) {
                break;
            }
        }
    }
    return code;
}

tinkc_code pre_sample(eng_model *model, tk_tok_ids *ids, const pre_sampling *how,
                      tk_err *err)
{
    if (ids->n == 0 || ids->n >= model->config.context) {
        return tk_err_set(err, TINKC_E_INVALID, "a prompt of %zu tokens", ids->n);
    }
    tinkc_code code = eng_model_reserve_rope(model, model->config.context, err);
    eng_work own = {NULL, 0, 0};
    if (code == TINKC_OK) {
        code = sample(model, ids, how, &own, err);
    }
    eng_work_dispose(&own);
    return code;
}

/* Logits of the last `rows` of n tokens, in memory of *own. */
static tinkc_code feed_all(eng_model *model, eng_seq *seq, eng_real *logits, size_t rows,
                           tk_err *err)
{
    eng_work own = {NULL, 0, 0};
    tinkc_code code = eng_model_reserve_rope(model, seq->n, err);
    if (code == TINKC_OK) {
        code = eng_seq_make_blocks(seq, model, &own) == TINKC_OK
                   ? feed(model, seq, logits, rows, err)
                   : tk_err_nomem(err);
    }
    eng_work_dispose(&own);
    return code;
}

tinkc_code pre_logits(eng_model *model, const int32_t *tokens, size_t n, eng_real *logits,
                      tk_err *err)
{
    eng_seq seq = {.tokens = tokens, .n = n};
    return feed_all(model, &seq, logits, 1, err);
}

tinkc_code pre_score(eng_model *model, const int32_t *tokens, size_t n, double *loss_out,
                     tk_err *err)
{
    size_t vocabulary = model->config.vocabulary;
    eng_real *logits = tk_array(n, vocabulary * sizeof(*logits));
    if (logits == NULL) {
        return tk_err_nomem(err);
    }
    eng_seq seq = {.tokens = tokens, .n = n};
    tinkc_code code = feed_all(model, &seq, logits, n, err);
    double loss = 0;
    for (size_t row = 0; row < n && code == TINKC_OK; row++) {
        eng_real *at = logits + row * vocabulary;
        eng_real wanted = at[tokens[row + 1]];
        eng_softmax soft = eng_head_softmax(at, vocabulary);
        loss -= (double)eng_head_logprob(&soft, wanted);
    }
    tk_free(logits);
    if (code == TINKC_OK) {
        *loss_out = loss;
    }
    return code;
}
