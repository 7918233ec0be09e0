/* Work spaces: one encode at a time takes one from the tokenizer's pool and gives it back
 * with its caches warm. There are as many as there ever were encodes at once. */
#include "text/tok/tok_work.h"
#include "base/mem.h"

tinkc_code tk_tok_work_pool_new(tk_tok_pool **out, tk_err *err)
{
    tk_tok_pool *pool = tk_zalloc(sizeof(*pool));
    if (pool == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = tk_mutex_init(&pool->lock, err);
    if (code != TINKC_OK) {
        tk_free(pool);
        return code;
    }
    *out = pool;
    return TINKC_OK;
}

static void free_work(tk_tok_work *work)
{
    tk_free(work->word_memory);
    tk_free(work->phrases);
    tk_free(work->nodes);
    tk_free(work->heap);
    tk_buf_dispose(&work->repaired);
    tk_buf_dispose(&work->normal[0]);
    tk_buf_dispose(&work->normal[1]);
    tk_buf_dispose(&work->prefixed);
    tk_tok_matcher_dispose(&work->matcher);
    tk_free(work);
}

void tk_tok_work_pool_free(tk_tok_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    while (pool->free != NULL) {
        tk_tok_work *work = pool->free;
        pool->free = work->next;
        free_work(work);
    }
    tk_mutex_dispose(&pool->lock);
    tk_free(pool);
}

tk_tok_work *tk_tok_work_take(tk_tok_pool *pool)
{
    tk_mutex_lock(&pool->lock);
    tk_tok_work *work = pool->free;
    if (work != NULL) {
        pool->free = work->next;
    }
    tk_mutex_unlock(&pool->lock);
    if (work == NULL) {
        work = tk_zalloc(sizeof(*work));
        if (work != NULL) {
            tk_buf_init(&work->repaired, 3 * TK_TOK_TEXT_MAX_BYTES);
            tk_buf_init(&work->normal[0], 4 * TK_TOK_TEXT_MAX_BYTES);
            tk_buf_init(&work->normal[1], 4 * TK_TOK_TEXT_MAX_BYTES);
            tk_buf_init(&work->prefixed, 4 * TK_TOK_TEXT_MAX_BYTES);
        }
    }
    return work;
}

/* Space that one huge text needed is not kept for small ones. */
static void trim(tk_tok_work *work)
{
    if (work->nodes_max > TK_MIB / sizeof(*work->nodes)) {
        tk_free(work->nodes);
        tk_free(work->heap);
        work->nodes = NULL;
        work->heap = NULL;
        work->nodes_max = work->heap_max = 0;
    }
    tk_buf *bufs[] = {&work->repaired, &work->normal[0], &work->normal[1],
                      &work->prefixed};
    for (size_t i = 0; i < TK_ARRAY_LEN(bufs); i++) {
        if (bufs[i]->capacity > TK_MIB) {
            size_t max = bufs[i]->max;
            tk_buf_dispose(bufs[i]);
            tk_buf_init(bufs[i], max);
        }
    }
}

void tk_tok_work_give(tk_tok_pool *pool, tk_tok_work *work)
{
    trim(work);
    tk_mutex_lock(&pool->lock);
    work->next = pool->free;
    pool->free = work;
    tk_mutex_unlock(&pool->lock);
}

bool tk_tok_work_room(void *items, size_t *max, size_t n, size_t size)
{
    if (n <= *max) {
        return true;
    }
    n = TK_MAX(n, *max + *max / 2);
    void *old;
    memcpy(&old, items, sizeof(old));
    void *grown = tk_realloc_array(old, n, size);
    if (grown == NULL) {
        return false;
    }
    memcpy(items, &grown, sizeof(grown));
    *max = n;
    return true;
}

void tk_tok_ids_dispose(tk_tok_ids *ids)
{
    tk_free(ids->ids);
    tk_free(ids->offsets);
    *ids = (tk_tok_ids){NULL, 0, 0, NULL};
}

bool tk_tok_ids_reserve(tk_tok_ids *ids, size_t n)
{
    size_t want;
    if (!tk_size_add(&want, ids->n, n)) {
        return false;
    }
    return tk_tok_work_room(&ids->ids, &ids->capacity, want, sizeof(*ids->ids));
}
