/* Ids by the text of their entries: open addressing, keyed hash, at most half full. */
#include "base/mem.h"
#include "text/tok/tok_int.h"

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
