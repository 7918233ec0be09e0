/* The loop of `tinkc train`, `dpo` and `distill`: steps, checkpoints and evaluations, submitted in order and
 * ahead of their results, so that the server never waits for the client. Thread: the main
 * one. */
#ifndef CLI_TRAIN_RUN_H
#define CLI_TRAIN_RUN_H

#include <tinkc/training.h>

#include "cli/data/data_set.h"
#include "cli/frame/cmd_picture.h"
#include "cli/train/train_goal.h"
#include "cli/train/train_loss.h"
#include "cli/train/train_metrics.h"
#include "cli/train/train_plan.h"
#include "cli/train/train_state.h"
#include "cli/train/train_watch.h"

/* What a run tells while it goes on. Any may be NULL. */
typedef struct train_events {
    void (*on_step)(void *user, const train_record *record);
    /* It now waits for an evaluation or a checkpoint after `step` steps. */
    void (*on_eval_begin)(void *user, size_t step);
    void (*on_eval)(void *user, size_t step, double loss);
    void (*on_save)(void *user, size_t step);
    /* A stop was noticed: steps up to `step` are finished, then a checkpoint is saved. */
    void (*on_stop)(void *user, size_t step);
    /* The loss explodes (run->watch), or is not a number. Called once. */
    void (*on_alarm)(void *user, const train_record *record);
    void *user;
} train_events;

typedef struct train_run {
    /* input, borrowed */
    tinkc_service *service;
    tinkc_training *training;
    const train_goal *goal;
    const data_set *data, *eval; /* eval may have no rows */
    size_t rows_each;            /* of these sets that a row of the plan has: 1, or 2 */
    train_plan *plan;
    tinkc_adam_params adam; /* its learning rate comes from the plan */
    const char *name;       /* of the checkpoints */
    size_t save_every;      /* steps; 0: only at the end */
    size_t eval_every;      /* steps; 0: only at the start and at the end */
    const char *state_path;
    double suited_rate;       /* that of --lr auto */
    int64_t budget;           /* tokens of the service; negative: no limit */
    bool (*is_stopped)(void); /* called a few times a second */
    train_events events;
    /* owned by the caller, updated here */
    train_state *state; /* its arena owns the paths of checkpoints */
    train_curve curve;
    cmd_picture picture; /* of the curve, with this title: */
    const char *title;
    train_metrics metrics;
    train_loss loss;
    train_watch watch;
    /* results */
    size_t first;             /* steps done before this run */
    size_t submitted;         /* steps */
    size_t tokens;            /* input tokens of the steps of this run */
    double seconds;           /* duration of these steps */
    train_totals before;      /* of earlier runs, when this one was resumed */
    double eval_last;         /* NaN: not measured */
    train_record eval_record; /* of the last evaluation */
    bool was_stopped;
    bool is_used_up;      /* stopped because the budget is too small for the next step */
    bool eval_is_missing; /* it was too small for the last evaluation */
    tinkc_error *error;   /* owned: of a failed call; or: */
    tk_err err;
} train_run;

/* Trains from state->step to the last step or to a stop, after which a checkpoint is
 * saved, too. On failure either `error` or `err` has the reason, and the state file names
 * the last checkpoint. */
TK_NODISCARD tinkc_code train_run_all(train_run *run);

/* ---- for goals ---- */

/* Makes the datums of a batch from the rows of a set, of which each row of the plan has
 * `each`. On failure there are none. */
TK_NODISCARD tinkc_code train_run_data(train_run *run, train_batch *batch,
                                       const data_set *set, size_t each);

/* Waits for the end of an operation; its error becomes that of the run. A stop is only
 * noted, because results in flight are still taken. */
TK_NODISCARD tinkc_code train_run_wait(train_run *run, tinkc_future *future);

#endif
