/* The inside of tinkc_training: one model, its turnstile, and what the server's flags say
 * about batches. The handle and every operation hold a reference: operations outlive a
 * closed handle. */
#ifndef CLIENT_TRAINING_H
#define CLIENT_TRAINING_H

#include <tinkc/training.h>

#include "client/call/op.h"
#include "client/core/core.h"
#include "client/training/turn.h"
#include "wire/split.h"

struct tinkc_training {
    atomic_size_t refs;
    tk_core *core;        /* a reference */
    tinkc_training *base; /* itself; of a second handle with a context: a reference */
    char *model_id;       /* the base's */
    tk_turn turn;         /* the base's, as these two: */
    tk_ledger_run *run;
    atomic_size_t steps; /* optim_steps called so far */
    /* of the server's flags, which do not change */
    tk_split_limits limits;
    bool parallel, compress;
    /* Loop thread, the base's: optim_steps whose id is below were called while a batch
     * was partly applied; they are refused (design §3). */
    int64_t refuse_steps_below;
};

/* `first_id` of the turnstile. Loop thread (it reads the flags). */
TK_NODISCARD tinkc_code tk_training_new(tinkc_training **out, tk_core *core,
                                        tk_str model_id, int64_t first_id, tk_err *err);

/* Thread: any. The last reference frees it. */
tinkc_training *tk_training_ref(tinkc_training *training);
void tk_training_unref(tinkc_training **training);

/* As tk_training_unref, for results that nobody took. */
void tk_training_free(void *training);

/* Loop thread: a batch was applied in part; steps called so far are refused. */
void tk_training_spoil(tinkc_training *training);

/* A path of save_state: TINKC_E_INVALID for NULL, anything else, or a sampler's path. */
TK_NODISCARD tinkc_code tk_training_check_path(const char *path, tk_err *err);

#endif
