/* `tinkc health`: whether the server answers, for monitoring. */
#include <stdio.h>

#include "cli/cmd_list.h"
#include "cli/frame/cmd_json.h"
#include "cli/frame/cmd_print.h"

static int health(const cmd_args *args, tinkc_service *service)
{
    tinkc_error *error = NULL;
    if (tinkc_service_health_wait(service, &error) != TINKC_OK) {
        return cmd_fail_error(&error, NULL);
    }
    if (!cmd_wants_json(args)) {
        cmd_print(stdout, "ok\n");
        return CMD_OK;
    }
    cmd_json json;
    cmd_json_init(&json);
    tk_json_begin_object(&json.w);
    cmd_json_pair(&json, "status", "ok");
    tk_json_end_object(&json.w);
    return cmd_json_print(&json, args);
}

const cmd_spec cmd_health = {
    .name = "health",
    .operands = "",
    .help = "Check that the server is healthy.",
    .more =
        "The exit code is 0 if it is, which suits monitoring; 'tinkc doctor' tells more.",
    .ask = health,
};
