/* Ids by text. Tokens are in an open hash table, at most half full.
 *
 * A vocabulary that ignores merges for whole pieces asks for those first. The short ones,
 * which are most, are in a table that holds the bytes themselves: one look at memory
 * instead of three; it is at most five eighths full. The long ones are in a second index,
 * guarded by a table of bits. */
#include "base/mem.h"
#include "text/tok/tok_tables.h"

bool tk_tok_index_init(tk_tok_index *index, size_t n)
{
    size_t size = 16;
    while (size < 2 * n) {
        size *= 2;
    }
    index->slots = tk_array(size, sizeof(*index->slots));
    if (index->slots == NULL) {
        return false;
    }
    tk_mem_scattered(index->slots, size * sizeof(*index->slots));
    memset(index->slots, 0xFF, size * sizeof(*index->slots));
    index->mask = size - 1;
    return true;
}

static const tk_tok_index *index_of(const tk_tok *tok, bool raw)
{
    return raw ? &tok->raws : &tok->tokens;
}

static tk_str text_of(const tk_tok *tok, int32_t id, bool raw)
{
    return raw ? tok->entries[id].raw : tok->entries[id].token;
}

uint64_t tk_tok_index_hash(const tk_tok *tok, tk_str text)
{
    return tk_hash_bytes(tok->hash_key, text.p, text.n);
}

static tk_tok_slot *slot_of(const tk_tok *tok, tk_str text, uint64_t hash, bool raw)
{
    const tk_tok_index *index = index_of(tok, raw);
    uint32_t tag = (uint32_t)(hash >> 32);
    tk_tok_slot *slots = index->slots;
    size_t at = (size_t)hash & index->mask;
    while (slots[at].id >= 0 &&
           (slots[at].tag != tag || !tk_str_eq(text_of(tok, slots[at].id, raw), text))) {
        at = (at + 1) & index->mask;
    }
    return &slots[at];
}

int32_t tk_tok_index_find(const tk_tok *tok, tk_str text, uint64_t hash)
{
    return slot_of(tok, text, hash, false)->id;
}

void tk_tok_index_prefetch(const tk_tok *tok, uint64_t hash, int depth)
{
    const tk_tok_slot *slot = &tok->tokens.slots[hash & tok->tokens.mask];
    if (depth == 0) {
        __builtin_prefetch(slot);
    } else if (slot->id >= 0 && slot->tag == (uint32_t)(hash >> 32)) {
        const tk_tok_entry *e = &tok->entries[slot->id];
        __builtin_prefetch(depth == 1 ? (const void *)e : e->token.p);
    }
}

int32_t tk_tok_index_get(const tk_tok *tok, tk_str text, bool raw)
{
    return index_of(tok, raw)->slots != NULL
               ? slot_of(tok, text, tk_tok_index_hash(tok, text), raw)->id
               : -1;
}

void tk_tok_index_put(tk_tok *tok, int32_t id, bool raw)
{
    tk_str text = text_of(tok, id, raw);
    uint64_t hash = tk_tok_index_hash(tok, text);
    *slot_of(tok, text, hash, raw) = (tk_tok_slot){(uint32_t)(hash >> 32), id};
}

/* ---- whole pieces ---- */

static size_t place(const tk_tok *tok, const tk_tok_word *key)
{
    uint64_t h = (key->low ^ tok->hash_key.k0) * TK_TOK_SPREAD;
    h = (h ^ h >> 32 ^ key->high ^ tok->hash_key.k1) * 0xD6E8FEB86659FD93u;
    return (size_t)((h ^ h >> 29) * TK_TOK_SPREAD >> tok->brief_shift);
}

static tk_tok_brief *find_short(const tk_tok *tok, const tk_tok_word *key)
{
    size_t at = place(tok, key);
    while (tok->briefs[at].high != 0 &&
           (tok->briefs[at].low != key->low || tok->briefs[at].high != key->high)) {
        at = (at + 1) & tok->brief_mask;
    }
    return &tok->briefs[at];
}

int32_t tk_tok_index_short(const tk_tok *tok, const tk_tok_word *key)
{
    const tk_tok_brief *found = find_short(tok, key);
    return found->high != 0 ? found->id : -1;
}

/* Both ends and the length tell nearly all pieces from the few thousand long tokens. */
static size_t lengthy_bit(const tk_tok *tok, tk_str piece)
{
    uint64_t ends = tk_tok_index_load8(piece.p) * TK_TOK_SPREAD ^
                    tk_tok_index_load8(piece.p + piece.n - 8) ^ piece.n ^
                    tok->hash_key.k0;
    return (size_t)(ends * 0xD6E8FEB86659FD93u >> 32) % TK_TOK_LENGTHY;
}

int32_t tk_tok_index_long(const tk_tok *tok, tk_str piece)
{
    size_t bit = lengthy_bit(tok, piece);
    return tok->lengthy[bit / 64] >> bit % 64 & 1 ? tk_tok_index_get(tok, piece, true)
                                                  : -1;
}

static bool counts(const tk_tok_entry *e)
{
    return e->token.p != NULL && !e->added && e->raw.n > 0;
}

static tinkc_code make_table(tk_tok *tok, tk_err *err)
{
    size_t n = 0;
    unsigned bits = 4;
    for (size_t i = 0; i < tok->n_entries; i++) {
        n += counts(&tok->entries[i]) && tok->entries[i].raw.n <= TK_TOK_WORD_BYTES;
    }
    while (5 * ((size_t)1 << bits) < 8 * n) {
        bits++;
    }
    size_t size = (size_t)1 << bits;
    tok->briefs = tk_array(size, sizeof(*tok->briefs));
    if (tok->briefs == NULL) {
        return tk_err_nomem(err);
    }
    tk_mem_scattered(tok->briefs, size * sizeof(*tok->briefs));
    memset(tok->briefs, 0, size * sizeof(*tok->briefs));
    tok->brief_mask = size - 1;
    tok->brief_shift = 64 - bits;
    return TINKC_OK;
}

tinkc_code tk_tok_index_pieces(tk_tok *tok, tk_err *err)
{
    tinkc_code code = make_table(tok, err);
    for (size_t i = 0; i < tok->n_entries && code == TINKC_OK; i++) {
        tk_str raw = tok->entries[i].raw;
        if (!counts(&tok->entries[i])) {
            continue;
        }
        if (raw.n > TK_TOK_WORD_BYTES) {
            size_t bit = lengthy_bit(tok, raw);
            tok->lengthy[bit / 64] |= (uint64_t)1 << bit % 64;
            tk_tok_index_put(tok, (int32_t)i, true);
            continue;
        }
        tk_tok_word key;
        tk_tok_index_key(&key, raw, raw.n);
        *find_short(tok, &key) = (tk_tok_brief){key.low, key.high, (int32_t)i};
    }
    return code;
}
