/* An environment: a process of the user's that speaks JSON lines over standard input and
 * output. It reads a line with the task, then one for each action; it answers each with one
 * that has the observation. Thread: one. */
#ifndef CLI_RL_ENV_H
#define CLI_RL_ENV_H

#include <sys/types.h>

#include "base/buf.h"

#define RL_ENV_LINE_BYTES (8 * TK_MIB)

typedef struct rl_env {
    pid_t pid;    /* 0: none */
    int to, from; /* -1: closed */
    int64_t timeout_ms;
    tk_buf lines; /* read, and not taken yet */
    size_t taken;
} rl_env;

/* Starts `/bin/sh -c COMMAND` as a process group. From then on SIGINT, SIGTERM, SIGHUP and
 * SIGQUIT end that, too, so there is one at a time. TINKC_E_IO. The caller closes it, also after a
 * failure. */
TK_NODISCARD tinkc_code rl_env_open(rl_env *env, const char *command, int64_t timeout_ms,
                                    tk_err *err);

/* Sends a line (its end is added), and waits for the one that answers it, which is borrowed
 * until the next call. TINKC_E_IO: it ended, the message says how; TINKC_E_LIMIT: its line
 * is too long; TINKC_E_TIMEOUT. */
TK_NODISCARD tinkc_code rl_env_ask(tk_str *out, rl_env *env, tk_str line, tk_err *err);

/* Closes its standard input, and kills its process group: when the episode is over, as soon
 * as it has ended, at most a second later. */
void rl_env_close(rl_env *env, bool is_over);

#endif
