/* Template source to tokens, as jinja2's lexer does it with trim_blocks and
 * lstrip_blocks: one newline after a block or comment tag is dropped, blanks between the
 * start of a line and such a tag too; "-" strips all white space on its side, "+" keeps
 * it. Line ends are made "\n" and the last one is dropped. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "text/jinja/jinja_ast.h"
#include "text/jinja/jinja_str.h"

typedef struct lexer {
    tk_jparse *p;
    const char *s;
    size_t n;
    size_t at;
    int line;
    bool at_line_start; /* the last thing that was matched ended in a newline */
} lexer;

static int count_lines(const char *s, size_t n)
{
    int lines = 0;
    for (size_t i = 0; i < n; i++) {
        lines += s[i] == '\n';
    }
    return lines;
}

static bool add_token(lexer *x, tk_jtok_kind kind, tk_jtok token)
{
    tk_jparse *p = x->p;
    if (p->n_toks == p->cap_toks) {
        size_t cap = p->cap_toks == 0 ? 256 : p->cap_toks * 2;
        tk_jtok *toks = tk_realloc_array(p->toks, cap, sizeof(*toks));
        if (toks == NULL) {
            return tk_jinja_oom(p);
        }
        p->toks = toks;
        p->cap_toks = cap;
    }
    token.kind = kind;
    token.line = x->line;
    p->toks[p->n_toks++] = token;
    return true;
}

static bool add(lexer *x, tk_jtok_kind kind, tk_str text)
{
    return add_token(x, kind, (tk_jtok){.text = text});
}

/* Moves over text whose lines count. */
static void advance(lexer *x, size_t to)
{
    x->line += count_lines(x->s + x->at, to - x->at);
    x->at_line_start = to > x->at && x->s[to - 1] == '\n';
    x->at = to;
}

static size_t skip_space(const lexer *x, size_t at)
{
    size_t k;
    while (at < x->n && (k = tk_jstr_space(x->s + at, x->n - at)) > 0) {
        at += k;
    }
    return at;
}

static bool is_at(const lexer *x, size_t at, const char *text)
{
    size_t k = strlen(text);
    return x->n - at >= k && memcmp(x->s + at, text, k) == 0;
}

/* Length of an end tag at `at` ("%}", "-%}", "+%}" with what it swallows), 0 = none. */
static size_t end_tag(const lexer *x, size_t at, const char *tag, bool trims, bool plus)
{
    size_t start = at;
    if (at < x->n && x->s[at] == '-' && is_at(x, at + 1, tag)) {
        return skip_space(x, at + 3) - start;
    }
    if (plus && at < x->n && x->s[at] == '+' && is_at(x, at + 1, tag)) {
        return 3;
    }
    if (!is_at(x, at, tag)) {
        return 0;
    }
    at += 2;
    return at + (trims && at < x->n && x->s[at] == '\n') - start;
}

/* ---- strings and numbers ---- */

static bool is_octal(char c)
{
    return c >= '0' && c <= '7';
}

