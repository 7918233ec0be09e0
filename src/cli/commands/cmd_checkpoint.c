/* `tinkc checkpoint list`, `info`, `publish`, `unpublish` and `set-ttl`, with the
 * options, columns and JSON keys of the official program. The other commands of the group
 * have their own files. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/cmd_list.h"
#include "cli/frame/cmd_listing.h"
#include "cli/frame/cmd_progress.h"
#include "cli/frame/cmd_resolve.h"
#include "cli/frame/cmd_rest.h"

/* ---- list ---- */

static void put_row(cmd_table *table, const tinkc_checkpoint *checkpoint)
{
    char word[CMD_WORD_BYTES];
    cmd_table_put(table, checkpoint->id);
    cmd_table_put(table, checkpoint->type_text);
    cmd_table_put(table, cmd_out_size(word, checkpoint->size_bytes));
    cmd_table_put(table, checkpoint->is_public ? "Yes" : "No");
    cmd_table_put(table, cmd_out_time(word, checkpoint->time_us));
    cmd_table_put(table, checkpoint->expires_us != TINKC_NO_TIME
                             ? cmd_out_time(word, checkpoint->expires_us)
                             : "Never");
    cmd_table_put(table, checkpoint->path);
}

static bool put(cmd_listing *list, const tinkc_checkpoint *checkpoint)
{
    if (list->format == CMD_TABLE) {
        put_row(list->table, checkpoint);
    } else {
        cmd_rest_put_checkpoint(&list->json, checkpoint);
    }
    return cmd_listing_next(list);
}

static void put_title(cmd_listing *list, const char *run_id, int64_t left)
{
    char more[CMD_REST_MORE_BYTES];
    (void)cmd_rest_more(more, left);
    const char *run = run_id != NULL ? run_id : "";
    const char *of = run_id != NULL ? " for run " : "";
    if (list->n == 0) {
        cmd_table_title(list->table, "No checkpoints found%s%s", of, run);
    } else {
        cmd_table_title(list->table, "%zu checkpoint%s%s%s%s", list->n,
                        list->n == 1 ? "" : "s", of, run, more);
    }
}

static tinkc_code list_of_run(cmd_listing *list, tinkc_service *service,
                              const char *run_id, tinkc_error **error)
{
    tinkc_checkpoints *all = NULL;
    tinkc_code code = tinkc_rest_list_checkpoints_wait(&all, service, run_id, error);
    for (size_t i = 0; code == TINKC_OK && i < all->n; i++) {
        if (!put(list, &all->items[i])) {
            break;
        }
    }
    tinkc_checkpoints_free(&all);
    return code;
}

static tinkc_code list_of_user(cmd_listing *list, tinkc_service *service, int64_t *left,
                               tinkc_error **error)
{
    tinkc_pager *pager = NULL;
    const tinkc_pager_options options = cmd_rest_page(list->args);
    tinkc_code code = tinkc_pager_checkpoints(&pager, service, &options, error);
    for (bool go_on = true; code == TINKC_OK && go_on;) {
        const tinkc_checkpoint *checkpoint = NULL;
        code = tinkc_pager_next_checkpoint(&checkpoint, pager, error);
        go_on = code == TINKC_OK && put(list, checkpoint);
        cmd_progress("Fetching checkpoints: %zu of %lld", list->n,
                     (long long)tinkc_pager_total(pager));
    }
    *left = tinkc_pager_total(pager) - options.offset - (int64_t)list->n;
    tinkc_pager_close(&pager);
    if (code == TINKC_E_MISSING) {
        tinkc_error_free(error);
        return TINKC_OK;
    }
    return code;
}

static int list_of(const cmd_args *args, tinkc_service *service, const char *run_id)
{
    static const char *const columns[] = {"Checkpoint ID", "Type",    "Size", "Public",
                                          "Created",       "Expires", "Path"};
    cmd_listing list;
    tinkc_error *error = NULL;
    int64_t left = 0;
    cmd_listing_begin(&list, args, columns, TK_ARRAY_LEN(columns));
    if (run_id != NULL && list.format == CMD_JSON) {
        cmd_json_pair(&list.json, "run_id", run_id);
    }
    cmd_listing_key(&list, "checkpoints");
    tinkc_code code = run_id != NULL ? list_of_run(&list, service, run_id, &error)
                                     : list_of_user(&list, service, &left, &error);
    if (code != TINKC_OK) {
        cmd_listing_abandon(&list);
        return cmd_fail_error(&error, NULL);
    }
    put_title(&list, run_id, left);
    return cmd_listing_end(&list);
}

