/* Memory of the scripted peer: libc's heap, on purpose not the library's door, so that an
 * allocation-failure sweep counts and fails only what the library allocates. Running out
 * of memory here ends the test program with a message. Thread: any. */
#ifndef SUPPORT_FAKEAPI_MEM_H
#define SUPPORT_FAKEAPI_MEM_H

#include <stddef.h>

#include "base/tk.h"

void *fakeapi_alloc(size_t size);              /* zeroed; never NULL */
char *fakeapi_dup(const void *data, size_t n); /* NUL-terminated; data NULL = n 0 */
char *fakeapi_dup_text(const char *text);      /* NULL gives NULL */
void fakeapi_release(void *ptr);               /* accepts NULL */

/* One more element at the end of a growing table: returns the (possibly moved) table with
 * room for index `n`. *capacity counts elements. */
void *fakeapi_table_grow(void *table, size_t n, size_t *capacity, size_t element_size);

/* Says what is wrong with the use or the surroundings of the peer, and aborts. */
void fakeapi_die(const char *format, ...) TK_PRINTF(1, 2) __attribute__((noreturn));

/* Growing bytes; {0} is empty. `p` has no NUL at its end unless one was put. */
typedef struct fakeapi_bytes {
    char *p;
    size_t n;
    size_t capacity;
} fakeapi_bytes;

void fakeapi_bytes_reserve(fakeapi_bytes *bytes, size_t n); /* room for n more */
void fakeapi_bytes_put(fakeapi_bytes *bytes, const void *data, size_t n);
void fakeapi_bytes_puts(fakeapi_bytes *bytes, const char *text);
void fakeapi_bytes_printf(fakeapi_bytes *bytes, const char *format, ...) TK_PRINTF(2, 3);
void fakeapi_bytes_drop_front(fakeapi_bytes *bytes, size_t n);
const char *fakeapi_bytes_cstr(fakeapi_bytes *bytes); /* NUL, not counted in n */
void fakeapi_bytes_dispose(fakeapi_bytes *bytes);

#endif
