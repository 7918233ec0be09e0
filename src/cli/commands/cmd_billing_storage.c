/* `tinkc billing checkpoint-storage`, with the columns and JSON keys of the official
 * program; it writes no CSV. */
#include <math.h>
#include <tinkc/search.h>

#include "base/tk.h"
#include "cli/cmd_list.h"
#include "cli/frame/cmd_listing.h"

static void put_real(cmd_table *table, double value)
{
    if (isnan(value)) {
        cmd_table_put(table, "null");
    } else {
        cmd_table_printf(table, "%.9g", value);
    }
}

static void put_row(cmd_table *table, const tinkc_storage *all,
                    const tinkc_storage_item *item)
{
    const char *const texts[] = {item->project_id, item->user_urn, item->user_email,
                                 item->user_name};
    put_real(table, all->usd_per_gigabyte_month);
    for (size_t i = 0; i < TK_ARRAY_LEN(texts); i++) {
        cmd_table_put(table, texts[i] != NULL ? texts[i] : "");
    }
    cmd_table_printf(table, "%lld", (long long)item->checkpoints);
    cmd_table_printf(table, "%lld", (long long)item->bytes);
    put_real(table, item->gigabytes);
    put_real(table, item->monthly_cost_usd);
}

static void put_item(cmd_json *json, const tinkc_storage_item *item)
{
    tk_json_begin_object(&json->w);
    cmd_json_pair(json, "project_id", item->project_id);
    cmd_json_pair(json, "org_user_urn", item->user_urn);
    cmd_json_pair(json, "user_email", item->user_email);
    cmd_json_pair(json, "user_name", item->user_name);
    cmd_json_key(json, "checkpoint_count");
    cmd_json_count(json, item->checkpoints);
    cmd_json_key(json, "size_bytes");
    cmd_json_count(json, item->bytes);
    cmd_json_key(json, "size_gigabytes");
    cmd_json_real(json, item->gigabytes);
    cmd_json_key(json, "estimated_monthly_cost_usd");
    cmd_json_real(json, item->monthly_cost_usd);
    tk_json_end_object(&json->w);
}

static int show_json(const cmd_args *args, const tinkc_storage *all)
{
    cmd_json json;
    cmd_json_init(&json);
    tk_json_begin_object(&json.w);
    cmd_json_key(&json, "effective_rate_usd_per_gigabyte_month");
    cmd_json_real(&json, all->usd_per_gigabyte_month);
    cmd_json_key(&json, "data");
    tk_json_begin_array(&json.w);
    for (size_t i = 0; i < all->n; i++) {
        put_item(&json, &all->items[i]);
    }
    tk_json_end_array(&json.w);
    tk_json_end_object(&json.w);
    return cmd_json_print(&json, args);
}

static int show_table(const cmd_args *args, const tinkc_storage *all)
{
    static const char *const columns[] = {"effective_rate_usd_per_gigabyte_month",
                                          "project_id",
                                          "org_user_urn",
                                          "user_email",
                                          "user_name",
                                          "checkpoint_count",
                                          "size_bytes",
                                          "size_gigabytes",
                                          "estimated_monthly_cost_usd"};
    cmd_table *table = cmd_table_new(columns, TK_ARRAY_LEN(columns));
    cmd_table_title(table, all->n == 0 ? "No active checkpoint storage"
                                       : "Current checkpoint storage");
    for (size_t i = 0; i < all->n; i++) {
        put_row(table, all, &all->items[i]);
    }
    return cmd_table_print(&table, args);
}

static int storage(const cmd_args *args, tinkc_service *service)
{
    tinkc_storage *all = NULL;
    tinkc_error *error = NULL;
    if (tinkc_rest_storage_wait(&all, service, cmd_text(args, "project-id", NULL),
                                &error) != TINKC_OK) {
        return cmd_fail_error(&error, NULL);
    }
    int result = cmd_wants_json(args) ? show_json(args, all) : show_table(args, all);
    tinkc_storage_free(&all);
    return result;
}

static const cmd_option options[] = {
    {"project-id", 0, CMD_TEXT, "ID", "Only storage in this project.", false},
    {0},
};

const cmd_spec cmd_billing_storage = {
    .name = "billing checkpoint-storage",
    .operands = "",
    .help = "Show what the stored checkpoints take, by project and user.",
    .options = options,
    .ask = storage,
};
