/* The one door to the heap. Nothing else in src/ may call malloc, realloc or free.
 *
 * Every size is overflow-checked here. Tests install hooks to count allocations and to
 * make the Nth one fail; users may install their own allocator before the first call.
 * Thread: any. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include "base/tk.h"

typedef struct tk_mem_hooks {
    void *(*realloc)(void *user, void *ptr, size_t size); /* ptr may be NULL; size > 0 */
    void (*free)(void *user, void *ptr);                  /* ptr is never NULL */
    void *user;
} tk_mem_hooks;

/* Replaces the allocator; NULL restores libc's. Not thread-safe: call it while no other
 * thread uses the library and nothing allocated by the old hooks is alive. */
void tk_mem_set_hooks(const tk_mem_hooks *hooks);

/* All return NULL when out of memory or when the size overflows. A size of 0 gives a
 * valid pointer to nothing. The caller frees with tk_free. */
TK_NODISCARD void *tk_malloc(size_t size);
TK_NODISCARD void *tk_zalloc(size_t size);
TK_NODISCARD void *tk_array(size_t count, size_t size);
TK_NODISCARD void *tk_zarray(size_t count, size_t size);

/* On failure the old block is untouched and still owned by the caller. */
TK_NODISCARD void *tk_realloc(void *ptr, size_t size);
TK_NODISCARD void *tk_realloc_array(void *ptr, size_t count, size_t size);

TK_NODISCARD void *tk_memdup(const void *data, size_t size);
TK_NODISCARD char *tk_strdup(const char *text);
TK_NODISCARD char *tk_strndup(const char *text, size_t size); /* adds the NUL */

void tk_free(void *ptr); /* accepts NULL */

/* For a new block of megabytes that will be read all over: asks the system to back it by
 * large pages, before anything is written to it. Advice; it may change nothing. */
void tk_mem_scattered(void *ptr, size_t size);

/* Overwrites a secret in a way the compiler may not drop. */
void tk_mem_wipe(void *ptr, size_t size);

/* *out = a * b or a + b; false (and *out untouched) when it does not fit. */
TK_NODISCARD bool tk_size_mul(size_t *out, size_t a, size_t b);
TK_NODISCARD bool tk_size_add(size_t *out, size_t a, size_t b);

#endif
