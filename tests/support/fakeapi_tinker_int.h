/* Inside tinker mode: its state and what its files share. Everything is guarded by the
 * api's lock; endpoints run on the loop thread with it held. The arena of a call dies
 * before its answer leaves, so no memory of the library outlives a request here.
 *
 *     fakeapi_tinker.c          on and off, dispatch, what tests steer
 *     fakeapi_tinker_future.c   idempotency, futures, polls, the log of work
 *     fakeapi_tinker_session.c  configuration, sessions, models, samplers
 *     fakeapi_tinker_work.c     forward_backward, optim_step, save, load, sample
 *     fakeapi_tinker_rest.c     lists of runs, checkpoints, sessions */
#ifndef SUPPORT_FAKEAPI_TINKER_INT_H
#define SUPPORT_FAKEAPI_TINKER_INT_H

#include "base/json.h"
#include "support/fakeapi_int.h"
#include "support/fakeapi_tinker.h"

#define TINKER_POLL_MS 20000u

typedef struct tinker_model {
    char *id; /* "<session>:train:<n>" */
    char *base_model;
    int64_t rank;
    bool train_unembed, train_mlp, train_attn;
    size_t steps;    /* optimizer steps taken */
    size_t requests; /* with a seq_id, so far */
} tinker_model;

typedef struct tinker_sampler {
    char *id; /* "<session>:sample:<n>" */
    char *base_model;
    char *model_path; /* may be NULL */
} tinker_sampler;

typedef struct tinker_checkpoint {
    char *path;
    const tinker_model *model;
} tinker_checkpoint;

typedef enum tinker_state { TINKER_PENDING, TINKER_DONE, TINKER_LOST } tinker_state;

typedef struct tinker_future {
    char *id; /* "future-<index>" */
    tinker_state state;
    bool is_failed;
    bool is_fetched; /* its result was sent */
    bool has_proto;
    fakeapi_bytes json, proto; /* the result, ready from the start, sent when DONE */
    fakeapi_waiters polls;
    bool is_due; /* its polls are to be answered by the next tick */
    struct tinker_future *next_due;
} tinker_future;

/* What was sent before: hashes of key and payload. `value` is the index of a future, or
 * what the endpoint keeps there. */
typedef struct tinker_memory {
    uint64_t key, payload; /* key 0 = empty slot */
    size_t value;
    size_t op; /* index into ops, or SIZE_MAX */
} tinker_memory;

typedef struct tinker_failure {
    struct tinker_failure *next;
    char *kind, *message, *category;
} tinker_failure;

/* A growing table of pointers; items are allocated one by one and do not move. */
typedef struct tinker_table {
    void **items;
    size_t n, capacity;
} tinker_table;

typedef struct tinker {
    fakeapi *api;
    fakeapi_tinker_options options; /* strings owned */
    char *queue_state, *queue_reason;
    tinker_table sessions;    /* char * */
    tinker_table models;      /* tinker_model */
    tinker_table samplers;    /* tinker_sampler */
    tinker_table checkpoints; /* tinker_checkpoint */
    tinker_table futures;     /* tinker_future */
    tinker_table ops;         /* fakeapi_tinker_op */
    tinker_memory *memory;    /* open addressing */
    size_t memory_n, memory_capacity;
    size_t pending_n, first_pending;
    tinker_future *due; /* newest first */
    size_t conflicts;
    tinker_failure *failures;
} tinker;

/* One request being answered. */
typedef struct tinker_call {
    tinker *t;
    fakeapi_conn *conn;
    const fakeapi_request *request;
    const char *kind; /* name of the work, for the log */
    const char *tail; /* path after "samplers/" and the like */
    tk_arena arena;
    const tk_json *body; /* an object; NULL: none, or protobuf */
    fakeapi_answer *out;
} tinker_call;

/* True: *call->out is filled. False: the connection is parked. */
typedef bool (*tinker_endpoint)(tinker_call *call);

/* Work that may be repeated: same scope and number = same request. */
typedef struct tinker_work {
    const char *scope; /* model, sampling session or session id */
    int64_t number;    /* seq_id; -1 = none: never a repetition */
    size_t datums;
    fakeapi_bytes json, proto; /* result; moved into the future */
} tinker_work;

