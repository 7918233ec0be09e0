/* The output head; see eng_head.h. */
#include "engine/eng_head.h"

#include <string.h>

#include "base/limits.h"
#include "engine/eng_math.h"

#define LOGITS_MAX ((size_t)64 * TK_MIB) /* bytes of logits at a time */
#define SUM_BLOCK  1024                  /* numbers summed in eng_real before double */

tinkc_code eng_head_logits(const eng_logits *l, tk_err *err)
{
    const eng_config *c = &l->model->config;
    eng_mul m = {.w = &l->model->head,
                 .x = l->x,
                 .ldx = c->hidden,
                 .rows = l->rows,
                 .y = l->logits,
                 .ldy = c->vocabulary};
    tinkc_code code = eng_mul_run(l->model->pool, &m, err);
    return code == TINKC_OK && l->adapter != NULL ? eng_head_adapt(l, err) : code;
}

tinkc_code eng_head_adapt(const eng_logits *l, tk_err *err)
{
    const eng_config *c = &l->model->config;
    if (!l->adapter->config.train_unembed) {
        return TINKC_OK;
    }
    eng_lora_apply apply = {.adapter = l->adapter,
                            .lora = eng_adapter_module(l->adapter, c->layers, ENG_Q),
                            .x = l->x,
                            .ldx = c->hidden,
                            .rows = l->rows,
                            .y = l->logits,
                            .ldy = c->vocabulary,
                            .u = l->u};
    return eng_lora_forward(&apply, err);
}

eng_softmax eng_head_softmax(eng_real *logits, size_t n)
{
    const eng_kern *kern = eng_kern_get();
    eng_real max = kern->max(logits, n);
    double sum = 0;
    for (size_t i = 0; i < n; i += SUM_BLOCK) {
        sum += (double)kern->exp_sum(logits + i, TK_MIN((size_t)SUM_BLOCK, n - i), max);
    }
    return (eng_softmax){.max = max, .sum = sum, .log_sum = eng_log(sum)};
}

size_t eng_head_piece_rows(const eng_config *config, size_t rows)
{
    size_t fit = LOGITS_MAX / (config->vocabulary * sizeof(eng_real));
    fit = fit / ENG_ROWS * ENG_ROWS;
    return TK_MIN(TK_MAX(fit, (size_t)ENG_ROWS), rows);
}

typedef struct piece {
    const eng_head_args *args;
    const eng_config *config;
    size_t first, rows;
    eng_real *logits;  /* [rows][vocabulary] */
    eng_real *u;       /* [rows][rank] */
    eng_softmax *soft; /* [rows] */
    double *coef;      /* [rows][max_k] */
    bool *active;      /* [rows] */
    eng_real *temp;    /* for the adapter */
} piece;

static void score_rows(void *user, size_t begin, size_t end, void *scratch)
{
    const piece *p = user;
    (void)scratch;
    for (size_t r = begin; r < end; r++) {
        const eng_head_args *args = p->args;
        size_t row = p->first + r;
        eng_real *logits = p->logits + r * p->config->vocabulary;
        float *out = args->logprobs[row];
        double *wanted = p->coef + r * args->max_k;
        for (size_t i = 0; i < args->k[row]; i++) {
            wanted[i] = logits[args->targets[row][i]];
        }
        p->soft[r] = eng_head_softmax(logits, p->config->vocabulary);
        for (size_t i = 0; i < args->k[row]; i++) {
            out[i] = eng_head_logprob(&p->soft[r], (eng_real)wanted[i]);
        }
    }
}

/* Exponentials become dL/dlogits. */
static void gradient_rows(void *user, size_t begin, size_t end, void *scratch)
{
    const piece *p = user;
    (void)scratch;
    for (size_t r = begin; r < end; r++) {
        const eng_head_args *args = p->args;
        size_t row = p->first + r;
        if (!p->active[r]) {
            continue;
        }
        eng_real *logits = p->logits + r * p->config->vocabulary;
        const double *coef = p->coef + r * args->max_k;
        double total = 0;
        for (size_t i = 0; i < args->k[row]; i++) {
            total += coef[i];
        }
        eng_real factor = (eng_real)(-total / p->soft[r].sum);
        eng_kern_get()->scale(logits, p->config->vocabulary, factor);
        for (size_t i = 0; i < args->k[row]; i++) {
            logits[args->targets[row][i]] += (eng_real)coef[i];
        }
    }
}

