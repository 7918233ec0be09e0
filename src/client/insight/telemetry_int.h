/* The struct behind telemetry.h, for telemetry.c and telemetry_send.c only. */
#ifndef CLIENT_TELEMETRY_INT_H
#define CLIENT_TELEMETRY_INT_H

#include <stdatomic.h>

#include "base/thread.h"
#include "base/uuid.h"
#include "client/core/core.h"
#include "client/insight/telemetry.h"

/* A queued event. */
typedef struct tk_telemetry_item {
    tk_list node;
    size_t n;
    char text[];
} tk_telemetry_item;

enum { TK_TELEMETRY_NO_SESSION, TK_TELEMETRY_SESSION, TK_TELEMETRY_LANES };

/* One reporter: its events carry its id and are numbered by it. */
typedef struct tk_telemetry_lane {
    char *id; /* NULL: there is no session */
    tk_list queue;
    int64_t queued, next_index;
    int64_t due_index; /* what is below it does not wait for a full batch */
} tk_telemetry_lane;

struct tk_telemetry {
    tk_core *core; /* owns us */
    char process_uuid[TK_UUID_TEXT_BYTES];
    atomic_bool off, closing;
    /* under the lock */
    tk_mutex lock;
    tk_cond changed; /* something was settled */
    tk_rand rand;
    tk_telemetry_lane lanes[TK_TELEMETRY_LANES];
    uint64_t pushed, settled, sent, dropped;
    size_t queued_bytes; /* texts in the lanes */
    int failures;        /* in a row */
    int64_t started_us;
    bool planned; /* the flush timer runs, or a wake is on its way to set it */
    bool wake_posted, urgent, flush_now;
    tk_task wake_task;
    /* loop thread */
    tk_timer flush_timer, retry_timer, hurry_timer;
    int64_t flush_at_ms, last_flush_ms;
    bool pausing; /* the retry timer runs */
    tk_call call;
    tk_buf body;
    size_t batch_n; /* events in the body */
};

/* Under the lock: `n` events were taken by the server, or are lost. */
void tk_telemetry_settle(tk_telemetry *telemetry, size_t n, bool taken);
/* Under the lock: all that is queued is lost. */
void tk_telemetry_drop(tk_telemetry *telemetry);

/* telemetry_send.c: sets its members up. */
void tk_telemetry_send_init(tk_telemetry *telemetry);

#endif
