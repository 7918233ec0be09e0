/* What the files of the tokenizer share: its tables, and the work space of one encode. */
#ifndef TEXT_TOK_INT_H
#define TEXT_TOK_INT_H

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
    tk_str raw;               /* the bytes of (normalised) text that it stands for */
    int16_t byte;             /* <0xHH>: which; -1 for any other */
    bool special;             /* left out of a decode that skips such */
    bool added;
    bool apart; /* added, and not in the model: merging never gives it */
} tk_tok_entry;

/* An open hash table of ids, by the text of their entries. */
typedef struct tk_tok_slot {
    uint32_t tag; /* more of the hash: spares a look at most entries that differ */
    int32_t id;   /* -1 = free */
} tk_tok_slot;

typedef struct tk_tok_index {
    tk_tok_slot *slots;
    size_t mask;
} tk_tok_index;

typedef struct tk_tok_merge {
    uint32_t left, right; /* left == UINT32_MAX: free */
    uint32_t rank;        /* lower is merged first */
    int32_t id;           /* of the result */
} tk_tok_merge;

/* ---- added tokens ---- */

typedef struct tk_tok_added {
    tk_str content; /* as it is looked for */
    int32_t id;
    bool normalized, lstrip, rstrip, single_word;
} tk_tok_added;

/* A trie of bytes: edges in one hash table. */
typedef struct tk_tok_edge {
    uint32_t node; /* from; the byte is below. UINT32_MAX = free */
    uint32_t byte, to;
} tk_tok_edge;

typedef struct tk_tok_trie {
    tk_tok_edge *edges;
    size_t mask;
    int32_t *ends; /* per node: index of the added token that ends there, or -1 */
    uint32_t n_nodes;
    bool first[256];
    int only_first; /* the one byte with which all begin; -1 when there are several */
    bool empty;
} tk_tok_trie;

/* ---- normalisers and pre-tokenisers ---- */

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

/* ---- decoding ---- */

typedef enum tk_tok_decoder_kind {
    TK_TOK_DECODE_SPACED, /* no decoder: tokens with blanks between them */
    TK_TOK_DECODE_BYTES,  /* the texts are bytes that make UTF-8 together */
    TK_TOK_DECODE_TEXTS   /* the texts are text, but for <0xHH> when byte_fallback */
} tk_tok_decoder_kind;

typedef struct tk_tok_decoder {
    tk_tok_decoder_kind kind;
    bool byte_fallback;
    bool fused;   /* the texts are one text, of which the front may be stripped */
    tk_str strip; /* one character, taken off the front at most strip_start times */
    size_t strip_start;
    tk_tok_norm replace[TK_TOK_MAX_STEPS]; /* in each token, done at load */
    size_t n_replace;
} tk_tok_decoder;

/* ---- the work space of one encode, kept for the next ---- */

typedef struct tk_tok_word { /* a short piece and its ids; all zero = free */
    uint64_t low, high;      /* its bytes, the length in the last */
    uint32_t ids[4];         /* how many there are: the top byte of the first */
} tk_tok_word;

#define TK_TOK_WORD_BYTES   15
#define TK_TOK_PHRASE_BYTES 54
#define TK_TOK_PHRASE_IDS   16

typedef struct tk_tok_phrase { /* a longer one */
    uint64_t hash;
    uint8_t n, n_ids;
    unsigned char bytes[TK_TOK_PHRASE_BYTES];
    int32_t ids[TK_TOK_PHRASE_IDS];
} tk_tok_phrase;

typedef struct tk_tok_node { /* a symbol of a long piece */
    int32_t id;              /* -1 = merged into the one before */
    uint32_t prev, next;
    uint32_t rank; /* of the merge with the next */
} tk_tok_node;

typedef struct tk_tok_work tk_tok_work;
struct tk_tok_work {
    tk_tok_work *next;
    void *word_memory;
    tk_tok_word *words; /* in it, at a border of a cache line; a line holds two words */
    unsigned word_bits; /* there are 1 << word_bits; 0 = none */
    size_t words_put;
    tk_tok_phrase *phrases;
    unsigned phrase_bits;
    size_t phrases_put;
    tk_tok_node *nodes;
    size_t nodes_max;
    uint64_t *heap;
    size_t heap_n, heap_max;
    uint64_t turns; /* of the loops that merge, for tests of how work grows */
    tk_buf repaired, normal[2], prefixed;
    tk_tok_matcher matcher;
};

