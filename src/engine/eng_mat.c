/* Packing, and the loops over panels and rows around the tile kernel; see eng_mat.h. */
#include "engine/eng_mat.h"

#include <string.h>

#include "base/mem.h"
#include "engine/eng_kern.h"

#define ROW_GROUP  96  /* rows computed against one panel before the next panel */
#define BACK_BLOCK 512 /* outputs whose transposed panel is held at a time */
#define STRIP      4   /* panels per strip when there are few rows */

bool eng_mat_bytes(size_t *out, size_t n, size_t k, bool bf16)
{
    size_t bytes;
    if (n > SIZE_MAX - ENG_LANES || !tk_size_mul(&bytes, ENG_ROUND_UP(n, ENG_LANES), k) ||
        !tk_size_mul(&bytes, bytes, bf16 ? sizeof(uint16_t) : sizeof(eng_real))) {
        return false;
    }
    *out = bytes;
    return true;
}

static size_t panel_count(const eng_mat *mat)
{
    return ENG_ROUND_UP(mat->n, ENG_LANES) / ENG_LANES;
}

/* One row of one panel, input by input. */
/* `in` is the row alone; NULL after the last one: zeros. */
static void pack_row(const eng_mat *mat, size_t row, const char *in, eng_dtype dtype)
{
    size_t at = row / ENG_LANES * mat->k * ENG_LANES + row % ENG_LANES;
    size_t size = eng_dtype_size(dtype);
    for (size_t i = 0; i < mat->k; i++) {
        size_t to = at + i * ENG_LANES;
        if (mat->bf16) {
            uint16_t bits = 0;
            if (in != NULL) {
                memcpy(&bits, in + i * size, sizeof(bits));
            }
            ((uint16_t *)mat->panels)[to] = bits;
        } else {
            eng_real value = 0;
            if (in != NULL) {
                eng_dtype_read(&value, in + i * size, dtype, 1);
            }
            ((eng_real *)mat->panels)[to] = value;
        }
    }
}

void eng_mat_pack_panels(const eng_mat *mat, const void *rows, eng_dtype dtype,
                         size_t begin, size_t end)
{
    size_t first = begin * ENG_LANES, bytes = mat->k * eng_dtype_size(dtype);
    for (size_t row = first; row < end * ENG_LANES; row++) {
        const char *in = (const char *)rows + (row - first) * bytes;
        pack_row(mat, row, row < mat->n ? in : NULL, dtype);
    }
}

void eng_mat_pack_reals(const eng_mat *mat, const eng_real *rows)
{
    eng_real *panels = mat->panels;
    for (size_t row = 0; row < ENG_ROUND_UP(mat->n, ENG_LANES); row++) {
        eng_real *to = panels + row / ENG_LANES * mat->k * ENG_LANES + row % ENG_LANES;
        for (size_t i = 0; i < mat->k; i++) {
            to[i * ENG_LANES] = row < mat->n ? rows[row * mat->k + i] : 0;
        }
    }
}

void eng_mat_unpack_row(const eng_mat *mat, size_t row, eng_real *out)
{
    size_t at = row / ENG_LANES * mat->k * ENG_LANES + row % ENG_LANES;
    for (size_t i = 0; i < mat->k; i++) {
        size_t from = at + i * ENG_LANES;
        out[i] = mat->bf16 ? eng_bf16_to_f32(((const uint16_t *)mat->panels)[from])
                           : ((const eng_real *)mat->panels)[from];
    }
}

/* Finished sums and where they belong: [rows][width] from (row, column) on. */
typedef struct region {
    const eng_real *sums;
    size_t stride;
    size_t row, rows, column, width;
} region;

