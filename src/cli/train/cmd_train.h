/* Shared by the files of the command `tinkc train`: its options (cmd_train_options.c) and
 * its output (cmd_train_out.c). The training itself is in train_run.h. */
#ifndef CLI_CMD_TRAIN_H
#define CLI_CMD_TRAIN_H

#include "cli/frame/cmd.h"
#include "cli/train/train_run.h"

extern const cmd_option cmd_train_options[];

/* The settings as numbers. */
typedef struct train_numbers {
    int64_t rank, warmup, batch, epochs, steps, max_length;
    uint64_t seed;
    double rate, clip, decay;
    train_schedule schedule;
    tinkc_loss_on loss_on;
} train_numbers;

/* Gives the settings of the command line; NULL where one is not given. */
void cmd_train_given(const char **out, const cmd_args *args);

/* Parses settings (NULL: the default). Returns CMD_USAGE after an error line. */
int cmd_train_parse(train_numbers *out, const char *const *settings,
                    const cmd_args *args);

/* ---- standard error ---- */

/* Shows a warning of the run. */
void cmd_train_warn(const char *text);

/* Shows a step: on a terminal in one line that changes in place, elsewhere in about
 * twenty lines for the whole run. `user` is the train_run. */
void cmd_train_progress(void *user, const train_record *record);

/* ---- standard output ---- */

/* Shows the losses, the curve and the checkpoints of a finished run. */
int cmd_train_summary(const train_run *run, const char *model, size_t from_step,
                      const cmd_args *args);

#endif
