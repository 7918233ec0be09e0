/* `tinkc completion bash`: a script that completes commands, options and the values of
 * choices, made from the table of commands. It contains everything: completing runs no
 * program. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "cli/cmd_list.h"
#include "cli/frame/cmd_int.h"
#include "cli/frame/cmd_print.h"

static const cmd_option none[] = {{0}};

static const cmd_option *options_of(const cmd_spec *command)
{
    return command != NULL && command->options != NULL ? command->options : none;
}

static void put_options(const cmd_option *options)
{
    for (; options->name != NULL; options++) {
        cmd_print(stdout, " --%s", options->name);
    }
}

/* Prints the first words of all commands (group NULL), or the second words of a group. */
static void put_words(const char *group)
{
    for (const cmd_spec *const *at = cmd_list; *at != NULL; at++) {
        const char *name = (*at)->name;
        size_t n = strcspn(name, " ");
        bool is_new = at == cmd_list || strncmp(at[-1]->name, name, n + 1) != 0;
        if (group == NULL && is_new) {
            cmd_print(stdout, " %.*s", (int)n, name);
        } else if (group != NULL && strlen(group) == n && strncmp(group, name, n) == 0) {
            cmd_print(stdout, " %s", name + n + 1);
        }
    }
}

/* ---- values of options ---- */

static void put_takers(const cmd_option *options, const char **separator)
{
    for (; options->name != NULL; options++) {
        if (options->kind != CMD_FLAG) {
            cmd_print(stdout, "%s--%s", *separator, options->name);
            *separator = " | ";
            if (options->letter != 0) {
                cmd_print(stdout, " | -%c", options->letter);
            }
        }
    }
}

static void put_value_case(const char *command, const cmd_option *option)
{
    cmd_print(stdout, "    \"%s\":--%s", command, option->name);
    if (option->letter != 0) {
        cmd_print(stdout, " | \"%s\":-%c", command, option->letter);
    }
    cmd_print(stdout, ") ");
    bool is_dir = option->value != NULL && strcmp(option->value, "DIR") == 0;
    bool is_file = option->value != NULL && (strcmp(option->value, "FILE") == 0 ||
                                             strcmp(option->value, "PATH") == 0);
    if (option->kind == CMD_CHOICE) {
        tk_str rest = tk_str_of(option->value);
        cmd_print(stdout, "kind=words words=\"");
        for (const char *blank = ""; rest.p != NULL; blank = " ") {
            tk_str word = tk_str_cut(&rest, '|');
            cmd_print(stdout, "%s" TK_STR_FMT, blank, TK_STR_ARG(word));
        }
        cmd_print(stdout, "\" ;;\n");
    } else {
        cmd_print(stdout, "kind=%s ;;\n",
                  is_dir    ? "dirs"
                  : is_file ? "files"
                            : "nothing");
    }
}

static void put_values(const char *command, const cmd_option *options)
{
    for (; options->name != NULL; options++) {
        if (options->kind != CMD_FLAG) {
            put_value_case(command, options);
        }
    }
}

/* Returns whether the command at `at` is the first of its group. */
static bool opens_group(const cmd_spec *const *at)
{
    const char *name = (*at)->name;
    size_t n = strcspn(name, " ");
    return name[n] == ' ' && (at == cmd_list || strncmp(at[-1]->name, name, n + 1) != 0);
}

static void put_group_names(void)
{
    const char *separator = "";
    for (const cmd_spec *const *at = cmd_list; *at != NULL; at++) {
        if (opens_group(at)) {
            cmd_print(stdout, "%s%.*s", separator, (int)strcspn((*at)->name, " "),
                      (*at)->name);
            separator = " | ";
        }
    }
}

static void put_group_words(void)
{
    for (const cmd_spec *const *at = cmd_list; *at != NULL; at++) {
        if (opens_group(at)) {
            char group[64];
            (void)snprintf(group, sizeof(group), "%.*s", (int)strcspn((*at)->name, " "),
                           (*at)->name);
            cmd_print(stdout, "    \"%s\") words=\"", group);
            put_words(group);
            cmd_print(stdout, " --help\" ;;\n");
        }
    }
}

static int run(const cmd_args *args)
{
    const char *separator = "";
    (void)args;
    cmd_print(
        stdout,
        "# bash completion of tinkc: source it, or put it where bash-completion looks\n"
        "_tinkc() {\n"
        "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
        "    local command=\"\" word words=\"\" kind=\"\" i\n"
        "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
        "        word=${COMP_WORDS[i]}\n"
        "        case $word in\n"
        "        ");
    put_takers(cmd_globals, &separator);
    for (const cmd_spec *const *at = cmd_list; *at != NULL; at++) {
        put_takers(options_of(*at), &separator);
    }
    cmd_print(stdout, ") i=$((i + 1)) ;;\n"
                      "        -*) ;;\n"
                      "        *)\n"
                      "            case $command in\n"
                      "            \"\") command=$word ;;\n"
                      "            ");
    put_group_names();
    cmd_print(stdout, ") command=\"$command $word\" ;;\n"
                      "            esac\n"
                      "            ;;\n"
                      "        esac\n"
                      "    done\n"
                      "    case \"$command\":$prev in\n");
    for (const cmd_spec *const *at = cmd_list; *at != NULL; at++) {
        put_values((*at)->name, options_of(*at));
    }
    cmd_print(stdout, "    esac\n"
                      "    [ -n \"$kind\" ] || case \"\":$prev in\n");
    put_values("", cmd_globals);
    cmd_print(stdout, "    esac\n"
                      "    case $kind in\n"
                      "    nothing) return ;;\n"
                      "    files | dirs)\n"
                      "        compopt -o filenames\n"
                      "        [ $kind = files ] && kind=-f || kind=-d\n"
                      "        mapfile -t COMPREPLY < <(compgen $kind -- \"$cur\")\n"
                      "        return\n"
                      "        ;;\n"
                      "    esac\n"
                      "    [ -n \"$kind\" ] || case $command in\n"
                      "    \"\") words=\"");
    put_words(NULL);
    cmd_print(stdout, "\" ;;\n");
    put_group_words();
    for (const cmd_spec *const *at = cmd_list; *at != NULL; at++) {
        cmd_print(stdout, "    \"%s\") words=\"", (*at)->name);
        put_options(options_of(*at));
        cmd_print(stdout, "\" ;;\n");
    }
    cmd_print(
        stdout,
        "    esac\n"
        "    [ -n \"$kind\" ] || [ \"${cur#-}\" = \"$cur\" ] || words=\"$words --help");
    put_options(cmd_globals);
    cmd_print(stdout, "\"\n"
                      "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
                      "}\n"
                      "complete -o default -F _tinkc tinkc\n");
    return CMD_OK;
}

const cmd_spec cmd_completion_bash = {
    .name = "completion bash",
    .operands = "",
    .help = "Print a completion script for bash.",
    .more =
        "Source it in ~/.bashrc, or install it where bash-completion looks for scripts.",
    .examples =
        "source <(tinkc completion bash)\n"
        "tinkc completion bash > ~/.local/share/bash-completion/completions/tinkc",
    .run = run,
};
