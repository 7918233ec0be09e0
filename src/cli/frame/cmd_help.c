/* Help, usage and error lines: everything the program says about itself, made from the
 * table of commands. Help goes to standard output, errors to standard error. */
#include <stdio.h>
#include <string.h>

#include "cli/frame/cmd_int.h"

/* Width of the left column of a list; behind a longer entry the text begins in the next
 * line. */
#define COLUMN 26

static void row(const char *left, const char *right)
{
    bool is_long = strlen(left) > COLUMN;
    printf("  %-*s%s%*s%s\n", COLUMN, left, is_long ? "\n" : " ",
           is_long ? COLUMN + 3 : 0, "", right);
}

static void list_options(const cmd_option *options)
{
    printf("\nOptions:\n");
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
        fprintf(to, "Usage: tinkc [OPTIONS] COMMAND [ARGS]...\n");
        return;
    }
    fprintf(to, "Usage: tinkc %s [OPTIONS]%s%s\n", command->name,
            command->operands[0] != '\0' ? " " : "", command->operands);
}

void cmd_help_program(const cmd_spec *const *table)
{
    cmd_help_usage(NULL, false);
    printf("\nTinker in C: train, sample and serve language models.\n");
    list_options(cmd_globals);
    printf("\nCommands:\n");
    const char *group = "";
    for (; *table != NULL; table++) {
        const char *name = (*table)->name;
        int n = first_word(name);
        if (name[n] == '\0') {
            row(name, (*table)->help);
        } else if (strncmp(group, name, (size_t)n + 1) != 0) {
            char left[64];
            (void)snprintf(left, sizeof(left), "%.*s ...", n, name);
            row(left, cmd_list_group_help(name, (size_t)n));
            group = name;
        }
    }
    printf("\n'tinkc COMMAND --help' says more about one of them.\n");
}

void cmd_help_group(const cmd_spec *const *table, const char *group)
{
    size_t n = strlen(group);
    printf("Usage: tinkc %s COMMAND [ARGS]...\n\n%s\n\nCommands:\n", group,
           cmd_list_group_help(group, n));
    for (; *table != NULL; table++) {
        if (strncmp((*table)->name, group, n) == 0 && (*table)->name[n] == ' ') {
            row((*table)->name + n + 1, (*table)->help);
        }
    }
}

void cmd_help_command(const cmd_spec *command)
{
    cmd_help_usage(command, false);
    printf("\n%s\n", command->help);
    if (command->more != NULL) {
        printf("\n%s\n", command->more);
    }
    list_options(command->options);
    printf("\nThe options of 'tinkc --help' may be given here, too.\n");
    if (command->examples != NULL) {
        printf("\nExamples:\n");
        for (const char *line = command->examples; *line != '\0';) {
            int size = (int)strcspn(line, "\n");
            printf("  %.*s\n", size, line);
            line += size + (line[size] == '\n');
        }
    }
}

int cmd_vbad_usage(const cmd_spec *command, const char *format, va_list list)
{
    cmd_help_usage(command, true);
    fprintf(stderr,
            "Try 'tinkc%s%s --help' for help.\n\nError: ", command != NULL ? " " : "",
            command != NULL ? command->name : "");
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
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
