/* Credentials (docs/protocol.md §1.3): a key, a command that prints one, or a token
 * that the server gives in exchange and that is refreshed before it expires. One
 * refresh at a time. Loop thread only, but for tk_auth_choose. */
#ifndef CLIENT_AUTH_H
#define CLIENT_AUTH_H

#include <tinkc/config.h>

#include "base/err.h"
#include "base/json.h"
#include "base/list.h"
#include "base/str.h"
#include "base/tk.h"

typedef struct tk_core tk_core;
typedef struct tk_auth tk_auth;
typedef struct tk_auth_waiter tk_auth_waiter;

/* Embedded in what needs a credential. */
struct tk_auth_waiter {
    tk_list node;
    /* `credential` is valid for the time of the call. On an error it is NULL. */
    void (*ready)(tk_auth_waiter *waiter, const char *credential, tinkc_code code,
                  const tk_err *err);
};

typedef enum tk_auth_kind { TK_AUTH_KEY, TK_AUTH_COMMAND } tk_auth_kind;

/* Which provider the configuration asks for: the rows of docs/protocol.md §1.3. A
 * loopback URL without any credential uses the key "tml-local". TINKC_E_CONFIG says
 * what is missing. Pure. */
TK_NODISCARD tinkc_code tk_auth_choose(tk_auth_kind *kind, const char **key,
                                       const tinkc_config *config, bool is_loopback,
                                       bool enforce_command, tk_err *err);

TK_NODISCARD tinkc_code tk_auth_new(tk_auth **out, tk_core *core, bool is_loopback,
                                    tk_err *err);
void tk_auth_free(tk_auth **auth);

/* Ends every waiter with TINKC_E_CANCELLED and kills a running command. */
void tk_auth_shutdown(tk_auth *auth);

/* A credential for an ordinary request: calls `ready`, perhaps before it returns. When a
 * refresh fails, the old token is used. */
void tk_auth_get(tk_auth *auth, tk_auth_waiter *waiter);
void tk_auth_forget(tk_auth *auth, tk_auth_waiter *waiter); /* stops waiting */

/* After client/config: whether to exchange the credential for a token, and whether the
 * command is enforced. `done` is called when requests may go out. */
void tk_auth_setup(tk_auth *auth, bool exchange, bool enforce_command,
                   tk_auth_waiter *done);

/* Whether what tk_auth_get gives is a token of the server, got in exchange. */
bool tk_auth_is_exchanged(const tk_auth *auth);

/* The claims of a token, its middle part; NULL when there are none to be read. The value
 * lives in the arena. The signature is not checked. Pure. */
const tk_json *tk_auth_jwt_claims(tk_str jwt, tk_arena *arena);

/* The token that the server gave for a credential, out of the answer of auth/token. The
 * caller owns *out and wipes it. */
typedef struct tk_call_answer tk_call_answer;
TK_NODISCARD tinkc_code tk_auth_read_token(char **out, const tk_call_answer *answer,
                                           tk_err *err);

/* For how many seconds a token that came at `now_s` (wall clock, since 1970) is good, by
 * its middle part: between 1 s and a day, whatever it says. Pure. */
int64_t tk_auth_jwt_life_s(tk_str jwt, int64_t now_s);

#endif
