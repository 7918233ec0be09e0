/* Room for activations; see eng_forward.h. Sizes come from a checked configuration and a
 * checked number of rows; a product that overflows shows as a failed allocation. */
#include <string.h>

#include "engine/eng_forward.h"

typedef struct maker {
    eng_work *work;
    size_t rows;
    bool failed;
} maker;

static eng_real *make(maker *m, size_t columns)
{
    eng_real *piece = eng_work_reals(m->work, m->rows, columns);
    m->failed = m->failed || piece == NULL;
    return piece;
}

static void make_layer(maker *m, eng_layer_acts *l, const eng_acts *acts)
{
    const eng_config *c = &acts->model->config;
    size_t q = c->heads * c->head_dim, kv = c->kv_heads * c->head_dim;
    l->x_in = make(m, c->hidden);
    l->inv_in = make(m, 1);
    if (c->qk_norm) {
        l->q_raw = make(m, q);
        l->k_raw = make(m, kv);
        l->q_inv = make(m, c->heads);
        l->k_inv = make(m, c->kv_heads);
    }
    l->q = make(m, q);
    l->o = make(m, q);
    l->stat = make(m, 2 * c->heads);
    l->x_mid = make(m, c->hidden);
    l->inv_mid = make(m, 1);
    l->gate = make(m, c->intermediate);
    l->up = make(m, c->intermediate);
    for (size_t w = 0; acts->rank > 0 && w < ENG_N_LINEAR; w++) {
        l->u[w] = make(m, acts->rank);
    }
}

static void fill_sequences(eng_acts *acts)
{
    size_t row = 0;
    for (size_t s = 0; s < acts->n_seqs; s++) {
        const eng_seq *seq = &acts->seqs[s];
        acts->attn[s] = (eng_attn_seq){.row = row, .n = seq->n, .pos = seq->pos};
        for (size_t i = 0; i < seq->n; i++) {
            acts->positions[row++] = seq->pos + i;
        }
    }
}

double eng_acts_bytes(const eng_config *config, size_t rows, size_t rank)
{
    size_t q = config->heads * config->head_dim, kv = config->kv_heads * config->head_dim;
    size_t norm = config->qk_norm ? q + kv + config->heads + config->kv_heads : 0;
    size_t row = 2 * config->hidden + 2 + norm + 2 * q + 2 * config->heads +
                 2 * config->intermediate + ENG_N_LINEAR * rank;
    return (double)row * (double)rows * (double)config->layers * sizeof(eng_real);
}

tinkc_code eng_acts_init(eng_acts *acts, eng_model *model, eng_work *work,
                         const eng_seq *seqs, size_t n_seqs, eng_keep keep)
{
    const eng_config *c = &model->config;
    *acts = (eng_acts){.model = model, .seqs = seqs, .n_seqs = n_seqs, .keep = keep};
    for (size_t s = 0; s < n_seqs; s++) {
        acts->rows += seqs[s].n;
        if (seqs[s].adapter != NULL) {
            acts->rank = TK_MAX(acts->rank, seqs[s].adapter->config.rank);
        }
    }
    maker m = {work, acts->rows, false};
    acts->layers = eng_work_array(work, c->layers, sizeof(*acts->layers));
    acts->positions = eng_work_array(work, acts->rows, sizeof(*acts->positions));
    acts->attn = eng_work_array(work, n_seqs, sizeof(*acts->attn));
    if (acts->layers == NULL || acts->positions == NULL || acts->attn == NULL) {
        return TINKC_E_NOMEM;
    }
    memset(acts->layers, 0, c->layers * sizeof(*acts->layers));
    for (size_t i = 0; i < c->layers && !m.failed; i++) {
        if (keep == ENG_KEEP_ALL || i == 0) {
            make_layer(&m, &acts->layers[i], acts);
        } else {
            acts->layers[i] = acts->layers[0];
        }
        if (keep == ENG_KEEP_INPUTS && i > 0) {
            acts->layers[i].x_in = make(&m, c->hidden);
        }
    }
    bool own = keep != ENG_KEEP_NOTHING;
    acts->x_out = own ? make(&m, c->hidden) : acts->layers[0].x_in;
    acts->inv_out = make(&m, 1);
    acts->hidden = make(&m, c->hidden);
    acts->normed = make(&m, c->hidden);
    acts->k = make(&m, c->kv_heads * c->head_dim);
    acts->v = make(&m, c->kv_heads * c->head_dim);
    acts->act = make(&m, c->intermediate);
    if (m.failed) {
        return TINKC_E_NOMEM;
    }
    fill_sequences(acts);
    return TINKC_OK;
}

tinkc_code eng_seq_make_blocks(eng_seq *seq, const eng_model *model, eng_work *work)
{
    const eng_config *c = &model->config;
    size_t per_layer = (seq->n + ENG_KV_BLOCK - 1) / ENG_KV_BLOCK;
    size_t reals = eng_kv_block_reals(c), n = per_layer * c->layers;
    eng_real **table = eng_work_array(work, n, sizeof(*table));
    eng_real *room = eng_work_reals(work, n, reals);
    if (table == NULL || room == NULL) {
        return TINKC_E_NOMEM;
    }
    memset(room, 0, n * reals * sizeof(*room));
    for (size_t i = 0; i < n; i++) {
        table[i] = room + i * reals;
    }
    seq->blocks = table;
    seq->n_blocks = per_layer;
    return TINKC_OK;
}
