/* See cmd_kernels.h: asks the server's engine.
 * Needs: server */
#include "cli/commands/cmd_kernels.h"

#include "server/srv.h"

void cmd_kernels(char *out, size_t size)
{
    srv_kernels(out, size);
}
