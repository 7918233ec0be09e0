/* The walk over a paged list, whatever it lists: asks its source for a page when it needs
 * one, hands out each item once, stops without a request that could be spared.
 *
 * A list may change between two pages. Items that moved down come again and are known by
 * their id; when the list became shorter, items may have moved up over the border, so the
 * walk steps back as far as the list shrank. Thread: one at a time. */
#ifndef CLIENT_PAGER_H
#define CLIENT_PAGER_H

#include "base/err.h"
#include "base/map.h"
#include "base/str.h"

/* One page, owned by the source until its next fetch. */
typedef struct tk_page {
    size_t n;
    int64_t total;     /* of the whole list; -1: not known */
    bool is_too_large; /* with TINKC_E_LIMIT: a smaller page may be accepted */
} tk_page;

typedef struct tk_pager_source {
    /* Fetches up to `limit` items from `offset` on, replacing the page before. On failure
     * that one stays. */
    tinkc_code (*fetch)(void *user, int64_t offset, int64_t limit, tk_page *out,
                        tk_err *err);
    tk_str (*id)(void *user, size_t index); /* of an item of the page */
    void *user;
} tk_pager_source;

typedef struct tk_pager {
    tk_pager_source source;
    int64_t page_size;
    int64_t left;   /* items still to be handed out; -1: all */
    int64_t offset; /* of the next page */
    int64_t asked;  /* limit of the current page */
    tk_page page;
    size_t at;   /* next item of the page */
    bool ended;  /* there is no page after this one */
    bool found;  /* page[at] was looked at and is new */
    int stale;   /* pages in a row without a new item */
    tk_map seen; /* ids */
} tk_pager;

/* `limit` 0: all. Makes no request. */
void tk_pager_init(tk_pager *pager, const tk_pager_source *source, int64_t page_size,
                   int64_t offset, int64_t limit);
void tk_pager_dispose(tk_pager *pager);

/* Whether there is another item; then it is the one at pager->at. Repeatable. An error
 * changes nothing, except that TINKC_E_DECODE, for a list that only repeats itself, lets
 * the next call look further. A page that is too large (TINKC_E_LIMIT) is asked for again
 * with fewer items, down to one. */
TK_NODISCARD tinkc_code tk_pager_peek(bool *out, tk_pager *pager, tk_err *err);

/* Takes it: its index in the page. TINKC_E_MISSING at the end. */
TK_NODISCARD tinkc_code tk_pager_next(size_t *index, tk_pager *pager, tk_err *err);

#endif
