/* Takes the place of cmd_local.c in a build without the server: --local fails. */
#include "cli/frame/cmd_local.h"

int cmd_local_start(cmd_local *out, const cmd_args *args)
{
    (void)out;
    (void)args;
    return cmd_fail("this build of tinkc has no server: --local is not available");
}

void cmd_local_end(void)
{
}
