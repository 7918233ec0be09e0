/* tinkc_config over one table of options (config_table.c): defaults, environment, setting
 * by name, copies. Owns its texts; secrets are wiped. Thread: one at a time. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/similar.h"
#include "client/core/config_table.h"
#include "client/core/credentials.h"
#include "client/core/headers.h"
#include "client/core/profile.h"
#include "client/values/error.h"

static void *member(const tinkc_config *config, const tk_option *option)
{
    return (char *)(uintptr_t)config + option->at;
}

static bool is_text(const tk_option *option)
{
    return option->type == TK_OPTION_STRING || option->type == TK_OPTION_SECRET;
}

/* ---- setting one option ---- */

static void drop_text(char **text, bool secret)
{
    if (*text != NULL && secret) {
        tk_mem_wipe(*text, strlen(*text));
    }
    tk_free(*text);
    *text = NULL;
}

static tinkc_code set_text(tinkc_config *config, const tk_option *option,
                           const char *value, tk_err *err)
{
    char *copy = NULL;
    if (value != NULL) {
        if (!tk_headers_is_clean(tk_str_of(value))) {
            return tk_err_set(err, TINKC_E_CONFIG, "%s holds a control character",
                              option->name);
        }
        copy = tk_strdup(value);
        if (copy == NULL) {
            return tk_err_nomem(err);
        }
    }
    char **text = member(config, option);
    drop_text(text, option->type == TK_OPTION_SECRET);
    *text = copy;
    return TINKC_OK;
}

static tinkc_code set_number(tinkc_config *config, const tk_option *option,
                             const char *value, tk_err *err)
{
    int64_t number;
    if (!tk_option_parse(&number, option, value)) {
        return tk_err_set(err, TINKC_E_CONFIG, "%s: \"%.60s\" is not %s", option->name,
                          value, tk_option_expects(option));
    }
    if (number != -1 && (number < option->min || number > option->max)) {
        return tk_err_set(err, TINKC_E_CONFIG, "%s must lie between %lld and %lld",
                          option->name, (long long)option->min, (long long)option->max);
    }
    *(int64_t *)member(config, option) = number;
    return TINKC_OK;
}

static tinkc_code set_option(tinkc_config *config, const tk_option *option,
                             const char *value, tk_err *err)
{
    const char *effective = value != NULL ? value : option->fallback;
    if (is_text(option)) {
        return set_text(config, option, effective, err);
    }
    return set_number(config, option, effective, err);
}

/* A caller who sets a file or a folder of certificates trusts nothing else: the
 * environment does not add the other one. */
static void replace_trust(tinkc_config *config, const tk_option *option)
{
    bool is_file = member(config, option) == (void *)&config->ca_file;
    bool is_dir = member(config, option) == (void *)&config->ca_dir;
    if (config->trust_is_env && (is_file || is_dir)) {
        drop_text(is_file ? &config->ca_dir : &config->ca_file, false);
        config->trust_is_env = false;
    }
}

/* The options of the profile that was just named. */
static tinkc_code use_profile(tinkc_config *config, tk_err *err)
{
    if (config->profile == NULL || config->profile[0] == '\0') {
        return TINKC_OK;
    }
    if (config->profiles_file == NULL || config->profiles_file[0] == '\0') {
        return tk_err_set(err, TINKC_E_CONFIG,
                          "there is no home directory for profile \"%.60s\"",
                          config->profile);
    }
    return tk_profile_apply(config, config->profiles_file, config->profile, err);
}

static tinkc_code refuse_name(const char *name, tk_err *err)
{
    tk_similar search = {.typed = tk_str_of(name)};
    const tk_option *option;
    for (size_t i = 0; (option = tk_option_at(i)) != NULL; i++) {
        tk_similar_try(&search, option->name);
    }
    bool has_best = search.best != NULL;
    return tk_err_set(err, TINKC_E_CONFIG, "there is no option \"%.60s\"%s%s%s", name,
                      has_best ? "; did you mean \"" : "", has_best ? search.best : "",
                      has_best ? "\"?" : "");
}

tinkc_code tk_config_set(tinkc_config *config, const char *name, const char *value,
                         tk_err *err)
{
    const tk_option *option = tk_option_find(name);
    if (option == NULL) {
        return refuse_name(name, err);
    }
    tinkc_code code = set_option(config, option, value, err);
    if (code == TINKC_OK && value != NULL) {
        replace_trust(config, option);
    }
    if (code == TINKC_OK && member(config, option) == (void *)&config->profile) {
        code = use_profile(config, err);
    }
    return code;
}

