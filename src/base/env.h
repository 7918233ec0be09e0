/* Environment variables, read through a table so that tests need not change the process's
 * own. The only place that calls getenv. Thread: any, as long as no thread calls
 * setenv. */
#ifndef BASE_ENV_H
#define BASE_ENV_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

typedef struct tk_env {
    const char *(*get)(const char *name, void *user); /* NULL = not set */
    void *user;
} tk_env;

/* `env` NULL is the environment of the process. The value, or NULL when it is not set;
 * borrowed: valid until the environment changes. */
const char *tk_env_get(const tk_env *env, const char *name);

/* Returns the variable like tk_env_get, but an empty value counts as not set. */
const char *tk_env_get_nonempty(const tk_env *env, const char *name);

/* True for 1, true, yes, on in any case, false for everything else, the empty value
 * included. As the official SDK reads TINKER_TELEMETRY. */
bool tk_env_is_on(const char *value);

/* Returns whether a variable is on (tk_env_is_on); `fallback` when it is not set. */
bool tk_env_get_bool(const tk_env *env, const char *name, bool fallback);

#endif
