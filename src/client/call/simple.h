/* The plain operation: wait until the service is ready, make one call, turn the answer
 * into a result. Most of the API is this. */
#ifndef CLIENT_SIMPLE_H
#define CLIENT_SIMPLE_H

#include "client/call/op.h"
#include "client/core/core.h"

typedef struct tk_simple_spec {
    const char *operation;
    tk_result_kind kind;
    tk_endpoint_id endpoint;
    bool need_session;
    /* Makes the result from the body of a 2xx; NULL (with *err set) when it cannot. Not
     * needed for TK_RESULT_NONE. */
    void *(*read)(tk_str body, tk_err *err);
    void (*free_result)(void *result);
} tk_simple_spec;

/* What one such call is about; all may be NULL. Copied or encoded before the call
 * returns.
 */
typedef struct tk_simple_args {
    const tk_schema *schema; /* of the body */
    const void *message;
    const char *path_arg;
    const char *query; /* encoded, without "?" */
} tk_simple_args;

/* Thread: the caller's. */
tinkc_future *tk_simple_start(tk_core *core, const tk_simple_spec *spec,
                              const tk_simple_args *args);

/* The same without a query. `schema` NULL: no body. `path_arg` NULL: none. Both are
 * copied or encoded before it returns. Thread: the caller's. */
tinkc_future *tk_simple_run(tk_core *core, const tk_simple_spec *spec,
                            const tk_schema *schema, const void *message,
                            const char *path_arg);

#endif
