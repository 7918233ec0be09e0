/* What a person sees on standard error while a command works: one line of progress that
 * changes in place, what it waits for, and questions. Progress appears on a terminal
 * only. Thread: the main one, unless a function says otherwise. */
#ifndef CLI_CMD_PROGRESS_H
#define CLI_CMD_PROGRESS_H

#include <tinkc/future.h>

#include "cli/frame/cmd.h"

/* Shows the line, unless another was shown within the last tenth of a second. */
void cmd_progress(const char *format, ...) TINKC_PRINTF(1, 2);

/* Shows "HEAD [####....] TAIL" in the same way. The bar takes the columns that the texts
 * and a wait leave, and is left out where there are none. `share`: 0 to 1. */
void cmd_progress_bar(double share, const char *head, const char *tail);

/* Adds what is being done to the line, until the next progress ("saving"). */
void cmd_progress_note(const char *text);

/* Adds the memory that the server uses to all lines that follow. Thread: any. */
void cmd_progress_memory(int64_t bytes);

/* Removes the line, when the work that it was about has ended. */
void cmd_progress_end(void);

/* Shows what the program waits for, once `after_ms` have passed since the operation began
 * and since the last progress: on a terminal beside the progress, which stays; elsewhere
 * in lines, each after twice the time of the one before. NULL: for nothing. Call it a few
 * times a second. Thread: any. */
void cmd_progress_wait(const tinkc_wait *wait, int64_t after_ms);

typedef enum cmd_answer { CMD_NO, CMD_YES, CMD_NO_ANSWER } cmd_answer;

/* Asks on standard error and reads a line of standard input. "y" and "yes" mean yes, the
 * end of input counts as a missing answer, and everything else means no. */
cmd_answer cmd_confirm(const char *format, ...) TINKC_PRINTF(1, 2);

#endif
