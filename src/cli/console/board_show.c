/* The functions of con_data over the runs of the board.
 * Needs: server */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/console/board_int.h"
#include "console/con_fit.h"

#define ACTIVE_MS 60000

con_state board_state(const board_run *run)
{
    int64_t now = tk_clock_wall_us(NULL) / 1000;
    return now - run->metrics.mtime_ms < ACTIVE_MS ? CON_TRAINING : CON_ENDED;
}

/* ---- runs ---- */

static bool copy(tk_arena *arena, tk_str *out, const char *text)
{
    return tk_arena_dup(arena, out, text, strlen(text));
}

/* What stands for the loss of the run in a list. */
static const board_series *loss_of(const board_run *run)
{
    static const char *const names[] = {"loss", "reward/mean"};
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        const board_series *found = board_run_find(run, tk_str_of(names[i]));
        if (found != NULL && found->n > 0) {
            return found;
        }
    }
    return NULL;
}

/* At most CON_SPARK_MAX means of neighbours. */
static bool put_spark(con_run *out, const board_series *s, tk_arena *arena)
{
    size_t n = TK_MIN(s->n, (size_t)CON_SPARK_MAX);
    double *means = tk_arena_array(arena, n, sizeof(*means));
    if (means == NULL) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        size_t from = i * s->n / n, to = (i + 1) * s->n / n;
        means[i] = 0;
        for (size_t k = from; k < to; k++) {
            means[i] += s->p[k].value / (double)(to - from);
        }
    }
    out->spark = means;
    out->n_spark = n;
    return true;
}

static tinkc_code put_run(con_run *out, const board_run *run, tk_arena *arena,
                          tk_err *err)
{
    const board_series *loss = loss_of(run);
    *out = (con_run){.state = board_state(run),
                     .created_ms = run->began_ms,
                     .updated_ms = run->metrics.mtime_ms,
                     .step = run->step,
                     .tokens = run->tokens,
                     .rank = CON_UNKNOWN,
                     .loss = loss != NULL ? loss->p[loss->n - 1].value : NAN};
    bool ok = copy(arena, &out->id, run->id) && copy(arena, &out->name, run->name) &&
              (loss == NULL || put_spark(out, loss, arena));
    return ok ? TINKC_OK : tk_err_nomem(err);
}

