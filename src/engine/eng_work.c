/* Bump allocation over a list of blocks; see eng_work.h. */
#include "engine/eng_work.h"

#include <sys/mman.h>

#include "base/mem.h"

#define ALIGN     ((size_t)64)
#define BLOCK_MIN ((size_t)256 * 1024)
#define HUGE_PAGE ((size_t)2 << 20)

struct eng_work_block {
    eng_work_block *next;
    char *data; /* aligned */
    size_t capacity, used;
};

/* Walking page tables costs a third of the speed of decoding: weights want large pages.
 * Advice only; nothing depends on it. */
static void advise(char *data, size_t n)
{
#ifdef MADV_HUGEPAGE
    size_t skip = (HUGE_PAGE - (uintptr_t)data % HUGE_PAGE) % HUGE_PAGE;
    if (n >= skip + HUGE_PAGE) {
        (void)madvise(data + skip, (n - skip) / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
    }
#else
    (void)data;
    (void)n;
#endif
}

/* `full` bytes of the block are taken at once. */
static eng_work_block *add_block(eng_work *work, size_t capacity, size_t full)
{
    size_t bytes;
    if (!tk_size_add(&bytes, capacity, sizeof(eng_work_block) + ALIGN)) {
        return NULL;
    }
    eng_work_block *block = tk_malloc(bytes);
    if (block == NULL) {
        return NULL;
    }
    char *data = (char *)(block + 1);
    block->data = data + (ALIGN - (uintptr_t)data % ALIGN) % ALIGN;
    block->capacity = capacity;
    block->used = 0;
    advise(block->data, capacity);
    eng_work_block *head = work->head;
    if (head != NULL && capacity - full < head->capacity - head->used) {
        block->next = head->next; /* more is left of the other one: it goes on */
        head->next = block;
    } else {
        block->next = head;
        work->head = block;
    }
    return block;
}

void *eng_work_array(eng_work *work, size_t count, size_t size)
{
    size_t bytes;
    if (!tk_size_mul(&bytes, count, size) || bytes > SIZE_MAX / 2) {
        return NULL;
    }
    bytes = TK_MAX((bytes + ALIGN - 1) & ~(ALIGN - 1), ALIGN);
    eng_work_block *block = work->head;
#ifdef TINKC_SANITIZED
    block = add_block(work, bytes, bytes); /* each piece alone: ASan sees an overrun */
#else
    if (block == NULL || bytes > block->capacity - block->used) {
        block = add_block(work, TK_MAX(TK_MAX(bytes, work->want), BLOCK_MIN), bytes);
        work->want = 0;
    }
#endif
    if (block == NULL) {
        return NULL;
    }
    void *piece = block->data + block->used;
    block->used += bytes;
    work->used += bytes;
    return piece;
}

eng_real *eng_work_reals(eng_work *work, size_t rows, size_t columns)
{
    size_t count;
    return tk_size_mul(&count, rows, columns)
               ? eng_work_array(work, count, sizeof(eng_real))
               : NULL;
}

static void free_blocks(eng_work *work)
{
    for (eng_work_block *block = work->head; block != NULL;) {
        eng_work_block *next = block->next;
        tk_free(block);
        block = next;
    }
    work->head = NULL;
}

void eng_work_reset(eng_work *work)
{
#ifdef TINKC_SANITIZED
    free_blocks(work);
#else
    if (work->head != NULL && work->head->next != NULL) {
        free_blocks(work);
        work->want = work->used; /* one block next time */
    } else if (work->head != NULL) {
        work->head->used = 0;
    }
#endif
    work->used = 0;
}

void eng_work_dispose(eng_work *work)
{
    free_blocks(work);
    *work = (eng_work){NULL, 0, 0};
}

size_t eng_work_kept(const eng_work *work)
{
    size_t bytes = 0;
    for (const eng_work_block *block = work->head; block != NULL; block = block->next) {
        bytes += block->capacity;
    }
    return bytes;
}
