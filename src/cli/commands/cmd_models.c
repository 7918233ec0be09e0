/* `tinkc models`: the base models of the server, with what `tinkc serve` says about them;
 * and `tinkc model list`, with arguments, columns and keys of the official program. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <tinkc/service.h>

#include "cli/cmd_list.h"
#include "cli/frame/cmd_details.h"
#include "cli/frame/cmd_listing.h"

static void put_model(cmd_listing *list, const char *name, int64_t context)
{
    cmd_table_put(list->table, name != NULL ? name : "N/A");
    if (context >= 0) {
        cmd_table_printf(list->table, "%lld", (long long)context);
    } else {
        cmd_table_put(list->table, "N/A");
    }
}

/* ---- what only `tinkc serve` says ---- */

static const char *text_of(const tk_json *model, const char *key)
{
    const tk_json *value = tk_json_get(model, key);
    return value != NULL && value->type == TK_JSON_STRING ? value->as.string.p : NULL;
}

/* "1.7M", "596.0M", "8.0B". */
static const char *count_word(char out[CMD_WORD_BYTES], int64_t n)
{
    static const char units[] = "KMBT";
    double value = (double)n;
    int at = -1;
    while (value >= 999.95 && at < 3) {
        value /= 1000;
        at++;
    }
    if (n < 0) {
        (void)snprintf(out, CMD_WORD_BYTES, "-");
    } else if (at < 0) {
        (void)snprintf(out, CMD_WORD_BYTES, "%lld", (long long)n);
    } else {
        (void)snprintf(out, CMD_WORD_BYTES, "%.1f%c", value, units[at]);
    }
    return out;
}

static void put_known(cmd_listing *list, const tinkc_capabilities *all, size_t i,
                      const cmd_details *d)
{
    const char *name = tinkc_capabilities_name(all, i);
    int64_t context = tinkc_capabilities_context(all, i);
    const tk_json more = cmd_details_find(d, name);
    const char *precision = text_of(&more, "precision");
    const char *source = text_of(&more, "source");
    int64_t parameters = cmd_details_parameters(&more);
    if (list->format == CMD_TABLE) {
        char word[CMD_WORD_BYTES];
        put_model(list, name, context);
        cmd_table_put(list->table, count_word(word, parameters));
        cmd_table_put(list->table, precision != NULL ? precision : "-");
        cmd_table_put(list->table, source != NULL ? source : "-");
        return;
    }
    tk_json_begin_object(&list->json.w);
    cmd_json_pair(&list->json, "model_name", name);
    cmd_json_key(&list->json, "max_context_length");
    cmd_json_count(&list->json, context);
    cmd_json_key(&list->json, "parameters");
    cmd_json_count(&list->json, parameters);
    cmd_json_pair(&list->json, "precision", precision);
    cmd_json_pair(&list->json, "source", source);
    tk_json_end_object(&list->json.w);
}

static int models(const cmd_args *args, tinkc_service *service)
{
    static const char *const columns[] = {"Model", "Context", "Parameters", "Precision",
                                          "Source"};
    tinkc_capabilities *all = NULL;
    tinkc_error *error = NULL;
    cmd_listing list;
    cmd_details d;
    if (tinkc_service_capabilities_wait(&all, service, &error) != TINKC_OK) {
        return cmd_fail_error(&error, NULL);
    }
    cmd_details_read(&d, service);
    cmd_listing_begin(&list, args, columns, TK_ARRAY_LEN(columns));
    cmd_listing_key(&list, "supported_models");
    for (size_t i = 0; i < tinkc_capabilities_count(all); i++) {
        put_known(&list, all, i, &d);
        if (!cmd_listing_next(&list)) {
            break;
        }
    }
    cmd_table_title(list.table, "%zu model%s", list.n, list.n == 1 ? "" : "s");
    cmd_details_dispose(&d);
    tinkc_capabilities_free(&all);
    return cmd_listing_end(&list);
}

const cmd_spec cmd_models = {
    .name = "models",
    .operands = "",
    .help = "List the models that the server offers.",
    .more =
        "Parameters, precision of the files (INT8: rounded) and source (embedded, or a\n"
        "directory) are known of the models of 'tinkc serve'; '-' elsewhere.",
    .ask = models,
};

/* ---- model list ---- */

static bool contains(const char *name, const char *part)
{
    size_t n = strlen(part);
    for (; name != NULL && strlen(name) >= n; name++) {
        if (strncasecmp(name, part, n) == 0) {
            return true;
        }
    }
    return false;
}

static const char *word_of(tinkc_choice choice)
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

static void put_listed(cmd_listing *list, const tinkc_capabilities *all, size_t i)
{
    tinkc_choice trainable = tinkc_capabilities_trainable(all, i);
    tinkc_choice sampleable = tinkc_capabilities_sampleable(all, i);
    const char *name = tinkc_capabilities_name(all, i);
    int64_t context = tinkc_capabilities_context(all, i);
    if (list->format == CMD_TABLE) {
        put_model(list, name, context);
        cmd_table_put(list->table, word_of(trainable));
        cmd_table_put(list->table, word_of(sampleable));
        return;
    }
    tk_json_begin_object(&list->json.w);
    cmd_json_pair(&list->json, "model_name", name);
    cmd_json_key(&list->json, "max_context_length");
    cmd_json_count(&list->json, context);
    put_choice(&list->json, "trainable", trainable);
    put_choice(&list->json, "sampleable", sampleable);
    tk_json_end_object(&list->json.w);
}

static int list_models(const cmd_args *args, tinkc_service *service)
{
    static const char *const columns[] = {"Model", "Max Context", "Trainable",
                                          "Sampleable"};
    const char *part = cmd_operands(args) > 0 ? cmd_operand(args, 0) : "";
    tinkc_capabilities *all = NULL;
    tinkc_error *error = NULL;
    cmd_listing list;
    if (tinkc_service_capabilities_wait(&all, service, &error) != TINKC_OK) {
        return cmd_fail_error(&error, NULL);
    }
    cmd_listing_begin(&list, args, columns, 4);
    cmd_listing_key(&list, "models");
    for (size_t i = 0; i < tinkc_capabilities_count(all); i++) {
        if (part[0] != '\0' && !contains(tinkc_capabilities_name(all, i), part)) {
            continue;
        }
        put_listed(&list, all, i);
        if (!cmd_listing_next(&list)) {
            break;
        }
    }
    tinkc_capabilities_free(&all);
    if (list.n == 0 && part[0] != '\0') {
        cmd_listing_abandon(&list);
        return cmd_fail("No model name contains '%s'.", part);
    }
    return cmd_listing_end(&list);
}

const cmd_spec cmd_model_list = {
    .name = "model list",
    .operands = "[SUBSTRING]",
    .max_operands = 1,
    .help = "List the models that can be trained or sampled from.",
    .more = "SUBSTRING: only models whose name contains it, in any case.",
    .examples = "tinkc model list pebble",
    .ask = list_models,
};
