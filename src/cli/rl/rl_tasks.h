/* A file of tasks: one JSON value on each line, which an agent gets as it is. Thread: any,
 * after it was read. */
#ifndef CLI_RL_TASKS_H
#define CLI_RL_TASKS_H

#include "base/err.h"
#include "base/sha256.h"
#include "base/str.h"

typedef struct rl_tasks {
    tk_str *at; /* owned; they point into `text` */
    size_t n;
    char *text; /* owned */
    char digest[TK_SHA256_HEX_BYTES];
} rl_tasks;

/* Reads the file. TINKC_E_PARSE, with the number of the line: not JSON; TINKC_E_INVALID: no
 * task; TINKC_E_LIMIT, TINKC_E_MISSING, TINKC_E_IO, TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code rl_tasks_read(rl_tasks *out, const char *path, tk_err *err);
void rl_tasks_dispose(rl_tasks *tasks); /* accepts a zeroed one */

#endif