/* ---- pairs ---- */

static void clear_pairs(tk_pairs *pairs)
{
    for (size_t i = 0; i < pairs->n; i++) {
        drop_text(&pairs->items[i].name, false);
        drop_text(&pairs->items[i].value, true); /* a header may hold a credential */
    }
    tk_free(pairs->items);
    *pairs = (tk_pairs){0};
}

/* The names of headers are the same in any case, and the server sees one of them. */
static size_t find_pair(const tk_pairs *pairs, const char *name)
{
    size_t i = 0;
    while (i < pairs->n && (pairs->any_case ? strcasecmp(pairs->items[i].name, name)
                                            : strcmp(pairs->items[i].name, name)) != 0) {
        i++;
    }
    return i;
}

static tinkc_code put_pair(tk_pairs *pairs, const char *name, const char *value,
                           tk_err *err)
{
    char *copy = value != NULL ? tk_strdup(value) : NULL;
    size_t i = find_pair(pairs, name);
    char *new_name = i == pairs->n ? tk_strdup(name) : NULL;
    struct tk_pair *items = pairs->items;
    if (i == pairs->n) {
        items = tk_realloc_array(pairs->items, pairs->n + 1, sizeof(*items));
    }
    if ((value != NULL && copy == NULL) || items == NULL ||
        (i == pairs->n && new_name == NULL)) {
        pairs->items = items != NULL ? items : pairs->items;
        tk_free(copy);
        tk_free(new_name);
        return tk_err_nomem(err);
    }
    pairs->items = items;
    if (i == pairs->n) {
        items[i] = (struct tk_pair){new_name, NULL};
        pairs->n++;
    }
    drop_text(&items[i].value, true);
    items[i].value = copy;
    return TINKC_OK;
}

static void remove_pair(tk_pairs *pairs, const char *name)
{
    size_t i = find_pair(pairs, name);
    if (i < pairs->n) {
        drop_text(&pairs->items[i].name, false);
        drop_text(&pairs->items[i].value, true);
        memmove(&pairs->items[i], &pairs->items[i + 1],
                (pairs->n - i - 1) * sizeof(pairs->items[0]));
        pairs->n--;
    }
}

static tinkc_code copy_pairs(tk_pairs *out, const tk_pairs *from, tk_err *err)
{
    for (size_t i = 0; i < from->n; i++) {
        tinkc_code code = put_pair(out, from->items[i].name, from->items[i].value, err);
        if (code != TINKC_OK) {
            return code;
        }
    }
    return TINKC_OK;
}

/* ---- life ---- */

static void free_config(tinkc_config *config)
{
    const tk_option *option;
    for (size_t i = 0; (option = tk_option_at(i)) != NULL; i++) {
        if (is_text(option)) {
            drop_text(member(config, option), option->type == TK_OPTION_SECRET);
        }
    }
    clear_pairs(&config->headers);
    clear_pairs(&config->query);
    clear_pairs(&config->metadata);
    clear_pairs(&config->tags);
    tk_free(config);
}

/* Empty parts are dropped, and so is what surrounds a tag: the official SDK keeps
 * both. */
static tinkc_code read_tags(tinkc_config *config, const tk_env *env, tk_err *err)
{
    tk_str rest = tk_str_of(tk_env_get(env, "TINKER_TAGS"));
    tinkc_code code = TINKC_OK;
    while (rest.p != NULL && code == TINKC_OK) {
        tk_str tag = tk_str_trim(tk_str_cut(&rest, ','));
        if (tag.n > 0) {
            char *name = tk_strndup(tag.p, tag.n);
            code = name != NULL ? put_pair(&config->tags, name, NULL, err)
                                : tk_err_nomem(err);
            tk_free(name);
        }
    }
    return code;
}

/* An empty variable counts as absent, except for the one that has its own rule: the
 * official SDK takes an empty TINKER_TELEMETRY for off. */
static const char *read_env(const tk_option *option, const tk_env *env)
{
    if (option->env == NULL || option->from_env == NULL) {
        return option->env != NULL ? tk_env_get_nonempty(env, option->env) : NULL;
    }
    const char *value = tk_env_get(env, option->env);
    return value != NULL ? option->from_env(value) : NULL;
}

