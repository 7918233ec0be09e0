/* Which instructions the local server computes with, for `tinkc version -v`. */
#ifndef CLI_CMD_KERNELS_H
#define CLI_CMD_KERNELS_H

#include <stddef.h>

/* Writes their names into out, best first; the empty string in a build without server. */
void cmd_kernels(char *out, size_t size);

#endif
