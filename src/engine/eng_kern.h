/* The kernel table: everything whose speed depends on the instruction set.
 *
 * One table is chosen at start; tests switch it. All tables obey one contract on the
 * order of additions, which is what makes a token's bits independent of batch, chunking
 * and threads: an element of a product is one chain over the reduction index, 0 first;
 * sums over a row are ENG_LANES chains by index modulo ENG_LANES, added as a tree.
 * `generic` multiplies and adds with two roundings, the SIMD tables with one (FMA), so
 * tables differ from each other in the last digits, never within themselves.
 *
 * Thread: tables are constant; eng_kern_select only while nothing computes. */
#ifndef ENGINE_ENG_KERN_H
#define ENGINE_ENG_KERN_H

#include "base/tk.h"
#include "engine/eng_real.h"

#define ENG_LANES 16 /* columns of a packed panel, partial sums of a row */
#define ENG_ROWS  6  /* most rows of a tile */

#define ENG_ROUND_UP(n, to) (((n) + (to)-1) / (to) * (to))

/* c[r][j] (+)= sum over k of a[r * a_row + k * a_k] * b[k * b_k + j], r < rows,
 * j < ENG_LANES. */
typedef struct eng_tile {
    size_t k;
    size_t rows; /* 1..ENG_ROWS */
    const eng_real *a;
    size_t a_row, a_k;
    const eng_real *b;
    size_t b_k;
    eng_real *c;
    size_t c_row;
    bool add; /* the chain goes on from what c holds, instead of from 0 */
} eng_tile;

/* Rows of the next tile when `left` are left: 7 and 8 are better cut in two halves than
 * into 6 and a rest whose few sums wait for each other. */
static inline size_t eng_tile_rows(size_t left)
{
    return left == 7 || left == 8 ? 4 : TK_MIN((size_t)ENG_ROWS, left);
}

/* A product over several packed panels at once, for few rows: c[r][p * ENG_LANES + j] =
 * sum over k of a[r * a_row + k] * b[p * b_panel + k][j]. What follows a panel in memory
 * is what is asked for next: it may be fetched ahead. */
typedef struct eng_strip {
    size_t k;
    size_t rows; /* 1..ENG_ROWS */
    size_t panels;
    const eng_real *a;
    size_t a_row;
    const void *b;  /* eng_real or bf16, by the function */
    size_t b_panel; /* rows of ENG_LANES numbers from one panel to the next */
    eng_real *c;
    size_t c_row;
} eng_strip;

typedef struct eng_kern {
    const char *name;
    void (*tile)(const eng_tile *t);
    void (*strip)(const eng_strip *s);
    void (*strip_bf16)(const eng_strip *s);
    void (*widen)(eng_real *out, const uint16_t *bf16, size_t n);
    eng_real (*dot)(const eng_real *x, const eng_real *y, size_t n);
    eng_real (*max)(const eng_real *x, size_t n);             /* n > 0 */
    eng_real (*exp_sum)(eng_real *x, size_t n, eng_real max); /* x = exp(x - max) */
    /* out = silu(gate) * up */
    void (*silu_mul)(eng_real *out, const eng_real *gate, const eng_real *up, size_t n);
    /* d holds dL/d(silu(gate) * up); afterwards dL/dgate, and d_up = dL/dup. */
    void (*silu_mul_back)(eng_real *d, eng_real *d_up, const eng_real *gate,
                          const eng_real *up, size_t n);
} eng_kern;

/* The table in use: the best one this machine runs, until a test selects another. */
const eng_kern *eng_kern_get(void);

/* "generic", "avx2", "neon"; false when this build or machine does not have it. */
bool eng_kern_select(const char *name);

/* The tables; NULL when the build lacks them. Whether the machine can run one is decided
 * in eng_kern.c, which is compiled without special instructions. */
const eng_kern *eng_kern_generic(void);
const eng_kern *eng_kern_avx2(void);
const eng_kern *eng_kern_neon(void);

#endif
