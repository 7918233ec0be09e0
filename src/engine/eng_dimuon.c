/* Dimuon: momentum, and the matrix sign of the momentum of each LoRA matrix as the
 * direction of the step (docs/internals/engine.md says what of it is published).
 *
 * The sign is computed by Newton-Schulz steps X <- (a + b G + c G^2) X with G = X X'. Each
 * factor Q is a polynomial of G and G becomes Q G Q, so that only matrices of k x k numbers
 * are multiplied in between, k being the shorter side. Everything is in double; each number
 * is computed by one thread in a fixed order. */
#include "engine/eng_dimuon.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "engine/eng_lora.h"
#include "engine/eng_optim.h"

#define STEPS   5 /* of Newton-Schulz */
#define PIECE   ((size_t)8192)
#define COLUMNS ((size_t)64) /* numbers of each vector that are applied together */
#define LARGEST 1e18         /* as eng_optim.c */

/* The coefficients that Muon's authors published: they raise small singular values as fast
 * as possible and leave all between about 0.7 and 1.2. */
static const double coefficient[] = {3.4445, -4.7750, 2.0315};

eng_dimuon_view eng_dimuon_view_of(size_t rows, size_t columns)
{
    return rows <= columns ? (eng_dimuon_view){rows, columns, columns, 1}
                           : (eng_dimuon_view){columns, rows, 1, columns};
}

/* ---- k x k ---- */

typedef struct product { /* out = left right; all symmetric */
    const double *left, *right;
    double *out;
    size_t k;
} product;

static void multiply_rows(void *user, size_t begin, size_t end, void *scratch)
{
    const product *p = user;
    (void)scratch;
    for (size_t i = begin; i < end; i++) {
        double *out = p->out + i * p->k;
        memset(out, 0, p->k * sizeof(*out));
        for (size_t j = 0; j < p->k; j++) {
            double factor = p->left[i * p->k + j];
            const double *row = p->right + j * p->k;
            for (size_t t = 0; t < p->k; t++) {
                out[t] += factor * row[t];
            }
        }
    }
}

static void multiply(eng_pool *pool, double *out, const double *left, const double *right,
                     size_t k)
{
    product p = {left, right, out, k};
    eng_pool_run_work(pool, k, k * k * k, multiply_rows, &p);
}

typedef struct gram_job {
    const eng_dimuon_matrix *matrix;
    double *out;
} gram_job;

/* Dot products of each vector with all. */
static void gram_rows(void *user, size_t begin, size_t end, void *scratch)
{
    const gram_job *job = user;
    const eng_dimuon_view *v = &job->matrix->view;
    const eng_real *m = job->matrix->m;
    (void)scratch;
    for (size_t i = begin; i < end; i++) {
        double *out = job->out + i * v->k;
        memset(out, 0, v->k * sizeof(*out));
        for (size_t t = 0; t < v->length; t++) {
            const eng_real *at = m + t * v->step_t;
            double x = (double)at[i * v->step_v];
            for (size_t j = 0; j < v->k; j++) {
                out[j] += x * (double)at[j * v->step_v];
            }
        }
    }
}

static double trace(const double *a, size_t k)
{
    double sum = 0;
    for (size_t i = 0; i < k; i++) {
        sum += a[i * k + i];
    }
    return sum;
}

/* Leaves in `total` the factor whose product with m is the direction; false when m is all
 * zero. */
