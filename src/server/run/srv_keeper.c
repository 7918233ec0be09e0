/* The thread of deadlines, see srv_keeper.h. */
#include "server/run/srv_keeper.h"

#include "server/api/srv_checkpoint.h"
#include "server/api/srv_poll.h"
#include "server/api/srv_session.h"
#include "server/api/srv_usage.h"
#include "server/http/srv_fault.h"
#include "server/http/srv_work.h"
#include "server/srv_int.h"

#define SWEEP_NS (INT64_C(10000) * TK_NS_PER_MS) /* between looks for what is too old */

static void write_usage(srv *server)
{
    tk_err err = TK_ERR_INIT;
    if (srv_usage_write(server->usage, server->store, &err) != TINKC_OK) {
        tk_log_write(server->log, TINKC_LOG_WARN, "usage", "%s", err.message);
    }
}

/* Delayed requests go to the workers once more. */
static void post_all(srv *server, tk_list *requests)
{
    tk_list *node;
    while ((node = tk_list_pop_front(requests)) != NULL) {
        srv_work_post(server->work, TK_CONTAINER_OF(node, srv_request, waiting));
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
        tk_list held;
        tk_list_init(&held);
        srv_faults_release(server->faults, stopping ? TK_FOREVER : now, &held);
        bool sweep = now >= sweep_at;
        if (sweep) {
            sweep_at = now + SWEEP_NS;
            srv_future_expire(&server->futures, now);
        }
        if (sweep || !tk_list_is_empty(&released) || !tk_list_is_empty(&held)) {
            tk_mutex_unlock(&server->lock);
            srv_poll_release(&released);
            post_all(server, &held);
            if (sweep && !stopping) {
                srv_session_sweep(server, now);
                srv_checkpoint_sweep(server);
                write_usage(server);
            }
            tk_mutex_lock(&server->lock);
            continue;
        }
        if (stopping) {
            break;
        }
        int64_t next = TK_MIN(srv_future_next_deadline(&server->futures),
                              srv_faults_next(server->faults));
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
