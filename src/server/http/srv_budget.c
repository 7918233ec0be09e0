/* Adds first and looks afterwards, so that two threads cannot both take the last
 * bytes. */
#include "server/http/srv_budget.h"

void srv_budget_init(srv_budget *budget, size_t max)
{
    atomic_init(&budget->used, 0);
    budget->max = max;
}

bool srv_budget_take(srv_budget *budget, size_t n)
{
    size_t before = atomic_fetch_add(&budget->used, n);
    if (before + n > budget->max) {
        atomic_fetch_sub(&budget->used, n);
        return false;
    }
    return true;
}

void srv_budget_give(srv_budget *budget, size_t n)
{
    atomic_fetch_sub(&budget->used, n);
}
