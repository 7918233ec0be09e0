/* The kernel table: everything whose speed depends on the instruction set.
 *
 * One table is chosen at start; `serve --kernel` and tests choose another. All tables obey
 * one contract on the order of additions, which is what makes a token's bits independent
 * of batch, chunking and threads: an element of a product is one chain over the reduction
 * index, 0 first; sums over a row are ENG_LANES chains by index modulo ENG_LANES, added as
 * a tree. `generic` multiplies and adds with two roundings, all others with one (FMA).
 * So avx2, avx512, neon and the plain C table `fma` give the same bits as each other, and
 * `generic` differs from them in the last digits.
 *
 * Thread: tables are constant; eng_kern_select only while nothing computes. */
#ifndef ENGINE_ENG_KERN_H
#define ENGINE_ENG_KERN_H

#include <math.h>

#include "base/tk.h"
#include "engine/eng.h"
#include "engine/eng_real.h"

#define ENG_LANES 16 /* columns of a packed panel, partial sums of a row */
#define ENG_ROWS  14 /* most rows of a tile, in any table */

/* How a matrix holds its weights. */
typedef enum eng_format { ENG_FORMAT_REAL, ENG_FORMAT_BF16, ENG_FORMAT_INT8 } eng_format;

/* An int8 panel is a sequence of groups of ENG_GROUP inputs, the last one shorter: the
 * ENG_LANES scales of a group as bf16, then its weights, [inputs][ENG_LANES]. A weight is
 * the product of both, which has 15 bits at most: a float holds it exactly. So the chains
 * of an int8 matrix are those of the eng_real matrix with the same weights. */
#define ENG_GROUP       64
#define ENG_SCALE_BYTES (ENG_LANES * sizeof(uint16_t))

#define ENG_ROUND_UP(n, to) (((n) + (to)-1) / (to) * (to))

/* c[r][p * ENG_LANES + j] (+)= sum over k of a[r * a_row + k * a_k] * b[p * b_panel +
 * k * b_k + j], r < rows, p < panels, j < ENG_LANES. Memory after b's last row may be
 * fetched ahead. */
typedef struct eng_tile {
    size_t k;
    size_t rows;   /* 1 .. eng_kern.rows */
    size_t panels; /* any number */
    const eng_real *a;
    size_t a_row, a_k;
    const void *b;  /* eng_real, bf16 or int8 groups, by the function */
    size_t b_k;     /* not for int8 */
    size_t b_panel; /* in weights; int8: in bytes */
    eng_real *c;
    size_t c_row;
    bool add; /* the chain goes on from what c holds, instead of from 0 */
} eng_tile;

/* Finished sums of a row: y = sum + bias, or y += scale * sum + bias. */
typedef struct eng_finish {
    const eng_real *bias; /* NULL: none */
    eng_real scale;       /* with add only */
    bool add;
} eng_finish;

/* One row of the gradient of a norm. */
typedef struct eng_norm_part {
    const eng_real *x, *w, *d_y;
    eng_real inv;
    size_t n;
    bool add; /* to d_x, instead of storing */
} eng_norm_part;

/* AdamW over the elements from 0 to n; `rate` and `root` contain the bias corrections. */
typedef struct eng_adam_part {
    double b1, b2, eps, decay, rate, root, grad_scale;
    eng_real *p, *m, *v;
    const eng_real *g;
    size_t n;
} eng_adam_part;

/* One weight in the middle of its step: scaled gradient, new moments, weight after decay.
 * What is checked and what is stored is computed with these two functions. */
typedef struct eng_adam_element {
    double g, m, v, p;
} eng_adam_element;

static inline eng_adam_element eng_adam_look(const eng_adam_part *a, size_t i)
{
    double g = (double)a->g[i] * a->grad_scale;
    return (eng_adam_element){.g = g,
                              .m = a->b1 * (double)a->m[i] + (1.0 - a->b1) * g,
                              .v = a->b2 * (double)a->v[i] + (1.0 - a->b2) * g * g,
                              .p = (double)a->p[i] * a->decay};
}

