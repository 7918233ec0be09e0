/* The set of runs, and the thread that looks at their files.
 * Needs: server */
#include "cli/console/board.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/console/board_int.h"

#define LOOK_NS    INT64_C(1000000000)
#define VALUES_MAX 64 /* of one event */

/* ---- finding runs ---- */

static void note_trouble(board *b, const char *text)
{
    if (b->n_troubles > 0 && strcmp(b->troubles[0].text, text) == 0) {
        return; /* the same as at the last look */
    }
    size_t keep = TK_MIN(b->n_troubles, (size_t)CON_ERRORS_MAX - 1);
    memmove(&b->troubles[1], &b->troubles[0], keep * sizeof(b->troubles[0]));
    b->troubles[0].time_ms = tk_clock_wall_us(NULL) / 1000;
    (void)snprintf(b->troubles[0].text, sizeof(b->troubles[0].text), "%s", text);
    b->n_troubles = keep + 1;
}

static bool is_known(const board *b, const char *metrics)
{
    for (size_t i = 0; i < b->n_runs; i++) {
        if (strcmp(b->runs[i]->metrics_path, metrics) == 0) {
            return true;
        }
    }
    return false;
}

static tinkc_code add_run(board *b, const char *metrics, const char *rollouts,
                          tk_err *err)
{
    if (is_known(b, metrics)) {
        return TINKC_OK;
    }
    if (b->n_runs == BOARD_RUNS_MAX) {
        note_trouble(b, "there are more than 1000 runs: the others are not shown");
        return TINKC_OK;
    }
    board_run *run = board_run_new(metrics, rollouts);
    if (run == NULL) {
        return tk_err_nomem(err);
    }
    b->runs[b->n_runs++] = run;
    return TINKC_OK;
}

static bool is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Adds the run of a directory. *found: there is one. */
static tinkc_code add_directory(board *b, bool *found, const char *dir, tk_err *err)
{
    char *metrics = tk_file_join(dir, "metrics.jsonl");
    char *rollouts = tk_file_join(dir, "rollouts.jsonl");
    tinkc_code code = TINKC_OK;
    *found = false;
    if (metrics == NULL || rollouts == NULL) {
        code = tk_err_nomem(err);
    } else if (is_file(metrics)) {
        *found = true;
        code = add_run(b, metrics, rollouts, err);
    }
    tk_free(metrics);
    tk_free(rollouts);
    return code;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

/* Adds the runs in a directory: its directories with metrics, and its files "*.jsonl" except
 * rollouts. */
static tinkc_code add_entries(board *b, const char *dir, tk_err *err)
{
    DIR *entries = opendir(dir);
    tinkc_code code = TINKC_OK;
    const struct dirent *entry;
    if (entries == NULL) {
        return TINKC_OK;
    }
    while (code == TINKC_OK && (entry = readdir(entries)) != NULL) {
        bool found = false;
        char *path = entry->d_name[0] != '.' ? tk_file_join(dir, entry->d_name) : NULL;
        if (path == NULL) {
            continue;
        }
        if (is_file(path)) {
            bool is_metrics =
                ends_with(path, ".jsonl") && !ends_with(path, "rollouts.jsonl");
            code = is_metrics ? add_run(b, path, NULL, err) : TINKC_OK;
        } else {
            code = add_directory(b, &found, path, err);
        }
        tk_free(path);
    }
    (void)closedir(entries);
    return code;
}

static tinkc_code find(board *b, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; i < b->n_paths && code == TINKC_OK; i++) {
        bool found = false;
        if (is_file(b->paths[i])) {
            code = add_run(b, b->paths[i], NULL, err);
            continue;
        }
        code = add_directory(b, &found, b->paths[i], err);
        if (code == TINKC_OK && !found) {
            code = add_entries(b, b->paths[i], err);
        }
    }
    return code;
}

/* ---- what is new ---- */

static void tell_step(void *user, const board_run *run, const tk_json *line)
{
    const board *b = user;
    con_value values[VALUES_MAX];
    int64_t step = 0;
    con_step event = {
        .run = tk_str_of(run->id), .tokens = run->tokens, .metrics = values};
    if (b->console == NULL || !tk_json_to_i64(tk_json_get(line, "step"), &step)) {
        return;
    }
    for (size_t i = 0; i < line->as.object.n && event.n_metrics < VALUES_MAX; i++) {
        const tk_json_member *m = &line->as.object.members[i];
        con_value *value = &values[event.n_metrics];
        if (!tk_str_is(m->key, "step") && tk_json_to_double(&m->value, &value->value)) {
            value->name = m->key;
            event.n_metrics++;
        }
    }
    event.step = step;
    event.time_ms = run->metrics.mtime_ms;
    con_note_step(b->console, &event);
}

