/* The commands of the program, in the order in which the help shows them, and what their
 * groups are about. Everything else about a command is in its own file (cmd.h). */
#include "cli/cmd_list.h"

#include <string.h>

#include "cli/cmd_int.h"

const cmd_spec *const cmd_list[] = {
#if TINKC_HAVE_SERVER
    &cmd_serve,
#endif
#if TINKC_HAVE_TEXT
    &cmd_render,  &cmd_tokenize, &cmd_detokenize,
#endif
    &cmd_version, NULL,
};

static const struct {
    const char *name, *help;
} groups[] = {
    {"run", "Training runs: list, show."},
    {"checkpoint", "Checkpoints: list, show, share, expire, delete, download."},
    {"session", "Sessions: list, show, trace."},
    {"billing", "What was used."},
    {NULL, NULL},
};

const char *cmd_list_group_help(const char *group, size_t n)
{
    for (size_t i = 0; groups[i].name != NULL; i++) {
        if (strlen(groups[i].name) == n && memcmp(groups[i].name, group, n) == 0) {
            return groups[i].help;
        }
    }
    return "";
}
