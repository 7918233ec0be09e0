/* The work space of one encode, and what the steps of an encode do with it: normalise
 * (tok_norm.c), cut pieces (tok_encode.c), turn a piece into ids (tok_word.c,
 * tok_symbol.c, tok_bpe.c).
 *
 * A work space belongs to one encode at a time, so to one thread; between encodes it
 * waits in the pool of its tokenizer with its caches warm. */
#ifndef TEXT_TOK_WORK_H
#define TEXT_TOK_WORK_H

#include "text/tok/tok_tables.h"

#define TK_TOK_PHRASE_BYTES 54
#define TK_TOK_PHRASE_IDS   16

typedef struct tk_tok_phrase { /* a piece that is longer than a word, and its ids */
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
    tk_tok_word *words; /* in word_memory, aligned to a cache line, which holds two */
    unsigned word_bits; /* there are 1 << word_bits; 0 = none */
    size_t words_put;
    tk_tok_phrase *phrases;
    unsigned phrase_bits;
    size_t phrases_put;
    tk_tok_node *nodes;
    size_t nodes_max;
    uint64_t *heap;
    size_t heap_n, heap_max;
    uint64_t turns; /* of the loops that merge, for tests of how the work grows */
    tk_buf repaired, normal[2], prefixed;
    tk_tok_matcher matcher;
};

struct tk_tok_pool {
    tk_mutex lock;
    tk_tok_work *free;
};

/* ---- tok_work.c ---- */

TK_NODISCARD tinkc_code tk_tok_work_pool_new(tk_tok_pool **out, tk_err *err);
void tk_tok_work_pool_free(tk_tok_pool *pool);    /* accepts NULL */
tk_tok_work *tk_tok_work_take(tk_tok_pool *pool); /* NULL = out of memory */
void tk_tok_work_give(tk_tok_pool *pool, tk_tok_work *work);

/* Makes room for n items of `size` bytes in *items, which has room for *max. */
TK_NODISCARD bool tk_tok_work_room(void *items, size_t *max, size_t n, size_t size);

/* Makes room for n more ids. */
TK_NODISCARD bool tk_tok_ids_reserve(tk_tok_ids *ids, size_t n);

/* ---- tok_map.c: where text came from ---- */

/* The new text from `to` on, up to the next anchor, came from the old text from `from`
 * on. */
typedef struct tk_tok_anchor {
    size_t to, from;
} tk_tok_anchor;

typedef struct tk_tok_map {
    tk_tok_anchor *anchors; /* owned; ascending, the last one is the end of both texts */
    size_t n, capacity;
    bool failed; /* out of memory: the map is not complete */
    bool off;    /* not needed: nothing is kept */
} tk_tok_map;

void tk_tok_map_add(tk_tok_map *map, size_t to, size_t from);
void tk_tok_map_dispose(tk_tok_map *map);

/* Changes a range of the new text into the range of the old text that it came from.
 * Without anchors the range stays as it is. */
void tk_tok_map_back(const tk_tok_map *map, size_t *begin, size_t *end);

/* Joins two maps: *outer leads from a text to the original, *inner from a newer text to
 * that text. Afterwards *outer leads from the newer text to the original and owns the
 * anchors of *inner. */
void tk_tok_map_compose(tk_tok_map *outer, tk_tok_map *inner);

/* ---- tok_norm.c ---- */

/* Runs all normalisers; *out is `text` itself or lies in one of work->normal. The map
 * leads from *out to `text`. TINKC_E_NOMEM, TINKC_E_LIMIT. */
TK_NODISCARD tinkc_code tk_tok_norm_run(const tk_tok *tok, tk_tok_work *work, tk_str text,
                                        tk_str *out, tk_tok_map *map);

/* ---- tok_bpe.c ---- */

/* Merges ids[0..n) in place. Returns how many are left, SIZE_MAX when out of memory. */
size_t tk_tok_bpe_merge(const tk_tok *tok, tk_tok_work *work, int32_t *ids, size_t n);

/* ---- tok_symbol.c ---- */

/* Appends the ids of the piece by merging; `out` has room for piece.n more. */
TK_NODISCARD tinkc_code tk_tok_symbol_merge(const tk_tok *tok, tk_tok_work *work,
                                            tk_str piece, tk_tok_ids *out);

/* ---- tok_word.c ---- */

/* Appends the ids of one piece. p[0..readable) may be read, readable >= n. */
TK_NODISCARD tinkc_code tk_tok_word_encode(const tk_tok *tok, tk_tok_work *work,
                                           tk_str piece, size_t readable,
                                           tk_tok_ids *out);

/* Appends the ids of all pieces that a total scanner finds in `text`. It looks into the
 * cache some pieces ahead. */
TK_NODISCARD tinkc_code tk_tok_word_encode_all(const tk_tok *tok, tk_tok_work *work,
                                               tk_tok_scan_fn scan, tk_str text,
                                               size_t readable, tk_tok_ids *out);

/* Returns how many bytes of text[0..n) the id covers, which is the next of its ids. */
size_t tk_tok_word_span(const tk_tok *tok, const char *text, size_t n, int32_t id);

#endif
