/* What the console shows, as functions: `tinkc serve` implements them over its recordings,
 * `tinkc console` over files of the client. docs/internals/console.md has the routes that
 * are made of them; each member here is the member of that name there.
 *
 * What a function gives lives in the arena (or is static), at least until the arena is
 * disposed of. Strings are any bytes: what is not UTF-8 is replaced when it is written.
 * Numbers that are not known are NAN, integers CON_UNKNOWN, strings {NULL, 0}.
 *
 * A function that is NULL has nothing to show: its list is empty, its object is a 404.
 * Errors: TINKC_E_MISSING for what is not there, TINKC_E_INVALID for a wrong argument.
 * Thread: any worker of the HTTP front that may wait for the disk, several at once. */
#ifndef CONSOLE_CON_DATA_H
#define CONSOLE_CON_DATA_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define CON_UNKNOWN INT64_MIN

#define CON_SPARK_MAX   64   /* points of con_run.spark */
#define CON_POINTS_MAX  4000 /* of a series */
#define CON_NAMES_MAX   64   /* metrics of one query */
#define CON_GROUP_MAX   200  /* sequences of one group */
#define CON_PREVIEW     200  /* characters of a sample's text in a list */
#define CON_BARS_MAX    20   /* of a histogram */
#define CON_WAITING_MAX 100  /* con_server.items */
#define CON_ERRORS_MAX  50   /* con_server.errors */

/* ---- runs ---- */

typedef enum con_state { CON_TRAINING, CON_IDLE, CON_ENDED } con_state;

typedef struct con_run {
    tk_str id, name; /* never empty */
    tk_str model, session;
    tk_str service; /* the address of the service that has it, of `tinkc console` */
    con_state state;
    int64_t created_ms, updated_ms;
    int64_t step, tokens, rank;
    double loss;
    tk_str metadata; /* a JSON object, or {NULL, 0} */
    const double *spark;
    size_t n_spark;
} con_run;

typedef struct con_runs_query {
    int64_t limit, offset; /* not negative */
    tk_str search;         /* in id, name and model, without regard to case; "" = all */
} con_runs_query;

typedef struct con_runs { /* newest activity first */
    const con_run *p;
    size_t n;
    int64_t total; /* of all pages */
} con_runs;

typedef struct con_metric { /* a summary of all values of one name */
    tk_str name;
    int64_t n, first_step, last_step;
    double last, min, max;
} con_metric;

typedef struct con_checkpoint {
    tk_str path, id;
    bool is_sampler; /* else it can be resumed */
    bool is_public;
    int64_t created_ms, expires_ms, size_bytes, step;
} con_checkpoint;

typedef struct con_run_details {
    con_run run;
    const con_metric *metrics;
    size_t n_metrics;
    const con_checkpoint *checkpoints; /* newest first */
    size_t n_checkpoints;
    bool actions; /* the routes that change checkpoints are there */
} con_run_details;

/* ---- series ---- */

typedef enum con_by { CON_BY_STEP, CON_BY_TOKENS, CON_BY_TIME } con_by;

typedef struct con_series_query {
    tk_str run;
    const tk_str *names; /* of metrics; unknown ones give empty series */
    size_t n_names;      /* at most CON_NAMES_MAX */
    con_by by;
    double from, to; /* inclusive; infinite = no bound */
    size_t points;   /* at most, of each series; 1 to CON_POINTS_MAX */
} con_series_query;

typedef struct con_point { /* of n values; step, time and tokens of the last of them */
    int64_t step, time_ms, tokens, n;
    double min, max, mean;
} con_point;

typedef struct con_series {
    tk_str name;
    int64_t total;  /* values in the range */
    bool decimated; /* a point stands for several values */
    const con_point *p;
    size_t n;
} con_series;

typedef struct con_series_list {
    int64_t last_step;   /* of the run; 0 = none */
    const con_series *p; /* one for each name of the query, in its order */
    size_t n;
} con_series_list;

/* ---- samples ---- */

typedef struct con_sample {
    int64_t id, group, time_ms;
    tk_str model, run, path, sampler;
    bool stopped; /* else it ended by its length */
    int64_t prompt_tokens, tokens;
    double mean_logprob;
    tk_str text; /* in a list its beginning, CON_PREVIEW characters; else all of it */
} con_sample;

typedef struct con_samples_query {
    int64_t limit;
    int64_t before;            /* only smaller ids; INT64_MAX = all */
    int64_t group;             /* only this one; CON_UNKNOWN = all */
    tk_str run, model, search; /* "" = all; search: in the text, without regard to case */
} con_samples_query;

