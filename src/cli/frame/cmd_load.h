/* Model directories of the private server: asks it to load one, and remembers where the
 * models were, because the next command may start a new server. Only with --local. */
#ifndef CLI_CMD_LOAD_H
#define CLI_CMD_LOAD_H

#include "cli/frame/cmd.h"

/* Has the server load the directory and gives the name under which it is served; the
 * caller frees *name with tk_free. Returns CMD_OK, or another exit code after an error
 * line. */
int cmd_load_directory(char **name, tinkc_service *service, const char *dir);

/* Has the server load the model of that name, if it was loaded before or is in the cache of
 * Hugging Face's programs (*is_served is true then); otherwise, and without --local, does
 * nothing. */
int cmd_load_named(bool *is_served, tinkc_service *service, const char *name);

/* The same for the base model of a checkpoint. Whatever goes wrong is left to the request
 * that uses the checkpoint. */
int cmd_load_base_of(tinkc_service *service, const char *path);

#endif
