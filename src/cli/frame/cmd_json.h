/* JSON on standard output. A command writes one value with tk_json_* to `w` and prints
 * it:
 * --format json lays it out in lines with two blanks of indent per level, as the official
 * program does, and --format jsonl in one line. The output is always ASCII. Thread: the
 * main one. */
#ifndef CLI_CMD_JSON_H
#define CLI_CMD_JSON_H

#include "base/json.h"
#include "cli/frame/cmd_out.h"

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
void cmd_json_real(cmd_json *json, double value);     /* NaN and infinite: null */
void cmd_json_pair(cmd_json *json, const char *key, const char *text);

/* Appends a compact JSON text to *out, laid out in lines or in one. */
void cmd_json_layout(tk_buf *out, tk_str text, bool in_lines);

/* Shows the one value that was written, and frees it. */
int cmd_json_print(cmd_json *json, const cmd_args *args);

/* Replaces the file `path` with the one value that was written, in one line, and frees
 * the value. Returns CMD_FAILED after an error line. */
int cmd_json_save(cmd_json *json, const char *path);

/* Adds the one value that was written to the file `path`, as a line after those that are
 * there, and frees the value. Returns CMD_FAILED after an error line. */
int cmd_json_append(cmd_json *json, const char *path);

/* Shows the value as one line at once and clears it for the next: an item of a list with
 * --format jsonl. Returns false when standard output is closed. */
bool cmd_json_line(cmd_json *json);

#endif
