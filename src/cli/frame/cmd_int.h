/* Shared by the parser, the help and the dispatcher; commands see cmd.h only. */
#ifndef CLI_CMD_INT_H
#define CLI_CMD_INT_H

#include <stdarg.h>

#include "cli/frame/cmd.h"

typedef struct cmd_value {
    const cmd_option *option;
    const char *text; /* NULL for a flag; borrowed from argv */
    int64_t integer;
    double number;
} cmd_value;

struct cmd_args {
    const cmd_spec *const *table;
    const cmd_spec *command; /* NULL while global options are read */
    cmd_value *values;       /* owned, room for argc */
    size_t n_values;
    const char **operands; /* owned, room for argc */
    size_t n_operands;
    bool wants_help;
};

/* Options of the program: before or behind the name of the command. Ends in a NULL name.
 */
extern const cmd_option cmd_globals[];

/* What a group is about, or "". */
const char *cmd_list_group_help(const char *group, size_t n);

/* How many -v there were: what error lines say. */
void cmd_fail_set_verbose(bool verbose);

/* Ctrl-C ends the program with 130, a closed pipe is an error of the write. */
void cmd_signal_init(void);

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