static void finish(const eng_mul *m, const region *b)
{
    size_t width = b->width, column = b->column;
    for (size_t r = 0; r < b->rows; r++) {
        eng_real *y = m->y + (b->row + r) * m->ldy + column;
        const eng_real *from = b->sums + r * b->stride;
        if (m->add && m->bias != NULL) {
            for (size_t j = 0; j < width; j++) {
                y[j] += m->scale * from[j] + m->bias[column + j];
            }
        } else if (m->add) {
            for (size_t j = 0; j < width; j++) {
                y[j] += m->scale * from[j];
            }
        } else if (m->bias != NULL) {
            for (size_t j = 0; j < width; j++) {
                y[j] = from[j] + m->bias[column + j];
            }
        } else {
            memcpy(y, from, width * sizeof(*y));
        }
    }
}

typedef struct job {
    const eng_mul *m;
    const eng_kern *kern;
    size_t row_groups; /* of `group` rows each; a unit is one panel times one group */
    size_t group;
} job;

/* `count` panels from `first` on, `apart` from each other. */
static void mul_strip(const job *j, size_t first, size_t count, size_t apart)
{
    const eng_mul *m = j->m;
    eng_real c[ENG_ROWS * STRIP * ENG_LANES];
    size_t size = m->w->bf16 ? sizeof(uint16_t) : sizeof(eng_real);
    eng_strip s = {.k = m->w->k,
                   .rows = m->rows,
                   .panels = count,
                   .a = m->x,
                   .a_row = m->ldx,
                   .b = (const char *)m->w->panels + first * m->w->k * ENG_LANES * size,
                   .b_panel = apart * m->w->k,
                   .c = c,
                   .c_row = STRIP * ENG_LANES};
    (m->w->bf16 ? j->kern->strip_bf16 : j->kern->strip)(&s);
    for (size_t i = 0; i < count; i++) {
        size_t column = (first + i * apart) * ENG_LANES;
        region b = {.sums = c + i * ENG_LANES,
                    .stride = s.c_row,
                    .rows = m->rows,
                    .column = column,
                    .width = TK_MIN((size_t)ENG_LANES, m->w->n - column)};
        finish(m, &b);
    }
}

/* Few rows: straight from the packed weights, whose bytes are read once. STRIP panels at
 * a time, a quarter of the range apart: each of these streams goes on from panel to panel
 * without a jump, as long as the range is. A unit is STRIP panels. */
static void mul_strips(void *user, size_t begin, size_t end, void *scratch)
{
    const job *j = user;
    (void)scratch;
    size_t first = begin * STRIP, last = TK_MIN(end * STRIP, panel_count(j->m->w));
    size_t apart = (last - first) / STRIP, rest = (last - first) % STRIP;
    for (size_t i = 0; i < apart; i++) {
        mul_strip(j, first + i, STRIP, apart);
    }
    if (rest > 0) {
        mul_strip(j, last - rest, rest, 1);
    }
}

/* One panel against the rows of one group. */
static void mul_group(const job *j, const eng_real *panel, size_t p, size_t group)
{
    const eng_mul *m = j->m;
    eng_real c[ENG_ROWS * ENG_LANES];
    size_t last = TK_MIN((group + 1) * j->group, m->rows);
    size_t column = p * ENG_LANES;
    size_t width = TK_MIN((size_t)ENG_LANES, m->w->n - column);
    for (size_t row = group * j->group, rows; row < last; row += rows) {
        rows = eng_tile_rows(last - row);
        eng_tile t = {.k = m->w->k,
                      .rows = rows,
                      .a = m->x + row * m->ldx,
                      .a_row = m->ldx,
                      .a_k = 1,
                      .b = panel,
                      .b_k = ENG_LANES,
                      .c = c,
                      .c_row = ENG_LANES};
        j->kern->tile(&t);
        region b = {c, ENG_LANES, row, rows, column, width};
        finish(m, &b);
    }
}

static void mul_panels(void *user, size_t begin, size_t end, void *scratch)
{
    const job *j = user;
    const eng_mat *w = j->m->w;
    size_t panel = w->k * ENG_LANES, panels = panel_count(w);
    size_t widened = SIZE_MAX;
    for (size_t unit = begin; unit < end; unit++) {
        size_t group = unit / panels, p = unit % panels;
        const eng_real *b;
        if (w->bf16) {
            if (widened != p) {
                j->kern->widen(scratch, (const uint16_t *)w->panels + p * panel, panel);
                widened = p;
            }
            b = scratch;
        } else {
            b = (const eng_real *)w->panels + p * panel;
        }
        mul_group(j, b, p, group);
    }
}

