/* Shared by the files of the command `tinkc rl`: what it shows (cmd_rl_out.c). */
#ifndef CLI_CMD_RL_H
#define CLI_CMD_RL_H

#include "cli/frame/cmd.h"
#include "cli/rl/rl_run.h"

/* Shows what will be trained. */
void cmd_rl_intro(const rl_run *run, const char *model);

/* Returns the events that show a run, and the function for single episodes
 * (rl_rollout.on_episode; its user is the run). */
rl_events cmd_rl_events(rl_run *run);
void cmd_rl_on_episode(void *user, const rl_outcome *so_far, size_t total);

/* Returns the drawing of the rewards; it borrows the run and the title. */
cmd_plot cmd_rl_plot(rl_run *run, const char *title);

/* Shows the result of a finished run on standard output. */
int cmd_rl_summary(rl_run *run, const char *model, const cmd_args *args);

/* Shows how a run that stopped is continued. */
void cmd_rl_continue(const cmd_args *args);

#endif
