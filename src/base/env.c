/* Reads variables of the process or of a test's table. The words that switch something on
 * are those of the official SDK. */
#include "base/env.h"

#include <stdlib.h>

const char *tk_env_get(const tk_env *env, const char *name)
{
    return env != NULL ? env->get(name, env->user) : getenv(name);
}

const char *tk_env_get_nonempty(const tk_env *env, const char *name)
{
    const char *value = tk_env_get(env, name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

bool tk_env_is_on(const char *value)
{
    static const char *const words[] = {"1", "true", "yes", "on"};
    for (size_t i = 0; i < TK_ARRAY_LEN(words); i++) {
        if (tk_str_is_nocase(tk_str_of(value), words[i])) {
            return true;
        }
    }
    return false;
}

bool tk_env_get_bool(const tk_env *env, const char *name, bool fallback)
{
    const char *value = tk_env_get(env, name);
    return value != NULL ? tk_env_is_on(value) : fallback;
}

static bool holds(const tk_str *items, size_t n, tk_str item)
{
    for (size_t i = 0; i < n; i++) {
        if (tk_str_eq(items[i], item)) {
            return true;
        }
    }
    return false;
}

tinkc_code tk_env_get_list(const tk_str **items, size_t *n, tk_arena *arena,
                           const tk_env *env, const char *name, tk_err *err)
{
    const char *value = tk_env_get(env, name);
    if (value == NULL) {
        *items = NULL;
        *n = 0;
        return TINKC_OK;
    }
    tk_str rest;
    tk_str *found = tk_arena_array(arena, TK_ENV_LIST_MAX, sizeof(*found));
    tk_str whole = tk_str_of(value);
    if (found == NULL || !tk_arena_dup(arena, &rest, whole.p, whole.n)) {
        return tk_err_nomem(err);
    }
    size_t count = 0;
    while (rest.p != NULL) {
        tk_str item = tk_str_cut(&rest, ',');
        if (holds(found, count, item)) {
            continue;
        }
        if (count == TK_ENV_LIST_MAX) {
            return tk_err_set(err, TINKC_E_LIMIT, "%s has more than %d parts", name,
                              TK_ENV_LIST_MAX);
        }
        found[count++] = item;
    }
    *items = found;
    *n = count;
    return TINKC_OK;
}
