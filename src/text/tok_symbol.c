/* A piece through the merge loop. It starts from one symbol per byte of a byte-level
 * vocabulary, or one per character, with <0xHH> or the unknown token for what is not in
 * the vocabulary.
 *
 * The piece is cut where no merge can join: between two characters, each a symbol, that
 * stand side by side in no merge (last character of the left part, first of the right).
 * What is merged on one side of such a place never depends on the other. A vocabulary of
 * characters may come with a whole document as one piece, and most characters of a
 * Chinese sentence stand alone or in pairs. */
#include "base/mem.h"
#include "text/tok_int.h"
#include "text/uni.h"

#define NO_CHAR UINT32_MAX

int32_t tk_tok_char_id(const tk_tok *tok, const char *p, size_t n)
{
    size_t len;
    uint32_t c = tk_uni_decode((const unsigned char *)p, &len);
    return c < TK_TOK_CHARS ? tok->char_ids[c]
                            : tk_tok_index_get(tok, (tk_str){p, n}, false);
}

/* ---- stretches ---- */

/* The symbols that may still be joined lie behind the ids that are done. */
typedef struct stretch {
    const tk_tok *tok;
    tk_tok_work *work;
    int32_t *ids;
    size_t begin, n;
    uint32_t last; /* the character that the last symbol is; NO_CHAR = it is none */
    bool failed;
} stretch;

static inline void finish(stretch *s)
{
    if (s->n - s->begin > 1) {
        size_t kept =
            tk_tok_merge_all(s->tok, s->work, s->ids + s->begin, s->n - s->begin);
        s->failed = s->failed || kept == SIZE_MAX;
        s->n = s->failed ? s->n : s->begin + kept;
    }
    s->begin = s->n;
}

static inline void put_char(stretch *s, uint32_t c, int32_t id)
{
    if (s->last != NO_CHAR && !tk_tok_is_junction(s->tok, s->last, c)) {
        finish(s);
    }
    s->ids[s->n++] = id;
    s->last = c;
}

static inline void put_other(stretch *s, int32_t id)
{
    s->ids[s->n++] = id;
    s->last = NO_CHAR;
}

/* ---- symbols ---- */

/* Characters that tok_whole.c has proved safe are one symbol, all other bytes one each.
 */
static void put_bytes(stretch *s, tk_str piece)
{
    const tk_tok *tok = s->tok;
    size_t len;
    bool unknown = false; /* the last symbol is one */
    const unsigned char *p = (const unsigned char *)piece.p;
    for (size_t i = 0; i < piece.n; i += len) {
        if (p[i] >= 0xC2 && p[i] < 0xF0) {
            uint32_t c = tk_uni_decode(p + i, &len);
            int32_t whole = tk_tok_whole_at(tok, piece, i, i + len, c);
            if (whole >= 0) {
                put_char(s, c, whole);
                unknown = false;
                continue;
            }
        }
        len = 1;
        int32_t id = tok->byte_ids[p[i]];
        if (id >= 0) {
            put_other(s, id);
            unknown = false;
        } else if (tok->unk >= 0 && !(unknown && tok->fuse_unk)) {
            put_other(s, tok->unk);
            unknown = true;
        }
    }
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
static void put_chars(stretch *s, tk_str piece)
{
    const tk_tok *tok = s->tok;
    size_t len;
    bool pending = false;
    for (size_t at = 0; at < piece.n; at += len) {
        const char *p = piece.p + at;
        uint32_t c = tk_uni_decode((const unsigned char *)p, &len);
        int32_t id = tk_tok_char_id(tok, p, len);
        if (id >= 0) {
            if (pending) {
                put_other(s, tok->unk);
                pending = false;
            }
            if (id != tok->unk) {
                put_char(s, c, id);
            } else {
                put_other(s, id);
            }
        } else if (has_bytes(tok, p, len)) {
            for (size_t i = 0; i < len; i++) {
                put_other(s, tok->byte_ids[(unsigned char)p[i]]);
            }
        } else if (tok->unk >= 0) {
            if (pending && !tok->fuse_unk) {
                put_other(s, tok->unk);
            }
            pending = true;
        }
    }
    if (pending) {
        put_other(s, tok->unk);
    }
}

tinkc_code tk_tok_symbols_merge(const tk_tok *tok, tk_tok_work *work, tk_str piece,
                                tk_tok_ids *out)
{
    stretch s = {tok, work, out->ids, out->n, out->n, NO_CHAR, false};
    if (tok->byte_level) {
        put_bytes(&s, piece);
    } else {
        put_chars(&s, piece);
    }
    finish(&s);
    if (s.failed) {
        return TINKC_E_NOMEM;
    }
    out->n = s.n;
    return TINKC_OK;
}

/* ---- the table of a vocabulary of characters ---- */

tinkc_code tk_tok_chars_init(tk_tok *tok, tk_err *err)
{
    tok->char_ids = tk_array(TK_TOK_CHARS, sizeof(*tok->char_ids));
    if (tok->char_ids == NULL) {
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