/* fakeapi_tinker.c */
void *tinker_table_add(tinker_table *table, void *item); /* takes it; returns it */
bool tinker_reject(tinker_call *call, int status, const char *detail); /* true */
bool tinker_reject_field(tinker_call *call, const char *field, const char *message);
const char *tinker_get_str(const tk_json *object, const char *key); /* or NULL */
int64_t tinker_get_int(const tk_json *object, const char *key, int64_t otherwise);
bool tinker_get_bool(const tk_json *object, const char *key, bool otherwise);
/* A string that must be there; NULL after having answered 422. */
const char *tinker_need_str(tinker_call *call, const char *key);
void tinker_put_str(fakeapi_bytes *out, const char *text); /* quoted; NULL = null */

/* fakeapi_tinker_future.c */
/* Whether the call was answered already: the future of an earlier equal request, 409, or
 * a failure that the test asked for. */
bool tinker_begin(tinker_call *call, const tinker_work *work);
/* Remembers the work, logs it as applied, answers with its new future. Takes the
 * results. */
bool tinker_submit(tinker_call *call, tinker_work *work);
/* For calls without a future. *value as it was remembered; false: 409 was answered. */
typedef enum tinker_recall { TINKER_NEW, TINKER_REPEATED, TINKER_CONFLICT } tinker_recall;
tinker_recall tinker_remember(tinker_call *call, const char *scope, int64_t number,
                              size_t *value);
bool tinker_retrieve(tinker_call *call);
/* Whether the results of all work of that model were sent. */
bool tinker_is_fetched(tinker *t, const char *model_id);
void tinker_turn_away(tinker *t, fakeapi_conn *conn);
void tinker_futures_tick(tinker *t);
/* Its polls are answered in the next tick. */
void tinker_future_due(tinker *t, tinker_future *future);
void tinker_future_done(tinker *t, tinker_future *future, tinker_state state);
tinker_future *tinker_future_find(tinker *t, const char *id);
void tinker_futures_dispose(tinker *t);

/* fakeapi_tinker_session.c */
bool tinker_config(tinker_call *call);
bool tinker_dynamic_config(tinker_call *call);
bool tinker_health(tinker_call *call);
bool tinker_capabilities(tinker_call *call);
bool tinker_telemetry(tinker_call *call);
bool tinker_create_session(tinker_call *call);
bool tinker_heartbeat(tinker_call *call);
bool tinker_finish_session(tinker_call *call);
bool tinker_create_model(tinker_call *call);
bool tinker_get_info(tinker_call *call);
bool tinker_unload_model(tinker_call *call);
bool tinker_create_sampling_session(tinker_call *call);
bool tinker_get_sampler(tinker_call *call);
bool tinker_weights_info(tinker_call *call);
void tinker_sessions_dispose(tinker *t);

bool tinker_has_session(const tinker *t, const char *id);
tinker_model *tinker_model_find(const tinker *t, const char *id);
tinker_model *tinker_model_add(tinker *t, const char *session, int64_t number,
                               const char *base_model);
tinker_sampler *tinker_sampler_find(const tinker *t, const char *id);
tinker_sampler *tinker_sampler_add(tinker *t, const char *session, int64_t number,
                                   const char *base_model, const char *model_path);
const tinker_checkpoint *tinker_checkpoint_find(const tinker *t, const char *path);

/* fakeapi_tinker_work.c */
bool tinker_forward_backward(tinker_call *call);
bool tinker_forward(tinker_call *call);
bool tinker_optim_step(tinker_call *call);
bool tinker_save_weights(tinker_call *call);
bool tinker_save_for_sampler(tinker_call *call);
bool tinker_save_external(tinker_call *call);
bool tinker_load_weights(tinker_call *call);
bool tinker_sample(tinker_call *call);

/* fakeapi_tinker_rest.c */
bool tinker_list_runs(tinker_call *call);
bool tinker_get_run(tinker_call *call); /* or the checkpoints of one */
bool tinker_list_checkpoints(tinker_call *call);
bool tinker_list_sessions(tinker_call *call);

#endif
