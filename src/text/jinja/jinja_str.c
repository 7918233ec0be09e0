/* Python's view of text on UTF-8. Case and categories come from utf8proc; the few full
 * case mappings that it lacks are a table here. */
#include "text/jinja/jinja_str.h"

#include <string.h>
#include <utf8proc.h>

#include "base/hash.h"
#include "base/utf8.h"

static bool is_space(uint32_t c)
{
    return (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 ||
           c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
           c == 0x202f || c == 0x205f || c == 0x3000;
}

size_t tk_jstr_char(uint32_t *code, tk_str s)
{
    if (s.n == 0) {
        return 0;
    }
    size_t n = tk_utf8_decode(code, s.p, s.n);
    if (n == 0) {
        *code = 0xfffd;
        return 1;
    }
    return n;
}

size_t tk_jstr_space(const char *p, size_t n)
{
    uint32_t code = 0;
    size_t k = tk_utf8_decode(&code, p, n);
    return k > 0 && is_space(code) ? k : 0;
}

/* Bytes of the character that ends at p + n. */
static size_t char_before(uint32_t *code, const char *p, size_t n)
{
    for (size_t k = 1; k <= 4 && k <= n; k++) {
        if (tk_utf8_decode(code, p + n - k, k) == k) {
            return k;
        }
    }
    *code = 0xfffd;
    return n > 0 ? 1 : 0;
}

size_t tk_jstr_space_before(const char *p, size_t n)
{
    uint32_t code = 0;
    size_t k = char_before(&code, p, n);
    return k > 0 && is_space(code) ? k : 0;
}

tk_str tk_jstr_lstrip(tk_str s)
{
    size_t k;
    while (s.n > 0 && (k = tk_jstr_space(s.p, s.n)) > 0) {
        s.p += k;
        s.n -= k;
    }
    return s;
}

tk_str tk_jstr_rstrip(tk_str s)
{
    size_t k;
    while (s.n > 0 && (k = tk_jstr_space_before(s.p, s.n)) > 0) {
        s.n -= k;
    }
    return s;
}

static bool is_in(uint32_t code, tk_str set)
{
    uint32_t c = 0;
    for (size_t k; (k = tk_jstr_char(&c, set)) > 0; set.p += k, set.n -= k) {
        if (c == code) {
            return true;
        }
    }
    return false;
}

tk_str tk_jstr_lstrip_set(tk_str s, tk_str set)
{
    uint32_t code = 0;
    for (size_t k; (k = tk_jstr_char(&code, s)) > 0 && is_in(code, set);) {
        s.p += k;
        s.n -= k;
    }
    return s;
}

tk_str tk_jstr_rstrip_set(tk_str s, tk_str set)
{
    uint32_t code = 0;
    for (size_t k; (k = char_before(&code, s.p, s.n)) > 0 && is_in(code, set);) {
        s.n -= k;
    }
    return s;
}

size_t tk_jstr_count(tk_str s)
{
    return tk_utf8_count(s);
}

size_t tk_jstr_offset(tk_str s, size_t index)
{
    uint32_t code;
    size_t at = 0;
    while (index > 0 && at < s.n) {
        at += tk_jstr_char(&code, (tk_str){s.p + at, s.n - at});
        index--;
    }
    return at;
}

size_t tk_jstr_find(tk_str s, tk_str needle, size_t from)
{
    if (from > s.n) {
        return SIZE_MAX;
    }
    if (needle.n == 0) {
        return from;
    }
    const char *hit = needle.n == 1 ? memchr(s.p + from, needle.p[0], s.n - from)
                                    : memmem(s.p + from, s.n - from, needle.p, needle.n);
    return hit != NULL ? (size_t)(hit - s.p) : SIZE_MAX;
}

#define PRIME (((uint64_t)1 << 61) - 1)

static uint64_t reduced(uint64_t a)
{
    uint64_t sum = (a >> 61) + (a & PRIME);
    return sum < PRIME ? sum : sum - PRIME;
}

/* a * b modulo PRIME; both are below it. */
static uint64_t times(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return reduced((uint64_t)(product >> 61) + ((uint64_t)product & PRIME));
}

/* By a rolling hash, so that every byte of s is read twice and not once per byte of the
 * needle. The hash is keyed with the address of s, which an attacker does not know. */
size_t tk_jstr_rfind(tk_str s, tk_str needle)
{
    if (needle.n == 0 || needle.n > s.n) {
        return needle.n == 0 ? s.n : SIZE_MAX;
    }
    tk_hash_key key = {(uint64_t)(uintptr_t)s.p, (uint64_t)(uintptr_t)&key};
    uint64_t base = reduced(tk_hash_bytes(key, &key, sizeof(key)));
    uint64_t wanted = 0, have = 0, top = 1;
    size_t at = s.n - needle.n;
    for (size_t i = needle.n; i-- > 0;) {
        wanted = reduced(times(wanted, base) + (unsigned char)needle.p[i]);
        have = reduced(times(have, base) + (unsigned char)s.p[at + i]);
        top = times(top, base);
    }
    for (;; at--) {
        if (have == wanted && memcmp(s.p + at, needle.p, needle.n) == 0) {
            return at;
        }
        if (at == 0) {
            return SIZE_MAX;
        }
        uint64_t last = times((unsigned char)s.p[at + needle.n - 1], top);
        have = reduced(times(have, base) + (unsigned char)s.p[at - 1] + PRIME - last);
    }
}

size_t tk_jstr_line_end(tk_str s)
{
    uint32_t code = 0;
    size_t k = tk_jstr_char(&code, s);
    if (code == '\r' && s.n > 1 && s.p[1] == '\n') {
        return 2;
    }
    bool ends = (code >= 10 && code <= 13) || (code >= 0x1c && code <= 0x1e) ||
                code == 0x85 || code == 0x2028 || code == 0x2029;
    return ends ? k : 0;
}

/* ---- case ---- */

static const struct {
    uint32_t from;
    const char *upper, *title;
} full[] = {
    {0xdf, "SS", "Ss"},
    {0x149, "\u02bcN", "\u02bcN"},
    {0x1f0, "J\u030c", "J\u030c"},
    {0x390, "\u0399\u0308\u0301", "\u0399\u0308\u0301"},
    {0x3b0, "\u03a5\u0308\u0301", "\u03a5\u0308\u0301"},
    {0x587, "\u0535\u0552", "\u0535\u0582"},
    {0x1e96, "H\u0331", "H\u0331"},
    {0x1e97, "T\u0308", "T\u0308"},
    {0x1e98, "W\u030a", "W\u030a"},
    {0x1e99, "Y\u030a", "Y\u030a"},
    {0x1e9a, "A\u02be", "A\u02be"},
    {0xfb00, "FF", "Ff"},
    {0xfb01, "FI", "Fi"},
    {0xfb02, "FL", "Fl"},
    {0xfb03, "FFI", "Ffi"},
    {0xfb04, "FFL", "Ffl"},
    {0xfb05, "ST", "St"},
    {0xfb06, "ST", "St"},
};

static void put_code(tk_buf *out, uint32_t code)
{
    char utf8[4];
    tk_buf_put(out, utf8, tk_utf8_encode(utf8, code));
}

static void put_upper(tk_buf *out, uint32_t code, bool title)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(full); i++) {
        if (full[i].from == code) {
            tk_buf_puts(out, title ? full[i].title : full[i].upper);
            return;
        }
    }
    put_code(out, (uint32_t)(title ? utf8proc_totitle((utf8proc_int32_t)code)
                                   : utf8proc_toupper((utf8proc_int32_t)code)));
}

