/* A file of JSON lines, each with the number of its step: metrics and rollouts. A run that
 * is resumed first removes the lines of the steps that it repeats. Thread: one. */
#ifndef CLI_RL_LINES_H
#define CLI_RL_LINES_H

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

typedef struct rl_lines {
    int fd; /* -1: closed */
    const char *path;
    uint64_t n, max; /* bytes */
} rl_lines;

/* Opens the file, borrowing the path. With `step` 0 it begins empty, else it keeps the lines
 * of steps up to `step`. */
TK_NODISCARD tinkc_code rl_lines_open(rl_lines *out, const char *path, size_t step,
                                      uint64_t max_bytes, tk_err *err);

/* Calls `each` for every line that is an object with a step up to `step`. A missing file has
 * no lines. */
TK_NODISCARD tinkc_code rl_lines_read(const char *path, size_t step,
                                      void (*each)(void *user, size_t step, tk_str line,
                                                   const tk_json *json),
                                      void *user, tk_err *err);

/* Adds a line, which is in the file when this returns. Beyond the limit it does nothing. */
TK_NODISCARD tinkc_code rl_lines_put(rl_lines *lines, tk_str line, tk_err *err);
void rl_lines_close(rl_lines *lines);

#endif
