/* The shared part of a service: configuration, loop, credentials, session, limits.
 * Reference-counted: every handle (handle.h) and every running operation hold one. Loop
 * thread only, unless a function says otherwise. */
#ifndef CLIENT_CORE_H
#define CLIENT_CORE_H

#include <tinkc/config.h>
#include <tinkc/future.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/rand.h"
#include "base/thread.h"
#include "client/call/budget.h"
#include "client/call/call.h"
#include "client/call/limiter.h"
#include "client/core/config_int.h"
#include "client/core/deprecation.h"
#include "client/core/handle.h"
#include "client/core/manners.h"
#include "client/future/tk_future.h"
#include "client/insight/hooks.h"
#include "client/insight/ledger.h"
#include "client/insight/telemetry.h"
#include "http/loop.h"
#include "http/retry.h"
#include "wire/msg_session.h"

typedef struct tk_cancels tk_cancels; /* client/call/cancel.h */
typedef struct tk_finish tk_finish;   /* client/core/finish.h */
typedef struct tk_waits tk_waits;     /* client/call/waits.h */
typedef struct tk_worker tk_worker;   /* client/core/worker.h */

/* Seams for tests; zeroed = the real ones. */
typedef struct tk_core_seams {
    const tk_clock *clock;
    tk_transport *transport; /* taken on success */
    uint64_t seed;           /* 0: from the system */
    int64_t most_pause_ms;   /* before another attempt; 0: as long as the rules say */
} tk_core_seams;

/* An operation that waits for the service to be ready for requests. */
typedef struct tk_ready tk_ready;
struct tk_ready {
    tk_list node;
    bool need_session; /* false: configuration and credential are enough */
    void (*done)(tk_ready *ready, tinkc_code code, const tk_err *err);
};

/* Thread: any. */
TK_NODISCARD tinkc_code tk_core_new(tk_core **out, const tinkc_config *config,
                                    const tk_core_seams *seams, tk_err *err);
tk_core *tk_core_ref(tk_core *core);
void tk_core_unref(tk_core **core);
bool tk_core_is_manual(const tk_core *core);
tk_loop *tk_core_loop(tk_core *core);
const tinkc_config *tk_core_config(const tk_core *core);
const tk_clock *tk_core_clock(const tk_core *core);
/* When an attempt after this pause is due. Thread: loop. */
int64_t tk_core_pause_end_ms(const tk_core *core, int64_t delay_ms);
tk_log *tk_core_log(tk_core *core);
tk_hooks *tk_core_hooks(tk_core *core);
tk_telemetry *tk_core_telemetry(tk_core *core); /* NULL: off */
tk_waits *tk_core_waits(tk_core *core);
tk_worker *tk_core_worker(tk_core *core);
tk_ledger *tk_core_ledger(tk_core *core);
const char *tk_core_base_url(const tk_core *core);
tk_str tk_core_common_headers(const tk_core *core); /* of tk_headers_common */

/* Thread: any. TINKC_E_STATE in a forked child, TINKC_E_CANCELLED after the close. */
TK_NODISCARD tinkc_code tk_core_check(tk_core *core, tk_err *err);

/* Refuses a call that blocks when it is made on the loop's thread: TINKC_E_STATE. */
TK_NODISCARD tinkc_code tk_core_check_blocking(tk_core *core, tk_err *err);

/* Cancels all operations, stops the loop, waits for a callback that runs on the worker.
 * Once. Thread: any on which tk_core_is_inside is false. */
void tk_core_shutdown(tk_core *core);

/* Cancels all operations because the service closes. Returns whether the close has
 * cancelled any, now or before. */
bool tk_core_end_work(tk_core *core);

/* Waits, under the lock and not on the loop's thread, until `changed` or `deadline_ns` (of
 * the real clock), or returns early. Drives a manual loop meanwhile, without the lock. */
void tk_core_wait(tk_core *core, tk_cond *changed, tk_mutex *lock, int64_t deadline_ns);

/* Notes whether the last request got a response, and returns it (thread: any): what a close
 * sends, it sends only to a server that responds. */
void tk_core_heard(tk_core *core, bool answered);
bool tk_core_is_heard(const tk_core *core);

/* Whether any request has got a response: then a server that refuses connections is one
 * that restarts. */
bool tk_core_was_heard(const tk_core *core);

/* Whether the caller is a callback of this service. Thread: any. */
bool tk_core_is_inside(tk_core *core);

/* Calls `done`, perhaps at once, when the service is ready for such work or has failed to
 * become so. A failure is not sticky: the next one tries again. */
void tk_core_when_ready(tk_core *core, tk_ready *ready);
void tk_core_forget_ready(tk_core *core, tk_ready *ready);

/* Valid once ready. The session id may be read from any thread (NULL while there is
 * none). */
const tk_client_config *tk_core_flags(const tk_core *core);
const tk_dynamic_config *tk_core_dynamic(const tk_core *core);
const char *tk_core_session_id(const tk_core *core);
/* Why the session cannot be used any more (the server ended it, or its heartbeats
 * failed); NULL while it can. Loop thread. */
const tk_err *tk_core_session_over(const tk_core *core);
/* No more heartbeats and refreshes: the session is about to end. */
void tk_core_rest(tk_core *core);
int64_t tk_core_next_model_seq(tk_core *core);    /* any thread */
int64_t tk_core_next_loss_seq(tk_core *core);     /* any thread */
int64_t tk_core_next_sampling_seq(tk_core *core); /* any thread */

tk_list *tk_core_running(tk_core *core);     /* of tk_op */
tk_list *tk_core_poll_groups(tk_core *core); /* of tk_poll_group */
tk_cancels *tk_core_cancels(tk_core *core);
tk_finish *tk_core_finish(tk_core *core);
tk_auth *tk_core_auth(tk_core *core);
tk_rand *tk_core_rand(tk_core *core);
tk_deprecation *tk_core_deprecation(tk_core *core);
tk_manners *tk_core_manners(tk_core *core); /* any thread may read them */
tk_retry_pool *tk_core_pool(tk_core *core, tk_http_group group);
tk_budget *tk_core_response_budget(tk_core *core);    /* after complete_metadata */
tk_budget *tk_core_fwdbwd_budget(tk_core *core);      /* chunk submissions */
tk_limiter_port *tk_core_limiter_port(tk_core *core); /* submissions of samples */

/* Whether a 402 is still a pause (§5.5), with its log line. */
bool tk_core_billing_pause(tk_core *core);

/* Tells the observer and the log that the server paused or resumed work on `what`. The
 * log is debounced to one line per minute and thing. */
void tk_core_queue_state(tk_core *core, tinkc_queue_state state, tk_str reason,
                         const char *what);
/* Thread: any, before the first operation. */
void tk_core_set_observer(tk_core *core, tinkc_queue_state_fn fn, void *user);

#endif
