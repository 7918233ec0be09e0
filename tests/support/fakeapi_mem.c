/* libc's heap for the test peer and the test client; see the header for why. */
#include "support/fakeapi_mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fakeapi_die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("fakeapi: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    abort();
}

static void *grow(void *ptr, size_t size)
{
    void *moved = realloc(ptr, size);
    if (moved == NULL) {
        fakeapi_die("out of memory (%zu bytes)", size);
    }
    return moved;
}

void *fakeapi_alloc(size_t size)
{
    void *block = grow(NULL, size > 0 ? size : 1);
    memset(block, 0, size);
    return block;
}

char *fakeapi_dup(const void *data, size_t n)
{
    char *copy = grow(NULL, n + 1);
    if (n > 0) {
        memcpy(copy, data, n);
    }
    copy[n] = '\0';
    return copy;
}

char *fakeapi_dup_text(const char *text)
{
    return text != NULL ? fakeapi_dup(text, strlen(text)) : NULL;
}

void fakeapi_release(void *ptr)
{
    free(ptr);
}

void *fakeapi_table_grow(void *table, size_t n, size_t *capacity, size_t element_size)
{
    if (n < *capacity) {
        return table;
    }
    *capacity = *capacity > 0 ? *capacity * 2 : 16;
    return grow(table, *capacity * element_size);
}

void fakeapi_bytes_reserve(fakeapi_bytes *bytes, size_t n)
{
    if (bytes->capacity - bytes->n >= n) {
        return;
    }
    size_t wanted = bytes->n + n;
    size_t doubled = bytes->capacity * 2;
    bytes->capacity = TK_MAX(TK_MAX(wanted, doubled), (size_t)256);
    bytes->p = grow(bytes->p, bytes->capacity);
}

void fakeapi_bytes_put(fakeapi_bytes *bytes, const void *data, size_t n)
{
    if (n == 0) {
        return;
    }
    fakeapi_bytes_reserve(bytes, n);
    memcpy(bytes->p + bytes->n, data, n);
    bytes->n += n;
}

void fakeapi_bytes_puts(fakeapi_bytes *bytes, const char *text)
{
    fakeapi_bytes_put(bytes, text, strlen(text));
}

void fakeapi_bytes_printf(fakeapi_bytes *bytes, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0) {
        fakeapi_die("bad format: %s", format);
    }
    fakeapi_bytes_reserve(bytes, (size_t)n + 1);
    vsnprintf(bytes->p + bytes->n, (size_t)n + 1, format, again);
    va_end(again);
    bytes->n += (size_t)n;
}

void fakeapi_bytes_drop_front(fakeapi_bytes *bytes, size_t n)
{
    if (n == 0) {
        return;
    }
    bytes->n -= n;
    memmove(bytes->p, bytes->p + n, bytes->n);
}

const char *fakeapi_bytes_cstr(fakeapi_bytes *bytes)
{
    fakeapi_bytes_reserve(bytes, 1);
    bytes->p[bytes->n] = '\0';
    return bytes->p;
}

void fakeapi_bytes_dispose(fakeapi_bytes *bytes)
{
    free(bytes->p);
    *bytes = (fakeapi_bytes){0};
}
