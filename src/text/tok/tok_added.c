/* Added tokens in text: the leftmost, of those the longest, with the white space that
 * lstrip and rstrip take along. A trie of bytes finds them. */
#include "base/mem.h"
#include "text/tok/tok_tables.h"
#include "text/unicode/uni.h"

/* ---- the trie ---- */

static tk_tok_edge *edge_of(const tk_tok_trie *trie, uint32_t node, unsigned char byte)
{
    uint64_t h = ((uint64_t)node << 8 | byte) * TK_TOK_SPREAD;
    size_t at = (size_t)(h >> 32) & trie->mask;
    while (trie->edges[at].node != UINT32_MAX &&
           (trie->edges[at].node != node || trie->edges[at].byte != byte)) {
        at = (at + 1) & trie->mask;
    }
    return &trie->edges[at];
}

static void insert(tk_tok_trie *trie, tk_str content, int32_t index)
{
    uint32_t node = 0;
    for (size_t i = 0; i < content.n; i++) {
        unsigned char byte = (unsigned char)content.p[i];
        tk_tok_edge *edge = edge_of(trie, node, byte);
        if (edge->node == UINT32_MAX) {
            *edge = (tk_tok_edge){node, byte, trie->n_nodes};
            trie->ends[trie->n_nodes++] = -1;
        }
        node = edge->to;
    }
    trie->ends[node] = index;
    unsigned char first = (unsigned char)content.p[0];
    trie->only_first = trie->empty || trie->only_first == first ? first : -1;
    trie->first[first] = true;
    trie->empty = false;
}

static bool make_room(tk_tok_trie *trie, size_t bytes)
{
    size_t size = 16;
    while (size < 2 * bytes) {
        size *= 2;
    }
    trie->edges = tk_array(size, sizeof(*trie->edges));
    trie->ends = tk_array(bytes + 1, sizeof(*trie->ends));
    if (trie->edges == NULL || trie->ends == NULL) {
        return false;
    }
    memset(trie->edges, 0xFF, size * sizeof(*trie->edges));
    trie->mask = size - 1;
    trie->ends[0] = -1;
    trie->n_nodes = 1;
    return true;
}

tinkc_code tk_tok_added_build(tk_tok_trie *trie, const tk_tok *tok, bool normalized,
                              tk_err *err)
{
    size_t bytes = 0;
    trie->empty = true;
    trie->only_first = -1;
    for (size_t i = 0; i < tok->n_added; i++) {
        bytes += tok->added[i].normalized == normalized ? tok->added[i].content.n : 0;
    }
    if (bytes == 0) {
        return TINKC_OK;
    }
    if (bytes > UINT32_MAX / 4) {
        return tk_err_set(err, TINKC_E_LIMIT, "tokenizer.json: added tokens too long");
    }
    if (!make_room(trie, bytes)) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < tok->n_added; i++) {
        if (tok->added[i].normalized == normalized && tok->added[i].content.n > 0) {
            insert(trie, tok->added[i].content, (int32_t)i);
        }
    }
    return TINKC_OK;
}

void tk_tok_added_dispose(tk_tok_trie *trie)
{
    tk_free(trie->edges);
    tk_free(trie->ends);
    trie->edges = NULL;
    trie->ends = NULL;
}

/* Index of the longest token that begins at p; -1 = none. */
static int32_t longest_at(const tk_tok_trie *trie, const char *p, size_t n)
{
    int32_t found = -1;
    uint32_t node = 0;
    for (size_t i = 0; i < n; i++) {
        const tk_tok_edge *edge = edge_of(trie, node, (unsigned char)p[i]);
        if (edge->node == UINT32_MAX) {
            break;
        }
        node = edge->to;
        found = trie->ends[node] >= 0 ? trie->ends[node] : found;
    }
    return found;
}

/* ---- around a match ---- */

/* Where the character that ends at `at` begins. */
static size_t before(tk_str text, size_t at)
{
    at--;
    while (at > 0 && ((unsigned char)text.p[at] & 0xC0) == 0x80) {
        at--;
    }
    return at;
}

static uint8_t value(tk_str text, size_t at, size_t *n)
{
    return tk_uni_of(tk_uni_decode((const unsigned char *)text.p + at, n));
}

static bool is_space(uint8_t v)
{
    return TK_UNI_SPACES >> (v & TK_UNI_CLASS_MASK) & 1;
}

static bool stands_alone(tk_str text, size_t begin, size_t end)
{
    size_t n;
    return (begin == 0 || !(value(text, before(text, begin), &n) & TK_UNI_WORD)) &&
           (end == text.n || !(value(text, end, &n) & TK_UNI_WORD));
}

/* Tokens of white space may lie in what the ones before them took: that much is known to
 * be white space and is not read again. Otherwise a long run of it would be read once per
 * token. */
static void take_spaces(tk_tok_match *m, const tk_tok_added *a, tk_str text, size_t begun)
{
    size_t n;
    if (a->lstrip) {
        while (m->begin > begun && is_space(value(text, before(text, m->begin), &n))) {
            m->begin = before(text, m->begin);
        }
        m->begin = TK_MAX(m->begin, begun);
    }
    if (a->rstrip) {
        m->end = TK_MAX(m->end, m->blank);
        while (m->end < text.n && is_space(value(text, m->end, &n))) {
            m->end += n;
        }
        m->blank = m->end;
    }
}

/* The next place where a token may begin. */
static size_t candidate(const tk_tok_trie *trie, tk_str text, size_t at)
{
    if (trie->only_first >= 0) {
        const char *hit = memchr(text.p + at, trie->only_first, text.n - at);
        return hit != NULL ? (size_t)(hit - text.p) : text.n;
    }
    while (at < text.n && !trie->first[(unsigned char)text.p[at]]) {
        at++;
    }
    return at;
}

bool tk_tok_added_find(tk_tok_match *match, const tk_tok *tok, const tk_tok_trie *trie,
                       tk_str text, size_t from, size_t begun)
{
    if (trie->empty) {
        return false;
    }
    for (size_t at = from; at < text.n;) {
        at = candidate(trie, text, at);
        int32_t index = at < text.n ? longest_at(trie, text.p + at, text.n - at) : -1;
        if (index < 0) {
            at++;
            continue;
        }
        const tk_tok_added *a = &tok->added[index];
        size_t end = at + a->content.n;
        if (a->single_word && !stands_alone(text, at, end)) {
            at = end;
            continue;
        }
        *match = (tk_tok_match){at, end, end, match->blank, a->id};
        take_spaces(match, a, text, begun);
        return true;
    }
    return false;
}
