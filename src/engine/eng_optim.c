/* AdamW over flat arrays, in pieces that threads share. Elements are independent of each
 * other, so the result does not depend on the number of threads. */
#include "engine/eng_optim.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "engine/eng_kern.h"
#include "engine/eng_lora.h"
#include "engine/eng_math.h"

#define PIECE ((size_t)8192)

#define LARGEST 1e18 /* the square of a larger number overflows a float */

typedef struct job {
    eng_adam_part all;
    const eng_kern *kern;
    atomic_bool overflows;
} job;

/* Pieces [begin, end) of the whole. */
static eng_adam_part part_of(const job *j, size_t begin, size_t end)
{
    eng_adam_part part = j->all;
    size_t first = begin * PIECE;
    part.n = TK_MIN(end * PIECE, part.n) - first;
    part.p += first;
    part.m += first;
    part.v += first;
    part.g += first;
    return part;
}

static void step_pieces(void *user, size_t begin, size_t end, void *scratch)
{
    const job *j = user;
    (void)scratch;
    eng_adam_part part = part_of(j, begin, end);
    j->kern->adam_step(&part);
}

static bool fits(const eng_adam_part *part, size_t i)
{
    eng_adam_element e = eng_adam_look(part, i);
    return fabs(e.g) <= LARGEST && fabs(eng_adam_weight(part, &e)) <= LARGEST;
}

/* Computes the new weight of each element only where a bound without root and division is
 * not enough. */
static void check_pieces(void *user, size_t begin, size_t end, void *scratch)
{
    job *j = user;
    (void)scratch;
    eng_adam_part part = part_of(j, begin, end);
    bool all = j->kern->adam_bound(&part, LARGEST);
    for (size_t i = 0; !all && i < part.n; i++) {
        if (!fits(&part, i)) {
            atomic_store_explicit(&j->overflows, true, memory_order_relaxed);
            return;
        }
    }
}

static void begin_job(job *j, const eng_adamw *step)
{
    const eng_adam *a = step->adam;
    j->kern = eng_kern_get();
    j->all = (eng_adam_part){
        .b1 = a->beta1,
        .b2 = a->beta2,
        .eps = a->eps,
        .decay = 1.0 - a->learning_rate * a->weight_decay,
        .rate = a->learning_rate / (1.0 - eng_powi(a->beta1, step->step)),
        .root = sqrt(1.0 - eng_powi(a->beta2, step->step)),
        .grad_scale = step->grad_scale,
        .p = step->p,
        .m = step->m,
        .v = step->v,
        .g = step->g,
        .n = step->n,
    };
    atomic_init(&j->overflows, false);
}

void eng_adamw_run(eng_pool *pool, const eng_adamw *step)
{
    job j;
    begin_job(&j, step);
    eng_pool_run(pool, (step->n + PIECE - 1) / PIECE, step_pieces, &j);
}

tinkc_code eng_adamw_check(eng_pool *pool, const eng_adamw *step, tk_err *err)
{
    job j;
    begin_job(&j, step);
    eng_pool_run(pool, (step->n + PIECE - 1) / PIECE, check_pieces, &j);
    return atomic_load_explicit(&j.overflows, memory_order_relaxed)
               ? tk_err_set(err, TINKC_E_INVALID,
                            "the step would make weights that are too large to compute "
                            "with: adam_params.learning_rate is too large, or training "
                            "has diverged; nothing was changed")
               : TINKC_OK;
}

typedef struct norm_job {
    const eng_real *g;
    size_t n;
    double *sums;
} norm_job;

static void norm_pieces(void *user, size_t begin, size_t end, void *scratch)
{
    const norm_job *j = user;
    (void)scratch;
    for (size_t piece = begin; piece < end; piece++) {
        size_t last = TK_MIN((piece + 1) * PIECE, j->n);
        double sum = 0;
        for (size_t i = piece * PIECE; i < last; i++) {
            sum += (double)j->g[i] * (double)j->g[i];
        }
        j->sums[piece] = sum;
    }
}

tinkc_code eng_optim_norm2(eng_pool *pool, const eng_real *g, size_t n, double *out,
                           tk_err *err)
{
    size_t pieces = (n + PIECE - 1) / PIECE;
    norm_job j = {g, n, tk_array(pieces, sizeof(double))};
    if (j.sums == NULL) {
        return tk_err_nomem(err);
    }
    eng_pool_run(pool, pieces, norm_pieces, &j);
    double sum = 0;
    for (size_t i = 0; i < pieces; i++) {
        sum += j.sums[i];
    }
    tk_free(j.sums);
    *out = sum;
    return TINKC_OK;
}

double eng_optim_clip(double norm, double clip)
{
    return clip > 0 && norm > clip ? clip / norm : 1.0;
}

tinkc_code eng_adam_check(const eng_adam *adam, tk_err *err)
{
    const struct {
        const char *name;
        double value, low, high; /* high itself is excluded */
    } fields[] = {
        {"learning_rate", adam->learning_rate, 0, INFINITY},
        {"beta1", adam->beta1, 0, 1},
        {"beta2", adam->beta2, 0, 1},
        {"eps", adam->eps, DBL_MIN, INFINITY}, /* 0: what never moved is divided by 0 */
        {"weight_decay", adam->weight_decay, 0, INFINITY},
        {"grad_clip_norm", adam->grad_clip_norm, 0, INFINITY},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(fields); i++) {
        if (!(fields[i].value >= fields[i].low) || !(fields[i].value < fields[i].high)) {
            return tk_err_set(err, TINKC_E_INVALID, "adam_params.%s is out of range",
                              fields[i].name);
        }
    }
    return TINKC_OK;
}

tinkc_code eng_adapter_optim_step(eng_adapter *adapter, const eng_adam *adam,
                                  double *grad_norm_out, tk_err *err)
{
    eng_pool *pool = adapter->model->pool;
    double norm2 = 0;
    tinkc_code code = eng_adapter_check_trainable(adapter, err);
    if (code == TINKC_OK && adapter->config.optimizer != ENG_ADAMW) {
        code = tk_err_set(err, TINKC_E_INVALID,
                          "the model's optimizer is %s: adam_params do not fit",
                          eng_optimizer_name(adapter->config.optimizer));
    }
    if (code != TINKC_OK) {
        goto out;
    }
    code = eng_pool_check(pool, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = eng_adam_check(adam, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = eng_optim_norm2(pool, adapter->grads, adapter->n, &norm2, err);
    if (code != TINKC_OK) {
        goto out;
    }
    double norm = sqrt(norm2);
    eng_adamw step = {.adam = adam,
                      .step = adapter->steps + 1,
                      .grad_scale = eng_optim_clip(norm, adam->grad_clip_norm),
                      .p = adapter->weights,
                      .m = adapter->moment1,
                      .v = adapter->moment2,
                      .g = adapter->grads,
                      .n = adapter->n};
    code = eng_adamw_check(pool, &step, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = eng_pool_check(pool, err);
    if (code != TINKC_OK) {
        goto out;
    }
    eng_adamw_run(pool, &step); /* from here on to the end, whatever stops */
    adapter->steps++;
    memset(adapter->grads, 0, adapter->n * sizeof(eng_real));
    adapter->has_grads = false;
    eng_adapter_repack(adapter);
    *grad_norm_out = norm;
out:
    return code;
}
