/* Choosing the kernel table. */
#include "engine/eng_kern.h"

#include <stdatomic.h>
#include <string.h>

static _Atomic(const eng_kern *) selected;

static const eng_kern *usable_avx2(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        return eng_kern_avx2();
    }
#endif
    return NULL;
}

const eng_kern *eng_kern_get(void)
{
    const eng_kern *kern = atomic_load_explicit(&selected, memory_order_acquire);
    if (kern != NULL) {
        return kern;
    }
    const eng_kern *best[] = {usable_avx2(), eng_kern_neon(), eng_kern_generic()};
    for (size_t i = 0; kern == NULL; i++) {
        kern = best[i];
    }
    atomic_store_explicit(&selected, kern, memory_order_release);
    return kern;
}

bool eng_kern_select(const char *name)
{
    const eng_kern *all[] = {usable_avx2(), eng_kern_neon(), eng_kern_generic()};
    for (size_t i = 0; i < TK_ARRAY_LEN(all); i++) {
        if (all[i] != NULL && strcmp(all[i]->name, name) == 0) {
            atomic_store_explicit(&selected, all[i], memory_order_release);
            return true;
        }
    }
    return false;
}
