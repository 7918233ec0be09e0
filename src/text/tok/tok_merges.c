/* The merges of tokenizer.json into their table. Three look-ups and a store for each of
 * half a million would wait for memory most of the time: they go through in groups, and
 * each step of a group asks for what the next step reads. */
#include "base/mem.h"
#include "base/utf8.h"
#include "text/tok/tok_load.h"
#include "text/unicode/uni.h"

#define GROUP 32

typedef enum part { LEFT, RIGHT, JOINED, PARTS } part;

typedef struct pending { /* a merge under way */
    tk_str text[PARTS];
    uint64_t hash[PARTS];
    int32_t id[PARTS];
} pending;

tinkc_code tk_tok_merges_init(tk_tok *tok, size_t n, tk_err *err)
{
    unsigned bits = 4; /* at most 5 of 8 places are used: a small table is a fast one */
    while (5 * ((size_t)1 << bits) < 8 * n) {
        bits++;
    }
    size_t size = (size_t)1 << bits;
    tok->merges = tk_array(size, sizeof(*tok->merges));
    tok->maybe = tk_zarray(8 * size / 64, sizeof(*tok->maybe));
    tok->junctions = tk_zarray(4 * size / 64, sizeof(*tok->junctions));
    if (tok->merges == NULL || tok->maybe == NULL || tok->junctions == NULL) {
        return tk_err_nomem(err);
    }
    tok->maybe_shift = 64 - (bits + 3);
    tok->junction_shift = 64 - (bits + 2);
    tk_mem_scattered(tok->merges, size * sizeof(*tok->merges));
    memset(tok->merges, 0xFF, size * sizeof(*tok->merges));
    tok->merge_mask = size - 1;
    tok->merge_shift = 64 - bits;
    return TINKC_OK;
}

static uint64_t merge_hash(const tk_tok *tok, uint32_t left, uint32_t right)
{
    return (((uint64_t)left << 32 | right) ^ tok->hash_key.k0) * TK_TOK_SPREAD;
}

void tk_tok_merges_put(tk_tok *tok, tk_tok_merge merge)
{
    uint64_t h = merge_hash(tok, merge.left, merge.right);
    uint64_t bit = h >> tok->maybe_shift;
    tok->maybe[bit / 64] |= (uint64_t)1 << bit % 64;
    size_t at = (size_t)(h >> tok->merge_shift);
    while (tok->merges[at].left != UINT32_MAX &&
           (tok->merges[at].left != merge.left || tok->merges[at].right != merge.right)) {
        at = (at + 1) & tok->merge_mask;
    }
    tok->merges[at] = merge;
}

/* "a b", with exactly one space, or ["a", "b"]. */
static bool merge_parts(const tk_json *item, tk_str *left, tk_str *right)
{
    if (item->type == TK_JSON_STRING) {
        *right = item->as.string;
        *left = tk_str_cut(right, ' ');
        return left->n > 0 && right->n > 0 && memchr(right->p, ' ', right->n) == NULL;
    }
    tk_json a = tk_json_at(item, 0), b = tk_json_at(item, 1);
    if (tk_json_len(item) != 2 || a.type != TK_JSON_STRING || b.type != TK_JSON_STRING) {
        return false;
    }
    *left = a.as.string;
    *right = b.as.string;
    return true;
}

void tk_tok_merges_put_junction(tk_tok *tok, uint32_t left, uint32_t right)
{
    uint64_t bit = tk_tok_merges_junction_bit(tok, left, right);
    tok->junctions[bit / 64] |= (uint64_t)1 << bit % 64;
}

/* Of a vocabulary of characters; for a byte-level one tok_whole.c does it. */
static void note_junction(tk_tok *tok, tk_str left, tk_str right)
{
    size_t at = left.n - 1, n;
    while (at > 0 && ((unsigned char)left.p[at] & 0xC0) == 0x80) {
        at--;
    }
    tk_tok_merges_put_junction(tok, tk_uni_decode((const unsigned char *)left.p + at, &n),
                               tk_uni_decode((const unsigned char *)right.p, &n));
}

