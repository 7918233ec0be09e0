/* Tokens by the bytes of a whole piece, for vocabularies that ask for those before they
 * merge. Short ones, which are most, lie in a table that holds the bytes themselves: one
 * look at memory instead of three. The table is at most five eighths full; its hash is
 * keyed, because the file is a stranger's. */
#include "base/mem.h"
#include "text/tok/tok_int.h"

static size_t place(const tk_tok *tok, const tk_tok_word *key)
{
    uint64_t h = (key->low ^ tok->hash_key.k0) * TK_TOK_SPREAD;
    h = (h ^ h >> 32 ^ key->high ^ tok->hash_key.k1) * 0xD6E8FEB86659FD93u;
    return (size_t)((h ^ h >> 29) * TK_TOK_SPREAD >> tok->brief_shift);
}

static tk_tok_brief *find(const tk_tok *tok, const tk_tok_word *key)
{
    size_t at = place(tok, key);
    while (tok->briefs[at].high != 0 &&
           (tok->briefs[at].low != key->low || tok->briefs[at].high != key->high)) {
        at = (at + 1) & tok->brief_mask;
    }
    return &tok->briefs[at];
}

int32_t tk_tok_brief_get(const tk_tok *tok, const tk_tok_word *key)
{
    const tk_tok_brief *found = find(tok, key);
    return found->high != 0 ? found->id : -1;
}

/* Both ends and the length tell nearly all pieces from the few thousand long tokens. */
static size_t lengthy_bit(const tk_tok *tok, tk_str piece)
{
    uint64_t ends = tk_tok_load8(piece.p) * TK_TOK_SPREAD ^
                    tk_tok_load8(piece.p + piece.n - 8) ^ piece.n ^ tok->hash_key.k0;
    return (size_t)(ends * 0xD6E8FEB86659FD93u >> 32) % TK_TOK_LENGTHY;
}

int32_t tk_tok_lengthy_get(const tk_tok *tok, tk_str piece)
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

tinkc_code tk_tok_brief_init(tk_tok *tok, tk_err *err)
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
        tk_tok_word_key(&key, raw, raw.n);
        *find(tok, &key) = (tk_tok_brief){key.low, key.high, (int32_t)i};
    }
    return code;
}