static bool find_factor(eng_pool *pool, const eng_dimuon_matrix *matrix, double *total)
{
    size_t k = matrix->view.k, n = k * k;
    double *g = total + n, *q = g + n, *a = q + n, *b = a + n;
    gram_job job = {matrix, g};
    eng_pool_run_work(pool, k, n * matrix->view.length, gram_rows, &job);
    double square = trace(g, k); /* of the Frobenius norm of m */
    if (!(square > 0)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        g[i] /= square;
        total[i] = 0;
    }
    for (size_t i = 0; i < k; i++) {
        total[i * k + i] = 1 / sqrt(square);
    }
    for (int step = 0; step < STEPS; step++) {
        multiply(pool, q, g, g, k);
        for (size_t i = 0; i < n; i++) {
            q[i] = coefficient[1] * g[i] + coefficient[2] * q[i];
        }
        for (size_t i = 0; i < k; i++) {
            q[i * k + i] += coefficient[0];
        }
        multiply(pool, a, q, g, k);
        multiply(pool, g, a, q, k);
        multiply(pool, b, q, total, k);
        memcpy(total, b, n * sizeof(*b));
    }
    double scale = sqrt(matrix->rank / trace(g, k));
    for (size_t i = 0; i < n; i++) {
        total[i] *= scale;
    }
    return true;
}

/* ---- the matrix ---- */

typedef struct apply_job {
    const eng_dimuon_matrix *matrix;
    const double *factor;
} apply_job;

static void apply_columns(void *user, size_t begin, size_t end, void *scratch)
{
    const apply_job *job = user;
    const eng_dimuon_view *v = &job->matrix->view;
    (void)scratch;
    size_t last = TK_MIN(end * COLUMNS, v->length);
    for (size_t t = begin * COLUMNS; t < last; t++) {
        const eng_real *m = job->matrix->m + t * v->step_t;
        eng_real *w = job->matrix->w + t * v->step_t;
        for (size_t i = 0; i < v->k; i++) {
            const double *row = job->factor + i * v->k;
            double direction = 0;
            for (size_t j = 0; j < v->k; j++) {
                direction += row[j] * (double)m[j * v->step_v];
            }
            eng_real *at = &w[i * v->step_v];
            *at = (eng_real)((double)*at - job->matrix->rate * direction);
        }
    }
}

void eng_dimuon_apply(eng_pool *pool, const eng_dimuon_matrix *matrix)
{
    const eng_dimuon_view *v = &matrix->view;
    apply_job job = {matrix, matrix->temp};
    if (find_factor(pool, matrix, matrix->temp)) {
        eng_pool_run(pool, (v->length + COLUMNS - 1) / COLUMNS, apply_columns, &job);
    }
}

/* ---- the step ---- */

typedef struct momentum {
    const eng_adapter *adapter;
    double beta, grad_scale, reach; /* reach: of a weight in one step, at most */
    atomic_bool overflows;
} momentum;

static double next_momentum(const momentum *s, size_t i)
{
    return s->beta * (double)s->adapter->moment1[i] +
           (1.0 - s->beta) * (double)s->adapter->grads[i] * s->grad_scale;
}

static void check_pieces(void *user, size_t begin, size_t end, void *scratch)
{
    momentum *s = user;
    bool all = true;
    (void)scratch;
    size_t last = TK_MIN(end * PIECE, s->adapter->n);
    for (size_t i = begin * PIECE; i < last; i++) {
        all &= fabs(next_momentum(s, i)) <= LARGEST;
        all &= fabs((double)s->adapter->weights[i]) + s->reach <= LARGEST;
    }
    if (!all) {
        atomic_store_explicit(&s->overflows, true, memory_order_relaxed);
    }
}

static void momentum_pieces(void *user, size_t begin, size_t end, void *scratch)
{
    const momentum *s = user;
    (void)scratch;
    size_t last = TK_MIN(end * PIECE, s->adapter->n);
    for (size_t i = begin * PIECE; i < last; i++) {
        s->adapter->moment1[i] = (eng_real)next_momentum(s, i);
    }
}

tinkc_code eng_dimuon_check(const eng_dimuon *dimuon, tk_err *err)
{
    const char *bad = NULL;
    if (!(dimuon->learning_rate >= 0) || !isfinite(dimuon->learning_rate)) {
        bad = "learning_rate";
    } else if (!(dimuon->beta1 >= 0) || !(dimuon->beta1 < 1)) {
        bad = "beta1";
    } else if (!isfinite(dimuon->grad_clip_norm)) {
        bad = "grad_clip_norm";
    }
    return bad != NULL ? tk_err_set(err, TINKC_E_INVALID,
                                    "optimizer_params.%s is out of range", bad)
                       : TINKC_OK;
}

