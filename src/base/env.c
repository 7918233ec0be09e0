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
