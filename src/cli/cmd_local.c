/* The private server of --local. */
#include "cli/cmd_local.h"

int cmd_local_start(char **url, const cmd_args *args)
{
    (void)url;
    (void)args;
    return cmd_fail("--local is not in this build");
}

void cmd_local_end(void)
{
}
