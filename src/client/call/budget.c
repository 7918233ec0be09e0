/* Grants in order of arrival; a grant that releases inside its callback is noticed by
 * the loop that is granting. */
#include "client/call/budget.h"

void tk_budget_init(tk_budget *budget, int64_t bytes)
{
    budget->remaining = bytes;
    budget->granting = false;
    tk_list_init(&budget->waiting);
}

static void hold(tk_budget *budget, tk_budget_claim *claim)
{
    budget->remaining -= claim->bytes;
    claim->held = true;
}

bool tk_budget_acquire(tk_budget *budget, tk_budget_claim *claim, int64_t bytes,
                       void (*granted)(tk_budget_claim *claim))
{
    *claim = (tk_budget_claim){.bytes = bytes, .granted = granted};
    tk_list_init(&claim->node);
    if (budget->remaining >= 0 && tk_list_is_empty(&budget->waiting)) {
        hold(budget, claim);
        return true;
    }
    tk_list_push_back(&budget->waiting, &claim->node);
    return false;
}

void tk_budget_release(tk_budget *budget, tk_budget_claim *claim)
{
    if (claim->node.next == NULL) {
        return; /* never used */
    }
    tk_list_remove(&claim->node);
    if (claim->held) {
        budget->remaining += claim->bytes;
        claim->held = false;
    }
    if (budget->granting) {
        return; /* a grant may release at once, thousands of times */
    }
    budget->granting = true;
    while (budget->remaining >= 0 && !tk_list_is_empty(&budget->waiting)) {
        tk_list *node = tk_list_pop_front(&budget->waiting);
        tk_budget_claim *next = TK_CONTAINER_OF(node, tk_budget_claim, node);
        hold(budget, next);
        next->granted(next);
    }
    budget->granting = false;
}
