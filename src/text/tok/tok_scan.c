/* Scanners. Each follows its pattern alternative by alternative, with the
 * backtracking worked out; the comments quote the alternatives. */
#include "text/tok/tok_scan.h"

#include <string.h>

#include "text/unicode/uni.h"

#define IS(value, set) ((set) >> ((value)&TK_UNI_CLASS_MASK) & 1)
#define LETTERS        TK_UNI_LETTERS
#define SPACES         TK_UNI_SPACES
#define NUMBERS        TK_UNI_SET(N)
#define MARKS          TK_UNI_SET(M)
#define PUNCTUATION    (TK_UNI_SET(P) | TK_UNI_SET(S))
#define UPPER          (TK_UNI_SET(LU) | TK_UNI_SET(LT) | TK_UNI_SET(LM) | TK_UNI_SET(LO) | MARKS)
#define LOWER          (TK_UNI_SET(LL) | TK_UNI_SET(LM) | TK_UNI_SET(LO) | MARKS)

typedef const unsigned char *at;

/* One copy per pattern, with its sets as constants. */
#define INLINED inline __attribute__((always_inline))

/* The property byte of the character at p, and its length. */
static INLINED unsigned value_at(at p, size_t *n)
{
    if (*p < 0x80) {
        *n = 1;
        return tk_uni_flat[*p];
    }
    return tk_uni_of(tk_uni_decode(p, n));
}

/* Returns the end of the run of characters of the set. */
static INLINED at skip(at p, at end, unsigned set)
{
    size_t n;
    while (p < end && IS(value_at(p, &n), set)) {
        p += n;
    }
    return p;
}

/* skip() for as long as the characters are not ASCII. */
static INLINED at skip_beyond(at p, at end, unsigned set)
{
    size_t n;
    while (p < end && *p >= 0x80 && IS(tk_uni_of(tk_uni_decode(p, &n)), set)) {
        p += n;
    }
    return p;
}

/* skip() for a set whose ASCII part is the letters: eight bytes at a time, because the
 * end of a word is what a branch predictor cannot know. */
static INLINED at skip_letters(at p, at end, unsigned set)
{
    const uint64_t ones = 0x0101010101010101u;
    size_t n;
    for (;;) {
        while (end - p >= 8) {
            uint64_t v;
            memcpy(&v, p, sizeof(v));
            uint64_t low = (v & ones * 0x7F) | ones * 0x20;
            uint64_t letter = (low + ones * 0x1F) & ~(low + ones * 0x05) & ~v;
            uint64_t others = ~letter & ones * 0x80;
            if (others != 0) {
                p += (size_t)__builtin_ctzll(others) / 8;
                break;
            }
            p += 8;
        }
        if (p == end || !IS(value_at(p, &n), set)) {
            return p;
        }
        p = skip_beyond(p + n, end, set);
    }
}

static inline at skip_numbers(at p, at end, unsigned most)
{
    size_t n;
    while (most-- > 0 && p < end && IS(value_at(p, &n), NUMBERS)) {
        p += n;
    }
    return p;
}

/* 's|'t|'re|'ve|'m|'ll|'d at p, which is an apostrophe; 0 = none. With any_case as (?i:),
 * where U+017F is an s too. */
