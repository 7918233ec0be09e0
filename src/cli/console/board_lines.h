/* The lines of a file that grows: each call reads what was added. A file that became shorter
 * or another one (a resumed run replaces its files) is read from its beginning again.
 * Thread: one at a time. */
#ifndef CLI_BOARD_LINES_H
#define CLI_BOARD_LINES_H

#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

#define BOARD_LINE_MAX_BYTES ((size_t)32 * TK_MIB) /* longer lines are skipped */

typedef struct board_lines {
    const char *path; /* borrowed */
    uint64_t at;      /* all before it was read */
    int64_t mtime_ms; /* of the last look; 0 = there was none */
    dev_t device;
    ino_t inode;
    bool is_long; /* inside a line that is too long */
} board_lines;

/* Calls `each` for every whole line after the last one, with its place in the file, until it
 * returns false (then it is asked for again). *restarted: what was read before is no longer
 * so; nothing was read yet, the next call begins. TINKC_E_MISSING, TINKC_E_IO, TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code board_lines_read(board_lines *lines, bool *restarted,
                                         bool (*each)(void *user, tk_str line,
                                                      uint64_t offset),
                                         void *user, tk_err *err);

/* Reads n bytes at a place that `each` gave. The caller frees *out with tk_free. */
TK_NODISCARD tinkc_code board_lines_at(char **out, const char *path, uint64_t offset,
                                       size_t n, tk_err *err);

#endif
