/* The merge loop over one piece: the pair of lowest rank first, the leftmost of equals.
 * A linked list and a heap of candidates, because a piece may be as long as the text. */
#include "base/mem.h"
#include "text/tok_int.h"

#define NONE    UINT32_MAX
#define INLINED 64 /* symbols for which no memory is allocated */

typedef struct symbol {
    int32_t id; /* -1 = merged into the one before */
    uint32_t prev, next;
} symbol;

typedef struct candidate {
    uint32_t rank, left; /* the order of merging */
    uint64_t pair;       /* what stood there when it was found */
} candidate;

typedef struct piece {
    const tk_tok *tok;
    symbol *symbols;
    candidate *heap;
    size_t n_heap;
} piece;

static const tk_tok_merge *find_merge(const tk_tok *tok, uint64_t pair)
{
    size_t low = 0, high = tok->n_merges;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tok->merges[middle].pair < pair) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < tok->n_merges && tok->merges[low].pair == pair ? &tok->merges[low]
                                                                : NULL;
}

static bool before(const candidate *a, const candidate *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->left < b->left;
}

static void push(piece *p, candidate c)
{
    size_t at = p->n_heap++;
    while (at > 0 && before(&c, &p->heap[(at - 1) / 2])) {
        p->heap[at] = p->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    p->heap[at] = c;
}

static candidate pop(piece *p)
{
    candidate top = p->heap[0], last = p->heap[--p->n_heap];
    size_t at = 0;
    for (size_t child = 1; child < p->n_heap; child = 2 * at + 1) {
        if (child + 1 < p->n_heap && before(&p->heap[child + 1], &p->heap[child])) {
            child++;
        }
        if (!before(&p->heap[child], &last)) {
            break;
        }
        p->heap[at] = p->heap[child];
        at = child;
    }
    p->heap[at] = last;
    return top;
}

static void consider(piece *p, uint32_t left)
{
    uint32_t right = left != NONE ? p->symbols[left].next : NONE;
    if (right == NONE) {
        return;
    }
    uint64_t pair = TK_TOK_PAIR(p->symbols[left].id, p->symbols[right].id);
    const tk_tok_merge *merge = find_merge(p->tok, pair);
    if (merge != NULL) {
        push(p, (candidate){merge->rank, left, pair});
    }
}

static void merge_all(piece *p)
{
    symbol *s = p->symbols;
    while (p->n_heap > 0) {
        candidate c = pop(p);
        uint32_t right = s[c.left].id >= 0 ? s[c.left].next : NONE;
        if (right == NONE || TK_TOK_PAIR(s[c.left].id, s[right].id) != c.pair) {
            continue; /* one of the two has been merged since */
        }
        s[c.left].id = find_merge(p->tok, c.pair)->id;
        s[c.left].next = s[right].next;
        if (s[right].next != NONE) {
            s[s[right].next].prev = c.left;
        }
        s[right].id = -1;
        consider(p, s[c.left].prev);
        consider(p, c.left);
    }
}

tinkc_code tk_tok_bpe(const tk_tok *tok, tk_str text, tk_tok_ids *out)
{
    symbol symbols[INLINED];
    candidate heap[3 * INLINED];
    piece p = {tok, symbols, heap, 0};
    if (!tk_tok_ids_reserve(out, text.n)) {
        return TINKC_E_NOMEM;
    }
    if (text.n > INLINED) {
        p.symbols = tk_array(text.n, sizeof(symbol));
        p.heap = tk_array(text.n, 3 * sizeof(candidate)); /* each merge adds at most 2 */
    }
    bool ok = p.symbols != NULL && p.heap != NULL;
    for (size_t i = 0; ok && i < text.n; i++) {
        uint32_t at = (uint32_t)i;
        p.symbols[i] = (symbol){tok->byte_ids[(unsigned char)text.p[i]],
                                i > 0 ? at - 1 : NONE, i + 1 < text.n ? at + 1 : NONE};
    }
    for (size_t i = 0; ok && i < text.n; i++) {
        consider(&p, (uint32_t)i);
    }
    if (ok) {
        merge_all(&p);
    }
    for (uint32_t i = 0; ok && i != NONE; i = p.symbols[i].next) {
        out->ids[out->n++] = p.symbols[i].id;
    }
    if (text.n > INLINED) {
        tk_free(p.symbols);
        tk_free(p.heap);
    }
    return ok ? TINKC_OK : TINKC_E_NOMEM;
}
