/* Attention backward; see eng_attn.h. A unit is one kv head of one sequence.
 * Probabilities are computed again from the saved row maxima and sums. Gradients of keys
 * and values are chains over rows in order, whatever the size of the row blocks. */
#include <math.h>
#include <string.h>

#include "engine/eng_attn.h"

#define BLOCK_ROWS (2 * ENG_ROWS)
#define WIDE       4 /* panels of columns at a time */

typedef struct job {
    const eng_attn_grad *g;
    const eng_config *config;
    const eng_kern *kern;
    size_t group, d, width;
    size_t keys; /* of the longest sequence in whole panels: the stride of score rows */
    eng_real scale;
} job;

typedef struct unit {
    const eng_attn_seq *seq;
    size_t head;         /* kv head */
    eng_real *k_rows;    /* [n][width] */
    eng_real *v_panels;  /* as the keys of a block, for all positions */
    eng_real *d_k, *d_v; /* [keys][width] */
    eng_real *q, *d_o;   /* [BLOCK_ROWS][width] */
    eng_real *p, *d_p;   /* [BLOCK_ROWS][keys] */
} unit;

/* What `place` cuts up. */
size_t eng_attn_back_scratch(const eng_config *config, size_t keys)
{
    size_t n = ENG_ROUND_UP(keys, ENG_LANES), width = eng_kv_width(config);
    size_t reals = n * (3 * width + config->head_dim) + 2 * BLOCK_ROWS * (width + n);
    return reals * sizeof(eng_real);
}

static void place(unit *u, const job *j, eng_real *at)
{
    size_t rows = j->keys * j->width, block = BLOCK_ROWS * j->width;
    u->k_rows = at;
    u->d_k = u->k_rows + rows;
    u->d_v = u->d_k + rows;
    u->v_panels = u->d_v + rows;
    u->q = u->v_panels + j->keys * j->d;
    u->d_o = u->q + block;
    u->p = u->d_o + block;
    u->d_p = u->p + BLOCK_ROWS * j->keys;
}

/* Keys row by row and values in panels: the opposite of how blocks hold them. */
static void load_kv(const job *j, const unit *u)
{
    memset(u->k_rows, 0, j->keys * j->width * sizeof(eng_real));
    memset(u->v_panels, 0, j->keys * j->d * sizeof(eng_real));
    for (size_t pos = 0; pos < u->seq->n; pos++) {
        eng_real *block = u->seq->blocks[pos / ENG_KV_BLOCK];
        size_t slot = pos % ENG_KV_BLOCK;
        const eng_real *keys = eng_kv_keys(block, j->config, u->head) +
                               slot / ENG_LANES * j->d * ENG_LANES + slot % ENG_LANES;
        const eng_real *values =
            eng_kv_values(block, j->config, u->head) + slot * j->width;
        eng_real *to = u->v_panels + pos / ENG_LANES * j->d * ENG_LANES + pos % ENG_LANES;
        for (size_t i = 0; i < j->d; i++) {
            u->k_rows[pos * j->width + i] = keys[i * ENG_LANES];
            to[i * ENG_LANES] = values[i];
        }
    }
}

static size_t row_offset(const job *j, const unit *u, size_t row)
{
    size_t head = u->head * j->group + row % j->group;
    return ((u->seq->row + row / j->group) * j->config->heads + head) * j->d;
}

static void load_rows(const job *j, const unit *u, size_t first, size_t rows)
{
    memset(u->q, 0, BLOCK_ROWS * j->width * sizeof(eng_real));
    memset(u->d_o, 0, BLOCK_ROWS * j->width * sizeof(eng_real));
    for (size_t r = 0; r < rows; r++) {
        size_t from = row_offset(j, u, first + r);
        for (size_t i = 0; i < j->d; i++) {
            u->q[r * j->width + i] = j->g->forward->q[from + i] * j->scale;
            u->d_o[r * j->width + i] = j->g->d_out[from + i];
        }
    }
}

/* out[rows][keys] = a[rows] times panels of positions. */
static void times_panels(const job *j, const unit *u, eng_real *out, const eng_real *a,
                         size_t rows, size_t keys)
{
    bool values = a == u->d_o;
    for (size_t key = 0; key < keys; key += ENG_KV_BLOCK) {
        size_t left = TK_MIN((size_t)ENG_KV_BLOCK, keys - key);
        eng_tile t = {.k = j->d,
                      .panels = (left + ENG_LANES - 1) / ENG_LANES,
                      .a_row = j->width,
                      .a_k = 1,
                      .b_k = ENG_LANES,
                      .b_panel = j->d * ENG_LANES,
                      .c_row = j->keys};
        t.b = values
                  ? u->v_panels + key * j->d
                  : eng_kv_keys(u->seq->blocks[key / ENG_KV_BLOCK], j->config, u->head);
        for (size_t r = 0; r < rows; r += t.rows) {
            t.rows = eng_tile_rows(j->kern, rows - r);
            t.a = a + r * j->width;
            t.c = out + r * j->keys + key;
            j->kern->tile(&t);
        }
    }
}

/* From scores and dL/dP to P and dL/dscores. */
static void softmax_back(const job *j, const unit *u, size_t first, size_t r, size_t keys)
{
    size_t at = row_offset(j, u, first + r);
    const eng_real *stat = j->g->forward->stat + at / j->d * 2;
    eng_real *p = u->p + r * j->keys, *d_p = u->d_p + r * j->keys;
    size_t n = (first + r) / j->group + 1;
    (void)j->kern->exp_sum(p, n, stat[0]);
    eng_real mean = j->kern->dot(j->g->d_out + at, j->g->forward->out + at, j->d);
    j->kern->softmax_back(p, d_p, n, (const eng_real[2]){stat[1], mean});
    memset(p + n, 0, (keys - n) * sizeof(*p));
    memset(d_p + n, 0, (keys - n) * sizeof(*d_p));
}

