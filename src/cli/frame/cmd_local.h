/* The private server of --local, or of the base URL "local": this executable as
 * `serve --private` on the user's data directory, or the server that already runs there.
 * A process uses at most one.
 *
 * Every command that uses it holds a read lock on the file "users" of the directory. A
 * private server waits for the write lock, which it gets when the last command has ended,
 * however that happened, and then stops. A command takes its lock before it looks for a
 * server, so that it cannot find one that is about to stop. */
#ifndef CLI_CMD_LOCAL_H
#define CLI_CMD_LOCAL_H

#include "cli/frame/cmd.h"

/* A server, until cmd_local_end. */
typedef struct cmd_local {
    const char *url;
    const char
        *key; /* that only the owner of the data directory can read; NULL: the server
                        made none, and the user's own key is for it */
} cmd_local;

/* Returns the default data directory of a server: $XDG_DATA_HOME/tinkc or
 * ~/.local/share/tinkc. The caller frees it with tk_free. NULL when HOME is not set or
 * memory ran out. */
char *cmd_local_data(void);

/* Finds or starts a server. Returns CMD_OK, or another exit code after an error line. A
 * second call gives the same server. */
int cmd_local_start(cmd_local *out, const cmd_args *args);

/* Returns whether this process uses a server of --local now. */
bool cmd_local_is_used(void);

/* Returns the URL of that server; "" without one. */
const char *cmd_local_url(void);

/* Releases the server. If this process started it and no other command uses it, waits
 * until it has stopped. */
void cmd_local_end(void);

/* Called in the private server: sends it SIGTERM when no command uses `data` any more.
 * Returns false when that cannot be watched. */
bool cmd_local_watch(const char *data);

#endif
