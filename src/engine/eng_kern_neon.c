/* NEON kernels come with the ARM port; until then ARM runs the generic table. */
#include "engine/eng_kern.h"

const eng_kern *eng_kern_neon(void)
{
    return NULL;
}