static tinkc_code check_step(const eng_adapter *adapter, const eng_dimuon *dimuon,
                             tk_err *err)
{
    tinkc_code code = eng_adapter_check_trainable(adapter, err);
    if (code == TINKC_OK && adapter->config.optimizer != ENG_DIMUON) {
        code = tk_err_set(err, TINKC_E_INVALID,
                          "the model's optimizer is %s: optimizer_params of type dimuon "
                          "do not fit",
                          eng_optimizer_name(adapter->config.optimizer));
    }
    if (code == TINKC_OK) {
        code = eng_pool_check(adapter->model->pool, err);
    }
    return code == TINKC_OK ? eng_dimuon_check(dimuon, err) : code;
}

static void apply_all(eng_adapter *adapter, double rate, double *temp)
{
    size_t rank = adapter->config.rank;
    for (size_t i = 0; i < adapter->n_modules; i++) {
        const eng_lora *l = &adapter->modules[i];
        eng_dimuon_matrix a = {eng_dimuon_view_of(rank, l->in),
                               adapter->moment1 + l->a_at,
                               adapter->weights + l->a_at,
                               rate,
                               (double)rank,
                               temp};
        eng_dimuon_matrix b = {eng_dimuon_view_of(l->out, rank),
                               adapter->moment1 + l->b_at,
                               adapter->weights + l->b_at,
                               rate,
                               (double)rank,
                               temp};
        if (l->on) {
            eng_dimuon_apply(adapter->model->pool, &a);
            eng_dimuon_apply(adapter->model->pool, &b);
        }
    }
}

tinkc_code eng_adapter_dimuon_step(eng_adapter *adapter, const eng_dimuon *dimuon,
                                   double *grad_norm_out, tk_err *err)
{
    eng_pool *pool = adapter->model->pool;
    double norm2 = 0, *temp = NULL;
    size_t rank = adapter->config.rank, pieces = (adapter->n + PIECE - 1) / PIECE;
    tinkc_code code = check_step(adapter, dimuon, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = eng_optim_norm2(pool, adapter->grads, adapter->n, &norm2, err);
    if (code != TINKC_OK) {
        goto out;
    }
    double norm = sqrt(norm2);
    momentum s = {.adapter = adapter,
                  .beta = dimuon->beta1,
                  .grad_scale = eng_optim_clip(norm, dimuon->grad_clip_norm),
                  .reach = dimuon->learning_rate * sqrt((double)rank)};
    atomic_init(&s.overflows, false);
    eng_pool_run(pool, pieces, check_pieces, &s);
    if (atomic_load_explicit(&s.overflows, memory_order_relaxed)) {
        code = tk_err_set(err, TINKC_E_INVALID,
                          "the step would make weights that are too large to compute "
                          "with: optimizer_params.learning_rate is too large, or "
                          "training has diverged; nothing was changed");
        goto out;
    }
    temp = tk_array(ENG_DIMUON_TEMP(rank), sizeof(*temp));
    if (temp == NULL) {
        code = tk_err_nomem(err);
        goto out;
    }
    code = eng_pool_check(pool, err);
    if (code != TINKC_OK) {
        goto out;
    }
    eng_pool_run(pool, pieces, momentum_pieces, &s); /* from here on to the end */
    apply_all(adapter, dimuon->learning_rate, temp);
    adapter->steps++;
    memset(adapter->grads, 0, adapter->n * sizeof(eng_real));
    adapter->has_grads = false;
    eng_adapter_repack(adapter);
    *grad_norm_out = norm;
out:
    tk_free(temp);
    return code;
}
