/* Values as text for people: what the terminal can do, and how sizes and times read.
 *
 * Colour appears only on a terminal and without NO_COLOR or --no-color. Characters
 * outside ASCII appear only where the locale is UTF-8. Text that a server sent is shown
 * without control characters. Thread: the main one. */
#ifndef CLI_CMD_OUT_H
#define CLI_CMD_OUT_H

#include "base/buf.h"
#include "cli/frame/cmd.h"

/* ---- the terminal ---- */

/* Returns whether the locale's character set is UTF-8. Thread: any. */
bool cmd_out_is_utf8(void);

/* Returns whether standard output may be coloured. */
bool cmd_out_has_color(const cmd_args *args);

/* Returns the columns of the terminal that the descriptor is; 0 when it is not one, and
 * lines may have any length. */
size_t cmd_out_width(int fd);

/* Returns the columns that text takes. Control characters and bytes that are not UTF-8
 * count as one. */
size_t cmd_out_columns(tk_str text);

/* Appends text as the terminal may show it: without control characters, and in ASCII
 * (with \uXXXX) where the locale is not UTF-8. Thread: any. */
void cmd_out_put_safe(tk_buf *out, tk_str text);

/* ---- sizes and times ---- */

#define CMD_WORD_BYTES 48

/* Writes "1.2 GB" into `out` and returns it; "N/A" below 0. */
const char *cmd_out_size(char out[CMD_WORD_BYTES], int64_t bytes);

/* Writes "2 hours ago", "in 3 days" or "2026-07-13" into `out` and returns it; "N/A" for
 * TINKC_NO_TIME. */
const char *cmd_out_time(char out[CMD_WORD_BYTES], int64_t time_us);

/* Writes a number as JSON has it into `out` and returns it; "" for one that is not
 * finite. */
const char *cmd_out_real(char out[CMD_WORD_BYTES], double value);

#endif