static int hex_of(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* \xHH, \uHHHH, \UHHHHHHHH; *at is after the letter. */
static bool hex_escape(lexer *x, tk_str in, size_t *at, size_t digits, tk_buf *out)
{
    uint32_t code = 0;
    for (size_t i = 0; i < digits; i++, *at += 1) {
        int h = *at < in.n ? hex_of(in.p[*at]) : -1;
        if (h < 0) {
            return tk_jinja_syntax(x->p, x->line, "truncated escape in a string");
        }
        code = code << 4 | (uint32_t)h;
    }
    char utf8[4];
    size_t n = tk_utf8_encode(utf8, code);
    if (n == 0) {
        return tk_jinja_syntax(x->p, x->line, "illegal Unicode character in a string");
    }
    tk_buf_put(out, utf8, n);
    return true;
}

/* A character beyond ASCII after a backslash: jinja2 turns the character into an escape
 * first, so the backslash in the source escapes the backslash of that. */
static size_t escaped_wide(tk_str in, size_t at, tk_buf *out)
{
    uint32_t code = 0;
    size_t n = tk_utf8_decode(&code, in.p + at, in.n - at);
    if (n == 0) {
        return 1;
    }
    if (code < 0x100) {
        tk_buf_printf(out, "\\x%02x", (unsigned)code);
    } else if (code < 0x10000) {
        tk_buf_printf(out, "\\u%04x", (unsigned)code);
    } else {
        tk_buf_printf(out, "\\U%08x", (unsigned)code);
    }
    return n;
}

static bool unescape_one(lexer *x, tk_str in, size_t *at, tk_buf *out)
{
    static const char from[] = "\\'\"abfnrtv", to[] = "\\'\"\a\b\f\n\r\t\v";
    char c = in.p[*at];
    const char *simple = strchr(from, c);
    if (c == '\n') {
        *at += 1;
    } else if (c != '\0' && simple != NULL) {
        tk_buf_putc(out, to[simple - from]);
        *at += 1;
    } else if (is_octal(c)) {
        uint32_t code = 0;
        for (int i = 0; i < 3 && *at < in.n && is_octal(in.p[*at]); i++, *at += 1) {
            code = code * 8 + (uint32_t)(in.p[*at] - '0');
        }
        char utf8[4];
        tk_buf_put(out, utf8, tk_utf8_encode(utf8, code));
    } else if (c == 'x' || c == 'u' || c == 'U') {
        *at += 1;
        return hex_escape(x, in, at, c == 'x' ? 2 : c == 'u' ? 4 : 8, out);
    } else if (c == 'N') {
        return tk_jinja_refuse(x->p, TINKC_E_UNSUPPORTED, x->line,
                               "\\N{...} in a string is not supported");
    } else if ((unsigned char)c >= 0x80) {
        *at += escaped_wide(in, *at, out);
    } else {
        tk_buf_putc(out, '\\');
        tk_buf_putc(out, c);
        *at += 1;
    }
    return true;
}

static bool unescape(lexer *x, tk_str in, tk_str *text)
{
    tk_buf out;
    tk_buf_init(&out, in.n * 10 + 1);
    bool ok = true;
    for (size_t i = 0; ok && i < in.n;) {
        if (in.p[i] != '\\') {
            tk_buf_putc(&out, in.p[i++]);
        } else {
            i++;
            ok = unescape_one(x, in, &i, &out);
        }
    }
    if (ok && (tk_buf_status(&out, NULL) != TINKC_OK ||
               !tk_arena_dup(&x->p->tpl->arena, text, out.p, out.n))) {
        ok = tk_jinja_oom(x->p);
    }
    tk_buf_dispose(&out);
    return ok;
}

static bool lex_string(lexer *x)
{
    char quote = x->s[x->at];
    size_t end = x->at + 1;
    while (end < x->n && x->s[end] != quote) {
        end += x->s[end] == '\\' && end + 1 < x->n ? 2 : 1;
    }
    if (end >= x->n) {
        return tk_jinja_syntax(x->p, x->line, "unexpected char %c", quote);
    }
    tk_str text = {x->s + x->at + 1, end - x->at - 1}, value;
    bool ok = unescape(x, text, &value) && add(x, TK_JTOK_STRING, value);
    advance(x, end + 1);
    return ok;
}

static bool is_digit(const lexer *x, size_t at)
{
    return at < x->n && x->s[at] >= '0' && x->s[at] <= '9';
}

/* Digits with single underscores between them; returns where they end. */
static size_t digits_end(const lexer *x, size_t at)
{
    while (is_digit(x, at) || (at < x->n && x->s[at] == '_' && is_digit(x, at + 1))) {
        at++;
    }
    return at;
}

/* Where a float that starts at x->at ends; x->at when it is not a float. */
static size_t float_end(const lexer *x)
{
    size_t at = digits_end(x, x->at);
    bool is_float = false;
    if (x->at > 0 && x->s[x->at - 1] == '.') { /* "a.0.1" has two indices */
        return x->at;
    }
    if (at < x->n && x->s[at] == '.' && is_digit(x, at + 1)) {
        at = digits_end(x, at + 1);
        is_float = true;
    }
    if (at < x->n && (x->s[at] | 0x20) == 'e') {
        size_t e = at + 1;
        e += e < x->n && (x->s[e] == '+' || x->s[e] == '-');
        if (is_digit(x, e)) {
            at = digits_end(x, e);
            is_float = true;
        }
    }
    return is_float ? at : x->at;
}

static bool lex_float(lexer *x, size_t end)
{
    char text[64];
    size_t n = 0;
    for (size_t i = x->at; i < end && n < sizeof(text); i++) {
        bool leads = n == 1 && text[0] == '0' && is_digit(x, i);
        n -= leads; /* "00.5" is a number in Python, but not in JSON */
        if (x->s[i] != '_') {
            text[n++] = x->s[i];
        }
    }
    if (n == sizeof(text)) {
        return tk_jinja_syntax(x->p, x->line, "number too large");
    }
    tk_jtok token = {.real = 0};
    if (!tk_str_to_double((tk_str){text, n}, &token.real)) {
        token.real = INFINITY; /* its form is right: it does not fit */
    }
    bool ok = add_token(x, TK_JTOK_FLOAT, token);
    advance(x, end);
    return ok;
}

static bool lex_int(lexer *x)
{
    size_t at = x->at;
    int base = 10;
    if (x->s[at] == '0' && at + 1 < x->n) {
        char c = (char)(x->s[at + 1] | 0x20);
        base = c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 10;
        at += base == 10 ? 0 : 2;
    }
    bool is_zero = base == 10 && x->s[at] == '0';
    int64_t value = 0;
    size_t start = at;
    for (; at < x->n; at++) {
        if (x->s[at] == '_' && at + 1 < x->n && hex_of(x->s[at + 1]) >= 0 &&
            hex_of(x->s[at + 1]) < base) {
            continue;
        }
        int digit = hex_of(x->s[at]);
        if (digit < 0 || digit >= base || (is_zero && digit != 0)) {
            break;
        }
        if (__builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, digit, &value)) {
            return tk_jinja_syntax(x->p, x->line, "number too large");
        }
    }
    if (at == start) { /* "0x" without digits: the zero, then a name */
        at = x->at + 1;
    }
    bool ok = add_token(x, TK_JTOK_INT, (tk_jtok){.integer = value});
    advance(x, at);
    return ok;
}

