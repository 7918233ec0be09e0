/* Pages and the tables of published ones; see eng_pages.h. Chains are found page by page:
 * the serial of a page identifies everything before it, so a match is exact, not only a
 * match of hashes. One table finds a full page by all its tokens, the other one every page
 * by its first tokens. */
#include "engine/eng_pages.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rand.h"

#define ALIGN       ((size_t)64)
#define BUCKETS_MAX ((size_t)1 << 20)
#define LOOKS       64 /* at pages that begin alike: each costs a comparison */

tinkc_code eng_pages_init(eng_pages *pages, const eng_config *config, size_t max_bytes,
                          tk_err *err)
{
    *pages = (eng_pages){.config = config, .next_serial = 1, .n_buckets = 1};
    size_t block = eng_kv_block_reals(config) * sizeof(eng_real);
    if (!tk_size_mul(&pages->page_bytes, block, config->layers) ||
        max_bytes < pages->page_bytes) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "max_kv_bytes must be at least one block of %d positions: %zu",
                          ENG_KV_BLOCK, pages->page_bytes);
    }
    pages->max = max_bytes / pages->page_bytes;
    tk_list_init(&pages->unused);
    tk_list_init(&pages->spare);
    tinkc_code code = tk_rand_entropy(&pages->hash_key, sizeof(pages->hash_key), err);
    if (code != TINKC_OK) {
        return code;
    }
    while (pages->n_buckets < TK_MIN(pages->max, BUCKETS_MAX)) {
        pages->n_buckets *= 2;
    }
    pages->buckets = tk_zarray(pages->n_buckets, sizeof(eng_page *));
    pages->starts = tk_zarray(pages->n_buckets, sizeof(tk_list));
    for (size_t i = 0; pages->starts != NULL && i < pages->n_buckets; i++) {
        tk_list_init(&pages->starts[i]);
    }
    bool made = pages->buckets != NULL && pages->starts != NULL;
    return made ? TINKC_OK : tk_err_nomem(err);
}

static uint64_t hash_of(const eng_pages *pages, const eng_page_key *key)
{
    struct {
        uint64_t weights, parent;
        int32_t tokens[ENG_KV_BLOCK];
    } bytes = {.weights = key->weights, .parent = key->parent};
    memcpy(bytes.tokens, key->tokens, key->n * sizeof(*key->tokens));
    return tk_hash_bytes(pages->hash_key, &bytes, sizeof(bytes));
}

static eng_page **bucket_of(eng_pages *pages, const eng_page_key *key)
{
    return &pages->buckets[hash_of(pages, key) & (pages->n_buckets - 1)];
}

/* Where pages are that begin as the key does, which has ENG_PAGES_ALIKE tokens. */
static tk_list *start_of(eng_pages *pages, const eng_page_key *key)
{
    eng_page_key first = *key;
    first.n = ENG_PAGES_ALIKE;
    return &pages->starts[hash_of(pages, &first) & (pages->n_buckets - 1)];
}

static eng_page_key key_of(const eng_page *page)
{
    return (eng_page_key){page->weights, page->parent, page->tokens, page->n};
}

static void unpublish(eng_pages *pages, eng_page *page)
{
    eng_page_key key = key_of(page);
    tk_list_remove(&page->start);
    page->published = false;
    if (page->n < ENG_KV_BLOCK) {
        return;
    }
    eng_page **at = bucket_of(pages, &key);
    while (*at != page) {
        at = &(*at)->next_same;
    }
    *at = page->next_same;
}

static eng_page *new_page(eng_pages *pages)
{
    size_t bytes;
    eng_page *page = tk_size_add(&bytes, pages->page_bytes, sizeof(eng_page) + ALIGN)
                         ? tk_malloc(bytes)
                         : NULL;
    if (page == NULL) {
        return NULL;
    }
    *page = (eng_page){.refs = 0};
    char *data = (char *)(page + 1);
    data += (ALIGN - (uintptr_t)data % ALIGN) % ALIGN;
    page->blocks = (eng_real *)(void *)data;
    tk_list_init(&page->unused);
    tk_list_init(&page->start);
    pages->allocated++;
    return page;
}

eng_page *eng_pages_take(eng_pages *pages)
{
    tk_list *node = tk_list_pop_front(&pages->spare);
    eng_page *page = node != NULL ? TK_CONTAINER_OF(node, eng_page, unused) : NULL;
    if (page == NULL && pages->allocated < pages->max) {
        page = new_page(pages);
    }
    if (page == NULL) {
        node = tk_list_pop_front(&pages->unused);
        if (node == NULL) {
            return NULL;
        }
        page = TK_CONTAINER_OF(node, eng_page, unused);
        unpublish(pages, page);
    }
    memset(page->blocks, 0, pages->page_bytes);
    for (size_t i = 0; i < ENG_KV_BLOCK; i++) {
        page->logprobs[i] = NAN;
    }
    page->serial = pages->next_serial++;
    page->refs = 1;
    pages->held++;
    return page;
}

