/* Key/value memory of a sampler: pages of ENG_KV_BLOCK positions over all layers,
 * counted, shared between sequences, never more than a fixed number.
 *
 * A full page can be published under (weights, the page before it, its tokens); later
 * sequences with the same prefix find it. A page that is not full is published when the
 * only sequence that has it ends. Sequences whose tokens agree with a part of a published
 * page copy that part. Published pages that are not in use are kept until the room is
 * needed, the longest unused first. Thread: one at a time. */
#ifndef ENGINE_ENG_PAGES_H
#define ENGINE_ENG_PAGES_H

#include "base/hash.h"
#include "base/list.h"
#include "engine/eng_kv.h"

typedef struct eng_page {
    eng_real *blocks; /* [layers] blocks of eng_kv_block_reals */
    size_t refs;
    uint64_t serial; /* of this content; never used twice */
    /* of the tokens here, each after those before it; NaN: not known */
    float logprobs[ENG_KV_BLOCK];
    /* while published */
    bool published;
    uint64_t weights, parent;
    int32_t tokens[ENG_KV_BLOCK];
    size_t n;                   /* of them; less than ENG_KV_BLOCK: nothing holds it */
    struct eng_page *next_same; /* in its bucket, while it is full */
    tk_list start;              /* linked with those that may begin alike */
    tk_list unused;             /* linked while refs is 0 */
} eng_page;

typedef struct eng_pages {
    const eng_config *config;
    size_t page_bytes;
    size_t max;       /* pages */
    size_t allocated; /* held, published or free */
    size_t held;      /* refs > 0 */
    uint64_t next_serial;
    tk_hash_key hash_key;
    eng_page **buckets;
    tk_list *starts;  /* [n_buckets], the last used first */
    size_t n_buckets; /* a power of two */
    tk_list unused;   /* published, not held; longest unused first */
    tk_list spare;    /* neither */
} eng_pages;

/* What a page is published under. parent 0 = it is the first one. */
typedef struct eng_page_key {
    uint64_t weights, parent;
    const int32_t *tokens;
    size_t n; /* tokens; ENG_KV_BLOCK: a full page */
} eng_page_key;

/* TINKC_E_INVALID when max_bytes does not hold a page. */
TK_NODISCARD tinkc_code eng_pages_init(eng_pages *pages, const eng_config *config,
                                       size_t max_bytes, tk_err *err);
void eng_pages_dispose(eng_pages *pages); /* nothing may be held */

static inline size_t eng_pages_available(const eng_pages *pages)
{
    return pages->max - pages->held;
}

static inline eng_real *eng_page_block(const eng_page *page, const eng_config *config,
                                       size_t layer)
{
    return page->blocks + layer * eng_kv_block_reals(config);
}

/* A zeroed page held once, at the cost of an unused one if need be. NULL: none available,
 * or out of memory. */
TK_NODISCARD eng_page *eng_pages_take(eng_pages *pages);
void eng_pages_hold(eng_pages *pages, eng_page *page);
void eng_pages_release(eng_pages *pages, eng_page *page);

/* The published page that is full, held once more; or NULL. */
TK_NODISCARD eng_page *eng_pages_find(eng_pages *pages, const eng_page_key *key);

/* The fewest positions that are worth copying a page. */
#define ENG_PAGES_ALIKE 4

/* The published page that agrees with the most tokens of the key, held once more; or NULL
 * when none agrees with ENG_PAGES_ALIKE of them. *n is their number. Not every page is
 * looked at when many begin alike. */
TK_NODISCARD eng_page *eng_pages_find_alike(eng_pages *pages, const eng_page_key *key,
                                            size_t *n);

/* Releases a page that only the caller holds and whose first positions are those of the
 * key, which is not full. It is published unless another one has all that it has; that one
 * learns the log-probabilities. */
void eng_pages_keep(eng_pages *pages, eng_page *page, const eng_page_key *key);

/* Publishes a full page that the caller holds and returns it; when its like is published
 * already, that one learns the log-probabilities, the caller's hold moves to it, and it is
 * returned. */
eng_page *eng_pages_publish(eng_pages *pages, eng_page *page, const eng_page_key *key);

#endif
