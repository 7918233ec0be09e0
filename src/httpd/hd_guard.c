/* A browser can be made to send requests to loopback: by a name that a stranger's DNS
 * points there (seen in Host), or by a form, script, image or link of another site (seen
 * in Origin or Sec-Fetch-Site; a form also in the type of its body). */
#include "httpd/hd_guard.h"

#include <string.h>

static bool same_secret(tk_str a, const char *secret)
{
    size_t n = strlen(secret);
    unsigned differ = a.n != n;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = i < a.n ? (unsigned char)a.p[i] : 0;
        differ |= (unsigned)(c ^ (unsigned char)secret[i]);
    }
    return differ == 0;
}

static tk_str without_port(tk_str host)
{
    if (host.n > 0 && host.p[0] == '[') {
        for (size_t i = 1; i < host.n; i++) {
            if (host.p[i] == ']') {
                return (tk_str){host.p, i + 1};
            }
        }
        return host;
    }
    return tk_str_cut(&host, ':');
}

static bool is_loopback_number(tk_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] != '.' && (name.p[i] < '0' || name.p[i] > '9')) {
            return false; /* 127.example.org */
        }
    }
    return tk_str_has_prefix(name, "127.");
}

/* No DNS of a stranger can give a number another meaning, and these mean this machine:
 * loopback, and the address of "any", which connects to it. */
static bool is_local_name(tk_str host)
{
    static const char *const numbers[] = {"[::1]", "[::]", "0.0.0.0", "0"};
    tk_str name = without_port(host);
    bool found = tk_str_is_nocase(name, "localhost") || is_loopback_number(name);
    for (size_t i = 0; i < TK_ARRAY_LEN(numbers) && !found; i++) {
        found = tk_str_is(name, numbers[i]);
    }
    return found;
}

static bool is_same_origin(tk_str origin, tk_str host)
{
    const size_t n = sizeof("http://") - 1;
    return tk_str_has_prefix(origin, "http://") &&
           tk_str_eq((tk_str){origin.p + n, origin.n - n}, host);
}

/* Whether a page of another site made the browser send this. A browser that does not send
 * the header sends Origin with everything that changes something. */
static bool is_cross_site(const hd_guard_caller *caller)
{
    return (caller->origin.n > 0 && !is_same_origin(caller->origin, caller->host)) ||
           (!caller->open && caller->site.n > 0 &&
            !tk_str_is_nocase(caller->site, "same-origin") &&
            !tk_str_is_nocase(caller->site, "none"));
}

/* What a page can send to another site without asking it first. */
static bool is_form(tk_str type)
{
    static const char *const forms[] = {"application/x-www-form-urlencoded",
                                        "multipart/form-data", "text/plain"};
    tk_str name = tk_str_trim(tk_str_cut(&type, ';'));
    for (size_t i = 0; i < TK_ARRAY_LEN(forms); i++) {
        if (tk_str_is_nocase(name, forms[i])) {
            return true;
        }
    }
    return false;
}

/* Returns KEY of "Bearer KEY", or an empty text. */
static tk_str bearer_of(tk_str authorization)
{
    tk_str scheme = tk_str_cut(&authorization, ' ');
    return tk_str_is_nocase(scheme, "Bearer") ? tk_str_trim(authorization) : TK_STR("");
}

static bool has_key(const hd_guard *guard, const hd_guard_caller *caller)
{
    /* Both are compared, whatever the first one is. */
    bool key = hd_guard_takes(guard, caller->key);
    bool bearer = hd_guard_takes(guard, bearer_of(caller->authorization));
    return key || bearer;
}

bool hd_guard_knows(const hd_guard *guard, const hd_guard_caller *caller)
{
    return has_key(guard, caller) || caller->knows_cookie;
}

bool hd_guard_takes(const hd_guard *guard, tk_str token)
{
    return guard->api_key == NULL || same_secret(token, guard->api_key);
}

/* Whether the caller has sent a key; libtinkc sends "tml-local" to loopback without one. */
static bool sends_key(const hd_guard_caller *caller)
{
    return caller->authorization.n > 0 ||
           (caller->key.n > 0 && !tk_str_is(caller->key, "tml-local"));
}

int hd_guard_check(const hd_guard *guard, const hd_guard_caller *caller, tk_err *err)
{
    if (guard->loopback && caller->host.n > 0 && !is_local_name(caller->host)) {
        (void)tk_err_set(err, TINKC_E_PERMISSION,
                         "this server listens on loopback and answers to localhost and "
                         "127.0.0.1 only, not to \"" TK_STR_FMT "\"",
                         TK_STR_ARG(caller->host));
        return 403;
    }
    if (is_cross_site(caller)) {
        (void)tk_err_set(err, TINKC_E_PERMISSION, "no requests from other sites");
        return 403;
    }
    if (guard->api_key == NULL && is_form(caller->type)) {
        (void)tk_err_set(err, TINKC_E_PERMISSION,
                         "a server without a key takes no forms: send Content-Type: "
                         "application/json");
        return 415;
    }
    if (!caller->open && !hd_guard_knows(guard, caller)) {
        (void)tk_err_set(err, TINKC_E_AUTH, "%s",
                         sends_key(caller) ? "Invalid API key" : "no API key was sent");
        return 401;
    }
    /* A browser adds the cookie to what other pages of this host make it send. */
    if (!caller->open && caller->is_change && !caller->is_marked &&
        !has_key(guard, caller)) {
        (void)tk_err_set(err, TINKC_E_PERMISSION,
                         "a change with a cookie needs the header of the page");
        return 403;
    }
    return 0;
}
