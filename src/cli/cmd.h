/* What a command of the program is: one row of the table in main.c, with a name, one line
 * of help, its options and a function.
 *
 * To add a command: write cmd_<name>.c with `const cmd_spec cmd_<name>`, declare it
 * below, add it to the table. Help, parsing and error lines come from the row. A name may
 * have two words ("checkpoint list"): the first then is a group, whose help lists its
 * commands. Commands see public headers and base/ only. Thread: the main one. */
#ifndef CLI_CMD_H
#define CLI_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tinkc/error.h>

/* Exit codes of the program. */
enum {
    CMD_OK = 0,
    CMD_FAILED = 1, /* what was asked for did not work */
    CMD_USAGE = 2   /* it was not asked for in a way that we understand */
};

typedef enum cmd_kind {
    CMD_FLAG, /* no value */
    CMD_TEXT,
    CMD_INT,   /* checked by the parser */
    CMD_CHOICE /* one of the words in `value`, between bars */
} cmd_kind;

typedef struct cmd_option {
    const char *name; /* without dashes; NULL ends a list of options */
    char letter;      /* short form, or 0 */
    cmd_kind kind;
    const char *value; /* how the help calls the value: "FILE"; CMD_CHOICE: "table|json"
                        */
    const char *help;  /* one line */
    bool repeats;      /* may be given more than once; otherwise the last one counts */
} cmd_option;

typedef struct cmd_args cmd_args;

typedef struct cmd_spec {
    const char *name;     /* "version", "checkpoint list" */
    const char *operands; /* as the usage line shows them: "[FILE]"; "" = none */
    size_t min_operands, max_operands;
    const char *help;          /* one line, for the list of commands */
    const char *more;          /* further text of its own --help, or NULL */
    const cmd_option *options; /* or NULL; --help and -h are always there */
    int (*run)(const cmd_args *args);
} cmd_spec;

/* ---- what a command asks of its arguments ---- */

bool cmd_has(const cmd_args *args, const char *option);

/* The last value given, or `fallback`. Borrowed from argv. */
const char *cmd_text(const cmd_args *args, const char *option, const char *fallback);
int64_t cmd_int(const cmd_args *args, const char *option, int64_t fallback);

/* Of an option that repeats: how many values there are, and the one at `index`. */
size_t cmd_count(const cmd_args *args, const char *option);
const char *cmd_at(const cmd_args *args, const char *option, size_t index);

/* Operands; NULL behind the last one. */
size_t cmd_operands(const cmd_args *args);
const char *cmd_operand(const cmd_args *args, size_t index);

/* Whether the program was called with --format json. */
bool cmd_wants_json(const cmd_args *args);

/* ---- how a command ends ---- */

/* "Error: TEXT" on standard error; returns CMD_FAILED. */
int cmd_fail(const char *format, ...) TINKC_PRINTF(1, 2);

/* The same for a failed call of the library: the text, if any, then the error's message.
 * Frees *error. */
int cmd_fail_error(tinkc_error **error, const char *format, ...) TINKC_PRINTF(2, 3);

/* The usage line, then "Error: TEXT", on standard error; returns CMD_USAGE. For what the
 * parser cannot know, such as options that exclude each other. */
int cmd_bad_usage(const cmd_args *args, const char *format, ...) TINKC_PRINTF(2, 3);

/* ---- the table and its dispatcher ---- */

/* Runs the program: global options, a command of the table, its options. `table` ends in
 * NULL and is in the order in which the help shows it. Output that could not be written
 * (a full disk, a closed pipe) makes CMD_FAILED out of success. */
int cmd_main(const cmd_spec *const *table, int argc, char *const *argv);

extern const cmd_spec cmd_serve, cmd_render, cmd_tokenize, cmd_detokenize, cmd_version;

#endif
