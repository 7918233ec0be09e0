/* `tinkc version`: the version, and as JSON also the level of the official SDK. */
#include <stdio.h>
#include <tinkc/version.h>

#include "cli/cmd_list.h"
#include "cli/frame/cmd_json.h"
#include "cli/frame/cmd_print.h"

static int run(const cmd_args *args)
{
    if (!cmd_wants_json(args)) {
        cmd_print(stdout, "tinkc %s\n", tinkc_version());
        return CMD_OK;
    }
    cmd_json json;
    cmd_json_init(&json);
    tk_json_begin_object(&json.w);
    cmd_json_pair(&json, "version", tinkc_version());
    cmd_json_pair(&json, "sdk_level", TINKC_SDK_LEVEL);
    tk_json_end_object(&json.w);
    return cmd_json_print(&json, args);
}

const cmd_spec cmd_version = {
    .name = "version",
    .operands = "",
    .help = "Show the version.",
    .run = run,
};
