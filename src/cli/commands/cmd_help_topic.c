/* `tinkc help`: the help of the program, of a group or of a command. */
#include "cli/cmd_list.h"
#include "cli/frame/cmd_int.h"

static int run(const cmd_args *args)
{
    const char *word = cmd_operand(args, 0), *second = cmd_operand(args, 1);
    if (word == NULL) {
        cmd_help_program(args);
        return CMD_OK;
    }
    bool is_group = cmd_is_group(args, word);
    if (is_group && second == NULL) {
        cmd_help_group(args, word);
        return CMD_OK;
    }
    if (!is_group && second != NULL && cmd_find(args, NULL, word) != NULL) {
        return cmd_bad_usage(args, "'%s' has no commands of its own.", word);
    }
    const cmd_spec *command =
        is_group ? cmd_find(args, word, second) : cmd_find(args, NULL, word);
    if (command == NULL) {
        return is_group ? cmd_no_such(args, word, second) : cmd_no_such(args, NULL, word);
    }
    cmd_help_command(command);
    return CMD_OK;
}

const cmd_spec cmd_help_topic = {
    .name = "help",
    .operands = "[COMMAND [SUBCOMMAND]]",
    .max_operands = 2,
    .help = "Show the help of the program or of a command.",
    .examples = "tinkc help train\ntinkc help checkpoint list",
    .run = run,
};
