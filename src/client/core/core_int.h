/* The struct of core.h, for core.c and session.c only. */
#ifndef CLIENT_CORE_INT_H
#define CLIENT_CORE_INT_H

#include <stdatomic.h>
#include <sys/types.h>

#include "client/call/cancel.h"
#include "client/call/limiter.h"
#include "client/call/op.h"
#include "client/call/waits.h"
#include "client/core/core.h"
#include "client/core/deprecation.h"
#include "client/core/finish.h"
#include "client/core/worker.h"

/* How far the service has got. */
typedef enum tk_phase {
    TK_PHASE_NONE,   /* nothing known of the server */
    TK_PHASE_BASIC,  /* configuration, credential, dynamic configuration */
    TK_PHASE_SESSION /* and a session */
} tk_phase;

struct tk_core {
    atomic_size_t refs;
    const tk_clock *clock; /* borrowed */
    bool is_manual;
    tk_hooks hooks;
    tk_ledger ledger;
    atomic_bool closed;
    atomic_bool heard;     /* the last request got a response */
    atomic_bool was_heard; /* one of them did */
    pid_t pid;
    tinkc_config *config; /* immutable */
    char *base_url;
    tk_buf common_headers; /* immutable */
    tk_log *log;
    tk_loop *loop;
    tk_telemetry *telemetry; /* NULL: off */
    tk_waits waits;
    tk_worker worker; /* for callbacks of the user that may take long */
    tk_cancels cancels;
    tk_finish finish;
    tk_limiter *limiter; /* shared with other services; one of its owners */
    tk_limiter_port port;
    _Atomic(char *) session_id; /* owned; written once */
    atomic_int_least64_t model_seq, loss_seq, sampling_seq;
    int64_t most_pause_ms; /* a seam; 0 = none */
    tk_manners manners;
    /* loop thread */
    tk_rand rand;
    tk_auth *auth;
    tk_list running;     /* of tk_op */
    tk_list poll_groups; /* of client/call/poll_group.c; owned */
    tk_client_config flags;
    tk_arena flags_arena;
    tk_retry_billing billing;
    tk_retry_pool pools[TK_HTTP_GROUPS];
    tk_budget response_budget, fwdbwd_budget;
    tinkc_queue_state_fn observer;
    void *observer_user;
    tk_deprecation deprecation;
    bool had_work; /* when the close began */
    bool paused_logged;
    int64_t paused_log_ms;
    /* becoming ready (session.c) */
    tk_phase phase;
    bool advancing;
    tk_list waiting; /* of tk_ready */
    tk_call setup_call;
    tk_buf config_body; /* of client/config and client/dynamic_config */
    tk_buf setup_body;  /* of create_session */
    tk_auth_waiter setup_auth;
    /* keeping the session (session.c) */
    tk_call beat_call, refresh_call;
    tk_retry_pace beat_pace; /* an option may ask for more than one in a second */
    tk_buf beat_body;
    tk_timer beat_timer, refresh_timer;
    int64_t beat_ok_ms;
    tk_dynamic_config dynamic;
    int64_t beat_failures; /* in a row */
    tk_err over;           /* why the session cannot be used any more; TINKC_OK: it can */
};

/* session.c */
void tk_session_init(tk_core *core);
void tk_session_shutdown(tk_core *core);

#endif
