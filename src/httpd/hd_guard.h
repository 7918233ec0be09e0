/* Checks of a caller: the key, and the headers that distinguish a web page from a
 * program. Pure. Thread: any. */
#ifndef HTTPD_HD_GUARD_H
#define HTTPD_HD_GUARD_H

#include "base/err.h"
#include "base/str.h"

typedef struct hd_guard {
    const char *api_key; /* NULL = every key, also none */
    bool loopback;       /* only names of this machine are accepted as Host */
} hd_guard;

typedef struct hd_guard_caller {
    tk_str host, origin, key; /* headers (key: X-API-Key); empty = absent */
    tk_str authorization;     /* "Bearer KEY": the key may come so, too */
    tk_str site, type;        /* Sec-Fetch-Site, Content-Type */
    bool open;                /* the route needs no key */
    bool knows_cookie;        /* the application has given it a cookie that counts */
    bool is_change;           /* a method other than GET and HEAD */
    bool is_marked;           /* has the header that no form of another site can send */
} hd_guard_caller;

/* Returns 0 when the caller may ask, else the status (401, 403, 415), with the text in *err.
 * Comparing keys takes the same time wherever they differ. */
int hd_guard_check(const hd_guard *guard, const hd_guard_caller *caller, tk_err *err);

/* Returns whether the caller sent the key in one of its headers, or a cookie that counts
 * like it, or no key is needed. */
bool hd_guard_knows(const hd_guard *guard, const hd_guard_caller *caller);

/* Returns whether a text is the key, or there is none. */
bool hd_guard_takes(const hd_guard *guard, tk_str token);

#endif
