/* What a Tinker server says of its runs, their checkpoints and its sessions, through the
 * public functions of the library: the part of `tinkc console` that comes from a service.
 *
 * A thread asks, and only while somebody looks: what the page asks for wakes it, and the
 * service is asked every 30 seconds at most. The functions that show something answer from
 * what it said last and never wait for it. Thread: any, unless said otherwise. */
#ifndef CLI_REMOTE_H
#define CLI_REMOTE_H

#include <tinkc/service.h>

#include "console/con.h"

typedef struct remote remote;

typedef struct remote_config {
    tinkc_service *service; /* borrowed; NULL: there is none to ask */
    const char *url;        /* is shown; copied */
    const char *why;        /* says to people that there is none; copied */
    int64_t ask_ms;         /* for one request with its retries */
} remote_config;

TK_NODISCARD tinkc_code remote_new(remote **out, const remote_config *config,
                                   tk_err *err);

/* Tells the console of changes from now on; it outlives remote_stop. */
TK_NODISCARD tinkc_code remote_start(remote *r, con *console, tk_err *err);

/* Cancels what is being asked. Accepts NULL. Before the service is closed. */
void remote_stop(remote *r);
void remote_free(remote *r); /* stops it first; accepts NULL */

/* Gives the first `most` of the runs that match, the newest activity first; out->total
 * counts all of them. */
TK_NODISCARD tinkc_code remote_show_runs(remote *r, con_runs *out, tk_arena *arena,
                                         tk_str search, size_t most, tk_err *err);

/* TINKC_E_MISSING when the service listed no such run. The first time the checkpoints are
 * the last ones of the run; the whole list is asked for, and comes with an event `run`. */
TK_NODISCARD tinkc_code remote_show_run(remote *r, con_run_details *out, tk_arena *arena,
                                        tk_str id, tk_err *err);

/* Whether the service listed this run. */
bool remote_has_run(remote *r, tk_str id);

/* Sets the service and the sessions of *out. */
TK_NODISCARD tinkc_code remote_show_server(remote *r, con_server *out, tk_arena *arena,
                                           tk_err *err);

#endif
