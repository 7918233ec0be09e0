/* Byte budget with the semantics of the official SDK (docs/protocol.md §6.3): an
 * acquisition waits while the remaining budget is negative, then subtracts, so that one
 * that is larger than everything left is admitted as long as anything is left. First
 * come, first served. Loop thread only. */
#ifndef CLIENT_BUDGET_H
#define CLIENT_BUDGET_H

#include "base/list.h"
#include "base/tk.h"

typedef struct tk_budget {
    int64_t remaining;
    tk_list waiting;
    bool granting; /* a grant is running: it also handles what is released inside it */
} tk_budget;

typedef struct tk_budget_claim tk_budget_claim;

/* Embedded in what wants bytes. */
struct tk_budget_claim {
    tk_list node;
    int64_t bytes;
    bool held;
    void (*granted)(tk_budget_claim *claim);
};

void tk_budget_init(tk_budget *budget, int64_t bytes);

/* true: granted at once. false: `granted` is called later, unless it is released
 * first. */
bool tk_budget_acquire(tk_budget *budget, tk_budget_claim *claim, int64_t bytes,
                       void (*granted)(tk_budget_claim *claim));

/* Gives back what is held, or stops waiting; no effect otherwise. May call `granted` of
 * others. */
void tk_budget_release(tk_budget *budget, tk_budget_claim *claim);

#endif
