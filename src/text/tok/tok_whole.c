/* Which characters of a byte-level vocabulary may enter the merge loop as one symbol.
 *
 * A character X whose bytes alone merge into one token, with ranks up to R, is that token
 * before anything else touches its bytes, when both hold:
 *   - no merge that joins a part of X with something outside of X has a rank up to R: on
 *     its right a symbol of continuation bytes only (the end of X) with what follows, on
 *     its left what is there with a symbol that begins X and does not finish it;
 *   - no merge of X itself, as one symbol, has a rank up to R: it could not have happened
 *     before X was there.
 * The merges of X are then the first that concern its bytes, and doing them at once
 * changes nothing. Texts in other scripts start with a third of the symbols.
 *
 * Here too is noted which characters a merge brings side by side, for tok_symbol.c. */
#include "base/mem.h"
#include "base/utf8.h"
#include "text/tok/tok_tables.h"
#include "text/unicode/uni.h"

static bool is_tail(unsigned char c)
{
    return (c & 0xC0) == 0x80;
}

static bool is_many(unsigned char lead)
{
    return lead >= 0xC2 && lead < 0xF0;
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
    uint16_t head, tail;   /* the characters at its ends; 0 = none, or of one byte */
} brief;

/* The lowest ranks of merges that tear a character apart, by the bytes on both sides of
 * its border. */
static void note_limits(tk_tok *tok, const brief *briefs)
{
    tk_tok_whole *w = tok->whole;
    for (size_t i = 0; i <= tok->merge_mask; i++) {
        const tk_tok_merge *m = &tok->merges[i];
        if (m->left == UINT32_MAX) {
            continue;
        }
        const brief *left = &briefs[m->left], *right = &briefs[m->right];
        if (left->tail != 0 && right->head != 0) {
            tk_tok_merges_put_junction(tok, left->tail, right->head);
        }
        if (left->empty || right->empty || is_tail(right->first)) {
            continue;
        }
        if (left->all_tails) {
            uint32_t *limit = &w->after[left->last & 63][right->first];
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
            const tk_tok_merge *m = tk_tok_merges_find(tok, s[i], s[i + 1]);
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

/* The character of two or three bytes with which the text begins; 0 = none. */
static uint16_t head_char(tk_str text)
{
    size_t n = is_many((unsigned char)text.p[0]) ? tk_utf8_len(text.p, text.n) : 0;
    return n > 0 ? (uint16_t)tk_uni_decode((const unsigned char *)text.p, &n) : 0;
}

static uint16_t tail_char(tk_str text)
{
    for (size_t n = 2; n <= TK_MIN(text.n, (size_t)3); n++) {
        tk_str end = {text.p + text.n - n, n};
        if (!is_tail((unsigned char)end.p[0])) {
            return char_bytes((unsigned char)end.p[0]) == n ? head_char(end) : 0;
        }
    }
    return 0;
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
            if (sides[k] != 0 && m->rank <= w->chars[sides[k]].rank) {
                w->chars[sides[k]].rank = TK_TOK_NO_RANK;
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
    unsigned char last = (unsigned char)e->raw.p[e->raw.n - 1];
    uint16_t head = head_char(e->raw);
    return (brief){.first = first,
                   .last = last,
                   .all_tails = is_tail(first) && all_tails(e->raw),
                   .begun = e->raw.n < char_bytes(first),
                   .c = e->added || e->raw.n != char_bytes(first) ? 0 : head,
                   .head = head,
                   .tail = is_tail(last) ? tail_char(e->raw) : 0};
}

static bool has_all_bytes(const tk_tok *tok)
{
    for (size_t i = 0; i < 256; i++) {
        if (tok->byte_ids[i] < 0 && i < 0xF5 && i != 0xC0 && i != 0xC1) {
            return false; /* one that may be in UTF-8 */
        }
    }
    return true;
}

tinkc_code tk_tok_whole_init(tk_tok *tok, tk_err *err)
{
    if (!has_all_bytes(tok)) {
        return TINKC_OK;
    }
    brief *briefs = tk_array(tok->n_entries, sizeof(*briefs));
    tok->whole = tk_malloc(sizeof(*tok->whole));
    if (briefs == NULL || tok->whole == NULL) {
        tk_free(briefs);
        return tk_err_nomem(err);
    }
    memset(tok->whole, 0xFF, sizeof(*tok->whole));
    for (size_t i = 0; i < tok->n_entries; i++) {
        briefs[i] = brief_of(&tok->entries[i]);
    }
    note_limits(tok, briefs);
    for (size_t i = 0; i < tok->n_entries; i++) {
        if (briefs[i].c != 0) {
            tok->whole->chars[briefs[i].c].rank = highest_rank(tok, (int32_t)i);
            tok->whole->chars[briefs[i].c].id = (int32_t)i;
        }
    }
    drop_early(tok->whole, tok, briefs);
    tk_free(briefs);
    return TINKC_OK;
}
