/* Shared by the parser, the help and the dispatcher; commands see cmd.h only. */
#ifndef CLI_CMD_INT_H
#define CLI_CMD_INT_H

#include <stdarg.h>

#include "cli/cmd.h"

typedef struct cmd_value {
    const cmd_option *option;
    const char *text; /* NULL for a flag; borrowed from argv */
    int64_t integer;
} cmd_value;

struct cmd_args {
    const cmd_spec *const *table;
    const cmd_spec *command; /* NULL while global options are read */
    cmd_value *values;       /* owned, room for argc */
    size_t n_values;
    const char **operands; /* owned, room for argc */
    size_t n_operands;
    bool wants_json;
    bool wants_help;
};

/* --help, --version, --format: before the name of the command. Ends in a NULL name. */
extern const cmd_option cmd_globals[];

/* Reads options (of args->command, or the global ones while that is NULL) and operands
 * from argv[*at], and moves *at. Global options end at the first operand. False after
 * having said what is wrong. */
bool cmd_args_parse(cmd_args *args, int *at, int argc, char *const *argv);

void cmd_help_program(const cmd_spec *const *table);
void cmd_help_group(const cmd_spec *const *table, const char *group);
void cmd_help_command(const cmd_spec *command);
void cmd_help_usage(const cmd_spec *command, bool to_errors); /* the one line */

/* cmd_bad_usage with a va_list; command may be NULL. */
int cmd_vbad_usage(const cmd_spec *command, const char *format, va_list list)
    TINKC_PRINTF(2, 0);

#endif
