/* `tinkc config`: the value of every option of the library and where it comes from.
 * Secrets are masked, also inside commands and URLs. */
#include <stdio.h>
#include <string.h>
#include <tinkc/config.h>

#include "base/env.h"
#include "base/redact.h"
#include "base/tk.h"
#include "cli/cmd_list.h"
#include "cli/frame/cmd_listing.h"
#include "cli/frame/cmd_profiles.h"
#include "cli/frame/cmd_service.h"

#define VALUE_BYTES 4096

/* The variables (tinkc/config.h) and options of the program that set an option of the
 * library. */
static const struct {
    const char *name, *variable, *option;
    bool empty_counts; /* otherwise an empty variable counts as unset */
} sources[] = {
    {"base_url", "TINKER_BASE_URL", "base-url", false},
    {"api_key", "TINKER_API_KEY", "api-key", false},
    {"credential_cmd", "TINKER_CREDENTIAL_CMD", NULL, false},
    {"project_id", "TINKER_PROJECT_ID", NULL, false},
    {"cf_access_id", "CLOUDFLARE_ACCESS_CLIENT_ID", NULL, false},
    {"cf_access_secret", "CLOUDFLARE_ACCESS_CLIENT_SECRET", NULL, false},
    {"ca_file", "SSL_CERT_FILE", NULL, false},
    {"ca_dir", "SSL_CERT_DIR", NULL, false},
    {"log_level", "TINKER_LOG", "verbose", false},
    {"telemetry", "TINKER_TELEMETRY", NULL, true},
    {"timeout", NULL, "timeout", false},
};

/* Returns whether --set names the option. */
static bool is_set(const cmd_args *args, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < cmd_count(args, "set"); i++) {
        const char *pair = cmd_at(args, "set", i);
        if (strncmp(pair, name, n) == 0 && pair[n] == '=') {
            return true;
        }
    }
    return false;
}

/* Returns where the value comes from; static, or in `out`. `profile` is the one that is
 * used, or NULL. */
static const char *source_of(char out[CMD_WORD_BYTES], const cmd_args *args,
                             const tk_json *profile, const char *name)
{
    bool is_in_profile = cmd_profiles_text(profile, name) != NULL;
    if (is_set(args, name)) {
        return "--set";
    }
    if (strcmp(name, "base_url") == 0 && cmd_has(args, "local")) {
        return "--local";
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(sources); i++) {
        if (strcmp(sources[i].name, name) != 0) {
            continue;
        }
        if (sources[i].option != NULL && cmd_has(args, sources[i].option)) {
            (void)snprintf(out, CMD_WORD_BYTES, "--%s", sources[i].option);
            return out;
        }
        if (is_in_profile) {
            break;
        }
        const char *variable = sources[i].variable;
        const char *text = variable != NULL ? tk_env_get(NULL, variable) : NULL;
        if (text != NULL && (sources[i].empty_counts || text[0] != '\0')) {
            return variable;
        }
    }
    return is_in_profile ? "profile" : "default";
}

static void put_row(cmd_listing *list, const tinkc_config *config, const tk_json *profile,
                    const tinkc_config_option *option)
{
    char raw[VALUE_BYTES], value[VALUE_BYTES], word[CMD_WORD_BYTES];
    bool has_value = tinkc_config_get(raw, sizeof(raw), config, option->name) > 0;
    (void)tk_redact_apply(NULL, value, sizeof(value), tk_str_of(raw), false);
    const char *source = has_value || is_set(list->args, option->name)
                             ? source_of(word, list->args, profile, option->name)
                             : "default"; /* or a profile has removed it */
    if (list->format == CMD_TABLE) {
        cmd_table_put(list->table, option->name);
        cmd_table_put(list->table, has_value ? value : "-");
        cmd_table_put(list->table, source);
        return;
    }
    tk_json_begin_object(&list->json.w);
    cmd_json_pair(&list->json, "name", option->name);
    cmd_json_pair(&list->json, "value", has_value ? value : NULL);
    cmd_json_pair(&list->json, "source", source);
    cmd_json_pair(&list->json, "default", option->fallback);
    cmd_json_pair(&list->json, "type", option->type);
    tk_json_end_object(&list->json.w);
}

static int run(const cmd_args *args)
{
    static const char *const columns[] = {"Option", "Value", "From"};
    tinkc_config *config = NULL;
    tinkc_config_option option;
    cmd_listing list;
    cmd_profiles profiles;
    char used[CMD_PROFILE_BYTES];
    int result = cmd_service_config(&config, args, CMD_PATIENT);
    if (result != CMD_OK) {
        return result;
    }
    bool is_read = cmd_profiles_used(used, sizeof(used), args) == CMD_OK;
    is_read = cmd_profiles_open(&profiles) == CMD_OK && is_read;
    const tk_json *profile = is_read ? cmd_profiles_find(&profiles, used) : NULL;
    cmd_listing_begin(&list, args, columns, TK_ARRAY_LEN(columns));
    cmd_listing_key(&list, "options");
    for (size_t i = 0; tinkc_config_option_at(&option, i); i++) {
        put_row(&list, config, profile, &option);
        if (!cmd_listing_next(&list)) {
            break;
        }
    }
    result = cmd_listing_end(&list);
    cmd_profiles_close(&profiles);
    tinkc_config_free(&config);
    cmd_service_end(NULL, result);
    return result;
}

const cmd_spec cmd_config = {
    .name = "config",
    .operands = "",
    .help = "Show the configuration and where each value comes from.",
    .more =
        "Options of the program win over the profile, which wins over the environment, which "
        "wins over the defaults.\n"
        "Secrets are shown as ***. docs/config.md describes each option.",
    .examples = "tinkc config --base-url http://127.0.0.1:8000",
    .run = run,
};
