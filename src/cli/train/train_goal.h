/* What a run optimizes. The loop (train_run.h) is the same for all: rows of a plan, a batch
 * of datums, an optimizer step, evaluations, checkpoints. A goal makes the datums of a batch,
 * sends it, and says what its result means. Thread: the main one. */
#ifndef CLI_TRAIN_GOAL_H
#define CLI_TRAIN_GOAL_H

#include <tinkc/training.h>

#include "cli/train/train_metrics.h"

struct train_run;

/* A batch on its way. */
typedef struct train_batch {
    size_t slot;        /* 0 to AHEAD - 1: of two batches in flight each has its own */
    size_t step;        /* from 1; 0: held-out data */
    const size_t *rows; /* of the plan; NULL: all held-out rows, in order */
    size_t n_rows;
    tinkc_datum **data; /* room for n_rows * each; made by the goal, freed by the loop */
    size_t n;
    size_t tokens; /* of their inputs */
    double weight; /* sum of the weights of all tokens */
} train_batch;

typedef struct train_goal {
    const char *measure; /* for people: "loss" */
    const char *key;     /* in metrics and JSON: "loss" */
    const char *axis;    /* of the curve: "loss (nats per token)" */
    size_t each;         /* most datums of a row */
    size_t ahead;        /* steps in flight, 1 or TRAIN_AHEAD */
    size_t passes;       /* over a batch that a budget counts; 0: one */

    /* Makes batch->data, n, tokens and weight. On failure there is no datum;
     * TINKC_E_BUDGET stops the run as a step that does not fit the budget does. */
    tinkc_code (*make)(struct train_run *run, train_batch *batch);
    /* Sends the batch: its gradients are added at the server. */
    tinkc_future *(*submit)(struct train_run *run, const train_batch *batch);
    /* Reads the result of a batch, or of a forward pass over held-out data, into loss and
     * extras of the record. */
    tinkc_code (*read)(struct train_run *run, const train_batch *batch,
                       const tinkc_fwdbwd *result, train_record *record);
    /* Evaluates held-out data itself, with the weights as they are; TINKC_E_BUDGET stops the
     * run. NULL: a forward pass. */
    tinkc_code (*evaluate)(struct train_run *run, train_record *record);
    void *user;
} train_goal;

#define TRAIN_AHEAD 2

/* Cross entropy of lines: `tinkc train`. */
extern const train_goal train_goal_lines;

#endif
