/* An operation that is one request, sent once the service is ready: what those have in
 * common. The operation has one of these as its first member. Loop thread. */
#ifndef CLIENT_OP_CALL_H
#define CLIENT_OP_CALL_H

#include "client/call/call.h"
#include "client/call/op.h"
#include "client/core/core.h"

typedef struct tk_op_call tk_op_call;
struct tk_op_call {
    tk_op op;
    tk_call call;
    tk_ready ready;
    void (*send)(tk_op_call *self);
};

/* Calls `send` when the service is ready (with a session, if it needs one; at once for a
 * foreign operation), which starts the call or ends the operation; ends it with the
 * reason when the service is not. */
void tk_op_call_start(tk_op_call *self, bool need_session,
                      void (*send)(tk_op_call *self));

/* The `cancel` of such an operation: ends the call, or the wait for the service. */
void tk_op_call_cancel(tk_op *op);

#endif