typedef struct range {
    uint32_t first, last;
} range;

/* Python counts characters as upper or lower case by a property, not by category:
 * numerals, letters in circles, modifiers. These ranges have it in addition to Lu and
 * Ll. */
static const range more_upper[] = {{0x2160, 0x216f},
                                   {0x24b6, 0x24cf},
                                   {0x1f130, 0x1f149},
                                   {0x1f150, 0x1f169},
                                   {0x1f170, 0x1f189}};
static const range more_lower[] = {
    {0xaa, 0xaa},       {0xba, 0xba},       {0x2b0, 0x2b8},     {0x2c0, 0x2c1},
    {0x2e0, 0x2e4},     {0x345, 0x345},     {0x37a, 0x37a},     {0x1d2c, 0x1d6a},
    {0x1d78, 0x1d78},   {0x1d9b, 0x1dbf},   {0x2071, 0x2071},   {0x207f, 0x207f},
    {0x2090, 0x209c},   {0x2170, 0x217f},   {0x24d0, 0x24e9},   {0x2c7c, 0x2c7d},
    {0xa69c, 0xa69d},   {0xa770, 0xa770},   {0xa7f8, 0xa7f9},   {0xab5c, 0xab5f},
    {0x10780, 0x10780}, {0x10783, 0x10785}, {0x10787, 0x107b0}, {0x107b2, 0x107ba}};

static bool is_in_range(uint32_t code, const range *ranges, size_t n)
{
    for (size_t i = 0; i < n && ranges[i].first <= code; i++) {
        if (code <= ranges[i].last) {
            return true;
        }
    }
    return false;
}

