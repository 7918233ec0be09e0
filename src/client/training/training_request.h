/* Operations of one model that are one request: wait for the turn, submit, give the turn
 * back, wait for the result. Optimizer steps, saves, loads, unloading. */
#ifndef CLIENT_TRAINING_REQUEST_H
#define CLIENT_TRAINING_REQUEST_H

#include "client/call/submit.h"
#include "client/training/training.h"

typedef struct tk_training_request tk_training_request;

typedef struct tk_training_request_spec {
    const char *operation;
    tk_result_kind kind;
    tk_endpoint_id endpoint;
    tk_future_type type;
    int64_t ids;      /* 1; 0: keeps its place in the order without an id */
    bool is_step;     /* refused after a batch that was applied in part */
    bool draws_again; /* encoded again before each L2 attempt */
    /* On the loop, when the turn has come: true when it has started op->call and will go
     * on with tk_training_request_go_on or tk_training_request_fail. NULL: nothing to
     * do. */
    bool (*before)(tk_training_request *op);
    /* Set: tk_training_request_run takes `message` over, and frees it with this. */
    void (*free_message)(void *message);
    /* Encodes the body; `seq_id` is the operation's. Must succeed with any seq_id up to
     * the one it succeeded with, given as much room. */
    tinkc_code (*encode)(tk_training_request *op, int64_t seq_id, tk_err *err);
    /* Makes the result; NULL with *err set when it cannot. NULL for TK_RESULT_NONE. */
    void *(*read)(tk_training_request *op, const tk_json *json, tk_err *err);
    void (*free_result)(void *result);
} tk_training_request_spec;

struct tk_training_request {
    tk_op op;
    const tk_training_request_spec *spec;
    tk_model *model; /* a reference */
    tk_ticket *ticket;
    tk_submit submit;
    tk_buf body;
    int64_t seq_id;
    const void *message; /* what `encode` reads; NULL after the call unless taken over */
    tk_call call;        /* of `before` */
};

/* Loop thread: submits the body; ends the operation with its turn given back. */
void tk_training_request_go_on(tk_training_request *op);
void tk_training_request_fail(tk_training_request *op, const tk_err *err);

/* Runs it. `message` is read before the call returns, except with draws_again: then only
 * NULL may be given. Thread: the caller's. */
tinkc_future *tk_training_request_run(tinkc_training *training,
                                      const tk_training_request_spec *spec,
                                      const void *message);

/* The future of arguments that were refused. */
tinkc_future *tk_training_request_refuse(tinkc_training *training,
                                         const tk_training_request_spec *spec,
                                         const tk_err *err);

#endif
