/* One piece to ids: from the cache of words, or through the merge loop and then into the
 * cache. */
#include "base/mem.h"
#include "text/tok/tok_work.h"
#include "text/unicode/uni.h"

#define WORD_IDS        4
#define WORD_BITS_MIN   9
#define WORD_BITS_MAX   17 /* 4 MiB */
#define PHRASE_BITS_MIN 6
#define PHRASE_BITS_MAX 15 /* 4 MiB */
#define ID_BITS         24
#define LINE            64 /* bytes of a cache line */
#define AHEAD           16 /* pieces between asking for a line and reading it */

#define BLANK 0x2581
static const char blank[] = "\xE2\x96\x81";

/* ---- the caches ---- */

/* The first of the two places of a word. */
static inline tk_tok_word *word_line(const tk_tok_work *w, const tk_tok_word *key)
{
    uint64_t h = (key->low ^ key->high * TK_TOK_SPREAD) * 0xD6E8FEB86659FD93u;
    return &w->words[(h ^ h >> 29) * TK_TOK_SPREAD >> (64 - w->word_bits) & ~(size_t)1];
}

/* A cache grows when many of its places were used. Without memory it stays as it is. */
static unsigned more_bits(unsigned bits, unsigned least, unsigned most)
{
    return bits == 0 ? least : TK_MIN(bits + 3, most);
}

static void grow_words(tk_tok_work *w)
{
    tk_tok_work old = *w;
    unsigned bits = more_bits(w->word_bits, WORD_BITS_MIN, WORD_BITS_MAX);
    size_t size = ((size_t)1 << bits) * sizeof(*w->words);
    w->words_put = 0;
    void *memory = bits > w->word_bits ? tk_malloc(size + LINE) : NULL;
    if (memory == NULL) {
        return;
    }
    tk_mem_scattered(memory, size + LINE);
    memset(memory, 0, size + LINE);
    w->word_memory = memory;
    w->words = (tk_tok_word *)(((uintptr_t)memory + LINE - 1) & ~(uintptr_t)(LINE - 1));
    w->word_bits = bits;
    for (size_t i = 0; old.word_bits != 0 && i < (size_t)1 << old.word_bits; i++) {
        if (old.words[i].high != 0) {
            tk_tok_word *line = word_line(w, &old.words[i]);
            line[line[0].high != 0] = old.words[i];
        }
    }
    tk_free(old.word_memory);
}

/* `e`: the word's line; false when it is not there. */
static inline bool word_take(const tk_tok_word *e, const tk_tok_word *key,
                             tk_tok_ids *out)
{
    if (e->low != key->low || e->high != key->high) {
        e++;
        if (e->low != key->low || e->high != key->high) {
            return false;
        }
    }
    int32_t *to = out->ids + out->n;
    to[0] = (int32_t)(e->ids[0] & ((1u << ID_BITS) - 1));
    to[1] = (int32_t)e->ids[1];
    to[2] = (int32_t)e->ids[2];
    to[3] = (int32_t)e->ids[3];
    out->n += e->ids[0] >> ID_BITS;
    return true;
}

static inline bool word_get(const tk_tok_work *w, const tk_tok_word *key, tk_tok_ids *out)
{
    return w->word_bits != 0 && word_take(word_line(w, key), key, out);
}

/* Puts the word first in its line; the older of the two words goes. */
static void word_put(tk_tok_work *w, tk_tok_word *key, const int32_t *ids, size_t n)
{
    if (w->words_put++ >= ((size_t)1 << w->word_bits) / 2 || w->word_bits == 0) {
        grow_words(w);
        if (w->word_bits == 0) {
            return;
        }
    }
    for (size_t i = 0; i < WORD_IDS; i++) {
        key->ids[i] = i < n ? (uint32_t)ids[i] : 0;
    }
    key->ids[0] |= (uint32_t)n << ID_BITS;
    tk_tok_word *line = word_line(w, key);
    line[1] = line[0];
    line[0] = *key;
}

static uint64_t phrase_hash(tk_str piece)
{
    uint64_t h = piece.n * TK_TOK_SPREAD;
    size_t i = 0;
    for (; i + 8 <= piece.n; i += 8) {
        h = (h ^ tk_tok_index_load8(piece.p + i)) * 0xD6E8FEB86659FD93u;
        h ^= h >> 32;
    }
    uint64_t rest = 0;
    memcpy(&rest, piece.p + i, piece.n - i);
    h = (h ^ rest) * 0xD6E8FEB86659FD93u;
    h ^= h >> 32;
    return h * TK_TOK_SPREAD;
}

static bool phrase_get(const tk_tok_work *w, uint64_t hash, tk_str piece, tk_tok_ids *out)
{
    if (w->phrase_bits == 0) {
        return false;
    }
    const tk_tok_phrase *e = &w->phrases[hash >> (64 - w->phrase_bits)];
    if (e->hash != hash || e->n != piece.n || memcmp(e->bytes, piece.p, piece.n) != 0) {
        return false;
    }
    memcpy(out->ids + out->n, e->ids, e->n_ids * sizeof(e->ids[0]));
    out->n += e->n_ids;
    return true;
}

