/* `tinkc version`: what is installed, for people and for bug reports. */
#include <stdio.h>
#include <tinkc/version.h>

#include "cli/cmd.h"

static int run(const cmd_args *args)
{
    if (cmd_wants_json(args)) {
        printf("{\n  \"version\": \"%s\",\n  \"sdk_level\": \"%s\"\n}\n", tinkc_version(),
               TINKC_SDK_LEVEL);
    } else {
        printf("tinkc %s\n", tinkc_version());
    }
    return CMD_OK;
}

const cmd_spec cmd_version = {
    .name = "version",
    .operands = "",
    .help = "Show the version.",
    .run = run,
};
