/* Takes the place of cmd_kernels.c in a build without the server: there are none. */
#include "cli/commands/cmd_kernels.h"

void cmd_kernels(char *out, size_t size)
{
    if (size > 0) {
        out[0] = '\0';
    }
}
