/* The reference kernels: plain C, always built, the oracle of the others. */
#include "engine/eng_kern.h"

#define MULTIPLY_ADD(sum, x, y) ((sum) + (x) * (y))
#include "engine/eng_kern_plain.h"

const eng_kern *eng_kern_generic(void)
{
    static const eng_kern table = {
        .name = "generic",
        .rows = 6,
        PLAIN_ENTRIES,
        VEC_ENTRIES,
    };
    return &table;
}
