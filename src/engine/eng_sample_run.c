/* Computing what was planned: one forward pass over the rows of all items, logits of the
 * rows that are scored or drawn from, and the draws. Nothing of a request changes before
 * all of that has worked, except keys and values, which are written again to the same
 * bits. When memory runs out for many items together, halves are tried: only the item
 * that cannot be computed alone fails. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/eng_sample_int.h"

typedef struct drawn {
    eng_sample *sample; /* with room for the token */
    eng_rng rng;        /* after the draw */
    double unit;
    int32_t token;
    float logprob;
} drawn;

typedef struct row { /* of logits that are wanted */
    const eng_sample_item *item;
    size_t at;    /* in the forward pass */
    size_t pos;   /* of its input token */
    drawn *draws; /* NULL: a position of the prompt, scored */
    size_t n_draws;
    bool finite;
} row;

typedef struct run {
    eng_sampler *sampler;
    eng_sample_item *items;
    size_t n;
    eng_work *work;
    eng_acts acts;
    row *rows;
    size_t n_rows;
    tk_err *err;
    /* the piece of rows whose logits exist now */
    size_t first, count;
    eng_real *x, *logits, *u;
} run;

static eng_sample *sample_of(const eng_sample_item *item)
{
    return &item->job->samples[item->index];
}

/* ---- sequences ---- */

static tinkc_code make_seq(run *r, eng_seq *seq, const eng_sample_item *item)
{
    const eng_config *c = &r->sampler->model->config;
    const eng_sample *sample = sample_of(item);
    int32_t *tokens = eng_work_array(r->work, item->n, sizeof(*tokens));
    eng_real **blocks =
        eng_work_array(r->work, c->layers * sample->n_pages, sizeof(*blocks));
    if (tokens == NULL || blocks == NULL) {
        return tk_err_nomem(r->err);
    }
    for (size_t i = 0; i < item->n; i++) {
        tokens[i] = eng_sample_token_at(item->job, sample, sample->done + i);
    }
    for (size_t l = 0; l < c->layers; l++) {
        for (size_t p = 0; p < sample->n_pages; p++) {
            blocks[l * sample->n_pages + p] = eng_page_block(sample->pages[p], c, l);
        }
    }
    *seq = (eng_seq){.tokens = tokens,
                     .n = item->n,
                     .pos = sample->done,
                     .adapter = item->job->adapter,
                     .blocks = blocks,
                     .n_blocks = sample->n_pages};
    return TINKC_OK;
}

static tinkc_code forward(run *r)
{
    eng_seq *seqs = eng_work_array(r->work, r->n, sizeof(*seqs));
    if (seqs == NULL) {
        return tk_err_nomem(r->err);
    }
    for (size_t i = 0; i < r->n; i++) {
        tinkc_code code = make_seq(r, &seqs[i], &r->items[i]);
        if (code != TINKC_OK) {
            return code;
        }
    }
    if (eng_acts_init(&r->acts, r->sampler->model, r->work, seqs, r->n,
                      ENG_KEEP_NOTHING) != TINKC_OK) {
        return tk_err_nomem(r->err);
    }
    return eng_forward(&r->acts, r->err);
}

/* ---- rows of logits ---- */

static bool is_scored(const eng_sample_item *item, size_t pos)
{
    const eng_sample_job *job = item->job;
    return !job->forked && pos + 1 >= job->scores.first && pos + 1 < job->n_prompt;
}

static bool is_drawn(const eng_sample_item *item, size_t pos)
{
    return pos + 1 == eng_sample_length(item->job, sample_of(item));
}

static tinkc_code add_draws(run *r, row *to)
{
    const eng_sample_item *item = to->item;
    bool first = !item->job->forked;
    to->n_draws = first ? item->job->n_samples : 1;
    to->draws = eng_work_array(r->work, to->n_draws, sizeof(*to->draws));
    if (to->draws == NULL) {
        return tk_err_nomem(r->err);
    }
    for (size_t i = 0; i < to->n_draws; i++) {
        drawn *d = &to->draws[i];
        eng_sample *sample = &item->job->samples[first ? i : item->index];
        tinkc_code code = eng_sample_reserve(item->job, sample, r->err);
        if (code != TINKC_OK) {
            return code;
        }
        *d = (drawn){.rng = sample->rng, .sample = sample};
        d->unit = eng_rng_unit(&d->rng);
    }
    return TINKC_OK;
}