/* The two files of the user; none without a home directory. */
static tinkc_code find_files(tinkc_config *config, const tk_env *env, tk_err *err)
{
    const char *home = tk_env_get_nonempty(env, "HOME");
    const char *settings = tk_env_get_nonempty(env, "XDG_CONFIG_HOME");
    if (home != NULL) {
        config->credentials_file = tk_file_join(home, TK_CREDENTIALS_NAME);
    }
    if (settings != NULL) {
        config->profiles_file = tk_file_join(settings, "tinkc/profiles.json");
    } else if (home != NULL) {
        config->profiles_file = tk_file_join(home, ".config/tinkc/profiles.json");
    }
    bool failed = (home != NULL && config->credentials_file == NULL) ||
                  ((home != NULL || settings != NULL) && config->profiles_file == NULL);
    return failed ? tk_err_nomem(err) : TINKC_OK;
}

static tinkc_code fill(tinkc_config *config, const tk_env *env, tk_err *err)
{
    const tk_option *option;
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; code == TINKC_OK && (option = tk_option_at(i)) != NULL; i++) {
        code = set_option(config, option, read_env(option, env), err);
    }
    if (code != TINKC_OK) {
        return code;
    }
    config->trust_is_env = true;
    code = find_files(config, env, err);
    if (code == TINKC_OK) {
        code = read_tags(config, env, err);
    }
    return code == TINKC_OK ? use_profile(config, err) : code;
}

tinkc_code tk_config_new(tinkc_config **out, const tk_env *env, tk_err *err)
{
    tinkc_config *config = tk_zalloc(sizeof(*config));
    if (config == NULL) {
        return tk_err_nomem(err);
    }
    config->headers.any_case = true;
    tinkc_code code = fill(config, env, err);
    if (code != TINKC_OK) {
        free_config(config);
        return code;
    }
    *out = config;
    return TINKC_OK;
}

static tinkc_code copy_option(tinkc_config *to, const tinkc_config *from,
                              const tk_option *option, tk_err *err)
{
    if (is_text(option)) {
        return set_text(to, option, *(char **)member(from, option), err);
    }
    *(int64_t *)member(to, option) = *(int64_t *)member(from, option);
    return TINKC_OK;
}

/* Reads digits at *p; stops counting at a million. */
static unsigned read_number(const char **p)
{
    unsigned value = 0;
    for (; **p >= '0' && **p <= '9'; (*p)++) {
        value = value < 1000000 ? value * 10 + (unsigned)(**p - '0') : value;
    }
    return value;
}

bool tk_config_sdk_at_least(const tinkc_config *config, unsigned minor)
{
    const char *p = config->sdk_version;
    if (p == NULL || *p < '0' || *p > '9') {
        return true;
    }
    unsigned major = read_number(&p);
    if (major > 0 || *p != '.') {
        return true;
    }
    p++;
    return read_number(&p) >= minor;
}

tinkc_code tk_config_copy(tinkc_config **out, const tinkc_config *config, tk_err *err)
{
    tinkc_config *copy = tk_zalloc(sizeof(*copy));
    if (copy == NULL) {
        return tk_err_nomem(err);
    }
    copy->headers.any_case = true;
    const tk_option *option;
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; code == TINKC_OK && (option = tk_option_at(i)) != NULL; i++) {
        code = copy_option(copy, config, option, err);
    }
    const tk_pairs *from[] = {&config->headers, &config->query, &config->metadata,
                              &config->tags};
    tk_pairs *to[] = {&copy->headers, &copy->query, &copy->metadata, &copy->tags};
    for (size_t i = 0; code == TINKC_OK && i < TK_ARRAY_LEN(from); i++) {
        code = copy_pairs(to[i], from[i], err);
    }
    if (code != TINKC_OK) {
        free_config(copy);
        return code;
    }
    copy->trust_is_env = config->trust_is_env;
    copy->log_fn = config->log_fn;
    copy->log_user = config->log_user;
    *out = copy;
    return TINKC_OK;
}

/* ---- the public functions ---- */

tinkc_code tinkc_config_new(tinkc_config **out, tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    if (out == NULL) {
        tk_err_set(&err, TINKC_E_INVALID, "no place for the result");
    } else if (tk_config_new(out, NULL, &err) == TINKC_OK) {
        return TINKC_OK;
    }
    return tk_error_give(error, &err);
}