bool tk_jstr_is_upper(uint32_t code)
{
    return utf8proc_category((utf8proc_int32_t)code) == UTF8PROC_CATEGORY_LU ||
           is_in_range(code, more_upper, TK_ARRAY_LEN(more_upper));
}

bool tk_jstr_is_lower(uint32_t code)
{
    return utf8proc_category((utf8proc_int32_t)code) == UTF8PROC_CATEGORY_LL ||
           is_in_range(code, more_lower, TK_ARRAY_LEN(more_lower));
}

bool tk_jstr_is_case(tk_str s, bool upper)
{
    bool any = false;
    uint32_t code = 0;
    for (size_t k; (k = tk_jstr_char(&code, s)) > 0; s.p += k, s.n -= k) {
        if (upper ? tk_jstr_is_lower(code) : tk_jstr_is_upper(code)) {
            return false;
        }
        any = any || (upper ? tk_jstr_is_upper(code) : tk_jstr_is_lower(code));
    }
    return any;
}

static bool is_cased(uint32_t code)
{
    return tk_jstr_is_upper(code) || tk_jstr_is_lower(code) ||
           utf8proc_category((utf8proc_int32_t)code) == UTF8PROC_CATEGORY_LT;
}

static bool is_case_ignorable(uint32_t code)
{
    utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)code);
    return c == UTF8PROC_CATEGORY_MN || c == UTF8PROC_CATEGORY_ME ||
           c == UTF8PROC_CATEGORY_CF || c == UTF8PROC_CATEGORY_LM ||
           c == UTF8PROC_CATEGORY_SK || code == '\'' || code == '.' || code == ':' ||
           code == 0xb7 || code == 0x2019;
}

/* Whether a sigma at byte `at` ends its word: a letter before it, none after it. */
static bool is_final_sigma(tk_str s, size_t at)
{
    uint32_t code = 0;
    size_t before = at;
    for (size_t k;
         (k = char_before(&code, s.p, before)) > 0 && is_case_ignorable(code);) {
        before -= k;
    }
    if (before == 0 || !is_cased(code)) {
        return false;
    }
    tk_str rest = {s.p + at + 2, s.n - at - 2};
    for (size_t k; (k = tk_jstr_char(&code, rest)) > 0 && is_case_ignorable(code);) {
        rest.p += k;
        rest.n -= k;
    }
    return rest.n == 0 || !is_cased(code);
}

static void put_lower(tk_buf *out, tk_str s, size_t at, uint32_t code)
{
    if (code == 0x130) {
        tk_buf_puts(out, "i\u0307");
    } else if (code == 0x3a3) {
        tk_buf_puts(out, is_final_sigma(s, at) ? "\u03c2" : "\u03c3");
    } else {
        put_code(out, (uint32_t)utf8proc_tolower((utf8proc_int32_t)code));
    }
}

static void put_folded(tk_buf *out, uint32_t code)
{
    utf8proc_int32_t folded[8];
    int last = 0;
    utf8proc_ssize_t n = utf8proc_decompose_char(
        (utf8proc_int32_t)code, folded, TK_ARRAY_LEN(folded), UTF8PROC_CASEFOLD, &last);
    for (utf8proc_ssize_t i = 0; i < n && i < (utf8proc_ssize_t)TK_ARRAY_LEN(folded);
         i++) {
        put_code(out, (uint32_t)folded[i]);
    }
}

void tk_jstr_put_case(tk_buf *out, tk_str s, tk_jstr_case how)
{
    bool in_word = false;
    uint32_t code = 0;
    for (size_t at = 0, k; (k = tk_jstr_char(&code, (tk_str){s.p + at, s.n - at})) > 0;
         at += k) {
        bool upper = how == TK_JSTR_UPPER || (how == TK_JSTR_TITLE && !in_word) ||
                     (how == TK_JSTR_CAPITALIZE && at == 0) ||
                     (how == TK_JSTR_SWAP && tk_jstr_is_lower(code));
        bool has_case = tk_jstr_is_upper(code) || tk_jstr_is_lower(code);
        if (how == TK_JSTR_SWAP && !has_case) {
            put_code(out, code);
        } else if (how == TK_JSTR_FOLD) {
            put_folded(out, code);
        } else if (upper) {
            put_upper(out, code, how == TK_JSTR_TITLE || how == TK_JSTR_CAPITALIZE);
        } else {
            put_lower(out, s, at, code);
        }
        in_word = is_cased(code);
    }
}

/* ---- categories ---- */

