/* `tinkc completion bash|zsh|fish`: scripts for shells. They ask `tinkc completion query`
 * (cmd_completion_query.c) for everything, so that the rules exist once. */
#include <stdio.h>

#include "cli/cmd_list.h"
#include "cli/frame/cmd_print.h"

/* ---- bash ---- */

/* bash cuts words at ":" and "=" and replaces only what follows the last of them, so the
 * words are taken from the line, and the beginning of the answers is cut off. */
static int run_bash(const cmd_args *args)
{
    (void)args;
    cmd_print(
        stdout,
        "# bash completion of tinkc: source it, or put it where bash-completion looks\n"
        "_tinkc() {\n"
        "    local line=${COMP_LINE:0:COMP_POINT} words reply cur cut i\n"
        "    read -ra words <<<\"$line\"\n"
        "    [[ $line == *[[:blank:]] ]] && words+=(\"\")\n"
        "    cur=${words[${#words[@]} - 1]}\n"
        "    cut=${cur%%\"${cur##*[:=]}\"}\n"
        "    mapfile -t reply < <(\n"
        "        \"${words[0]}\" completion query -- \"${words[@]:1}\" 2>/dev/null)\n"
        "    case ${reply[0]} in\n"
        "    files | dirs)\n"
        "        compopt -o filenames\n"
        "        [ \"${reply[0]}\" = files ] && i=-f || i=-d\n"
        "        mapfile -t COMPREPLY < <(compgen $i -- \"${cur#\"$cut\"}\")\n"
        "        ;;\n"
        "    words)\n"
        "        for ((i = 1; i < ${#reply[@]}; i++)); do\n"
        "            reply[i]=${reply[i]%%%%$'\\t'*}\n"
        "            COMPREPLY+=(\"${reply[i]#\"$cut\"}\")\n"
        "        done\n"
        "        ;;\n"
        "    esac\n"
        "}\n"
        "complete -F _tinkc tinkc\n");
    return CMD_OK;
}

const cmd_spec cmd_completion_bash = {
    .name = "completion bash",
    .operands = "",
    .help = "Print a completion script for bash.",
    .more =
        "Source it in ~/.bashrc, or install it where bash-completion looks for scripts.\n"
        "Models, runs and checkpoints are completed from the server.",
    .examples =
        "source <(tinkc completion bash)\n"
        "tinkc completion bash > ~/.local/share/bash-completion/completions/tinkc",
    .run = run_bash,
};

/* ---- zsh ---- */

static int run_zsh(const cmd_args *args)
{
    (void)args;
    cmd_print(stdout,
              "#compdef tinkc\n"
              "# zsh completion of tinkc: source it after compinit, or put it as _tinkc\n"
              "# into a directory of $fpath\n"
              "_tinkc() {\n"
              "    local -a reply items\n"
              "    local row\n"
              "    reply=(\"${(@f)$(\"${words[1]}\" completion query -- \\\n"
              "        \"${(@Q)words[2,CURRENT-1]}\" \"${(Q)PREFIX}\" 2>/dev/null)}\")\n"
              "    case $reply[1] in\n"
              "    files) _files ;;\n"
              "    dirs) _files -/ ;;\n"
              "    words)\n"
              "        for row in \"${(@)reply[2,-1]}\"; do\n"
              "            items+=(\"${${row%%%%$'\\t'*}//:/\\\\:}:${row#*$'\\t'}\")\n"
              "        done\n"
              "        _describe -t tinkc tinkc items\n"
              "        ;;\n"
              "    esac\n"
              "}\n"
              "if [ \"$funcstack[1]\" = _tinkc ]; then\n"
              "    _tinkc \"$@\"\n"
              "else\n"
              "    compdef _tinkc tinkc\n"
              "fi\n");
    return CMD_OK;
}

const cmd_spec cmd_completion_zsh = {
    .name = "completion zsh",
    .operands = "",
    .help = "Print a completion script for zsh.",
    .more =
        "Source it in ~/.zshrc after compinit, or put it as _tinkc into a directory of\n"
        "$fpath. Models, runs and checkpoints are completed from the server.",
    .examples = "source <(tinkc completion zsh)\n"
                "tinkc completion zsh > ~/.zfunc/_tinkc",
    .run = run_zsh,
};

/* ---- fish ---- */

static int run_fish(const cmd_args *args)
{
    (void)args;
    cmd_print(stdout,
              "# fish completion of tinkc\n"
              "function __tinkc_complete\n"
              "    set -l words (commandline -opc)\n"
              "    set -l cur (commandline -ct)\n"
              "    set -l reply ($words[1] completion query -- $words[2..-1] \"$cur\" "
              "2>/dev/null)\n"
              "    switch \"$reply[1]\"\n"
              "        case files\n"
              "            __fish_complete_path \"$cur\"\n"
              "        case dirs\n"
              "            __fish_complete_directories \"$cur\"\n"
              "        case words\n"
              "            printf '%%s\\n' $reply[2..-1]\n"
              "    end\n"
              "end\n"
              "complete -c tinkc -f -a '(__tinkc_complete)'\n");
    return CMD_OK;
}

const cmd_spec cmd_completion_fish = {
    .name = "completion fish",
    .operands = "",
    .help = "Print a completion script for fish.",
    .more = "Models, runs and checkpoints are completed from the server.",
    .examples = "tinkc completion fish > ~/.config/fish/completions/tinkc.fish",
    .run = run_fish,
};
