/* `tinkc sampler-info`: the model that a sampler uses. JSON has the keys of the API. */
#include <tinkc/rest.h>

#include "cli/cmd_list.h"
#include "cli/frame/cmd_json.h"
#include "cli/frame/cmd_table.h"

static int sampler(const cmd_args *args, tinkc_service *service)
{
    tinkc_sampler_info *info = NULL;
    tinkc_error *error = NULL;
    int result;
    if (tinkc_rest_get_sampler_wait(&info, service, cmd_operand(args, 0), &error) !=
        TINKC_OK) {
        return cmd_fail_error(&error, NULL);
    }
    if (cmd_wants_json(args)) {
        cmd_json json;
        cmd_json_init(&json);
        tk_json_begin_object(&json.w);
        cmd_json_pair(&json, "sampler_id", info->id);
        cmd_json_pair(&json, "base_model", info->base_model);
        cmd_json_pair(&json, "model_path", info->model_path);
        tk_json_end_object(&json.w);
        result = cmd_json_print(&json, args);
    } else {
        cmd_table *table = cmd_table_properties();
        cmd_table_row(table, "Sampler ID", info->id);
        cmd_table_row(table, "Base Model", info->base_model);
        cmd_table_row(table, "Model Path",
                      info->model_path != NULL ? info->model_path : "N/A");
        result = cmd_table_print(&table, args);
    }
    tinkc_sampler_info_free(&info);
    return result;
}

const cmd_spec cmd_sampler_info = {
    .name = "sampler-info",
    .operands = "SAMPLER_ID",
    .min_operands = 1,
    .max_operands = 1,
    .help = "Show the model of a sampler.",
    .ask = sampler,
};
