/* The goal of `tinkc train`: the cross entropy of the trained tokens.
 * Needs: text */
#include "cli/train/train_goal.h"

#include "cli/train/train_run.h"

static tinkc_code make(train_run *run, train_batch *batch)
{
    const data_set *set = batch->rows != NULL ? run->data : run->eval;
    return train_run_data(run, batch, set, 1);
}

static tinkc_future *submit(train_run *run, const train_batch *batch)
{
    return tinkc_training_forward_backward(run->training, batch->data, batch->n,
                                           TRAIN_LOSS, NULL);
}

static tinkc_code read(train_run *run, const train_batch *batch,
                       const tinkc_fwdbwd *result, train_record *record)
{
    const train_loss_batch of = {batch->data, batch->n, batch->weight};
    return train_loss_read(&run->loss, result, &of, &record->loss, &run->err);
}

const train_goal train_goal_lines = {.measure = "loss",
                                     .key = "loss",
                                     .axis = "loss (nats per token)",
                                     .each = 1,
                                     .ahead = TRAIN_AHEAD,
                                     .make = make,
                                     .submit = submit,
                                     .read = read};
