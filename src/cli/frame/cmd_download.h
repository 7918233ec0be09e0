/* Shared by what downloads: progress on standard error, an end with Ctrl-C. */
#ifndef CLI_CMD_DOWNLOAD_H
#define CLI_CMD_DOWNLOAD_H

#include <tinkc/download.h>

#include "cli/frame/cmd.h"

/* Options with that progress; a cut transfer is taken up again, unless --set max_retries
 * says how often. */
tinkc_download_options cmd_download_options(const cmd_args *args);

/* What a download that ended with this code failed at, in words. */
const char *cmd_download_failed(tinkc_code code);

#endif
