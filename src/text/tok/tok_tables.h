/* The tables of a loaded tokenizer, and how they are searched. The loaders (tok_load.h)
 * fill them, the functions of an encode (tok_work.h) and of a decode (tok.h) read them.
 *
 * Everything here belongs to a tk_tok and does not change once it is loaded. Hashes are
 * keyed, because the file may come from anyone. */
#ifndef TEXT_TOK_TABLES_H
#define TEXT_TOK_TABLES_H

#include <stdatomic.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/thread.h"
#include "text/tok/tok.h"
#include "text/tok/tok_regex.h"
#include "text/tok/tok_scan.h"

#define TK_TOK_NO_RANK UINT32_MAX
#define TK_TOK_CHARS   0x10000u /* characters that have tables */
#define TK_TOK_LENGTHY 0x20000u

typedef struct tk_tok_entry { /* one id; all zero when the id is not used */
    tk_str token;             /* as in the file */
    tk_str text;              /* what it decodes to, as far as it alone decides */
    tk_str raw;               /* the bytes of (normalised) text that it covers */
    int16_t byte;             /* <0xHH>: which; -1 for any other */
    bool special;             /* left out of a decode that skips special tokens */
    bool added;
    bool apart; /* added, and not in the model: merging never gives it */
} tk_tok_entry;

/* ---- tok_index.c: ids by text ---- */

/* An open hash table of ids, by the text of their entries. */
typedef struct tk_tok_slot {
    uint32_t tag; /* more of the hash: spares a look at most entries that differ */
    int32_t id;   /* -1 = free */
} tk_tok_slot;

typedef struct tk_tok_index {
    tk_tok_slot *slots;
    size_t mask;
} tk_tok_index;

/* A token by its bytes, as the key of a word; high 0 = free. */
typedef struct tk_tok_brief {
    uint64_t low, high;
    int32_t id;
} tk_tok_brief;

#define TK_TOK_WORD_BYTES 15

typedef struct tk_tok_word { /* a short piece and its ids; all zero = free */
    uint64_t low, high;      /* its bytes; the length is in the last byte */
    uint32_t ids[4];         /* their number is in the top byte of the first */
} tk_tok_word;

/* ---- tok_merges.c ---- */

typedef struct tk_tok_merge {
    uint32_t left, right; /* left == UINT32_MAX: free */
    uint32_t rank;        /* lower is merged first */
    int32_t id;           /* of the result */
} tk_tok_merge;

/* ---- tok_whole.c ---- */

/* When a character of a byte-level vocabulary may be one symbol from the start. */
typedef struct tk_tok_whole {
    uint32_t before[256][256]; /* by the byte before it and its first byte */
    uint32_t after[64][256];   /* by its last byte and the byte after it */
    struct {
        uint32_t rank; /* must be lower than both; TK_TOK_NO_RANK = never */
        int32_t id;
    } chars[TK_TOK_CHARS];
} tk_tok_whole;

/* ---- tok_added.c: added tokens ---- */

typedef struct tk_tok_added {
    tk_str content; /* as it is looked for */
    int32_t id;
    bool normalized, lstrip, rstrip, single_word;
} tk_tok_added;

/* A trie of bytes: edges in one hash table. */
typedef struct tk_tok_edge {
    uint32_t node; /* from; the byte is in the next field. UINT32_MAX = free */
    uint32_t byte, to;
} tk_tok_edge;

typedef struct tk_tok_trie {
    tk_tok_edge *edges;
    size_t mask;
    int32_t *ends; /* per node: index of the added token that ends there, or -1 */
    uint32_t n_nodes;
    bool first[256];
    int only_first; /* the one byte with which all tokens begin; -1: there are several */
    bool empty;
} tk_tok_trie;

/* ---- tok_norm.c, tok_encode.c: normalisers and stages of the pre-tokeniser ---- */

typedef enum tk_tok_norm_kind {
    TK_TOK_NFC,
    TK_TOK_NFD,
    TK_TOK_NFKC,
    TK_TOK_NFKD,
    TK_TOK_REPLACE,
    TK_TOK_PREPEND
} tk_tok_norm_kind;