static int list_checkpoints(const cmd_args *args, tinkc_service *service)
{
    const char *typed = cmd_text(args, "run-id", NULL);
    char *run_id = NULL;
    int result =
        typed != NULL ? cmd_resolve(&run_id, service, args, typed, CMD_RUN) : CMD_OK;
    result = result == CMD_OK ? list_of(args, service, run_id) : result;
    tk_free(run_id);
    return result;
}

/* ---- info ---- */

static int info_table(const cmd_args *args, const tinkc_checkpoint *checkpoint,
                      const tinkc_run *run)
{
    char word[CMD_WORD_BYTES];
    cmd_table *table = cmd_table_properties();
    cmd_table_title(table, "Checkpoint: %s", checkpoint->id);
    cmd_table_row(table, "Checkpoint ID", checkpoint->id);
    cmd_table_row(table, "Type", checkpoint->type_text);
    cmd_table_row(table, "Tinker Path", checkpoint->path);
    if (checkpoint->size_bytes >= 0) {
        cmd_table_row(table, "Size", cmd_out_size(word, checkpoint->size_bytes));
    }
    cmd_table_row(table, "Public", checkpoint->is_public ? "Yes" : "No");
    cmd_table_row(table, "Created", cmd_out_time(word, checkpoint->time_us));
    cmd_table_row(table, "Expires",
                  checkpoint->expires_us != TINKC_NO_TIME
                      ? cmd_out_time(word, checkpoint->expires_us)
                      : "Never");
    cmd_table_row(table, "Training Run ID", run->id);
    cmd_table_row(table, "LoRA", cmd_rest_lora(word, run->is_lora, run->lora_rank, true));
    return cmd_table_print(&table, args);
}

static int show(const cmd_args *args, const tinkc_checkpoint *checkpoint,
                const tinkc_run *run)
{
    if (!cmd_wants_json(args)) {
        return info_table(args, checkpoint, run);
    }
    cmd_json json;
    cmd_json_init(&json);
    tk_json_begin_object(&json.w);
    cmd_rest_put_checkpoint_keys(&json, checkpoint);
    cmd_json_key(&json, "is_lora");
    tk_json_put_bool(&json.w, run->is_lora);
    cmd_json_key(&json, "lora_rank");
    cmd_json_count(&json, run->lora_rank);
    tk_json_end_object(&json.w);
    return cmd_json_print(&json, args);
}

/* Returns whether a path of the list is the one that was asked for, which may be
 * tinker://RUN/NAME for weights for sampling. */
static bool is_same_path(const char *listed, const char *asked)
{
    static const char kind[] = "sampler_weights/";
    size_t run = cmd_rest_scheme(asked);
    run += strcspn(asked + run, "/") + 1;
    return strcmp(listed, asked) == 0 ||
           (strncmp(listed, asked, run) == 0 &&
            strncmp(listed + run, kind, strlen(kind)) == 0 &&
            strcmp(listed + run + strlen(kind), asked + run) == 0);
}

static const tinkc_checkpoint *find(const tinkc_checkpoints *all, const char *path)
{
    for (size_t i = 0; i < all->n; i++) {
        if (all->items[i].path != NULL && is_same_path(all->items[i].path, path)) {
            return &all->items[i];
        }
    }
    return NULL;
}

static int show_checkpoint(const cmd_args *args, tinkc_service *service)
{
    const char *path = cmd_operand(args, 0);
    const char *from = path + cmd_rest_scheme(path);
    char run_id[512];
    tinkc_checkpoints *all = NULL;
    tinkc_run *run = NULL;
    tinkc_error *error = NULL;
    int result;
    (void)snprintf(run_id, sizeof(run_id), "%.*s", (int)strcspn(from, "/"), from);
    if (tinkc_rest_list_checkpoints_wait(&all, service, run_id, &error) != TINKC_OK) {
        return cmd_fail_error(&error, "Failed to retrieve checkpoint");
    }
    const tinkc_checkpoint *checkpoint = find(all, path);
    if (checkpoint == NULL) {
        result = cmd_fail_hint("'tinkc checkpoint list' shows your checkpoints.",
                               "Checkpoint not found: %s", path);
    } else if (tinkc_rest_get_run_wait(&run, service, run_id, TINKC_SCOPE_OWNED,
                                       &error) != TINKC_OK) {
        result = cmd_fail_error(&error, "Failed to retrieve checkpoint");
    } else {
        result = show(args, checkpoint, run);
    }
    tinkc_run_free(&run);
    tinkc_checkpoints_free(&all);
    return result;
}