static tinkc_code collect_rows(run *r)
{
    r->rows = eng_work_array(r->work, r->acts.rows, sizeof(*r->rows));
    if (r->rows == NULL) {
        return tk_err_nomem(r->err);
    }
    size_t at = 0;
    for (size_t i = 0; i < r->n; i++) {
        const eng_sample_item *item = &r->items[i];
        for (size_t t = 0; t < item->n; t++, at++) {
            size_t pos = sample_of(item)->done + t;
            bool draws = is_drawn(item, pos);
            if (!draws && !is_scored(item, pos)) {
                continue;
            }
            row *to = &r->rows[r->n_rows++];
            *to = (row){.item = item, .at = at, .pos = pos, .finite = true};
            tinkc_code code = draws ? add_draws(r, to) : TINKC_OK;
            if (code != TINKC_OK) {
                return code;
            }
        }
    }
    return TINKC_OK;
}

/* The likeliest tokens, for all samples that draw from the row. After the draws: the
 * ranking takes the room of their filters. */
static void put_top(const row *to, const eng_draw *draw)
{
    size_t k = to->item->job->topk_sampled;
    const eng_sample *first = to->draws[0].sample;
    int32_t *ids = first->top_ids + first->n * k;
    float *logprobs = first->top_logprobs + first->n * k;
    eng_sample_score_top(ids, logprobs, k, draw);
    for (size_t i = 1; i < to->n_draws; i++) {
        const eng_sample *sample = to->draws[i].sample;
        memcpy(sample->top_ids + sample->n * k, ids, k * sizeof(*ids));
        memcpy(sample->top_logprobs + sample->n * k, logprobs, k * sizeof(*logprobs));
    }
}

static void draw_row(row *to, const eng_real *logits, size_t n, eng_draw_room room)
{
    eng_draw draw;
    to->finite = eng_draw_init(&draw, logits, n, &to->item->job->options, room);
    for (size_t i = 0; to->finite && i < to->n_draws; i++) {
        drawn *d = &to->draws[i];
        d->token = eng_draw_token(&draw, d->unit);
        d->logprob = eng_draw_logprob(&draw, d->token);
    }
    if (to->finite && to->item->job->topk_sampled > 0) {
        put_top(to, &draw);
    }
}

static void finish_rows(void *user, size_t begin, size_t end, void *scratch)
{
    const run *r = user;
    size_t n = r->sampler->model->config.vocabulary;
    eng_draw_room room = eng_draw_room_at(scratch, n);
    for (size_t i = begin; i < end; i++) {
        row *to = &r->rows[r->first + i];
        if (to->draws != NULL) {
            draw_row(to, r->logits + i * n, n, room);
        } else {
            to->finite = eng_sample_score_row(to->item->job, to->pos + 1,
                                              r->logits + i * n, n, scratch);
        }
    }
}

/* The base model's head for all rows at once, then each adapter's part. */
static tinkc_code piece_logits(const run *r)
{
    const eng_config *c = &r->sampler->model->config;
    for (size_t i = 0; i < r->count; i++) {
        memcpy(r->x + i * c->hidden,
               r->acts.hidden + r->rows[r->first + i].at * c->hidden,
               c->hidden * sizeof(*r->x));
    }
    eng_logits l = {.model = r->sampler->model,
                    .x = r->x,
                    .rows = r->count,
                    .logits = r->logits,
                    .u = r->u};
    tinkc_code code = eng_head_logits(&l, r->err);
    for (size_t i = 0; i < r->count && code == TINKC_OK;) {
        size_t n = 1;
        l.adapter = r->rows[r->first + i].item->job->adapter;
        while (i + n < r->count &&
               r->rows[r->first + i + n].item->job->adapter == l.adapter) {
            n++;
        }
        l.x = r->x + i * c->hidden;
        l.logits = r->logits + i * c->vocabulary;
        l.rows = n;
        code = l.adapter != NULL ? eng_head_adapt(&l, r->err) : TINKC_OK;
        i += n;
    }
    return code;
}

/* The scratch of the row that needs most. */
static size_t scratch_bytes(const run *r)
{
    size_t more = 0;
    for (size_t i = 0; i < r->n; i++) {
        more = TK_MAX(more, eng_sample_score_bytes(&r->items[i].job->scores));
    }
    return eng_draw_room_bytes(r->sampler->model->config.vocabulary) + more;
}

