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

static const eng_kern *usable_avx512(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        usable_avx2() != NULL) {
        return eng_kern_avx512();
    }
#endif
    return NULL;
}

/* The i-th table that this machine runs, best first; NULL after the last one. */
static const eng_kern *usable(size_t i)
{
    const eng_kern *all[] = {usable_avx512(), usable_avx2(), eng_kern_neon(),
                             eng_kern_generic(), eng_kern_fma()};
    for (size_t at = 0; at < TK_ARRAY_LEN(all); at++) {
        if (all[at] != NULL && i-- == 0) {
            return all[at];
        }
    }
    return NULL;
}

const eng_kern *eng_kern_get(void)
{
    const eng_kern *kern = atomic_load_explicit(&selected, memory_order_acquire);
    if (kern == NULL) {
        kern = usable(0);
        atomic_store_explicit(&selected, kern, memory_order_release);
    }
    return kern;
}

bool eng_kern_select(const char *name)
{
    bool best = strcmp(name, "auto") == 0;
    const eng_kern *kern = usable(0);
    for (size_t i = 1; !best && kern != NULL && strcmp(kern->name, name) != 0; i++) {
        kern = usable(i);
    }
    if (kern == NULL) {
        return false;
    }
    atomic_store_explicit(&selected, kern, memory_order_release);
    return true;
}

const char *eng_kern_name(size_t i)
{
    const eng_kern *kern = usable(i);
    return kern != NULL ? kern->name : NULL;
}

const char *eng_kern_in_use(void)
{
    return eng_kern_get()->name;
}
