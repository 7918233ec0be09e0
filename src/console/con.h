/* The browser console: its page, its login, its data (con_data.h) and one stream of
 * changes. This is what the server and the program see of src/console.
 *
 * Routes are rows for a table of the HTTP front (CON_ROUTES): each is handled by a function
 * of the application, which gives the request to con_handle. docs/internals/console.md is
 * the contract between them and the page. */
#ifndef CONSOLE_CON_H
#define CONSOLE_CON_H

#include "console/con_data.h"
#include "httpd/hd_budget.h"
#include "httpd/hd_route.h"

typedef struct con con;

typedef struct con_config {
    con_data data;       /* copied; what it points to outlives the console */
    hd_budget *budget;   /* of memory; outlives the console */
    const char *api_key; /* NULL = none is needed; copied */
} con_config;

/* Starts the thread that sends events. */
TK_NODISCARD tinkc_code con_new(con **out, const con_config *config, tk_err *err);

/* The port that the front listens on: cookies of servers on one machine have different
 * names. Before the first request. */
void con_set_port(con *console, unsigned port);

/* Ends all streams of events, and those that come later: before hd_http_stop, which waits
 * for them. Accepts NULL. */
void con_quiesce(con *console);

/* Writes the fragment of an address that logs a browser in once, "#login=...", or "" when
 * no key is needed. TINKC_E_IO. Thread: any. */
#define CON_FRAGMENT_BYTES 96
TK_NODISCARD tinkc_code con_fragment(con *console, char out[CON_FRAGMENT_BYTES],
                                     tk_err *err);

/* Called when no request is left. Accepts NULL. */
void con_free(con *console);

/* Answers a request to one of CON_ROUTES. Thread: a worker that may wait; for OPEN routes
 * and those that are PROMPT or LIGHT one that does not. */
hd_verdict con_handle(con *console, hd_request *request);

/* Writes the body of an error, {"detail": "..."}: for hd_http_config.refuse of a program
 * that serves nothing but the console. */
void con_refuse(hd_request *request, int status, const tk_err *err);

/* Returns whether a header Cookie has a cookie that the login gave: for
 * hd_http_config.knows_cookie, where `app` leads to the console. Takes the same time
 * wherever texts differ. Thread: any; it never waits for long. */
bool con_knows_cookie(con *console, tk_str cookies);

/* ---- changes, for the stream of events; thread: any, nothing here waits for a reader ---- */

void con_note_run(con *console, tk_str run, con_state state);

typedef struct con_value {
    tk_str name;
    double value;
} con_value;

typedef struct con_step {
    tk_str run;
    int64_t step, time_ms, tokens;
    const con_value *metrics;
    size_t n_metrics;
} con_step;

void con_note_step(con *console, const con_step *step);
/* `n` sequences of one request; the first one's id is `id`, the others follow. */
void con_note_samples(con *console, int64_t id, size_t n, tk_str run, tk_str model);
void con_note_episode(con *console, tk_str id);
void con_note_server(con *console); /* con_data.server has something new */

/* ---- routes ---- */

#define CON_API "/tinkc/v1/console/"

#define CON_ROUTES(handler)                                                               \
    {"GET", "/console/*", handler, HD_ROUTE_OPEN | HD_ROUTE_PROMPT, 0, NULL},             \
        {"GET", CON_API "session", handler, HD_ROUTE_OPEN | HD_ROUTE_LIGHT, 0, NULL},     \
        {"POST", CON_API "login", handler, HD_ROUTE_OPEN | HD_ROUTE_LIGHT, 0, NULL},      \
        {"POST", CON_API "logout", handler, HD_ROUTE_LIGHT, 0, NULL},                     \
        {"POST", CON_API "code", handler, HD_ROUTE_LIGHT, 0, NULL},                       \
        {"GET", CON_API "events", handler, HD_ROUTE_LIGHT, 0, NULL},                      \
        {"GET", CON_API "runs", handler, 0, 0, "limit offset search"},                    \
        {"GET", CON_API "runs/*", handler, 0, 0, NULL},                                   \
        {"GET",   CON_API "runs/*/series",                                                \
         handler, 0,                                                                      \
         0,       "metric by=step|tokens|time from to points"},                           \
        {"GET", CON_API "samples", handler, 0, 0, "limit before group run model search"}, \
        {"GET", CON_API "samples/*", handler, 0, 0, NULL},                                \
        {"DELETE", CON_API "samples/*", handler, 0, 0, NULL},                             \
        {"DELETE", CON_API "samples", handler, 0, 0, NULL},                               \
        {"GET", CON_API "episodes", handler, 0, 0, "limit before min max"},               \
        {"POST", CON_API "decode", handler, 0, 0, NULL},                                  \
    {                                                                                     \
        "GET", CON_API "server", handler, 0, 0, NULL                                      \
    }

#endif
