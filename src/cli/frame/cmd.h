/* What a command of the program is: one row of the table in cmd_list.c, with a name, one
 * line of help, its options and a function.
 *
 * To add a command: write cmd_<name>.c with `const cmd_spec cmd_<name>`, declare it in
 * cmd_list.h, add it to the table. Help, parsing, error lines, manual pages and
 * completion come from the row. A name may have two words ("checkpoint list"): the first
 * then is a group, whose help lists its commands. Results go to standard output through
 * cmd_out.h, a service comes from cmd_service.h. Commands see public headers and base/
 * only. Thread: the main one. */
#ifndef CLI_CMD_H
#define CLI_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tinkc/error.h>

/* Exit codes of the program. */
enum {
    CMD_OK = 0,
    CMD_FAILED = 1,       /* what was asked for did not work */
    CMD_USAGE = 2,        /* it was not asked for in a way that we understand */
    CMD_INTERRUPTED = 130 /* Ctrl-C */
};

typedef enum cmd_kind {
    CMD_FLAG, /* no value */
    CMD_TEXT,
    CMD_INT,    /* checked by the parser, as are the two below */
    CMD_NUMBER, /* a real number */
    CMD_CHOICE  /* one of the words in `value`, between bars */
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
    const char *examples;      /* command lines, one per line, or NULL */
    const cmd_option *options; /* or NULL; --help, -h and the global ones are always there
                                */
    int (*run)(const cmd_args *args);
} cmd_spec;

/* ---- what a command asks of its arguments ----
 *
 * By the name of an option, the command's own or a global one; where both have it
 * (`serve --api-key`), the command's own counts. */

bool cmd_has(const cmd_args *args, const char *option);

/* The last value given, or `fallback`. Borrowed from argv. */
const char *cmd_text(const cmd_args *args, const char *option, const char *fallback);
int64_t cmd_int(const cmd_args *args, const char *option, int64_t fallback);
double cmd_number(const cmd_args *args, const char *option, double fallback);

/* Of an option that repeats: how many values there are, and the one at `index`. */
size_t cmd_count(const cmd_args *args, const char *option);
const char *cmd_at(const cmd_args *args, const char *option, size_t index);

/* Operands; NULL behind the last one. */
size_t cmd_operands(const cmd_args *args);
const char *cmd_operand(const cmd_args *args, size_t index);

typedef enum cmd_format { CMD_TABLE, CMD_JSON, CMD_JSONL } cmd_format;

/* How results are shown: --format. */
cmd_format cmd_format_of(const cmd_args *args);

/* Whether that is JSON of either form. */
bool cmd_wants_json(const cmd_args *args);

/* ---- how a command ends ---- */

/* "Error: TEXT" on standard error; returns CMD_FAILED. */
int cmd_fail(const char *format, ...) TINKC_PRINTF(1, 2);

/* The same, with a second line "Hint: HINT". */
int cmd_fail_hint(const char *hint, const char *format, ...) TINKC_PRINTF(2, 3);

/* The same for a failed call of the library: the text, if any, what kind of failure it
 * is, the error's message, and a hint by its code; with --verbose also code, status,
 * request id and causes. Frees *error. CMD_FAILED, or CMD_INTERRUPTED after Ctrl-C. */
int cmd_fail_error(tinkc_error **error, const char *format, ...) TINKC_PRINTF(2, 3);

/* The same where the input was bad and no server is to blame: only "WHAT: MESSAGE". Frees
 * *error. */
int cmd_fail_input(tinkc_error **error, const char *what);

/* The same where another server than ours is to blame: "WHAT: MESSAGE", the hint (or
 * NULL), and with --verbose the details. Frees *error. CMD_FAILED or CMD_INTERRUPTED. */
int cmd_fail_elsewhere(tinkc_error **error, const char *what, const char *hint);

/* What to do about a failure of this kind, and about this one; static, NULL when there is
 * nothing to say. */
const char *cmd_hint(tinkc_code code);
const char *cmd_hint_of(const tinkc_error *error);

/* The usage line, then "Error: TEXT", on standard error; returns CMD_USAGE. For what the
 * parser cannot know, such as options that exclude each other. */
int cmd_bad_usage(const cmd_args *args, const char *format, ...) TINKC_PRINTF(2, 3);

/* ---- Ctrl-C ----
 *
 * It ends the program at once with CMD_INTERRUPTED, unless the command has something to
 * clean up and says so first. */

/* From now on the first Ctrl-C (or SIGTERM) is only noted; the second one ends the
 * program. */
void cmd_signal_catch(void);

/* The opposite: what was noted is forgotten, the next one ends the program. */
void cmd_signal_release(void);

/* Whether there was one. Whoever sees it cleans up and returns CMD_INTERRUPTED. */
bool cmd_interrupted(void);

/* ---- the table and its dispatcher ---- */

/* Runs the program: global options, a command of the table, its options. `table` ends in
 * NULL and is in the order in which the help shows it. Output that could not be written
 * (a full disk, a closed pipe) makes CMD_FAILED out of success. */
int cmd_main(const cmd_spec *const *table, int argc, char *const *argv);

#endif
