/* Two small tables of secrets; the oldest one makes room for a new one. */
#include "console/con_login.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/rand.h"
#include "base/thread.h"

#define COOKIES_MAX 64
#define CODES_MAX   16
#define WRONG_MAX   20 /* keys, in a minute */

#define MINUTE_NS (INT64_C(60000) * TK_NS_PER_MS)
#define COOKIE_NS (30 * 24 * 60 * MINUTE_NS) /* without a request */

typedef struct secret {
    char text[CON_LOGIN_SECRET_BYTES]; /* "" = none */
    int64_t used_ns;                   /* of a code: when it was made */
} secret;

struct con_login {
    char *key; /* or NULL; constant, as `clock` and `name` */
    const tk_clock *clock;
    char name[32];
    tk_mutex lock;
    secret cookies[COOKIES_MAX]; /* under lock, as all below */
    secret codes[CODES_MAX];
    int64_t minute_ns; /* when the first wrong key of this minute came */
    unsigned wrong;
};

tinkc_code con_login_new(con_login **out, const char *key, const tk_clock *clock,
                         tk_err *err)
{
    con_login *login = tk_zalloc(sizeof(*login));
    if (login == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = tk_mutex_init(&login->lock, err);
    if (code != TINKC_OK) {
        tk_free(login);
        return code;
    }
    login->clock = clock;
    login->key = key != NULL ? tk_strdup(key) : NULL;
    con_login_set_port(login, 0);
    if (key != NULL && login->key == NULL) {
        con_login_free(login);
        return tk_err_nomem(err);
    }
    *out = login;
    return TINKC_OK;
}

void con_login_free(con_login *login)
{
    if (login == NULL) {
        return;
    }
    if (login->key != NULL) {
        tk_mem_wipe(login->key, strlen(login->key));
        tk_free(login->key);
    }
    tk_mem_wipe(login->cookies, sizeof(login->cookies));
    tk_mem_wipe(login->codes, sizeof(login->codes));
    tk_mutex_dispose(&login->lock);
    tk_free(login);
}

void con_login_set_port(con_login *login, unsigned port)
{
    (void)snprintf(login->name, sizeof(login->name), "tinkc_console_%u", port);
}

bool con_login_is_needed(const con_login *login)
{
    return login->key != NULL;
}

/* ---- secrets ---- */

/* Compares in a time that depends on the length of `a` only. */
static bool is_same(tk_str a, const char *b)
{
    size_t n = strlen(b);
    unsigned differ = a.n != n || n == 0;
    for (size_t i = 0; i < a.n; i++) {
        unsigned char c = n > 0 ? (unsigned char)b[i % n] : 0;
        differ |= (unsigned)(c ^ (unsigned char)a.p[i]);
    }
    return differ == 0;
}

/* Looks at all of them, whichever it is. Returns the index, or `n`. */
static size_t find(const secret *all, size_t n, tk_str text)
{
    size_t found = n;
    for (size_t i = 0; i < n; i++) {
        found = is_same(text, all[i].text) ? i : found;
    }
    return found;
}

static tinkc_code make_text(char out[CON_LOGIN_SECRET_BYTES], tk_err *err)
{
    unsigned char bytes[(CON_LOGIN_SECRET_BYTES - 1) / 2];
    tinkc_code code = tk_rand_entropy(bytes, sizeof(bytes), err);
    for (size_t i = 0; code == TINKC_OK && i < sizeof(bytes); i++) {
        (void)snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    }
    tk_mem_wipe(bytes, sizeof(bytes));
    return code;
}

/* Puts a text into a free place, or that of the one that was used longest ago. */
static void keep(secret *all, size_t n, const char *text, int64_t now)
{
    size_t place = 0;
    for (size_t i = 0; i < n; i++) {
        if (all[i].text[0] == '\0') {
            place = i;
            break;
        }
        place = all[i].used_ns < all[place].used_ns ? i : place;
    }
    (void)snprintf(all[place].text, sizeof(all[place].text), "%s", text);
    all[place].used_ns = now;
}

static void drop_old(secret *all, size_t n, int64_t before)
{
    for (size_t i = 0; i < n; i++) {
        if (all[i].used_ns < before) {
            tk_mem_wipe(all[i].text, sizeof(all[i].text));
        }
    }
}

/* ---- cookies ---- */

/* Returns the value of our cookie in "a=1; b=2", or {NULL, 0}. */
static tk_str value_of(const con_login *login, tk_str cookies)
{
    while (cookies.n > 0) {
        tk_str value = tk_str_trim(tk_str_cut(&cookies, ';'));
        if (tk_str_is(tk_str_cut(&value, '='), login->name) && value.p != NULL) {
            return value;
        }
    }
    return (tk_str){NULL, 0};
}

bool con_login_knows(con_login *login, tk_str cookies)
{
    tk_str value = value_of(login, cookies);
    if (login->key == NULL || value.n != CON_LOGIN_SECRET_BYTES - 1) {
        return false;
    }
    int64_t now = tk_clock_mono_ns(login->clock);
    tk_mutex_lock(&login->lock);
    drop_old(login->cookies, COOKIES_MAX, now - COOKIE_NS);
    size_t i = find(login->cookies, COOKIES_MAX, value);
    if (i < COOKIES_MAX) {
        login->cookies[i].used_ns = now;
    }
    tk_mutex_unlock(&login->lock);
    return i < COOKIES_MAX;
}

static void write_header(char out[CON_LOGIN_HEADER_BYTES], const con_login *login,
                         const char *value, const char *more)
{
    (void)snprintf(out, CON_LOGIN_HEADER_BYTES,
                   "%s=%s; HttpOnly; SameSite=Strict; Path=/%s", login->name, value,
                   more);
}

/* Under the lock. */
static tinkc_code welcome(char header[CON_LOGIN_HEADER_BYTES], con_login *login,
                          int64_t now, tk_err *err)
{
    char text[CON_LOGIN_SECRET_BYTES];
    tinkc_code code = make_text(text, err);
    if (code == TINKC_OK) {
        keep(login->cookies, COOKIES_MAX, text, now);
        write_header(header, login, text, "");
    }
    tk_mem_wipe(text, sizeof(text));
    return code;
}

/* ---- the ways in ---- */

/* Under the lock. */
static bool may_try(con_login *login, int64_t now)
{
    if (now - login->minute_ns >= MINUTE_NS || login->wrong == 0) {
        login->minute_ns = now;
        login->wrong = 0;
    }
    return login->wrong < WRONG_MAX;
}

tinkc_code con_login_by_key(char header[CON_LOGIN_HEADER_BYTES], con_login *login,
                            tk_str key, tk_err *err)
{
    int64_t now = tk_clock_mono_ns(login->clock);
    tinkc_code code;
    tk_mutex_lock(&login->lock);
    if (!may_try(login, now)) {
        code = tk_err_set(err, TINKC_E_RATE_LIMIT,
                          "too many wrong keys: try again in a minute");
    } else if (login->key != NULL && is_same(key, login->key)) {
        code = welcome(header, login, now, err);
    } else {
        login->wrong++;
        code = tk_err_set(err, TINKC_E_AUTH, "the server does not know this key");
    }
    tk_mutex_unlock(&login->lock);
    return code;
}

tinkc_code con_login_by_code(char header[CON_LOGIN_HEADER_BYTES], con_login *login,
                             tk_str text, tk_err *err)
{
    int64_t now = tk_clock_mono_ns(login->clock);
    tinkc_code code;
    tk_mutex_lock(&login->lock);
    drop_old(login->codes, CODES_MAX, now - MINUTE_NS);
    size_t i = find(login->codes, CODES_MAX, text);
    if (i < CODES_MAX) {
        tk_mem_wipe(login->codes[i].text, sizeof(login->codes[i].text));
        code = welcome(header, login, now, err);
    } else {
        code = tk_err_set(err, TINKC_E_AUTH, "the code was used or is too old");
    }
    tk_mutex_unlock(&login->lock);
    return code;
}

void con_login_end(char header[CON_LOGIN_HEADER_BYTES], con_login *login, tk_str cookies)
{
    tk_mutex_lock(&login->lock);
    size_t i = find(login->cookies, COOKIES_MAX, value_of(login, cookies));
    if (i < COOKIES_MAX) {
        tk_mem_wipe(login->cookies[i].text, sizeof(login->cookies[i].text));
    }
    tk_mutex_unlock(&login->lock);
    write_header(header, login, "", "; Max-Age=0");
}

tinkc_code con_login_make_code(char code[CON_LOGIN_SECRET_BYTES], int64_t *expires_ms,
                               con_login *login, tk_err *err)
{
    tinkc_code result = make_text(code, err);
    if (result != TINKC_OK) {
        return result;
    }
    tk_mutex_lock(&login->lock);
    keep(login->codes, CODES_MAX, code, tk_clock_mono_ns(login->clock));
    tk_mutex_unlock(&login->lock);
    *expires_ms = tk_clock_wall_us(login->clock) / 1000 + MINUTE_NS / TK_NS_PER_MS;
    return TINKC_OK;
}
