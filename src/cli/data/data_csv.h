/* Rows of CSV: RFC 4180, and what Python's csv module accepts beside it (quotes inside a
 * cell that does not begin with one). The rows were cut by data_split.h. Thread: one. */
#ifndef CLI_DATA_CSV_H
#define CLI_DATA_CSV_H

#include "base/arena.h"

typedef struct data_row_cells {
    tk_str *cells; /* in the arena */
    size_t n;
} data_row_cells;

/* Divides a row into cells. *problem is NULL, or what is wrong with the row (static).
 * Returns false when memory ran out. */
bool data_csv_row(data_row_cells *out, const char **problem, tk_arena *arena, tk_str row,
                  char separator);

/* Returns the separator that divides this header into the most cells: a comma, a
 * semicolon or a tab. */
char data_csv_separator(tk_str header);

#endif
