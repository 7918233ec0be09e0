/* Checks names of repositories and revisions by the hub's rules, and matches paths with
 * patterns as Python's fnmatch does. */
#include "client/hub/push_name.h"

#include <string.h>

#include "base/utf8.h"
#include "wire/path.h"

/* ---- what the hub takes ---- */

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_name_char(char c)
{
    return is_alnum(c) || c == '-' || c == '_' || c == '.';
}

static bool holds(tk_str text, const char *pair)
{
    for (size_t i = 1; i < text.n; i++) {
        if (text.p[i - 1] == pair[0] && text.p[i] == pair[1]) {
            return true;
        }
    }
    return false;
}

static bool is_part(tk_str part)
{
    for (size_t i = 0; i < part.n; i++) {
        if (!is_name_char(part.p[i])) {
            return false;
        }
    }
    return part.n > 0 && part.n <= TK_PUSH_NAME_MAX && part.p[0] != '-' &&
           part.p[0] != '.' && part.p[part.n - 1] != '-' && part.p[part.n - 1] != '.' &&
           !holds(part, "--") && !holds(part, "..");
}

tinkc_code tk_push_check_repo(const char *repo, tk_err *err)
{
    tk_str rest = tk_str_of(repo);
    size_t n = rest.n;
    bool ends_in_git = n >= 4 && strcmp(repo + n - 4, ".git") == 0;
    tk_str first = tk_str_cut(&rest, '/');
    if (!is_part(first) || (first.n < n && !is_part(rest)) || ends_in_git) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "not the name of a repository: \"%.100s\" (NAME or OWNER/NAME; "
                          "letters, digits, \"-\", \"_\", \".\"; at most %d each)",
                          repo, TK_PUSH_NAME_MAX);
    }
    return TINKC_OK;
}

/* What git takes for none; "." would also be lost in a URL. */
static bool has_odd_part(const char *revision, size_t n)
{
    return strchr("-./", revision[0]) != NULL || strchr("./", revision[n - 1]) != NULL ||
           strstr(revision, "/.") != NULL || strstr(revision, "//") != NULL ||
           strstr(revision, "..") != NULL;
}

tinkc_code tk_push_check_revision(const char *revision, tk_err *err)
{
    size_t n = strlen(revision);
    bool ok = n > 0 && n <= TK_PUSH_REVISION_MAX && !has_odd_part(revision, n) &&
              tk_utf8_is_valid(tk_str_of(revision));
    for (const char *c = revision; *c != '\0' && ok; c++) {
        ok = (unsigned char)*c > ' ' && *c != 0x7f && strchr("~^:?*[\\", *c) == NULL;
    }
    return ok ? TINKC_OK
              : tk_err_set(err, TINKC_E_INVALID, "not the name of a branch: \"%.100s\"",
                           revision);
}

tinkc_code tk_push_source_read(tk_push_source *out, const char *path, tk_err *err)
{
    tk_path_kind kind;
    tk_str rest = tk_str_of(path);
    size_t scheme = tk_path_scheme(rest);
    bool ok = scheme > 0;
    for (size_t i = 0; i < rest.n && ok; i++) {
        ok = (unsigned char)path[i] > ' ' && path[i] != 0x7f && path[i] != '`';
    }
    if (ok) {
        rest.p += scheme;
        rest.n -= scheme;
        out->run = tk_str_cut(&rest, '/');
        out->kind = tk_str_cut(&rest, '/');
        out->name = rest;
        if (rest.p == NULL && !tk_path_find_kind(&kind, out->kind)) { /* a bare path */
            out->name = out->kind;
            out->kind = TK_STR("sampler_weights");
        }
        ok = out->run.n > 0 && out->name.n > 0 && tk_path_find_kind(&kind, out->kind);
    }
    return ok ? TINKC_OK
              : tk_err_set(err, TINKC_E_INVALID,
                           "not a checkpoint path: \"%.200s\" (it looks like "
                           "tinker://run-id/sampler_weights/0001)",
                           path);
}

/* ---- what is made ---- */

static bool is_trimmed(char c)
{
    return c == '-' || c == '_' || c == '.';
}

