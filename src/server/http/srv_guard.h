/* Checks of a caller: the key, and the headers that distinguish a web page from a
 * program. Pure. Thread: any. */
#ifndef SERVER_SRV_GUARD_H
#define SERVER_SRV_GUARD_H

#include "base/err.h"
#include "base/str.h"

typedef struct srv_guard {
    const char *api_key; /* NULL = every key, also none */
    bool loopback;       /* only names of this machine are accepted as Host */
} srv_guard;

typedef struct srv_guard_caller {
    tk_str host, origin, key; /* headers; empty = absent */
    tk_str site, type;        /* Sec-Fetch-Site, Content-Type */
    tk_str token;             /* X-Tinker-Weights-Access-Token: a key, too */
    bool open;                /* the route needs no key */
} srv_guard_caller;

/* Returns 0 when the caller may ask, else the status (401, 403, 415), with the text in *err.
 * Comparing keys takes the same time wherever they differ. */
int srv_guard_check(const srv_guard *guard, const srv_guard_caller *caller, tk_err *err);

/* Returns whether the caller sent the key, or there is none. */
bool srv_guard_knows(const srv_guard *guard, const srv_guard_caller *caller);

/* Returns whether a token is a key of an account that may read the weights here: of the
 * only one, or of any when there is no key. */
bool srv_guard_takes(const srv_guard *guard, tk_str token);

#endif
