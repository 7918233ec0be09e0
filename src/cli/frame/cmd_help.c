/* Help and usage lines, made from the tables of commands and groups. Help goes to
 * standard output, usage errors to standard error. */
#include <stdio.h>
#include <string.h>

#include "cli/frame/cmd_int.h"
#include "cli/frame/cmd_print.h"

/* Width of the left column of a list. After a longer entry the text starts on the next
 * line. */
#define COLUMN 26

static void row(const char *left, const char *right)
{
    bool is_long = strlen(left) > COLUMN;
    if (is_long) {
        cmd_print(stdout, "  %s\n%*s%s\n", left, COLUMN + 3, "", right);
    } else {
        cmd_print(stdout, "  %-*s %s\n", COLUMN, left, right);
    }
}

static void list_options(const cmd_option *options)
{
    cmd_print(stdout, "\nOptions:\n");
    for (; options != NULL && options->name != NULL; options++) {
        char left[128];
        int n = options->letter != 0
                    ? snprintf(left, sizeof(left), "-%c, ", options->letter)
                    : snprintf(left, sizeof(left), "    ");
        (void)snprintf(left + n, sizeof(left) - (size_t)n, "--%s%s%s%s", options->name,
                       options->value != NULL ? " " : "",
                       options->value != NULL ? options->value : "",
                       options->value != NULL && options->repeats ? "..." : "");
        row(left, options->help);
    }
    row("-h, --help", "Show this text and exit.");
}

/* Length of the first word of a name. */
static int first_word(const char *name)
{
    return (int)strcspn(name, " ");
}

void cmd_help_usage(const cmd_spec *command, bool to_errors)
{
    FILE *to = to_errors ? stderr : stdout;
    if (command == NULL) {
        cmd_print(to, "Usage: tinkc [OPTIONS] COMMAND [ARGS]...\n");
        return;
    }
    cmd_print(to, "Usage: tinkc %s [OPTIONS]%s%s\n", command->name,
              command->operands[0] != '\0' ? " " : "", command->operands);
}

const char *cmd_group_help(const cmd_group *groups, const char *name, size_t n)
{
    for (; groups->name != NULL; groups++) {
        if (strlen(groups->name) == n && memcmp(groups->name, name, n) == 0) {
            return groups->help;
        }
    }
    return "";
}

void cmd_help_program(const cmd_args *args)
{
    cmd_help_usage(NULL, false);
    cmd_print(stdout, "\nTinker in C: train, sample and serve language models.\n");
    list_options(cmd_globals);
    cmd_print(stdout, "\nCommands:\n");
    const char *group = "";
    for (const cmd_spec *const *at = args->commands; *at != NULL; at++) {
        const char *name = (*at)->name;
        int n = first_word(name);
        if (name[n] == '\0') {
            row(name, (*at)->help);
        } else if (strncmp(group, name, (size_t)n + 1) != 0) {
            char left[64];
            (void)snprintf(left, sizeof(left), "%.*s ...", n, name);
            row(left, cmd_group_help(args->groups, name, (size_t)n));
            group = name;
        }
    }
    cmd_print(stdout, "\nRun 'tinkc help COMMAND' for the options of a command.\n");
}

void cmd_help_group(const cmd_args *args, const char *group)
{
    size_t n = strlen(group);
    cmd_print(stdout, "Usage: tinkc %s COMMAND [ARGS]...\n\n%s\n\nCommands:\n", group,
              cmd_group_help(args->groups, group, n));
    for (const cmd_spec *const *at = args->commands; *at != NULL; at++) {
        if (strncmp((*at)->name, group, n) == 0 && (*at)->name[n] == ' ') {
            row((*at)->name + n + 1, (*at)->help);
        }
    }
}

void cmd_help_command(const cmd_spec *command)
{
    cmd_help_usage(command, false);
    cmd_print(stdout, "\n%s\n", command->help);
    if (command->more != NULL) {
        cmd_print(stdout, "\n");
        cmd_print_lines(stdout, tk_str_of(command->more));
        cmd_print(stdout, "\n");
    }
    list_options(command->options);
    cmd_print(stdout, "\nThe options of 'tinkc --help' also work here.\n");
    if (command->examples != NULL) {
        cmd_print(stdout, "\nExamples:\n");
        for (const char *line = command->examples; *line != '\0';) {
            int size = (int)strcspn(line, "\n");
            cmd_print(stdout, "  %.*s\n", size, line);
            line += size + (line[size] == '\n');
        }
    }
}

int cmd_vbad_usage(const cmd_spec *command, const char *format, va_list list)
{
    cmd_help_usage(command, true);
    cmd_print(stderr,
              "Try 'tinkc%s%s --help' for help.\n\nError: ", command != NULL ? " " : "",
              command != NULL ? command->name : "");
    cmd_print_va(stderr, format, list);
    cmd_print(stderr, "\n");
    return CMD_USAGE;
}

int cmd_bad_usage(const cmd_args *args, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int code = cmd_vbad_usage(args->command, format, list);
    va_end(list);
    return code;
}

int cmd_bad_value(const cmd_args *args, tinkc_error **error)
{
    int code = cmd_bad_usage(args, "%s.", tinkc_error_message(*error));
    tinkc_error_free(error);
    return code;
}
