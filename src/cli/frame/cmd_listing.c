/* Lists in the three formats. The table and the JSON document are shown at the end; JSON
 * lines are shown item by item, so that a long list can be piped. */
#include "cli/frame/cmd_listing.h"

#include "cli/frame/cmd_progress.h"

void cmd_listing_begin(cmd_listing *list, const cmd_args *args,
                       const char *const *columns, size_t n_columns)
{
    *list = (cmd_listing){.args = args, .format = cmd_format_of(args)};
    if (list->format == CMD_TABLE) {
        list->table = cmd_table_new(columns, n_columns);
        return;
    }
    cmd_json_init(&list->json);
    if (list->format == CMD_JSON) {
        tk_json_begin_object(&list->json.w);
    }
}

void cmd_listing_key(cmd_listing *list, const char *key)
{
    if (list->format == CMD_JSON) {
        cmd_json_key(&list->json, key);
        tk_json_begin_array(&list->json.w);
    }
}

bool cmd_listing_next(cmd_listing *list)
{
    list->n++;
    return list->format != CMD_JSONL || cmd_json_line(&list->json);
}

int cmd_listing_end(cmd_listing *list)
{
    cmd_progress_end();
    if (list->format == CMD_TABLE) {
        return cmd_table_print(&list->table, list->args);
    }
    if (list->format == CMD_JSON) {
        tk_json_end_array(&list->json.w);
        tk_json_end_object(&list->json.w);
        return cmd_json_print(&list->json, list->args);
    }
    cmd_json_dispose(&list->json);
    return CMD_OK;
}

void cmd_listing_abandon(cmd_listing *list)
{
    cmd_progress_end();
    cmd_table_free(&list->table);
    if (list->format != CMD_TABLE) {
        cmd_json_dispose(&list->json);
    }
}