typedef struct tk_tok_norm {
    tk_tok_norm_kind kind;
    tk_str pattern, content; /* of a Replace; content of a Prepend */
} tk_tok_norm;

typedef enum tk_tok_behavior {
    TK_TOK_ISOLATED,
    TK_TOK_REMOVED,
    TK_TOK_WITH_PREVIOUS,
    TK_TOK_WITH_NEXT,
    TK_TOK_CONTIGUOUS
} tk_tok_behavior;

typedef enum tk_tok_stage_kind {
    TK_TOK_BY_SCANNER,
    TK_TOK_BY_REGEX,
    TK_TOK_BY_STRING,
    TK_TOK_BY_DIGIT,
    TK_TOK_PREFIX_SPACE
} tk_tok_stage_kind;

typedef struct tk_tok_stage {
    tk_tok_stage_kind kind;
    tk_tok_behavior behavior;
    bool invert;
    const tk_tok_scanner *scanner;
    tk_tok_regex *regex; /* owned */
    tk_str string;
} tk_tok_stage;

#define TK_TOK_MAX_STEPS  16 /* normalisers, or stages, of one tokenizer */
#define TK_TOK_MAX_AROUND 16 /* ids that a post-processor adds on one side */

/* ---- tok_decode.c ---- */

typedef enum tk_tok_decoder_kind {
    TK_TOK_DECODE_SPACED, /* no decoder: tokens with blanks between them */
    TK_TOK_DECODE_BYTES,  /* the texts are bytes that make UTF-8 together */
    TK_TOK_DECODE_TEXTS   /* the texts are text; <0xHH> is a byte when byte_fallback */
} tk_tok_decoder_kind;

typedef struct tk_tok_decoder {
    tk_tok_decoder_kind kind;
    bool byte_fallback;
    bool fused;   /* the texts are one text, of which the front may be stripped */
    tk_str strip; /* one character, taken off the front at most strip_start times */
    size_t strip_start;
    tk_tok_norm replace[TK_TOK_MAX_STEPS]; /* in each token, applied at load */
    size_t n_replace;
} tk_tok_decoder;

/* ---- the tokenizer ---- */

typedef struct tk_tok_pool tk_tok_pool; /* tok_work.h */

struct tk_tok {
    atomic_size_t owners;
    tk_tok_config config;
    tk_arena arena;
    tk_hash_key hash_key;
    tk_tok_entry *entries;
    size_t n_entries;
    tk_tok_index tokens;  /* by token */
    tk_tok_index raws;    /* by the bytes of a whole piece of more than TK_TOK_WORD_BYTES;
                             only when ignore_merges */
    tk_tok_brief *briefs; /* the shorter pieces */
    unsigned brief_shift;
    size_t brief_mask;
    /* A bit per hash of the pieces in raws: most long pieces are not there, and need no
     * more than this look. */
    uint64_t lengthy[TK_TOK_LENGTHY / 64];
    tk_tok_merge *merges;
    unsigned merge_shift; /* 64 - log2 of their number */
    size_t merge_mask;
    uint64_t *maybe; /* a bit per hash that has a merge: most pairs have none, and this
                        small table shows it without a cache miss */
    unsigned maybe_shift;

    bool byte_level, byte_fallback, fuse_unk, ignore_merges;
    int32_t unk;           /* -1 = none */
    int32_t byte_ids[256]; /* byte_level: of the byte; else of <0xHH>; -1 = none */
    int32_t *char_ids;     /* not byte_level: of the characters below TK_TOK_CHARS */
    tk_tok_whole *whole;   /* byte_level, when all bytes have ids: see tok_whole.c */
    uint64_t *junctions;   /* a bit per hash of two characters that a merge joins: the
                              last one of its left part, the first one of its right */
    unsigned junction_shift;

    tk_tok_added *added;
    size_t n_added;
    tk_tok_trie raw_trie, normal_trie;

