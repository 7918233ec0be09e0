/* Ids by the text of their entries: open addressing, keyed hash, at most half full. */
#include "base/mem.h"
#include "text/tok_int.h"

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

static size_t slot_of(const tk_tok *tok, tk_str text, bool raw)
{
    const tk_tok_index *index = index_of(tok, raw);
    size_t at = (size_t)tk_hash_bytes(tok->hash_key, text.p, text.n) & index->mask;
    while (index->slots[at] >= 0 &&
           !tk_str_eq(text_of(tok, index->slots[at], raw), text)) {
        at = (at + 1) & index->mask;
    }
    return at;
}

int32_t tk_tok_index_get(const tk_tok *tok, tk_str text, bool raw)
{
    const tk_tok_index *index = index_of(tok, raw);
    return index->slots != NULL ? index->slots[slot_of(tok, text, raw)] : -1;
}

void tk_tok_index_put(tk_tok *tok, int32_t id, bool raw)
{
    index_of(tok, raw)->slots[slot_of(tok, text_of(tok, id, raw), raw)] = id;
}
