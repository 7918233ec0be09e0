/* Normalisers. Unicode forms come from utf8proc, except for the characters that are newer
 * than the reference's tables (tk_uni_inert): those are left as they are. Marks are
 * sorted here, because utf8proc's sorting is quadratic. */
#include <stdlib.h>
#include <utf8proc.h>

#include "base/mem.h"
#include "text/tok/tok_work.h"
#include "text/unicode/uni.h"

/* ---- Unicode forms ---- */

/* Code points of one stretch between characters that are inert. */
typedef struct stretch {
    utf8proc_int32_t *c;
    size_t n, capacity;
    bool failed;
} stretch;

static utf8proc_option_t options_of(tk_tok_norm_kind kind)
{
    unsigned options = UTF8PROC_STABLE;
    if (kind == TK_TOK_NFKC || kind == TK_TOK_NFKD) {
        options |= UTF8PROC_COMPAT;
    }
    options |=
        kind == TK_TOK_NFC || kind == TK_TOK_NFKC ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
    return (utf8proc_option_t)options;
}

static void add_char(stretch *s, uint32_t c, utf8proc_option_t options)
{
    enum { MOST = 32 }; /* U+FDFA decomposes into 18 */
    if (!tk_tok_work_room(&s->c, &s->capacity, s->n + MOST, sizeof(*s->c))) {
        s->failed = true;
        return;
    }
    int boundary = 0;
    utf8proc_ssize_t n = utf8proc_decompose_char(
        (utf8proc_int32_t)c, s->c + s->n, MOST,
        (utf8proc_option_t)(options | UTF8PROC_DECOMPOSE), &boundary);
    if (n < 0 || n > MOST) {
        s->c[s->n++] = (utf8proc_int32_t)c;
    } else {
        s->n += (size_t)n;
    }
}

static int ccc(utf8proc_int32_t c)
{
    return utf8proc_get_property(c)->combining_class;
}

