/* Series of any range: rows of the level that has a few more than are asked for, and at
 * both ends those of finer levels, so that every value in the range counts once. Where the
 * finer ones were deleted (srv_rec_write.c) coarser ones stand in. */
#include <math.h>
#include <string.h>

#include "console/con_fit.h"
#include "server/record/srv_rec_read_int.h"

typedef struct walk {
    sqlite3 *db;
    int64_t run;
    int64_t from, to; /* steps */
    int64_t level;    /* the coarsest that is wanted */
    int64_t cursor;   /* the next step */
    tk_arena *arena;
    const con_series_query *query;
    int number[CON_NAMES_MAX]; /* of each name; -1 = unknown */
    con_point *points[CON_NAMES_MAX];
    size_t n[CON_NAMES_MAX], cap[CON_NAMES_MAX];
} walk;

/* ---- points ---- */

static bool add_point(walk *w, size_t i, const con_point *point)
{
    if (w->n[i] == w->cap[i]) {
        size_t cap = w->cap[i] > 0 ? 2 * w->cap[i] : 256;
        con_point *grown = tk_arena_array(w->arena, cap, sizeof(*grown));
        if (grown == NULL) {
            return false;
        }
        if (w->n[i] > 0) {
            memcpy(grown, w->points[i], w->n[i] * sizeof(*grown));
        }
        w->points[i] = grown;
        w->cap[i] = cap;
    }
    w->points[i][w->n[i]++] = *point;
    return true;
}

/* Adds the current row (first, step, time_ms, tokens, data) of a level. */
static bool add_row(walk *w, srv_sql *sql, int64_t level)
{
    tk_str bytes = srv_sql_get_blob(sql, 4);
    srv_rec_value value;
    unsigned metric = 0;
    while (srv_rec_row_next(&bytes, level, &metric, &value)) {
        const con_point point = {.step = srv_sql_get_i64(sql, 1),
                                 .time_ms = srv_sql_get_i64(sql, 2),
                                 .tokens = srv_sql_get_i64(sql, 3),
                                 .n = value.n,
                                 .min = value.min,
                                 .max = value.max,
                                 .mean = value.mean};
        for (size_t i = 0; i < w->query->n_names; i++) {
            if (w->number[i] == (int)metric && !add_point(w, i, &point)) {
                return false;
            }
        }
    }
    return true;
}

/* ---- the walk ---- */

/* Finds where the next row of a level begins; INT64_MAX = nowhere. *step is its end. */
static tinkc_code next_of(const walk *w, int64_t level, int64_t *first, int64_t *step,
                          tk_err *err)
{
    srv_sql sql;
    *first = *step = INT64_MAX;
    srv_sql_begin(&sql, w->db,
                  "SELECT first, step FROM points WHERE run = ? AND level = ? AND"
                  " first >= ? ORDER BY first LIMIT 1");
    srv_sql_i64(&sql, w->run);
    srv_sql_i64(&sql, level);
    srv_sql_i64(&sql, w->cursor);
    if (srv_sql_row(&sql)) {
        *first = srv_sql_get_i64(&sql, 0);
        *step = srv_sql_get_i64(&sql, 1);
    }
    return srv_sql_done(&sql, err);
}

/* Adds rows of a level from the cursor on that begin before `stop` and end in the range,
 * at most `most`; with `any` the first one may end outside and begin before. */
static tinkc_code take_rows(walk *w, int64_t level, int64_t stop, size_t most, bool any,
                            size_t *n, tk_err *err)
{
    bool ok = true;
    srv_sql sql;
    *n = 0;
    srv_sql_begin(
        &sql, w->db,
        any ? "SELECT first, step, time_ms, tokens, data FROM points WHERE run ="
              " ?1 AND level = ?2 AND first >= coalesce((SELECT max(first) FROM"
              " points WHERE run = ?1 AND level = ?2 AND first <= ?3), 0) AND"
              " step >= ?3 ORDER BY first"
            : "SELECT first, step, time_ms, tokens, data FROM points WHERE run ="
              " ?1 AND level = ?2 AND first >= ?3 ORDER BY first");
    srv_sql_i64(&sql, w->run);
    srv_sql_i64(&sql, level);
    srv_sql_i64(&sql, w->cursor);
    while (ok && *n < most && srv_sql_row(&sql)) {
        int64_t first = srv_sql_get_i64(&sql, 0), step = srv_sql_get_i64(&sql, 1);
        if (first >= stop || (step > w->to && !any)) {
            break;
        }
        ok = add_row(w, &sql, level);
        w->cursor = step < INT64_MAX ? step + 1 : step;
        (*n)++;
    }
    srv_sql_stop(&sql);
    tinkc_code code = srv_sql_done(&sql, err);
    return ok ? code : tk_err_set(err, TINKC_E_RATE_LIMIT, "out of memory");
}