tinkc_code eng_mul_run(eng_pool *pool, const eng_mul *m, tk_err *err)
{
    job j = {.m = m, .kern = eng_kern_get(), .group = ROW_GROUP};
    size_t panels = panel_count(m->w), work = m->rows * m->w->n * m->w->k / 4;
    if (m->rows == 0) {
        return TINKC_OK;
    }
    if (m->rows <= ENG_ROWS) {
        eng_pool_run_work(pool, (panels + STRIP - 1) / STRIP, work, mul_strips, &j);
        return TINKC_OK;
    }
    if (m->w->bf16) {
        size_t bytes = m->w->k * ENG_LANES * sizeof(eng_real);
        tinkc_code code = eng_pool_reserve(pool, bytes, err);
        if (code != TINKC_OK) {
            return code;
        }
    }
    j.row_groups = (m->rows + ROW_GROUP - 1) / ROW_GROUP;
    eng_pool_run_work(pool, panels * j.row_groups, work, mul_panels, &j);
    return TINKC_OK;
}

/* Outputs [first, first + count) of the 16 inputs from `column` on, as [count][16]. */
static void transpose(eng_real *out, const job *j, size_t column, size_t first,
                      size_t count)
{
    const eng_mat *w = j->m->w;
    size_t width = TK_MIN((size_t)ENG_LANES, w->k - column);
    eng_real wide[ENG_LANES * ENG_LANES];
    for (size_t n = 0; n < count; n += ENG_LANES) {
        size_t at = (first + n) / ENG_LANES * w->k * ENG_LANES + column * ENG_LANES;
        const eng_real *block;
        if (w->bf16) {
            j->kern->widen(wide, (const uint16_t *)w->panels + at, width * ENG_LANES);
            block = wide;
        } else {
            block = (const eng_real *)w->panels + at;
        }
        eng_real *to = out + n * ENG_LANES;
        if (width < ENG_LANES) {
            memset(to, 0, ENG_LANES * ENG_LANES * sizeof(*to));
        }
        for (size_t i = 0; i < width; i++) {
            for (size_t l = 0; l < ENG_LANES; l++) {
                to[l * ENG_LANES + i] = block[i * ENG_LANES + l];
            }
        }
    }
}

static void back_unit(const job *j, size_t column, size_t group, eng_real *scratch)
{
    const eng_mul *m = j->m;
    eng_real *packed = scratch, *sums = scratch + BACK_BLOCK * ENG_LANES;
    size_t row0 = group * j->group, last = TK_MIN(row0 + j->group, m->rows);
    for (size_t first = 0; first < m->w->n; first += BACK_BLOCK) {
        size_t count = TK_MIN((size_t)BACK_BLOCK, m->w->n - first);
        transpose(packed, j, column, first, count);
        for (size_t row = row0, rows; row < last; row += rows) {
            rows = eng_tile_rows(last - row);
            eng_tile t = {.k = count,
                          .rows = rows,
                          .a = m->x + row * m->ldx + first,
                          .a_row = m->ldx,
                          .a_k = 1,
                          .b = packed,
                          .b_k = ENG_LANES,
                          .c = sums + (row - row0) * ENG_LANES,
                          .c_row = ENG_LANES,
                          .add = first > 0};
            j->kern->tile(&t);
        }
    }
    size_t width = TK_MIN((size_t)ENG_LANES, m->w->k - column);
    region b = {sums, ENG_LANES, row0, last - row0, column, width};
    finish(m, &b);
}

static void back_panels(void *user, size_t begin, size_t end, void *scratch)
{
    const job *j = user;
    for (size_t unit = begin; unit < end; unit++) {
        back_unit(j, unit / j->row_groups * ENG_LANES, unit % j->row_groups, scratch);
    }
}

