/* Packing, and the loops over panels and rows around the tile kernel; see eng_mat.h. */
#include "engine/eng_mat.h"

#include <string.h>

#include "base/mem.h"
#include "engine/eng_int8.h"

#define PAIR         2   /* panels of a tile */
#define BLOCK_K      256 /* a reduction at a time: its panels fit in the first cache */
#define ROW          (BLOCK_K + ENG_LANES) /* of gathered inputs, a line more */
#define BACK_PAIRS   4                     /* most of a unit of the input gradient */
#define GROUP_TILES  12                    /* tiles of rows of a unit */
#define BLOCK_PANELS 16                    /* most panels of a unit */
#define UNITS_EACH   4                     /* units that a thread should get */
#define FEW_TILES    3 /* of rows: the weights are read straight from memory */
#define STRIP        4 /* panels at a time when there are few rows */

/* Bytes of the first `k` inputs of a panel; int8: of whole groups, or of all inputs. */
static size_t panel_bytes(eng_format format, size_t k)
{
    return format == ENG_FORMAT_INT8   ? eng_int8_bytes(k)
           : format == ENG_FORMAT_BF16 ? k * ENG_LANES * sizeof(uint16_t)
                                       : k * ENG_LANES * sizeof(eng_real);
}

bool eng_mat_bytes(size_t *out, size_t n, size_t k, eng_format format)
{
    const size_t most = ENG_LANES * sizeof(eng_real); /* of an input in any format */
    size_t panels = n / ENG_LANES + (n % ENG_LANES > 0), bytes;
    if (k > (SIZE_MAX - ENG_SCALE_BYTES) / most ||
        !tk_size_mul(&bytes, panels, panel_bytes(format, k))) {
        return false;
    }
    *out = bytes;
    return true;
}

static size_t panel_count(const eng_mat *mat)
{
    return ENG_ROUND_UP(mat->n, ENG_LANES) / ENG_LANES;
}

/* Where input `k` of a panel is; int8: k begins a group. */
static char *panel_at(const eng_mat *mat, size_t panel, size_t k)
{
    return (char *)mat->panels + panel * panel_bytes(mat->format, mat->k) +
           panel_bytes(mat->format, k);
}

