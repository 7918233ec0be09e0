/* Arena blocks double in size up to 4 MiB, so a 30 MB document costs a dozen blocks. An
 * object larger than that gets its own block. */
#include "base/arena.h"

#include <string.h>

#include "base/mem.h"

#define ALIGN     ((size_t)16)
#define BLOCK_MAX (4 * TK_MIB)

struct tk_arena_block {
    tk_arena_block *next;
    size_t capacity;
    size_t used;
    _Alignas(16) unsigned char data[];
};

void tk_arena_init(tk_arena *arena, size_t max_bytes)
{
    tk_arena_init_quota(arena, max_bytes, NULL);
}

void tk_arena_init_quota(tk_arena *arena, size_t max_bytes, tk_quota *quota)
{
    *arena = (tk_arena){.max_bytes = max_bytes != 0 ? max_bytes : TK_ARENA_MAX_BYTES,
                        .quota = quota};
}

void tk_arena_dispose(tk_arena *arena)
{
    for (tk_arena_block *block = arena->head; block != NULL;) {
        tk_arena_block *next = block->next;
        tk_quota_give(arena->quota, block->capacity + sizeof(*block));
        tk_free(block);
        block = next;
    }
    arena->head = NULL;
    arena->used_bytes = 0;
    arena->refused = false;
}

void tk_arena_wipe(tk_arena *arena)
{
    for (tk_arena_block *block = arena->head; block != NULL; block = block->next) {
        tk_mem_wipe(block->data, block->capacity);
    }
}

static size_t block_capacity(const tk_arena *arena, size_t need)
{
#ifdef TINKC_SANITIZED
    (void)arena;
    return need;
#else
    size_t grown = TK_ARENA_BLOCK_BYTES;
    if (arena->head != NULL) {
        grown = TK_MIN(arena->head->capacity * 2, BLOCK_MAX);
    }
    return TK_MAX(grown, need);
#endif
}

static tk_arena_block *add_block(tk_arena *arena, size_t need)
{
    size_t capacity = block_capacity(arena, need);
    size_t bytes;
    if (!tk_size_add(&bytes, capacity, sizeof(tk_arena_block))) {
        return NULL;
    }
    if (!tk_quota_take(arena->quota, bytes)) {
        arena->refused = true;
        return NULL;
    }
    tk_arena_block *block = tk_malloc(bytes);
    if (block == NULL) {
        tk_quota_give(arena->quota, bytes);
        return NULL;
    }
    block->next = arena->head;
    block->capacity = capacity;
    block->used = 0;
    arena->head = block;
    return block;
}

bool tk_arena_reserve(tk_arena *arena, size_t size)
{
#ifdef TINKC_SANITIZED
    (void)arena;
    (void)size;
    return true;
#else
    bool fits = arena->head != NULL && size <= arena->head->capacity - arena->head->used;
    return fits || add_block(arena, size) != NULL;
#endif
}

static size_t round_up(size_t size)
{
#ifdef TINKC_SANITIZED
    return size; /* one block per object: an exact size lets ASan see every overrun */
#else
    return (size + ALIGN - 1) & ~(ALIGN - 1);
#endif
}

void *tk_arena_alloc(tk_arena *arena, size_t size)
{
    if (size > SIZE_MAX - ALIGN) {
        return NULL;
    }
    size_t need = round_up(size);
    if (arena->max_bytes == 0) {
        arena->max_bytes = TK_ARENA_MAX_BYTES; /* an arena that was only zeroed */
    }
    if (need > arena->max_bytes - arena->used_bytes) {
        return NULL;
    }
    tk_arena_block *block = arena->head;
#ifdef TINKC_SANITIZED
    block = NULL;
#endif
    if (block == NULL || need > block->capacity - block->used) {
        block = add_block(arena, need);
        if (block == NULL) {
            return NULL;
        }
    }
    void *ptr = block->data + block->used;
    block->used += need;
    arena->used_bytes += need;
    return ptr;
}

void *tk_arena_zalloc(tk_arena *arena, size_t size)
{
    void *ptr = tk_arena_alloc(arena, size);
    if (ptr != NULL) {
        memset(ptr, 0, size);
    }
    return ptr;
}

void *tk_arena_array(tk_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    return tk_size_mul(&bytes, count, size) ? tk_arena_alloc(arena, bytes) : NULL;
}

bool tk_arena_dup(tk_arena *arena, tk_str *out, const char *p, size_t n)
{
    out->p = NULL;
    out->n = 0;
    if (n == SIZE_MAX) {
        return false;
    }
    char *copy = tk_arena_alloc(arena, n + 1);
    if (copy == NULL) {
        return false;
    }
    if (n > 0) {
        memcpy(copy, p, n);
    }
    copy[n] = '\0';
    out->p = copy;
    out->n = n;
    return true;
}

void tk_arena_shrink_last(tk_arena *arena, void *ptr, size_t old_size, size_t size)
{
    size_t old_need = round_up(old_size);
    size_t new_need = round_up(size);
    tk_arena_block *block = arena->head;
    if (new_need > old_need || block == NULL ||
        block->data + block->used != (unsigned char *)ptr + old_need) {
        return;
    }
    block->used -= old_need - new_need;
    arena->used_bytes -= old_need - new_need;
}
