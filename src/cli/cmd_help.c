/* Help, usage and error lines: everything the program says about itself, made from the
 * table of commands. Help goes to standard output, errors to standard error. */
#include <stdio.h>
#include <string.h>

#include "cli/cmd_int.h"

/* Width of the left column of a list; longer entries push theirs to the right. */
#define COLUMN 26

static void row(const char *left, const char *right)
{
    printf("  %-*s %s\n", COLUMN, left, right);
}

static void list_options(const cmd_option *options)
{
    printf("\nOptions:\n");
    for (; options != NULL && options->name != NULL; options++) {
        char left[128];
        int n = options->letter != 0
                    ? snprintf(left, sizeof(left), "-%c, ", options->letter)
                    : snprintf(left, sizeof(left), "    ");
        (void)snprintf(left + n, sizeof(left) - (size_t)n, "--%s%s%s", options->name,
                       options->value != NULL ? " " : "",
                       options->value != NULL ? options->value : "");
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
            printf("  %.*s ...\n", n, name);
            group = name;
        }
    }
    printf("\n'tinkc COMMAND --help' says more about one of them.\n");
}

void cmd_help_group(const cmd_spec *const *table, const char *group)
{
    printf("Usage: tinkc %s COMMAND [ARGS]...\n\nCommands:\n", group);
    size_t n = strlen(group);
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

int cmd_fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fprintf(stderr, "Error: ");
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    return CMD_FAILED;
}

int cmd_fail_error(tinkc_error **error, const char *format, ...)
{
    fprintf(stderr, "Error: ");
    if (format != NULL && format[0] != '\0') {
        va_list list;
        va_start(list, format);
        vfprintf(stderr, format, list);
        va_end(list);
        fprintf(stderr, ": ");
    }
    fprintf(stderr, "%s\n", tinkc_error_message(*error));
    tinkc_error_free(error);
    return CMD_FAILED;
}
