/* Shared by the files of the command `tinkc train`: its options (cmd_train_options.c) and
 * its output (cmd_train_out.c). The training itself is in train_run.h. */
#ifndef CLI_CMD_TRAIN_H
#define CLI_CMD_TRAIN_H

#include "cli/frame/cmd.h"
#include "cli/train/train_run.h"

#define TRAIN_LR_AUTO "auto"

extern const cmd_option cmd_train_options[];

/* The settings as numbers. */
typedef struct train_numbers {
    int64_t rank, warmup, batch, epochs, steps, max_length;
    uint64_t seed;
    double rate, clip, decay;
    train_schedule schedule;
    tinkc_loss_on loss_on;
} train_numbers;

/* Give the settings and the habits of the command line; NULL where one is not given
 * (--lr auto counts as not given). */
void cmd_train_given(const char **out, const cmd_args *args);
void cmd_train_habits(const char **out, const cmd_args *args);

/* Parses settings (NULL: the default; a rate of 0: --lr auto). Returns CMD_USAGE after an
 * error line. */
int cmd_train_parse(train_numbers *out, const char *const *settings,
                    const cmd_args *args);

/* ---- standard error ---- */

/* Shows a warning of the run. */
void cmd_train_warn(const char *text);

/* Shows what will be trained, and how. `parameters`: what --lr auto was computed from; 0:
 * not known; negative: --lr was given. */
void cmd_train_intro(const train_run *run, const char *model,
                     const train_numbers *numbers, double parameters);

/* Returns the events that show a run: steps on a terminal in one line that changes in
 * place, elsewhere in about twenty lines for the whole run; evaluations in lines, what a
 * stop does, and a loss that goes wrong. */
train_events cmd_train_events(train_run *run);

/* Writes the likely cause of a loss that goes wrong into `out` and returns it. */
const char *cmd_train_cause(char out[256], const train_run *run);

/* Show command lines to paste: what can be done with the weights of a finished run, and
 * how one that stopped is continued. */
void cmd_train_next(const train_run *run, const char *model, const cmd_args *args);
void cmd_train_continue(const cmd_args *args);

/* ---- standard output ---- */

/* Shows the losses, the curve and the checkpoints of a finished run. */
int cmd_train_summary(train_run *run, const char *model, size_t from_step,
                      const cmd_args *args);

#endif
