/* Finds checkpoints and runs by a part of what they are called, in the lists of the
 * server. cmd_resolve.h says what the texts mean. */
#ifndef CLI_CMD_LOOKUP_H
#define CLI_CMD_LOOKUP_H

#include "cli/frame/cmd.h"

typedef struct cmd_lookup {
    char *path;   /* NULL: none; the caller frees it with tk_free */
    bool by_name; /* not by the id of its run */
} cmd_lookup;

/* Looks for NAME, NAME@STEP, NAME@latest, RUN or RUN/NAME. `want`: CMD_SAMPLER and
 * CMD_CHECKPOINT prefer weights for sampling to weights for training, CMD_TRAINING takes
 * only the latter, CMD_EXACT refuses when there are two. Returns CMD_OK, also when there is
 * none, or another exit code after an error line. */
int cmd_lookup_checkpoint(cmd_lookup *out, tinkc_service *service, const char *typed,
                          cmd_want want);

/* Returns the name of the checkpoint that was probably meant, which the caller frees with
 * tk_free. NULL: none is like it, or the server has no list. The name of a checkpoint of
 * which only the step does not exist is like it. */
char *cmd_lookup_similar(tinkc_service *service, const char *typed);

/* Gives the id of the run that starts with `typed`; `typed` itself when none does or the
 * server has no list. */
int cmd_lookup_run(char **out, tinkc_service *service, const char *typed);

#endif
