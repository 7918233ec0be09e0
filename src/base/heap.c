/* A pairing heap: a tree in which every node is earlier than its children. An array would
 * be a little faster and could fail to grow; thousands of timers need neither. */
#include "base/heap.h"

static bool earlier(const tk_heap_node *a, const tk_heap_node *b)
{
    if (a->deadline != b->deadline) {
        return a->deadline < b->deadline;
    }
    return a->order < b->order;
}

/* Two roots become one: the later is the first child of the earlier. Either may be
 * NULL. */
static tk_heap_node *meld(tk_heap_node *a, tk_heap_node *b)
{
    if (a == NULL || b == NULL) {
        return a != NULL ? a : b;
    }
    tk_heap_node *top = earlier(a, b) ? a : b;
    tk_heap_node *below = top == a ? b : a;
    below->next = top->child;
    below->prev = top;
    if (top->child != NULL) {
        top->child->prev = below;
    }
    top->child = below;
    top->next = NULL;
    top->prev = NULL;
    return top;
}

/* Melds a list of siblings: in pairs from left to right, then the pairs together. This
 * order is what makes removal O(log n); it is a loop, not a recursion, because the list
 * may be as long as the heap. */
static tk_heap_node *meld_siblings(tk_heap_node *first)
{
    tk_heap_node *pairs = NULL;
    while (first != NULL) {
        tk_heap_node *a = first;
        tk_heap_node *b = a->next;
        first = b != NULL ? b->next : NULL;
        tk_heap_node *pair = meld(a, b);
        pair->next = pairs;
        pairs = pair;
    }
    tk_heap_node *root = NULL;
    while (pairs != NULL) {
        tk_heap_node *pair = pairs;
        pairs = pair->next;
        pair->next = NULL;
        root = meld(root, pair);
    }
    if (root != NULL) {
        root->prev = NULL;
    }
    return root;
}

void tk_heap_init(tk_heap *heap)
{
    heap->root = NULL;
    heap->next_order = 0;
    heap->count = 0;
}

void tk_heap_put(tk_heap *heap, tk_heap_node *node, int64_t deadline)
{
    node->deadline = deadline;
    node->order = heap->next_order++;
    node->child = NULL;
    node->next = NULL;
    node->prev = NULL;
    node->linked = true;
    heap->root = meld(heap->root, node);
    heap->count++;
}

/* Cuts `node`, with what hangs below it, from its parent. It is not the root. */
static void cut(tk_heap_node *node)
{
    if (node->prev->child == node) {
        node->prev->child = node->next;
    } else {
        node->prev->next = node->next;
    }
    if (node->next != NULL) {
        node->next->prev = node->prev;
    }
}

void tk_heap_remove(tk_heap *heap, tk_heap_node *node)
{
    if (!node->linked) {
        return;
    }
    tk_heap_node *below = meld_siblings(node->child);
    if (heap->root == node) {
        heap->root = below;
    } else {
        cut(node);
        heap->root = meld(heap->root, below);
    }
    node->linked = false;
    node->child = NULL;
    node->next = NULL;
    node->prev = NULL;
    heap->count--;
}

void tk_heap_move(tk_heap *heap, tk_heap_node *node, int64_t deadline)
{
    tk_heap_remove(heap, node);
    tk_heap_put(heap, node, deadline);
}

tk_heap_node *tk_heap_min(const tk_heap *heap)
{
    return heap->root;
}

tk_heap_node *tk_heap_pop_due(tk_heap *heap, int64_t now)
{
    tk_heap_node *node = heap->root;
    if (node == NULL || node->deadline > now) {
        return NULL;
    }
    tk_heap_remove(heap, node);
    return node;
}
