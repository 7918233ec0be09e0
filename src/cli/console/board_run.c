/* A run from its files. Times are counted: the file has the seconds of each step, and the
 * last one ended when it was written.
 * Needs: server */
#include "cli/console/board_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"

/* ---- life ---- */

/* What people call it: "demo" of "runs/demo.rl/metrics.jsonl" and of "runs/demo.jsonl". */
static char *name_of(const char *path)
{
    tk_str name = tk_str_of(path);
    const char *slash = strrchr(path, '/');
    if (slash != NULL && strcmp(slash, "/metrics.jsonl") == 0) {
        name.n = (size_t)(slash - path);
    }
    for (size_t i = name.n; i > 0; i--) {
        if (name.p[i - 1] == '/' && i < name.n) {
            name = (tk_str){name.p + i, name.n - i};
            break;
        }
    }
    static const char *const ends[] = {".metrics.jsonl", ".jsonl", ".rl"};
    for (size_t i = 0; i < TK_ARRAY_LEN(ends); i++) {
        size_t n = strlen(ends[i]);
        if (name.n > n && memcmp(name.p + name.n - n, ends[i], n) == 0) {
            name.n -= n;
            break;
        }
    }
    return tk_strndup(name.p, name.n);
}

board_run *board_run_new(const char *metrics, const char *rollouts)
{
    board_run *run = tk_zalloc(sizeof(*run));
    if (run == NULL) {
        return NULL;
    }
    run->id = tk_strdup(metrics);
    run->name = name_of(metrics);
    run->metrics_path = tk_strdup(metrics);
    run->rollouts_path = rollouts != NULL ? tk_strdup(rollouts) : NULL;
    run->series = tk_zalloc(BOARD_METRICS_MAX * sizeof(*run->series));
    if (run->id == NULL || run->name == NULL || run->metrics_path == NULL ||
        run->series == NULL || (rollouts != NULL && run->rollouts_path == NULL)) {
        board_run_free(run);
        return NULL;
    }
    for (char *at = strchr(run->id, '/'); at != NULL; at = strchr(at, '/')) {
        *at = ':'; /* an id is one part of a path of the console's routes */
    }
    run->metrics.path = run->metrics_path;
    run->rollouts.path = run->rollouts_path;
    return run;
}

/* Forgets what the metrics said. */
static void clear(board_run *run)
{
    for (size_t i = 0; i < run->n_series; i++) {
        tk_free(run->series[i].p);
        run->series[i] = (board_series){.n = 0};
    }
    run->n_series = run->n_values = 0;
    run->seconds = 0;
    run->tokens = run->step = run->began_ms = 0;
    run->is_full = false;
}

void board_run_free(board_run *run)
{
    if (run == NULL) {
        return;
    }
    if (run->series != NULL) {
        clear(run);
    }
    tk_free(run->series);
    tk_free(run->episodes);
    tk_free(run->id);
    tk_free(run->name);
    tk_free(run->metrics_path);
    tk_free(run->rollouts_path);
    tk_free(run);
}

/* ---- metrics ---- */

/* Returns the index, n_series when there is none. */
static size_t index_of(const board_run *run, tk_str name)
{
    size_t i = 0;
    while (i < run->n_series && !tk_str_is(name, run->series[i].name)) {
        i++;
    }
    return i;
}

const board_series *board_run_find(const board_run *run, tk_str name)
{
    size_t i = index_of(run, name);
    return i < run->n_series ? &run->series[i] : NULL;
}

static board_series *series_for(board_run *run, tk_str name)
{
    size_t i = index_of(run, name);
    if (i < run->n_series) {
        return &run->series[i];
    }
    if (i == BOARD_METRICS_MAX || name.n == 0 || name.n >= BOARD_NAME_BYTES ||
        memchr(name.p, '\0', name.n) != NULL) {
        return NULL;
    }
    board_series *series = &run->series[run->n_series++];
    *series = (board_series){.min = INFINITY, .max = -INFINITY};
    memcpy(series->name, name.p, name.n);
    return series;
}

static bool add_value(board_run *run, board_series *series, const board_value *value)
{
    if (series->n == series->capacity) {
        size_t capacity = series->capacity > 0 ? series->capacity * 2 : 64;
        board_value *p = tk_realloc(series->p, capacity * sizeof(*p));
        if (p == NULL) {
            return false;
        }
        series->p = p;
        series->capacity = capacity;
    }
    series->p[series->n++] = *value;
    series->min = fmin(series->min, value->value);
    series->max = fmax(series->max, value->value);
    run->n_values++;
    return true;
}

static double number(const tk_json *line, const char *key)
{
    double value = 0;
    const tk_json *found = tk_json_get(line, key);
    return found != NULL && tk_json_to_double(found, &value) && isfinite(value) ? value
                                                                                : 0;
}

/* The time of a step, while the beginning is not known: since the first one. */
static int64_t time_of(const board_run *run)
{
    return run->began_ms + (int64_t)fmin(run->seconds * 1000, 4e15);
}

typedef struct reading {
    board_run *run;
    const board_news *news;
} reading;