static void grow_phrases(tk_tok_work *w)
{
    unsigned bits = more_bits(w->phrase_bits, PHRASE_BITS_MIN, PHRASE_BITS_MAX);
    w->phrases_put = 0;
    tk_tok_phrase *fresh =
        bits > w->phrase_bits ? tk_zarray((size_t)1 << bits, sizeof(*w->phrases)) : NULL;
    if (fresh == NULL) {
        return;
    }
    for (size_t i = 0; w->phrase_bits != 0 && i < (size_t)1 << w->phrase_bits; i++) {
        fresh[w->phrases[i].hash >> (64 - bits)] = w->phrases[i];
    }
    tk_free(w->phrases);
    w->phrases = fresh;
    w->phrase_bits = bits;
}

static void phrase_put(tk_tok_work *w, uint64_t hash, tk_str piece, const int32_t *ids,
                       size_t n)
{
    if (w->phrases_put++ >= (size_t)1 << w->phrase_bits || w->phrase_bits == 0) {
        grow_phrases(w);
        if (w->phrase_bits == 0) {
            return;
        }
    }
    tk_tok_phrase *e = &w->phrases[hash >> (64 - w->phrase_bits)];
    e->hash = hash;
    e->n = (uint8_t)piece.n;
    e->n_ids = (uint8_t)n;
    memcpy(e->bytes, piece.p, piece.n);
    memcpy(e->ids, ids, n * sizeof(*ids));
}

/* ---- pieces ---- */

/* `key` of a short piece, NULL for others. */
static tinkc_code merge_piece(const tk_tok *tok, tk_tok_work *w, tk_str piece,
                              const tk_tok_word *key, tk_tok_ids *out)
{
    if (tok->ignore_merges) {
        int32_t whole =
            key != NULL ? tk_tok_index_short(tok, key) : tk_tok_index_long(tok, piece);
        if (whole >= 0) {
            out->ids[out->n++] = whole;
            return TINKC_OK;
        }
    }
    return tk_tok_symbol_merge(tok, w, piece, out);
}

/* Whether the long piece ends in Han or Kana: half a sentence, which is not repeated as
 * words are, and which merges as fast as a cache misses. */
static bool is_sentence(tk_str piece)
{
    unsigned char lead = (unsigned char)piece.p[piece.n - 3];
    return lead >= 0xE3 && lead <= 0xE9;
}

/* There is room for piece.n + WORD_IDS more ids. */
static tinkc_code encode_long(const tk_tok *tok, tk_tok_work *w, tk_str piece,
                              tk_tok_ids *out)
{
    if (piece.n > TK_TOK_PHRASE_BYTES || is_sentence(piece)) {
        return merge_piece(tok, w, piece, NULL, out);
    }
    uint64_t hash = phrase_hash(piece);
    if (phrase_get(w, hash, piece, out)) {
        return TINKC_OK;
    }
    size_t before = out->n;
    tinkc_code code = merge_piece(tok, w, piece, NULL, out);
    if (code == TINKC_OK && out->n - before <= TK_TOK_PHRASE_IDS) {
        phrase_put(w, hash, piece, out->ids + before, out->n - before);
    }
    return code;
}

/* A short piece that is not in the cache. */
static tinkc_code encode_word(const tk_tok *tok, tk_tok_work *w, tk_tok_word *key,
                              tk_str piece, tk_tok_ids *out)
{
    size_t before = out->n;
    tinkc_code code = merge_piece(tok, w, piece, key, out);
    size_t n = out->n - before;
    if (code == TINKC_OK && n > 0 && n <= WORD_IDS) {
        word_put(w, key, out->ids + before, n);
    }
    return code;
}

static inline bool make_room(tk_tok_ids *out, size_t n)
{
    return out->capacity - out->n >= n || tk_tok_ids_reserve(out, n);
}

static tinkc_code encode_piece(const tk_tok *tok, tk_tok_work *w, tk_str piece,
                               size_t readable, tk_tok_ids *out)
{
    if (!make_room(out, piece.n + TK_TOK_PHRASE_IDS)) {
        return TINKC_E_NOMEM;
    }
    if (piece.n > TK_TOK_WORD_BYTES) {
        return encode_long(tok, w, piece, out);
    }
    tk_tok_word key;
    tk_tok_index_key(&key, piece, readable);
    return word_get(w, &key, out) ? TINKC_OK : encode_word(tok, w, &key, piece, out);
}

