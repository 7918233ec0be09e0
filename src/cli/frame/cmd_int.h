/* Shared by the parser, the help and the dispatcher, and by the tools that print the
 * tables; other commands see cmd.h only. */
#ifndef CLI_CMD_INT_H
#define CLI_CMD_INT_H

#include <stdarg.h>

#include "cli/frame/cmd.h"

typedef struct cmd_value {
    const cmd_option *option;
    const char *text; /* NULL for a flag; borrowed from argv, or `copy` */
    char *copy;       /* CMD_SECRET: owned; else NULL */
    int64_t integer;
    double number;
} cmd_value;

struct cmd_args {
    const cmd_spec *const *commands;
    const cmd_group *groups;
    const cmd_spec *command; /* NULL while global options are read */
    cmd_value *values;       /* owned, room for argc */
    size_t n_values;
    const char **operands; /* owned, room for argc */
    char **meant;          /* owned, as are its texts; NULL: the operand as it is */
    size_t n_operands;
    bool wants_help;
};

/* The global options, which are accepted before and after the name of the command. Ends
 * in a NULL name. */
extern const cmd_option cmd_globals[];

/* Returns the help of the group whose name is the first n bytes of `name`, or "". */
const char *cmd_group_help(const cmd_group *groups, const char *name, size_t n);

/* Returns the command `word` of the group (NULL: without one), or NULL. */
const cmd_spec *cmd_find(const cmd_args *args, const char *group, const char *word);

/* Refuses a word that is not a command, with the one that was probably meant. Returns
 * CMD_USAGE. */
int cmd_no_such(const cmd_args *args, const char *group, const char *word);

bool cmd_is_group(const cmd_args *args, const char *word);

/* Sets whether error lines show details (-v). */
void cmd_fail_set_verbose(bool verbose);

/* Makes Ctrl-C end the program with 130, and a closed pipe an error of the write. */
void cmd_signal_init(void);

/* Reads options (of args->command, or the global ones while that is NULL) and operands
 * from argv[*at], and moves *at. Global options end at the first operand. Returns false
 * after a usage error was written. */
bool cmd_args_parse(cmd_args *args, int *at, int argc, char *const *argv);

/* Wipes and frees the copies of secrets. */
void cmd_args_dispose(cmd_args *args);

void cmd_help_program(const cmd_args *args);
void cmd_help_group(const cmd_args *args, const char *group);
void cmd_help_command(const cmd_spec *command);
void cmd_help_usage(const cmd_spec *command, bool to_errors); /* the one line */

/* cmd_bad_usage with a va_list; command may be NULL. */
int cmd_vbad_usage(const cmd_spec *command, const char *format, va_list list)
    TINKC_PRINTF(2, 0);

#endif
