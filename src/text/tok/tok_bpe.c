/* The merge loop over one piece: the pair of lowest rank first, the leftmost of equals.
 *
 * Short pieces live in arrays that are searched for the lowest rank each time; long ones,
 * which may be as long as the text, in a list with a heap of candidates: n log n. */
#include "text/tok/tok_work.h"

#define NONE  UINT32_MAX
#define SHORT 100 /* symbols */

/* ---- short pieces ---- */

typedef struct symbol {
    int32_t id;
    uint32_t rank; /* of the merge with the next one */
    int32_t joined;
} symbol;

static inline void look_up(const tk_tok *tok, symbol *s)
{
    const tk_tok_merge *m = tk_tok_merges_find(tok, s[0].id, s[1].id);
    s->rank = m != NULL ? m->rank : TK_TOK_NO_RANK;
    s->joined = m != NULL ? m->id : -1;
}

static size_t lowest(const symbol *s, size_t n)
{
    uint32_t best = s[0].rank;
    size_t at = 0;
    for (size_t i = 1; i < n; i++) {
        bool lower = s[i].rank < best;
        best = lower ? s[i].rank : best;
        at = lower ? i : at;
    }
    return at;
}

static size_t merge_short(const tk_tok *tok, tk_tok_work *w, int32_t *ids, size_t n)
{
    symbol s[SHORT];
    size_t turns = n;
    s[0].id = ids[0];
    for (size_t i = 1; i < n; i++) {
        s[i].id = ids[i];
        look_up(tok, &s[i - 1]);
    }
    while (n > 1) {
        size_t at = lowest(s, n - 1);
        if (s[at].rank == TK_TOK_NO_RANK) {
            break;
        }
        turns += n;
        s[at].id = s[at].joined;
        n--;
        memmove(&s[at + 1], &s[at + 2], (n - at - 1) * sizeof(*s));
        if (at + 1 < n) {
            look_up(tok, &s[at]);
        }
        if (at > 0) {
            look_up(tok, &s[at - 1]);
        }
    }
    w->turns += turns;
    for (size_t i = 0; i < n; i++) {
        ids[i] = s[i].id;
    }
    return n;
}

/* ---- long pieces ---- */

/* Keys are rank << 32 | position; four children, because a miss costs more than a
 * comparison. */
static void sift_down(uint64_t *heap, size_t n, size_t at)
{
    uint64_t key = heap[at];
    for (;;) {
        size_t first = 4 * at + 1;
        if (first >= n) {
            break;
        }
        size_t best = first, end = TK_MIN(first + 4, n);
        for (size_t child = first + 1; child < end; child++) {
            best = heap[child] < heap[best] ? child : best;
        }
        if (heap[best] >= key) {
            break;
        }
        heap[at] = heap[best];
        at = best;
    }
    heap[at] = key;
}

static bool push(tk_tok_work *w, uint64_t key)
{
    if (!tk_tok_work_room(&w->heap, &w->heap_max, w->heap_n + 1, sizeof(*w->heap))) {
        return false;
    }
    size_t at = w->heap_n++;
    while (at > 0 && key < w->heap[(at - 1) / 4]) {
        w->heap[at] = w->heap[(at - 1) / 4];
        at = (at - 1) / 4;
    }
    w->heap[at] = key;
    return true;
}

static void rank_node(const tk_tok *tok, tk_tok_node *nodes, uint32_t i)
{
    uint32_t next = nodes[i].next;
    const tk_tok_merge *m =
        next != NONE ? tk_tok_merges_find(tok, nodes[i].id, nodes[next].id) : NULL;
    nodes[i].rank = m != NULL ? m->rank : TK_TOK_NO_RANK;
}

static bool offer(const tk_tok *tok, tk_tok_work *w, uint32_t i)
{
    rank_node(tok, w->nodes, i);
    return w->nodes[i].rank == TK_TOK_NO_RANK ||
           push(w, (uint64_t)w->nodes[i].rank << 32 | i);
}

static bool fill(const tk_tok *tok, tk_tok_work *w, const int32_t *ids, size_t n)
{
    if (n >= NONE || !tk_tok_work_room(&w->nodes, &w->nodes_max, n, sizeof(*w->nodes)) ||
        !tk_tok_work_room(&w->heap, &w->heap_max, n, sizeof(*w->heap))) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t next = i + 1 < n ? i + 1 : NONE;
        w->nodes[i] = (tk_tok_node){ids[i], i > 0 ? i - 1 : NONE, next, TK_TOK_NO_RANK};
    }
    w->heap_n = 0;
    for (uint32_t i = 0; i + 1 < n; i++) {
        rank_node(tok, w->nodes, i);
        if (w->nodes[i].rank != TK_TOK_NO_RANK) {
            w->heap[w->heap_n++] = (uint64_t)w->nodes[i].rank << 32 | i;
        }
    }
    for (size_t i = w->heap_n / 4 + 1; i-- > 0 && w->heap_n > 1;) {
        sift_down(w->heap, w->heap_n, i);
    }
    return true;
}

static uint64_t pop(tk_tok_work *w)
{
    uint64_t top = w->heap[0];
    w->heap[0] = w->heap[--w->heap_n];
    if (w->heap_n > 1) {
        sift_down(w->heap, w->heap_n, 0);
    }
    return top;
}

static size_t merge_long(const tk_tok *tok, tk_tok_work *w, int32_t *ids, size_t n)
{
    if (!fill(tok, w, ids, n)) {
        return SIZE_MAX;
    }
    size_t turns = n;
    for (; w->heap_n > 0; turns++) {
        uint64_t top = pop(w);
        uint32_t left = (uint32_t)top;
        tk_tok_node *nodes = w->nodes;
        if (nodes[left].id < 0 || nodes[left].rank != (uint32_t)(top >> 32)) {
            continue; /* one of the two has been merged since */
        }
        uint32_t right = nodes[left].next;
        nodes[left].id = tk_tok_merges_find(tok, nodes[left].id, nodes[right].id)->id;
        nodes[left].next = nodes[right].next;
        if (nodes[right].next != NONE) {
            nodes[nodes[right].next].prev = left;
        }
        nodes[right].id = -1;
        nodes[right].rank = TK_TOK_NO_RANK;
        if ((nodes[left].prev != NONE && !offer(tok, w, nodes[left].prev)) ||
            !offer(tok, w, left)) {
            return SIZE_MAX;
        }
    }
    w->turns += turns;
    size_t kept = 0;
    for (uint32_t i = 0; i != NONE; i = w->nodes[i].next) {
        ids[kept++] = w->nodes[i].id;
    }
    return kept;
}

size_t tk_tok_bpe_merge(const tk_tok *tok, tk_tok_work *work, int32_t *ids, size_t n)
{
    if (n < 2) {
        return n;
    }
    if (n == 2) {
        const tk_tok_merge *m = tk_tok_merges_find(tok, ids[0], ids[1]);
        ids[0] = m != NULL ? m->id : ids[0];
        work->turns += 2;
        return m != NULL ? 1 : 2;
    }
    return n <= SHORT ? merge_short(tok, work, ids, n) : merge_long(tok, work, ids, n);
}
