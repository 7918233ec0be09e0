/* The walk over a paged list. The delicate part is plan_next: where the next page starts
 * when the list shrank meanwhile. */
#include "client/rest/pager.h"

#define SMALLER   8  /* part of a page that was too large which is asked for next */
#define STALE_MAX 10 /* a list that shrinks while it is read repeats a few pages */

void tk_pager_init(tk_pager *pager, const tk_pager_source *source, int64_t page_size,
                   int64_t offset, int64_t limit)
{
    *pager = (tk_pager){.source = *source,
                        .page_size = page_size,
                        .offset = offset,
                        .left = limit > 0 ? limit : -1,
                        .page = {.total = -1}};
    tk_map_init(&pager->seen, TK_MAP_COPY_KEYS);
}

void tk_pager_dispose(tk_pager *pager)
{
    tk_map_dispose(&pager->seen);
}

/* Where the page after this one begins, and whether there is one. */
static void plan_next(tk_pager *pager, int64_t old_total)
{
    const tk_page *page = &pager->page;
    int64_t here = pager->offset;
    bool short_page = (int64_t)page->n < pager->asked;
    pager->offset = here + (int64_t)page->n;
    pager->ended = page->total >= 0 ? pager->offset >= page->total : short_page;
    if (page->n == 0) {
        pager->ended = true; /* whatever the server counts */
    }
    if (page->total >= 0 && old_total > page->total) {
        pager->offset = TK_MAX(here - (old_total - page->total), 0);
        pager->ended = false;
    }
}

/* A whole page, or what is still wanted when that is less. */
static tinkc_code fetch(tk_pager *pager, tk_err *err)
{
    tk_page page = {0};
    int64_t old_total = pager->page.total;
    int64_t limit =
        pager->left > 0 ? TK_MIN(pager->page_size, pager->left) : pager->page_size;
    tinkc_code code =
        pager->source.fetch(pager->source.user, pager->offset, limit, &page, err);
    while (code == TINKC_E_LIMIT && page.is_too_large && limit > 1) {
        limit = TK_MAX(limit / SMALLER, 1);
        pager->page_size = limit;
        page = (tk_page){0};
        tk_err_clear(err);
        code = pager->source.fetch(pager->source.user, pager->offset, limit, &page, err);
    }
    if (code != TINKC_OK) {
        return code;
    }
    pager->page = page;
    pager->asked = limit;
    pager->at = 0;
    pager->stale++;
    plan_next(pager, old_total);
    return TINKC_OK;
}

tinkc_code tk_pager_peek(bool *out, tk_pager *pager, tk_err *err)
{
    for (;;) {
        if (pager->found || pager->left == 0) {
            *out = pager->left != 0;
            return TINKC_OK;
        }
        if (pager->at < pager->page.n) {
            tk_str id = pager->source.id(pager->source.user, pager->at);
            if (!tk_map_has(&pager->seen, id)) {
                pager->found = true;
                pager->stale = 0;
            } else {
                pager->at++;
            }
        } else if (pager->ended) {
            *out = false;
            return TINKC_OK;
        } else if (pager->stale == STALE_MAX) {
            pager->stale = 0;
            return tk_err_set(err, TINKC_E_DECODE,
                              "the server sent %d pages without a new item", STALE_MAX);
        } else {
            tinkc_code code = fetch(pager, err);
            if (code != TINKC_OK) {
                return code;
            }
        }
    }
}

tinkc_code tk_pager_next(size_t *index, tk_pager *pager, tk_err *err)
{
    bool more = false;
    tinkc_code code = tk_pager_peek(&more, pager, err);
    if (code != TINKC_OK) {
        return code;
    }
    if (!more) {
        return tk_err_set(err, TINKC_E_MISSING, "the list is at its end");
    }
    code = tk_map_put(&pager->seen, pager->source.id(pager->source.user, pager->at), NULL,
                      err);
    if (code != TINKC_OK) {
        return code;
    }
    *index = pager->at++;
    pager->found = false;
    pager->left -= pager->left > 0 ? 1 : 0;
    return TINKC_OK;
}