typedef struct heads { /* of all levels */
    int64_t first[SRV_REC_LEVELS], step[SRV_REC_LEVELS];
    int64_t wanted; /* the smallest first of the levels that are wanted */
} heads;

static tinkc_code read_heads(heads *out, const walk *w, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    out->wanted = INT64_MAX;
    for (int64_t k = 0; code == TINKC_OK && k < SRV_REC_LEVELS; k++) {
        code = next_of(w, k, &out->first[k], &out->step[k], err);
        if (k <= w->level) {
            out->wanted = TK_MIN(out->wanted, out->first[k]);
        }
    }
    return code;
}

/* Where the levels that are wanted have nothing, takes one row of a coarser one, or of one
 * that begins before the cursor. *n = 0: there is none. */
static tinkc_code take_stand_in(walk *w, const heads *at, size_t *n, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    int64_t stop = at->wanted < INT64_MAX ? at->wanted : w->to + 1;
    *n = 0;
    for (int64_t k = 1; code == TINKC_OK && *n == 0 && k < SRV_REC_LEVELS; k++) {
        code = take_rows(w, k, TK_MIN(stop, w->to + 1), 1, true, n, err);
    }
    return code;
}

/* Takes rows of the coarsest wanted level that has one at the place of the next one. */
static tinkc_code take_next(walk *w, const heads *at, size_t *n, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    *n = 0;
    for (int64_t k = w->level; code == TINKC_OK && *n == 0 && k >= 0; k--) {
        int64_t stop = INT64_MAX;
        if (at->first[k] != at->wanted || at->step[k] > w->to) {
            continue;
        }
        for (int64_t above = k + 1; above <= w->level; above++) {
            /* from where on a coarser one can go on */
            if (at->first[above] > at->wanted && at->step[above] <= w->to) {
                stop = TK_MIN(stop, at->first[above]);
            }
        }
        code = take_rows(w, k, stop, SIZE_MAX, false, n, err);
    }
    return code;
}

static tinkc_code run_walk(walk *w, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    w->cursor = w->from;
    while (code == TINKC_OK && w->cursor <= w->to) {
        size_t n = 0;
        heads at;
        code = read_heads(&at, w, err);
        if (code == TINKC_OK && at.wanted > w->cursor) {
            code = take_stand_in(w, &at, &n, err);
        }
        if (code == TINKC_OK && n == 0 && at.wanted > w->to) {
            break;
        }
        if (code == TINKC_OK && n == 0) {
            w->cursor = at.wanted;
            code = take_next(w, &at, &n, err);
            if (code == TINKC_OK && n == 0) { /* finer ones were deleted at the end */
                code = take_rows(w, w->level, w->to + 1, 1, true, &n, err);
                w->cursor = w->to + 1;
            }
        }
    }
    return code;
}

/* ---- the range ---- */

/* The first step that is there, and the last one of the run. */
static tinkc_code read_span(const walk *w, int64_t span[2], tk_err *err)
{
    walk from_the_beginning = *w;
    heads at;
    srv_sql sql;
    from_the_beginning.cursor = 0;
    from_the_beginning.level = SRV_REC_LEVELS - 1;
    tinkc_code code = read_heads(&at, &from_the_beginning, err);
    if (code != TINKC_OK) {
        return code;
    }
    span[0] = at.wanted < INT64_MAX ? at.wanted : 1;
    span[1] = 0;
    srv_sql_begin(&sql, w->db, "SELECT step FROM runs WHERE row = ?");
    srv_sql_i64(&sql, w->run);
    if (srv_sql_row(&sql)) {
        span[1] = srv_sql_get_i64(&sql, 0);
    }
    return srv_sql_done(&sql, err);
}

/* Reads where the first row of a level ends that ends at `step` or after it, and its time or
 * tokens; both stay when there is none. */
static tinkc_code read_end(const walk *w, int64_t level, int64_t step, int64_t *end,
                           int64_t *value, tk_err *err)
{
    srv_sql sql;
    srv_sql_begin(&sql, w->db,
                  w->query->by == CON_BY_TIME
                      ? "SELECT step, time_ms FROM points WHERE run = ?1 AND level = ?2"
                        " AND first >= coalesce((SELECT max(first) FROM points WHERE run"
                        " = ?1 AND level = ?2 AND first <= ?3), 0) AND step >= ?3"
                        " ORDER BY first LIMIT 1"
                      : "SELECT step, tokens FROM points WHERE run = ?1 AND level = ?2"
                        " AND first >= coalesce((SELECT max(first) FROM points WHERE run"
                        " = ?1 AND level = ?2 AND first <= ?3), 0) AND step >= ?3"
                        " ORDER BY first LIMIT 1");
    srv_sql_i64(&sql, w->run);
    srv_sql_i64(&sql, level);
    srv_sql_i64(&sql, step);
    if (srv_sql_row(&sql) && srv_sql_get_i64(&sql, 0) < *end) {
        *end = srv_sql_get_i64(&sql, 0);
        *value = srv_sql_get_i64(&sql, 1);
    }
    return srv_sql_done(&sql, err);
}

