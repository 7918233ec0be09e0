/* Finds URL, token and cache of the hub in arguments, environment and files, in the order
 * of the hub's own library. */
#include "client/hub/hub.h"

#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "client/core/service.h"
#include "client/values/error.h"
#include "http/url.h"

#define TOKEN_MAX_BYTES (4 * TK_KIB)
#define HUB_URL         "https://huggingface.co"

/* ---- what the environment says ---- */

static tinkc_code given_or_nomem(char *made, char **out, tk_err *err)
{
    if (made == NULL) {
        return tk_err_nomem(err);
    }
    *out = made;
    return TINKC_OK;
}

tinkc_code tk_hub_find_cache(char **out, const tk_env *env, const char *name, tk_err *err)
{
    const char *xdg = tk_env_get_nonempty(env, "XDG_CACHE_HOME");
    const char *home = tk_env_get_nonempty(env, "HOME");
    *out = NULL;
    if (xdg != NULL) {
        return given_or_nomem(tk_file_join(xdg, name), out, err);
    }
    if (home == NULL) {
        return TINKC_OK;
    }
    char *caches = tk_file_join(home, ".cache");
    char *made = caches != NULL ? tk_file_join(caches, name) : NULL;
    tk_free(caches);
    return given_or_nomem(made, out, err);
}

tinkc_code tk_hub_find_home(char **out, const tk_env *env, tk_err *err)
{
    const char *home = tk_env_get_nonempty(env, "HF_HOME");
    return home != NULL ? given_or_nomem(tk_strdup(home), out, err)
                        : tk_hub_find_cache(out, env, "huggingface", err);
}

tinkc_code tk_hub_find_url(char **out, const char *given, const tk_env *env, tk_err *err)
{
    const char *url = given != NULL ? given : tk_env_get_nonempty(env, "HF_ENDPOINT");
    tk_url parsed;
    url = url != NULL ? url : HUB_URL;
    tk_err why = TK_ERR_INIT;
    tinkc_code code = tk_url_parse(&parsed, tk_str_of(url), &why);
    if (code != TINKC_OK) {
        return tk_err_set(err, code, "%s%s",
                          given != NULL ? "" : "HF_ENDPOINT: ", why.message);
    }
    size_t n = strlen(url);
    while (n > 0 && url[n - 1] == '/') {
        n--;
    }
    return given_or_nomem(tk_strndup(url, n), out, err);
}

bool tk_hub_is_off(const tk_env *env)
{
    return tk_env_get_bool(env, "HF_HUB_OFFLINE", false) ||
           tk_env_get_bool(env, "TRANSFORMERS_OFFLINE", false);
}

/* ---- the token ---- */

/* Without the blanks around it; what could not be a header's value is refused. */
static tinkc_code clean_token(char **out, tk_str text, tk_err *err)
{
    tk_str token = tk_str_trim(text);
    for (size_t i = 0; i < token.n; i++) {
        if (token.p[i] <= ' ' || token.p[i] == 0x7f) {
            return tk_err_set(err, TINKC_E_CONFIG,
                              "the token of the hub holds a blank or control character");
        }
    }
    return token.n > 0 ? given_or_nomem(tk_strndup(token.p, token.n), out, err)
                       : TINKC_OK;
}

static tinkc_code read_token_file(char **out, const char *path, tk_err *err)
{
    tk_err why = TK_ERR_INIT;
    char *data = NULL;
    size_t n = 0;
    tinkc_code code = tk_file_read(&data, &n, path, TOKEN_MAX_BYTES, &why);
    if (code != TINKC_OK) {
        return code == TINKC_E_NOMEM ? tk_err_nomem(err) : TINKC_OK; /* then none */
    }
    code = clean_token(out, (tk_str){data, n}, err);
    tk_mem_wipe(data, n);
    tk_free(data);
    return code;
}

/* The file of `hf auth login`. */
static tinkc_code read_usual_file(char **out, const tk_env *env, tk_err *err)
{
    char *home = NULL;
    tinkc_code code = tk_hub_find_home(&home, env, err);
    if (code != TINKC_OK || home == NULL) {
        return code;
    }
    char *path = tk_file_join(home, "token");
    code = path != NULL ? read_token_file(out, path, err) : tk_err_nomem(err);
    tk_free(path);
    tk_free(home);
    return code;
}

tinkc_code tk_hub_find_token(char **out, const char *given, const tk_env *env,
                             tk_err *err)
{
    static const char *const names[] = {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"};
    *out = NULL;
    if (given != NULL) {
        return clean_token(out, tk_str_of(given), err);
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        const char *value = tk_env_get_nonempty(env, names[i]);
        if (value != NULL) {
            return clean_token(out, tk_str_of(value), err);
        }
    }
    const char *path = tk_env_get_nonempty(env, "HF_TOKEN_PATH");
    return path != NULL ? read_token_file(out, path, err)
                        : read_usual_file(out, env, err);
}

void tk_hub_token_free(char *token)
{
    if (token != NULL) {
        tk_mem_wipe(token, strlen(token));
    }
    tk_free(token);
}

tinkc_code tk_hub_pass_begin(tk_hub_pass *out, tk_core *core, const char *token,
                             tk_err *err)
{
    static const char scheme[] = "Bearer ";
    tk_hub_pass made = {.core = core, .token = token};
    if (token != NULL) {
        size_t n = strlen(token);
        made.authorization = tk_malloc(sizeof(scheme) + n);
        if (made.authorization == NULL) {
            return tk_err_nomem(err);
        }
        memcpy(made.authorization, scheme, sizeof(scheme) - 1);
        memcpy(made.authorization + sizeof(scheme) - 1, token, n + 1);
        tk_err why = TK_ERR_INIT;
        tinkc_code code = tk_log_add_secret(tk_core_log(core), tk_str_of(token), &why);
        made.is_masked = code == TINKC_OK;
        if (code != TINKC_OK && code != TINKC_E_INVALID) { /* too short to be one */
            tk_hub_pass_end(&made);
            return code == TINKC_E_NOMEM
                       ? tk_err_nomem(err)
                       : tk_err_set(err, code, "the token of the hub: %s", why.message);
        }
    }
    *out = made;
    return TINKC_OK;
}

void tk_hub_pass_end(tk_hub_pass *pass)
{
    if (pass->is_masked) {
        tk_log_remove_secret(tk_core_log(pass->core), tk_str_of(pass->token));
    }
    tk_hub_token_free(pass->authorization);
    *pass = (tk_hub_pass){.core = NULL};
}

/* ---- without a service ---- */

tinkc_code tk_hub_open_way(tinkc_service **out, tk_err *err)
{
    tinkc_config *config = NULL;
    tinkc_error *error = NULL;
    tinkc_code code = tinkc_config_new(&config, &error);
    if (code == TINKC_OK) {
        code = tinkc_config_set(config, "base_url", "http://127.0.0.1:1", &error);
    }
    if (code == TINKC_OK) {
        code = tinkc_config_set(config, "api_key", NULL, &error);
    }
    if (code == TINKC_OK) {
        code = tk_service_open(out, config, NULL, err);
    } else {
        tk_error_read(err, error);
    }
    tinkc_error_free(&error);
    tinkc_config_free(&config);
    return code;
}
