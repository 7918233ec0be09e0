/* An operation that is one call, sent once the service is ready. Most of the API is this.
 *
 * Two levels: tk_op_call_run does everything from a constant description (endpoint, how
 * to read the answer); tk_op_call is what an operation with its own needs (a streamed
 * body, the caller's own request) has as its first member. Loop thread, unless a function
 * says otherwise. */
#ifndef CLIENT_OP_CALL_H
#define CLIENT_OP_CALL_H

#include "client/call/call.h"
#include "client/call/op.h"
#include "client/core/core.h"
#include "wire/schema.h"

/* ---- from a description ---- */

typedef struct tk_op_call_spec {
    const char *operation;
    tk_result_kind kind;
    tk_endpoint_id endpoint;
    bool need_session;
    /* Makes the result from the body of a 2xx; returns NULL, with *err set, when it
     * cannot. NULL for TK_RESULT_NONE. */
    void *(*read)(tk_str body, tk_err *err);
    void (*free_result)(void *result);
} tk_op_call_spec;

#define TK_OP_CALL_LINES 2

/* What differs between two calls of one description; all may be NULL. Copied or encoded
 * before the call returns. */
typedef struct tk_op_call_args {
    const tk_schema *schema; /* of the body */
    const void *message;
    const char *path_arg;
    const char *query;                   /* encoded, without "?" */
    const char *lines[TK_OP_CALL_LINES]; /* headers, as in tk_call */
} tk_op_call_args;

/* Starts the operation. `args` may be NULL. Thread: the caller's. */
tinkc_future *tk_op_call_run(tk_handle *handle, const tk_op_call_spec *spec,
                             const tk_op_call_args *args);

/* ---- as a first member ---- */

typedef struct tk_op_call tk_op_call;
struct tk_op_call {
    tk_op op;
    tk_call call;
    tk_ready ready;
    void (*send)(tk_op_call *self);
};

/* Calls `send` when the service is ready (with a session, if it needs one; at once for a
 * foreign operation). `send` starts the call or ends the operation. When the service
 * cannot become ready the operation ends with the reason. */
void tk_op_call_start(tk_op_call *self, bool need_session,
                      void (*send)(tk_op_call *self));

/* The `cancel` of such an operation: ends the call, or the wait for the service. */
void tk_op_call_cancel(tk_op *op);

#endif
