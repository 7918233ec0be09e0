/* Questions with one answer, which the official program has no commands for: `whoami`,
 * `models`, `audit`, `health`, `weights-info`, `sampler-info`. JSON has the keys of the
 * API. */
#include <stdio.h>
#include <string.h>

#include "cli/frame/cmd_list.h"
#include "cli/frame/cmd_rest.h"

/* ---- whoami ---- */

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

static int run_whoami(const cmd_args *args)
{
    return cmd_rest_with(args, whoami);
}

const cmd_spec cmd_whoami = {
    .name = "whoami",
    .operands = "",
    .help = "Show who the credential belongs to.",
    .run = run_whoami,
};

/* ---- models ---- */

static void put_model(cmd_listing *list, const char *name, int64_t context)
{
    if (list->format == CMD_TABLE) {
        cmd_table_put(list->table, name != NULL ? name : "N/A");
        if (context >= 0) {
            cmd_table_printf(list->table, "%lld", (long long)context);
        } else {
            cmd_table_put(list->table, "N/A");
        }
        return;
    }
    tk_json_begin_object(&list->json.w);
    cmd_json_pair(&list->json, "model_name", name);
    cmd_json_key(&list->json, "max_context_length");
    cmd_json_count(&list->json, context);
    tk_json_end_object(&list->json.w);
}

static int models(const cmd_args *args, tinkc_service *service)
{
    static const char *const columns[] = {"Model", "Context"};
    tinkc_capabilities *all = NULL;
    tinkc_error *error = NULL;
    cmd_listing list;
    if (tinkc_service_capabilities_wait(&all, service, &error) != TINKC_OK) {
        return cmd_fail_error(&error, NULL);
    }
    cmd_listing_begin(&list, args, columns, 2);
    cmd_listing_key(&list, "supported_models");
    for (size_t i = 0; i < tinkc_capabilities_count(all); i++) {
        put_model(&list, tinkc_capabilities_name(all, i),
                  tinkc_capabilities_context(all, i));
        if (!cmd_listing_next(&list)) {
            break;
        }
    }
    cmd_table_title(list.table, "%zu model%s", list.n, list.n == 1 ? "" : "s");
    tinkc_capabilities_free(&all);
    return cmd_listing_end(&list);
}

static int run_models(const cmd_args *args)
{
    return cmd_rest_with(args, models);
}

const cmd_spec cmd_models = {
    .name = "models",
    .operands = "",
    .help = "List the models that the server offers.",
    .run = run_models,
};

/* ---- audit ---- */

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

static int run_audit(const cmd_args *args)
{
    return cmd_rest_with(args, audit);
}

static const cmd_option audit_options[] = {
    {"day", 0, CMD_TEXT, "DATE", "This UTC day, 2026-07-13 (default: today).", false},
    {"events", 0, CMD_CHOICE, "all|checkpoints", "Which events (default: all).", false},
    {0},
};

const cmd_spec cmd_audit = {
    .name = "audit",
    .operands = "",
    .help = "Show the audit log of a day.",
    .more = "For administrators of an organization.",
    .options = audit_options,
    .run = run_audit,
};

/* ---- health ---- */

static int health(const cmd_args *args, tinkc_service *service)
{
    tinkc_error *error = NULL;
    if (tinkc_service_health_wait(service, &error) != TINKC_OK) {
        return cmd_fail_error(&error, NULL);
    }
    if (!cmd_wants_json(args)) {
        printf("ok\n");
        return CMD_OK;
    }
    cmd_json json;
    cmd_json_init(&json);
    tk_json_begin_object(&json.w);
    cmd_json_pair(&json, "status", "ok");
    tk_json_end_object(&json.w);
    return cmd_json_print(&json, args);
}

static int run_health(const cmd_args *args)
{
    return cmd_rest_with(args, health);
}

const cmd_spec cmd_health = {
    .name = "health",
    .operands = "",
    .help = "Ask the server whether it is well.",
    .more = "Exit code 0 when it is; for monitoring. 'tinkc doctor' says more.",
    .run = run_health,
};

/* ---- weights-info ---- */

static const char *choice_word(tinkc_choice choice)
{
    return choice == TINKC_CHOICE_UNSET ? "N/A"
           : choice == TINKC_CHOICE_YES ? "Yes"
                                        : "No";
}

static void put_choice(cmd_json *json, const char *key, tinkc_choice choice)
{
    cmd_json_key(json, key);
    if (choice == TINKC_CHOICE_UNSET) {
        tk_json_put_null(&json->w);
    } else {
        tk_json_put_bool(&json->w, choice == TINKC_CHOICE_YES);
    }
}

static int weights_json(const cmd_args *args, const tinkc_weights_info *info)
{
    cmd_json json;
    cmd_json_init(&json);
    tk_json_begin_object(&json.w);
    cmd_json_pair(&json, "base_model", info->base_model);
    cmd_json_key(&json, "is_lora");
    tk_json_put_bool(&json.w, info->is_lora);
    cmd_json_key(&json, "lora_rank");
    cmd_json_count(&json, info->lora_rank);
    put_choice(&json, "train_unembed", info->train_unembed);
    put_choice(&json, "train_mlp", info->train_mlp);
    put_choice(&json, "train_attn", info->train_attn);
    tk_json_end_object(&json.w);
    return cmd_json_print(&json, args);
}

static int weights_table(const cmd_args *args, const tinkc_weights_info *info)
{
    char word[CMD_WORD_BYTES];
    cmd_table *table = cmd_table_properties();
    cmd_table_title(table, "Weights: %s", cmd_operand(args, 0));
    cmd_table_row(table, "Base Model", info->base_model);
    cmd_table_row(table, "LoRA",
                  cmd_rest_lora(word, info->is_lora, info->lora_rank, true));
    cmd_table_row(table, "Trains Unembed", choice_word(info->train_unembed));
    cmd_table_row(table, "Trains MLP", choice_word(info->train_mlp));
    cmd_table_row(table, "Trains Attention", choice_word(info->train_attn));
    return cmd_table_print(&table, args);
}

static int weights(const cmd_args *args, tinkc_service *service)
{
    tinkc_weights_info *info = NULL;
    tinkc_error *error = NULL;
    if (tinkc_rest_weights_info_wait(&info, service, cmd_operand(args, 0), &error) !=
        TINKC_OK) {
        return cmd_fail_error(&error, NULL);
    }
    int result =
        cmd_wants_json(args) ? weights_json(args, info) : weights_table(args, info);
    tinkc_weights_info_free(&info);
    return result;
}

static int run_weights(const cmd_args *args)
{
    const char *path = cmd_operand(args, 0);
    return cmd_rest_is_path(path) ? cmd_rest_with(args, weights)
                                  : cmd_rest_bad_path(args, path);
}

const cmd_spec cmd_weights_info = {
    .name = "weights-info",
    .operands = "CHECKPOINT_PATH",
    .min_operands = 1,
    .max_operands = 1,
    .help = "Show what kind of weights a checkpoint holds.",
    .run = run_weights,
};

/* ---- sampler-info ---- */

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

static int run_sampler(const cmd_args *args)
{
    return cmd_rest_with(args, sampler);
}

const cmd_spec cmd_sampler_info = {
    .name = "sampler-info",
    .operands = "SAMPLER_ID",
    .min_operands = 1,
    .max_operands = 1,
    .help = "Show what a sampler samples from.",
    .run = run_sampler,
};
