/* `tinkc profile add`, `list`, `use` and `remove`: named servers, so that a run moves from
 * one to another by one word (--profile, TINKC_PROFILE). Sends nothing. */
#include <stdio.h>
#include <string.h>
#include <tinkc/config.h>

#include "base/mem.h"
#include "cli/cmd_list.h"
#include "cli/frame/cmd_key.h"
#include "cli/frame/cmd_listing.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_profiles.h"

#define OPTIONS_MAX    64
#define NAME_MAX_BYTES 60

/* ---- add ---- */

/* A word that needs no quotes in a shell and does not look like an option. */
static bool is_name(const char *text)
{
    static const char others[] = "-_.";
    size_t n = strlen(text);
    for (size_t i = 0; i < n; i++) {
        bool is_plain = (text[i] >= '0' && text[i] <= '9') ||
                        (text[i] >= 'a' && text[i] <= 'z') ||
                        (text[i] >= 'A' && text[i] <= 'Z');
        if (!is_plain && (i == 0 || strchr(others, text[i]) == NULL)) {
            return false;
        }
    }
    return n > 0 && n <= NAME_MAX_BYTES;
}

static int check_add(const cmd_args *args)
{
    if (!is_name(cmd_operand(args, 0))) {
        return cmd_bad_usage(args,
                             "A name is 1 to %d letters, digits, dots, dashes and "
                             "underscores, and starts with one of the first two.",
                             NAME_MAX_BYTES);
    }
    if (cmd_has(args, "api-key") && cmd_has(args, "key-file")) {
        return cmd_bad_usage(args, "Use one of --api-key and --key-file.");
    }
    if (cmd_count(args, "set") > OPTIONS_MAX) {
        return cmd_bad_usage(args, "At most %d options are possible.", OPTIONS_MAX);
    }
    for (size_t i = 0; i < cmd_count(args, "set"); i++) {
        if (strchr(cmd_at(args, "set", i), '=') == NULL) {
            return cmd_bad_usage(args, "--set needs NAME=VALUE.");
        }
    }
    return CMD_OK;
}

/* Reads the key; *out stays NULL without --key-file and --api-key. */
static int read_key(char **out, const cmd_args *args)
{
    const char *path = cmd_text(args, "key-file", NULL);
    const char *given = cmd_text(args, "api-key", "");
    if (path != NULL) {
        return cmd_key_read(out, path);
    }
    if (strlen(given) > CMD_KEY_MAX_BYTES) {
        return cmd_fail("the key is too long: at most %d bytes", CMD_KEY_MAX_BYTES);
    }
    *out = given[0] != '\0' ? tk_strdup(given) : NULL;
    return *out != NULL || given[0] == '\0' ? CMD_OK : cmd_fail("out of memory");
}

static bool is_option(tk_str name)
{
    tinkc_config_option option;
    for (size_t i = 0; tinkc_config_option_at(&option, i); i++) {
        if (tk_str_is(name, option.name)) {
            return !tk_str_has_prefix(name, "profile");
        }
    }
    return false;
}

/* The library checks the values, unless the environment makes no configuration possible:
 * TINKC_PROFILE may name this profile. */
static int check_options(const cmd_profile_option *options, size_t n)
{
    tinkc_config *config = NULL;
    tinkc_error *error = NULL;
    char name[NAME_MAX_BYTES + 1];
    tinkc_code code = TINKC_OK;
    (void)!tinkc_config_new(&config, NULL);
    for (size_t i = 0; code == TINKC_OK && i < n; i++) {
        (void)snprintf(name, sizeof(name), TK_STR_FMT, TK_STR_ARG(options[i].name));
        if (!is_option(options[i].name)) {
            tinkc_config_free(&config);
            return cmd_fail("a profile cannot set \"%s\"", name);
        }
        if (config != NULL) {
            code = tinkc_config_set(config, name, options[i].value, &error);
        }
    }
    tinkc_config_free(&config);
    return code == TINKC_OK ? CMD_OK : cmd_fail_error(&error, NULL);
}

static int add(const cmd_args *args)
{
    cmd_profiles profiles;
    char *key = NULL;
    cmd_profile_option options[OPTIONS_MAX + 2];
    const char *name = cmd_operand(args, 0);
    size_t n = 0;
    options[n++] = (cmd_profile_option){TK_STR("base_url"), cmd_operand(args, 1)};
    int result = read_key(&key, args);
    if (key != NULL) {
        options[n++] = (cmd_profile_option){TK_STR("api_key"), key};
    }
    for (size_t i = 0; i < cmd_count(args, "set"); i++) {
        const char *pair = cmd_at(args, "set", i);
        size_t at = (size_t)(strchr(pair, '=') - pair);
        options[n++] = (cmd_profile_option){{pair, at}, pair + at + 1};
    }
    if (result == CMD_OK) {
        result = check_options(options, n);
    }
    int opened = cmd_profiles_open(&profiles);
    result = result == CMD_OK ? opened : result;
    if (result == CMD_OK) {
        tk_str preferred =
            cmd_has(args, "default") ? tk_str_of(name) : profiles.preferred;
        result = cmd_profiles_save(&profiles, name, options, n, preferred);
    }
    if (result == CMD_OK) {
        cmd_print(stdout, "Stored profile %s %s in %s.\n", name,
                  key != NULL ? "and its key" : "without a key", profiles.path);
    }
    cmd_profiles_close(&profiles);
    cmd_key_free(key);
    return result;
}

