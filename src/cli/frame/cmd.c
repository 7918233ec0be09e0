/* The dispatcher: finds the command in the table, has its arguments read, runs it, and
 * turns the outcome into an exit code. Owns nothing that outlives cmd_main. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <tinkc/version.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/frame/cmd_int.h"
#include "cli/frame/cmd_waits.h"

/* Whether `name` is `first` followed by one more word, which starts at *second then. */
static bool is_in_group(const char *name, const char *first, const char **second)
{
    size_t n = strlen(first);
    if (n == 0 || strncmp(name, first, n) != 0 || name[n] != ' ') {
        return false;
    }
    *second = name + n + 1;
    return true;
}

static bool is_group(const cmd_spec *const *table, const char *word)
{
    const char *second = NULL;
    for (; *table != NULL; table++) {
        if (is_in_group((*table)->name, word, &second)) {
            return true;
        }
    }
    return false;
}

static const cmd_spec *find(const cmd_spec *const *table, const char *group,
                            const char *word)
{
    for (; *table != NULL; table++) {
        const char *name = (*table)->name;
        if (group != NULL && !is_in_group(name, group, &name)) {
            continue;
        }
        if (strcmp(name, word) == 0) {
            return *table;
        }
    }
    return NULL;
}

static int bad_usage(const cmd_spec *command, const char *format, ...) TINKC_PRINTF(2, 3);

static int bad_usage(const cmd_spec *command, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int code = cmd_vbad_usage(command, format, list);
    va_end(list);
    return code;
}

/* Moves *at behind the command's name. False with *code set when there is nothing to
 * run: help was asked for, or there is no such command. */
static bool choose(cmd_args *args, int *at, int argc, char *const *argv, int *code)
{
    const char *word = argv[*at];
    *code = CMD_OK;
    if (!is_group(args->table, word)) {
        args->command = find(args->table, NULL, word);
        *at += 1;
        if (args->command == NULL) {
            *code = bad_usage(NULL, "No such command '%s'.", word);
        }
        return args->command != NULL;
    }
    const char *second = *at + 1 < argc ? argv[*at + 1] : NULL;
    if (second == NULL || strcmp(second, "--help") == 0 || strcmp(second, "-h") == 0) {
        cmd_help_group(args->table, word);
        *code = second == NULL ? CMD_USAGE : CMD_OK;
        return false;
    }
    args->command = find(args->table, word, second);
    *at += 2;
    if (args->command == NULL) {
        *code = bad_usage(NULL, "No such command '%s %s'.", word, second);
    }
    return args->command != NULL;
}

static int show_version(void)
{
    printf("tinkc %s\n", tinkc_version());
    return CMD_OK;
}

static int run_command(cmd_args *args, int at, int argc, char *const *argv)
{
    const cmd_spec *command = args->command;
    if (!cmd_args_parse(args, &at, argc, argv)) {
        return CMD_USAGE;
    }
    if (args->wants_help) {
        cmd_help_command(command);
        return CMD_OK;
    }
    if (cmd_has(args, "version")) {
        return show_version();
    }
    if (args->n_operands < command->min_operands) {
        return bad_usage(command, "Missing argument: %s.", command->operands);
    }
    if (args->n_operands > command->max_operands) {
        return bad_usage(command, "Got unexpected extra argument (%s).",
                         args->operands[command->max_operands]);
    }
    cmd_fail_set_verbose(cmd_has(args, "verbose"));
    int code = command->run(args);
    return cmd_interrupted() ? CMD_INTERRUPTED : code;
}

static int run(cmd_args *args, int argc, char *const *argv)
{
    int at = 1;
    if (!cmd_args_parse(args, &at, argc, argv)) {
        return CMD_USAGE;
    }
    if (cmd_has(args, "version")) {
        return show_version();
    }
    if (args->wants_help || at >= argc) {
        cmd_help_program(args->table);
        return args->wants_help ? CMD_OK : CMD_USAGE;
    }
    int code;
    return choose(args, &at, argc, argv, &code) ? run_command(args, at, argc, argv)
                                                : code;
}

/* A reader that has seen enough closes its pipe: that needs no words. */
static bool is_unread(void)
{
    struct pollfd out = {STDOUT_FILENO, POLLOUT, 0};
    return poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0;
}

static int flush(int code)
{
    bool is_lost = ferror(stdout) != 0;
    is_lost = fflush(stdout) != 0 || is_lost;
    if (!is_lost || code != CMD_OK) {
        return code;
    }
    return is_unread() ? CMD_FAILED : cmd_fail("cannot write the output");
}

int cmd_main(const cmd_spec *const *table, int argc, char *const *argv)
{
    cmd_signal_init();
    cmd_waits_init();
    size_t room = argc > 0 ? (size_t)argc : 1;
    cmd_args args = {.table = table};
    args.values = tk_zarray(room, sizeof(*args.values));
    args.operands = tk_zarray(room, sizeof(*args.operands));
    int code;
    if (args.values == NULL || args.operands == NULL) {
        code = cmd_fail("out of memory");
    } else {
        code = run(&args, argc, argv);
    }
    tk_free(args.values);
    tk_free(args.operands);
    return flush(code);
}