tinkc_code tk_tok_word_encode_all(const tk_tok *tok, tk_tok_work *work,
                                  tk_tok_scan_fn scan, tk_str text, size_t readable,
                                  tk_tok_ids *out)
{
    const unsigned char *p = (const unsigned char *)text.p;
    const unsigned char *end = p + text.n, *limit = p + readable;
    while (p < end) {
        tk_str pieces[AHEAD];
        tk_tok_word keys[AHEAD];
        size_t lines[AHEAD], n = 0;
        const unsigned char *begin = p;
        const tk_tok_word *words = work->words;
        for (; n < AHEAD && p < end; n++) {
            pieces[n] = (tk_str){(const char *)p, scan(p, end)};
            if (pieces[n].n <= TK_TOK_WORD_BYTES) {
                tk_tok_index_key(&keys[n], pieces[n], (size_t)(limit - p));
                if (words != NULL) {
                    lines[n] = (size_t)(word_line(work, &keys[n]) - words);
                    __builtin_prefetch(&words[lines[n]]);
                }
            }
            p += pieces[n].n;
        }
        if (!make_room(out, (size_t)(p - begin) + AHEAD * TK_TOK_PHRASE_IDS)) {
            return TINKC_E_NOMEM;
        }
        for (size_t i = 0; i < n; i++) {
            bool is_short = pieces[i].n <= TK_TOK_WORD_BYTES;
            bool is_same = words != NULL && words == work->words; /* did not grow */
            if (is_short && (is_same ? word_take(&words[lines[i]], &keys[i], out)
                                     : word_get(work, &keys[i], out))) {
                continue;
            }
            tinkc_code code = is_short ? encode_word(tok, work, &keys[i], pieces[i], out)
                                       : encode_long(tok, work, pieces[i], out);
            if (code != TINKC_OK) {
                return code;
            }
        }
    }
    return TINKC_OK;
}

/* Whether no merge joins the character with a U+2581 after it; see tok_symbol.c. */
static bool stands_alone(const tk_tok *tok, const char *p, size_t n)
{
    size_t len;
    uint32_t c = tk_uni_decode((const unsigned char *)p, &len);
    return tk_tok_symbol_of(tok, p, n) >= 0 && tok->char_ids[BLANK] >= 0 &&
           !tk_tok_merges_is_junction(tok, c, BLANK);
}

/* The end of the first stretch of the piece. */
static size_t cut(const tk_tok *tok, tk_str piece)
{
    for (size_t at = 1; at < piece.n;) {
        const char *found = memchr(piece.p + at, blank[0], piece.n - at);
        if (found == NULL || (size_t)(piece.p + piece.n - found) < 3) {
            break;
        }
        at = (size_t)(found - piece.p);
        if (memcmp(found, blank, 3) == 0) {
            size_t n = 1;
            while ((found[-(ptrdiff_t)n] & 0xC0) == 0x80) {
                n++;
            }
            if (stands_alone(tok, found - n, n)) {
                return at;
            }
        }
        at += 3;
    }
    return piece.n;
}

tinkc_code tk_tok_word_encode(const tk_tok *tok, tk_tok_work *work, tk_str piece,
                              size_t readable, tk_tok_ids *out)
{
    if (tok->byte_level || tok->ignore_merges) {
        return piece.n > 0 ? encode_piece(tok, work, piece, readable, out) : TINKC_OK;
    }
    while (piece.n > 0) {
        size_t n = cut(tok, piece);
        tinkc_code code = encode_piece(tok, work, (tk_str){piece.p, n}, readable, out);
        if (code != TINKC_OK) {
            return code;
        }
        piece = (tk_str){piece.p + n, piece.n - n};
        readable -= n;
    }
    return TINKC_OK;
}

/* ---- where ids come from ---- */

static bool is_known(const tk_tok *tok, const char *p, size_t n)
{
    if (tok->byte_level) {
        return tok->byte_ids[(unsigned char)*p] >= 0;
    }
    if (tk_tok_symbol_of(tok, p, n) >= 0) {
        return true;
    }
    for (size_t i = 0; i < n && tok->byte_fallback; i++) {
        if (tok->byte_ids[(unsigned char)p[i]] < 0) {
            return false;
        }
    }
    return tok->byte_fallback;
}

/* Characters without an id belong to the token before or, as unknown ones, are the
 * token. */
static size_t unknown_span(const tk_tok *tok, const char *text, size_t n, bool one)
{
    size_t at = 0, len = 1;
    while (at < n) {
        if (!tok->byte_level) {
            bool valid;
            len = TK_MAX(tk_tok_utf8_step(text + at, n - at, &valid), (size_t)1);
            if (!valid) {
                break;
            }
        }
        if (is_known(tok, text + at, len) || (one && at > 0)) {
            break;
        }
        at += len;
    }
    return at;
}

size_t tk_tok_word_span(const tk_tok *tok, const char *text, size_t n, int32_t id)
{
    size_t span = 0;
    if (id == tok->unk) {
        span = unknown_span(tok, text, n, !tok->fuse_unk);
    }
    if (span == 0) {
        const tk_tok_entry *e = &tok->entries[id];
        span = TK_MIN(e->byte >= 0 && !tok->byte_level ? 1 : e->raw.n, n);
    }
    if (tok->unk < 0) {
        span += unknown_span(tok, text + span, n - span, false);
    }
    return span;
}