static bool take_metrics(void *user, tk_str line, uint64_t offset)
{
    reading *r = user;
    board_run *run = r->run;
    const tk_json *json = NULL;
    int64_t step = 0;
    tk_arena arena;
    (void)offset;
    tk_arena_init(&arena, 0);
    if (tk_json_parse(&json, &arena, line.p, line.n, NULL, NULL) != TINKC_OK ||
        json->type != TK_JSON_OBJECT || tk_json_get(json, "step") == NULL ||
        !tk_json_to_i64(tk_json_get(json, "step"), &step) || step < 0) {
        tk_arena_dispose(&arena);
        return true;
    }
    run->seconds += fmax(0, number(json, "seconds"));
    run->tokens += (int64_t)fmin(fmax(0, number(json, "tokens")), 1e15);
    run->step = TK_MAX(run->step, step);
    for (size_t i = 0; i < json->as.object.n; i++) {
        const tk_json_member *m = &json->as.object.members[i];
        board_value v = {step, time_of(run), run->tokens, 0};
        if (tk_str_is(m->key, "step") || !tk_json_to_double(&m->value, &v.value)) {
            continue;
        }
        board_series *series = series_for(run, m->key);
        run->is_full = run->is_full || run->n_values == BOARD_VALUES_MAX;
        if (series != NULL && !run->is_full && !add_value(run, series, &v)) {
            run->is_full = true;
        }
    }
    if (r->news->step != NULL) {
        r->news->step(r->news->user, run, json);
    }
    tk_arena_dispose(&arena);
    return true;
}

/* Moves all times, which began at 0, so that the last one is that of the file. */
static void set_times(board_run *run)
{
    run->began_ms = run->metrics.mtime_ms - time_of(run);
    for (size_t i = 0; i < run->n_series; i++) {
        for (size_t k = 0; k < run->series[i].n; k++) {
            run->series[i].p[k].time_ms += run->began_ms;
        }
    }
}

/* ---- rollouts ---- */

static bool take_rollout(void *user, tk_str line, uint64_t offset)
{
    reading *r = user;
    board_run *run = r->run;
    const tk_json *json = NULL;
    tk_arena arena;
    board_episode e = {.offset = offset, .bytes = (uint32_t)line.n, .reward = NAN};
    tk_arena_init(&arena, 0);
    bool is_good = tk_json_parse(&json, &arena, line.p, line.n, NULL, NULL) == TINKC_OK &&
                   json->type == TK_JSON_OBJECT && run->n_episodes < BOARD_EPISODES_MAX;
    if (is_good) {
        const tk_json *reward = tk_json_get(json, "reward");
        const tk_json *turns = tk_json_get(json, "turns");
        e.step = (int64_t)fmin(number(json, "step"), 1e15);
        e.turns = turns != NULL ? (int32_t)tk_json_len(turns) : 0;
        if (reward != NULL) {
            (void)!tk_json_to_double(reward, &e.reward);
        }
    }
    tk_arena_dispose(&arena);
    if (!is_good) {
        return true;
    }
    if (run->n_episodes == run->episode_capacity) {
        size_t capacity = run->episode_capacity > 0 ? run->episode_capacity * 2 : 64;
        board_episode *p = tk_realloc(run->episodes, capacity * sizeof(*p));
        if (p == NULL) {
            return false;
        }
        run->episodes = p;
        run->episode_capacity = capacity;
    }
    run->episodes[run->n_episodes++] = e;
    if (r->news->episode != NULL) {
        r->news->episode(r->news->user, run, run->n_episodes - 1);
    }
    return true;
}

static tinkc_code read_metrics(board_run *run, const board_news *news, tk_err *err)
{
    static const board_news none = {NULL, NULL, NULL};
    bool restarted = false, is_first = run->metrics.mtime_ms == 0;
    reading r = {run, is_first ? &none : news};
    tinkc_code code = board_lines_read(&run->metrics, &restarted, take_metrics, &r, err);
    if (code == TINKC_OK && restarted) {
        clear(run);
        is_first = true;
        r.news = &none;
        code = board_lines_read(&run->metrics, &restarted, take_metrics, &r, err);
    }
    if (code == TINKC_OK && is_first) {
        set_times(run);
    }
    return code;
}

static tinkc_code read_rollouts(board_run *run, const board_news *news, tk_err *err)
{
    static const board_news none = {NULL, NULL, NULL};
    bool restarted = false;
    reading r = {run, run->rollouts.mtime_ms == 0 ? &none : news};
    tk_err missing = TK_ERR_INIT;
    tinkc_code code =
        board_lines_read(&run->rollouts, &restarted, take_rollout, &r, &missing);
    if (code == TINKC_OK && restarted) {
        run->n_episodes = 0;
        code = board_lines_read(&run->rollouts, &restarted, take_rollout, &r, &missing);
    }
    return code == TINKC_OK || code == TINKC_E_MISSING
               ? TINKC_OK
               : tk_err_set(err, code, "%s", missing.message);
}

tinkc_code board_run_read(board_run *run, const board_news *news, tk_err *err)
{
    tinkc_code code = read_metrics(run, news, err);
    return code == TINKC_OK && run->rollouts_path != NULL ? read_rollouts(run, news, err)
                                                          : code;
}
