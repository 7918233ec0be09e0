/* What a person sees on standard error while a command works: one line of progress that
 * changes in place, and questions. Progress appears on a terminal only. Thread: the main
 * one. */
#ifndef CLI_CMD_PROGRESS_H
#define CLI_CMD_PROGRESS_H

#include "cli/frame/cmd.h"

/* Shows the line, unless another was shown within the last tenth of a second. */
void cmd_progress(const char *format, ...) TINKC_PRINTF(1, 2);

/* Removes the line; call it before anything else is written to standard error. */
void cmd_progress_end(void);

typedef enum cmd_answer { CMD_NO, CMD_YES, CMD_NO_ANSWER } cmd_answer;

/* Asks on standard error and reads a line of standard input. "y" and "yes" mean yes, the
 * end of input counts as a missing answer, and everything else means no. */
cmd_answer cmd_confirm(const char *format, ...) TINKC_PRINTF(1, 2);

#endif