tinkc_code tinkc_config_copy(tinkc_config **out, const tinkc_config *config,
                             tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    if (out == NULL || config == NULL) {
        tk_err_set(&err, TINKC_E_INVALID, "no configuration to copy");
    } else if (tk_config_copy(out, config, &err) == TINKC_OK) {
        return TINKC_OK;
    }
    return tk_error_give(error, &err);
}

void tinkc_config_free(tinkc_config **config)
{
    if (config != NULL && *config != NULL) {
        free_config(*config);
        *config = NULL;
    }
}

tinkc_code tinkc_config_set(tinkc_config *config, const char *name, const char *value,
                            tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    if (config == NULL || name == NULL) {
        tk_err_set(&err, TINKC_E_INVALID, "no configuration, or no name");
    } else if (tk_config_set(config, name, value, &err) == TINKC_OK) {
        return TINKC_OK;
    }
    return tk_error_give(error, &err);
}

size_t tinkc_config_get(char *text, size_t size, const tinkc_config *config,
                        const char *name)
{
    const tk_option *option = name != NULL ? tk_option_find(name) : NULL;
    char number[32];
    const char *value = "";
    if (config == NULL || option == NULL) {
        return 0;
    }
    if (is_text(option)) {
        value = *(char **)member(config, option);
        value = value == NULL ? "" : option->type == TK_OPTION_SECRET ? "***" : value;
    } else {
        value = tk_option_text(option, *(int64_t *)member(config, option), number,
                               sizeof(number));
    }
    int n = snprintf(text, size, "%s", value);
    return n > 0 ? (size_t)n : 0;
}

static tinkc_code change_pair(tk_pairs *pairs, const char *name, const char *value,
                              bool null_removes, tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    if (name == NULL || name[0] == '\0' || !tk_headers_is_clean(tk_str_of(name)) ||
        (value != NULL && !tk_headers_is_clean(tk_str_of(value)))) {
        tk_err_set(&err, TINKC_E_CONFIG,
                   "a name or value is empty or holds control characters");
        return tk_error_give(error, &err);
    }
    if (value == NULL && null_removes) {
        remove_pair(pairs, name);
        return TINKC_OK;
    }
    if (put_pair(pairs, name, value, &err) == TINKC_OK) {
        return TINKC_OK;
    }
    return tk_error_give(error, &err);
}

static tinkc_code no_config(tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    tk_err_set(&err, TINKC_E_INVALID, "no configuration");
    return tk_error_give(error, &err);
}

tinkc_code tinkc_config_set_header(tinkc_config *config, const char *name,
                                   const char *value, tinkc_error **error)
{
    if (config == NULL) {
        return no_config(error);
    }
    if (name == NULL || !tk_headers_is_name(tk_str_of(name))) {
        return tk_error_tell(error, TINKC_E_CONFIG, "not the name of a header");
    }
    return change_pair(&config->headers, name, value, true, error);
}

tinkc_code tinkc_config_set_query(tinkc_config *config, const char *name,
                                  const char *value, tinkc_error **error)
{
    return config == NULL ? no_config(error)
                          : change_pair(&config->query, name, value, true, error);
}

tinkc_code tinkc_config_set_metadata(tinkc_config *config, const char *key,
                                     const char *value, tinkc_error **error)
{
    return config == NULL ? no_config(error)
                          : change_pair(&config->metadata, key, value, false, error);
}

tinkc_code tinkc_config_add_tag(tinkc_config *config, const char *tag,
                                tinkc_error **error)
{
    return config == NULL ? no_config(error)
                          : change_pair(&config->tags, tag, NULL, false, error);
}

void tinkc_config_set_log(tinkc_config *config, tinkc_log_fn fn, void *user)
{
    if (config != NULL) {
        config->log_fn = fn;
        config->log_user = user;
    }
}

bool tinkc_config_option_at(tinkc_config_option *out, size_t index)
{
    const tk_option *option = tk_option_at(index);
    if (option == NULL || out == NULL) {
        return false;
    }
    out->name = option->name;
    out->type = tk_option_type_name(option->type);
    out->fallback = option->fallback != NULL ? option->fallback : "";
    out->help = option->help;
    return true;
}
