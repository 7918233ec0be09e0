/* The one way to standard output and standard error: nothing else of src/cli writes there
 * (scripts/check-banned.py). Texts come from servers, models, files and users, and a
 * terminal obeys what it is sent; so control characters (escape sequences, C1, carriage
 * returns), marks that reverse the direction of text, and bytes that are not UTF-8 do not
 * get through, whether the output is a terminal or not. Where the locale is not UTF-8,
 * other characters than ASCII become \uXXXX. Thread: any; a call is one write.
 *
 * At the bottom of a terminal there may be one line that changes in place
 * (cmd_print_line). All other output removes it first. */
#ifndef CLI_CMD_PRINT_H
#define CLI_CMD_PRINT_H

#include <stdarg.h>
#include <stdio.h>

#include "base/str.h"
#include "cli/frame/cmd.h"

/* Writes what printf would. Control characters of the format itself (new lines, colours)
 * are kept; those of the arguments become spaces, so an argument cannot begin a line. */
void cmd_print(FILE *to, const char *format, ...) TINKC_PRINTF(2, 3);
void cmd_print_va(FILE *to, const char *format, va_list list) TINKC_PRINTF(2, 0);

/* Shows the line that changes on standard error, cut to the width of the terminal, or
 * removes it (NULL). No effect when standard error is not a terminal, and none while the
 * last output to a terminal did not end its line: a prompt, or a text that is streamed. */
void cmd_print_line(const char *text);

/* Returns whether that line is shown. A handler of signals may call it. */
bool cmd_print_has_line(void);

/* Writes a text of several lines: new lines and tabs are kept. */
void cmd_print_lines(FILE *to, tk_str text);

/* Writes a result to standard output: byte for byte into a file or a pipe, on a terminal
 * as cmd_print_lines does. */
void cmd_print_bytes(const char *bytes, size_t n);

#endif
