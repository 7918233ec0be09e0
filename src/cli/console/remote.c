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

/* A slot keeps its run until that may be asked for again: else every look at one of more
 * runs than there are slots would be a request. */
static bool is_free(const remote_slot *slot, int64_t now)
{
    return slot->run == NULL || (!slot->is_wanted && now >= slot->due_ns);
}

remote_slot *remote_slot_of(remote *r, tk_str run, int64_t now)
{
    remote_slot *oldest = NULL, *found = find_slot(r, run);
    for (size_t i = 0; i < REMOTE_POINTS_MAX && found == NULL; i++) {
        remote_slot *slot = &r->slots[i];
        if (is_free(slot, now) &&
            (oldest == NULL || slot->looked_ns < oldest->looked_ns)) {
            oldest = slot;
        }
    }
    if (found != NULL || oldest == NULL) {
        return found;
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

/* ---- the thread ---- */

/* When that fails, the page goes on to show what it has; the state of the service is that of
 * its lists. */
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
    con_state state = remote_state_of(r, tk_str_of(run));
    bool tells = !r->is_stopping;
    tk_mutex_unlock(&r->lock);
    tk_arena_dispose(&points.arena);
    if (tells) {
        con_note_run(r->console, tk_str_of(run), state);
    }
}

/* Whether the service gave this list is its state. */
static tinkc_code read_runs(remote *r)
{
    tk_err err = TK_ERR_INIT;
    remote_runs runs = {.n = 0};
    tinkc_code code = remote_ask_runs(r, &runs, &err);
    tk_mutex_lock(&r->lock);
    if (code == TINKC_OK) {
        remote_runs old = r->runs;
        r->runs = runs;
        runs = old;
        r->state = CON_SERVICE_GOOD;
        r->trouble[0] = '\0';
        r->answered_ms = tk_clock_wall_us(NULL) / 1000;
    } else { /* the page says why, and goes on to show what it has */
        r->state = CON_SERVICE_FAILED;
        (void)snprintf(r->trouble, sizeof(r->trouble), "%s", err.message);
    }
    bool tells = !r->is_stopping;
    tk_mutex_unlock(&r->lock);
    tk_arena_dispose(&runs.arena);
    if (tells) {
        con_note_server(r->console);
    }
    return code;
}

static void read_sessions(remote *r)
{
    remote_sessions sessions = {.n = 0};
    tinkc_code code = remote_ask_sessions(r, &sessions);
    tk_mutex_lock(&r->lock);
    if (code == TINKC_OK) {
        remote_sessions old = r->sessions;
        r->sessions = sessions;
        sessions = old;
    }
    bool tells = !r->is_stopping;
    tk_mutex_unlock(&r->lock);
    tk_arena_dispose(&sessions.arena);
    if (tells) {
        con_note_server(r->console);
    }
}

/* Both lists; the runs are shown before the sessions are there. */
static void read_lists(remote *r)
{
    if (read_runs(r) == TINKC_OK) {
        read_sessions(r);
    }
    tk_mutex_lock(&r->lock);
    r->due_ns = tk_clock_after(tk_clock_mono_ns(NULL), AGAIN_NS);
    r->is_wanted = false;
    tk_mutex_unlock(&r->lock);
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

tinkc_code remote_new(remote **out, const remote_config *config, tk_err *err)
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
    r->service = config->service;
    r->ask_ms = config->ask_ms;
    r->url = tk_strdup(config->url);
    r->why = tk_strdup(config->why);
    r->state = r->service != NULL ? CON_SERVICE_ASKED : CON_SERVICE_OFF;
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