static unsigned char lower(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

bool board_contains(tk_str text, tk_str part)
{
    for (size_t i = 0; i + part.n <= text.n; i++) {
        size_t k = 0;
        while (k < part.n && lower(text.p[i + k]) == lower(part.p[k])) {
            k++;
        }
        if (k == part.n) {
            return true;
        }
    }
    return false;
}

/* Puts the run where its activity belongs among those that were found. */
static void insert(const board_run **found, size_t n, const board_run *run)
{
    size_t i = n;
    for (; i > 0 && found[i - 1]->metrics.mtime_ms < run->metrics.mtime_ms; i--) {
        found[i] = found[i - 1];
    }
    found[i] = run;
}

tinkc_code board_show_runs(void *user, con_runs *out, tk_arena *arena,
                           const con_runs_query *query, tk_err *err)
{
    board *b = user;
    tinkc_code code = TINKC_OK;
    size_t n = 0;
    tk_mutex_lock(&b->lock);
    const board_run **found = tk_arena_array(arena, b->n_runs + 1, sizeof(*found));
    con_run *rows = tk_arena_array(arena, b->n_runs + 1, sizeof(*rows));
    if (found == NULL || rows == NULL) {
        code = tk_err_nomem(err);
        goto out;
    }
    for (size_t i = 0; i < b->n_runs; i++) {
        if (board_contains(tk_str_of(b->runs[i]->id), query->search)) {
            insert(found, n++, b->runs[i]);
        }
    }
    *out = (con_runs){.p = rows, .total = (int64_t)n};
    for (size_t i = 0; i < n && code == TINKC_OK; i++) {
        if ((int64_t)i >= query->offset && (int64_t)out->n < query->limit) {
            code = put_run(&rows[out->n++], found[i], arena, err);
        }
    }
out:
    tk_mutex_unlock(&b->lock);
    return code;
}

static board_run *find_run(const board *b, tk_str id)
{
    for (size_t i = 0; i < b->n_runs; i++) {
        if (tk_str_is(id, b->runs[i]->id)) {
            return b->runs[i];
        }
    }
    return NULL;
}

static tinkc_code put_details(con_run_details *out, const board_run *run, tk_arena *arena,
                              tk_err *err)
{
    con_metric *metrics = tk_arena_array(arena, run->n_series + 1, sizeof(*metrics));
    if (metrics == NULL) {
        return tk_err_nomem(err);
    }
    *out = (con_run_details){.metrics = metrics};
    for (size_t i = 0; i < run->n_series; i++) {
        const board_series *s = &run->series[i];
        if (s->n == 0) {
            continue;
        }
        con_metric *metric = &metrics[out->n_metrics++];
        *metric = (con_metric){.n = (int64_t)s->n,
                               .first_step = s->p[0].step,
                               .last_step = s->p[s->n - 1].step,
                               .last = s->p[s->n - 1].value,
                               .min = s->min,
                               .max = s->max};
        if (!copy(arena, &metric->name, s->name)) {
            return tk_err_nomem(err);
        }
    }
    return put_run(&out->run, run, arena, err);
}

tinkc_code board_show_run(void *user, con_run_details *out, tk_arena *arena, tk_str id,
                          tk_err *err)
{
    board *b = user;
    tk_mutex_lock(&b->lock);
    const board_run *run = find_run(b, id);
    tinkc_code code = run == NULL
                          ? tk_err_set(err, TINKC_E_MISSING, "there is no such run")
                          : put_details(out, run, arena, err);
    tk_mutex_unlock(&b->lock);
    return code;
}

/* ---- series ---- */

static double unit_of(const board_value *v, con_by by)
{
    return (double)(by == CON_BY_STEP     ? v->step
                    : by == CON_BY_TOKENS ? v->tokens
                                          : v->time_ms);
}

/* The values of the range, at most `points` of them. */
static bool put_series(con_series *out, const board_series *s,
                       const con_series_query *query, tk_arena *arena)
{
    size_t n = 0;
    con_point *points = s->n > 0 ? tk_arena_array(arena, s->n, sizeof(*points)) : NULL;
    if (points == NULL) {
        return s->n == 0;
    }
    for (size_t i = 0; i < s->n; i++) {
        const board_value *v = &s->p[i];
        double at = unit_of(v, query->by);
        if (at >= query->from && at <= query->to) {
            points[n++] = (con_point){.step = v->step,
                                      .time_ms = v->time_ms,
                                      .tokens = v->tokens,
                                      .n = 1,
                                      .min = v->value,
                                      .max = v->value,
                                      .mean = v->value};
        }
    }
    out->total = (int64_t)n;
    out->n = con_fit_points(points, n, query->points);
    out->decimated = out->n < n;
    out->p = points;
    return true;
}

tinkc_code board_show_series(void *user, con_series_list *out, tk_arena *arena,
                             const con_series_query *query, tk_err *err)
{
    board *b = user;
    tinkc_code code = TINKC_OK;
    tk_mutex_lock(&b->lock);
    const board_run *run = find_run(b, query->run);
    con_series *all = tk_arena_array(arena, query->n_names + 1, sizeof(*all));
    if (run == NULL || all == NULL) {
        code = run == NULL ? tk_err_set(err, TINKC_E_MISSING, "there is no such run")
                           : tk_err_nomem(err);
        goto out;
    }
    *out = (con_series_list){.last_step = run->step, .p = all, .n = query->n_names};
    for (size_t i = 0; i < query->n_names; i++) {
        const board_series *s = board_run_find(run, query->names[i]);
        all[i] = (con_series){.name = query->names[i]};
        if (s != NULL && !put_series(&all[i], s, query, arena)) {
            code = tk_err_nomem(err);
            goto out;
        }
    }
out:
    tk_mutex_unlock(&b->lock);
    return code;
}

/* ---- the program ---- */

tinkc_code board_show_server(void *user, con_server *out, tk_arena *arena, tk_err *err)
{
    board *b = user;
    bool ok = true;
    tk_mutex_lock(&b->lock);
    con_error *errors = tk_arena_array(arena, b->n_troubles + 1, sizeof(*errors));
    ok = errors != NULL;
    for (size_t i = 0; i < b->n_troubles && ok; i++) {
        errors[i].time_ms = b->troubles[i].time_ms;
        ok = copy(arena, &errors[i].text, b->troubles[i].text);
    }
    *out = (con_server){.started_ms = b->started_ms,
                        .errors = errors,
                        .n_errors = ok ? b->n_troubles : 0};
    tk_mutex_unlock(&b->lock);
    return ok ? TINKC_OK : tk_err_nomem(err);
}
