/* What a user types for a model, a checkpoint or a run, and what it means. All commands
 * that take one use this:
 *
 *   tinker://...          the path of a checkpoint
 *   a path with a slash   a model directory of this machine, with --local
 *   NAME                  a model that the server serves, or that --local finds in the
 *                         cache of Hugging Face's programs
 *   NAME, NAME@STEP       the newest checkpoint of that name, the one of a step of `tinkc
 *   NAME@latest           train`, the newest of both kinds
 *   RUN, RUN/NAME         the start of the id of a run: its newest checkpoint, or the one
 *                         of that name
 *
 * Two things that a text may mean are an error that names both. Thread: the main one. */
#ifndef CLI_CMD_RESOLVE_H
#define CLI_CMD_RESOLVE_H

#include "cli/frame/cmd.h"

/* Finds what `typed` means. *out, which the caller frees with tk_free, is the name of a
 * base model (CMD_BASE), the path of a checkpoint, either (CMD_MODEL), or the id of a run.
 * `typed` NULL: the only model that is served. Returns CMD_OK, or another exit code after an
 * error line. */
int cmd_resolve(char **out, tinkc_service *service, const cmd_args *args,
                const char *typed, cmd_want want);

/* Replaces the operands of the command by what they mean, as cmd_spec.wants says. */
int cmd_resolve_operands(const cmd_args *args, tinkc_service *service);

/* Returns whether the text is a model directory of this machine: it has a slash and is
 * there. */
bool cmd_resolve_is_directory(const char *typed);

/* Returns whether the text can only be a path (it begins with /, ./ or ../): nobody calls a
 * model so. */
bool cmd_resolve_is_plainly_directory(const char *typed);

#endif