/* ---- changes: like the official program, silent when they succeed ---- */

static int done(tinkc_code code, tinkc_error **error)
{
    return code == TINKC_OK ? CMD_OK : cmd_fail_error(error, NULL);
}

static int publish(const cmd_args *args, tinkc_service *service)
{
    tinkc_error *error = NULL;
    return done(tinkc_rest_publish_checkpoint_wait(service, cmd_operand(args, 0), &error),
                &error);
}

static int unpublish(const cmd_args *args, tinkc_service *service)
{
    tinkc_error *error = NULL;
    return done(
        tinkc_rest_unpublish_checkpoint_wait(service, cmd_operand(args, 0), &error),
        &error);
}

static int set_ttl(const cmd_args *args, tinkc_service *service)
{
    tinkc_error *error = NULL;
    int64_t ttl = cmd_has(args, "remove") ? TINKC_NO_TTL : cmd_int(args, "ttl", 0);
    return done(
        tinkc_rest_set_checkpoint_ttl_wait(service, cmd_operand(args, 0), ttl, &error),
        &error);
}

static int check_ttl(const cmd_args *args)
{
    if (!cmd_has(args, "ttl") && !cmd_has(args, "remove")) {
        return cmd_bad_usage(args, "Must specify either --ttl SECONDS or --remove.");
    }
    if (cmd_has(args, "ttl") && cmd_has(args, "remove")) {
        return cmd_bad_usage(args, "Cannot specify both --ttl and --remove.");
    }
    if (cmd_has(args, "ttl") && cmd_int(args, "ttl", 0) < 1) {
        return cmd_bad_usage(args, "--ttl must be 1 second or more.");
    }
    return cmd_rest_check_paths(args);
}

#define ONE_PATH                                                                         \
    .operands = "CHECKPOINT", .min_operands = 1, .max_operands = 1,                      \
    .wants = CMD_CHECKPOINT
#define OF_OWNER ONE_PATH, .more = "Only the owner of the training run may do this."

static const cmd_option list_options[] = {
    {"run-id", 0, CMD_TEXT, "ID", "Show all checkpoints of this training run.", false},
    {"limit", 0, CMD_INT, "N", "Show at most N checkpoints (20; 0: all).", false},
    {"offset", 0, CMD_INT, "N", "Skip the first N.", false},
    {0},
};

const cmd_spec cmd_checkpoint_list = {
    .name = "checkpoint list",
    .operands = "",
    .help = "List checkpoints.",
    .examples = "tinkc checkpoint list --limit 0\n"
                "tinkc --format json checkpoint list --run-id RUN",
    .options = list_options,
    .check = cmd_rest_check_page,
    .ask = list_checkpoints,
};

const cmd_spec cmd_checkpoint_info = {
    .name = "checkpoint info",
    ONE_PATH,
    .help = "Show one checkpoint.",
    .examples = "tinkc checkpoint info tinker://RUN/weights/0001",
    .check = cmd_rest_check_paths,
    .ask = show_checkpoint,
};

const cmd_spec cmd_checkpoint_publish = {
    .name = "checkpoint publish",
    OF_OWNER,
    .help = "Make a checkpoint readable by everyone.",
    .check = cmd_rest_check_paths,
    .ask = publish,
};

const cmd_spec cmd_checkpoint_unpublish = {
    .name = "checkpoint unpublish",
    OF_OWNER,
    .help = "Make a published checkpoint private again.",
    .check = cmd_rest_check_paths,
    .ask = unpublish,
};

static const cmd_option ttl_options[] = {
    {"ttl", 0, CMD_INT, "SECONDS", "Expire after this many seconds.", false},
    {"remove", 0, CMD_FLAG, NULL, "Never expire.", false},
    {0},
};

const cmd_spec cmd_checkpoint_set_ttl = {
    .name = "checkpoint set-ttl",
    ONE_PATH,
    .help = "Set or remove the expiry of a checkpoint.",
    .examples = "tinkc checkpoint set-ttl tinker://RUN/weights/0001 --ttl 86400\n"
                "tinkc checkpoint set-ttl tinker://RUN/weights/0001 --remove",
    .options = ttl_options,
    .check = check_ttl,
    .ask = set_ttl,
};
