/* The `tinkc` program: the table of its commands, in the order in which the help shows
 * them, and main. Everything else about a command is in its own file (cmd.h). */
#include "cli/cmd.h"

static const cmd_spec *const commands[] = {
#if TINKC_HAVE_SERVER
    &cmd_serve,
#endif
#if TINKC_HAVE_TEXT
    &cmd_render,  &cmd_tokenize, &cmd_detokenize,
#endif
    &cmd_version, NULL,
};

int main(int argc, char **argv)
{
    return cmd_main(commands, argc, argv);
}
