/* A limit on bytes that many hold: request bodies in memory, and what was decompressed
 * from them. The code that counts bytes in gives the same number back. Thread: any. */
#ifndef SERVER_SRV_BUDGET_H
#define SERVER_SRV_BUDGET_H

#include <stdatomic.h>

#include "base/tk.h"

typedef struct srv_budget {
    atomic_size_t used;
    size_t max;
} srv_budget;

void srv_budget_init(srv_budget *budget, size_t max);

/* Counts `n` bytes; returns false, and counts nothing, when that exceeds the limit. */
TK_NODISCARD bool srv_budget_take(srv_budget *budget, size_t n);
void srv_budget_give(srv_budget *budget, size_t n);

#endif