static bool is_name_char(char c)
{
    unsigned char u = (unsigned char)c;
    return u >= 0x80 || c == '_' || (u | 0x20U) - 'a' < 26U || u - (unsigned)'0' < 10U;
}

static bool lex_name(lexer *x)
{
    size_t end = x->at;
    while (end < x->n && is_name_char(x->s[end]) &&
           tk_jstr_space(x->s + end, x->n - end) == 0) {
        end++;
    }
    tk_str name = {x->s + x->at, end - x->at};
    if (!tk_jstr_is_identifier(name)) {
        return tk_jinja_syntax(x->p, x->line, "Invalid character in identifier");
    }
    bool ok = tk_jinja_intern(x->p, &name) && add(x, TK_JTOK_NAME, name);
    advance(x, end);
    return ok;
}

/* ---- inside tags ---- */

#define MAX_BRACES 256

typedef struct braces {
    char open[MAX_BRACES];
    size_t n;
} braces;

static bool balance(lexer *x, braces *b, char c)
{
    static const char opening[] = "({[", closing[] = ")}]";
    const char *o = strchr(opening, c), *k = strchr(closing, c);
    if (o != NULL) {
        if (b->n == MAX_BRACES) {
            return tk_jinja_refuse(x->p, TINKC_E_LIMIT, x->line,
                                   "too many open brackets");
        }
        b->open[b->n++] = closing[o - opening];
    } else if (k != NULL) {
        if (b->n == 0 || b->open[b->n - 1] != c) {
            return tk_jinja_syntax(x->p, x->line, "unexpected '%c'", c);
        }
        b->n--;
    }
    return true;
}

