/* The metrics of a run as lines of a plot: from a file that `tinkc train --metrics` or
 * `tinkc rl` wrote, or from the recordings of a server (docs/internals/console.md).
 * Thread: the main one. */
#ifndef CLI_CMD_RUN_SERIES_H
#define CLI_CMD_RUN_SERIES_H

#include "cli/frame/cmd.h"
#include "cli/frame/cmd_plot.h"

typedef enum cmd_series_by { CMD_BY_STEP, CMD_BY_TOKENS, CMD_BY_TIME } cmd_series_by;

#define CMD_SERIES_KEYS 512
typedef struct cmd_series {
    const char *metric; /* borrowed */
    cmd_series_by by; /* time in seconds since the first value, tokens since the start */
    cmd_plot_line line;         /* owned; values are added to it */
    char keys[CMD_SERIES_KEYS]; /* metrics that are there, with ", " between them */
} cmd_series;

/* Gives the path of the metrics when `typed` is a file, or a directory with metrics.jsonl in
 * it. The caller frees *out with tk_free; NULL: it is neither. Returns false when memory ran
 * out. */
bool cmd_series_file(char **out, const char *typed);

/* Adds the values of the metrics file. Lines that are not JSON, as the last one of a run that
 * still writes, are ignored. Returns CMD_OK, or CMD_FAILED after an error line. */
int cmd_series_read(cmd_series *series, const char *path);

/* Adds the values that the server recorded of the run, at most a thousand. Returns the same
 * codes. */
int cmd_series_ask(cmd_series *series, tinkc_service *service, const char *run);

#endif
