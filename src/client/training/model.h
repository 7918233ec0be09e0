/* One model at the server: its id, its turnstile, its ledger, and what the server's flags
 * say about batches. Shared by all handles of it (a tinkc_training, and its second
 * handles with a context) and by every operation: operations outlive a closed handle.
 * Reference-counted. */
#ifndef CLIENT_MODEL_H
#define CLIENT_MODEL_H

#include <stdatomic.h>

#include "client/core/core.h"
#include "client/training/turn.h"
#include "wire/split.h"

typedef struct tk_model {
    atomic_size_t refs;
    tk_core *core; /* a reference */
    char *id;
    tk_turn turn;
    tk_ledger_run *run;
    atomic_size_t steps; /* optim_steps called so far */
    /* of the server's flags, which do not change */
    tk_split_limits limits;
    bool parallel, compress;
    bool one_by_one; /* the server may change the order of requests: each waits for the
                        result of the one before */
    /* Loop thread: optim_steps whose id is below were called while a batch was partly
     * applied; they are refused. */
    int64_t refuse_steps_below;
    bool sends_loss; /* loop thread: a result had a loss among its metrics */
} tk_model;

/* Makes one, with the first id of its turnstile. TINKC_E_NOMEM. Loop thread (it reads the
 * flags). */
TK_NODISCARD tinkc_code tk_model_new(tk_model **out, tk_core *core, tk_str id,
                                     int64_t first_id, tk_err *err);

/* Thread: any. The last reference frees it. */
tk_model *tk_model_ref(tk_model *model);
void tk_model_unref(tk_model **model); /* sets it to NULL; accepts a NULL inside */

/* Loop thread: nothing was sent under the ids of a ticket after its first `used` ones; the
 * next call gets them if it can (tk_turn_unused). Accepts NULL. */
void tk_model_unused(tk_model *model, tk_ticket *ticket, int64_t used);

/* Gives the turn of a request back that the server has accepted, unless the next one has
 * to wait for its result; the request leaves the turn again at its end. Loop thread. */
void tk_model_accepted(tk_model *model, tk_ticket **ticket);

/* Loop thread: a batch was applied in part; refuses the steps that were called so far. */
void tk_model_spoil(tk_model *model);

#endif
