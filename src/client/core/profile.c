/* {"default": "lab", "profiles": {"lab": {"base_url": "URL", "api_key": "KEY"}}}:
 * the keys of a profile are options of the configuration, its values texts. The default is
 * used by the program `tinkc` only, not by the library. */
#include "client/core/profile.h"

#include <stdio.h>
#include <string.h>

#include "client/core/config_table.h"
#include "client/core/owner_file.h"

#define LIST_BYTES 400

static const tk_json *object_at(const tk_json *json, const char *key)
{
    const tk_json *value = tk_json_get(json, key);
    return value != NULL && value->type == TK_JSON_OBJECT ? value : NULL;
}

static tinkc_code unknown(const tk_json *profiles, const char *path, const char *name,
                          tk_err *err)
{
    char list[LIST_BYTES] = "none";
    size_t n = profiles != NULL ? profiles->as.object.n : 0;
    for (size_t i = 0, at = 0; i < n && at < sizeof(list); i++) {
        tk_str key = profiles->as.object.members[i].key;
        at += (size_t)snprintf(list + at, sizeof(list) - at, "%s" TK_STR_FMT,
                               i > 0 ? ", " : "", TK_STR_ARG(key));
    }
    return tk_err_set(err, TINKC_E_CONFIG,
                      "there is no profile \"%.60s\" in %s; there are: %s", name, path,
                      list);
}

/* The environment's keys are for another server. */
static tinkc_code forget_keys(tinkc_config *config, tk_err *err)
{
    static const struct {
        const char *name, *value;
    } rows[] = {{"api_key", NULL}, {"credential_cmd", NULL}, {"credentials_file", ""}};
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; code == TINKC_OK && i < TK_ARRAY_LEN(rows); i++) {
        code = tk_config_set(config, rows[i].name, rows[i].value, err);
    }
    return code;
}

static tinkc_code set_member(tinkc_config *config, const tk_json_member *member,
                             tk_err *err)
{
    tk_str value = member->value.as.string;
    if (member->value.type != TK_JSON_STRING || memchr(value.p, '\0', value.n) != NULL ||
        memchr(member->key.p, '\0', member->key.n) != NULL) {
        return tk_err_set(err, TINKC_E_CONFIG, "option " TK_STR_FMT " is not a text",
                          TK_STR_ARG(member->key));
    }
    if (tk_str_has_prefix(member->key, "profile")) {
        return tk_err_set(err, TINKC_E_CONFIG, "a profile cannot set " TK_STR_FMT,
                          TK_STR_ARG(member->key));
    }
    return tk_config_set(config, member->key.p, value.p, err);
}

static tinkc_code set_all(tinkc_config *config, const tk_json *profile, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    if (tk_json_get(profile, "base_url") != NULL) {
        code = forget_keys(config, err);
    }
    for (size_t i = 0; code == TINKC_OK && i < profile->as.object.n; i++) {
        code = set_member(config, &profile->as.object.members[i], err);
    }
    return code;
}

tinkc_code tk_profile_apply(tinkc_config *config, const char *path, const char *name,
                            tk_err *err)
{
    tk_owner_file file;
    tk_err found = TK_ERR_INIT;
    tinkc_code code = tk_owner_file_read(&file, path, err);
    if (code == TINKC_OK) {
        const tk_json *profiles =
            file.json != NULL ? object_at(file.json, "profiles") : NULL;
        const tk_json *profile = profiles != NULL ? object_at(profiles, name) : NULL;
        code = profile != NULL ? set_all(config, profile, &found)
                               : unknown(profiles, path, name, err);
        if (code != TINKC_OK && profile != NULL) {
            code = code == TINKC_E_NOMEM
                       ? tk_err_nomem(err)
                       : tk_err_set(err, code, "profile \"%.60s\" of %s: %s", name, path,
                                    found.message);
        }
    }
    tk_owner_file_dispose(&file);
    return code;
}
