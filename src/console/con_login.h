/* The login of the console: who has shown the key, or a one-time code made with it, gets a
 * random cookie, which then counts like the key. The numbers of cookies, of codes and of
 * wrong keys in a minute are bounded. Comparisons take the same time wherever texts differ.
 * Nothing is kept on disk: a restart logs everybody out.
 *
 * Thread: any; its own lock, a leaf that is held for microseconds. */
#ifndef CONSOLE_CON_LOGIN_H
#define CONSOLE_CON_LOGIN_H

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"

typedef struct con_login con_login;

#define CON_LOGIN_SECRET_BYTES 65 /* 64 hex digits and a NUL */
#define CON_LOGIN_HEADER_BYTES 192

/* `key` NULL = none is needed. `clock` NULL = the machine's. */
TK_NODISCARD tinkc_code con_login_new(con_login **out, const char *key,
                                      const tk_clock *clock, tk_err *err);
void con_login_free(con_login *login); /* accepts NULL */

/* The cookie's name has the port: before the first login. */
void con_login_set_port(con_login *login, unsigned port);

bool con_login_is_needed(const con_login *login);

/* Returns whether a header Cookie has a cookie that is good. */
bool con_login_knows(con_login *login, tk_str cookies);

/* Checks a key, or takes a code, and writes the value of Set-Cookie for it to `header`.
 * TINKC_E_AUTH when it is wrong, TINKC_E_RATE_LIMIT after too many wrong keys. */
TK_NODISCARD tinkc_code con_login_by_key(char header[CON_LOGIN_HEADER_BYTES],
                                         con_login *login, tk_str key, tk_err *err);
TK_NODISCARD tinkc_code con_login_by_code(char header[CON_LOGIN_HEADER_BYTES],
                                          con_login *login, tk_str code, tk_err *err);

/* Forgets the cookie of a header Cookie, and writes the value of Set-Cookie that deletes
 * it. */
void con_login_end(char header[CON_LOGIN_HEADER_BYTES], con_login *login, tk_str cookies);

/* Makes a code that is good once, for a minute. TINKC_E_IO. */
TK_NODISCARD tinkc_code con_login_make_code(char code[CON_LOGIN_SECRET_BYTES],
                                            int64_t *expires_ms, con_login *login,
                                            tk_err *err);

#endif
