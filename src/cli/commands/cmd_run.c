/* `tinkc run list` and `tinkc run info`: training runs, with the options, columns and
 * JSON keys of the official program. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "cli/cmd_list.h"
#include "cli/frame/cmd_listing.h"
#include "cli/frame/cmd_progress.h"
#include "cli/frame/cmd_rest.h"

typedef struct column {
    const char *name, *title;
    void (*put)(cmd_table *table, const tinkc_run *run);
} column;

static void put_id(cmd_table *table, const tinkc_run *run)
{
    cmd_table_put(table, run->id);
}

static void put_model(cmd_table *table, const tinkc_run *run)
{
    cmd_table_put(table, run->base_model);
}

static void put_owner(cmd_table *table, const tinkc_run *run)
{
    cmd_table_put(table, run->owner);
}

static void put_lora(cmd_table *table, const tinkc_run *run)
{
    char word[CMD_WORD_BYTES];
    cmd_table_put(table, cmd_rest_lora(word, run->is_lora, run->lora_rank, false));
}

static void put_updated(cmd_table *table, const tinkc_run *run)
{
    char word[CMD_WORD_BYTES];
    cmd_table_put(table, cmd_out_time(word, run->last_request_us));
}

static void put_status(cmd_table *table, const tinkc_run *run)
{
    cmd_table_put(table, run->is_corrupted ? "Failed" : "OK");
}

static void put_checkpoint(cmd_table *table, const tinkc_run *run)
{
    cmd_table_put(table,
                  run->last_checkpoint != NULL ? run->last_checkpoint->id : "None");
}

static void put_checkpoint_time(cmd_table *table, const tinkc_run *run)
{
    char word[CMD_WORD_BYTES];
    cmd_table_put(table, run->last_checkpoint != NULL
                             ? cmd_out_time(word, run->last_checkpoint->time_us)
                             : "N/A");
}

static const column columns[] = {
    {"id", "Run ID", put_id},
    {"model", "Base Model", put_model},
    {"owner", "Owner", put_owner},
    {"lora", "LoRA", put_lora},
    {"updated", "Last Update", put_updated},
    {"status", "Status", put_status},
    {"checkpoint", "Last Checkpoint", put_checkpoint},
    {"checkpoint_time", "Checkpoint Time", put_checkpoint_time},
};

/* The columns of --columns, in that order. */
typedef struct choice {
    const column *columns[32];
    const char *titles[32];
    size_t n;
} choice;

static int choose(choice *out, const cmd_args *args)
{
    tk_str rest = tk_str_of(cmd_text(args, "columns", "id,model,lora,updated,status"));
    for (out->n = 0; rest.p != NULL;) {
        tk_str name = tk_str_trim(tk_str_cut(&rest, ','));
        const column *found = NULL;
        for (size_t i = 0; i < TK_ARRAY_LEN(columns); i++) {
            found = tk_str_is(name, columns[i].name) ? &columns[i] : found;
        }
        if (found == NULL || out->n == TK_ARRAY_LEN(out->columns)) {
            return cmd_bad_usage(
                args,
                "Invalid value for '--columns': Unknown column(s): " TK_STR_FMT
                ". Available: id, model, owner, lora, updated, "
                "status, checkpoint, checkpoint_time",
                TK_STR_ARG(name));
        }
        out->columns[out->n] = found;
        out->titles[out->n++] = found->title;
    }
    return CMD_OK;
}

/* ---- list ---- */

static void put_title(cmd_listing *list, int64_t left)
{
    char more[CMD_REST_MORE_BYTES];
    (void)cmd_rest_more(more, left);
    if (list->n == 0) {
        cmd_table_title(list->table, "No training runs found");
    } else {
        cmd_table_title(list->table, "%zu training run%s%s", list->n,
                        list->n == 1 ? "" : "s", more);
    }
}

static void put_run(cmd_listing *list, const choice *chosen, const tinkc_run *run)
{
    if (list->format != CMD_TABLE) {
        cmd_rest_put_run(&list->json, run);
        return;
    }
    for (size_t i = 0; i < chosen->n; i++) {
        chosen->columns[i]->put(list->table, run);
    }
}

static tinkc_code walk(cmd_listing *list, const choice *chosen, tinkc_pager *pager,
                       tinkc_error **error)
{
    for (;;) {
        const tinkc_run *run = NULL;
        tinkc_code code = tinkc_pager_next_run(&run, pager, error);
        if (code != TINKC_OK) {
            return code;
        }
        put_run(list, chosen, run);
        if (!cmd_listing_next(list)) {
            return TINKC_OK;
        }
        cmd_progress("Fetching training runs: %zu of %lld", list->n,
                     (long long)tinkc_pager_total(pager));
    }
}

