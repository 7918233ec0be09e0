/* Adds only what fits, in one step: two threads cannot both take the last bytes, and what
 * is refused is never counted, which would refuse the small blocks of other threads. */
#include "server/http/srv_budget.h"

#include "base/limits.h"
#include "server/http/srv_ram.h"

#define RESERVE_SHARE 8 /* of the whole: an eighth, for small blocks */

/* The share of the whole that a part may take, as a divisor; 1 = all of it. */
static const struct {
    const char *name;
    size_t share;
} rows[SRV_PARTS] = {
    [SRV_PART_MODELS] = {"models", 1},      [SRV_PART_CACHE] = {"cache", 1},
    [SRV_PART_WORK] = {"work", 1},          [SRV_PART_ADAPTERS] = {"adapters", 1},
    [SRV_PART_SAMPLERS] = {"samplers", 16}, [SRV_PART_REQUESTS] = {"requests", 2},
    [SRV_PART_JOBS] = {"jobs", 2},          [SRV_PART_RESULTS] = {"results", 4},
    [SRV_PART_STREAMS] = {"streams", 8},    [SRV_PART_CONNECTIONS] = {"connections", 8},
};

size_t srv_budget_default(void)
{
    return srv_ram_bytes() / 4 * 3;
}

static void note_peak(srv_budget *budget, size_t all)
{
    size_t peak = atomic_load(&budget->peak);
    while (all > peak && !atomic_compare_exchange_weak(&budget->peak, &peak, all)) {
    }
}

/* Adds `n` unless the sum exceeds `max`; *sum is what it is then. */
static bool add_within(atomic_size_t *at, size_t n, size_t max, size_t *sum)
{
    size_t used = atomic_load(at);
    do {
        if (used > max || n > max - used) {
            return false;
        }
        *sum = used + n;
    } while (!atomic_compare_exchange_weak(at, &used, *sum));
    return true;
}

static bool take(srv_part *part, size_t n)
{
    srv_budget *budget = part->budget;
    bool small = n <= SRV_BUDGET_SMALL_BYTES;
    size_t limit = small ? budget->max : budget->max - budget->max / RESERVE_SHARE;
    size_t own = 0, all = 0;
    bool fits = add_within(&part->used, n, small ? SIZE_MAX : part->max, &own);
    if (fits && !add_within(&budget->used, n, limit, &all)) {
        atomic_fetch_sub(&part->used, n);
        fits = false;
    }
    if (!fits) {
        atomic_fetch_add(&budget->refused, 1);
        return false;
    }
    note_peak(budget, all);
    return true;
}

static void give(srv_part *part, size_t n)
{
    atomic_fetch_sub(&part->used, n);
    atomic_fetch_sub(&part->budget->used, n);
}

static bool take_quota(tk_quota *quota, size_t n)
{
    return take(TK_CONTAINER_OF(quota, srv_part, quota), n);
}

static void give_quota(tk_quota *quota, size_t n)
{
    give(TK_CONTAINER_OF(quota, srv_part, quota), n);
}

void srv_budget_init(srv_budget *budget, size_t max)
{
    budget->max = max > 0 ? max : srv_budget_default();
    atomic_init(&budget->used, 0);
    atomic_init(&budget->peak, 0);
    atomic_init(&budget->refused, 0);
    atomic_init(&budget->files, 0);
    budget->max_files = SIZE_MAX;
    for (size_t i = 0; i < SRV_PARTS; i++) {
        srv_part *part = &budget->parts[i];
        part->quota = (tk_quota){take_quota, give_quota};
        part->budget = budget;
        part->max = budget->max / rows[i].share;
        atomic_init(&part->used, 0);
    }
}

bool srv_budget_take(srv_budget *budget, srv_part_name part, size_t n)
{
    return take(&budget->parts[part], n);
}

void srv_budget_give(srv_budget *budget, srv_part_name part, size_t n)
{
    give(&budget->parts[part], n);
}

void srv_budget_add(srv_budget *budget, srv_part_name part, size_t n)
{
    atomic_fetch_add(&budget->parts[part].used, n);
    note_peak(budget, atomic_fetch_add(&budget->used, n) + n);
}

bool srv_budget_take_file(srv_budget *budget)
{
    size_t files = 0;
    return add_within(&budget->files, 1, budget->max_files, &files);
}

void srv_budget_give_file(srv_budget *budget)
{
    atomic_fetch_sub(&budget->files, 1);
}

static double mib(size_t n)
{
    return (double)n / (double)TK_MIB;
}

int srv_budget_refuse(const srv_budget *budget, srv_part_name part, size_t n,
                      const char *what, tk_err *err)
{
    static const srv_part_name fixed[] = {SRV_PART_MODELS, SRV_PART_CACHE, SRV_PART_WORK};
    size_t most = budget->max - budget->max / RESERVE_SHARE;
    for (size_t i = 0; i < TK_ARRAY_LEN(fixed); i++) {
        if (fixed[i] != part) { /* what the part has counts for the new bytes */
            most -= TK_MIN(most, atomic_load(&budget->parts[fixed[i]].used));
        }
    }
    most = TK_MIN(most, budget->parts[part].max);
    bool never = n > most;
    (void)tk_err_set(err, never ? TINKC_E_INVALID : TINKC_E_RATE_LIMIT,
                     "%s needs %.1f MiB of memory; this server has %.1f MiB for that%s",
                     what, mib(n), mib(most), never ? "" : ", now in use; try again");
    return never ? 400 : 429;
}

bool srv_budget_has_room(const srv_budget *budget, size_t n)
{
    size_t limit = budget->max - budget->max / RESERVE_SHARE;
    size_t used = atomic_load(&budget->used);
    return used <= limit && n <= limit - used;
}

bool srv_budget_is_over(const srv_budget *budget, srv_part_name part)
{
    const srv_part *at = &budget->parts[part];
    size_t limit = budget->max - budget->max / RESERVE_SHARE;
    return atomic_load(&at->used) > at->max || atomic_load(&budget->used) > limit;
}

tk_quota *srv_budget_quota(srv_budget *budget, srv_part_name part)
{
    return &budget->parts[part].quota;
}

const char *srv_budget_part_name(srv_part_name part)
{
    return rows[part].name;
}
