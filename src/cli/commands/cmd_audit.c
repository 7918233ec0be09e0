/* `tinkc audit`: the audit log of an organization, one day at a time. JSON has the keys
 * of the API. */
#include <string.h>
#include <tinkc/rest.h>

#include "cli/cmd_list.h"
#include "cli/frame/cmd_listing.h"

static void put_entry(cmd_listing *list, const tinkc_audit_entry *entry)
{
    if (list->format == CMD_TABLE) {
        char time[CMD_WORD_BYTES];
        (void)tinkc_time_format(time, sizeof(time), entry->time_us);
        cmd_table_put(list->table, time);
        cmd_table_put(list->table, entry->event);
        cmd_table_put(list->table, entry->model_id);
        cmd_table_put(list->table, entry->path);
        cmd_table_put(list->table, entry->purpose);
        return;
    }
    tk_json_begin_object(&list->json.w);
    cmd_json_key(&list->json, "timestamp");
    cmd_json_time(&list->json, entry->time_us);
    cmd_json_pair(&list->json, "event", entry->event);
    cmd_json_pair(&list->json, "model_id", entry->model_id);
    cmd_json_pair(&list->json, "tinker_path", entry->path);
    cmd_json_pair(&list->json, "purpose", entry->purpose);
    tk_json_end_object(&list->json.w);
}

static int audit(const cmd_args *args, tinkc_service *service)
{
    static const char *const columns[] = {"Time", "Event", "Model", "Path", "Purpose"};
    bool is_short = strcmp(cmd_text(args, "events", "all"), "checkpoints") == 0;
    tinkc_audit *log = NULL;
    tinkc_error *error = NULL;
    cmd_listing list;
    if (tinkc_rest_audit_wait(&log, service,
                              is_short ? TINKC_AUDIT_CHECKPOINTS : TINKC_AUDIT_ALL,
                              cmd_text(args, "day", NULL), &error) != TINKC_OK) {
        return cmd_fail_error(&error, NULL);
    }
    cmd_listing_begin(&list, args, columns, TK_ARRAY_LEN(columns));
    cmd_listing_key(&list, "entries");
    for (size_t i = 0; i < log->n; i++) {
        put_entry(&list, &log->items[i]);
        if (!cmd_listing_next(&list)) {
            break;
        }
    }
    cmd_table_title(list.table, log->n > 0 ? "%zu audit entries" : "No audit entries",
                    log->n);
    tinkc_audit_free(&log);
    return cmd_listing_end(&list);
}

static const cmd_option options[] = {
    {"day", 0, CMD_TEXT, "DATE", "Day in UTC, such as 2026-07-13 (default: today).",
     false},
    {"events", 0, CMD_CHOICE, "all|checkpoints", "Events to show (default: all).", false},
    {0},
};

const cmd_spec cmd_audit = {
    .name = "audit",
    .operands = "",
    .help = "Show the audit log of a day.",
    .more = "Only administrators of an organization may read it.",
    .options = options,
    .ask = audit,
};