/* Time or tokens of the first step from `step` on of which they are known: of the row that
 * ends first, of any level. Infinite after the last one. */
static tinkc_code value_at(const walk *w, int64_t step, double *out, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    int64_t end = INT64_MAX, value = 0;
    for (int64_t k = 0; code == TINKC_OK && end > step && k < SRV_REC_LEVELS; k++) {
        code = read_end(w, k, step, &end, &value, err);
    }
    *out = end < INT64_MAX ? (double)value : (double)INFINITY;
    return code;
}

/* Finds the first step whose value is at least `bound`, or above it. */
static tinkc_code find_step(const walk *w, double bound, bool above,
                            const int64_t span[2], int64_t *out, tk_err *err)
{
    int64_t low = span[0], high = span[1] + 1;
    tinkc_code code = TINKC_OK;
    while (code == TINKC_OK && low < high) {
        int64_t middle = low + (high - low) / 2;
        double v = 0.0;
        code = value_at(w, middle, &v, err);
        if (above ? v > bound : v >= bound) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    *out = low;
    return code;
}

static int64_t clamp(double v, const int64_t span[2])
{
    return v <= (double)span[0] ? span[0] : v >= (double)span[1] ? span[1] : (int64_t)v;
}

static tinkc_code set_range(walk *w, const int64_t span[2], tk_err *err)
{
    const con_series_query *q = w->query;
    tinkc_code code = TINKC_OK;
    if (q->by == CON_BY_STEP) {
        w->from = q->from > (double)span[1] ? span[1] + 1 : clamp(ceil(q->from), span);
        w->to = q->to < (double)span[0] ? span[0] - 1 : clamp(floor(q->to), span);
    } else {
        code = find_step(w, q->from, false, span, &w->from, err);
        if (code == TINKC_OK) {
            code = find_step(w, q->to, true, span, &w->to, err);
            w->to--;
        }
    }
    int64_t n = w->to - w->from + 1;
    while (w->level + 1 < SRV_REC_LEVELS && n / SRV_REC_FAN >= (int64_t)q->points) {
        w->level++;
        n /= SRV_REC_FAN;
    }
    return code;
}

static tinkc_code read_numbers(walk *w, tk_err *err)
{
    srv_sql sql;
    for (size_t i = 0; i < w->query->n_names; i++) {
        w->number[i] = -1;
    }
    srv_sql_begin(&sql, w->db, "SELECT number, name FROM metrics WHERE run = ?");
    srv_sql_i64(&sql, w->run);
    while (srv_sql_row(&sql)) {
        tk_str name = srv_sql_get_text(&sql, w->arena, 1);
        for (size_t i = 0; i < w->query->n_names; i++) {
            if (tk_str_eq(name, w->query->names[i])) {
                w->number[i] = (int)srv_sql_get_i64(&sql, 0);
            }
        }
    }
    return srv_sql_done(&sql, err);
}

/* ---- the answer ---- */

static void fill(con_series *out, walk *w, size_t i)
{
    *out = (con_series){.name = w->query->names[i]};
    for (size_t k = 0; k < w->n[i]; k++) {
        out->total += w->points[i][k].n;
    }
    out->p = w->points[i];
    out->n = w->n[i] > 0 ? con_fit_points(w->points[i], w->n[i], w->query->points) : 0;
    out->decimated = out->total > (int64_t)out->n;
}

tinkc_code srv_rec_series_of(con_series_list *out, sqlite3 *db, tk_arena *arena,
                             int64_t row, const con_series_query *query, tk_err *err)
{
    int64_t span[2];
    walk w = {.db = db, .run = row, .arena = arena, .query = query};
    con_series *all = tk_arena_array(arena, query->n_names, sizeof(*all));
    if (all == NULL) {
        return tk_err_set(err, TINKC_E_RATE_LIMIT, "out of memory");
    }
    tinkc_code code = read_span(&w, span, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = read_numbers(&w, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = set_range(&w, span, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = run_walk(&w, err);
    for (size_t i = 0; code == TINKC_OK && i < query->n_names; i++) {
        fill(&all[i], &w, i);
    }
    *out = (con_series_list){span[1], all, query->n_names};
out:
    return code;
}