static int list_runs(const cmd_args *args, tinkc_service *service)
{
    choice chosen;
    cmd_listing list;
    tinkc_pager *pager = NULL;
    tinkc_error *error = NULL;
    const tinkc_pager_options options = cmd_rest_page(args);
    (void)choose(&chosen, args);
    if (tinkc_pager_runs(&pager, service, &options, &error) != TINKC_OK) {
        return cmd_fail_error(&error, NULL);
    }
    cmd_listing_begin(&list, args, chosen.titles, chosen.n);
    cmd_listing_key(&list, "runs");
    tinkc_code code = walk(&list, &chosen, pager, &error);
    int64_t total = tinkc_pager_total(pager);
    tinkc_pager_close(&pager);
    if (code != TINKC_OK && code != TINKC_E_MISSING) {
        cmd_listing_abandon(&list);
        return cmd_fail_error(&error, NULL);
    }
    tinkc_error_free(&error);
    put_title(&list, total - options.offset - (int64_t)list.n);
    return cmd_listing_end(&list);
}

static int check_list(const cmd_args *args)
{
    choice chosen;
    int result = choose(&chosen, args);
    return result == CMD_OK ? cmd_rest_check_page(args) : result;
}

/* ---- info ---- */

static void put_last(cmd_table *table, const char *name, const tinkc_checkpoint *last)
{
    char word[CMD_WORD_BYTES];
    if (last != NULL) {
        cmd_table_row(table, name, last->id);
        cmd_table_row(table, "  - Time", cmd_out_time(word, last->time_us));
        cmd_table_row(table, "  - Path", last->path);
    }
}

static int show_table(const cmd_args *args, const tinkc_run *run)
{
    char word[CMD_WORD_BYTES];
    cmd_table *table = cmd_table_properties();
    cmd_table_title(table, "Training Run: %s", run->id);
    cmd_table_row(table, "Run ID", run->id);
    cmd_table_row(table, "Base Model", run->base_model);
    cmd_table_row(table, "Owner", run->owner);
    cmd_table_row(table, "LoRA", cmd_rest_lora(word, run->is_lora, run->lora_rank, true));
    cmd_table_row(table, "Last Update", cmd_out_time(word, run->last_request_us));
    cmd_table_row(table, "Status", run->is_corrupted ? "Failed" : "OK");
    put_last(table, "Last Training Checkpoint", run->last_checkpoint);
    put_last(table, "Last Sampler Checkpoint", run->last_sampler_checkpoint);
    if (run->metadata_n > 0) {
        cmd_table_row(table, "Metadata", "");
    }
    for (size_t i = 0; i < run->metadata_n; i++) {
        cmd_table_printf(table, "  - %s", run->metadata[i].name);
        cmd_table_put(table, run->metadata[i].value);
    }
    return cmd_table_print(&table, args);
}

static int show_run(const cmd_args *args, tinkc_service *service)
{
    tinkc_run *run = NULL;
    tinkc_error *error = NULL;
    int result;
    if (tinkc_rest_get_run_wait(&run, service, cmd_operand(args, 0), cmd_rest_scope(args),
                                &error) != TINKC_OK) {
        return cmd_fail_error(&error, NULL);
    }
    if (cmd_wants_json(args)) {
        cmd_json json;
        cmd_json_init(&json);
        cmd_rest_put_run(&json, run);
        result = cmd_json_print(&json, args);
    } else {
        result = show_table(args, run);
    }
    tinkc_run_free(&run);
    return result;
}

static const cmd_option list_options[] = {
    {"limit", 0, CMD_INT, "N", "Show at most N runs (20; 0: all).", false},
    {"columns", 'c', CMD_TEXT, "NAMES", "Columns to show, separated by commas.", false},
    {"offset", 0, CMD_INT, "N", "Skip the first N.", false},
    CMD_REST_SCOPE,
    {"project", 0, CMD_TEXT, "ID", "Show only runs of this project.", false},
    {0},
};

const cmd_spec cmd_run_list = {
    .name = "run list",
    .operands = "",
    .help = "List training runs.",
    .more = "Columns: id, model, owner, lora, updated, status, checkpoint,\n"
            "checkpoint_time. The default is id,model,lora,updated,status.",
    .examples = "tinkc run list --limit 0\n"
                "tinkc run list -c id,checkpoint,checkpoint_time\n"
                "tinkc --format jsonl run list --limit 0 | wc -l",
    .options = list_options,
    .check = check_list,
    .ask = list_runs,
};

static const cmd_option info_options[] = {CMD_REST_SCOPE, {0}};

const cmd_spec cmd_run_info = {
    .name = "run info",
    .operands = "RUN_ID",
    .min_operands = 1,
    .max_operands = 1,
    .wants = CMD_RUN,
    .help = "Show one training run.",
    .options = info_options,
    .ask = show_run,
};
