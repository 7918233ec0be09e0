/* Takes the place of cmd_local.c in a build without the server: --local fails. */
#include "cli/frame/cmd_local.h"

int cmd_local_start(cmd_local *out, const cmd_args *args)
{
    (void)out;
    (void)args;
    return cmd_fail("this build of tinkc has no server: --local is not available");
}

bool cmd_local_is_used(void)
{
    return false;
}

const char *cmd_local_url(void)
{
    return "";
}

char *cmd_local_data(void)
{
    return NULL;
}

void cmd_local_end(void)
{
}