static tinkc_code run_head(run *r)
{
    const eng_config *c = &r->sampler->model->config;
    eng_pool *pool = r->sampler->model->pool;
    size_t most = eng_head_piece_rows(c, r->n_rows);
    r->x = eng_work_reals(r->work, most, c->hidden);
    r->logits = eng_work_reals(r->work, most, c->vocabulary);
    r->u = eng_work_reals(r->work, most, r->acts.rank);
    if (r->x == NULL || r->logits == NULL || r->u == NULL) {
        return tk_err_nomem(r->err);
    }
    for (r->first = 0; r->first < r->n_rows; r->first += most) {
        r->count = TK_MIN(most, r->n_rows - r->first);
        tinkc_code code = eng_pool_check(pool, r->err);
        if (code == TINKC_OK) {
            code = piece_logits(r);
        }
        if (code == TINKC_OK) {
            code = eng_pool_reserve(pool, scratch_bytes(r), r->err);
        }
        if (code != TINKC_OK) {
            return code;
        }
        eng_pool_run_work(pool, r->count, 8 * r->count * c->vocabulary, finish_rows, r);
    }
    return TINKC_OK;
}

/* ---- results ---- */

static void hand_out(run *r, const row *from)
{
    eng_sample_job *job = from->item->job;
    bool first = !job->forked;
    tinkc_code code = first ? eng_sample_fork(r->sampler, job, &job->err) : TINKC_OK;
    for (size_t i = 0; i < from->n_draws && code == TINKC_OK && !job->cancelled; i++) {
        const drawn *d = &from->draws[i];
        size_t index = first ? i : from->item->index;
        d->sample->rng = d->rng;
        eng_sample_push(r->sampler, job, index, d->token, d->logprob);
    }
}

static void apply(run *r)
{
    for (size_t i = 0; i < r->n; i++) {
        eng_sample *sample = sample_of(&r->items[i]);
        sample->done += r->items[i].n;
        eng_sample_publish(r->sampler, r->items[i].job, sample);
    }
    for (size_t i = 0; i < r->n_rows; i++) {
        row *from = &r->rows[i];
        eng_sample_job *job = from->item->job;
        if (eng_sample_job_over(job)) {
            continue;
        }
        if (!from->finite) {
            (void)tk_err_set(&job->err, TINKC_E_INVALID,
                             "the logits after token %zu are NaN or infinite", from->pos);
        } else if (from->draws != NULL) {
            hand_out(r, from);
        }
    }
}

static tinkc_code compute(run *r)
{
    eng_pool *pool = r->sampler->model->pool;
    eng_work_reset(r->work);
    eng_pool_allow_stop(pool, true);
    tinkc_code code = forward(r);
    if (code == TINKC_OK) {
        code = collect_rows(r);
    }
    if (code == TINKC_OK && r->n_rows > 0) {
        code = run_head(r);
    }
    eng_pool_allow_stop(pool, false);
    tinkc_code stopped = eng_pool_check(pool, r->err);
    return stopped != TINKC_OK ? stopped : code;
}

/* When the pool is stopped, requests stay as they are. */
static void run_items(eng_sampler *sampler, eng_sample_item *items, size_t n)
{
    tk_err err = TK_ERR_INIT;
    run r = {.sampler = sampler,
             .items = items,
             .n = n,
             .work = &sampler->model->work,
             .err = &err};
    if (n == 0) {
        return;
    }
    tinkc_code code = compute(&r);
    if (code == TINKC_E_CANCELLED) {
        return;
    }
    if (code == TINKC_OK) {
        apply(&r);
    } else if (n > 1) {
        run_items(sampler, items, n / 2);
        run_items(sampler, items + n / 2, n - n / 2);
    } else if (!eng_sample_job_over(items[0].job)) {
        items[0].job->err = err;
    }
}

/* Rows of one adapter lie together: its matrices are then read once. */
static int by_adapter(const void *a, const void *b)
{
    const eng_sample_item *x = a, *y = b;
    uintptr_t p = (uintptr_t)x->job->adapter, q = (uintptr_t)y->job->adapter;
    return p != q ? (p > q) - (p < q) : (x->order > y->order) - (x->order < y->order);
}

void eng_sample_run(eng_sampler *sampler)
{
    qsort(sampler->items, sampler->n_items, sizeof(*sampler->items), by_adapter);
    run_items(sampler, sampler->items, sampler->n_items);
    eng_work_reset(&sampler->model->work);
}
