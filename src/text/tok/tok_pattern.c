/* Patterns of Oniguruma (as tokenizer.json has them) as PCRE2 is to read them:
 *
 *   \s \S              the 25 characters of White_Space, without U+180E
 *   \p{L} ...          with the characters that PCRE2's Unicode does not know yet
 *   \p{Han}            the script, not its extensions
 *   [A&&[^B]], [A&&[B]] a look-ahead
 *   [a[bc]]            one class
 *
 * Whatever else the two read differently is refused by name. */
#include <string.h>

#include "text/tok/tok_regex.h"
#include "text/unicode/uni.h"

typedef struct reader {
    const char *p, *end;
    tk_buf *out;
    tk_err *err;
    int depth;
} reader;

static tinkc_code refuse(reader *r, const char *what)
{
    return tk_err_set(r->err, TINKC_E_UNSUPPORTED,
                      "tokenizer.json: split pattern with %s is not supported", what);
}

/* ---- properties ---- */

static unsigned set_of(tk_str name)
{
    static const struct {
        const char *name;
        unsigned set;
    } rows[] = {{"L", TK_UNI_LETTERS},  {"Lu", TK_UNI_SET(LU)}, {"Lt", TK_UNI_SET(LT)},
                {"Ll", TK_UNI_SET(LL)}, {"Lm", TK_UNI_SET(LM)}, {"Lo", TK_UNI_SET(LO)},
                {"M", TK_UNI_SET(M)},   {"N", TK_UNI_SET(N)},   {"P", TK_UNI_SET(P)},
                {"S", TK_UNI_SET(S)}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        if (tk_str_is(name, rows[i].name)) {
            return rows[i].set;
        }
    }
    return 0;
}

/* The characters of the set, or of script Han, that are newer than PCRE2's tables. */
static void put_newer(reader *r, unsigned set)
{
    uint32_t begin = 0;
    bool open = false;
    for (size_t i = 0; i < tk_uni_n_newer; i += 2) {
        for (uint32_t c = tk_uni_newer[i]; c <= tk_uni_newer[i + 1]; c++) {
            uint8_t value = tk_uni_of(c);
            bool in = c < tk_uni_newer[i + 1] &&
                      (set != 0 ? (set >> (value & TK_UNI_CLASS_MASK) & 1) != 0
                                : (value & TK_UNI_HAN) != 0);
            if (in && !open) {
                begin = c;
            } else if (!in && open) {
                tk_buf_printf(r->out, "\\x{%x}-\\x{%x}", begin, c - 1);
            }
            open = in;
        }
    }
}

static bool is_script(tk_str name)
{
    bool ok = name.n > 2 && name.p[0] >= 'A' && name.p[0] <= 'Z';
    for (size_t i = 1; i < name.n; i++) {
        ok = ok && name.p[i] >= 'a' && name.p[i] <= 'z';
    }
    return ok;
}

/* At \p{ or \P{. */
static tinkc_code put_property(reader *r, bool in_class)
{
    bool negated = r->p[1] == 'P';
    const char *name = r->p + 3;
    const char *close = name < r->end ? memchr(name, '}', (size_t)(r->end - name)) : NULL;
    if (r->end - r->p < 4 || r->p[2] != '{' || close == NULL) {
        return refuse(r, "a property without braces");
    }
    tk_str text = {name, (size_t)(close - name)};
    unsigned set = set_of(text);
    bool fine = text.n == 2 && text.p[0] >= 'A' && text.p[0] <= 'Z' && text.p[1] >= 'a' &&
                text.p[1] <= 'z'; /* \p{Nd}, ... */
    if (set == 0 && !fine && !is_script(text)) {
        return refuse(r, "this property");
    }
    if (in_class && negated) {
        return refuse(r, "\\P in a class");
    }
    tk_buf_puts(r->out, in_class ? "" : negated ? "[^" : "[");
    tk_buf_puts(r->out, set == 0 && !fine ? "\\p{sc:" : "\\p{");
    tk_buf_put(r->out, text.p, text.n);
    tk_buf_puts(r->out, "}");
    if (set != 0 || tk_str_is(text, "Han")) {
        put_newer(r, set);
    }
    tk_buf_puts(r->out, in_class ? "" : "]");
    r->p = close + 1;
    return TINKC_OK;
}

/* At a backslash. */
static tinkc_code put_escape(reader *r, bool in_class)
{
    if (r->end - r->p < 2) {
        return refuse(r, "a lone backslash");
    }
    char c = r->p[1];
    if (c == 'p' || c == 'P') {
        return put_property(r, in_class);
    }
    if (c == 's' || c == 'S') {
        tk_buf_puts(r->out, c == 's' ? "\\p{wspace}" : "\\P{wspace}");
    } else if ((c >= '0' && c <= '9') ||
               (c >= 'a' && c <= 'z' && !strchr("dnrtfxe", c)) ||
               (c >= 'A' && c <= 'Z' && c != 'D')) {
        return refuse(r, "this escape");
    } else {
        tk_buf_put(r->out, r->p, 2);
    }
    r->p += 2;
    return TINKC_OK;
}

/* ---- classes ---- */

