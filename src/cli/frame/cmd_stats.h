/* --stats: what the service of a command did, in numbers, on standard error when it ends.
 * Thread: the main one. */
#ifndef CLI_CMD_STATS_H
#define CLI_CMD_STATS_H

#include <tinkc/service.h>

#include "cli/frame/cmd.h"

/* Counts what the service does, if --stats was given. */
void cmd_stats_start(tinkc_service *service, const cmd_args *args);

/* Shows it: a table, or one line of JSON with --format json and jsonl. Once. */
void cmd_stats_end(void);

#endif
