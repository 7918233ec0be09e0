/* A piece through the merge loop. It starts from one symbol per byte of a byte-level
 * vocabulary, or one per character, with <0xHH> or the unknown token for what is not in
 * the vocabulary.
 *
 * The piece is cut where no merge can join: between two characters that no merge brings
 * together (last character of its left part, first of its right) and, where they enter as
 * bytes, whose parts no merge joins across the border. What is merged on one side of such
 * a place never depends on the other. This matters for a vocabulary of characters, whose
 * piece may be a whole document, and for Chinese, where most characters are tokens alone
 * or in pairs. */
#include "base/mem.h"
#include "text/tok/tok_work.h"
#include "text/unicode/uni.h"

#define NO_CHAR UINT32_MAX

int32_t tk_tok_symbol_of(const tk_tok *tok, const char *p, size_t n)
{
    size_t len;
    uint32_t c = tk_uni_decode((const unsigned char *)p, &len);
    if (c < TK_TOK_CHARS) {
        return tok->char_ids[c];
    }
    int32_t id = tk_tok_index_get(tok, (tk_str){p, n}, false);
    return id >= 0 && tok->entries[id].apart ? -1 : id;
}

/* ---- stretches ---- */

/* The symbols that may still be joined follow the ids that are final. */
typedef struct stretch {
    const tk_tok *tok;
    tk_tok_work *work;
    int32_t *ids;
    size_t begin, n;
    bool failed;
} stretch;

static inline void put(stretch *s, int32_t id)
{
    s->ids[s->n++] = id;
}

static inline void finish(stretch *s)
{
    if (s->n - s->begin > 1) {
        size_t kept =
            tk_tok_bpe_merge(s->tok, s->work, s->ids + s->begin, s->n - s->begin);
        s->failed = s->failed || kept == SIZE_MAX;
        s->n = s->failed ? s->n : s->begin + kept;
    }
    s->begin = s->n;
}

/* ---- byte-level ---- */

/* A character of a piece, of two or three bytes. */
typedef struct glyph {
    uint32_t c;
    int32_t whole; /* its id when it is one symbol; -1 = it is its bytes */
} glyph;

/* Whether no merge joins what is on the left of p, which ends with the character a, with
 * what is on the right, which begins with b. The table of junctions knows the merges of
 * whole characters, the others those of parts of them. */
static inline bool is_border(const tk_tok *tok, glyph a, glyph b, const unsigned char *p)
{
    const tk_tok_whole *w = tok->whole;
    return !tk_tok_merges_is_junction(tok, a.c, b.c) &&
           (a.whole >= 0 || w->after[p[-1] & 63][p[0]] == TK_TOK_NO_RANK) &&
           (b.whole >= 0 || w->before[p[-1]][p[0]] == TK_TOK_NO_RANK);
}

/* Characters that tok_whole.c has proved safe are one symbol, all other bytes one
 * each. */
static void put_bytes(stretch *s, tk_str piece)
{
    const tk_tok *tok = s->tok;
    const unsigned char *p = (const unsigned char *)piece.p;
    glyph last = {NO_CHAR, -1};
    size_t len;
    for (size_t at = 0; at < piece.n; at += len) {
        if (p[at] < 0xC2 || p[at] >= 0xF0) {
            len = 1;
            put(s, tok->byte_ids[p[at]]);
            last.c = NO_CHAR;
            continue;
        }
        glyph here;
        here.c = tk_uni_decode(p + at, &len);
        here.whole = tk_tok_whole_at(tok, piece, at, at + len, here.c);
        if (last.c != NO_CHAR && is_border(tok, last, here, p + at)) {
            finish(s);
        }
        if (here.whole >= 0) {
            put(s, here.whole);
        } else {
            for (size_t i = at; i < at + len; i++) {
                put(s, tok->byte_ids[p[i]]);
            }
        }
        last = here;
    }
}

/* put_bytes for a vocabulary that lacks some bytes. */
static void put_known_bytes(stretch *s, tk_str piece)
{
    const tk_tok *tok = s->tok;
    bool unknown = false; /* the last symbol is one */
    for (size_t i = 0; i < piece.n; i++) {
        int32_t id = tok->byte_ids[(unsigned char)piece.p[i]];
        if (id >= 0) {
            put(s, id);
            unknown = false;
        } else if (tok->unk >= 0 && !(unknown && tok->fuse_unk)) {
            put(s, tok->unk);
            unknown = true;
        }
    }
}

/* ---- characters ---- */

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
 * the reference, the bytes of a character in between come before it. */
static void put_chars(stretch *s, tk_str piece)
{
    const tk_tok *tok = s->tok;
    uint32_t last = NO_CHAR;
    size_t len;
    bool pending = false;
    for (size_t at = 0; at < piece.n; at += len) {
        const char *p = piece.p + at;
        uint32_t c = tk_uni_decode((const unsigned char *)p, &len);
        int32_t id = tk_tok_symbol_of(tok, p, len);
        if (id >= 0) {
            if (pending) {
                put(s, tok->unk);
                pending = false;
            } else if (last != NO_CHAR && !tk_tok_merges_is_junction(tok, last, c)) {
                finish(s);
            }
            put(s, id);
            last = c;
            continue;
        }
        last = NO_CHAR;
        if (has_bytes(tok, p, len)) {
            for (size_t i = 0; i < len; i++) {
                put(s, tok->byte_ids[(unsigned char)p[i]]);
            }
        } else if (tok->unk >= 0) {
            if (pending && !tok->fuse_unk) {
                put(s, tok->unk);
            }
            pending = true;
        }
    }
    if (pending) {
        put(s, tok->unk);
    }
}

tinkc_code tk_tok_symbol_merge(const tk_tok *tok, tk_tok_work *work, tk_str piece,
                               tk_tok_ids *out)
{
    stretch s = {tok, work, out->ids, out->n, out->n, false};
    if (!tok->byte_level) {
        put_chars(&s, piece);
    } else if (tok->whole != NULL) {
        put_bytes(&s, piece);
    } else {
        put_known_bytes(&s, piece);
    }
    finish(&s);
    if (s.failed) {
        return TINKC_E_NOMEM;
    }
    out->n = s.n;
    return TINKC_OK;
}

/* ---- the table of a vocabulary of characters ---- */

tinkc_code tk_tok_symbol_init(tk_tok *tok, tk_err *err)
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