    tk_tok_norm norms[TK_TOK_MAX_STEPS];
    size_t n_norms;
    tk_tok_stage stages[TK_TOK_MAX_STEPS];
    size_t n_stages;
    int32_t before[TK_TOK_MAX_AROUND], after[TK_TOK_MAX_AROUND];
    size_t n_before, n_after;
    tk_tok_decoder decoder;
    tk_tok_pool *pool;
};

/* Odd, and without a pattern: multiplying spreads keys over the upper bits. */
#define TK_TOK_SPREAD 0x9E3779B97F4A7C15u

/* ---- tok_index.c ---- */

/* Makes room for n ids; all slots are free. False when out of memory. */
TK_NODISCARD bool tk_tok_index_init(tk_tok_index *index, size_t n);

/* Returns the id whose text equals `text`, or -1. `raw`: by the index of raws. */
int32_t tk_tok_index_get(const tk_tok *tok, tk_str text, bool raw);
void tk_tok_index_put(tk_tok *tok, int32_t id, bool raw);

/* tk_tok_index_get in steps, for many look-ups at once, by token only: prefetch with the
 * depths 0, 1 and 2, each some time after the one before, loads what find will read. */
uint64_t tk_tok_index_hash(const tk_tok *tok, tk_str text);
void tk_tok_index_prefetch(const tk_tok *tok, uint64_t hash, int depth);
int32_t tk_tok_index_find(const tk_tok *tok, tk_str text, uint64_t hash);

/* Fills tok->briefs and tok->raws with every token that is not added: the whole pieces of
 * a vocabulary that ignores merges for them. */
TK_NODISCARD tinkc_code tk_tok_index_pieces(tk_tok *tok, tk_err *err);

/* Return the id of a whole piece, or -1: of one that has a key, of a longer one. */
int32_t tk_tok_index_short(const tk_tok *tok, const tk_tok_word *key);
int32_t tk_tok_index_long(const tk_tok *tok, tk_str piece);

