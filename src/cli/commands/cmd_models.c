/* `tinkc models`: the base models of the server. JSON has the keys of the API. */
#include <tinkc/service.h>

#include "cli/cmd_list.h"
#include "cli/frame/cmd_listing.h"

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

const cmd_spec cmd_models = {
    .name = "models",
    .operands = "",
    .help = "List the models that the server offers.",
    .ask = models,
};
