/* Which characters of a byte-level vocabulary may enter the merge loop as one symbol.
 *
 * A character X whose bytes alone merge into one token, with ranks up to R, is that token
 * before anything else touches its bytes, when both hold:
 *   - no merge that joins a part of X with something outside of X has a rank up to R: on
 *     its right a symbol of continuation bytes only (the end of X) with what follows, on
 *     its left what stands there with a symbol that begins X and does not finish it;
 *   - no merge of X itself, as one symbol, has a rank up to R: it could not have happened
 *     before X was there.
 * The merges of X are then the first that concern its bytes, and doing them at once
 * changes nothing. Texts in other scripts start with a third of the symbols. */
#include "base/mem.h"
#include "text/tok_int.h"
#include "text/uni.h"

static bool is_tail(unsigned char c)
{
    return (c & 0xC0) == 0x80;
}

static size_t char_bytes(unsigned char lead)
{
    return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

static bool all_tails(tk_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (!is_tail((unsigned char)text.p[i])) {
            return false;
        }
    }
    return true;
}

/* What the merges need to know of a token, together in few bytes: there are more merges
 * than fit a cache. */
typedef struct brief {
    uint8_t first, last;
    bool empty, all_tails; /* the end of a character only */
    bool begun;            /* the start of a character only */
    uint16_t c;            /* the character that it is; 0 = none */
} brief;

/* The lowest ranks of merges that tear a character apart, by the bytes on both sides of
 * its border. */
static void note_limits(tk_tok_whole *w, const tk_tok *tok, const brief *briefs)
{
    memset(w, 0xFF, sizeof(*w));
    for (size_t i = 0; i <= tok->merge_mask; i++) {
        const tk_tok_merge *m = &tok->merges[i];
        if (m->left == UINT32_MAX) {
            continue;
        }
        const brief *left = &briefs[m->left], *right = &briefs[m->right];
        if (left->empty || right->empty || is_tail(right->first)) {
            continue;
        }
        if (left->all_tails) {
            uint32_t *limit = &w->behind[left->last & 63][right->first];
            *limit = TK_MIN(*limit, m->rank);
        }
        if (right->begun) {
            uint32_t *limit = &w->before[left->last][right->first];
            *limit = TK_MIN(*limit, m->rank);
        }
    }
}

/* The highest rank of the merges that make the character `id`; NO_RANK when its bytes do
 * not become that token. */
static uint32_t highest_rank(const tk_tok *tok, int32_t id)
{
    tk_str c = tok->entries[id].raw;
    int32_t s[4];
    size_t n = c.n;
    uint32_t highest = 0;
    for (size_t i = 0; i < n; i++) {
        s[i] = tok->byte_ids[(unsigned char)c.p[i]];
        if (s[i] < 0) {
            return TK_TOK_NO_RANK;
        }
    }
    while (n > 1) {
        const tk_tok_merge *best = NULL;
        size_t at = 0;
        for (size_t i = 0; i + 1 < n; i++) {
            const tk_tok_merge *m = tk_tok_find_merge(tok, s[i], s[i + 1]);
            if (m != NULL && (best == NULL || m->rank < best->rank)) {
                best = m;
                at = i;
            }
        }
        if (best == NULL) {
            return TK_TOK_NO_RANK;
        }
        highest = TK_MAX(highest, best->rank);
        s[at] = best->id;
        memmove(s + at + 1, s + at + 2, (n - at - 2) * sizeof(*s));
        n--;
    }
    return s[0] == id ? highest : TK_TOK_NO_RANK;
}

/* Whether the entry is one character of two or more bytes, below TK_TOK_CHARS. */
static bool is_char(const tk_tok_entry *e, uint32_t *c)
{
    bool valid = false;
    if (e->added || e->raw.n < 2 || e->raw.n > 3 ||
        tk_tok_utf8_step(e->raw.p, e->raw.n, &valid) != e->raw.n || !valid) {
        return false;
    }
    size_t n;
    *c = tk_uni_decode((const unsigned char *)e->raw.p, &n);
    return true;
}

/* Takes out the characters that have a merge before they are there. */
static void drop_early(tk_tok_whole *w, const tk_tok *tok, const brief *briefs)
{
    for (size_t i = 0; i <= tok->merge_mask; i++) {
        const tk_tok_merge *m = &tok->merges[i];
        if (m->left == UINT32_MAX) {
            continue;
        }
        const uint16_t sides[] = {briefs[m->left].c, briefs[m->right].c};
        for (size_t k = 0; k < 2; k++) {
            if (sides[k] != 0 && m->rank <= w->ranks[sides[k]]) {
                w->ranks[sides[k]] = TK_TOK_NO_RANK;
            }
        }
    }
}

static brief brief_of(const tk_tok_entry *e)
{
    if (e->raw.n == 0) {
        return (brief){.empty = true};
    }
    unsigned char first = (unsigned char)e->raw.p[0];
    uint32_t c = 0;
    bool is_one = is_char(e, &c);
    return (brief){first,
                   (uint8_t)e->raw.p[e->raw.n - 1],
                   false,
                   is_tail(first) && all_tails(e->raw),
                   e->raw.n < char_bytes(first),
                   (uint16_t)(is_one ? c : 0)};
}

tinkc_code tk_tok_whole_init(tk_tok *tok, tk_err *err)
{
    brief *briefs = tk_array(tok->n_entries, sizeof(*briefs));
    tok->whole = tk_malloc(sizeof(*tok->whole));
    tok->char_ids = tk_array(TK_TOK_CHARS, sizeof(*tok->char_ids));
    if (briefs == NULL || tok->whole == NULL || tok->char_ids == NULL) {
        tk_free(briefs);
        return tk_err_nomem(err);
    }
    memset(tok->char_ids, 0xFF, TK_TOK_CHARS * sizeof(*tok->char_ids));
    for (size_t i = 0; i < tok->n_entries; i++) {
        briefs[i] = brief_of(&tok->entries[i]);
    }
    note_limits(tok->whole, tok, briefs);
    for (size_t i = 0; i < tok->n_entries; i++) {
        if (briefs[i].c != 0) {
            tok->whole->ranks[briefs[i].c] = highest_rank(tok, (int32_t)i);
            tok->char_ids[briefs[i].c] = (int32_t)i;
        }
    }
    drop_early(tok->whole, tok, briefs);
    tk_free(briefs);
    return TINKC_OK;
}

int32_t tk_tok_whole_at(const tk_tok *tok, tk_str piece, size_t at, size_t *n)
{
    const unsigned char *p = (const unsigned char *)piece.p;
    uint32_t c = tk_uni_decode(p + at, n);
    uint32_t rank = tok->whole->ranks[c];
    size_t end = at + *n;
    bool safe = rank != TK_TOK_NO_RANK &&
                (at == 0 || rank < tok->whole->before[p[at - 1]][p[at]]) &&
                (end == piece.n || rank < tok->whole->behind[p[end - 1] & 63][p[end]]);
    return safe ? tok->char_ids[c] : -1;
}
