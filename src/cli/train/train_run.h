/* The loop of `tinkc train`: steps, checkpoints and measurements, all submitted in order
 * and ahead of their results, so that the server never waits for us. Thread: the main
 * one. */
#ifndef CLI_TRAIN_RUN_H
#define CLI_TRAIN_RUN_H

#include <tinkc/training.h>

#include "cli/train/train_data.h"
#include "cli/train/train_metrics.h"
#include "cli/train/train_plan.h"
#include "cli/train/train_state.h"

typedef struct train_run {
    /* given; borrowed */
    tinkc_service *service;
    tinkc_training *training;
    const train_set *data, *eval; /* eval without rows: not measured */
    train_plan *plan;
    tinkc_adam_params adam; /* the rate is the plan's */
    const char *name;       /* of checkpoints */
    size_t save_every;      /* steps; 0: only at the end */
    size_t eval_every;      /* steps; 0: at the start and at the end */
    const char *state_path;
    int64_t budget;           /* tokens of the service; negative: none */
    bool (*is_stopped)(void); /* asked a few times a second */
    void (*on_step)(void *user, const train_record *record);
    void (*on_wait)(void *user,
                    const tinkc_future *future); /* as often, while it waits */
    void *user;
    /* owned by the caller, kept up to date here */
    train_state *state; /* texts of checkpoints are put into its arena */
    train_curve curve;
    train_metrics metrics;
    /* results */
    size_t first;     /* step that this run began behind */
    size_t tokens;    /* read in the steps of this run */
    double seconds;   /* that they took */
    double eval_last; /* NaN: not measured */
    bool was_stopped;
    bool is_used_up;    /* stopped because the next step does not fit into the budget */
    tinkc_error *error; /* of a call, owned; or: */
    tk_err err;
} train_run;

/* From state->step to the last step, or to a stop, which is saved, too. On failure either
 * `error` or `err` says why; the state file names the last checkpoint. */
TK_NODISCARD tinkc_code train_run_all(train_run *run);

#endif