static bool lex_op(lexer *x, braces *b)
{
    static const char *const two[] = {"//", "**", "==", "!=", ">=", "<="};
    for (size_t i = 0; i < TK_ARRAY_LEN(two); i++) {
        if (is_at(x, x->at, two[i])) {
            bool ok = add(x, TK_JTOK_OP, (tk_str){two[i], 2});
            advance(x, x->at + 2);
            return ok;
        }
    }
    static const char one[] = "+-/*%~[](){}><=.:|,;";
    char c = x->s[x->at];
    const char *op = c != '\0' ? strchr(one, c) : NULL;
    if (op == NULL) {
        return tk_jinja_syntax(x->p, x->line, "unexpected char '%c'", c);
    }
    bool ok = balance(x, b, c) && add(x, TK_JTOK_OP, (tk_str){op, 1});
    advance(x, x->at + 1);
    return ok;
}

static bool lex_one(lexer *x, braces *b)
{
    char c = x->s[x->at];
    if (is_digit(x, x->at)) {
        size_t end = float_end(x);
        return end > x->at ? lex_float(x, end) : lex_int(x);
    }
    if (is_name_char(c)) {
        return lex_name(x);
    }
    if (c == '\'' || c == '"') {
        return lex_string(x);
    }
    return lex_op(x, b);
}

/* Starts after "{%" or "{{", goes past the end of the tag. */
static bool lex_tag(lexer *x, bool is_block)
{
    braces b = {.n = 0};
    while (true) {
        if (b.n == 0) {
            size_t k = end_tag(x, x->at, is_block ? "%}" : "}}", is_block, is_block);
            if (k > 0) {
                bool ok =
                    add(x, is_block ? TK_JTOK_BLOCK_END : TK_JTOK_VAR_END, TK_STR(""));
                advance(x, x->at + k);
                return ok;
            }
        }
        size_t next = skip_space(x, x->at);
        if (next > x->at) {
            advance(x, next);
            continue;
        }
        if (x->at >= x->n) {
            return true; /* the parser misses the end */
        }
        if (!lex_one(x, &b)) {
            return false;
        }
    }
}

/* ---- text between tags ---- */

/* The text before a tag at `end` whose sign follows its two characters. */
static bool lex_text(lexer *x, size_t end, bool strips_line)
{
    const char *text = x->s + x->at;
    size_t n = end - x->at, keep = n;
    char sign = end + 2 < x->n ? x->s[end + 2] : '\0';
    if (sign == '-') {
        keep = tk_jstr_rstrip((tk_str){text, n}).n;
    } else if (sign != '+' && strips_line) {
        size_t start = n;
        while (start > 0 && text[start - 1] != '\n') {
            start--;
        }
        if ((start > 0 || x->at_line_start) &&
            tk_jstr_rstrip((tk_str){text + start, n - start}).n == 0) {
            keep = start;
        }
    }
    tk_str kept;
    if (keep > 0) {
        if (!tk_arena_dup(&x->p->tpl->arena, &kept, text, keep)) {
            return tk_jinja_oom(x->p);
        }
        if (!add(x, TK_JTOK_DATA, kept)) {
            return false;
        }
    }
    advance(x, end);
    return true;
}

static size_t find_tag(const lexer *x, size_t at)
{
    for (; at + 1 < x->n; at++) {
        char c = x->s[at + 1];
        if (x->s[at] == '{' && (c == '%' || c == '{' || c == '#')) {
            return at;
        }
    }
    return x->n;
}

