/* A picture of curves that is rewritten while a run goes on, so that a viewer which
 * follows the file shows it live. Thread: one. */
#ifndef CLI_CMD_PICTURE_H
#define CLI_CMD_PICTURE_H

#include "cli/frame/cmd_plot.h"

typedef struct cmd_picture {
    const char *path; /* borrowed; NULL: there is no picture, and nothing is written */
    int64_t next_ns;  /* not before */
} cmd_picture;

/* Rewrites the file when the last time was long enough ago: two seconds, or a hundred times
 * what writing took. Call it after each step. A failure is ignored, because the run goes on
 * and the last cmd_picture_write reports it. */
void cmd_picture_update(cmd_picture *picture, const cmd_plot *plot);

/* Writes the file now. Returns CMD_OK, or CMD_FAILED after an error line. */
int cmd_picture_write(const cmd_picture *picture, const cmd_plot *plot);

#endif
