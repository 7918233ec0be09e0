/* Attention forward; see eng_attn.h. A unit of work is a block of rows that share one kv
 * head: rows go token by token, and within a token over the query heads of the group. */
#include "engine/eng_attn.h"

#include <math.h>
#include <string.h>

#define BLOCK_ROWS (2 * ENG_ROWS)
#define WIDE       4 /* panels of keys or of columns at a time */

typedef struct job {
    const eng_attn *a;
    const eng_kern *kern;
    size_t group; /* query heads per kv head */
    size_t keys;  /* stride of a score row */
    eng_real scale;
} job;

typedef struct block { /* one unit */
    const eng_attn_seq *seq;
    size_t head;        /* kv head */
    size_t first, rows; /* rows of the sequence, token * group + member */
    size_t keys;        /* of its last token */
    eng_real *q, *scores, *sums;
} block;

static size_t blocks_of(const eng_attn_seq *seq, size_t group)
{
    return (seq->n * group + BLOCK_ROWS - 1) / BLOCK_ROWS;
}

/* Offset of row r of the block in q and out. */
static size_t row_offset(const job *j, const block *b, size_t r)
{
    const eng_config *c = j->a->config;
    size_t row = b->first + r;
    size_t head = b->head * j->group + row % j->group;
    return ((b->seq->row + row / j->group) * c->heads + head) * c->head_dim;
}

static size_t keys_of(const job *j, const block *b, size_t r)
{
    return b->seq->pos + (b->first + r) / j->group + 1;
}

static void load_queries(const job *j, const block *b)
{
    size_t d = j->a->config->head_dim;
    for (size_t r = 0; r < b->rows; r++) {
        const eng_real *from = j->a->q + row_offset(j, b, r);
        for (size_t i = 0; i < d; i++) {
            b->q[r * d + i] = from[i] * j->scale;
        }
    }
}

static void score_rows(const job *j, const block *b, size_t r, size_t rows)
{
    const eng_config *c = j->a->config;
    size_t d = c->head_dim;
    for (size_t key = 0; key < b->keys; key += ENG_KV_BLOCK) {
        size_t left = TK_MIN((size_t)ENG_KV_BLOCK, b->keys - key);
        eng_tile t = {.k = d,
                      .rows = rows,
                      .panels = (left + ENG_LANES - 1) / ENG_LANES,
                      .a = b->q + r * d,
                      .a_row = d,
                      .a_k = 1,
                      .b = eng_kv_keys(b->seq->blocks[key / ENG_KV_BLOCK], c, b->head),
                      .b_k = ENG_LANES,
                      .b_panel = d * ENG_LANES,
                      .c = b->scores + r * j->keys + key,
                      .c_row = j->keys};
        j->kern->tile(&t);
    }
}

static void softmax_row(const job *j, const block *b, size_t r)
{
    eng_real *scores = b->scores + r * j->keys;
    size_t n = keys_of(j, b, r);
    eng_real max = j->kern->max(scores, n);
    eng_real inv = 1 / j->kern->exp_sum(scores, n, max);
    memset(scores + n, 0, (b->keys - n) * sizeof(*scores));
    b->sums[r] = inv;
    if (j->a->stat != NULL) {
        const eng_config *c = j->a->config;
        eng_real *stat = j->a->stat + row_offset(j, b, r) / c->head_dim * 2;
        stat[0] = max;
        stat[1] = inv;
    }
}

/* The outputs of some rows, columns [column, column + width). */
static void value_rows(const job *j, const block *b, size_t r, size_t rows, size_t column)
{
    const eng_config *c = j->a->config;
    eng_real sum[ENG_ROWS * WIDE * ENG_LANES];
    size_t width = TK_MIN((size_t)WIDE * ENG_LANES, c->head_dim - column);
    for (size_t key = 0; key < b->keys; key += ENG_KV_BLOCK) {
        eng_real *values = eng_kv_values(b->seq->blocks[key / ENG_KV_BLOCK], c, b->head);
        eng_tile t = {.k = TK_MIN((size_t)ENG_KV_BLOCK, b->keys - key),
                      .rows = rows,
                      .panels = (width + ENG_LANES - 1) / ENG_LANES,
                      .a = b->scores + r * j->keys + key,
                      .a_row = j->keys,
                      .a_k = 1,
                      .b = values + column,
                      .b_k = eng_kv_width(c),
                      .b_panel = ENG_LANES,
                      .c = sum,
                      .c_row = WIDE * ENG_LANES,
                      .add = key > 0};
        j->kern->tile(&t);
    }
    for (size_t i = 0; i < rows; i++) {
        eng_real *out = j->a->out + row_offset(j, b, r + i) + column;
        for (size_t l = 0; l < width; l++) {
            out[l] = sum[i * WIDE * ENG_LANES + l] * b->sums[r + i];
        }
    }
}

static void run_block(const job *j, block *b)
{
    load_queries(j, b);
    b->keys = keys_of(j, b, b->rows - 1);
    for (size_t r = 0, rows; r < b->rows; r += rows) {
        rows = eng_tile_rows(j->kern, b->rows - r);
        score_rows(j, b, r, rows);
        for (size_t i = 0; i < rows; i++) {
            softmax_row(j, b, r + i);
        }
        for (size_t column = 0; column < j->a->config->head_dim;
             column += WIDE * ENG_LANES) {
            value_rows(j, b, r, rows, column);
        }
    }
}

static void run_units(void *user, size_t begin, size_t end, void *scratch)
{
    const job *j = user;
    const eng_attn *a = j->a;
    size_t s = 0;
    block b;
    b.scores = scratch;
    b.q = b.scores + BLOCK_ROWS * j->keys;
    b.sums = b.q + BLOCK_ROWS * a->config->head_dim;
    for (size_t unit = begin; unit < end; unit++) {
        while (s + 1 < a->n_seqs && a->seqs[s + 1].first_unit <= unit) {
            s++;
        }
        size_t per_head = blocks_of(&a->seqs[s], j->group);
        size_t at = unit - a->seqs[s].first_unit;
        b.seq = &a->seqs[s];
        b.head = at / per_head;
        b.first = at % per_head * BLOCK_ROWS;
        b.rows = TK_MIN((size_t)BLOCK_ROWS, b.seq->n * j->group - b.first);
        run_block(j, &b);
    }
}

size_t eng_attn_scratch(const eng_config *config, size_t keys)
{
    size_t row = ENG_ROUND_UP(keys, ENG_LANES) + config->head_dim + 1;
    return BLOCK_ROWS * row * sizeof(eng_real);
}

tinkc_code eng_attn_forward(eng_pool *pool, const eng_attn *a, tk_err *err)
{
    const eng_config *c = a->config;
    job j = {.a = a, .kern = eng_kern_get(), .group = c->heads / c->kv_heads};
    j.scale = (eng_real)(1.0 / sqrt((double)c->head_dim));
    size_t units = 0, keys = 0, work = 0;
    for (size_t s = 0; s < a->n_seqs; s++) {
        a->seqs[s].first_unit = units;
        units += c->kv_heads * blocks_of(&a->seqs[s], j.group);
        keys = TK_MAX(keys, a->seqs[s].pos + a->seqs[s].n);
        work += a->seqs[s].n * (a->seqs[s].pos + a->seqs[s].n) * c->heads * c->head_dim;
    }
    j.keys = ENG_ROUND_UP(keys, ENG_LANES);
    tinkc_code code = eng_pool_reserve(pool, eng_attn_scratch(c, keys), err);
    if (code == TINKC_OK) {
        eng_pool_run_work(pool, units, work, run_units, &j);
    }
    return code;
}
