/* A program of a user: compiled as C and as C++ against an installed tinkc. It owns
 * names that libtinkc uses inside; they must not meet. */
#include <stdio.h>
#include <string.h>

#include <tinkc/tinkc.h>

#ifdef __cplusplus
extern "C" {
#endif
void *tk_malloc(size_t size);
void tk_free(void *ptr);
#ifdef __cplusplus
}
#endif

static int calls;

void *tk_malloc(size_t size)
{
    (void)size;
    calls++;
    return NULL;
}

void tk_free(void *ptr)
{
    (void)ptr;
    calls++;
}

int main(void)
{
    puts(tinkc_version());
    bool same = strcmp(tinkc_version(), TINKC_VERSION) == 0;
    return same && calls == 0 ? 0 : 1;
}