/* Packs one row; `in` is NULL after the last one: zeros. */
static void pack_row(const eng_mat *mat, size_t row, const char *in, eng_dtype dtype)
{
    size_t at = row / ENG_LANES * mat->k * ENG_LANES + row % ENG_LANES;
    size_t size = eng_dtype_size(dtype);
    if (mat->format == ENG_FORMAT_INT8) {
        eng_int8_pack_row(panel_at(mat, row / ENG_LANES, 0), row % ENG_LANES, in, dtype,
                          mat->k);
        return;
    }
    for (size_t i = 0; i < mat->k; i++) {
        size_t to = at + i * ENG_LANES;
        if (mat->format == ENG_FORMAT_BF16) {
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
    if (mat->format == ENG_FORMAT_INT8) {
        eng_int8_unpack_row(panel_at(mat, row / ENG_LANES, 0), row % ENG_LANES, out,
                            mat->k);
        return;
    }
    for (size_t i = 0; i < mat->k; i++) {
        size_t from = at + i * ENG_LANES;
        out[i] = mat->format == ENG_FORMAT_BF16
                     ? eng_bf16_to_f32(((const uint16_t *)mat->panels)[from])
                     : ((const eng_real *)mat->panels)[from];
    }
}

/* Finished sums and where they belong: [rows][width] from (row, column) on. */
typedef struct region {
    eng_real *sums;
    size_t stride;
    size_t row, rows, column, width;
} region;

typedef struct job {
    const eng_mul *m;
    const eng_kern *kern;
    size_t group, row_groups;  /* rows of a unit */
    size_t block, wide_groups; /* panels of a unit */
} job;

static void finish(const job *j, const region *b)
{
    const eng_mul *m = j->m;
    eng_finish f = {.scale = m->scale, .add = m->add};
    f.bias = m->bias != NULL ? m->bias + b->column : NULL;
    for (size_t r = 0; r < b->rows; r++) {
        j->kern->finish(m->y + (b->row + r) * m->ldy + b->column, b->sums + r * b->stride,
                        &f, b->width);
    }
}

/* A panel in the unit of eng_tile. */
static size_t panel_size(const eng_mat *w)
{
    return w->format == ENG_FORMAT_INT8 ? eng_int8_bytes(w->k) : w->k * ENG_LANES;
}

/* The tile kernel that reads the matrix as it is. */
static void run_tile(const eng_kern *kern, const eng_mat *w, const eng_tile *t)
{
    (w->format == ENG_FORMAT_INT8   ? kern->tile_int8
     : w->format == ENG_FORMAT_BF16 ? kern->tile_bf16
                                    : kern->tile)(t);
}

/* `count` panels from `first` on, `apart` from each other, all rows. */
static void mul_strip(const job *j, size_t first, size_t count, size_t apart)
{
    const eng_mul *m = j->m;
    const eng_mat *w = m->w;
    eng_real c[ENG_ROWS * STRIP * ENG_LANES];
    for (size_t row = 0, rows; row < m->rows; row += rows) {
        rows = eng_tile_rows(j->kern, m->rows - row);
        eng_tile t = {.k = w->k,
                      .rows = rows,
                      .panels = count,
                      .a = m->x + row * m->ldx,
                      .a_row = m->ldx,
                      .a_k = 1,
                      .b = panel_at(w, first, 0),
                      .b_k = ENG_LANES,
                      .b_panel = apart * panel_size(w),
                      .c = c,
                      .c_row = STRIP * ENG_LANES};
        run_tile(j->kern, w, &t);
        for (size_t i = 0; i < count; i++) {
            size_t column = (first + i * apart) * ENG_LANES;
            size_t width = TK_MIN((size_t)ENG_LANES, w->n - column);
            region b = {c + i * ENG_LANES, t.c_row, row, rows, column, width};
            finish(j, &b);
        }
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

/* Copies `count` numbers of each row from x on. In place, a tile's rows may be so far apart
 * that all of them fall on the same places of the first cache. */
static void gather(eng_real *out, const eng_real *x, size_t ldx, size_t rows,
                   size_t count)
{
    for (size_t r = 0; r < rows; r++) {
        memcpy(out + r * ROW, x + r * ldx, count * sizeof(*out));
    }
}

/* Writes `count` inputs of a panel from k on as [count][ENG_LANES]; int8: k is a
 * multiple of ENG_LANES. */
static void widen(const job *j, eng_real *out, size_t panel, size_t k, size_t count)
{
    const eng_mat *w = j->m->w;
    if (w->format == ENG_FORMAT_BF16) {
        j->kern->widen(out, (const void *)panel_at(w, panel, k), count * ENG_LANES);
    } else if (w->format == ENG_FORMAT_REAL) {
        memcpy(out, panel_at(w, panel, k), count * ENG_LANES * sizeof(*out));
    } else {
        for (size_t done = 0, n; done < count; done += n) {
            size_t in = (k + done) % ENG_GROUP;
            const char *group = panel_at(w, panel, k + done - in);
            n = TK_MIN(ENG_GROUP - in, count - done);
            j->kern->widen_int8(out + done * ENG_LANES,
                                (const void *)(group + ENG_SCALE_BYTES + in * ENG_LANES),
                                (const void *)group, n);
        }
    }
}

/* Adds inputs [k0, k0 + count) of PAIR panels from p on to the sums of rows. */
static void mul_pair(const job *j, const region *b, size_t p, size_t k0, eng_real *wide,
                     const eng_real *gathered)
{
    const eng_mul *m = j->m;
    const eng_mat *w = m->w;
    size_t column = b->column / ENG_LANES, count = TK_MIN((size_t)BLOCK_K, w->k - k0);
    eng_tile t = {.k = count,
                  .panels = TK_MIN((size_t)PAIR, panel_count(w) - p),
                  .a_row = ROW,
                  .a_k = 1,
                  .b_k = ENG_LANES,
                  .c_row = b->stride,
                  .add = k0 > 0};
    if (w->format == ENG_FORMAT_REAL) {
        t.b = panel_at(w, p, k0);
        t.b_panel = panel_size(w);
    } else {
        t.b = wide;
        t.b_panel = count * ENG_LANES;
        for (size_t i = 0; i < t.panels; i++) {
            widen(j, wide + i * t.b_panel, p + i, k0, count);
        }
    }
    for (size_t row = 0; row < b->rows; row += t.rows) {
        t.rows = eng_tile_rows(j->kern, b->rows - row);
        t.a = gathered + row * ROW;
        t.c = b->sums + row * b->stride + (p - column) * ENG_LANES;
        j->kern->tile(&t);
    }
}

static void mul_unit(const job *j, size_t group, size_t block, eng_real *scratch)
{
    const eng_mul *m = j->m;
    eng_real *wide = scratch, *rows_in = wide + PAIR * BLOCK_K * ENG_LANES;
    eng_real *sums = rows_in + j->group * ROW;
    size_t first = block * j->block, panels = panel_count(m->w);
    size_t last = TK_MIN(first + j->block, panels), column = first * ENG_LANES;
    size_t row = group * j->group, rows = TK_MIN(j->group, m->rows - row);
    region b = {sums,   j->block * ENG_LANES,
                row,    rows,
                column, TK_MIN(last * ENG_LANES, m->w->n) - column};
    for (size_t k = 0; k < m->w->k; k += BLOCK_K) {
        gather(rows_in, m->x + row * m->ldx + k, m->ldx, rows,
               TK_MIN((size_t)BLOCK_K, m->w->k - k));
        for (size_t p = first; p < last; p += PAIR) {
            mul_pair(j, &b, p, k, wide, rows_in);
        }
    }
    finish(j, &b);
}

static void mul_units(void *user, size_t begin, size_t end, void *scratch)
{
    const job *j = user;
    for (size_t unit = begin; unit < end; unit++) {
        mul_unit(j, unit / j->wide_groups, unit % j->wide_groups, scratch);
    }
}

/* Cuts rows in equal groups of whole tiles, and panels so that every thread gets several
 * units. */
static void cut(job *j, size_t panels, size_t threads)
{
    size_t rows = j->m->rows, most = GROUP_TILES * j->kern->rows;
    size_t groups = (rows + most - 1) / most;
    j->group = ENG_ROUND_UP((rows + groups - 1) / groups, j->kern->rows);
    j->row_groups = (rows + j->group - 1) / j->group;
    size_t share = panels * j->row_groups / (UNITS_EACH * threads);
    j->block = TK_MIN((size_t)BLOCK_PANELS, TK_MAX(share / PAIR * PAIR, (size_t)PAIR));
    j->wide_groups = (panels + j->block - 1) / j->block;
}

size_t eng_mul_scratch(size_t rows, size_t widest)
{
    size_t tile = eng_kern_get()->rows, all = ENG_ROUND_UP(rows, tile);
    size_t group = TK_MIN(all, GROUP_TILES * tile);
    size_t panels = ENG_ROUND_UP(widest, PAIR * ENG_LANES) / ENG_LANES;
    size_t block = TK_MIN((size_t)BLOCK_PANELS, panels);
    size_t back = TK_MIN((size_t)BACK_PAIRS * PAIR, panels);
    size_t forward = (PAIR * BLOCK_K + group * block) * ENG_LANES + group * ROW;
    size_t backward = back * (BLOCK_K + all) * ENG_LANES + tile * ROW;
    return TK_MAX(forward, backward) * sizeof(eng_real);
}

tinkc_code eng_mul_run(eng_pool *pool, const eng_mul *m, tk_err *err)
{
    job j = {.m = m, .kern = eng_kern_get()};
    size_t panels = panel_count(m->w), work = m->rows * m->w->n * m->w->k / 4;
    if (m->rows == 0) {
        return TINKC_OK;
    }
    if (m->rows <= FEW_TILES * j.kern->rows) {
        eng_pool_run_work(pool, (panels + STRIP - 1) / STRIP, work, mul_strips, &j);
        return TINKC_OK;
    }
    cut(&j, panels, eng_pool_size(pool));
    size_t reals = (PAIR * BLOCK_K + j.group * j.block) * ENG_LANES + j.group * ROW;
    tinkc_code code = eng_pool_reserve(pool, reals * sizeof(eng_real), err);
    if (code == TINKC_OK) {
        eng_pool_run_work(pool, j.row_groups * j.wide_groups, work, mul_units, &j);
    }
    return code;
}

/* Outputs [first, first + count) of the 16 inputs from `column` on, as [count][16]. */
static void transpose(eng_real *out, const job *j, size_t column, size_t first,
                      size_t count)
{
    const eng_mat *w = j->m->w;
    size_t width = TK_MIN((size_t)ENG_LANES, w->k - column);
    eng_real wide[ENG_LANES * ENG_LANES] = {0};
    for (size_t n = 0; n < count; n += ENG_LANES) {
        size_t panel = (first + n) / ENG_LANES;
        const eng_real *block = wide;
        if (w->format == ENG_FORMAT_REAL && width == ENG_LANES) {
            block = (const void *)panel_at(w, panel, column);
        } else {
            widen(j, wide, panel, column, width);
        }
        j->kern->turn(out + n * ENG_LANES, block);
    }
}

/* Adds outputs [first, first + count) to the sums of a unit. Scratch: panels of w, and a
 * tile's rows of x. */
static void back_block(const job *j, const region *b, size_t first, eng_real *packed)
{
    eng_real *rows_in = packed + j->block * BLOCK_K * ENG_LANES;
    const eng_mul *m = j->m;
    size_t count = TK_MIN((size_t)BLOCK_K, m->w->n - first);
    eng_tile t = {.k = count,
                  .panels = (b->width + ENG_LANES - 1) / ENG_LANES,
                  .a = rows_in,
                  .a_row = ROW,
                  .a_k = 1,
                  .b = packed,
                  .b_k = ENG_LANES,
                  .b_panel = (size_t)BLOCK_K * ENG_LANES,
                  .c_row = b->stride,
                  .add = first > 0};
    for (size_t i = 0; i < t.panels; i++) {
        transpose(packed + i * t.b_panel, j, b->column + i * ENG_LANES, first, count);
    }
    for (size_t row = 0; row < b->rows; row += t.rows) {
        t.rows = eng_tile_rows(j->kern, b->rows - row);
        gather(rows_in, m->x + (b->row + row) * m->ldx + first, m->ldx, t.rows, count);
        t.c = b->sums + row * b->stride;
        j->kern->tile(&t);
    }
}

static void back_units(void *user, size_t begin, size_t end, void *scratch)
{
    const job *j = user;
    const eng_mul *m = j->m;
    size_t wide = j->block * ENG_LANES;
    eng_real *packed = scratch, *sums = packed + wide * BLOCK_K + j->kern->rows * ROW;
    for (size_t unit = begin; unit < end; unit++) {
        size_t row = unit % j->row_groups * j->group;
        size_t column = unit / j->row_groups * wide;
        region b = {sums,   wide,
                    row,    TK_MIN(j->group, m->rows - row),
                    column, TK_MIN(wide, m->w->k - column)};
        for (size_t first = 0; first < m->w->n; first += BLOCK_K) {
            back_block(j, &b, first, packed);
        }
        finish(j, &b);
    }
}

tinkc_code eng_mul_back_run(eng_pool *pool, const eng_mul *m, tk_err *err)
{
    job j = {.m = m, .kern = eng_kern_get()};
    if (m->rows == 0) {
        return TINKC_OK;
    }
    /* Each group packs again: cut the rows only when panels alone leave threads idle. */
    size_t pairs = (m->w->k + PAIR * ENG_LANES - 1) / (PAIR * ENG_LANES);
    size_t want = pairs >= 2 * (size_t)eng_pool_size(pool) ? 1 : eng_pool_size(pool);
    size_t share = pairs / (UNITS_EACH * eng_pool_size(pool));
    j.block = PAIR * TK_MIN((size_t)BACK_PAIRS, TK_MAX(share, (size_t)1));
    j.wide_groups = (pairs * PAIR + j.block - 1) / j.block;
    j.group = ENG_ROUND_UP((m->rows + want - 1) / want, j.kern->rows);
    j.row_groups = (m->rows + j.group - 1) / j.group;
    size_t reals = j.block * (BLOCK_K + j.group) * ENG_LANES + j.kern->rows * ROW;
    tinkc_code code = eng_pool_reserve(pool, reals * sizeof(eng_real), err);
    if (code != TINKC_OK) {
        return code;
    }
    eng_pool_run_work(pool, j.wide_groups * j.row_groups, m->rows * m->w->n * m->w->k / 4,
                      back_units, &j);
    return TINKC_OK;
}

typedef struct outer_job {
    const eng_outer *o;
    const eng_kern *kern;
} outer_job;

/* Copies between c and a tile of [rows][stride]; `back`: into c. */
static void copy_c(const eng_outer *o, const region *b, eng_real *tile, bool back)
{
    for (size_t r = 0; r < b->rows; r++) {
        for (size_t l = 0; l < b->width; l++) {
            eng_real *c = &o->c[(b->row + r) * o->c_a + (b->column + l) * o->c_b];
            eng_real *t = &tile[r * b->stride + l];
            *(back ? c : t) = *(back ? t : c);
        }
    }
}

static void outer_panels(void *user, size_t begin, size_t end, void *scratch)
{
    enum { STRIDE = PAIR * ENG_LANES };
    const outer_job *j = user;
    const eng_outer *o = j->o;
    eng_real *b = scratch;
    for (size_t unit = begin; unit < end; unit++) {
        region at = {.stride = STRIDE, .column = unit * STRIDE};
        at.width = TK_MIN((size_t)STRIDE, o->nb - at.column);
        for (size_t row = 0; row < o->rows; row++) {
            eng_real *to = b + row * STRIDE;
            memset(to + at.width, 0, (STRIDE - at.width) * sizeof(*b));
            memcpy(to, o->b + row * o->ldb + at.column, at.width * sizeof(*b));
        }
        for (; at.row < o->na; at.row += at.rows) {
            eng_real c[ENG_ROWS * STRIDE] = {0};
            at.rows = eng_tile_rows(j->kern, o->na - at.row);
            eng_tile t = {.k = o->rows,
                          .rows = at.rows,
                          .panels = (at.width + ENG_LANES - 1) / ENG_LANES,
                          .a = o->a + at.row,
                          .a_row = 1,
                          .a_k = o->lda,
                          .b = b,
                          .b_k = STRIDE,
                          .b_panel = ENG_LANES,
                          .c = c,
                          .c_row = STRIDE,
                          .add = true};
            copy_c(o, &at, c, false);
            j->kern->tile(&t);
            copy_c(o, &at, c, true);
        }
    }
}

tinkc_code eng_outer_run(eng_pool *pool, const eng_outer *o, tk_err *err)
{
    outer_job j = {.o = o, .kern = eng_kern_get()};
    size_t stride = (size_t)PAIR * ENG_LANES;
    tinkc_code code = eng_pool_reserve(pool, o->rows * stride * sizeof(eng_real), err);
    if (code != TINKC_OK) {
        return code;
    }
    eng_pool_run_work(pool, (o->nb + stride - 1) / stride, o->rows * o->na * o->nb / 4,
                      outer_panels, &j);
    return TINKC_OK;
}
