/* One pass from left to right. A byte is hidden when it lies in a registered secret, in a
 * run that a key prefix starts, or in the value of a credential header. Each of the three
 * is an interval that ends at a remembered place, so hostile text costs no more than
 * (bytes) x (registered secrets). */
#include "base/redact.h"

#include <string.h>

#include "base/mem.h"

/* ---- registered secrets ---- */

void tk_redact_init(tk_redact *redact)
{
    memset(redact, 0, sizeof(*redact));
}

static void free_secret(tk_redact *redact, size_t i)
{
    tk_mem_wipe(redact->secrets[i], redact->sizes[i]);
    tk_free(redact->secrets[i]);
}

void tk_redact_dispose(tk_redact *redact)
{
    for (size_t i = 0; i < redact->count; i++) {
        free_secret(redact, i);
    }
    tk_redact_init(redact);
}

/* Its index, or count. */
static size_t find_secret(const tk_redact *redact, tk_str secret)
{
    for (size_t i = 0; i < redact->count; i++) {
        tk_str known = {redact->secrets[i], redact->sizes[i]};
        if (tk_str_eq(known, secret)) {
            return i;
        }
    }
    return redact->count;
}

tinkc_code tk_redact_add(tk_redact *redact, tk_str secret, tk_err *err)
{
    if (secret.n < TK_REDACT_SECRET_MIN_BYTES) {
        return tk_err_set(err, TINKC_E_INVALID, "a secret of %zu bytes is too short",
                          secret.n);
    }
    if (secret.n > TK_REDACT_SECRET_MAX_BYTES) {
        return tk_err_set(err, TINKC_E_LIMIT,
                          "a secret of %zu bytes is too long: at most %zu", secret.n,
                          TK_REDACT_SECRET_MAX_BYTES);
    }
    size_t known = find_secret(redact, secret);
    if (known < redact->count) {
        redact->uses[known]++;
        return TINKC_OK;
    }
    if (redact->count == TK_REDACT_SECRETS_MAX) {
        return tk_err_set(err, TINKC_E_LIMIT, "more than %d secrets",
                          TK_REDACT_SECRETS_MAX);
    }
    char *copy = tk_memdup(secret.p, secret.n);
    if (copy == NULL) {
        return tk_err_nomem(err);
    }
    redact->secrets[redact->count] = copy;
    redact->sizes[redact->count] = secret.n;
    redact->uses[redact->count] = 1;
    redact->count++;
    return TINKC_OK;
}

void tk_redact_remove(tk_redact *redact, tk_str secret)
{
    size_t i = find_secret(redact, secret);
    if (i == redact->count || --redact->uses[i] > 0) {
        return;
    }
    free_secret(redact, i);
    redact->count--;
    redact->secrets[i] = redact->secrets[redact->count];
    redact->sizes[i] = redact->sizes[redact->count];
    redact->uses[i] = redact->uses[redact->count];
}

/* Bytes of the longest registered secret at the start of `rest`, or 0. */
static size_t secret_at(const tk_redact *redact, tk_str rest)
{
    size_t longest = 0;
    for (size_t i = 0; redact != NULL && i < redact->count; i++) {
        size_t n = redact->sizes[i];
        if (n > longest && n <= rest.n && memcmp(rest.p, redact->secrets[i], n) == 0) {
            longest = n;
        }
    }
    return longest;
}

/* ---- runs that a prefix gives away ---- */

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* What a token may be made of. One class for all prefixes, so that a token that begins
 * inside another ends where that one ends. */
static size_t run_length(tk_str rest)
{
    size_t n = 0;
    while (n < rest.n && (is_alnum(rest.p[n]) || memchr("-_.~+/=", rest.p[n], 7))) {
        n++;
    }
    return n;
}

/* Whether at least `min` letters or digits follow the prefix. */
static bool starts_token(tk_str rest, const char *prefix, size_t min)
{
    size_t n = strlen(prefix);
    if (!tk_str_has_prefix(rest, prefix) || rest.n - n < min) {
        return false;
    }
    for (size_t i = n; i < n + min; i++) {
        if (!is_alnum(rest.p[i])) {
            return false;
        }
    }
    return true;
}

/* Bytes of the token at text[i], or 0. */
static size_t token_at(tk_str text, size_t i)
{
    tk_str rest = {text.p + i, text.n - i};
    bool found = false;
    switch (rest.p[0]) {
    case 't': /* but "html-parser" is not a key */
        found = starts_token(rest, "tml-", 1) && (i == 0 || text.p[i - 1] != 'h');
        break;
    case 'e':
        found = starts_token(rest, "eyJ", 1);
        break;
    case 'h':
        found = starts_token(rest, "hf_", 16);
        break;
    default:
        break;
    }
    return found ? run_length(rest) : 0;
}

/* ---- values of credential headers, parameters, URLs ---- */

typedef struct interval {
    size_t start, end;
} interval;

typedef struct credential {
    const char *name; /* lower case */
    bool to_line_end; /* a header's value may hold spaces and commas */
} credential;