void tk_push_put_name(tk_buf *out, tk_str text)
{
    size_t from = out->n;
    bool pending = false; /* a "-" that counts when something follows */
    for (size_t i = 0; i < text.n; i++) {
        char c = is_name_char(text.p[i]) ? text.p[i] : '-';
        if (out->n == from && is_trimmed(c)) {
            continue;
        }
        if (c == '-') {
            pending = true;
            continue;
        }
        if (pending) {
            tk_buf_putc(out, '-');
            pending = false;
        }
        tk_buf_putc(out, c);
    }
    while (out->failure == TINKC_OK && out->n > from && is_trimmed(out->p[out->n - 1])) {
        out->n--;
    }
}

/* ---- patterns ---- */

/* A pattern that ends in a slash matches as if a star followed it. */
typedef struct pattern {
    tk_str text;
    size_t n;
} pattern;

static char slashed(char c)
{
    return c == '\\' ? '/' : c;
}

static char at(const pattern *p, size_t i)
{
    return i < p->text.n ? slashed(p->text.p[i]) : '*';
}

/* Bytes of the character at the front: one "?" matches a whole character. */
static size_t char_n(const char *p, size_t n)
{
    unsigned char lead = (unsigned char)*p;
    size_t want = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    return TK_MIN(want, n);
}

/* Where the set that opens at `i` closes; 0 when it does not: then "[" is itself. */
static size_t set_end(const pattern *p, size_t i)
{
    size_t j = i + 1;
    j += j < p->n && at(p, j) == '!' ? 1 : 0;
    j += j < p->n && at(p, j) == ']' ? 1 : 0;
    while (j < p->text.n && at(p, j) != ']') {
        j++;
    }
    return j < p->text.n ? j : 0;
}

static tk_str one_of(const pattern *p, size_t i, size_t end)
{
    return (tk_str){p->text.p + i, char_n(p->text.p + i, end - i)};
}

static bool is_same(tk_str member, tk_str c)
{
    return member.n == 1 && c.n == 1 ? slashed(*member.p) == slashed(*c.p)
                                     : tk_str_eq(member, c);
}

/* Ranges compare bytes: UTF-8 sorts as its code points do. */
static bool in_set(const pattern *p, size_t i, size_t end, tk_str c)
{
    bool negated = at(p, ++i) == '!';
    bool found = false;
    i += negated ? 1 : 0;
    while (i < end) {
        tk_str low = one_of(p, i, end);
        i += low.n;
        if (i + 1 < end && at(p, i) == '-') {
            tk_str high = one_of(p, i + 1, end);
            i += 1 + high.n;
            found = found || (tk_str_cmp(low, c) <= 0 && tk_str_cmp(c, high) <= 0);
        } else {
            found = found || is_same(low, c);
        }
    }
    return found != negated;
}

/* One step without star: how far pattern and path go, or false. */
static bool step(const pattern *p, size_t *i, tk_str path, size_t *j)
{
    tk_str c = {path.p + *j, char_n(path.p + *j, path.n - *j)};
    size_t end = at(p, *i) == '[' ? set_end(p, *i) : 0;
    if (end != 0) {
        if (!in_set(p, *i, end, c)) {
            return false;
        }
        *i = end + 1;
        *j += c.n;
        return true;
    }
    if (at(p, *i) == '?') {
        *i += 1;
        *j += c.n;
        return true;
    }
    if (at(p, *i) != slashed(*c.p)) {
        return false;
    }
    *i += 1;
    *j += 1;
    return true;
}

bool tk_push_matches(tk_str text, tk_str path)
{
    bool is_folder = text.n > 0 && slashed(text.p[text.n - 1]) == '/';
    pattern p = {text, text.n + (is_folder ? 1 : 0)};
    size_t i = 0, j = 0, star = SIZE_MAX, star_j = 0;
    while (j < path.n) {
        if (i < p.n && at(&p, i) == '*') {
            star = i++;
            star_j = j;
        } else if (i >= p.n || !step(&p, &i, path, &j)) {
            if (star == SIZE_MAX) {
                return false;
            }
            i = star + 1;
            star_j += char_n(path.p + star_j, path.n - star_j);
            j = star_j;
        }
    }
    while (i < p.n && at(&p, i) == '*') {
        i++;
    }
    return i == p.n;
}
