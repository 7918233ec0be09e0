/* Waits for the deadline of the next poll, and every SWEEP_NS for what is too old; every
 * FORGET_NS also for rows of long ago. */
#include "server/run/srv_keeper.h"

#include "server/run/srv_poll.h"
#include "server/run/srv_session.h"
#include "server/run/srv_state.h"
#include "server/run/srv_usage.h"
#include "server/store/srv_store.h"

#define SWEEP_NS    (INT64_C(10000) * TK_NS_PER_MS)
#define FORGET_NS   (INT64_C(3600000) * TK_NS_PER_MS) /* sessions of long ago */
#define RUN_US      (INT64_C(86400) * 1000000)        /* runs without a session */
#define FORGET_ROWS 64                                /* listed at once */

void srv_keeper_expire(srv *server)
{
    tk_arena arena;
    srv_store_expiry at = {0};
    int64_t known = atomic_load(&server->stuck);
    int64_t now = srv_store_removal_us(server->store);
    tk_arena_init(&arena, TK_MIB);
    do {
        tk_err err = TK_ERR_INIT;
        tk_arena_dispose(&arena);
        tinkc_code code = srv_store_take_expired(&at, server->store, &arena, now, &err);
        if (code == TINKC_OK && at.dir.n > 0) {
            tk_log_write(server->log, TINKC_LOG_INFO, "checkpoint",
                         TK_STR_FMT " has expired", TK_STR_ARG(at.dir));
            srv_store_remove_dir(server->store, at.dir);
        } else if (code != TINKC_OK && (at.dir.n == 0 || at.skip > known)) {
            tk_log_write(server->log, TINKC_LOG_WARN, "checkpoint", TK_STR_FMT "%s%s",
                         TK_STR_ARG(at.dir),
                         at.dir.n > 0 ? " has expired and cannot be deleted: " : "",
                         err.message); /* once for each directory */
        }
    } while (at.dir.n > 0);
    atomic_store(&server->stuck, at.skip);
    tk_arena_dispose(&arena);
}

/* Forgets the sessions of a list that have ended. */
static tinkc_code forget_ended(srv *server, const tk_strs *ids, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; code == TINKC_OK && i < ids->n; i++) {
        tk_mutex_lock(&server->lock);
        bool lives = srv_session_find(server, ids->p[i]) != NULL;
        tk_mutex_unlock(&server->lock);
        code = lives ? TINKC_OK : srv_store_forget_session(server->store, ids->p[i], err);
    }
    return code;
}

static tinkc_code forget(srv *server, tk_arena *arena, tk_err *err)
{
    const int64_t now = srv_store_removal_us(server->store);
    srv_store_stale stale = {.limit = FORGET_ROWS, .after_id = {"", 0}};
    tk_strs ids = {0};
    tinkc_code code = srv_store_note_time(server->store, err);
    if (code == TINKC_OK) {
        code = srv_store_forget_usage(server->store, now, err);
    }
    if (code == TINKC_OK) {
        code = srv_store_stale_time(&stale.before_us, server->store, now, err);
    }
    if (code == TINKC_OK) {
        code = srv_store_forget_runs(server->store, now - RUN_US, err);
    }
    do {
        if (code == TINKC_OK) {
            code = srv_store_list_stale(&ids, &stale.after_us, server->store, arena,
                                        &stale, err);
        }
        if (code == TINKC_OK) {
            stale.after_id = ids.n > 0 ? ids.p[ids.n - 1] : stale.after_id;
            code = forget_ended(server, &ids, err);
        }
    } while (code == TINKC_OK && ids.n == FORGET_ROWS && !atomic_load(&server->stopping));
    return code;
}

void srv_keeper_forget(srv *server)
{
    tk_err err = TK_ERR_INIT;
    tk_arena arena;
    tk_arena_init(&arena, 0);
    if (forget(server, &arena, &err) != TINKC_OK) {
        tk_log_write(server->log, TINKC_LOG_WARN, "session", "%s", err.message);
    }
    tk_arena_dispose(&arena);
}

/* What happens every SWEEP_NS, without the lock. */
static void sweep_all(srv *server, int64_t now)
{
    srv_session_sweep(server, now);
    srv_keeper_expire(server);
    srv_usage_flush(server->usage, server->store, server->log);
    if (now >= server->forget_ns) {
        server->forget_ns = now + FORGET_NS;
        srv_keeper_forget(server);
    }
}

static void run(void *user)
{
    srv *server = user;
    int64_t sweep_at = tk_clock_mono_ns(NULL) + SWEEP_NS;
    tk_mutex_lock(&server->lock);
    for (;;) {
        bool stopping = atomic_load(&server->stopping);
        int64_t now = tk_clock_mono_ns(NULL);
        tk_list released;
        tk_list_init(&released);
        srv_future_release_due(&server->futures, stopping ? TK_FOREVER : now, &released);
        bool sweep = now >= sweep_at;
        if (sweep) {
            sweep_at = now + SWEEP_NS;
            srv_future_expire(&server->futures, now);
        }
        if (sweep || !tk_list_is_empty(&released)) {
            tk_mutex_unlock(&server->lock);
            srv_poll_release(&released);
            if (sweep && !stopping) {
                sweep_all(server, now);
            }
            tk_mutex_lock(&server->lock);
            continue;
        }
        if (stopping) {
            break;
        }
        int64_t next = srv_future_next_deadline(&server->futures);
        (void)tk_cond_wait_until(&server->keeper_wake, &server->lock,
                                 TK_MIN(next, sweep_at));
    }
    tk_mutex_unlock(&server->lock);
}

tinkc_code srv_keeper_start(srv *server, tk_err *err)
{
    tinkc_code code = tk_thread_start(&server->keeper, "tinkc-keeper", run, server, err);
    server->keeper_runs = code == TINKC_OK;
    return code;
}

void srv_keeper_stop(srv *server)
{
    if (!server->keeper_runs) {
        return;
    }
    tk_mutex_lock(&server->lock);
    tk_cond_signal(&server->keeper_wake);
    tk_mutex_unlock(&server->lock);
    tk_thread_join(&server->keeper);
    server->keeper_runs = false;
}
