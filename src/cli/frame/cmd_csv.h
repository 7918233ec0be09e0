/* CSV as the official program writes it: RFC 4180, with quotes only where they are
 * needed. */
#ifndef CLI_CMD_CSV_H
#define CLI_CMD_CSV_H

#include "base/buf.h"

/* Appends a cell, and the end of the row after the last one. */
void cmd_csv_put(tk_buf *to, const char *text, bool is_last);

/* Writes the text to a file, with a note about the number of rows on standard error, or
 * to standard output for "-"; disposes of it. Returns the exit code. */
int cmd_csv_write(const char *path, tk_buf *csv, size_t rows);

#endif
