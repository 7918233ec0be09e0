/* The private server of --local, or of the base URL "local": our own executable as
 * `serve --private` on the user's data directory, or the server that already runs on it.
 * At most one per process. Every command of it holds a read lock on the file "users" of
 * the directory; a private server waits for the write lock and ends when it has it: when
 * the last command is over, however that ended. A command takes its lock before it looks
 * for a server, so that none can be found that is about to end. */
#ifndef CLI_CMD_LOCAL_H
#define CLI_CMD_LOCAL_H

#include "cli/frame/cmd.h"

/* Where a server keeps its data by default: $XDG_DATA_HOME/tinkc or ~/.local/share/tinkc.
 * The caller frees it with tk_free. NULL: neither HOME nor memory. */
char *cmd_local_data(void);

/* The URL of a server that answers; the caller frees it with tk_free. CMD_OK, or another
 * exit code after having said what is wrong. A second call gives the same server. */
int cmd_local_start(char **url, const cmd_args *args);

/* Gives the server up, and waits for its end if it was started here and nobody else uses
 * it. */
void cmd_local_end(void);

/* In the private server itself: sends it SIGTERM when no command uses `data` any more.
 * False: that cannot be watched. */
bool cmd_local_watch(const char *data);

#endif
