/* The hub (Hugging Face's, or one that speaks as it does) as the environment describes
 * it: its URL, the token, whether it may be asked at all; and the token as a header that
 * the log does not show. Reads files, makes no request. Thread: any. */
#ifndef CLIENT_HUB_H
#define CLIENT_HUB_H

#include "base/env.h"
#include "base/err.h"
#include "client/core/core.h"

/* All `env` may be NULL: the process's own. Texts belong to the caller (tk_free). */

/* `name` under the user's directory of caches; *out is NULL without one. */
TK_NODISCARD tinkc_code tk_hub_find_cache(char **out, const tk_env *env, const char *name,
                                          tk_err *err);

/* Finds the directory in which Hugging Face's programs keep their files; *out is NULL
 * when no variable names one. */
TK_NODISCARD tinkc_code tk_hub_find_home(char **out, const tk_env *env, tk_err *err);

/* `given`, HF_ENDPOINT or the usual one; without a slash at its end. TINKC_E_CONFIG. */
TK_NODISCARD tinkc_code tk_hub_find_url(char **out, const char *given, const tk_env *env,
                                        tk_err *err);

/* `given` ("": none), HF_TOKEN, HUGGING_FACE_HUB_TOKEN, the file of HF_TOKEN_PATH or of
 * `hf auth login`; *out is NULL when there is none. TINKC_E_CONFIG for one that cannot be
 * sent. The caller wipes it. */
TK_NODISCARD tinkc_code tk_hub_find_token(char **out, const char *given,
                                          const tk_env *env, tk_err *err);

/* HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE. */
bool tk_hub_is_off(const tk_env *env);

/* A token in use. */
typedef struct tk_hub_pass {
    tk_core *core;
    const char *token;   /* borrowed; NULL: none */
    char *authorization; /* value of the header; NULL: none */
    bool is_masked;      /* the log knows the token */
} tk_hub_pass;

/* `token` may be NULL. On failure there is nothing to end. */
TK_NODISCARD tinkc_code tk_hub_pass_begin(tk_hub_pass *out, tk_core *core,
                                          const char *token, tk_err *err);
void tk_hub_pass_end(tk_hub_pass *pass); /* wipes; also one that was only zeroed */

/* Opens a service whose own server is never asked: without another one there is still a
 * way to the hub. The caller closes it. */
TK_NODISCARD tinkc_code tk_hub_open_way(tinkc_service **out, tk_err *err);

/* Wipes and frees a token; accepts NULL. */
void tk_hub_token_free(char *token);

#endif
