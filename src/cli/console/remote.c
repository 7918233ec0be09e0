/* The thread that asks the service, and what it keeps. The lock is never held while the
 * service is asked.
 * Needs: server */
#include "cli/console/remote.h"

#include <stdio.h>
#include <string.h>
#include <tinkc/future.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/console/remote_int.h"

#define AGAIN_NS (30 * 1000 * TK_NS_PER_MS)

/* ---- under the lock ---- */

void remote_touch(remote *r)
{
    if (r->service != NULL && !r->is_wanted) {
        r->is_wanted = true;
        tk_cond_broadcast(&r->wake);
    }
}

static void clear_slot(remote_slot *slot)
{
    tk_arena_dispose(&slot->points.arena);
    tk_free(slot->run);
    *slot = (remote_slot){.run = NULL};
}

static remote_slot *find_slot(remote *r, tk_str run)
{
    for (size_t i = 0; i < REMOTE_POINTS_MAX; i++) {
        if (r->slots[i].run != NULL && tk_str_is(run, r->slots[i].run)) {
            return &r->slots[i];
        }
    }
    return NULL;
}

remote_slot *remote_slot_of(remote *r, tk_str run)
{
    remote_slot *oldest = &r->slots[0], *found = find_slot(r, run);
    if (found != NULL) {
        return found;
    }
    for (size_t i = 1; i < REMOTE_POINTS_MAX; i++) {
        oldest = r->slots[i].looked_ns < oldest->looked_ns ? &r->slots[i] : oldest;
    }
    clear_slot(oldest);
    oldest->run = tk_strndup(run.p, run.n);
    return oldest->run != NULL ? oldest : NULL;
}

static remote_slot *wanted_slot(remote *r)
{
    for (size_t i = 0; i < REMOTE_POINTS_MAX; i++) {
        if (r->slots[i].run != NULL && r->slots[i].is_wanted) {
            return &r->slots[i];
        }
    }
    return NULL;
}

/* What was asked has failed: the page says why, and goes on to show what it has. */
static void note_failure(remote *r, const tk_err *err)
{
    r->state = CON_SERVICE_FAILED;
    (void)snprintf(r->trouble, sizeof(r->trouble), "%s", err->message);
}

static void note_answer(remote *r)
{
    r->state = CON_SERVICE_GOOD;
    r->trouble[0] = '\0';
    r->answered_ms = tk_clock_wall_us(NULL) / 1000;
}

/* ---- the thread ---- */

static void read_points(remote *r, const char *run)
{
    tk_err err = TK_ERR_INIT;
    remote_points points = {.n = 0};
    tinkc_code code = remote_ask_points(r, &points, run, &err);
    tk_mutex_lock(&r->lock);
    remote_slot *slot = find_slot(r, tk_str_of(run)); /* another may have its place */
    if (slot != NULL && code == TINKC_OK) {
        tk_arena_dispose(&slot->points.arena);
        slot->points = points;
        points = (remote_points){.n = 0};
        slot->is_known = true;
    }
    if (slot != NULL) {
        slot->is_wanted = false;
        slot->due_ns = tk_clock_after(tk_clock_mono_ns(NULL), AGAIN_NS);
    }
    if (code == TINKC_OK) {
        note_answer(r);
    } else if (code != TINKC_E_NOT_FOUND) { /* a run that was deleted meanwhile */
        note_failure(r, &err);
    }
    con_state state = remote_state_of(r, tk_str_of(run));
    bool tells = !r->is_stopping;
    tk_mutex_unlock(&r->lock);
    tk_arena_dispose(&points.arena);
    if (tells) {
        con_note_run(r->console, tk_str_of(run), state);
    }
}

static tinkc_code read_runs(remote *r, tk_err *err)
{
    remote_runs runs = {.n = 0};
    tinkc_code code = remote_ask_runs(r, &runs, err);
    tk_mutex_lock(&r->lock);
    if (code == TINKC_OK) {
        remote_runs old = r->runs;
        r->runs = runs;
        runs = old;
        r->answered_ms = tk_clock_wall_us(NULL) / 1000;
    }
    bool tells = code == TINKC_OK && !r->is_stopping;
    tk_mutex_unlock(&r->lock);
    tk_arena_dispose(&runs.arena);
    if (tells) {
        con_note_server(r->console);
    }
    return code;
}

