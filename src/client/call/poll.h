/* Polls the result of one request that the server has accepted (docs/protocol.md §4).
 *
 * Lives inside the operation that submitted it. Loop thread only. Ends exactly once
 * through `done`. poll_rule.h decides what to do after each poll. */
#ifndef CLIENT_POLL_H
#define CLIENT_POLL_H

#include "base/arena.h"
#include "client/call/budget.h"
#include "client/call/call.h"
#include "client/call/poll_group.h"
#include "client/call/poll_rule.h"

/* What the poll ended with; borrowed for the time of `done`. */
typedef struct tk_poll_result {
    tinkc_code code; /* TINKC_E_GONE: may be submitted again, as new work */
    const tk_err *err;
    tk_str body;      /* TINKC_OK: the bytes of the result */
    bool is_protobuf; /* else a JSON object, parsed in `json` */
    const tk_json *json;
    tk_arena *arena; /* of `json` and its texts; tk_poll_result_keep takes it over */
} tk_poll_result;

struct tk_poll {
    /* Set by the owner before tk_poll_start; borrowed until `done`. */
    tk_core *core;
    tk_future_type type;
    const char *request_id;
    const char *what;     /* model or sampler, for the queue observer */
    double roundtrip_s;   /* X-Tinker-Create-Promise-Roundtrip-Time, first poll only */
    tinkc_future *future; /* notes go there; may be NULL */
    bool never_stuck;     /* the server does not want stuck polls to be given up */
    tk_retry_pace *pace;  /* of the work, with its submission; NULL: the poll's own */
    /* When something of the same kind last succeeded (monotonic milliseconds): while
     * others make progress this one is not stuck; NULL: none of the kind. */
    const int64_t *progress_ms;
    tk_poll_group *group;   /* asks for the results of many; NULL: the poll asks itself */
    int64_t stuck_total_ms; /* instead of the option; 0: the option counts */
    void (*done)(tk_poll *poll, const tk_poll_result *result);
    void *user;
    /* Private to poll.c. */
    struct {
        tk_call call;
        tk_timer timer;
        tk_budget_claim claim;
        tk_poll_counts counts;
        tk_retry_pace pace;
        tk_arena arena; /* of the answer at hand */
        tk_buf body;
        int64_t iteration;
        int64_t started_ms, answered_ms;
        bool want_payload; /* allow_metadata_only is false */
        bool is_wanted;    /* the answer before this poll was useful */
        bool running, waiting;
        tk_list in_group;  /* of poll_group.c, while it waits there */
        int64_t joined_ms; /* since when, or when the server will first want it to ask */
        bool has_joined;   /* once; a poll that joins again is no reason to hurry */
        bool is_ready;     /* the group has reported the result */
        char iteration_line[64];
        char roundtrip_line[128];
        char type_line[64];
    } state;
};

/* Moves the memory of `json` into *out, which loses what it had: `json` then lives as long
 * as that. To be called once for a result. */
void tk_poll_result_keep(tk_arena *out, const tk_poll_result *result);

void tk_poll_start(tk_poll *poll);
void tk_poll_cancel(tk_poll *poll); /* `done` with TINKC_E_CANCELLED */

/* ---- for its group ---- */

/* The result can be fetched: `bytes` of it, 0 if the size is not known. */
void tk_poll_ready(tk_poll *poll, int64_t bytes);
/* The poll asks itself. It joins the group again when there is no result yet. */
void tk_poll_alone(tk_poll *poll);
/* Ends a poll that is stuck; returns whether it was. */
bool tk_poll_give_up(tk_poll *poll);

/* The one rule for work that is stuck: the server has answered nothing since
 * `answered_ms`, or finished nothing since `progress_ms` (monotonic milliseconds), for as
 * long as the options allow. Fills *err with TINKC_E_STUCK then. */
bool tk_poll_is_stuck(tk_core *core, int64_t answered_ms, int64_t progress_ms,
                      tk_err *err);

/* The same with a time of the caller's instead of the option stuck_total, unless it is
 * 0. */
bool tk_poll_is_stuck_after(tk_core *core, int64_t answered_ms, int64_t progress_ms,
                            int64_t total_ms, tk_err *err);

#endif
