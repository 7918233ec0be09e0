/* Lines that a person types. On a terminal libedit, when the machine has it, gives editing
 * and a history, which is kept in a file; otherwise lines are read as they come. One
 * reader at a time. Thread: the main one. */
#ifndef CLI_CMD_LINE_H
#define CLI_CMD_LINE_H

#include "base/buf.h"

typedef enum cmd_line_result {
    CMD_LINE_READ,
    CMD_LINE_OVER,    /* the end of input, or Ctrl-D */
    CMD_LINE_DROPPED, /* Ctrl-C dropped what was typed */
    CMD_LINE_STOPPED  /* Ctrl-C, and nothing was typed */
} cmd_line_result;

/* Starts reading. `history`: the name of the file of the history in the user's state
 * directory. */
void cmd_line_begin(const char *history);

/* Shows the prompt, if standard input and output are a terminal, and reads a line into
 * `line`, without its line end and followed by a NUL. A line that is too long is read to its
 * end, and line->failure is set. Ctrl-C is a result only where there is an editor;
 * otherwise it ends the program. */
cmd_line_result cmd_line_next(tk_buf *line, const char *prompt);

/* Saves the history. */
void cmd_line_end(void);

#endif