static inline uint64_t tk_tok_index_load8(const char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

/* Makes the key of a piece of 1 to TK_TOK_WORD_BYTES bytes, its length in the last byte.
 * `readable`: bytes that may be read from its start. */
static inline void tk_tok_index_key(tk_tok_word *key, tk_str piece, size_t readable)
{
    char copy[16] = {0};
    const char *p = piece.p;
    if (readable < 16) {
        memcpy(copy, piece.p, piece.n);
        p = copy;
    }
    static const uint64_t ones = ~(uint64_t)0;
    size_t in_low = TK_MIN(piece.n, (size_t)8), in_high = piece.n - in_low;
    uint64_t low = tk_tok_index_load8(p) & ones >> (64 - 8 * in_low);
    uint64_t high = tk_tok_index_load8(p + 8) & ~(ones << 8 * in_high);
    key->low = low;
    key->high = high | (uint64_t)piece.n << 56;
}

/* ---- tok_merges.c ---- */

/* Makes tables for n merges, all free. */
TK_NODISCARD tinkc_code tk_tok_merges_init(tk_tok *tok, size_t n, tk_err *err);

/* Stores a merge; the last rank of a pair counts. */
void tk_tok_merges_put(tk_tok *tok, tk_tok_merge merge);

/* Notes that a merge joins what ends with `left` and what begins with `right`. */
void tk_tok_merges_put_junction(tk_tok *tok, uint32_t left, uint32_t right);

static inline const tk_tok_merge *tk_tok_merges_find(const tk_tok *tok, int32_t left,
                                                     int32_t right)
{
    uint32_t l = (uint32_t)left, r = (uint32_t)right;
    uint64_t h = (((uint64_t)l << 32 | r) ^ tok->hash_key.k0) * TK_TOK_SPREAD;
    uint64_t bit = h >> tok->maybe_shift;
    if (!(tok->maybe[bit / 64] >> bit % 64 & 1)) {
        return NULL;
    }
    for (size_t at = (size_t)(h >> tok->merge_shift);; at = (at + 1) & tok->merge_mask) {
        const tk_tok_merge *m = &tok->merges[at];
        if (m->left == l && m->right == r) {
            return m;
        }
        if (m->left == UINT32_MAX) {
            return NULL;
        }
    }
}

static inline uint64_t tk_tok_merges_junction_bit(const tk_tok *tok, uint32_t left,
                                                  uint32_t right)
{
    uint64_t h = ((uint64_t)left << 32 | right) ^ tok->hash_key.k1;
    return h * TK_TOK_SPREAD >> tok->junction_shift;
}

/* Returns whether a merge may join what ends with the character `left` and what begins
 * with `right`. A false yes costs time only. */
static inline bool tk_tok_merges_is_junction(const tk_tok *tok, uint32_t left,
                                             uint32_t right)
{
    uint64_t bit = tk_tok_merges_junction_bit(tok, left, right);
    return tok->junctions[bit / 64] >> bit % 64 & 1;
}

/* ---- tok_whole.c ---- */

/* Fills `whole` of a byte-level vocabulary; entries and merges are complete. */
TK_NODISCARD tinkc_code tk_tok_whole_init(tk_tok *tok, tk_err *err);

/* Returns the id of the character c, which is piece.p[at..end) with two or three bytes,
 * when it may be one symbol; else -1. */
static inline int32_t tk_tok_whole_at(const tk_tok *tok, tk_str piece, size_t at,
                                      size_t end, uint32_t c)
{
    const tk_tok_whole *w = tok->whole;
    const unsigned char *p = (const unsigned char *)piece.p;
    uint32_t rank = w->chars[c].rank;
    bool safe = rank != TK_TOK_NO_RANK &&
                (at == 0 || rank < w->before[p[at - 1]][p[at]]) &&
                (end == piece.n || rank < w->after[p[end - 1] & 63][p[end]]);
    return safe ? w->chars[c].id : -1;
}

/* ---- tok_symbol.c: the characters of a vocabulary of characters ---- */

/* Fills tok->char_ids. */
TK_NODISCARD tinkc_code tk_tok_symbol_init(tk_tok *tok, tk_err *err);

/* Returns the id of the character p[0..n), or -1. */
int32_t tk_tok_symbol_of(const tk_tok *tok, const char *p, size_t n);

/* ---- tok_added.c ---- */

typedef struct tk_tok_match {
    size_t begin, end; /* with what lstrip and rstrip take */
    size_t next;       /* where the search goes on */
    size_t blank;      /* up to here white space is known to follow the last rstrip */
    int32_t id;
} tk_tok_match;

/* Puts the added tokens that are, or are not, looked for in normalised text into a
 * trie. */
TK_NODISCARD tinkc_code tk_tok_added_build(tk_tok_trie *trie, const tk_tok *tok,
                                           bool normalized, tk_err *err);
void tk_tok_added_dispose(tk_tok_trie *trie);

/* Finds the next added token from `from` on; `begun` is the end of the last one, with
 * what it took. *match is the last one, zeroed before the first: it carries on what is
 * known about white space. Returns false when no token follows. */
bool tk_tok_added_find(tk_tok_match *match, const tk_tok *tok, const tk_tok_trie *trie,
                       tk_str text, size_t from, size_t begun);

/* ---- tok_utf8.c ---- */

/* Returns the bytes of the first character of p[0..n), n > 0, with *valid; or of its
 * maximal invalid part, with !*valid; 0 when more bytes could complete the character. */
size_t tk_tok_utf8_step(const char *p, size_t n, bool *valid);

/* Appends the text with U+FFFD for each invalid part. Unless `last`, the start of a
 * character at the end is left over: returns the number of bytes that were taken. */
size_t tk_tok_utf8_lossy(tk_buf *out, const char *p, size_t n, bool last);

/* Returns the character of GPT-2's byte alphabet for a byte: printable bytes are
 * themselves, the other 68 are U+0100 and on, in order. */
uint32_t tk_tok_utf8_of_byte(unsigned char byte);

/* Returns the byte of such a character, -1 for any other character. */
int tk_tok_utf8_to_byte(uint32_t c);

#endif
