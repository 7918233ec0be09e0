/* What the merge loop starts from: one symbol per byte of a byte-level vocabulary, or one
 * per character, with <0xHH> or the unknown token for what is not in the vocabulary. */
#include "base/mem.h"
#include "text/tok_int.h"
#include "text/uni.h"

int32_t tk_tok_char_id(const tk_tok *tok, const char *p, size_t n)
{
    size_t len;
    uint32_t c = tk_uni_decode((const unsigned char *)p, &len);
    return c < TK_TOK_CHARS ? tok->char_ids[c]
                            : tk_tok_index_get(tok, (tk_str){p, n}, false);
}

/* Characters that tok_whole.c has proved safe are one symbol, all other bytes one each.
 */
static size_t byte_symbols(const tk_tok *tok, tk_str piece, int32_t *out)
{
    size_t n = 0, len = 1;
    bool unknown = false; /* the last symbol is one */
    const unsigned char *p = (const unsigned char *)piece.p;
    for (size_t i = 0; i < piece.n; i += len) {
        len = 1;
        if (p[i] >= 0xC2 && p[i] < 0xF0) {
            int32_t whole = tk_tok_whole_at(tok, piece, i, &len);
            if (whole >= 0) {
                out[n++] = whole;
                unknown = false;
                continue;
            }
            len = 1;
        }
        int32_t id = tok->byte_ids[p[i]];
        if (id >= 0) {
            out[n++] = id;
            unknown = false;
        } else if (tok->unk >= 0 && !(unknown && tok->fuse_unk)) {
            out[n++] = tok->unk;
            unknown = true;
        }
    }
    return n;
}

static bool has_bytes(const tk_tok *tok, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (tok->byte_ids[(unsigned char)p[i]] < 0) {
            return false;
        }
    }
    return tok->byte_fallback;
}

/* An unknown token is put down only when the next known character or the end comes: as in
 * the reference, the bytes of a character between them stand before it. */
static size_t char_symbols(const tk_tok *tok, tk_str piece, int32_t *out)
{
    size_t n = 0, len;
    bool pending = false;
    for (size_t at = 0; at < piece.n; at += len) {
        const char *p = piece.p + at;
        (void)tk_uni_decode((const unsigned char *)p, &len);
        int32_t id = tk_tok_char_id(tok, p, len);
        if (id >= 0) {
            if (pending) {
                out[n++] = tok->unk;
                pending = false;
            }
            out[n++] = id;
        } else if (has_bytes(tok, p, len)) {
            for (size_t i = 0; i < len; i++) {
                out[n++] = tok->byte_ids[(unsigned char)p[i]];
            }
        } else if (tok->unk >= 0) {
            if (pending && !tok->fuse_unk) {
                out[n++] = tok->unk;
            }
            pending = true;
        }
    }
    if (pending) {
        out[n++] = tok->unk;
    }
    return n;
}

size_t tk_tok_symbols(const tk_tok *tok, tk_tok_work *work, tk_str piece)
{
    if (!tk_tok_work_room(&work->symbols, &work->symbols_max, piece.n,
                          sizeof(*work->symbols))) {
        return SIZE_MAX;
    }
    return tok->byte_level ? byte_symbols(tok, piece, work->symbols)
                           : char_symbols(tok, piece, work->symbols);
}

/* ---- tables of a vocabulary of characters ---- */

tinkc_code tk_tok_chars_init(tk_tok *tok, tk_err *err)
{
    tok->char_ids = tk_array(TK_TOK_CHARS, sizeof(*tok->char_ids));
    tok->joins_blank = tk_zarray(tok->n_entries, sizeof(*tok->joins_blank));
    if (tok->char_ids == NULL || tok->joins_blank == NULL) {
        return tk_err_nomem(err);
    }
    memset(tok->char_ids, 0xFF, TK_TOK_CHARS * sizeof(*tok->char_ids));
    for (size_t i = 0; i < tok->n_entries; i++) {
        tk_str token = tok->entries[i].token;
        size_t len;
        if (token.n == 0 || token.n > 3) {
            continue;
        }
        uint32_t c = tk_uni_decode((const unsigned char *)token.p, &len);
        if (len == token.n && c < TK_TOK_CHARS) {
            tok->char_ids[c] = (int32_t)i;
        }
    }
    return TINKC_OK;
}

static size_t junction_slot(const tk_tok *tok, uint64_t pair)
{
    uint64_t h = (pair ^ tok->hash_key.k0) * TK_TOK_SPREAD;
    size_t at = (size_t)(h >> 32) & tok->junction_mask;
    while (tok->junctions[at] != 0 && tok->junctions[at] != pair) {
        at = (at + 1) & tok->junction_mask;
    }
    return at;
}

/* Ids are below 2^31: a pair is never 0 with the top bit set. */
static uint64_t pair_of(int32_t left, int32_t right)
{
    return 1ull << 63 | (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

bool tk_tok_is_junction(const tk_tok *tok, int32_t left, int32_t right)
{
    return tok->junctions[junction_slot(tok, pair_of(left, right))] != 0;
}

void tk_tok_junction_put(tk_tok *tok, int32_t left, int32_t right)
{
    uint64_t pair = pair_of(left, right);
    tok->junctions[junction_slot(tok, pair)] = pair;
}
