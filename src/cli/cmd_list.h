/* The table of commands; each is defined in its own file. */
#ifndef CLI_CMD_LIST_H
#define CLI_CMD_LIST_H

#include "cli/cmd.h"

extern const cmd_spec cmd_serve, cmd_render, cmd_tokenize, cmd_detokenize, cmd_version;

/* In the order in which the help shows them; ends in NULL. */
extern const cmd_spec *const cmd_list[];

#endif
