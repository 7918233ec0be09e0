/* `tinkc version`: the version, as JSON also the level of the official SDK, and with -v the
 * kernels of this machine. */
#include <stdio.h>
#include <tinkc/version.h>

#include "cli/cmd_list.h"
#include "cli/commands/cmd_kernels.h"
#include "cli/frame/cmd_json.h"
#include "cli/frame/cmd_print.h"

static int run(const cmd_args *args)
{
    char kernels[64] = "";
    if (cmd_has(args, "verbose")) {
        cmd_kernels(kernels, sizeof(kernels));
    }
    if (!cmd_wants_json(args)) {
        cmd_print(stdout, "tinkc %s\n", tinkc_version());
        if (kernels[0] != '\0') {
            cmd_print(stdout, "kernels of serve on this machine, best first: %s\n",
                      kernels);
        }
        return CMD_OK;
    }
    cmd_json json;
    cmd_json_init(&json);
    tk_json_begin_object(&json.w);
    cmd_json_pair(&json, "version", tinkc_version());
    cmd_json_pair(&json, "sdk_level", TINKC_SDK_LEVEL);
    if (kernels[0] != '\0') {
        cmd_json_pair(&json, "kernels", kernels);
    }
    tk_json_end_object(&json.w);
    return cmd_json_print(&json, args);
}

const cmd_spec cmd_version = {
    .name = "version",
    .operands = "",
    .help = "Show the version.",
    .more =
        "-v also shows the kernels that 'tinkc serve' can compute with on this machine,\n"
        "the one that it uses first.",
    .run = run,
};
