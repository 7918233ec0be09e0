/* What the files of the service's side share. */
#ifndef CLI_REMOTE_INT_H
#define CLI_REMOTE_INT_H

#include "base/arena.h"
#include "base/err.h"
#include "base/thread.h"
#include "cli/console/remote.h"

#define REMOTE_RUNS_MAX     1000
#define REMOTE_SESSIONS_MAX 20   /* each is a request of its own */
#define REMOTE_POINTS_MAX   16   /* runs of which all checkpoints are kept */
#define REMOTE_LAST_MAX     2    /* the last one of each kind */
#define REMOTE_LISTED_MAX   1000 /* checkpoints that are kept of a run */

typedef struct remote_run {
    con_run shown; /* `state` is found when it is shown */
    con_checkpoint last[REMOTE_LAST_MAX];
    size_t n_last;
} remote_run;

typedef struct remote_runs {
    tk_arena arena; /* of everything below */
    remote_run *p;
    size_t n;
    int64_t total; /* that the service has */
} remote_runs;

typedef struct remote_sessions {
    tk_arena arena;
    con_session *p;
    size_t n;
} remote_sessions;

typedef struct remote_points { /* the checkpoints of a run */
    tk_arena arena;
    con_checkpoint *p;
    size_t n;
} remote_points;

typedef struct remote_slot { /* a run that somebody looks at */
    char *run;               /* NULL: nothing */
    remote_points points;
    bool is_known, is_wanted;
    int64_t due_ns, looked_ns;
} remote_slot;

struct remote {
    tinkc_service *service; /* NULL: there is none */
    int64_t ask_ms;
    char *url, *why;
    tk_mutex lock; /* guards everything below */
    tk_cond wake;
    remote_runs runs;
    remote_sessions sessions;
    remote_slot slots[REMOTE_POINTS_MAX];
    con_service_state state;
    char trouble[TK_ERR_MESSAGE_BYTES]; /* why it failed the last time */
    int64_t answered_ms;                /* CON_UNKNOWN: never */
    int64_t due_ns;                     /* the lists are not asked for before */
    bool is_wanted;                     /* somebody looked since they were read */
    bool is_stopping, has_thread;
    tinkc_future *asked; /* what the thread waits for, or NULL */
    con *console;
    tk_thread thread;
};

/* ---- asking (remote_ask.c): on the thread, without the lock; each is bounded ---- */

/* A list of which a part could not be read is given as far as it goes. */
TK_NODISCARD tinkc_code remote_ask_runs(remote *r, remote_runs *out, tk_err *err);
TK_NODISCARD tinkc_code remote_ask_sessions(remote *r, remote_sessions *out);

/* The newest ones first, at most REMOTE_LISTED_MAX. */
TK_NODISCARD tinkc_code remote_ask_points(remote *r, remote_points *out, const char *run,
                                          tk_err *err);

/* Says that somebody looks. Called with the lock. */
void remote_touch(remote *r);

/* Returns the slot of a run, which it makes when there is none; NULL when all are in use, or
 * memory ran out. Called with the lock. */
remote_slot *remote_slot_of(remote *r, tk_str run, int64_t now);

/* Returns the state of a run: it trains when the service had a request of it within the last
 * minute; more is not known. The second one is called with the lock. */
con_state remote_state(int64_t updated_ms);
con_state remote_state_of(remote *r, tk_str run);

#endif