/* ---- list ---- */

static void put_row(cmd_listing *list, const tk_json_member *member, bool is_default)
{
    const char *url = cmd_profiles_text(&member->value, "base_url");
    bool has_key = cmd_profiles_text(&member->value, "api_key") != NULL;
    if (list->format == CMD_TABLE) {
        cmd_table_put(list->table, member->key.p);
        cmd_table_put(list->table, is_default ? "yes" : "");
        cmd_table_put(list->table, url != NULL ? url : "-");
        cmd_table_put(list->table, has_key ? "***" : "-");
        return;
    }
    tk_json_begin_object(&list->json.w);
    cmd_json_pair(&list->json, "name", member->key.p);
    tk_json_key(&list->json.w, TK_STR("default"));
    tk_json_put_bool(&list->json.w, is_default);
    cmd_json_pair(&list->json, "base_url", url);
    tk_json_key(&list->json.w, TK_STR("has_key"));
    tk_json_put_bool(&list->json.w, has_key);
    tk_json_end_object(&list->json.w);
}

static int list(const cmd_args *args)
{
    static const char *const columns[] = {"Name", "Default", "Server", "Key"};
    cmd_profiles profiles;
    cmd_listing rows;
    int result = cmd_profiles_open(&profiles);
    if (result == CMD_OK) {
        cmd_listing_begin(&rows, args, columns, TK_ARRAY_LEN(columns));
        cmd_listing_key(&rows, "profiles");
        for (size_t i = 0; profiles.all != NULL && i < profiles.all->as.object.n; i++) {
            const tk_json_member *member = &profiles.all->as.object.members[i];
            put_row(&rows, member, tk_str_eq(member->key, profiles.preferred));
            if (!cmd_listing_next(&rows)) {
                break;
            }
        }
        bool is_empty = rows.n == 0 && rows.format == CMD_TABLE;
        result = cmd_listing_end(&rows);
        if (result == CMD_OK && is_empty) {
            cmd_print(stderr, "There are no profiles; 'tinkc profile add NAME URL' "
                              "stores one.\n");
        }
    }
    cmd_profiles_close(&profiles);
    return result;
}

/* ---- use, remove ---- */

/* Writes the file with the named profile as the default, or without the profile. */
static int change(const cmd_args *args, bool removes)
{
    cmd_profiles profiles;
    const char *name = cmd_operand(args, 0);
    int result = cmd_profiles_open(&profiles);
    if (result == CMD_OK && cmd_profiles_find(&profiles, name) == NULL) {
        result = cmd_fail_hint("'tinkc profile list' shows those that there are.",
                               "there is no profile \"%s\" in %s", name, profiles.path);
    }
    if (result == CMD_OK) {
        bool is_default = tk_str_is(profiles.preferred, name);
        tk_str preferred = !removes     ? tk_str_of(name)
                           : is_default ? (tk_str){NULL, 0}
                                        : profiles.preferred;
        result = cmd_profiles_save(&profiles, removes ? name : "", NULL, 0, preferred);
    }
    cmd_profiles_close(&profiles);
    return result;
}

static int use(const cmd_args *args)
{
    return change(args, false);
}

static int drop(const cmd_args *args)
{
    return change(args, true);
}

static const cmd_option add_options[] = {
    {"key-file", 0, CMD_TEXT, "FILE", "Store the API key that FILE holds.", false},
    {"default", 0, CMD_FLAG, NULL, "Use it when nothing else names a server.", false},
    {0},
};

const cmd_spec cmd_profile_add = {
    .name = "profile add",
    .operands = "NAME URL",
    .min_operands = 2,
    .max_operands = 2,
    .help = "Store a server under a name.",
    .more =
        "Replaces a profile of that name. --api-key is stored, too; --key-file keeps the key "
        "out of the history of the shell. --set stores further options of the library. "
        "The file is for its owner only.\nPrograms with libtinkc use a profile with "
        "TINKC_PROFILE=NAME or the option \"profile\". The key of a profile is sent to "
        "its server only, and no other key is sent there.",
    .examples = "tinkc profile add lab http://10.0.0.7:8000 --key-file key.txt\n"
                "tinkc train data.jsonl --profile lab",
    .options = add_options,
    .check = check_add,
    .run = add,
};

const cmd_spec cmd_profile_list = {
    .name = "profile list",
    .operands = "",
    .help = "List the stored servers, and which is the default.",
    .run = list,
};

const cmd_spec cmd_profile_use = {
    .name = "profile use",
    .operands = "NAME",
    .min_operands = 1,
    .max_operands = 1,
    .help = "Make a profile the default of this program.",
    .more = "It is used when neither --profile, --base-url, --local, TINKC_PROFILE nor "
            "TINKER_BASE_URL names a server.",
    .run = use,
};

const cmd_spec cmd_profile_remove = {
    .name = "profile remove",
    .operands = "NAME",
    .min_operands = 1,
    .max_operands = 1,
    .help = "Remove a profile and its key.",
    .run = drop,
};
