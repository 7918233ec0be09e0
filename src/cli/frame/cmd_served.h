/* What to say when a model cannot be opened: mostly its name is wrong. */
#ifndef CLI_CMD_SERVED_H
#define CLI_CMD_SERVED_H

#include "cli/frame/cmd.h"

/* Reports that the base model or checkpoint could not be opened, as cmd_fail_error does.
 * If the server has a list of models and this one is not in it, the list and the name
 * that was probably meant are shown instead; `want` says whether it may be that of a
 * checkpoint (CMD_MODEL) or not (CMD_BASE). Frees *error. Returns CMD_FAILED or
 * CMD_INTERRUPTED. */
int cmd_served_fail(tinkc_service *service, const char *model, cmd_want want,
                    tinkc_error **error);

#endif
