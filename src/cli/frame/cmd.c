/* The dispatcher: from the command line to the exit code. Finds the command in the table,
 * has its arguments read and checked, and runs it, with a service if it asks for one.
 * Owns nothing that outlives cmd_main. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <tinkc/version.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/similar.h"
#include "cli/frame/cmd_int.h"
#include "cli/frame/cmd_paste.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_service.h"
#include "cli/frame/cmd_waits.h"

/* Returns whether `name` is `first` and one more word, which *second then points to. */
static bool is_in_group(const char *name, const char *first, const char **second)
{
    size_t n = strlen(first);
    if (n == 0 || strncmp(name, first, n) != 0 || name[n] != ' ') {
        return false;
    }
    *second = name + n + 1;
    return true;
}

bool cmd_is_group(const cmd_args *args, const char *word)
{
    return cmd_group_help(args->groups, word, strlen(word))[0] != '\0';
}

const cmd_spec *cmd_find(const cmd_args *args, const char *group, const char *word)
{
    for (const cmd_spec *const *at = args->commands; *at != NULL; at++) {
        const char *name = (*at)->name;
        if (group != NULL && !is_in_group(name, group, &name)) {
            continue;
        }
        if (strcmp(name, word) == 0) {
            return *at;
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

int cmd_no_such(const cmd_args *args, const char *group, const char *word)
{
    tk_similar search = {.typed = tk_str_of(word)};
    for (const cmd_group *at = args->groups; group == NULL && at->name != NULL; at++) {
        tk_similar_try(&search, at->name);
    }
    for (const cmd_spec *const *at = args->commands; *at != NULL; at++) {
        const char *name = (*at)->name;
        if (group == NULL || is_in_group(name, group, &name)) {
            tk_similar_try(&search, name);
        }
    }
    const char *blank = group != NULL ? " " : "";
    group = group != NULL ? group : "";
    cmd_print(stderr,
              "Usage: tinkc %s%s%sCOMMAND [ARGS]...\nTry 'tinkc %s%s--help' for help.\n\n"
              "Error: No such command '%s%s%s'.",
              blank[0] == '\0' ? "[OPTIONS] " : "", group, blank, group, blank, group,
              blank, word);
    if (search.best != NULL) {
        cmd_print(stderr, " Did you mean '%s%s%s'?", group, blank, search.best);
    }
    cmd_print(stderr, "\n");
    return CMD_USAGE;
}

/* Finds the command and moves *at past its name. Returns false, with the exit code in
 * *code, when there is nothing to run: the help of a group was asked for, or there is no
 * such command. */
static bool choose(cmd_args *args, int *at, int argc, char *const *argv, int *code)
{
    const char *word = argv[*at];
    *code = CMD_OK;
    if (!cmd_is_group(args, word)) {
        args->command = cmd_find(args, NULL, word);
        *at += 1;
        if (args->command == NULL) {
            *code = cmd_no_such(args, NULL, word);
        }
        return args->command != NULL;
    }
    const char *second = *at + 1 < argc ? argv[*at + 1] : NULL;
    if (second == NULL || strcmp(second, "--help") == 0 || strcmp(second, "-h") == 0) {
        cmd_help_group(args, word);
        *code = second == NULL ? CMD_USAGE : CMD_OK;
        return false;
    }
    args->command = cmd_find(args, word, second);
    *at += 2;
    if (args->command == NULL) {
        *code = cmd_no_such(args, word, second);
    }
    return args->command != NULL;
}

static int show_version(void)
{
    cmd_print(stdout, "tinkc %s\n", tinkc_version());
    return CMD_OK;
}

static int do_work(const cmd_args *args)
{
    const cmd_spec *command = args->command;
    int code = command->check != NULL ? command->check(args) : CMD_OK;
    if (code != CMD_OK) {
        return code;
    }
    return command->ask != NULL ? cmd_service_ask(args, command->ask)
                                : command->run(args);
}

/* Returns the names of the operands after the first `given` ones. */
static const char *missing_operands(const char *names, size_t given)
{
    for (size_t i = 0; i < given; i++) {
        const char *blank = strchr(names, ' ');
        names = blank != NULL ? blank + 1 : names;
    }
    return names;
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
        const char *missing = missing_operands(command->operands, args->n_operands);
        size_t n = strlen(missing);
        n -= n > 3 && strcmp(missing + n - 3, "...") == 0 ? 3 : 0;
        return bad_usage(command, "Missing argument: %.*s.", (int)n, missing);
    }
    if (args->n_operands > command->max_operands) {
        return bad_usage(command, "Got unexpected extra argument (%s).",
                         args->operands[command->max_operands]);
    }
    cmd_fail_set_verbose(cmd_has(args, "verbose"));
    cmd_paste_server(args);
    int code = do_work(args);
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
        cmd_help_program(args);
        return args->wants_help ? CMD_OK : CMD_USAGE;
    }
    int code;
    return choose(args, &at, argc, argv, &code) ? run_command(args, at, argc, argv)
                                                : code;
}

/* A reader that has seen enough closes its pipe: no error line is needed then. */
static bool is_closed_pipe(void)
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
    return is_closed_pipe() ? CMD_FAILED : cmd_fail("cannot write the output");
}

int cmd_main(const cmd_spec *const *commands, const cmd_group *groups, int argc,
             char *const *argv)
{
    cmd_signal_init();
    cmd_waits_init();
    cmd_paste_program(argc > 0 ? argv[0] : NULL);
    size_t room = argc > 0 ? (size_t)argc : 1;
    cmd_args args = {.commands = commands, .groups = groups};
    args.values = tk_zarray(room, sizeof(*args.values));
    args.operands = tk_zarray(room, sizeof(*args.operands));
    args.meant = tk_zarray(room, sizeof(*args.meant));
    int code;
    if (args.values == NULL || args.operands == NULL || args.meant == NULL) {
        code = cmd_fail("out of memory");
    } else {
        code = run(&args, argc, argv);
    }
    cmd_paste_server(NULL);
    cmd_args_dispose(&args);
    tk_free(args.values);
    tk_free(args.operands);
    tk_free(args.meant);
    return flush(code);
}