static void tell_episode(void *user, const board_run *run, size_t index)
{
    board *b = user;
    char id[BOARD_ID_BYTES];
    for (size_t i = 0; i < b->n_runs && b->console != NULL; i++) {
        if (b->runs[i] == run) {
            board_episode_id(id, b, i, index);
            con_note_episode(b->console, tk_str_of(id));
        }
    }
}

/* Reads what all files have more than before. Called with the lock. */
static void look(board *b)
{
    tk_err err = TK_ERR_INIT;
    board_news news = {tell_step, tell_episode, b};
    if (find(b, &err) != TINKC_OK) {
        note_trouble(b, err.message);
    }
    for (size_t i = 0; i < b->n_runs; i++) {
        board_run *run = b->runs[i];
        bool was_full = run->is_full;
        size_t was = run->n_series;
        tk_err mine = TK_ERR_INIT;
        if (board_run_read(run, &news, &mine) != TINKC_OK) {
            note_trouble(b, mine.message);
        }
        if (run->is_full && !was_full) {
            note_trouble(b, "a run has more values than are shown");
        }
        con_state state = board_state(run); /* changes without a line, too */
        if (b->console != NULL && (run->n_series != was || state != run->told)) {
            run->told = state;
            con_note_run(b->console, tk_str_of(run->id), state);
        }
    }
}

static void run_thread(void *user)
{
    board *b = user;
    tk_mutex_lock(&b->lock);
    int64_t next = tk_clock_after(tk_clock_mono_ns(NULL), LOOK_NS);
    while (!b->is_stopping) {
        if (tk_cond_wait_until(&b->wake, &b->lock, next)) {
            continue;
        }
        look(b);
        next = tk_clock_after(tk_clock_mono_ns(NULL), LOOK_NS);
    }
    tk_mutex_unlock(&b->lock);
}

/* ---- life ---- */

tinkc_code board_new(board **out, const char *const *paths, size_t n, tk_err *err)
{
    board *b = tk_zalloc(sizeof(*b));
    if (b == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = tk_cond_init_with(&b->wake, &b->lock, err);
    if (code != TINKC_OK) {
        tk_free(b);
        return code;
    }
    b->paths = paths;
    b->n_paths = n;
    b->started_ms = tk_clock_wall_us(NULL) / 1000;
    b->runs = tk_zalloc(BOARD_RUNS_MAX * sizeof(board_run *));
    code = b->runs == NULL ? tk_err_nomem(err) : TINKC_OK;
    for (size_t i = 0; i < n && code == TINKC_OK; i++) {
        struct stat st;
        if (stat(paths[i], &st) != 0) {
            code = tk_err_set(err, TINKC_E_MISSING, "%s is not there", paths[i]);
        }
    }
    code = code == TINKC_OK ? find(b, err) : code;
    for (size_t i = 0; i < b->n_runs && code == TINKC_OK; i++) {
        board_news none = {NULL, NULL, NULL};
        code = board_run_read(b->runs[i], &none, err);
    }
    if (code != TINKC_OK) {
        board_free(b);
        return code;
    }
    *out = b;
    return TINKC_OK;
}

tinkc_code board_start(board *b, con *console, tk_err *err)
{
    tk_mutex_lock(&b->lock);
    b->console = console;
    tk_mutex_unlock(&b->lock);
    tinkc_code code = tk_thread_start(&b->thread, "tinkc-board", run_thread, b, err);
    b->has_thread = code == TINKC_OK;
    return code;
}

void board_stop(board *b)
{
    if (b == NULL || !b->has_thread) {
        return;
    }
    tk_mutex_lock(&b->lock);
    b->is_stopping = true;
    tk_cond_broadcast(&b->wake);
    tk_mutex_unlock(&b->lock);
    tk_thread_join(&b->thread);
    b->has_thread = false;
    b->console = NULL;
}

void board_free(board *b)
{
    if (b == NULL) {
        return;
    }
    board_stop(b);
    for (size_t i = 0; i < b->n_runs; i++) {
        board_run_free(b->runs[i]);
    }
    tk_free(b->runs);
    tk_cond_dispose(&b->wake);
    tk_mutex_dispose(&b->lock);
    tk_free(b);
}