tinkc_code eng_mul_back_run(eng_pool *pool, const eng_mul *m, tk_err *err)
{
    job j = {.m = m, .kern = eng_kern_get()};
    if (m->rows == 0) {
        return TINKC_OK;
    }
    /* Each group packs again: cut the rows only when panels alone leave threads idle. */
    size_t panels = ENG_ROUND_UP(m->w->k, ENG_LANES) / ENG_LANES;
    size_t want = panels >= 2 * (size_t)eng_pool_size(pool) ? 1 : eng_pool_size(pool);
    j.group = ENG_ROUND_UP((m->rows + want - 1) / want, ENG_ROWS);
    j.row_groups = (m->rows + j.group - 1) / j.group;
    size_t bytes = (BACK_BLOCK + j.group) * ENG_LANES * sizeof(eng_real);
    tinkc_code code = eng_pool_reserve(pool, bytes, err);
    if (code != TINKC_OK) {
        return code;
    }
    eng_pool_run_work(pool, panels * j.row_groups, m->rows * m->w->n * m->w->k / 4,
                      back_panels, &j);
    return TINKC_OK;
}

typedef struct outer_job {
    const eng_outer *o;
    const eng_kern *kern;
} outer_job;

static void copy_c(const eng_outer *o, eng_real *tile, size_t i0, size_t rows, size_t j0,
                   size_t width)
{
    for (size_t r = 0; r < rows; r++) {
        for (size_t l = 0; l < width; l++) {
            tile[r * ENG_LANES + l] = o->c[(i0 + r) * o->c_a + (j0 + l) * o->c_b];
        }
    }
}

static void store_c(const eng_outer *o, const eng_real *tile, size_t i0, size_t rows,
                    size_t j0, size_t width)
{
    for (size_t r = 0; r < rows; r++) {
        for (size_t l = 0; l < width; l++) {
            o->c[(i0 + r) * o->c_a + (j0 + l) * o->c_b] = tile[r * ENG_LANES + l];
        }
    }
}

static void outer_panels(void *user, size_t begin, size_t end, void *scratch)
{
    const outer_job *j = user;
    const eng_outer *o = j->o;
    eng_real *b = scratch;
    for (size_t unit = begin; unit < end; unit++) {
        size_t j0 = unit * ENG_LANES;
        size_t width = TK_MIN((size_t)ENG_LANES, o->nb - j0);
        for (size_t row = 0; row < o->rows; row++) {
            memset(b + row * ENG_LANES, 0, ENG_LANES * sizeof(*b));
            memcpy(b + row * ENG_LANES, o->b + row * o->ldb + j0, width * sizeof(*b));
        }
        for (size_t i0 = 0; i0 < o->na; i0 += ENG_ROWS) {
            eng_real c[ENG_ROWS * ENG_LANES] = {0};
            eng_tile t = {.k = o->rows,
                          .rows = TK_MIN((size_t)ENG_ROWS, o->na - i0),
                          .a = o->a + i0,
                          .a_row = 1,
                          .a_k = o->lda,
                          .b = b,
                          .b_k = ENG_LANES,
                          .c = c,
                          .c_row = ENG_LANES,
                          .add = true};
            copy_c(o, c, i0, t.rows, j0, width);
            j->kern->tile(&t);
            store_c(o, c, i0, t.rows, j0, width);
        }
    }
}

tinkc_code eng_outer_run(eng_pool *pool, const eng_outer *o, tk_err *err)
{
    outer_job j = {.o = o, .kern = eng_kern_get()};
    tinkc_code code = eng_pool_reserve(pool, o->rows * ENG_LANES * sizeof(eng_real), err);
    if (code != TINKC_OK) {
        return code;
    }
    eng_pool_run_work(pool, ENG_ROUND_UP(o->nb, ENG_LANES) / ENG_LANES,
                      o->rows * o->na * o->nb / 4, outer_panels, &j);
    return TINKC_OK;
}