void eng_pages_hold(eng_pages *pages, eng_page *page)
{
    if (page->refs++ == 0) {
        tk_list_remove(&page->unused);
        pages->held++;
    }
}

void eng_pages_release(eng_pages *pages, eng_page *page)
{
    if (--page->refs > 0) {
        return;
    }
    pages->held--;
    tk_list_push_back(page->published ? &pages->unused : &pages->spare, &page->unused);
}

static eng_page *look_up(eng_pages *pages, const eng_page_key *key)
{
    for (eng_page *page = *bucket_of(pages, key); page != NULL; page = page->next_same) {
        if (page->weights == key->weights && page->parent == key->parent &&
            memcmp(page->tokens, key->tokens, sizeof(page->tokens)) == 0) {
            return page;
        }
    }
    return NULL;
}

eng_page *eng_pages_find(eng_pages *pages, const eng_page_key *key)
{
    eng_page *page = look_up(pages, key);
    if (page != NULL) {
        eng_pages_hold(pages, page);
    }
    return page;
}

/* The tokens in which a page agrees with the key. */
static size_t agree(const eng_page *page, const eng_page_key *key)
{
    size_t n = 0, most = TK_MIN(page->n, key->n);
    if (page->weights != key->weights || page->parent != key->parent) {
        return 0;
    }
    while (n < most && page->tokens[n] == key->tokens[n]) {
        n++;
    }
    return n;
}

eng_page *eng_pages_find_alike(eng_pages *pages, const eng_page_key *key, size_t *n)
{
    eng_page *best = NULL;
    size_t looks = 0;
    *n = 0;
    if (key->n < ENG_PAGES_ALIKE) {
        return NULL;
    }
    tk_list *head = start_of(pages, key);
    for (tk_list *at = head->next; at != head && looks < LOOKS; at = at->next, looks++) {
        eng_page *page = TK_CONTAINER_OF(at, eng_page, start);
        size_t common = agree(page, key);
        if (common >= ENG_PAGES_ALIKE && common > *n) {
            best = page;
            *n = common;
        }
    }
    if (best != NULL) {
        eng_pages_hold(pages, best);
        tk_list_remove(&best->start);
        tk_list_push_front(head, &best->start);
    }
    return best;
}

static void learn(eng_page *page, const eng_page *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (isnan(page->logprobs[i])) {
            page->logprobs[i] = from->logprobs[i];
        }
    }
}

/* Takes back the pages that are not full and have nothing that `by`, with the tokens of the
 * key, lacks. False: one has all that `by` has. */
static bool retire(eng_pages *pages, eng_page *by, const eng_page_key *key)
{
    tk_list *head = start_of(pages, key), *next;
    size_t looks = 0;
    for (tk_list *at = head->next; at != head && looks < LOOKS; at = next, looks++) {
        eng_page *page = TK_CONTAINER_OF(at, eng_page, start);
        size_t common = agree(page, key);
        next = at->next;
        if (common == key->n) {
            learn(page, by, key->n);
            return false;
        }
        if (common == page->n && page->n < ENG_KV_BLOCK && page->refs == 0) {
            learn(by, page, page->n);
            unpublish(pages, page);
            tk_list_remove(&page->unused);
            tk_list_push_back(&pages->spare, &page->unused);
        }
    }
    return true;
}

static void put(eng_pages *pages, eng_page *page, const eng_page_key *key)
{
    page->published = true;
    page->weights = key->weights;
    page->parent = key->parent;
    page->n = key->n;
    memcpy(page->tokens, key->tokens, key->n * sizeof(*key->tokens));
    tk_list_push_front(start_of(pages, key), &page->start);
}

eng_page *eng_pages_publish(eng_pages *pages, eng_page *page, const eng_page_key *key)
{
    if (page->published) {
        return page;
    }
    eng_page *like = eng_pages_find(pages, key);
    if (like != NULL) {
        learn(like, page, key->n);
        eng_pages_release(pages, page);
        return like;
    }
    eng_page **bucket = bucket_of(pages, key);
    (void)retire(pages, page, key);
    put(pages, page, key);
    page->next_same = *bucket;
    *bucket = page;
    return page;
}

void eng_pages_keep(eng_pages *pages, eng_page *page, const eng_page_key *key)
{
    if (key->n >= ENG_PAGES_ALIKE && retire(pages, page, key)) {
        put(pages, page, key);
    }
    eng_pages_release(pages, page);
}

static void free_list(tk_list *list)
{
    for (tk_list *node; (node = tk_list_pop_front(list)) != NULL;) {
        tk_free(TK_CONTAINER_OF(node, eng_page, unused));
    }
}

void eng_pages_dispose(eng_pages *pages)
{
    if (pages->buckets != NULL) {
        free_list(&pages->unused);
        free_list(&pages->spare);
    }
    tk_free(pages->buckets);
    tk_free(pages->starts);
    pages->buckets = NULL;
    pages->starts = NULL;
}
