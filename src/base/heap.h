/* Intrusive heap of deadlines. Nothing is allocated, so setting a timer cannot fail.
 *
 * Equal deadlines come out in the order in which they were put in. Thread: one at a
 * time. */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include "base/tk.h"

typedef struct tk_heap_node tk_heap_node;

/* Embedded in the caller's struct; {0} is a node that is in no heap. */
struct tk_heap_node {
    int64_t deadline; /* read only */
    uint64_t order;
    tk_heap_node *child; /* first of its children */
    tk_heap_node *next;  /* sibling to the right */
    tk_heap_node *prev;  /* sibling to the left; the parent for a first child */
    bool linked;
};

typedef struct tk_heap {
    tk_heap_node *root;
    uint64_t next_order;
    size_t count;
} tk_heap;

void tk_heap_init(tk_heap *heap); /* {0} is an empty heap as well */

/* `node` must be in no heap. O(1). */
void tk_heap_put(tk_heap *heap, tk_heap_node *node, int64_t deadline);

/* Takes `node` out; no effect when it is in no heap. O(log n), amortised. */
void tk_heap_remove(tk_heap *heap, tk_heap_node *node);

/* Inserts the node, or moves it to a new deadline; it comes after others with the same
 * one. */
void tk_heap_move(tk_heap *heap, tk_heap_node *node, int64_t deadline);

/* The earliest, left in place; NULL when the heap is empty. O(1). */
tk_heap_node *tk_heap_min(const tk_heap *heap);

/* Takes the earliest out if its deadline is at or before `now`; else NULL. */
tk_heap_node *tk_heap_pop_due(tk_heap *heap, int64_t now);

#endif
