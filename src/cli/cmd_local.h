/* The private server of --local, or of the base URL "local": our own executable as
 * `serve --port 0` on the user's data directory for the life of the command, or the
 * server that already runs on it. At most one per process. It dies with us, however we
 * die. */
#ifndef CLI_CMD_LOCAL_H
#define CLI_CMD_LOCAL_H

#include "cli/cmd.h"

/* Where a server keeps its data by default: $XDG_DATA_HOME/tinkc or ~/.local/share/tinkc.
 * The caller frees it with tk_free. NULL: neither HOME nor memory. */
char *cmd_local_data(void);

/* The URL of a server that answers; the caller frees it with tk_free. CMD_OK, or another
 * exit code after having said what is wrong. A second call gives the same server. */
int cmd_local_start(char **url, const cmd_args *args);

/* Stops what was started here and waits for its end; nothing otherwise. */
void cmd_local_end(void);

#endif
