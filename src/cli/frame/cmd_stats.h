/* --stats: the metrics of a command's service, on standard error when it ends, and the
 * memory of its server meanwhile. Thread: the main one, unless a function says
 * otherwise. */
#ifndef CLI_CMD_STATS_H
#define CLI_CMD_STATS_H

#include <tinkc/service.h>

#include "cli/frame/cmd.h"

/* Starts to measure the service, if --stats was given. */
void cmd_stats_start(tinkc_service *service, const cmd_args *args);

/* Asks a server that says how much memory it uses, about once a second, and shows that
 * beside the progress. Does not block. No effect without --stats. Thread: that of the
 * waits (cmd_waits.h). */
void cmd_stats_look(tinkc_service *service);

/* Asks for the last time; for up to a second. After the end of that thread, before the
 * service is closed. Accepts NULL. */
void cmd_stats_last_look(tinkc_service *service);

/* Shows the metrics once: as a table, or in one line of JSON with --format json and
 * jsonl. */
void cmd_stats_end(void);

#endif