typedef struct tk_tok_pool {
    tk_mutex lock;
    tk_tok_work *free;
} tk_tok_pool;

/* A token by its bytes, as the key of a word; high 0 = free. */
typedef struct tk_tok_brief {
    uint64_t low, high;
    int32_t id;
} tk_tok_brief;

/* When a character of a byte-level vocabulary may be one symbol from the start. */
typedef struct tk_tok_whole {
    uint32_t before[256][256]; /* by the byte before it and its first */
    uint32_t behind[64][256];  /* by its last byte and the one behind it */
    struct {
        uint32_t rank; /* must be lower than both; TK_TOK_NO_RANK = never */
        int32_t id;
    } chars[TK_TOK_CHARS];
} tk_tok_whole;

struct tk_tok {
    atomic_size_t owners;
    tk_tok_config config;
    tk_arena arena;
    tk_hash_key hash_key;
    tk_tok_entry *entries;
    size_t n_entries;
    tk_tok_index tokens;  /* by token */
    tk_tok_index raws;    /* by the bytes that a piece has, when those are more than
                             TK_TOK_WORD_BYTES; only when ignore_merges */
    tk_tok_brief *briefs; /* the shorter ones */
    unsigned brief_shift;
    size_t brief_mask;
    /* A bit per hash of those in raws: most long pieces are none, and need no more. */
    uint64_t lengthy[TK_TOK_LENGTHY / 64];
    tk_tok_merge *merges;
    unsigned merge_shift; /* 64 - log2 of their number */
    size_t merge_mask;
    uint64_t *maybe; /* a bit per hash that has a merge: most pairs have none, and this
                        small table says so without a miss of the cache */
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

static inline const tk_tok_merge *tk_tok_find_merge(const tk_tok *tok, int32_t left,
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

static inline uint64_t tk_tok_junction_bit(const tk_tok *tok, uint32_t left,
                                           uint32_t right)
{
    uint64_t h = ((uint64_t)left << 32 | right) ^ tok->hash_key.k1;
    return h * TK_TOK_SPREAD >> tok->junction_shift;
}

/* Whether a merge may join what ends with the character `left` and what begins with
 * `right`. A false yes costs time only. */
static inline bool tk_tok_is_junction(const tk_tok *tok, uint32_t left, uint32_t right)
{
    uint64_t bit = tk_tok_junction_bit(tok, left, right);
    return tok->junctions[bit / 64] >> bit % 64 & 1;
}

/* ---- words as keys ---- */

static inline uint64_t tk_tok_load8(const char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

/* A piece of 1 to TK_TOK_WORD_BYTES bytes as a key, its length in the last byte.
 * `readable`: bytes that may be read from its start. */
static inline void tk_tok_word_key(tk_tok_word *key, tk_str piece, size_t readable)
{
    char copy[16] = {0};
    const char *p = piece.p;
    if (readable < 16) {
        memcpy(copy, piece.p, piece.n);
        p = copy;
    }
    static const uint64_t ones = ~(uint64_t)0;
    size_t in_low = TK_MIN(piece.n, (size_t)8), in_high = piece.n - in_low;
    uint64_t low = tk_tok_load8(p) & ones >> (64 - 8 * in_low);
    uint64_t high = tk_tok_load8(p + 8) & ~(ones << 8 * in_high);
    key->low = low;
    key->high = high | (uint64_t)piece.n << 56;
}

/* ---- tok_brief.c ---- */

/* Fills tok->briefs and tok->raws with every token that is not added. */
TK_NODISCARD tinkc_code tk_tok_brief_init(tk_tok *tok, tk_err *err);
int32_t tk_tok_brief_get(const tk_tok *tok, const tk_tok_word *key); /* -1: none */

/* The same for a piece of more than TK_TOK_WORD_BYTES. */
int32_t tk_tok_lengthy_get(const tk_tok *tok, tk_str piece);

/* ---- tok_index.c ---- */

/* Room for n ids; all slots free. */
TK_NODISCARD bool tk_tok_index_init(tk_tok_index *index, size_t n);

/* The id whose text equals `text`, or -1. `raw`: by the index of raws. */
int32_t tk_tok_index_get(const tk_tok *tok, tk_str text, bool raw);
void tk_tok_index_put(tk_tok *tok, int32_t id, bool raw);

/* The same in steps, for many look-ups at once, by token only: what find will read is
 * asked for by prefetch with the depths 0, 1 and 2, each some time after the one before.
 */
uint64_t tk_tok_index_hash(const tk_tok *tok, tk_str text);
void tk_tok_index_prefetch(const tk_tok *tok, uint64_t hash, int depth);
int32_t tk_tok_index_find(const tk_tok *tok, tk_str text, uint64_t hash);

/* ---- tok_utf8.c ---- */

/* Bytes of the first character of p[0..n), n > 0, *valid; or of its maximal invalid part,
 * !*valid; 0 when more bytes could make a character of it. */
size_t tk_tok_utf8_step(const char *p, size_t n, bool *valid);

/* Appends the text with U+FFFD for each invalid part. Unless `last`, a start of a
 * character at the end is left: the number of bytes taken is returned. */
size_t tk_tok_utf8_lossy(tk_buf *out, const char *p, size_t n, bool last);

/* The character of GPT-2's byte alphabet for a byte: printable bytes are themselves, the
 * other 68 are U+0100 and on, in order. */
uint32_t tk_tok_byte_char(unsigned char byte);

/* The byte behind such a character, -1 for any other. */
int tk_tok_char_byte(uint32_t c);

/* ---- tok_map.c: where text came from ---- */

/* From `to` on, up to the next anchor, the new text stands for the old from `from` on. */
typedef struct tk_tok_anchor {
    size_t to, from;
} tk_tok_anchor;

typedef struct tk_tok_map {
    tk_tok_anchor *anchors; /* owned; ascending, the last one is the end of both */
    size_t n, capacity;
    bool failed, off; /* off: nobody asks, nothing is kept */
} tk_tok_map;

void tk_tok_map_add(tk_tok_map *map, size_t to, size_t from);
void tk_tok_map_dispose(tk_tok_map *map);

/* The range of the old text behind a range of the new. Without anchors: the same. */
void tk_tok_map_back(const tk_tok_map *map, size_t *begin, size_t *end);

/* ---- tok_norm.c ---- */

/* Runs all normalisers; *out is `text` itself or lies in one of work->normal. The map
 * leads from *out to `text`. TINKC_E_NOMEM, TINKC_E_LIMIT. */
TK_NODISCARD tinkc_code tk_tok_normalize(const tk_tok *tok, tk_tok_work *work,
                                         tk_str text, tk_str *out, tk_tok_map *map);

/* ---- tok_added.c ---- */

typedef struct tk_tok_match {
    size_t begin, end; /* with what lstrip and rstrip take */
    size_t next;       /* where the search goes on */
    int32_t id;
} tk_tok_match;

TK_NODISCARD tinkc_code tk_tok_trie_build(tk_tok_trie *trie, const tk_tok *tok,
                                          bool normalized, tk_err *err);
void tk_tok_trie_dispose(tk_tok_trie *trie);

/* The next added token from `from` on; `begun` is the end of the last one (with what it
 * took). False when there is none. */
bool tk_tok_added_find(tk_tok_match *out, const tk_tok *tok, const tk_tok_trie *trie,
                       tk_str text, size_t from, size_t begun);

/* ---- tok_bpe.c ---- */

/* Merges ids[0..n) in place; how many are left. SIZE_MAX when out of memory. */
size_t tk_tok_merge_all(const tk_tok *tok, tk_tok_work *work, int32_t *ids, size_t n);

/* ---- tok_word.c ---- */

/* Appends the ids of one piece. p[0..readable) may be read, readable >= n. */
TK_NODISCARD tinkc_code tk_tok_word_encode(const tk_tok *tok, tk_tok_work *work,
                                           tk_str piece, size_t readable,
                                           tk_tok_ids *out);

/* The same for all pieces that a total scanner finds in `text`, with the look into the
 * cache some pieces ahead. */
TK_NODISCARD tinkc_code tk_tok_word_encode_all(const tk_tok *tok, tk_tok_work *work,
                                               tk_tok_scan_fn scan, tk_str text,
                                               size_t readable, tk_tok_ids *out);

/* How many bytes of text[0..n) the id stands for, which is the next of its ids. */
size_t tk_tok_word_span(const tk_tok *tok, const char *text, size_t n, int32_t id);

/* ---- tok_symbol.c ---- */

/* The id of a character of a vocabulary of characters, or -1. */
int32_t tk_tok_char_id(const tk_tok *tok, const char *p, size_t n);

/* Appends the ids of the piece by merging; `out` has room for piece.n more. */
TK_NODISCARD tinkc_code tk_tok_symbols_merge(const tk_tok *tok, tk_tok_work *work,
                                             tk_str piece, tk_tok_ids *out);

/* The ids of the characters of a vocabulary of characters. */
TK_NODISCARD tinkc_code tk_tok_chars_init(tk_tok *tok, tk_err *err);

/* ---- tok_whole.c ---- */

/* Fills `whole` of a byte-level vocabulary; entries and merges are complete. */
TK_NODISCARD tinkc_code tk_tok_whole_init(tk_tok *tok, tk_err *err);

/* The id of the character c, which is piece.p[at..end) with two or three bytes, when it
 * may be one symbol; else -1. */
static inline int32_t tk_tok_whole_at(const tk_tok *tok, tk_str piece, size_t at,
                                      size_t end, uint32_t c)
{
    const tk_tok_whole *w = tok->whole;
    const unsigned char *p = (const unsigned char *)piece.p;
    uint32_t rank = w->chars[c].rank;
    bool safe = rank != TK_TOK_NO_RANK &&
                (at == 0 || rank < w->before[p[at - 1]][p[at]]) &&
                (end == piece.n || rank < w->behind[p[end - 1] & 63][p[end]]);
    return safe ? w->chars[c].id : -1;
}

/* ---- tok_work.c ---- */

TK_NODISCARD tinkc_code tk_tok_pool_new(tk_tok_pool **out, tk_err *err);
void tk_tok_pool_free(tk_tok_pool *pool);         /* accepts NULL */
tk_tok_work *tk_tok_work_take(tk_tok_pool *pool); /* NULL = out of memory */
void tk_tok_work_give(tk_tok_pool *pool, tk_tok_work *work);

/* Room for n items of `size` bytes in *items, of which *max says how many there are. */
TK_NODISCARD bool tk_tok_work_room(void *items, size_t *max, size_t n, size_t size);

/* Room for n more ids. */
TK_NODISCARD bool tk_tok_ids_reserve(tk_tok_ids *ids, size_t n);

/* ---- loading: tok_load.c, tok_parts.c, tok_vocab.c ---- */

typedef struct tk_tok_loader {
    tk_tok *tok;
    const tk_json *root;
    tk_err *err;
} tk_tok_loader;

tinkc_code tk_tok_unsupported(const tk_tok_loader *l, const char *what, tk_str name);
tinkc_code tk_tok_bad(const tk_tok_loader *l, const char *what);
bool tk_tok_json_is(const tk_json *value, const char *text); /* this string */
bool tk_tok_json_true(const tk_json *value);
tk_str tk_tok_json_text(const tk_json *value); /* {NULL, 0} when it is not one */

/* Everything around the model, in the order of the file. */
TK_NODISCARD tinkc_code tk_tok_parts_encode(const tk_tok_loader *l);
TK_NODISCARD tinkc_code tk_tok_parts_decode(const tk_tok_loader *l);
TK_NODISCARD tinkc_code tk_tok_parts_post(const tk_tok_loader *l);

/* The model, and the added tokens. */
TK_NODISCARD tinkc_code tk_tok_vocab_load(const tk_tok_loader *l);
TK_NODISCARD tinkc_code tk_tok_added_load(const tk_tok_loader *l);
TK_NODISCARD tinkc_code tk_tok_merges_load(const tk_tok_loader *l);

/* Tables for n merges, all free; the last rank of a pair counts. */
TK_NODISCARD tinkc_code tk_tok_merges_init(tk_tok *tok, size_t n, tk_err *err);
void tk_tok_merges_put(tk_tok *tok, tk_tok_merge merge);
void tk_tok_junction_put(tk_tok *tok, uint32_t left, uint32_t right);

/* An empty tokenizer; entries for the ids below n. */
TK_NODISCARD tinkc_code tk_tok_new(tk_tok **out, tk_err *err);
TK_NODISCARD tinkc_code tk_tok_entries_init(tk_tok *tok, size_t n, tk_err *err);

/* Gives the id its token and puts it into the index. */
TK_NODISCARD tinkc_code tk_tok_entry_put(const tk_tok_loader *l, tk_str token,
                                         int64_t id);

/* What tokens decode to, their lengths, the tries: when all tokens are known. */
TK_NODISCARD tinkc_code tk_tok_finish(const tk_tok_loader *l);

/* A tiktoken.model with the special tokens of its config. */
TK_NODISCARD tinkc_code tk_tok_tiktoken_load(tk_tok **out, tk_str file,
                                             const tk_tok_config *config, tk_err *err);

#endif