/* Order of combining classes, then of place; the place is in the upper bits meanwhile. */
static int by_class(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void sort_marks(stretch *s, size_t begin, size_t end)
{
    if (end - begin < 24) {
        for (size_t i = begin + 1; i < end; i++) {
            utf8proc_int32_t c = s->c[i];
            size_t at = i;
            for (; at > begin && ccc(s->c[at - 1]) > ccc(c); at--) {
                s->c[at] = s->c[at - 1];
            }
            s->c[at] = c;
        }
        return;
    }
    uint64_t *keys = tk_array(end - begin, sizeof(*keys));
    utf8proc_int32_t *copy = tk_memdup(s->c + begin, (end - begin) * sizeof(*copy));
    if (keys == NULL || copy == NULL) {
        s->failed = true;
    } else {
        for (size_t i = 0; i < end - begin; i++) {
            keys[i] = (uint64_t)ccc(copy[i]) << 40 | i;
        }
        qsort(keys, end - begin, sizeof(*keys), by_class);
        for (size_t i = 0; i < end - begin; i++) {
            s->c[begin + i] = copy[keys[i] & 0xFFFFFFFFFFu];
        }
    }
    tk_free(keys);
    tk_free(copy);
}

static void put_stretch(stretch *s, utf8proc_option_t options, tk_buf *out)
{
    for (size_t begin = 0, end; begin < s->n; begin = end + 1) {
        for (end = begin; end < s->n && ccc(s->c[end]) != 0;) {
            end++;
        }
        sort_marks(s, begin, end);
    }
    if (options & UTF8PROC_COMPOSE) {
        utf8proc_ssize_t n =
            utf8proc_normalize_utf32(s->c, (utf8proc_ssize_t)s->n, options);
        s->n = n >= 0 ? (size_t)n : s->n;
    }
    for (size_t i = 0; i < s->n; i++) {
        utf8proc_uint8_t bytes[4];
        utf8proc_ssize_t n = utf8proc_encode_char(s->c[i], bytes);
        tk_buf_put(out, bytes, n > 0 ? (size_t)n : 0);
    }
    if (s->failed) {
        tk_buf_fail(out, TINKC_E_NOMEM);
    }
    s->n = 0;
}

static bool is_inert(uint32_t c)
{
    return c >= 0x300 && tk_uni_in(tk_uni_inert, tk_uni_n_inert, c);
}

/* Bytes at the start that no form changes unless a mark follows them. */
static size_t ascii_prefix(tk_str text)
{
    size_t i = 0;
    for (uint64_t v; i + 8 <= text.n; i += 8) {
        memcpy(&v, text.p + i, sizeof(v));
        if (v & 0x8080808080808080u) {
            break;
        }
    }
    while (i < text.n && (unsigned char)text.p[i] < 0x80) {
        i++;
    }
    return i;
}

/* Whether a character begins something that the form may change. For NFC only what is
 * active changes, together with the one character before it. */
static bool is_active(uint32_t c, tk_tok_norm_kind kind)
{
    return kind == TK_TOK_NFC ? (tk_uni_of(c) & TK_UNI_ACTIVE) != 0 : c >= 0x80;
}

/* The first active character from `at` on, text.n without one. *previous is where the
 * character before it begins (itself at the start of the text). */
static size_t find_active(tk_str text, size_t at, tk_tok_norm_kind kind, size_t *previous)
{
    *previous = at;
    while (at < text.n) {
        size_t plain = ascii_prefix((tk_str){text.p + at, text.n - at});
        if (plain > 0) {
            at += plain;
            *previous = at - 1;
            continue;
        }
        size_t n;
        uint32_t c = tk_uni_decode((const unsigned char *)text.p + at, &n);
        if (is_active(c, kind)) {
            return at;
        }
        *previous = at;
        at += n;
    }
    return at;
}

static size_t put_cluster(tk_str text, size_t at, size_t active, tk_tok_norm_kind kind,
                          stretch *s, tk_buf *out)
{
    utf8proc_option_t options = options_of(kind);
    while (at < text.n) {
        size_t n;
        uint32_t c = tk_uni_decode((const unsigned char *)text.p + at, &n);
        if (at > active && !is_active(c, kind)) {
            break;
        }
        if (is_inert(c)) {
            put_stretch(s, options, out);
            tk_buf_put(out, text.p + at, n);
        } else {
            add_char(s, c, options);
        }
        at += n;
    }
    put_stretch(s, options, out);
    return at;
}

/* False: the text is in that form already. */
static bool unicode_form(tk_str text, tk_tok_norm_kind kind, tk_buf *out, tk_tok_map *map)
{
    size_t previous, at = 0, active = find_active(text, 0, kind, &previous);
    if (active == text.n) {
        return false;
    }
    stretch s = {NULL, 0, 0, false};
    while (active < text.n) {
        tk_buf_put(out, text.p + at, previous - at);
        tk_tok_map_add(map, out->n, previous);
        at = put_cluster(text, previous, active, kind, &s, out);
        tk_tok_map_add(map, out->n, at);
        active = find_active(text, at, kind, &previous);
    }
    tk_buf_put(out, text.p + at, text.n - at);
    tk_free(s.c);
    return true;
}

/* ---- text ---- */

static bool replace(tk_str text, const tk_tok_norm *norm, tk_buf *out, tk_tok_map *map)
{
    size_t at = 0;
    bool found = false;
    while (at < text.n) {
        const char *hit =
            norm->pattern.n == 1
                ? memchr(text.p + at, norm->pattern.p[0], text.n - at)
                : memmem(text.p + at, text.n - at, norm->pattern.p, norm->pattern.n);
        size_t end = hit != NULL ? (size_t)(hit - text.p) : text.n;
        if (hit == NULL && !found) {
            return false;
        }
        found = true;
        tk_buf_put(out, text.p + at, end - at);
        at = end;
        if (hit != NULL) {
            tk_tok_map_add(map, out->n, at);
            tk_buf_put(out, norm->content.p, norm->content.n);
            at += norm->pattern.n;
            tk_tok_map_add(map, out->n, at);
        }
    }
    return found;
}

static bool run(const tk_tok_norm *norm, tk_str text, tk_buf *out, tk_tok_map *map)
{
    switch (norm->kind) {
    case TK_TOK_NFC:
    case TK_TOK_NFD:
    case TK_TOK_NFKC:
    case TK_TOK_NFKD:
        return unicode_form(text, norm->kind, out, map);
    case TK_TOK_REPLACE:
        return replace(text, norm, out, map);
    case TK_TOK_PREPEND:
        if (text.n == 0) {
            return false;
        }
        tk_buf_put(out, norm->content.p, norm->content.n);
        tk_tok_map_add(map, out->n, 0);
        tk_buf_put(out, text.p, text.n);
        return true;
    }
    return false;
}

tinkc_code tk_tok_norm_run(const tk_tok *tok, tk_tok_work *work, tk_str text, tk_str *out,
                           tk_tok_map *map)
{
    tk_str now = text;
    for (size_t i = 0; i < tok->n_norms; i++) {
        tk_buf *to = now.p == work->normal[0].p ? &work->normal[1] : &work->normal[0];
        tk_buf_clear(to);
        tk_tok_map step = {.off = map->off};
        tk_tok_map_add(&step, 0, 0);
        if (!run(&tok->norms[i], now, to, &step)) {
            tk_tok_map_dispose(&step);
            continue;
        }
        tk_tok_map_add(&step, to->n, now.n);
        tk_tok_map_compose(map, &step);
        if (to->failure != TINKC_OK) {
            return to->failure;
        }
        now = tk_buf_str(to);
    }
    *out = now;
    return map->failed ? TINKC_E_NOMEM : TINKC_OK;
}
