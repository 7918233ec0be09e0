/* Shared by the commands that download: progress on standard error, retries and
 * Ctrl-C. */
#ifndef CLI_CMD_DOWNLOAD_H
#define CLI_CMD_DOWNLOAD_H

#include <tinkc/download.h>

#include "cli/frame/cmd.h"

/* Returns options that show progress and stop after Ctrl-C. An interrupted transfer is
 * resumed a few times, or as often as --set max_retries says. */
tinkc_download_options cmd_download_options(const cmd_args *args);

/* Returns the part of a download that failed with this code, in words; static. */
const char *cmd_download_failed(tinkc_code code);

#endif
