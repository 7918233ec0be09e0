/* --stats: the metrics of a command's service, on standard error when it ends. Thread:
 * the main one. */
#ifndef CLI_CMD_STATS_H
#define CLI_CMD_STATS_H

#include <tinkc/service.h>

#include "cli/frame/cmd.h"

/* Starts to measure the service, if --stats was given. */
void cmd_stats_start(tinkc_service *service, const cmd_args *args);

/* Shows the metrics once: as a table, or in one line of JSON with --format json and
 * jsonl. */
void cmd_stats_end(void);

#endif