static size_t skip_sign(const lexer *x, size_t at)
{
    return at + (at < x->n && (x->s[at] == '-' || x->s[at] == '+'));
}

/* "{% word %}" at `at`: where its end tag starts, 0 when it is something else. */
static size_t word_tag(const lexer *x, size_t at, const char *word)
{
    at = skip_space(x, skip_sign(x, at + 2));
    if (!is_at(x, at, word)) {
        return 0;
    }
    return skip_space(x, at + strlen(word));
}

/* {% raw %} ... {% endraw %}, from its first character. */
static bool lex_raw(lexer *x, size_t end)
{
    size_t k = end_tag(x, end, "%}", false, false);
    advance(x, end + k);
    for (size_t at = x->at; at + 1 < x->n; at++) {
        if (!is_at(x, at, "{%")) {
            continue;
        }
        size_t close = word_tag(x, at, "endraw");
        size_t n = close > 0 ? end_tag(x, close, "%}", true, true) : 0;
        if (n > 0) {
            if (!lex_text(x, at, true)) {
                return false;
            }
            advance(x, close + n);
            return true;
        }
    }
    return tk_jinja_syntax(x->p, x->line, "Missing end of raw directive");
}

static bool lex_comment(lexer *x)
{
    for (size_t at = x->at; at + 1 < x->n; at++) {
        size_t n = end_tag(x, at, "#}", true, true);
        if (n > 0) {
            advance(x, at + n);
            return true;
        }
    }
    return tk_jinja_syntax(x->p, x->line, "Missing end of comment tag");
}

static bool lex_root(lexer *x)
{
    while (x->at < x->n) {
        size_t tag = find_tag(x, x->at);
        char kind = tag < x->n ? x->s[tag + 1] : '\0';
        if (tag == x->n) {
            tk_str rest;
            if (!tk_arena_dup(&x->p->tpl->arena, &rest, x->s + x->at, x->n - x->at)) {
                return tk_jinja_oom(x->p);
            }
            x->at = x->n;
            return add(x, TK_JTOK_DATA, rest);
        }
        if (!lex_text(x, tag, kind != '{')) {
            return false;
        }
        size_t raw = kind == '%' ? word_tag(x, tag, "raw") : 0;
        bool ok;
        if (raw > 0 && end_tag(x, raw, "%}", false, false) > 0) {
            ok = lex_raw(x, raw);
        } else if (kind == '#') {
            advance(x, skip_sign(x, tag + 2));
            ok = lex_comment(x);
        } else {
            ok =
                add(x, kind == '%' ? TK_JTOK_BLOCK_BEGIN : TK_JTOK_VAR_BEGIN, TK_STR(""));
            advance(x, skip_sign(x, tag + 2));
            ok = ok && lex_tag(x, kind == '%');
        }
        if (!ok) {
            return false;
        }
    }
    return true;
}

/* "\r\n" and "\r" become "\n"; one newline at the end is dropped. */
static tk_str normalise(char *room, tk_str source)
{
    size_t n = 0;
    for (size_t i = 0; i < source.n; i++) {
        if (source.p[i] == '\r') {
            room[n++] = '\n';
            i += i + 1 < source.n && source.p[i + 1] == '\n';
        } else {
            room[n++] = source.p[i];
        }
    }
    return (tk_str){room, n > 0 && room[n - 1] == '\n' ? n - 1 : n};
}

bool tk_jinja_lex(tk_jparse *p, tk_str source)
{
    char *room = tk_malloc(source.n + 1);
    if (room == NULL) {
        return tk_jinja_oom(p);
    }
    tk_str text = normalise(room, source);
    lexer x = {.p = p, .s = text.p, .n = text.n, .line = 1, .at_line_start = true};
    bool ok = lex_root(&x) && add(&x, TK_JTOK_EOF, TK_STR(""));
    tk_free(room);
    return ok;
}
