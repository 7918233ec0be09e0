/* Runs the credential command on a separate thread, so that a slow one does not stop
 * the loop. Loop thread only. */
#ifndef CLIENT_COMMAND_H
#define CLIENT_COMMAND_H

#include "base/thread.h"
#include "http/loop.h"

typedef struct tk_command tk_command;

/* `output` is what the command printed, trimmed, at most 64 KiB; empty when it printed
 * nothing or could not be started. Borrowed for the time of the call. */
typedef void (*tk_command_fn)(void *user, tk_str output);

/* Starts `text` with /bin/sh; `done` is called on the loop's thread. */
TK_NODISCARD tinkc_code tk_command_start(tk_command **out, tk_loop *loop,
                                         const char *text, tk_command_fn done, void *user,
                                         tk_err *err);

/* Kills it if it still runs, and frees it; `done` is not called any more. Sets *command
 * to NULL; accepts NULL. */
void tk_command_stop(tk_command **command);

#endif
