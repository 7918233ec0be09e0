/* The allocation door. Owns the process-wide hooks; see mem.h for when they may
 * change. */
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LARGE_PAGE ((uintptr_t)2 << 20)

static void *libc_realloc(void *user, void *ptr, size_t size)
{
    (void)user;
    return realloc(ptr, size);
}

static void libc_free(void *user, void *ptr)
{
    (void)user;
    free(ptr);
}

static const tk_mem_hooks libc_hooks = {libc_realloc, libc_free, NULL};
static tk_mem_hooks hooks = {libc_realloc, libc_free, NULL};

void tk_mem_set_hooks(const tk_mem_hooks *replacement)
{
    hooks = replacement != NULL ? *replacement : libc_hooks;
}

void *tk_realloc(void *ptr, size_t size)
{
    return hooks.realloc(hooks.user, ptr, size > 0 ? size : 1);
}

void *tk_malloc(size_t size)
{
    return tk_realloc(NULL, size);
}

void *tk_zalloc(size_t size)
{
    void *ptr = tk_malloc(size);
    if (ptr != NULL) {
        memset(ptr, 0, size);
    }
    return ptr;
}

void *tk_array(size_t count, size_t size)
{
    return tk_realloc_array(NULL, count, size);
}

void *tk_zarray(size_t count, size_t size)
{
    size_t bytes;
    return tk_size_mul(&bytes, count, size) ? tk_zalloc(bytes) : NULL;
}

void *tk_realloc_array(void *ptr, size_t count, size_t size)
{
    size_t bytes;
    return tk_size_mul(&bytes, count, size) ? tk_realloc(ptr, bytes) : NULL;
}

void *tk_memdup(const void *data, size_t size)
{
    void *copy = tk_malloc(size);
    if (copy != NULL && size > 0) {
        memcpy(copy, data, size);
    }
    return copy;
}

char *tk_strdup(const char *text)
{
    return tk_strndup(text, strlen(text));
}

char *tk_strndup(const char *text, size_t size)
{
    size_t bytes;
    char *copy = tk_size_add(&bytes, size, 1) ? tk_malloc(bytes) : NULL;
    if (copy != NULL) {
        if (size > 0) {
            memcpy(copy, text, size);
        }
        copy[size] = '\0';
    }
    return copy;
}

void tk_free(void *ptr)
{
    if (ptr != NULL) {
        hooks.free(hooks.user, ptr);
    }
}

void tk_mem_scattered(void *ptr, size_t size)
{
#ifdef MADV_HUGEPAGE
    uintptr_t begin = ((uintptr_t)ptr + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
    uintptr_t end = ((uintptr_t)ptr + size) & ~(LARGE_PAGE - 1);
    if (begin < end) {
        (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
    }
#else
    (void)ptr;
    (void)size;
#endif
}

void tk_mem_wipe(void *ptr, size_t size)
{
    if (ptr != NULL && size > 0) {
        explicit_bzero(ptr, size);
    }
}

bool tk_size_mul(size_t *out, size_t a, size_t b)
{
    size_t product;
    if (__builtin_mul_overflow(a, b, &product)) {
        return false;
    }
    *out = product;
    return true;
}

bool tk_size_add(size_t *out, size_t a, size_t b)
{
    size_t sum;
    if (__builtin_add_overflow(a, b, &sum)) {
        return false;
    }
    *out = sum;
    return true;
}