/* The texts of n merges from `first` on; the joined ones lie in *joined. */
static tinkc_code read_group(const tk_tok_loader *l, const tk_json *merges, size_t first,
                             size_t n, pending *group, tk_buf *joined)
{
    tk_buf_clear(joined);
    for (size_t i = 0; i < n; i++) {
        tk_json item = tk_json_at(merges, first + i);
        tk_str *text = group[i].text;
        if (!merge_parts(&item, &text[LEFT], &text[RIGHT]) || text[LEFT].n == 0 ||
            text[RIGHT].n == 0) {
            return tk_tok_load_bad(l, "a merge is not a pair");
        }
        tk_buf_put(joined, text[LEFT].p, text[LEFT].n);
        tk_buf_put(joined, text[RIGHT].p, text[RIGHT].n);
    }
    if (tk_buf_status(joined, l->err) != TINKC_OK) {
        return joined->failure;
    }
    const char *p = joined->p; /* it does not move any more */
    for (size_t i = 0; i < n; i++) {
        tk_str *text = group[i].text;
        text[JOINED] = (tk_str){p, text[LEFT].n + text[RIGHT].n};
        p += text[JOINED].n;
    }
    return TINKC_OK;
}

static void look_up(const tk_tok *tok, pending *group, size_t n)
{
    for (size_t i = 0; i < n * PARTS; i++) {
        pending *m = &group[i / PARTS];
        m->hash[i % PARTS] = tk_tok_index_hash(tok, m->text[i % PARTS]);
        tk_tok_index_prefetch(tok, m->hash[i % PARTS], 0);
    }
    for (int depth = 1; depth <= 2; depth++) {
        for (size_t i = 0; i < n * PARTS; i++) {
            tk_tok_index_prefetch(tok, group[i / PARTS].hash[i % PARTS], depth);
        }
    }
    for (size_t i = 0; i < n * PARTS; i++) {
        pending *m = &group[i / PARTS];
        m->id[i % PARTS] = tk_tok_index_find(tok, m->text[i % PARTS], m->hash[i % PARTS]);
    }
}

static tinkc_code store_group(const tk_tok_loader *l, const pending *group, size_t first,
                              size_t n)
{
    tk_tok *tok = l->tok;
    for (size_t i = 0; i < n; i++) {
        const int32_t *id = group[i].id;
        if (id[LEFT] < 0 || id[RIGHT] < 0 || id[JOINED] < 0) {
            return tk_tok_load_bad(l, "a merge is not in the vocabulary");
        }
        uint64_t h = merge_hash(tok, (uint32_t)id[LEFT], (uint32_t)id[RIGHT]);
        __builtin_prefetch(&tok->merges[h >> tok->merge_shift], 1);
        __builtin_prefetch(&tok->maybe[(h >> tok->maybe_shift) / 64], 1);
    }
    for (size_t i = 0; i < n; i++) {
        const int32_t *id = group[i].id;
        tk_tok_merges_put(tok, (tk_tok_merge){(uint32_t)id[LEFT], (uint32_t)id[RIGHT],
                                              (uint32_t)(first + i), id[JOINED]});
        if (!tok->byte_level) {
            note_junction(tok, group[i].text[LEFT], group[i].text[RIGHT]);
        }
    }
    return TINKC_OK;
}

tinkc_code tk_tok_merges_load(const tk_tok_loader *l)
{
    const tk_json *merges = tk_json_get(tk_json_get(l->root, "model"), "merges");
    size_t n = tk_json_len(merges);
    if (!tk_json_is_array(merges) || n > TK_TOK_MAX_TOKENS) {
        return tk_tok_load_bad(l, "merges are missing or too many");
    }
    tinkc_code code = tk_tok_merges_init(l->tok, n, l->err);
    if (code == TINKC_OK && !l->tok->byte_level) {
        code = tk_tok_symbol_init(l->tok, l->err);
    }
    pending group[GROUP];
    tk_buf joined;
    tk_buf_init(&joined, 2 * TK_STRING_MAX_BYTES);
    for (size_t first = 0; first < n && code == TINKC_OK; first += GROUP) {
        size_t count = TK_MIN(n - first, (size_t)GROUP);
        code = read_group(l, merges, first, count, group, &joined);
        if (code == TINKC_OK) {
            look_up(l->tok, group, count);
            code = store_group(l, group, first, count);
        }
    }
    tk_buf_dispose(&joined);
    return code;
}
