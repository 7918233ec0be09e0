/* Tables on standard output. A table is fitted to the terminal; elsewhere it keeps one
 * line per row. The table copies its texts and shows what a server sent without control
 * characters. Thread: the main one. */
#ifndef CLI_CMD_TABLE_H
#define CLI_CMD_TABLE_H

#include "cli/frame/cmd_out.h"

typedef struct cmd_table cmd_table;

/* Makes a table with n columns, whose titles are borrowed. Returns NULL when memory ran
 * out; every function below accepts that, and cmd_table_print reports it. */
cmd_table *cmd_table_new(const char *const *columns, size_t n);

/* Makes a table with the columns "Property" and "Value". */
cmd_table *cmd_table_properties(void);

/* Sets the line above the table. */
void cmd_table_title(cmd_table *table, const char *format, ...) TINKC_PRINTF(2, 3);

/* Adds the next cell, from left to right and row by row. NULL is an empty cell. */
void cmd_table_put(cmd_table *table, const char *text);
void cmd_table_printf(cmd_table *table, const char *format, ...) TINKC_PRINTF(2, 3);

/* Adds a row of two cells. */
void cmd_table_row(cmd_table *table, const char *name, const char *value);

/* Shows the table and frees it. Returns CMD_FAILED after an error line when memory ran
 * out. */
int cmd_table_print(cmd_table **table, const cmd_args *args);
void cmd_table_free(cmd_table **table);

#endif