static inline size_t contraction(at p, at end, bool any_case)
{
    size_t left = (size_t)(end - p);
    if (left < 2) {
        return 0;
    }
    unsigned fold = any_case ? 0x20 : 0;
    unsigned a = p[1] | (p[1] < 0x80 ? fold : 0);
    if (a == 's' || a == 't' || a == 'm' || a == 'd') {
        return 2;
    }
    if (left < 3) {
        return 0;
    }
    if (any_case && p[1] == 0xC5 && p[2] == 0xBF) {
        return 3;
    }
    unsigned b = p[2] | (p[2] < 0x80 ? fold : 0);
    return (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l') ? 3
                                                                                      : 0;
}

/* \s+(?!\S)|\s+ : the last blank before something belongs to what follows, unless it is
 * alone. p begins a run of blanks. */
static inline size_t blanks(at p, at end)
{
    at last = p, q = p;
    size_t n;
    while (q < end && IS(value_at(q, &n), SPACES)) {
        last = q;
        q += n;
    }
    return (size_t)((q == end || last == p ? q : last) - p);
}

/* \s*[\r\n]+|\s+(?!\S)|\s+ */
static inline size_t lines_or_blanks(at p, at end)
{
    at last = p, q = p, line = NULL;
    size_t n;
    while (q < end) {
        unsigned v = value_at(q, &n);
        if (!IS(v, SPACES)) {
            break;
        }
        last = q;
        q += n;
        if ((v & TK_UNI_CLASS_MASK) == TK_UNI_NEWLINE) {
            line = q;
        }
    }
    if (line != NULL) {
        return (size_t)(line - p);
    }
    return (size_t)((q == end || last == p ? q : last) - p);
}

/* ' ?[set]+[\r\n]*' or with a slash among the last; 0 = no match. */
static inline size_t symbols(at p, at end, unsigned set, bool slash)
{
    at q = p + (*p == ' ');
    at r = skip(q, end, set);
    if (r == q) {
        return 0;
    }
    while (r < end && (*r == '\r' || *r == '\n' || (slash && *r == '/'))) {
        r++;
    }
    return (size_t)(r - p);
}

/* ---- GPT-2 ---- */

static size_t scan_gpt2(at p, at end)
{
    size_t n;
    if (*p == '\'') {
        n = contraction(p, end, false);
        if (n > 0) {
            return n;
        }
    }
    at q = p + (*p == ' ' && p + 1 < end);
    unsigned v = value_at(q, &n);
    if (IS(v, LETTERS)) {
        return (size_t)(skip_letters(q + n, end, LETTERS) - p);
    }
    if (IS(v, NUMBERS)) {
        return (size_t)(skip(q + n, end, NUMBERS) - p);
    }
    if (!IS(v, SPACES)) {
        return (size_t)(skip(q + n, end, ~(LETTERS | NUMBERS | SPACES)) - p);
    }
    return blanks(p, end);
}

/* ---- cl100k, Llama 3, Qwen ---- */

static INLINED size_t scan_words(at p, at end, unsigned letters, unsigned numbers)
{
    size_t n, m;
    if (*p == '\'') {
        n = contraction(p, end, true);
        if (n > 0) {
            return n;
        }
    }
    unsigned v = value_at(p, &n);
    if (IS(v, letters)) { /* a mark is taken as the first one of "[^...]?" : no matter */
        return (size_t)(skip_letters(p + n, end, letters) - p);
    }
    if (!IS(v, TK_UNI_SET(NEWLINE) | NUMBERS) && p + n < end &&
        IS(value_at(p + n, &m), letters)) {
        return (size_t)(skip_letters(p + n + m, end, letters) - p);
    }
    if (IS(v, NUMBERS)) {
        return (size_t)(skip_numbers(p, end, numbers) - p);
    }
    n = symbols(p, end, ~(LETTERS | letters | NUMBERS | SPACES), false);
    return n > 0 ? n : lines_or_blanks(p, end);
}

static size_t scan_cl100k(at p, at end)
{
    return scan_words(p, end, LETTERS, 3);
}

static size_t scan_qwen(at p, at end)
{
    return scan_words(p, end, LETTERS, 1);
}

static size_t scan_qwen_marks(at p, at end)
{
    return scan_words(p, end, LETTERS | MARKS, 1);
}

/* ---- o200k, Tekken, Kimi: words in two cases ---- */

typedef struct cases {
    bool contractions;
    bool without_han;
    bool slash;
    unsigned numbers;
} cases;

static inline bool in_case(unsigned v, unsigned set, const cases *how)
{
    return IS(v, set) && !(how->without_han && (v & TK_UNI_HAN));
}

/* [UPPER]*[LOWER]+ from p on: the run of UPPER, then LOWER; without any LOWER after it
 * the run is given back up to its last character that is in both. NULL = no match; *run
 * is the end of the run of UPPER. */
static inline at upper_lower(at p, at end, const cases *how, at *run)
{
    at both = NULL;
    size_t n;
    unsigned v = 0;
    while (p < end && (v = value_at(p, &n), in_case(v, UPPER, how))) {
        p += n;
        both = IS(v, LOWER) ? p : both;
    }
    *run = p;
    if (p < end && in_case(v, LOWER, how)) {
        while (p < end && in_case(value_at(p, &n), LOWER, how)) {
            p += n;
        }
        return p;
    }
    return both;
}

static inline size_t with_contraction(at p, at q, at end, const cases *how)
{
    if (how->contractions && q < end && *q == '\'') {
        q += contraction(q, end, true);
    }
    return (size_t)(q - p);
}

/* The two alternatives for words:
 * [^\r\n\p{L}\p{N}]?[UPPER]*[LOWER]+ and [^\r\n\p{L}\p{N}]?[UPPER]+[LOWER]*, each with a
 * contraction after it; 0 = no match. Only a mark can be both the optional first
 * character and part of a word. */
static inline size_t cased_word(at p, at end, const cases *how)
{
    size_t n;
    unsigned v = value_at(p, &n);
    bool leads = !IS(v, LETTERS | NUMBERS | TK_UNI_SET(NEWLINE));
    at from = leads ? p + n : p, run, q;
    q = upper_lower(from, end, how, &run);
    if (q != NULL) {
        return with_contraction(p, q, end, how);
    }
    if (leads && in_case(v, MARKS, how)) {
        return with_contraction(p, p + n, end, how);
    }
    return run > from ? with_contraction(p, run, end, how) : 0;
}

static INLINED size_t scan_cases(at p, at end, const cases *how)
{
    size_t n = cased_word(p, end, how);
    if (n > 0) {
        return n;
    }
    unsigned v = value_at(p, &n);
    if (IS(v, NUMBERS)) {
        return (size_t)(skip_numbers(p, end, how->numbers) - p);
    }
    n = symbols(p, end, ~(LETTERS | NUMBERS | SPACES), how->slash);
    return n > 0 ? n : lines_or_blanks(p, end);
}

static size_t scan_o200k(at p, at end)
{
    static const cases how = {true, false, true, 3};
    return scan_cases(p, end, &how);
}

static size_t scan_tekken(at p, at end)
{
    static const cases how = {false, false, true, 1};
    return scan_cases(p, end, &how);
}

static size_t scan_kimi(at p, at end)
{
    static const cases how = {true, true, false, 3};
    at q = p;
    size_t n;
    while (q < end && (value_at(q, &n) & TK_UNI_HAN)) { /* [\p{Han}]+ */
        q += n;
    }
    return q > p ? (size_t)(q - p) : scan_cases(p, end, &how);
}

/* ---- DeepSeek ---- */

static size_t scan_three_numbers(at p, at end)
{
    return (size_t)(skip_numbers(p, end, 3) - p);
}

static inline bool is_cjk(at p, size_t *n)
{
    uint32_t c = tk_uni_decode(p, n);
    return (c >= 0x4E00 && c <= 0x9FA5) || (c >= 0x3040 && c <= 0x30FF);
}

static size_t scan_cjk(at p, at end)
{
    at q = p;
    size_t n;
    while (q < end && is_cjk(q, &n)) {
        q += n;
    }
    return (size_t)(q - p);
}

static inline bool is_latin(unsigned char c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static size_t scan_deepseek(at p, at end)
{
    size_t n, m;
    unsigned v = value_at(p, &n);
    if (*p < 0x80 && IS(v, PUNCTUATION) && p + 1 < end && is_latin(p[1])) {
        at q = p + 1;
        while (q < end && is_latin(*q)) {
            q++;
        }
        return (size_t)(q - p);
    }
    if (IS(v, LETTERS | MARKS)) { /* a mark may be the first of "[^...]?" : no matter */
        return (size_t)(skip_letters(p + n, end, LETTERS | MARKS) - p);
    }
    if (!IS(v, TK_UNI_SET(NEWLINE) | PUNCTUATION) && p + n < end &&
        IS(value_at(p + n, &m), LETTERS | MARKS)) {
        return (size_t)(skip_letters(p + n + m, end, LETTERS | MARKS) - p);
    }
    n = symbols(p, end, PUNCTUATION, false);
    return n > 0 ? n : IS(v, SPACES) ? lines_or_blanks(p, end) : 0;
}

/* ---- the embedded model ---- */

typedef enum ascii { LETTER, DIGIT, BLANK, OTHER } ascii;

static ascii ascii_of(unsigned char c)
{
    if (is_latin(c)) {
        return LETTER;
    }
    if (c >= '0' && c <= '9') {
        return DIGIT;
    }
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' ? BLANK : OTHER;
}

static size_t scan_pebble(at p, at end)
{
    at q = p + (*p == ' ' && p + 1 < end);
    ascii first = ascii_of(*q);
    if (first == LETTER || first == OTHER) {
        while (q < end && ascii_of(*q) == first) {
            q++;
        }
        return (size_t)(q - p);
    }
    if (ascii_of(*p) == DIGIT) {
        return 1;
    }
    for (q = p; q < end && ascii_of(*q) == BLANK;) {
        q++;
    }
    return (size_t)(q - p) - (q < end && q - p > 1);
}

/* ---- the list ---- */

#define REST  "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define SHORT "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define HEAD  "[^\\r\\n\\p{L}\\p{N}]?"
#define UP    "\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}"
#define LOW   "\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}"
#define NOHAN "&&[^\\p{Han}]"

const tk_tok_scanner tk_tok_scanners[] = {
    {"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
     scan_gpt2, true},
    {SHORT "|" HEAD "\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" REST,
     scan_cl100k, true},
    {SHORT "|" HEAD "\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" REST, scan_qwen,
     true},
    {SHORT "|" HEAD "[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" REST,
     scan_qwen_marks, true},
    {HEAD "[" UP "]*[" LOW "]+" SHORT "?|" HEAD "[" UP "]+[" LOW "]*" SHORT
          "?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" REST,
     scan_o200k, true},
    {HEAD "[" UP "]*[" LOW "]+|" HEAD "[" UP "]+[" LOW
          "]*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" REST,
     scan_tekken, true},
    {"[\\p{Han}]+|" HEAD "[" UP NOHAN "]*[" LOW NOHAN "]+" SHORT "?|" HEAD "[" UP NOHAN
     "]+[" LOW NOHAN "]*" SHORT "?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" REST,
     scan_kimi, true},
    {"\\p{N}{1,3}", scan_three_numbers, false},
    {"[一-龥぀-ゟ゠-ヿ]+", scan_cjk, false},
    {"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?"
     "[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
     scan_deepseek, false},
    {" ?[A-Za-z]+|[0-9]| ?[^ \\t\\r\\nA-Za-z0-9]+|[ \\t\\r\\n]+(?![^ \\t\\r\\n])|[ "
     "\\t\\r\\n]+",
     scan_pebble, true},
};
const size_t tk_tok_n_scanners = TK_ARRAY_LEN(tk_tok_scanners);

const tk_tok_scanner *tk_tok_scanner_of(tk_str pattern)
{
    for (size_t i = 0; i < tk_tok_n_scanners; i++) {
        if (tk_str_is(pattern, tk_tok_scanners[i].pattern)) {
            return &tk_tok_scanners[i];
        }
    }
    return NULL;
}

const tk_tok_scanner *tk_tok_scanner_gpt2(void)
{
    return &tk_tok_scanners[0];
}

const tk_tok_scanner *tk_tok_scanner_kimi(void)
{
    return &tk_tok_scanners[6];
}