static inline double eng_adam_weight(const eng_adam_part *a, const eng_adam_element *e)
{
    return e->p - a->rate * e->m / (sqrt(e->v) / a->root + a->eps);
}

typedef struct eng_kern {
    const char *name;
    size_t rows;                          /* most rows of a tile, at most ENG_ROWS */
    void (*tile)(const eng_tile *t);      /* b is eng_real */
    void (*tile_bf16)(const eng_tile *t); /* b is bf16 */
    void (*tile_int8)(const eng_tile *t); /* b is the first of the groups */
    /* out[j][i] = in[i][j], ENG_LANES of both */
    void (*turn)(eng_real *out, const eng_real *in);
    void (*finish)(eng_real *y, const eng_real *sums, const eng_finish *f, size_t n);
    void (*widen)(eng_real *out, const uint16_t *bf16, size_t n);
    /* `inputs` of one group, [inputs][ENG_LANES]. */
    void (*widen_int8)(eng_real *out, const int8_t *in, const uint16_t *scales,
                       size_t inputs);
    eng_real (*dot)(const eng_real *x, const eng_real *y, size_t n);
    eng_real (*max)(const eng_real *x, size_t n);             /* n > 0 */
    eng_real (*exp_sum)(eng_real *x, size_t n, eng_real max); /* x = exp(x - max) */
    void (*scale)(eng_real *x, size_t n, eng_real factor);
    /* p holds exponentials, d dL/dP; afterwards p *= inv and d = p * (d - mean). */
    void (*softmax_back)(eng_real *p, eng_real *d, size_t n, const eng_real inv_mean[2]);
    /* y = w * (x * inv) */
    void (*norm)(eng_real *y, const eng_real *x, const eng_real *w, eng_real inv,
                 size_t n);
    /* The gradient of the line above; d_x (+)= it, and may be d_y when it is stored. */
    void (*norm_back)(eng_real *d_x, const eng_norm_part *part);
    /* out = silu(gate) * up */
    void (*silu_mul)(eng_real *out, const eng_real *gate, const eng_real *up, size_t n);
    /* d holds dL/d(silu(gate) * up); afterwards dL/dgate, and d_up = dL/dup. */
    void (*silu_mul_back)(eng_real *d, eng_real *d_up, const eng_real *gate,
                          const eng_real *up, size_t n);
    void (*adam_step)(const eng_adam_part *a);
    /* false: a bound on the new weights, or a gradient, is larger than `limit` */
    bool (*adam_bound)(const eng_adam_part *a, double limit);
} eng_kern;

/* Bytes of the first `inputs` of an int8 panel; of all, or of whole groups. */
static inline size_t eng_int8_bytes(size_t inputs)
{
    return inputs * ENG_LANES +
           ENG_ROUND_UP(inputs, ENG_GROUP) / ENG_GROUP * ENG_SCALE_BYTES;
}

/* Rows of the next tile when `left` are left: equal shares rather than full tiles and a
 * rest whose few sums wait for each other. */
static inline size_t eng_tile_rows(const eng_kern *kern, size_t left)
{
    size_t tiles = (left + kern->rows - 1) / kern->rows;
    return (left + tiles - 1) / tiles;
}

/* The table in use: the best one this machine runs, until another is selected. */
const eng_kern *eng_kern_get(void);

/* The tables; NULL when the build lacks them. Whether the machine can run one is decided
 * in eng_kern.c, which is compiled without special instructions. */
const eng_kern *eng_kern_generic(void);
const eng_kern *eng_kern_fma(void); /* plain C; the bits of the SIMD tables */
const eng_kern *eng_kern_avx2(void);
const eng_kern *eng_kern_avx512(void);
const eng_kern *eng_kern_neon(void);

#endif
