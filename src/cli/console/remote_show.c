/* What the service said last, as the page shows it. Everything is copied under the lock.
 * Needs: server */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/console/board.h"
#include "cli/console/remote_int.h"

#define ACTIVE_MS 60000

con_state remote_state(int64_t updated_ms)
{
    int64_t now = tk_clock_wall_us(NULL) / 1000;
    return updated_ms != CON_UNKNOWN && now - updated_ms < ACTIVE_MS ? CON_TRAINING
                                                                     : CON_IDLE;
}

static const remote_run *find_run(const remote *r, tk_str id)
{
    for (size_t i = 0; i < r->runs.n; i++) {
        if (tk_str_eq(r->runs.p[i].shown.id, id)) {
            return &r->runs.p[i];
        }
    }
    return NULL;
}

con_state remote_state_of(remote *r, tk_str run)
{
    const remote_run *found = find_run(r, run);
    return found != NULL ? remote_state(found->shown.updated_ms) : CON_IDLE;
}

/* ---- copies ---- */

static bool copy(tk_arena *arena, tk_str *text)
{
    return text->p == NULL || tk_arena_dup(arena, text, text->p, text->n);
}

static bool put_run(con_run *out, const remote *r, const remote_run *run, tk_arena *arena)
{
    *out = run->shown;
    out->state = remote_state(out->updated_ms);
    out->service = tk_str_of(r->url);
    return copy(arena, &out->id) && copy(arena, &out->name) && copy(arena, &out->model) &&
           copy(arena, &out->metadata) && copy(arena, &out->service);
}

static bool put_checkpoints(con_run_details *out, const con_checkpoint *from, size_t n,
                            tk_arena *arena)
{
    con_checkpoint *all = tk_arena_array(arena, n + 1, sizeof(*all));
    bool ok = all != NULL;
    for (size_t i = 0; i < n && ok; i++) {
        all[i] = from[i];
        ok = copy(arena, &all[i].path) && copy(arena, &all[i].id);
    }
    out->checkpoints = all;
    out->n_checkpoints = n;
    return ok;
}

/* ---- runs ---- */

static bool matches(const con_run *run, tk_str search)
{
    return board_contains(run->id, search) || board_contains(run->name, search) ||
           board_contains(run->model, search);
}

/* Puts the run where its activity belongs among those that were found. */
static void insert(const remote_run **found, size_t n, const remote_run *run)
{
    size_t i = n;
    for (; i > 0 && found[i - 1]->shown.updated_ms < run->shown.updated_ms; i--) {
        found[i] = found[i - 1];
    }
    found[i] = run;
}

tinkc_code remote_show_runs(remote *r, con_runs *out, tk_arena *arena, tk_str search,
                            size_t most, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    size_t n = 0;
    tk_mutex_lock(&r->lock);
    remote_touch(r);
    const remote_run **found = tk_arena_array(arena, r->runs.n + 1, sizeof(*found));
    con_run *rows = tk_arena_array(arena, r->runs.n + 1, sizeof(*rows));
    if (found == NULL || rows == NULL) {
        code = tk_err_nomem(err);
        goto out;
    }
    for (size_t i = 0; i < r->runs.n; i++) {
        if (matches(&r->runs.p[i].shown, search)) {
            insert(found, n++, &r->runs.p[i]);
        }
    }
    *out = (con_runs){.p = rows, .total = (int64_t)n};
    while (out->n < n && out->n < most && code == TINKC_OK) {
        code = put_run(&rows[out->n], r, found[out->n], arena) ? TINKC_OK
                                                               : tk_err_nomem(err);
        out->n++;
    }
out:
    tk_mutex_unlock(&r->lock);
    return code;
}

bool remote_has_run(remote *r, tk_str id)
{
    tk_mutex_lock(&r->lock);
    bool has = find_run(r, id) != NULL;
    tk_mutex_unlock(&r->lock);
    return has;
}

/* Wants all checkpoints of the run, when they were not asked for lately. */
static const remote_slot *look_at(remote *r, tk_str id)
{
    int64_t now = tk_clock_mono_ns(NULL);
    remote_slot *slot = remote_slot_of(r, id, now);
    if (slot != NULL) {
        slot->looked_ns = now;
        if (now >= slot->due_ns && !slot->is_wanted) {
            slot->is_wanted = true;
            tk_cond_broadcast(&r->wake);
        }
    }
    return slot;
}

tinkc_code remote_show_run(remote *r, con_run_details *out, tk_arena *arena, tk_str id,
                           tk_err *err)
{
    tinkc_code code = TINKC_OK;
    tk_mutex_lock(&r->lock);
    remote_touch(r);
    const remote_run *run = find_run(r, id);
    const remote_slot *slot = run != NULL ? look_at(r, id) : NULL;
    *out = (con_run_details){.actions = false};
    if (run == NULL) {
        code = tk_err_set(err, TINKC_E_MISSING, "there is no such run");
        goto out;
    }
    bool has_all = slot != NULL && slot->is_known;
    bool ok = put_run(&out->run, r, run, arena) &&
              put_checkpoints(out, has_all ? slot->points.p : run->last,
                              has_all ? slot->points.n : run->n_last, arena);
    code = ok ? TINKC_OK : tk_err_nomem(err);
out:
    tk_mutex_unlock(&r->lock);
    return code;
}

/* ---- the service ---- */

static bool put_sessions(con_server *out, const remote *r, tk_arena *arena)
{
    con_session *all = tk_arena_array(arena, r->sessions.n + 1, sizeof(*all));
    for (size_t i = 0; i < r->sessions.n && all != NULL; i++) {
        all[i] = r->sessions.p[i];
        if (!copy(arena, &all[i].id) || !copy(arena, &all[i].name)) {
            return false;
        }
    }
    out->sessions = all;
    out->n_sessions = r->sessions.n;
    return all != NULL;
}

tinkc_code remote_show_server(remote *r, con_server *out, tk_arena *arena, tk_err *err)
{
    tk_mutex_lock(&r->lock);
    remote_touch(r);
    out->service.state = r->state;
    out->service.url = tk_str_of(r->url);
    out->service.text = tk_str_of(r->service == NULL ? r->why : r->trouble);
    out->service.answered_ms = r->answered_ms;
    out->service.runs = r->service == NULL ? CON_UNKNOWN : r->runs.total;
    out->service.runs_listed = r->service == NULL ? CON_UNKNOWN : (int64_t)r->runs.n;
    bool ok = put_sessions(out, r, arena) && copy(arena, &out->service.url) &&
              copy(arena, &out->service.text);
    tk_mutex_unlock(&r->lock);
    return ok ? TINKC_OK : tk_err_nomem(err);
}
