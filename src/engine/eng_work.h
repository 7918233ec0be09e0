/* Working memory of one call: 64-byte aligned pieces that are given back together. After
 * a reset the memory is kept in one block, so that steps of one shape allocate once.
 * Thread: one at a time. */
#ifndef ENGINE_ENG_WORK_H
#define ENGINE_ENG_WORK_H

#include "base/tk.h"
#include "engine/eng_real.h"

typedef struct eng_work_block eng_work_block;

typedef struct eng_work {
    eng_work_block *head;
    size_t used; /* bytes handed out since the last reset */
    size_t want; /* size of the next block at least: what the last round used */
} eng_work;

/* NULL when out of memory or on overflow. Not zeroed. */
TK_NODISCARD void *eng_work_array(eng_work *work, size_t count, size_t size);
TK_NODISCARD eng_real *eng_work_reals(eng_work *work, size_t rows, size_t columns);

void eng_work_reset(eng_work *work); /* forgets all pieces, keeps the memory */
void eng_work_dispose(eng_work *work);
size_t eng_work_kept(const eng_work *work); /* returns the bytes of its blocks */

#endif
