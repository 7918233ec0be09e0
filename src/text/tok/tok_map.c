/* Where text came from, through repair and normalisation: a range of the new text back to
 * the old one, by a binary search among anchors. Between two anchors that are equally far
 * apart in both texts bytes correspond one to one; other stretches count as a whole. */
#include "base/mem.h"
#include "text/tok/tok_work.h"

void tk_tok_map_add(tk_tok_map *map, size_t to, size_t from)
{
    if (map->off || map->failed) {
        return;
    }
    if (map->n == map->capacity) {
        size_t capacity = map->capacity != 0 ? map->capacity * 2 : 16;
        tk_tok_anchor *grown = tk_realloc_array(map->anchors, capacity, sizeof(*grown));
        if (grown == NULL) {
            map->failed = true;
            return;
        }
        map->anchors = grown;
        map->capacity = capacity;
    }
    map->anchors[map->n++] = (tk_tok_anchor){to, from};
}

void tk_tok_map_dispose(tk_tok_map *map)
{
    tk_free(map->anchors);
    *map = (tk_tok_map){.off = map->off};
}

/* The last anchor with to <= at, but never the one that marks the end. */
static size_t anchor_of(const tk_tok_map *map, size_t at)
{
    size_t low = 0, high = map->n - 1;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (map->anchors[middle].to <= at) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

void tk_tok_map_back(const tk_tok_map *map, size_t *begin, size_t *end)
{
    if (map->n < 2) {
        return;
    }
    bool empty = *begin == *end;
    const tk_tok_anchor *a = &map->anchors[anchor_of(map, *begin)];
    size_t first = a[1].to - a[0].to == a[1].from - a[0].from
                       ? a[0].from + (*begin - a[0].to)
                       : a[0].from;
    const tk_tok_anchor *b = &map->anchors[anchor_of(map, empty ? *begin : *end - 1)];
    size_t last = b[1].to - b[0].to == b[1].from - b[0].from
                      ? b[0].from + (*end - b[0].to)
                      : b[1].from;
    *begin = first;
    *end = empty ? first : last;
}

void tk_tok_map_compose(tk_tok_map *outer, tk_tok_map *inner)
{
    for (size_t i = 0; i < inner->n && outer->n > 0; i++) {
        size_t end = inner->anchors[i].from;
        tk_tok_map_back(outer, &inner->anchors[i].from, &end);
    }
    inner->failed = inner->failed || outer->failed;
    tk_tok_map_dispose(outer);
    *outer = *inner;
}
