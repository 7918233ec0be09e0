/* Intrusive doubly linked list: a circle through a head that is not an element.
 *
 * An element embeds a tk_list and is found again with TK_CONTAINER_OF. A node that was
 * initialised or removed points to itself, so removing twice is harmless. To walk:
 *     for (tk_list *at = head.next; at != &head; at = at->next)
 * Thread: one at a time. */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include "base/tk.h"

typedef struct tk_list tk_list;

struct tk_list {
    tk_list *prev;
    tk_list *next;
};

static inline void tk_list_init(tk_list *node)
{
    node->prev = node;
    node->next = node;
}

static inline bool tk_list_is_empty(const tk_list *head)
{
    return head->next == head;
}

static inline bool tk_list_is_linked(const tk_list *node)
{
    return node->next != node;
}

/* `node` must not be in a list. Before the head is the end of the list. */
static inline void tk_list_insert_before(tk_list *at, tk_list *node)
{
    node->prev = at->prev;
    node->next = at;
    at->prev->next = node;
    at->prev = node;
}

static inline void tk_list_push_back(tk_list *head, tk_list *node)
{
    tk_list_insert_before(head, node);
}

static inline void tk_list_push_front(tk_list *head, tk_list *node)
{
    tk_list_insert_before(head->next, node);
}

static inline void tk_list_remove(tk_list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    tk_list_init(node);
}

/* The first element, taken out, or NULL. */
static inline tk_list *tk_list_pop_front(tk_list *head)
{
    if (tk_list_is_empty(head)) {
        return NULL;
    }
    tk_list *node = head->next;
    tk_list_remove(node);
    return node;
}

/* Appends all elements of `from` to `head`. */
static inline void tk_list_splice_back(tk_list *head, tk_list *from)
{
    if (tk_list_is_empty(from)) {
        return;
    }
    from->next->prev = head->prev;
    from->prev->next = head;
    head->prev->next = from->next;
    head->prev = from->prev;
    tk_list_init(from);
}

#endif
