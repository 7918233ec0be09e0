/* The loop of `tinkc rl`: episodes, one or more optimizer steps on what was better than the
 * rest of its group, the next weights for the agents; evaluations and checkpoints between.
 *
 * With overlap, the episodes of a step run while the step before is trained: they come from
 * weights that are one step older, never more. Thread: the main one. */
#ifndef CLI_RL_RUN_H
#define CLI_RL_RUN_H

#include "cli/frame/cmd_plot.h"
#include "cli/rl/rl_rollout.h"
#include "cli/rl/rl_state.h"
#include "cli/train/train_plan.h"

#define RL_SUBSTEPS_MAX 64

/* A step that is done. */
typedef struct rl_record {
    size_t step; /* from 1 */
    tinkc_rl_counts counts;
    bool has_gap; /* false: nothing was trained */
    tinkc_rl_gap gap;
    double loss, seconds;
    int64_t lag; /* versions that the episodes were older than the weights */
    const rl_outcome *outcome;
} rl_record;

typedef struct rl_events { /* any may be NULL */
    void (*on_step)(void *user, const rl_record *record);
    void (*on_eval_begin)(void *user, size_t step);
    void (*on_eval)(void *user, size_t step, const rl_outcome *outcome);
    void (*on_save)(void *user, size_t step);
    void *user;
} rl_events;

/* The curve: mean reward of each step, and of held-out tasks. */
enum { RL_LINE_STEPS, RL_LINE_EVAL, RL_LINES };

typedef struct rl_run {
    /* input, borrowed */
    tinkc_service *service;
    tinkc_training *training;
    rl_rollout *rollout;
    const rl_tasks *tasks, *eval; /* eval may have none */
    train_plan *plan;
    const rl_numbers *numbers;
    const char *loss, *name; /* name: of the checkpoints */
    const char *state_path;
    rl_lines *metrics;
    rl_events events;
    /* updated */
    rl_state *state;
    cmd_plot_line curve[RL_LINES];
    /* results */
    double eval_last; /* NaN: not measured */
    double seconds;   /* of this program */
    size_t done;      /* steps of this program */
    bool was_stopped;
    tinkc_error *error; /* owned: of a failed call; or: */
    tk_err err;
} rl_run;

/* Trains from state->step to the last step or to a stop, after which a checkpoint is saved,
 * too. On failure either `error` or `err` has the reason. */
TK_NODISCARD tinkc_code rl_run_all(rl_run *run);

#endif
