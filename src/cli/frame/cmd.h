/* What a command of the program is, and what it may use: its arguments, error lines and
 * exit codes, and Ctrl-C.
 *
 * A command is a cmd_spec: a name, one line of help, a table of options and a function.
 * Help, parsing, usage errors, manual pages, docs/cli.md and completion are made from it.
 * A name of two words ("checkpoint list") belongs to a group, whose help lists its
 * commands. src/cli/README.md says how to add a command.
 *
 * Results go to standard output (cmd_table.h, cmd_json.h, cmd_listing.h), everything else
 * to standard error. Commands use public headers and base/ only. Thread: the main one. */
#ifndef CLI_CMD_H
#define CLI_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tinkc/error.h>
#include <tinkc/service.h>

/* Exit codes of the program. */
enum {
    CMD_OK = 0,
    CMD_FAILED = 1,       /* the work failed, or a part of it */
    CMD_USAGE = 2,        /* the command line is wrong; nothing was done */
    CMD_INTERRUPTED = 130 /* Ctrl-C */
};

typedef enum cmd_kind {
    CMD_FLAG, /* no value */
    CMD_TEXT,
    CMD_SECRET, /* text that the list of processes stops showing */
    CMD_INT,    /* checked by the parser, like the two below */
    CMD_NUMBER, /* a real number */
    CMD_CHOICE  /* one of the words in `value`, separated by bars */
} cmd_kind;

typedef struct cmd_option {
    const char *name; /* without dashes; NULL ends a table of options */
    char letter;      /* short form, or 0 */
    cmd_kind kind;
    const char *value; /* its name in the help, "FILE"; CMD_CHOICE: "table|json" */
    const char *help;  /* one line */
    bool repeats;      /* every value counts; otherwise the last one does */
} cmd_option;

typedef struct cmd_args cmd_args;

/* What a text of the user names (cmd_resolve.h). */
typedef enum cmd_want {
    CMD_ANYTHING,   /* nothing of the server */
    CMD_BASE,       /* a base model */
    CMD_MODEL,      /* a base model, or a checkpoint to sample from */
    CMD_SAMPLER,    /* a checkpoint to sample from */
    CMD_TRAINING,   /* a checkpoint to train on */
    CMD_CHECKPOINT, /* a checkpoint */
    CMD_EXACT,      /* a checkpoint that no other one can be taken for */
    CMD_RUN         /* a training run */
} cmd_want;

typedef struct cmd_spec {
    const char *name;     /* "version", "checkpoint list" */
    const char *operands; /* as the usage line shows them: "[FILE]"; "" = none */
    size_t min_operands, max_operands;
    cmd_want wants;            /* `ask`: what each operand names */
    const char *help;          /* one line, for the list of commands */
    const char *more;          /* more text for its own --help, or NULL */
    const char *examples;      /* command lines, one per line, or NULL */
    const cmd_option *options; /* or NULL; --help and the global options always work */

    /* Checks what the parser cannot: CMD_OK, or CMD_USAGE after cmd_bad_usage. NULL:
     * there is nothing to check. */
    int (*check)(const cmd_args *args);
    /* Does the work and returns the exit code. A command has one of the two: `ask` gets a
     * service made from the global options, which is closed afterwards. */
    int (*run)(const cmd_args *args);
    int (*ask)(const cmd_args *args, tinkc_service *service);
} cmd_spec;

/* A group: the first word of commands that have two. A NULL name ends a table. */
typedef struct cmd_group {
    const char *name, *help;
} cmd_group;

/* ---- arguments (cmd_args.c) ----
 *
 * Options are found by name, the command's own before the global ones (`serve` has its
 * own
 * --api-key). Texts are borrowed from argv. */

bool cmd_has(const cmd_args *args, const char *option);

/* Returns the last value given, or `fallback`. */
const char *cmd_text(const cmd_args *args, const char *option, const char *fallback);
int64_t cmd_int(const cmd_args *args, const char *option, int64_t fallback);
double cmd_number(const cmd_args *args, const char *option, double fallback);

