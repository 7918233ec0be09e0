/* `tinkc models`: the base models of the server, with what `tinkc serve` says about them;
 * and `tinkc model list`, with arguments, columns and keys of the official program. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <tinkc/raw.h>
#include <tinkc/service.h>

#include "base/arena.h"
#include "cli/cmd_list.h"
#include "cli/frame/cmd_listing.h"

#define DETAILS_MS    5000
#define DETAILS_BYTES (4 * TK_MIB)

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

typedef struct details {
    tk_arena arena;
    const tk_json *models; /* a list of objects; NULL: the server has no such route */
} details;

static void read_details(details *out, tinkc_service *service)
{
    tinkc_raw_request request = TINKC_RAW_REQUEST_INIT;
    tinkc_raw_response *response = NULL;
    const tk_json *root = NULL;
    size_t n = 0;
    tk_arena_init(&out->arena, DETAILS_BYTES);
    out->models = NULL;
    request.path = "/tinkc/v1/models";
    request.timeout_ms = DETAILS_MS;
    request.max_retries = 0;
    if (tinkc_raw_send_wait(&response, service, &request, NULL) != TINKC_OK) {
        return;
    }
    const char *body = tinkc_raw_response_body(&n, response);
    if (body != NULL &&
        tk_json_parse(&root, &out->arena, body, n, NULL, NULL) == TINKC_OK) {
        out->models = tk_json_get(root, "models");
    }
    tinkc_raw_response_free(&response);
}

/* Returns what is known of a model, or null. */
static tk_json find_details(const details *d, const char *name)
{
    size_t n = d->models != NULL && name != NULL ? tk_json_len(d->models) : 0;
    for (size_t i = 0; i < n; i++) {
        tk_json one = tk_json_at(d->models, i);
        const tk_json *text = tk_json_get(&one, "model_name");
        if (text != NULL && text->type == TK_JSON_STRING &&
            tk_str_is(text->as.string, name)) {
            return one;
        }
    }
    return (tk_json){.type = TK_JSON_NULL};
}

static const char *text_of(const tk_json *model, const char *key)
{
    const tk_json *value = tk_json_get(model, key);
    return value != NULL && value->type == TK_JSON_STRING ? value->as.string.p : NULL;
}

static int64_t parameters_of(const tk_json *model)
{
    const tk_json *value = tk_json_get(model, "parameters");
    int64_t n = -1;
    return value != NULL && tk_json_to_i64(value, &n) && n >= 0 ? n : -1;
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
                      const details *d)
{
    const char *name = tinkc_capabilities_name(all, i);
    int64_t context = tinkc_capabilities_context(all, i);
    const tk_json more = find_details(d, name);
    const char *precision = text_of(&more, "precision");
    const char *source = text_of(&more, "source");
    int64_t parameters = parameters_of(&more);
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
    details d;
    if (tinkc_service_capabilities_wait(&all, service, &error) != TINKC_OK) {
        return cmd_fail_error(&error, NULL);
    }
    read_details(&d, service);
    cmd_listing_begin(&list, args, columns, TK_ARRAY_LEN(columns));
    cmd_listing_key(&list, "supported_models");
    for (size_t i = 0; i < tinkc_capabilities_count(all); i++) {
        put_known(&list, all, i, &d);
        if (!cmd_listing_next(&list)) {
            break;
        }
    }
    cmd_table_title(list.table, "%zu model%s", list.n, list.n == 1 ? "" : "s");
    tk_arena_dispose(&d.arena);
    tinkc_capabilities_free(&all);
    return cmd_listing_end(&list);
}

const cmd_spec cmd_models = {
    .name = "models",
    .operands = "",
    .help = "List the models that the server offers.",
    .more =
        "Parameters, precision of the files and source (embedded, or a directory) are\n"
        "known of the models of 'tinkc serve'; '-' elsewhere.",
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