/* A run of rows that have a gradient. */
static tinkc_code back_run(const piece *p, size_t r, size_t rows, tk_err *err)
{
    const eng_head_args *args = p->args;
    const eng_model *model = args->acts->model;
    const eng_config *c = p->config;
    const eng_real *x = args->acts->hidden + (p->first + r) * c->hidden;
    eng_real *d_x = args->d_hidden + (p->first + r) * c->hidden;
    eng_real *d_y = p->logits + r * c->vocabulary;
    eng_mul m = {.w = &model->head,
                 .x = d_y,
                 .ldx = c->vocabulary,
                 .rows = rows,
                 .y = d_x,
                 .ldy = c->hidden};
    tinkc_code code = eng_mul_back_run(model->pool, &m, err);
    if (code == TINKC_OK && args->hook != NULL) {
        eng_grad_event event = {.kind = ENG_GRAD_LINEAR,
                                .name = "lm_head",
                                .layer = c->layers,
                                .x = x,
                                .d_y = d_y,
                                .rows = rows,
                                .k = c->hidden,
                                .n = c->vocabulary};
        code = args->hook->fn(args->hook->user, &event, err);
    }
    if (code != TINKC_OK || args->adapter == NULL ||
        !args->adapter->config.train_unembed) {
        return code;
    }
    eng_lora_apply apply = {.adapter = args->adapter,
                            .lora = eng_adapter_module(args->adapter, c->layers, ENG_Q),
                            .x = x,
                            .ldx = c->hidden,
                            .rows = rows,
                            .y = d_y,
                            .ldy = c->vocabulary,
                            .u = p->u + r * args->adapter->config.rank};
    return eng_lora_backward(&apply, d_x, p->temp, err);
}

static tinkc_code back_runs(const piece *p, tk_err *err)
{
    size_t hidden = p->config->hidden;
    for (size_t r = 0; r < p->rows;) {
        size_t n = 1;
        while (r + n < p->rows && p->active[r + n] == p->active[r]) {
            n++;
        }
        if (p->active[r]) {
            tinkc_code code = back_run(p, r, n, err);
            if (code != TINKC_OK) {
                return code;
            }
        } else {
            memset(p->args->d_hidden + (p->first + r) * hidden, 0,
                   n * hidden * sizeof(eng_real));
        }
        r += n;
    }
    return TINKC_OK;
}

static tinkc_code run_piece(const piece *p, bool *active_out, tk_err *err)
{
    const eng_head_args *args = p->args;
    eng_logits l = {.model = args->acts->model,
                    .adapter = args->adapter,
                    .x = args->acts->hidden + p->first * p->config->hidden,
                    .rows = p->rows,
                    .logits = p->logits,
                    .u = p->u};
    tinkc_code code = eng_head_logits(&l, err);
    if (code != TINKC_OK) {
        return code;
    }
    piece copy = *p;
    size_t work = p->rows * p->config->vocabulary;
    eng_pool_run_work(l.model->pool, p->rows, 8 * work, score_rows, &copy);
    if (args->loss == NULL) {
        return TINKC_OK;
    }
    for (size_t r = 0; r < p->rows; r++) {
        p->active[r] = args->loss(args->user, p->first + r, p->coef + r * args->max_k);
        *active_out = *active_out || p->active[r];
    }
    eng_pool_run_work(l.model->pool, p->rows, work, gradient_rows, &copy);
    return back_runs(p, err);
}

tinkc_code eng_head_run(const eng_head_args *args, bool *active_out, tk_err *err)
{
    const eng_config *c = &args->acts->model->config;
    size_t total = args->acts->rows, most = eng_head_piece_rows(c, total);
    size_t rank = args->adapter != NULL ? args->adapter->config.rank : 0;
    piece p = {.args = args, .config = c};
    p.logits = eng_work_reals(args->work, most, c->vocabulary);
    p.u = eng_work_reals(args->work, most, rank);
    p.temp = eng_work_reals(args->work, most, 2 * rank);
    p.soft = eng_work_array(args->work, most, sizeof(*p.soft));
    p.coef = eng_work_array(args->work, most * args->max_k, sizeof(*p.coef));
    p.active = eng_work_array(args->work, most, sizeof(*p.active));
    if (p.logits == NULL || p.u == NULL || p.temp == NULL || p.soft == NULL ||
        p.coef == NULL || p.active == NULL) {
        return tk_err_nomem(err);
    }
    *active_out = false;
    for (p.first = 0; p.first < total; p.first += most) {
        p.rows = TK_MIN(most, total - p.first);
        tinkc_code code = eng_pool_check(args->acts->model->pool, err);
        if (code == TINKC_OK) {
            code = run_piece(&p, active_out, err);
        }
        if (code != TINKC_OK) {
            return code;
        }
    }
    return TINKC_OK;
}
