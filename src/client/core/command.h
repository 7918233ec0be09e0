/* Runs the credential command on a separate thread, so that a slow one does not stop
 * the loop. Loop thread only. */
#ifndef CLIENT_COMMAND_H
#define CLIENT_COMMAND_H

#include "base/thread.h"
#include "http/loop.h"

typedef struct tk_command tk_command;

/* `output` is what the command printed, trimmed, at most 64 KiB; empty when it printed
 * nothing or could not be started. Borrowed for the time of the call. `is_late`: it was
 * killed because its time was over. */
typedef void (*tk_command_fn)(void *user, tk_str output, bool is_late);

typedef struct tk_command_spec {
    tk_loop *loop;
    const char *text;   /* for /bin/sh */
    int64_t timeout_ms; /* -1: none */
    tk_command_fn done; /* called once, on the loop's thread */
    void *user;
} tk_command_spec;

TK_NODISCARD tinkc_code tk_command_start(tk_command **out, const tk_command_spec *spec,
                                         tk_err *err);

/* Kills it if it still runs, and frees it; `done` is not called any more. Does not wait
 * for processes that left the command's group and hold its output open, and at most a
 * second for the command. Sets *command to NULL; accepts NULL. */
void tk_command_stop(tk_command **command);

#endif
