/* Shared by the files of `tinkc train`: what the command line asks for, and how the
 * command shows what happens. */
#ifndef CLI_CMD_TRAIN_H
#define CLI_CMD_TRAIN_H

#include "cli/frame/cmd.h"
#include "cli/train/train_run.h"

/* What the settings say, as numbers. */
typedef struct train_numbers {
    int64_t rank, warmup, batch, epochs, steps, max_length;
    uint64_t seed;
    double rate, clip, decay;
    train_schedule schedule;
    tinkc_loss_on loss_on;
} train_numbers;

/* The settings of the command line; NULL where one is not given. */
void cmd_train_given(const char **out, const cmd_args *args);

/* Texts (NULL: the default) to numbers. CMD_USAGE after having said which is wrong. */
int cmd_train_parse(train_numbers *out, const char *const *settings,
                    const cmd_args *args);

/* ---- what is said on the way, on standard error ---- */

/* Lines of a file that are no good, or doubtful: "FILE:LINE: TEXT". */
typedef struct train_report {
    const char *path;
    size_t problems, warnings;
} train_report;

void cmd_train_say(void *report, size_t line, bool is_problem, const char *text);

/* After the last of them. */
void cmd_train_say_rest(const train_report *report);

/* One line that changes in place on a terminal, a line now and then elsewhere. `user` is
 * the train_run. */
void cmd_train_progress(void *user, const train_record *record);

/* Says what a step waits for, on a terminal, when that takes long. */
void cmd_train_waiting(void *user, const tinkc_future *future);

/* ---- what came out ---- */

int cmd_train_summary(const train_run *run, const char *model, size_t from_step,
                      const cmd_args *args);

#endif