bool tk_jstr_is_printable(uint32_t code)
{
    utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)code);
    return code == ' ' || !(c == UTF8PROC_CATEGORY_CC || c == UTF8PROC_CATEGORY_CF ||
                            c == UTF8PROC_CATEGORY_CS || c == UTF8PROC_CATEGORY_CO ||
                            c == UTF8PROC_CATEGORY_CN || c == UTF8PROC_CATEGORY_ZL ||
                            c == UTF8PROC_CATEGORY_ZP || c == UTF8PROC_CATEGORY_ZS);
}

bool tk_jstr_is_alpha(uint32_t code)
{
    utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)code);
    return c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO;
}

bool tk_jstr_is_identifier(tk_str s)
{
    uint32_t code = 0;
    bool is_first = true;
    for (size_t k; (k = tk_jstr_char(&code, s)) > 0; s.p += k, s.n -= k) {
        utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)code);
        bool starts = tk_jstr_is_alpha(code) || c == UTF8PROC_CATEGORY_NL;
        bool follows = c == UTF8PROC_CATEGORY_ND || c == UTF8PROC_CATEGORY_MN ||
                       c == UTF8PROC_CATEGORY_MC || c == UTF8PROC_CATEGORY_PC;
        if (code >= 0x80 && !starts && (is_first || !follows)) {
            return false;
        }
        is_first = false;
    }
    return true;
}

bool tk_jstr_is_digit(uint32_t code)
{
    static const uint32_t other[] = {0xb2, 0xb3, 0xb9, 0x2070};
    for (size_t i = 0; i < TK_ARRAY_LEN(other); i++) {
        if (code == other[i]) {
            return true;
        }
    }
    return utf8proc_category((utf8proc_int32_t)code) == UTF8PROC_CATEGORY_ND ||
           (code >= 0x2074 && code <= 0x2079) || (code >= 0x2080 && code <= 0x2089) ||
           (code >= 0x2460 && code <= 0x2468);
}

int tk_jstr_decimal(uint32_t code)
{
    if (code < 0x80) {
        return code >= '0' && code <= '9' ? (int)(code - '0') : -1;
    }
    uint32_t first = code; /* digits come in tens, some scripts adjacent */
    while (utf8proc_category((utf8proc_int32_t)first) == UTF8PROC_CATEGORY_ND) {
        first--;
    }
    return first < code ? (int)((code - first - 1) % 10) : -1;
}

bool tk_jstr_is_numeric(uint32_t code)
{
    utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)code);
    return c == UTF8PROC_CATEGORY_ND || c == UTF8PROC_CATEGORY_NL ||
           c == UTF8PROC_CATEGORY_NO;
}

/* ---- output ---- */

static void put_repr_char(tk_buf *out, uint32_t code, tk_str bytes, char quote)
{
    if (code == (unsigned char)quote || code == '\\') {
        tk_buf_putc(out, '\\');
        tk_buf_putc(out, (char)code);
    } else if (code == '\n' || code == '\r' || code == '\t') {
        tk_buf_puts(out, code == '\n' ? "\\n" : code == '\r' ? "\\r" : "\\t");
    } else if (code < ' ' || code == 0x7f) {
        tk_buf_printf(out, "\\x%02x", (unsigned)code);
    } else if (code < 0x7f || tk_jstr_is_printable(code)) {
        tk_buf_put(out, bytes.p, bytes.n);
    } else if (code < 0x100) {
        tk_buf_printf(out, "\\x%02x", (unsigned)code);
    } else if (code < 0x10000) {
        tk_buf_printf(out, "\\u%04x", (unsigned)code);
    } else {
        tk_buf_printf(out, "\\U%08x", (unsigned)code);
    }
}

void tk_jstr_put_repr(tk_buf *out, tk_str s)
{
    bool has_single = s.n > 0 && memchr(s.p, '\'', s.n) != NULL;
    bool has_double = s.n > 0 && memchr(s.p, '"', s.n) != NULL;
    char quote = has_single && !has_double ? '"' : '\'';
    tk_buf_putc(out, quote);
    uint32_t code = 0;
    for (size_t k; (k = tk_jstr_char(&code, s)) > 0; s.p += k, s.n -= k) {
        put_repr_char(out, code, (tk_str){s.p, k}, quote);
    }
    tk_buf_putc(out, quote);
}

void tk_jstr_put_escaped(tk_buf *out, tk_str s)
{
    static const char special[] = "&<>\"'";
    static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&#34;", "&#39;"};
    for (size_t i = 0; i < s.n; i++) {
        const char *hit = s.p[i] != '\0' ? strchr(special, s.p[i]) : NULL;
        if (hit != NULL) {
            tk_buf_puts(out, names[hit - special]);
        } else {
            tk_buf_putc(out, s.p[i]);
        }
    }
}
