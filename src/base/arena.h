/* Bump arena: many small objects that die together, e.g. one decoded message.
 *
 * Objects are never freed singly. In builds with TINKC_SANITIZED each object is a
 * separate heap block, so that ASan sees every overrun. Thread: one at a time. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/limits.h"
#include "base/quota.h"
#include "base/str.h"
#include "base/tk.h"

typedef struct tk_arena_block tk_arena_block;

typedef struct tk_arena {
    tk_arena_block *head; /* newest block; NULL = nothing allocated yet */
    size_t used_bytes;    /* handed out so far, for the cap */
    size_t max_bytes;
    tk_quota *quota; /* or NULL */
    bool refused;    /* the quota had no room for a block: that is not out of memory */
} tk_arena;

/* No allocation happens before the first object. max_bytes 0 = TK_ARENA_MAX_BYTES. */
void tk_arena_init(tk_arena *arena, size_t max_bytes);

/* The same with a quota that counts every block before it is allocated. */
void tk_arena_init_quota(tk_arena *arena, size_t max_bytes, tk_quota *quota);

/* Frees everything; the arena is empty and usable again, with its quota. Accepts an arena
 * that was only zeroed. */
void tk_arena_dispose(tk_arena *arena);

/* Overwrites all that was allocated: for arenas with secrets, before they are disposed
 * of. */
void tk_arena_wipe(tk_arena *arena);

/* Aligned for any object; NULL when out of memory, over the cap, or on overflow. */
TK_NODISCARD void *tk_arena_alloc(tk_arena *arena, size_t size);
TK_NODISCARD void *tk_arena_zalloc(tk_arena *arena, size_t size);
TK_NODISCARD void *tk_arena_array(tk_arena *arena, size_t count, size_t size);

/* Room for objects of `size` bytes in one block. Large messages do this first: one block
 * of their size goes back to malloc's pool and comes out of it again, where several small
 * ones go back to the system and cost a page fault per 4 KiB each time. False when out of
 * memory; not counted as used. */
TK_NODISCARD bool tk_arena_reserve(tk_arena *arena, size_t size);

/* Copies the text and appends a NUL; out->p is NULL when that failed. */
TK_NODISCARD bool tk_arena_dup(tk_arena *arena, tk_str *out, const char *p, size_t n);

/* Gives back the unused tail of the newest object: its size becomes `size` (not larger
 * than it was). `ptr` must be the newest object. */
void tk_arena_shrink_last(tk_arena *arena, void *ptr, size_t old_size, size_t size);

#endif
