/* `tinkc billing checkpoint-storage`, with the columns and JSON keys of the official
 * program. */
#include <stdio.h>

#include <tinkc/search.h>

#include "base/tk.h"
#include "cli/cmd_list.h"
#include "cli/frame/cmd_csv.h"
#include "cli/frame/cmd_listing.h"

static const char *const columns[] = {"effective_rate_usd_per_gigabyte_month",
                                      "project_id",
                                      "org_user_urn",
                                      "user_email",
                                      "user_name",
                                      "checkpoint_count",
                                      "size_bytes",
                                      "size_gigabytes",
                                      "estimated_monthly_cost_usd"};

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

/* Returns the text of a cell, which may be in `out`. */
static const char *cell(char out[CMD_WORD_BYTES], const tinkc_storage *all,
                        const tinkc_storage_item *item, size_t column)
{
    switch (column) {
    case 0:
        return cmd_out_real(out, all->usd_per_gigabyte_month);
    case 1:
        return or_empty(item->project_id);
    case 2:
        return or_empty(item->user_urn);
    case 3:
        return or_empty(item->user_email);
    case 4:
        return or_empty(item->user_name);
    case 5:
    case 6:
        (void)snprintf(out, CMD_WORD_BYTES, "%lld",
                       (long long)(column == 5 ? item->checkpoints : item->bytes));
        return out;
    case 7:
        return cmd_out_real(out, item->gigabytes);
    default:
        return cmd_out_real(out, item->monthly_cost_usd);
    }
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
    char word[CMD_WORD_BYTES];
    cmd_table *table = cmd_table_new(columns, TK_ARRAY_LEN(columns));
    cmd_table_title(table, all->n == 0 ? "No active checkpoint storage"
                                       : "Current checkpoint storage");
    for (size_t i = 0; i < all->n; i++) {
        for (size_t k = 0; k < TK_ARRAY_LEN(columns); k++) {
            cmd_table_put(table, cell(word, all, &all->items[i], k));
        }
    }
    return cmd_table_print(&table, args);
}

static int show_csv(const char *path, const tinkc_storage *all)
{
    char word[CMD_WORD_BYTES];
    tk_buf csv;
    tk_buf_init(&csv, TK_GIB);
    for (size_t k = 0; k < TK_ARRAY_LEN(columns); k++) {
        cmd_csv_put(&csv, columns[k], k + 1 == TK_ARRAY_LEN(columns));
    }
    for (size_t i = 0; i < all->n; i++) {
        for (size_t k = 0; k < TK_ARRAY_LEN(columns); k++) {
            cmd_csv_put(&csv, cell(word, all, &all->items[i], k),
                        k + 1 == TK_ARRAY_LEN(columns));
        }
    }
    return cmd_csv_write(path, &csv, all->n);
}

static int show_lines(const tinkc_storage *all)
{
    cmd_json json;
    cmd_json_init(&json);
    for (size_t i = 0; i < all->n; i++) {
        put_item(&json, &all->items[i]);
        if (!cmd_json_line(&json)) {
            break;
        }
    }
    cmd_json_dispose(&json);
    return CMD_OK;
}

static int show(const cmd_args *args, const tinkc_storage *all)
{
    const char *csv = cmd_text(args, "csv", NULL);
    if (csv != NULL) {
        return show_csv(csv, all);
    }
    switch (cmd_format_of(args)) {
    case CMD_JSON:
        return show_json(args, all);
    case CMD_JSONL:
        return show_lines(all);
    case CMD_TABLE:
        break;
    }
    return show_table(args, all);
}

static int storage(const cmd_args *args, tinkc_service *service)
{
    tinkc_storage *all = NULL;
    tinkc_error *error = NULL;
    if (tinkc_rest_storage_wait(&all, service, cmd_text(args, "project-id", NULL),
                                &error) != TINKC_OK) {
        return cmd_fail_error(&error, NULL);
    }
    int result = show(args, all);
    tinkc_storage_free(&all);
    return result;
}

static const cmd_option options[] = {
    {"project-id", 0, CMD_TEXT, "ID", "Only storage in this project.", false},
    {"csv", 0, CMD_TEXT, "FILE", "Write the rows as CSV to FILE ('-': standard output).",
     false},
    {0},
};

const cmd_spec cmd_billing_storage = {
    .name = "billing checkpoint-storage",
    .operands = "",
    .help = "Show what the stored checkpoints take, by project and user.",
    .options = options,
    .ask = storage,
};