/* The members of a class up to its bracket or to "&&", without those. */
static tinkc_code put_members(reader *r)
{
    bool first = true;
    while (r->p < r->end) {
        tinkc_code code = TINKC_OK;
        if ((*r->p == ']' && !first) ||
            (*r->p == '&' && r->end - r->p > 1 && r->p[1] == '&')) {
            return TINKC_OK;
        }
        if (*r->p == '\\') {
            code = put_escape(r, true);
        } else if (*r->p == '[') {
            if (r->end - r->p > 1 && (r->p[1] == ':' || r->p[1] == '^')) {
                return refuse(r, "a negated or named class in a class");
            }
            r->p++;
            code = ++r->depth < 16 ? put_members(r) : refuse(r, "deep classes");
            if (code == TINKC_OK && (r->p == r->end || *r->p != ']')) {
                code = refuse(r, "an intersection in a class in a class");
            }
            r->p++;
            r->depth--;
        } else {
            tk_buf_put(r->out, r->p++, 1);
        }
        if (code != TINKC_OK) {
            return code;
        }
        first = false;
    }
    return refuse(r, "a class without an end");
}

/* After "&&": [B] or [^B], and the end of the class around it. */
static tinkc_code put_intersection(reader *r, size_t begin, bool negated)
{
    tk_buf members;
    tk_buf_init(&members, TK_MIB);
    tk_buf_put(&members, r->out->p + begin, r->out->n - begin);
    r->p += 2;
    if (r->end - r->p < 3 || *r->p != '[' || negated) {
        tk_buf_dispose(&members);
        return refuse(r, "this intersection of classes");
    }
    bool without = r->p[1] == '^';
    r->p += without ? 2 : 1;
    r->out->n = begin;
    tk_buf_puts(r->out, without ? "(?:(?![" : "(?:(?=[");
    tinkc_code code = put_members(r);
    tk_buf_puts(r->out, "])[");
    tk_buf_put(r->out, members.p, members.n);
    tk_buf_puts(r->out, "])");
    if (members.failure != TINKC_OK) {
        tk_buf_fail(r->out, members.failure);
    }
    tk_buf_dispose(&members);
    if (code == TINKC_OK && (r->end - r->p < 2 || r->p[0] != ']' || r->p[1] != ']')) {
        code = refuse(r, "this intersection of classes");
    }
    r->p += 2;
    return code;
}

/* At the bracket. */
static tinkc_code put_class(reader *r)
{
    size_t begin = r->out->n;
    r->p++;
    bool negated = r->p < r->end && *r->p == '^';
    r->p += negated;
    if (r->p < r->end && *r->p == ']') {
        return refuse(r, "a class that begins with a bracket");
    }
    tk_buf_puts(r->out, negated ? "[^" : "[");
    size_t inside = r->out->n;
    tinkc_code code = put_members(r);
    if (code != TINKC_OK) {
        return code;
    }
    if (*r->p == '&') {
        tk_buf tail;
        tk_buf_init(&tail, TK_MIB);
        tk_buf_put(&tail, r->out->p + inside, r->out->n - inside);
        r->out->n = begin;
        tk_buf_put(r->out, tail.p, tail.n);
        if (tail.failure != TINKC_OK) {
            tk_buf_fail(r->out, tail.failure);
        }
        tk_buf_dispose(&tail);
        return put_intersection(r, begin, negated);
    }
    tk_buf_puts(r->out, "]");
    r->p++;
    return TINKC_OK;
}

/* ---- groups and the rest ---- */

/* At "(?": only what means the same in both. */
static tinkc_code put_group(reader *r)
{
    static const char *const same[] = {
        "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:"};
    for (size_t i = 0; i < TK_ARRAY_LEN(same); i++) {
        size_t n = strlen(same[i]);
        if ((size_t)(r->end - r->p) >= n && memcmp(r->p, same[i], n) == 0) {
            tk_buf_put(r->out, r->p, n);
            r->p += n;
            return TINKC_OK;
        }
    }
    return refuse(r, "this kind of group");
}

tinkc_code tk_tok_pattern_translate(tk_buf *out, tk_str pattern, tk_err *err)
{
    if (pattern.n > TK_TOK_PATTERN_MAX_BYTES) { /* each property costs a long list */
        return tk_err_set(err, TINKC_E_LIMIT,
                          "tokenizer.json: a split pattern of %zu bytes", pattern.n);
    }
    reader r = {pattern.p, pattern.p + pattern.n, out, err, 0};
    tinkc_code code = TINKC_OK;
    tk_uni_ready();
    while (r.p < r.end && code == TINKC_OK) {
        if (*r.p == '\\') {
            code = put_escape(&r, false);
        } else if (*r.p == '[') {
            code = put_class(&r);
        } else if (*r.p == '(' && r.end - r.p > 1 && r.p[1] == '?') {
            code = put_group(&r);
        } else if (*r.p == '}' && r.end - r.p > 1 && r.p[1] == '+') {
            code = refuse(&r, "a possessive count"); /* greedy twice, in Oniguruma */
        } else {
            tk_buf_put(out, r.p++, 1);
        }
    }
    return code == TINKC_OK ? tk_buf_status(out, err) : code;
}
