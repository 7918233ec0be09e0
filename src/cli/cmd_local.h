/* The private server of --local, or of the base URL "local": our own executable as
 * `serve --port 0` for the life of the command, or the server that already runs on the
 * same data. At most one per process. */
#ifndef CLI_CMD_LOCAL_H
#define CLI_CMD_LOCAL_H

#include "cli/cmd.h"

/* The URL of a server that answers; the caller frees it with tk_free. CMD_OK, or another
 * exit code after having said what is wrong. A second call gives the same server. */
int cmd_local_start(char **url, const cmd_args *args);

/* Stops what was started here; nothing otherwise. */
void cmd_local_end(void);

#endif