/* out[key][column..] += sum over rows of p[row][key] * rows_in[row][column..] */
static void add_keys(const job *j, eng_real *out, const eng_real *p, const eng_real *in,
                     size_t rows, size_t keys)
{
    eng_tile t = {.k = rows,
                  .panels = j->width / ENG_LANES,
                  .a_row = 1,
                  .a_k = j->keys,
                  .b = in,
                  .b_k = j->width,
                  .b_panel = ENG_LANES,
                  .c_row = j->width,
                  .add = true};
    for (size_t key = 0; key < keys; key += t.rows) {
        t.rows = eng_tile_rows(j->kern, keys - key);
        t.a = p + key;
        t.c = out + key * j->width;
        j->kern->tile(&t);
    }
}

/* Rows [r, r + n) of the block, columns from `column` on. */
static void query_rows(const job *j, const unit *u, size_t first, const eng_tile *rows,
                       size_t column)
{
    eng_real sum[ENG_ROWS * WIDE * ENG_LANES];
    size_t width = TK_MIN((size_t)WIDE * ENG_LANES, j->d - column);
    eng_tile t = *rows;
    t.panels = (width + ENG_LANES - 1) / ENG_LANES;
    t.b = u->k_rows + column;
    t.c = sum;
    j->kern->tile(&t);
    for (size_t i = 0; i < t.rows; i++) {
        eng_real *to = j->g->d_q + row_offset(j, u, first + i) + column;
        for (size_t l = 0; l < width; l++) {
            to[l] = sum[i * WIDE * ENG_LANES + l] * j->scale;
        }
    }
}

static void query_grad(const job *j, const unit *u, size_t first, size_t rows,
                       size_t keys)
{
    eng_tile t = {.k = keys,
                  .a_row = j->keys,
                  .a_k = 1,
                  .b_k = j->width,
                  .b_panel = ENG_LANES,
                  .c_row = WIDE * ENG_LANES};
    for (size_t r = 0; r < rows; r += t.rows) {
        t.rows = eng_tile_rows(j->kern, rows - r);
        t.a = u->d_p + r * j->keys;
        for (size_t column = 0; column < j->d; column += WIDE * ENG_LANES) {
            query_rows(j, u, first + r, &t, column);
        }
    }
}

static void store_kv_grad(const job *j, const unit *u)
{
    for (size_t pos = 0; pos < u->seq->n; pos++) {
        size_t to = ((u->seq->row + pos) * j->config->kv_heads + u->head) * j->d;
        memcpy(j->g->d_k + to, u->d_k + pos * j->width, j->d * sizeof(eng_real));
        memcpy(j->g->d_v + to, u->d_v + pos * j->width, j->d * sizeof(eng_real));
    }
}

static void run_unit(const job *j, unit *u)
{
    load_kv(j, u);
    memset(u->d_k, 0, j->keys * j->width * sizeof(eng_real));
    memset(u->d_v, 0, j->keys * j->width * sizeof(eng_real));
    size_t total = u->seq->n * j->group;
    for (size_t first = 0; first < total; first += BLOCK_ROWS) {
        size_t rows = TK_MIN((size_t)BLOCK_ROWS, total - first);
        size_t keys = (first + rows - 1) / j->group + 1;
        load_rows(j, u, first, rows);
        times_panels(j, u, u->p, u->q, rows, keys);
        times_panels(j, u, u->d_p, u->d_o, rows, keys);
        for (size_t r = 0; r < rows; r++) {
            softmax_back(j, u, first, r, keys);
        }
        query_grad(j, u, first, rows, keys);
        add_keys(j, u->d_k, u->d_p, u->q, rows, keys);
        add_keys(j, u->d_v, u->p, u->d_o, rows, keys);
    }
    store_kv_grad(j, u);
}

static void run_units(void *user, size_t begin, size_t end, void *scratch)
{
    const job *j = user;
    unit u;
    place(&u, j, scratch);
    for (size_t i = begin; i < end; i++) {
        u.seq = &j->g->forward->seqs[i / j->config->kv_heads];
        u.head = i % j->config->kv_heads;
        run_unit(j, &u);
    }
}

tinkc_code eng_attn_backward(eng_pool *pool, const eng_attn_grad *g, tk_err *err)
{
    const eng_attn *a = g->forward;
    job j = {.g = g, .config = a->config, .kern = eng_kern_get()};
    j.group = a->config->heads / a->config->kv_heads;
    j.d = a->config->head_dim;
    j.width = eng_kv_width(a->config);
    j.scale = (eng_real)(1.0 / sqrt((double)j.d));
    size_t keys = 0, work = 0;
    for (size_t s = 0; s < a->n_seqs; s++) {
        keys = TK_MAX(keys, a->seqs[s].n);
        work += 2 * a->seqs[s].n * a->seqs[s].n * a->config->heads * j.d;
    }
    j.keys = ENG_ROUND_UP(keys, ENG_LANES);
    tinkc_code code = eng_pool_reserve(pool, eng_attn_back_scratch(a->config, keys), err);
    if (code == TINKC_OK) {
        eng_pool_run_work(pool, a->n_seqs * a->config->kv_heads, work, run_units, &j);
    }
    return code;
}
