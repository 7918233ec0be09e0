/* Adds only what fits, in one step: two threads cannot both take the last bytes, and what
 * is refused is never counted, which would refuse the small blocks of other threads. */
#include "httpd/hd_budget.h"

#include "base/limits.h"
#include "httpd/hd_ram.h"

#define RESERVE_SHARE 8 /* of the whole: an eighth, for small blocks */

static const hd_part_row own_rows[HD_PARTS] = {
    [HD_PART_REQUESTS] = {"requests", 2, false},
    [HD_PART_STREAMS] = {"streams", 8, false},
    [HD_PART_CONNECTIONS] = {"connections", 8, false},
};

size_t hd_budget_default(void)
{
    return hd_ram_bytes() / 4 * 3;
}

static void note_peak(hd_budget *budget, size_t all)
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

static bool take(hd_part *part, size_t n)
{
    hd_budget *budget = part->budget;
    bool small = n <= HD_BUDGET_SMALL_BYTES;
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

static void give(hd_part *part, size_t n)
{
    atomic_fetch_sub(&part->used, n);
    atomic_fetch_sub(&part->budget->used, n);
}

static bool take_quota(tk_quota *quota, size_t n)
{
    return take(TK_CONTAINER_OF(quota, hd_part, quota), n);
}

static void give_quota(tk_quota *quota, size_t n)
{
    give(TK_CONTAINER_OF(quota, hd_part, quota), n);
}

void hd_budget_init(hd_budget *budget, size_t max, const hd_part_rows *rows)
{
    budget->max = max > 0 ? max : hd_budget_default();
    atomic_init(&budget->used, 0);
    atomic_init(&budget->peak, 0);
    atomic_init(&budget->refused, 0);
    atomic_init(&budget->files, 0);
    budget->max_files = SIZE_MAX;
    size_t more = rows != NULL ? TK_MIN(rows->n, HD_PARTS_MAX - HD_PARTS) : 0;
    budget->n_parts = HD_PARTS + (unsigned)more;
    for (size_t i = 0; i < budget->n_parts; i++) {
        hd_part *part = &budget->parts[i];
        part->row = i < HD_PARTS ? &own_rows[i] : &rows->p[i - HD_PARTS];
        part->quota = (tk_quota){take_quota, give_quota};
        part->budget = budget;
        part->max = budget->max / part->row->share;
        atomic_init(&part->used, 0);
    }
}

bool hd_budget_take(hd_budget *budget, unsigned part, size_t n)
{
    return take(&budget->parts[part], n);
}

void hd_budget_give(hd_budget *budget, unsigned part, size_t n)
{
    give(&budget->parts[part], n);
}

void hd_budget_add(hd_budget *budget, unsigned part, size_t n)
{
    atomic_fetch_add(&budget->parts[part].used, n);
    note_peak(budget, atomic_fetch_add(&budget->used, n) + n);
}

bool hd_budget_take_file(hd_budget *budget)
{
    size_t files = 0;
    return add_within(&budget->files, 1, budget->max_files, &files);
}

void hd_budget_give_file(hd_budget *budget)
{
    atomic_fetch_sub(&budget->files, 1);
}

static double mib(size_t n)
{
    return (double)n / (double)TK_MIB;
}

int hd_budget_refuse(const hd_budget *budget, unsigned part, size_t n, const char *what,
                     tk_err *err)
{
    size_t most = budget->max - budget->max / RESERVE_SHARE;
    for (unsigned i = 0; i < budget->n_parts; i++) {
        if (budget->parts[i].row->stays &&
            i != part) { /* what the part has counts for the new bytes */
            most -= TK_MIN(most, atomic_load(&budget->parts[i].used));
        }
    }
    most = TK_MIN(most, budget->parts[part].max);
    bool never = n > most;
    (void)tk_err_set(err, never ? TINKC_E_INVALID : TINKC_E_RATE_LIMIT,
                     "%s needs %.1f MiB of memory; this server has %.1f MiB for that%s",
                     what, mib(n), mib(most), never ? "" : ", now in use; try again");
    return never ? 400 : 429;
}

bool hd_budget_has_room(const hd_budget *budget, size_t n)
{
    size_t limit = budget->max - budget->max / RESERVE_SHARE;
    size_t used = atomic_load(&budget->used);
    return used <= limit && n <= limit - used;
}

bool hd_budget_is_over(const hd_budget *budget, unsigned part)
{
    const hd_part *at = &budget->parts[part];
    size_t limit = budget->max - budget->max / RESERVE_SHARE;
    return atomic_load(&at->used) > at->max || atomic_load(&budget->used) > limit;
}

tk_quota *hd_budget_quota(hd_budget *budget, unsigned part)
{
    return &budget->parts[part].quota;
}

const char *hd_budget_part_name(const hd_budget *budget, unsigned part)
{
    return budget->parts[part].row->name;
}