static const credential credentials[] = {
    {"x-api-key", true},
    {"x-tinker-weights-access-token", true},
    {"authorization", true},
    {"cf-access-client-secret", true},
    {"cookie", true},
    {"api_key", false},
    {"api-key", false},
    {"signature", false},
    {"security-token", false},
    {"password", false},
    {"credential", false},
    {"jwt", false},
    {"sig", false}, /* of a signed URL; after the longer "signature" */
};

static bool starts_with_name(tk_str rest, const char *name)
{
    for (size_t i = 0; name[i] != '\0'; i++) {
        char c = i < rest.n ? rest.p[i] : '\0';
        c = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
        if (c != name[i]) {
            return false;
        }
    }
    return true;
}

static const credential *credential_at(tk_str rest)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(credentials); i++) {
        if (starts_with_name(rest, credentials[i].name)) {
            return &credentials[i];
        }
    }
    return NULL;
}

static size_t skip_any(tk_str text, size_t i, const char *set)
{
    while (i < text.n && text.p[i] != '\0' && strchr(set, text.p[i]) != NULL) {
        i++;
    }
    return i;
}

static size_t find_any(tk_str text, size_t i, const char *set)
{
    while (i < text.n && (text.p[i] == '\0' || strchr(set, text.p[i]) == NULL)) {
        i++;
    }
    return i;
}

/* The value that belongs to the name at text[i]; empty when no ':' or '=' follows. The
 * name or the value may be quoted, also with the backslashes of JSON inside JSON. */
static interval value_of(tk_str text, size_t i, const credential *found)
{
    size_t at = skip_any(text, i + strlen(found->name), "\"'\\] ");
    if (at >= text.n || (text.p[at] != ':' && text.p[at] != '=')) {
        return (interval){i, i};
    }
    at = skip_any(text, at, ":=>[ \t");
    size_t start = skip_any(text, at, "\"'\\");
    const char *stop = start > at           ? "\"'\r\n"
                       : found->to_line_end ? "\r\n"
                                            : "&;, \t\"'\r\n";
    return (interval){start, find_any(text, start, stop)};
}

/* user:password in "scheme://user:password@host", for "://" at text[i]. */
static interval userinfo_of(tk_str text, size_t i)
{
    size_t start = i + 3;
    size_t end = find_any(text, start, "/?# \t\"'\\<>\r\n");
    while (end > start && text.p[end - 1] != '@') {
        end--;
    }
    return (interval){start, end > start ? end - 1 : start};
}

static interval hidden_value_at(tk_str text, size_t i)
{
    tk_str rest = {text.p + i, text.n - i};
    if (rest.p[0] == ':' && tk_str_has_prefix(rest, "://")) {
        return userinfo_of(text, i);
    }
    const credential *found = credential_at(rest);
    return found != NULL ? value_of(text, i, found) : (interval){i, i};
}

/* ---- all together ---- */

typedef struct scan {
    const tk_redact *redact;
    tk_str text;
    size_t secret_end; /* registered secrets reach to here */
    size_t token_end;  /* the last token run ends here */
    interval value;    /* the last credential value */
    bool starts[256];  /* bytes at which any of the three may begin */
} scan;

static void scan_init(scan *s, const tk_redact *redact, tk_str text)
{
    memset(s, 0, sizeof(*s));
    s->redact = redact;
    s->text = text;
    s->starts['t'] = s->starts['e'] = s->starts['h'] = s->starts[':'] = true;
    for (size_t i = 0; i < TK_ARRAY_LEN(credentials); i++) {
        unsigned char first = (unsigned char)credentials[i].name[0];
        s->starts[first] = s->starts[first - 'a' + 'A'] = true;
    }
    for (size_t i = 0; redact != NULL && i < redact->count; i++) {
        s->starts[(unsigned char)redact->secrets[i][0]] = true;
    }
}

static void look_at(scan *s, size_t i)
{
    tk_str rest = {s->text.p + i, s->text.n - i};
    s->secret_end = TK_MAX(s->secret_end, i + secret_at(s->redact, rest));
    if (i >= s->token_end) {
        s->token_end = i + token_at(s->text, i);
    }
    if (i >= s->value.end) {
        s->value = hidden_value_at(s->text, i);
    }
}

static bool is_hidden(scan *s, size_t i)
{
    if (s->starts[(unsigned char)s->text.p[i]]) {
        look_at(s, i);
    }
    return i < s->secret_end || i < s->token_end ||
           (i >= s->value.start && i < s->value.end);
}

size_t tk_redact_apply(const tk_redact *redact, char *out, size_t size, tk_str text,
                       bool text_was_cut)
{
    size_t shown = text.n;
    if (text_was_cut) {
        shown -= TK_MIN(shown, TK_REDACT_SECRET_MAX_BYTES);
    }
    scan s;
    scan_init(&s, redact, text);
    size_t n = 0;
    bool was_hidden = false;
    for (size_t i = 0; i < shown && n < size - 1; i++) {
        bool hidden = is_hidden(&s, i);
        if (!hidden) {
            out[n++] = text.p[i];
        } else if (!was_hidden) {
            size_t stars = TK_MIN((size_t)3, size - 1 - n);
            memset(out + n, '*', stars);
            n += stars;
        }
        was_hidden = hidden;
    }
    out[n] = '\0';
    return n;
}