static tinkc_code read_sessions(remote *r, tk_err *err)
{
    remote_sessions sessions = {.n = 0};
    tinkc_code code = remote_ask_sessions(r, &sessions, err);
    tk_mutex_lock(&r->lock);
    if (code == TINKC_OK) {
        remote_sessions old = r->sessions;
        r->sessions = sessions;
        sessions = old;
    }
    tk_mutex_unlock(&r->lock);
    tk_arena_dispose(&sessions.arena);
    return code;
}

/* Both lists; the runs are shown before the sessions are there. */
static void read_lists(remote *r)
{
    tk_err err = TK_ERR_INIT;
    tinkc_code code = read_runs(r, &err);
    code = code == TINKC_OK ? read_sessions(r, &err) : code;
    tk_mutex_lock(&r->lock);
    if (code == TINKC_OK) {
        note_answer(r);
    } else {
        note_failure(r, &err);
    }
    r->due_ns = tk_clock_after(tk_clock_mono_ns(NULL), AGAIN_NS);
    r->is_wanted = false;
    bool tells = !r->is_stopping;
    tk_mutex_unlock(&r->lock);
    if (tells) {
        con_note_server(r->console);
    }
}

static void run_thread(void *user)
{
    remote *r = user;
    tk_mutex_lock(&r->lock);
    while (!r->is_stopping) {
        const remote_slot *slot = wanted_slot(r);
        char *run = slot != NULL ? tk_strdup(slot->run) : NULL;
        bool is_due = r->is_wanted && tk_clock_mono_ns(NULL) >= r->due_ns;
        if (run != NULL || is_due) {
            tk_mutex_unlock(&r->lock);
            if (run != NULL) {
                read_points(r, run);
                tk_free(run);
            } else {
                read_lists(r);
            }
            tk_mutex_lock(&r->lock);
        } else {
            (void)tk_cond_wait_until(&r->wake, &r->lock,
                                     r->is_wanted ? r->due_ns : TK_FOREVER);
        }
    }
    tk_mutex_unlock(&r->lock);
}

/* ---- life ---- */

tinkc_code remote_new(remote **out, tinkc_service *service, const char *url,
                      const char *why, tk_err *err)
{
    remote *r = tk_zalloc(sizeof(*r));
    if (r == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = tk_cond_init_with(&r->wake, &r->lock, err);
    if (code != TINKC_OK) {
        tk_free(r);
        return code;
    }
    r->service = service;
    r->url = tk_strdup(url);
    r->why = tk_strdup(why);
    r->state = service != NULL ? CON_SERVICE_ASKED : CON_SERVICE_OFF;
    r->answered_ms = CON_UNKNOWN;
    if (r->url == NULL || r->why == NULL) {
        remote_free(r);
        return tk_err_nomem(err);
    }
    *out = r;
    return TINKC_OK;
}

tinkc_code remote_start(remote *r, con *console, tk_err *err)
{
    r->console = console;
    if (r->service == NULL) {
        return TINKC_OK;
    }
    tinkc_code code = tk_thread_start(&r->thread, "tinkc-remote", run_thread, r, err);
    r->has_thread = code == TINKC_OK;
    return code;
}

void remote_stop(remote *r)
{
    if (r == NULL || !r->has_thread) {
        return;
    }
    tk_mutex_lock(&r->lock);
    r->is_stopping = true;
    tinkc_future_cancel(r->asked); /* the thread cannot free it meanwhile */
    tk_cond_broadcast(&r->wake);
    tk_mutex_unlock(&r->lock);
    tk_thread_join(&r->thread);
    r->has_thread = false;
}

void remote_free(remote *r)
{
    if (r == NULL) {
        return;
    }
    remote_stop(r);
    tk_arena_dispose(&r->runs.arena);
    tk_arena_dispose(&r->sessions.arena);
    for (size_t i = 0; i < REMOTE_POINTS_MAX; i++) {
        clear_slot(&r->slots[i]);
    }
    tk_cond_dispose(&r->wake);
    tk_mutex_dispose(&r->lock);
    tk_free(r->url);
    tk_free(r->why);
    tk_free(r);
}
