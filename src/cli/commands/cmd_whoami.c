/* `tinkc whoami`: the account of the credential. JSON has the keys of the API. */
#include <tinkc/rest.h>

#include "cli/cmd_list.h"
#include "cli/frame/cmd_json.h"
#include "cli/frame/cmd_table.h"

static int whoami(const cmd_args *args, tinkc_service *service)
{
    tinkc_whoami *me = NULL;
    tinkc_error *error = NULL;
    int result;
    if (tinkc_rest_whoami_wait(&me, service, &error) != TINKC_OK) {
        return cmd_fail_error(&error, NULL);
    }
    if (cmd_wants_json(args)) {
        cmd_json json;
        cmd_json_init(&json);
        tk_json_begin_object(&json.w);
        cmd_json_pair(&json, "user_urn", me->user_urn);
        cmd_json_pair(&json, "email", me->email);
        tk_json_end_object(&json.w);
        result = cmd_json_print(&json, args);
    } else {
        cmd_table *table = cmd_table_properties();
        cmd_table_row(table, "User", me->user_urn);
        cmd_table_row(table, "Email", me->email != NULL ? me->email : "N/A");
        result = cmd_table_print(&table, args);
    }
    tinkc_whoami_free(&me);
    return result;
}

const cmd_spec cmd_whoami = {
    .name = "whoami",
    .operands = "",
    .help = "Show the account that the credential belongs to.",
    .ask = whoami,
};
