/* A folder for the files that tests of `tinkc train` write, for the whole group of
 * tests. */
#ifndef CLI_TRAINFIX_H
#define CLI_TRAINFIX_H

#include <stdio.h>
#include <stdlib.h>

#include "support/test.h"

static char trainfix_dir[64];

static inline int trainfix_open(void **state)
{
    (void)snprintf(trainfix_dir, sizeof(trainfix_dir), "/tmp/tinkc-train-XXXXXX");
    return mkdtemp(trainfix_dir) != NULL ? 0 : 1;
}

static inline int trainfix_close(void **state)
{
    char command[96];
    (void)snprintf(command, sizeof(command), "rm -rf %s", trainfix_dir);
    return system(command);
}

/* The path of a file in the folder; overwritten by the next call. */
static inline const char *trainfix_path(const char *name)
{
    static char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", trainfix_dir, name);
    return path;
}

#endif