/* Returns how many values an option that repeats has, and the one at `index`. */
size_t cmd_count(const cmd_args *args, const char *option);
const char *cmd_at(const cmd_args *args, const char *option, size_t index);

/* Returns the number of operands, and the one at `index`; NULL after the last. In `ask`
 * an operand is what it names (cmd_spec.wants): cmd_typed returns what the user wrote. */
size_t cmd_operands(const cmd_args *args);
const char *cmd_operand(const cmd_args *args, size_t index);
const char *cmd_typed(const cmd_args *args, size_t index);

typedef enum cmd_format { CMD_TABLE, CMD_JSON, CMD_JSONL } cmd_format;

/* Returns how results are to be shown (--format), and whether that is JSON. */
cmd_format cmd_format_of(const cmd_args *args);
bool cmd_wants_json(const cmd_args *args);

/* ---- failing (cmd_fail.c) ---- */

/* Writes "Error: TEXT" to standard error; returns CMD_FAILED. */
int cmd_fail(const char *format, ...) TINKC_PRINTF(1, 2);

/* Writes a second line, "Hint: HINT", too. */
int cmd_fail_hint(const char *hint, const char *format, ...) TINKC_PRINTF(2, 3);

/* Reports a failed call of the library: the text, if any, the kind of failure, the
 * error's message, and a hint that depends on its code; with --verbose also code, status,
 * request id and causes. Frees *error. Returns CMD_FAILED, or CMD_INTERRUPTED after
 * Ctrl-C. */
int cmd_fail_error(tinkc_error **error, const char *format, ...) TINKC_PRINTF(2, 3);

/* Reports bad input, for which no server is to blame, as "WHAT: MESSAGE". Frees *error.
 * Returns CMD_FAILED. */
int cmd_fail_input(tinkc_error **error, const char *what);

/* Reports a failure of another server than the Tinker service: "WHAT: MESSAGE", the hint
 * (or NULL), and details with --verbose. Frees *error. Returns CMD_FAILED or
 * CMD_INTERRUPTED. */
int cmd_fail_elsewhere(tinkc_error **error, const char *what, const char *hint);

/* Until the next call, for a step that a command can do without: the text of a failure goes
 * to `out`, and no error line is written. NULL: they are written again. */
void cmd_fail_keep(char *out, size_t size);

/* Returns what to do about a failure with this code, or about this failure; static, NULL
 * when there is no advice. */
const char *cmd_hint(tinkc_code code);
const char *cmd_hint_of(const tinkc_error *error);

/* Writes the usage line and "Error: TEXT" to standard error; returns CMD_USAGE. For what
 * the parser cannot know, such as options that exclude each other. */
int cmd_bad_usage(const cmd_args *args, const char *format, ...) TINKC_PRINTF(2, 3);

/* Reports the message of *error as a usage error and frees it; returns CMD_USAGE. */
int cmd_bad_value(const cmd_args *args, tinkc_error **error);

/* ---- Ctrl-C (cmd_signal.c) ----
 *
 * By default Ctrl-C ends the program at once with CMD_INTERRUPTED. A command that has
 * something to clean up catches it. */

/* From now on the first Ctrl-C (or SIGTERM) is only noted; the second Ctrl-C ends the
 * program. */
void cmd_signal_catch(void);

/* Sets what the second Ctrl-C says before it ends the program: one line, without its
 * end. */
void cmd_signal_words(const char *text);

/* Forgets what was noted; the next Ctrl-C ends the program again. */
void cmd_signal_release(void);

/* Returns whether one was noted. The command then cleans up and returns
 * CMD_INTERRUPTED. */
bool cmd_interrupted(void);

/* ---- running (cmd.c) ---- */

/* Runs the program: reads the global options, finds the command, reads its options and
 * runs it. Both tables are in the order in which the help shows them; `commands` ends in
 * NULL. Returns the exit code: CMD_FAILED instead of success when output could not be
 * written (a full disk, a closed pipe). */
int cmd_main(const cmd_spec *const *commands, const cmd_group *groups, int argc,
             char *const *argv);

#endif
