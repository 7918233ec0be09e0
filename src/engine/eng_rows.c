/* Row operations over the pool; see eng_rows.h. */
#include "engine/eng_rows.h"

#include <math.h>

#include "engine/eng_rope.h"

#define PIECE ((size_t)1024) /* numbers per unit of the gate */

static void norm_rows(void *user, size_t begin, size_t end, void *scratch)
{
    const eng_norm *norm = user;
    const eng_kern *kern = eng_kern_get();
    (void)scratch;
    for (size_t r = begin; r < end; r++) {
        const eng_real *x = norm->x + r * norm->n;
        eng_real *y = norm->y + r * norm->n;
        eng_real mean = kern->dot(x, x, norm->n) / (eng_real)norm->n;
        eng_real inv = (eng_real)(1.0 / sqrt((double)mean + norm->eps));
        norm->inv[r] = inv;
        kern->norm(y, x, norm->w, inv, norm->n);
    }
}

void eng_norm_forward(eng_pool *pool, const eng_norm *norm)
{
    eng_norm copy = *norm;
    eng_pool_run_work(pool, norm->rows, 2 * norm->rows * norm->n, norm_rows, &copy);
}

typedef struct norm_back {
    const eng_norm *norm;
    const eng_real *d_y;
    eng_real *d_x;
    bool add;
} norm_back;

static void norm_back_rows(void *user, size_t begin, size_t end, void *scratch)
{
    const norm_back *b = user;
    const eng_norm *norm = b->norm;
    const eng_kern *kern = eng_kern_get();
    (void)scratch;
    for (size_t r = begin; r < end; r++) {
        size_t at = r * norm->n;
        eng_norm_part part = {.x = norm->x + at,
                              .w = norm->w,
                              .d_y = b->d_y + at,
                              .inv = norm->inv[r],
                              .n = norm->n,
                              .add = b->add};
        kern->norm_back(b->d_x + at, &part);
    }
}

void eng_norm_backward(eng_pool *pool, const eng_norm *norm, const eng_real *d_y,
                       eng_real *d_x, bool add)
{
    norm_back b = {norm, d_y, d_x, add};
    eng_pool_run_work(pool, norm->rows, 6 * norm->rows * norm->n, norm_back_rows, &b);
}

static void rotate_rows(void *user, size_t begin, size_t end, void *scratch)
{
    const eng_rotation *rot = user;
    const eng_model *model = rot->model;
    size_t half = model->config.head_dim / 2;
    (void)scratch;
    for (size_t r = begin; r < end; r++) {
        size_t at = rot->positions[r] * half;
        eng_rope_apply(rot->x + r * rot->heads * 2 * half, rot->heads, half,
                       model->rope_cos + at, model->rope_sin + at, rot->back);
    }
}

void eng_rows_rotate(const eng_rotation *rotation)
{
    eng_rotation copy = *rotation;
    size_t work = 2 * rotation->rows * rotation->heads * rotation->model->config.head_dim;
    eng_pool_run_work(rotation->model->pool, rotation->rows, work, rotate_rows, &copy);
}

typedef struct gate_job {
    eng_real *out;
    const eng_real *gate, *up;
    size_t n;
} gate_job;

static void gate_pieces(void *user, size_t begin, size_t end, void *scratch)
{
    const gate_job *g = user;
    (void)scratch;
    size_t first = begin * PIECE, last = TK_MIN(end * PIECE, g->n);
    eng_kern_get()->silu_mul(g->out + first, g->gate + first, g->up + first,
                             last - first);
}

void eng_rows_gate(eng_pool *pool, eng_real *out, const eng_real *gate,
                   const eng_real *up, size_t n)
{
    gate_job g = {out, gate, up, n};
    eng_pool_run_work(pool, (n + PIECE - 1) / PIECE, 16 * n, gate_pieces, &g);
}

static void gate_back_pieces(void *user, size_t begin, size_t end, void *scratch)
{
    const eng_gate_grad *g = user;
    (void)scratch;
    size_t first = begin * PIECE, last = TK_MIN(end * PIECE, g->n);
    eng_kern_get()->silu_mul_back(g->d + first, g->d_up + first, g->gate + first,
                                  g->up + first, last - first);
}

void eng_rows_gate_backward(eng_pool *pool, const eng_gate_grad *g)
{
    eng_gate_grad copy = *g;
    eng_pool_run_work(pool, (g->n + PIECE - 1) / PIECE, 16 * g->n, gate_back_pieces,
                      &copy);
}
