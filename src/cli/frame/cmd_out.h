/* Results on standard output: tables for people, JSON and JSON lines for programs; and
 * progress on standard error.
 *
 * A table is fitted to the terminal; when it goes elsewhere it keeps one line per row.
 * Colour only on a terminal and without NO_COLOR or --no-color; box characters only where
 * the locale says UTF-8, otherwise everything is ASCII. Texts of the server are shown
 * without control characters. JSON is ASCII always. Thread: the main one. */
#ifndef CLI_CMD_OUT_H
#define CLI_CMD_OUT_H

#include "base/buf.h"
#include "base/json.h"
#include "cli/frame/cmd.h"

/* ---- what the terminal can do ---- */

bool cmd_out_is_utf8(void); /* the locale's character set */
bool cmd_out_has_color(const cmd_args *args);

/* Columns of the terminal that standard output is; 0: it is none, take what you need. */
size_t cmd_out_width(void);

/* Columns that text takes; control characters and bytes that are no UTF-8 count as one.
 */
size_t cmd_out_columns(tk_str text);

/* Appends text as the terminal may show it: scrubbed, and ASCII (with \uXXXX) where the
 * locale is not UTF-8. */
void cmd_out_put_safe(tk_buf *out, tk_str text);

/* ---- words for values ---- */

#define CMD_WORD_BYTES 48

/* "1.2 GB"; "N/A" below 0. */
const char *cmd_out_size(char out[CMD_WORD_BYTES], int64_t bytes);

/* "2 hours ago", "in 3 days", "2026-07-13"; "N/A" for TINKC_NO_TIME. */
const char *cmd_out_time(char out[CMD_WORD_BYTES], int64_t time_us);

/* ---- tables ---- */

typedef struct cmd_table cmd_table;

/* Columns are n static texts. NULL when out of memory, as all functions below accept. */
cmd_table *cmd_table_new(const char *const *columns, size_t n);
void cmd_table_title(cmd_table *table, const char *format, ...) TINKC_PRINTF(2, 3);

/* The next cell, left to right, row by row; copied. NULL text is an empty cell. */
void cmd_table_put(cmd_table *table, const char *text);
void cmd_table_printf(cmd_table *table, const char *format, ...) TINKC_PRINTF(2, 3);

/* A row of two cells, for tables of properties. */
void cmd_table_row(cmd_table *table, const char *name, const char *value);

/* Shows the table and frees it. CMD_FAILED after having said so when memory ran out. */
int cmd_table_print(cmd_table **table, const cmd_args *args);
void cmd_table_free(cmd_table **table);

/* "Property" and "Value". */
cmd_table *cmd_table_properties(void);

/* ---- JSON ----
 *
 * Write with tk_json_* to .w. With --format json a document is shown in lines with two
 * blanks of indent per level, as the official program does; with jsonl in one line. */

typedef struct cmd_json {
    tk_buf buf;
    tk_json_writer w;
} cmd_json;

void cmd_json_init(cmd_json *json);
void cmd_json_dispose(cmd_json *json); /* not needed after cmd_json_print */

void cmd_json_key(cmd_json *json, const char *key);
void cmd_json_text(cmd_json *json, const char *text); /* NULL: null */
void cmd_json_time(cmd_json *json, int64_t time_us);  /* RFC 3339; none: null */
void cmd_json_count(cmd_json *json, int64_t value);   /* below 0: null */
void cmd_json_pair(cmd_json *json, const char *key, const char *text);

/* Lays a compact JSON text out, in lines or in one; appends it to *out. */
void cmd_json_layout(tk_buf *out, tk_str text, bool in_lines);

/* Shows the one value that was written, and frees it. */
int cmd_json_print(cmd_json *json, const cmd_args *args);

/* Shows it as one line at once and clears it for the next: an item of a list with
 * --format jsonl. False when nobody reads any more. */
bool cmd_json_line(cmd_json *json);

/* ---- progress ----
 *
 * One line on standard error that changes in place, on a terminal only. */

/* Shows `text` unless the last one was shown a moment ago. */
void cmd_progress(const char *format, ...) TINKC_PRINTF(1, 2);

/* Takes the line away again; before anything else is written there. */
void cmd_progress_end(void);

/* ---- questions ---- */

typedef enum cmd_answer { CMD_NO, CMD_YES, CMD_NO_ANSWER } cmd_answer;

/* Asks on standard error and reads a line of standard input: y or yes is yes, the end of
 * input is no answer, anything else is no. */
cmd_answer cmd_confirm(const char *format, ...) TINKC_PRINTF(1, 2);

#endif