typedef struct con_samples { /* newest first */
    const con_sample *p;
    size_t n;
    bool more;
    int64_t next;    /* `before` of the next page, when there is more */
    bool recording;  /* samples are recorded */
    int64_t dropped; /* that there was no room for */
} con_samples;

typedef struct con_tokens {
    const int32_t *ids;
    size_t n;
    const float *logprobs; /* of each, NAN = none; NULL = of none */
    const tk_str *text;    /* the bytes of each; NULL = not known */
} con_tokens;

typedef struct con_sample_details {
    con_sample sample;
    con_tokens prompt, output;
} con_sample_details;

/* ---- episodes ---- */

typedef struct con_episode {
    tk_str id;
    int64_t turns, used_ms;
    double reward;
} con_episode;

typedef struct con_episodes { /* all of them, newest first; con_episodes.c pages */
    const con_episode *p;
    size_t n;
} con_episodes;

/* ---- the server ---- */

typedef struct con_part {
    tk_str name;
    uint64_t used;
} con_part;

typedef struct con_waiting {
    tk_str kind, model, why;
    int64_t seq, age_ms;
} con_waiting;

typedef struct con_session {
    tk_str id, name;
    int64_t age_ms, silent_ms, models, samplers;
} con_session;

typedef struct con_error {
    int64_t time_ms;
    tk_str text;
} con_error;

/* The service that `tinkc console` asks for lists. */
typedef enum con_service_state {
    CON_SERVICE_NONE, /* this program asks none: it is the server itself */
    CON_SERVICE_OFF,  /* none is configured */
    CON_SERVICE_ASKED,
    CON_SERVICE_GOOD,
    CON_SERVICE_FAILED /* what it said before is shown */
} con_service_state;

typedef struct con_server {
    int64_t started_ms;
    bool is_full; /* else only started_ms, service, sessions and errors are known */
    struct {
        con_service_state state;
        tk_str url, text; /* text: why it is off or failed */
        int64_t answered_ms, runs, runs_listed;
    } service;
    struct {
        uint64_t limit, used, peak;
        const con_part *parts;
        size_t n_parts;
    } memory;
    struct {
        double busy; /* share of the last ten seconds */
        uint64_t jobs, samples, trained_tokens, prompt_tokens, sampled_tokens;
    } engine;
    struct {
        uint64_t jobs, samples, polls;
        const con_waiting *items; /* at most CON_WAITING_MAX */
        size_t n_items;
    } queue;
    const con_session *sessions;
    size_t n_sessions;
    struct {
        uint64_t requests, active, connections;
        uint64_t answers[6]; /* by class of the status: [2] is 2xx */
    } http;
    struct {
        bool samples; /* are recorded */
        uint64_t dropped, bytes, limit_bytes, keep_days;
    } recording;
    const con_error *errors; /* newest first, at most CON_ERRORS_MAX */
    size_t n_errors;
} con_server;

/* ---- the functions ---- */

typedef struct con_data {
    void *user;       /* of every function */
    const char *kind; /* "serve" or "console"; static */

    tinkc_code (*runs)(void *user, con_runs *out, tk_arena *arena,
                       const con_runs_query *query, tk_err *err);
    tinkc_code (*run)(void *user, con_run_details *out, tk_arena *arena, tk_str id,
                      tk_err *err);
    tinkc_code (*series)(void *user, con_series_list *out, tk_arena *arena,
                         const con_series_query *query, tk_err *err);
    tinkc_code (*samples)(void *user, con_samples *out, tk_arena *arena,
                          const con_samples_query *query, tk_err *err);
    tinkc_code (*sample)(void *user, con_sample_details *out, tk_arena *arena, int64_t id,
                         tk_err *err);
    /* Deletes one, or all with CON_UNKNOWN; *n is how many there were. */
    tinkc_code (*forget)(void *user, int64_t *n, int64_t id, tk_err *err);
    tinkc_code (*episodes)(void *user, con_episodes *out, tk_arena *arena, tk_err *err);
    /* Gives the bytes of each id: texts[0..n). `model` is a base model or a path. */
    tinkc_code (*decode)(void *user, tk_str *texts, tk_arena *arena, tk_str model,
                         const int32_t *ids, size_t n, tk_err *err);
    tinkc_code (*server)(void *user, con_server *out, tk_arena *arena, tk_err *err);
    /* Whether something is being computed; for the event `server`. Not blocking. */
    bool (*is_busy)(void *user);
} con_data;

#endif
